"""Added choices, near ones and none of the above, of scorers whose picks are known."""

import datasets
import numpy as np
import pytest

from rightreasons.datasets.perturbing.probes import NONE_OF_THE_ABOVE, Pool, perturb
from rightreasons.probes.measure import added_choices, measure_distractors, none_of_the_above, probe_tables

ROWS = [
    {"id": "a", "prompt": "Why cook?", "choices": ["to eat warm soup", "to fly"], "label": 0},
    {"id": "b", "prompt": "Why sow?", "choices": ["to harvest", "to eat soup"], "label": 0},
    {"id": "c", "prompt": "Why row?", "choices": ["to cross a river", "to drown", "to eat"], "label": 2},
    {"id": "d", "prompt": "Why hum?", "choices": ["to be merry", "to sleep a while"], "label": 0},
]
ITEMS = datasets.Dataset.from_list(ROWS)


def test_near_choices_share_rare_words():
    near = perturb(ITEMS, "near_choices", k=1)
    added = [[text for n, text in enumerate(row["choices"]) if n not in row["original_positions"]] for row in near]
    # "to" is in all choices but weighs nothing; "eat soup" shares two words with "to eat warm soup".
    assert added[0] == ["to eat soup"]
    assert added[2][0] in ("to eat soup", "to eat warm soup")
    assert near[0]["choice_sources"].count("b") == 1
    assert near[0]["choices"][near[0]["label"]] == "to eat warm soup"
    # The right choice is where random ones would leave it.
    assert near["label"][:] == perturb(ITEMS, "extra_choices", k=1)["label"][:]
    # "to be merry" shares no weighted word: what is added is random, and never its own.
    assert added[3][0] not in ROWS[3]["choices"]
    pool = Pool(ITEMS)
    assert [text for _, text in pool.nearest("eat soup")][:2] == ["to eat soup", "to eat warm soup"]


def test_none_of_the_above_in_the_data():
    added, right = perturb(ITEMS, "none_added"), perturb(ITEMS, "none_right")
    assert added[2]["choices"] == [*ROWS[2]["choices"], NONE_OF_THE_ABOVE]
    assert (added[2]["label"], added[2]["original_positions"]) == (2, [0, 1, 2])
    assert right[2]["choices"] == ["to cross a river", "to drown", NONE_OF_THE_ABOVE]
    assert (right[2]["label"], right[2]["original_positions"]) == (2, [0, 1, -1])
    assert (right[0]["choices"], right[0]["original_positions"]) == (["to fly", NONE_OF_THE_ABOVE], [-1, 0])
    with pytest.raises(ValueError, match="Expected choices without 'None of the above' in item 'b/none_added'"):
        perturb(datasets.Dataset.from_list([{**added[1], "label": 0, "id": "b/none_added"}]).select_columns(
            ["id", "prompt", "choices", "label"]), "none_added")  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "possible", "near"),
    [((1, 4, 2), (1, 4, 2), 4), ((6, 5), (6, 5), 5), ((1, 8, 99), (1, 8), 1), ((99,), (1,), 1)],
)
def test_near_choices_are_at_most_four_or_as_few_as_are_added(wanted, possible, near):
    rows = [[f"answer {item} {place}" for place in range(2)] for item in range(5)]  # each lacks 8 of 10 texts
    assert added_choices(rows, wanted) == (possible, near, True)
    assert not added_choices([*rows, ["none of the above.", "x"]], wanted)[2]


def by_words(prompts, choices, ids):
    """Prefer what has "eat" in it, the longer the better; none of the above is worth a letter."""
    return [[0.5 if text == NONE_OF_THE_ABOVE else ("eat" in text) * len(text) for text in row] for row in choices]


def test_figures_of_distractors():
    tables = probe_tables(ITEMS, ks=(1,), near=1, none=True)
    found = measure_distractors(tables.scored_by(by_words), 1)
    assert (found.n_items, found.k) == (4, 1)
    # Near ones: "to eat soup" is shorter than the right choice of a; b has its own; c is led astray; d by luck.
    rows = tables.tables["near_choices_1"]
    astray = [
        int(np.argmax(by_words([""], [row["choices"]], [""])[0])) not in row["original_positions"] for row in rows
    ]
    assert found.near.picked.value == np.mean(astray)
    assert astray[2]
    # None of the above is picked where no choice has "eat": d; and without the right choice, of a, c and d.
    assert (found.none.false_alarms.value, found.none.hits.value, found.none.expected) == (0.25, 0.75, 0.75)
    with pytest.raises(ValueError, match="Expected scores of the items under near_choices_1"):
        measure_distractors(probe_tables(ITEMS, ks=(1,)).scored_by(by_words), 1)


# The last column of each row is "none of the above"; the right choice is the one in `RIGHT`.
ADDED = [[2, 0, 3], [4, 1, 2], [0, 5, 1], [1, 2, 3, 0.5], [3, 2, 1]]
RIGHT = [0, 0, 1, 2, 1]
REPLACED = [[0, 3], [1, 2], [2, 1], [1, 2, 2.5], [3, 4]]


def test_hits_beyond_those_of_the_struck_out_scores():
    found = none_of_the_above(ADDED, REPLACED, RIGHT)
    # Picked: item 0 alone. Struck out: items 0 (3 of 0, 3), 1 (2 of 1, 2), 2 (1 of 0, 1). Replaced: 0, 1, 3, 4.
    assert (found.n_items, found.false_alarms.value, found.expected, found.hits.value) == (5, 0.2, 0.6, 0.8)
    assert found.gain == pytest.approx(0.2)
    # Three items differ, two of them for the better: p = 1, and by mid-p 1 - C(3, 2) / 2^3 = 0.625.
    assert found.p_value == pytest.approx(0.625)
    assert found.hits.low < 0.8 < found.hits.high


def test_a_scorer_of_single_choices_gains_nothing():
    rng = np.random.default_rng(0)
    added, right = rng.normal(size=(40, 5)), rng.integers(4, size=40)
    replaced = [np.delete(row, place) for row, place in zip(added, right, strict=True)]
    found = none_of_the_above(added, replaced, right)
    assert (found.gain, found.p_value) == (0.0, 1.0)
    assert found.false_alarms.value < found.hits.value == found.expected


def test_refusals():
    with pytest.raises(ValueError, match="item 1 has 3 scores with it and 3 without"):
        none_of_the_above([[1, 2, 3], [1, 2, 3]], [[1, 2], [1, 2, 3]], [0, 0])
    with pytest.raises(ValueError, match="references"):
        none_of_the_above([[1, 2, 3]], [[1, 2]], [2])
