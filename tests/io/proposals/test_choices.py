"""Questions and choices that are chosen by their cells, at the limits of each rule."""

from __future__ import annotations

import pytest

from rightreasons.io.contents import describe_contents
from rightreasons.io.proposals.choices import (
    find_choice_lists,
    find_pointing_column,
    propose_choices,
    propose_right_choice,
)

COLORS = ("red", "green", "blue", "white")


def make_columns(n_rows=12, n_choices=3, **changes):
    """Return a question, lists of distinct choices, and the position of the correct one."""
    columns = {
        "question": [f"What is the answer to riddle {row}?" for row in range(n_rows)],
        "options": [[f"{COLORS[k]} {row}" for k in range(n_choices)] for row in range(n_rows)],
        "right": [row % n_choices for row in range(n_rows)],
    }
    return columns | changes


def propose(columns):
    """Return the question, the choices and the label of a proposal, or None."""
    proposal = propose_choices(describe_contents(columns))
    if proposal is None:
        return None
    return proposal.prompt, proposal.choices, proposal.label


EXPECTED = (("question",), ("options",), "right")


@pytest.mark.parametrize(("n_rows", "is_found"), [(10, True), (9, False)])
def test_ten_rows_of_lists_are_choices(n_rows, is_found):
    columns = make_columns(n_rows, 2)

    assert propose(columns) == (EXPECTED if is_found else None)


@pytest.mark.parametrize(("n_choices", "is_found"), [(26, True), (27, False)])
def test_choices_are_at_most_as_many_as_letters(n_choices, is_found):
    options = [[f"word {row} {k}" for k in range(n_choices)] for row in range(54)]
    right = [row % n_choices for row in range(54)]

    proposal = propose(make_columns(54, options=options, right=right))

    assert proposal == (EXPECTED if is_found else None)


@pytest.mark.parametrize(("n_repeats", "is_found"), [(1, True), (2, False)])
def test_five_percent_of_the_items_may_repeat_a_choice(n_repeats, is_found):
    columns = make_columns(20, 2)
    for row in range(n_repeats):
        columns["options"][row] = [f"same {row}", f"same {row}"]

    assert propose(columns) == (EXPECTED if is_found else None)


@pytest.mark.parametrize(("n_distinct", "is_found"), [(7, True), (6, False)])
def test_more_than_half_of_the_lists_are_distinct(n_distinct, is_found):
    columns = make_columns()
    lists = columns["options"][:n_distinct]
    # The same choices in another order are the same list.
    columns["options"] = [*lists, *[lists[0][::-1]] * (12 - n_distinct)]

    assert propose(columns) == (EXPECTED if is_found else None)


@pytest.mark.parametrize(
    ("right", "is_found"),
    [
        ([1, 2, 3] * 4, True),
        ([*"ABC"] * 4, True),
        ([2, 3, 4] * 4, False),
        ([0, 1, 3] * 4, False),
        ([-1, 0, 1] * 4, False),
        # A flag does not identify one of three choices.
        ([0, 1] * 6, False),
        ([*"ACD"] * 4, False),
        (["A", "B", "AB"] * 4, False),
        ([0] * 12, False),
        ([f"{COLORS[row % 3]} {row}" for row in range(12)], True),
        ([f"{COLORS[row % 3]} {max(row, 1)}" for row in range(12)], False),
    ],
)
def test_each_value_of_the_label_identifies_a_choice(right, is_found):
    assert propose(make_columns(right=right)) == (EXPECTED if is_found else None)


def test_of_two_columns_that_identify_choices_neither_is_chosen():
    columns = make_columns(other=[(row + 1) % 3 for row in range(12)])
    contents = describe_contents(columns)
    lists = find_choice_lists(contents, "options")

    assert propose(columns) is None
    assert find_pointing_column(contents, lists) == ""
    assert find_pointing_column(contents, lists, excluded=["other"]) == "right"
    assert propose_right_choice(contents, ["options"]) == ""
    assert propose_right_choice(describe_contents(make_columns()), ["options"]) == "right"
    assert propose_right_choice(contents, ["missing"]) == ""


def test_the_right_choice_of_several_columns_is_found():
    columns = make_columns()
    for k in range(3):
        columns[f"o{k}"] = [row[k] for row in columns["options"]]
    # The last column is empty for an item of two choices.
    columns["o2"][0] = ""
    del columns["options"]

    names = ["o0", "o1", "o2"]
    assert propose_right_choice(describe_contents(columns), names) == "right"
    columns["right"][0] = 2
    assert propose_right_choice(describe_contents(columns), names) == ""


@pytest.mark.parametrize(
    ("n_correct", "is_question"),
    # By chance, a third of the mentions is correct; the limit is halfway to all, 2/3 of 18.
    [(12, True), (13, False)],
)
def test_an_explanation_mentions_mostly_the_correct_choice(n_correct, is_question):
    columns = make_columns(18)
    notes = []
    for row, (options, right) in enumerate(zip(columns["options"], columns["right"], strict=True)):
        position = right if row < n_correct else (right + 1) % 3
        notes.append(f"Here it is about {options[position]}, as you see.")
    columns["note"] = notes

    prompt, _, _ = propose(columns)

    assert prompt == (("question", "note") if is_question else ("question",))


@pytest.mark.parametrize(("n_mentions", "is_question"), [(9, True), (10, False)])
def test_few_mentions_are_no_explanation(n_mentions, is_question):
    columns = make_columns(18)
    notes = []
    for row, (options, right) in enumerate(zip(columns["options"], columns["right"], strict=True)):
        mention = options[right] if row < n_mentions else "nothing"
        notes.append(f"Here it is about {mention}, as you see in {row}.")
    columns["note"] = notes

    prompt, _, _ = propose(columns)

    assert ("note" in prompt) is is_question


@pytest.mark.parametrize(("n_complete", "is_question"), [(6, True), (7, False)])
def test_a_text_with_all_choices_is_a_list(n_complete, is_question):
    columns = make_columns()
    notes = []
    for row, options in enumerate(columns["options"]):
        listing = " or ".join(options) if row < n_complete else "something"
        notes.append(f"Is it {listing} in line {row}?")
    columns["note"] = notes

    prompt, _, _ = propose(columns)

    assert ("note" in prompt) is is_question


def make_neighbors(lengths, n_rows=12, n_marks=3, **changes):
    """Return columns of texts of some lengths, and a column of marks."""
    columns = {}
    for number, length in enumerate(lengths):
        columns[f"c{number}"] = [f"w{row:02} of " + "x" * (length - 7) for row in range(n_rows)]
        columns[f"c{number}"] = [
            f"{chr(97 + number)}{text}"[:length] for text in columns[f"c{number}"]
        ]
    columns["mark"] = [row % n_marks for row in range(n_rows)]
    return columns | changes


@pytest.mark.parametrize(
    ("lengths", "choices"),
    [
        ((60, 20, 22, 21), ("c1", "c2", "c3")),
        ((20, 22, 21, 60), ("c0", "c1", "c2")),
        # Choices are at most twice as long as others.
        ((60, 20, 20, 40), ("c1", "c2", "c3")),
        ((100, 20, 20, 41), None),
        # Without a question there are no choices.
        ((20, 22, 21), None),
    ],
)
def test_neighboring_columns_of_similar_length_are_choices(lengths, choices):
    proposal = propose(make_neighbors(lengths))

    assert (proposal[1] if proposal else None) == choices


def test_a_column_of_repeated_texts_or_codes_is_no_choice():
    lengths = (60, 20, 22, 21)
    half = [f"remark {row % 6} xx xx" for row in range(12)]
    codes = [f"a{row}b-xyz-uvw-stu" for row in range(12)]

    assert propose(make_neighbors(lengths)) is not None
    assert propose(make_neighbors(lengths, c3=half)) is None
    assert propose(make_neighbors(lengths, c3=codes)) is None
    mixed = [*codes[:6], *[f"remark {row} xx xx" for row in range(6)]]
    assert propose(make_neighbors(lengths, c3=mixed)) is not None
    assert propose(make_neighbors(lengths, other=[row * 2 % 3 for row in range(12)])) is None


def test_fields_of_objects_are_no_columns_of_choices():
    columns = make_neighbors((60, 20, 22, 21))
    columns["meta.x"] = columns.pop("c3")

    assert propose(columns) is None


def test_a_sentence_reports_the_columns_and_their_options():
    sentence = propose_choices(describe_contents(make_columns())).in_words

    assert "'question'" in sentence
    assert "`choices_column`" in sentence
