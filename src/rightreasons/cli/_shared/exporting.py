"""What `rightreasons data export` asks: items and what is done to them, contrast sets, Easy and Hard items, suites."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rightreasons.foundations.sentences import counted

if TYPE_CHECKING:
    from rightreasons.auditing.options import AuditOptions
    from rightreasons.measuring.requests import ChoiceRequest
    from rightreasons.models.prompting.prompt import Wording
    from rightreasons.models.prompting.rendering import Examples, Rendering


@dataclasses.dataclass(frozen=True)
class Exported:
    """Requests that are to be written as a task.

    Attributes:
        requests: The requests.
        label_names: The names of the classes; None for multiple choice.
        about: What they are about, in words.
        read_by: The command that reads their log.
        examples: What few-shot examples are drawn from.
        fields: Further fields of the rows, by the ids of the requests.
    """

    requests: Sequence[ChoiceRequest]
    label_names: tuple[str, ...] | None
    about: str
    read_by: str
    examples: Examples | None = None
    fields: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)

    def rendering(self, wording: Wording, *, chat: bool) -> Rendering:
        """Return the prompt: in a chat letters that are generated, else answers whose likelihood is asked."""
        from rightreasons.models.prompting.prompt import Prompt
        from rightreasons.models.prompting.rendering import Rendering

        given = {name: getattr(wording, name) for name in wording.names()}
        if chat:
            if wording.style not in ("auto", "letters"):
                raise ValueError(f"Expected letters as the style of a task of inspect_ai, but got {wording.style!r}.")
            given |= {"style": "letters", "scoring": "generated"}
        prompt = Prompt(**given, chat="on" if chat else "off")
        scoring = "generated" if chat else "sum"
        return Rendering.of(prompt, chat=chat, scorings=[scoring], label_names=self.label_names)


def exported_suite(name: str, *, data_dir: str | None, max_cases: int | None, seed: int) -> Exported:
    """Open a suite, every example of which is asked for one of its labels."""
    from rightreasons.data.suites.opening import open_suite
    from rightreasons.measuring.requests import suite_requests

    suite = open_suite(name, data_dir=data_dir, max_cases=max_cases, seed=seed)
    requests = suite_requests(suite)
    flags = [] if max_cases is None else ["--max-cases", str(max_cases), "--seed", str(seed)]
    read_by = shlex.join(["rightreasons", "behavior", name, *flags])
    return Exported(requests, requests[0].choices, f"{counted(suite.n_cases, 'case')}", read_by)


def exported_items(
    dataset: str,
    settings: AuditOptions,
    wording: Wording,
    *,
    parts: Sequence[str] | None,
    orders: str | None,
    subsets: Path | None,
) -> Exported:
    """Open items of multiple choice or classification.

    Args:
        dataset: What the user named.
        settings: The columns, the split, the limit and the seed.
        wording: How items are put into words.
        parts: What is asked about items of multiple choice.
        orders: Which orders of their choices, where `parts` has them.
        subsets: A file that says which are Easy and which are Hard.
    """
    from rightreasons.auditing.asking import examples_of, task_of_data
    from rightreasons.auditing.context import take_split
    from rightreasons.cli._shared.choices import easy_flags
    from rightreasons.data.opening.splits import choose_split
    from rightreasons.measuring.requests import ITEMS, ORDERS, PROBES, choice_requests, kept_fields, text_requests

    task, splits = task_of_data(dataset, settings, wording.label_words, require_labels=False)
    name = choose_split(splits, settings.split, where=dataset)
    items = splits[name]
    if subsets is not None:
        easy = easy_flags(items, subsets)
        rows = [row for row, flag in enumerate(easy) if flag is not None]
        items = items.select(rows)
        items = items.remove_columns([column for column in items.column_names if column == "easy"])
        items = items.add_column("easy", [bool(easy[row]) for row in rows])
    names = None
    if task == "classification":
        for option, value in (("parts", parts and ",".join(parts)), ("orders", orders)):
            if value is not None:
                raise ValueError(f"Expected no `{option}` with texts that have classes, but got {value!r}.")
        if "label" not in items.column_names:
            raise ValueError(
                f"Expected labels in {dataset}, whose names a language model chooses from, but it has none."
            )
        names = tuple(items.features["label"].names)
    items = take_split(
        items, name=name, role="primary", model_names=names, where=dataset, limit=settings.limit, seed=settings.seed
    ).data
    if task == "classification":
        requests = text_requests(items)
    else:
        asked = (ITEMS, PROBES) if parts is None else parts
        if orders is not None and ORDERS not in asked:
            raise ValueError(f"Expected `parts` with orders where `orders` is given, but got {','.join(asked)!r}.")
        requests = choice_requests(items, parts=asked, orders=orders or "auto", seed=settings.seed)
    return Exported(
        requests=requests,
        label_names=names,
        about=f"{counted(len(items), 'item')}",
        read_by="rightreasons audit",
        examples=examples_of(splits, task, wording.shots),
        fields=kept_fields(items),
    )
