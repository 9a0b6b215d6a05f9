"""The cards say what the modules say, their blocks run, and their formulas are formulas."""

import json
import re
import runpy
from pathlib import Path

import pytest

from tiny_models import save_tiny_classifier

ROOT = Path(__file__).resolve().parents[2]
CARDS = sorted(path for kind in ("metrics", "measurements") for path in ROOT.glob(f"{kind}/*/README.md"))
HUB_MODEL = "textattack/bert-base-uncased-SST-2"
"""The model of an example, in the place of which a tiny one stands here."""


@pytest.fixture(scope="module")
def writer():
    return runpy.run_path(str(ROOT / "docs" / "cards.py"))


@pytest.mark.parametrize("path", CARDS, ids=lambda path: path.parent.name)
def test_generated_parts_are_those_of_the_module(path, writer):
    assert writer["card"](path) == path.read_text("utf-8"), "run `python docs/cards.py`"


@pytest.mark.parametrize("path", CARDS, ids=lambda path: path.parent.name)
def test_a_card_has_a_formula_a_way_to_load_and_values(path):
    text = path.read_text("utf-8")
    assert text.count("$$") >= 2
    assert f'evaluate.load("rightreasons/{path.parent.name}")' in text
    assert len(text.split("Values from Popular Papers")[1].split("###")[0].split()) > 15


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_tiny_classifier(tmp_path_factory.mktemp("card") / "model")


@pytest.mark.parametrize("path", CARDS, ids=lambda path: path.parent.name)
def test_blocks_of_a_card_run(path, model):
    names = {"__name__": "__main__"}
    for block in re.findall(r"^```python\n(.*?)^```", path.read_text("utf-8"), re.DOTALL | re.MULTILINE):
        if block.startswith(">>>"):  # doctests, which the contract runs
            continue
        code = compile(block.replace(json.dumps(HUB_MODEL), repr(str(model))), str(path), "exec")
        if "..." not in block:  # a call that is abridged is only read
            exec(code, names)
