"""The front door: what each wing exports, how light it is, and what each public name says of itself."""

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
WINGS = ("analysis", "data", "models", "measuring", "training", "auditing")
sys.path.insert(0, str(ROOT / "docs"))
NAMES = [(wing, name) for wing in WINGS for name in importlib.import_module(f"rightreasons.{wing}").__all__]


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
        "import sys\nfrom rightreasons.analysis import calibration_error, cue_statistics, lmi, prior_bias\n"
        "calibration_error([[0.9, 0.1]], [0])\n"
        "print(sorted({'evaluate', 'torch', 'datasets', 'pandas', 'transformers', 'matplotlib'} & set(sys.modules)))"
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

    assert {"audit", "compare", "load", "load_dataset", *WINGS} <= set(rightreasons.__all__)
    assert callable(rightreasons.audit)
    assert callable(rightreasons.compare)
