"""The cards say what the modules say, and have what a card has; the contract of modules runs their examples."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CARDS = sorted(
    path for kind in ("metrics", "measurements") for path in ROOT.glob(f"{kind}/*/README.md")
)


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
    assert f'evaluate.load("{path.parent.parent.name}/{path.parent.name}")' in text
    assert len(text.split("Values from Popular Papers")[1].split("###")[0].split()) > 15
