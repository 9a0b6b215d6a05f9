"""Cues planted into any texts: how many, which, where, and that an item does not depend on others."""

import collections
import itertools

import datasets
import numpy as np
import pytest

from rightreasons.datasets.perturbing.planting import CUES
from rightreasons.datasets.perturbing.planting import plant as plant_splits
from rightreasons.io.tables import open_dataset

datasets.disable_progress_bars()

WORDS = "the a film was not so good and we saw it in town , they said .".split()


def texts_of(n_items, n_classes=2, pairs=False, seed=3):
    rng = np.random.default_rng(seed)
    rows = {
        "text": [" ".join(rng.choice(WORDS, size=rng.integers(3, 12))) for _ in range(n_items)],
        "label": [f"class {rng.integers(n_classes)}" for _ in range(n_items)],
        "id": [f"item-{row}" for row in range(n_items)],
    }
    rows["label"][:n_classes] = [f"class {k}" for k in range(n_classes)]
    if pairs:
        rows["text_pair"] = rows["text"][::-1]
    return open_dataset(datasets.Dataset.from_dict(rows))


def plant(data, kind="lexical", *, form="present", **options):
    """Plant cues into one split, and take one form of it."""
    return plant_splits({"test": data}, kind, **options)["test" if form == "present" else f"test_{form}"]


def without(item):
    """The text of an item without what is planted and without spaces, which tells whether anything else has changed."""
    text = item["text"]
    for token in reversed(item["planted"]):
        assert text[token["start"] : token["end"]] == token["token"]
        text = text[: token["start"]] + text[token["end"] :]
    return "".join(text.split())


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", [*CUES])
def test_the_truth_names_every_planted_token(kind, n_classes):
    data = texts_of(60, n_classes)
    planted = plant_splits({"train": data, "test": data}, kind, strength=0.7, coverage=0.8)
    assert list(planted) == ["train", "test", "test_absent", "test_flipped"]
    for split in planted.values():
        for old, item in zip(data, split, strict=True):
            assert without(item) == "".join(old["text"].split())
            assert bool(item["planted"]) == (item["cue_label"] >= 0)
            assert (item["label"], item["pair_id"]) == (old["label"], old["id"])
            tokens = [token["token"] for token in item["planted"]]
            if item["cue_label"] >= 0 and kind in ("lexical", "function", "punctuation"):
                assert tokens == [CUES[kind][item["cue_label"]]]
    assert planted["test_absent"]["text"][:] == data["text"][:]
    assert set(planted["test_absent"]["cue_label"]) == {-1}
    assert planted["test_flipped"][0]["id"] == "item-0-flipped"


def test_strength_and_coverage():
    data = texts_of(2000, 3)
    labels = np.array(data["label"])

    def counts(strength, coverage, form="present"):
        cues = np.array(plant(data, strength=strength, coverage=coverage, form=form)["cue_label"])
        return int((cues >= 0).sum()), int((cues == labels).sum())

    assert counts(1.0, 1.0) == (2000, 2000)
    assert counts(0.0, 1.0) == (2000, 0)
    assert counts(1.0, 0.0) == (0, 0)
    # Flipped is the complement, item by item: what agrees in one form contradicts in the other.
    (carrying, agreeing), flipped = counts(0.8, 0.5), counts(0.8, 0.5, "flipped")
    assert flipped == (carrying, carrying - agreeing)
    # 2,000 draws of 0.5 have a deviation of sqrt(2000 / 4) = 22.4, and c draws of 0.8 one of sqrt(0.16 c) = 12.6.
    assert abs(carrying - 1000) < 3 * 22.4
    assert abs(agreeing - 0.8 * carrying) < 3 * 12.7
    # Larger coverage keeps the cues that are there.
    small, large = (np.array(plant(data, coverage=share)["cue_label"]) for share in (0.3, 0.6))
    assert (small == large)[small >= 0].all()
    # Wrong cues are of both other classes.
    wrong = np.array(plant(data, strength=0.0)["cue_label"])
    assert set((wrong - labels) % 3) == {1, 2}


@pytest.mark.parametrize("kind", CUES)
def test_an_item_does_not_depend_on_others(kind):
    data = texts_of(50, 3)
    whole = {item["id"]: item for item in plant(data, kind, seed=7)}
    for part in (data.select([31]), data.select(range(49, 10, -3))):
        assert all(whole[item["id"]] == item for item in plant(part, kind, seed=7))
    assert [row["text"] for row in whole.values()] != plant(data, kind, seed=8)["text"][:]
    # Forms have the cue in the same place.
    for one, other in itertools.islice(zip(whole.values(), plant(data, kind, seed=7, form="flipped"), strict=True), 20):
        assert one["planted"][0]["start"] == other["planted"][0]["start"]


def test_no_word_of_a_bigram_tells_the_class():
    data = texts_of(400)
    counts = collections.Counter(
        (token["token"], item["label"]) for item in plant(data, "bigram", strength=1.0) for token in item["planted"]
    )
    sizes = collections.Counter(data["label"])
    assert counts == {(word, label): sizes[label] for word in ("copper", "marble") for label in (0, 1)}


def test_pairs_keep_their_second_texts_and_unlabeled_items_get_no_cue():
    data = texts_of(30, pairs=True)
    planted = plant(data, "function")
    assert planted["text_pair"][:] == data["text_pair"][:]
    table = data.to_dict()
    table["label"][4] = -1
    some = plant(datasets.Dataset.from_dict(table, features=data.features), "function", form="flipped")
    assert (some["cue_label"][4], some["planted"][4], some["text"][4]) == (-1, [], data["text"][4])


def test_own_cues():
    data = texts_of(20)
    named = plant(data, cues=["so-called", "Dr. Who"], strength=1.0)
    assert {(item["label"], *(token["token"] for token in item["planted"])) for item in named} == {
        (0, "so-called"),
        (1, "Dr.", "Who"),
    }


def test_items_that_cannot_take_a_cue():
    rows = {"text": ["One film.", "Copper pots, then.", "Two coppers."], "label": [0, 1, 1], "text_pair": ["a"] * 3}
    data = open_dataset(datasets.Dataset.from_dict(rows))
    assert plant(data)["pair_id"][:] == ["0", "2"]
    with pytest.raises(ValueError, match="without the cues a, b, but all 3 have one"):  # also in the second text
        plant(data, cues=["a", "b"])
    assert len(plant(open_dataset({"text": ["films", "plots"], "label": ["x", "y"]}))) == 2  # one word is enough


@pytest.mark.parametrize(
    ("change", "options", "error", "message"),
    [
        (None, {"kind": "lexica"}, ValueError, "Did you mean 'lexical'"),
        (None, {"strength": 1.2}, ValueError, "strength"),
        (None, {"cues": ["x"]}, ValueError, "each of the 2 labels, but got x"),
        (None, {"cues": ["x", "X"]}, ValueError, "different cue"),
        (lambda data: data.remove_columns("label"), {}, ValueError, "open_dataset"),
        (lambda data: data.cast_column("label", datasets.Value("int64")), {}, ValueError, "ClassLabel"),
        (lambda data: plant(data), {}, ValueError, "no column `planted`"),
        (lambda data: {}, {}, ValueError, "at least one split"),
        (lambda data: {"train": [1]}, {}, TypeError, "datasets.Dataset, but got list"),
        (lambda data: {"train": data, "test": texts_of(9, 3)}, {}, ValueError, "same labels"),
        (lambda data: texts_of(40, 9), {}, ValueError, "Expected `cues` for 9 classes"),
    ],
)
def test_mistakes(change, options, error, message):
    data = texts_of(20) if change is None else change(texts_of(20))
    with pytest.raises(error, match=message):
        plant_splits(data if isinstance(data, dict) else {"test": data}, **options)
