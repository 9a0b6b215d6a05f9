"""Two processes of one launch, joined by gloo: each returns what one process alone does, in the order of the items."""

import json

import numpy as np
import pytest

import shared_kernels
from launching import run_two


@pytest.fixture(scope="module")
def answers(classifier_folder, choice_folder, tmp_path_factory):
    """What this process alone says, and each of two."""
    out, alone = tmp_path_factory.mktemp("both"), tmp_path_factory.mktemp("alone")
    answers = []

    def ask():
        answers.append(
            json.loads(json.dumps(shared_kernels.compute(classifier_folder, choice_folder, alone)))
        )

    run_two(shared_kernels.__file__, classifier_folder, choice_folder, out, meanwhile=ask)
    return answers + [json.loads((out / f"{rank}_of_2.json").read_text("utf-8")) for rank in (0, 1)]


def flat(rows):
    """The numbers of nested lists in order; None, where there is none, as NaN."""
    if isinstance(rows, list):
        return [number for row in rows for number in flat(row)]
    return [np.nan if rows is None else rows]


NUMBERS = (
    "eigenvalues",
    "stored",
    "token_norms",
    "power",
    "fim_difficulty",
    "predict",
    "predict_choices",
    "attributions",
)


@pytest.mark.parametrize("name", NUMBERS)
def test_same_values_in_the_same_order(answers, name):
    alone, first, second = (flat(answer[name]) for answer in answers)
    assert len(set(alone)) > len(alone) // 4  # rows that were mixed up would show
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first, alone, rtol=1e-6, atol=1e-9)


def test_items_keep_their_names(answers):
    alone, first, second = answers
    assert alone["ids"] == first["ids"] == second["ids"] == [str(row) for row in range(24)]
    assert alone["tokens"] == first["tokens"] == second["tokens"]


def test_a_failed_item_is_told_once_by_each(answers):
    for answer in answers:
        assert answer["failures"] == [["5", "Expected a text with tokens, but item '5' has none."]]
