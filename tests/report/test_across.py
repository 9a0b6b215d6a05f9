"""Logs of several models and tasks make one table, and two logs of one task are compared item by item."""

from __future__ import annotations

import json

import datasets
import pytest

from command_line import run
from rightreasons.report.tasks import TASKS, find_reports, models_by_tasks

pytestmark = pytest.mark.usefixtures("unrendered")

N = 40


def written(root, model, task, right):
    """Write a samples file of lm-evaluation-harness in which given items are right."""
    rows = []
    for n in range(N):
        ok = n in right
        row = {"doc_id": n, "doc": {}, "filter": "none"}
        if task == "generated":
            answer = "4" if ok else "5"
            row |= {
                "target": "4",
                "arguments": {"gen_args_0": {"arg_0": f"Sum {n}?", "arg_1": {"until": ["\n"]}}},
            }
            row |= {
                "resps": [[answer]],
                "filtered_resps": [answer],
                "metrics": ["exact_match"],
                "exact_match": ok,
            }
        else:
            scores = [["-1.0" if ok == (n % 2 == 0) else "-3.0", "False"], ["-2.0", "False"]]
            asked = {
                f"gen_args_{i}": {"arg_0": f"Which {n}?", "arg_1": f" {word} {n}"}
                for i, word in enumerate("xy")
            }
            row |= {"target": str(n % 2), "arguments": asked, "resps": [[one] for one in scores]}
            row |= {"filtered_resps": scores, "metrics": ["acc"], "acc": float(ok)}
        rows.append(json.dumps(row))
    path = root / model / f"samples_{task}_2026-11-22T10-00-00.123456.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(rows), "utf-8")
    return path


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    root = tmp_path_factory.mktemp("logs")
    written(root, "org__first", "choices", range(30))
    written(root, "org__second", "choices", range(10, 30))
    written(root, "org__second", "generated", range(10))
    (root / "org__second" / "results_2026.json").write_text(
        "{}", "utf-8"
    )  # the harness writes it beside them
    return root


def test_a_folder_of_logs_is_one_table_of_models_and_tasks(logs, tmp_path):
    found = find_reports([logs], tmp_path, n_resamples=30)
    table = models_by_tasks(found)
    assert (table.models, table.tasks) == (["org/first", "org/second"], ["choices", "generated"])
    assert [(cell.model, cell.task, cell.accuracy.value) for cell in table.cells] == [
        ("org/first", "choices", 30 / 40), ("org/second", "choices", 20 / 40), ("org/second", "generated", 10 / 40)
    ]  # fmt: skip
    rows = list(table.list_rows())
    assert (rows[0][2], rows[1][2].estimate.value) == (None, 10 / 40)
    assert TASKS.answer(table).verdict.label == "2 models on 2 tasks"
    # A second run of a model on a task, such as one with another prompt, has its own row.
    again = models_by_tasks([found[0], found[0]])
    assert again.models == ["org/first", "org/first (2)"]


def test_plain_rows_are_named_by_what_their_columns_say_of_every_row(tmp_path):
    for name, n_right in (("one", 30), ("two", 20)):
        rows = [f"q{n},0.9,{int(n < n_right)},org/{name},quiz" for n in range(40)]
        (tmp_path / f"{name}.csv").write_text(
            "\n".join(["id,confidence,correct,model,task", *rows]), "utf-8"
        )
    found = find_reports(
        [tmp_path / "one.csv", tmp_path / "two.csv"], tmp_path / "out", n_resamples=30
    )
    for name in ("one", "two"):
        (tmp_path / f"{name}.csv").unlink()  # a report knows them without its file
    table = models_by_tasks(found)
    assert (table.models, table.tasks) == (["org/one", "org/two"], ["quiz"])
    assert [cell.accuracy.value for cell in table.cells] == [30 / 40, 20 / 40]


def test_two_logs_of_one_task_are_compared_item_by_item_and_others_by_their_table(
    logs, tmp_path, capsys
):
    one, two = (
        next((logs / f"org__{name}").glob("samples_choices*")) for name in ("first", "second")
    )
    few = ["--n-resamples", "30"]
    pair = run(capsys, "compare", one, two, "--out", tmp_path / "pair", *few)
    assert pair.code == 0
    assert "org/first is better at accuracy on data" in " ".join(pair.out.split())
    assert (tmp_path / "pair" / "index.html").exists()
    other = next((logs / "org__second").glob("samples_generated*"))
    apart = run(capsys, "compare", one, other, "--out", tmp_path / "apart", *few)
    assert apart.code == 0
    assert ["Model", "choices", "generated"] in [line.split() for line in apart.out.splitlines()]
    assert "right in the first alone" not in apart.out
    assert "Models by tasks" in (tmp_path / "apart" / "index.html").read_text("utf-8")
    (tmp_path / "nothing").mkdir()
    empty = run(capsys, "compare", one, tmp_path / "nothing")
    assert empty.code == 2
    assert "but found no audit.json and no log." in " ".join(empty.err.split())


def write_broken_logs(root):
    """Write four files that are no logs with labeled answers, and return them."""
    contents = {
        "cut.jsonl": b'{"doc_id": 0, "doc": {}, "target"',
        "empty.jsonl": b"",
        "notes.json": b'{"version": 2, "status": "cancelled", "eval": {}}',
        "table.parquet": b"PAR1",
    }
    files = []
    for name, content in contents.items():
        file = root / name
        file.write_bytes(content)
        files.append(file)
    return files


def test_files_of_a_folder_that_cannot_be_read_are_named_and_the_others_compared(tmp_path):
    logs = tmp_path / "logs"
    written(logs, "org__first", "choices", range(30))
    written(logs, "org__second", "choices", range(10, 30))
    broken = write_broken_logs(logs)

    with pytest.warns(UserWarning, match="Left out") as caught:
        reports = find_reports([logs], tmp_path / "out", n_resamples=30)

    table = models_by_tasks(reports)
    assert [cell.accuracy.value for cell in table.cells] == [30 / 40, 20 / 40]
    messages = [str(warning.message) for warning in caught]
    for file in broken:
        assert sum(str(file) in message for message in messages) == 1


def test_a_named_log_that_cannot_be_read_is_an_error_as_is_a_folder_of_such_files(tmp_path):
    logs = tmp_path / "logs"
    readable = written(logs, "org__first", "choices", range(30))
    broken = write_broken_logs(tmp_path)

    for file in broken:
        with pytest.raises(ValueError, match="Expected"):
            find_reports([readable, file], tmp_path / "out", n_resamples=30)
    readable.unlink()
    (logs / "empty.jsonl").write_bytes(b"")
    with pytest.raises(ValueError, match="Expected"):
        find_reports([logs], tmp_path / "out", n_resamples=30)


def test_a_log_without_labels_is_left_out(tmp_path):
    logs = tmp_path / "logs"
    written(logs, "org__first", "choices", range(30))
    rows = [json.dumps({"id": str(n), "a": 0.5, "b": 0.5, "text": f"t {n}"}) for n in range(N)]
    (logs / "unlabeled.jsonl").write_text("\n".join(rows), "utf-8")

    with pytest.warns(UserWarning, match="unlabeled.jsonl"):
        reports = find_reports([logs], tmp_path / "out", n_resamples=30)

    assert models_by_tasks(reports).models == ["org/first"]


def write_details(root, task, n_right):
    """Write details of lighteval in which the first items are right."""
    rows = []
    for n in range(N):
        logprobs = [-1.0, -2.0] if n < n_right else [-2.0, -1.0]
        doc = {"id": str(n), "query": f"Q{n}?", "choices": [" a", f" b{n}"], "gold_index": [0]}
        answer = {"logprobs": logprobs, "text": []}
        rows.append({"doc": doc, "metric": {"acc": int(n < n_right)}, "model_response": answer})
    date = "2026-11-27T23-38-56.16"
    path = root / "details" / "org" / "m" / date / f"details_{task}|0_{date}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    datasets.Dataset.from_list(rows).to_parquet(path)


def test_tasks_of_two_suites_are_two_tasks_of_one_model(tmp_path):
    for task, n_right in (("gen|piqa", 30), ("leaderboard|arc", 20), ("leaderboard|piqa", 10)):
        write_details(tmp_path / "logs", task, n_right)

    table = models_by_tasks(find_reports([tmp_path / "logs"], tmp_path / "out", n_resamples=30))

    assert table.models == ["org/m"]
    # The suite of arc is dropped, as no other suite has a task of this name.
    assert table.tasks == ["gen|piqa", "arc", "leaderboard|piqa"]
    assert [cell.accuracy.value for cell in table.cells] == [30 / 40, 20 / 40, 10 / 40]
