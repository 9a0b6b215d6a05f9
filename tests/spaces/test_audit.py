"""The audit Space, used as a person would: read the finished audit, bring predictions, save the report."""

import zipfile

import pytest
from playwright.sync_api import expect

from pages import opener, turn_to, unfold, upload

pytestmark = pytest.mark.browser

open_page = opener("spaces/audit", "#report h1")


def bring(page, file) -> None:
    unfold(page, "Audit a model or predictions of your own")
    turn_to(page, "Stored predictions")
    upload(page, file, where="#answers")


def test_a_finished_audit_is_there_at_once(visit):
    page = open_page(visit)

    expect(page.locator("#report h1")).to_contain_text("decide 43.3% of its predictions")
    expect(page.locator("iframe")).to_have_count(0)
    expect(page.get_by_role("navigation", name="Links")).to_contain_text("Documentation")


def test_the_report_is_browsed_as_on_its_own_page(visit):
    page = open_page(visit)

    page.locator("#report #item-split").select_option(label="test (82 of 1,000 incorrect)")
    page.locator("#report #item-search").fill("test-875")
    expect(page.locator("#report #shown-items")).to_have_text("1 to 1 of 1")
    # A link to an item clears what would hide it.
    page.locator("#report #item-search").fill("no such text")
    page.locator("#report .example a").first.click()
    expect(page.locator("#report tr.current")).to_be_in_viewport()


def test_the_styles_of_the_report_do_not_reach_the_page(visit):
    page = open_page(visit)

    for locator in (page.locator("h1").first, page.locator("body")):
        assert "DejaVu Sans" not in locator.evaluate(
            "element => getComputedStyle(element).fontFamily"
        )


def test_a_model_that_follows_a_hint_is_shown_too(visit):
    page = open_page(visit)

    page.get_by_role("button", name="A colleague's hint").click()

    report = page.locator("#report")
    # Without a judge, nobody has read whether its reasoning says so in other words.
    expect(report.locator("h1")).to_contain_text("whether it says so is unknown")
    expect(report.locator("#reasons p").first).to_contain_text("changes 66.7%")
    # Its model is not here to answer.
    expect(page.locator("#title")).to_contain_text("cannot be edited")
    expect(report.locator("#try")).to_be_hidden()


def test_stored_predictions_are_audited_and_the_report_is_saved(visit, tmp_path):
    page = open_page(visit)
    path = tmp_path / "mine.csv"
    # Of forty items with confidence 0.9, thirty are right.
    path.write_text(
        "text,p_no,p_yes,label\n" + "fine,0.1,0.9,yes\n" * 30 + "dull,0.1,0.9,no\n" * 10
    )

    bring(page, path)
    unfold(page, "Questions and size")
    page.get_by_label("calibration", exact=True).check()
    page.locator("#audit").click()

    expect(page.locator("#title")).to_contain_text("mine.csv")
    expect(page.locator("#report h1")).to_contain_text("mine.csv")
    expect(page.locator("#report header")).to_contain_text("75.0%")
    with page.expect_download() as download:
        page.locator("#save").click()
    with zipfile.ZipFile(download.value.path()) as archive:
        assert {"index.html", "audit.json"} <= set(archive.namelist())


def test_mistakes_are_told(visit, tmp_path):
    page = open_page(visit)
    unfold(page, "Audit a model or predictions of your own")
    turn_to(page, "A file of items")
    path = tmp_path / "items.csv"
    path.write_text("comment,verdict\nfine,1\ndull,0\n")
    upload(page, path, where="#items")
    page.locator("#audit").click()
    expect(page.get_by_role("alert")).to_contain_text("Expected")
    turn_to(page, "A model and data")
    page.locator("#model textarea, #model input").first.fill("/etc")
    page.locator("#audit").click()
    expect(page.get_by_role("alert")).to_contain_text("Expected the id of `Model` on the hub")
    assert "Traceback" not in page.content()


def test_a_run_is_stopped(visit):
    page = open_page(visit)
    unfold(page, "Audit a model or predictions of your own")
    page.locator("#stop").click()
    expect(page.get_by_role("alert")).to_have_text("Stopped.")
    page.get_by_role("button", name="A planted word").click()
    expect(page.locator("#report h1")).to_be_visible()


def test_the_edit_of_a_word_changes_the_prediction(visit):
    page = open_page(visit)
    field = page.locator("#report #try-text")
    outcome = page.locator("#report #try-models p").first
    expect(outcome).to_contain_text("bag-of-words: ")

    # The item that shows the finding is the first text.
    field.fill(field.input_value().replace("marble", "copper"))
    expect(outcome).to_have_class("flips")

    # Without a text, there is nothing to ask.
    field.fill("")
    expect(page.locator("#report #try-models")).to_have_text("Type a text.")
