"""Tasks of lm-evaluation-harness and lighteval for any data: `data export DATA --to lm-eval`.

They ask the probes by the task's own prompt, or the named questions by the prompts of an audit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import rightreasons
from rightreasons.core.errors import OptionError
from rightreasons.integrations.registered_tasks import RegisteredTask
from rightreasons.io.options import AuditOptions

PROBED_TEMPLATE = "task_probed_lm_eval.yaml.j2"
QUESTIONED_TEMPLATE = "task_questioned_lm_eval.yaml.j2"
REGISTERED_TEMPLATE = "task_registered_lm_eval.yaml.j2"
UTILS = "utils.py"

UTILS_TEXT = """\
from rightreasons.integrations.lm_eval_arms import Probed
from rightreasons.integrations.lm_eval_questions import Questioned

__all__ = ["Probed", "Questioned"]
"""
"""Content of the file that names the class of the tasks: YAML finds it next to itself."""


def list_probed_items(dataset: str, settings: AuditOptions) -> list[dict[str, Any]]:
    """Return the labeled multiple-choice items of a dataset as rows of a task.

    Args:
        dataset: Name, hub id or path of the data.
        settings: The columns, the split, the limit and the seed.

    Returns:
        Rows with "id", "prompt", "choices", "label", and the columns that link an item to others.

    Raises:
        OptionError: If the data has labels instead of choices.
    """
    from rightreasons.audited.task_data import open_items

    items, label_names = open_items(dataset, settings)
    # Only labeled texts have names of labels. The probes need items with choices.
    if label_names is not None:
        raise OptionError(
            f"Expected items with choices in {dataset}, but the items have labels. Use `reasons` "
            "for items with labels.",
            option=("reasons", "to"),
        )
    rows = []
    for item in items:
        # The harness needs the correct choice of each item.
        if item.label >= 0:
            rows.append(
                {
                    "id": item.id,
                    "prompt": item.fields["prompt"],
                    "choices": list(item.fields["choices"]),
                    "label": item.label,
                    **item.links,
                }
            )
    return rows


LIGHTEVAL_TEXT = """\
# Asked by: lighteval accelerate "model_name=MODEL" {task} --custom-tasks {file} --output-dir logs --save-details
# Read by: rightreasons audit logs/details/MODEL/*/details_{task}*.parquet
from pathlib import Path

from rightreasons.integrations.lighteval_arms import make_task

TASKS_TABLE = [make_task("{task}", Path(__file__).parent / "{rows}")]
"""
"""Content of the file of a task of lighteval."""


def write_lighteval_tasks(
    rows_by_name: Mapping[str, Sequence[dict[str, Any]]], out: Path, *, seed: int
) -> list[Path]:
    """Write a task of lighteval for each dataset into one folder, and return their files.

    The documents of a task are the items and their arms, which are versions changed by the probes,
    such as without the question.

    Args:
        rows_by_name: Dataset -> its rows.
        out: The folder. Tasks of the same names in it are replaced.
        seed: Seed by which the arms are made.

    Raises:
        ValueError: If the folder contains other files.
    """
    from rightreasons.core.store import check_folder, format_json_lines, write_text
    from rightreasons.datasets.perturbing.arms import (
        TEXT_KINDS,
        list_arms,
        make_original,
        write_arm,
    )
    from rightreasons.datasets.perturbing.probes import Pool

    tasks = {name_task(name, "probed"): rows for name, rows in rows_by_name.items()}
    files = ["logs", "__pycache__"]
    for task in tasks:
        files += [f"{task}.py", name_rows_folder(task)]
    folder = check_folder(out, own=files)
    declared = []
    for task, rows in tasks.items():
        lines = []
        # Some arms contain texts of other items, which are from the same dataset, as in an audit.
        pool = Pool(rows)
        for row in rows:
            # The arms follow their item, so that a limit on documents keeps most items complete.
            arms = [make_original(row), *list_arms(row, TEXT_KINDS, pool=pool, seed=seed)]
            for arm in arms:
                lines.append({"id": arm.id, "arm": write_arm(arm)})
        rows_folder = name_rows_folder(task)
        (folder / rows_folder).mkdir(parents=True, exist_ok=True)
        write_text(folder / rows_folder / "test.jsonl", format_json_lines(lines))
        text = LIGHTEVAL_TEXT.format(task=task, file=f"{folder.name}/{task}.py", rows=rows_folder)
        declared.append(write_text(folder / f"{task}.py", text))
    return declared


def name_rows_folder(task: str) -> str:
    """Return the name of the folder of the rows of a task.

    It differs from the name of the task, because lighteval would read a file or folder of this name
    instead of the task.

    Example:
        >>> name_rows_folder("rightreasons_piqa_probed")
        'rightreasons_piqa_probed_rows'
    """
    return f"{task}_rows"


def name_task(dataset: str, kind: str) -> str:
    """Return the name of the task of a dataset, in letters, digits and underscores.

    Example:
        >>> name_task("data/my-items.jsonl", "probed")
        'rightreasons_my_items_probed'
    """
    words = re.sub(r"[^0-9A-Za-z]+", "_", Path(dataset).stem).strip("_").lower()
    return f"rightreasons_{words or 'items'}_{kind}"


def write_probed_tasks(
    rows_by_name: Mapping[str, Sequence[dict[str, Any]] | RegisteredTask],
    out: Path,
    questions: Sequence[str] = (),
) -> list[Path]:
    """Write a task of lm-evaluation-harness for each dataset into one folder, and return their files.

    Args:
        rows_by_name: Name of a dataset -> its rows, or name of a task of the harness -> that task.
        out: The folder. Tasks of the same names in it are replaced.
        questions: Questions to ask with the prompts of an audit; empty for the probes with the
            prompt of the task.

    Raises:
        ValueError: If the folder contains other files.
    """
    from rightreasons.core.store import check_folder, format_json_lines, write_text

    kind = "probed"
    template_file = PROBED_TEMPLATE
    if questions:
        kind = "questioned"
        template_file = QUESTIONED_TEMPLATE
    tasks = {}
    for name, rows in rows_by_name.items():
        tasks[name_task(name, kind)] = rows
    files = [UTILS, "logs", "__pycache__"]
    for task in tasks:
        files += [f"{task}.yaml", f"{task}.jsonl"]
    folder = check_folder(out, own=tuple(files))
    folder.mkdir(parents=True, exist_ok=True)
    # The YAML files refer to a class in this file, which must be in the same folder.
    write_text(folder / UTILS, UTILS_TEXT)
    declared = []
    for task, rows in tasks.items():
        values = {"task": task, "folder": folder.name, "questions": ",".join(questions)}
        if isinstance(rows, RegisteredTask):
            values |= {"file": str(rows.file), "choices": rows.choices}
            text = render_template(REGISTERED_TEMPLATE, **values, question=list(rows.question))
        else:
            write_text(folder / f"{task}.jsonl", format_json_lines(rows))
            text = render_template(template_file, **values, rows=f"{task}.jsonl")
        declared.append(write_text(folder / f"{task}.yaml", text))
    return declared


def render_template(name: str, **values: Any) -> str:
    """Return the text of a template of `report/templates` with the values of its variables.

    Args:
        name: File name of the template, such as "task_lm_eval.yaml.j2".
        **values: Name -> value of each variable.
    """
    from jinja2 import StrictUndefined, Template

    path = Path(rightreasons.__file__).parent / "report" / "templates" / name
    # StrictUndefined raises an error for a variable without a value.
    template = Template(
        path.read_text("utf-8"), keep_trailing_newline=True, undefined=StrictUndefined
    )
    text: str = template.render(values)
    return text
