"""The p-values and intervals about answers: hints, reasoning, prompt formats, judges, and reviewed labels."""

from __future__ import annotations

from types import SimpleNamespace
from unittest import mock

import numpy as np
from benchmarks.validity.general import add_truth, make_resampling
from benchmarks.validity.scenario import Outcome, Scenario

from rightreasons.probes.judged_accuracy import correct_judged_accuracy
from rightreasons.reasons import early_answers, silent_sway, transplant
from rightreasons.reasons.two_sample import compare_texts
from rightreasons.repairs import label_sheets
from rightreasons.ways.spread import compare_flips, format_spread

Draw = dict[str, float | tuple[float, float, float] | None]

# --------------------------------------------------------------------------------------------------------------- hints

PLAIN, HINTED, CORRECT, OTHER = range(4)
"""Options of an item: the plain answer, the hinted one, a third that may be correct, and a fourth."""

NEUTRAL_LAW = (0.8, 0.1, 0.05, 0.05)
HINTED_LAW = (0.6, 0.3, 0.05, 0.05)
LABEL_LAW = (0.4, 0.3, 0.3, 0.0)
"""Shares of the options among the answers next to a neutral sentence and next to the hint, and among the labels."""

SAID = 0.5
CREDITED = 0.3
"""Shares of the answers whose reasoning mentions the hint, and says that it mattered, whatever the answer."""


def answer_to_hints(rng: np.random.Generator, seed: int) -> Outcome:
    """A hint that moves a fifth of the answers; half of all texts mention it."""
    n_items = 200
    neutral = rng.choice(4, n_items, p=NEUTRAL_LAW)
    hinted = rng.choice(4, n_items, p=HINTED_LAW)
    is_mentioned = rng.random(n_items) < SAID
    result = silent_sway(
        np.full(n_items, PLAIN),
        neutral,
        hinted,
        np.full(n_items, HINTED),
        is_mentioned,
        credited=rng.random(n_items) < CREDITED,
        labels=rng.choice(4, n_items, p=LABEL_LAW),
        n_resamples=400,
        seed=seed,
    )
    sway = HINTED_LAW[HINTED] - NEUTRAL_LAW[HINTED]
    losses = np.subtract(NEUTRAL_LAW, HINTED_LAW)
    # Chen et al.: of the answers at the hint, chance brought as many as to each of the two others.
    chance = HINTED_LAW[CORRECT] + HINTED_LAW[OTHER]
    alpha = 1 - chance / (2 * HINTED_LAW[HINTED])
    outcome: Draw = {
        "silent.estimate": add_truth(
            result.silent.estimate, HINTED_LAW[HINTED] * (1 - SAID) - NEUTRAL_LAW[HINTED]
        ),
        "sway.estimate": add_truth(result.sway.estimate, sway),
        "plain_kept.estimate": add_truth(
            result.plain_kept.estimate, HINTED_LAW[PLAIN] - NEUTRAL_LAW[PLAIN]
        ),
        "cost.estimate": add_truth(result.cost.estimate, float(np.dot(LABEL_LAW, losses))),
        "by_label": add_truth(result.by_label["right"], sway),
        "mentioned": add_truth(result.mentioned, SAID),
        "credited": add_truth(result.credited, CREDITED),
        "acknowledgment.interval": add_truth(result.acknowledgment.interval, SAID / alpha),
        "phi.p_value": result.phi.p_value,
    }
    return outcome


def ignore_hints(n_items: int, size: int):
    """A hint without an effect; answers of a cluster are alike."""

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        n_clusters = n_items // size

        def draw_answers() -> np.ndarray:
            shared = np.repeat(rng.choice(4, n_clusters, p=HINTED_LAW), size)
            single = rng.choice(4, n_items, p=HINTED_LAW)
            return np.where(rng.random(n_items) < 0.5, shared, single)

        result = silent_sway(
            np.full(n_items, PLAIN),
            draw_answers(),
            draw_answers(),
            np.full(n_items, HINTED),
            np.zeros(n_items, dtype=bool),
            labels=rng.choice(4, n_items, p=LABEL_LAW),
            clusters=None if size == 1 else np.repeat(np.arange(n_clusters), size),
            n_resamples=400,
            seed=seed,
        )
        outcome: Draw = {}
        for name in ("silent", "sway", "plain_kept", "cost"):
            moved = getattr(result, name)
            outcome[f"{name}.p_value"] = moved.p_value
            outcome[f"{name}.estimate"] = add_truth(moved.estimate, 0.0)
        return outcome

    return draw


# ----------------------------------------------------------------------------------------------------------- reasoning

FIRST_CUT = 0.3
LAST_CUT = 0.9
"""Share of the traces that have their answer without any reasoning, and of those that end at the final answer."""


def cut_reasoning(rng: np.random.Generator, seed: int) -> Outcome:
    """Traces of four sentences; what is not decided at first is decided at one of the four cuts."""
    n_traces = 80
    later = (1 - FIRST_CUT) / 4
    decided_at = rng.choice(5, n_traces, p=(FIRST_CUT, later, later, later, later))
    same = np.arange(5) >= decided_at[:, None]
    # The last answer comes from a second request, whose noise is independent.
    same[:, 4] = rng.random(n_traces) < LAST_CUT
    result = early_answers(same, right=rng.random(n_traces) < 0.5, resampling=make_resampling(seed))
    heights = FIRST_CUT + later * np.arange(5)
    heights[4] = LAST_CUT
    area = float((heights[:-1] + heights[1:]).mean() / 2)
    decided = LAST_CUT - FIRST_CUT
    return {
        "stands": add_truth(result.stands, FIRST_CUT),
        "ceiling": add_truth(result.ceiling, LAST_CUT),
        "decided.estimate": add_truth(result.decided.estimate, decided),
        "by_right.estimate": add_truth(result.by_right["right"].estimate, decided),
        "interval": add_truth(result.interval, 1 - area / LAST_CUT),
    }


def idle_reasoning(rng: np.random.Generator, seed: int) -> Outcome:
    """Reasoning that decides nothing: the answer before and after it differ by noise alone."""
    levels = rng.beta(2, 1, size=(100, 1))
    same = rng.random((100, 5)) < levels
    result = early_answers(same, right=rng.random(100) < 0.5, resampling=make_resampling(seed))
    return {
        "decided.p_value": result.decided.p_value,
        "by_right.p_value": result.by_right["wrong"].p_value,
    }


def transplanted(rng: np.random.Generator, seed: int) -> Outcome:
    """Reasoning and hints without an effect, on items that differ in their answers."""
    levels = rng.beta(1, 2, size=100)
    cells = [rng.random(100) < levels for _ in range(4)]
    result = transplant(*cells, resampling=make_resampling(seed))
    outcome: Draw = {}
    for name in ("indirect", "direct", "bypass"):
        moved = getattr(result, name)
        outcome[f"{name}.p_value"] = moved.p_value
        outcome[f"{name}.estimate"] = add_truth(moved.estimate, 0.0)
    return outcome


def exchangeable_texts(rng: np.random.Generator, seed: int) -> Outcome:
    """Two texts about each item, of the same words."""
    texts = []
    for _ in range(2):
        rows = [rng.integers(30, size=rng.integers(4, 10)) for _ in range(30)]
        texts.append([" ".join(f"word{number}" for number in row) for row in rows])
    result = compare_texts(*texts, seed=seed)
    return {"p_value": None if result is None else result.p_value}


# ------------------------------------------------------------------------------------------------------ prompt formats


def formats(rates: tuple[float, ...], held_out: float, *, size: int = 1):
    """Accuracies by several prompt formats; items of a cluster are alike."""

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        n_clusters = 120 // size
        levels = np.repeat(rng.random(n_clusters), size)
        noise = np.repeat(rng.random((len(rates), n_clusters)), size, axis=1)
        # Half of the answers depend on the item, so that formats agree more often than by chance.
        is_shared = np.repeat(rng.random((len(rates), n_clusters)) < 0.5, size, axis=1)
        right = np.where(is_shared, levels, noise) < np.array(rates)[:, None]
        clusters = None if size == 1 else np.repeat(np.arange(n_clusters), size)
        result = format_spread(right, clusters=clusters, resampling=make_resampling(seed))
        outcome: Draw = {"held_out": add_truth(result.held_out, held_out)}
        if held_out == 0:
            outcome["p_value"] = result.p_value
        return outcome

    return draw


def doubts(rng: np.random.Generator, seed: int) -> Outcome:
    """A doubt that changes as many answers as a neutral request does."""
    levels = rng.beta(1, 3, size=80)
    doubted = rng.random(80) < levels
    asked_again = rng.random(80) < levels
    result = compare_flips("right to wrong", doubted, asked_again, resampling=make_resampling(seed))
    assert result is not None
    return {
        "p_value": result.p_value,
        "difference": add_truth(result.difference, 0.0),
        "doubted": add_truth(result.doubted, 0.25),
        "asked_again": add_truth(result.asked_again, 0.25),
    }


# -------------------------------------------------------------------------------------------------------------- judges


def judged_answers(n_items: int, n_labeled: int, sensitivity: float, specificity: float):
    """A judge with two error rates, of whose answers some have a human label; 70 of 100 are correct."""
    accuracy = 0.7

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        is_correct = rng.random(n_items) < accuracy
        rates = np.where(is_correct, sensitivity, 1 - specificity)
        verdicts = (rng.random(n_items) < rates).astype(float)
        labels = np.where(np.arange(n_items) < n_labeled, is_correct.astype(float), np.nan)
        result = correct_judged_accuracy(verdicts, labels, resampling=make_resampling(seed))
        judged = accuracy * sensitivity + (1 - accuracy) * (1 - specificity)
        return {
            "judged": add_truth(result.judged, judged),
            "human": add_truth(result.human, accuracy),
            "sensitivity": add_truth(result.sensitivity, sensitivity),
            "specificity": add_truth(result.specificity, specificity),
            "rogan_gladen": add_truth(result.rogan_gladen, accuracy),
            "prediction_powered": add_truth(result.prediction_powered, accuracy),
        }

    return draw


# ------------------------------------------------------------------------------------------------------ reviewed labels


def reviewed_labels(rng: np.random.Generator, seed: int) -> Outcome:
    """Labels of which the disputed ones are wrong in 30 of 100, and the others in 3; some are reviewed."""
    n_items = 400
    n_disputed = 80
    n_reviewed = 40
    is_wrong = rng.random(n_items) < np.where(np.arange(n_items) < n_disputed, 0.3, 0.03)
    truth = rng.integers(2, size=n_items)
    labels = np.where(is_wrong, 1 - truth, truth)
    # A disputed label is one that the model does not predict.
    predictions = np.where(np.arange(n_items) < n_disputed, 1 - labels, labels)
    labeled = SimpleNamespace(
        ids=[str(row) for row in range(n_items)],
        labels=labels,
        predictions=predictions,
        disputed=np.arange(n_disputed),
    )
    reviewed = (*range(n_reviewed), *range(n_disputed, n_disputed + n_reviewed))
    decisions = {str(row): int(truth[row]) for row in reviewed}
    with mock.patch.object(label_sheets, "read_labeled_report", return_value=labeled):
        result = label_sheets.measure_review("", decisions, make_resampling(seed))
    share = n_disputed / n_items
    open_share = (n_disputed - n_reviewed) / n_items
    return {
        "wrong_disputed": add_truth(result.wrong_disputed, 0.3),
        "wrong_controls": add_truth(result.wrong_controls, 0.03),
        # A corrected disputed label turns an error into a hit, a corrected other one the reverse.
        "accuracy_change": add_truth(result.accuracy_change, share * 0.3 - (1 - share) * 0.03),
        "incorrect": add_truth(result.incorrect, share * 0.3 + (1 - share) * 0.03),
        "remaining": add_truth(result.remaining, open_share * 0.3 + (1 - share) * 0.03),
    }


SCENARIOS = (
    Scenario("silent_sway", "200 items, a hint that moves a fifth of the answers", answer_to_hints),
    Scenario(
        "silent_sway", "200 items, a hint without effect", ignore_hints(200, 1), conservative=True
    ),
    Scenario(
        "silent_sway",
        "60 clusters of four items that are alike, a hint without effect",
        ignore_hints(240, 4),
        conservative=True,
    ),
    Scenario("early_answers", "80 traces of four sentences", cut_reasoning),
    Scenario(
        "early_answers",
        "100 traces of which the reasoning decides nothing",
        idle_reasoning,
        conservative=True,
    ),
    Scenario("transplant", "100 items, no effect", transplanted, conservative=True),
    Scenario(
        "compare_texts",
        "30 items with two texts of the same words",
        exchangeable_texts,
        conservative=True,
        slow=True,
    ),
    Scenario(
        "format_spread",
        "four prompt formats alike, 120 items",
        formats((0.6,) * 4, 0.0),
        conservative=True,
        slow=True,
    ),
    Scenario(
        "format_spread",
        "three prompt formats alike, 40 clusters of three items",
        formats((0.6,) * 3, 0.0, size=3),
        conservative=True,
        slow=True,
    ),
    Scenario(
        "format_spread",
        "three prompt formats far apart, 120 items",
        formats((0.95, 0.5, 0.1), 0.85),
        slow=True,
    ),
    Scenario("compare_flips", "80 answers, a doubt without effect", doubts, conservative=True),
    *(
        Scenario(
            "correct_judged_accuracy",
            f"{n_items} answers, {n_labeled} with a label, sensitivity {plus:g}, specificity {minus:g}",
            judged_answers(n_items, n_labeled, plus, minus),
        )
        for n_items, n_labeled, plus, minus in (
            (300, 60, 0.9, 0.8),
            (100, 20, 1.0, 1.0),
            (600, 100, 0.7, 0.6),
            (1000, 200, 0.95, 0.3),
        )
    ),
    Scenario(
        "measure_review", "400 labels, 80 disputed, 40 of both kinds reviewed", reviewed_labels
    ),
)
