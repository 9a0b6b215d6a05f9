"""`rightreasons calibration MODEL DATASET`, or `rightreasons calibration FILE` of stored predictions."""

from rightreasons.cli._shared.audit import question_app

app = question_app("calibration", stored=True)
