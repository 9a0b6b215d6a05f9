"""The demos of `easy_hard_gap` and `cue_statistics`, used as a person would."""

import pytest
from playwright.sync_api import expect

from module_page import choose, compute, edit

pytestmark = pytest.mark.browser


def test_easy_hard_gap(visit):
    page = visit("metrics/easy_hard_gap")
    compute(page)
    # 11 of 12 answers are right on Easy, 8 of 12 on Hard.
    expect(page.locator("#result")).to_contain_text("0.25")
    edit(page, "easy", 0, "maybe")
    compute(page)
    expect(page.get_by_role("alert")).to_contain_text("`easy`")


def test_cue_statistics(visit):
    page = visit("measurements/cue_statistics")
    compute(page)
    # "down" is in exactly one choice of every item, and that choice is right each time.
    expect(page.locator("#result")).to_contain_text('"down"')
    choose(page, classifier=True, n_folds=99)
    compute(page)
    expect(page.get_by_role("alert")).to_contain_text("at most the number of groups, 6, but got 99")
