"""Items on the page of a report: which of many are shown, and how."""

from __future__ import annotations

import types

import numpy as np
import pyarrow as pa
import pytest

from rightreasons.report.items.listing import (
    MAX_CHARACTERS,
    MAX_STATIC_ITEMS,
    PageItems,
    SplitItems,
    _describe_edit,
    _list_choices,
    _order_items,
    _shorten_texts,
    count_fitting,
    describe_difference,
    select_smallest,
    shorten,
)


def make_items(n_wrong, n_items=4, **changes):
    """Return a split of four items on the page, the first of which are answered incorrectly."""
    fields = {
        "name": "test",
        "n_items": n_items,
        "n_wrong": n_wrong,
        "ids": [*"abcd"],
        "texts": ["w", "x", "", "z"],
        "labels": np.array([0, 0, 1, 1]),
        "predictions": np.array([0 if row >= 2 else 1 for row in range(4)][::-1]),
        "confidences": np.array([0.5, 0.6, 0.7, 0.8]),
        "contradicts": np.array([False, True, False, False]),
        "values": [(0.25,), (None,), (0.5,), ()],
        "label_names": {0: "no", 1: "yes"},
    }
    return SplitItems(**(fields | changes))


@pytest.mark.parametrize(
    ("n_wrong", "n_items", "beginning"),
    [
        (1, 4, "1 of 4 predictions on “test” is incorrect."),
        (2, 4, "2 of 4 predictions on “test” are"),
    ],
)
def test_facts_count_the_errors(n_wrong, n_items, beginning):
    facts = make_items(n_wrong, n_items).facts

    assert facts.startswith(beginning)
    assert "The page has" not in facts


def test_facts_say_how_many_items_the_page_has():
    facts = make_items(1200, 5000, description="It is another.").facts

    assert facts.startswith("1,200 of 5,000 predictions on “test” are incorrect. It is another.")
    assert "has 4 of the items" in facts


def test_first_items_have_names_and_values():
    first, second, *_, last = make_items(2).first_items

    assert (first.id, first.label, first.prediction, first.is_correct) == ("a", "no", "no", True)
    assert (first.confidence, first.value, first.contradicts) == (0.5, 0.25, False)
    assert (second.value, second.contradicts, second.text_pair) == (None, True, "")
    assert (last.id, last.prediction, last.is_correct, last.value) == ("d", "yes", True, None)
    bare = make_items(2, confidences=None, text_pairs=[*"efgh"]).first_items[1]
    assert (bare.confidence, bare.text_pair) == (None, "f")
    long = {"ids": [str(n) for n in range(60)], "texts": ["x"] * 60, "values": [()] * 60}
    arrays = {name: np.zeros(60, dtype=int) for name in ("labels", "predictions", "contradicts")}
    items = make_items(0, 60, confidences=None, **long, **arrays)
    assert len(items.first_items) == MAX_STATIC_ITEMS


def test_the_worst_split_has_the_largest_share_of_errors():
    page = PageItems((make_items(1), make_items(3, 4, name="hard"), make_items(3, 40, name="easy")))

    assert page.worst.name == "hard"
    assert page.has_confidence
    assert page.has_texts
    assert page.ids == {*"abcd"}
    assert page.find_column("x") is None
    assert not PageItems((make_items(1, confidences=None, texts=[""] * 4),)).has_texts


def test_an_item_is_tested_if_it_has_a_first_value():
    assert make_items(1).is_tested
    assert not make_items(1, values=[(None, 0.5), (), (None,), (None,)]).is_tested


@pytest.mark.parametrize(("max_bytes", "n_items"), [(110, 1), (219, 1), (220, 2), (1_000_000, 3)])
def test_items_that_fit_are_counted(max_bytes, n_items):
    # 40 bytes, 10 for two values, 55 for the text and 5 for the id: 110 per item.
    texts = pa.chunked_array([["x" * 55] * 3])
    ids = pa.chunked_array([["item0"] * 3])

    assert count_fitting([texts], ids, np.arange(3), max_bytes, n_values=2) == n_items


def test_items_without_texts_are_three_hundred_at_most():
    texts = pa.chunked_array([[""] * 400])

    assert count_fitting([texts], texts, np.arange(400), 10**9) == 300
    assert count_fitting([texts], texts, np.arange(200), 10**9) == 200


def test_texts_are_measured_as_the_page_has_them():
    # 500 characters and 40 bytes per item.
    texts = pa.chunked_array([["x" * 900] * 3])
    ids = pa.chunked_array([[""] * 3])

    assert count_fitting([texts], ids, np.arange(3), 1080) == 2


def test_long_texts_are_shortened_on_one_line():
    texts = pa.array(["a\n b", "x" * MAX_CHARACTERS, "y" * (MAX_CHARACTERS + 1200)])

    assert _shorten_texts(texts) == [
        "a b",
        "x" * MAX_CHARACTERS,
        "y" * MAX_CHARACTERS + " … (1,200 more characters)",
    ]
    assert shorten("abc", 3) == "abc"
    assert shorten("ab cd", 3) == "ab … (2 more characters)"
    assert _list_choices([["to eat", "to fly"]]).to_pylist() == ["1. to eat | 2. to fly"]


def order(is_correct, confidences, n_items, contradicts=None):
    """Return the indices of the selected items in their order."""
    count = len(is_correct)
    mislabeled = np.zeros(count, dtype=bool)
    if contradicts is not None:
        mislabeled = np.array(contradicts)
    split = types.SimpleNamespace(
        mislabeled=mislabeled, ids=np.array([f"i{n}" for n in range(count)])
    )
    selected = _order_items(
        split, np.arange(count), np.array(is_correct), np.array(confidences), n_items
    )
    return selected.tolist()


@pytest.mark.parametrize(
    ("n_items", "expected"),
    [
        (6, [1, 0, 2, 5, 3, 4]),
        # A third are correct predictions.
        (3, [1, 0, 5]),
        (4, [1, 0, 2, 5]),
        (1, [1]),
        (5, [1, 0, 2, 5, 3]),
    ],
)
def test_confident_errors_come_first_and_then_hesitant_correct_predictions(n_items, expected):
    is_correct = [False, False, False, True, True, True]

    assert order(is_correct, [0.8, 0.9, 0.7, 0.7, 0.8, 0.6], n_items) == expected


def test_labels_that_contradict_their_texts_come_last():
    is_correct = [False, False, True, True]
    contradicts = [True, False, True, False]

    assert order(is_correct, [0.9, 0.5, 0.5, 0.9], 4, contradicts) == [1, 0, 3, 2]
    # Few errors leave room for correct predictions, and equal confidences are sorted by id.
    assert order([True, True, False], [0.5, 0.5, 0.5], 3) == [2, 0, 1]
    assert order([False] * 3, [0.5, 0.5, 0.6], 3) == [2, 0, 1]


@pytest.mark.parametrize(
    ("n_rows", "expected"),
    [(0, []), (1, [1]), (2, [1, 2, 3]), (3, [1, 2, 3]), (4, [0, 1, 2, 3, 4])],
)
def test_rows_of_equal_keys_are_selected_together(n_rows, expected):
    keys = np.array([0.0, 1.0, 2.0, 2.0, 9.0])
    is_last = np.array([True, False, False, False, False])

    selected = select_smallest(keys, is_last, np.arange(5), n_rows)

    assert sorted(selected.tolist()) == expected


def make_split(texts, labels, pair_ids):
    class Split(types.SimpleNamespace):
        def __len__(self):
            return len(self.texts)

    return Split(name="test", texts=texts, labels=np.array(labels), pair_ids=pair_ids)


@pytest.mark.parametrize(
    ("texts", "labels", "pairs", "words"),
    [
        (["a dull film", "fine"], [0, 1], ["p", "q"], "the same texts and the same labels."),
        (["a dull film", "fine"], [1, 1], ["p", "q"], "the same texts and 1 changed label."),
        (
            ["fine", "a good film"],
            [1, 0],
            ["q", "p"],
            "1 changed text and the same labels. The most",
        ),
        (["a dull film", "fine", "x"], [0, 1, 1], ["p", "q", "q"], ""),
        (["a dull film"], [0], ["p"], ""),
        (["a dull film", "fine"], [0, 1], None, ""),
    ],
)
def test_a_split_of_the_same_items_is_described(texts, labels, pairs, words):
    primary = make_split(["a dull film", "fine"], [0, 1], ["p", "q"])

    sentence = describe_difference(primary, make_split(texts, labels, pairs))

    assert words in sentence
    assert bool(sentence) is bool(words)
    if "most" in words:
        assert sentence.endswith("The most frequent change replaces “dull” with “good”.")


def test_an_edit_adds_removes_or_replaces():
    assert _describe_edit("", "x") == "adds “x”"
    assert _describe_edit("x", "") == "removes “x”"
    assert _describe_edit("x", "y") == "replaces “x” with “y”"
