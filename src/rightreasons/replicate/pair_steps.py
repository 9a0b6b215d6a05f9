"""Steps about difficulty: eigenvalues of points in the plane, pairs of reviews, and substitutions.

`measure_pairs` trains each model, takes the largest Fisher eigenvalue of originals and revisions, and
replaces words of a sample of originals.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import datasets
import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats
from torch import nn

from rightreasons.core.arrays import Floats
from rightreasons.core.validation import softmax
from rightreasons.datasets.perturbing.edits import find_names, list_lookups
from rightreasons.difficulty.by_difficulty import FlipRates, flip_rates
from rightreasons.difficulty.ranking import distribution_overlap, paired_difficulty
from rightreasons.difficulty.substitutions import (
    Attempt,
    SubstitutionOptions,
    SubstitutionTests,
    substitution_tests,
)
from rightreasons.models.gradients.attribution import integrated_gradients
from rightreasons.models.gradients.eigenvalues import compute_leading_eigenvalues
from rightreasons.models.gradients.fisher import fisher_information
from rightreasons.models.loading import load_classifier
from rightreasons.replicate.work import Work, write_interval
from rightreasons.training.finetune import fine_tune

ORIGINAL = "original"
"""Role of the text that another one of its pair was made from."""

PAIRED_SETS = ("imdb_counterfactual", "imdb_contrast")

N_NAMED_REVIEWS = 300
"""Number of training reviews whose names of people may replace others."""

N_POINTS = 500
"""Number of points of each Gaussian."""

N_HARDEST = 20
"""Number of the hardest points that are compared with those closest to the boundary."""


@dataclasses.dataclass(frozen=True)
class TrainedModel:
    """A classifier of reviews.

    Attributes:
        name: Name in the recipe.
        seed: Seed of the training.
        classifier: The classifier.
        max_length: Maximum number of tokens of a review.
        folder: Folder of its weights and scores.
    """

    name: str
    seed: int
    classifier: Any
    max_length: int
    folder: Path


@dataclasses.dataclass(frozen=True)
class Gaussians:
    """Points of two Gaussians, and the eigenvalues and margins of a small network trained on them.

    Attributes:
        points: (N, 2) points.
        labels: (N,) the Gaussian that each point is from.
        network: The trained network.
        margins: (N,) difference between the two probabilities of each point.
        eigenvalues: (N,) largest Fisher eigenvalue with respect to the point.
        directions: (N, 2) unit eigenvectors.
    """

    points: Floats
    labels: NDArray[np.int64]
    network: nn.Module
    margins: Floats
    eigenvalues: Floats
    directions: Floats


def measure_gaussians(work: Work) -> dict[str, Any]:
    """Compare the eigenvalue of points in the plane with their distance from the decision boundary.

    Args:
        work: Settings of the step; `settings["n_gaussians"]` is the number of seeds.

    Returns:
        `rows`: for each seed, the rank correlation of eigenvalues with small margins, over all points and
        within each class, and the share of the hardest points that are close to the boundary; `facts`:
        the lowest correlation.
    """
    rows = []
    correlations = []
    for seed in range(work.settings["n_gaussians"]):
        plane = train_on_gaussians(seed)
        correlation = _correlate_with_margin(plane.eigenvalues, plane.margins)
        correlations.append(correlation)
        # The share of the hardest points that are among the 2 * N_HARDEST closest to the boundary.
        hardest = np.argsort(-plane.eigenvalues)[:N_HARDEST]
        closest = np.argsort(plane.margins)[: 2 * N_HARDEST]
        figures = {
            "correlation": correlation,
            "close": round(100 * float(np.isin(hardest, closest).mean()), 6),
        }
        # The eigenvalues of points far from the boundary have another scale in each class.
        for label in range(2):
            is_of_class = plane.labels == label
            figures[f"class_{label}"] = _correlate_with_margin(
                plane.eigenvalues[is_of_class], plane.margins[is_of_class]
            )
        rows.append({"key": {"seed": seed}, "figures": figures})
    facts = {"lowest": min(correlations), "n_seeds": len(rows)}
    return {"rows": rows, "facts": facts}


def train_on_gaussians(seed: int) -> Gaussians:
    """Train a network of two layers on two Gaussians, and compute the Fisher eigenvalue of every point.

    Args:
        seed: Seed of the points and of the weights.
    """
    rng = np.random.default_rng(seed)
    lower = rng.multivariate_normal([-2, -2], np.eye(2), N_POINTS)
    upper = rng.multivariate_normal([3.5, 3.5], [[2, 1], [1, 2]], N_POINTS)
    points = np.concatenate((lower, upper))
    labels = np.repeat([0, 1], N_POINTS)
    # The weights depend only on the seed, and the caller's random state is restored.
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2)).double()
    inputs = torch.from_numpy(points)
    targets = torch.from_numpy(labels)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    for _ in range(200):
        optimizer.zero_grad()
        loss: Any = nn.functional.cross_entropy(network(inputs), targets)
        loss.backward()
        optimizer.step()

    # The Fisher information is computed with respect to the points, which therefore need gradients.
    inputs = inputs.clone().requires_grad_()
    logits = network(inputs)
    information = compute_leading_eigenvalues(logits, inputs, eigenvector=True)
    # The type says that this may be None, but with `eigenvector=True` it is not.
    directions = cast(torch.Tensor, information.eigenvector)
    return Gaussians(
        points=points,
        labels=labels,
        network=network,
        margins=_compute_margins(softmax(logits.detach().numpy())),
        eigenvalues=information.eigenvalues.numpy(),
        directions=directions.numpy(),
    )


def measure_pairs(work: Work) -> dict[str, Any]:
    """Train models on original reviews, and compare eigenvalues of pairs and flips by difficulty.

    Args:
        work: Settings, models, data and folder of the step. The settings have numbers of items, names of splits
            and training options.

    Returns:
        `rows`: comparison of originals and revisions by model, seed, data set and split; `substitutions`:
        flip rates by model, seed and kind of replacement; and `facts` of both.
    """
    train = work.load("imdb_counterfactual", None, "train")
    # Models are not trained on revised reviews, with which they are tested later.
    originals = work.sample(_select_originals(train), work.settings["n_train"])
    rows = []
    substitutions = []
    for model in _train_models(work, originals):
        for data_name in PAIRED_SETS:
            for split in work.settings["splits"]:
                # The names of data sets and splits are those of the paper.
                key = {
                    "model": model.name,
                    "seed": model.seed,
                    "set": data_name.removeprefix("imdb_"),
                    "split": split.replace("validation", "dev"),
                }
                pairs = _list_pairs(work, data_name, split)
                figures = _compare_pairs(model, pairs, model.folder / f"{data_name}-{split}")
                rows.append({"key": key, "figures": figures})
        substitutions += _replace_words(work, model, originals["text"][:N_NAMED_REVIEWS])
    return {
        "rows": rows,
        "facts": {**_summarize_pairs(rows), **_summarize_substitutions(substitutions)},
        "substitutions": substitutions,
    }


def _select_originals(reviews: datasets.Dataset) -> datasets.Dataset:
    """Return the original reviews of a data set of pairs, without their revisions."""
    roles = np.array(reviews["role"][:])
    return reviews.select(np.flatnonzero(roles == ORIGINAL))


def _train_models(work: Work, train: datasets.Dataset) -> Iterator[TrainedModel]:
    """Train each model of the recipe with each of its seeds, and yield it.

    Args:
        work: Settings, folder and data of the step; trained models are stored in its folder.
        train: Training reviews with `text` and `label`.
    """
    for name, path in work.models.items():
        # Each model has its own learning rate and maximum length.
        training = work.settings["training"][name]
        for seed in range(work.settings["n_runs"][name]):
            folder = work.folder / name / f"seed-{seed}"
            trained = fine_tune(
                work.prepare_model(path, train, folder / "untrained", seed),
                train.select_columns(["text", "label"]),
                out=folder / "model",
                seed=seed,
                checkpoint_steps=0,
                progress=False,
                **training,
            )
            yield TrainedModel(
                name=name,
                seed=seed,
                classifier=load_classifier(trained.folder),
                max_length=training["max_length"],
                folder=folder,
            )


def _compare_pairs(
    model: TrainedModel, pairs: Sequence[dict[str, str]], folder: Path
) -> dict[str, Any]:
    """Compare the largest Fisher eigenvalues of originals and revisions.

    Args:
        model: The trained model.
        pairs: Texts {"original": …, "revised": …} of each pair.
        folder: Folder in which the eigenvalues are stored.

    Returns:
        Figures: `mean` and standard deviation of the difference, original minus revision; `shift`, the mean
        divided by the deviation; `p_value`; `not_harder`, the percentage of originals that are not harder
        than their revisions; `overlap` of both distributions; and `margin`, the rank correlation of
        eigenvalues with small margins.
    """
    eigenvalues = []
    logits = []
    for role in (ORIGINAL, "revised"):
        information = fisher_information(
            model.classifier,
            [pair[role] for pair in pairs],
            max_length=model.max_length,
            progress=False,
            out=folder / role,
        )
        eigenvalues.append(information.eigenvalues)
        logits.append(np.asarray(information.logits, dtype=np.float64))
    original_values, revised_values = eigenvalues
    # As in the paper, a positive difference means that the original is harder than its revision.
    change = paired_difficulty(original_values, revised_values)
    overlap = distribution_overlap(original_values, revised_values)
    shift = None
    if change.std:
        shift = round(change.mean / change.std, 6)
    # The eigenvalue depends on the margin and on the gradient. The correlation shows the role of the margin.
    margins = _compute_margins(softmax(np.concatenate(logits)))
    correlation = _correlate_with_margin(np.concatenate(eigenvalues), margins)
    return {
        "mean": {"value": round(change.mean, 6), "std": round(change.std, 6)},
        "shift": shift,
        "p_value": change.p_value,
        "not_harder": round(100 * change.not_harder, 6),
        "overlap": round(100 * overlap.histogram, 6),
        "margin": correlation,
        "n_pairs": change.n_pairs,
    }


def _list_pairs(work: Work, data_name: str, split: str) -> list[dict[str, str]]:
    """Return the texts {"original": …, "revised": …} of each pair of a split, sorted by pair.

    Args:
        work: Settings, folder and data of the step; settings limit the number of pairs.
        data_name: A name of `PAIRED_SETS`.
        split: Name of the split.
    """
    originals: dict[Any, str] = {}
    revisions: dict[Any, str] = {}
    for row in work.load(data_name, None, split):
        if row["role"] == ORIGINAL:
            originals[row["pair_id"]] = row["text"]
        else:
            revisions[row["pair_id"]] = row["text"]
    # Pairs without an original or a revision are left out.
    pair_ids = sorted(set(originals) & set(revisions), key=str)
    # The maximum number of pairs; None for all.
    n_pairs = work.settings["n_pairs"]
    pairs = []
    for pair_id in pair_ids[:n_pairs]:
        pairs.append({ORIGINAL: originals[pair_id], "revised": revisions[pair_id]})
    return pairs


def _summarize_pairs(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Summarize the comparisons of originals and revisions, for the sentences of the recipe.

    Args:
        rows: Rows {"key": …, "figures": …}, with the figures of `_compare_pairs`.

    Returns:
        `n_harder` of `n_rows` comparisons in which revisions are harder on average, the largest p-value,
        and the lowest and highest correlation with the margin.
    """
    n_harder = 0
    largest_p_value = 0.0
    margins = []
    for row in rows:
        figures = row["figures"]
        margins.append(figures["margin"])
        n_harder += figures["mean"]["value"] < 0
        # The p-value is None if no eigenvalue changes.
        if figures["p_value"] is not None:
            largest_p_value = max(largest_p_value, figures["p_value"])
    return {
        "n_harder": n_harder,
        "n_rows": len(rows),
        "largest_p_value": largest_p_value,
        "lowest_margin": min(margins),
        "highest_margin": max(margins),
    }


def _summarize_substitutions(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Summarize the flip rates of easy and hard reviews over models and seeds.

    Args:
        rows: Rows {"key": …, "figures": …}, with the figures of `_describe_flips`.

    Returns:
        Lowest and highest flip rate of the hardest reviews, and highest flip rate of the easiest reviews,
        in percent.
    """
    hardest_rates = []
    easiest_rates = []
    for row in rows:
        if row["key"]["replaced by"] == "all kinds":
            hardest_rates.append(row["figures"]["hardest"])
            easiest_rates.append(row["figures"]["easiest"])
    # There are no rates if the vocabulary of a tiny model has no replacements.
    return {
        "lowest_hardest": min(hardest_rates, default=0.0),
        "highest_hardest": max(hardest_rates, default=0.0),
        "highest_easiest": max(easiest_rates, default=0.0),
    }


def _replace_words(
    work: Work, model: TrainedModel, train_texts: Sequence[str]
) -> list[dict[str, Any]]:
    """Measure how often replaced words flip the predictions of a sample of original reviews.

    The paper tests hard reviews by one replacement at a time, and easy reviews by several antonyms at
    once.

    Args:
        work: Settings, folder and data of the step.
        model: The trained model.
        train_texts: Training reviews, from which names of people are taken as replacements.

    Returns:
        A row {"key": …, "figures": …} of flip rates per kind of replacement.
    """
    # The last split of the recipe is the largest.
    split = work.settings["splits"][-1]
    reviews = work.load("imdb_counterfactual", None, split)
    reviews = work.sample(_select_originals(reviews), work.settings["n_substituted"])
    texts = reviews["text"][:]
    ids = reviews["id"][:]
    scoring = {"ids": ids, "max_length": model.max_length, "progress": False}
    eigenvalues = fisher_information(model.classifier, texts, **scoring).eigenvalues
    attributions = integrated_gradients(
        model.classifier,
        texts,
        unit="word",
        out=model.folder / "attributions",
        **work.settings["attribution"],
        **scoring,
    )

    lookups = list_lookups()
    options = SubstitutionOptions(
        max_length=model.max_length,
        name_pool=_list_names(train_texts),
        progress=False,
    )
    inputs: dict[str, Any] = {"ids": ids, "attributions": attributions}
    single_tests = substitution_tests(model.classifier, texts, lookups, options, **inputs)
    joint_options = options.replace(mode="joint", max_changes=work.settings["max_antonyms"])
    antonyms = {"antonym": lookups["antonym"]}
    joint_tests = substitution_tests(model.classifier, texts, antonyms, joint_options, **inputs)

    rows = []
    for kind, attempts in _group_attempts(single_tests, joint_tests).items():
        # There are no attempts if the vocabulary of a tiny model has no words of a kind.
        if attempts:
            key = {"model": model.name, "seed": model.seed, "replaced by": kind}
            rows.append({"key": key, "figures": _describe_flips(attempts, eigenvalues)})
    return rows


def _group_attempts(
    single_tests: SubstitutionTests, joint_tests: SubstitutionTests
) -> dict[str, list[Attempt]]:
    """Return kind of replacement, as named in the table -> its attempts.

    Args:
        single_tests: Replacements of one word at a time.
        joint_tests: Replacements of several words by antonyms.
    """
    attempts_by_kind: dict[str, list[Attempt]] = {"all kinds": list(single_tests.attempts)}
    for attempt in single_tests.attempts:
        attempts_by_kind.setdefault(attempt.kind, []).append(attempt)
    # The paper replaces four antonyms.
    four_antonyms = [attempt for attempt in joint_tests.attempts if len(attempt.changes) == 4]
    attempts_by_kind["four antonyms at once"] = four_antonyms
    attempts_by_kind["one antonym or more at once"] = list(joint_tests.attempts)
    return attempts_by_kind


def _describe_flips(attempts: Sequence[Attempt], eigenvalues: Floats) -> dict[str, Any]:
    """Return flip rates in percent: over all reviews, and over the easiest and the hardest quarter.

    Args:
        attempts: Attempts to flip the prediction of a review, each with the row of the review (`item`) and
            whether it succeeded (`flipped`).
        eigenvalues: (N,) largest Fisher eigenvalue of each review, by which the quarters are formed.
    """
    rates: FlipRates = flip_rates(
        [attempt.flipped for attempt in attempts],
        [attempt.item for attempt in attempts],
        eigenvalues,
    )
    # The groups are in the order of rising eigenvalues.
    easiest = rates.groups[0]
    hardest = rates.groups[-1]
    # The correlation is undefined if all reviews flip equally often.
    correlation = None
    if rates.correlation.rho is not None:
        correlation = round(rates.correlation.rho, 6)
    return {
        "n_attempts": rates.n_attempts,
        "rate": write_interval(rates.rate, rates.interval, scale=100),
        "easiest": round(100 * easiest.rate, 6),
        "hardest": round(100 * hardest.rate, 6),
        "hardest_items": round(100 * hardest.items_flipped, 6),
        "correlation": correlation,
    }


def _list_names(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct names of people in some texts."""
    names = set()
    for text in texts:
        for start, end in find_names(text):
            names.add(text[start:end])
    # Sort the names, because the order of a set differs between runs.
    return tuple(sorted(names))


def _correlate_with_margin(eigenvalues: Floats, margins: Floats) -> float:
    """Return Spearman's correlation of eigenvalues with negative margins, rounded to six digits."""
    result = stats.spearmanr(eigenvalues, -margins)
    return round(float(result.statistic), 6)


def _compute_margins(probabilities: Any) -> Floats:
    """Return the difference between the two largest probabilities of each row."""
    ordered = np.sort(np.asarray(probabilities, dtype=np.float64), axis=1)
    return np.asarray(ordered[:, -1] - ordered[:, -2])
