"""Opening of the data and the model of an audit: `open_asked` for a run, `load_model` for a model by its name.

A model is a head of its own kind, or a language model with a prompt.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rightreasons.audited.splits import limited
from rightreasons.core.errors import OptionError
from rightreasons.core.extras import require_package
from rightreasons.core.options import parse_names
from rightreasons.core.validation import check_kind
from rightreasons.io.options import AuditOptions
from rightreasons.models.servers.options import ServerOptions, is_address
from rightreasons.models.wording import Prompt

if TYPE_CHECKING:
    import datasets

    from rightreasons.models.prompts import Examples, Item
    from rightreasons.models.protocol import Scorer


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


def open_training_split(train: Any, **source: Any) -> datasets.Dataset:
    """Open labeled training texts: the split named train, or the only one.

    Args:
        train: What `open_splits` opens.
        **source: Further options of `open_splits`.

    Raises:
        ValueError: If there are several splits and none named train.
    """
    from rightreasons.io.tables import open_splits

    opened = open_splits(train, require_labels=True, **source)
    if "train" in opened:
        return opened["train"]
    # Which of several splits the model learned from cannot be guessed.
    if len(opened) > 1:
        raise OptionError(
            f"Expected one split, or one named train, but got {', '.join(opened)}.", option="train"
        )
    return next(iter(opened.values()))


# ------------------------------------------------------------------------------------------------------------- private


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

    rows = open_training_split(given.train, **given.source(task))
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
