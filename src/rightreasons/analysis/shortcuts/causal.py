"""Does a prediction change when its cue is taken away? The cue beside a control word of the same text.

LMI and attributions name candidates; an intervention decides. Each item is predicted again without its cue, and again
without another word of like frequency, so that the effect of the cue is set apart from that of any change of the text.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis.intervals import Interval, bounded_mean, cluster_wilson, sign_flip_p_value, wilson
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.results import Result
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import check_labels, check_same_length, check_scores, check_texts

MIN_ITEMS = 20
"""Fewer items than these cannot tell whether cues decide."""

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


@checks_kinds
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
    names = [str(cue) for cue in cues]
    check_same_length(probabilities=before, cues=names)
    cue = _removed(before, without_cue, "without_cue")
    if control_removals is None:
        if not without_cue or list(without_cue) != list(without_control):
            raise ValueError(
                "Expected `without_cue` and `without_control` of the same removals, at least one, but got "
                f"{', '.join(without_cue) or 'none'} and {', '.join(without_control) or 'none'}."
            )
        control = _removed(before, without_control, "without_control")
    else:
        control = _controls(before, list(without_cue), without_control, control_removals)
    removal = _effect(cue, control, resampling)
    insertion = None if inserted is None else _insertion(*inserted, resampling=resampling)
    groups = np.array(names, dtype=object)
    conclusion, reason = _conclude(removal[0], insertion, removal[1])
    return CausalShortcuts(
        causal_shortcut_rate=removal[0].rate,
        removal=removal[0],
        removals={
            name: _effect(cue.of(made, column), control.of(made, column), resampling)[0]
            for column, name in enumerate(without_cue)
            if (made := ~np.isnan(control.changes[:, column])).any()
        },
        insertion=None if insertion is None else insertion[0],
        cues=tuple(
            CueEffect(
                name,
                _effect(cue.of(groups == name), control.of(groups == name), resampling)[0],
            )
            for name in sorted(set(names))
        ),
        conclusion=conclusion,
        reason=reason,
    )


# ------------------------------------------------------------------------------------------------------------- private


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
    one = _removed(before, {"without_control": table}, "")
    made = np.array([[name == removal for removal in removals] for name in listed])
    return _Responses(np.where(made, one.changes, np.nan), np.where(made, one.confidences, np.nan))


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


def _conclude(removal: Effect, insertion: tuple[Effect, Interval] | None, interval: Interval) -> tuple[str, str]:
    n_items = removal.n_items
    if n_items < MIN_ITEMS:
        return "cannot tell", f"{n_items} predictions with a cue are fewer than the {MIN_ITEMS} that are needed."
    sentence = (
        f"Of {n_items} predictions with a cue, {removal.rate:.1%} change without it and {removal.control_rate:.1%} "
        f"without a control word: {_signed(removal.excess, interval)}."
    )
    sentences, intervals = [sentence], [interval]
    if insertion is not None and insertion[0].n_items >= MIN_ITEMS:
        effect = insertion[0]
        intervals.append(insertion[1])
        sentences.append(
            f"Of {effect.n_items} predictions, {effect.rate:.1%} become another label when a cue of it is put in and "
            f"{effect.control_rate:.1%} when a control word is: {_signed(effect.excess, insertion[1])}."
        )
    # A sentence for what decided comes first: the removals where they show an effect, as a word that means its label
    # changes predictions when it is put in, whatever they rest on otherwise.
    strongest = 0 if interval.low > 0 else max(range(len(intervals)), key=lambda test: intervals[test].low)
    level = f"(Intervals at {intervals[0].confidence_level:.1%}, as there are two tests.)"
    ordered = " ".join([sentences[strongest], *(one for n, one in enumerate(sentences) if n != strongest), level])
    # An effect that many items show, and that is small, is none worth the name.
    if all(one.high < MARGIN for one in intervals):
        return "cues do not decide", ordered
    return ("cues decide" if intervals[strongest].low > 0 else "cannot tell"), ordered


def _signed(excess: float, interval: Interval) -> str:
    return f"{100 * excess:+.1f} points [{100 * interval.low:+.1f}, {100 * interval.high:+.1f}]"
