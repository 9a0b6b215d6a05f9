"""Compressed files mean what they hold, alone and in a folder, within a bound."""

import bz2
import gzip
import json
import lzma
import zipfile

import numpy as np
import pyarrow as pa
import pytest

from rightreasons.io.files import compressed
from rightreasons.io.files.compressed import COMPRESSIONS
from rightreasons.io.predictions import read_predictions
from rightreasons.io.tables import open_dataset, open_questions

TABLE = b'text,label\nNA,up\n007,down\n"a, b",up\n'
TEXTS = ["NA", "007", "a, b"]


def compress(path, content):
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(path.stem, content)
    elif path.suffix == ".zst":
        with pa.output_stream(str(path), compression="zstd") as stream:
            stream.write(content)
    else:
        module = {".gz": gzip, ".bz2": bz2, ".xz": lzma}[path.suffix]
        path.write_bytes(module.compress(content))
    return path


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_a_compressed_file_and_a_folder_of_them_are_read_as_plain_ones(tmp_path, suffix):
    plain_path = tmp_path / "plain.csv"
    plain_path.write_bytes(TABLE)
    path = compress(tmp_path / f"test.csv{suffix}", TABLE)
    assert open_dataset(plain_path)["text"][:] == TEXTS
    assert open_dataset(path)["text"][:] == TEXTS

    folder = tmp_path / "folder"
    folder.mkdir()
    compress(folder / f"train.csv{suffix}", TABLE)
    compress(folder / f"test.jsonl{suffix}", b'{"text": "None", "label": "down"}\n')
    splits = open_dataset(folder)
    assert splits["train"]["text"][:] == TEXTS
    assert splits["test"]["text"][:] == ["None"]
    assert splits["test"]["label"][:] == [0]

    scores = b"p_no,p_yes,label\n0.9,0.1,no\n0.2,0.8,no\n"
    path = compress(tmp_path / f"p.csv{suffix}", scores)
    assert read_predictions(path).references.tolist() == [0, 0]


def test_arrays_json_lines_and_questions_may_be_compressed(tmp_path):
    arrays = tmp_path / "p.npz"
    np.savez(arrays, probs=np.array([[0.75, 0.25]]), labels=np.array([0]))
    path = compress(tmp_path / "p.npz.gz", arrays.read_bytes())
    assert read_predictions(path).predictions.tolist() == [[0.75, 0.25]]

    lines = b'{"text": "a", "label": 1}\n{"text": "b", "label": 0}\n'
    path = compress(tmp_path / "dev.jsonl.gz", lines)
    assert open_dataset(path)["label"][:] == [1, 0]

    question = {"id": "1", "question": "?", "answers": [{"text": "Ann", "answer_start": 0}]}
    article = {"title": "", "paragraphs": [{"context": "Ann.", "qas": [question]}]}
    squad = json.dumps({"data": [article]}).encode()
    path = compress(tmp_path / "squad.json.gz", squad)
    assert open_questions(path)["question"][:] == ["?"]


def test_what_cannot_be_unpacked_is_one_sentence(tmp_path, monkeypatch):
    path = tmp_path / "bad.csv.gz"

    def refuse(content):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="^Expected ") as error:
            open_dataset(path)
        return str(error.value).replace(str(path), "FILE")

    damaged = "Expected a file compressed as .gz, but FILE cannot be unpacked."
    assert refuse(b"text,label\na,b\n") == damaged
    assert refuse(gzip.compress(TABLE)[:-6]) == damaged
    assert refuse(gzip.compress(b"text,label\na,b,c\n")).endswith(
        "in each row of FILE, but row 0 has 3. Set `separator` and `quote` to the characters between and around cells, "
        "and delete the lines above the headings."
    )
    monkeypatch.setattr(compressed, "MIN_ALLOWED_BYTES", 10_000)
    expanding = gzip.compress(b"text\n" + b"a" * 20_000)
    assert "to hold at most 10,000 bytes of data" in refuse(expanding)

    with zipfile.ZipFile(tmp_path / "two.csv.zip", "w") as archive:
        archive.writestr("a.csv", TABLE)
        archive.writestr("b.csv", TABLE)
    with pytest.raises(ValueError, match="a.csv, b.csv"):
        open_dataset(tmp_path / "two.csv.zip")

    compress(tmp_path / "x.doc.gz", b"x")
    with pytest.raises(ValueError, match="compressed: .gz"):
        open_dataset(tmp_path / "x.doc.gz")
