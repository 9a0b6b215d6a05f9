"""Names of columns and labels decide how a table is read, and every entry point reads it alike."""

import gzip
import json
import warnings

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import transformers

import rightreasons
from command_line import run
from rightreasons.behavior.matching import match_classes
from rightreasons.behavior.measure import read_suite_answers
from rightreasons.calibration.confidence_table import read_confidence
from rightreasons.core.errors import OptionError
from rightreasons.datasets import Case, Functionality, Suite
from rightreasons.io.columns import add_nested_columns
from rightreasons.io.descriptions import make_description
from rightreasons.io.opened_columns import read_columns
from rightreasons.io.options import FileForm, ScoreOptions
from rightreasons.io.predictions import find_predictions, parse_predictions, read_predictions
from rightreasons.io.reading import as_table
from rightreasons.io.resolve import resolve
from rightreasons.io.tables import open_dataset, open_multiple_choice
from rightreasons.training.metrics import compute_metrics
from rightreasons.widget.pages import check_upload

datasets.disable_progress_bars()

# P(first class) of 40 items. With the label 1 where it is at least 0.8, all of them are correct.
SCORES = [0.9, 0.8, 0.1, 0.2] * 10
LABELS = [1, 1, 0, 0] * 10


def make_table(one, zero, labels=LABELS):
    """Return a table with the scores of the classes `one` and `zero`."""
    complements = [round(1 - score, 1) for score in SCORES]
    return {f"p_{one}": SCORES, f"p_{zero}": complements, "label": labels}


def compute_accuracy(parsed):
    is_correct = parsed.predictions.argmax(axis=1) == parsed.references
    return float(is_correct.mean())


def is_right_above_half(parsed):
    """Return whether P(class 1) is above 0.5 exactly for the items with the label 1."""
    return ((parsed.predictions > 0.5) == parsed.references).all()


# ------------------------------------------------------------------------------------------------- names and numbers


@pytest.mark.parametrize(
    ("one", "zero"),
    [
        ("LABEL_1", "LABEL_0"),
        ("true", "false"),
        ("yes", "no"),
        ("class1", "class0"),
        ("class_1", "class_0"),
        ("1", "0"),
    ],
)
def test_a_column_whose_name_is_a_number_has_the_scores_of_that_class(one, zero):
    table = make_table(one, zero)
    reversed_table = dict(reversed(table.items()))

    for columns in (table, reversed_table):
        assert compute_accuracy(find_predictions(columns)) == 1.0


@pytest.mark.parametrize(("one", "zero"), [("positive", "negative"), ("toxic", "non-toxic")])
def test_columns_named_by_words_need_label_names_if_labels_are_numbers(one, zero):
    table = make_table(one, zero)
    with pytest.raises(ValueError, match="order of the numbers with `label_names`"):
        find_predictions(table)

    # The remedy that the sentence names.
    parsed = find_predictions(table, label_names=[zero, one])
    assert compute_accuracy(parsed) == 1.0
    assert parsed.label_match == "by number"
    assert {(row.value, row.label, row.rule, row.count) for row in parsed.mapping} == {
        ("1", one, "by number", 20),
        ("0", zero, "by number", 20),
    }

    words = [(zero, one)[label] for label in LABELS]
    by_name = find_predictions(make_table(one, zero, words))
    assert compute_accuracy(by_name) == 1.0
    assert by_name.label_match == "by name"

    # `label_names` are matched with the columns; they never rename them.
    with pytest.raises(ValueError, match="among those of `label_names`"):
        find_predictions(table, label_names=["bad", "good"])


def test_a_significantly_wrong_order_of_labels_is_a_doubt():
    table = make_table("positive", "negative")
    reversed_order = ["positive", "negative"]

    parsed = find_predictions(table, label_names=reversed_order)
    assert compute_accuracy(parsed) == 0.0
    assert "would match 100.0%" in parsed.doubt

    in_order = find_predictions(table, label_names=["negative", "positive"])
    assert in_order.doubt == ""

    # Four items that all agree with the other order: 1/16 by chance.
    four_items = {name: column[:4] for name, column in table.items()}
    assert find_predictions(four_items, label_names=reversed_order).doubt == ""


def test_labels_that_are_counted_from_1():
    table = {
        "p_1": [0.5, 0.2, 0.1],
        "p_2": [0.25, 0.2, 0.8],
        "p_3": [0.25, 0.6, 0.1],
        "label": [1, 3, 2],
    }
    assert find_predictions(table).references.tolist() == [0, 2, 1]

    # Columns that count from 0 do not tell how the labels count: `first_label` does.
    from_zero = dict(zip(("p_0", "p_1", "p_2", "label"), table.values(), strict=True))
    assert find_predictions(from_zero, first_label=1).references.tolist() == [0, 2, 1]

    from_zero["label"] = [1, 2, 2]
    assert find_predictions(from_zero, first_label=1).references.tolist() == [0, 1, 1]


def test_labels_1_and_minus_1_are_read_with_label_names():
    rows = datasets.Dataset.from_dict({"text": ["a", "b", "c"], "label": [1, -1, 1]})
    with pytest.raises(ValueError, match="-1, which marks an item without a label"):
        open_dataset(rows)

    data = open_dataset(rows, label_names=["-1=negative", "1=positive"])
    assert data["label"][:] == [1, 0, 1]
    assert data.features["label"].names == ["negative", "positive"]

    # With names for 0 and 1, -1 marks an unlabeled item.
    data = open_dataset(rows, label_names=["0=negative", "1=positive"])
    assert data["label"][:] == [1, -1, 1]

    # With P(class 1), both are labels; otherwise half of the items would be left out.
    table = {"y_prob": [0.9, 0.2, 0.8], "label": [1, -1, 1]}
    with pytest.raises(ValueError, match="-1, which marks"):
        find_predictions(table)

    parsed = find_predictions(table, label_names=["-1=0", "1=1"])
    assert parsed.references.tolist() == [1, 0, 1]

    unlabeled = find_predictions({**table, "label": [0, -1, 1]})
    assert unlabeled.references.tolist() == [0, -1, 1]
    assert unlabeled.match_in_words == "by name: 0, 1"


def test_a_confidence_in_the_answer_is_not_read_as_that_of_class_1():
    # 0.8 for the predicted class 0 cannot be P(class 1).
    table = {"y_true": [1, 0, 0], "y_pred": [1, 0, 1], "y_prob": [0.9, 0.8, 0.6]}
    with pytest.raises(ValueError, match=r"P\(class 1\)"):
        find_predictions(table)

    parsed = find_predictions(table, confidence_column="y_prob")
    assert parsed.kind == "confidence"
    # Whether each prediction equals its label.
    assert parsed.references.tolist() == [1, 1, 0]

    # 0.9, 0.2 and 0.6 agree with the predicted classes as P(class 1).
    positive = find_predictions({**table, "y_prob": [0.9, 0.2, 0.6]})
    assert positive.references.tolist() == [1, 0, 0]


def test_a_table_without_a_known_label_column_proposes_one(tmp_path):
    resolution = resolve({"text": ["Gut.", "Matt."], "Urteil": ["gut", "schlecht"]})

    assert resolution.doubts == (
        "No column is used as labels. If Urteil holds the labels, name it with `label_column`.",
    )


def test_a_nested_class_label_keeps_its_names():
    label = datasets.ClassLabel(names=["positive", "negative"])
    features = datasets.Features(
        {"text": datasets.Value("string"), "m": {"lab": label}, "all": [{"lab": label}]}
    )
    rows = {"text": ["a", "b"], "m": [{"lab": 0}, {"lab": 1}], "all": [[{"lab": 1}], [{"lab": 0}]]}
    nested = datasets.Dataset.from_dict(rows, features=features)

    data = open_dataset(nested, label_column="m.lab", label_names=["negative", "positive"])
    assert data["label"][:] == [1, 0]

    flat = add_nested_columns(nested, ["all.lab"])
    assert flat.features["all.lab"].feature == label


def test_the_proposed_label_names_have_gaps_for_names_without_a_match():
    from rightreasons.core.labels.matching import MatchTerms, match_labels

    terms = MatchTerms(rename="label_names")
    classes = ("entailment", "neutral", "contradiction")
    proposal_by_names = {
        ("c", "e", "n"): "c=contradiction,e=entailment,n=neutral",
        ("not_entailment", "entailment"): "not_entailment=?,entailment=entailment",
        ("neu", "x"): "neu=neutral,x=?",
    }

    for names, proposal in proposal_by_names.items():
        pattern = proposal.replace("?", "[?]")
        with pytest.raises(ValueError, match=f"label_names='{pattern}'"):
            match_labels(names, classes, terms=terms)


# ---------------------------------------------------------------------------------------------- every form of a table

ROWS = [
    {"text": "Fine.", "label": "up"},
    {"text": "Dull.", "label": "down"},
    {"text": "Grand.", "label": "up"},
]
COLUMNS = {name: [row[name] for row in ROWS] for name in ("text", "label")}
FORMS = {
    "rows": ROWS,
    "columns": COLUMNS,
    "pandas": pd.DataFrame(COLUMNS),
    "categories": pd.DataFrame(COLUMNS).astype({"label": "category"}),
    "arrow": pa.table(COLUMNS),
    "Dataset": datasets.Dataset.from_dict(COLUMNS),
    "numpy format": datasets.Dataset.from_dict(COLUMNS).with_format("numpy"),
    "streamed": datasets.Dataset.from_dict(COLUMNS).to_iterable_dataset(),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_in_memory_is_read_as_the_same_table(form):
    data = open_dataset(FORMS[form])

    assert data["text"][:] == COLUMNS["text"]
    assert data["label"][:] == [1, 0, 1]


def test_a_torch_formatted_data_set_is_read():
    data = datasets.Dataset.from_dict({"text": ["a", "b"], "label": [1, 0]}).with_format("torch")
    assert open_dataset(data)["label"][:] == [1, 0]


# File name -> its text and encoding.
TEXTS = {
    "semicolons.csv": ("text;label\nFine.;up\nDull.;down\nGrand.;up\n", "utf-8"),
    "bars.csv": ("text|label\nFine.|up\nDull.|down\nGrand.|up\n", "utf-8"),
    "tabs.csv": ("text\tlabel\nFine.\tup\nDull.\tdown\nGrand.\tup\n", "utf-8"),
    "excel.csv": ("sep=;\ntext;label\nFine.;up\nDull.;down\nGrand.;up\n", "cp1252"),
    # Excel calls tabs in UTF-16 "Unicode text".
    "unicode.txt": ("text\tlabel\nFine.\tup\nDull.\tdown\nGrand.\tup\n", "utf-16"),
    "utf16.csv": ("text,label\nFine.,up\nDull.,down\nGrand.,up\n", "utf-16"),
    # An index without a heading, spaces around a heading, and two empty columns of one name.
    "headings.csv": (",text , label,x,x\n0,Fine.,up,,\n1,Dull.,down,,\n2,Grand.,up,,\n", "utf-8"),
    "frame.json": (pd.DataFrame(COLUMNS).to_json(), "utf-8"),
    "split.json": (pd.DataFrame(COLUMNS).to_json(orient="split"), "utf-8"),
    "index.json": (pd.DataFrame(COLUMNS).to_json(orient="index"), "utf-8"),
    "table.json": (pd.DataFrame(COLUMNS).to_json(orient="table"), "utf-8"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_every_form_of_text_file_is_read_as_the_same_table(tmp_path, name):
    text, encoding = TEXTS[name]
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))

    data = open_dataset(path)

    assert data["text"][:] == COLUMNS["text"]
    assert data["label"][:] == [1, 0, 1]
    assert open_dataset(path.as_uri())["label"][:] == [1, 0, 1]


def test_a_csv_file_of_a_german_excel_needs_no_options(tmp_path):
    """Semicolons, cp1252, decimal commas, labels in words, and two columns that nobody needs."""
    path = tmp_path / "ergebnis.csv"
    text = "Nr;Notiz;Notiz;p_schön;p_öde;label\n1;;x;0,9;0,1;schön\n2;;y;0,25;0,75;öde\n"
    path.write_bytes(text.encode("cp1252"))

    with pytest.warns(UserWarning, match="is read as cp1252"):
        parsed = read_predictions(path)

    assert parsed.predictions.tolist() == [[0.9, 0.1], [0.25, 0.75]]
    assert parsed.references.tolist() == [0, 1]

    # An encoding that is named needs no warning.
    form = FileForm(encoding="cp1252")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert as_table(path, form=form).num_rows == 2


def test_a_csv_file_of_a_german_excel_may_hold_percentages(tmp_path):
    """With "sep=;" above, empty rows below, a heading before the label, and one label in capitals."""
    path = tmp_path / "ergebnis.csv"
    lines = [
        "sep=;",
        "Nr;Ergebnis;Sicherheit Gut;Sicherheit Nicht gut",
        "1;Gut;56,5 %;43,5 %",
        "2;NICHT GUT ;7,25%;92,75%",
        ";;;",
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8-sig")

    parsed = read_predictions(path, label_column="Ergebnis")

    assert parsed.predictions.tolist() == [[0.565, 0.435], [0.0725, 0.9275]]
    assert parsed.references.tolist() == [0, 1]
    assert parsed.label_names == ("Gut", "NICHT GUT")
    with pytest.raises(ValueError, match="'GUT'. .*label_names="):
        open_dataset({"text": ["a", "b", "c"], "label": ["Gut", "GUT", "Öde"]})


@pytest.mark.parametrize("names", [("p_Gut", "p_Öde"), ("Gut", "Öde")])
def test_percentages_are_read_only_if_the_option_says_so(names):
    table = {names[0]: [56.4, 10.0], names[1]: [43.6, 90.0], "label": ["Gut", "Öde"]}
    with pytest.raises(ValueError, match="p_Gut, p_Öde"):
        read_predictions(table)

    parsed = read_predictions(table, scores="percentages")
    assert parsed.predictions.tolist() == [[0.564, 0.436], [0.1, 0.9]]
    assert parsed.scores == "probabilities"

    confidences = {"confidence": [85, 60], "correct": [1, 0]}
    with pytest.raises(ValueError, match="85. If the scores"):
        read_predictions(confidences)
    parsed = read_predictions(confidences, scores="percentages")
    assert parsed.predictions.tolist() == [0.85, 0.6]


def test_scores_belong_to_the_label_at_the_end_of_their_heading():
    log_probabilities = {
        "logp_Gut": [-0.1, -2.3],
        "logp_Öde": [-2.35, -0.1],
        "label": ["Gut", "Öde"],
    }
    assert read_predictions(log_probabilities).scores == "log_probabilities"

    table = {"x_Gut": [0.9, 0.2], "x_Öde": [0.1, 0.8], "label": ["Öde", "Gut"]}
    parsed = read_predictions(table, score_columns="x_Öde,x_Gut")
    assert parsed.label_names == ("Öde", "Gut")
    assert parsed.references.tolist() == [0, 1]


def test_bytes_that_the_named_encoding_cannot_read_are_refused(tmp_path):
    path = tmp_path / "plain.csv"
    path.write_text("text,label\na,b\n")

    with pytest.raises(ValueError, match="Expected utf16"):
        as_table(path, form=FileForm(encoding="utf16"))


def test_splits_in_one_document_may_have_rows_without_headings(tmp_path):
    path = tmp_path / "clinc.json"
    splits = {"train": [["Fine.", "up"], ["Dull.", "down"]], "val": [["Grand.", "up"]]}
    path.write_text(json.dumps(splits))

    data = open_dataset(path, column_names=["text", "label"])

    labels_by_split = {name: split["label"][:] for name, split in data.items()}
    assert labels_by_split == {"train": [1, 0], "val": [1]}
    with pytest.raises(ValueError, match="with `column_names`"):
        open_dataset(path)


def test_only_columns_that_are_used_must_be_readable(tmp_path):
    path = tmp_path / "ambient.jsonl"
    # Neither `id` nor `m` has one type; 10**30 exceeds 64 bits.
    rows = [
        {"id": "126_c", "text": "a", "label": "x", "m": 1},
        {"id": 51107, "text": "b", "label": "y", "m": [10**30]},
    ]
    path.write_text("\n".join(map(json.dumps, rows)))

    data = open_dataset(path)
    assert data["id"][:] == ["126_c", "51107"]
    assert data["label"][:] == [0, 1]
    with pytest.raises(TypeError, match="row 1 holds a list"):
        open_dataset(path, label_column="m")

    invalid_texts = [
        '{"text": "\\ud800", "label": 1}',
        '{"text": 5, "label": 1}\n{"text": "a", "label": 0}',
    ]
    message = "^Expected (Unicode text|texts) in the column 'text'"
    for content in invalid_texts:
        path.write_text(content)
        with pytest.raises((TypeError, ValueError), match=message):
            open_dataset(path)


def test_outputs_of_pipelines_and_trainers_are_tables():
    top_labels = [{"label": "POSITIVE", "score": 0.9}, {"label": "NEGATIVE", "score": 0.6}]
    assert as_table(top_labels)[:] == {
        "prediction": ["POSITIVE", "NEGATIVE"],
        "confidence": [0.9, 0.6],
    }

    # `top_k=None` returns all labels of an item, in the order of their scores.
    all_labels = [
        [{"label": "A", "score": 0.75}, {"label": "B", "score": 0.25}],
        [{"label": "B", "score": 1.0}, {"label": "A", "score": 0.0}],
    ]
    assert as_table(all_labels)[:] == {"p_A": [0.75, 0.0], "p_B": [0.25, 1.0]}

    attributes = {"predictions": np.array([[1.0, 2.0]]), "label_ids": np.array([1]), "metrics": {}}
    prediction_output = type("PredictionOutput", (), attributes)()
    parsed = read_predictions(prediction_output)
    assert parsed.scores == "logits"
    assert parsed.references.tolist() == [1]

    scores_by_class = {
        "contradiction": [0.3, 0.8],
        "entailment": [0.7, 0.2],
        "label": ["entailment", "contradiction"],
    }
    assert find_predictions(scores_by_class).references.tolist() == [1, 0]

    score_lists = {"confidence": [[0.3, 0.7], [0.8, 0.2]], "label": [1, 0]}
    parsed = find_predictions(score_lists)
    assert parsed.kind == "top_label"
    assert parsed.predictions.tolist() == [[0.3, 0.7], [0.8, 0.2]]


def test_fields_of_a_json_cell_are_columns(tmp_path):
    path = tmp_path / "t.csv"
    outputs = [
        {"label": "yes", "score": 0.9, "title": "A"},
        {"label": "yes", "score": 0.6, "title": "A"},
        {"label": "no", "score": 0.7, "title": "A"},
    ]
    labels = ["yes", "no", "no"]
    table = {"output": list(map(json.dumps, outputs)), "label": labels}
    pd.DataFrame(table).to_csv(path, index=False)

    parsed = read_predictions(
        path,
        confidence_column="output.score",
        correct_column="{{ output['label'] == label }}",
    )
    assert parsed.predictions.tolist() == [0.9, 0.6, 0.7]
    assert parsed.references.tolist() == [1, 0, 1]

    data = open_dataset(path, text_column="output.title", label_column="{{ output.label }}")
    assert data["text"][:] == ["A", "A", "A"]
    assert data["label"][:] == [1, 1, 0]
    with pytest.raises(ValueError, match="`confidence_column` names"):
        read_predictions(path, confidence_column="output.scor")

    # A cell may also hold the scores of all classes.
    score_by_class = [{"no": 0.2, "yes": 0.8}, {"yes": 0.4, "no": 0.6}, {"yes": 0.1, "no": 0.9}]
    as_pipeline = []
    for scores in score_by_class:
        as_pipeline.append([{"label": name, "score": score} for name, score in scores.items()])

    for name, cells, options in (
        ("probs", score_by_class, {}),
        ("out", as_pipeline, {"score_columns": "out"}),
    ):
        json_cells = [json.dumps(cell) for cell in cells]
        for column in (cells, json_cells):
            parsed = read_predictions({name: column, "label": labels}, **options)
            assert parsed.predictions.tolist() == [[0.2, 0.8], [0.6, 0.4], [0.9, 0.1]]
            assert parsed.label_names == ("no", "yes")


def test_shares_and_votes_have_a_label_and_several_labels_are_refused():
    # The label is the most likely class; a tie leaves an item unlabeled.
    for labels, numbers in (
        ([[0, 1], [1, 0], [0.5, 0.5]], [1, 0, -1]),
        ([{"0": 1, "1": 3}, {"0": 2, "1": 1}, {"0": 1, "1": 1}], [1, 0, -1]),
        (['{"0": 0.4, "1": 0.6}', '{"0": 1.0}', "{}"], [1, 0, -1]),
        ([[1], [0], []], [1, 0, -1]),
        ([["1", "0", "1"], ["0", "0", "0"], ["0", "1"]], [1, 0, -1]),
        # Votes of three, four and two people.
        ([[1, 0, 1], [0, 0, 0, 0], [0, 1]], [1, 0, -1]),
        # The number of five people that voted for each class.
        ([[1, 4], [3, 2], [2, 3]], [1, 0, 1]),
    ):
        data = open_dataset({"text": ["a", "b", "c"], "label": labels})
        assert data["label"][:] == numbers

        parsed = read_predictions({"p_1": SCORES[:3], "p_0": SCORES[2:5], "label": labels})
        assert parsed.references.tolist() == numbers

    resolution = resolve({"text": ["a", "b"], "label": [[0, 1], [1, 0]]})
    assert [(row.value, row.label) for row in resolution.mapping] == [("1", "1"), ("0", "0")]

    # Lists of one label each are labels; longer ones are refused with a remedy.
    features = datasets.Features(
        {"text": datasets.Value("string"), "label": [datasets.ClassLabel(names=["x", "y"])]}
    )
    single_labels = datasets.Dataset.from_dict(
        {"text": ["a", "b"], "label": [[1], [0]]}, features=features
    )
    assert open_dataset(single_labels, label_names=["y", "x"])["label"][:] == [0, 1]

    for labels, message in (
        # Classes 1 and 0, and no shares, as the lengths differ.
        ([[1, 0], [1]], "For items with several labels"),
        ([[1, 1], [0, 1]], "For items with several labels"),
        (['["x", "x"]', [[1], [2]]], "For items with several labels"),
        (["4,27", "3"], "audit each label with target=all"),
        ([2.5, 1.25], "A regression has no classes"),
    ):
        with pytest.raises(ValueError, match=message):
            open_dataset({"text": ["a", "b"], "label": labels})

    several_labels = datasets.Dataset.from_dict(
        {"text": ["a", "b"], "label": [[1, 0], [0, 1]]}, features=features
    )
    with pytest.raises(ValueError, match="several labels"):
        open_dataset(several_labels)

    # An expression asks about one of the labels.
    data = open_dataset(
        {"text": ["a", "b"], "labels": [[4, 27], [3]]}, label_column="{{ 27 in labels }}"
    )
    assert data["label"][:] == [1, 0]
    assert data.features["label"].names == ["false", "true"]


def test_no_and_yes_match_0_and_1_and_other_words_need_label_names():
    words = [("no", "yes")[label] for label in LABELS]
    assert compute_accuracy(find_predictions(make_table("1", "0", words))) == 1.0

    parsed = find_predictions({"score": SCORES, "label": words}, score_columns="score")
    assert parsed.label_names == ("no", "yes")

    complements = [1 - score for score in SCORES]
    p_no = find_predictions({"p_no": complements, "label": words}, score_columns="p_no")
    assert is_right_above_half(p_no)

    p_yes = {"p_yes": SCORES, "label": [bool(label) for label in LABELS]}
    for names in (None, ["false", "true"], ["true", "false"]):
        assert is_right_above_half(
            find_predictions(p_yes, score_columns="p_yes", label_names=names)
        )

    # p_0 is P(bad), as "bad" is the first of the names.
    other_words = [("good", "bad")[label] for label in LABELS]
    p_0 = {"p_0": SCORES, "label": other_words}
    assert is_right_above_half(
        find_predictions(p_0, score_columns="p_0", label_names=["bad", "good"])
    )

    p_yes = {"p_yes": SCORES, "label": other_words}
    with pytest.raises(ValueError, match="Expected the labels of the columns of scores"):
        find_predictions(p_yes, score_columns="p_yes", label_names=["bad", "good"])

    # The columns good and bad are not matched with no and yes by their order.
    table = make_table("good", "bad", words)
    with pytest.raises(ValueError, match=r"`label_names` \(no, yes\)"):
        find_predictions(table, label_names=["no", "yes"])


@pytest.mark.parametrize(
    "names", [("P(yes)", "P(no)"), ("yes_prob", "no_prob"), ("Score yes", "Score no")]
)
def test_a_heading_may_hold_its_label_anywhere(names):
    words = [("no", "yes")[label] for label in LABELS]
    columns = make_table("1", "0", words).values()
    table = dict(zip((*names, "sentiment"), columns, strict=True))

    assert compute_accuracy(find_predictions(table, label_column="sentiment")) == 1.0


def test_decimal_commas_and_a_label_column_named_as_items_name_it():
    parsed = find_predictions({"y_prob": ["0,75", "0,25"], "category": ["1", "0"]})

    assert parsed.predictions.tolist() == [0.75, 0.25]
    assert parsed.references.tolist() == [1, 0]


def test_answers_without_scores_may_have_columns_of_any_name():
    table = {"predicted": ["a", "b", "c"], "gilt": ["a", "c", "c"]}

    for options in ({"label_column": "gilt"}, {"correct_column": "{{ predicted == gilt }}"}):
        parsed = read_predictions(table, answers_alone=True, **options)
        assert parsed.answers_once is True
        assert parsed.references.tolist() == [1, 0, 1]

    with pytest.raises(ValueError, match="'gold' that `label_column`"):
        read_predictions(table, answers_alone=True, label_column="gold")


def test_probabilities_rounded_to_two_decimals_are_normalized():
    # 0.33 + 0.33 + 0.33 = 0.99, within the rounding of three values.
    rounded = {"p_a": [0.33, 0.2], "p_b": [0.33, 0.2], "p_c": [0.33, 0.6], "label": ["a", "c"]}
    parsed = find_predictions(rounded)
    assert parsed.predictions[0].tolist() == pytest.approx([1 / 3] * 3)
    assert "rounded to 2 decimals" in parsed.used

    # Rounding does not explain a sum of 0.9.
    parsed = find_predictions({"p_a": [0.4], "p_b": [0.5], "label": ["a"]})
    assert parsed.predictions.tolist() == [[0.4, 0.5]]


def test_a_passage_may_be_missing_and_letters_are_no_part_of_choices():
    rows = [
        {"passage": None, "question": "1 + 1?", "options": ["(A)2", "(B)3"], "label": "A"},
        {"passage": "So.", "question": "Who?", "options": ["(A) Ann", "(B) Bob"], "label": "(B)"},
    ]

    data = open_multiple_choice(rows)

    assert data["prompt"][:] == ["1 + 1?", "So. Who?"]
    assert data["label"][:] == [0, 1]
    assert data["choices"][:] == [["2", "3"], ["Ann", "Bob"]]


def make_choice_rows(make_label):
    """Return 40 items of 3 choices with correct position row % 3; rows 0, 10, 20 and 30 have a copy of it.

    Counted from 0 instead of 1, the labels of rows 5, 15, 25 and 35 would point at a copied wrong choice.
    """
    rows = {"prompt": [], "choices": [], "label": []}
    for row in range(40):
        choices = [f"The {animal} of number {row} sleeps." for animal in ("cat", "dog", "owl")]
        position = row % 3
        if row % 10 == 0:
            choices[(position + 1) % 3] = choices[position]
        if row % 10 == 5:
            choices[(position + 1) % 3] = choices[(position + 2) % 3]
        rows["prompt"].append(f"Which animal of number {row} sleeps at noon?")
        rows["choices"].append(choices)
        rows["label"].append(make_label(choices, position))
    return rows


@pytest.mark.parametrize(
    ("make_label", "settings"),
    [
        (lambda choices, position: position, {}),
        (lambda choices, position: position + 1, {"first_label": 1}),
        (lambda choices, position: "ABC"[position], {}),
        (lambda choices, position: choices[position], {}),
    ],
    ids=["from 0", "from 1", "letters", "texts"],
)
def test_copies_of_the_correct_choice_are_those_of_the_items(make_label, settings):
    rows = make_choice_rows(make_label)

    resolution = resolve(make_description({"data": rows, **settings}))

    (doubt,) = [doubt for doubt in resolution.row_doubts if doubt.check == "answer_copies"]
    # 4 of 40 items are 10 %, and a doubt is open from 5 %.
    assert (doubt.count, doubt.is_open) == (4, True)
    assert [example.split()[1] for example in doubt.examples] == ["0", "10", "20"]


def test_a_list_of_columns_is_joined_into_prompt_and_choices():
    options = {"prompt_column": "a,b", "choices_column": "c1,c2", "first_label": 0}
    rows = {"a": ["p"], "b": ["q"], "c1": ["x"], "c2": ["y"], "label": [1]}

    data = open_multiple_choice(rows, **options)
    assert data["prompt"][:] == ["p q"]
    assert data["choices"][:] == [["x", "y"]]

    # A column of that name precedes the list of two columns.
    data = open_multiple_choice({"a,b": ["p"], **rows}, **options)
    assert data["prompt"][:] == ["p"]

    truthful_qa = {
        "question": "Who?",
        "mc1_targets": {"choices": ["x", "y", "z"], "labels": [0, 0, 1]},
    }
    assert open_multiple_choice([truthful_qa])["label"][:] == [2]


def test_an_escaped_quotation_mark_is_recognized_across_two_blocks(tmp_path):
    # The backslash is the last byte of the first 2^20, and the mark the first of the next.
    block = 1 << 20
    head = "text,label\n"
    rows = '"a comma, here",bad\n' * 100
    end = '"a \\" mark",good\n'
    n_filling = block - 1 - end.index("\\") - len(head + rows) - len('"",bad\n')
    filling = "x" * n_filling
    path = tmp_path / "x.csv"
    path.write_text(f'{head}{rows}"{filling}",bad\n{end}')

    assert path.read_bytes()[block - 1 : block + 1] == b'\\"'
    assert as_table(path)["text"][-1] == 'a " mark'


def test_escaped_quotation_marks_and_remarks_above_a_table(tmp_path):
    path = tmp_path / "t.csv"
    table = 'text,label\n"a \\"quoted\\" word",x\n"c, d",y\n'
    path.write_text(table)
    assert open_dataset(path)["text"][:] == ['a "quoted" word', "c, d"]

    path.write_text("# of March\n# by hand\n" + table)
    with pytest.raises(ValueError, match="and delete the lines above the headings"):
        open_dataset(path)

    # A quotation mark of JSON behind a backslash, doubled by CSV.
    path.write_text('#id,text,label\n1,"{""a"": ""x\\""y""}",x\n2,b,y\n')
    data = open_dataset(path)
    assert data["text"][0] == '{"a": "x\\"y"}'
    assert data.column_names[-1] == "#id"


def test_minimal_pairs_get_a_question_and_a_mixed_order():
    pairs = [
        {"sentence_good": "Cats sleep.", "sentence_bad": "Cats sleeps."},
        {"sentence_good": "Who left?", "sentence_bad": "Left who?"},
    ]
    data = open_multiple_choice(pairs)
    assert data["choices"][:] == [["Cats sleep.", "Cats sleeps."], ["Left who?", "Who left?"]]
    assert data["label"][:] == [0, 1]
    assert data["prompt"][0] == "Which of these sentences is more acceptable?"

    stereotypes = {"sent_more": ["A man cooks."], "sent_less": ["A woman cooks."]}
    data = open_multiple_choice(stereotypes)
    assert data["choices"][0] == ["A man cooks.", "A woman cooks."]
    assert data["label"][:] == [1]


def test_files_of_a_folder_are_splits_but_not_a_file_and_its_compressed_copy(tmp_path):
    (tmp_path / "Train.csv").write_text("text,label\na,x\nb,y\n")
    (tmp_path / "TEST.csv").write_text("text,label\nc,x\n")

    texts_by_split = {name: split["text"][:] for name, split in open_dataset(tmp_path).items()}
    assert texts_by_split == {"train": ["a", "b"], "test": ["c"]}

    with gzip.open(tmp_path / "Train.csv.gz", "wt") as stream:
        stream.write("text,label\na,x\n")
    with pytest.raises(ValueError, match="with and without compression"):
        open_dataset(tmp_path)


def test_labels_that_differ_by_an_invisible_character_are_refused():
    with pytest.raises(ValueError, match=r"'pos' and 'pos\\u200f'"):
        open_dataset({"text": ["a", "b"], "label": ["pos", "pos\u200f"]})


def test_a_description_file_may_name_expressions_as_columns(tmp_path, monkeypatch):
    rows_file = tmp_path / "a.jsonl"
    description = tmp_path / "data.yaml"
    rows_file.write_text('{"t": "A", "b": "x", "y": 1}\n{"t": "B", "b": "z", "y": 0}')
    lines = [
        "data: a.jsonl",
        'text_column: "{{ t }}: {{ b }}"',
        "label_column: y",
        "label_names: [bad, good]",
    ]
    description.write_text("\n".join(lines) + "\n")

    data = open_dataset(description)

    assert data["text"][:] == ["A: x", "B: z"]
    assert data.features["label"].names == ["bad", "good"]
    assert data["label"][:] == [1, 0]

    description.write_text("data: a.jsonl\nlabel_colum: y\n")
    with pytest.raises(ValueError, match="Did you mean 'label_column'"):
        open_dataset(description)
    with pytest.raises(ValueError, match="expression over"):
        open_dataset(rows_file, text_column="{{ 1 / 0 }}", label_column="y")

    # A user's own form of multiple choice may hold expressions, too.
    forms = tmp_path / "forms.yaml"
    forms.write_text('- {prompt: [t], choices: ["{{ [b, t] }}"], label: [y]}\n')
    monkeypatch.setenv("RIGHTREASONS_CHOICE_FORMS", str(forms))
    assert open_multiple_choice(rows_file)["choices"][:] == [["x", "A"], ["z", "B"]]


# -------------------------------------------------------------------------------- a summary of what would be read


def test_a_resolution_has_the_columns_the_labels_and_the_doubts():
    frame = pd.DataFrame(
        {"review": ["a", "b", "c"], "label": [1, 0, 1], "category": ["x", "y", "x"]}
    )
    resolution = resolve(frame, ["bad", "good"])
    assert resolution.kind == "classification"
    assert resolution.columns == {"text": ("review",), "label": ("label",)}
    assert [(row.value, row.count, row.label, row.rule) for row in resolution.mapping] == [
        ("1", 2, "good", "by number"),
        ("0", 1, "bad", "by number"),
    ]
    assert any("category may hold the labels instead" in doubt for doubt in resolution.doubts)

    unreadable = resolve(make_table("positive", "negative"))
    assert not unreadable.readable
    assert unreadable.doubts[0].startswith("Expected labels in words")

    choices = resolve([{"goal": "p", "sol1": "a", "sol2": "b", "label": 1}])
    assert [(row.value, row.label, row.rule) for row in choices.mapping] == [
        ("1", "choice 1", "by number, counted from 0")
    ]


# ----------------------------------------------------------------------------------- one table, every entry point


def try_to_compute(compute):
    """Return the accuracy that an entry point computes, or "refused"."""
    try:
        return round(compute(), 6)
    except (TypeError, ValueError) as error:
        if str(error).startswith("Expected"):
            return "refused"
        return repr(error)


def make_suite(labels):
    """Return a behavior suite that expects these labels, one case for each."""
    if isinstance(labels[0], int):
        label_names = None
        numbers = labels
    else:
        label_names = tuple(dict.fromkeys(labels))
        numbers = [label_names.index(label) for label in labels]
    cases = []
    for row, number in enumerate(numbers):
        cases.append(Case(str(row), ((f"text {row}",),), (number,)))
    functionality = Functionality("f", "c", "MFT", {"name": "equal"}, tuple(cases))
    return Suite("s", ("text",), (functionality,), label_names)


def compute_suite_accuracy(scores, labels):
    suite = make_suite(labels)
    answers = read_suite_answers(scores, suite)
    label_names = suite.label_names or ["0", "1"]
    expected = [label_names.index(label) if isinstance(label, str) else label for label in labels]
    order, *_ = match_classes(suite, answers.label_names or 2, "the table")
    predicted = answers.scores[:, list(order)].argmax(axis=1)
    return float((predicted == expected).mean())


def compute_trainer_accuracy(parsed):
    """Return the accuracy of the same scores as a Trainer's logits."""
    prediction = transformers.EvalPrediction(
        predictions=np.log(parsed.predictions), label_ids=parsed.references
    )
    return compute_metrics("accuracy")(prediction)["accuracy"]


def run_calibration_command(capsys, folder, label_names):
    """Return the accuracy that `rightreasons calibration` reports, or raise its message."""
    out = folder / "report"
    words = ["calibration", folder / "t.csv", "--n-resamples", "5", "--out", out]
    if label_names is not None:
        words += ["--label-names", ",".join(label_names)]
    finished = run(capsys, *words)
    if finished.code:
        assert finished.err.rstrip().endswith("shows how the file would be read.")
        raise ValueError(finished.err.removeprefix("Error: "))
    answers = json.loads((out / "audit.json").read_text())["questions"]
    return answers[0]["result"]["data"]["figures"]["accuracy"]["estimate"]["value"]


@pytest.mark.parametrize(
    ("one", "zero", "with_words", "label_names"),
    [
        ("positive", "negative", False, None),
        ("positive", "negative", True, None),
        ("positive", "negative", False, ["negative", "positive"]),
        ("negative", "positive", False, ["negative", "positive"]),
        ("LABEL_1", "LABEL_0", False, None),
        ("yes", "no", False, None),
        ("no", "yes", True, None),
        ("1", "0", False, None),
        ("class 0", "class 1", False, None),
    ],
)
def test_every_entry_point_reads_a_table_alike(
    tmp_path, capsys, one, zero, with_words, label_names
):
    """Twenty ones and twenty zeros, all correct: each gives the same accuracy, or each refuses."""
    labels = LABELS
    if with_words:
        labels = [(zero, one)[label] for label in LABELS]
    table = make_table(one, zero, labels)
    frame = pd.DataFrame(table)
    scores = frame[[f"p_{one}", f"p_{zero}"]]
    csv_file = tmp_path / "t.csv"
    frame.to_csv(csv_file, index=False)
    frame.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    frame.to_parquet(tmp_path / "t.parquet")
    np.savez(tmp_path / "t.npz", **{name: np.array(column) for name, column in table.items()})
    module = rightreasons.load("ece")

    def read_accuracy(source):
        return try_to_compute(
            lambda: compute_accuracy(read_predictions(source, label_names=label_names))
        )

    def compute_by_module():
        results = module.compute(predictions=scores, references=labels, label_names=label_names)
        return results["accuracy"]

    def compute_by_trainer():
        return compute_trainer_accuracy(read_predictions(frame, label_names=label_names))

    accuracies = {
        "t.csv": read_accuracy(csv_file),
        "t.jsonl": read_accuracy(tmp_path / "t.jsonl"),
        "t.parquet": read_accuracy(tmp_path / "t.parquet"),
        "t.npz": read_accuracy(tmp_path / "t.npz"),
        "frame": read_accuracy(frame),
        "columns": read_accuracy(table),
        "arrow": read_accuracy(pa.Table.from_pandas(frame)),
        "module": try_to_compute(compute_by_module),
        "Trainer": try_to_compute(compute_by_trainer),
        "command": try_to_compute(lambda: run_calibration_command(capsys, tmp_path, label_names)),
    }
    if label_names is None:
        # These have no option for the names.
        accuracies["suite"] = try_to_compute(lambda: compute_suite_accuracy(scores, labels))
        accuracies["space"] = read_accuracy(check_upload(csv_file))
        accuracies["pasted"] = try_to_compute(
            lambda: compute_accuracy(parse_predictions(csv_file.read_text()))
        )

    # `resolve` computes nothing, but it must not refuse what the others read.
    is_readable = resolve(table, label_names).readable
    accuracies["resolve"] = accuracies["frame"] if is_readable else "refused"

    assert accuracies == dict.fromkeys(accuracies, accuracies["frame"])


def test_kinds_of_released_data_are_distinguished(tmp_path):
    # "correct" is the correct choice here, and not the correctness of a model's answer.
    choices = {
        "question": ["Who?", "What?"],
        "options": [["A)x", "B)y"], ["A)z", "B)w"]],
        "correct": ["B", "A"],
    }
    assert resolve(choices).kind == "multiple_choice"

    lettered = {
        "Question": ["Who?"],
        "A": ["x"],
        "B": ["y"],
        "C": ["z"],
        "D": ["w"],
        "Answer": ["C"],
    }
    matches = [(row.value, row.label) for row in resolve(lettered).mapping]
    assert matches == [("C", "choice 2")]

    answers = resolve(
        {"qid": ["7", "8", "9"], "gold": ["yes", "no", "no"], "pred": ["yes", "maybe", "no"]}
    )
    assert answers.kind == "predictions"
    assert answers.readable is True
    assert answers.columns["right"] == ("pred", "gold")

    without_labels = resolve({"id": ["7", "8"], "prediction": [4, 2]})
    assert not without_labels.readable
    assert without_labels.doubts[0].startswith("Expected a column with the labels in ")

    flat_squad = {
        "id": ["2"],
        "question": ["Whom?"],
        "context": ["Ann met Bob."],
        "answers": [{"text": ["Bob"], "answer_start": [8]}],
    }
    resolution = resolve(flat_squad)
    assert resolution.kind == "question_answering"
    assert resolution.items[0]["question"] == "Whom?"

    question = {"id": "1", "question": "Who?", "answers": [{"text": "Ann", "answer_start": 0}]}
    article = {"title": "A", "paragraphs": [{"context": "Ann met Bob.", "qas": [question]}]}
    path = tmp_path / "squad.json"
    path.write_text(json.dumps({"data": [article]}))
    assert resolve(path).items[0]["answers"] == {"text": ["Ann"], "answer_start": [0]}


def test_a_task_of_big_bench_keeps_the_order_of_its_choices(tmp_path):
    path = tmp_path / "task.json"
    examples = []
    for n in range(20):
        target_scores = {f"{n}/2": 0, f"{n}/1": 1, f"{n}/3": 0}
        examples.append({"input": f"Day {n}?", "target_scores": target_scores})
    path.write_text(json.dumps({"name": "dates", "keywords": ["time"], "examples": examples}))

    data = open_multiple_choice(path)
    assert data["choices"][7] == ["7/2", "7/1", "7/3"]
    assert set(data["label"][:]) == {1}

    # With two correct choices, an item has no label.
    examples[3]["target_scores"]["3/3"] = 1
    path.write_text(json.dumps({"name": "dates", "examples": examples}))
    assert open_multiple_choice(path)["label"][2:5] == [1, -1, 1]


def test_a_table_without_headings_is_a_doubt(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("a fine film\t1\ndull\t0\ngrand\t1\n")

    resolution = resolve(path)
    assert resolution.doubts[0].count("no headings, as '1' suggests") == 1
    assert "all columns with column_names=" in resolution.doubts[0]

    description = make_description({"data": str(path), "column_names": ["text", "label"]})
    counts = [(row.value, row.count) for row in resolve(description).mapping]
    assert counts == [("1", 2), ("0", 1)]


def test_the_text_column_may_end_in_text_and_a_better_label_column_is_a_doubt():
    resolution = resolve({"TweetText": ["a b", "c"], "category": ["x", "y"], "stars": ["p", "q"]})
    assert resolution.columns["text"] == ("TweetText",)
    assert resolution.doubts == (
        "The column 'category' is used as labels, but stars may hold the labels instead.",
    )

    # Two names end in "text", so that neither is chosen.
    two_texts = {"user_text": ["a"], "bot_text": ["b"], "label": ["x"]}
    assert not resolve(two_texts).readable

    two_labels = {"text": ["a", "b"], "category": ["x", "y"], "gold_label": ["n", "e"]}
    assert resolve(two_labels).label_names == ("e", "n")


def test_all_columns_of_many_classes_are_listed():
    """A sentence lists twelve at most; a resolution lists all, also with commas in their names."""
    # The second item is surely "a, b"; the first one has 1/13 for each other class.
    table = {"p_a, b": [0.0, 1.0]}
    for letter in "cdefghijklmno":
        table[f"p_{letter}"] = [1 / 13, 0.0]

    resolution = resolve({**table, "label": ["c", "a, b"]})

    assert resolution.columns == {"scores": tuple(table), "labels": ("label",)}


def test_every_reader_accepts_a_description_file(tmp_path):
    (tmp_path / "a.csv").write_text("id|confidence|correct|label\na|0,9|1|no\nb|0,4|0|yes\n")
    description = tmp_path / "data.yaml"
    description.write_text("data: a.csv\nseparator: '|'\n")

    assert as_table(description)["id"][:] == ["a", "b"]
    assert read_predictions(description).predictions.tolist() == [0.9, 0.4]
    assert read_columns(description, ScoreOptions())[0]["label"] == ["no", "yes"]
    assert read_confidence(description).confidence["confidence"].tolist() == [0.9, 0.4]


@pytest.mark.parametrize("source", [[1, 2], [], 5, {"train": [], "test": []}])
def test_a_source_that_is_no_table_is_refused(source):
    with pytest.raises((TypeError, ValueError), match="^Expected "):
        open_dataset(source)


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("items: a.csv\n", ("items",)),
        ("data: a.csv\nanswers: b.csv\n", ("answers",)),
        ("data: a.csv\njoin: id\n", ("join",)),
        ("data: a.csv\nitems: a.csv\nanswers: b.csv\n", ("data", "items", "answers")),
    ],
)
def test_a_description_needs_data_or_both_items_and_answers(tmp_path, content, options):
    description = tmp_path / "data.yaml"
    description.write_text(content)

    with pytest.raises(OptionError, match="Expected (either )?`") as error:
        resolve(description)

    assert error.value.option == options


def test_an_unknown_task_in_a_description_is_refused():
    rows = {"text": ["A fine film.", "Dull."] * 8, "label": ["up", "down"] * 8}

    with pytest.raises(OptionError, match="`task`") as error:
        resolve(make_description({"data": rows, "task": "regression"}))

    assert error.value.option == ("task",)


def test_a_missing_column_of_labels_is_named_whatever_else_the_table_holds():
    # With numbers next to the texts, the table may also hold predictions.
    table = {"text": ["Fine.", "Dull."] * 9, "stars": [5, 1] * 9}

    resolution = resolve(make_description({"data": table, "label_column": "star"}))

    assert not resolution.readable
    assert "Did you mean 'stars'" in resolution.doubts[0]


def test_rows_that_are_dropped_raise_no_doubt():
    # The empty texts have both labels, and repeat each other.
    texts = ["", "", "", "", *(f"Film {row} is fine." for row in range(16))]
    table = {"text": texts, "label": ["up", "down"] * 10}

    resolution = resolve(make_description({"data": table, "drop_empty": True}))

    assert resolution.row_doubts == ()


def test_a_label_without_a_new_name_is_quoted_as_written():
    table = {"text": ["Fine.", "Dull."] * 9, "label": ["Up", "NA"] * 9}

    with pytest.raises(OptionError, match="'NA' of the column"):
        open_dataset(table, label_names=["Up=good"])
    renamed = resolve(make_description({"data": table, "label_names": ["Up=good", "NA=bad"]}))

    assert {row.rule for row in renamed.mapping} == {"by its new name"}
