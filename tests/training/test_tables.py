import json

import datasets
import pytest

from rightreasons.io.tables import open_dataset, open_multiple_choice
from rightreasons.training.examples import open_training_data, write_parts
from rightreasons.training.options import TrainingDataOptions


def opened(data, task=None, label_names=None, **options):
    return open_training_data(
        data, TrainingDataOptions(**options), task=task, label_names=label_names
    )


def texts(count=20):
    # Texts 0 and 7 are equal, 1 and 8, …: 7 different ones.
    labels = ["up" if index % 7 < 4 else "down" for index in range(count)]
    return datasets.Dataset.from_dict(
        {"text": [f"film {index % 7}" for index in range(count)], "label": labels}
    )


def test_of_one_table_a_share_is_held_out_and_equal_texts_stay_together():
    data = opened(texts(), held_out=0.3)
    assert (data.task, data.train_name, data.validation_name, data.holds_out) == (
        "classification",
        "data",
        "held_out",
        True,
    )
    assert len(data.train) + len(data.validation) == 20
    assert 1 <= len(data.validation) <= 6  # 0.3 * 20, less where the next group would not fit
    assert set(data.train["text"]).isdisjoint(data.validation["text"])
    again = opened(
        texts().select(range(19, -1, -1)), held_out=0.3
    )  # whatever the order: the group decides
    assert set(again.validation["text"]) == set(data.validation["text"])


@pytest.mark.parametrize(
    ("names", "options", "train", "validation"),
    [
        (("train", "test", "validation"), {}, "train", "validation"),
        (("test", "train"), {}, "train", "test"),
        (("train", "test", "dev"), {"validation_split": "test"}, "train", "test"),
        (("a", "dev"), {"train_split": "a"}, "a", "dev"),
        (("a", "train"), {}, "train", "held_out"),
        (("a", "train"), {"held_out": 0.0}, "train", None),
    ],
)
def test_splits_are_chosen_by_name(names, options, train, validation):
    data = opened({name: texts() for name in names}, **options)
    assert (data.train_name, data.validation_name) == (train, validation)
    assert (data.validation is None) == (validation is None)


def test_choices_are_told_by_their_columns_and_come_back_as_they_were(tmp_path):
    rows = datasets.Dataset.from_dict(
        {
            "prompt": [f"Why {index}?" for index in range(12)],
            "choices": [[f"so {index}", "because", "no"] for index in range(12)],
            "label": [1 + index % 2 for index in range(12)],
        }
    )
    data = opened(rows)
    assert data.task == "multiple_choice"
    file = write_parts(data, tmp_path) / "test.jsonl"
    back = open_multiple_choice(file)
    assert back["label"][:] == data.validation["label"][:]
    assert back["choices"][:] == data.validation["choices"][:]


def test_what_is_held_out_is_written_with_the_names_of_the_labels(tmp_path):
    data = opened(texts(), label_names=("up", "down"))
    assert data.train.features["label"].names == ["up", "down"]
    file = write_parts(data, tmp_path) / "test.jsonl"
    words = [json.loads(line)["label"] for line in file.read_text("utf-8").splitlines()]
    assert words == [("up", "down")[label] for label in data.validation["label"]]
    assert open_dataset(file)["text"][:] == data.validation["text"][:]


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        (
            {"train": texts(), "test": texts()},
            {"train_split": "tran"},
            "'tran'. Did you mean 'train'?",
        ),
        (
            {"train": texts(), "test": texts()},
            {"validation_split": "train"},
            "other than that to train on",
        ),
        ({"a": texts(), "b": texts()}, {}, "but got 'train'"),
        (texts(1), {}, "one group"),
        (texts(), {"text_column": "body"}, "body"),
    ],
)
def test_what_cannot_be_trained_on_is_said(data, options, words):
    with pytest.raises(ValueError, match="Expected") as error:
        opened(data, **options)
    assert words in str(error.value)


def test_a_share_is_between_none_and_all():
    with pytest.raises(ValueError, match="held_out"):
        TrainingDataOptions(held_out=1.0)
