"""Templates: slots, lexicons, samples, labels, and articles."""

import gzip
import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightreasons.datasets.perturbing.edits import with_article
from rightreasons.datasets.suites.editor import MAX_EXAMPLES, fill

PEOPLE = [{"first": "Ann", "last": "Lee", "text": "she"}, {"first": "Bob", "last": "Roy", "text": "he"}]


def texts(cases):
    return [case.examples[0][0] for case in cases]


def test_every_combination_in_the_order_of_the_lexicons():
    cases = fill("I {feeling} the {thing}.", feeling=["like", "hate"], thing=["food", "crew", "seat"])
    assert texts(cases) == [
        f"I {feeling} the {thing}." for feeling, thing in itertools.product(("like", "hate"), ("food", "crew", "seat"))
    ]
    assert [case.id for case in cases] == ["0", "1", "2", "3", "4", "5"]
    assert {case.labels for case in cases} == {None}


def test_a_slot_takes_one_entry_wherever_it_stands():
    assert texts(fill("{x}, {x} and {y}", x=["a", "b"], y=["c"])) == ["a, a and c", "b, b and c"]
    assert texts(fill("{who.first} {who.last} said {who} would.", who=PEOPLE)) == [
        "Ann Lee said she would.",
        "Bob Roy said he would.",
    ]


def test_numbered_slots_differ():
    found = texts(fill("{name1}-{name2}-{name3}", name=["a", "b", "c", "b"]))
    assert found == ["-".join(order) for order in itertools.permutations("abc", 3)]
    assert texts(fill("{name} {name1}", name=["a", "b"])) == ["a b", "b a"]
    # A lexicon of the very name comes before the numbers.
    assert texts(fill("{name1} {name}", name=["a"], name1=["a"])) == ["a a"]


def test_examples_of_a_case_and_text_columns_share_their_entries():
    case = fill(["It is {x}.", "It is very {x}."], x=["fine"])[0]
    assert case.examples == (("It is fine.",), ("It is very fine.",))
    case = fill([["Is {p1} {x}?", "Is {p2} {x}?"]], x=["in"], p=["a", "b"], label=0)[0]
    assert case.examples == (("Is a in?", "Is b in?"),)
    assert case.labels == (0,)


def test_across_puts_entries_side_by_side():
    cases = fill("{who} is {a:job}.", who=["Ann", "Bob"], job=["actor", "poet"], across="job")
    assert [[text for (text,) in case.examples] for case in cases] == [
        ["Ann is an actor.", "Ann is a poet."],
        ["Bob is an actor.", "Bob is a poet."],
    ]
    labeled = fill("{w}", w=[{"text": "good", "label": 1}, {"text": "bad", "label": 0}], across="w")
    assert labeled[0].labels == (1, 0)


def test_labels_are_carried_or_said():
    words = [{"text": "good", "label": 1}, {"text": "bad", "label": 0}]
    assert [case.labels for case in fill("{w} {x}", w=words, x=["film"])] == [(1,), (0,)]
    assert [case.labels for case in fill("{w}", w=words, label=2)] == [(2,), (2,)]
    assert fill(["{x}", "not {x}"], x=["good"], label=[1, 0])[0].labels == (1, 0)
    # Two slots that agree are one label; two that do not are refused.
    assert len(fill("{w1} {w2}", w=[{"text": "a", "label": 1}, {"text": "b", "label": 1}])) == 2
    with pytest.raises(ValueError, match="one label of 'good bad', but w1 says 1 and w2 says 0: say which with label"):
        fill("{w1} {w2}", w=words)


def test_a_sample_is_of_the_combinations_without_building_them():
    # 300^6 = 7.3e14 combinations
    words = [f"w{i}" for i in range(300)]
    slots = {f"s_{letter}": words for letter in "abcdef"}
    template = " ".join(f"{{s_{letter}}}" for letter in "abcdef")
    found = texts(fill(template, n=2000, **slots))
    assert len(set(found)) == 2000
    assert texts(fill(template, n=2000, **slots)) == found
    assert texts(fill(template, n=2000, seed=1, **slots)) != found
    # Every entry has the same chance: of 12,000 draws each of 300 words is expected 40 times, with a deviation of
    # sqrt(40 · 299/300) = 6.3; 5 deviations are 32.
    counts = dict.fromkeys(words, 0)
    for text in found:
        for word in text.split():
            counts[word] += 1
    assert all(abs(count - 40) < 32 for count in counts.values())


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 8), st.integers(1, 6), st.integers(1, 60), st.integers(0, 5))
def test_samples_are_distinct_and_come_from_the_product(n_x, n_y, n, seed):
    x, y = [f"x{i}" for i in range(n_x)], [f"y{i}" for i in range(n_y)]
    every, found = texts(fill("{x}{y}", x=x, y=y)), texts(fill("{x}{y}", x=x, y=y, n=n, seed=seed))
    assert len(found) == len(set(found)) == min(n, n_x * n_y)
    assert set(found) <= set(every)


def test_braces_are_written_twice():
    assert texts(fill("{{{x}}}", x=["a"])) == ["{a}"]


@pytest.mark.parametrize(
    ("template", "options", "error", "sentence"),
    [
        ("{thig}", {"thing": ["a"]}, ValueError, "Did you mean 'thing'"),
        ("{thing}", {}, ValueError, "Expected a lexicon for the slot 'thing', but there is none"),
        ("{x", {"x": ["a"]}, ValueError, "at character 0 of the template '{x'"),
        ("{x!r}", {"x": ["a"]}, ValueError, "a brace of the text itself is written twice"),
        ("{x1} {x2}", {"x": ["a", "a"]}, ValueError, "at least 2 different entries in the lexicon 'x'"),
        ("{x}", {"x": []}, ValueError, "at least 1 different entries"),
        ("{x}", {"x": "abc"}, TypeError, "the lexicon 'x' to be a list"),
        (
            "{x}",
            {"x": [3]},
            TypeError,
            "each entry of the lexicon 'x' to be a text, a list of texts or a mapping, but got 3",
        ),
        ("{x.y}", {"x": ["a"]}, ValueError, "a text in the field 'y'"),
        ("{x.y}", {"x": [{"z": "a"}]}, ValueError, "a text in the field 'y'"),
        ("{x}", {"x": ["a"], "across": "y"}, ValueError, "`across` to name one slot"),
        ("{x}", {"x": ["a"], "n": 0}, ValueError, "`n` to be at least 1"),
        (["{x}", "b"], {"x": ["a"], "label": [1]}, ValueError, "one label for each of the 2 examples"),
        (3, {}, TypeError, "Expected `template` to be a text or a list"),
        ([["a"], 3], {}, TypeError, "each example of a template"),
    ],
)
def test_bad_templates(template, options, error, sentence):
    with pytest.raises(error, match=sentence):
        fill(template, **options)


def test_too_many_examples_are_refused_before_they_are_made():
    words = [str(i) for i in range(1000)]
    with pytest.raises(ValueError, match="there would be 1,000,000,000: say how many cases with n"):
        fill("{a} {b} {c}", a=words, b=words, c=words)
    with pytest.raises(ValueError, match=f"at most {MAX_EXAMPLES:,} examples"):
        fill("{a} {b}", a=words, b=words, across="b", n=200)


AN = """actor engineer hour honest-man heir MBA FBI X-ray 8-year-old 11-year-old 18th Ulsterman uninvited umbrella usher
utter Uzbek unidentified urgent onion Oscar"""
A = """lawyer user university European one-way once ewe UFO U.S. Ukrainian Ugandan Uruguayan unanimous unique union
house hotel 110 1 7 year unit Utah BBC"""


@pytest.mark.parametrize(("words", "article"), [(AN, "an"), (A, "a")])
def test_articles(words, article):
    assert {word: with_article(word) for word in words.split()} == {word: f"{article} {word}" for word in words.split()}


def test_articles_in_templates():
    assert texts(fill("{A:x} is {a:x}.", x=["owl", "cat"])) == ["An owl is an owl.", "A cat is a cat."]


@pytest.mark.real_data
def test_lexicons_of_checklist(real_data):
    lexicons = json.loads((real_data / "checklist" / "lexicon_basic.json").read_text("utf-8"))
    cases = fill(
        "{first_pronoun.name} said {first_pronoun.pronoun} is {a:nationality}.", lexicons=lexicons, n=3, seed=4
    )
    assert len(cases) == 3
    # CheckList's own test of nationalities, with its articles.
    suite = real_data / "checklist" / "suites" / "sentiment_suite.jsonl.gz"
    with gzip.open(suite, "rt", encoding="utf-8") as lines:
        theirs = next(row for row in map(json.loads, lines) if row["name"] == "protected: nationality")
    ours = fill("Carlos is {a:nationality} poet.", nationality=lexicons["nationality"][:20], across="nationality")
    assert [text for (text,) in ours[0].examples] == theirs["data"][0]


def test_entries_that_are_lists():
    pairs = [["Ann", "she"], ("Bob", "he")]
    assert [case.examples[0][0] for case in fill("{pair[0]} says {pair[1]} is late.", pair=pairs)] == [
        "Ann says she is late.",
        "Bob says he is late.",
    ]
    with pytest.raises(ValueError, match=r"a text at place 2 for the slot 'pair', but got \['Ann', 'she'\]"):
        fill("{pair[2]}", pair=pairs)
    with pytest.raises(ValueError, match=r"'pair' to say which text of a list, as in \{pair\[0\]\}"):
        fill("{pair}", pair=pairs)
    with pytest.raises(ValueError, match="a list with a text at place 0 for the slot 'x', but got 'good'"):
        fill("{x[0]}", x=["good"])
    with pytest.raises(TypeError, match="a text, a list of texts or a mapping, but got 5"):
        fill("{x}", x=[5])
