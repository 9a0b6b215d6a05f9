"""From a figure with its interval to a decision."""

import pytest

from rightreasons.core.decisions import (
    MARGINS,
    Decision,
    Margin,
    Power,
    decide,
    decide_above,
)
from rightreasons.core.estimates import Estimate

MARGIN = Margin(small=0.1, large=0.25)


def test_margins_are_those_of_the_documents():
    assert {name: (margin.small, margin.large) for name, margin in MARGINS.items()} == {
        "decides": (0.10, 0.25),
        "format": (0.05, 0.05),
        "confidence": (0.05, 0.05),
        "kept": (0.10, 0.25),
        "accuracy": (0.10, 0.10),
        "order": (0.10, 0.50),
        "sway": (0.05, 0.05),
        "paralysis": (0.02, 0.02),
    }


class TestDecide:
    @pytest.mark.parametrize(
        ("low", "high", "level"),
        [
            (-0.09, 0.09, "small"),
            (-0.1, 0.09, "unknown"),
            (-0.09, 0.1, "unknown"),
            (0.11, 0.9, "some"),
            (0.1, 0.9, "unknown"),
            (-0.9, -0.11, "some"),
            (-0.9, -0.1, "unknown"),
            (0.26, 0.9, "large"),
            (0.25, 0.9, "some"),
            (-0.9, -0.26, "large"),
            (-0.9, -0.25, "some"),
            (-0.5, 0.5, "unknown"),
        ],
    )
    def test_the_whole_interval_is_on_one_side_of_a_margin(self, low, high, level):
        decision = decide(Estimate((low + high) / 2, low, high), MARGIN, 100)

        assert (decision.level, decision.n_items) == (level, 100)
        if level != "unknown":
            assert decision.n_needed is None

    @pytest.mark.parametrize("estimate", [None, Estimate(0.5), Estimate(None)])
    def test_without_an_interval_nothing_is_known(self, estimate):
        assert decide(estimate, MARGIN, 100) == Decision("unknown", 100)
        assert decide_above(estimate, MARGIN, 100) == Decision("unknown", 100)

    @pytest.mark.parametrize(("n_units", "level"), [(20, "small"), (19, "unknown")])
    def test_fewer_than_twenty_units_decide_nothing(self, n_units, level):
        estimate = Estimate(0.0, -0.01, 0.01)

        assert decide(estimate, MARGIN, 100, n_units).level == level
        assert decide(estimate, MARGIN, n_units).level == level


class TestNeededItems:
    @pytest.mark.parametrize("value", [0.0, 0.05, 0.0999, 0.1, 0.3])
    def test_the_number_does_not_depend_on_the_figure(self, value):
        # A share has a half width of 0.1 with (1.96 / 2 / 0.1)² = 96.04 items.
        estimate = Estimate(value, value - 0.4, value + 0.4)

        assert decide(estimate, MARGIN, 50).n_needed == 100
        assert decide_above(estimate, MARGIN, 50).n_needed == 100

    def test_more_tests_need_more_items(self):
        # With five tests, the quantile is 2.576: (2.576 / 2 / 0.1)² = 165.9.
        estimate = Estimate(0.0, -0.4, 0.4, level=0.99)

        assert decide(estimate, MARGIN, 50).n_needed == 170
        assert Power("kept", n_tests=5).n_planned == 170

    def test_items_are_counted_not_the_clusters_that_they_come_in(self):
        # 100 clusters of four items.
        assert decide(Estimate(0.0, -0.4, 0.4), MARGIN, 100, 25).n_needed == 400
        # 100 clusters of three items.
        assert decide(Estimate(0.0, -1.0, 1.0), MARGIN, 3, 0).n_needed == 300

    def test_there_is_none_if_there_are_as_many_items(self):
        estimate = Estimate(0.05, -0.05, 0.15)

        assert decide(estimate, MARGIN, 99).n_needed == 100
        assert decide(estimate, MARGIN, 100).n_needed is None

    def test_no_verdict_takes_fewer_than_twenty(self):
        # A share has a half width of 0.5 with 3.84 items.
        assert decide(Estimate(0.0, -1.0, 1.0), Margin(0.5, 0.5), 2).n_needed == 20

    def test_the_sentence_before_a_run_has_the_same_number(self):
        power = Power("confidence", n_tests=2)

        assert "about 510 items" in power.describe(60)
        assert power.find_needed_items(60) == 510
        assert power.find_needed_items(60, 20) == 1530
        assert power.find_needed_items(510) is None


class TestDecideAbove:
    def test_a_figure_below_0_is_small(self):
        assert decide_above(Estimate(-0.5, -0.6, -0.4), MARGIN, 100).level == "small"
        assert decide_above(Estimate(-0.5, -0.9, 0.05), MARGIN, 100).level == "small"

    def test_a_figure_above_0_is_decided_as_any_other(self):
        for estimate in (Estimate(0.5, 0.4, 0.6), Estimate(0.2, 0.15, 0.25)):
            assert decide_above(estimate, MARGIN, 100) == decide(estimate, MARGIN, 100)

    def test_an_unknown_figure_needs_the_planned_items(self):
        estimate = Estimate(0.05, -0.15, 0.25)

        assert decide_above(estimate, MARGIN, 40) == Decision("unknown", 40, 100)

    def test_units_count(self):
        assert decide_above(Estimate(-0.5, -0.6, -0.4), MARGIN, 100, 19).level == "unknown"


class TestPower:
    def test_few_items(self):
        # 1.96 / 2 / sqrt(80) = 0.1096, and (1.96 / 2 / 0.05)² = 384.1 items.
        text = Power("confidence").describe(80)

        assert "11 points" in text
        assert text.endswith("about 390 items")

    def test_several_tests_on_a_part_of_the_items(self):
        # z of 1 - 0.05 / 16 is 2.734: 2.734 / 2 / sqrt(500) = 0.0611; (2.734 / 0.2)² / 0.5 = 373.8
        # items at the margin of 0.1.
        power = Power("decides", n_tests=8, item_fraction=0.5)

        assert "6 points" in power.describe(1000)
        assert "so about" not in power.describe(1000)
        assert "so about" not in power.describe(374)
        assert power.describe(370).endswith("about 380 items")

    @pytest.mark.parametrize(("n_items", "points"), [(0, "98 points"), (1, "98 points")])
    def test_no_items_are_described_as_one(self, n_items, points):
        assert points in Power("order").describe(n_items)

    def test_no_difference_exceeds_100_points(self):
        # 2.807 / 2 = 1.4.
        assert "100 points" in Power("order", n_tests=10).describe(1)
