"""`rightreasons probes MODEL DATASET`."""

from rightreasons.cli._shared.audit import question_app

app = question_app("probes", task="multiple_choice")
