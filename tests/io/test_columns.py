"""The same rows give the same labels, or the same sentence, whatever form the data has."""

import csv
import json
import math

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rightreasons.io.columns import add_nested_columns
from rightreasons.io.label_columns import NamedLabels
from rightreasons.io.opened_columns import _get_plain_column
from rightreasons.io.tables import open_dataset

datasets.disable_progress_bars()

FILES = ("csv", "tsv", "json", "jsonl", "parquet")


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


def write_separated(path, texts, labels):
    with open(path, "w", encoding="utf-8", newline="") as stream:
        if path.suffix == ".tsv":
            writer = csv.writer(stream, delimiter="\t", quoting=csv.QUOTE_NONE, quotechar=None)
        else:
            writer = csv.writer(stream)
        writer.writerow(("text", "label"))
        for text, label in zip(texts, labels, strict=True):
            writer.writerow((text, "" if label is None else label))


def write_table(path, texts, labels):
    if path.suffix in (".csv", ".tsv"):
        write_separated(path, texts, labels)
    elif path.suffix == ".parquet":
        datasets.Dataset.from_dict({"text": texts, "label": labels}).to_parquet(path)
    else:
        records = []
        for text, label in zip(texts, labels, strict=True):
            records.append(json.dumps({"text": text, "label": label}))
        is_list = path.suffix == ".json"
        path.write_text(f"[{', '.join(records)}]" if is_list else "\n".join(records), "utf-8")


def read_labels(source, name, **options):
    """Return names and ids, or the sentence without the name of the data."""
    try:
        data = open_dataset(source, **options)
    except (TypeError, ValueError) as error:
        return str(error).replace(f" of {name}", " of IT").replace(" (split train)", "")
    if isinstance(data, datasets.DatasetDict):
        data = data["train"]
    return data.features["label"].names, data["label"][:]


def read_every_form(labels, folder, **options):
    """Return what `read_labels` does of each form of the same rows."""
    texts = [f"text {number}" for number in range(len(labels))]
    table = datasets.Dataset.from_dict({"text": texts, "label": list(labels)})
    outcomes = {"Dataset": read_labels(table, "the data set", **options)}
    for kind in FILES:
        path = folder / f"rows.{kind}"
        write_table(path, texts, labels)
        outcomes[kind] = read_labels(path, path, **options)

        inner_folder = folder / f"folder-{kind}"
        inner_folder.mkdir()
        write_table(inner_folder / f"train.{kind}", texts, labels)
        outcomes[f"folder of {kind}"] = read_labels(inner_folder, inner_folder, **options)
    saved_folder = folder / "saved"
    table.save_to_disk(saved_folder)
    outcomes["saved"] = read_labels(saved_folder, saved_folder, **options)
    return outcomes


READ_CASES = {
    "words": ["good", "bad", "good", "fine"],
    "words that pandas takes for nothing": ["None", "Pro", "NA", "null", "None"],
    "numbers": [0, 2, 1, 0],
    "numbers from 1": [1, 3, 2],
    "texts of numbers": ["1", "0", "1"],
    "leading zeros": ["007", "010", "007"],
    "whole floats": [1.0, 0.0, 1.0],
    "whole floats, one missing": [1.0, None, 0.0],
    "numbers, one missing": [1, None, 0, 2],
    "words, one missing": ["up", None, "down"],
    "nothing but -1": [-1, -1],
    "some -1": [0, -1, 1],
    "no gold label": ["entailment", "-", "neutral", "contradiction"],
    "signs": ["+", "-", "+"],
    "booleans": [True, False, True],
    "words beside spaces": ["up", "up ", " down"],
    "one class": ["spam", "spam"],
    "quotes": ['a "b"', "c", 'a "b"'],
    "letters beyond ASCII": ["sch\u00f6n", "\u4e0d\u597d", "sch\u00f6n"],
}
REFUSED_CASES = {
    "numbers and a word": ["0", "1", "n/a"],
    "numbers and nan": ["1", "nan"],
    "zeros before numbers": ["01", "1", "0"],
    "letter case": ["Good", "good", "bad"],
    "hyphens": ["non-toxic", "non_toxic"],
    "a fraction": [0.5, 1.0],
    "fractions": [2.25, 3.5],
    "less than -1": [0, -100],
    "an id": [0, 10**9],
    "1 and -1": [1, -1, 1],
    "one label and a hyphen": ["spam", "-"],
}
CASES = READ_CASES | REFUSED_CASES


@pytest.mark.parametrize("case", CASES)
def test_every_form_gives_the_same_labels_or_the_same_sentence(tmp_path, case):
    outcomes = read_every_form(CASES[case], tmp_path)

    expected = outcomes["Dataset"]
    assert outcomes == dict.fromkeys(outcomes, expected)
    assert isinstance(expected, str) == (case in REFUSED_CASES)


@pytest.mark.parametrize(
    ("labels", "options"),
    [
        (["good", "BAD", "good"], {"label_names": ["bad", "good"]}),
        ([2, 1, None], {"label_names": ["bad", "good"]}),
        ([1, 1], {"label_names": ["bad", "good"]}),
        ([1, 1], {"label_names": ["bad", "good"], "first_label": 1}),
        (["1", "3"], {"label_names": ["3", "2", "1"]}),
        (["-", "+"], {"label_names": ["+", "-"]}),
        (["fine", "good"], {"label_names": ["bad", "good"]}),
        ([0, 5], {"label_names": ["bad", "good"]}),
        ([0.5, 1.5], {"label_names": ["1.5", "0.5"]}),
        ([0.5, 1.5], {"label_names": ["bad", "good"]}),
    ],
)
def test_names_of_labels_have_one_outcome_in_every_form(tmp_path, labels, options):
    outcomes = read_every_form(labels, tmp_path, **options)

    assert outcomes == dict.fromkeys(outcomes, outcomes["Dataset"])


# The reverse of their alphabetical order.
NAMES = ["grand", "fine", "dull"]


def make_named_table(names, labels):
    label_type = datasets.ClassLabel(names=names)
    features = datasets.Features({"text": datasets.Value("string"), "label": label_type})
    return make_table(labels).cast(features)


def make_table(labels):
    texts = [f"t{number}" for number in range(len(labels))]
    return datasets.Dataset.from_dict({"text": texts, "label": labels})


def save_table(table, folder, form):
    """Save a table in a form, and return what is to be opened."""
    if form == "parquet":
        source = folder / "a.parquet"
        table.to_parquet(source)
    elif form == "folder":
        source = folder / "in"
        source.mkdir()
        table.to_parquet(source / "train.parquet")
    elif form == "saved":
        source = folder / "saved"
        table.save_to_disk(source)
    else:
        source = table
    return source


@pytest.mark.parametrize("form", ["Dataset", "parquet", "folder", "saved"])
def test_class_labels_are_read_in_every_form(tmp_path, form):
    source = save_table(make_named_table(NAMES, [2, 0, None]), tmp_path, form)

    assert read_labels(source, source) == (NAMES, [2, 0, -1])
    # In the reverse order of names, label 2 is label 0.
    assert read_labels(source, source, label_names=NAMES[::-1]) == (NAMES[::-1], [0, 2, -1])
    sentence = read_labels(source, source, label_names=["no", "yes"])
    assert "but the labels are dull, grand and row 0" in sentence


@pytest.mark.parametrize(
    ("test_split", "labels"),
    [
        (make_named_table(["positive", "negative"], [0, 1]), [1, 0]),
        # The class "neutral" does not occur.
        (make_named_table(["neutral", "NEGATIVE", "positive"], [2, 1]), [1, 0]),
        (make_table(["Positive", "Negative", ""]), [1, 0, -1]),
        (make_table([0, 1]), [0, 1]),
        (make_table(["1", "2"]), [0, 1]),
        (make_named_table(["0", "1"], [1, 0]), [1, 0]),
    ],
)
def test_splits_are_matched_by_name(test_split, labels):
    train_split = make_named_table(["Negative", "Positive"], [1, 0])

    data = open_dataset({"train": train_split, "test": test_split})

    assert data["test"].features["label"].names == ["Negative", "Positive"]
    assert data["test"]["label"][:] == labels
    assert data["train"]["label"][:] == [1, 0]


@pytest.mark.parametrize(
    ("test_split", "parts"),
    [
        (make_named_table(["joy", "anger"], [0, 1]), ["joy, anger", "Negative, Positive"]),
        (
            make_named_table(["neutral", "positive"], [0, 1]),
            ["neutral, positive", "Negative, Positive"],
        ),
        (make_table(["good", "bad"]), ["good, bad", "Negative, Positive"]),
        (make_table([1]), ["Negative, Positive", "no 0", "first_label="]),
        (make_table(["negative", "1"]), ["negative, 1", "Negative, Positive"]),
    ],
)
def test_splits_of_other_names_are_refused_with_both_lists(test_split, parts):
    train_split = make_named_table(["Negative", "Positive"], [1, 0])

    with pytest.raises(ValueError, match=r"\(split test\)") as error:
        open_dataset({"train": train_split, "test": test_split})

    message = str(error.value)
    assert [text for text in parts if text not in message] == [], message


def test_a_number_beyond_the_names_of_a_parquet_file_is_refused(tmp_path):
    features = {
        "text": {"dtype": "string", "_type": "Value"},
        "label": {"names": ["only"], "_type": "ClassLabel"},
    }
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    table = pa.table({"text": ["a", "b"], "label": pa.array([0, 1])})
    path = tmp_path / "a.parquet"
    pq.write_table(table.replace_schema_metadata(metadata), path)

    with pytest.raises(ValueError, match=r"to 0 \(only\)"):
        open_dataset(path)


def test_nan_is_no_label():
    assert read_labels(make_table([1.0, math.nan, 0.0]), "") == (["0", "1"], [1, -1, 0])


def test_left_out_texts_take_their_labels_along():
    table = datasets.Dataset.from_dict({"text": ["a", " ", "c"], "label": ["x", "y", "z"]})

    data = open_dataset(table, drop_empty=True)

    # The second text is empty, and its label "y" is the class 1.
    assert data["label"][:] == [0, 2]


@pytest.mark.parametrize(
    "values", [[True, False, True], ["True", "False", "True"], ["yes", "no", "yes"], [2, 1, 2]]
)
def test_labels_are_renamed(values):
    """A model's names for what the data calls true and false, yes and no, or 1 and 2."""
    positive, negative, _ = (str(value).lower() for value in values)
    pairs = [f"{negative}=NEGATIVE", f"{positive}=POSITIVE"]

    renamed = open_dataset(make_table(values), label_names=pairs)
    reopened = open_dataset(renamed, label_names=pairs)

    for data in (renamed, reopened):
        assert data["label"][:] == [1, 0, 1]
        assert data.features["label"].names == ["NEGATIVE", "POSITIVE"]


def test_labels_become_one_and_each_needs_a_name():
    table = make_named_table(["a", "b", "c"], [2, 0, 1])

    data = open_dataset(table, label_names=["a=x", "b=y", "c=x"])

    assert data["label"][:] == [0, 0, 1]
    assert data.features["label"].names == ["x", "y"]
    with pytest.raises(ValueError, match="`label_names`, but 'b'"):
        open_dataset(table, label_names=["a=x", "c=y"])


def test_labels_exchange_their_names():
    data = open_dataset(make_table(["a", "b", "a"]), label_names=["a=b", "b=a"])

    assert data.features["label"].names == ["b", "a"]
    assert data["label"][:] == [0, 1, 0]


def test_numbers_of_named_labels_begin_at_0_and_none_is_minus_1():
    assert NamedLabels([1, -1, None], ["no", "yes"], "label", "a.parquet") == ["yes", None, None]
    for number in (-2, 2):
        message = rf"from 0 to 1 \(no, yes\) in the column 'label' .* row 1 holds {number}"
        with pytest.raises(ValueError, match=message):
            NamedLabels([0, number], ["no", "yes"], "label", "a.parquet")


def test_a_missing_number_stays_none():
    assert list(_get_plain_column(pa.chunked_array([[0.5, None]]))) == [0.5, None]
    assert _get_plain_column(pa.chunked_array([[0.5, 0.25]])).tolist() == [0.5, 0.25]


@pytest.mark.parametrize("expression", ["{{ lost }}", "{{ [text, lost] }}", "{{ {'a': [lost]} }}"])
def test_an_expression_of_a_missing_column_is_refused(expression):
    table = datasets.Dataset.from_dict({"text": ["Fine."]})

    with pytest.raises(ValueError, match="'lost' is undefined"):
        add_nested_columns(table, [expression])
