"""Verdicts on models of known truth, the short form: followers are never green, readers never red or amber."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.verdicts import behavior, choices, confidence

FOLLOWERS = (
    choices.SCENARIOS["probes: likes words, to no use"],
    choices.SCENARIOS["probes: likes the cue, right in 80 %"],
    choices.SCENARIOS["probes: always A"],
    choices.SCENARIOS["cues: takes the cue, right in 80 %"],
    confidence.SCENARIOS["calibration: 15 points overconfident"],
    behavior.SCENARIOS["behavior: passes half of each test"],
    behavior.SCENARIOS["behavior: one answer to everything"],
)
READERS = (
    choices.SCENARIOS["probes: reads the question"],
    choices.SCENARIOS["probes: reads the question, by letters"],
    choices.SCENARIOS["probes: reads the question, ignores a cue of 80 %"],
    choices.SCENARIOS["cues: reads, no cue in the data"],
    confidence.SCENARIOS["calibration: calibrated, 2 classes, accuracy 0.95"],
    behavior.SCENARIOS["behavior: passes all"],
)


@pytest.mark.parametrize("scenario", FOLLOWERS, ids=lambda one: f"{one.question}: {one.name}")
def test_a_follower_is_red_or_named(scenario):
    assert scenario.run(200, 1) in ("bad", "warn")


@pytest.mark.parametrize("scenario", READERS, ids=lambda one: f"{one.question}: {one.name}")
def test_a_reader_is_green_or_gray(scenario):
    assert scenario.run(200, 1) in ("good", "neutral")


def test_each_scenario_says_its_truth():
    for module in (choices, confidence, behavior):
        for key, scenario in module.SCENARIOS.items():
            assert key == f"{scenario.question}: {scenario.name}"
            assert (scenario.strength > 0) >= (scenario.truth == "follower")
