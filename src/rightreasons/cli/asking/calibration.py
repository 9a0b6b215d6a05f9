"""`rightreasons calibration MODEL DATASET`, or `rightreasons calibration FILE` of stored predictions."""

from rightreasons.cli.asking.audit import question_app

app = question_app("calibration", stored=True)

EXAMPLES = (
    "rightreasons calibration my-model my_reviews.csv --n-bins 10",
    "rightreasons calibration predictions.csv --label-column label",
)
