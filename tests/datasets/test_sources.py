"""Declared files, and archives that nobody vouches for."""

import hashlib
import io
import tarfile
import zipfile

import pytest

from rightreasons.datasets.sources import Source, read_members

CONTENT = b"one\ntwo\n"


def declared(**changes):
    values = {"size": len(CONTENT), "sha256": hashlib.sha256(CONTENT).hexdigest(), **changes}
    return Source(
        "a.txt", "https://example.org/a.txt", license="MIT", citation="Maker (1999)", **values
    )


def test_a_faithful_copy_passes(tmp_path):
    (tmp_path / "a.txt").write_bytes(CONTENT)
    assert declared().verify(tmp_path / "a.txt") == declared().sha256


def test_another_copy_is_refused_with_what_was_expected_and_found_or_admitted(tmp_path):
    (tmp_path / "a.txt").write_bytes(CONTENT + b"three\n")
    with pytest.raises(ValueError, match=r"sha256 \w{64}"):
        declared().verify(tmp_path / "a.txt")
    found = hashlib.sha256(CONTENT + b"three\n").hexdigest()
    assert declared().verify(tmp_path / "a.txt", other_versions=True) == found
    assert declared(size=None, sha256=None).verify(tmp_path / "a.txt") == found
    with pytest.raises(FileNotFoundError, match=r"published at https://example\.org/a\.txt"):
        declared().verify(tmp_path / "b.txt")


def zipped(path, entries):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return path


def tarred(path, entries, mode="w:gz"):
    with tarfile.open(path, mode) as archive:
        for entry, content in entries:
            info = entry if isinstance(entry, tarfile.TarInfo) else tarfile.TarInfo(entry)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


FILES = [("data/a.txt", b"alpha"), ("data/deep/b.txt", b"beta")]


@pytest.mark.parametrize("kind", ["zip", "tar.gz", "tar.bz2", "tar.xz", "tar"])
def test_every_kind_of_archive(tmp_path, kind):
    path = tmp_path / f"archive.{kind}"
    if kind == "zip":
        zipped(path, [("data/", b""), ("__MACOSX/data/._a.txt", b"shadow"), *FILES])
    else:
        tarred(path, FILES, "w" if kind == "tar" else f"w:{kind.removeprefix('tar.')}")
    assert list(read_members(path)) == FILES


def test_sizes_are_bounded_by_what_comes_out(tmp_path):
    bomb = zipped(tmp_path / "bomb.zip", [("zeros", bytes(1_000_000))])
    assert bomb.stat().st_size < 5_000
    with pytest.raises(ValueError, match="100000 bytes"):
        list(read_members(bomb, max_bytes=100_000))


def test_what_is_no_archive_is_told(tmp_path):
    (tmp_path / "a.zip").write_bytes(b"not an archive")
    with pytest.raises(ValueError, match="Expected a whole zip or tar archive"):
        list(read_members(tmp_path / "a.zip"))
    with pytest.raises(FileNotFoundError, match="No such file"):
        list(read_members(tmp_path / "none.zip"))
