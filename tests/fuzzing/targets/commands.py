"""Every command, found by listing: exit codes, one sentence, and an older result left as it was."""

import contextlib
import functools
import io
import json
import os
import shutil
import tempfile
from pathlib import Path

import typer
from hypothesis import strategies as st

import rightreasons.cli as command_line
from fuzzing.damage import words
from fuzzing.judging import Target
from tiny_models import (
    save_tiny_classifier,
    save_tiny_encoder,
    save_tiny_multiple_choice,
    tiny_texts,
)
from tiny_suites import behavior_suite

ENDLESS = {("demo",), ("data", "split"), ("learn", "run")}
"""Commands that train: they are given nothing that they could train."""


def leaves(command=None, path=()):
    """Yield every command as (its words, its parameters), groups unfolded."""
    command = typer.main.get_command(command_line._app) if command is None else command
    if not hasattr(command, "list_commands"):
        yield path, command.params
        return
    for name in command.list_commands(None):
        yield from leaves(command.get_command(None, name), (*path, name))


@functools.cache
def commands():
    """The parameters of each command by its words."""
    return dict(leaves())


WORLD = tempfile.TemporaryDirectory(prefix="world-")


@functools.cache
def world():
    """A folder of models, data, suites, stored outputs and things that are none of these, gone at the end."""
    folder = Path(WORLD.name)
    save_tiny_classifier(folder / "classifier")
    save_tiny_multiple_choice(folder / "chooser")
    save_tiny_encoder(folder / "encoder")
    behavior_suite().write(folder / "suite.jsonl")
    texts, labels = tiny_texts(16)
    rows = [
        f"{text},{('negative', 'positive')[label]}"
        for text, label in zip(texts, labels, strict=True)
    ]
    (folder / "data.csv").write_text("\n".join(["text,label", *rows]), "utf-8")
    items = [
        {
            "id": f"i{n}",
            "prompt": f"rain {n}",
            "choices": [f"wet {n}", f"dry {n}"],
            "label": n * 7 // 3 % 2,
        }
        for n in range(16)
    ]
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, items)), "utf-8")
    (folder / "scores.csv").write_text(
        "p_negative,p_positive,label\n0.9,0.1,negative\n0.2,0.8,positive\n", "utf-8"
    )
    (folder / "answers.csv").write_text(
        "prediction\n" + "0\n" * behavior_suite().n_examples, "utf-8"
    )
    (folder / "empty.csv").touch()
    (folder / "binary.csv").write_bytes(bytes(range(256)) * 9)
    (folder / "binary.jsonl").write_bytes(bytes(range(256)) * 9)
    (folder / "folder.csv").mkdir()
    (folder / "hollow").mkdir()
    (folder / "broken").mkdir()
    (folder / "broken" / "config.json").write_text("{", "utf-8")
    (folder / "report").mkdir()
    (folder / "report" / "audit.json").write_text("{}", "utf-8")
    return folder


def paths():
    """The things of the world by name, and some that are not there."""
    return st.sampled_from(
        [
            *sorted(path.name for path in world().iterdir()),
            "nope",
            "no/such/path",
            "",
            ".",
            "/proc/x",
            "data.csv/x",
            "\x00",
            "a" * 300,
        ]
    )


@st.composite
def lines(draw):
    """The words of a command line."""
    path = draw(st.sampled_from(sorted(commands())))
    given = list(path)
    trains = path in ENDLESS
    options = [
        p
        for p in commands()[path]
        if p.param_type_name == "option" and p.name not in ("help", "out", "seed")
    ]
    for argument in (p for p in commands()[path] if p.param_type_name == "argument"):
        for _ in range(draw(st.integers(0, 2)) if argument.nargs == -1 else 1):
            given.append("nope" if trains else draw(likely(argument.name) | paths() | words))
    if trains and path != ("learn", "run"):
        given += ["--out", "data.csv"]
    for option in (
        draw(st.lists(st.sampled_from(options), max_size=3, unique_by=lambda p: p.name))
        if options
        else ()
    ):
        given.append(draw(st.sampled_from([*option.opts, *option.secondary_opts])))
        if not option.is_flag:
            given.append(draw(value_of(option)))
    for option in options:
        if option.required and not set(option.opts) & set(given):
            given += [option.opts[0], draw(likely(option.name) | paths())]
    if (
        draw(st.booleans())
        and not trains
        and any(p.name == "out" for p in commands()[path] if p.param_type_name == "option")
    ):
        given += ["--out", draw(st.sampled_from(["old", "new/folder"]) | paths())]
    return [word for word in given if "\ud800" not in word]


def likely(name):
    """Things of the kind that an argument asks for."""
    known = {
        "model": ["classifier", "chooser"],
        "models": ["classifier"],
        "dataset": ["data.csv", "items.jsonl", "planted_shortcuts"],
        "suite": ["suite.jsonl"],
        "first": ["report"],
        "second": ["report"],
        "predictions": ["answers.csv", "scores.csv"],
        "data": ["data.csv"],
        "file": ["scores.csv"],
        "name": ["sst2"],
    }
    return st.sampled_from(known.get(name, ["old"]))


def value_of(option):
    """Values that an option may be given."""
    some = [
        "0",
        "1",
        "2",
        "-1",
        "1.5",
        "nan",
        "inf",
        "1e400",
        "9" * 30,
        "",
        ",",
        "a,b",
        "x",
        "text",
        "label",
    ]
    kind = getattr(option, "type", None)
    choices = list(getattr(kind, "choices", ())) or ["calibration", "mean", "negative"]
    return st.sampled_from(some) | st.sampled_from(choices) | words | paths()


def tree(folder):
    """What a folder holds, by name."""
    contents = {}
    # Called before and after each command: `Path.rglob` would take several times as long.
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    contents[os.path.relpath(path, folder)] = file.read()
    return contents


def check(value, folder):
    for each in world().iterdir():
        (shutil.copytree if each.is_dir() else shutil.copy)(each, folder / each.name)
    old = folder / "old"
    old.mkdir()
    for name in ("index.html", "audit.json", "pass_rates.json"):
        (old / name).write_text("an older result", "utf-8")
    before = tree(folder)
    out, errors = io.StringIO(), io.StringIO()
    here = Path.cwd()
    os.chdir(folder)
    code = None
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            command_line.main(value)
    except SystemExit as stopped:
        code = stopped.code or 0
    finally:
        os.chdir(here)
    told = errors.getvalue()
    assert code in (0, 1, 2), f"{value}: exit code {code}"
    assert "Traceback" not in told, f"{value}: {told}"
    if code == 2:
        after = tree(folder)
        changed = sorted(name for name in before if after.get(name) != before[name])
        assert not changed, f"{value}: exit code 2, but {changed} changed"
        if told.startswith("Usage: ") and len(value) == 1:
            return  # a command alone shows its help
        sentences = [line for line in told.splitlines() if line.startswith("Error: ")]
        assert len(sentences) == 1, f"{value}: {told}"
        if "Usage: " not in told:
            assert "Expected" in sentences[0], f"{value}: {told}"


TARGETS = [Target("commands", st.deferred(lines), check, 6)]
