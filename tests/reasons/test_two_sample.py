"""Whether hinted texts differ from others: the test is exact without a difference, and finds confessions."""

import numpy as np
import pytest

from rightreasons.reasons.two_sample import MIN_PAIRS, compare_texts

WORDS = [f"word{number}" for number in range(60)]
CONFESSIONS = (
    "The coworker favors that one.",
    "Da jemand das schon vorgeschlagen hat, nehme ich es auch.",
    "Puisque la note indique cette option, je la choisis.",
    "一緒に書かれていた意見に従います。",
    "ผมทำตามที่มีคนบอกไว้",
    "Мне подсказали этот вариант.",
    "Someone has voted already, which settles it for me.",
)


def draw_texts(rng, n_items):
    """Draw texts of 20 to 40 of sixty words."""
    return [" ".join(rng.choice(WORDS, rng.integers(20, 40))) for _ in range(n_items)]


def compare_drawn(seed, n_items=60, says=0.0, confessions=CONFESSIONS):
    """Compare drawn texts, of which a hinted one has a confession with the chance `says`."""
    rng = np.random.default_rng(seed)
    hinted = draw_texts(rng, n_items)
    neutral = draw_texts(rng, n_items)
    unhinted = draw_texts(rng, n_items)
    for row in range(n_items):
        if rng.random() < says:
            hinted[row] += " " + confessions[rng.integers(len(confessions))]
    return compare_texts(hinted, neutral, unhinted=unhinted, seed=seed)


def test_texts_that_do_not_differ_are_rarely_distinguished():
    p_values = np.array([compare_drawn(seed).p_value for seed in range(120)])

    # The size is at most 5 %; of 120 runs, 13 or more are rejected by chance once in a thousand.
    assert (p_values < 0.05).sum() < 13
    assert np.median(p_values) > 0.3


@pytest.mark.parametrize("says", [0.5, 1.0])
def test_confessions_in_seven_forms_are_found(says):
    for seed in range(5):
        assert compare_drawn(seed, says=says).p_value < 0.05


def test_a_single_form_of_confession_is_found_and_named():
    result = compare_drawn(0, says=1.0, confessions=CONFESSIONS[:1])

    assert result.accuracy == 1.0
    assert "coworker favors" in result.words
    # Every hinted text has new words, and no neutral one does.
    assert result.has_more_new_words == 1.0


def test_equal_texts_are_ties():
    texts = draw_texts(np.random.default_rng(0), 30)

    result = compare_texts(texts, texts)

    assert result.accuracy == 0.5
    assert result.has_more_new_words == 0.5
    assert result.is_longer == 0.5
    assert result.p_value == 1.0
    assert result.words == ()
    assert result.n_items == 30


def test_words_of_the_question_and_letters_do_not_count():
    neutral = [f"I choose pot, so option A {number}." for number in range(30)]
    hinted = [f"I choose hat, so option B {number}." for number in range(30)]
    question_words = [{"pot", "hat"}] * 30

    assert compare_texts(hinted, neutral).p_value < 0.05
    assert compare_texts(hinted, neutral, masks=question_words).p_value == 1.0


def test_a_word_of_the_plain_answers_is_not_new():
    neutral = ["It is so."] * 30
    hinted = [f"It is so, w{number}." for number in range(30)]
    plain = [f"w{number}" for number in range(30)]

    assert compare_texts(hinted, neutral).has_more_new_words == 1.0
    # A tie in each pair counts one half.
    assert compare_texts(hinted, neutral, unhinted=plain).has_more_new_words == 0.5


def test_few_texts_are_not_compared():
    assert compare_texts(["a"] * (MIN_PAIRS - 1), ["b"] * (MIN_PAIRS - 1)) is None
    with pytest.raises(ValueError, match="length"):
        compare_texts(["a"], ["b", "c"])


def test_the_order_of_the_items_changes_nothing():
    # Some items are equal, and some of these have their texts exchanged.
    rng = np.random.default_rng(5)
    neutral = [*draw_texts(rng, 20), "word1 word2", "word3", "word1 word2"]
    hinted = [f"{text} {CONFESSIONS[n % 2]}" for n, text in enumerate(neutral[:8])]
    hinted += [*neutral[8:20], "word3", "word1 word2", "word3"]
    masks = [{f"word{n % 7}"} for n in range(23)]
    expected = compare_texts(hinted, neutral, masks=masks)
    assert 0.003 < expected.p_value < 1

    for seed in range(4):
        rows = np.random.default_rng(seed).permutation(23)
        permuted = [[values[row] for row in rows] for values in (hinted, neutral, masks)]
        assert compare_texts(permuted[0], permuted[1], masks=permuted[2]) == expected


def test_the_comparison_depends_on_the_seed_alone():
    assert compare_drawn(3, says=0.2) == compare_drawn(3, says=0.2)
