"""`rightreasons shortcuts MODEL DATASET`."""

from rightreasons.cli._shared.audit import question_app

app = question_app("shortcuts")
