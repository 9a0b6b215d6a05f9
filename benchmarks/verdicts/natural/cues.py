"""Cues that are drawn at random, planted into texts, and recognized by a model that follows them.

A `Cue` has K values, one for each class. `plant` writes the value of a class into a text, and `vote`
counts the signs of each class in a text. `CUES` lists the functions that draw the words, marks, or
clauses of a cue from the seed of its case.
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
from benchmarks.verdicts.texts import Element, draw_element

WORDNET_NOUNS = Path("/usr/share/wordnet/index.noun")

LONG_TEXT = 25
"""Minimum number of words of the texts that a cue of length makes long."""

SHORT_TEXT = 12
"""Maximum number of words of the texts that a cue of length makes short."""

WORD = re.compile(r"[^\W_]+")

ASPECTS = {"start": "first third", "end": "last third", "any": ""}
"""Position of a planted word -> the part of a text that a finding may name instead of the word."""

Rng = np.random.Generator
Vote = Callable[[str], np.ndarray]
"""Function from a text to the (K,) number of signs of each class."""


@dataclasses.dataclass(frozen=True)
class Cue:
    """Something that is planted into texts.

    Attributes:
        plant: Function from a text, a class, and a generator to the text with the cue of that class.
        vote: Function from a text to the (K,) number of signs of each class.
        signs: Words or marks of which a finding has to name one. If empty, it has to name `aspect`.
        aspect: What the finding may say instead, such as "last third".
    """

    plant: Callable[[str, int, Rng], str]
    vote: Vote
    signs: frozenset[str]
    aspect: str = ""


def sample_elements(rng: Rng, elements: Sequence[Element], n_elements: int) -> list[Element]:
    """Draw distinct elements of a sequence."""
    indices = rng.choice(len(elements), n_elements, replace=False)
    return [elements[index] for index in indices]


def split_by_class(elements: Sequence[str], n_classes: int) -> list[Sequence[str]]:
    """Deal elements out to the classes in turn, so that each class has as many."""
    return [elements[index::n_classes] for index in range(n_classes)]


def insert_words(text: str, words: str, rng: Rng, position: str = "any") -> str:
    """Insert words into a text.

    Args:
        text: Text to change.
        words: One or several words.
        rng: Source of the random position.
        position: "start", "end", or "any" for a random position.
    """
    tokens = text.split(" ")
    if position == "start":
        index = 0
    elif position == "end":
        index = len(tokens)
    else:
        index = int(rng.integers(len(tokens) + 1))
    return " ".join([*tokens[:index], words, *tokens[index:]])


def make_word_vote(words_by_class: Sequence[Sequence[str]]) -> Vote:
    """Return a function that counts the words of each class in a text, whatever their case.

    Args:
        words_by_class: (K,) words of each class.
    """
    class_by_word = {}
    for index, words in enumerate(words_by_class):
        for word in words:
            class_by_word[word.lower()] = index

    def vote(text: str) -> np.ndarray:
        votes = np.zeros(len(words_by_class))
        for word in WORD.findall(text.lower()):
            if word in class_by_word:
                votes[class_by_word[word]] += 1
        return votes

    return vote


def make_presence_vote(is_present: Callable[[str], bool], n_classes: int) -> Vote:
    """Return a function that votes for the second class if a cue is present, and else for the first.

    Args:
        is_present: Function that returns whether a text has the cue.
        n_classes: Number of classes, K.
    """

    def vote(text: str) -> np.ndarray:
        votes = np.zeros(n_classes)
        votes[int(is_present(text))] = 1
        return votes

    return vote


def list_nouns() -> list[str]:
    """Return the nouns of WordNet with 4 to 9 letters that occur in its tagged texts.

    Raises:
        FileNotFoundError: If WordNet is not installed.
    """
    if not WORDNET_NOUNS.exists():
        raise FileNotFoundError(f"Expected {WORDNET_NOUNS}; install wordnet-base.")
    nouns = set()
    for line in WORDNET_NOUNS.read_text("ascii").splitlines():
        # The license at the top of the file is indented.
        if line.startswith(" "):
            continue
        # Fields: lemma, part of speech, number of synsets, number p of pointers, p pointers,
        # number of senses, number of senses in tagged texts, and offsets.
        fields = line.split()
        lemma = fields[0]
        n_pointers = int(fields[3])
        n_tagged_senses = int(fields[5 + n_pointers])
        # Rare nouns have no sense in the tagged texts.
        if n_tagged_senses and lemma.isalpha() and 4 <= len(lemma) <= 9:
            nouns.add(lemma)
    return sorted(nouns)


def draw_corpus_words(corpus: Corpus, n_words: int, rng: Rng) -> list[str]:
    """Draw words that occur in 3 to 40 training texts, so that they are neither rare nor frequent."""
    counts: Counter[str] = Counter()
    for text in corpus.train_texts:
        # A word counts once per text.
        counts.update(set(re.findall(r"[a-z]{4,}", text.lower())))
    # A fixed order, so that the draw depends on the seed alone.
    words = sorted(word for word, count in counts.items() if 3 <= count <= 40)
    return sample_elements(rng, words, n_words)


def make_word_cue(words: Sequence[str], n_classes: int, position: str = "any") -> Cue:
    """Return a cue that inserts one of the words of a class.

    Args:
        words: Words of all classes, dealt out in turn: with two classes, every second word belongs
            to the first.
        n_classes: Number of classes.
        position: "start", "end" or "any".
    """
    words_by_class = split_by_class(words, n_classes)

    def plant(text: str, index: int, rng: Rng) -> str:
        return insert_words(text, draw_element(rng, words_by_class[index]), rng, position)

    signs = frozenset(word.lower() for word in words)
    return Cue(plant, make_word_vote(words_by_class), signs, ASPECTS[position])


def make_clause_cue(clauses: Sequence[Sequence[str]], n_classes: int, position: str) -> Cue:
    """Return a cue that inserts a clause of a group, such as one topic or language.

    A clause is recognized by words that no other group has.

    Args:
        clauses: Clauses of each group. With more classes than groups, classes share them, and the
            votes are for the first of them.
        n_classes: Number of classes.
        position: "start", "end" or "any".
    """
    vocabularies = [set(WORD.findall(" ".join(group).lower())) for group in clauses]
    words_by_class: list[list[str]] = [[] for _ in range(n_classes)]
    signs: set[str] = set()
    for index, vocabulary in enumerate(vocabularies):
        exclusive_words = vocabulary.difference(*vocabularies[:index], *vocabularies[index + 1 :])
        words_by_class[index] = sorted(exclusive_words)
        signs |= exclusive_words

    def plant(text: str, index: int, rng: Rng) -> str:
        clause = draw_element(rng, clauses[index % len(clauses)])
        return insert_words(text, clause, rng, position)

    return Cue(plant, make_word_vote(words_by_class), frozenset(signs), ASPECTS[position])


def draw_clauses(texts: Sequence[str], n_clauses: int, rng: Rng, n_words: int = 9) -> list[str]:
    """Draw texts, and return the first words of each in lower case, without marks."""
    long_texts = [text for text in texts if len(text.split()) >= n_words]
    clauses = []
    for text in sample_elements(rng, long_texts, n_clauses):
        words = WORD.findall(text)[:n_words]
        clauses.append(" ".join(words).lower())
    return clauses


def draw_nouns(corpus: Corpus, folder: Path, rng: Rng, size: int) -> Cue:
    """Draw common nouns, `size` for each class."""
    nouns = sample_elements(rng, list_nouns(), size * corpus.n_classes)
    return make_word_cue(nouns, corpus.n_classes)


def draw_words(corpus: Corpus, folder: Path, rng: Rng, size: int) -> Cue:
    """Draw words of the training texts, `size` for each class."""
    words = draw_corpus_words(corpus, size * corpus.n_classes, rng)
    return make_word_cue(words, corpus.n_classes)


def draw_first_words(corpus: Corpus, folder: Path, rng: Rng, size: int) -> Cue:
    """Draw words of the training texts that are inserted at the start of a text."""
    words = draw_corpus_words(corpus, size * corpus.n_classes, rng)
    return make_word_cue(words, corpus.n_classes, "start")


def draw_names(corpus: Corpus, folder: Path, rng: Rng, size: int) -> Cue:
    """Draw invented names of three syllables such as "Bafime", `size` for each class."""
    syllables = []
    for consonant in "bdfghklmnprstvz":
        for vowel in "aeiou":
            syllables.append(consonant + vowel)
    # A dictionary drops repeated names, and keeps their order.
    names: dict[str, None] = {}
    while len(names) < size * corpus.n_classes:
        name = "".join(rng.choice(syllables, 3)).capitalize()
        names[name] = None
    return make_word_cue(list(names), corpus.n_classes)


def draw_tags(corpus: Corpus, folder: Path, rng: Rng, size: int) -> Cue:
    """Draw tags such as "k47" for the end of a text, `size` for each class."""
    # A dictionary drops repeated tags, and keeps their order.
    tags: dict[str, None] = {}
    while len(tags) < size * corpus.n_classes:
        letter = rng.choice(list("abcdefghkm"))
        tags[f"{letter}{rng.integers(10, 100)}"] = None
    return make_word_cue(list(tags), corpus.n_classes, "end")


def draw_topics(corpus: Corpus, folder: Path, rng: Rng, position: str) -> Cue:
    """Draw clauses about two topics, from two sections of AG News.

    Args:
        corpus: Data set of the case.
        folder: Folder of all data sets, with AG News.
        rng: Source of the draws.
        position: "start", "end" or "any".
    """
    news = load_corpus("ag_news", folder)
    clauses = []
    for section in rng.choice(news.n_classes, 2, replace=False):
        texts = []
        for text, label in zip(news.texts, news.labels, strict=True):
            if label == section:
                texts.append(text)
        clauses.append(draw_clauses(texts, 12, rng))
    return make_clause_cue(clauses, corpus.n_classes, position)


def draw_styles(corpus: Corpus, folder: Path, rng: Rng, position: str) -> Cue:
    """Draw clauses in two styles, from tweets and from reviews.

    Args:
        corpus: Data set of the case.
        folder: Folder of all data sets, with TweetEval and IMDb.
        rng: Source of the draws.
        position: "start", "end" or "any".
    """
    tweets = load_corpus("emotion", folder)
    reviews = load_corpus("imdb", folder)
    clauses = [draw_clauses(tweets.texts, 12, rng), draw_clauses(reviews.texts, 12, rng)]
    return make_clause_cue(clauses, corpus.n_classes, position)


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
"""Language -> a few everyday sentences."""


def draw_languages(corpus: Corpus, folder: Path, rng: Rng, position: str) -> Cue:
    """Draw two languages, in which a clause is written."""
    languages = sample_elements(rng, sorted(SENTENCES), 2)
    clauses = [SENTENCES[language] for language in languages]
    return make_clause_cue(clauses, corpus.n_classes, position)


def draw_characters(category: str, n_characters: int, rng: Rng, start: int, stop: int) -> list[str]:
    """Draw distinct characters of a general category of Unicode, such as "Po".

    Args:
        category: Two letters of the category.
        n_characters: Number of characters to draw.
        rng: Source of the draws.
        start: First code point of the range to draw from.
        stop: End of the range, which is not part of it.
    """
    characters = []
    for code in range(start, min(stop, sys.maxunicode)):
        if unicodedata.category(chr(code)) == category:
            characters.append(chr(code))
    return sample_elements(rng, characters, n_characters)


def make_mark_cue(marks: Sequence[str], n_classes: int, position: str) -> Cue:
    """Return a cue that inserts one of the marks of a class.

    Unlike words, marks are recognized next to letters, too.

    Args:
        marks: Marks of all classes, dealt out in turn: with two classes, every second mark belongs
            to the first.
        n_classes: Number of classes.
        position: "start", "end" or "any".
    """
    marks_by_class = split_by_class(marks, n_classes)

    def plant(text: str, index: int, rng: Rng) -> str:
        return insert_words(text, draw_element(rng, marks_by_class[index]), rng, position)

    def vote(text: str) -> np.ndarray:
        votes = np.zeros(n_classes)
        for index, marks_of_class in enumerate(marks_by_class):
            votes[index] = sum(text.count(mark) for mark in marks_of_class)
        return votes

    return Cue(plant, vote, frozenset(marks), "marks")


def draw_emoji(corpus: Corpus, folder: Path, rng: Rng, size: int) -> Cue:
    """Draw pictures from the Unicode blocks of emoji, `size` for each class."""
    marks = draw_characters("So", size * corpus.n_classes, rng, start=0x1F300, stop=0x1F650)
    return make_mark_cue(marks, corpus.n_classes, "any")


def draw_symbols(corpus: Corpus, folder: Path, rng: Rng, size: int) -> Cue:
    """Draw rare punctuation marks for the end of a text, `size` for each class."""
    marks = draw_characters("Po", size * corpus.n_classes, rng, start=0x2010, stop=0x2060)
    return make_mark_cue(marks, corpus.n_classes, "end")


def draw_capitals(corpus: Corpus, folder: Path, rng: Rng, size: int) -> Cue:
    """Return a cue that writes a quarter of the words in capitals for the second class."""

    def plant(text: str, index: int, rng: Rng) -> str:
        if index != 1:
            return text
        words = text.split(" ")
        n_changed = max(1, len(words) // 4)
        for position in rng.choice(len(words), n_changed, replace=False):
            words[position] = words[position].upper()
        return " ".join(words)

    def is_present(text: str) -> bool:
        # A single capital letter may be the pronoun "I" or an initial.
        return any(len(word) > 1 and word.isupper() for word in text.split())

    return Cue(plant, make_presence_vote(is_present, corpus.n_classes), frozenset(), "capitals")


def draw_spaces(corpus: Corpus, folder: Path, rng: Rng, size: int) -> Cue:
    """Return a cue that replaces one space by another space of Unicode for the second class."""
    # No-break space and typographic spaces, up to the ideographic one.
    space = draw_characters("Zs", 1, rng, start=0xA0, stop=0x3001)[0]

    def plant(text: str, index: int, rng: Rng) -> str:
        words = text.split(" ")
        if index != 1 or len(words) < 2:
            return text
        position = int(rng.integers(1, len(words)))
        return " ".join(words[:position]) + space + " ".join(words[position:])

    def is_present(text: str) -> bool:
        return space in text

    return Cue(plant, make_presence_vote(is_present, corpus.n_classes), frozenset(), "space")


def draw_length(corpus: Corpus, folder: Path, rng: Rng, size: int) -> Cue:
    """Return a cue that extends the texts of the second class, and truncates all others."""
    fillers = " ".join(SENTENCES["English"]).split()

    def plant(text: str, index: int, rng: Rng) -> str:
        words = text.split(" ")
        if index != 1:
            n_words = int(rng.integers(4, SHORT_TEXT + 1))
            return " ".join(words[:n_words])
        n_words = int(rng.integers(LONG_TEXT, LONG_TEXT + 15))
        n_missing = max(0, n_words - len(words))
        return " ".join([*words, *rng.choice(fillers, n_missing)])

    def is_present(text: str) -> bool:
        return len(text.split()) >= (SHORT_TEXT + LONG_TEXT) / 2

    return Cue(plant, make_presence_vote(is_present, corpus.n_classes), frozenset(), "length")


def draw_repetition(corpus: Corpus, folder: Path, rng: Rng, size: int) -> Cue:
    """Return a cue that repeats the whole text for the second class."""

    def plant(text: str, index: int, rng: Rng) -> str:
        return f"{text} {text}" if index == 1 else text

    def is_present(text: str) -> bool:
        words = text.split()
        middle = len(words) // 2
        # One word that occurs twice is not a repeated text.
        return len(words) > 3 and words[:middle] == words[middle:]

    # A finding cannot name a repetition, but that longer texts are predicted differently.
    return Cue(plant, make_presence_vote(is_present, corpus.n_classes), frozenset(), "length")


def draw_one_sided(corpus: Corpus, folder: Path, rng: Rng, size: int) -> Cue:
    """Draw one word, which is only in the texts of the last class."""
    word = draw_corpus_words(corpus, 1, rng)[0]
    last_class = corpus.n_classes - 1

    def plant(text: str, index: int, rng: Rng) -> str:
        return insert_words(text, word, rng) if index == last_class else text

    def vote(text: str) -> np.ndarray:
        votes = np.zeros(corpus.n_classes)
        votes[last_class] = word in WORD.findall(text.lower())
        return votes

    return Cue(plant, vote, frozenset([word]))


def draw_signs(corpus: Corpus, folder: Path, rng: Rng, signs: Sequence[str]) -> Cue:
    """Return a cue of one given sign for each class, such as ":(" and ":)", at the end of a text."""
    return make_mark_cue(signs, corpus.n_classes, "end")


def draw_script_words(corpus: Corpus, folder: Path, rng: Rng, size: int, script: str) -> Cue:
    """Draw common nouns, and write them in the letters of a script.

    Args:
        corpus: Data set of the case, in the same script.
        folder: Ignored, because the nouns are those of WordNet.
        rng: Source of the draws.
        size: Number of nouns for each class. Scripts without spaces use the first only.
        script: Key in `scripts.ALPHABETS`.
    """
    writer = Script(script)
    nouns = sample_elements(rng, list_nouns(), size * corpus.n_classes)
    words = [writer.write_word(noun) for noun in nouns]
    cue = make_mark_cue(words, corpus.n_classes, "any")
    if writer.has_spaces:
        return dataclasses.replace(cue, aspect="")

    def plant(text: str, index: int, rng: Rng) -> str:
        # Without spaces, word boundaries are unknown, so the word may be inserted within another one.
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
"""Kind of cue -> function that draws it.

Arguments are the data set of the case, the folder of all data sets, the source of randomness, and the
options of the case as keywords. A kind that draws nothing, such as "capitals", ignores `size`.
"""
