"""The apps of the shortcut modules, used as a person would."""

import pytest
from playwright.sync_api import expect

from module_page import choose, compute, unfold

pytestmark = pytest.mark.browser


def test_lmi(visit):
    page = visit("measurements/lmi")
    unfold(page)
    expect(page.get_by_role("heading", name="Local Mutual Information")).to_be_visible()
    compute(page)
    headline = page.locator("#headline")
    expect(headline.get_by_text("Local mutual information in nats, counted over tokens (occurrence)")).to_be_visible()
    expect(headline.locator("svg").get_by_text("good").first).to_be_visible()
    page.locator("#chosen textarea").fill('{"label_names": ["bad", ')
    compute(page)
    expect(page.get_by_role("alert")).to_contain_text("Expected options as JSON")


def test_shortcut_reliance(visit):
    page = visit("measurements/shortcut_reliance")
    unfold(page)
    compute(page)
    headline = page.locator("#headline")
    # Two of four predictions rest on a token of their head among the top two; "dull" cues the other label.
    expect(headline).to_contain_text("0.5000")
    expect(headline).to_contain_text("95% interval")
    choose(page, heads={"0": ["copper"]}, top_n=2, n_bins=5)
    compute(page)
    expect(page.get_by_role("alert")).to_contain_text("item 0 is predicted 1, a label never seen; known: 0.")


def test_deciding_share(visit):
    page = visit("measurements/deciding_share")
    unfold(page)
    compute(page)
    headline = page.locator("#headline")
    # Of 24 texts 16 change by the swap and one by the control: 15 / 24.
    expect(headline).to_contain_text("0.6250")
    choose(page, confidence_level=2)
    compute(page)
    expect(page.get_by_role("alert")).to_contain_text("Expected")


def test_shortcut_tradeoff(visit):
    page = visit("metrics/shortcut_tradeoff")
    compute(page)
    # Eight of ten right in a balanced confusion matrix: macro F1 0.8; eight of ten cued.
    expect(page.locator("#headline")).to_contain_text("1.0000")
