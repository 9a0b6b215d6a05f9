"""A short form of the bench of verdicts: followers are named or red, readers are neither, and the order is kept."""

import json

import pytest
from benchmarks.verdicts.__main__ import LEVELS, STORED, counts_as, rank_auroc, scenarios, summary
from benchmarks.verdicts.classes import PARTS, SCENARIOS

N_ITEMS = 150
FOLLOWERS = (
    "follows a word of 1.0",
    "follows two words that say the same",
    "follows three words, each in a third of the texts",
    "follows a bigram",
    "follows the order of two words",
    "follows the position of a word",
    "follows any capitals",
    "follows a mark",
    "follows the digits of a number",
    "follows the length",
    "follows how often a word is there",
)
OTHERS = ("reads, ignores a word of .95", "reads, ignores a mark", "constant")


@pytest.mark.parametrize("name", FOLLOWERS)
def test_a_follower_is_named(name):
    assert SCENARIOS[name].run(N_ITEMS, 1) in ("warn", "bad")


@pytest.mark.parametrize("name", OTHERS)
def test_another_model_is_not(name):
    assert SCENARIOS[name].run(N_ITEMS, 1) in ("good", "neutral")


def test_the_share_is_the_truth():
    """The planted word decides all predictions of its follower, and those of the mixed model in its share of texts."""
    for name in ("follows a word of .9", "follows a word in 60 % of the texts"):
        truth, strength, part = PARTS[name]
        row = next(row for row in part.measure(N_ITEMS, 1).rows if row.family == "words" and row.n_pairs == 1)
        interval = row.effect.interval
        assert truth == "follower"
        assert interval.low <= strength <= interval.high
        assert set(row.words) == {"copper", "marble"}


def test_the_page_counts():
    known = {name: SCENARIOS[name] for name in ("follows a word of 1.0", "reads, nothing planted")}
    rows = [("follows a word of 1.0", 200, seed, tone) for seed, tone in enumerate(("warn", "good", "bad"))]
    rows += [("reads, nothing planted", 200, seed, tone) for seed, tone in enumerate(("neutral", "good"))]
    text = "\n".join(summary(rows, known))
    assert "| shortcuts | 200 | 1 of 3 | 0 of 2 | 2 of 2 | 2 of 3 | 1 of 5 | 0.75 |" in text
    # Of the 3 * 2 pairs, the follower is worse in 2 + 2, and in one pair with its green one there is a tie: 4.5 / 6.
    assert rank_auroc([LEVELS[t] for t in ("warn", "good", "bad")], [LEVELS["neutral"], LEVELS["good"]]) == 0.75


def test_readme_counts(root):
    """Runs of models with a fault and without, at 50 to 1,000 items, and what was said of them."""
    known = scenarios()
    rows = [(counts_as(known[name]), n, tone) for name, n, _, tone in json.loads(STORED.read_text("utf-8"))
            if not name.startswith("fine-tuned")]  # fmt: skip
    faults = [(n, tone) for truth, n, tone in rows if truth == "follower"]
    others = [tone for truth, _, tone in rows if truth == "reader"]
    enough = [tone for n, tone in faults if n >= 200]
    named = sum(tone in ("warn", "bad") for tone in enough)
    assert "good" not in {tone for _, tone in faults}
    assert "bad" not in others
    text = " ".join((root / "README.md").read_text("utf-8").split())
    assert f"none of {len(faults)} runs of models with a fault is green" in text
    assert f"{named} of {len(enough)} are named; of {len(others)} runs of models without one, none is red" in text
