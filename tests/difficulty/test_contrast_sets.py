"""Contrast sets: which a table has, and how a model does on them."""

from types import SimpleNamespace

import datasets
import numpy as np
import pytest

from rightreasons.core.resampling import Resampling
from rightreasons.difficulty.contrast_sets import ContrastItems, measure_contrast_sets
from rightreasons.difficulty.page_contrast import list_item_figures

# Sets of three, two, two and two items whose items are no neighbors; the last row is in none.
NAMES = ["a", "b", "a", "c", "b", "c", "a", "d", "d", None]
FLAGS = [False, True, True, False, False, True, False, True, False, True]
LABELS = np.array([1, 0, 0, 2, 1, 0, 1, 2, 2, 0])


def table(**columns):
    return datasets.Dataset.from_dict(columns)


def named(**columns):
    return ContrastItems.from_table(table(set=NAMES, **columns), LABELS, "set", *columns)


def test_the_sets_of_named_columns():
    items = named(flag=FLAGS)
    assert items.rows.tolist() == list(range(9))
    assert items.groups.tolist() == NAMES[:9]
    assert items.is_original.tolist() == FLAGS[:9]
    assert (items.is_original.sum(), items.n_left_out) == (4, 0)


@pytest.mark.parametrize(
    "values",
    [
        ["Original" if flag else "revised" for flag in FLAGS],
        [int(flag) for flag in FLAGS],
        ["Yes" if flag else "no" for flag in FLAGS],
        ["True" if flag else "False" for flag in FLAGS],
    ],
    ids=["words", "numbers", "yes", "true"],
)
def test_originals_are_marked_in_any_usual_way(values):
    assert named(flag=values).is_original.tolist() == FLAGS[:9]


def test_without_a_column_of_originals_the_first_item_is_it():
    assert named().is_original.tolist() == [
        True,
        True,
        False,
        True,
        False,
        False,
        False,
        True,
        False,
    ]


def test_sets_that_are_not_whole_are_left_out():
    # The original of b and a revision of c have no label; d has no original.
    labels = LABELS.copy()
    labels[[1, 3]] = -1
    items = ContrastItems.from_table(
        table(set=NAMES, flag=[*FLAGS[:7], False, False, False]),
        labels,
        groups_column="set",
        original_column="flag",
    )
    assert items.rows.tolist() == [0, 2, 6]
    assert (items.is_original.sum(), items.n_left_out) == (1, 3)


@pytest.mark.parametrize(
    ("columns", "original"),
    [
        (
            {"pair_id": ["x", "x", "y"], "role": ["perturbed", "original", "original"]},
            [False, True],
        ),
        ({"pair_id": [4, 4, 9], "is_original": [True, False, True]}, [True, False]),
        ({"source_id": ["x", "x", "y"], "mirrored": [True, False, False]}, [False, True]),
    ],
    ids=["role", "is_original", "mirrored"],
)
def test_the_usual_columns_are_found(columns, original):
    items = ContrastItems.from_table(table(**columns), np.array([0, 1, 0]))
    assert items.is_original.tolist() == original
    assert items.n_left_out == 1


@pytest.mark.parametrize(
    "columns",
    [
        {"text": ["a", "b", "c"]},
        {"pair_id": ["x", "x", "y"]},  # nothing says that these are contrast sets
        {"source_id": ["x", "x", "y"], "probe": ["a", "b", "c"]},
        {
            "pair_id": ["x", "y", "z"],
            "role": ["original"] * 3,
        },  # the other halves are in another split
        {"pair_id": ["x", "x", "y"], "role": ["user", "assistant", "user"]},
        {"pair_id": ["x", "x", "y"], "role": ["original", "original", "perturbed"]},
    ],
)
def test_data_without_contrast_sets(columns):
    assert ContrastItems.from_table(table(**columns), np.array([0, 1, 0])) is None


def test_mistakes_are_one_sentence():
    data = table(set=["x", "x", "y"], flag=["new", "old", "new"], two=[1, 1, 0])
    labels = np.array([0, 1, 0])
    with pytest.raises(
        ValueError, match=r"Expected a column 'group', but the data has set, flag, two\."
    ):
        ContrastItems.from_table(data, labels, "group")
    with pytest.raises(ValueError, match="in addition to 'flag'"):
        ContrastItems.from_table(data, labels, None, "flag")
    with pytest.raises(
        ValueError, match=r"'flag' to mark originals by true and false, or .* but it holds 'new'\."
    ):
        ContrastItems.from_table(data, labels, "set", "flag")
    with pytest.raises(
        ValueError,
        match=r"contrast sets in the column 'set', each with one original, .* names such a set\.",
    ):
        ContrastItems.from_table(data, labels, "set", "two")
    with pytest.raises(
        ValueError,
        match="contrast sets",
    ):
        ContrastItems.from_table(data, np.array([0, -1, 0]), "set")


def test_figures_of_the_sets():
    # a: the original (row 2) and one of two revisions right; b: both right; c: both wrong, one answer; d: the revision.
    predicted = np.array([1, 0, 0, 1, 1, 1, 2, 0, 2, 0])
    measured = measure_contrast_sets(
        named(flag=FLAGS), predicted, LABELS, resampling=Resampling(level=0.9)
    )
    values = {key: estimate.value for key, estimate in measured.figures.items()}
    # Originals: a, b right, c, d wrong. Revisions: a 1 of 2, b 1, c 0, d 1 of 1 each. Throughout: b alone.
    assert values == {
        "original_accuracy": 2 / 4,
        "contrast_accuracy": 3 / 5,
        "contrast_consistency": 1 / 4,
        "contrast_followed": 1 / 2,
    }
    assert all(estimate.level == 0.9 and estimate.low < estimate.value < estimate.high
               for estimate in measured.figures.values())  # fmt: skip
    assert measured.broken == ((2, 6),)
    assert list(measured.counts.values()) == [4, 5, 4, 2]
    plain = measured.to_dict()
    assert plain["sets"] == ["a", "b", "c", "d"]


def test_a_set_is_consistent_if_all_of_its_items_are_correct():
    # Sets "x" (original in row 4, revisions in rows 0 and 3) and "y" (rows 1 and 2); row 0 is incorrect.
    rows = np.array([4, 1, 0, 2, 3])
    groups = np.array(["x", "y", "x", "y", "x"])
    is_original = np.array([True, False, False, True, False])
    items = SimpleNamespace(rows=rows, groups=groups, is_original=is_original)
    split = SimpleNamespace(labels=np.array([1, 0, 1, 0, 1]), ids=("i0", "i1", "i2", "i3", "i4"))
    scores = SimpleNamespace(predicted=np.array([0, 0, 1, 0, 1]))
    context = SimpleNamespace(primary=split, scores=lambda: scores)
    answers = SimpleNamespace(primary=SimpleNamespace(items=items), context=context)

    (figure,) = list_item_figures(answers)

    # Set "y" has its original in row 2.
    assert (figure.ids, figure.values) == (("i4", "i2"), (0.0, 1.0))
