"""What a question asks of a language model, to be answered elsewhere: by a harness, a server, another day.

A measure that asks through a `Score` is run once with a recorder, which writes down what it is asked. Somebody answers;
`StoredAnswers` is a `Score` that looks the answers up by their ids, so the same measure gives the same figures as if it
had asked by itself. Texts with classes, and the examples of a suite, are asked as they are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.foundations.ragged import Ragged
from rightreasons.foundations.scores import Scores
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import check_one_of
from rightreasons.measuring.asking.distractors import added_choices
from rightreasons.measuring.option_order import ChoiceOrders
from rightreasons.measuring.probes import KS, ORIGINAL, probe_tables

if TYPE_CHECKING:
    import datasets

    from rightreasons.data.suites.suite import Suite
    from rightreasons.models.prompting.rendering import Examples, Rendering

ITEMS, PROBES, DISTRACTORS, ORDERS = PARTS = ("items", "probes", "distractors", "orders")
"""What can be asked about items: themselves, their changed versions, these beside near choices and "None of the above",
and orders of their choices."""

FIRST_ORDER = "order 0"
_AS_THEY_ARE = (f"/{ORIGINAL}", f"/{FIRST_ORDER}")


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
        >>> from rightreasons.models.prompting.rendering import Rendering
        >>> letters = Rendering.of(Prompt(style="letters"), chat=False, scorings=["sum"])
        >>> (row,) = request_rows([ChoiceRequest("a", "items", "Why cook?", ("To eat.", "To run."), 0)], letters)
        >>> row["text"], row["options"]
        ('Why cook?\nA. To eat.\nB. To run.\nAnswer:', ['A', 'B'])
    """
    from rightreasons.models.prompting.rendering import Item

    prompt, known = rendering.prompt, fields or {}
    if prompt.shots and (examples is None or not examples.items):
        raise ValueError(f"Expected a labeled training split for {prompt.shots} few-shot examples, but there is none.")
    rows = []
    for number, one in enumerate(requests):
        own: dict[str, Any] = {"prompt": one.prompt, "choices": list(one.choices)}
        if rendering.task == "classification":
            own = {"text": one.prompt, "text_pair": one.text_pair}
        item = Item(one.id, own)
        shots = (
            examples.draw(item, prompt.shots, seed=seed, shared=prompt.draw == "run")
            if examples is not None and prompt.shots
            else ()
        )
        request = rendering.request(item, shots)
        options = [text.removeprefix(" ") for text in request.continuations]
        if not rendering.chat and any(text[:1] != " " for text in request.continuations):
            raise ValueError(
                "Expected a prompt that a space and the answer follow, as harnesses ask it, but it ends in white "
                "space, or does not end there."
            )
        asked = (
            {"text": request.prompt}
            if isinstance(request.prompt, str)
            else {"turns": [dict(turn) for turn in request.prompt]}
        )
        row = {**dataclasses.asdict(one), "choices": list(one.choices), "task": rendering.task, "options": options}
        row["number"] = number
        rows.append({**row, **asked, **known.get(one.id, {})})
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
    from rightreasons.measuring.behavior import label_words

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


@checks_kinds
def choice_requests(
    items: datasets.Dataset,
    *,
    parts: Sequence[str] = (ITEMS, PROBES),
    ks: Sequence[int] = KS,
    orders: str = "auto",
    seed: int = 0,
) -> list[ChoiceRequest]:
    """Write down what the questions about some items would ask a scorer of choices.

    Args:
        items: Multiple-choice items {id, prompt, choices, label}.
        parts: Some of `PARTS`; default items and probes. What two of them ask is written once.
        ks: Numbers of choices that the fourth probe adds; those for which there are too few are left out.
        orders: Which orders of the choices, see `measure_option_order`.
        seed: Decides what the probes borrow, and random orders.

    Returns:
        The requests, with distinct ids: those of the items, and of these followed by what is done to them.

    Raises:
        ValueError: If a part is unknown, or the items do not suffice for it.

    Example:
        >>> import datasets
        >>> rows = [{"id": "a", "prompt": "Why cook?", "choices": ["To eat.", "To run."], "label": 0}] * 2
        >>> items = datasets.Dataset.from_list([rows[0], {**rows[1], "id": "b", "prompt": "Why run?", "label": 1}])
        >>> [(one.id, one.choices) for one in choice_requests(items, parts=["orders"])][:3]
        [('a', ('To eat.', 'To run.')), ('b', ('To eat.', 'To run.')), ('a/order 1', ('To run.', 'To eat.'))]
    """
    absent = [name for name in ("id", "prompt", "choices", "label") if name not in items.column_names]
    if absent:
        raise ValueError(f"Expected multiple-choice items with the columns {', '.join(absent)}, but they have none.")
    requests: dict[str, ChoiceRequest] = {}
    labels = dict(zip(items["id"][:], items["label"][:], strict=True))

    def record(prompts: Sequence[str], choices: Sequence[Sequence[str]], ids: Sequence[str]) -> Ragged:
        for prompt, row, name in zip(prompts, choices, ids, strict=True):
            plain = _plain(name)
            asked = plain.rpartition("/")[2] if plain not in labels else ITEMS
            requests.setdefault(plain, ChoiceRequest(plain, asked, prompt, tuple(row), labels.get(plain, -1)))
        lengths = [len(row) for row in choices]
        return Ragged.of(np.zeros(sum(lengths)), lengths)

    prompts, choices, ids = (items[name][:] for name in ("prompt", "choices", "id"))
    possible, near, none = added_choices(choices, ks)
    kinds: dict[str, dict[str, Any]] = {PROBES: {}, DISTRACTORS: {"near": near, "none": none}}
    for part in dict.fromkeys(parts):
        check_one_of(part, PARTS, "parts")
        if part == ITEMS:
            record(prompts, choices, ids)
        elif part in kinds:
            scores = probe_tables(items, ks=possible, seed=seed, **kinds[part]).scored_by(record)
            for name, table in scores.tables.items():
                for source, label in zip(scores.column(ORIGINAL, "id"), table["label"][:], strict=True):
                    request = requests[_plain(f"{source}/{name}")]
                    requests[request.id] = dataclasses.replace(request, label=label)
        else:
            asked = ChoiceOrders.of_items(ids, choices, orders, seed=seed)
            record(*asked.requests(prompts, choices, ids))
            places = (asked.places == np.array(list(labels.values()))[:, None]).argmax(axis=2)
            for name, place in zip(map(_plain, asked.names(ids)), places.flat, strict=True):
                requests[name] = dataclasses.replace(requests[name], label=int(place))
    return list(requests.values())


class StoredAnswers:
    """The scores of choices that were asked elsewhere, as a `Score`.

    Args:
        name: What holds them, for errors.
        ids: (N,) the ids of the requests.
        prompts: (N,) what was asked.
        choices: (N,) the choices in the order in which they were shown.
        logits: N rows of scores.
        joint: Whether the scorer saw the choices of a request together.

    Example:
        >>> logits = Ragged.of(np.array([-1.0, -2.0]), [2])
        >>> answers = StoredAnswers("log.jsonl", ["a"], ["Why?"], [["x", "y"]], logits)
        >>> answers(["Why?"], [["x", "y"]], ["a/original"])[0]
        array([-1., -2.])
    """

    def __init__(
        self,
        name: str,
        ids: Sequence[str],
        prompts: Sequence[str],
        choices: Sequence[Sequence[str]],
        logits: NDArray[np.float64] | Ragged,
        *,
        joint: bool = False,
    ) -> None:
        self.joint = joint
        self._name = name
        self._rows: Mapping[str, int] = {each: row for row, each in enumerate(ids)}
        self._prompts = prompts
        self._choices = choices
        self._logits = logits

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and _plain(name) in self._rows

    def __call__(self, prompts: Sequence[str], choices: Sequence[Sequence[str]], ids: Sequence[str]) -> Ragged:
        """Return the scores of the choices of some requests.

        Raises:
            ValueError: If one was not asked, or was asked in other words.
        """
        missing = [name for name in ids if name not in self]
        if missing:
            raise ValueError(
                f"Expected an answer to each of {len(ids):,} requests in {self._name}, but {len(missing):,} have none, "
                f"such as {missing[0]!r}."
            )
        rows = [self._rows[_plain(name)] for name in ids]
        for row, prompt, own, name in zip(rows, prompts, choices, ids, strict=True):
            if list(self._choices[row]) != list(own) or self._prompts[row] != prompt:
                raise ValueError(
                    f"Expected {self._name} to answer what is asked, but {name!r} was asked with other texts: were the "
                    "requests made with another seed or other items?"
                )
        scores = [np.asarray(self._logits[row], dtype=np.float64) for row in rows]
        return Ragged.of(np.concatenate(scores), [len(one) for one in scores])

    def picks(self, prompts: Sequence[str], choices: Sequence[Sequence[str]], ids: Sequence[str]) -> Scores:
        """Return the scores of the requests that have an answer; those of the others are NaN, and among `failures`."""
        table = self(prompts, choices, ids)
        able = [place for place in range(len(ids)) if not np.isnan(table[place]).any()]
        known = [np.asarray(table[place]) for place in able]
        return Scores(
            tuple(ids[place] for place in able),
            Ragged.of(np.concatenate([np.empty(0), *known]), [len(one) for one in known]),
            failures={ids[place]: "no answer in the log" for place in sorted(set(range(len(ids))) - set(able))},
        )


def _plain(name: str) -> str:
    """Return the id of the request that asks the same: an item as it is has its own id."""
    return next((name.removesuffix(end) for end in _AS_THEY_ARE if name.endswith(end)), name)
