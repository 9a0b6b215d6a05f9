"""Classes go by name in the modules: columns of tables, ClassLabels and labels in words, in every batch."""

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import rightreasons
from module_inputs import SUITE
from rightreasons.datasets.suites.suite import Suite

# Class-wise figures tell the classes apart; the calibration error of the top label does not.
SCORES = {"joy": [0.75, 0.5, 0.125], "anger": [0.125, 0.25, 0.75], "fear": [0.125, 0.25, 0.125]}
ROWS = [list(row) for row in zip(*SCORES.values(), strict=True)]
NAMES = list(SCORES)
WORDS = ["joy", "fear", "anger"]
IDS = [0, 2, 1]
OTHER = ["fear", "joy", "anger"]


def polars_frame(columns):
    return pytest.importorskip("polars", reason="polars is not a dependency").DataFrame(columns)


TABLES = {
    "pandas": pd.DataFrame,
    "polars": polars_frame,
    "pyarrow": pa.table,
    "datasets": datasets.Dataset.from_dict,
    "p_": lambda columns: pd.DataFrame({f"p_{name}": column for name, column in columns.items()}),
}


def reordered(names, make=pd.DataFrame, scores=SCORES):
    return make({name: scores[name] for name in names})


def class_label(names, labels):
    features = datasets.Features({"label": datasets.ClassLabel(names=names)})
    return datasets.Dataset.from_dict({"label": list(map(names.index, labels))}, features=features)[
        "label"
    ]


@pytest.fixture(scope="module")
def ece():
    return rightreasons.load("ece", kind="classwise")


@pytest.fixture(scope="module")
def figures(ece):
    return ece.compute(predictions=ROWS, references=IDS)


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_columns_of_a_table_are_matched_by_name(ece, figures, make):
    table = reordered(OTHER, make)
    assert ece.compute(predictions=table, references=IDS, label_names=NAMES) == figures
    assert ece.compute(predictions=table, references=WORDS, label_names=NAMES) == figures
    assert ece.compute(predictions=table, references=class_label(NAMES, WORDS)) == figures
    # Words are looked up among the columns; bare numbers say nothing of an order of columns that have names.
    in_order = ece.compute(
        predictions=[[row[2], row[0], row[1]] for row in ROWS], references=[1, 0, 2]
    )
    assert ece.compute(predictions=table, references=WORDS) == in_order
    assert ece.compute(predictions=table, references=[1, 0, 2], label_names=OTHER) == in_order
    with pytest.raises(ValueError, match="labels in words"):
        ece.compute(predictions=table, references=[1, 0, 2])


SAID = [("true", "false"), ("Yes", "no"), ("LABEL_1", "LABEL_0"), ("class1", "class 0")]


@pytest.mark.parametrize(("one", "zero"), SAID)
def test_names_that_say_a_number_are_that_number(one, zero):
    """0.9 and 0.8 of two right answers: an error of 0.15; in the other order it would be 0.85."""
    table = pd.DataFrame({f"p_{one}": [0.9, 0.2], f"p_{zero}": [0.1, 0.8]})
    made = rightreasons.load("ece").compute(predictions=table, references=[1, 0])
    assert made["ece"] == pytest.approx(0.15)


def test_labels_in_words_take_their_classes_from_where_they_are_named(ece, figures):
    for words in (
        pd.Series(WORDS, dtype="category"),
        pa.array(WORDS),
        np.array(["Joy", "FEAR", "anger"]),
    ):
        assert ece.compute(predictions=ROWS, references=words, label_names=NAMES) == figures
        assert ece.compute(predictions=reordered(NAMES), references=words) == figures
    assert (
        ece.compute(predictions=ROWS, references=class_label(OTHER, WORDS), label_names=NAMES)
        == figures
    )
    named = rightreasons.load("ece", kind="classwise", label_names=NAMES)
    assert named.compute(predictions=reordered(OTHER), references=WORDS) == figures


def test_batches_in_other_orders_join_by_name(ece, figures):
    def first(names):
        return reordered(names, scores={name: column[:1] for name, column in SCORES.items()})

    rest = reordered(OTHER, scores={name: column[1:] for name, column in SCORES.items()})
    for references in (WORDS[1:], class_label(["anger", "fear", "joy"], WORDS[1:])):
        ece.add_batch(predictions=first(NAMES), references=WORDS[:1])
        assert ece.compute(predictions=rest, references=references) == figures
    # The first table tells the order for the batches that follow; names at compute are in that one.
    ece.add_batch(predictions=first(NAMES), references=WORDS[:1])
    ece.add_batch(predictions=rest, references=WORDS[1:])
    assert ece.compute() == figures
    ece.add_batch(predictions=first(OTHER), references=WORDS[:1])
    ece.add_batch(predictions=rest, references=WORDS[1:])
    with pytest.raises(
        ValueError,
        match="same order",
    ):
        ece.compute(label_names=NAMES)
    # A batch whose classes have other names is refused, and those before stay.
    ece.add_batch(predictions=reordered(NAMES), references=WORDS)
    with pytest.raises(ValueError, match="batches before"):
        ece.add_batch(
            predictions=pd.DataFrame(ROWS, columns=["a", "b", "c"]), references=["a", "b", "c"]
        )
    assert ece.compute() == figures


@pytest.mark.parametrize(
    ("inputs", "word"),
    [
        (
            {"references": ["joy", "fear", "calm"]},
            "'calm'",
        ),
        (
            {"references": WORDS, "predictions": ROWS},
            "'joy'",
        ),
        (
            {"references": ["joy", "", "fear"]},
            "item 1",
        ),
        (
            {"references": class_label(["calm", "joy"], ["joy"] * 3)},
            "ClassLabel of `references`",
        ),
        (
            {"label_names": ["joy", "anger"]},
            "they are joy",
        ),
        (
            {"label_names": [*NAMES, "calm"]},
            "a column for",
        ),
        ({"label_names": ["joy", "joy", "fear"]}, "distinct names"),
        ({"label_names": "joy"}, "`label_names`"),
        (
            {"label_names": ["a", "b"], "predictions": ROWS},
            "3 names",
        ),
    ],
)
def test_names_that_do_not_match_are_refused(ece, inputs, word):
    with pytest.raises((TypeError, ValueError), match=word):
        ece.compute(**{"predictions": reordered(NAMES), "references": IDS, **inputs})


def test_two_tables_of_one_module_are_matched():
    dist_ce = rightreasons.load("dist_ce", n_resamples=100)
    votes = {"joy": [5, 2, 0], "anger": [1, 2, 6], "fear": [0, 2, 0]}
    want = dist_ce.compute(
        predictions=ROWS, references=[list(row) for row in zip(*votes.values(), strict=True)]
    )
    assert (
        dist_ce.compute(predictions=reordered(NAMES), references=reordered(OTHER, scores=votes))
        == want
    )


def test_choices_in_words_and_predicted_words():
    bias = rightreasons.load("prior_bias")
    table = pd.DataFrame(ROWS, columns=["A", "B", "C"])
    assert bias.compute(predictions=table, references=["A", "C", "B"]) == bias.compute(
        predictions=ROWS, references=IDS
    )
    contrast = rightreasons.load("contrast_consistency", label_names=NAMES)
    groups = ["a", "a", "a"]
    got = contrast.compute(predictions=["joy", "joy", "anger"], references=WORDS, groups=groups)
    assert got == contrast.compute(predictions=[0, 0, 1], references=IDS, groups=groups)


def test_a_suite_names_the_classes():
    suite = Suite(SUITE.name, SUITE.text_columns, SUITE.functionalities, label_names=("no", "yes"))
    metric = rightreasons.load("behavioral_pass_rate", suite=suite)
    scores = {"no": [0.75, 0.5, 0.125], "yes": [0.25, 0.5, 0.875]}
    want = metric.compute(predictions=[list(row) for row in zip(*scores.values(), strict=True)])
    for names in (["no", "yes"], ["yes", "no"]):
        assert metric.compute(predictions=reordered(names, scores=scores)) == want
    with pytest.raises(ValueError, match="'tiny'"):
        metric.compute(predictions=pd.DataFrame({"a": scores["no"], "b": scores["yes"]}))


def test_columns_with_another_common_beginning_are_matched_by_their_endings():
    # The votes are for joy, anger and fear, in another order and under headings of their own.
    votes = pd.DataFrame(
        {"rater_fear": [0, 1, 2], "rater_joy": [5, 1, 1], "rater_anger": [1, 4, 0]}
    )
    plain_votes = [[5, 1, 0], [1, 4, 1], [1, 0, 2]]
    module = rightreasons.load("dist_ce")

    named = module.compute(predictions=TABLES["p_"](SCORES), references=votes)

    assert named == module.compute(predictions=ROWS, references=plain_votes)
    # Other classes are not matched, whatever the headings have in common.
    renamed = votes.rename(columns={"rater_fear": "rater_calm"})
    with pytest.raises(ValueError, match="rater_calm"):
        module.compute(predictions=TABLES["p_"](SCORES), references=renamed)


def test_a_misspelled_input_is_corrected():
    with pytest.raises(ValueError, match="Did you mean 'predictions'"):
        rightreasons.load("ece").compute(prediction=ROWS, references=IDS)
