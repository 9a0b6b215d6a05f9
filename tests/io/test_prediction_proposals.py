"""Roles of columns of predictions that are chosen by their cells, and what none is chosen for."""

from __future__ import annotations

import pytest

from rightreasons.io.options import PredictionOptions
from rightreasons.io.prediction_proposals import find_prediction_roles

GOLD = ["up", "down", "up", "down"] * 20
ANSWERS = ["up", "down", "up", "up"] * 20
SHARES = [0.9, 0.35, 0.8, 0.6] * 20
REST = [1 - share for share in SHARES]
CONFIDENCE = [0.9, 0.75, 0.8, 0.6] * 20


def find(columns, **options):
    return find_prediction_roles(columns, "the file", PredictionOptions(**options))


def list_scores(roles):
    """Return the columns of each candidate for the scores, with their classes."""
    return [(scores.columns, scores.class_names) for scores in roles.scores]


def test_columns_that_add_up_to_one_are_scores_of_the_classes_in_their_headings():
    roles = find({"gold": GOLD, "x up": SHARES, "x down": REST})

    assert [classes for _, classes in list_scores(roles)] == [("up", "down")]
    assert roles.labels == ["gold"]


def test_scores_without_names_get_them_from_answers():
    # The first score is the largest in the rows with the answer "up".
    predicted = ["up" if share > 0.5 else "down" for share in SHARES]
    columns = {"gold": GOLD, "s": SHARES, "t": REST, "picked": predicted}

    assert list_scores(find(columns)) == [(("s", "t"), ("up", "down"))]
    # Other answers do not follow from the scores.
    assert list_scores(find(columns | {"picked": ANSWERS[::-1]})) == [(("s", "t"), None)]


def test_scores_of_two_models_are_not_chosen():
    columns = {"gold": GOLD, "s": SHARES, "t": REST, "u": REST, "v": SHARES}

    assert list_scores(find(columns)) == []


def test_lists_and_objects_that_add_up_to_one_are_scores():
    pairs = list(zip(SHARES, REST, strict=True))
    lists = find({"gold": GOLD, "s": [list(pair) for pair in pairs]})
    objects = find({"gold": GOLD, "s": [{"up": up, "down": down} for up, down in pairs]})
    both = find({"gold": GOLD, "s": [list(pair) for pair in pairs], "t": SHARES, "u": REST})

    assert list_scores(lists) == [(("s",), None)]
    assert list_scores(objects) == [(("p_up", "p_down"), ("up", "down"))]
    assert objects.columns["p_down"] == REST
    assert list_scores(both) == []


@pytest.mark.parametrize(
    ("column", "is_found"),
    [
        ([1.5, -0.25, 0.5, 2.0] * 20, True),
        # Counts, and a column with an empty cell.
        ([1, 2, 3, 4] * 20, False),
        ([None, -0.25, 0.5, 2.0] * 20, False),
    ],
)
def test_numbers_under_the_names_of_all_classes_may_be_scores(column, is_found):
    columns = {"gold": GOLD, "m up": [0.5, 1.5, 2.5, 3.5] * 20, "m down": column}

    found = list_scores(find(columns))

    assert found == ([(("m up", "m down"), ("up", "down"))] if is_found else [])


def test_the_label_has_the_values_of_the_answers():
    columns = {"prediction": ANSWERS, "wahr": GOLD, "part": ["x", "y", "y", "z"] * 20}
    roles = find(columns)

    assert (roles.labels, roles.answers) == (["wahr"], ["prediction"])
    # Of two such columns neither is chosen, unless one has a usual last word.
    assert find(columns | {"other": GOLD[::-1]}).labels == []
    assert find({**columns, "other_label": GOLD[::-1]}).labels == ["other_label"]


def test_two_columns_of_classes_that_agree_are_labels_and_answers():
    roles = find({"a": GOLD, "b": ANSWERS, "part": ["x", "y", "y", "z"] * 20})

    assert (roles.labels, roles.answers) == (["a"], ["b"])
    assert not roles.answer_candidates


@pytest.mark.parametrize(
    ("columns", "candidates"),
    [
        # Agreement in half of the rows is that of chance.
        ({"a": GOLD, "b": ["up", "up", "down", "down"] * 20}, ("a", "b")),
        ({"a": GOLD, "b": ANSWERS, "c": ANSWERS[::-1]}, ("a", "b", "c")),
        ({"a": [0, 1] * 40, "b": [0, 1, 1, 1] * 20}, ()),
        ({"a": [0, 1, 2, 1] * 20, "b": [0, 1, 2, 2] * 20}, None),
    ],
)
def test_columns_that_may_be_answers_are_a_question(columns, candidates):
    roles = find(columns)

    if candidates is None:
        assert (roles.labels, roles.answers) == (["a"], ["b"])
        return
    assert roles.answers == []
    assert tuple(roles.answer_candidates) == candidates


def test_a_text_that_begins_with_the_class_shows_poor_answers():
    gold = ["up", "up", "down", "down"] * 20
    some = ["up", "up", "down", "up", "down", "down", "down", "down"] * 10
    # Agreement in five of eight rows has a kappa of 0.25.
    some = some * 4
    gold = gold * 4
    notes = [f"{word.title()}, because it is so in row {row}." for row, word in enumerate(some)]
    assert find({"a": gold, "b": some}).answers == []
    assert find({"a": gold, "b": some, "note": notes}).answers == ["b"]


def test_a_copied_field_is_no_other_column():
    rows = [{"label": value, "n": "x"} for value in GOLD]

    roles = find({"a": GOLD, "b": ANSWERS, "test": rows})

    assert (roles.labels, roles.answers) == (["a"], ["b"])


@pytest.mark.parametrize(
    ("column", "name"),
    [
        (CONFIDENCE, "c"),
        ([-0.1, -0.25, -0.2, -0.5] * 20, "c"),
        # Most values are below 1/2, the chance of two classes.
        ([0.1, 0.25, 0.2, 0.9] * 20, None),
        ([0.9, 0.75, None, 0.6] * 20, None),
        ([1.5, 0.75, 0.8, 0.6] * 20, None),
        (["x", "y", "z", "w"] * 20, None),
    ],
)
def test_the_only_fractions_are_the_confidence(column, name):
    roles = find({"label": GOLD, "prediction": ANSWERS, "c": column})

    assert roles.confidences == ([name] if name else [])
    if column[0] == -0.1:
        # The logarithm becomes a probability: exp(-0.25) = 0.7788.
        assert roles.columns["c"][1] == pytest.approx(0.7788, abs=1e-4)
    two = find({"label": GOLD, "prediction": ANSWERS, "c": column, "d": CONFIDENCE})
    assert two.confidences == ([] if name else ["d"])


def test_the_answer_next_to_a_confidence_has_the_values_of_the_labels():
    poor = ["up", "up", "down", "down"] * 20
    columns = {"label": GOLD, "x": poor}

    assert find(columns).answers == []
    assert find({**columns, "confidence": CONFIDENCE}).answers == ["x"]
    several = find({**columns, "confidence": CONFIDENCE, "y": ANSWERS})
    assert several.answers == []
    assert tuple(several.answer_candidates) == ("x", "y")


def test_a_table_without_headings_proposes_nothing():
    roles = find({"0.25": GOLD, "why": ANSWERS, "up": CONFIDENCE})

    assert (roles.labels, roles.answers, roles.scores) == ([], [], [])
