"""Orders of the choices: which there are, what a store has of them, and what they show."""

import numpy as np

from rightreasons.datasets.perturbing.orders import list_choice_orders
from rightreasons.probes.measure import find_steady_items, measure_option_order


def test_more_than_three_choices_go_round():
    places = list_choice_orders(4)
    assert places[0].tolist() == [0, 1, 2, 3]
    assert (
        np.sort(places, axis=0) == np.arange(4)[:, None]
    ).all()  # every choice once at each position


def test_who_has_no_answer_is_not_counted():
    # Under both orders of two choices: the first item keeps its choice, the second its position.
    known, steady = find_steady_items(list_choice_orders(2), np.array([[0, 1, 0], [1, 1, -1]]))
    assert known.tolist() == [True, True, False]
    assert steady.tolist() == [True, False]


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

    items = {"id": list("abcdef"), "prompt": ["p"] * 6, "choices": rows, "label": [0] * 6}
    every = measure_option_order(items, score)
    assert (every.orders, every.n_orders) == ("all", 6)
    # In y, x, z the last position holds z.
    assert every.consistency == 0.0
