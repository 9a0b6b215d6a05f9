"""Where only the core is installed, every command and every public name says in one sentence which extra it needs."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rightreasons.core.extras import EXTRAS, describe_missing_extra

SENTENCE = re.compile(
    r"This needs the package '\w+', which is not installed: pip install 'rightreasons\[(?:models|report|server)\]'\."
)
WITHOUT_MODELS = {
    *("card", "doctor", "gate", "recalibrate", "suite convert"),
    *(f"data {name}" for name in ("export", "list", "ratings read", "ratings write")),
}


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    script = Path(__file__).parents[1] / "core_only.py"
    run = [sys.executable, str(script), str(tmp_path_factory.mktemp("core"))]
    return json.loads(
        subprocess.run(run, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
    )


def test_every_command_that_needs_a_model_names_the_extra(told):
    without = set()
    for words, said in told["commands"].items():
        assert "No module named" not in said, words
        lines = [
            line for line in said.split("\n") if line and "\r" not in line
        ]  # without bars of progress
        assert len(lines) <= 1, words
        if words.startswith("demo"):
            assert said.endswith("pip install 'rightreasons[demo]'.\n")
        elif not SENTENCE.fullmatch(said.removeprefix("Error: ").strip()):
            without.add(next(name for name in WITHOUT_MODELS if words.startswith(name)))
    assert without == WITHOUT_MODELS


def test_every_public_name_is_there_or_names_the_extra(told):
    absent = {name: said for name, said in told["names"].items() if said}
    assert {"models.load_classifier", "training.DataMapCallback", "integrated_gradients"} <= set(
        absent
    )
    assert "calibration.calibration_error" in told["names"]
    assert not [name for name in absent if name.startswith(("datasets.", "io.", "cues."))]
    for name, said in absent.items():
        assert SENTENCE.fullmatch(said.removeprefix("ModuleNotFoundError: ")), name


@pytest.mark.parametrize("name", ["audit", "fim_difficulty"])
def test_what_imports_a_model_when_it_is_called_names_the_extra_too(told, name):
    assert SENTENCE.fullmatch(told[name].removeprefix("ModuleNotFoundError: "))


def test_what_is_no_model_of_torch_is_audited_without_torch(tmp_path):
    script = Path(__file__).parents[1] / "without_torch.py"
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], check=True, capture_output=True, text=True
    )
    told = json.loads(done.stdout.splitlines()[-1])
    verdicts = {
        (name, question): said
        for name, found in told["audits"].items()
        for question, said in found.items()
    }
    assert "warm" in verdicts["estimator", "shortcuts"]
    assert "gradients" in verdicts["estimator", "difficulty"]
    assert verdicts["stored", "shortcuts"].startswith("Words are swapped and the model asked again")
    assert verdicts["server", "cues"] == "No Easy and Hard items"
    assert {verdicts[name, "calibration"] for name in told["audits"]} == {"No miscalibration shown"}
    code, said = told["commands"].pop("audit")
    assert code == 2
    assert SENTENCE.fullmatch(said.removeprefix("Error: ").strip())
    assert {name: said for name, (code, said) in told["commands"].items() if code} == {}
    assert told["imported"] == []


def test_the_extras_install_what_they_are_named_for():
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8")
    for package, extra in EXTRAS.items():
        (declared,) = re.findall(rf"^{extra} = \[(.*?)\]$", project, re.MULTILINE | re.DOTALL)
        name = {"sklearn": "scikit-learn", "vl_convert": "vl-convert-python"}.get(
            package, package.replace("_", "-")
        )
        assert re.search(rf'"{name}[=>]=', declared), describe_missing_extra(package)


def test_a_model_here_needs_no_package_of_another_extra():
    script = """
import importlib, pkgutil, sys
names = "joblib distributed nltk gradio inspect_ai lm_eval gguf captum lighteval"
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
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    of_harnesses = (
        "inspect_tasks",
        "lighteval_tasks",
        "lm_eval_plugin",
    )  # they are loaded by the harness itself
    assert done.stdout.split() == [f"rightreasons.integrations.{name}" for name in of_harnesses]
