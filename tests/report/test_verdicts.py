"""What the sections conclude: red, green and amber need evidence; what few items leave open cannot be told."""

import functools
from types import SimpleNamespace

import datasets
import numpy as np
import pytest

from rightreasons.calibration.measurement import CalibrationAnswers
from rightreasons.calibration.question import CALIBRATION
from rightreasons.core.intervals import Estimate, Interval, wilson
from rightreasons.core.resampling import Resampling
from rightreasons.cues.measure import CueFigures
from rightreasons.cues.question import CUES, CuesMeasurement
from rightreasons.probes.measure import measure_probes, probe_tables
from rightreasons.probes.measurement import ProbesMeasurement
from rightreasons.probes.question import PROBES

RESAMPLING = Resampling(resamples=100)


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
        # Surely under-confident by less than the margin: no model of the world is calibrated to the last digit.
        (-0.023, -0.005, (0.014, 0.005, 0.023), 0.001, "good", "none_found"),
        (0.01, 0.12, (0.06, 0.0, 0.12), 0.4, "neutral", "open"),
        (0.06, 0.12, (0.09, 0.05, 0.12), 0.001, "bad", "over"),
        (-0.12, -0.06, (0.09, 0.05, 0.12), 0.001, "bad", "under"),
    ],
)
def test_calibration(low, high, error, p_value, tone, key):
    gap = Estimate((low + high) / 2, low, high)
    measured = SimpleNamespace(
        items=SimpleNamespace(n_units=250),
        figures={"confidence_gap": gap},
        decided={"confidence_gap": gap, "ece_debiased": Estimate(*error)},
        consistency=SimpleNamespace(p_value=p_value, expected=0.02, confidence_level=0.95),
    )
    context = SimpleNamespace(primary=SimpleNamespace(name="test"))
    answers = CalibrationAnswers(context, None, measured, {"test": {"confidence_gap": gap}})
    rule = CALIBRATION.rule(answers)
    assert (rule.tone, rule.key) == (tone, key)
    assert answers.is_open == (tone == "neutral")
    if answers.is_open:  # 250 items, of which so many more would bring the interval inside the margin
        assert answers.n_needed > 250


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
    ("easy", "hard", "alone", "tone", "key"),
    [
        # Items right of Easy and of Hard ones; items that cues alone get right, all of 500. Guessing gets half.
        ((240, 250), (60, 250), 400, "bad", "misled"),
        ((240, 250), (160, 250), 400, "warn", "better"),
        ((200, 250), (200, 250), 400, "warn", "cues_alone"),
        ((200, 250), (200, 250), 255, "good", "no_sign"),
        ((20, 25), (20, 25), 25, "neutral", "too_few"),
        ((200, 250), (200, 250), 100, "neutral", "misleading"),
    ],
)
def test_cues(easy, hard, alone, tone, key):
    gap, n_items = easy[0] / easy[1] - hard[0] / hard[1], easy[1] + hard[1]
    width = 2 * np.sqrt(sum(right * (n - right) / n**3 for right, n in (easy, hard)))
    ends = wilson(alone, n_items)
    measured = CuesMeasurement(
        None,
        range(n_items),
        cue_figures(Estimate(alone / n_items, ends.low, ends.high), n_items),
        SimpleNamespace(
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
    rule = CUES.rule(measured)
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
    ("scorer", "count", "steady", "tone", "key"),
    [
        (reads, 400, None, "good", "no_sign"),
        (reads, 30, None, "neutral", "open"),
        (tells, 60, None, "warn", "unasked"),
        (flattens, 60, None, "warn", "paralyzed"),
        # A loss of less than a point is none worth a verdict, be it significant or not.
        (flattens_a_little, 400, 400, "good", "no_sign"),
        # By Wilson 10 of 40 are at most 0.40, 30 of 40 at most 0.86, and 40 of 40 at least 0.91.
        (reads, 400, (10, 40), "bad", "order"),
        (reads, 400, (30, 40), "warn", "order_some"),
        (reads, 400, (20, 20), "neutral", "open"),
        (reads, 400, (40, 40), "good", "no_sign"),
    ],
)
def test_probes(scorer, count, steady, tone, key):
    figures = measured(scorer, count)
    orders = None
    if steady is not None:
        kept, n_items = steady if isinstance(steady, tuple) else (steady, steady)
        orders = SimpleNamespace(
            in_words="all 6 orders", consistency=kept / n_items, consistency_interval=wilson(kept, n_items)
        )
    answers = ProbesMeasurement(
        SimpleNamespace(resampling=RESAMPLING), range(count), scored=figures, orders=orders, joint=scorer is not reads
    )
    rule = PROBES.rule(answers)
    assert (rule.tone, rule.key) == (tone, key)
