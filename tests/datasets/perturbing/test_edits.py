"""Words taken out of texts, replaced and put in: spaces, marks, capitals, repeated words."""

import pytest

from rightreasons.datasets.perturbing.edits import delete_words, insert_word


@pytest.mark.parametrize(
    ("text", "spans", "expected"),
    [
        ("who is it", [(0, 3)], "is it"),
        ("it is who", [(6, 9)], "it is"),
        ("is  who it", [(4, 7)], "is  it"),
        ("is it who?", [(6, 9)], "is it?"),
        ("(who) is", [(1, 4)], "() is"),
        ("who", [(0, 3)], ""),
        ("who, who and who", [(0, 3), (5, 8), (13, 16)], ", and"),
        ("rock'n'roll", [(5, 6)], "rock''roll"),
        ("keep all", [], "keep all"),
    ],
)
def test_delete(text, spans, expected):
    assert delete_words(text, spans) == expected


def test_insert():
    assert insert_word("a film", 0, "copper") == "copper a film"
    assert insert_word("a film", 2, "copper") == "a copper film"
