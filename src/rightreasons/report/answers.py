"""How many answers are right, as harnesses count: an answer that cannot be read is wrong, and shown as a bound too."""

from __future__ import annotations

import dataclasses
import itertools
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.scoring import score_audit
from rightreasons.core.clusters import select_clusters
from rightreasons.core.estimates import Estimate, estimate_mean, estimate_rate
from rightreasons.core.results import Result
from rightreasons.core.significance import holm, two_rates_p_value
from rightreasons.io.logs import LACK, LEFT_OUT, UNREAD
from rightreasons.models.replies.gates import (
    MAX_DEPENDENCE_P,
    MAX_UNREAD_FOR_VERDICT,
    compute_dependence,
)
from rightreasons.models.running import NO_WORDS
from rightreasons.page.parts import Column, SectionResult, Table, Verdict
from rightreasons.page.prose import p_equals, percent

if TYPE_CHECKING:
    from rightreasons.audited.context import AuditContext
    from rightreasons.audited.splits import AuditSplit
    from rightreasons.core.options import Options
    from rightreasons.page.question import Question

_BY_ANSWER = "Whether an answer can be read depends on the correct answer (p {p})"

_MOST_GROUPS = 12
_LOOK = 1000  # rows that tell a column of many values, without reading all of it
_OURS = frozenset(
    {
        LACK,
        LEFT_OUT,
        "id",
        "text",
        "text_pair",
        "prompt",
        "label",
        "content_label",
        "cue_label",
        "source_id",
    }
    | {"pair_id", UNREAD, "prediction", "predicted", "pred"}
)
_ANSWERS = ("answer", "answers", "response", "output", "completion")


@dataclasses.dataclass(frozen=True)
class AnswerGroup(Result):
    """How many answers of a group are right.

    Attributes:
        kind: A column of the data, "place of the right choice" or "length of the answer".
        name: The group.
        n_items: Its answers.
        accuracy: Share of them that are right.
        p_value: That the other answers are right as often (`two_rates_p_value`), corrected by Holm's method for all
            groups; None of all answers.
    """

    kind: str
    name: str
    n_items: int
    accuracy: Estimate
    p_value: float | None = None


@dataclasses.dataclass(frozen=True)
class AnswerFigures(Result):
    """How many answers to a split are right; see `measure_answers`.

    Attributes:
        split: The split.
        n_items: Labeled items, those without an answer among them.
        n_units: What is independent: samples of several epochs, or groups, are one.
        accuracy: Share of right answers; one that cannot be read is wrong.
        standard_error: Of the accuracy, over units: sqrt(U / (U - 1) sum_u (sum of deviations in u)^2) / N. Where every
            sample has as many epochs, it is that of inspect_ai.
        low: The accuracy, if none of the answers that cannot be read is right: the same as `accuracy`.
        high: The accuracy, if all of them are.
        of_read: Share of right answers among those that can be read; None where none can.
        lacks: Why answers cannot be read -> how many; {} where all can.
        agreement: Of samples with several epochs, the share of pairs of answers that are both right or both wrong.
        groups: The same by each further column of the data that has at most twelve values, by place of the right
            choice, and by length of the answer: those that are right least often first. () if whether an answer is
            read depends on the correct answer.
        unread_p: p-value of unread answers that do not depend on the correct answer (`compute_dependence`).
    """

    split: str
    n_items: int
    n_units: int
    accuracy: Estimate
    standard_error: float | None
    low: float
    high: float
    of_read: Estimate | None
    lacks: Mapping[str, int]
    agreement: Estimate | None
    groups: tuple[AnswerGroup, ...]
    unread_p: float = 1.0

    @property
    def is_unread_by_answer(self) -> bool:
        """Whether what is unread depends on the correct answer, so that the others are no sample of all."""
        return self.unread_p < MAX_DEPENDENCE_P

    @property
    def n_unread(self) -> int:
        """How many answers cannot be read."""
        return sum(self.lacks.values())

    @property
    def lacks_in_words(self) -> str:
        """Why answers cannot be read, and how many."""
        return ", ".join(f"{count:,} {lack}" for lack, count in self.lacks.items())

    @property
    def worst(self) -> str:
        """The group that is surely right less often than the others, in words; "" where none is."""
        for group in self.groups:
            if (
                group.p_value is not None
                and group.p_value < 0.05
                and (group.accuracy.value or 0.0) < self.low
            ):
                return (
                    f"{percent(group.accuracy.value or 0.0)} where {group.kind} is “{group.name}”"
                )
        return ""

    @property
    def sentence(self) -> str:
        """The figures in one sentence."""
        low, high = (
            percent(end) for end in (self.accuracy.low, self.accuracy.high) if end is not None
        )
        said = f"{percent(self.low)} of {self.n_items:,} answers are correct [{low}, {high}]"
        if self.n_units < self.n_items:
            said += f", over {self.n_units:,} samples"
        if self.worst:
            said += f"; {self.worst}"
        if not self.n_unread:
            return f"{said}."
        said += (
            f". {self.n_unread:,} cannot be read ({self.lacks_in_words}) and count as wrong; if all were right "
            f"it would be {percent(self.high)}."
        )
        if self.is_unread_by_answer:
            said += f" {_BY_ANSWER.format(p=p_equals(self.unread_p))}."
        return said

    def table(self) -> Table:
        """The accuracy by group, as a table of the page."""
        return Table(
            key="answers",
            title="How many answers are correct: one that cannot be read counts as incorrect",
            columns=(
                Column("kind", "By", "text"),
                Column("name", "Group", "text"),
                Column("n", "Answers", "count"),
                Column("right", "Right", "share"),
                Column("low", "from", "share"),
                Column("high", "to", "share"),
                Column("p", "p that the others are correct as often", "p_value"),
            ),
            rows=tuple(
                (
                    group.kind,
                    group.name,
                    group.n_items,
                    group.accuracy.value,
                    group.accuracy.low,
                    group.accuracy.high,
                    group.p_value,
                )
                for group in (AnswerGroup("all", "", self.n_items, self.accuracy), *self.groups)
            ),
        )


def measure_answers(context: AuditContext) -> AnswerFigures | None:
    """Count the right answers of a log or a prompted model to the primary split; None where no label is known."""
    split = context.primary
    if not context.has_scores(split) or not split.labeled.any():
        return None
    scores = context.scores(split)
    known = split.labeled
    right = split.labels == 1 if context.task == "confidence" else scores.predicted == split.labels
    right = right[known]
    unread = _list_unread(split, known)
    more = [
        _named(reason) for _, reason in split.left_out if reason != NO_WORDS
    ]  # of which nothing was asked
    more += ["no answer that can be read"] * int((split.column(LEFT_OUT) or [0])[0])
    units = select_clusters(split.clusters, known)
    codes = np.arange(len(right)) if units is None else np.unique(units, return_inverse=True)[1]
    codes = np.concatenate([codes, codes.max(initial=-1) + 1 + np.arange(len(more))]).astype(
        np.int64
    )
    hits = np.concatenate([right, np.zeros(len(more), dtype=np.bool_)]).astype(np.bool_)
    n_units = int(codes.max()) + 1
    clusters = None if n_units == len(hits) else codes
    accuracy = estimate_rate(hits, context.resampling, clusters)
    if accuracy is None:
        return None
    squares = (np.bincount(codes, hits - hits.mean()) ** 2).sum()
    counts = Counter(lack for lack in (*unread, *more) if lack)
    readable = np.ones(len(right), dtype=np.bool_)
    if unread:
        readable = np.array([not lack for lack in unread], dtype=np.bool_)
    unread_p = _test_dependence(split, known, readable)
    return AnswerFigures(
        split=split.name,
        n_items=len(hits),
        n_units=n_units,
        accuracy=accuracy,
        standard_error=None
        if n_units < 2
        else float(np.sqrt(n_units / (n_units - 1) * squares) / len(hits)),
        low=float(hits.mean()),
        high=float(hits.mean()) + sum(counts.values()) / len(hits),
        of_read=estimate_rate(
            right[readable], context.resampling, select_clusters(units, readable)
        ),
        lacks=dict(counts.most_common()),
        agreement=_agreement(right, units, split, context),
        groups=tuple(_groups(split, right, known, units, context))
        if unread_p >= MAX_DEPENDENCE_P
        else (),
        unread_p=unread_p,
    )


def _test_dependence(
    split: AuditSplit, labeled: NDArray[np.bool_], readable: NDArray[np.bool_]
) -> float:
    """Return the p-value of unread answers that do not depend on the correct answer.

    The items that the model could not score are among the unread ones.
    """
    labels = split.labels[labeled].tolist()
    unread = (~readable).tolist()
    for (_, reason), label in zip(split.left_out, split.left_out_labels, strict=True):
        if label >= 0 and reason != NO_WORDS:
            labels.append(label)
            unread.append(True)
    return compute_dependence(unread, labels)


def _list_unread(split: AuditSplit, labeled: NDArray[np.bool_]) -> list[str]:
    """Return why the answer to each labeled item cannot be read, "" if it can.

    The list is empty if the data do not tell, as for scores: then all answers can be read.
    """
    reasons = split.column(LACK)
    if reasons is None:
        return []
    return [reasons[row] for row in np.flatnonzero(labeled).tolist()]


def withheld(
    result: SectionResult,
    figures: AnswerFigures,
    bounds: Callable[[], Sequence[Verdict]] = tuple,
    doubt: Verdict | None = None,
) -> SectionResult:
    """Return the answer to a question without its verdict, where the answers that cannot be read might change it.

    Args:
        result: The answer.
        figures: How many cannot be read.
        bounds: Returns the verdicts with all of these wrong, and right; see `at_bounds`.
        doubt: The verdict in its place, if the data leave open which figures are right; see `Question.doubt`.
    """
    if doubt is not None:
        return dataclasses.replace(result, verdict=doubt, finding=None)
    if not figures.n_unread or result.verdict.tone == "neutral":
        return result
    summary = f"{percent(figures.n_unread / figures.n_items)} of the answers cannot be read ({figures.lacks_in_words})"
    if figures.is_unread_by_answer:
        summary += f". {_BY_ANSWER.format(p=p_equals(figures.unread_p))}: the others alone conclude nothing."
    elif figures.n_unread > MAX_UNREAD_FOR_VERDICT * figures.n_items:
        summary += (
            f", more than {percent(MAX_UNREAD_FOR_VERDICT)}: the others alone conclude nothing."
        )
    else:
        labels = [verdict.label for verdict in bounds()]
        if {*labels} <= {result.verdict.label}:
            return result
        summary += f": were all of them incorrect, the verdict would be “{labels[0]}”, and were all correct, “{labels[1]}”."
    summary += f" By the others it would be: {result.verdict.label}."
    return dataclasses.replace(
        result, verdict=Verdict("neutral", "Inconclusive", summary), finding=None
    )


def at_bounds(context: AuditContext, section: Question, options: Options) -> list[Verdict]:
    """Return the verdicts with every answer that cannot be read counted as wrong, and as right; [] where none is known.

    Nothing more is asked: a question that would ask about an item whose answer could not be read leaves it out there.

    Args:
        context: The audit, not scored, with a model that was asked.
        section: The question.
        options: Its options.
    """
    if context.prompted is None:
        return []
    found = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for assumed in ("wrong", "right"):
            bounded = dataclasses.replace(
                context,
                source=context.prompted.assuming(assumed),
                out=Path(folder) / assumed,
                progress=False,
            )
            try:
                found.append(section.run(score_audit(bounded, [section.reads]), options).verdict)
            except ValueError:  # it needs what was asked of the engine itself
                return []
    return found


def failed_of(context: AuditContext) -> list[tuple[str, int, str]]:
    """Return why requests of any question have no answer: the reason, how many, and the first of them."""
    known = {name for split in context.splits for name, _ in split.left_out}
    items: dict[str, list[str]] = {}
    for name, reason in (context.prompted.failures if context.prompted is not None else {}).items():
        if name not in known:
            items.setdefault(_named(reason), []).append(name)
    return [(reason, len(names), names[0]) for reason, names in items.items()]


def _named(reason: str) -> str:
    """Return a reason without the text that it quotes."""
    # The reason quotes the reply, which differs from item to item.
    if reason.startswith("no answer in"):
        return "no answer that can be read"
    return reason


def _agreement(
    right: NDArray[np.bool_], units: NDArray[Any] | None, split: AuditSplit, context: AuditContext
) -> Estimate | None:
    if units is None or split.column("source_id") is None:
        return None
    codes = np.unique(units, return_inverse=True)[1]
    sizes = np.bincount(codes).astype(np.float64)
    hits = np.bincount(codes, right)
    pairs = sizes * (sizes - 1)
    alike = hits * (hits - 1) + (sizes - hits) * (sizes - hits - 1)
    several = pairs > 0
    return (
        estimate_mean(alike[several] / pairs[several], context.resampling, bounds=(0.0, 1.0))
        if several.any()
        else None
    )


def _groups(
    split: AuditSplit,
    right: NDArray[np.bool_],
    known: NDArray[np.bool_],
    units: NDArray[Any] | None,
    context: AuditContext,
) -> list[AnswerGroup]:
    """Return the accuracy by slice, by place of the right choice, and by thirds of the length of the answer."""
    columns = _slices(split, right, known)
    if context.task == "multiple_choice":
        columns["place of the right choice"] = [
            f"choice {label + 1}" for label in split.labels.tolist()
        ]
    given = next((held for name in _ANSWERS if (held := split.column(name)) is not None), [])
    if len({len(str(text)) for text in given}) > 3:
        lengths = np.array([len(str(text)) for text in given])
        ends = np.quantile(lengths, [1 / 3, 2 / 3])
        columns["length of the answer"] = np.array(["short", "middle", "long"])[
            np.searchsorted(ends, lengths)
        ].tolist()
    rows = []
    for kind, column in columns.items():
        values = np.array([str(value) for value in column])[known]
        for value in sorted(set(values.tolist())):
            inside = values == value
            share = estimate_rate(right[inside], context.resampling, select_clusters(units, inside))
            if share is not None:
                p_value = two_rates_p_value(right, inside, clusters=units)
                rows.append(AnswerGroup(kind, value, int(inside.sum()), share, p_value))
    corrected = holm(np.array([row.p_value for row in rows]))
    rows = [
        dataclasses.replace(row, p_value=float(p)) for row, p in zip(rows, corrected, strict=True)
    ]
    return sorted(rows, key=lambda row: row.accuracy.value or 0.0)


def _slices(
    split: AuditSplit, right: NDArray[np.bool_], known: NDArray[np.bool_]
) -> dict[str, list[Any]]:
    """Return the further columns that part the items: of few values, which say neither the label nor what is right."""
    found = {}
    for name, feature in split.data.features.items():
        if (
            name in _OURS
            or name in _ANSWERS
            or getattr(feature, "dtype", "") not in ("string", "bool", "int64")
        ):
            continue
        if len(set(split.data[name][:_LOOK])) > _MOST_GROUPS:
            continue
        values = split.column(name) or []
        n_distinct = len(set(values))
        labels = set(zip(values, split.labels.tolist(), strict=True))
        hits = set(zip(itertools.compress(values, known), right.tolist(), strict=True))
        says_right = len(hits) <= n_distinct and 0 < right.sum() < len(right)
        if 1 < n_distinct <= _MOST_GROUPS and len(labels) > n_distinct and not says_right:
            found[name] = ["none" if value is None else value for value in values]
    return found
