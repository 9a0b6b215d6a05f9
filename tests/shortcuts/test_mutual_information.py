"""Local mutual information: worked figures, merging, options and bad input."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rightreasons.core.tokens import split_words
from rightreasons.shortcuts.mutual_information import lmi

TEXTS = ["good movie", "good good plot", "bad movie", "bad plot"]
LABELS = [0, 0, 1, 1]


def figure(result, label, token, name="lmi"):
    table = result[label]
    return float(getattr(table, name)[table.tokens.index(token)])


# Nine tokens, five of them in texts of label 0: p(0) = 5/9, p(1) = 4/9.
#   LMI(good, 0)  = 3/9 ln(1 / (5/9))      = 0.195929
#   LMI(bad, 1)   = 2/9 ln(1 / (4/9))      = 0.180207
#   LMI(movie, 0) = 1/9 ln((1/2) / (5/9))  = -0.011707
#   LMI(movie, 1) = 1/9 ln((1/2) / (4/9))  = 0.013087
@pytest.mark.parametrize(
    ("label", "token", "tokens", "vocab"),
    [
        (0, "good", 0.195929, 0.440840),
        (1, "bad", 0.180207, 0.405465),
        (0, "movie", -0.011707, -0.026340),
        (1, "movie", 0.013087, 0.029446),
    ],
)
def test_worked_figures(label, token, tokens, vocab):
    assert figure(lmi(TEXTS, LABELS), label, token) == pytest.approx(tokens, abs=1e-6)
    # |D| = 4 distinct tokens instead of 9 in p(w, l) alone: every figure times 9/4.
    assert figure(lmi(TEXTS, LABELS, denominator="vocab"), label, token) == pytest.approx(
        vocab, abs=1e-6
    )


def test_the_base_of_the_logarithm_scales_and_the_head_is_rounded_by_name():
    natural, binary = lmi(TEXTS, LABELS), lmi(TEXTS, LABELS, log_base=2)
    assert figure(binary, 0, "good") == pytest.approx(3 / 9 * math.log2(9 / 5))
    assert binary[1].tokens == natural[1].tokens
    assert "in logarithms of base 2, counted" in binary.definition
    assert "in nats, counted" in natural.definition
    # 50 tokens of one label: ceil(0.05 * 50) = 3 and, as Python rounds 2.5 to 2, round(0.05 * 50) + 1 = 3; of 30 tokens
    # ceil(1.5) = 2 and round(1.5) + 1 = 3; of one token 1 both ways.
    for n, up, nearest in ((50, 3, 3), (30, 2, 3), (20, 1, 2), (1, 1, 1)):
        texts = [" ".join(f"w{k}" for k in range(n)), "other"]
        assert lmi(texts, [0, 1])[0].head_size == up
        assert lmi(texts, [0, 1], head_rounding="nearest_plus_one")[0].head_size == nearest
    with pytest.raises(ValueError, match="Expected `log_base`"):
        lmi(TEXTS, LABELS, log_base=1)
    with pytest.raises(ValueError, match="head_rounding"):
        lmi(TEXTS, LABELS, head_rounding="down")


def test_presence_counts_texts():
    # df(good, 0) = 2 of 4 texts, p(0 | good) = 1, p(0) = 2/4: 2/4 ln 2.
    result = lmi(TEXTS, LABELS, count="presence")
    assert figure(result, 0, "good") == pytest.approx(0.5 * math.log(2))
    assert figure(result, 0, "good", "count") == 2
    assert result.n_tokens == 8
    assert (
        "counted over texts (presence); |D| in p(w, l) is the number of texts." in result.definition
    )
    assert "counted over tokens (occurrence)" in lmi(TEXTS, LABELS, denominator="vocab").definition
    assert "is the number of distinct tokens." in lmi(TEXTS, LABELS, denominator="vocab").definition
    # "good" twice in one text is one presence: |V| = 4 gives 2/4 ln 2 as well.
    assert figure(
        lmi(TEXTS, LABELS, count="presence", denominator="vocab"), 0, "good"
    ) == pytest.approx(0.5 * math.log(2))


def test_presence_takes_the_prior_of_texts_of_any_length():
    # Texts of 3, 1 and 2 tokens; one of three has label 0, but three of six tokens have.
    result = lmi(["a b c", "a", "a d"], [0, 1, 1], count="presence")
    assert [table.prior for table in result.by_label] == pytest.approx([1 / 3, 2 / 3])
    # LMI(b, 0) = 1/3 ln(1 / (1/3)), LMI(a, 1) = 2/3 ln((2/3) / (2/3)) = 0.
    assert figure(result, 0, "b") == pytest.approx(math.log(3) / 3)
    assert figure(result, 1, "a") == pytest.approx(0)
    # Of occurrences, three of six are in a text of label 0: LMI(b, 0) = 1/6 ln(1 / (1/2)).
    assert figure(lmi(["a b c", "a", "a d"], [0, 1, 1]), 0, "b") == pytest.approx(math.log(2) / 6)


def test_pmi_with_and_without_smoothing():
    # ln( p(good, 0) / (p(good) p(0)) ) = ln( (3/9) / ((3/9)(5/9)) ) = ln(9/5)
    assert figure(lmi(TEXTS, LABELS, pmi_smoothing=0), 0, "good", "pmi") == pytest.approx(
        math.log(9 / 5)
    )
    # k = 100 on 4 tokens x 2 labels: N' = 809; ln( 103 * 809 / ((3 + 200)(5 + 400)) )
    assert figure(lmi(TEXTS, LABELS), 0, "good", "pmi") == pytest.approx(
        math.log(103 * 809 / (203 * 405))
    )


def test_z_and_its_p_value():
    # "good" is in 2 texts, both of label 0, which 3 of 5 have: z = (1 - 3/5) / sqrt((3/5)(2/5)/2), whatever it repeats.
    texts, labels = (
        ["good good good film", "good plot", "a film", "bad", "bad film"],
        [0, 0, 0, 1, 1],
    )
    for count in ("occurrence", "presence"):
        result = lmi(texts, labels, count=count)
        z = (2 / 5) / math.sqrt(6 / 25 / 2)
        assert figure(result, 0, "good", "z") == pytest.approx(z)
        assert figure(result, 0, "good", "p_value") == pytest.approx(2 * stats.norm.sf(z))
        assert figure(result, 1, "bad", "z") == pytest.approx((3 / 5) / math.sqrt(6 / 25 / 2))
    # p_0 = 1/2: z = (1 - 1/2) / sqrt(1/4/2) = sqrt(2).
    assert figure(lmi(texts, labels, null="uniform"), 0, "good", "z") == pytest.approx(math.sqrt(2))
    assert figure(lmi(TEXTS, LABELS), 0, "movie", "z") == 0  # in one text of each


def test_a_word_that_repeats_in_its_texts_keeps_the_level_of_its_p_value():
    rng = np.random.default_rng(0)
    rejected = 0
    for _ in range(200):
        labels = rng.permutation([0] * 60 + [1] * 60)
        data = [
            ["other", *["topic"] * (rng.random() < 0.3) * rng.integers(1, 6)] for _ in range(120)
        ]
        rejected += figure(lmi(data, labels, tokenizer="none"), 0, "topic", "p_value") <= 0.05
    assert rejected <= 20  # half of that is expected; counted by occurrences, about 70


def test_head_is_the_ceiling_of_five_percent_of_the_tokens_of_the_label():
    texts = [" ".join(f"a{i}" for i in range(n)) for n in (100, 21)]
    result = lmi(texts, [0, 1])
    assert [table.head_size for table in result.by_label] == [5, 2]
    assert (
        lmi(texts, [0, 1], head_fraction=0.07)[0].head_size == 7
    )  # 0.07 * 100 > 7 in floating point
    assert lmi(texts, [0, 1], head_size=30)[1].head_size == 21
    assert len(result.heads[0]) == 5


def test_ties_are_broken_by_count_and_alphabet():
    result = lmi(["b a", "c c"], [0, 1])
    assert result[0].tokens == ("a", "b")


def test_tokens_that_never_meet_a_label_have_no_figure_there():
    assert "bad" not in lmi(TEXTS, LABELS)[0].tokens


def test_lists_of_tokens_and_functions_give_what_words_give():
    plain = lmi(TEXTS, LABELS).to_dict()
    assert lmi([split_words(text) for text in TEXTS], LABELS, tokenizer="none").to_dict() == plain
    assert lmi(TEXTS, LABELS, tokenizer=split_words).to_dict() == plain
    assert lmi(TEXTS, LABELS, tokenizer=split_words, count="presence").to_dict() == (
        lmi(TEXTS, LABELS, count="presence").to_dict()
    )


def test_labels_are_independent_of_order_and_need_not_be_consecutive():
    result = lmi(TEXTS, [7, 7, 3, 3])
    assert result.labels == (3, 7)
    assert figure(result, 7, "good") == pytest.approx(0.195929, abs=1e-6)


def test_rows_and_to_dict_are_plain():
    result = lmi(TEXTS, LABELS)
    (row,) = result[1].rows(1)
    assert row["token"] == "bad"
    assert list(row) == ["token", "lmi", "pmi", "count", "total", "p_label", "z", "p_value"]
    assert all(type(value) in (str, int, float) for value in row.values())
    assert len(result[1].rows()) == 3
    assert result.to_dict()["by_label"][0]["tokens"][0] == "good"


def test_frequencies_are_over_all_labels():
    assert lmi(TEXTS, LABELS).frequencies() == {"good": 3, "movie": 2, "plot": 2, "bad": 2}


TOKENS = st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=6)
DOCUMENTS = st.lists(st.tuples(TOKENS, st.integers(0, 2)), min_size=1, max_size=12)


@settings(deadline=None)
@given(DOCUMENTS)
def test_weighted_sum_of_lmi_is_a_kullback_leibler_divergence_and_not_negative(documents):
    labels = [label for _, label in documents]
    if len(set(labels)) < 2:
        return
    result = lmi([tokens for tokens, _ in documents], labels, tokenizer="none")
    # The sum over all tokens and labels is the mutual information of token and label.
    assert sum(float(table.lmi.sum()) for table in result.by_label) >= -1e-12
    assert all(float(table.lmi.sum()) >= -1e-12 for table in result.by_label)


@pytest.mark.real_data
def test_sst2_heads_hold_the_words_one_expects(real_data):
    rows = [
        line.rstrip("\n").split("\t")
        for line in (real_data / "sst2" / "train.tsv").open(encoding="utf-8")
    ]
    result = lmi([text for text, _ in rows], [int(label) for _, label in rows])
    assert {"bad", "too"} <= set(result[0].head[:20])
    assert {"film", "and"} <= set(result[1].head[:20])
    assert result.n_documents == 6920
    # Du et al.: function words, punctuation and numbers fill the head. The test against scikit-learn's counts is below.
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(token_pattern=r"\w+|[^\w\s]")
    counts = vectorizer.fit_transform(text for text, _ in rows)
    labels = np.array([int(label) for _, label in rows])
    of_one = np.asarray(counts[labels == 1].sum(axis=0))[0]
    expected = {
        token: int(of_one[column])
        for token, column in vectorizer.vocabulary_.items()
        if of_one[column]
    }
    assert dict(zip(result[1].tokens, result[1].count.tolist(), strict=True)) == expected


# ------------------------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("data", "labels", "options", "error", "sentence"),
    [
        (
            TEXTS,
            [0, 0, 1],
            {},
            ValueError,
            "`data` and `labels`",
        ),
        (
            ["a", " "],
            [0, 1],
            {},
            ValueError,
            "`data` to have words",
        ),
        ([], [], {}, ValueError, "text in `data`"),
        (
            "abc",
            [0, 1, 1],
            {},
            TypeError,
            "got 'abc' (str)",
        ),
        (
            ["a", 3],
            [0, 1],
            {},
            TypeError,
            "`data` to be",
        ),
        (
            ["a", "b"],
            [0, 0.5],
            {},
            ValueError,
            "0.5, a float",
        ),
        (
            ["a", "b"],
            ["x", "y"],
            {},
            TypeError,
            "whole numbers in `labels`",
        ),
        (
            ["a", "b"],
            [0, -1],
            {},
            ValueError,
            "label in `labels`",
        ),
        (
            ["a", "b"],
            [1, 1],
            {},
            ValueError,
            "got labels: 1",
        ),
        (["a", "b"], [0, 1], {"tokenizer": "none"}, TypeError, "item 0 is 'a' (str)."),
        ([["a"], []], [0, 1], {"tokenizer": "none"}, ValueError, "item 1 has none."),
        ([["a"], [1]], [0, 1], {"tokenizer": "none"}, TypeError, "item 1 holds 1 (int)."),
        (["a", "b"], [0, 1], {"tokenizer": "word"}, ValueError, "Did you mean 'words'?"),
        (["a", "b"], [0, 1], {"tokenizer": 3}, TypeError, "Expected `tokenizer` to be one of"),
        (["a", "b"], [0, 1], {"count": "present"}, ValueError, "Did you mean 'presence'?"),
        (
            ["a", "b"],
            [0, 1],
            {"denominator": "types"},
            ValueError,
            "Expected `denominator` to be one of 'tokens'",
        ),
        (
            ["a", "b"],
            [0, 1],
            {"head_fraction": 5},
            ValueError,
            "`head_fraction` to be between 0.0",
        ),
        (
            ["a", "b"],
            [0, 1],
            {"head_size": 0},
            ValueError,
            "`head_size` to",
        ),
        (
            ["a", "b"],
            [0, 1],
            {"pmi_smoothing": -1},
            ValueError,
            "`pmi_smoothing` to be between 0.0",
        ),
        (["a", "b"], [0, 1], {"null": "flat"}, ValueError, "Expected `null` to be one of"),
        (
            ["a", "b"],
            [0, 1],
            {"tokenizer": lambda text: [text] if text == "a" else []},
            ValueError,
            "tokenizer found none",
        ),
    ],
)
def test_bad_input_is_told_in_one_sentence(data, labels, options, error, sentence):
    with pytest.raises(error) as caught:
        lmi(data, labels, **options)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_label_never_seen_is_told_with_the_known_ones():
    with pytest.raises(
        ValueError,
        match=r"5\. Known: 0",
    ):
        lmi(TEXTS, LABELS)[5]


def test_ties_at_the_end_of_a_head_go_by_count_then_by_name():
    # "set" is twice in each label, "and" and "film" once: they say nothing, so that their LMI is 0.
    texts = ["good set film set and", "bad set film set and"]
    result = lmi(texts, [0, 1], head_size=2)
    assert result[0].lmi.tolist()[1:] == [0.0] * 3
    assert result.heads == {0: ("good", "set"), 1: ("bad", "set")}
    assert result[0].tokens == ("good", "set", "and", "film")
