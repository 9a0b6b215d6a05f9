"""Answers in long contexts and in the windows of them."""

from __future__ import annotations

import numpy as np
import pytest

from rightreasons.models.batching import Encoded
from rightreasons.models.windows import Windows, find_answer_characters, find_answer_tokens


@pytest.mark.parametrize(
    ("answer", "characters"),
    [
        ({"text": ["Paris"], "answer_start": [3]}, [3, 8]),
        # At the first and at the last character.
        ({"text": ["In"], "answer_start": [0]}, [0, 2]),
        ({"text": ["now."], "answer_start": [9]}, [9, 13]),
        ({"text": ["In", "now"], "answer_start": [0, 9]}, [0, 2]),
    ],
)
def test_the_first_answer_is_in_its_context(answer, characters):
    found = find_answer_characters([answer], ["In Paris now."], "train")

    assert found.tolist() == [characters]


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (None, "none"),
        ({"text": [], "answer_start": []}, "none"),
        ({"text": ["x"], "answer_start": []}, "none"),
        ({"text": [""], "answer_start": [0]}, "inside"),
        ({"text": ["now."], "answer_start": [10]}, "inside"),
        ({"text": ["In"], "answer_start": [-1]}, "inside"),
        ({"text": ["In"], "answer_start": [None]}, "inside"),
    ],
)
def test_an_answer_outside_of_its_context_is_refused(answer, word):
    with pytest.raises(ValueError, match=word):
        find_answer_characters([answer], ["In Paris now."], "train")


@pytest.mark.parametrize(
    ("characters", "tokens"),
    [
        ([0, 4], [1, 1]),
        ([5, 8], [2, 2]),
        ([0, 8], [1, 2]),
        # Inside of a token, and from the middle of one to that of the next.
        ([6, 7], [2, 2]),
        ([2, 6], [1, 2]),
        # The space between two tokens belongs to neither.
        ([4, 5], [-1, -1]),
        # Only a part is in the window.
        ([5, 20], [-1, -1]),
        ([30, 40], [-1, -1]),
    ],
)
def test_tokens_of_an_answer_contain_it(characters, tokens):
    # A token of the question, then tokens of the characters 0 to 3 and 5 to 7 of the context.
    spans = Encoded(
        columns={"first": np.array([-1, 0, 5]), "last": np.array([-1, 4, 8])},
        offsets=np.array([0, 3]),
        truncated=np.zeros(1, dtype=bool),
        padding={"first": -1, "last": -1},
    )
    windows = Windows(encoded=spans, characters=spans, owner=np.array([0]))

    assert find_answer_tokens(windows, np.array([characters])).tolist() == [tokens]


def test_a_window_that_begins_inside_the_answer_has_a_part_of_it():
    spans = Encoded(
        columns={"first": np.array([5, 9]), "last": np.array([8, 12])},
        offsets=np.array([0, 2]),
        truncated=np.zeros(1, dtype=bool),
        padding={"first": -1, "last": -1},
    )
    windows = Windows(encoded=spans, characters=spans, owner=np.array([0]))

    assert find_answer_tokens(windows, np.array([[3, 8]])).tolist() == [[-1, -1]]
    assert find_answer_tokens(windows, np.array([[5, 12]])).tolist() == [[0, 1]]
