"""Files that are put into a folder together, and a folder that one command works in."""

import pytest

from rightreasons.core.store import replace_files_on_success


def test_an_error_leaves_the_folder_as_it_was(tmp_path):
    def write_half():
        with replace_files_on_success(tmp_path / "new") as new:
            (new / "a.txt").write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_half()
    assert not (tmp_path / "new").exists()
