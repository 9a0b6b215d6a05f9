"""Test cases from templates, texts with slots and lexicons that fill them, and functionalities from cases.

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

A line of a suite file may say how to make its cases instead of listing them (`functionality_from_row`); such a line
reads no other file and runs no code:

    {"functionality": "praise", "functionality_class": "Vocabulary", "test_type": "MFT",
     "template": "It is {a:word} {thing}.", "lexicons": {"thing": ["film"], "word": ["fine", "nice"]}, "label": 1}
    {"functionality": "typos", "functionality_class": "Robustness", "test_type": "INV",
     "data": ["What a fine film."], "perturbation": {"name": "typos", "n": 2}}
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
from rightreasons.core.options import check_options
from rightreasons.core.resampling import item_rng
from rightreasons.core.suites import TEST_TYPES
from rightreasons.core.validation import check_count, check_kind, check_number, check_one_of, check_seed
from rightreasons.datasets.perturbing.edits import Perturbation, changes, find_perturbation, with_article
from rightreasons.datasets.suites.cases import Case, Functionality

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


# --------------------------------------------------------------------- functionalities from templates and perturbations


Items = Sequence[Case | str | Sequence[str]]
"""Cases, texts, or lists of texts (one per text column)."""

_ROW = ("functionality", "functionality_class", "test_type", "expectation", "label", "lexicons", "seed")
_TEMPLATE = ("template", "n", "across")
_DATA = ("data",)


def mft(
    name: str,
    functionality_class: str,
    items: Items,
    *,
    label: Any = None,
    expectation: Mapping[str, Any] | None = None,
) -> Functionality:
    """Make a minimum functionality test: every example has a right answer.

    Args:
        name: The name of the functionality.
        functionality_class: The capability that it tests.
        items: Cases of `fill`, or texts.
        label: The right answer of every example, or a list with one per item; None for the items' own.
        expectation: The expectation; {"name": "equal"} by default.

    Returns:
        The functionality.

    Raises:
        ValueError: If an example lacks a label that the expectation needs.

    Example:
        >>> short = mft("short", "Negation", ["It was not good."], label=0)
        >>> short.cases[0].examples, short.cases[0].labels
        ((('It was not good.',),), (0,))
    """
    cases = _cases(items, name)
    if label is not None:
        each = list(label) if isinstance(label, (list, tuple)) else [label] * len(cases)
        if len(each) != len(cases):
            raise ValueError(f"Expected one label for each of the {len(cases)} items of {name!r}, but got {len(each)}.")
        pairs = zip(cases, each, strict=True)
        cases = [dataclasses.replace(case, labels=(its,) * len(case.examples), meta=None) for case, its in pairs]
    spec = _expected(expectation, name) or {"name": "equal"}
    bare = next((case for case in cases if None in (case.labels or (None,))), None)
    if bare is not None and spec.get("name") == "equal" and "value" not in spec:
        raise ValueError(f"Expected a label for each example of the MFT {name!r}, but {bare.examples[0]!r} has none.")
    return Functionality(name, functionality_class, "MFT", spec, tuple(cases))


def inv(
    name: str,
    functionality_class: str,
    items: Items,
    perturbation: str | Perturbation | None = None,
    *,
    tolerance: float = 0.1,
    seed: int = 0,
    **options: Any,
) -> Functionality:
    """Make an invariance test: the answer to an item stays when the item is changed.

    Args:
        name: The name of the functionality.
        functionality_class: The capability that it tests.
        items: Texts or cases to change; without a perturbation, cases of an original and its changed texts.
        perturbation: A perturbation that keeps the label. Items to which it does not apply are left out.
        tolerance: How far the probability of the first answer may move where the answer differs.
        seed: Decides, with the texts of an item, how it is changed.
        **options: `copies`, and options of the perturbation.

    Returns:
        The functionality.

    Raises:
        ValueError: If the perturbation does not keep the label, or applies to no item.

    Example:
        >>> inv("contractions", "Robustness", ["It isn't bad."], "contractions").cases[0].examples
        (("It isn't bad.",), ('It is not bad.',))
        >>> inv("a", "Praise", ["It is good."], "positive_phrase")
        Traceback (most recent call last):
        ...
        ValueError: Expected a perturbation that keeps the label for the INV test 'a', but 'positive_phrase' changes it.
    """
    cases = _cases(items, name)
    spec = {"name": "invariant", "tolerance": check_number(tolerance, "tolerance", minimum=0)}
    chosen = _known(perturbation, options, name)
    if chosen is not None and not chosen.preserves_label:
        raise ValueError(
            f"Expected a perturbation that keeps the label for the INV test {name!r}, but {chosen.name!r} changes it."
        )
    cases = _perturbed(cases, chosen, name, seed, **options)
    return Functionality(name, functionality_class, "INV", spec, tuple(cases))


def directional(
    name: str,
    functionality_class: str,
    items: Items,
    perturbation: str | Perturbation | None = None,
    *,
    expectation: Mapping[str, Any] | None = None,
    seed: int = 0,
    **options: Any,
) -> Functionality:
    """Make a directional test: the answer to an item moves in a known direction when the item is changed.

    Args:
        name: The name of the functionality.
        functionality_class: The capability that it tests.
        items: Texts or cases to change; without a perturbation, cases of an original and its changed texts.
        perturbation: Any perturbation. Items to which it does not apply are left out.
        expectation: The expectation, such as {"name": "monotonic", "increasing": False}; None for the default of the
            perturbation, where it has one.
        seed: Decides, with the texts of an item, how it is changed.
        **options: `copies`, and options of the perturbation.

    Returns:
        The functionality.

    Raises:
        ValueError: If there is no expectation, or the perturbation applies to no item.

    Example:
        >>> directional("praise", "Vocabulary", ["Fine film."], "positive_phrase", copies=1).cases[0].examples
        (('Fine film.',), ('Fine film. It was a pleasure.',))
    """
    cases = _cases(items, name)
    chosen = _known(perturbation, options, name)
    spec = _expected(expectation, name) or (chosen.expectation if chosen else None)
    if spec is None:
        raise ValueError(
            f"Expected an expectation of the DIR test {name!r}, such as "
            '{"name": "monotonic", "increasing": false}, but there is none.'
        )
    cases = _perturbed(cases, chosen, name, seed, **options)
    return Functionality(name, functionality_class, "DIR", dict(spec), tuple(cases))


def functionality_from_row(
    row: Mapping[str, Any],
    *,
    lexicons: Mapping[str, Sequence[Any]] | None = None,
    seed: int = 0,
) -> Functionality:
    """Make a functionality from a line that says how to make its cases.

    Args:
        row: `functionality`, `functionality_class`, `test_type`, and `template` (with `lexicons`, `n`, `across`) or
            `data` (a list of texts); `label`, `perturbation` (a name, or a mapping of `name` and options; not of an
            MFT), `expectation` and `seed` as in `mft`, `inv` and `directional`.
        lexicons: Lexicons of the whole suite; those of the row win.
        seed: The seed where the row has none.

    Raises:
        ValueError: If a value is missing, unknown or wrong.

    Example:
        >>> row = {"functionality": "praise", "functionality_class": "Vocabulary", "test_type": "MFT", "label": 1}
        >>> made = functionality_from_row({**row, "template": "A {word} film.", "lexicons": {"word": ["fine", "good"]}})
        >>> [case.examples[0][0] for case in made.cases]
        ['A fine film.', 'A good film.']
    """
    sources = [source for source in ("template", "data") if source in row]
    if len(sources) != 1:
        raise ValueError(f"Expected cases, or a template, or data, but there is {' and '.join(sources) or 'none'}.")
    fields = _TEMPLATE if sources == ["template"] else _DATA
    more = () if row.get("test_type") == "MFT" else ("perturbation",)
    check_options(row, (*_ROW, *fields, *more), "a functionality")
    for key in ("functionality", "functionality_class", "test_type"):
        if not isinstance(row.get(key), str):
            raise ValueError(f"Expected the {key} of a functionality to be a text, but got {row.get(key)!r}.")
    name, kind = row["functionality"], row["functionality_class"]
    test_type = check_one_of(row["test_type"], TEST_TYPES, f"test_type of the functionality {name!r}")
    words: dict[str, Sequence[Any]] = {}
    for each in (lexicons or {}, row.get("lexicons", {})):
        if not isinstance(each, Mapping):
            raise TypeError(f"Expected `lexicons` to name lists of words, but got {each!r}.")
        words.update(each)
    own_seed = check_seed(row.get("seed", seed))
    label, expectation = row.get("label"), row.get("expectation")
    perturbation, options = _perturbation(row.get("perturbation"))
    items: Items
    if sources == ["template"]:
        n, across = row.get("n"), row.get("across")
        items = fill(row["template"], n=n, across=across, label=label, seed=own_seed, lexicons=words)
    else:
        items = row["data"]
    if test_type == "MFT":
        return mft(name, kind, items, label=None if sources == ["template"] else label, expectation=expectation)
    if label is not None and (sources == ["data"] or perturbation is not None):
        raise ValueError(
            f"Expected no label of the {test_type} test {name!r}, whose items are changed, but got {label!r}."
        )
    if test_type == "DIR":
        return directional(name, kind, items, perturbation, expectation=expectation, seed=own_seed, **options)
    expected = {"name": "invariant", "tolerance": 0.1, **_expected(expectation, name)}
    if expected["name"] != "invariant" or len(expected) > 2:
        raise ValueError(f"Expected the INV test {name!r} to expect 'invariant', but it expects {expectation}.")
    return inv(name, kind, items, perturbation, tolerance=expected["tolerance"], seed=own_seed, **options)


def _expected(given: Any, name: str) -> dict[str, Any]:
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f'Expected the expectation of {name!r} to be like {{"name": "equal"}}, but got {given!r}.')
    return dict(given or {})


def _known(perturbation: str | Perturbation | None, options: Mapping[str, Any], name: str) -> Perturbation | None:
    if perturbation is not None:
        return find_perturbation(perturbation)
    if options:
        raise ValueError(f"Expected a perturbation for the options {sorted(options)} of {name!r}, but there is none.")
    return None


def _perturbation(given: Any) -> tuple[str | None, dict[str, Any]]:
    if given is None or isinstance(given, str):
        return given, {}
    if not isinstance(given, Mapping) or not isinstance(given.get("name"), str):
        raise ValueError(f'Expected a perturbation to be a name or {{"name": …}} with options, but got {given!r}.')
    options = {key: value for key, value in given.items() if key != "name"}
    check_options(options, (*find_perturbation(given["name"]).options, "copies"), f"the perturbation {given['name']!r}")
    return given["name"], options


def _cases(items: Items, name: str) -> list[Case]:
    check_kind(name, "name", str)
    if isinstance(items, (str, bytes, Mapping)) or not isinstance(items, Sequence):
        raise TypeError(f"Expected the items of {name!r} to be a list of texts or cases, but got {one_line(items)}.")
    cases = []
    for number, item in enumerate(items):
        if isinstance(item, Case):
            cases.append(item)
            continue
        texts = (item,) if isinstance(item, str) else item
        if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
            raise TypeError(f"Expected item {number} of {name!r} to be a text or a list of texts, but got {item!r}.")
        cases.append(Case(str(number), (tuple(texts),)))
    if not cases:
        raise ValueError(f"Expected at least one item for {name!r}, but there is none.")
    return cases


def _perturbed(
    cases: list[Case], perturbation: Perturbation | None, name: str, seed: int, **options: Any
) -> list[Case]:
    """Change every example of every case, each of which becomes its own case; nothing without a perturbation."""
    if perturbation is None:
        return cases
    changed = []
    for case in cases:
        for index, texts in enumerate(case.examples):
            # With its texts as id, an item is changed in the same way in every place.
            made = changes(texts, perturbation, item_id="\x1f".join(texts), seed=seed, **options)
            if made:
                pairs = (None, *(change.replaced for change in made))
                name_of_case = case.id if len(case.examples) == 1 else f"{case.id}-{index}"
                examples = (texts, *(change.texts for change in made))
                changed.append(Case(name_of_case, examples, meta=pairs if any(pairs) else None))
    if not changed:
        raise ValueError(
            f"Expected at least one item of {name!r} that {perturbation.name!r} can change, but it applies to none."
        )
    return changed
