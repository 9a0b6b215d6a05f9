"""`rightreasons data split`, as a user types it."""

import json

import pytest

from command_line import run
from tiny_models import save_tiny_encoder


@pytest.fixture
def items(tmp_path):
    """A file of items of which the longer choice with "was" is always right."""
    rows = [
        {
            "id": f"i{i}",
            "prompt": "the rain fell",
            "choices": ["the film was very good", "a dull film"]
            if i % 3
            else ["a poor plot", "the story was very good"],
            "label": 0 if i % 3 else 1,
            "source_id": f"i{i // 2}",
        }
        for i in range(40)
    ]
    file = tmp_path / "items.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return file


class TestSplit:
    def test_parts_the_items(self, items, tmp_path, capsys):
        encoder = save_tiny_encoder(tmp_path / "encoder")
        words = ("data", "split", items, "--model", encoder, "--out", tmp_path / "out", "--n-runs", 2, "--n-folds", 2)
        words += ("--epochs", 8, "--learning-rate", 5e-3, "--max-length", 24)
        code, said, _ = run(capsys, *words)
        assert code == 0
        subsets = json.loads((tmp_path / "out" / "easy_hard_subsets.json").read_text("utf-8"))
        assert sorted(subsets["easy"] + subsets["hard"]) == sorted(f"i{i}" for i in range(40))
        assert len(subsets["easy"]) > 30
        assert f"Easy: {len(subsets['easy'])} items" in said
        assert "25.0% would be by luck" in said
        whole = json.loads((tmp_path / "out" / "split.json").read_text("utf-8"))
        assert whole["n_folds"] == 2
        # A second call reads the runs back.
        again = run(capsys, *words)
        assert again.code == 0
        assert said.splitlines()[-3:] == again.out.splitlines()[-3:]

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (("--task", "pairs"), "--task"),
            (("--train-split", "train"), "split of"),
            (("--test-split", "test"), "split of"),
        ],
    )
    def test_mistakes_are_one_sentence(self, items, tmp_path, words, message, capsys):
        again = run(capsys, "data", "split", items, "--model", tmp_path, "--out", tmp_path / "out", *words)
        assert again.code == 2
        assert message in again.err
        assert not (tmp_path / "out").exists()
