"""The confusion probes page, used as a person would: take an item, write one, score by a model or paste scores."""

import re

import pytest
from playwright.sync_api import expect

from pages import pick, tile, unfold

pytestmark = pytest.mark.browser

SPACE = "spaces/confusion_probes"


def apply(page):
    page.locator("#apply").click()


def test_a_model_scores_each_choice_by_itself_or_all_together(visit):
    page = visit(SPACE)
    # A finished example is there at once.
    expect(page.locator(".rr-verdict")).to_be_visible()
    expect(page.locator("section.cp-form")).to_have_count(5)
    unfold(page, "How it is probed and scored")
    pick(page, "mean")
    apply(page)
    expect(page.locator("[data-form=no_question] .cp-prompt")).to_have_text("no question")
    expect(page.locator("[data-form=extra_choices] .cp-choice")).to_have_count(6)
    expect(page.locator("[data-form=extra_choices] .cp-borrowed")).to_have_count(3)
    expect(page.locator("[data-form=no_right_answer] .cp-borrowed")).to_have_count(1)
    expect(tile(page, "Beyond dilution")).to_have_text("0.0%")
    pick(page, "letters")
    apply(page)
    expect(tile(page, "Beyond dilution")).not_to_have_text("0.0%")


def test_pasted_scores_of_an_item_of_ones_own(visit):
    page = visit(SPACE)
    unfold(page, "Write your own")
    unfold(page, "How it is probed and scored")
    page.locator("#prompt textarea").fill("Which is <wet>?")
    page.locator("#choices textarea").fill("rain\nsun")
    page.locator("#right input").fill("1")
    page.locator("#k input[type=number]").fill("1")
    page.get_by_role("radio", name="my own scores").check()
    apply(page)
    expect(page.locator("#pasted textarea")).to_have_value(
        "original: 0, 0\nno_question: 0, 0\nwrong_question: 0, 0\nno_right_answer: 0, 0\nextra_choices: 0, 0, 0"
    )
    expect(page.locator("[data-form=original] .cp-prompt")).to_have_text("Which is <wet>?")
    # ln 3 makes 3/4 and 1/4: variance (1/4)^2 = 0.0625.
    lines = [
        "original: 0 0",
        "no_question: 1.0986123 0",
        "wrong_question: 0 0",
        "no_right_answer: 0 0",
    ]
    page.locator("#pasted textarea").fill("\n".join([*lines, "extra_choices: 0 0 0"]))
    apply(page)
    expect(tile(page, "Prior bias: no question")).to_have_text("0.063")
    # 1/2 becomes 1/3, all of it dilution.
    expect(tile(page, "Drop with 1 more choice")).to_have_text("16.7%")
    expect(tile(page, "Beyond dilution")).to_have_text("0.0%")
    expect(tile(page, "Expected dilution")).to_have_text("16.7%")


@pytest.mark.parametrize(
    ("choices", "right", "sentence"),
    [
        ("rain\nrain", "1", "to differ"),
        ("rain", "1", "at least two choices"),
        ("rain\nsun", "3", "Expected `Right choice` to be at most 2, but got 3."),
    ],
)
def test_mistakes_get_their_sentence(visit, choices, right, sentence):
    page = visit(SPACE)
    unfold(page, "Write your own")
    page.locator("#choices textarea").fill(choices)
    page.locator("#right input").fill(right)
    apply(page)
    expect(page.get_by_role("alert")).to_contain_text(sentence)
    expect(page.locator("section.cp-form")).to_have_count(0)


def test_scores_that_do_not_fit(visit):
    page = visit(SPACE)
    unfold(page, "How it is probed and scored")
    page.get_by_role("radio", name="my own scores").check()
    apply(page)
    expect(page.locator("#pasted textarea")).to_have_value(
        re.compile("original: 0, 0, 0")
    )  # the forms to fill in
    for text, sentence in (
        ("original: 1, 2", "Expected 3 finite scores for original"),
        ("original: 1, 2, x", "Expected numbers after original"),
        ("first: 1, 2, 3", "begin with one of original"),
        (
            "original: 1, 2, 3",
            "no_question, wrong_question, no_right_answer, extra_choices has none",
        ),
    ):
        page.locator("#pasted textarea").fill(text)
        apply(page)
        expect(page.get_by_role("alert")).to_contain_text(sentence)
