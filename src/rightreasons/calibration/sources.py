"""Sources of confidence in the same answers: read from a table, and compared."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.calibration.compare import ConfidencePair, compare_confidence
from rightreasons.calibration.measure import JudgedItems, measure_figures
from rightreasons.calibration.options import ConfidenceOptions
from rightreasons.core.arrays import Result
from rightreasons.core.errors import OptionError
from rightreasons.core.intervals import Estimate, share
from rightreasons.core.label_names import listing
from rightreasons.core.options import listed as listed_names
from rightreasons.core.options import takes
from rightreasons.core.resampling import Resampling
from rightreasons.core.validation import check_each
from rightreasons.io import predictions
from rightreasons.io.columns import (
    USUAL_COLUMNS,
    column_key,
    in_expression,
    named_column,
    names_in,
    read_columns,
    usual_column,
)
from rightreasons.io.options import PredictionOptions
from rightreasons.models.replies.answers import read_probability

MIN_CONFIDENT = 10
"""A source that gives fewer answers a confidence than this is named, and compared with none."""

PREFIX = "confidence_"
"""What the columns of a table begin with; the rest names the source."""


@dataclasses.dataclass(frozen=True, eq=False)
class ConfidenceTable:
    """How sure each source was of the same N answers.

    Attributes:
        confidence: Source -> (N,) confidence in [0, 1]; NaN where the source gave none.
        correct: (N,) whether the answer was right.
        used: In words, which columns were taken for what.
    """

    confidence: dict[str, NDArray[np.float64]]
    correct: NDArray[np.bool_]
    used: str = ""


@takes(ConfidenceOptions)
def read_confidence(file: Any, *, options: ConfidenceOptions) -> ConfidenceTable:
    """Read how sure several sources were of the same answers.

    Args:
        file: A file as `read_predictions` takes it, or a table in memory, with a row per item, a column per source
            (`confidence_p`, `confidence_said`) and whether the answer was right. A column may hold what a model said of
            its confidence, as `read_probability` reads it.
        options: The fields of `ConfidenceOptions`, for columns whose names do not say what they are.

    Returns:
        A `ConfidenceTable`.

    Raises:
        TypeError: If it is neither a file nor a table.
        FileNotFoundError: If the file is missing.
        ValueError: If a column is missing, a confidence is not in [0, 1], or an item has two rows.

    Example:
        >>> table = read_confidence({"confidence_p": [0.9, 0.4], "confidence_said": [0.8, None], "correct": [1, 0]})
        >>> table.confidence["said"].tolist(), table.correct.tolist()
        ([0.8, nan], [True, False])
    """
    columns, options, where = read_columns(file, options)
    names = listed_names(options.confidence_column) or [
        name
        for name in columns
        if column_key(name) in predictions.USUAL["confidence"] or name.lower().startswith(PREFIX)
    ]
    if not names:
        raise OptionError(
            f"Expected a column of confidence in {where}, but it has {listing(list(columns))}; name it with "
            "`confidence_column`.",
            option="confidence_column",
        )
    of_right = PredictionOptions(correct_column=options.correct_column)
    right, columns_of_right, _ = predictions.correctness(predictions.roles_of(columns, where, of_right))
    item = usual_column(columns, USUAL_COLUMNS["confidence"]["item"])
    if item is not None and len(set(names_in(columns[item]))) < len(right):
        raise ValueError(f"Expected each item once in {where}, but some come twice in its column {item!r}.")
    confidence = {}
    for name in names:
        column = columns[named_column(columns, name, "confidence_column", where)]
        try:
            values = predictions.as_numbers(column, name, missing=True)
        except ValueError:  # what a model said: “85 %”, “8/10”, “ninety percent”
            said = [None if cell is None else read_probability(str(cell)) for cell in column]
            values = np.array([np.nan if value is None else value for value in said])
        check_each(
            values,
            lambda value: not (value < 0 or value > 1),
            f"the confidence in each answer, from 0 to 1, or nothing, in column {name!r} of {where} "
            f"(`confidence_column` may divide percentages: '{{{{ {in_expression(name)} | float / 100 }}}}')",
        )
        confidence[re.sub(f"(?i)^{PREFIX}", "", name) if len(names) > 1 else "confidence"] = values
    if all(np.isnan(values).all() for values in confidence.values()):
        raise ValueError(f"Expected the confidence in each answer in {listing(names)} of {where}, but no row has one.")
    used = f"confidence: {listing(names)}; right: {' is '.join(columns_of_right)}"
    return ConfidenceTable(confidence, right, used)


OF_ANSWERS = {"brier": "brier_of_answers"}
"""Names of `compare_confidence` that figures of the confidence in given answers have under another key."""


@dataclasses.dataclass(frozen=True)
class SourceFigures(Result):
    """One source of confidence.

    Attributes:
        name: Its name.
        n_confident: Answers that it gave a confidence.
        confident: Share of the answers with a confidence: of verbalized confidence, the share that could be parsed.
        figures: Figures of the items that every compared source has, by their keys in `FIGURES`; {} of a source
            with fewer than `MIN_CONFIDENT` confidences, which is not compared.
    """

    name: str
    n_confident: int
    confident: Estimate | None
    figures: Mapping[str, Estimate]


@dataclasses.dataclass(frozen=True)
class ConfidenceMeasurement(Result):
    """Several sources of confidence in the same answers.

    Attributes:
        n_items: Number of items.
        n_shared: Items for which every compared source has a confidence; all figures are about these.
        n_bins: Number of bins of the binned figures.
        sources: The sources.
        pairs: How each two of them differ.
    """

    n_items: int
    n_shared: int
    n_bins: int
    sources: tuple[SourceFigures, ...]
    pairs: tuple[ConfidencePair, ...]


def measure_confidence(
    table: ConfidenceTable, *, n_bins: int = 15, resampling: Resampling = Resampling()
) -> ConfidenceMeasurement:
    """Compare sources of confidence on the items that all of them have.

    Args:
        table: Confidence by source, as `read_confidence` reads it.
        n_bins: Number of bins of the binned figures.
        resampling: Level, resamples and seed of intervals and tests.

    Returns:
        The figures of each source with intervals, and a paired test of each figure for each two sources; see
        `rightreasons.calibration.compare.compare_confidence`.

    Raises:
        ValueError: If no item has a confidence from every source that is compared.

    Example:
        >>> from rightreasons.calibration import read_confidence
        >>> table = read_confidence({"confidence_p": [0.9, 0.6, 0.2] * 5, "confidence_said": [0.9, "", 0.8] * 5,
        ...                          "correct": [1, 1, 0] * 5})
        >>> measured = measure_confidence(table)
        >>> measured.n_shared, round(measured.sources[1].confident.value, 6)
        (10, 0.666667)
        >>> round(measured.pairs[0].differences["brier"].difference, 6)
        -0.3
    """
    confident = {name: np.isfinite(values) for name, values in table.confidence.items()}
    # A source without any confidence, as of a model that never says a number, does not end the others' comparison.
    compared = [name for name, mask in confident.items() if mask.sum() >= MIN_CONFIDENT]
    rows = np.logical_and.reduce([confident[name] for name in compared or confident])
    if compared and not rows.any():
        counts = ", ".join(f"{int(mask.sum()):,} of {name}" for name, mask in confident.items())
        raise ValueError(f"Expected items that have a confidence from every source, but there is none: {counts}.")
    confidences = {name: table.confidence[name][rows] for name in compared}
    correct, n_items = table.correct[rows].astype(np.int64), len(table.correct)

    def figures(p: NDArray[np.float64]) -> dict[str, Estimate]:
        with np.errstate(divide="ignore"):
            logs = np.log(np.column_stack((1 - p, p)))
        items = JudgedItems.of(logs, correct, probabilities=p, kind="confidence", n_bins=n_bins)
        return measure_figures(items, resampling=resampling)

    return ConfidenceMeasurement(
        n_items=n_items,
        n_shared=int(rows.sum()) if compared else 0,
        n_bins=n_bins,
        sources=tuple(
            SourceFigures(
                name=name,
                n_confident=int(mask.sum()),
                confident=share(int(mask.sum()), n_items, resampling),
                figures=figures(confidences[name]) if name in confidences else {},
            )
            for name, mask in confident.items()
        ),
        pairs=compare_confidence(confidences, correct, n_bins=n_bins, resampling=resampling) if compared else (),
    )
