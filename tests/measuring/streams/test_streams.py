"""Data beyond memory gives the figures of the whole, whatever the files, the batches and the engine."""

import json

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command_line import run
from rightreasons.analysis.calibration.errors import CalibrationBins, calibration_error
from rightreasons.analysis.cues.statistics import CueCounts
from rightreasons.analysis.shortcuts.lmi import LmiCounts
from rightreasons.data.opening.streams.batches import open_stream
from rightreasons.foundations.engines.options import EngineOptions
from rightreasons.measuring.streams.counting import calibrate_stream, count_cues, count_words, predict_stream
from rightreasons.models.loading import load_classifier
from rightreasons.models.scoring.classes import predict

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


def test_files_are_one_table(reviews):
    stream = open_stream(reviews, batch_size=2, text_column="review")
    batches = list(stream)
    assert [len(batch) for batch in batches] == [2, 2, 1, 1]
    assert len(stream) == 6
    assert stream.label_names == ("down", "middling", "up")
    assert [row for batch in batches for row in batch["id"][:]] == [str(row) for row in range(6)]
    assert [row for batch in batches for row in batch["label"][:]] == [2, 2, 0, 2, 0, 1]
    assert batches[0].column_names == ["id", "text", "label"]


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


def test_csv_and_json_lines_and_streams(tmp_path):
    rows = datasets.Dataset.from_dict({"text": TEXTS, "label": LABELS})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    rows.to_json(tmp_path / "rows.jsonl")
    whole = counted(TEXTS, [2, 2, 0, 2, 0, 1])
    for source in (tmp_path / "rows.csv", tmp_path / "rows.jsonl", rows.to_iterable_dataset()):
        assert count_words(source, batch_size=4, progress=False).tokens == whole.tokens


@pytest.mark.parametrize(
    ("first", "second", "names", "values"),
    [
        ([0, 1], [1.0, -1.0], ("0", "1"), [0, 1, 1, -1]),
        ([None, None], ["pos", "neg"], ("neg", "pos"), [-1, -1, 1, 0]),
        ([0, 1], ["pos", "neg"], "int64 and string", None),
        ([0, 1], [True, False], "int64 and bool", None),
    ],
)
def test_labels_of_several_types(tmp_path, first, second, names, values):
    for number, labels in enumerate((first, second)):
        lines = [json.dumps({"text": "Fine.", "label": label}) for label in labels]
        (tmp_path / f"{number}.jsonl").write_text("\n".join(lines))
    if values is None:
        with pytest.raises(ValueError, match=f"labels of one type in the column 'label' .* but they are {names}"):
            open_stream(tmp_path)
        return
    stream = open_stream(tmp_path)
    assert stream.label_names == names
    assert [row for batch in stream for row in batch["label"][:]] == values


def test_cues_counted_by_file(tmp_path):
    choices = [["the cat", "a dog"], ["a cat", "the dog"], ["the end", "a start", "no"]]
    for number, row in enumerate(choices):
        table = pa.table({"prompt": ["Why?"], "choices": [row], "label": [number % 2]})
        pq.write_table(table, tmp_path / f"{number}.parquet")
    counts = count_cues(tmp_path, features=("unigram", "length"), first_label=0, progress=False)
    whole = CueCounts(("unigram", "length")).update(choices, [0, 1, 0])
    assert counts.result().to_dict() == whole.result().to_dict()


def test_predictions_and_their_calibration(classifier_folder, reviews, tmp_path):
    classifier = load_classifier(str(classifier_folder))
    n_classes = len(classifier.label_names)
    rows = {"text": TEXTS, "label": [number % n_classes for number in range(6)]}
    stream = open_stream(datasets.Dataset.from_dict(rows).to_iterable_dataset(), batch_size=4, first_label=0)
    options = {"out": tmp_path / "scores", "progress": False}
    scores = list(predict_stream(classifier, stream, **options))
    whole = predict(classifier, TEXTS, labels=rows["label"], progress=False)
    np.testing.assert_allclose(np.concatenate([part.logits for part in scores]), whole.logits, atol=1e-6)
    bins = calibrate_stream(classifier, stream, bins=CalibrationBins(n_bins=5, scores="logits"), **options)
    expected = calibration_error(whole.logits, rows["label"], n_bins=5, scores="logits")
    assert bins.result().ece == pytest.approx(expected.ece, abs=1e-6)


def test_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="none at"):
        open_stream(tmp_path / "nothing")
    with pytest.raises(TypeError, match="to stream, but got list"):
        open_stream([{"text": "a"}])
    (tmp_path / "train.csv").write_text("text,label\nGood.,up\n")
    (tmp_path / "test.csv").write_text("text,label\nBad.,down\n")
    with pytest.raises(ValueError, match="one of train, test"):
        open_stream(tmp_path)
    (tmp_path / "train.csv").write_text("text,label\nGood.,up\n,down\n")
    with pytest.raises(ValueError, match="row 1 is empty"):
        list(open_stream(tmp_path, split="train"))


def test_commands(reviews, tmp_path, capsys):
    pq.write_table(pa.table({"text": TEXTS, "label": LABELS}), tmp_path / "all.parquet")
    code, said, _ = run(capsys, "counts", "words", tmp_path / "all.parquet", "--top", 2, "--out", tmp_path / "out.json")
    assert code == 0
    assert "6 texts" in said
    assert (tmp_path / "out.json").is_file()
