"""Texts of any script are split, edited, and compared."""

from collections import Counter

import numpy as np
import pytest

from rightreasons.core.tokens import split_words
from rightreasons.shortcuts.swapping import duplicates, edits, forms, pairs
from rightreasons.shortcuts.swapping.capitals import WrittenForms
from rightreasons.shortcuts.swapping.duplicates import cluster_duplicates, near_duplicates
from rightreasons.shortcuts.swapping.naming import list_marks
from rightreasons.shortcuts.swapping.segments import (
    Segmenter,
    delete_token,
    learn_pieces,
    replace_tokens,
)
from rightreasons.shortcuts.swapping.training import TrainingTexts


def split(text, segmenter=None):
    return [token.word for token in (segmenter or Segmenter()).split((text,))]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It's GOOD, isn't it?", ["it's", "good", ",", "isn't", "it", "?"]),
        ("9/10 in the 1990s :)", ["9/10", "in", "the", "1990s", ":)"]),
        ("😀😀 👍🏽!!!", ["😀", "😀", "👍🏽", "!!!"]),
        ("[a11] x_y", ["[", "a11", "]", "x_y"]),
        ("Мама мыла łódź œuvre", ["мама", "мыла", "łódź", "œuvre"]),
        ("שלום עולם", ["שלום", "עולם"]),
        ("مرحبا بالعالم", ["مرحبا", "بالعالم"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("안녕 세계", ["안녕", "세계"]),
    ],
)
def test_words_of_scripts_with_spaces(text, words):
    assert split(text) == words


@pytest.mark.parametrize(
    ("word", "fillers"),
    [
        ("苹果", "我你他她好看很的在有不人"),
        ("แมว", "กขคงจชดตถทนบปผพ"),
        ("りんご", "あいうえおかきくけこさし"),
    ],
)
def test_words_of_scripts_without_spaces_are_learned(word, fillers):
    rng = np.random.default_rng(0)
    texts = []
    for _ in range(100):
        letters = list(rng.choice(list(fillers), 8))
        letters.insert(int(rng.integers(9)), word)
        texts.append("".join(letters))

    assert word in learn_pieces(texts)
    assert word in split(texts[0], Segmenter(texts))


def test_ascii_is_split_as_any_other_text():
    segmenter = Segmenter()
    texts = ["x_y 3.5 9/10th it's '80s -- \t#a1 (b)...\x1c!", "_ _a a_ 1_ 1a a1 1.a 1., ' '' a'b'"]
    texts += [chr(first) + chr(second) for first in range(128) for second in range(128)]
    for text in texts:
        # A character beyond ASCII, after a space, leaves the rest as it is.
        assert segmenter.split_text(f"{text} é")[:-1] == segmenter.split_text(text)


NEUTRAL = ("river", "garden", "window", "letter", "table", "paper", "corner", "season")


def make_training(reasons=(), suspected=()):
    """Return texts in which copper and marble predict the labels, and river and garden do not."""
    texts = []
    labels = []
    for row in range(200):
        label = row % 2
        neutral = NEUTRAL[row // 2 % 8]
        texts.append(f"the {neutral} of {('marble', 'copper')[label]} unique{row}")
        labels.append(label)
    return TrainingTexts([texts], np.array(labels), 2, reasons=reasons, suspected=suspected)


def test_words_that_predict_a_label_are_listed():
    words = make_training().list_by_labels()

    assert dict(words.labels) == {(0, "marble"): 0, (0, "copper"): 1}


def test_reasons_are_not_listed_and_suspected_words_are():
    words = make_training(reasons=["Copper"], suspected=["River"]).list_by_labels()

    assert {word for _, word in words.labels} == {"marble", "river"}


def test_neutral_words_predict_no_label():
    training = make_training()
    rng = np.random.default_rng(0)

    drawn = {training.draw_neutral(0, 25, rng) for _ in range(50)}
    assert drawn <= set(NEUTRAL)


def test_a_pair_is_swapped_both_ways_and_the_control_is_neutral():
    training = make_training()
    pair = edits.Pair(0, ("copper", "marble"), (1, 0))
    edit = edits.swap_pairs(training, [pair], ("Copper of the river",), np.random.default_rng(0))

    assert edit.treated == ("Marble of the river",)
    assert edit.goal == 0
    assert edit.control is not None
    assert "Copper" in edit.control[0]


def test_a_swap_of_words_of_two_labels_has_no_goal():
    training = make_training()
    pair = edits.Pair(0, ("copper", "marble"), (1, 0))

    goals = []
    for text in ("copper and marble", "marble and copper", "copper and copper"):
        edit = edits.swap_pairs(training, [pair], (text,), np.random.default_rng(0))
        goals.append(edit.goal)

    assert goals == [-1, -1, 0]


def test_a_neutral_partner_does_not_hide_the_goal_of_another_pair():
    training = make_training()
    pairs = [
        edits.Pair(0, ("copper", "marble"), (1, 0)),
        edits.Pair(0, ("river", "lamp"), (1, -1)),
    ]

    goals = []
    for text in ("copper in the river", "the river of copper", "the river"):
        edit = edits.swap_pairs(training, pairs, (text,), np.random.default_rng(0))
        goals.append(edit.goal)

    assert goals == [0, 0, -1]


def test_a_word_that_a_text_lacks_is_no_edit():
    training = make_training()
    pair = edits.Pair(0, ("copper", "marble"), (1, 0))

    assert (
        edits.swap_pairs(training, [pair], ("the river",), np.random.default_rng(0))
        == edits.NO_EDIT
    )


def test_listed_words_of_the_predicted_label_become_words_of_the_goal():
    training = make_training()
    words = training.list_by_labels()
    rng = np.random.default_rng(0)
    edit = edits.swap_list(training, words, ("a copper river",), label=1, goal=0, rng=rng)

    assert edit.treated == ("a marble river",)
    assert edit.words == ("copper",)
    # Words that predict another label than the predicted one stay.
    assert (
        edits.swap_list(training, words, ("a copper",), label=0, goal=1, rng=rng) == edits.NO_EDIT
    )


def test_a_word_is_put_in_only_where_it_is_absent():
    training = make_training()
    rng = np.random.default_rng(0)
    edit = edits.insert_word(training, (0, "copper"), ("a river",), goal=1, rng=rng)

    assert sorted(edit.treated[0].split()) == ["a", "copper", "river"]
    assert len(edit.control[0].split()) == 3
    assert (
        edits.insert_word(training, (0, "copper"), edit.treated, goal=1, rng=rng) == edits.NO_EDIT
    )


def test_a_token_is_deleted_with_its_space():
    item = ("a fine film",)
    tokens = Segmenter().split(item)

    assert [delete_token(item, token) for token in tokens] == [
        ("fine film",),
        ("a film",),
        ("a fine",),
    ]
    assert replace_tokens(item, [(tokens[1], "dull"), (tokens[2], "show")], WrittenForms()) == (
        "a dull show",
    )


@pytest.mark.parametrize(
    ("text", "donor", "result"),
    [
        ("A fine film.", "what a MESS !!", "a fine FILM !!"),
        ("one two, three", "(four five) six", "(one two) three"),
        ("мама мыла раму", "Это ДОМ мой", "Мама МЫЛА раму"),
        ("the first film", "un été ici", "thé first film"),
        ("one", "two three", None),
    ],
)
def test_a_form_is_taken_from_a_donor(text, donor, result):
    assert forms.take_form(text, donor) == result


def test_words_of_a_script_without_cases_have_no_capitals():
    assert forms.take_form("नमस्ते दुनिया यह", "שלום עולם זה") == "नमस्ते दुनिया यह"


@pytest.mark.parametrize(
    ("third", "result"), [(0, "u v c d e f"), (1, "a b w x e f"), (2, "a b c d y z")]
)
def test_a_third_is_taken_from_a_donor(third, result):
    assert forms.take_third("a b c d e f", "u v w x y z", third=third) == result


def test_a_length_is_taken_from_a_donor():
    assert forms.take_length("a b c", "u v w x y") == "a b c a b"
    assert forms.take_length("a b c d", "u v") == "a b"
    assert forms.take_length("a b", "u v") is None
    assert forms.take_length("我爱苹果", "好的") == "我爱"


def test_the_overlap_of_two_texts_is_taken_from_a_donor():
    texts = [f"the {NEUTRAL[row // 2 % 8]} of" for row in range(200)]
    training = TrainingTexts([texts, texts], np.arange(200) % 2, 2)
    item = ("copper river", "copper river window letter")
    donor = ("one two", "three four five six")
    rng = np.random.default_rng(0)
    edit = pairs.swap_overlap(training, item, donor, None, goal=1, rng=rng)

    assert pairs.measure_overlap(training, item) == 0.5
    assert pairs.measure_overlap(training, edit.treated) < 0.5


def test_marks_are_named():
    assert list_marks("a film :)", "end") == {":)"}
    assert list_marks("a\u00a0film  here", "inside") == {"no-break space", "double space"}
    assert list_marks("a\nfilm", "inside") == {"line break"}


def list_runs(text):
    words = split_words(text)
    return {tuple(words[start : start + 3]) for start in range(max(len(words) - 2, 1))}


def compare(text, training, common):
    runs = list_runs(text) - common
    similarities = []
    for other in training:
        union = runs | (list_runs(other) - common)
        if union:
            similarities.append(len(runs & list_runs(other)) / len(union))
    return max(similarities, default=0.0)


@pytest.mark.parametrize("max_holders", [1, 2, 200])
@pytest.mark.parametrize("block", [1, 10, 1000])
def test_near_duplicates_share_the_runs_of_the_formula(monkeypatch, max_holders, block):
    monkeypatch.setattr(duplicates, "MAX_HOLDERS", max_holders)
    monkeypatch.setattr(duplicates, "MAX_BLOCK_PAIRS", block)
    rng = np.random.default_rng(max_holders)
    for _ in range(20):
        texts = []
        for _ in range(20):
            texts.append(" ".join(rng.choice(["a", "b", "É", "."], int(rng.integers(7)))))
        holders = Counter(run for text in texts[8:] for run in list_runs(text))
        common = {run for run, count in holders.items() if count > max_holders}

        flags = near_duplicates(texts[:8], texts[8:], threshold=0.5)

        expected = [compare(text, texts[8:], common) >= 0.5 for text in texts[:8]]
        assert flags.tolist() == expected


def test_near_duplicates_are_clustered():
    texts = ["it was a long and quiet film .", "something else", "it was a long and quiet film ."]

    assert cluster_duplicates(texts).tolist() == [0, 1, 0]
    assert near_duplicates(texts, texts[1:2]).tolist() == [False, True, False]
