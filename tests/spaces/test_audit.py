"""The audit Space, used as a person would: read the finished audit, bring predictions, save the report."""

import zipfile

import pytest
from playwright.sync_api import expect

from pages import opener, turn_to, unfold, upload

pytestmark = pytest.mark.browser

open_page = opener("spaces/audit", ".rr-verdict")


def bring(page, file) -> None:
    turn_to(page, "Stored predictions")
    upload(page, file, where="#answers")


def test_a_finished_audit_is_there_at_once(visit):
    page = open_page(visit)
    expect(page.locator("#figures .au-rows li").first).to_be_visible()
    report = page.frame_locator("#report iframe")
    expect(report.locator("h1")).to_contain_text("decide 43.3% of its predictions")
    turn_to(page, "Question by question")
    expect(page.locator("#section .rr-tiles").first).to_be_visible()
    expect(page.locator("#section svg, #section img").first).to_be_visible()
    expect(page.get_by_role("navigation", name="Links")).to_contain_text("Documentation")


def test_a_model_that_follows_a_hint_in_silence_is_shown_beside_it(visit):
    page = open_page(visit)
    page.get_by_role("button", name="A hint in silence").click()
    expect(page.locator("#figures")).to_contain_text("Moved in silence")
    report = page.frame_locator("#report iframe")
    expect(report.locator("h1")).to_contain_text("follows a colleague's opinion in silence")
    expect(
        report.locator("mark", has_text="a colleague, thinks that the answer is").first
    ).to_be_visible()
    turn_to(page, "Question by question")
    expect(page.locator("#section")).to_contain_text("Moved in silence")


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
    expect(page.locator("#figures .rr-verdict")).to_have_text("mine.csv")
    expect(page.frame_locator("#report iframe").locator("h1")).to_contain_text("mine.csv")
    turn_to(page, "Question by question")
    expect(page.locator("#section")).to_contain_text("75.0%")
    with page.expect_download() as download:
        page.locator("#save").click()
    with zipfile.ZipFile(download.value.path()) as archive:
        assert {"index.html", "audit.json"} <= set(archive.namelist())


def test_mistakes_are_told(visit, tmp_path):
    page = open_page(visit)
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
    page.locator("#stop").click()
    expect(page.get_by_role("alert")).to_have_text("Stopped.")
    page.get_by_role("button", name="A planted word").click()
    expect(page.locator("#figures .rr-verdict")).to_be_visible()


def test_the_edit_of_a_word_flips_the_prediction(visit):
    page = open_page(visit)
    turn_to(page, "Edit a text")
    field = page.locator("#edited textarea")
    expect(page.locator("#prediction")).to_contain_text("Predictions of bag-of-words")
    field.fill(field.input_value().replace("marble", "copper"))
    expect(page.locator("#prediction .rr-verdict")).to_contain_text(
        "The prediction flips: positive"
    )
    expect(page.locator("#prediction mark")).to_have_text("copper")
    expect(page.locator("#prediction del")).to_have_text("marble")
    # Without an edit, there is nothing to compare.
    field.fill("")
    expect(page.get_by_role("alert")).to_have_text("Expected a text, but the field is empty.")


def test_an_audit_of_a_log_has_no_model_to_query(visit):
    page = open_page(visit)
    page.get_by_role("button", name="A hint in silence").click()
    turn_to(page, "Edit a text")
    expect(page.locator("#prediction")).to_contain_text("The model of this audit is not here")
