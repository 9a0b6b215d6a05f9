"""Every block of Python in README and the pages runs, with what a reader has at hand under the names that they use."""

import contextlib
import doctest
import io
import re
from pathlib import Path

import datasets
import pytest

import rightreasons
from choice_items import good_items
from tiny_models import tiny_texts

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted(ROOT.glob("docs/*.md")),
    *sorted(ROOT.glob("docs/evidence/*.md")),
]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.fixture
def at_hand(world, monkeypatch):
    """The names that a reader has, and data sets that come from the network."""
    monkeypatch.chdir(world)
    rows = good_items(12)
    items = datasets.Dataset.from_list(
        [{**row, "id": f"item-{row['id'][1:]}"} for row in rows[1:] + rows[:1]]
    )
    if not world.joinpath("report").exists():
        named = {"text_column": "review", "label_column": "stars", "questions": ["calibration"]}
        rightreasons.audit(
            "my-model", "my_reviews.csv", out="report", progress=False, n_resamples=50, **named
        )
    load = rightreasons.load_dataset

    def load_dataset(name, *given, **named):
        return items if name == "socialiqa" else load(name, *given, **named)

    monkeypatch.setattr(rightreasons, "load_dataset", load_dataset)
    monkeypatch.setattr(rightreasons.datasets, "load_dataset", load_dataset)
    texts, numbers = tiny_texts(8)
    labels = [("negative", "positive")[number] for number in numbers]
    return {"__name__": "__main__", "texts": texts, "labels": labels, "my_items": items}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks_of_a_page_run(page, at_hand):
    for block in BLOCK.findall(page.read_text("utf-8")):
        if ">>>" in block:
            continue
        code = compile(block, str(page), "exec")
        if "..." in block:  # a call that is abridged is only read
            continue
        with contextlib.redirect_stdout(io.StringIO()):
            exec(code, at_hand)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if ">>>" in page.read_text("utf-8")], ids=lambda page: page.stem
)
def test_doctests_of_a_page(page):
    text = re.sub(
        r"^```.*$", "", page.read_text("utf-8"), flags=re.MULTILINE
    )  # a fence is not expected output
    example = doctest.DocTestParser().get_doctest(text, {}, page.stem, str(page), None)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(example)
    assert runner.summarize(verbose=False).failed == 0
