"""What a person reads is plain American English: phrases that an editor would strike are refused."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("src", "metrics", "measurements", "spaces", "docs", "datasets_scripts", "benchmarks", "experiments")
UNITS = (
    "item|example|text|row|line|token|word|piece|batch|class|label|case|functionality|run|seed|model|split|setting|"
    "prompt|question|choice|column|bin|epoch|step|chunk|cell|page|session|process|cue|fold|field|head|template"
)
THINGS = (
    "row|line|column|value|label|entry|list|figure|number|score|name|text|token|prompt|file|cell|table|result|array|"
    "record|class|choice|answer|prediction|probability|mapping|count|vector|draw|interval|plot|dict|element|flag|index"
)
# Plurals that are not verbs as well: "runs a model" and "names a class" are fine.
PLURALS = (
    "items|texts|tokens|examples|rows|choices|words|pieces|cases|numbers|columns|classes|seconds|bytes|resamples|"
    "figures|sentences|neighbors|predictions|attributions|variants|epochs|seeds|cues"
)
PHRASES = {
    r"\bparted by\b": "separated by, split on",
    rf"(?<!give )(?<!gives )(?<!giving )\b(?:one|two|a|an|\d+) (?:{THINGS}) an? (?:{UNITS})\b": "one … per …",
    rf"(?<!which )(?<!many )(?<!what )(?<!that )\b(?:{PLURALS}) an? (?:{UNITS})\b": "… per …",
    rf"\b(?:once|twice|times) an? (?:{UNITS})\b": "once per …",
    r"\bheld against\b": "compared with",
    r"\bg(?:o|oes|oing|one) round\b": "is distributed, passes",
    r"\bkin\b": "similar ones",
    r"\bas (?:it|they) stands?\b": "unchanged",
    r"\bat most so many\b": "maximum number of",
    r"\b(?:is|are|be|was|were) told(?! apart)\b": "is reported, is named",
    r"\bstands? (?:in(?! for)|at|above|below|before|beside|behind|here|there|under)\b": "is",
}
"""Pattern of each phrase -> what to write in its place."""


def python_texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield every string and every block of comments of a Python file, with its line."""
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
    block: list[str] = []
    last = -1
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        if block and token.start[0] != last + 1:
            yield last, " ".join(block)
            block = []
        block.append(token.string.lstrip("# "))
        last = token.start[0]
    if block:
        yield last, " ".join(block)


def plain_texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield every paragraph of a text file, with its first line."""
    line = 1
    for paragraph in path.read_text(encoding="utf-8").split("\n\n"):
        yield line, paragraph
        line += paragraph.count("\n") + 2


def findings(path: Path) -> list[str]:
    texts = python_texts(path) if path.suffix == ".py" else plain_texts(path)
    return [
        f"{path.relative_to(ROOT)}:{line}: …{text[max(match.start() - 30, 0) : match.end() + 30]}… write: {better}"
        for line, text in ((line, " ".join(text.split())) for line, text in texts)
        for pattern, better in PHRASES.items()
        for match in re.finditer(pattern, text, re.IGNORECASE)
    ]


def files(folder: str) -> list[Path]:
    """List the files of a folder that a person reads; "" for those at the top."""
    if not folder:
        return [path for path in ROOT.glob("*.md") if path.name != "CHANGELOG.md"]
    return sorted(path for suffix in ("py", "md", "html", "css") for path in ROOT.joinpath(folder).rglob(f"*.{suffix}"))


@pytest.mark.parametrize("folder", ["", *FOLDERS])
def test_no_phrase_that_an_editor_strikes(folder):
    assert not [finding for path in files(folder) for finding in findings(path)]


@pytest.mark.parametrize(
    "text",
    [
        "The columns of prompts, parted by commas.",
        "One row an example, in the suite's order.",
        "Items a batch.",
        "A token counts once a text.",
        "It is held against the stored answers.",
        "The files in which the data goes round.",
        "torchmetrics and its kin",
        "Taken as it stands.",
        "At most so many items of each split.",
        "The nearest names are told.",
        "What stands above it.",
    ],
)
def test_each_phrase_is_found(text, tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    path = tmp_path / "card.md"
    path.write_text(text)
    assert len(findings(path)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "A model that gives a text a label is a classifier.",
        "Two models cannot be told apart; it stands for a class.",
        "Words that stand in for others, in parts; the items that lie in [0, 1].",
        "It reads a line and holds a row.",
    ],
)
def test_idiomatic_sentences_pass(text, tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    path = tmp_path / "card.md"
    path.write_text(text)
    assert findings(path) == []


def test_docstrings_and_comments_of_code_are_read(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    path = tmp_path / "code.py"
    path.write_text('"""One row\nan item."""\nNAME = 1\n# Items\n# a batch.\n')
    assert [finding.split(": ")[0] for finding in findings(path)] == ["code.py:1", "code.py:5"]
