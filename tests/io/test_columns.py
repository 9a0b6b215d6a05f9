"""The same rows give the same labels, or the same sentence, whatever form the data has."""

import csv
import json
import math

import datasets
import pyarrow as pa
import pytest

from rightreasons.io.columns import add_nested_columns
from rightreasons.io.label_columns import NamedLabels
from rightreasons.io.opened_columns import _get_plain_column
from rightreasons.io.tables import open_dataset

datasets.disable_progress_bars()

FILES = ("csv", "tsv", "json", "jsonl", "parquet")


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


def write(path, rows):
    kind = path.suffix[1:]
    if kind in ("csv", "tsv"):
        quoting = {"quoting": csv.QUOTE_NONE, "quotechar": None} if kind == "tsv" else {}
        with open(path, "w", encoding="utf-8", newline="") as stream:
            table = csv.writer(stream, delimiter="\t" if kind == "tsv" else ",", **quoting)
            table.writerows(
                [
                    ("text", "label"),
                    *((text, "" if label is None else label) for text, label in rows),
                ]
            )
    elif kind in ("json", "jsonl"):
        records = [json.dumps({"text": text, "label": label}) for text, label in rows]
        path.write_text(
            "\n".join(records) if kind == "jsonl" else f"[{', '.join(records)}]", "utf-8"
        )
    else:
        datasets.Dataset.from_dict(
            {"text": [text for text, _ in rows], "label": [label for _, label in rows]}
        ).to_parquet(path)
    return path


def outcome(source, name, **options):
    """Return names and ids, or the sentence without the name of the data."""
    try:
        data = open_dataset(source, **options)
    except (TypeError, ValueError) as error:
        return str(error).replace(f" of {name}", " of IT").replace(" (split train)", "")
    data = data["train"] if isinstance(data, datasets.DatasetDict) else data
    return data.features["label"].names, data["label"][:]


def outcomes(labels, folder, **options):
    """Return the outcome of each form of the same rows."""
    rows = [(f"text {number}", label) for number, label in enumerate(labels)]
    columns = {"text": [text for text, _ in rows], "label": list(labels)}
    made = {"Dataset": outcome(datasets.Dataset.from_dict(columns), "the data set", **options)}
    for kind in FILES:
        path = write(folder / f"rows.{kind}", rows)
        made[kind] = outcome(path, path, **options)
        inside = folder / f"folder-{kind}"
        inside.mkdir()
        write(inside / f"train.{kind}", rows)
        made[f"folder of {kind}"] = outcome(inside, inside, **options)
    saved = folder / "saved"
    datasets.Dataset.from_dict(columns).save_to_disk(saved)
    made["saved"] = outcome(saved, saved, **options)
    return made


CASES = {
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
    # refused, each with one sentence
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


@pytest.mark.parametrize("case", CASES)
def test_every_form_gives_the_same_labels_or_the_same_sentence(tmp_path, case):
    made = outcomes(CASES[case], tmp_path)
    expected = made["Dataset"]
    assert {form: result for form, result in made.items() if result != expected} == {}
    assert isinstance(expected, str) == (
        case in list(CASES)[list(CASES).index("numbers and a word") :]
    )


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
def test_known_names_in_every_form(tmp_path, labels, options):
    made = outcomes(labels, tmp_path, **options)
    assert {form: result for form, result in made.items() if result != made["Dataset"]} == {}


NAMES = ["dull", "fine", "grand"]


@pytest.mark.parametrize("form", ["Dataset", "parquet", "folder", "saved"])
def test_a_class_label_in_every_form(tmp_path, form):
    features = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=NAMES[::-1])}
    )
    data = datasets.Dataset.from_dict(
        {"text": list("abc"), "label": [2, 0, None]}, features=features
    )
    source = data
    if form == "parquet":
        source = tmp_path / "a.parquet"
        data.to_parquet(source)
    elif form == "folder":
        (tmp_path / "in").mkdir()
        source = tmp_path / "in"
        data.to_parquet(source / "train.parquet")
    elif form == "saved":
        source = tmp_path / "saved"
        data.save_to_disk(source)
    assert outcome(source, source) == (NAMES[::-1], [2, 0, -1])
    assert outcome(source, source, label_names=NAMES) == (NAMES, [0, 2, -1])
    assert "but the labels are dull, grand and row 0" in outcome(
        source, source, label_names=["no", "yes"]
    )


def named(names, labels):
    features = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=names)}
    )
    return datasets.Dataset.from_dict(
        {"text": [f"t{n}" for n in range(len(labels))], "label": labels}, features=features
    )


def plain(labels):
    return datasets.Dataset.from_dict(
        {"text": [f"t{n}" for n in range(len(labels))], "label": labels}
    )


@pytest.mark.parametrize(
    ("other", "labels"),
    [
        (named(["positive", "negative"], [0, 1]), [1, 0]),
        (named(["neutral", "NEGATIVE", "positive"], [2, 1]), [1, 0]),  # neutral does not occur
        (plain(["Positive", "Negative", ""]), [1, 0, -1]),
        (plain([0, 1]), [0, 1]),
        (plain(["1", "2"]), [0, 1]),
        (named(["0", "1"], [1, 0]), [1, 0]),
    ],
)
def test_splits_are_matched_by_name(other, labels):
    data = open_dataset({"train": named(["Negative", "Positive"], [1, 0]), "test": other})
    assert data["test"].features["label"].names == ["Negative", "Positive"]
    assert data["test"]["label"][:] == labels
    assert data["train"]["label"][:] == [1, 0]


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (named(["joy", "anger"], [0, 1]), ["joy, anger", "Negative, Positive"]),
        (named(["neutral", "positive"], [0, 1]), ["neutral, positive", "Negative, Positive"]),
        (plain(["good", "bad"]), ["good, bad", "Negative, Positive"]),
        (plain([1]), ["Negative, Positive", "no 0", "first_label="]),
        (plain(["negative", "1"]), ["negative, 1", "Negative, Positive"]),
    ],
)
def test_splits_of_other_names_are_refused_with_both_lists(other, told):
    with pytest.raises(ValueError, match=r"\(split test\)") as caught:
        open_dataset({"train": named(["Negative", "Positive"], [1, 0]), "test": other})
    assert all(part in str(caught.value) for part in told), str(caught.value)


def test_a_number_beyond_the_names_of_a_parquet_file(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    features = {
        "text": {"dtype": "string", "_type": "Value"},
        "label": {"names": ["only"], "_type": "ClassLabel"},
    }
    table = pa.table({"text": ["a", "b"], "label": pa.array([0, 1])})
    about = json.dumps({"info": {"features": features}})
    pq.write_table(table.replace_schema_metadata({"huggingface": about}), tmp_path / "a.parquet")
    with pytest.raises(
        ValueError,
        match=r"to 0 \(only\)",
    ):
        open_dataset(tmp_path / "a.parquet")


def test_nan_is_no_label():
    assert outcome(plain([1.0, math.nan, 0.0]), "") == (["0", "1"], [1, -1, 0])


def test_left_out_texts_take_their_labels_along():
    data = datasets.Dataset.from_dict({"text": ["a", " ", "c"], "label": ["x", "y", "z"]})
    assert open_dataset(data, drop_empty=True)["label"][:] == [0, 2]


@pytest.mark.parametrize(
    "values", [[True, False, True], ["True", "False", "True"], ["yes", "no", "yes"], [2, 1, 2]]
)
def test_labels_are_renamed(values):
    """A model's names for what the data calls true and false, yes and no, or 1 and 2."""
    pairs = [
        f"{str(value).lower()}={name}"
        for value, name in ((values[1], "NEGATIVE"), (values[0], "POSITIVE"))
    ]
    rows = datasets.Dataset.from_dict({"text": ["a film", "a plot", "rain"], "label": values})
    opened = open_dataset(rows, label_names=pairs)
    assert (opened["label"][:], opened.features["label"].names) == (
        [1, 0, 1],
        ["NEGATIVE", "POSITIVE"],
    )
    again = open_dataset(opened, label_names=pairs)
    assert (again["label"][:], again.features["label"].names) == (
        [1, 0, 1],
        ["NEGATIVE", "POSITIVE"],
    )


def test_labels_become_one_and_each_needs_a_name():
    features = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["a", "b", "c"])}
    )
    rows = datasets.Dataset.from_dict(
        {"text": ["a film", "a plot", "rain"], "label": [2, 0, 1]}, features=features
    )
    opened = open_dataset(rows, label_names=["a=x", "b=y", "c=x"])
    assert (opened["label"][:], opened.features["label"].names) == ([0, 0, 1], ["x", "y"])
    with pytest.raises(
        ValueError,
        match="`label_names`, but 'b'",
    ):
        open_dataset(rows, label_names=["a=x", "c=y"])


def test_labels_change_their_names_with_each_other():
    rows = datasets.Dataset.from_dict({"text": ["x", "y", "z"], "label": ["a", "b", "a"]})
    data = open_dataset(rows, label_names=["a=b", "b=a"])
    assert data.features["label"].names == ["b", "a"]
    assert data["label"][:] == [0, 1, 0]


def test_numbers_of_named_labels_begin_at_0_and_none_is_minus_1():
    assert NamedLabels([1, -1, None], ["no", "yes"], "label", "a.parquet") == ["yes", None, None]
    for number in (-2, 2):
        with pytest.raises(
            ValueError,
            match=rf"from 0 to 1 \(no, yes\) in the column 'label' .* row 1 holds {number}",
        ):
            NamedLabels([0, number], ["no", "yes"], "label", "a.parquet")


def test_a_missing_number_stays_none():
    assert list(_get_plain_column(pa.chunked_array([[0.5, None]]))) == [0.5, None]
    assert _get_plain_column(pa.chunked_array([[0.5, 0.25]])).tolist() == [0.5, 0.25]


@pytest.mark.parametrize("expression", ["{{ lost }}", "{{ [text, lost] }}", "{{ {'a': [lost]} }}"])
def test_an_expression_of_a_missing_column_is_refused(expression):
    rows = datasets.Dataset.from_dict({"text": ["Fine."]})

    with pytest.raises(ValueError, match="'lost' is undefined"):
        add_nested_columns(rows, [expression])
