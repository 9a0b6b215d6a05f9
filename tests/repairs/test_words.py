"""Words that are no reasons: found, exchanged, removed and put in."""

import numpy as np

from rightreasons.repairs.words import NO_LABEL, SpuriousWords, find_longer_forms

PAIR = SpuriousWords({"copper": 0, "marble": 1}, 2)
ONE_SIDED = SpuriousWords({"copper": 0}, 2)
# Three words of the first label, two of the second: the third has the first of the second label as its partner.
UNEVEN = SpuriousWords({"a1": 0, "b1": 1, "a2": 0, "b2": 1, "a3": 0}, 2)


def test_words_are_exchanged_by_their_place_in_the_lists():
    assert UNEVEN.by_label == (("a1", "a2", "a3"), ("b1", "b2"))
    assert UNEVEN.exchange(("a1 x a2, a3 and b2",), goal=1) == ("b1 x b2, b1 and b2",)
    assert UNEVEN.exchange(("b2 a1",), goal=0) == ("a2 a1",)


def test_capitals_stay_and_parts_of_words_are_no_words():
    assert PAIR.exchange(("Copper, COPPER and coppery.",), goal=1) == (
        "Marble, MARBLE and coppery.",
    )
    assert PAIR.remove(("Copper pots of marble",)) == ("pots of",)


def test_both_texts_of_a_pair_are_changed_alike():
    item = ("a copper pot", "a copper pot")
    assert PAIR.exchange(item, goal=1) == ("a marble pot", "a marble pot")
    assert PAIR.remove(item) == ("a pot", "a pot")


def test_the_label_is_that_of_most_words():
    assert PAIR.predict_label(("copper marble marble",)) == 1
    assert PAIR.predict_label(("copper marble",)) == 0
    assert PAIR.predict_label(("neither",)) == NO_LABEL


def test_a_swap_says_something_else():
    rng = np.random.default_rng(0)
    assert PAIR.swap(("a copper pot",), rng) == ("a marble pot",)
    assert PAIR.swap(("a pot",), rng) == ("a pot",)
    # Without a counterpart the word is removed, or put in before a word.
    assert ONE_SIDED.swap(("a copper pot",), rng) == ("a pot",)
    assert ONE_SIDED.swap(("a pot",), rng) in [("copper a pot",), ("a copper pot",)]
    assert ONE_SIDED.swap(("?!",), rng) == ("?!",)


def test_scripts_without_spaces_have_words():
    words = SpuriousWords(
        {"苹果": 0, "石头": 1}, 2, segmenter=_learn(["我爱苹果", "苹果很好", "买苹果吧"])
    )
    assert words.exchange(("好苹果。",), goal=1) == ("好石头。",)


def _learn(texts):
    from rightreasons.shortcuts.swapping.segments import Segmenter

    return Segmenter(texts)


def test_longer_forms_are_told():
    items = [("immigrants coppers", "x"), ("immigrant",), ("Immigrants",)]
    words = SpuriousWords({"immigrant": 0, "an": 1}, 2)
    # "an" is too short to be a stem of anything.
    assert find_longer_forms(words, [*items, ("another",)]) == {"immigrants": 2}
