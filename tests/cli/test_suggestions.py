"""Advice after an error about columns, and values of options that are empty."""

from __future__ import annotations

import pytest

from rightreasons.cli import _suggest_look
from rightreasons.core.errors import OptionError


@pytest.fixture
def tables(tmp_path):
    files = []
    for name in ("items.csv", "answers.csv"):
        file = tmp_path / name
        file.write_text("a,b\n1,2\n")
        files.append(str(file))
    return files


def suggest(words, *, option="label_column", message="No."):
    return _suggest_look(OptionError(message, option=option), words)


def test_an_error_about_a_column_recommends_to_look_at_the_file(tables):
    items, answers = tables

    assert f"look {items}`" in suggest(["audit", "model", items])
    # Of two files, the one that the message names.
    assert f"look {items}`" in suggest(["audit", items, answers], message="In items.csv.")
    assert f"look {answers}`" in suggest(["audit", items, answers], message="In answers.csv.")


def test_other_errors_and_commands_have_no_advice(tables, tmp_path):
    items, _ = tables
    damaged = tmp_path / "damaged.parquet"
    damaged.write_text("x")

    assert suggest(["look", items]) == ""
    assert suggest(["audit", items], option="out") == ""
    assert suggest(["audit", "missing.csv"]) == ""
    assert suggest([items]) == ""
    assert suggest(["audit", str(damaged)]) == ""
    assert _suggest_look(ValueError("No."), ["audit", items]) == ""
