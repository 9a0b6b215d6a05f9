"""Judgments as people store them."""

import json

import numpy as np
import pytest

from command_line import run
from rightreasons.probes.judges import measure_judges
from rightreasons.probes.judgments import read_judgments

ROWS = [
    # item, judge, first, second, winner, first text, second text
    ("q1", "gpt", "gpt", "llama", "model_a", "long answer", "short"),
    ("q1", "gpt", "llama", "gpt", "model_a", "short", "long answer"),
    ("q1", "llama", "gpt", "llama", "llama", "long answer", "short"),
    ("q2", "gpt", "llama", "gpt", "gpt", "no", "yes, of course"),
    ("q2", "gpt", "gpt", "llama", "Tie (inconsistent)", "yes, of course", "no"),
    ("q2", "llama", "llama", "gpt", "error", "no", "yes, of course"),
]
NAMES = ("question_id", "judge", "model_a", "model_b", "winner", "answer_a", "answer_b")


def columns():
    return {name: list(values) for name, values in zip(NAMES, zip(*ROWS, strict=True), strict=True)}


def test_judgments_are_joined_by_pair():
    read = read_judgments(columns())
    assert (read.n_rows, read.n_without) == (6, 1)
    gpt, llama = read.judges["gpt"], read.judges["llama"]
    assert gpt["items"] == ["q1", "q2"]
    # q1: gpt wins where it is first, loses where second; q2: llama loses where it is first, ties where second.
    assert gpt["first_wins"].tolist() == [1, 0]
    assert gpt["swapped"].tolist() == [0, 0.5]
    assert gpt["longer"].tolist() == [1, 0]
    assert gpt["own"].tolist() == [1, 0]
    # The other judge is the reference.
    np.testing.assert_array_equal(gpt["reference"], [0, np.nan])
    np.testing.assert_array_equal(llama["reference"], [0.5, 0.25])
    np.testing.assert_array_equal(llama["first_wins"], [0, np.nan])


def test_a_text_that_is_missing_has_no_length():
    rows = {"model_a": ["x", "x"], "model_b": ["y", "y"], "winner": ["a", "b"]}
    read = read_judgments({**rows, "text_a": ["abc", None], "text_b": ["abcd", "a"]})
    np.testing.assert_array_equal(read.judges["judge"]["longer"], [0.0, np.nan])


def test_a_column_is_the_reference():
    rows = {**columns(), "human": ["a", "b", "a", "b", "a", "b"]}
    # q1: people prefer gpt thrice; q2: gpt thrice, and llama is the first of that pair.
    assert read_judgments(rows).judges["gpt"]["reference"].tolist() == [1, 0]


def test_figures_and_command(tmp_path, capsys):
    file = tmp_path / "judgments.json"
    file.write_text(json.dumps(columns()))
    measured = measure_judges(read_judgments(file))
    gpt = measured.judges["gpt"]
    # Wins of the first less those of the same candidate shown second: 1 and -1/2.
    assert (gpt.consistency.value, gpt.position.value) == (0, 0.25)
    # Its own, and longer, candidate wins 1/2 and 3/4.
    assert (gpt.own.value, gpt.length.value, gpt.own_beyond.value) == (0.25, 0.25, 0.5)
    done = json.loads(run(capsys, "judges", file, "--json").out)
    printed = "\n".join(done["printed"])
    assert "6 judgments, 1 without a verdict" in printed
    assert "First place over second" in printed
    assert done["result"]["judges"]["gpt"]["position"]["value"] == 0.25


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"winner": ["good"] * 6}, "row 0 of the table has 'good'"),
        ({"model_b": ["gpt"] * 6}, "row 0 holds .'gpt', 'gpt'"),
        (
            {"model_a": ["b"] * 6, "winner": ["a", "b", "b", "a", "a", "b"], "model_b": ["a"] * 6},
            "names both a position",
        ),
        ({"winner": None}, "with verdict_column="),
    ],
)
def test_bad_tables(change, sentence):
    rows = {name: values for name, values in {**columns(), **change}.items() if values is not None}
    with pytest.raises(ValueError, match=sentence):
        read_judgments(rows)
    with pytest.raises(ValueError, match="Did you mean 'judge'"):
        read_judgments(columns(), judge_column="jugde")


@pytest.mark.parametrize(("verdict", "wins"), [("a", 1.0), ("b", 0.0)])
def test_a_candidate_may_bear_the_name_of_its_own_place_alone(verdict, wins):
    rows = {
        "item": [1, 1],
        "model_a": ["a", "b"],
        "model_b": ["b", "a"],
        "winner": [verdict, "tie"],
    }
    assert read_judgments(rows).judges["judge"]["first_wins"].tolist() == [wins]
    with pytest.raises(ValueError, match="Rename the candidates"):
        read_judgments({**rows, "winner": ["tie", verdict]})
