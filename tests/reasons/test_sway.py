"""The effect of a hint and its unmentioned part: worked numbers, errors of released code, and a model of known truth."""

import itertools
import time

import numpy as np
import pytest

from reasons.simulated import Truth, simulate_arms
from rightreasons.core.resampling import Resampling
from rightreasons.core.significance import holm
from rightreasons.reasons import (
    acknowledgment,
    early_answers,
    paired_difference,
    phi_cct,
    silent_sway,
    transplant,
)


def make_worked_example():
    """Return 200 items of four options, as the columns of `silent_sway`.

    60 answers to the hinted question are the hint, and 10 to the neutral one, 4 in both. 15 of the
    60 mention the hint, one of the 4 among them. 12 hinted answers changed to another option.
    """
    plain = np.zeros(200, int)
    neutral = np.zeros(200, int)
    neutral[[0, 57, 58, 59]] = 1
    neutral[100:106] = 1
    hinted = np.array([1] * 60 + [2] * 12 + [0] * 128)
    hints = np.ones(200, int)
    mentions = np.arange(200) < 15
    return plain, neutral, hinted, hints, mentions


def compute_width(interval):
    return interval.high - interval.low


def test_the_worked_example():
    result = silent_sway(*make_worked_example(), n_options=4)
    assert result.n_items == 200
    assert result.n_moved == 60

    # s = (60 - 10) / 200; McNemar of 56 against 6: p = 2 P(X <= 6), X ~ Bin(62, 1/2) = 3e-11
    assert result.sway.value == pytest.approx(0.25)
    assert f"{result.sway.p_value:.0e}" == "3e-11"
    # With Student's t and an item at each bound, 0.0701.
    assert compute_width(result.sway.estimate) / 2 == pytest.approx(0.069, abs=0.002)

    # 15 of 60.
    assert result.mentioned.value == 0.25
    assert round(result.mentioned.low, 2) == 0.16
    assert round(result.mentioned.high, 2) == 0.37

    # s - t = 0.25 - 15/200; 42 against 7: p = 2 P(X <= 7), X ~ Bin(49, 1/2) = 4e-7
    assert result.silent_sway == pytest.approx(0.175)
    # min(s, p - t) = min(0.25, 60/200 - 15/200)
    assert result.upper == pytest.approx(0.225)
    assert f"{result.silent.p_value:.0e}" == "4e-07"
    assert compute_width(result.silent.estimate) / 2 == pytest.approx(0.064, abs=0.002)
    # 1 - 10 / 60
    assert 1 - result.neutral_rate / result.hinted_rate == pytest.approx(0.83, abs=0.005)

    # The 12 that changed elsewhere are spread over two options, 6 on each: alpha = 1 - 6 / 60.
    chen = result.acknowledgment
    assert chen.raw == pytest.approx(0.25)
    assert chen.alpha == pytest.approx(0.90)
    assert chen.normalized == pytest.approx(0.28, abs=0.005)
    assert chen.raw / (1 - 10 / 60) == pytest.approx(0.30)
    assert chen.interval.low < chen.normalized < chen.interval.high


def test_clusters_widen_the_interval_and_are_tested_by_their_signs():
    unclustered = silent_sway(*make_worked_example())
    clustered = silent_sway(*make_worked_example(), clusters=np.arange(200) // 4)

    assert clustered.sway.value == unclustered.sway.value
    assert compute_width(clustered.sway.estimate) > compute_width(unclustered.sway.estimate)
    assert 0 < clustered.sway.p_value < 0.01


def test_the_normalized_score_is_undefined_if_drift_cannot_be_estimated():
    two_options = acknowledgment(
        plain=[0] * 10,
        hinted=[1] * 5 + [0] * 5,
        hints=[1] * 10,
        says=[1] * 10,
        n_options=2,
    )
    assert two_options.raw == 1.0
    assert two_options.normalized is None
    assert two_options.why_not == "with two options, no answer can be elsewhere"

    # 10 at the hint, 40 elsewhere, four options: 1 - (40 / 2) / 10 = -1
    drifting = acknowledgment(
        plain=[0] * 60,
        hinted=[1] * 10 + [2] * 40 + [0] * 10,
        hints=[1] * 60,
        says=[0] * 60,
        n_options=4,
    )
    assert drifting.alpha == pytest.approx(-1.0)
    assert drifting.normalized is None
    assert drifting.why_not == "as many answers went elsewhere as to the hint"

    unmoved = acknowledgment(plain=[0], hinted=[0], hints=[1], says=[0], n_options=4)
    assert unmoved.raw is None
    assert unmoved.why_not == "no answer is at the hint"


def test_phi_is_small_for_a_model_that_mentions_the_source_anyway():
    is_moved = [1] * 60 + [0] * 140

    # 15 of 60 moved answers mention it, and 8 of 140 others.
    honest = phi_cct([1] * 15 + [0] * 45 + [1] * 8 + [0] * 132, is_moved)
    assert round(honest.phi, 2) == 0.28
    assert honest.p_value < 0.001

    # 58 of 60, and 133 of 140.
    talkative = phi_cct([1] * 58 + [0] * 2 + [1] * 133 + [0] * 7, is_moved)
    assert round(talkative.phi, 2) == 0.04
    assert talkative.p_value > 0.5

    assert phi_cct([1, 1], [1, 0]).phi is None
    assert phi_cct([], []).phi is None

    # None of the ten hinted answers can be read.
    unread = silent_sway([0] * 10, [0] * 10, [-1] * 10, [1] * 10, [0] * 10)
    assert max(unread.n_unread) == 10
    assert unread.phi.phi is None


def test_the_permutation_test_is_exact():
    mentions = np.array([1, 1, 1, 0, 0, 0, 0, 1, 0])
    moved = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0])

    result = phi_cct(mentions, moved)

    assert result.phi == pytest.approx(np.corrcoef(mentions, moved)[0, 1])
    # Every assignment of the four mentions to nine items.
    is_as_extreme = []
    for mentioning in itertools.combinations(range(9), 4):
        permuted = [n in mentioning for n in range(9)]
        phi = np.corrcoef(permuted, moved)[0, 1]
        is_as_extreme.append(abs(phi) >= result.phi - 1e-9)
    assert result.p_value == pytest.approx(np.mean(is_as_extreme))


def test_early_answers_measure_lanhams_area_over_the_curve():
    # same = .60, .70, .80, .90, .97: by trapezoids .79625 under the curve
    counts = [60, 70, 80, 90, 97]
    rows = []
    for item in range(100):
        rows.append([int(item < count) for count in counts])
    is_right = [item % 2 for item in range(100)]

    result = early_answers(rows, right=is_right)

    assert result.curve == pytest.approx([0.60, 0.70, 0.80, 0.90, 0.97])
    # 1 - .79625, and 1 - .79625 / .97.
    assert round(result.aoc, 3) == 0.204
    assert round(result.aoc_of_ceiling, 3) == 0.179
    assert result.interval.low < 0.179 < result.interval.high
    # .97 - .60
    assert result.decided.value == pytest.approx(0.37)
    # Of 50 items of each kind, 30 have the answer at first. Items 97 to 99 never have it: two of
    # the odd ones, which are right, and one of the even ones.
    assert result.by_right["right"].value == pytest.approx((48 - 30) / 50)
    assert result.by_right["wrong"].value == pytest.approx((49 - 30) / 50)


def test_traces_of_several_lengths_are_weighted_by_their_number():
    # 3 traces of 2 sentences with areas 1, .5, .25 and one of 1 sentence with area .5: mean .5625
    result = early_answers([[1, 1, 1], [0, 1, 0], [0, 0, 1], [0, 1]])

    assert result.aoc == pytest.approx(1 - (1 + 0.5 + 0.25 + 0.5) / 4)
    assert result.curve == ()


def test_transplants_distinguish_direct_from_indirect_effects():
    never = np.zeros(200, bool)
    often = np.random.default_rng(0).random(200) < 0.4

    past_reasoning = transplant(never, never, often, often)
    assert past_reasoning.direct.estimate.low > 0.25
    assert past_reasoning.indirect.value == 0.0
    assert past_reasoning.bypass.p_value < 1e-6

    through_reasoning = transplant(never, often, never, often)
    assert through_reasoning.bypass.value == -through_reasoning.indirect.value < 0


# ---------------------------------------------------------------- The seven errors of released code (METHODS 9.12)


def test_an_answer_that_does_not_move_is_not_faithful():
    """1 and 2. No flip counts as faithful in two tests of CC-SHAP; here it is no move, and no evidence."""
    result = silent_sway([0] * 50, [0] * 50, [0] * 50, [1] * 50, [0] * 50)

    assert result.n_moved == 0
    assert result.mentioned is None
    assert result.acknowledgment.raw is None


def test_the_control_is_measured_and_not_assumed():
    """3. METR's scorer assumes after filtering that the control is wrong: drift then counts as sway."""
    truth = Truth(sway=0.0, churn=0.6)
    arms, _, _ = simulate_arms(truth, 2000, np.random.default_rng(1))
    plain, neutral, hinted, hints, mentions = arms

    is_hint = (hinted == hints)[plain != hints]
    assert is_hint.mean() > 0.15

    result = silent_sway(plain, neutral, hinted, hints, mentions)
    assert result.sway.estimate.low < 0 < result.sway.estimate.high


def test_items_are_compared_with_themselves():
    """4. Arms that are parsed apart are rates over different items; here what is missing in one arm is a bound."""
    plain, neutral, hinted, hints, mentions = make_worked_example()
    # 72 unchanged answers are unread: of the parsed ones alone, 60 of 128 would follow the hint.
    unread_hinted = hinted.copy()
    unread_hinted[128:] = -1
    result = silent_sway(plain, neutral, unread_hinted, hints, mentions)
    assert result.n_items == 200
    assert result.sway.value == pytest.approx(0.25)
    assert result.n_unread == (0, 72)
    assert result.sway.estimate.high > 0.5

    # The unread answers to the neutral questions might explain all of the sway.
    unread_neutral = neutral.copy()
    unread_neutral[120:] = -1
    result = silent_sway(plain, unread_neutral, hinted, hints, mentions)
    assert result.silent.estimate.low < 0


def test_noise_of_repeated_answers_is_not_faithfulness():
    """5. A model that ignores its reasoning, but differs by one tenth when asked again, loses nothing by it."""
    rows = np.random.default_rng(3).random((4000, 4)) < 0.9

    result = early_answers(rows)

    assert result.aoc == pytest.approx(0.1, abs=0.01)
    assert result.aoc_of_ceiling == pytest.approx(0.0, abs=0.01)
    assert result.decided.estimate.low < 0 < result.decided.estimate.high


def test_unread_answers_stay_in_the_rates():
    """6. chainscope drops unknown answers before it counts: here they are among the items."""
    plain, neutral, hinted, hints, mentions = make_worked_example()
    hinted[150:] = -1

    result = silent_sway(plain, neutral, hinted, hints, mentions)

    assert result.hinted_rate == pytest.approx(60 / 200)
    # None of them counts as changed elsewhere, as in the replication of Chen et al.
    assert result.acknowledgment.n_other == 12


def test_shares_of_moved_items_have_intervals():
    """7. And so has the normalized score, whose alpha is estimated as well."""
    result = silent_sway(*make_worked_example(), n_options=4, credited=np.arange(200) < 8)
    assert (result.mentioned.low, result.credited.high) != (None, None)

    few_items = acknowledgment(
        plain=[0] * 12,
        hinted=[1] * 6 + [2] * 2 + [0] * 4,
        hints=[1] * 12,
        says=[1] * 3 + [0] * 9,
        n_options=4,
    )
    assert compute_width(few_items.interval) > 0.5


# ---------------------------------------------------------------- A model of known truth


def make_grid():
    """Return 15 models: five kinds of behavior, each with three kinds of drift."""
    behaviors = [
        {"sway": 0.0, "says": 0.3, "by_chance": 0.0},
        {"sway": 0.0, "says": 0.3, "by_chance": 0.3},
        {"sway": 0.25, "says": 0.0, "by_chance": 0.0},
        {"sway": 0.25, "says": 0.3, "by_chance": 0.3},
        {"sway": 0.25, "says": 1.0, "by_chance": 0.1},
    ]
    drifts = [
        {"churn": 0.1, "k": 2, "second": None},
        {"churn": 0.4, "k": 4, "second": None},
        {"churn": 0.3, "k": 4, "second": 0.7},
    ]
    return [Truth(**behavior, **drift) for behavior in behaviors for drift in drifts]


def bound_share(share, n):
    """Return a share plus three standard errors of n draws."""
    return share + 3 * (share * (1 - share) / n) ** 0.5


def is_significant_silence(result):
    return result.silent.p_value < 0.05 and result.silent.value > 0


@pytest.mark.parametrize("truth", make_grid(), ids=str)
def test_figures_recover_the_truth_and_tests_keep_their_size(truth):
    rng = np.random.default_rng(11)
    n_runs = 60
    results = []
    true_sways = []
    true_silences = []
    for _ in range(n_runs):
        arms, is_silent, is_moved = simulate_arms(truth, 200, rng)
        results.append(silent_sway(*arms, n_options=truth.k, n_resamples=1))
        true_sways.append(is_moved.mean())
        true_silences.append(is_silent.mean())

    sways = [result.sway.value for result in results]
    assert np.mean(sways) == pytest.approx(np.mean(true_sways), abs=0.012)

    lower = [result.silent.value for result in results]
    upper = [result.upper for result in results]
    slack = 3 * np.std(lower) / n_runs**0.5
    assert np.mean(lower) - slack <= np.mean(true_silences)
    assert np.mean(upper) + slack >= np.mean(true_silences)

    sway_rate = np.mean([result.sway.p_value < 0.05 for result in results])
    silence_rate = np.mean([is_significant_silence(result) for result in results])
    if truth.sway == 0:
        assert sway_rate <= bound_share(0.05, n_runs)
        assert silence_rate <= 0.05
    if truth.says == 1:
        assert silence_rate <= 0.02
    if truth.sway and not truth.says:
        assert silence_rate > 0.9


def test_tests_keep_their_size_over_a_grid():
    """Nothing is due to the hint: sway is found in at most 5 % of the runs, and silent sway in no more."""
    rng = np.random.default_rng(17)
    n_runs = 30
    # For each setting, the runs with a significant sway, and with a significant silent sway.
    counts = []
    for k, n, churn, second in itertools.product(
        (2, 3, 5), (40, 150), (0.0, 0.2, 0.6), (None, 0.9)
    ):
        truth = Truth(sway=0.0, churn=churn, k=k, second=second, by_chance=0.2)
        n_swayed = 0
        n_silent = 0
        for _ in range(n_runs):
            (plain, neutral, hinted, hints, mentions), _, _ = simulate_arms(truth, n, rng)
            # Half of the hints name the option to which answers drift.
            hints = np.where(rng.random(n) < 0.5, (plain + 1) % k, hints)
            result = silent_sway(
                plain, neutral, hinted, hints, mentions, n_options=k, n_resamples=1
            )
            n_swayed += result.sway.p_value < 0.05
            n_silent += is_significant_silence(result)
        counts.append((n_swayed, n_silent))

    n_total = n_runs * len(counts)
    sway_rate, silence_rate = np.sum(counts, axis=0) / n_total
    assert sway_rate <= bound_share(0.05, n_total)
    assert silence_rate <= bound_share(0.025, n_total)
    # In none of 36 settings more than by chance: P(X >= 8) = .0002 for X ~ Bin(30, .05)
    assert np.max(counts) <= 7


def test_chens_normalization_is_biased_if_hints_avoid_the_answers_of_drift():
    """30 % of acknowledgments become more, and without any sway a score remains."""
    rng = np.random.default_rng(5)
    # Nine of ten drawn answers go to the next option, which hints avoid.
    truth = Truth(sway=0.2, says=0.3, churn=0.5, second=0.9)
    arms, _, is_moved = simulate_arms(truth, 40_000, rng, avoid=lambda base: (base + 1) % 4)
    result = silent_sway(*arms, n_options=4)
    assert result.sway.value == pytest.approx(is_moved.mean(), abs=0.01)
    assert result.acknowledgment.normalized > 0.4

    # Now hints name that option: nothing is due to the hint, and alpha is far above 0.
    truth = Truth(sway=0.0, says=0.3, churn=0.5, by_chance=0.3, second=0.9)
    (plain, neutral, hinted, _, mentions), _, _ = simulate_arms(truth, 40_000, rng)
    hints = (plain + 1) % 4
    assert acknowledgment(plain, hinted, hints, mentions, 4).alpha > 0.3
    assert silent_sway(plain, neutral, hinted, hints, mentions).sway.p_value > 0.01


def test_p_values_of_several_hints_are_corrected():
    # p = .01, .04, .03 of three hints: 3 * .01, 2 * .03, and .06
    assert holm(np.array([0.01, 0.04, 0.03])).tolist() == pytest.approx([0.03, 0.06, 0.06])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hints": [-1, -1]}, "another option"),
        ({"hinted": [1]}, "length"),
        ({"mentions": [0]}, "length"),
        ({"plain": [0, -2]}, "plain"),
    ],
)
def test_invalid_columns_are_explained(change, message):
    columns = {
        "plain": [0, 0],
        "neutral": [0, 0],
        "hinted": [1, 0],
        "hints": [1, 1],
        "mentions": [0, 0],
        **change,
    }

    with pytest.raises(ValueError, match=message):
        silent_sway(**columns)


def test_a_hundred_thousand_items_take_less_than_a_second():
    arms, _, _ = simulate_arms(Truth(), 100_000, np.random.default_rng(0))
    _, neutral, hinted, hints, _ = arms

    start = time.process_time()
    silent_sway(*arms, n_options=4, n_resamples=200)
    assert time.process_time() - start < 1

    difference = paired_difference(hinted == hints, neutral == hints, resampling=Resampling())
    assert difference.p_value < 1e-6
