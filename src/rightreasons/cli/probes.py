"""`rightreasons probes MODEL DATASET`."""

from rightreasons.cli._audit import question_app

app = question_app("probes", task="multiple_choice")
