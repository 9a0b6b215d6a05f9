"""The questions that an audit can answer, by name, and their options.

To add one, write `NAME/question.py` with a `Question` (see `page.question`), write its sentences
into `question.md.j2` in the same folder, and register it in `QUESTIONS`. CONTRIBUTING.md has an
example.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rightreasons.behavior.options import BehaviorOptions
from rightreasons.calibration.options import CalibrationOptions
from rightreasons.core.errors import OptionTypeError, make_unknown_name_error
from rightreasons.core.extras import require_package
from rightreasons.core.options import QuestionOptions, escape_text, format_names
from rightreasons.core.sentences import format_value
from rightreasons.cues.options import CuesOptions
from rightreasons.difficulty.options import DifficultyOptions
from rightreasons.models.wording import Prompt
from rightreasons.probes.options import ProbesOptions
from rightreasons.reasons.options import ReasonsOptions
from rightreasons.shortcuts.options import ShortcutsOptions
from rightreasons.ways.options import WaysOptions

if TYPE_CHECKING:
    from rightreasons.page.question import Question


@dataclasses.dataclass(frozen=True)
class RegisteredQuestion:
    """Entry of a question, which imports nothing of it but its options.

    Attributes:
        address: Address of the question, as "module:name".
        options: Class of its options, from which the command line makes flags.
        is_default: Whether an audit asks it without `--questions`; one with a high price is not.
    """

    address: str
    options: type[QuestionOptions]
    is_default: bool = True

    def load(self) -> Question:
        """Import the question."""
        module, name = self.address.split(":")
        question: Question = getattr(import_module(module), name)
        return question


QUESTIONS = {
    "calibration": RegisteredQuestion(
        "rightreasons.calibration.question:CALIBRATION", CalibrationOptions
    ),
    "shortcuts": RegisteredQuestion("rightreasons.shortcuts.question:SHORTCUTS", ShortcutsOptions),
    "cues": RegisteredQuestion("rightreasons.cues.question:CUES", CuesOptions),
    "probes": RegisteredQuestion("rightreasons.probes.question:PROBES", ProbesOptions),
    "difficulty": RegisteredQuestion(
        "rightreasons.difficulty.question:DIFFICULTY", DifficultyOptions
    ),
    "behavior": RegisteredQuestion("rightreasons.behavior.question:BEHAVIOR", BehaviorOptions),
    "reasons": RegisteredQuestion(
        "rightreasons.reasons.question:REASONS", ReasonsOptions, is_default=False
    ),
    "ways": RegisteredQuestion("rightreasons.ways.question:WAYS", WaysOptions, is_default=False),
}
"""Name -> question, in the order of the report."""


def available_questions() -> list[str]:
    """Return the names of the questions, without importing them.

    Example:
        >>> "calibration" in available_questions()
        True
    """
    return sorted(QUESTIONS)


def list_default_questions() -> list[str]:
    """Return the names of the questions that an audit asks if none is named."""
    names = []
    for name in available_questions():
        # A question with many requests is asked only if it is named.
        if QUESTIONS[name].is_default:
            names.append(name)
    return names


def get_question_name(options: type[QuestionOptions]) -> str:
    """Return the name of the question that has a class of options.

    Example:
        >>> get_question_name(CuesOptions)
        'cues'
    """
    for name, question in QUESTIONS.items():
        if question.options is options:
            return name
    raise ValueError(f"Expected the options of a question, but got {options.__name__}.")


def list_questions_for_table(kind: str) -> list[str]:
    """Return the questions that are suggested for a kind of table, in the order of the report.

    Args:
        kind: "predictions", "classification", "multiple_choice" or "question_answering".

    Example:
        >>> list_questions_for_table("predictions")
        ['calibration']
    """
    names = []
    for name, question in QUESTIONS.items():
        # An options class declares this, so that no question is imported for it.
        if kind in question.options.tables:
            names.append(name)
    return names


def load_sections(questions: Iterable[str] | None = None) -> list[Question]:
    """Import questions in the order of the report.

    Args:
        questions: Names from `available_questions()`; None for all default ones.

    Returns:
        The questions.

    Raises:
        TypeError: If the names are not a list.
        ValueError: If there is no name, or one is unknown; the error suggests similar ones.
    """
    known = available_questions()
    # A string would be read as a list of letters.
    if isinstance(questions, str) or not isinstance(questions, (Iterable, type(None))):
        raise OptionTypeError(
            f"Expected `questions` to be a list of names, but got {questions!r}.",
            option="questions",
        )
    names = list_default_questions() if questions is None else list(questions)
    if not names:
        raise ValueError(
            f"Expected at least one question, but there is none. Known: {', '.join(known)}."
        )
    for name in names:
        if not isinstance(name, str) or name not in known:
            raise make_unknown_name_error("question", name, known)
    # The package draws the plots of the page, and would otherwise be found missing only at the end.
    require_package("vl_convert")
    return [question.load() for name, question in QUESTIONS.items() if name in names]


def parse_question_options(
    questions: Iterable[str], options: Mapping[str, Any] | None
) -> dict[str, QuestionOptions]:
    """Parse the options of the requested questions.

    Args:
        questions: Names of the questions.
        options: Question -> its options, by name or as an instance of its class. None for the
            defaults.

    Returns:
        Question -> its options, for each requested question.

    Raises:
        ValueError: If a question or an option is unknown, or a question with options is not
            requested.

    Example:
        >>> parse_question_options(["calibration"], {"calibration": {"n_bins": 10}})["calibration"].n_bins
        10
        >>> parse_question_options(["probes"], {"probes": {"k": [1]}})
        Traceback (most recent call last):
        ...
        ValueError: Expected an option of the question 'probes', but got 'k'. Did you mean 'ks'? Known: \
ks.
    """
    names = list(questions)
    values_by_name = dict(options or {})
    for name in values_by_name:
        if name not in QUESTIONS:
            raise make_unknown_name_error("question", name, QUESTIONS)
        # Options that no question reads are a mistake of the user.
        if name not in names:
            raise ValueError(
                f"Expected options of the questions asked ({', '.join(names)}), but got options "
                f"of {name!r}."
            )
    parsed = {}
    for name in names:
        options_class = QUESTIONS[name].options
        values = values_by_name.get(name)
        parsed[name] = options_class.read(values, f"the question {name!r}")
    return parsed


def format_audit_arguments(arguments: Mapping[str, Any]) -> list[str]:
    """Return the words of the command line that makes an audit.

    Args:
        arguments: Name -> value of the arguments and options of `audit`.

    Example:
        >>> format_audit_arguments({"model": "m", "questions": ["cues", "probes"], "limit": 5})
        ['m', '--questions', 'cues,probes', '--limit', '5']
        >>> format_audit_arguments({"model": "m", "fail_fast": True})
        ['m', '--fail-fast']
    """
    words = []
    # The model and the data are positional arguments, which come first.
    for name in ("model", "dataset"):
        if name in arguments:
            words.append(str(arguments[name]))
    for name, value in arguments.items():
        if name in ("model", "dataset"):
            continue
        flag = name.replace("_", "-")
        if _is_escaped(name) and isinstance(value, list):
            value = list(map(escape_text, value))
        # A Boolean option has a flag for true and one for false, both without a value.
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        elif isinstance(value, dict):
            words += [f"--{flag}", json.dumps(value, ensure_ascii=False)]
        elif isinstance(value, list):
            words += [f"--{flag}", format_names(value)]
        else:
            words += [f"--{flag}", str(value)]
    return words


def _is_escaped(name: str) -> bool:
    """Return whether the texts of an option have escapes on the command line."""
    field = name.replace("-", "_")
    return field in Prompt.list_names() and Prompt.is_escaped(field)


def read_reproduction(file: Path) -> list[str]:
    """Read an audit.yaml, and return the words of the command line that repeats its audit.

    Args:
        file: YAML file with the model, the data and any option of `audit` by name, such as
            `limit: 200`.

    Returns:
        Words such as `["m", "d.csv", "--limit", "200"]`.

    Raises:
        ValueError: If it is not YAML, or has something else than options of `audit`.
    """
    import yaml

    try:
        arguments = yaml.safe_load(file.read_text("utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(
            f"Expected the options of an audit in {file}, but it is not YAML: "
            f"{format_value(error)}."
        ) from None
    is_mapping = isinstance(arguments, dict)
    if not is_mapping or not all(_is_argument(name, value) for name, value in arguments.items()):
        raise ValueError(
            f"Expected a value per option of an audit in {file}, but got {format_value(arguments)}."
        )
    # YAML reads some names, such as `yes`, as other types than strings.
    return format_audit_arguments({str(name): value for name, value in arguments.items()})


def _is_argument(name: object, value: object) -> bool:
    """Return whether an option of `audit` can have a value of this kind in audit.yaml."""
    # Only the record of an earlier report is a mapping.
    if isinstance(value, dict):
        return name == "after"
    return value is not None
