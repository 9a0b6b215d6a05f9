"""The way of one example, from a file to the report, as CONTRIBUTING.md tells it."""

import ast
import csv
import re
import sys
from pathlib import Path

import pytest

import rightreasons
from rightreasons.analysis.calibration.errors import calibration_of
from rightreasons.auditing import audit
from rightreasons.auditing.context import take_split
from rightreasons.auditing.page.parts import Headline
from rightreasons.auditing.page.report import render_page
from rightreasons.data.opening.files import read_file
from rightreasons.measuring.calibration import JudgedItems
from rightreasons.models.items import Items
from tiny_models import save_tiny_classifier, tiny_texts

ROOT = Path(__file__).parents[2]
SOURCE = Path(rightreasons.__file__).resolve().parent
MOMENTS = (
    read_file,  # the example is read
    take_split,  # its label becomes the model's
    Items.asked,  # the model reads it
    JudgedItems.of.__func__,  # what the model says is held against the label
    calibration_of,  # it is counted
    Headline.of.__func__,  # the count becomes a figure
    render_page,  # the figure is written
)
DECORATORS = ("foundations/sentences.py", "foundations/options.py")


def told():
    """Return the stops that CONTRIBUTING.md names: file -> functions."""
    section = (
        (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## The way of one example")[2].partition("\n## ")[0]
    )
    rows = re.findall(r"^\| \d+ \| `([\w/.]+)` \| (.+?) \|", section, re.MULTILINE)
    return {file: re.findall(r"`([\w.]+)`", functions) for file, functions in rows}


def walked(folder):
    """Return the files on the call stack at the moments, in the order in which an audit reaches them."""
    save_tiny_classifier(folder / "model")
    with (folder / "items.csv").open("w", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *zip(*tiny_texts(12), strict=True)])
    files = {}
    awaited = {function.__code__ for function in MOMENTS}

    def profile(frame, event, _):
        if frame.f_code not in awaited or event != "call":
            return
        awaited.remove(frame.f_code)
        stack = []
        while frame is not None:
            path = Path(frame.f_code.co_filename)
            if SOURCE in path.parents:
                stack.append(path.relative_to(SOURCE).as_posix())
            frame = frame.f_back
        files.update(dict.fromkeys(reversed(stack)))

    sys.setprofile(profile)
    try:
        audit(folder / "model", folder / "items.csv", out=folder / "report", questions=["calibration"], n_resamples=5)
    finally:
        sys.setprofile(None)
    return [file for file in files if file not in DECORATORS]


@pytest.mark.skipif(sys.gettrace() is not None, reason="a tracer is on")
def test_the_documented_way_is_the_one_that_an_example_goes(tmp_path):
    assert walked(tmp_path) == list(told())


def test_its_functions_are_there():
    for file, functions in told().items():
        tree = ast.parse((SOURCE / file).read_text("utf-8"))
        names = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                names |= {
                    node.name,
                    *(f"{node.name}.{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)),
                }
            elif isinstance(node, ast.FunctionDef):
                names.add(node.name)
        assert functions, file
        assert not set(functions) - names, file
