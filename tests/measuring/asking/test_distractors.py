"""Near choices, none of the above, and picks without confidences, of scorers whose picks are known."""

import datasets
import numpy as np
import pytest

from rightreasons.data.perturbing.probes import NONE_OF_THE_ABOVE, Pool, perturb
from rightreasons.foundations.ragged import Ragged
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.scores import Scores
from rightreasons.measuring import measure_distractors, measure_option_order, measure_picks, probe_tables
from rightreasons.measuring.asking.picks import ask_for_orders, ask_for_picks
from rightreasons.measuring.asking.templates import measure_templates, template_tables
from rightreasons.measuring.option_order import ChoiceOrders, stored_orders

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
    assert (found.none.false_alarms, found.none.hits, found.none.expected) == (0.25, 0.75, 0.75)
    with pytest.raises(ValueError, match="Expected scores of the items under near_choices_1"):
        measure_distractors(probe_tables(ITEMS, ks=(1,)).scored_by(by_words), 1)


def answering(prompts, choices, ids):
    """Pick the longest choice; to "Why hum?" nothing is answered."""
    heard = [place for place, prompt in enumerate(prompts) if prompt != "Why hum?"]
    rows = [np.array([0.0 if len(text) < max(map(len, choices[n])) else 5.0 for text in choices[n]]) for n in heard]
    logits = Ragged.of(np.concatenate(rows), [len(row) for row in rows]).table()
    failures = {ids[n]: "no answer" for n in range(len(ids)) if n not in heard}
    return Scores(tuple(ids[n] for n in heard), logits, failures=failures)


def test_picks_need_no_confidence():
    tables = probe_tables(ITEMS, ks=(1,), near=1, none=True)
    picked = ask_for_picks(tables, answering)
    assert picked["original"].tolist() == [0, 1, 0, -1]
    found = measure_picks(tables, picked, resampling=Resampling())
    first = found.probes["original"]
    assert (first.n_items, first.n_unanswered, first.rate.value) == (3, 1, pytest.approx(1 / 3))
    # Without the question all four are answered: the longest choice is the old answer of a alone.
    bare = found.probes["no_question"]
    assert (bare.n_items, bare.n_unanswered, bare.rate.value) == (4, 0, 0.25)
    assert bare.reference == pytest.approx((1 / 2 + 1 / 2 + 1 / 3 + 1 / 2) / 4)
    assert 0 < bare.p_value <= 1
    assert found.probes["no_right_answer"].rate is None
    none = found.probes["none_right"]
    # "None of the above" is the longest beside "to fly", "to eat soup" and "to cross a river".
    assert (none.n_items, none.rate.value, none.reference) == (3, 1.0, 1.0)


def test_orders_of_picks():
    two = datasets.Dataset.from_list([ROWS[0], ROWS[1], ROWS[3]])
    tables = probe_tables(two, ks=(1,))
    orders = ask_for_orders(tables, answering)
    assert orders.picked.tolist() == [[0, 0], [1, 1], [-1, -1]]
    found = measure_picks(tables, ask_for_picks(tables, answering), orders=orders)
    assert (found.in_words, found.n_ordered, found.consistency.value) == ("both orders", 2, 1.0)
    assert ask_for_orders(probe_tables(ITEMS, ks=(1,)), answering) is None


def test_picks_with_and_without_a_template():
    tables = probe_tables(ITEMS, ks=(1,))
    asked = template_tables(tables)
    assert list(asked.tables) == ["original", "no_question", "wrong_question"]
    right = np.asarray(tables.tables["original"]["label"][:])
    old = {name: np.asarray(asked.tables[name]["pseudo_label"][:]) for name in ("no_question", "wrong_question")}
    # With the template the last item has no answer; without it, only the first of the others is right.
    given = {"original": np.array([*right[:-1], -1]), **old}
    bare = {**old, "original": np.array([right[0], *((right[1:] + 1) % 2)])}
    found = measure_templates(asked, given, bare)
    first = found.probes["original"]
    assert (first.n_items, first.with_template.value, first.without.value) == (3, 1.0, pytest.approx(1 / 3))
    assert first.difference == pytest.approx(2 / 3)
    assert first.p_value == 0.5  # two items changed, both to the same side: 2 / 2 ** 2
    assert found.agreement.value == pytest.approx(1 / 3)
    assert (found.probes["no_question"].difference, found.probes["no_question"].p_value) == (0.0, 1.0)


def test_random_orders_are_circles_of_each_item():
    ids = [f"item {n}" for n in range(40)]
    orders = ChoiceOrders.of(ids, 4, "random", seed=3)
    assert orders.in_words == "4 random orders"
    assert orders.places[0].tolist() == [[0, 1, 2, 3]] * 40
    # Every choice once at each position, whatever the item.
    assert (np.sort(orders.places, axis=0) == np.arange(4)[:, None, None]).all()
    # Four choices in a circle: (4 - 1)! = 6 circles, which differ in what follows what.
    assert len({tuple(order) for order in orders.places[1].tolist()}) == 6
    again = ChoiceOrders.of(ids[::-1], 4, "random", seed=3)
    assert (again.places[:, ::-1] == orders.places).all()
    assert orders.names(["a"]) == ["a/order 0", "a/random order 1", "a/random order 2", "a/random order 3"]
    picked = orders.original(np.full((4, 40), 2))
    turned = orders.turned([list("wxyz")] * 40)
    assert ["wxyz"[choice] for choice in picked.flat] == [row[2] for row in turned]
    # Up to three choices in a circle have one order, and its mirror image.
    assert ChoiceOrders.of(ids, 3, "random").kind == "cyclic"


def test_orders_that_a_store_has():
    assert stored_orders({"a/order 1", "a/order 2"}, "a", 3) == "cyclic"
    assert stored_orders({"a/order 1", "a/order 3"}, "a", 3) == "all"
    assert stored_orders({"a/random order 1"}, "a", 4) == "random"
    assert stored_orders({"a/random order 1"}, "a", 4, "cyclic") == "cyclic"  # which then says what is missing
    assert stored_orders({"a"}, "a", 4) is None


def test_all_orders_of_few_choices():
    rows = [["x", "y", "z"]] * 6
    asked = []

    def score(prompts, choices, ids):
        asked.extend(zip(ids, choices, strict=True))
        # x is preferred, unless it follows y at once: then the last position is.
        return [
            [0.0, 0.0, 1.0] if row.index("x") - row.index("y") == 1 else [float(text == "x") for text in row]
            if "x" in row else [0.0] * 3
            for row in choices if "y" in row or asked.append("free")
        ] + [[0.0, 0.0, 0.0]] * sum("y" not in row for row in choices)  # fmt: skip

    ids = list("abcdef")
    cyclic = measure_option_order(["p"] * 6, rows, [0] * 6, ids, score, orders="cyclic")
    assert (cyclic.n_orders, cyclic.in_words) == (3, "all 3 cyclic orders")
    # x, y, z - y, z, x - z, x, y: x never follows y at once.
    assert cyclic.consistency == 1.0
    every = measure_option_order(["p"] * 6, rows, [0] * 6, ids, score)
    assert (every.n_orders, every.in_words) == (6, "all 6 orders")
    # In y, x, z the last position holds z.
    assert every.consistency == 0.0
    with pytest.raises(ValueError, match="Expected at most 5 choices with orders='all', but got 6"):
        measure_option_order(["p"] * 2, [list("uvwxyz")] * 2, [0, 0], ["a", "b"], score, orders="all")
