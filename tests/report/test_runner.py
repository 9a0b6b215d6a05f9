"""The audit end to end: a real tiny model, real predictions, a report whose figures can be recomputed."""

import dataclasses
import html
import json
import re
import shutil

import datasets
import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertTokenizerFast

from rightreasons.audited import scoring
from rightreasons.audited.predictions_file import read_predictions
from rightreasons.audited.splits import choose_splits
from rightreasons.calibration.errors import calibration_error
from rightreasons.calibration.question import CALIBRATION
from rightreasons.core.classification import classification_scores
from rightreasons.core.resampling import Resampling
from rightreasons.models.loading import load_classifier
from rightreasons.page.formats import short_name
from rightreasons.report.comparison import compare
from rightreasons.report.questions import available_questions, load_sections
from rightreasons.report.runner import audit
from rightreasons.report.schema import read_audit
from tiny_causal import save_tiny_causal
from tiny_models import (
    save_tiny_classifier,
    save_tiny_encoder,
    save_tiny_multiple_choice,
    tiny_texts,
    tiny_tokenizer,
)
from tiny_suites import behavior_suite

pytestmark = pytest.mark.usefixtures("unrendered")

OPTIONS = {"questions": ["calibration"], "n_resamples": 20, "progress": False}
KEYS = {
    "accuracy",
    "macro_f1",
    "mean_confidence",
    "ece",
    "smooth_ece",
    "macro_ce",
    "brier",
    "nll",
    "aurc",
    "auroc",
}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return save_tiny_classifier(tmp_path_factory.mktemp("tiny") / "classifier")


@pytest.fixture
def rows():
    texts, labels = tiny_texts(40)
    return datasets.Dataset.from_dict({"text": texts, "label": labels})


def calibration_of(result):
    return result["calibration"].result


# -------------------------------------------------------------------------------------------------- what is in a report


def test_the_report_is_whole(report):
    names = sorted(path.name for path in report.out.iterdir() if not path.name.startswith("."))
    assert names == ["audit.json", "figures", "index.html", "predictions"]
    figures = {plot.key for plot in calibration_of(report).plots}
    assert {path.stem for path in (report.out / "figures").iterdir()} == figures
    assert all(
        path.read_bytes().startswith(b"\x89PNG") for path in (report.out / "figures").iterdir()
    )
    assert (
        read_audit(report.out)
        == report.to_dict()
        == json.loads((report.out / "audit.json").read_text("utf-8"))
    )


def test_its_figures_are_those_of_the_kernels_on_the_kept_predictions(report, planted):
    said = read_predictions(report.out / "predictions" / "test.parquet")
    assert said.ids == tuple(planted["test"]["id"])
    assert said.labels.tolist() == planted["test"]["label"][:]
    figures = calibration_of(report).data["figures"]
    predicted = said.logits.argmax(axis=1)
    assert figures["accuracy"]["estimate"]["value"] == np.mean(predicted == said.labels)
    assert figures["macro_f1"]["estimate"]["value"] == pytest.approx(
        classification_scores(predicted, said.labels).f1
    )
    ece = calibration_error(
        said.logits, said.labels, scores="logits", resampling=Resampling(resamples=100)
    )
    assert figures["ece"]["estimate"]["value"] == ece.ece
    assert (figures["ece"]["estimate"]["low"], figures["ece"]["estimate"]["high"]) == (
        ece.interval.low,
        ece.interval.high,
    )
    nll = torch.nn.functional.cross_entropy(
        torch.tensor(said.logits), torch.tensor(said.labels)
    ).item()
    assert figures["nll"]["estimate"]["value"] == pytest.approx(nll)


def test_the_kept_predictions_open_with_datasets(report):
    table = datasets.Dataset.from_parquet(str(report.out / "predictions" / "test.parquet"))
    assert table.features["label"].names == ["negative", "positive"]
    assert set(table.column_names) == {"id", "text", "label", "prediction", "logits"}


def test_every_figure_has_interval_definition_and_source(report):
    result = calibration_of(report)
    headlines = [
        *result.headlines,
        *(headline for part in result.parts for headline in part.headlines),
    ]
    assert set(result.data["figures"]) >= KEYS
    for headline in headlines:
        assert headline.definition
        assert headline.source
        assert headline.split
        assert headline.n > 0
        assert headline.estimate.has_interval or headline.no_interval
        if headline.estimate.has_interval:
            assert headline.estimate.low <= headline.estimate.high
            assert headline.estimate.method
    for plot in result.plots:
        assert plot.alt
        assert plot.caption
        assert plot.source


def test_a_planted_cue_is_seen_when_it_flips(report):
    result = calibration_of(report)
    assert result.verdict.tone == "bad"
    assert "test_flipped" in result.verdict.summary
    splits = result.data["splits"]
    assert splits["test"]["accuracy"]["value"] > 0.85
    assert splits["test_flipped"]["accuracy"]["value"] < 0.3
    assert splits["test_flipped"]["mean_confidence"]["value"] > 0.8


# ------------------------------------------------------------------------------------------- predictions are made once


def test_a_second_run_reuses_the_predictions(planted_model, planted, tmp_path):
    classifier = load_classifier(planted_model)
    first = audit(classifier, planted, out=tmp_path, **OPTIONS)
    calls = []
    classifier.model.register_forward_hook(lambda *_: calls.append(1))
    second = audit(classifier, planted, out=tmp_path, **OPTIONS)
    assert not calls
    assert calibration_of(second).data == calibration_of(first).data


def test_a_stopped_audit_goes_on_where_it_stopped(planted_model, planted, tmp_path):
    classifier = load_classifier(planted_model)
    calls = []

    def count(_, arguments, inputs, outputs):
        calls.append(len(inputs["input_ids"]) == 30)  # the trial of padding has fewer texts

    def stop_at_the_third(*called):
        count(*called)
        if sum(calls) == 3:
            raise KeyboardInterrupt

    handle = classifier.model.register_forward_hook(stop_at_the_third, with_kwargs=True)
    with pytest.raises(KeyboardInterrupt):
        audit(classifier, planted, split="test", out=tmp_path, batch_size=30, **OPTIONS)
    handle.remove()
    assert not (tmp_path / "audit.json").exists()
    calls.clear()
    classifier.model.register_forward_hook(count, with_kwargs=True)
    result = audit(classifier, planted, split="test", out=tmp_path, batch_size=30, **OPTIONS)
    # 150 items in batches of 30 are 5 batches, of which 2 had been computed and written.
    assert sum(calls) == 3
    fresh = audit(
        load_classifier(planted_model),
        planted,
        split="test",
        out=tmp_path / "fresh",
        batch_size=30,
        **OPTIONS,
    )
    assert calibration_of(result).data == calibration_of(fresh).data


def test_a_limit_takes_the_same_items_whatever_their_order(tiny, rows, tmp_path):
    rows = rows.add_column("id", [f"item {n}" for n in range(len(rows))])
    one = audit(tiny, rows, limit=12, out=tmp_path / "one", **OPTIONS)
    two = audit(tiny, rows.shuffle(seed=3), limit=12, out=tmp_path / "two", **OPTIONS)
    ids = [set(read_predictions(next((r.out / "predictions").iterdir())).ids) for r in (one, two)]
    assert ids[0] == ids[1]
    assert len(ids[0]) == 12
    assert one.audit["dataset"]["splits"][0]["n_available"] == 40
    figures = [calibration_of(r).data["figures"]["accuracy"] for r in (one, two)]
    assert figures[0] == figures[1]


# --------------------------------------------------------------------------------------------------- labels and columns


def test_labels_are_matched_by_name(tiny, rows, tmp_path):
    plain = audit(tiny, rows, out=tmp_path / "plain", **OPTIONS)
    names = datasets.ClassLabel(names=["Positive", "Negative"])
    swapped = rows.map(lambda row: {"label": 1 - row["label"]}).cast_column("label", names)
    named = audit(tiny, swapped, out=tmp_path / "named", **OPTIONS)
    assert "Positive is positive" in named.audit["dataset"]["label_mapping"]
    assert calibration_of(named).data["figures"] == calibration_of(plain).data["figures"]


def test_a_model_without_names_is_matched_by_number(rows, tmp_path):
    model = save_tiny_classifier(tmp_path / "model", label_names=("LABEL_0", "LABEL_1"))
    named = rows.cast_column("label", datasets.ClassLabel(names=["bad", "good"]))
    told = []
    result = audit(model, named, out=tmp_path / "report", tell=told.append, **OPTIONS)
    mapping = (
        "by number, as the model only numbers its classes (labels in alphabetical order): bad is LABEL_0, good is "
        "LABEL_1"
    )
    assert told[0] == f"Labels of the data matched with the classes {mapping}."
    assert told[1] == "1 question (calibration) on 40 items of data."
    assert result.audit["dataset"]["label_mapping"] == mapping
    assert result.audit["dataset"]["label_classes"] == {"bad": "LABEL_0", "good": "LABEL_1"}
    # A reader sees the words of the data, on the page and in the frame.
    frame = result.items()
    assert {*frame["label"], *frame["prediction"]} == {"bad", "good"}
    (items,) = re.findall(r'id="page-data">(.+?)</script>', result.page.read_text("utf-8"))
    assert '"bad"' in items
    assert "LABEL_" not in items
    assert mapping in html.unescape(result.page.read_text("utf-8"))


def test_labels_that_count_from_1_in_one_split_of_several(tiny, rows, tmp_path):
    ones = rows.map(lambda row: {"label": row["label"] + 1})  # 1 is negative, 2 is positive
    splits = {"test": ones.filter(lambda row: row["label"] == 2), "train": ones}
    result = audit(tiny, splits, out=tmp_path / "ones", **OPTIONS)
    assert result.audit["dataset"]["label_mapping"].startswith(
        "by number, as the data counts from 1: 1 is negative, 2 is positive"
    )
    only = {"test": splits["test"]}
    with pytest.raises(ValueError, match="Set `first_label`"):
        audit(tiny, only, out=tmp_path / "none", **OPTIONS)
    named = audit(tiny, only, out=tmp_path / "named", first_label=1, **OPTIONS)
    assert calibration_of(named).data["figures"] == calibration_of(result).data["figures"]


def test_items_without_a_label_are_left_out_and_told(tiny, rows, tmp_path):
    some = rows.map(lambda row, n: {"label": -1 if n < 5 else row["label"]}, with_indices=True)
    told = []
    result = audit(tiny, some, out=tmp_path, tell=told.append, **OPTIONS)
    assert "calibration: 35 items detect" in " ".join(told)
    assert calibration_of(result).headlines[0].n == 35
    assert any("5 items without a label" in limit for limit in calibration_of(result).limits)


def test_data_without_a_label_is_skipped_with_the_reason(tiny, rows, tmp_path):
    none = rows.map(lambda row: {"label": -1}).cast_column(
        "label", datasets.ClassLabel(names=["negative", "positive"])
    )
    result = audit(
        tiny, none, out=tmp_path, **{**OPTIONS, "questions": ["calibration", "difficulty"]}
    )
    assert result["calibration"].status == "skipped"
    assert "has a label" in result["calibration"].reason
    assert "has a label" in result.page.read_text("utf-8")


def test_a_multiple_choice_model_with_differing_numbers_of_choices(tmp_path):
    model = save_tiny_multiple_choice(tmp_path / "model")
    items = datasets.Dataset.from_dict(
        {
            "prompt": ["the man fell", "rain fell", "the glass broke", "the sun"] * 5,
            "choices": [
                ["wet floor", "dry floor"],
                ["wet", "dry", "broke"],
                ["floor wet", "it fell"],
                ["dry", "wet"],
            ]
            * 5,
            "label": [0, 0, 1, 0] * 5,
        }
    )
    result = audit(model, items, out=tmp_path / "report", **OPTIONS)
    figures = calibration_of(result).data["figures"]
    assert result.audit["model"]["task"] == "multiple_choice"
    assert {"accuracy", "ece", "nll"} <= set(figures)
    assert "brier" not in figures  # its sum over the classes wants the same classes in each item


# ------------------------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"split": "tset"},
            "you mean 'test'",
        ),
        (
            {"questions": ["calibratoin"]},
            "mean 'calibration'",
        ),
        ({"limit": 0}, "Expected `limit` to be at least 1, but got 0."),
        (
            {"text_column": "sentence"},
            "'sentence' that `text_column`",
        ),
        (
            {"label_column": "stars"},
            "'stars' that `label_column`",
        ),
        ({"confidence_level": 1.0}, "strictly between 0 and 1, but got 1.0"),
        (
            {"task": "regression"},
            "Expected `task`",
        ),
        ({"out": __file__}, "`out` to be a folder"),
        (
            {"out": f"{__file__}/report"},
            "`out` to be a folder",
        ),
        (
            {"out": "/proc/report"},
            "/proc/report cannot",
        ),
        ({"out": ""}, "Expected `out` to be a folder, but got ''"),
        (
            {"out": "a" * 300},
            "aaa.*a… cannot",
        ),
        ({"questions": []}, "one question"),
    ],
)
def test_bad_options(tiny, rows, tmp_path, options, message):
    data = datasets.DatasetDict({"test": rows})
    with pytest.raises(ValueError, match=message):
        audit(tiny, data, **{"out": tmp_path, **OPTIONS, **options})


def test_a_model_folder_that_is_no_classifier(rows, tmp_path):
    encoder = save_tiny_encoder(tmp_path / "encoder")
    with pytest.raises(
        ValueError,
        match="trained sequence",
    ):
        audit(encoder, rows, out=tmp_path / "report", **OPTIONS)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="a config.json"):
        audit(tmp_path / "empty", rows, out=tmp_path / "report", **OPTIONS)
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "config.json").write_text("not json")
    with pytest.raises(
        ValueError,
        match="sequence classifier",
    ):
        audit(tmp_path / "odd", rows, out=tmp_path / "report", **OPTIONS)
    assert not (tmp_path / "report").exists()


@pytest.mark.parametrize("save", [save_tiny_classifier, save_tiny_causal])
def test_a_model_that_cannot_be_asked_is_refused_before_any_data_is_read(save, tmp_path):
    folder = save(tmp_path / "broken")
    weights = load_file(folder / "model.safetensors")
    name = next(name for name, weight in weights.items() if weight.dim() == 1)
    save_file(
        {**weights, name: torch.full_like(weights[name], torch.nan)},
        folder / "model.safetensors",
        {"format": "pt"},
    )
    with pytest.raises(ValueError, match="finite weights"):
        audit(folder, tmp_path / "absent.csv", out=tmp_path / "report", **OPTIONS)
    assert not (tmp_path / "report").exists()


def test_labels_that_the_model_does_not_know(tiny, rows, tmp_path):
    other = rows.cast_column("label", datasets.ClassLabel(names=["joy", "anger"]))
    message = r"model \(negative, positive\), but they are joy, anger. Rename the labels, as in label_names='joy=\?,"
    with pytest.raises(ValueError, match=message):
        audit(tiny, other, out=tmp_path, **OPTIONS)
    numbers = rows.map(lambda row: {"label": 2 + row["label"]})
    with pytest.raises(ValueError, match=r"\(negative, positive\)"):
        audit(tiny, numbers, out=tmp_path, **OPTIONS)


def test_a_question_that_fails_does_not_lose_the_others(tiny, rows, tmp_path, monkeypatch):
    failing = dataclasses.replace(CALIBRATION, measure=lambda context, options: 1 / 0)
    monkeypatch.setattr("rightreasons.calibration.question.CALIBRATION", failing)
    behavior_suite().write(tmp_path / "suite.jsonl")
    both = {**OPTIONS, "questions": ["calibration", "behavior"]}
    both["options"] = {"behavior": {"suite": str(tmp_path / "suite.jsonl")}}
    with pytest.warns(UserWarning, match="'calibration' could not be answered") as warned:
        result = audit(tiny, rows, out=tmp_path / "report", **both)
    sentence = "An error inside rightreasons: ZeroDivisionError: division by zero."
    assert "\n" not in str(warned[0].message)
    # The warning points at the line of the user that called `audit`.
    assert warned[0].filename == __file__
    assert result.failed[0].reason == sentence
    assert sentence in result.page.read_text("utf-8")
    assert result["behavior"].status == "answered"
    assert (tmp_path / "report" / "predictions" / "data.parquet").is_file()
    with pytest.raises(ZeroDivisionError):
        audit(tiny, rows, out=tmp_path / "report", raise_errors=True, **OPTIONS)


def contents(folder):
    files = (path for path in folder.rglob("*") if path.is_file())
    return {
        path: path.read_bytes() for path in files if not re.search(r"/\.(work|lease)", str(path))
    }


def test_when_no_question_can_be_answered_an_older_report_stays_as_it_was(
    tiny, rows, tmp_path, monkeypatch
):
    def refuse(context, split):
        raise ValueError("Expected finite logits, but the model gave NaN for item '7'.")

    out = audit(tiny, rows, out=tmp_path / "report", **OPTIONS).out
    before = contents(out)
    monkeypatch.setattr(scoring, "predict_split", refuse)
    with (
        pytest.warns(UserWarning, match="'calibration'"),
        pytest.raises(ValueError, match="Expected finite") as error,
    ):
        audit(tiny, rows, out=out, **{**OPTIONS, "seed": 1})
    assert "\n" not in str(error.value)
    assert contents(out) == before


def test_questions_that_need_no_scores_are_answered_without_them(tiny, rows, tmp_path, monkeypatch):
    def refuse(context, split):
        raise ValueError("Expected finite logits, but the model gave NaN for item '7'.")

    monkeypatch.setattr(scoring, "predict_split", refuse)
    behavior_suite().write(tmp_path / "suite.jsonl")
    both = {**OPTIONS, "questions": ["calibration", "behavior"]}
    both["options"] = {"behavior": {"suite": str(tmp_path / "suite.jsonl")}}
    with pytest.warns(UserWarning, match="could not be answered"):
        result = audit(tiny, rows, out=tmp_path / "report", **both)
    assert [outcome.status for outcome in result.outcomes] == ["failed", "answered"]
    split = read_audit(result.out)["dataset"]["splits"][0]
    assert (split["predictions"], split["n_truncated"]) == (None, None)
    assert not (result.out / "predictions").exists()
    # The suite is answered item by item, and so is compared; no figure of the split is.
    compared = compare(result.out, result.out)
    assert compared.figures
    assert (compared.splits, {figure.p_value for figure in compared.figures}) == ((), {1.0})


def test_another_tokenizer_replaces_the_report(rows, tmp_path):
    model = save_tiny_classifier(tmp_path / "model")
    audit(model, rows, out=tmp_path / "report", **OPTIONS)
    words = list(tiny_tokenizer().get_vocab())
    tokenizer = BertTokenizerFast(
        vocab={word: index for index, word in enumerate([*words[:5], *words[:4:-1]])},
        model_max_length=32,
    )
    tokenizer.save_pretrained(model)
    result = audit(model, rows, out=tmp_path / "report", **OPTIONS)
    fresh = audit(model, rows, out=tmp_path / "fresh", **OPTIONS)
    assert calibration_of(result).data == calibration_of(fresh).data
    assert len(list((tmp_path / "report" / ".work").glob("predictions-*"))) == 2


@pytest.mark.parametrize("where", ["model", "data"])
def test_a_folder_of_something_else_is_not_filled(rows, tmp_path, where):
    model = save_tiny_classifier(tmp_path / "model")
    (tmp_path / "data").mkdir()
    rows.to_csv(tmp_path / "data" / "test.csv")
    before = contents(tmp_path)
    with pytest.raises(ValueError, match="earlier result"):
        audit(model, tmp_path / "data", out=tmp_path / where, **OPTIONS)
    assert contents(tmp_path) == before


def test_a_control_character_does_not_stand_in_the_page(tiny, rows, tmp_path):
    odd = rows.map(lambda row: {"text": f"the\0 {row['text']}\x85 \ufffe"})
    page = audit(tiny, odd, out=tmp_path, **OPTIONS).page.read_text("utf-8")
    assert "the\ufffd " in page
    assert not {"\0", "\x85", "\ufffe"} & set(page)


# --------------------------------------------------------------------------------------------------------------- pieces


def test_splits_are_chosen_by_their_names_and_labels(rows):
    unlabeled = rows.map(lambda row: {"label": -1})
    assert choose_splits({"train": rows, "test": unlabeled, "validation": rows}, None, "x") == [
        "validation"
    ]
    assert choose_splits({"train": rows}, None, "x") == ["train"]
    variants = {"train": rows, "test": rows, "test_hard": rows, "testing": rows}
    assert choose_splits(variants, None, "x") == ["test", "test_hard"]
    assert choose_splits(variants, "test_hard, test", "x") == ["test_hard", "test"]
    with pytest.raises(ValueError, match="Choose a split"):
        choose_splits({"train": rows, "more": rows}, None, "x")


def test_questions_are_registered():
    assert "calibration" in available_questions()
    assert not any(name.startswith("_") for name in available_questions())
    sections = load_sections()
    # Questions that ask each item many times are asked where they are named.
    assert {section.name for section in sections} == set(available_questions()) - {
        "reasons",
        "ways",
    }
    assert [section.name for section in load_sections(["reasons"])] == ["reasons"]


def test_the_name_of_a_model_is_what_tells_it_from_others(tmp_path):
    (tmp_path / "bert" / "checkpoint-20").mkdir(parents=True)
    assert short_name(str(tmp_path / "bert" / "checkpoint-20")) == "bert/checkpoint-20"
    assert short_name(str(tmp_path / "bert")) == "bert"
    # What `fine-tune` holds out, beside each of its models.
    assert short_name(str(tmp_path / "bert" / "data")) == "bert/data"
    assert short_name("owner/name") == "owner/name"
    # On another machine.
    assert short_name("/home/ann/runs/bert/checkpoint-20") == "bert/checkpoint-20"
    assert short_name(r"C:\Users\ann\reviews.csv") == "reviews.csv"


def test_the_power_of_a_question_is_that_of_the_items_it_uses(tmp_path):
    texts, labels = tiny_texts(200)
    messages = []

    audit(
        lambda texts: [[0.75, 0.25] if len(text) % 2 else [0.25, 0.75] for text in texts],
        {"text": texts, "label": labels},
        questions=["calibration", "shortcuts"],
        options={"shortcuts": {"items": 20}},
        label_names=["negative", "positive"],
        n_resamples=20,
        out=tmp_path / "report",
        progress=False,
        tell=messages.append,
    )

    power = [message for message in messages if "detect differences" in message]
    # The texts repeat each other, and are fewer units than rows.
    assert int(power[0].split()[1]) > 20
    assert power[1].startswith("shortcuts: 20 items")


def test_a_path_that_begins_with_dots_is_a_path_even_if_it_does_not_exist():
    assert short_name("../ann/runs/tone") == "tone"
    assert short_name("~/reviews.csv") == "reviews.csv"


def test_a_page_names_its_files_without_their_folders(tiny, tmp_path):
    data = tmp_path / "private folder" / "items.jsonl"
    data.parent.mkdir()
    model = shutil.copytree(tiny, tmp_path / "private folder" / "tone")
    texts = [f"the film was {('good', 'bad')[row % 2]} {row}" for row in range(30)]
    lines = []
    for row, text in enumerate(texts):
        lines.append(json.dumps({"id": str(row), "text": text, "label": row % 2}))
    data.write_text("\n".join(lines), "utf-8")

    result = audit(str(model), str(data), out=tmp_path / "report", progress=False)

    html = result.page.read_text("utf-8")
    # A command has to name the files as they were passed.
    shown = re.sub(r"<code>.*?</code>", "", html, flags=re.DOTALL)
    assert "private folder" in html
    assert "private folder" not in shown
    assert "on <b>items.jsonl</b>" in shown
