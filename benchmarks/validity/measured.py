"""What the floors above `analysis` compute themselves: figures of a model, tests between two, means over seeds."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from benchmarks.validity.general import make_resampling
from benchmarks.validity.scenario import Outcome, Scenario

from rightreasons.calibration.judged import JudgedItems
from rightreasons.calibration.measure import measure_calibration, measure_classes, measure_figures
from rightreasons.calibration.paired import COMPARED_FIGURES, paired_test
from rightreasons.core.estimates import Estimate
from rightreasons.difficulty.measure import DifficultyMeasurement

N_ITEMS = 150


def judged(rng: np.random.Generator, n_items: int) -> JudgedItems:
    """Items of three classes of unequal frequency, as an overconfident model judges them."""
    logits = rng.normal([0.6, 0.0, -0.6], 2.0, size=(n_items, 3))
    calm = np.exp(0.6 * logits)
    bounds = (calm / calm.sum(axis=1, keepdims=True)).cumsum(axis=1)
    return JudgedItems.of(logits, (rng.random((n_items, 1)) >= bounds[:, :-1]).sum(axis=1))


def add_truth(estimate: Estimate | None, truth: float | None) -> tuple[float, float, float] | None:
    if estimate is None or truth is None or estimate.low is None or estimate.high is None:
        return None
    return estimate.low, estimate.high, truth


def copies(rng: np.random.Generator, seed: int) -> Outcome:
    """One to five copies of each of 60 items, each item one unit."""
    items = judged(rng, 60)
    rows = np.repeat(np.arange(60), rng.integers(1, 6, size=60))
    found = measure_figures(
        JudgedItems.of(items.logits[rows], items.top.labels[rows], clusters=rows),
        _CLUSTERED,
        resampling=make_resampling(seed),
    )
    return {key: add_truth(estimate, _TRUTH[key]) for key, estimate in found.items()}


def calibrated_copies(rng: np.random.Generator, seed: int) -> Outcome:
    logits = rng.normal(0, 1.5, size=(60, 3))
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    rows = np.repeat(np.arange(60), rng.integers(1, 6, size=60))
    found = measure_calibration(
        JudgedItems.of(logits[rows], labels[rows], clusters=rows),
        keys=(),
        resampling=make_resampling(seed),
    )
    return {"consistency.p_value": found.consistency.p_value}


def figures(*keys: str):
    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        found = measure_figures(judged(rng, N_ITEMS), keys, resampling=make_resampling(seed))
        return {key: add_truth(estimate, _TRUTH[key]) for key, estimate in found.items()}

    return draw


def other_models(kind: str):
    """Models of other kinds than `judged`, with the figures of two million of their items."""

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        truth = _OF_KINDS[kind]
        found = measure_figures(_KINDS[kind](rng), tuple(truth), resampling=make_resampling(seed))
        return {key: add_truth(estimate, truth[key]) for key, estimate in found.items()}

    return draw


def tempered(n_items: int, n_classes: int, scale: float, temperature: float):
    """Logits of equal classes, at a temperature below 1 for a model that is too sure."""

    def draw(rng: np.random.Generator, size: int = n_items) -> JudgedItems:
        logits = rng.normal(0, scale, size=(size, n_classes))
        labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
        return JudgedItems.of(logits / temperature, labels)

    return draw


def ranking(rng: np.random.Generator, size: int = 150) -> JudgedItems:
    """A model of two classes whose wrong answers are nearly all less sure than its right ones."""
    right = rng.random(size) < 0.85
    confidence = 0.5 + 0.5 * np.where(right, rng.beta(18, 2, size), rng.beta(4, 4, size))
    labels = rng.integers(2, size=size)
    logits = np.zeros((size, 2))
    logits[np.arange(size), np.where(right, labels, 1 - labels)] = np.log(
        confidence / (1 - confidence)
    )
    return JudgedItems.of(logits, labels)


def sure(rng: np.random.Generator, seed: int) -> Outcome:
    """A model that is sure, too sure by one point, and seldom wrong."""
    confidence = 0.5 + 0.5 * rng.beta(20, 1, size=24)
    right = rng.random(24) < confidence - 0.01
    probabilities = np.stack((confidence, 1 - confidence), axis=1)
    items = JudgedItems.of(np.log(probabilities), np.where(right, 0, 1))
    found = measure_figures(items, tuple(_SURE), resampling=make_resampling(seed))
    return {key: add_truth(estimate, _SURE[key]) for key, estimate in found.items()}


def by_class(rng: np.random.Generator, seed: int) -> Outcome:
    found = measure_classes(judged(rng, N_ITEMS), resampling=make_resampling(seed))
    rare = next(figures for figures in found if figures.label == 2)
    return {name: add_truth(getattr(rare, name), truth) for name, truth in _RARE.items()}


def two_models(rng: np.random.Generator, seed: int) -> tuple[JudgedItems, JudgedItems]:
    """Two models that are exchangeable item by item."""
    shared = rng.normal([0.6, 0.0, -0.6], 1.0, size=(120, 3))
    labels = (shared + rng.gumbel(size=shared.shape)).argmax(axis=1)
    first, second = (
        JudgedItems.of(shared + rng.normal(size=shared.shape), labels) for _ in range(2)
    )
    return first, second


def compared(rng: np.random.Generator, seed: int) -> Outcome:
    first, second = two_models(rng, seed)
    outcome: dict[str, float | tuple[float, float, float] | None] = {}
    for key in COMPARED_FIGURES:
        test = paired_test(key, first, second, resampling=make_resampling(seed))
        outcome[f"{key} p_value"] = test.p_value
        outcome[f"{key} interval"] = (
            None if test.interval is None else (test.interval.low, test.interval.high, 0.0)
        )
    return outcome


def other_temperatures(first: float, second: float, truth: float, *, tested: bool = False):
    """The same logits of two classes at two temperatures; 1 is that of a calibrated model."""

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        logits = rng.normal(0, 1.5, size=(200, 2))
        labels = (rng.random(200) >= 1 / (1 + np.exp(logits[:, 1] - logits[:, 0]))).astype(int)
        cold, warm = (
            JudgedItems.of(logits / temperature, labels) for temperature in (first, second)
        )
        test = paired_test("ece", cold, warm, resampling=make_resampling(seed))
        interval = None if test.interval is None else (test.interval.low, test.interval.high, truth)
        return {"ece interval": interval, **({"ece p_value": test.p_value} if tested else {})}

    return draw


def difficulty(rng: np.random.Generator, seed: int) -> Outcome:
    fisher = SimpleNamespace(eigenvalues=rng.lognormal(size=80), logits=rng.normal(size=(80, 3)))
    measured = DifficultyMeasurement.from_fisher(fisher, rng.integers(3, size=80))  # type: ignore[arg-type]
    return {"": add_truth(measured.median(make_resampling(seed)), 1.0)}


def grouped(rng: np.random.Generator, seed: int) -> Outcome:
    fisher = SimpleNamespace(eigenvalues=rng.lognormal(size=200), logits=rng.normal(size=(200, 3)))
    measured = DifficultyMeasurement.from_fisher(fisher, rng.integers(3, size=200))  # type: ignore[arg-type]
    return {"": add_truth(measured.accuracies(make_resampling(seed))[0], 1 / 3)}


_CLUSTERED = (
    "accuracy",
    "macro_f1",
    "mean_confidence",
    "confidence_gap",
    "ece",
    "brier",
    "nll",
    "auroc",
    "macro_ce",
)
_RANKED = ("ece_sweep", "aurc", "auroc")
# The figures of 100,000 such items.
_TRUTH = {
    "accuracy": 0.6428, "macro_f1": 0.6284, "mean_confidence": 0.7506, "confidence_gap": 0.1078, "ece": 0.1078,
    "ece_debiased": 0.1078, "adaptive_ece": 0.1078, "smooth_ece": 0.1078, "ece_sweep": 0.1078, "rmsce_debiased": 0.1135,
    "classwise_ece": 0.0724, "macro_ce": 0.4427, "brier": 0.4892, "nll": 0.8503,
    "aurc": 0.2149, "auroc": 0.6948,
}  # fmt: skip
_KINDS = {
    "100 items of two classes, calibrated": tempered(100, 2, 1.5, 1.0),
    "300 items of twenty classes, too sure": tempered(300, 20, 2.0, 0.7),
    "150 items, most errors less sure": ranking,
}
_OF_KINDS = {
    "100 items of two classes, calibrated": {
        "ece": 0.0, "adaptive_ece": 0.0, "smooth_ece": 0.0, "ece_sweep": 0.0, "classwise_ece": 0.0,
        "nll": 0.4473, "aurc": 0.0932, "auroc": 0.7519,
    },
    "300 items of twenty classes, too sure": {
        "ece": 0.1339, "adaptive_ece": 0.1339, "ece_sweep": 0.1339, "classwise_ece": 0.015,
        "nll": 1.8928, "aurc": 0.3924, "auroc": 0.7033,
    },
    "150 items, most errors less sure": {
        "ece": 0.1257, "adaptive_ece": 0.1292, "ece_sweep": 0.129, "classwise_ece": 0.1257,
        "nll": 0.2621, "aurc": 0.0137, "auroc": 0.9896,
    },
}  # fmt: skip
_RARE = {"precision": 0.6046, "recall": 0.5211}
# The gap by design; the Brier score by 10^8 draws.
_SURE = {"confidence_gap": 0.01, "brier": 0.0645}

SCENARIOS = (
    Scenario(
        "measure_figures",
        "150 items of three classes, an overconfident model",
        figures(*(key for key in _TRUTH if key not in (*_RANKED, "smooth_ece"))),
    ),
    Scenario(
        "measure_figures",
        "150 items of three classes, as an overconfident model ranks them",
        figures(*_RANKED),
        slow=True,
    ),
    Scenario(
        "measure_figures",
        "150 items of three classes, an overconfident model, smoothed",
        figures("smooth_ece"),
        slow=True,
    ),
    Scenario(
        "measure_figures",
        "24 items of two classes, a model that is too sure by a point and seldom errs",
        sure,
        conservative=True,
    ),
    *(
        Scenario("measure_figures", words, other_models(words), slow=True)
        for words in (
            "100 items of two classes, calibrated",
            "300 items of twenty classes, too sure",
            "150 items, most errors less sure",
        )
    ),
    Scenario(
        "measure_figures",
        "one to five copies of each of 60 items of three classes",
        copies,
        slow=True,
    ),
    Scenario(
        "measure_calibration",
        "one to five copies of each of 60 items, a calibrated model",
        calibrated_copies,
        conservative=True,
        slow=True,
    ),
    Scenario("measure_classes", "the rarest of three classes, 150 items", by_class),
    Scenario(
        "paired_test",
        "two models that are alike item by item, 120 items",
        compared,
        conservative=True,
        slow=True,
    ),
    Scenario(
        "paired_test",
        "a calibrated model and one that is too sure, 200 items",
        other_temperatures(1, 0.5, -0.09),
    ),
    Scenario(
        "paired_test",
        "a model that is too sure and one that is too unsure, their errors equal, 200 items",
        other_temperatures(0.5, 1 / 0.5465, 0.0, tested=True),
        conservative=True,
    ),
    Scenario("DifficultyMeasurement.median", "80 skewed eigenvalues", difficulty),
    Scenario("DifficultyMeasurement.accuracies", "200 items, right by luck", grouped),
)

HANDED_ON = {
    # Answers of a question, collected from its kernels.
    "measure": (
        "measure_behavior",
        "measure_calibration",
        "measure_confidence",
        "measure_cues",
        "measure_contrast_sets",
        "measure_eigenvalues",
        "measure_option_order",
        "measure_probes",
        "measure_reasons",
        "measure_shortcuts",
        "measure_swaps",
        "measure_ways",
    ),
    # Behavior.
    **dict.fromkeys(
        (
            "Classes.pass_rates",
            "Spans.pass_rates",
            "compute_pass_rates",
            "measure_behavior",
            "behavior.measure_reading",
            "score_stored",
        ),
        ("pass_rates",),
    ),
    "collect_scores": ("mcnemar", "compare_generalization"),
    "compare_averages": ("compare_average_generalization",),
    # Calibration.
    **dict.fromkeys(
        ("ece", "compute_calibration", "make_calibration_result", "make_error_interval"),
        ("calibration_error",),
    ),
    "JudgedItems.compute_error": ("calibration_error",),
    "JudgedItems.get_null_model": ("consistency",),
    **dict.fromkeys(("compare_ece", "compare_auroc"), ("compare_confidence",)),
    "measure_calibration": (
        "measure_figures",
        "calibration_error",
        "consistency",
        "estimate_share",
    ),
    "measure_confidence": ("compare_confidence", "measure_figures", "estimate_share"),
    "measure_elicited": ("measure_confidence",),
    "measure_votes": ("human_calibration",),
    # Shortcuts.
    "measure_shortcuts": ("shortcut_reliance", "shortcut_tradeoff", "calibration_error"),
    "summarize_shortcuts": ("shortcut_reliance",),
    "rank_training_heads": ("lmi",),
    **dict.fromkeys(
        ("Experiment.measure", "Experiment.measure_fixed", "fixed_share", "paired_share_interval"),
        ("deciding_share",),
    ),
    "measure_swaps": ("deciding_share", "estimate_share", "bounded_mean_interval"),
    # Cues.
    "measure_cues": ("cue_statistics", "easy_hard_gap", "estimate_share"),
    # Probes.
    "ProbeTables.compare_readings": ("measure_reading",),
    "ProbeTables.measure_paralysis": ("choice_paralysis",),
    "measure_judges": ("judge_bias",),
    "measure_judged_accuracy": ("correct_judged_accuracy",),
    # The correction by the error rates of a judge, which is simulated as `rogan_gladen`.
    "estimate_true_share": ("correct_judged_accuracy",),
    "measure_probes": (
        "prior_bias",
        "measure_reading",
        "choice_paralysis",
        "choices_only",
        "wilson",
    ),
    "measure_option_order": (
        "wilson",
        "position_bias",
        "pride_prior_intervals",
        "bounded_mean_interval",
    ),
    # Difficulty.
    "measure_rank_correlation": ("accuracy_by_difficulty", "flip_rates"),
    "WordFlips.measure_rates": ("flip_rates",),
    "measure_eigenvalues": ("compare_revisions", "DifficultyMeasurement.median"),
    "compare_revisions": ("paired_difficulty",),
    # Reasons.
    **dict.fromkeys(("acknowledgment", "phi_cct", "paired_difference"), ("silent_sway",)),
    "gather_evidence": ("compare_texts", "estimate_rate"),
    "measure_reasons": (
        "silent_sway",
        "early_answers",
        "transplant",
        "compare_texts",
        "estimate_rate",
    ),
    # Prompt formats.
    **dict.fromkeys(("Asking.estimate_accuracy",), ("estimate_rate",)),
    "Asking.measure_posix": ("estimate_mean",),
    "measure_ways": ("format_spread", "compare_flips", "estimate_rate", "estimate_mean"),
    # Answers of a log.
    **dict.fromkeys(("measure_epochs", "measure_positions"), ("estimate_mean", "estimate_rate")),
    "measure_groups": ("estimate_rate", "two_rates_p_value", "holm"),
    # Repairs.
    **dict.fromkeys(
        ("Answers.measure_decided", "Answers.summarize", "ReportedAnswers.summarize"),
        ("estimate_rate", "estimate_share"),
    ),
    "find_remaining": ("deciding_share",),
    "verify": ("mcnemar", "Answers.summarize"),
    **dict.fromkeys(("repair", "repair_demo"), ("verify", "find_remaining")),
    "measure_effect": ("measure_reading", "compare_paired_means"),
    **dict.fromkeys(("debias", "measure_debiasing"), ("measure_effect",)),
    "judge_recalibration": ("recalibration_report",),
    "judge_balancing": ("compare_gaps", "easy_hard_gap"),
    "judge_learning": ("collect_scores",),
    "judge_labels": ("measure_review",),
    # Comparisons and tables of several audits.
    "compare": (
        "paired_test",
        "measure_figures",
        "compare_paired_means",
        "bounded_mean_interval",
        "holm",
    ),
    "models_by_tasks": ("estimate_rate",),
    # Common tests.
    "make_rate_interval": ("estimate_share", "estimate_rate"),
    **dict.fromkeys(
        ("make_quantile_interval", "make_bca_interval", "make_group_interval"), ("bootstrap",)
    ),
    "bootstrap_checked_mean": ("bootstrap_mean",),
    "make_bounded_mean_interval": ("bounded_mean_interval",),
}
"""Function that computes no figure itself -> functions whose p-values and intervals it returns unchanged."""
