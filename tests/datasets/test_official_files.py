"""The files as the authors of a benchmark release them: items and labels in two files, JSON lines."""

import json

import datasets
import pytest

from rightreasons.datasets.builder import load_dataset
from rightreasons.io.tables import open_multiple_choice

datasets.disable_progress_bars()

STORIES = [
    {
        "story_id": f"story {number}",
        "obs1": f"Ann had {number} apples.",
        "obs2": "She had none left.",
        "hyp1": f"She ate {number}.",
        "hyp2": "She bought a pear.",
    }
    for number in range(4)
]
# The labels count the hypotheses from 1.
STORY_LABELS = [1, 2, 2, 1]

SCENES = [
    {
        "ind": number,
        "activity_label": "Cooking",
        "ctx_a": "He takes a pan.",
        "ctx_b": "he",
        "ctx": "He takes a pan. he",
        "endings": [f"{verb} {number} eggs." for verb in ("fries", "boils", "throws", "hides")],
        "label": number,
        "source_id": "a",
        "split_type": "zeroshot",
    }
    for number in range(3)
]


def write_lines(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def write_labels(path, labels):
    path.write_text("".join(f"{label}\n" for label in labels), "utf-8")


@pytest.fixture
def folder(tmp_path):
    write_lines(tmp_path / "anli" / "dev.jsonl", STORIES)
    write_labels(tmp_path / "anli" / "dev-labels.lst", STORY_LABELS)
    write_lines(tmp_path / "hellaswag" / "hellaswag_val.jsonl", SCENES)
    return tmp_path


def load(name, folder, tmp_path, config=None):
    return load_dataset(name, config, data_dir=folder, cache_dir=tmp_path / "cache")


@pytest.mark.parametrize("below", ["", "anli"])
def test_anli_opens_with_its_label_file(folder, tmp_path, below):
    data = load("anli", folder / below, tmp_path)

    assert list(data) == ["validation"]
    assert data["validation"]["label"][:] == [0, 1, 1, 0]
    assert data["validation"][1] == {
        "id": "validation-1",
        "prompt": "Ann had 1 apples. She had none left.",
        "choices": ["She ate 1.", "She bought a pear."],
        "label": 1,
        "prompt_parts": ["Ann had 1 apples.", "She had none left."],
    }


def test_anli_opens_with_its_training_items(folder, tmp_path):
    write_lines(folder / "anli" / "train.jsonl", STORIES[:2])
    write_labels(folder / "anli" / "train-labels.lst", STORY_LABELS[:2])

    data = load("anli", folder, tmp_path)

    assert {split: len(part) for split, part in data.items()} == {"validation": 4, "train": 2}


def test_hellaswag_opens_from_its_json_lines(folder, tmp_path):
    data = load("hellaswag", folder, tmp_path)

    assert data["validation"][2]["prompt"] == "Cooking: He takes a pan. he"
    assert data["validation"]["label"][:] == [0, 1, 2]


@pytest.mark.parametrize("name", ["anli", "hellaswag"])
def test_the_official_files_can_be_perturbed(folder, tmp_path, name):
    data = load(f"perturbed_{name}", folder, tmp_path, "no_question")

    assert set(data["validation"]["prompt"]) == {""}


def test_a_missing_label_file_is_named(folder, tmp_path):
    (folder / "anli" / "dev-labels.lst").unlink()

    with pytest.raises(FileNotFoundError, match=r"'dev-labels\.lst'"):
        load("anli", folder, tmp_path)


def test_a_file_of_items_is_read_with_the_labels_next_to_it(folder):
    items = open_multiple_choice(folder / "anli" / "dev.jsonl")

    assert items["label"][:] == [0, 1, 1, 0]


def test_a_label_file_of_another_length_is_an_error(folder):
    write_labels(folder / "anli" / "dev-labels.lst", STORY_LABELS[:-1])

    with pytest.raises(ValueError, match="got 3 labels"):
        open_multiple_choice(folder / "anli" / "dev.jsonl")


@pytest.mark.real_data
def test_the_unpacked_files_of_socialiqa_are_those_of_the_archive(real_data, tmp_path):
    folder = tmp_path / "socialiqa"
    folder.mkdir()
    for name in ("dev.jsonl", "dev-labels.lst"):
        (folder / name).write_bytes((real_data / "socialiqa" / name).read_bytes())

    data = load("socialiqa", folder, tmp_path)
    archive = load("socialiqa", real_data, tmp_path)

    assert data["validation"].to_list() == archive["validation"].to_list()
