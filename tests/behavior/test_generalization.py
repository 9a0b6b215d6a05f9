"""Tests of G over seeds, settings and tasks, and negative transfer."""

import itertools

import numpy as np
import pytest

from rightreasons.behavior.generalization import (
    GeneralizationPair,
    compare_average_generalization,
    compare_generalization,
    find_negative_transfer,
    harmonic_mean,
)
from rightreasons.core.significance import holm, mcnemar

NAN = float("nan")


def draw_pair(rng, shares=(0.8, 0.6), *, n_iid=12, sizes=(6, 4), **options):
    """Draw outcomes of two models with shares of correct outcomes."""

    def draw(n_items):
        return tuple((rng.random(n_items) < share).astype(float) for share in shares)

    return GeneralizationPair(draw(n_iid), [draw(size) for size in sizes], **options)


def compute_score(iid, suites):
    return harmonic_mean(np.mean(iid), np.nanmean([np.nanmean(suite) for suite in suites]))


def subtract_scores(pair):
    first = compute_score(pair.iid[0], [suite[0] for suite in pair.suites])
    second = compute_score(pair.iid[1], [suite[1] for suite in pair.suites])
    return first - second


def exchange(pair, flags):
    """Exchange the outcomes of the items with a flag, one list of flags per group."""

    def exchange_group(outcomes, is_exchanged):
        first, second = map(np.asarray, outcomes)
        return np.where(is_exchanged, second, first), np.where(is_exchanged, first, second)

    iid = exchange_group(pair.iid, flags[0])
    suites = [
        exchange_group(suite, flag) for suite, flag in zip(pair.suites, flags[1:], strict=True)
    ]
    return GeneralizationPair(iid, suites)


def test_the_difference_is_the_mean_over_tasks_of_means_over_pairs():
    rng = np.random.default_rng(0)
    pairs = [draw_pair(rng, task="a") for _ in range(3)]
    pairs += [draw_pair(rng, n_iid=7, sizes=(5,), task="b")]

    test = compare_average_generalization(pairs, n_permutations=10)

    by_task = [np.mean([subtract_scores(pair) for pair in pairs[:3]]), subtract_scores(pairs[3])]
    assert test.difference == pytest.approx(np.mean(by_task))
    assert test.n_permutations == 10


def test_one_pair_has_the_test_of_two_models():
    rng = np.random.default_rng(1)
    pair = draw_pair(rng, n_iid=100, sizes=(30, 20))

    average = compare_average_generalization([pair], n_permutations=500, seed=3)

    assert average == compare_generalization(pair.iid, pair.suites, n_permutations=500, seed=3)


def test_items_are_exchanged_in_all_pairs_of_a_task_together():
    # All 2^8 assignments of three independent items and five cases, in both seeds at once.
    rng = np.random.default_rng(2)
    pairs = [draw_pair(rng, (0.9, 0.3), n_iid=3, sizes=(3, 2)) for _ in range(2)]
    observed = np.mean([subtract_scores(pair) for pair in pairs])
    n_extreme = 0
    for bits in itertools.product((False, True), repeat=8):
        flags = [bits[:3], bits[3:6], bits[6:]]
        difference = np.mean([subtract_scores(exchange(pair, flags)) for pair in pairs])
        n_extreme += abs(difference) >= abs(observed) - 1e-12

    test = compare_average_generalization(pairs, n_permutations=20_000)

    assert test.difference == pytest.approx(observed)
    assert test.p_value == pytest.approx(n_extreme / 2**8, abs=0.015)


def test_a_seed_that_is_repeated_is_no_further_evidence():
    rng = np.random.default_rng(3)
    pair = draw_pair(rng, (0.8, 0.7), n_iid=60, sizes=(20, 20))

    once = compare_average_generalization([pair], n_permutations=4000)
    often = compare_average_generalization([pair] * 20, n_permutations=4000)

    assert often.difference == pytest.approx(once.difference)
    assert often.p_value == pytest.approx(once.p_value)


def test_tasks_are_further_evidence():
    rng = np.random.default_rng(4)
    pairs = []
    for task in "abcdefgh":
        pairs.append(draw_pair(rng, (0.72, 0.64), n_iid=60, sizes=(20, 20), task=task))

    p_values = [compare_average_generalization([pair]).p_value for pair in pairs]

    assert compare_average_generalization(pairs).p_value < np.median(p_values) / 2


def test_cases_of_a_cluster_are_exchanged_together():
    # Twelve cases that are two texts: the first model passes all, the second none. Of the four
    # assignments of two clusters, two have the largest difference.
    suites = [([1] * 12, [0] * 12)]
    iid = ([1, 0], [1, 0])
    clusters = [["a"] * 6 + ["b"] * 6]

    clustered = compare_generalization(iid, suites, clusters=clusters)
    independent = compare_generalization(iid, suites)

    assert clustered.difference == independent.difference
    assert clustered.p_value == pytest.approx(0.5, abs=0.02)
    assert independent.p_value < 0.01


def test_the_test_keeps_its_level():
    # Two methods that are equally good, with four correlated pairs: 5 % of the tests reject.
    rng = np.random.default_rng(5)
    n_rejected = 0
    for seed in range(300):
        ease = rng.random(40)
        pairs = []
        for _ in range(4):
            first, second = rng.random((2, 40)) < ease
            iid = first[:20].astype(float), second[:20].astype(float)
            suites = [(first[20:].astype(float), second[20:].astype(float))]
            pairs.append(GeneralizationPair(iid, suites))
        test = compare_average_generalization(pairs, n_permutations=199, seed=seed)
        n_rejected += test.p_value <= 0.05

    assert 3 <= n_rejected <= 28


@pytest.mark.parametrize(
    ("pairs", "error", "words"),
    [
        ([], ValueError, "at least one pair"),
        ([([1], [0])], TypeError, "GeneralizationPair"),
        (
            [
                GeneralizationPair(([1], [0]), [([1], [0])]),
                GeneralizationPair(([1, 0], [0, 1]), [([1], [0])]),
            ],
            ValueError,
            "same items",
        ),
        (
            [
                GeneralizationPair(([1], [0]), [([1], [0])]),
                GeneralizationPair(([1], [0]), [([1], [0])], clusters=[["a"]]),
            ],
            ValueError,
            "same clusters",
        ),
        ([GeneralizationPair(([1], [0]), [([1], [0])], clusters=[])], ValueError, "clusters"),
    ],
)
def test_invalid_pairs(pairs, error, words):
    with pytest.raises(error, match=words):
        compare_average_generalization(pairs)


def test_negative_transfer_names_what_became_worse():
    rng = np.random.default_rng(6)
    standard = {name: (rng.random(200) < 0.8).astype(float) for name in "abc"}
    held_out = {
        "a": np.where(rng.random(200) < 0.4, 0.0, standard["a"]),
        "b": np.where(rng.random(200) < 0.6, 1.0, standard["b"]),
        "c": standard["c"],
    }

    (loss,) = find_negative_transfer(standard, held_out)

    p_values = [mcnemar(held_out[name] == 1, standard[name] == 1).p_value for name in "abc"]
    assert loss.functionality == "a"
    assert loss.p_value == holm(np.array(p_values))[0]
    assert loss.standard_pass_rate == standard["a"].mean()
    assert loss.held_out_pass_rate == held_out["a"].mean()
    assert loss.n_cases == 200


def test_negative_transfer_compares_defined_cases_and_clusters():
    standard = {"a": [1] * 12 + [NAN] * 3, "undefined": [NAN]}
    held_out = {"a": [0] * 12 + [0, 1, NAN], "undefined": [NAN]}

    (loss,) = find_negative_transfer(standard, held_out)

    assert (loss.n_cases, loss.standard_pass_rate, loss.held_out_pass_rate) == (12, 1, 0)
    # The twelve cases are copies of one text.
    clusters = {"a": ["x"] * 15, "undefined": ["x"]}
    assert find_negative_transfer(standard, held_out, clusters=clusters) == []
    assert find_negative_transfer({"a": [NAN]}, {"a": [1]}) == []


def test_negative_transfer_needs_the_same_functionalities():
    with pytest.raises(ValueError, match="b occurs only on one side"):
        find_negative_transfer({"a": [1]}, {"a": [1], "b": [1]})
    with pytest.raises(ValueError, match="outcomes"):
        find_negative_transfer({"a": [0.5]}, {"a": [1]})
