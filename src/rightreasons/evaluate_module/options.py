"""Options of an evaluate module, taken from the signatures of its kernels.

A kernel's options are its keyword-only parameters. `kernel_options` gives them to `_compute`, so
that a new option of a kernel appears in its module without a change there. A Space shows options
as JSON, so the parameter `resampling` of a kernel becomes three flat ones in the module.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rightreasons.core.resampling import Resampling

RESAMPLING_OPTIONS = ("confidence_level", "n_resamples", "seed")
"""Options of a module whose kernel takes a `Resampling`."""


def kernel_options(
    *kernels: Callable[..., Any], without: Sequence[str] = ()
) -> Callable[[Any], Any]:
    """Give a module's `_compute` the options of its kernels in place of `**options`.

    If several kernels have an option, the default is that of the first kernel. If a kernel takes
    `resampling`, the module has `confidence_level`, `n_resamples` and `seed` instead, and
    `_compute` receives the `Resampling` made from them. It receives None if `confidence_level` is
    None, which is allowed only if the kernel's default is None (no interval).

    Args:
        *kernels: Functions whose keyword-only parameters become options of the module.
        without: Options of the kernels that the module does not have. Parameters that `_compute`
            declares itself are not repeated either.

    Returns:
        A decorator for `def _compute(self, inputs, *, own_option=..., **options)`. The signature of
        the decorated function lists all options with their defaults.

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
        """Return a wrapper of `compute` whose keywords include the options of the kernels.

        Args:
            compute: Method `_compute` of a module.
        """
        signature = inspect.signature(compute)
        declared = []
        excluded = set(without)
        for parameter in signature.parameters.values():
            # The options of the kernels replace `**options`; other parameters are kept.
            if parameter.kind is not parameter.VAR_KEYWORD:
                declared.append(parameter)
                excluded.add(parameter.name)
        options = _collect_options(kernels, excluded)
        defaults = {name: option.default for name, option in options.items()}
        resampling = _find_resampling(kernels)

        @functools.wraps(compute)
        def compute_with_options(self: Any, *inputs: Any, **values: Any) -> Any:
            """Add the defaults of missing options, and convert them for `compute`."""
            arguments = {**defaults, **values}
            if resampling is not None:
                arguments["resampling"] = _make_resampling(arguments, resampling)
                # The options that the resampling was made from are removed, but only those that are
                # not parameters of a kernel themselves.
                replaced_names = _list_replaced_options(kernels)
                for name in replaced_names & set(options):
                    del arguments[name]
            if named_classes in kernels:
                # `KernelModule` has used the names already. Kernels only get numbers of classes.
                del arguments["label_names"]
            return compute(self, *inputs, **arguments)

        # `evaluate` and the demo of a Space read the options from the signature.
        for option in options.values():
            declared.append(option.replace(annotation=option.empty))
        compute_with_options.__signature__ = signature.replace(parameters=declared)  # type: ignore[attr-defined]
        return compute_with_options

    return decorate


def named_classes(*, label_names: Sequence[str] | None = None) -> Sequence[str] | None:
    """Declare the option `label_names`, for `kernel_options` and `describe_options`.

    `KernelModule` reads the option before any kernel is called.

    Args:
        label_names: Names of the classes 0, 1, …, by which the columns of a table and labels in
            words are matched; default: the names in a ClassLabel among the inputs, or else those of
            the columns of the first table, in their order.
    """
    return label_names


def select_options(kernel: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are keyword-only parameters of a kernel, leaving out all others.

    Args:
        kernel: A function.
        options: Options by name, for this kernel and for others.

    Example:
        >>> def kernel(values, *, scale=2.0): ...
        >>> select_options(kernel, {"scale": 3.0, "top": 5})
        {'scale': 3.0}
    """
    selected = {}
    for parameter in list_keyword_parameters(kernel):
        if parameter.name in options:
            selected[parameter.name] = options[parameter.name]
    return selected


def list_keyword_parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """List the keyword-only parameters of a function."""
    parameters = inspect.signature(function).parameters.values()
    return [parameter for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]


def list_flat_options(kernel: Callable[..., Any]) -> list[inspect.Parameter]:
    """List the options that a module has for a kernel.

    These are the keyword-only parameters of the kernel. `confidence_level`, `n_resamples` and `seed`
    replace `resampling`.

    Args:
        kernel: The function that computes the result of the module.
    """
    options = []
    for parameter in list_keyword_parameters(kernel):
        if parameter.name == "resampling":
            options.extend(_flatten_resampling(parameter))
        else:
            options.append(parameter)
    return options


def _collect_options(
    kernels: Sequence[Callable[..., Any]], excluded: set[str]
) -> dict[str, inspect.Parameter]:
    """Collect the options that a module has for its kernels.

    Args:
        kernels: Functions. If several have an option, the default is that of the first.
        excluded: Names of options that are left out.

    Returns:
        Name of the option -> parameter, with its default.
    """
    options: dict[str, inspect.Parameter] = {}
    for kernel in kernels:
        for option in list_flat_options(kernel):
            if option.name not in excluded:
                options.setdefault(option.name, option)
    return options


def _find_resampling(kernels: Sequence[Callable[..., Any]]) -> inspect.Parameter | None:
    """Return the parameter `resampling` of the first kernel that has one, or None."""
    for kernel in kernels:
        for parameter in list_keyword_parameters(kernel):
            if parameter.name == "resampling":
                return parameter
    return None


def _flatten_resampling(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    """Return the parameters `confidence_level`, `n_resamples` and `seed` in place of `resampling`.

    Args:
        parameter: Parameter `resampling` of a kernel. Its default determines the three defaults.
    """
    default = parameter.default or Resampling()
    # A kernel whose default is None computes no interval unless a level is given.
    level = None if parameter.default is None else default.level
    values = (level, default.resamples, default.seed)
    options = []
    for name, value in zip(RESAMPLING_OPTIONS, values, strict=True):
        options.append(parameter.replace(name=name, default=value))
    return options


def _make_resampling(
    arguments: Mapping[str, Any], parameter: inspect.Parameter
) -> Resampling | None:
    """Make the `Resampling` of a kernel from the flat options of a module.

    Args:
        arguments: Values of the module's options. Missing options of `RESAMPLING_OPTIONS` have the
            default of the kernel.
        parameter: Parameter `resampling` of the kernel.

    Returns:
        The resampling. If the kernel's default is None and so is the level, it is None, for no
        interval.
    """
    # A kernel whose default is None computes no interval, unless a level is passed.
    has_interval = parameter.default is not None
    default = Resampling()
    default_level = None
    if has_interval:
        default = parameter.default
        default_level = default.level
    level = arguments.get("confidence_level", default_level)
    n_resamples = arguments.get("n_resamples", default.resamples)
    seed = arguments.get("seed", default.seed)

    if has_interval:
        return Resampling(level, n_resamples, seed)
    # None if the level is None.
    return Resampling.from_options(level, n_resamples, seed)


def _list_replaced_options(kernels: Sequence[Callable[..., Any]]) -> set[str]:
    """Return the options of `RESAMPLING_OPTIONS` that no kernel has as a parameter of its own.

    A kernel receives them only as parts of its `resampling`.
    """
    names = set(RESAMPLING_OPTIONS)
    for kernel in kernels:
        for parameter in list_keyword_parameters(kernel):
            names.discard(parameter.name)
    return names
