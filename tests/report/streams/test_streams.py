"""Data beyond memory gives the figures of the whole, whatever the files, the batches and the engine."""

import json

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command_line import run
from rightreasons.core.engines import EngineOptions
from rightreasons.cues.statistics import CueCounts
from rightreasons.report.counts import count_cues, count_words
from rightreasons.shortcuts.mutual_information import LmiCounts

# Unequal files; the first lacks a class, so that a file by itself would number the labels otherwise.
TEXTS = ["A good film.", "Truly good!", "Dull, dull plot.", "Not bad at all", "Bad.", "So, so."]
LABELS = ["up", "up", "down", "up", "down", "middling"]


@pytest.fixture
def reviews(tmp_path):
    folder = tmp_path / "reviews"
    folder.mkdir()
    for number, rows in enumerate((slice(0, 2), slice(2, 5), slice(5, 6))):
        table = pa.table({"review": TEXTS[rows], "label": LABELS[rows]})
        pq.write_table(table, folder / f"part-{number}.parquet")
    return folder


def counted(texts, labels):
    counts = LmiCounts()
    counts.update(texts, labels)
    return counts


@pytest.mark.parametrize("jobs", [None, 2])
def test_words_counted_by_file_are_those_of_all_texts(reviews, tmp_path, jobs):
    options = {"text_column": "review", "out": tmp_path / "kept", "progress": False}
    counts = count_words(reviews, engine=EngineOptions(jobs=jobs), **options)
    whole = counted(TEXTS, [2, 2, 0, 2, 0, 1])
    assert counts.tokens == whole.tokens
    assert counts.documents == whole.documents
    assert counts.result().to_dict() == whole.result().to_dict()


def test_what_is_counted_is_kept(reviews, tmp_path, monkeypatch):
    options = {"text_column": "review", "out": tmp_path / "kept", "progress": False}
    first = count_words(reviews, **options)
    with monkeypatch.context() as patch:
        patch.setattr(LmiCounts, "update", lambda *args: pytest.fail("counted again"))
        assert count_words(reviews, **options).tokens == first.tokens
    pq.write_table(pa.table({"review": ["Fine."], "label": ["up"]}), reviews / "part-2.parquet")
    with pytest.warns(UserWarning, match="differs in files"):
        again = count_words(reviews, **options)
    assert again.documents == {0: 2, 1: 4}  # "middling" is gone: down is 0, up is 1
    assert again.tokens[1]["fine"] == 1


def test_csv_and_json_lines(tmp_path):
    rows = datasets.Dataset.from_dict({"text": TEXTS, "label": LABELS})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    rows.to_json(tmp_path / "rows.jsonl")
    whole = counted(TEXTS, [2, 2, 0, 2, 0, 1])
    for name in ("rows.csv", "rows.jsonl"):
        assert count_words(tmp_path / name, progress=False).tokens == whole.tokens


def test_numbers_keep_their_places_and_do_not_mix_with_words(tmp_path):
    for number, labels in enumerate(([2, 1], [1.0, -1.0])):
        lines = [json.dumps({"text": "Fine.", "label": label}) for label in labels]
        (tmp_path / f"{number}.jsonl").write_text("\n".join(lines))
    assert count_words(tmp_path, progress=False).documents == {1: 2, 2: 1}
    (tmp_path / "2.jsonl").write_text(json.dumps({"text": "Fine.", "label": "pos"}))
    with pytest.raises(ValueError, match="labels of one type in .* but they are 1 and pos"):
        count_words(tmp_path, progress=False)


def test_cues_counted_by_file(tmp_path):
    choices = [["the cat", "a dog"], ["a cat", "the dog"], ["the end", "a start", "no"]]
    for number, row in enumerate(choices):
        table = pa.table({"prompt": ["Why?"], "choices": [row], "label": [number % 2]})
        pq.write_table(table, tmp_path / f"{number}.parquet")
    counts = count_cues(tmp_path, features=("unigram", "length"), first_label=0, progress=False)
    whole = CueCounts(("unigram", "length")).update(choices, [0, 1, 0])
    assert counts.result().to_dict() == whole.result().to_dict()


def test_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="none at"):
        count_words(tmp_path / "nothing")
    (tmp_path / "train.csv").write_text("text,label\nGood.,up\n")
    (tmp_path / "test.csv").write_text("text,label\nBad.,down\n")
    with pytest.raises(ValueError, match="one of train, test"):
        count_words(tmp_path)
    (tmp_path / "train.csv").write_text("text,label\nGood.,up\n,down\n")
    with pytest.raises(ValueError, match="row 1 is empty"):
        count_words(tmp_path, split="train", progress=False)


def test_commands(reviews, tmp_path, capsys):
    pq.write_table(pa.table({"text": TEXTS, "label": LABELS}), tmp_path / "all.parquet")
    code, said, _ = run(capsys, "counts", "words", tmp_path / "all.parquet", "--top", 2, "--out", tmp_path / "out.json")
    assert code == 0
    assert "6 texts" in said
    assert (tmp_path / "out.json").is_file()
