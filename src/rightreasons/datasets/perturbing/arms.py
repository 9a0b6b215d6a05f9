"""The arms of an item: the versions of a multiple-choice item that a model is asked about.

`list_arms` yields them. An audit, the tasks of inspect_ai and of lm-evaluation-harness, and the
reader of their logs share this list, so that an arm has the same id, text and draws everywhere.

| kind | arms |
|---|---|
| no_question, wrong_question, no_right_answer | the item under the probe of this name |
| extra_choices_K | the item with K added choices |
| orders | the item with its choices in each other order |
| colleague, metadata, … | the item next to a neutral sentence, and next to a hint |
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rightreasons.core.choices import LETTERS
from rightreasons.core.errors import make_unknown_name_error
from rightreasons.datasets.perturbing.hint_kinds import (
    KINDS,
    NO_OPTION,
    draw_hint,
    draw_source_name,
)
from rightreasons.datasets.perturbing.orders import list_choice_orders, name_order
from rightreasons.datasets.perturbing.probes import ORIGINAL, PROBES, Perturber, Pool

ORDERS = "orders"
"""Kind of the arms with the choices in other orders."""

EXTRA_CHOICES = "extra_choices"
"""Kind of the arms with added choices, followed by "_" and their number."""

HINT = "hint"
NEUTRAL = "neutral"
"""First words of the names of the arms of a kind of hint."""

DEFAULT_KINDS = ("no_question", "wrong_question", ORDERS)
"""Kinds of arms from which the question about answer priors is answered, if answers are generated."""

TEXT_KINDS = ("no_question", "wrong_question", "no_right_answer", "extra_choices_2")
"""Kinds of arms of a task that scores each choice by itself, so that their order has no effect."""


@dataclasses.dataclass(frozen=True)
class Arm:
    """One version of an item.

    Attributes:
        item_id: Id of the item.
        name: Name of the arm, such as "no_question", "order 1" or "hint colleague".
        prompt: Question, without the sentence.
        choices: Choices as they are displayed.
        label: Position of the correct choice, -1 if none is correct.
        pseudo_label: Position of the choice that was correct before a probe, -1 for none.
        original_positions: Position of each choice of the item, -1 for a replaced one.
        sentence: Sentence next to the question, "" for none.
        hint: Option that the sentence points to, -1 for none.
    """

    item_id: str
    name: str
    prompt: str
    choices: tuple[str, ...]
    label: int = -1
    pseudo_label: int = -1
    original_positions: tuple[int, ...] = ()
    sentence: str = ""
    hint: int = NO_OPTION

    @property
    def id(self) -> str:
        """Id of the request, as in an audit."""
        return name_arm(self.item_id, self.name)

    @property
    def text(self) -> str:
        """Question with the sentence next to it."""
        # Without a question, the sentence would be all that is asked.
        if not self.sentence:
            return self.prompt
        return f"{self.prompt}\n\n{self.sentence}"

    @property
    def shown_choices(self) -> list[int]:
        """Choice of the item at each displayed position, -1 for a choice of another item.

        This is the inverse of `original_positions`: (2, 0) for three displayed choices gives [1, -1, 0].
        """
        displayed = [-1] * len(self.choices)
        for choice, position in enumerate(self.original_positions):
            # A replaced choice is not displayed.
            if position >= 0:
                displayed[position] = choice
        return displayed


def name_arm(item_id: str, name: str) -> str:
    """Return the id of the request of an item in an arm.

    Example:
        >>> name_arm("x", "no_question")
        'x/no_question'
    """
    return f"{item_id}/{name}"


def name_extra_choices(k: int) -> str:
    """Name the arm with k added choices.

    Example:
        >>> name_extra_choices(4)
        'extra_choices_4'
    """
    return f"{EXTRA_CHOICES}_{k}"


def check_kinds(kinds: str | Iterable[str]) -> tuple[str, ...]:
    """Check names of kinds of arms, and drop repeated ones.

    Args:
        kinds: Names, in a list or as a string separated by commas.

    Raises:
        ValueError: If a kind is unknown.

    Example:
        >>> check_kinds("orders, extra_choices_4,orders")
        ('orders', 'extra_choices_4')
    """
    names = kinds.split(",") if isinstance(kinds, str) else kinds
    distinct_names = dict.fromkeys(name.strip() for name in names)
    # The name "extra_choices" needs a number. The error message has an example, "extra_choices_4".
    named_probes = [probe for probe in PROBES if probe != EXTRA_CHOICES]
    known_names = [*named_probes, name_extra_choices(4), ORDERS, *KINDS]
    for name in distinct_names:
        is_known = name in known_names or get_added_count(name) is not None
        if not is_known:
            raise make_unknown_name_error("kind of arm", name, known_names)
    return tuple(distinct_names)


def get_added_count(kind: str) -> int | None:
    """Return the number in the name of a kind of arm that adds choices; None for other kinds.

    Example:
        >>> get_added_count("extra_choices_4"), get_added_count("no_question")
        (4, None)
    """
    probe, _, number = kind.rpartition("_")
    if probe != EXTRA_CHOICES or not number.isdecimal():
        return None
    count = int(number)
    # "extra_choices_0" is not a kind of arm.
    return count if count >= 1 else None


def list_arms(
    item: Mapping[str, Any],
    kinds: Sequence[str] = DEFAULT_KINDS,
    *,
    pool: Pool,
    seed: int = 0,
    answer: int | None = None,
) -> Iterator[Arm]:
    """Yield the arms of an item, without the item itself.

    Args:
        item: Item {id, prompt, choices, label}; a label of -1 is unknown.
        kinds: Kinds of arms, from `check_kinds`.
        pool: Items from which prompts and choices are borrowed.
        seed: Seed of all draws.
        answer: Answer of the model to the item itself, which no hint points to. None if it is not known
            yet; -1 if the model gave no answer, so that there are no hints.

    Yields:
        An `Arm` for each version. A probe that cannot change the item yields nothing.

    Raises:
        ValueError: If the item is malformed.

    Example:
        >>> items = [
        ...     {"id": "a", "prompt": "Why cook?", "choices": ["To eat.", "To fly."], "label": 0},
        ...     {"id": "b", "prompt": "Why run?", "choices": ["To hurry.", "To sleep."], "label": 0},
        ... ]
        >>> [(arm.id, arm.prompt) for arm in list_arms(items[0], pool=Pool(items))]
        [('a/no_question', ''), ('a/wrong_question', 'Why run?'), ('a/order 1', 'Why cook?')]
    """
    # The order of the kinds is that of the requests.
    for kind in kinds:
        if kind == ORDERS:
            yield from list_orders(item)
        elif kind in KINDS:
            yield from _list_hints(item, kind, seed, answer)
        else:
            yield from _list_perturbed(item, kind, pool, seed)


def write_arm(arm: Arm) -> str:
    """Return an arm as a JSON object, which is stored in the logs of other evaluation harnesses.

    Example:
        >>> arm = make_original({"id": "a", "prompt": "Why?", "choices": ["So.", "No."], "label": 1})
        >>> read_arm(write_arm(arm)) == arm
        True
    """
    return json.dumps(dataclasses.asdict(arm))


def read_arm(text: str) -> Arm:
    """Parse an arm from the JSON object that `write_arm` wrote."""
    fields = json.loads(text)
    # JSON has lists in place of tuples.
    for name in ("choices", "original_positions"):
        fields[name] = tuple(fields[name])
    return Arm(**fields)


def list_orders(item: Mapping[str, Any], *, with_original: bool = False) -> Iterator[Arm]:
    """Yield an arm for each order of the choices of an item.

    Args:
        item: Item {id, prompt, choices, label}; the label may be -1 or missing if it is unknown.
        with_original: Whether to include the order of the data, as the first arm.

    Yields:
        Arms with the names "order 1", "order 2", …, and "order 0" for the order of the data.
    """
    choices = item["choices"]
    label = item.get("label", -1)
    # An order lists the choice at each position: (2, 0, 1) displays choice 2 first.
    for number, order in enumerate(list_choice_orders(len(choices)).tolist()):
        if number == 0 and not with_original:
            continue
        # The position at which each choice is displayed.
        positions = tuple(order.index(choice) for choice in range(len(choices)))
        new_label = -1
        if label >= 0:
            new_label = positions[label]
        yield Arm(
            item_id=str(item["id"]),
            name=name_order(number),
            prompt=item["prompt"],
            choices=tuple(choices[choice] for choice in order),
            label=new_label,
            original_positions=positions,
        )


def make_original(item: Mapping[str, Any]) -> Arm:
    """Return the arm of an unchanged item.

    Args:
        item: Item {id, prompt, choices, label}; the label may be -1 or missing if it is unknown.
    """
    choices = item["choices"]
    return Arm(
        item_id=str(item["id"]),
        name=ORIGINAL,
        prompt=item["prompt"],
        choices=tuple(choices),
        label=item.get("label", -1),
        original_positions=tuple(range(len(choices))),
    )


def _list_perturbed(item: Mapping[str, Any], kind: str, pool: Pool, seed: int) -> Iterator[Arm]:
    """Yield the arm of an item under a confusion probe.

    An item with equal choices, or for which the pool has too few choices, has no arm.

    Args:
        item: Item {id, prompt, choices, label}.
        kind: Name of the probe, such as "no_question" or "extra_choices_4".
        pool: Items from which prompts and choices are borrowed.
        seed: Seed of the draws.
    """
    n_added = get_added_count(kind)
    if n_added is None:
        perturber = Perturber(kind, pool=pool, seed=seed, duplicates="drop")
    else:
        perturber = Perturber(EXTRA_CHOICES, k=n_added, pool=pool, seed=seed, duplicates="drop")
    label = item.get("label", -1)
    # `rows` yields one row, or no row if the item is left out.
    for row in perturber.rows(str(item["id"]), item["prompt"], item["choices"], label):
        yield Arm(
            item_id=str(item["id"]),
            name=kind,
            prompt=row["prompt"],
            choices=tuple(row["choices"]),
            label=row["label"],
            pseudo_label=row["pseudo_label"],
            original_positions=tuple(row["original_positions"]),
        )


def _list_hints(item: Mapping[str, Any], kind: str, seed: int, answer: int | None) -> Iterator[Arm]:
    """Yield an item with a neutral sentence, and with a hint to an option that is not the answer.

    Args:
        item: Item {id, prompt, choices, label}.
        kind: Kind of the hint, such as "colleague".
        seed: Seed of the draws.
        answer: Answer of the model to the item itself. None if it is not known yet, so that the hint may
            point to it; -1 if the model gave no answer, so that there is no hint.

    Yields:
        The arm "neutral KIND", and the arm "hint KIND" if there is an option that the hint may point to.
    """
    original = make_original(item)
    # Both sentences have the same source, whose name occurs in neither the question nor the choices.
    question = " ".join((original.prompt, *original.choices))
    source_name = draw_source_name(original.item_id, question, seed=seed)
    neutral_sentence = KINDS[kind].sentence(source_name)
    yield dataclasses.replace(original, name=f"{NEUTRAL} {kind}", sentence=neutral_sentence)

    has_no_answer = answer is not None and answer < 0
    if has_no_answer:
        # The hint could point to the option that the model would have chosen.
        return
    n_options = len(original.choices)
    excluded = {answer}
    if n_options > 2:
        # A model may choose the correct option for its content, and not because of the hint. With two
        # options, there may be no other one.
        excluded.add(original.label)
    hint = draw_hint(original.item_id, n_options, excluded, seed)
    if hint != NO_OPTION:
        hint_sentence = KINDS[kind].sentence(source_name, LETTERS[hint])
        yield dataclasses.replace(
            original, name=f"{HINT} {kind}", sentence=hint_sentence, hint=hint
        )
