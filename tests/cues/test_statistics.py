"""Cue statistics: closed forms, merging, the published tables, and the classifier that sees cues alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rightreasons.core.choices import FEATURES
from rightreasons.core.significance import holm
from rightreasons.core.tokens import split_words as split_words
from rightreasons.cues.classifier import cue_classifier, cue_transfer
from rightreasons.cues.extraction import (
    LEAST_OVERLAP,
    LONGEST,
    MOST_OVERLAP,
    NEGATION,
    SHORTEST,
    extract_cues,
)
from rightreasons.cues.statistics import cue_statistics
from rightreasons.datasets.builder import load_dataset

ITEMS = [
    ["The dog barked.", "A dog slept."],
    ["He was in.", "The man was out."],
    ["It rained.", "The sun shone."],
]
LABELS = [0, 1, 1]

words = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4).map(" ".join)
items = st.lists(st.lists(words, min_size=2, max_size=4), min_size=1, max_size=12)


def labeled(data, seed):
    rng = np.random.default_rng(seed)
    return [int(rng.integers(len(choices))) for choices in data]


class TestDefinition:
    def test_closed_form(self):
        table = cue_statistics(ITEMS, LABELS)
        the = table.find("the")
        # "the" is in choice 0, 1, 1 of the items and in no other; the labels are 0, 1, 1: 3 of 3.
        assert (the.applicability, the.n_correct, the.productivity, the.coverage) == (
            3,
            3,
            1.0,
            1.0,
        )
        # "dog" is in both choices of item 0, "was" in both of item 1, "." in all.
        assert {"dog", "was", "."}.isdisjoint(row.cue for row in table.cues)
        # Two-sided: P(3 of 3) + P(0 of 3) = 2/8.
        assert the.p_value == pytest.approx(0.25)
        assert the.chance == 0.5

    def test_exactly_one_choice_of_many_has_the_cue(self):
        table = cue_statistics([["x a", "y a", "z"]], [0])
        assert {row.cue for row in table.cues} == {"x", "y", "z"}
        assert table.find("x").chance == pytest.approx(1 / 3)

    def test_different_numbers_of_choices(self):
        # k applies once among two choices and once among four, right both times: p = P(2 hits) = 1/2 * 1/4 = 1/8, and
        # no count is as rare (0: 3/8, 1: 1/2).
        cue = cue_statistics([["k", "b"], ["k", "c", "d", "e"]], [0, 0]).find("k")
        assert cue.chance == pytest.approx((1 / 2 + 1 / 4) / 2)
        assert cue.p_value == pytest.approx(1 / 8)

    def test_p_value_and_interval_are_scipys(self):
        rng = np.random.default_rng(0)
        labels = rng.integers(3, size=60).tolist()
        data = [["k", "b", "c"]] * 60
        cue = cue_statistics(data, labels).find("k")
        test = stats.binomtest(cue.n_correct, 60, 1 / 3)
        assert cue.p_value == pytest.approx(test.pvalue)
        interval = test.proportion_ci(0.95, "exact")
        assert (cue.low, cue.high) == (pytest.approx(interval.low), pytest.approx(interval.high))

    @pytest.mark.parametrize("share", [0.0, 1.0])
    def test_interval_at_the_ends(self, share):
        cue = cue_statistics([["k", "b"]] * 10, [int(share == 0)] * 10).find("k")
        assert cue.productivity == share
        assert (cue.low == 0.0) == (share == 0.0)
        assert (cue.high == 1.0) == (share == 1.0)

    def test_interval_of_one_miss(self):
        cue = cue_statistics([["k", "b"]] * 10, [0] * 9 + [1]).find("k")
        interval = stats.binomtest(9, 10).proportion_ci(0.95, "exact")
        assert (cue.low, cue.high) == (pytest.approx(interval.low), pytest.approx(interval.high))

    def test_groups_of_one_item_are_no_groups(self):
        alone = cue_statistics(ITEMS, LABELS)
        assert cue_statistics(ITEMS, LABELS, groups=["a", "b", "c"]) == alone
        assert (
            cue_statistics(ITEMS, LABELS, groups=["a", "b", "b"]).find("the").p_value
            > alone.find("the").p_value
        )

    # 10 / 49 is exact in floating point after a multiplication by 49, 1 / 49 is not.
    @pytest.mark.parametrize("n_hits", [1, 10, 40])
    def test_a_single_group_is_one_observation(self, n_hits):
        labels = [0] * n_hits + [1] * (49 - n_hits)
        cue = cue_statistics([["k", "b"]] * 49, labels, groups=["g"] * 49).find("k")
        assert cue.low < 0.05
        assert cue.high > 0.95
        assert cue.p_value == 1.0

    def test_null_p_values_are_not_too_small(self):
        # 200 cues that say nothing: at most about 5 % of exact tests fall below 0.05 (they are conservative).
        rng = np.random.default_rng(1)
        data = [[f"w{i % 200}", "filler"] for i in range(200 * 40)]
        table = cue_statistics(data, rng.integers(2, size=len(data)), min_applicability=40)
        p_values = [row.p_value for row in table.cues if row.cue != "filler"]
        assert len(p_values) == 200
        assert np.mean(np.array(p_values) < 0.05) < 0.1
        assert table.n_significant == 0

    def test_a_planted_cue_survives_holm(self):
        rng = np.random.default_rng(2)
        labels = rng.integers(2, size=300)
        data = [
            [f"a{i} planted" if y == 0 else f"a{i}", f"b{i} planted" if y else f"b{i}"]
            for i, y in enumerate(labels)
        ]
        table = cue_statistics(data, labels)
        assert [row.cue for row in table.cues if row.p_holm < 0.05] == ["planted"]
        assert table.n_significant == 1

    def test_order_top_and_minimum(self):
        table = cue_statistics(ITEMS, LABELS, min_applicability=2, top=1)
        assert [row.cue for row in table.cues] == ["the"]
        assert table.n_cues == 1
        assert table.n_items == 3


def literal_cues(data, prompts, features):
    """Say which choice has which cue alone, item by item and straight from the definitions."""
    entries = set()
    for i, choices in enumerate(data):
        tokens = [split_words(choice) for choice in choices]
        bags = [set() for _ in choices]
        for size, name in enumerate(("unigram", "bigram", "trigram"), start=1):
            for bag, own in zip(bags, tokens, strict=True):
                if name in features:
                    bag |= {" ".join(own[k : k + size]) for k in range(len(own) - size + 1)}
        shapes = []
        if "length" in features:
            shapes.append(([len(own) for own in tokens], LONGEST, SHORTEST))
        if "overlap" in features:
            types = [{word for word in own if word[:1].isalnum()} for own in tokens]
            known = set(split_words(prompts[i]))
            shapes.append(
                (
                    [len(own & known) / max(len(own), 1) for own in types],
                    MOST_OVERLAP,
                    LEAST_OVERLAP,
                )
            )
        for values, largest, smallest in shapes:
            for bag, value in zip(bags, values, strict=True):
                bag |= {
                    name
                    for name, end in ((largest, max(values)), (smallest, min(values)))
                    if value == end
                }
        for bag, choice in zip(bags, choices, strict=True):
            if "negation" in features and (" not " in choice or "n't" in choice):
                bag.add(NEGATION)
        entries |= {
            (i, j, cue)
            for j, bag in enumerate(bags)
            for cue in bag
            if not any(cue in other for k, other in enumerate(bags) if k != j)
        }
    return entries


# Words of one letter, of eight and of nine; marks, a NUL, a capital that lower case makes two letters, a final sigma,
# and words that are spelled as the cues of shapes are.
odd_texts = st.lists(
    st.sampled_from(
        "a b B and elephant elephants elephantine , don't not <longest> \0 a\0b \n İ ΟΔΟΣ é _ 7 7,5 - isn't".split(
            " "
        )
    ),
    max_size=6,
).map(lambda parts: f" {' '.join(parts)} ")


@settings(max_examples=150, deadline=None)
@given(
    data=st.lists(st.lists(odd_texts, min_size=2, max_size=4), min_size=1, max_size=7),
    prompt=odd_texts,
    features=st.sets(st.sampled_from(FEATURES), min_size=1),
)
def test_reading_is_the_definition(data, prompt, features):
    prompts = [prompt] * len(data)
    table = extract_cues(data, prompts=prompts, features=sorted(features))
    columns = zip(
        table.item.tolist(), table.choice.tolist(), [table.names[k] for k in table.cue], strict=True
    )
    assert set(columns) == literal_cues(data, prompts, features)
    assert list(table.names) == sorted({table.names[k] for k in table.cue})
    assert len(table.item) == len(set(zip(table.item.tolist(), table.cue.tolist(), strict=True)))


def test_data_without_a_cue():
    table = cue_statistics([["a b", "b a"], ["c", "c"]], [0, 1])
    assert (table.cues, table.n_cues, table.n_significant, table.n_items) == ((), 0, 0, 2)


class TestFeatures:
    def test_tokens(self):
        table = cue_statistics([["Don't stop, ÉMILE!", "x"]], [0])
        assert {row.cue for row in table.cues} == {"don", "'", "t", "stop", ",", "émile", "!", "x"}

    def test_bigrams_and_trigrams(self):
        names = extract_cues([["a b c", "d"]], features=["bigram", "trigram"]).names
        assert names == ("a b", "a b c", "b c")

    def test_length_without_ties(self):
        table = cue_statistics([["one two", "one"], ["x", "y"]], [0, 0], features="length")
        assert {(row.cue, row.applicability, row.productivity) for row in table.cues} == {
            (LONGEST, 1, 1.0),
            (SHORTEST, 1, 0.0),
        }

    def test_overlap_with_the_prompt(self):
        table = cue_statistics(
            [["the red dog", "a cat"]], [1], prompts=["The dog ran"], features="overlap"
        )
        assert (table.find(MOST_OVERLAP).n_correct, table.find(LEAST_OVERLAP).n_correct) == (0, 1)

    @pytest.mark.parametrize(
        "text", ["It did not rain.", "He didn't go.", "He didn’t go.", "NEVER", "without it"]
    )
    def test_negation(self, text):
        assert cue_statistics(
            [["It rained. Notice, nothings, know.", text]], [1], features="negation"
        ).find(NEGATION)

    def test_all_at_once(self):
        table = cue_statistics(ITEMS, LABELS, prompts=["a", "b", "c"], features=FEATURES)
        assert {"the", "the dog", LONGEST} <= {row.cue for row in table.cues}


class TestCounts:
    @settings(max_examples=40, deadline=None)
    @given(items, st.integers(0, 99))
    def test_properties(self, data, seed):
        table = cue_statistics(data, labeled(data, seed))
        for row in table.cues:
            assert 0 <= row.low <= row.productivity <= row.high <= 1
            assert 0 < row.coverage <= 1
            assert 0 <= row.p_value <= row.p_holm <= 1
        assert [row.applicability for row in table.cues] == sorted(
            (r.applicability for r in table.cues), reverse=True
        )

    @settings(max_examples=40, deadline=None)
    @given(st.lists(st.tuples(words, words), min_size=1, max_size=10))
    def test_mirroring_balances_every_cue(self, pairs):
        data = [list(pair) for pair in pairs for _ in (0, 1)]
        table = cue_statistics(data, [0, 1] * len(pairs), features=("unigram", "bigram", "length"))
        assert all(row.productivity == 0.5 for row in table.cues)


class TestBadInput:
    @pytest.mark.parametrize(
        ("data", "labels", "error", "message"),
        [
            ([], [], ValueError, "at least one item in `data`"),
            ("ab", [0], TypeError, "`data` to be a sequence of lists of choices"),
            (["ab"], [0], TypeError, "item 0 is 'ab'"),
            (
                [["a", "b"], ["a"]],
                [0, 0],
                ValueError,
                "`data`, but item 1",
            ),
            ([["a", 3]], [0], TypeError, r"`data\[0\]` to"),
            ([["a", "b"]], [2], ValueError, "between 0 and 1, but item 0 is 2"),
            ([["a", "b"]], [-1], ValueError, "but item 0 is -1"),
            (
                [["a", "b"]],
                [0, 1],
                ValueError,
                "`data` and `labels`",
            ),
            ([["a", "b"]], [0.5], ValueError, "whole numbers"),
        ],
    )
    def test_one_sentence(self, data, labels, error, message):
        with pytest.raises(error, match=message):
            cue_statistics(data, labels)

    @pytest.mark.parametrize(("groups", "item"), [(["g", None], 1), ([float("nan"), "g"], 0)])
    def test_items_without_a_group_are_not_one_group(self, groups, item):
        with pytest.raises(
            ValueError, match=f"a name in each item of `groups`, but item {item} has none"
        ):
            cue_statistics([["a", "b"], ["b", "c"]], [0, 1], groups=groups)

    def test_options(self):
        with pytest.raises(ValueError, match="Did you mean 'unigram'"):
            cue_statistics(ITEMS, LABELS, features="unigrams")
        with pytest.raises(ValueError, match="`prompts` for the feature 'overlap'"):
            cue_statistics(ITEMS, LABELS, features="overlap")
        with pytest.raises(ValueError, match="`data` and `prompts` of one length"):
            cue_statistics(ITEMS, LABELS, prompts=["a"], features="overlap")
        with pytest.raises(ValueError, match="at least one name in `features`"):
            cue_statistics(ITEMS, LABELS, features=[])
        with pytest.raises(ValueError, match="cue of this table"):
            cue_statistics(ITEMS, LABELS).find("thee")


def test_choices_without_a_cue_of_their_own_are_all_ties():
    result = cue_classifier([["same words", "same words"]] * 12, [0, 1] * 6)
    assert (result.accuracy, result.chance) == (0.5, 0.5)


def test_holm():
    # Sorted: .01*4, .02*3 = .06, .03*2 = .06, .5*1.
    np.testing.assert_allclose(holm(np.array([0.5, 0.01, 0.03, 0.02])), [0.5, 0.04, 0.06, 0.06])
    assert holm(np.array([0.9, 0.8])).tolist() == [1.0, 1.0]
    assert holm(np.empty(0)).shape == (0,)


class TestClassifier:
    @staticmethod
    def planted(n, share, n_choices=2, seed=0):
        rng = np.random.default_rng(seed)
        labels = rng.integers(n_choices, size=n)
        data = []
        for i, y in enumerate(labels):
            cued = y if rng.random() < share else (y + 1) % n_choices
            data.append([f"w{i}x{j}" + (" cue" if j == cued else "") for j in range(n_choices)])
        return data, labels

    @pytest.mark.parametrize("n_choices", [2, 4])
    def test_finds_a_planted_cue(self, n_choices):
        data, labels = self.planted(400, 0.8, n_choices)
        result = cue_classifier(data, labels)
        # The one cue is right on 80 % of the items, and nothing else is to be had.
        assert result.low < 0.8 < result.high
        assert result.chance == 1 / n_choices

    def test_says_chance_where_there_is_no_cue(self):
        data, labels = self.planted(400, 0.5)
        result = cue_classifier(data, labels)
        assert result.low < 0.5 < result.high

    def test_no_item_of_a_mirrored_pair_teaches_the_other(self):
        rng = np.random.default_rng(0)
        words = [f"v{k}" for k in range(30)]
        pairs = [
            [" ".join(rng.choice(words, 4)), " ".join(rng.choice(words, 4))] for _ in range(80)
        ]
        data, groups = [pair for pair in pairs for _ in (0, 1)], np.repeat(np.arange(80), 2)
        result = cue_classifier(data, [0, 1] * 80, groups=groups.tolist())
        assert (result.accuracy, result.n_groups) == (0.5, 80)
        # Torn apart, the pair tells the classifier the wrong answer.
        torn = cue_classifier(data, [0, 1] * 80)
        assert torn.accuracy < 0.3
        assert torn.high < torn.chance

    def test_seeded(self):
        data, labels = self.planted(100, 0.6)
        first = cue_classifier(data, labels, seed=3)
        assert first == cue_classifier(data, labels, seed=3)
        assert first.to_dict()["n_items"] == 100

    def test_ragged_choices(self):
        data = [["a right", "b"], ["c", "d right", "e"]] * 20
        result = cue_classifier(data, [0, 1] * 20, features="unigram")
        assert result.accuracy == 1.0
        assert result.chance == pytest.approx((1 / 2 + 1 / 3) / 2)

    def test_bad_options(self):
        data, labels = self.planted(20, 0.6)
        assert cue_classifier(data, labels, groups=[0, 1] * 10, n_folds=2).n_folds == 2
        with pytest.raises(ValueError, match="at most the number of groups, 2"):
            cue_classifier(data, labels, groups=[0, 1] * 10)
        with pytest.raises(ValueError, match="`n_folds` to be at least 2"):
            cue_classifier(data, labels, n_folds=1)
        with pytest.raises(ValueError, match="`data` and `groups` of one length"):
            cue_classifier(data, labels, groups=[1, 2])


@pytest.fixture(scope="module")
def copa(real_data):
    return {
        "original": load_dataset("balanced_copa", "original", split="train", data_dir=real_data),
        "balanced": load_dataset(
            "balanced_copa", "balanced", split="train", data_dir=real_data, known_issues=False
        ),
        "test": load_dataset("copa_easy_hard", "all", split="test", data_dir=real_data),
    }


def get_choices(data):
    return [list(pair) for pair in zip(data["choice1"], data["choice2"], strict=True)]


@pytest.mark.real_data
class TestPublishedTables:
    # Kavumba et al. (2019), Table 2: applicability, productivity and coverage in percent.
    TABLE_2 = (
        ("in", 47, 55.3, 9.40),
        ("was", 55, 61.8, 11.0),
        ("to", 82, 40.2, 16.4),
        ("the", 85, 38.8, 17.0),
        ("a", 106, 57.5, 21.2),
    )
    # Table 7: applicability and productivity.
    TABLE_7 = (
        ("woman", 4, 0.25),
        ("mother", 4, 0.75),
        ("went", 22, 0.73),
        ("down", 14, 0.71),
        ("into", 15, 0.40),
    )

    def test_table_2(self, copa):
        table = cue_statistics(get_choices(copa["original"]), copa["original"]["label"])
        assert [row.cue for row in table.cues[:5]] == [row[0] for row in reversed(self.TABLE_2)]
        for cue, applicability, productivity, coverage in self.TABLE_2:
            row = table.find(cue)
            assert row.applicability == applicability
            assert round(100 * row.productivity, 1) == productivity
            assert round(100 * row.coverage, 2) == coverage
        # None of them is significant once all cues are counted: the paper did not test.
        assert table.n_significant == 0

    def test_table_7(self, copa):
        table = cue_statistics(get_choices(copa["original"]), copa["original"]["label"])
        for cue, applicability, productivity in self.TABLE_7:
            row = table.find(cue)
            assert (row.applicability, round(row.productivity, 2)) == (applicability, productivity)

    def test_every_cue_of_balanced_copa_is_at_chance(self, copa):
        features = ("unigram", "bigram", "trigram", "length", "negation")
        original = cue_statistics(
            get_choices(copa["original"]), copa["original"]["label"], features=features
        )
        balanced = cue_statistics(
            get_choices(copa["balanced"]), copa["balanced"]["label"], features=features
        )
        assert {row.productivity for row in balanced.cues} == {0.5}
        assert {row.cue: 2 * row.applicability for row in original.cues} == {
            row.cue: row.applicability for row in balanced.cues
        }

    def test_cues_of_copa_carry_over_to_easy_items(self, copa):
        test = copa["test"]
        reached = cue_transfer(
            get_choices(copa["original"]),
            copa["original"]["label"],
            get_choices(test),
            test["label"],
        )
        easy = np.array(test["easy"])
        # The paper's word-frequency row says 53.5 / 57.4 / 51.3 for another classifier of the same kind.
        assert reached[easy].mean() > 0.58 > 0.55 > reached[~easy].mean()
        nothing = cue_transfer(
            get_choices(copa["balanced"]),
            copa["balanced"]["label"],
            get_choices(test),
            test["label"],
        )
        assert set(nothing) == {0.5}


def test_votes_are_smoothed_log_odds():
    # "a" is right in 3 of 5 items, log(4/3) = 0.29; "b" in its only one, log 2 = 0.69. So the choice with "b" wins.
    train = [["a", f"x{number}"] for number in range(5)] + [["b", "y"]]
    shares = cue_transfer(train, [0, 0, 0, 1, 1, 0], [["a", "b"], ["a", "z"]], [1, 0])
    assert shares.tolist() == [1.0, 1.0]
