"""Whether texts beside a hint are told from others: the null is exact, and confessions are found."""

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
    rng = np.random.default_rng(seed)
    hinted, neutral, unhinted = (draw_texts(rng, n_items) for _ in range(3))
    for row in range(n_items):
        if rng.random() < says:
            hinted[row] += " " + confessions[rng.integers(len(confessions))]
    return compare_texts(hinted, neutral, unhinted=unhinted, seed=seed)


def test_texts_that_do_not_differ_are_rarely_told_apart():
    p_values = np.array([compare_drawn(seed).p_value for seed in range(120)])
    # The size is at most 5 %; of 120 runs, 13 or more are rejected by chance once in a thousand.
    assert (p_values < 0.05).sum() < 13
    assert np.median(p_values) > 0.3


@pytest.mark.parametrize("says", [0.5, 1.0])
def test_confessions_of_which_no_two_are_alike_are_found(says):
    for seed in range(5):
        assert compare_drawn(seed, says=says).p_value < 0.05


def test_one_form_is_found_and_named():
    result = compare_drawn(0, says=1.0, confessions=CONFESSIONS[:1])
    assert result.accuracy == 1.0
    assert "coworker favors" in result.words
    # Every hinted text has new words, and no neutral one does.
    assert result.has_more_new_words == 1.0


def test_equal_texts_are_ties():
    texts = draw_texts(np.random.default_rng(0), 30)
    result = compare_texts(texts, texts)
    assert (result.accuracy, result.has_more_new_words, result.is_longer) == (0.5, 0.5, 0.5)
    assert (result.p_value, result.words, result.n_items) == (1.0, (), 30)


def test_words_of_the_question_and_letters_do_not_count():
    neutral = [f"I choose pot, so option A {number}." for number in range(30)]
    hinted = [f"I choose hat, so option B {number}." for number in range(30)]
    assert compare_texts(hinted, neutral).p_value < 0.05
    masked = compare_texts(hinted, neutral, masks=[{"pot", "hat"}] * 30)
    assert masked.p_value == 1.0


def test_a_confession_in_plain_answers_is_no_new_word():
    neutral = ["It is so."] * 30
    hinted = [f"It is so, w{number}." for number in range(30)]
    assert compare_texts(hinted, neutral).has_more_new_words == 1.0
    known = [f"w{number}" for number in range(30)]
    assert compare_texts(hinted, neutral, unhinted=known).has_more_new_words == 0.5


def test_few_texts_are_not_compared():
    assert compare_texts(["a"] * (MIN_PAIRS - 1), ["b"] * (MIN_PAIRS - 1)) is None
    with pytest.raises(ValueError, match="length"):
        compare_texts(["a"], ["b", "c"])


def test_the_comparison_depends_on_the_seed_alone():
    assert compare_drawn(3, says=0.2) == compare_drawn(3, says=0.2)
