"""A swapped word is written as its position and the training texts ask for."""

import numpy as np
import pytest

from rightreasons.repairs.words import SpuriousWords
from rightreasons.shortcuts.swapping.capitals import WrittenForms, starts_sentence
from rightreasons.shortcuts.swapping.segments import Segmenter, replace_tokens
from rightreasons.shortcuts.swapping.training import TrainingTexts

# "AP" and "iPhone" have capitals of their own; "oil" has one at the start of a sentence only.
TEXTS = [
    "(AP)\nOil fell again",
    "Oil prices fell, the AP says",
    "An iPhone and oil, says the AP",
    "(Reuters)\nAll stocks fell",
    "Stocks rose, Reuters says",
]
FORMS = WrittenForms(TEXTS, Segmenter().split_text)


def exchange(text, index, word, forms=FORMS):
    token = Segmenter().split((text,))[index]
    return replace_tokens((text,), [(token, word)], forms)[0]


@pytest.mark.parametrize(
    ("text", "index", "word", "result"),
    [
        ("Gold rose, Reuters says", 3, "ap", "Gold rose, AP says"),
        ("Gold rose, AP says", 3, "reuters", "Gold rose, Reuters says"),
        ("The AP says", 1, "oil", "The oil says"),
        # At the start of a sentence, a word of small letters gets a capital.
        ("Stocks rose", 0, "oil", "Oil rose"),
        # This name starts with a small letter; the training texts never show it as a first word.
        ("Stocks rose", 0, "iphone", "IPhone rose"),
        ("The stocks rose", 1, "iphone", "The iPhone rose"),
        # The replaced word is not written as usual: all capitals, no capitals, one capital.
        ("STOCKS ROSE", 0, "oil", "OIL ROSE"),
        ("reuters says", 0, "ap", "ap says"),
        ("More Oil now", 1, "stocks", "More Stocks now"),
        # Unknown words are compared as they are.
        ("More gold now", 1, "silver", "More silver now"),
        ("Gold rose", 0, "silver", "Silver rose"),
    ],
)
def test_a_word_is_written_as_usual_at_its_position(text, index, word, result):
    assert exchange(text, index, word) == result


@pytest.mark.parametrize(
    ("replaced", "result"), [("MESS", "FILM"), ("Mess", "Film"), ("mess", "film"), ("A", "Film")]
)
def test_without_texts_a_word_takes_the_capitals_of_the_replaced_one(replaced, result):
    assert exchange(f"one {replaced}", 1, "film", WrittenForms()) == f"one {result}"


def test_ties_do_not_depend_on_the_order_of_the_texts():
    texts = ["the Ap", "the AP", "the aP"]

    forms = [WrittenForms(order, Segmenter().split_text) for order in (texts, texts[::-1])]

    assert forms[0].get_inner_form("ap") == forms[1].get_inner_form("ap") == "AP"


@pytest.mark.parametrize(
    ("text", "start", "is_start"),
    [
        ("Oil", 0, True),
        (" \n Oil", 3, True),
        ("(Oil", 1, True),
        ("It rose.  Oil", 10, True),
        ("It rose。Oil", 8, True),
        ("It rose!) Oil", 10, True),
        ("It rose\nOil", 8, True),
        ("It rose, (Oil", 10, False),
        ("the  Oil", 5, False),
        # A combining accent is a part of the word before.
        ("cafe\u0301 Oil", 6, False),
    ],
)
def test_starts_sentence(text, start, is_start):
    assert starts_sentence(text, start) == is_start


def test_the_repair_writes_words_like_the_training_texts():
    training = TrainingTexts([TEXTS], [0, 0, 0, 1, 1], 2)
    words = SpuriousWords({"ap": 0, "reuters": 1}, 2, training.segmenter, training.forms)

    assert words.exchange(("(AP) Gold rose",), goal=1) == ("(Reuters) Gold rose",)
    assert words.exchange(("Gold rose, Reuters says",), goal=0) == ("Gold rose, AP says",)
    assert "AP" in words.insert(("gold rose",), 0, np.random.default_rng(3))[0]
