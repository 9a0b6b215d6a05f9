"""Judgments as people store them, and a judge that is asked in both orders."""

import json

import numpy as np
import pytest

from command_line import run
from rightreasons.core.arrays import Ragged
from rightreasons.core.scores import Scores
from rightreasons.probes.judges import judge_pairs, measure_judges, read_judgments, read_pairs
from tiny_causal import save_tiny_causal

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
    gpt, llama = read.judges
    assert gpt.pairs == (("gpt", "llama"), ("llama", "gpt"))
    # q1: gpt wins where it is first, loses where second; q2: llama loses where it is first, ties where second.
    assert gpt.first_wins.tolist() == [1, 0]
    assert gpt.swapped.tolist() == [0, 0.5]
    assert gpt.longer.tolist() == [1, 0]
    assert gpt.own.tolist() == [1, 0]
    # The other judge is the reference.
    np.testing.assert_array_equal(gpt.reference, [0, np.nan])
    np.testing.assert_array_equal(llama.reference, [0.5, 0.25])
    np.testing.assert_array_equal(llama.first_wins, [0, np.nan])


def test_a_column_is_the_reference():
    rows = {**columns(), "human": ["a", "b", "a", "b", "a", "b"]}
    # q1: people prefer gpt thrice; q2: gpt thrice, and llama is the first of that pair.
    assert read_judgments(rows).judges[0].reference.tolist() == [1, 0]


def test_figures_and_command(tmp_path, capsys):
    file = tmp_path / "judgments.json"
    file.write_text(json.dumps(columns()))
    measured = measure_judges(read_judgments(file))
    gpt = measured.judges["gpt"]
    # Wins of the first less those of the same candidate shown second: 1 and -1/2.
    assert (gpt.consistency.value, gpt.position.value) == (0, 0.25)
    # Its own, and longer, candidate wins 1/2 and 3/4.
    assert (gpt.own.value, gpt.length.value, gpt.own_beyond.value) == (0.25, 0.25, 0.5)
    done = run(capsys, "judges", file, "--out", tmp_path / "figures.json")
    assert done.code == 0
    assert "6 judgments, 1 without a verdict" in done.out
    assert "First place over second" in done.out
    assert json.loads((tmp_path / "figures.json").read_text())["judges"]["gpt"]["position"]["value"] == 0.25


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"winner": ["good"] * 6}, "row 0 of the table has 'good'"),
        ({"model_b": ["gpt"] * 6}, "row 0 holds .'gpt', 'gpt'"),
        ({"model_a": ["b"] * 6, "winner": ["a", "b", "b", "a", "a", "b"], "model_b": ["a"] * 6}, "names a place and"),
        ({"winner": None}, "a column with the verdict .* name it with verdict_column="),
    ],
)
def test_bad_tables(change, sentence):
    rows = {name: values for name, values in {**columns(), **change}.items() if values is not None}
    with pytest.raises(ValueError, match=sentence):
        read_judgments(rows)
    with pytest.raises(ValueError, match="Did you mean 'judge'"):
        read_judgments(columns(), judge_column="jugde")


class Longest:
    """A judge that prefers the longer answer, and the first of two alike."""

    name, joint = "longest", True

    def choose(self, prompts, choices, *, ids=None, labels=None, progress=True, out=None):
        rows = np.array([[float(len(text)) for text in pair] for pair in choices])
        able = [row for row, prompt in enumerate(prompts) if "broken" not in prompt]
        return Scores(tuple(ids[row] for row in able), Ragged.of_table(rows[able]).table())


def test_a_model_is_asked_in_both_orders():
    pairs = {
        "item": [1, 2, 3],
        "prompt": ["Why?", "How?", "broken"],
        "first_text": ["a", "same", "x"],
        "second_text": ["abc", "same", "y"],
    }
    read = read_judgments(judge_pairs(Longest(), pairs))
    found = measure_judges(read).judges["longest"]
    assert (read.n_rows, read.n_without) == (6, 2)
    assert (found.consistency.value, found.position.value) == (0.5, 0.5)
    assert found.length.value == 1
    single = Longest()
    single.joint = False
    with pytest.raises(ValueError, match="sees both answers at once"):
        judge_pairs(single, pairs)
    with pytest.raises(ValueError, match="it lacks second_text"):
        judge_pairs(Longest(), {name: pairs[name] for name in ("item", "prompt", "first_text")})


PAIRS = {
    "question": ["Why?", "How?"],
    "answer_a": ["film", "good film"],
    "answer_b": ["bad film", "bad"],
    "model_a": ["tiny", "other"],
    "model_b": ["other", "tiny"],
    "human": ["B", "tiny"],
}


def test_pairs_with_the_verdicts_of_people():
    pairs = read_pairs(PAIRS)
    assert pairs["item"] == ["0", "1"]
    assert pairs["reference"] == ["second", "second"]
    columns = judge_pairs(Longest(), pairs, judge="tiny")
    assert columns["reference"] == ["second", "first", "second", "first"]
    found = measure_judges(read_judgments(columns)).judges["tiny"]
    # The judge takes the longer, "other" both times; people take "other" (the longer), then "tiny" (the shorter).
    assert (found.own.value, found.own_beyond.value, found.length_beyond.value) == (-1.0, -0.5, 0.5)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"question": None}, r"a column with the prompt .* prompt, question, .* name it with prompt_column="),
        ({"answer_b": ["bad", " "]}, "the answer shown second in each row of the table, but row 1 holds ' '"),
        ({"model_b": ["other", "other"]}, "row 1 holds .'other', 'other'"),
        ({"human": ["A", "nobody"]}, "row 1 of the table has 'nobody'"),
    ],
)
def test_bad_pairs(change, sentence):
    rows = {name: values for name, values in {**PAIRS, **change}.items() if values is not None}
    with pytest.raises(ValueError, match=sentence):
        read_pairs(rows)


def test_a_model_judges_a_file(tmp_path, capsys):
    save_tiny_causal(tmp_path / "tiny")
    (tmp_path / "pairs.json").write_text(json.dumps(PAIRS))
    asking = ("judges", tmp_path / "pairs.json", "--ask", tmp_path / "tiny", "--judge-name", "tiny")
    done = run(capsys, *asking, "--out", tmp_path / "figures.json")
    assert done.code == 0
    assert "4 judgments" in done.out
    figures = json.loads((tmp_path / "figures.json").read_text())["judges"]["tiny"]
    assert figures["own_beyond"]["n_pairs"] == 2
    # What is kept is a table of judgments that gives the same figures.
    stored = measure_judges(read_judgments(tmp_path / "figures-answers" / "judgments.jsonl")).judges["tiny"]
    assert stored.position.value == figures["position"]["value"]
    one = run(capsys, *asking, "--limit", "1")
    assert "2 judgments" in one.out


def test_settings_of_a_model_need_one(tmp_path, capsys):
    (tmp_path / "judgments.json").write_text(json.dumps(columns()))
    for flags in (("--judge-name", "tiny"), ("--limit", "1"), ("--style", "letters")):
        done = run(capsys, "judges", tmp_path / "judgments.json", *flags)
        assert done.code != 0
        assert f"Expected no {flags[0]} without --ask" in done.err


@pytest.mark.parametrize(("verdict", "wins"), [("a", 1.0), ("b", 0.0)])
def test_a_candidate_may_bear_the_name_of_its_own_place_alone(verdict, wins):
    rows = {"item": [1, 1], "model_a": ["a", "b"], "model_b": ["b", "a"], "winner": [verdict, "tie"]}
    assert read_judgments(rows).judges[0].first_wins.tolist() == [wins]
    with pytest.raises(ValueError, match="names a place and the candidate in the other: rename the candidates"):
        read_judgments({**rows, "winner": ["tie", verdict]})
