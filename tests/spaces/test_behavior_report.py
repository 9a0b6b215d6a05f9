"""The behavior report, used as a person would: read the grid, click cells, turn pages, bring files of their own."""

import json
import re

import numpy as np
import pytest
from playwright.sync_api import expect

from pages import opener, turn_to, upload
from rightreasons.datasets.suites.suite import Case, Functionality, Suite

pytestmark = pytest.mark.browser

open_page = opener("spaces/behavior_report", "#heat-map .br-cell")

N_MODELS, N_FUNCTIONALITIES = 3, 17


def open_own(page) -> None:
    page.get_by_role("button", name="Your own suite and predictions").click()
    expect(page.locator("#suite-file")).to_be_visible()


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A suite of two functionalities, whose texts try to be more than texts, and files of predictions."""
    folder = tmp_path_factory.mktemp("own")
    negation = Functionality(
        "negation <b>&",
        "Negation",
        "MFT",
        {"name": "equal"},
        (
            Case("first", (("<i>not</i> good ${1+1} {{value}}",),), (0,)),
            Case("second", (("not bad",),), (1,)),
        ),
    )
    names = Functionality(
        "names", "Names", "INV", {"name": "invariant"}, (Case("0", (("Ann sat",), ("Eve sat",))),)
    )
    paths = {
        "suite": Suite("mine", ("text",), (negation, names), label_names=("bad", "good")).write(
            folder / "mine.jsonl"
        )
    }
    # The first negation is wrong, the second right; the names differ by .3 and in the answer.
    rows = [[0.2, 0.8], [0.1, 0.9], [0.4, 0.6], [0.7, 0.3]]
    paths["csv"] = folder / "wrong once.csv"
    paths["csv"].write_text("p_bad,p_good\n" + "\n".join(f"{a},{b}" for a, b in rows))
    paths["jsonl"] = folder / "lines.jsonl"
    paths["jsonl"].write_text("\n".join(json.dumps({"probabilities": row}) for row in rows))
    paths["npz"] = folder / "arrays.npz"
    np.savez(paths["npz"], logits=np.log([[0.9, 0.1], [0.1, 0.9], [0.4, 0.6], [0.4, 0.6]]))
    paths["short"] = folder / "short.csv"
    paths["short"].write_text("p_0,p_1\n0.5,0.5\n")
    paths["labels"] = folder / "labels.csv"
    paths["labels"].write_text("prediction\n0\n1\n1\n1\n")
    paths["raw"] = folder / "raw.csv"
    paths["raw"].write_text("score_0,score_1\n" + "3,-1\n" * 4)
    return paths


def cell(page, model: int, functionality: int):
    return page.locator(f"#heat-map [data-cell='{model}-{functionality}']")


def test_the_bundled_models_stand_in_a_grid(visit):
    page = open_page(visit)
    expect(page.locator("#heat-map button.br-cell")).to_have_count(N_MODELS * N_FUNCTIONALITIES)
    expect(page.locator("#heat-map .br-mean")).to_have_count(N_MODELS)
    # Five classes, ruled off, and the types of all functionalities.
    expect(page.locator("#heat-map thead tr").first.locator("th.br-start")).to_have_count(5 + 1)
    expect(page.locator("#heat-map thead .br-type")).to_have_count(N_FUNCTIONALITIES)
    expect(page.locator("#figures")).to_contain_text("17 functionalities, 340 cases, 720 examples")
    # What is learned from the suite is passed afterwards.
    before, after = (
        int(page.locator("#heat-map .br-mean").nth(place).inner_text()) for place in (0, 1)
    )
    assert after > before
    # Softer words: the second model is too sure of every original to be asked.
    expect(cell(page, 1, 3)).to_have_text("–")
    expect(cell(page, 1, 3)).to_have_attribute("aria-label", re.compile("no case is asked"))
    # The cases of the weakest cell of the first model are open.
    expect(page.locator("#cases .br-fail").first).to_be_visible()


def test_a_click_on_a_cell_shows_its_failing_cases(visit):
    page = open_page(visit)
    failing = page.locator("#heat-map [aria-label*='cases pass']:not([aria-label*='(100%)'])").last
    label = failing.get_attribute("aria-label")
    model, functionality, said = label.split(": ", 2)
    passed, asked = map(int, re.match(r"(\d+) of (\d+) cases", said).groups())
    failing.click()
    cases = page.locator("#cases")
    expect(cases).to_contain_text(re.compile(rf"\b{asked - passed} failing cases?; page 1 of"))
    expect(cases).to_contain_text(f"{model}: {said}")
    expect(cases.locator(".br-case")).to_have_count(min(6, asked - passed))
    expect(cases.locator(".br-pass")).to_have_count(0)
    # Each failing case has an example that failed, with the answer, its confidence and what was expected.
    for place in range(min(6, asked - passed)):
        broken = cases.locator(".br-case").nth(place).locator("li.br-broken").first
        expect(broken).to_contain_text(
            re.compile(r"(negative|neutral|positive) \d+%.*(expected|P\()", re.DOTALL)
        )
    expect(page.locator("#model input")).to_have_value(model)
    expect(page.locator("#functionality input")).to_have_value(functionality)
    expect(failing).to_have_css("outline-style", "solid")


def test_passing_cases_and_pages(visit):
    page = open_page(visit)
    cell(page, 1, 0).click()
    page.get_by_role("radio", name="all", exact=True).check()
    expect(page.locator("#cases")).to_contain_text("20 cases; page 1 of 4")
    first = page.locator("#cases .br-id").first.inner_text()
    page.locator("#page input").fill("4")
    page.keyboard.press("Tab")
    expect(page.locator("#cases")).to_contain_text("page 4 of 4")
    expect(page.locator("#cases .br-case")).to_have_count(2)
    assert page.locator("#cases .br-id").first.inner_text() != first
    page.get_by_role("radio", name="passing", exact=True).check()
    expect(page.locator("#cases .br-fail")).to_have_count(0)
    expect(page.locator("#cases")).to_contain_text("page 1 of")


def test_table_and_lists_choose_too(visit):
    page = open_page(visit)
    page.locator("#rates [data-cell='0-9']").click()
    expect(page.locator("#cases")).to_contain_text("typos (Robustness)")
    expect(page.locator("#cases mark").first).to_be_visible()  # the word that was changed
    expect(page.locator("#cases")).to_contain_text("the original")
    page.locator("#functionality input").click()
    page.get_by_role("option", name="praise is added").click()
    expect(page.locator("#cases")).to_contain_text(
        "P(positive) − P(negative) must not fall by more than 0.1"
    )
    turn_to(page, "Classes and types")
    groups = page.locator("#groups")
    expect(groups).to_contain_text("Point of view")
    expect(groups.locator("table").last.locator("tbody tr")).to_have_count(3)


def test_keyboard_reaches_the_cells(visit):
    page = open_page(visit)
    cell(page, 0, 8).focus()
    page.keyboard.press("Enter")
    expect(page.locator("#cases")).to_contain_text("negated from afar")


def test_own_suite_and_predictions(visit, own):
    page = open_page(visit)
    open_own(page)
    upload(page, own["suite"], where="#suite-file")
    expect(page.locator("#figures")).to_contain_text("one row for each of the 4 examples")
    upload(page, own["csv"], own["jsonl"], own["npz"], where="#prediction-files")
    expect(page.locator("#heat-map button.br-cell")).to_have_count(6)
    numbers = page.locator("#heat-map button.br-cell").all_inner_texts()
    assert numbers == ["50", "0", "50", "0", "100", "100"]
    assert page.locator("#heat-map .br-mean").all_inner_texts() == ["25", "25", "100"]
    cell(page, 0, 0).click()
    cases = page.locator("#cases")
    expect(cases.locator(".br-case")).to_have_count(1)
    # Texts stay texts.
    expect(cases).to_contain_text("<i>not</i> good ${1+1} {{value}}")
    expect(cases).to_contain_text("negation <b>&")
    expect(cases).to_contain_text(re.compile(r"good 80%\s*expected bad"))
    cell(page, 0, 1).click()
    expect(cases).to_contain_text("P(good) from 60.0% to 30.0%")
    cell(page, 2, 1).click()
    expect(cases).to_contain_text("0 failing cases; page 1 of 1")
    with page.expect_download() as download:
        page.locator("#examples").click()
    assert "<i>not</i> good ${1+1} {{value}}" in download.value.path().read_text()


def test_answers_alone_are_enough_where_no_confidence_is_asked(visit, own):
    page = open_page(visit)
    open_own(page)
    upload(page, own["suite"], where="#suite-file")
    expect(page.locator("#figures")).to_contain_text("4 examples")
    upload(page, own["labels"], where="#prediction-files")
    expect(page.locator("#heat-map button.br-cell")).to_have_count(2)
    expect(page.locator("#figures")).to_contain_text("100.0%")


def test_mistakes_are_told_in_one_sentence(visit, own, tmp_path):
    page = open_page(visit)
    open_own(page)
    alert = page.get_by_role("alert")
    upload(page, own["short"], where="#prediction-files")
    expect(alert).to_have_text(
        "Expected one prediction for each of the 720 examples of the suite 'remarks', in its order, but got 1."
    )
    expect(page.locator("#heat-map .br-cell")).to_have_count(0)
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"format": "rightreasons.suite", "version": 1}\n{"functionality": "x"}\n')
    upload(page, bad, where="#suite-file")
    expect(alert).to_have_text(
        re.compile(r"^Expected a functionality in line 2 of bad\.jsonl, but .* missing")
    )
    page = open_page(visit)
    open_own(page)
    upload(page, own["suite"], where="#suite-file")
    expect(page.locator("#figures")).to_contain_text("4 examples")
    upload(page, own["raw"], where="#prediction-files")
    expect(alert).to_contain_text(
        "probabilities between 0 and 1 in `predictions`, but row 0 holds 3"
    )
    assert "Traceback" not in page.content()


def test_a_phone_scrolls_the_grid_and_not_the_page(visit):
    page = open_page(visit)
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator("#heat-map .br-cell").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator("#heat-map .br-scroll").evaluate("box => box.scrollWidth > box.clientWidth")
    cell(page, 0, 8).click()
    expect(page.locator("#cases")).to_contain_text("negated from afar")
    expect(page.locator("#cases .br-id").first).to_be_in_viewport()


def test_checklist_is_listed_once_its_files_were_made(build, monkeypatch, tmp_path):
    """The published page has CheckList's suite; a checkout has none."""
    build("spaces/behavior_report")
    import behavior_report

    case = Case("0", (("Ann is older than Eve.", "Who is older?"),), ("Ann",))
    test = Functionality("older", "Taxonomy", "MFT", {"name": "equal"}, (case,))
    monkeypatch.setattr(behavior_report, "CHECKLIST", tmp_path / "checklist.jsonl.gz")
    monkeypatch.setattr(behavior_report, "CHECKLIST_ANSWERS", tmp_path / "checklist.csv")
    assert behavior_report.list_suites() == [behavior_report.OWN_SUITE]

    Suite("checklist_reading", ("context", "question"), (test,)).write(behavior_report.CHECKLIST)
    behavior_report.CHECKLIST_ANSWERS.write_text("prediction\nEve\n", "utf-8")

    assert behavior_report.list_suites()[1] == behavior_report.CHECKLIST_SUITE
    report = behavior_report.bundled_report(behavior_report.CHECKLIST_SUITE)
    assert report.models[0].result.behavioral_pass_rate == 0.0
    behavior_report.bundled_report.cache_clear()
