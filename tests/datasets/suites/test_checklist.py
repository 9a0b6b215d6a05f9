"""Suites that CheckList has saved, as dill writes them: its plain expectations are known, and nothing is run.

The pickles are made here by the dill that is installed, of classes and functions that are laid out like CheckList's.
"""

import gzip
import json
import pickle
import sys
import tarfile
import types

import dill
import numpy as np
import pytest

from command_line import run
from rightreasons.behavior.rates import pass_rates
from rightreasons.datasets.suites.checklist import EXPECTATIONS, make_released
from rightreasons.datasets.suites.pickled_suites import read_pickled_suite
from rightreasons.datasets.suites.pickles import load_plain
from rightreasons.datasets.suites.suite import Suite, open_suite

# Functions that are built as CheckList's are: the same names, around the same variables. They do nothing.
STOCK = """
def expect_test(fn):
    def expect(self):
        return fn(self)
    return expect

def testcase(fn):
    def expect(self):
        zipped = [self]
        return [fn(each) for each in zipped]
    return expect

def single(fn):
    def expect_fn(xs, preds, confs, label=None, meta=None):
        return fn(xs, preds, confs, label, meta)
    return testcase(expect_fn)

def pairwise(fn):
    def expect_fn(xs, preds, confs, labels=None, meta=None):
        return fn(preds, preds, confs, confs, labels, meta)
    return testcase(expect_fn)

def eq(val=None):
    def ret_fn(x, pred, conf, label=None, meta=None):
        return val
    return single(ret_fn)

def inv(tolerance=0):
    def expect(orig_pred, pred, orig_conf, conf, labels=None, meta=None):
        return tolerance
    return pairwise(expect)

def monotonic(label=None, increasing=True, tolerance=0.0):
    keep_label = label
    def expect(orig_pred, pred, orig_conf, conf, labels=None, meta=None):
        return keep_label, increasing, tolerance
    return pairwise(expect)
"""


@pytest.fixture
def checklist(monkeypatch):
    """Classes and functions laid out like CheckList's, in modules of its names."""
    modules = {
        name: types.ModuleType(name)
        for name in ("checklist", *(f"checklist.{part}" for part in PARTS))
    }
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    exec(
        compile(STOCK, "/somewhere/checklist/expect.py", "exec"),
        modules["checklist.expect"].__dict__,
    )
    for kind in ("MFT", "INV", "DIR"):
        setattr(
            modules["checklist.test_types"],
            kind,
            type(kind, (), {"__module__": "checklist.test_types"}),
        )
    modules["checklist.test_suite"].TestSuite = type(
        "TestSuite", (), {"__module__": "checklist.test_suite"}
    )
    return types.SimpleNamespace(
        expect=modules["checklist.expect"],
        types=modules["checklist.test_types"],
        suite=modules["checklist.test_suite"].TestSuite,
    )


PARTS = ("expect", "test_types", "test_suite")


def a_test(checklist, kind, data, expect, agg_fn="all", **state):
    made = getattr(checklist.types, kind)()
    made.__dict__ = {
        "data": data,
        "expect": expect,
        "agg_fn": agg_fn,
        "labels": None,
        "meta": None,
        **state,
    }
    return made


def saved(checklist, path, tests, **state):
    suite = checklist.suite()
    info = {
        name: {"capability": "Vocabulary", "type": type(test).__name__}
        for name, test in tests.items()
    }
    suite.__dict__ = {"tests": dict(tests), "info": info, "test_ranges": {}, **state}
    path.write_bytes(dill.dumps(suite, recurse=True))
    return path


PAIRS = [["a b", "a c"], ["d", "e", "f"]]


def test_every_stock_expectation_has_a_form(checklist, tmp_path):
    e = checklist.expect
    expectations = {
        "eq": ("DIR", e.eq(1), {"name": "equal", "value": 1}),
        "a number of numpy": ("DIR", e.eq(np.int64(2)), {"name": "equal", "value": 2}),
        "a word": ("DIR", e.eq("yes"), {"name": "equal", "value": "yes"}),
        "inv": ("INV", e.inv(0.1), {"name": "invariant", "tolerance": 0.1}),
        "monotonic": (
            "DIR",
            e.monotonic(),
            {"name": "monotonic", "increasing": True, "tolerance": 0.0},
        ),
        "monotonic of a label": (
            "DIR",
            e.monotonic(1, increasing=False, tolerance=0.2),
            {"name": "monotonic", "increasing": False, "tolerance": 0.2, "label": 1},
        ),
    }
    skips = ("inv", "monotonic", "monotonic of a label")
    tests = {
        name: a_test(checklist, kind, PAIRS, expect, "all_except_first" if name in skips else "all")
        for name, (kind, expect, _) in expectations.items()
    }
    suite = read_pickled_suite(saved(checklist, tmp_path / "mine.pkl", tests))
    assert suite.name == "mine"
    assert {part.name: part.expectation for part in suite.functionalities} == {
        name: spec for name, (_, _, spec) in expectations.items()
    }
    assert {part.name: part.test_type for part in suite.functionalities} == {
        name: kind for name, (kind, _, _) in expectations.items()
    }
    assert suite.functionalities[0].cases[1].examples == (("d",), ("e",), ("f",))
    assert suite.functionalities[0].functionality_class == "Vocabulary"
    assert Suite.read(suite.write(tmp_path / "mine.jsonl")) == suite


def test_whether_the_first_example_counts(checklist, tmp_path):
    e = checklist.expect
    tests = {
        "it does not": a_test(checklist, "DIR", PAIRS, e.eq(0), "all_except_first"),
        "it does": a_test(checklist, "DIR", PAIRS, e.inv(0), "all"),
    }
    suite = read_pickled_suite(saved(checklist, tmp_path / "a.pkl", tests))
    assert [part.expectation for part in suite.functionalities] == [
        {"name": "equal", "value": 0, "skip_first": True},
        {"name": "invariant", "tolerance": 0.0, "skip_first": False},
    ]


def own_function(x, pred, conf, label=None, meta=None):
    return len(x) > 2 and pred == label


def test_a_function_that_is_not_understood_asks_nothing(checklist, tmp_path):
    e = checklist.expect
    # A function of the same name and around the same variables, but of another file, is not CheckList's.
    mine = {}
    code = "def around(val):\n    def ret_fn(*a):\n        return val\n    return ret_fn"
    exec(compile(code, "/mine.py", "exec"), mine)
    mine["ret_fn"] = mine["around"](1)
    tests = {
        "own": a_test(checklist, "MFT", ["a", "b"], e.single(own_function), labels=[1, 0]),
        "of a whole test": a_test(checklist, "MFT", ["a"], e.expect_test(own_function)),
        "an aggregate": a_test(checklist, "DIR", PAIRS, e.eq(1), own_function),
        "mine": a_test(checklist, "MFT", ["a"], e.single(mine["ret_fn"])),
        "no function": a_test(checklist, "DIR", PAIRS, None),
        "no labels": a_test(checklist, "MFT", ["a"], e.eq()),
        "odd labels": a_test(checklist, "MFT", ["a", "b"], e.eq(), labels=[{"x": 1}, 0.5]),
        "too few labels": a_test(checklist, "MFT", ["a", "b"], e.eq(), labels=[0]),
        "single examples": a_test(checklist, "INV", ["a", "b"], e.inv(0.1), "all_except_first"),
        "known": a_test(checklist, "MFT", ["a", "b"], e.eq(), labels=[0, True]),
    }
    path = saved(checklist, tmp_path / "a.pkl", tests)
    suite = read_pickled_suite(path)
    why = {part.name: part.expectation.get("why", "") for part in suite.functionalities}
    assert "own_function', whose code is not read" in why["own"]
    for name in ("of a whole test", "an aggregate", "mine", "no function"):
        assert "is the function" in why[name]
    for name in ("no labels", "odd labels", "too few labels"):
        assert why[name].startswith("it has no labels, or others")
    assert "every case has one example" in why["single examples"]
    assert why["known"] == ""
    assert suite.functionalities[-1].cases[1].labels == (1,)
    # The cases stay, so that predictions of the whole file can be scored.
    result = pass_rates([0] * suite.n_examples, suite.table(), outputs="labels")
    assert result.functionalities[-1].pass_rate == 0.5
    assert result.functionalities[0].n_filtered == 2


def test_the_order_is_that_of_the_ranges(checklist, tmp_path):
    e = checklist.expect
    tests = {
        "second": a_test(checklist, "MFT", ["a", "b"], e.eq(0)),
        "first": a_test(checklist, "DIR", PAIRS, e.eq(0), labels=[[1, 2], [3, 4, 5]]),
    }
    suite = read_pickled_suite(
        saved(checklist, tmp_path / "a.pkl", tests, test_ranges={"second": (5, 7), "first": (0, 5)})
    )
    assert [part.name for part in suite.functionalities] == ["first", "second"]
    assert suite.texts() == [("a b",), ("a c",), ("d",), ("e",), ("f",), ("a",), ("b",)]
    assert [case.labels for case in suite.functionalities[0].cases] == [(1, 2), (3, 4, 5)]


def test_forms_of_examples(checklist, tmp_path):
    e = checklist.expect
    path = tmp_path / "a.pkl"
    saved(checklist, path, {"a": a_test(checklist, "MFT", [("p", "q"), ("r", "s")], e.eq(0))})
    assert read_pickled_suite(path).text_columns == ("text", "text_pair")
    suite = read_pickled_suite(path, text_columns=("context", "question"))
    assert (suite.text_columns, suite.texts()) == (
        ("context", "question"),
        [("p", "q"), ("r", "s")],
    )
    with pytest.raises(ValueError, match="Expected examples of 3 texts in case '0'"):
        read_pickled_suite(path, text_columns=("a", "b", "c"))
    saved(
        checklist,
        path,
        {"a": a_test(checklist, "MFT", np.array(["x", "y"]), e.eq(0), labels=np.array([1, 0]))},
    )
    assert read_pickled_suite(path).functionalities[0].cases[0].labels == (1,)
    both = {
        "a": a_test(checklist, "MFT", ["x"], e.eq(0)),
        "b": a_test(checklist, "MFT", [("x", "y")], e.eq(0)),
    }
    with pytest.raises(ValueError, match="functionality 'b'"):
        read_pickled_suite(saved(checklist, path, both))
    wrong = (
        ([1, 2], "got an int"),
        ("x", "list of cases, but got str"),
        ([[]], "holds something else|"),
    )
    for data, sentence in wrong:
        with pytest.raises(ValueError, match=sentence):
            read_pickled_suite(
                saved(checklist, path, {"a": a_test(checklist, "MFT", data, e.eq(0))})
            )


def test_compressed_and_alone(checklist, tmp_path):
    test = a_test(
        checklist, "MFT", ["a", "b"], checklist.expect.eq(0), name="words", capability="Vocabulary"
    )
    plain = saved(checklist, tmp_path / "a.pkl", {"words": test})
    (tmp_path / "b.pkl.gz").write_bytes(gzip.compress(plain.read_bytes()))
    with tarfile.open(tmp_path / "c.tar.gz", "w:gz") as archive:
        archive.add(plain, "suite.pkl")
    suite = read_pickled_suite(plain)
    for name in ("b.pkl.gz", "c.tar.gz"):
        assert read_pickled_suite(tmp_path / name).functionalities == suite.functionalities
        assert read_pickled_suite(tmp_path / name).name == name[0]
    (tmp_path / "e.pkl.gz").write_bytes(gzip.compress(plain.read_bytes())[:-9])
    with pytest.raises(ValueError, match="compressed pickle"):
        read_pickled_suite(tmp_path / "e.pkl.gz")
    for content in ([1, 2], {"tests": {}}, test.__dict__["data"]):
        (tmp_path / "f.pkl").write_bytes(pickle.dumps(content))
        with pytest.raises(
            ValueError,
            match="pickle holds something",
        ):
            read_pickled_suite(tmp_path / "f.pkl")


def test_a_pickle_is_opened_by_no_path_and_converted_by_a_command(checklist, tmp_path, capsys):
    e = checklist.expect
    tests = {
        "plain": a_test(checklist, "MFT", [("p", "q")], e.eq(), labels=[1]),
        "code": a_test(checklist, "MFT", [("r", "s")], e.single(own_function)),
    }
    path = saved(checklist, tmp_path / "mine.pkl", tests)
    with pytest.raises(ValueError, match="with `rightreasons suite convert`"):
        open_suite(path)
    out = tmp_path / "mine.jsonl"
    said = run(capsys, "suite", "convert", path, out, "--text-columns", "context,question")
    assert said.code == 0, said.err
    assert "1 of 2 tests are skipped" in said.out
    assert open_suite(out) == read_pickled_suite(path, text_columns=("context", "question"))
    # What the file cannot say is named by hand.
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    lines[2]["expectation"] = {"name": "equal", "value": 0}
    out.write_text("\n".join(map(json.dumps, lines)))
    assert pass_rates([1, 0], open_suite(out).table(), outputs="labels").behavioral_pass_rate == 1
    said = run(capsys, "suite", "convert", tmp_path / "none.pkl", out)
    assert (said.code, said.err.count("\n"), "no such file" in said.err) == (2, 1, True)


def test_a_sentence_does_not_hold_a_name_of_a_million_letters(tmp_path):
    long = b"x" * 1_000_000
    for content in (
        b"c" + long + b"\na\n.",
        b"c" + long + b"\na\n(tR}(X\x01\x00\x00\x00aNub.",
        b"X" + long,
    ):
        (tmp_path / "a.pkl").write_bytes(content)
        with pytest.raises(ValueError, match="Expected a") as told:
            read_pickled_suite(tmp_path / "a.pkl")
        assert len(str(told.value)) < 500


def test_pickles_that_ask_for_too_much_are_refused(monkeypatch):
    monkeypatch.setattr("rightreasons.datasets.suites.pickles.MAX_INSTRUCTIONS", 1_000_000)
    for content in (
        b"\x80\x04](" + (value * 999 + b"e(") * 2000 + b"e." for value in (b"]", b"}", b"\x8f")
    ):
        with pytest.raises(ValueError, match="asks for too many values"):
            load_plain(content)


# --------------------------------------------------------------------------------------------------------- the release


@pytest.mark.real_data
def test_the_names_of_the_table_are_released(real_data):
    names = set()
    for stem in ("sentiment", "qqp", "squad"):
        with gzip.open(
            real_data / "checklist" / "suites" / f"{stem}_suite.jsonl.gz", "rt", encoding="utf-8"
        ) as lines:
            names.update(json.loads(line)["name"] for line in lines)
    assert names >= EXPECTATIONS.keys()


@pytest.mark.real_data
def test_the_stored_results_of_the_reading_suite(real_data):
    """Its pickle holds a model's answers and CheckList's verdicts on every case."""
    suite = read_pickled_suite(
        real_data / "checklist" / "release" / "squad_suite.tar.gz",
        name="x",
        text_columns=("context", "question"),
        make_functionality=make_released,
    )
    answers, passed = [], []
    with gzip.open(
        real_data / "checklist" / "suites" / "squad_suite.jsonl.gz", "rt", encoding="utf-8"
    ) as stream:
        for line in stream:
            results = json.loads(line)["results"]
            answers += [
                text
                for case in results["preds"]
                for text in (case if isinstance(case, list) else [case])
            ]
            passed += [bool(value) for value in results["passed"]]
    assert pass_rates(answers, suite.table(), outputs="texts").passed == passed
