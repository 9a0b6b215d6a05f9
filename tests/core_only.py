"""Every command and every public function where only the core is installed: `python core_only.py FOLDER` prints JSON.

The optional packages are there, but no finder finds them, which is how an environment without them looks to Python.
"""

import contextlib
import importlib
import importlib.machinery
import io
import json
import os
import sys
from pathlib import Path

Finder = importlib.machinery.PathFinder


class CoreOnly:
    """The finder of installed packages, without the optional ones."""

    find_distributions = Finder.find_distributions
    invalidate_caches = Finder.invalidate_caches
    absent: frozenset[str] = frozenset()

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return (
            None if name.partition(".")[0] in cls.absent else Finder.find_spec(name, path, target)
        )


def attempt(function):
    """The sentence that a call ends with; "" without one."""
    try:
        function()
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return ""


def public_names():
    """Return the error that looking up each public name ends with, by its dotted name."""
    from rightreasons.core.public_api import list_public_packages

    outcomes = {}
    for package in ("", *list_public_packages()):
        module = importlib.import_module(f"rightreasons.{package}".rstrip("."))
        for name in module.__all__:
            outcomes[f"{package}.{name}".lstrip(".")] = attempt(
                lambda module=module, name=name: getattr(module, name)
            )
    return outcomes


def commands(folder):
    """What each command says, run with a stand-in for every argument and required option."""
    import typer.main

    from rightreasons import cli

    def leaves(command, words):
        for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
            yield from leaves(command.get_command(None, name), [*words, name])
        if not hasattr(command, "list_commands"):
            yield words, command

    told = {}
    for words, command in leaves(typer.main.get_command(cli._app), []):
        for parameter in command.params:
            asked = parameter.param_type_name == "argument" and parameter.name in (
                "model",
                "models",
                "dataset",
            )
            is_single = parameter.nargs == 1 or parameter.name == "models"
            if parameter.required or (asked and is_single):
                value = STAND_INS.get(parameter.name, "data.csv")
                words = [
                    *words,
                    *(
                        [value]
                        if parameter.param_type_name == "argument"
                        else [parameter.opts[0], value]
                    ),
                ]
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()) as errors,
        ):
            attempt(lambda words=words: cli.main(words))
        told[" ".join(words)] = errors.getvalue()
    return told


STAND_INS = {
    "model": "model",
    "models": "model",
    "name": "sst2",
    "url": "https://example.org/data.csv",
}


def main(folder):
    Path(folder, "data.csv").write_text(
        "id,text,label\n1,a good film,1\n2,a bad film,0\n3,good,1\n4,bad,0\n", "utf-8"
    )
    os.chdir(folder)
    import rightreasons
    from rightreasons.core.extras import EXTRAS

    CoreOnly.absent = frozenset(EXTRAS)
    sys.meta_path[sys.meta_path.index(Finder)] = CoreOnly
    result = {"names": public_names(), "commands": commands(folder)}
    result["fim_difficulty"] = attempt(
        lambda: rightreasons.load("fim_difficulty").compute(data=["a good film"], model="model")
    )
    result["audit"] = attempt(lambda: rightreasons.audit("model", "data.csv", out="report"))
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1])
