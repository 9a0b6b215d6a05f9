"""The benchmark sets of classification: from their published files where these are present, and in the hub's layout."""

import json

import datasets
import pytest

from rightreasons.datasets.builder import get_builder_class, load_dataset
from rightreasons.datasets.sources import Hub
from rightreasons.datasets.texts import TREC

datasets.disable_progress_bars()

COUNTS = {
    "sst2": {"train": 6920, "validation": 872, "test": 1821},
    "cola": {"train": 8551, "validation": 527, "validation_out_of_domain": 516},
    "trec": {"train": 5452, "test": 500},
    "ag_news": {"test": 7600},
    "tweeteval_emotion": {"train": 3257, "validation": 374, "test": 1421},
    # The files have 9,000 and 1,000 lines; seven and one are empty.
    "tweeteval_hate": {"train": 8993, "validation": 999, "test": 2970},
    "tweeteval_irony": {"train": 2862, "validation": 955, "test": 784},
    "tweeteval_sentiment": {"validation": 2000, "test": 12284},
    "qqp": {"train": 8999, "validation": 1000},
}

LABELS = {
    "sst2": ["negative", "positive"],
    "cola": ["unacceptable", "acceptable"],
    "trec": ["ABBR", "ENTY", "DESC", "HUM", "LOC", "NUM"],
    "ag_news": ["World", "Sports", "Business", "Sci/Tech"],
    "tweeteval_emotion": ["anger", "joy", "optimism", "sadness"],
    "tweeteval_hate": ["not-hate", "hate"],
    "tweeteval_irony": ["non_irony", "irony"],
    "tweeteval_sentiment": ["negative", "neutral", "positive"],
    "qqp": ["not_duplicate", "duplicate"],
}


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RIGHTREASONS_DATA_DIR", raising=False)
        patch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path_factory.mktemp("cache"))
        yield


@pytest.mark.real_data
@pytest.mark.parametrize("name", COUNTS)
def test_the_published_files(name, real_data):
    data = load_dataset(name, data_dir=real_data, known_issues=False)
    assert {split: len(part) for split, part in data.items()} == COUNTS[name]
    for split, part in data.items():
        assert list(part.features)[:3] == ["id", "text", "label"]
        assert part.features["label"].names == LABELS[name]
        texts, ids, labels = part["text"][:], part["id"][:], part["label"][:]
        assert all(text == text.strip() and text for text in texts)
        assert len(set(ids)) == len(ids)
        assert ids[0] == f"{split}-0"
        assert set(labels) == set(range(len(LABELS[name])))


@pytest.mark.real_data
def test_known_items(real_data):
    """A first and a last line of the files, read by eye."""
    sst2 = load_dataset("sst2", data_dir=real_data)
    assert sst2["test"][0] == {
        "id": "test-0",
        "text": "no movement , no yuks , not much of anything",
        "label": 0,
    }
    cola = load_dataset("cola", data_dir=real_data)
    assert cola["validation"][4]["text"] == "As you eat the most, you want the least."
    assert cola["validation"][4]["label"] == 0
    trec = load_dataset("trec", data_dir=real_data)
    assert trec["test"][0]["text"] == "How far is it from Denver to Aspen ?"
    assert TREC.LABELS["coarse"][trec["test"][0]["label"]] == "NUM"
    assert any(
        "sister city with Los Angeles" in text for text in trec["train"]["text"]
    )  # the Latin-1 byte
    fine = load_dataset("trec", "fine", split="test", data_dir=real_data)
    assert TREC.LABELS["fine"][fine[0]["label"]] == "NUM:dist"
    qqp = load_dataset("qqp", data_dir=real_data, split="validation")
    assert qqp[1] == {
        "id": "validation-1",
        "text": "If I want to change my name what should I do?",
        "text_pair": "I want to change my name, how do I do it?",
        "label": 1,
    }
    assert sum(qqp["label"]) == 377
    news = load_dataset("ag_news", data_dir=real_data, split="test")
    assert news[0]["text"].startswith(
        "Fears for T N pension after talks Unions representing workers"
    )
    assert news.features["label"].int2str(news[0]["label"]) == "Business"


@pytest.mark.real_data
def test_the_news_sample_holds_no_test_item(real_data):
    news = load_dataset("ag_news", "descriptions", data_dir=real_data)
    assert len(news["train"]) == 10001 - 10
    assert len(news["test"]) == 7600
    assert not set(news["train"]["text"]) & set(news["test"]["text"])


def test_the_published_training_file_is_read_where_it_lies(tmp_path):
    """Its checksum is not declared, so any copy is taken; the test file has to be the published one or admitted."""
    (tmp_path / "train.csv").write_text(
        '"3","Rates rise","Banks ""follow""."\n"4","Chips","Faster."\n', "utf-8"
    )
    (tmp_path / "test.csv").write_text('"1","Talks","They met."\n', "utf-8")
    news = load_dataset("ag_news", data_dir=tmp_path, other_versions=True)
    assert news["train"].to_list() == [
        {"id": "train-0", "text": 'Rates rise Banks "follow".', "label": 2},
        {"id": "train-1", "text": "Chips Faster.", "label": 3},
    ]
    assert news["test"]["label"][:] == [0]


def test_two_files_out_of_step_are_told(tmp_path):
    for name in (
        "train_text",
        "train_labels",
        "val_text",
        "val_labels",
        "test_text",
        "test_labels",
    ):
        (tmp_path / f"{name}.txt").write_text("1\n1\n" if name != "test_labels" else "1\n", "utf-8")
    with pytest.raises(ValueError, match="'tweeteval_irony' as published"):
        load_dataset("tweeteval_irony", data_dir=tmp_path, other_versions=True)


def test_a_line_of_another_form_is_told(tmp_path):
    for name in ("train.tsv", "dev.tsv", "test.tsv"):
        (tmp_path / name).write_text("fine\t1\nno label\n", "utf-8")
    with pytest.raises(ValueError, match="'sst2' as published"):
        load_dataset("sst2", data_dir=tmp_path, other_versions=True)


@pytest.mark.real_data
def test_streaming_gives_the_same(real_data):
    stream = load_dataset(
        "tweeteval_irony", data_dir=real_data / "tweeteval", split="validation", streaming=True
    )
    whole = load_dataset(
        "tweeteval_irony", data_dir=real_data / "tweeteval" / "irony", split="validation"
    )
    assert list(stream) == whole.to_list()


# The columns of the hub's copies, as their cards and conversions show them. The hub itself is not asked in tests: a
# local folder with the same file names and columns stands in for it.
HUB_ROWS = {
    "sst2": {"text": "a fine film .", "label": 1, "label_text": "positive"},
    "cola": {"sentence": "Him left.", "label": 1, "idx": 0},
    "trec": {"text": "Who was Galileo ?", "coarse_label": 1, "fine_label": 31},
    "ag_news": {"text": "Rates rise. Banks follow.", "label": 1},
    "tweeteval_emotion": {"text": " what a day ", "label": 1},
    "tweeteval_hate": {"text": "fine", "label": 1},
    "tweeteval_irony": {"text": "great", "label": 1},
    "tweeteval_sentiment": {"text": "so so", "label": 1},
    "qqp": {"question1": "Who is he?", "question2": " Who's he? ", "label": 1, "idx": 0},
}


PINNED = "0" * 40
"""A named revision is read from the hub even where there is a local copy."""


def mirror(name, folder, rows, monkeypatch):
    monkeypatch.setattr(Hub, "address", lambda self, file: str(folder / file))
    for files in next(iter(get_builder_class(name).HUB.files.values())).values():
        for file in files:
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".jsonl":
                path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
            else:
                datasets.Dataset.from_list(rows).to_parquet(path)


@pytest.mark.parametrize("name", HUB_ROWS)
def test_the_layout_of_the_hub(name, tmp_path, monkeypatch):
    mirror(name, tmp_path, [HUB_ROWS[name]] * 2, monkeypatch)
    data = load_dataset(name, revision=PINNED, known_issues=False)
    assert set(data) == set(next(iter(get_builder_class(name).HUB.files.values())))
    for split, part in data.items():
        assert part.features["label"].names == LABELS[name]
        assert part[1]["id"] == f"{split}-1"
        texts = [
            HUB_ROWS[name][key].strip()
            for key in ("text", "sentence", "question1")
            if key in HUB_ROWS[name]
        ]
        assert [part[1]["text"]] == texts
        assert part[1]["label"] == 1


def test_the_fine_labels_of_the_hub(tmp_path, monkeypatch):
    mirror("trec", tmp_path, [HUB_ROWS["trec"]], monkeypatch)
    data = load_dataset("trec", "fine", split="test", revision=PINNED, known_issues=False)
    assert data.features["label"].int2str(data[0]["label"]) == "HUM:desc"
    assert len(TREC.LABELS["fine"]) == 50


def test_an_empty_tweet_is_left_out_and_the_ids_keep_the_lines(tmp_path, monkeypatch):
    mirror(
        "tweeteval_hate",
        tmp_path,
        [HUB_ROWS["tweeteval_hate"], {"text": "  ", "label": 0}] * 2,
        monkeypatch,
    )
    data = load_dataset("tweeteval_hate", split="test", revision=PINNED, known_issues=False)
    assert data["id"][:] == ["test-0", "test-2"]


def test_a_pair_with_an_empty_question_is_left_out(tmp_path, monkeypatch):
    mirror(
        "qqp", tmp_path, [HUB_ROWS["qqp"], {**HUB_ROWS["qqp"], "question2": ""}] * 2, monkeypatch
    )
    data = load_dataset("qqp", split="train", revision=PINNED)
    assert data["id"][:] == ["train-0", "train-2"]
    assert data["text_pair"][:] == ["Who's he?"] * 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[]", "Expected train.json of 'qqp' as published"),
        ("{", "Expected JSON in .*train.json"),
        ('{"7": {"text_a": "Who?", "label": "1"}}', "split 'train' cannot be read: 'text_b'"),
        ('{"7": {"text_a": "Who?", "text_b": "Where?", "label": "2"}}', "2"),
    ],
)
def test_question_pairs_of_another_form_are_told(tmp_path, content, said):
    (tmp_path / "train.json").write_text(content, "utf-8")
    (tmp_path / "dev.json").write_text(
        '{"0": {"text_a": "Who?", "text_b": "Who?", "label": "1"}}', "utf-8"
    )
    with pytest.raises(ValueError, match=said):
        load_dataset("qqp", data_dir=tmp_path, other_versions=True)
