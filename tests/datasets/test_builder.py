"""The base builder: local files, the hub, the cache key, and what it says when something is wrong."""

import dataclasses
import hashlib
import json
import pickle
from collections.abc import Iterator
from pathlib import Path

import datasets
import pytest

from rightreasons.datasets import builder as builder_module
from rightreasons.datasets import builder as catalog
from rightreasons.datasets.builder import Builder, Config
from rightreasons.datasets.files import make_classification_features, make_multiple_choice_features
from rightreasons.datasets.sources import Hub, Source

datasets.disable_progress_bars()

TRAIN = b"fine\t1\npoor\t0\nsplendid\t1\n"
TEST = b"dull\t0\n"


def source(path: str, content: bytes) -> Source:
    url = f"https://example.org/{path}"
    return Source(
        path, url, len(content), hashlib.sha256(content).hexdigest(), "MIT", "Maker (1999)"
    )


class Toy(Builder):
    """Two classes, two files, on the hub too."""

    NAME = "toy"
    FOLDER = "toys/small"
    SOURCES = (source("train.tsv", TRAIN), source("test.tsv", TEST))
    HUB = Hub(
        "maker/toy",
        "0" * 40,
        {"default": {"train": ("data/train.parquet",), "test": ("data/test.jsonl",)}},
    )
    BUILDER_CONFIGS = [Config(name="default"), Config(name="local_only")]

    def features(self):
        return make_classification_features(["bad", "good"])

    def splits(self):
        return {"train": ("train.tsv",), "test": ("test.tsv",)}

    def examples(self, split, files) -> Iterator[dict]:
        for number, line in enumerate(files[f"{split}.tsv"].read_text("utf-8").splitlines()):
            text, label = line.split("\t")
            yield {"id": f"{split}-{number}", "text": text, "label": int(label)}

    def from_hub(self, split, row, number):
        return {"id": f"{split}-{number}", "text": row["sentence"], "label": row["label"]}


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    monkeypatch.delenv("RIGHTREASONS_DATA_DIR", raising=False)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setitem(catalog.CATALOG, "toy", "toy:Toy")
    monkeypatch.setattr(
        catalog,
        "get_builder_class",
        lambda name, found=catalog.get_builder_class: Toy if name == "toy" else found(name),
    )


@pytest.fixture
def data_dir(tmp_path) -> Path:
    folder = tmp_path / "data" / "toys" / "small"
    folder.mkdir(parents=True)
    (folder / "train.tsv").write_bytes(TRAIN)
    (folder / "test.tsv").write_bytes(TEST)
    return tmp_path / "data"


@pytest.fixture
def mirror(tmp_path) -> Path:
    folder = tmp_path / "mirror" / "data"
    folder.mkdir(parents=True)
    datasets.Dataset.from_dict({"sentence": ["great", "awful"], "label": [1, 0]}).to_parquet(
        folder / "train.parquet"
    )
    (folder / "test.jsonl").write_text(
        json.dumps({"sentence": "meh", "label": 0}) + "\n", encoding="utf-8"
    )
    return tmp_path / "mirror"


@pytest.mark.parametrize("below", ["", "toys", "toys/small"])
def test_the_parent_and_the_own_folder_both_serve(data_dir, below):
    data = catalog.load_dataset("toy", data_dir=data_dir / below)
    assert isinstance(data, datasets.DatasetDict)
    assert data["train"]["text"][:] == ["fine", "poor", "splendid"]
    assert data["train"].features["label"].names == ["bad", "good"]
    assert data["test"][0] == {"id": "test-0", "text": "dull", "label": 0}


def test_the_environment_names_the_folder(data_dir, monkeypatch):
    monkeypatch.setenv("RIGHTREASONS_DATA_DIR", str(data_dir))
    assert len(catalog.load_dataset("toy", split="train[:2]")) == 2


def test_streaming_writes_nothing(data_dir, tmp_path):
    stream = catalog.load_dataset("toy", split="train", data_dir=data_dir, streaming=True)
    assert isinstance(stream, datasets.IterableDataset)
    assert [item["text"] for item in stream] == ["fine", "poor", "splendid"]
    assert not list((tmp_path / "cache").rglob("*.arrow"))


def test_builders_and_streams_pickle(data_dir):
    builder = pickle.loads(pickle.dumps(Toy(data_dir=data_dir)))
    builder.download_and_prepare()
    assert len(builder.as_dataset(split="train")) == 3
    stream = pickle.loads(pickle.dumps(Toy(data_dir=data_dir).as_streaming_dataset(split="train")))
    assert len(list(stream)) == 3


def test_equal_files_give_equal_fingerprints(data_dir):
    first, again = (catalog.load_dataset("toy", split="train", data_dir=data_dir) for _ in range(2))
    assert first._fingerprint == again._fingerprint


def test_one_cache_for_equal_files_and_another_for_edited_ones(data_dir, tmp_path, monkeypatch):
    first = Toy(data_dir=data_dir)
    copy = tmp_path / "elsewhere"
    (data_dir / "toys" / "small").rename(copy)
    assert Toy(data_dir=copy).cache_dir == first.cache_dir

    (copy / "train.tsv").write_bytes(TRAIN + b"new\t1\n")
    assert Toy(data_dir=copy, other_versions=True).cache_dir != first.cache_dir
    assert len(catalog.load_dataset("toy", split="train", data_dir=copy, other_versions=True)) == 4

    (copy / "train.tsv").write_bytes(TRAIN)
    monkeypatch.setattr(builder_module, "digest_package_code", lambda: "mended")
    assert Toy(data_dir=copy).cache_dir != first.cache_dir


def test_an_edited_file_is_named_with_what_was_expected_and_found(data_dir):
    (data_dir / "toys/small/train.tsv").write_bytes(b"fine\t1\n")
    with pytest.raises(
        ValueError,
        match=r"sha256 \w{64}",
    ):
        catalog.load_dataset("toy", data_dir=data_dir)


def test_a_missing_file_names_both_ways(tmp_path, data_dir):
    (data_dir / "toys/small/test.tsv").unlink()
    both = r"Expected the file 'test\.tsv' of 'toy'.* `data_dir` or RIGHTREASONS_DATA_DIR.* the hub \(maker/toy\)"
    with pytest.raises(FileNotFoundError, match=both):
        catalog.load_dataset("toy", data_dir=data_dir)
    with pytest.raises(FileNotFoundError, match=r"'train\.tsv' of 'toy'"):
        catalog.load_dataset("toy", data_dir=tmp_path)
    with pytest.raises(FileNotFoundError, match="to name a folder"):
        catalog.load_dataset("toy", data_dir=tmp_path / "nowhere")


def test_the_hub_by_its_files(mirror, monkeypatch):
    monkeypatch.setattr(Hub, "address", lambda self, file: str(mirror / file))
    data = catalog.load_dataset("toy")
    assert data["train"][1] == {"id": "train-1", "text": "awful", "label": 0}
    assert data["test"]["text"][:] == ["meh"]
    stream = catalog.load_dataset("toy", split="test", streaming=True)
    assert [item["text"] for item in stream] == ["meh"]


def test_the_hub_out_of_reach_names_both_ways():
    # HF_HUB_OFFLINE=1 in tests: the download manager refuses at once.
    with pytest.raises(ConnectionError, match="'toy'.* `data_dir`"):
        catalog.load_dataset("toy")


def test_a_client_of_the_hub_without_a_connection_ends_in_the_sentence(monkeypatch):
    """Its errors are none of Python's: neither OSError nor RuntimeError."""
    lost = type("ConnectError", (Exception,), {"__module__": "httpx2"})

    def refuse(self, *_, **__):
        raise lost("Name or service not known")

    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", refuse)
    with pytest.raises(ConnectionError, match=r"reached \(ConnectError\)"):
        Toy(revision="main")


def test_a_revision_asks_the_hub_although_a_copy_is_there(data_dir):
    assert Toy(data_dir=data_dir, revision="1" * 40).origin == "hub"
    with pytest.raises(ConnectionError, match="Expected to download 'toy'"):
        Toy(revision="main")  # the commit of a branch has to be asked
    assert Toy(data_dir=data_dir).origin == "local"


def test_a_configuration_that_is_not_on_the_hub():
    assert Toy(config_name="local_only").origin == "url"


def test_the_publishers_address(tmp_path, monkeypatch):
    # The download manager takes local paths too, so the publisher's address is stood in for by one.
    local = []
    for declared, content in zip(Toy.SOURCES, (TRAIN, TEST), strict=True):
        (tmp_path / declared.path).write_bytes(content)
        local.append(
            Source(
                declared.path, str(tmp_path / declared.path), declared.size, declared.sha256, "", ""
            )
        )
    monkeypatch.setattr(Toy, "SOURCES", tuple(local))
    monkeypatch.setattr(Toy, "HUB", None)
    assert len(catalog.load_dataset("toy", split="train")) == 3
    assert len(list(catalog.load_dataset("toy", split="train", streaming=True))) == 3
    (tmp_path / "test.tsv").write_bytes(b"tampered\t0\n")
    with pytest.raises(ValueError, match="to be the published file"):
        Toy(cache_dir=tmp_path / "other").download_and_prepare()


def test_files_are_published_ones_only_if_each_has_a_checksum(data_dir, monkeypatch):
    assert Toy(data_dir=data_dir).is_published

    first, second = Toy.SOURCES
    unverified = dataclasses.replace(second, sha256=None)
    monkeypatch.setattr(Toy, "SOURCES", (first, unverified))
    assert not Toy(data_dir=data_dir).is_published


def test_unknown_names_answer_with_the_nearest(data_dir):
    with pytest.raises(ValueError, match="Did you mean 'toy'"):
        catalog.load_dataset("toyy")
    with pytest.raises(ValueError, match="mean 'default'"):
        catalog.load_dataset("toy", "defalt", data_dir=data_dir)
    with pytest.raises(ValueError, match="Did you mean 'other_versions'"):
        catalog.load_dataset("toy", data_dir=data_dir, other_version=True)
    with pytest.raises(ValueError, match='Unknown split "trian"'):
        catalog.load_dataset("toy", data_dir=data_dir, split="trian")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (None, "at least one example in split 'train'"),
    ],
)
def test_bad_examples_are_one_sentence(data_dir, monkeypatch, wrong, message):
    def examples(self, split, files):
        if wrong is not None:
            yield {"id": "train-0", "text": "fine", "label": 1}
            yield wrong

    monkeypatch.setattr(Toy, "examples", examples)
    with pytest.raises(ValueError, match=message):
        catalog.load_dataset("toy", data_dir=data_dir)


def test_multiple_choice_columns():
    columns = make_multiple_choice_features(question=datasets.Value("string"))
    assert list(columns) == ["id", "prompt", "choices", "label", "question"]
