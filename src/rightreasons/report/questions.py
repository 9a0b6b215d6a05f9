"""The questions that an audit can answer; `QUESTIONS` names them.

To add one, write `NAME/question.py` with a `Question` (see `page.question`) and its sentences in `question.md.j2`
beside it, and register it. CONTRIBUTING.md has an example.
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
from rightreasons.core.options import QuestionOptions, format_names
from rightreasons.core.sentences import format_value
from rightreasons.cues.options import CuesOptions
from rightreasons.difficulty.options import DifficultyOptions
from rightreasons.probes.options import ProbesOptions
from rightreasons.reasons.options import ReasonsOptions
from rightreasons.shortcuts.options import ShortcutsOptions

if TYPE_CHECKING:
    from rightreasons.page.question import Question


@dataclasses.dataclass(frozen=True)
class Registered:
    """Where a question is.

    Attributes:
        question: The question, as "module:name".
        options: The class of its options, which the command line reads without the question.
        unasked: Whether it is asked where nobody names it; one that has its price is not.
    """

    question: str
    options: type[QuestionOptions]
    unasked: bool = True


QUESTIONS = {
    "calibration": Registered("rightreasons.calibration.question:CALIBRATION", CalibrationOptions),
    "shortcuts": Registered("rightreasons.shortcuts.question:SHORTCUTS", ShortcutsOptions),
    "cues": Registered("rightreasons.cues.question:CUES", CuesOptions),
    "probes": Registered("rightreasons.probes.question:PROBES", ProbesOptions),
    "difficulty": Registered("rightreasons.difficulty.question:DIFFICULTY", DifficultyOptions),
    "behavior": Registered("rightreasons.behavior.question:BEHAVIOR", BehaviorOptions),
    "reasons": Registered("rightreasons.reasons.question:REASONS", ReasonsOptions, unasked=False),
}
"""Name -> the question, in the order of the report."""


def available_questions() -> list[str]:
    """Return the names of the questions, without importing them.

    Example:
        >>> "calibration" in available_questions()
        True
    """
    return sorted(QUESTIONS)


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
    """Import the sections of the named questions, or of all, in the order of the report.

    Args:
        questions: Names from `available_questions()`; None for all that are asked without being named.

    Returns:
        The sections.

    Raises:
        TypeError: If the names are not a list.
        ValueError: If there is no name, or one is unknown; the error gives the nearest known ones.
    """
    known = available_questions()
    if isinstance(questions, str) or not isinstance(questions, (Iterable, type(None))):
        raise OptionTypeError(
            f"Expected `questions` to be a list of names, but got {questions!r}.",
            option="questions",
        )
    names = (
        [name for name in known if QUESTIONS[name].unasked]
        if questions is None
        else list(questions)
    )
    if not names:
        raise ValueError(
            f"Expected at least one question, but there is none. Known: {', '.join(known)}."
        )
    for name in names:
        if not isinstance(name, str) or name not in known:
            raise make_unknown_name_error("question", name, known)
    require_package("vl_convert")
    places = [question.question.split(":") for name, question in QUESTIONS.items() if name in names]
    return [getattr(import_module(module), attribute) for module, attribute in places]


def parse_question_options(
    questions: Iterable[str], given: Mapping[str, Any] | None
) -> dict[str, QuestionOptions]:
    """Make the options of the questions that are asked; what nobody reads is refused.

    Args:
        questions: Their names.
        given: Question -> its options, by name or as an instance of its class.

    Returns:
        Question -> its options, for each question that is asked.

    Raises:
        ValueError: If a question or an option is unknown, or options are given for a question that is not asked.

    Example:
        >>> parse_question_options(["calibration"], {"calibration": {"n_bins": 10}})["calibration"].n_bins
        10
        >>> parse_question_options(["probes"], {"probes": {"k": [1]}})
        Traceback (most recent call last):
        ...
        ValueError: Expected an option of the question 'probes', but got 'k'. Did you mean 'ks'? Known: \
ks.
    """
    names, settings = list(questions), dict(given or {})
    for question in settings:
        if question not in QUESTIONS:
            raise make_unknown_name_error("question", question, QUESTIONS)
        if question not in names:
            raise ValueError(
                f"Expected options of the questions asked ({', '.join(names)}), but got options of {question!r}."
            )
    return {
        name: QUESTIONS[name].options.read(settings.get(name), f"the question {name!r}")
        for name in names
    }


def format_audit_arguments(made: Mapping[str, Any]) -> list[str]:
    """Return the words of the command line of an audit whose arguments and options are given by name.

    Example:
        >>> format_audit_arguments({"model": "m", "questions": ["cues", "probes"], "limit": 5, "fail_fast": True})
        ['m', '--questions', 'cues,probes', '--limit', '5', '--fail-fast']
    """
    words = [str(made[name]) for name in ("model", "dataset") if name in made]
    for name, value in made.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        elif isinstance(value, dict):
            words += [f"--{flag}", json.dumps(value, ensure_ascii=False)]
        elif name not in ("model", "dataset"):
            words += [f"--{flag}", format_names(value) if isinstance(value, list) else str(value)]
    return words


def read_reproduction(file: Path) -> list[str]:
    """Read an audit.yaml as the words of the command line of its audit.

    Args:
        file: What a report wrote, or somebody by hand: the model, the data and any option of `audit` by name.

    Raises:
        ValueError: If it is not YAML, or not of that form.
    """
    import yaml

    try:
        made = yaml.safe_load(file.read_text("utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(
            f"Expected the options of an audit in {file}, but it is not YAML: {format_value(error)}."
        ) from None
    if not isinstance(made, dict) or any(
        value is None or (isinstance(value, dict) and name != "after")
        for name, value in made.items()
    ):
        raise ValueError(
            f"Expected a value per option of an audit in {file}, but got {format_value(made)}."
        )
    return format_audit_arguments({str(name): value for name, value in made.items()})
