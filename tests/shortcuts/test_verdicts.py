"""A short form of the bench of verdicts: followers are named or red, readers are neither, and the order is kept."""

import pytest
from benchmarks.verdicts import surface
from benchmarks.verdicts.__main__ import LEVELS, rank_auroc, summary
from benchmarks.verdicts.classes import PARTS, SCENARIOS

N_ITEMS = 150
FOLLOWERS = (
    "follows a word of 1.0",
    "follows two words that say the same",
    "follows three words, each in a third of the texts",
    "follows any capitals",
    "follows a mark",
    "follows the digits of a number",
    "follows the length",
    "follows names",
    "follows the first letter, one label rare",
    "follows double spaces, which never lie",
    "follows line ends, three labels",
    "follows either of two words in one label's texts",
)
OTHERS = ("reads, nothing planted", "constant", "reads, ignores names")


@pytest.mark.parametrize("name", FOLLOWERS)
def test_a_follower_is_named(name):
    assert (SCENARIOS | surface.SCENARIOS)[name].run(N_ITEMS, 1) in ("warn", "bad")


@pytest.mark.parametrize("name", OTHERS)
def test_another_model_is_not_red(name):
    assert (SCENARIOS | surface.SCENARIOS)[name].run(N_ITEMS, 1) != "bad"


def test_the_share_is_the_truth():
    """The planted word decides all predictions of its follower, and those of the mixed model in its share of texts."""
    for name in ("follows a word of .9", "follows a word in 60 % of the texts"):
        truth, strength, part = PARTS[name]
        row = next(row for row in part.measure(N_ITEMS, 1).rows if row.test == "words")
        interval = row.effect.interval
        assert truth == "follower"
        assert interval.low <= strength <= interval.high
        assert set(row.words) == {"copper", "marble"}


def test_the_page_counts():
    known = {name: SCENARIOS[name] for name in ("follows a word of 1.0", "reads, nothing planted")}
    rows = [
        ("follows a word of 1.0", 200, seed, tone)
        for seed, tone in enumerate(("warn", "good", "bad"))
    ]
    rows += [
        ("reads, nothing planted", 200, seed, tone) for seed, tone in enumerate(("neutral", "good"))
    ]
    text = "\n".join(summary(rows, known))
    assert "| shortcuts | 1 of 3 | 0 of 2 | 2 of 3 | 1 of 5 | 0.75 |" in text
    # Of the 3 * 2 pairs, the follower is worse in 2 + 2, and in one pair with its green one there is a tie: 4.5 / 6.
    assert (
        rank_auroc(
            [LEVELS[t] for t in ("warn", "good", "bad")], [LEVELS["neutral"], LEVELS["good"]]
        )
        == 0.75
    )
