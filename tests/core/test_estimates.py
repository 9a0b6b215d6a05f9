"""Figures with their intervals."""

import numpy as np
import pytest

from rightreasons.core.bootstrap import bootstrap_mean
from rightreasons.core.estimates import (
    Estimate,
    estimate_mean,
    estimate_rate,
    estimate_share,
    make_estimate,
    make_rate_interval,
    subtract_reference,
)
from rightreasons.core.intervals import Interval, cluster_wilson, wilson
from rightreasons.core.resampling import Resampling


@pytest.mark.parametrize("ends", [{"low": 0.1}, {"high": 0.9}])
def test_an_interval_has_both_ends(ends):
    with pytest.raises(ValueError, match="both ends"):
        Estimate(0.5, **ends)


def test_an_estimate_may_have_no_interval():
    assert not Estimate(0.5).has_interval
    assert Estimate(0.5, 0.0, 1.0).has_interval


class TestJoin:
    def test_a_figure_has_the_level_and_the_method_of_its_interval(self):
        interval = Interval(0.1, 0.3, 0.9, "BCa bootstrap", 1234)

        estimate = make_estimate(0.2, interval)

        assert estimate == Estimate(0.2, 0.1, 0.3, 0.9, "BCa bootstrap, 1,234 resamples")

    def test_an_interval_in_closed_form_has_no_resamples(self):
        assert make_estimate(0.2, Interval(0.1, 0.3, 0.9, "Wilson")).method == "Wilson"

    def test_an_undefined_figure_or_interval_is_dropped(self):
        assert make_estimate(None, Interval(0.1, 0.3, 0.9, "Wilson")) == Estimate(None)
        assert make_estimate(0.2, None) == Estimate(0.2)

    @pytest.mark.parametrize(
        ("low", "width", "has_interval"),
        [
            # A width of up to 1e-9 of the larger end is rounding, or of 1e-3 if that is larger.
            (0.5, 0.0, False),
            (0.5, 4e-10, False),
            (0.5, 6e-10, True),
            (-0.5, 4e-10, False),
            (-0.5, 6e-10, True),
            (1e-6, 0.9e-12, False),
            (1e-6, 1.1e-12, True),
        ],
    )
    def test_an_interval_without_width_is_dropped(self, low, width, has_interval):
        estimate = make_estimate(low, Interval(low, low + width, 0.95, "BCa bootstrap", 100))

        assert estimate.has_interval is has_interval
        assert ("no resample differs" in estimate.method) is not has_interval


def test_a_reference_is_subtracted_from_figure_and_ends():
    estimate = Estimate(0.75, 0.5, 1.0, 0.9, "Wilson")

    assert subtract_reference(estimate, 0.25) == Estimate(0.5, 0.25, 0.75, 0.9, "Wilson")
    assert subtract_reference(Estimate(None, method="none"), 0.25) == Estimate(None, method="none")


class TestShares:
    resampling = Resampling(level=0.8)

    def test_a_share_has_its_wilson_interval(self):
        interval = wilson(3, 4, confidence_level=0.8)

        estimate = estimate_share(3, 4, self.resampling)

        assert estimate == Estimate(0.75, interval.low, interval.high, 0.8, interval.method)
        assert estimate_rate([1, 0, True, 1], self.resampling) == estimate
        assert make_rate_interval([1, 0, True, 1], self.resampling) == interval

    def test_flags_of_clusters(self):
        interval = cluster_wilson([2, 0], [2, 1], confidence_level=0.8)

        estimate = estimate_rate([1, 0, 1], self.resampling, clusters=["a", "b", "a"])

        assert (estimate.value, estimate.low) == (pytest.approx(2 / 3), interval.low)
        assert make_rate_interval([1, 0, 1], self.resampling, ["a", "b", "a"]) == interval

    def test_clusters_of_one_item_give_the_plain_interval(self):
        flags = [True, False, True, True]

        clustered = estimate_rate(flags, Resampling(), clusters=list("abcd"))

        plain = estimate_share(3, 4, Resampling())
        assert (clustered.low, clustered.high) == pytest.approx((plain.low, plain.high))

    def test_no_items_have_no_share(self):
        assert estimate_share(0, 0, self.resampling) is None
        assert estimate_rate([], self.resampling) is None
        assert estimate_mean([], self.resampling) is None


def test_a_mean_has_the_interval_of_its_bootstrap():
    values = np.array([0.0, 0.5, 1.0, 0.75])
    for arguments in ({}, {"bounds": (0, 1)}, {"clusters": ["a", "a", "b", "c"]}):
        interval = bootstrap_mean(values, resampling=Resampling(seed=2), **arguments)

        estimate = estimate_mean(values, Resampling(seed=2), **arguments)

        assert estimate.value == 2.25 / 4
        assert (estimate.low, estimate.high) == (interval.low, interval.high)
