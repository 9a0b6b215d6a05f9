"""Write requests as a task of lm-evaluation-harness or inspect_ai."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rightreasons.foundations.atomic_write import check_folder, json_lines, write_text
from rightreasons.foundations.choices import HARNESSES
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import check_one_of

ROWS = "items.jsonl"
"""The file of the requests, one JSON object per line."""

READ_BY = "rightreasons audit"

_LM_EVAL = """\
# Asked by: cd {folder} && lm_eval run --model hf --model_args pretrained=MODEL --tasks {task} --include_path . \\
#   --log_samples --output_path logs
# Read by: {read_by} --predictions logs/*/samples_{task}_*.jsonl
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
"""Asked by: cd {folder} && inspect eval {task}.py --model hf/MODEL -M do_sample=false --logprobs --top-logprobs 20

of a model behind an API: --model openai/MODEL --temperature 0 --logprobs --top-logprobs 20

Read by: {read_by} --predictions logs/*.eval

Without log-probabilities, which some models do not tell, the answers alone come back.
"""

from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.model import GenerateConfig
from inspect_ai.solver import generate

from rightreasons.integrations.inspect_ai import answer_scorer, exported_samples


@task
def {task}() -> Task:
    """Ask each request; one whose right answer is not known counts as wrong."""
    return Task(
        dataset=exported_samples(Path(__file__).parent / "{rows}"),
        solver=generate(),
        scorer=answer_scorer(),
        config=GenerateConfig(max_tokens=32),
    )
'''


@checks_kinds
def write_task(
    out: str | Path, name: str, rows: Sequence[Mapping[str, Any]], *, to: str = "lm-eval", read_by: str = READ_BY
) -> Path:
    """Write requests as a folder that a harness runs.

    Args:
        out: The folder; files of an earlier task in it are replaced.
        name: What the task is called: "rightreasons_" and this, in letters, digits and underscores.
        rows: Requests, see `rightreasons.measuring.request_rows`: with `text` for lm-evaluation-harness and `turns` for
            inspect_ai. Further fields come back in the log.
        to: "lm-eval" (default) or "inspect".
        read_by: The command that reads the log, which the first lines of the task name.

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
    write_text(folder / ROWS, json_lines(rows))
    template = _LM_EVAL if to == "lm-eval" else _INSPECT
    declared = template.format(task=task, rows=ROWS, folder=folder.name, read_by=read_by)
    return write_text(folder / declaration, declared)
