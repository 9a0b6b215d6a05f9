"""Cues of multiple-choice data: which there are, how far they lead, and whether a model is better where they help.

`measure_cues` needs the data alone; with the scores of a model it also compares the model on Easy and on Hard items.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Ragged
from rightreasons.core.choices import MIN_ITEMS
from rightreasons.core.decisions import MARGINS, Decision, decide, decide_above
from rightreasons.core.estimates import Estimate, make_estimate, subtract_reference
from rightreasons.core.intervals import cluster_wilson
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.sentences import pluralize
from rightreasons.core.validation import check_ragged
from rightreasons.cues.classifier import CueClassifier, cue_classifier, cue_transfer
from rightreasons.cues.easy_hard import EasyHardGap, easy_hard_gap
from rightreasons.cues.labels import number_groups
from rightreasons.cues.options import CuesOptions
from rightreasons.cues.statistics import Cue, CueStatistics, cue_statistics

if TYPE_CHECKING:
    import datasets


GROUPS = "source_id"
"""The column of groups where none is named."""

Conclusion = Literal["gives answers away", "misleads", "cannot tell", "no sign"]
"""What cues alone say of the data; see `CueFigures.conclusion`."""


@dataclasses.dataclass(frozen=True, eq=False)
class ChoiceItems:
    """Labeled multiple-choice items.

    Attributes:
        prompts: n prompts.
        choices: n lists of choices.
        labels: (n,) indices of the right choices.
        groups: n names of what belongs together, such as an item and its mirror; None where each item is on its own.
        easy: (n,) whether the data itself calls an item Easy; None where it does not say.
        rows: (n,) the rows of the table that the items come from; empty where they come from none.
    """

    prompts: Sequence[str]
    choices: Sequence[Sequence[str]]
    labels: NDArray[np.int64]
    groups: Sequence[Hashable] | None = None
    easy: NDArray[np.bool_] | None = None
    rows: NDArray[np.intp] = dataclasses.field(default_factory=lambda: np.empty(0, dtype=np.intp))

    def __len__(self) -> int:
        return len(self.labels)

    @classmethod
    def of(cls, table: datasets.Dataset, groups_column: str | None = None) -> ChoiceItems:
        """Take the labeled items of a table in the common schema.

        Args:
            table: Rows {prompt, choices, label}; labels below 0 stand for none.
            groups_column: The column of groups; None for `source_id` where there is one.

        Returns:
            The items; `easy` comes from a column of that name.

        Raises:
            ValueError: If `groups_column` names no column.
        """
        if groups_column is not None and groups_column not in table.column_names:
            raise ValueError(
                f"Expected a column {groups_column!r}, but the data has {', '.join(table.column_names)}."
            )
        labels = np.array(table["label"][:], dtype=np.int64)
        rows = np.flatnonzero(labels >= 0)
        kept = table.select(rows)
        groups, easy = (
            list(kept[name]) if name in kept.column_names else None
            for name in (groups_column or GROUPS, "easy")
        )
        if groups is not None:  # an item without a group is on its own
            groups = [
                ("item", row) if name in (None, "") else name
                for row, name in zip(rows, groups, strict=True)
            ]
        flags = None if easy is None else np.array(easy, dtype=np.bool_)
        return cls(kept["prompt"][:], kept["choices"][:], labels[rows], groups, flags, rows)


@dataclasses.dataclass(frozen=True, eq=False)
class CueFigures(Result):
    """What cues give away; see `measure_cues`.

    Attributes:
        statistics: The cues of the training items, or of the items themselves.
        n_train: Number of training items; None where the items themselves are counted.
        accuracy: Accuracy of a classifier that sees cues alone, with its interval over groups (`cluster_wilson`).
        chance: Accuracy of guessing.
        classifier: Cross-validation on the items; None where there are training items.
        easy: (n,) which items are Easy: those that the data calls so, or else those that the classifier gets right.
        easy_is_given: Whether the data itself says which items are Easy.
        alone: Whether cues alone gain or lose much against guessing, at the level of the verdict.
        is_below: Whether they surely do worse than guessing, at that level.
        predicted: (n,) the choices of a model; None without its scores, as are the following.
        gap: The model on Easy and on Hard items; None also where all items are Easy, or none is.
        decided: Whether the gap is small or large, at the level of the verdict; None without one.
        is_misled: Whether the model is surely worse than guessing on Hard items, at that level.
    """

    statistics: CueStatistics
    n_train: int | None
    accuracy: Estimate
    chance: float
    classifier: CueClassifier | None
    easy: NDArray[np.bool_]
    easy_is_given: bool
    alone: Decision
    is_below: bool
    predicted: NDArray[np.int64] | None = None
    gap: EasyHardGap | None = None
    decided: Decision | None = None
    is_misled: bool = False

    @property
    def alpha(self) -> float:
        """Below which a p-value is significant."""
        return 1 - self.statistics.confidence_level

    @property
    def significant(self) -> tuple[Cue, ...]:
        """The cues whose productivity differs from chance after Holm's correction."""
        return tuple(cue for cue in self.statistics.cues if cue.p_holm < self.alpha)

    @property
    def conclusion(self) -> Conclusion:
        """What cues alone say of the data.

        Returns:
            "gives answers away" where `accuracy` is surely more than 10 points above chance. "misleads" where it surely
            lies below: a cross-validated classifier is misled where items that share their choices but not their
            answer, such as an item and its twin, are in different folds, and the data says nothing of cues until they
            are grouped. "no sign" where it is surely within 10 points of chance; else "cannot tell".
        """
        if self.is_below:
            return "misleads"
        if self.alone.level == "large":
            return "gives answers away"
        return "no sign" if self.alone.level == "small" else "cannot tell"

    @property
    def n_needed(self) -> int | None:
        """About how many items would tell all that is open; None where nothing is, or no number is known to."""
        needed = [
            test.n_needed
            for test in (self.alone, self.decided)
            if test is not None and test.level == "unknown"
        ]
        known = [n for n in needed if n is not None]
        return max(known) if known and len(known) == len(needed) else None

    @property
    def too_few(self) -> str:
        """What the items leave open, in words."""
        n_items = pluralize(len(self.easy), "item does", "items do")
        would = f"; about {pluralize(self.n_needed, 'item')} would tell" if self.n_needed else ""
        return f"{n_items} not rule out an effect of {100 * MARGINS['accuracy'].small:.0f} points{would}"

    def telling(self, limit: int) -> tuple[Cue, ...]:
        """Return cues for a table: first those that differ from chance, then others, each by applicability."""
        return tuple(sorted(self.statistics.cues, key=lambda cue: cue.p_holm >= self.alpha)[:limit])


def measure_cues(
    items: ChoiceItems,
    *,
    train: ChoiceItems | None = None,
    logits: NDArray[np.float64] | Ragged | Sequence[NDArray[np.float64]] | None = None,
    options: CuesOptions | None = None,
    resampling: Resampling = Resampling(),
) -> CueFigures:
    """Count the cues of multiple-choice data, and see how far they alone lead.

    Args:
        items: The items.
        train: What a model learns from: its cues are counted, and a classifier that learned them is tested on the
            items. None to count the cues of the items, and to cross-validate on them.
        logits: Scores of a model for the choices of the items; (n, K) or ragged.
        options: Families of cues and number of folds; with fewer groups than the default number, one per group.
        resampling: Level, resamples and seed of intervals and tests.

    Returns:
        A `CueFigures`.

    Raises:
        ValueError: If an option is out of range or lengths differ.

    References:
        Niven and Kao (2019), "Probing Neural Network Comprehension of Natural Language Arguments"; Kavumba et al.
        (2019), "When Choosing Plausible Alternatives, Clever Hans can be Clever", Table 4.

    Example:
        >>> items = ChoiceItems(["Why?"] * 20, [["a true one", "a false one"]] * 20, np.zeros(20, dtype=np.int64))
        >>> figures = measure_cues(items, options=CuesOptions(n_folds=5))
        >>> figures.accuracy.value, figures.chance, figures.conclusion
        (1.0, 0.5, 'gives answers away')
        >>> [cue.cue for cue in figures.significant]
        ['false', 'true']
    """
    options = options or CuesOptions()
    counted, level = items if train is None else train, resampling.level
    features: dict[str, Any] = {"features": options.features}
    statistics = cue_statistics(
        counted.choices,
        counted.labels,
        prompts=counted.prompts,
        groups=counted.groups,
        min_applicability=options.min_applicability,
        confidence_level=level,
        **features,
    )
    groups = list(range(len(items)) if items.groups is None else items.groups)
    classifier = None
    if train is None:
        classifier = cue_classifier(
            items.choices,
            items.labels,
            prompts=items.prompts,
            groups=groups,
            n_folds=options.n_folds
            if "n_folds" in options.get_changes()
            else min(options.n_folds, len(set(groups))),
            confidence_level=level,
            seed=resampling.seed,
            **features,
        )
        credit = np.array(classifier.credits)
    else:
        credit = cue_transfer(
            train.choices,
            train.labels,
            items.choices,
            items.labels,
            train_prompts=train.prompts,
            test_prompts=items.prompts,
            **features,
        )
    group = number_groups(groups, len(items))
    chance = float(np.mean([1 / len(choices) for choices in items.choices]))
    accuracy = _accuracy(credit, group, resampling)
    # Of a model there are two more tests: the gap, and the accuracy on Hard items.
    wide = resampling.correct_for_tests(1 if logits is None else 3)
    sure = _accuracy(credit, group, wide)
    easy = credit == 1.0 if items.easy is None else items.easy
    n_units = len(set(groups))
    figures = CueFigures(
        statistics=statistics,
        n_train=None if train is None else len(train),
        accuracy=accuracy,
        chance=chance,
        classifier=classifier,
        easy=easy,
        easy_is_given=items.easy is not None,
        alone=decide(subtract_reference(sure, chance), MARGINS["accuracy"], len(items), n_units),
        is_below=sure.high is not None and sure.high < chance and n_units >= MIN_ITEMS,
        predicted=None
        if logits is None
        else check_ragged(logits, scores="logits", name="logits").argmax(),
    )
    if figures.predicted is None or easy.all() or not easy.any():
        return figures
    gap, strict = (
        easy_hard_gap(figures.predicted, items.labels, easy, clusters=items.groups, resampling=each)
        for each in (resampling, wide)
    )
    decided = decide_above(
        make_estimate(strict.easy_hard_gap, strict.interval),
        MARGINS["accuracy"],
        len(items),
        n_units,
    )
    is_misled = strict.hard_accuracy_interval.high < chance
    return dataclasses.replace(figures, gap=gap, decided=decided, is_misled=is_misled)


def _accuracy(
    credit: NDArray[np.float64], group: NDArray[np.int64], resampling: Resampling
) -> Estimate:
    interval = cluster_wilson(
        np.bincount(group, credit), np.bincount(group), confidence_level=resampling.level
    )
    return make_estimate(float(credit.mean()), interval)
