"""A folder of logs of several harnesses: every readable one is compared, and the others are named."""

import re
import shlex
import warnings

import pytest

import logs_of_harnesses as logs
from command_line import run
from rightreasons.core.errors import OptionError
from rightreasons.report.runner import audit
from rightreasons.report.schema import read_audit
from rightreasons.report.tasks import find_reports, models_by_tasks

pytestmark = pytest.mark.usefixtures("unrendered")


def write_folder(folder):
    """Write thirteen logs of six harnesses, of which two are broken; return the accuracies of the others."""
    for model, n_correct in (("org/a", 12), ("org/b", 16)):
        logs.write_lm_eval(folder, n_correct, model=model)
        logs.write_helm(folder, n_correct + 1, model=model, task="helm")
        name = model.replace("/", "_")
        evals = folder / f"{name}_evals.jsonl"
        logs.write_openai_evals(evals, n_correct + 2, model=model, task="evals")
        foo = folder / f"{name}_foo.json"
        logs.write_promptfoo(foo, n_correct + 3, models=(model,), task="foo")
        logs.write_inspect(folder / f"{name}_i.json", n_correct - 1, model=model, task="inspect")
    logs.write_every_eval_ever(folder / "every_samples.jsonl", 5)
    cut = logs.write_openai_evals(folder / "cut.jsonl", 3)
    cut.write_text(cut.read_text("utf-8")[:-40], "utf-8")
    logs.write_content(folder / "interrupted.json", {"version": 2, "status": "error", "eval": {}})
    return {
        ("law", "org/a"): 12,
        ("law", "org/b"): 16,
        ("helm", "org/a"): 13,
        ("helm", "org/b"): 17,
        ("evals", "org/a"): 14,
        ("evals", "org/b"): 18,
        ("foo", "org/a"): 15,
        ("foo", "org/b"): 19,
        ("inspect", "org/a"): 11,
        ("inspect", "org/b"): 15,
    }


def test_each_readable_log_is_in_the_table_and_the_others_are_named(tmp_path):
    expected = write_folder(tmp_path / "logs")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        reports = find_reports([tmp_path / "logs"], tmp_path / "reports", n_resamples=20)
    table = models_by_tasks(reports)

    left_out = [str(w.message) for w in caught if str(w.message).startswith("Left out")]
    assert len(left_out) == 2
    assert any("cut.jsonl" in line for line in left_out)
    assert any("interrupted.json" in line for line in left_out)
    found = {(cell.task, cell.model): cell.accuracy.value for cell in table.cells}
    for key, n_correct in expected.items():
        assert found[key] == pytest.approx(n_correct / 20), key
    # Ten of two models, and one that names neither its model nor its task.
    assert len(found) == 11


def test_each_provider_of_a_log_is_a_model_of_the_table(tmp_path):
    logs.write_promptfoo(tmp_path / "logs" / "foo.json", 15, models=("org/a", "org/b"))

    reports = find_reports([tmp_path / "logs"], tmp_path / "reports", n_resamples=20)

    cells = models_by_tasks(reports).cells
    assert {(cell.task, cell.model) for cell in cells} == {("law", "org/a"), ("law", "org/b")}
    assert [cell.accuracy.value for cell in cells] == [15 / 20, 15 / 20]


def test_the_only_log_of_a_folder_is_audited(tmp_path):
    # The metrics of HELM are in a second file, which is no log.
    log = logs.write_helm(tmp_path / "logs", 15)

    audit(str(tmp_path / "logs"), out=tmp_path / "report", progress=False)

    assert read_audit(tmp_path / "report")["model"]["name"] == str(log)


def test_a_folder_of_several_logs_names_the_command_that_compares_them(tmp_path):
    for model in ("org/a", "org/b"):
        logs.write_lm_eval(tmp_path / "logs", 12, model=model)

    with pytest.raises(OptionError, match="rightreasons compare") as error:
        audit(str(tmp_path / "logs"), out=tmp_path / "report", progress=False)

    assert error.value.option == ("predictions",)


def test_a_folder_of_a_model_is_no_folder_of_logs(tmp_path):
    tmp_path.joinpath("config.json").write_text("{}", "utf-8")
    tmp_path.joinpath("tokenizer.json").write_text("{}", "utf-8")

    with pytest.raises(OptionError, match="a data set, or `predictions`"):
        audit(str(tmp_path), out=tmp_path / "report", progress=False)


@pytest.mark.parametrize("write", [logs.write_lm_eval, logs.write_helm])
def test_a_log_without_arms_names_the_command_that_asks_its_items_in_them(write, tmp_path, capsys):
    log = write(tmp_path / "logs", 15)

    result = audit(predictions=str(log), out=tmp_path / "report", progress=False)
    (command,) = re.findall("`(rightreasons data export .*)`", result["probes"].reason)
    done = run(capsys, *shlex.split(command)[1:], "--out", tmp_path / "task")

    assert done.code == 0, done.err
    (rows,) = (tmp_path / "task").glob("*.jsonl")
    assert len(rows.read_text("utf-8").splitlines()) == 20
