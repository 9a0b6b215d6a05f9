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
    suffix = path.suffix
    if suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(path.stem, content)
    elif suffix == ".zst":
        with pa.output_stream(str(path), compression="zstd") as stream:
            stream.write(content)
    else:
        path.write_bytes({".gz": gzip, ".bz2": bz2, ".xz": lzma}[suffix].compress(content))
    return path


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_a_compressed_file_and_a_folder_of_them_are_read_as_plain_ones(tmp_path, suffix):
    plain = tmp_path / "plain.csv"
    plain.write_bytes(TABLE)
    want = open_dataset(plain)
    file = compress(tmp_path / f"test.csv{suffix}", TABLE)
    assert open_dataset(file)["text"][:] == TEXTS == want["text"][:]
    folder = tmp_path / "folder"
    folder.mkdir()
    compress(folder / f"train.csv{suffix}", TABLE)
    compress(folder / f"test.jsonl{suffix}", b'{"text": "None", "label": "down"}\n')
    splits = open_dataset(folder)
    assert splits["train"]["text"][:] == TEXTS
    assert (splits["test"]["text"][:], splits["test"]["label"][:]) == (["None"], [0])
    predictions = compress(
        tmp_path / f"p.csv{suffix}", b"p_no,p_yes,label\n0.9,0.1,no\n0.2,0.8,no\n"
    )
    assert read_predictions(predictions).references.tolist() == [0, 0]


def test_other_compressed_files(tmp_path):
    np.savez(tmp_path / "p.npz", probs=np.array([[0.75, 0.25]]), labels=np.array([0]))
    file = compress(tmp_path / "p.npz.gz", (tmp_path / "p.npz").read_bytes())
    assert read_predictions(file).predictions.tolist() == [[0.75, 0.25]]
    compress(tmp_path / "dev.jsonl.gz", b'{"text": "a", "label": 1}\n{"text": "b", "label": 0}\n')
    assert open_dataset(tmp_path / "dev.jsonl.gz")["label"][:] == [1, 0]
    paragraph = {
        "context": "Ann.",
        "qas": [{"id": "1", "question": "?", "answers": [{"text": "Ann", "answer_start": 0}]}],
    }
    squad = json.dumps({"data": [{"title": "", "paragraphs": [paragraph]}]}).encode()
    assert open_questions(compress(tmp_path / "squad.json.gz", squad))["question"][:] == ["?"]


def test_what_cannot_be_unpacked_is_one_sentence(tmp_path, monkeypatch):
    file = tmp_path / "bad.csv.gz"

    def refusal(content):
        file.write_bytes(content)
        with pytest.raises(ValueError, match="^Expected ") as caught:
            open_dataset(file)
        return str(caught.value).replace(str(file), "FILE")

    damaged = "Expected a file compressed as .gz, but FILE cannot be unpacked."
    assert refusal(b"text,label\na,b\n") == damaged
    assert refusal(gzip.compress(TABLE)[:-6]) == damaged
    assert refusal(gzip.compress(b"text,label\na,b,c\n")).endswith(
        "in each row of FILE, but row 0 has 3. Set `separator` and `quote` to the characters between and around cells, "
        "and delete the lines above the headings."
    )
    monkeypatch.setattr(compressed, "MIN_ALLOWED_BYTES", 10_000)
    assert "to hold at most 10,000 bytes of data" in refusal(
        gzip.compress(b"text\n" + b"a" * 20_000)
    )
    with zipfile.ZipFile(tmp_path / "two.csv.zip", "w") as archive:
        archive.writestr("a.csv", TABLE)
        archive.writestr("b.csv", TABLE)
    with pytest.raises(ValueError, match="a.csv, b.csv"):
        open_dataset(tmp_path / "two.csv.zip")
    (tmp_path / "x.doc.gz").write_bytes(gzip.compress(b"x"))
    with pytest.raises(ValueError, match="compressed: .gz"):
        open_dataset(tmp_path / "x.doc.gz")
