"""`DifficultyMeasurement` by hand: three classes, a failed item, ties, choices of different numbers."""

import numpy as np
import pytest

from rightreasons.core.arrays import Ragged
from rightreasons.core.resampling import Resampling
from rightreasons.difficulty.measure import (
    KEPT,
    REVERSED,
    DifficultyMeasurement,
    WordFlips,
    select_tested_items,
)
from rightreasons.difficulty.substitutions import Attempt, SubstitutionTests
from rightreasons.models.gradients.eigenvalues import FisherInformation

RESAMPLING = Resampling(resamples=50)


def fisher_of(eigenvalues, logits, **columns):
    n = len(eigenvalues)
    values = np.array(eigenvalues, dtype=np.float64)
    failed = [row for row in range(n) if np.isnan(values[row])]
    return FisherInformation(
        ids=tuple(f"i{row}" for row in range(n)),
        eigenvalues=values,
        scale_free=2 * values,
        gradient_norms=np.sqrt(values),
        logits=logits,
        error=np.zeros(n),
        truncated=np.zeros(n, dtype=bool),
        failures=tuple((f"i{row}", "It has no tokens.") for row in failed),
        label_names=("a", "b", "c"),
        **columns,
    )


@pytest.fixture
def measured():
    probabilities = [
        [0.5, 0.3, 0.2],
        [0.1, 0.1, 0.8],
        [np.nan] * 3,
        [0.25, 0.5, 0.25],
        [0.2, 0.4, 0.4],
    ]
    fisher = fisher_of([3.0, 0.5, np.nan, 3.0, 1.5], np.log(np.array(probabilities)))
    return DifficultyMeasurement.from_fisher(fisher, np.array([0, 2, 1, -1, 2]))


def test_failed_items_are_left_out(measured):
    assert measured.rows.tolist() == [0, 1, 3, 4]
    assert measured.labels.tolist() == [0, 2, -1, 2]
    assert measured.predicted.tolist() == [0, 2, 1, 1]  # the first of equal ones
    np.testing.assert_allclose(measured.confidence, [0.5, 0.8, 0.5, 0.4])
    assert measured.correct.tolist() == [True, True, False, False]


def test_ties_are_in_the_order_of_their_ids(measured):
    assert measured.order == [0, 2, 3, 1]
    plain = measured.to_dict()
    assert plain["fim_difficulty"] == [3.0, 0.5, None, 3.0, 1.5]
    assert plain["failures"] == [{"row": 2, "reason": "It has no tokens."}]
    assert (plain["mean"], plain["median"], plain["min"], plain["max"]) == (
        2.0,
        2.25,
        0.5,
        3.0,
    )  # 8 / 4; (1.5 + 3) / 2
    assert plain["std"] == pytest.approx(np.sqrt((1 + 2.25 + 1 + 0.25) / 4))


def test_median(measured):
    median = measured.median(RESAMPLING)
    assert median.value == 2.25
    assert median.low <= 2.25 <= median.high


def test_groups_need_twenty_labels():
    n = 27
    values = np.arange(n, dtype=np.float64)
    logits = np.tile([1.0, 0.0, -1.0], (n, 1))
    labels = np.where(values < 10, 0, 1)  # class 0 is predicted: the ten easiest are right
    few = DifficultyMeasurement.from_fisher(
        fisher_of(values, logits), np.where(values < 19, labels, -1)
    )
    assert few.groups == []
    assert few.accuracies(RESAMPLING) == []
    many = DifficultyMeasurement.from_fisher(fisher_of(values, logits), labels)
    assert [len(group) for group in many.groups] == [14, 13]
    assert [estimate.value for estimate in many.accuracies(RESAMPLING)] == [
        pytest.approx(10 / 14),
        0.0,
    ]


def test_flips_are_two_figures():
    def attempt(item, kind, flipped):
        return Attempt(item, str(item), kind, (), "", flipped, 0, int(flipped), 0.9, 0.4)

    # Two hard items (0, 1) and two easy ones (2, 3): a synonym flips 0, antonyms flip 1 and 2, item 3 has no synonym.
    attempts = (
        attempt(0, "synonym", True),
        attempt(0, "antonym", False),
        attempt(1, "antonym", True),
        attempt(2, "synonym", False),
        attempt(2, "antonym", True),
        attempt(3, "antonym", False),
    )
    tests = SubstitutionTests("single", attempts, (1, 1, 1, None), 4, 0, "")
    levels = ["hardest", "hardest", "easiest", "easiest"]
    flips = WordFlips([3, 2, 0, 1], levels, np.array([9.0, 8.0, 2.0, 1.0]), tests)
    assert flips.count_flipped("hardest", KEPT) == (1, 1)
    assert flips.count_flipped("hardest", REVERSED) == (1, 2)
    assert flips.count_flipped("easiest", KEPT) == (0, 1)
    assert flips.count_flipped("easiest", REVERSED) == (1, 2)
    assert flips.count_flipped("easiest", ("name",)) == (0, 0)
    # Two of four antonyms flip: item 1 and 2 of the items with difficulties 8 and 2.
    rates = flips.measure_rates(REVERSED, RESAMPLING)
    assert (rates.rate, rates.n_attempts, rates.items_flipped) == (0.5, 4, 0.5)
    assert flips.measure_rates(("name",), RESAMPLING) is None


def test_items_are_tested_at_three_levels():
    # Of 20 items, the middle has the 4 that are left between 8 and 8.
    assert select_tested_items(20) == {
        "hardest": slice(0, 8),
        "easiest": slice(12, 20),
        "middle": slice(8, 12),
    }
    assert select_tested_items(101)["middle"] == slice(46, 54)


def test_the_spectrum_has_a_row_per_item():
    spectrum = Ragged.of(np.array([3.0, 1.0, np.nan, np.nan]), [2, 2])
    fisher = fisher_of([3.0, np.nan], np.log([[0.5, 0.3, 0.2], [np.nan] * 3]), spectrum=spectrum)

    assert DifficultyMeasurement.from_fisher(fisher).to_dict()["spectrum"] == [[3.0, 1.0], None]
