"""Perturbations of texts by name: each makes changed texts of an item, and says whether they keep its label.

What is drawn depends on the seed and the item's id alone, so that neither the order of the items nor the presence of
others matters. A perturbation that does not apply to an item makes nothing of it.

| name | keeps the label | what it does |
| --- | --- | --- |
| `typos` | yes | swaps adjacent letters |
| `contractions` | yes | "do not" for "don't" and back |
| `punctuation` | yes | takes final marks away, or ends with a full stop |
| `names` | if everywhere | another first name |
| `locations` | if everywhere | another city or country |
| `numbers` | if everywhere | another whole number near it |
| `url_or_handle` | yes | adds an address or a handle |
| `neutral_phrase` | yes | adds a sentence that says nothing of the kind |
| `positive_phrase`, `negative_phrase` | no | adds a sentence of praise or blame |
| `phrase` | no | adds one of `phrases` |
| `negation` | no | negates a simple sentence, or takes its negation out |

They keep the labels of sentiment and the like; whoever asks a model where something is has to leave `locations` out.
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rightreasons.data.perturbing import entities as perturbation_entities
from rightreasons.data.perturbing import phrases as perturbation_phrases
from rightreasons.data.perturbing import spelling as perturbation_spelling
from rightreasons.data.perturbing.negation import negation
from rightreasons.data.perturbing.text import Change
from rightreasons.foundations.randomness import item_rng
from rightreasons.foundations.validation import check_count, check_options, unknown_name

MAX_COPIES = 1000
"""How many changed items may be made of one."""

_DRAWS = 10  # a changed item is looked for so many times


@dataclasses.dataclass(frozen=True)
class Perturbation:
    """A way to change an item.

    Attributes:
        name: What it is called.
        function: (texts, rng, **options) -> the changes, one after another; none where it does not apply.
        preserves_label: Whether a changed item has the label of the original.
        everywhere: Whether that needs every text of the item to be changed alike.
        copies: How many changed texts are made by default.
        expectation: What a directional test expects by default; None where that depends on the task.
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
        """Tell whether the label stays where these texts of an item are changed; None for all."""
        return self.preserves_label and (columns is None or not self.everywhere)


def _shift(positive: bool) -> Mapping[str, Any]:
    return {"name": "sentiment_shift", "positive": positive, "tolerance": 0.1}


PERTURBATIONS: Mapping[str, Perturbation] = {
    perturbation.name: perturbation
    for perturbation in (
        Perturbation("typos", perturbation_spelling.typos, True),
        Perturbation("contractions", perturbation_spelling.contractions, True, copies=2),
        Perturbation("punctuation", perturbation_spelling.punctuation, True, copies=2),
        Perturbation("names", perturbation_entities.names, True, everywhere=True, copies=5),
        Perturbation("locations", perturbation_entities.locations, True, everywhere=True, copies=5),
        Perturbation("numbers", perturbation_entities.numbers, True, everywhere=True, copies=5),
        Perturbation("url_or_handle", perturbation_phrases.url_or_handle, True, copies=5),
        Perturbation("neutral_phrase", perturbation_phrases.neutral_phrase, True, copies=3),
        Perturbation(
            "positive_phrase", perturbation_phrases.positive_phrase, False, copies=3, expectation=_shift(True)
        ),
        Perturbation(
            "negative_phrase", perturbation_phrases.negative_phrase, False, copies=3, expectation=_shift(False)
        ),
        Perturbation("phrase", perturbation_phrases.phrase, False, copies=3),
        Perturbation("negation", negation, False),
    )
}
"""Every perturbation by its name."""


def find_perturbation(name: str | Perturbation) -> Perturbation:
    """Return a perturbation by its name; one of a user's own is returned as it is."""
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
        texts: The texts of the item, one a column.
        perturbation: The name of a perturbation, or one of your own.
        item_id: The id of the item: with the seed it decides what is drawn.
        seed: The seed.
        copies: At most so many changed items, all different; None for the perturbation's own number.
        columns: Which texts are changed, by their numbers; None for all.
        **options: Options of the perturbation.

    Returns:
        The changed items; empty where the perturbation does not apply.

    Raises:
        ValueError: If the perturbation or an option is unknown, or a column is not there.
    """
    found = find_perturbation(perturbation)
    check_options(options, found.options, f"the perturbation {found.name!r}")
    wanted = found.copies if copies is None else check_count(copies, "copies")
    if wanted > MAX_COPIES:
        raise ValueError(f"Expected `copies` to be at most {MAX_COPIES:,}, but got {wanted:,}.")
    chosen = list(range(len(texts))) if columns is None else list(columns)
    if not set(chosen) <= set(range(len(texts))):
        raise ValueError(f"Expected `columns` to be numbers of the {len(texts)} texts of an item, but got {chosen}.")
    rng = item_rng(seed, f"{found.name}|{item_id}")
    original = tuple(texts)
    made: dict[tuple[str, ...], Change] = {}
    drawn = found.function(tuple(original[column] for column in chosen), rng, **options)
    for change in itertools.islice(drawn, _DRAWS * wanted):
        whole = list(original)
        for column, text in zip(chosen, change.texts, strict=True):
            whole[column] = text
        if tuple(whole) != original:
            made.setdefault(tuple(whole), Change(tuple(whole), change.replaced))
        if len(made) == wanted:
            break
    return list(made.values())


def perturb(
    text: str, perturbation: str | Perturbation, *, item_id: object = None, seed: int = 0, **options: Any
) -> list[str] | None:
    """Change one text; see `changes` for what may be said.

    Args:
        text: The text.
        perturbation: The name of a perturbation, or one of your own.
        item_id: The id of the text; None for the text itself.
        seed: The seed.
        **options: `copies`, and options of the perturbation.

    Returns:
        The changed texts; None where the perturbation does not apply.

    Example:
        >>> perturb("I don't like it.", "contractions")
        ['I do not like it.']
        >>> perturb("Anna said that Anna's flight was late.", "names", copies=1)
        ["Jessica said that Jessica's flight was late."]
        >>> perturb("The flight was not late.", "negation")
        ['The flight was late.']
        >>> perturb("Fine.", "numbers") is None
        True
    """
    made = changes((text,), perturbation, item_id=text if item_id is None else item_id, seed=seed, **options)
    return [change.texts[0] for change in made] or None
