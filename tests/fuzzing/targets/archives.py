"""What others released: COPA's XML and archives, CheckList's archives and pickles, folders of data sets."""

import gzip
import io
import pickle
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

import datasets
from hypothesis import strategies as st

from fuzzing.damage import altered, as_json, damaged, values
from fuzzing.judging import Target
from fuzzing.targets.tables import FILES, check_schema, zipped
from rightreasons.datasets.copa import (
    read_balanced_items,
    read_cause_effect_items,
    read_easy_ids,
    read_items,
    read_test_items,
)
from rightreasons.datasets.suites.checklist import make_released
from rightreasons.datasets.suites.pickled_suites import read_pickled_suite
from rightreasons.datasets.suites.pickles import load_plain
from rightreasons.io.tables import open_splits

XML = b"""<?xml version="1.0" encoding="utf-8"?>
<copa-corpus version="1.0">
<item id="1" asks-for="cause" most-plausible-alternative="1">
<p>It was wet.</p><a1>It rained.</a1><a2>No.</a2></item>
<item id="2" asks-for="effect" most-plausible-alternative="2">
<p>He fell.</p><a1>Yes.</a1><a2>He cried.</a2></item>
</copa-corpus>
"""
CSV = b"id,premise,question,choice1,choice2,label\n1,It was wet.,cause,It rained.,No.,0\n"


def tarred(content, member):
    """Write a tar.gz archive of one file."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz", compresslevel=1) as archive:
        entry = tarfile.TarInfo(member)
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


COPA = [
    XML,
    XML.replace(b"utf-8", b"latin-1"),
    CSV,
    zipped(XML, "copa.xml"),
    tarred(XML, "copa.xml"),
    as_json({"easy": [501], "hard": [502]}),
]
READERS = {
    "items": lambda path: read_items(path, "copa.xml"),
    "balanced": read_balanced_items,
    "test": read_test_items,
    "cause-effect": read_cause_effect_items,
    "easy": read_easy_ids,
}


def check_copa(value, folder):
    reader, content = value
    path = folder / "copa"
    path.write_bytes(content)
    try:
        rows = READERS[reader](str(path))
    except (LookupError, TypeError, ValueError, AttributeError, SyntaxError) as error:
        if str(error).startswith("Expected"):
            raise
        # The builder of every data set turns an error of a reader into its own sentence.
        return
    assert all(row["label"] in (0, 1) and row["question"] in ("cause", "effect") for row in rows)


# A pickle in the form of CheckList's: objects by name, with a state.
def suite_pickle(protocol=2):
    """Return a pickle in which classes of CheckList stand, without CheckList."""

    def named(module, name):
        return type(name, (), {"__module__": module})

    import sys
    import types

    modules = {}
    classes = {}
    for qualified in ("checklist.test_suite TestSuite", "checklist.test_types MFT"):
        module, name = qualified.split()
        modules.setdefault(module, types.ModuleType(module))
        classes[name] = named(module, name)
        setattr(modules[module], name, classes[name])
    before = {name: sys.modules.get(name) for name in ("checklist", *modules)}
    sys.modules.update({"checklist": types.ModuleType("checklist"), **modules})
    try:
        test, suite = classes["MFT"](), classes["TestSuite"]()
        test.__dict__.update(
            data=["a", "b"], labels=1, meta=None, capability="Vocabulary", agg_fn=None, name="words"
        )
        suite.__dict__.update(tests={"words": test}, info={}, test_ranges={})
        return pickle.dumps(suite, protocol)
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


PICKLES = [
    suite_pickle(),
    suite_pickle(4),
    pickle.dumps([1, (2, {3: "x"}), 2.5, b"y", None, {1, 2}]),
    pickle.dumps({"a": [1]}, 0),
]
ROW = {
    "name": "words",
    "type": "MFT",
    "capability": "Vocabulary",
    "labels": 1,
    "data": ["a", "b"],
    "meta": None,
    "agg_fn": None,
}


@st.composite
def checklists(draw):
    """An archive of CheckList's, or its JSON lines, with damage inside or outside."""
    kind = draw(st.sampled_from(["inside", "archive", "lines", "values"]))
    if kind == "inside":
        return ".tar.gz", tarred(
            draw(damaged(PICKLES)), draw(st.sampled_from(["a/suite.pkl", "../suite.pkl", "suite"]))
        )
    if kind == "archive":
        return ".tar.gz", draw(damaged([tarred(PICKLES[0], "suite.pkl")]))
    if kind == "lines":
        return ".jsonl.gz", draw(damaged([gzip.compress(as_json(ROW), 1)]))
    return ".jsonl.gz", gzip.compress(as_json(draw(altered([ROW]))), 1)


def check_checklist(value, folder):
    suffix, content = value
    path = folder / f"suite{suffix}"
    path.write_bytes(content)
    read_pickled_suite(
        path, name="suite", text_columns=("text",), make_functionality=make_released
    ).table()


def check_pickle(value, folder):
    load_plain(value)


def saved():
    """Write a data set by `save_to_disk`; return its files."""
    with TemporaryDirectory() as folder:
        rows = datasets.Dataset.from_dict({"text": ["a", "b"], "label": ["x", "y"]})
        datasets.DatasetDict({"train": rows}).save_to_disk(folder)
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(Path(folder).rglob("*"))
            if path.is_file()
        }


SAVED = saved()
CARD = b"---\nconfigs:\n- config_name: one\n  data_files: train.csv\n---\n# Data\n"
NAMES = (
    "train.csv",
    "test.csv",
    "train.jsonl",
    "data.parquet",
    "README.md",
    "state.json",
    "dataset_dict.json",
    "dataset_info.json",
    "a.tar",
    "b.zip",
    "x.txt",
    "validation-00000-of-00001.parquet",
)


@st.composite
def folders(draw):
    """A folder of data files, or one of `save_to_disk`, some of them damaged."""
    if draw(st.booleans()):
        made = dict(SAVED)
        for name in draw(st.lists(st.sampled_from(sorted(SAVED)), max_size=2)):
            made[name] = draw(damaged([SAVED[name]]) | values.map(as_json))
        return made
    made = {}
    for name in draw(st.lists(st.sampled_from(NAMES), max_size=3)):
        suffix = f".{name.rpartition('.')[2]}"
        good = FILES.get(suffix, [CARD, b"{}", tarred(b"x", "y")])
        made[name] = draw(st.sampled_from(good) | damaged(good))
    return made


def check_folder(value, folder):
    for name, content in value.items():
        path = folder / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    for part in open_splits(folder / "data").values():
        check_schema(part)


TARGETS = [
    Target("copa", st.tuples(st.sampled_from(sorted(READERS)), damaged(COPA)), check_copa, 20),
    Target("checklist", checklists(), check_checklist, 10),
    Target("pickles", damaged(PICKLES) | st.binary(max_size=60), check_pickle, 20),
    Target("folders", folders(), check_folder, 5),
]
