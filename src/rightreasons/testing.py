"""Tests of the contracts of this package, to run on models of one's own."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np

from rightreasons.core.arrays import Ragged
from rightreasons.core.scores import Scores
from rightreasons.models.protocol import Ability, Scorer

TEXTS = (
    "a good film",
    "",
    "a film that was bad from its first scene to its last, and long",
    "good",
    "Très  bien!\n",
)
CHOICES = (
    ["was good", "was very bad"],
    ["yes", "no", "so"],
    ["it rained", "he left"],
    ["a", "b"],
    ["oui", "non"],
)


def check_scorer(scorer: Scorer, *, tolerance: float = 1e-4) -> None:
    """Check that a scorer of one's own keeps the contract of `rightreasons.models.Scorer`; an audit relies on it.

    It is asked five items of classes or choices, an empty text among them: together, one by one, in another order,
    with labels and names, and with a folder for its results. An item may fail, by name in `failures`, but must not
    take others along.

    Args:
        scorer: The scorer.
        tolerance: The largest difference between two answers to one item, as a share of the largest score.

    Raises:
        AssertionError: If it does not keep the contract; the sentence says where.

    Example:
        >>> from rightreasons.models import as_scorer
        >>> def rule(texts):
        ...     return [[0.1, 0.9] if "good" in text else [0.8, 0.2] for text in texts]
        >>> check_scorer(as_scorer(rule, label_names=["negative", "positive"]))
    """
    _check(isinstance(scorer, Scorer), "all members of `Scorer`", type(scorer).__name__)
    _check(isinstance(scorer.name, str) and bool(scorer.name), "a text in `name`", scorer.name)
    names = scorer.label_names
    named = (
        isinstance(names, tuple)
        and len(names) == len(set(names)) > 1
        and all(isinstance(n, str) for n in names)
    )
    _check(names is None or named, "two names or more in `label_names`, each once, or None", names)
    able = frozenset(get_args(Ability))
    _check(
        isinstance(scorer.abilities, frozenset) and scorer.abilities <= able,
        "known `abilities`",
        scorer.abilities,
    )
    _check(isinstance(scorer.joint, bool), "True or False in `joint`", scorer.joint)
    _check(isinstance(scorer.fingerprint, str), "a text in `fingerprint`", scorer.fingerprint)
    before = scorer.fingerprint
    json.dumps(scorer.describe())  # reports hold it

    def ask(places: Sequence[int], **how: Any) -> Scores:
        texts, choices = [TEXTS[place] for place in places], [CHOICES[place] for place in places]
        how = {
            "ids": [f"item {place}" for place in places],
            "progress": False,
            "fail_fast": False,
            **how,
        }
        scores = (
            scorer.choose(texts, choices, **how) if names is None else scorer.predict(texts, **how)
        )
        _check(isinstance(scores, Scores), "`Scores`", type(scores).__name__)
        return scores

    every, widths = (
        range(len(TEXTS)),
        [len(row) if names is None else len(names) for row in CHOICES],
    )
    together = ask(every)
    whole = _rows(together, every, widths)
    _check(
        len(whole) >= len(TEXTS) - 1,
        "scores of all items but the empty one at most",
        together.failures,
    )
    _check(
        isinstance(together.truncated, int),
        "a number of texts in `truncated` of its scores",
        together.truncated,
    )
    _check(
        together.label_names == names, f"`label_names` {names} of its scores", together.label_names
    )
    with tempfile.TemporaryDirectory() as folder:
        again: dict[str, Callable[[], tuple[Scores, Sequence[int]]]] = {
            "again": lambda: (ask(every), every),
            "in another order": lambda: (ask(every[::-1]), every[::-1]),
            "into a folder": lambda: (ask(every, out=Path(folder) / "scores"), every),
            "out of that folder": lambda: (ask(every, out=Path(folder) / "scores"), every),
            **{
                f"of item {place} alone": lambda place=place: (ask([place]), [place])  # type: ignore[misc]
                for place in whole
            },
        }
        size = max(float(np.abs(row).max()) for row in whole.values())
        for how, answer in again.items():
            rows = _rows(*answer(), widths)
            off = max(float(np.abs(row - whole[place]).max()) for place, row in rows.items())
            _check(
                off <= tolerance * max(1.0, size),
                f"the same scores when asked {how}",
                f"a difference of {off:.2g}",
            )
    right = [place % 2 for place in every]
    gold = ask(every, labels=right).labels
    kept = [right[place] for place in whole]
    _check(
        gold is not None and list(gold) == kept, f"the labels {kept} of its items in `labels`", gold
    )
    _check(
        scorer.fingerprint == before,
        "the same `fingerprint` after it was asked",
        scorer.fingerprint,
    )


def _rows(scores: Scores, places: Sequence[int], widths: Sequence[int]) -> dict[int, Any]:
    """Return the scores of each item that has some, by its place."""
    place_of = {f"item {place}": place for place in places}
    failed = [name for name in place_of if name in scores.failures]
    left = tuple(name for name in place_of if name not in failed)
    _check(
        tuple(scores.ids) == left,
        f"the ids {left} in this order, which are not in `failures`",
        scores.ids,
    )
    _check(
        all(map(str, scores.failures.values())), "a reason for each of `failures`", scores.failures
    )
    logits = scores.logits
    rows = [
        np.asarray(row, dtype=np.float64)
        for row in (logits if isinstance(logits, Ragged) else list(logits))
    ]
    shapes, want = [row.shape for row in rows], [(widths[place_of[name]],) for name in left]
    _check(shapes == want, f"scores of the shapes {want}", shapes)
    _check(all(bool(np.isfinite(row).all()) for row in rows), "finite scores", logits)
    return {place_of[name]: row for name, row in zip(left, rows, strict=True)}


def _check(holds: bool, expected: str, got: object) -> None:
    if not holds:
        raise AssertionError(f"Expected {expected}, but got {got!r}.")
