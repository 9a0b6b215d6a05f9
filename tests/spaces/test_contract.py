"""What every folder in spaces/ must be; each folder is found, none is listed."""

import re
from pathlib import Path

import pytest

from rightreasons.widget.demos import read_card

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = sorted(path for path in ROOT.joinpath("spaces").glob("*/") if path.name[0] not in "._")
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


@pytest.fixture(params=FOLDERS, ids=[path.name for path in FOLDERS])
def folder(request) -> Path:
    return request.param


def test_files_of_a_space(folder):
    for name in ("app.py", "README.md", "requirements.txt"):
        assert folder.joinpath(name).is_file(), f"{folder.name} lacks {name}"
    requirements = folder.joinpath("requirements.txt").read_text().split()
    assert any(re.match(r"rightreasons\[.*\bspaces\b.*\]", line) for line in requirements)


def test_front_matter_and_card(folder):
    text = folder.joinpath("README.md").read_text()
    matter = text.split("---")[1]
    for field in FIELDS:
        assert re.search(rf"^{field}:", matter, re.MULTILINE), f"{folder.name}: front matter lacks {field}"
    entries, card = read_card(folder / "README.md")
    assert (entries["sdk"], entries["app_file"], entries["license"]) == ("gradio", "app.py", "apache-2.0")
    pinned = re.search(r"^gradio==(\S+)$", ROOT.joinpath("constraints.txt").read_text(), re.MULTILINE)
    assert entries["sdk_version"] == pinned.group(1), "the version of gradio that constraints.txt pins"
    assert {entries["colorFrom"], entries["colorTo"]} <= COLORS
    assert len(entries["short_description"]) <= 60, "the hub refuses more than 60 letters"
    assert "- evaluate" in matter
    assert card.startswith("# ")


def test_app_builds(folder, build):
    gradio = pytest.importorskip("gradio")
    demo = build(f"spaces/{folder.name}")
    assert isinstance(demo, gradio.Blocks)
    assert {handler.trigger_mode for handler in demo.fns.values()} <= {"always_last", "multiple"}
