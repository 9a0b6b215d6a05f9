"""Makes the bundled suite: short remarks about houses, meals and workshops, from templates written for this page.

    python spaces/behavior_report/make_suite.py

writes the test part, a quarter of the cases; models of `make_runs.py` that learn from the suite learn from its half.
"""

# ruff: noqa: SIM905 - word lists read better as words than as one string a line

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from rightreasons.core.resampling import item_rng
from rightreasons.core.sentences import add_article
from rightreasons.datasets.suites.suite import Case, Functionality, Suite

SUITE = Path(__file__).resolve().parent / "bundled" / "suite.jsonl"
SEED = 0
N_CASES = 80
NEGATIVE, NEUTRAL, POSITIVE = range(3)

PRAISE = tuple(
    "good great lovely excellent charming pleasant wonderful superb delightful brilliant splendid fine".split()
)
BLAME = tuple(
    "bad awful dreadful poor horrible dull shabby terrible tiresome unpleasant nasty dismal".split()
)
THINGS = tuple(
    "breakfast,soup,bread,garden,bathroom,kitchen,balcony,repair,haircut,bicycle,lamp,sofa,lecture,puppet show,"
    "boat trip,guided walk,choir,market stall".split(",")
)
PEOPLE = tuple(
    "Amara Bao Chidi Dolores Emre Fatima Greta Hiro Ingrid Jamal Keisha Lars Mei Nadia Oluwaseun Priya".split()
)
PLACES = tuple(
    "Accra,Bergen,Cusco,Durban,Essen,Fukuoka,Ghent,Hanoi,Izmir,Jaipur,Kingston,Lyon,Minsk,Nairobi".split(
        ","
    )
)
FACTS = (
    "The {thing} is on the second page of the list.",
    "We were asked about the {thing} at noon.",
    "There is one {thing} for each of the two houses.",
    "The sign next to the {thing} has four lines.",
    "The {thing} comes after the {other}.",
)
STRONGER = ("very", "really", "extremely", "incredibly")
SOFTER = ("somewhat", "fairly", "a little", "reasonably")
PRAISE_ADDED = ("We were delighted.", "I would gladly come again.", "Everybody loved it.")
BLAME_ADDED = ("We were disappointed.", "I would never come again.", "Everybody hated it.")
CONTRACTED = {
    "was not": "wasn't",
    "is not": "isn't",
    "will not be": "won't be",
    "cannot be": "can't be",
}
VERDICTS = ("was", "seemed", "turned out to be")


class Words:
    """Words for one case, drawn from its own seed."""

    def __init__(self, functionality: str, number: int) -> None:
        self.rng = item_rng(SEED, f"{functionality}/{number}")
        # Praise and blame alternate, so that a model with one answer for everything passes half at best.
        self.is_praise = number % 2 == 0
        self.label = POSITIVE if self.is_praise else NEGATIVE
        # Words of both kinds, because some tests contrast them.
        self.word = self.sample_word(PRAISE if self.is_praise else BLAME)
        self.opposite = self.sample_word(BLAME if self.is_praise else PRAISE)
        self.thing, self.other = self.sample_words(THINGS, 2)

    def sample_word(self, words: tuple[str, ...]) -> str:
        """Draw a word."""
        return words[int(self.rng.integers(len(words)))]

    def sample_words(self, words: tuple[str, ...], count: int) -> list[str]:
        """Draw different words."""
        # A permutation draws without replacement.
        return [words[i] for i in self.rng.permutation(len(words))[:count]]

    def remark(self) -> str:
        """Write a plain remark with the case's word."""
        return f"The {self.thing} {self.sample_word(VERDICTS)} {self.word}."


Draft = tuple[list[str], int | None]
"""The texts of a case and the label of them all; None where a case asks for no label."""


def _plain(w: Words) -> Draft:
    return [w.remark(), f"What {add_article(w.word)} {w.thing}!"], w.label


def _facts(w: Words) -> Draft:
    return [w.sample_word(FACTS).format(thing=w.thing, other=w.other)], NEUTRAL


def _stronger(w: Words) -> Draft:
    texts = [f"The {w.thing} was {w.word}."]
    for intensifier in w.sample_words(STRONGER, 2):
        texts.append(f"The {w.thing} was {intensifier} {w.word}.")
    # Only the direction of the confidence is tested, not the label.
    return texts, None


def _softer(w: Words) -> Draft:
    texts = [f"The {w.thing} was {w.word}."]
    for softener in w.sample_words(SOFTER, 2):
        texts.append(f"The {w.thing} was {softener} {w.word}.")
    return texts, None


def _praise_added(w: Words) -> Draft:
    remark = w.remark()
    return [remark, *(f"{remark} {sentence}" for sentence in w.sample_words(PRAISE_ADDED, 2))], None


def _blame_added(w: Words) -> Draft:
    remark = w.remark()
    return [remark, *(f"{remark} {sentence}" for sentence in w.sample_words(BLAME_ADDED, 2))], None


def _praise_negated(w: Words) -> Draft:
    word, no = w.sample_word(PRAISE), w.sample_word(("was not", "was hardly", "never was"))
    return [f"The {w.thing} {no} {word}."], NEGATIVE


def _blame_negated(w: Words) -> Draft:
    word, no = w.sample_word(BLAME), w.sample_word(("was not", "was by no means", "was never"))
    return [f"The {w.thing} {no} {word}."], None


def _negated_from_afar(w: Words) -> Draft:
    word = w.sample_word(PRAISE)
    opening = w.sample_word(
        ("I would not say that", "Nobody who was there thinks that", "It is not true that")
    )
    return [f"{opening} the {w.thing} was {word}."], NEGATIVE


def _typos(w: Words) -> Draft:
    # The first text is the original, the others are its versions.
    remark = w.remark()
    return [remark, *_distinct(lambda: _swap(remark, w.rng), remark)], None


def _marks(w: Words) -> Draft:
    remark = w.remark()
    # Neither capitals nor marks change what a remark says.
    return [remark, remark.upper(), remark.rstrip(".") + " ...", f'"{remark}"'], None


def _contractions(w: Words) -> Draft:
    # The full form and its contraction mean the same.
    full = w.sample_word(tuple(CONTRACTED))
    return [f"The {w.thing} {no} {w.word}." for no in (full, CONTRACTED[full])], None


def _people(w: Words) -> Draft:
    names = w.sample_words(PEOPLE, 3)
    return [f"{name} found the {w.thing} {w.word}." for name in names], None


def _places(w: Words) -> Draft:
    places = w.sample_words(PLACES, 3)
    return [f"The {w.thing} in {place} was {w.word}." for place in places], None


def _then_and_now(w: Words) -> Draft:
    return [f"The {w.thing} used to be {w.opposite}, but now it is {w.word}."], w.label


def _author_over_others(w: Words) -> Draft:
    group = w.sample_word(("Others", "My neighbors", "Two papers"))
    return [f"{group} called the {w.thing} {w.opposite}, but to me it was {w.word}."], w.label


def _answered_no(w: Words) -> Draft:
    word = w.sample_word(PRAISE)
    return [f"Do I think that the {w.thing} was {word}? No."], NEGATIVE


OUTLINE: tuple[tuple[str, str, str, dict[str, object], Callable[[Words], Draft]], ...] = (
    ("plain praise and blame", "Words", "MFT", {"name": "equal"}, _plain),
    ("plain facts are neutral", "Words", "MFT", {"name": "equal"}, _facts),
    (
        "stronger words, no less sure",
        "Words",
        "DIR",
        {"name": "monotonic", "increasing": True, "tolerance": 0.1},
        _stronger,
    ),
    (
        "softer words, no more sure",
        "Words",
        "DIR",
        {"name": "monotonic", "increasing": False, "tolerance": 0.1},
        _softer,
    ),
    (
        "praise is added",
        "Words",
        "DIR",
        {"name": "sentiment_shift", "positive": True},
        _praise_added,
    ),
    (
        "blame is added",
        "Words",
        "DIR",
        {"name": "sentiment_shift", "positive": False},
        _blame_added,
    ),
    ("praise is negated", "Negation", "MFT", {"name": "equal"}, _praise_negated),
    (
        "blame is negated",
        "Negation",
        "MFT",
        {"name": "not_equal", "value": NEGATIVE},
        _blame_negated,
    ),
    ("negated from afar", "Negation", "MFT", {"name": "equal"}, _negated_from_afar),
    ("typos", "Robustness", "INV", {"name": "invariant"}, _typos),
    ("capitals and marks", "Robustness", "INV", {"name": "invariant"}, _marks),
    ("contractions", "Robustness", "INV", {"name": "invariant"}, _contractions),
    ("who it is about", "Names", "INV", {"name": "invariant"}, _people),
    ("where it is", "Names", "INV", {"name": "invariant"}, _places),
    ("then and now", "Point of view", "MFT", {"name": "equal"}, _then_and_now),
    ("author over others", "Point of view", "MFT", {"name": "equal"}, _author_over_others),
    ("asked and answered: no", "Point of view", "MFT", {"name": "equal"}, _answered_no),
)
"""Functionality, class, type, expectation, and what writes a case."""


def make_suite() -> Suite:
    """Write all cases."""
    functionalities = []
    for name, of_class, kind, expectation, write in OUTLINE:
        # Each case draws from its own seed: more cases leave the first ones as they are.
        cases = tuple(_case(str(number), *write(Words(name, number))) for number in range(N_CASES))
        functionalities.append(Functionality(name, of_class, kind, expectation, cases))
    return Suite("remarks", ("text",), tuple(functionalities), ("negative", "neutral", "positive"))


def _case(number: str, texts: list[str], label: int | None) -> Case:
    """Return a case with a label for each of its texts."""
    # A suite of pairs would have two texts in each tuple.
    examples = tuple((text,) for text in texts)
    if label is None:
        return Case(number, examples, None)
    return Case(number, examples, (label,) * len(texts))


def _distinct(draw: Callable[[], str], original: str, count: int = 2) -> Iterator[str]:
    """Draw different texts other than the original."""
    used_texts = {original}
    while len(used_texts) <= count:
        text = draw()
        if text not in used_texts:
            used_texts.add(text)
            yield text


def _swap(text: str, rng: np.random.Generator) -> str:
    """Swap two neighboring letters of a word; the first letter of a word stays in place."""
    # Only two different letters in the middle of a word make a typo.
    spots = []
    for i in range(1, len(text) - 1):
        if text[i - 1 : i + 2].isalpha() and text[i] != text[i + 1]:
            spots.append(i)
    i = spots[int(rng.integers(len(spots)))]
    return text[:i] + text[i + 1] + text[i] + text[i + 2 :]


if __name__ == "__main__":
    SUITE.parent.mkdir(exist_ok=True)
    make_suite().split("test").write(SUITE)
