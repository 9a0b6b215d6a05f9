"""What a question asks of a language model, to be answered elsewhere: by a harness, a server, another day.

Somebody answers; `StoredAnswers` is a `Score` that looks the answers up by their ids, so that a measure gives the same
figures as if it had asked by itself. Texts with classes, and the examples of a suite, are asked as they are.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jinja2 import StrictUndefined, Template

from rightreasons.audited.stored import ITEMS, PARTS, PROBES, _plain
from rightreasons.core.choices import HARNESSES
from rightreasons.core.store import check_folder, json_lines, write_text
from rightreasons.core.validation import check_kind, check_one_of
from rightreasons.probes.measure import KS, ChoiceOrders, added_choices, probe_tables

if TYPE_CHECKING:
    import datasets

    from rightreasons.datasets.suites.suite import Suite
    from rightreasons.models.prompts import Examples, Rendering


ROWS = "items.jsonl"
"""The file of the requests, one JSON object per line."""

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


def request_rows(
    requests: Sequence[ChoiceRequest],
    rendering: Rendering,
    *,
    examples: Examples | None = None,
    fields: Mapping[str, Mapping[str, Any]] | None = None,
    seed: int = 0,
) -> list[dict[str, Any]]:
    r"""Put requests into words, as a language model in this process would be asked.

    Args:
        requests: The requests.
        rendering: The prompt, with nothing left open.
        examples: What its few-shot examples are drawn from.
        fields: Id of a request -> further fields of its row.
        seed: Decides the few-shot examples.

    Returns:
        A row per request: the fields of `ChoiceRequest`, `task`, `number` (its place), `options` (the answers to
        score, of which a space comes first) and `text`, or in a chat `turns`, what is asked.

    Raises:
        ValueError: If few-shot examples are asked for and there are none, or an answer does not follow a space.

    Example:
        >>> from rightreasons.models import Prompt
        >>> from rightreasons.models.prompts import Rendering
        >>> letters = Rendering.of(Prompt(style="letters"), chat=False, scorings=["sum"])
        >>> (row,) = request_rows([ChoiceRequest("a", "items", "Why cook?", ("To eat.", "To run."), 0)], letters)
        >>> row["text"], row["options"]
        ('Why cook?\nA. To eat.\nB. To run.\nAnswer:', ['A', 'B'])
    """
    from rightreasons.models.prompts import Item, check_shots, shots_of

    prompt, rows = rendering.prompt, []
    check_shots(prompt, examples)
    for number, request in enumerate(requests):
        columns: dict[str, Any] = {"prompt": request.prompt, "choices": list(request.choices)}
        if rendering.task == "classification":
            columns = {"text": request.prompt, "text_pair": request.text_pair}
        item = Item(request.id, columns)
        worded = rendering.request(item, shots_of(prompt, examples, item, seed=seed))
        if not rendering.chat and any(text[:1] != " " for text in worded.continuations):
            raise ValueError(
                "Expected a prompt that a space and the answer follow, as harnesses ask it, but it ends in white "
                "space, or does not end there."
            )
        words = worded.prompt
        rows.append(
            {
                **dataclasses.asdict(request),
                "choices": list(request.choices),
                "task": rendering.task,
                "options": [text.removeprefix(" ") for text in worded.continuations],
                "number": number,
                **({"text": words} if isinstance(words, str) else {"turns": [dict(turn) for turn in words]}),
                **(fields or {}).get(request.id, {}),
            }
        )
    return rows


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


def suite_requests(suite: Suite) -> list[ChoiceRequest]:
    """Return the requests of the examples of a suite.

    Raises:
        ValueError: If the suite asks for texts, or for labels without names.
    """
    from rightreasons.behavior.measure import label_words

    columns = suite.text_columns
    if suite.table().asks_for_texts or len(columns) > 2:
        raise ValueError(
            f"Expected a suite of one or two texts with labels, but {suite.name!r} asks for answers that are texts."
        )
    names = label_words(suite)
    pair = columns[1] if len(columns) == 2 else None
    return [
        ChoiceRequest(row["id"], ITEMS, row[columns[0]], names, row["label"], row[pair] if pair else None)
        for row in suite.examples()
    ]


def choice_requests(
    items: datasets.Dataset,
    *,
    parts: Sequence[str] = (ITEMS, PROBES),
    ks: Sequence[int] = KS,
    seed: int = 0,
) -> list[ChoiceRequest]:
    """Write down what the questions about some items would ask a scorer of choices.

    Args:
        items: Multiple-choice items {id, prompt, choices, label}.
        parts: Some of `PARTS`; default items and probes. What two of them ask is written once.
        ks: Numbers of choices that the fourth probe adds; those for which there are too few are left out.
        seed: Decides what the probes borrow.

    Returns:
        The requests, with distinct ids: those of the items, and of these followed by what is done to them.

    Raises:
        ValueError: If a part is unknown, or the items do not suffice for it.

    Example:
        >>> import datasets
        >>> rows = [{"id": "a", "prompt": "Why cook?", "choices": ["To eat.", "To run."], "label": 0}] * 2
        >>> items = datasets.Dataset.from_list([rows[0], {**rows[1], "id": "b", "prompt": "Why run?", "label": 1}])
        >>> [(request.id, request.choices) for request in choice_requests(items, parts=["orders"])][:3]
        [('a', ('To eat.', 'To run.')), ('b', ('To eat.', 'To run.')), ('a/order 1', ('To run.', 'To eat.'))]
    """
    absent = [name for name in ("id", "prompt", "choices", "label") if name not in items.column_names]
    if absent:
        raise ValueError(f"Expected multiple-choice items with the columns {', '.join(absent)}, but they have none.")
    requests: dict[str, ChoiceRequest] = {}
    prompts, choices, ids, labels = (items[name][:] for name in ("prompt", "choices", "id", "label"))
    known = set(ids)

    def ask(
        prompts: Sequence[str], choices: Sequence[Sequence[str]], names: Sequence[str], right: Sequence[int]
    ) -> None:
        for prompt, row, name, label in zip(prompts, choices, map(_plain, names), right, strict=True):
            part = ITEMS if name in known else name.rpartition("/")[2]
            requests.setdefault(name, ChoiceRequest(name, part, prompt, tuple(row), label))

    for part in dict.fromkeys(parts):
        check_one_of(part, PARTS, "parts")
        if part == ITEMS:
            ask(prompts, choices, ids, labels)
        elif part == PROBES:
            tables = probe_tables(items, ks=added_choices(choices, ks), seed=seed)
            ask(*tables.requests(), [label for name in tables.tables for label in tables.column(name, "label")])
        else:
            turned = ChoiceOrders.of(choices)
            gold = np.asarray(labels)
            places = np.where(gold < 0, -1, turned.places.argsort(axis=1)[:, gold]).ravel().tolist()
            ask(*turned.requests(prompts, choices, ids), places)
    return list(requests.values())


def write_task(
    out: str | Path, name: str, rows: Sequence[Mapping[str, Any]], *, to: str = "lm-eval", read_by: str
) -> Path:
    """Write requests as a folder that a harness runs.

    Args:
        out: The folder; files of an earlier task in it are replaced.
        name: What the task is called: "rightreasons_" and this, in letters, digits and underscores.
        rows: Requests, see `request_rows`: with `text` for lm-evaluation-harness and `turns` for
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
    template = (
        Path(__file__).parent / "templates" / ("task_lm_eval.yaml.j2" if to == "lm-eval" else "task_inspect.py.j2")
    )
    values = {"task": task, "rows": ROWS, "folder": folder.name, "read_by": read_by, "reasoned": "arm" in rows[0]}
    text = Template(template.read_text("utf-8"), keep_trailing_newline=True, undefined=StrictUndefined).render(values)
    return write_text(folder / declaration, text)
