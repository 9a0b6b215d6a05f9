"""Exports of items: what is typed about their questions is used, or refused."""

import pytest

from command_line import run


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        (("--reasons", "--questions", "ways"), ("--reasons", "--questions")),
        (("--hints", "metadata"), ("--reasons", "--hints")),
        (("--style", "letters", "--questions", "ways"), ("--reasons", "--style")),
        (("--style", "letters", "--to", "lighteval"), ("--reasons", "--style")),
    ],
)
def test_an_option_that_an_export_would_ignore_is_refused(words, flags, tmp_path, capsys):
    done = run(capsys, "data", "export", "items.jsonl", *words, "--out", tmp_path / "task")

    assert done.code == 2
    for flag in flags:
        assert flag in done.err
    assert not (tmp_path / "task").exists()
