"""The options of a module's kernels: taken from their signatures, described by their docstrings."""

from __future__ import annotations

import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rightreasons.foundations.resampling import Resampling

RESAMPLING_OPTIONS = ("confidence_level", "n_resamples", "seed")
"""The options that a module has where its kernel takes a `Resampling`."""

_RESAMPLING_HELP = {
    "confidence_level": "Level of the bootstrap intervals.",
    "n_resamples": "Number of bootstrap resamples.",
    "seed": "Seed of the random draws.",
}


def kernel_options(*kernels: Callable[..., Any], without: Sequence[str] = ()) -> Callable[[Any], Any]:
    """Give a module's `_compute` the options of its kernels in place of `**options`.

    A kernel's options are its keyword-only parameters, so a new one appears in the module by itself. An option that
    several kernels have takes the first one's default. Where a kernel takes `resampling`, the module has the flat
    options `confidence_level`, `n_resamples` and `seed`, and `_compute` gets the `Resampling` made from them (None for
    a `confidence_level` of None where that is the kernel's default: no interval).

    Args:
        *kernels: The functions whose options are taken.
        without: Options that the module does not offer; a parameter that `_compute` names itself is not repeated.

    Returns:
        A decorator for `def _compute(self, inputs, *, own options, **options)`. The signature of the result lists all
        options with their defaults; the body gets all of them.

    Example:
        >>> def kernel(values, *, scale=2.0, resampling=None):
        ...     return scale, resampling
        >>> @kernel_options(kernel)
        ... def _compute(self, values, **options):
        ...     return kernel(values, **options)
        >>> str(inspect.signature(_compute))
        '(self, values, *, scale=2.0, confidence_level=None, n_resamples=1000, seed=0)'
        >>> _compute(None, [1], confidence_level=0.9)
        (2.0, Resampling(level=0.9, resamples=1000, seed=0))
    """

    def decorate(compute: Any) -> Any:
        signature = inspect.signature(compute)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        taken = {*(parameter.name for parameter in own), *without}
        flat: dict[str, inspect.Parameter] = {}
        resampling: dict[str, Any] = {}
        for kernel in kernels:
            for parameter in _keyword_only(kernel):
                if parameter.name == "resampling":
                    resampling.setdefault("default", parameter.default)
                for option in _flattened(parameter):
                    if option.name not in taken:
                        flat.setdefault(option.name, option)
        known = {name for kernel in kernels for name in (p.name for p in _keyword_only(kernel))}

        @functools.wraps(compute)
        def with_options(self: Any, *inputs: Any, **options: Any) -> Any:
            options = {**{name: option.default for name, option in flat.items()}, **options}
            if resampling:
                values = [options[name] for name in RESAMPLING_OPTIONS]
                make = Resampling.of if resampling["default"] is None else Resampling
                options["resampling"] = make(*values)
                for name in set(RESAMPLING_OPTIONS) & set(flat) - known:
                    del options[name]
            if named_classes in kernels:
                del options["label_names"]
            return compute(self, *inputs, **options)

        parameters = [*own, *(option.replace(annotation=option.empty) for option in flat.values())]
        with_options.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return with_options

    return decorate


def named_classes(*, label_names: Sequence[str] | None = None) -> Sequence[str] | None:
    """Declare the option `label_names`, which `KernelModule` reads, for `kernel_options` and `describe_options`.

    Args:
        label_names: Names of the classes 0, 1, …, by which the columns of a table and labels in words are matched;
            default: the names in a ClassLabel among the inputs, else those of the first table's columns in their order.
    """
    return label_names


def options_for(kernel: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Select the options that one of several kernels takes.

    Example:
        >>> def kernel(values, *, scale=2.0): ...
        >>> options_for(kernel, {"scale": 3.0, "top": 5})
        {'scale': 3.0}
    """
    names = {parameter.name for parameter in _keyword_only(kernel)}
    return {name: value for name, value in options.items() if name in names}


def describe_options(text: str, *kernels: Callable[..., Any], without: Sequence[str] = ()) -> str:
    r"""Add what the kernels' docstrings say about their options to the `Args` of a module's description.

    Args:
        text: The description, with an `Args` section of the inputs. An option that it describes is left to it.
        *kernels: As in `kernel_options`.
        without: As in `kernel_options`.

    Returns:
        The description with an entry for every option; a default that its entry lacks is added.

    Example:
        >>> def kernel(values, *, scale=2.0): ...
        >>> kernel.__doc__ = "Scale values.\n\nArgs:\n    scale: The factor."
        >>> describe_options("Args:\n    values: N values.\n", kernel)
        'Args:\n    values: N values.\n    scale: The factor. Default: 2.0.\n'
    """
    described = {*argument_help(text), *without}
    entries = []
    for kernel in kernels:
        help_texts = argument_help(kernel.__doc__ or "")
        for parameter in _keyword_only(kernel):
            for option in _flattened(parameter):
                if option.name in described:
                    continue
                described.add(option.name)
                entry = (help_texts if option.name == parameter.name else _RESAMPLING_HELP).get(option.name, "")
                if option.default is None and option.name == "confidence_level":
                    entry = "Level of a bootstrap interval, such as 0.95; default None gives none."
                if "default" not in entry.lower():
                    default = f'"{option.default}"' if isinstance(option.default, str) else option.default
                    entry = f"{entry.rstrip('.')}. Default: {default}."
                entries.append(f"{option.name}: {entry}")
    lines = "".join(
        textwrap.fill(entry, 120, initial_indent=" " * 4, subsequent_indent=" " * 8, break_on_hyphens=False) + "\n"
        for entry in entries
    )
    head, returns, tail = text.partition("\nReturns:\n")
    return head + lines + returns + tail


def argument_help(docstring: str) -> dict[str, str]:
    r"""Read what a Google-style docstring says about each argument.

    Example:
        >>> argument_help("Args:\n    n_bins: How many;\n        default 15.\n    seed: A seed.\nReturns:\n    x: y")
        {'n_bins': 'How many; default 15.', 'seed': 'A seed.'}
    """
    block = re.search(r"^Args:\n(.*?)(?=^\S|\Z)", inspect.cleandoc(docstring or ""), re.DOTALL | re.MULTILINE)
    entries = block.group(1) if block else ""
    texts: dict[str, str] = {}
    for entry in re.finditer(r"^ {4}(\w+): (.*?)(?=^ {4}\w|\Z)", entries, re.DOTALL | re.MULTILINE):
        texts[entry.group(1)] = " ".join(entry.group(2).split())
    return texts


def _keyword_only(kernel: Callable[..., Any]) -> list[inspect.Parameter]:
    parameters = inspect.signature(kernel).parameters.values()
    return [parameter for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]


def _flattened(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    """Return the options that a kernel's parameter becomes in a module: `resampling` becomes three."""
    if parameter.name != "resampling":
        return [parameter]
    default = parameter.default or Resampling()
    level = None if parameter.default is None else default.level
    values = zip(RESAMPLING_OPTIONS, (level, default.resamples, default.seed), strict=True)
    return [parameter.replace(name=name, default=value) for name, value in values]
