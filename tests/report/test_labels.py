"""Several labels per item: an audit of each, and their means."""

import json
import math

import pytest

from command_line import run
from rightreasons.calibration.errors import calibration_error
from rightreasons.io.label_columns import write_label_expressions
from rightreasons.io.predictions import read_predictions
from rightreasons.io.reading import as_table
from rightreasons.report.labels import audit_labels, has_several_labels, make_label_settings
from tiny_models import save_tiny_classifier, tiny_texts

NAMES = ("joy", "anger", "fear")
LABELS = [(0,), (0, 2), (), (1,), (0, 1), (2,), (0,), (1, 2)]
"""Labels of eight items; four have joy, three anger and three fear."""

ECE = {"joy": 0.2, "anger": 0.125, "fear": 0.7}
"""Calibration errors of the scores below."""

FAST = {"n_resamples": 5, "progress": False, "questions": ["calibration"]}


def make_scores(labels):
    """Return the probabilities of the three labels for an item."""
    # Joy has 0.8 if the item has it, else 0.2: always correct with confidence 0.8, an error of 0.2.
    joy = 0.8 if 0 in labels else 0.2
    # Anger always has 0.25: correct on the 5 of 8 items without it, with confidence 0.75.
    anger = 0.25
    # Fear has 0.3 if the item has it, else 0.7: never correct with confidence 0.7.
    fear = 0.3 if 2 in labels else 0.7
    return joy, anger, fear


# Forms of a row of labels and scores that name the labels themselves.


def write_names_and_columns(labels, scores):
    joy, anger, fear = scores
    names = [NAMES[label] for label in labels]
    return {"labels": names, "p_joy": joy, "p_anger": anger, "p_fear": fear}


def write_text_and_object(labels, scores):
    names = "; ".join(NAMES[label] for label in labels)
    return {"gold": names, "scores": dict(zip(NAMES, scores, strict=True))}


def write_object_and_pipeline(labels, scores):
    flags = {name: label in labels for label, name in enumerate(NAMES)}
    entries = []
    for name, score in zip(NAMES, scores, strict=True):
        entries.append({"label": name, "score": score})
    return {"labels": flags, "scores": entries}


def write_columns_of_flags(labels, scores):
    row = {}
    for label, name in enumerate(NAMES):
        row[name.upper()] = int(label in labels)
        row[f"prob_{name}"] = scores[label]
    return row


# Forms that number the labels, which are named by an option.


def write_flags_and_list(labels, scores):
    return {"labels": [int(label in labels) for label in range(3)], "probs": list(scores)}


def write_numbers_and_logits(labels, scores):
    logits = [math.log(score / (1 - score)) for score in scores]
    return {"labels": ",".join(map(str, labels)), "logits": logits}


def write_numbers_and_columns(labels, scores):
    joy, anger, fear = scores
    return {"labels": list(labels), "p_fear": fear, "p_joy": joy, "p_anger": anger}


NAMED_FORMS = (
    write_names_and_columns,
    write_text_and_object,
    write_object_and_pipeline,
    write_columns_of_flags,
)
NUMBERED_FORMS = (write_flags_and_list, write_numbers_and_logits, write_numbers_and_columns)


def write_predictions(folder, form):
    """Write the eight items in a form, and return the file."""
    return write_rows(folder, [form(labels, make_scores(labels)) for labels in LABELS])


def write_rows(folder, rows):
    file = folder / "predictions.json"
    file.write_text(json.dumps(rows))
    return str(file)


@pytest.mark.parametrize("form", [*NAMED_FORMS, *NUMBERED_FORMS])
def test_every_form_of_labels_and_scores_gives_the_same_figures(tmp_path, form):
    options = {"predictions": write_predictions(tmp_path, form)}
    if form in NUMBERED_FORMS:
        options["label_names"] = ",".join(NAMES)

    errors = {}
    for name, settings in make_label_settings(None, None, options).items():
        columns = {key: settings[key] for key in ("label_column", "score_columns", "scores")}
        label_names = settings["label_names"].split(",")
        table = read_predictions(options["predictions"], label_names=label_names, **columns)
        assert table.label_names == (f"not {name}", name)
        errors[name] = calibration_error(table.predictions, table.references).ece

    assert errors == pytest.approx(ECE)


def test_a_mean_over_labels_has_the_mean_of_their_intervals(tmp_path):
    file = write_predictions(tmp_path, write_names_and_columns)
    folder = tmp_path / "report"

    report = audit_labels(predictions=file, out=folder, **FAST)

    estimates = {}
    for name, figures in report.figures.items():
        estimates[name] = figures["calibration.ece"].estimate
    values = {name: estimate.value for name, estimate in estimates.items()}
    assert values == pytest.approx(ECE)
    macro = report.macro["calibration.ece"]
    assert macro.value == pytest.approx((0.2 + 0.125 + 0.7) / 3)
    assert macro.low == pytest.approx(sum(estimate.low for estimate in estimates.values()) / 3)
    # Correct on all of 8 items, on 5 of 8, and on none.
    assert report.macro["calibration.accuracy"].value == pytest.approx((1 + 0.625 + 0) / 3)
    record = json.loads((folder / "labels.json").read_text())
    assert record["macro"]["calibration.ece"]["value"] == macro.value
    anger = record["figures"]["anger"]["calibration.ece"]
    assert anger["estimate"]["value"] == pytest.approx(0.125)


def test_numbers_of_labels_with_named_columns_are_refused(tmp_path):
    # The order of columns says nothing about the numbers.
    file = write_predictions(tmp_path, write_numbers_and_columns)

    with pytest.raises(ValueError, match="numbers with `label_names`"):
        audit_labels(predictions=file, out=tmp_path / "report")


@pytest.fixture
def model_folder(tmp_path):
    return save_tiny_classifier(
        tmp_path / "model", label_names=NAMES, problem_type="multi_label_classification"
    )


@pytest.fixture
def data_file(tmp_path):
    """24 texts with labels."""
    rows = []
    for row, text in enumerate(tiny_texts(24)[0]):
        names = [NAMES[label] for label in LABELS[row % 8]]
        rows.append({"text": text, "labels": names})
    file = tmp_path / "data.json"
    file.write_text(json.dumps(rows))
    return file


def list_folders(path):
    return sorted(folder.name for folder in path.iterdir() if folder.is_dir())


def test_a_command_asks_for_a_label_of_several(model_folder, data_file, tmp_path, capsys):
    command = ("calibration", model_folder, data_file, "--out", tmp_path / "report")

    refusal = run(capsys, *command)

    assert (refusal.code, "Set --target to" in refusal.err) == (2, True)


@pytest.mark.parametrize(("target", "folders"), [("joy", ["joy"]), ("fear,joy", ["fear", "joy"])])
def test_a_command_audits_the_named_labels(
    model_folder, data_file, tmp_path, capsys, target, folders
):
    out = tmp_path / "report"
    options = ("--n-resamples", "5", "--target", target, "--out", out)

    finished = run(capsys, "calibration", model_folder, data_file, *options)

    assert finished.code == 0, finished.err
    assert list_folders(out) == folders


def test_a_command_audits_all_labels_and_their_mean(model_folder, data_file, tmp_path, capsys):
    options = ("--n-resamples", "5", "--target", "all", "--out", tmp_path / "report")

    finished = run(capsys, "calibration", model_folder, data_file, *options)

    assert finished.code == 0, finished.err
    table = finished.out.partition("Metrics and verdicts")[2]
    headings = [line.split()[0] for line in table.splitlines() if line]
    # The rest of the title, and the first line of the only heading that takes two, come before.
    assert headings[2:7] == ["Label", "mean", "joy", "anger", "fear"]
    page = (tmp_path / "report" / "index.html").read_text()
    for name in NAMES:
        assert f'href="{name}/index.html"' in page


def test_an_unknown_label_is_refused_with_the_closest_one(model_folder, tmp_path):
    data = {"text": ["a"], "labels": [["joy"]]}

    with pytest.raises(ValueError, match="'yoy'. Did you mean 'joy'"):
        audit_labels(model_folder, data, target="yoy", out=tmp_path / "report")


def test_a_model_of_one_label_per_item_is_refused(classifier_folder, tmp_path):
    data = {"text": ["a"], "labels": [["joy"]]}

    with pytest.raises(ValueError, match="multi-label classifier"):
        audit_labels(classifier_folder, data, out=tmp_path / "report")


def test_a_label_that_no_item_has_does_not_stop_the_others(model_folder, tmp_path):
    labels = [["anger"], ["joy"]] * 6
    data = {"text": tiny_texts(12)[0], "labels": labels}
    options = {**FAST, "questions": ["calibration", "difficulty"]}

    report = audit_labels(model_folder, data, out=tmp_path / "report", label_names=None, **options)

    assert {*report.figures, *report.failed} == set(NAMES)
    assert report.figures["joy"]["calibration.accuracy"].n == 12


@pytest.mark.parametrize(
    ("cells", "expression"),
    [
        (["0,2", "1", ""], '{{ labels | whether("fear", "2") }}'),
        ([["joy"], ["Fear", "anger"]], '{{ labels | whether("fear", "Fear") }}'),
        ([[1, 0, 1], [0, 0, 0]], "{{ labels[2] }}"),
        # Three labels that are counted from 1.
        ([[1, 3], [2]], '{{ labels | whether("fear", "3") }}'),
    ],
)
def test_an_expression_says_whether_an_item_has_a_label(cells, expression):
    table = as_table({"labels": cells})

    assert write_label_expressions([table], NAMES, None, "the data")["fear"] == expression


@pytest.mark.parametrize(
    ("target", "names"),
    [("joy, mild", ["joy, mild"]), ('anger,"joy, mild"', ["anger", "joy, mild"])],
)
def test_a_label_may_have_a_comma(tmp_path, target, names):
    label_names = ["joy, mild", "anger"]
    rows = [
        {"scores": [0.9, 0.2], "labels": ["joy, mild"]},
        {"scores": [0.6, 0.7], "labels": label_names},
    ]
    file = write_rows(tmp_path, [*(rows * 3), {"scores": [0.1, 0.4], "labels": []}])

    report = audit_labels(
        target=target, out=tmp_path / "report", predictions=file, label_names=label_names, **FAST
    )

    assert list(report.figures) == names
    # 0.9 and 0.6, three times each, and 0.9 of the last item are always correct, in bins of their own:
    # (3 * 0.1 + 3 * 0.4 + 0.1) / 7.
    estimate = report.figures["joy, mild"]["calibration.ece"].estimate
    assert estimate.value == pytest.approx(1.6 / 7)


@pytest.mark.parametrize(
    ("cells", "target", "are_several"),
    [
        ([["joy", "fear"], ["joy"], []], "joy", True),
        (["joy;fear", "joy", "fear"], "joy", True),
        (["4,27", "3", "4"], "joy", True),
        (["joy, mild", "not joy, mild"], "joy, mild", False),
        ([0, 1, 1], "joy", False),
        # Shares of annotators.
        ([[0, 1], [0.5, 0.5], [1, 0]], "joy", False),
    ],
)
def test_the_column_shows_whether_items_have_several_labels(cells, target, are_several):
    data = {"text": ["a"] * len(cells), "label": cells}

    assert has_several_labels(data, {"target": target}) is are_several


def test_an_expression_has_one_label_per_item():
    options = {"target": "joy", "label_column": "{{ joy }}"}

    assert not has_several_labels({"text": ["a"], "joy": [1]}, options)
