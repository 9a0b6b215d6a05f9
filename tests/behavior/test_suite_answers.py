"""Stored answers to a suite: tables of every kind."""

import dataclasses
import gzip
import json

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from rightreasons.behavior.measure import read_suite_answers, score_stored
from rightreasons.core.resampling import Resampling
from rightreasons.datasets.suites.suite import Case, Functionality, Suite, open_suite

EQUAL, INVARIANT = {"name": "equal"}, {"name": "invariant", "tolerance": 0.1}
SUITE = Suite(
    "tiny",
    ("text",),
    (
        Functionality(
            "words",
            "W",
            "MFT",
            EQUAL,
            (Case("0", (("bad",),), (0,)), Case("1", (("good",),), (2,))),
        ),
        Functionality(
            "names", "N", "INV", INVARIANT, (Case("0", (("Ann sat",), ("Bo sat",), ("Cy sat",))),)
        ),
        Functionality(
            "more",
            "M",
            "DIR",
            {"name": "monotonic", "increasing": True},
            (Case("0", (("good",), ("very good",))),),
        ),
    ),
    ("negative", "neutral", "positive"),
)
UNNAMED = dataclasses.replace(SUITE, label_names=None)
# "good" is answered neutral though positive is more probable; Bo's answer differs, and P(neutral) moves by 0.1 at most.
SOFTMAX = [
    (0.7, 0.2, 0.1),
    (0.1, 0.4, 0.5),
    (0.3, 0.4, 0.3),
    (0.5, 0.35, 0.15),
    (0.2, 0.5, 0.3),
    (0.1, 0.1, 0.8),
    (0.0, 0.05, 0.95),
]
PREDICTED = (0, 1, 1, 0, 1, 2, 2)


def read(tmp_path, rows, suite=SUITE, *, name="p.csv", **options):
    (tmp_path / name).write_text("\n".join(rows) + "\n", encoding="utf-8")
    return read_suite_answers(tmp_path / name, suite, **options)


def passed(answers, suite=SUITE):
    return score_stored("m", suite, answers, resampling=Resampling(resamples=10)).result.passed


def table_of(suite=SUITE):
    names = suite.label_names or ("0", "1", "2")
    return pd.DataFrame(
        {f"p_{name}": [row[place] for row in SOFTMAX] for place, name in enumerate(names)}
    )


@pytest.mark.parametrize("suite", [SUITE, UNNAMED])
def test_probabilities_alone(tmp_path, suite):
    table_of(suite).to_csv(tmp_path / "p.csv", index=False)
    given = read_suite_answers(tmp_path / "p.csv", suite)
    assert given.answers is None
    np.testing.assert_array_equal(given.scores, SOFTMAX)
    assert passed(given, suite) == [True, True, True, True]


@pytest.mark.parametrize(
    "answers",
    [
        PREDICTED,
        [f"{value}.0" for value in PREDICTED],
        [("negative", "neutral", "positive")[value] for value in PREDICTED],
        [("Negative", "Neutral", "Positive")[value] for value in PREDICTED],
    ],
)
def test_answers_alone(tmp_path, answers):
    suite = dataclasses.replace(SUITE, functionalities=SUITE.functionalities[:2])
    given = read(tmp_path, ["prediction", *map(str, answers[:5])], suite)
    # Without probabilities Bo's other answer fails.
    assert passed(given, suite) == [True, False, False]


READING = Suite(
    "reading",
    ("context", "question"),
    (
        Functionality(
            "who",
            "W",
            "MFT",
            EQUAL,
            tuple(
                Case(str(number), (("Ann met Bo.", "Who?"),), (name,))
                for number, name in enumerate(("Ann", "Bo", ""))
            ),
        ),
    ),
)


def test_texts():
    given = read_suite_answers({"prediction": ["Ann", "Cy", ""]}, READING)
    assert given.answers == ["Ann", "Cy", ""]
    assert passed(given, READING) == [True, False, True]


def test_tables_with_headings_are_read_as_such(tmp_path):
    rows = ["prediction", *map(str, PREDICTED)]
    given = read(tmp_path, rows, name="p.csv")
    assert given.answers.tolist() == list(PREDICTED)
    with pytest.raises(ValueError, match="class probabilities"):
        passed(given)
    words = ["hateful", "kind", "kind"]
    with pytest.raises(ValueError, match="Expected a column of scores"):
        read(tmp_path, words, READING, name="p.csv")


@pytest.mark.real_data
def test_the_answers_that_checklist_released(real_data):
    # The suite of reading holds the answers of a model and what CheckList counted; no text of it is copied here.
    suite = open_suite("checklist_reading", data_dir=real_data, known_issues=False)
    rows, failed = [], {}
    with gzip.open(
        real_data / "checklist" / "suites" / "squad_suite.jsonl.gz", "rt", encoding="utf-8"
    ) as stream:
        for row in map(json.loads, stream):
            results = row["results"]
            rows += [
                text
                for case in results["preds"]
                for text in (case if isinstance(case, list) else [case])
            ]
            failed[row["name"]] = sum(not passed for passed in results["passed"])
    given = read_suite_answers({"prediction": rows}, suite)
    assert given.answers == rows
    result = score_stored("m", suite, given, resampling=Resampling(resamples=10)).result
    assert {
        each.functionality: each.n_cases - each.n_passed for each in result.functionalities
    } == failed
    assert failed["Former / Latter"] == 475


def test_tables_that_are_no_files():
    want = passed(read_suite_answers(table_of(), SUITE))
    rows = np.array(SOFTMAX)
    columns = {
        f"p_{name}": rows[:, place]
        for place, name in enumerate(("negative", "neutral", "positive"))
    }
    turned = {name: columns[name] for name in reversed(columns)}
    for table in (
        pd.DataFrame(turned),
        pa.table(turned),
        datasets.Dataset.from_dict(turned),
        {"probs": SOFTMAX},
        pd.DataFrame({"probs": list(rows)}),
    ):
        assert passed(read_suite_answers(table, SUITE)) == want
    words = [SUITE.label_names[answer] for answer in PREDICTED]
    by_name = datasets.Features(
        {"prediction": datasets.ClassLabel(names=["positive", "neutral", "negative"])}
    )
    tables = (
        pd.DataFrame({"prediction": pd.Series(words, dtype="category"), "conf": 0.5}),
        datasets.Dataset.from_dict(
            {"prediction": [2 - answer for answer in PREDICTED]}, features=by_name
        ),
    )
    for table in tables:
        answers = read_suite_answers(table, SUITE).answers
        assert [str(answer) for answer in answers] == words
    for table, message in (
        (
            pd.DataFrame([[0.5, 0.5]], columns=["p", "p"]),
            "each column of the table once, but 'p' is repeated",
        ),
        ([0, 1], r"a table .*, but got \[0, 1\]"),
        (
            pd.DataFrame({"text": ["x"] * 7}),
            "a column of scores .* in the table, but its columns are: text",
        ),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            read_suite_answers(table, SUITE)


def test_answers_by_their_ids_come_in_any_order(tmp_path):
    ids = [row["id"] for row in SUITE.examples()]
    file = tmp_path / "p.json"
    # A record with a column that is known is one row.
    file.write_text(json.dumps({"answer": "neutral", "case": "a"}))
    assert len(read_suite_answers(file, SUITE)) == 1
    table = pd.DataFrame(
        {"id": ids, "probs": [list(row) for row in SOFTMAX], "prediction": PREDICTED}
    )
    turned = read_suite_answers(table.iloc[::-1], SUITE)
    assert turned.scores.tolist() == [list(row) for row in SOFTMAX]
    assert turned.ids == tuple(ids)


def test_scores_of_a_suite_are_brought_to_fractions_as_those_of_items_are(tmp_path):
    percent = {"p_negative": ["95", "10", "80", "40"], "p_positive": ["5", "90", "20", "60"]}
    pd.DataFrame(percent).to_csv(tmp_path / "p.csv", index=False)
    with pytest.raises(ValueError, match="percentages, set"):
        read_suite_answers(tmp_path / "p.csv", SUITE)
    read = read_suite_answers(tmp_path / "p.csv", SUITE, scores="percentages")
    assert read.scores.tolist() == [[0.95, 0.05], [0.1, 0.9], [0.8, 0.2], [0.4, 0.6]]
    # Five classes printed with two decimals: 0.38 + 4 * 0.15 = 0.98, which rounding explains (5 * 0.005 = 0.025).
    rounded = pd.DataFrame(
        {f"p_{n}": [0.38 if n == row else 0.15 for row in range(4)] for n in range(5)}
    )
    assert np.allclose(read_suite_answers(rounded, SUITE).scores.sum(axis=1), 1, atol=1e-12)
