"""Behavioral suites: the plain format, the released ones in both forms, their split, and hostile pickles."""

import gzip
import io
import json
import pickle
import pickletools
import sys
import tarfile
import types
from collections import Counter, OrderedDict

import datasets
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.model_selection import train_test_split

from rightreasons.datasets.builder import get_builder_class, load_dataset
from rightreasons.datasets.suites import checklist
from rightreasons.datasets.suites.checklist import CheckListSentiment, make_released
from rightreasons.datasets.suites.pickled_suites import read_pickled_suite
from rightreasons.datasets.suites.pickles import load_plain
from rightreasons.datasets.suites.suite import Case, Functionality, Suite, open_suite

CASES = (Case("a", (("good",), ("not good",)), (1, 0)), Case("b", (("bad",), ("not bad",)), (0, 1)))


def functionality(**changes):
    return Functionality(
        **{
            "name": "negation",
            "functionality_class": "Negation",
            "test_type": "MFT",
            "expectation": {"name": "equal"},
            "cases": CASES,
            **changes,
        }
    )


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz"])
def test_written_suites_are_read_back(tmp_path, suffix):
    moved = Case("0", (("Ann sat.",), ("Eve sat.",)), None, (None, ("Ann", "Eve")))
    invariant = functionality(
        name="names",
        test_type="INV",
        expectation={"name": "invariant", "tolerance": 0.1},
        cases=(moved,),
    )
    suite = Suite("mine", ("text",), (functionality(), invariant))
    assert Suite.read(suite.write(tmp_path / f"suite{suffix}")) == suite


def test_ten_lines_by_hand(tmp_path):
    path = tmp_path / "mine.jsonl"
    rows = [
        {"format": "rightreasons.suite", "version": 1, "name": "mine", "text_columns": ["text"]},
        {
            "functionality": "negation",
            "functionality_class": "Negation",
            "test_type": "MFT",
            "expectation": {"name": "equal"},
            "cases": [
                {"examples": ["not good"], "labels": [0]},
                {"examples": ["not bad"], "labels": [1]},
            ],
        },
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    data = Suite.read(path).to_dataset()
    assert data["text"][:] == ["not good", "not bad"]
    assert data["label"][:] == [0, 1]
    assert data["case_id"][:] == ["0-0", "0-1"]


def test_table_lays_cases_end_to_end():
    table = Suite(
        "mine", ("text",), (functionality(), functionality(name="again", cases=CASES[:1]))
    ).table()
    assert table.case_offsets.tolist() == [0, 2, 4, 6]
    assert table.case_functionality.tolist() == [0, 0, 1]
    assert table.labels == (1, 0, 0, 1, 1, 0)
    assert len(table) == 6


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"cases": ()}, "functionality 'negation'"),
        ({"test_type": "mft"}, "test_type of"),
        (
            {"expectation": {"name": "invariant"}, "cases": (Case("a", (("x",),)),)},
            "functionality 'negation'",
        ),
        ({"cases": (Case("a", (("x",),), (0, 1)),)}, "one entry per example"),
        ({"cases": (Case("a", (("x", "y"),)),)}, "Expected examples of 1 texts in case 'a'"),
        ({"cases": (CASES[0], CASES[0])}, "once, but 'a' is repeated"),
        ({"expectation": {}}, "to have a name"),
        ({"expectation": "name"}, "to have a name"),
        (
            {"expectation": {"name": "equals"}},
            "Did you mean",
        ),
        (
            {
                "expectation": {"name": "monotonic", "increasing": True},
                "cases": (Case("a", (("x",),)),),
            },
            "at least 2 examples in a case",
        ),
        (
            {
                "expectation": {"name": "equal", "skip_first": True},
                "cases": (Case("a", (("x",),), (0,)),),
            },
            "at least 2 examples in a case",
        ),
        (
            {"cases": (Case("a", (("x",),)),)},
            "'negation', or a `value`",
        ),
        (
            {"cases": (Case("a", (("x",),), (10**24,)),)},
            "labels from -1 to 2147483647, but case 'a'",
        ),
        ({"cases": (Case("a", (("x",),), (-2,)),)}, "labels from -1 to"),
    ],
)
def test_bad_suites(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        Suite("mine", ("text",), (functionality(**changes),))


@pytest.mark.parametrize("label", [0.5, float("inf"), True, {}])
def test_labels_are_whole_numbers_or_texts(label):
    with pytest.raises(TypeError, match="whole numbers"):
        Suite("mine", ("text",), (functionality(cases=(Case("a", (("x",),), (label,)),)),))


def test_bad_files(tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_text('{"format": "other"}\n')
    with pytest.raises(ValueError, match="first line"):
        Suite.read(path)
    path.write_text('{"format": "rightreasons.suite", "version": 2}\n')
    with pytest.raises(ValueError, match='"version": 1, but it does not'):
        Suite.read(path)
    path.write_text('{"format": "rightreasons.suite", "version": 1}\n{"functionality": "x"}\n')
    with pytest.raises(ValueError, match="in line 2"):
        Suite.read(path)
    path.write_text('{"format": "rightreasons.suite", "version": 1}\n{oops\n')
    with pytest.raises(ValueError, match="bad.jsonl, but .* line 2"):
        Suite.read(path)


FUNCTIONALITY = {
    "functionality": "negation",
    "functionality_class": "Negation",
    "test_type": "MFT",
    "expectation": {"name": "equal"},
    "cases": [{"examples": ["not good"], "labels": [0]}],
}


@pytest.mark.parametrize(
    ("row", "named"),
    [
        ([], "'cases'"),
        ({**FUNCTIONALITY, "expectation": "equal"}, "'expectation'"),
        ({**FUNCTIONALITY, "cases": "not good"}, "'cases'"),
        ({**FUNCTIONALITY, "cases": ["not good"]}, "'cases'"),
        # A text is no list of letters.
        ({**FUNCTIONALITY, "cases": [{"examples": "not good"}]}, "'examples'"),
        ({**FUNCTIONALITY, "cases": [{"examples": [None]}]}, "'examples'"),
        ({**FUNCTIONALITY, "cases": [{"examples": ["a"], "labels": 0}]}, "'labels'"),
        ({**FUNCTIONALITY, "cases": [{"examples": ["a"], "labels": [0.5]}]}, "'labels'"),
        ({**FUNCTIONALITY, "cases": [{"examples": ["a"], "labels": [True]}]}, "'labels'"),
        ({**FUNCTIONALITY, "cases": [{"examples": ["a"], "meta": [["Ann"]]}]}, "'meta'"),
        ({key: value for key, value in FUNCTIONALITY.items() if key != "test_type"}, "'test_type'"),
        *(
            ({**FUNCTIONALITY, "functionality": name}, "'functionality'")
            for name in (None, [], 5, " ")
        ),
        ({**FUNCTIONALITY, "functionality_class": None}, "'functionality_class'"),
        ({**FUNCTIONALITY, "cases": [{"id": None, "examples": ["a"]}]}, "'id'"),
    ],
)
def test_what_is_wrong_in_a_line_is_named(tmp_path, row, named):
    path = tmp_path / "bad.jsonl"
    path.write_text('{"format": "rightreasons.suite", "version": 1}\n' + json.dumps(row))
    with pytest.raises(
        ValueError,
        match=f"in line 2 of .*bad.jsonl, but .*{named.strip(chr(39))}.* is missing, invalid or unknown",
    ):
        Suite.read(path)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.jsonl", b"\xff\xfe\x00", "text in UTF-8"),
        ("a.jsonl.gz", b"not compressed", "compressed text in UTF-8"),
        ("a.jsonl.gz", gzip.compress(b"cut off", mtime=0)[:-4], "compressed text in UTF-8"),
        (
            "a.jsonl",
            b'{"format": "rightreasons.suite", "version": 1, "text_columns": "text"}',
            "a list of names",
        ),
        (
            "a.jsonl",
            b'{"format": "rightreasons.suite", "version": 1, "label_name": []}',
            "Did you mean 'label_names'",
        ),
        ("a.jsonl", b"[" * 100_000, "line 1 of .* nested deeper"),
        ("a.jsonl", b"1" * 5000, "4,300 digits"),
    ],
)
def test_files_that_are_something_else(tmp_path, name, content, sentence):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=sentence):
        Suite.read(tmp_path / name)


def test_unknown_keys_are_told(tmp_path):
    for row in (
        {**FUNCTIONALITY, "lexicons": {}},
        {**FUNCTIONALITY, "cases": [{"examples": ["a"], "label": [0]}]},
    ):
        path = tmp_path / "bad.jsonl"
        path.write_text('{"format": "rightreasons.suite", "version": 1}\n' + json.dumps(row))
        with pytest.raises(
            ValueError,
            match="line 2 of .*bad.jsonl, but '.*(lexicons|label)' is missing, invalid or unknown",
        ):
            Suite.read(path)


def test_split_is_that_of_scikit_learn():
    for n_cases in (1, 2, 3, 7, 34, 331):
        cases = tuple(Case(str(i), ((f"text {i}",),), (0,)) for i in range(n_cases))
        suite = Suite("mine", ("text",), (functionality(cases=cases),))
        parts = {}
        for part in ("train", "validation", "test"):
            try:
                parts[part] = [int(case.id) for case in suite.split(part).functionalities[0].cases]
            except ValueError:
                parts[part] = []
        assert sorted(i for part in parts.values() for i in part) == list(range(n_cases))
        if n_cases >= 7:
            train, rest = train_test_split(np.arange(n_cases), test_size=0.5, random_state=123)
            validation, test = train_test_split(rest, test_size=0.5, random_state=123)
            assert parts == {
                k: sorted(v)
                for k, v in (("train", train), ("validation", validation), ("test", test))
            }


def write_lines(path, header, rows):
    lines = [{"format": "rightreasons.suite", "version": 1, **header}]
    lines += [{"functionality_class": "C", "test_type": "MFT", **row} for row in rows]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("header", "row", "sentence"),
    [
        ({"label_names": ["bad", "Bad"]}, {}, "two or more different names of labels"),
        ({"label_names": ["bad"]}, {}, "two or more different names of labels"),
        ({"label_names": "bad"}, {}, "`label_names` to"),
        ({"label_names": ["bad", 1]}, {}, "`label_names` to"),
        (
            {"label_names": ["bad", " "]},
            {},
            "entry of `label_names`",
        ),
        (
            {"label_names": ["bad", "good"]},
            {"labels": ["good"]},
            "one of the labels bad, good, .* has 'good'",
        ),
        (
            {"label_names": ["bad", "good"]},
            {"labels": [2]},
            "one of the labels bad, good, .* has 2",
        ),
    ],
)
def test_names_of_labels_that_cannot_be(tmp_path, header, row, sentence):
    row = {
        "functionality": "a",
        "expectation": {"name": "equal"},
        "cases": [{"examples": ["x"], "labels": [1], **row}],
    }
    with pytest.raises((TypeError, ValueError), match=sentence):
        Suite.read(write_lines(tmp_path / "a.jsonl", header, [row]))


@pytest.mark.parametrize("header", [{"version": True}, {"version": 1.0}, {"version": "1"}])
def test_the_version_is_a_whole_number(tmp_path, header):
    with pytest.raises(ValueError, match='"version": 1, but it does not'):
        Suite.read(write_lines(tmp_path / "a.jsonl", header, [FUNCTIONALITY]))


@pytest.mark.parametrize("column", ["label", "answer", "id", "case_id"])
def test_texts_do_not_take_the_columns_of_a_suite(column):
    with pytest.raises(ValueError, match=f"text columns other than id, .* but got '{column}'"):
        Suite("mine", (column,), (functionality(),))


def test_a_mark_before_the_first_line(tmp_path):
    suite = Suite("mine", ("text",), (functionality(),))
    plain = suite.write(tmp_path / "a.jsonl").read_bytes()
    (tmp_path / "b.jsonl").write_bytes(b"\xef\xbb\xbf" + plain)
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf" + plain))
    assert open_suite(tmp_path / "b.jsonl") == open_suite(tmp_path / "c.jsonl.gz") == suite


def test_what_is_no_suite(tmp_path):
    for value in (None, 5, ["a"]):
        with pytest.raises(TypeError, match="`name_or_path` to"):
            open_suite(value)
    for name in ("nosuch.jsonl",):
        with pytest.raises(
            FileNotFoundError, match=f"Expected a suite at .*{name}, but there is no such file"
        ):
            open_suite(tmp_path / name)
    with pytest.raises((ValueError, FileNotFoundError), match="Expected"):
        open_suite("x" * 5000 + ".jsonl")
    with pytest.raises((ValueError, FileNotFoundError), match="Expected"):
        open_suite("x" * 5000)
    with pytest.raises(FileNotFoundError, match="no such file"):
        open_suite(tmp_path)


# ------------------------------------------------------------------------------------------------- the released suites

COUNTS = {
    # functionalities, cases by type, examples, paper's split (METHODS, from Luz de Araujo & Roth)
    "checklist_sentiment": (38, {"MFT": 68912, "INV": 8140, "DIR": 9368}, 178578, 20),
    "checklist_paraphrase": (53, {"MFT": 46443, "INV": 3677, "DIR": 13096}, 207301, 37),
    "checklist_reading": (24, {"MFT": 10811, "INV": 2500}, 71293, 19),
}
SOME = {  # functionality -> cases, examples (Appendix A)
    "checklist_sentiment": {
        "single positive words": (34, 34),
        "typos": (500, 1000),
        "protected: race": (600, 2400),
    },
    "checklist_paraphrase": {
        "(q, paraphrase(q))": (200, 18944),
        "Testing implications": (8328, 24984),
    },
    "checklist_reading": {"Former / Latter": (475, 1900), "Change name everywhere": (500, 5500)},
}


@pytest.mark.real_data
@pytest.mark.parametrize("name", list(COUNTS))
def test_released_counts(real_data, name):
    builder = get_builder_class(name)
    archive = real_data / "checklist" / builder.SOURCES[0].path
    suite = read_pickled_suite(
        archive, name=name, text_columns=builder.TEXT_COLUMNS, make_functionality=make_released
    )
    functionalities, cases, examples, n_mft = COUNTS[name]
    assert len(suite.functionalities) == functionalities
    found = Counter()
    for part in suite.functionalities:
        found[part.test_type] += len(part.cases)
    assert found == cases
    assert suite.n_examples == examples
    assert sum(part.test_type == "MFT" for part in suite.functionalities) == n_mft
    by_name = {part.name: part for part in suite.functionalities}
    for part, (n_cases, n_examples) in SOME[name].items():
        assert (len(by_name[part].cases), by_name[part].n_examples) == (n_cases, n_examples)


@pytest.mark.real_data
def test_as_a_dataset(real_data, tmp_path, monkeypatch):
    # A load writes all splits.
    monkeypatch.setattr(checklist, "SPLITS", {"paper_test": "test"})

    data = load_dataset(
        "checklist_reading", split="paper_test", data_dir=real_data, cache_dir=tmp_path
    )
    assert len(data) == pytest.approx(17800, abs=100)
    assert {"context", "question", "answer", "functionality", "test_type", "case_id"} <= set(
        data.column_names
    )


# ---------------------------------------------------------------------------------------------------- hostile pickles


class Malicious:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        import os

        return (os.system, (f"touch {self.path}",))


@pytest.mark.parametrize("protocol", range(6))
def test_what_a_pickle_would_run_is_a_record(protocol, tmp_path):
    ran = tmp_path / "ran"
    number, record = load_plain(pickle.dumps([1, Malicious(ran)], protocol=protocol))
    assert number == 1
    assert record.qualified_name in ("posix system", "nt system")
    assert record.made_of == (f"touch {ran}",)
    assert not ran.exists()


def test_other_ways_out_are_refused():
    # A Python with a further instruction is to be looked at.
    assert len(pickletools.opcodes) == 68
    with pytest.raises(ValueError, match="instruction PERSID"):
        load_plain(b"Pid\n.")
    with pytest.raises(ValueError, match="instruction EXT1"):
        load_plain(b"\x80\x02\x82\x01.")
    with pytest.raises(ValueError, match="memo has missing entries"):
        load_plain(b"\x80\x02]r\xff\xff\xff\x7f.")
    with pytest.raises(ValueError, match="at most 3 bytes"):
        load_plain(pickle.dumps("a long text"), max_bytes=3)
    with pytest.raises(ValueError, match="Expected a pickle"):
        load_plain(b"no pickle at all")


def read_or_refuse(content):
    refusal = None
    try:
        load_plain(content)
    except ValueError as error:
        refusal = str(error)
    assert refusal is None or refusal.startswith("Expected")


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_noise_is_refused_or_read_but_never_more(noise):
    read_or_refuse(noise)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_damaged_pickles_are_refused_or_read(data):
    content = bytearray(
        pickle.dumps({"tests": [("a", 1.5, None), {"b": [True, b"x"]}]}, protocol=2)
    )
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    read_or_refuse(bytes(content))


def test_plain_data_comes_through():
    held = {"a": [1, 2.5, "x", None, True], "b": ("y", b"z"), "c": {3, 4}}
    for protocol in (4, 5):
        assert load_plain(pickle.dumps(held, protocol=protocol)) == held


def write_archive(path, held):
    with tarfile.open(path, "w:gz") as archive:
        content = pickle.dumps(held, protocol=2)
        entry = tarfile.TarInfo("suite.pkl")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return path


def test_an_archive_with_something_else(tmp_path):
    path = write_archive(tmp_path / "sentiment_suite.tar.gz", {"not": "a suite"})
    with pytest.raises(ValueError, match="its pickle holds something else"):
        read_pickled_suite(
            path,
            name="checklist_sentiment",
            text_columns=("text",),
            make_functionality=make_released,
        )


class Stub:
    def __init__(self, **state):
        self.__dict__.update(state)


def hostile(path, monkeypatch, **state):
    monkeypatch.setitem(sys.modules, "checklist", types.ModuleType("checklist"))
    for module, name in (("checklist.test_suite", "TestSuite"), ("checklist.test_types", "MFT")):
        monkeypatch.setitem(sys.modules, module, types.ModuleType(module))
        setattr(sys.modules[module], name, type(name, (Stub,), {"__module__": module}))
    plain = {"capability": "C", "labels": 0, "data": ["a"], "meta": None, "agg_fn": "all"}
    test = sys.modules["checklist.test_types"].MFT(**{**plain, **state})
    return write_archive(
        path, sys.modules["checklist.test_suite"].TestSuite(tests=OrderedDict(a=test))
    )


@pytest.mark.parametrize("key", ["data", "capability", "labels"])
def test_lists_that_share_their_parts_are_refused_at_once(tmp_path, monkeypatch, key):
    shared = ["x"]
    for _ in range(60):
        shared = [shared, shared]
    path = hostile(tmp_path / "a.tar.gz", monkeypatch, **{key: shared})
    with pytest.raises(
        ValueError, match=r"they repeat one another|with texts as name and capability"
    ):
        read_pickled_suite(
            path,
            name="checklist_sentiment",
            text_columns=("text",),
            make_functionality=make_released,
        )


@pytest.mark.parametrize("label", [float("inf"), 10**40, {}])
def test_labels_of_a_pickle(tmp_path, monkeypatch, label):
    path = hostile(tmp_path / "a.tar.gz", monkeypatch, labels=label)
    with pytest.raises((TypeError, ValueError), match="Expected (labels|a test of CheckList)"):
        read_pickled_suite(
            path,
            name="checklist_sentiment",
            text_columns=("text",),
            make_functionality=make_released,
        )


def test_without_local_files_the_suite_is_downloaded(tmp_path, monkeypatch):
    asked = []

    def refuse(self, addresses):
        asked.extend(addresses.values())
        raise OSError("no network")

    monkeypatch.setattr(datasets.DownloadManager, "download", refuse)
    monkeypatch.delenv("RIGHTREASONS_DATA_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "checklist_sentiment").mkdir()
    with pytest.raises(
        ConnectionError,
        match="cannot be reached",
    ):
        open_suite("checklist_sentiment")
    assert asked == [CheckListSentiment.forms("default")[0][0].url]


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_damaged_archives_and_files_are_told_in_a_sentence(tmp_path, data):
    kind = data.draw(st.sampled_from(["tar.gz", "jsonl.gz", "jsonl"]))
    if kind == "tar.gz":
        path = write_archive(tmp_path / "sentiment_suite.tar.gz", {"tests": [("a", 1.5)]})
    else:
        path = Suite("mine", ("text",), (functionality(),)).write(tmp_path / f"suite.{kind}")
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(1, len(content))) if data.draw(st.integers(0, 4)) == 0 else 0
    path.write_bytes(bytes(content[cut:]))
    refusal = None
    try:
        if kind == "tar.gz":
            read_pickled_suite(
                path,
                name="checklist_sentiment",
                text_columns=("text",),
                make_functionality=make_released,
            )
        else:
            Suite.read(path)
    except ValueError as error:
        refusal = str(error)
    assert refusal is None or refusal.startswith("Expected")
