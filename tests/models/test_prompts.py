"""Answers read from generated texts."""

import pytest

from rightreasons.models.prompts import NO_ANSWER, parse_answer

LETTERS = ["A", "B", "C"]
TEXTS = ["to eat", "to run away", "to run"]


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("B", 1),
        (" (c) ", 2),
        ("B. to run away", 1),
        ("**B**", 1),
        ("1: a\nThe answer is C, not B.", 2),
        ("The correct answer is: B", 1),
        ("A good question about B and C", NO_ANSWER),
        ("A good question.", NO_ANSWER),  # an article, not a letter
        ("A or B", NO_ANSWER),
        ("I would say C", 2),
        ("To run away!", 1),
        ("It wants to run away from it", 1),  # not the shorter text inside
        ("It wants to run, or to eat", NO_ANSWER),
        ("", NO_ANSWER),
    ],
)
def test_letters_and_the_texts_behind_them(text, index):
    assert parse_answer(text, LETTERS, others=TEXTS) == index


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("Positive.", 1),
        ("The sentiment is negative", 0),
        ("negative or positive", NO_ANSWER),
        ("Answer: positive, since nothing is negative", 1),
        ("positively", NO_ANSWER),
    ],
)
def test_label_words(text, index):
    assert parse_answer(text, ["negative", "positive"]) == index


def test_a_longer_answer_hides_a_shorter_one():
    assert parse_answer("I say not entailment here", ["entailment", "not entailment"]) == 1


def test_numbers():
    assert [parse_answer(text, ["1", "2"]) for text in ("2) no", "Answer: 1", "12", "1 2")] == [1, 0, -1, -1]


def test_a_pattern_decides_alone():
    assert parse_answer("B. final=c", LETTERS, pattern=r"final=(\w)") == 2
    assert parse_answer("final: to run", LETTERS, others=TEXTS, pattern="to run|to eat") == 2
    assert parse_answer("B", LETTERS, pattern=r"final=(\w)") == NO_ANSWER
