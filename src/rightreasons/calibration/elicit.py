"""Sources of confidence in the same answers: read from a table, or asked of a language model, and compared."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.calibration.compare import ConfidencePair, compare_confidence
from rightreasons.calibration.measure import JudgedItems, measure_figures
from rightreasons.calibration.options import ConfidenceOptions
from rightreasons.core.errors import OptionError
from rightreasons.core.estimates import Estimate, estimate_share
from rightreasons.core.label_names import format_list
from rightreasons.core.options import accept_options_as_keywords
from rightreasons.core.options import parse_names as listed_names
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.store import get_results_subfolder
from rightreasons.core.validation import check_all
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
from rightreasons.models.prompted import Prompted
from rightreasons.models.prompts import Item, items_of
from rightreasons.models.protocol import Message, Request
from rightreasons.models.replies.answers import read_probability

VERBALIZED = (
    "Provide the probability that your answer is correct. Give ONLY the probability, no other words or explanation.\n\n"
    "For example:\n\nProbability: <the probability between 0.0 and 1.0 that your answer is correct, without any extra "
    "commentary whatsoever; just the probability!>"
)
"""The question of the verbalized confidence, in the second turn of Tian et al. (2023, "Verb. 2S")."""

MAX_NEW_TOKENS = 32
"""Tokens of a stated confidence."""

MIN_CONFIDENT = 10
"""A source that gives fewer answers a confidence than this is named, and compared with none."""

PREFIX = "confidence_"
"""What the columns of a table begin with; the rest names the source."""


@dataclasses.dataclass(frozen=True, eq=False)
class ConfidenceTable:
    """How sure each source was of the same N answers.

    Attributes:
        confidence: Source -> (N,) confidence in [0, 1]; NaN where the source gave none.
        correct: (N,) 1 where the answer was right, 0 where it was wrong, -1 where there is none.
        used: In words, which columns were taken for what.
    """

    confidence: dict[str, NDArray[np.float64]]
    correct: NDArray[np.int64]
    used: str = ""


@accept_options_as_keywords(ConfidenceOptions)
def read_confidence(file: Any, *, options: ConfidenceOptions) -> ConfidenceTable:
    """Read how sure several sources were of the same answers.

    Args:
        file: A file as `read_predictions` takes it, or a table in memory, with a row per item, a column per source
            (`confidence_p`, `confidence_said`) and whether the answer was right.
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
        ([0.8, nan], [1, 0])
    """
    columns, options, where = read_columns(file, options)
    names = listed_names(options.confidence_column) or [
        name
        for name in columns
        if column_key(name) in predictions.USUAL["confidence"] or name.lower().startswith(PREFIX)
    ]
    if not names:
        raise OptionError(
            f"Expected a column of confidence in {where}, but it has {format_list(list(columns))}; name it with "
            "`confidence_column`.",
            option="confidence_column",
        )
    of_right = PredictionOptions(correct_column=options.correct_column)
    right, columns_of_right, _ = predictions.correctness(
        predictions.roles_of(columns, where, of_right)
    )
    item = usual_column(columns, USUAL_COLUMNS["confidence"]["item"])
    if item is not None and len(set(names_in(columns[item]))) < len(right):
        raise ValueError(
            f"Expected each item once in {where}, but some come twice in its column {item!r}."
        )
    confidence = {}
    for name in names:
        column = columns[named_column(columns, name, "confidence_column", where)]
        values = predictions.as_numbers(column, name, missing=True)
        check_all(
            values,
            lambda value: not (value < 0 or value > 1),
            f"the confidence in each answer, from 0 to 1, or nothing, in column {name!r} of {where} "
            f"(`confidence_column` may divide percentages: '{{{{ {in_expression(name)} | float / 100 }}}}')",
        )
        confidence[re.sub(f"(?i)^{PREFIX}", "", name) if len(names) > 1 else "confidence"] = values
    if all(np.isnan(values).all() for values in confidence.values()):
        raise ValueError(
            f"Expected the confidence in each answer in {format_list(names)} of {where}, but no row has one."
        )
    used = f"confidence: {format_list(names)}; right: {' is '.join(columns_of_right)}"
    return ConfidenceTable(confidence, right.astype(np.int64), used)


def elicit_confidence(
    scorer: Prompted,
    rows: Mapping[str, Sequence[Any]],
    *,
    seed: int = 0,
    progress: bool = True,
    out: str | os.PathLike[str] | None = None,
) -> ConfidenceTable:
    """Ask a language model for its answers, and how sure it is of them.

    Args:
        scorer: The model.
        rows: Columns `id`, `label`, and `text` (perhaps `text_pair`), or `prompt` and `choices`.
        seed: Seed of what it writes.
        progress: Whether to show a progress bar.
        out: Folder in which the answers are kept, to go on from.

    Returns:
        The confidences: "probability", that of the answer among the labels or choices, where the answers are scored;
        and "verbalized", the number from 0 to 1, or percentage, that it says in a second turn; NaN where none can be
        read.

    Raises:
        ValueError: If the model writes no text, an item has no label, or a server ends before all is asked.

    References:
        Tian et al. (2023), Just Ask for Calibration.
    """
    engine = scorer.engine
    if "text" not in engine.abilities:
        raise ValueError(
            f"Expected a model that writes text, to say how sure it is, but {engine.name} does not."
        )
    folder = None if out is None else Path(out)
    labels = np.asarray(rows["label"], dtype=np.int64)
    names = [str(name) for name in rows["id"]]
    if (labels < 0).any() or not len(labels):
        raise ValueError(
            "Expected a label of each item, to know which answers are right, but there are items without."
        )
    how: dict[str, Any] = {
        "ids": names,
        "labels": labels,
        "progress": progress,
        "out": get_results_subfolder(folder, "answers"),
    }
    if "choices" in rows:
        scores = scorer.choose(rows["prompt"], rows["choices"], **how)
    else:
        scores = scorer.predict(rows["text"], text_pairs=rows.get("text_pair"), **how)
    answers = scores.answers(names)
    places = np.flatnonzero(answers >= 0)
    fields = ("prompt", "choices") if "choices" in rows else ("text", "text_pair")
    columns = {
        name: [rows[name][row] for row in places.tolist()] for name in fields if name in rows
    }
    items = items_of([names[row] for row in places], **columns)
    said = _verbalized(
        scorer, items, answers[places], seed, progress, get_results_subfolder(folder, "verbalized")
    )
    found = (
        {"verbalized": said}
        if scorer.answers_once
        else {"probability": scores.confidence, "verbalized": said}
    )
    confidence = {source: np.full(len(names), np.nan) for source in found}
    for source, values in found.items():
        confidence[source][places] = values
    right = np.where(answers < 0, -1, answers == labels).astype(np.int64)
    return ConfidenceTable(confidence, right, f"asked of {scorer.name}")


# ------------------------------------------------------------------------------------------------------------- private


def _verbalized(
    scorer: Prompted,
    items: Sequence[Item],
    answers: NDArray[np.int64],
    seed: int,
    progress: bool,
    out: Path | None,
) -> NDArray[np.float64]:
    """Return the probability that the model says of each answer; NaN where none can be read."""
    rendering, shots = scorer.rendering, scorer.shots
    question = VERBALIZED + ("" if rendering.chat else "\n\nProbability:")
    requests = [
        _followed(rendering.request(item, shots(item)), rendering.answers(item)[answer], question)
        for item, answer in zip(items, answers.tolist(), strict=True)
    ]
    options = scorer.generation(brief=MAX_NEW_TOKENS).replaced(stop=(), seed=seed)
    found = scorer.engine.generate(requests, options=options, progress=progress, out=out)
    texts = [
        replies[0].text if replies and replies[0].finish != "thinking" else ""
        for replies in found.replies
    ]
    # Outside a chat the model goes on writing: the first line that says something is its answer.
    lines = texts if rendering.chat else [text.strip().split("\n")[0] for text in texts]
    values = [read_probability(line) for line in lines]
    return np.array([np.nan if value is None else value for value in values])


def _followed(request: Request, answer: str, question: str) -> Request:
    """Return a request that goes on after the answer with another question."""
    if isinstance(request.prompt, str):
        gap = "" if request.prompt[-1:].isspace() else " "
        return Request(request.name, f"{request.prompt}{gap}{answer}\n\n{question}")
    turns: list[Message] = list(request.prompt)
    if turns[-1]["role"] == "assistant":
        start = turns.pop()["content"]
        answer = f"{start}{'' if start[-1:].isspace() else ' '}{answer}"
    turns += [{"role": "assistant", "content": answer}, {"role": "user", "content": question}]
    return Request(request.name, tuple(turns))


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
        n_answered: Items with an answer.
        n_shared: Items for which every compared source has a confidence; all figures are about these.
        n_bins: Number of bins of the binned figures.
        sources: The sources.
        pairs: How each two of them differ.
    """

    n_items: int
    n_answered: int
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
    answered = table.correct >= 0
    confident = {name: answered & np.isfinite(values) for name, values in table.confidence.items()}
    # A source without any confidence, as of a model that never says a number, does not end the others' comparison.
    compared = [name for name, mask in confident.items() if mask.sum() >= MIN_CONFIDENT]
    rows = np.flatnonzero(
        np.logical_and.reduce([confident[name] for name in compared or confident])
    )
    if compared and not len(rows):
        counts = ", ".join(f"{int(mask.sum()):,} of {name}" for name, mask in confident.items())
        raise ValueError(
            f"Expected items that have a confidence from every source, but there is none: {counts}."
        )
    confidences = {name: table.confidence[name][rows] for name in compared}
    correct, n_answered = table.correct[rows], int(answered.sum())

    def figures(p: NDArray[np.float64]) -> dict[str, Estimate]:
        with np.errstate(divide="ignore"):
            logs = np.log(np.column_stack((1 - p, p)))
        items = JudgedItems.of(logs, correct, probabilities=p, kind="confidence", n_bins=n_bins)
        return measure_figures(items, resampling=resampling)

    return ConfidenceMeasurement(
        n_items=len(answered),
        n_answered=n_answered,
        n_shared=len(rows),
        n_bins=n_bins,
        sources=tuple(
            SourceFigures(
                name=name,
                n_confident=int(mask.sum()),
                confident=estimate_share(int(mask.sum()), n_answered, resampling),
                figures=figures(confidences[name]) if name in confidences else {},
            )
            for name, mask in confident.items()
        ),
        pairs=compare_confidence(confidences, correct, n_bins=n_bins, resampling=resampling)
        if compared
        else (),
    )
