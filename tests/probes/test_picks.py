"""Picks without confidences, of scorers whose picks are known."""

import datasets
import numpy as np
import pytest

from rightreasons.core.arrays import Ragged
from rightreasons.core.resampling import Resampling
from rightreasons.core.scores import Scores
from rightreasons.probes.measure import (
    ask_for_orders,
    ask_for_picks,
    measure_picks,
    probe_tables,
)

ROWS = [
    {"id": "a", "prompt": "Why cook?", "choices": ["to eat warm soup", "to fly"], "label": 0},
    {"id": "b", "prompt": "Why sow?", "choices": ["to harvest", "to eat soup"], "label": 0},
    {"id": "c", "prompt": "Why row?", "choices": ["to cross a river", "to drown", "to eat"], "label": 2},
    {"id": "d", "prompt": "Why hum?", "choices": ["to be merry", "to sleep a while"], "label": 0},
]
ITEMS = datasets.Dataset.from_list(ROWS)


def answering(prompts, choices, ids):
    """Pick the longest choice; to "Why hum?" nothing is answered."""
    heard = [place for place, prompt in enumerate(prompts) if prompt != "Why hum?"]
    rows = [np.array([0.0 if len(text) < max(map(len, choices[n])) else 5.0 for text in choices[n]]) for n in heard]
    logits = Ragged.of(np.concatenate(rows), [len(row) for row in rows]).table()
    failures = {ids[n]: "no answer" for n in range(len(ids)) if n not in heard}
    return Scores(tuple(ids[n] for n in heard), logits, failures=failures)


def test_picks_need_no_confidence():
    tables = probe_tables(ITEMS, ks=(1,))
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


def test_orders_of_picks():
    two = datasets.Dataset.from_list([ROWS[0], ROWS[1], ROWS[3]])
    tables = probe_tables(two, ks=(1,))
    orders = ask_for_orders(tables, answering)
    assert orders.picked.tolist() == [[0, 0], [1, 1], [-1, -1]]
    found = measure_picks(tables, ask_for_picks(tables, answering), orders=orders)
    assert (found.n_orders, found.n_ordered, found.consistency.value) == (2, 2, 1.0)
    assert ask_for_orders(probe_tables(ITEMS, ks=(1,)), answering) is None
