"""How sure a language model says that it is of its answers, and how sources of confidence compare."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.calibration.compare import ConfidencePair, compare_confidence
from rightreasons.calibration.confidence_tables import ConfidenceTable
from rightreasons.calibration.measure import JudgedItems, measure_figures
from rightreasons.calibration.options import CalibrationOptions
from rightreasons.core.arrays import Result
from rightreasons.core.intervals import Estimate, share
from rightreasons.core.resampling import Resampling
from rightreasons.core.store import part_of
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
        raise ValueError(f"Expected a model that writes text, to say how sure it is, but {engine.name} does not.")
    folder = None if out is None else Path(out)
    labels = np.asarray(rows["label"], dtype=np.int64)
    names = [str(name) for name in rows["id"]]
    if (labels < 0).any() or not len(labels):
        raise ValueError("Expected a label of each item, to know which answers are right, but there are items without.")
    how: dict[str, Any] = {"ids": names, "labels": labels, "progress": progress, "out": part_of(folder, "answers")}
    if "choices" in rows:
        scores = scorer.choose(rows["prompt"], rows["choices"], **how)
    else:
        scores = scorer.predict(rows["text"], text_pairs=rows.get("text_pair"), **how)
    answers = scores.answers(names)
    places = np.flatnonzero(answers >= 0)
    fields = ("prompt", "choices") if "choices" in rows else ("text", "text_pair")
    columns = {name: [rows[name][row] for row in places.tolist()] for name in fields if name in rows}
    items = items_of([names[row] for row in places], **columns)
    said = _verbalized(scorer, items, answers[places], seed, progress, part_of(folder, "verbalized"))
    found = {"verbalized": said} if scorer.answers_once else {"probability": scores.confidence, "verbalized": said}
    confidence = {source: np.full(len(names), np.nan) for source in found}
    for source, values in found.items():
        confidence[source][places] = values
    right = np.where(answers < 0, -1, answers == labels).astype(np.int64)
    return ConfidenceTable(tuple(names), confidence, dict.fromkeys(found, right), f"asked of {scorer.name}")


# ------------------------------------------------------------------------------------------------------------- private


def _verbalized(
    scorer: Prompted, items: Sequence[Item], answers: NDArray[np.int64], seed: int, progress: bool, out: Path | None
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
    texts = [replies[0].text if replies and replies[0].finish != "thinking" else "" for replies in found.replies]
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
        n_answered: Items to which it gave an answer.
        n_confident: Items for which it gave a confidence too.
        confident: Share of its answers with a confidence: of verbalized confidence, the share that could be parsed.
        figures: Figures of the items that every compared source has, by their keys in `FIGURES`; {} of a source
            without any confidence, which is not compared.
    """

    name: str
    n_answered: int
    n_confident: int
    confident: Estimate | None
    figures: Mapping[str, Estimate]


@dataclasses.dataclass(frozen=True)
class ConfidenceMeasurement(Result):
    """Several sources of confidence on the same items.

    Attributes:
        n_items: Items that any source has.
        n_shared: Items for which every compared source has an answer and a confidence; all figures are about these.
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
    table: ConfidenceTable, *, options: CalibrationOptions = CalibrationOptions(), resampling: Resampling = Resampling()
) -> ConfidenceMeasurement:
    """Compare sources of confidence on the items that all of them have.

    Args:
        table: Confidence and correctness by source, as `read_confidence` reads them.
        options: Number of bins.
        resampling: Level, resamples and seed of intervals and tests.

    Returns:
        The figures of each source with intervals, and a paired test of each figure for each two sources; see
        `rightreasons.calibration.compare.compare_confidence`.

    Raises:
        ValueError: If no item has a confidence from every source that has some.

    Example:
        >>> from rightreasons.calibration import read_confidence
        >>> table = read_confidence({"confidence_p": [0.9, 0.6, 0.2], "confidence_said": [0.9, "", 0.8],
        ...                          "correct": [1, 1, 0]})
        >>> measured = measure_confidence(table)
        >>> measured.n_shared, [(one.name, one.confident.value) for one in measured.sources][1]
        (2, ('said', 0.6666666666666666))
        >>> round(measured.pairs[0].differences["brier"].difference, 6)
        -0.3
    """
    answered = {name: table.correct[name] >= 0 for name in table.confidence}
    confident = {name: answered[name] & np.isfinite(values) for name, values in table.confidence.items()}
    # A source without any confidence, as of a model that never says a number, does not end the others' comparison.
    compared_sources = [name for name, mask in confident.items() if mask.any()]
    rows = np.flatnonzero(np.logical_and.reduce([confident[name] for name in compared_sources or confident]))
    if not len(rows):
        counts = ", ".join(f"{int(mask.sum()):,} of {name}" for name, mask in confident.items())
        raise ValueError(f"Expected items that have a confidence from every source, but there is none: {counts}.")
    confidences = {name: table.confidence[name][rows] for name in compared_sources}
    correct = {name: table.correct[name][rows] for name in confidences}
    compared = compare_confidence(confidences, correct, n_bins=options.n_bins, resampling=resampling)

    def figures(name: str) -> dict[str, Estimate]:
        p = confidences[name]
        with np.errstate(divide="ignore"):
            logs = np.log(np.column_stack((1 - p, p)))
        how: dict[str, Any] = {"probabilities": p, "kind": "confidence", "n_bins": options.n_bins}
        return measure_figures(JudgedItems.of(logs, correct[name], **how), resampling=resampling)

    return ConfidenceMeasurement(
        n_items=len(table),
        n_shared=len(rows),
        n_bins=options.n_bins,
        sources=tuple(
            SourceFigures(
                name=name,
                n_answered=int(answered[name].sum()),
                n_confident=int(confident[name].sum()),
                confident=share(int(confident[name].sum()), int(answered[name].sum()), resampling),
                figures=figures(name) if name in confidences else {},
            )
            for name in table.confidence
        ),
        pairs=compared.pairs,
    )
