"""Tasks that we write, run by the real lm-evaluation-harness and inspect_ai: their logs have a direct run's figures."""

import importlib
import itertools
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

import rightreasons
from command_line import run
from harness_logs import ask_inspect, ask_lm_eval, differences, inspect_model, lm_eval_model, task_in
from rightreasons.datasets.suites.cases import Case, Functionality
from rightreasons.datasets.suites.suite import Suite
from rightreasons.models.choices import load_causal
from tiny_causal import save_tiny_causal, tiny_causal_tokenizer

TEMPLATE = "{% for message in messages %}{{ message['content'] }} {% endfor %}Answer:"
SUBJECTS = ("man", "woman", "actor", "rain", "sun", "glass", "floor", "film", "plot", "scene")
VERBS = ("was", "is")
CHOICES = ("the {} is wet", "the {} is dry", "a {} broke the glass", "so the {} fell")
LETTERS = "{{ prompt }}\n{{ options }}\nAnswer with the letter alone."
ONE_WORD = "{{ text }}\n\nWhich label fits?\n{{ options }}\nAnswer with the letter alone."


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def suite():
    mft = [Case(str(n), ((f"the {word} film",),), (label,)) for n, (word, label) in
           enumerate([("good", 1), ("bad", 0), ("great", 1), ("dull", 0), ("poor", 0)])]  # fmt: skip
    inv = [
        Case(str(n), ((f"the man is {word}",), (f"the woman is {word}",))) for n, word in enumerate(["fine", "awful"])
    ]
    functionalities = (
        Functionality("words", "V", "MFT", {"name": "equal"}, tuple(mft)),
        Functionality("people", "F", "INV", {"name": "invariant"}, tuple(inv)),
    )
    return Suite("tiny", ("text",), functionalities, ("bad", "good"))


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """A tiny model with a chat template, items of choices of which some are Easy, contrast sets, and a suite."""
    folder = tmp_path_factory.mktemp("given")
    model = save_tiny_causal(folder / "model", seed=3)
    words = tiny_causal_tokenizer()
    words.chat_template, words.pad_token, words.eos_token = TEMPLATE, "<unk>", "<s>"
    words.save_pretrained(model)
    items = [
        {
            "id": f"q{row}",
            "prompt": f"what {verb} the {name}",
            "choices": [text.format(name) for text in CHOICES[row % 2 : row % 2 + 3]],
            "label": row % 3,
        }
        for row, (name, verb) in enumerate(itertools.product(SUBJECTS, VERBS))
    ]
    texts = [
        {"id": f"{name}-{role}", "text": f"the {name} is {word}", "label": word, "pair_id": name, "role": role}
        for name in SUBJECTS
        for role, word in (("original", "good"), ("perturbed", "bad"))
    ]
    suite().write(folder / "suite.jsonl")
    return SimpleNamespace(
        folder=folder,
        model=str(model),
        items=str(lines(folder / "items.jsonl", items)),
        texts=str(lines(folder / "texts.jsonl", texts)),
        suite=str(folder / "suite.jsonl"),
    )


def export(capsys, tmp_path, *words):
    said = run(capsys, "data", "export", *words, "--out", tmp_path / "task")
    assert said.code == 0, said.err
    return task_in(tmp_path / "task")


@pytest.fixture(scope="module")
def lm_eval(given):
    """Returns a function that runs a task of a folder with the model, and returns its samples file."""
    pytest.importorskip("lm_eval", reason="lm-evaluation-harness is not installed")
    model = lm_eval_model(load_causal(given.model))
    return lambda declared, tmp_path: ask_lm_eval(model, declared, tmp_path)


@pytest.fixture(scope="module")
def inspect(given):
    """Returns a function that runs a task of a folder with the model, and returns its log."""
    pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")
    model = inspect_model(given.model)
    return lambda declared, tmp_path, **how: ask_inspect(model, declared, tmp_path, **how)


def audited(tmp_path, question, *words, **options):
    out = tmp_path / f"report{len(list(tmp_path.iterdir()))}"
    report = rightreasons.audit(*words, out=out, questions=[question], **options)
    outcome = next(one for one in report.outcomes if one.question == question)
    assert outcome.status == "answered", outcome.reason
    return outcome.result.data


def behaved(capsys, folder, *words):
    said = run(capsys, "behavior", *words, "--out", folder)
    assert said.code == 0, said.err
    return json.loads((folder / "pass_rates.json").read_text())


BARE = {"chat": "off", "scoring": "sum"}


def test_probes_and_orders_by_lm_eval(given, lm_eval, capsys, tmp_path, monkeypatch):
    words = ("--parts", "items,probes,orders", "--style", "letters", "--limit", "10")
    log = lm_eval(export(capsys, tmp_path, given.items, *words), tmp_path)
    direct = audited(tmp_path, "probes", given.model, given.items, style="letters", limit=10, **BARE)
    again = audited(tmp_path, "probes", predictions=log)
    assert differences(direct, again) == []
    assert again["sees_choices_together"]
    pytest.importorskip("gradio")
    for name in ("confusion_probes", "reliability_explorer"):
        monkeypatch.syspath_prepend(Path(__file__).parents[2] / "spaces" / name)
    page = importlib.import_module("probe_view").of_a_log(log)
    assert "Same answer in every order" in page
    assert len(importlib.import_module("reliability_view").open_file(log).references) > 10


def test_easy_and_hard_items_by_lm_eval(given, lm_eval, capsys, tmp_path):
    rows = [json.loads(line) for line in Path(given.items).read_text("utf-8").splitlines()]
    easy = [row["id"] for row in rows if row["label"] == 1]
    subsets = tmp_path / "easy_hard_subsets.json"
    subsets.write_text(json.dumps({"easy": easy, "hard": [row["id"] for row in rows if row["label"] != 1]}))
    declared = export(capsys, tmp_path, given.items, "--parts", "items", "--subsets", subsets)
    log = lm_eval(declared, tmp_path)
    items = lines(tmp_path / "flagged.jsonl", [{**row, "easy": row["id"] in easy} for row in rows])
    direct = audited(tmp_path, "cues", given.model, str(items), **BARE)
    again = audited(tmp_path, "cues", predictions=log)
    assert again["easy_ids"] == easy
    assert differences(direct["easy_hard_gap"], again["easy_hard_gap"]) == []


def test_contrast_sets_by_lm_eval(given, lm_eval, capsys, tmp_path):
    log = lm_eval(export(capsys, tmp_path, given.texts), tmp_path)
    direct = audited(tmp_path, "difficulty", given.model, given.texts, **BARE)
    again = audited(tmp_path, "difficulty", predictions=log)
    assert differences(direct["contrast_sets"], again["contrast_sets"]) == []


def test_a_suite_by_lm_eval(given, lm_eval, capsys, tmp_path):
    declared = export(capsys, tmp_path, given.suite, "--task", "suite")
    log = lm_eval(declared, tmp_path)
    direct = behaved(capsys, tmp_path / "direct", given.model, given.suite, "--chat", "off")
    again = behaved(capsys, tmp_path / "again", given.suite, "--predictions", log)
    assert differences(direct["functionalities"], again["functionalities"]) == []
    assert f"behavior {given.suite} --predictions" in declared.read_text()


def test_probes_and_orders_by_inspect(given, inspect, capsys, tmp_path):
    limit = ("--limit", "10")
    declared = export(capsys, tmp_path, given.items, "--parts", "items,probes,orders", "--to", "inspect", *limit)
    # A random model's letters are not among its likeliest 20 tokens, and its first token is what counts.
    every = len(tiny_causal_tokenizer())
    log = inspect(declared, tmp_path, logprobs=True, top_logprobs=every, max_tokens=1)
    how = {"style": "letters", "scoring": "next_words", "template": LETTERS, "limit": 10}
    direct = audited(tmp_path, "probes", given.model, given.items, **how)
    again = audited(tmp_path, "probes", predictions=log)
    assert differences(direct, again) == []


def test_generated_answers_to_a_suite_by_inspect(given, inspect, capsys, tmp_path):
    declared = export(capsys, tmp_path, given.suite, "--task", "suite", "--to", "inspect")
    log = inspect(declared, tmp_path, max_tokens=1)
    words = ("--style", "letters", "--scoring", "generated", "--template", ONE_WORD, "--max-new-tokens", "1")
    direct = behaved(capsys, tmp_path / "direct", given.model, given.suite, *words)
    again = behaved(capsys, tmp_path / "again", given.suite, "--predictions", log)
    assert differences(direct["functionalities"], again["functionalities"]) == []
