"""The page of a module's demo, used as a person would: a cell typed into, the button pressed."""

import json
import re
from typing import Any

from playwright.sync_api import Page, expect
from playwright.sync_api import TimeoutError as NotThereError

TRIES = 5


def compute(page: Page) -> None:
    page.get_by_role("button", name="Compute").click()


def choose(page: Page, **options: Any) -> None:
    """Write options into the page, in place of those that it shows."""
    page.locator("#chosen textarea").fill(json.dumps(options))


def unfold(page: Page, which: str = "#options") -> None:
    """Open what is folded: the options, the card ("#about") or all figures ("#all").

    What opens mounts its fields, and on a loaded machine a field that is typed into at once is mounted after that, with
    the value that it had. So a test opens first, computes, and types when the page has answered.
    """
    page.locator(f"{which} button").first.click()


def edit(page: Page, row: int, column: int, text: str) -> None:
    """Type into a cell of the table of inputs.

    The table draws its rows anew when it learns its size, and a double click on a row that goes away opens nothing. A
    person clicks again; so does this, until the cell can be typed into.
    """
    cell = page.locator(f"#inputs [data-row='{row}'][data-col='{column}']").first
    editor = cell.get_by_label("Edit cell")
    for _ in range(TRIES):
        cell.dblclick()
        try:
            editor.fill(text, timeout=4_000)
            editor.press("Enter", timeout=4_000)
        except NotThereError:
            continue
        break
    expect(editor).to_have_count(0)
    # By a pattern, which sees white space: a cell that was to become blank and kept its number is no match.
    expect(cell.locator("[data-editable]")).to_have_text(re.compile(rf"^{re.escape(text)}$"))
