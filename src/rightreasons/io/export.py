"""Write requests as a task of lm-evaluation-harness or inspect_ai."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined, Template

from rightreasons.core.choices import HARNESSES
from rightreasons.core.store import check_folder, json_lines, write_text
from rightreasons.core.validation import check_kind, check_one_of

ROWS = "items.jsonl"
"""The file of the requests, one JSON object per line."""


def write_task(
    out: str | Path, name: str, rows: Sequence[Mapping[str, Any]], *, to: str = "lm-eval", read_by: str
) -> Path:
    """Write requests as a folder that a harness runs.

    Args:
        out: The folder; files of an earlier task in it are replaced.
        name: What the task is called: "rightreasons_" and this, in letters, digits and underscores.
        rows: Requests, see `report.requests.request_rows`: with `text` for lm-evaluation-harness and `turns` for
            inspect_ai. Further fields come back in the log.
        to: "lm-eval" (default) or "inspect".
        read_by: The command that reads the log, which the first lines of the task name.

    Returns:
        The file that declares the task.

    Raises:
        ValueError: If there is no row, the harness is unknown, or the folder holds something else.
    """
    check_one_of(to, HARNESSES, "to")
    check_kind(name, "name", str)
    if not rows:
        raise ValueError("Expected at least one request to write, but there is none.")
    task = f"rightreasons_{re.sub(r'[^0-9A-Za-z]+', '_', name).strip('_').lower() or 'items'}"
    declaration = f"{task}.yaml" if to == "lm-eval" else f"{task}.py"
    folder = check_folder(out, own=(ROWS, f"{task}.yaml", f"{task}.py", "logs"))
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / ROWS, json_lines(rows))
    template = Path(__file__).with_name("task_lm_eval.yaml.j2" if to == "lm-eval" else "task_inspect.py.j2")
    values = {"task": task, "rows": ROWS, "folder": folder.name, "read_by": read_by, "reasoned": "arm" in rows[0]}
    text = Template(template.read_text("utf-8"), keep_trailing_newline=True, undefined=StrictUndefined).render(values)
    return write_text(folder / declaration, text)
