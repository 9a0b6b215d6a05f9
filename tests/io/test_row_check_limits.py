"""The checks of the rows at their limits: the smallest count that is reported, and one row fewer."""

from __future__ import annotations

import datasets
import numpy as np
import pytest

from rightreasons.io.row_checks import (
    CHECKS,
    Outcomes,
    RowDoubt,
    RowRoles,
    RowTable,
    check_rows,
    describe_unused_columns,
    format_counts,
    format_exclusion,
    shorten,
)

ROLES = RowRoles(("text",), label="label", id="id")


def make_table(n_rows=40, *, roles=ROLES, outcomes=None, train=None, **columns):
    """Return a table of distinct texts, ids, and labels that do not follow the order of the rows."""
    table = {
        "id": [f"q{row}" for row in range(n_rows)],
        "text": [f"remark {row}" for row in range(n_rows)],
        "label": ["pos" if row * row % 7 < 3 else "neg" for row in range(n_rows)],
    }
    return RowTable(datasets.Dataset.from_dict(table | columns), roles, outcomes, train)


def find(check, table):
    """Return the doubt of a check, or None."""
    return CHECKS[check](table)


def test_open_doubts_come_first_and_may_be_settled():
    texts = ["same"] * 40
    table = make_table(text=texts, id=["a"] * 20 + [f"q{row}" for row in range(20)])

    doubts = check_rows(table)

    assert [doubt.is_open for doubt in doubts] == sorted(
        [doubt.is_open for doubt in doubts], reverse=True
    )
    assert doubts[0].check == "constant_text"
    assert not any(doubt.is_open for doubt in check_rows(table, ["all"]))
    assert not any(doubt.is_open for doubt in check_rows(table, ["constant_text"]))


@pytest.mark.parametrize(("n_rows", "is_found"), [(8, True), (7, False)])
def test_eight_rows_are_needed_for_most_checks(n_rows, is_found):
    table = make_table(n_rows, text=["same"] * n_rows)

    assert ("constant_text" in [doubt.check for doubt in check_rows(table)]) is is_found


def test_repeated_ids_are_found_in_a_table_of_any_size():
    (doubt,) = check_rows(make_table(3, id=["b", "a", "a"]))

    assert (doubt.count, doubt.is_open) == (1, False)
    assert doubt.examples[0] == "id 'a'"


def test_the_most_frequent_ids_are_shown():
    ids = ["a", *["b"] * 2, *["c"] * 4, *["d"] * 3, *["e"] * 5]

    doubt = find("repeated_ids", make_table(15, id=ids))

    assert doubt.count == 10
    assert doubt.examples == ("id 'e'", "id 'c'", "id 'd'")


@pytest.mark.parametrize(
    ("n_items", "is_found"),
    # 30 rows of 20 items are 1.5 per item; 30 of 21 are fewer.
    [(15, True), (20, True), (21, False)],
)
def test_rows_of_systems_are_at_least_three_halves_of_the_items(n_items, is_found):
    ids = [f"q{row % n_items}" for row in range(30)]
    systems = ["x" if row < n_items else "y" for row in range(30)]

    doubt = find("long_format", make_table(30, id=ids, system=systems))

    assert bool(doubt) is is_found
    if doubt:
        assert "--by system" in doubt.remedy
        assert "system == 'x'" in doubt.remedy


def test_a_column_that_does_not_distinguish_rows_names_no_systems():
    # Rows 0 and 2 have the same item and the same value, and items repeat unequally.
    ids = [f"q{row // 2}" for row in range(30)]
    assert find("long_format", make_table(30, id=ids, x=["a", "b", *["a", "a"] * 14])) is None
    # Items that repeat equally often for each value.
    crossed = find(
        "long_format",
        make_table(32, id=[f"q{row % 4}" for row in range(32)], x=["a"] * 16 + ["b"] * 16),
    )
    assert "each with all" in crossed.sentence


@pytest.mark.parametrize(
    ("n_choices", "marks", "is_found"),
    [
        (3, [1, 0, 0], True),
        # The rarer value may also be 0.
        (3, [0, 1, 1], True),
        (3, [1, 1, 1], False),
        (4, [1, 1, 0, 0], False),
        (2, [1, 0], False),
    ],
)
def test_rows_are_choices_if_one_of_each_item_is_marked(n_choices, marks, is_found):
    n_items = 10
    ids = [f"q{row // n_choices}" for row in range(n_items * n_choices)]
    table = make_table(n_items * n_choices, id=ids, label=marks * n_items)

    assert bool(find("choice_rows", table)) is is_found


@pytest.mark.parametrize(
    ("n_rows", "n_copies", "is_found"),
    [(100, 1, True), (100, 0, False), (201, 2, False), (201, 3, True)],
)
def test_a_percent_of_copies_is_reported(n_rows, n_copies, is_found):
    texts = [f"remark {row}" for row in range(n_rows - n_copies)]
    data = datasets.Dataset.from_dict({"text": texts + texts[:n_copies]})

    doubt = find("repeated_rows", RowTable(data, RowRoles(("text",))))

    assert bool(doubt) is is_found
    if doubt:
        assert doubt.count == n_copies
        assert doubt.examples[0] == f"row {n_rows - n_copies} (remark 0)"


def test_copies_that_were_searched_for_are_not_searched_for_again():
    texts = ["same", "same", *[f"remark {row}" for row in range(10)]]
    data = datasets.Dataset.from_dict({"text": texts})

    assert find("repeated_rows", RowTable(data, RowRoles(("text",), has_known_copies=True))) is None


@pytest.mark.parametrize(("n_texts", "is_found"), [(20, True), (21, False)])
def test_texts_repeat_if_they_occur_twice_on_average(n_texts, is_found):
    texts = [f"remark {row % n_texts}" for row in range(40)]

    doubt = find("repeated_texts", make_table(text=texts))

    assert bool(doubt) is is_found
    if doubt:
        assert doubt.count == 40 - n_texts
        assert not doubt.is_open


def test_texts_of_one_unit_may_repeat():
    texts = [f"remark {row // 2}" for row in range(40)]

    assert find("repeated_texts", make_table(text=texts))
    assert (
        find("repeated_texts", make_table(text=texts, source_id=[text[7:] for text in texts]))
        is None
    )


@pytest.mark.parametrize(
    ("n_rows", "n_near", "is_found"),
    [(40, 3, True), (40, 2, False), (301, 3, False), (301, 4, True)],
)
def test_near_duplicates_are_three_and_a_percent(n_rows, n_near, is_found):
    texts = [f"remark {row}" for row in range(n_rows)]
    texts[n_rows - n_near :] = [f"Remark, {row}!" for row in range(n_near)]

    doubt = find("near_duplicates", make_table(n_rows, text=texts))

    assert bool(doubt) is is_found
    if doubt:
        assert doubt.count == n_near
        assert doubt.examples[0] == f"row {n_rows - n_near} (Remark, 0!)"


@pytest.mark.parametrize(
    ("n_labels", "n_texts", "is_found"),
    [
        (2, 1, True),
        (2, 2, False),
        (3, 2, True),
        (3, 3, False),
        # The labels of a regression: a tenth of 40 rows is 4.
        (40, 3, True),
        (40, 4, False),
    ],
)
def test_there_are_at_least_as_many_texts_as_labels(n_labels, n_texts, is_found):
    texts = [f"remark {row % n_texts}" for row in range(40)]
    labels = [str(row * 7 % n_labels) for row in range(40)]

    assert bool(find("constant_text", make_table(text=texts, label=labels))) is is_found


@pytest.mark.parametrize(
    ("n_rows", "n_conflicts", "is_found", "is_open"),
    # Each conflict is a pair of rows. Three rows and a percent are reported, five percent are open.
    [(40, 1, False, False), (80, 2, True, True), (100, 2, True, False), (80, 0, False, False)],
)
def test_texts_with_two_labels_are_reported(n_rows, n_conflicts, is_found, is_open):
    texts = [f"remark {row}" for row in range(n_rows)]
    labels = ["a" if row * row % 7 < 3 else "b" for row in range(n_rows)]
    for row in range(n_conflicts):
        texts[n_rows - 1 - row] = texts[row]
        labels[n_rows - 1 - row] = "b" if labels[row] == "a" else "a"

    doubt = find("conflicting_labels", make_table(n_rows, text=texts, label=labels))

    assert bool(doubt) is is_found
    if doubt:
        assert (doubt.count, doubt.is_open) == (2 * n_conflicts, is_open)


@pytest.mark.parametrize(
    ("n_copies", "is_found", "is_open"), [(2, False, False), (3, True, False), (4, True, True)]
)
def test_choices_that_repeat_the_correct_one_are_reported(n_copies, is_found, is_open):
    # Five percent of 80 items are 4. A repeated incorrect choice does not matter.
    choices = [["yes", "no", "no"]] * 80
    labels = [1 if row < n_copies else 0 for row in range(79)] + [-1]
    roles = RowRoles(("prompt", "choices"), label="label", has_positions=True)
    data = datasets.Dataset.from_dict(
        {"prompt": [f"why {row}" for row in range(80)], "choices": choices, "label": labels}
    )

    doubt = find("answer_copies", RowTable(data, roles))

    assert bool(doubt) is is_found
    if doubt:
        assert (doubt.count, doubt.is_open) == (n_copies, is_open)


@pytest.mark.parametrize(
    ("n_known", "is_found", "is_open"), [(2, False, False), (3, True, False), (4, True, True)]
)
def test_training_texts_among_the_test_texts_are_reported(n_known, is_found, is_open):
    texts = [f"Remark: {row}" for row in range(n_known)]
    train = datasets.Dataset.from_dict({"text": texts})

    doubt = find("train_leak", make_table(80, train=train))

    assert bool(doubt) is is_found
    if doubt:
        assert (doubt.count, doubt.is_open) == (n_known, is_open)
    other_column = datasets.Dataset.from_dict({"body": texts})
    assert find("train_leak", make_table(80, train=other_column)) is None


def test_rows_with_several_labels_are_counted():
    labels = [["a"], ["a", "b"], [], None] * 10

    doubt = find("several_labels", make_table(label=labels))

    assert doubt.count == 10
    assert doubt.examples[0] == "row 1 (remark 1)"
    assert find("several_labels", make_table(label=[["a"]] * 40)) is None


@pytest.mark.parametrize(
    ("n_correct", "n_answers", "word"),
    [(0, 20, "None"), (20, 20, "All"), (0, 19, ""), (19, 19, ""), (1, 20, ""), (19, 20, "")],
)
def test_twenty_answers_that_are_all_correct_or_incorrect_are_a_selection(
    n_correct, n_answers, word
):
    is_correct = np.arange(n_answers) < n_correct

    def check(is_stored):
        outcomes = Outcomes(is_correct, is_stored=is_stored)
        return find("selected_outcomes", make_table(n_answers, outcomes=outcomes))

    assert bool(check(is_stored=True)) is bool(word)
    if word:
        assert check(is_stored=True).sentence.startswith(word)
    assert check(is_stored=False) is None


@pytest.mark.parametrize(
    ("gold", "n_classes", "is_found"),
    [
        ([1] * 20, 2, True),
        ([1] * 19, 2, False),
        ([1] * 20, 1, False),
        ([1] * 20, 0, False),
        ([1] * 19 + [0], 2, False),
    ],
)
def test_twenty_labels_of_one_class_are_a_doubt(gold, n_classes, is_found):
    outcomes = Outcomes(np.arange(len(gold)) % 2 == 0, gold=np.array(gold), n_classes=n_classes)

    assert bool(find("single_class", make_table(len(gold), outcomes=outcomes))) is is_found


@pytest.mark.parametrize(
    ("is_correct", "gold", "is_found"),
    [
        ([True, False] * 20, None, True),
        # A list of errors fits any other order.
        ([False] * 40, None, False),
        ([False] * 40, np.arange(40) % 2, True),
    ],
)
def test_another_order_of_classes_is_reported(is_correct, gold, is_found):
    outcomes = Outcomes(np.array(is_correct), gold=gold, order_doubt="Another order fits.")

    doubt = find("class_order", make_table(outcomes=outcomes))

    assert bool(doubt) is is_found
    if doubt:
        assert doubt.count == np.count_nonzero(~np.array(is_correct))


def test_a_status_of_rejected_rows_needs_other_rows():
    rejected = make_table(answer=["accept", "reject", "ignore", "ignore"] * 10)

    doubt = find("rejected_rows", rejected)

    assert doubt.count == 30
    assert find("rejected_rows", make_table(answer=["reject"] * 40)) is None


def test_unused_columns_beyond_eight_are_named():
    def describe(n_columns):
        columns = {f"c{number}": ["u", "v"] * 20 for number in range(n_columns)}
        return describe_unused_columns(make_table(**columns, constant=["x"] * 40))

    assert describe(0) == ""
    assert describe(1) == "Not used: c0 (u 20, v 20)."
    assert "more column" not in describe(8)
    assert describe(9).endswith("and 1 more column: c8.")
    assert describe(10).endswith("and 2 more columns: c8, c9.")


@pytest.mark.parametrize(
    ("values", "rejected", "remaining", "condition"),
    [
        (["a", "b"], ["a"], ["b"], "x == 'b'"),
        (["a", "b", "c"], ["a"], ["b", "c"], "x != 'a'"),
        (["a", "b", "c", "d"], ["a", "b"], ["c", "d"], "x not in ['a', 'b']"),
        ([1, 2, 3], ["1"], ["2", "3"], "x != 1"),
    ],
)
def test_the_shortest_condition_leaves_values_out(values, rejected, remaining, condition):
    data = datasets.Dataset.from_dict({"x": values})

    assert format_exclusion(data, "x", rejected, remaining) == condition


def test_texts_are_shortened_beyond_a_length():
    assert shorten("ab  cd\n", 5) == "ab cd"
    assert shorten("ab  cde", 5) == "ab cd…"
    assert shorten("x" * 60) == "x" * 60
    assert format_counts({"": 1200, "x" * 31: 1}) == f"(empty) 1,200, {'x' * 30}… 1"


def test_a_doubt_is_a_sentence_with_examples_and_a_remedy():
    doubt = RowDoubt("x", "It is so.", 2, ("row 1", "row 2"), "Do this.")

    assert doubt.in_words == "It is so. Such as: row 1; row 2. Do this."
    assert RowDoubt("x", "It is so.", 2).in_words == "It is so."


def test_rows_are_shown_by_their_text_or_id_up_to_three():
    table = make_table()

    assert table.show_rows([3, 1]) == ("row 3 (remark 3)", "row 1 (remark 1)")
    assert len(table.show_rows(range(4))) == 3
    assert make_table(roles=RowRoles(id="id")).show_rows([2]) == ("row 2 (q2)",)
    assert make_table(roles=RowRoles()).show_rows([2]) == ("row 2",)
