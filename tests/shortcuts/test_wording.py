"""Names of features in sentences."""

from types import SimpleNamespace

import pytest

from rightreasons.shortcuts.measurement import ShortcutAnswers
from rightreasons.shortcuts.question import find_item_figure
from rightreasons.shortcuts.wording import subject


def make_row(*words, test="words", name="words"):
    return SimpleNamespace(test=test, name=name, words=words)


@pytest.mark.parametrize(
    ("words", "phrase"),
    [
        (("good",), "the word “good”"),
        (("good", "bad"), "the words “good” and “bad”"),
        ((":)",), "the mark “:)”"),
        ((":)", "!"), "the marks “:)” and “!”"),
        (("good", ":)"), "the words and marks “good” and “:)”"),
    ],
)
def test_words_and_marks_have_their_own_nouns(words, phrase):
    assert subject(make_row(*words)) == phrase


@pytest.mark.parametrize(
    ("name", "words", "phrase"),
    [
        # Until the form is decisive, its most effective part is not known.
        ("form", (), "the capitals, marks and spaces"),
        ("capitals and accents", (), "the capitals and accents"),
        ("marks after the last word", ("!!",), "marks after the last word (such as “!!”)"),
    ],
)
def test_a_form_is_named_by_its_most_effective_part(name, words, phrase):
    assert subject(make_row(*words, test="form", name=name)) == phrase


@pytest.mark.parametrize(
    ("strongest", "is_new"),
    [
        (make_row("copper", test="words"), False),
        (make_row("copper", test="rare words"), False),
        (make_row("copper", "tin", test="rare words"), True),
        (make_row(test="form"), True),
    ],
)
def test_a_feature_is_new_if_its_test_and_its_words_are(strongest, is_new):
    answers = SimpleNamespace(deciding=[strongest], named_before=make_row("copper", "marble"))

    assert ShortcutAnswers.has_new_feature.fget(answers) == is_new


@pytest.mark.parametrize(
    ("test", "words", "expected"),
    [
        ("declared words", ("marble", "copper"), "deciding_share.copper/marble"),
        # A list is no pair, and neither is another test of the same words.
        ("declared words", ("marble", "copper", "iron"), ""),
        ("all listed words", ("marble", "copper"), ""),
    ],
)
def test_declared_words_are_shown_by_the_items_of_their_pair(monkeypatch, test, words, expected):
    monkeypatch.setattr("rightreasons.shortcuts.question.name_pair_key", lambda pair: pair.key)
    pair = SimpleNamespace(predictive_words=("copper", "marble"), key="copper/marble")
    change = SimpleNamespace(pair=pair, effect=SimpleNamespace(key="copper / marble"))
    measurement = SimpleNamespace(swaps=SimpleNamespace(pair_changes=[change]))

    feature = SimpleNamespace(test=test, key=test, words=words)

    assert find_item_figure(measurement, feature) == expected
