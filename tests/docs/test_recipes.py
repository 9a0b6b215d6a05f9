"""Every block of the recipes runs."""

import contextlib
import io
import re
import shlex
import textwrap
from pathlib import Path

import pytest

from command_line import run

pytestmark = pytest.mark.usefixtures("unrendered")

DOCS = Path(__file__).resolve().parents[2] / "docs"
RECIPES = sorted(DOCS.glob("recipes/*.md"))
BLOCK = re.compile(
    r"^```(console|python)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE
)


def commands_of(block: str) -> list[list[str]]:
    """The command lines of a block of the console, as words."""
    lines = block.replace("\\\n", " ").splitlines()
    return [shlex.split(line[2:], comments=True) for line in lines if line.startswith("$ ")]


@pytest.mark.parametrize("page", RECIPES, ids=lambda page: page.stem)
def test_blocks_of_a_recipe_run(page, world, monkeypatch, capsys):
    monkeypatch.chdir(world)
    names = {"__name__": "__main__"}
    for kind, block, told in BLOCK.findall(page.read_text("utf-8")):
        if kind == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(block, str(page), "exec"), names)
            if told:
                assert printed.getvalue() == told
            continue
        for words in commands_of(block):
            assert words[0] == "rightreasons"
            finished = run(capsys, *words[1:])
            assert finished.code == 0, f"{shlex.join(words)}: {finished.err}"


def test_every_recipe_is_on_the_site():
    text = DOCS.parent.joinpath("mkdocs.yml").read_text("utf-8")
    assert [page.stem for page in RECIPES if f"recipes/{page.name}" not in text] == []


def test_commands_are_read_over_lines():
    block = textwrap.dedent(
        """\
        $ rightreasons audit my-model \\
            data.csv  # with a comment
        what it printed
        $ rightreasons doctor
        """
    )
    assert commands_of(block) == [
        ["rightreasons", "audit", "my-model", "data.csv"],
        ["rightreasons", "doctor"],
    ]
