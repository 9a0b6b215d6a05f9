"""The apps of the behavior modules, used as a person would."""

import re

import pytest
from playwright.sync_api import expect

from module_page import choose, compute, edit

pytestmark = pytest.mark.browser


def test_behavioral_pass_rate(visit):
    page = visit("metrics/behavioral_pass_rate")
    compute(page)
    # Negation: "not good" is right, "not bad" is called negative, 1 of 2. Names: .9 and .85, 1 of 1. Mean 0.75.
    expect(page.locator("#result")).to_contain_text("0.75")
    edit(page, "predictions", 1, [0.3, 0.7])
    compute(page)
    expect(page.locator("#result")).to_contain_text("1")
    choose(page, outputs="labels")
    compute(page)
    expect(page.get_by_role("alert")).to_contain_text("`predictions`")


def test_generalization_score(visit):
    page = visit("metrics/generalization_score")
    compute(page)
    expect(page.locator("#result")).to_contain_text(re.compile(r"0\.\d{4}"))
    # Seen: mean of .98, .95, .91 is .946667; 2 · .92 · .946667 / (.92 + .946667) = .933143.
    expect(page.locator("#result")).to_contain_text("0.9331")
    choose(page, iid_score=1.2)
    compute(page)
    expect(page.get_by_role("alert")).to_contain_text("iid_score")
