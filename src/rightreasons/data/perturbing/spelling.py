"""Perturbations of spelling: typos, contractions, final punctuation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from rightreasons.data.perturbing.text import PROTECTED, Change, cased_like, protected_spans, substitute, touches
from rightreasons.data.perturbing.words import SWAPS_TO_WORDS
from rightreasons.foundations.validation import check_bool, check_count, check_one_of

_LONG_WORD = re.compile(r"(?<![\w'’])[A-Za-z]{4,}(?![\w'’])")
_STARTS = re.compile(r"(?:^|[.!?:;,…\"“(\n]|@\w+)\s*$")
_ASKS = re.compile(r"\b(?:why|what|when|where|who|how|which)\s+$", re.IGNORECASE)
_NOUN = re.compile(r"\s+(?:(?:the|a|an|this|that|these|those|my|your|his|her|its|our|their|any|some|every)\b|[A-Z])")

_NEAR = 80  # characters to look back, so that long texts take no longer than many short ones

_HELPERS = "is|are|was|were|do|does|did|have|has|had|would|could|should|must|need"
_NOT = re.compile(rf"\b(({_HELPERS}|ca|wo|sha)n['’]t)\b(\s+(?:I|you|he|she|it|we|they|there)\b)?", re.IGNORECASE)
_SHORT = re.compile(
    r"\b(?:(I)['’](m)|(\w+)['’](re|ve|ll)|(let)['’](s)"
    r"|(it|he|she|that|what|there|here|who|where|how)['’](s)(?=\s+(?!\w+ed\b)\w))\b",
    re.IGNORECASE,
)
_FULL = {"m": "am", "re": "are", "ve": "have", "ll": "will", "s": "is"}
_HAS = re.compile(r"\s+(?:been|got|had)\b")

_WITH_NOT = re.compile(rf"\b(?:({_HELPERS}) not|(can) ?not|(will) not)\b", re.IGNORECASE)
_LONG = re.compile(
    r"\b(?:(I) (am)|(you|we|they) (are)|(it|he|she|that|what|there|here|who|where|how) (is)"
    r"|(I|you|he|she|it|we|they) (will)"
    r"|(I|you|we|they) (have)(?= (?:been|had|never|always|got|seen|done|\w{3,}ed)\b))(?= [a-z])",
    re.IGNORECASE,
)


def typos(texts: Sequence[str], rng: np.random.Generator, *, n: int = 1, anywhere: bool = False) -> Iterator[Change]:
    """Swap adjacent letters in `n` places of the item.

    The letters differ and are in a word of four or more letters; no swap makes another known word (form, from).

    Args:
        texts: The texts of an item.
        rng: The source of the random choices.
        n: The number of swaps.
        anywhere: Whether to swap any two characters, spaces included, as CheckList does.
    """
    check_count(n, "n")
    places = [
        (column, at) for column, text in enumerate(texts) for at in _places(text, check_bool(anywhere, "anywhere"))
    ]
    while True:
        chosen: list[tuple[int, int]] = []
        for index in rng.permutation(len(places)):
            column, at = places[index]
            if all(column != other or abs(at - there) > 1 for other, there in chosen):
                chosen.append((column, at))
            if len(chosen) == n:
                break
        if len(chosen) < n:
            return
        changed = [list(text) for text in texts]
        for column, at in chosen:
            changed[column][at : at + 2] = changed[column][at + 1], changed[column][at]
        yield Change(tuple("".join(characters) for characters in changed))


def contractions(texts: Sequence[str], rng: np.random.Generator, *, how: str = "either") -> Iterator[Change]:
    """Expand contractions ("don't" to "do not"), and contract what is written out.

    Args:
        texts: The texts of an item.
        rng: Not used.
        how: "expand", "contract", or "either": one changed item of each kind.
    """
    check_one_of(how, ("either", "expand", "contract"), "how")
    if how != "contract":
        yield Change(tuple(_expanded(text) for text in texts))
    if how != "expand":
        yield Change(tuple(_contracted(text) for text in texts))


def punctuation(texts: Sequence[str], rng: np.random.Generator) -> Iterator[Change]:
    """Remove the final punctuation mark, or end with a period where there was none or another mark.

    Texts that end in an address, a handle or a hashtag are left alone, and a question gets no period.
    """
    yield Change(tuple(_ended(text, "") for text in texts))
    yield Change(tuple(_ended(text, ".") for text in texts))


def _places(text: str, anywhere: bool) -> list[int]:
    protected = protected_spans(text)
    if anywhere:
        spans = [(0, len(text))]
    else:
        spans = [match.span() for match in _LONG_WORD.finditer(text)]
    return [
        at
        for start, end in spans
        for at in range(start, end - 1)
        if text[at].lower() != text[at + 1].lower()
        and not touches(protected, at, at + 2)
        and (anywhere or _swapped(text[start:end], at - start).lower() not in SWAPS_TO_WORDS)
    ]


def _swapped(word: str, at: int) -> str:
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def _expanded(text: str) -> str:
    def with_not(match: re.Match[str]) -> str:
        word, stem, pronoun = match[1], match[2].lower(), match[3] or ""
        helper = {"ca": "can", "wo": "will", "sha": "shall"}.get(stem, stem)
        before = match.string[max(0, match.start() - _NEAR) : match.start()]
        begins, asks = _STARTS.search(before), _ASKS.search(before)
        if (begins or asks) and pronoun:
            return f"{cased_like(word, helper)}{pronoun} {cased_like(word, 'not') if word.isupper() else 'not'}"
        if (asks or (begins and helper != "do")) and _NOUN.match(match.string[match.end() :]):
            return match.group()  # "isn't the film": where the "not" goes depends on where the noun ends
        return cased_like(word, "cannot" if helper == "can" else f"{helper} not") + pronoun

    def short(match: re.Match[str]) -> str:
        word, ending = (part for part in match.groups() if part)
        full = "us" if word.lower() == "let" else _FULL[ending.lower()]
        if full == "is" and _HAS.match(match.string[match.end() :]):
            full = "has"
        return f"{word} {full.upper() if ending.isupper() else full}"

    return substitute(_SHORT, short, substitute(_NOT, with_not, text))


def _contracted(text: str) -> str:
    def with_not(match: re.Match[str]) -> str:
        helper = next(part for part in match.groups() if part).lower()
        return cased_like(match.group(), {"can": "can't", "will": "won't"}.get(helper, f"{helper}n't"))

    def long(match: re.Match[str]) -> str:
        word, verb = (part for part in match.groups() if part)
        ending = {"am": "m", "are": "re", "is": "s", "will": "ll", "have": "ve"}[verb.lower()]
        return f"{word}'{ending.upper() if verb.isupper() else ending}"

    return substitute(_LONG, long, substitute(_WITH_NOT, with_not, text))


def _ended(text: str, mark: str) -> str:
    body = text.rstrip()
    bare = body.rstrip(".!?…")
    last = bare.split()[-1] if bare.split() else ""
    if not last or PROTECTED.search(last) or not (bare[-1].isalnum() or bare[-1] in "\"'”’)"):
        return text
    if mark and (body.endswith("?") or not bare[-1].isalnum()):
        return text
    return bare + mark
