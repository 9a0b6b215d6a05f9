"""Test cases from templates: texts with slots, and lexicons that fill them.

    "{first1} is not {a:job}, says {first2}."

| slot | takes |
| --- | --- |
| `{job}` | an entry of the lexicon `job`, the same one in every place |
| `{first1}`, `{first2}` | entries of the lexicon `first` that differ from each other |
| `{a:job}`, `{A:job}` | the entry after "a" or "an" ("A" or "An"), by its pronunciation |
| `{person.pronoun}` | the field `pronoun` of an entry that is a mapping |
| `{pair[0]}` | the first text of an entry that is a list |
| `{{`, `}}` | a brace |

An entry is a text, a list of texts, or a mapping of fields: `{"text": "good", "label": 1}`. `{x}` is its field `text`;
its field `label` is the label of the cases that contain it.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rightreasons.core.errors import one_line, unknown_name
from rightreasons.core.resampling import item_rng
from rightreasons.core.validation import check_count, check_kind, check_seed
from rightreasons.datasets.perturbing.edits import with_article
from rightreasons.datasets.suites.cases import Case

MAX_EXAMPLES = 100_000
"""The maximum number of examples per template."""

_PERMUTED = 1 << 16  # up to this number of combinations, a sample is the beginning of a permutation of them all
_SLOT = re.compile(
    r"\{\{|\}\}|\{(?:(?P<article>[aA]):)?(?P<slot>[A-Za-z_]\w*)(?:\.(?P<field>\w+)|\[(?P<index>\d{1,3})\])?\}|[{}]"
)


def fill(
    template: str | Sequence[Any],
    /,
    *,
    n: int | None = None,
    seed: int = 0,
    label: Any = None,
    across: str | None = None,
    lexicons: Mapping[str, Sequence[Any]] | None = None,
    **more: Sequence[Any],
) -> list[Case]:
    """Fill the slots of a template.

    Args:
        template: A text, or a list of the examples of a case, each a text or a list of texts (one per text column).
        n: The number of cases, drawn without replacement and without building the others; None for every combination,
            in the order of the lexicons.
        seed: Decides, with the template, which cases are drawn.
        label: The label of every example, or a list with one label per example; None for the labels of the entries, if
            any have one.
        across: A slot whose entries become the examples of one case rather than different cases.
        lexicons: Slot -> entries.
        **more: Further lexicons, which take precedence.

    Returns:
        The cases; their ids are their numbers.

    Raises:
        TypeError: If a template or a lexicon has the wrong type.
        ValueError: If a slot has no lexicon, a lexicon too few entries, two entries of a case have different labels,
            or there would be more than `MAX_EXAMPLES` examples.

    Example:
        >>> thing, word = ["film", "opera"], [{"text": "fine", "label": 1}, {"text": "dull", "label": 0}]
        >>> for case in fill("It is {a:word} {thing}.", thing=thing, word=word):
        ...     print(case.examples[0][0], case.labels)
        It is a fine film. (1,)
        It is a fine opera. (1,)
        It is a dull film. (0,)
        It is a dull opera. (0,)
        >>> fill("{name1} met {name2}.", name=["Ann", "Eve", "Sue"], n=1)[0].examples
        (('Eve met Sue.',),)
        >>> fill("{name} is {a:job}.", name=["Ann"], job=["actor", "poet"], across="job")[0].examples
        (('Ann is an actor.',), ('Ann is a poet.',))
    """
    check_kind(template, "template", str | list | tuple)
    check_kind(lexicons, "lexicons", Mapping | None)
    examples = _parse(template)
    entries_of = {**(lexicons or {}), **more}
    choices = [_Choice(*pair) for pair in _lexicons_of(examples, entries_of).items()]
    side_by_side = next((choice for choice in choices if across in choice.slots), None)
    if across is not None and (side_by_side is None or len(side_by_side.slots) > 1):
        raise ValueError(
            f"Expected `across` to name one slot of the template {one_line(template)}, but got {across!r}."
        )
    free = [choice for choice in choices if choice is not side_by_side]
    sizes = [size for choice in free for size in choice.sizes]
    total = math.prod(sizes)
    wanted = total if n is None else min(total, check_count(n, "n"))
    each = len(examples) * (1 if side_by_side is None else len(side_by_side.entries))
    if wanted * each > MAX_EXAMPLES:
        raise ValueError(
            f"Expected at most {MAX_EXAMPLES:,} examples of the template {one_line(template)}, but there would be "
            f"{wanted * each:,}: say how many cases with n."
        )
    check_seed(seed)
    rows = _every(sizes, range(total)) if wanted == total else _sample(sizes, wanted, seed, template)
    cases = []
    for number, row in enumerate(rows):
        digits = iter(row)
        entries = {slot: entry for choice in free for slot, entry in choice.take(digits)}
        versions = [entries] if side_by_side is None else [{**entries, across: entry} for entry in side_by_side.entries]
        texts = [tuple(text.write(entry) for text in example) for entry in versions for example in examples]
        cases.append(Case(str(number), tuple(texts), _labels(label, versions, len(examples), texts)))
    return cases


# ------------------------------------------------------------------------------------------------------------- private


@dataclasses.dataclass(frozen=True)
class _Slot:
    name: str
    article: str
    field: str
    index: int | None = None

    def write(self, entry: Any) -> str:
        text = self._text(entry)
        written = with_article(text) if self.article else text
        return written[:1].upper() + written[1:] if self.article == "A" else written

    def _text(self, entry: Any) -> str:
        listed = isinstance(entry, (list, tuple))
        if self.index is not None:
            text = entry[self.index] if listed and self.index < len(entry) else None
            wanted = f"a list with a text at place {self.index} for the slot {self.name!r}"
        elif listed:
            text, wanted = None, f"the slot {self.name!r} to say which text of a list, as in {{{self.name}[0]}}"
        else:
            field = self.field or "text"
            text = entry.get(field) if isinstance(entry, Mapping) else None if self.field else entry
            wanted = f"a text in the field {field!r} of an entry for the slot {self.name!r}"
        if not isinstance(text, str):
            raise ValueError(f"Expected {wanted}, but got {one_line(entry)}.")
        return text


@dataclasses.dataclass(frozen=True)
class _Text:
    """One text of a template: plain text and slots."""

    parts: tuple[str | _Slot, ...]

    def write(self, entries: Mapping[str, Any]) -> str:
        return "".join(part if isinstance(part, str) else part.write(entries[part.name]) for part in self.parts)


@dataclasses.dataclass(frozen=True)
class _Choice:
    """The slots that draw from one lexicon, without repetition."""

    slots: tuple[str, ...]
    entries: tuple[Any, ...]

    @property
    def sizes(self) -> list[int]:
        return [len(self.entries) - taken for taken in range(len(self.slots))]

    def take(self, digits: Iterator[int]) -> list[tuple[str, Any]]:
        if len(self.slots) == 1:  # of however many entries
            return [(self.slots[0], self.entries[next(digits)])]
        left = list(self.entries)
        return [(slot, left.pop(next(digits))) for slot in self.slots]


def _parse(template: Any) -> tuple[tuple[_Text, ...], ...]:
    if isinstance(template, str):
        return ((_parse_text(template),),)
    if not isinstance(template, Sequence) or not template:
        raise TypeError(f"Expected a template to be a text or a list of examples, but got {one_line(template)}.")
    examples = []
    for example in template:
        texts = (example,) if isinstance(example, str) else example
        if not isinstance(texts, Sequence) or not texts or not all(isinstance(text, str) for text in texts):
            raise TypeError(
                f"Expected each example of a template to be a text or a list of texts, but got {one_line(example)}."
            )
        examples.append(tuple(_parse_text(text) for text in texts))
    return tuple(examples)


@functools.lru_cache(maxsize=1024)
def _parse_text(text: str) -> _Text:
    parts: list[str | _Slot] = []
    at = 0
    for match in _SLOT.finditer(text):
        parts.append(text[at : match.start()])
        at = match.end()
        if match["slot"]:
            index = None if match["index"] is None else int(match["index"])
            parts.append(_Slot(match["slot"], match["article"] or "", match["field"] or "", index))
        elif len(match.group()) == 2:
            parts.append(match.group()[0])
        else:
            raise ValueError(
                f"Expected a slot such as {{name}}, {{a:name}}, {{name.field}} or {{name[0]}} at character "
                f"{match.start()} of the template {one_line(text)}; a brace of the text itself is written twice."
            )
    return _Text((*parts, text[at:]))


def _lexicons_of(
    examples: Sequence[Sequence[_Text]], given: Mapping[str, Any]
) -> dict[tuple[str, ...], tuple[Any, ...]]:
    """Group the slots by the lexicon that they draw from, and return its distinct entries."""
    slots = dict.fromkeys(
        part.name for example in examples for text in example for part in text.parts if isinstance(part, _Slot)
    )
    groups: dict[str, list[str]] = {}
    for slot in slots:
        name = slot if slot in given else slot.rstrip("0123456789")
        if name not in given:
            raise (
                unknown_name("lexicon for a slot", slot, given)
                if given
                else ValueError(f"Expected a lexicon for the slot {slot!r}, but there is none.")
            )
        groups.setdefault(name, []).append(slot)
    lexicons = {}
    for name, group in groups.items():
        entries = given[name]
        if isinstance(entries, (str, bytes, Mapping)) or not isinstance(entries, Sequence):
            raise TypeError(
                f"Expected the lexicon {name!r} to be a list of texts or mappings, but got {one_line(entries)}."
            )
        for entry in entries:
            if not isinstance(entry, (str, Mapping, list, tuple)):
                raise TypeError(
                    f"Expected each entry of the lexicon {name!r} to be a text, a list of texts or a mapping, but got "
                    f"{one_line(entry)}."
                )
        distinct = tuple({json.dumps(entry, sort_keys=True, default=str): entry for entry in entries}.values())
        if len(distinct) < len(group):
            raise ValueError(
                f"Expected at least {len(group)} different entries in the lexicon {name!r}, one for each of "
                f"{', '.join(group)}, but it has {len(distinct)}."
            )
        lexicons[tuple(group)] = distinct
    return lexicons


def _every(sizes: Sequence[int], numbers: Any) -> list[list[int]]:
    """Write numbers in the mixed base of the sizes; the last digit changes fastest."""
    digits = np.unravel_index(np.asarray(numbers), sizes) if sizes else np.empty((0, len(numbers)), dtype=np.int64)
    written: list[list[int]] = np.transpose(digits).tolist()
    return written


def _sample(sizes: Sequence[int], n: int, seed: int, template: Any) -> Iterator[list[int]]:
    rng = item_rng(seed, json.dumps(template))
    total = math.prod(sizes)
    if total <= max(_PERMUTED, 2 * n):
        yield from _every(sizes, rng.permutation(total)[:n])
        return
    # Less than half of very many: draw, and draw again where the draw is a repetition.
    seen: set[tuple[int, ...]] = set()
    while len(seen) < n:
        for row in rng.integers(0, sizes, size=(1024, len(sizes))).tolist():
            if len(seen) < n and tuple(row) not in seen:
                seen.add(tuple(row))
                yield row


def _labels(label: Any, versions: Sequence[Mapping[str, Any]], n_examples: int, texts: Any) -> tuple[Any, ...] | None:
    if label is not None:
        given = label if isinstance(label, (list, tuple)) else [label] * len(texts)
        if len(given) != len(texts):
            raise ValueError(
                f"Expected one label for each of the {len(texts)} examples of a case, but got {len(given)}."
            )
        return tuple(given)
    labels = []
    for entries in versions:
        carried = {
            slot: entry["label"] for slot, entry in entries.items() if isinstance(entry, Mapping) and "label" in entry
        }
        if len(set(map(str, carried.values()))) > 1:
            says = " and ".join(f"{slot} says {value!r}" for slot, value in carried.items())
            raise ValueError(f"Expected one label of {texts[0][0]!r}, but {says}: say which with label.")
        labels += [next(iter(carried.values()), None)] * n_examples
    return None if all(part is None for part in labels) else tuple(labels)
