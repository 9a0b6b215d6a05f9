"""Scripted models of choices, whose answers are known: for the tasks of harnesses and a direct audit."""

import random
import re

import numpy as np

from rightreasons.core.arrays import Ragged
from rightreasons.core.scores import Scores

LETTERS = "ABCDE"
WORDS = ("sun", "moon", "river", "stone", "bread", "wool", "glass", "iron", "salt", "corn")


def make_items(n_items=24, n_choices=3):
    """Items whose correct choice repeats a word of the question."""
    draw = random.Random(2)
    items = []
    for number in range(n_items):
        words = draw.sample(WORDS, n_choices)
        label = draw.randrange(n_choices)
        choices = [f"the {word} {'again ' * draw.randrange(3)}{number}" for word in words]
        items.append(
            {
                "id": f"q{number}",
                "prompt": f"Which of them is the {words[label]} of day {number}?",
                "choices": choices,
                "label": label,
            }
        )
    return items


# Scripted models: each returns a score per choice, of which the largest is picked.


def read(question, choices):
    """Prefer the choice that shares a word with the question, or else the last in the alphabet."""
    words = set(question.split())
    return [10.0 * (choice.split()[1] in words) + _rank(choice) for choice in choices]


def always_first(question, choices):
    return [1.0, *(0.0 for _ in choices[1:])]


def prefer_longest(question, choices):
    return [len(choice) + _rank(choice) for choice in choices]


def read_half(question, choices):
    """Read the questions of even days, and take the first choice on the others."""
    is_even = question.rstrip("?")[-1:] in "02468"
    return read(question, choices) if question and is_even else always_first(question, choices)


def follow_hint(question, choices):
    hint = re.search(r"answer is \(([A-E])\)", question)
    if hint is None:
        return read(question, choices)
    return [float(letter == hint[1]) for letter in LETTERS[: len(choices)]]


MODELS = (read, always_first, prefer_longest, read_half, follow_hint)


def _rank(choice):
    """Return a number below 1 that orders choices by their texts."""
    return sum(map(ord, choice)) % 97 / 100


class Scripted:
    """A model as a scorer of an audit."""

    label_names = None
    abilities = frozenset()

    def __init__(self, model, *, joint=True):
        self.model = model
        self.joint = joint
        self.name = self.fingerprint = model.__name__

    def describe(self):
        return {"model": self.name}

    def predict(self, texts, **_):
        raise ValueError("Expected choices.")

    def choose(self, prompts, choices, *, ids=None, labels=None, **_):
        rows = [self.model(*pair) for pair in zip(prompts, choices, strict=True)]
        flat = [value for row in rows for value in row]
        logits = Ragged.of(np.array(flat), [len(row) for row in rows])
        return Scores(ids=tuple(map(str, ids)), logits=logits, labels=labels)


# Scripted models that score each choice by itself, as a harness that compares likelihoods does.


def score_by_reading(question, choice):
    return 10.0 * (choice.split()[1] in question.split()) + _rank(choice)


def score_by_length(question, choice):
    return len(choice) / 10


def score_by_alphabet(question, choice):
    return -float(ord(choice.split()[1][0])) / 10


def score_half(question, choice):
    """Read the questions of even days."""
    is_even = question.rstrip("?")[-1:] in "02468"
    return score_by_reading(question, choice) if question and is_even else _rank(choice)


def score_with_doubt(question, choice):
    """Read, but with less confidence."""
    return score_by_reading(question, choice) / 8


SINGLE_MODELS = (
    score_by_reading,
    score_by_length,
    score_by_alphabet,
    score_half,
    score_with_doubt,
)


def score_choices(model):
    """Return a model of single choices as one of all choices of an item."""

    def score(question, choices):
        return [model(question, choice) for choice in choices]

    score.__name__ = model.__name__
    return score
