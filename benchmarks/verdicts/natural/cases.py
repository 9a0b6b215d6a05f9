"""The cases of the benchmark: data set, planted cue, and audited model.

`list_cases` returns all of them, and `make_world` makes the texts and the model of one.

A model counts as a follower by the share of predictions that its cue really decides. It is measured by
planting two values of the cue into the same texts. A model is a reader if nothing is planted, or if it
ignores the cue.
"""

from __future__ import annotations

import dataclasses
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.verdicts.natural.corpora import load_written_corpus
from benchmarks.verdicts.natural.cues import CUES, Cue
from benchmarks.verdicts.natural.readers import Scorer, fit_reader, make_follower, measure_truth
from benchmarks.verdicts.natural.scripts import ALPHABETS, Script

N_TRAINING_TEXTS = 1_500
AGREEMENT = 0.95
"""Share of texts whose cue agrees with their label."""

Options = tuple[tuple[str, Any], ...]
"""Names and values of the options of a cue, such as `(("size", 4),)` for four words per class."""

FOLLOWED_CUES: tuple[tuple[str, Options], ...] = (
    ("nouns", (("size", 1),)),
    ("nouns", (("size", 4),)),
    ("nouns", (("size", 16),)),
    ("nouns", (("size", 32),)),
    ("words", (("size", 16),)),
    ("names", (("size", 15),)),
    ("tags", (("size", 5),)),
    ("tags", (("size", 20),)),
    ("first words", (("size", 20),)),
    ("topics", (("position", "any"),)),
    ("topics", (("position", "end"),)),
    ("styles", (("position", "any"),)),
    ("languages", (("position", "any"),)),
    ("languages", (("position", "end"),)),
    ("emoji", (("size", 8),)),
    ("symbols", (("size", 1),)),
    ("capitals", (("size", 1),)),
    ("spaces", (("size", 1),)),
    ("length", (("size", 1),)),
    ("repetition", (("size", 1),)),
)
"""Cues that are followed in SST-2, with their options."""

IGNORED_CUES: tuple[tuple[str, Options], ...] = (
    ("nouns", (("size", 1),)),
    ("nouns", (("size", 16),)),
    ("tags", (("size", 20),)),
    ("capitals", (("size", 1),)),
    ("languages", (("position", "end"),)),
)
"""Cues that are planted into SST-2, and ignored by the model."""


@dataclasses.dataclass(frozen=True)
class Case:
    """One data set with a planted cue and an audited model.

    Attributes:
        corpus: Key of the data set.
        reader: Key in `readers.FITS`.
        cue: Key in `cues.CUES`. If "", nothing is planted.
        options: Names and values of the options of the cue.
        share: Share of predictions that the follower's cue is to decide. If 0, the model ignores it.
        coverage: Share of texts that have the cue.
        is_balanced: Whether the cue is independent of the label in the audited texts.
        has_training: Whether the audit gets the training texts.
        script: Key in `scripts.ALPHABETS`. If "", the texts are not transcribed.
        is_reason: Whether the cue is a good reason for the label, so that a red verdict is incorrect.
    """

    corpus: str
    reader: str = "TF-IDF"
    cue: str = ""
    options: Options = ()
    share: float = 0.0
    coverage: float = 1.0
    is_balanced: bool = False
    has_training: bool = True
    script: str = ""
    is_reason: bool = False

    @property
    def name(self) -> str:
        """Unique name, such as "sst2, TF-IDF, nouns 4, decide 60%". It also seeds the draws."""
        parts = [self.corpus, self.reader]
        if self.cue:
            values = [str(value) for _, value in self.options]
            parts.append(" ".join([self.cue, *values]))
            parts.append(f"decide {self.share:.0%}" if self.share else "ignored")
        if self.coverage < 1:
            parts.append(f"in {self.coverage:.0%} of the texts")
        if self.is_balanced:
            parts.append("balanced in the audited file")
        if not self.has_training:
            parts.append("no training texts")
        if self.script:
            parts.append(self.script)
        if self.is_reason:
            parts.append("a good reason")
        return ", ".join(parts)


@dataclasses.dataclass(frozen=True)
class World:
    """The data and the model of one audit, and the truth about the model.

    Attributes:
        model: Function from texts to (N, K) scores.
        label_names: (K,) names of the classes.
        texts: (N,) audited texts.
        labels: (N,) labels of the audited texts.
        train_texts: (M,) training texts.
        train_labels: (M,) labels of the training texts.
        truth: Share of predictions that the cue decides; 0 if nothing is planted.
        signs: Words or marks that a finding should name.
        aspect: What the finding may say instead.
    """

    model: Scorer
    label_names: tuple[str, ...]
    texts: list[str]
    labels: list[int]
    train_texts: list[str]
    train_labels: list[int]
    truth: float
    signs: frozenset[str]
    aspect: str


def make_rng(case: Case, seed: int, purpose: str) -> np.random.Generator:
    """Return a generator for one purpose of a case.

    Cases and purposes get independent generators, so that a new case does not change the others.

    Args:
        case: Case whose name is part of the seed.
        seed: Seed of the run.
        purpose: What is drawn, such as "texts".
    """
    return np.random.default_rng([seed, zlib.crc32(f"{case.name}/{purpose}".encode())])


def make_world(case: Case, n_items: int, seed: int, folder: Path) -> World:
    """Draw the texts of a case, plant its cue, and make its model.

    Args:
        case: Case to make.
        n_items: Number of audited texts.
        seed: Seed of the run.
        folder: Folder of all data sets.
    """
    corpus = load_written_corpus(case.corpus, case.script, folder)
    rng = make_rng(case, seed, "texts")
    train_rows = rng.permutation(len(corpus.train_texts))[:N_TRAINING_TEXTS]
    rows = rng.permutation(len(corpus.texts))[:n_items]
    # The cue is planted into these texts; without one, they are audited unchanged.
    world = World(
        model=fit_reader(case.reader, corpus),
        label_names=corpus.label_names,
        texts=[corpus.texts[row] for row in rows],
        labels=[corpus.labels[row] for row in rows],
        train_texts=[corpus.train_texts[row] for row in train_rows],
        train_labels=[corpus.train_labels[row] for row in train_rows],
        truth=0.0,
        signs=frozenset(),
        aspect="",
    )
    if not case.cue:
        return world

    cue = CUES[case.cue](corpus, folder, make_rng(case, seed, "cue"), **dict(case.options))
    model = world.model
    if case.share:
        weight_rng = make_rng(case, seed, "weight")
        model = make_follower(model, cue, world.texts, world.labels, case.share, weight_rng)
    decided = measure_truth(model, cue, world.texts, corpus.n_classes)
    # A cue without relation to the label agrees by chance.
    agreement = 1 / corpus.n_classes if case.is_balanced else AGREEMENT
    # The training texts are planted first: both calls use the same generator.
    train_texts = plant_cue(case, cue, world.train_texts, world.train_labels, rng, AGREEMENT)
    texts = plant_cue(case, cue, world.texts, world.labels, rng, agreement)
    return dataclasses.replace(
        world,
        model=model,
        texts=texts,
        train_texts=train_texts,
        truth=case.coverage * decided,
        signs=cue.signs,
        aspect=cue.aspect,
    )


def plant_cue(
    case: Case,
    cue: Cue,
    texts: list[str],
    labels: list[int],
    rng: np.random.Generator,
    agreement: float,
) -> list[str]:
    """Plant a cue into texts.

    Args:
        case: Case whose coverage is the share of texts that get the cue.
        cue: Cue to plant.
        texts: (N,) texts.
        labels: (N,) labels of the texts.
        rng: Source of all draws.
        agreement: Share of texts that get the cue of their label. The others get that of another one.

    Returns:
        (N,) texts, with the cue or unchanged.
    """
    n_classes = len(cue.vote(texts[0]))
    planted_texts = []
    for text, label in zip(texts, labels, strict=True):
        cue_label = label
        if rng.random() > agreement:
            cue_label = (label + int(rng.integers(1, n_classes))) % n_classes
        has_cue = rng.random() < case.coverage
        planted_texts.append(cue.plant(text, cue_label, rng) if has_cue else text)
    return planted_texts


def list_cases() -> list[Case]:
    """Return all cases: first the models that follow a cue, then those that read."""
    cases = []
    for share in (0.15, 0.3, 0.6, 0.85):
        for cue, options in FOLLOWED_CUES:
            cases.append(Case("sst2", cue=cue, options=options, share=share))
    return [*cases, *list_followers(), *list_readers()]


def list_followers() -> list[Case]:
    """Return the cases of models that follow a cue in other data sets, coverages and scripts."""
    one_word = (("size", 1),)
    many_words = (("size", 16),)
    cases = []
    for corpus in ("ag_news", "trec", "emotion", "qqp", "imdb"):
        cases.append(Case(corpus, cue="nouns", options=one_word, share=0.6))
        cases.append(Case(corpus, cue="nouns", options=many_words, share=0.6))
        cases.append(Case(corpus, cue="names", options=(("size", 15),), share=0.6))
    for corpus in ("ag_news", "emotion"):
        cases.append(Case(corpus, cue="one-sided", options=one_word, share=0.85))

    emoji = (("size", 8),)
    for coverage in (0.15, 0.3):
        cases.append(Case("sst2", cue="nouns", options=one_word, share=0.85, coverage=coverage))
        cases.append(Case("sst2", cue="emoji", options=emoji, share=0.85, coverage=coverage))

    for has_training in (True, False):
        for options in (one_word, many_words):
            cases.append(
                Case(
                    "sst2",
                    cue="nouns",
                    options=options,
                    share=0.85,
                    is_balanced=True,
                    has_training=has_training,
                )
            )

    for script in ALPHABETS:
        # Without spaces, the words of a text are unknown.
        reader = "TF-IDF" if Script(script).has_spaces else "characters"
        options = (("size", 1), ("script", script))
        cases.append(
            Case("sst2", reader=reader, cue="script", options=options, share=0.85, script=script)
        )
    return cases


def list_readers() -> list[Case]:
    """Return the cases of models that read, follow a sign for good reasons, or ignore a cue."""
    cases = []
    for corpus in ("sst2", "ag_news", "trec", "emotion", "qqp", "imdb"):
        for reader in ("TF-IDF", "naive Bayes", "lexicon"):
            cases.append(Case(corpus, reader=reader))
    cases.append(Case("sst2", reader="MiniLM"))
    cases.append(Case("sst2", has_training=False))
    # These signs express the label, so a model that follows them uses the content.
    for signs in ((":(", ":)"), ("3/10", "9/10"), ("profit is down", "profit is up"), ("👎", "👍")):
        options = (("signs", signs),)
        cases.append(
            Case("sst2", cue="signs", options=options, share=0.85, coverage=0.6, is_reason=True)
        )
    for cue, options in IGNORED_CUES:
        cases.append(Case("sst2", cue=cue, options=options))
    return cases
