"""The cue explorer, used as a person would: bundled sets, own files, pasted items, cues, mirrors, mistakes."""

import json

import pytest
from playwright.sync_api import expect

from pages import opener, tile, turn_to, unfold, upload_in_tab
from rightreasons.cues.statistics import cue_statistics

pytestmark = pytest.mark.browser

open_page = opener("spaces/cue_explorer", "#diagram svg")


def test_the_planted_cue_is_found_and_its_items_are_shown(visit):
    page = open_page(visit)
    expect(page.locator("#source")).to_contain_text("36 items")
    expect(tile(page, "Strongest cue")).to_have_text("“was”")
    expect(page.locator("#figures")).to_contain_text("correct in 20 of 24 items")
    expect(page.get_by_text("These items give answers away")).to_be_visible()
    row = page.locator("#cue-table tr", has_text="was").first
    expect(row).to_contain_text("83.3%")  # 20 of 24
    page.get_by_role("tab", name="Items", exact=True).click()
    expect(page.locator("#items")).to_contain_text(
        "In 24 items, exactly one choice has “was”; this choice is correct in 20 of them"
    )
    expect(page.locator("#items mark").first).to_have_text("was")
    page.locator("#cue input").click()
    page.get_by_role("option", name="for", exact=True).click()
    expect(page.locator("#items mark").first).to_have_text("for")


def test_mirrors_balance_every_cue(visit):
    page = open_page(visit)
    turn_to(page, "Original and mirrored")
    expect(page.locator("#mirrors")).to_contain_text("This set has no mirrored items.")
    page.locator("#bundled input").click()
    page.get_by_role("option", name="Originals and their mirrors").click()
    expect(page.locator("#source")).to_contain_text("72 items")
    expect(tile(page, "Cue-only classifier")).to_have_text("50.0%")
    expect(tile(page, "Strongest cue")).to_have_text("none")
    expect(page.get_by_text("72 items do not rule out an effect of 10 points")).to_be_visible()
    row = page.locator("#mirrors tr", has_text="was").first
    for value in ("83.3%", "16.7%", "50.0%"):
        expect(row).to_contain_text(value)
    pair = page.locator(".cx-pair").first
    expect(pair).to_contain_text("The glass fell off the shelf.")
    expect(pair).to_contain_text("The cook squeezed an orange into the glass.")


def test_families_of_cues_and_least_applicability_move_the_table(visit):
    page = open_page(visit)
    unfold(page, "Which cues")
    page.get_by_label("length").check()
    expect(page.locator("#cue-table")).to_contain_text("<longest>")
    page.get_by_label("unigram").uncheck()
    expect(page.locator("#cue-table")).not_to_contain_text("was")
    page.get_by_label("length").uncheck()
    expect(page.get_by_role("alert")).to_have_text(
        "Expected at least one name in `features`, but it is empty."
    )
    page.get_by_label("unigram").check()
    expect(page.get_by_role("alert")).to_have_count(0)
    page.locator("#minimum input[type=number]").fill("12")
    page.keyboard.press("Tab")
    expect(page.locator("#cue-table tbody tr")).to_have_count(2)  # "was" and "the"


def test_an_own_set_of_three_choices(visit, tmp_path):
    page = open_page(visit)
    items = [
        {
            "prompt": f"question {i}",
            "choices": ["never mine", f"thing {i % 3}", "other one"],
            "label": i % 2,
        }
        for i in range(30)
    ]
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(map(json.dumps, items)))
    upload_in_tab(page, path)
    expect(page.locator("#source")).to_contain_text("mine.jsonl 30 items.")
    expect(tile(page, "Chance")).to_have_text("33.3%")
    found = cue_statistics(
        [item["choices"] for item in items], [item["label"] for item in items]
    ).find("never")
    assert found.productivity == 0.5
    expect(page.locator("#cue-table tr", has_text="never")).to_contain_text("50.0%")


def test_pasted_items(visit):
    page = open_page(visit)
    unfold(page, "Which cues")
    turn_to(page, "Paste")
    page.get_by_role("button", name="Show these").click()
    expect(page.locator("#source")).to_contain_text("Pasted items. 4 items.")
    expect(page.locator("#diagram")).to_contain_text("No cue applies to so many items")
    page.locator("#minimum input[type=number]").fill("1")
    page.keyboard.press("Tab")
    expect(page.locator("#cue-table tr", has_text="was").first).to_be_visible()


BAD_FILES = (
    (
        "a.csv",
        "text,label\nfine,1\n",
        "Expected prompts and choices in a.csv in a known format, but its columns are text, label",
    ),
    ("b.csv", "prompt,choices\n", "b.csv"),
    ("c.jsonl", "{", "Expected JSON in c.jsonl, but parsing failed at line 1"),
    (
        "d.jsonl",
        '{"prompt": "p", "choices": ["one"], "label": 0}',
        "Expected at least two choices in each row of d.jsonl",
    ),
    ("e.csv", "premise,question,choice1,choice2,label\nA.,cause,b,c,7\nA.,cause,b,c,0\n", "e.csv"),
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
        page.get_by_label("Clear").first.click()
        expect(page.locator("#diagram svg")).to_be_visible()
    turn_to(page, "Paste")
    page.locator("#pasted textarea").fill("")
    page.get_by_role("button", name="Show these").click()
    expect(page.get_by_role("alert")).to_have_text(
        "Expected items with their choices, but the text is empty."
    )


def test_copa_is_listed_once_its_file_was_made(build, monkeypatch, tmp_path):
    build("spaces/cue_explorer")
    import choice_sets

    file = tmp_path / "copa.csv"
    monkeypatch.setattr(choice_sets, "COPA_ITEMS", file)
    assert "COPA" not in choice_sets.list_sets()

    file.write_text(
        "id,premise,question,choice1,choice2,label,mirrored,source_id\n"
        "1,It rained.,effect,The road was wet.,The road was dry.,0,False,1\n"
        "1001,The sun shone.,effect,The road was wet.,The road was dry.,1,True,1\n"
        "2,It froze.,cause,It was cold.,It was warm.,0,False,2\n"
    )
    choice_sets.read_bundled.cache_clear()

    # The originals are 1 and 2; Balanced COPA has the mirror of 1, too.
    assert len(choice_sets.read_bundled("COPA")) == 2
    assert len(choice_sets.read_bundled("Balanced COPA")) == 3
    choice_sets.read_bundled.cache_clear()
