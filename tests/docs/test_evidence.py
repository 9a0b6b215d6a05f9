"""The tables of the evidence are those of the results stored beside them."""

import csv
import json

import pytest


@pytest.fixture
def read_block(root, monkeypatch):
    monkeypatch.syspath_prepend(root)
    from benchmarks import blocks

    return blocks.read_block


def test_verdicts(read_block):
    from benchmarks.verdicts.__main__ import (
        PAGE,
        format_summary,
        list_model_rows,
        load_scenarios,
        read_outcomes,
    )

    scenarios = load_scenarios()
    outcomes = [outcome for outcome in read_outcomes() if outcome.name in scenarios]
    assert read_block(PAGE, "tables") == "\n".join(format_summary(outcomes, scenarios))
    with PAGE.with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == list(list_model_rows(outcomes, scenarios))


def test_validity(read_block):
    from benchmarks.validity.__main__ import PAGE, format_table, merge_rows, read_stored

    assert read_block(PAGE, "tables") == format_table(merge_rows([], read_stored()))


def test_reliability(root, read_block):
    page = root / "docs" / "evidence" / "reliability.md"
    with page.with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file)
    sums = (f"{sum(map(int, column)):,}" for column in list(zip(*rows, strict=True))[1:])
    assert f"| {len(rows)} | {' | '.join(sums)} |" in page.read_text("utf-8")


def test_natural_verdicts(read_block):
    from benchmarks.verdicts.natural.__main__ import PAGE, describe_runs, format_table, read_stored

    rows = read_stored()
    block = read_block(PAGE, "natural")
    assert block == f"{describe_runs(rows)}\n\n{format_table(rows)}"


def test_repairs(read_block):
    from benchmarks.repair.__main__ import (
        PAGE,
        STORED,
        format_remedies,
        list_failures,
    )

    rows = json.loads(STORED.read_text("utf-8"))
    assert read_block(PAGE, "remedies") == format_remedies(rows)
    assert read_block(PAGE, "settings") == list_failures(rows)
    # What the page concludes: editing repairs all settings but two, weights none, and balancing two.
    is_repaired = {}
    for row in rows:
        is_repaired[row["remedy"], row["setting"], row["seed"]] = row["is_repaired"]
        if row["remedy"] == "default":
            assert abs(row["swapped"] - row["removed"]) <= 0.03
    failures = {
        setting
        for (remedy, setting, _), done in is_repaired.items()
        if remedy in ("default", "remove") and not done
    }
    assert failures == {"MiniLM, 24 words for each label", "MiniLM, Cyrillic"}
    successes = {
        (remedy, setting)
        for (remedy, setting, _), done in is_repaired.items()
        if remedy in ("weights", "balanced") and done
    }
    assert successes == {
        ("balanced", "MiniLM, four classes"),
        ("balanced", "MiniLM, in 20 % of the texts"),
    }
