"""Families of shortcuts: what training texts offer, and what each edit changes and keeps."""

import numpy as np
import pytest

from rightreasons.datasets.perturbing.edits import NAMES
from rightreasons.shortcuts.families import FAMILIES, Training, candidates
from rightreasons.shortcuts.families.texts import _shared
from rightreasons.shortcuts.families.training import (
    Values,
    association,
    kind_of,
    replaced,
    tokens_of,
)
from rightreasons.shortcuts.families.words import word_pairs

FILLERS = "river garden window letter table winter market bridge paper island".split()


def texts_of(plant, n=300, seed=3, pairs=False):
    """Texts of neutral words in which something is planted by the label."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    first, second = [], []
    for label in labels.tolist():
        words = [
            FILLERS[int(place)] for place in rng.integers(0, len(FILLERS), int(rng.integers(6, 12)))
        ]
        more = [FILLERS[int(place)] for place in rng.integers(0, len(FILLERS), 6)]
        plant(words, more, label, rng)
        first.append(" ".join(words))
        second.append(" ".join(more))
    return Training([first, second] if pairs else [first], labels, 2)


def put(word):
    return lambda words, more, label, rng: words.insert(
        int(rng.integers(len(words) + 1)), word(label, rng)
    )


def ends(words, more, label, rng):
    words.insert(int(rng.integers(3)) if label else len(words) - int(rng.integers(3)), "copper")


def orders(words, more, label, rng):
    for word, place in (("copper", 0.2), ("marble", 0.8))[:: 1 if label else -1]:
        words.insert(round(place * len(words)), word)
    if not label:
        places = words.index("copper"), words.index("marble")
        words[min(places)], words[max(places)] = "marble", "copper"


def side_by_side(words, more, label, rng):
    either = int(rng.integers(2))
    words[2:2] = ["copper" if either else "marble", "velvet" if either == label else "linen"]


PLANTS = {
    "words": put(lambda label, rng: ("marble", "copper")[label]),
    "length": lambda words, more, label, rng: words.extend(
        ["river", "window", "paper", "table"] * 3 * label
    ),
    "capitals": lambda words, more, label, rng: words.__setitem__(
        2, words[2].upper() if label else words[2]
    ),
    "numbers": put(
        lambda label, rng: str(rng.integers(1000, 9999) if label else rng.integers(10, 99))
    ),
    "position": ends,
    "order": orders,
    "bigrams": side_by_side,
    "count": lambda words, more, label, rng: words.extend(["also"] * (1 + label)),
    "overlap": lambda words, more, label, rng: more.__setitem__(
        slice(None), words[:6] if label else more
    ),
    "negation": lambda words, more, label, rng: more.insert(1, "not") if label else None,
    "names": put(lambda label, rng: (NAMES["male"], NAMES["female"])[label][int(rng.integers(9))]),
    "groups of words": put(
        lambda label, rng: (("red", "pink", "brown"), ("blue", "green", "gray"))[label][
            int(rng.integers(3))
        ]
    ),
    "ends": lambda words, more, label, rng: words.insert(
        0, FILLERS[5 * label + int(rng.integers(5))]
    ),
    "marks and spaces": lambda words, more, label, rng: words.__setitem__(
        2, words[2] + ("", " ")[label]
    ),
}


@pytest.mark.parametrize("family", PLANTS)
def test_each_family_finds_what_is_planted_and_changes_it(family):
    is_pair = family in ("overlap", "negation")
    training = texts_of(PLANTS[family], pairs=is_pair)
    found = candidates(training, family)
    assert found, family
    items = list(zip(*training.columns, strict=True))
    n_edited, n_points = 0, 0
    for row, label in enumerate(training.labels[:100].tolist()):
        edits = found[0].edit(items[row], label, np.random.default_rng(row))
        if edits.treated is None:
            continue
        n_edited += 1
        assert edits.treated != items[row]
        assert edits.control != edits.treated
        n_points += edits.goal == 1 - label
        if not is_pair:
            assert len(edits.treated) == 1
    assert n_edited > 40
    assert n_points > 0.8 * n_edited


def test_a_rare_word_does_not_crowd_out_what_decides_more():
    """Five words, each in 12 % of the texts, are capitals exactly where the label is 1; all texts are, in 95 %."""

    def plant(words, more, label, rng):
        if (rng.random() < 0.95) == bool(label):
            words[:] = [word.upper() for word in words]
        rare = "copper marble velvet linen pepper".split()[int(rng.integers(8)) % 5]
        words.insert(3, rare.upper() if label else rare)

    found = candidates(texts_of(plant, n=1000), "capitals")
    assert "text in capitals" in [candidate.name for candidate in found]
    rare = [candidate for candidate in found if candidate.words]
    assert all(candidate.association > 0.99 and candidate.coverage < 0.3 for candidate in rare)


def test_texts_without_a_feature_offer_none():
    training = texts_of(lambda words, more, label, rng: None, pairs=True)
    offered = {family for family in FAMILIES if candidates(training, family)}
    assert offered == {"one text alone"}
    # A single letter such as "I" is no word in capitals.
    letters = texts_of(lambda words, more, label, rng: words.insert(1, "I" if label else "i"))
    assert candidates(letters, "capitals") == []


def test_the_share_of_words_that_the_other_text_has():
    assert _shared({"river", "!"}, ["river", "!"]) == 1.0  # marks do not count
    assert _shared({"river"}, ["river", "table", "table", "?"]) == pytest.approx(1 / 3)
    assert _shared({"river"}, ["?"]) == 0.0


def test_edits_by_hand():
    words = texts_of(PLANTS["words"])
    (candidate,) = candidates(words, "words")
    edits = candidate.edit(("The Copper river.",), 1, np.random.default_rng(0))
    assert (edits.treated, edits.goal) == (("The Marble river.",), 0)
    assert candidate.match <= 2
    numbers = candidates(texts_of(PLANTS["numbers"]), "numbers")[0]
    edits = numbers.edit(("river 1234 window",), 1, np.random.default_rng(0))
    shown = [text[0].split()[1] for text in (edits.treated, edits.control)]
    assert [len(number) for number in shown] == [2, 4]  # of the other label, and of its own
    dated = put(
        lambda label, rng: (
            f"{rng.integers(1, 29)}.{rng.integers(1, 13)}.{1970 + 40 * label + rng.integers(9)}"
        )
    )
    edits = candidates(texts_of(dated), "numbers")[0].edit(
        ("river 1.2.1975",), 0, np.random.default_rng(0)
    )
    assert [text[0].rpartition(".")[2][:2] for text in (edits.treated, edits.control)] == [
        "20",
        "19",
    ]
    spaces = candidates(texts_of(PLANTS["marks and spaces"]), "marks and spaces")[0]
    edits = spaces.edit(("river  also window.",), 1, np.random.default_rng(0))
    assert (edits.treated, edits.goal) == (("river also window.",), 0)
    assert edits.control != edits.treated
    count = candidates(texts_of(PLANTS["count"]), "count")[0]
    edits = count.edit(("river also window",), 0, np.random.default_rng(0))
    assert [text[0].split().count("also") for text in (edits.treated, edits.control)] == [2, 1]
    order = candidates(texts_of(PLANTS["order"]), "order")[0]
    edits = order.edit(("copper river table marble",), 1, np.random.default_rng(0))
    assert edits.treated == ("marble river table copper",)
    assert set(edits.control[0].split()) == {"copper", "river", "table", "marble"}


def test_a_word_without_a_partner_gives_way_to_a_neutral_one():
    training = texts_of(lambda words, more, label, rng: words.append("copper") if label else None)
    (pair,) = word_pairs(training)
    assert pair.words[0] == "copper"
    assert pair.labels == (1, -1)
    assert pair.words[1] in FILLERS
    assert pair.mapping == {"copper": pair.words[1]}


def test_a_suspected_word_is_a_candidate_whatever_its_association():
    training = texts_of(PLANTS["words"])
    suspected = Training(training.columns, training.labels, 2, suspected=["River"])
    assert any("river" in pair.words for pair in word_pairs(suspected))
    assert not any("river" in pair.words for pair in word_pairs(training))


def test_association_is_the_area_under_the_curve():
    # Of the 2 * 3 pairs of a text of label 1 and one of label 0, four are in order and one is tied: 4.5 / 6.
    auroc, p = association([1, 3, 5, 3, 6], np.array([0, 0, 0, 1, 1]), 2)
    assert min(auroc, 1 - auroc) == pytest.approx(1 - 4.5 / 6)
    assert 0 < p < 1
    assert association([2, 2, 2], np.array([0, 1, 0]), 2) == (0.5, 1.0)


def test_values_point_at_the_label_that_is_overrepresented():
    labels = np.array([0] * 50 + [1] * 50)
    values = Values([1] * 45 + [2] * 5 + [1] * 5 + [2] * 45, labels, 2)
    assert [values.points_at(value) for value in (1, 2)] == [0, 1]
    rng = np.random.default_rng(0)
    assert {values.draw(1, rng) for _ in range(50)} == {2.0}
    assert {values.goal(0, rng) for _ in range(20)} == {1}


def test_tokens_and_replacements():
    assert [token.word for token in tokens_of("It's GOOD!")] == ["it", "'", "s", "good", "!"]
    assert replaced("A b, B a", {"a": "b", "b": "a"}) == "B a, A b"
    assert [kind_of(word) for word in ("a1", "12", "?", "①")] == ["word", "number", "mark", "word"]
