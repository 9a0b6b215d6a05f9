"""SQuAD: XQuAD's file split by article, the publisher's form, the hub's layout, and files that are neither."""

import json

import datasets
import pytest

from rightreasons.datasets.builder import load_dataset
from rightreasons.datasets.question_answering import select_articles
from rightreasons.datasets.sources import Hub
from rightreasons.io.tables import open_questions

datasets.disable_progress_bars()


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RIGHTREASONS_DATA_DIR", raising=False)
        patch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path_factory.mktemp("cache"))
        yield


def article(title, *questions, context="Ann met Bob."):
    qas = [
        {
            "id": f"{title}-{number}",
            "question": text,
            "answers": [{"text": "Bob", "answer_start": 8}],
        }
        for number, text in enumerate(questions)
    ]
    return {"title": title, "paragraphs": [{"context": context, "qas": qas}]}


def write(folder, *articles, name="dev-v1.1.json"):
    (folder / name).write_text(json.dumps({"version": "1.1", "data": list(articles)}), "utf-8")
    return folder / name


@pytest.mark.real_data
def test_the_english_file_of_xquad(real_data):
    data = load_dataset("squad", data_dir=real_data)
    titles = {split: set(part["title"]) for split, part in data.items()}
    assert {split: len(found) for split, found in titles.items()} == {
        "train": 32,
        "validation": 8,
        "test": 8,
    }
    assert len(set().union(*titles.values())) == 48  # no article is in two splits
    assert sum(map(len, data.values())) == 1190
    first = next(
        row for part in data.values() for row in part if row["id"] == "56beb4343aeaaa14008c925b"
    )
    assert first["question"] == "How many points did the Panthers defense surrender?"
    assert first["answers"] == {"text": ["308"], "answer_start": [34]}
    for row in data["test"]:
        for text, start in zip(row["answers"]["text"], row["answers"]["answer_start"], strict=True):
            assert row["context"][start : start + len(text)] == text


def test_the_publishers_files(tmp_path):
    write(tmp_path, article("A", " Who met Ann?", "Whom?"))
    write(tmp_path, article("B", "Who?"), name="train-v1.1.json")
    data = load_dataset("squad", data_dir=tmp_path, other_versions=True)
    assert {split: len(part) for split, part in data.items()} == {"train": 1, "validation": 2}
    assert data["validation"][0] == {
        "id": "A-0",
        "title": "A",
        "context": "Ann met Bob.",
        "question": "Who met Ann?",
        "answers": {"text": ["Bob"], "answer_start": [8]},
    }


def test_the_layout_of_the_hub(tmp_path, monkeypatch):
    row = {
        "id": "x",
        "title": "T",
        "context": "Ann met Bob.",
        "question": "Who?",
        "answers": {"text": ["Ann"], "answer_start": [0]},
    }
    (tmp_path / "plain_text").mkdir()
    for split in ("train", "validation"):
        datasets.Dataset.from_list([row]).to_parquet(
            tmp_path / "plain_text" / f"{split}-00000-of-00001.parquet"
        )
    monkeypatch.setattr(Hub, "address", lambda self, file: str(tmp_path / file))
    data = load_dataset("squad", revision="0" * 40)
    assert data["train"].to_list() == data["validation"].to_list() == [row]


def test_articles_do_not_depend_on_their_order():
    names = [f"article {number}" for number in range(12)]
    assert select_articles("test", names) == select_articles("test", names[::-1])
    assert not select_articles("test", names) & select_articles("train", names)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "JSON in .*line 1"),
        ("[" * 100_000, "nested deeper"),
        ("[]", "in the form of SQuAD .*list indices"),
        ({"data": [{"title": "A"}]}, "in the form of SQuAD .*KeyError.'paragraphs'"),
        (
            {"data": [{"title": "A", "paragraphs": [{"qas": []}]}]},
            "in the form of SQuAD .*KeyError.'context'",
        ),
        (
            {"data": [{"title": "A", "paragraphs": [{"context": "Ann."}]}]},
            "in the form of SQuAD .*KeyError.'qas'",
        ),
        (
            {"data": [{"title": "A", "paragraphs": [{"context": "Ann.", "qas": [{"id": 1}]}]}]},
            "in the form of SQuAD .*KeyError.'question'",
        ),
        (
            {"data": [article("A", "Who?", context="Ann.")]},
            "inside the context",
        ),
    ],
)
def test_a_file_of_another_form_is_told(tmp_path, content, said):
    (tmp_path / "dev-v1.1.json").write_text(
        content if isinstance(content, str) else json.dumps(content), "utf-8"
    )
    with pytest.raises(ValueError, match=said):
        load_dataset("squad", data_dir=tmp_path, other_versions=True)


def test_questions_are_opened_from_files_names_and_datasets(tmp_path):
    file = write(
        tmp_path, article("A", "Who?", "Whom?"), article("B", "Who met?"), name="mine.json"
    )
    data = open_questions(file)
    assert data["id"][:] == ["A-0", "A-1", "B-0"]
    assert (
        open_questions(data, limit=2)["id"][:]
        == open_questions(file, split="train", limit=2)["id"][:]
    )
    (tmp_path / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in data), "utf-8")
    assert open_questions(tmp_path / "own.jsonl")["answers"][:] == data["answers"][:]


def test_questions_that_cannot_be_opened_are_told(tmp_path):
    rows = datasets.Dataset.from_list([{"id": "1", "question": "Who?", "context": "Ann."}])
    with pytest.raises(ValueError, match="but it lacks answers"):
        open_questions(rows)
    empty = [
        {
            "id": "1",
            "question": "Who?",
            "context": "Ann.",
            "answers": {"text": [""][:0], "answer_start": [0][:0]},
        }
    ]
    with pytest.raises(ValueError, match="but no question"):
        open_questions(datasets.Dataset.from_list(empty))
    flat = datasets.Dataset.from_list(
        [{"id": "1", "question": "Who?", "context": "Ann.", "answers": "Ann"}]
    )
    with pytest.raises(ValueError, match="lists, `text`"):
        open_questions(flat)
    parts = datasets.DatasetDict({"train": rows, "test": rows})
    with pytest.raises(ValueError, match="Did you mean 'train'"):
        open_questions(parts, split="trian")
    with pytest.raises(ValueError, match="value of `split`"):
        open_questions(parts)
