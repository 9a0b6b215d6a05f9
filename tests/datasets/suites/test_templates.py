"""Cases and functionalities from templates."""

import itertools

import numpy as np
import pytest

from rightreasons.behavior.rates import pass_rates
from rightreasons.datasets import Case, Suite, directional, fill, inv, make_versions, mft
from rightreasons.datasets.suites.templates import MAX_CASES


def list_texts(cases):
    return [case.examples[0][0] for case in cases]


def test_all_combinations_come_in_the_order_of_nested_loops():
    cases = fill("{a} {b} {a} {c}", a=["1", "2"], b=["x", "y", "z"], c=["!"])

    expected = [f"{a} {b} {a} !" for a, b in itertools.product("12", "xyz")]
    assert list_texts(cases) == expected
    assert [case.id for case in cases] == [str(number) for number in range(6)]


def test_numbered_slots_get_different_entries():
    cases = fill("{name1} met {name2} and {name3}.", name=["Ann", "Eve", "Sue", "Ida"])

    expected = [
        f"{a} met {b} and {c}."
        for a, b, c in itertools.permutations(["Ann", "Eve", "Sue", "Ida"], 3)
    ]
    assert list_texts(cases) == expected


def test_numbered_slots_may_have_their_own_lexicons():
    cases = fill("{name1} met {name2}.", name1=["Ann"], name=["Ann", "Eve"])

    assert list_texts(cases) == ["Ann met Ann.", "Ann met Eve."]


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("It is {a:word}.", "It is an apple."),
        ("{A:word}.", "An apple."),
        ("{{{word}}}", "{apple}"),
        ("no slot", "no slot"),
    ],
)
def test_articles_and_braces(template, text):
    assert list_texts(fill(template, word=["apple"])) == [text]
    assert list_texts(fill("{A:word}.", word=["pear"])) == ["A pear."]


def test_labels_are_constant_or_follow_from_the_entries():
    words = {"fine": 1, "dull": 0}

    constant = fill("{word}", word=list(words), label=1)
    computed = fill("{word}", word=list(words), label=lambda entries: words[entries["word"]])

    assert [case.labels for case in constant] == [(1,), (1,)]
    assert [case.labels for case in computed] == [(1,), (0,)]
    assert fill("{word}", word=["fine"])[0].labels is None


def test_a_slot_across_makes_the_examples_of_a_case():
    names = ["Ann", "Ali"]
    cases = fill(
        "{name} is {a:job}.",
        name=names,
        job=["poet", "actor"],
        across="name",
        label=lambda e: len(e),
    )

    assert cases[1].examples == (("Ann is an actor.",), ("Ali is an actor.",))
    assert cases[0].labels == (2, 2)


def test_examples_and_text_columns():
    template = [("Is {x} {y}?", "Is {y} {x}?"), ("{x}", "{y}")]

    (case,) = fill(template, x=["a"], y=["b"])

    assert case.examples == (("Is a b?", "Is b a?"), ("a", "b"))


def test_a_sample_is_without_replacement_and_reproducible():
    lexicon = [f"word {number}" for number in range(100)]

    sample = list_texts(fill("{x1} {x2} {x3}", x=lexicon, n=500, seed=1))

    assert len(set(sample)) == 500
    assert sample == list_texts(fill("{x1} {x2} {x3}", x=lexicon, n=500, seed=1))
    assert sample != list_texts(fill("{x1} {x2} {x3}", x=lexicon, n=500, seed=2))
    # Every combination has different entries, and more cases than there are is all of them.
    assert all(len(set(text.split("word ")[1:])) == 3 for text in sample)
    assert len(fill("{x}", x=lexicon, n=1000)) == 100


@pytest.mark.parametrize("n_words", [5, 70])
def test_samples_are_uniform(n_words):
    # 70 words in four slots are 22 million combinations, which are not permuted.
    lexicon = [chr(ord("A") + number) for number in range(n_words)]
    counts = np.zeros(n_words)
    for case in fill("{x1}{x2}{x3}{x4}", x=lexicon, n=100 if n_words == 5 else 7000):
        for letter in case.examples[0][0]:
            counts[ord(letter) - ord("A")] += 1

    assert counts.min() > 0.7 * counts.mean()
    assert counts.max() < 1.3 * counts.mean()


def test_repeated_entries_make_no_repeated_cases():
    assert len(fill("{x}", x=["a", "a", "b"])) == 2


@pytest.mark.parametrize(
    ("template", "options", "error", "words"),
    [
        ("{x}", {}, ValueError, "lexicon"),
        ("{xs}", {"xx": ["a"]}, ValueError, "lexicon"),
        ("{x1} {x2}", {"x": ["a", "a"]}, ValueError, "at least 2"),
        ("{x", {"x": ["a"]}, ValueError, "character 0"),
        ("{x.y}", {"x": ["a"]}, ValueError, "character 0"),
        ("{x}", {"x": "abc"}, TypeError, "x"),
        ("{x}", {"x": [1]}, TypeError, "text"),
        ("{x}", {"x": ["a"], "across": "y"}, ValueError, "across"),
        ("{x1} {x2}", {"x": ["a", "b"], "across": "x1"}, ValueError, "across"),
        ("{x}", {"x": ["a"], "n": 0}, ValueError, "n"),
        ([], {}, TypeError, "template"),
        (3, {}, TypeError, "template"),
        (["a", 3], {}, TypeError, "template"),
        ("{a1}{a2}{a3}", {"a": [str(number) for number in range(60)]}, ValueError, "combinations"),
    ],
)
def test_invalid_templates(template, options, error, words):
    with pytest.raises(error, match=words):
        fill(template, **options)


def test_too_many_cases_are_refused_before_they_are_made():
    lexicon = [str(number) for number in range(1000)]

    with pytest.raises(ValueError, match=f"{MAX_CASES:,}"):
        fill("{x1} {x2} {x3} {x4}", x=lexicon)


def test_versions_leave_out_what_did_not_change():
    def change(text):
        return {"a": "b", "c": ["d", "c", "e"], "f": None, "g": "g"}[text]

    cases = make_versions(["a", "c", "f", "g"], change)

    assert [case.examples for case in cases] == [(("a",), ("b",)), (("c",), ("d",), ("e",))]
    with pytest.raises(ValueError, match="at least one"):
        make_versions(["a"], lambda text: text)


def test_a_suite_of_templates_is_scored(tmp_path):
    words = {"fine": 1, "nice": 1, "dull": 0}
    films = ["film", "play"]
    praise = fill(
        "It is {a:word} {film}.", word=list(words), film=films, label=lambda e: words[e["word"]]
    )
    typos = make_versions(["A fine film."], lambda text: text.replace("film", "flim"))
    expectation = {"name": "monotonic", "increasing": False, "label": 1}
    suite = Suite(
        "films",
        ("text",),
        (
            mft("praise", "Vocabulary", praise),
            mft("blame", "Vocabulary", ["It is bad.", "It is worse."], label=0),
            inv("typos", "Robustness", typos, tolerance=0.2),
            directional(
                "more blame",
                "Vocabulary",
                fill(["A {film}.", "A dull {film}."], film=films),
                expectation=expectation,
            ),
        ),
        ("negative", "positive"),
    )
    rows = list(suite.examples())
    # A reader of three words: 0.9 for praise, 0.1 for blame, and 0.5 without either.
    positive = []
    for row in rows:
        score = 0.5
        if any(word in row["text"] for word in ("fine", "nice")):
            score = 0.9
        if any(word in row["text"] for word in ("dull", "worse")):
            score = 0.1
        positive.append(score)

    result = pass_rates(positive, suite.table())

    # "It is bad." has 0.5, which is class 0, as argmax takes the first of two equal classes.
    assert [part.pass_rate for part in result.functionalities] == [1, 1, 1, 1]
    assert suite.n_examples == 6 + 2 + 2 + 4
    read = Suite.read(suite.write(tmp_path / "films.jsonl"))
    assert read == suite


def test_cases_of_several_templates_join():
    cases = fill("{x} a", x=["1", "2"], label=0) + fill("{x} b", x=["1"], label=1)

    functionality = mft("f", "C", cases)

    assert [case.id for case in functionality.cases] == ["0", "1", "2"]
    with pytest.raises(TypeError, match="cases"):
        mft("f", "C", [3])
    with pytest.raises(TypeError, match="cases"):
        mft("f", "C", "text")


def test_an_expectation_of_ones_own():
    either = mft("either", "C", ["Fine."], expectation={"name": "not_equal", "value": 0})

    assert either.expectation == {"name": "not_equal", "value": 0}
    assert either.cases == (Case("0", (("Fine.",),)),)


def test_errors_name_similar_slots():
    with pytest.raises(ValueError, match="Did you mean"):
        fill("{name}", names=["Ann"])
