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
HELD = [(0,), (0, 2), (), (1,), (0, 1), (2,), (0,), (1, 2)]
"""Eight items; joy has four, anger and fear three each."""

# joy is given 0.8 where it holds and 0.2 elsewhere: always right, with confidence 0.8, so that its error is 0.2. anger
# is given 0.25 always: right on the 5 without it, with confidence 0.75: 0.125. fear is given 0.3 where it holds and 0.7
# elsewhere: never right with confidence 0.7, so that its error is 0.7.
SCORES = [(0.8 if 0 in own else 0.2, 0.25, 0.3 if 2 in own else 0.7) for own in HELD]
ECE = {"joy": 0.2, "anger": 0.125, "fear": 0.7}

FORMS = {
    "names beside columns": [
        {"labels": [NAMES[k] for k in own], "p_joy": s[0], "p_anger": s[1], "p_fear": s[2]}
        for own, s in zip(HELD, SCORES, strict=True)
    ],
    "a text beside an object": [
        {"gold": "; ".join(NAMES[k] for k in own), "scores": dict(zip(NAMES, s, strict=True))}
        for own, s in zip(HELD, SCORES, strict=True)
    ],
    "an object beside a pipeline's": [
        {
            "labels": {name: k in own for k, name in enumerate(NAMES)},
            "scores": [{"label": name, "score": one} for name, one in zip(NAMES, s, strict=True)],
        }
        for own, s in zip(HELD, SCORES, strict=True)
    ],
    "columns of 0 and 1": [
        {name.upper(): int(k in own) for k, name in enumerate(NAMES)}
        | {f"prob_{name}": one for name, one in zip(NAMES, s, strict=True)}
        for own, s in zip(HELD, SCORES, strict=True)
    ],
}
NAMED = {
    "0 and 1 beside lists": [
        {"labels": [int(k in own) for k in range(3)], "probs": list(s)}
        for own, s in zip(HELD, SCORES, strict=True)
    ],
    "numbers beside logits": [
        {"labels": ",".join(map(str, own)), "logits": [math.log(one / (1 - one)) for one in s]}
        for own, s in zip(HELD, SCORES, strict=True)
    ],
    "numbers beside columns in another order": [
        {"labels": list(own), "p_fear": s[2], "p_joy": s[0], "p_anger": s[1]}
        for own, s in zip(HELD, SCORES, strict=True)
    ],
}
"""Those whose numbers need the names of the labels."""


def stored(folder, rows):
    file = folder / "predictions.json"
    file.write_text(json.dumps(rows))
    return file


@pytest.mark.parametrize("form", [*FORMS, *NAMED])
def test_every_form_of_labels_and_scores_gives_the_same_figures(tmp_path, form):
    file = str(stored(tmp_path, (FORMS | NAMED)[form]))
    names = {"label_names": ",".join(NAMES)} if form in NAMED else {}
    errors = {}
    for name, asked in make_label_settings(None, None, {"predictions": file, **names}).items():
        how = {key: asked[key] for key in ("label_column", "score_columns", "scores")}
        read = read_predictions(file, label_names=asked["label_names"].split(","), **how)
        assert read.label_names == (f"not {name}", name)
        errors[name] = calibration_error(read.predictions, read.references).ece
    assert errors == pytest.approx(ECE)


def test_the_means_over_labels(tmp_path):
    file = str(stored(tmp_path, FORMS["names beside columns"]))
    folder = tmp_path / "report"
    found = audit_labels(
        predictions=file, out=folder, n_resamples=5, progress=False, questions=["calibration"]
    )
    assert {
        name: own["calibration.ece"].estimate.value for name, own in found.figures.items()
    } == pytest.approx(ECE)
    macro = found.macro["calibration.ece"]
    assert macro.value == pytest.approx((0.2 + 0.125 + 0.7) / 3)
    assert macro.low == pytest.approx(
        sum(own["calibration.ece"].estimate.low for own in found.figures.values()) / 3
    )
    # right on all of 8, on 5 of 8, on none
    assert found.macro["calibration.accuracy"].value == pytest.approx((1 + 0.625 + 0) / 3)
    kept = json.loads((folder / "labels.json").read_text())
    assert kept["macro"]["calibration.ece"]["value"] == macro.value
    assert kept["figures"]["anger"]["calibration.ece"]["estimate"]["value"] == pytest.approx(0.125)


def test_numbers_beside_names_of_columns_are_refused(tmp_path):
    """The order of columns says nothing."""
    file = stored(tmp_path, NAMED["numbers beside columns in another order"])
    with pytest.raises(ValueError, match="nothing; `label_names`"):
        audit_labels(predictions=str(file), out=tmp_path / "report")


class TestModel:
    @pytest.fixture
    def folder(self, tmp_path):
        return save_tiny_classifier(
            tmp_path / "model", label_names=NAMES, problem_type="multi_label_classification"
        )

    def test_a_command_asks_about_all_labels(self, folder, tmp_path, capsys):
        texts, _ = tiny_texts(24)
        rows = [
            {"text": text, "labels": [NAMES[k] for k in HELD[n % 8]]}
            for n, text in enumerate(texts)
        ]
        data = tmp_path / "data.json"
        data.write_text(json.dumps(rows))
        how = (folder, data, "--n-resamples", "5", "--out", tmp_path / "report")
        refused = run(capsys, "calibration", *how)
        assert (refused.code, "--target=all" in refused.err) == (2, True)
        one = run(capsys, "calibration", *how[:-1], tmp_path / "one", "--target", "joy")
        assert one.code == 0, one.err
        assert [path.name for path in (tmp_path / "one").iterdir() if path.is_dir()] == ["joy"]
        done = run(capsys, "calibration", *how, "--target", "all")
        assert done.code == 0, done.err
        table = [
            line.split()[0]
            for line in done.out.partition("Figures and verdicts")[2].splitlines()
            if line
        ]
        assert table[1:6] == ["Label", "mean", "joy", "anger", "fear"]
        page = (tmp_path / "report" / "index.html").read_text()
        assert all(f'href="{name}/index.html"' in page for name in NAMES)
        some = run(capsys, "calibration", *how[:-1], tmp_path / "some", "--target", "fear,joy")
        assert some.code == 0, some.err
        assert sorted(path.name for path in (tmp_path / "some").iterdir() if path.is_dir()) == [
            "fear",
            "joy",
        ]

    def test_a_label_that_nobody_knows_and_a_model_of_one_label(
        self, folder, classifier_folder, tmp_path
    ):
        with pytest.raises(ValueError, match="'yoy'. Did you mean 'joy'"):
            audit_labels(
                folder, {"text": ["a"], "labels": [["joy"]]}, target="yoy", out=tmp_path / "report"
            )
        with pytest.raises(ValueError, match="classifier where `target`"):
            audit_labels(
                classifier_folder, {"text": ["a"], "labels": [["joy"]]}, out=tmp_path / "report"
            )

    def test_a_label_that_no_item_has_does_not_stop_the_others(self, folder, tmp_path):
        texts, _ = tiny_texts(12)
        labels = [["joy"] if n % 2 else ["anger"] for n in range(12)]
        found = audit_labels(
            folder, {"text": texts, "labels": labels}, out=tmp_path / "report", n_resamples=5, progress=False,
            questions=["calibration", "difficulty"], label_names=None,
        )  # fmt: skip
        assert {*found.figures} | {*found.failed} == {*NAMES}
        assert found.figures["joy"]["calibration.accuracy"].n == 12


@pytest.mark.parametrize(
    ("cells", "asked"),
    [
        (["0,2", "1", ""], '{{ labels | whether("fear", "2") }}'),
        ([["joy"], ["Fear", "anger"]], '{{ labels | whether("fear", "Fear") }}'),
        ([[1, 0, 1], [0, 0, 0]], "{{ labels[2] }}"),
        ([[1, 3], [2]], '{{ labels | whether("fear", "3") }}'),  # counted from 1
    ],
)
def test_what_says_whether_an_item_has_a_label(cells, asked):
    table = as_table({"labels": cells})
    assert write_label_expressions([table], NAMES, None, "the data")["fear"] == asked


def test_labels_with_commas(tmp_path):
    names = ["joy, mild", "anger"]
    rows = [
        {"scores": [0.9, 0.2], "labels": [names[0]]},
        {"scores": [0.6, 0.7], "labels": names},
    ] * 3
    file = str(stored(tmp_path, [*rows, {"scores": [0.1, 0.4], "labels": []}]))
    how = {
        "predictions": file,
        "n_resamples": 5,
        "progress": False,
        "questions": ["calibration"],
        "label_names": names,
    }
    for target, audited in (("joy, mild", names[:1]), ('anger,"joy, mild"', names[::-1])):
        found = audit_labels(target=target, out=tmp_path / "report", **how)
        assert list(found.figures) == audited
        # (6 * 0.25 + 0.1) / 7, as 0.9 and 0.6 are always right, in bins of their own
        assert found.figures["joy, mild"]["calibration.ece"].estimate.value == pytest.approx(
            1.6 / 7
        )


def test_the_column_shows_whether_items_have_several_labels():
    for cells, several in (
        ([["joy", "fear"], ["joy"], []], True),
        (["joy;fear", "joy", "fear"], True),
        (["4,27", "3", "4"], True),
        (["joy, mild", "not joy, mild"], False),
        ([0, 1, 1], False),
        ([[0, 1], [0.5, 0.5], [1, 0]], False),  # shares
    ):
        target = "joy, mild" if "joy, mild" in cells else "joy"
        assert (
            has_several_labels({"text": ["a"] * len(cells), "label": cells}, {"target": target})
            is several
        ), cells
    assert not has_several_labels(
        {"text": ["a"], "joy": [1]}, {"target": "joy", "label_column": "{{ joy }}"}
    )
