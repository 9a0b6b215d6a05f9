"""Descriptions of a module's arguments, composed from the docstrings of its kernels.

`describe_options` completes the `Args` section that a module writes for its inputs, so that an
option is documented once, in its kernel.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from rightreasons.evaluate_module.options import list_flat_options

WIDTH = 100
"""Maximum number of characters of a line of a description."""

_RESAMPLING_HELP = {
    "confidence_level": "Level of the bootstrap intervals.",
    "n_resamples": "Number of bootstrap resamples.",
    "seed": "Seed of the random draws.",
}
"""Help of the options that a module has in place of `resampling`."""

_OPTIONAL_LEVEL = "Level of a bootstrap interval, such as 0.95; default None gives none."

# The section `Args` of a Google-style docstring, up to the next line that is not indented, and an
# argument in it, up to the next line that is indented by exactly four spaces.
_ARGS_SECTION = re.compile(r"^Args:\n(.*?)(?=^\S|\Z)", re.DOTALL | re.MULTILINE)
_ARGUMENT = re.compile(r"^ {4}(\w+): (.*?)(?=^ {4}\w|\Z)", re.DOTALL | re.MULTILINE)


def describe_options(text: str, *kernels: Callable[..., Any], without: Sequence[str] = ()) -> str:
    r"""Add the options of kernels to the `Args` section of a module's description.

    Args:
        text: Description with an `Args` section of the inputs. An option that it describes keeps
            that entry.
        *kernels: Functions whose options are described, as in `kernel_options`.
        without: Options that the module does not offer, as in `kernel_options`.

    Returns:
        The description with an entry for every option. The default is added to an entry that does
        not state it.

    Example:
        >>> def kernel(values, *, scale=2.0): ...
        >>> kernel.__doc__ = "Scale values.\n\nArgs:\n    scale: The factor."
        >>> describe_options("Args:\n    values: N values.\n", kernel)
        'Args:\n    values: N values.\n    scale: The factor. Default: 2.0.\n'
    """
    # Entries that the module itself describes are kept.
    described_names = {*parse_argument_help(text), *without}
    entries = ""
    for kernel in kernels:
        help_texts = {**_RESAMPLING_HELP, **parse_argument_help(kernel.__doc__ or "")}
        for option in list_flat_options(kernel):
            if option.name not in described_names:
                described_names.add(option.name)
                entries += _format_entry(option, help_texts.get(option.name, ""))
    # The entries of the options are added at the end of the section `Args`.
    arguments, returns, remainder = text.partition("\nReturns:\n")
    return arguments + entries + returns + remainder


def parse_argument_help(docstring: str) -> dict[str, str]:
    r"""Parse the section `Args` of a Google-style docstring.

    Args:
        docstring: The docstring.

    Returns:
        Name of each argument -> its description in one line. Empty if there is no such section.

    Example:
        >>> parse_argument_help("Args:\n    n_bins: How many;\n        default 15.\nReturns:\n    x: y")
        {'n_bins': 'How many; default 15.'}
    """
    section = _ARGS_SECTION.search(inspect.cleandoc(docstring or ""))
    if section is None:
        return {}
    texts = {}
    for argument in _ARGUMENT.finditer(section.group(1)):
        name, description = argument.groups()
        # Join the lines of the description.
        texts[name] = " ".join(description.split())
    return texts


def _format_entry(option: inspect.Parameter, help_text: str) -> str:
    """Format the entry of an option for the section `Args` of a docstring.

    Args:
        option: Name and default of the option. The default is added unless `help_text` states it.
        help_text: Description of the option in one line.

    Returns:
        Wrapped and indented lines, such as "    n_bins: Number of bins. Default: 15.".
    """
    if option.name == "confidence_level" and option.default is None:
        help_text = _OPTIONAL_LEVEL
    if "default" not in help_text.lower():
        default = option.default
        if isinstance(default, str):
            default = f'"{default}"'
        help_text = f"{help_text.rstrip('.')}. Default: {default}."
    lines = textwrap.wrap(
        f"{option.name}: {help_text}",
        width=WIDTH,
        initial_indent=" " * 4,
        subsequent_indent=" " * 8,
        break_on_hyphens=False,
    )
    return "\n".join(lines) + "\n"
