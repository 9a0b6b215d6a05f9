"""The counts of public releases in the documents are those of benchmarks/releases.yaml, and a misreading is seen."""

import importlib
import json

import pytest


@pytest.fixture(scope="module")
def zoo(root):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(root / "benchmarks")
        yield importlib.import_module("releases")


def test_the_pages_say_what_the_list_says(zoo, root):
    read_block = importlib.import_module("blocks").read_block
    assert read_block(zoo.PAGE, "releases") == zoo.format_block(zoo.load_releases())
    assert read_block(zoo.DATA_PAGE, "releases") == zoo.format_summary(zoo.load_releases())


def test_every_release_is_told_whole(zoo):
    for one in zoo.load_releases():
        assert len(one.commit) == 40
        assert (one.refused is None) == (one.rows is not None)
        assert one.refused is None or one.refused.startswith("Expected ")
        if isinstance(one.labels, dict) and "drop_empty" not in (one.yaml or {}):
            assert sum(one.labels.values()) <= one.rows


def test_a_misreading_is_seen(zoo, tmp_path):
    (tmp_path / "o/n").mkdir(parents=True)
    rows = [{"text": "a", "label": "x"}, {"text": "b", "label": "y"}, {"text": "c", "label": "y"}]
    (tmp_path / "o/n/a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    release = zoo.Release("o/n", "0" * 40, "a.jsonl", "three", rows=3, labels={"x": 1, "y": 2})

    def outcome(**changed):
        return zoo.find_outcome(zoo.dataclasses.replace(release, **changed), tmp_path)[0]

    assert outcome() == zoo.RELEASED
    assert outcome(rows=2) == outcome(labels={"x": 2, "y": 1}) == zoo.WRONG
    assert outcome(labels=None, accuracy=0.5) == zoo.WRONG
    rows = [{"said": row["text"], "is": row["label"]} for row in rows]
    (tmp_path / "o/n/a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert outcome(yaml={"text_column": "said", "label_column": "is"}) == zoo.WITH_YAML
    assert outcome(rows=None, labels=None, refused="Expected") == zoo.REFUSED
