"""What is written for a harness to ask: items and their probes as a benchmark, and the arms of a question as a task."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import StrictUndefined, Template

from rightreasons.core.choices import HARNESSES
from rightreasons.core.store import check_folder, json_lines, write_text
from rightreasons.core.validation import check_kind, check_one_of
from rightreasons.datasets.perturbing.probes import ORIGINAL
from rightreasons.probes.measure import KS, added_choices, probe_tables

if TYPE_CHECKING:
    import datasets


ROWS = "items.jsonl"
"""The file of the requests, one JSON object per line."""

ITEMS = "items"
"""What is asked of an item as it is."""

KEPT = ("pair_id", "source_id", "role", "is_original", "mirrored", "easy", "group")
"""Columns of items that go out with them and come back: which belong together, and which are Easy."""


@dataclasses.dataclass(frozen=True)
class ChoiceRequest:
    """One question with its choices, or a text with its classes.

    Attributes:
        id: Its own id.
        asked: "items" for an item as it is, else the probe or the order: what comes after the slash of the id.
        prompt: The prompt, or the text; "" where there is none.
        choices: The choices in the order in which they are shown, or the names of the classes.
        label: The index of the right choice or class; -1 where there is none, or none that is known.
        text_pair: The second text of an item of classification; None without one.
    """

    id: str
    asked: str
    prompt: str
    choices: tuple[str, ...]
    label: int = -1
    text_pair: str | None = None


def kept_fields(items: datasets.Dataset) -> dict[str, dict[str, Any]]:
    """Return the fields of `KEPT` that items have, by their ids."""
    columns = {name: items[name][:] for name in KEPT if name in items.column_names}
    return {
        name: {column: values[row] for column, values in columns.items()} for row, name in enumerate(items["id"][:])
    }


def text_requests(items: datasets.Dataset) -> list[ChoiceRequest]:
    """Return the requests of texts with classes {id, text, text_pair (maybe), label (maybe)}."""
    names = tuple(items.features["label"].names)
    pairs = items["text_pair"][:] if "text_pair" in items.column_names else [None] * len(items)
    rows = zip(items["id"][:], items["text"][:], pairs, items["label"][:], strict=True)
    return [ChoiceRequest(name, ITEMS, text, names, label, pair) for name, text, pair, label in rows]


def choice_requests(items: datasets.Dataset, *, seed: int = 0) -> list[ChoiceRequest]:
    """Return the requests of multiple-choice items, and of their probes.

    Args:
        items: Multiple-choice items {id, prompt, choices, label}.
        seed: Decides what the probes borrow.

    Returns:
        The requests, with distinct ids: those of the items, and of these followed by what is done to them.

    Example:
        >>> import datasets
        >>> rows = [{"id": "a", "prompt": "Why cook?", "choices": ["To eat.", "To run."], "label": 0}] * 2
        >>> items = datasets.Dataset.from_list([rows[0], {**rows[1], "id": "b", "prompt": "Why run?", "label": 1}])
        >>> [(request.id, request.prompt) for request in choice_requests(items)][:3]
        [('a', 'Why cook?'), ('b', 'Why run?'), ('a/no_question', '')]
    """
    columns = zip(*(items[name][:] for name in ("id", "prompt", "choices", "label")), strict=True)
    requests = [ChoiceRequest(name, ITEMS, prompt, tuple(row), label) for name, prompt, row, label in columns]
    tables = probe_tables(items, ks=added_choices(items["choices"][:], KS), seed=seed)
    labels = [label for name in tables.tables for label in tables.column(name, "label")]
    for prompt, row, name, label in zip(*tables.requests(), labels, strict=True):
        probe = name.rpartition("/")[2]
        if probe != ORIGINAL:
            requests.append(ChoiceRequest(name, probe, prompt, tuple(row), label))
    return requests


def write_task(out: str | Path, name: str, rows: Sequence[Mapping[str, Any]], *, to: str = "lm-eval") -> Path:
    """Write requests as a folder that a harness runs.

    Args:
        out: The folder; files of an earlier task in it are replaced.
        name: What the task is called: "rightreasons_" and this, in letters, digits and underscores.
        rows: Requests of the question about reasons: with `text` for lm-evaluation-harness and `turns` for inspect_ai.
            Further fields come back in the log.
        to: "lm-eval" (default) or "inspect".

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
    template = (
        Path(__file__).parent / "templates" / ("task_lm_eval.yaml.j2" if to == "lm-eval" else "task_inspect.py.j2")
    )
    values = {"task": task, "rows": ROWS, "folder": folder.name}
    text = Template(template.read_text("utf-8"), keep_trailing_newline=True, undefined=StrictUndefined).render(values)
    return write_text(folder / declaration, text)
