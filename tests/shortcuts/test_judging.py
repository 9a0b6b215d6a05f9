"""What is no reason for a label, and what follows for the verdict."""

import dataclasses
import itertools
import time
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.verdicts.classes import RuleModel, by_chance

from rightreasons.core.decisions import Decision
from rightreasons.core.estimates import Estimate
from rightreasons.core.intervals import Interval
from rightreasons.core.resampling import Resampling
from rightreasons.shortcuts.families.training import Training
from rightreasons.shortcuts.judging import TONES, Judge, conclude, vanishing_words
from rightreasons.shortcuts.measure_deciding import (
    FamilyEffect,
    SwapMeasurement,
    _Trial,
    measure_swaps,
)
from rightreasons.shortcuts.question import SHORTCUTS
from rightreasons.shortcuts.swaps import DecidingShare


def row(level="large", family="words", words=("copper", "marble"), share=0.4, n_pairs=1):
    effect = DecidingShare(
        share, Interval(share - 0.1, share + 0.1, 0.95, "by hand"), 200, 0.5, 0.8, 0.0
    )
    return FamilyEffect(
        family, family, words, 0.7, 1.0, effect, Decision(level, 200), n_pairs=n_pairs
    )


def swaps(*rows, accuracy=(0.8, 0.9), untested=None, most_frequent=0.5, pairs=()):
    right = Estimate(sum(accuracy) / 2, *accuracy)
    return SwapMeasurement(
        rows, untested or {}, (), pairs, right, most_frequent, right, 200, 200, 1000
    )


@pytest.mark.parametrize(
    ("judge", "measured", "conclusion"),
    [
        (Judge(), swaps(row()), "named"),
        (Judge(planted=frozenset({"copper", "marble"})), swaps(row()), "followed"),
        (
            Judge(planted=frozenset({"copper"}), vanishing=frozenset({"marble"})),
            swaps(row()),
            "followed",
        ),
        (Judge(not_reasons=frozenset({"copper", "marble"})), swaps(row()), "followed"),
        # Of "great", which means the label, and "copper", either may decide.
        (Judge(not_reasons=frozenset({"copper"})), swaps(row(words=("copper", "great"))), "named"),
        (Judge(vanishing=frozenset({"copper"})), swaps(row(words=("copper", "great"))), "named"),
        (Judge(reasons=frozenset({"copper", "marble"})), swaps(row()), "reasons"),
        (Judge(reasons=frozenset({"copper"})), swaps(row()), "named"),  # the other is open
        (
            Judge(reasons=frozenset({"copper", "marble"})),
            swaps(row(), row("unknown", "length", ())),
            "open",
        ),
        (
            Judge(not_reasons=frozenset({"length"})),
            swaps(row(family="length", words=())),
            "followed",
        ),
        (Judge(), swaps(row("small")), "spread"),
        (Judge(planted=frozenset({"copper"})), swaps(row("small")), "spread"),
        (Judge(), swaps(row("small"), row("unknown", "order")), "open"),
        (Judge(), swaps(row("some")), "open"),
        (Judge(), swaps(row("small"), untested={"numbers": "no item has any"}), "open"),
        (Judge(), swaps(), "open"),  # nothing was tried
        # Of 100 items 5 are of the rare label: what decides all of them decides a twentieth.
        (Judge(), swaps(row("small"), most_frequent=0.95, accuracy=(0.97, 1.0)), "rare"),
        (Judge(), swaps(row(), most_frequent=0.95), "named"),
        (Judge(), swaps(row("small"), accuracy=(0.45, 0.6)), "no_skill"),
        (
            Judge(),
            swaps(row(), accuracy=(0.45, 0.6)),
            "named",
        ),  # a follower may be at chance where its cue is turned
        # Lists speak where the labels tell the task.
        (Judge(("Negative", "positive")), swaps(row(words=(".", "!"))), "followed"),
        (Judge(("World", "Sports")), swaps(row(words=("the", "of"))), "followed"),
        (Judge(("negative", "positive")), swaps(row(words=("the", "awful"))), "named"),
        (Judge(("negative", "positive")), swaps(row(words=("not",))), "named"),
        (Judge(("negative", "positive")), swaps(row(family="length", words=())), "followed"),
        (
            Judge(("negative", "positive"), reasons=frozenset({"!", "."})),
            swaps(row(words=(".", "!"))),
            "reasons",
        ),
        (Judge(("yes", "no")), swaps(row(words=(".", "!"))), "named"),
        (
            Judge(("description", "entity")),
            swaps(row(words=("what", "who"))),
            "named",
        ),  # there words are reasons
    ],
)
def test_conclusions(judge, measured, conclusion):
    assert conclude(measured, judge) == conclusion
    assert conclusion in TONES


def test_beside_words_that_are_reasons_pairs_count_one_by_one():
    great, copper = row(words=("great", "awful"), share=0.6), row(words=("copper", "marble"))
    both = row(words=("great", "awful", "copper", "marble"), share=0.9, n_pairs=2)
    reasons = frozenset({"great", "awful"})
    assert conclude(swaps(both, great, pairs=(great, copper)), Judge(reasons=reasons)) == "named"
    judge = Judge(reasons=reasons, not_reasons=frozenset({"copper", "marble"}))
    assert conclude(swaps(both, great, pairs=(great, copper)), judge) == "followed"
    harmless = row("small", words=("copper", "marble"), share=0.01)
    assert conclude(swaps(both, great, pairs=(great, harmless)), judge) == "reasons"


def test_red_needs_a_feature_that_is_no_reason():
    assert [key for key, tone in TONES.items() if tone == "bad"] == ["followed"]


def test_an_association_that_vanishes_elsewhere():
    texts = ["copper film", "copper scene", "awful film", "awful scene"] * 30
    labels = np.array([1, 1, 0, 0] * 30)
    other = ["copper film", "copper scene", "awful film", "awful scene", "river", "table"] * 30
    elsewhere = np.array(
        [1, 0, 0, 0, 1, 1] * 30
    )  # "copper" says nothing there, "awful" what it said
    found = vanishing_words(
        ("copper", "awful", "zeppelin"), (texts, labels), (other, elsewhere), Resampling()
    )
    assert found == {"copper"}
    # Few texts tell nothing.
    assert not vanishing_words(
        ("copper",), (texts, labels), (other[:6], elsewhere[:6]), Resampling()
    )


def test_rows_are_plain():
    assert dataclasses.replace(row(), n_pairs=2).to_dict()["n_pairs"] == 2


@pytest.mark.parametrize(
    ("unsure", "sentence"),
    [
        # One pair: 0.15 -/+ 0.1 around a tenth. Four words: beside half of the predictions, not beside a quarter.
        (
            row("unknown", share=0.15),
            "but the words “copper” and “marble” may decide more than a tenth: 15.0% [5",
        ),
        (
            row("unknown", words=("great", "awful", "fine"), share=0.53, n_pairs=2),
            "words does too much is open: together, the words “great”, “awful” and “fine” decide 53.0% [43.0",
        ),
    ],
)
def test_what_is_open_is_said_of_its_own_margin(unsure, sentence):
    m = SimpleNamespace(
        swaps=SimpleNamespace(rows=[unsure], n_items=200, n_available=200, untested={}),
        n_needed=None,
    )
    said = " ".join(SHORTCUTS.prose.of(m=m)("verdict.open").split())
    assert said.startswith(
        "No single feature is shown to decide more than a quarter of the predictions on 200 items"
    )
    assert sentence in said


@pytest.mark.parametrize(
    ("n_items", "seconds", "n_done", "error"),
    [
        (40, 0, 40, 0.05),  # one look, which is begun whatever the time
        (150, 10, 150, 0.05 * (1 - (100 / 150) ** 2)),  # the second look spends what the first left
        (150, 2, 100, 0.05 * (100 / 150) ** 2),  # 2 s until then promise 2 * 150 / 100 = 3 s
    ],
)
def test_looks_spend_the_error_as_the_items_grow(monkeypatch, n_items, seconds, n_done, error):
    rng = np.random.default_rng(0)

    def texts(n):
        labels = rng.integers(2, size=n)
        words = rng.choice(["river", "garden", "window", "letter", "table"], (n, 4))
        return [
            " ".join([*row, ("marble", "copper")[label]])
            for row, label in zip(words, labels, strict=True)
        ], labels

    # The word decides in some 17 % of the texts, which is between the margins.
    model = RuleModel(
        lambda text: "copper" in text.lower() or -1 if text.count("river") > 1 else by_chance(text)
    )
    (train, labels), (items, gold) = texts(80), texts(n_items)
    monkeypatch.setattr(time, "perf_counter", itertools.count(7).__next__)
    ids = [str(row) for row in range(n_items)]
    predictions, training = model.predict(items).predicted, Training([train], labels, 2)
    found = measure_swaps(
        model, [items], predictions, training, ids=ids, labels=gold, seconds=seconds
    )
    assert found.n_items == n_done
    # Three tests: of the pair of words, and of two and three pairs.
    assert found.rows[0].effect.interval.confidence_level == pytest.approx(1 - error / 3)


def test_an_item_is_measured_by_what_is_strongest_on_the_other_half():
    # On even rows "a" is the strongest, on odd ones "b", on all "a" with three changes of five.
    changes = {"a": (1, 0, 1, 0, 1), "b": (0, 1, 0, 1, 0)}
    trial = SimpleNamespace(n_screened=5, changes=lambda candidate, row: changes[candidate][row])
    assert _Trial.choice(trial, ["a", "b"], 7) == ["b", "a", "b", "a", "b", "a", "a"]
    assert _Trial.choice(trial, ["a"], 2) == ["a", "a"]


def test_the_strongest_pairs_are_swapped_two_and_three_at_a_time():
    pairs = [SimpleNamespace(column=0, words=(f"w{number}",)) for number in range(7)]
    groups = _Trial.groups(
        SimpleNamespace(offered={}, word_pairs=pairs, joint=lambda chosen: chosen)
    )
    # Of the six strongest two, and of the five strongest three: 6 * 5 / 2 and 5 * 4 * 3 / 6.
    assert {key: len(joined) for key, joined in groups.items()} == {
        ("words", 2): 15,
        ("words", 3): 10,
    }
