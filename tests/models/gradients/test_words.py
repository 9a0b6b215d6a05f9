"""Words of a text, and the word pieces of a tokenizer that belong to them."""

from __future__ import annotations

import numpy as np
import pytest

from rightreasons.models.gradients.paths import make_quadrature
from rightreasons.models.gradients.words import _select_largest, find_word_spans, match_pieces


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("It's good.", [[0, 2], [2, 3], [3, 4], [5, 9], [9, 10]]),
        ("  a  b ", [[2, 3], [5, 6]]),
        ("", []),
        (" ", []),
    ],
)
def test_words_have_spans_of_characters(text, spans):
    table = find_word_spans(text)

    assert table.tolist() == spans
    assert table.shape[1] == 2


@pytest.mark.parametrize(
    ("text", "starts", "ends", "pieces", "words"),
    [
        ("a good", [0, 2], [1, 6], [0, 1], [0, 1]),
        ("a good", [0, 1, 2], [1, 2, 6], [0, 1, 2], [0, 1, 1]),
        # A piece with the space before a word belongs to the word.
        ("a good", [0, 1], [1, 6], [0, 1], [0, 1]),
        ("goodness me", [0, 4, 9], [4, 8, 11], [0, 1, 2], [0, 0, 1]),
        # A piece of two words belongs to both.
        ("don't", [0, 3], [3, 5], [0, 1, 1], [0, 1, 2]),
        ("a b c", [0, 2], [1, 5], [0, 1, 1], [0, 1, 2]),
        # An empty piece belongs to the next word, and at the end to the last one.
        ("a b", [0, 0, 2, 3], [0, 1, 3, 3], [0, 1, 2, 3], [0, 0, 1, 1]),
        ("a  ", [0, 1], [1, 3], [0, 1], [0, 0]),
        ("", [0], [0], [], []),
    ],
)
def test_pieces_belong_to_the_words_that_they_cover(text, starts, ends, pieces, words):
    matched = match_pieces(find_word_spans(text), np.array(starts), np.array(ends))

    assert (matched[0].tolist(), matched[1].tolist()) == (pieces, words)


def test_the_largest_value_of_a_word_has_its_sign():
    values = np.array([1.0, -3.0, 2.0, -0.5, 0.25])
    words = np.array([0, 0, 2, 3, 3])

    assert _select_largest(values, words, 5).tolist() == [-3.0, 0.0, 2.0, -0.5, 0.0]


@pytest.mark.parametrize("steps", [1, 3, 5])
def test_a_quadrature_integrates_polynomials(steps):
    nodes, weights = make_quadrature("gauss_legendre", steps)

    for degree in range(2 * steps):
        assert weights @ nodes**degree == pytest.approx(1 / (degree + 1))
    nodes, weights = make_quadrature("riemann_right", steps)
    assert nodes.tolist() == [k / steps for k in range(1, steps + 1)]
    assert weights.tolist() == [1 / steps] * steps
