"""The mixin of all modules: options that are declared once, and inputs in every form by every way."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from rightreasons.foundations.arrays import classes_in, ingest, kind_of
from rightreasons.foundations.label_names import (
    check_label_names,
    listed,
    match_columns,
    match_labels,
    resolve_labels,
)
from rightreasons.foundations.validation import check_bool, check_labels, check_options, check_same_length
from rightreasons.modules.batches import Added, Batch, concatenated
from rightreasons.modules.forms import check_characters, check_column, form_of, form_of_feature

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


_HOST_FILES = (
    "data",
    "writer",
    "buf_writer",
    "filelock",
    "rendez_vous_lock",
    "filelocks",
    "file_paths",
    "cache_file_name",
    "selected_feature_format",
)
"""Attributes of the host class that hold the files of a computation over several processes."""


class KernelModule:
    """What all modules of this package share: declared options, and inputs in every form by every way.

    A module is `class Ece(KernelModule, evaluate.Metric)` with `_info` and `_compute`. The signature of `_compute` is
    the declaration: its positional parameters are the inputs (the features), its keyword-only parameters are the
    options, which `kernel_options` takes from the kernel. Options are accepted at load and at compute (which wins); an
    unknown one is an error at both.

    Batches are checked when they are added and stay in memory as arrays, so that `compute` gives what it gives for all
    of them at once. evaluate's Arrow file, which would silently cast a label 1.5 to 1, serves several processes alone.
    """

    OPTIONAL_INPUTS: ClassVar[tuple[str, ...]] = ()
    """Features that may be omitted; `_compute` then gets None."""

    STREAMED: ClassVar[Mapping[str, tuple[type, ...]]] = {}
    """For an input the types of it that `_compute` reads by itself."""

    CLASSES: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """Groups of inputs that have their classes in common: scores with a column per class, and labels."""

    # Attributes of the host class, declared for the type checker because the mixin precedes it.
    num_process: int
    features: Any
    name: str
    _compute: Any

    def __init__(self, *args: Any, **options: Any) -> None:
        names = self.option_names()
        self.options = {name: options.pop(name) for name in names if name in options}
        check_options(options, (*names, *_HOST_OPTIONS), f"{type(self).__name__}")
        self._added = Added()
        super().__init__(*args, **options)
        _let_combine_omit_inputs()

    def __len__(self) -> int:
        return len(self._added)

    @classmethod
    def option_names(cls) -> list[str]:
        """List the options of this module: the keyword-only parameters of its `_compute`."""
        parameters = inspect.signature(cls._compute).parameters.values()
        return [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]

    def compute(self, **kwargs: Any) -> dict[str, Any] | None:
        """Compute the measure from the items added before and from these inputs.

        The items are forgotten afterwards. If a compute without inputs is refused, it can be tried again with other
        options; the next batch begins anew. A refused compute with inputs leaves the module as it was.
        """
        inputs, options = self._split(kwargs)
        check_options(options, self.option_names(), f"{self.name}.compute")
        options = self._checked_options({**self.options, **options})
        if any(value is not None for value in inputs.values()):
            added = Added() if self._added.refused else self._added
            batch = self._batch(inputs, options)
            result = self._result(self._joined(added.batches_with(batch, self.name), options), options)
        elif len(self._added):
            try:
                result = self._result(self._joined(self._added.batches, options), options)
            except Exception:
                self._added.refused = True
                raise
        else:
            required = [name for name in inputs if name not in self.OPTIONAL_INPUTS]
            expected = " and ".join(f"`{name}`" for name in required) or " or ".join(f"`{name}`" for name in inputs)
            raise ValueError(f"Expected {expected}, at compute or added before, but {self.name} has nothing.")
        self._added = Added()
        return result

    def add_batch(self, **kwargs: Any) -> None:
        """Add a batch of inputs; a batch that is refused changes nothing."""
        inputs, others = self._split(kwargs)
        check_options(others, inputs, f"{self.name}.add_batch")
        added = Added() if self._added.refused else self._added
        batch = self._batch(inputs, self.options)
        batches = added.batches_with(batch, self.name)
        for group in batch.classes:
            first = next(each.classes[group] for each in batches if group in each.classes)
            batch.in_order(group, first)  # names that do not match are refused here, not by `compute`
        self._added = Added([*batches[:-1], batch.copy()])

    def add(self, **kwargs: Any) -> None:
        """Add one item by `prediction=` and `reference=`, or by the inputs' own names."""
        plural = {"prediction": "predictions", "reference": "references"}
        items = {plural.get(name, name): value for name, value in kwargs.items()}
        self.add_batch(**{name: None if value is None else [value] for name, value in items.items()})

    def __getstate__(self) -> dict[str, Any]:
        # Files of an earlier compute over several processes cannot be pickled, and no copy needs them.
        return {**self.__dict__, **dict.fromkeys(_HOST_FILES)}

    def _checked_options(self, options: dict[str, Any]) -> dict[str, Any]:
        """Check the flags among the options; the kernel checks the others."""
        declared = inspect.signature(self._compute).parameters
        flags = [name for name in options if isinstance(declared[name].default, bool)]
        return {**options, **{name: check_bool(options[name], name) for name in flags}}

    def _split(self, kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the inputs, None for those omitted, and the rest without the host's defaults for other modules."""
        inputs = {name: kwargs.get(name) for name in self._feature_names()}  # type: ignore[attr-defined]
        defaults = {name for name in ("predictions", "references") if kwargs.get(name) is None}
        return inputs, {name: value for name, value in kwargs.items() if name not in {*inputs, *defaults}}

    def _batch(self, inputs: Mapping[str, Any], options: Mapping[str, Any]) -> Batch:
        """Bring every input from any accepted form to an array or a list of one length, and check it."""
        missing = [name for name in inputs if inputs[name] is None and name not in self.OPTIONAL_INPUTS]
        present = [name for name in inputs if inputs[name] is not None]
        if missing or not present:
            expected = " and ".join(f"`{name}`" for name in missing or inputs)
            got = ", ".join(f"`{name}`" for name in present) or "nothing"
            raise ValueError(f"Expected {expected} in {self.name}, but got only {got}.")
        plain = dict(inputs)
        for name in present:
            if not isinstance(inputs[name], self.STREAMED.get(name, ())):
                dtype = getattr(self._forms()[0][name], "dtype", None)
                expected = "a sequence of texts" if dtype == "string" else "an array or a list"
                plain[name] = ingest(inputs[name], name, expected)
                if len(plain[name]) == 0:
                    raise ValueError(f"Expected at least one item in `{name}`, but it is empty.")
        batch = Batch(plain)
        for group in self.CLASSES:
            self._name_classes(group, inputs, batch, options)
        batch.columns = columns = self._checked(plain)
        loaded = {name: columns[name] for name in present if not isinstance(inputs[name], self.STREAMED.get(name, ()))}
        if loaded:
            check_same_length(**loaded)
        for name, column in loaded.items():
            check_characters(column, name)
        return batch

    def _name_classes(
        self, group: tuple[str, ...], inputs: Mapping[str, Any], batch: Batch, options: Mapping[str, Any]
    ) -> None:
        """Bring the inputs of a group whose classes have names into one order of the classes."""
        plain = batch.columns
        present = [name for name in group if inputs[name] is not None]
        tables = {name: classes for name in present if (classes := classes_in(inputs[name]))}
        class_labels = {name: names for name in present if (names := _class_label(inputs[name]))}
        words = [name for name in present if form_of(plain[name]) == (False, True) and self._takes_numbers(name)]
        named = {f"the ClassLabel of `{name}`": names for name, names in class_labels.items()}
        named |= {f"the columns of `{name}`": names for name, names in tables.items()}
        if not named and not words:
            return
        first = next(iter(named.items()), ("", ()))
        whose, classes = self._class_names(options, first[1]) or first
        if not classes:
            others = "`label_names`, or " if "label_names" in self.option_names() else ""
            raise TypeError(
                f"Expected whole numbers in `{words[0]}` ({others}scores in columns with the names of the classes, say "
                f"what words mean), but item 0 is {kind_of(plain[words[0]][0])}."
            )
        batch.classes[group], batch.named = classes, batch.named | {*tables, *class_labels, *words}
        for name, own in tables.items():
            order = match_columns(own, classes, where=f"the columns of `{name}`", classes_of=whose)
            plain[name] = plain[name][:, order]
        for name, own in class_labels.items():
            if own != classes:
                ids = check_labels(plain[name], len(own), name=name)
                where = f"the ClassLabel of `{name}`"
                match = match_labels(own, classes, used=np.unique(ids), where=where, classes_of=whose)
                plain[name] = match.class_of[ids]
        for name in words:
            ids = resolve_labels(plain[name], classes, where=f"`{name}`").ids
            if (ids < 0).any():
                item = int(np.argmax(ids < 0))
                raise ValueError(
                    f"Expected a label in each item of `{name}`, but item {item} is {plain[name][item]!r}."
                )
            plain[name] = ids

    def _takes_numbers(self, name: str) -> bool:
        return all(getattr(form[name], "dtype", None) != "string" for form in self._forms())

    def _class_names(self, options: Mapping[str, Any], columns: tuple[str, ...]) -> tuple[str, tuple[str, ...]] | None:
        """Return whose names of classes count, and these names; None for those of the inputs, which are `columns`."""
        names = options.get("label_names") if self.CLASSES else None
        return None if names is None else ("`label_names`", check_label_names(names))

    def _joined(self, batches: Sequence[Batch], options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of all batches, with the classes in one order."""
        for group in self.CLASSES:
            own = next((batch.classes[group] for batch in batches if group in batch.classes), ())
            whose, classes = self._class_names(options, own) or ("the batches before", own)
            batches = [batch.in_order(group, classes, whose) for batch in batches]
            for name in group if classes else ():
                column = batches[0].columns[name]
                width = np.shape(column)[1] if isinstance(column, np.ndarray) and column.ndim > 1 else len(classes)
                if width != len(classes):
                    raise ValueError(
                        f"Expected {width} names of classes, one per column of `{name}`, but those of {whose} are "
                        f"{listed(classes)}."
                    )
        return {
            name: None if column is None else concatenated([batch.columns[name] for batch in batches])
            for name, column in batches[0].columns.items()
        }

    def _forms(self) -> list[Any]:
        return self.features if isinstance(self.features, list) else [self.features]

    def _checked(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Check the kind of every input by its declared features; the kernel checks the values."""
        return {
            name: None if value is None else check_column(value, [form[name] for form in self._forms()], name)
            for name, value in inputs.items()
        }

    def _result(self, columns: dict[str, Any], options: Mapping[str, Any]) -> dict[str, Any] | None:
        if self.num_process > 1:
            self._added = Added()
            gathered = self._gathered(columns)
            if gathered is None:
                return None
            columns = gathered
        return dict(self._compute(**columns, **options))

    def _gathered(self, columns: Mapping[str, Any]) -> dict[str, Any] | None:
        """Share columns with the other processes by evaluate's files; the first process gets all, the others None."""
        feature = self._forms()[0]
        blank = {name: "" if getattr(feature[name], "dtype", None) == "string" else None for name in columns}
        n_items = len(next(column for column in columns.values() if column is not None))
        rows = {name: [blank[name]] * n_items if column is None else column for name, column in columns.items()}
        self._compute = lambda **everything: everything
        try:
            super().add_batch(**rows)  # type: ignore[misc]
            everything: dict[str, Any] | None = super().compute()  # type: ignore[misc]
        except Exception:
            self._close_files()
            raise
        finally:
            del self._compute
        if everything is None:
            return None
        for name, column in columns.items():
            if column is None:
                everything[name] = None
            elif isinstance(column, np.ndarray) and column.dtype.kind in "iu" and column.ndim == 1:
                # A file of floats holds whole numbers as floats.
                values = np.asarray(everything[name])
                everything[name] = values.astype(np.int64) if (values == np.floor(values)).all() else values
        return self._batch(everything, {}).columns

    def _infer_feature_from_batch(self, batch: Mapping[str, Any]) -> Any:
        """Choose the declared form of a batch; the host would take a text "1" for a number."""
        for form in self._forms():
            if all(form_of(column) == form_of_feature(form[name]) for name, column in batch.items()):
                return form
        return self._forms()[0]

    def _close_files(self) -> None:
        """Remove and release the files of a failed computation over several processes."""
        state = self.__dict__
        paths, locks = ([*(state.get(name) or [])] for name in ("file_paths", "filelocks"))
        if state.get("writer") is not None:
            with contextlib.suppress(Exception):
                state["writer"].close()
        for path in (*paths, state.get("cache_file_name")):
            with contextlib.suppress(OSError, TypeError):
                os.remove(path)
        for lock in (*locks, state.get("filelock"), state.get("rendez_vous_lock")):
            with contextlib.suppress(Exception):
                lock.release()
        state.update(dict.fromkeys(_HOST_FILES))


def _class_label(column: Any) -> tuple[str, ...]:
    """Return the names of a column of `datasets` that is a ClassLabel."""
    names = getattr(getattr(column, "features", None), "names", None)
    return tuple(names) if isinstance(names, list) and all(isinstance(name, str) for name in names) else ()


@functools.cache
def _let_combine_omit_inputs() -> None:
    """Let `add` and `add_batch` of `evaluate.combine` omit optional inputs, which the host looks up by name."""
    from evaluate.module import CombinedEvaluations

    def completed(method: Any) -> Any:
        @functools.wraps(method)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            optional = {name for module in self.evaluation_modules for name in getattr(module, "OPTIONAL_INPUTS", ())}
            return method(self, *args, **dict.fromkeys(optional - {"predictions", "references", *kwargs}), **kwargs)

        return call

    CombinedEvaluations.add = completed(CombinedEvaluations.add)
    CombinedEvaluations.add_batch = completed(CombinedEvaluations.add_batch)
