"""Perturbations of texts by name: each makes changed versions of an item, and says whether they keep its label.

The draw depends on the seed and the item's id alone; neither the order of the items nor the presence of others matters.
A perturbation that does not apply to an item returns nothing.

| name | keeps the label | what it does |
| --- | --- | --- |
| `typos` | yes | swaps adjacent letters |
| `contractions` | yes | "do not" for "don't" and back |
| `punctuation` | yes | removes final marks, or adds a period |
| `names` | if everywhere | another first name |
| `locations` | if everywhere | another city or country |
| `numbers` | if everywhere | another whole number near it |
| `url_or_handle` | yes | adds an address or a handle |
| `neutral_phrase` | yes | adds a sentence without praise or blame |
| `positive_phrase`, `negative_phrase` | no | adds a sentence of praise or blame |
| `phrase` | no | adds one of `phrases` |
| `negation` | no | negates a simple sentence, or removes its negation |

"Keeps the label" is about sentiment and similar tasks; a test that asks a model where something is must not use
`locations`.
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rightreasons.data.perturbing import entities, phrases, spelling
from rightreasons.data.perturbing.negation import negation
from rightreasons.data.perturbing.text import Change
from rightreasons.foundations.randomness import item_rng
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import check_count, check_options, unknown_name

MAX_COPIES = 1000
"""The maximum number of changed items per item."""

_DRAWS = 10  # attempts per changed item


@dataclasses.dataclass(frozen=True)
class Perturbation:
    """A way to change an item.

    Attributes:
        name: Its name.
        function: (texts, rng, **options) -> the changes, one after another; none where it does not apply.
        preserves_label: Whether a changed item has the label of the original.
        everywhere: Whether this requires that every text of the item is changed alike.
        copies: The default number of changed texts.
        expectation: The default expectation of a directional test; None where it depends on the task.
    """

    name: str
    function: Callable[..., Iterator[Change]]
    preserves_label: bool
    everywhere: bool = False
    copies: int = 1
    expectation: Mapping[str, Any] | None = None

    @property
    def options(self) -> tuple[str, ...]:
        """The names of its options."""
        parameters = inspect.signature(self.function).parameters.values()
        return tuple(each.name for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY)

    def keeps_label(self, columns: Sequence[int] | None = None) -> bool:
        """Tell whether a change of these texts of an item keeps its label; None for all texts."""
        return self.preserves_label and (columns is None or not self.everywhere)


def _shift(positive: bool) -> Mapping[str, Any]:
    return {"name": "sentiment_shift", "positive": positive, "tolerance": 0.1}


PERTURBATIONS: Mapping[str, Perturbation] = {
    perturbation.name: perturbation
    for perturbation in (
        Perturbation("typos", spelling.typos, True),
        Perturbation("contractions", spelling.contractions, True, copies=2),
        Perturbation("punctuation", spelling.punctuation, True, copies=2),
        Perturbation("names", entities.names, True, everywhere=True, copies=5),
        Perturbation("locations", entities.locations, True, everywhere=True, copies=5),
        Perturbation("numbers", entities.numbers, True, everywhere=True, copies=5),
        Perturbation("url_or_handle", phrases.url_or_handle, True, copies=5),
        Perturbation("neutral_phrase", phrases.neutral_phrase, True, copies=3),
        Perturbation("positive_phrase", phrases.positive_phrase, False, copies=3, expectation=_shift(True)),
        Perturbation("negative_phrase", phrases.negative_phrase, False, copies=3, expectation=_shift(False)),
        Perturbation("phrase", phrases.phrase, False, copies=3),
        Perturbation("negation", negation, False),
    )
}
"""Every perturbation by its name."""


@checks_kinds
def find_perturbation(name: str | Perturbation) -> Perturbation:
    """Return a perturbation.

    Args:
        name: Its name; a `Perturbation` is returned unchanged.

    Raises:
        ValueError: If there is no perturbation of this name; the nearest known one is given.
    """
    if isinstance(name, Perturbation):
        return name
    if name not in PERTURBATIONS:
        raise unknown_name("perturbation", name, PERTURBATIONS)
    return PERTURBATIONS[name]


def changes(
    texts: Sequence[str],
    perturbation: str | Perturbation,
    *,
    item_id: object,
    seed: int = 0,
    copies: int | None = None,
    columns: Sequence[int] | None = None,
    **options: Any,
) -> list[Change]:
    """Change an item.

    Args:
        texts: The texts of the item, one per column.
        perturbation: The name of a perturbation, or one of your own.
        item_id: The id of the item; the draw depends on it and on the seed alone.
        seed: The seed.
        copies: The maximum number of changed items, all different; None for the perturbation's default.
        columns: The numbers of the texts to change; None for all.
        **options: Options of the perturbation.

    Returns:
        The changed items; empty where the perturbation does not apply.

    Raises:
        ValueError: If the perturbation or an option is unknown, or a column is missing.
    """
    chosen = find_perturbation(perturbation)
    check_options(options, chosen.options, f"the perturbation {chosen.name!r}")
    wanted = chosen.copies if copies is None else check_count(copies, "copies")
    if wanted > MAX_COPIES:
        raise ValueError(f"Expected `copies` to be at most {MAX_COPIES:,}, but got {wanted:,}.")
    numbers = list(range(len(texts))) if columns is None else list(columns)
    if not set(numbers) <= set(range(len(texts))):
        raise ValueError(f"Expected `columns` to be numbers of the {len(texts)} texts of an item, but got {numbers}.")
    rng = item_rng(seed, f"{chosen.name}|{item_id}")
    original = tuple(texts)
    made: dict[tuple[str, ...], Change] = {}
    attempts = chosen.function(tuple(original[column] for column in numbers), rng, **options)
    for change in itertools.islice(attempts, _DRAWS * wanted):
        whole = list(original)
        for column, text in zip(numbers, change.texts, strict=True):
            whole[column] = text
        if tuple(whole) != original:
            made.setdefault(tuple(whole), Change(tuple(whole), change.replaced))
        if len(made) == wanted:
            break
    return list(made.values())


@checks_kinds
def perturb_text(
    text: str, perturbation: str | Perturbation, *, item_id: object = None, seed: int = 0, **options: Any
) -> list[str] | None:
    """Change one text; `changes` does so for items with several texts.

    Args:
        text: The text.
        perturbation: The name of a perturbation, or one of your own.
        item_id: The id of the text; None for the text itself.
        seed: The seed.
        **options: `copies`, and options of the perturbation.

    Returns:
        The changed texts; None where the perturbation does not apply.

    Example:
        >>> perturb_text("I don't like it.", "contractions")
        ['I do not like it.']
        >>> perturb_text("Anna said that Anna's flight was late.", "names", copies=1)
        ["Jessica said that Jessica's flight was late."]
        >>> perturb_text("The flight was not late.", "negation")
        ['The flight was late.']
        >>> perturb_text("Fine.", "numbers") is None
        True
    """
    made = changes((text,), perturbation, item_id=text if item_id is None else item_id, seed=seed, **options)
    return [change.texts[0] for change in made] or None
