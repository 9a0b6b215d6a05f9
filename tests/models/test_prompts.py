"""Prompts whose settings are left to the task and the model: each branch of the choice."""

from __future__ import annotations

import dataclasses

import pytest

from rightreasons.core.errors import OptionError
from rightreasons.models.prompts import (
    ChoiceItems,
    Examples,
    Item,
    Rendering,
    find_wordless_items,
    get_default_form,
    make_items,
    write_instruction,
)
from rightreasons.models.wording import Prompt

SCORINGS = ("next_words", "sum", "mean", "generated")
REVIEW = Item("r", {"text": "good fun", "text_pair": None}, 1)
QUESTION = Item("q", {"prompt": "Why?", "choices": ["So.", "No.", "Yes."]}, 0)


def make_rendering(is_choice, *, chat=False, scorings=SCORINGS, constrains=False, **options):
    names = None if is_choice else ["bad", "good"]
    return Rendering.from_prompt(
        Prompt(**options), chat=chat, scorings=scorings, label_names=names, constrains=constrains
    )


@pytest.mark.parametrize(
    ("is_choice", "options", "scorings", "scoring", "style"),
    [
        (False, {}, SCORINGS, "sum", "words"),
        (True, {}, SCORINGS, "mean", "words"),
        (True, {"style": "letters"}, SCORINGS, "sum", "letters"),
        (True, {"style": "words"}, SCORINGS, "mean", "words"),
        (True, {"scoring": "next_words"}, SCORINGS, "next_words", "letters"),
        (True, {"scoring": "generated"}, SCORINGS, "generated", "letters"),
        (False, {"scoring": "generated"}, SCORINGS, "generated", "words"),
        # What the model cannot do is replaced by its preferred scoring.
        (True, {}, ("next_words", "sum"), "next_words", "letters"),
        # Patterns and samples need generated answers.
        (False, {"pattern": "x"}, SCORINGS, "generated", "words"),
        (False, {"samples": 2}, SCORINGS, "generated", "words"),
        (False, {"samples": 1}, SCORINGS, "sum", "words"),
        (False, {"samples": 2}, ("sum",), "sum", "words"),
    ],
)
def test_scoring_and_style_suit_the_task(is_choice, options, scorings, scoring, style):
    rendering = make_rendering(is_choice, scorings=scorings, **options)

    assert (rendering.scoring, rendering.style) == (scoring, style)


@pytest.mark.parametrize(
    ("options", "chat", "constrains", "form"),
    [
        ({}, False, False, "free"),
        ({}, True, False, "line"),
        ({}, True, True, "constrained"),
        ({}, False, True, "constrained"),
        ({"form": "line"}, False, True, "line"),
        # A pattern can be added to replies that are stored.
        ({"pattern": "x"}, True, True, "constrained"),
        ({"pattern": "x"}, True, False, "line"),
        ({"template": "{{ text }}"}, True, True, "free"),
    ],
)
def test_the_form_of_answers_suits_the_model(options, chat, constrains, form):
    rendering = make_rendering(False, chat=chat, constrains=constrains, **options)

    assert rendering.form == form
    if not options:
        assert get_default_form(chat=chat, constrains=constrains) == form


@pytest.mark.parametrize(
    ("scoring", "form", "chat", "instruction"),
    [
        (
            "generated",
            "line",
            False,
            "\nAnswer with one line alone: ANSWER: X, where X is the letter.",
        ),
        ("generated", "free", False, "\nAnswer with the letter alone."),
        ("next_words", "line", True, "\nAnswer with the letter alone."),
        ("next_words", "line", False, ""),
        ("sum", "line", True, ""),
    ],
)
def test_an_instruction_depends_on_scoring_form_and_chat(scoring, form, chat, instruction):
    assert write_instruction("letters", scoring=scoring, form=form, chat=chat) == instruction


@pytest.mark.parametrize(
    ("is_choice", "options", "chat", "prefix"),
    [
        (False, {}, False, "Answer:"),
        (False, {}, True, ""),
        (False, {"template": "{{ text }}"}, False, ""),
        (False, {"answer_prefix": "It is"}, True, "It is"),
        (True, {}, False, ""),
        (True, {"style": "letters"}, False, "Answer:"),
        (True, {"style": "words", "scoring": "generated"}, False, "Answer:"),
    ],
)
def test_a_prefix_precedes_answers_unless_they_continue_a_text(is_choice, options, chat, prefix):
    assert make_rendering(is_choice, chat=chat, **options).answer_prefix == prefix


@pytest.mark.parametrize(
    ("is_choice", "options", "is_joint"),
    [
        (True, {}, False),
        (True, {"style": "letters"}, True),
        (True, {"style": "words", "scoring": "generated"}, True),
        (True, {"template": "{{ prompt }} {{ choices }}"}, True),
        (True, {"template": "{{ prompt }} {{ options }}"}, True),
        (True, {"template": "{{ prompt }}"}, False),
        (False, {}, False),
    ],
)
def test_choices_are_joint_if_the_question_lists_them(is_choice, options, is_joint):
    assert make_rendering(is_choice, **options).joint is is_joint


@pytest.mark.parametrize(
    ("order", "indices", "letters"),
    [
        ("given", [0, 1, 2], ["A", "B", "C"]),
        ("reversed", [2, 1, 0], ["C", "B", "A"]),
        # The first answer is displayed last.
        ("rotated", [1, 2, 0], ["C", "A", "B"]),
    ],
)
def test_letters_follow_the_displayed_order(order, indices, letters):
    rendering = dataclasses.replace(make_rendering(True, style="letters"), order=order)

    assert rendering.get_displayed_order(3) == indices
    assert rendering.answers(QUESTION) == letters
    lines = rendering.request(QUESTION).prompt.split("\n")
    texts = QUESTION.fields["choices"]
    assert lines[1:4] == [f"{'ABC'[row]}. {texts[index]}" for row, index in enumerate(indices)]


@pytest.mark.parametrize(
    ("chat", "options", "continuation"),
    [
        (False, {}, " bad"),
        (True, {}, "bad"),
        (True, {"answer_prefix": "It is"}, " bad"),
        (True, {"answer_prefix": "It is "}, "bad"),
        (False, {"template": "{{ text }}"}, " bad"),
        (False, {"template": "{{ text }}\n"}, "\nbad"),
    ],
)
def test_one_space_precedes_an_answer_in_a_text(chat, options, continuation):
    request = make_rendering(False, chat=chat, **options).request(REVIEW)

    assert request.continuations[0] == continuation


def test_examples_and_system_prompt_precede_the_question():
    options = {"template": "Q: {{ text }}", "answer_prefix": "A:", "system": "Be brief."}
    example = Item("e", {"text": "dull", "text_pair": None}, 0)

    text = make_rendering(False, **options).request(REVIEW, [example])
    chat = make_rendering(False, chat=True, **options).request(REVIEW, [example])

    assert text.prompt == "Be brief.\n\nQ: dull\nA: bad\n\nQ: good fun\nA:"
    assert [turn["role"] for turn in chat.prompt] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
    ]
    assert chat.prompt[2]["content"] == "A: bad"
    assert chat.prompt[4]["content"] == "A:"


@pytest.mark.parametrize(
    ("chat", "options", "prompt"),
    [
        (False, {}, "Answer:"),
        (True, {}, ({"role": "user", "content": ""},)),
        (
            True,
            {"answer_prefix": "It is"},
            ({"role": "user", "content": ""}, {"role": "assistant", "content": "It is"}),
        ),
    ],
)
def test_an_unconditional_request_has_no_question(chat, options, prompt):
    request = make_rendering(False, chat=chat, **options).make_unconditional_request(REVIEW)

    assert request.prompt == prompt
    assert [text.strip() for text in request.continuations] == ["bad", "good"]


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        ({"form": "line", "scoring": "generated"}, "ANSWER: B"),
        ({"form": "line", "scoring": "sum"}, "B"),
        ({"form": "free", "scoring": "generated"}, "B"),
    ],
)
def test_the_answer_of_an_example_has_the_requested_form(options, answer):
    assert make_rendering(False, **options).format_answer("B") == answer


def test_twenty_six_answers_have_letters_and_any_number_has_numbers():
    def list_answers(count, style):
        choices = [f"choice {number}" for number in range(count)]
        item = Item("q", {"prompt": "Why?", "choices": choices})
        return make_rendering(True, style=style).answers(item)

    assert list_answers(26, "letters")[-1] == "Z"
    assert list_answers(27, "numbers")[-1] == "27"
    assert list_answers(2, "numbers") == ["1", "2"]
    with pytest.raises(ValueError, match="Use numbers"):
        list_answers(27, "letters")


@pytest.mark.parametrize(
    ("is_choice", "options", "name"),
    [
        (False, {"label_words": ("a",)}, "label_words"),
        (True, {"label_words": ("a", "b")}, "label_words"),
        (False, {"template": "{{ label_words }}"}, "template"),
        (True, {"template": "Which?"}, "template"),
        (False, {"template": "{{ text "}, "template"),
    ],
)
def test_words_and_templates_have_to_fit_the_task(is_choice, options, name):
    with pytest.raises(OptionError) as error:
        make_rendering(is_choice, **options)
    assert error.value.option == (name,)


def test_a_field_of_another_task_is_unknown():
    with pytest.raises(ValueError, match="choices"):
        make_rendering(False, template="{{ text }} {{ choices }}")


def test_examples_are_labeled_items_other_than_the_item_and_its_origin():
    rows = [{"text": f"text {number}", "text_pair": None} for number in range(5)]
    items = [Item(str(number), row, number % 2) for number, row in enumerate(rows)]
    unlabeled = Item("u", {"text": "x", "text_pair": None}, -1)
    examples = Examples([*items, unlabeled])

    assert len(examples.items) == 5
    assert Examples([Item("z", rows[0], 0)]).items[0].label == 0
    drawn = examples.draw(Item("2/no_question", {"text": "y", "text_pair": None}), 4, seed=0)
    assert {item.id for item in drawn} == {"0", "1", "3", "4"}
    # A changed version has the examples of its item.
    assert drawn == examples.draw(items[2], 4, seed=0)
    # Equal words count as the item itself, and "22" is not a version of "2".
    same = examples.draw(Item("22", rows[3], 0), 4, seed=0)
    assert {item.id for item in same} == {"0", "1", "2", "4"}
    with pytest.raises(ValueError, match="has 4"):
        examples.draw(items[2], 5, seed=0)
    assert examples.draw(items[2], 0, seed=0) == []


def test_items_of_columns_have_labels_only_if_they_are_passed():
    (item,) = make_items([7], text=["a"])

    assert item == Item("7", {"text": "a", "text_pair": None}, -1)
    assert make_items([7], [0], text=["a"], text_pair=["b"])[0].fields["text_pair"] == "b"


def test_choice_items_are_checked():
    checked = ChoiceItems.check(["Why?", ""], [["a", "b"], ["a", "b", "c"]], labels=[1, -1])

    assert checked.ids == ("0", "1")
    assert checked.counts.tolist() == [2, 3]
    assert checked.labels.tolist() == [1, -1]
    assert ChoiceItems.check(["Why?"], [["a", "b"]]).labels is None
    assert checked.items()[1].fields["choices"] == ["a", "b", "c"]
    with pytest.raises(ValueError, match="labels"):
        ChoiceItems.check(["Why?"], [["a", "b"]], labels=[2])
    with pytest.raises(ValueError, match="labels"):
        ChoiceItems.check(["Why?"], [["a", "b"]], labels=[-2])
    with pytest.raises(ValueError, match="choices"):
        ChoiceItems.check(["Why?"], [["a", " "]])
    assert ChoiceItems.check(["Why?"], [["a", " "]], allow_empty=True).choices == [["a", " "]]


def test_items_with_an_answer_without_words_are_listed():
    reasons = find_wordless_items(["a", "b"], [["x", "y"], ["x", " "]])

    assert list(reasons) == [1]
    assert "answer 1 of item 'b'" in reasons[1]
