"""Accuracy and flip rates by difficulty: closed forms, and an independent count."""

import numpy as np
import pytest
from scipy import stats

from rightreasons.core.intervals import cluster_wilson, wilson
from rightreasons.difficulty import accuracy_by_difficulty, flip_rates


class TestAccuracy:
    def test_closed_form(self):
        # The easiest three items have two correct ones, the hardest three have one.
        result = accuracy_by_difficulty(
            [1, 2, 3, 4, 5, 6], [0, 1, 1, 0, 0, 1], [0, 1, 0, 1, 0, 0], n_groups=2
        )

        easy, hard = result.groups
        assert (easy.accuracy, hard.accuracy) == (2 / 3, 1 / 3)
        assert (easy.n_items, easy.lowest, easy.highest) == (3, 1.0, 3.0)
        assert easy.interval == wilson(2, 3)
        assert result.correlation.rho < 0

    def test_equals_an_independent_count(self):
        rng = np.random.default_rng(0)
        difficulty = rng.exponential(size=203)
        labels = rng.integers(3, size=203)
        predictions = np.where(rng.random(203) < 0.7, labels, (labels + 1) % 3)

        result = accuracy_by_difficulty(difficulty, predictions, labels)

        # Without ties, the groups are those of `array_split` of the sorted items.
        order = np.argsort(difficulty)
        expected = [
            (predictions[items] == labels[items]).mean() for items in np.array_split(order, 10)
        ]
        assert [group.accuracy for group in result.groups] == pytest.approx(expected)
        expected = stats.spearmanr(difficulty, predictions == labels)
        assert result.correlation.rho == pytest.approx(expected.statistic)
        assert result.correlation.p_value == pytest.approx(expected.pvalue)

    def test_constant_correctness_has_no_correlation(self):
        result = accuracy_by_difficulty([1, 2, 3], [0, 0, 0], [0, 0, 0])

        assert result.correlation.rho is None
        assert result.correlation.n_items == 3

    def test_invalid_arguments(self):
        with pytest.raises(ValueError, match="of one length"):
            accuracy_by_difficulty([1, 2], [0], [0])
        with pytest.raises(ValueError, match="n_groups") as error:
            accuracy_by_difficulty([1, 2], [0, 1], [0, 1], n_groups=0)
        assert error.value.option == ("n_groups",)


class TestFlips:
    # Item 0 (difficulty 9) has two attempts with one flip, item 1 (5) one flip of one, item 2 (1)
    # none of three, and item 3 has no attempt.
    FLIPPED = (True, False, True, False, False, False)
    ITEMS = (0, 0, 1, 2, 2, 2)
    DIFFICULTY = (9.0, 5.0, 1.0, 7.0)

    def test_closed_form(self):
        result = flip_rates(self.FLIPPED, self.ITEMS, self.DIFFICULTY, n_groups=3)

        assert (result.rate, result.n_attempts, result.n_items) == (2 / 6, 6, 3)
        assert result.items_flipped == 2 / 3
        assert [group.rate for group in result.groups] == [0.0, 1.0, 0.5]
        assert [group.n_attempts for group in result.groups] == [3, 1, 2]
        assert [group.lowest for group in result.groups] == [1.0, 5.0, 9.0]
        # Shares of flips by difficulty 1, 5, 9 are 0, 1, 1/2: ranks 1, 3, 2.
        assert result.correlation.rho == pytest.approx(0.5)

    def test_attempts_on_an_item_are_a_cluster(self):
        result = flip_rates(self.FLIPPED, self.ITEMS, self.DIFFICULTY, n_groups=1)

        assert result.interval == cluster_wilson([1, 1, 0], [2, 1, 3])
        assert result.groups[0].interval == result.interval
        narrower = flip_rates(
            self.FLIPPED, self.ITEMS, self.DIFFICULTY, n_groups=1, confidence_level=0.8
        )
        assert narrower.interval.high < result.interval.high

    def test_equals_an_independent_count(self):
        rng = np.random.default_rng(1)
        difficulty = rng.exponential(size=120)
        items = rng.integers(110, size=1500)
        flipped = rng.random(1500) < 0.4 * difficulty[items] / difficulty.max()

        result = flip_rates(flipped, items, difficulty)

        tested = sorted(set(items.tolist()), key=lambda item: difficulty[item])
        rates = []
        for group in np.array_split(np.array(tested), 4):
            rates.append(flipped[np.isin(items, group)].mean())
        assert [group.rate for group in result.groups] == pytest.approx(rates)
        shares = [flipped[items == item].mean() for item in tested]
        expected = stats.spearmanr(difficulty[tested], shares).statistic
        assert result.correlation.rho == pytest.approx(expected)

    @pytest.mark.parametrize("items", [[0, 3], [-1, 0], [0.0, 1.0]])
    def test_items_must_be_rows(self, items):
        with pytest.raises(ValueError, match="rows of") as error:
            flip_rates([True, False], items, [1.0, 2.0, 3.0])
        assert error.value.option == ("items",)

    def test_no_attempts(self):
        with pytest.raises(ValueError, match="flipped"):
            flip_rates([], [], [1.0])
