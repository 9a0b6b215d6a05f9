"""Multiple-choice tasks of lm-evaluation-harness by name, and the fields of their documents.

`find_registered_task` looks a task up, so that `data export` can write the same one with arms.
"""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
import jinja2.meta
import jinja2.nodes


@dataclasses.dataclass(frozen=True)
class RegisteredTask:
    """A task of the harness.

    Attributes:
        name: Name of the task.
        file: Its YAML file.
        question: Fields of the question, in the order of the prompt.
        choices: Field of the choices if the question lists them. "" if they continue it.
    """

    name: str
    file: Path
    question: tuple[str, ...]
    choices: str


def find_registered_task(name: str) -> RegisteredTask | None:
    """Return a multiple-choice task of the harness; None if it has no task of this name.

    Args:
        name: Name of the task, such as "arc_easy".

    Raises:
        ValueError: If the task is of another type, or the fields of its question are unknown.
    """
    if importlib.util.find_spec("lm_eval") is None:
        return None
    import lm_eval.tasks

    folder = Path(lm_eval.tasks.__file__).parent
    # The harness has more than ten thousand files, which take a minute to read. Only the folder of a
    # file with the name of the task is read.
    for file in sorted(folder.rglob(f"{name}.yaml")):
        manager = lm_eval.tasks.TaskManager(include_path=file.parent, include_defaults=False)
        entry = manager.task_index.get(name)
        # The entry may be that of a group of tasks, which has no "task".
        if entry is not None and entry.yaml_path is not None and "task" in entry.cfg:
            question, choices = _find_fields(name, entry.cfg)
            return RegisteredTask(name, Path(entry.yaml_path), question, choices)
    return None


def _find_fields(name: str, config: Mapping[str, Any]) -> tuple[tuple[str, ...], str]:
    """Find the fields of the documents of a task that its question consists of.

    Args:
        name: Name of the task, for errors.
        config: Configuration of the task, with `output_type`, `doc_to_text` and `doc_to_choice`.

    Returns:
        The fields of the question, in the order of the prompt, and the field of the choices if the
        question lists them, or else "".

    Raises:
        ValueError: If the task is of another type, or the fields are unknown.
    """
    output_type = config.get("output_type")
    if output_type != "multiple_choice":
        raise ValueError(
            f"Expected a multiple-choice task, but {name} of lm-evaluation-harness is {output_type!r}."
        )
    # `doc_to_text` is the name of a field, a template with "{{…}}", or a function, whose fields are
    # unknown.
    template = str(config.get("doc_to_text", ""))
    if template.isidentifier():
        return (template,), ""
    question: tuple[str, ...] = ()
    choices = ""
    if "{{" in template:
        question, choices = list_template_fields(template)
    # If the answers are letters, the question lists the choices. Their field is unknown unless the
    # template shows elements of one list.
    has_unknown_choices = not choices and _has_letters(config.get("doc_to_choice"))
    if not question or has_unknown_choices:
        raise ValueError(
            f"Expected a template with the fields of the question of {name}, and its choices in one "
            f"field, but it has {template!r}: write the task yourself, with `question` in its "
            "`metadata`."
        )
    return question, choices


def _has_letters(answers: Any) -> bool:
    """Return whether the answers of a task are single characters, the same for all documents."""
    if not isinstance(answers, list):
        return False
    return max(len(str(answer)) for answer in answers) == 1


def list_template_fields(template: str) -> tuple[tuple[str, ...], str]:
    """Return the fields of the question in a template, and the field of the choices that it lists.

    If the template contains an element of a field, such as `choices[0]`, the field is a list of
    choices. All other fields belong to the question.

    Args:
        template: A template of Jinja2.

    Returns:
        The fields of the question, in order; and the field of the choices, "" if there are none, or
        lists in several fields.

    Example:
        >>> list_template_fields("{{question.strip()}} A. {{choices[0]}} B. {{choices[1]}}")
        (('question',), 'choices')
    """
    tree = jinja2.Environment(autoescape=True).parse(template)
    lists: dict[str, None] = {}
    for element in tree.find_all(jinja2.nodes.Getitem):
        # A string in brackets, as in `item["text"]`, is a key of a mapping, and no position.
        is_position = isinstance(getattr(element.arg, "value", None), int)
        if is_position and isinstance(element.node, jinja2.nodes.Name):
            lists[element.node.name] = None
    # The variables of a loop in the template are not among the undeclared ones.
    fields = jinja2.meta.find_undeclared_variables(tree)
    question: dict[str, None] = {}
    for node in tree.find_all(jinja2.nodes.Name):
        if node.name in fields and node.name not in lists:
            question[node.name] = None
    choices = "".join(lists) if len(lists) == 1 else ""
    return tuple(question), choices
