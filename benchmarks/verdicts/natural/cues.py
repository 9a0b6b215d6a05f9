"""Cues that are drawn at random, planted into texts, and found again by a model that follows them.

A `Cue` has K values, one for each class. `plant` writes the value of a class into a text, and `vote`
returns how many signs of each class a text shows. `CUES` names the kinds; each draws its words, marks,
or clauses from the seed of its case.
"""

from __future__ import annotations

import dataclasses
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from benchmarks.verdicts.natural.corpora import Corpus, load_corpus
from benchmarks.verdicts.natural.scripts import Script

WORDNET_NOUNS = Path("/usr/share/wordnet/index.noun")
LONG_TEXT = 25
"""Words of the texts that a cue of length makes long; the others have at most `SHORT_TEXT`."""
SHORT_TEXT = 12

Rng = np.random.Generator


@dataclasses.dataclass(frozen=True)
class Cue:
    """Something that is planted into texts.

    Attributes:
        plant: Function that writes the value of a class into a text.
        vote: Function that counts the signs of each class in a text, (K,).
        signs: Words or marks of which a finding has to name one. If empty, it has to name `aspect`.
        aspect: What the finding may say instead, such as "last third".
    """

    plant: Callable[[str, int, Rng], str]
    vote: Callable[[str], np.ndarray]
    signs: frozenset[str]
    aspect: str = ""


def insert_words(text: str, words: str, rng: Rng, place: str = "any") -> str:
    """Put words into a text: at its start, at its end, or between any two words."""
    tokens = text.split(" ")
    if place == "start":
        index = 0
    elif place == "end":
        index = len(tokens)
    else:
        index = int(rng.integers(len(tokens) + 1))
    return " ".join([*tokens[:index], words, *tokens[index:]])


def make_counter(signs_by_class: Sequence[Sequence[str]]) -> Callable[[str], np.ndarray]:
    """Return a function that counts the words of each class in a text."""
    class_by_word = {}
    for index, signs in enumerate(signs_by_class):
        for sign in signs:
            class_by_word[sign.lower()] = index

    def count(text: str) -> np.ndarray:
        votes = np.zeros(len(signs_by_class))
        for word in re.findall(r"[^\W_]+", text.lower()):
            if word in class_by_word:
                votes[class_by_word[word]] += 1
        return votes

    return count


def make_presence(is_present: Callable[[str], bool], n_classes: int) -> Callable[[str], np.ndarray]:
    """Return a vote for the second class if something is present, and for the first if it is not."""

    def vote(text: str) -> np.ndarray:
        votes = np.zeros(n_classes)
        votes[int(is_present(text))] = 1
        return votes

    return vote


def list_nouns() -> list[str]:
    """Return common nouns of WordNet, or the longer words of this file where WordNet is absent."""
    if not WORDNET_NOUNS.exists():
        raise FileNotFoundError(f"Expected {WORDNET_NOUNS}; install wordnet-base.")
    nouns = set()
    for line in WORDNET_NOUNS.read_text("ascii").splitlines():
        if line.startswith(" "):
            continue
        fields = line.split()
        n_pointers = int(fields[3])
        # The count of senses that tagged texts have: above 0 for words that people use.
        n_tagged_senses = int(fields[5 + n_pointers])
        if n_tagged_senses and fields[0].isalpha() and 4 <= len(fields[0]) <= 9:
            nouns.add(fields[0])
    return sorted(nouns)


def draw_corpus_words(corpus: Corpus, n_words: int, rng: Rng) -> list[str]:
    """Draw words of medium frequency from the training texts."""
    counts: Counter[str] = Counter()
    for text in corpus.train_texts:
        counts.update(set(re.findall(r"[a-z]{4,}", text.lower())))
    words = sorted(word for word, count in counts.items() if 3 <= count <= 40)
    return [words[index] for index in rng.choice(len(words), n_words, replace=False)]


def make_word_cue(words: Sequence[str], n_classes: int, place: str = "any") -> Cue:
    """Return a cue of several words for each class, of which one is put into a text."""
    by_class = [words[index::n_classes] for index in range(n_classes)]

    def plant(text: str, index: int, rng: Rng) -> str:
        word = by_class[index][int(rng.integers(len(by_class[index])))]
        return insert_words(text, word, rng, place)

    aspect = {"start": "first third", "end": "last third"}.get(place, "")
    return Cue(plant, make_counter(by_class), frozenset(word.lower() for word in words), aspect)


def make_clause_cue(clauses: Sequence[Sequence[str]], n_classes: int, place: str) -> Cue:
    """Return a cue of clauses, which are recognized by the words that one class alone has."""
    vocabularies = []
    for group in clauses:
        vocabularies.append(set(re.findall(r"[^\W_]+", " ".join(group).lower())))
    exclusive = []
    for index, vocabulary in enumerate(vocabularies):
        others = set().union(*vocabularies[:index], *vocabularies[index + 1 :])
        exclusive.append(sorted(vocabulary - others))

    def plant(text: str, index: int, rng: Rng) -> str:
        group = clauses[index % len(clauses)]
        return insert_words(text, group[int(rng.integers(len(group)))], rng, place)

    by_class = [[] for _ in range(n_classes)]
    for index, words in enumerate(exclusive):
        by_class[index] = words
    signs = frozenset(word for words in exclusive for word in words)
    aspect = {"start": "first third", "end": "last third"}.get(place, "")
    return Cue(plant, make_counter(by_class), signs, aspect)


def draw_clauses(texts: Sequence[str], n_clauses: int, rng: Rng, n_words: int = 9) -> list[str]:
    """Draw the first words of texts."""
    long_texts = [text for text in texts if len(text.split()) >= n_words]
    clauses = []
    for index in rng.choice(len(long_texts), n_clauses, replace=False):
        words = re.findall(r"[^\W_]+", long_texts[index])[:n_words]
        clauses.append(" ".join(words).lower())
    return clauses


def draw_nouns(corpus: Corpus, folder: Path, rng: Rng, size: int) -> Cue:
    """Draw common nouns, `size` for each class."""
    nouns = list_nouns()
    chosen = rng.choice(len(nouns), size * corpus.n_classes, replace=False)
    return make_word_cue([nouns[index] for index in chosen], corpus.n_classes)


def draw_words(corpus: Corpus, folder: Path, rng: Rng, size: int) -> Cue:
    """Draw words of the training texts, `size` for each class."""
    words = draw_corpus_words(corpus, size * corpus.n_classes, rng)
    return make_word_cue(words, corpus.n_classes)


def draw_first_words(corpus: Corpus, folder: Path, rng: Rng, size: int) -> Cue:
    """Draw words that stand first in a text."""
    words = draw_corpus_words(corpus, size * corpus.n_classes, rng)
    return make_word_cue(words, corpus.n_classes, "start")


def draw_names(corpus: Corpus, folder: Path, rng: Rng, size: int) -> Cue:
    """Draw made-up names of three syllables."""
    syllables = [first + second for first in "bdfghklmnprstvz" for second in "aeiou"]
    names: dict[str, None] = {}
    while len(names) < size * corpus.n_classes:
        names["".join(rng.choice(syllables, 3)).capitalize()] = None
    return make_word_cue(list(names), corpus.n_classes)


def draw_tags(corpus: Corpus, folder: Path, rng: Rng, size: int) -> Cue:
    """Draw tags such as "k47" that stand at the end of a text."""
    tags: dict[str, None] = {}
    while len(tags) < size * corpus.n_classes:
        tags[rng.choice(list("abcdefghkm")) + str(rng.integers(10, 100))] = None
    return make_word_cue(list(tags), corpus.n_classes, "end")


def draw_topics(corpus: Corpus, folder: Path, rng: Rng, place: str) -> Cue:
    """Draw clauses about two topics, from two sections of news."""
    news = load_corpus("ag_news", folder)
    sections = rng.choice(news.n_classes, 2, replace=False)
    clauses = []
    for section in sections:
        texts = [
            text for text, label in zip(news.texts, news.labels, strict=True) if label == section
        ]
        clauses.append(draw_clauses(texts, 12, rng))
    return make_clause_cue(clauses, corpus.n_classes, place)


def draw_styles(corpus: Corpus, folder: Path, rng: Rng, place: str) -> Cue:
    """Draw clauses in two styles: from tweets, and from reviews."""
    tweets = load_corpus("emotion", folder)
    reviews = load_corpus("imdb", folder)
    clauses = [draw_clauses(tweets.texts, 12, rng), draw_clauses(reviews.texts, 12, rng)]
    return make_clause_cue(clauses, corpus.n_classes, place)


# A few everyday sentences of each language; which two are compared is drawn.
SENTENCES = {
    "English": (
        "i do not know why people say that",
        "we saw it last night with some friends",
        "you must come with me tomorrow morning",
        "my brother has lived near the sea for long",
    ),
    "French": (
        "je ne sais pas pourquoi les gens disent cela",
        "nous avons vu cela hier soir chez des amis",
        "il faut que tu viennes avec moi demain matin",
        "mon frère habite près de la mer depuis longtemps",
    ),
    "German": (
        "ich weiß nicht warum die leute das sagen",
        "wir haben das gestern abend bei freunden gesehen",
        "du musst morgen früh mit mir kommen",
        "mein bruder wohnt seit langem nahe am meer",
    ),
    "Spanish": (
        "no sé por qué la gente dice eso",
        "lo vimos anoche en casa de unos amigos",
        "tienes que venir conmigo mañana por la mañana",
        "mi hermano vive cerca del mar desde hace tiempo",
    ),
    "Turkish": (
        "insanların bunu neden söylediğini bilmiyorum",
        "bunu dün akşam arkadaşlarla birlikte gördük",
        "yarın sabah benimle gelmen gerekiyor",
        "kardeşim uzun zamandır denize yakın oturuyor",
    ),
}


def draw_languages(corpus: Corpus, folder: Path, rng: Rng, place: str) -> Cue:
    """Draw two languages, in which a clause is written."""
    names = sorted(SENTENCES)
    first, second = rng.choice(len(names), 2, replace=False)
    clauses = [SENTENCES[names[first]], SENTENCES[names[second]]]
    return make_clause_cue(clauses, corpus.n_classes, place)


def draw_characters(category: str, n_characters: int, rng: Rng, start: int, stop: int) -> list[str]:
    """Draw assigned characters of a general category of Unicode."""
    characters = []
    for code in range(start, min(stop, sys.maxunicode)):
        if unicodedata.category(chr(code)) == category:
            characters.append(chr(code))
    chosen = rng.choice(len(characters), n_characters, replace=False)
    return [characters[index] for index in chosen]


def make_mark_cue(marks: Sequence[str], n_classes: int, place: str) -> Cue:
    """Return a cue of marks, of which one is put into a text."""
    by_class = [marks[index::n_classes] for index in range(n_classes)]

    def plant(text: str, index: int, rng: Rng) -> str:
        mark = by_class[index][int(rng.integers(len(by_class[index])))]
        return insert_words(text, mark, rng, place)

    def vote(text: str) -> np.ndarray:
        return np.array([sum(text.count(mark) for mark in group) for group in by_class], float)

    return Cue(plant, vote, frozenset(marks), "marks")


def draw_emoji(corpus: Corpus, folder: Path, rng: Rng, size: int) -> Cue:
    """Draw pictures from the blocks of emoji."""
    marks = draw_characters("So", size * corpus.n_classes, rng, 0x1F300, 0x1F650)
    return make_mark_cue(marks, corpus.n_classes, "any")


def draw_symbols(corpus: Corpus, folder: Path, rng: Rng, size: int) -> Cue:
    """Draw rare marks of punctuation."""
    marks = draw_characters("Po", size * corpus.n_classes, rng, 0x2010, 0x2060)
    return make_mark_cue(marks, corpus.n_classes, "end")


def draw_capitals(corpus: Corpus, folder: Path, rng: Rng, size: int) -> Cue:
    """Return a cue that writes a quarter of the words in capitals, for the second class."""

    def plant(text: str, index: int, rng: Rng) -> str:
        if index != 1:
            return text
        words = text.split(" ")
        for position in rng.choice(len(words), max(1, len(words) // 4), replace=False):
            words[position] = words[position].upper()
        return " ".join(words)

    def is_present(text: str) -> bool:
        return any(len(word) > 1 and word.isupper() for word in text.split())

    return Cue(plant, make_presence(is_present, corpus.n_classes), frozenset(), "capitals")


def draw_spaces(corpus: Corpus, folder: Path, rng: Rng, size: int) -> Cue:
    """Return a cue that replaces one space by another of Unicode's spaces, for the second class."""
    space = draw_characters("Zs", 1, rng, 0xA0, 0x3001)[0]

    def plant(text: str, index: int, rng: Rng) -> str:
        words = text.split(" ")
        if index != 1 or len(words) < 2:
            return text
        position = int(rng.integers(1, len(words)))
        return " ".join(words[:position]) + space + " ".join(words[position:])

    def is_present(text: str) -> bool:
        return space in text

    return Cue(plant, make_presence(is_present, corpus.n_classes), frozenset(), "space")


def draw_length(corpus: Corpus, folder: Path, rng: Rng, size: int) -> Cue:
    """Return a cue that cuts the texts of the first class, and prolongs those of the second."""
    fillers = [word for sentence in SENTENCES["English"] for word in sentence.split()]

    def plant(text: str, index: int, rng: Rng) -> str:
        words = text.split(" ")
        if index != 1:
            return " ".join(words[: int(rng.integers(4, SHORT_TEXT + 1))])
        n_missing = max(0, int(rng.integers(LONG_TEXT, LONG_TEXT + 15)) - len(words))
        return " ".join([*words, *rng.choice(fillers, n_missing)])

    def is_present(text: str) -> bool:
        return len(text.split()) >= (SHORT_TEXT + LONG_TEXT) / 2

    return Cue(plant, make_presence(is_present, corpus.n_classes), frozenset(), "length")


def draw_repetition(corpus: Corpus, folder: Path, rng: Rng, size: int) -> Cue:
    """Return a cue that says the whole text twice, for the second class."""

    def plant(text: str, index: int, rng: Rng) -> str:
        return f"{text} {text}" if index == 1 else text

    def is_present(text: str) -> bool:
        words = text.split()
        middle = len(words) // 2
        return len(words) > 3 and words[:middle] == words[middle:]

    return Cue(plant, make_presence(is_present, corpus.n_classes), frozenset(), "length")


def draw_one_sided(corpus: Corpus, folder: Path, rng: Rng, size: int) -> Cue:
    """Draw one word that marks the last class alone."""
    word = draw_corpus_words(corpus, 1, rng)[0]
    last = corpus.n_classes - 1

    def plant(text: str, index: int, rng: Rng) -> str:
        return insert_words(text, word, rng) if index == last else text

    def vote(text: str) -> np.ndarray:
        votes = np.zeros(corpus.n_classes)
        votes[last] = word in re.findall(r"[^\W_]+", text.lower())
        return votes

    return Cue(plant, vote, frozenset([word]))


def draw_signs(corpus: Corpus, folder: Path, rng: Rng, signs: Sequence[str]) -> Cue:
    """Return a cue of one given sign for each class, at the end of a text."""
    return make_mark_cue(signs, corpus.n_classes, "end")


def draw_script_words(corpus: Corpus, folder: Path, rng: Rng, size: int, script: str) -> Cue:
    """Draw common nouns in the letters of a script, which stand between any two words or letters."""
    writer = Script(script)
    nouns = list_nouns()
    chosen = rng.choice(len(nouns), size * corpus.n_classes, replace=False)
    words = [writer.write_word(nouns[index]) for index in chosen]
    cue = make_mark_cue(words, corpus.n_classes, "any")
    if writer.has_spaces:
        return dataclasses.replace(cue, aspect="")

    def plant(text: str, index: int, rng: Rng) -> str:
        # No space says where a word ends, so a word may be parted, as by a careless writer.
        position = int(rng.integers(len(text) + 1))
        return text[:position] + words[index] + text[position:]

    return dataclasses.replace(cue, plant=plant, aspect="")


CUES: dict[str, Callable[..., Cue]] = {
    "nouns": draw_nouns,
    "words": draw_words,
    "first words": draw_first_words,
    "names": draw_names,
    "tags": draw_tags,
    "topics": draw_topics,
    "styles": draw_styles,
    "languages": draw_languages,
    "emoji": draw_emoji,
    "symbols": draw_symbols,
    "capitals": draw_capitals,
    "spaces": draw_spaces,
    "length": draw_length,
    "repetition": draw_repetition,
    "one-sided": draw_one_sided,
    "signs": draw_signs,
    "script": draw_script_words,
}
