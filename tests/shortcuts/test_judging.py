"""What is no reason for a label, and what follows for the verdict."""

import numpy as np
import pytest

from rightreasons.core.decisions import Decision
from rightreasons.core.estimates import Estimate
from rightreasons.core.intervals import Interval
from rightreasons.core.resampling import Resampling
from rightreasons.shortcuts.judging import TONES, Judge, conclude, find_vanishing_words
from rightreasons.shortcuts.measure_deciding import FeatureEffect, SwapMeasurement
from rightreasons.shortcuts.swaps import DecidingShare


def make_row(level="large", test="words", words=("copper", "marble"), share=0.4, name=None):
    interval = Interval(share - 0.1, share + 0.1, 0.95, "by hand")
    effect = DecidingShare(share, interval, 200, 0.5, 0.8, 0.0)
    return FeatureEffect(test, name or test, words, effect, Decision(level, 200))


def make_swaps(
    *rows, accuracy=(0.8, 0.9), untested=None, most_frequent=0.5, pairs=(), insertions=()
):
    estimate = Estimate(sum(accuracy) / 2, *accuracy)
    return SwapMeasurement(
        rows=rows,
        untested=untested or {},
        pairs=pairs,
        insertions=insertions,
        strongest_pair=None,
        accuracy=estimate,
        most_frequent=most_frequent,
        accuracy_without=estimate,
        n_items=200,
        n_available=200,
        n_labeled=200,
        n_passes=1000,
    )


BOTH = frozenset({"copper", "marble"})


@pytest.mark.parametrize(
    ("judge", "swaps", "conclusion"),
    [
        (Judge(), make_swaps(make_row()), "named"),
        (Judge(), make_swaps(make_row("some")), "named"),
        (Judge(planted=BOTH), make_swaps(make_row()), "followed"),
        (Judge(planted=BOTH), make_swaps(make_row(test="declared words")), "followed"),
        (Judge(planted=BOTH), make_swaps(make_row("some")), "named"),
        (
            Judge(planted=frozenset({"copper"}), vanishing=frozenset({"marble"})),
            make_swaps(make_row()),
            "followed",
        ),
        (Judge(not_reasons=BOTH), make_swaps(make_row()), "followed"),
        # Of "great", which means the label, and "copper", either may decide.
        (
            Judge(not_reasons=frozenset({"copper"})),
            make_swaps(make_row(words=("copper", "great"))),
            "named",
        ),
        # A list holds other words, too: it shows nothing about the declared ones.
        (Judge(planted=BOTH), make_swaps(make_row(test="all listed words")), "named"),
        (Judge(reasons=BOTH), make_swaps(make_row()), "open"),  # nothing else was tested
        (Judge(reasons=BOTH), make_swaps(make_row(), make_row("small", "form")), "reasons"),
        (Judge(reasons=frozenset({"copper"})), make_swaps(make_row()), "named"),
        (Judge(reasons=BOTH), make_swaps(make_row(), make_row("unknown", "length", ())), "open"),
        (
            Judge(not_reasons=frozenset({"length"})),
            make_swaps(make_row(test="length", words=())),
            "followed",
        ),
        (
            Judge(reasons=frozenset({"first third"})),
            make_swaps(make_row(test="place", name="first third"), make_row("small")),
            "reasons",
        ),
        (Judge(), make_swaps(make_row("small")), "spread"),
        (Judge(), make_swaps(make_row("small"), make_row("unknown", "form")), "open"),
        (Judge(), make_swaps(make_row("small"), pairs=(make_row("unknown"),)), "open"),
        (
            Judge(),
            make_swaps(make_row("small"), untested={"a word per text": "no scores"}),
            "open",
        ),
        (Judge(), make_swaps(make_row("small"), untested={"place": "short texts"}), "spread"),
        (Judge(), make_swaps(), "open"),
        (
            Judge(),
            make_swaps(make_row("small"), insertions=(make_row("large", "insertion"),)),
            "inserted",
        ),
        # The user calls exactly the inserted words reasons.
        (
            Judge(reasons=BOTH),
            make_swaps(make_row("small", "form", ()), insertions=(make_row("large", "insertion"),)),
            "reasons",
        ),
        # Of 100 items 5 are of the rare label: what decides all of them decides a twentieth.
        (Judge(), make_swaps(make_row("small"), most_frequent=0.95, accuracy=(0.97, 1.0)), "rare"),
        (Judge(), make_swaps(make_row(), most_frequent=0.95), "named"),
        (Judge(), make_swaps(make_row("small"), accuracy=(0.45, 0.6)), "no_skill"),
        # A follower may be at chance where its cue is turned.
        (Judge(), make_swaps(make_row(), accuracy=(0.45, 0.6)), "named"),
    ],
)
def test_conclusions(judge, swaps, conclusion):
    assert conclude(swaps, judge) == conclusion
    assert conclusion in TONES


@pytest.mark.parametrize(
    ("rows", "conclusion"),
    [((make_row("small"),), "untrained"), ((make_row(),), "named")],
)
def test_without_training_texts_there_is_no_green(rows, conclusion):
    assert conclude(make_swaps(*rows), Judge(), has_training=False) == conclusion


def test_red_needs_evidence():
    assert [key for key, tone in TONES.items() if tone == "bad"] == ["followed"]


def test_words_whose_association_vanishes_elsewhere():
    texts = ["copper film", "copper scene", "awful film", "awful scene"] * 30
    labels = np.array([1, 1, 0, 0] * 30)
    other = ["copper film", "copper scene", "awful film", "awful scene", "river", "table"] * 30
    # "copper" says nothing there, "awful" what it said.
    other_labels = np.array([1, 0, 0, 0, 1, 1] * 30)

    words = ("copper", "awful", "zeppelin")
    found = find_vanishing_words(words, (texts, labels), (other, other_labels), Resampling())
    assert found == {"copper"}


def test_few_texts_show_no_vanishing():
    texts = ["copper film", "awful film"] * 60
    labels = np.array([1, 0] * 60)
    other = (["copper film", "copper scene"], np.array([1, 0]))

    assert not find_vanishing_words(("copper",), (texts, labels), other, Resampling())
