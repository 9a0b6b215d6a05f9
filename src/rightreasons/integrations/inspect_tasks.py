"""The tasks that `inspect eval rightreasons/NAME` runs: inspect_ai finds them by this package's entry point.

The solvers `probed` and `letters` and the scorer `arms` are registered here, too.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import choice
from inspect_ai.solver import generate, multiple_choice

from rightreasons.audited.task_data import open_items
from rightreasons.core.choices import LETTERS
from rightreasons.datasets.perturbing.arms import DEFAULT_KINDS
from rightreasons.integrations.inspect_ai import answer_scorer, samples_of

# inspect_ai knows a solver or a scorer by the module of the entry point that imports it.
from rightreasons.integrations.inspect_arms import (
    Kinds,
    arms_scorer,
    audited,
    letters,
    probed,
    questioned,
    right_reasons,
)
from rightreasons.integrations.item_asker import ItemAsker, check_questions
from rightreasons.io.options import AuditOptions
from rightreasons.models.prompts import Item
from rightreasons.models.wording import Prompt
from rightreasons.reasons.options import ReasonsOptions
from rightreasons.reasons.prompts import ArmPrompts

__all__ = [
    "arms_scorer",
    "audit",
    "audited",
    "letters",
    "probed",
    "questioned",
    "reasons",
    "right_reasons",
]


@task  # type: ignore[untyped-decorator, unused-ignore]
def audit(
    data: str = "piqa",
    arms: Kinds = DEFAULT_KINDS,
    ask: str = "text",
    task_file: str | None = None,
    split: str | None = None,
    limit: int | None = None,
    data_dir: str | None = None,
    seed: int = 0,
    questions: str | list[str] | None = None,
    options: dict[str, Any] | None = None,
    prompt: dict[str, Any] | None = None,
) -> Task:
    """Does it answer before it reads? `rightreasons audit logs/LOG.eval` makes a report of the log.

        inspect eval rightreasons/audit --model openai/MODEL -T data=piqa -T arms=orders,no_question
        inspect eval rightreasons/audit --model openai/MODEL -T data=piqa -T questions=probes,reasons,ways

    Args:
        data: A name of `rightreasons data list`, a hub id, or a file of multiple-choice items.
        arms: Kinds of arms: no_question, wrong_question, no_right_answer, extra_choices_4, orders, or
            a kind of hint, such as colleague.
        ask: "text" for a line "ANSWER: A", "letters" for the log-probability of each letter.
        task_file: File of your own tasks and the name of one, as FILE.py@NAME, whose samples are
            asked by its own solver. If None, `data` is asked.
        split: The split; by default the first of test, validation and dev.
        limit: Maximum number of items, selected by the seed. If None, all items.
        data_dir: The folder of local copies of known data sets.
        seed: Seed of the selected items and of the arms.
        questions: Questions of an audit, of probes, reasons and ways, which are asked by the prompts
            of an audit. If None, the arms alone are asked, by the prompts of inspect_ai.
        options: Question -> its options, such as {"reasons": {"hints": ["metadata"]}}.
        prompt: Options of the prompt of an audit, such as {"temperature": 0}.
    """
    if task_file is not None:
        return audited(_load_task(task_file), arms, seed=seed)
    settings = AuditOptions(split=split, limit=limit, data_dir=data_dir, seed=seed)
    items, names = open_items(data, settings)
    # Only labeled texts have names of labels. The questions need items with choices.
    if names is not None:
        raise ValueError(f"Expected items with choices in {data}, but they have labels.")
    samples = []
    for item in items:
        # inspect_ai names the correct choice by its letter.
        target = LETTERS[item.label] if item.label >= 0 else ""
        samples.append(
            Sample(
                id=item.id,
                input=item.fields["prompt"],
                choices=list(item.fields["choices"]),
                target=target,
            )
        )
    dataset = MemoryDataset(samples, name=Path(data).stem)
    if questions is not None:
        asker = _make_asker(items, questions, options or {}, prompt or {}, ask=ask, seed=seed)
        solver = questioned(asker, is_scored=ask == "letters")
        return Task(dataset=dataset, solver=solver, scorer=choice())
    unchanged = Task(dataset=dataset, solver=multiple_choice(), scorer=choice())
    return audited(unchanged, arms, ask=ask, seed=seed)


def _make_asker(
    items: Sequence[Item],
    questions: str | list[str],
    options: Mapping[str, Any],
    prompt: Mapping[str, Any],
    *,
    ask: str,
    seed: int,
) -> ItemAsker:
    """Return the questions of an audit for some items, answered by the letters of choices.

    Args:
        items: The items of the task.
        questions: Names of the questions, as a list or separated by commas.
        options: Question -> its options.
        prompt: Options of the prompt, which override its style and scoring.
        ask: "letters" to read the log-probabilities of letters, "text" to generate answers.
        seed: Seed of all random choices.
    """
    rows = []
    for item in items:
        fields = {"prompt": item.fields["prompt"], "choices": list(item.fields["choices"])}
        rows.append({"id": item.id, **fields, "label": item.label, **item.links})
    # Both ways to answer use letters: their log-probabilities, or a generated text with a letter.
    scoring = "next_words" if ask == "letters" else "generated"
    words = Prompt.read({"style": "letters", "scoring": scoring, **prompt}, "the prompt")
    return ItemAsker.make(rows, check_questions(questions), options, words, seed)


def _load_task(name: str) -> Task:
    """Return a task that a function in a Python file of the user makes.

    Args:
        name: Path of the file and name of the function, as "FILE.py@NAME".

    Raises:
        ValueError: If the name has another form.
        TypeError: If the function returns something else.
    """
    path, _, attribute = name.partition("@")
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None or not attribute:
        raise ValueError(f"Expected FILE.py@NAME as `task_file`, but got {name!r}.")
    # The file is not part of a package, and is executed in the same way as by inspect_ai.
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    loaded: Any = getattr(module, attribute)()
    if not isinstance(loaded, Task):
        raise TypeError(f"Expected a task in {name}, but got {type(loaded).__name__}.")
    return loaded


@task  # type: ignore[untyped-decorator, unused-ignore]
def reasons(
    data: str = "socialiqa",
    hints: str | list[str] = "colleague,metadata",
    split: str | None = None,
    limit: int = 200,
    data_dir: str | None = None,
    seed: int = 0,
) -> Task:
    """Does it say its reasons? `rightreasons reasons logs/*.eval` reads the log.

        inspect eval rightreasons/reasons --model openai/MODEL -T data=questions.jsonl -T limit=100

    Args:
        data: A name of `rightreasons data list`, a hub id, or a file of multiple-choice items or labeled texts.
        hints: Comma-separated kinds of hints.
        split: The split; by default the first of test, validation and dev.
        limit: Maximum number of items, selected by the seed.
        data_dir: The folder of local copies of known data sets.
        seed: Decides items, sources and hints.
    """
    # inspect_ai turns a value with commas into a list.
    if not isinstance(hints, str):
        hints = ",".join(hints)
    kinds = tuple(kind.strip() for kind in hints.split(","))
    settings = AuditOptions(split=split, limit=limit, data_dir=data_dir, seed=seed)
    # An audit with the same settings selects the same items.
    items, names = open_items(data, settings)
    prompts = ArmPrompts(Prompt(), names, ReasonsOptions(hints=kinds), chat=True, seed=seed)
    return Task(
        dataset=samples_of(prompts.list_rows(items), "reasons"),
        solver=generate(),
        scorer=answer_scorer(),
        config=GenerateConfig(temperature=1.0),
    )
