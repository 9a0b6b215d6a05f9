"""`rightreasons suite` on a suite whose lines say how their cases are made."""

import json

import pytest

from rightreasons.cli import main
from rightreasons.data.suites import Suite

LINES = [
    {"format": "rightreasons.suite", "version": 1, "name": "mine", "lexicons": {"thing": ["film", "opera"]}},
    {"functionality": "praise", "functionality_class": "Words", "test_type": "MFT", "template": "I like {a:thing}."},
    {"functionality": "typos", "functionality_class": "Robust", "test_type": "INV", "data": ["It was fine."]},
]
LINES[1]["label"], LINES[2]["perturbation"] = 1, "punctuation"


@pytest.fixture
def suite(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(map(json.dumps, LINES)))
    return path


def run(capsys, *words):
    with pytest.raises(SystemExit) as stopped:
        main(["suite", *map(str, words)])
    return stopped.value.code, capsys.readouterr()


def test_show_tells_the_cases(suite, capsys):
    code, said = run(capsys, "show", suite)
    assert code == 0, said.err
    assert said.out.splitlines() == [
        "MFT Words: praise, 2 cases",
        "  - I like a film.  [1]",
        "  - I like an opera.  [1]",
        "INV Robust: typos, 1 cases",
        "  - It was fine.",
        "    It was fine",
        "mine: 2 functionalities, 3 cases, 4 examples",
    ]


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz", "parquet"])
def test_write_makes_the_cases(suite, tmp_path, capsys, suffix):
    out = tmp_path / f"all.{suffix}"
    code, said = run(capsys, "write", suite, out)
    assert code == 0, said.err
    assert Suite.read(out) == Suite.read(suite)


def test_mistakes_are_one_sentence(suite, tmp_path, capsys):
    code, said = run(capsys, "write", suite, tmp_path / "all.csv")
    assert (code, said.err.count("\n")) == (2, 1)
    assert "OUT to end in .jsonl, .jsonl.gz or .parquet, but got 'all.csv'" in said.err
    suite.write_text(suite.read_text().replace("{a:thing}", "{a:thig}"))
    code, said = run(capsys, "show", suite)
    assert code == 2
    assert said.err.startswith(
        "Error: Expected the name of a lexicon for a slot, but got 'thig'. Did you mean 'thing'?"
    )
    assert f"(line 2 of {suite})" in said.err
