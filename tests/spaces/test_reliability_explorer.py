"""The reliability explorer, used as a person would: pick, upload, paste, change every control, make mistakes."""

import json
import re

import numpy as np
import pytest
from playwright.sync_api import expect

from pages import opener, pick, turn_to, unfold, upload_in_tab
from rightreasons.calibration.errors import calibration_error
from rightreasons.core.validation import softmax

pytestmark = pytest.mark.browser

open_page = opener("spaces/reliability_explorer", "#diagram svg")


def read_ece(page) -> float:
    """Return the headline figure, a percentage with one decimal, as a fraction."""
    return float(page.locator("#figures dd").first.inner_text().removesuffix("%")) / 100


def write_csv(path, probabilities, labels):
    rows = [
        f"{','.join(f'{p:.6f}' for p in row)},{label}"
        for row, label in zip(probabilities, labels, strict=True)
    ]
    path.write_text(
        "\n".join([",".join([*(f"p_{k}" for k in range(probabilities.shape[1])), "label"]), *rows])
    )
    return path


@pytest.fixture(scope="module")
def three_classes():
    rng = np.random.default_rng(0)
    probabilities = np.round(rng.dirichlet((0.6, 0.8, 1.0), size=400), 6)
    probabilities[:, 0] = 1 - probabilities[:, 1:].sum(axis=1)
    return probabilities, rng.integers(3, size=400)


def test_a_bundled_run_is_there_at_once_and_another_changes_the_page(visit):
    page = open_page(visit)
    expect(page.locator("#figures")).to_contain_text("95% interval")
    expect(page.locator("#figures")).to_contain_text(
        "Top-label ECE: mean over the items of |accuracy - mean confidence|"
    )
    expect(page.locator(".rr-verdict")).to_contain_text(
        re.compile(r"Overconfident: \d\d\.\d% confident on average, correct in")
    )
    expect(page.locator("#source")).to_contain_text("1,000 items, 3 classes")
    page.locator("#bundled input").click()
    page.get_by_role("option", name="Planted cue as in training").click()
    expect(page.locator(".rr-verdict")).to_contain_text("Nothing here shows miscalibration")
    before = read_ece(page)
    page.locator("#bundled input").click()
    page.get_by_role("option", name="Planted cue flipped").click()
    expect(page.locator("#source")).to_contain_text("10% of them")
    expect(page.locator("#figures dd").first).not_to_have_text(f"{before:.1%}")
    # The model leans on the cue: where that points the other way, its confidence no longer fits.
    assert read_ece(page) > before + 0.1


def test_every_control_moves_figure_diagram_table_and_definition_together(
    visit, tmp_path, three_classes
):
    probabilities, labels = three_classes
    page = open_page(visit)
    upload_in_tab(page, write_csv(tmp_path / "mine.csv", probabilities, labels))
    expect(page.locator("#source")).to_contain_text("mine.csv 400 items, 3 classes.")
    headline, words = page.locator("#figures dd").first, page.locator(".rr-definition")

    unfold(page, "Definition")

    def shows(**options):
        expect(headline).to_have_text(
            f"{calibration_error(probabilities, labels, **options).ece:.1%}"
        )

    shows()
    drawing = page.locator("#diagram").inner_html()
    page.locator("#bins input[type=number]").fill("5")
    page.keyboard.press("Tab")
    shows(n_bins=5)
    expect(words).to_contain_text("5 bins of equal width")
    page.wait_for_function(
        "before => document.querySelector('#diagram').innerHTML !== before", arg=drawing
    )
    pick(page, "quantile")
    shows(n_bins=5, strategy="quantile")
    expect(words).to_contain_text("equal mass")
    pick(page, "l2")
    shows(n_bins=5, strategy="quantile", norm="l2")
    expect(page.locator("#figures dt").first).to_have_text("RMS calibration error")
    page.get_by_label("Debias").check()
    shows(n_bins=5, strategy="quantile", norm="l2", debias=True)
    page.get_by_label("Debias").uncheck()
    pick(page, "l1")
    pick(page, "classwise")
    shows(n_bins=5, strategy="quantile", kind="classwise")
    expect(page.locator("#bin-table")).to_contain_text("share of class 0")
    page.locator("#shown-class input").click()
    page.get_by_role("option", name="class 2").click()
    expect(page.locator("#bin-table")).to_contain_text("share of class 2")


def test_temperature_divides_the_logits(visit, tmp_path, three_classes):
    probabilities, labels = three_classes
    page = open_page(visit)
    upload_in_tab(page, write_csv(tmp_path / "mine.csv", probabilities, labels))
    expect(page.locator("#source")).to_contain_text("mine.csv")
    unfold(page, "Temperature")
    page.locator("#temperature input[type=number]").fill("2")
    page.keyboard.press("Tab")
    roots = np.sqrt(probabilities)
    expected = calibration_error(roots / roots.sum(axis=1, keepdims=True), labels).ece
    expect(page.locator("#figures dd").first).to_have_text(f"{expected:.1%}")
    expect(page.locator(".rr-definition")).to_contain_text("divided by temperature 2")


def test_the_temperature_is_fitted_on_one_half_and_told_of_the_other(visit, tmp_path):
    rng = np.random.default_rng(0)
    logits = rng.normal(scale=2.0, size=(2000, 3))
    labels = np.array([rng.choice(3, p=row) for row in softmax(logits)])
    page = open_page(visit)
    # A calibrated model whose logits were multiplied by 2.5: the fit finds that number again.
    upload_in_tab(page, write_csv(tmp_path / "mine.csv", softmax(2.5 * logits), labels))
    expect(page.locator("#source")).to_contain_text("mine.csv")
    before = read_ece(page)
    unfold(page, "Temperature")
    page.get_by_role("button", name="Fit the temperature").click()
    expect(page.locator("#fitted")).to_contain_text(
        "Fitted on a random half (1,000 items): temperature 2."
    )
    expect(page.locator("#temperature input[type=number]")).to_have_value(re.compile(r"^2\.[2-8]"))
    expect(page.locator("#figures dd").first).not_to_have_text(f"{before:.1%}")
    assert read_ece(page) < before / 3
    # Of new data it is another temperature.
    page.get_by_label("Remove this file").or_(page.get_by_label("Clear")).first.click()
    upload_in_tab(page, write_csv(tmp_path / "again.csv", softmax(2.5 * logits), labels))
    expect(page.locator("#source")).to_contain_text("again.csv")
    expect(page.locator("#temperature input[type=number]")).to_have_value("1")
    expect(page.locator("#fitted")).to_have_text("")
    expect(page.locator("#figures dd").first).to_have_text(f"{before:.1%}")


def test_a_file_of_logits_says_so_itself(visit, tmp_path):
    page = open_page(visit)
    path = tmp_path / "run.jsonl"
    rows = [{"logits": [0.0, 3.0], "label": 1}, {"logits": [2.0, 0.0, 0.0], "label": 1}]
    path.write_text("\n".join(map(json.dumps, rows)))
    upload_in_tab(page, path)
    expect(page.locator("#source")).to_contain_text("2 items, rows of different lengths")
    unfold(page, "Definition")
    expect(page.locator("#scores input")).to_have_value("logits")
    # softmax: 1/(1 + e^-3) = 0.952574, right; 1/(1 + 2 e^-2) = 0.786986, wrong: (0.047426 + 0.786986)/2 = 0.417206.
    expect(page.locator("#figures dd").first).to_have_text("41.7%")


def test_pasted_predictions(visit):
    page = open_page(visit)
    turn_to(page, "Paste")
    page.locator("#pasted textarea").fill("probabilities,label\n0.9,1\n0.8,1\n0.3,0\n")
    page.get_by_role("button", name="Show these").click()
    # Confidences 0.9, 0.8 and 0.7, all right, in bins of their own: (0.1 + 0.2 + 0.3)/3.
    expect(page.locator("#figures dd").first).to_have_text("20.0%")
    unfold(page, "Definition")
    pick(page, "positive")
    # P(class 1) of 0.9, 0.8, 0.3 against 1, 1, 0: (0.1 + 0.2 + 0.3)/3 again, in other bins.
    expect(page.locator("#bin-table")).to_contain_text("share of class 1")
    expect(page.locator("#diagram")).to_contain_text("How often the label is class 1")


def test_confidence_in_given_answers(visit):
    page = open_page(visit)
    turn_to(page, "Paste")
    page.locator("#pasted textarea").fill(
        "answer,confidence,correct\nRome,0.9,1\nBonn,0.3,1\nOslo,0.7,0\n"
    )
    page.get_by_role("button", name="Show these").click()
    expect(page.locator("#source")).to_contain_text("3 items, the confidence in given answers")
    # 0.9 right, 0.3 right, 0.7 wrong, in bins of their own: (0.1 + 0.7 + 0.7)/3.
    expect(page.locator("#figures dd").first).to_have_text("50.0%")
    unfold(page, "Definition")
    expect(page.locator("#kind label")).to_have_count(1)
    unfold(page, "Temperature")
    page.get_by_role("button", name="Fit the temperature").click()
    expect(page.locator("#fitted")).to_contain_text(
        "a temperature, which divides those of all classes"
    )


BAD_FILES = (
    ("a.csv", "text,label\nfine,1\n", "as p_0, p_1 in a.csv, but its columns are: text, label"),
    (
        "b.csv",
        "p0,p1,label\n0.5,0.33,1\n",
        "Expected each row of `predictions` to sum to 1, but row 0 sums to 0.83.",
    ),
    (
        "c.csv",
        "p0,p1,label\n0.5,0.5,2\n",
        "Expected labels in words in the column 'label' of c.csv, as the columns of scores are 0, 1, but got 2",
    ),
    ("d.parquet", "no parquet", "Expected a parquet file, but d.parquet cannot be read as one"),
    ("e.jsonl", "{", "Expected JSON in e.jsonl, but parsing failed at line 1, column 2"),
)


def test_a_bad_file_gets_its_sentence_and_a_good_one_mends_it(visit, tmp_path):
    page = open_page(visit)
    for name, content, sentence in BAD_FILES:
        path = tmp_path / name
        path.write_text(content)
        upload_in_tab(page, path)
        expect(page.get_by_role("alert")).to_contain_text(sentence)
        expect(page.locator("#diagram svg")).to_have_count(0)
        assert "Traceback" not in page.content()
        page.get_by_label("Remove this file").or_(page.get_by_label("Clear")).first.click()
    path = tmp_path / "good.csv"
    path.write_text("p0,p1,label\n0.5,0.5,1\n")
    upload_in_tab(page, path)
    expect(page.locator("#source")).to_contain_text("good.csv 1 item, 2 classes")
    expect(page.locator("#diagram svg")).to_be_visible()


def test_a_kind_that_does_not_fit_is_told_and_left_again(visit, tmp_path, three_classes):
    page = open_page(visit)
    upload_in_tab(page, write_csv(tmp_path / "mine.csv", *three_classes))
    expect(page.locator("#source")).to_contain_text("mine.csv 400 items, 3 classes")
    unfold(page, "Definition")
    pick(page, "positive")
    expect(page.get_by_role("alert")).to_contain_text("kind='positive'")
    pick(page, "top_label")
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.locator("#diagram svg")).to_be_visible()
