"""The model that an audit asks: a head of its own kind, or a language model with a prompt; and the data it is asked."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rightreasons.audited.options import AuditOptions
from rightreasons.audited.splits import with_train
from rightreasons.core.errors import OptionError, needs
from rightreasons.core.options import listed
from rightreasons.core.validation import check_kind
from rightreasons.models.servers.options import ServerOptions, is_address
from rightreasons.models.wording import Prompt

if TYPE_CHECKING:
    import datasets

    from rightreasons.models.prompted import Prompted
    from rightreasons.models.prompts import Examples, Item
    from rightreasons.models.protocol import Engine, Scorer


_OF_ENGINES = ("revision", "device", "dtype")
_HOW = (*_OF_ENGINES, "target")
"""The settings of a model that is opened by its name; a language model has no target."""


def open_asked(
    model: Any, dataset: Any, given: AuditOptions, prompt: Prompt, server: ServerOptions, *, require_labels: bool
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
            scorer = as_scorer(model, label_names=listed(given.label_names))
        # A language model is asked as the data has it; what the caller made of one is asked as it is.
        engine = None if scorer is model else getattr(scorer, "engine", None)
        model = scorer
    kind = "" if loaded else _kind(model, given.revision, "choice" if given.task == "multiple_choice" else "")
    for options, kinds in ((prompt, ("language model", "server")), (server, ("server",))):
        name = next(iter(options.changed()), None)
        if name is None or kind in kinds:
            continue
        raise OptionError(
            f"Expected a {kinds[0]} to open where `{name}` says how it is asked, but got "
            f"{getattr(model, 'name', model)}.",
            option=name,
        )
    if loaded:
        changed = next((name for name in _HOW if getattr(given, name) is not None), None)
        if changed is not None:
            raise OptionError(
                f"Expected no `{changed}` with a model that is loaded, but got {getattr(given, changed)!r}.",
                option=changed,
            )
    # The model comes first: one that cannot be asked is refused before any data is read.
    if kind in ("language model", "server"):
        from rightreasons.models.scorers import open_engine

        if given.target is not None:
            raise OptionError(
                f"Expected a multi-label classifier where `target` names a label, but got {model}.", option="target"
            )
        how = {name: getattr(given, name) for name in _OF_ENGINES}
        engine = open_engine(model, prompt, server, batch_size=given.batch_size, **how)
    if engine is not None:
        task, data = task_of_data(dataset, given, prompt.label_words, require_labels=require_labels)
        return data, _prompted(engine, task, data, given, prompt)
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


def prompted_model(
    model: str | os.PathLike[str],
    prompt: Prompt,
    server: ServerOptions,
    label_names: tuple[str, ...] | None,
    *,
    seed: int = 0,
) -> Prompted:
    """Open a language model, here or behind a server, and ask it through a prompt.

    Args:
        model: A folder, a hub id, a GGUF file or the address of a server.
        prompt: How it is asked.
        server: How a server is asked.
        label_names: The names of the classes; None for multiple choice.
        seed: As of `Prompted`.
    """
    from rightreasons.models.prompted import Prompted
    from rightreasons.models.scorers import open_engine

    return Prompted(prompt, open_engine(model, prompt, server), label_names, seed=seed)


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
    from rightreasons.audited.splits import limited
    from rightreasons.io.tables import choose_split
    from rightreasons.models.prompts import Item

    task, splits = task_of_data(dataset, given, label_words, require_labels=False)
    rows = limited(splits[choose_split(splits, given.split, where=str(dataset))], given, str(dataset))
    names = None if task == "multiple_choice" else tuple(rows.features["label"].names)
    fields = ("prompt", "choices") if names is None else ("text", "text_pair")
    return [
        Item(str(row["id"]), {name: row.get(name) for name in fields}, int(row.get("label", -1))) for row in rows
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
    needs("torch")
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


def _prompted(
    engine: Engine, task: str, data: Mapping[str, datasets.Dataset], given: AuditOptions, prompt: Prompt
) -> Prompted:
    from rightreasons.models.prompted import Prompted

    names = None
    if task == "classification":
        labeled = [rows for rows in data.values() if "label" in rows.column_names]
        if not labeled:
            raise ValueError("Expected labels in the data, whose names a language model chooses from, but it has none.")
        names = tuple(labeled[0].features["label"].names)
    return Prompted(prompt, engine, names, examples=examples_of(data, task, prompt.shots), seed=given.seed)
