"""Exact match and token F1 against the definition of SQuAD 1.1, by hand."""

import pytest

from rightreasons.behavior.expectations import NORMALIZERS, answer_scores, normalize_answer


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The Panthers", "panthers"),
        ("an apple a day", "apple day"),
        ("theatre and anthem", "theatre and anthem"),  # articles are whole words
        ("U.S.A.", "usa"),
        ("twenty-four", "twentyfour"),
        ("  the\tGolden \n Gate ", "golden gate"),
        ("“quoted”", "“quoted”"),  # only ASCII punctuation is dropped
        ("A.", ""),  # the full stop goes first, and leaves an article
        ("the", ""),
    ],
)
def test_normalization(text, normal):
    assert normalize_answer(text) == normal


@pytest.mark.parametrize(
    ("name", "normal"),
    [
        ("none", " The  Cat's, an HOUR straße! "),
        ("article", "The  Cat's, an HOUR straße!"),  # CheckList drops a lower-case article alone
        ("squad", "cats hour straße"),
    ],
)
def test_normalizations_by_name(name, normal):
    assert normalize_answer(" The  Cat's, an HOUR straße! ", name) == normal


def test_every_normalization_is_a_projection():
    for name in NORMALIZERS:
        for text in ("The A-team.", " a  the an ", "", "Is it an X?", "the U.S.", "a."):
            once = normalize_answer(text, name)
            # What is left of "a." after "squad" is settled; "article" drops one article at a time.
            assert name == "article" or normalize_answer(once, name) == once
    with pytest.raises(ValueError, match="`normalization` to"):
        normalize_answer("x", "squard")


@pytest.mark.parametrize(
    ("prediction", "reference", "f1"),
    [
        ("Santa Clara, California", "Santa Clara", 0.8),  # c 2, P 2/3, R 1: 2 (2/3) / (5/3)
        (
            "gold gold",
            "gold",
            2 / 3,
        ),  # a word counts as often as it stands in both: c 1, P 1/2, R 1
        ("the 308", "308", 1.0),
        ("Broncos", "Panthers", 0.0),
        ("", "the", 0.0),  # both have no words: SQuAD 1.1 gives 0
    ],
)
def test_f1_of_words(prediction, reference, f1):
    assert answer_scores([prediction], [[reference]]).f1 == pytest.approx(f1)


def test_the_best_reference_counts():
    found = answer_scores(
        ["Levi's Stadium", "1976!", "a"],
        [["Santa Clara", "levis stadium."], ["the year 1976", "1975"], ["an"]],
    )
    # 1976 in "year 1976": c 1, P 1, R 1/2, F1 2/3. "a" and "an" are both nothing: equal, and F1 0.
    assert found.exact == [True, False, True]
    assert found.f1_scores == pytest.approx([1.0, 2 / 3, 0.0])
    assert found.exact_match == pytest.approx(2 / 3)
    assert found.f1 == pytest.approx(5 / 9)


def test_bad_input_is_told():
    with pytest.raises(ValueError, match="`predictions` and `references`"):
        answer_scores(["a"], [["a"], ["b"]])
    with pytest.raises(ValueError, match=r"at least one text in `references\[1\]`"):
        answer_scores(["a", "b"], [["a"], []])
    with pytest.raises(TypeError, match=r"`references\[0\]` to be a sequence of texts"):
        answer_scores(["a"], ["a"])
