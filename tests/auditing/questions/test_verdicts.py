"""What the sections conclude: red, green and amber need evidence; what few items leave open cannot be told."""

import functools
from types import SimpleNamespace

import datasets
import numpy as np
import pytest

from rightreasons.analysis.intervals import Interval, wilson
from rightreasons.auditing.questions.calibration import section as calibration
from rightreasons.auditing.questions.cues import section as cues
from rightreasons.auditing.questions.probes import section as probes
from rightreasons.foundations.resampling import Resampling
from rightreasons.measuring.cues import CueFigures
from rightreasons.measuring.estimates import Estimate
from rightreasons.measuring.probes import measure_probes, probe_tables

RESAMPLING = Resampling(resamples=100)


@pytest.mark.parametrize(
    ("low", "high", "p_value", "tone", "label"),
    [
        (-0.02, 0.03, 0.4, "good", "No miscalibration found"),
        (-0.02, 0.08, 0.4, "neutral", "No miscalibration shown"),
        (-0.06, 0.01, 0.4, "neutral", "No miscalibration shown"),
        (-0.02, 0.03, 0.04, "warn", "Miscalibrated in parts"),
        (0.01, 0.12, 0.4, "warn", "Over-confident"),
        (0.06, 0.12, 0.4, "bad", "Over-confident"),
        (-0.12, -0.06, 0.4, "bad", "Under-confident"),
    ],
)
def test_calibration(low, high, p_value, tone, label):
    gap = Estimate((low + high) / 2, low, high)
    others = {name: SimpleNamespace(estimate=Estimate(0.8), n=250) for name in ("accuracy", "mean_confidence")}
    said = calibration._verdict(
        "test",
        SimpleNamespace(
            bins=SimpleNamespace(ece=0.03),
            consistency=SimpleNamespace(p_value=p_value, expected=0.02, confidence_level=0.95),
        ),
        {**others, "confidence_gap": SimpleNamespace(estimate=gap)},
        {"test": {"confidence_gap": gap}},
    )
    assert (said.tone, said.label) == (tone, label)
    assert ("250 items do not rule out a gap of 5 points." in said.summary) == (tone == "neutral")
    assert "consistency resampling, p" in said.summary


def cue_figures(accuracy, n_items):
    return CueFigures(
        statistics=SimpleNamespace(confidence_level=0.95),
        n_train=None,
        accuracy=accuracy,
        chance=0.5,
        classifier=SimpleNamespace(p_value=None),
        easy=np.zeros(n_items, dtype=bool),
        easy_is_given=False,
        n_groups=n_items,
        n_twins=4,
        model=None,
    )


@pytest.mark.parametrize(
    ("easy", "hard", "alone", "tone", "label"),
    [
        # Items right of Easy and of Hard ones; items that cues alone get right, all of 500. Guessing gets half.
        ((240, 250), (60, 250), 400, "bad", "Misled where cues mislead"),
        ((240, 250), (160, 250), 400, "warn", "Better where cues help"),
        ((200, 250), (200, 250), 400, "warn", "Cues, but no gap shown"),
        ((200, 250), (200, 250), 255, "good", "No sign of cues"),
        ((20, 25), (20, 25), 25, "neutral", "No sign of cues"),
        ((200, 250), (200, 250), 100, "neutral", "Items that belong together are apart"),
    ],
)
def test_cues(easy, hard, alone, tone, label):
    gap, n_items = easy[0] / easy[1] - hard[0] / hard[1], easy[1] + hard[1]
    width = 2 * np.sqrt(sum(right * (n - right) / n**3 for right, n in (easy, hard)))
    ends = wilson(alone, n_items)
    answers = SimpleNamespace(
        items=range(n_items),
        figures=cue_figures(Estimate(alone / n_items, ends.low, ends.high), n_items),
        model=SimpleNamespace(
            gap=SimpleNamespace(
                easy_accuracy=easy[0] / easy[1],
                easy_accuracy_interval=wilson(*easy),
                hard_accuracy=hard[0] / hard[1],
                hard_accuracy_interval=wilson(*hard),
                easy_hard_gap=gap,
                interval=Interval(gap - width, gap + width, 0.95, "normal"),
                p_value=0.001 if gap > width else 0.6,
            )
        ),
    )
    said = cues._verdict(SimpleNamespace(resampling=RESAMPLING), answers)
    assert (said.tone, said.label) == (tone, label)
    assert "randomization test, p" in said.summary
    assert ("do not rule out an effect of 10 points" in said.summary) == (n_items == 50)


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
        rows.append([score + (n * 7 + place * 5) % 11 / 10 for score, (n, place) in zip(own, marks, strict=True)])
    return rows


def tells(prompts, choices, ids):
    """Score the right choice highest, whatever the question."""
    return [[3.0 * (int(c.split()[2]) == int(c.split()[1]) % 3) for c in row] for row in choices]


def flattens(prompts, choices, ids):
    """Score like `reads`, the flatter the more choices there are."""
    return [[score * 3 / len(row) for score in row] for row in reads(prompts, choices, ids)]


def flattens_a_little(prompts, choices, ids):
    return [[score * (1.0 if len(row) == 3 else 0.99) for score in row] for row in reads(prompts, choices, ids)]


@functools.cache
def measured(scorer, count):
    scores = probe_tables(items(count), ks=(4,)).scored_by(scorer)
    return measure_probes(scores, resampling=RESAMPLING, n_permutations=0)


@pytest.mark.parametrize(
    ("scorer", "count", "steady", "tone", "label"),
    [
        (reads, 400, None, "good", "No sign of confusion"),
        (reads, 30, None, "neutral", "Cannot tell"),
        (tells, 60, None, "warn", "Picks the answer unasked"),
        (flattens, 60, None, "warn", "Paralyzed by choice"),
        # A loss of less than a point is none worth a verdict, be it significant or not.
        (flattens_a_little, 400, 400, "good", "No sign of confusion"),
        # By Wilson 10 of 40 are at most 0.40, 30 of 40 at most 0.86, and 40 of 40 at least 0.91.
        (reads, 400, (10, 40), "bad", "The order decides"),
        (reads, 400, (30, 40), "warn", "The order decides some"),
        (reads, 400, (20, 20), "neutral", "Cannot tell"),
        (reads, 400, (40, 40), "good", "No sign of confusion"),
    ],
)
def test_probes(scorer, count, steady, tone, label):
    figures = measured(scorer, count)
    orders = None
    if steady is not None:
        kept, n_items = steady if isinstance(steady, tuple) else (steady, steady)
        orders = SimpleNamespace(
            in_words="all 6 orders", consistency=kept / n_items, consistency_interval=wilson(kept, n_items)
        )
    said = probes._verdict(SimpleNamespace(figures=figures, orders=orders, joint=scorer is not reads), 0.05)
    assert (said.tone, said.label) == (tone, label), said.summary
    assert ("do not rule out" in said.summary) == (label == "Cannot tell")
