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
    # To read the more than ten thousand files of the harness takes a minute, so that only those in
    # the folder of a file with the name of the task are read.
    for file in sorted(folder.rglob(f"{name}.yaml")):
        manager = lm_eval.tasks.TaskManager(include_path=file.parent, include_defaults=False)
        entry = manager.task_index.get(name)
        # A group has a name, too, but stands for several tasks.
        if entry is not None and entry.yaml_path is not None and "task" in entry.cfg:
            question, choices = _find_fields(name, entry.cfg)
            return RegisteredTask(name, Path(entry.yaml_path), question, choices)
    return None


def _find_fields(name: str, config: Mapping[str, Any]) -> tuple[tuple[str, ...], str]:
    """Return the fields of the question, and the field of the choices that it lists.

    Raises:
        ValueError: If they are unknown.
    """
    if config.get("output_type") != "multiple_choice":
        raise ValueError(
            f"Expected a multiple-choice task, but {name} of lm-evaluation-harness is "
            f"{config.get('output_type')!r}."
        )
    template = str(config.get("doc_to_text", ""))
    # A prompt is a template, a field, or the path of a function, whose fields are unknown.
    if template.isidentifier():
        return (template,), ""
    question, choices = list_template_fields(template) if "{{" in template else ((), "")
    answers = config.get("doc_to_choice")
    is_lettered = isinstance(answers, list) and all(len(str(answer)) == 1 for answer in answers)
    if not question or (is_lettered and not choices):
        raise ValueError(
            f"Expected a template with the fields of the question of {name}, and its choices in one "
            f"field, but it has {template!r}: write the task yourself, with `question` in its "
            "`metadata`."
        )
    return question, choices


def list_template_fields(template: str) -> tuple[tuple[str, ...], str]:
    """Return the fields of a template in order, and the field of which it shows elements.

    Args:
        template: A template of Jinja2.

    Example:
        >>> list_template_fields("{{question.strip()}} A. {{choices[0]}} B. {{choices[1]}}")
        (('question',), 'choices')
    """
    tree = jinja2.Environment(autoescape=True).parse(template)
    lists = set()
    for element in tree.find_all(jinja2.nodes.Getitem):
        # A text in brackets is a name within a field.
        if isinstance(getattr(element.arg, "value", None), int):
            lists |= {node.name for node in element.find_all(jinja2.nodes.Name)}
    undeclared = jinja2.meta.find_undeclared_variables(tree)
    names = [node.name for node in tree.find_all(jinja2.nodes.Name) if node.name in undeclared]
    question = tuple(name for name in dict.fromkeys(names) if name not in lists)
    # Several lists are no choices of one question.
    return question, lists.pop() if len(lists) == 1 else ""
