"""Whose answers a log of a harness holds: the name of the model, where the log tells it."""

from __future__ import annotations

import re
from pathlib import Path

_SAMPLES = re.compile(r"samples_.+_\d{4}-\d\d-\d\dT[\d.:-]+\.jsonl")
"""How lm-evaluation-harness names a file of samples, in a folder named after the model."""


def logged_model(path: str | Path) -> str:
    """Return the name of the model whose answers a log holds; "" where it does not tell.

    Of lm-evaluation-harness it is the name of the folder, where "__" stands for "/"; of inspect_ai, what the header of
    an `.eval` file says.

    Args:
        path: The log, whether it is one or not.

    Example:
        >>> logged_model("logs/HuggingFaceTB__SmolLM2-135M/samples_piqa_2026-11-22T10-00-00.123456.jsonl")
        'HuggingFaceTB/SmolLM2-135M'
        >>> logged_model("answers.csv")
        ''
    """
    file = Path(path)
    if _SAMPLES.fullmatch(file.name):
        return file.parent.name.replace("__", "/")
    if file.suffix != ".eval":
        return ""
    try:
        from inspect_ai.log import read_eval_log

        return str(read_eval_log(str(file), header_only=True).eval.model)
    except Exception:  # of inspect_ai, pydantic, json and zip: whatever a damaged archive leads to
        return ""
