"""Write multiple-choice requests as a task of lm-evaluation-harness or inspect_ai."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rightreasons.foundations.atomic_write import check_folder, write_text
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import check_one_of

HARNESSES = ("lm-eval", "inspect")
"""The harnesses that a task can be written for."""

ROWS = "items.jsonl"
"""The file of the requests, one JSON object per line."""

_LM_EVAL = """\
# Asked by: cd {folder} && lm_eval run --model hf --model_args pretrained=MODEL --tasks {task} --include_path . \\
#   --log_samples --output_path logs
# Read by: rightreasons probes --predictions logs/*/samples_{task}_*.jsonl
task: {task}
dataset_path: json
dataset_kwargs:
  data_files:
    test: {rows}
test_split: test
output_type: multiple_choice
doc_to_text: text
doc_to_choice: options
doc_to_target: label
target_delimiter: " "
metric_list:
  - metric: acc
metadata:
  version: 1.0
"""

_INSPECT = '''\
"""Asked by: cd {folder} && inspect eval {task}.py --model MODEL --logprobs --top-logprobs 20

Read by: rightreasons probes --predictions logs/*.eval
"""

import json
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import choice
from inspect_ai.solver import multiple_choice

ROWS = [json.loads(line) for line in (Path(__file__).parent / "{rows}").read_text(encoding="utf-8").splitlines()]


@task
def {task}() -> Task:
    """Ask each request; one without a right choice has the first as its target."""
    samples = [
        Sample(
            id=row["id"],
            input=row["prompt"] or "Choose.",
            choices=row["choices"],
            target=chr(ord("A") + max(row["label"], 0)),
            metadata=row,
        )
        for row in ROWS
    ]
    return Task(dataset=MemoryDataset(samples), solver=multiple_choice(), scorer=choice())
'''


@checks_kinds
def write_task(out: str | Path, name: str, rows: Sequence[Mapping[str, Any]], *, to: str = "lm-eval") -> Path:
    """Write requests as a folder that a harness runs.

    Args:
        out: The folder; files of an earlier task in it are replaced.
        name: What the task is called: "rightreasons_" and this, in letters, digits and underscores.
        rows: Requests {id, asked, prompt, choices, label, text, options}, see `rightreasons.measuring.choice_requests`;
            further fields come back in the log.
        to: "lm-eval" (default) or "inspect".

    Returns:
        The file that declares the task.

    Raises:
        ValueError: If there is no row, the harness is unknown, or the folder holds something else.
    """
    check_one_of(to, HARNESSES, "to")
    if not rows:
        raise ValueError("Expected at least one request to write, but there is none.")
    task = f"rightreasons_{re.sub(r'[^0-9A-Za-z]+', '_', name).strip('_').lower() or 'items'}"
    declaration = f"{task}.yaml" if to == "lm-eval" else f"{task}.py"
    folder = check_folder(out, own=(ROWS, f"{task}.yaml", f"{task}.py", "logs"))
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / ROWS, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    template = _LM_EVAL if to == "lm-eval" else _INSPECT
    return write_text(folder / declaration, template.format(task=task, rows=ROWS, folder=folder.name))
