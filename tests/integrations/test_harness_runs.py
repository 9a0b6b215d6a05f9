"""Tasks that we write, run by the real lm-evaluation-harness and inspect_ai: their logs have a direct run's figures."""

import itertools
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

import rightreasons
from command_line import run
from rightreasons.data.suites.suite import Case, Functionality, Suite
from rightreasons.models import load_causal
from tiny_causal import save_tiny_causal, tiny_causal_tokenizer

TEMPLATE = "{% for message in messages %}{{ message['content'] }} {% endfor %}Answer:"
SUBJECTS = ("man", "woman", "actor", "rain", "sun", "glass", "floor", "film", "plot", "scene")
VERBS = ("was", "is")
CHOICES = ("the {} is wet", "the {} is dry", "a {} broke the glass", "so the {} fell")
LETTERS = "{{ prompt }}\n{{ options }}\nAnswer with the letter alone."
ONE_WORD = "{{ text }}\n\nWhich label fits?\n{{ options }}\nAnswer with the letter alone."


def differences(one, two, where=""):
    """Compare what two reports say: numbers to the rounding of 32 bits, everything else exactly."""
    if isinstance(one, dict) and isinstance(two, dict) and one.keys() == two.keys():
        return [each for key in one for each in differences(one[key], two[key], f"{where}/{key}")]
    if isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        return [each for n in range(len(one)) for each in differences(one[n], two[n], f"{where}/{n}")]
    near = isinstance(one, float) and isinstance(two, float) and one == pytest.approx(two, abs=2e-4)
    return [] if near or one == two else [(where, one, two)]


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
    return next(path for path in sorted((tmp_path / "task").iterdir()) if path.name.startswith("rightreasons_"))


@pytest.fixture(scope="module")
def lm_eval(given):
    """Returns a function that runs a task of a folder with the model, and returns its samples file."""
    harness = pytest.importorskip("lm_eval", reason="lm-evaluation-harness is not installed")
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    loaded = load_causal(given.model)
    model = HFLM(pretrained=loaded.model, tokenizer=loaded.tokenizer, batch_size=16)

    def ask(declared, tmp_path, monkeypatch):
        monkeypatch.chdir(declared.parent)  # as its first lines say
        manager = TaskManager(include_path=".", include_defaults=False)
        found = harness.simple_evaluate(
            model=model, tasks=[declared.stem], task_manager=manager, bootstrap_iters=0, log_samples=True
        )
        tracker = EvaluationTracker(output_path=str(tmp_path / "logs"))
        tracker.general_config_tracker.model_name_sanitized = "tiny"
        tracker.date_id = "2026"
        tracker.save_results_samples(declared.stem, found["samples"][declared.stem])
        return str(next((tmp_path / "logs").rglob("samples_*.jsonl")))

    return ask


@pytest.fixture(scope="module")
def inspect(given):
    """Returns a function that runs a task of a folder with the model, and returns its log."""
    harness = pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")
    from inspect_ai.model import get_model

    model = get_model(f"hf/{given.model}", device="cpu", do_sample=False)

    def ask(declared, tmp_path, monkeypatch, **how):
        monkeypatch.chdir(declared.parent)
        (log,) = harness.eval(
            declared.name, model=model, log_dir=str(tmp_path / "logs"), display="none", log_format="eval", **how
        )
        assert log.status == "success", log.error
        return log.location.removeprefix("file://")

    return ask


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
ASKED = {"options": {"probes": {"orders": "cyclic", "distractors": False}}}
"""What an exported task asks of probes."""


def test_probes_and_orders_by_lm_eval(given, lm_eval, capsys, tmp_path, monkeypatch):
    words = ("--parts", "items,probes,orders", "--style", "letters", "--limit", "10")
    log = lm_eval(export(capsys, tmp_path, given.items, *words), tmp_path, monkeypatch)
    direct = audited(tmp_path, "probes", given.model, given.items, style="letters", limit=10, **BARE, **ASKED)
    again = audited(tmp_path, "probes", predictions=log)
    assert differences(direct, again) == []
    assert again["sees_choices_together"]


def test_easy_and_hard_items_by_lm_eval(given, lm_eval, capsys, tmp_path, monkeypatch):
    rows = [json.loads(line) for line in Path(given.items).read_text("utf-8").splitlines()]
    easy = [row["id"] for row in rows if row["label"] == 1]
    subsets = tmp_path / "easy_hard_subsets.json"
    subsets.write_text(json.dumps({"easy": easy, "hard": [row["id"] for row in rows if row["label"] != 1]}))
    declared = export(capsys, tmp_path, given.items, "--parts", "items", "--subsets", subsets)
    log = lm_eval(declared, tmp_path, monkeypatch)
    items = lines(tmp_path / "flagged.jsonl", [{**row, "easy": row["id"] in easy} for row in rows])
    direct = audited(tmp_path, "cues", given.model, str(items), **BARE)
    again = audited(tmp_path, "cues", predictions=log)
    assert again["easy_ids"] == easy
    assert differences(direct["easy_hard_gap"], again["easy_hard_gap"]) == []


def test_contrast_sets_by_lm_eval(given, lm_eval, capsys, tmp_path, monkeypatch):
    log = lm_eval(export(capsys, tmp_path, given.texts), tmp_path, monkeypatch)
    options = {"options": {"difficulty": {"measures": ("contrast",)}}}
    direct = audited(tmp_path, "difficulty", given.model, given.texts, **BARE, **options)
    again = audited(tmp_path, "difficulty", predictions=log, **options)
    assert differences(direct["contrast_sets"], again["contrast_sets"]) == []


def test_a_suite_by_lm_eval(given, lm_eval, capsys, tmp_path, monkeypatch):
    declared = export(capsys, tmp_path, given.suite, "--task", "suite")
    log = lm_eval(declared, tmp_path, monkeypatch)
    direct = behaved(capsys, tmp_path / "direct", given.model, given.suite, "--chat", "off")
    again = behaved(capsys, tmp_path / "again", given.suite, "--predictions", log)
    assert differences(direct["functionalities"], again["functionalities"]) == []
    assert f"behavior {given.suite} --predictions" in declared.read_text()


def test_probes_and_orders_by_inspect(given, inspect, capsys, tmp_path, monkeypatch):
    limit = ("--limit", "10")
    declared = export(capsys, tmp_path, given.items, "--parts", "items,probes,orders", "--to", "inspect", *limit)
    # A random model's letters are not among its likeliest 20 tokens, and its first token is what counts.
    every = len(tiny_causal_tokenizer())
    log = inspect(declared, tmp_path, monkeypatch, logprobs=True, top_logprobs=every, max_tokens=1)
    how = {"style": "letters", "scoring": "next_words", "template": LETTERS, "limit": 10}
    direct = audited(tmp_path, "probes", given.model, given.items, **how, **ASKED)
    again = audited(tmp_path, "probes", predictions=log)
    assert differences(direct, again) == []


def test_generated_answers_to_a_suite_by_inspect(given, inspect, capsys, tmp_path, monkeypatch):
    declared = export(capsys, tmp_path, given.suite, "--task", "suite", "--to", "inspect")
    log = inspect(declared, tmp_path, monkeypatch)
    words = ("--style", "letters", "--scoring", "generated", "--template", ONE_WORD)
    direct = behaved(capsys, tmp_path / "direct", given.model, given.suite, *words)
    again = behaved(capsys, tmp_path / "again", given.suite, "--predictions", log)
    assert differences(direct["functionalities"], again["functionalities"]) == []
