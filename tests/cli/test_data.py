"""`rightreasons data plant`, as a user types it."""

import datasets
import pytest

from command_line import run
from rightreasons.io.tables import open_splits


@pytest.fixture
def reviews(tmp_path):
    """Two splits of reviews under other names, of unequal length."""
    folder = tmp_path / "reviews"
    folder.mkdir()
    rows = [
        f'"A {word} film, number {n}.",{label}'
        for n, (word, label) in enumerate([("fine", "up"), ("dull", "down")] * 4)
    ]
    (folder / "train.csv").write_text("\n".join(["review,verdict", *rows]), "utf-8")
    (folder / "test.csv").write_text("\n".join(["review,verdict", *rows[:5]]), "utf-8")
    return folder


COLUMNS = ("--text-column", "review", "--label-column", "verdict")


def test_planted_data_opens_under_its_names(reviews, tmp_path, capsys):
    code, said, _ = run(capsys, "data", "plant", reviews, *COLUMNS, "--out", tmp_path / "planted", "--kind", "function",
                        "--strength", 1)  # fmt: skip
    assert code == 0
    assert "train: 8 items, 8 with a cue\ntest: 5 items, 5 with a cue\ntest_absent: 5 items, 0 with a cue" in said
    splits = open_splits(str(tmp_path / "planted"))
    assert {name: len(items) for name, items in splits.items()} == {
        "train": 8, "test": 5, "test_absent": 5, "test_flipped": 5
    }  # fmt: skip
    # Labels are in the order of their names: down, up; a cue of strength 1 agrees with all of them, flipped with none.
    assert splits["train"].features["label"].names == ["down", "up"]
    assert splits["train"]["cue_label"][:] == splits["train"]["label"][:]
    assert all(
        cue != label for cue, label in zip(*(splits["test_flipped"][c][:] for c in ("cue_label", "label")), strict=True)
    )
    for text, (token,) in zip(splits["train"]["text"][:], splits["train"]["planted"][:], strict=True):
        assert text[token["start"] : token["end"]] == token["token"] in ("hence", "lest")
    # The card alone says which file is which split.
    hub = datasets.load_dataset(str(tmp_path / "planted"), cache_dir=str(tmp_path / "cache"))
    assert list(hub) == ["train", "test", "test_absent", "test_flipped"]


def test_own_cues(reviews, tmp_path, capsys):
    code, _, _ = run(capsys, "data", "plant", reviews, *COLUMNS, "--out", tmp_path / "own", "--cues", "Tuesday,Friday",
                     "--coverage", "0.5", "--seed", 3)  # fmt: skip
    assert code == 0
    train = open_splits(str(tmp_path / "own"))["train"]
    assert {token["token"] for tokens in train["planted"][:] for token in tokens} <= {"Tuesday", "Friday"}
    assert 0 < sum(cue >= 0 for cue in train["cue_label"]) < 8


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--kind", "colour"), "to be one of 'lexical', 'function'"),
        (("--cues", "film,Friday"), "without the cues film, Friday, but all 8 have one"),
        (("--cues", "Friday"), "for each of the 2 labels, but got Friday"),
        (("--strength", "2"), "to be between 0 and 1, but got 2.0"),
    ],
)
def test_what_cannot_be_planted(reviews, tmp_path, capsys, words, message):
    code, _, told = run(capsys, "data", "plant", reviews, *COLUMNS, "--out", tmp_path / "planted", *words)
    assert code == 2
    assert message in told
    assert not (tmp_path / "planted").exists()


def test_a_folder_that_holds_something(reviews, tmp_path, capsys):
    code, _, told = run(capsys, "data", "plant", reviews, *COLUMNS, "--out", reviews)
    assert (code, "holds something already" in told) == (2, True)
