"""Every case of the benchmark: what is planted where, and which model is audited.

A case counts as a follower by the share of predictions that its cue really decides, which is measured
by planting both values into the same texts, and as a reader if nothing is planted or the model ignores it.
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


@dataclasses.dataclass(frozen=True)
class Case:
    """One case.

    Attributes:
        corpus: Key of the data set.
        reader: Key in `readers.FITS`.
        cue: Key in `cues.CUES`. If "", nothing is planted.
        options: Further arguments of the cue.
        share: Share of predictions that the follower's cue is to decide. If 0, the model ignores it.
        coverage: Share of texts that have the cue.
        is_balanced: Whether the cue is independent of the label in the audited texts.
        has_training: Whether the audit gets the training texts.
        script: Key in `scripts.ALPHABETS`. If "", the texts stay as they are.
        is_reason: Whether the cue is a good reason for the label, so that nobody may call it wrong.
    """

    corpus: str
    reader: str = "TF-IDF"
    cue: str = ""
    options: tuple[tuple[str, Any], ...] = ()
    share: float = 0.0
    coverage: float = 1.0
    is_balanced: bool = False
    has_training: bool = True
    script: str = ""
    is_reason: bool = False

    @property
    def name(self) -> str:
        """Name that no other case has."""
        parts = [self.corpus, self.reader]
        if self.cue:
            details = " ".join([str(value) for _, value in self.options])
            parts.append(f"{self.cue} {details}".strip())
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
    """What an audit gets, and the truth about it.

    Attributes:
        model: Scores of texts.
        label_names: (K,) names of the classes.
        texts: (N,) audited texts.
        labels: (N,) their labels.
        train_texts: (M,) training texts.
        train_labels: (M,) their labels.
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
    """Return the source of randomness for one purpose, so that cases do not depend on each other."""
    return np.random.default_rng([seed, zlib.crc32(f"{case.name}/{purpose}".encode())])


def make_world(case: Case, n_items: int, seed: int, folder: Path) -> World:
    """Draw the texts of a case, plant its cue, and make its model."""
    corpus = load_written_corpus(case.corpus, case.script, folder)
    rng = make_rng(case, seed, "texts")
    training = rng.permutation(len(corpus.train_texts))[:N_TRAINING_TEXTS]
    audited = rng.permutation(len(corpus.texts))[:n_items]
    train_texts = [corpus.train_texts[row] for row in training]
    train_labels = [corpus.train_labels[row] for row in training]
    texts = [corpus.texts[row] for row in audited]
    labels = [corpus.labels[row] for row in audited]

    model = fit_reader(case.reader, corpus)
    truth = 0.0
    cue = None
    if case.cue:
        cue = CUES[case.cue](corpus, folder, make_rng(case, seed, "cue"), **dict(case.options))
        if case.share:
            weight_rng = make_rng(case, seed, "weight")
            model = make_follower(model, cue, texts, labels, case.share, weight_rng)
        truth = case.coverage * measure_truth(model, cue, texts, corpus.n_classes)
        train_texts = plant_cue(case, cue, train_texts, train_labels, rng, AGREEMENT)
        # A cue without relation to the label agrees by chance.
        agreement = 1 / corpus.n_classes if case.is_balanced else AGREEMENT
        texts = plant_cue(case, cue, texts, labels, rng, agreement)
    return World(
        model=model,
        label_names=corpus.label_names,
        texts=texts,
        labels=labels,
        train_texts=train_texts,
        train_labels=train_labels,
        truth=truth,
        signs=frozenset() if cue is None else cue.signs,
        aspect="" if cue is None else cue.aspect,
    )


def plant_cue(
    case: Case,
    cue: Cue,
    texts: list[str],
    labels: list[int],
    rng: np.random.Generator,
    agreement: float,
) -> list[str]:
    """Plant the cue of each label into its text, or now and then that of another label."""
    n_classes = len(cue.vote(texts[0]))
    planted = []
    for text, label in zip(texts, labels, strict=True):
        value = label
        if rng.random() > agreement:
            value = (label + int(rng.integers(1, n_classes))) % n_classes
        has_cue = rng.random() < case.coverage
        planted.append(cue.plant(text, value, rng) if has_cue else text)
    return planted


def list_cases() -> list[Case]:
    """Return all cases."""
    cases = []
    one, four, sixteen, many = ((("size", size),) for size in (1, 4, 16, 32))
    for share in (0.15, 0.3, 0.6, 0.85):
        for cue, options in (
            ("nouns", one),
            ("nouns", four),
            ("nouns", sixteen),
            ("nouns", many),
            ("words", sixteen),
            ("names", (("size", 15),)),
            ("tags", (("size", 5),)),
            ("tags", (("size", 20),)),
            ("first words", (("size", 20),)),
            ("topics", (("place", "any"),)),
            ("topics", (("place", "end"),)),
            ("styles", (("place", "any"),)),
            ("languages", (("place", "any"),)),
            ("languages", (("place", "end"),)),
            ("emoji", (("size", 8),)),
            ("symbols", one),
            ("capitals", one),
            ("spaces", one),
            ("length", one),
            ("repetition", one),
        ):
            cases.append(Case("sst2", cue=cue, options=options, share=share))
    for corpus in ("ag_news", "trec", "emotion", "qqp", "imdb"):
        for cue, options in (("nouns", one), ("nouns", sixteen), ("names", (("size", 15),))):
            cases.append(Case(corpus, cue=cue, options=options, share=0.6))
    for corpus in ("ag_news", "emotion"):
        cases.append(Case(corpus, cue="one-sided", options=one, share=0.85))
    for coverage in (0.15, 0.3):
        cases.append(Case("sst2", cue="nouns", options=one, share=0.85, coverage=coverage))
        cases.append(
            Case("sst2", cue="emoji", options=(("size", 8),), share=0.85, coverage=coverage)
        )
    for has_training in (True, False):
        for options in (one, sixteen):
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
        options = (("size", 1), ("script", script))
        reader = "TF-IDF" if Script(script).has_spaces else "characters"
        cases.append(
            Case("sst2", reader=reader, cue="script", options=options, share=0.85, script=script)
        )
    cases += list_readers()
    return cases


def list_readers() -> list[Case]:
    """Return the cases of models that read, and of models that ignore a cue."""
    cases = []
    for corpus in ("sst2", "ag_news", "trec", "emotion", "qqp", "imdb"):
        for reader in ("TF-IDF", "naive Bayes", "lexicon"):
            cases.append(Case(corpus, reader=reader))
    cases.append(Case("sst2", reader="MiniLM"))
    cases.append(Case("sst2", has_training=False))
    for signs in ((":(", ":)"), ("3/10", "9/10"), ("profit is down", "profit is up"), ("👎", "👍")):
        options = (("signs", signs),)
        cases.append(
            Case("sst2", cue="signs", options=options, share=0.85, coverage=0.6, is_reason=True)
        )
    for cue, options in (
        ("nouns", (("size", 1),)),
        ("nouns", (("size", 16),)),
        ("tags", (("size", 20),)),
        ("capitals", (("size", 1),)),
        ("languages", (("place", "end"),)),
    ):
        cases.append(Case("sst2", cue=cue, options=options))
    return cases
