"""The apps of the shortcut modules, used as a person would."""

import pytest
from playwright.sync_api import expect

from module_page import choose, compute

pytestmark = pytest.mark.browser


def test_lmi(visit):
    page = visit("measurements/lmi")
    compute(page)
    expect(page.locator("#result")).to_contain_text("good")
    page.locator("#chosen textarea").fill('{"label_names": ["bad", ')
    compute(page)
    expect(page.get_by_role("alert")).to_contain_text("Expected `Options` as JSON")


def test_shortcut_reliance(visit):
    page = visit("measurements/shortcut_reliance")
    compute(page)
    # Two of four predictions rest on a token of their head among the top two; "dull" cues the other label.
    expect(page.locator("#result")).to_contain_text("0.5")
    choose(page, heads={"0": ["copper"]}, top_n=2, n_bins=5)
    compute(page)
    expect(page.get_by_role("alert")).to_contain_text(
        "the prediction of item 0 is 1; labels with a head: 0."
    )


def test_deciding_share(visit):
    page = visit("measurements/deciding_share")
    compute(page)
    # Of 24 texts 16 change by the swap and one by the control: 15 / 24.
    expect(page.locator("#result")).to_contain_text("0.625")
    choose(page, confidence_level=2)
    compute(page)
    expect(page.get_by_role("alert")).to_contain_text("Expected")


def test_shortcut_tradeoff(visit):
    page = visit("metrics/shortcut_tradeoff")
    compute(page)
    # Eight of ten right in a balanced confusion matrix: macro F1 0.8; eight of ten cued.
    expect(page.locator("#result")).to_contain_text("1")
