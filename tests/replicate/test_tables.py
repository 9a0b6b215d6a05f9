"""Printed tables beside ours: matching of rows, differences, and sentences."""

import dataclasses

import pytest

from rightreasons.replicate.recipe import Figure, Table, load_recipe
from rightreasons.replicate.tables import format_figure, write_sentences, write_table

FIGURE = Figure("accuracy", "accuracy, %")


def make_recipe(printed_rows):
    """A recipe with a single printed table."""
    recipe = load_recipe("kavumba2019")
    printed = {"table": {"source": "Table 1 of the paper.", "rows": printed_rows}}
    return dataclasses.replace(recipe, printed=printed)


def write(printed_rows, our_rows, match=("trained on",)):
    table = Table("Table 1", "step", (FIGURE,), printed="table", match=match, why="Other models.")
    text = write_table(make_recipe(printed_rows), table, {"step": {"rows": our_rows}})
    return [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]


def make_row(value, **key):
    names = {name.replace("_", " "): part for name, part in key.items()}
    return {"key": names, "figures": {"accuracy": value}}


def test_our_row_stands_beside_each_printed_row_that_it_matches():
    printed = [
        make_row({"value": 76.5, "std": 2.7}, model="BERT", trained_on="COPA"),
        make_row(87.7, model="RoBERTa", trained_on="COPA"),
        make_row(61.8, model="Goodwin", trained_on="nothing"),
    ]
    ours = [make_row({"value": 63.73, "std": 2.76}, model="MiniLM", trained_on="COPA")]

    _, _, *lines = write(printed, ours)

    assert lines == [
        ["BERT, COPA", "MiniLM, COPA", "accuracy, %", "76.5 ± 2.7", "63.7 ± 2.8", "-12.8"],
        ["RoBERTa, COPA", "MiniLM, COPA", "accuracy, %", "87.7", "63.7 ± 2.8", "-24.0"],
        ["Goodwin, nothing", "–", "accuracy, %", "61.8", "–", "–"],
    ]


@pytest.mark.parametrize(
    ("ours", "difference"), [(76.54, "same"), (76.46, "same"), (76.56, "+0.1"), (None, "–")]
)
def test_difference_is_that_of_the_printed_digits(ours, difference):
    lines = write([make_row(76.5, trained_on="COPA")], [make_row(ours, trained_on="COPA")])

    assert lines[2][-1] == difference


def test_interval_and_deviation_are_written():
    value = {"value": 0.5, "low": 0.25, "high": 0.75}

    assert format_figure(value, Figure("a", "a", digits=2)) == "0.50 [0.25, 0.75]"
    assert format_figure({"value": None}, FIGURE) == "–"
    assert format_figure(None, FIGURE) == "–"


def test_sentences_quote_facts():
    recipe = dataclasses.replace(
        load_recipe("kavumba2019"), sentences=("{a.n:,} of {a.total:,}; {b.gap:+.1f} points.",)
    )
    results = {"a": {"facts": {"n": 1234, "total": 5678}}, "b": {"facts": {"gap": 2.34}}}

    assert write_sentences(recipe, results) == ["1,234 of 5,678; +2.3 points."]
