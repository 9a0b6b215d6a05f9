"""A question as data: a seventh one takes a folder and a line, and what is declared must be written."""

import datasets
import pytest

import toy_question
from rightreasons.behavior.question import BEHAVIOR
from rightreasons.calibration.question import CALIBRATION
from rightreasons.calibration.sources import SOURCES
from rightreasons.cues.question import CUES
from rightreasons.difficulty.page_contrast import CONTRAST
from rightreasons.difficulty.page_rankings import EIGENVALUE
from rightreasons.page.question import Examples, Lead, Plot, Rule, Table
from rightreasons.probes.question import JUDGES, PROBES
from rightreasons.reasons.question import REASONS
from rightreasons.report.comparison import ANSWERS, compare
from rightreasons.report.figures import audit_figures
from rightreasons.report.gates import gate
from rightreasons.report.labels import LABELS
from rightreasons.report.questions import QUESTIONS, RegisteredQuestion
from rightreasons.report.ranking.page import RANKING
from rightreasons.report.runner import audit
from rightreasons.report.tasks import TASKS
from rightreasons.shortcuts.question import SHORTCUTS
from rightreasons.ways.question import WAYS
from tiny_models import save_tiny_classifier
from toy_question import toy

WRITTEN = [
    ANSWERS, BEHAVIOR, CALIBRATION, CONTRAST, CUES, EIGENVALUE, JUDGES, LABELS, PROBES, REASONS, SHORTCUTS, SOURCES,
    RANKING, TASKS, WAYS,
]  # fmt: skip

SETTLED = {"settled_checks": ("all",)}
"""The two texts of the items repeat with either label, on purpose."""

CONDITIONS = ["toy.long_rate > 0.5", "toy.verdict == good"]


@pytest.fixture
def registered(tmp_path, monkeypatch):
    monkeypatch.setattr(toy_question, "TOY", toy(tmp_path), raising=False)
    monkeypatch.setitem(
        QUESTIONS, "toy", RegisteredQuestion("toy_question:TOY", toy_question.ToyOptions)
    )


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return save_tiny_classifier(tmp_path_factory.mktemp("models") / "tiny")


def rows(n_long, n=30):
    texts = ["the film was good and the rain fell" if i < n_long else "the film" for i in range(n)]
    features = datasets.Features(
        id=datasets.Value("string"),
        text=datasets.Value("string"),
        label=datasets.ClassLabel(names=["negative", "positive"]),
    )
    table = {"id": [f"i{i}" for i in range(n)], "text": texts, "label": [i % 2 for i in range(n)]}
    return datasets.Dataset.from_dict(table, features=features)


@pytest.mark.usefixtures("registered")
def test_a_seventh_question_is_a_folder_and_a_line(tiny, tmp_path):
    how = {
        "questions": ["toy"],
        "n_resamples": 20,
        "progress": False,
        "raise_errors": True,
        **SETTLED,
    }
    made = audit(tiny, rows(20), out=tmp_path / "report", options={"toy": {"most": 5}}, **how)
    result = made["toy"].result
    assert (result.verdict.tone, result.verdict.label) == ("bad", "Too long")
    figures = audit_figures(made.audit)
    assert figures["toy.long_rate"].estimate.value == pytest.approx(2 / 3)
    assert (figures["toy.long_rate"].n, figures["toy.short_rate"].n) == (30, 7)
    assert made.audit["questions"][0]["result"]["data"] == {"n_long": 20, "said": "30 texts"}
    assert [one.outcome for one in gate(tmp_path / "report", CONDITIONS).checks] == ["fail", "pass"]
    page = made.page.read_text("utf-8")
    for words in (
        "Are the texts long?",
        "Share of texts with more than 5 words.",
        "Text of 30",
        "Rates",
        "A long text",
    ):
        assert words in page
    assert "Not shown" not in page
    assert (tmp_path / "report" / "figures" / "rates.png").stat().st_size > 1_000
    other = audit(tiny, rows(10), out=tmp_path / "other", options={"toy": {"most": 5}}, **how)
    assert other["toy"].result.verdict.tone == "good"
    assert "long_rate" in str(compare(tmp_path / "report", tmp_path / "other").to_dict())


def test_a_contrast_stands_in_place_of_the_picture(tiny, tmp_path, monkeypatch):
    def contrasted(values):
        lead = Lead("all", plot="rates", contrast=values)
        monkeypatch.setattr(toy_question, "TOY", toy(tmp_path, leads=(lead,)), raising=False)
        monkeypatch.setitem(
            QUESTIONS, "toy", RegisteredQuestion("toy_question:TOY", toy_question.ToyOptions)
        )
        made = audit(
            tiny,
            rows(20),
            out=tmp_path / "report",
            questions=["toy"],
            n_resamples=20,
            progress=False,
            **SETTLED,
        )
        top = made.page.read_text("utf-8").partition('id="answers"')[0]
        return made["toy"].result.finding.contrast, "plot-rates" in top, top

    contrast, is_drawn, top = contrasted(lambda m: (m.rate(True), 0.25, None))
    assert (contrast.title, is_drawn) == ("Texts of data", False)
    assert [(each.name, each.estimate.value) for each in contrast.shares] == [
        ("that are long", pytest.approx(2 / 3)),
        ("by guessing", 0.25),
    ]
    assert 'by guessing <b class="nowrap">25.0%</b>' in top
    assert 'width="25.0" height="10"' in top
    # One share alone contrasts with nothing.
    assert contrasted(lambda m: (m.rate(True), None, None))[:2] == (None, True)


@pytest.mark.usefixtures("registered")
def test_values_make_no_paragraphs_and_no_items(tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = audit(
        tiny,
        rows(20),
        out="toy report",
        questions=["toy"],
        n_resamples=20,
        progress=False,
        **SETTLED,
    )
    result = made["toy"].result
    assert result.parts[0].text == "One paragraph, of two lines.\n\nAnd - a b ## limits in another."
    actions = result.finding.actions
    assert [action.link for action in actions] == ["#items", "", ""]
    assert actions[1].text == "Cut “- a b ## limits”."
    assert actions[2].command == "rightreasons gate 'toy report' --fail-if 'toy.long_rate > 0.5'"


@pytest.mark.usefixtures("registered")
def test_a_need_that_is_not_met_is_told(tiny, tmp_path):
    how = {"out": tmp_path / "report", "progress": False, "n_resamples": 20}
    made = audit(tiny, rows(1, n=1), questions=["toy", "calibration"], **how)
    assert (made["toy"].status, made["toy"].reason) == ("skipped", "Texts are too few: 1.")
    with pytest.raises(ValueError, match="toy: Texts are too few"):
        audit(tiny, rows(1, n=1), questions=["toy"], **how)


@pytest.mark.parametrize(
    "verdict",
    [(Rule("bad", "long", lambda m: False),), (Rule("bad", "long"), Rule("good", "fine")), ()],
)
def test_the_last_rule_and_no_other_holds_always(tmp_path, verdict):
    with pytest.raises(ValueError, match="other, to hold always"):
        toy(tmp_path, verdict=verdict)


def declared(question):
    """Name the entries that the prose of a question must have."""
    yield from (f"need.{need.key}" for need in question.needs)
    yield from (f"figure.{figure.key}" for figure in question.figures if figure.text is None)
    yield from dict.fromkeys(f"verdict.{rule.key}" for rule in question.verdict)
    for part in question.parts:
        yield f"part.{part.key}"
        for each in part.views:
            kinds = {Table: ("table",), Plot: ("plot", "alt"), Examples: ("examples",)}.get(
                type(each), ()
            )
            yield from (f"{kind}.{each.key}" for kind in kinds)
    for lead in question.leads:
        yield from (
            f"{kind}.{lead.key}"
            for kind in ("claim", "evidence", "advice", *["contrast"] * bool(lead.contrast))
        )


@pytest.mark.parametrize("question", WRITTEN, ids=lambda question: question.name)
def test_what_is_declared_is_written_once_and_nothing_else(question):
    names = list(declared(question))
    assert len(names) == len(set(names))
    written = question.prose.names("")
    # A kind without a key stands for all of its keys.
    used = {name if name in written else name.partition(".")[0] for name in names}
    assert used <= set(written)
    assert set(written) - used <= {
        "heading",
        "limits",
        "facts",
        "made",
        *question.prose.names("data."),
    }
    figures = {figure.key for figure in question.figures}
    overview = () if callable(question.headlines) else question.headlines
    shown = {*overview, *(key for part in question.parts for key in part.figures)}
    assert shown | {lead.figure for lead in question.leads if lead.figure} <= figures
