"""Changes of a text: the perturbations by name, words that are taken out or put in, and words and names for others."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import io
import itertools
import json
import os
import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rightreasons.core.arrays import Result, to_numpy
from rightreasons.core.errors import needs, one_line, unknown_name
from rightreasons.core.options import check_options
from rightreasons.core.resampling import item_rng
from rightreasons.core.validation import (
    check_count,
    check_kind,
    check_same_length,
    check_seed,
    check_texts,
    require_value,
)

# ---------------------------------------------------------------------------------------------------------------- words


WORDS: Mapping[str, Any] = json.loads(Path(__file__).with_name("words.json").read_text("utf-8"))
"""Lists of words by what they are."""

NAMES: Mapping[str, tuple[str, ...]] = {kind: tuple(group) for kind, group in WORDS["names"].items()}
"""Common first names; a name is replaced by one of its own list, so that pronouns still fit."""

LAST_NAMES: tuple[str, ...] = tuple(WORDS["last_names"])
"""Common last names that are no other words."""

PLACES: Mapping[str, tuple[str, ...]] = {kind: tuple(group) for kind, group in WORDS["places"].items()}
"""Cities and countries; a place is replaced by one of its own list."""

SWAPS_TO_WORDS = frozenset(WORDS["swaps_to_words"])
"""Words of four letters and more that a swap of two letters makes of other words, which changes what a text says."""

PROTECTED = re.compile(r"(?i:https?://|www\.)\S+|(?<!\S)[^\s@]+@[^\s@]+\.\w+|(?<!\w)[@#]\w+")
"""Addresses, handles and hashtags."""


@dataclasses.dataclass(frozen=True)
class Change:
    """A changed item.

    Attributes:
        texts: Its texts, one per column.
        replaced: (old, new) where one word replaces another everywhere; None otherwise.
    """

    texts: tuple[str, ...]
    replaced: tuple[str, str] | None = None


def protected_spans(text: str) -> list[tuple[int, int]]:
    """Return (first, one past last) of each span that no perturbation may change.

    Example:
        >>> protected_spans("@united see www.a.com")
        [(0, 7), (12, 21)]
    """
    return [match.span() for match in PROTECTED.finditer(text)]


def touches(spans: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    """Tell whether a span shares a character with any of some others."""
    return any(start < last and first < end for first, last in spans)


def substitute(pattern: re.Pattern[str], write: Callable[[re.Match[str]], str], text: str) -> str:
    """Do `pattern.sub(write, text)` outside the protected spans."""
    protected = protected_spans(text)
    return pattern.sub(lambda match: match.group() if touches(protected, *match.span()) else write(match), text)


def cased_like(model: str, text: str) -> str:
    """Write a text with the capitals of another: all of them, the first, or unchanged.

    Example:
        >>> cased_like("DON'T", "do not"), cased_like("Don't", "do not"), cased_like("I", "you")
        ('DO NOT', 'Do not', 'You')
    """
    letters = [character for character in model if character.isalpha()]
    if len(letters) > 1 and all(character.isupper() for character in letters):
        return text.upper()
    return text[:1].upper() + text[1:] if model[:1].isupper() else text


# Words that start with a vowel sound, and so take "an", unless the second pattern matches ("a user", "a European").
_AN = re.compile(r"hour|honest|honor|honour|heir|8|1[18](?!\d)|[AEFHILMNORSX](?![a-z])|[aeiou]")
_A = re.compile(r"una(?=n)|uni(?![dmn])|us[aeu]|ut[aeio]|u[bgr][aioqu](?!s)|uk|eu|ewe|one(?![a-z])|once|U(?![a-z])")


def with_article(word: str) -> str:
    """Put "a" or "an" before a word, by its pronunciation.

    Example:
        >>> [with_article(word) for word in ("actor", "user", "hour", "MBA", "European", "uninvited guest")]
        ['an actor', 'a user', 'an hour', 'an MBA', 'a European', 'an uninvited guest']
    """
    lowered = word[:1].lower() + word[1:] if word[1:2].islower() else word
    return f"{'an' if _AN.match(lowered) and not _A.match(lowered) else 'a'} {word}"


# ------------------------------------------------------------------------------------------------------------- spelling


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


def typos(texts: Sequence[str], rng: np.random.Generator, *, n: int = 1) -> Iterator[Change]:
    """Swap adjacent letters in `n` places of the item.

    The letters differ and are in a word of four or more letters; no swap makes another known word (form, from).

    Args:
        texts: The texts of an item.
        rng: The source of the random choices.
        n: The number of swaps.
    """
    check_count(n, "n")
    places = [(column, at) for column, text in enumerate(texts) for at in _places(text)]
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


def contractions(texts: Sequence[str], rng: np.random.Generator) -> Iterator[Change]:
    """Expand contractions ("don't" to "do not"), and contract what is written out: one changed item of each kind."""
    yield Change(tuple(_expanded(text) for text in texts))
    yield Change(tuple(_contracted(text) for text in texts))


def punctuation(texts: Sequence[str], rng: np.random.Generator) -> Iterator[Change]:
    """Remove the final punctuation mark, or end with a period where there was none or another mark.

    Texts that end in an address, a handle or a hashtag are left alone, and a question gets no period.
    """
    yield Change(tuple(_ended(text, "") for text in texts))
    yield Change(tuple(_ended(text, ".") for text in texts))


def _places(text: str) -> list[int]:
    protected = protected_spans(text)
    return [
        at
        for start, end in (match.span() for match in _LONG_WORD.finditer(text))
        for at in range(start, end - 1)
        if text[at].lower() != text[at + 1].lower()
        and not touches(protected, at, at + 2)
        and _swapped(text[start:end], at - start).lower() not in SWAPS_TO_WORDS
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


# -------------------------------------------------------------------------------------------- names, places and numbers


_BEFORE = r"(?<![\w@#’'-])(?<!St\. )(?<!Saint )"
_AFTER = r"(?![\w-])"
_ALONE = r"(?! (?:[A-Z]\w|of\b))"  # "New York Times", "Bank of England" are no places

_BEFORE_NUMBER = r"(?<![\w.,:/+-])"
_AFTER_NUMBER = r"(?![\w%/-]|[.,:]\d| %)"
_NUMBER = re.compile(rf"{_BEFORE_NUMBER}(?:[2-9]|[1-9]\d{{1,5}}){_AFTER_NUMBER}")
_EMERGENCY = frozenset({"911", "999", "112"})  # emergency calls, not quantities
_YEARS = range(1900, 2100)


def names(texts: Sequence[str], rng: np.random.Generator) -> Iterator[Change]:
    """Replace one first name with another of the same list, everywhere in the item."""
    yield from _replacements(texts, rng, NAMES, "")


def locations(texts: Sequence[str], rng: np.random.Generator) -> Iterator[Change]:
    """Replace one city with another or one country with another, everywhere in the item.

    A place that is part of a longer name ("New York Times") stays.
    """
    yield from _replacements(texts, rng, PLACES, _ALONE)


def numbers(texts: Sequence[str], rng: np.random.Generator) -> Iterator[Change]:
    """Replace one whole number with another that is at most a fifth away, or 1, everywhere in the item.

    The number of digits stays. This changes numbers from 2 to 999,999 that are no year (1900 to 2099) and not part of a
    date, time, range, percentage or decimal. The number 1 stays, and no number becomes it: "1 hour" is no "2 hour".
    """
    olds = dict.fromkeys(
        match.group()
        for text in texts
        for match in _NUMBER.finditer(_masked(text))
        if match.group() not in _EMERGENCY and int(match.group()) not in _YEARS
    )
    candidates = {}
    for old in olds:
        value, digits = int(old), len(old)
        step = max(1, value // 5)
        low, high = max(value - step, 10 ** (digits - 1), 2), min(value + step, 10**digits - 1)
        others = range(low, high + 1) if high - low < 1000 else rng.integers(low, high + 1, size=100).tolist()
        candidates[old] = [str(other) for other in others if str(other) not in olds]
    yield from _drawn(texts, rng, candidates, _BEFORE_NUMBER, _AFTER_NUMBER)


def _replacements(
    texts: Sequence[str], rng: np.random.Generator, groups: Mapping[str, Sequence[str]], after: str
) -> Iterator[Change]:
    kind_of = {word: kind for kind, group in groups.items() for word in group}
    # A longer name first: "New York City" before "New York".
    words = "|".join(re.escape(word) for word in sorted(kind_of, key=len, reverse=True))
    pattern = re.compile(f"{_BEFORE}(?:{words}){_AFTER}{after}")
    masked = [_masked(text) for text in texts]
    olds = dict.fromkeys(match.group() for text in masked for match in pattern.finditer(text))
    candidates = {}
    for old in olds:
        # "a Boston flight" needs a word that goes with "a".
        articled = any(re.search(rf"\b[Aa]n? {re.escape(old)}\b", text) for text in masked)
        candidates[old] = [
            new
            for new in groups[kind_of[old]]
            if not any(re.search(rf"\b{re.escape(new)}\b", text) for text in texts)
            and not (articled and with_article(new).split()[0] != with_article(old).split()[0])
        ]
    yield from _drawn(texts, rng, candidates, _BEFORE, _AFTER + after)


def _drawn(
    texts: Sequence[str], rng: np.random.Generator, candidates: Mapping[str, Sequence[str]], before: str, after: str
) -> Iterator[Change]:
    """Yield every replacement in random order, each made wherever the word is between `before` and `after`.

    The words take turns, however many replacements each has.
    """
    left = {old: [group[i] for i in rng.permutation(len(group))] for old, group in candidates.items()}
    while any(left.values()):
        olds = [old for old, group in left.items() if group]
        for index in rng.permutation(len(olds)):
            old = olds[index]
            new = left[old].pop()
            pattern = re.compile(f"{before}{re.escape(old)}{after}")
            yield Change(tuple(_put(pattern, new, text) for text in texts), (old, new))


def _put(pattern: re.Pattern[str], new: str, text: str) -> str:
    return substitute(pattern, lambda _: new, text)


def _masked(text: str) -> str:
    """Mask protected spans, character for character."""
    return PROTECTED.sub(lambda match: "_" * len(match.group()), text)


# ------------------------------------------------------------------------------------------------------ added sentences


_ALPHABET = string.ascii_letters + string.digits


def phrase(texts: Sequence[str], rng: np.random.Generator, *, phrases: Sequence[str] | None = None) -> Iterator[Change]:
    """Add a sentence to the end of every text of the item.

    Args:
        texts: The texts of an item.
        rng: The source of the random choices.
        phrases: The sentences; required.
    """
    sentences = check_texts(require_value(phrases, "phrases", "a list of sentences"), "phrases")
    for index in rng.permutation(len(sentences)):
        yield Change(tuple(_joined(text, sentences[index]) for text in texts))


def url_or_handle(texts: Sequence[str], rng: np.random.Generator) -> Iterator[Change]:
    """Add a made-up short address or handle before or after every text of the item."""
    while True:
        kind = ("url", "handle")[int(rng.integers(2))]
        token = "".join(_ALPHABET[i] for i in rng.integers(len(_ALPHABET), size=6))
        added = f"https://t.co/{token}" if kind == "url" else f"@{token}"
        first = bool(rng.integers(2))
        yield Change(tuple(f"{added} {text}" if first else f"{text} {added}" for text in texts))


def _phrases(kind: str) -> Callable[..., Iterator[Change]]:
    """Return `phrase` with the sentences of a kind: "positive", "negative" or "neutral"."""
    return functools.partial(phrase, phrases=tuple(WORDS[f"{kind}_phrases"]))


def _joined(text: str, sentence: str) -> str:
    body = text.rstrip()
    last = body.split()[-1] if body else ""
    stop = "." if body[-1:].isalnum() and not PROTECTED.search(last) else ""
    return f"{body}{stop} {sentence}"


# ------------------------------------------------------------------------------------------------ perturbations by name


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
        copies: The default number of changed texts.
        expectation: The default expectation of a directional test; None where it depends on the task.
    """

    name: str
    function: Callable[..., Iterator[Change]]
    preserves_label: bool
    copies: int = 1
    expectation: Mapping[str, Any] | None = None

    @property
    def options(self) -> tuple[str, ...]:
        """The names of its options."""
        parameters = inspect.signature(self.function).parameters.values()
        return tuple(each.name for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY)


def _shift(positive: bool) -> Mapping[str, Any]:
    return {"name": "sentiment_shift", "positive": positive, "tolerance": 0.1}


PERTURBATIONS: Mapping[str, Perturbation] = {
    perturbation.name: perturbation
    for perturbation in (
        Perturbation("typos", typos, True),
        Perturbation("contractions", contractions, True, copies=2),
        Perturbation("punctuation", punctuation, True, copies=2),
        Perturbation("names", names, True, copies=5),
        Perturbation("locations", locations, True, copies=5),
        Perturbation("numbers", numbers, True, copies=5),
        Perturbation("url_or_handle", url_or_handle, True, copies=5),
        Perturbation("neutral_phrase", _phrases("neutral"), True, copies=3),
        Perturbation("positive_phrase", _phrases("positive"), False, copies=3, expectation=_shift(True)),
        Perturbation("negative_phrase", _phrases("negative"), False, copies=3, expectation=_shift(False)),
        Perturbation("phrase", phrase, False, copies=3),
    )
}
"""Every perturbation by its name."""


def find_perturbation(name: str | Perturbation) -> Perturbation:
    """Return a perturbation.

    Args:
        name: Its name; a `Perturbation` is returned unchanged.

    Raises:
        ValueError: If there is no perturbation of this name; the nearest known one is given.
    """
    if isinstance(name, Perturbation):
        return name
    check_kind(name, "name", str)
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
    **options: Any,
) -> list[Change]:
    """Change an item.

    Args:
        texts: The texts of the item, one per column.
        perturbation: The name of a perturbation, or one of your own.
        item_id: The id of the item; the draw depends on it and on the seed alone.
        seed: The seed.
        copies: The maximum number of changed items, all different; None for the perturbation's default.
        **options: Options of the perturbation.

    Returns:
        The changed items; empty where the perturbation does not apply.

    Raises:
        ValueError: If the perturbation or an option is unknown.
    """
    chosen = find_perturbation(perturbation)
    check_options(options, chosen.options, f"the perturbation {chosen.name!r}")
    wanted = chosen.copies if copies is None else check_count(copies, "copies")
    if wanted > MAX_COPIES:
        raise ValueError(f"Expected `copies` to be at most {MAX_COPIES:,}, but got {wanted:,}.")
    rng = item_rng(seed, f"{chosen.name}|{item_id}")
    original = tuple(check_texts(texts, "texts", allow_empty=True))
    made: dict[tuple[str, ...], Change] = {}
    for change in itertools.islice(chosen.function(original, rng, **options), _DRAWS * wanted):
        if change.texts != original:
            made.setdefault(change.texts, change)
        if len(made) == wanted:
            break
    return list(made.values())


Span = tuple[int, int]


def delete_words(text: str, spans: Sequence[Span]) -> str:
    """Return a text without some of its words, and without the spaces that they leave.

    Args:
        text: The text.
        spans: (first character, one past the last) of each word; they do not overlap.

    Example:
        >>> delete_words("Who wrote Hamlet, who?", [(0, 3), (18, 21)])
        'wrote Hamlet,?'
    """
    for start, end in sorted(spans, reverse=True):
        before, after = text[:start], text[end:]
        if after[:1].isspace() and (not before or before[-1].isspace()):
            after = after[1:]
        elif before[-1:].isspace() and not after[:1].isalnum():
            before = before[:-1]
        text = before + after
    return text


def insert_word(text: str, place: int, word: str) -> str:
    """Return a text with a word put in front of the character at a place.

    Example:
        >>> insert_word("a good film", 2, "copper")
        'a copper good film'
    """
    return f"{text[:place]}{word} {text[place:]}"


# -------------------------------------------------------------------------------------------------------------- WordNet


FOLDERS = ("/usr/share/wordnet", "/usr/local/share/wordnet", "/usr/share/wordnet-3.0/dict")
"""Where systems keep WordNet's database files; Debian's package wordnet-base takes the first."""

VARIABLE = "RIGHTREASONS_WORDNET"
"""The environment variable that names another folder."""


class WordNet:
    """WordNet as a thesaurus of single words.

    Senses come in WordNet's order, which is that of their frequency; the part of speech with the most senses that occur
    in its tagged texts comes first. Antonyms are looked up unchanged, or else by the base form of a word ("liked":
    like). Synonyms have to keep the meaning in its place: they are those of the most frequent sense, and an inflected
    word has none, as base forms do not fit in its place.

    Args:
        corpus: An NLTK reader, such as `nltk.corpus.wordnet`.

    References:
        Fellbaum (1998), "WordNet: An Electronic Lexical Database".
    """

    def __init__(self, corpus: Any) -> None:
        self._corpus = corpus

    def synonyms(self, word: str) -> list[str]:
        """Return single words of a word's most frequent sense that WordNet's tagged texts have in it: no rare ones."""
        word = word.lower()
        forms = self.base_forms(word)
        if not forms or forms[0][1] != word:
            return []
        sense = self._senses(*reversed(forms[0]))[0]
        # Similar adjectives (cold: arctic; slow: bumper-to-bumper) do not keep the meaning.
        return self._single({word}, (lemma for lemma in sense.lemmas() if lemma.count()))

    def antonyms(self, word: str) -> list[str]:
        """Return single words opposed to a word; for adjectives then those opposed to a similar one."""
        forms, opposed = {word.lower()}, list[Any]()
        for part, form in self.base_forms(word.lower()):
            forms.add(form)
            opposed += self._opposed(part, form)
        return self._single(forms, opposed)

    def base_forms(self, word: str) -> list[tuple[str, str]]:
        """Return the (part of speech, base form) pairs of a word, the likeliest first."""
        forms = {part: self._corpus.morphy(word, part) for part in "avnr"}
        seen = {
            part: (form == word, sum(lemma.count() > 0 for lemma in self._corpus.lemmas(form, part)))
            for part, form in forms.items()
            if form is not None
        }
        return [(part, forms[part]) for part in sorted(seen, key=seen.__getitem__, reverse=True)]

    @staticmethod
    def _single(left_out: set[str], lemmas: Iterable[Any]) -> list[str]:
        """Return the words of lemmas, each once, without those of several words and a word's own forms."""
        names = (lemma.name().lower() for lemma in lemmas)
        return list(dict.fromkeys(name for name in names if name not in left_out and "_" not in name))

    def _opposed(self, part: str, form: str) -> Iterator[Any]:
        senses = self._senses(form, part)
        similar = [lemma for sense in senses for synset in self._near(sense) for lemma in synset.lemmas()]
        for lemma in (*self._corpus.lemmas(form, part), *similar):
            yield from lemma.antonyms()

    def _senses(self, form: str, part: str) -> list[Any]:
        # The corpus's `synsets` would add those of a further base form: of "corp" to those of "corps".
        return [lemma.synset() for lemma in self._corpus.lemmas(form, part)]

    @staticmethod
    def _near(sense: Any) -> list[Any]:
        # The corpus holds them as a set, whose order changes from process to process.
        return sorted(sense.similar_tos(), key=lambda synset: synset.name())


@functools.cache
def find_wordnet(folder: str | None = None) -> WordNet:
    """Open the WordNet of this machine.

    Args:
        folder: A folder of WordNet's database files; None looks at the variable RIGHTREASONS_WORDNET, at `FOLDERS`, and
            then for NLTK's own corpus.

    Returns:
        A thesaurus; the same one each time, since reading takes seconds.

    Raises:
        ValueError: If `folder` holds no database.
        ImportError: If NLTK or WordNet is missing; the message says what to install.
    """
    needs("nltk")
    from nltk.corpus import wordnet

    named = folder or os.environ.get(VARIABLE)
    places = [named] if named else [place for place in FOLDERS if (Path(place) / "data.noun").is_file()]
    if places:
        return WordNet(_read(Path(places[0])))
    try:
        wordnet.ensure_loaded()
    except LookupError:
        raise ImportError(
            "Expected WordNet, but it is not installed: apt-get install wordnet-base, or nltk.download('wordnet'), or "
            f"name a folder of its database files in {VARIABLE}."
        ) from None
    return WordNet(wordnet)


def _read(folder: Path) -> Any:
    import nltk
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class Reader(WordNetCorpusReader):  # type: ignore[misc]
        def open(self, file: str) -> Any:
            # Debian leaves out the names of the lexicographer files; nltk only needs their number.
            if file == "lexnames":
                return io.StringIO("".join(f"{number:02d} file 0\n" for number in range(45)))
            stream = super().open(file)
            # These are read once, line by line, at which nltk's own reader is slow.
            return io.StringIO(stream.read()) if file.startswith("index.") or file.endswith(".exc") else stream

        def map_wn(self, version: str = "wordnet") -> None:
            """Skip the mapping to another version: it serves other languages, and needs a file that Debian lacks."""

    if str(folder) not in nltk.data.path:
        nltk.data.path.append(str(folder))  # nltk opens nothing outside these folders
    try:
        return Reader(str(folder), omw_reader=object())
    except OSError as error:
        raise ValueError(f"Expected the database files of WordNet in {folder}, but got: {error}.") from error


KINDS = ("synonym", "antonym", "neighbor", "name")

_FIRST_NAMES = tuple(name for names in NAMES.values() for name in names)
_FULL_NAME = re.compile(r"\b[A-Z][a-z]+(?: [A-Z]\.)?(?: [A-Z][a-z]+)+\b")
_WORD = re.compile(r"\w+")


@dataclasses.dataclass(frozen=True)
class Substitution(Result):
    """A span of a text and its replacement.

    Attributes:
        start: First character in the original text.
        end: One past the last.
        original: The original words.
        replacement: The new words, with the original's capitals.
        kind: "synonym", "antonym", "neighbor" or "name".
        source: Where the replacement came from.
    """

    start: int
    end: int
    original: str
    replacement: str
    kind: str
    source: str


Lookup = Callable[[str], Sequence[str]]
"""Replacements of a lower-case word, the likeliest first."""

Lookups = Mapping[str, tuple[Lookup, str]]
"""For each kind of substitution where its candidates come from, and the name of that source."""


def apply_substitutions(text: str, substitutions: Sequence[Substitution]) -> str:
    """Make substitutions in a text.

    Args:
        text: The original text.
        substitutions: In any order; their spans must not overlap.

    Returns:
        The changed text.

    Raises:
        ValueError: If the text has other words at a span, or two spans overlap.

    Example:
        >>> apply_substitutions("A good film", [Substitution(2, 6, "good", "bad", "antonym", "WordNet")])
        'A bad film'
    """
    parts, at = [], 0
    for change in sorted(substitutions, key=lambda change: change.start):
        if change.start < at or text[change.start : change.end] != change.original:
            raise ValueError(
                f"Expected {change.original!r} at characters {change.start} to {change.end} of the text, apart from "
                f"other substitutions, but got {text[change.start : change.end]!r}."
            )
        parts += [text[at : change.start], change.replacement]
        at = change.end
    return "".join((*parts, text[at:]))


def substitution_lookups(
    thesaurus: WordNet | None,
    neighbors: Lookup | None = None,
    *,
    neighbor_source: str = "the model's word embeddings",
) -> dict[str, tuple[Lookup, str]]:
    """Collect the sources of replacements for single words.

    Args:
        thesaurus: Synonyms and antonyms; None for neither.
        neighbors: Looks up the neighbors of a word; None for no neighbors.
        neighbor_source: What the neighbors are said to come from.

    Returns:
        Kind of replacement -> its lookup and the name of its source.
    """
    lookups: dict[str, tuple[Lookup, str]] = {}
    if thesaurus is not None:
        lookups = {"synonym": (thesaurus.synonyms, "WordNet"), "antonym": (thesaurus.antonyms, "WordNet")}
    if neighbors is not None:
        lookups["neighbor"] = (neighbors, neighbor_source)
    return lookups


def class_words(texts: Sequence[str], labels: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """Assign the words of texts to classes: each word goes to the class with the largest share of texts that hold it.

    Args:
        texts: N texts.
        labels: (N,) their classes, gold or predicted; texts with a negative label are left out.

    Returns:
        The lower-case words of each class that has a text, sorted. A word with equal shares is in all of these classes.

    Example:
        >>> class_words(["a good film", "a bad film", "bad"], [1, 0, 0])
        {0: ('bad',), 1: ('a', 'film', 'good')}
    """
    texts, classes = check_texts(texts, "texts", allow_empty=True), to_numpy(labels, "labels")
    check_same_length(texts=texts, labels=classes)
    if classes.dtype.kind not in "iu" or classes.ndim != 1:
        raise TypeError(f"Expected whole numbers in `labels`, but got {one_line(labels)}.")
    counts: dict[int, Counter[str]] = {}
    sizes: Counter[int] = Counter()
    for text, label in zip(texts, classes.tolist(), strict=True):
        if label >= 0:
            sizes[label] += 1
            counts.setdefault(label, Counter()).update(set(_WORD.findall(text.lower())))
    largest: dict[str, float] = {}
    for label, words in counts.items():
        for word, count in words.items():
            largest[word] = max(largest.get(word, 0.0), count / sizes[label])
    return {
        label: tuple(sorted(word for word, count in words.items() if count / sizes[label] == largest[word]))
        for label, words in sorted(counts.items())
    }


def word_substitutions(
    text: str,
    spans: Sequence[tuple[int, int]],
    lookups: Lookups,
    *,
    item_id: object,
    seed: int = 0,
    n_candidates: int = 1,
    among: int = 3,
) -> list[Substitution]:
    """Draw replacements for some words of a text, of every kind that has candidates.

    Args:
        text: The text.
        spans: (first, one past last) character of each word that may be replaced.
        lookups: From `substitution_lookups`.
        item_id: The id of the text; the draw depends on it and on `seed` alone.
        seed: The seed.
        n_candidates: Replacements per kind and word; default 1.
        among: The number of likeliest candidates to draw from; default 3.

    Returns:
        The substitutions, one word after another.

    Example:
        >>> lookups = {"antonym": ({"good": ["bad"]}.get, "a list")}
        >>> [change.replacement for change in word_substitutions("Good film", [(0, 4), (5, 9)], lookups, item_id="0")]
        ['Bad']
    """
    rng = item_rng(check_seed(seed), item_id)
    check_count(n_candidates, "n_candidates")
    substitutions = []
    for start, end in spans:
        word = text[start:end]
        for kind, (lookup, source) in lookups.items():
            candidates = [other for other in (lookup(word.lower()) or ()) if other != word.lower()]
            pool = candidates[: max(check_count(among, "among"), n_candidates)]
            # Draw even when it is not needed, so that one kind does not change the draws of the others.
            order = rng.permutation(max(among, n_candidates))
            chosen = [pool[i] for i in order if i < len(pool)][:n_candidates]
            substitutions += [Substitution(start, end, word, cased_like(word, other), kind, source) for other in chosen]
    return substitutions


def find_names(text: str) -> list[tuple[int, int]]:
    """Find names of people: capitalized words that begin with a common first name or end with a common last name.

    Example:
        >>> text = "The Good Film has Robert Redford in it"
        >>> [text[start:end] for start, end in find_names(text)]
        ['Robert Redford']
    """
    spans = []
    for match in _FULL_NAME.finditer(text):
        words = [(word.group(), word.start()) for word in _WORD.finditer(match.group())]
        for word, start in words[:-1]:
            if word in _FIRST_NAMES or (len(words) == 2 and words[-1][0] in LAST_NAMES):
                spans.append((match.start() + start, match.end()))
                break
    return spans


def name_substitutions(text: str, *, item_id: object, seed: int = 0, pool: Sequence[str] = ()) -> list[Substitution]:
    """Replace each name of a person with another: one of the same text where there is one, or else one of a list.

    Args:
        text: The text.
        item_id: The id of the text.
        seed: The seed.
        pool: Other names, such as the actors of other reviews; common US names where it is empty.

    Returns:
        One substitution per name in the text.
    """
    rng = item_rng(check_seed(seed), f"{item_id}|names")
    spans = find_names(text)
    people = sorted({text[start:end] for start, end in spans})
    substitutions = []
    for start, end in spans:
        name = text[start:end]
        others = [other for other in people if other != name] or [other for other in pool if other != name]
        if others:
            replacement, source = (
                others[int(rng.integers(len(others)))],
                "the text" if len(people) > 1 else "other texts",
            )
        else:
            first, last = (words[int(rng.integers(len(words)))] for words in (_FIRST_NAMES, LAST_NAMES))
            replacement, source = f"{first} {last}", "common US names"
        substitutions.append(Substitution(start, end, name, replacement, "name", source))
    return substitutions
