"""How many answers are right, as harnesses count: an answer that cannot be read is wrong, and shown as a bound too."""

from __future__ import annotations

import dataclasses
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.answer_tables import (
    AnswerEpochs,
    AnswerPosition,
    make_epoch_table,
    make_position_table,
    make_reason_table,
    measure_epochs,
    measure_positions,
)
from rightreasons.audited.given_answers import GivenAnswers, collect_answers, shorten_reason
from rightreasons.audited.scoring import score_audit
from rightreasons.core.clusters import count_units, select_clusters
from rightreasons.core.estimates import Estimate, estimate_rate
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.sentences import pluralize
from rightreasons.core.significance import holm, two_rates_p_value
from rightreasons.io.logs import LACK, PICKED, UNREAD
from rightreasons.models.replies.gates import (
    MAX_DEPENDENCE_P,
    MAX_UNREAD_FOR_VERDICT,
    compute_dependence,
)
from rightreasons.page.formats import p_equals, percent
from rightreasons.page.parts import Column, SectionResult, Table, Verdict

if TYPE_CHECKING:
    from rightreasons.audited.context import AuditContext
    from rightreasons.core.options import Options
    from rightreasons.page.question import Question

_BY_ANSWER = "Whether an answer can be read depends on the correct answer (p {p})"

MAX_GROUPS = 12
"""Largest number of values of a column by which answers are grouped."""

N_INSPECTED_ROWS = 1000
"""Number of rows that show whether a column has few values."""

_OURS = frozenset(
    {
        LACK,
        PICKED,
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
        positions: Picked and correct positions of the choices; () without choices.
        epochs: Agreement of several answers to one item; None if each item has one.
        unserved: Reason -> number of further items whose request failed, was filtered, or was refused. No figure counts
            them.
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
    positions: tuple[AnswerPosition, ...] = ()
    epochs: AnswerEpochs | None = None
    unserved: Mapping[str, int] = dataclasses.field(default_factory=dict)

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
        return format_counts(self.lacks)

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
        if self.unserved:
            # A server refused them, so that they say nothing about the answers of the model.
            reasons = format_counts(self.unserved)
            further_items = pluralize(sum(self.unserved.values()), "further item")
            said += f". No figure counts {further_items} without an answer ({reasons})"
        if not self.n_unread:
            return f"{said}."
        said += (
            f". {self.n_unread:,} cannot be read ({self.lacks_in_words}) and count as wrong; if all were right "
            f"it would be {percent(self.high)}."
        )
        if self.is_unread_by_answer:
            said += f" {_BY_ANSWER.format(p=p_equals(self.unread_p))}."
        return said

    def list_tables(self) -> list[Table]:
        """Return the tables of the page: groups, positions, epochs, and unread answers."""
        tables = [self.table()]
        if self.positions:
            tables.append(make_position_table(self.positions))
        if self.epochs is not None:
            tables.append(make_epoch_table(self.epochs))
        if self.lacks:
            tables.append(make_reason_table(dict(self.lacks), self.n_items))
        return tables

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


def format_counts(counts: Mapping[str, int]) -> str:
    """Return how often there is each of some reasons.

    Example:
        >>> format_counts({"refused": 2, "empty": 1})
        '2 refused, 1 empty'
    """
    return ", ".join(f"{count:,} {reason}" for reason, count in counts.items())


def measure_answers(context: AuditContext) -> AnswerFigures | None:
    """Count the correct answers of a log or a prompted model to the primary split.

    Returns:
        The figures; None if no label is known.
    """
    answers = collect_answers(context)
    if answers is None:
        return None
    resampling = context.resampling
    accuracy = estimate_rate(answers.is_correct, resampling, answers.clusters)
    if accuracy is None:
        return None
    n_items = len(answers)
    is_read = answers.is_read
    n_by_reason = Counter(reason for reason in answers.reasons if reason)
    mean = float(answers.is_correct.mean())
    epochs = measure_epochs(answers, resampling)
    unread_p = compute_dependence((~is_read).tolist(), _list_labels(answers))
    # Groups of which different parts are read are not compared.
    groups: list[AnswerGroup] = []
    if unread_p >= MAX_DEPENDENCE_P:
        groups = _measure_groups(answers, resampling)
    return AnswerFigures(
        split=context.primary.name,
        n_items=n_items,
        n_units=count_units(answers.clusters, n_items),
        accuracy=accuracy,
        standard_error=_compute_standard_error(answers),
        low=mean,
        high=mean + sum(n_by_reason.values()) / n_items,
        of_read=estimate_rate(
            answers.is_correct[is_read], resampling, select_clusters(answers.clusters, is_read)
        ),
        lacks=dict(n_by_reason.most_common()),
        agreement=None if epochs is None else epochs.agreement,
        groups=tuple(groups),
        unread_p=unread_p,
        positions=measure_positions(answers, resampling),
        epochs=epochs,
        unserved=answers.unserved,
    )


def _list_labels(answers: GivenAnswers) -> list[Any]:
    """Return the correct answers, for the test that unread ones do not depend on them."""
    if answers.task != "confidence":
        return list(answers.labels.tolist())
    # The labels are outcomes, which are "incorrect" for each unread answer. Targets that rarely
    # repeat, as of open questions, form no groups.
    targets = answers.column("target")
    if targets is None or len(set(map(str, targets))) > MAX_GROUPS:
        return [0] * len(answers)
    return [str(target) for target in targets]


def _compute_standard_error(answers: GivenAnswers) -> float | None:
    """Return the standard error of the accuracy over clusters; None for one cluster."""
    n_items = len(answers)
    units = np.arange(n_items)
    if answers.clusters is not None:
        units = np.unique(answers.clusters, return_inverse=True)[1]
    n_units = int(units.max()) + 1
    if n_units < 2:
        return None
    deviations = answers.is_correct - answers.is_correct.mean()
    squares = (np.bincount(units, deviations) ** 2).sum()
    return float(np.sqrt(n_units / (n_units - 1) * squares) / n_items)


def withhold_unread(
    result: SectionResult,
    figures: AnswerFigures,
    bounds: Callable[[], Sequence[Verdict]] = tuple,
    doubt: Verdict | None = None,
) -> SectionResult:
    """Return the answer to a question without its verdict, where the answers that cannot be read might change it.

    Args:
        result: The answer.
        figures: How many cannot be read.
        bounds: Returns the verdicts with all of these wrong, and right; see `compute_bound_verdicts`.
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


def compute_bound_verdicts(
    context: AuditContext, section: Question, options: Options
) -> list[Verdict]:
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


def list_failed_requests(context: AuditContext) -> list[tuple[str, int, str]]:
    """Return why requests of any question have no answer: the reason, how many, and the first of them."""
    known = {name for split in context.splits for name, _ in split.left_out}
    items: dict[str, list[str]] = {}
    for name, reason in (context.prompted.failures if context.prompted is not None else {}).items():
        if name not in known:
            items.setdefault(shorten_reason(reason), []).append(name)
    return [(reason, len(names), names[0]) for reason, names in items.items()]


def _measure_groups(answers: GivenAnswers, resampling: Resampling) -> list[AnswerGroup]:
    """Return the accuracy of each group of answers, the lowest first."""
    groups = []
    for kind, values in _list_columns(answers).items():
        texts = np.array([str(value) for value in values])
        for name in sorted(set(texts.tolist())):
            is_inside = texts == name
            clusters = select_clusters(answers.clusters, is_inside)
            accuracy = estimate_rate(answers.is_correct[is_inside], resampling, clusters)
            if accuracy is None:
                continue
            p_value = two_rates_p_value(answers.is_correct, is_inside, clusters=answers.clusters)
            groups.append(AnswerGroup(kind, name, int(is_inside.sum()), accuracy, p_value))
    corrected = holm(np.array([group.p_value for group in groups]))
    tested = []
    for group, p_value in zip(groups, corrected.tolist(), strict=True):
        tested.append(dataclasses.replace(group, p_value=p_value))
    return sorted(tested, key=lambda group: group.accuracy.value or 0.0)


def _list_columns(answers: GivenAnswers) -> dict[str, list[Any]]:
    """Return the columns by which answers are grouped: slices, positions, and lengths."""
    columns = _find_slices(answers)
    if answers.is_multiple_choice:
        positions = [f"choice {label + 1}" for label in answers.labels.tolist()]
        columns["place of the right choice"] = positions
    for name in _ANSWERS:
        texts = answers.column(name)
        if texts is not None:
            lengths = np.array([len(str(text)) for text in texts])
            columns |= _group_by_length("length of the answer", lengths)
            break
    # Items with choices have a prompt, and others a text.
    lengths = answers.measure_texts("prompt")
    if len(lengths) == 0:
        lengths = answers.measure_texts("text")
    return columns | _group_by_length("length of the question", lengths)


def _group_by_length(kind: str, lengths: NDArray[np.int64]) -> dict[str, list[Any]]:
    """Return the thirds of texts by length; {} if there are too few lengths."""
    # Thirds of a few lengths would be the lengths themselves.
    if len(np.unique(lengths)) <= 3:
        return {}
    ends = np.quantile(lengths, [1 / 3, 2 / 3])
    names = np.array(["short", "middle", "long"])
    return {kind: names[np.searchsorted(ends, lengths)].tolist()}


def _find_slices(answers: GivenAnswers) -> dict[str, list[Any]]:
    """Return the columns of few values that are neither the label nor say what is correct."""
    slices = {}
    for name, feature in answers.split.data.features.items():
        if name in _OURS or name in _ANSWERS:
            continue
        if getattr(feature, "dtype", "") not in ("string", "bool", "int64"):
            continue
        # The first rows tell a column of many values, without reading all of it.
        if len(set(answers.split.data[name][:N_INSPECTED_ROWS])) > MAX_GROUPS:
            continue
        values = answers.column(name) or []
        n_values = len(set(values))
        n_pairs = len(set(zip(values, answers.labels.tolist(), strict=True)))
        if 1 < n_values <= MAX_GROUPS and n_pairs > n_values and not _is_outcome(values, answers):
            slices[name] = ["none" if value is None else value for value in values]
    return slices


def _is_outcome(values: Sequence[Any], answers: GivenAnswers) -> bool:
    """Return whether the values of a column determine which answers are correct."""
    if answers.is_correct.all() or not answers.is_correct.any():
        return False
    pairs = set(zip(values, answers.is_correct.tolist(), strict=True))
    return len(pairs) <= len(set(values))
