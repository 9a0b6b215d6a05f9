"""Opening of the model and the data of an audit.

`open_inputs` opens both for a run, and `load_model` a model by its name. A model is either a
classifier or chooser with its own head, or a language model that gets a prompt.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rightreasons.audited.task_data import (
    add_training_split,
    get_class_names,
    open_task_data,
    select_shots,
)
from rightreasons.core.errors import OptionError
from rightreasons.core.extras import require_package
from rightreasons.core.labels.names import BY_NUMBER
from rightreasons.core.options import format_names, parse_names
from rightreasons.core.validation import check_kind
from rightreasons.io.options import AuditOptions
from rightreasons.models.named_objects import is_object_name
from rightreasons.models.runs.elapsed import show_elapsed
from rightreasons.models.servers.options import ServerOptions, is_address
from rightreasons.models.wording import Prompt

if TYPE_CHECKING:
    import datasets

    from rightreasons.models.protocol import Engine, Scorer

PROMPTED_KINDS = ("language model", "server")
"""Kinds of models that get a prompt."""

ENGINE_OPTIONS = ("revision", "device", "dtype")
"""Options of a model that is loaded by its name."""

HEAD_OPTIONS = (*ENGINE_OPTIONS, "target")
"""Options of a classifier that is loaded by its name; a language model has no target."""


@dataclasses.dataclass(frozen=True)
class AskingOptions:
    """How a language model is asked.

    Attributes:
        prompt: Options of its prompt.
        server: Options of its server, if it is behind one.
        out: Folder of its answers, whose costs count for the bounds of a server. None if there is
            no folder.
    """

    prompt: Prompt
    server: ServerOptions
    out: str | os.PathLike[str] | None = None


def open_inputs(
    model: Any,
    dataset: Any,
    settings: AuditOptions,
    asking: AskingOptions,
    *,
    require_labels: bool,
    scores: str | None = None,
) -> tuple[Mapping[str, datasets.Dataset], Scorer]:
    """Open the data and the model of an audit.

    The model is opened first, so that one that cannot be used is reported before data is read.

    Args:
        model: A folder, a hub id, a GGUF file, the address of a server, or anything that
            `as_scorer` accepts.
        dataset: Anything that `open_splits` opens.
        settings: Options of the audit.
        asking: Options of the prompt and of the server of a language model.
        require_labels: Whether data without labels is refused.
        scores: "probabilities" or "logits", the values that a function returns. If None,
            probabilities.

    Returns:
        The items of each split, and the model.

    Raises:
        ValueError: If the model cannot be used, an option does not apply to it, or the data does
            not fit.
    """
    if isinstance(model, (str, os.PathLike)) and not is_object_name(model):
        opened = _open_named_model(model, settings, asking, scores)
    else:
        opened = _open_object(
            model, dataset, settings, asking, scores, require_labels=require_labels
        )
    # A language model needs the data for its prompt: the names of classes, and examples.
    if opened.engine is not None:
        return _open_prompted(
            opened.engine, dataset, settings, asking.prompt, require_labels=require_labels
        )

    task = settings.task
    if task is None:
        task = "multiple_choice" if opened.is_chooser else "classification"
    scorer = opened.scorer
    if scorer is None:
        scorer = _load_head(model, task, settings)
    data = opened.data
    if data is None:
        data = _open_data(dataset, task, settings, require_labels=require_labels)
    return data, scorer


@dataclasses.dataclass(frozen=True)
class _OpenedModel:
    """A model, as far as it can be opened without its data.

    Attributes:
        engine: A language model that gets prompts of the data. None for any other model.
        scorer: The scorer. None for a language model, and for a model whose head is loaded for the
            task of the audit.
        data: The items of each split, if they were needed to open the model; otherwise None.
        is_chooser: Whether the model scores choices, if the audit names no task.
    """

    engine: Engine | None = None
    scorer: Scorer | None = None
    data: Mapping[str, datasets.Dataset] | None = None
    is_chooser: bool = False


def _open_named_model(
    model: str | os.PathLike[str],
    settings: AuditOptions,
    asking: AskingOptions,
    scores: str | None,
) -> _OpenedModel:
    """Open the model of a folder, a hub id, a GGUF file, or the address of a server.

    Args:
        model: Its path, id or address.
        settings: Options of the audit, such as the task and the revision.
        asking: Options of the prompt and of the server of a language model.
        scores: The values that a function returns; None for a named model.

    Raises:
        ValueError: If it cannot be used, or an option does not apply to it.
    """
    kind = _find_kind(model, settings.revision, settings.task)
    scorer = None
    if not kind:
        # There is no such model: loading it raises an error, which is more useful than one about
        # options that do not apply.
        scorer = _load_head(model, settings.task or "classification", settings)
    _check_no_option(_list_unused_options(kind, settings, asking), model)
    # Only for a function does the user have to name the values that it returns.
    if scores is not None:
        _check_no_option(["scores"], model)
    if kind in PROMPTED_KINDS:
        return _OpenedModel(engine=_open_engine(model, settings, asking))
    return _OpenedModel(scorer=scorer, is_chooser=kind == "choice")


def _open_object(
    model: Any,
    dataset: Any,
    settings: AuditOptions,
    asking: AskingOptions,
    scores: str | None,
    *,
    require_labels: bool,
) -> _OpenedModel:
    """Open a loaded model, a function, or an object of a Python file.

    Args:
        model: The object, or its name as "FILE.py:NAME".
        dataset: The data, whose classes are those of a function without `label_names`.
        settings: Options of the audit.
        asking: Options of prompts and servers, which must be the defaults.
        scores: "probabilities" or "logits", the values that a function returns. If None,
            probabilities.
        require_labels: Whether data without labels is refused.

    Raises:
        ValueError: If it cannot be used, or an option does not apply to it.
    """
    scorer, data = _open_scorer(model, dataset, settings, scores, require_labels=require_labels)
    # Options of prompts, of servers and of loading do not apply to an object.
    unused = [*asking.prompt.get_changes(), *asking.server.get_changes()]
    unused += _list_set_options(settings, HEAD_OPTIONS)
    _check_no_option(unused, getattr(scorer, "name", scorer))
    # A loaded language model, from which a scorer was made here, gets its prompt from the data. A
    # scorer that the user has made of one already has its prompt.
    engine = None
    if scorer is not model:
        engine = getattr(scorer, "engine", None)
    return _OpenedModel(engine, scorer, data, is_chooser=scorer.label_names is None)


def _open_scorer(
    model: Any, dataset: Any, settings: AuditOptions, scores: str | None, *, require_labels: bool
) -> tuple[Scorer, Mapping[str, datasets.Dataset] | None]:
    """Return the scorer of a loaded model, a function, or an object of a Python file.

    A function without `label_names` gets the names of the classes of the data, in their order.

    Args:
        model: The object, or its name as "FILE.py:NAME".
        dataset: The data, which is opened only to get these names.
        settings: Options of the audit.
        scores: "probabilities" or "logits", the values that a function returns. If None,
            probabilities.
        require_labels: Whether data without labels is refused.

    Returns:
        The scorer, and the splits of the data; None if the data was not opened.
    """
    try:
        return _make_scorer(model, settings, scores), None
    except OptionError as error:
        # Only missing names of classes can be replaced by those of the data.
        if "label_names" not in error.option or settings.label_names is not None:
            raise
        data = _open_data(dataset, "classification", settings, require_labels=require_labels)
        try:
            class_names = get_class_names(data.values(), "the data")
        except OptionError:
            # The data has no classes either, so that the user has to name them.
            raise error from None
    named_settings = settings.replace(label_names=format_names(class_names))
    scorer = _make_scorer(model, named_settings, scores)
    if hasattr(scorer, "label_match"):
        # The classes were matched by their order only. The audit reads this description, and checks
        # whether another order fits better.
        matches = [f"{number} is {name}" for number, name in enumerate(class_names)]
        scorer.label_match = f"{BY_NUMBER}: {', '.join(matches)}"
    return scorer, data


def _make_scorer(model: Any, settings: AuditOptions, scores: str | None) -> Scorer:
    """Return the scorer of a loaded model, a function, or an object of a Python file."""
    from rightreasons.models.scorers import as_named_scorer

    label_names = None
    if settings.label_names is not None:
        label_names = parse_names(settings.label_names)
    return as_named_scorer(model, label_names, scores=scores)


def _list_unused_options(kind: str, settings: AuditOptions, asking: AskingOptions) -> list[str]:
    """Return the names of options that were set, but do not apply to a named model.

    Args:
        kind: Type of the model: "server", "language model", or any other for a model with a head.
        settings: Options of the audit.
        asking: Options of the prompt and of the server of a language model.
    """
    unused: list[str] = []
    if kind not in PROMPTED_KINDS:
        unused += asking.prompt.get_changes()
    if kind != "server":
        unused += asking.server.get_changes()
    if kind in PROMPTED_KINDS:
        unused += _list_set_options(settings, ("target",))
    return unused


def _list_set_options(settings: AuditOptions, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if getattr(settings, name) is not None]


def _check_no_option(unused: list[str], model: Any) -> None:
    if unused:
        raise OptionError(
            f"Expected no `{unused[0]}` with {model}, because the option does not apply.",
            option=unused[0],
        )


def _open_engine(model: Any, settings: AuditOptions, asking: AskingOptions) -> Any:
    """Open a language model, or the server of one.

    Args:
        model: A folder, a hub id, a GGUF file, or the address of a server.
        settings: Options of the audit, such as the device and the batch size.
        asking: Options of the prompt and of the server, and the folder of its answers.
    """
    from rightreasons.models.scorers import open_engine

    options = {name: getattr(settings, name) for name in ENGINE_OPTIONS}
    # A plan only counts the requests, and writes no files.
    out = asking.out
    if settings.plan:
        out = None
    wait: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
    if not is_address(model):
        # The elapsed time is shown while a model is loaded. A server has no model to load.
        wait = show_elapsed(f"Loading {os.fspath(model)}")
    with wait:
        return open_engine(
            model, asking.prompt, asking.server, batch_size=settings.batch_size, out=out, **options
        )


def _open_prompted(
    engine: Engine,
    dataset: Any,
    settings: AuditOptions,
    prompt: Prompt,
    *,
    require_labels: bool,
) -> tuple[Mapping[str, datasets.Dataset], Scorer]:
    """Open the data of a language model, and return it with the scorer that prompts the model.

    Args:
        engine: The language model.
        dataset: Anything that `open_splits` opens.
        settings: Options of the audit, such as the names of the columns.
        prompt: Options of the prompt, such as its number of examples (`shots`).
        require_labels: Whether data without labels is refused.
    """
    from rightreasons.models.prompted import Prompted

    task, data = open_task_data(
        dataset, settings, prompt.label_words, require_labels=require_labels
    )
    # Only classes have names. Each multiple-choice item has different choices.
    names = None
    if task == "classification":
        names = get_class_names(data.values(), "the data")
    shots = select_shots(data, task, prompt.shots)
    return data, Prompted(prompt, engine, names, examples=shots, seed=settings.seed)


def _open_data(
    dataset: Any, task: str, settings: AuditOptions, *, require_labels: bool
) -> Mapping[str, datasets.Dataset]:
    """Open the data of a model that gets no prompt, such as a classifier.

    Args:
        dataset: Anything that `open_splits` opens.
        task: "classification" or "multiple_choice".
        settings: Options of the audit, such as the names of the columns.
        require_labels: Whether data without labels is refused.
    """
    from rightreasons.io.tables import open_splits

    options: dict[str, Any] = {}
    if task == "classification":
        # The scorer excludes items with empty texts and records their ids, so that the report can
        # list them. With `fail_fast`, opening the data raises an error instead.
        options["keep_empty"] = not settings.fail_fast
    data = open_splits(dataset, require_labels=require_labels, **options, **settings.source(task))
    return add_training_split(data, task, settings)


def load_model(model: str | os.PathLike[str], *, task: str | None = None, **options: Any) -> Any:
    """Load the model of a folder, a hub id, a GGUF file, or the address of a server.

    Args:
        model: Its path, id or address.
        task: "multiple_choice" to score choices, if the type of the model's head does not decide.
            None to let it decide.
        **options: `revision`, `device` and `dtype`.

    Returns:
        The result of `load_classifier`, `load_chooser` or `open_server`.

    Raises:
        ValueError: If it is not a classifier, a multiple-choice model or a language model.
        FileNotFoundError: If it does not exist.
    """
    check_kind(task, "task", str | None)
    kind = _find_kind(model, options.get("revision"), task)
    if kind == "server":
        from rightreasons.models.scorers import open_engine

        return open_engine(model, Prompt(), ServerOptions(), **options)
    # A local language model scores choices by their likelihoods.
    head_task = "classification"
    if kind in ("choice", "language model"):
        head_task = "multiple_choice"
    return _load_head(model, head_task, AuditOptions(**options))


def is_prompted(model: Any) -> bool:
    """Return whether a named model gets a prompt: a language model, local or on a server."""
    return _find_kind(model, revision=None) in PROMPTED_KINDS


def _find_kind(model: Any, revision: str | None, task: str | None = None) -> str:
    """Return the type of a named model, without loading its weights.

    Args:
        model: A folder, a hub id, a GGUF file, or the address of a server.
        revision: Revision of a hub id. None for the newest.
        task: Task of the audit. None if the model decides.

    Returns:
        "server", "language model", "choice" for a head that scores choices, another kind of
        `find_model_kind`, or "" if there is no such model and the task is not multiple choice.
    """
    if is_address(model):
        return "server"
    # Models on a server do not need torch, whose import takes seconds.
    with show_elapsed(f"Opening {os.fspath(model)}"):
        require_package("torch")
        from rightreasons.models.choices import LANGUAGE_MODELS, find_model_kind

        try:
            kind = find_model_kind(model, revision)
        except (ValueError, TypeError):
            # The loader for the task will raise a more precise error.
            return "choice" if task == "multiple_choice" else ""
    if kind in LANGUAGE_MODELS:
        return "language model"
    return kind


def _load_head(model: Any, task: str, settings: AuditOptions) -> Scorer:
    """Load a multiple-choice model or a sequence classifier.

    Args:
        model: A folder or a hub id.
        task: "multiple_choice" or "classification".
        settings: Options of the audit, among them the revision, the device and the target.
    """
    from rightreasons.models.choices import load_chooser
    from rightreasons.models.loading import load_classifier

    options = {name: getattr(settings, name) for name in HEAD_OPTIONS}
    with show_elapsed(f"Loading {os.fspath(model)}"):
        if task == "multiple_choice":
            return load_chooser(model, **options)
        return load_classifier(model, **options)
