"""Paired film reviews: counts, pairs, and what is refused."""

from collections import Counter

import pytest

from rightreasons.datasets.builder import load_dataset


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("imdb_contrast", {"validation": 100, "test": 488}),
        ("imdb_counterfactual", {"train": 1707, "validation": 245, "test": 488}),
    ],
)
def test_real_pairs(real_data, tmp_path, name, counts):
    data = load_dataset(name, data_dir=real_data, cache_dir=tmp_path, known_issues=False)
    assert {split: len(rows) // 2 for split, rows in data.items()} == counts
    for rows in data.values():
        assert set(Counter(rows["pair_id"]).values()) == {2}
        assert Counter(rows["role"]) == {"original": len(rows) // 2, "perturbed": len(rows) // 2}
        labels = {}
        for pair, label, text in zip(rows["pair_id"], rows["label"], rows["text"], strict=True):
            labels.setdefault(pair, set()).add(label)
            assert text
            assert "<br" not in text
        assert all(found == {0, 1} for found in labels.values())


def write(folder, name, rows):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "\n".join("\t".join(row) for row in [("Sentiment", "Text", "batch_id"), *rows]) + "\n"
    )


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (
            [("Negative", "bad", "1"), ("Negative", "worse", "1")],
            "in pair 1 of .*'Negative' and 'Negative'",
        ),
        (
            [("Negative", "bad", "1")],
            "'imdb_counterfactual' as published",
        ),
        (
            [("Negative", "bad", "1"), ("Mixed", "fair", "1")],
            "in pair 1 of .*'Negative' and 'Mixed'",
        ),
    ],
)
def test_bad_files(tmp_path, rows, sentence):
    for split in ("train", "dev", "test"):
        write(tmp_path / "imdb_counterfactual", f"combined/paired/{split}_paired.tsv", rows)
    with pytest.raises(ValueError, match=sentence):
        load_dataset(
            "imdb_counterfactual",
            data_dir=tmp_path,
            cache_dir=tmp_path / "cache",
            other_versions=True,
            split="test",
        )
