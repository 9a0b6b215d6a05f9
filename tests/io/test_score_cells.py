"""Scores in the formats of libraries and servers."""

from __future__ import annotations

import math

import pytest

from rightreasons.io.score_cells import (
    make_pipeline_columns,
    parse_number_list,
    spread_token_logprobs,
)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("[0.9 1.e-01]", ["0.9", "1.e-01"]),
        ("array([0.9, 0.1])", ["0.9", "0.1"]),
        ("tensor([0.9, 0.1], device='cuda:0')", ["0.9", "0.1"]),
        ("[]", []),
        ("[[0.9]]", None),
        ("0.9", None),
    ],
)
def test_printed_lists_are_parsed(text, numbers):
    assert parse_number_list(text) == numbers


def make_tokens(**logprobs):
    return [{"token": token, "logprob": value} for token, value in logprobs.items()]


def test_tokens_that_all_items_have_are_columns():
    cells = [make_tokens(yes=-0.5, no=-1.0, so=-3.0), make_tokens(no=-0.25, yes=-2.0)]

    assert spread_token_logprobs(cells) == {"yes": [-0.5, -2.0], "no": [-1.0, -0.25]}


def test_probabilities_of_a_token_with_and_without_a_space_are_added():
    cell = [*make_tokens(yes=math.log(0.25), no=-1.0), {"token": " yes", "logprob": math.log(0.5)}]

    columns = spread_token_logprobs([cell])

    assert columns["yes"] == [pytest.approx(math.log(0.75))]


@pytest.mark.parametrize(
    "cells",
    [
        [],
        [[]],
        ["yes"],
        [["yes"]],
        [[{"token": "yes"}]],
        # A single token is shared.
        [make_tokens(yes=-1.0, no=-1.0), make_tokens(yes=-1.0, so=-1.0)],
    ],
)
def test_other_cells_have_no_tokens(cells):
    assert spread_token_logprobs(cells) == {}


def name_scores(**scores):
    return [{"Name": name, "Score": score} for name, score in scores.items()]


@pytest.mark.parametrize(
    ("items", "columns"),
    [
        ([{"label": "up", "score": 0.9}], {"prediction": ["up"], "confidence": [0.9]}),
        ([[{"label": "up", "score": 0.9}]], {"p_up": [0.9]}),
        (
            [[{"label": "up", "score": 0.9}], [{"label": "down", "score": 0.8}]],
            {"p_up": [0.9, None], "p_down": [None, 0.8]},
        ),
        ([name_scores(up=0.75, down=0.25)], {"p_up": [0.75], "p_down": [0.25]}),
        ([[{"p": 0.75, "c": "up"}, {"p": 0.25, "c": "down"}]], {"p_up": [0.75], "p_down": [0.25]}),
        # A sum within rounding errors of 1.
        ([name_scores(up=0.75, down=0.265)], {"p_up": [0.75], "p_down": [0.265]}),
        ([name_scores(up=0.75, down=0.275)], {}),
        ([name_scores(up=1.0)], {}),
        ([name_scores(up=1, down=0)], {}),
        ([[{"Name": "up", "Score": 0.5}] * 2], {}),
        ([[{"Name": "up", "Score": 0.5, "n": 1}] * 2], {}),
        ([[{"Name": 0.5, "Score": 0.5}, {"Name": 0.25, "Score": 0.5}]], {}),
        ([{"label": "up", "score": 0.9, "n": 1}], {}),
        (["up"], {}),
        (
            [make_tokens(yes=-0.5, no=-1.0)],
            {"logit_yes": [-0.5], "logit_no": [-1.0]},
        ),
    ],
)
def test_results_of_pipelines_become_columns(items, columns):
    assert make_pipeline_columns(items) == columns
