"""The app in the browser: each page is reached by the bar at the top, and shows its bundled finding."""

import pytest

expect = pytest.importorskip("playwright.sync_api").expect

SHOWN = {
    "Calibration": ("#diagram svg", "Reliability explorer"),
    "Shortcuts": (".sc-item", "Shortcut browser"),
    "Probes": ("#forms", "Confusion probes"),
    "Cues": ("#diagram svg", "Cue explorer"),
    "Difficulty": ("#ranking li", "Difficulty explorer"),
    "Behavior": ("#heat-map .br-cell", "Behavior report"),
    "Models compared": ("#table tbody tr", "Models compared"),
    "Audit": ("#try-models table", "Audit"),
}
"""The name of each page in the bar -> what is there when it has opened, and the title of the browser's tab."""


def test_every_page_is_reached_by_the_bar(visit):
    page = visit("spaces")
    # The model answers when the page has opened; leaving before that would break its answer.
    expect(page.locator("#try-models table")).to_be_visible()
    for name, (shown, title) in SHOWN.items():
        page.get_by_role("button", name=name, exact=True).or_(
            page.get_by_role("link", name=name, exact=True)
        ).first.click()
        expect(page.locator(shown).first).to_be_visible()
        expect(page).to_have_title(title)
