"""What the questions of an audit share: the items, split by split, the model, and what it says about them.

Labels are in the model's numbering. The model is a head of its own kind, or a language model with a prompt.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.stored import StoredModel
from rightreasons.core.arrays import Ragged, is_ragged
from rightreasons.core.errors import OptionError, make_unknown_name_error
from rightreasons.core.extras import require_package
from rightreasons.core.label_names import MatchTerms, match_labels
from rightreasons.core.options import parse_names
from rightreasons.core.ordering import LazyArrowColumn
from rightreasons.core.resampling import Resampling
from rightreasons.core.scores import Scores
from rightreasons.core.store import WORK, write_atomically
from rightreasons.core.tokens import WORD_PATTERN
from rightreasons.core.validation import as_ragged, check_kind
from rightreasons.io.options import AuditOptions
from rightreasons.models.protocol import lacking
from rightreasons.models.servers.options import ServerOptions, is_address
from rightreasons.models.wording import Prompt
from rightreasons.page.parts import Example, Mark, Reads

if TYPE_CHECKING:
    import datasets

    from rightreasons.behavior.options import BehaviorOptions
    from rightreasons.datasets.suites.suite import Suite
    from rightreasons.models.prompted import Prompted
    from rightreasons.models.prompts import Examples, Item
    from rightreasons.models.protocol import Engine, Scorer


FOLDER = "predictions"
"""The folder of a report that holds them."""

COLUMNS = ("id", "text", "label", "prediction", "logits")


@dataclasses.dataclass(frozen=True, eq=False)
class Predictions:
    """A model's predictions for the items of a split.

    Attributes:
        ids: N ids.
        texts: N texts.
        labels: (N,) labels in the model's numbering; -1 where there is none.
        logits: (N, K) or `Ragged`.
    """

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    labels: NDArray[np.int64]
    logits: NDArray[np.float64] | Ragged

    def __len__(self) -> int:
        return len(self.ids)


def predictions_file(split: str) -> str:
    """Return the file of the predictions of a split, relative to the folder of the report."""
    return f"{FOLDER}/{safe_name(split)}.parquet"


def save_predictions(path: Path, split: AuditSplit, scores: Scores) -> None:
    """Write the predictions of a split; `datasets.load_dataset("parquet", …)` opens them, with the class names."""
    import datasets
    import pyarrow as pa
    import pyarrow.parquet

    from rightreasons.io.columns import arrow_of

    # A ClassLabel requires distinct names; those of a model may be equal.
    names = list(scores.label_names or ())
    is_named = scores.label_names is not None and len(set(names)) == len(names)
    label = datasets.ClassLabel(names=names) if is_named else datasets.Value("int64")
    logits = scores.logits if isinstance(scores.logits, Ragged) else Ragged.of_table(scores.logits)
    kinds = dict.fromkeys(("id", "text"), datasets.Value("string")) | dict.fromkeys(
        ("label", "prediction"), label
    )
    features = datasets.Features({**kinds, "logits": datasets.List(datasets.Value("float64"))})
    columns = {
        "id": split.ids.arrow,
        "text": arrow_of(split.data, split.text_column),
        "label": split.labels,
        "prediction": scores.predicted,
        "logits": pa.ListArray.from_arrays(pa.array(logits.offsets, pa.int32()), logits.values),
    }
    table = pa.table(columns, schema=features.arrow_schema)
    write_atomically(
        path, lambda temporary: pyarrow.parquet.write_table(table, os.fspath(temporary))
    )


def read_predictions(path: Path) -> Predictions:
    """Read the predictions of a split.

    Raises:
        FileNotFoundError: If there is no file.
        ValueError: If the file holds something else.
    """
    import pyarrow
    import pyarrow.parquet

    if not path.is_file():
        raise FileNotFoundError(
            f"Expected the predictions of an audit in {path}, but there is no such file."
        )
    try:
        table = pyarrow.parquet.read_table(os.fspath(path), columns=list(COLUMNS))
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise ValueError(
            f"Expected the predictions of an audit in {path}, but it holds something else."
        ) from error
    columns = {name: table.column(name).to_pylist() for name in COLUMNS}
    rows = columns["logits"]
    return Predictions(
        ids=tuple(columns["id"]),
        texts=tuple(columns["text"]),
        labels=np.array(columns["label"], dtype=np.int64),
        logits=as_ragged(rows, "logits") if is_ragged(rows) else np.array(rows, dtype=np.float64),
    )


def safe_name(name: str) -> str:
    """Turn the name of a split into the name of a file.

    Example:
        >>> safe_name("../test[:10%]")
        '___test__10__'
    """
    return "".join(c if c.isalnum() or c in "_-" else "_" for c in name) or "split"


Role = Literal["primary", "comparison", "train"]


PAIRS = "pair_id"
"""The column of what belongs together where none is named, before `source_id`."""


@dataclasses.dataclass(frozen=True, eq=False)
class AuditSplit:
    """The items of one split that the audit looks at.

    Attributes:
        name: The name of the split.
        role: "primary" (what the headlines are about), "comparison" or "train".
        data: The rows in the common schema, with all further columns.
        labels: (N,) labels in the model's numbering; -1 where there is none.
        data_label_names: The names of the labels as the data has them; () for multiple choice.
        label_mapping: How labels and classes were matched, in words.
        class_of: The model's class of each of the data's labels, and -1 at the end for none; None for multiple choice.
        n_available: How many items the split has.
        fingerprint: A digest of ids, texts and labels.
        groups_column: The column of the sets or pairs of items; None where none was named.
        left_out: (id, reason) of the items that the model could not score; they are not among the N.
    """

    name: str
    role: Role
    data: datasets.Dataset
    labels: NDArray[np.int64]
    data_label_names: tuple[str, ...]
    label_mapping: str
    class_of: NDArray[np.int64] | None
    n_available: int
    fingerprint: str
    groups_column: str | None = None
    left_out: tuple[tuple[str, str], ...] = ()

    def __len__(self) -> int:
        return len(self.labels)

    @functools.cached_property
    def ids(self) -> LazyArrowColumn:
        """N unique ids."""
        from rightreasons.io.columns import arrow_of

        return LazyArrowColumn(arrow_of(self.data, "id"))

    @property
    def text_column(self) -> str:
        """The column of the texts, or prompts."""
        return "text" if self.choices is None else "prompt"

    @functools.cached_property
    def texts(self) -> list[str]:
        """N texts, or prompts."""
        texts: list[str] = self.data[self.text_column][:]
        return texts

    @functools.cached_property
    def text_pairs(self) -> list[str] | None:
        """N second texts; None where there are none."""
        return self.column("text_pair")

    @functools.cached_property
    def choices(self) -> list[list[str]] | None:
        """N lists of choices; None for classification."""
        return self.column("choices") if self.class_of is None else None

    @property
    def fields(self) -> dict[str, list[Any]]:
        """The columns that a prompt is made of: `prompt` and `choices`, or `text` and perhaps `text_pair`."""
        if self.choices is not None:
            return {"prompt": self.texts, "choices": self.choices}
        return {"text": self.texts} | (
            {} if self.text_pairs is None else {"text_pair": self.text_pairs}
        )

    @functools.cached_property
    def planted(self) -> list[list[dict[str, Any]]] | None:
        """N lists of planted tokens {token, start, end}, of data that tells them; else None."""
        return self.column("planted")

    @functools.cached_property
    def pair_ids(self) -> list[str] | None:
        """N names that items of several splits share when they are forms of one item; None where there are none."""
        return self.column(self.groups_column or PAIRS)

    @functools.cached_property
    def clusters(self) -> NDArray[np.str_] | None:
        """(N,) what each item belongs to: a group, a source, a pair; None where every item stands alone."""
        names = self.column(self.groups_column or "source_id") or self.column(PAIRS)
        if names is None or len(set(names)) == len(names):
            return None
        grouped = zip(names, self.ids, strict=True)
        return np.array(
            [f"item {name}" if group in (None, "") else f"group {group}" for group, name in grouped]
        )

    @functools.cached_property
    def mislabeled(self) -> NDArray[np.bool_]:
        """(N,) which labels contradict what the text says, as far as the data tells; such items are no examples."""
        content = self.column("content_label")
        if content is None or "label" not in self.data.column_names:
            return np.zeros(len(self), dtype=np.bool_)
        return np.asarray(np.array(content) != np.array(self.data["label"][:]))

    @property
    def labeled(self) -> NDArray[np.bool_]:
        """(N,) which items have a label."""
        return np.asarray(self.labels >= 0)

    def take(self, rows: Sequence[int] | NDArray[np.intp]) -> AuditSplit:
        """Return the split with some of its rows alone; the fingerprint stays that of the whole."""
        return dataclasses.replace(self, data=self.data.select(rows), labels=self.labels[rows])

    def without(self, reasons: Mapping[str, str]) -> AuditSplit:
        """Return the split without the items that the model could not score, by their ids with the reasons."""
        if not reasons:
            return self
        left_out = tuple((name, reasons[name]) for name in self.ids if name in reasons)
        rows = [row for row, name in enumerate(self.ids) if name not in reasons]
        return dataclasses.replace(self.take(rows), left_out=left_out)

    def column(self, name: str) -> list[Any] | None:
        """Return a column of the data, or None where there is none of that name."""
        return self.data[name][:] if name in self.data.column_names else None


def take_splits(
    data: Mapping[str, datasets.Dataset],
    roles: Mapping[str, Role],
    settings: AuditOptions,
    model_names: Sequence[str] | None,
    where: str,
    label_match: str = "",
) -> list[AuditSplit]:
    """Take the items that the audit will look at, their labels in the model's numbering.

    With a limit, the items of a split are chosen by (seed, id): the same ones whatever the order of the rows. Items
    that share a set or a pair are chosen together, so that no set loses an item.

    Args:
        data: The rows of each split in the common schema: id, text (text_pair), label; or id, prompt, choices, label.
        roles: Name of a split -> its part in the audit; other splits are not taken.
        settings: The limit and its seed, the column of sets or pairs, and the number of the first label.
        model_names: The names of the model's classes; None for multiple choice.
        where: What the data is called, for errors.
        label_match: How labels met classes where that was told before, in words.

    Returns:
        The splits, in the order of `roles`.

    Raises:
        ValueError: If there is no such column, or labels and classes do not match.
    """
    chosen = {name: limited(data[name], settings, where) for name in roles}
    labels = {name: _labels(rows) for name, rows in chosen.items()}
    labeled = [name for name, rows in chosen.items() if "label" in rows.column_names]
    names: tuple[str, ...] = ()
    class_of, how = None, "the index of the right choice"
    if labeled and model_names is not None:
        names = tuple(chosen[labeled[0]].features["label"].names)
        # A label that occurs in one split tells where the numbers of all of them begin.
        used, seen = (
            {label for each in split for label in np.unique(each).tolist() if label >= 0}
            for split in (labels.values(), map(_labels, data.values()))
        )
        match = match_labels(
            names,
            model_names,
            used=used,
            seen=seen,
            first=settings.first_label,
            terms=MatchTerms(where, remedy="first_label says which", rename="label_names"),
        )
        class_of = np.append(match.class_of, -1)  # an index of -1 reads the last entry
        how = label_match or match.in_words
    from rightreasons.io.reading import content_of

    splits = []
    for name, rows in chosen.items():
        known = class_of if name in labeled else None
        numbers = labels[name] if known is None else known[labels[name]]
        kept = [
            column
            for column in ("id", "text", "text_pair", "prompt", "choices")
            if column in rows.column_names
        ]
        content = content_of(rows.select_columns(kept).with_format("arrow")[:])
        splits.append(
            AuditSplit(
                name=name,
                role=roles[name],
                data=rows,
                labels=numbers,
                data_label_names=names if name in labeled else (),
                label_mapping=how if name in labeled else "the data has no labels",
                class_of=known,
                n_available=len(data[name]),
                fingerprint=hashlib.blake2b(
                    numbers.tobytes() + content, digest_size=16
                ).hexdigest(),
                groups_column=settings.groups_column,
            )
        )
    return splits


def with_train(
    data: Mapping[str, datasets.Dataset], task: str, given: AuditOptions
) -> Mapping[str, datasets.Dataset]:
    """Return the splits with the training texts, if they are named apart; their labels are numbered as the data's.

    Raises:
        ValueError: If the training texts have a label that the data has not, or several splits and none named train.
    """
    if given.train is None:
        return data
    import datasets

    from rightreasons.io.tables import open_splits

    opened = open_splits(given.train, require_labels=True, **given.source(task))
    if "train" not in opened and len(opened) > 1:
        raise OptionError(
            f"Expected one split, or one named train, but got {', '.join(opened)}.", option="train"
        )
    rows = opened.get("train", next(iter(opened.values())))
    label = next(
        (part.features["label"] for part in data.values() if "label" in part.column_names), None
    )
    if isinstance(label, datasets.ClassLabel) and label.names != rows.features["label"].names:
        names = rows.features["label"].names
        other = next((name for name in names if name not in label.names), None)
        if other is not None:
            where = given.train if isinstance(given.train, str) else "the training texts"
            raise OptionError(
                f"Expected the labels of the data ({', '.join(label.names)}) in {where}, but got {other!r}; "
                "label_names gives labels new names.",
                option="train",
            )
        numbers = [
            label.str2int(names[number]) if number >= 0 else -1 for number in rows["label"][:]
        ]
        rows = rows.remove_columns("label").add_column("label", numbers).cast_column("label", label)
    return {**data, "train": rows}


def choose_splits(
    available: Mapping[str, datasets.Dataset], split: str | Sequence[str] | None, where: str
) -> list[str]:
    """Choose which splits are audited, the primary one first.

    Named splits are taken as they are named. Else it is the first of test, validation and dev that has labels, with the
    splits whose names begin with its name and an underscore (test, test_absent, test_flipped); a dataset with one split
    is audited on that.
    """
    if split is not None:
        names = (
            [name.strip() for name in split.split(",")] if isinstance(split, str) else list(split)
        )
        for name in names:
            if name not in available:
                raise make_unknown_name_error(f"split of {where}", name, available)
        return list(dict.fromkeys(names))
    from rightreasons.io.tables import choose_split

    primary = choose_split(available, where=where)
    return [primary, *(other for other in available if other.startswith(f"{primary}_"))]


def limited(data: datasets.Dataset, settings: AuditOptions, where: str) -> datasets.Dataset:
    """Choose the rows that the limit of an audit leaves: whole sets or pairs, by the seed and their ids."""
    from rightreasons.io.columns import named_column
    from rightreasons.io.tables import chosen_rows

    if settings.groups_column is not None:
        named_column(data, settings.groups_column, "groups_column", where)
    if settings.limit is None or settings.limit >= len(data):
        return data
    usual = next((name for name in (PAIRS, "source_id") if name in data.column_names), None)
    groups = settings.groups_column or usual
    rows = chosen_rows(
        data["id"][:], settings.limit, seed=settings.seed, groups=groups and data[groups][:]
    )
    return data.select(rows)


def _labels(data: datasets.Dataset) -> NDArray[np.int64]:
    from rightreasons.io.columns import arrow_of

    if "label" not in data.column_names:
        return np.full(len(data), -1, dtype=np.int64)
    return np.asarray(arrow_of(data, "label").to_numpy(), dtype=np.int64)


@dataclasses.dataclass(frozen=True, eq=False)
class AuditContext:
    """The model, the items and the predictions of one audit; questions read it, and change nothing in it.

    Attributes:
        source: The model, or the stored predictions in its place.
        dataset_name: What the user called the data.
        primary: The split that the headlines are about.
        comparisons: Further audited splits.
        train: The whole training split, if there is one; for questions about what the model learned from.
        out: The folder of the report.
        settings: What was set about the audit as a whole.
        progress: Whether to show progress bars.
        command: The command that audits the same model and data in the same way, without questions; "" where one of
            them is an object.
        answers: What the model says of each split that is scored, or why it cannot be; {} before `scored`.
        beside: What a further model becomes before it is asked: a plan counts what it would be sent.
    """

    source: Scorer | StoredModel
    dataset_name: str
    primary: AuditSplit
    comparisons: tuple[AuditSplit, ...]
    train: datasets.Dataset | None
    out: Path
    settings: AuditOptions
    progress: bool = True
    command: str = ""
    answers: Mapping[str, Scores | ValueError] = dataclasses.field(default_factory=dict)
    beside: Callable[[Engine], Engine] = lambda engine: engine
    _shared: dict[Any, Any] = dataclasses.field(default_factory=dict)

    def scored(
        self, reads: Iterable[Reads] = ("audited",), known: Mapping[str, Scores] | None = None
    ) -> AuditContext:
        """Return the audit with the scores of splits, without the items that the model cannot score.

        A split that cannot be scored at all stays as it is: each question that asks for its scores says so.

        Args:
            reads: The splits that the questions may ask for; the primary one is scored with any other, as reports are
                compared by it.
            known: Name of a split -> its scores, where they are there already.
        """
        answers: dict[str, Scores | ValueError] = {}
        kept = {split.name: split for split in self.splits}
        wanted = {*reads}
        splits = (
            self.splits if "audited" in wanted else (self.primary,) if "primary" in wanted else ()
        )
        for split in splits:
            try:
                scores = self._predict(split) if known is None else known[split.name]
                reason = next(iter(scores.failures.values()), "")
                if reason and self.settings.fail_fast:
                    raise ValueError(reason)
                if not len(scores):
                    raise ValueError(
                        f"Expected answers of {self.source.name} to the items of “{split.name}”, but none of "
                        f"{len(split)} can be read: {reason}."
                    )
            except ValueError as error:
                if self.settings.fail_fast:
                    raise
                answers[split.name] = error
                continue
            answers[split.name] = scores
            kept[split.name] = split.without(scores.failures)
        return dataclasses.replace(
            self,
            primary=kept[self.primary.name],
            comparisons=tuple(kept[split.name] for split in self.comparisons),
            answers=answers,
        )

    def scores(self, split: AuditSplit | None = None) -> Scores:
        """Return what the model says about a split that the question reads, in the order of the split's items.

        Args:
            split: A split; None for the primary one.

        Raises:
            ValueError: If the model could not score it.
        """
        answer = self.answers[self.primary.name if split is None else split.name]
        if isinstance(answer, ValueError):
            raise answer
        return answer

    def has_scores(self, split: AuditSplit) -> bool:
        """Say whether a split is scored: it is not where no question asked for that, or where those that did failed."""
        return isinstance(self.answers.get(split.name), Scores)

    @property
    def resampling(self) -> Resampling:
        """How intervals and tests are resampled."""
        return self.settings.resampling

    @property
    def seed(self) -> int:
        """Decides every random choice of every question."""
        return self.settings.seed

    @property
    def stored(self) -> StoredModel | None:
        """The stored predictions that take the place of a model; None where there is a model."""
        return self.source if isinstance(self.source, StoredModel) else None

    @property
    def prompted(self) -> Prompted | None:
        """The prompted language model that is asked; None where it is another model."""
        # Stored predictions need no prompts, whose patterns take long to import.
        if self.stored is not None:
            return None
        from rightreasons.models.prompted import prompted_of

        return prompted_of(self.source)

    @property
    def scorer(self) -> Scorer:
        """The model, for questions that ask it anew; stored predictions are none."""
        if isinstance(self.source, StoredModel):
            raise ValueError(f"Expected a model, but {self.source.name} holds stored predictions.")
        return self.source

    @property
    def answers_once(self) -> bool:
        """Whether each item has one generated answer, and so no confidence."""
        return bool(getattr(self.source, "answers_once", False))

    @property
    def unscored(self) -> bool:
        """Whether the items have choices, and of a log with answers alone no scores of them are known."""
        return bool(getattr(self.source, "unscored", False))

    @property
    def server(self) -> dict[str, Any] | None:
        """The server that is asked, what its trial found and what it cost so far; None where the model is here."""
        return None if self.prompted is None else self.prompted.server()

    def why_no_gradients(self) -> str:
        """Say why the words of a text have no gradients, for a section that does not apply; "" where they have."""
        lacks = lacking(self.scorer, "gradients")
        if (
            lacks and getattr(self.source, "n_parameters", None) is None
        ):  # it is not here, and neither need torch be
            return lacks
        from rightreasons.models.gradients.inputs import why_no_gradients

        return why_no_gradients(self.scorer)

    @property
    def label_names(self) -> tuple[str, ...] | None:
        """The names of the model's classes; None for multiple choice and for the confidence in given answers."""
        return self.source.label_names

    @property
    def task(self) -> Literal["classification", "multiple_choice", "confidence"]:
        """What the model does; "confidence" where the confidence in its answers is all that is stored."""
        if self.stored is not None:
            return self.stored.task
        return "multiple_choice" if self.label_names is None else "classification"

    @property
    def splits(self) -> tuple[AuditSplit, ...]:
        """The audited splits, the primary one first."""
        return (self.primary, *self.comparisons)

    def label_name(self, label: int) -> str:
        """Return the name of a class, or "choice 1" of a multiple-choice item; "" for no label."""
        if label < 0:
            return ""
        if self.task == "confidence":
            return ("wrong", "right")[label]
        return f"choice {label + 1}" if self.label_names is None else self.label_names[label]

    @property
    def model_fingerprint(self) -> str:
        """A digest of all that the model's answers depend on, made once: every weight is read for it."""
        if "fingerprint" not in self._shared:
            self._shared["fingerprint"] = self.source.fingerprint
        return cast("str", self._shared["fingerprint"])

    def suite(self, options: BehaviorOptions) -> Suite | None:
        """Open the behavioral suite that the options name, once; None where they name none."""
        from rightreasons.datasets.suites.suite import open_suite

        if options.suite is not None and "suite" not in self._shared:
            how: dict[str, Any] = {
                "data_dir": self.settings.data_dir,
                "seed": self.seed,
                "max_cases": options.max_cases,
            }
            self._shared["suite"] = open_suite(options.suite, **how)
        return self._shared.get("suite")

    def picked(self, split: AuditSplit, limit: int) -> AuditSplit:
        """Pick some of the labeled items of a split (of all, where none is), the same of splits that hold its forms."""
        from rightreasons.io.tables import chosen_rows

        rows = np.flatnonzero(split.labeled) if split.labeled.any() else np.arange(len(split))
        names = split.pair_ids or split.ids
        return split.take(rows[chosen_rows([names[row] for row in rows], limit, seed=self.seed)])

    def running(self, out: Path) -> dict[str, Any]:
        """Return how the model is asked about items, as keyword arguments; `out`, of `folder`, keeps its answers."""
        from rightreasons.models.running import default_batch_size

        size = self.settings.batch_size or default_batch_size(self.scorer)
        return {
            "out": out,
            "batch_size": size,
            "progress": self.progress,
            "fail_fast": self.settings.fail_fast,
        }

    def folder(self, purpose: str, *depends: str, model: str = "") -> Path:
        """Return a folder for results under way, one for each model with its tokenizer and what else they depend on.

        Args:
            purpose: What is kept there, such as the name of a question.
            *depends: What else the results depend on, such as the fingerprint of a split or an option.
            model: A digest in the place of the model's fingerprint; "" for that.

        Returns:
            A folder that a later run of the same audit finds again; it need not exist yet.
        """
        digest = hashlib.blake2b(
            "|".join((model or self.model_fingerprint, *depends)).encode(), digest_size=8
        ).hexdigest()
        return self.out / WORK / f"{safe_name(purpose)}-{digest}"

    def _predict(self, split: AuditSplit) -> Scores:
        if self.stored is not None:
            return self.stored.scores(split)
        from rightreasons.models.classes import choose, predict
        from rightreasons.models.running import bars_about

        # What was generated is kept by what was asked, and read anew.
        rendering = "" if self.prompted is None else self.prompted.asked
        method = filter(None, [str(getattr(self.source, "method", ""))])
        out = self.folder(f"predictions-{split.name}", split.fingerprint, *method, model=rendering)
        shared = {"ids": split.ids, "labels": split.labels, **self.running(out)}
        with bars_about("predictions", split.name):
            if split.choices is not None:
                return choose(self.scorer, split.texts, split.choices, **shared)
            return predict(self.scorer, split.texts, text_pairs=split.text_pairs, **shared)


def example_of(
    context: AuditContext,
    split: AuditSplit,
    item: int,
    predicted: int | None = None,
    confidence: float = 1.0,
    marks: tuple[Mark, ...] | None = None,
    note: str = "",
) -> Example:
    """Show an item of a split with a prediction.

    Args:
        context: The audit.
        split: The split.
        item: The row of the item.
        predicted: The predicted class, or choice; None takes both from what the model says of the split.
        confidence: The confidence in it.
        marks: What to mark in its text; None marks its planted tokens.
        note: What else to say of it, after its choices.

    Returns:
        The example.
    """
    if predicted is None:
        scores = context.scores(split)
        predicted, confidence = int(scores.predicted[item]), float(scores.confidence[item])
    tokens = split.planted[item] if split.planted is not None else ()
    planted = tuple(
        Mark(token["start"], token["end"], "cue", note="planted cue") for token in tokens
    )
    if split.choices is not None:
        note = f"{' | '.join(f'{n + 1}. {choice}' for n, choice in enumerate(split.choices[item]))} {note}".rstrip()
    if split.mislabeled[item]:
        note = f"{note} The label contradicts the text, the data says.".lstrip()
    label, prediction = context.label_name(int(split.labels[item])), context.label_name(predicted)
    if (
        context.stored is not None and context.answers_once
    ):  # of its answers, it is known which are right
        label, prediction = (str(split.data[item].get(name, "")) for name in ("target", "answer"))
    elif context.task == "confidence":  # an answer is right or wrong, and has no label beside that
        label = ""
    return Example(
        id=split.ids[item],
        text=split.data[item][split.text_column],
        text_pair=split.text_pairs[item] if split.text_pairs else "",
        label=label,
        prediction=prediction,
        confidence=None if context.answers_once else min(confidence, 1.0),
        marks=planted if marks is None else marks,
        note=note,
    )


def changes(before: str, after: str) -> tuple[Mark, ...]:
    """Mark the words of a text that another text lacks; the note of a mark says what it replaces.

    Example:
        >>> after = "Ali liked it a lot"
        >>> [(after[mark.start : mark.end], mark.note) for mark in changes("Ann liked it", after)]
        [('Ali', 'in place of “Ann”'), ('a lot', 'added')]
    """
    old, new = (
        [(m.group(), m.start(), m.end()) for m in WORD_PATTERN.finditer(text)]
        for text in (before, after)
    )
    matcher = difflib.SequenceMatcher(
        a=[word for word, _, _ in old], b=[word for word, _, _ in new], autojunk=False
    )
    return tuple(
        Mark(
            new[begin][1],
            new[end - 1][2],
            "change",
            note=f"in place of “{before[old[first][1] : old[last - 1][2]]}”"
            if kind == "replace"
            else "added",
        )
        for kind, first, last, begin, end in matcher.get_opcodes()
        if kind in ("replace", "insert")
    )


_OF_ENGINES = ("revision", "device", "dtype")
_HOW = (*_OF_ENGINES, "target")
"""The settings of a model that is opened by its name; a language model has no target."""


def open_asked(
    model: Any,
    dataset: Any,
    given: AuditOptions,
    prompt: Prompt,
    server: ServerOptions,
    *,
    require_labels: bool,
) -> tuple[Mapping[str, datasets.Dataset], Scorer]:
    """Open the data and the model of an audit.

    Args:
        model: A folder, a hub id, a GGUF file, the address of a server, or what `as_scorer` takes.
        dataset: What `open_splits` opens.
        given: The settings of the audit.
        prompt: How a language model is asked.
        server: How a server is asked.
        require_labels: Whether data without labels is refused.

    Returns:
        The items of each split, and what is asked about them.

    Raises:
        ValueError: If the model is none that can be asked, a setting is not of its kind, or the data does not fit.
    """
    loaded, engine = not isinstance(model, (str, os.PathLike)), None
    if loaded:
        from rightreasons.models.scorers import as_scorer

        try:
            scorer = as_scorer(model)
        except OptionError as error:  # a function, which has no names of its own
            if "label_names" not in error.option or given.label_names is None:
                raise
            scorer = as_scorer(model, label_names=parse_names(given.label_names))
        # A language model is asked as the data has it; what the caller made of one is asked as it is.
        engine = None if scorer is model else getattr(scorer, "engine", None)
        model = scorer
    kind = (
        ""
        if loaded
        else _kind(model, given.revision, "choice" if given.task == "multiple_choice" else "")
    )
    by_prompt = kind in ("language model", "server")
    odd = [
        *(() if by_prompt else prompt.get_changes()),
        *(() if kind == "server" else server.get_changes()),
    ]
    odd += [
        name
        for name in (_HOW if loaded else ("target",) if by_prompt else ())
        if getattr(given, name) is not None
    ]
    if odd:
        raise OptionError(
            f"Expected no `{odd[0]}` with {getattr(model, 'name', model)}, to which it does not apply.",
            option=odd[0],
        )
    # The model comes first: one that cannot be asked is refused before any data is read.
    if by_prompt:
        from rightreasons.models.scorers import open_engine

        how = {name: getattr(given, name) for name in _OF_ENGINES}
        engine = open_engine(model, prompt, server, batch_size=given.batch_size, **how)
    if engine is not None:
        from rightreasons.models.prompted import Prompted

        task, data = task_of_data(dataset, given, prompt.label_words, require_labels=require_labels)
        names = _class_names(data.values(), "the data") if task == "classification" else None
        return data, Prompted(
            prompt, engine, names, examples=examples_of(data, task, prompt.shots), seed=given.seed
        )
    chooses = model.label_names is None if loaded else kind == "choice"
    task = given.task or ("multiple_choice" if chooses else "classification")
    opened = model if loaded else _head(model, task, given)
    from rightreasons.io.tables import open_splits

    # Texts without words are left out where the others are scored, with their ids.
    kept: dict[str, Any] = {"keep_empty": not given.fail_fast} if task == "classification" else {}
    data = open_splits(dataset, require_labels=require_labels, **kept, **given.source(task))
    return with_train(data, task, given), opened


def load_model(model: str | os.PathLike[str], *, task: str | None = None, **how: Any) -> Any:
    """Load what a folder, a hub id, a GGUF file or the address of a server holds, whatever its kind.

    Args:
        model: Where it is.
        task: "multiple_choice" to score choices with a head that could be of either kind; None for what its head says.
        **how: `revision`, `device` and `dtype`.

    Returns:
        What `load_classifier`, `load_chooser` or `open_server` returns.

    Raises:
        ValueError: If it is none of these.
        FileNotFoundError: If it is not there.
    """
    check_kind(task, "task", str | None)
    kind = _kind(model, how.get("revision"), "choice" if task == "multiple_choice" else "")
    if kind == "server":
        from rightreasons.models.scorers import open_engine

        return open_engine(model, Prompt(), ServerOptions(), **how)
    chooses = kind in ("choice", "language model")
    return _head(model, "multiple_choice" if chooses else "classification", AuditOptions(**how))


def is_asked(model: Any) -> bool:
    """Return whether a model is asked through a prompt: a language model, here or behind a server."""
    return _kind(model, None) in ("language model", "server")


def task_of_data(
    dataset: Any, given: AuditOptions, label_words: Sequence[str] = (), *, require_labels: bool
) -> tuple[str, Mapping[str, datasets.Dataset]]:
    """Find out whether data has choices, and open it.

    Args:
        dataset: What `open_splits` opens.
        given: The settings of an audit, of which the task and the columns are taken.
        label_words: Words that stand for labels, if any: only classification has them.
        require_labels: Whether data without labels is refused.

    Returns:
        The task, and the items of each split.
    """
    from rightreasons.io.tables import open_task_items

    task = given.task
    if task is None and (given.label_names or label_words):
        task = "classification"
    task, data = open_task_items(dataset, given, task, require_labels=require_labels)
    return task, with_train(data, task, given)


def asked_items(
    dataset: Any, given: AuditOptions, label_words: Sequence[str] = ()
) -> tuple[list[Item], tuple[str, ...] | None]:
    """Open the items of one split as they are asked; also returns the names of their classes, None for choices."""
    from rightreasons.io.tables import choose_split
    from rightreasons.models.prompts import Item

    task, splits = task_of_data(dataset, given, label_words, require_labels=False)
    rows = limited(
        splits[choose_split(splits, given.split, where=str(dataset))], given, str(dataset)
    )
    names = _class_names([rows], str(dataset)) if task == "classification" else None
    fields = ("prompt", "choices") if names is None else ("text", "text_pair")
    return [
        Item(str(row["id"]), {name: row.get(name) for name in fields}, int(row.get("label", -1)))
        for row in rows
    ], names


def examples_of(data: Mapping[str, datasets.Dataset], task: str, shots: int) -> Examples | None:
    """Return what few-shot examples are drawn from: the training split."""
    from rightreasons.models.prompts import Examples

    train = data.get("train")
    if not shots or train is None or "label" not in train.column_names:
        return None
    names = ("prompt", "choices") if task == "multiple_choice" else ("text", "text_pair")
    fields = {name: train[name][:] for name in names if name in train.column_names}
    return Examples.of(train["id"][:], train["label"][:], **fields)


# ------------------------------------------------------------------------------------------------------------- private


def _kind(model: Any, revision: str | None, unknown: str = "") -> str:
    """Tell a language model, one behind a server and heads apart; `unknown` stands for a model that is none."""
    if is_address(model):
        return "server"
    require_package("torch")
    from rightreasons.models.choices import LANGUAGE_MODELS, kind_of_model

    try:
        kind = kind_of_model(model, revision)
        return "language model" if kind in LANGUAGE_MODELS else kind
    except (ValueError, TypeError):  # whatever is wrong with it, its loader says it better
        return unknown


def _head(model: Any, task: str, given: AuditOptions) -> Scorer:
    from rightreasons.models.choices import load_chooser
    from rightreasons.models.loading import load_classifier

    how = {name: getattr(given, name) for name in _HOW}
    if task == "multiple_choice":
        return load_chooser(model, **how)
    return load_classifier(model, **how)


def _class_names(data: Iterable[datasets.Dataset], where: str) -> tuple[str, ...]:
    for rows in data:
        if "label" in rows.column_names:
            return tuple(rows.features["label"].names)
    raise OptionError(
        f"Expected labels in {where}, whose names a language model chooses from, but it has none.",
        option="label_column",
    )
