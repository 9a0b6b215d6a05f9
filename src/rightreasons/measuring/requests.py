"""What a measure asks of a scorer of choices, to be answered elsewhere: by a harness, a server, another day.

A measure that asks through a `Score` is run once with `record_requests`, which writes down what it is asked. Somebody
answers; `StoredAnswers` is a `Score` that looks the answers up by their ids, so the same measure gives the same figures
as if it had asked by itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rightreasons.foundations.choices import lettered
from rightreasons.foundations.ragged import Ragged
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import check_one_of
from rightreasons.measuring.option_order import measure_option_order
from rightreasons.measuring.probes import KS, ORIGINAL, probe_tables

if TYPE_CHECKING:
    import datasets

ITEMS, PROBES, ORDERS = PARTS = ("items", "probes", "orders")
"""What can be asked about items: themselves, their changed versions, and every cyclic order of their choices."""

FIRST_ORDER = "order 0"
_AS_THEY_ARE = (f"/{ORIGINAL}", f"/{FIRST_ORDER}")


@dataclasses.dataclass(frozen=True)
class ChoiceRequest:
    """One question with its choices.

    Attributes:
        id: Its own id.
        asked: "items" for an item as it is, else the probe or the order: what comes after the slash of the id.
        prompt: The prompt; "" where there is none.
        choices: The choices in the order in which they are shown.
        label: The index of the right choice; -1 where there is none, or none that is known.
    """

    id: str
    asked: str
    prompt: str
    choices: tuple[str, ...]
    label: int = -1

    def row(self, *, letters: bool) -> dict[str, object]:
        """Return it with the text to ask and the answers to score, which are the choices or their letters."""
        text, options = lettered(self.prompt, self.choices) if letters else (self.prompt, list(self.choices))
        return {**dataclasses.asdict(self), "choices": list(self.choices), "text": text, "options": options}


@checks_kinds
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
        ks: Numbers of choices that the fourth probe adds.
        seed: Decides what the probes borrow.

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
    for part in dict.fromkeys(parts):
        check_one_of(part, PARTS, "parts")
        if part == ITEMS:
            record(prompts, choices, ids)
        elif part == PROBES:
            scores = probe_tables(items, ks=ks, seed=seed).scored_by(record)
            for name, table in scores.tables.items():
                for source, label in zip(scores.column(ORIGINAL, "id"), table["label"][:], strict=True):
                    request = requests[_plain(f"{source}/{name}")]
                    requests[request.id] = dataclasses.replace(request, label=label)
        else:
            measure_option_order(prompts, choices, list(labels.values()), ids, record, orders="cyclic")
            for source, label in labels.items():
                n = len(requests[source].choices)
                for r in range(1, n):  # position j holds choice (j + r) mod n
                    name = f"{source}/order {r}"
                    requests[name] = dataclasses.replace(requests[name], label=(label - r) % n)
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

    def __contains__(self, name: str) -> bool:
        return _plain(name) in self._rows

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


def _plain(name: str) -> str:
    """Return the id of the request that asks the same: an item as it is has its own id."""
    return next((name.removesuffix(end) for end in _AS_THEY_ARE if name.endswith(end)), name)
