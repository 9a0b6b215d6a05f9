"""Tables of predictions are read alike from every form of file, and every mistake is explained."""

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


def write_table(folder, suffix):
    """Write the scores and labels as a file of this type, and return its path."""
    path = folder / f"run{suffix}"
    items = list(zip(SCORES, LABELS, strict=True))
    if suffix in (".csv", ".tsv"):
        separator = "," if suffix == ".csv" else "\t"
        lines = [separator.join(["id", "p_no", "p_yes", "label"])]
        for index, (scores, label) in enumerate(items):
            cells = [f"a{index}", *scores, label]
            lines.append(separator.join(map(str, cells)))
        path.write_text("\n".join(lines))
    elif suffix == ".jsonl":
        records = [{"predictions": scores, "label": label} for scores, label in items]
        path.write_text("\n".join(map(json.dumps, records)))
    elif suffix == ".json":
        path.write_text(json.dumps({"predictions": SCORES, "references": LABELS}))
    elif suffix == ".npz":
        np.savez(path, probabilities=SCORES, references=LABELS)
    else:
        pq.write_table(pa.table({"probs": SCORES, "labels": LABELS}), path)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".json", ".npz", ".parquet"])
def test_every_form_of_file_gives_the_same_predictions(tmp_path, suffix):
    parsed = read_predictions(write_table(tmp_path, suffix))

    np.testing.assert_allclose(parsed.predictions, SCORES)
    assert parsed.references.tolist() == LABELS
    assert len(parsed) == 3


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".json"])
def test_pasted_text_is_read_like_a_file(tmp_path, suffix):
    text = write_table(tmp_path, suffix).read_text()

    parsed = parse_predictions(text)

    np.testing.assert_allclose(parsed.predictions, SCORES)
    assert parsed.references.tolist() == LABELS


def test_the_kind_of_scores_is_read_from_column_names():
    assert parse_predictions("logit_a,logit_b,label\n3,1,a\n-2,0,b").scores == "logits"
    assert parse_predictions("p0,p1,label\n.5,.5,1").scores == "probabilities"
    assert parse_predictions('{"predictions": [3.5, 1.0], "label": 0}').scores is None


def test_numbered_columns_are_sorted():
    parsed = find_predictions({"p2": [0.7], "p0": [0.1], "p1": [0.2], "label": [2]})

    assert parsed.predictions.tolist() == [[0.1, 0.2, 0.7]]
    assert parsed.label_names is None


def test_labels_may_be_class_names():
    parsed = parse_predictions("p_no,p_yes,gold\n.9,.1,no\n.2,.8,yes")

    assert parsed.references.tolist() == [0, 1]
    assert parsed.label_names == ("no", "yes")


def test_rows_of_different_lengths_stay_rows():
    parsed = parse_predictions('{"logits": [1, 2], "label": 0}\n{"logits": [1, 2, 3], "label": 2}')

    assert parsed.predictions == [[1.0, 2.0], [1.0, 2.0, 3.0]]


def test_a_cell_of_a_tsv_file_may_be_a_list():
    parsed = parse_predictions("predictions\tlabel\n[0.9, 0.1]\t0\n[0.2, 0.8]\t1")

    assert parsed.predictions.tolist() == [[0.9, 0.1], [0.2, 0.8]]


def test_scores_may_be_a_single_column_of_positive_probabilities():
    parsed = parse_predictions("probabilities,label\n0.9,1\n0.25,0")

    assert parsed.predictions.tolist() == [0.9, 0.25]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "table of predictions"),
        ("p0,p1,label", "text, but the table is empty"),
        ("a,b\n1,2", "such as label"),
        ("text,label\nx,1", "class such as p_0, p_1"),
        ("p_good,label\n.9,1", "p_good, label; .*`score_columns`"),
        ("p0,p1,label,gold\n.5,.5,1,1", "label and gold"),
        ("p0,p1,logits,label\n.5,.5,1,1", "p0, p1. Choose with `scores`"),
        ("p0,p1,logit0,logit1,label\n1,1,1,1,1", "but got p0, p1 and logit0, logit1. Choose with"),
        ("p1,p3,label\n.5,.5,1", "numbered from"),
        ("p0,p1,label\n.5,high,1", "holds 'high'"),
        ("p_a,p_b,label\n.5,.5,c", "labels are c"),
        (f"p_a,p_b,label\n.5,.5,a\n.5,.5,{10**30}", "1 holds 1000"),
        ("predictions,label\n1,1\n0,0", "number. Predicted"),
        ("predictions,label\nx,1", "column 'predictions'"),
        ('{"predictions": [0.5, 0.5], "label": 0}\n{"pre', "line 2, column"),
        ('{"predictions": [1, 0], "label": 0}\n{"label": 0}', "but item 1 holds None"),
        ("[[0.5, 0.5]]", "rows are lists"),
        ('{"predictions": [[[1, 0]]], "label": [0]}', "scores per item"),
        ('{"predictions": [[1, 0]]', "line 1, column 25"),
        (
            '[{"predictions": [0.5, 0.5], "label": 0}, {"predictions": 0.5, "label": 0}]',
            "but item 1 holds 0.5.",
        ),
        ('{"predictions": [[0.5, 0.5]], "label": [0, 1]}', "'predictions' has"),
        ('p0,p1,label\n"', "last cell is still open"),
    ],
)
def test_mistakes_in_a_table_are_explained(text, message):
    with pytest.raises(ValueError, match=message):
        parse_predictions(text)


def test_files_whose_content_is_not_of_their_type_are_refused(tmp_path):
    message_by_name = {
        "run.ods": (
            "Expected a file of type .csv, .tsv, .jsonl, .json, .*, or a text file with such "
            "content, but got run.ods"
        ),
        "run.npz": "Expected plain numpy arrays in run.npz, but the arrays cannot be read.",
        "run.parquet": "Expected a parquet file, but run.parquet cannot be read as one:",
        "run.csv": "Expected utf-16 text in run.csv, but some bytes are invalid",
    }

    for name, message in message_by_name.items():
        path = tmp_path / name
        path.write_bytes(b"\xff\xfe\x00no")
        # Of all signs, only `.*` is meant as a pattern.
        pattern = re.escape(message).replace(r"\.\*", ".*")
        with pytest.raises(ValueError, match=pattern):
            read_predictions(path)


def test_a_pickle_in_an_npz_file_is_not_opened(tmp_path):
    path = tmp_path / "run.npz"
    np.savez(path, predictions=np.array([{"a": 1}], dtype=object), references=[0])

    with pytest.raises(ValueError, match="Expected plain numpy arrays in run.npz"):
        read_predictions(path)


# -------------------------------------------------------------------------------------------- answers without labels


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".json", ".npz", ".parquet"])
def test_answers_need_no_labels(tmp_path, suffix):
    # The file has a column of labels, which is ignored.
    answers = read_answers(write_table(tmp_path, suffix))

    np.testing.assert_allclose(answers.scores, SCORES)
    assert answers.answers is None
    assert len(answers) == 3


def write_and_read_answers(folder, text, name="answers.csv"):
    path = folder / name
    path.write_text(text)
    return read_answers(path)


def test_the_kind_of_the_scores_of_answers_is_read_from_column_names(tmp_path):
    answers = write_and_read_answers(tmp_path, "logit_no,logit_yes\n3,1\n-2,0\n")
    assert answers.kind == "logits"
    assert answers.label_names == ("no", "yes")

    answers = write_and_read_answers(tmp_path, "predictions\n0.5\n0.25\n")
    assert answers.scores.tolist() == [0.5, 0.25]


@pytest.mark.parametrize("name", ["prediction", "predicted", "predictions", "Answers"])
def test_whole_numbers_are_answers(tmp_path, name):
    answers = write_and_read_answers(tmp_path, f"id,{name}\na,1\nb,0\n")

    assert answers.scores is None
    assert answers.answers.tolist() == [1, 0]
    assert len(answers) == 2


def test_texts_are_answers(tmp_path):
    lines = '{"answer": "in 1990"}\n{"answer": ""}\n'
    assert write_and_read_answers(tmp_path, lines, "a.jsonl").answers == ["in 1990", ""]

    # Unicode ends a line in more ways than a file of JSON lines does.
    unicode_lines = '{"answer": "in\u2028one\x85line"}\n{"answer": "b"}\n'
    answers = write_and_read_answers(tmp_path, unicode_lines, "b.jsonl")
    assert answers.answers == ["in\u2028one\x85line", "b"]


def test_scores_precede_answers(tmp_path):
    answers = write_and_read_answers(tmp_path, "prediction,p_0,p_1\n1,0.2,0.8\n")

    assert answers.answers is None
    assert answers.scores.tolist() == [[0.2, 0.8]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,x\na,1\n", "columns are: id, x"),
        ("prediction\n1\n0.5\n", "column 'prediction'"),
        ("prediction,answer\n1,0\n", "prediction and"),
        ("prediction\n", "at least one row in answers.csv"),
    ],
)
def test_mistakes_in_a_table_of_answers_are_explained(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        write_and_read_answers(tmp_path, text)


def test_answers_with_different_numbers_of_scores_are_refused(tmp_path):
    lines = '{"logits": [1, 2]}\n{"logits": [1, 2, 3]}\n'

    with pytest.raises(ValueError, match="same number of scores"):
        write_and_read_answers(tmp_path, lines, "a.jsonl")


def test_ids_are_texts(tmp_path):
    for suffix in (".csv", ".tsv"):
        assert read_answers(write_table(tmp_path, suffix)).ids == ("a0", "a1", "a2")

    answers = write_and_read_answers(tmp_path, '{"id": 7, "answer": "x"}\n', "a.jsonl")
    assert answers.ids == ("7",)
    columns = '{"ID": ["b", "a"], "probs": [0.5, 0.25]}'
    assert write_and_read_answers(tmp_path, columns, "a.json").ids == ("b", "a")

    np.savez(tmp_path / "a.npz", probs=SCORES, id=["x", "y", "z"])
    assert read_answers(tmp_path / "a.npz").ids == ("x", "y", "z")
    pq.write_table(pa.table({"id": ["x", "y", "z"], "probs": SCORES}), tmp_path / "a.parquet")
    assert read_answers(tmp_path / "a.parquet").ids == ("x", "y", "z")

    assert write_and_read_answers(tmp_path, "prediction\n1\n").ids is None
    with pytest.raises(ValueError, match="length in a.json"):
        write_and_read_answers(tmp_path, '{"id": ["b"], "probs": [0.5, 0.25]}', "a.json")
    with pytest.raises(ValueError, match="of one length in a.json"):
        write_and_read_answers(tmp_path, '{"id": ["b"], "answer": []}', "a.json")


def test_texts_of_a_csv_file_are_unchanged(tmp_path):
    answers = write_and_read_answers(tmp_path, "id,answer\na,film\nb,\nc,NA\nd,None\ne,1990\n")
    assert answers.answers == ["film", "", "NA", "None", "1990"]

    answers = write_and_read_answers(tmp_path, 'answer\n"film"\n""\n')
    assert answers.answers == ["film", ""]

    parsed = parse_predictions("p_None,p_NA,gold\n.9,.1,None\n.2,.8,NA")
    assert parsed.references.tolist() == [0, 1]


def test_empty_cells_are_not_numbers(tmp_path):
    with pytest.raises(ValueError, match="numbers in column 'p_a', but item 1 holds ''"):
        write_and_read_answers(tmp_path, "p_a,p_b\n0.5,0.5\n,1\n")
    with pytest.raises(ValueError, match="'prediction', but item 1 holds nan"):
        write_and_read_answers(tmp_path, "id,prediction\na,1\nb,\n")


def test_an_answer_may_begin_with_a_bracket(tmp_path):
    # The last text would be nested too deep for a parser of JSON.
    texts = ("film", "[the] plot", "[" * 100_000)
    for name in ("answer", "predictions"):
        lines = "\n".join(json.dumps({name: text}) for text in texts)
        answers = write_and_read_answers(tmp_path, lines, "a.jsonl")
        assert answers.answers[1] == "[the] plot"

    lines = '{"answer": "[1]"}\n{"answer": "film"}'
    assert write_and_read_answers(tmp_path, lines, "a.jsonl").answers == ["[1]", "film"]

    # A list of numbers is scores.
    answers = write_and_read_answers(tmp_path, 'predictions\n"[0.5, 0.5]"\n')
    assert answers.scores.tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "prediction\n1\n1e30\n", r"'prediction', but item 1 holds 1e\+30"),
        ("a.jsonl", f'{{"predictions": {10**30}}}', "numbers below"),
        ("a.jsonl", f'{{"probs": {10**400}}}', "in column 'probs', but item 0 holds 1000"),
        ("a.jsonl", f'{{"probs": [{10**400}, 1]}}', r"column 'probs\[0\]'"),
        ("a.jsonl", '{"answer": "film"}\n{"answer": null}', "'answer', but item 1 holds None"),
        ("a.csv", 'prediction\n"[0.9, 0.1]"\n', r"'prediction', but item 0 holds '\[0.9, 0.1\]'"),
        ("a.json", "[" * 100_000, "in a.json, but it is nested deeper"),
        ("a.jsonl", "[" * 100_000, "line 1 of a.jsonl, but it is nested deeper"),
    ],
)
def test_values_that_cannot_be_answers_are_refused(tmp_path, name, text, message):
    with pytest.raises(ValueError, match=message):
        write_and_read_answers(tmp_path, text, name)


def test_a_single_value_in_an_npz_file_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, probs=0.5)

    with pytest.raises(TypeError, match=r"got array\(0.5\)"):
        read_answers(path)


def test_the_error_of_a_missing_column_lists_the_columns():
    with pytest.raises(ValueError, match="its columns are: text, label."):
        find_predictions({"text": ["fine"], "label": [1]})


# ---------------------------------------------------------------------------------------------------- released files

LOGITS = [[2.0, -1.0, 0.5], [0.1, 0.2, 0.3], [-3.0, 4.0, 1.0]]
PROBABILITIES = [[0.8, 0.04, 0.16], [0.3, 0.33, 0.37], [0.0, 0.95, 0.05]]


def write_released_file(folder):
    """Write JSON lines called .json: logits and probabilities, the answer, its confidence, the label."""
    labels = [0, 1, 1]
    lines = []
    for index, label in enumerate(labels):
        record = {
            "index": index,
            "true": label,
            "pred": int(np.argmax(LOGITS[index])),
            "conf": max(PROBABILITIES[index]),
            "logits": LOGITS[index],
            "probs": PROBABILITIES[index],
            "uid": f"u{index}",
        }
        lines.append(json.dumps(record))
    path = folder / "released.json"
    path.write_text("\n".join(lines))
    return path


def test_a_released_file_is_read_as_it_is(tmp_path):
    path = write_released_file(tmp_path)
    for kind, scores in (("logits", LOGITS), ("probabilities", PROBABILITIES)):
        parsed = read_predictions(path, scores=kind)
        assert parsed.predictions.tolist() == scores
        assert parsed.references.tolist() == [0, 1, 1]
        assert parsed.scores == kind
        assert parsed.ids == ("u0", "u1", "u2")
        assert parsed.kind == "top_label"

    with pytest.raises(ValueError, match="probs. Choose with `scores`"):
        read_predictions(path)
    with pytest.raises(ValueError, match="logits, probs"):
        read_predictions(path, scores="log_probabilities")

    # `pred` is 0, 2, 1 and `true` is 0, 1, 1: the answers are correct, incorrect, correct.
    parsed = read_predictions(path, confidence_column="conf")
    assert parsed.kind == "confidence"
    assert parsed.predictions.tolist() == [0.8, 0.37, 0.95]
    assert parsed.references.tolist() == [1, 0, 1]


def make_columns_of_unusual_names():
    return {
        "a": [0.9, 0.2],
        "b": [0.1, 0.8],
        "sure": [0.9, 0.8],
        "ok": ["gut", "schlecht"],
        "y": ["a", "b"],
        "z": [1, 0],
    }


def test_options_name_columns_of_unusual_names():
    columns = make_columns_of_unusual_names()
    with pytest.raises(ValueError, match="sure, ok, y, z"):
        find_predictions(columns, label_column="z")

    # The columns a and b are named as the labels.
    parsed = find_predictions(columns, label_column="y")
    assert parsed.label_names == ("a", "b")

    parsed = find_predictions(columns, label_column="y", score_columns="b,a")
    assert parsed.predictions.tolist() == [[0.1, 0.9], [0.8, 0.2]]
    assert parsed.label_names == ("b", "a")
    assert parsed.references.tolist() == [1, 0]
    assert parsed.used == "scores: b, a; labels: y"

    parsed = find_predictions(columns, confidence_column="sure", correct_column="z")
    assert parsed.kind == "confidence"
    assert parsed.references.tolist() == [1, 0]

    for options, message in (
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
        with pytest.raises(ValueError, match=message):
            find_predictions(columns, **options)

    # `y` is a usual name of labels, and its values are the names of the scores.
    parsed = find_predictions(columns, score_columns="a,b")
    assert parsed.used == "scores: a, b; labels: y"
    del columns["y"]
    with pytest.raises(ValueError, match="with label_column="):
        find_predictions(columns, score_columns="a,b")


def test_every_reader_finds_the_same_columns():
    # Columns that are named as the labels are those of P(label) for every reader, also if there is
    # an answer.
    scores_by_label = {"bad": [0.9, 0.25], "good": [0.1, 0.75], "gold": ["bad", "good"]}
    with_answers = {**scores_by_label, "prediction": ["good", "good"]}
    for columns in (scores_by_label, with_answers):
        assert find_predictions(columns).taken["scores"] == ("p_bad", "p_good")
        answers = read_answers(columns)
        assert answers.label_names == ("bad", "good")
        assert answers.scores.tolist() == [[0.9, 0.1], [0.25, 0.75]]

    # In a table with both scores and a confidence, “category” is the label, as in tables of items.
    items = {"p_bad": [0.9, 0.25], "p_good": [0.1, 0.75], "category": ["bad", "good"]}
    with_confidence = {**items, "confidence": [0.9, 0.75], "prediction": ["bad", "bad"]}
    assert read_confidence(with_confidence).correct.tolist() == [1, 0]

    # Gaps in numbered columns matter only if the columns are used.
    gaps = {"p_0": [0.5, 0.1], "p_2": [0.25, 0.1], "p_5": [0.25, 0.8], "label": ["2", "5"]}

    confidences = read_confidence({**gaps, "confidence": [0.5, 0.8], "correct": [0, 1]})
    assert confidences.correct.tolist() == [0, 1]

    with pytest.raises(ValueError, match="p_2, p_5. Choose"):
        find_predictions(gaps)
    parsed = find_predictions(gaps, score_columns="p_0,p_2,p_5")
    assert parsed.references.tolist() == [1, 2]


def test_labels_and_columns_of_scores_are_matched_by_name_or_by_number():
    for text in (
        "p_hateful,p_non-hateful,label\n.9,.1,hateful\n.2,.8,Non-Hateful\n",
        "prob_hateful,prob_non_hateful,gold_label\n.9,.1,Hateful\n.2,.8,non-hateful\n",
    ):
        parsed = parse_predictions(text)
        assert parsed.references.tolist() == [0, 1]
        assert parsed.label_names[0] == "hateful"

    # Labels 1 and 0 are the names of columns, in whatever order these are read.
    columns = {"p_1": [0.9, 0.2], "p_0": [0.1, 0.8], "label": [1, 0]}
    for options in ({}, {"score_columns": "p_1,p_0"}, {"score_columns": "p_0,p_1"}):
        parsed = find_predictions(columns, **options)
        assert parsed.predictions[range(2), parsed.references].tolist() == [0.9, 0.8]

    # A single column of P(positive), with words as labels.
    parsed = parse_predictions(
        "prob_positive,label\n0.9,positive\n0.3,negative\n", score_columns="prob_positive"
    )
    assert parsed.references.tolist() == [1, 0]
    assert parsed.label_names == ("negative", "positive")

    # Without names, labels are numbers: 3 of three classes can only count from 1.
    parsed = find_predictions({"probs": PROBABILITIES, "label": [1, 3, 2]})
    assert parsed.references.tolist() == [0, 2, 1]

    # 1 and 2 may count from 0 or from 1.
    columns = {"probs": PROBABILITIES, "label": [1, 2, 2]}
    with pytest.raises(ValueError, match="with `label_names`"):
        find_predictions(columns)
    parsed = find_predictions(columns, label_names=["0", "1", "2"])
    assert parsed.references.tolist() == [1, 2, 2]
    for first_label, references in ((0, [1, 2, 2]), (1, [0, 1, 1])):
        parsed = find_predictions(columns, first_label=first_label)
        assert parsed.references.tolist() == references
    assert parse_predictions("p_0,p_1,label\n.5,.5,1\n").references.tolist() == [1]

    words = {"probs": PROBABILITIES, "label": ["e", "n", "c"]}
    with pytest.raises(ValueError, match="scores with `label_names`"):
        find_predictions(words)
    parsed = find_predictions(words, label_names=["e", "n", "c"])
    assert parsed.references.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="3 class names .* but got 2: e, n"):
        find_predictions(words, label_names=["e", "n"])


def test_the_number_of_a_choice_counts_from_0_unless_it_cannot():
    rows = [[0.5, 0.5], [0.2, 0.3, 0.5], [0.2, 0.3, 0.5]]

    from_0 = find_predictions({"probs": rows, "label": [1, 1, 2]})
    assert from_0.references.tolist() == [1, 1, 2]

    # 3 of three choices cannot count from 0.
    from_1 = find_predictions({"probs": rows, "label": [1, 2, 3]})
    assert from_1.references.tolist() == [0, 1, 2]


def test_unlabeled_items_have_the_label_minus_1():
    empty_cell = parse_predictions("p_a,p_b,label\n.9,.1,a\n.2,.8,\n")
    assert empty_cell.references.tolist() == [0, -1]

    missing_value = find_predictions({"probs": PROBABILITIES, "label": [1.0, None, 0.0]})
    assert missing_value.references.tolist() == [1, -1, 0]

    assert find_predictions({"probs": PROBABILITIES}, with_labels=False).references is None


def test_confidences_are_compared_with_correctness():
    text = "question,answer,confidence,correct\nq,Paris,0.9,True\nr,Rome,0.4,false\ns,Bonn,1.0,1\n"
    parsed = parse_predictions(text)
    assert parsed.predictions.tolist() == [0.9, 0.4, 1.0]
    assert parsed.references.tolist() == [1, 0, 1]

    parsed = parse_predictions("prediction,confidence,label\nyes,0.9,yes\nno,0.6,yes\n")
    assert parsed.references.tolist() == [1, 0]

    for text, message in (
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
        with pytest.raises(ValueError, match=message):
            parse_predictions(text)


def test_predicted_classes_are_not_scores():
    for columns, options in (
        ({"predictions": [0, 1, 0], "references": [0, 1, 1]}, {}),
        ({"probs": [0.0, 1.0, 0.0], "references": [0, 1, 1]}, {}),
        ({"pred": [0, 1, 0], "label": [0, 1, 1]}, {"score_columns": "pred"}),
        ({"prediction": ["0", "1"], "label": ["0", "1"]}, {"score_columns": "prediction"}),
    ):
        with pytest.raises(ValueError, match="the confidence of the model"):
            find_predictions(columns, **options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p_0,p_1,label\n.9,.1,0,7\n", r"\(p_0, p_1, label\)"),
        ("p_0,p_1,label\n.9,.1,0\n.9,.1\n", "3 columns .* but row 1 has 2"),
        ("p_0,p_1,label,label\n.9,.1,0,1\n", "needed, occurs twice"),
        ("p_0,p_1,p_1,label\n.9,.1,.2,0\n", "'p_1', which"),
        ('p_0,p_1,label\n.9,.1,"0\n.2,.8,1\n', "quotation mark"),
    ],
)
def test_tables_whose_rows_do_not_fit_their_header_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        parse_predictions(text)


def test_texts_of_a_tsv_file_may_begin_with_a_quotation_mark():
    parsed = parse_predictions('text\tp_a\tp_b\tlabel\n"fine\t.9\t.1\ta\ngood"\t.2\t.8\tb\n')

    assert parsed.columns["text"] == ['"fine', 'good"']
    assert len(parsed) == 2


def test_scores_may_be_printed_by_numpy():
    parsed = parse_predictions("probs,label\n[0.9 0.1],0\n[ 2.e-01  8.e-01 ],1\n")

    assert parsed.predictions.tolist() == [[0.9, 0.1], [0.2, 0.8]]


def test_numbers_may_lack_a_zero_or_have_an_exponent():
    parsed = parse_predictions("probs,label\n.9,1\n 1e-1,0\n")
    assert parsed.predictions.tolist() == [0.9, 0.1]

    with pytest.raises(ValueError, match="type complex128"):
        find_predictions({"probs": np.ones((2, 2)) * 0.5j, "label": [0, 1]})


def test_records_may_be_a_field_of_an_object(tmp_path):
    parsed = parse_predictions(
        '{"data": [{"probs": [0.9, 0.1], "label": 0}, {"probs": [0.3, 0.7], "label": 1}]}'
    )

    assert parsed.references.tolist() == [0, 1]


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="predictions at"):
        read_predictions(tmp_path / "none.csv")


NUMBER = datasets.Value("float64")
SCORE_LIST = datasets.List(NUMBER)
CLASS_LABEL = datasets.ClassLabel(names=["neg", "pos"])


def write_and_read_parquet(folder, label_feature=CLASS_LABEL, **columns):
    """Write two items with the labels 1 and 0, and read their predictions.

    Args:
        folder: The folder of the file.
        label_feature: Feature of the column of labels.
        **columns: Name -> feature and values of each other column.
    """
    features = {"label": label_feature}
    values_by_name = {"label": [1, 0]}
    for name, (feature, values) in columns.items():
        features[name] = feature
        values_by_name[name] = values
    data = datasets.Dataset.from_dict(values_by_name, features=datasets.Features(features))
    path = folder / "p.parquet"
    data.to_parquet(path)
    return read_predictions(path)


def test_labels_of_a_parquet_file_have_the_names_of_its_class_label(tmp_path):
    """The file stores numbers; the description of its columns stores their names."""
    first = (NUMBER, [0.9, 0.2])
    second = (NUMBER, [0.1, 0.8])

    by_name = write_and_read_parquet(tmp_path, p_pos=first, p_neg=second)
    assert by_name.references.tolist() == [0, 1]
    assert by_name.label_names == ("pos", "neg")

    for columns in (
        {"probs": (SCORE_LIST, [[0.9, 0.1], [0.2, 0.8]])},
        {"p_0": first, "p_1": second},
        {"probs": first},
    ):
        in_order = write_and_read_parquet(tmp_path, **columns)
        assert in_order.references.tolist() == [1, 0]
        assert in_order.label_names == ("neg", "pos")

    for answers in (
        (datasets.Value("int64"), [1, 1]),
        (datasets.Value("string"), ["Pos", "Pos"]),
        (CLASS_LABEL, [1, 1]),
    ):
        parsed = write_and_read_parquet(tmp_path, confidence=first, prediction=answers)
        assert parsed.references.tolist() == [1, 0]

    letters = datasets.ClassLabel(names=list("ABCD"))
    rows = (SCORE_LIST, [[0.5, 0.5], [0.2, 0.3, 0.5]])
    choices = write_and_read_parquet(tmp_path, label_feature=letters, probs=rows)
    assert choices.references.tolist() == [1, 0]

    with pytest.raises(ValueError, match="'label' of p.parquet"):
        write_and_read_parquet(tmp_path, p_a=first, p_b=second)
    three_classes = (SCORE_LIST, [[0.8, 0.1, 0.1]] * 2)
    with pytest.raises(ValueError, match="3 class names .* but got 2: neg, pos"):
        write_and_read_parquet(tmp_path, probs=three_classes)


def test_a_pasted_text_may_begin_with_a_byte_order_mark():
    for text in (
        "\ufeffp_no,p_yes,label\r\n0.9,0.1,no\r\n",
        '\ufeff [{"p_no": 0.9, "p_yes": 0.1, "label": "no"}]',
    ):
        parsed = parse_predictions(text)
        assert parsed.predictions.tolist() == [[0.9, 0.1]]
        assert parsed.label_names == ("no", "yes")


def test_columns_of_predictions_may_be_fields_or_expressions():
    rows = [
        {"out": {"p": [0.9, 0.1]}, "pred": "0", "correct": "True"},
        {"out": {"p": [0.3, 0.7]}, "pred": "1", "correct": "False"},
        {"out": {"p": [0.6, 0.4]}, "pred": "0", "correct": "True"},
    ]
    # Of two classes, the label is the other one if the prediction is incorrect.
    label = "{{ pred | int if correct == 'True' else 1 - pred | int }}"

    parsed = read_predictions(rows, label_column=label, score_columns="out.p")

    assert parsed.references.tolist() == [0, 0, 0]
    assert parsed.predictions.tolist() == [[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]]


def test_probabilities_need_labels_and_not_correctness():
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


def test_a_confidence_is_not_a_probability_of_class_1():
    parsed = read_predictions({"confidence": [0.9, 0.6], "correct": [1, 0]})

    # As P(class 1) of the labels 1 and 0, the error would be (0.1 + 0.6) / 2, too.
    with pytest.raises(ValueError, match="pass kind="):
        calibration_error(parsed.predictions, parsed.references)
    result = calibration_error(parsed.predictions, parsed.references, kind=parsed.kind)

    # |0.9 - 1| and |0.6 - 0|, half each.
    assert result.ece == pytest.approx(0.35)


def test_a_table_with_bars_and_numbered_scores_is_read(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("sample|gold|score[0]|score[1]|\na|1|0.1|0.9|\nb|0|0.7|0.3|\n", "utf-8")

    parsed = read_predictions(path, scores="probabilities")

    # Both predictions are correct, with 0.9 and 0.7: (0.1 + 0.3) / 2.
    result = calibration_error(parsed.predictions, parsed.references)
    assert result.ece == pytest.approx(0.2)


def test_correctness_in_other_languages_needs_an_expression():
    with pytest.raises(OptionError, match="`correct_column`") as error:
        parse_predictions("Antwort;confidence;correct\na;0,9;WAHR\nb;0,4;FALSCH\n")
    assert error.value.option == ("correct_column",)

    columns = {"confidence": [0.9, 0.4], "correct": ["WAHR", "FALSCH"]}
    parsed = read_predictions(columns, correct_column='{{ correct == "WAHR" }}')
    assert parsed.references.tolist() == [True, False]


def test_a_confidence_is_not_a_class_score_if_its_kind_is_not_passed(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("confidence,correct\n0.9,1\n0.6,0\n0.8,1\n", "utf-8")
    parsed = read_predictions(path)

    with pytest.raises(ValueError, match="pass kind='confidence'"):
        calibration_error(parsed.predictions, parsed.references)
    result = calibration_error(parsed.predictions, parsed.references, kind=parsed.kind)

    # One bin of 0.5 to 0.667 and one above: |0.6 - 0| / 3 + |1.7 - 2| / 3.
    assert result.ece == pytest.approx(0.3)


def test_lists_of_one_word_are_not_labels_that_name_columns_of_scores():
    table = {"word": [["a"], ["b"]] * 10, "number": [1.5, 2.5] * 10}

    with pytest.raises(OptionError, match="a column with the labels"):
        read_predictions(table)


def test_a_column_cannot_be_both_answers_and_labels():
    columns = {"prediction": ["a", "b"] * 10}

    with pytest.raises(OptionError, match="in two columns") as error:
        read_predictions(columns, answers_alone=True, label_column="prediction")

    assert error.value.option == ("label_column",)


def test_scores_with_exchanged_names_raise_a_doubt(tmp_path):
    # In 36 of 40 rows, the score of the label is in the column of the other class.
    rows = 18 * ["0.8,0.2,up", "0.3,0.7,down"] + 2 * ["0.1,0.9,up", "0.9,0.1,down"]
    path = tmp_path / "moods.csv"
    path.write_text("\n".join(["p_down,p_up,label", *rows]))

    parsed = read_predictions(path)

    assert "match 10.0% of the answers, but would match 90.0%" in parsed.doubt
    assert "(“down” for “up”, “up” for “down”)" in parsed.doubt
    # With the names exchanged, nothing is doubtful.
    path.write_text("\n".join(["p_up,p_down,label", *rows]))
    assert read_predictions(path).doubt == ""
