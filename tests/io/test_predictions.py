"""Tables of predictions: every form of file gives the same, and every mistake its sentence."""

import json
import re

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rightreasons.calibration import calibration_error
from rightreasons.calibration.confidence_table import read_confidence
from rightreasons.core.errors import OptionError
from rightreasons.io.predictions import (
    find_predictions,
    parse_predictions,
    read_answers,
    read_predictions,
)

SCORES = [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]
LABELS = [0, 1, 1]


def write(folder, suffix):
    path = folder / f"run{suffix}"
    if suffix in (".csv", ".tsv"):
        rows = [
            ["id", "p_no", "p_yes", "label"],
            *([f"a{i}", *row, y] for i, (row, y) in enumerate(zip(SCORES, LABELS, strict=True))),
        ]
        path.write_text(
            "\n".join(("," if suffix == ".csv" else "\t").join(map(str, row)) for row in rows)
        )
    elif suffix == ".jsonl":
        path.write_text(
            "\n".join(
                json.dumps({"predictions": row, "label": y})
                for row, y in zip(SCORES, LABELS, strict=True)
            )
        )
    elif suffix == ".json":
        path.write_text(json.dumps({"predictions": SCORES, "references": LABELS}))
    elif suffix == ".npz":
        np.savez(path, probabilities=SCORES, references=LABELS)
    else:
        pq.write_table(pa.table({"probs": SCORES, "labels": LABELS}), path)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".json", ".npz", ".parquet"])
def test_every_form_gives_the_same(tmp_path, suffix):
    read = read_predictions(write(tmp_path, suffix))
    np.testing.assert_allclose(read.predictions, SCORES)
    assert read.references.tolist() == LABELS
    assert len(read) == 3


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".json"])
def test_pasted_text_is_read_as_the_file_is(tmp_path, suffix):
    read = parse_predictions(write(tmp_path, suffix).read_text())
    np.testing.assert_allclose(read.predictions, SCORES)
    assert read.references.tolist() == LABELS


def test_column_names_say_what_the_scores_are():
    assert parse_predictions("logit_a,logit_b,label\n3,1,a\n-2,0,b").scores == "logits"
    assert parse_predictions("p0,p1,label\n.5,.5,1").scores == "probabilities"
    assert parse_predictions('{"predictions": [3.5, 1.0], "label": 0}').scores is None


def test_numbered_columns_are_put_in_order():
    read = find_predictions({"p2": [0.7], "p0": [0.1], "p1": [0.2], "label": [2]})
    assert read.predictions.tolist() == [[0.1, 0.2, 0.7]]
    assert read.label_names is None


def test_class_names_are_labels():
    read = parse_predictions("p_no,p_yes,gold\n.9,.1,no\n.2,.8,yes")
    assert read.references.tolist() == [0, 1]
    assert read.label_names == ("no", "yes")


def test_rows_of_different_lengths_stay_rows():
    read = parse_predictions('{"logits": [1, 2], "label": 0}\n{"logits": [1, 2, 3], "label": 2}')
    assert read.predictions == [[1.0, 2.0], [1.0, 2.0, 3.0]]


def test_list_cells_of_a_csv():
    read = parse_predictions("predictions\tlabel\n[0.9, 0.1]\t0\n[0.2, 0.8]\t1")
    assert read.predictions.tolist() == [[0.9, 0.1], [0.2, 0.8]]


def test_positive_probability_alone():
    assert parse_predictions("probabilities,label\n0.9,1\n0.25,0").predictions.tolist() == [
        0.9,
        0.25,
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "table of predictions"),
        ("p0,p1,label", "text, but the table is empty"),
        (
            "a,b\n1,2",
            "such as label",
        ),
        (
            "text,label\nx,1",
            "class such as p_0, p_1",
        ),
        (
            "p_good,label\n.9,1",
            "p_good, label; .*`score_columns`",
        ),
        (
            "p0,p1,label,gold\n.5,.5,1,1",
            "label and gold",
        ),
        (
            "p0,p1,logits,label\n.5,.5,1,1",
            "p0, p1. Choose with `scores`",
        ),
        ("p0,p1,logit0,logit1,label\n1,1,1,1,1", "but got p0, p1 and logit0, logit1. Choose with"),
        ("p1,p3,label\n.5,.5,1", "numbered from"),
        ("p0,p1,label\n.5,high,1", "holds 'high'"),
        (
            "p_a,p_b,label\n.5,.5,c",
            "labels are c",
        ),
        (
            f"p_a,p_b,label\n.5,.5,a\n.5,.5,{10**30}",
            "1 holds 1000",
        ),
        (
            "predictions,label\n1,1\n0,0",
            "number. Predicted",
        ),
        (
            "predictions,label\nx,1",
            "column 'predictions'",
        ),
        (
            '{"predictions": [0.5, 0.5], "label": 0}\n{"pre',
            "line 2, column",
        ),
        ('{"predictions": [1, 0], "label": 0}\n{"label": 0}', "but item 1 holds None"),
        ("[[0.5, 0.5]]", "rows are lists"),
        (
            '{"predictions": [[[1, 0]]], "label": [0]}',
            "scores per item",
        ),
        (
            '{"predictions": [[1, 0]]',
            "line 1, column 25",
        ),
        (
            '[{"predictions": [0.5, 0.5], "label": 0}, {"predictions": 0.5, "label": 0}]',
            "but item 1 holds 0.5.",
        ),
        (
            '{"predictions": [[0.5, 0.5]], "label": [0, 1]}',
            "'predictions' has",
        ),
        (
            'p0,p1,label\n"',
            "last cell is still open",
        ),
    ],
)
def test_mistakes_have_their_sentence(text, sentence):
    with pytest.raises(ValueError, match=sentence):
        parse_predictions(text)


def test_files_that_are_not_what_they_say(tmp_path):
    for name, sentence in (
        (
            "run.ods",
            "Expected a file of type .csv, .tsv, .jsonl, .json, .*, or a text file with such content, but got run.ods",
        ),
        ("run.npz", "Expected plain numpy arrays in run.npz, but the arrays cannot be read."),
        ("run.parquet", "Expected a parquet file, but run.parquet cannot be read as one:"),
        ("run.csv", "Expected utf-16 text in run.csv, but some bytes are invalid"),
    ):
        path = tmp_path / name
        path.write_bytes(b"\xff\xfe\x00no")
        with pytest.raises(ValueError, match=re.escape(sentence).replace(r"\.\*", ".*")):
            read_predictions(path)


def test_a_pickle_in_an_npz_is_not_opened(tmp_path):
    np.savez(tmp_path / "run.npz", predictions=np.array([{"a": 1}], dtype=object), references=[0])
    with pytest.raises(ValueError, match="Expected plain numpy arrays in run.npz"):
        read_predictions(tmp_path / "run.npz")


# -------------------------------------------------------------------------------------------- answers without labels


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".json", ".npz", ".parquet"])
def test_answers_need_no_labels(tmp_path, suffix):
    read = read_answers(
        write(tmp_path, suffix)
    )  # a column of labels is there, and is not looked at
    np.testing.assert_allclose(read.scores, SCORES)
    assert read.answers is None
    assert len(read) == 3


def answers(tmp_path, text, name="answers.csv"):
    path = tmp_path / name
    path.write_text(text)
    return read_answers(path)


def test_names_of_columns_say_what_the_scores_of_answers_are(tmp_path):
    read = answers(tmp_path, "logit_no,logit_yes\n3,1\n-2,0\n")
    assert (read.kind, read.label_names) == ("logits", ("no", "yes"))
    assert answers(tmp_path, "predictions\n0.5\n0.25\n").scores.tolist() == [0.5, 0.25]


@pytest.mark.parametrize("name", ["prediction", "predicted", "predictions", "Answers"])
def test_whole_numbers_are_answers(tmp_path, name):
    read = answers(tmp_path, f"id,{name}\na,1\nb,0\n")
    assert read.scores is None
    assert read.answers.tolist() == [1, 0]
    assert len(read) == 2


def test_texts_are_answers(tmp_path):
    assert answers(tmp_path, '{"answer": "in 1990"}\n{"answer": ""}\n', "a.jsonl").answers == [
        "in 1990",
        "",
    ]
    # Unicode ends a line in more ways than a file of JSON lines does.
    odd = '{"answer": "in\u2028one\x85line"}\n{"answer": "b"}\n'
    assert answers(tmp_path, odd, "b.jsonl").answers == ["in\u2028one\x85line", "b"]


def test_scores_win_over_answers(tmp_path):
    read = answers(tmp_path, "prediction,p_0,p_1\n1,0.2,0.8\n")
    assert read.answers is None
    assert read.scores.tolist() == [[0.2, 0.8]]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("id,x\na,1\n", "columns are: id, x"),
        ("prediction\n1\n0.5\n", "column 'prediction'"),
        (
            "prediction,answer\n1,0\n",
            "prediction and",
        ),
        ("prediction\n", "at least one row in answers.csv"),
    ],
)
def test_bad_answers(tmp_path, text, sentence):
    with pytest.raises(ValueError, match=sentence):
        answers(tmp_path, text)


def test_answers_of_different_lengths(tmp_path):
    with pytest.raises(ValueError, match="same number of scores"):
        answers(tmp_path, '{"logits": [1, 2]}\n{"logits": [1, 2, 3]}\n', "a.jsonl")


def test_ids_are_kept_as_texts(tmp_path):
    for suffix in (".csv", ".tsv"):
        assert read_answers(write(tmp_path, suffix)).ids == ("a0", "a1", "a2")
    assert answers(tmp_path, '{"id": 7, "answer": "x"}\n', "a.jsonl").ids == ("7",)
    assert answers(tmp_path, '{"ID": ["b", "a"], "probs": [0.5, 0.25]}', "a.json").ids == ("b", "a")
    np.savez(tmp_path / "a.npz", probs=SCORES, id=["x", "y", "z"])
    assert read_answers(tmp_path / "a.npz").ids == ("x", "y", "z")
    pq.write_table(pa.table({"id": ["x", "y", "z"], "probs": SCORES}), tmp_path / "a.parquet")
    assert read_answers(tmp_path / "a.parquet").ids == ("x", "y", "z")
    assert answers(tmp_path, "prediction\n1\n").ids is None
    with pytest.raises(ValueError, match="length in a.json"):
        answers(tmp_path, '{"id": ["b"], "probs": [0.5, 0.25]}', "a.json")
    with pytest.raises(ValueError, match="of one length in a.json"):
        answers(tmp_path, '{"id": ["b"], "answer": []}', "a.json")


def test_texts_of_a_csv_stay_as_they_are(tmp_path):
    read = answers(tmp_path, "id,answer\na,film\nb,\nc,NA\nd,None\ne,1990\n")
    assert read.answers == ["film", "", "NA", "None", "1990"]
    assert answers(tmp_path, 'answer\n"film"\n""\n').answers == ["film", ""]
    assert parse_predictions("p_None,p_NA,gold\n.9,.1,None\n.2,.8,NA").references.tolist() == [0, 1]


def test_empty_cells_of_numbers_are_no_numbers(tmp_path):
    with pytest.raises(ValueError, match="numbers in column 'p_a', but item 1 holds ''"):
        answers(tmp_path, "p_a,p_b\n0.5,0.5\n,1\n")
    with pytest.raises(ValueError, match="'prediction', but item 1 holds nan"):
        answers(tmp_path, "id,prediction\na,1\nb,\n")


def test_an_answer_may_begin_with_a_bracket(tmp_path):
    for name in ("answer", "predictions"):
        lines = [json.dumps({name: text}) for text in ("film", "[the] plot", "[" * 100_000)]
        assert answers(tmp_path, "\n".join(lines), "a.jsonl").answers[1] == "[the] plot"
    assert answers(tmp_path, '{"answer": "[1]"}\n{"answer": "film"}', "a.jsonl").answers == [
        "[1]",
        "film",
    ]
    assert answers(tmp_path, 'predictions\n"[0.5, 0.5]"\n').scores.tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.csv", "prediction\n1\n1e30\n", r"'prediction', but item 1 holds 1e\+30"),
        (
            "a.jsonl",
            f'{{"predictions": {10**30}}}',
            "numbers below",
        ),
        ("a.jsonl", f'{{"probs": {10**400}}}', "in column 'probs', but item 0 holds 1000"),
        (
            "a.jsonl",
            f'{{"probs": [{10**400}, 1]}}',
            r"column 'probs\[0\]'",
        ),
        ("a.jsonl", '{"answer": "film"}\n{"answer": null}', "'answer', but item 1 holds None"),
        ("a.csv", 'prediction\n"[0.9, 0.1]"\n', r"'prediction', but item 0 holds '\[0.9, 0.1\]'"),
        ("a.json", "[" * 100_000, "in a.json, but it is nested deeper"),
        ("a.jsonl", "[" * 100_000, "line 1 of a.jsonl, but it is nested deeper"),
    ],
)
def test_answers_that_are_none(tmp_path, name, text, sentence):
    with pytest.raises(ValueError, match=sentence):
        answers(tmp_path, text, name)


def test_a_single_value_in_an_npz(tmp_path):
    np.savez(tmp_path / "a.npz", probs=0.5)
    with pytest.raises(TypeError, match=r"got array\(0.5\)"):
        read_answers(tmp_path / "a.npz")


def test_a_missing_column_is_told_with_all_that_there_are():
    with pytest.raises(ValueError, match="its columns are: text, label."):
        find_predictions({"text": ["fine"], "label": [1]})


# ---------------------------------------------------------------------------------------------------- released files

LOGITS = [[2.0, -1.0, 0.5], [0.1, 0.2, 0.3], [-3.0, 4.0, 1.0]]
PROBS = [[0.8, 0.04, 0.16], [0.3, 0.33, 0.37], [0.0, 0.95, 0.05]]


def released(folder):
    """Write JSON lines called .json, with logits beside probabilities, the answer, its confidence and the label."""
    rows = [
        {
            "index": i,
            "true": y,
            "pred": int(np.argmax(z)),
            "conf": max(p),
            "logits": z,
            "probs": p,
            "uid": f"u{i}",
        }
        for i, (y, z, p) in enumerate(zip([0, 1, 1], LOGITS, PROBS, strict=True))
    ]
    path = folder / "released.json"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_a_released_file_goes_in_as_it_is(tmp_path):
    for kind, table in (("logits", LOGITS), ("probabilities", PROBS)):
        read = read_predictions(released(tmp_path), scores=kind)
        assert (read.predictions.tolist(), read.references.tolist(), read.scores) == (
            table,
            [0, 1, 1],
            kind,
        )
        assert (read.ids, read.kind) == (("u0", "u1", "u2"), "top_label")
    with pytest.raises(ValueError, match="probs. Choose with `scores`"):
        read_predictions(released(tmp_path))
    with pytest.raises(
        ValueError,
        match="logits, probs",
    ):
        read_predictions(released(tmp_path), scores="log_probabilities")
    read = read_predictions(
        released(tmp_path), confidence_column="conf"
    )  # right where `pred` is `true`: 1, 0, 1
    assert (read.kind, read.predictions.tolist(), read.references.tolist()) == (
        "confidence",
        [0.8, 0.37, 0.95],
        [1, 0, 1],
    )


def test_options_name_what_no_name_tells():
    columns = {
        "a": [0.9, 0.2],
        "b": [0.1, 0.8],
        "sure": [0.9, 0.8],
        "ok": ["gut", "schlecht"],
        "y": ["a", "b"],
        "z": [1, 0],
    }
    with pytest.raises(ValueError, match="sure, ok, y, z"):
        find_predictions(columns, label_column="z")
    assert find_predictions(columns, label_column="y").label_names == (
        "a",
        "b",
    )  # columns that are named as the labels
    read = find_predictions(columns, label_column="y", score_columns="b,a")
    assert (read.predictions.tolist(), read.label_names) == ([[0.1, 0.9], [0.8, 0.2]], ("b", "a"))
    assert read.references.tolist() == [1, 0]
    assert read.used == "scores: b, a; labels: y"
    read = find_predictions(columns, confidence_column="sure", correct_column="z")
    assert (read.kind, read.references.tolist()) == ("confidence", [1, 0])
    for options, sentence in (
        (
            {"score_columns": "a,c", "label_column": "y"},
            "the column 'c' that `score_columns` names in the table",
        ),
        (
            {"score_columns": "a,a", "label_column": "y"},
            "each `score_columns` once, but 'a' is repeated",
        ),
        (
            {"score_columns": "a,b", "label_column": "x"},
            "the column 'x' that `label_column` names in the table",
        ),
        (
            {"score_columns": "a", "confidence_column": "sure"},
            "`score_columns` or `confidence_column`, but got both",
        ),
        (
            {"confidence_column": "sure", "correct_column": "ok"},
            "1 and 0, true and false, or yes and no, .* 'gut'",
        ),
        (
            {"confidence_column": "sure"},
            "shows whether each answer is correct .*; name it with `correct_column`",
        ),
        (
            {"confidence_column": "z", "correct_column": "z"},
            "confidence in each answer, from 0 to 1, .* whole numbers",
        ),
        ({"scores": "softmax"}, "'softmax'"),
    ):
        with pytest.raises(ValueError, match=sentence):
            find_predictions(columns, **options)
    # `y` is a name that labels of items have, and holds the names of the scores.
    assert find_predictions(columns, score_columns="a,b").used == "scores: a, b; labels: y"
    del columns["y"]
    with pytest.raises(ValueError, match="with label_column="):
        find_predictions(columns, score_columns="a,b")


def test_every_reader_takes_columns_for_the_same():
    # Columns that are named as the labels are those of P(label) for every reader, also beside an answer.
    named = {"bad": [0.9, 0.25], "good": [0.1, 0.75], "gold": ["bad", "good"]}
    for columns in (named, {**named, "prediction": ["good", "good"]}):
        assert find_predictions(columns).taken["scores"] == ("p_bad", "p_good")
        read = read_answers(columns)
        assert (read.label_names, read.scores.tolist()) == (
            ("bad", "good"),
            [[0.9, 0.1], [0.25, 0.75]],
        )
    # In a table with both scores and a confidence, “category” is the label, as in tables of items.
    items = {"p_bad": [0.9, 0.25], "p_good": [0.1, 0.75], "category": ["bad", "good"]}
    sure = read_confidence({**items, "confidence": [0.9, 0.75], "prediction": ["bad", "bad"]})
    assert sure.correct.tolist() == [1, 0]
    # Odd numbers of columns that nobody needs refuse nothing; those that are meant can be named.
    odd = {"p_0": [0.5, 0.1], "p_2": [0.25, 0.1], "p_5": [0.25, 0.8], "label": ["2", "5"]}
    sure = read_confidence({**odd, "confidence": [0.5, 0.8], "correct": [0, 1]})
    assert sure.correct.tolist() == [0, 1]
    with pytest.raises(ValueError, match="p_2, p_5. Choose"):
        find_predictions(odd)
    assert find_predictions(odd, score_columns="p_0,p_2,p_5").references.tolist() == [1, 2]


def test_labels_and_columns_of_scores_meet_by_name():
    for text in (
        "p_hateful,p_non-hateful,label\n.9,.1,hateful\n.2,.8,Non-Hateful\n",
        "prob_hateful,prob_non_hateful,gold_label\n.9,.1,Hateful\n.2,.8,non-hateful\n",
    ):
        read = parse_predictions(text)
        assert read.references.tolist() == [0, 1]
        assert read.label_names[0] == "hateful"
    # The labels of two numbers that are names of their columns in another order.
    for options in ({}, {"score_columns": "p_1,p_0"}, {"score_columns": "p_0,p_1"}):
        read = find_predictions({"p_1": [0.9, 0.2], "p_0": [0.1, 0.8], "label": [1, 0]}, **options)
        assert read.predictions[range(2), read.references].tolist() == [0.9, 0.8]
    # One column of P(positive), with words as labels.
    read = parse_predictions(
        "prob_positive,label\n0.9,positive\n0.3,negative\n", score_columns="prob_positive"
    )
    assert (read.references.tolist(), read.label_names) == ([1, 0], ("negative", "positive"))
    # From 1, beyond doubt; and not beyond doubt.
    assert find_predictions({"probs": PROBS, "label": [1, 3, 2]}).references.tolist() == [0, 2, 1]
    with pytest.raises(ValueError, match="with `label_names`"):
        find_predictions({"probs": PROBS, "label": [1, 2, 2]})
    read = find_predictions({"probs": PROBS, "label": [1, 2, 2]}, label_names=["0", "1", "2"])
    assert read.references.tolist() == [1, 2, 2]
    for first, labels in ((0, [1, 2, 2]), (1, [0, 1, 1])):
        read = find_predictions({"probs": PROBS, "label": [1, 2, 2]}, first_label=first)
        assert read.references.tolist() == labels
    assert parse_predictions("p_0,p_1,label\n.5,.5,1\n").references.tolist() == [1]
    with pytest.raises(ValueError, match="scores with `label_names`"):
        find_predictions({"probs": PROBS, "label": ["e", "n", "c"]})
    read = find_predictions({"probs": PROBS, "label": ["e", "n", "c"]}, label_names=["e", "n", "c"])
    assert read.references.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="3 class names .* but got 2: e, n"):
        find_predictions({"probs": PROBS, "label": ["e", "n", "c"]}, label_names=["e", "n"])


def test_the_right_one_of_several_choices_counts_from_0_unless_it_cannot():
    rows = [[0.5, 0.5], [0.2, 0.3, 0.5], [0.2, 0.3, 0.5]]
    assert find_predictions({"probs": rows, "label": [1, 1, 2]}).references.tolist() == [1, 1, 2]
    assert find_predictions({"probs": rows, "label": [1, 2, 3]}).references.tolist() == [0, 1, 2]


def test_items_without_a_label_are_told_apart():
    assert parse_predictions("p_a,p_b,label\n.9,.1,a\n.2,.8,\n").references.tolist() == [0, -1]
    assert find_predictions({"probs": PROBS, "label": [1.0, None, 0.0]}).references.tolist() == [
        1,
        -1,
        0,
    ]
    assert find_predictions({"probs": PROBS}, with_labels=False).references is None


def test_confidence_goes_beside_correctness():
    text = "question,answer,confidence,correct\nq,Paris,0.9,True\nr,Rome,0.4,false\ns,Bonn,1.0,1\n"
    read = parse_predictions(text)
    assert (read.predictions.tolist(), read.references.tolist()) == ([0.9, 0.4, 1.0], [1, 0, 1])
    read = parse_predictions("prediction,confidence,label\nyes,0.9,yes\nno,0.6,yes\n")
    assert read.references.tolist() == [1, 0]
    for text, sentence in (
        (
            "answer,confidence,correct\nx,1,1\ny,1,0\n",
            "confidence in each answer, from 0 to 1, .* whole numbers",
        ),
        (
            "answer,confidence,label\nx,.5,X\nX,.5,X\n",
            "but got 'x' and 'X'. Mark the correct answers",
        ),
        (
            "answer,confidence,correct\nx,85.5,1\n",
            "from 0 to 1 in confidence of the text, but got 85.5. If the scores are percentages",
        ),
        ("answer,confidence\nx,.5\n", "shows whether each answer is correct"),
        (
            "answer,confidence,conf,correct\nx,.5,.5,1\n",
            "one column with the confidence in the text, but got confidence and",
        ),
        (
            "answer,confidence,label\nx,.5,x\ny,.5,\n",
            "a label in each row of the column 'label' of the text, but row 1",
        ),
    ):
        with pytest.raises(ValueError, match=sentence):
            parse_predictions(text)


def test_predicted_classes_are_no_scores():
    for columns, options in (
        ({"predictions": [0, 1, 0], "references": [0, 1, 1]}, {}),
        ({"probs": [0.0, 1.0, 0.0], "references": [0, 1, 1]}, {}),
        ({"pred": [0, 1, 0], "label": [0, 1, 1]}, {"score_columns": "pred"}),
        ({"prediction": ["0", "1"], "label": ["0", "1"]}, {"score_columns": "prediction"}),
    ):
        with pytest.raises(ValueError, match="the confidence of the model"):
            find_predictions(columns, **options)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "p_0,p_1,label\n.9,.1,0,7\n",
            r"\(p_0, p_1, label\)",
        ),
        ("p_0,p_1,label\n.9,.1,0\n.9,.1\n", "3 columns .* but row 1 has 2"),
        (
            "p_0,p_1,label,label\n.9,.1,0,1\n",
            "needed, occurs twice",
        ),
        (
            "p_0,p_1,p_1,label\n.9,.1,.2,0\n",
            "'p_1', which",
        ),
        (
            'p_0,p_1,label\n.9,.1,"0\n.2,.8,1\n',
            "quotation mark",
        ),
    ],
)
def test_tables_whose_rows_are_not_their_header(text, sentence):
    with pytest.raises(ValueError, match=sentence):
        parse_predictions(text)


def test_texts_of_a_tsv_may_begin_with_a_quotation_mark():
    read = parse_predictions('text\tp_a\tp_b\tlabel\n"fine\t.9\t.1\ta\ngood"\t.2\t.8\tb\n')
    assert read.columns["text"] == ['"fine', 'good"']
    assert len(read) == 2


def test_rows_as_numpy_prints_them():
    read = parse_predictions("probs,label\n[0.9 0.1],0\n[ 2.e-01  8.e-01 ],1\n")
    assert read.predictions.tolist() == [[0.9, 0.1], [0.2, 0.8]]


def test_numbers_as_people_write_them():
    assert parse_predictions("probs,label\n.9,1\n 1e-1,0\n").predictions.tolist() == [0.9, 0.1]
    with pytest.raises(ValueError, match="type complex128"):
        find_predictions({"probs": np.ones((2, 2)) * 0.5j, "label": [0, 1]})


def test_records_in_an_object(tmp_path):
    read = parse_predictions(
        '{"data": [{"probs": [0.9, 0.1], "label": 0}, {"probs": [0.3, 0.7], "label": 1}]}'
    )
    assert read.references.tolist() == [0, 1]


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="predictions at"):
        read_predictions(tmp_path / "none.csv")


def test_labels_of_a_parquet_file_go_by_the_names_of_its_class_label(tmp_path):
    """The file stores numbers; the description of its columns, their names."""
    names = datasets.ClassLabel(names=["neg", "pos"])
    number, text, scores = (
        datasets.Value("float64"),
        datasets.Value("string"),
        datasets.List(datasets.Value("float64")),
    )

    def read(label=names, **columns):
        features = datasets.Features(
            {**{name: kind for name, (kind, _) in columns.items()}, "label": label}
        )
        values = {name: column for name, (_, column) in columns.items()}
        datasets.Dataset.from_dict({**values, "label": [1, 0]}, features=features).to_parquet(
            tmp_path / "p.parquet"
        )
        return read_predictions(tmp_path / "p.parquet")

    first, second = [0.9, 0.2], [0.1, 0.8]
    by_name = read(p_pos=(number, first), p_neg=(number, second))
    assert (by_name.references.tolist(), by_name.label_names) == ([0, 1], ("pos", "neg"))
    for columns in (
        {"probs": (scores, [[0.9, 0.1], [0.2, 0.8]])},
        {"p_0": (number, first), "p_1": (number, second)},
        {"probs": (number, first)},
    ):
        in_order = read(**columns)
        assert (in_order.references.tolist(), in_order.label_names) == ([1, 0], ("neg", "pos"))
    for kind, answers in (
        (datasets.Value("int64"), [1, 1]),
        (text, ["Pos", "Pos"]),
        (names, [1, 1]),
    ):
        assert read(confidence=(number, first), prediction=(kind, answers)).references.tolist() == [
            1,
            0,
        ]
    choices = read(
        label=datasets.ClassLabel(names=list("ABCD")), probs=(scores, [[0.5, 0.5], [0.2, 0.3, 0.5]])
    )
    assert choices.references.tolist() == [1, 0]
    with pytest.raises(
        ValueError,
        match="'label' of p.parquet",
    ):
        read(p_a=(number, first), p_b=(number, second))
    with pytest.raises(ValueError, match="3 class names .* but got 2: neg, pos"):
        read(probs=(scores, [[0.8, 0.1, 0.1]] * 2))


def test_a_pasted_text_may_begin_with_a_byte_order_mark():
    for text in (
        "\ufeffp_no,p_yes,label\r\n0.9,0.1,no\r\n",
        '\ufeff [{"p_no": 0.9, "p_yes": 0.1, "label": "no"}]',
    ):
        parsed = parse_predictions(text)
        assert (parsed.predictions.tolist(), parsed.label_names) == ([[0.9, 0.1]], ("no", "yes"))


def test_columns_of_predictions_may_be_fields_or_expressions():
    rows = [
        {"out": {"p": [0.9, 0.1]}, "pred": "0", "correct": "True"},
        {"out": {"p": [0.3, 0.7]}, "pred": "1", "correct": "False"},
        {"out": {"p": [0.6, 0.4]}, "pred": "0", "correct": "True"},
    ]
    label = "{{ pred | int if correct == 'True' else 1 - pred | int }}"
    found = read_predictions(rows, label_column=label, score_columns="out.p")
    assert found.references.tolist() == [0, 0, 0]
    assert found.predictions.tolist() == [[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]]


def test_probabilities_beside_what_was_right_need_labels():
    columns = {
        "run": ["a", "a", "b"],
        "prob0": [0.5, 0.1, 0.7],
        "prob1": [0.5, 0.9, 0.3],
        "correct": ["True", "False", "True"],
    }
    with pytest.raises(ValueError, match="in addition to 'correct'"):
        find_predictions(columns)
    with pytest.raises(ValueError, match="label, labels, gold"):
        find_predictions({"prob0": [0.5], "prob1": [0.5]})


def test_a_confidence_is_no_probability_of_class_1():
    # |0.9 - 1| and |0.6 - 0|, half each: 0.35; of P(class 1) it would be (0.1 + 0.6) / 2 beside labels 1 and 0, too.
    read = read_predictions({"confidence": [0.9, 0.6], "correct": [1, 0]})
    with pytest.raises(
        ValueError,
        match="pass kind=",
    ):
        calibration_error(read.predictions, read.references)
    assert calibration_error(
        read.predictions, read.references, kind=read.kind
    ).ece == pytest.approx(0.35)


def test_a_table_with_bars_and_numbered_scores_is_read(tmp_path):
    text = "sample|gold|score[0]|score[1]|\na|1|0.1|0.9|\nb|0|0.7|0.3|\n"
    (tmp_path / "a.csv").write_text(text, "utf-8")

    read = read_predictions(tmp_path / "a.csv", scores="probabilities")

    # Both are right, with 0.9 and 0.7: (0.1 + 0.3) / 2.
    assert calibration_error(read.predictions, read.references).ece == pytest.approx(0.2)


def test_words_of_other_languages_for_right_are_compared_by_an_expression():
    with pytest.raises(OptionError, match="`correct_column`") as error:
        parse_predictions("Antwort;confidence;correct\na;0,9;WAHR\nb;0,4;FALSCH\n")
    assert error.value.option == ("correct_column",)

    right = '{{ correct == "WAHR" }}'
    read = read_predictions(
        {"confidence": [0.9, 0.4], "correct": ["WAHR", "FALSCH"]}, correct_column=right
    )
    assert read.references.tolist() == [True, False]


def test_a_confidence_is_no_class_score_where_its_kind_is_not_said(tmp_path):
    (tmp_path / "rows.csv").write_text("confidence,correct\n0.9,1\n0.6,0\n0.8,1\n", "utf-8")
    read = read_predictions(tmp_path / "rows.csv")
    with pytest.raises(ValueError, match="pass kind='confidence'"):
        calibration_error(read.predictions, read.references)
    # One bin of 0.5 to 0.667 and one above: |0.6 - 0| / 3 + |1.7 - 2| / 3.
    assert calibration_error(
        read.predictions, read.references, kind=read.kind
    ).ece == pytest.approx(0.3)


def test_lists_of_one_word_name_no_columns_of_scores():
    table = {"word": [["a"], ["b"]] * 10, "number": [1.5, 2.5] * 10}

    with pytest.raises(OptionError, match="a column with the labels"):
        read_predictions(table)


def test_one_column_cannot_be_answers_and_labels():
    with pytest.raises(OptionError, match="in two columns") as error:
        read_predictions(
            {"prediction": ["a", "b"] * 10}, answers_alone=True, label_column="prediction"
        )

    assert error.value.option == ("label_column",)
