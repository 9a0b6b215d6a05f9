"""Behavioral suites, HateCheck's form, templates, the editor and stored answers to a suite."""

import gzip
import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import strategies as st

from changed_texts import perturb_text
from fuzzing.damage import altered, damaged, values, words
from fuzzing.judging import Target
from fuzzing.targets.tables import lines
from rightreasons.datasets.suites.editor import directional, fill, inv, mft
from rightreasons.datasets.suites.suite import Suite, open_suite
from tiny_suites import behavior_suite, reading_suite


def seeds(suffix):
    """Write the tiny suites in one format."""
    made = []
    with TemporaryDirectory() as folder:
        for suite in (behavior_suite(), reading_suite()):
            made.append(suite.write(Path(folder) / f"suite{suffix}").read_bytes())
    return made


HATECHECK = (
    b"functionality,case_id,test_case,label_gold,target_ident,direction,focus_words,focus_lemma,ref_case_id,"
    b"ref_templ_id,templ_id\nderog_neg_emote_h,1,I hate you,hateful,women,directed,hate,hate,,,1\n"
    b"neutral,2,I like you,non-hateful,women,directed,like,like,,,2\n"
)
FILES = {suffix: seeds(suffix) for suffix in (".jsonl", ".jsonl.gz")} | {".csv": [HATECHECK]}
SHORT = [[json.loads(line) for line in content.splitlines()] for content in FILES[".jsonl"]]


@st.composite
def files(draw):
    """A suite with a few edits, or with values of another kind."""
    suffix = draw(st.sampled_from(sorted(FILES)))
    if draw(st.booleans()):
        return suffix, draw(damaged(FILES[suffix]))
    content = lines(draw(altered(SHORT)))
    return draw(st.sampled_from([(".jsonl", content), (".jsonl.gz", gzip.compress(content, 1))]))


def check_suite(value, folder):
    suffix, content = value
    path = folder / f"suite{suffix}"
    path.write_bytes(content)
    suite = open_suite(path)
    suite.table()
    assert suite.n_examples == len(suite.texts()) == len(suite.to_dataset())
    # What is read is written and read again as the same suite.
    assert Suite.read(suite.write(folder / "again.jsonl")) == suite


pieces = st.sampled_from(
    ["{", "}", "{{", "}}", "{a}", "{b}", "{a:b}", "{A:a}", "{a.text}", "{a.x}", "{0}", "{a1}", " is ", "."]
)
templates = st.lists(pieces | words, max_size=6).map("".join)
entries = words | st.fixed_dictionaries({"text": words}, optional={"label": values, "x": values}) | values


def check_template(value, folder):
    template, lexicons, keywords = value
    cases = fill(template, lexicons=lexicons, **keywords)
    assert cases
    assert len({case.id for case in cases}) == len(cases)
    assert all(isinstance(text, str) for case in cases for texts in case.examples for text in texts)


def check_editor(value, folder):
    make, name, items, keywords = value
    made = {"mft": mft, "inv": inv, "directional": directional}[make](name, "Class", items, **keywords)
    path = Suite("fuzzed", ("text",), (made,)).write(folder / "suite.jsonl")
    assert Suite.read(path).functionalities == (made,)


def check_perturbation(value, folder):
    text, name, keywords = value
    made = perturb_text(text, name, **keywords)
    assert made is None or all(isinstance(each, str) and each != text for each in made)
    assert perturb_text(text, name, **keywords) == made


PERTURBATIONS = ["contractions", "names", "numbers", "typos", "punctuation", "locations", "nope", 5]

TARGETS = [
    Target("suites", files(), check_suite, 15),
    Target(
        "templates",
        st.tuples(
            templates | st.lists(templates, max_size=3) | values,
            st.dictionaries(st.sampled_from(["a", "b", "a1", "0"]), st.lists(entries, max_size=4) | values, max_size=3)
            | values,
            st.fixed_dictionaries(
                {},
                optional={
                    "n": st.sampled_from([None, 0, 1, 3, -1, 10**9, "x"]),
                    "label": values,
                    "across": st.sampled_from([None, "a", "b", 5]),
                    "seed": st.sampled_from([0, -1, "x", 2**70]),
                },
            ),
        ),
        check_template,
        25,
    ),
    Target(
        "editor",
        st.tuples(
            st.sampled_from(["mft", "inv", "directional"]),
            st.just("name") | values,
            st.lists(words, max_size=4) | values,
            st.fixed_dictionaries(
                {},
                optional={
                    "label": values,
                    "expectation": values,
                    "perturbation": st.sampled_from(PERTURBATIONS),
                    "tolerance": values,
                    "seed": values,
                    "copies": values,
                },
            ),
        ),
        check_editor,
        25,
    ),
    Target(
        "perturbations",
        st.tuples(
            st.lists(
                words | st.sampled_from(["I don't like it.", "Anna flew to Paris in 1999, not 3.50 km.", "It is."])
            ).map(" ".join)
            | values,
            st.sampled_from(PERTURBATIONS),
            st.fixed_dictionaries({}, optional={"seed": st.sampled_from([0, 7, -1, "x"]), "copies": values}),
        ),
        check_perturbation,
        20,
    ),
]
