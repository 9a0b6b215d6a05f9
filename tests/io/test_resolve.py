"""Labels and columns meet once: what names say, what is refused, and one answer of every door to one table."""

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
from rightreasons.behavior.measure import read_suite_answers
from rightreasons.calibration.confidence_table import read_confidence
from rightreasons.core.errors import OptionError
from rightreasons.datasets import Case, Functionality, Suite
from rightreasons.io.columns import add_nested_columns
from rightreasons.io.descriptions import make_description
from rightreasons.io.opened_columns import read_columns
from rightreasons.io.options import ScoreOptions
from rightreasons.io.predictions import find_predictions, parse_predictions, read_predictions
from rightreasons.io.reading import as_table
from rightreasons.io.resolve import resolve
from rightreasons.io.tables import open_dataset, open_multiple_choice
from rightreasons.training.metrics import compute_metrics
from rightreasons.widget.pages import check_upload

datasets.disable_progress_bars()

# Right in all of 40: P(first class) is 0.9 and 0.8 where it is right.
HIGH, LABELS = [0.9, 0.8, 0.1, 0.2] * 10, [1, 1, 0, 0] * 10


def scored(first, second, labels=LABELS):
    return {f"p_{first}": HIGH, f"p_{second}": [round(1 - p, 1) for p in HIGH], "label": labels}


def right(read):
    return float((read.predictions.argmax(axis=1) == read.references).mean())


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
def test_columns_that_say_their_number_are_that_number(one, zero):
    for columns in (scored(one, zero), dict(reversed(scored(one, zero).items()))):
        assert right(find_predictions(columns)) == 1.0


@pytest.mark.parametrize(("one", "zero"), [("positive", "negative"), ("toxic", "non-toxic")])
def test_names_of_columns_beside_bare_numbers_are_refused_until_one_order_is_said(one, zero):
    with pytest.raises(ValueError, match="order of the numbers with `label_names`"):
        find_predictions(scored(one, zero))
    read = find_predictions(scored(one, zero), label_names=[zero, one])  # what the sentence says
    assert (right(read), read.label_match) == (1.0, "by number")
    assert {(row.value, row.label, row.rule, row.count) for row in read.mapping} == {
        ("1", one, "by number", 20),
        ("0", zero, "by number", 20),
    }
    words = [(zero, one)[label] for label in LABELS]
    by_name = find_predictions(scored(one, zero, words))
    assert (right(by_name), by_name.label_match) == (1.0, "by name")
    with pytest.raises(
        ValueError, match="among those of `label_names`"
    ):  # matched, and never a new name
        find_predictions(scored(one, zero), label_names=["bad", "good"])


def test_an_order_that_is_surely_wrong_is_told_before_any_verdict():
    read = find_predictions(scored("positive", "negative"), label_names=["positive", "negative"])
    assert right(read) == 0.0
    assert "would match 100.0%" in read.doubt
    assert (
        find_predictions(scored("positive", "negative"), label_names=["negative", "positive"]).doubt
        == ""
    )
    few = {
        name: column[:4] for name, column in scored("positive", "negative").items()
    }  # 1/16 by chance
    assert find_predictions(few, label_names=["positive", "negative"]).doubt == ""


def test_numbers_from_1_and_what_first_label_says():
    rows = {
        "p_1": [0.5, 0.2, 0.1],
        "p_2": [0.25, 0.2, 0.8],
        "p_3": [0.25, 0.6, 0.1],
        "label": [1, 3, 2],
    }
    assert find_predictions(rows).references.tolist() == [0, 2, 1]
    zero = dict(zip(("p_0", "p_1", "p_2", "label"), rows.values(), strict=True))
    assert find_predictions(zero, first_label=1).references.tolist() == [0, 2, 1]
    assert find_predictions({**zero, "label": [1, 2, 2]}, first_label=1).references.tolist() == [
        0,
        1,
        1,
    ]


def test_minus_one_and_one_get_through_as_the_sentence_says():
    rows = datasets.Dataset.from_dict({"text": ["a", "b", "c"], "label": [1, -1, 1]})
    with pytest.raises(ValueError, match="-1, which marks an item without a label"):
        open_dataset(rows)
    opened = open_dataset(rows, label_names=["-1=negative", "1=positive"])
    assert (opened["label"][:], opened.features["label"].names) == (
        [1, 0, 1],
        ["negative", "positive"],
    )
    opened = open_dataset(rows, label_names=["0=negative", "1=positive"])  # -1 is no label here
    assert opened["label"][:] == [1, -1, 1]
    # Beside P(class 1) they are all labels, or half of the items would be left out.
    scored = {"y_prob": [0.9, 0.2, 0.8], "label": [1, -1, 1]}
    with pytest.raises(ValueError, match="-1, which marks"):
        find_predictions(scored)
    assert find_predictions(scored, label_names=["-1=0", "1=1"]).references.tolist() == [1, 0, 1]
    told = find_predictions({**scored, "label": [0, -1, 1]})
    assert (told.references.tolist(), told.match_in_words) == ([0, -1, 1], "by name: 0, 1")


def test_a_confidence_in_the_answer_is_not_read_as_that_of_class_1():
    table = {"y_true": [1, 0, 0], "y_pred": [1, 0, 1], "y_prob": [0.9, 0.8, 0.6]}
    with pytest.raises(ValueError, match=r"P\(class 1\)"):
        find_predictions(table)
    read = find_predictions(table, confidence_column="y_prob")
    assert (read.kind, read.references.tolist()) == ("confidence", [1, 1, 0])
    assert find_predictions({**table, "y_prob": [0.9, 0.2, 0.6]}).references.tolist() == [1, 0, 0]


def test_a_column_of_labels_that_is_not_found_is_told(tmp_path):
    found = resolve({"text": ["Gut.", "Matt."], "Urteil": ["gut", "schlecht"]})
    assert found.doubts == (
        "No column is used as labels. Choose one of Urteil with `label_column`.",
    )


def test_a_nested_class_label_keeps_its_names():
    label = datasets.ClassLabel(names=["positive", "negative"])
    features = datasets.Features(
        {"text": datasets.Value("string"), "m": {"lab": label}, "all": [{"lab": label}]}
    )
    rows = {"text": ["a", "b"], "m": [{"lab": 0}, {"lab": 1}], "all": [[{"lab": 1}], [{"lab": 0}]]}
    data = datasets.Dataset.from_dict(rows, features=features)
    opened = open_dataset(data, label_column="m.lab", label_names=["negative", "positive"])
    assert opened["label"][:] == [1, 0]
    assert add_nested_columns(data, ["all.lab"]).features["all.lab"].feature == label


def test_a_hint_is_filled_in_where_names_agree_and_has_gaps_elsewhere():
    from rightreasons.core.labels.matching import MatchTerms, match_labels

    terms, nli = MatchTerms(rename="label_names"), ("entailment", "neutral", "contradiction")
    for names, hint in (
        (("c", "e", "n"), "c=contradiction,e=entailment,n=neutral"),
        (("not_entailment", "entailment"), "not_entailment=?,entailment=entailment"),
        (("neu", "x"), "neu=neutral,x=?"),
    ):
        with pytest.raises(ValueError, match=f"label_names='{hint.replace('?', '[?]')}'"):
            match_labels(names, nli, terms=terms)


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
def test_every_form_in_memory_is_one_table(form):
    opened = open_dataset(FORMS[form])
    assert (opened["text"][:], opened["label"][:]) == (COLUMNS["text"], [1, 0, 1])


def test_a_torch_formatted_data_set_is_read():
    data = datasets.Dataset.from_dict({"text": ["a", "b"], "label": [1, 0]}).with_format("torch")
    assert open_dataset(data)["label"][:] == [1, 0]


TEXTS = {
    "semicolons.csv": ("text;label\nFine.;up\nDull.;down\nGrand.;up\n", "utf-8"),
    "bars.csv": ("text|label\nFine.|up\nDull.|down\nGrand.|up\n", "utf-8"),
    "tabs.csv": ("text\tlabel\nFine.\tup\nDull.\tdown\nGrand.\tup\n", "utf-8"),
    "excel.csv": ("sep=;\ntext;label\nFine.;up\nDull.;down\nGrand.;up\n", "cp1252"),
    "unicode.txt": (
        "text\tlabel\nFine.\tup\nDull.\tdown\nGrand.\tup\n",
        "utf-16",
    ),  # as Excel calls it
    "utf16.csv": ("text,label\nFine.,up\nDull.,down\nGrand.,up\n", "utf-16"),
    "headings.csv": (",text , label,x,x\n0,Fine.,up,,\n1,Dull.,down,,\n2,Grand.,up,,\n", "utf-8"),
    "frame.json": (pd.DataFrame(COLUMNS).to_json(), "utf-8"),
    "split.json": (pd.DataFrame(COLUMNS).to_json(orient="split"), "utf-8"),
    "index.json": (pd.DataFrame(COLUMNS).to_json(orient="index"), "utf-8"),
    "table.json": (pd.DataFrame(COLUMNS).to_json(orient="table"), "utf-8"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_every_form_of_text_is_one_table(tmp_path, name):
    text, encoding = TEXTS[name]
    (tmp_path / name).write_bytes(text.encode(encoding))
    opened = open_dataset(tmp_path / name)
    assert (opened["text"][:], opened["label"][:]) == (COLUMNS["text"], [1, 0, 1])
    assert open_dataset((tmp_path / name).as_uri())["label"][:] == [1, 0, 1]


def test_german_excel_is_read_at_once(tmp_path):
    """Semicolons, cp1252, decimal commas, labels in words, and two columns that nobody needs."""
    path = tmp_path / "ergebnis.csv"
    path.write_bytes(
        "Nr;Notiz;Notiz;p_schön;p_öde;label\n1;;x;0,9;0,1;schön\n2;;y;0,25;0,75;öde\n".encode(
            "cp1252"
        )
    )
    with pytest.warns(UserWarning, match="is read as cp1252"):
        read = read_predictions(path)
    assert (read.predictions.tolist(), read.references.tolist()) == (
        [[0.9, 0.1], [0.25, 0.75]],
        [0, 1],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (
            as_table(path, form=rightreasons.io.options.FileForm(encoding="cp1252")).num_rows == 2
        )


def test_german_excel_shows_percentages(tmp_path):
    """With "sep=;" above, empty rows below, a heading before the label, and one label in capitals."""
    path = tmp_path / "ergebnis.csv"
    rows = "sep=;\nNr;Ergebnis;Sicherheit Gut;Sicherheit Nicht gut\n1;Gut;56,5 %;43,5 %\n2;NICHT GUT ;7,25%;92,75%\n;;;\n"
    path.write_text(rows, encoding="utf-8-sig")
    read = read_predictions(path, label_column="Ergebnis")
    assert read.predictions.tolist() == [[0.565, 0.435], [0.0725, 0.9275]]
    assert (read.references.tolist(), read.label_names) == ([0, 1], ("Gut", "NICHT GUT"))
    with pytest.raises(ValueError, match="'GUT'. .*label_names="):
        open_dataset({"text": ["a", "b", "c"], "label": ["Gut", "GUT", "Öde"]})


@pytest.mark.parametrize("names", [("p_Gut", "p_Öde"), ("Gut", "Öde")])
def test_percentages_are_told_to_be_such(names):
    table = {names[0]: [56.4, 10.0], names[1]: [43.6, 90.0], "label": ["Gut", "Öde"]}
    with pytest.raises(ValueError, match="p_Gut, p_Öde"):
        read_predictions(table)
    read = read_predictions(table, scores="percentages")
    assert (read.predictions.tolist(), read.scores) == (
        [[0.564, 0.436], [0.1, 0.9]],
        "probabilities",
    )
    sure = {"confidence": [85, 60], "correct": [1, 0]}
    with pytest.raises(ValueError, match="85. If the scores"):
        read_predictions(sure)
    assert read_predictions(sure, scores="percentages").predictions.tolist() == [0.85, 0.6]


def test_columns_of_log_probabilities_are_those_of_the_labels_they_end_in():
    table = {"logp_Gut": [-0.1, -2.3], "logp_Öde": [-2.35, -0.1], "label": ["Gut", "Öde"]}
    assert read_predictions(table).scores == "log_probabilities"
    read = read_predictions(
        {"x_Gut": [0.9, 0.2], "x_Öde": [0.1, 0.8], "label": ["Öde", "Gut"]},
        score_columns="x_Öde,x_Gut",
    )
    assert (read.label_names, read.references.tolist()) == (("Öde", "Gut"), [0, 1])


def test_bytes_that_are_not_of_the_encoding_that_is_given(tmp_path):
    path = tmp_path / "plain.csv"
    path.write_text("text,label\na,b\n")
    with pytest.raises(ValueError, match="Expected utf16"):
        as_table(path, form=rightreasons.io.options.FileForm(encoding="utf16"))


def test_splits_in_one_document_and_rows_without_headings(tmp_path):
    path = tmp_path / "clinc.json"
    path.write_text(
        json.dumps({"train": [["Fine.", "up"], ["Dull.", "down"]], "val": [["Grand.", "up"]]})
    )
    opened = open_dataset(path, column_names=["text", "label"])
    assert {name: part["label"][:] for name, part in opened.items()} == {
        "train": [1, 0],
        "val": [1],
    }
    with pytest.raises(ValueError, match="with `column_names`"):
        open_dataset(path)


def test_an_odd_column_that_nobody_needs_refuses_nothing(tmp_path):
    path = tmp_path / "ambient.jsonl"
    rows = [
        {"id": "126_c", "text": "a", "label": "x", "m": 1},
        {"id": 51107, "text": "b", "label": "y", "m": [10**30]},
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    opened = open_dataset(path)
    assert (opened["id"][:], opened["label"][:]) == (["126_c", "51107"], [0, 1])
    with pytest.raises(TypeError, match="row 1 holds a list"):
        open_dataset(path, label_column="m")
    for bad in (
        '{"text": "\\ud800", "label": 1}',
        '{"text": 5, "label": 1}\n{"text": "a", "label": 0}',
    ):
        path.write_text(bad)
        with pytest.raises(
            (TypeError, ValueError), match="^Expected (Unicode text|texts) in the column 'text'"
        ):
            open_dataset(path)


def test_what_hugging_face_writes_is_read():
    one = [{"label": "POSITIVE", "score": 0.9}, {"label": "NEGATIVE", "score": 0.6}]
    assert as_table(one)[:] == {"prediction": ["POSITIVE", "NEGATIVE"], "confidence": [0.9, 0.6]}
    every = [
        [{"label": name, "score": p} for name, p in (("A", 0.75), ("B", 0.25))],
        [{"label": "B", "score": 1.0}, {"label": "A", "score": 0.0}],
    ]
    assert as_table(every)[:] == {"p_A": [0.75, 0.0], "p_B": [0.25, 1.0]}
    output = type(
        "PredictionOutput",
        (),
        {"predictions": np.array([[1.0, 2.0]]), "label_ids": np.array([1]), "metrics": {}},
    )
    read = read_predictions(output())
    assert (read.scores, read.references.tolist()) == ("logits", [1])
    classes = {
        "contradiction": [0.3, 0.8],
        "entailment": [0.7, 0.2],
        "label": ["entailment", "contradiction"],
    }
    assert find_predictions(classes).references.tolist() == [1, 0]
    lists = find_predictions({"confidence": [[0.3, 0.7], [0.8, 0.2]], "label": [1, 0]})
    assert (lists.kind, lists.predictions.tolist()) == ("top_label", [[0.3, 0.7], [0.8, 0.2]])


def test_a_cell_of_json_is_what_it_says(tmp_path):
    """A pipeline's output in a column, an object of probabilities by class, and fields of both."""
    labels, sure = ["yes", "no", "no"], [("yes", 0.9), ("yes", 0.6), ("no", 0.7)]
    cells = [json.dumps({"label": label, "score": score, "title": "A"}) for label, score in sure]
    pd.DataFrame({"output": cells, "label": labels}).to_csv(tmp_path / "t.csv", index=False)
    options = {
        "confidence_column": "output.score",
        "correct_column": "{{ output['label'] == label }}",
    }
    read = read_predictions(tmp_path / "t.csv", **options)
    assert (read.predictions.tolist(), read.references.tolist()) == ([0.9, 0.6, 0.7], [1, 0, 1])
    opened = open_dataset(
        tmp_path / "t.csv", text_column="output.title", label_column="{{ output.label }}"
    )
    assert (opened["text"][:], opened["label"][:]) == (["A"] * 3, [1, 1, 0])
    with pytest.raises(ValueError, match="`confidence_column` names"):
        read_predictions(tmp_path / "t.csv", confidence_column="output.scor")
    by_class = [{"no": 0.2, "yes": 0.8}, {"yes": 0.4, "no": 0.6}, {"yes": 0.1, "no": 0.9}]
    listed = [[{"label": name, "score": p} for name, p in row.items()] for row in by_class]
    for name, cells, named in (("probs", by_class, {}), ("out", listed, {"score_columns": "out"})):
        for held in (cells, [json.dumps(cell) for cell in cells]):
            read = read_predictions({name: held, "label": labels}, **named)
            assert (read.predictions.tolist(), read.label_names) == (
                [[0.2, 0.8], [0.6, 0.4], [0.9, 0.1]],
                ("no", "yes"),
            )


def test_shares_votes_and_lists_of_one_label_are_labels_and_several_labels_are_not():
    """The likeliest class; none where two are; what is no share is said to be several labels, or a regression."""
    for labels, numbers in (
        ([[0, 1], [1, 0], [0.5, 0.5]], [1, 0, -1]),
        ([{"0": 1, "1": 3}, {"0": 2, "1": 1}, {"0": 1, "1": 1}], [1, 0, -1]),
        (['{"0": 0.4, "1": 0.6}', '{"0": 1.0}', "{}"], [1, 0, -1]),
        ([[1], [0], []], [1, 0, -1]),
        ([["1", "0", "1"], ["0", "0", "0"], ["0", "1"]], [1, 0, -1]),
        ([[1, 0, 1], [0, 0, 0, 0], [0, 1]], [1, 0, -1]),  # votes of three, four and two people
        ([[1, 4], [3, 2], [2, 3]], [1, 0, 1]),  # how many of five voted for either
    ):
        assert open_dataset({"text": ["a", "b", "c"], "label": labels})["label"][:] == numbers
        assert (
            read_predictions(
                scored("1", "0", labels) | {"p_1": HIGH[:3], "p_0": HIGH[2:5]}
            ).references.tolist()
            == numbers
        )
    many = datasets.Features(
        {"text": datasets.Value("string"), "label": [datasets.ClassLabel(names=["x", "y"])]}
    )
    one = datasets.Dataset.from_dict({"text": ["a", "b"], "label": [[1], [0]]}, features=many)
    assert open_dataset(one, label_names=["y", "x"])["label"][:] == [0, 1]
    for labels, words in (
        ([[1, 0], [1]], "For items with several labels"),  # classes 1 and 0, as the lengths differ
        ([[1, 1], [0, 1]], "For items with several labels"),
        (['["x", "x"]', [[1], [2]]], "For items with several labels"),
        (["4,27", "3"], "audit each label with target=all"),
        ([2.5, 1.25], "A regression has no classes"),
    ):
        with pytest.raises(ValueError, match=words):
            open_dataset({"text": ["a", "b"], "label": labels})
    shown = resolve({"text": ["a", "b"], "label": [[0, 1], [1, 0]]})
    assert [(row.value, row.label) for row in shown.mapping] == [("1", "1"), ("0", "0")]
    with pytest.raises(ValueError, match="several labels"):
        open_dataset(
            datasets.Dataset.from_dict(
                {"text": ["a", "b"], "label": [[1, 0], [0, 1]]}, features=many
            )
        )
    asked = open_dataset(
        {"text": ["a", "b"], "labels": [[4, 27], [3]]}, label_column="{{ 27 in labels }}"
    )
    assert (asked["label"][:], asked.features["label"].names) == ([1, 0], ["false", "true"])


def test_words_that_say_numbers_meet_numbers_and_no_other_words():
    words = [("no", "yes")[label] for label in LABELS]
    assert right(find_predictions(scored("1", "0", words))) == 1.0
    scores = {"score": HIGH, "label": words}
    assert find_predictions(scores, score_columns="score").label_names == ("no", "yes")
    first = find_predictions({"p_no": [1 - p for p in HIGH], "label": words}, score_columns="p_no")
    assert ((first.predictions > 0.5) == first.references).all()
    true = {"p_yes": HIGH, "label": [bool(label) for label in LABELS]}  # yes is true
    for names in (None, ["false", "true"], ["true", "false"]):
        read = find_predictions(true, score_columns="p_yes", label_names=names)
        assert ((read.predictions > 0.5) == read.references).all()
    zero = {
        "p_0": HIGH,
        "label": [("good", "bad")[label] for label in LABELS],
    }  # p_0 is P(bad), the first of the two
    read = find_predictions(zero, score_columns="p_0", label_names=["bad", "good"])
    assert ((read.predictions > 0.5) == read.references).all()
    with pytest.raises(ValueError, match="Expected the labels of the columns of scores"):
        find_predictions(
            {"p_yes": HIGH, "label": zero["label"]},
            score_columns="p_yes",
            label_names=["bad", "good"],
        )
    with pytest.raises(ValueError, match=r"`label_names` \(no, yes\)"):
        find_predictions(
            scored("good", "bad", words), label_names=["no", "yes"]
        )  # not by their order


@pytest.mark.parametrize(
    "names", [("P(yes)", "P(no)"), ("yes_prob", "no_prob"), ("Score yes", "Score no")]
)
def test_a_heading_may_hold_its_label_anywhere(names):
    words = [("no", "yes")[label] for label in LABELS]
    table = dict(zip((*names, "sentiment"), scored("1", "0", words).values(), strict=True))
    assert right(find_predictions(table, label_column="sentiment")) == 1.0


def test_one_column_of_decimal_commas_and_a_label_by_a_name_that_items_have():
    read = find_predictions({"y_prob": ["0,75", "0,25"], "category": ["1", "0"]})
    assert (read.predictions.tolist(), read.references.tolist()) == ([0.75, 0.25], [1, 0])


def test_answers_alone_whose_columns_are_named():
    table = {"predicted": ["a", "b", "c"], "gilt": ["a", "c", "c"]}
    for named in ({"label_column": "gilt"}, {"correct_column": "{{ predicted == gilt }}"}):
        read = read_predictions(table, answers_alone=True, **named)
        assert (read.answers_once, read.references.tolist()) == (True, [1, 0, 1])
    with pytest.raises(ValueError, match="'gold' that `label_column`"):
        read_predictions(table, answers_alone=True, label_column="gold")


def test_probabilities_of_two_decimals_add_up_again():
    read = find_predictions(
        {"p_a": [0.33, 0.2], "p_b": [0.33, 0.2], "p_c": [0.33, 0.6], "label": ["a", "c"]}
    )
    assert read.predictions[0].tolist() == pytest.approx([1 / 3] * 3)
    assert "rounded to 2 decimals" in read.used
    far = find_predictions({"p_a": [0.4], "p_b": [0.5], "label": ["a"]})  # 0.9 is no rounding
    assert far.predictions.tolist() == [[0.4, 0.5]]


def test_a_passage_may_be_missing_and_letters_are_no_part_of_choices():
    rows = [
        {"passage": None, "question": "1 + 1?", "options": ["(A)2", "(B)3"], "label": "A"},
        {"passage": "So.", "question": "Who?", "options": ["(A) Ann", "(B) Bob"], "label": "(B)"},
    ]
    opened = open_multiple_choice(rows)
    assert (opened["prompt"][:], opened["label"][:]) == (["1 + 1?", "So. Who?"], [0, 1])
    assert opened["choices"][:] == [["2", "3"], ["Ann", "Bob"]]


def test_columns_of_prompts_are_listed_with_commas_and_truthful_qa_is_known():
    rows = {"a": ["p"], "b": ["q"], "c1": ["x"], "c2": ["y"], "label": [1]}
    opened = open_multiple_choice(rows, prompt_column="a,b", choices_column="c1,c2", first_label=0)
    assert (opened["prompt"][:], opened["choices"][:]) == (["p q"], [["x", "y"]])
    whole = {"a,b": ["p"], **rows}  # a column of that name
    assert open_multiple_choice(whole, prompt_column="a,b", choices_column="c1,c2", first_label=0)[
        "prompt"
    ][:] == ["p"]
    asked = [{"question": "Who?", "mc1_targets": {"choices": ["x", "y", "z"], "labels": [0, 0, 1]}}]
    assert open_multiple_choice(asked)["label"][:] == [2]


def test_a_backslash_and_its_quotation_mark_are_found_wherever_they_stand(tmp_path):
    # The backslash is the last byte of the first 2^20, and the mark the first of the next.
    head, end = "text,label\n", '"a \\" mark",good\n'
    rows = '"a comma, here",bad\n' * 100
    filled = (1 << 20) - 1 - end.index("\\") - len(head + rows) - len('"",bad\n')
    path = tmp_path / "x.csv"
    path.write_text(f'{head}{rows}"{"x" * filled}",bad\n{end}')
    assert path.read_bytes()[(1 << 20) - 1 : (1 << 20) + 1] == b'\\"'
    assert as_table(path)["text"][-1] == 'a " mark'


def test_quotation_marks_behind_a_backslash_and_remarks_above_a_table(tmp_path):
    path = tmp_path / "t.csv"
    table = 'text,label\n"a \\"quoted\\" word",x\n"c, d",y\n'
    path.write_text(table)
    assert open_dataset(path)["text"][:] == ['a "quoted" word', "c, d"]
    path.write_text("# of March\n# by hand\n" + table)
    with pytest.raises(ValueError, match="and delete the lines above the headings"):
        open_dataset(path)
    path.write_text(
        '#id,text,label\n1,"{""a"": ""x\\""y""}",x\n2,b,y\n'
    )  # a doubled mark behind a backslash of JSON
    data = open_dataset(path)
    assert (data["text"][0], data.column_names[-1]) == ('{"a": "x\\"y"}', "#id")


def test_minimal_pairs_have_a_prompt_that_asks_and_their_order_tells_nothing():
    pairs = [{"sentence_good": "Cats sleep.", "sentence_bad": "Cats sleeps."}]
    pairs += [{"sentence_good": "Who left?", "sentence_bad": "Left who?"}]
    read = open_multiple_choice(pairs)
    assert read["choices"][:] == [["Cats sleep.", "Cats sleeps."], ["Left who?", "Who left?"]]
    assert (read["label"][:], read["prompt"][0]) == (
        [0, 1],
        "Which of these sentences is more acceptable?",
    )
    read = open_multiple_choice({"sent_more": ["A man cooks."], "sent_less": ["A woman cooks."]})
    assert (read["choices"][0], read["label"][:]) == (["A man cooks.", "A woman cooks."], [1])


def test_splits_of_any_case_are_two_and_a_file_beside_itself_compressed_is_refused(tmp_path):
    for name, text in (("Train.csv", "a,x\nb,y"), ("TEST.csv", "c,x")):
        (tmp_path / name).write_text(f"text,label\n{text}\n")
    assert {name: part["text"][:] for name, part in open_dataset(tmp_path).items()} == {
        "train": ["a", "b"],
        "test": ["c"],
    }
    with gzip.open(tmp_path / "Train.csv.gz", "wt") as stream:
        stream.write("text,label\na,x\n")
    with pytest.raises(ValueError, match="with and without compression"):
        open_dataset(tmp_path)


def test_labels_that_look_alike_are_told():
    with pytest.raises(ValueError, match=r"'pos' and 'pos\\u200f'"):
        open_dataset({"text": ["a", "b"], "label": ["pos", "pos\u200f"]})


def test_expressions_make_columns_and_a_file_describes_them(tmp_path, monkeypatch):
    (tmp_path / "a.jsonl").write_text(
        "\n".join(map(json.dumps, [{"t": "A", "b": "x", "y": 1}, {"t": "B", "b": "z", "y": 0}]))
    )
    (tmp_path / "data.yaml").write_text(
        'data: a.jsonl\ntext_column: "{{ t }}: {{ b }}"\nlabel_column: y\nlabel_names: [bad, good]\n'
    )
    opened = open_dataset(tmp_path / "data.yaml")
    assert (opened["text"][:], opened.features["label"].names, opened["label"][:]) == (
        ["A: x", "B: z"],
        ["bad", "good"],
        [1, 0],
    )
    (tmp_path / "data.yaml").write_text("data: a.jsonl\nlabel_colum: y\n")
    with pytest.raises(ValueError, match="Did you mean 'label_column'"):
        open_dataset(tmp_path / "data.yaml")
    with pytest.raises(
        ValueError,
        match="expression over",
    ):
        open_dataset(tmp_path / "a.jsonl", text_column="{{ 1 / 0 }}", label_column="y")
    forms = tmp_path / "forms.yaml"
    forms.write_text('- {prompt: [t], choices: ["{{ [b, t] }}"], label: [y]}\n')
    monkeypatch.setenv("RIGHTREASONS_CHOICE_FORMS", str(forms))
    assert open_multiple_choice(tmp_path / "a.jsonl")["choices"][:] == [["x", "A"], ["z", "B"]]


# ------------------------------------------------------------------------------------------------- what would be read


def test_what_would_be_read_is_told_with_what_is_doubtful():
    found = resolve(
        pd.DataFrame({"review": ["a", "b", "c"], "label": [1, 0, 1], "category": ["x", "y", "x"]}),
        ["bad", "good"],
    )
    assert (found.kind, found.columns) == (
        "classification",
        {"text": ("review",), "label": ("label",)},
    )
    assert [(row.value, row.count, row.label, row.rule) for row in found.mapping] == [
        ("1", 2, "good", "by number"),
        ("0", 1, "bad", "by number"),
    ]
    assert any("category may hold the labels instead" in doubt for doubt in found.doubts)
    refused = resolve(scored("positive", "negative"))
    assert not refused.readable
    assert refused.doubts[0].startswith("Expected labels in words")
    choices = resolve([{"goal": "p", "sol1": "a", "sol2": "b", "label": 1}])
    assert [(row.value, row.label, row.rule) for row in choices.mapping] == [
        ("1", "choice 1", "by number, counted from 0")
    ]


# ----------------------------------------------------------------------------------------------- one table, every door


def outcome(figure):
    """Return the accuracy that a door gives, or "refused"."""
    try:
        return round(figure(), 6)
    except (TypeError, ValueError) as error:
        return "refused" if str(error).startswith("Expected") else repr(error)


def suite_of(labels):
    names = None if isinstance(labels[0], int) else tuple(dict.fromkeys(labels))
    numbers = labels if names is None else list(map(names.index, labels))
    cases = tuple(
        Case(str(row), ((f"text {row}",),), (label,)) for row, label in enumerate(numbers)
    )
    return Suite("s", ("text",), (Functionality("f", "c", "MFT", {"name": "equal"}, cases),), names)


@pytest.mark.parametrize(
    ("one", "zero", "words", "names"),
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
def test_one_table_through_every_door(tmp_path, capsys, one, zero, words, names):
    """Twenty ones and twenty zeros, all right: 1.0, or one sentence."""
    labels = [(zero, one)[label] for label in LABELS] if words else LABELS
    table = scored(one, zero, labels)
    frame = pd.DataFrame(table)
    scores = frame[[f"p_{one}", f"p_{zero}"]]
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    frame.to_parquet(tmp_path / "t.parquet")
    np.savez(tmp_path / "t.npz", **{name: np.array(column) for name, column in table.items()})
    module = rightreasons.load("ece")

    def read_by(source):
        return outcome(lambda: right(read_predictions(source, label_names=names)))

    def computed(name="accuracy"):
        return module.compute(predictions=scores, references=labels, label_names=names)[name]

    def behaved():
        suite = suite_of(labels)
        found = read_suite_answers(frame[scores.columns], suite)
        return _suite_rate(suite, found, labels)

    doors = {name: read_by(tmp_path / name) for name in ("t.csv", "t.jsonl", "t.parquet", "t.npz")}
    doors |= {
        "frame": read_by(frame),
        "columns": read_by(table),
        "arrow": read_by(pa.Table.from_pandas(frame)),
    }
    doors["module"] = outcome(computed)
    doors["look"] = "refused" if not resolve(table, names).readable else doors["frame"]
    if names is None:
        doors["suite"] = outcome(behaved)
        doors["space"] = read_by(check_upload(tmp_path / "t.csv"))
        doors["pasted"] = outcome(
            lambda: right(parse_predictions((tmp_path / "t.csv").read_text()))
        )
    doors["Trainer"] = outcome(lambda: _of_trainer(read_predictions(frame, label_names=names)))
    doors["command"] = outcome(lambda: _of_command(capsys, tmp_path, names))
    assert doors == dict.fromkeys(doors, doors["frame"])


def _suite_rate(suite, found, labels):
    numbers = suite.label_names or ["0", "1"]
    wanted = [numbers.index(label) if isinstance(label, str) else label for label in labels]
    from rightreasons.behavior.matching import match_classes

    order, *_ = match_classes(suite, found.label_names or 2, "the table")
    return float((found.scores[:, list(order)].argmax(axis=1) == wanted).mean())


def _of_trainer(read):
    """The accuracy of the same scores as a Trainer's logits."""
    said = transformers.EvalPrediction(
        predictions=np.log(read.predictions), label_ids=read.references
    )
    return compute_metrics("accuracy")(said)["accuracy"]


def _of_command(capsys, folder, names):
    """The accuracy that `rightreasons calibration` finds, or its sentence as an error."""
    given = () if names is None else ("--label-names", ",".join(names))
    out = folder / "report"
    done = run(capsys, "calibration", folder / "t.csv", *given, "--n-resamples", "5", "--out", out)
    if done.code:
        assert done.err.rstrip().endswith("shows how the file would be read.")
        raise ValueError(done.err.removeprefix("Error: "))
    answers = json.loads((out / "audit.json").read_text())["questions"]
    return answers[0]["result"]["data"]["figures"]["accuracy"]["estimate"]["value"]


def test_what_releases_hold_is_told_apart(tmp_path):
    choices = {
        "question": ["Who?", "What?"],
        "options": [["A)x", "B)y"], ["A)z", "B)w"]],
        "correct": ["B", "A"],
    }
    assert (
        resolve(choices).kind == "multiple_choice"
    )  # "correct" is the right choice, and no answer of a model's
    upper = {"Question": ["Who?"], "A": ["x"], "B": ["y"], "C": ["z"], "D": ["w"], "Answer": ["C"]}
    assert [(row.value, row.label) for row in resolve(upper).mapping] == [("C", "choice 2")]
    answers = resolve(
        {"qid": ["7", "8", "9"], "gold": ["yes", "no", "no"], "pred": ["yes", "maybe", "no"]}
    )
    assert (answers.kind, answers.readable, answers.columns["right"]) == (
        "predictions",
        True,
        ("pred", "gold"),
    )
    alone = resolve({"id": ["7", "8"], "prediction": [4, 2]})
    assert not alone.readable
    assert alone.doubts[0].startswith("Expected a column with the labels in ")
    flat = {"id": ["2"], "question": ["Whom?"], "context": ["Ann met Bob."]}
    asked = resolve({**flat, "answers": [{"text": ["Bob"], "answer_start": [8]}]})
    assert (asked.kind, asked.items[0]["question"]) == ("question_answering", "Whom?")
    question = {"id": "1", "question": "Who?", "answers": [{"text": "Ann", "answer_start": 0}]}
    article = {"title": "A", "paragraphs": [{"context": "Ann met Bob.", "qas": [question]}]}
    (tmp_path / "squad.json").write_text(json.dumps({"data": [article]}))
    assert resolve(tmp_path / "squad.json").items[0]["answers"] == {
        "text": ["Ann"],
        "answer_start": [0],
    }


def test_a_task_of_big_bench_keeps_the_order_of_its_choices(tmp_path):
    examples = [
        {"input": f"Day {n}?", "target_scores": {f"{n}/2": 0, f"{n}/1": 1, f"{n}/3": 0}}
        for n in range(20)
    ]
    (tmp_path / "task.json").write_text(
        json.dumps({"name": "dates", "keywords": ["time"], "examples": examples})
    )
    found = open_multiple_choice(tmp_path / "task.json")
    assert found["choices"][7] == ["7/2", "7/1", "7/3"]
    assert set(found["label"][:]) == {1}
    examples[3]["target_scores"]["3/3"] = 1  # two right choices: no label
    (tmp_path / "task.json").write_text(json.dumps({"name": "dates", "examples": examples}))
    assert open_multiple_choice(tmp_path / "task.json")["label"][2:5] == [1, -1, 1]


def test_a_first_row_that_is_no_heading_is_told(tmp_path):
    (tmp_path / "a.tsv").write_text("a fine film\t1\ndull\t0\ngrand\t1\n")
    found = resolve(tmp_path / "a.tsv")
    assert found.doubts[0].count("no headings, as '1' suggests") == 1
    assert "all columns with column_names=" in found.doubts[0]
    named = resolve(
        make_description({"data": str(tmp_path / "a.tsv"), "column_names": ["text", "label"]})
    )
    assert [(row.value, row.count) for row in named.mapping] == [("1", 2), ("0", 1)]


def test_the_last_word_of_one_name_tells_a_text_and_a_better_label_is_told():
    table = {"TweetText": ["a b", "c"], "category": ["x", "y"], "stars": ["p", "q"]}
    found = resolve(table)
    assert found.columns["text"] == ("TweetText",)
    assert found.doubts == (
        "The column 'category' is used as labels, but stars may hold the labels instead.",
    )
    assert not resolve(
        {"user_text": ["a"], "bot_text": ["b"], "label": ["x"]}
    ).readable  # two of them
    assert resolve(
        {"text": ["a", "b"], "category": ["x", "y"], "gold_label": ["n", "e"]}
    ).label_names == ("e", "n")


def test_all_columns_of_many_classes_are_shown():
    """A sentence lists twelve at most; the table of what is read has them all, also with commas in their names."""
    rows = {
        f"p_{name}": [0.0, 1.0] if name == "a, b" else [1 / 13, 0.0]
        for name in ("a, b", *"cdefghijklmno")
    }
    rows["p_a, b"] = [0.0, 1.0]
    found = resolve({**rows, "label": ["c", "a, b"]})
    assert found.columns == {"scores": tuple(rows), "labels": ("label",)}


def test_every_door_takes_a_data_yaml(tmp_path):
    (tmp_path / "a.csv").write_text("id|confidence|correct|label\na|0,9|1|no\nb|0,4|0|yes\n")
    (tmp_path / "data.yaml").write_text("data: a.csv\nseparator: '|'\n")
    source = tmp_path / "data.yaml"
    assert as_table(source)["id"][:] == ["a", "b"]
    assert read_predictions(source).predictions.tolist() == [0.9, 0.4]
    assert read_columns(source, ScoreOptions())[0]["label"] == ["no", "yes"]
    assert read_confidence(source).confidence["confidence"].tolist() == [0.9, 0.4]


@pytest.mark.parametrize("source", [[1, 2], [], 5, {"train": [], "test": []}])
def test_what_is_no_table_is_told_in_one_sentence(source):
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
def test_a_description_of_half_of_two_files_is_refused(tmp_path, content, options):
    (tmp_path / "data.yaml").write_text(content)
    with pytest.raises(OptionError, match="Expected (either )?`") as error:
        resolve(tmp_path / "data.yaml")
    assert error.value.option == options


def test_an_unknown_task_in_a_description_is_refused():
    rows = {"text": ["A fine film.", "Dull."] * 8, "label": ["up", "down"] * 8}

    with pytest.raises(OptionError, match="`task`") as error:
        resolve(make_description({"data": rows, "task": "regression"}))

    assert error.value.option == ("task",)
