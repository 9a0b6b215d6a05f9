"""The command line: `rightreasons COMMAND …`.

`commands.json` says for each command in which module beside this one it is, what it does, which whole command lines end
its help and, under headings, which options the help shows. The module has `COMMANDS`, an app of `command_line()` by the
name of each command or group (such as `data` of `rightreasons data list`). It is imported when a command of it is asked
for, so it imports nothing heavy at the top.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import io
import json
import logging
import os
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core
import typer.main

import rightreasons
from rightreasons.core.errors import (
    USER_ERRORS,
    SetAsideWarning,
    format_error,
    is_user_error,
    make_unknown_name_error,
)
from rightreasons.core.extras import with_install_hint
from rightreasons.core.signals import catch_signals, is_progress_visible, is_quiet

TRACEBACK, JSON, QUIET = "--traceback", "--json", "--quiet"
ANYWHERE = {TRACEBACK, JSON, QUIET}
"""Flags of every command, accepted anywhere, as one adds them to the end of a line."""
HELP_ALL = "--help-all"
_INTERRUPTED = 130
"""What typer returns in place of a KeyboardInterrupt."""

wants_traceback = contextvars.ContextVar("wants_traceback", default=False)
"""Whether the command line asks for the traceback of an error."""
_outcome: contextvars.ContextVar[dict[str, Any] | None] = contextvars.ContextVar(
    "outcome", default=None
)
shows_all_options = contextvars.ContextVar("shows_all_options", default=False)
"""Whether the help that is asked for has every option."""

COMMANDS: Mapping[str, Mapping[str, Mapping[str, Any]]] = json.loads(
    Path(__file__).with_name("commands.json").read_text(encoding="utf-8")
)
"""Heading of the help -> command -> what `commands.json` says of it: help imports no module."""

ABOUT = {name: about for names in COMMANDS.values() for name, about in names.items()}
"""Command -> what `commands.json` says of it."""

SHARED = {name for name, about in ABOUT.items() if about["module"] == "ask"} | {
    "data split",
    "fine-tune",
}
"""Commands whose items are shared by the processes of a launch; the others are run by the first process alone."""


class _Group(typer.core.TyperGroup):
    """A group of commands; one that there is not is answered with those there are, the nearest first."""

    def resolve_command(self, ctx: Any, args: Any) -> Any:
        """Find the command that is typed first."""
        known = self.list_commands(ctx)
        if args and not args[0].startswith("-") and args[0].replace("_", "-") not in known:
            verbs = {
                " ".join(line.split()[1:3])
                for about in ABOUT.values()
                for line in about["examples"]
            }
            meant = sorted(verb for verb in verbs if verb.endswith(f" {args[0]}"))  # of a group
            raise make_unknown_name_error("command", args[0], meant or known)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each command with its whole first sentence."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, each.get_short_help_str(limit=1000))
                    for name, each in self.commands.items()
                ]
            )


class _Commands(_Group):
    """A group whose commands are in the modules beside this one, imported when they are asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(ABOUT)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        name = cmd_name.replace("_", "-")
        return _command(name) if name in ABOUT else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands under their headings."""
        width = max(map(len, ABOUT))
        for heading, names in COMMANDS.items():
            with formatter.section(heading):
                formatter.write_dl(
                    [(f"{name:<{width}}", about["does"]) for name, about in names.items()]
                )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit.

    The exit code is 0 when all went well; 2 on a user's error, told in one sentence; 1 when a question of an audit
    failed, or after an error that is a mistake of ours; 128 plus the number of the signal that stopped it: 130 after
    Ctrl-C, 143 after SIGTERM, 129 after SIGHUP.

    With --quiet, nothing is printed but warnings and errors. With --json, stdout is one JSON object: `exit_code`;
    `result`, what the command found, in the form of the file that it writes, or null; `printed`, the lines that it
    would have printed; and `error`, the sentence of an error, or null.

    Args:
        arguments: The arguments; None for those of this process.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    flags = ANYWHERE.intersection(words)
    wants_traceback.set(TRACEBACK in flags)
    shows_all_options.set(HELP_ALL in words)
    words = ["--help" if word == HELP_ALL else word for word in words if word not in ANYWHERE]
    # A bar per split and perturbation would bury the lines that matter.
    os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
    if not is_progress_visible():  # libraries draw theirs into files, too
        os.environ.setdefault("TQDM_DISABLE", "1")
    _never_fail_to_print()
    if os.environ.get("WORLD_SIZE", "1") != "1":
        is_first = os.environ.get("RANK", "0") == "0"
        typed = [word.replace("_", "-") for word in words[:2]]
        if SHARED.isdisjoint((*typed[:1], " ".join(typed))):
            if not is_first:
                raise SystemExit(0)
            os.environ["WORLD_SIZE"] = "1"
        elif not is_first:  # the first one tells what all of them found
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - for what Python flushes at its end
    outcome: dict[str, Any] | None = {"result": None, "error": None} if JSON in flags else None
    _outcome.set(outcome)
    lines, unseen = io.StringIO(), not flags.isdisjoint((JSON, QUIET))
    watched = is_quiet.set(unseen)
    printed = contextlib.redirect_stdout(lines if unseen else sys.stdout)
    with catch_signals() as stop_code, _plain_lines(words), printed:
        code = _run(words, stop_code)
    is_quiet.reset(watched)
    if outcome is not None:
        typer.echo(
            json.dumps({"exit_code": code, **outcome, "printed": lines.getvalue().splitlines()})
        )
    raise SystemExit(code)


def hand_over(result: Any) -> None:
    """Hand over what a command found, or a function that reads it, which is called with --json alone."""
    from rightreasons.core.results import to_plain_python

    outcome = _outcome.get()
    if outcome is not None:
        outcome["result"] = to_plain_python(result() if callable(result) else result)


def tell(line: str) -> None:
    """Tell how the work goes, on stderr; with --quiet or --json, nothing."""
    if not is_quiet.get():
        typer.echo(line, err=True)


def _run(words: Sequence[str], stop_code: Callable[[], int]) -> int:
    """Run a command and return its exit code."""
    try:
        _check_words(words)
        words = _with_options_of_file(words)
        code = typer.main.get_command(_app)(
            args=list(words), prog_name="rightreasons", standalone_mode=False
        )
        if code == _INTERRUPTED:
            raise KeyboardInterrupt
    except (typer.Abort, KeyboardInterrupt):
        _end_bars()
        typer.echo(
            "Stopped. What was computed is kept, and the same command goes on from there.", err=True
        )
        return stop_code()
    except BrokenPipeError:  # what reads our output, such as `head`, has seen enough
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - for what Python flushes at its end
        return 0
    except Exception as error:
        _end_bars()
        if hasattr(error, "show") and hasattr(error, "exit_code"):  # of typer
            if not (sentence := _misspelt(error)):
                error.show()
                return int(error.exit_code)
            error = ValueError(sentence)
        if wants_traceback.get():
            raise
        if isinstance(error, ModuleNotFoundError):
            error = with_install_hint(error)
        expected = is_user_error(error)
        more = (
            _look_at(error, words)
            if expected
            else f" Add {TRACEBACK} to see where it arose, and please report it."
        )
        known = _flags(words)
        named = [name for name in getattr(error, "option", ()) if name in known]
        sentence = f"{with_flags(format_error(error), named)}{more}"
        if (outcome := _outcome.get()) is not None:
            outcome["error"] = sentence
        typer.echo(f"Error: {sentence}", err=True)
        return 2 if expected else 1
    return int(code or 0)


def _misspelt(error: Any) -> str:
    """Say what typer refuses as anything else is said; "" for the help that it shows where nothing is typed."""
    said = error.format_message().rstrip(".")
    if said.startswith("Usage"):
        return ""
    command = error.ctx.command_path if error.ctx else "rightreasons COMMAND"
    return f"Expected what `{command} -h` lists, but got: {said[:1].lower()}{said[1:]}."


def _end_bars() -> None:
    """End the lines of progress bars that an error left open, so that a sentence has a line of its own."""
    loaded = sys.modules.get("tqdm.std")
    for bar in list(getattr(loaded.tqdm, "_instances", ())) if loaded is not None else ():
        bar.close()


@contextlib.contextmanager
def _plain_lines(words: Sequence[str]) -> Iterator[None]:
    """Print what we warn of as a line, and not with its place in the code; hubs that do not answer say so once."""
    show = warnings.showwarning
    logging.getLogger("huggingface_hub.utils._http").setLevel(
        logging.ERROR
    )  # it tells each of a dozen attempts

    def shown(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
        ours = issubclass(category, UserWarning) and str(where[0]).startswith(
            str(Path(rightreasons.__file__).parent)
        )
        if ours or issubclass(category, SetAsideWarning):
            typer.echo(with_flags(str(message), _flags(words)), err=True)
        else:
            show(message, category, *where, **more)

    warnings.showwarning = shown
    try:
        yield
    finally:
        warnings.showwarning = show


def command_line(group: type[_Group] = _Group, name: str | None = None) -> typer.Typer:
    """Return a new app for a command, or a group of commands."""
    return typer.Typer(
        cls=group,
        name=name,
        add_completion=name is not None,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )


def make_command_lines(module: str) -> dict[str, typer.Typer]:
    """Return an empty app for each command of a module, by the name of the command.

    Args:
        module: The module below `rightreasons.cli`, as in commands.json.
    """
    apps = {}
    for name, command in ABOUT.items():
        # Each command is declared once, in commands.json, which is read without its module.
        if command["module"] == module:
            apps[name] = command_line()
    return apps


_app = command_line(_Commands, "rightreasons")


@functools.cache
def _command(name: str) -> Any:
    """Return a command, or a group of commands."""
    module = import_module(f"{__name__}.{ABOUT[name]['module']}")
    command = typer.main.get_command(module.COMMANDS[name])
    command.name = name
    _add_examples(command, f"rightreasons {name}", ABOUT[name]["examples"])
    return command


def _add_examples(command: Any, words: str, examples: Sequence[str]) -> None:
    """End the help of a command, and of the commands of a group, with the examples that are about it."""
    if examples:
        command.epilog = "\b\nExamples:\n" + "\n".join(f"  {line}" for line in examples)
    for name, part in getattr(command, "commands", {}).items():
        about = f"{words} {name}"
        _add_examples(part, about, [line for line in examples if line.startswith(about)])


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(rightreasons.__version__)
        raise typer.Exit()


@_app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
    quiet: Annotated[
        bool, typer.Option(QUIET, help="For any command: print only warnings and errors.")
    ] = False,
    json: Annotated[
        bool, typer.Option(JSON, help="For any command: print the result as one JSON object.")
    ] = False,
    traceback: Annotated[
        bool, typer.Option(TRACEBACK, help="Show where an error arose (for developers).")
    ] = False,
) -> None:
    """Is your language model right for the right reasons?"""


def _with_options_of_file(words: Sequence[str]) -> Sequence[str]:
    """Put the options of the file of `rightreasons audit audit.yaml` in its place; what is typed after it wins."""
    if len(words) < 2 or words[0] != "audit" or not words[1].endswith((".yaml", ".yml")):
        return words
    from rightreasons.report.questions import read_reproduction

    return ["audit", *read_reproduction(Path(words[1])), *words[2:]]


def _check_words(words: Sequence[str]) -> None:
    """Refuse an empty word: as a path it would be the current folder, and as a list of names, none."""
    for word, before in zip(words, ("", *words), strict=False):
        name, equals, value = word.partition("=")
        if word and not (name.startswith("--") and equals and not value):
            continue
        option = name if word else before
        what = option if option.startswith("--") else "an argument"
        raise ValueError(f"Expected a value of {what}, but it is empty.")


def _look_at(error: Exception, words: Sequence[str]) -> str:
    """Name the `look` that explains what is refused about a table, where it may be settled there."""
    files = [word for word in words[1:] if Path(word).suffix and Path(word).is_file()]
    files.sort(key=lambda word: Path(word).name in str(error))
    known = {*_flags(["look"])} - {"out"}
    options = [
        name for name in getattr(error, "option", ()) if name in known or name.endswith("_column")
    ]
    if words[0] == "look" or not files or not options:
        return ""
    from rightreasons.io.reading import as_table

    try:
        with warnings.catch_warnings(action="ignore"):  # which were told when it was read
            as_table(files[-1])
    except USER_ERRORS:  # which is no table that could be shown
        return ""
    return f" `rightreasons look {shlex.quote(files[-1])}` shows what would be read."


def _flags(words: Sequence[str]) -> list[str]:
    """Return the names of the flags of a command, as Python writes them."""
    command: Any = typer.main.get_command(_app)
    for word in words:
        if not hasattr(command, "get_command"):
            break
        command = command.get_command(None, word) or command
    return [
        flag[2:].replace("-", "_")
        for option in command.params
        for flag in option.opts[:1]
        if flag.startswith("--")
    ]


def with_flags(sentence: str, names: Iterable[str], prefix: str = "") -> str:
    """Write the options of a sentence as flags of a command, such as `--label-column`."""
    for name in names:
        flag = f"--{prefix}{name.replace('_', '-')}"
        # `label_column=` of Python stands without a value, or with one.
        sentence = re.sub(rf"`{name}`|\b(?<!-){name}=(?=[ .,;]|$)", flag, sentence)
        sentence = re.sub(rf"\b(?<!-){name}=", f"{flag}=", sentence)
    return sentence


def _never_fail_to_print() -> None:
    """Let a terminal that has not all characters show a question mark for them."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
