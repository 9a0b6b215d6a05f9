"""Measure the cues of multiple-choice data: which exist, how often they are correct, and whether a model uses them.

`measure_cues` only needs the data; with the scores of a model it also compares the accuracy of the
model on Easy and on Hard items.
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

Floats = NDArray[np.float64]

DEFAULT_GROUPS_COLUMN = "source_id"
"""Column that names the groups of items unless another one is given."""

Conclusion = Literal["gives answers away", "misleads", "cannot tell", "no sign"]
"""Conclusion about the data from cues alone; see `CueFigures.conclusion`."""


@dataclasses.dataclass(frozen=True, eq=False)
class ChoiceItems:
    """Labeled multiple-choice items.

    Attributes:
        prompts: n prompts.
        choices: n lists of choices.
        labels: (n,) indices of the correct choices.
        groups: n names of groups of items that belong together, such as an item and its mirror;
            None if the items are independent.
        easy: (n,) whether the data itself calls an item Easy; None if it does not say.
        rows: (n,) rows of the table that the items come from; empty if they come from none.
    """

    prompts: Sequence[str]
    choices: Sequence[Sequence[str]]
    labels: NDArray[np.int64]
    groups: Sequence[Hashable] | None = None
    easy: NDArray[np.bool_] | None = None
    rows: NDArray[np.intp] = dataclasses.field(default_factory=lambda: np.empty(0, dtype=np.intp))

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def group_names(self) -> Sequence[Hashable]:
        """N names of groups; if there are none, each item is a separate group."""
        if self.groups is None:
            return range(len(self))
        return self.groups

    @classmethod
    def from_table(cls, table: datasets.Dataset, groups_column: str | None = None) -> ChoiceItems:
        """Make items from the labeled rows of a table in the common schema.

        Args:
            table: Rows with the columns "prompt", "choices" and "label"; a label below 0 marks an
                unlabeled row.
            groups_column: Column of groups. If None, the column "source_id", if the table has it.

        Returns:
            The items. Their attribute `easy` is read from a column "easy", if the table has it.

        Raises:
            ValueError: If the table does not have the column `groups_column`.
        """
        if groups_column is not None and groups_column not in table.column_names:
            columns = ", ".join(table.column_names)
            raise ValueError(f"Expected a column {groups_column!r}, but the data has {columns}.")

        # Only labeled items show whether a cue predicts the correct choice.
        labels = np.array(table["label"][:], dtype=np.int64)
        rows = np.flatnonzero(labels >= 0)
        labeled = table.select(rows)
        easy = None
        if "easy" in labeled.column_names:
            easy = np.array(list(labeled["easy"]), dtype=np.bool_)
        return cls(
            prompts=labeled["prompt"][:],
            choices=labeled["choices"][:],
            labels=labels[rows],
            groups=_read_groups(labeled, groups_column or DEFAULT_GROUPS_COLUMN, rows),
            easy=easy,
            rows=rows,
        )


@dataclasses.dataclass(frozen=True, eq=False)
class CueFigures(Result):
    """Figures of the cues of a data set; see `measure_cues`.

    Attributes:
        statistics: Cues of the training items, or of the items themselves if there are none.
        n_train: Number of training items; None if the items themselves are counted.
        accuracy: Accuracy of a classifier that only sees cues, with its interval over groups
            (`cluster_wilson`).
        chance: Accuracy of guessing.
        classifier: Cross-validation on the items; None if there are training items.
        easy: (n,) whether each item is Easy: according to the data, or else because the classifier
            answers it correctly.
        easy_is_given: Whether the data itself says which items are Easy.
        alone: Whether cues alone gain or lose much compared with guessing, at the level of the
            verdict.
        is_below: Whether cues alone are significantly worse than guessing, at that level.
        predicted: (n,) choices of a model; None without its scores.
        gap: The model on Easy and on Hard items; None without a model, or if all items are of one
            kind.
        decided: Whether the gap is small or large, at the level of the verdict; None without a gap.
        is_misled: Whether the model is significantly worse than guessing on Hard items, at that
            level.
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
        """Significance level: p-values below it are significant."""
        return 1 - self.statistics.confidence_level

    @property
    def significant(self) -> tuple[Cue, ...]:
        """The cues whose productivity differs from chance after Holm's correction."""
        return tuple(cue for cue in self.statistics.cues if cue.p_holm < self.alpha)

    @property
    def conclusion(self) -> Conclusion:
        """The conclusion about the data from cues alone.

        Returns:
            "gives answers away" if `accuracy` is significantly more than 10 points above chance.
            "misleads" if it is significantly below chance. This happens if items with the same
            choices but other answers, such as an item and its mirror, are in different folds; they
            have to be grouped before cues show anything about the data. "no sign" if it is
            significantly within 10 points of chance; otherwise "cannot tell".
        """
        # A classifier below chance shows nothing about the data, whatever else is decided.
        if self.is_below:
            return "misleads"
        if self.alone.level == "large":
            return "gives answers away"
        if self.alone.level == "small":
            return "no sign"
        return "cannot tell"

    @property
    def n_needed(self) -> int | None:
        """Number of items that would settle the undecided tests; None if no more are needed."""
        n_needed = 0
        for decision in (self.alone, self.decided):
            # The items of both tests are the same.
            if decision is not None and decision.level == "unknown":
                n_needed = max(n_needed, decision.n_needed or 0)
        return n_needed or None

    @property
    def too_few(self) -> str:
        """Sentence on the effect that cannot be ruled out with the number of items."""
        n_items = pluralize(len(self.easy), "item does", "items do")
        points = 100 * MARGINS["accuracy"].small
        sentence = f"{n_items} not rule out an effect of {points:.0f} points"
        if self.n_needed:
            sentence += f"; about {pluralize(self.n_needed, 'item')} would settle the question"
        return sentence

    def select_cues(self, limit: int) -> tuple[Cue, ...]:
        """Return the first cues for a table: those that differ from chance, then all others.

        Each of the two parts is in descending order of applicability.

        Args:
            limit: Maximum number of cues.
        """
        # The sort is stable, and the cues are in the order of their applicability already.
        cues = sorted(self.statistics.cues, key=lambda cue: cue.p_holm >= self.alpha)
        return tuple(cues[:limit])


def measure_cues(
    items: ChoiceItems,
    *,
    train: ChoiceItems | None = None,
    logits: Floats | Ragged | Sequence[Floats] | None = None,
    options: CuesOptions | None = None,
    resampling: Resampling = Resampling(),
) -> CueFigures:
    """Count the cues of multiple-choice data, and measure how far cues alone lead.

    Args:
        items: Labeled multiple-choice items.
        train: Training items of a model: their cues are counted, and a classifier that learned them
            is tested on the items. If None, the cues of the items are counted, and the classifier
            is cross-validated on them.
        logits: Scores of a model for the choices of the items; (n, K) or ragged.
        options: Families of cues and number of folds. With fewer groups than the default number of
            folds, there is one fold per group.
        resampling: Level, resamples and seed of intervals and tests.

    Returns:
        A `CueFigures`.

    Raises:
        ValueError: If an option is out of range or lengths differ.

    References:
        Niven and Kao (2019), "Probing Neural Network Comprehension of Natural Language Arguments";
        Kavumba et al. (2019), "When Choosing Plausible Alternatives, Clever Hans can be Clever",
        Table 4.

    Example:
        >>> items = ChoiceItems(["Why?"] * 20, [["a true one", "a false one"]] * 20, np.zeros(20, dtype=np.int64))
        >>> figures = measure_cues(items, options=CuesOptions(n_folds=5))
        >>> figures.accuracy.value, figures.chance, figures.conclusion
        (1.0, 0.5, 'gives answers away')
        >>> [cue.cue for cue in figures.significant]
        ['false', 'true']
    """
    # If there are training items, their cues are counted, which a model could have learned.
    options = options or CuesOptions()
    statistics = _count_cues(items if train is None else train, options, resampling)
    classifier = None
    if train is None:
        classifier = _cross_validate(items, options, resampling)
        credit = np.array(classifier.credits)
    else:
        credit = _classify_by_training_cues(train, items, options)

    # The verdict makes one test of the data, and two more of a model: the gap, and the accuracy on
    # Hard items. Its level is corrected for that number.
    verdict_resampling = resampling.correct_for_tests(1 if logits is None else 3)
    group = number_groups(items.group_names, len(items))
    n_groups = int(group.max()) + 1
    chance = float(np.mean([1 / len(choices) for choices in items.choices]))
    verdict_accuracy = _estimate_accuracy(credit, group, verdict_resampling)
    gain = subtract_reference(verdict_accuracy, chance)
    high = verdict_accuracy.high
    is_below = high is not None and high < chance and n_groups >= MIN_ITEMS
    # Only the choices of the model are used, not its confidence.
    predicted = None
    if logits is not None:
        predicted = check_ragged(logits, scores="logits", name="logits").argmax()
    # If the data does not say which items are Easy, these are the items that cues alone solve.
    easy = items.easy
    if easy is None:
        easy = credit == 1.0

    figures = CueFigures(
        statistics=statistics,
        n_train=None if train is None else len(train),
        accuracy=_estimate_accuracy(credit, group, resampling),
        chance=chance,
        classifier=classifier,
        easy=easy,
        easy_is_given=items.easy is not None,
        alone=decide(gain, MARGINS["accuracy"], len(items), n_groups),
        is_below=is_below,
        predicted=predicted,
    )
    # Without both kinds of items there is nothing to compare.
    if predicted is None or figures.easy.all() or not figures.easy.any():
        return figures
    return _compare_easy_hard(figures, items, resampling, verdict_resampling)


def _read_groups(
    table: datasets.Dataset,
    column: str,
    rows: NDArray[np.intp],
) -> list[Hashable] | None:
    """Read the group of each item from a column of a table.

    Args:
        table: The items, one per row.
        column: Name of the column.
        rows: Row of each item in the original data, which names items without a group.

    Returns:
        Names of groups, or None if the table does not have the column.
    """
    if column not in table.column_names:
        return None
    groups: list[Hashable] = []
    for row, name in zip(rows, table[column], strict=True):
        # An item without a group is a separate group, with a name that no column contains.
        if name in (None, ""):
            groups.append(("item", row))
        else:
            groups.append(name)
    return groups


def _count_cues(items: ChoiceItems, options: CuesOptions, resampling: Resampling) -> CueStatistics:
    """Compute the table of cues of items, by the families of cues in the options."""
    return cue_statistics(
        items.choices,
        items.labels,
        prompts=items.prompts,
        features=options.features,
        groups=items.groups,
        min_applicability=options.min_applicability,
        confidence_level=resampling.level,
    )


def _cross_validate(
    items: ChoiceItems,
    options: CuesOptions,
    resampling: Resampling,
) -> CueClassifier:
    """Cross-validate a classifier that only sees the cues of the items.

    Args:
        items: Labeled multiple-choice items.
        options: Families of cues and number of folds.
        resampling: Level of the interval, and seed of the folds.
    """
    n_folds = options.n_folds
    # The default number is reduced to the number of groups. A number that the user chose is not,
    # and raises an error if it is too large.
    if "n_folds" not in options.get_changes():
        n_folds = min(n_folds, len(set(items.group_names)))
    return cue_classifier(
        items.choices,
        items.labels,
        prompts=items.prompts,
        groups=items.group_names,
        features=options.features,
        n_folds=n_folds,
        confidence_level=resampling.level,
        seed=resampling.seed,
    )


def _classify_by_training_cues(
    train: ChoiceItems, items: ChoiceItems, options: CuesOptions
) -> Floats:
    """Classify items by their cues, as counted in training items.

    Args:
        train: Training items.
        items: The n items.
        options: Families of cues.

    Returns:
        (n,) 1 for a correct choice, 0 for an incorrect one, and a share for a tie.
    """
    return cue_transfer(
        train.choices,
        train.labels,
        items.choices,
        items.labels,
        train_prompts=train.prompts,
        test_prompts=items.prompts,
        features=options.features,
    )


def _estimate_accuracy(
    credit: Floats,
    group: NDArray[np.int64],
    resampling: Resampling,
) -> Estimate:
    """Estimate an accuracy with its interval over groups of items.

    Args:
        credit: (n,) 1 for a correct item, 0 for an incorrect one, and a share for a tie.
        group: (n,) number of the group of each item.
        resampling: Confidence level of the interval.
    """
    interval = cluster_wilson(
        np.bincount(group, credit),
        np.bincount(group),
        confidence_level=resampling.level,
    )
    return make_estimate(float(credit.mean()), interval)


def _compare_easy_hard(
    figures: CueFigures,
    items: ChoiceItems,
    resampling: Resampling,
    verdict_resampling: Resampling,
) -> CueFigures:
    """Add the comparison of a model's accuracy on Easy and on Hard items to the figures.

    Args:
        figures: Figures with Easy items and the choices of the model.
        items: Labeled multiple-choice items.
        resampling: Resampling of the intervals that are reported.
        verdict_resampling: Resampling at the corrected level of the verdict.

    Returns:
        The figures with `gap`, `decided` and `is_misled`.
    """
    clusters = None
    if items.groups is not None:
        # Numbers in the order of occurrence give the same resamples however the groups are named. A
        # log names them by strings, the data possibly by numbers.
        clusters = number_groups(items.groups, len(items))
    arguments: dict[str, Any] = {
        "predictions": figures.predicted,
        "references": items.labels,
        "easy": figures.easy,
        "clusters": clusters,
    }
    gap = easy_hard_gap(**arguments, resampling=resampling)
    # The intervals of the verdict have a higher level than those that are reported.
    verdict_gap = easy_hard_gap(**arguments, resampling=verdict_resampling)
    decided = decide_above(
        make_estimate(verdict_gap.easy_hard_gap, verdict_gap.interval),
        MARGINS["accuracy"],
        len(items),
        len(set(items.group_names)),
    )
    return dataclasses.replace(
        figures,
        gap=gap,
        decided=decided,
        is_misled=verdict_gap.hard_accuracy_interval.high < figures.chance,
    )
