"""The shortcut browser, used as a person would: read sentences, move the cue, turn pages, see detector and model."""

import re

import pytest
from playwright.sync_api import expect

from pages import opener, pick, tile, turn_to, unfold

pytestmark = pytest.mark.browser

open_page = opener("spaces/shortcut_browser", ".sc-item")


def test_sentences_are_marked_and_the_null_model_stands_beside_them(visit):
    page = open_page(visit)
    expect(page.locator(".sc-item")).to_have_count(8)
    expect(page.locator(".sc-item .sc-planted").first).to_be_visible()
    expect(page.locator(".sc-item .sc-cue").first).to_be_visible()
    # Three top words each, and every one of them highlighted by its attribution.
    assert page.locator(".sc-item").first.locator(".sc-top").count() == 3
    expect(page.locator("#null")).to_contain_text("words of similar frequency")
    # Those come first that change with the other cue; the words are bold that they change to.
    expect(page.locator("#sentences")).to_contain_text("120 of 120 sentences; page 1 of 15")
    expect(page.locator(".sc-tests", has=page.locator("b"))).to_have_count(8)


def test_the_headline_is_what_the_cue_decides(visit):
    page = open_page(visit)
    pick(page, "100%")
    expect(page.locator("#decided")).to_contain_text(
        "The planted cue decides: 100.0% of all predictions change"
    )
    expect(tile(page, "Decided by the cue", "#decided")).to_have_text("100.0%")
    expect(tile(page, "Follow rate", "#decided")).to_have_text("100.0%")
    pick(page, "90%")
    expect(page.locator("#decided")).to_contain_text("The planted cue decides some: 17.0%")
    pick(page, "50%")
    expect(page.locator("#decided")).to_contain_text("The planted cue decides little: 0.0%")


def test_one_picture_shows_the_paradox(visit):
    page = open_page(visit)

    paradox = page.locator("#paradox")
    expect(paradox.locator(".sc-bar")).to_have_count(4)
    # The encoder of the strongest cue: all 500 texts are correct, and none once the cue is flipped.
    expect(paradox).to_contain_text("correct on 100.0% with a calibration error of 0.2%")
    expect(paradox).to_contain_text("flipped, it is correct on 0.0%")
    pick(page, "50%")
    expect(paradox).not_to_contain_text("flipped, it is correct on 0.0%")


def test_a_model_of_a_cue_that_never_failed_follows_it(visit):
    page = open_page(visit)
    pick(page, "100%")
    pick(page, "cue flipped")
    expect(tile(page, "Accuracy")).to_have_text(re.compile(r"0\.[01]"))


def test_filter_and_pages(visit):
    page = open_page(visit)
    pick(page, "cue flipped")  # as in training, all are right
    expect(page.locator(".sc-item.sc-wrong").first).to_be_visible()
    pick(page, "incorrect")
    expect(page.locator(".sc-item.sc-right")).to_have_count(0)
    expect(page.locator(".sc-item.sc-wrong").first).to_be_visible()
    pick(page, "all")
    expect(page.locator("#sentences")).to_contain_text("page 1 of 15")
    first = page.locator(".sc-item").first.inner_text()
    page.locator("#page input").fill("2")
    page.keyboard.press("Tab")
    expect(page.locator("#sentences")).to_contain_text("page 2 of 15")
    expect(page.locator("#page input")).to_have_value("2")
    second = page.locator(".sc-item").first.inner_text()
    assert second != first
    page.locator("#page input").fill("99")
    page.keyboard.press("Tab")
    expect(page.locator("#sentences")).to_contain_text("page 15 of 15")
    assert page.locator(".sc-item").first.inner_text() != second
    # Another filter begins with its first page.
    pick(page, "incorrect")
    expect(page.locator("#page input")).to_have_value("1")
    expect(page.locator("#sentences")).to_contain_text("page 1 of")


def test_top_words_and_head_move_the_detector(visit):
    page = open_page(visit)
    unfold(page, "Settings of the detector")
    page.locator("#top-n input[type=number]").fill("1")
    page.keyboard.press("Tab")
    expect(page.locator("#null")).to_contain_text("1 word")
    expect(page.locator(".sc-item").first.locator(".sc-top")).to_have_count(1)


def test_curves_over_the_strength_of_the_cue(visit):
    page = open_page(visit)
    turn_to(page, "By strength of the cue")
    drawings = page.locator("#growth svg")
    expect(drawings).to_have_count(3)
    expect(drawings.first).to_contain_text("ECE, flipped")
    expect(drawings.nth(1)).to_contain_text("decided by the cue")
    expect(drawings.last).to_contain_text("of random words")
    before = page.locator("#growth").inner_html()
    unfold(page, "Settings of the detector")
    page.locator("#top-n input[type=number]").fill("1")
    page.keyboard.press("Tab")
    page.wait_for_function(
        "before => document.querySelector('#growth').innerHTML !== before", arg=before
    )


def test_calibration_stands_next_to_what_the_cue_decides(visit):
    page = open_page(visit)
    pick(page, "100%")
    turn_to(page, "Confidence")

    panel = page.locator("#confidence")
    expect(panel.locator("svg")).to_have_count(1)
    expect(panel.locator("svg")).to_contain_text("grammar-cued")
    # Every prediction is correct and confident, and the cue decides all of them.
    expect(panel).to_contain_text("calibration error is 0.2%")
    expect(panel).to_contain_text("decides 100.0% of the predictions")
