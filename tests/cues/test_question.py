"""The section about cues: what it says of a model that leans on one, and where it does not apply."""

import json
from types import SimpleNamespace

import pytest

from choice_items import cued_items, write_splits
from rightreasons.cues.question import CUES, CuesMeasurement
from rightreasons.report.runner import audit
from rightreasons.training.finetune import fine_tune
from tiny_models import save_tiny_classifier, save_tiny_encoder


@pytest.fixture(scope="module")
def leaning(tmp_path_factory):
    """A model that has learned to choose what is good."""
    folder = tmp_path_factory.mktemp("models")
    encoder = save_tiny_encoder(folder / "encoder")
    options = {
        "epochs": 6,
        "learning_rate": 5e-3,
        "max_length": 24,
        "checkpoint_steps": 0,
        "metrics": ("accuracy",),
    }
    done = fine_tune(
        encoder,
        cued_items(150, share=1.0),
        out=folder / "model",
        task="multiple_choice",
        progress=False,
        **options,
    )
    return done.folder


def section(model, data, out, **options):
    result = audit(
        model,
        data,
        out=out,
        questions=["cues"],
        n_resamples=200,
        progress=False,
        raise_errors=True,
        # The few texts of these items repeat with either label, on purpose.
        settled_checks=("all",),
        **options,
    )
    (outcome,) = result.outcomes
    return outcome, json.loads((out / "audit.json").read_text("utf-8"))


def test_a_model_that_leans_on_a_cue(leaning, tmp_path):
    data = write_splits(
        tmp_path / "data",
        train=cued_items(150, share=0.9),
        test=cued_items(100, share=0.7, start=150),
    )
    outcome, _ = section(leaning, str(data), tmp_path / "report")
    found = outcome.result
    assert found.verdict.tone == "bad"
    assert found.verdict.label == "Misled where cues mislead"
    figures = {headline.key: headline.estimate.value for headline in found.headlines}
    # It is right where "good" is right, and nowhere else.
    assert figures["easy_accuracy"] > 0.9
    assert figures["hard_accuracy"] < 0.1
    assert figures["cue_only_accuracy"] == pytest.approx(0.7, abs=0.03)
    assert "150 items of the training split" in found.data["counted_on"]
    cues = {row["cue"]: row for row in found.data["cues"]["cues"]}
    assert cues["good"]["productivity"] == pytest.approx(0.9, abs=0.03)
    assert cues["good"]["p_holm"] < 0.05
    for name in ("cue_productivity", "easy_hard"):
        assert (tmp_path / "report" / "figures" / f"{name}.png").stat().st_size > 5_000
    page = (tmp_path / "report" / "index.html").read_text("utf-8")
    assert "Is it better if cues help?" in page
    assert "150 items of the training split" in page


def test_without_a_training_split_and_with_a_column_easy(leaning, tmp_path):
    rows = [{**row, "easy": i % 2 == 0} for i, row in enumerate(cued_items(60, share=0.5))]
    outcome, _ = section(
        leaning, str(write_splits(tmp_path / "data", test=rows)), tmp_path / "report"
    )
    found = outcome.result
    assert found.data["easy_means"] == "the items that the column “easy” of the data marks"
    assert "no training split" in found.data["counted_on"]
    assert len(found.data["easy_ids"]) == 30
    assert any("Without a training split" in limit for limit in found.limits)


def test_where_it_does_not_apply(leaning, tmp_path):
    data = write_splits(tmp_path / "few", test=cued_items(12, share=0.5))
    with pytest.raises(ValueError, match="at least 20 items"):
        section(leaning, str(data), tmp_path / "report")
    classifier = save_tiny_classifier(tmp_path / "classifier")
    rows = [
        {"id": str(i), "text": "the film was good", "label": ("negative", "positive")[i % 2]}
        for i in range(30)
    ]
    with pytest.raises(ValueError, match="multiple-choice data"):
        section(classifier, str(write_splits(tmp_path / "texts", test=rows)), tmp_path / "other")


def test_a_gap_the_other_way_leads_nowhere():
    sizes = [
        CUES.leads[0].size(SimpleNamespace(gap=SimpleNamespace(easy_hard_gap=gap)))
        for gap in (-0.2, 0.3)
    ]
    assert sizes == [0.0, 0.3]


@pytest.mark.parametrize(
    ("conclusion", "level", "gap", "is_misled", "key"),
    [
        ("no sign", "large", True, True, "misled"),
        ("no sign", "large", True, False, "better"),
        ("gives answers away", "small", True, False, "cues_alone"),
        ("misleads", "small", None, False, "one_kind"),
        ("misleads", "small", True, True, "misleading"),
        ("cannot tell", "small", True, False, "too_few"),
        ("no sign", "unknown", True, False, "too_few"),
        ("no sign", "small", True, True, "no_sign"),
    ],
)
def test_the_gravest_rule_that_holds_decides(conclusion, level, gap, is_misled, key):
    figures = SimpleNamespace(
        conclusion=conclusion,
        decided=SimpleNamespace(level=level),
        gap=gap,
        is_misled=is_misled,
    )
    measurement = CuesMeasurement(context=None, items=[], cues=figures)
    assert CUES.find_rule(measurement).key == key
