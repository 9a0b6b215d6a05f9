"""The front door: what each wing exports, how light it is, and what each public name says of itself."""

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rightreasons.core.public_api import list_public_packages

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))
NAMES = [
    (wing, name)
    for wing in list_public_packages()
    for name in importlib.import_module(f"rightreasons.{wing}").__all__
]


def test_the_page_of_public_names_is_up_to_date():
    import api

    assert api.PAGE.read_text("utf-8") == api.page(), "run: python docs/api.py"


@pytest.mark.parametrize(("wing", "name"), NAMES, ids=lambda value: value)
def test_public_names_say_what_they_are(wing, name):
    value = getattr(importlib.import_module(f"rightreasons.{wing}"), name)
    if not callable(value):
        return
    text = inspect.getdoc(value) or ""
    first, _, rest = text.partition("\n")
    assert first.endswith((".", "?")), first
    if inspect.isfunction(value):
        parameters = [
            parameter.name
            for parameter in inspect.signature(value).parameters.values()
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        ]
        # A thin wrapper may name the function whose arguments it has.
        if not re.search(r"arguments are those of `|[Aa]s `\w+`", text):
            undocumented = [name for name in parameters if not re.search(rf"\b{name}\b", rest)]
            assert not undocumented
        assert "Returns:" in text or first.startswith(("Return ", "Check ", "Write "))


def test_one_figure_loads_nothing_heavy():
    code = (
        "import sys\nfrom rightreasons.calibration import calibration_error\n"
        "from rightreasons.cues import cue_statistics\n"
        "from rightreasons.shortcuts import lmi\nfrom rightreasons.probes import prior_bias\n"
        "calibration_error([[0.9, 0.1]], [0])\n"
        "heavy = {'evaluate', 'torch', 'datasets', 'pandas', 'transformers', 'vl_convert', 'matplotlib'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_package_itself_loads_nothing_at_all():
    code = (
        "import sys, rightreasons\n"
        "heavy = {'numpy', 'scipy', 'evaluate', 'torch', 'datasets', 'pandas', 'transformers'}\n"
        "print(sorted(heavy & set(sys.modules)), 'audit' in dir(rightreasons))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] True"


def test_the_front_door_has_the_wings_and_the_four_verbs():
    import rightreasons

    assert {"audit", "compare", "load", "load_dataset", *list_public_packages()} <= set(
        rightreasons.__all__
    )
    assert callable(rightreasons.audit)
    assert callable(rightreasons.compare)


GUESSES = {
    "rightreasons.ece": None,
    "rightreasons.brier": None,
    "rightreasons.auroc": None,
    "rightreasons.lmi": None,
    "rightreasons.prior_bias": None,
    "rightreasons.reliability_diagram": None,
    "rightreasons.load_model": None,
    "rightreasons.load_data": None,
    "rightreasons.audit": None,
    "rightreasons.compare": None,
    "rightreasons.gate": None,
    "rightreasons.fine_tune": None,
    "rightreasons.metrics": "load",
    "rightreasons.plot": "reliability_diagram",
    "rightreasons.read_audit": "report.read_audit",
    "rightreasons.shortcut_rate": "shortcut_reliance",
    "rightreasons.analysis": "calibration",
    "rightreasons.cue_statistic": "cue_statistics",
    "rightreasons.calibration.ece": "ece",
    "rightreasons.calibration.expected_calibration_error": "ece",
    "rightreasons.calibration.brier": "brier",
    "rightreasons.calibration.nll": "calibration.negative_log_likelihood",
    "rightreasons.calibration.auroc": "auroc",
    "rightreasons.calibration.f1": "training.compute_metrics",
    "rightreasons.calibration.temperature_scaling": "calibration.fit_temperature",
    "rightreasons.calibration.mce": "ece",
    "rightreasons.calibration.adaptive_ece": "ece",
    "rightreasons.shortcuts.pmi": "lmi",
    "rightreasons.shortcuts.IntegratedGradients": "integrated_gradients",
    "rightreasons.models.load": "load_model",
    "rightreasons.models.load_model": "load_model",
    "rightreasons.models.from_pretrained": "load_model",
    "rightreasons.models.eigenvalue": "models.fisher_information",
    "rightreasons.models.fisher": "models.fisher_information",
    "rightreasons.models.IntegratedGradients": "integrated_gradients",
    "rightreasons.models.attribute": "models.integrated_gradients",
    "rightreasons.io.read_csv": "load_data",
    "rightreasons.datasets.load_suite": "datasets.open_suite",
    "rightreasons.report.read_report": "report.read_audit",
    "rightreasons.ECE": "ece",
    "rightreasons.roc_auc": "auroc",
    "rightreasons.fim": "models.fisher_information",
    "rightreasons.run_audit": "audit",
    "rightreasons.compare_models": "compare",
    "rightreasons.find_cues": "cues",
    "rightreasons.hard_subset": "easy_hard_gap",
    "rightreasons.g_score": "generalization_score",
    "rightreasons.counterfactuals": "difficulty.measure_contrast_sets",
}
"""What people try first: None where it is there, else the name that the error gives."""


@pytest.mark.parametrize("guess", GUESSES)
def test_a_first_guess_is_found_or_hears_the_right_name(guess):
    home, _, name = guess.rpartition(".")
    module = importlib.import_module(home)
    if GUESSES[guess] is None:
        assert callable(getattr(module, name))
        return
    with pytest.raises(
        AttributeError, match=re.escape(f"Did you mean rightreasons.{GUESSES[guess]}?")
    ):
        getattr(module, name)
