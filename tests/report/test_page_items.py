"""Items and changed texts on the page of a report: which are taken, and how the script reads them."""

import dataclasses
import json
from types import SimpleNamespace

import datasets
import numpy as np
import pyarrow as pa
import pytest

from rightreasons.core.ordering import LazyArrowColumn
from rightreasons.page.parts import (
    Change,
    ExampleList,
    Finding,
    ItemFigure,
    Part,
    SectionResult,
    Verdict,
)
from rightreasons.report.items.changes import list_edits, select_changes
from rightreasons.report.items.columns import select_columns
from rightreasons.report.items.listing import (
    MAX_CHARACTERS,
    collect_items,
    count_fitting,
    describe_difference,
)
from rightreasons.report.items.script_data import to_script_data


def make_split(texts, labels, name="test", *, pairs=None, mislabeled=()):
    """Make a split of an audit; labels of -1 are missing."""
    labels = np.array(labels)
    ids = [f"{name}-{row}" for row in range(len(texts))]
    return SimpleNamespace(
        name=name,
        labels=labels,
        labeled=labels >= 0,
        mislabeled=np.isin(np.arange(len(texts)), mislabeled),
        ids=LazyArrowColumn(pa.array(ids)),
        texts=texts,
        text_column="text",
        choices=None,
        data=datasets.Dataset.from_dict({"text": texts}),
        pair_ids=pairs,
    )


class Split(SimpleNamespace):
    """A split with a length."""

    def __len__(self):
        return len(self.labels)


def make_context(splits, predicted, confidences, **attributes):
    """Make the context of an audit with the same predictions on each split."""
    scores = SimpleNamespace(
        predicted=np.array(predicted), confidence=np.array(confidences, dtype=float)
    )
    return SimpleNamespace(
        task="classification",
        splits=splits,
        primary=splits[0],
        answers_once=False,
        label_name=["bad", "good", "odd"].__getitem__,
        has_scores=lambda split: True,
        scores=lambda split: scores,
        **attributes,
    )


@pytest.mark.parametrize(
    ("n_wrong", "n_correct", "expected"),
    # Of 6 places, a third is for correct predictions, and what either kind leaves is the other's.
    [
        (9, 9, (4, 2)),
        (5, 9, (4, 2)),
        (3, 9, (3, 3)),
        (9, 1, (5, 1)),
        (9, 0, (6, 0)),
        (0, 9, (0, 6)),
        (2, 2, (2, 2)),
    ],
)
def test_correct_predictions_have_places_among_those_of_the_page(
    monkeypatch, n_wrong, n_correct, expected
):
    monkeypatch.setattr(
        "rightreasons.report.items.listing.count_fitting",
        lambda texts, ids, rows, max_bytes, n_values: min(6, len(rows)),
    )
    n_items = n_wrong + n_correct
    # All labels are 0, so that a prediction of 1 is an error.
    predicted = (np.arange(n_items) < n_wrong).astype(int)
    split = make_split(
        [str(row) for row in range(n_items)], [0] * n_items, mislabeled=[n_wrong - 1]
    )
    context = make_context([split], predicted, (np.arange(n_items) + 1) / (n_items + 1))
    items = collect_items(context)
    found = items.splits[0]
    assert (found.n_wrong, found.n_items) == (n_wrong, n_items)
    assert found.is_correct.tolist() == [False] * expected[0] + [True] * expected[1]
    errors = [
        item.confidence
        for item in found.first_items
        if not item.is_correct and not item.contradicts
    ]
    assert errors == sorted(errors, reverse=True)
    correct = [item.confidence for item in found.first_items if item.is_correct]
    assert correct == sorted(correct)
    # The error whose label contradicts the text is the last of the errors.
    places = [place for place, item in enumerate(found.first_items) if item.contradicts]
    assert places == [n_wrong - 1][: 0 < n_wrong <= expected[0]]


def test_all_items_of_all_splits_are_taken_if_they_fit():
    one = make_split(["a"] * 5, [0, 1, -1, 0, 0])
    other = make_split(["b"] * 5, [1, 1, 1, 0, 0], "other")
    context = make_context([one, other], [0] * 5, [0.5, 0.9, 0.8, 0.7, 1.0 + 1e-9])
    items = collect_items(context)
    # Unlabeled items are neither correct nor wrong. Errors: 1 of 4, and 3 of 5.
    assert [(split.name, split.n_wrong, split.n_items) for split in items.splits] == [
        ("test", 1, 4),
        ("other", 3, 5),
    ]
    assert all(split.is_complete for split in items.splits)
    assert items.worst.name == "other"
    assert items.worst.confidences.max() == 1.0
    assert "other-4" in items.ids
    assert "test-2" not in items.ids


def test_the_facts_of_a_split_say_what_the_page_leaves_out():
    split = collect_items(
        make_context([make_split(["a"] * 3, [0, 1, 0])], [0] * 3, [0.5] * 3)
    ).worst
    assert split.facts == "1 of 3 predictions on “test” is incorrect."
    partial = dataclasses.replace(split, n_items=2000, n_wrong=1500, description="It is new.")
    assert partial.facts.startswith(
        "1,500 of 2,000 predictions on “test” are incorrect. It is new. The page has 3 of"
    )


def test_nothing_is_taken_without_labels_or_answers():
    unlabeled = make_context([make_split(["a"], [-1])], [0], [0.5])
    assert collect_items(unlabeled) is None
    answers = make_context([make_split(["a"], [0])], [0], [0.5])
    answers.task = "confidence"
    assert collect_items(answers) is None


@pytest.mark.parametrize(
    ("text", "max_bytes", "expected"),
    [
        # An item takes 40 bytes, its text and its id: 40 + 2 + 8 = 50, and 100 bytes hold two.
        ("é", 100, 2),
        ("é", 1_000_000, 1000),
        # A text is cut to 500 characters: 40 + 500 + 8 = 548.
        ("x" * 9999, 5480, 10),
    ],
)
def test_as_many_items_are_taken_as_fit(text, max_bytes, expected):
    texts = pa.array([text] * 1000)
    ids = pa.array(["12345678"] * 1000)
    assert count_fitting([texts], ids, np.arange(1000), max_bytes) == expected


def test_texts_are_shown_without_surplus_spaces_and_cut():
    long = "word " * 150
    context = make_context([make_split(["  a\n\tb\u3000c ", long], [0, 0])], [1, 1], [0.9, 0.8])
    one, other = collect_items(context).splits[0].texts
    assert one == "a b c"
    # 150 words with a space after each but the last are 749 characters.
    assert other.endswith("word … (249 more characters)")


def make_figure(key, values, **options):
    ids = [f"test-{row}" for row in range(len(values))]
    return ItemFigure.from_arrays(key, f"Flipped by {key}", "lower", ids, values, **options)


def make_result(figures, named="", shown=""):
    """Make an answer with figures by item, of which the finding and a list of examples name one."""
    finding = Finding("claim", "evidence", item_figure=named)
    verdict = Verdict("bad", "Bad", "It is bad.")
    part = Part("part", examples=(ExampleList("list", "Title", "Note", (), item_figure=shown),))
    return SectionResult(verdict, (), (part,), finding=finding, by_item=tuple(figures))


def test_the_figure_that_the_worst_finding_names_is_the_first_column():
    shares = make_figure("shares", [0.5, 1.0])
    aside = make_figure("aside", [1, 0], is_finding=False)
    flips = make_figure("swaps", [1, 0, -1])
    suite = make_figure("suite", [1, 0], groups=("x", "y"))
    # A named figure is offered even if reports are not compared by it.
    worst = make_result([shares, flips, suite], named="swaps")
    listed = make_figure("listed", [1, 1], is_finding=False)
    unnamed = make_figure("unnamed", [1, 1], is_finding=False)
    other = make_result([unnamed, listed, aside], named="aside", shown="listed")

    columns = select_columns([worst, other])

    assert [column.key for column in columns] == ["swaps", "aside", "listed", "shares"]
    assert [column.unit for column in columns] == ["flag", "flag", "flag", "fraction"]


def test_items_have_a_value_for_each_column():
    columns = select_columns(
        [make_result([make_figure("swaps", [1, 0, -1]), make_figure("shares", [0.5, 1.0])])]
    )
    context = make_context([make_split(list("abcd"), [0, 0, 0, 0])], [0] * 4, [0.5] * 4)

    items = collect_items(context, columns)

    values = dict(zip(items.splits[0].ids, items.splits[0].values, strict=True))
    assert values == {
        "test-0": (1, 0.5),
        "test-1": (0, 1.0),
        "test-2": (-1, None),
        "test-3": (None, None),
    }
    # A change that only the control made is none, and the last item was not tested.
    assert (items.count_affected(0), items.count_affected(1)) == (1, 2)
    assert items.find_column("shares") == 1
    assert items.find_column("") is None
    assert items.splits[0].is_tested
    static = {item.id: columns[0].write_value(item.value) for item in items.splits[0].first_items}
    assert static == {"test-0": "yes", "test-1": "no", "test-2": "no", "test-3": "not tested"}


def test_the_worst_of_several_cases_counts_and_a_low_value_may_be_the_worse():
    ids = ["a", "a", "b"]
    drop = ItemFigure.from_arrays("drop", "Drop", "lower", ids, [-0.25, 0.5, 0.125])
    right = ItemFigure.from_arrays("right", "Correct on Hard items", "higher", ids, [1, 0, 1])

    drops, flags = select_columns([make_result([drop, right])])

    assert dict(drops.value_by_id) == {"a": 0.5, "b": 0.125}
    assert drops.write_value(-0.25) == "−25.0%"
    assert dict(flags.value_by_id) == {"a": 0, "b": 1}
    assert [flags.is_affected(value) for value in (0, 1, None)] == [True, False, False]
    assert flags.option == "Correct on Hard items: no"


def test_choices_are_listed_by_the_numbers_that_name_the_label():
    split = make_split(["what flies?"], [1])
    split.choices = [["a stone", "a  bird"]]

    items = collect_items(make_context([split], [0], [0.9]))

    assert items.splits[0].text_pairs == ["1. a stone | 2. a bird"]


def test_a_split_is_described_by_its_difference_from_the_first_one():
    one = Split(
        **vars(make_split(["a red hat", "a red cap", "a bag"], [0, 1, 0], pairs=list("xyz")))
    )
    other = Split(
        **vars(
            make_split(["a blue cap", "a blue hat", "a bag"], [1, 1, 0], "new", pairs=list("yxz"))
        )
    )
    assert describe_difference(one, other) == (
        "This split contains the items of “test” with 2 changed texts and 1 changed label. "
        "The most frequent change replaces “red” with “blue”."
    )
    # Items without a partner make it another set of texts.
    lone = Split(**vars(make_split(["a", "b", "c"], [1, 1, 0], "new", pairs=list("xyw"))))
    assert describe_difference(one, lone) == ""
    unpaired = Split(**vars(make_split(["a", "b", "c"], [1, 1, 0], "new")))
    assert describe_difference(one, unpaired) == ""


def test_the_script_reads_what_the_page_has():
    text = "</script><!-- \u2028 &amp;"
    context = make_context([make_split([text, "b"], [0, 1])], [2, 1], [0.51239, 1.0])
    written = str(to_script_data(collect_items(context), {text: [Change("n", "c", "good", None)]}))
    assert "<" not in written
    data = json.loads(written)
    names = data["names"]
    rows = data["splits"][0]["rows"]
    assert [rows[0][0], names[rows[0][2]], names[rows[0][3]], rows[0][4:]] == [
        "test-0", "bad", "odd", [0.51239, 0, []],
    ]  # fmt: skip
    assert rows[1][4:] == [1.0, 1, []]
    # The spaces of a text are those of a page.
    assert rows[0][1] == " ".join(text.split())
    assert data["changes"][text][0][:3] == ["n", "good", None]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a dull film", "a fine film"),
        ("a film", "a very fine film"),
        ("dull, dull film", "film"),
        ("the hat and the cap", "the cap and the hat"),
        ("愛している", "愛していた"),
        ("same", "same"),
        ("", "new"),
        ("a  b", "a b c"),
    ],
)
def test_edits_turn_a_text_into_the_other(before, after):
    text = before
    for start, end, replacement in reversed(list_edits(before, after)):
        text = text[:start] + replacement + text[end:]
    assert text == after


def test_each_text_gets_a_change_before_one_gets_a_second():
    changes = []
    for number in range(20):
        changes.append(("one text", Change("n" * 10, f"one {number}", "bad")))
    changes.append(("other  text", Change("n" * 10, "other", "bad")))
    selected = select_changes(changes)
    assert [len(known) for known in selected.values()] == [12, 1]
    # A change takes 2 * 10 + 30 bytes, and the first of a text the text: 58 + 60 + 50 = 168.
    selected = select_changes(changes, max_bytes=170)
    assert {text: len(known) for text, known in selected.items()} == {
        "one text": 2,
        "other text": 1,
    }


def test_the_second_texts_of_pairs_are_on_the_page():
    split = make_split(["a man plays", "a dog runs"], [0, 1])
    split.data = split.data.add_column("text_pair", ["nobody  plays", "x" * (MAX_CHARACTERS + 1)])
    context = make_context([split], [0, 1], [0.9, 0.8])

    items = collect_items(context)

    (listed,) = items.splits
    pairs = dict(zip(listed.ids, listed.text_pairs, strict=True))
    assert pairs["test-0"] == "nobody plays"
    assert "1 more character" in pairs["test-1"]
    by_id = {item.id: item for item in listed.first_items}
    assert by_id["test-0"].text_pair == "nobody plays"
    data = json.loads(str(to_script_data(items, {})))
    assert data["splits"][0]["rows"][listed.ids.index("test-0")][-1] == "nobody plays"


def test_a_confidence_is_rounded_once():
    # 0.919496 is 91.9%; with four decimals, it would be 0.9195, and then 92.0%.
    context = make_context([make_split(["a"], [0])], [0], [0.919496])

    data = json.loads(to_script_data(collect_items(context), {}))

    (row,) = data["splits"][0]["rows"]
    assert f"{100 * row[4]:.1f}" == "91.9"
