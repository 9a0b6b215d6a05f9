"""Does a prediction change when its cue is taken away? The cue beside a control word of the same text.

LMI and attributions name candidates; an intervention decides. Each item is predicted again without its cue, and again
without another word of like frequency, so that the effect of the cue is set apart from that of any change of the text.

Accuracy by cue and label says how predictions do on the texts whose cues point elsewhere.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.intervals import Interval, bounded_mean, cluster_wilson, sign_flip_p_value, wilson
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.validation import (
    check_count,
    check_flags,
    check_fraction,
    check_labels,
    check_same_length,
    check_scores,
    check_texts,
)

MIN_TESTED = 20
"""Fewer items than these cannot tell whether cues decide."""

MIN_GROUP = 10
"""Groups of fewer items are not compared."""

MARGIN = 0.05
"""An excess below this is no reliance on cues worth the name."""


@dataclasses.dataclass(frozen=True)
class Effect(Result):
    """What an intervention on the cue does, beside the same intervention on a control word. Shares in [0, 1].

    Where each control word is removed in one way only, the rate is over all removals of the cue, and the control rate
    over the one removal of each control word.

    Attributes:
        n_items: Number of items.
        rate: Share of the items that respond when the cue is treated.
        interval: Wilson interval of it.
        control_rate: Share that respond when the control word is treated instead.
        control_interval: Wilson interval of it.
        excess: `rate - control_rate`, in [-1, 1]; 0 if cues matter no more than other words.
        excess_interval: Its interval, over items.
        p_value: Two-sided p-value of "cue and control word are alike", by flipping the sign of the items' differences
            between removals that both have.
        confidence: Mean confidence lost (or gained, for an insertion) by the cue, minus that by the control word.
        confidence_interval: Its interval.
    """

    n_items: int
    rate: float
    interval: Interval
    control_rate: float
    control_interval: Interval
    excess: float
    excess_interval: Interval
    p_value: float
    confidence: float
    confidence_interval: Interval


@dataclasses.dataclass(frozen=True)
class CueEffect(Result):
    """What one cue does: its name, and its effect over the items that hold it (removals) or lack it (insertions)."""

    cue: str
    effect: Effect


@dataclasses.dataclass(frozen=True)
class CausalShortcuts(Result):
    """Whether predictions change with their cues.

    Attributes:
        causal_shortcut_rate: Share of the predictions that change when their cue is taken away, over all removals.
        removal: The same beside control words, over all removals.
        removals: The effect of each removal, such as "delete", "mask" and "swap", over the items whose control word was
            removed in this way; a removal without such items is left out.
        insertion: The effect of putting a cue of another label into texts that lack it: a response is a prediction that
            becomes the label of the cue. None where nothing was inserted.
        cues: The effect of each cue, over all removals, in the order of their names.
        conclusion: "cues decide", "cues do not decide" or "cannot tell".
        reason: The test that decided, in one sentence.
    """

    causal_shortcut_rate: float
    removal: Effect
    removals: Mapping[str, Effect]
    insertion: Effect | None
    cues: tuple[CueEffect, ...]
    conclusion: str
    reason: str

    @property
    def in_words(self) -> str:
        """The conclusion in a few words, which tell what removals show from what insertions alone do."""
        if self.conclusion != "cues decide":
            return "Words alone do not decide" if self.conclusion == "cues do not decide" else "Cannot tell"
        if self.removal.excess_interval.low <= 0:
            return "Single words can sway it"
        return "Single words decide" if self.removal.interval.low > 0.5 else "Single words decide some"


def causal_shortcuts(
    probabilities: Any,
    without_cue: Mapping[str, Any],
    without_control: Mapping[str, Any] | Any,
    cues: Sequence[str],
    *,
    control_removals: Sequence[str] | None = None,
    inserted: tuple[Any, Any, Any, Any] | None = None,
    resampling: Resampling = Resampling(),
) -> CausalShortcuts:
    r"""Measure the share of predictions that change when their cue is taken away, beside control words.

    \[ C = \frac1{N R} \sum_{i, r} 1[\hat y(x_i^{r, cue}) \ne \hat y(x_i)], \quad
       excess = C - \frac1{N R} \sum_{i, r} 1[\hat y(x_i^{r, control}) \ne \hat y(x_i)] \]

    over N items and R removals. C lies in [0, 1]; lower means that predictions stand without their cues. A word that
    means its label changes predictions too: what C says is that the word decides, and reading the word says whether it
    may.

    Args:
        probabilities: (N, K) predicted probabilities of N items that hold a cue of their predicted label.
        without_cue: removal -> (N, K) probabilities of the same items without their cue.
        without_control: removal -> (N, K) probabilities without a control word; the same removals. Or, with
            `control_removals`, one table (N, K).
        cues: N names, the cue of each item.
        control_removals: N names, the removal of each control word, drawn at random: one pass for the control words in
            place of one per removal. The excess then compares all removals of a cue with the one of its control word,
            which is right on average, and its p-value the two that were removed alike. None (default) for tables of
            all removals.
        inserted: (before, with cue, with control, labels) of M texts into which a cue of the label (M,) is put:
            three tables (M, K) and the label of the cue of each. None (default) for no insertion.
        resampling: Level of the intervals, number of sign flips and their seed.

    Returns:
        `CausalShortcuts`. The conclusion is "cues do not decide" where the excess of the removals and that of the
        insertion are below 0.05, be they above 0 or not; "cues decide" where one of them is above 0 and may be larger
        than that; by intervals of twice the confidence (Bonferroni, as there are two tests); and "cannot tell"
        elsewhere and with fewer than 20 items.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If shapes or removals differ, or there are no items or no removals.

    References:
        The interventions are of this package; pairing with a control follows the logic of counterfactual token fairness
        (Garg et al. 2019, "Counterfactual Fairness in Text Classification through Robustness").

    Example:
        Four items of two classes; without the cue three predictions change, without another word one does.

        >>> before = [[0.9, 0.1]] * 4
        >>> result = causal_shortcuts(
        ...     before, {"delete": [[0.2, 0.8]] * 3 + [[0.7, 0.3]]}, {"delete": [[0.4, 0.6]] + [[0.9, 0.1]] * 3},
        ...     ["who", "who", "where", "where"],
        ... )
        >>> result.causal_shortcut_rate, result.removal.control_rate, result.removal.excess, result.conclusion
        (0.75, 0.25, 0.5, 'cannot tell')
    """
    before = check_scores(probabilities, name="probabilities", allow_vector=False)
    names = np.array([str(cue) for cue in cues], dtype=object)
    check_same_length(probabilities=before, cues=names)
    cue = _removed(before, without_cue, "without_cue")
    if control_removals is not None:
        control = _controls(before, list(without_cue), without_control, control_removals)
    elif without_cue and list(without_cue) == list(without_control):
        control = _removed(before, without_control, "without_control")
    else:
        raise ValueError(
            "Expected `without_cue` and `without_control` of the same removals, at least one, but got "
            f"{', '.join(without_cue) or 'none'} and {', '.join(without_control) or 'none'}."
        )

    def effect(items: NDArray[np.bool_], column: int | None = None) -> Effect:
        return _effect(cue.of(items, column), control.of(items, column), resampling)[0]

    removal, interval = _effect(cue, control, resampling)
    insertion = None if inserted is None else _insertion(*inserted, resampling=resampling)
    conclusion, reason = _conclude([(removal, interval)] if insertion is None else [(removal, interval), insertion])
    made = ~np.isnan(control.changes)
    return CausalShortcuts(
        causal_shortcut_rate=removal.rate,
        removal=removal,
        removals={
            name: effect(made[:, column], column) for column, name in enumerate(without_cue) if made[:, column].any()
        },
        insertion=None if insertion is None else insertion[0],
        cues=tuple(CueEffect(name, effect(names == name)) for name in sorted(set(names))),
        conclusion=conclusion,
        reason=reason,
    )


@dataclasses.dataclass(frozen=True, eq=False)
class _Responses:
    """How items respond to interventions; NaN where one was not made.

    Attributes:
        changes: (N, R) 1 where the item responds.
        confidences: (N, R) the confidence that is lost, or gained by an insertion.
    """

    changes: NDArray[np.float64]
    confidences: NDArray[np.float64]

    def of(self, items: NDArray[np.bool_], column: int | None = None) -> _Responses:
        """Take some items, and one of the interventions."""
        columns = slice(None) if column is None else slice(column, column + 1)
        return _Responses(self.changes[items, columns], self.confidences[items, columns])


def _removed(before: NDArray[np.float64], tables: Mapping[str, Any], name: str) -> _Responses:
    """Return which predictions change, and the confidence in the old prediction that is lost, by each removal."""
    rows, predicted = np.arange(len(before)), before.argmax(axis=1)
    after = [_like(table, before, f"{name}[{removal!r}]" if name else removal) for removal, table in tables.items()]
    return _Responses(
        np.array([table.argmax(axis=1) != predicted for table in after], dtype=np.float64).T,
        np.array([before[rows, predicted] - table[rows, predicted] for table in after]).T,
    )


def _controls(before: NDArray[np.float64], removals: list[str], table: Any, names: Sequence[str]) -> _Responses:
    """Place the one response of each control word in the column of its removal."""
    listed = check_texts(names, "control_removals")
    check_same_length(probabilities=before, control_removals=listed)
    unknown = next((name for name in listed if name not in removals), None)
    if unknown is not None:
        raise ValueError(
            f"Expected `control_removals` to be among those of `without_cue` ({', '.join(removals) or 'none'}), "
            f"but got {unknown!r}."
        )
    response = _removed(before, {"without_control": table}, "")
    made = np.array([[name == removal for removal in removals] for name in listed])
    return _Responses(np.where(made, response.changes, np.nan), np.where(made, response.confidences, np.nan))


def _like(table: Any, before: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    checked = check_scores(table, name=name, allow_vector=False)
    if checked.shape != before.shape:
        raise ValueError(f"Expected `{name}` of shape {before.shape}, but got {checked.shape}.")
    return checked


def _insertion(before: Any, cue: Any, control: Any, labels: Any, *, resampling: Resampling) -> tuple[Effect, Interval]:
    table = check_scores(before, name="before", allow_vector=False)
    goals = check_labels(labels, table.shape[1], name="labels")
    check_same_length(before=table, labels=goals)
    rows = np.arange(len(table))
    parts = []
    for name, after in (("with_cue", cue), ("with_control", control)):
        probabilities = _like(after, table, name)
        reached = (probabilities.argmax(axis=1) == goals) & (table.argmax(axis=1) != goals)
        gained = probabilities[rows, goals] - table[rows, goals]
        parts.append(_Responses(reached[:, None].astype(np.float64), gained[:, None]))
    return _effect(parts[0], parts[1], resampling)


def _effect(cue: _Responses, control: _Responses, resampling: Resampling) -> tuple[Effect, Interval]:
    """Compare responses of cue and control; an item is a cluster of its interventions.

    Returns the effect, and the interval of the excess when it is one of two tests.
    """
    level = resampling.level
    differences = cue.changes.mean(axis=1) - np.nanmean(control.changes, axis=1)
    confidence = cue.confidences.mean(axis=1) - np.nanmean(control.confidences, axis=1)

    def interval(changes: NDArray[np.float64]) -> Interval:
        made = np.count_nonzero(~np.isnan(changes), axis=1)
        hits = np.nansum(changes, axis=1)
        if made.max() == 1:
            return wilson(int(hits.sum()), len(hits), confidence_level=level)
        return cluster_wilson(hits, made, confidence_level=level)

    effect = Effect(
        n_items=len(differences),
        rate=float(cue.changes.mean()),
        interval=interval(cue.changes),
        control_rate=float(np.nanmean(control.changes)),
        control_interval=interval(control.changes),
        excess=float(differences.mean()),
        excess_interval=bounded_mean(differences, low=-1, high=1, confidence_level=level),
        p_value=sign_flip_p_value(np.nanmean(cue.changes - control.changes, axis=1), resampling=resampling),
        confidence=float(confidence.mean()),
        confidence_interval=bounded_mean(confidence, low=-1, high=1, confidence_level=level),
    )
    return effect, bounded_mean(differences, low=-1, high=1, confidence_level=(1 + level) / 2)


def _conclude(tests: Sequence[tuple[Effect, Interval]]) -> tuple[str, str]:
    """Conclude from the removals, and from the insertion where there is one."""
    n_items = tests[0][0].n_items
    if n_items < MIN_TESTED:
        return "cannot tell", f"{n_items} predictions with a cue are fewer than the {MIN_TESTED} that are needed."
    shown = [(effect, interval) for effect, interval in tests if effect.n_items >= MIN_TESTED]
    sentences = [
        f"Of {effect.n_items} predictions{way[0]} {effect.rate:.1%} {way[1]} {effect.control_rate:.1%} {way[2]}: "
        f"{_signed(effect.excess, interval)}."
        for (effect, interval), way in zip(shown, _WAYS, strict=False)
    ]
    # A sentence for what decided comes first: the removals where they show an effect, as a word that means its label
    # changes predictions when it is put in, whatever they rest on otherwise.
    intervals = [interval for _, interval in shown]
    strongest = 0 if intervals[0].low > 0 else max(range(len(shown)), key=lambda test: intervals[test].low)
    first = sentences.pop(strongest)
    level = f"(Intervals at {intervals[0].confidence_level:.1%}, as there are two tests.)"
    reason = " ".join([first, *sentences, level])
    # An effect that many items show, and that is small, is none worth the name.
    if all(interval.high < MARGIN for interval in intervals):
        return "cues do not decide", reason
    return ("cues decide" if intervals[strongest].low > 0 else "cannot tell"), reason


_WAYS = (
    (" with a cue,", "change without it and", "without a control word"),
    (",", "become another label when a cue of it is put in and", "when a control word is"),
)
"""How the removals and the insertion are told."""


def _signed(excess: float, interval: Interval) -> str:
    return f"{100 * excess:+.1f} points [{100 * interval.low:+.1f}, {100 * interval.high:+.1f}]"


@dataclasses.dataclass(frozen=True)
class CueGroup(Result):
    """The items of one label that hold, or lack, a cue of one label.

    Attributes:
        cue_label: The label that the cue points at; None for items without any cue.
        label: The gold label.
        n_items: Number of items.
        accuracy: Share of them that is predicted right; None where there are none.
        interval: Wilson interval of it; None where there are none.
        follows: Share of them that is predicted as the label of the cue; None without a cue or items.
    """

    cue_label: int | None
    label: int
    n_items: int
    accuracy: float | None
    interval: Interval | None
    follows: float | None


@dataclasses.dataclass(frozen=True)
class WorstGroup(Result):
    """The accuracy of the group that does worst.

    Attributes:
        worst_group_accuracy: The lowest accuracy of the groups of at least `min_group` items; None without such groups.
        interval: Its Wilson interval at a confidence of 1 - (1 - level) / G for G groups, as the worst is picked among
            them; None where there is none.
        follows_interval: The interval, of the same kind, of the share of the worst group that is predicted as the label
            of its cue; None where there is no such group, or it has no cue.
        group: The worst group; None where there is none.
        accuracy: Share of all items that is predicted right.
        accuracy_interval: Its Wilson interval.
        groups: Every group with items, by label of the cue and gold label.
        min_group: Number of items from which a group is compared.
    """

    worst_group_accuracy: float | None
    interval: Interval | None
    follows_interval: Interval | None
    group: CueGroup | None
    accuracy: float
    accuracy_interval: Interval
    groups: tuple[CueGroup, ...]
    min_group: int


def worst_group_accuracy(
    predictions: Any,
    references: Any,
    has_cue: Mapping[int, Any],
    *,
    min_group: int = MIN_GROUP,
    confidence_level: float = 0.95,
) -> WorstGroup:
    r"""Compute the lowest accuracy over groups of (label of a cue, gold label).

    \[ \min_{a, b} \frac{\sum_i 1[\hat y_i = y_i, y_i = b, c_i^a]}{\sum_i 1[y_i = b, c_i^a]} \]

    where \(c_i^a\) says whether item i holds a cue of label a; items without any cue are groups of their own. In
    [0, 1]; higher is better. An item that holds cues of two labels is in two groups.

    Args:
        predictions: (N,) predicted labels.
        references: (N,) gold labels.
        has_cue: label -> (N,) flags, whether an item holds a cue of the label.
        min_group: Minimum number of items of a group that is compared; default 10.
        confidence_level: Such as 0.95.

    Returns:
        `WorstGroup`.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If lengths differ.

    References:
        Sagawa et al. (2020), Distributionally Robust Neural Networks for Group Shifts, section 2.

    Example:
        Of three items of label 1 with a cue of label 0, one is predicted right.

        >>> result = worst_group_accuracy(
        ...     [0, 0, 1, 1, 1], [1, 1, 1, 1, 0], {0: [True, True, True, False, False]}, min_group=2
        ... )
        >>> round(result.worst_group_accuracy, 3), result.group.cue_label, result.group.label
        (0.333, 0, 1)
    """
    predicted, gold = check_labels(predictions, name="predictions"), check_labels(references, name="references")
    check_same_length(predictions=predicted, references=gold)
    least = check_count(min_group, "min_group")
    level = check_fraction(confidence_level, "confidence_level", open_ends=True)
    flags: dict[int | None, NDArray[np.bool_]] = {
        label: check_flags(values, f"has_cue[{label}]") for label, values in has_cue.items()
    }
    for label, values in flags.items():
        check_same_length(**{"predictions": predicted, f"has_cue[{label}]": values})
    right = predicted == gold
    without = ~np.any(list(flags.values()), axis=0) if flags else np.ones(len(gold), np.bool_)
    groups = []
    for cue_label, holds in ((None, without), *flags.items()):
        for label in np.unique(gold[holds]).tolist():
            inside = holds & (gold == label)
            n_items, hits = int(inside.sum()), int(right[inside].sum())
            follows = None if cue_label is None else float((predicted[inside] == cue_label).mean())
            interval = wilson(hits, n_items, confidence_level=level)
            groups.append(CueGroup(cue_label, label, n_items, hits / n_items, interval, follows))
    compared = [group for group in groups if group.n_items >= least]
    worst = min(compared, key=lambda group: group.accuracy or 0.0, default=None)

    def interval_of(share: float | None) -> Interval | None:
        """Return the interval of a share of the worst group, which is picked among all that are compared."""
        if worst is None or share is None:
            return None
        picked = 1 - (1 - level) / len(compared)
        return wilson(round(share * worst.n_items), worst.n_items, confidence_level=picked)

    return WorstGroup(
        worst_group_accuracy=None if worst is None else worst.accuracy,
        interval=interval_of(None if worst is None else worst.accuracy),
        follows_interval=interval_of(None if worst is None else worst.follows),
        group=worst,
        accuracy=float(right.mean()),
        accuracy_interval=wilson(int(right.sum()), len(right), confidence_level=level),
        groups=tuple(groups),
        min_group=least,
    )
