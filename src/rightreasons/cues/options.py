"""The options of the question about cues."""

from __future__ import annotations

from typing import ClassVar

from rightreasons.core.choices import FEATURES
from rightreasons.core.options import QuestionOptions, Requirements, option


class CuesOptions(QuestionOptions):
    """Do the answer options give the answer away?"""

    tables: ClassVar[Requirements] = {"multiple_choice": "without a model"}
    is_about_labels: ClassVar[bool] = True

    features: tuple[str, ...] = option(
        ("unigram", "length", "overlap", "negation"),
        f"Comma-separated families of cues: {', '.join(FEATURES)}.",
        choices=FEATURES,
    )
    min_applicability: int = option(1, "Minimum applicability of a cue.", minimum=1)
    groups_column: str | None = option(
        None, "Column that names the group of each item; by default source_id, if it exists."
    )
    n_folds: int = option(10, "Folds of the cue-only classifier.", minimum=2)
