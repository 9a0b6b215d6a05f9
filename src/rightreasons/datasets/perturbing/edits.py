"""Changes of a text: words that are taken out or put in, and words and names for others."""

from __future__ import annotations

import dataclasses
import functools
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rightreasons.core.extras import require_package
from rightreasons.core.resampling import item_rng
from rightreasons.core.results import Result
from rightreasons.core.validation import check_count, check_seed

# ---------------------------------------------------------------------------------------------------------------- words


WORDS: Mapping[str, Any] = json.loads(Path(__file__).with_name("words.json").read_text("utf-8"))
"""Lists of words by what they are."""

NAMES: Mapping[str, tuple[str, ...]] = {
    kind: tuple(group) for kind, group in WORDS["names"].items()
}
"""Common first names; a name is replaced by one of its own list, so that pronouns still fit."""

LAST_NAMES: tuple[str, ...] = tuple(WORDS["last_names"])
"""Common last names that are no other words."""

PLACES: Mapping[str, tuple[str, ...]] = {
    kind: tuple(group) for kind, group in WORDS["places"].items()
}
"""Cities and countries; a place is replaced by one of its own list."""

PROTECTED = re.compile(r"(?i:https?://|www\.)\S+|(?<!\S)[^\s@]+@[^\s@]+\.\w+|(?<!\w)[@#]\w+")
"""Addresses, handles and hashtags."""


def touches(spans: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    """Tell whether a span shares a character with any of some others."""
    return any(start < last and first < end for first, last in spans)


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
            # The corpus holds similar adjectives as a set, whose order changes from process to process.
            near = [
                sorted(sense.similar_tos(), key=lambda synset: synset.name())
                for sense in self._senses(form, part)
            ]
            similar = (lemma for synsets in near for synset in synsets for lemma in synset.lemmas())
            opposed += [
                other
                for lemma in (*self._corpus.lemmas(form, part), *similar)
                for other in lemma.antonyms()
            ]
        return self._single(forms, opposed)

    def base_forms(self, word: str) -> list[tuple[str, str]]:
        """Return the (part of speech, base form) pairs of a word, the likeliest first."""
        forms = {part: self._corpus.morphy(word, part) for part in "avnr"}
        seen = {
            part: (
                form == word,
                sum(lemma.count() > 0 for lemma in self._corpus.lemmas(form, part)),
            )
            for part, form in forms.items()
            if form is not None
        }
        return [(part, forms[part]) for part in sorted(seen, key=seen.__getitem__, reverse=True)]

    @staticmethod
    def _single(left_out: set[str], lemmas: Iterable[Any]) -> list[str]:
        """Return the words of lemmas, each once, without those of several words and a word's own forms."""
        names = (lemma.name().lower() for lemma in lemmas)
        return list(
            dict.fromkeys(name for name in names if name not in left_out and "_" not in name)
        )

    def _senses(self, form: str, part: str) -> list[Any]:
        # The corpus's `synsets` would add those of a further base form: of "corp" to those of "corps".
        return [lemma.synset() for lemma in self._corpus.lemmas(form, part)]


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
    require_package("nltk")
    from nltk.corpus import wordnet

    named = folder or os.environ.get(VARIABLE)
    places = (
        [named] if named else [place for place in FOLDERS if (Path(place) / "data.noun").is_file()]
    )
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
            return (
                io.StringIO(stream.read())
                if file.startswith("index.") or file.endswith(".exc")
                else stream
            )

        def map_wn(self, version: str = "wordnet") -> None:
            """Skip the mapping to another version: it serves other languages, and needs a file that Debian lacks."""

    if str(folder) not in nltk.data.path:
        nltk.data.path.append(str(folder))  # nltk opens nothing outside these folders
    try:
        return Reader(str(folder), omw_reader=object())
    except OSError as error:
        raise ValueError(
            f"Expected the database files of WordNet in {folder}, but got: {error}."
        ) from error


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
        kind: "synonym", "antonym" or "name".
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


def substitution_lookups(thesaurus: WordNet | None = None) -> dict[str, tuple[Lookup, str]]:
    """Collect the sources of replacements for single words.

    Args:
        thesaurus: Synonyms and antonyms; None for the WordNet of this machine.

    Returns:
        Kind of replacement -> its lookup and the name of its source; {} where there is no WordNet.
    """
    try:
        thesaurus = thesaurus or find_wordnet()
    except ImportError:
        return {}
    return {"synonym": (thesaurus.synonyms, "WordNet"), "antonym": (thesaurus.antonyms, "WordNet")}


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
            substitutions += [
                Substitution(start, end, word, cased_like(word, other), kind, source)
                for other in chosen
            ]
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


def name_substitutions(
    text: str, *, item_id: object, seed: int = 0, pool: Sequence[str] = ()
) -> list[Substitution]:
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
        others = [other for other in people if other != name] or [
            other for other in pool if other != name
        ]
        if others:
            replacement = others[int(rng.integers(len(others)))]
            source = "the text" if len(people) > 1 else "other texts"
        else:
            first, last = (
                words[int(rng.integers(len(words)))] for words in (_FIRST_NAMES, LAST_NAMES)
            )
            replacement, source = f"{first} {last}", "common US names"
        substitutions.append(Substitution(start, end, name, replacement, "name", source))
    return substitutions
