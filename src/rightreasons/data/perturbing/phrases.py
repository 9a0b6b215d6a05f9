"""Perturbations that add a sentence, an address or a handle."""

from __future__ import annotations

import functools
import string
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from rightreasons.data.perturbing.text import PROTECTED, Change
from rightreasons.data.perturbing.words import NEGATIVE_PHRASES, NEUTRAL_PHRASES, POSITIVE_PHRASES
from rightreasons.foundations.validation import check_one_of, check_texts, require_value

_ALPHABET = string.ascii_letters + string.digits


def phrase(
    texts: Sequence[str], rng: np.random.Generator, *, phrases: Sequence[str] | None = None, where: str = "end"
) -> Iterator[Change]:
    """Add a sentence to every text of the item.

    Args:
        texts: The texts of an item.
        rng: The source of the random choices.
        phrases: The sentences; required.
        where: "end" or "start".
    """
    check_one_of(where, ("end", "start"), "where")
    sentences = check_texts(require_value(phrases, "phrases", "a list of sentences"), "phrases")
    for index in rng.permutation(len(sentences)):
        yield Change(tuple(_joined(text, sentences[index], where) for text in texts))


def url_or_handle(
    texts: Sequence[str], rng: np.random.Generator, *, kinds: Sequence[str] = ("url", "handle")
) -> Iterator[Change]:
    """Add a made-up short address or handle before or after every text of the item.

    Args:
        texts: The texts of an item.
        rng: The source of the random choices.
        kinds: "url", "handle" or both.
    """
    for kind in check_texts(kinds, "kinds"):
        check_one_of(kind, ("url", "handle"), "kinds")
    while True:
        kind = kinds[int(rng.integers(len(kinds)))]
        token = "".join(_ALPHABET[i] for i in rng.integers(len(_ALPHABET), size=6))
        added = f"https://t.co/{token}" if kind == "url" else f"@{token}"
        first = bool(rng.integers(2))
        yield Change(tuple(f"{added} {text}" if first else f"{text} {added}" for text in texts))


def _with(phrases: tuple[str, ...], kind: str) -> Callable[..., Iterator[Change]]:
    function = functools.partial(phrase, phrases=phrases)
    function.__doc__ = f"Add a {kind} sentence; `phrases` and `where` as in `phrase`."
    return function


positive_phrase = _with(POSITIVE_PHRASES, "positive")
negative_phrase = _with(NEGATIVE_PHRASES, "negative")
neutral_phrase = _with(NEUTRAL_PHRASES, "neutral")


def _joined(text: str, sentence: str, where: str) -> str:
    if where == "start":
        return f"{sentence} {text}"
    body = text.rstrip()
    last = body.split()[-1] if body else ""
    stop = "." if body[-1:].isalnum() and not PROTECTED.search(last) else ""
    return f"{body}{stop} {sentence}"
