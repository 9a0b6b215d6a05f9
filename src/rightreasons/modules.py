"""Finds and loads the evaluate modules, and holds the mixin that they share.

Each module is a folder (`metrics/ece`, `measurements/lmi`, …) that can be published as a Space unchanged. In a checkout
these folders are at the top; a wheel carries them as data. `evaluate` is imported only when a module is loaded.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from rightreasons.foundations.arrays import ingest
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.validation import (
    as_ragged,
    check_finite_vector,
    check_flags,
    check_labels,
    check_options,
    check_same_length,
    check_texts,
    check_token_lists,
    unknown_name,
)

MODULE_TYPES: Mapping[str, str] = {"metrics": "metric", "measurements": "measurement"}
"""The folder of each type of evaluate module."""

RESAMPLING_OPTIONS = ("confidence_level", "n_resamples", "seed")
"""The options that a module has where its kernel takes a `Resampling`."""

_RESAMPLING_HELP = {
    "confidence_level": "Level of the bootstrap intervals.",
    "n_resamples": "Number of bootstrap resamples.",
    "seed": "Seed of the random draws.",
}

_HOST_OPTIONS = (
    "config_name",
    "keep_in_memory",
    "cache_dir",
    "num_process",
    "process_id",
    "seed",
    "experiment_id",
    "hash",
    "max_concurrent_cache_files",
    "timeout",
)


def available_modules() -> dict[str, str]:
    """List the evaluate modules of this package.

    Returns:
        Each module's name with its type, "metric" or "measurement", by name.

    Example:
        >>> available_modules()["ece"]
        'metric'
    """
    types = {}
    for folder, module_type in MODULE_TYPES.items():
        for path in _root().joinpath(folder).glob("*/"):
            if path.joinpath(f"{path.name}.py").is_file():
                types[path.name] = module_type
    return dict(sorted(types.items()))


def module_path(name: str) -> str:
    """Return the folder of a module, for `evaluate.load`.

    Args:
        name: The module's name, such as "ece".

    Returns:
        An absolute path, as a string because `evaluate.load` takes nothing else.

    Raises:
        ValueError: If there is no module of that name; the message gives the nearest name.

    Example:
        >>> module_path("ece").endswith(os.path.join("metrics", "ece"))
        True
    """
    known = available_modules()
    if name not in known:
        raise unknown_name("module", name, known)
    folder = next(folder for folder, kind in MODULE_TYPES.items() if kind == known[name])
    return str(_root() / folder / name)


def load(name: str, **options: Any) -> Any:
    """Load one of this package's evaluate modules.

    The same as `evaluate.load(module_path(name), **options)`.

    Args:
        name: The module's name; `available_modules()` lists them.
        **options: Options of the module, which become the defaults of its `compute`, and the options of
            `evaluate.load` (`keep_in_memory`, `experiment_id`, `num_process`, …).

    Returns:
        An `evaluate.EvaluationModule`.

    Raises:
        ValueError: If the module or an option is unknown.

    Example:
        >>> ece = load("ece", n_bins=10)
        >>> round(ece.compute(predictions=[[0.9, 0.1], [0.2, 0.8]], references=[0, 1])["ece"], 6)
        0.15
    """
    path = module_path(name)
    import evaluate

    return evaluate.load(path, module_type=available_modules()[name], **options)


# ---------------------------------------------------------------------------------------------- options of a kernel


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
            return compute(self, *inputs, **options)

        parameters = [*own, *(option.replace(annotation=option.empty) for option in flat.values())]
        with_options.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return with_options

    return decorate


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


# --------------------------------------------------------------------------------------------------------- the mixin


class KernelModule:
    """What all modules of this package share: declared options, checked input, and a way around Arrow.

    A module is `class Ece(KernelModule, evaluate.Metric)` with `_info` and `_compute`. The signature of `_compute` is
    the declaration: its positional parameters are the inputs (the features), its keyword-only parameters are the
    options, which `kernel_options` takes from the kernel. Options are accepted at load and at compute (which wins); an
    unknown one is an error at both.

    Arrays passed to `compute` go straight to `_compute`. Inputs of `add` and `add_batch` go through evaluate's Arrow
    file, which would silently cast a label 1.5 to 1, so they are checked before they are written.
    """

    OPTIONAL_INPUTS: ClassVar[tuple[str, ...]] = ()
    """Features that may be omitted; `_compute` then gets None."""

    STREAMED: ClassVar[tuple[type, ...]] = ()
    """Types of an input that `_compute` reads by itself."""

    # Attributes of the host class, declared for the type checker because the mixin precedes it.
    writer: Any
    cache_file_name: str | None
    filelock: Any
    num_process: int
    process_id: int
    features: Any
    name: str

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Pass an omitted input to `_compute` as None, also where Arrow stored a column of None for it."""
        super().__init_subclass__(**kwargs)
        kernel = cls.__dict__.get("_compute")
        if kernel is None or not cls.OPTIONAL_INPUTS:
            return

        @functools.wraps(kernel)
        def compute(self: Any, **inputs: Any) -> Any:
            for name in cls.OPTIONAL_INPUTS:
                column = inputs[name]
                if isinstance(column, list) and all(value is None for value in column):
                    inputs[name] = None
            return kernel(self, **inputs)

        cls._compute = compute  # type: ignore[attr-defined]

    def __init__(self, *args: Any, **options: Any) -> None:
        names = self.option_names()
        self.options = {name: options.pop(name) for name in names if name in options}
        check_options(options, (*names, *_HOST_OPTIONS), f"{type(self).__name__}")
        super().__init__(*args, **options)

    @classmethod
    def option_names(cls) -> list[str]:
        """List the options of this module: the keyword-only parameters of its `_compute`."""
        parameters = inspect.signature(cls._compute).parameters.values()  # type: ignore[attr-defined]
        return [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]

    def compute(self, **kwargs: Any) -> dict[str, Any] | None:
        """Compute the measure from these inputs, or from those added before.

        Inputs passed here, with nothing added before, skip the Arrow round trip: same result, same errors, and no
        temporary file.
        """
        names = self._feature_names()  # type: ignore[attr-defined]
        inputs = {name: kwargs.pop(name, None) for name in names}
        # The host's defaults for inputs that this module does not have.
        for name in ("predictions", "references"):
            if name not in names and kwargs.get(name, 0) is None:
                del kwargs[name]
        check_options(kwargs, self.option_names(), f"{self.name}.compute")
        options = {**self.options, **kwargs}
        present = [name for name in names if inputs[name] is not None]
        if present:
            self._require_inputs(present)
        elif self.writer is None and self.num_process == 1:
            required = [name for name in names if name not in self.OPTIONAL_INPUTS]
            expected = " and ".join(f"`{name}`" for name in required) or " or ".join(f"`{name}`" for name in names)
            raise ValueError(f"Expected {expected}, at compute or added before, but {self.name} has nothing.")
        if present and self.writer is None and self.num_process == 1:
            return dict(self._compute(**self._columns(inputs), **options))  # type: ignore[attr-defined]
        if present:
            self.add_batch(**inputs)
            inputs = dict.fromkeys(names)
        try:
            result: dict[str, Any] | None = super().compute(**inputs, **options)  # type: ignore[misc]
        except Exception:
            self._discard()
            raise
        return result

    def add_batch(self, **kwargs: Any) -> None:
        """Add a batch of inputs; they are checked before they are written."""
        names = self._feature_names()  # type: ignore[attr-defined]
        for name in ("predictions", "references"):
            if name not in names and kwargs.get(name, 0) is None:
                del kwargs[name]
        check_options(kwargs, names, f"{self.name}.add_batch")
        inputs = {name: kwargs.get(name) for name in names}
        self._require_inputs([name for name in names if inputs[name] is not None])
        columns = self._columns(inputs)
        n_items = len(next(column for column in columns.values() if column is not None))
        feature = self._forms()[0]
        for name, column in columns.items():
            if column is None:  # Arrow takes no missing texts.
                columns[name] = ["" if getattr(feature[name], "dtype", None) == "string" else None] * n_items
        form = self._infer_feature_from_batch(columns)  # type: ignore[attr-defined]
        if self.writer is not None and form != self.selected_feature_format:
            raise ValueError(
                f"Expected a batch in the form of those added before to {self.name}, but got another, such as rows "
                "after single values: call compute first."
            )
        is_first = self.writer is None
        try:
            super().add_batch(**columns)  # type: ignore[misc]
        except Exception:
            if is_first:
                self._discard()
            raise

    def add(self, **kwargs: Any) -> None:
        """Add one item by `prediction=` and `reference=`, or by the inputs' own names."""
        plural = {"prediction": "predictions", "reference": "references"}
        items = {plural.get(name, name): value for name, value in kwargs.items()}
        self.add_batch(**{name: None if value is None else [value] for name, value in items.items()})

    def __getstate__(self) -> dict[str, Any]:
        if self.writer is not None:
            raise TypeError(f"Expected {self.name} to hold no added items when it is pickled: call compute first.")
        # File locks of an earlier compute cannot be pickled, and no copy needs them.
        gone = ("data", "buf_writer", "filelock", "rendez_vous_lock", "filelocks", "file_paths", "cache_file_name")
        return {**self.__dict__, **dict.fromkeys(gone)}

    def _require_inputs(self, present: list[str]) -> None:
        names = self._feature_names()  # type: ignore[attr-defined]
        missing = [name for name in names if name not in present and name not in self.OPTIONAL_INPUTS]
        if missing:
            expected = " and ".join(f"`{name}`" for name in missing)
            got = ", ".join(f"`{name}`" for name in present) or "nothing"
            raise ValueError(f"Expected {expected} in {self.name}, but got only {got}.")

    def _columns(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Bring every input from any accepted form to an array or a list of one length, and check it."""
        plain = dict(inputs)
        for name, value in inputs.items():
            if value is not None and not isinstance(value, self.STREAMED):
                dtype = getattr(self._forms()[0][name], "dtype", None)
                plain[name] = ingest(value, name, "a sequence of texts" if dtype == "string" else "an array or a list")
        columns = self._checked(plain)
        present = {
            name: column
            for name, column in columns.items()
            if column is not None and not isinstance(column, self.STREAMED)
        }
        if present and check_same_length(**present) == 0:
            raise ValueError(f"Expected at least one item in `{next(iter(present))}`, but it is empty.")
        for name, column in present.items():
            _check_characters(column, name)
        return columns

    def _forms(self) -> list[Any]:
        return self.features if isinstance(self.features, list) else [self.features]

    def _checked(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Check the kind of every input by its declared feature; the kernel checks the values."""
        forms = self._forms()
        checked: dict[str, Any] = {}
        for name, value in inputs.items():
            if value is None:
                checked[name] = None
                continue
            texts = next((form[name] for form in forms if getattr(form[name], "dtype", None) == "string"), None)
            checked[name] = _check_kind(value, forms[0][name] if texts is None or not _is_text(value) else texts, name)
        return checked

    def _discard(self) -> None:
        """Forget the items of a failed computation, and release their files."""
        for path, lock in zip(
            getattr(self, "file_paths", None) or [], getattr(self, "filelocks", None) or [], strict=False
        ):
            with contextlib.suppress(OSError):
                os.remove(path)
            with contextlib.suppress(Exception):
                lock.release()
        writer, path, lock = self.writer, self.cache_file_name, self.filelock
        if writer is not None:
            with contextlib.suppress(Exception):
                writer.close()
            if path is not None:
                with contextlib.suppress(OSError):
                    os.remove(path)
        if lock is not None:
            with contextlib.suppress(Exception):
                lock.release()
        self.data = self.writer = self.buf_writer = self.file_paths = self.filelocks = None
        self.cache_file_name = self.filelock = self.selected_feature_format = None


def _is_text(value: Any) -> bool:
    """Return whether a column begins with a text."""
    return isinstance(value, Sequence) and len(value) > 0 and isinstance(value[0], str)


def _check_kind(value: Any, feature: Any, name: str) -> Any:
    if isinstance(value, list) and not value:
        raise ValueError(f"Expected at least one item in `{name}`, but it is empty.")
    dtype = getattr(feature, "dtype", None)
    if dtype == "int64":
        return check_labels(value, name=name, minimum=-1)
    if dtype == "string":
        return check_texts(value, name, allow_empty=True)
    if dtype == "bool":
        return check_flags(value, name)
    if dtype == "float64":
        return check_finite_vector(value, name)
    inner = getattr(getattr(feature, "feature", None), "dtype", None)
    if inner == "float64":
        return _score_rows(value, name)
    if inner == "int64":
        return [check_labels(row, name=f"{name}[{index}]", minimum=-1).tolist() for index, row in enumerate(value)]
    if inner == "string":
        return check_token_lists(value, name)
    return value


def _check_characters(column: Any, name: str) -> None:
    """Check that texts can be written to Arrow: half of a surrogate pair has no bytes in UTF-8."""
    if not isinstance(column, list):
        return
    for index, item in enumerate(column):
        for text in [item] if isinstance(item, str) else item if isinstance(item, list) else []:
            if not isinstance(text, str):
                break
            if text.isascii():
                continue
            try:
                text.encode()
            except UnicodeEncodeError:
                raise ValueError(
                    f"Expected texts of whole characters in `{name}`, but item {index} has half of a surrogate pair."
                ) from None


def _score_rows(value: Any, name: str) -> Any:
    """Return rows of scores as one array if they have equal lengths, else as a list of rows."""
    import numpy as np

    if isinstance(value, np.ndarray) and value.dtype.kind in "fiu" and value.ndim in (1, 2):
        return value
    rows = list(value)
    if rows and not hasattr(rows[0], "__len__"):
        return check_finite_vector(rows, name)
    ragged = as_ragged(rows, name)
    lengths = ragged.lengths
    if (lengths == lengths[0]).all():
        return ragged.values.reshape(len(rows), -1)
    return [row.tolist() for row in ragged]


def _root() -> Path:
    package = Path(__file__).resolve().parent
    shipped = package / "_modules"
    return shipped if shipped.is_dir() else package.parents[1]
