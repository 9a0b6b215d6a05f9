"""What the documents name exists: every dotted name of the package, and every command."""

import doctest
import fnmatch
import gzip
import importlib
import json
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

import rightreasons.cli
from rightreasons.datasets import available_datasets
from rightreasons.report.gates import gate

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted(
    path for pattern in ("*.md", "docs/**/*.md", "*s/*/README.md") for path in ROOT.glob(pattern)
)
BUNDLED_AUDITS = sorted(
    path
    for name in ("*.audit.json", "example.json.gz")
    for path in ROOT.glob(f"spaces/*/bundled/{name}")
)
SUITE_FORMAT = "rightreasons.suite"
"""What the header of a suite file names its format; not a module."""

EXAMPLE = "mean_margin"
"""The metric that CONTRIBUTING.md adds as an example."""

FOLDERS = (
    "src tests docs experiments benchmarks datasets_scripts spaces metrics measurements".split()
)
DOTTED = re.compile(r"\brightreasons(?:\.[A-Za-z_]\w*)+")
PUBLIC_PLACES = ("rightreasons.integrations",)
IMPORT = re.compile(r"from (rightreasons[\w.]*) import (\([^)]*\)|[^\n]*)")


def resolve(name: str) -> None:
    """Import the longest prefix that is a module, and get the rest by attribute."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError as error:
            if not name.startswith(str(error.name)):
                raise
            continue
        for part in parts[end:]:
            value = getattr(value, part)
        return


def dotted_names(text: str) -> Iterator[str]:
    """Yield what a document names: dotted names, and the names of imports."""
    imported = (
        f"{module}.{name}"
        for module, names in IMPORT.findall(text)
        for name in re.findall(r"(\w+)(?: as \w+)?", names.split("#")[0])
    )
    for name in (*DOTTED.findall(text), *imported):
        if name != SUITE_FORMAT and EXAMPLE not in name:
            yield name


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_dotted_names_exist(path):
    missing = []
    for name in sorted(set(dotted_names(path.read_text(encoding="utf-8")))):
        try:
            resolve(name)
        except (ImportError, AttributeError):
            missing.append(name)
    assert not missing


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_that_are_named_exist(path):
    """Links, relative to the document, and paths from the root in code."""
    text = path.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text) if "://" not in link]
    paths = re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]+)`", text)
    missing = [link for link in links if not path.parent.joinpath(link).exists()]
    missing += [name for name in paths if not ROOT.joinpath(name).exists() and EXAMPLE not in name]
    assert not missing


def slug(heading: str) -> str:
    """Return the anchor that GitHub gives to a heading."""
    return re.sub(
        r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower().strip()
    ).replace(" ", "-")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_headings_that_are_linked_exist(path):
    links = re.findall(r"\]\(([^)#\s:]*)#([^)]*)\)", path.read_text(encoding="utf-8"))
    missing = []
    for link, anchor in links:
        page = path.parent / link if link else path
        headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        missing += [f"{link}#{anchor}"] if anchor not in map(slug, headings) else []
    assert not missing


def test_what_the_paper_index_names_exists():
    """Every name in code is a dotted name or a path (see above), a data set, or a pattern of data sets."""
    text = ROOT.joinpath("docs/paper_index.md").read_text(encoding="utf-8")
    unknown = []
    for name in re.findall(r"`([^`]+)`", text):
        if (
            not DOTTED.fullmatch(name)
            and name != "rightreasons"
            and not ROOT.joinpath(name).exists()
        ):
            unknown += [] if fnmatch.filter(available_datasets(), name) else [name]
    assert not unknown


def test_targets_of_make_exist():
    """`make NAME` and `make -C benchmarks NAME`, in code."""
    missing = []
    for path in DOCUMENTS:
        text = path.read_text("utf-8")
        for folder, name in re.findall(
            r"(?:`|^ {4}|\$ )make (?:-C (\w+) )?([a-z][\w-]*)", text, re.MULTILINE
        ):
            if not re.search(
                rf"^{name}:", ROOT.joinpath(folder, "Makefile").read_text("utf-8"), re.MULTILINE
            ):
                missing.append(f"{path.name}: make {name}")
    assert not missing


def test_the_example_of_contributing_passes_our_linters(tmp_path, monkeypatch):
    """It is indented in a list."""
    text = ROOT.joinpath("CONTRIBUTING.md").read_text(encoding="utf-8")
    kernel, module = map(
        textwrap.dedent, re.findall(r"^ *```python\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)
    )
    files = {f"src/rightreasons/calibration/{EXAMPLE}.py": kernel}
    files[f"metrics/{EXAMPLE}/{EXAMPLE}.py"] = module
    for path, block in files.items():
        for command in (["check"], ["format", "--check"]):
            ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename", path, "-"]
            result = subprocess.run(
                ruff, input=block, capture_output=True, text=True, cwd=ROOT, check=False
            )
            assert result.returncode == 0, result.stdout + result.stderr
    tmp_path.joinpath("mean_margin_example.py").write_text(kernel, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    results = doctest.testmod(importlib.import_module("mean_margin_example"))
    assert (results.failed, results.attempted) == (0, 1)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_documented_names_are_public(path):
    if not re.match(
        r"README|docs/(start|recipes|tutorials)", str(path.relative_to(ROOT))
    ):  # for those who look inside
        return
    private = []
    for name in sorted(set(dotted_names(path.read_text(encoding="utf-8")))):
        home, _, last = name.rpartition(".")
        if last not in getattr(
            importlib.import_module(home), "__all__", ()
        ) and not name.startswith(PUBLIC_PLACES):
            private.append(name)
    assert not private, "not in an __all__"


def command_lines(text: str) -> Iterator[list[str]]:
    """Yield the words after `rightreasons` of every command in a document's code."""
    blocks = re.findall(r"^```\w*\n(.*?)^```|^((?: {4}\S.*\n)+)", text, re.DOTALL | re.MULTILINE)
    lines = [
        line
        for pair in blocks
        for block in pair
        for line in block.replace("\\\n", " ").splitlines()
    ]
    for code in [*lines, *re.findall(r"`(rightreasons [^`]+)`", text)]:
        match = re.match(
            r"\s*(?:\S*bin/|\$ )?rightreasons ([a-z].*)", code.split(" #")[0].replace("\\|", "|")
        )
        if match:
            yield shlex.split(match.group(1))


def command_of(words: list[str]) -> tuple[Any, str]:
    """Find a command line's command, of a group or not, and what is wrong with the words."""
    command: Any = typer.main.get_command(rightreasons.cli._app)
    name = "rightreasons"
    for word in words:
        if not hasattr(command, "get_command"):
            break
        found = command.get_command(None, word)
        if found is None:
            return command, f"{name} has no command {word!r}"
        command, name = found, f"{name} {word}"
    known = {
        option
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    wrong = [
        word
        for word in words
        if word.startswith("-")
        and word.split("=")[0] not in {*known, *rightreasons.cli.ANYWHERE, "--help"}
    ]
    return command, f"{name} has no option {', '.join(wrong)}" if wrong else ""


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_and_their_options_exist(path):
    mistakes = [command_of(words)[1] for words in command_lines(path.read_text(encoding="utf-8"))]
    assert not [mistake for mistake in mistakes if mistake]


def test_the_examples_of_the_commands_are_commands():
    lines = [line for about in rightreasons.cli.ABOUT.values() for line in about["examples"]]
    assert [shlex.split(line)[0] for line in lines] == ["rightreasons"] * len(lines)
    mistakes = [command_of(shlex.split(line)[1:])[1] for line in lines]
    assert not [mistake for mistake in mistakes if mistake]


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts_in(each)


@pytest.mark.parametrize("path", BUNDLED_AUDITS, ids=lambda path: path.parts[-3] + "/" + path.name)
def test_what_a_bundled_audit_advises_are_commands(path, tmp_path):
    written = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    record = json.loads(written)
    record = record.get("record", record)
    lines = [shlex.split(text)[1:] for text in texts_in(record) if text.startswith("rightreasons ")]
    assert lines
    file = tmp_path / "audit.json"
    file.write_text(json.dumps(record), "utf-8")
    for words in lines:
        assert not command_of(words)[1]
        command: Any = typer.main.get_command(rightreasons.cli._app)
        rest = list(words)
        while hasattr(command, "get_command"):
            command = command.get_command(None, rest.pop(0))
        command.make_context("rightreasons", rest)  # raises for a missing or a wrong word
        if words[0] == "gate":
            gate(
                file, [words[place + 1] for place, word in enumerate(words) if word == "--fail-if"]
            )


def test_names_and_commands_are_found_in_a_document():
    text = (
        "See `rightreasons.evaluate_module.load`; `rightreasons data list`.\n\n"
        "```python\nfrom rightreasons.evaluate_module import load, no_such as other\n```\n\n"
        "    rightreasons cues DATASET --no-such-option 3  # a comment\n"
    )
    assert list(dotted_names(text)) == [
        "rightreasons.evaluate_module.load",
        "rightreasons.evaluate_module",
        "rightreasons.evaluate_module.load",
        "rightreasons.evaluate_module.no_such",
    ]
    assert [command_of(words)[1] for words in command_lines(text)] == [
        "rightreasons cues has no option --no-such-option",
        "",
    ]
    with pytest.raises(AttributeError):
        resolve("rightreasons.evaluate_module.no_such")
