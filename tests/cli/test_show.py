"""Tables of a page on the console: in columns where the terminal is wide enough, else a paragraph per row."""

import re
import sys

import pytest

from rightreasons.cli.show import show_section
from rightreasons.core.estimates import Estimate
from rightreasons.page.parts import Amount, Column, Part, SectionResult, Table, Verdict

COLUMNS = (
    Column("name", "Figure", "text"),
    Column("value", "Value"),
    Column("n", "Items", "count"),
)
ROWS = (
    ("Accuracy", Amount(Estimate(0.5, 0.25, 0.75), "fraction"), 1200),
    ("Log loss", Estimate(None), None),
)


def section():
    part = Part(
        "Side by side", "One.\n\nTwo.", tables=(Table("figures", "Figures", COLUMNS, ROWS),)
    )
    return SectionResult(Verdict("neutral", "Cannot tell", "Both are alike."), (), (part,))


def plain(text):
    return re.sub(r"\x1b\[\d*m", "", text)


def on_a_terminal(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)


@pytest.mark.parametrize("terminal", [True, False])
def test_a_wide_terminal_and_a_pipe_have_columns(monkeypatch, capsys, terminal):
    if terminal:
        on_a_terminal(monkeypatch, 100)
    show_section("Which is better?", section())
    assert plain(capsys.readouterr().out).splitlines() == [
        "",
        "Which is better?",
        "  Cannot tell. Both are alike.",
        "  One.",
        "  Two.",
        "",
        "Figures",
        "  Figure                 Value  Items",
        "  Accuracy  50.0% [25.0, 75.0]  1,200",
        "  Log loss                   –      –",
    ]
