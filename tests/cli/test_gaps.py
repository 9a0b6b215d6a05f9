"""`rightreasons data gaps`, as a user types it."""

import json

import numpy as np
import pytest

from command_line import run
from rightreasons.cues import compare_gaps


@pytest.fixture(scope="module")
def copa(tmp_path_factory):
    """A file of nine items, of which three are Easy, and its rows."""
    rows = []
    for number in range(9):
        rows.append(
            {
                "id": f"i{number}",
                "premise": f"The rain fell on day {number}.",
                "question": "effect",
                "choice1": f"The street was wet {number}.",
                "choice2": f"The sun rose {number}.",
                "label": number % 3 % 2,
                "easy": number % 3 == 0,
            }
        )
    file = tmp_path_factory.mktemp("copa") / "items.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return file, rows


@pytest.fixture
def runs(copa, tmp_path):
    """Two runs that are correct on Easy items, one as scores, and a run with a single error."""
    _, rows = copa
    labels = np.array([row["label"] for row in rows])
    easy = np.array([row["easy"] for row in rows])
    choices = {
        "a": np.where(easy, labels, 1 - labels),
        "b": np.where(easy, labels, 0),
        "c": labels.copy(),
    }
    choices["c"][4] = 1 - labels[4]
    # Files list the items in an order of their own.
    order = np.random.default_rng(0).permutation(len(rows))
    for name in "ac":
        lines = [f"{rows[row]['id']},{choices[name][row]}" for row in order]
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,prediction", *lines]), "utf-8")
    lines = []
    for row in order:
        lines.append(
            json.dumps({"id": rows[row]["id"], "logits": [-2.0 * choices["b"][row], -1.0]})
        )
    (tmp_path / "b.jsonl").write_text("\n".join(lines), "utf-8")
    return tmp_path, choices, labels, easy


def test_two_training_sets(copa, runs, capsys):
    folder, choices, labels, easy = runs
    original = f"{folder / 'a.csv'},{folder / 'b.jsonl'}"
    options = ("--original", original, "--balanced", folder / "c.csv", "--n-permutations", 200)

    answer = run(capsys, "data", "gaps", copa[0], *options, "--json")

    assert answer.code == 0
    output = json.loads(answer.out)
    expected = compare_gaps(
        np.stack([choices["a"], choices["b"]], axis=1),
        choices["c"],
        labels,
        easy,
        n_permutations=200,
    )
    assert output["result"] == expected.to_dict()
    printed = "\n".join(output["printed"])
    assert "3 Easy and 6 Hard items" in printed
    # All of three Easy items; none or three of six Hard ones, against five of six.
    assert "+0.750 (runs: +1.000, +0.500)" in printed
    assert "Gap, balanced training set: +0.167" in printed
    assert "none for a single run" in printed


def test_subsets_of_another_split(copa, runs, capsys):
    folder, _, _, easy = runs
    names = [row["id"] for row in copa[1]]
    subsets = {"easy": [names[row] for row in np.flatnonzero(easy)], "hard": names[1:3]}
    (folder / "subsets.json").write_text(json.dumps(subsets), "utf-8")
    options = ("--original", folder / "a.csv", "--balanced", folder / "c.csv")

    code, printed, _ = run(
        capsys, "data", "gaps", copa[0], *options, "--subsets", folder / "subsets.json"
    )

    assert (code, "3 Easy and 2 Hard items" in printed) == (0, True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,prediction\ni0,1\n", "8 of 9"),
        ("prediction\n1\n0\n", "one row for each"),
        ("id,prediction\ni0,wet\n", "got texts"),
        ("id,prediction\ni0,1\ni0,0\n", "'i0'"),
    ],
)
def test_predictions_that_do_not_fit(copa, runs, capsys, text, words):
    folder = runs[0]
    (folder / "d.csv").write_text(text, "utf-8")
    options = ("--original", folder / "a.csv", "--balanced", folder / "d.csv")

    code, _, error = run(capsys, "data", "gaps", copa[0], *options)

    assert (code, words in error) == (2, True)


def test_nine_items_are_too_few_for_a_page(copa, runs, capsys):
    folder = runs[0]
    options = ("--original", folder / "a.csv", "--balanced", folder / "c.csv")

    code, _, error = run(capsys, "data", "gaps", copa[0], *options, "--page", folder / "page")

    assert (code, "at least 100" in error) == (2, True)
    assert not (folder / "page").exists()
