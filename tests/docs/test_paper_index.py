"""What a row of the paper index names is used in a test, unless it works only partly, or is missing."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROWS = [
    line[2:]
    for line in ROOT.joinpath("docs/paper_index.md").read_text("utf-8").splitlines()
    if line.startswith("- ")
]
RESTRICTION = re.compile(r"\*Partly\* \([^)]+\)\. |\*Not\.\* ")


@pytest.fixture(scope="module")
def tested_words():
    """All words of the tests other than this one."""
    words = set()
    for path in ROOT.glob("tests/**/*.py"):
        if path != Path(__file__):
            words.update(re.findall(r"\w+", path.read_text("utf-8")))
    return words


@pytest.mark.parametrize("row", ROWS)
def test_every_row_names_code_unless_it_is_missing(row):
    assert RESTRICTION.match(row) or not row.startswith("*")
    names = re.findall(r"`([^`]+)`", row)
    assert bool(names) != row.startswith("*Not.*")


@pytest.mark.parametrize("row", [row for row in ROWS if not row.startswith("*")])
def test_what_works_is_used_in_a_test(row, tested_words):
    for name in re.findall(r"`([^`]+)`", row):
        if name.startswith(("rightreasons", "metrics/", "measurements/")):
            assert re.split(r"[./]", name)[-1] in tested_words, name


@pytest.mark.parametrize(
    "words",
    [
        "Tables 1 and 2",
        "(Figure 1)",
        "(Figure 3)",
        "(Table 4)",
        "Figure 2); data maps",
        "Five models, eight data sets, five seeds",
        "T5",
        "The four benchmarks",
        "released predictions",
        "Avg",
        "Negative transfer",
        "Degenerate models",
        "does not apply (section 5.3)",
    ],
)
def test_what_papers_report_has_a_row(words):
    assert [row for row in ROWS if words in row]
