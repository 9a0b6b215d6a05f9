"""`rightreasons calibration MODEL DATASET`."""

from rightreasons.cli._audit import question_app

app = question_app("calibration")
