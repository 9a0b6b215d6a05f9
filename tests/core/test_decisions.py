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
    def test_an_interval_half_as_wide_takes_four_times_the_items(self):
        # The margin is 0.05 away, and the half width is 0.1.
        estimate = Estimate(0.05, -0.05, 0.15)

        assert decide(estimate, MARGIN, 100).n_needed == 400
        # Items are counted, not the 25 clusters that they come in.
        assert decide(estimate, MARGIN, 100, 25).n_needed == 400
        assert decide(Estimate(-0.05, -0.15, 0.05), MARGIN, 100).n_needed == 400

    def test_numbers_are_rounded_up_to_two_digits(self):
        # 123 * (0.1 / 0.05)² = 492, and 250 * (0.3 / 0.1)² = 2250.
        assert decide(Estimate(0.05, -0.05, 0.15), MARGIN, 123).n_needed == 500
        assert decide(Estimate(0.2, -0.1, 0.5), MARGIN, 250).n_needed == 2300
        # 24 * 4 = 96 has only two digits.
        assert decide(Estimate(0.05, -0.05, 0.15), MARGIN, 24).n_needed == 96

    def test_at_least_one_more_item_is_needed(self):
        # A skewed interval: its half width 0.1 is below the distance 0.2, but it ends at -0.05.
        assert decide(Estimate(0.3, 0.05, 0.25), MARGIN, 50).n_needed == 51

    def test_a_figure_on_the_margin_is_never_decided(self):
        assert decide(Estimate(0.1, 0.0, 0.2), MARGIN, 100).n_needed is None

    def test_more_than_ten_million_items_are_not_recommended(self):
        # 100 * (0.1 / 0.0004)² = 6.25 million; half the distance takes four times as many.
        assert decide(Estimate(0.0996, 0.0, 0.2), MARGIN, 100).n_needed == 6_300_000
        assert decide(Estimate(0.0998, 0.0, 0.2), MARGIN, 100).n_needed is None

    def test_an_interval_without_width_is_not_extrapolated(self):
        assert decide(Estimate(0.2, 0.1, 0.1), MARGIN, 100).n_needed is None

    def test_few_units_with_a_narrow_interval_need_twenty(self):
        # 19 clusters of 95 items: 20 like them have 20/19 of the items.
        decision = decide(Estimate(0.0, -0.01, 0.01), MARGIN, 95, 19)

        assert decision == Decision("unknown", 95, 100)
        # Of 100 items, 20/19 are 105.3.
        assert decide(Estimate(0.0, -0.01, 0.01), MARGIN, 100, 19).n_needed == 106

    @pytest.mark.parametrize(
        ("small", "expected"),
        [
            # A share has a half width of at most 0.98 / sqrt(n): 0.05 takes 384.16 items, 0.1 takes
            # 96.04, and 0.5 takes 3.84, of which there are never fewer than 20.
            (0.05, 385),
            (0.1, 97),
            (0.5, 20),
        ],
    )
    def test_few_units_with_a_wide_interval_need_those_of_any_share(self, small, expected):
        decision = decide(Estimate(-0.225, -1.0, 1.0), Margin(small, small), 2)

        assert decision.n_needed == expected

    def test_an_interval_up_to_the_margin_is_wide(self):
        assert decide(Estimate(0.0, -0.1, 0.05), MARGIN, 2).n_needed == 97
        assert decide(Estimate(0.0, -0.05, 0.1), MARGIN, 2).n_needed == 97
        assert decide(Estimate(0.0, -0.09, 0.09), MARGIN, 2).n_needed == 20

    def test_no_units_at_all(self):
        # 97 units of three items.
        assert decide(Estimate(0.0, -1.0, 1.0), MARGIN, 3, 0).n_needed == 291


class TestDecideAbove:
    def test_a_figure_below_0_is_small(self):
        assert decide_above(Estimate(-0.5, -0.6, -0.4), MARGIN, 100).level == "small"
        assert decide_above(Estimate(-0.5, -0.9, 0.05), MARGIN, 100).level == "small"

    def test_a_figure_above_0_is_decided_as_any_other(self):
        for estimate in (Estimate(0.5, 0.4, 0.6), Estimate(0.2, 0.15, 0.25)):
            assert decide_above(estimate, MARGIN, 100) == decide(estimate, MARGIN, 100)

    def test_an_unknown_figure_needs_the_items_of_its_whole_interval(self):
        # The distance to the margin is 0.05 and the half width 0.2: 100 * 16 items.
        estimate = Estimate(0.05, -0.15, 0.25)

        assert decide_above(estimate, MARGIN, 100) == Decision("unknown", 100, 1600)

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
