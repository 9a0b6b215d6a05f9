"""The commands there are, from `commands.json`, and the groups that find them.

`commands.json` gives each command a heading of the help, the module of this folder that defines it,
one line, examples, and the options that its help shows. A module has `COMMANDS`, an app of
`command_line()` for each command or group. `LazyGroup` imports a module when a command of it is
typed, so the help and an error in a name import none.
"""

from __future__ import annotations

import contextvars
import functools
import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
import typer.core
import typer.main

from rightreasons.core.errors import make_unknown_name_error

HELP_ALL = "--help-all"

MAX_SHOWN_OPTIONS = 15
"""Number of options that the help of a command shows. `--help-all` shows the others too."""

COMMANDS: Mapping[str, Mapping[str, Mapping[str, Any]]] = json.loads(
    Path(__file__).with_name("commands.json").read_text(encoding="utf-8")
)
"""Heading of the help -> command -> its entry in `commands.json`."""

ABOUT: dict[str, Mapping[str, Any]] = {}
"""Command -> its entry in `commands.json`."""
for _commands in COMMANDS.values():
    ABOUT.update(_commands)

SHARED = {"data split", "fine-tune"}
"""Commands whose items all processes of a launch share. The first process alone runs the others."""
for _name, _entry in ABOUT.items():
    # The commands of this module run a model.
    if _entry["module"] == "ask":
        SHARED.add(_name)

shows_all_options = contextvars.ContextVar("shows_all_options", default=False)
"""Whether the help shows every option."""


class CommandGroup(typer.core.TyperGroup):
    """Group of commands that answers an unknown command with the most similar known ones."""

    def resolve_command(self, ctx: Any, args: Any) -> Any:
        """Find the command that was typed; called by click.

        Args:
            ctx: Context of click.
            args: Words after the name of the group.

        Raises:
            ValueError: If the command is unknown; the message suggests similar ones.
        """
        known_commands = self.list_commands(ctx)
        is_flag = not args or args[0].startswith("-")
        if not is_flag and args[0].replace("_", "-") not in known_commands:
            # The word may be a command of a group, such as `plan` of `learn`.
            nested_commands = _list_nested_commands(args[0])
            raise make_unknown_name_error("command", args[0], nested_commands or known_commands)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each command with its whole first sentence, which click would truncate."""
        lines = []
        for name, command in self.commands.items():
            lines.append((name, command.get_short_help_str(limit=1000)))
        with formatter.section("Commands"):
            formatter.write_dl(lines)


class LazyGroup(CommandGroup):
    """Group of the commands of `commands.json`, whose modules are imported on demand."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands."""
        return list(ABOUT)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import a command. Returns None if it is unknown."""
        name = cmd_name.replace("_", "-")
        return load_command(name) if name in ABOUT else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands under their headings; called by click for the help.

        Args:
            ctx: Context of click.
            formatter: Formatter of click, which writes sections of (name, help) pairs.
        """
        # All names are padded to the same width, so that the sections are aligned with each other.
        width = max(map(len, ABOUT))
        for heading, commands in COMMANDS.items():
            lines = []
            for name, entry in commands.items():
                padded_name = name.ljust(width)
                lines.append((padded_name, entry["does"]))
            with formatter.section(heading):
                formatter.write_dl(lines)


class GroupedCommand(typer.core.TyperCommand):
    """Command whose help shows a few of its options under headings.

    Attributes:
        groups: Heading -> names of its options, separated by spaces. If empty, the help shows the
            first `MAX_SHOWN_OPTIONS` options.
    """

    groups: Mapping[str, str] = {}

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options by heading, then the help options; called by click.

        Args:
            ctx: Context of click.
            formatter: Formatter of click, which writes sections of (name, help) pairs.
        """
        sections: dict[str, list[Any]] = {"Arguments": []}
        # Name -> option, for the options that are not yet in a section.
        remaining: dict[str, Any] = {}
        for parameter in self.get_params(ctx):
            if parameter.param_type_name == "argument":
                sections["Arguments"].append(parameter.get_help_record(ctx))
            elif parameter.name != "help":
                remaining[parameter.opts[0].lstrip("-")] = parameter

        for heading, names in self.groups.items():
            sections[heading] = []
            for name in names.split():
                # A heading may name options that only another command has.
                if name in remaining:
                    option: Any = remaining.pop(name)
                    sections[heading].append(option.get_help_record(ctx))
        n_ungrouped = self._count_ungrouped(len(remaining))
        for name in list(remaining)[:n_ungrouped]:
            option = remaining.pop(name)
            heading = option.rich_help_panel or "Options"
            sections.setdefault(heading, []).append(option.get_help_record(ctx))

        sections["Help"] = [("-h, --help", "Show this message and exit.")]
        if remaining:
            text = f"Show all options ({len(remaining)} more)."
            sections["Help"].append((HELP_ALL, text))
        for heading, lines in sections.items():
            if lines:
                with formatter.section(heading):
                    formatter.write_dl(lines)

    def _count_ungrouped(self, n_options: int) -> int:
        """Return how many options without a heading the help shows.

        Args:
            n_options: Number of options without a heading.
        """
        if shows_all_options.get():
            return n_options
        if self.groups:
            return 0
        # `--help` and `--help-all` count as shown options, too.
        return MAX_SHOWN_OPTIONS - 2


def command_line(group: type[CommandGroup] = CommandGroup, name: str | None = None) -> typer.Typer:
    """Return a new app of typer for a command or a group of commands.

    Args:
        group: Class of the group.
        name: Name of the program, for the app of all commands; it offers shell completion. None for
            a single command or a group.
    """
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
        module: Module below `rightreasons.cli`, as in `commands.json`.
    """
    apps = {}
    for name, entry in ABOUT.items():
        if entry["module"] == module:
            apps[name] = command_line()
    return apps


@functools.cache
def load_command(name: str) -> Any:
    """Import a command or a group of commands, and add its examples to its help.

    Args:
        name: Name of a command in `commands.json`.

    Returns:
        The command of click.
    """
    entry = ABOUT[name]
    module = import_module(f"{__package__}.{entry['module']}")
    command = typer.main.get_command(module.COMMANDS[name])
    command.name = name
    _add_examples(command, f"rightreasons {name}", entry["examples"])
    return command


def _add_examples(command: Any, words: str, examples: Sequence[str]) -> None:
    """Append examples to the help of a command, and of each command of a group.

    Args:
        command: A command of click, which is modified.
        words: Beginning of the command line, such as "rightreasons data".
        examples: Command lines, which begin with these words.
    """
    if examples:
        # A line "\b" keeps click from wrapping the paragraph.
        lines = ["\b", "Examples:"]
        for line in examples:
            lines.append(f"  {line}")
        command.epilog = "\n".join(lines)
    # Only a group has the attribute `commands`.
    for name, subcommand in getattr(command, "commands", {}).items():
        start = f"{words} {name}"
        subcommand_examples = [line for line in examples if line.startswith(start)]
        _add_examples(subcommand, start, subcommand_examples)


def _list_nested_commands(name: str) -> list[str]:
    """Return the sorted commands of groups with a certain name, such as ["learn plan"] for "plan".

    They are found in the examples of `commands.json`, so that no module of a group is imported.
    """
    matches = set()
    for entry in ABOUT.values():
        for line in entry["examples"]:
            # "rightreasons learn plan …" has the command at its second and third word.
            words = line.split()
            command = " ".join(words[1:3])
            if command.endswith(f" {name}"):
                matches.add(command)
    return sorted(matches)
