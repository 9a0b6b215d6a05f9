"""Makes functionalities from templates and perturbations, in Python or from a line of a suite file.

    films = fill("It is {a:word} {thing}.", thing=["film", "play"], word=[{"text": "fine", "label": 1}])
    suite = Suite("mine", ("text",), (mft("praise", "Vocabulary", films), inv("typos", "Robustness", films, "typos")))

A line of a suite file may say how to make its cases instead of listing them (`functionality_from_row`):

    {"functionality": "praise", "functionality_class": "Vocabulary", "test_type": "MFT",
     "template": "It is {a:word} {thing}.", "lexicons": {"thing": ["film"], "word": ["fine", "nice"]}, "label": 1}
    {"functionality": "typos", "functionality_class": "Robustness", "test_type": "INV",
     "data": ["What a fine film."], "perturbation": {"name": "typos", "n": 2}}

Such a line reads no other file and runs no code.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from rightreasons.core.errors import one_line
from rightreasons.core.options import check_options
from rightreasons.core.suites import TEST_TYPES
from rightreasons.core.validation import check_kind, check_number, check_one_of, check_seed
from rightreasons.datasets.perturbing.edits import Perturbation, changes, find_perturbation
from rightreasons.datasets.suites.cases import Case, Functionality
from rightreasons.datasets.suites.templates import fill

__all__ = ["directional", "fill", "functionality_from_row", "inv", "mft"]

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
