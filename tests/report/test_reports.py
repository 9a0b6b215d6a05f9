"""The folder of a report: questions are added, other reports are replaced, and a kill leaves the old or the new."""

import re
import shutil

import datasets
import numpy as np
import pytest

from rightreasons.core.errors import SetAsideWarning
from rightreasons.models.running import Store
from rightreasons.models.runs.columns import Columns
from rightreasons.report.comparison import compare
from rightreasons.report.runner import audit
from rightreasons.report.schema import check_files, read_audit
from tiny_models import save_tiny_classifier, tiny_texts

pytestmark = pytest.mark.usefixtures("unrendered")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return save_tiny_classifier(tmp_path_factory.mktemp("tiny") / "classifier")


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    return save_tiny_classifier(tmp_path_factory.mktemp("other") / "classifier", seed=1)


@pytest.fixture(scope="module")
def rows():
    texts, labels = tiny_texts(40)
    return datasets.Dataset.from_dict({"text": texts, "label": labels})


def test_a_result_is_read_in_a_notebook_and_asserted_in_a_test(tiny, rows, tmp_path):
    result = audit(
        tiny, rows, out=tmp_path, questions=["calibration"], n_resamples=20, progress=False
    )
    figure = result["calibration.accuracy"]
    assert result["calibration"].status == "answered"
    frame = result.to_frame()
    assert frame.loc["calibration.accuracy", "value"] == pytest.approx(figure.estimate.value)
    assert set(frame.index) == set(result.figures)
    shown = result._repr_html_()
    assert "Does its confidence match its accuracy?" in shown
    assert "file://" not in shown
    assert "<script" not in shown
    lines = str(result).splitlines()
    assert "Does its confidence match its accuracy?" in lines[0]
    assert lines[-1] == f"Report: {tmp_path / 'index.html'}"
    assert len(repr(result)) < 500
    met = f"calibration.accuracy >= {figure.estimate.value}"
    result.assert_that(met, met)
    with pytest.raises(AssertionError, match=r"calibration\.accuracy >"):
        result.assert_that(met, "calibration.accuracy > 1")
    with pytest.raises(AssertionError, match="but got The question was not asked"):
        result.assert_that("cues.applicability < 1")
    with pytest.raises(KeyError, match="Did you mean 'calibration.accuracy'"):
        result["calibration.acuracy"]


def test_a_report_about_another_model_sets_the_earlier_one_aside(tiny, other, rows, tmp_path):
    asking(tiny, rows, tmp_path, "difficulty")
    before = read_audit(tmp_path)
    with pytest.warns(SetAsideWarning, match="about another model"):
        asking(other, rows, tmp_path, "calibration")
    now = read_audit(tmp_path)
    assert now["model"]["name"] == str(other)
    assert [question["question"] for question in now["questions"]] == ["calibration"]
    assert not (tmp_path / "ranking.csv").exists()
    check_files(tmp_path, now, now["files"])
    (kept,) = (tmp_path / ".set-aside").iterdir()
    assert read_audit(kept) == before
    check_files(kept, before, before["files"])
    (tmp_path / "audit.json").write_text("{")
    with pytest.warns(SetAsideWarning, match="is damaged: it is set aside in"):
        asking(other, rows, tmp_path, "calibration")
    sizes = sorted(
        (each / "audit.json").stat().st_size for each in (tmp_path / ".set-aside").iterdir()
    )
    assert (len(sizes), sizes[0]) == (2, 1)


QUESTIONS = {"calibration": {"n_bins": 7}, "difficulty": {"items": 24}}


def asking(model, rows, out, question, **settings):
    return audit(
        model, rows, out=out, questions=[question], options={question: QUESTIONS[question]}, n_resamples=20,
        progress=False, **settings
    )  # fmt: skip


def test_questions_that_are_asked_later_are_added(tiny, rows, tmp_path):
    """In either order the report is that of both questions at once, file by file."""
    # The advice names the report's folder.
    late, once = tmp_path / "late" / "report", tmp_path / "once" / "report"
    rows.to_csv(tmp_path / "rows.csv")
    rows = str(tmp_path / "rows.csv")
    asking(tiny, rows, late, "difficulty")
    later = asking(tiny, rows, late, "calibration")
    assert [outcome.question for outcome in later.outcomes] == ["calibration"]
    whole = audit(
        tiny,
        rows,
        out=once,
        questions=list(QUESTIONS),
        options=QUESTIONS,
        n_resamples=20,
        progress=False,
    )
    both, whole = read_audit(late), whole.audit
    assert both == later.audit
    assert [question["question"] for question in both["questions"]] == ["calibration", "difficulty"]
    assert (both["questions"], both["settings"]) == (whole["questions"], whole["settings"])
    files = sorted(whole["files"])
    assert "ranking.csv" in files
    assert sorted(both["files"]) == files
    for file in files:
        if file != "index.html":  # which names the time and the folder
            assert (late / file).read_bytes() == (once / file).read_bytes(), file
    page = (late / "index.html").read_text("utf-8")
    assert "--questions calibration,difficulty" in page
    assert "--difficulty-items 24" in page
    assert "--calibration-n-bins 7" in page


def test_work_of_another_question_is_kept(tiny, rows, tmp_path):
    """Also when that audit was killed."""
    killed = tmp_path / ".work" / "difficulty-0123456789abcdef"
    Store(killed, {"kind": "fisher"}).write(Columns(np.arange(640), {"x": np.arange(640.0)}))
    asking(tiny, rows, tmp_path, "calibration")
    assert len(Store.open(killed).read()) == 640


@pytest.fixture(scope="module")
def reports(tiny, other, rows, tmp_path_factory):
    """Reports about two models."""
    folder = tmp_path_factory.mktemp("reports")
    for model, name in ((tiny, "old"), (other, "new")):
        asking(model, rows, folder / name, "calibration")
    return folder


def test_a_report_of_two_audits_is_not_compared(reports, tmp_path):
    first, second = (shutil.copytree(reports / name, tmp_path / name) for name in ("old", "new"))
    (file,) = (path.name for path in (first / "predictions").iterdir())
    shutil.copy(second / "predictions" / file, first / "predictions" / file)
    with pytest.raises(
        ValueError, match=rf"predictions/{re.escape(file)} is different, damaged or missing"
    ):
        compare(first, second)
    audit_json = second / "audit.json"
    audit_json.write_text(audit_json.read_text("utf-8").replace('"seed": 0', '"seed": 1'), "utf-8")
    with pytest.raises(ValueError, match="is damaged"):
        read_audit(second)
