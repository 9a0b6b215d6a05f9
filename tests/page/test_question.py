"""A question as data: a seventh one takes a folder and a line, and what is declared must be written."""

import datasets
import numpy as np
import pytest

import toy_question
from rightreasons.core.intervals import Estimate
from rightreasons.page.question import Lead
from rightreasons.report.card import gate
from rightreasons.report.comparison import compare
from rightreasons.report.files import audit_figures
from rightreasons.report.questions import QUESTIONS, Registered
from rightreasons.report.runner import audit
from tiny_models import save_tiny_classifier
from toy_question import PROSE, toy

CONDITIONS = ["toy.long_rate > 0.5", "toy.verdict == good"]


@pytest.fixture
def registered(tmp_path, monkeypatch):
    monkeypatch.setattr(toy_question, "TOY", toy(tmp_path), raising=False)
    monkeypatch.setitem(QUESTIONS, "toy", Registered("toy_question:TOY", toy_question.ToyOptions))


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
    how = {"questions": ["toy"], "n_resamples": 20, "progress": False, "raise_errors": True}
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
        monkeypatch.setitem(QUESTIONS, "toy", Registered("toy_question:TOY", toy_question.ToyOptions))
        made = audit(tiny, rows(20), out=tmp_path / "report", questions=["toy"], n_resamples=20, progress=False)
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
    made = audit(tiny, rows(20), out="toy report", questions=["toy"], n_resamples=20, progress=False)
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
    with pytest.raises(ValueError, match="Expected a question that applies, but got toy: Texts are too few: 1"):
        audit(tiny, rows(1, n=1), questions=["toy"], **how)


def test_what_is_declared_is_written(tmp_path):
    class Long:
        n_items, names = 1, ("a",)
        long = np.array([True])

        def rate(self, which):
            return Estimate(0.5, 0.1, 0.9)

    question = toy(tmp_path, PROSE.replace("## alt.rates", "## alt.other"))
    with pytest.raises(KeyError, match=r"alt\.rates"):
        question.answer(Long(), options=toy_question.ToyOptions())
