"""Tables of other tools, whose figures are known: of seven items, the model answers five correctly."""

import json
import re

import datasets
import numpy as np
import pandas as pd
import pytest

import rightreasons
from rightreasons.calibration import read_confidence
from rightreasons.core.errors import OptionError
from rightreasons.io import (
    as_table,
    open_dataset,
    open_multiple_choice,
    read_predictions,
    resolve,
)
from rightreasons.io.descriptions import Description

NAMES = ("contradiction", "entailment", "neutral")
GOLD = [
    "entailment",
    "neutral",
    "contradiction",
    "neutral",
    "entailment",
    "contradiction",
    "entailment",
]
# The largest score is that of the label but for the items 3 and 6.
SCORES = (
    np.array([[1, 6, 3], [2, 1, 7], [5, 3, 2], [6, 1, 3], [2, 5, 3], [7, 2, 1], [3, 2, 5]]) / 10
)
TEXTS = [f"The film, {word} as it was, ended." for word in ("a", "b", "c", "d", "e", "f", "g")]
SCORES_BY_CLASS = [dict(zip(NAMES, row, strict=True)) for row in SCORES.tolist()]


def list_pipeline_output(score_by_class):
    """Return labels and scores of an item as a pipeline returns them, the largest score first."""
    labels = sorted(score_by_class, key=score_by_class.get, reverse=True)
    return [{"label": label, "score": score_by_class[label]} for label in labels]


PIPELINE = [list_pipeline_output(scores) for scores in SCORES_BY_CLASS]
ANSWERS = [entries[0]["label"] for entries in PIPELINE]


def describe(source, **options):
    """Return the number of items, the number of correct answers, and the kind of the table."""
    parsed = read_predictions(source, **options)
    is_correct = parsed.references
    if parsed.kind != "confidence":
        is_correct = parsed.predictions.argmax(1) == parsed.references
    return len(parsed), int(is_correct.sum()), resolve(source).kind


def write_lines(path, rows):
    """Write rows as JSON lines."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def make_rows(**columns):
    """Return a row for each item."""
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


@pytest.mark.parametrize(
    "columns",
    [
        {"gold": GOLD, "text": TEXTS, "output": PIPELINE},
        {"gold": GOLD, "pred": PIPELINE},
        {"gold": GOLD, "output": [entries[0] for entries in PIPELINE]},
    ],
)
def test_outputs_of_a_pipeline_are_read_with_a_column_of_labels(tmp_path, columns):
    path = write_lines(tmp_path / "out.jsonl", make_rows(**columns))

    assert describe(path) == (7, 5, "predictions")
    assert describe(columns) == describe(path)


def test_a_label_with_a_score_and_another_label_are_ambiguous():
    table = {"gold": GOLD, "label": ANSWERS, "score": [0.5] * 7}

    with pytest.raises(OptionError, match="Expected a column of scores"):
        read_predictions(table, label_column="label")
    with pytest.raises(OptionError, match="gold and label"):
        read_predictions(table)

    parsed = read_predictions(
        table, confidence_column="score", correct_column="{{ label == gold }}"
    )
    assert parsed.references.sum() == 5


def test_tables_that_resemble_the_output_of_a_pipeline():
    one_hot = {"labels": [[0, 1], [1, 0], [1, 0]], "scores": [[0.2, 0.8], [0.9, 0.1], [0.3, 0.7]]}
    parsed = read_predictions(one_hot)
    assert parsed.predictions.argmax(1).tolist() == [1, 0, 1]
    assert parsed.references.tolist() == [1, 0, 0]

    # The target of a stance is no label.
    stance = {"target": ["oil", "coal"], "label": ["favor", "against"], "score": [0.9, 0.8]}
    message = "Expected one column with the labels .* label and target|target and label"
    with pytest.raises(OptionError, match=message):
        read_predictions(stance)

    with pytest.raises(OptionError, match="`confidence_column`"):
        read_predictions({"answer": ["a", "b"], "correct": [1, 0], "probability": [0.9, 0.4]})

    annotated = {
        "p_no": [0.9, 0.2],
        "p_yes": [0.1, 0.8],
        "label": ["no", "yes"],
        "annotation": ["unsure", "clear"],
    }
    assert read_predictions(annotated).references.tolist() == [0, 1]


def test_tables_of_other_tools_need_no_options(tmp_path):
    frame = pd.DataFrame(SCORES, columns=NAMES)
    # It has answers, too, which would do without the scores.
    caret = frame.assign(pred=ANSWERS, obs=GOLD, rowIndex=range(7))
    caret.to_csv(tmp_path / "caret.csv")

    tidy = frame.rename(columns=".pred_{}".format)
    tidy = tidy.assign(**{".pred_class": ANSWERS, "text": TEXTS, "truth": GOLD})
    tidy.to_csv(tmp_path / "tidymodels.csv")

    wandb = {
        "columns": ["True Label", *map("score_{}".format, NAMES)],
        "data": [[gold, *scores] for gold, scores in zip(GOLD, SCORES.tolist(), strict=True)],
        "ncols": 4,
        "nrows": 7,
    }
    (tmp_path / "wandb.table.json").write_text(json.dumps(wandb))

    for name in ("caret.csv", "tidymodels.csv", "wandb.table.json"):
        assert describe(tmp_path / name) == (7, 5, "predictions"), name

    labels = [NAMES.index(gold) for gold in GOLD]
    spark = {
        "label": labels,
        "probability": [json.dumps(row) for row in SCORES.tolist()],
        "prediction": labels,
    }
    assert describe(spark) == (7, 5, "predictions")

    torch = pytest.importorskip("torch")
    logits = [torch.tensor(row).log() for row in SCORES]
    _, n_correct, _ = describe(make_rows(logits=logits, label=labels))
    assert n_correct == 5


def test_a_single_column_of_scores_is_that_of_the_label_in_its_name():
    table = {
        "Bewertung": ["gut", "mies", "gut"],
        "Wert P(gut)": ["0,9", "0,2", "0,4"],
        "Nr.": [1, 2, 3],
    }
    # A single message names both options.
    with pytest.raises(OptionError, match="them with `score_columns`") as error:
        read_predictions(table)
    assert {"label_column", "score_columns"} <= set(error.value.option)

    parsed = read_predictions(table, label_column="Bewertung", score_columns="Wert P(gut)")
    is_correct = (parsed.predictions > 0.5) == parsed.references
    assert is_correct.tolist() == [True, True, False]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8"])
def test_quotation_marks_of_excel_and_r_are_removed_from_a_tsv_file(tmp_path, encoding):
    # R quotes the headings; Excel writes UTF-16.
    heading = '"text"\t"label"' if encoding == "utf-8" else "text\tlabel"
    lines = [heading]
    for text, gold in zip(TEXTS, GOLD, strict=True):
        lines.append(f'"{text}"\t{gold}')
    path = tmp_path / "sheet.txt"
    path.write_text("\n".join(lines) + "\n", encoding)

    assert as_table(path)["text"][:] == TEXTS


def test_a_file_without_a_split_name_is_reported(tmp_path):
    frame = pd.DataFrame({"text": TEXTS, "label": GOLD})
    for name in ("train", "heldout"):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)

    with pytest.warns(UserWarning, match="has no split"):
        data = open_dataset(tmp_path)
    assert {name: len(rows) for name, rows in data.items()} == {"train": 7}
    assert "heldout.csv" in " ".join(resolve(tmp_path).doubts)


def test_exports_of_annotation_tools(tmp_path):
    # A single label for all items is a doubt.
    accepted = {
        "text": TEXTS,
        "label": ["POSITIVE"] * 7,
        "answer": ["accept", "reject"] * 3 + ["accept"],
    }
    assert "All items of 'label' have the same label." in resolve(accepted).doubts[0]

    # A list in a list has a single label.
    results = [[{"result": [[gold]]}] for gold in GOLD]
    data = open_dataset(make_rows(text=TEXTS, made=results), label_column="made.result")
    assert [NAMES[label] for label in data["label"][:]] == GOLD

    # A list of words needs an expression.
    words = {"tokens": [text.split() for text in TEXTS], "label": GOLD}
    message = r'with an expression: \'\{\{ tokens \| join\(" "\) \}\}\'\.$'
    with pytest.raises(TypeError, match=message):
        open_dataset(words, text_column="tokens")
    data = open_dataset(words, text_column='{{ tokens | join(" ") }}')
    assert data["text"][:] == TEXTS


def test_missing_texts_and_labels_are_reported_at_once():
    table = {"v1": GOLD, "v2": TEXTS}
    with pytest.raises(OptionError, match="texts .* text_column=.* labels .* label_column="):
        open_dataset(table)

    resolution = resolve(table)
    assert not resolution.readable
    assert all(name in resolution.doubts[0] for name in ("text_column", "label_column"))
    assert len(open_dataset(table, label_column="v1", text_column="v2")) == 7


def test_unlabeled_rows_are_counted():
    """With 0 and 1, -1 is no label unless it has a name."""
    table = {"text": TEXTS, "label": [-1, 0, 1, 1, -1, 0, 0]}
    phrase = "2 rows without a label (-1)"
    assert any(phrase in doubt for doubt in resolve(table).doubts)

    doubts = resolve(table, ["-1=bad", "0=none", "1=good"]).doubts
    assert not any("without a label" in doubt for doubt in doubts)


def test_lines_without_columns_are_split_by_expressions(tmp_path):
    texts = [text.replace(",", "") for text in TEXTS]
    # The format of fastText.
    lines = [f"__label__{gold} {text}\n" for gold, text in zip(GOLD, texts, strict=True)]
    path = tmp_path / "cooking.txt"
    path.write_text("".join(lines))
    with pytest.raises(OptionError, match="such content"):
        open_dataset(path)

    data = open_dataset(
        path,
        column_names=("line",),
        separator="\t",
        text_column='{{ line.partition(" ")[2] }}',
        label_column="{{ line.split()[0][9:] }}",
    )
    assert data.features["label"].int2str(data["label"][:]) == GOLD
    assert data["text"][:] == texts


def test_released_choices_are_read_with_their_passage():
    race = {
        "article": ["Ann met Bob."],
        "question": ["Whom?"],
        "options": [["Ann", "Bob"]],
        "answer": ["B"],
    }
    data = open_multiple_choice(race)
    assert data["prompt"][:] == ["Ann met Bob. Whom?"]
    assert data["label"][:] == [1]

    several_questions = {
        "article": ["A."],
        "questions": [["Q?"]],
        "options": [[["a", "b"]]],
        "answers": [["A"]],
    }
    with pytest.raises(OptionError, match="Expected a column with the right choices"):
        open_multiple_choice(several_questions)

    targets = [{"No.": 1, "Yes.": 0}, {"Ice.": 0, "Fire.": 1, "Tea.": 0}]
    data = open_multiple_choice({"question": ["Red?", "Hot?"], "mc1_targets": targets})
    assert data["choices"][:] == [["No.", "Yes."], ["Ice.", "Fire.", "Tea."]]
    assert data["label"][:] == [0, 1]


def test_a_decimal_point_in_a_column_with_a_decimal_comma_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("label;logit_gut;logit_schlecht\ngut;1.234;2,5\nschlecht;0;3,5\ngut;2,5;1\n")

    with pytest.raises(ValueError, match="decimal mark"):
        read_predictions(path)


@pytest.mark.parametrize(
    "cells", [["['joy', 'fear']", "['joy']", "[]"], ["joy;fear", "joy", ""], ['["joy","fear"]'] * 3]
)
def test_an_expression_selects_one_of_several_labels(cells):
    table = {"text": ["a", "b", "c"], "label": cells}

    data = open_dataset(table, label_column='{{ label | whether("fear") }}')

    assert data.features["label"].names[0] == "fear"
    assert data["label"][0] == 0


def test_a_label_that_lists_other_labels_is_several():
    table = {"text": list("abcd"), "label": ["joy;fear", "joy", "fear;anger", "anger"]}
    with pytest.raises(OptionError, match="'joy;fear' lists several labels"):
        open_dataset(table)

    # "Paris" is no label of another item.
    places = {**table, "label": ["Paris, France", "Lyon, France"] * 2}
    assert open_dataset(places)["label"][:] == [1, 0] * 2


def test_repeated_headings_are_refused(tmp_path):
    joined = tmp_path / "joined.csv"
    joined.write_text("text,label\na,yes\nb,no\ntext,label\nc,yes\n")
    with pytest.raises(ValueError, match="the headings. Delete"):
        open_dataset(str(joined))

    # A single word of the headings is a text like any other.
    path = tmp_path / "text.csv"
    path.write_text("text,label\ntext,yes\nb,label\n")
    assert open_dataset(str(path))["text"][:] == ["text", "b"]


def test_ids_that_pandas_made_floats_are_whole_numbers():
    data = open_dataset({"id": [7.0, 8.0], "text": ["a", "b"], "label": [0, 1]})

    assert data["id"][:] == ["7", "8"]


def test_the_proposed_expression_divides_percentages():
    table = {"item": [1, 2], "confidence": [85, 40], "correct": [1, 0]}
    with pytest.raises(ValueError, match="from 0 to 1") as error:
        read_confidence(table)

    expression = re.search(r"percentages, .* as '([^']+)'", str(error.value))[1]
    confidences = read_confidence(table, confidence_column=expression).confidence
    assert confidences["confidence"].tolist() == [0.85, 0.4]


@pytest.mark.parametrize(
    ("answers", "labels", "n_correct"),
    [
        (["LABEL_1", "LABEL_0", "LABEL_1"], ["1", "0", "0"], 2),
        (["yes", "no", "yes"], [1, 0, 0], 2),
        (["POSITIVE", "NEGATIVE", "POSITIVE"], ["positive", "negative", "negative"], 2),
        (["1", "0", "1"], ["True", "False", "False"], 2),
    ],
)
def test_answers_may_spell_the_labels_differently(answers, labels, n_correct):
    table = {"pred": answers, "gold": labels, "confidence": [0.9, 0.8, 0.7]}

    assert read_predictions(table).references.sum() == n_correct


def test_answers_that_differ_from_all_labels_are_reported():
    brackets = {"pred": ["(A)", "(B)"] * 5, "gold": ["A", "B"] * 5, "confidence": [0.9] * 10}
    with pytest.raises(OptionError, match=r"\(A\), \(B\)") as error:
        read_predictions(brackets)
    expression = re.search(r"such as '([^']+)'", str(error.value))[1]
    assert read_predictions(brackets, correct_column=expression).references.all()

    # The answers count from 0, and the labels from 1.
    numbers = {"pred": [0, 1] * 20, "gold": [1, 2] * 20, "confidence": [0.9] * 40}
    with pytest.warns(UserWarning, match=r"labels match 0\.0%"):
        read_predictions(numbers)


def test_rows_in_memory_get_names_and_missing_texts_are_dropped():
    rows = [("Fine.", "up"), ("Dull.", "down")]
    assert open_dataset(rows, column_names=["text", "label"])["label"][:] == [1, 0]

    frame = pd.DataFrame({"text": ["a", None, "b"], "label": ["x", "x", "y"]})
    assert open_dataset(frame, drop_empty=True)["text"][:] == ["a", "b"]


def test_a_class_label_in_a_list_keeps_its_names():
    label_list = datasets.List(datasets.ClassLabel(names=["up", "down"]))
    features = datasets.Features({"label": label_list})
    table = datasets.Dataset.from_dict({"label": [[0], [1], [0]]}, features=features)
    table = table.add_column("p_down", [0.1, 0.8, 0.6]).add_column("p_up", [0.9, 0.2, 0.4])

    parsed = read_predictions(table)

    assert parsed.label_names == ("down", "up")
    assert parsed.references.tolist() == [1, 0, 1]


def test_utf_16_without_a_byte_order_mark_needs_an_encoding(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("text;label\nÖde;x\nFein;y\n".encode("utf-16-le"))

    with pytest.raises(OptionError, match="Set `encoding`"):
        open_dataset(path)
    assert open_dataset(path, encoding="utf-16-le")["text"][:] == ["Öde", "Fein"]


def test_an_object_of_choices_makes_any_text_a_question():
    choices = {"text": ["a", "b", "c"], "label": ["1", "2", "3"]}
    row = {"stem": "Why?", "choices": choices, "answer": "2"}

    assert open_multiple_choice([row])["label"][:] == [1]


def test_frames_of_polars_are_tables():
    polars = pytest.importorskip("polars", reason="polars is not a dependency")
    score_columns = {f"p_{name}": SCORES[:, column] for column, name in enumerate(NAMES)}
    frame = polars.DataFrame({"text": TEXTS, "label": GOLD, **score_columns})

    assert describe(frame) == (7, 5, "predictions")
    splits = open_dataset({"train": frame, "test": frame})
    assert splits["test"]["text"][:] == TEXTS

    ece = rightreasons.load("ece", label_names=NAMES[::-1])
    results = ece.compute(predictions=frame.select(list(score_columns)), references=frame["label"])
    assert results["accuracy"] == pytest.approx(5 / 7)


def test_items_of_a_resolution_are_values_of_json(tmp_path):
    times = pd.to_datetime(["2024-05-01", None])
    frame = pd.DataFrame(
        {"confidence": [0.9, 0.4], "correct": [1, 0], "when": times, "cost": [0.5, np.nan]}
    )
    frame.to_parquet(tmp_path / "a.parquet")

    complete, missing = resolve(tmp_path / "a.parquet").to_dict()["items"]
    assert complete["when"] == "2024-05-01 00:00:00"
    assert complete["cost"] == 0.5
    assert missing["when"] is None
    assert missing["cost"] is None

    texts = pd.DataFrame({"text": ["Fine.", "Dull."], "label": ["up", "down"], "when": times})
    item = resolve(texts).to_dict()["items"][0]
    assert item["when"].startswith("2024-05-01")


def make_label_studio_result(label):
    """Return the result of an annotation or a prediction; no label for an empty choice."""
    value = {"choices": [label]} if label else None
    return [{"value": value, "type": "choices"}]


def make_label_studio_task(number, labels, answer=None):
    """Return a task of Label Studio's JSON export: an annotation per label, and a prediction."""
    annotations = []
    for rater, label in enumerate(labels):
        result = make_label_studio_result(label)
        annotations.append({"completed_by": rater, "result": result, "was_cancelled": False})
    predictions = []
    if answer:
        result = make_label_studio_result(answer)
        score = 0.5 + number / 100
        predictions.append({"model_version": "v1", "score": score, "result": result})
    return {
        "id": number,
        "data": {"text": f"The {answer} lens of order {number} arrived late, in a plain box."},
        "annotations": annotations,
        "predictions": predictions,
        "total_annotations": len(labels),
    }


# 18 tasks. In tasks 0, 10 and 15, the prediction is "fair", and the first label is not.
FIRST_LABELS = ["good", "poor", "fair"] * 6
LABEL_STUDIO_ANSWERS = list(FIRST_LABELS)
for _task in (0, 10, 15):
    LABEL_STUDIO_ANSWERS[_task] = "fair"
N_EQUAL = sum(map(str.__eq__, FIRST_LABELS, LABEL_STUDIO_ANSWERS))


@pytest.fixture
def label_studio():
    tasks = []
    for number, label in enumerate(FIRST_LABELS):
        tasks.append(make_label_studio_task(number, [label], LABEL_STUDIO_ANSWERS[number]))
    return tasks


def test_annotations_and_predictions_are_items_or_predictions(tmp_path, label_studio):
    path = tmp_path / "export.json"
    path.write_text(json.dumps(label_studio))

    stored = resolve(Description(path, {"kind": "predictions"}))
    items = resolve(Description(path, {"kind": "items"}))
    proposed = resolve(path)

    assert N_EQUAL == 15
    assert stored.columns["right"] == (
        "predictions.result.value.choices",
        "annotations.result.value.choices",
    )
    assert items.columns["label"] == ("annotations.result.value.choices",)
    assert items.columns["text"] == ("data.text",)
    assert "predictions to use the answers, or to items" in " ".join(proposed.doubts)


def test_the_proposed_expression_reads_answers_in_lists_of_objects(label_studio):
    proposed = resolve(as_table(label_studio))

    parsed = read_predictions(
        label_studio,
        correct_column=proposed.comparison,
        confidence_column="predictions.score",
    )

    assert parsed.references.sum() == N_EQUAL
    assert parsed.predictions[3] == pytest.approx(0.53)


def test_several_annotators_vote_if_their_labels_are_named():
    # The second and the third rater overrule the first one, who says "fair", in tasks 5, 11 and 17.
    tasks = []
    for number, label in enumerate(FIRST_LABELS):
        third_label = "poor" if number % 6 == 5 else label
        tasks.append(make_label_studio_task(number, [label, "poor", third_label], label))
    label_column = "annotations.result.value.choices"

    items = resolve(Description(tasks, {"kind": "items"}))
    data = open_dataset(tasks, label_column=label_column)
    parsed = read_predictions(tasks, label_column=label_column, answers_alone=True)

    assert data["label"].count(data.features["label"].str2int("fair")) == 3
    assert "Choose one of predictions.result.value.choices, annotations" in " ".join(items.doubts)
    assert parsed.references.sum() == 15


def test_ids_of_predictions_are_not_scores_and_tasks_without_a_result_are_unlabeled(label_studio):
    for task in label_studio:
        task["predictions"] = [5000 + task["id"]]
    label_studio[3]["annotations"][0]["result"] = []

    data = open_dataset(label_studio)

    assert data["label"][2:5] == [0, -1, 2]
    assert resolve(as_table(label_studio)).kind == "classification"


def test_rows_without_an_answer_are_reported_and_those_without_a_label_refused():
    table = {"label": ["a", "b"] * 6, "prediction": ["a", ""] * 6}
    with pytest.warns(UserWarning, match="6 of 12 rows have no answer"):
        assert read_predictions(table, answers_alone=True).references.sum() == 6

    unlabeled = {**table, "label": ["a", "b", "a", ""] * 3}
    with pytest.raises(OptionError, match="3 of 12 rows") as error:
        read_predictions(unlabeled, answers_alone=True)
    assert error.value.option == ("where",)


def test_equal_options_that_the_answers_never_name_are_the_classes_of_a_form():
    """Prodigy writes the classes into each task, and "answer" says whether the task counts."""
    options = [{"id": "TECH", "text": "Tech"}, {"id": "ARTS", "text": "Arts"}]
    rows = []
    for number, label in enumerate(["TECH", "ARTS", "ARTS"] * 6):
        is_rejected = number % 6 == 0
        row = {
            "text": f"Headline {number}: a studio shows a new chip.",
            "options": options,
            "accept": [] if is_rejected else [label],
            "answer": "reject" if is_rejected else "accept",
        }
        rows.append(row)

    resolution = resolve(as_table(rows))

    assert resolution.kind == "classification"
    assert resolution.columns["label"] == ("accept",)
    assert [doubt.check for doubt in resolution.row_doubts] == ["rejected_rows"]
    # 6 rows of TECH, of which 3 are rejected.
    counts = {row.value: row.count for row in resolution.mapping}
    assert counts == {"ARTS": 12, "TECH": 3, "": 3}


def test_choices_in_fields_of_a_question_are_items_of_multiple_choice():
    """OpenBookQA and ARC, as they are released."""
    choices = [{"text": "The same one.", "label": "A"}, {"text": "Another one.", "label": "B"}]
    rows = []
    for number in range(12):
        question = {"stem": f"Which one is it, in case {number}?", "choices": choices}
        rows.append({"id": f"q{number}", "question": question, "answerKey": "AB"[number % 2]})

    resolution = resolve(as_table(rows))

    assert resolution.kind == "multiple_choice"
    assert resolution.readable is True


def test_a_page_of_the_datasets_server_has_the_names_of_its_classes(tmp_path):
    mood = {"name": "mood", "type": {"_type": "ClassLabel", "names": ["calm", "sad"]}}
    verse = {"name": "verse", "type": {"_type": "Value", "dtype": "string"}}
    rows = []
    for number in range(6):
        row = {"verse": f"Line {number}", "mood": number % 2}
        rows.append({"row_idx": number, "row": row, "truncated_cells": []})
    path = tmp_path / "page.json"
    path.write_text(json.dumps({"features": [verse, mood], "rows": rows}))

    assert as_table(path)["mood"][:2] == ["calm", "sad"]


def test_names_and_probabilities_in_any_order_are_scores_of_classes(tmp_path):
    rows = []
    for gold, entries in zip(GOLD, PIPELINE, strict=True):
        classes = [{"Name": entry["label"], "Score": entry["score"]} for entry in entries]
        rows.append({"File": "in.csv", "Gold": gold, "Classes": classes})
    path = write_lines(tmp_path / "out.jsonl", rows)
    assert describe(path) == (7, 5, "predictions")

    # Distances with a name do not add up to 1.
    rows[0]["Classes"][0]["Score"] = 3.5
    with pytest.raises(OptionError):
        read_predictions(rows)


def test_a_label_that_an_export_repeats_is_not_a_second_system():
    # Of each six messages, the model answers one about refunds as one about accounts.
    answers = ["refund", "account", "account", "refund", "account", "refund"] * 8
    golds = ["refund", "refund", "account", "refund", "account", "refund"] * 8
    rows = []
    for number, (gold, answer) in enumerate(zip(golds, answers, strict=True)):
        variables = {"message": f"Message {number}: where is my parcel?", "expected": gold}
        test = {"vars": variables, "assert": [{"type": "equals", "value": gold}]}
        rows.append({"vars": variables, "response": {"output": answer}, "testCase": test})

    resolution = resolve(as_table(rows))

    assert resolution.columns["right"] == ("response.output", "vars.expected")


def test_a_heading_may_name_its_class_after_an_equals_sign():
    table = {"Rating": GOLD}
    for column, name in enumerate(NAMES):
        table[f"P (Rating={name})"] = SCORES[:, column]

    parsed = read_predictions(table, label_column="Rating")

    assert (parsed.predictions.argmax(1) == parsed.references).sum() == 5


def test_the_doubt_about_columns_of_marks_proposes_an_expression():
    table = {"text": [f"{text} {n}" for n in (1, 2) for text in TEXTS]}
    for name in NAMES:
        table[name] = [int(gold == name) for gold in GOLD * 2]

    (doubt,) = resolve(table).doubts

    expression = doubt.partition("as in '")[2].removesuffix("'.")
    data = open_dataset(table, label_column=expression)
    names = data.features["label"].names
    assert [names[label] for label in data["label"]] == GOLD * 2


def test_fractions_called_prediction_next_to_predicted_classes_are_the_confidence():
    """Weka's output of predictions."""
    table = {
        "inst#": list(range(12)),
        "actual": ["1:pos", "2:neg"] * 6,
        "predicted": ["1:pos", "1:pos", "2:neg"] * 4,
        "prediction": [round(0.5 + number / 25, 3) for number in range(12)],
    }

    parsed = read_predictions(table)

    assert parsed.references.sum() == 6
    assert parsed.predictions[1] == pytest.approx(0.54)


def test_a_doubt_about_labels_names_the_kind_that_answers_would_have():
    labels = ["yes", "no", "no", "yes"] * 3
    answers = ["yes", "yes", "no", "no"] * 3
    questions = [f"Is item {number} on the shelf?" for number in range(12)]
    # They agree in half of the rows, as unrelated columns do.
    items = resolve({"input": questions, "expectedOutput": labels, "actualOutput": answers})
    assert "'expectedOutput', 'actualOutput' have values in common" in items.doubts[-1]

    # Two columns of 0 and 1 share their values whatever they mean.
    flags = {"ref_class": [0, 1, 1, 0] * 3, "hyp_class": [0, 0, 1, 1] * 3}
    textless = resolve(flags)
    assert "`kind` to predictions" in " ".join(textless.doubts)
