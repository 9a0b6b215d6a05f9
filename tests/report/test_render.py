"""The page: every part of a section, hostile texts, and what a browser makes of it."""

import base64
import hashlib
import itertools
import re
from importlib import resources

import datasets
import numpy as np
import pytest

from rightreasons.core.estimates import Estimate
from rightreasons.page import plots
from rightreasons.page.parts import (
    Action,
    Change,
    Column,
    Contrast,
    Example,
    ExampleList,
    Finding,
    Headline,
    Mark,
    Part,
    Plot,
    SectionResult,
    Share,
    Table,
    Verdict,
)
from rightreasons.report.items.values import read_item_values
from rightreasons.report.outcomes import Outcome, compose_first_screen, find_examples, place_bar
from rightreasons.report.render import WORKS, Page, render_page
from rightreasons.report.runner import audit
from scripted_choices import Scripted, make_items, read_half
from tiny_models import save_tiny_classifier

EVIL = "<script>document.title='gone'</script><img src=x onerror=alert(1)>\" ' & $x^2$ \u202egnol {{ 7 * 7 }}"


WORST_CONTRAST = """() => {
  const rgb = text => text.match(/[\\d.]+/g).map(Number);
  const linear = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = c => 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
  const ground = e => {
    for (; e; e = e.parentElement) {
      const color = rgb(getComputedStyle(e).backgroundColor);
      if (color.length < 4 || color[3] > 0.99) return color;
    }
    return [255, 255, 255];
  };
  const ratio = e => {
    const [a, b] = [light(rgb(getComputedStyle(e).color)), light(ground(e))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  };
  const texts = 'p, dt, dd, li, th, td, h1, h2, h3, h4, figcaption, a, summary, .verdict, .interval, .source, .muted';
  return Math.min(...[...document.querySelectorAll(texts)].filter(e => e.innerText?.trim()).map(ratio));
}"""


def headline(value=0.8, low=0.7, high=0.9, **options):
    said = {
        "key": "accuracy",
        "name": "Accuracy",
        "definition": "Share of right items.",
        "source": "Counted",
    }
    return Headline(estimate=Estimate(value, low, high), split="test", n=10, **{**said, **options})


def page_of(*parts, outcome=None, **options):
    result = SectionResult(Verdict("good", "Fine", "It is fine."), (headline(),), parts)
    outcomes = [
        Outcome("toy", "Is it a toy?", "answered", "", result),
        *([outcome] if outcome else []),
    ]
    said = {"title": "T", "heading": "H", "facts": [("on", "toys")], "made": [("Seed", "0")]}
    return render_page(Page(outcomes=outcomes, **{**said, **options}))


def text_of(html):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html.split("<body>")[1]))


def test_a_figure_without_interval_definition_or_source_is_refused():
    assert headline(low=None, high=None, no_interval="Counted in full.").no_interval
    for wrong in ({"low": None, "high": None}, {"definition": ""}, {"source": ""}):
        with pytest.raises(
            ValueError,
            match="figure 'accuracy'",
        ):
            headline(**wrong)


# ------------------------------------------------------------------------------------------------------------- the page


def test_every_kind_of_part_is_shown():
    drawing = plots.dot_rows(
        "dots", rows=[("a", [Estimate(0.2, 0.1, 0.3)])], series=["one"], xlabel="fraction"
    )
    part = Part(
        title="A part",
        text="First paragraph.\n\nSecond paragraph.",
        headlines=(headline(name="Inner figure"),),
        plots=(Plot("dots", "Dots", "Caption.", "Alternative.", "Somebody 1999", drawing.spec),),
        tables=(
            Table(
                "t",
                "A table",
                (
                    Column("a", "Name", "text"),
                    Column("b", "Value", definition="A value."),
                    Column("p", "p", "p_value"),
                ),
                (("x", Estimate(0.5, 0.4, 0.6), 0.0001), ("y", None, 0.5)),
                note="A note.",
                source="Counted",
            ),
        ),
        examples=(
            ExampleList(
                "e",
                "Examples",
                "Chosen so.",
                (Example("id-1", "a copper hat", "yes", "no", 0.75, marks=(Mark(2, 8),)),),
            ),
        ),
    )
    skipped = Outcome("other", "Another question?", "skipped", "There is no suite.")
    html = page_of(part, outcome=skipped, command="rightreasons audit a b")
    text = text_of(html)
    for said in (
        "First paragraph. Second paragraph.",
        "80.0% 95% interval 70.0% to 90.0%",
        "Share of right items.",
        "Source: Somebody 1999.",
        "0.500 [0.400, 0.600]",
        "&lt; 0.001",
        "A note. Value : A value.",
        "There is no suite.",
        "rightreasons audit a b",
    ):
        assert said in text, said
    assert '<mark class="cue">copper</mark>' in html
    assert 'role="img" aria-label="Alternative."' in html
    assert html.count("<svg") == html.count("</svg>") >= 2


def outcome_of(question, tone, finding=None, **more):
    verdict = Verdict(tone, f"{question} verdict", "It is so.")
    result = SectionResult(verdict, (headline(**more),), (), finding=finding)
    return Outcome(question, f"Is it {question}?", "answered", "", result)


def finding(size, *actions, **more):
    return Finding(
        claim=f"is {size} wrong", evidence="By hand.", size=size, actions=actions, **more
    )


def test_the_first_screen_has_the_worst_finding_first():
    pair = (
        Example("1", "a copper hat", "yes", "yes", 0.75),
        Example("2", "a marble hat", "yes", "no", 0.625),
    )
    asked = [
        outcome_of("fine", "good", finding(0.9, Action("Nothing."))),
        outcome_of(
            "small",
            "bad",
            finding(0.1, Action("One."), Action("Two."), Action("Three.", "run three")),
        ),
        outcome_of("open", "neutral"),
        outcome_of(
            "large",
            "bad",
            finding(0.3, Action("Read.", link="#items"), Action("x"), Action("y"), pair=pair),
        ),
        Outcome("absent", "Is it absent?", "skipped", "There is nothing."),
        Outcome("broken", "Is it broken?", "failed", "It broke."),
    ]
    page = Page(title="T", heading="H", facts=[], outcomes=asked, made=[], subject="m")
    first = compose_first_screen(page.outcomes, page.subject, page.heading)
    assert first["claim"] == "m is 0.3 wrong."
    assert [outcome.question for outcome, _ in first["rows"]] == ["large", "small", "open", "fine"]
    assert {question: [action.text for action in actions] for question, actions in first["actions"].items()} == {
        "large": ["Read.", "x", "y"], "small": ["One.", "Two.", "Three."], "open": [], "fine": [],
    }  # fmt: skip
    assert compose_first_screen(asked[-2:], page.subject, page.heading) is None
    text = text_of(render_page(page))
    for said in ("m is 0.3 wrong.", "One item, before and after", "1 question not included: absent",
                 "Is it absent? There is nothing.", "Failed: Is it broken? It broke.", "a marble hat",
                 "Accuracy 80.0% [70.0, 90.0]", "Glossary"):  # fmt: skip
        assert said in text, said
    assert text.index("large verdict") < text.index("small verdict") < text.index("open verdict")


@pytest.mark.parametrize("pair", [(), (Example("1", "a copper hat", "yes", "yes", 0.75),)])
def test_the_first_screen_leads_on_with_and_without_an_example(pair):
    shares = Contrast("Accuracy", (Share("On “a”", Estimate(0.9)), Share("On “b”", Estimate(0.1))))
    asked = [outcome_of("large", "bad", finding(0.3, pair=pair, contrast=shares))]
    html = render_page(Page(title="T", heading="H", facts=[], outcomes=asked, made=[], subject="m"))
    assert html.count('<a href="#large">See why</a>') == 1


def test_what_is_not_there_is_not_counted_or_noted():
    table = Table("t", "A table", (Column("a", "Name", "text"),), (("x",),))
    examples = ExampleList(
        "e", "Examples", "Chosen so.", (Example("1", "a hat", "yes", "no", 0.75),)
    )
    html = page_of(Part("A part", tables=(table,), examples=(examples,)))
    assert "Details: 1 part with 1 table</summary>" in html
    assert '<p class="note"></p>' not in html


@pytest.mark.parametrize(
    ("figure", "bar"),
    [
        (headline(0.25, 0.2, 0.5), {"low": 20.0, "width": 30.0, "dot": 24.5}),
        (headline(1.0, 1.0, 1.0), {"low": 100.0, "width": 0.5, "dot": 99.0}),
        (headline(0.01, -0.1, 0.1), {"low": 0.0, "width": 10.0, "dot": 0.5}),
        (headline(0.0, 0.0, 0.1), {"low": 0.0, "width": 10.0, "dot": 0.0}),
        (headline(-0.2, -0.3, 0.1), None),
        (headline(0.25, None, None, no_interval="none"), {"low": 25.0, "width": 0.5, "dot": 24.5}),
        (headline(None, None, None, no_interval="undefined"), None),
        (headline(0.25, 0.2, 0.5, unit="nats"), None),
    ],
)
def test_rows_share_one_scale(figure, bar):
    assert place_bar(figure) == bar


def test_sources_are_links():
    table = Table(
        "t", "A table", (Column("a", "Name", "text"), Column("b", "Value", "share")),
        (("x, y", Estimate(0.5, 0.4, 0.6)), ("z", None)), source="Guo et al. 2017, section 4",
    )  # fmt: skip
    html = page_of(
        Part(title="P", text="Its calibration error is small.", tables=(table,)), subject="m"
    )
    assert "2017</a>, section" in html


def test_every_address_is_one():
    for work, address in WORKS.items():
        assert re.fullmatch(r"https://[a-z.]+/[^\s<>]+", address), work


def test_links_lead_to_parts_of_the_page():
    """Also where there is no table of items, and on pages without a first screen."""
    finding = Finding("is sure.", "Read.", actions=(Action("Read the errors.", link="#items"),))
    result = SectionResult(
        Verdict("bad", "Sure", "Its pass rate is low."), (headline(),), (), finding=finding
    )
    outcomes = [Outcome("toy", "Is it a toy?", "answered", "", result)]
    said = {"title": "T", "heading": "H", "facts": [("on", "toys")], "made": [("Seed", "0")]}
    for subject in ("it", ""):
        html = render_page(Page(outcomes=outcomes, subject=subject, **said))
        assert set(re.findall(r'href="#([^"]+)"', html)) <= set(re.findall(r' id="([^"]+)"', html))


def test_texts_of_users_stay_texts(tmp_path):
    part = Part(
        title=EVIL,
        text=EVIL,
        tables=(
            Table(
                "t", EVIL, (Column("a", EVIL, "text"), Column("b", EVIL, "text")), ((EVIL, EVIL),)
            ),
        ),
        examples=(
            ExampleList(
                "e",
                EVIL,
                EVIL,
                (
                    Example(
                        EVIL, EVIL, EVIL, EVIL, 0.5, text_pair=EVIL, marks=(Mark(0, 8, note=EVIL),)
                    ),
                ),
            ),
        ),
    )
    html = page_of(
        part, title=EVIL, heading=EVIL, facts=[(EVIL, EVIL)], made=[(EVIL, EVIL)], command=EVIL
    )
    assert html.count("<script") == 1  # ours, at the end; the policy of the page allows no other
    digest = base64.b64encode(
        hashlib.sha256(html.split("<script>")[1].split("</script>")[0].encode()).digest()
    )
    assert f"script-src 'sha256-{digest.decode()}'" in html
    assert "<img src=x" not in html
    assert "&lt;script&gt;" in html
    assert "{{ 7 * 7 }}" in html


def test_names_in_drawings_are_escaped_and_are_no_formulas():
    drawing = plots.dot_rows(
        "d", rows=[("<b>$x^2$</b>", [Estimate(0.5, 0.4, 0.6)])], series=[EVIL], xlabel="x"
    )
    assert "<script" not in drawing.svg
    assert "&lt;b&gt;$x^2$&lt;/b&gt;" in drawing.svg
    assert "var(--plot-blue)" in drawing.svg
    assert "#2f6bd8" not in drawing.svg
    assert all(name.startswith("d-") for name in re.findall(r'id="([^"]+)"', drawing.svg))


def test_a_section_leads_with_the_examples_of_its_finding():
    headline = Headline("b", "B", Estimate(0.5, 0.4, 0.6), "Counted.", "Counted")
    example = Example("1", "text", "good", "bad", None)
    parts = (
        Part("One", examples=(ExampleList("one", "One", "", (example,)),)),
        Part("Two", headlines=(headline,), examples=(ExampleList("two", "Two", "", (example,)),)),
    )
    verdict = Verdict("bad", "Bad", "It is bad.")
    finding = Finding("claim", "evidence", figure="b")

    assert find_examples(SectionResult(verdict, (), parts, finding=finding)).key == "two"
    assert find_examples(SectionResult(verdict, (), parts)).key == "one"


def test_a_drawing_is_the_same_each_time():
    rows = [("a", [Estimate(0.6, 0.5, 0.9)])]
    one, two = (plots.dot_rows("c", rows=rows, series=["one"], xlabel="x") for _ in range(2))
    assert one.svg == two.svg
    assert one.png == two.png


# --------------------------------------------------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """An audit of texts and labels that try to break the page."""
    folder = tmp_path_factory.mktemp("hostile")
    names = ("<b>bad</b>", "$good$ \"'&")
    model = save_tiny_classifier(folder / "hostile", label_names=names)
    odd = ["שלום good film", "the \x07 bell", "\U0001f600 " * 5]
    texts = [EVIL, "word " * 400, "x" * 3000, *odd, "good", "bad"] * 2
    rows = datasets.Dataset.from_dict({"text": texts, "label": [0] * 8 + [1] * 8}).cast_column(
        "label", datasets.ClassLabel(names=list(names))
    )
    return audit(
        model,
        rows,
        out=folder / "report",
        questions=["calibration"],
        n_resamples=20,
        progress=False,
    )


def problems_of(page, path):
    """What a person would stumble over: errors, dialogs, requests, parts that stick out."""
    found = []
    page.on("console", lambda message: found.append(message.text))
    page.on("pageerror", lambda error: found.append(str(error)))
    page.on("dialog", lambda dialog: (found.append("dialog"), dialog.dismiss()))
    page.on(
        "request",
        lambda request: (
            None if request.url.startswith(("file:", "data:")) else found.append(request.url)
        ),
    )
    page.goto(path.as_uri())
    if page.evaluate("document.documentElement.scrollWidth > innerWidth + 1"):
        found.append("the page is wider than the window")
    return found


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_the_window_and_asks_for_nothing(page, report, width, scheme):
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    assert problems_of(page, report.page) == []
    assert page.locator("h1").count() == 1
    assert "92.0% of “test”" in page.locator("h1").inner_text()
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")
    # No table is cut at its right edge without a way to scroll, and every picture has words.
    assert page.evaluate(
        "[...document.querySelectorAll('[role=img]')].every(e => e.getAttribute('aria-label').length > 20)"
    )
    assert page.evaluate(
        "[...document.querySelectorAll('svg')].every(e => e.getBoundingClientRect().width > 50)"
    )
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(e => +e.tagName[1])")
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))
    assert page.screenshot()[:4] == b"\x89PNG"


@pytest.fixture(scope="module")
def disputed_report(tmp_path_factory):
    """The report of stored scores that contradict every tenth label of texts that say nothing of their labels."""
    folder = tmp_path_factory.mktemp("disputed")
    rng = np.random.default_rng(4)
    classes = rng.integers(2, size=200)
    scores = rng.uniform(0.7, 0.99, size=200)
    is_wrong = np.arange(200) % 10 == 0
    rows = datasets.Dataset.from_dict(
        {
            "text": [f"text {row}" for row in range(200)],
            "bad": np.where(classes == 0, scores, 1 - scores),
            "good": np.where(classes == 1, scores, 1 - scores),
            "label": np.where(classes ^ is_wrong, "good", "bad"),
        }
    )
    rows.to_csv(folder / "scores.csv", index=False)
    return audit(folder / "scores.csv", questions=["calibration"], out=folder / "report")


@pytest.mark.browser
def test_links_and_folded_tables_work(page, disputed_report):
    problems_of(page, disputed_report.page)
    # The section of a single question is open from the start.
    section = page.locator("#calibration")
    assert section.is_visible()
    page.get_by_role("link", name="See why").click()
    assert page.url.endswith("#calibration")
    page.locator("#calibration details.more > summary").click()
    summary = page.get_by_text("All disputed labels").first
    table = page.get_by_role("table", name="All disputed labels")
    assert not table.is_visible()
    summary.click()
    assert table.is_visible()


@pytest.mark.browser
def test_items_are_filtered_sorted_and_stepped_through(page, report):
    problems_of(page, report.page)
    page.get_by_role("link", name="errors on").click()
    rows = page.locator("#items tbody tr")
    shown = page.locator("#shown-items")
    n_rows = int(shown.inner_text().rpartition(" ")[2])
    assert rows.count() == min(n_rows, 50)
    counts = {}
    for outcome in ("wrong", "correct", "confident", "unsure"):
        page.locator("#item-outcome").select_option(outcome)
        text = shown.inner_text()
        counts[outcome] = int(text.rpartition(" ")[2]) if " of " in text else 0
        other = "wrong" if outcome in ("correct", "unsure") else "correct"
        assert page.locator(f"#items tr.{other}").count() == 0
    assert counts["wrong"] + counts["correct"] == n_rows
    assert counts["confident"] <= counts["wrong"]
    assert counts["unsure"] <= counts["correct"]
    page.locator("#item-outcome").select_option("")
    cells = page.locator("#items tbody td.num")
    for order, reverse in (("ascending", False), ("descending", True)):
        page.get_by_role("button", name="Confidence").click()
        page.locator(f"#items th[aria-sort={order}]").wait_for()
        values = [float(text.rstrip("%")) for text in cells.all_inner_texts()]
        assert values == sorted(values, reverse=reverse)
    # A phone shows no head of the table, and a list of orders in its place.
    page.set_viewport_size({"width": 390, "height": 800})
    page.get_by_label("Sort by").select_option("Confidence, ascending")
    values = [float(text.rstrip("%")) for text in cells.all_inner_texts()]
    assert values == sorted(values)
    page.set_viewport_size({"width": 1280, "height": 900})
    first = rows.first.inner_text()
    page.get_by_role("button", name="Next").click()
    assert rows.first.inner_text() != first
    page.get_by_role("button", name="Previous").click()
    assert rows.first.inner_text() == first


@pytest.fixture(scope="module")
def ordered_report(tmp_path_factory):
    """The report of a model that picks the first choice of half of the items, whatever it is."""
    folder = tmp_path_factory.mktemp("ordered")
    items = datasets.Dataset.from_list(make_items(60))
    return audit(
        Scripted(read_half),
        items,
        out=folder / "report",
        questions=["probes"],
        n_resamples=20,
        progress=False,
    )


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_the_item_of_a_finding_and_all_such_items_are_shown(page, ordered_report, width):
    page.set_viewport_size({"width": width, "height": 900})
    assert problems_of(page, ordered_report.page) == []
    figures = read_item_values(
        ordered_report.out, "probes", ordered_report["probes"].result.to_dict()
    )
    changes = figures["order_changes"]
    changed_ids = {id_ for id_, value in zip(changes.ids, changes.values, strict=True) if value}
    # Half of the items are read, so that the filter hides some.
    assert 10 < len(changed_ids) < 60

    # The choices are shown once, with the answers in both orders.
    table = page.locator(".shows table.choices")
    heads = table.locator("thead th").all_inner_texts()
    assert [text.replace("\n", " ") for text in heads] == [
        "Choices",
        "Original order",
        "Another order",
    ]
    answers = table.locator("b.answer")
    assert [text[:1] for text in answers.all_inner_texts()] == ["A", "A"]
    assert page.locator(".shows .example a bdi").inner_text() in changed_ids
    assert page.locator(".shows").get_by_text("correct", exact=True).count() == 1

    # A link shows all of them, whatever was filtered before.
    page.get_by_label("Search").fill("no text has these words")
    page.get_by_role("link", name=f"Show all {len(changed_ids)} such items").first.click()
    rows = page.locator("#items tbody tr")
    assert set(rows.locator("th bdi").all_inner_texts()) == changed_ids
    assert set(page.locator("#items td.affected").all_inner_texts()) <= {"yes", "\nyes"}
    select = page.get_by_label("Finding")
    assert select.locator("option:checked").inner_text() == "Answer changes with the order"

    # A column of numbers is sorted, the largest first.
    select.select_option("Drop with 8 more choices")
    cells = page.locator("#items td.affected").all_inner_texts()
    values = [float(text.strip().rstrip("%")) for text in cells]
    assert values == sorted(values, reverse=True)
    assert min(values) >= 0
    select.select_option("all items")
    assert page.locator("#shown-items").inner_text().endswith("of 60")


@pytest.mark.browser
def test_a_link_shows_its_item_whatever_the_filters_hide(page, report):
    problems_of(page, report.page)
    rows = page.locator("#items tbody tr")
    page.get_by_role("button", name="Next").click()
    address = rows.nth(3).get_attribute("id")
    page.get_by_label("Search").fill("no text has these words")
    assert rows.count() == 0
    assert page.locator("#shown-items").inner_text() == "No matching items."
    page.evaluate("address => { location.hash = address }", address)
    current = page.locator("#items tr.current")
    current.wait_for()
    assert current.get_attribute("id") == address
    assert page.get_by_label("Search").input_value() == ""
    # Words find what they are in, whatever their case.
    words = current.locator("bdi").nth(1).inner_text()[:20].upper()
    page.get_by_label("Search").fill(words)
    assert address in rows.evaluate_all("rows => rows.map(row => row.id)")


@pytest.mark.browser
def test_ticks_become_the_options_of_the_command(page, tmp_path):
    command = "rightreasons audit m d --questions shortcuts --shortcuts-not-reasons"
    result = SectionResult(
        Verdict("warn", "W", "S."),
        (headline(),),
        (),
        finding=finding(0.5, Action("Say.", f"{command} ':,copper,odd'")),
    )
    html = render_page(
        Page(
            "T", "H", [], [Outcome("shortcuts", "Is it?", "answered", "", result)], [], subject="m"
        )
    )
    (tmp_path / "index.html").write_text(html, "utf-8")
    assert problems_of(page, tmp_path / "index.html") == []
    code = page.locator("#next code")
    assert code.inner_text() == f"{command} ':,copper,odd'"
    page.get_by_label("odd").check()
    start = command.rpartition(" ")[0]
    assert (
        code.inner_text() == f"{start} --shortcuts-reasons odd --shortcuts-not-reasons ':,copper'"
    )
    page.get_by_label("copper").check()
    page.get_by_label(":", exact=True).check()
    assert code.inner_text() == f"{start} --shortcuts-reasons ':,copper,odd'"


def changeable():
    """A page with an example whose word may be changed."""
    example = Example("1", "copper  shines", "good", "good", 0.9, marks=(Mark(0, 6),))
    change = Change("“copper” → “marble”", "marble shines", "bad", 0.75)
    result = SectionResult(
        Verdict("warn", "W", "S."),
        (headline(),),
        (Part("P", examples=(ExampleList("e", "E", "Those.", (example,)),)),),
        changes=(("copper  shines", change), ("another", change), ("copper  shines", change)),
    )
    return render_page(Page("T", "H", [], [Outcome("toy", "Is it?", "answered", "", result)], []))


@pytest.mark.browser
def test_a_chosen_change_is_shown_with_its_answer(page, tmp_path):
    (tmp_path / "index.html").write_text(changeable(), "utf-8")
    assert problems_of(page, tmp_path / "index.html") == []
    item = page.locator("li.example").first
    before = item.locator("blockquote").inner_html()
    box = page.get_by_label("Change a word").first
    # The options do not give the answer away, and a change is offered once.
    assert box.locator("option").all_inner_texts() == ["unchanged", "“copper” → “marble”"]
    box.select_option(index=1)
    assert item.locator("blockquote").inner_text() == "marble shines"
    assert item.locator("mark").inner_text() == "marble"
    assert item.locator("output").inner_text().strip() == "90.0% good → 75.0% bad"
    box.select_option(index=0)
    assert item.locator("blockquote").inner_html() == before
    assert item.locator("output").inner_text() == ""


@pytest.mark.browser
def test_print_opens_what_is_folded(page, disputed_report):
    problems_of(page, disputed_report.page)
    table = page.get_by_role("table", name="All disputed labels")
    page.emulate_media(media="print")
    assert table.evaluate("each => each.getBoundingClientRect().height") > 30
    assert not page.locator("#item-outcome").is_visible()
    # Of the items, a few per question: neither the lists of the folded part nor the table, which audit.json has.
    assert page.locator(".more .examples").count() > 0
    assert page.locator(".more .examples, #items").filter(visible=True).count() == 0
    assert page.locator(".lead .examples, .shows .examples").filter(visible=True).count() > 0
    assert (
        len(re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True))) <= 6
    )  # sheets of A4


@pytest.mark.browser
def test_axe_finds_no_barrier(chromium, report):
    """WCAG's rules, as far as a program checks them, with all that is folded opened."""
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    rules = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")
    context = chromium.new_context(bypass_csp=True)
    page = context.new_page()
    page.goto(report.page.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    page.evaluate(f"{rules};0")
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    context.close()
    assert [(one["id"], one["nodes"][0]["html"]) for one in found["violations"]] == []
    assert len(found["passes"]) > 20


@pytest.mark.browser
def test_contrast_of_text_is_enough(page, report):
    """WCAG AA: 4.5 to 1 for text of normal size, in the light and in the dark form."""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        problems_of(page, report.page)
        assert page.evaluate(WORST_CONTRAST) >= 4.5, scheme


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_hostile_texts_do_nothing(page, hostile, width):
    page.set_viewport_size({"width": width, "height": 900})
    assert problems_of(page, hostile.page) == []
    assert page.title() == "Audit of hostile on the data"
    assert page.locator("script:not([type])").count() == 1
    assert page.locator("img[src=x]").count() == 0
    assert page.locator("#items").get_by_text("<script>document.title=").first.is_visible()
