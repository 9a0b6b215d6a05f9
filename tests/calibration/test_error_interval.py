"""Resamples of bins and events of a calibrated model, against the laws that they follow."""

import numpy as np
import pytest

from rightreasons.calibration import error_interval
from rightreasons.calibration.error_interval import (
    draw_calibrated_clusters,
    draw_resamples,
    make_error_interval,
    resample_rows,
)
from rightreasons.calibration.errors import calibration_error
from rightreasons.core.binning import BinnedPairs, assign_bins, make_uniform_edges
from rightreasons.core.resampling import Resampling


def make_sample(n_clusters, size, n_bins=5, seed=0):
    """Calibrated scores in clusters of one size, and events that agree within each cluster."""
    rng = np.random.default_rng(seed)
    scores = rng.uniform(0.5, 1.0, n_clusters * size)
    clusters = np.repeat(np.arange(n_clusters), size)
    events = rng.random(n_clusters)[clusters] < scores
    return BinnedPairs([(scores, events)], n_bins, clusters=clusters)


def compute_exact_moments(sample):
    """Mean and covariance of the numbers of events if each cluster follows one uniform number.

    Two events of a cluster come true together with probability min(p, q), so that their covariance
    is min(p, q) - p q.
    """
    scores, _ = sample.pairs[0]
    bins = np.eye(sample.n_bins)[
        assign_bins(scores, make_uniform_edges(sample.n_bins), is_uniform=True)
    ]
    covariance = np.zeros((sample.n_bins, sample.n_bins))
    for cluster in range(sample.clusters.max() + 1):
        p = scores[sample.clusters == cluster]
        inside = bins[sample.clusters == cluster]
        covariance += inside.T @ (np.minimum.outer(p, p) - np.outer(p, p)) @ inside
    return scores @ bins, covariance


class TestCalibratedClusters:
    @pytest.mark.parametrize("max_exact_draws", [10**9, 0])
    @pytest.mark.parametrize(("n_clusters", "size"), [(300, 4), (2, 40), (1500, 2)])
    def test_events_have_the_mean_and_the_covariance_of_the_law(
        self, n_clusters, size, max_exact_draws, monkeypatch
    ):
        monkeypatch.setattr(error_interval, "MAX_EXACT_DRAWS", max_exact_draws)
        sample = make_sample(n_clusters, size)
        mean, covariance = compute_exact_moments(sample)

        draws = draw_calibrated_clusters(sample, Resampling(resamples=20_000))

        deviations = np.sqrt(np.diag(covariance))
        assert draws.shape == (20_000, 5)
        # The standard error of a mean of 20,000 draws is 0.7 % of a deviation; four of them. Groups
        # of simulations know a variance to a few percent.
        filled = deviations > 0
        assert np.abs(draws.mean(axis=0) - mean)[filled] == pytest.approx(
            np.zeros(filled.sum()), abs=0.03 * deviations.max()
        )
        scale = np.outer(deviations, deviations)[np.ix_(filled, filled)]
        error = (np.cov(draws.T) - covariance)[np.ix_(filled, filled)] / scale
        assert np.abs(error).max() < 0.15

    def test_simulations_are_combined_if_there_are_many_items(self, monkeypatch):
        sample = make_sample(1000, 3)
        exact = draw_calibrated_clusters(sample, Resampling(resamples=400))
        assert (exact == np.rint(exact)).all()
        monkeypatch.setattr(error_interval, "MAX_EXACT_DRAWS", 30_000)
        combined = draw_calibrated_clusters(sample, Resampling(resamples=400))
        assert (combined != np.rint(combined)).any()

    def test_a_bin_never_has_more_events_than_items_or_less_than_none(self, monkeypatch):
        monkeypatch.setattr(error_interval, "MAX_EXACT_DRAWS", 0)
        scores = np.repeat([0.99, 0.01], 600)
        sample = BinnedPairs([(scores, scores > 0.5)], 2, clusters=np.arange(1200) // 2)
        draws = draw_calibrated_clusters(sample, Resampling(resamples=2000))
        assert draws.min() >= 0
        assert draws.max() <= 600

    def test_only_scores_above_the_threshold_are_drawn(self):
        scores = np.array([0.2, 0.9, 0.9, 0.3])
        sample = BinnedPairs(
            [(scores, scores > 0.5)], 2, threshold=0.5, clusters=np.array([0, 0, 1, 2])
        )
        draws = draw_calibrated_clusters(sample, Resampling(resamples=500))
        assert (draws[:, 0] == 0).all()
        # Two clusters of one item each: 1.8 events.
        assert draws[:, 1].mean() == pytest.approx(1.8, abs=4 * np.sqrt(0.18 / 500))


class TestResamples:
    @pytest.mark.parametrize("is_clustered", [False, True])
    def test_units_are_drawn_with_replacement(self, is_clustered):
        # Four units of two items each: a resample holds 8 items, or 2 times 4 of 4 clusters.
        clusters = np.arange(8) // 2 if is_clustered else None
        scores = np.linspace(0.05, 0.95, 8)
        sample = BinnedPairs([(scores, scores > 0.3)], 8, clusters=clusters)
        bins = resample_rows(sample, Resampling(resamples=4000))
        counts = bins.count[:, 0]
        assert (counts.sum(axis=1) == 8).all()
        if is_clustered:
            assert (counts[:, 0::2] == counts[:, 1::2]).all()
        n_units = 4 if is_clustered else 8
        # A unit is drawn Bin(n, 1 / n) times, with the variance 1 - 1 / n.
        assert counts.mean(axis=0) == pytest.approx(np.ones(8), abs=0.07)
        assert counts.var(axis=0) == pytest.approx(np.full(8, 1 - 1 / n_units), rel=0.15)
        assert bins.score[:, 0] == pytest.approx(counts * scores)
        assert bins.event[:, 0] == pytest.approx(counts * (scores > 0.3))

    def test_many_clusters_are_put_into_groups(self, monkeypatch):
        sample = make_sample(3000, 2)
        whole = resample_rows(sample, Resampling(resamples=2000)).score.std(axis=0)
        monkeypatch.setattr(error_interval, "BOOTSTRAP_GROUPS", 500)
        grouped = resample_rows(sample, Resampling(resamples=2000)).score.std(axis=0)
        filled = whole > 0
        assert grouped[filled] == pytest.approx(whole[filled], rel=0.2)

    def test_clusters_per_item_and_calibrated_events_go_with_the_resamples(self):
        independent = draw_resamples(make_sample(20, 1), Resampling(resamples=10))
        assert independent.units_per_item == 1
        assert independent.calibrated.shape == (10, 1, 5)
        clustered = draw_resamples(make_sample(20, 4), Resampling(resamples=10))
        assert clustered.units_per_item == 0.25
        pairs = [(np.array([0.2, 0.7]), np.array([True, False]))] * 2
        assert draw_resamples(BinnedPairs(pairs, 3), Resampling(resamples=10)).calibrated is None


def test_draws_that_exist_already_give_the_interval_of_fresh_ones():
    sample = make_sample(50, 3)
    resampling = Resampling(resamples=100)
    draws = draw_resamples(sample, resampling)
    assert make_error_interval(sample, "l2", resampling, draws) == make_error_interval(
        sample, "l2", resampling
    )


def test_clusters_of_one_item_have_about_the_interval_of_independent_items():
    rng = np.random.default_rng(4)
    confidence = rng.uniform(0.5, 1, 3000)
    correct = rng.random(3000) < confidence - 0.1
    resampling = Resampling(resamples=2000)
    options = {"kind": "confidence", "resampling": resampling}
    independent = calibration_error(confidence, correct, **options).interval
    clustered = calibration_error(confidence, correct, clusters=np.arange(3000), **options).interval
    width = independent.high - independent.low
    assert clustered.low == pytest.approx(independent.low, abs=0.1 * width)
    assert clustered.high == pytest.approx(independent.high, abs=0.1 * width)
