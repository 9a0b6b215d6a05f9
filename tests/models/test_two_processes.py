"""Two processes of one launch, joined by gloo: each returns what one process does, in the order of the items."""

import json

import numpy as np
import pytest

import shared_kernels
from launching import run_two


@pytest.fixture(scope="module")
def answers(classifier_folder, choice_folder, tmp_path_factory):
    """The results of this process, and those of each of two."""
    out = tmp_path_factory.mktemp("both")
    single_out = tmp_path_factory.mktemp("single")
    results = []

    def compute():
        result = shared_kernels.compute(classifier_folder, choice_folder, single_out)
        # As the two processes store theirs.
        results.append(json.loads(json.dumps(result)))

    run_two(shared_kernels.__file__, classifier_folder, choice_folder, out, meanwhile=compute)
    for rank in (0, 1):
        results.append(json.loads((out / f"{rank}_of_2.json").read_text("utf-8")))
    return results


def flatten(rows):
    """Return the numbers of nested lists in order, with NaN for None."""
    if not isinstance(rows, list):
        return [np.nan if rows is None else rows]
    numbers = []
    for row in rows:
        numbers += flatten(row)
    return numbers


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
def test_all_processes_have_the_same_values_in_the_same_order(answers, name):
    expected, rank_0, rank_1 = [flatten(answer[name]) for answer in answers]

    # Rows that were mixed up would show.
    assert len(set(expected)) > len(expected) // 4
    np.testing.assert_array_equal(rank_0, rank_1)
    np.testing.assert_allclose(rank_0, expected, rtol=1e-6, atol=1e-9)


def test_items_keep_their_names(answers):
    expected, rank_0, rank_1 = answers

    assert expected["ids"] == rank_0["ids"] == rank_1["ids"] == [str(row) for row in range(24)]
    assert expected["tokens"] == rank_0["tokens"] == rank_1["tokens"]


def test_each_process_reports_a_failed_item_once(answers):
    for answer in answers:
        assert answer["failures"] == [["5", "Expected a text with tokens, but item '5' has none."]]
