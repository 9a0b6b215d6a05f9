"""Synonyms and antonyms from WordNet, read by NLTK."""

from __future__ import annotations

import functools
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

FOLDERS = ("/usr/share/wordnet", "/usr/local/share/wordnet", "/usr/share/wordnet-3.0/dict")
"""Where systems keep WordNet's database files; Debian's package wordnet-base takes the first."""

VARIABLE = "RIGHTREASONS_WORDNET"
"""The environment variable that names another folder."""


@runtime_checkable
class Thesaurus(Protocol):
    """What substitution tests ask of a dictionary."""

    def synonyms(self, word: str) -> list[str]:
        """Return single words of the same meaning, the likeliest first; [] where there are none."""
        ...

    def antonyms(self, word: str) -> list[str]:
        """Return single words of the opposite meaning, the likeliest first; [] where there are none."""
        ...


class WordNet:
    """WordNet as a thesaurus of single words.

    A word is looked up unchanged, or else by its base form ("liked": like). Senses come in WordNet's order, which is
    that of their frequency; the part of speech with the most senses that occur in its tagged texts comes first. The
    words returned are base forms: they are not inflected.

    Args:
        corpus: An NLTK reader, such as `nltk.corpus.wordnet`.

    References:
        Fellbaum (1998), "WordNet: An Electronic Lexical Database".
    """

    def __init__(self, corpus: Any) -> None:
        self._corpus = corpus

    def synonyms(self, word: str) -> list[str]:
        """Return single words that share a sense with a word; for adjectives then those of similar senses."""
        return self._related(word.lower(), self._same_sense)

    def antonyms(self, word: str) -> list[str]:
        """Return single words opposed to a word; for adjectives then those opposed to a similar one."""
        return self._related(word.lower(), self._opposed)

    def base_forms(self, word: str) -> list[tuple[str, str]]:
        """Return the (part of speech, base form) pairs of a word, the likeliest first."""
        forms = {part: self._corpus.morphy(word, part) for part in "avnr"}
        seen = {
            part: (form == word, sum(lemma.count() > 0 for lemma in self._corpus.lemmas(form, part)))
            for part, form in forms.items()
            if form is not None
        }
        return [(part, forms[part]) for part in sorted(seen, key=seen.__getitem__, reverse=True)]

    def _related(self, word: str, relation: Any) -> list[str]:
        own, related = {word}, dict[str, None]()
        for part, form in self.base_forms(word):
            own.add(form)
            names = (lemma.name().lower() for lemma in relation(part, form))
            related.update((name, None) for name in names if name not in own and "_" not in name)
        return list(related)

    def _same_sense(self, part: str, form: str) -> Iterator[Any]:
        for synset in (*self._senses(part, form), *self._similar(part, form)):
            yield from synset.lemmas()

    def _opposed(self, part: str, form: str) -> Iterator[Any]:
        similar = [lemma for synset in self._similar(part, form) for lemma in synset.lemmas()]
        for lemma in (*self._corpus.lemmas(form, part), *similar):
            yield from lemma.antonyms()

    def _senses(self, part: str, form: str) -> list[Any]:
        # The corpus's `synsets` would add those of a further base form: of "corp" to those of "corps".
        return [lemma.synset() for lemma in self._corpus.lemmas(form, part)]

    def _similar(self, part: str, form: str) -> list[Any]:
        # The corpus holds them as a set, whose order changes from process to process.
        senses = self._senses(part, form)
        return [near for sense in senses for near in sorted(sense.similar_tos(), key=lambda synset: synset.name())]


@functools.cache
def find_wordnet(folder: str | None = None) -> Thesaurus:
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
