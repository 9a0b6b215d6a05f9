"""The figures of kernels are those of other libraries, or of plain formulas."""

import importlib.util

import numpy as np
import pytest
import torch
from netcal.metrics import ECE, MCE
from scipy import special, stats
from sklearn.calibration import calibration_curve
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    cohen_kappa_score,
    f1_score,
    log_loss,
    roc_auc_score,
)
from torchmetrics.functional.classification import multiclass_calibration_error

from rightreasons.calibration.errors import calibration_error
from rightreasons.calibration.human import human_calibration
from rightreasons.calibration.macro_error import macro_ce
from rightreasons.calibration.proper_scores import (
    auroc,
    brier_score,
    negative_log_likelihood,
    selective_scores,
)
from rightreasons.calibration.recalibrators import fit_temperature
from rightreasons.calibration.smooth import smooth_ece
from rightreasons.core.classification import accuracy, classification_scores
from rightreasons.core.intervals import wilson
from rightreasons.core.resampling import Resampling
from rightreasons.cues.easy_hard import easy_hard_gap
from rightreasons.difficulty.contrast import contrast_consistency
from rightreasons.probes.bias import prior_bias
from rightreasons.probes.reading import measure_reading
from rightreasons.reasons.sway import phi_cct
from rightreasons.shortcuts.swaps import deciding_share
from rightreasons.shortcuts.tradeoff import shortcut_tradeoff
from rightreasons.training.metrics import compute_metrics
from tester import Peer, PeerItems

FEW = Resampling(resamples=20)


def list_filled_bins(items, strategy):
    """Return the accuracies and confidences of the bins of P(class 1) that hold items."""
    bins = calibration_error(
        items.probabilities, items.labels, kind="positive", n_bins=10, strategy=strategy
    ).bins
    filled = [row for row in bins if row.count]
    return [row.accuracy for row in filled], [row.confidence for row in filled]


def torchmetrics_ece(items, n_bins, norm):
    """Return the calibration error of torchmetrics."""
    probabilities = torch.tensor(items.probabilities)
    return multiclass_calibration_error(
        probabilities,
        torch.tensor(items.labels),
        num_classes=probabilities.shape[1],
        n_bins=n_bins,
        norm=norm,
    )


def torchmetrics_trainer_ece(items):
    """Return the figure of torchmetrics for the logits of a Trainer."""
    return torchmetrics_ece(items, 15, "l1")


def smooth_ece_of_relplot(items):
    """Return the smooth calibration error of relplot."""
    import relplot

    return relplot.smECE(items.confidence, items.is_correct.astype(int))


def wilson_of_scipy(items):
    """Return the Wilson interval of scipy."""
    test = stats.binomtest(int(items.is_correct.sum()), len(items.labels))
    interval = test.proportion_ci(0.95, method="wilson")
    return interval.low, interval.high


def wilson_of_ours(items):
    """Return our Wilson interval."""
    interval = wilson(int(items.is_correct.sum()), len(items.labels))
    return interval.low, interval.high


def total_variation(items):
    """Return the mean total variation distance from the votes, by its definition."""
    votes = make_votes(items)
    shares = votes / votes.sum(axis=1, keepdims=True)
    return (np.abs(items.probabilities - shares).sum(axis=1) / 2).mean()


def make_votes(items):
    """Make a vote for the label of each item, and one for the predicted class."""
    n_classes = items.probabilities.shape[1]
    return np.eye(n_classes)[items.labels] + np.eye(n_classes)[items.predictions]


def area_under_risk(items):
    """Return the area under the risk-coverage curve, item by item."""
    order = np.argsort(-items.confidence, kind="stable")
    errors = np.cumsum(~items.is_correct[order])
    return (errors / np.arange(1, len(errors) + 1)).mean()


def mean_ice(items):
    """Return the mean error of the confidences of correct and of incorrect predictions."""
    confidence = items.confidence
    correct = np.abs(1 - confidence[items.is_correct]).mean()
    return (correct + confidence[~items.is_correct].mean()) / 2


def best_inverse_temperature(items):
    """Return the best temperature on a fine grid."""
    logits = np.log(items.probabilities) * 1.7
    temperatures = np.linspace(0.05, 10, 4000)
    losses = []
    for temperature in temperatures:
        log_probabilities = special.log_softmax(logits / temperature, axis=1)
        losses.append(-log_probabilities[np.arange(len(logits)), items.labels].mean())
    return temperatures[int(np.argmin(losses))]


def make_pairs(items):
    """Make contrast sets of two items each."""
    n_items = len(items.labels) // 2 * 2
    groups = [f"set {item // 2}" for item in range(n_items)]
    return items.predictions[:n_items], items.labels[:n_items], groups


PEERS = [
    *(
        Peer(
            f"{norm} error in {n_bins} bins, torchmetrics",
            lambda items, n=n_bins, norm=norm: (
                calibration_error(items.probabilities, items.labels, n_bins=n, norm=norm).ece
            ),
            lambda items, n=n_bins, norm=norm: torchmetrics_ece(items, n, norm),
            package="torchmetrics",
            tolerance=1e-6,
        )
        for norm in ("l1", "l2", "max")
        for n_bins in (1, 10, 15)
    ),
    Peer(
        "ECE, netcal",
        lambda items: calibration_error(items.probabilities, items.labels).ece,
        lambda items: ECE(15).measure(items.confidence, items.is_correct.astype(int)),
        package="netcal",
        tolerance=1e-6,
    ),
    Peer(
        "MCE, netcal",
        lambda items: calibration_error(items.probabilities, items.labels).mce,
        lambda items: MCE(15).measure(items.confidence, items.is_correct.astype(int)),
        package="netcal",
        tolerance=1e-6,
    ),
    Peer(
        "ECE of Trainer's metrics, torchmetrics",
        lambda items: compute_metrics("ece")((np.log(items.probabilities), items.labels))["ece"],
        torchmetrics_trainer_ece,
        package="torchmetrics",
        tolerance=1e-6,
    ),
    Peer(
        "smooth ECE, relplot",
        lambda items: smooth_ece(items.probabilities, items.labels).smooth_ece,
        smooth_ece_of_relplot,
        package="relplot",
        tolerance=1e-3,
    ),
    Peer(
        "Brier score, formula",
        lambda items: brier_score(items.probabilities, items.labels).brier,
        lambda items: (
            ((items.probabilities - np.eye(items.probabilities.shape[1])[items.labels]) ** 2)
            .sum(axis=1)
            .mean()
        ),
    ),
    Peer(
        "log loss, scikit-learn",
        lambda items: negative_log_likelihood(items.probabilities, items.labels).nll,
        lambda items: log_loss(
            items.labels, items.probabilities, labels=range(items.probabilities.shape[1])
        ),
    ),
    Peer(
        "AUROC, scikit-learn",
        lambda items: auroc(items.confidence, items.is_correct),
        lambda items: roc_auc_score(items.is_correct, items.confidence),
    ),
    Peer(
        "AUROC of tied confidences, scikit-learn",
        lambda items: auroc(items.confidence.round(1), items.is_correct),
        lambda items: roc_auc_score(items.is_correct, items.confidence.round(1)),
    ),
    Peer(
        "AURC, formula",
        lambda items: selective_scores(items.probabilities, items.labels).aurc,
        area_under_risk,
    ),
    Peer(
        "MacroCE, formula",
        lambda items: macro_ce(items.probabilities, items.labels).macro_ce,
        mean_ice,
    ),
    Peer(
        "temperature, grid",
        lambda items: fit_temperature(np.log(items.probabilities) * 1.7, items.labels).temperature,
        best_inverse_temperature,
        tolerance=0.003,
    ),
    Peer(
        "DistCE, formula",
        lambda items: (
            human_calibration(
                items.probabilities, make_votes(items).astype(int), resampling=FEW
            ).dist_ce
        ),
        total_variation,
    ),
    Peer(
        "accuracy, scikit-learn",
        lambda items: accuracy(items.predictions, items.labels),
        lambda items: accuracy_score(items.labels, items.predictions),
    ),
    *(
        Peer(
            f"{average} F1, scikit-learn",
            lambda items, average=average: (
                classification_scores(items.predictions, items.labels, average=average).f1
            ),
            lambda items, average=average: f1_score(
                items.labels, items.predictions, average=average
            ),
        )
        for average in ("macro", "micro", "weighted")
    ),
    Peer(
        "F1 of each class, scikit-learn",
        lambda items: classification_scores(items.predictions, items.labels).class_f1,
        lambda items: f1_score(items.labels, items.predictions, average=None),
    ),
    Peer(
        "score of the shortcut trade-off, scikit-learn",
        lambda items: (
            shortcut_tradeoff(
                items.predictions, items.labels, items.is_correct, resampling=FEW
            ).shortcut_tradeoff
        ),
        lambda items: (
            f1_score(items.labels, items.predictions, average="macro") / items.is_correct.mean()
        ),
    ),
    Peer("Wilson interval, scipy", wilson_of_ours, wilson_of_scipy),
    Peer(
        "prior bias, numpy",
        lambda items: prior_bias(items.probabilities).prior_bias,
        lambda items: items.probabilities.var(axis=1).mean(),
    ),
    Peer(
        "divergence from uniform, scipy",
        lambda items: prior_bias(items.probabilities).divergence_from_uniform,
        lambda items: (
            np.log(items.probabilities.shape[1]) - stats.entropy(items.probabilities, axis=1)
        ).mean(),
    ),
    Peer(
        "t-test of prior bias, scipy",
        lambda items: prior_bias(items.probabilities).t_p_value,
        lambda items: (
            stats.ttest_1samp(items.probabilities.var(axis=1), 0, alternative="greater").pvalue
        ),
    ),
    Peer(
        "agreement beyond chance, Cohen's kappa of scikit-learn",
        lambda items: (
            measure_reading(
                items.predictions,
                items.labels,
                n_choices=np.full(len(items.labels), items.probabilities.shape[1]),
            ).beyond_chance.value
        ),
        # Chance is here over the other items only, a difference of the order of 1 / N.
        lambda items: cohen_kappa_score(items.predictions, items.labels),
        tolerance=0.02,
    ),
    Peer(
        "phi-CCT, numpy",
        lambda items: phi_cct(items.is_correct, items.predictions == 0).phi,
        lambda items: np.corrcoef(items.is_correct, items.predictions == 0)[0, 1],
    ),
    Peer(
        "Easy/Hard gap, formula",
        lambda items: (
            easy_hard_gap(
                items.predictions,
                items.labels,
                items.is_correct,
                n_permutations=20,
                resampling=FEW,
            ).easy_hard_gap
        ),
        lambda items: (
            (items.predictions == items.labels)[items.is_correct].mean()
            - (items.predictions == items.labels)[~items.is_correct].mean()
        ),
    ),
    Peer(
        "contrast consistency, formula",
        lambda items: contrast_consistency(*make_pairs(items)).contrast_consistency,
        lambda items: (
            (make_pairs(items)[0] == make_pairs(items)[1]).reshape(-1, 2).all(axis=1).mean()
        ),
    ),
    Peer(
        "deciding share, formula",
        lambda items: (
            deciding_share(
                items.predictions, items.labels, items.probabilities.argmax(axis=1)
            ).deciding_share
        ),
        lambda items: (
            (items.labels != items.predictions).mean()
            - (items.probabilities.argmax(axis=1) != items.predictions).mean()
        ),
    ),
]


@pytest.mark.parametrize(("n_items", "n_classes"), [(200, 2), (1000, 3), (997, 7)])
@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_figures_are_those_of_the_peer(peer, n_items, n_classes):
    if peer.package is not None and importlib.util.find_spec(peer.package) is None:
        pytest.skip(f"{peer.package} is not installed")
    items = PeerItems.draw(n_items, n_classes, seed=n_classes)
    expected = np.asarray(peer.theirs(items), dtype=float)
    assert np.asarray(peer.ours(items), dtype=float) == pytest.approx(expected, abs=peer.tolerance)


BINARY_PEERS = [
    *(
        Peer(
            f"reliability diagram of {strategy} bins, scikit-learn",
            lambda items, strategy=strategy: list_filled_bins(items, strategy),
            lambda items, strategy=strategy: calibration_curve(
                items.labels, items.probabilities[:, 1], n_bins=10, strategy=strategy
            ),
            tolerance=1e-6,
        )
        for strategy in ("uniform", "quantile")
    ),
    Peer(
        "ECE of P(class 1), netcal",
        lambda items: (
            calibration_error(items.probabilities[:, 1], items.labels, kind="positive").ece
        ),
        lambda items: ECE(15).measure(items.probabilities[:, 1], items.labels),
        package="netcal",
        tolerance=1e-6,
    ),
    Peer(
        "Brier score of P(class 1), scikit-learn",
        lambda items: brier_score(items.probabilities, items.labels, kind="positive").brier,
        lambda items: brier_score_loss(items.labels, items.probabilities[:, 1]),
    ),
    Peer(
        "binary F1, scikit-learn",
        lambda items: classification_scores(items.predictions, items.labels, average="binary").f1,
        lambda items: f1_score(items.labels, items.predictions),
    ),
]


@pytest.mark.parametrize("n_items", [97, 1000])
@pytest.mark.parametrize("peer", BINARY_PEERS, ids=lambda peer: peer.name)
def test_figures_of_two_classes_are_those_of_the_peer(peer, n_items):
    items = PeerItems.draw(n_items, 2, seed=n_items)
    expected = np.asarray(peer.theirs(items), dtype=float)
    assert np.asarray(peer.ours(items), dtype=float) == pytest.approx(expected, abs=peer.tolerance)
