"""The perturbation that reverses what a sentence says: it adds or removes a negation."""

# ruff: noqa: SIM905 - word lists read better as words than as one string per line

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from rightreasons.data.perturbing.text import Change
from rightreasons.data.perturbing.words import VERBS
from rightreasons.foundations.validation import check_one_of

_BE = ("am", "is", "are", "was", "were")
_MODALS = ("can", "will", "would", "could", "should", "must", "may", "might")
_HAVE = {"have": "do", "has": "does", "had": "did"}
_DO = ("do", "does", "did")
_DETERMINERS = frozenset("the a an my your his her its our their".split())
_PLURAL = frozenset(("i", "you", "we", "they"))
_PARTICIPLE = re.compile(r"been|had|done|gone|seen|taken|given|become|made|got|\w{3,}ed")
_THIRD = {third: base for base, (third, _) in VERBS.items()}
_PAST = {past: base for base, (_, past) in VERBS.items()}

# Sentences in which the scope of a negation is in doubt are left alone.
_DOUBTFUL = frozenset(
    "and or but although though because if unless while when whether which who whom whose where what how why than "
    "all every everyone everybody everything each some someone somebody something both many most few always often "
    "sometimes only just also too still already even either so".split()
)
_OTHER_NEGATION = frozenset("never no none nobody nothing nowhere neither nor hardly barely scarcely without".split())
_NEEDS_NOT = frozenset("any anything anyone anybody anywhere ever yet anymore".split())
_WORD = re.compile(r"[A-Za-z]+(?:['’][A-Za-z]+)?")
_SHORT_BE = re.compile(r"(?:it|he|she|that|there)'s|i'm|(?:you|we|they)'re")
_BETWEEN = re.compile(r"[,()–—]| - ")  # where another clause may begin
_NT = re.compile(r"(\w+?)n['’]t")


def negation(texts: Sequence[str], rng: np.random.Generator, *, how: str = "either") -> Iterator[Change]:
    """Negate a simple sentence with be, do, have, a modal or a common verb, or remove its only negation.

    This changes only single clauses in which the scope of "not" is clear: no questions, quantifiers, conjunctions or
    imperatives. Every text of the item must be such a sentence.

    Args:
        texts: The texts of an item.
        rng: Unused.
        how: "add", "remove" or "either".
    """
    check_one_of(how, ("either", "add", "remove"), "how")
    changed = [_turned(text, how) for text in texts]
    if all(text is not None for text in changed):
        yield Change(tuple(text for text in changed if text is not None))


def _turned(text: str, how: str) -> str | None:
    body = text.rstrip().rstrip(".!")
    words = [(match.group(), match.start(), match.end()) for match in _WORD.finditer(body)]
    lowered = [word.lower().replace("’", "'") for word, _, _ in words]
    if not 2 <= len(words) <= 25 or re.search(r"[.?!;:\"“”\n]", body) or body.endswith("?"):
        return None
    if sum(map(_has_verb, _BETWEEN.split(body))) > 1:
        return None
    if _DOUBTFUL & set(lowered) or "that" in lowered[1:] or _OTHER_NEGATION & set(lowered):
        return None
    negated = [at for at, word in enumerate(lowered) if word in ("not", "cannot") or word.endswith("n't")]
    if negated and how != "add" and len(negated) == 1 and not _NEEDS_NOT & set(lowered):
        changed = _without(lowered, negated[0])
    elif not negated and how != "remove":
        changed = _with_not(lowered)
    else:
        return None
    if changed is None:
        return None
    # The other words keep their place and capitals; (first, last) is the span of words to rewrite.
    first, last, new = changed
    start, end = words[first][1], words[last - 1][2]
    if not new:  # remove the space with the word
        start = words[first - 1][2]
    return f"{body[:start]}{new.upper() if body.isupper() else new}{body[end:]}{text[len(body) :]}"


def _has_verb(part: str) -> bool:
    """Tell whether a part of a sentence has a finite verb, and so is a clause."""
    words = [match.group().lower().replace("’", "'") for match in _WORD.finditer(part)]
    finite = {*_BE, *_MODALS, *_HAVE, *_DO, *_THIRD, *_PAST, "cannot"}
    return any(
        word in finite
        or _SHORT_BE.fullmatch(word) is not None
        or _NT.fullmatch(word) is not None
        or (word in VERBS and at > 0 and words[at - 1] in _PLURAL)
        for at, word in enumerate(words)
    )


def _with_not(words: Sequence[str]) -> tuple[int, int, str] | None:
    """Return the words to rewrite, as (first, one past last, new words)."""
    helpers = (*_BE, *_MODALS, *_HAVE, *_DO)
    for at, word in enumerate(words[:7]):
        after = words[at + 1] if at + 1 < len(words) else ""
        if _SHORT_BE.fullmatch(word):
            return (at + 1, at + 2, f"not {after}") if after else None
        if word not in helpers and word not in VERBS and word not in _THIRD and word not in _PAST:
            continue
        if at == 0:  # a question or an imperative
            return None
        if word in _BE:
            return at, at + 1, f"{word} not"
        if words[at - 1] in _DETERMINERS:  # a noun: "the work", "my will"
            continue
        if word in _MODALS:
            return (at, at + 1, "cannot" if word == "can" else f"{word} not") if after else None
        if word in _HAVE:
            return at, at + 1, f"{word} not" if _PARTICIPLE.fullmatch(after) else f"{_HAVE[word]} not have"
        if word in _DO:
            return at, at + 1, f"{word} not" if after in VERBS else f"{word} not do"
        return _verb_with_not(words, at)
    return None


def _verb_with_not(words: Sequence[str], at: int) -> tuple[int, int, str] | None:
    word = words[at]
    if {*_BE, *_MODALS, *_HAVE, *_DO} & set(words[at + 1 :]) or (words[at + 1 : at + 2] == ["to"] and word == "used"):
        return None  # a noun ("nice looks are rare"), or "used to"
    if word in VERBS:
        return (at, at + 1, f"do not {word}") if words[at - 1] in _PLURAL else None
    helper, base = ("does", _THIRD[word]) if word in _THIRD else ("did", _PAST[word])
    return at, at + 1, f"{helper} not {base}"


def _without(words: Sequence[str], at: int) -> tuple[int, int, str] | None:
    word = words[at]
    short = _NT.fullmatch(word)
    if word == "cannot":
        return (at, at + 1, "can") if at else None
    if short:
        helper = {"ca": "can", "wo": "will", "sha": "shall", "ai": ""}.get(short[1], short[1])
        first = at
    else:
        helper, first = words[at - 1] if at else "", at - 1
    if first < 1 and not _SHORT_BE.fullmatch(helper):  # a question or an imperative
        return None
    verb = words[at + 1] if at + 1 < len(words) else ""
    if helper in _DO:
        if helper == "do" and verb:
            return first, at + 2, verb
        if verb not in VERBS:
            return None
        return first, at + 2, VERBS[verb][0 if helper == "does" else 1]
    if helper in (*_BE, *_MODALS, *_HAVE, "shall") and verb:
        return first, at + 1, helper
    if _SHORT_BE.fullmatch(helper) and verb:
        return at, at + 1, ""
    return None
