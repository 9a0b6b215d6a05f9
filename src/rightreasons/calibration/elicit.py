"""How sure a language model is of its answers, asked in several ways, and which source knows best when it is right."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rightreasons.calibration.compare import ConfidencePair, compare_confidence
from rightreasons.calibration.confidence_tables import ConfidenceTable
from rightreasons.calibration.measure import JudgedItems, measure_figures
from rightreasons.calibration.options import ELICITED, CalibrationOptions, ElicitOptions
from rightreasons.core.arrays import Result
from rightreasons.core.intervals import Estimate, share
from rightreasons.core.options import takes
from rightreasons.core.resampling import Resampling
from rightreasons.core.store import part_of
from rightreasons.models.prompted import Prompted, prompted_of
from rightreasons.models.prompts import Item, items_of
from rightreasons.models.protocol import Ability, Engine, Message, Request, Scorer, lacking
from rightreasons.models.replies.answers import read_probability

P_TRUE = "Proposed answer: {answer}\nIs the proposed answer:\n (A) True\n (B) False\n"
"""The question of P(True), as Kadavath et al. (2022, section 3.1) word it."""

VERBALIZED = (
    "Provide the probability that your answer is correct. Give ONLY the probability, no other words or explanation.\n\n"
    "For example:\n\nProbability: <the probability between 0.0 and 1.0 that your answer is correct, without any extra "
    "commentary whatsoever; just the probability!>"
)
"""The question of the verbalized confidence, in the second turn of Tian et al. (2023, "Verb. 2S")."""


@dataclasses.dataclass(frozen=True, eq=False)
class Elicited:
    """How sure a model is of its answers, by every way in which it was asked.

    Attributes:
        table: The confidence of each source in the answers, and whether these are right; for `measure_confidence`.
        answers: (N,) the answers: classes or choices; -1 for an item without one.
        prompts: Source -> what was asked about the first item, verbatim.
        said: Source -> item -> the text, or list of texts, that the model wrote.
        failures: What was asked ("answers", or a source) -> item -> why it has none.
    """

    table: ConfidenceTable
    answers: NDArray[np.int64]
    prompts: Mapping[str, str]
    said: Mapping[str, Mapping[str, Any]]
    failures: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)


@takes(ElicitOptions)
def elicit_confidence(
    scorer: Any,
    rows: Mapping[str, Sequence[Any]],
    *,
    options: ElicitOptions,
    progress: bool = True,
    out: str | os.PathLike[str] | None = None,
) -> Elicited:
    r"""Ask a model how sure it is of its answers.

    - "probability": the probability of the answer among the labels or choices, which is the confidence of the scorer;
    - "p_true": \(p(A) / (p(A) + p(B))\) where the model is asked whether its answer is (A) true or (B) false;
    - "verbalized": the number from 0 to 1, or percentage, that it says; no confidence where there is none, or several;
    - "samples": the share of drawn answers that give the answer, of those that give any (self-consistency);

    Args:
        scorer: A `Scorer`; for all sources but "probability" a `Prompted` one. Its answers are what the confidence is
            in.
        rows: Columns `id`, `label`, and `text` (perhaps `text_pair`), or `prompt` and `choices`.
        options: The fields of `ElicitOptions`: sources (of those above), n_samples and temperature of drawn answers,
            max_new_tokens of what is generated, and seed.
        progress: Whether to show a progress bar.
        out: Folder in which the answers are kept, to go on from.

    Returns:
        The confidences, the answers, what was asked and what was said.

    Raises:
        TypeError: If the scorer is no scorer.
        ValueError: If a source needs what the model cannot do, or there is no label; or if a server ends before all is
            asked.

    References:
        Kadavath et al. (2022), Language Models (Mostly) Know What They Know, section 3. Tian et al. (2023), Just Ask
        for Calibration. Wang et al. (2023), Self-Consistency Improves Chain of Thought Reasoning in Language Models.
    """
    prompted = prompted_of(scorer)
    if not isinstance(scorer, Scorer):
        raise TypeError(f"Expected a scorer, but got {type(scorer).__name__}.")
    if prompted is None and set(options.sources) != {"probability"}:
        raise ValueError(
            f"Expected a prompted language model for {', '.join(options.sources)}, but {scorer.name} is none: it has "
            "the probability alone."
        )
    for reason in () if prompted is None else lacking_sources(prompted, options).values():
        raise ValueError(reason)
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
    confidence: dict[str, NDArray[np.float64]] = {}
    prompts: dict[str, str] = {}
    said: dict[str, Mapping[str, Any]] = {}
    failures: dict[str, Mapping[str, str]] = {"answers": scores.failures}
    if "probability" in options.sources:
        confidence["probability"] = _spread(scores.confidence, places, len(names))
    if prompted is not None:
        prompts["probability"] = str(prompted.describe()["example"])
        fields = ("prompt", "choices") if "choices" in rows else ("text", "text_pair")
        columns = {name: [rows[name][row] for row in places.tolist()] for name in fields if name in rows}
        items = items_of([names[row] for row in places], **columns)
        asking = _Asking(prompted, items, answers[places], options, progress=progress)
        for source in sorted(set(options.sources) - {"probability"}, key=ELICITED.index):
            values, requests, texts = getattr(asking, source)(part_of(folder, source))
            prompts[source] = prompted.engine.render(requests[0].prompt) if requests else ""
            if texts:
                said[source] = dict(zip(scores.ids, texts, strict=True))
            confidence[source] = _spread(values, places, len(names))
        failures |= asking.failures
    right = np.where(answers < 0, -1, answers == labels).astype(np.int64)
    table = ConfidenceTable(
        items=tuple(names),
        confidence={source: confidence[source] for source in options.sources},
        correct=dict.fromkeys(options.sources, right),
        groups=tuple(map(str, rows["group"])) if "group" in rows else None,
        used=f"asked of {scorer.name}",
    )
    return Elicited(table, answers, prompts, said, {name: each for name, each in failures.items() if each})


def lacking_sources(scorer: Prompted, options: ElicitOptions) -> dict[str, str]:
    """Return the sources that a prompted model cannot be asked for, with the reason of each.

    They are found before anything is asked.
    """
    reasons = {}
    engine = scorer.engine
    for source in options.sources:
        if source == "probability":
            if scorer.rendering.scoring == "generated" and scorer.prompt.samples == 1:
                reasons[source] = (
                    "Expected scored answers for the probability of an answer, but this model's are generated: leave "
                    "probability out, or ask it by another scoring."
                )
        else:
            reason = lacking(engine, _ability(engine) if source == "p_true" else "text", source)
            if not reason and source == "samples" and options.n_samples > 1:
                # A server that takes the likeliest token at any temperature; engines here draw.
                repeats = f"Expected a server that draws answers for {source}, but {engine.name} repeats one."
                reason = "" if getattr(engine, "draws", True) else repeats
            if reason:
                reasons[source] = reason
    return reasons


# ------------------------------------------------------------------------------------------------------------- private


Drawn: TypeAlias = "tuple[NDArray[np.float64], list[Request], list[Any]]"
"""The confidence in each answer, what was asked, and what the model wrote: a text, or texts, for each."""


class _Asking:
    """Further questions about items and the answers that a prompted model gave to them."""

    def __init__(
        self,
        scorer: Prompted,
        items: Sequence[Item],
        answers: NDArray[np.int64],
        options: ElicitOptions,
        progress: bool,
    ) -> None:
        self.scorer, self.items, self.answers, self.options, self.progress = scorer, items, answers, options, progress
        rendering = scorer.rendering
        self.requests = [rendering.request(item, scorer.shots(item)) for item in items]
        self.words = [rendering.texts(item)[answer] for item, answer in zip(items, answers.tolist(), strict=True)]
        self.given = [rendering.answers(item)[answer] for item, answer in zip(items, answers.tolist(), strict=True)]
        self.failures: dict[str, Mapping[str, str]] = {}

    def p_true(self, out: Path | None) -> Drawn:
        """Return the probability that the model calls its answer true."""
        engine = self.scorer.engine
        chat = self.scorer.rendering.chat
        end = "Answer with A or B alone." if chat else "The proposed answer is: ("
        requests = [
            dataclasses.replace(request, continuations=("A", "B"))
            for request in self._follow(lambda words: P_TRUE.format(answer=words) + end)
        ]
        ask = engine.likelihoods if _ability(engine) == "likelihoods" else engine.next_words
        found = ask(requests, progress=self.progress, out=out)
        self.failures["p_true"] = found.failures
        values = np.array(
            [
                np.nan if request.name in found.failures else 1 / (1 + np.exp(min(row[1] - row[0], 700.0)))
                for request, row in zip(requests, found.values, strict=True)
            ]
        )
        return values, requests, []

    def verbalized(self, out: Path | None) -> Drawn:
        """Return the probability that the model says; NaN where none can be read."""
        end = "" if self.scorer.rendering.chat else "\n\nProbability:"
        requests = self._follow(lambda words: VERBALIZED + end)
        found = self.scorer.engine.generate(
            requests,
            options=self.scorer.generation(brief=self.options.max_new_tokens).replaced(stop=(), seed=self.options.seed),
            progress=self.progress,
            out=out,
        )
        self.failures["verbalized"] = found.failures
        texts = [replies[0].text if replies and replies[0].finish != "thinking" else "" for replies in found.replies]
        # Outside a chat the model goes on writing: the first line that says something is its answer.
        lines = texts if self.scorer.rendering.chat else [text.strip().split("\n")[0] for text in texts]
        values = [read_probability(line) for line in lines]
        return np.array([np.nan if value is None else value for value in values]), requests, texts

    def samples(self, out: Path | None) -> Drawn:
        """Return the share of drawn answers that are the answer; NaN where none can be read."""
        scorer = self.scorer
        prompt = scorer.prompt.replaced(scoring="generated", samples=1)
        drawing = Prompted(prompt, scorer.engine, scorer.label_names, examples=scorer.examples, seed=scorer.seed)
        requests = [
            dataclasses.replace(drawing.rendering.request(item, scorer.shots(item)), continuations=())
            for item in self.items
        ]
        found = scorer.engine.generate(
            requests,
            options=drawing.generation(
                n=self.options.n_samples, temperature=self.options.temperature, brief=self.options.max_new_tokens
            ).replaced(seed=self.options.seed),
            progress=self.progress,
            out=out,
        )
        self.failures["samples"] = found.failures
        shares = []
        for item, answer, replies in zip(self.items, self.answers.tolist(), found.replies, strict=True):
            known = [each for reply in replies if (each := drawing.read(item, reply)) >= 0]
            shares.append(known.count(answer) / len(known) if known else np.nan)
        return np.array(shares), requests, found.texts

    def _follow(self, question: Any) -> list[Request]:
        return [
            _followed(request, given, question(words))
            for request, given, words in zip(self.requests, self.given, self.words, strict=True)
        ]


def _ability(engine: Engine) -> Ability:
    """Return how the probabilities of (A) and (B) are asked for."""
    return "likelihoods" if "likelihoods" in engine.abilities else "next_words"


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


def _spread(values: NDArray[np.float64], places: NDArray[np.int64], n_items: int) -> NDArray[np.float64]:
    spread = np.full(n_items, np.nan)
    spread[places] = values
    return spread


BY_GROUP = ("accuracy", "mean_confidence", "confidence_gap", "ece")
"""The figures that are shown for each group; keys of `rightreasons.calibration.measure.FIGURES`."""

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
        groups: Group -> its number of items and source -> the figures `BY_GROUP`; {} without groups.
    """

    n_items: int
    n_shared: int
    n_bins: int
    sources: tuple[SourceFigures, ...]
    pairs: tuple[ConfidencePair, ...]
    groups: Mapping[str, tuple[int, Mapping[str, Mapping[str, Estimate]]]]

    def best(self, key: str = "auroc") -> tuple[str, ...]:
        """Return the sources that no other beats beyond doubt in a figure, such as AUROC, where more is better."""
        beaten = set()
        for pair in self.pairs:
            test = pair.differences.get(key)
            if test is not None and test.interval is not None and pair.p_holm[key] < 1 - test.interval.confidence_level:
                beaten.add(pair.second if test.difference > 0 else pair.first)
        name = OF_ANSWERS.get(key, key)
        values = {source.name: source.figures[name].value for source in self.sources if name in source.figures}
        known = {name: value for name, value in values.items() if value is not None and name not in beaten}
        return tuple(sorted(known, key=lambda source: -known[source]))


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

    def figures(name: str, chosen: NDArray[np.intp], keys: tuple[str, ...] | None = None) -> dict[str, Estimate]:
        p = confidences[name][chosen]
        with np.errstate(divide="ignore"):
            logs = np.log(np.column_stack((1 - p, p)))
        how: dict[str, Any] = {"probabilities": p, "kind": "confidence", "n_bins": options.n_bins}
        return measure_figures(JudgedItems.of(logs, correct[name][chosen], **how), keys, resampling=resampling)

    every = np.arange(len(rows))
    names = [] if table.groups is None else sorted({table.groups[row] for row in rows})
    of_group = {group: np.flatnonzero([table.groups[row] == group for row in rows]) for group in names if table.groups}
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
                figures=figures(name, every) if name in confidences else {},
            )
            for name in table.confidence
        ),
        pairs=compared.pairs,
        groups={
            group: (len(chosen), {name: figures(name, chosen, BY_GROUP) for name in confidences})
            for group, chosen in of_group.items()
        },
    )
