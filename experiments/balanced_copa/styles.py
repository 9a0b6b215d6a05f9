"""Items of COPA as multiple choice, with the question put in one of three styles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import datasets

from rightreasons.core.validation import check_one_of
from rightreasons.datasets.perturbing.mirroring import choices_of

STYLES = ("question", "connective", "premise")


def as_multiple_choice(dataset: datasets.Dataset, *, style: str = "question") -> datasets.Dataset:
    """Turn items of the COPA family into the common multiple-choice schema of this package.

    Args:
        dataset: With the columns premise, question, choice1, choice2, label and id.
        style: The form of the prompt: "question" (the premise, then "What was the cause?" or "What happened as a
            result?"), "connective" (the premise without its period, then "because" or "so"; the choices begin in lower
            case), or "premise" (the premise alone, without the question).

    Returns:
        Rows {id (text), prompt, choices, label}, and the columns question, mirrored, source_id and easy where present.

    Example:
        >>> item = {"id": 1, "premise": "It rained.", "question": "effect", "label": 0}
        >>> data = datasets.Dataset.from_list([{**item, "choice1": "It got wet.", "choice2": "It got dry."}])
        >>> as_multiple_choice(data)[0]["prompt"], as_multiple_choice(data, style="connective")[0]["choices"]
        ('It rained. What happened as a result?', ['it got wet.', 'it got dry.'])
    """
    check_one_of(style, STYLES, "style")
    for name in ("id", "premise", "question", "choice1", "choice2", "label"):
        if name not in dataset.column_names:
            raise ValueError(
                f"Expected a column `{name}` of COPA, but the data has {', '.join(dataset.column_names)}."
            )
    others = [
        name
        for name in ("question", "mirrored", "source_id", "easy")
        if name in dataset.column_names
    ]
    features = datasets.Features(
        {
            "id": datasets.Value("string"),
            "prompt": datasets.Value("string"),
            "choices": datasets.List(datasets.Value("string")),
            "label": datasets.Value("int64"),
            **{name: dataset.features[name] for name in others},
        }
    )
    rows = [
        {
            "id": str(row["id"]),
            "prompt": _prompt(row, style),
            "choices": [
                _lowered(text) if style == "connective" else text for text in choices_of(row)
            ],
            "label": row["label"],
            **{name: row[name] for name in others},
        }
        for row in dataset
    ]
    return datasets.Dataset.from_list(rows, features=features)


def _prompt(row: Mapping[str, Any], style: str) -> str:
    premise = str(row["premise"])
    if style == "premise":
        return premise
    if style == "connective":
        return f"{premise.rstrip('. ')} {'because' if row['question'] == 'cause' else 'so'}"
    return f"{premise} {'What was the cause?' if row['question'] == 'cause' else 'What happened as a result?'}"


def _lowered(text: str) -> str:
    # "I" keeps its capital.
    first, _, rest = text.partition(" ")
    return (
        text
        if first in ("I", "I'm", "I'd", "I've", "I'll")
        else f"{first[:1].lower()}{first[1:]}{' ' if rest else ''}{rest}"
    )
