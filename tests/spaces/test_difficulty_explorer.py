"""The difficulty explorer, used as a person would: read the ranking, edit a word, try replacements, make mistakes."""

import dataclasses
import json
import re

import pytest
from playwright.sync_api import expect

from pages import opener, turn_to, unfold

pytestmark = pytest.mark.browser

open_page = opener("spaces/difficulty_explorer", "#ranking li")


def eigenvalues(page) -> list[float]:
    return [
        float(re.search(r"λ = (\S+)", row)[1])
        for row in page.locator("#ranking li").all_inner_texts()
    ]


def test_texts_are_ranked_and_the_hardest_is_open(visit):
    page = open_page(visit)
    values = eigenvalues(page)
    assert len(values) == 14
    assert values == sorted(values, reverse=True)
    assert page.locator("#ranking li").first.locator("mark").count() > 0
    hardest = page.locator("#ranking li").first.locator("div").first.inner_text()
    expect(page.locator("#edited textarea")).to_have_value(hardest)
    expect(page.locator("#result")).to_contain_text("as before")


def test_editing_a_word_moves_eigenvalue_confidence_and_label(visit):
    page = open_page(visit)
    unfold(page, "Your own texts and model")
    page.locator("#texts textarea").fill("The film was wonderful.\nThe film was terrible.")
    page.get_by_role("button", name="Rank them").click()
    expect(page.locator("#ranking li")).to_have_count(2)
    expect(page.locator("#result .dx-text")).to_have_text(
        re.compile(r"The film was (wonderful|terrible)\.")
    )
    before = page.locator("#result").inner_text()
    label = "negative" if "positive, as before" in before else "positive"
    page.locator("#edited textarea").fill(
        f"The film was {'terrible' if label == 'negative' else 'wonderful'}."
    )
    expect(page.locator("#result")).to_contain_text("flipped")
    expect(page.locator("#result")).to_contain_text(f"→ {label}")
    # Another text is opened as it stands.
    page.locator("#chosen input").click()
    page.get_by_role("option").nth(1).click()
    expect(page.locator("#result")).to_contain_text("as before")


def test_contrast_pairs_have_the_eigenvalue_of_both_texts(visit):
    page = open_page(visit)
    turn_to(page, "Contrast pairs")

    pairs = page.locator("#pairs .dx-pair")
    expect(pairs).to_have_count(5)
    for pair in pairs.all():
        assert pair.inner_text().count("λ = ") == 2
    # The most difficult pairs are those that the network gets wrong.
    expect(pairs.first).to_contain_text("incorrect")
    expect(pairs.last).not_to_contain_text("incorrect")


def test_replacements_are_tried(visit):
    page = open_page(visit)
    page.locator("#try").click()
    expect(page.locator("#replacements")).to_contain_text(
        re.compile("single replacements flips? the prediction")
    )
    assert page.locator("#replacements tbody tr").count() >= 2


def test_mistakes_are_told(visit):
    page = open_page(visit)
    unfold(page, "Your own texts and model")
    page.locator("#texts textarea").fill("")
    page.get_by_role("button", name="Rank them").click()
    expect(page.get_by_role("alert")).to_contain_text("Expected from 1 to 200 texts")
    page.locator("#texts textarea").fill("<b>The film</b> was wonderful.")
    page.locator("#model textarea, #model input").first.fill("/etc")
    page.get_by_role("button", name="Rank them").click()
    expect(page.get_by_role("alert")).to_contain_text("Expected the id of `Model` on the hub")
    page.locator("#model textarea, #model input").first.fill("")
    page.get_by_role("button", name="Rank them").click()
    expect(page.locator("#ranking li").first).to_contain_text("<b>The film</b> was wonderful.")
    assert "Traceback" not in page.content()


def test_film_reviews_are_shown_once_their_file_was_made(build, monkeypatch, tmp_path):
    build("spaces/difficulty_explorer")
    import difficulty_view

    file = tmp_path / "imdb_pairs.json"
    monkeypatch.setattr(difficulty_view, "IMDB_PAIRS", file)
    assert difficulty_view.read_imdb_pairs() == []

    rows = []
    for text, eigenvalue, label in (("A joy.", 0.25, "positive"), ("A bore.", 0.5, "positive")):
        row = difficulty_view.Ranked(text, eigenvalue, label, 0.9, text, "")
        rows.append(dataclasses.asdict(row))
    file.write_text(json.dumps([{"texts": rows, "labels": ["positive", "negative"]}]))
    pairs = difficulty_view.read_imdb_pairs()

    page = difficulty_view.pairs_page(pairs, difficulty_view.IMDB_SOURCE)
    assert [pair.eigenvalue for pair in pairs] == [0.5]
    # The edited text is still called positive, so the pair is inconsistent.
    assert "incorrect: negative" in page
    assert "λ = 0.25" in page
    assert "both texts correctly in 0 of 1 pair;" in page
    assert "Maas et al. 2011" in page
