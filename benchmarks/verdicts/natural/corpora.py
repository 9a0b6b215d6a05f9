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
"""Length to which reviews are truncated, so that the audit of a case takes seconds."""

LabeledTexts = tuple[list[str], list[int]]
"""Texts, and the class of each text."""


@dataclasses.dataclass(frozen=True, eq=False)
class Corpus:
    """A data set of labeled texts.

    Attributes:
        name: Name of the data set.
        label_names: (K,) names of the classes.
        train_texts: (M,) training texts.
        train_labels: (M,) class of each training text.
        texts: (N,) texts for audits.
        labels: (N,) class of each text for audits.
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


def make_corpus(
    name: str, label_names: tuple[str, ...], train: LabeledTexts, test: LabeledTexts
) -> Corpus:
    """Return a corpus whose audited texts are those of the test split."""
    train_texts, train_labels = train
    texts, labels = test
    return Corpus(
        name=name,
        label_names=label_names,
        train_texts=train_texts,
        train_labels=train_labels,
        texts=texts,
        labels=labels,
    )


def read_sst2(folder: Path) -> Corpus:
    """Read SST-2: sentences of movie reviews, negative or positive."""

    def read(*names: str) -> LabeledTexts:
        texts = []
        labels = []
        for name in names:
            for line in (folder / "sst2" / name).read_text("utf-8").splitlines():
                text, label = line.split("\t")
                texts.append(text)
                labels.append(int(label))
        return texts, labels

    # The development data alone has fewer sentences than the largest audits need.
    test = read("dev.tsv", "test.tsv")
    return make_corpus("SST-2", ("negative", "positive"), read("train.tsv"), test)


def read_ag_news(folder: Path) -> Corpus:
    """Read AG News: news of four sections."""
    names = ("World", "Sports", "Business", "Sci/Tech")

    def read_train() -> LabeledTexts:
        texts = []
        labels = []
        path = folder / "ag_news" / "alps_train.tsv"
        for line in path.read_text("utf-8").splitlines():
            text, _, name = line.partition("\t")
            if name in names:
                texts.append(text)
                labels.append(names.index(name))
        return texts, labels

    def read_test() -> LabeledTexts:
        texts = []
        labels = []
        path = folder / "ag_news" / "test.csv"
        with path.open(encoding="utf-8", newline="") as file:
            for number, title, description in csv.reader(file):
                texts.append(f"{title}. {description}")
                # The sections are numbered from 1.
                labels.append(int(number) - 1)
        return texts, labels

    return make_corpus("AG News", names, read_train(), read_test())


def read_trec(folder: Path) -> Corpus:
    """Read TREC: questions by the type of their answer."""
    names = ("ABBR", "ENTY", "DESC", "HUM", "LOC", "NUM")

    def read(name: str) -> LabeledTexts:
        texts = []
        labels = []
        for line in (folder / "trec" / name).read_text("latin-1").splitlines():
            # A label such as "LOC:city" has a coarse type and a fine one.
            label, _, text = line.partition(" ")
            texts.append(text)
            labels.append(names.index(label.split(":")[0]))
        return texts, labels

    return make_corpus("TREC", names, read("train_5500.label"), read("TREC_10.label"))


def read_emotion(folder: Path) -> Corpus:
    """Read the emotion task of TweetEval: tweets of four emotions."""
    source = folder / "tweeteval" / "emotion"

    def read(split: str) -> LabeledTexts:
        texts = (source / f"{split}_text.txt").read_text("utf-8").splitlines()
        labels = (source / f"{split}_labels.txt").read_text("utf-8").split()
        return texts, [int(label) for label in labels]

    names = ("anger", "joy", "optimism", "sadness")
    return make_corpus("TweetEval emotion", names, read("train"), read("test"))


def read_qqp(folder: Path) -> Corpus:
    """Read QQP: pairs of questions that are duplicates or not, each pair joined to one text."""

    def read(name: str) -> LabeledTexts:
        texts = []
        labels = []
        for row in json.loads((folder / "qqp" / name).read_text("utf-8")).values():
            texts.append(f"{row['text_a']} / {row['text_b']}")
            labels.append(int(row["label"]))
        return texts, labels

    names = ("different", "duplicate")
    return make_corpus("QQP", names, read("train.json"), read("dev.json"))


def read_imdb(folder: Path) -> Corpus:
    """Read IMDb: the beginnings of movie reviews, negative or positive."""
    source = folder / "imdb_counterfactual" / "orig"

    def read(name: str) -> LabeledTexts:
        texts = []
        labels = []
        with (source / name).open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                text = row["Text"].replace("<br />", " ")
                texts.append(text[:MAX_REVIEW_CHARACTERS])
                labels.append(int(row["Sentiment"] == "Positive"))
        return texts, labels

    return make_corpus("IMDb", ("negative", "positive"), read("train.tsv"), read("test.tsv"))


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
    """Read a data set.

    Args:
        key: Key in `READERS`.
        folder: Folder of all data sets.
    """
    return READERS[key](folder)


@functools.cache
def load_written_corpus(key: str, script: str, folder: Path) -> Corpus:
    """Read a data set, and transcribe its texts into the letters of a script.

    Args:
        key: Key in `READERS`.
        script: Key in `scripts.ALPHABETS`. If "", the texts are not changed.
        folder: Folder of all data sets.
    """
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
