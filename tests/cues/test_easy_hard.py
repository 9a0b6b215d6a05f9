"""The Easy/Hard gap: closed forms, the exact null, and the published figures from the released predictions."""

import csv
import io
import json
import tarfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rightreasons.core.estimates import make_rate_interval
from rightreasons.core.resampling import Resampling
from rightreasons.cues.easy_hard import _resample_clusters, easy_hard_gap
from rightreasons.cues.labels import parse_runs

EASY = [True] * 4 + [False] * 6


class TestOneRun:
    def test_closed_form(self):
        # Easy: 4 of 4 right; Hard: 3 of 6; overall 7 of 10.
        result = easy_hard_gap([0] * 7 + [1] * 3, [0] * 10, EASY)
        assert (result.accuracy, result.easy_accuracy, result.hard_accuracy) == (0.7, 1.0, 0.5)
        assert result.easy_hard_gap == 0.5
        assert (result.n_easy, result.n_hard, result.n_runs) == (4, 6, 1)
        assert result.accuracy_std is None
        # Six coins with 3 hits: their 0.025 and 0.975 quantiles are 1/6 and 5/6.
        assert result.hard_accuracy_interval.low == pytest.approx(1 / 6)
        assert result.hard_accuracy_interval.high == pytest.approx(5 / 6)
        # The accuracy on all items has the interval of every other accuracy, whichever are Easy.
        assert result.accuracy_interval == make_rate_interval([1] * 7 + [0] * 3, Resampling())

    def test_the_interval_of_the_accuracy_includes_the_number_of_easy_items(self):
        # All Easy items are correct and no Hard one is. Which share is Easy differs between samples:
        # 4 of 10, whose Wilson interval is [0.168, 0.687]. A bootstrap within both kinds has no width.
        one_run = easy_hard_gap([0] * 4 + [1] * 6, [0] * 10, EASY)
        assert one_run.accuracy_interval.low == pytest.approx(0.168, abs=1e-3)
        assert one_run.accuracy_interval.high == pytest.approx(0.687, abs=1e-3)
        two_runs = easy_hard_gap([[0, 0]] * 4 + [[1, 1]] * 6, [0] * 10, EASY)
        assert two_runs.accuracy_interval.low < 0.25
        assert two_runs.accuracy_interval.high > 0.6

    def test_the_interval_of_the_accuracy_counts_clusters_once(self):
        arguments = ([0] * 7 + [1] * 3, [0] * 10, EASY)
        single = easy_hard_gap(*arguments).accuracy_interval
        paired = easy_hard_gap(*arguments, clusters=[0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
        width = paired.accuracy_interval.high - paired.accuracy_interval.low
        assert width > single.high - single.low

    def test_items_that_all_agree_leave_a_width(self):
        # n items of one kind show none of another that has a share of 1 - 0.025^(1/n) with a chance of 0.025.
        result = easy_hard_gap(
            [0] * 7 + [1] * 3, [0] * 10, EASY, resampling=Resampling(resamples=20_000)
        )
        assert result.easy_accuracy_interval.high == 1
        assert result.easy_accuracy_interval.low == pytest.approx(0.025 ** (1 / 4), abs=0.01)
        wrong = easy_hard_gap([1] * 10, [0] * 10, EASY, resampling=Resampling(resamples=20_000))
        assert wrong.hard_accuracy_interval.low == 0
        assert wrong.hard_accuracy_interval.high == pytest.approx(1 - 0.025 ** (1 / 6), abs=0.01)
        assert wrong.interval.low < 0 < wrong.interval.high
        # One of two runs gets each item right: it may be either that the others have.
        half = easy_hard_gap([[0, 1]] * 10, [0] * 10, EASY)
        assert half.easy_accuracy_interval.low < 0.5 < half.easy_accuracy_interval.high

    def test_p_value_is_the_exact_hypergeometric_one(self):
        result = easy_hard_gap([0] * 7 + [1] * 3, [0] * 10, EASY, n_permutations=200_000)
        # Hits among 4 drawn of 10 with 7 right; the gap is as large for x with |10 x - 28| >= 12: x = 4 and x <= 1.
        exact = stats.hypergeom(10, 7, 4)
        assert result.p_value == pytest.approx(exact.pmf(4) + exact.cdf(1), abs=0.005)

    def test_no_gap(self):
        result = easy_hard_gap([0] * 10, [0] * 10, EASY)
        assert (result.easy_hard_gap, result.p_value) == (0.0, 1.0)

    def test_p_values_of_the_null_are_uniform_enough(self):
        rng = np.random.default_rng(0)
        easy = np.arange(200) < 80
        p_values = [
            easy_hard_gap(
                (rng.random(200) < 0.3).astype(int),
                np.zeros(200, int),
                easy,
                n_permutations=400,
                resampling=Resampling(resamples=1),
            ).p_value
            for _ in range(300)
        ]
        assert np.mean(np.array(p_values) <= 0.05) < 0.09

    def test_interval_covers(self):
        rng = np.random.default_rng(1)
        easy = np.arange(300) < 100
        covered = 0
        for _ in range(200):
            right = rng.random(300) < np.where(easy, 0.9, 0.7)
            interval = easy_hard_gap(
                (~right).astype(int), np.zeros(300, int), easy, n_permutations=1
            ).interval
            covered += interval.low <= 0.2 <= interval.high
        # Binomial(200, 0.95) lies above 181 with probability 0.99.
        assert covered > 180

    def test_to_dict_begins_with_the_gap(self):
        plain = easy_hard_gap([0] * 10, [0] * 10, EASY).to_dict()
        assert next(iter(plain)) == "easy_hard_gap"
        assert json.loads(json.dumps(plain, allow_nan=False)) == plain


class TestRuns:
    def test_mean_and_population_std(self):
        # Run 0 all right; run 1 right on Easy alone: gaps 0 and 1, mean 0.5, population std 0.5 (sample: 0.707).
        predictions = [[0, 0]] * 4 + [[0, 1]] * 6
        result = easy_hard_gap(predictions, [0] * 10, EASY)
        assert result.easy_hard_gap == 0.5
        assert result.easy_hard_gap_std == 0.5
        assert result.accuracy == pytest.approx(0.7)
        assert result.hard_accuracy_std == 0.5
        assert [run.easy_hard_gap for run in result.runs] == [0.0, 1.0]

    @settings(max_examples=30, deadline=None)
    @given(st.integers(0, 10**6), st.integers(1, 4))
    def test_order_of_items_and_runs_does_not_matter(self, seed, n_runs):
        rng = np.random.default_rng(seed)
        chosen, right, easy = (
            rng.integers(2, size=(30, n_runs)),
            rng.integers(2, size=30),
            np.arange(30) < 12,
        )
        order = rng.permutation(30)
        a = easy_hard_gap(
            chosen, right, easy, n_permutations=50, resampling=Resampling(resamples=50)
        )
        b = easy_hard_gap(
            chosen[order],
            right[order],
            easy[order],
            n_permutations=50,
            resampling=Resampling(resamples=50),
        )
        assert a == b
        c = easy_hard_gap(
            chosen[:, ::-1], right, easy, n_permutations=50, resampling=Resampling(resamples=50)
        )
        assert a.easy_hard_gap == pytest.approx(c.easy_hard_gap)

    def test_runs_of_an_item_stay_together(self):
        # Copies of a run add no evidence, so the test must not grow sharper.
        rng = np.random.default_rng(0)
        chosen = (rng.random(60) < 0.4).astype(int)
        easy = np.arange(60) < 20
        one = easy_hard_gap(chosen, np.zeros(60, int), easy, n_permutations=50_000)
        five = easy_hard_gap(
            np.repeat(chosen[:, None], 5, axis=1), np.zeros(60, int), easy, n_permutations=50_000
        )
        assert five.p_value == pytest.approx(one.p_value, abs=0.01)


class TestBadInput:
    @pytest.mark.parametrize(
        ("predictions", "references", "easy", "error", "message"),
        [
            (
                [0, 1],
                [0, 1],
                [True, True],
                ValueError,
                "Hard items in `easy`",
            ),
            ([0, 1], [0, 1], [0, 0], ValueError, "all 2 are Hard"),
            ([0, 1], [0], [True, False], ValueError, "of one length, but got 2, 1 and 2"),
            ([0, 1.5], [0, 1], [True, False], ValueError, "whole numbers in `predictions`"),
            (["0", "1"], [0, 1], [True, False], TypeError, "`predictions`"),
            ([0, 1], [0, 1], ["yes", "no"], TypeError, "True or False in `easy`"),
            ([0, 1], [0, 1], [0.0, 1.0], TypeError, "True or False in `easy`"),
            (
                [[0, 1], [1]],
                [0, 1],
                [True, False],
                ValueError,
                "at least 1, but rows have 1, 2",
            ),
            ([[0, 1], 1], [0, 1], [True, False], ValueError, "but rows have 0, 2"),
            ([], [], [], ValueError, "at least one item in `predictions`"),
            (None, [0], [True], TypeError, "`predictions`"),
            ("01", [0, 1], [True, False], TypeError, "`predictions`"),
        ],
    )
    def test_one_sentence(self, predictions, references, easy, error, message):
        with pytest.raises(error, match=message):
            easy_hard_gap(predictions, references, easy)

    def test_forms_of_runs(self):
        assert parse_runs(np.zeros((3, 2), int)).shape == (3, 2)
        assert parse_runs((0, 1)).shape == (2, 1)
        with pytest.raises(ValueError, match="predictions"):
            parse_runs(np.zeros((2, 2, 2), int))


def released(real_data, name):
    """Read released predictions, 1/2, of three seeds."""
    with tarfile.open(real_data / "balanced_copa" / "predictions.tar.bz2") as bundle:
        text = (
            bundle.extractfile(f"predictions/{name}_Original_COPA_DEV_predictions_test.csv")
            .read()
            .decode()
        )
    rows = list(csv.DictReader(io.StringIO(text)))
    ids = [int(row["QuestionNumber"].removeprefix("Q")) for row in rows]
    predictions = [[int(row[f"SystemOutput_Seed{s}"]) - 1 for s in range(3)] for row in rows]
    subsets = json.loads((real_data / "balanced_copa" / "easy_hard_subsets.json").read_text())
    assert set(subsets["easy"]).isdisjoint(subsets["hard"])
    return (
        predictions,
        [int(row["CorrectAnswer"]) - 1 for row in rows],
        np.isin(ids, subsets["easy"]),
    )


@pytest.mark.real_data
class TestPublishedFigures:
    # Kavumba et al. (2019), Table 4: mean and population std over three seeds, in percent.
    @pytest.mark.parametrize(
        ("name", "overall", "easy", "hard"),
        [
            ("BERT", (76.5, 2.7), (83.9, 4.4), (71.9, 2.5)),
            ("RoBERTa", (87.7, 0.9), (91.6, 1.1), (85.3, 2.0)),
        ],
    )
    def test_released_predictions(self, real_data, name, overall, easy, hard):
        result = easy_hard_gap(*released(real_data, name), n_permutations=20_000)
        assert (result.n_easy, result.n_hard) == (190, 310)
        for figure, published in (
            ("accuracy", overall),
            ("easy_accuracy", easy),
            ("hard_accuracy", hard),
        ):
            mean, std = getattr(result, figure), getattr(result, f"{figure}_std")
            assert (round(100 * mean, 1), round(100 * std, 1)) == published
        # Published as 0.0 %, with a star for p < 5 %: that takes the three seeds of an item for three items.
        pooled = easy_hard_gap(*released(real_data, name), unit="prediction", n_permutations=20_000)
        assert round(100 * pooled.p_value, 1) == 0.0
        # With the seeds of an item kept together the gap is still there, but RoBERTa's is far less certain.
        assert pooled.p_value <= result.p_value < 0.02
        assert result.interval.low > 0

    def test_each_seed(self, real_data):
        runs = easy_hard_gap(*released(real_data, "BERT"), n_permutations=20_000).runs
        assert [round(100 * run.accuracy, 1) for run in runs] == [74.0, 80.2, 75.2]
        assert [round(100 * run.easy_accuracy, 2) for run in runs] == [77.89, 88.42, 85.26]
        assert [round(100 * run.hard_accuracy, 2) for run in runs] == [71.61, 75.16, 69.03]
        assert runs[0].p_value == pytest.approx(0.141, abs=0.01)

    def test_pmi_baseline_of_copa(self, real_data):
        # Roemmele et al. (2011), Table 3: PMI on Gutenberg, window 5, reaches 58.8 on test; always-first gets 50.0.
        gold = [
            line.split() for line in (real_data / "copa/results/gold.test").read_text().splitlines()
        ]
        subsets = json.loads((real_data / "balanced_copa" / "easy_hard_subsets.json").read_text())
        easy = np.isin([int(row[0]) for row in gold], subsets["easy"])
        for system, accuracy in (("PMIgutenbergW5", 58.8), ("baselineFirst", 50.0)):
            rows = [
                line.split()
                for line in (real_data / f"copa/results/{system}.test").read_text().splitlines()
            ]
            assert [row[0] for row in rows] == [row[0] for row in gold]
            result = easy_hard_gap(
                [int(row[2]) for row in rows], [int(row[2]) for row in gold], easy
            )
            assert round(100 * result.accuracy, 1) == accuracy
            # A system that never saw COPA's cues gains nothing from them.
            assert result.p_value > 0.05


def test_a_resample_without_easy_items_has_their_mean():
    # Both easy items are in the first of three clusters, which (2 / 3)^3 of the resamples lack.
    shares, easy = np.array([1.0, 0.0, 1.0, 0.0, 1.0]), np.array([True, True, False, False, False])
    on_easy, _ = _resample_clusters(
        shares, easy, np.array([0, 0, 1, 1, 2]), 50, np.random.default_rng(0)
    )
    assert set(on_easy.tolist()) == {0.5}


def test_the_p_value_of_clusters_that_all_agree():
    # 4 of 4 Easy items are right and none of 5 Hard ones: no item differs from its mean, so that the
    # squared error is 1/4² + 1/5², and t has 3 - 1 degrees of freedom.
    easy = [True] * 4 + [False] * 5
    clusters = ["a"] * 3 + ["b"] * 3 + ["c"] * 3

    result = easy_hard_gap([0] * 4 + [1] * 5, [0] * 9, easy, clusters=clusters)

    assert result.p_value == pytest.approx(2 * stats.t.sf(1 / (1 / 16 + 1 / 25) ** 0.5, 2))


def test_the_p_value_of_clusters_of_both_kinds():
    # Right: 3 of 4 Easy items and 1 of 4 Hard ones; the gap is 3/4 - 1/4. An Easy item adds (its hit - 3/4) / 4 to
    # the linearized gap, a Hard item -(its hit - 1/4) / 4. The clusters add
    #   a: Easy 1, Hard 1 -> 1/16 - 3/16 = -2/16      b: Easy 1, Hard 0 -> 1/16 + 1/16 = 2/16
    #   c: Easy 1, Hard 0 -> 1/16 + 1/16 = 2/16       d: Easy 0, Hard 0 -> -3/16 + 1/16 = -2/16
    easy = [True, False] * 4
    hits = [1, 1, 1, 0, 1, 0, 0, 0]
    clusters = ["a", "a", "b", "b", "c", "c", "d", "d"]
    of_clusters = 4 / 3 * 4 * (2 / 16) ** 2
    of_smoothing = 1 / 4**2 + 1 / 4**2

    result = easy_hard_gap([1 - hit for hit in hits], [0] * 8, easy, clusters=clusters)

    expected = 2 * stats.t.sf(0.5 / (of_clusters + of_smoothing) ** 0.5, 3)
    assert result.p_value == pytest.approx(expected)
