"""Stored predictions in the place of a model: the items and the scores of an audit, from files."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Cells, Ragged, take_rows
from rightreasons.core.errors import OptionError, counted, naming, one_line
from rightreasons.core.label_names import listing
from rightreasons.core.options import listed as listed_names
from rightreasons.core.options import one_or_more
from rightreasons.core.scores import Scores
from rightreasons.core.validation import check_ids, check_logits, check_ragged, check_scores
from rightreasons.datasets.perturbing.probes import ORIGINAL
from rightreasons.io.options import AuditOptions, StoredOptions

if TYPE_CHECKING:
    import datasets

    from rightreasons.audited.context import AuditSplit
    from rightreasons.io.predictions import Predictions

ITEMS, PROBES, ORDERS = PARTS = ("items", "probes", "orders")
"""What can be asked about items: themselves, their changed versions, and orders of their choices."""


FIRST_ORDER = "order 0"


_AS_THEY_ARE = (f"/{ORIGINAL}", f"/{FIRST_ORDER}")


class StoredAnswers:
    """The scores of choices that were asked elsewhere, as a `Score`.

    Args:
        name: What holds them, for errors.
        ids: (N,) the ids of the requests.
        prompts: (N,) what was asked.
        choices: (N,) the choices in the order in which they were shown.
        logits: N rows of scores.
        joint: Whether the scorer saw the choices of a request together.

    Example:
        >>> logits = Ragged.of(np.array([-1.0, -2.0]), [2])
        >>> answers = StoredAnswers("log.jsonl", ["a"], ["Why?"], [["x", "y"]], logits)
        >>> answers(["Why?"], [["x", "y"]], ["a/original"])[0]
        array([-1., -2.])
    """

    def __init__(
        self,
        name: str,
        ids: Sequence[str],
        prompts: Sequence[str],
        choices: Sequence[Sequence[str]],
        logits: NDArray[np.float64] | Ragged,
        *,
        joint: bool = False,
    ) -> None:
        self.joint = joint
        self._name = name
        self._rows: Mapping[str, int] = {each: row for row, each in enumerate(ids)}
        self._prompts = prompts
        self._choices = choices
        self._logits = logits

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and _plain(name) in self._rows

    def __call__(self, prompts: Sequence[str], choices: Sequence[Sequence[str]], ids: Sequence[str]) -> Ragged:
        """Return the scores of the choices of some requests.

        Raises:
            ValueError: If one was not asked, or was asked in other words.
        """
        missing = [name for name in ids if name not in self]
        if missing:
            raise ValueError(
                f"Expected an answer to each of {len(ids):,} requests in {self._name}, but {len(missing):,} have none, "
                f"such as {missing[0]!r}."
            )
        rows = [self._rows[_plain(name)] for name in ids]
        for row, prompt, options, name in zip(rows, prompts, choices, ids, strict=True):
            if list(self._choices[row]) != list(options) or self._prompts[row] != prompt:
                raise ValueError(
                    f"Expected {self._name} to answer what is asked, but {name!r} was asked with other texts: were the "
                    "requests made with another seed or other items?"
                )
        scores = [np.asarray(self._logits[row], dtype=np.float64) for row in rows]
        return Ragged.of(np.concatenate(scores), [len(row_scores) for row_scores in scores])

    def picks(self, prompts: Sequence[str], choices: Sequence[Sequence[str]], ids: Sequence[str]) -> Scores:
        """Return the scores of the requests that have an answer; those of the others are NaN, and among `failures`."""
        table = self(prompts, choices, ids)
        able = [place for place in range(len(ids)) if not np.isnan(table[place]).any()]
        known = [np.asarray(table[place]) for place in able]
        return Scores(
            tuple(ids[place] for place in able),
            Ragged.of(np.concatenate([np.empty(0), *known]), [len(values) for values in known]),
            failures={ids[place]: "no answer in the log" for place in sorted(set(range(len(ids))) - set(able))},
        )


def _plain(name: str) -> str:
    """Return the id of the request that asks the same: an item as it is has its own id."""
    return next((name.removesuffix(end) for end in _AS_THEY_ARE if name.endswith(end)), name)


Task = Literal["classification", "multiple_choice", "confidence"]

MOST_TEXTS = 1000
"""Maximum number of rows whose texts are compared with those of the items."""

ONLY_SPLIT = "data"
"""The name of the items of a file that stands alone."""


@dataclasses.dataclass(frozen=True, eq=False)
class StoredTable:
    """The scores of one file, by the ids of its items.

    Attributes:
        name: The file.
        ids: The ids.
        logits: As in `Scores`.
        probabilities: As in `Scores`.
    """

    name: str
    ids: Cells
    logits: NDArray[np.float64] | Ragged
    probabilities: NDArray[np.float64] | Ragged | None


@dataclasses.dataclass(frozen=True, eq=False)
class StoredModel:
    """Stored predictions of the items of one or two splits, in the place of the model that made them.

    Attributes:
        name: The file of predictions.
        task: "classification", "multiple_choice", or "confidence" where there is only the confidence in given answers.
        label_names: K names of the classes; None unless the task is classification.
        tables: The scores by split.
        fingerprint: A digest of the files.
        used: In words, which columns were taken for what.
        answers: The scores of all requests of a log, for questions that change the items and ask again; None where the
            file has only the items.
        answers_once: Whether there is one answer per item and no confidence, as in a log of generated answers.
        items: Of such a log with `answers`: the items {id, prompt, choices, label}.
        label_match: How the labels in the file met its columns, in words; "" where they are those of a data set.
        unscored: Whether the items have choices, of which the file has no scores.
        logged: The names of the model and of its task, "" for what the file does not tell.
    """

    name: str
    task: Task
    label_names: tuple[str, ...] | None
    tables: Mapping[str, StoredTable]
    fingerprint: str
    used: str
    answers: StoredAnswers | None = None
    answers_once: bool = False
    items: datasets.Dataset | None = None
    label_match: str = ""
    unscored: bool = False
    logged: tuple[str, str] = ("", "")

    def scores(self, split: AuditSplit) -> Scores:
        """Return the stored scores of the items of a split, found by their ids."""
        table = self.tables[split.name]
        logits, probabilities = table.logits, table.probabilities
        if split.ids != table.ids:
            import pyarrow.compute as pc

            found = pc.index_in(split.ids.arrow, value_set=table.ids.arrow)
            if found.null_count:
                missing = split.ids[pc.index(pc.is_null(found), True).as_py()]
                raise ValueError(
                    f"Expected a prediction for each item of {split.name} in {table.name}, but {found.null_count:,} of "
                    f"{len(split):,} have none, such as the id {missing!r}."
                )
            rows = np.asarray(found.to_numpy(), dtype=np.intp)
            logits = take_rows(logits, rows)
            probabilities = None if probabilities is None else take_rows(probabilities, rows)
        return Scores(
            ids=split.ids,
            logits=logits,
            labels=split.labels,
            label_names=self.label_names,
            probabilities=probabilities,
            kind="confidence" if self.task == "confidence" else "top_label",
        )


@dataclasses.dataclass(frozen=True, eq=False)
class StoredSource:
    """What stored predictions are audited on.

    Attributes:
        model: The predictions.
        data: The items of each split.
        chosen: The split that is audited.
        spare: The split that a temperature is fitted on; None without one.
    """

    model: StoredModel
    data: Mapping[str, datasets.Dataset]
    chosen: str
    spare: str | None


def open_stored(
    stored: StoredOptions, settings: AuditOptions, dataset: Any = None, where: str = "", loaded: Any = None
) -> StoredSource:
    """Open files of predictions, and the items that they are about.

    Args:
        stored: The files and their columns.
        settings: The columns of texts, choices and labels, and the split of the data set.
        dataset: The data set that the items come from; None where the file itself has what is asked about them.
        where: What the data set is called, for errors.
        loaded: The predictions where they are no file: a table in memory, which `stored.predictions` is the name of.

    Raises:
        FileNotFoundError: If a file is not there.
        ValueError: If a column is missing, or predictions and items do not go together.
    """
    from rightreasons.io.logs import logged
    from rightreasons.io.reading import dataset_of, table_of
    from rightreasons.io.tables import choose_split, open_task_items

    path = str(stored.predictions)
    unread = ("revision", *(("split", "config", "data_dir") if dataset is None else ()))
    odd = next((name for name in unread if getattr(settings, name) is not None), None)
    if odd is not None:
        alone = " alone" if dataset is None else ""
        raise OptionError(f"Expected no `{odd}` for {path}{alone}, but got {getattr(settings, odd)!r}.", option=odd)
    table = path if loaded is None else loaded
    everything = _read(table, stored, settings, with_labels=dataset is None)
    read, answers = _asked(everything, path)
    if dataset is None:
        task, items = _own_items(read, path, settings)
        name, ids = ONLY_SPLIT, _ids(items)
    elif read.kind == "confidence":
        raise ValueError(
            f"Expected class scores in {path} to go with {where}, but it has the confidence in given answers, which is "
            "audited alone."
        )
    else:
        chosen_task = settings.task or ("classification" if read.label_names else None)
        if chosen_task is None and isinstance(read.predictions, list):
            chosen_task = "multiple_choice"
        opened, splits = open_task_items(dataset, settings, chosen_task)
        task = "classification" if opened == "classification" else "multiple_choice"
        name = choose_split(splits, settings.split, where=where)
        items = splits[name]
        ids = _matched_ids(read, items, path, where)
    names = None if task != "classification" else read.label_names or _numbered(read)
    tables, data, digest = {name: _table(read, ids, path)}, {name: items}, _digest(table, everything)
    spare = None
    if stored.fit_temperature_on is not None:
        spare = _spare_name(stored.fit_temperature_on, name)
        other, rows = _fitting(stored, settings, read, task)
        tables[spare] = _table(other, _ids(rows), stored.fit_temperature_on)
        data[spare] = rows
        digest += _digest(stored.fit_temperature_on, other)
    match = f"; labels matched {read.label_match}" if read.label_match else ""
    fingerprint = hashlib.blake2b(digest.encode(), digest_size=16).hexdigest()
    used = read.used + match
    rows = None
    if read.answers_once and answers is not None:
        held = {name: read.columns[name] for name in ("id", "prompt", "choices", "label")}
        rows = dataset_of(table_of(held, path), path)
    met = read.match_in_words if dataset is None else ""
    unscored = task == "confidence" and "choices" in read.columns
    named = logged(path, everything.columns)
    model = StoredModel(
        path, task, names, tables, fingerprint, used, answers, read.answers_once, rows, met, unscored, named
    )
    return StoredSource(model, data, name, spare)


# ------------------------------------------------------------------------------------------------------------- private


def _ids(items: datasets.Dataset) -> Cells:
    from rightreasons.io.columns import arrow_of

    return Cells(arrow_of(items, "id"))


def _read(table: Any, stored: StoredOptions, settings: AuditOptions, *, with_labels: bool) -> Predictions:
    from rightreasons.io.predictions import read_predictions

    return read_predictions(
        table,
        with_labels=with_labels and (lambda columns: not _has_choices(columns, settings)),  # whose labels go with them
        answers_alone=True,
        options=stored.of_predictions(
            label_column=settings.label_column,
            label_names=listed_names(settings.label_names) if with_labels else None,
            first_label=settings.first_label,
        ),
    )


def _asked(read: Predictions, path: str) -> tuple[Predictions, StoredAnswers | None]:
    """Part the items from what else a log was asked about them."""
    columns, ids = read.columns, read.ids
    if "asked" not in columns or ids is None or (read.kind == "confidence" and not read.answers_once):
        return read, None
    rows = [row for row, part in enumerate(columns["asked"]) if part == ITEMS]
    if not rows:
        raise ValueError(
            f"Expected items as they are in {path}, but it has only {listing(sorted(set(columns['asked'])))}."
        )
    check_ids(ids, f"id of {path}")
    if read.answers_once and "options" not in columns:
        return read.take(rows), None
    logits = (
        _picks(columns) if read.answers_once else check_logits(read.predictions, scores=read.scores or "probabilities")
    )
    rest = None
    if len(rows) < len(ids):
        prompts, choices = list(columns["prompt"]), list(columns["choices"])
        joint = list(columns.get("options", choices)) != choices  # letters in their place
        rest = StoredAnswers(Path(path).name, ids, prompts, choices, logits, joint=joint)
    return read.take(rows), rest


def _picks(columns: Mapping[str, Any]) -> Ragged:
    """Return answers that are letters, numbers or words as scores: NaN where none can be read."""
    rows = []
    for answer, options in zip(columns["answer"], columns["options"], strict=True):
        picked = np.array([option == answer for option in options])
        rows.append(np.where(picked, 0.0, -np.inf) if picked.any() else np.full(len(options), np.nan))
    return Ragged.of(np.concatenate(rows), list(map(len, rows)))


def _has_choices(columns: Mapping[str, Any], settings: AuditOptions) -> bool:
    """Tell whether a file has the choices of its items."""
    from rightreasons.io.tables import known_form

    if settings.choices_column is not None or settings.prompt_column is not None:
        return True
    known = "choices" in columns or known_form(columns, settings.label_column) is not None
    return known and settings.task != "classification"


def _own_items(read: Predictions, path: str, settings: AuditOptions) -> tuple[Task, datasets.Dataset]:
    """Make items in the common schema of the columns of a file of predictions."""
    import datasets
    import pyarrow as pa

    from rightreasons.io.columns import TEXT_COLUMNS, arrow_of, find_column, named_column
    from rightreasons.io.reading import dataset_of, table_of
    from rightreasons.io.tables import open_multiple_choice

    table = dataset_of(table_of(read.columns, path), path)
    if read.references is None:
        items = open_multiple_choice(
            table,
            prompt_column=listed_names(settings.prompt_column),
            choices_column=one_or_more(settings.choices_column),
            label_column=settings.label_column,
            first_label=settings.first_label,
        )
        return "multiple_choice", items
    text = find_column(table, settings.text_column, TEXT_COLUMNS, "text_column", path)
    columns: dict[str, Any] = {
        "id": pa.array(np.arange(len(read))).cast("string"),
        "text": pa.repeat("", len(read)) if text is None else _as_texts(arrow_of(table, text)),
    }
    if read.ids is not None and len(read.ids.arrow.unique()) == len(read):
        columns["id"] = read.ids.arrow
    if settings.text_pair_column is not None:
        pair = named_column(table, settings.text_pair_column, "text_pair_column", path)
        columns["text_pair"] = _as_texts(arrow_of(table, pair))
    task: Task = "confidence" if read.kind == "confidence" else "classification"
    if task == "classification" and (isinstance(read.predictions, list) or settings.task == "multiple_choice"):
        task = "multiple_choice"
    label: Any = datasets.Value("int64")
    if task == "classification":
        label = datasets.ClassLabel(names=list(read.label_names or _numbered(read)))
    kinds = datasets.Features({**dict.fromkeys(columns, datasets.Value("string")), "label": label})
    # `from_dict` and `add_column` would encode or digest each label by itself.
    items = datasets.Dataset(
        pa.table({**columns, "label": np.asarray(read.references, dtype=np.int64)}, schema=kinds.arrow_schema)
    )
    further = [name for name in table.column_names if name not in (*items.column_names, "prompt", "choices")]
    return task, datasets.concatenate_datasets([items, table.select_columns(further)], axis=1) if further else items


def _as_texts(column: Any) -> Any:
    """Return a column of texts; what is none becomes one."""
    import pyarrow as pa

    are_texts = pa.types.is_string(column.type) and not column.null_count
    return column if are_texts else pa.array(list(map(str, column.to_pylist())), pa.string())


def _matched_ids(read: Predictions, items: datasets.Dataset, path: str, where: str) -> Cells:
    """Return the id of each prediction: its own where the items have it, or else that of the item in its place."""
    import pyarrow.compute as pc

    ids, names = _ids(items), read.ids
    if names is not None and pc.any(pc.is_in(names.arrow, value_set=ids.arrow)).as_py():
        check_ids(names, f"id of {path}")
        _check_texts(read, names, items, path, where)
        return names
    if len(read) != len(ids):
        raise ValueError(
            f"Expected one prediction per item of {where} in {path}, {len(ids):,}, or ids of these items, but got "
            f"{counted(len(read), 'prediction')}."
        )
    _check_texts(read, ids, items, path, where)
    return ids


def _check_texts(read: Predictions, ids: Sequence[str], items: datasets.Dataset, path: str, where: str) -> None:
    """Check that predictions which tell their texts are about the items of their ids.

    A prompt holds more than the text, and a harness may prepare a text, so that it is enough if half of them agree.
    """
    from rightreasons.io.columns import TEXT_COLUMNS

    texts = dict(zip(items["id"][:], items["text" if "text" in items.column_names else "prompt"][:], strict=True))
    named = [name for name in read.columns if name in (*TEXT_COLUMNS, "prompt") or name.startswith("doc.")]
    columns = [read.columns[name] for name in named if all(isinstance(value, str) for value in read.columns[name])]
    rows = [row for row, name in enumerate(ids) if " " in texts.get(name, "").strip()]
    rows = rows[:: max(1, len(rows) // MOST_TEXTS)] if columns else []
    strange = [
        row
        for row in rows
        if not any(_single_spaced(texts[ids[row]]) in _single_spaced(column[row]) for column in columns)
    ]
    if len(strange) > len(rows) / 2:
        row = strange[0]
        text = max((str(column[row]) for column in columns), key=len)
        raise ValueError(
            f"Expected answers to the items of {where} in {path}, but row {row} is about {one_line(text)}, where the "
            f"item {ids[row]!r} is {one_line(texts[ids[row]])}."
        )


def _single_spaced(text: str) -> str:
    return " ".join(text.split())


def _fitting(
    stored: StoredOptions, settings: AuditOptions, read: Predictions, task: Task
) -> tuple[Predictions, datasets.Dataset]:
    """Open the file that a temperature is fitted on."""
    path = str(stored.fit_temperature_on)
    if task == "confidence":
        raise OptionError(
            f"Expected class scores in {stored.predictions} for `fit_temperature_on`, but it has the confidence in "
            "given answers: a temperature divides the scores of all classes.",
            option="fit_temperature_on",
        )
    if os.path.exists(path) and os.path.samefile(path, str(stored.predictions)):
        raise OptionError(
            f"Expected another file than {path} in `fit_temperature_on`: it is the one that is audited.",
            option="fit_temperature_on",
        )
    other = _read(path, stored, settings, with_labels=True)
    shapes = [None if isinstance(side.predictions, list) else side.predictions.shape[1:] for side in (read, other)]
    if shapes[0] != shapes[1] or read.label_names != other.label_names:
        shown = [
            listing(side.label_names) if side.label_names else "rows of different lengths" if shape is None else shape
            for side, shape in zip((read, other), shapes, strict=True)
        ]
        raise ValueError(f"Expected the classes of {stored.predictions} ({shown[0]}) in {path}, but got {shown[1]}.")
    _, items = _own_items(other, path, settings)
    return other, items


def _spare_name(path: str, taken: str) -> str:
    name = Path(path).stem
    return f"{name} (for the temperature)" if name == taken else name


def _numbered(read: Predictions) -> tuple[str, ...]:
    table = read.predictions
    n_classes = table.shape[1] if isinstance(table, np.ndarray) and table.ndim == 2 else 2
    return tuple(str(number) for number in range(n_classes))


@naming("score_columns")
def _table(read: Predictions, ids: Cells, path: str) -> StoredTable:
    """Bring scores of any kind to logits, with the exact probabilities beside them."""
    scores = read.scores or "probabilities"
    if read.kind == "confidence" and scores == "logits":
        raise ValueError(f"Expected probabilities or log_probabilities as the confidence in {path}, but got logits.")
    logits = check_logits(read.predictions, scores=scores)
    if scores == "logits":
        return StoredTable(path, ids, logits, None)
    if isinstance(logits, Ragged):
        return StoredTable(path, ids, logits, check_ragged(read.predictions, scores=scores))
    table = check_scores(read.predictions, scores=scores)
    return StoredTable(path, ids, logits, table[:, 1].copy() if read.kind == "confidence" else table)


def _digest(table: Any, read: Predictions) -> str:
    """Return a digest of local files, or else of what was read."""
    from rightreasons.io.reading import content_of, described, table_of

    files = dict.fromkeys((table, described(table).source)) if isinstance(table, str) else ()
    if files and all(Path(file).is_file() for file in files):
        return hashlib.blake2b(b"".join(Path(file).read_bytes() for file in files)).hexdigest()
    return hashlib.blake2b(content_of(table_of(read.columns, "the predictions"))).hexdigest()
