"""Suites that CheckList has saved, as dill writes them: what they expect is read, and nothing of them is run.

The pickles are made here: by the dill that is installed, of classes and functions that are laid out like CheckList's,
and by hand in the layout of an older one.
"""

import gzip
import io
import pickle
import sys
import tarfile
import time
import types

import dill
import numpy as np
import pytest

from rightreasons.analysis.behavior.expectations import evaluate_cases
from rightreasons.analysis.behavior.pass_rates import pass_rates
from rightreasons.data.suites import plain_pickle
from rightreasons.data.suites.checklist_functions import Function, UnknownFunctionError, _comparison, expectation_of
from rightreasons.data.suites.checklist_pickle import Plain, read_pickled_suite
from rightreasons.data.suites.opening import open_suite
from rightreasons.data.suites.plain_pickle import load_plain
from rightreasons.data.suites.suite import Suite

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

def every(ignore_first=False):
    def tmp_fn(results):
        return ignore_first
    return tmp_fn

def wrap_slice(expect_fn, slice_fn, agg_fn):
    def wrapped(*args):
        return expect_fn, slice_fn, agg_fn
    return wrapped

def slice_pairwise(expect_fn, slice_fn, agg_fn="all_except_first"):
    return wrap_slice(expect_fn, pairwise(slice_fn), agg_fn)

def slice_single(expect_fn, slice_fn, agg_fn="all"):
    return wrap_slice(expect_fn, single(slice_fn), agg_fn)

def slice_orig(expect_fn, slice_fn, agg_fn="all"):
    new_fn = lambda orig, pred, *args: slice_fn(orig, pred)
    return slice_pairwise(expect_fn, new_fn, agg_fn)

def combine(expect_fn1, expect_fn2, combine_fn, ignore_none=True):
    def tmp_fn(self):
        return expect_fn1, expect_fn2, combine_fn, ignore_none
    return tmp_fn

def combine_and(first, second):
    def combine_fn(x1, x2):
        return min(x1, x2)
    return combine(first, second, combine_fn)

def combine_or(first, second):
    def combine_fn(x1, x2):
        return max(x1, x2)
    return combine(first, second, combine_fn)

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
    modules = {name: types.ModuleType(name) for name in ("checklist", *(f"checklist.{part}" for part in PARTS))}
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    exec(compile(STOCK, "/somewhere/checklist/expect.py", "exec"), modules["checklist.expect"].__dict__)
    for kind in ("MFT", "INV", "DIR"):
        setattr(modules["checklist.test_types"], kind, type(kind, (), {"__module__": "checklist.test_types"}))
    modules["checklist.test_suite"].TestSuite = type("TestSuite", (), {"__module__": "checklist.test_suite"})
    return types.SimpleNamespace(
        expect=modules["checklist.expect"],
        types=modules["checklist.test_types"],
        suite=modules["checklist.test_suite"].TestSuite,
    )


PARTS = ("expect", "test_types", "test_suite")


def a_test(checklist, kind, data, expect, agg_fn="all", **state):
    made = getattr(checklist.types, kind)()
    made.__dict__ = {"data": data, "expect": expect, "agg_fn": agg_fn, "labels": None, "meta": None, **state}
    return made


def saved(checklist, path, tests, **state):
    suite = checklist.suite()
    info = {name: {"capability": "Vocabulary", "type": type(test).__name__} for name, test in tests.items()}
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
        "monotonic": ("DIR", e.monotonic(), {"name": "monotonic", "increasing": True, "tolerance": 0.0}),
        "monotonic of a label": (
            "DIR",
            e.monotonic(1, increasing=False, tolerance=0.2),
            {"name": "monotonic", "increasing": False, "tolerance": 0.2, "label": 1},
        ),
        "and": (
            "DIR",
            e.combine_and(e.inv(0.2), e.eq(0)),
            {"name": "and", "of": [{"name": "invariant", "tolerance": 0.2}, {"name": "equal", "value": 0}]},
        ),
        "or": (
            "DIR",
            e.combine_or(e.eq(0), e.combine_and(e.eq(1), e.eq(2))),
            {
                "name": "or",
                "of": [
                    {"name": "equal", "value": 0},
                    {"name": "and", "of": [{"name": "equal", "value": 1}, {"name": "equal", "value": 2}]},
                ],
            },
        ),
    }
    skips = ("inv", "monotonic", "monotonic of a label", "and")
    tests = {
        name: a_test(checklist, kind, PAIRS, expect, "all_except_first" if name in skips else "all")
        for name, (kind, expect, _) in expectations.items()
    }
    suite = open_suite(saved(checklist, tmp_path / "mine.pkl", tests))
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


def test_aggregates_and_slices(checklist, tmp_path):
    e = checklist.expect
    expectations = {
        "the first does not count": (e.eq(0), "all_except_first", {"name": "equal", "value": 0, "skip_first": True}),
        "a function that skips it": (e.eq(0), e.every(True), {"name": "equal", "value": 0, "skip_first": True}),
        "a function that does not": (e.inv(0), e.every(), {"name": "invariant", "tolerance": 0.0, "skip_first": False}),
    }
    if sys.version_info < (3, 13):
        expectations |= {
            "of the first answer": (
                e.slice_orig(e.eq(0), lambda orig, *args: orig == 1),
                "all",
                {"name": "equal", "value": 0, "where_first": {"is": [1]}},
            ),
            "of pairs": (
                e.slice_pairwise(e.monotonic(), lambda pred, *args, **kwargs: pred != 1),
                "all_except_first",
                {"name": "monotonic", "increasing": True, "tolerance": 0.0, "where_first": {"not": [1]}},
            ),
            "of changed answers": (
                e.slice_pairwise(e.eq(0), lambda orig, pred, *args: pred != orig),
                "all",
                {"name": "equal", "value": 0, "where": {"name": "changed"}},
            ),
            "of single examples": (
                e.slice_single(e.inv(0.1), lambda x, pred, conf, *args: conf.max() > 0.9),
                "all_except_first",
                {"name": "invariant", "tolerance": 0.1, "where": {"name": "confidence", "above": 0.9}},
            ),
        }
    tests = {
        name: a_test(checklist, "DIR", PAIRS, expect, agg_fn) for name, (expect, agg_fn, _) in expectations.items()
    }
    suite = read_pickled_suite(saved(checklist, tmp_path / "a.pkl", tests))
    assert {part.name: part.expectation for part in suite.functionalities} == {
        name: spec for name, (_, _, spec) in expectations.items()
    }


def own_function(x, pred, conf, label=None, meta=None):
    return len(x) > 2 and pred == label


def test_a_function_that_is_not_understood_asks_nothing(checklist, tmp_path):
    e = checklist.expect
    tests = {
        "own": a_test(checklist, "MFT", ["a", "b"], e.single(own_function), labels=[1, 0]),
        "of a whole test": a_test(checklist, "MFT", ["a"], e.expect_test(own_function)),
        "an aggregate": a_test(checklist, "DIR", PAIRS, e.eq(1), own_function),
        "one and another": a_test(checklist, "DIR", PAIRS, e.combine_and(e.eq(1), e.single(own_function))),
        "another way to combine": a_test(checklist, "DIR", PAIRS, e.combine(e.eq(1), e.eq(0), own_function)),
        "neither": a_test(checklist, "DIR", PAIRS, e.combine(e.eq(1), e.eq(0), own_function, False)),
        "no function": a_test(checklist, "DIR", PAIRS, None),
        "no labels": a_test(checklist, "MFT", ["a"], e.eq()),
        "odd labels": a_test(checklist, "MFT", ["a", "b"], e.eq(), labels=[{"x": 1}, 0.5]),
        "too few labels": a_test(checklist, "MFT", ["a", "b"], e.eq(), labels=[0]),
        "single examples": a_test(checklist, "INV", ["a", "b"], e.inv(0.1), "all_except_first"),
        "known": a_test(checklist, "MFT", ["a", "b"], e.eq(), labels=[0, True]),
    }
    path = saved(checklist, tmp_path / "a.pkl", tests)
    with pytest.warns(UserWarning, match=r"Nothing is asked in 11 of the 12 tests of .*a.pkl.*: 'own', .*, …;"):
        suite = open_suite(path)
    why = {part.name: part.expectation.get("why", "") for part in suite.functionalities}
    assert "own_function', whose code is not run" in why["own"]
    for name in ("of a whole test", "an aggregate", "one and another", "another way to combine", "neither"):
        assert "is the function" in why[name]
    assert why["no labels"] == "there are no labels"
    assert "dict in the place of a label" in why["odd labels"]
    assert "1 labels of 2 cases" in why["too few labels"]
    assert "every case has one example" in why["single examples"]
    assert why["known"] == ""
    assert suite.functionalities[-1].cases[1].labels == (1,)
    # The cases stay, so that predictions of the whole file can be scored.
    result = pass_rates([0] * suite.n_examples, suite.table(), outputs="labels")
    assert result.functionalities[-1].pass_rate == 0.5
    assert result.functionalities[0].n_filtered == 2


def test_the_order_is_that_of_the_file_for_a_model(checklist, tmp_path):
    e = checklist.expect
    tests = {
        "second": a_test(checklist, "MFT", ["a", "b", "c"], e.eq(0), run_idxs=np.array([2, 0])),
        "first": a_test(checklist, "DIR", PAIRS, e.eq(0), labels=[[1, 2], [3, 4, 5]], run_idxs=None),
        "not run": a_test(checklist, "MFT", ["z"], e.eq(0), run_idxs=[]),
    }
    suite = open_suite(saved(checklist, tmp_path / "a.pkl", tests, test_ranges={"second": (5, 7), "first": (0, 5)}))
    assert [part.name for part in suite.functionalities] == ["first", "second"]
    assert suite.texts() == [("a b",), ("a c",), ("d",), ("e",), ("f",), ("c",), ("a",)]
    assert [case.id for case in suite.functionalities[1].cases] == ["2", "0"]
    assert [case.labels for case in suite.functionalities[0].cases] == [(1, 2), (3, 4, 5)]
    tests["second"].run_idxs = [0, 0]
    with pytest.raises(ValueError, match=r"different cases below 3 in `run_idxs`.*'second' of .*a.pkl"):
        open_suite(saved(checklist, tmp_path / "a.pkl", tests))


def test_forms_of_examples(checklist, tmp_path):
    e = checklist.expect
    path = tmp_path / "a.pkl"
    saved(checklist, path, {"a": a_test(checklist, "MFT", [("p", "q"), ("r", "s")], e.eq(0))})
    assert open_suite(path).text_columns == ("text", "text_pair")
    suite = open_suite(path, text_columns=("context", "question"))
    assert (suite.text_columns, suite.texts()) == (("context", "question"), [("p", "q"), ("r", "s")])
    with pytest.raises(ValueError, match="Expected the texts a, b, c in all examples"):
        open_suite(path, text_columns=("a", "b", "c"))
    rows = [[{"question": "q", "passage": "p", "n": 1}, {"question": "r", "passage": "s", "n": 2}]]
    saved(checklist, path, {"a": a_test(checklist, "MFT", rows, e.eq(0))})
    assert open_suite(path).text_columns == ("question", "passage")
    saved(checklist, path, {"a": a_test(checklist, "MFT", np.array(["x", "y"]), e.eq(0), labels=np.array([1, 0]))})
    assert open_suite(path).functionalities[0].cases[0].labels == (1,)
    both = {
        "a": a_test(checklist, "MFT", ["x"], e.eq(0)),
        "b": a_test(checklist, "MFT", [("x", "y")], e.eq(0)),
    }
    with pytest.raises(ValueError, match=r"texts text in all examples .*'a'.* those of 'b' have text, text_pair"):
        open_suite(saved(checklist, path, both))
    for data, sentence in (([1, 2], "got a int"), ("x", "list of cases, but got str"), ([[]], "holds something else|")):
        with pytest.raises(ValueError, match=sentence):
            open_suite(saved(checklist, path, {"a": a_test(checklist, "MFT", data, e.eq(0))}))


def test_compressed_and_alone(checklist, tmp_path):
    test = a_test(checklist, "MFT", ["a", "b"], checklist.expect.eq(0), name="words", capability="Vocabulary")
    plain = saved(checklist, tmp_path / "a.pkl", {"words": test})
    (tmp_path / "b.pkl.gz").write_bytes(gzip.compress(plain.read_bytes()))
    with tarfile.open(tmp_path / "c.tar.gz", "w:gz") as archive:
        archive.add(plain, "suite.pkl")
    # A test may be saved without a suite.
    (tmp_path / "d.pkl").write_bytes(dill.dumps(test, recurse=True))
    suite = open_suite(plain)
    for name in ("b.pkl.gz", "c.tar.gz", "d.pkl"):
        assert open_suite(tmp_path / name).functionalities == suite.functionalities
        assert open_suite(tmp_path / name).name == name[0]
    (tmp_path / "e.pkl.gz").write_bytes(gzip.compress(plain.read_bytes())[:-9])
    with pytest.raises(ValueError, match="Expected a compressed pickle .* but it is damaged"):
        open_suite(tmp_path / "e.pkl.gz")
    for content in ([1, 2], {"tests": {}}, test.__dict__["data"]):
        (tmp_path / "f.pkl").write_bytes(pickle.dumps(content))
        with pytest.raises(ValueError, match="Expected a CheckList suite in .*f.pkl, but its pickle holds something"):
            open_suite(tmp_path / "f.pkl")


# ------------------------------------------------------------------------------------------- layouts of other versions


class Call:
    """A call that is pickled, by the name of what is called."""

    def __init__(self, what, *arguments):
        self.what, self.arguments = what, arguments

    def __reduce__(self):
        return self.what, self.arguments


@pytest.fixture
def old_dill(monkeypatch):
    """The names by which an older dill stores functions, each standing for nothing."""
    module = types.ModuleType("dill._dill")
    for name in ("_create_function", "_create_cell", "_load_type"):
        exec(f"def {name}(*a): return {name}", module.__dict__)
    monkeypatch.setitem(sys.modules, "dill._dill", module)
    return module


def record_of(
    old_dill, name, *, variables=(), constants=(), names=(), code=b"", file="/a/checklist/expect.py", **around
):
    # As CPython 3.6 orders them: numbers, code, constants, names, variables, file, name, lines, closure.
    parts = (len(variables), 0, len(variables), 9, 19, code, constants, names, variables, file, name, 1, b"")
    cells = tuple(Call(old_dill._create_cell, value) for value in around.values())
    made = Code(Call(old_dill._load_type, "CodeType"), *parts, tuple(around), ())
    return Call(old_dill._create_function, made, {"__name__": "checklist.expect"}, name, None, cells or None)


class Code(Call):
    """A code object: what is called is itself the result of a call."""

    def __reduce__(self):
        return _call, (self.what, *self.arguments)


def _call(what, *arguments):
    return what(*arguments)


def bytes_of(value):
    """Pickle a value with every code object as a call of the result of a call, which `pickle` itself does not write."""

    class Pickler(pickle._Pickler):
        def save(self, obj, save_persistent_id=True):
            if isinstance(obj, Code):
                pickle._Pickler.save(self, obj.what)
                pickle._Pickler.save(self, obj.arguments)
                self.write(pickle.REDUCE)
                return None
            if (
                isinstance(obj, types.FunctionType) and id(obj) not in self.memo
            ):  # which dill would store by its content
                return self.save_global(obj)
            return pickle._Pickler.save(self, obj, save_persistent_id)

    stream = io.BytesIO()
    Pickler(stream, 4).dump(value)
    return stream.getvalue()


SINGLE = ("xs", "preds", "confs", "label", "meta")
PAIR = ("xs", "preds", "confs", "labels", "meta")


def of_cases(old_dill, fn, arguments):
    inner = record_of(old_dill, "expect_fn", variables=arguments, fn=fn)
    return record_of(old_dill, "expect", variables=("self", "zipped"), fn=inner)


def read(record, aggregate="all"):
    return expectation_of(load_plain(bytes_of(record)), aggregate, Plain(100))


def test_the_layout_of_an_older_dill(old_dill):
    monotonic = record_of(old_dill, "expect", increasing=False, keep_label=None, tolerance=0.1)
    assert read(of_cases(old_dill, monotonic, PAIR), "all_except_first") == {
        "name": "monotonic",
        "increasing": False,
        "tolerance": 0.1,
    }
    eq = of_cases(old_dill, record_of(old_dill, "ret_fn", val=1), SINGLE)
    assert read(eq) == {"name": "equal", "value": 1}
    chosen = record_of(old_dill, "<lambda>", file="<ipython-input-1>", **COMPARED["orig == 1, 3.7"])
    orig = record_of(old_dill, "<lambda>", slice_fn=chosen)
    sliced = record_of(old_dill, "wrapped", agg_fn="all", expect_fn=eq, slice_fn=of_cases(old_dill, orig, PAIR))
    assert read(sliced, "all_except_first") == {
        "name": "equal",
        "value": 1,
        "where_first": {"is": [1]},
        "skip_first": True,
    }
    # A function of the same name and the same closure, but of another file, is not CheckList's.
    with pytest.raises(UnknownFunctionError, match="ret_fn"):
        read(of_cases(old_dill, record_of(old_dill, "ret_fn", file="/a/mine.py", val=1), SINGLE))
    # The value of a closure that is no label
    with pytest.raises(UnknownFunctionError, match="ret_fn"):
        read(of_cases(old_dill, record_of(old_dill, "ret_fn", val=(1, 2)), SINGLE))
    # Functions around functions, further than anybody wraps them
    for _ in range(12):
        eq = record_of(old_dill, "tmp_fn", combine_fn=eq, expect_fn1=eq, expect_fn2=eq, ignore_none=True)
    with pytest.raises(UnknownFunctionError):
        read(eq)


# Instructions as CPython 3.7, 3.11 and 3.12 write them: an argument, a constant, a comparison, the return.
COMPARED = {
    "orig == 1, 3.7": {"code": bytes.fromhex("7c00 6401 6b02 5300"), "constants": (None, 1)},
    "orig == 1, 3.11": {"code": bytes.fromhex("9700 7c00 6401 6b02 0000 0000 5300"), "constants": (None, 1)},
    "orig == 1, 3.12": {"code": bytes.fromhex("9700 7c00 6401 6b28 0000 5300"), "constants": (None, 1)},
    # 2 is == before 3.12, and there < with its flags
    "orig < 1, 3.12": {"code": bytes.fromhex("9700 7c00 6401 6b02 0000 5300"), "constants": (None, 1)},
    "1 > orig, 3.7": {"code": bytes.fromhex("6401 7c00 6b04 5300"), "constants": (None, 1)},
}


@pytest.mark.parametrize(("name", "how"), [(name, "<" if "<" in name or ">" in name else "==") for name in COMPARED])
def test_comparisons_of_several_versions_of_python(name, how):
    function = Function("f", "", names=(), variables=("orig",), closure={}, **COMPARED[name])
    assert _comparison(function) == (("argument", 0), how, ("constant", 1))


@pytest.mark.parametrize(
    "code",
    [
        "",  # nothing
        "5300",  # nothing is returned
        "7c00 5300",  # no comparison
        "7c00 6401 6b02",  # no return
        "7c00 6401 6b02 0100 5300",  # something else is done
        "7c00 6401 6b02 5300 5300",  # twice
        "7c00 6407 6b02 5300",  # a constant that is not there
        "9500 3c00 6401",  # instructions of another version
    ],
)
def test_other_code_is_not_understood(code):
    with pytest.raises(UnknownFunctionError, match="f"):
        _comparison(Function("f", "", bytes.fromhex(code), (None, 1), (), ("a",), {}))


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="the instructions of CPython 3.13 are numbered otherwise")
@pytest.mark.parametrize(
    ("unit", "function", "spec"),
    [
        ("pairwise", lambda orig, pred, *a: pred != orig, {"name": "changed"}),
        ("pairwise", lambda orig, pred, *a: orig == pred, {"name": "not", "of": {"name": "changed"}}),
        ("pairwise", lambda orig, pred, *a: pred == 0, {"name": "equal", "value": 0}),
        ("single", lambda x, pred, *a: pred != 0, {"name": "not_equal", "value": 0}),
        ("single", lambda x, pred, conf, label, meta: pred == label, {"name": "equal"}),
        ("single", lambda x, pred, conf, label, meta: pred != label, {"name": "not", "of": {"name": "equal"}}),
        ("single", lambda x, p, conf, *a: conf.max() > 0.95, {"name": "confidence", "above": 0.95}),
        ("single", lambda x, p, conf, *a: conf.max() < 0.95, {"name": "confidence", "below": 0.95}),
        ("single", lambda x, p, conf, *a: conf[2] < 0.5, {"name": "confidence", "below": 0.5, "label": 2}),
        ("single", lambda x, p, c, *a: c.max() >= 0.5, {"name": "not", "of": {"name": "confidence", "below": 0.5}}),
        (
            "single",
            lambda x, p, c, *a: c[0] <= 0.5,
            {"name": "not", "of": {"name": "confidence", "above": 0.5, "label": 0}},
        ),
        ("single", lambda x, p, c, *a: c.min() > 0.5, None),
        ("single", lambda x, p, c, *a: c[-1] > 0.5, None),
        ("single", lambda x, p, *a: x == "a", None),
        ("single", lambda x, p, *a: p > 1, None),
        ("single", lambda x, p, *a: p == 1 and x == "a", None),
        ("single", lambda x, p, *a: not p, None),
        ("pairwise", lambda orig, pred, before, now, *a: now.max() > 0.5, {"name": "confidence", "above": 0.5}),
        ("pairwise", lambda orig, pred, before, now, *a: before.max() > 0.5, None),
        ("pairwise", lambda orig, *a: orig == 1, None),
    ],
)
def test_comparisons_of_an_author(checklist, unit, function, spec):
    record = load_plain(dill.dumps(getattr(checklist.expect, unit)(function), recurse=True))
    if spec is None:
        with pytest.raises(UnknownFunctionError, match="<lambda>"):
            expectation_of(record, "all", Plain(100))
        return
    read = expectation_of(record, "all", Plain(100))
    read.pop("skip_first", None)
    assert read == spec


# ------------------------------------------------------------------------------------------------------ slow and large


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"\x80\x04" + b"]" * 2_000_000 + b".", "leaves too many values unused"),
        (b"\x80\x04" + b"\x8f" * 4_000_000 + b".", "leaves too many values unused"),
        (b"\x80\x04](" + (b"}" * 999 + b"e(") * 20_000 + b"e.", "asks for too many values"),
        (b"\x80\x04](" + (b"\x8f" * 999 + b"e(") * 20_000 + b"e.", "asks for too many values"),
        (b"\x80\x04" + b"".join(b"ca\nb%d\n0" % number for number in range(11_000)) + b"N.", "more than 10,000 names"),
    ],
    ids=["lists", "sets", "dictionaries", "more sets", "names"],
)
def test_pickles_that_ask_for_too_much_are_refused_soon(monkeypatch, content, sentence):
    monkeypatch.setattr(plain_pickle, "MAX_INSTRUCTIONS", 600_000)
    monkeypatch.setattr(plain_pickle, "MAX_MEMORY", 60_000_000)
    begin = time.process_time()
    with pytest.raises(ValueError, match=sentence) as told:
        load_plain(content)
    assert time.process_time() - begin < 20
    assert len(str(told.value)) < 200


def test_a_sentence_does_not_hold_a_name_of_a_million_letters(tmp_path):
    long = b"x" * 1_000_000
    for content in (b"c" + long + b"\na\n.", b"c" + long + b"\na\n(tR}(X\x01\x00\x00\x00aNub.", b"X" + long):
        (tmp_path / "a.pkl").write_bytes(content)
        with pytest.raises(ValueError, match="Expected a") as told:
            open_suite(tmp_path / "a.pkl")
        assert len(str(told.value)) < 500


# --------------------------------------------------------------------------------------------------------- the release


@pytest.mark.real_data
@pytest.mark.filterwarnings("ignore:Nothing is asked")
@pytest.mark.parametrize(("stem", "unknown"), [("sentiment", 0), ("qqp", 1)])
def test_the_released_suites_as_files(real_data, stem, unknown):
    """The path opens what the name opens: the same expectations, but of a test that the names correct."""
    from rightreasons.data.benchmarks.checklist import read_checklist

    folder = real_data / "checklist"
    columns = ("text",) if stem == "sentiment" else ("text", "text_pair")
    released = read_checklist(folder / "suites" / f"{stem}_suite.jsonl.gz", "x", columns)
    named = {part.name: part for part in released.functionalities}
    suite = open_suite(folder / "release" / f"{stem}_suite.tar.gz")
    assert suite.text_columns == columns
    silent = [part for part in suite.functionalities if part.expectation["name"] == "unknown"]
    assert len(silent) == unknown
    for part in suite.functionalities:
        whole = named[part.name]
        if part not in silent and part.name != "Q & A: no":
            assert part.expectation == whole.expectation
        # The cases are those of the sample that the release ran.
        for case in part.cases[:3]:
            assert case.examples == whole.cases[int(case.id)].examples
            assert case.labels == whole.cases[int(case.id)].labels


@pytest.mark.real_data
def test_the_stored_results_of_the_reading_suite(real_data):
    """Its pickle holds a model's answers and CheckList's verdicts on every case."""
    import json

    suite = open_suite(real_data / "checklist" / "release" / "squad_suite.tar.gz", text_columns=("context", "question"))
    answers, passed = [], []
    with gzip.open(real_data / "checklist" / "suites" / "squad_suite.jsonl.gz", "rt", encoding="utf-8") as stream:
        for line in stream:
            results = json.loads(line)["results"]
            answers += [text for case in results["preds"] for text in (case if isinstance(case, list) else [case])]
            passed += [bool(value) for value in results["passed"]]
    assert pass_rates(answers, suite.table(), outputs="texts").passed == passed


def test_not_negative_where_the_label_is_one():
    """`pred != 0 if label == 1 else pred == label`, as a functionality of the sentiment suite has it."""
    from rightreasons.analysis.behavior.expectations import Answers
    from rightreasons.data.suites.checklist_functions import RELEASED

    spec = next(spec for spec in RELEASED.values() if spec["name"] == "or")
    pairs = [(answer, label) for answer in (0, 1, 2) for label in (0, 1, 2)]
    answers = Answers(np.array([answer for answer, _ in pairs]), np.arange(10), labels=[label for _, label in pairs])
    expected = [(answer != 0 if label == 1 else answer == label) for answer, label in pairs]
    assert evaluate_cases(spec, answers)[1].tolist() == expected
