"""Checks of the contracts of this package, for models of your own.

`check_scorer` checks a class that implements `rightreasons.models.Scorer`.
"""

from __future__ import annotations

import dataclasses
import json
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np

from rightreasons.core.arrays import Floats
from rightreasons.core.errors import SetAsideWarning
from rightreasons.core.scores import Scores
from rightreasons.models.protocol import Ability, Scorer

# Items that often fail: no words, words beyond ASCII, several spaces, and very different lengths.
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


_LONG_TEXT = " ".join(["film"] * 600)
_ENDS = ("good", "bad", "it was a good film", "it was a dull one, and far too long")
_MAX_SUM_ERROR = 1e-6


def check_scorer(
    scorer: Scorer,
    *,
    tolerance: float = 1e-4,
    texts: Sequence[str] = (),
    labels: Sequence[int] = (),
) -> None:
    """Check that a scorer keeps the contract of `rightreasons.models.Scorer`.

    The scorer gets five items with classes or choices, one of which is an empty text: all together,
    one by one, in another order, with other ids, with labels, with second texts, and with a folder
    for its results. An item may fail and be listed in `failures`, but it must not make other items
    fail. A scorer of classes also gets long texts that differ in their last words. A scorer of
    choices also gets the choices in another order, and additional ones.

    Scores are compared as log-probabilities, because adding a number to all scores of an item does
    not change the probabilities. `audit` repeats these checks on 20 of its own items for every
    function, estimator and scorer of a user.

    Args:
        scorer: The scorer to be checked.
        tolerance: Largest allowed difference between two log-probabilities of an item, as a share
            of the largest one.
        texts: A few texts that any such model classifies correctly, if possible of equal lengths.
            They reveal a wrong order of the classes, and predictions that do not depend on the text.
        labels: Labels of these texts, as indices of `label_names`.

    Raises:
        AssertionError: If the scorer breaks the contract; the message describes the violation.

    Example:
        >>> from rightreasons.models import as_scorer
        >>> def rule(texts):
        ...     return [[0.1, 0.9] if "good" in text else [0.8, 0.2] for text in texts]
        >>> scorer = as_scorer(rule, label_names=["negative", "positive"])
        >>> check_scorer(scorer, texts=["a good film", "an evil film"], labels=[1, 0])
    """
    _check_attributes(scorer)
    fingerprint = scorer.fingerprint
    all_items = range(len(TEXTS))
    scores = _score(scorer, all_items)
    rows = _parse_rows(scorer, scores, all_items)
    _check_scores(scorer, scores, rows)
    check = _RowCheck(scorer, rows, tolerance)
    _check_repetitions(check)
    _check_labels(scorer, list(rows))
    if scorer.label_names is None:
        if not scorer.joint:
            _check_separate_choices(check)
    else:
        _check_pairs(scorer)
        _check_long_texts(scorer)
        _check_labeled_texts(scorer, texts, labels)
    _check(
        scorer.fingerprint == fingerprint,
        "the same `fingerprint` after it was asked",
        scorer.fingerprint,
    )


def _check_attributes(scorer: Scorer) -> None:
    """Check the attributes that an audit reads before it asks for scores.

    Args:
        scorer: The scorer to be checked.

    Raises:
        AssertionError: If an attribute is missing or has the wrong type.
    """
    _check(isinstance(scorer, Scorer), "all members of `Scorer`", type(scorer).__name__)
    has_name = isinstance(scorer.name, str) and bool(scorer.name)
    _check(has_name, "a text in `name`", scorer.name)
    # The names are None for multiple choice, which has no classes.
    names = scorer.label_names
    _check(
        names is None or _are_class_names(names),
        "two names or more in `label_names`, each once, or None",
        names,
    )
    abilities = scorer.abilities
    are_known = isinstance(abilities, frozenset) and abilities.issubset(get_args(Ability))
    _check(are_known, "known `abilities`", abilities)
    _check(
        "gradients" not in abilities or hasattr(scorer, "model"),
        "a `model` of torch, through which “gradients” are computed",
        type(scorer).__name__,
    )
    _check(isinstance(scorer.joint, bool), "True or False in `joint`", scorer.joint)
    _check(isinstance(scorer.fingerprint, str), "a text in `fingerprint`", scorer.fingerprint)
    # Reports store the description as JSON.
    json.dumps(scorer.describe())


def _are_class_names(names: object) -> bool:
    """Return whether names are a tuple of at least two distinct texts."""
    if not isinstance(names, tuple) or len(names) < 2:
        return False
    return len(set(names)) == len(names) and all(isinstance(name, str) for name in names)


def _check_scores(scorer: Scorer, scores: Scores, rows: dict[int, Floats]) -> None:
    """Check the scores of all items: how many there are, their fields, and that they are logits.

    Args:
        scorer: The scorer to be checked.
        scores: Scores of all items.
        rows: Item -> its logits, without failed items.

    Raises:
        AssertionError: If the scores break the contract.
    """
    _check(
        # Only the empty text may have no scores.
        len(rows) >= len(TEXTS) - 1,
        "scores of all items but the empty one at most",
        scores.failures,
    )
    _check(
        isinstance(scores.truncated, int),
        "a number of texts in `truncated` of its scores",
        scores.truncated,
    )
    names = scorer.label_names
    _check(scores.label_names == names, f"`label_names` {names} of its scores", scores.label_names)
    _check(
        # A single row of logits may look like probabilities by accident.
        not all(map(_is_distribution, rows.values())),
        "logits, such as logarithms of probabilities",
        "rows between 0 and 1 that sum to 1",
    )


def _is_distribution(row: Floats) -> bool:
    return bool(row.min() >= 0.0 and abs(row.sum() - 1.0) < _MAX_SUM_ERROR)


@dataclasses.dataclass(frozen=True, eq=False)
class _RowCheck:
    """A comparison of the scores of items with those that they got at first.

    Attributes:
        scorer: The scorer to be checked.
        rows: Item -> its scores.
        tolerance: As in `check_scorer`.
    """

    scorer: Scorer
    rows: dict[int, Floats]
    tolerance: float

    def compare(self, description: str, item: int, row: Floats, columns: Sequence[int]) -> None:
        """Check that an item has the same log-probabilities as when it was scored first.

        Args:
            description: What is different this time, such as "in another order".
            item: The item.
            row: Its new scores.
            columns: Columns of its first scores, in the order of the new ones.

        Raises:
            AssertionError: If the difference exceeds the tolerance.
        """
        expected = _log_softmax(self.rows[item][list(columns)])
        actual = _log_softmax(row)
        allowed = self.tolerance * max(1.0, float(np.abs(expected).max()))
        difference = float(np.abs(actual - expected).max())
        _check(
            difference <= allowed,
            f"the same scores when asked {description}",
            f"a difference of {difference:.2g}",
        )

    def repeat(self, description: str, items: Sequence[int], **options: Any) -> None:
        """Score items again, and compare them."""
        repeated = _parse_rows(self.scorer, _score(self.scorer, items, **options), items)
        for item, row in repeated.items():
            # An item that failed at first has no row.
            _check(item in self.rows, f"no scores of item {item}, which failed before", row)
            self.compare(description, item, row, range(len(row)))


def _check_repetitions(check: _RowCheck) -> None:
    """Check that the scores of an item do not depend on other items, ids, labels or repetitions.

    Args:
        check: The scorer with its first scores of all items.

    Raises:
        AssertionError: If scores differ from the first ones.
    """
    all_items = range(len(TEXTS))
    check.repeat("again", all_items)
    check.repeat("in another order", all_items[::-1])
    # Ids are arbitrary names, so the scores must not depend on them.
    other_ids = [f"other {item}" for item in all_items]
    renamed = _score(check.scorer, all_items, ids=other_ids)
    for name, row in zip(renamed.ids, renamed.logits, strict=True):
        item = other_ids.index(name)
        check.compare("with other ids", item, np.asarray(row), range(len(row)))
    with tempfile.TemporaryDirectory() as folder:
        # The second time, the scores are read from the folder.
        check.repeat("into a folder", all_items, out=Path(folder) / "scores")
        check.repeat("out of that folder", all_items, out=Path(folder) / "scores")
        # Scores of other items in the folder must be moved aside, with a warning, and not be used.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SetAsideWarning)
            check.repeat("into a folder of other items", [0, 2], out=Path(folder) / "scores")
    for item in check.rows:
        check.repeat(f"of item {item} alone", [item])
    # A scorer must not use the labels.
    labels = [item % 2 for item in all_items]
    check.repeat("with labels", all_items, labels=labels)
    check.repeat("with other labels", all_items, labels=[1 - label for label in labels])


def _check_separate_choices(check: _RowCheck) -> None:
    """Check that the score of a choice does not depend on the other choices, or on their order.

    Args:
        check: A scorer of choices, with its first scores of all items.

    Raises:
        AssertionError: If scores differ from the first ones.
    """
    for item in check.rows:
        choices = CHOICES[item]
        reordered = _score_choices(check.scorer, item, choices[::-1])
        columns = range(len(choices))[::-1]
        check.compare(
            "with its choices in another order (`joint` is False)", item, reordered, columns
        )
        extended = _score_choices(check.scorer, item, [*choices, "none of these"])
        columns = range(len(choices))
        check.compare(
            "with a further choice (`joint` is False)", item, extended[: len(choices)], columns
        )


def _score_choices(scorer: Scorer, item: int, choices: Sequence[str]) -> Floats:
    """Return the scores of the choices of one item."""
    scores = scorer.choose([TEXTS[item]], [list(choices)], ids=["item"], progress=False)
    return np.asarray(scores.logits[0], dtype=np.float64)


def _check_pairs(scorer: Scorer) -> None:
    """Check that a scorer of classes either uses second texts, or raises an error for them.

    Args:
        scorer: The scorer to be checked.

    Raises:
        AssertionError: If different second texts have the same scores.
    """
    items = [0, 2, 3]
    tables = []
    for beginning in ("it was good", "it was bad, and far too long"):
        second_texts = [f"{beginning} {item}" for item in items]
        try:
            scores = _score(scorer, items, text_pairs=second_texts)
        except (ValueError, TypeError):
            # The scorer is for single texts, and refuses pairs as it should.
            return
        tables.append(np.asarray(scores.logits, dtype=np.float64))
    _check(
        tables[0].shape != tables[1].shape or not np.array_equal(tables[0], tables[1]),
        "scores that depend on `text_pairs`, or a ValueError for them",
        "the same scores with other second texts",
    )


def _check_long_texts(scorer: Scorer) -> None:
    """Check that a scorer that truncates long texts counts them in `truncated`.

    Args:
        scorer: A scorer of classes.

    Raises:
        AssertionError: If the ends of long texts do not matter, and no text is counted.
    """
    arguments: dict[str, Any] = {"progress": False}
    names = [f"end {index}" for index in range(len(_ENDS))]
    short = scorer.predict(list(_ENDS), ids=names, **arguments)
    long_texts = [f"{_LONG_TEXT} {end}" for end in _ENDS]
    long = scorer.predict(long_texts, ids=names, **arguments)
    if long.truncated or long.failures or short.failures:
        return
    # If the model ignores these words even in short texts, the test shows nothing.
    is_sensitive = np.ptp(np.asarray(short.logits), axis=0).max() > 0
    reads_the_end = np.ptp(np.asarray(long.logits), axis=0).max() > 0
    _check(
        reads_the_end or not is_sensitive,
        "scores that depend on the end of a long text, or the number of cut texts in `truncated`",
        "the same scores for different ends, and no cut texts",
    )


def _check_labeled_texts(scorer: Scorer, texts: Sequence[str], labels: Sequence[int]) -> None:
    """Check that a scorer predicts the labels of most of the given texts.

    Args:
        scorer: A scorer of classes.
        texts: Texts that any such model classifies correctly; the check is skipped without texts.
        labels: Their labels, as indices of `label_names`.

    Raises:
        AssertionError: If at most half of the predictions are correct.
    """
    if not len(texts):
        return
    names = list(map(_name_item, range(len(texts))))
    scores = scorer.predict(list(texts), ids=names, progress=False)
    # If a text has no scores, the predictions cannot be matched with the labels.
    n_correct = 0
    if len(scores) == len(texts):
        n_correct = int((scores.predicted == np.asarray(labels)).sum())
    _check(
        n_correct > len(texts) / 2,
        "most of `texts` with their `labels`, in the order of `label_names`",
        f"{n_correct} of {len(texts)}",
    )


def _check_labels(scorer: Scorer, scored_items: Sequence[int]) -> None:
    """Check that `labels` of the scores are the labels of the items that were scored.

    Args:
        scorer: The scorer to be checked.
        scored_items: Items that did not fail.

    Raises:
        AssertionError: If the labels are missing or differ.
    """
    labels = np.arange(len(TEXTS)) % 2
    kept_labels = _score(scorer, range(len(TEXTS)), labels=labels.tolist()).labels
    expected = labels[list(scored_items)].tolist()
    _check(
        kept_labels is not None and list(kept_labels) == expected,
        f"the labels {expected} of its items in `labels`",
        kept_labels,
    )


def _score(scorer: Scorer, items: Sequence[int], **options: Any) -> Scores:
    """Score items, and convert unexpected errors to an AssertionError.

    Args:
        scorer: The scorer to be checked.
        items: Positions of the items in `TEXTS`.
        **options: Further arguments of `choose` or `predict`.

    Raises:
        ValueError: If the scorer refuses the arguments.
        TypeError: If the scorer refuses the arguments.
        AssertionError: If the scorer raises another error, or does not return `Scores`.
    """
    arguments = {
        "ids": list(map(_name_item, items)),
        "progress": False,
        "fail_fast": False,
        **options,
    }
    texts = [TEXTS[item] for item in items]
    try:
        # Without class names, a scorer chooses among the choices of each item.
        if scorer.label_names is None:
            choices = [CHOICES[item] for item in items]
            scores = scorer.choose(texts, choices, **arguments)
        else:
            scores = scorer.predict(texts, **arguments)
    except (ValueError, TypeError):
        # The scorer refuses the arguments, which callers may expect.
        raise
    except Exception as error:
        raise AssertionError(
            "Expected scores, or the reasons in `failures` of items that cannot be scored, but "
            f"got {type(error).__name__}: {error}"
        ) from error
    _check(isinstance(scores, Scores), "`Scores`", type(scores).__name__)
    return scores


def _log_softmax(row: Floats) -> Floats:
    """Return the log-probabilities of a row of scores."""
    shifted = row - row.max()
    return np.asarray(shifted - np.log(np.exp(shifted).sum()))


def _name_item(item: int) -> str:
    return f"item {item}"


def _parse_rows(scorer: Scorer, scores: Scores, items: Sequence[int]) -> dict[int, Floats]:
    """Check the shape of the scores of some items, and return them by item.

    Args:
        scorer: The scorer to be checked.
        scores: Scores of the items.
        items: Positions of the items in `TEXTS`.

    Returns:
        Item -> (K,) its logits, without failed items.

    Raises:
        AssertionError: If ids, failures, shapes or values of the scores are invalid.
    """
    scored = []
    for item in items:
        if _name_item(item) not in scores.failures:
            scored.append(item)
    ids = tuple(map(_name_item, scored))
    _check(
        tuple(scores.ids) == ids,
        f"the ids {ids} in this order, which are not in `failures`",
        scores.ids,
    )
    has_reasons = all(map(str, scores.failures.values()))
    _check(has_reasons, "a reason for each of `failures`", scores.failures)

    logits = scores.logits
    # Both an array and a `Ragged` yield one row per item.
    rows = [np.asarray(row, dtype=np.float64) for row in logits]
    shapes = []
    expected = []
    for item, row in zip(scored, rows, strict=True):
        classes = scorer.label_names or CHOICES[item]
        expected.append((len(classes),))
        shapes.append(row.shape)
    _check(shapes == expected, f"scores of the shapes {expected}", shapes)
    for row in rows:
        _check(bool(np.isfinite(row).all()), "finite scores", logits)
    return dict(zip(scored, rows, strict=True))


def _check(is_kept: bool, expected: str, actual: object) -> None:
    if not is_kept:
        raise AssertionError(f"Expected {expected}, but got {actual!r}.")
