"""Arguments of an audit, parsed: `parse_request` turns them into an `AuditRequest`."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rightreasons.core.errors import OptionError
from rightreasons.core.options import Options, QuestionOptions, check_options, format_names
from rightreasons.core.sentences import format_list, format_value
from rightreasons.io.descriptions import add_settled_checks
from rightreasons.io.joined_files import JoinedFiles
from rightreasons.io.options import AuditOptions, StoredOptions
from rightreasons.models.servers.options import ServerOptions
from rightreasons.models.wording import Prompt
from rightreasons.report.earlier import EarlierReport, read_earlier
from rightreasons.report.options import EarlierOptions
from rightreasons.report.questions import parse_question_options

if TYPE_CHECKING:
    from rightreasons.page.question import Question

T = TypeVar("T", bound=Options)

OPTION_CLASSES: tuple[type[Options], ...] = (
    AuditOptions,
    EarlierOptions,
    StoredOptions,
    Prompt,
    ServerOptions,
)
"""Classes of the options of an audit as a whole."""

LISTED_OPTIONS = ("split", "label_names", "text_column", "choices_column")
"""Options with several names: a list in Python, and commas on the command line."""

TABLE = "the table"
"""Name of an input that is a table in memory."""


@dataclasses.dataclass(frozen=True, eq=False)
class AuditRequest:
    """Inputs and options of an audit, parsed and checked.

    Attributes:
        sections: The requested questions.
        question_options: Question -> its options.
        general: Options of the audit as a whole.
        resumption: Options of an earlier audit.
        stored: Options of stored predictions.
        prompt: Options of the prompt of a language model.
        server: Options of a model server.
        model: The model; None if stored predictions are audited.
        dataset: The data; None if the stored predictions contain it.
        predictions: Stored predictions: a path, a table in memory, or two files; None for a model.
        train: Training texts: a path or a table in memory; None if there are none.
        previous: The earlier audit whose tests are repeated; None if there is none.
    """

    sections: tuple[Question, ...]
    question_options: Mapping[str, QuestionOptions]
    general: AuditOptions
    resumption: EarlierOptions
    stored: StoredOptions
    prompt: Prompt
    server: ServerOptions
    model: Any = None
    dataset: Any = None
    predictions: Any = None
    train: Any = None
    previous: EarlierReport | None = None

    @property
    def has_table(self) -> bool:
        """Whether an input is a table in memory, which no command can name."""
        return is_table(self.predictions) or is_table(self.train)

    @property
    def data_name(self) -> str:
        """The default name of the data in the report: its path, or that of the predictions."""
        source = self.dataset
        if source is None:
            source = self.get_stored_options().predictions
        if isinstance(source, (str, os.PathLike)):
            return os.fspath(source)
        return "the data"

    @property
    def reproducing_options(self) -> tuple[Options, ...]:
        """All options of the audit but those of questions, from which its command is made."""
        stored = self.get_stored_options()
        if isinstance(self.predictions, JoinedFiles):
            # The options name both files; their joint name is no file.
            stored = self.stored
        return self.general, self.resumption, stored, self.prompt, self.server

    def get_stored_options(self) -> StoredOptions:
        """Return the options of stored predictions, in which `predictions` is a name.

        The name is the path, the joint name of two files, or "the table" for a table in memory.
        """
        if self.predictions is None:
            return self.stored
        if isinstance(self.predictions, JoinedFiles):
            return self.stored.replace(predictions=self.predictions.name)
        if is_table(self.predictions):
            return self.stored.replace(predictions=TABLE)
        return self.stored.replace(predictions=self.predictions)

    def get_opening_options(self) -> AuditOptions:
        """Return the options of the audit as a whole, in which `train` is the training texts or a path."""
        # `general` is stored in the report, and has the name "the table" for a table in memory.
        return self.general.model_copy(update={"train": self.train})

    def to_dict(self) -> dict[str, Any]:
        """Return all options but those of questions in the format of audit.json."""
        return {
            **self.general.to_dict(),
            **self.resumption.to_dict(),
            **self.get_stored_options().to_dict(),
            "prompt": self.prompt.to_dict(),
            "server": self.server.to_dict(),
        }


def parse_request(
    model: Any,
    dataset: Any,
    sections: Sequence[Question],
    options: Mapping[str, Any] | None,
    settings: Mapping[str, Any],
) -> AuditRequest:
    """Parse the arguments of `audit`.

    Args:
        model: The model, or the only path.
        dataset: The data.
        sections: The requested questions.
        options: Question -> its options.
        settings: Options of the audit as a whole, by name.

    Raises:
        TypeError: If an option has the wrong type.
        ValueError: If an option is unknown or does not apply, or if there is neither a model with
            data nor stored predictions.
    """
    values = _join_names(settings)
    known_options: list[str] = []
    for options_class in OPTION_CLASSES:
        known_options += options_class.list_names()
    check_options(values, known_options, "audit")
    # Both may be tables in memory, which cannot be values of options.
    predictions = values.pop("predictions", None)
    train = values.pop("train", None)
    question_names = [section.name for section in sections]
    previous = None
    if values.get("after") is not None:
        previous = read_earlier(values["after"])
        previous.check_questions(question_names)
        values["after"] = previous.path
    if is_table(train):
        values["train"] = TABLE
    elif train is not None:
        values["train"] = os.fspath(train)
    request = AuditRequest(
        sections=tuple(sections),
        general=select_options(AuditOptions, values),
        resumption=select_options(EarlierOptions, values),
        stored=select_options(StoredOptions, values),
        prompt=select_options(Prompt, values),
        server=select_options(ServerOptions, values),
        question_options=parse_question_options(question_names, options),
        train=train,
        previous=previous,
    )
    _check_single_audit(request.general)
    # The options may name two files in place of the predictions.
    predictions = join_answers(predictions, request.stored)
    model, dataset, predictions = resolve_inputs(
        model, dataset, predictions, request.stored, request.prompt
    )
    return dataclasses.replace(
        request,
        model=model,
        dataset=dataset,
        predictions=predictions,
        general=add_settled_checks(request.general, dataset, predictions),
    )


def _join_names(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings in which each list of names is a string with commas between the names.

    Options with several names (`LISTED_OPTIONS`) are lists in Python, and strings on the command
    line and in reports.

    Args:
        settings: Name -> value of options of an audit, such as `{"label_names": ["no", "yes"]}`.
    """
    joined = dict(settings)
    for option in LISTED_OPTIONS:
        names = settings.get(option)
        if not isinstance(names, (list, tuple)):
            continue
        is_single_name = len(names) == 1 and bool(names[0])
        if option == "text_column" and is_single_name:
            # The name of a single column may contain a comma, and is not quoted.
            joined[option] = names[0]
        else:
            joined[option] = format_names(names)
    return joined


def select_options(kind: type[T], settings: Mapping[str, Any]) -> T:
    """Return the options of one class from all settings of an audit."""
    values = {name: settings[name] for name in kind.list_names() if name in settings}
    return kind.read(values, "audit")


def is_table(source: Any) -> bool:
    """Return whether an input is a table in memory, and not a path."""
    return not isinstance(source, (str, os.PathLike, JoinedFiles, type(None)))


def _check_single_audit(options: AuditOptions) -> None:
    """Refuse a column whose values are to be audited separately."""
    if options.by is not None:
        raise OptionError(
            f"Expected one audit, but got `by` {options.by!r}: `audit_arms` audits each value.",
            option="by",
        )


def join_answers(predictions: Any, stored: StoredOptions) -> Any:
    """Return the given predictions, or the two files of items and answers that the options name.

    Args:
        predictions: A path or a table; None if no predictions were given.
        stored: Options, in which `items` and `answers` may name a file of items and a file of
            answers to them, which are joined by the column `join`.

    Raises:
        OptionError: If one of the two files is missing, or there are predictions as well.
    """
    files = {"items": stored.items, "answers": stored.answers}
    given_names = [name for name, file in files.items() if file is not None]
    # Without the two files, the column would have no effect.
    if not given_names and stored.join is not None:
        raise OptionError(
            "Expected `items` and `answers` with `join`, but got neither.", option="join"
        )
    if not given_names:
        return predictions
    inputs = list(given_names)
    if predictions is not None:
        inputs.append("predictions")
    if inputs != ["items", "answers"]:
        raise OptionError(
            "Expected a file of `items` together with a file of `answers`, and no `predictions`, but "
            f"got {format_list(inputs)}. To limit the number of items, use `limit`.",
            option=tuple(given_names),
        )
    return JoinedFiles(stored.items, stored.answers, stored.join)


def resolve_inputs(
    model: Any, dataset: Any, predictions: Any, stored: StoredOptions, prompt: Prompt
) -> tuple[Any, Any, Any]:
    """Determine whether a single path is a model, data, or predictions, and check the inputs.

    Args:
        model: The model. If `dataset` is None, this may also be the path of predictions, of a log,
            or, with `predictions`, of their data.
        dataset: The data; None if it was not given.
        predictions: Stored predictions; None if they were not given.
        stored: Options of stored predictions, which must be the defaults for a model.
        prompt: Options of prompts, which must be the defaults for stored predictions.

    Returns:
        The model, the data and the predictions. Either the model or the predictions are None.

    Raises:
        ValueError: If there is neither a model with data nor stored predictions.
    """
    if dataset is None and isinstance(model, (str, os.PathLike)):
        path = model
        # There are predictions instead of a model, so that the path is that of the data.
        if predictions is not None:
            model, dataset = None, path
        elif _is_predictions_file(path):
            model, predictions = None, path
        else:
            log = _find_log(Path(path))
            if log is not None:
                model, predictions = None, os.fspath(log)

    _check_unused_options(predictions, stored, prompt)
    # A model needs data, and the file of predictions may contain it.
    if predictions is None:
        is_complete = model is not None and dataset is not None
    else:
        is_complete = model is None
    if not is_complete:
        inputs = [format_value(x) for x in (model, dataset, predictions) if x is not None]
        raise OptionError(
            "Expected a model and a data set, or `predictions` (a file or a table), but got "
            f"{' and '.join(inputs) or 'neither'}.",
            option="predictions",
        )
    return model, dataset, predictions


def _is_predictions_file(source: str | os.PathLike[str]) -> bool:
    """Return whether a path names a file of predictions, and not a folder or a hub id of a model.

    Args:
        source: Path or hub id, such as "predictions.csv" or "org/model".
    """
    from rightreasons.io.files.compressed import get_data_type
    from rightreasons.io.reading import NAMED_TYPES

    # A GGUF file is a model, and any other file a table.
    path = Path(source)
    if path.is_file() and path.suffix != ".gguf":
        return True
    # A path with the suffix of a table, such as ".csv", is no model even if the file is missing.
    return get_data_type(path) in NAMED_TYPES


def _find_log(folder: Path) -> Path | None:
    """Return the only log of a folder; None if the path is something else, such as a model.

    Raises:
        ValueError: If the folder contains several.
    """
    from rightreasons.io.log_forms import list_logs

    # The folder of a model contains JSON files, which are no logs.
    is_model = any((folder / name).exists() for name in ("config.json", "adapter_config.json"))
    if is_model or not folder.is_dir():
        return None
    logs = list_logs(folder)
    if len(logs) > 1:
        raise OptionError(
            f"Expected a model and a data set, or one log, but {folder} has {len(logs)} files "
            f"such as {logs[0].relative_to(folder)}. Pass one of the files, or compare all files "
            f"with `rightreasons compare {folder}`.",
            option="predictions",
        )
    return logs[0] if logs else None


def _check_unused_options(predictions: Any, stored: StoredOptions, prompt: Prompt) -> None:
    """Raise an OptionError for an option that has no effect.

    Options of stored predictions have no effect on the audit of a model, and options of prompts
    have no effect on the audit of stored predictions.

    Args:
        predictions: Stored predictions; None if a model is audited.
        stored: Options of stored predictions.
        prompt: Options of prompts.
    """
    if predictions is None:
        unused = stored.get_changes()
        # This option also applies to a model: a function may return logits or probabilities.
        unused.pop("scores", None)
        reason = "without `predictions`"
    else:
        unused = prompt.get_changes()
        reason = f"for {format_value(predictions)}, which is answered"
    for name in unused:
        raise OptionError(f"Expected no `{name}` {reason}.", option=name)
