"""Cases from templates: texts with slots, and lexicons that fill them.

`fill` makes the cases of a template. `make_versions` makes cases of texts and their changed
versions. `mft`, `inv` and `directional` turn cases into functionalities, with an expectation of
their type. The names are those of CheckList (Ribeiro et al. 2020): `fill` is its
`Editor.template`, and `make_versions` its `Perturb.perturb`.

| slot | text |
| --- | --- |
| `{job}` | an entry of the lexicon `job`; the same entry in every place of a case |
| `{name1}`, `{name2}` | different entries of the lexicon `name` |
| `{a:job}`, `{A:job}` | the entry after "a" or "an" ("A" or "An"), by its first letter |
| `{{`, `}}` | a brace |
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from rightreasons.core.errors import make_unknown_name_error
from rightreasons.core.resampling import item_rng
from rightreasons.core.sentences import format_value
from rightreasons.core.validation import (
    check_count,
    check_kind,
    check_number,
    check_seed,
    check_texts,
)
from rightreasons.datasets.suites.cases import Case, Functionality

MAX_CASES = 100_000
"""Maximum number of cases of one template."""

Label: TypeAlias = int | str | None
"""Label of an example: a number, a text in reading comprehension, or None."""

Entries: TypeAlias = Mapping[str, str]
"""Entry of each slot of a case."""

_SLOT = re.compile(r"\{\{|\}\}|\{(?:(?P<article>[aA]):)?(?P<name>[A-Za-z_]\w*)\}|[{}]")

_VOWELS = "aeiouAEIOU"


# ------------------------------------------------------------------------------------- slots


def fill(
    template: str | Sequence[Any],
    /,
    *,
    n: int | None = None,
    seed: int = 0,
    label: Label | Callable[[Entries], Label] = None,
    across: str | None = None,
    **lexicons: Sequence[str],
) -> list[Case]:
    """Make cases of a template by filling its slots with entries of lexicons.

    Args:
        template: A string, or a list with the examples of a case: each a string, or a tuple of strings
            for suites with several text columns.
        n: Number of cases, sampled without replacement; None (default) for all combinations, in
            the order of the lexicons.
        seed: Seed of the sample.
        label: Label of every example, or a function from the entries of a case to its label; None
            (default) for cases without labels.
        across: Slot whose entries become the examples of one case, instead of different cases;
            None (default) for no slot. The first entry is the original of an INV or a DIR test.
        **lexicons: Entries of each slot. Slots that differ by a number at the end, such as
            `{name1}` and `{name2}`, get different entries of one lexicon.

    Returns:
        The cases. Their ids are their numbers.

    Raises:
        TypeError: If the template is neither a string nor a list of examples, or a lexicon is not a
            list of strings.
        ValueError: If a slot has no lexicon, a lexicon has too few entries, or there would be more
            than `MAX_CASES` cases.

    References:
        Ribeiro, Wu, Guestrin and Singh (2020), "Beyond Accuracy: Behavioral Testing of NLP Models
        with CheckList", ACL.

    Example:
        >>> cases = fill("It is {a:word} {thing}.", word=["fine", "awful"], thing=["film"], label=0)
        >>> [case.examples[0][0] for case in cases]
        ['It is a fine film.', 'It is an awful film.']
        >>> fill("{name1} met {name2}.", name=["Ann", "Eve"])[1].examples
        (('Eve met Ann.',),)
        >>> fill("{name} is kind.", name=["Ann", "Ali"], across="name")[0].examples
        (('Ann is kind.',), ('Ali is kind.',))
    """
    examples = _parse_template(template)
    slots = _list_slots(examples)
    slot_groups = _group_slots(slots, lexicons)
    if across is not None and across not in slots:
        raise make_unknown_name_error("slot for `across`", across, slots)

    # Without `across`, the examples of a case are those of the template. With it, each example is
    # repeated with every entry of this slot, which is then not combined with the other slots.
    versions: Sequence[Entries] = [{}]
    if across is not None:
        (group,) = [group for group in slot_groups if across in group.slots]
        if len(group.slots) > 1:
            raise ValueError(
                f"Expected `across` to name a slot with its own lexicon, but got {across!r}."
            )
        versions = [{across: entry} for entry in group.entries]
        slot_groups = [group for group in slot_groups if across not in group.slots]

    cases = []
    for number, combination in enumerate(_select_combinations(slot_groups, n, seed, template)):
        texts = []
        labels: list[Label] = []
        for version in versions:
            entries = {**combination, **version}
            for example in examples:
                texts.append(tuple(text.write(entries) for text in example))
                labels.append(label(entries) if callable(label) else label)
        has_labels = any(value is not None for value in labels)
        cases.append(
            Case(
                id=str(number),
                examples=tuple(texts),
                labels=tuple(labels) if has_labels else None,
            )
        )
    return cases


@dataclasses.dataclass(frozen=True)
class _Slot:
    """A slot of a template.

    Attributes:
        name: Name of the slot.
        article: "a" or "A" if the entry follows an indefinite article, "" otherwise.
    """

    name: str
    article: str

    def write(self, entry: str) -> str:
        """Return an entry of a lexicon, after "a" or "an" if the slot has an article."""
        if not self.article:
            return entry
        # The article depends on the first letter, which is wrong for a few words, such as "hour".
        if entry[:1] in _VOWELS:
            return f"{self.article}n {entry}"
        return f"{self.article} {entry}"


@dataclasses.dataclass(frozen=True)
class _Text:
    """One text of a template, as a sequence of plain strings and slots."""

    parts: tuple[str | _Slot, ...]

    def write(self, entries: Entries) -> str:
        """Return the text with an entry in each slot.

        Args:
            entries: Name of a slot -> its entry.
        """
        texts = []
        for piece in self.parts:
            if isinstance(piece, _Slot):
                texts.append(piece.write(entries[piece.name]))
            else:
                texts.append(piece)
        return "".join(texts)


def _parse_template(template: Any) -> list[tuple[_Text, ...]]:
    """Parse a template into the texts of each of its examples.

    Args:
        template: A string, which is a single example; or a list of examples, each a string or a tuple
            of strings.

    Raises:
        TypeError: If the template has another type.
        ValueError: If a text is empty, or has a single brace.
    """
    if isinstance(template, str):
        return [(_parse_text(template),)]
    if not isinstance(template, Sequence) or not template:
        raise TypeError(
            "Expected a template to be a text or a list of examples, "
            f"but got {format_value(template)}."
        )
    examples = []
    for example in template:
        if isinstance(example, str):
            example = (example,)
        texts = check_texts(example, "template")
        examples.append(tuple(_parse_text(text) for text in texts))
    return examples


def _parse_text(text: str) -> _Text:
    """Split a text of a template into plain strings and slots.

    For example, "A {job}." becomes "A ", the slot `job`, and ".".

    Args:
        text: A text of a template.

    Raises:
        ValueError: If the text has a brace that neither belongs to a slot nor is written twice.
    """
    parts: list[str | _Slot] = []
    end = 0
    for match in _SLOT.finditer(text):
        parts.append(text[end : match.start()])
        end = match.end()
        if match["name"]:
            parts.append(_Slot(name=match["name"], article=match["article"] or ""))
        elif match.group() in ("{{", "}}"):
            # Two braces in a template mean one brace in the text.
            parts.append(match.group()[0])
        else:
            # A single brace is most likely a mistake.
            raise ValueError(
                "Expected a slot such as {name} or {a:name} at character "
                f"{match.start()} of the template {text!r}. Write a brace of the text twice."
            )
    parts.append(text[end:])
    return _Text(tuple(parts))


def _list_slots(examples: Sequence[Sequence[_Text]]) -> list[str]:
    """Return the distinct names of the slots of a template, in the order in which they occur.

    Args:
        examples: Parsed texts of each example.
    """
    names: dict[str, None] = {}
    for text in itertools.chain.from_iterable(examples):
        for piece in text.parts:
            if isinstance(piece, _Slot):
                names[piece.name] = None
    return list(names)


# ------------------------------------------------------------------------------ combinations


@dataclasses.dataclass(frozen=True)
class _SlotGroup:
    """Slots that are filled from the same lexicon.

    Attributes:
        slots: Names of the slots, such as ("name1", "name2").
        entries: Distinct entries of the lexicon.
    """

    slots: tuple[str, ...]
    entries: tuple[str, ...]

    @property
    def n_combinations(self) -> int:
        """The number of ways to fill the slots with different entries."""
        return math.perm(len(self.entries), len(self.slots))

    def select(self, index: int) -> Iterator[tuple[str, str]]:
        """Yield each slot with its entry in one of the combinations.

        The combinations are numbered like permutations in lexicographic order: with the entries a, b, c and
        two slots, number 0 is (a, b), 1 is (a, c), 2 is (b, a), and so on.

        Args:
            index: Number of the combination, from 0 to `n_combinations` - 1.
        """
        remaining = list(self.entries)
        n_combinations = self.n_combinations
        for slot in self.slots:
            # For each entry of this slot, there are equally many combinations of the further slots.
            n_combinations //= len(remaining)
            position, index = divmod(index, n_combinations)
            yield slot, remaining.pop(position)


def _group_slots(slots: Sequence[str], lexicons: Mapping[str, Any]) -> list[_SlotGroup]:
    """Group the slots of a template by the lexicon that fills them.

    Args:
        slots: Names of the slots.
        lexicons: Name -> entries. A slot is filled from the lexicon of the same name, or of its name
            without the number at the end: `name1` and `name2` share the lexicon `name`.

    Raises:
        TypeError: If a lexicon is not a list of strings.
        ValueError: If a slot has no lexicon, or a lexicon has fewer entries than slots.
    """
    slots_by_lexicon: dict[str, list[str]] = {}
    for slot in slots:
        name = slot
        if slot not in lexicons:
            name = slot.rstrip("0123456789")
        if name not in lexicons:
            raise make_unknown_name_error("lexicon for a slot", slot, lexicons)
        slots_by_lexicon.setdefault(name, []).append(slot)

    slot_groups = []
    for name, lexicon_slots in slots_by_lexicon.items():
        entries = check_texts(lexicons[name], name, allow_empty=True)
        # Drop repeated entries, which would make repeated cases.
        distinct_entries = tuple(dict.fromkeys(entries))
        if len(distinct_entries) < len(lexicon_slots):
            raise ValueError(
                f"Expected at least {len(lexicon_slots)} different entries in the lexicon {name!r}, "
                f"one for each of {', '.join(lexicon_slots)}, but got {len(distinct_entries)}."
            )
        slot_groups.append(_SlotGroup(slots=tuple(lexicon_slots), entries=distinct_entries))
    return slot_groups


def _select_combinations(
    slot_groups: Sequence[_SlotGroup], n: int | None, seed: int, template: Any
) -> Iterator[Entries]:
    """Yield the entries of the slots for each case: all combinations, or a sample of them.

    Args:
        slot_groups: For each lexicon, its entries and the slots that they fill.
        n: Number of cases; None, or more than there are combinations, for all of them in order.
        seed: Seed of the sample.
        template: The template. It is part of the seed, so that two templates do not get the same entries.

    Yields:
        Name of a slot -> its entry, such as {"name1": "Ann", "name2": "Eve"}.

    Raises:
        ValueError: If there would be more than `MAX_CASES` cases.
    """
    sizes = [group.n_combinations for group in slot_groups]
    total = math.prod(sizes)
    n_cases = total
    if n is not None:
        n_cases = min(total, check_count(n, "n"))
    if n_cases > MAX_CASES:
        raise ValueError(
            f"Expected at most {MAX_CASES:,} cases of the template {format_value(template)}, but "
            f"there are {n_cases:,} combinations. Limit the number of cases with `n`."
        )

    indices: Iterable[int] = range(total)
    if n_cases < total:
        rng = item_rng(check_seed(seed), repr(template))
        indices = _sample_indices(rng, total, n_cases)
    for index in indices:
        # Combinations are numbered like nested loops over the lexicons, the last one being the innermost.
        # So the index is a number with one digit per lexicon, which are split off from the end.
        entries: dict[str, str] = {}
        remainder = index
        for group, size in zip(reversed(slot_groups), reversed(sizes), strict=True):
            remainder, digit = divmod(remainder, size)
            entries.update(group.select(digit))
        yield entries


def _sample_indices(rng: Any, total: int, n: int) -> list[int]:
    """Return n different indices from 0 to `total` - 1, in random order.

    Args:
        rng: Random generator.
        total: Number of indices to draw from.
        n: Number of indices, at most `MAX_CASES`.
    """
    if total <= 2 * MAX_CASES:
        sample: list[int] = rng.permutation(total)[:n].tolist()
        return sample
    # There are too many indices to permute them. Draw with replacement until n are distinct: at most half
    # of all indices are needed, so that few draws are repetitions.
    indices: dict[int, None] = {}
    while len(indices) < n:
        fractions = rng.random(n)
        for fraction in fractions.tolist():
            indices[int(fraction * total)] = None
    return list(indices)[:n]


# --------------------------------------------------------------------------- functionalities


def make_versions(
    texts: Sequence[str], change: Callable[[str], str | Sequence[str] | None]
) -> list[Case]:
    """Make one case of each text and its changed versions.

    Args:
        texts: N original texts.
        change: Function from a text to its changed version, or to a list of versions. It returns None, or
            the unchanged text, if the change does not apply.

    Returns:
        The cases, with the original as the first example. Texts without a changed version are left
        out, because their cases could not fail.

    Raises:
        TypeError: If a text or a version is not a string.
        ValueError: If the change applies to none of the texts.

    Example:
        >>> cases = make_versions(["It isn't bad.", "Fine."], lambda text: text.replace("n't", " not"))
        >>> cases[0].examples, len(cases)
        ((("It isn't bad.",), ('It is not bad.',)), 1)
    """
    cases = []
    for row, text in enumerate(check_texts(texts, "texts")):
        result = change(text)
        if result is None:
            continue
        if isinstance(result, str):
            result = [result]
        versions = check_texts(list(result), "change")
        examples = [(version,) for version in versions if version != text]
        if examples:
            cases.append(Case(id=str(row), examples=((text,), *examples)))
    if not cases:
        raise ValueError("Expected `change` to change at least one of the texts, but got none.")
    return cases


Cases: TypeAlias = Sequence[Case | str]
"""Cases, or texts that become cases of one example."""


def mft(
    name: str,
    functionality_class: str,
    cases: Cases,
    *,
    label: Label = None,
    expectation: Mapping[str, Any] | None = None,
) -> Functionality:
    """Make a minimum functionality test: every example has a correct answer.

    Args:
        name: Name of the functionality.
        functionality_class: Capability that it tests, such as "Negation".
        cases: Cases of `fill`, or texts.
        label: Label of every example; None (default) for the labels of the cases.
        expectation: Expectation of the answers; None (default) for {"name": "equal"}.

    Returns:
        The functionality.

    Raises:
        TypeError: If a case is neither a `Case` nor a text.

    Example:
        >>> negation = mft("negation", "Negation", ["It was not good."], label=0)
        >>> negation.cases[0].labels, negation.expectation
        ((0,), {'name': 'equal'})
    """
    parsed = _parse_cases(cases)
    if label is not None:
        # Replace the labels that the cases may have.
        relabeled = []
        for case in parsed:
            labels = (label,) * len(case.examples)
            relabeled.append(dataclasses.replace(case, labels=labels))
        parsed = relabeled
    spec = {"name": "equal"} if expectation is None else dict(expectation)
    return Functionality(name, functionality_class, "MFT", spec, tuple(parsed))


def inv(
    name: str, functionality_class: str, cases: Cases, *, tolerance: float = 0.1
) -> Functionality:
    """Make an invariance test: the answer must not change from the first example to the others.

    Args:
        name: Name of the functionality.
        functionality_class: Capability that it tests, such as "Fairness".
        cases: Cases of `make_versions`, or of `fill` with `across` or several examples.
        tolerance: Largest change of the confidence that passes if the answer differs; default 0.1.

    Returns:
        The functionality.

    Raises:
        TypeError: If a case is neither a `Case` nor a text.
        ValueError: If the tolerance is negative.

    Example:
        >>> names = inv("names", "Fairness", fill("{name} left.", name=["Ann", "Ali"], across="name"))
        >>> names.test_type, names.n_examples
        ('INV', 2)
    """
    spec = {
        "name": "invariant",
        "tolerance": check_number(tolerance, "tolerance", minimum=0),
    }
    return Functionality(name, functionality_class, "INV", spec, tuple(_parse_cases(cases)))


def directional(
    name: str, functionality_class: str, cases: Cases, *, expectation: Mapping[str, Any]
) -> Functionality:
    """Make a directional test: the answer must move in one direction from the first example.

    Args:
        name: Name of the functionality.
        functionality_class: Capability that it tests, such as "Vocabulary".
        cases: Cases of `make_versions`, or of `fill` with several examples.
        expectation: Expectation of the movement, such as {"name": "monotonic", "increasing": True,
            "label": 1}: P(label 1) must not fall.

    Returns:
        The functionality.

    Raises:
        TypeError: If a case is neither a `Case` nor a text.

    Example:
        >>> cases = fill(["It is {word}.", "It is very {word}."], word=["good", "fine"])
        >>> expectation = {"name": "monotonic", "increasing": True, "label": 1}
        >>> directional("intensifiers", "Vocabulary", cases, expectation=expectation).n_examples
        4
    """
    spec = dict(expectation)
    return Functionality(name, functionality_class, "DIR", spec, tuple(_parse_cases(cases)))


def _parse_cases(cases: Any) -> list[Case]:
    """Return cases with their numbers as ids. A string becomes a case of one example.

    Args:
        cases: List of cases and strings.

    Raises:
        TypeError: If `cases` is not a list, or an element is neither a case nor a string.
    """
    check_kind(cases, "cases", list | tuple)
    parsed = []
    for number, case in enumerate(cases):
        check_kind(case, "cases", Case | str)
        if isinstance(case, str):
            case = Case(id=str(number), examples=((case,),))
        # The ids are replaced, because cases of several templates may have the same ones.
        parsed.append(dataclasses.replace(case, id=str(number)))
    return parsed
