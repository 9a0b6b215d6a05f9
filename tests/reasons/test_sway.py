"""What a hint moves and what is not said of it: worked numbers, errors of released code, and a model of known truth."""

import itertools

import numpy as np
import pytest

from reasons.simulated import Truth, answered
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


def worked():
    """200 items of four options: 60 at the hint, 10 at the same option beside the neutral sentence, both 4.

    15 of the 60 mention it, one of the 4 among them; 12 are elsewhere.
    """
    hinted = np.array([1] * 60 + [2] * 12 + [0] * 128)
    neutral = np.zeros(200, int)
    neutral[[0, 57, 58, 59]] = 1
    neutral[100:106] = 1
    mentions = np.arange(200) < 15
    return np.zeros(200, int), neutral, hinted, np.ones(200, int), mentions


def test_the_worked_numbers():
    result = silent_sway(*worked(), n_options=4)
    assert (result.n_items, result.n_moved) == (200, 60)
    # s = (60 - 10) / 200; McNemar of 56 against 6: p = 2 P(X <= 6), X ~ Bin(62, 1/2) = 3e-11
    assert result.sway.value == pytest.approx(0.25)
    assert f"{result.sway.p_value:.0e}" == "3e-11"
    half = (result.sway.estimate.high - result.sway.estimate.low) / 2
    assert half == pytest.approx(
        0.069, abs=0.002
    )  # with Student's t and an item at each bound, 0.0701
    assert (
        result.mentioned.value,
        round(result.mentioned.low, 2),
        round(result.mentioned.high, 2),
    ) == (
        0.25,
        0.16,
        0.37,
    )
    # s - t = 0.25 - 15/200; 42 against 7: p = 2 P(X <= 7), X ~ Bin(49, 1/2) = 4e-7
    assert result.silent_sway == pytest.approx(0.175)
    assert result.upper == pytest.approx(0.225)
    assert f"{result.silent.p_value:.0e}" == "4e-07"
    assert (result.silent.estimate.high - result.silent.estimate.low) / 2 == pytest.approx(
        0.064, abs=0.002
    )
    assert 1 - result.neutral_rate / result.hinted_rate == pytest.approx(0.83, abs=0.005)
    chen = result.acknowledgment
    assert (chen.raw, chen.alpha) == pytest.approx((0.25, 0.90))
    assert chen.normalized == pytest.approx(0.28, abs=0.005)
    assert chen.raw / (1 - 10 / 60) == pytest.approx(0.30)
    assert chen.interval.low < chen.normalized < chen.interval.high


def test_clusters_widen_and_are_tested_by_their_signs():
    alone = silent_sway(*worked())
    clustered = silent_sway(*worked(), clusters=np.arange(200) // 4)
    assert clustered.sway.value == alone.sway.value
    assert (
        clustered.sway.estimate.high - clustered.sway.estimate.low
        > alone.sway.estimate.high - alone.sway.estimate.low
    )
    assert 0 < clustered.sway.p_value < 0.01


def test_chen_is_not_defined_where_nothing_can_be_elsewhere():
    two = acknowledgment([0] * 10, [1] * 5 + [0] * 5, [1] * 10, [1] * 10, 2)
    assert (two.raw, two.normalized, two.why_not) == (
        1.0,
        None,
        "with two options, no answer can be elsewhere",
    )
    # 10 at the hint, 40 elsewhere, four options: 1 - 40 / 20 < 0
    drift = acknowledgment([0] * 60, [1] * 10 + [2] * 40 + [0] * 10, [1] * 60, [0] * 60, 4)
    assert drift.alpha == pytest.approx(-1.0)
    assert (drift.normalized, drift.why_not) == (
        None,
        "as many answers went elsewhere as to the hint",
    )
    none = acknowledgment([0], [0], [1], [0], 4)
    assert (none.raw, none.why_not) == (None, "no answer is at the hint")


def test_phi_unmasks_the_talker():
    honest = phi_cct([1] * 15 + [0] * 45 + [1] * 8 + [0] * 132, [1] * 60 + [0] * 140)
    assert round(honest.phi, 2) == 0.28
    assert honest.p_value < 0.001
    talker = phi_cct([1] * 58 + [0] * 2 + [1] * 133 + [0] * 7, [1] * 60 + [0] * 140)
    assert round(talker.phi, 2) == 0.04
    assert talker.p_value > 0.5
    assert phi_cct([1, 1], [1, 0]).phi is None
    assert phi_cct([], []).phi is None
    # Of ten answers beside the hint none can be read.
    unread = silent_sway([0] * 10, [0] * 10, [-1] * 10, [1] * 10, [0] * 10)
    assert (max(unread.n_unread), unread.phi.phi) == (10, None)


def test_the_permutation_test_is_exact():
    mentions, moved = np.array([1, 1, 1, 0, 0, 0, 0, 1, 0]), np.array([1, 1, 1, 1, 0, 0, 0, 0, 0])
    result = phi_cct(mentions, moved)
    assert result.phi == pytest.approx(np.corrcoef(mentions, moved)[0, 1])
    # Every way to give the four mentions to nine items.
    others = [[n in four for n in range(9)] for four in itertools.combinations(range(9), 4)]
    far = [abs(np.corrcoef(one, moved)[0, 1]) >= result.phi - 1e-9 for one in others]
    assert result.p_value == pytest.approx(np.mean(far))


def test_early_answers_are_lanhams_area_over_the_ceiling():
    # same = .60, .70, .80, .90, .97: by trapezoids .79625 under the curve
    firsts = [60, 70, 80, 90, 97]
    rows = [[int(item < count) for count in firsts] for item in range(100)]
    result = early_answers(rows, right=[item % 2 for item in range(100)])
    assert result.curve == pytest.approx([0.60, 0.70, 0.80, 0.90, 0.97])
    assert round(result.aoc, 3) == 0.204
    assert round(result.aoc_of_ceiling, 3) == 0.179
    assert result.interval.low < 0.179 < result.interval.high
    assert result.decided.value == pytest.approx(0.37)
    # 20 of the 50 wrong and right ones each lack the answer at first; 98 and 99 never have it, and 97
    assert result.by_right["right"].value == pytest.approx((48 - 30) / 50)
    assert result.by_right["wrong"].value == pytest.approx((49 - 30) / 50)


def test_traces_of_several_lengths_are_weighted_by_their_number():
    # 3 traces of 2 sentences with areas 1, .5, .25 and one of 1 sentence with area .5: mean .5625
    result = early_answers([[1, 1, 1], [0, 1, 0], [0, 0, 1], [0, 1]])
    assert result.aoc == pytest.approx(1 - (1 + 0.5 + 0.25 + 0.5) / 4)
    assert result.curve == ()


def test_transplants_tell_the_two_ways_apart():
    rng = np.random.default_rng(0)
    never, often = np.zeros(200, bool), rng.random(200) < 0.4
    beside = transplant(never, never, often, often)
    assert beside.direct.estimate.low > 0.25
    assert (beside.indirect.value, beside.bypass.p_value < 1e-6) == (0.0, True)
    through = transplant(never, often, never, often)
    assert through.bypass.value == -through.indirect.value < 0


# ---------------------------------------------------------------- The seven errors of released code (METHODS 9.12)


def test_an_answer_that_does_not_move_is_not_faithful():
    """1 and 2. No flip counts as faithful in two tests of CC-SHAP; here it counts as no move, and says nothing."""
    result = silent_sway([0] * 50, [0] * 50, [0] * 50, [1] * 50, [0] * 50)
    assert (result.n_moved, result.mentioned) == (0, None)
    assert result.acknowledgment.raw is None


def test_what_the_control_does_is_not_taken_as_given():
    """3. METR's scorer takes the control as wrong after filtering: a model that drifts gets a sway of its drift."""
    (plain, neutral, hinted, hints, says), _, _ = answered(
        Truth(sway=0.0, churn=0.6), 2000, np.random.default_rng(1)
    )
    raw = float((hinted == hints)[plain != hints].mean())
    assert raw > 0.15
    result = silent_sway(plain, neutral, hinted, hints, says)
    assert result.sway.estimate.low < 0 < result.sway.estimate.high


def test_items_are_compared_with_themselves():
    """4. Arms that are parsed apart are rates over different items; here what is missing in one arm is a bound."""
    plain, neutral, hinted, hints, says = worked()
    cut = hinted.copy()
    cut[
        128:
    ] = -1  # the answers that stayed are cut: over the parsed ones alone, 60 of 128 follow the hint
    result = silent_sway(plain, neutral, cut, hints, says)
    assert result.n_items == 200
    assert result.sway.value == pytest.approx(0.25)
    assert result.n_unread == (0, 72)
    assert result.sway.estimate.high > 0.5
    unread = neutral.copy()
    unread[120:] = -1  # what the control would have been may explain all
    assert silent_sway(plain, unread, hinted, hints, says).silent.estimate.low < 0


def test_noise_of_asking_again_is_not_faithfulness():
    """5. A model that ignores its reasoning, but differs by one tenth when asked again, loses nothing by it."""
    rng = np.random.default_rng(3)
    rows = rng.random((4000, 4)) < 0.9
    result = early_answers(rows)
    assert result.aoc == pytest.approx(0.1, abs=0.01)
    assert result.aoc_of_ceiling == pytest.approx(0.0, abs=0.01)
    assert result.decided.estimate.low < 0 < result.decided.estimate.high


def test_unread_answers_stay_in_the_rates():
    """6. chainscope drops unknown answers before it counts: here they are among the items."""
    plain, neutral, hinted, hints, says = worked()
    hinted[150:] = -1
    result = silent_sway(plain, neutral, hinted, hints, says)
    assert result.hinted_rate == pytest.approx(60 / 200)
    # and none of them is an answer that changed elsewhere, as in the replication of Chen et al.
    assert result.acknowledgment.n_other == 12


def test_shares_of_moved_items_have_intervals():
    """7. And so has the normalized score, whose alpha is estimated as well."""
    result = silent_sway(*worked(), n_options=4, credited=np.arange(200) < 8)
    assert (result.mentioned.low, result.credited.high) != (None, None)
    few = acknowledgment([0] * 12, [1] * 6 + [2] * 2 + [0] * 4, [1] * 12, [1] * 3 + [0] * 9, 4)
    assert few.interval.high - few.interval.low > 0.5


# ---------------------------------------------------------------- A model of known truth

GRID = [
    Truth(sway=sway, says=says, churn=churn, by_chance=by_chance, k=k, second=second)
    for sway, says, by_chance in (
        (0.0, 0.3, 0.0),
        (0.0, 0.3, 0.3),
        (0.25, 0.0, 0.0),
        (0.25, 0.3, 0.3),
        (0.25, 1.0, 0.1),
    )
    for churn, k, second in ((0.1, 2, None), (0.4, 4, None), (0.3, 4, 0.7))
]


@pytest.mark.parametrize("truth", GRID, ids=str)
def test_figures_recover_the_truth_and_tests_keep_their_size(truth):
    rng = np.random.default_rng(11)
    swayed, low, high, silences, rejected, silent_rejected = [], [], [], [], 0, 0
    n_runs = 60
    for _ in range(n_runs):
        arms, silent, moved = answered(truth, 200, rng)
        result = silent_sway(*arms, n_options=truth.k, n_resamples=1)
        swayed.append((result.sway.value, moved.mean()))
        silences.append(silent.mean())
        low.append(result.silent.value)
        high.append(result.upper)
        rejected += result.sway.p_value < 0.05
        silent_rejected += result.silent.p_value < 0.05 and result.silent.value > 0
    found, true = np.mean(swayed, axis=0)
    assert found == pytest.approx(true, abs=0.012)
    slack = 3 * np.std(low) / n_runs**0.5
    assert np.mean(low) - slack <= np.mean(silences)
    assert np.mean(high) + slack >= np.mean(silences)
    if truth.sway == 0:
        assert rejected / n_runs <= 0.05 + 3 * (0.05 * 0.95 / n_runs) ** 0.5
        assert silent_rejected / n_runs <= 0.05
    if truth.says == 1:
        assert silent_rejected / n_runs <= 0.02
    if truth.sway and not truth.says:
        assert silent_rejected / n_runs > 0.9


def test_tests_keep_their_size_over_a_grid():
    """Nothing is due to the hint: sway is found in at most 5 % of the runs, and silent sway in no more."""
    rng, counts = np.random.default_rng(17), []
    for k, n, churn, second in itertools.product(
        (2, 3, 5), (40, 150), (0.0, 0.2, 0.6), (None, 0.9)
    ):
        truth, found = Truth(sway=0.0, churn=churn, k=k, second=second, by_chance=0.2), np.zeros(2)
        for _ in range(30):
            (plain, neutral, hinted, hints, says), _, _ = answered(truth, n, rng)
            hints = np.where(
                rng.random(n) < 0.5, (plain + 1) % k, hints
            )  # often the second-best option
            result = silent_sway(plain, neutral, hinted, hints, says, n_options=k, n_resamples=1)
            found += (
                result.sway.p_value < 0.05,
                result.silent.p_value < 0.05 and result.silent.value > 0,
            )
        counts.append(found)
    runs = 30 * len(counts)
    rates = np.sum(counts, axis=0) / runs
    assert rates[0] <= 0.05 + 3 * (0.05 * 0.95 / runs) ** 0.5
    assert rates[1] <= 0.025 + 3 * (0.025 * 0.975 / runs) ** 0.5
    # in no setting more than by chance, of 36: P(X >= 8) = .0002 for X ~ Bin(30, .05)
    assert np.max(counts) <= 7


def test_chens_normalization_is_biased_where_hints_avoid_the_right_answer():
    """Drift goes to the right answer, which hints avoid: 30 % said becomes more, and with no sway a score remains."""
    rng = np.random.default_rng(5)
    truth = Truth(sway=0.2, says=0.3, churn=0.5, second=0.9)
    arms, _, moved = answered(truth, 40_000, rng, avoid=lambda base: (base + 1) % 4)
    own = silent_sway(*arms, n_options=4)
    assert own.sway.value == pytest.approx(moved.mean(), abs=0.01)
    assert own.acknowledgment.normalized > 0.4
    # A hint at the option to which drift goes: nothing is due to the hint, and alpha is far above 0.
    still = Truth(sway=0.0, says=0.3, churn=0.5, by_chance=0.3, second=0.9)
    (plain, neutral, hinted, _, says), _, _ = answered(still, 40_000, rng)
    score = acknowledgment(plain, hinted, (plain + 1) % 4, says, 4)
    assert score.alpha > 0.3
    assert silent_sway(plain, neutral, hinted, (plain + 1) % 4, says).sway.p_value > 0.01


def test_a_family_of_hints_is_corrected():
    # p = .01, .04, .03 of three hints: 3 * .01, 2 * .03, and .06
    assert holm(np.array([0.01, 0.04, 0.03])).tolist() == pytest.approx([0.03, 0.06, 0.06])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"hints": [-1, -1]}, "another option"),
        ({"hinted": [1]}, "length"),
        ({"mentions": [0]}, "length"),
        ({"plain": [0, -2]}, "plain"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(change, sentence):
    columns = {
        "plain": [0, 0],
        "neutral": [0, 0],
        "hinted": [1, 0],
        "hints": [1, 1],
        "mentions": [0, 0],
        **change,
    }
    with pytest.raises(ValueError, match=sentence):
        silent_sway(**columns)


def test_a_hundred_thousand_items_take_less_than_a_second():
    import time

    arms, _, _ = answered(Truth(), 100_000, np.random.default_rng(0))
    began = time.process_time()
    silent_sway(*arms, n_options=4, n_resamples=200)
    assert time.process_time() - began < 1
    assert (
        paired_difference(arms[2] == arms[3], arms[1] == arms[3], resampling=Resampling()).p_value
        < 1e-6
    )
