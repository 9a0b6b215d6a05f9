"""Declared files, and archives that nobody vouches for."""

import hashlib
import io
import tarfile
import zipfile

import pytest

from rightreasons.datasets.builder import Source, members

CONTENT = b"one\ntwo\n"


def declared(**changes):
    values = {"size": len(CONTENT), "sha256": hashlib.sha256(CONTENT).hexdigest(), **changes}
    return Source("a.txt", "https://example.org/a.txt", license="MIT", citation="Maker (1999)", **values)


def test_a_faithful_copy_passes(tmp_path):
    (tmp_path / "a.txt").write_bytes(CONTENT)
    assert declared().verify(tmp_path / "a.txt") == declared().sha256


def test_another_copy_is_refused_with_what_was_expected_and_found_or_admitted(tmp_path):
    (tmp_path / "a.txt").write_bytes(CONTENT + b"three\n")
    with pytest.raises(ValueError, match=r"of 8 bytes with sha256 \w{64}, but found 14 bytes with sha256 \w{64}"):
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
    assert list(members(path)) == FILES


@pytest.mark.parametrize(
    "name", ["../evil.txt", "/etc/evil.txt", "data/../../evil.txt", "..\\evil.txt", "C:\\evil.txt"]
)
def test_no_path_leaves_the_folder(tmp_path, name):
    for archive in (zipped(tmp_path / "a.zip", [(name, b"x")]), tarred(tmp_path / "a.tar.gz", [(name, b"x")])):
        with pytest.raises(ValueError, match="Expected relative paths inside the archive"):
            list(members(archive))


def test_links_are_refused(tmp_path):
    link = tarfile.TarInfo("link")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc"
    with pytest.raises(ValueError, match="'link' is a link or a device"):
        list(members(tarred(tmp_path / "a.tar.gz", [(link, b"")])))
    entry = zipfile.ZipInfo("link")
    entry.external_attr = 0o120777 << 16
    with pytest.raises(ValueError, match="'link' is a link"):
        list(members(zipped(tmp_path / "a.zip", [(entry, "/etc")])))


def test_sizes_are_bounded_by_what_comes_out(tmp_path):
    bomb = zipped(tmp_path / "bomb.zip", [("zeros", bytes(1_000_000))])
    assert bomb.stat().st_size < 5_000
    with pytest.raises(ValueError, match="to unpack to at most 100000 bytes, but 'zeros' exceeds that"):
        list(members(bomb, max_bytes=100_000))
    with pytest.raises(ValueError, match="at most 2 entries"):
        list(members(zipped(tmp_path / "many.zip", [(str(i), b"") for i in range(3)]), max_members=2))


def test_what_is_no_archive_is_told(tmp_path):
    (tmp_path / "a.zip").write_bytes(b"not an archive")
    with pytest.raises(ValueError, match="Expected a zip or tar archive"):
        list(members(tmp_path / "a.zip"))
    with pytest.raises(FileNotFoundError, match="Expected an archive at"):
        list(members(tmp_path / "none.zip"))
