"""Suites of one's own: in Python, and in lines of a file that say how their cases are made."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rightreasons.behavior.rates import pass_rates
from rightreasons.datasets.perturbing.edits import PERTURBATIONS
from rightreasons.datasets.suites.cases import Case
from rightreasons.datasets.suites.editor import directional, fill, functionality_from_row, inv, mft
from rightreasons.datasets.suites.suite import Suite

WORDS = [{"text": "fine", "label": 1}, {"text": "awful", "label": 0}]
TEXTS = ["Robert liked it.", "It isn't bad at all.", "The meal was nice.", "Two of us came."]
HEADER = {"format": "rightreasons.suite", "version": 1, "name": "mine", "text_columns": ["text"]}


def write(path, *rows, **header):
    path.write_text("\n".join(map(json.dumps, ({**HEADER, **header}, *rows))))
    return path


def row(kind, **more):
    return {"functionality": "f", "functionality_class": "C", "test_type": kind, **more}


def test_a_suite_in_python_from_templates_to_pass_rates(tmp_path):
    slots = {"thing": ["film", "opera"], "word": WORDS}
    films, denied = fill("It is {a:word} {thing}.", **slots), fill("It is not {a:word} {thing}.", **slots)
    suite = Suite(
        "mine",
        ("text",),
        (
            mft("words", "Vocabulary", films),
            mft("negated", "Negation", denied, label=[0, 0, 1, 1]),
            inv("typos", "Robustness", films, "typos", n=2),
            directional(
                "blame", "Vocabulary", films, "negative_phrase", expectation={"name": "monotonic", "increasing": False}
            ),
        ),
    )
    assert Suite.read(suite.write(tmp_path / "mine.jsonl")) == suite
    assert suite.functionalities[1].cases[0].examples == (("It is not a fine film.",),)
    assert [case.labels for case in suite.functionalities[1].cases] == [(0,), (0,), (1,), (1,)]

    # A model that looks for "awful" alone: right on the words, wrong on every negation.
    texts = [example["text"] for example in suite.examples()]
    bad = np.array(["awful" in text for text in texts])
    result = pass_rates(np.column_stack((bad, ~bad)).astype(float), suite.table())
    rates = {each.functionality: each.pass_rate for each in result.functionalities}
    assert rates["words"] == 1.0
    assert rates["negated"] == 0.0


@pytest.mark.parametrize("name", list(PERTURBATIONS))
def test_invariance_is_asked_only_where_the_label_stays(name):
    texts = ["Robert said on 25 days that France isn't far", "It is good."]
    options = {"phrases": ["Yes."]} if name == "phrase" else {}
    if PERTURBATIONS[name].preserves_label:
        made = inv("f", "C", texts, name, **options)
        assert all(len(case.examples) >= 2 and case.labels is None for case in made.cases)
        assert {case.examples[0][0] for case in made.cases} <= set(texts)
        assert made.expectation == {"name": "invariant", "tolerance": 0.1}
    else:
        with pytest.raises(ValueError, match=f"keeps the label for the INV test 'f', but '{name}' changes it"):
            inv("f", "C", texts, name, **options)


def test_what_changes_changes_in_all_texts():
    pairs = [["Is Robert home?", "Where is Robert?"]]
    both = inv("f", "C", pairs, "names", copies=1).cases[0]
    old, new = both.meta[1]
    assert both.meta[0] is None
    assert both.examples[1] == tuple(text.replace(old, new) for text in pairs[0])


def test_items_keep_their_changes_and_numbers_in_any_company():
    every = inv("f", "C", TEXTS, "names", seed=3)
    assert [case.id for case in every.cases] == ["0"]  # the others have no name in them
    alone = inv("f", "C", TEXTS[:1], "names", seed=3)
    assert alone.cases == every.cases
    turned = inv("f", "C", TEXTS[::-1], "typos", seed=3)
    assert {case.examples for case in turned.cases} == {
        case.examples for case in inv("f", "C", TEXTS, "typos", seed=3).cases
    }


def test_labels_have_to_be_said():
    assert [case.labels for case in mft("f", "C", ["a", "b"], label=[0, 1]).cases] == [(0,), (1,)]
    with pytest.raises(ValueError, match="one label for each of the 2 items of 'f', but got 3"):
        mft("f", "C", ["a", "b"], label=[0, 1, 0])
    with pytest.raises(ValueError, match="a label for each example of the MFT 'f', but .'a',. has none"):
        mft("f", "C", ["a"])
    with pytest.raises(TypeError, match="whole numbers or texts as labels, but case '0' of the functionality 'f'"):
        Suite("mine", ("text",), (mft("f", "C", ["a"], label=0.5),))
    assert mft("f", "C", ["a"], expectation={"name": "not_equal", "value": 0}).cases[0].labels is None


def test_sentences_for_mistakes():
    with pytest.raises(ValueError, match="at least one item of 'f' that 'numbers' can change, but it applies to none"):
        inv("f", "C", TEXTS, "numbers")
    with pytest.raises(ValueError, match="Expected an expectation of the DIR test 'f'"):
        directional("f", "C", ["It is good."], "phrase", phrases=["No."])
    with pytest.raises(ValueError, match=r"a perturbation for the options \['n'\] of 'f'"):
        inv("f", "C", fill(["{x}", "{x}!"], x=["a"]), n=2)
    with pytest.raises(ValueError, match="at least one item for 'f'"):
        inv("f", "C", [], "typos")
    with pytest.raises(TypeError, match="items of 'f' to be a list of texts or cases"):
        inv("f", "C", "text", "typos")
    with pytest.raises(TypeError, match="item 1 of 'f' to be a text or a list of texts, but got 3"):
        inv("f", "C", ["a", 3], "typos")


# ----------------------------------------------------------------------------------------------- lines that make cases


def test_a_file_of_a_few_lines(tmp_path):
    path = write(
        tmp_path / "mine.jsonl",
        row("MFT", functionality="praise", template="{A:word} {thing}.", lexicons={"word": WORDS}, n=3),
        row("INV", functionality="who", template="{who} is {a:thing}.", across="who"),
        row("INV", functionality="typos", data=TEXTS, perturbation={"name": "typos", "n": 2}, seed=5),
        row("DIR", functionality="blame", data=TEXTS, perturbation="negative_phrase"),
        row(
            "MFT", functionality="by hand", expectation={"name": "equal"}, cases=[{"examples": ["No."], "labels": [0]}]
        ),
        row("MFT", functionality="told", data=["It was not good."], label=0),
        lexicons={"thing": ["film", "opera"], "who": ["Ann", "Bob"]},
        seed=2,
    )
    suite = Suite.read(path)
    parts = {part.name: part for part in suite.functionalities}
    assert [len(part.cases) for part in suite.functionalities] == [3, 2, 3, 4, 1, 1]  # one has no word of four letters
    assert {case.labels[0] for case in parts["praise"].cases} == {0, 1}
    assert parts["who"].cases[1].examples == (("Ann is an opera.",), ("Bob is an opera.",))
    assert parts["typos"] == inv("typos", "C", TEXTS, "typos", n=2, seed=5)
    assert parts["blame"].expectation == {"name": "sentiment_shift", "positive": False, "tolerance": 0.1}
    assert parts["told"].cases == (Case("0", (("It was not good.",),), (0,)),)
    # What was read can be written out, and is the same suite then.
    assert Suite.read(suite.write(tmp_path / "frozen.jsonl.gz")) == suite
    assert Suite.read(path) == suite


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"template": "{x}", "lexicons": {"x": ["a"]}, "data": ["a"]}, "but there is template and data"),
        ({"template": "{x}"}, "a lexicon for the slot 'x'"),
        ({"template": "a", "perturbaton": "typos"}, "Did you mean 'perturbation'"),
        ({"data": ["a"], "n": 3}, "an option of a functionality, but got 'n'"),
        ({"data": ["a"], "perturbation": "typo"}, "Did you mean 'typos'"),
        ({"data": ["a"], "perturbation": ["typos"]}, "a perturbation to be a name or"),
        ({"data": ["a"], "perturbation": "typos", "test_type": "MFT"}, "an option of a functionality, but got 'pert"),
        ({"data": ["abcde"], "perturbation": "typos", "label": 1}, "no label of the INV test 'f'"),
        ({"data": ["abcde"], "perturbation": "typos", "expectation": {"name": "equal"}}, "to expect 'invariant'"),
        ({"data": ["abcde"], "perturbation": "typos", "seed": -1}, "`seed` to be at least 0"),
        ({"data": ["abcde"], "perturbation": {"name": "typos", "seed": 1}}, "an option of the perturbation 'typos'"),
        ({"data": ["abcde"], "perturbation": {"name": "typos", "n": 0}}, "`n` to be"),
        (
            {"data": ["abcde"], "perturbation": "phrase", "test_type": "DIR", "expectation": {"name": "x"}},
            "a list of sen",
        ),
        ({"template": "a", "lexicons": ["a"]}, "`lexicons` to name lists of words"),
        ({"data": "abcde", "perturbation": "typos"}, "to be a list of texts or cases"),
        ({"template": "abcde", "test_type": "inv"}, "test_type of the functionality 'f'` to be one of"),
        ({"template": "abcde", "functionality": None}, "the functionality of a functionality to be a text"),
        ({"template": "only one"}, "at least 2 examples in a case"),
    ],
)
def test_mistakes_in_a_line_name_it(tmp_path, more, sentence):
    path = write(tmp_path / "mine.jsonl", row("INV", **more))
    with pytest.raises((TypeError, ValueError), match=sentence) as caught:
        Suite.read(path)
    if "at least 2" not in sentence:
        assert str(caught.value).endswith(f"(line 2 of {path})")


def test_a_line_reads_no_other_file(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    path = write(tmp_path / "mine.jsonl", row("INV", data=str(secret), perturbation="typos"))
    with pytest.raises(TypeError, match="to be a list of texts"):
        Suite.read(path)


def test_no_cases_and_nothing_to_make_them_of(tmp_path):
    with pytest.raises(ValueError, match="cases, or a template, or data, but there is none"):
        functionality_from_row(row("MFT"))
    with pytest.raises(ValueError, match="'cases' is missing"):
        Suite.read(write(tmp_path / "mine.jsonl", row("MFT")))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "text", "x"]), inner, max_size=2)
    ),
    max_leaves=6,
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(
        [
            row("MFT", template="{x}", lexicons={"x": ["a"]}, label=0, n=1),
            row("INV", data=["A nice film."], perturbation={"name": "typos", "n": 1, "copies": 1}),
            row("MFT", expectation={"name": "equal"}, cases=[{"examples": ["a"], "labels": [0]}]),
        ]
    ),
    st.data(),
)
def test_any_line_makes_a_suite_or_one_sentence(tmp_path, line, data):
    header, line = {**HEADER, "lexicons": {}, "seed": 0}, dict(line)
    for target in (header, line):
        for key in data.draw(st.lists(st.sampled_from(sorted(set(target) - {"format"})), max_size=2)):
            target[key] = data.draw(VALUES)
    if isinstance(line.get("perturbation"), dict):
        line["perturbation"] = {**line["perturbation"], data.draw(st.sampled_from(["n", "copies"])): data.draw(VALUES)}
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(map(json.dumps, (header, line))))
    refusal, suite = None, None
    try:
        suite = Suite.read(path)
    except (TypeError, ValueError) as error:
        refusal = str(error)
    if suite is None:
        assert refusal.startswith("Expected")
    else:
        assert Suite.read(suite.write(tmp_path / "again.jsonl")) == suite
        assert len(suite.table()) == len(suite.to_dataset())


@pytest.mark.parametrize("kind", ["MFT", "INV", "DIR"])
def test_an_expectation_is_no_text(kind):
    with pytest.raises(TypeError, match="expectation.* to be .* but got 'equal'"):
        functionality_from_row(row(kind, data=["a"], expectation="equal"))
