"""Real data sets of texts with labels: SST-2, AG News, TREC, TweetEval, QQP, and IMDb reviews.

`load_corpus` reads one from a folder of local copies (`RIGHTREASONS_DATA_DIR`).
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import json
from pathlib import Path

from benchmarks.verdicts.natural.scripts import Script

MAX_REVIEW_CHARACTERS = 1_000
"""Reviews are cut to their first sentences, so that a case ends in seconds."""


@dataclasses.dataclass(frozen=True, eq=False)
class Corpus:
    """Texts with their labels.

    Attributes:
        name: Short name.
        label_names: (K,) names of the classes.
        train_texts: (M,) training texts.
        train_labels: (M,) class of each training text.
        texts: (N,) texts for audits.
        labels: (N,) class of each of them.
    """

    name: str
    label_names: tuple[str, ...]
    train_texts: list[str]
    train_labels: list[int]
    texts: list[str]
    labels: list[int]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.label_names)


def read_sst2(folder: Path) -> Corpus:
    """Read sentences of movie reviews, negative or positive."""

    def read(*names: str) -> tuple[list[str], list[int]]:
        texts = []
        labels = []
        for name in names:
            for line in (folder / "sst2" / name).read_text("utf-8").splitlines():
                text, label = line.split("\t")
                texts.append(text)
                labels.append(int(label))
        return texts, labels

    train = read("train.tsv")
    test = read("dev.tsv", "test.tsv")
    return Corpus("SST-2", ("negative", "positive"), *train, *test)


def read_ag_news(folder: Path) -> Corpus:
    """Read news of four sections."""
    names = ("World", "Sports", "Business", "Sci/Tech")
    train_texts = []
    train_labels = []
    for line in (folder / "ag_news" / "alps_train.tsv").read_text("utf-8").splitlines():
        text, _, name = line.partition("\t")
        if name in names:
            train_texts.append(text)
            train_labels.append(names.index(name))
    texts = []
    labels = []
    with (folder / "ag_news" / "test.csv").open(encoding="utf-8", newline="") as file:
        for number, title, description in csv.reader(file):
            texts.append(f"{title}. {description}")
            labels.append(int(number) - 1)
    return Corpus("AG News", names, train_texts, train_labels, texts, labels)


def read_trec(folder: Path) -> Corpus:
    """Read questions by the kind of their answer."""
    names = ("ABBR", "ENTY", "DESC", "HUM", "LOC", "NUM")

    def read(name: str) -> tuple[list[str], list[int]]:
        texts = []
        labels = []
        for line in (folder / "trec" / name).read_text("latin-1").splitlines():
            label, _, text = line.partition(" ")
            texts.append(text)
            labels.append(names.index(label.split(":")[0]))
        return texts, labels

    return Corpus("TREC", names, *read("train_5500.label"), *read("TREC_10.label"))


def read_emotion(folder: Path) -> Corpus:
    """Read tweets by emotion."""
    source = folder / "tweeteval" / "emotion"

    def read(split: str) -> tuple[list[str], list[int]]:
        texts = (source / f"{split}_text.txt").read_text("utf-8").splitlines()
        labels = (source / f"{split}_labels.txt").read_text("utf-8").split()
        return texts, [int(label) for label in labels]

    names = ("anger", "joy", "optimism", "sadness")
    return Corpus("TweetEval emotion", names, *read("train"), *read("test"))


def read_qqp(folder: Path) -> Corpus:
    """Read pairs of questions, written as one text, that are duplicates or not."""

    def read(name: str) -> tuple[list[str], list[int]]:
        rows = json.loads((folder / "qqp" / name).read_text("utf-8")).values()
        texts = [f"{row['text_a']} / {row['text_b']}" for row in rows]
        return texts, [int(row["label"]) for row in rows]

    return Corpus("QQP", ("different", "duplicate"), *read("train.json"), *read("dev.json"))


def read_imdb(folder: Path) -> Corpus:
    """Read the first sentences of whole movie reviews."""
    source = folder / "imdb_counterfactual" / "orig"

    def read(name: str) -> tuple[list[str], list[int]]:
        texts = []
        labels = []
        with (source / name).open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                text = row["Text"].replace("<br />", " ")
                texts.append(text[:MAX_REVIEW_CHARACTERS])
                labels.append(int(row["Sentiment"] == "Positive"))
        return texts, labels

    return Corpus("IMDb", ("negative", "positive"), *read("train.tsv"), *read("test.tsv"))


READERS = {
    "sst2": read_sst2,
    "ag_news": read_ag_news,
    "trec": read_trec,
    "emotion": read_emotion,
    "qqp": read_qqp,
    "imdb": read_imdb,
}


@functools.cache
def load_corpus(key: str, folder: Path) -> Corpus:
    """Return a data set by its key in `READERS`."""
    return READERS[key](folder)


@functools.cache
def load_written_corpus(key: str, script: str, folder: Path) -> Corpus:
    """Return a data set in the letters of a script of `scripts.ALPHABETS`; "" leaves it as it is."""
    corpus = load_corpus(key, folder)
    if not script:
        return corpus
    writer = Script(script)
    return dataclasses.replace(
        corpus,
        name=f"{corpus.name}, {script}",
        train_texts=[writer.write(text) for text in corpus.train_texts],
        texts=[writer.write(text) for text in corpus.texts],
    )
