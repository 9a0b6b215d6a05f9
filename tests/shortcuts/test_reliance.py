"""Shortcut-cued predictions: worked cases, types, splits, null models, merging and bad input."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightreasons.core.resampling import Resampling
from rightreasons.shortcuts.detector import find_shortcuts
from rightreasons.shortcuts.mutual_information import lmi
from rightreasons.shortcuts.null_models import (
    assign_frequency_bins,
    compute_hit_chances,
    compute_permutation_p_value,
)
from rightreasons.shortcuts.reliance import shortcut_reliance

HEADS = {0: ["bad", "the", "."], 1: ["good", "of", "2021"]}

# Five predictions with their top 2 tokens:
#   0 -> good, film    good in head of 1                 cued, lexicon
#   1 -> the, plot     the in head of 0                  cued, grammar (stop word)
#   2 -> good, the     in the head of the other label    not cued
#   3 -> ".", bad      both in head of 0                 cued, lexicon (punctuation and a lexical word)
#   4 -> 2021, year    2021 in head of 1                 cued, lexicon (a number is lexical)
TOKENS = [
    ["the", "good", "film"],
    ["the", "plot", "of", "it"],
    ["good", "the", "film"],
    ["a", "bad", "film", "."],
    ["year", "2021", "of"],
]
ATTRIBUTIONS = [
    [0.1, 0.9, 0.3],
    [0.8, 0.7, 0.1, 0.0],
    [0.9, 0.8, 0.1],
    [0.0, 0.4, 0.1, 0.5],
    [0.5, 0.6, 0.1],
]
PREDICTIONS = [1, 0, 0, 0, 1]
PREDICTIONS_OTHER = [1, 0, 1, 0, 1]


def reliance(**options):
    options = {"top_n": 2, "resampling": Resampling(resamples=200), **options}
    return shortcut_reliance(TOKENS, ATTRIBUTIONS, PREDICTIONS, HEADS, **options)


def test_rate_types_and_examples():
    # In item 2 "the" is in the head of label 0, which is predicted: cued by a stop word alone.
    result = reliance()
    assert [example.type for example in result.examples] == [
        "lexicon",
        "grammar",
        "grammar",
        "lexicon",
        "lexicon",
    ]
    assert result.shortcut_reliance == 1.0
    result = shortcut_reliance(
        TOKENS, ATTRIBUTIONS, [1, 0, 1, 0, 1], {**HEADS, 1: ["of", "2021"]}, top_n=2
    )
    assert [example.cued for example in result.examples] == [False, True, False, True, True]
    assert result.shortcut_reliance == 3 / 5
    assert result.lexicon_cued == 2 / 5
    assert result.grammar_cued == 1 / 5
    third = result.examples[3]
    assert third.tokens == ("bad", ".")
    assert third.positions == (1, 3)


def test_sub_words_are_grammar():
    result = shortcut_reliance(
        [["film", "##s"]], [[0.0, 1.0]], [0], {0: ["##s"]}, top_n=1, piece_style="wordpiece"
    )
    assert result.grammar_cued == 1.0


def test_split_by_right_and_wrong():
    # Labels: items 0, 1, 3 right. Cued: 1, 3, 4. Right and cued 2 of 3, wrong and cued 1 of 2.
    result = shortcut_reliance(
        TOKENS,
        ATTRIBUTIONS,
        PREDICTIONS_OTHER,
        {**HEADS, 1: ["of", "2021"]},
        references=[1, 0, 0, 0, 0],
        top_n=2,
    )
    assert (result.correct.n_items, result.correct.rate, result.correct.joint) == (3, 2 / 3, 2 / 5)
    assert (result.wrong.n_items, result.wrong.rate, result.wrong.joint) == (2, 1 / 2, 1 / 5)
    assert result.correct.joint + result.wrong.joint == pytest.approx(result.shortcut_reliance)
    assert result.correct.interval.low < 2 / 3 < result.correct.interval.high


def test_no_wrong_prediction_has_no_rate():
    result = reliance(references=PREDICTIONS)
    assert (result.wrong.n_items, result.wrong.rate, result.wrong.interval, result.wrong.joint) == (
        0,
        None,
        None,
        0.0,
    )


def test_bins_by_confidence_hold_lower_open_upper_closed():
    result = reliance(confidences=[0.5, 0.51, 0.5, 1.0, 0.6], references=[1, 0, 1, 0, 0], n_bins=2)
    low, high = result.bins
    assert (low.lower, low.upper, low.n_items) == (0.0, 0.5, 2)
    assert (low.rate, low.lexicon, low.grammar, low.accuracy) == (1.0, 0.5, 0.5, 0.5)
    assert high.n_items == 3
    assert high.confidence == pytest.approx((0.51 + 1.0 + 0.6) / 3)
    assert reliance(confidences=[0.9] * 5, n_bins=2).bins[0].rate is None


def test_ties_go_to_the_first_and_magnitude_counts_both_signs():
    heads = {0: ["b"]}
    assert not find_shortcuts([["a", "b"]], [[0.5, 0.5]], [0], heads, top_n=1).cued[0]
    assert not find_shortcuts([["a", "b"]], [[0.5, -0.9]], [0], heads, top_n=1).cued[0]
    assert find_shortcuts(
        [["a", "b"]], [[0.5, -0.9]], [0], heads, top_n=1, rank_by="magnitude"
    ).cued[0]


def test_heads_come_from_lmi_or_json_alike():
    texts, labels = [" ".join(row) for row in TOKENS], [1, 0, 1, 0, 1]
    counted = lmi(texts, labels, head_fraction=0.3)
    plain = shortcut_reliance(
        TOKENS, ATTRIBUTIONS, PREDICTIONS, counted, resampling=Resampling(resamples=50)
    )
    by_table = shortcut_reliance(
        TOKENS,
        ATTRIBUTIONS,
        PREDICTIONS,
        json.loads(json.dumps(counted.heads)),
        resampling=Resampling(resamples=50),
    )
    assert (plain.shortcut_reliance, plain.examples) == (
        by_table.shortcut_reliance,
        by_table.examples,
    )


def test_result_is_plain_json():
    result = reliance(confidences=[0.5] * 5, references=[1, 0, 1, 0, 0]).to_dict()
    assert next(iter(result)) == "shortcut_reliance"
    json.dumps(result, allow_nan=False)


# ---------------------------------------------------------------------------------------------------------- null models


def test_chance_of_hit_in_closed_form():
    # Five tokens, two of them in the head, two picked: 1 - C(3,2)/C(5,2) = 1 - 3/10.
    rows = np.array([0, 0, 0, 0, 0, 1, 1])
    head = np.array([1, 1, 0, 0, 0, 0, 0], dtype=bool)
    top = np.array([1, 0, 1, 0, 0, 1, 1], dtype=bool)
    assert compute_hit_chances(rows, 2, top, head).tolist() == pytest.approx([0.7, 0.0])
    # Three of four tokens are in the head and two are picked: one hit at least is sure.
    four = np.zeros(4, dtype=np.int64)
    sure = compute_hit_chances(four, 1, np.array([1, 1, 0, 0], bool), np.array([0, 1, 1, 1], bool))
    assert sure.tolist() == [1.0]
    # Strata {0, 2}, {1, 3, 4}: both of the first are picked, one of them is in the head: a sure hit.
    strata = np.array([0, 1, 0, 1, 1, 0, 0])
    assert compute_hit_chances(rows, 2, top, head, strata).tolist() == [1.0, 0.0]


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 1)), min_size=1, max_size=6),
)
def test_chance_of_hit_equals_counting_all_shuffles(tokens):
    top, head, strata = (np.array(column) for column in zip(*tokens, strict=True))
    places = range(len(tokens))
    hits = []
    for picked in itertools.combinations(places, int(top.sum())):
        if all(sum(strata[p] == s for p in picked) == (top & (strata == s)).sum() for s in (0, 1)):
            hits.append(any(head[p] for p in picked))
    expected = sum(hits) / len(hits)
    rows = np.zeros(len(tokens), dtype=np.int64)
    assert compute_hit_chances(rows, 1, top, head, strata)[0] == pytest.approx(expected, abs=1e-9)


def test_frequency_bins_hold_equal_shares_of_the_running_text():
    frequencies = {"the": 50, "of": 25, **{f"w{i}": 1 for i in range(25)}}
    bins = dict(
        zip(
            ["the", "of", "w3", "new"],
            assign_frequency_bins(["the", "of", "w3", "new"], frequencies, 4),
            strict=True,
        )
    )
    # Rare words fill the first quarter, "of" the second, "the" the upper half.
    assert bins == {"w3": 0, "new": 0, "of": 1, "the": 3}


def test_null_rate_excess_and_p_value():
    # 200 texts of 10 tokens, one of which is in the head. Top 1 is always that token: rate 1, blind rate 1/10.
    tokens = [[f"w{i}" for i in range(9)] + ["cue"] for _ in range(200)]
    attributions = [[0.0] * 9 + [1.0]] * 200
    result = shortcut_reliance(tokens, attributions, [0] * 200, {0: ["cue"]}, top_n=1)
    assert result.null["random"].rate == pytest.approx(0.1)
    assert result.null["random"].excess == pytest.approx(0.9)
    assert result.null["random"].p_value == pytest.approx(1 / 1001)
    assert result.null["random"].interval.low <= 0.9 <= result.null["random"].interval.high + 1e-12


def test_attributions_that_say_nothing_have_no_excess():
    rng = np.random.default_rng(3)
    vocabulary = np.array([f"w{i}" for i in range(40)])
    tokens = [rng.choice(vocabulary, size=12).tolist() for _ in range(400)]
    attributions = [rng.random(12) for _ in range(400)]
    result = shortcut_reliance(tokens, attributions, [0] * 400, {0: vocabulary[:6].tolist()})
    for null in result.null.values():
        assert null.interval.low < 0 < null.interval.high
        assert null.p_value > 0.05
    # 1 - C(10.2, 3) / C(12, 3) or so, since 6 of 40 words are in the head.
    assert result.null["random"].rate == pytest.approx(1 - 0.85**3, abs=0.03)


def test_a_model_that_looks_at_frequent_words_alone_has_excess_over_random_but_not_over_like_frequency():
    # Three frequent words, of which two are in the head; the model looks at a random one of the frequent words.
    rng = np.random.default_rng(0)
    tokens, attributions = [], []
    for item in range(300):
        row = ["the", "of", "and", *(f"rare{item}_{i}" for i in range(9))]
        tokens.append(row)
        values = np.zeros(len(row))
        values[rng.integers(3)] = 1.0
        attributions.append(values)
    result = shortcut_reliance(
        tokens, attributions, [0] * 300, {0: ["the", "of"]}, top_n=1, n_frequency_bins=2
    )
    assert result.null["random"].p_value < 0.01
    assert result.null["random"].rate == pytest.approx(2 / 12)
    assert result.null["frequency"].rate == pytest.approx(2 / 3)
    assert result.null["frequency"].p_value > 0.05


def test_permutation_p_value_is_the_tail_of_the_binomial():
    # 8 or more hits of 10 at chance 1/2: 56/1024 = 0.0547.
    p_value = compute_permutation_p_value(8, np.full(10, 0.5), Resampling(resamples=20_000))
    assert p_value == pytest.approx(56 / 1024, abs=0.006)
    assert compute_permutation_p_value(0, np.full(10, 0.5), Resampling(resamples=100)) == 1.0


def test_seed_decides_and_repeats():
    assert (
        reliance(resampling=Resampling(seed=1)).to_dict()
        == reliance(resampling=Resampling(seed=1)).to_dict()
    )


# ------------------------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        (
            {"attributions": ATTRIBUTIONS[:4]},
            ValueError,
            "`tokens` and `attributions`",
        ),
        (
            {"attributions": [*ATTRIBUTIONS[:4], [1.0]]},
            ValueError,
            "attribution per",
        ),
        (
            {"attributions": [*ATTRIBUTIONS[:4], [1.0, math.nan, 0.0]]},
            ValueError,
            "item 4 holds nan.",
        ),
        (
            {"predictions": [1, 0]},
            ValueError,
            "`tokens` and `predictions`",
        ),
        ({"predictions": [1, 0, 0, 0, 7]}, ValueError, "the prediction of item 4 is 7"),
        ({"predictions": [1.5, 0, 0, 0, 0]}, ValueError, "Expected whole numbers in `predictions`"),
        (
            {"tokens": ["the good film"] * 5},
            TypeError,
            "`tokens` to be",
        ),
        ({"tokens": [*TOKENS[:4], []]}, ValueError, "item 4 has none."),
        ({"tokens": []}, ValueError, "`tokens`, but"),
        ({"heads": ["bad"]}, TypeError, "Expected `heads` to be a mapping, but got"),
        (
            {"heads": {"pos": ["good"]}},
            TypeError,
            "keys of `heads`",
        ),
        (
            {"heads": {0: "bad", 1: ["good"]}},
            TypeError,
            "collection of tokens for label",
        ),
        ({"top_n": 0}, ValueError, "Expected `top_n` to be at least 1, but got 0."),
        ({"rank_by": "size"}, ValueError, "Expected `rank_by` to be one of"),
        ({"piece_style": "bpe"}, ValueError, "Expected `piece_style` to be one of"),
        (
            {"references": [1, 0]},
            ValueError,
            "`predictions` and `references`",
        ),
        (
            {"confidences": [0.5] * 4},
            ValueError,
            "`predictions` and `confidences`",
        ),
        (
            {"confidences": [1.5] * 5},
            ValueError,
            "value in `confidences`",
        ),
        ({"n_bins": 0}, ValueError, "Expected `n_bins`"),
    ],
)
def test_bad_input_is_told_in_one_sentence(change, error, sentence):
    inputs = {
        "tokens": TOKENS,
        "attributions": ATTRIBUTIONS,
        "predictions": PREDICTIONS,
        "heads": HEADS,
        **change,
    }
    with pytest.raises(error) as caught:
        shortcut_reliance(**inputs)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_label_without_a_head_is_named_beside_the_known_ones():
    with pytest.raises(ValueError, match="with a head: 0"):
        find_shortcuts([["a"], ["b"]], [[1.0], [1.0]], [0, 3], {0: ["a"], 1: ["b"]})
    with pytest.raises(ValueError, match=r"with a head: none\."):
        find_shortcuts([["a"]], [[1.0]], [0], {})
