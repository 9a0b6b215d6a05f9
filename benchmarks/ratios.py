"""Speed of each kernel next to a peer or a lower bound, in seconds: `python benchmarks/ratios.py`.

A comparison measures ours and the other side by turns in one process: processor time of one thread,
the best of five rounds. The ratio (other / ours) hardly depends on the machine, and a busy neighbor
hits both sides alike, so `tests/speed/test_ratios.py` can refuse a kernel that became twice as slow as
recorded. `--write` records the ratios in `ratios.json` and in `RESULTS.md`, with the commit and a digest
of the files that were measured; `--check` names the rows whose files have changed since.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from blocks import RESULTS, digest_files, write_block

ROOT = Path(__file__).parents[1]
RECORD = Path(__file__).with_name("ratios.json")
N_ROUNDS = 5
N_BINS = 15
N_LABELS = 4

Calls = tuple[Callable[[], Any], Callable[[], Any]]
"""Our computation, and that of the peer or the lower bound, on the same input."""


@dataclasses.dataclass(frozen=True)
class Comparison:
    """One row of the table.

    Attributes:
        name: What is computed, with the number of items.
        other: The peer, or what the lower bound does.
        prepare: Function that makes the input and returns both computations.
        files: Files below src/rightreasons that the figure is about.
        target: Smallest ratio that the project promises. If None, the ratio is only recorded.
    """

    name: str
    other: str
    prepare: Callable[[], Calls]
    files: tuple[str, ...]
    target: float | None = None


def make_scores(n_items: int, n_classes: int = N_LABELS) -> tuple[np.ndarray, np.ndarray]:
    """Return (N, K) probabilities of an overconfident model, and (N,) labels."""
    rng = np.random.default_rng(0)
    rows = np.exp(2 * rng.normal(size=(n_items, n_classes)))
    rows /= rows.sum(axis=1, keepdims=True)
    is_correct = rng.random(n_items) < 0.7
    labels = np.where(is_correct, rows.argmax(axis=1), rng.integers(n_classes, size=n_items))
    return rows, labels


def make_texts(n_texts: int, n_words: int = 12) -> tuple[list[str], np.ndarray]:
    """Return texts of words whose frequencies follow Zipf's law, and (N,) labels."""
    rng = np.random.default_rng(0)
    frequencies = 1 / (np.arange(20_000) + 2.7)
    frequencies /= frequencies.sum()
    vocabulary = []
    for number in range(len(frequencies)):
        # Frequent words are short, as in natural text.
        length = 2 + int(np.log2(1 + number)) // 2
        vocabulary.append("".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), size=length)))
    texts = []
    for row in rng.choice(len(vocabulary), size=(n_texts, n_words), p=frequencies):
        texts.append(" ".join([vocabulary[word] for word in row]).capitalize() + ".")
    return texts, rng.integers(N_LABELS, size=n_texts)


def compare_ece_with_torchmetrics() -> Calls:
    import torch
    from torchmetrics.functional.classification import multiclass_calibration_error

    from rightreasons.calibration.errors import calibration_error

    torch.set_num_threads(1)
    rows, labels = make_scores(200_000)
    scores = torch.tensor(rows)
    targets = torch.tensor(labels)

    def compute_peer() -> Any:
        return multiclass_calibration_error(scores, targets, N_LABELS, n_bins=N_BINS)

    return lambda: calibration_error(rows, labels, n_bins=N_BINS), compute_peer


def compare_ece_with_bound() -> Calls:
    from rightreasons.calibration.errors import calibration_error

    rows, labels = make_scores(200_000)

    def compute_bound() -> Any:
        # The least that an ECE needs: the top class, its score, and three sums by bin.
        confidence = rows.max(axis=1)
        is_correct = rows.argmax(axis=1) == labels
        bins = np.minimum((confidence * N_BINS).astype(np.intp), N_BINS - 1)
        return [np.bincount(bins, weights, N_BINS) for weights in (None, confidence, is_correct)]

    return lambda: calibration_error(rows, labels, n_bins=N_BINS), compute_bound


def compare_interval_with_kernel() -> Calls:
    from rightreasons.calibration.errors import calibration_error
    from rightreasons.core.resampling import Resampling

    rows, labels = make_scores(200_000)
    return (
        lambda: calibration_error(rows, labels, n_bins=N_BINS, resampling=Resampling()),
        lambda: calibration_error(rows, labels, n_bins=N_BINS),
    )


def compare_clustered_with_plain_interval() -> Calls:
    from rightreasons.calibration.errors import calibration_error
    from rightreasons.core.resampling import Resampling

    rows, labels = make_scores(1_000_000)
    clusters = np.arange(len(rows)) // 4
    options = {"n_bins": N_BINS, "resampling": Resampling()}
    return (
        lambda: calibration_error(rows, labels, clusters=clusters, **options),
        lambda: calibration_error(rows, labels, **options),
    )


def compare_smooth_ece_with_sorting() -> Calls:
    from rightreasons.calibration.smooth import smooth_ece

    rows, labels = make_scores(200_000)
    confidence = rows.max(axis=1)
    is_correct = rows.argmax(axis=1) == labels
    return (
        lambda: smooth_ece(confidence, is_correct, kind="confidence"),
        # Unlike the default, a stable sort needs the same time with and without AVX-512.
        lambda: np.argsort(confidence, kind="stable"),
    )


def compare_brier_with_numpy() -> Calls:
    from rightreasons.calibration.proper_scores import brier_score

    rows, labels = make_scores(200_000)

    def compute_bound() -> Any:
        targets = np.zeros_like(rows)
        targets[np.arange(len(rows)), labels] = 1
        return ((rows - targets) ** 2).sum(axis=1).mean()

    return lambda: brier_score(rows, labels), compute_bound


def compare_nll_with_scikit_learn() -> Calls:
    from sklearn.metrics import log_loss

    from rightreasons.calibration.proper_scores import negative_log_likelihood

    rows, labels = make_scores(200_000)
    return (
        lambda: negative_log_likelihood(rows, labels),
        lambda: log_loss(labels, rows, labels=range(N_LABELS)),
    )


def compare_auroc_with_scikit_learn() -> Calls:
    from sklearn.metrics import roc_auc_score

    from rightreasons.calibration.proper_scores import auroc

    rows, labels = make_scores(200_000)
    confidence = rows.max(axis=1)
    is_correct = rows.argmax(axis=1) == labels
    return lambda: auroc(confidence, is_correct), lambda: roc_auc_score(is_correct, confidence)


def compare_lmi_with_scikit_learn() -> Calls:
    from sklearn.feature_extraction.text import CountVectorizer

    from rightreasons.core.tokens import WORD_PATTERN
    from rightreasons.shortcuts.mutual_information import lmi

    texts, labels = make_texts(20_000)

    def compute_peer() -> Any:
        vectorizer = CountVectorizer(token_pattern=WORD_PATTERN.pattern)
        table = vectorizer.fit_transform(texts)
        one_hot = np.eye(N_LABELS)[labels]
        counts = table.T @ one_hot
        by_token = counts.sum(axis=1, keepdims=True)
        by_label = counts.sum(axis=0, keepdims=True)
        total = counts.sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            return counts / total * np.log2(counts * total / (by_token * by_label))

    return lambda: lmi(texts, labels), compute_peer


def compare_cues_with_scikit_learn() -> Calls:
    from sklearn.feature_extraction.text import CountVectorizer

    from rightreasons.core.tokens import WORD_PATTERN
    from rightreasons.cues.statistics import cue_statistics

    texts, labels = make_texts(80_000, n_words=8)
    answers = labels[::2] % 2
    choices = list(zip(texts[::2], texts[1::2], strict=True))

    def compute_peer() -> Any:
        vectorizer = CountVectorizer(token_pattern=WORD_PATTERN.pattern, binary=True)
        table = vectorizer.fit_transform(texts)
        sides = table[::2], table[1::2]
        # A cue applies where one choice alone has it, and is productive where that is the answer.
        is_first_only = sides[0] > sides[1]
        is_second_only = sides[1] > sides[0]
        n_applicable = is_first_only.sum(axis=0) + is_second_only.sum(axis=0)
        is_second = answers.astype(bool)
        n_first = is_first_only[np.flatnonzero(~is_second)].sum(axis=0)
        n_second = is_second_only[np.flatnonzero(is_second)].sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return n_applicable, (n_first + n_second) / n_applicable

    return lambda: cue_statistics(choices, answers), compute_peer


def compare_prior_bias_with_bound() -> Calls:
    from rightreasons.probes.bias import prior_bias

    rows, _ = make_scores(100_000)

    def compute_bound() -> Any:
        # One pass over the scores: the variance of each row.
        return rows.var(axis=1).mean()

    return lambda: prior_bias(rows), compute_bound


def compare_reading_with_pandas() -> Calls:
    import tempfile

    import pandas

    from rightreasons.io.reading import as_table

    texts, labels = make_texts(20_000)
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "rows.csv"
    pandas.DataFrame({"text": texts, "label": labels}).to_csv(path, index=False)

    def read_ours() -> Any:
        return as_table(path), folder

    return read_ours, lambda: pandas.read_csv(path, dtype=str)


def compare_fisher_with_passes() -> Calls:
    import tempfile

    import torch

    from rightreasons.models.gradients.fisher import fisher_information
    from rightreasons.models.loading import load_classifier
    from tiny_models import save_tiny_classifier, tiny_texts

    torch.set_num_threads(1)
    # Passes of this size cost more than what is around them.
    sizes = {"hidden_size": 256, "num_hidden_layers": 6, "intermediate_size": 1024}
    with tempfile.TemporaryDirectory() as folder:
        classifier = load_classifier(save_tiny_classifier(folder, **sizes))
    texts = tiny_texts(128)[0]
    model = classifier.model
    inputs = classifier.tokenizer(texts, return_tensors="pt", padding=True)

    def run_passes() -> Any:
        embeddings = model.get_input_embeddings()(inputs["input_ids"]).detach().requires_grad_()
        logits = model(inputs_embeds=embeddings, attention_mask=inputs["attention_mask"]).logits
        return torch.autograd.grad(logits[:, 0].sum(), embeddings)

    def compute_ours() -> Any:
        return fisher_information(classifier, texts, batch_size=len(texts), progress=False)

    return compute_ours, run_passes


CALIBRATION_FILES = ("calibration/errors.py", "calibration/confidences.py", "core/binning.py")
COMPARISONS = (
    Comparison(
        name="ECE, 200,000 items of 4 classes",
        other="torchmetrics",
        prepare=compare_ece_with_torchmetrics,
        files=CALIBRATION_FILES,
        target=1.5,
    ),
    Comparison(
        name="ECE, 200,000 items of 4 classes",
        other="top class and three sums by bin",
        prepare=compare_ece_with_bound,
        files=CALIBRATION_FILES,
    ),
    Comparison(
        name="ECE with 1,000 resamples",
        other="ECE without interval",
        prepare=compare_interval_with_kernel,
        files=CALIBRATION_FILES,
    ),
    Comparison(
        name="ECE with 1,000 resamples of clusters of 4, 1,000,000 items",
        other="resamples of items",
        prepare=compare_clustered_with_plain_interval,
        files=CALIBRATION_FILES,
        target=0.1,
    ),
    Comparison(
        name="smooth ECE, 200,000 items",
        other="a stable sort of the confidences",
        prepare=compare_smooth_ece_with_sorting,
        files=("calibration/smooth.py",),
    ),
    Comparison(
        name="Brier score, 200,000 items of 4 classes",
        other="the formula in numpy",
        prepare=compare_brier_with_numpy,
        files=("calibration/proper_scores.py",),
    ),
    Comparison(
        name="negative log-likelihood, 200,000 items of 4 classes",
        other="scikit-learn",
        prepare=compare_nll_with_scikit_learn,
        files=("calibration/proper_scores.py",),
    ),
    Comparison(
        name="AUROC, 200,000 items",
        other="scikit-learn",
        prepare=compare_auroc_with_scikit_learn,
        files=("calibration/proper_scores.py",),
    ),
    Comparison(
        name="LMI, 20,000 texts",
        other="CountVectorizer and the formula",
        prepare=compare_lmi_with_scikit_learn,
        files=("shortcuts/mutual_information.py",),
        target=1.5,
    ),
    Comparison(
        name="cue statistics, 40,000 items of 2 choices",
        other="CountVectorizer and the formula",
        prepare=compare_cues_with_scikit_learn,
        files=("cues/statistics.py",),
        target=1.2,
    ),
    Comparison(
        name="prior bias, 100,000 items of 4 choices",
        other="variance of each row",
        prepare=compare_prior_bias_with_bound,
        files=("probes/bias.py",),
    ),
    Comparison(
        name="reading 20,000 rows of csv",
        other="pandas",
        prepare=compare_reading_with_pandas,
        files=("io/files/separated.py", "io/reading.py"),
    ),
    Comparison(
        name="Fisher information, 128 texts, 2 classes",
        other="one pass forward and backward",
        prepare=compare_fisher_with_passes,
        files=("models/gradients/fisher.py",),
    ),
)


def measure_ratio(comparison: Comparison) -> float:
    """Return the processor time of the other side by ours, each the best of `N_ROUNDS`."""
    compute_ours, compute_other = comparison.prepare()
    compute_ours()
    compute_other()
    best_ours = best_other = float("inf")
    for _ in range(N_ROUNDS):
        # Both sides take turns, so that a busy moment of the machine hits both alike.
        start = time.process_time()
        compute_ours()
        middle = time.process_time()
        compute_other()
        end = time.process_time()
        best_ours = min(best_ours, middle - start)
        best_other = min(best_other, end - middle)
    return best_other / best_ours


def get_key(comparison: Comparison) -> str:
    """Return the name under which a comparison is recorded."""
    return f"{comparison.name} | {comparison.other}"


def read_record() -> dict[str, Any]:
    """Return the recorded rows, by key."""
    return json.loads(RECORD.read_text("utf-8"))["rows"]


def get_commit() -> str:
    """Return the commit that is measured, with a plus if files differ from it."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def format_table(rows: dict[str, Any]) -> str:
    """Return the table of RESULTS.md."""
    lines = [
        "| ours | next to | other / ours | target |",
        "|---|---|---:|---:|",
    ]
    for comparison in COMPARISONS:
        ratio = rows[get_key(comparison)]["ratio"]
        target = "-" if comparison.target is None else f">= {comparison.target:g}"
        lines.append(f"| {comparison.name} | {comparison.other} | {ratio:.2f} | {target} |")
    return "\n".join(lines)


def write_record() -> None:
    """Measure every comparison, and write the record and the table of RESULTS.md."""
    rows = {}
    for comparison in COMPARISONS:
        ratio = measure_ratio(comparison)
        rows[get_key(comparison)] = {
            "ratio": round(ratio, 3),
            "files": digest_files(comparison.files),
        }
        print(f"{ratio:6.2f}  {get_key(comparison)}", flush=True)
    commit = get_commit()
    RECORD.write_text(json.dumps({"commit": commit, "rows": rows}, indent=2) + "\n", "utf-8")
    write_block(RESULTS, "ratios", f"Measured at commit {commit}.\n\n{format_table(rows)}")


def find_outdated() -> list[str]:
    """Return the rows whose files have changed since they were measured."""
    rows = read_record()
    outdated = []
    for comparison in COMPARISONS:
        row = rows.get(get_key(comparison))
        if row is None or row["files"] != digest_files(comparison.files):
            outdated.append(get_key(comparison))
    return outdated


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="record the ratios")
    parser.add_argument("--check", action="store_true", help="name rows that are older than code")
    options = parser.parse_args()
    if options.check:
        outdated = find_outdated()
        for key in outdated:
            print(f"measured before its files changed: {key}")
        return int(bool(outdated))
    if options.write:
        write_record()
        return 0
    for comparison in COMPARISONS:
        print(f"{measure_ratio(comparison):6.2f}  {get_key(comparison)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "tests"))
    sys.exit(main())
