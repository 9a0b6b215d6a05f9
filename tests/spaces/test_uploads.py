"""A small file that holds a large table is refused before it is read."""

import gzip
import zipfile

import numpy as np
import pytest

from rightreasons.io.predictions import read_predictions
from rightreasons.widget.pages import check_upload


def zipped(path, kind, shape, content=b""):
    """Write an .npz whose header says any shape."""
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("probabilities.npy", "w") as entry,
    ):
        np.lib.format.write_array_header_1_0(
            entry, {"descr": kind, "fortran_order": False, "shape": shape}
        )
        entry.write(content)


def packed(path):
    with gzip.open(path, "wb") as stream:
        for _ in range(201):
            stream.write(bytes(1_000_000))


BOMBS = {
    "line.jsonl.gz": (packed, "to hold at most 200,000,000 bytes of data"),
    "rows.csv": (
        lambda path: path.write_text("label\n" + "1\n" * 1_000_001),
        "at most 1,000,000 rows in rows.csv, but it has 1,000,001",
    ),
    "values.json": (
        lambda path: path.write_text("[" + "0," * 10_000_001 + "0]"),
        "at most 10,000,000 values in values.json, but it has 10,000,001",
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_told(tmp_path, name):
    write, sentence = BOMBS[name]
    path = tmp_path / name
    write(path)
    with pytest.raises(ValueError, match=sentence) as raised:
        check_upload(path)
    assert str(tmp_path) not in str(raised.value)


def test_what_is_within_the_limits_passes(tmp_path):
    # A file at the limit: the heading is no row.
    path = tmp_path / "p.csv"
    path.write_text("label\n" + "1\n" * 1_000_000)
    assert check_upload(path) == path


def test_what_cannot_be_read_is_left_to_its_reader(tmp_path):
    for name in ("a.npz", "a.parquet", "a.eval", "a.csv"):
        (tmp_path / name).write_bytes(b"PK\x03\x04 no such file \xff")
        check_upload(tmp_path / name)


def test_a_header_that_asks_for_more_than_there_is_gets_a_sentence(tmp_path):
    zipped(tmp_path / "a.npz", "<f8", (10**12, 2), b"00")
    with pytest.raises(ValueError, match="numpy arrays"):
        read_predictions(tmp_path / "a.npz")
