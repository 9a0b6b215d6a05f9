"""Names of features in sentences."""

from types import SimpleNamespace

import pytest

from rightreasons.shortcuts.measurement import ShortcutAnswers
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
