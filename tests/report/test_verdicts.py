"""What the sections conclude: red, green and amber need evidence; what few items leave open cannot be told."""

import functools
from types import SimpleNamespace

import datasets
import numpy as np
import pytest

from rightreasons.calibration.measurement import CalibrationAnswers
from rightreasons.calibration.question import CALIBRATION
from rightreasons.core.estimates import Estimate
from rightreasons.core.resampling import Resampling
from rightreasons.cues.measure import ChoiceItems, measure_cues
from rightreasons.cues.options import CuesOptions
from rightreasons.cues.question import CUES, CuesMeasurement
from rightreasons.probes.measure import measure_probes, probe_tables
from rightreasons.probes.measurement import ProbesMeasurement, decide_figures
from rightreasons.probes.question import PROBES

RESAMPLING = Resampling(resamples=100)


class _Items(list):
    n_units = 250  # of 500 items


@pytest.mark.parametrize(
    ("low", "high", "error", "p_value", "tone", "key"),
    [
        (-0.02, 0.03, (0.01, 0.0, 0.04), 0.4, "good", "none_found"),
        (-0.02, 0.08, (0.01, 0.0, 0.04), 0.4, "neutral", "open"),
        (-0.06, 0.01, (0.01, 0.0, 0.04), 0.4, "neutral", "open"),
        # Within the margin on average, but in parts it may be farther off.
        (-0.02, 0.03, (0.04, 0.0, 0.09), 0.4, "neutral", "open"),
        (-0.02, 0.03, (0.06, 0.01, 0.09), 0.024, "warn", "in_parts"),
        # Two tests: one alone at .04 does not tell.
        (-0.02, 0.03, (0.06, 0.0, 0.09), 0.04, "neutral", "open"),
        # Surely underconfident by less than the margin: no model of the world is calibrated to the last digit.
        (-0.023, -0.005, (0.014, 0.005, 0.023), 0.001, "good", "none_found"),
        (0.01, 0.12, (0.06, 0.0, 0.12), 0.4, "neutral", "open"),
        (0.06, 0.12, (0.09, 0.05, 0.12), 0.001, "bad", "over"),
        (-0.12, -0.06, (0.09, 0.05, 0.12), 0.001, "bad", "under"),
    ],
)
def test_calibration(low, high, error, p_value, tone, key):
    gap = Estimate((low + high) / 2, low, high)
    measured = SimpleNamespace(
        items=_Items(range(500)),
        figures={"confidence_gap": gap},
        decided={"confidence_gap": gap, "ece_debiased": Estimate(*error)},
        consistency=SimpleNamespace(p_value=p_value, expected=0.02, confidence_level=0.95),
    )
    context = SimpleNamespace(primary=SimpleNamespace(name="test"))
    answers = CalibrationAnswers(context, None, measured, {"test": {"confidence_gap": gap}})
    rule = CALIBRATION.find_rule(answers)
    assert (rule.tone, rule.key) == (tone, key)
    assert answers.is_inconclusive == (tone == "neutral")
    # A page without a fault opens with what the model decides by: what is well calibrated comes last.
    if tone == "good":
        assert CALIBRATION.leads[-1].size(answers) is None
    # A margin of 5 points takes 390 units at the level of these figures, whatever 125 pairs show.
    if answers.is_inconclusive:
        assert answers.n_needed == 2 * 390


@pytest.mark.parametrize(
    ("easy", "hard", "alone", "tone", "key"),
    [
        # Items right of Easy and of Hard ones; items that cues alone get right, all of 500. Guessing gets half.
        ((240, 250), (60, 250), 400, "bad", "misled"),
        ((240, 250), (160, 250), 400, "warn", "better"),
        ((200, 250), (200, 250), 400, "warn", "cues_alone"),
        ((200, 250), (200, 250), 255, "good", "no_sign"),
        # A gap of 10 points is not surely more than that, nor surely less.
        ((200, 250), (175, 250), 255, "neutral", "too_few"),
        ((20, 25), (20, 25), 25, "neutral", "too_few"),
        ((200, 250), (200, 250), 100, "neutral", "misleading"),
    ],
)
def test_cues(easy, hard, alone, tone, key):
    n_items = easy[1] + hard[1]
    # "good" is right wherever the training items have it; of the items, it is in the right choice of so many.
    train = ChoiceItems(["why"] * 9, [["good", "a"]] * 9, np.zeros(9, dtype=np.int64))
    labels = (np.arange(n_items) >= alone).astype(np.int64)
    is_easy = np.arange(n_items) % 2 == 0
    right = np.zeros(n_items, dtype=bool)
    for part, (hits, _) in ((is_easy, easy), (~is_easy, hard)):
        right[np.flatnonzero(part)[:hits]] = True
    logits = np.eye(2)[np.where(right, labels, 1 - labels)]
    items = ChoiceItems(["why"] * n_items, [["good", "b"]] * n_items, labels, easy=is_easy)
    figures = measure_cues(
        items, train=train, logits=logits, options=CuesOptions(features=("unigram",))
    )
    rule = CUES.find_rule(CuesMeasurement(None, items, figures))
    assert (rule.tone, rule.key) == (tone, key)


def items(count):
    return datasets.Dataset.from_list(
        [
            {
                "id": f"i{i}",
                "prompt": f"question {i}",
                "choices": [f"answer {i} {j}" for j in range(3)],
                "label": i % 3,
            }
            for i in range(count)
        ]
    )


def reads(prompts, choices, ids):
    """Score each pair by itself: the right choice after its own question, and else a choice as good as random."""
    rows = []
    for prompt, row in zip(prompts, choices, strict=True):
        marks = [tuple(map(int, choice.split()[1:])) for choice in row]
        own = [3.0 * (prompt == f"question {n}" and place == n % 3) for n, place in marks]
        rows.append(
            [
                score + (n * 7 + place * 5) % 11 / 10
                for score, (n, place) in zip(own, marks, strict=True)
            ]
        )
    return rows


def tells(prompts, choices, ids):
    """Score the right choice highest, whatever the question."""
    return [[3.0 * (int(c.split()[2]) == int(c.split()[1]) % 3) for c in row] for row in choices]


def flattens(prompts, choices, ids):
    """Score like `reads`, the flatter the more choices there are."""
    return [[score * 3 / len(row) for score in row] for row in reads(prompts, choices, ids)]


def flattens_a_little(prompts, choices, ids):
    return [
        [score * (1.0 if len(row) == 3 else 0.99) for score in row]
        for row in reads(prompts, choices, ids)
    ]


@functools.cache
def measured(scorer, count, joint):
    """What the probes say where the answers stay in every order of the choices."""
    scores = probe_tables(items(count), ks=(4,)).scored_by(scorer)
    picked = {name: rows.argmax() for name, rows in scores.logits.items()}
    steady = (np.ones(count, dtype=bool), None)
    decided = decide_figures(scores, picked, steady=steady, joint=joint, resampling=RESAMPLING)
    figures = measure_probes(scores, resampling=RESAMPLING)
    context = SimpleNamespace(resampling=RESAMPLING)
    return ProbesMeasurement(
        context,
        scores,
        picked,
        decided,
        figures.reading,
        scored=figures,
        steady=steady,
        joint=joint,
    )


@pytest.mark.parametrize(
    ("scorer", "count", "tone", "key"),
    [
        (reads, 500, "good", "no_sign"),
        (reads, 30, "neutral", "open"),
        (tells, 60, "bad", "as_good"),
        (flattens, 500, "warn", "paralyzed"),
        # A loss of less than a point is none worth a verdict, be it significant or not.
        (flattens_a_little, 500, "good", "no_sign"),
    ],
)
def test_probes(scorer, count, tone, key):
    rule = PROBES.find_rule(measured(scorer, count, scorer is not reads))
    assert (rule.tone, rule.key) == (tone, key)
