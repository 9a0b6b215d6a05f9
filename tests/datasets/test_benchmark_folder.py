"""A folder that the Hub may list as a benchmark: `eval.yaml` as specified, asked as inspect_ai's hf/ tasks are.

The specification: "Eval.yaml specification" in docs/hub/eval-results.md of huggingface/hub-docs (commit 242f4a1), and
the frameworks of packages/tasks/src/eval.ts of huggingface/huggingface.js. Neither the check at push time nor the list
of benchmarks that are allowed was seen.
"""

import json

import datasets
import pytest
import yaml
from huggingface_hub import DatasetCard

from command_line import run
from rightreasons.datasets.publishing import write_benchmark

datasets.disable_progress_bars()

BENCHMARK = {"name", "description", "evaluation_framework", "tasks"}
TASK = {"id", "config", "split"}
OF_INSPECT = {"field_spec", "solvers", "scorers"}
"""The prose of the specification says `scores`, its example and inspect_ai `scorers`."""


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


@pytest.fixture
def items(tmp_path):
    """Five questions of two or three choices; the last has no label."""
    rows = [
        {
            "id": f"q{n}",
            "prompt": f"Why {verb}?",
            "choices": [f"To {verb} {k}." for k in range(2 + n % 2)],
            "label": n % 2,
        }
        for n, verb in enumerate(("cook", "run", "read", "sing", "swim"))
    ]
    rows[-1]["label"] = -1
    path = tmp_path / "verbs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.fixture
def reviews(tmp_path):
    """Texts with classes: a test split, another that is made of it, and a training split."""
    words = datasets.ClassLabel(names=["dull", "fine"])
    folder = tmp_path / "reviews"
    folder.mkdir()
    for split, size in (("train", 6), ("test", 3), ("test_flipped", 2)):
        rows = {
            "text": [f"A {words.names[(n + 1) % 2]} film {n}." for n in range(size)],
            "label": [1, 0] * (size // 2) + [1] * (size % 2),
        }
        datasets.Dataset.from_dict(rows).cast_column("label", words).to_parquet(
            folder / f"{split}.parquet"
        )
    return folder


def exported(capsys, out, *words):
    said = run(capsys, "data", "export", *words, "--to", "benchmark", "--out", out)
    assert said.code == 0, said.err
    return said.out, yaml.safe_load((out / "eval.yaml").read_text("utf-8"))


def check(declared, folder):
    """Hold what is declared to the specification, and to the files."""
    assert set(declared) == BENCHMARK
    assert declared["evaluation_framework"] == "inspect-ai"
    assert all(
        isinstance(declared[name], str) and declared[name] for name in ("name", "description")
    )
    tasks = declared["tasks"]
    assert len({task["id"] for task in tasks}) == len(tasks) > 0
    configs = {
        each["config_name"]
        for each in DatasetCard.load(folder / "README.md").data.to_dict()["configs"]
    }
    assert configs == {task["config"] for task in tasks}
    for task in tasks:
        assert set(task) == TASK | OF_INSPECT
        rows = datasets.load_dataset(str(folder), task["config"], split=task["split"])
        spec = task["field_spec"]
        assert set(spec) == {"input", "target", "choices"}
        assert set(spec.values()) <= set(rows.column_names)
        assert all(
            0 <= label < len(choices)
            for label, choices in zip(rows["label"], rows["choices"], strict=True)
        )
    return {
        task["id"]: datasets.load_dataset(str(folder), task["config"], split="test").to_list()
        for task in tasks
    }


def test_items_with_a_right_choice_are_declared(items, tmp_path, capsys):
    said, declared = exported(capsys, tmp_path / "verbs", items)
    rows = check(declared, tmp_path / "verbs")
    assert [row["id"] for row in rows["items"]] == ["q0", "q1", "q2", "q3"]
    assert list(rows) == ["items"]
    assert f"hf upload my-name/verbs {tmp_path / 'verbs'} --repo-type dataset" in said


def test_splits_that_are_made_of_one_are_tasks(reviews, tmp_path, capsys):
    _, declared = exported(capsys, tmp_path / "films", reviews)
    rows = check(declared, tmp_path / "films")
    assert {task: len(each) for task, each in rows.items()} == {"items": 3, "test_flipped": 2}
    assert rows["items"][0] | {"id": ""} == {
        "id": "", "prompt": "A fine film 0.\n\nWhich label fits this text?", "choices": ["dull", "fine"], "label": 1
    }  # fmt: skip
    _, declared = exported(capsys, tmp_path / "one", reviews, "--split", "test_flipped")
    assert [task["id"] for task in declared["tasks"]] == ["items"]


def test_the_card_has_the_terms_of_the_data(tmp_path, capsys):
    exported(capsys, tmp_path / "planted", "planted_shortcuts", "--limit", 4)
    card = DatasetCard.load(tmp_path / "planted" / "README.md")
    assert (card.data.license, card.data.task_categories) == ("apache-2.0", ["multiple-choice"])
    assert "| test_flipped | test | 4 |" in card.text


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("--style", "letters"),
            "contains only items",
        ),
        (("--reasons",), "contains only items"),
        (("--questions", "ways"), "contains only items"),
        (("--hints", "metadata"), "contains only items"),
    ],
)
def test_what_a_benchmark_has_not(items, tmp_path, capsys, words, sentence):
    said = run(
        capsys, "data", "export", items, "--to", "benchmark", "--out", tmp_path / "verbs", *words
    )
    assert (said.code, sentence in said.err) == (2, True), said.err
    assert not (tmp_path / "verbs").exists()


@pytest.mark.parametrize(
    ("label", "n", "sentence"),
    [
        (-1, 2, "item 'a' has 2 and the label -1"),
        (0, 27, "Expected up to 26 choices, one of them correct"),
    ],
)
def test_a_letter_for_the_right_choice(tmp_path, label, n, sentence):
    item = {"id": "a", "prompt": "Why?", "choices": ["To."] * n, "label": label}
    with pytest.raises(ValueError, match=sentence):
        write_benchmark({"items": [item]}, tmp_path / "out", name="why")
    with pytest.raises(ValueError, match="item with a correct choice"):
        write_benchmark({}, tmp_path / "out", name="why")


def test_inspect_asks_the_folder_as_it_asks_the_hub(items, tmp_path, capsys, monkeypatch):
    """Its loader of hf/OWNER/NAME, the download alone replaced; a model that always says B is right in q1 and q3."""
    inspect_ai = pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")
    from inspect_ai._eval.task.hf import task_create_from_hf
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    exported(capsys, tmp_path / "me" / "verbs", items)
    monkeypatch.chdir(tmp_path)  # where the repository me/verbs is a folder
    monkeypatch.setattr(
        "huggingface_hub.hf_hub_download", lambda repo_id, filename, **_: f"{repo_id}/{filename}"
    )
    (task,) = task_create_from_hf("hf/me/verbs")
    assert [sample.target for sample in task.dataset] == ["A", "B", "A", "B"]
    answer = ModelOutput.from_content("mockllm/model", "ANSWER: B")
    answer.usage = ModelUsage(
        input_tokens=1, output_tokens=1, total_tokens=2
    )  # not counted by a tokenizer
    says = get_model("mockllm/model", custom_outputs=[answer] * 4)
    (log,) = inspect_ai.eval(task, model=says, log_dir=str(tmp_path / "logs"), display="none")
    assert log.status == "success", log.error
    assert log.results.scores[0].metrics["accuracy"].value == 0.5
