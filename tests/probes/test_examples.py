"""Single items that show what a probe, or another order of the choices, does to an answer."""

from types import SimpleNamespace

import datasets
import numpy as np
import pytest

from rightreasons.core.arrays import Ragged
from rightreasons.datasets.perturbing.probes import ORIGINAL
from rightreasons.page.parts import ChoiceAnswer
from rightreasons.probes.examples import (
    list_kept_examples,
    list_order_examples,
    list_paralysis_examples,
    list_unanswerable_examples,
)
from rightreasons.probes.measure import OrderedAnswers, ProbeTables


def make_table(**columns):
    return datasets.Dataset.from_dict(columns)


def test_the_first_kept_answer_is_correct_and_the_conditions_are_side_by_side():
    rows = {"id": ["a", "b", "c", "d"], "choices": [["x", "y"]] * 4, "label": [1, 0, 1, 0]}
    prompts = {
        ORIGINAL: ["A?", "B?", "C?", "D?"],
        "no_question": [""] * 4,
        "wrong_question": ["B?", "C?", "D?", "A?"],
    }
    tables = {name: make_table(**rows, prompt=texts) for name, texts in prompts.items()}
    # "a" keeps an incorrect answer, "b" a correct one, "c" changes, and "d" has none.
    picked = {
        ORIGINAL: np.array([0, 0, 1, -1]),
        **dict.fromkeys(("no_question", "wrong_question"), np.array([0, 0, 0, -1])),
    }
    for probe, beginning in (
        ("no_question", "Without its question"),
        ("wrong_question", "With “C?” instead of its question"),
    ):
        measurement = SimpleNamespace(
            tables=ProbeTables(tables, (1,), 0), picked=picked, probe=probe, scored=None
        )

        correct, incorrect = list_kept_examples(measurement)

        assert (correct.id, correct.text, correct.label, correct.prediction) == (
            "b",
            "B?",
            "x",
            "x",
        )
        assert correct.confidence is None
        assert correct.note.startswith(beginning)
        assert correct.conditions == ("With its question", "Without it")
        assert [choice.is_correct for choice in correct.choices] == [True, False]
        # The first choice is picked under both conditions, and the second one under neither.
        flags = [[answer.is_picked for answer in choice.answers] for choice in correct.choices]
        assert flags == [[True, True], [False, False]]
        assert (incorrect.id, incorrect.label, incorrect.prediction) == ("a", "y", "x")


def test_short_items_come_before_long_ones_and_confident_before_hesitant_ones():
    prompts = ["long " * 30, "Short?", "Brief?", "Short and incorrect?"]
    table = make_table(
        id=["long", "hesitant", "confident", "incorrect"],
        prompt=prompts,
        choices=[["x", "y"]] * 4,
        label=[0, 0, 0, 1],
    )
    tables = ProbeTables({ORIGINAL: table, "no_question": table}, (1,), 0)
    rows = Ragged.of_table(np.array([[0.99, 0.01], [0.6, 0.4], [0.8, 0.2], [0.95, 0.05]]))
    vars(tables)["confidences"] = {ORIGINAL: rows, "no_question": rows}
    picked = dict.fromkeys((ORIGINAL, "no_question"), rows.argmax())
    measurement = SimpleNamespace(tables=tables, picked=picked, probe="no_question", scored=True)

    examples = list(list_kept_examples(measurement))

    # The items have 32, 3, 3 and 5 words, of which the first quartile is 3.
    assert [example.id for example in examples] == ["confident", "hesitant", "long", "incorrect"]


def make_ordered(**options):
    """Answers to three items with three choices in two orders, of which the second is reversed."""
    table = make_table(
        id=["always b", "content", "always a"],
        prompt=["Why?", "What is it that flies over the sea?", "Who?"],
        choices=[["x", "y", "z"]] * 3,
        label=[1, 2, 2],
    )
    ordered = OrderedAnswers(
        orders=np.array([[0, 1, 2], [2, 0, 1]]),
        # The answers of the second item have the same text: z is at position 2, and then at 0.
        positions=np.array([[1, 2, 0], [1, 0, 0]]),
        **options,
    )
    return SimpleNamespace(
        tables=ProbeTables({ORIGINAL: table}, (), 0),
        picked={ORIGINAL: np.array([1, 2, 0])},
        ordered=ordered,
    )


def test_an_item_is_shown_in_both_orders_with_letters_and_probabilities():
    probabilities = np.array(
        [
            [[0.1, 0.7, 0.2], [0.3, 0.6, 0.1]],
            [[0.1, 0.1, 0.8], [0.8, 0.1, 0.1]],
            [[0.9, 0.05, 0.05], [0.5, 0.3, 0.2]],
        ]
    )
    measurement = make_ordered(probabilities=probabilities)

    correct, incorrect = list_order_examples(measurement)

    # The first item is answered correctly in the original order, and the third one is not.
    assert (correct.id, incorrect.id) == ("always b", "always a")
    assert (correct.prediction, correct.confidence) == ("y", pytest.approx(0.7))
    assert correct.conditions == ("Original order", "Another order")
    # In the second order, x, y and z are at the positions 1, 2 and 0.
    by_text = {choice.text: choice.answers for choice in correct.choices}
    assert by_text == {
        "x": (ChoiceAnswer("A", 0.1, is_picked=False), ChoiceAnswer("B", 0.6, is_picked=True)),
        "y": (ChoiceAnswer("B", 0.7, is_picked=True), ChoiceAnswer("C", 0.1, is_picked=False)),
        "z": (ChoiceAnswer("C", 0.2, is_picked=False), ChoiceAnswer("A", 0.3, is_picked=False)),
    }


def test_generated_answers_are_shown_in_both_orders_without_probabilities():
    correct, _ = list_order_examples(make_ordered())

    assert correct.confidence is None
    assert [answer.confidence for answer in correct.choices[0].answers] == [None, None]
    assert [answer.letter for answer in correct.choices[0].answers] == ["A", "B"]
    assert list(list_order_examples(SimpleNamespace(ordered=None))) == []


def make_scored(changed, **columns):
    """Two items of two choices, whose correct one is the first, with scores in a changed table."""
    original = make_table(
        id=["a", "b"], prompt=["A?", "B?"], choices=[["x", "y"]] * 2, label=[0, 0]
    )
    name, rows = changed
    confidences = {
        ORIGINAL: Ragged.of_table(np.array([[0.6, 0.4], [0.9, 0.1]])),
        name: Ragged.of_table(np.array(rows)),
    }
    tables = ProbeTables({ORIGINAL: original, name: make_table(**columns)}, (2,), 0)
    # The confidences of scored tables are computed on first use, and then stored.
    vars(tables)["confidences"] = confidences
    picked = {table: rows.argmax() for table, rows in confidences.items()}
    return SimpleNamespace(tables=tables, picked=picked, scored=True, k=2)


def test_the_largest_loss_beyond_dilution_is_shown_among_the_own_choices():
    # The own choices are at the positions 3 and 0. Relative to these, the correct one has
    # 0.2 / (0.2 + 0.2) = 0.5 and 0.1 / (0.1 + 0.4) = 0.2, and had 0.6 and 0.9.
    measurement = make_scored(
        ("extra_choices_2", [[0.2, 0.5, 0.1, 0.2], [0.4, 0.2, 0.3, 0.1]]),
        label=[3, 3],
        original_positions=[[3, 0]] * 2,
    )

    drops = measurement.tables.get_restricted_drop(2)
    first, second = list_paralysis_examples(measurement)

    assert drops == pytest.approx([0.1, 0.7])
    assert (first.id, second.id) == ("b", "a")
    assert first.conditions == ("Its own choices", "With 2 more")
    shares = [[answer.confidence for answer in choice.answers] for choice in first.choices]
    assert shares == [pytest.approx([0.9, 0.2]), pytest.approx([0.1, 0.8])]
    # Other than by their letters, the positions of the choices are the same.
    assert [answer.letter for answer in first.choices[0].answers] == ["", ""]


def test_a_replaced_choice_is_shown_in_addition_to_the_own_ones():
    measurement = make_scored(
        ("no_right_answer", [[0.8, 0.2], [0.3, 0.7]]),
        choices=[["u", "y"], ["v", "y"]],
        original_positions=[[-1, 1]] * 2,
    )

    first, second = list_unanswerable_examples(measurement)

    assert (first.id, second.id) == ("a", "b")
    assert [choice.text for choice in first.choices] == ["x", "y", "u"]
    assert [choice.is_correct for choice in first.choices] == [True, False, False]
    answers = [choice.answers[1] for choice in first.choices]
    # The model did not see the correct choice, and picked the borrowed one.
    assert [answer.confidence for answer in answers] == [None, 0.2, 0.8]
    assert [answer.is_picked for answer in answers] == [False, False, True]
    assert [answer.is_picked for answer in (choice.answers[1] for choice in second.choices)] == [
        False,
        True,
        False,
    ]
