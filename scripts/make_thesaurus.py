"""Write the table of synonyms, similar words and antonyms that the package ships, from WordNet.

    python scripts/make_thesaurus.py FOLDER      # FOLDER holds data.adj, …, index.sense of WordNet 3.0

The table has the words that WordNet's tagged texts contain, with replacements that they contain too.
A replacement has to fit in the place of the word, so both are single words in their base form.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
TABLE = HERE / "src" / "rightreasons" / "datasets" / "perturbing" / "thesaurus.tsv"

FILES = {"n": "data.noun", "v": "data.verb", "a": "data.adj", "r": "data.adv"}

MAX_WORDS = 6
"""Maximum number of replacements of each kind; substitutions draw from the first three."""

SIMILAR, ANTONYM = "&", "!"


@dataclasses.dataclass
class Synset:
    """A sense with its words.

    Attributes:
        part: Part of speech: n, v, a or r.
        is_satellite: Whether it is an adjective that has its opposite by a similar one.
        words: Its words, in lower case.
        similar: Keys of similar senses.
        antonyms: (number of a word here, key of the opposed sense, number of the word there), from 1.
    """

    part: str
    is_satellite: bool
    words: list[str]
    similar: list[tuple[str, str]]
    antonyms: list[tuple[int, tuple[str, str], int]]


class WordNet:
    """WordNet's senses, and how often its tagged texts have a word in each.

    Attributes:
        synsets: (part of speech, offset) -> the sense.
        senses: Word -> (tag count, key) of its senses, the most frequent one first.
    """

    def __init__(self, folder: Path) -> None:
        self.synsets: dict[tuple[str, str], Synset] = {}
        for part, name in FILES.items():
            for line in (folder / name).read_text("utf-8").splitlines():
                if not line.startswith(" "):
                    self.synsets[part, line[:8]] = _parse_synset(line, part)

        senses = collections.defaultdict(list)
        parts = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
        for line in (folder / "index.sense").read_text("utf-8").splitlines():
            sense, offset, number, count = line.split()
            word, _, rest = sense.partition("%")
            # Of equally frequent senses WordNet's own order decides.
            senses[word].append((-int(count), int(number), (parts[rest[0]], offset)))
        self.senses = {
            word: [(-count, key) for count, _, key in sorted(rows)] for word, rows in senses.items()
        }

    def count(self, word: str, key: tuple[str, str]) -> int:
        """Return how often the tagged texts have a word in a sense."""
        for count, other in self.senses.get(word, []):
            if other == key:
                return count
        return 0

    def find_synonyms(self, word: str) -> list[str]:
        """Return the other words of the most frequent sense."""
        _, key = self.senses[word][0]
        return self._select(word, [(other, key) for other in self.synsets[key].words])

    def find_similar(self, word: str) -> list[str]:
        """Return the words of the adjectives that are similar to the most frequent sense."""
        _, key = self.senses[word][0]
        near = list(self.synsets[key].similar)
        if self.synsets[key].is_satellite:
            # A satellite is similar to its head alone; the head's other satellites are near it, too.
            near += [other for head in near for other in self.synsets[head].similar]
        pairs = [(other, place) for place in near for other in self.synsets[place].words]
        return self._select(word, [pair for pair in pairs if pair[1] != key])

    def find_antonyms(self, word: str) -> list[str]:
        """Return the opposed words; those of the similar senses follow."""
        direct: list[tuple[str, tuple[str, str]]] = []
        indirect: list[tuple[str, tuple[str, str]]] = []
        part = self.senses[word][0][1][0]
        for _, key in self.senses[word]:
            if key[0] != part:
                continue
            direct += self._opposed(key, word)
            for near in self.synsets[key].similar:
                indirect += self._opposed(near, None)
        first = self._select(word, direct)
        second = self._select(word, indirect)
        return list(dict.fromkeys(first + second))[:MAX_WORDS]

    def _opposed(self, key: tuple[str, str], word: str | None) -> list[tuple[str, tuple[str, str]]]:
        synset = self.synsets[key]
        pairs = []
        for number, other, place in synset.antonyms:
            if word is None or synset.words[number - 1] == word:
                pairs.append((self.synsets[other].words[place - 1], other))
        return pairs

    def _select(self, word: str, pairs: list[tuple[str, tuple[str, str]]]) -> list[str]:
        """Return single words that are tagged in their sense, the most frequent ones first."""
        counts: dict[str, int] = {}
        for other, key in pairs:
            count = self.count(other, key)
            if count and other != word and other.isalpha():
                counts[other] = max(count, counts.get(other, 0))
        return sorted(counts, key=lambda other: (-counts[other], other))[:MAX_WORDS]


def _parse_synset(line: str, part: str) -> Synset:
    fields = line.split(" | ")[0].split()
    n_words = int(fields[3], 16)
    words = [fields[4 + 2 * number].lower() for number in range(n_words)]
    start = 4 + 2 * n_words
    synset = Synset(part, fields[2] == "s", [word.split("(")[0] for word in words], [], [])
    for number in range(int(fields[start])):
        symbol, offset, other, places = fields[start + 1 + 4 * number : start + 5 + 4 * number]
        if symbol == SIMILAR:
            synset.similar.append((other.replace("s", "a"), offset))
        if symbol == ANTONYM:
            source, target = int(places[:2], 16), int(places[2:], 16)
            synset.antonyms.append((source, (other.replace("s", "a"), offset), target))
    return synset


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="Folder of WordNet's database files.")
    wordnet = WordNet(parser.parse_args().folder)
    lines = []
    for word in sorted(wordnet.senses):
        is_tagged = wordnet.senses[word][0][0] > 0
        if not word.isalpha() or not is_tagged:
            continue
        synonyms = wordnet.find_synonyms(word)
        similar = [other for other in wordnet.find_similar(word) if other not in synonyms]
        antonyms = wordnet.find_antonyms(word)
        if synonyms or similar or antonyms:
            columns = (word, " ".join(synonyms), " ".join(similar), " ".join(antonyms))
            lines.append("\t".join(columns))
    TABLE.write_text("\n".join(["word\tsynonyms\tsimilar\tantonyms", *lines, ""]), "utf-8")
    print(f"{len(lines):,} words in {TABLE.name}")


if __name__ == "__main__":
    main()
