"""Results on disk are whole, locked while they are written, and set aside if they are damaged."""

import errno
import json
import os
import shutil
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pytest

from rightreasons.core import store
from rightreasons.core.errors import OptionError, SetAsideWarning
from rightreasons.core.store import (
    MANIFEST,
    SET_ASIDE,
    Records,
    check_file,
    check_folder,
    digest_arrays,
    digest_files,
    digest_package_code,
    digest_value,
    get_installed_version,
    get_results_subfolder,
    get_trial_file,
    is_sealed,
    list_changed_files,
    list_files,
    lock_folder,
    read_record,
    remove_stale_parts,
    replace_files_on_success,
    seal,
    set_aside,
    write_atomically,
    write_bytes,
    write_json,
    write_record,
    write_text,
)


def find_dead_process():
    """Return the id of a process that has just ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


# ---------------------------------------------------------------- The code


def test_the_digest_of_the_code_depends_on_files_and_libraries(tmp_path, monkeypatch):
    digest_again = digest_package_code.__wrapped__
    assert digest_again() == digest_again()

    core = tmp_path / "package" / "core"
    core.mkdir(parents=True)
    monkeypatch.setattr(store, "__file__", str(core / "store.py"))
    shutil.copy(Path(__file__), core / "module.py")
    digests = [digest_again()]
    (core / "module.py").write_text("x = 1")
    digests.append(digest_again())
    (core / "module.py").rename(core / "other.py")
    digests.append(digest_again())
    (tmp_path / "package" / "template.j2").write_text("{{ x }}")
    digests.append(digest_again())
    monkeypatch.setattr(store, "version", lambda name: "another")
    digests.append(digest_again())

    def raise_not_found(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(store, "version", raise_not_found)
    digests.append(digest_again())

    assert len(set(digests)) == 6
    # Files of other kinds, such as caches, do not count, and neither do those of other packages.
    (core / "module.pyc").write_bytes(b"x")
    (tmp_path / "other.py").write_text("x = 1")
    assert digest_again() == digests[-1]


def test_a_package_that_is_not_installed_has_no_version():
    assert get_installed_version("numpy") == np.__version__
    assert get_installed_version("no-such-package") is None


# ---------------------------------------------------------------- Checking where a result will go


@pytest.mark.parametrize("path", [5, None, ["out"]])
def test_a_folder_is_a_path(path):
    with pytest.raises(TypeError, match="`to`"):
        check_folder(path, "to")


@pytest.mark.parametrize("path", ["", " ", "a\0b", b"out"])
@pytest.mark.parametrize("check", [check_folder, check_file])
def test_an_empty_path_is_refused(check, path):
    with pytest.raises((OptionError, TypeError), match="`to`"):
        check(path, "to")


def test_a_new_folder_is_not_created(tmp_path):
    folder = tmp_path / "a" / "b"

    assert check_folder(str(folder)) == folder
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_not_a_folder_and_a_folder_is_not_a_file(tmp_path):
    file = tmp_path / "file"
    file.write_text("x")

    for path in (file, file / "below"):
        with pytest.raises(OptionError, match="is a file") as caught:
            check_folder(path, "to")
        assert caught.value.option == ("to",)
    with pytest.raises(OptionError, match="is a folder") as caught:
        check_file(tmp_path, "to")
    assert caught.value.option == ("to",)
    assert check_file(file) == file
    assert file.read_text() == "x"


def test_a_folder_that_cannot_be_written_is_refused(monkeypatch, tmp_path):
    def refuse(**options):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(store.tempfile, "TemporaryFile", refuse)

    with pytest.raises(OptionError, match="read-only file system") as caught:
        check_folder(tmp_path, "to")
    assert caught.value.option == ("to",)


def test_a_folder_with_other_content_than_a_result_is_refused(tmp_path):
    own_names = ("audit.json", "index.html")
    (tmp_path / "index.html").write_text("")
    (tmp_path / ".hidden").write_text("")
    assert check_folder(tmp_path, own=own_names) == tmp_path

    for name in "abcde":
        (tmp_path / name).write_text("")
    with pytest.raises(OptionError, match="earlier result") as caught:
        check_folder(tmp_path, own=own_names)
    assert str(caught.value).endswith("holds a, b, c, d, e.")
    (tmp_path / "f").write_text("")
    with pytest.raises(OptionError, match="a, b, c, d, e, …"):
        check_folder(tmp_path, own=own_names)

    # The first name identifies a result, beside which a user may keep notes.
    (tmp_path / "audit.json").write_text("{}")
    assert check_folder(tmp_path, own=own_names) == tmp_path
    assert check_folder(tmp_path / "new", own=own_names) == tmp_path / "new"


# ---------------------------------------------------------------- Writing


def test_an_error_leaves_the_file_as_it_was(tmp_path):
    file = write_text(tmp_path / "sub" / "a.txt", "old")

    def fail(path):
        path.write_text("half")
        raise KeyError("stop")

    with pytest.raises(KeyError):
        write_atomically(file, fail)

    assert file.read_text() == "old"
    assert [path.name for path in file.parent.iterdir()] == ["a.txt"]


def test_a_file_may_have_a_long_name(tmp_path):
    # Of 255 characters that file systems allow, the part needs its process, its computer and dots.
    name = "x" * 225

    write_text(tmp_path / name, "x")

    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_computers_of_other_names_have_other_digests(monkeypatch):
    digests = set()
    for name in ("a", "b", "x" * 200):
        monkeypatch.setattr(store.socket, "gethostname", lambda name=name: name)
        digests.add(store._digest_host.__wrapped__())

    assert len(digests) == 3
    assert {len(digest) for digest in digests} == {8}


@pytest.mark.parametrize("named", [False, True])
def test_a_full_disk_names_the_file_and_not_its_part(tmp_path, named):
    def fail(path):
        raise OSError(errno.ENOSPC, "No space left on device", *([str(path)] if named else []))

    with pytest.raises(OSError, match="No space left") as caught:
        write_atomically(tmp_path / "a.txt", fail)

    assert caught.value.filename == str(tmp_path / "a.txt")


def test_an_error_about_another_file_keeps_its_name(tmp_path):
    def fail(path):
        raise PermissionError(errno.EACCES, "Denied", "/other")

    with pytest.raises(PermissionError) as caught:
        write_atomically(tmp_path / "a.txt", fail)

    assert caught.value.filename == "/other"


def test_an_error_without_a_code_stays_as_it_is(tmp_path):
    def fail(path):
        raise OSError("broken")

    with pytest.raises(OSError, match="broken") as caught:
        write_atomically(tmp_path / "a.txt", fail)

    assert caught.value.filename is None


def test_what_utf_8_cannot_hold_becomes_a_question_mark(tmp_path):
    assert write_text(tmp_path / "a.txt", "a\ud800é").read_bytes() == "a?é".encode()


def test_json_has_no_nan(tmp_path):
    assert write_json(tmp_path / "a.json", {"é": 1}).read_text("utf-8") == '{\n "é": 1\n}\n'
    with pytest.raises(ValueError, match="Out of range"):
        write_json(tmp_path / "a.json", float("nan"))


KILLED = """
import os, signal, sys
from pathlib import Path
from rightreasons.core.store import Records
def kill(path):
    path.write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
from rightreasons.core import store
records = Records(sys.argv[1], {"seed": 0})
store.write_atomically(records.folder / "chunk-000000000.npz", kill)
"""


def test_what_a_killed_run_left_half_written_is_swept_when_the_folder_is_opened(tmp_path):
    folder = tmp_path / "run"
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder)], check=False)
    assert done.returncode == -9
    assert len(list(folder.glob(".chunk-*.part"))) == 1

    Records(folder, {"seed": 0})

    assert list(folder.glob(".*.part")) == []
    assert store._list_visible_files(folder) == [MANIFEST]


def test_only_parts_of_dead_processes_of_this_computer_are_swept(tmp_path, monkeypatch):
    here = "0123abcd"
    monkeypatch.setattr(store, "_digest_host", lambda: here)
    dead = find_dead_process()
    swept = [f".a.npz.{dead}@{here}.part", f".a.npz.{dead}.part", f".b.{dead}@{here}.part"]
    kept = [
        f".a.npz.{os.getpid()}@{here}.part",
        f".a.npz.{os.getppid()}.part",
        f".a.npz.{dead}@ffffffff.part",
        f"a.npz.{dead}@{here}.part",
        ".a.npz.part",
        ".a.npz.x1.part",
    ]
    for name in (*swept, *kept):
        (tmp_path / name).write_bytes(b"")

    remove_stale_parts(tmp_path)
    remove_stale_parts(tmp_path / "missing")

    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(kept)


def test_a_process_of_another_user_is_alive(monkeypatch, tmp_path):
    def refuse(pid, number):
        assert number == 0
        raise PermissionError(errno.EPERM, "no")

    monkeypatch.setattr(store.os, "kill", refuse)
    part = tmp_path / ".a.1.part"
    part.write_bytes(b"")

    remove_stale_parts(tmp_path)

    assert part.exists()


def test_where_processes_cannot_be_asked_they_count_as_alive(monkeypatch, tmp_path):
    part = tmp_path / f".a.{find_dead_process()}.part"
    part.write_bytes(b"")
    monkeypatch.setattr(store.os, "name", "nt")

    assert store._is_process_alive(find_dead_process())


# ---------------------------------------------------------------- Locks and staging


def test_a_locked_folder_is_free_again_after_an_error(tmp_path):
    def fail():
        with lock_folder(tmp_path, "writing to it"):
            with (
                pytest.raises(ValueError, match="is reading it"),
                lock_folder(tmp_path, "reading it"),
            ):
                pytest.fail("it is locked")
            raise KeyError

    with pytest.raises(KeyError):
        fail()

    with lock_folder(tmp_path, "writing to it"):
        pass


def test_a_lock_does_not_wait(tmp_path):
    with lock_folder(tmp_path, "writing to it"):
        start = time.monotonic()
        with pytest.raises(ValueError, match="another command"), lock_folder(tmp_path, "x"):
            pytest.fail("it is locked")
        assert time.monotonic() - start < 5


@pytest.mark.parametrize("error", [OSError("read-only"), NotImplementedError()])
def test_a_file_system_without_locks_does_not_hinder(monkeypatch, tmp_path, error):
    import filelock

    def refuse(self, **options):
        raise error

    monkeypatch.setattr(filelock.FileLock, "acquire", refuse)

    with lock_folder(tmp_path, "writing to it"):
        (tmp_path / "a.txt").write_text("x")


def list_all(folder):
    """Return the files below a folder with their texts, without the lock."""
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != store.LEASE:
            files[path.relative_to(folder).as_posix()] = path.read_text()
    return files


def test_new_files_replace_old_ones_together(tmp_path):
    write_text(tmp_path / "audit.json", "old")
    write_text(tmp_path / "outdated.txt", "old")
    write_text(tmp_path / "notes.txt", "mine")

    with replace_files_on_success(tmp_path, lambda: ["outdated.txt", "audit.json", "no"]) as new:
        assert list(new.iterdir()) == []
        write_text(new / "audit.json", "new")
        write_text(new / "sub" / "figure.svg", "new")
        assert list_all(tmp_path)["audit.json"] == "old"

    assert list_all(tmp_path) == {
        "audit.json": "new",
        "notes.txt": "mine",
        "sub/figure.svg": "new",
    }


def test_the_file_with_the_digests_is_moved_last(tmp_path, monkeypatch):
    moved = []
    replace = Path.replace

    def record(self, target):
        moved.append(target.name)
        return replace(self, target)

    with replace_files_on_success(tmp_path / "out") as new:
        for name in ("audit.json", "index.html", "items.csv"):
            (new / name).write_text("x")
        monkeypatch.setattr(Path, "replace", record)

    assert moved == ["items.csv", "index.html", "audit.json"]


@pytest.mark.parametrize("existed", [False, True])
def test_an_error_leaves_the_folder_as_it_was(tmp_path, existed):
    folder = tmp_path / "a" / "b"
    if existed:
        write_text(folder / "audit.json", "old")

    def fail():
        with replace_files_on_success(folder, lambda: ["audit.json"]) as new:
            write_text(new / "audit.json", "new")
            raise KeyError

    with pytest.raises(KeyError):
        fail()

    assert folder.exists() == existed
    assert list_all(tmp_path) == ({"a/b/audit.json": "old"} if existed else {})


def test_cleaning_up_does_not_hide_the_error(tmp_path):
    def fail():
        with replace_files_on_success(tmp_path / "out") as new:
            shutil.rmtree(new)
            raise KeyError

    with pytest.raises(KeyError):
        fail()

    assert not (tmp_path / "out").exists()


def test_an_empty_folder_that_existed_is_kept_after_an_error(tmp_path):
    with pytest.raises(KeyError), replace_files_on_success(tmp_path):
        raise KeyError

    assert tmp_path.exists()


def test_what_a_killed_command_staged_is_not_used(tmp_path):
    write_text(tmp_path / store.STAGING_DIR / "stale.txt", "stale")

    with replace_files_on_success(tmp_path) as new:
        write_text(new / "a.txt", "new")

    assert list_all(tmp_path) == {"a.txt": "new"}


def test_a_subfolder_is_only_named_if_results_are_stored(tmp_path):
    assert get_results_subfolder(None, "a") is None
    assert get_results_subfolder(str(tmp_path), "a") == tmp_path / "a"


# ---------------------------------------------------------------- Records


@pytest.fixture
def records(tmp_path):
    records = Records(tmp_path / "run", {"model": "m", "ks": (1, 2)})
    records.write_json("value.json", {"a": [1, None]})
    records.write_arrays(
        "arrays.npz", {"x": np.arange(3), "day": np.array(["2020-01-01"], "M8[D]")}
    )
    return records


def test_a_run_finds_its_records_again(records, recwarn):
    again = Records(records.folder, {"model": "m", "ks": [1, 2]})

    assert again.read_json("value.json") == {"a": [1, None]}
    arrays = again.read_arrays("arrays.npz")
    assert arrays["x"].tolist() == [0, 1, 2]
    assert arrays["day"].astype(str).tolist() == ["2020-01-01"]
    assert again.read_json("missing.json") is None
    assert again.read_arrays("missing.npz") is None
    assert Records.open(records.folder).run == records.run
    assert not recwarn.list


def test_the_records_of_another_run_are_set_aside(records):
    with pytest.warns(SetAsideWarning, match="differs in ks and seed"):
        other = Records(records.folder, {"model": "m", "ks": [1], "seed": 0})

    assert other.read_json("value.json") is None
    folder = records.folder / SET_ASIDE / records.digest[:16]
    assert sorted(path.name for path in folder.iterdir()) == [
        "arrays.npz",
        MANIFEST,
        "value.json",
    ]
    # The first run comes back, and so its name is taken.
    with pytest.warns(SetAsideWarning):
        Records(records.folder, records.run)
    with pytest.warns(SetAsideWarning):
        Records(records.folder, other.run)
    assert (folder / f"{MANIFEST}.2").exists()


def test_the_manifest_is_set_aside_last(records, monkeypatch):
    moved = []
    rename = Path.rename

    def record(self, target):
        moved.append(self.name)
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", record)
    with pytest.warns(SetAsideWarning):
        Records(records.folder, {"model": "other"})

    assert moved == ["arrays.npz", "value.json", MANIFEST]


@pytest.mark.parametrize(
    "damage", ["{", '{"record": {}}', "[" * 100_000, '{"record": 5, "value": 1}']
)
@pytest.mark.parametrize("name", ["value.json", MANIFEST])
def test_a_damaged_record_is_set_aside_next_to_it(records, name, damage):
    (records.folder / name).write_text(damage)

    def read_again():
        again = Records(records.folder, records.run)
        return again, again.read_json("value.json")

    with pytest.warns(SetAsideWarning, match="computed again"):
        again, value = read_again()

    assert (records.folder / SET_ASIDE / name).read_text() == damage
    # Without its manifest a record still says what it depends on.
    assert value == (None if name == "value.json" else {"a": [1, None]})
    assert again.read_arrays("arrays.npz") is not None


def test_damaged_arrays_are_set_aside_next_to_them(records):
    (records.folder / "arrays.npz").write_bytes(b"PK junk")

    with pytest.warns(SetAsideWarning, match="computed again"):
        assert records.read_arrays("arrays.npz") is None

    assert (records.folder / SET_ASIDE / "arrays.npz").read_bytes() == b"PK junk"


def test_arrays_of_other_inputs_are_set_aside(records):
    other = Records(records.folder.parent / "other", {"model": "n"})
    shutil.copy(other.folder.parent / "run" / "arrays.npz", other.folder)

    with pytest.warns(SetAsideWarning):
        assert other.read_arrays("arrays.npz") is None


def test_arrays_that_may_not_be_read_are_an_error(records, monkeypatch):
    def refuse(*arguments, allow_pickle):
        assert not allow_pickle
        raise PermissionError(errno.EACCES, "Denied")

    monkeypatch.setattr(store.np, "load", refuse)

    with pytest.raises(PermissionError):
        records.read_arrays("arrays.npz")
    assert (records.folder / "arrays.npz").exists()


@pytest.mark.parametrize("key", ["version", "inputs", "content"])
def test_a_record_must_match_its_header(tmp_path, key):
    path = tmp_path / "a.json"
    write_record(path, 5, "inputs")
    assert read_record(path, "inputs") == 5
    record = json.loads(path.read_text())
    record["record"][key] = 1
    path.write_text(json.dumps(record))

    with pytest.warns(SetAsideWarning):
        assert read_record(path, "inputs") is None

    assert not path.exists()
    assert read_record(path, "inputs") is None


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "model.bin").write_text("x")

    with pytest.raises(OptionError, match="other files") as caught:
        Records(tmp_path, {})
    assert caught.value.option == ("out",)
    with pytest.raises(OptionError, match="is a file") as caught:
        Records(tmp_path / "model.bin", {})
    assert caught.value.option == ("out",)
    with pytest.raises(ValueError, match="earlier run"):
        Records.open(tmp_path)


def test_a_folder_in_which_another_command_works_is_refused(records):
    with lock_folder(records.folder, "x"), pytest.raises(ValueError, match="another command"):
        Records(records.folder, {"model": "other"})


def test_a_sealed_folder_is_set_aside_once_a_file_changes(tmp_path):
    folder = tmp_path / "model"
    write_text(folder / "a.txt", "a")
    assert not is_sealed(tmp_path / "missing", "inputs")
    seal(folder, "inputs")
    write_text(folder / ".cache", "x")
    assert is_sealed(folder, "inputs")

    write_text(folder / "a.txt", "b")
    with pytest.warns(SetAsideWarning):
        assert not is_sealed(folder, "inputs")
    assert not folder.exists()
    assert (tmp_path / SET_ASIDE / "model" / "a.txt").read_text() == "b"


def test_a_folder_sealed_for_other_inputs_is_set_aside(tmp_path):
    folder = tmp_path / "model"
    write_text(folder / "a.txt", "a")
    seal(folder, "inputs")

    with pytest.warns(SetAsideWarning):
        assert not is_sealed(folder, "others")


def test_what_is_set_aside_twice_is_kept_twice(tmp_path):
    for content in ("first", "second", "third"):
        write_text(tmp_path / "a.txt", content)
        with pytest.warns(SetAsideWarning):
            set_aside(tmp_path / "a.txt")

    kept = {path.name: path.read_text() for path in (tmp_path / SET_ASIDE).iterdir()}
    assert kept == {"a.txt": "first", "a.txt.2": "second", "a.txt.3": "third"}


def test_what_another_process_set_aside_is_no_error(tmp_path, recwarn):
    set_aside(tmp_path / "missing.txt")

    assert not recwarn.list


def test_trials_are_cached_below_the_home_or_the_given_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv(store.CACHE_VARIABLE, raising=False)
    name = f"{digest_value(['m'])}.json"
    assert get_trial_file(["m"]) == tmp_path / ".cache" / "rightreasons" / "trials" / name

    monkeypatch.setenv(store.CACHE_VARIABLE, str(tmp_path / "cache"))
    assert get_trial_file(["m"]) == tmp_path / "cache" / "trials" / name
    monkeypatch.setenv(store.CACHE_VARIABLE, "")
    assert get_trial_file(["m"]) is None


# ---------------------------------------------------------------- Digests


def test_the_digest_of_a_value_does_not_depend_on_the_order_of_its_keys():
    value = {"model": "m", "options": {"n_bins": 15, "seed": 0}}
    reordered = {"options": {"seed": 0, "n_bins": 15}, "model": "m"}

    assert list(value) != list(reordered)
    assert digest_value(value) == digest_value(reordered)
    assert digest_value(value) != digest_value({**value, "model": "n"})
    assert len(digest_value(value)) == 32


def test_the_digest_of_arrays_depends_on_names_types_shapes_and_values():
    arrays = {"a": np.zeros((2, 3), np.int32), "b": np.array(["2020-01-01"], "M8[D]")}
    variants = [
        arrays,
        {"c": arrays["a"], "b": arrays["b"]},
        {**arrays, "a": arrays["a"].astype(np.float32)},
        {**arrays, "a": arrays["a"].T},
        {**arrays, "a": arrays["a"] + 1},
        {**arrays, "b": arrays["b"] + 1},
        {**arrays, "b": arrays["b"].astype("M8[s]")},
        {**arrays, "b": arrays["b"] - arrays["b"]},
    ]

    assert len({digest_arrays(variant) for variant in variants}) == len(variants)
    assert digest_arrays(dict(reversed(arrays.items()))) == digest_arrays(arrays)
    assert digest_arrays({"a": arrays["a"].T}) == digest_arrays({"a": arrays["a"].T.copy()})
    assert len(digest_arrays(arrays)) == 32


def test_hidden_files_have_no_digest(tmp_path):
    for name in ("b.txt", "sub/a.txt", ".hidden", ".git/config", "sub/.x/y"):
        write_text(tmp_path / name, name)

    assert list_files(tmp_path) == ["b.txt", "sub/a.txt"]
    digests = digest_files(tmp_path)
    assert list(digests) == ["b.txt", "sub/a.txt"]
    assert digest_files(tmp_path, ["sub/a.txt"]) == {"sub/a.txt": digests["sub/a.txt"]}


def test_missing_and_changed_files_are_listed(tmp_path):
    # More than the megabyte that is read at once.
    write_bytes(tmp_path / "large", bytes(3 << 20))
    for name in ("a", "b"):
        write_text(tmp_path / name, name)
    digests = digest_files(tmp_path)
    assert list_changed_files(tmp_path, digests) == []

    write_bytes(tmp_path / "large", bytes(3 << 20)[:-1] + b"x")
    (tmp_path / "a").unlink()

    assert list_changed_files(tmp_path, digests) == ["a", "large"]
