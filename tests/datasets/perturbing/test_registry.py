"""Perturbations: what they do to English, what they leave alone, and what decides the draw."""

import gzip
import json
import re
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from changed_texts import perturb_text
from rightreasons.datasets.perturbing.edits import (
    NAMES,
    PERTURBATIONS,
    PLACES,
    SWAPS_TO_WORDS,
    Change,
    Perturbation,
    changes,
)

TWEETS = [
    "@united What time does check in open for flight 2280 from Manchester to Dublin today?",
    "@AmericanAir I didn't miss my flight.  Jennifer gave my ticket away, as well as 65 other tickets. Not my fault.",
    "It isn't the worst film that Robert made in France http://t.co/LYcARlTFHl",
    "We are still waiting for 45 minutes. Susan from Boston called.",
    "The crew was friendly.",
]
OPTIONS = {"phrase": {"phrases": ["It was noon.", "He left."]}}


def swaps(before, after):
    """Return where two texts differ by a swap of two neighbors."""
    assert len(before) == len(after)
    at, found = 0, []
    while at < len(before):
        if before[at] != after[at]:
            assert before[at : at + 2] == after[at : at + 2][::-1]
            found.append(at)
            at += 1
        at += 1
    return found


# -------------------------------------------------------------------------------------------------- what they all keep


@pytest.mark.parametrize("name", list(PERTURBATIONS))
def test_the_draw_depends_on_seed_and_id_alone(name):
    options = OPTIONS.get(name, {})
    forward = {text: perturb_text(text, name, **options) for text in TWEETS}
    backward = {text: perturb_text(text, name, **options) for text in reversed(TWEETS)}
    assert forward == backward
    assert any(forward.values())
    for text, made in forward.items():
        if made is None:
            continue
        assert text not in made
        assert len(set(made)) == len(made) <= PERTURBATIONS[name].copies
        # An id of one's own is what counts then, not the text.
        assert perturb_text(text, name, item_id="7", **options) == perturb_text(text, name, item_id="7", **options)


@pytest.mark.parametrize("name", ["typos", "names", "locations", "numbers", "url_or_handle", "neutral_phrase"])
def test_other_seeds_and_ids_draw_otherwise(name):
    text = TWEETS[1] + " " + TWEETS[3]
    draws = {tuple(perturb_text(text, name, seed=seed)) for seed in range(8)}
    ids = {tuple(perturb_text(text, name, item_id=number)) for number in range(8)}
    assert min(len(draws), len(ids)) > 4


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(list(PERTURBATIONS)), st.text(max_size=60), st.integers(0, 3))
def test_any_text_is_changed_or_left(name, text, seed):
    made = perturb_text(text, name, seed=seed, **OPTIONS.get(name, {}))
    assert made is None or (text not in made and len(set(made)) == len(made))


@pytest.mark.parametrize("name", [n for n, p in PERTURBATIONS.items() if p.preserves_label])
def test_handles_hashtags_and_addresses_stay(name):
    kept = ["@Jennifer_45don't", "#Boston2280", "https://t.co/Michael/France?isn't=25", "www.Dublin.com", "a@Rome.org"]
    text = f"Jennifer isn't in Boston since 25 days. {' '.join(kept)} is all of them there"
    made = perturb_text(text, name)
    assert made
    for changed in made:
        assert all(part in changed for part in kept)


def test_unknown_names_and_options_are_told():
    with pytest.raises(ValueError, match="the name of a perturbation, but got 'typo'. Did you mean 'typos'"):
        perturb_text("text", "typo")
    with pytest.raises(ValueError, match="an option of the perturbation 'typos', but got 'm'"):
        perturb_text("text", "typos", m=1)
    with pytest.raises(ValueError, match="`copies` to be at most 1,000"):
        perturb_text("text", "typos", copies=10**9)


def test_one_of_my_own():
    def shout(texts, rng, *, mark="!"):
        yield Change(tuple(text.upper() + mark for text in texts))

    mine = Perturbation("shout", shout, preserves_label=True)
    assert perturb_text("no", mine, mark="!!") == ["NO!!"]
    with pytest.raises(ValueError, match="an option of the perturbation 'shout'"):
        perturb_text("no", mine, n=1)


def test_long_texts_take_no_longer_than_many_short_ones():
    # A pattern that begins anew at every character would take minutes here.
    for text in ("a" * 100_000, "isn't it " * 5_000, " " * 100_000 + "x", "@" * 100_000, "1 " * 20_000):
        for name in PERTURBATIONS:
            began = time.process_time()
            perturb_text(text, name, copies=1, **OPTIONS.get(name, {}))
            assert time.process_time() - began < 5, (name, text[:10])


# --------------------------------------------------------------------------------------------------------------- typos


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("text", TWEETS[:4])
def test_typos_are_swaps_of_adjacent_letters(text, n):
    for changed in perturb_text(text, "typos", n=n, copies=10):
        found = swaps(text, changed)
        assert len(found) == n
        for at in found:
            word = next(m for m in re.finditer(r"[A-Za-z]+", text) if m.start() <= at < m.end())
            assert at + 1 < word.end()
            assert len(word.group()) >= 4


def test_typos_make_no_other_word():
    for word in ("form", "three", "quite", "tired", "lost", "Trial"):
        assert all(made.lower() not in SWAPS_TO_WORDS for made in perturb_text(word, "typos", copies=10))
    assert set(perturb_text("form", "typos", copies=10)) == {"ofrm", "fomr"}
    assert perturb_text("it is so", "typos") is None
    assert perturb_text("aaaa", "typos") is None
    assert perturb_text("word", "typos", n=3) is None  # three swaps do not fit into four letters


def test_the_swaps_are_shared_by_a_pair():
    pair = ("What is wrong here", "Who knows that")
    found = changes(pair, "typos", item_id=0, n=2, copies=20)
    counts = {tuple(len(swaps(a, b)) for a, b in zip(pair, change.texts, strict=True)) for change in found}
    assert counts == {(2, 0), (1, 1), (0, 2)}


# -------------------------------------------------------------------------------------------------------- contractions


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("I don't like it.", "I do not like it."),
        ("Isn't it good?", "Is it not good?"),
        ("Fine, isn't it?", "Fine, is it not?"),
        ("Why didn't you call?", "Why did you not call?"),
        ("Don't go there!", "Do not go there!"),
        ("DON'T YOU SEE", "DO YOU NOT SEE"),
        ("They can’t and won't.", "They cannot and will not."),
        ("I'm sure you're late, and we've waited.", "I am sure you are late, and we have waited."),
        ("It's been great.", "It has been great."),
        ("It's great and he'll come.", "It is great and he will come."),
        ("Let's go.", "Let us go."),
        ("It isn't you, it's me.", "It is not you, it is me."),
    ],
)
def test_contractions_are_written_out(short, long):
    assert perturb_text(short, "contractions", copies=2)[0] == long


@pytest.mark.parametrize(
    ("long", "short"),
    [
        ("What is your name?", "What's your name?"),
        ("I am not there, they are.", "I'm not there, they are."),
        ("You cannot be serious.", "You can't be serious."),
        ("We will not come.", "We won't come."),
        ("I have visited Rome and I have red hair.", "I've visited Rome and I have red hair."),
        ("IT IS good", "IT'S good"),
    ],
)
def test_contractions_are_made(long, short):
    assert perturb_text(long, "contractions", copies=2)[-1] == short


@pytest.mark.parametrize(
    "text", ["I know what it is.", "John's car", "Why isn't the train here?", "I'd go", "He's tired", "Nothing."]
)
def test_what_is_in_doubt_is_left(text):
    assert perturb_text(text, "contractions") is None


@pytest.mark.real_data
def test_contractions_agree_with_those_of_checklist(real_data):
    with gzip.open(real_data / "checklist" / "suites" / "sentiment_suite.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = {row["name"]: row["data"] for row in map(json.loads, lines)}
    cases = rows["contractions"]
    made = [perturb_text(case[0], "contractions") or () for case in cases]
    # Theirs also contracts "would" and "what are", and makes "is not there" of a question's "isn't there".
    assert np.mean([set(case[1:]) <= set(ours) for case, ours in zip(cases, made, strict=True)]) > 0.84
    assert np.mean([bool(ours) for ours in made]) > 0.92
    # Their typos are swaps of adjacent characters, too; two equal ones may change places and leave the text as it is.
    found = [len(swaps(before, after)) for before, after in rows["typos"]]
    assert set(found) == {0, 1}
    assert np.mean(found) > 0.9


# --------------------------------------------------------------------------------------------------------- punctuation


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("Great flight!", ["Great flight", "Great flight."]),
        ("Great flight.", ["Great flight"]),
        ("Great flight", ["Great flight."]),
        ("Why?", ["Why"]),
        ("I love it :)", None),
        ("See www.a.com", None),
        ('He said "no."', None),
        ("...", None),
    ],
)
def test_punctuation(text, made):
    assert perturb_text(text, "punctuation") == made


# ----------------------------------------------------------------------------------------- names, locations and numbers


def test_one_name_changes_everywhere_and_keeps_its_kind():
    pair = ("Is Jennifer home?", "Where do Jennifer and Robert live? Jennifer's mother asks.")
    made = changes(pair, "names", item_id=0, copies=40)
    olds = {change.replaced[0] for change in made}
    assert olds == {"Jennifer", "Robert"}
    for change in made:
        old, new = change.replaced
        assert change.texts == tuple(text.replace(old, new) for text in pair)
        assert any({old, new} <= set(group) for group in NAMES.values())
        assert new not in " ".join(pair)


@pytest.mark.parametrize(
    "text", ["Will Hope come in May?", "the jennifer", "St. Paul is cold", "Jennifer-Ann", "@Jennifer", "Jennifers"]
)
def test_what_is_no_name(text):
    assert perturb_text(text, "names") is None


def test_places_keep_their_kind_their_article_and_longer_names():
    made = changes(("A Boston flight to France, says the Chicago Tribune",), "locations", item_id=1, copies=200)
    for change in made:
        old, new = change.replaced
        assert old in ("Boston", "France")
        assert any({old, new} <= set(group) for group in PLACES.values())
        assert old != "Boston" or new[0] not in "AEIOU"
        assert "Chicago Tribune" in change.texts[0]
    assert perturb_text("New York is big", "locations", copies=1)[0].endswith(" is big")
    assert perturb_text("The Bank of England and Turkey", "locations") is None


def test_numbers_change_within_a_fifth_and_alike_in_a_pair():
    pair = ("Does 45 cost 200?", "Is 45 less than 2016?")
    made = changes(pair, "numbers", item_id=2, copies=300)
    assert {change.replaced[0] for change in made} == {"45", "200"}
    for change in made:
        old, new = (int(word) for word in change.replaced)
        assert 0 < abs(new - old) <= 0.2 * old
        assert len(str(old)) == len(str(new))
        assert change.texts == tuple(re.sub(rf"\b{old}\b", str(new), text) for text in pair)
    # 45 takes 36 … 54 without itself, 200 takes 160 … 240
    assert len(made) == 18 + 80


@pytest.mark.parametrize(
    "text",
    ["a 1", "at 10:30 on 12/11", "1,000", "3.14", "24-26", "UA80", "007", "in 1999", "call 911", "50%", "1234567"],
)
def test_what_is_no_plain_number(text):
    assert perturb_text(text, "numbers") is None


# ------------------------------------------------------------------------------------------------------------- phrases


def test_phrases_are_added_as_sentences():
    for name in ("positive_phrase", "negative_phrase", "neutral_phrase"):
        made = perturb_text("Nice flight", name, copies=3)
        assert len(made) == 3
        assert all(re.fullmatch(r"Nice flight\. [A-Z][\w ]+\.", text) for text in made)
    assert perturb_text("Nice!", "phrase", phrases=["Yes."]) == ["Nice! Yes."]
    assert perturb_text("See http://a.b", "phrase", phrases=["Yes."]) == ["See http://a.b Yes."]


def test_addresses_and_handles():
    made = perturb_text("Nice", "url_or_handle", copies=40)
    assert all(re.fullmatch(r"(https://t\.co/\w{6}|@\w{6}) Nice|Nice (https://t\.co/\w{6}|@\w{6})", t) for t in made)
    assert len({re.sub(r"/?\w{6}\b", "", text) for text in made}) >= 4  # both, before and after


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        # A fifth of a small number is less than 1, and 1 it is.
        ("Ann has 3 sisters", {2, 4}),
        ("I waited 5 hours", {4, 6}),
        # Not 1, and not 10.
        ("I waited 2 hours", {3}),
        ("I waited 9 hours", {8}),
    ],
)
def test_small_numbers_change_by_one_at_least(text, numbers):
    made = perturb_text(text, "numbers", copies=50)
    assert {int(word) for each in made for word in each.split() if word.isdigit()} == numbers


def test_no_number_becomes_another_of_the_item():
    assert set(perturb_text("2 or 3 or 4", "numbers", copies=50)) == {"2 or 3 or 5"}
    assert perturb_text("2 or 3", "numbers", copies=50) == ["2 or 4"]


# --------------------------------------------------------------------------------------------------------------- words


def test_the_lists_mean_one_thing_only():
    words = [word for groups in (NAMES, PLACES) for group in groups.values() for word in group]
    assert len(words) == len(set(words))
    assert not {"Will", "Mark", "Hope", "Grace", "Paris", "Jordan", "China", "Turkey", "Phoenix"} & set(words)
    for word in SWAPS_TO_WORDS:
        assert len(word) >= 4
        others = {word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(len(word) - 1)}
        assert others & SWAPS_TO_WORDS, word


def test_what_keeps_the_label_and_where_the_sentiment_goes():
    turning = {name for name, each in PERTURBATIONS.items() if not each.preserves_label}
    assert turning == {"positive_phrase", "negative_phrase", "phrase"}
    moves = {name: each.expectation["positive"] for name, each in PERTURBATIONS.items() if each.expectation}
    assert moves == {"positive_phrase": True, "negative_phrase": False}
