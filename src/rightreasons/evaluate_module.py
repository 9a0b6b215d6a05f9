"""The evaluate modules: found and loaded, and the mixin of all of them, with options that are declared once.

Each module is a folder (`metrics/ece`, `measurements/lmi`, …) that can be published as a Space unchanged. In a checkout
these folders are at the top; a wheel carries them as data. `evaluate` is imported only when a module is loaded.
"""

from __future__ import annotations

import copy
import functools
import inspect
import itertools
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rightreasons.core.arrays import describe_kind, find_column_classes, to_array_or_list, to_numpy
from rightreasons.core.errors import make_unknown_name_error
from rightreasons.core.label_names import (
    MatchTerms,
    check_label_names,
    format_list,
    match_columns,
    match_labels,
    resolve_labels,
)
from rightreasons.core.options import check_options
from rightreasons.core.resampling import Resampling
from rightreasons.core.validation import (
    as_ragged,
    check_bool,
    check_flags,
    check_kind,
    check_labels,
    check_same_length,
    check_texts,
    check_token_lists,
    check_vector,
)

MODULE_TYPES: Mapping[str, str] = {"metrics": "metric", "measurements": "measurement"}
"""The folder of each type of evaluate module."""


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
        >>> Path(module_path("ece")).parts[-2:]
        ('metrics', 'ece')
    """
    check_kind(name, "name", str)
    known = available_modules()
    if name not in known:
        raise make_unknown_name_error("module", name, known)
    folder = next(folder for folder, kind in MODULE_TYPES.items() if kind == known[name])
    return str(_root() / folder / name)


def load(name: str, **options: Any) -> Any:
    """Load one of this package's evaluate modules.

    The same as `evaluate.load(module_path(name), **options)`.

    Args:
        name: The module's name; `available_modules()` lists them.
        **options: Options of the module, which become the defaults of its `compute`, and the options of
            `evaluate.load` (`keep_in_memory`, `experiment_id`, …).

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


def _root() -> Path:
    package = Path(__file__).resolve().parent
    shipped = package / "_modules"
    return shipped if shipped.is_dir() else package.parents[1]


Batch = tuple[dict[str, Any], dict[tuple[str, ...], tuple[str, ...]]]
"""The column of each input, None for an omitted one, and the names of the classes of each group that names them."""


class KernelModule:
    """What all modules of this package share: declared options, and inputs in every form by every way.

    A module is `class Ece(KernelModule, evaluate.Metric)` with `_info` and `_compute`. The signature of `_compute` is
    the declaration: its positional parameters are the inputs (the features), its keyword-only parameters are the
    options, which `kernel_options` takes from the kernel. Options are accepted at load and at compute (which wins); an
    unknown one is an error at both.

    Batches are checked when they are added and stay in memory as arrays, so that `compute` gives what it gives for all
    of them at once; evaluate's Arrow file would silently cast a label 1.5 to 1. Several processes hand their items to
    one of them (`num_process` is 1).
    """

    OPTIONAL_INPUTS: ClassVar[tuple[str, ...]] = ()
    """Features that may be omitted; `_compute` then gets None."""

    CLASSES: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """Groups of inputs that have their classes in common: scores with a column per class, and labels."""

    # Attributes of the host class, declared for the type checker because the mixin precedes it.
    features: Any
    name: str
    _compute: Any

    def __init__(self, *args: Any, **options: Any) -> None:
        from evaluate import EvaluationModule

        names = self.option_names()
        self.options = {name: options.pop(name) for name in names if name in options}
        of_host = [
            name
            for name in inspect.signature(EvaluationModule.__init__).parameters
            if name != "kwargs"
        ]
        check_options(options, (*names, *of_host[1:]), f"{type(self).__name__}")
        if options.get("num_process", 1) != 1:
            raise ValueError(f"Expected `num_process` to be 1, but got {options['num_process']!r}.")
        self._batches: list[Batch] = []
        super().__init__(*args, **options)
        _let_combine_omit_inputs()

    def __len__(self) -> int:
        batches = (batch.values() for batch, _ in self._batches)
        return sum(
            len(next(column for column in columns if column is not None)) for columns in batches
        )

    @classmethod
    def option_names(cls) -> list[str]:
        """List the options of this module: the keyword-only parameters of its `_compute`."""
        parameters = inspect.signature(cls._compute).parameters.values()
        return [
            parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY
        ]

    def compute(self, **kwargs: Any) -> dict[str, Any]:
        """Compute the measure from the items added before and from these inputs.

        The items are forgotten afterwards, also where a figure is refused.
        """
        inputs, options = self._split(kwargs)
        check_options(options, self.option_names(), f"{self.name}.compute")
        options = {**self.options, **options}
        declared = inspect.signature(self._compute).parameters
        for name, value in options.items():  # the kernel checks the others
            if isinstance(declared[name].default, bool):
                options[name] = check_bool(value, name)
        batches = list(self._batches)
        if not batches or any(value is not None for value in inputs.values()):
            batches.append(self._batch(inputs, options))
        self._batches = []
        return dict(self._compute(**self._joined(batches, options), **options))

    def add_batch(self, **kwargs: Any) -> None:
        """Add a batch of inputs; a batch that is refused changes nothing."""
        inputs, others = self._split(kwargs)
        check_options(others, inputs, f"{self.name}.add_batch")
        batch = self._batch(inputs, self.options)
        self._check_alike([*self._batches[:1], batch], self.options)
        self._batches.append(
            copy.deepcopy(batch)
        )  # as a caller may use arrays and lists again for the next one

    def add(self, **kwargs: Any) -> None:
        """Add one item by `prediction=` and `reference=`, or by the inputs' own names."""
        plural = {"prediction": "predictions", "reference": "references"}
        items = {plural.get(name, name): value for name, value in kwargs.items()}
        self.add_batch(
            **{name: None if value is None else [value] for name, value in items.items()}
        )

    def _split(self, kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the inputs, None for those omitted, and the rest without the host's defaults for other modules."""
        inputs = {name: kwargs.get(name) for name in self._feature_names()}  # type: ignore[attr-defined]
        defaults = {name for name in ("predictions", "references") if kwargs.get(name) is None}
        return inputs, {
            name: value for name, value in kwargs.items() if name not in {*inputs, *defaults}
        }

    def _batch(self, inputs: Mapping[str, Any], options: Mapping[str, Any]) -> Batch:
        """Bring every input from any accepted form to an array or a list of one length, and check it."""
        missing = [
            name for name in inputs if inputs[name] is None and name not in self.OPTIONAL_INPUTS
        ]
        present = [name for name in inputs if inputs[name] is not None]
        if missing or not present:
            expected = " and ".join(f"`{name}`" for name in missing or inputs)
            got = ", ".join(f"`{name}`" for name in present) or "nothing"
            raise ValueError(f"Expected {expected} in {self.name}, but got {got}.")
        plain = dict(inputs)
        for name in present:
            dtype = getattr(self._forms()[0][name], "dtype", None)
            expected = "a sequence of texts" if dtype == "string" else "an array or a list"
            plain[name] = to_array_or_list(inputs[name], name, expected)
            if len(plain[name]) == 0:
                raise ValueError(f"Expected at least one item in `{name}`, but it is empty.")
        named = {group: self._name_classes(group, inputs, plain, options) for group in self.CLASSES}
        columns = self._checked(plain)
        check_same_length(**{name: columns[name] for name in present})
        return columns, {group: classes for group, classes in named.items() if classes}

    def _name_classes(
        self,
        group: tuple[str, ...],
        inputs: Mapping[str, Any],
        plain: dict[str, Any],
        options: Mapping[str, Any],
    ) -> tuple[str, ...]:
        """Bring the inputs of a group whose classes have names into one order of the classes; returns these names."""
        present = [name for name in group if inputs[name] is not None]
        tables = {
            name: classes for name in present if (classes := find_column_classes(inputs[name]))
        }
        class_labels = {name: names for name in present if (names := _class_label(inputs[name]))}
        kinds = {
            name: {getattr(form[name], "dtype", None) for form in self._forms()} for name in present
        }
        words = [
            name
            for name in present
            if form_of(plain[name]) == (False, True) and "string" not in kinds[name]
        ]
        named = {f"the ClassLabel of `{name}`": names for name, names in class_labels.items()}
        named |= {f"the columns of `{name}`": names for name, names in tables.items()}
        if not named and not words:
            return ()
        first = next(iter(named.items()), ("", ()))
        before = [
            ("the batches before", known[group]) for _, known in self._batches if group in known
        ]
        whose, classes = self._class_names(options, first[1]) or (*before, first)[0]
        if not classes:
            others = "`label_names`, or " if "label_names" in self.option_names() else ""
            raise TypeError(
                f"Expected whole numbers in `{words[0]}` ({others}scores in columns with the names of the classes, say "
                f"what words mean), but item 0 is {describe_kind(plain[words[0]][0])}."
            )
        for name, names_here in tables.items():
            order = match_columns(
                names_here, classes, where=f"the columns of `{name}`", classes_of=whose
            )
            plain[name] = plain[name][:, order]
        for name, names_here in class_labels.items():
            if names_here != classes:
                ids = check_labels(plain[name], len(names_here), name=name)
                terms = MatchTerms(f"the ClassLabel of `{name}`", whose)
                match = match_labels(names_here, classes, used=np.unique(ids), terms=terms)
                plain[name] = match.class_of[ids]
        bare = set[str]()
        if (
            tables and whose == f"the columns of `{next(iter(tables))}`"
        ):  # their order means nothing
            bare = {name for name in present if "int64" in kinds[name]} - {*words, *class_labels}
        for name in (*words, *bare):
            values = (
                check_labels(plain[name], name=name, minimum=None) if name in bare else plain[name]
            )
            ids = resolve_labels(values, classes, where=f"`{name}`", headings=name in bare).ids
            if (ids < 0).any():
                item = int(np.argmax(ids < 0))
                raise ValueError(
                    f"Expected a label in each item of `{name}`, but item {item} is {plain[name][item]!r}."
                )
            plain[name] = ids
        return classes

    def _class_names(
        self, options: Mapping[str, Any], columns: tuple[str, ...]
    ) -> tuple[str, tuple[str, ...]] | None:
        """Return whose names of classes count, and these names; None for those of the inputs, which are `columns`."""
        names = options.get("label_names") if self.CLASSES else None
        return None if names is None else ("`label_names`", check_label_names(names))

    def _joined(self, batches: Sequence[Batch], options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of all batches."""
        self._check_alike(batches, options)
        return {
            name: None
            if column is None
            else concatenated([columns[name] for columns, _ in batches])
            for name, column in batches[0][0].items()
        }

    def _check_alike(self, batches: Sequence[Batch], options: Mapping[str, Any]) -> None:
        """Check that batches have the same inputs in the same form, of the same classes."""
        first = batches[0][0]
        for group in self.CLASSES:
            found = {known[group] for _, known in batches if group in known}
            given = self._class_names(options, next(iter(found), ()))
            found |= {given[1]} if given else set()
            if len(found) > 1:
                got = " and ".join(sorted(map(format_list, found)))
                raise ValueError(
                    f"Expected the same classes in the same order in every batch, but got {got}."
                )
            for classes, name in itertools.product(found, group):
                column = first[name]
                if (
                    isinstance(column, np.ndarray)
                    and column.ndim > 1
                    and column.shape[1] != len(classes)
                ):
                    raise ValueError(
                        f"Expected {column.shape[1]} names of classes, one per column of `{name}`, but got "
                        f"{format_list(classes)}."
                    )
        for name in first:
            forms = {
                "nothing" if each[name] is None else form_name(form_of(each[name]))
                for each, _ in batches
            }
            if len(forms) > 1:
                got = " and ".join(sorted(forms))
                raise ValueError(
                    f"Expected one form of `{name}` in every batch of {self.name}, but got {got}."
                )
            columns = (each[name] for each, _ in batches)
            if (
                len(
                    {
                        isinstance(column, np.ndarray) and column.dtype == np.bool_
                        for column in columns
                    }
                )
                > 1
            ):
                raise TypeError(
                    f"Expected booleans or numbers in all batches of `{name}`, but some have the one, some the other."
                )

    def _forms(self) -> list[Any]:
        return self.features if isinstance(self.features, list) else [self.features]

    def _checked(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Check the kind of every input by its declared features; the kernel checks the values."""
        return {
            name: None
            if value is None
            else check_column(value, [form[name] for form in self._forms()], name)
            for name, value in inputs.items()
        }


def _class_label(column: Any) -> tuple[str, ...]:
    """Return the names of a column of `datasets` that is a ClassLabel."""
    names = getattr(getattr(column, "features", None), "names", None)
    return (
        tuple(names)
        if isinstance(names, list) and all(isinstance(name, str) for name in names)
        else ()
    )


@functools.cache
def _let_combine_omit_inputs() -> None:
    """Let `add` and `add_batch` of `evaluate.combine` omit optional inputs, which the host looks up by name."""
    from evaluate.module import CombinedEvaluations

    def completed(method: Any) -> Any:
        @functools.wraps(method)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            optional = {
                name
                for module in self.evaluation_modules
                for name in getattr(module, "OPTIONAL_INPUTS", ())
            }
            return method(
                self,
                *args,
                **dict.fromkeys(optional - {"predictions", "references", *kwargs}),
                **kwargs,
            )

        return call

    CombinedEvaluations.add = completed(CombinedEvaluations.add)
    CombinedEvaluations.add_batch = completed(CombinedEvaluations.add_batch)


def concatenated(parts: list[Any]) -> Any:
    """Join the columns of batches: an array if all are arrays of the same width, else a list of rows."""
    if len(parts) == 1:
        return parts[0]
    if (
        all(isinstance(part, np.ndarray) for part in parts)
        and len({part.shape[1:] for part in parts}) == 1
    ):
        return np.concatenate(parts)
    return [
        row for part in parts for row in (part.tolist() if isinstance(part, np.ndarray) else part)
    ]


def form_of(column: Any) -> tuple[bool, bool]:
    """Tell whether a column holds rows, and whether it holds texts."""
    if isinstance(column, np.ndarray):
        return column.ndim > 1, False
    if isinstance(column[0], (list, np.ndarray)):
        row = next(
            (row for row in column if isinstance(row, (list, np.ndarray)) and len(row)), [None]
        )
        return True, isinstance(row[0], str)
    return False, isinstance(column[0], str)


def form_of_feature(feature: Any) -> tuple[bool, bool]:
    """Tell whether a declared feature is of rows, and whether it is of texts."""
    inner = getattr(feature, "feature", None)
    return inner is not None, (inner or feature).dtype == "string"


def form_name(form: tuple[bool, bool]) -> str:
    """Name a form for an error.

    Example:
        >>> form_name((True, False)), form_name((False, True))
        ('rows of numbers', 'texts')
    """
    rows, texts = form
    return f"{'rows of ' if rows else ''}{'texts' if texts else 'numbers'}"


def check_column(value: Any, features: list[Any], name: str) -> Any:
    """Check an input by the features that fit its form, and return it as the kernels take it."""
    rows, texts = form_of(value)
    fitting = [feature for feature in features if form_of_feature(feature)[0] == rows]
    if not fitting:
        expected = form_name(form_of_feature(features[0]))
        got = (
            f"got shape {value.shape}"
            if isinstance(value, np.ndarray)
            else f"item 0 is {describe_kind(value[0])}"
        )
        raise ValueError(f"Expected {expected} in `{name}`, but {got}.")
    feature = next(
        (feature for feature in fitting if form_of_feature(feature)[1] == texts), fitting[0]
    )
    flags = (
        next((feature for feature in fitting if feature.dtype == "bool"), None)
        if not rows
        else None
    )
    if flags is not None and isinstance(value[0], (bool, np.bool_)):
        feature = flags
    if rows:
        inner = feature.feature.dtype
        if inner == "float64":
            return _score_rows(value, name)
        if inner == "int64":
            if isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.ndim == 2:
                return value.astype(np.int64, copy=False)
            return [
                check_labels(row, name=f"{name}[{index}]", minimum=None).tolist()
                for index, row in enumerate(value)
            ]
        return check_token_lists(value, name)
    if feature.dtype == "int64":
        return check_labels(value, name=name, minimum=None)
    if feature.dtype == "string":
        return check_texts(value, name, allow_empty=True)
    if feature.dtype == "bool":
        return check_flags(value, name)
    array = to_numpy(value, name)
    # Whole numbers may be classes, as the kernel sees.
    return array if array.dtype.kind in "iu" else check_vector(array, name)


def _score_rows(value: Any, name: str) -> Any:
    """Return rows of scores as one array if they have equal lengths, else as a list of rows."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiu" and value.ndim == 2:
        return value
    scores = as_ragged(value, name).table()
    return scores if isinstance(scores, np.ndarray) else [row.tolist() for row in scores]


RESAMPLING_OPTIONS = ("confidence_level", "n_resamples", "seed")
"""The options that a module has where its kernel takes a `Resampling`."""

_RESAMPLING_HELP = {
    "confidence_level": "Level of the bootstrap intervals.",
    "n_resamples": "Number of bootstrap resamples.",
    "seed": "Seed of the random draws.",
}


def kernel_options(
    *kernels: Callable[..., Any], without: Sequence[str] = ()
) -> Callable[[Any], Any]:
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
        of_kernel = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        taken = {*(parameter.name for parameter in of_kernel), *without}
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
                # A module may leave out what its kernel has no use for: nothing is drawn for a closed formula.
                values = [options[name] for name in RESAMPLING_OPTIONS if name in options]
                make = Resampling.of if resampling["default"] is None else Resampling
                options["resampling"] = make(*values)
                for name in set(RESAMPLING_OPTIONS) & set(flat) - known:
                    del options[name]
            if named_classes in kernels:
                del options["label_names"]
            return compute(self, *inputs, **options)

        parameters = [
            *of_kernel,
            *(option.replace(annotation=option.empty) for option in flat.values()),
        ]
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
                entry = (help_texts if option.name == parameter.name else _RESAMPLING_HELP).get(
                    option.name, ""
                )
                if option.default is None and option.name == "confidence_level":
                    entry = "Level of a bootstrap interval, such as 0.95; default None gives none."
                if "default" not in entry.lower():
                    default = (
                        f'"{option.default}"' if isinstance(option.default, str) else option.default
                    )
                    entry = f"{entry.rstrip('.')}. Default: {default}."
                entries.append(f"{option.name}: {entry}")
    lines = "".join(
        textwrap.fill(
            entry, 120, initial_indent=" " * 4, subsequent_indent=" " * 8, break_on_hyphens=False
        )
        + "\n"
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
    block = re.search(
        r"^Args:\n(.*?)(?=^\S|\Z)", inspect.cleandoc(docstring or ""), re.DOTALL | re.MULTILINE
    )
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
