"""Synonyms, similar words and antonyms of English words, from a table that the package ships.

`load_thesaurus` reads the table. It comes from WordNet 3.0, whose license is in `thesaurus_license.txt`;
`scripts/make_thesaurus.py` writes it.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path

SOURCE = "WordNet"
"""Name of the source of every replacement."""

Words = tuple[str, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Thesaurus:
    """Replacements of single words, the most frequent ones first.

    An inflected word, such as "films", has no entry, because a base form does not fit in its place.

    Attributes:
        entries: Word in lower case -> its synonyms, similar words and antonyms.

    References:
        Fellbaum (1998), "WordNet: An Electronic Lexical Database".
    """

    entries: Mapping[str, tuple[Words, Words, Words]]

    def synonyms(self, word: str) -> Words:
        """Return the words of the most frequent sense of a word: movie, film.

        Example:
            >>> load_thesaurus().synonyms("movie")
            ('film', 'picture')
        """
        synonyms, _, _ = self._get_replacements(word)
        return synonyms

    def similar(self, word: str) -> Words:
        """Return adjectives whose meaning is close to an adjective's: wonderful, great.

        Example:
            >>> load_thesaurus().similar("exciting")[:2]
            ('thrilling', 'tingling')
        """
        _, similar_words, _ = self._get_replacements(word)
        return similar_words

    def antonyms(self, word: str) -> Words:
        """Return words opposed to a word, then those opposed to similar adjectives.

        Example:
            >>> load_thesaurus().antonyms("worst")
            ('best',)
        """
        _, _, antonyms = self._get_replacements(word)
        return antonyms

    def _get_replacements(self, word: str) -> tuple[Words, Words, Words]:
        # Words without an entry, such as inflected words, have no replacements.
        return self.entries.get(word.lower(), ((), (), ()))


@functools.cache
def load_thesaurus() -> Thesaurus:
    """Read the table of synonyms, similar words and antonyms of 8,435 words.

    Example:
        >>> len(load_thesaurus().entries)
        8435
    """
    lines = Path(__file__).with_name("thesaurus.tsv").read_text("utf-8").splitlines()
    entries = {}
    # The first line has the names of the columns; words of a cell are separated by spaces.
    for line in lines[1:]:
        word, synonyms, similar, antonyms = line.split("\t")
        entries[word] = (
            tuple(synonyms.split()),
            tuple(similar.split()),
            tuple(antonyms.split()),
        )
    return Thesaurus(entries)
