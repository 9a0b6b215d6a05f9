"""A group with a command that is meant where none is named: `rightreasons behavior MODEL SUITE`."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import typer.core


class DefaultGroup(typer.core.TyperGroup):
    """A group that reads `GROUP MODEL …` as `GROUP DEFAULT MODEL …` where MODEL is none of its commands.

    A word that is nearly a command is an error, and so is one that is both a command and a model's folder here, where
    what follows does not tell which is meant.
    """

    default: ClassVar[str]

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # Options before the first word are those of the default command.
        self.ignore_unknown_options = True

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        word, rest = args[0], args[1:]
        if word in self.commands:
            named = word == self.default or not (Path(word) / "config.json").is_file()
            if not named and not self.follows_command(word, rest):
                raise ValueError(
                    f"Expected one reading of {word!r}, but it is a command and the folder of a model: write ./{word} "
                    "for the model."
                )
            return super().resolve_command(ctx, args)
        near = difflib.get_close_matches(word, self.commands, n=1, cutoff=0.75)
        if near and not Path(word).exists():
            from rightreasons.foundations.validation import unknown_name  # brings numpy, which help needs not wait for

            raise unknown_name("command", word, self.commands)
        return super().resolve_command(ctx, [self.default, *args])

    def follows_command(self, word: str, rest: Sequence[str]) -> bool:
        """Tell whether what follows a word that may be a model's folder shows that the command is meant."""
        return not rest
