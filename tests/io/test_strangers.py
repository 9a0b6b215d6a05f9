"""Tables as other tools write them, whose figures are known: seven items, of which the model answers five right."""

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
SCORES = np.array(
    [[1, 6, 3], [2, 1, 7], [5, 3, 2], [6, 1, 3], [2, 5, 3], [7, 2, 1], [3, 2, 5]]  # rows 3 and 6 are wrong
) / 10  # fmt: skip
TEXTS = [f"The film, {word} as it was, ended." for word in ("a", "b", "c", "d", "e", "f", "g")]
BY_CLASS = [dict(zip(NAMES, row, strict=True)) for row in SCORES.tolist()]
PIPELINE = [
    [
        {"label": label, "score": score}
        for label, score in sorted(row.items(), key=lambda pair: -pair[1])
    ]
    for row in BY_CLASS
]
ANSWERS = [row[0]["label"] for row in PIPELINE]


def right(source, **options):
    """Return how many of the items are answered right, and in which kind of table."""
    read = read_predictions(source, **options)
    correct = (
        read.references
        if read.kind == "confidence"
        else read.predictions.argmax(1) == read.references
    )
    return len(read), int(correct.sum()), resolve(source).kind


@pytest.mark.parametrize(
    "rows",
    [
        [
            {"gold": gold, "text": text, "output": out}
            for gold, text, out in zip(GOLD, TEXTS, PIPELINE, strict=True)
        ],
        [{"gold": gold, "pred": out} for gold, out in zip(GOLD, PIPELINE, strict=True)],
        [{"gold": gold, "output": out[0]} for gold, out in zip(GOLD, PIPELINE, strict=True)],
    ],
)
def test_what_a_pipeline_returned_is_read_beside_a_column_of_labels(tmp_path, rows):
    (tmp_path / "out.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert right(tmp_path / "out.jsonl") == right(
        {name: [row[name] for row in rows] for name in rows[0]}
    )
    assert right(tmp_path / "out.jsonl") == (7, 5, "predictions")


def test_a_label_and_a_score_beside_another_label_are_refused():
    table = {"gold": GOLD, "label": ANSWERS, "score": [0.5] * 7}
    with pytest.raises(OptionError, match="Expected a column of scores"):
        read_predictions(table, label_column="label")
    with pytest.raises(OptionError, match="gold and label"):
        read_predictions(table)
    right = "{{ label == gold }}"
    assert (
        read_predictions(table, confidence_column="score", correct_column=right).references.sum()
        == 5
    )


def test_what_looks_like_a_pipeline_s_output_and_is_none():
    """One-hot labels beside scores by position, and the target of a stance beside its label."""
    one_hot = {"labels": [[0, 1], [1, 0], [1, 0]], "scores": [[0.2, 0.8], [0.9, 0.1], [0.3, 0.7]]}
    read = read_predictions(one_hot)
    assert (read.predictions.argmax(1).tolist(), read.references.tolist()) == ([1, 0, 1], [1, 0, 0])
    stance = {"target": ["oil", "coal"], "label": ["favor", "against"], "score": [0.9, 0.8]}
    with pytest.raises(
        OptionError,
        match="Expected one column with the labels .* label and target|target and label",
    ):
        read_predictions(stance)
    with pytest.raises(OptionError, match="`confidence_column`"):
        read_predictions({"answer": ["a", "b"], "correct": [1, 0], "probability": [0.9, 0.4]})
    noted = {
        "p_no": [0.9, 0.2],
        "p_yes": [0.1, 0.8],
        "label": ["no", "yes"],
        "annotation": ["unsure", "clear"],
    }
    assert read_predictions(noted).references.tolist() == [0, 1]


def test_tables_of_other_tools_are_read_on_the_first_try(tmp_path):
    frame = pd.DataFrame(SCORES, columns=NAMES)
    caret = frame.assign(pred=ANSWERS, obs=GOLD, rowIndex=range(7))
    caret.to_csv(tmp_path / "caret.csv")  # has answers, too, which would do without the scores
    tidy = frame.rename(columns=".pred_{}".format).assign(
        **{".pred_class": ANSWERS, "text": TEXTS, "truth": GOLD}
    )
    tidy.to_csv(tmp_path / "tidymodels.csv")
    rows = [[gold, *scores] for gold, scores in zip(GOLD, SCORES.tolist(), strict=True)]
    wandb = {
        "columns": ["True Label", *map("score_{}".format, NAMES)],
        "data": rows,
        "ncols": 4,
        "nrows": 7,
    }
    (tmp_path / "wandb.table.json").write_text(json.dumps(wandb))
    for name in ("caret.csv", "tidymodels.csv", "wandb.table.json"):
        assert right(tmp_path / name) == (7, 5, "predictions"), name
    labels = [NAMES.index(gold) for gold in GOLD]
    spark = {
        "label": labels,
        "probability": [json.dumps(row) for row in SCORES.tolist()],
        "prediction": labels,
    }
    assert right(spark) == (7, 5, "predictions")
    torch = pytest.importorskip("torch")
    assert (
        right(
            [
                {"logits": torch.tensor(row).log(), "label": label}
                for row, label in zip(SCORES, labels, strict=True)
            ]
        )[1]
        == 5
    )


def test_one_column_of_scores_is_named_after_a_label_in_words():
    table = {
        "Bewertung": ["gut", "mies", "gut"],
        "Wert P(gut)": ["0,9", "0,2", "0,4"],
        "Nr.": [1, 2, 3],
    }
    with pytest.raises(OptionError, match="them with `score_columns`") as told:
        read_predictions(table)  # one sentence for both
    assert {"label_column", "score_columns"} <= {*told.value.option}
    read = read_predictions(table, label_column="Bewertung", score_columns="Wert P(gut)")
    assert ((read.predictions > 0.5) == read.references).tolist() == [True, True, False]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8"])
def test_marks_around_the_cells_of_a_tsv_are_quotes_where_excel_or_r_wrote_it(tmp_path, encoding):
    quoted = '"text"\t"label"\n' if encoding == "utf-8" else "text\tlabel\n"
    quoted += "".join(f'"{text}"\t{gold}\n' for text, gold in zip(TEXTS, GOLD, strict=True))
    (tmp_path / "sheet.txt").write_text(quoted, encoding)
    assert as_table(tmp_path / "sheet.txt")["text"][:] == TEXTS


def test_a_file_beside_splits_that_is_none_is_told(tmp_path):
    for name in ("train", "heldout"):
        pd.DataFrame({"text": TEXTS, "label": GOLD}).to_csv(tmp_path / f"{name}.csv", index=False)
    with pytest.warns(UserWarning, match="has no split"):
        assert {name: len(rows) for name, rows in open_dataset(tmp_path).items()} == {"train": 7}
    assert "heldout.csv" in " ".join(resolve(tmp_path).doubts)


def test_annotation_tools(tmp_path):
    """One label for all is doubted; a list in a list is its one label; words in a list have an expression."""
    accepted = {
        "text": TEXTS,
        "label": ["POSITIVE"] * 7,
        "answer": ["accept", "reject"] * 3 + ["accept"],
    }
    assert "All items of 'label' have the same label." in resolve(accepted).doubts[0]
    chosen = [
        {"text": text, "made": [{"result": [[gold]]}]}
        for text, gold in zip(TEXTS, GOLD, strict=True)
    ]
    opened = open_dataset(chosen, label_column="made.result")
    assert [NAMES[label] for label in opened["label"][:]] == GOLD
    words = {"tokens": [text.split() for text in TEXTS], "label": GOLD}
    with pytest.raises(
        TypeError, match=r'with an expression: \'\{\{ tokens \| join\(" "\) \}\}\'\.$'
    ):
        open_dataset(words, text_column="tokens")
    assert open_dataset(words, text_column='{{ tokens | join(" ") }}')["text"][:] == TEXTS


def test_texts_and_labels_that_are_missing_are_said_at_once():
    table = {"v1": GOLD, "v2": TEXTS}
    said = "texts .* text_column=.* labels .* label_column="
    with pytest.raises(OptionError, match=said):
        open_dataset(table)
    shown = resolve(table)
    assert not shown.readable
    assert all(name in shown.doubts[0] for name in ("text_column", "label_column"))
    assert len(open_dataset(table, label_column="v1", text_column="v2")) == 7


def test_rows_without_a_label_are_counted():
    """-1 is no label beside 0 and 1, unless it is named one."""
    table = {"text": TEXTS, "label": [-1, 0, 1, 1, -1, 0, 0]}
    told = (
        "2 rows have no label (-1), and are left out of results that need labels. If one of these "
        "values is a label, rename it with `label_names`."
    )
    assert told in resolve(table).doubts
    assert not any(
        "no label" in doubt for doubt in resolve(table, ["-1=bad", "0=none", "1=good"]).doubts
    )


def test_a_text_without_columns_is_taken_apart_by_expressions(tmp_path):
    texts = [text.replace(",", "") for text in TEXTS]
    lines = [f"__label__{gold} {text}\n" for gold, text in zip(GOLD, texts, strict=True)]
    (tmp_path / "cooking.txt").write_text("".join(lines))
    with pytest.raises(OptionError, match="such content"):
        open_dataset(tmp_path / "cooking.txt")
    expression = '{{ line.partition(" ")[2] }}'
    how = {
        "column_names": ("line",),
        "separator": "\t",
        "label_column": "{{ line.split()[0][9:] }}",
    }
    read = open_dataset(tmp_path / "cooking.txt", text_column=expression, **how)
    assert (read.features["label"].int2str(read["label"][:]), read["text"][:]) == (GOLD, texts)


def test_released_choices_are_read_with_their_passage():
    race = {
        "article": ["Ann met Bob."],
        "question": ["Whom?"],
        "options": [["Ann", "Bob"]],
        "answer": ["B"],
    }
    read = open_multiple_choice(race)
    assert (read["prompt"][:], read["label"][:]) == (["Ann met Bob. Whom?"], [1])
    with pytest.raises(OptionError, match="Expected a column with the right choices"):
        open_multiple_choice(
            {
                "article": ["A."],
                "questions": [["Q?"]],
                "options": [[["a", "b"]]],
                "answers": [["A"]],
            }
        )
    targets = [{"No.": 1, "Yes.": 0}, {"Ice.": 0, "Fire.": 1, "Tea.": 0}]
    read = open_multiple_choice({"question": ["Red?", "Hot?"], "mc1_targets": targets})
    assert (read["choices"][:], read["label"][:]) == (
        [["No.", "Yes."], ["Ice.", "Fire.", "Tea."]],
        [0, 1],
    )


def test_a_point_beside_a_decimal_comma_is_no_decimal_point(tmp_path):
    (tmp_path / "a.csv").write_text(
        "label;logit_gut;logit_schlecht\ngut;1.234;2,5\nschlecht;0;3,5\ngut;2,5;1\n"
    )
    with pytest.raises(ValueError, match="decimal mark"):
        read_predictions(tmp_path / "a.csv")


@pytest.mark.parametrize(
    "cells", [["['joy', 'fear']", "['joy']", "[]"], ["joy;fear", "joy", ""], ['["joy","fear"]'] * 3]
)
def test_several_labels_as_pandas_writes_them(cells):
    read = open_dataset(
        {"text": ["a", "b", "c"], "label": cells}, label_column='{{ label | whether("fear") }}'
    )
    assert (read.features["label"].names[0], read["label"][0]) == ("fear", 0)


def test_labels_that_list_others_are_several():
    table = {"text": list("abcd"), "label": ["joy;fear", "joy", "fear;anger", "anger"]}
    with pytest.raises(OptionError, match="'joy;fear' lists several labels"):
        open_dataset(table)
    assert (
        open_dataset({**table, "label": ["Paris, France", "Lyon, France"] * 2})["label"][:]
        == [1, 0] * 2
    )


def test_headings_that_come_again_are_told(tmp_path):
    (tmp_path / "joined.csv").write_text("text,label\na,yes\nb,no\ntext,label\nc,yes\n")
    with pytest.raises(ValueError, match="the headings. Delete"):
        open_dataset(str(tmp_path / "joined.csv"))
    (tmp_path / "text.csv").write_text(
        "text,label\ntext,yes\nb,label\n"
    )  # a word of the headings is none
    assert open_dataset(str(tmp_path / "text.csv"))["text"][:] == ["text", "b"]


def test_ids_once_were_whole_numbers():
    assert open_dataset({"id": [7.0, 8.0], "text": ["a", "b"], "label": [0, 1]})["id"][:] == [
        "7",
        "8",
    ]


def test_percentages_of_confidence_are_divided_by_an_expression():
    table = {"item": [1, 2], "confidence": [85, 40], "correct": [1, 0]}
    with pytest.raises(ValueError, match="from 0 to 1") as told:
        read_confidence(table)
    expression = re.search(r"percentages, .* as '([^']+)'", str(told.value))[1]
    assert read_confidence(table, confidence_column=expression).confidence[
        "confidence"
    ].tolist() == [0.85, 0.4]


@pytest.mark.parametrize(
    ("answers", "labels", "n_right"),
    [
        (["LABEL_1", "LABEL_0", "LABEL_1"], ["1", "0", "0"], 2),
        (["yes", "no", "yes"], [1, 0, 0], 2),
        (["POSITIVE", "NEGATIVE", "POSITIVE"], ["positive", "negative", "negative"], 2),
        (["1", "0", "1"], ["True", "False", "False"], 2),
    ],
)
def test_answers_say_the_labels_in_their_own_way(answers, labels, n_right):
    read = read_predictions({"pred": answers, "gold": labels, "confidence": [0.9, 0.8, 0.7]})
    assert read.references.sum() == n_right


def test_answers_that_are_none_of_the_labels(tmp_path):
    """Ten letters in brackets, and forty numbers that count from another one than the labels."""
    table = {"pred": ["(A)", "(B)"] * 5, "gold": ["A", "B"] * 5, "confidence": [0.9] * 10}
    with pytest.raises(OptionError, match=r"\(A\), \(B\)") as told:
        read_predictions(table)
    expression = re.search(r"such as '([^']+)'", str(told.value))[1]
    assert read_predictions(table, correct_column=expression).references.all()
    with pytest.warns(UserWarning, match=r"labels match 0\.0%"):
        read_predictions({"pred": [0, 1] * 20, "gold": [1, 2] * 20, "confidence": [0.9] * 40})


def test_rows_in_memory_get_names_and_missing_texts_are_missing():
    rows = [("Fine.", "up"), ("Dull.", "down")]
    assert open_dataset(rows, column_names=["text", "label"])["label"][:] == [1, 0]
    frame = pd.DataFrame({"text": ["a", None, "b"], "label": ["x", "x", "y"]})
    assert open_dataset(frame, drop_empty=True)["text"][:] == ["a", "b"]


def test_a_classlabel_within_a_list_keeps_its_names():
    names = datasets.Features({"label": datasets.List(datasets.ClassLabel(names=["up", "down"]))})
    table = datasets.Dataset.from_dict({"label": [[0], [1], [0]]}, features=names)
    table = table.add_column("p_down", [0.1, 0.8, 0.6]).add_column("p_up", [0.9, 0.2, 0.4])
    read = read_predictions(table)
    assert (read.label_names, read.references.tolist()) == (("down", "up"), [1, 0, 1])


def test_utf_16_without_its_mark_needs_an_encoding(tmp_path):
    (tmp_path / "a.csv").write_bytes("text;label\nÖde;x\nFein;y\n".encode("utf-16-le"))
    with pytest.raises(OptionError, match="Set `encoding`"):
        open_dataset(tmp_path / "a.csv")
    assert open_dataset(tmp_path / "a.csv", encoding="utf-16-le")["text"][:] == ["Öde", "Fein"]


def test_a_question_with_its_choices_by_any_name():
    row = {
        "stem": "Why?",
        "choices": {"text": ["a", "b", "c"], "label": ["1", "2", "3"]},
        "answer": "2",
    }
    assert open_multiple_choice([row])["label"][:] == [1]


def test_frames_of_polars():
    polars = pytest.importorskip("polars", reason="polars is not a dependency")
    columns = {f"p_{name}": SCORES[:, place] for place, name in enumerate(NAMES)}
    frame = polars.DataFrame({"text": TEXTS, "label": GOLD} | columns)
    assert right(frame) == (7, 5, "predictions")
    assert open_dataset({"train": frame, "test": frame})["test"]["text"][:] == TEXTS
    ece = rightreasons.load("ece", label_names=NAMES[::-1])
    scores = frame.select(f"p_{name}" for name in NAMES)
    assert ece.compute(predictions=scores, references=frame["label"])["accuracy"] == pytest.approx(
        5 / 7
    )


def test_a_result_holds_items_as_json_has_them(tmp_path):
    frame = pd.DataFrame(
        {"confidence": [0.9, 0.4], "correct": [1, 0], "when": pd.to_datetime(["2024-05-01", None])}
    )
    frame.assign(cost=[0.5, np.nan]).to_parquet(tmp_path / "a.parquet")
    first, second = resolve(tmp_path / "a.parquet").to_dict()["items"]
    assert (first["when"], first["cost"]) == ("2024-05-01 00:00:00", 0.5)
    assert (second["when"], second["cost"]) == (None, None)
    texts = pd.DataFrame(
        {"text": ["Fine.", "Dull."], "label": ["up", "down"], "when": frame["when"]}
    )
    assert resolve(texts).to_dict()["items"][0]["when"].startswith("2024-05-01")


def make_label_studio_task(number, labels, answer=None):
    """A task of Label Studio's JSON export: an annotation per label, and a prediction."""

    def choose(label):
        return [{"value": {"choices": [label]} if label else None, "type": "choices"}]

    annotations = [
        {"completed_by": rater, "result": choose(label), "was_cancelled": False}
        for rater, label in enumerate(labels)
    ]
    prediction = {"model_version": "v1", "score": 0.5 + number / 100, "result": choose(answer)}
    return {
        "id": number,
        "data": {"text": f"The {answer} lens of order {number} arrived late, in a plain box."},
        "annotations": annotations,
        "predictions": [prediction] if answer else [],
        "total_annotations": len(labels),
    }


# 18 tasks, of which the prediction agrees with the first label but in tasks 0, 5, 10 and 15.
FIRST_LABELS = ["good", "poor", "fair"] * 6
LABEL_STUDIO_ANSWERS = [
    "fair" if number % 5 == 0 and label != "fair" else label
    for number, label in enumerate(FIRST_LABELS)
]
N_EQUAL = sum(map(str.__eq__, FIRST_LABELS, LABEL_STUDIO_ANSWERS))


@pytest.fixture
def label_studio():
    pairs = zip(FIRST_LABELS, LABEL_STUDIO_ANSWERS, strict=True)
    return [
        make_label_studio_task(number, [label], answer)
        for number, (label, answer) in enumerate(pairs)
    ]


def test_annotations_and_predictions_are_items_or_predictions(tmp_path, label_studio):
    (tmp_path / "export.json").write_text(json.dumps(label_studio))

    stored = resolve(Description(tmp_path / "export.json", {"kind": "predictions"}))
    items = resolve(Description(tmp_path / "export.json", {"kind": "items"}))
    proposed = resolve(tmp_path / "export.json")

    assert N_EQUAL == 15
    assert stored.columns["right"] == (
        "predictions.result.value.choices",
        "annotations.result.value.choices",
    )
    assert items.columns["label"] == ("annotations.result.value.choices",)
    assert items.columns["text"] == ("data.text",)
    assert "predictions to use the answers, or to items" in " ".join(proposed.doubts)


def test_the_expression_of_answers_in_lists_of_objects_is_read_again(label_studio):
    proposed = resolve(as_table(label_studio))

    read = read_predictions(
        label_studio,
        correct_column=proposed.comparison,
        confidence_column="predictions.score",
    )

    assert read.references.sum() == N_EQUAL
    assert read.predictions[3] == pytest.approx(0.53)


def test_several_annotators_vote_if_their_labels_are_named():
    # The second and the third rater overrule the first one, who says "fair", in tasks 5, 11 and 17.
    tasks = []
    for number, label in enumerate(FIRST_LABELS):
        third_label = "poor" if number % 6 == 5 else label
        tasks.append(make_label_studio_task(number, [label, "poor", third_label], label))

    items = resolve(Description(tasks, {"kind": "items"}))
    opened = open_dataset(tasks, label_column="annotations.result.value.choices")
    read = read_predictions(
        tasks, label_column="annotations.result.value.choices", answers_alone=True
    )

    assert opened["label"].count(opened.features["label"].str2int("fair")) == 3
    assert "Choose one of predictions.result.value.choices, annotations" in " ".join(items.doubts)
    assert read.references.sum() == 15


def test_ids_of_predictions_are_no_scores_and_tasks_without_a_result_have_no_label(label_studio):
    for task in label_studio:
        task["predictions"] = [5000 + task["id"]]
    label_studio[3]["annotations"][0]["result"] = []

    opened = open_dataset(label_studio)

    assert opened["label"][2:5] == [0, -1, 2]
    assert resolve(as_table(label_studio)).kind == "classification"


def test_rows_without_an_answer_are_told_and_those_without_a_label_are_a_question():
    table = {"label": ["a", "b"] * 6, "prediction": ["a", ""] * 6}
    with pytest.warns(UserWarning, match="6 of 12 rows have no answer"):
        assert read_predictions(table, answers_alone=True).references.sum() == 6
    with pytest.raises(OptionError, match="3 of 12 rows") as error:
        read_predictions({**table, "label": ["a", "b", "a", ""] * 3}, answers_alone=True)
    assert error.value.option == ("where",)


def test_equal_options_that_the_answers_never_name_are_the_classes_of_a_form():
    """Prodigy writes the classes into each task, and "answer" says whether the task counts."""
    options = [{"id": "TECH", "text": "Tech"}, {"id": "ARTS", "text": "Arts"}]
    rows = []
    for number, label in enumerate(["TECH", "ARTS", "ARTS"] * 6):
        is_rejected = number % 6 == 0
        rows.append(
            {
                "text": f"Headline {number}: a studio shows a new chip.",
                "options": options,
                "accept": [] if is_rejected else [label],
                "answer": "reject" if is_rejected else "accept",
            }
        )

    found = resolve(as_table(rows))

    assert (found.kind, found.columns["label"]) == ("classification", ("accept",))
    assert [doubt.check for doubt in found.row_doubts] == ["rejected_rows"]
    # 6 rows of TECH, of which 3 are rejected.
    assert {row.value: row.count for row in found.mapping} == {"ARTS": 12, "TECH": 3, "": 3}


def test_choices_in_fields_of_a_question_are_items_of_multiple_choice():
    """OpenBookQA and ARC, as they are released."""
    choices = [{"text": "The same one.", "label": "A"}, {"text": "Another one.", "label": "B"}]
    rows = []
    for number in range(12):
        question = {"stem": f"Which one is it, in case {number}?", "choices": choices}
        rows.append({"id": f"q{number}", "question": question, "answerKey": "AB"[number % 2]})

    found = resolve(as_table(rows))

    assert (found.kind, found.readable) == ("multiple_choice", True)


def test_a_page_of_the_datasets_server_says_the_names_of_its_classes(tmp_path):
    mood = {"name": "mood", "type": {"_type": "ClassLabel", "names": ["calm", "sad"]}}
    verse = {"name": "verse", "type": {"_type": "Value", "dtype": "string"}}
    rows = []
    for number in range(6):
        row = {"verse": f"Line {number}", "mood": number % 2}
        rows.append({"row_idx": number, "row": row, "truncated_cells": []})
    (tmp_path / "page.json").write_text(json.dumps({"features": [verse, mood], "rows": rows}))

    assert as_table(tmp_path / "page.json")["mood"][:2] == ["calm", "sad"]


def test_names_and_probabilities_in_any_order_are_scores_of_classes(tmp_path):
    rows = []
    for gold, scores in zip(GOLD, BY_CLASS, strict=True):
        classes = [{"Name": name, "Score": score} for name, score in scores.items()]
        classes.sort(key=lambda entry: -entry["Score"])
        rows.append({"File": "in.csv", "Gold": gold, "Classes": classes})
    (tmp_path / "out.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    assert right(tmp_path / "out.jsonl") == (7, 5, "predictions")
    # Distances with a name do not add up to 1.
    rows[0]["Classes"][0]["Score"] = 3.5
    with pytest.raises(OptionError):
        read_predictions(rows)


def test_a_label_that_an_export_repeats_in_a_field_is_no_second_system():
    # Of each six messages, the model answers one about refunds as one about accounts.
    answers = ["refund", "account", "account", "refund", "account", "refund"] * 8
    golds = ["refund", "refund", "account", "refund", "account", "refund"] * 8
    rows = []
    for number, (gold, answer) in enumerate(zip(golds, answers, strict=True)):
        variables = {"message": f"Message {number}: where is my parcel?", "expected": gold}
        test = {"vars": variables, "assert": [{"type": "equals", "value": gold}]}
        rows.append({"vars": variables, "response": {"output": answer}, "testCase": test})

    found = resolve(as_table(rows))

    assert found.columns["right"] == ("response.output", "vars.expected")


def test_a_class_in_a_heading_after_an_equals_sign():
    table = {
        "Rating": GOLD,
        **{f"P (Rating={name})": SCORES[:, column] for column, name in enumerate(NAMES)},
    }
    read = read_predictions(table, label_column="Rating")
    assert (read.predictions.argmax(1) == read.references).sum() == 5


def test_columns_of_marks_are_named_with_the_expression_that_reads_them():
    marks = {name: [int(name == gold) for gold in GOLD * 2] for name in NAMES}
    table = {"text": [f"{text} {n}" for n in (1, 2) for text in TEXTS], **marks}

    (doubt,) = resolve(table).doubts

    expression = doubt.partition("as in '")[2].removesuffix("'.")
    opened = open_dataset(table, label_column=expression)
    assert [opened.features["label"].names[label] for label in opened["label"]] == GOLD * 2


def test_fractions_called_prediction_next_to_predicted_classes_are_the_confidence():
    """Weka's output of predictions."""
    table = {
        "inst#": list(range(12)),
        "actual": ["1:pos", "2:neg"] * 6,
        "predicted": ["1:pos", "1:pos", "2:neg"] * 4,
        "prediction": [round(0.5 + number / 25, 3) for number in range(12)],
    }
    read = read_predictions(table)
    assert read.references.sum() == 6
    assert read.predictions[1] == pytest.approx(0.54)


def test_a_question_about_labels_names_the_kind_that_answers_would_have():
    labels = ["yes", "no", "no", "yes"] * 3
    answers = ["yes", "yes", "no", "no"] * 3
    table = {"input": [f"Is item {number} on the shelf?" for number in range(12)]}
    # They agree in half of the rows, as unrelated columns do.
    items = resolve({**table, "expectedOutput": labels, "actualOutput": answers})
    assert "'expectedOutput', 'actualOutput' hold the same values" in items.doubts[-1]
    # Two columns of 0 and 1 share their values whatever they say.
    flags = {"ref_class": [0, 1, 1, 0] * 3, "hyp_class": [0, 0, 1, 1] * 3}
    textless = resolve(flags)
    assert "`kind` to predictions" in " ".join(textless.doubts)
