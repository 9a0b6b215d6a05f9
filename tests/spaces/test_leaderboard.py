"""The leaderboard, used as a person would: sort, bring audits of their own, make mistakes."""

import pytest
from playwright.sync_api import expect

from pages import opener, upload
from rightreasons.report.questions import QUESTIONS
from small_audits import small_audit

pytestmark = pytest.mark.browser

open_page = opener("spaces/leaderboard", "#table tbody tr")


def test_audits_are_sorted(visit):
    page = open_page(visit)
    expect(page.locator("#table thead th")).to_have_count(2 + len(QUESTIONS))
    expect(page.locator(".rr-verdict")).to_contain_text(
        "audits found a problem, most often with calibration"
    )
    page.locator("#sort input").click()
    page.get_by_role("option", name="calibration").click()
    expect(page.locator("#table .lb-here")).to_have_text("calibration")
    heads = page.locator("#table thead th").all_inner_texts()
    assert heads[2:] == list(QUESTIONS)
    expect(page.locator("#table tbody tr").first.locator("td").nth(1)).to_contain_text(
        "Calibrated within 5 points"
    )
    cells = page.locator("#table tbody tr td:nth-child(3)")
    tones = [cells.nth(place).get_attribute("class") for place in range(cells.count())]
    order = ["lb-good", "lb-neutral", "lb-warn", "lb-bad", "lb-none"]
    assert tones == sorted(tones, key=order.index)


def test_own_audits(visit, tmp_path):
    page = open_page(visit)
    small_audit(tmp_path, name="org/<b>mine")
    upload(page, tmp_path / "audit.json")
    expect(page.locator("#table tbody tr")).to_have_count(1)
    expect(page.locator("#table")).to_contain_text("org/<b>mine")
    expect(page.locator("#table")).to_contain_text("25.0% [12.5, 40.0]")
    bad = tmp_path / "bad.json"
    bad.write_text('{"schema_version": "1.0"}')
    upload(page, bad)
    expect(page.get_by_role("alert")).to_contain_text("'bad.json' is not an audit")
    page.locator("#back").click()
    expect(page.locator("#table tbody tr").nth(2)).to_be_visible()
