"""Orders of the choices: which there are, what a store has of them, and what they show."""

import numpy as np
import pytest

from rightreasons.probes.measure import ChoiceOrders, measure_option_order, orders_in_words


def test_random_orders_are_circles_of_each_item():
    ids = [f"item {n}" for n in range(40)]
    rows = [list("wxyz")] * 40
    orders = ChoiceOrders.of(ids, rows, "random", seed=3)
    assert orders.kind == "random"
    assert orders.places[0].tolist() == [[0, 1, 2, 3]] * 40
    # Every choice once at each position, whatever the item.
    assert (np.sort(orders.places, axis=0) == np.arange(4)[:, None, None]).all()
    # Four choices in a circle: (4 - 1)! = 6 circles, which differ in what follows what.
    assert len({tuple(order) for order in orders.places[1].tolist()}) == 6
    again = ChoiceOrders.of(ids[::-1], rows, "random", seed=3)
    assert (again.places[:, ::-1] == orders.places).all()
    assert orders.names(["a"]) == ["a/order 0", "a/random order 1", "a/random order 2", "a/random order 3"]
    picked = orders.original(np.full((4, 40), 2))
    turned = orders.turned(rows)
    assert ["wxyz"[choice] for choice in picked.flat] == [row[2] for row in turned]
    # Up to three choices in a circle have one order, and its mirror image.
    assert ChoiceOrders.of(ids, [list("xyz")] * 40, "random").kind == "cyclic"


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
    cyclic = measure_option_order(items, score, orders="cyclic")
    assert orders_in_words(cyclic.orders, cyclic.n_orders) == "all 3 cyclic orders"
    # x, y, z - y, z, x - z, x, y: x never follows y at once.
    assert cyclic.consistency == 1.0
    every = measure_option_order(items, score)
    assert orders_in_words(every.orders, every.n_orders) == "all 6 orders"
    # In y, x, z the last position holds z.
    assert every.consistency == 0.0
    six = {"id": ["a", "b"], "prompt": ["p"] * 2, "choices": [list("uvwxyz")] * 2, "label": [0, 0]}
    with pytest.raises(ValueError, match="Expected at most 5 choices with orders='all', but got 6"):
        measure_option_order(six, score, orders="all")
