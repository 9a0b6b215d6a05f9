"""Stored answers to a suite: tables with headings, and CheckList's prediction files without."""

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
from rightreasons.datasets.suites.cases import Case, Functionality
from rightreasons.datasets.suites.suite import Suite, open_suite

EQUAL, INVARIANT = {"name": "equal"}, {"name": "invariant", "tolerance": 0.1}
SUITE = Suite(
    "tiny",
    ("text",),
    (
        Functionality("words", "W", "MFT", EQUAL, (Case("0", (("bad",),), (0,)), Case("1", (("good",),), (2,)))),
        Functionality("names", "N", "INV", INVARIANT, (Case("0", (("Ann sat",), ("Bo sat",), ("Cy sat",))),)),
        Functionality(
            "more", "M", "DIR", {"name": "monotonic", "increasing": True}, (Case("0", (("good",), ("very good",))),)
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


def lines(*columns, separator=" "):
    return [separator.join(map(str, row)) for row in zip(*columns, strict=True)]


SOFT = [" ".join(map(str, row)) for row in SOFTMAX]


def read(tmp_path, rows, suite=SUITE, *, name="p.txt", end="\n", **options):
    (tmp_path / name).write_text("\n".join(rows) + end, encoding="utf-8")
    return read_suite_answers(tmp_path / name, suite, **options)


def passed(answers, suite=SUITE):
    return score_stored("m", suite, answers, resampling=Resampling(resamples=10)).result.passed


@pytest.mark.parametrize("suite", [SUITE, UNNAMED])
def test_an_answer_and_probabilities(tmp_path, suite):
    given = read(tmp_path, lines(PREDICTED, SOFT), suite, file_format="pred_and_softmax")
    np.testing.assert_array_equal(given.answers, PREDICTED)
    np.testing.assert_array_equal(given.scores, SOFTMAX)
    # The answer counts, not the most probable label: "good" fails. P(neutral) moves from 0.4 to 0.35 and 0.5.
    assert passed(given, suite) == [True, False, True, True]


@pytest.mark.parametrize("name", ["bert", "p.txt", "p.csv"])
def test_probabilities_alone(tmp_path, name):
    rows = [", ".join(map(str, row)) for row in SOFTMAX] if name == "p.csv" else SOFT
    for end in ("", "\n", "\n\n"):
        given = read(tmp_path, rows, name=name, end=end, file_format="softmax")
        assert (given.form, given.answers) == ("softmax", None)
        np.testing.assert_array_equal(given.scores, SOFTMAX)
    assert passed(given) == [True, True, True, True]
    tested = score_stored("m", SUITE, given, resampling=Resampling(resamples=10))
    assert tested.matched.endswith("; the file was read as softmax")


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
    given = read(tmp_path, [*map(str, answers[:5])], suite)
    assert given.form == "pred_only"
    # Without probabilities Bo's other answer fails.
    assert passed(given, suite) == [True, False, False]


TWO = Suite(
    "two",
    ("text",),
    (
        Functionality(
            "f",
            "F",
            "MFT",
            EQUAL,
            tuple(
                Case(str(number), ((text,),), (label,))
                for number, (text, label) in enumerate((("a", 1), ("b", 0), ("c", 1)))
            ),
        ),
    ),
    ("different", "duplicate"),
)


def test_the_format_is_named_where_a_line_has_several_cells(tmp_path):
    rows = ["1 0", "0 1", "0 1"]
    with pytest.raises(
        ValueError, match=r"1 cells .* pred_only, but got 2: name another format \(--predictions-format"
    ):
        read(tmp_path, rows, TWO)
    assert passed(read(tmp_path, rows, TWO, file_format="softmax"), TWO) == [False, False, True]


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
                Case(str(number), (("Ann met Bo.", "Who?"),), (name,)) for number, name in enumerate(("Ann", "Bo", ""))
            ),
        ),
    ),
)


def test_texts(tmp_path):
    given = read(tmp_path, ["Ann", "Cy", ""], READING)
    assert given.answers == ["Ann", "Cy", ""]
    assert passed(given, READING) == [True, False, True]
    # The last answer is empty, and its line has no end.
    assert read(tmp_path, ["Ann", "Cy", ""], READING, end="").answers == ["Ann", "Cy", ""]
    # Only the ends of lines part answers.
    assert read(tmp_path, ["a\u2028b", "c\x0cd", "0.5 0.5"], READING).answers == ["a\u2028b", "c\x0cd", "0.5 0.5"]
    with pytest.raises(ValueError, match="one line for each of the 3 examples of the suite 'reading', .* but got 4"):
        read(tmp_path, ["Ann", "Cy", "Bo", "Di"], READING)
    with pytest.raises(ValueError, match="pred_only as the format of the answers to 'reading', which are texts"):
        read(tmp_path, ["Ann", "Cy", "Bo"], READING, file_format="softmax")


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (SOFT[:-1], "one line for each of the 7 examples of the suite 'tiny', in its order, in p.txt, but got 6"),
        (["0.1 0.2 0.7", *SOFT], "but got 8"),
        ([*SOFT[:3], "0.5 0.5", *SOFT[4:]], "3 cells in each line of p.txt, .* example 3 holds \\['0.5', '0.5'\\]"),
        ([*SOFT[:3], "", *SOFT[4:]], "3 cells in each line of p.txt, .* example 3 holds \\[\\]"),
    ],
)
def test_lines_that_cannot_be_read(tmp_path, rows, sentence):
    with pytest.raises(ValueError, match=sentence):
        read(tmp_path, rows, file_format="softmax")


@pytest.mark.parametrize(
    ("file_format", "rows", "sentence"),
    [
        ("softmax", ["0.5 x 0.5"] * 7, "in each line of p.txt, but that of example 0 holds .*'x'"),
        ("softmax", ["0.5"] * 7, "2 or more cells in each line of p.txt for the format softmax, but got 1"),
        ("pred_and_softmax", ["0 0.5"] * 7, "3 or more cells"),
        ("softmaxx", ["0.5 0.5"] * 7, "`file_format` to be one of .* 'softmaxx'"),
    ],
)
def test_formats_that_do_not_fit(tmp_path, file_format, rows, sentence):
    with pytest.raises(ValueError, match=sentence):
        read(tmp_path, rows, file_format=file_format)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"Expected predictions at .*none.txt, but there is no such file"):
        read_suite_answers(tmp_path / "none.txt", SUITE)
    (tmp_path / "p.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"text in UTF-8 in p.txt"):
        read_suite_answers(tmp_path / "p.txt", SUITE)


def test_tables_with_headings_are_read_as_such(tmp_path):
    rows = ["prediction", *map(str, PREDICTED)]
    given = read(tmp_path, rows, name="p.csv")
    assert (given.form, given.answers.tolist()) == ("", list(PREDICTED))
    with pytest.raises(ValueError, match="Expected class probabilities for an expectation of confidence"):
        passed(given)
    words = ["hateful", "kind", "kind"]
    with pytest.raises(ValueError, match="Expected a column of scores"):
        read(tmp_path, words, READING, name="p.csv")


@pytest.mark.real_data
def test_the_answers_that_checklist_released(real_data, tmp_path):
    # The suite of reading holds the answers of a model and what CheckList counted; no text of it is copied here.
    suite = open_suite("checklist_reading", data_dir=real_data)
    rows, failed = [], {}
    with gzip.open(real_data / "checklist" / "suites" / "squad_suite.jsonl.gz", "rt", encoding="utf-8") as stream:
        for row in map(json.loads, stream):
            results = row["results"]
            rows += [text for case in results["preds"] for text in (case if isinstance(case, list) else [case])]
            failed[row["name"]] = sum(not passed for passed in results["passed"])
    given = read(tmp_path, rows, suite, name="bert")
    assert given.answers == rows
    result = score_stored("m", suite, given, resampling=Resampling(resamples=10)).result
    assert {each.functionality: each.n_cases - each.n_passed for each in result.functionalities} == failed
    assert failed["Former / Latter"] == 475


def test_tables_that_are_no_files(tmp_path):
    want = passed(read(tmp_path, SOFT, file_format="softmax"))
    rows = np.array(SOFTMAX)
    columns = {f"p_{name}": rows[:, place] for place, name in enumerate(("negative", "neutral", "positive"))}
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
    by_name = datasets.Features({"prediction": datasets.ClassLabel(names=["positive", "neutral", "negative"])})
    tables = (
        pd.DataFrame({"prediction": pd.Series(words, dtype="category"), "conf": 0.5}),
        datasets.Dataset.from_dict({"prediction": [2 - answer for answer in PREDICTED]}, features=by_name),
    )
    for table in tables:
        answers = read_suite_answers(table, SUITE).answers
        assert [str(answer) for answer in answers] == words
    for table, message in (
        (pd.DataFrame([[0.5, 0.5]], columns=["p", "p"]), "each .column of the table. once, but 'p' comes again"),
        ([0, 1], r"a table .*, but got \[0, 1\]"),
        (pd.DataFrame({"text": ["x"] * 7}), "a column of scores .* in the table, but its columns are: text"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            read_suite_answers(table, SUITE)


def test_answers_by_their_ids_come_in_any_order(tmp_path):
    ids = [row["id"] for row in SUITE.examples()]
    file = tmp_path / "p.json"
    # A record with a column that is known is one row.
    file.write_text(json.dumps({"answer": "neutral", "case": "a"}))
    assert len(read_suite_answers(file, SUITE)) == 1
    table = pd.DataFrame({"id": ids, "probs": [list(row) for row in SOFTMAX], "prediction": PREDICTED})
    turned = read_suite_answers(table.iloc[::-1], SUITE)
    assert turned.scores.tolist() == [list(row) for row in SOFTMAX]
    assert turned.ids == tuple(ids)


def test_scores_of_a_suite_are_brought_to_fractions_as_those_of_items_are(tmp_path):
    percent = {"p_negative": ["95", "10", "80", "40"], "p_positive": ["5", "90", "20", "60"]}
    pd.DataFrame(percent).to_csv(tmp_path / "p.csv", index=False)
    with pytest.raises(ValueError, match="where these are percentages, say scores=percentages"):
        read_suite_answers(tmp_path / "p.csv", SUITE)
    read = read_suite_answers(tmp_path / "p.csv", SUITE, scores="percentages")
    assert read.scores.tolist() == [[0.95, 0.05], [0.1, 0.9], [0.8, 0.2], [0.4, 0.6]]
    # Five classes printed with two decimals: 0.38 + 4 * 0.15 = 0.98, which rounding explains (5 * 0.005 = 0.025).
    rounded = pd.DataFrame({f"p_{n}": [0.38 if n == row else 0.15 for row in range(4)] for n in range(5)})
    assert np.allclose(read_suite_answers(rounded, SUITE).scores.sum(axis=1), 1, atol=1e-12)
