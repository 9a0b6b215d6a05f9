"""The four confusion probes on one scorer and one data set: what is asked, and what the answers say.

`probe` perturbs the items, has all of them scored by one call, and keeps the scores; `measure` turns them into the
figures. What scores is a function, so that the same code serves a model from the hub, an audit, and a Trainer in the
middle of a run.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis.intervals import Interval, wilson
from rightreasons.analysis.probes.choice_paralysis import ChoiceParalysis, choice_paralysis
from rightreasons.analysis.probes.option_order import ChoicesOnly, PositionBias, choices_only, position_bias
from rightreasons.analysis.probes.prior_bias import PriorBias, prior_bias
from rightreasons.foundations.ragged import Ragged
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.results import Result
from rightreasons.foundations.validation import as_ragged, check_count, check_ragged

if TYPE_CHECKING:
    import datasets

    from rightreasons.data.perturbing.probes import Pool

ORIGINAL = "original"
WITHOUT_ANSWER = ("no_question", "wrong_question", "no_right_answer")
"""The probes that leave no right choice: they show prior bias."""

KS = (1, 2, 4, 8)
"""How many choices `extra_choices` adds, by default."""

Score = Callable[[Sequence[str], Sequence[Sequence[str]], Sequence[str]], Any]
"""(prompts, choices, ids) -> logits, as an array, `Ragged` or rows."""


@dataclasses.dataclass(frozen=True, eq=False)
class Probed:
    """Items before and after every probe, with the scores of their choices.

    Attributes:
        tables: Name -> rows: "original", the probes of `WITHOUT_ANSWER`, and "extra_choices_1", … for each k; all with
            the same items in the same order.
        logits: Name -> the scores of their choices.
        ks: The numbers of added choices.
        n_dropped: Items left out because they have no label or two equal choices.
    """

    tables: Mapping[str, datasets.Dataset]
    logits: Mapping[str, Ragged]
    ks: tuple[int, ...]
    n_dropped: int

    def __len__(self) -> int:
        return len(self.tables[ORIGINAL])

    @functools.cached_property
    def confidences(self) -> Mapping[str, Ragged]:
        """Name -> the softmax of the scores within each item."""
        return {name: check_ragged(rows, scores="logits") for name, rows in self.logits.items()}

    def column(self, name: str, column: str) -> Any:
        """Return a column of one table as a list."""
        return self.tables[name][column][:]

    def labels(self, name: str = ORIGINAL) -> NDArray[np.int64]:
        """(N,) where the right choice stands."""
        return np.asarray(self.column(name, "label"), dtype=np.int64)


@dataclasses.dataclass(frozen=True)
class ProbeFigures(Result):
    """What the probes say of one scorer; see `measure`.

    Attributes:
        n_items: How many items.
        accuracy: Accuracy before any perturbation.
        accuracy_interval: Its interval (Wilson).
        original: The within-item variance of the confidences before: what a bias is to be compared with.
        prior_bias: Probe -> the preference where no choice is right.
        pseudo_correct_intervals: Probe -> interval (Wilson) of the pseudo-correct rate, where there is one.
        paralysis: Number of added choices -> what they do.
        position_bias: Recall by the position of the right choice before any perturbation; None where the number of
            choices differs.
        choices_only: Accuracy without the prompt against that of the commonest position.
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


def extra(k: int) -> str:
    """Name the table with k added choices.

    Example:
        >>> extra(4)
        'extra_choices_4'
    """
    return f"extra_choices_{k}"


def probe(
    items: datasets.Dataset,
    score: Score,
    *,
    ks: Sequence[int] = KS,
    pool: Pool | datasets.Dataset | None = None,
    seed: int = 0,
) -> Probed:
    """Apply every probe to some items and have all of them scored by one call.

    Args:
        items: Multiple-choice items {id, prompt, choices, label}. Those without a label or with two equal choices are
            left out and counted.
        score: What scores: (prompts, choices, ids) -> logits.
        ks: How many choices are added, one table each; default 1, 2, 4, 8.
        pool: What texts are borrowed from; None for the items themselves.
        seed: Decides what is borrowed.

    Returns:
        A `Probed`.

    Raises:
        ValueError: If no item is left, an item is malformed, or the pool is too small to borrow from.
    """
    tables, n_dropped = perturbed(items, ks=ks, pool=pool, seed=seed)
    return ask(tables, score, ks=ks, n_dropped=n_dropped)


def ask(tables: Mapping[str, datasets.Dataset], score: Score, *, ks: Sequence[int] = KS, n_dropped: int = 0) -> Probed:
    """Have all tables of `perturbed` scored by one call.

    Args:
        tables: From `perturbed`.
        score: As in `probe`.
        ks: The numbers of added choices that the tables were built with.
        n_dropped: How many items `perturbed` left out.

    Returns:
        A `Probed`.
    """
    prompts: list[str] = []
    choices: list[list[str]] = []
    ids: list[str] = []
    for name, table in tables.items():
        prompts += table["prompt"][:]
        choices += table["choices"][:]
        ids += [f"{item}/{name}" for item in tables[ORIGINAL]["id"][:]]
    rows = as_ragged(score(prompts, choices, ids), "scores")
    size = len(tables[ORIGINAL])
    cuts = rows.offsets[::size]
    logits = {
        name: Ragged(
            rows.values[cuts[index] : cuts[index + 1]],
            rows.offsets[index * size : (index + 1) * size + 1] - cuts[index],
        )
        for index, name in enumerate(tables)
    }
    return Probed(tables, logits, tuple(ks), n_dropped)


def perturbed(
    items: datasets.Dataset,
    *,
    ks: Sequence[int] = KS,
    pool: Pool | datasets.Dataset | None = None,
    seed: int = 0,
) -> tuple[dict[str, datasets.Dataset], int]:
    """Build the tables of `Probed`: the items and what each probe makes of them, in one order.

    Args:
        items: As in `probe`.
        ks: As in `probe`.
        pool: As in `probe`.
        seed: As in `probe`.

    Returns:
        Name -> table, and how many items were left out.
    """
    from rightreasons.data.perturbing.probes import Pool, perturb

    for k in ks:
        check_count(k, "ks")
    labelled = items.select([row for row, label in enumerate(items["label"][:]) if label >= 0])
    if len(labelled) == 0:
        raise ValueError("Expected items with a label to probe, but there are none.")
    if not isinstance(pool, Pool):
        pool = Pool(items if pool is None else pool)
    shared: dict[str, Any] = {"pool": pool, "seed": seed, "duplicates": "drop"}
    made = {name: perturb(labelled, name, **shared) for name in WITHOUT_ANSWER}
    made |= {extra(k): perturb(labelled, "extra_choices", k=k, **shared) for k in ks}
    kept = set(made["no_question"]["source_id"][:])
    original = labelled.select([row for row, item in enumerate(labelled["id"][:]) if item in kept])
    if len(original) == 0:
        raise ValueError("Expected items whose choices differ, but each has two that are equal.")
    return {ORIGINAL: original, **made}, len(items) - len(original)


def measure(
    probed: Probed,
    *,
    n_permutations: int = 200,
    resampling: Resampling = Resampling(),
) -> ProbeFigures:
    """Turn the scores into figures: prior bias, choice paralysis, and what the position of a choice does.

    Args:
        probed: From `probe`.
        n_permutations: Shuffles of the permutation null of the prior bias; default 200.
        resampling: How every interval is resampled; its seed is that of the shuffles too.

    Returns:
        A `ProbeFigures`.

    References:
        Shen and Kejriwal (2022), "Understanding Prior Bias and Choice Paralysis in Transformer-based Language
        Representation Models through Four Experimental Probes", section 3.
    """
    options: dict[str, Any] = {"n_permutations": n_permutations, "seed": resampling.seed, "resampling": resampling}
    labels = probed.labels()
    before = probed.confidences[ORIGINAL]
    biases, intervals = {}, {}
    for name in WITHOUT_ANSWER:
        pseudo = np.asarray(probed.column(name, "pseudo_label"), dtype=np.int64)
        found = prior_bias(probed.confidences[name], None if (pseudo < 0).all() else pseudo, **options)
        biases[name] = found
        if found.pseudo_correct is not None:
            hits = round(found.pseudo_correct.rate * found.n_items)
            intervals[name] = wilson(hits, found.n_items, confidence_level=resampling.level)
    paralysis = {
        k: choice_paralysis(
            before,
            probed.confidences[extra(k)],
            labels,
            probed.labels(extra(k)),
            probed.column(extra(k), "original_positions"),
            resampling=resampling,
        )
        for k in probed.ks
    }
    picked = before.argmax()
    right = int((picked == labels).sum())
    sizes = np.unique(before.lengths)
    return ProbeFigures(
        n_items=len(probed),
        accuracy=right / len(probed),
        accuracy_interval=wilson(right, len(probed), confidence_level=resampling.level),
        original=prior_bias(before, labels, **options),
        prior_bias=biases,
        pseudo_correct_intervals=intervals,
        paralysis=paralysis,
        position_bias=position_bias(picked, labels, int(sizes[0])) if len(sizes) == 1 else None,
        choices_only=choices_only(probed.confidences["no_question"].argmax(), labels),
    )
