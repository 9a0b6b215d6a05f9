"""The base of all evaluate modules of this package.

`KernelModule` parses the inputs of a module once, keeps batches in memory, and calls `_compute` of
the module, which passes them to a kernel.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from rightreasons.core.arrays import describe_kind, find_column_classes, to_array_or_list
from rightreasons.core.labels.names import check_label_names
from rightreasons.core.options import check_options
from rightreasons.core.validation import check_bool, check_same_length
from rightreasons.evaluate_module.batches import (
    Batch,
    Group,
    check_class_names,
    check_forms,
    join_batches,
)
from rightreasons.evaluate_module.class_names import (
    ClassColumn,
    ClassNames,
    find_class_names,
    match_classes,
    read_label_names,
)
from rightreasons.evaluate_module.columns import (
    DeclaredType,
    parse_column,
    read_declared_type,
)
from rightreasons.evaluate_module.hosts import repair_host
from rightreasons.evaluate_module.options import list_keyword_parameters

_PLURALS = {"prediction": "predictions", "reference": "references"}
"""Name of an input by the name that `add` has for one item of it."""


class KernelModule:
    """Mixin of all modules: declared options, and inputs of every form, at once or in batches.

    A module is `class Ece(KernelModule, evaluate.Metric)` with `_info` and `_compute`. The
    signature of `_compute` declares its inputs (positional parameters, named like the features)
    and its options (keyword-only parameters, from `kernel_options`). Options are accepted by
    `load` and by `compute`, which has precedence. Both refuse unknown options.

    Batches are parsed when they are added and stay in memory, so that `compute` gives the result of
    all items at once. The Arrow file of evaluate would silently cast a label 1.5 to 1. Several
    processes gather their items in one of them: `num_process` is 1.
    """

    OPTIONAL_INPUTS: ClassVar[tuple[str, ...]] = ()
    """Inputs that may be omitted. `_compute` then receives None."""

    CLASS_GROUPS: ClassVar[tuple[Group, ...]] = ()
    """Groups of inputs that share their classes, such as scores with a column per class, and labels."""

    # Attributes of the host class, declared for the type checker because the mixin precedes it.
    features: Any
    name: str
    _compute: Any
    _feature_names: Any

    def __init__(self, *args: Any, **options: Any) -> None:
        """Separate the options of the module from those of the host class, and check both.

        Args:
            *args: Positional arguments of `evaluate.EvaluationModule`.
            **options: Options of this module, and keyword arguments of the host class.
        """
        from evaluate import EvaluationModule

        names = self.option_names()
        self.options = {name: options.pop(name) for name in names if name in options}
        # The host silently ignores keywords that it does not know.
        host_options = set(inspect.signature(EvaluationModule.__init__).parameters)
        host_options -= {"self", "kwargs"}
        check_options(options, (*names, *host_options), type(self).__name__)
        if options.get("num_process", 1) != 1:
            raise ValueError(f"Expected `num_process` to be 1, but got {options['num_process']!r}.")
        self._batches: list[Batch] = []
        super().__init__(*args, **options)
        # The host class sets the features, which declare the types of the inputs.
        self._declared_types = self._read_declared_types()
        repair_host()

    def __len__(self) -> int:
        return sum(map(len, self._batches))

    @classmethod
    def option_names(cls) -> list[str]:
        """List the options of this module: the keyword-only parameters of its `_compute`."""
        return [parameter.name for parameter in list_keyword_parameters(cls._compute)]

    def compute(self, **kwargs: Any) -> dict[str, Any]:
        """Compute the result for all batches that were added, and the inputs of this call.

        Afterwards, the batches are discarded, even if computing the result failed.

        Args:
            **kwargs: Inputs and options of the module by name.

        Returns:
            The figures by name.
        """
        inputs, options = self._split_arguments(kwargs)
        options = self._complete_options(options)
        batches = list(self._batches)
        # Inputs are required only if no batch was added.
        if inputs or not batches:
            batches.append(self._parse_batch(inputs, options))
        # Further errors are due to the items, so the batches are discarded before a repeated call.
        self._batches = []
        self._check_batches(batches, options)
        return dict(self._compute(**join_batches(batches), **options))

    def add_batch(self, **kwargs: Any) -> None:
        """Check the inputs of some items, and add them to the batches for `compute`.

        If a check fails, the batches are not changed.

        Args:
            **kwargs: Columns of the inputs by name.
        """
        inputs, unknown = self._split_arguments(kwargs)
        check_options(unknown, self._feature_names(), f"{self.name}.add_batch")
        batch = self._parse_batch(inputs, self.options)
        # Comparing with the first batch is enough, because all earlier batches agree with it.
        self._check_batches([*self._batches[:1], batch], self.options)
        # The caller may reuse its arrays and lists for the next batch.
        self._batches.append(copy.deepcopy(batch))

    def add(self, **kwargs: Any) -> None:
        """Add one item, by `prediction=` and `reference=` or by the names of the inputs."""
        columns = {}
        for name, value in kwargs.items():
            columns[_PLURALS.get(name, name)] = None if value is None else [value]
        self.add_batch(**columns)

    def parse_input(self, name: str, values: Any) -> Any:
        """Parse an input by its declared types. A module may override it for its own input.

        Args:
            name: Name of the input.
            values: A list or an array that is not empty.

        Returns:
            An array of numbers, or a list of texts or rows.
        """
        return parse_column(values, self._declared_types[name], name)

    def read_class_names(
        self, options: Mapping[str, Any], input_names: ClassNames | None
    ) -> ClassNames | None:
        """Return the class names in the options, which have precedence over those in the inputs.

        Args:
            options: Options of the module.
            input_names: Class names in the inputs; None if they have none.

        Returns:
            The names; None if the options have none.
        """
        label_names = options.get("label_names")
        if label_names is None:
            return None
        return ClassNames(check_label_names(label_names), "`label_names`")

    def _split_arguments(self, kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Split keyword arguments into the module's inputs and its options.

        Args:
            kwargs: Keyword arguments of `compute` or `add_batch`.

        Returns:
            Inputs by name, without those that are None, and everything else by name.
        """
        names = self._feature_names()
        inputs = {}
        for name in names:
            if kwargs.get(name) is not None:
                inputs[name] = kwargs[name]
        options = {}
        for name, value in kwargs.items():
            # `evaluate.combine` passes these two names to every module, even with the value None.
            is_unused = name in ("predictions", "references") and value is None
            if name not in names and not is_unused:
                options[name] = value
        return inputs, options

    def _complete_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Join the options of `load` and of `compute`; the latter have precedence.

        Args:
            options: Options of the call of `compute` by name.

        Raises:
            ValueError: If an option is unknown.
            OptionTypeError: If an option is a flag, but its value is not a boolean.
        """
        # The inputs are listed as well, because a misspelled input counts as an option.
        names = [*self._feature_names(), *self.option_names()]
        check_options(options, names, f"{self.name}.compute")
        completed = {**self.options, **options}
        parameters = inspect.signature(self._compute).parameters
        # Kernels check their own options. Flags are declared by modules, so they are checked here.
        for name, value in completed.items():
            if isinstance(parameters[name].default, bool):
                completed[name] = check_bool(value, name)
        return completed

    def _parse_batch(self, inputs: Mapping[str, Any], options: Mapping[str, Any]) -> Batch:
        """Check and convert the inputs of some items.

        Args:
            inputs: Columns of any accepted form, by the names of the inputs.
            options: Options of the module, which may name the classes.

        Returns:
            The converted columns, None for omitted inputs, and the names of the classes.
        """
        self._check_present(inputs)
        values = {}
        for name, value in inputs.items():
            values[name] = self._convert(name, value)

        # Names of classes are converted to numbers before the declared types are checked, which are
        # types of numbers.
        class_names = {}
        for group in self.CLASS_GROUPS:
            columns = []
            for name in group:
                if name in inputs:
                    columns.append(self._read_class_column(name, inputs[name], values[name]))
            names = self._match_class_names(group, columns, options)
            if names:
                class_names[group] = names
            for column in columns:
                values[column.name] = column.values

        for name in inputs:
            values[name] = self.parse_input(name, values[name])
        check_same_length(**values)
        omitted = dict.fromkeys(self._feature_names())
        return Batch({**omitted, **values}, class_names)

    def _check_present(self, inputs: Mapping[str, Any]) -> None:
        """Check that no required input is missing, and that there is at least one input.

        Args:
            inputs: The inputs of the call by name.

        Raises:
            ValueError: If a required input is missing, or there are no inputs.
        """
        missing = []
        for name in self._feature_names():
            if name not in inputs and name not in self.OPTIONAL_INPUTS:
                missing.append(f"`{name}`")
        if missing or not inputs:
            # If all inputs are optional, the message lists all of them.
            expected = missing or [f"`{name}`" for name in self._feature_names()]
            given = ", ".join(f"`{name}`" for name in inputs) or "nothing"
            raise ValueError(f"Expected {' and '.join(expected)} in {self.name}, but got {given}.")

    def _convert(self, name: str, value: Any) -> Any:
        """Convert an input of any accepted form to an array or a list that is not empty.

        Args:
            name: Name of the input.
            value: A list, an array, a tensor, or a column or table of another library.
        """
        expected = "an array or a list"
        if self._declared_types[name][0] == DeclaredType(has_rows=False, dtype="string"):
            expected = "a sequence of texts"
        values = to_array_or_list(value, name, expected)
        if len(values) == 0:
            raise ValueError(f"Expected at least one item in `{name}`, but it is empty.")
        return values

    def _read_declared_types(self) -> dict[str, list[DeclaredType]]:
        """Return the declared types of each input, one per alternative of the features."""
        alternatives = self.features if isinstance(self.features, list) else [self.features]
        types: dict[str, list[DeclaredType]] = {}
        for name in self._feature_names():
            types[name] = [read_declared_type(features[name]) for features in alternatives]
        return types

    def _read_class_column(self, name: str, value: Any, values: Any) -> ClassColumn:
        """Return an input together with the names of the classes that it contains.

        Args:
            name: Name of the input.
            value: The input as it was passed, such as a table with a column per class.
            values: The same input as an array or a list.
        """
        return ClassColumn(
            name=name,
            values=values,
            types=self._declared_types[name],
            table_names=find_column_classes(value) or (),
            label_names=read_label_names(value),
        )

    def _match_class_names(
        self, group: Group, columns: Sequence[ClassColumn], options: Mapping[str, Any]
    ) -> tuple[str, ...]:
        """Convert the inputs of a group, in place, so that all of them number the classes alike.

        The names of the classes are those in the options, in an earlier batch, or in the inputs, in
        this order.

        Args:
            group: Names of inputs that share their classes.
            columns: The inputs of the group that are present. Their `values` are replaced.
            options: Options of the module, which may name the classes.

        Returns:
            Names of the classes in order. Empty if there are no names, and the labels are numbers.

        Raises:
            TypeError: If labels are words, and there are no names of classes.
        """
        words = [column for column in columns if column.has_words]
        input_names = find_class_names(columns)
        if input_names is None and not words:
            return ()

        classes = self.read_class_names(options, input_names)
        if classes is None:
            classes = self._get_earlier_names(group) or input_names
        if classes is None:
            raise self._describe_unnamed_words(words[0])
        match_classes(columns, classes)
        return classes.names

    def _get_earlier_names(self, group: Group) -> ClassNames | None:
        """Return the class names of the batches that were added before, or None."""
        for batch in self._batches:
            if group in batch.class_names:
                return ClassNames(batch.class_names[group], "the batches before")
        return None

    def _describe_unnamed_words(self, column: ClassColumn) -> TypeError:
        """Return the error for labels that are words, although there are no names of classes.

        Args:
            column: The input with the labels.
        """
        remedy = "scores in columns with the names of the classes"
        if "label_names" in self.option_names():
            remedy = f"`label_names`, or {remedy}"
        return TypeError(
            f"Expected whole numbers in `{column.name}` ({remedy}, say what words mean), "
            f"but item 0 is {describe_kind(column.values[0])}."
        )

    def _check_batches(self, batches: Sequence[Batch], options: Mapping[str, Any]) -> None:
        """Check that batches can be joined: they have the same classes, inputs and forms.

        Args:
            batches: The batches.
            options: Options of the module, which may name the classes.

        Raises:
            TypeError: If some batches of an input have booleans and others numbers.
            ValueError: If batches differ in their classes, inputs or forms.
        """
        for group in self.CLASS_GROUPS:
            batch_names = None
            for batch in batches:
                if group in batch.class_names:
                    batch_names = ClassNames(batch.class_names[group], "the batches")
                    break
            option_names = self.read_class_names(options, batch_names)
            check_class_names(batches, group, option_names)
        check_forms(batches, self.name)
