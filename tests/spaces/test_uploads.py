"""A small file that holds a large table is refused before it is read."""

import gzip
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rightreasons.io.predictions import read_predictions
from rightreasons.widget.pages import check_upload


def zipped(path, kind, shape, content=b""):
    """Write an .npz whose header says any shape."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("probabilities.npy", "w") as entry:
        np.lib.format.write_array_header_1_0(entry, {"descr": kind, "fortran_order": False, "shape": shape})
        entry.write(content)


def zeros(stream):
    for _ in range(201):
        stream.write(bytes(1_000_000))


def zero_archive(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.npy", "w") as entry:
        zeros(entry)


def packed(path, opened):
    with opened(path, "wb") as stream:
        zeros(stream)


def repeated(path, *, nested):
    # One text of a megabyte is stored once, and comes 5,000 times.
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(5_000, np.int32)), pa.array(["x" * 1_000_000]))
    if nested:
        texts = pa.ListArray.from_arrays(pa.array([0, 2_500, 5_000], pa.int32()), texts)
    pq.write_table(pa.table({"text": texts}), path, compression="zstd", store_schema=False)


def long_table(path):
    pq.write_table(pa.table({"label": pa.array(np.zeros(1_000_001, np.int8))}), path, compression="zstd")


def long_list(path):
    rows = pa.ListArray.from_arrays(pa.array([0, 10_000_001], pa.int32()), pa.array(np.zeros(10_000_001, np.int8)))
    pq.write_table(pa.table({"probabilities": rows}), path, compression="zstd")


BOMBS = {
    "zeros.npz": (zero_archive, "at most 200,000,000 bytes once it is unpacked in zeros.npz, but it has 201,000,000"),
    "header.npz": (
        lambda path: zipped(path, "<f8", (10**12, 2)),
        "at most 1,000,000 rows in header.npz, but it has 1,000,000,000,000",
    ),
    # Texts of no letter take no byte.
    "nothing.npz": (lambda path: zipped(path, "<U0", (1_000, 10**9)), "at most 10,000,000 values in nothing.npz"),
    "rows.parquet": (long_table, "at most 1,000,000 rows in rows.parquet, but it has 1,000,001"),
    "list.parquet": (long_list, "at most 10,000,000 values in list.parquet, but it has 10,000,001"),
    "text.parquet": (lambda path: repeated(path, nested=False), "text.parquet, .* at most 200,000,000, but"),
    "texts.parquet": (lambda path: repeated(path, nested=True), "texts.parquet, .* at most 200,000,000, but"),
    "line.jsonl.gz": (lambda path: packed(path, gzip.open), "to hold at most 200,000,000, but it holds more"),
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
def test_a_bomb_is_told_without_its_memory(tmp_path, name):
    write, sentence = BOMBS[name]
    path = tmp_path / name
    write(path)
    pool = pa.default_memory_pool()
    before = pool.bytes_allocated()
    with pytest.raises(ValueError, match=sentence) as raised:
        check_upload(path)
    assert pool.bytes_allocated() - before < 30_000_000
    assert str(tmp_path) not in str(raised.value)


def test_what_is_within_the_limits_passes(tmp_path):
    path = tmp_path / "p.npz"
    np.savez_compressed(path, probabilities=np.full((7, 2), 0.5), labels=np.arange(7) % 2)
    assert check_upload(str(path)) == path
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"probabilities": [[0.25, 0.75]] * 7, "label": ["no", "yes", None] + ["no"] * 4}), path)
    assert check_upload(path) == path
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
    with pytest.raises(ValueError, match=r"Expected plain numpy arrays in a.npz, but it cannot be read as such."):
        read_predictions(tmp_path / "a.npz")
