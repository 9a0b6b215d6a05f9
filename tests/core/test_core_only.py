"""An installation without optional packages works, or names in one sentence what to install."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

SENTENCE = re.compile(
    r"This needs the package '\w+', which is not installed: "
    r".*pip install .*\[(?:models|report|server)\]'\."
)
COMMANDS_WITHOUT_MODELS = {
    "card",
    "confidence",
    "data export",
    "data gaps",
    "data issues",
    "data list",
    "data labels read",
    "data labels write",
    "data mirror read",
    "data mirror write",
    "data ratings read",
    "data ratings write",
    "doctor",
    "gate",
    "recalibrate",
    "repair",
    "replicate",
    "serve",
    "suite convert",
}


def run_python(*arguments):
    """Run Python, and return what it printed."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def messages(tmp_path_factory):
    """What commands and public names say where only the core is installed."""
    script = Path(__file__).parents[1] / "core_only.py"
    return json.loads(run_python(script, tmp_path_factory.mktemp("core")).splitlines()[-1])


def drop_progress(message):
    """Return the lines of a message but for those that say what is being done."""
    lines = []
    for line in message.split("\n"):
        # Bars return to the beginning of their line, and the first line of an audit ends in dots.
        if line and "\r" not in line and not line.endswith("…"):
            lines.append(line)
    return lines


def test_every_command_that_needs_a_model_names_the_extra(messages):
    without_models = set()
    for words, message in messages["commands"].items():
        assert "No module named" not in message, words
        lines = drop_progress(message)
        assert len(lines) <= 1, words
        if words.startswith("demo"):
            assert message.endswith("[demo]'.\n")
        elif not SENTENCE.fullmatch(" ".join(lines).removeprefix("Error: ")):
            names = [name for name in COMMANDS_WITHOUT_MODELS if words.startswith(name)]
            assert names, (words, message)
            without_models.update(names)
    assert without_models == COMMANDS_WITHOUT_MODELS


def test_every_public_name_is_there_or_names_the_extra(messages):
    missing = {name: message for name, message in messages["names"].items() if message}

    needing_models = {
        "models.load_classifier",
        "training.DataMapCallback",
        "integrated_gradients",
    }
    assert needing_models <= set(missing)
    assert "calibration.calibration_error" in messages["names"]
    assert not [name for name in missing if name.startswith(("datasets.", "io.", "cues."))]
    for name, message in missing.items():
        assert SENTENCE.fullmatch(message.removeprefix("ModuleNotFoundError: ")), name


@pytest.mark.parametrize("name", ["audit", "fim_difficulty"])
def test_a_function_that_imports_a_model_when_called_names_the_extra(messages, name):
    assert SENTENCE.fullmatch(messages[name].removeprefix("ModuleNotFoundError: "))


def test_models_other_than_those_of_torch_are_audited_without_torch(tmp_path):
    script = Path(__file__).parents[1] / "without_torch.py"

    report = json.loads(run_python(script, tmp_path).splitlines()[-1])

    audits = report["audits"]
    assert "warm" in audits["estimator"]["shortcuts"]
    assert "gradients" in audits["estimator"]["difficulty"]
    stored_verdict = audits["stored"]["shortcuts"]
    assert stored_verdict.startswith("The tests swap words and query the model again")
    assert audits["server"]["cues"] == "No Easy and Hard items"
    verdicts = {answers["calibration"] for answers in audits.values()}
    assert verdicts == {"Miscalibration neither shown nor ruled out"}

    code, message = report["commands"].pop("audit")
    assert code == 2
    (error,) = drop_progress(message)
    assert SENTENCE.fullmatch(error.removeprefix("Error: "))
    failed = {name: message for name, (code, message) in report["commands"].items() if code}
    assert failed == {}
    assert report["imported"] == []


def test_a_local_model_needs_no_package_of_another_extra():
    script = """
import importlib, pkgutil, sys
names = "joblib distributed nltk gradio inspect_ai lm_eval gguf captum lighteval evidently"
for name in names.split():
    sys.modules[name] = None
import rightreasons
for module in pkgutil.walk_packages(rightreasons.__path__, "rightreasons."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ImportError:
            print(module.name)
"""
    # The harnesses load these modules themselves.
    plugins = (
        "evidently",
        "inspect_arms",
        "inspect_engine",
        "inspect_tasks",
        "lighteval_arms",
        "lighteval_tasks",
        "lm_eval_arms",
        "lm_eval_plugin",
        "lm_eval_questions",
    )

    modules = run_python("-c", script).split()

    assert modules == [f"rightreasons.integrations.{name}" for name in plugins]
