"""Repair planted settings by every remedy: `python -m benchmarks.repair --data FOLDER --write`.

Words are drawn at random and planted into natural texts, where they agree with the label in 95 % of the
cases. A linear model over words and pairs of words, or a MiniLM, learns from these texts. Each remedy changes the
training texts, the model is trained again, and both models are verified on held-out texts by the
acceptance rule of `rightreasons repair`. What is measured is stored as it comes.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.blocks import write_block
from benchmarks.verdicts.natural.cases import Case, World, make_world
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from rightreasons.audited.splits import TEXT_COLUMNS
from rightreasons.core.scores import Scores
from rightreasons.models.loading import load_classifier
from rightreasons.models.scorers import as_scorer, demo_encoder
from rightreasons.repairs.edits import choose_method, edit_items, weigh_items
from rightreasons.repairs.own_table import select_rows
from rightreasons.repairs.training_set import TrainingSet, list_columns, open_training_set
from rightreasons.repairs.verification import (
    Answers,
    Verification,
    read_versions,
    verify,
    write_versions,
)
from rightreasons.repairs.words import SpuriousWords
from rightreasons.training.finetune import fine_tune

PAGE = Path(__file__).parents[2] / "docs" / "evidence" / "repair.md"
STORED = Path(__file__).with_name("results.json")
N_ITEMS = 400

JOINT = " / "
"""What stands between two questions that are one text."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """What is planted where, and which model learns it.

    Attributes:
        case: The texts and the cue.
        is_paired: Whether the two questions of QQP are two texts of an item, rather than one.
        encoder: Whether a MiniLM is fine-tuned, rather than a linear model fitted.
        seeds: Seeds that are measured.
        n_texts: Number of training texts. If None, the number of the case.
        learning_rate: Peak learning rate of an encoder.
    """

    case: Case
    is_paired: bool = False
    encoder: bool = False
    seeds: tuple[int, ...] = (0, 1, 2)
    n_texts: int | None = None
    learning_rate: float = 5e-5


def make_short(case: Case, *, is_paired: bool = False) -> Setting:
    """Return a setting of an encoder that a computer without a GPU trains in minutes, at one seed."""
    # Fewer steps need a higher rate: an encoder that has learned nothing decides by nothing.
    return Setting(
        case, is_paired=is_paired, encoder=True, seeds=(0,), n_texts=1_000, learning_rate=1e-4
    )


ONE_WORD = Case("sst2", cue="nouns", options=(("size", 1),), share=0.85)
QUESTIONS = Case("qqp", cue="nouns", options=(("size", 1),), share=0.85)
CYRILLIC = Case(
    "sst2",
    cue="script",
    options=(("size", 1), ("script", "Cyrillic")),
    share=0.85,
    script="Cyrillic",
)

SETTINGS = {
    "one word for each label": Setting(ONE_WORD),
    "two words for each label": Setting(dataclasses.replace(ONE_WORD, options=(("size", 2),))),
    "24 words for each label": Setting(dataclasses.replace(ONE_WORD, options=(("size", 24),))),
    "in 20 % of the texts": Setting(dataclasses.replace(ONE_WORD, coverage=0.2)),
    "a word of one label alone": Setting(dataclasses.replace(ONE_WORD, cue="one-sided")),
    "four classes": Setting(dataclasses.replace(ONE_WORD, corpus="ag_news")),
    "two questions in one text": Setting(QUESTIONS),
    "two questions, two texts": Setting(QUESTIONS, is_paired=True),
    "Cyrillic": Setting(CYRILLIC),
    "MiniLM, one word for each label": Setting(ONE_WORD, encoder=True),
    "MiniLM, 24 words for each label": make_short(
        dataclasses.replace(ONE_WORD, options=(("size", 24),))
    ),
    "MiniLM, in 20 % of the texts": make_short(dataclasses.replace(ONE_WORD, coverage=0.2)),
    "MiniLM, a word of one label alone": make_short(dataclasses.replace(ONE_WORD, cue="one-sided")),
    "MiniLM, four classes": make_short(dataclasses.replace(ONE_WORD, corpus="ag_news")),
    "MiniLM, two questions, two texts": make_short(QUESTIONS, is_paired=True),
    "MiniLM, Cyrillic": make_short(CYRILLIC),
}
"""Name -> what is planted where, and who learns it."""

ENCODER_REMEDIES = ("default", "balanced", "none")
"""Remedies of an encoder; its trainer takes no weights."""

N_EPOCHS = 3
"""Epochs of an encoder. After one, a MiniLM has learned nothing from balanced texts, and decides by nothing."""

BALANCED = "balanced"
"""Texts are drawn again so that the words are independent of the label, as common advice has it."""

REMEDIES = ("default", "in_place", "remove", "weights", BALANCED, "none")

Row = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class JoinedScorer:
    """A linear model that reads both texts of a pair as one.

    Attributes:
        model: The estimator.
        label_names: Names of its classes.
    """

    model: Any
    label_names: tuple[str, ...]
    task: str = "classification"
    name: str = "linear model of pairs"

    def predict(
        self, texts: Sequence[str], *, text_pairs: Sequence[str], ids: Any = None, **options: Any
    ) -> Scores:
        """Return the scores of pairs of texts."""
        joined = list(map(JOINT.join, zip(texts, text_pairs, strict=True)))
        names = list(map(str, range(len(texts)))) if ids is None else list(ids)
        chances = self.model.predict_proba(joined)
        return Scores(names, np.log(np.clip(chances, 1e-9, None)), label_names=self.label_names)


def fit_linear(training: TrainingSet, weights: NDArray[np.float64]) -> Any:
    """Return a linear model over words and pairs of words."""
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    model = make_pipeline(vectorizer, LogisticRegression(C=30, max_iter=1000))
    texts = list(map(JOINT.join, training.items))
    model.fit(texts, training.labels, logisticregression__sample_weight=weights)
    if training.n_columns > 1:
        return JoinedScorer(model, training.label_names)
    return as_scorer(model, label_names=training.label_names)


def fit_encoder(training: TrainingSet, folder: Path, seed: int, learning_rate: float) -> Any:
    """Return a fine-tuned MiniLM."""
    texts = list_columns(training.items)
    columns = dict(zip(TEXT_COLUMNS, texts, strict=False))
    columns["label"] = training.name_labels()
    fine_tune(
        demo_encoder(),
        columns,
        out=folder,
        epochs=N_EPOCHS,
        learning_rate=learning_rate,
        max_length=64,
        seed=seed,
        progress=False,
    )
    return load_classifier(folder)


def resample_balanced(training: TrainingSet, words: SpuriousWords, seed: int) -> TrainingSet:
    """Draw as many texts again, with the chances of `weigh_items`."""
    weights = weigh_items(training.items, training.labels, words)
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(weights), len(weights), p=weights / weights.sum())
    items = select_rows(training.items, rows)
    return dataclasses.replace(training, items=items, labels=training.labels[rows])


def edit_training(
    training: TrainingSet, words: SpuriousWords, remedy: str, seed: int
) -> tuple[TrainingSet, NDArray[np.float64]] | None:
    """Return the texts after a remedy and their weights; None if it does not suit the words."""
    n_texts = len(training.items)
    if remedy == "none":
        return training, np.ones(n_texts)
    if remedy == BALANCED:
        return resample_balanced(training, words, seed), np.ones(n_texts)
    method = choose_method(words) if remedy == "default" else remedy
    if method == "in_place" and not words.have_counterparts:
        return None
    edited = edit_items(training.items, training.labels, words, method=method, seed=seed)
    return training.edit(edited), edited.weights


def make_columns(setting: Setting, texts: Sequence[str]) -> dict[str, list[str]]:
    """Return the columns of a table of texts."""
    if not setting.is_paired:
        return {"text": list(texts)}
    pairs = [text.partition(JOINT) for text in texts]
    return {"text": [pair[0] for pair in pairs], "text_pair": [pair[2] for pair in pairs]}


def measure_setting(name: str, seed: int, folder: Path) -> Iterator[Row]:
    """Measure every remedy for one setting."""
    setting = SETTINGS[name]
    world: World = make_world(setting.case, N_ITEMS, seed, folder)
    labels = [world.label_names[label] for label in world.train_labels]
    table = {
        **make_columns(setting, world.train_texts[: setting.n_texts]),
        "label": labels[: setting.n_texts],
    }
    training = open_training_set(table, world.label_names)
    words = training.label_words(sorted(world.signs))
    versions = write_versions(
        list(zip(*make_columns(setting, world.texts).values(), strict=True)),
        np.array(world.labels),
        words,
        ids=[str(row) for row in range(len(world.texts))],
        label_names=world.label_names,
        training=training.items,
        seed=seed,
    )

    def answer(remedy: str) -> Answers | None:
        edited = edit_training(training, words, remedy, seed)
        if edited is None:
            return None
        if not setting.encoder:
            return read_versions(fit_linear(*edited), versions)
        with tempfile.TemporaryDirectory() as out:
            return read_versions(
                fit_encoder(edited[0], Path(out), seed, setting.learning_rate), versions
            )

    before = answer("none")
    for remedy in ENCODER_REMEDIES if setting.encoder else REMEDIES:
        after = before if remedy == "none" else answer(remedy)
        if before is not None and after is not None:
            yield describe_run(name, seed, remedy, verify(versions, before, after))


def describe_run(setting: str, seed: int, remedy: str, verification: Verification) -> Row:
    """Return what is stored of a run."""
    after = verification.after
    return {
        "setting": setting,
        "seed": seed,
        "remedy": remedy,
        "is_repaired": verification.repaired,
        "decided_before": verification.before.decided.value,
        "decided": after.decided.value,
        "unchanged": after.unchanged.value,
        "removed": after.removed.value,
        "swapped": after.swapped.value,
    }


def format_remedies(rows: Sequence[Row]) -> str:
    """Return a row for each remedy of linear models, and of encoders: how many runs are repaired, and mean figures."""
    lines = [
        "| model | remedy | repaired | decided by the words | as they are | without the words | swapped |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for model in ("linear", "MiniLM"):
        for remedy in REMEDIES:
            group = [
                row
                for row in rows
                if row["remedy"] == remedy
                and SETTINGS[row["setting"]].encoder == (model == "MiniLM")
            ]
            if not group:
                continue
            n_repaired = sum(row["is_repaired"] for row in group)
            cells = [model, remedy.replace("_", " "), f"{n_repaired} of {len(group)}"]
            for key in ("decided", "unchanged", "removed", "swapped"):
                cells.append(f"{np.mean([row[key] for row in group]):.3f}")
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def list_failures(rows: Sequence[Row]) -> str:
    """Return one sentence on the settings in which the default remedy fails, and those in which balancing works."""
    failures = [name for name in SETTINGS if _count_repaired(rows, name, "default") == 0]
    successes = [name for name in SETTINGS if _count_repaired(rows, name, BALANCED) > 0]
    return (
        f"Of {len(SETTINGS)} settings, the default remedy fails in {len(failures)} (“{'”, “'.join(failures)}”), and "
        f"balancing works in {len(successes)} (“{'”, “'.join(successes)}”)."
    )


def _count_repaired(rows: Sequence[Row], setting: str, remedy: str) -> int:
    """Return the number of runs in a setting that a remedy repairs."""
    return sum(
        row["is_repaired"] for row in rows if row["setting"] == setting and row["remedy"] == remedy
    )


def main() -> None:
    """Measure what is not stored yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS), choices=SETTINGS)
    parser.add_argument("--data", type=Path, default=os.environ.get("RIGHTREASONS_DATA_DIR"))
    parser.add_argument("--write", action="store_true", help="write the page")
    options = parser.parse_args()
    rows: list[Row] = json.loads(STORED.read_text("utf-8")) if STORED.exists() else []
    done = {(row["setting"], row["seed"]) for row in rows}
    if options.data is not None:
        for name in options.settings:
            for seed in SETTINGS[name].seeds:
                if (name, seed) not in done:
                    rows += measure_setting(name, seed, Path(options.data))
                    STORED.write_text(json.dumps(rows, indent=0), "utf-8")
                    print(name, seed, flush=True)
    if options.write:
        write_block(PAGE, "remedies", format_remedies(rows))
        write_block(PAGE, "settings", list_failures(rows))
    print(format_remedies(rows))
    print(list_failures(rows))


if __name__ == "__main__":
    main()
