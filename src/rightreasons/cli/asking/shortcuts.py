"""`rightreasons shortcuts MODEL DATASET`."""

from rightreasons.cli.asking.audit import question_app

app = question_app("shortcuts")

EXAMPLES = (
    "rightreasons shortcuts my-model sst2 --items 100",
    "rightreasons shortcuts my-model reviews/ --words copper,marble",
)
