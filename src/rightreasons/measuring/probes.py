"""The four confusion probes: what is asked of a scorer of choices, and what its answers say.

`probe_tables` perturbs the items once; `ProbeTables.scored_by` has them scored by one call, and `measure_probes` turns
the scores into figures. The scorer is a function, so that a model from the hub, an audit and a Trainer in the middle of
a run are measured by the same code.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis.intervals import Interval, wilson
from rightreasons.analysis.probes.choice_paralysis import ChoiceParalysis, Drop, choice_paralysis
from rightreasons.analysis.probes.option_order import ChoicesOnly, PositionBias, choices_only, position_bias
from rightreasons.analysis.probes.prior_bias import PriorBias, prior_bias
from rightreasons.foundations.ragged import Ragged, take_rows
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.results import Result
from rightreasons.foundations.scores import Scores
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import as_ragged, check_count, check_ragged

if TYPE_CHECKING:
    import datasets

    from rightreasons.data.perturbing.probes import Pool

ORIGINAL = "original"
WITHOUT_ANSWER = ("no_question", "wrong_question", "no_right_answer")
"""The probes that leave no right choice: they show prior bias."""

WITHOUT_QUESTION = ("no_question", "wrong_question")
"""Those of them that keep the choice that was right."""

NONE = ("none_added", "none_right")
"""The tables with "None of the above", beside the right choice and in its place."""

KS = (1, 2, 4, 8)
"""Default numbers of choices that the fourth probe adds."""

Score = Callable[[Sequence[str], Sequence[Sequence[str]], Sequence[str]], Any]
"""(prompts, choices, ids) -> logits, as an array, `Ragged` or rows, or `Scores`, which may lack items."""


@dataclasses.dataclass(frozen=True, eq=False)
class ProbeTables:
    """Items before and after every probe, each table with the same items in the same order.

    Attributes:
        tables: Name -> rows: "original", the probes of `WITHOUT_ANSWER`, and "extra_choices_1", … for each k.
        ks: The numbers of added choices.
        n_dropped: Number of items left out because they have no label or two equal choices.
    """

    tables: Mapping[str, datasets.Dataset]
    ks: tuple[int, ...]
    n_dropped: int

    def __len__(self) -> int:
        return len(self.tables[ORIGINAL])

    def scored_by(self, score: Score) -> ProbeScores:
        """Have the choices of all tables scored by one call.

        Args:
            score: (prompts, choices, ids) -> logits. Where it gives `Scores` with `failures`, an item that fails in one
                table is left out of all, with the reason.

        Raises:
            ValueError: If no item has scores in all tables.
        """
        prompts: list[str] = []
        choices: list[list[str]] = []
        ids: list[str] = []
        for name, table in self.tables.items():
            prompts += table["prompt"][:]
            choices += table["choices"][:]
            ids += [f"{item}/{name}" for item in self.tables[ORIGINAL]["id"][:]]
        answers = score(prompts, choices, ids)
        scored, left_out = self, dict[str, str]()
        if isinstance(answers, Scores):
            for each, reason in answers.failures.items():
                left_out.setdefault(each.rpartition("/")[0], reason)
            answers, scored = self._without(answers, left_out)
        rows = as_ragged(answers, "scores")
        size = len(scored)
        cuts = rows.offsets[::size]
        logits = {
            name: Ragged(
                rows.values[cuts[index] : cuts[index + 1]],
                rows.offsets[index * size : (index + 1) * size + 1] - cuts[index],
            )
            for index, name in enumerate(self.tables)
        }
        return ProbeScores(scored.tables, self.ks, self.n_dropped, logits, tuple(left_out.items()))

    def _without(
        self, answers: Scores, left_out: Mapping[str, str]
    ) -> tuple[NDArray[np.float64] | Ragged, ProbeTables]:
        """Return the logits, and the tables, of the items that have scores in all tables."""
        if not left_out:
            return answers.logits, self
        items = self.tables[ORIGINAL]["id"][:]
        keep = [row for row, item in enumerate(items) if item not in left_out]
        if not keep:
            raise ValueError(next(iter(left_out.values())))
        place = {each: row for row, each in enumerate(answers.ids)}
        order = np.array([place[f"{items[row]}/{name}"] for name in self.tables for row in keep], dtype=np.intp)
        tables = {name: table.select(keep) for name, table in self.tables.items()}
        return take_rows(answers.logits, order), dataclasses.replace(self, tables=tables)


@dataclasses.dataclass(frozen=True, eq=False)
class ProbeScores(ProbeTables):
    """Items before and after every probe, with the scores of their choices.

    Attributes:
        logits: Name of the table -> scores of its choices.
        left_out: (id, reason) of the items that the scorer could not score in all tables.
    """

    logits: Mapping[str, Ragged]
    left_out: tuple[tuple[str, str], ...] = ()

    @functools.cached_property
    def confidences(self) -> Mapping[str, Ragged]:
        """Name -> softmax of the scores within each item."""
        return {name: check_ragged(rows, scores="logits") for name, rows in self.logits.items()}

    @property
    def uniform(self) -> float | None:
        """Confidence of an even spread before any probe; None where the number of choices differs."""
        lengths = self.confidences[ORIGINAL].lengths
        return 1 / float(lengths[0]) if (lengths == lengths[0]).all() else None

    def column(self, name: str, column: str) -> Any:
        """Return a column of one table as a list."""
        return self.tables[name][column][:]

    def labels(self, name: str = ORIGINAL) -> NDArray[np.int64]:
        """(N,) position of the right choice."""
        return np.asarray(self.column(name, "label"), dtype=np.int64)

    def top(self, name: str) -> NDArray[np.float64]:
        """(N,) confidence in the picked choice."""
        return self.confidences[name].reduce(np.maximum)

    def right(self, name: str = ORIGINAL) -> NDArray[np.float64]:
        """(N,) confidence in the right choice."""
        return self.confidences[name].at(self.labels(name))

    def telling_items(self, n_items: int) -> list[int]:
        """Return the items with the strongest preference without a question, and last the one with the weakest."""
        bare = self.confidences["no_question"]
        order = np.argsort(-self.top("no_question") * bare.lengths, kind="stable")
        return [*order[: n_items - 1].tolist(), int(order[-1])]


@dataclasses.dataclass(frozen=True)
class ProbeFigures(Result):
    """What the probes say of one scorer; see `measure_probes`.

    Attributes:
        n_items: Number of items.
        accuracy: Accuracy before any perturbation.
        accuracy_interval: Its interval (Wilson).
        original: The within-item variance of the confidences before: what a bias is to be compared with.
        prior_bias: Probe -> the preference where no choice is right.
        pseudo_correct_intervals: Probe -> interval (Wilson) of the pseudo-correct rate, where there is one.
        paralysis: Number of added choices -> their effect.
        position_bias: Recall by the position of the right choice before any perturbation; None where the number of
            choices differs.
        choices_only: Accuracy without the prompt, compared with that of the commonest position.
    """

    n_items: int
    accuracy: float
    accuracy_interval: Interval
    original: PriorBias
    prior_bias: Mapping[str, PriorBias]
    pseudo_correct_intervals: Mapping[str, Interval]
    paralysis: Mapping[int, ChoiceParalysis]
    position_bias: PositionBias | None
    choices_only: ChoicesOnly

    @property
    def largest_k(self) -> int:
        """The largest number of added choices."""
        return max(self.paralysis)

    def record(self, k: int, *, step: int = 0, epoch: float = 0.0) -> ProbeRecord:
        """Return the main figures, with k added choices, as one row of a table over training.

        Raises:
            ValueError: If no item has a label.
        """
        pseudo = self.prior_bias["no_question"].pseudo_correct
        if pseudo is None:
            raise ValueError("Expected items with a label to probe, but there are none.")
        paralysis = self.paralysis[k]
        return ProbeRecord(
            step=step,
            epoch=epoch,
            n_items=self.n_items,
            accuracy=self.accuracy,
            original_variance=self.original.prior_bias,
            **{name: self.prior_bias[name].prior_bias for name in WITHOUT_ANSWER},
            pseudo_correct=pseudo.rate,
            chance=pseudo.chance,
            pseudo_correct_p_value=pseudo.p_value,
            added=k,
            choice_paralysis=paralysis.choice_paralysis,
            null_drop=paralysis.null_drop,
            restricted_drop=paralysis.restricted_drop.mean,
        )

    @property
    def telling_probe(self) -> str | None:
        """The probe without its question whose test is the clearest; None where no old answer is left to pick."""
        tests = {name: self.prior_bias[name].pseudo_correct for name in WITHOUT_QUESTION}
        known = {name: test for name, test in tests.items() if test is not None}
        return min(known, key=lambda name: (known[name].rate <= known[name].chance, known[name].p_value), default=None)

    def knows_unasked(self, alpha: float) -> bool:
        """Tell whether the old answer is picked above chance without its question; of two probes, by Bonferroni."""
        test = None if self.telling_probe is None else self.prior_bias[self.telling_probe].pseudo_correct
        return test is not None and test.rate > test.chance and test.p_value < alpha / len(WITHOUT_QUESTION)

    def may_know_unasked(self, margin: float) -> bool:
        """Tell whether an interval of the old answer's rate reaches this far above chance."""
        return any(
            test is not None and self.pseudo_correct_intervals[name].high > test.chance + margin
            for name, test in ((name, self.prior_bias[name].pseudo_correct) for name in WITHOUT_QUESTION)
        )

    def is_paralyzed(self, alpha: float) -> bool:
        """Tell whether the most added choices lower the confidence beyond dilution, by the paired t-test."""
        drop = self.paralysis[self.largest_k].restricted_drop
        # Below this the drops of a scorer of single pairs differ by rounding alone.
        return drop.mean > 1e-6 and drop.t_p_value is not None and drop.t_p_value < alpha


@dataclasses.dataclass(frozen=True)
class ProbeRecord(Result):
    """The probes at one point of training.

    Attributes:
        step: Optimizer steps so far.
        epoch: Passes over the training set so far.
        n_items: Number of probed items.
        accuracy: Accuracy before any perturbation.
        original_variance: Mean within-item variance of the confidences before any perturbation.
        no_question: Prior bias without the question.
        wrong_question: Prior bias with the question of another item.
        no_right_answer: Prior bias without the right choice.
        pseudo_correct: Share of items whose originally right choice is picked without the question, in [0, 1].
        chance: The same share for picks at random.
        pseudo_correct_p_value: Exact test of that share against chance.
        added: Number of added choices.
        choice_paralysis: Drop of the confidence in the right choice.
        null_drop: The drop if each added choice were as good as the item's own.
        restricted_drop: The drop among the item's own choices, free of dilution.
    """

    step: int
    epoch: float
    n_items: int
    accuracy: float
    original_variance: float
    no_question: float
    wrong_question: float
    no_right_answer: float
    pseudo_correct: float
    chance: float
    pseudo_correct_p_value: float
    added: int
    choice_paralysis: float
    null_drop: float
    restricted_drop: float

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> ProbeRecord:
        """Build a record from its `to_dict`."""
        return cls(**row)


def extra_choices_name(k: int) -> str:
    """Name the table with k added choices.

    Example:
        >>> extra_choices_name(4)
        'extra_choices_4'
    """
    return f"extra_choices_{k}"


def near_choices_name(k: int) -> str:
    """Name the table with the k choices that are most like the right one.

    Example:
        >>> near_choices_name(4)
        'near_choices_4'
    """
    return f"near_choices_{k}"


def spare_choices(choices: Sequence[Sequence[str]]) -> int:
    """Count the different choices that every item could at least borrow from the others.

    Example:
        >>> spare_choices([["yes", "no"], ["Yes", "maybe", "never"]])
        1
    """
    different = {text.strip().casefold() for row in choices for text in row}
    return len(different) - max(len(row) for row in choices)


@checks_kinds
def probe_tables(
    items: datasets.Dataset,
    *,
    ks: Sequence[int] = KS,
    near: int | None = None,
    none: bool = False,
    pool: Pool | datasets.Dataset | None = None,
    seed: int = 0,
) -> ProbeTables:
    """Apply every probe to some items.

    Args:
        items: Multiple-choice items {id, prompt, choices, label}. Those without a label or with two equal choices are
            left out and counted.
        ks: Numbers of added choices, one table each; default 1, 2, 4, 8.
        near: A number of choices most like the right one, to add in the place of random ones: a table "near_choices_2"
            for 2; None (default) for no such table.
        none: Whether "None of the above" is added, and put in the place of the right choice: tables "none_added" and
            "none_right". Default: False.
        pool: The source of borrowed texts; None for the items themselves.
        seed: Decides what is borrowed.

    Returns:
        A `ProbeTables`.

    Raises:
        ValueError: If no item is left, an item is malformed, or the pool is too small to borrow from.
    """
    from rightreasons.data.perturbing.probes import Pool, perturb

    for k in (*ks, *([] if near is None else [near])):
        check_count(k, "ks")
    labeled = items.select([row for row, label in enumerate(items["label"][:]) if label >= 0])
    if len(labeled) == 0:
        raise ValueError("Expected items with a label to probe, but there are none.")
    if not isinstance(pool, Pool):
        pool = Pool(items if pool is None else pool)
    options: dict[str, Any] = {"pool": pool, "seed": seed, "duplicates": "drop"}
    tables = {name: perturb(labeled, name, **options) for name in WITHOUT_ANSWER}
    tables |= {extra_choices_name(k): perturb(labeled, "extra_choices", k=k, **options) for k in ks}
    tables |= {} if near is None else {near_choices_name(near): perturb(labeled, "near_choices", k=near, **options)}
    tables |= {name: perturb(labeled, name, **options) for name in (NONE if none else ())}
    sources = set(tables["no_question"]["source_id"][:])
    original = labeled.select([row for row, item in enumerate(labeled["id"][:]) if item in sources])
    if len(original) == 0:
        raise ValueError("Expected items whose choices differ, but each has two that are equal.")
    return ProbeTables({ORIGINAL: original, **tables}, tuple(ks), len(items) - len(original))


@checks_kinds
def measure_probes(
    scores: ProbeScores, *, joint: bool = False, resampling: Resampling = Resampling(), n_permutations: int = 200
) -> ProbeFigures:
    """Turn the scores into figures: prior bias, choice paralysis, and the effect of the position of a choice.

    Args:
        scores: From `ProbeTables.scored_by`.
        joint: Whether the scores of an item's choices come from one distribution, as those of letters do; the prior
            bias then has no permutation null. Default: False.
        resampling: Level, resamples and seed of every interval and shuffle.
        n_permutations: Shuffles of the permutation null of the prior bias; default 200.

    Returns:
        A `ProbeFigures`.

    References:
        Shen and Kejriwal (2022), "Understanding Prior Bias and Choice Paralysis in Transformer-based Language
        Representation Models through Four Experimental Probes", section 3.
    """
    labels = scores.labels()
    before = scores.confidences[ORIGINAL]
    n_items = len(scores)
    shuffles = 0 if joint else n_permutations
    biases, intervals = {}, {}
    for name in WITHOUT_ANSWER:
        pseudo = np.asarray(scores.column(name, "pseudo_label"), dtype=np.int64)
        biases[name] = prior_bias(
            scores.logits[name],
            None if (pseudo < 0).all() else pseudo,
            scores="logits",
            n_permutations=shuffles,
            seed=resampling.seed,
            resampling=resampling,
        )
        rate = biases[name].pseudo_correct
        if rate is not None:
            n_known = int((pseudo >= 0).sum())
            intervals[name] = wilson(round(rate.rate * n_known), n_known, confidence_level=resampling.level)
    paralysis = {
        k: choice_paralysis(
            before,
            scores.confidences[extra_choices_name(k)],
            labels,
            scores.labels(extra_choices_name(k)),
            scores.column(extra_choices_name(k), "original_positions"),
            resampling=resampling,
        )
        for k in scores.ks
    }
    picked = before.argmax()
    right = int((picked == labels).sum())
    sizes = np.unique(before.lengths)
    return ProbeFigures(
        n_items=n_items,
        accuracy=right / n_items,
        accuracy_interval=wilson(right, n_items, confidence_level=resampling.level),
        original=prior_bias(
            scores.logits[ORIGINAL],
            labels,
            scores="logits",
            n_permutations=shuffles,
            seed=resampling.seed,
            resampling=resampling,
        ),
        prior_bias=biases,
        pseudo_correct_intervals=intervals,
        paralysis={
            k: dataclasses.replace(effect, restricted_drop=_rounded(effect.restricted_drop))
            for k, effect in paralysis.items()
        },
        position_bias=position_bias(picked, labels, int(sizes[0]), confidence_level=resampling.level)
        if len(sizes) == 1
        else None,
        choices_only=choices_only(scores.confidences["no_question"].argmax(), labels),
    )


def _rounded(drop: Drop) -> Drop:
    """Round to 12 decimals: a restricted drop of a scorer of single pairs is 0 but for the last bits."""
    interval = drop.interval
    if interval is not None:
        interval = dataclasses.replace(interval, low=_clean(interval.low), high=_clean(interval.high))
    return dataclasses.replace(drop, mean=_clean(drop.mean), interval=interval)


def _clean(value: float) -> float:
    return round(value, 12) + 0.0  # no negative zero
