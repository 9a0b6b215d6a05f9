"""Planted shortcuts: what is planted, how often, and that nothing else moves."""

import itertools

import datasets
import numpy as np
import pytest

from rightreasons.datasets import planted as templates
from rightreasons.datasets.builder import load_dataset
from rightreasons.datasets.perturbing.edits import WORDS
from rightreasons.datasets.planted import KINDS, SPLITS, PlantedConfig, generate_planted_examples

datasets.disable_progress_bars()


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


def items(split, kind="lexical", **options):
    return list(generate_planted_examples(split, PlantedConfig(kind, **options)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_truth_names_every_planted_token(kind, split, n_classes):
    cues = {kind: templates.CUES[kind]} if kind != "mixed" else templates.CUES
    for item in items(
        split, kind, n_classes=n_classes, train_size=100, validation_size=100, test_size=100
    ):
        for token in item["planted"]:
            assert item["text"][token["start"] : token["end"]] == token["token"]
        tokens = [token["token"] for token in item["planted"]]
        if split == "test_absent":
            assert tokens == []
            assert item["cue_label"] == -1
        else:
            assert any(tokens == [cue[item["cue_label"]]] for cue in cues.values())
        # Words of a cue stand in the text only where they were planted.
        words = (
            item["text"]
            .replace(";", " ; ")
            .replace(":", " : ")
            .replace(",", " ")
            .replace(".", " ")
            .split()
        )
        assert sum(word in itertools.chain(*templates.CUES.values()) for word in words) == len(
            tokens
        )


def test_the_cue_agrees_as_often_as_chosen():
    train = items("train", strength=0.8, train_size=4000)
    agrees = np.array([item["cue_label"] == item["label"] for item in train])
    # The standard error of a share of 0.8 in 4,000 items is 0.0063; three of them are 0.019.
    assert abs(agrees.mean() - 0.8) < 0.02
    flipped = items("test_flipped", strength=0.8, test_size=4000)
    assert abs(np.mean([item["cue_label"] == item["label"] for item in flipped]) - 0.2) < 0.02


def test_noise_coverage_and_balance():
    train = items("train", label_noise=0.25, coverage=0.5, train_size=4000)
    assert abs(np.mean([item["label"] != item["content_label"] for item in train]) - 0.25) < 0.021
    assert abs(np.mean([item["cue_label"] == -1 for item in train]) - 0.5) < 0.024
    assert abs(np.mean([item["content_label"] for item in train]) - 0.5) < 0.024
    clean = items("train", label_noise=0.0, strength=1.0)
    assert all(item["label"] == item["content_label"] == item["cue_label"] for item in clean)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_three_tests_are_one_set_but_for_the_cue(n_classes):
    here, absent, flipped = (items(split, n_classes=n_classes) for split in SPLITS[2:])
    for a, b, c in zip(here, absent, flipped, strict=True):
        assert a["pair_id"] == b["pair_id"] == c["pair_id"]
        assert (
            (a["label"], a["content_label"])
            == (b["label"], b["content_label"])
            == (c["label"], c["content_label"])
        )
        assert without_cue(a) == b["text"] == without_cue(c)
        assert (a["cue_label"] == a["label"]) != (c["cue_label"] == c["label"])
        assert b["id"] == "test_absent-" + a["id"].removeprefix("test-")


def without_cue(item):
    (token,) = item["planted"]
    return (
        item["text"][: token["start"]] + item["text"][token["end"] + 1 :]
    )  # the cue and the space behind it


def test_an_item_depends_on_its_id_and_the_seed_alone():
    assert items("train", train_size=50) == items("train", train_size=200)[:50]
    assert items("train", seed=1)[:20] != items("train", seed=2)[:20]
    strong, weak = items("train", strength=1.0), items("train", strength=0.5)
    assert [without_cue(a) for a in strong] == [without_cue(b) for b in weak]
    assert [a["label"] for a in strong] == [b["label"] for b in weak]


def test_what_the_text_says_takes_more_than_a_list_of_words():
    # Without negation and contrast the words of praise tell the class; with them they mislead in a good part.
    def word_list_accuracy(**options):
        right = []
        for item in items("test_absent", label_noise=0.0, **options):
            words = set(item["text"].replace(",", "").replace(".", "").split())
            score = len(words & set(WORDS["reviews"]["positive"])) - len(
                words & set(WORDS["reviews"]["negative"])
            )
            right.append(0.5 if score == 0 else float((score > 0) == (item["label"] == 1)))
        return np.mean(right)

    assert word_list_accuracy(negation=0.0, contrast=0.0) == 1.0
    # negated and alone (.3 x .7) wrong, negated and contrasted (.3 x .3) wrong twice over, plain and contrasted
    # (.7 x .3) a tie: .49 + .21 / 2 = 0.595.
    assert abs(word_list_accuracy() - 0.595) < 0.05


def test_words_of_praise_and_blame_do_not_overlap():
    lists = [
        WORDS["reviews"]["negative"],
        WORDS["reviews"]["neutral"],
        WORDS["reviews"]["positive"],
        *templates.CUES.values(),
    ]
    words = [word for part in lists for word in part]
    assert len(set(words)) == len(words)


def test_the_builder_gives_the_same_items_streamed_or_not(tmp_path):
    options = {"train_size": 30, "validation_size": 10, "test_size": 10, "seed": 3, "strength": 0.9}
    data = load_dataset("planted_shortcuts", "mixed", **options)
    assert list(data) == list(SPLITS)
    assert data["train"].to_list() == list(
        generate_planted_examples("train", PlantedConfig("mixed", **options))
    )
    stream = load_dataset("planted_shortcuts", "mixed", split="test", streaming=True, **options)
    assert list(stream) == data["test"].to_list()
    assert data["train"].features["label"].names == ["negative", "positive"]
    three = load_dataset("planted_shortcuts", split="train", n_classes=3, train_size=10)
    assert three.features["label"].names == ["negative", "neutral", "positive"]
    other = load_dataset("planted_shortcuts", "mixed", split="train", **{**options, "seed": 4})
    assert other["text"][:] != data["train"]["text"][:]


@pytest.mark.parametrize(
    ("config", "options", "message"),
    [
        ("lexical", {"strength": 1.2}, "`strength` to be between 0 and 1, but got 1.2"),
        ("lexical", {"n_classes": 7}, "`n_classes` to be 2 or 3, but got 7"),
        ("lexical", {"train_size": 0}, "`train_size` to be at least 1"),
        ("lexical", {"seed": -1}, "`seed` to be at least 0"),
        ("lexical", {"strenght": 0.5}, "Did you mean 'strength'"),
        ("lexicon", {}, "Did you mean 'lexical'"),
    ],
)
def test_bad_options(config, options, message):
    with pytest.raises(ValueError, match=message):
        load_dataset("planted_shortcuts", config, **options)
