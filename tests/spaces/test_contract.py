"""The app of spaces/, which has every page of the folders in it."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
SPACE = ROOT / "spaces"
FIELDS = (
    "title",
    "emoji",
    "colorFrom",
    "colorTo",
    "sdk",
    "sdk_version",
    "app_file",
    "pinned",
    "license",
    "short_description",
    "tags",
)
# The colors that the hub's cards know.
COLORS = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}


def test_front_matter_and_card():
    _, matter, card = SPACE.joinpath("README.md").read_text().split("---", 2)
    for field in FIELDS:
        assert re.search(rf"^{field}:", matter, re.MULTILINE), f"front matter lacks {field}"
    entries = yaml.safe_load(matter)
    assert (entries["sdk"], entries["app_file"], entries["license"]) == (
        "gradio",
        "app.py",
        "apache-2.0",
    )
    pinned = re.search(
        r"^gradio==(\S+)$", ROOT.joinpath("constraints.txt").read_text(), re.MULTILINE
    )
    assert entries["sdk_version"] == pinned.group(1), (
        "the version of gradio that constraints.txt pins"
    )
    assert {entries["colorFrom"], entries["colorTo"]} <= COLORS
    assert len(entries["short_description"]) <= 60, "the hub refuses more than 60 letters"
    assert "- evaluate" in matter
    assert card.strip().startswith("# ")
    requirements = SPACE.joinpath("requirements.txt").read_text().split()
    assert any(re.match(r"rightreasons\[.*\bspaces\b.*\]", line) for line in requirements)


def test_the_app_has_a_page_for_each_folder(build):
    gradio = pytest.importorskip("gradio")
    demo = build("spaces")
    assert isinstance(demo, gradio.Blocks)
    assert {handler.trigger_mode for handler in demo.fns.values()} <= {"always_last", "multiple"}
    assert {handler.api_visibility for handler in demo.fns.values()} == {"private"}
    assert len(demo.pages) == len(
        [path for path in SPACE.glob("*/") if path.joinpath("app.py").is_file()]
    )
