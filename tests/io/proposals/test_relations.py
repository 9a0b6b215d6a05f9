"""Columns that are identified by their relation to others, at the limits of each relation."""

from __future__ import annotations

import numpy as np
import pytest

from rightreasons.io.contents import describe_contents
from rightreasons.io.proposals.agreement import (
    find_agreeing_columns,
    find_complementary_columns,
    find_marked_classes,
    have_same_values,
    measure_agreement,
)
from rightreasons.io.proposals.relations import (
    are_renamed,
    begins_with_class,
    drop_renamed_columns,
    find_decided_label,
    find_majority,
    find_majority_column,
    list_keys,
    list_vote_counts,
)


def test_missing_cells_have_empty_keys():
    assert list_keys([None, float("nan"), "Yes", 1.0]) == ["", "", "yes", "1"]


@pytest.mark.parametrize(
    ("keys", "others", "expected"),
    [
        ("aba", "101", True),
        # "c" also occurs with 1.
        ("abc", "101", False),
        ("aba", "102", False),
        # Columns with a common value have to be equal.
        ("aba", "aba", True),
        ("aba", "bab", False),
    ],
)
def test_renamed_classes_are_one_to_one(keys, others, expected):
    assert are_renamed(list(keys), list(others)) is expected


def test_of_renamed_columns_the_one_of_words_remains():
    columns = {"n": [1, 0] * 6, "x": ["up", "down"] * 6, "y": ["hi", "lo"] * 6, "z": ["u", "u"] * 6}
    contents = describe_contents(columns)
    keys = {name: list_keys(cells) for name, cells in columns.items()}

    assert list(drop_renamed_columns(contents, keys)) == ["x", "z"]
    decided = find_decided_label(contents, ["n", "x", "y"])
    assert decided.column == "x"
    assert decided.reason == "'n', 'y' contain the same information"


@pytest.mark.parametrize(
    ("votes", "winner"), [("aab", "a"), ("ab", ""), ("aabb", ""), ("aaabb", "a"), ("a", "a")]
)
def test_a_majority_is_more_than_half(votes, winner):
    assert find_majority(list(votes)) == winner


def make_votes(n_voters, n_faults=0, n_rows=200):
    """Return a column of labels, and voters, of which one errs in turn; some labels have faults."""
    gold = [("a", "b")[row % 2] for row in range(n_rows)]
    keys = {"gold": list(gold)}
    for voter in range(n_voters):
        column = list(gold)
        for row in range(voter, n_rows, 2 * n_voters):
            column[row] = "b" if gold[row] == "a" else "a"
        keys[f"v{voter}"] = column
    for row in range(n_faults):
        keys["gold"][row] = "b" if gold[row] == "a" else "a"
    return keys


@pytest.mark.parametrize(
    ("n_voters", "n_faults", "column"),
    [
        (3, 0, "gold"),
        # Two voters and the labels are three columns, each with two others.
        (2, 0, None),
        # One percent of the rows may have faults.
        (3, 2, "gold"),
        (3, 3, None),
    ],
)
def test_labels_are_the_majority_of_three_voters(n_voters, n_faults, column):
    assert find_majority_column(make_votes(n_voters, n_faults)) == column


def test_the_label_is_the_majority_of_lists_of_votes():
    votes = [["a", "a", "b"], ["b", "b", "a"], ["a", "b"], ["b", "b"]] * 5
    gold = ["a", "b", "a", "b"] * 5
    other = ["a", "a", "b", "b"] * 5
    contents = describe_contents({"votes": votes, "gold": gold, "other": other})

    decided = find_decided_label(contents, ["gold", "other"])

    assert decided.column == "gold"
    assert "'votes'" in decided.reason


def test_the_label_is_decided_by_the_largest_count():
    # In the last row both have two votes, which decides nothing.
    n_up = [3, 1, 4, 0, 2] * 4
    n_down = [1, 3, 0, 4, 2] * 4
    gold = ["rise", "fall", "rise", "fall", "fall"] * 4
    other = ["rise", "rise", "fall", "fall", "fall"] * 4
    columns = {"n": [4] * 20, "n_up": n_up, "n_down": n_down, "gold": gold, "other": other}
    contents = describe_contents(columns)

    decided = find_decided_label(contents, ["gold", "other"])

    assert decided.column == "gold"
    assert "'n_up', 'n_down'" in decided.reason


@pytest.mark.parametrize(
    ("columns", "groups"),
    [
        ({"n": [3, 6], "a": [1, 6], "b": [2, 0]}, [("a", "b")]),
        # A sum is needed in every row.
        ({"n": [3, 7], "a": [1, 6], "b": [2, 0]}, []),
        ({"n": [3, 6], "a": [1.5, 6], "b": [1.5, 0]}, []),
        ({"n": [1, 6], "a": [-1, 6], "b": [2, 0]}, []),
        ({"n": [3, 6], "a": [1, 6], "b": [2, None]}, []),
        ({"x": ["a", "b"]}, []),
        ({"a": [1, 2], "b": [2, 3], "c": [0, 5], "n": [3, 10]}, [("a", "b", "c")]),
    ],
)
def test_counts_of_votes_add_up_to_another_column(columns, groups):
    contents = describe_contents({name: cells * 6 for name, cells in columns.items()})

    assert [names for names, _ in list_vote_counts(contents)] == groups


def test_at_most_thirty_columns_are_searched_for_sums():
    def count_groups(n_columns):
        columns = {"n": [3, 6] * 5, "a": [1, 6] * 5, "b": [2, 0] * 5}
        for number in range(n_columns - 3):
            columns[f"c{number}"] = [1000 * 2**number, 1000 * 3**number] * 5
        return len(list_vote_counts(describe_contents(columns)))

    assert (count_groups(30), count_groups(31)) == (1, 0)


@pytest.mark.parametrize(
    ("texts", "classes", "expected"),
    [
        (["Yes. So", "No, it"], ["yes", "no"], True),
        (["Yes. So", "Yes, it"], ["yes", "no"], False),
        (["Yes. So", "No, it"], [{"yes": 1, "no": 0}, {"yes": 0, "no": 1}], True),
        # Two marks, and numbers, are no words to compare.
        (["Yes. So", "No, it"], [{"yes": 1, "no": 1}] * 2, False),
        (["1. So", "2, it"], [1, 2], False),
        # More than half of the classes have to be words.
        (["Yes. So", "2, it"], ["yes", 2], False),
        (["Yes. So", "No", "3"], ["yes", "no", 3], True),
    ],
)
def test_answers_begin_with_their_class(texts, classes, expected):
    assert begins_with_class(texts, classes) is expected


def test_one_of_a_hundred_answers_may_begin_otherwise():
    classes = ["yes", "no"] * 50
    texts = [f"{word}, so" for word in classes]

    assert begins_with_class(["so", *texts[1:]], classes)
    assert not begins_with_class(["so", "so", *texts[2:]], classes)


@pytest.mark.parametrize(
    ("cells", "others", "expected"),
    [
        (["a", "b"], ["A", "c"], True),
        (["a", "b", "c"], ["a", "x", "y"], False),
        (["a", "b", "c", "d"], ["a", "b", "x", "y"], True),
        ([None], [None], False),
        (["a"], ["a", "b", "c"], True),
    ],
)
def test_columns_share_half_of_the_values_of_the_smaller(cells, others, expected):
    assert have_same_values(cells, others) is expected


@pytest.mark.parametrize(
    ("n_equal", "share"),
    [
        # Chance is 1/2, so that a kappa of 0.4 is an agreement of 0.7.
        (71, 0.71),
        (69, None),
        (100, None),
        (0, None),
    ],
)
def test_agreement_is_more_than_chance_and_less_than_all(n_equal, share):
    labels = ["a", "b"] * 50
    answers = []
    for row, label in enumerate(labels):
        other = "b" if label == "a" else "a"
        answers.append(label if row < n_equal else other)

    assert measure_agreement(labels * 4, answers * 4) == share


def test_agreement_of_few_rows_may_be_an_accident():
    # 0.8 of chance 0.5: the excess of 0.3 is 4 standard errors of 0.5 / sqrt(n) from n = 44.4.
    labels = ["a", "b"] * 5
    answers = ["b", "a", *labels[2:]]

    assert measure_agreement(labels * 4, answers * 4) is None
    assert measure_agreement(labels * 5, answers * 5) == 0.8


def test_answers_have_the_values_of_labels_and_one_agrees():
    gold = ["a", "b", "c", "a"] * 6
    columns = {
        "gold": gold,
        "good": ["a", "b", "c", "b"] * 6,
        "poor": ["b", "c", "a", "c"] * 6,
        "split": ["u", "v"] * 12,
        "flag": [0, 1] * 12,
        "flag_answer": [0, 1, 0, 1, 1, 1] * 4,
    }
    contents = describe_contents(columns)

    assert find_agreeing_columns(contents, "gold", ["poor", "good", "split"]) == ["poor", "good"]
    assert find_agreeing_columns(contents, "gold", ["poor", "split"]) == []
    # Any two columns of 0 and 1 have the same values.
    assert find_agreeing_columns(contents, "flag", ["flag_answer"]) == []


def test_one_hot_columns_have_one_mark_in_each_row():
    columns = {"joy": [1, 0, 0] * 4, "fear": [0, 1, 1] * 4, "n": [3, 4, 5] * 4, "x": ["a"] * 12}

    assert find_marked_classes(describe_contents(columns), list(columns)) == ["joy", "fear"]
    columns["rage"] = [0, 0, 1] * 4
    assert find_marked_classes(describe_contents(columns), list(columns)) == []
    assert find_marked_classes(describe_contents(columns), ["joy"]) == []


def find_groups(n_faults=0, error=0.0, **others):
    """Return the groups of columns that add up to 1, of 100 rows with some faults."""
    shares = np.tile([0.1, 0.35, 0.5, 0.8], 25)
    rest = 1 - shares + error
    rest[:n_faults] = 0.95
    columns = {"a": shares.tolist(), "b": rest.tolist(), **others}
    return find_complementary_columns(describe_contents(columns), list(columns))


def test_scores_of_classes_add_up_to_one_in_nearly_all_rows():
    assert find_groups() == [("a", "b")]
    # One of 100 rows may have a fault, and rounding an error of 0.02.
    assert find_groups(n_faults=1) == [("a", "b")]
    assert find_groups(n_faults=2) == []
    assert find_groups(error=0.019) == [("a", "b")]
    assert find_groups(error=0.021) == []


def test_groups_of_scores_follow_one_another():
    shares = [0.2, 0.3, 0.4, 0.6] * 25
    rest = [1 - share for share in shares]
    half = [share / 2 for share in rest]

    assert find_groups(c=shares, d=half, e=half) == [("a", "b"), ("c", "d", "e")]
    assert find_groups(c=[1, 0] * 50, d=shares, e=rest) == [("a", "b"), ("d", "e")]
    assert find_groups(d=[None, *shares[1:]], e=rest) == [("a", "b")]
