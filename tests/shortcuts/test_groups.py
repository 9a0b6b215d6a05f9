"""Accuracy by cue and label, by hand: three labels, an item with cues of two labels, groups too small to compare."""

import pytest

from rightreasons.core.intervals import wilson
from rightreasons.shortcuts.groups import worst_group_accuracy

GOLD = [0, 0, 0, 1, 1, 1, 1, 2, 2]
PREDICTED = [0, 1, 1, 1, 1, 0, 1, 2, 0]
CUES = {
    1: [True, True, True, True, False, False, False, False, False],
    0: [False] * 4 + [True, True, False, False, True],
}


def test_groups():
    result = worst_group_accuracy(PREDICTED, GOLD, CUES, min_group=2)
    groups = {(group.cue_label, group.label): group for group in result.groups}
    assert {key: (group.n_items, group.accuracy) for key, group in groups.items()} == {
        (1, 0): (3, pytest.approx(1 / 3)),
        (1, 1): (1, 1.0),
        (0, 1): (2, 0.5),
        (0, 2): (1, 0.0),
        (None, 1): (1, 1.0),
        (None, 2): (1, 1.0),
    }
    assert groups[1, 0].follows == pytest.approx(2 / 3)
    assert groups[0, 2].follows == 1
    assert result.group == groups[1, 0]  # (0, 2) is worse but has one item
    assert result.accuracy == pytest.approx(5 / 9)
    # Two groups have two items or more: each interval at 1 - .05 / 2.
    assert result.interval == wilson(1, 3, confidence_level=0.975)
    assert result.follows_interval == wilson(2, 3, confidence_level=0.975)


def test_an_item_with_cues_of_two_labels_is_in_two_groups():
    result = worst_group_accuracy([0, 1], [0, 1], {0: [True, False], 1: [True, True]}, min_group=1)
    assert [(group.cue_label, group.label, group.n_items) for group in result.groups] == [
        (0, 0, 1),
        (1, 0, 1),
        (1, 1, 1),
    ]


def test_without_groups_of_enough_items():
    result = worst_group_accuracy(PREDICTED, GOLD, CUES, min_group=4)
    assert (result.worst_group_accuracy, result.interval, result.follows_interval, result.group) == (None,) * 4
    without_cues = worst_group_accuracy([1, 0], [1, 1], {}, min_group=1)
    assert (without_cues.worst_group_accuracy, without_cues.follows_interval) == (0.5, None)


@pytest.mark.parametrize(
    ("cues", "sentence"), [({0: [True]}, "has_cue"), ({0: [2, 0, 1, 0, 0, 0, 0, 0, 0]}, "has_cue")]
)
def test_refuses(cues, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        worst_group_accuracy(PREDICTED, GOLD, cues)
