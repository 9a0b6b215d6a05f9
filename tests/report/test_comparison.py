"""Two reports compared: the tests are those of the kernels, item by item, whatever the order of items and classes."""

import html as html_module
import json
import re
import shutil

import datasets
import numpy as np
import pytest
import torch
from scipy import special, stats
from transformers import BertForSequenceClassification

import small_audits
from command_line import run
from rightreasons.audited.predictions_file import read_predictions
from rightreasons.cli import main
from rightreasons.core.resampling import Resampling
from rightreasons.core.significance import compare_paired_means
from rightreasons.report.comparison import ANSWERS, compare
from rightreasons.report.runner import audit
from tiny_models import save_tiny_classifier, save_tiny_multiple_choice, tiny_texts

pytestmark = pytest.mark.usefixtures("unrendered")

OPTIONS = {"questions": ["calibration"], "n_resamples": 20, "progress": False}


@pytest.fixture(scope="module")
def rows():
    texts, labels = tiny_texts(60)
    ids = [f"item {n}" for n in range(60)]
    names = datasets.ClassLabel(names=["negative", "positive"])
    return datasets.Dataset.from_dict({"id": ids, "text": texts, "label": labels}).cast_column(
        "label", names
    )


@pytest.fixture(scope="module")
def reports(rows, tmp_path_factory):
    """Two random models, audited on the same items in another order; the second lacks some."""
    folder = tmp_path_factory.mktemp("reports")
    models = [save_tiny_classifier(folder / f"model-{seed}", seed=seed) for seed in (0, 1)]
    data = rows, rows.shuffle(seed=0).select(range(50))
    return [
        audit(model, part, out=folder / f"report-{n}", **OPTIONS).out
        for n, (model, part) in enumerate(zip(models, data, strict=True))
    ]


def test_a_label_of_probability_0_leaves_out_the_log_loss_alone(tmp_path):
    labels = [n % 3 == 0 for n in range(40)]
    for name, sure in (("one", 0.9), ("two", 1.0)):  # the second gives some labels probability 0
        sides = [[sure, 1 - sure], [1 - sure, sure]]
        table = [
            {"p_a": p, "p_b": q, "label": "ab"[y]}
            for y, n in zip(labels, range(40), strict=True)
            for p, q in [sides[(n % 5 == 0) ^ y]]
        ]
        audit(predictions=table, out=tmp_path / name, **OPTIONS)
    keys = [
        [
            figure.key
            for figure in compare(
                tmp_path / a, tmp_path / b, out=tmp_path / f"{a}{b}", n_resamples=20
            ).figures
        ]
        for a, b in (("one", "one"), ("one", "two"), ("two", "one"))
    ]
    assert "nll" in keys[0]
    assert keys[1] == keys[2] == [key for key in keys[0] if key != "nll"]


def test_counts_and_tests_are_those_of_the_items(reports):
    comparison = compare(*reports, n_resamples=200)
    (compared,) = comparison.splits
    one, two = (read_predictions(out / "predictions" / "data.parquet") for out in reports)
    place = {name: row for row, name in enumerate(one.ids)}
    order = [place[name] for name in two.ids]
    right = (one.logits.argmax(1) == one.labels)[order], two.logits.argmax(1) == two.labels
    b, c = int((right[0] & ~right[1]).sum()), int((~right[0] & right[1]).sum())
    assert (compared.n_items, compared.n_only_first, compared.n_only_second) == (50, 10, 0)
    # Five of the ten name them.
    assert len(compared.ids_only_first) == 5
    assert compared.ids_only_second == ()
    assert (compared.first_right, compared.second_right) == (b, c)
    assert compared.both_right + compared.both_wrong + b + c == 50
    figures = {figure.key: figure for figure in comparison.figures}
    assert figures["accuracy"].difference.value == pytest.approx((b - c) / 50)
    assert figures["accuracy"].p_value == pytest.approx(
        2 * stats.binom.cdf(min(b, c), b + c, 0.5) - stats.binom.pmf(b, b + c, 0.5)
    )
    losses = [
        -torch.log_softmax(torch.tensor(said.logits), 1).numpy()[np.arange(len(said)), said.labels]
        for said in (one, two)
    ]
    # The signs are drawn in the order of the first report.
    kept = sorted(range(50), key=lambda row: order[row])
    pair = losses[0][order][kept], losses[1][kept]
    expected = compare_paired_means(
        *pair, low=None, high=None, resampling=Resampling(resamples=200)
    )
    assert figures["nll"].difference.value == pytest.approx(expected.difference)
    assert figures["nll"].p_value == pytest.approx(expected.p_value)
    for figure in comparison.figures:
        assert figure.difference.low <= figure.difference.high
        assert figure.difference.value == pytest.approx(figure.first.value - figure.second.value)
        assert 0 < figure.p_value <= 1


def test_two_reports_with_the_same_answers_say_so(reports):
    comparison = compare(reports[0], reports[0], n_resamples=50)
    assert comparison.n_same_answers == comparison.splits[0].n_items
    verdict = ANSWERS.answer(comparison).verdict
    assert "same answers" in verdict.label
    n_items = comparison.n_same_answers
    assert f"{n_items} of {n_items} items" in verdict.label
    # Of two random models some answers differ.
    other = compare(*reports, n_resamples=50)
    assert other.n_same_answers is None
    assert other.splits[0].same_answers < other.splits[0].n_items


def test_the_other_way_round_differences_change_sign(reports):
    forth, back = (compare(*pair, n_resamples=50) for pair in (reports, reports[::-1]))
    counts = [(each.splits[0].first_right, each.splits[0].second_right) for each in (forth, back)]
    assert counts[0] == counts[1][::-1]
    for one, two in zip(forth.figures, back.figures, strict=True):
        assert one.difference.value == pytest.approx(-two.difference.value)


def test_classes_are_matched_by_name(rows, reports, tmp_path):
    """The same model with its classes in another order is the same model."""
    source = reports[0].parent / "model-0"
    model = BertForSequenceClassification.from_pretrained(source)
    with torch.no_grad():
        model.classifier.weight.copy_(model.classifier.weight.flip(0))
        model.classifier.bias.copy_(model.classifier.bias.flip(0))
    model.config.id2label, model.config.label2id = (
        {0: "Positive", 1: "Negative"},
        {"Positive": 0, "Negative": 1},
    )
    shutil.copytree(source, tmp_path / "turned")
    model.save_pretrained(tmp_path / "turned")
    turned = audit(tmp_path / "turned", rows, out=tmp_path / "report", **OPTIONS).out
    compared = compare(reports[0], turned, n_resamples=50)
    assert compared.splits[0].first_right == compared.splits[0].second_right == 0
    assert all(abs(figure.difference.value) < 1e-6 for figure in compared.figures)
    assert all(
        figure.p_value > 0.9 for figure in compared.figures if figure.key in ("accuracy", "ece")
    )


def test_the_page_and_the_file(reports, tmp_path):
    comparison = compare(*reports, out=tmp_path / "compare", n_resamples=50)
    assert (
        json.loads((tmp_path / "compare" / "comparison.json").read_text("utf-8"))
        == comparison.to_dict()
    )
    html = (tmp_path / "compare" / "index.html").read_text("utf-8")
    heading = html.partition("<h1")[2].partition("</h1>")[0]
    # Which is better, or that the two do not differ significantly.
    assert comparison.heading in html_module.unescape(heading)
    assert "model-0" in heading
    assert "do not differ significantly" in heading or "is more accurate than" in heading
    assert "Inconclusive" in html or "better at" in html
    assert "Correct and incorrect, item by item" in html


@pytest.mark.browser
def test_the_page_in_a_browser(page, reports, tmp_path):
    compare(*reports, out=tmp_path, n_resamples=50)
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto((tmp_path / "index.html").as_uri())
        assert not page.evaluate("document.documentElement.scrollWidth > innerWidth + 1")
    assert page.locator("summary.row .link").first.inner_text() == "Which model is better?"
    # The model with the higher accuracy comes first.
    rows = page.locator("#models tbody tr").all_inner_texts()
    accuracies = [float(re.search(r"([\d.]+)%", row)[1]) for row in rows]
    assert len(rows) == 2
    assert accuracies == sorted(accuracies, reverse=True)


def test_reports_that_cannot_be_compared(rows, reports, tmp_path):
    with pytest.raises(ValueError, match="Expected two reports, but got 1"):
        compare(reports[0])
    with pytest.raises(FileNotFoundError, match="the folder of a report with audit.json in it"):
        compare(reports[0], tmp_path)
    with pytest.raises(ValueError, match="same split, data"):
        compare(
            reports[0],
            audit(
                reports[0].parent / "model-0", {"dev": rows}, out=tmp_path / "dev", **OPTIONS
            ).out,
        )
    other = rows.map(lambda row: {"text": row["text"] + " film"})
    with pytest.raises(ValueError, match="share no labeled"):
        compare(
            reports[0],
            audit(reports[0].parent / "model-0", other, out=tmp_path / "other", **OPTIONS).out,
        )
    model = save_tiny_classifier(tmp_path / "moods", label_names=("sad", "glad"))
    plain = rows.cast_column("label", datasets.Value("int64"))
    moods = audit(model, plain, out=tmp_path / "moods-report", **OPTIONS).out
    with pytest.raises(ValueError, match=r"\(negative, positive\)"):
        compare(reports[0], moods)
    # A model without names, whose report took the labels for other classes.
    plain_model = save_tiny_classifier(tmp_path / "plain", label_names=("LABEL_0", "LABEL_1"))
    turned = plain.map(lambda row: {"label": 1 - row["label"]})
    swapped = audit(plain_model, turned, out=tmp_path / "swapped", **OPTIONS).out
    with pytest.raises(
        ValueError,
        match="item 'item 0'",
    ):
        compare(reports[0], swapped)
    choices = datasets.Dataset.from_dict(
        {"prompt": ["rain"] * 4, "choices": [["wet", "dry"]] * 4, "label": [0, 1, 0, 1]}
    )
    chooser = save_tiny_multiple_choice(tmp_path / "chooser")
    with pytest.raises(ValueError, match="task, classification"):
        compare(reports[0], audit(chooser, choices, out=tmp_path / "choices", **OPTIONS).out)
    (tmp_path / "moods-report" / "predictions" / "data.parquet").unlink()
    with pytest.raises(ValueError, match="different, damaged"):
        compare(tmp_path / "moods-report", tmp_path / "moods-report")


def test_reports_without_a_split_in_common(tmp_path):
    folders = []
    for name, predictions in (("one", "predictions/test.parquet"), ("two", None)):
        folder = small_audits.small_audit(tmp_path / name)
        record = json.loads((folder / "audit.json").read_text("utf-8"))
        record["dataset"]["splits"][0]["predictions"] = predictions
        (folder / "audit.json").write_text(json.dumps(record), "utf-8")
        folders.append(folder)
    for first, second in (folders, folders[::-1]):
        message = f"but {first} and {second} share no labeled item"
        with pytest.raises(ValueError, match=re.escape(message)):
            compare(first, second)


def with_items(folder, out, values, question="behavior", groups=(), clusters=()):
    """Give a report the answer to another question, with the values of its items."""
    from rightreasons.core.store import digest_files, write_json, write_text
    from rightreasons.page.parts import ItemFigure
    from rightreasons.report.items.values import format_item_values, get_items_path
    from rightreasons.report.schema import add_digest

    shutil.copytree(folder, out)
    record = json.loads((out / "audit.json").read_text("utf-8"))
    ids = [f"item {n}" for n in range(len(values))]
    figure = ItemFigure.from_arrays(
        "made_up",
        "Made-up rate",
        "lower",
        ids,
        values,
        groups=tuple(groups),
        clusters=tuple(clusters),
    )
    result = {
        **record["questions"][0]["result"],
        "headlines": [],
        "parts": [],
        "by_item": [figure.to_dict()],
        "data": {},
    }
    record["questions"].append(
        {**record["questions"][0], "question": question, "title": "Made up?", "result": result}
    )
    write_text(out / get_items_path(question), format_item_values([figure]))
    (out / "audit.json").unlink()
    files = {name: digest for name, digest in digest_files(out).items() if not name.startswith(".")}
    write_json(out / "audit.json", add_digest({**record, "files": files}))
    return out


def test_other_questions_are_compared_item_by_item(reports, tmp_path, capsys):
    # Of the 50 items of both, 20 follow the made-up cue in the first report alone, and 5 in both.
    first = with_items(reports[0], tmp_path / "a", [1] * 60)
    shared = set(read_predictions(reports[1] / "predictions" / "data.parquet").ids)
    kept = [f"item {n}" in shared for n in range(60)]
    order = iter(range(50))
    values = [int(inside and next(order) < 30) for inside in kept]
    second = with_items(reports[1], tmp_path / "b", values)
    comparison = compare(first, second, n_resamples=200, out=tmp_path / "page")
    answer = comparison.figures[-1]
    assert (answer.question, answer.n_items, answer.winner) == ("behavior", 50, "second")
    assert (answer.first.value, answer.second.value) == pytest.approx((1.0, 0.6))
    assert answer.p_value == pytest.approx(1 / 2**20)
    tests = [figure.p_value for figure in comparison.figures]
    assert answer.holm_p_value == pytest.approx(
        len(tests) * min(tests)
    )  # it is the smallest of all
    assert comparison.list_better_figures("second")[-1] == "made-up rate"
    page = (tmp_path / "page" / "index.html").read_text("utf-8")
    assert "Which model is better?" in page
    assert "Made-up rate" in page

    with pytest.raises(SystemExit):
        main(["compare", str(first), str(second), "--n-resamples", "50"])
    said = capsys.readouterr().out
    assert f"{comparison.second} is better at made-up rate. " in " ".join(said.split())
    row = next(line for line in said.splitlines() if "Made-up rate" in line)
    assert row.strip().startswith(comparison.second)
    n_words = len(comparison.second.split())
    assert row.split()[n_words : n_words + 4] == ["behavior", "Made-up", "rate", "100.0%"]


def test_a_mean_over_groups_is_compared_as_one(reports, tmp_path):
    # 48 cases of one ability, which all pass, and 12 of another: 0 of 12 against 12 of 12.
    groups = ["common"] * 48 + ["rare"] * 12
    first = with_items(reports[0], tmp_path / "a", [1] * 48 + [0] * 12, groups=groups)
    second = with_items(reports[1], tmp_path / "b", [1] * 60, groups=groups)
    whole = compare(first, second, n_resamples=200).figures[-1]
    assert (whole.first.value, whole.second.value, whole.difference.value) == pytest.approx(
        (0.5, 1.0, -0.5)
    )
    assert whole.winner == "first"


def test_cases_with_the_same_text_are_one_unit_of_a_comparison(reports, tmp_path):
    # 60 cases are 6 texts with 10 copies each, of which the first model passes 3 more.
    values = [int(row % 6 < 3) for row in range(60)]
    clusters = [str(row % 6) for row in range(60)]
    figures = {}
    for name, names in (("clustered", clusters), ("independent", ())):
        options = {"groups": ["ability"] * 60, "clusters": names}
        first = with_items(reports[0], tmp_path / f"{name}-a", values, **options)
        second = with_items(reports[1], tmp_path / f"{name}-b", [0] * 60, **options)
        figures[name] = compare(first, second, n_resamples=2000).figures[-1]

    assert figures["clustered"].difference.value == figures["independent"].difference.value == 0.5
    # Two of the 2^3 signs of three texts are as extreme: p = 1 / 4.
    assert figures["clustered"].p_value == pytest.approx(0.25, abs=0.04)
    assert figures["independent"].p_value < 0.001
    assert figures["clustered"].first.low < figures["independent"].first.low


def test_the_stored_answers_of_two_models_are_compared_by_the_items_that_they_share(
    capsys, tmp_path
):
    """Each model's answers are a file of their own: they are of the same data where they share items."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 60)
    folders = []
    for step, strength in ((100, 0.3), (200, 2.5)):
        logits = rng.normal(0, 1, (60, 2))
        logits[np.arange(60), labels] += strength
        rows = [
            {"id": f"r{n}", "text": f"text {n}", "label": int(label), "probabilities": row.tolist()}
            for n, (label, row) in enumerate(zip(labels, special.softmax(logits, 1), strict=True))
        ]
        file = tmp_path / f"step-{step}.jsonl"
        file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
        folders.append(tmp_path / f"report-{step}")
        code, _, err = run(
            capsys, "audit", "--predictions", file, "--out", folders[-1], "--n-resamples", 20
        )
        assert code == 0, err
    comparison = compare(*folders, n_resamples=50)
    assert (comparison.first, comparison.second) == ("step-100", "step-200")
    assert [split.n_items for split in comparison.splits] == [60]
    file.write_text(file.read_text("utf-8").replace("text ", "another text "), "utf-8")
    code, _, err = run(
        capsys, "audit", "--predictions", file, "--out", tmp_path / "other", "--n-resamples", 20
    )
    assert code == 0, err
    with pytest.raises(ValueError, match="share no labeled"):
        compare(folders[0], tmp_path / "other")
