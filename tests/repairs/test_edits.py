"""Training texts are edited so that words tell nothing about the label."""

import numpy as np
import pytest

from rightreasons.core.errors import OptionError
from rightreasons.repairs.edits import UNCHANGED, edit_items, weigh_items
from rightreasons.repairs.words import NO_LABEL, SpuriousWords

PAIR = SpuriousWords({"copper": 0, "marble": 1}, 2)
FOUR = SpuriousWords({"w0": 0, "w1": 1, "w2": 2, "w3": 3}, 4)


def make_items(words, n, strength, seed=0):
    """Texts whose word agrees with the label in a share of cases; one in five has none."""
    rng = np.random.default_rng(seed)
    names = list(words.labels)
    labels = rng.integers(words.n_classes, size=n)
    items = []
    for row, label in enumerate(labels.tolist()):
        cue = label if rng.random() < strength else int(rng.integers(words.n_classes))
        items.append((f"text {row}" if row % 5 == 0 else f"text {row} {names[cue]} end",))
    return items, labels


def count_cells(items, labels, words):
    cells = np.zeros((words.n_classes, words.n_classes), dtype=int)
    for item, label in zip(items, labels.tolist(), strict=True):
        cue = words.predict_label(item)
        if cue != NO_LABEL:
            cells[label, cue] += 1
    return cells


def test_a_swap_with_all_copies_makes_every_cell_equal():
    items, labels = make_items(FOUR, 400, 0.9)
    edited = edit_items(items, labels, FOUR, growth=3.0)
    cells = count_cells(edited.items, labels[edited.sources], FOUR)
    # Each text with a word appears once with the word of every label, so a label's row is constant.
    assert (cells == cells[:, :1]).all()
    assert cells.sum() == 4 * 320
    assert len(edited) == 80 + 4 * 320
    assert edited.method == "swap"
    assert edited.n_edited == 3 * 320


def test_fewer_copies_leave_no_association_either():
    items, labels = make_items(FOUR, 4000, 0.95)
    edited = edit_items(items, labels, FOUR, growth=1.0)
    cells = count_cells(edited.items, labels[edited.sources], FOUR)
    assert cells.sum() == 2 * 3200
    # Two of four words at random: each cell is hypergeometric with mean half the texts of its label.
    expected = cells.sum(axis=1, keepdims=True) / 4
    assert (np.abs(cells - expected) < 4 * np.sqrt(expected)).all()


def test_in_place_keeps_the_size():
    items, labels = make_items(PAIR, 2000, 0.95)
    edited = edit_items(items, labels, PAIR, method="in_place", seed=3)
    assert len(edited) == len(items)
    cells = count_cells(edited.items, labels, PAIR)
    # The share of the own word falls from .975 to one half; the standard error is .0125.
    assert np.diag(cells).sum() / cells.sum() == pytest.approx(0.5, abs=0.04)


def test_words_of_one_label_are_removed():
    words = SpuriousWords({"copper": 0}, 2)
    edited = edit_items([("a copper pot",), ("pot",), ("copper",)], np.array([0, 1, 0]), words)
    # A text that was nothing but the word goes.
    assert edited.items == [("a pot",), ("pot",)]
    assert edited.edits == ["removed", UNCHANGED]
    assert edited.method == "remove"


def test_insertion_makes_words_as_frequent_in_every_label():
    words = SpuriousWords({"copper": 0}, 2)
    items = [("copper pot",) if row % 4 else ("pot",) for row in range(1000)]
    items += [("pot",)] * 1000
    labels = np.repeat([0, 1], 1000)
    edited = edit_items(items, labels, words, method="insert")
    has_word = np.array([words.predict_label(item) == 0 for item in edited.items])
    assert has_word[:1000].mean() == 0.75
    # 1,000 draws at .75 have a standard error of .0137.
    assert has_word[1000:].mean() == pytest.approx(0.75, abs=0.05)


def test_normalizing_removes_marks_and_capitals_and_keeps_words():
    words = SpuriousWords({"#": 0, "joy": 1}, 2)
    edited = edit_items([("So #JOY !",)], np.array([0]), words, method="normalize")
    assert edited.items == [("so joy !",)]


def test_weights_are_the_ratio_of_the_chances():
    items = [("copper",)] * 3 + [("marble",)] + [("copper",)] + [("marble",)] * 3
    labels = np.array([0] * 4 + [1] * 4)
    weights = weigh_items(items, labels, PAIR)
    # Cell (copper, 0): 1/2 · 1/2 / (3/8) = 2/3; cell (marble, 0): 1/4 / (1/8) = 2.
    assert weights.tolist() == pytest.approx([2 / 3] * 3 + [2, 2] + [2 / 3] * 3)
    assert edit_items(items, labels, PAIR, method="weights").items == items


def test_what_is_drawn_depends_on_the_seed_alone():
    items, labels = make_items(FOUR, 200, 0.9)
    drawn = [edit_items(items, labels, FOUR, seed=seed).items for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    # A further text changes nothing about the others.
    longer = edit_items([*items, ("w1",)], np.append(labels, 1), FOUR)
    assert longer.items[: len(drawn[0])] == drawn[0]


@pytest.mark.parametrize(
    ("words", "options", "option"),
    [
        (PAIR, {"method": "shuffle"}, "method"),
        (SpuriousWords({"copper": 0}, 2), {"method": "swap"}, "method"),
        (PAIR, {"growth": -0.5}, "growth"),
    ],
)
def test_wrong_options_are_named(words, options, option):
    with pytest.raises(OptionError) as raised:
        edit_items([("copper",)], np.array([0]), words, **options)
    assert raised.value.option == (option,)
