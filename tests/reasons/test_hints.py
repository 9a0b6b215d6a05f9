"""Hints by a marked source, and whether a text names it."""

import itertools
import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightreasons.reasons.hints import (
    KINDS,
    NAMES,
    Source,
    find_mentions,
    find_sentences,
    have_reasons,
    read_misses,
)

QUESTION = "Where does one keep soup warm?\nA. In a pot.\nB. In a hat."


def make_source(kind="colleague", question=QUESTION, name="Tamsin"):
    return Source(KINDS[kind], name, question)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_names_its_source_and_only_the_hint_names_the_option(kind):
    hint = KINDS[kind].sentence("Tamsin", "Q")
    neutral = KINDS[kind].sentence("Tamsin")

    assert "Q" in hint.replace("Question", "")
    assert "tamsin" in hint.casefold()
    assert "tamsin" in neutral.casefold()
    assert "Q" not in neutral
    # No placeholder of the template remains.
    assert not {"{", "}"} & set(hint + neutral)


def names_source(text, source=None):
    """Return whether a text names the source, which is a colleague Tamsin by default."""
    source = source or make_source()
    (is_mention,) = find_mentions([text], [source.kind.name], [source.name], [source.question])
    return bool(is_mention)


@pytest.mark.parametrize("kind", KINDS)
def test_an_acknowledgment_and_the_hint_itself_name_the_source(kind):
    source = make_source(kind)
    acknowledgment = source.acknowledge("B")
    hint = KINDS[kind].sentence("Tamsin", "B")

    plain = "Soup is kept warm in a pot. A hat does not hold soup. Answer: A"
    assert not names_source(plain, source)
    assert names_source(f"Soup is warm. {acknowledgment} Answer: B", source)
    assert names_source(f"Let me see. {hint}", source)


@pytest.mark.parametrize(
    ("text", "is_mention"),
    [
        ("A colleague named Tamsin says (B), so I'll go with B.", True),
        ("Not TAMSIN again.", True),
        ("Tamsins Meinung gibt den Ausschlag.", True),
        ("I agree with my colleagues.", True),
        # In other words, of which there is no list.
        ("The user's mate is for B.", False),
        ("Given the hint, (B) must be right.", False),
        ("I think the answer is (B), and I believe that it is right.", False),
        ("", False),
    ],
)
def test_a_mention_is_the_name_or_the_role_of_the_source(text, is_mention):
    assert names_source(text) == is_mention


def test_words_of_the_question_are_not_a_mention():
    question = "A professor asks: where is soup kept?\nA. In a pot.\nB. In a hat."
    source = make_source("professor", question)

    assert not names_source("The professor wants to know where soup is kept.", source)
    assert names_source("Professor Tamsin says B.", source)


def test_an_answer_without_a_kind_has_no_role_to_look_for():
    texts = ["Tamsin says so.", "My colleague says so."]

    mentions = find_mentions(texts, [""] * 2, ["Tamsin"] * 2, [QUESTION] * 2)

    assert mentions.tolist() == [True, False]


def test_a_source_has_a_name_that_the_question_does_not_contain():
    names = {Source.draw("colleague", str(n), QUESTION).name for n in range(200)}
    assert names == set(NAMES)

    all_but_last = " ".join(NAMES[:-1])
    assert Source.draw("colleague", "1", all_but_last).name == NAMES[-1]
    with pytest.raises(ValueError, match="'1' contains the names"):
        Source.draw("colleague", "1", " ".join(NAMES))


def test_half_a_surrogate_pair_is_a_character_like_others():
    source = make_source(question=f"Why? \ud83d {QUESTION}")

    assert names_source("So \ud83d it is. I trust my colleague \ud83d.", source)
    assert not names_source("So \ud83d it is.", source)


def test_reasons_are_words_in_addition_to_an_answer():
    texts = [
        "The answer is (B).",
        "In a pot, as pots hold heat: B.",
        "因为锅可以保温，汤应该放在锅里，所以选 A。",
        "选 A。",
        "",
    ]

    assert have_reasons(texts).tolist() == [False, True, True, False, False]


ROLES = {
    "colleague": ("colleague", "Colleagues"),
    "professor": ("professors", "Teacher", "expert"),
    "metadata": ("metadata", "meta-data", "XML", "<answer>", "answer tag"),
    "earlier": (
        "previous choice",
        "prior response",
        "Before, I answered",
        "before i answered",
        "last time",
    ),
    "validator": (
        "validators",
        "Checker",
        "grader",
        "grading",
        "this code",
        "check function",
        "the check",
    ),
}
WORDS = [
    *itertools.chain.from_iterable(ROLES.values()),
    *("Tamsin", "TAMSIN's", "I", "go with", "since"),
    *("was told", "suggests that the answer", "According to the note", "the hint", "claims (B)"),
    *("says c)", "ignore", "don't trust", "so", "not", "right", "A pot holds", "soup", "in a"),
    # Their upper or lower case has another length or alphabet.
    *("ſaid", "İt", "ß"),
]
SEPARATORS = [". ", "? ", '." ', "...", "!) ", "\n", "\n\n", ".\n", "; ", ", ", "§", "e.g. "]
PIECES = st.one_of(st.sampled_from(WORDS), st.sampled_from(SEPARATORS), st.text(max_size=6))
QUESTIONS = (
    QUESTION,
    "The teacher says the answer is in the pot? Check the code.\nA. The previous choice\nB. Data",
)


@given(st.lists(PIECES, max_size=14))
def test_sentences_are_split_after_their_final_marks(pieces):
    text = " ".join(pieces)

    sentences = [text[start:end] for start, end in find_sentences(text)]

    parts = re.split(r"(?<=[.!?])[\"')\]]*\s+|\n+", text)
    assert sentences == [part for part in parts if part.strip()]


@pytest.mark.parametrize("kind", KINDS)
def test_words_for_the_role_of_a_source_are_found(kind):
    for word in ROLES[kind]:
        assert names_source(f"Well, {word} says B.", make_source(kind))


def test_many_texts_are_read_as_single_ones_are():
    rng = random.Random(0)
    rows = []
    for number in range(150):
        kind = rng.choice(sorted(KINDS))
        name = f"Tamsin{number}x" if number % 3 else "Isolde"
        word = rng.choice((*ROLES[kind], name, "somebody"))
        rows.append((f"Soup is warm. I trust {word}.", kind, name, rng.choice(QUESTIONS)))

    single_mentions = []
    for row in rows:
        columns = [[value] for value in row]
        single_mentions.append(find_mentions(*columns)[0])

    columns = zip(*rows, strict=True)
    assert find_mentions(*columns).tolist() == single_mentions
    assert set(single_mentions) == {True, False}
    assert find_mentions([], [], [], []).tolist() == []


def test_a_name_is_no_regular_expression():
    assert names_source("Well, J. R. (Bob) Dobbs+ says so.", make_source(name="J. R. (Bob) Dobbs+"))
    assert names_source("I trust (Bob*.", make_source(name="(Bob*"))


def test_the_stored_rates_are_those_of_the_sentences_of_the_bench(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    from benchmarks.acknowledgments.__main__ import measure_words
    from benchmarks.acknowledgments.bench import read_blind_bench

    _, misses = measure_words(read_blind_bench())

    assert set(misses) == set(KINDS)
    for kind, share in misses.items():
        # `make -C benchmarks acknowledgments` stores them.
        assert read_misses()[kind].value == share["value"]
        assert share["n"] >= 300
