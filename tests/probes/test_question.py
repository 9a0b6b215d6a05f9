"""The section about the confusion probes: what it says of heads and causal models, and where it does not apply."""

import json
from types import SimpleNamespace

import datasets
import numpy as np
import pytest

from choice_items import good_items
from rightreasons.core.resampling import Resampling
from rightreasons.models.choices import load_chooser
from rightreasons.probes.measure import OrderedAnswers, probe_tables
from rightreasons.probes.measurement import ProbesMeasurement, decide_figures
from rightreasons.probes.question import PROBES
from rightreasons.report.runner import audit
from rightreasons.training.finetune import fine_tune
from scripted_choices import Scripted, always_first, make_items
from tiny_causal import save_tiny_causal
from tiny_models import save_tiny_classifier, save_tiny_encoder


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    folder.joinpath("test.jsonl").write_text("\n".join(map(json.dumps, good_items(40))), "utf-8")
    return folder


@pytest.fixture(scope="module")
def leaning(tmp_path_factory):
    """A model that has learned to choose what is good, without reading the question."""
    folder = tmp_path_factory.mktemp("models")
    encoder = save_tiny_encoder(folder / "encoder")
    options = {
        "epochs": 6,
        "learning_rate": 5e-3,
        "max_length": 24,
        "checkpoint_steps": 0,
        "metrics": ("accuracy",),
    }
    return fine_tune(
        encoder,
        good_items(150),
        out=folder / "model",
        task="multiple_choice",
        progress=False,
        **options,
    ).folder


def section(model, data, out, **options):
    result = audit(
        model,
        data,
        out=out,
        questions=["probes"],
        n_resamples=100,
        progress=False,
        raise_errors=True,
        **options,
    )
    (outcome,) = result.outcomes
    return outcome, json.loads((out / "audit.json").read_text("utf-8"))


def test_a_head_that_never_reads_the_question(leaning, data, tmp_path):
    outcome, record = section(load_chooser(leaning), str(data), tmp_path / "report")
    found = outcome.result
    assert (found.verdict.tone, found.verdict.label) == ("bad", "As good without the question")
    figures = {headline.key: headline.estimate for headline in found.headlines}
    assert figures["pseudo_correct_no_question"].value > 0.9
    assert figures["pseudo_correct_no_question"].low > 0.5
    assert figures["kept_without_question"].value > 0.9
    assert figures["lost_without_question"].value < 0.1
    assert figures["choice_paralysis_8"].value > 0.1
    assert figures["restricted_drop_8"].value == pytest.approx(0.0, abs=1e-9)
    assert "one choice at a time" in found.parts[2].text
    assert found.data["orders"] is None
    assert set(found.data["figures"]["paralysis"]) == {"1", "2", "4", "8"}
    assert (tmp_path / "report" / "figures" / "choice_paralysis.png").stat().st_size > 5_000
    (example,) = found.finding.pair
    assert example.prediction == example.label  # a right answer, which needs no question
    assert example.note.endswith("the answer is the same.")
    assert example.conditions == ("With its question", "Without it")
    by_id = {figure.key: figure for figure in found.by_item}
    named = by_id[found.finding.item_figure]
    # The item of the first screen is one of those that the filter of the finding shows.
    assert dict(zip(named.ids, named.values, strict=True))[example.id] == 1
    assert [share.name for share in found.finding.contrast.shares][1] == "by chance"
    assert record["questions"][0]["status"] == "answered"


def test_a_causal_model_by_letters(data, tmp_path):
    model = load_chooser(save_tiny_causal(tmp_path / "model"), method="letters")
    outcome, _ = section(model, str(data), tmp_path / "report", options={"probes": {"ks": [1, 3]}})
    found = outcome.result
    assert "sees all choices together" in found.parts[2].text
    assert found.data["orders"]["n_choices"] == 2
    assert set(found.data["figures"]["paralysis"]) == {"1", "3"}
    restricted = found.data["figures"]["paralysis"]["3"]["restricted_drop"]["mean"]
    assert abs(restricted) > 1e-3
    assert "PriDe" in (tmp_path / "report" / "index.html").read_text("utf-8")
    # A second call reads back what was scored.
    again, _ = section(model, str(data), tmp_path / "report", options={"probes": {"ks": [1, 3]}})
    assert again.result.data == found.data


def test_where_it_does_not_apply(leaning, tmp_path):
    def reason(model, rows):
        folder = tmp_path / f"data{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        folder.joinpath("test.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
        with pytest.raises(ValueError, match="question that applies") as refused:
            section(model, str(folder), tmp_path / "report")
        return str(refused.value)

    rows = good_items(12)
    assert "at least 10 items" in reason(leaning, rows[:9])
    assert "same prompt" in reason(leaning, [{**row, "prompt": "what"} for row in rows])
    assert "the same choices" in reason(
        leaning, [{**row, "choices": ["good", "bad"]} for row in rows]
    )
    texts = [
        {"id": str(i), "text": "the film was good", "label": ("negative", "positive")[i % 2]}
        for i in range(30)
    ]
    assert "multiple-choice data" in reason(save_tiny_classifier(tmp_path / "classifier"), texts)


def test_few_choices_to_borrow(leaning, tmp_path):
    choices = [["good", "bad"], ["fine", "dull"], ["great", "poor"]]
    rows = [{**row, "choices": choices[i % 3]} for i, row in enumerate(good_items(12))]
    tmp_path.joinpath("test.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    outcome, _ = section(leaning, str(tmp_path / "test.jsonl"), tmp_path / "report")
    assert set(outcome.result.data["figures"]["paralysis"]) == {"1", "2", "4"}
    assert any("too few different choices to add 8" in limit for limit in outcome.result.limits)


@pytest.mark.parametrize(("n_choices", "n_orders"), [(2, 2), (4, 4)])
def test_a_model_that_follows_the_order_is_shown_in_two_orders(tmp_path, n_choices, n_orders):
    items = make_items(40, n_choices)
    tmp_path.joinpath("test.jsonl").write_text("\n".join(map(json.dumps, items)), "utf-8")

    outcome, _ = section(Scripted(always_first), str(tmp_path), tmp_path / "report")

    finding = outcome.result.finding
    # The first choice is another one in each order, so that every answer changes.
    assert finding.claim.startswith("answers 100.0% of the items differently")
    assert f"order of the {n_choices} choices" in finding.claim
    assert f"in {n_orders} orders" in finding.evidence
    # Two guesses differ in half of the cases, and four of four choices in 1 - 4^-3 = 98.4%.
    by_chance = {2: "50.0%", 4: "98.4%"}[n_choices]
    assert f"by random guesses, {by_chance}" in finding.evidence
    figures = {headline.key: headline.estimate for headline in outcome.result.headlines}
    # The interval is that of the share in the claim, and not of its complement.
    assert finding.figure == "order_changes"
    assert figures["order_changes"].low > 0.8
    assert finding.contrast.shares[0].estimate == figures["order_changes"]
    (example,) = finding.pair
    assert example.conditions == ("Original order", "Another order")
    picked_letters = []
    for number in range(2):
        answers = [choice.answers[number] for choice in example.choices]
        picked_letters += [answer.letter for answer in answers if answer.is_picked]
    assert picked_letters == ["A", "A"]
    by_key = {figure.key: figure for figure in outcome.result.by_item}
    named = by_key[finding.item_figure]
    assert set(named.values) == {1.0}
    assert example.id in named.ids


def test_the_page_filters_the_items_of_the_finding(tmp_path):
    items = make_items(30)
    tmp_path.joinpath("test.jsonl").write_text("\n".join(map(json.dumps, items)), "utf-8")

    section(Scripted(always_first), str(tmp_path), tmp_path / "report")

    html = (tmp_path / "report" / "index.html").read_text("utf-8")
    assert '<a href="#items" data-column="0">Show all 30 such items</a>' in html
    assert '<option value="0">Answer changes with the order</option>' in html
    # The first screen says how many choices there are, and how often a guess is correct.
    assert "choices <b>3 per item (guessing: 33.3%)</b>" in html


def test_generated_answers_are_filtered_by_what_the_finding_is_about(tmp_path):
    items = make_items(30)
    tables = probe_tables(datasets.Dataset.from_list(items), ks=(1,))
    names = ("original", "no_question", "wrong_question")
    # A model that always picks the first choice, in each order.
    picked = {name: np.zeros(30, dtype=np.int64) for name in names}
    ordered = OrderedAnswers(np.array([[0, 1, 2], [1, 2, 0]]), np.zeros((2, 30), dtype=np.int64))
    steady = (ordered.is_steady, None)
    context = SimpleNamespace(resampling=Resampling(), logged_arms=None)
    measurement = ProbesMeasurement(
        context,
        tables,
        picked,
        decide_figures(tables, picked, steady=steady, resampling=Resampling()),
        tables.compare_readings(picked, Resampling()),
        steady=steady,
        ordered=ordered,
    )

    figures = {figure.key: figure for figure in PROBES.by_item(measurement)}

    assert set(figures) == {
        "order_changes",
        "kept_without_question",
        "kept_with_another_question",
    }
    # Reports are compared by the figures that the finding is about.
    assert figures["order_changes"].is_finding
    assert not figures["kept_without_question"].is_finding
