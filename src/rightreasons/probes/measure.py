"""The four confusion probes: the requests to a scorer of choices, and the figures of its answers.

`probe_tables` perturbs the items once. `ProbeTables.scored_by` has them scored by one call, and
`measure_probes` turns the scores into figures; `measure_option_order` scores several orders of the
choices. The scorer is a function, so that a model from the hub, an audit and a Trainer in the middle
of a run are measured by the same code.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Ragged
from rightreasons.core.clusters import (
    count_units,
    number_clusters,
    number_clusters_by_item,
    select_clusters,
)
from rightreasons.core.estimates import make_rate_interval
from rightreasons.core.intervals import Interval
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.scores import Scores
from rightreasons.core.validation import (
    as_ragged,
    check_count,
    check_ragged,
    check_same_length,
)
from rightreasons.datasets.perturbing.arms import list_orders, name_arm, name_extra_choices
from rightreasons.datasets.perturbing.orders import MAX_CHOICES_OF_ALL_ORDERS, list_choice_orders
from rightreasons.datasets.perturbing.probes import ORIGINAL
from rightreasons.io.samples import choose_rows
from rightreasons.probes.bias import PriorBias, prior_bias
from rightreasons.probes.option_order import (
    ChoicesOnly,
    PositionBias,
    choices_only,
    position_bias,
    pride_prior,
    pride_prior_intervals,
)
from rightreasons.probes.paralysis import ChoiceParalysis, choice_paralysis
from rightreasons.probes.reading import Reading, measure_reading

if TYPE_CHECKING:
    import datasets

    from rightreasons.audited.logged_arms import LoggedArms
    from rightreasons.datasets.perturbing.probes import Pool


WITHOUT_ANSWER = ("no_question", "wrong_question", "no_right_answer")
"""Probes after which no choice is correct, so that preferences among choices are prior bias."""

WITHOUT_QUESTION = ("no_question", "wrong_question")
"""Probes that remove or replace the question, and leave the choices unchanged."""

GROUPS = ("pair_id", "source_id")
"""Columns of clusters of items, if none is named."""

KS = (1, 2, 4, 8)
"""Default numbers of choices that the fourth probe adds."""

Places = NDArray[np.int64]

Score = Callable[[Sequence[str], Sequence[Sequence[str]], Sequence[str]], Any]
"""(prompts, choices, ids) -> logits: an array, `Ragged` or rows, or `Scores`, which may lack items."""


@dataclasses.dataclass(frozen=True, eq=False)
class ProbeTables:
    """Items before and after every probe. All tables have the same items in the same order.

    Attributes:
        tables: Name -> rows: "original", the probes of `WITHOUT_ANSWER`, and "extra_choices_1" and so
            on for each k.
        ks: Numbers of added choices.
        n_dropped: Number of items left out because they have no label or two equal choices.
        groups_column: Column of clusters of items. None for `pair_id` or `source_id`, if there is one.
        logits: Name of the table -> scores of its choices, from `scored_by`. None for tables that are
            not scored.
        left_out: (id, reason) of the items that the scorer could not score in all tables.
    """

    tables: Mapping[str, datasets.Dataset]
    ks: tuple[int, ...]
    n_dropped: int
    groups_column: str | None = None
    logits: Mapping[str, Ragged] | None = None
    left_out: tuple[tuple[str, str], ...] = ()

    def __len__(self) -> int:
        return len(self.tables[ORIGINAL])

    @functools.cached_property
    def units(self) -> NDArray[np.int64] | None:
        """(N,) cluster numbers of the items; None for independent items."""
        original = self.tables[ORIGINAL]
        for column in (self.groups_column, *GROUPS):
            if column in original.column_names:
                units = number_clusters_by_item(original[column][:])
                # If each group has one item, the items are independent.
                if len(units) and units.max() + 1 < len(units):
                    return units
                return None
        return None

    @functools.cached_property
    def n_units(self) -> int:
        """Number of clusters, or of independent items."""
        return count_units(self.units, len(self))

    def sizes(self) -> NDArray[np.int64]:
        """(N,) numbers of choices before any probe."""
        return np.array([len(row) for row in self.column(ORIGINAL, "choices")], dtype=np.int64)

    def column(self, name: str, column: str) -> Any:
        """Return a column of one table as a list."""
        return self.tables[name][column][:]

    def labels(self, name: str = ORIGINAL, column: str = "label") -> NDArray[np.int64]:
        """(N,) position of the correct choice, or with "pseudo_label" of the one that was correct."""
        return np.asarray(self.column(name, column), dtype=np.int64)

    def compare_readings(
        self, picked: Mapping[str, NDArray[np.int64]], resampling: Resampling
    ) -> dict[str, Reading]:
        """Compare the answers to the question with those without it, and with those to another one.

        Args:
            picked: Name of the table -> (N,) picked choices, -1 for no answer.
            resampling: Confidence level of the intervals.

        Returns:
            "no_question" and "wrong_question" -> the comparison. A probe is missing if a log lacks
            it, or if no item has an answer.
        """
        readings = {}
        for name in WITHOUT_QUESTION:
            if name not in picked:
                continue
            reading = measure_reading(
                picked[ORIGINAL],
                picked[name],
                self.labels(),
                n_choices=self.sizes(),
                clusters=self.units,
                resampling=resampling,
            )
            if reading is not None:
                readings[name] = reading
        return readings

    def list_requests(self) -> tuple[list[str], list[list[str]], list[str]]:
        """Return the requests about all N items in all T tables, table by table.

        Returns:
            T * N prompts, T * N lists of choices, and T * N unique ids such as "7/no_question".
        """
        prompts: list[str] = []
        choices: list[list[str]] = []
        names: list[str] = []
        for table in self.tables:
            prompts.extend(self.column(table, "prompt"))
            choices.extend(self.column(table, "choices"))
            # An item has a request in each table, and each request has another name.
            for item_id in self.column(ORIGINAL, "id"):
                names.append(name_arm(item_id, table))
        return prompts, choices, names

    def scored_by(self, score: Score) -> ProbeTables:
        """Return the tables with the scores of their choices, from one call of a scorer.

        An item that cannot be scored in one table is left out of all tables, so that figures
        compare the same items.

        Args:
            score: Function of the prompts, choices and ids of all requests that returns their
                logits, or `Scores` with the reasons of failed requests in `failures`.

        Raises:
            ValueError: If no item has scores in all tables.
        """
        prompts, choices, names = self.list_requests()
        answers = score(prompts, choices, names)
        if not isinstance(answers, Scores):
            return self._add_logits(answers)
        reason_by_id: dict[str, str] = {}
        for name, reason in answers.failures.items():
            # The name of a request is the id of its item and the table, such as "7/no_question".
            item_id, _, _ = name.rpartition("/")
            reason_by_id.setdefault(item_id, reason)
        if not reason_by_id:
            return self._add_logits(answers.logits)
        return self._select_scored(answers, names, reason_by_id)

    def _select_scored(
        self, answers: Scores, names: Sequence[str], reason_by_id: Mapping[str, str]
    ) -> ProbeTables:
        """Return the tables of the items without failures, with their scores.

        Args:
            answers: Scores of the requests, without those that failed.
            names: Names of all requests: those of the N items in the first table, in order, then
                those in the second table, and so on.
            reason_by_id: Id of each item that failed in some table -> the reason.

        Raises:
            ValueError: If each item failed.
        """
        item_ids = self.column(ORIGINAL, "id")
        rows = [row for row, item_id in enumerate(item_ids) if item_id not in reason_by_id]
        if not rows:
            # The reason of the first item is given as an example.
            raise ValueError(next(iter(reason_by_id.values())))
        answer_row_by_name = {name: row for row, name in enumerate(answers.ids)}
        answer_rows = []
        for table_number in range(len(self.tables)):
            # The names of the requests of this table.
            start = table_number * len(self)
            table_names = names[start : start + len(self)]
            for row in rows:
                answer_rows.append(answer_row_by_name[table_names[row]])
        scored = answers.take(np.array(answer_rows, dtype=np.intp))
        tables = {name: table.select(rows) for name, table in self.tables.items()}
        left_out = tuple(reason_by_id.items())
        selected = dataclasses.replace(self, tables=tables, left_out=left_out)
        return selected._add_logits(scored.logits)

    def _add_logits(self, answers: Any) -> ProbeTables:
        """Return the tables with the scores of their choices.

        Args:
            answers: Rows of logits: those of the N items in the first table, in order, then those
                in the second table, and so on.
        """
        rows = as_ragged(answers, "scores")
        n_items = len(self)
        logits = {}
        for table_number, name in enumerate(self.tables):
            start = table_number * n_items
            logits[name] = rows.take(np.arange(start, start + n_items))
        return dataclasses.replace(self, logits=logits)

    @functools.cached_property
    def confidences(self) -> Mapping[str, Ragged]:
        """Table -> confidences, the softmax of the scores of each item; empty without scores."""
        confidences = {}
        for name, rows in (self.logits or {}).items():
            confidences[name] = check_ragged(rows, scores="logits")
        return confidences

    def get_correct_confidence(self, name: str = ORIGINAL) -> NDArray[np.float64]:
        """Return (N,) the confidence in the correct choice."""
        return self.confidences[name].at(self.labels(name))

    def get_own_confidences(self, name: str) -> Ragged:
        """Return N rows of confidences relative to the item's own choices, in their original order.

        Args:
            name: Name of a table with added choices.
        """
        rows = []
        own_positions = self.column(name, "original_positions")
        for confidences, positions in zip(self.confidences[name], own_positions, strict=True):
            row = confidences[positions]
            # Without any confidence in the own choices, none of them is preferred.
            if row.sum() == 0:
                row = np.ones(len(row))
            rows.append(row / row.sum())
        return Ragged.of(np.concatenate(rows), [len(row) for row in rows])

    def get_restricted_drop(self, k: int) -> NDArray[np.float64]:
        """Return (N,) the confidence in the correct choice that k added choices cost beyond dilution."""
        own_confidences = self.get_own_confidences(name_extra_choices(k))
        drop = self.get_correct_confidence() - own_confidences.at(self.labels())
        # Rounding removes the error of the softmax, as in `choice_paralysis`.
        return np.asarray(drop.round(12) + 0.0)

    def measure_paralysis(self, k: int, resampling: Resampling) -> ChoiceParalysis:
        """Measure how k added choices change the confidence in the correct choice.

        Args:
            k: Number of added choices, one of `ks`.
            resampling: Confidence level of the intervals, number of resamples, and seed.
        """
        extra = name_extra_choices(k)
        return choice_paralysis(
            self.confidences[ORIGINAL],
            self.confidences[extra],
            self.labels(),
            self.labels(extra),
            self.column(extra, "original_positions"),
            clusters=self.units,
            resampling=resampling,
        )


@dataclasses.dataclass(frozen=True)
class ProbeFigures(Result):
    """Figures of one scorer under the probes, from `measure_probes`.

    Attributes:
        n_items: Number of items.
        accuracy: Accuracy before any perturbation.
        accuracy_interval: Wilson interval of the accuracy.
        reading: "no_question" and "wrong_question" -> the answers with and without their question.
        original: Within-item variance of the confidences before any perturbation, to compare a prior
            bias with.
        prior_bias: Probe -> the preference among choices none of which is correct.
        pseudo_correct_intervals: Probe -> Wilson interval of the pseudo-correct rate, if there is one.
        paralysis: Number of added choices -> their effect.
        position_bias: Recall by the position of the correct choice before any perturbation. None if
            the number of choices differs between items.
        choices_only: Accuracy without the prompt, compared with that of the most common position.
    """

    n_items: int
    accuracy: float
    accuracy_interval: Interval
    reading: Mapping[str, Reading]
    original: PriorBias
    prior_bias: Mapping[str, PriorBias]
    pseudo_correct_intervals: Mapping[str, Interval]
    paralysis: Mapping[int, ChoiceParalysis]
    position_bias: PositionBias | None
    choices_only: ChoicesOnly


def count_spare_choices(choices: Sequence[Sequence[str]]) -> int:
    """Return the smallest number of distinct choices that an item can borrow from other items.

    It is the number of distinct choices of all items, minus the largest number of choices of an
    item.

    Args:
        choices: N lists of choices.

    Example:
        >>> count_spare_choices([["yes", "no"], ["Yes", "maybe", "never"]])
        1
    """
    # Texts that differ only in letter case or outer spaces are one choice.
    distinct = set()
    for row in choices:
        for text in row:
            distinct.add(text.strip().casefold())
    return len(distinct) - max(len(row) for row in choices)


def probe_tables(
    items: datasets.Dataset,
    *,
    ks: Sequence[int] = KS,
    probes: Sequence[str] = WITHOUT_ANSWER,
    pool: Pool | datasets.Dataset | None = None,
    groups_column: str | None = None,
    seed: int = 0,
) -> ProbeTables:
    """Apply every probe to multiple-choice items.

    Args:
        items: Items with the columns `id`, `prompt`, `choices` and `label`. Items without a label
            or with two equal choices are left out and counted.
        ks: Numbers of added choices, one table for each; default 1, 2, 4, 8.
        probes: Probes that leave no correct choice; by default all of them.
        pool: Source of borrowed texts. None (default) for the items themselves.
        groups_column: Column of clusters, such as an item and its mirror, over which all tests and
            intervals are computed. None (default) for `pair_id` or `source_id`, if there is one.
        seed: Seed of the random choice of borrowed texts.

    Returns:
        A `ProbeTables`.

    Raises:
        ValueError: If no item is left, an item is malformed, or the pool is too small to borrow
            from.
    """
    from rightreasons.datasets.perturbing.probes import Pool, perturb

    # Options are refused before any table is made.
    for k in ks:
        check_count(k, "ks")
    labeled_rows = [row for row, label in enumerate(items["label"][:]) if label >= 0]
    labeled = items.select(labeled_rows)
    if len(labeled) == 0:
        raise ValueError("Expected items with a label to probe, but there are none.")
    # Texts may also be borrowed from unlabeled items.
    if not isinstance(pool, Pool):
        pool = Pool(items if pool is None else pool)
    options: dict[str, Any] = {"pool": pool, "seed": seed, "duplicates": "drop"}
    perturbed = {}
    for name in probes:
        perturbed[name] = perturb(labeled, name, **options)
    for k in ks:
        perturbed[name_extra_choices(k)] = perturb(labeled, "extra_choices", k=k, **options)
    # A probe leaves out items for which too few choices can be borrowed. All tables need the same
    # items: those that every probe has.
    ids_by_probe = [set(table["source_id"][:]) for table in perturbed.values()]
    common_ids = set.intersection(*ids_by_probe)
    tables = {}
    for name, table in perturbed.items():
        tables[name] = _select_items(table, "source_id", common_ids)
    original = _select_items(labeled, "id", common_ids)
    if len(original) == 0:
        raise ValueError(
            "Expected items with different choices, and choices of other prompts to borrow, but "
            "each item has two equal choices or has the same prompt as all other items."
        )
    return ProbeTables(
        tables={ORIGINAL: original, **tables},
        ks=tuple(ks),
        n_dropped=len(items) - len(original),
        groups_column=groups_column,
    )


def collect_logged_tables(
    items: datasets.Dataset, arms: LoggedArms, *, groups_column: str | None = None
) -> ProbeTables:
    """Return the tables of the probes that a log contains, in the format of `probe_tables`.

    Args:
        items: Multiple-choice items of the log, with the columns `id`, `prompt`, `choices` and
            `label`.
        arms: The requests of the log about changed versions of these items.
        groups_column: Column of clusters; None (default) for `pair_id` or `source_id`, if there is
            one.

    Returns:
        A `ProbeTables` of the labeled items that have an answer to each probe of the log.

    Raises:
        ValueError: If no item has an answer to each probe.
    """
    ks = arms.list_ks()
    probes = (*WITHOUT_ANSWER, *map(name_extra_choices, ks))
    names = [name for name in probes if name in arms.names]
    # Items that lack an answer to some probe are left out, so that figures compare the same items.
    rows = []
    for row, (item_id, label) in enumerate(zip(items["id"][:], items["label"][:], strict=True)):
        by_name = arms.answers.get(item_id, {})
        if label >= 0 and all(name in by_name for name in names):
            rows.append(row)
    if not rows:
        raise ValueError(
            f"Expected items with all of the requests {', '.join(names)} in the log, but no item "
            "has all of these requests."
        )
    original = items.select(rows)
    tables = {name: arms.make_table(original["id"][:], name) for name in names}
    return ProbeTables(
        tables={ORIGINAL: original, **tables},
        ks=ks,
        n_dropped=len(items) - len(original),
        groups_column=groups_column,
    )


def _select_items(table: datasets.Dataset, column: str, ids: set[str]) -> datasets.Dataset:
    """Return the rows of a table that have one of some ids.

    Args:
        table: The table.
        column: Column with the ids.
        ids: Ids of the rows to select.
    """
    rows = np.flatnonzero(np.isin(list(map(str, table[column][:])), list(ids))).tolist()
    # If all rows are selected, the table is returned without a list of rows.
    if len(rows) == len(table):
        return table
    return table.select(rows)


def measure_probes(scores: ProbeTables, *, resampling: Resampling = Resampling()) -> ProbeFigures:
    """Measure reading, prior bias, choice paralysis and position bias from scored tables.

    Args:
        scores: Result of `ProbeTables.scored_by`.
        resampling: Level, resamples and seed of every interval.

    Returns:
        A `ProbeFigures`.

    Raises:
        ValueError: If the tables are not scored.

    References:
        Shen and Kejriwal (2022), "Understanding Prior Bias and Choice Paralysis in Transformer-based
        Language Representation Models through Four Experimental Probes", section 3.
    """
    if scores.logits is None:
        raise ValueError(
            "Expected tables with scores, as returned by `scored_by`, but got tables without "
            "scores."
        )
    labels = scores.labels()
    units = scores.units
    picks = {name: rows.argmax() for name, rows in scores.logits.items()}
    is_correct = picks[ORIGINAL] == labels
    biases = {}
    intervals = {}
    for name in WITHOUT_ANSWER:
        # If the probe replaced the correct choice, there is no pseudo-correct one: all are -1.
        pseudo_labels = scores.labels(name, "pseudo_label")
        has_label = pseudo_labels >= 0
        biases[name] = prior_bias(
            scores.logits[name],
            pseudo_labels if has_label.any() else None,
            scores="logits",
            clusters=units,
            resampling=resampling,
        )
        if has_label.any():
            is_hit = (picks[name] == pseudo_labels)[has_label]
            clusters = select_clusters(units, has_label)
            intervals[name] = make_rate_interval(is_hit, resampling, clusters)
    # A prior bias has to be compared with the variance on unchanged items, which is large for any
    # confident model.
    original = prior_bias(
        scores.logits[ORIGINAL], labels, scores="logits", clusters=units, resampling=resampling
    )
    return ProbeFigures(
        n_items=len(scores),
        accuracy=float(is_correct.mean()),
        accuracy_interval=make_rate_interval(is_correct, resampling, units),
        reading=scores.compare_readings(picks, resampling),
        original=original,
        prior_bias=biases,
        pseudo_correct_intervals=intervals,
        paralysis={k: scores.measure_paralysis(k, resampling) for k in scores.ks},
        position_bias=_measure_positions(scores, picks[ORIGINAL], resampling),
        choices_only=choices_only(picks["no_question"], labels, clusters=units),
    )


def _measure_positions(
    scores: ProbeTables, picks: NDArray[np.int64], resampling: Resampling
) -> PositionBias | None:
    """Measure how recall depends on the position of the correct choice.

    Args:
        scores: Tables of N items.
        picks: (N,) position of the picked choice of each unchanged item.
        resampling: Confidence level of the interval.

    Returns:
        The spread of recall; None if the number of choices differs between items.
    """
    # Recalls of positions that only some items have are not comparable.
    sizes = np.unique(scores.sizes())
    if len(sizes) > 1:
        return None
    return position_bias(
        picks,
        scores.labels(),
        int(sizes[0]),
        clusters=scores.units,
        confidence_level=resampling.level,
    )


# --------------------------------------------------------------------------- orders of the choices


def ask_in_orders(
    items: Mapping[str, Sequence[Any]], score: Score
) -> tuple[Places, list[str], Any]:
    """Score N items under each of R orders of their choices, by one call of a scorer.

    Args:
        items: Columns "id", "prompt" and "choices" of N items with n choices each.
        score: Function of prompts, choices and ids that returns logits or `Scores`. Its requests
            are those of the N items in the first order, then in the second order, and so on.

    Returns:
        (R, n) orders, where entry (r, j) is the choice at position j in order r; the R * N names
        of the requests; and the result of the scorer.

    Raises:
        ValueError: If the number of choices differs between items, or there are fewer than two
            items.
    """
    ids = items["id"][:]
    prompts = items["prompt"][:]
    choices = items["choices"][:]
    sizes = sorted({len(row) for row in choices})
    if len(sizes) > 1 or len(choices) < 2:
        raise ValueError(
            "Expected at least two items, all with the same number of choices, to reorder the choices, "
            f"but got {len(choices)} with {', '.join(map(str, sizes))} choices."
        )
    # For each item, its versions in all orders.
    arms_by_item = []
    for item_id, prompt, item_choices in zip(ids, prompts, choices, strict=True):
        item = {"id": item_id, "prompt": prompt, "choices": item_choices}
        arms_by_item.append(list(list_orders(item, with_original=True)))
    orders = list_choice_orders(sizes[0])
    # The requests are listed by order instead of by item.
    ordered_choices = []
    names = []
    for order_number in range(len(orders)):
        for arms in arms_by_item:
            arm = arms[order_number]
            ordered_choices.append(list(arm.choices))
            # The id names the item and the order, so that it is unique.
            names.append(arm.id)
    return orders, names, score(list(prompts) * len(orders), ordered_choices, names)


def find_steady_items(
    places: NDArray[np.int64], positions: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Find the items that are answered under every order, and those that keep their answer.

    Args:
        places: (R, n) orders from `list_choice_orders`: entry (r, j) is the choice at position j in
            order r.
        positions: (R, N) picked position of each item under each order; -1 for no answer.

    Returns:
        (N,) whether each item has an answer under every order; and for the items that do, whether
        the same choice is picked under every order.
    """
    # (R, N) picked choices. A position of -1 gives the last choice, but such items are left out.
    picked_choices = np.take_along_axis(places, positions, axis=1)
    is_answered = np.asarray((positions >= 0).all(axis=0))
    is_steady = np.asarray((picked_choices == picked_choices[0]).all(axis=0))
    return is_answered, is_steady[is_answered]


def pick_choices(
    tables: ProbeTables, names: Sequence[str], score: Score
) -> dict[str, NDArray[np.int64]]:
    """Return the choices that a model picks in some tables, by one call of a scorer.

    Args:
        tables: Tables of N items.
        names: Names of the tables to answer, such as "original" and "no_question".
        score: Function of prompts, choices and ids that returns `Scores`. Failed requests are items
            without an answer.

    Returns:
        Name of the table -> (N,) position of the picked choice of each item, -1 for no answer.
    """
    selected = dataclasses.replace(tables, tables={name: tables.tables[name] for name in names})
    prompts, choices, ids = selected.list_requests()
    # The requests are listed table by table, each with the items in order.
    picks_by_table = score(prompts, choices, ids).answers(ids).reshape(-1, len(tables))
    return dict(zip(names, picks_by_table, strict=True))


@dataclasses.dataclass(frozen=True, eq=False)
class OrderedAnswers:
    """Answers of a model to N items under each of R orders of their n choices.

    Attributes:
        orders: (R, n) orders, where entry (r, j) is the choice at position j in order r. The first
            one is the original order.
        positions: (R, N) picked position of each item under each order; -1 for no answer.
        probabilities: (N, R, n) probability of each position. None for generated answers.
    """

    orders: Places
    positions: Places
    probabilities: NDArray[np.float64] | None = None

    @functools.cached_property
    def is_answered(self) -> NDArray[np.bool_]:
        """(N,) whether each item has an answer under every order."""
        return find_steady_items(self.orders, self.positions)[0]

    @functools.cached_property
    def is_steady(self) -> NDArray[np.bool_]:
        """Whether each item with an answer under every order always gets the same choice."""
        return find_steady_items(self.orders, self.positions)[1]

    def get_picked_choice(self, order: int, row: int) -> int:
        """Return the number of the choice that is picked for an item under an order."""
        return int(self.orders[order, self.positions[order, row]])


def pick_in_orders(tables: ProbeTables, score: Score) -> OrderedAnswers:
    """Return the answers of a model to the unchanged items in all orders of their choices.

    Args:
        tables: Tables of N items. The unchanged items are answered in each order.
        score: Function of prompts, choices and ids that returns `Scores`. Failed requests are items
            without an answer.
    """
    orders, ids, scores = ask_in_orders(tables.tables[ORIGINAL], score)
    # The requests are listed order by order, each with the items in order: (R, N).
    positions = scores.answers(ids).reshape(-1, len(tables))
    return OrderedAnswers(orders, positions)


@dataclasses.dataclass(frozen=True)
class OrderFigures(Result):
    """Effect of the order of the choices, from `measure_option_order`.

    Attributes:
        n_items: Number of items.
        n_choices: Number of choices of each item.
        orders: "cyclic" or "all".
        n_orders: Number of orders: n! if all are asked, otherwise n.
        consistency: Share of items whose picked content is the same under every order.
        consistency_interval: Wilson interval of the consistency.
        prior: Prior of the scorer over positions (PriDe), from the estimation items.
        prior_intervals: Interval of the share of each position over these items.
        n_estimation: Number of items from which the prior is estimated.
        steady: Whether each item keeps its picked content under every order.
    """

    n_items: int
    n_choices: int
    orders: str
    n_orders: int
    consistency: float
    consistency_interval: Interval
    prior: list[float]
    prior_intervals: list[Interval]
    n_estimation: int
    steady: tuple[bool, ...]


def measure_option_order(
    items: Mapping[str, Sequence[Any]],
    score: Score,
    *,
    clusters: Any = None,
    resampling: Resampling = Resampling(),
) -> OrderFigures:
    """Measure whether answers depend on the order of the choices, and which positions are preferred.

    Up to three choices are scored in all orders, more choices in cyclic orders: in order r,
    position j has choice (j + r) mod n. So every choice is equally often at every position, and the
    first order is the original one. PriDe's prior over positions is estimated on a quarter of the
    items, which are selected by their ids and the seed; `pride_debias` removes it.

    Args:
        items: Columns `id`, `prompt` and `choices` of N items with n choices each: a data set, or
            lists.
        score: (prompts, choices, ids) -> logits, of a scorer that sees the choices together. One that
            sees one choice at a time gives the same scores in every order.
        clusters: (N,) names of clusters of items. None (default) for independent items.
        resampling: Confidence level of the intervals, and seed of the quarter.

    Returns:
        An `OrderFigures`.

    Raises:
        ValueError: If there are fewer than two items, the number of choices differs between items, or
            an item cannot be scored.

    References:
        Zheng et al. (2024), "Large Language Models Are Not Robust Multiple Choice Selectors", ICLR.
    """
    ordered = score_in_orders(items, score)
    return summarize_orders(ordered, items["id"][:], clusters=clusters, resampling=resampling)


def score_in_orders(items: Mapping[str, Sequence[Any]], score: Score) -> OrderedAnswers:
    """Score items under each order of their choices, with the probability of each position.

    Args:
        items: Columns `id`, `prompt` and `choices` of N items with n choices each.
        score: (prompts, choices, ids) -> logits, of a scorer that sees the choices together.

    Raises:
        ValueError: If there are fewer than two items, the number of choices differs between items, or
            an item cannot be scored.
    """
    check_same_length(id=items["id"][:], prompt=items["prompt"][:], choices=items["choices"][:])
    orders, _, answers = ask_in_orders(items, score)
    n_orders, n_choices = orders.shape
    n_items = len(items["id"][:])
    probabilities = _compute_position_probabilities(answers, n_orders, n_items, n_choices)
    # The picked positions, (R, N). Every item is scored under every order.
    positions = probabilities.argmax(axis=2).T
    return OrderedAnswers(orders, positions, probabilities)


def summarize_orders(
    ordered: OrderedAnswers,
    ids: Sequence[Any],
    *,
    clusters: Any = None,
    resampling: Resampling = Resampling(),
) -> OrderFigures:
    """Compute the figures of `measure_option_order` from scored answers.

    Args:
        ordered: Answers to N items under each order, with probabilities.
        ids: N ids of the items. They and the seed select the items of PriDe's prior.
        clusters: (N,) names of clusters of items. None (default) for independent items.
        resampling: Confidence level of the intervals, and the seed.

    Raises:
        ValueError: If the answers have no probabilities.
    """
    probabilities = ordered.probabilities
    if probabilities is None:
        raise ValueError("Expected answers with probabilities, but got generated answers.")
    n_items, n_orders, n_choices = probabilities.shape
    # A quarter of the items, rounded up, but never all of them. Files may be sorted, by the label
    # for example, so that their first quarter would be no random sample.
    n_estimation = min(math.ceil(n_items / 4), n_items - 1)
    rows = choose_rows(list(map(str, ids)), n_estimation, seed=resampling.seed)
    estimation = probabilities[rows]

    units = number_clusters(clusters, n_items)
    steady = ordered.is_steady
    intervals = pride_prior_intervals(
        estimation,
        clusters=select_clusters(units, rows),
        confidence_level=resampling.level,
    )
    return OrderFigures(
        n_items=n_items,
        n_choices=n_choices,
        orders="all" if n_choices <= MAX_CHOICES_OF_ALL_ORDERS else "cyclic",
        n_orders=n_orders,
        consistency=float(steady.mean()),
        consistency_interval=make_rate_interval(steady, resampling, units),
        prior=pride_prior(estimation).tolist(),
        prior_intervals=intervals,
        n_estimation=n_estimation,
        steady=tuple(steady.tolist()),
    )


def _compute_position_probabilities(
    answers: Any, n_orders: int, n_items: int, n_choices: int
) -> NDArray[np.float64]:
    """Return (N, R, n) the probability of each position, by item and order, from a scorer's logits.

    Args:
        answers: Logits or `Scores` of R * N requests: those of the N items in the first order, then
            in the second order, and so on.
        n_orders: Number of orders R.
        n_items: Number of items N.
        n_choices: Number of choices n of each item.

    Raises:
        ValueError: If an item could not be scored, with the first reason.
    """
    logits = answers
    if isinstance(answers, Scores):
        # The rows are matched to requests by their order, so that none may be missing.
        if answers.failures:
            raise ValueError(next(iter(answers.failures.values())))
        logits = answers.logits
    # The softmax is taken over the choices of each request.
    values = check_ragged(logits, scores="logits", name="scores").values
    return values.reshape(n_orders, n_items, n_choices).transpose(1, 0, 2)
