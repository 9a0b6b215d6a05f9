"""Synonyms and antonyms from WordNet's own database files, those of NLTK's corpus among them."""

from __future__ import annotations

import functools
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

FOLDERS = ("/usr/share/wordnet", "/usr/local/share/wordnet", "/usr/share/wordnet-3.0/dict")
"""Where systems keep the database; Debian's package wordnet-base takes the first."""

VARIABLE = "RIGHTREASONS_WORDNET"
"""The environment variable that names another folder."""

Folder = Path | zipfile.Path

PARTS = ("adj", "verb", "noun", "adv")

# Rules of detachment of morphy(7WN): ending of the inflected form, ending of the base form.
_ENDINGS = {
    "noun": (("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"),
             ("ies", "y")),
    "verb": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}  # fmt: skip


class Thesaurus(Protocol):
    """What substitution tests ask of a dictionary."""

    def synonyms(self, word: str) -> list[str]:
        """Return single words of the same meaning, the likeliest first; [] where there are none."""
        ...

    def antonyms(self, word: str) -> list[str]:
        """Return single words of the opposite meaning, the likeliest first; [] where there are none."""
        ...


class WordNet:
    """WordNet read from its database files in the format wndb(5WN): no package is needed.

    A word is looked up as it stands, else by its base form ("liked": like). Senses come in WordNet's order, which is
    that of their frequency, of the part of speech with the most senses that were seen in text first. What is returned
    is a base form: it is not inflected.

    Args:
        folder: The folder of index.noun, data.noun and so on, which may lie in a zip archive.

    Raises:
        ValueError: If a file is missing.

    References:
        Fellbaum (1998), "WordNet: An Electronic Lexical Database".
    """

    def __init__(self, folder: str | os.PathLike[str] | zipfile.Path) -> None:
        self.folder: Folder = folder if isinstance(folder, zipfile.Path) else Path(folder)
        self._index: dict[str, dict[str, tuple[int, tuple[int, ...]]]] = {}
        self._data: dict[str, bytes] = {}
        self._exceptions: dict[str, dict[str, list[str]]] = {}
        for part in PARTS:
            for name in (f"index.{part}", f"data.{part}"):
                if not (self.folder / name).is_file():
                    raise ValueError(
                        f"Expected the database files of WordNet in {self.folder}, but there is no {name}."
                    )
            self._index[part] = dict(_read_index(self.folder / f"index.{part}"))
            self._data[part] = (self.folder / f"data.{part}").read_bytes()
            self._exceptions[part] = _read_exceptions(self.folder / f"{part}.exc")

    def synonyms(self, word: str) -> list[str]:
        """Return single words that share a sense with a word; adjectives also those of similar senses, last."""
        return list(self._related(word.lower(), self._same_sense))

    def antonyms(self, word: str) -> list[str]:
        """Return single words opposed to a word; then, for adjectives, those opposed to a similar one."""
        return list(self._related(word.lower(), self._opposed))

    def base_forms(self, word: str) -> list[tuple[str, str]]:
        """Return the (part of speech, base form) of a word that are in the index, the likeliest first."""
        found: dict[tuple[str, str], int] = {}
        for part in PARTS:
            index = self._index[part]
            forms = [word] if word in index else []
            forms += self._exceptions[part].get(word, [])
            if not forms:
                forms = [word[: -len(old)] + new for old, new in _ENDINGS[part] if word.endswith(old)]
            for form in forms:
                if form in index:
                    # A form that is listed itself comes before one that is derived.
                    found[part, form] = index[form][0] + (1000 if form == word else 0)
        return sorted(found, key=lambda key: -found[key])

    def _related(self, word: str, relation: object) -> Iterator[str]:
        given: set[str] = {word}
        for part, form in self.base_forms(word):
            given.add(form)
            for other in relation(part, form):  # type: ignore[operator]
                if other not in given and "_" not in other:
                    given.add(other)
                    yield other

    def _same_sense(self, part: str, word: str) -> Iterator[str]:
        synsets = [self._synset(part, offset) for offset in self._index[part][word][1]]
        for synset in synsets:
            yield from synset.words
        for synset in synsets:
            for symbol, offset, _, _ in synset.pointers:
                if symbol == "&":
                    yield from self._synset(part, offset).words

    def _opposed(self, part: str, word: str) -> Iterator[str]:
        synsets = [self._synset(part, offset) for offset in self._index[part][word][1]]
        for synset in synsets:
            for symbol, offset, source, target in synset.pointers:
                if symbol == "!" and synset.words[source - 1] == word:
                    yield self._synset(part, offset).words[target - 1]
        if part == "adj":
            for synset in synsets:
                for symbol, offset, _, _ in synset.pointers:
                    if symbol == "&":
                        head = self._synset(part, offset)
                        for sign, opposite, _, target in head.pointers:
                            if sign == "!":
                                yield self._synset(part, opposite).words[target - 1]

    def _synset(self, part: str, offset: int) -> _Synset:
        data = self._data[part]
        return _Synset.parse(data[offset : data.index(b"\n", offset)].decode("utf-8"))


def nltk_folder() -> Folder | None:
    """Find WordNet's database files among the data of NLTK, unpacked or as the archive that its downloader leaves.

    They are the same files as elsewhere and read by the same reader; NLTK is asked where it keeps its data, no more.
    """
    try:
        from nltk.data import path as places
    except ImportError:
        return None
    for place in map(Path, places):
        folder, archive = place / "corpora" / "wordnet", place / "corpora" / "wordnet.zip"
        if (folder / "data.noun").is_file():
            return folder
        if archive.is_file():
            packed = zipfile.Path(archive, "wordnet/")
            if (packed / "data.noun").is_file():
                return packed
    return None


@functools.cache
def find_wordnet(folder: str | None = None) -> Thesaurus:
    """Open the WordNet of this machine.

    Args:
        folder: A folder of database files; None looks at the variable RIGHTREASONS_WORDNET, the usual folders, and then
            for NLTK's corpus.

    Returns:
        A thesaurus; the same one each time, since reading takes a second.

    Raises:
        ValueError: If `folder` holds no database.
        ImportError: If there is no WordNet; what can be installed is named.
    """
    named = folder or os.environ.get(VARIABLE)
    if named:
        return WordNet(named)
    for path in FOLDERS:
        if (Path(path) / "data.noun").is_file():
            return WordNet(path)
    found = nltk_folder()
    if found is not None:
        return WordNet(found)
    raise ImportError(
        "This needs WordNet, which is not installed: apt-get install wordnet-base, or nltk.download('wordnet'), or "
        f"name a folder of its database files in {VARIABLE}."
    )


# ------------------------------------------------------------------------------------------------------------- private


class _Synset:
    """One line of a data file: its words, and (symbol, offset, word here, word there) of each pointer."""

    def __init__(self, words: list[str], pointers: list[tuple[str, int, int, int]]) -> None:
        self.words = words
        self.pointers = pointers

    @classmethod
    def parse(cls, line: str) -> _Synset:
        fields = line.split(" | ", 1)[0].split()
        n_words = int(fields[3], 16)
        # An adjective may carry its place in brackets: "galore(ip)".
        words = [fields[4 + 2 * i].split("(")[0].lower() for i in range(n_words)]
        at = 4 + 2 * n_words
        pointers = []
        for i in range(int(fields[at])):
            symbol, offset, _, ends = fields[at + 1 + 4 * i : at + 5 + 4 * i]
            pointers.append((symbol, int(offset), int(ends[:2], 16), int(ends[2:], 16)))
        # All pointers that are followed here stay within their part of speech.
        return cls(words, pointers)


def _read_index(file: Folder) -> Iterator[tuple[str, tuple[int, tuple[int, ...]]]]:
    for line in file.read_text("utf-8").splitlines():
        if line[0] == " ":  # the licence
            continue
        fields = line.split()
        count = int(fields[2])
        yield fields[0], (int(fields[-count - 1]), tuple(int(offset) for offset in fields[-count:]))


def _read_exceptions(file: Folder) -> dict[str, list[str]]:
    if not file.is_file():
        return {}
    rows = (line.split() for line in file.read_text("utf-8").splitlines())
    return {row[0]: row[1:] for row in rows if len(row) > 1}
