"""Files that are put into a folder together: what a kill left is finished, and nothing outside is touched."""

import json

import pytest

from rightreasons.core.store import SWAP, finish_swap, swapped_in


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "report"
    (folder / SWAP / "figures").mkdir(parents=True)
    (folder / "old.csv").write_text("old")
    (folder / SWAP / "figures" / "a.png").write_text("new")
    return folder


def test_what_a_kill_left_is_finished(folder):
    (folder / SWAP / ".stale").write_text(json.dumps(["old.csv", "gone.csv"]))
    finish_swap(folder)
    assert sorted(path.name for path in folder.rglob("*")) == ["a.png", "figures"]


@pytest.mark.parametrize("named", ["../mine.txt", "figures/../../mine.txt", "{absolute}", 3, None])
def test_a_folder_from_elsewhere_deletes_nothing_outside_it(folder, tmp_path, named):
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    named = str(mine) if named == "{absolute}" else named
    (folder / SWAP / ".stale").write_text(json.dumps([named]))
    finish_swap(folder)
    assert mine.read_text() == "mine"
    assert (folder / "figures" / "a.png").read_text() == "new"


@pytest.mark.parametrize("text", ['{"a": 1}', "3", "[", "\x00"])
def test_a_damaged_list_of_stale_files_deletes_nothing(folder, text):
    (folder / SWAP / ".stale").write_text(text)
    finish_swap(folder)
    assert (folder / "old.csv").exists()


def test_links_of_a_folder_from_elsewhere_are_not_followed(folder, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.png").write_text("mine")
    (folder / "figures").symlink_to(outside)
    finish_swap(folder)
    assert (outside / "a.png").read_text() == "mine"


def test_an_error_leaves_the_folder_as_it_was(tmp_path):
    def write_half():
        with swapped_in(tmp_path / "new") as new:
            (new / "a.txt").write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_half()
    assert not (tmp_path / "new").exists()
