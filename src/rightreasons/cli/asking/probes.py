"""`rightreasons probes MODEL DATASET`, or `--predictions FILE`: a log of a task that `data export` wrote."""

from rightreasons.cli.asking.audit import question_app

app = question_app("probes", stored=True, task="multiple_choice")

EXAMPLES = (
    "rightreasons probes my-model socialiqa --limit 200",
    "rightreasons probes --predictions samples.jsonl",
)
