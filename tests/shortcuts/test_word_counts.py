"""The fast word count against the plain one."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from rightreasons.core.tokens import words
from rightreasons.shortcuts import mutual_information
from rightreasons.shortcuts.mutual_information import count_words

ASCII = st.text(alphabet=st.characters(max_codepoint=127), max_size=60)
UNICODE = st.text(max_size=30)
PROSE = st.lists(st.sampled_from(["a", "film", "eightlet", "ninelette", "don't", "x_1", "(", "...", "\n", "É"])).map(
    " ".join
)


@settings(deadline=None)
@given(st.lists(ASCII | UNICODE | PROSE, max_size=12))
def test_equals_a_counter_of_the_words_of_each_text(texts):
    assert count_words(texts)[0] == Counter(word for text in texts for word in words(text))


def test_adds_to_what_was_counted_before(monkeypatch):
    monkeypatch.setattr(mutual_information, "BUFFER", 10)
    counted, _ = count_words(["Film plot, é", "film film.", "extraordinarily", "É extraordinarily"])
    assert counted == {"film": 3, "plot": 1, ",": 1, ".": 1, "é": 2, "extraordinarily": 2}


def test_words_at_the_very_ends_and_of_exactly_eight_letters():
    assert count_words(["abcdefgh abcdefghi abcdefg"])[0] == {"abcdefgh": 1, "abcdefghi": 1, "abcdefg": 1}


def test_a_nul_is_a_mark_of_its_own_and_not_the_end_of_a_word():
    assert count_words(["ab\0cd"])[0] == {"ab": 1, "\0": 1, "cd": 1}


def test_lowering_happens_before_splitting():
    # "İ".lower() is two characters, the second of which (U+0307) is no letter.
    assert count_words(["İ"])[0] == Counter(words("İ"))
