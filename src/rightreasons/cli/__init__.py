"""The command line: `rightreasons COMMAND …`.

`main` runs a command and turns its end into an exit code and a sentence. The commands are found by
`commands.py`, their options are declared in `declared.py`, and `show.py` prints their results.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import logging
import os
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.main

import rightreasons
from rightreasons.cli.commands import (
    ABOUT,
    COMMANDS,
    HELP_ALL,
    SHARED,
    LazyGroup,
    command_line,
    make_command_lines,
    shows_all_options,
)
from rightreasons.cli.outcome import hand_over, outcome, tell, wants_traceback
from rightreasons.core.errors import USER_ERRORS, SetAsideWarning, format_error, is_user_error
from rightreasons.core.extras import with_install_hint
from rightreasons.core.sentences import pluralize
from rightreasons.core.signals import catch_signals, is_progress_visible, is_quiet

__all__ = [
    "ABOUT",
    "ANYWHERE",
    "COMMANDS",
    "SHARED",
    "command_line",
    "hand_over",
    "main",
    "make_command_lines",
    "tell",
    "wants_traceback",
    "with_flags",
]

TRACEBACK, JSON, QUIET = "--traceback", "--json", "--quiet"

ANYWHERE = {TRACEBACK, JSON, QUIET}
"""Flags of every command, accepted anywhere, because people add them to the end of a line."""

MAX_SET_ASIDE_WARNINGS = 3
"""Number of warnings about stored results that a command prints; it counts the others."""

_INTERRUPTED = 130
"""What typer returns instead of raising KeyboardInterrupt."""

_STOPPED = "Interrupted. Finished results are stored: repeat the command to resume."

_app = command_line(LazyGroup, "rightreasons")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit.

    The exit code is 0 after success; 2 after an error of the user, which is explained in one
    sentence; 1 if a question of an audit failed, a condition of `gate` is true, or the package has an
    error; and 128 plus the number of the signal that stopped the command: 130 after Ctrl-C, 143
    after SIGTERM, 129 after SIGHUP.

    With `--quiet`, only warnings and errors are printed. With `--json`, stdout is one JSON object:
    `exit_code`; `result`, the result of the command in the form of the file that it writes, or null;
    `printed`, the lines that it would have printed; and `error`, the sentence of an error, or null.

    Args:
        arguments: Words after the name of the program. If None, those of this process.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    # These flags apply to every command, and are removed before the command parses its own.
    flags = ANYWHERE.intersection(words)
    wants_traceback.set(TRACEBACK in flags)
    shows_all_options.set(HELP_ALL in words)
    words = ["--help" if word == HELP_ALL else word for word in words if word not in ANYWHERE]
    _quiet_libraries()
    _never_fail_to_print()
    _share_launch(words)

    record: dict[str, Any] | None = None
    if JSON in flags:
        record = {"result": None, "error": None}
    outcome.set(record)
    # Printed lines become part of the object with --json, and are dropped with --quiet.
    printed = io.StringIO()
    is_hidden = not flags.isdisjoint((JSON, QUIET))
    stdout = printed if is_hidden else sys.stdout
    quiet_token = is_quiet.set(is_hidden)
    with catch_signals() as stop_code, _plain_warnings(words), contextlib.redirect_stdout(stdout):
        code = _run(words, stop_code)
    is_quiet.reset(quiet_token)

    if record is not None:
        lines = printed.getvalue().splitlines()
        typer.echo(json.dumps({"exit_code": code, **record, "printed": lines}))
    raise SystemExit(code)


def _quiet_libraries() -> None:
    """Keep the libraries below from drawing progress bars that would bury our lines."""
    # datasets draws one for each split and perturbation.
    os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
    if not is_progress_visible():
        # Libraries draw their bars into files, too.
        os.environ.setdefault("TQDM_DISABLE", "1")


def _never_fail_to_print() -> None:
    """Let a terminal that lacks a character show a question mark."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]


def _share_launch(words: Sequence[str]) -> None:
    """Divide the work if a launcher such as torchrun started several processes.

    The processes share the items of the commands in `SHARED`, and only the first process prints the
    result. Any other command is run by the first process only: the other processes exit.

    Args:
        words: Words of the command line, without the name of the program.

    Raises:
        SystemExit: If this process has nothing to do.
    """
    if os.environ.get("WORLD_SIZE", "1") == "1":
        return
    is_first = os.environ.get("RANK", "0") == "0"
    # A command has one word, such as "audit", or two, such as "data split".
    command = [word.replace("_", "-") for word in words[:2]]
    is_shared = " ".join(command[:1]) in SHARED or " ".join(command) in SHARED
    if not is_shared:
        if not is_first:
            raise SystemExit(0)
        os.environ["WORLD_SIZE"] = "1"
    elif not is_first:
        # The file stays open, because Python flushes stdout when the process ends.
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115


def _run(words: Sequence[str], stop_code: Callable[[], int]) -> int:
    """Run a command and return its exit code.

    Args:
        words: Words of the command line, without the name of the program.
        stop_code: Returns the exit code after the command was stopped by a signal.
    """
    try:
        _check_words(words)
        words = _expand_audit_file(words)
        program = _load_program()
        code = program(args=list(words), prog_name="rightreasons", standalone_mode=False)
        if code == _INTERRUPTED:
            raise KeyboardInterrupt
    except (typer.Abort, KeyboardInterrupt):
        _close_bars()
        typer.echo(_STOPPED, err=True)
        return stop_code()
    except BrokenPipeError:
        # The reader of our output, such as `head`, has closed the pipe. Python flushes stdout when
        # the process ends, which must not fail again.
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        return 0
    except Exception as error:
        _close_bars()
        return _report_error(error, words)
    return int(code or 0)


@functools.cache
def _load_program() -> Any:
    """Return the group of all commands, which typer makes once from the app."""
    return typer.main.get_command(_app)


def _report_error(error: Any, words: Sequence[str]) -> int:
    """Print an error as one sentence, and return the exit code.

    Args:
        error: Any exception of a command.
        words: Words of the command line, without the name of the program.

    Returns:
        2 for an error of the user, 1 for an error of this package.

    Raises:
        Exception: The error itself, if the user asked for its traceback.
    """
    # Only errors of click and typer, which are about the command line, have these attributes.
    if hasattr(error, "show") and hasattr(error, "exit_code"):
        sentence = _describe_usage_error(error)
        if not sentence:
            error.show()
            return int(error.exit_code)
        error = ValueError(sentence)
    if wants_traceback.get():
        raise error
    if isinstance(error, ModuleNotFoundError):
        error = with_install_hint(error)

    # An error that this package raises on purpose is about the input. Any other is a mistake of the
    # package.
    if is_user_error(error):
        exit_code = 2
        hint = _suggest_look(error, words)
    else:
        exit_code = 1
        hint = f" Add {TRACEBACK} to see where it arose, and please report it."
    # Only options of this command are written as its flags.
    flags = _list_flags(words)
    options = [name for name in getattr(error, "option", ()) if name in flags]
    sentence = f"{with_flags(format_error(error), options)}{hint}"
    record = outcome.get()
    if record is not None:
        record["error"] = sentence
    typer.echo(f"Error: {sentence}", err=True)
    return exit_code


def _describe_usage_error(error: Any) -> str:
    """Return a sentence for an error of click.

    Args:
        error: A `click.UsageError`, such as one about an unknown or a missing option.

    Returns:
        A sentence such as "Expected what `rightreasons audit -h` lists, but got: no such option
        --foo."; "" if the error is the help of a command without arguments.
    """
    message = error.format_message().rstrip(".")
    if message.startswith("Usage"):
        return ""
    # Errors before a command is known have no context.
    command = "rightreasons COMMAND"
    if error.ctx:
        command = error.ctx.command_path
    parameter = getattr(error, "param", None)
    if message.startswith("Missing") and parameter is not None:
        return _describe_missing(parameter, command)
    clause = f"{message[:1].lower()}{message[1:]}"
    return f"Expected arguments that `{command} -h` lists, but got: {clause}."


def _describe_missing(parameter: Any, command: str) -> str:
    """Return the sentence for an argument or a required option that was not given.

    Args:
        parameter: A parameter of click.
        command: The command, such as "rightreasons audit".

    Returns:
        A sentence such as "Expected --train after rightreasons repair, but it is missing: labeled training
        texts: …", which ends with the help of the parameter.
    """
    name = parameter.opts[0]
    if parameter.param_type_name == "argument":
        name = parameter.metavar or parameter.name.upper()
    text = (getattr(parameter, "help", "") or "").rstrip(".")
    clause = f"{text[:1].lower()}{text[1:]}"
    return f"Expected {name} after {command}, but it is missing: {clause}."


def _close_bars() -> None:
    """Close the progress bars that an error left open, so that a sentence has its own line."""
    tqdm_module = sys.modules.get("tqdm.std")
    if tqdm_module is None:
        return
    for bar in list(getattr(tqdm_module.tqdm, "_instances", ())):
        bar.close()


@contextlib.contextmanager
def _plain_warnings(words: Sequence[str]) -> Iterator[None]:
    """Print warnings of this package without their position in the code, inside a `with` block.

    Only the first few warnings about stored results that are set aside are printed, and the number
    of the others at the end.

    Args:
        words: Words of the command line, whose options are written as flags.
    """
    # huggingface_hub logs a dozen attempts to reach the hub. The error after the last one is enough.
    hub_logger = logging.getLogger("huggingface_hub.utils._http")
    # Setting a level empties the caches of all loggers, also if the level stays the same.
    if hub_logger.level != logging.ERROR:
        hub_logger.setLevel(logging.ERROR)
    package_folder = str(Path(rightreasons.__file__).parent)
    show_warning = warnings.showwarning
    n_set_aside = 0

    def show_plainly(message: Any, category: type[Warning], filename: str, *details: Any) -> None:
        """Print a warning; replaces `warnings.showwarning`."""
        nonlocal n_set_aside
        is_ours = issubclass(category, UserWarning) and filename.startswith(package_folder)
        is_set_aside = issubclass(category, SetAsideWarning)
        if is_set_aside:
            n_set_aside += 1
        # An audit stores the results of each batch of texts in a folder, of which dozens may be
        # outdated.
        if is_set_aside and n_set_aside > MAX_SET_ASIDE_WARNINGS:
            return
        if is_ours or is_set_aside:
            typer.echo(with_flags(str(message), _list_flags(words)), err=True)
        else:
            show_warning(message, category, filename, *details)

    warnings.showwarning = show_plainly  # type: ignore[assignment]
    try:
        yield
    finally:
        warnings.showwarning = show_warning
        n_more = n_set_aside - MAX_SET_ASIDE_WARNINGS
        if n_more > 0:
            sentence = pluralize(
                n_more, "more folder of results was", "more folders of results were"
            )
            typer.echo(f"{sentence} set aside.", err=True)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(rightreasons.__version__)
        raise typer.Exit()


@_app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
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


def _expand_audit_file(words: Sequence[str]) -> Sequence[str]:
    """Replace the file of `rightreasons audit audit.yaml` by the options that it lists.

    Args:
        words: Words of the command line. Options after the file come last, and so override those of the
            file.
    """
    if len(words) < 2 or words[0] != "audit" or not words[1].endswith((".yaml", ".yml")):
        return words
    from rightreasons.report.questions import read_reproduction

    return ["audit", *read_reproduction(Path(words[1])), *words[2:]]


def _check_words(words: Sequence[str]) -> None:
    """Raise a ValueError if an argument or the value of an option is empty, as in `--out ""` or `--out=`.

    An empty path would mean the current folder, and an empty list of names no names.

    Args:
        words: Words of the command line, without the name of the program.
    """
    previous_word = ""
    for word in words:
        name, equals, value = word.partition("=")
        is_option_without_value = name.startswith("--") and equals == "=" and not value
        subject = ""
        if is_option_without_value:
            subject = name
        elif not word and previous_word.startswith("--"):
            subject = previous_word
        elif not word:
            subject = "an argument"
        if subject:
            raise ValueError(f"Expected a value of {subject}, but it is empty.")
        previous_word = word


def _suggest_look(error: Exception, words: Sequence[str]) -> str:
    """Return a sentence that recommends `rightreasons look` after an error about columns; "" otherwise.

    Args:
        error: An error of the user, whose attribute `option` names the options that caused it.
        words: Words of the command line. The file may be any of them.
    """
    files = [word for word in words[1:] if Path(word).suffix and Path(word).is_file()]
    look_options = {*_list_flags(["look"])} - {"out"}
    options = [name for name in getattr(error, "option", ()) if _is_role(name, look_options)]
    if words[0] == "look" or not files or not options:
        return ""
    # If there are several files, the one that the message names is sorted to the end.
    files.sort(key=lambda word: Path(word).name in str(error))
    file = files[-1]
    from rightreasons.io.reading import as_table

    try:
        # The command has already printed the warnings about the file.
        with warnings.catch_warnings(action="ignore"):
            as_table(file)
    except USER_ERRORS:
        # `look` cannot read the file either.
        return ""
    return f" `rightreasons look {shlex.quote(file)}` shows how the file would be read."


def _is_role(option: str, look_options: set[str]) -> bool:
    """Return whether an option names a column or its meaning, which `look` shows."""
    return option in look_options or option.endswith("_column")


def _list_flags(words: Sequence[str]) -> list[str]:
    """Return the names of the options of a command, in Python's spelling such as "label_column".

    Args:
        words: Words of a command line, which begin with the command, such as ["data", "split", …].
    """
    command = _load_program()
    for word in words:
        is_group = hasattr(command, "get_command")
        if not is_group:
            break
        # An unknown word, such as an option of the group, is skipped.
        command = command.get_command(None, word) or command
    names = []
    for parameter in command.params:
        flag = parameter.opts[0]
        if flag.startswith("--"):
            names.append(flag[2:].replace("-", "_"))
    return names


def with_flags(sentence: str, names: Iterable[str], prefix: str = "") -> str:
    """Replace the names of options in a sentence by the flags of a command.

    Args:
        sentence: A sentence with options as in Python: `label_column` in backticks, or
            label_column= before a value.
        names: Names of the options to replace.
        prefix: Beginning of the flags, such as "difficulty-".

    Example:
        >>> with_flags("Expected `label_column`, or split='test'.", ["label_column", "split"])
        "Expected --label-column, or --split='test'."
    """
    for name in names:
        flag = f"--{prefix}{name.replace('_', '-')}"
        # `NAME`, or NAME= at the end of a clause, becomes --NAME.
        sentence = re.sub(rf"`{name}`|\b(?<!-){name}=(?=[ .,;]|$)", flag, sentence)
        # NAME=value becomes --NAME=value.
        sentence = re.sub(rf"\b(?<!-){name}=", f"{flag}=", sentence)
    return sentence
