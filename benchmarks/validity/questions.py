"""Scenarios of the p-values and intervals of the questions, one section per package.

A function `draw_*` simulates one sample; a function `make_*` returns such a draw for some settings.
Each figure of an outcome is named by the fields of the result that lead to it. The scenarios are
listed in `SCENARIOS`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from benchmarks.validity.general import add_truth, make_resampling
from benchmarks.validity.scenario import Interval, Outcome, Scenario

from rightreasons.behavior.generalization import (
    GeneralizationPair,
    compare_average_generalization,
    compare_generalization,
    find_negative_transfer,
)
from rightreasons.behavior.rates import pass_rates
from rightreasons.calibration.errors import calibration_error
from rightreasons.calibration.human import human_calibration
from rightreasons.calibration.recalibration import RecalibrationReport, recalibration_report
from rightreasons.calibration.smooth import consistency
from rightreasons.core.classification import compute_macro_f1
from rightreasons.core.resampling import Resampling
from rightreasons.core.suites import SuiteTable
from rightreasons.cues.easy_hard import easy_hard_gap
from rightreasons.cues.gap_change import compare_gaps
from rightreasons.cues.ratings import fleiss_kappa, human_performance
from rightreasons.cues.statistics import cue_statistics
from rightreasons.difficulty.by_difficulty import accuracy_by_difficulty, flip_rates
from rightreasons.difficulty.contrast import contrast_consistency
from rightreasons.difficulty.contrast_sets import ContrastItems, measure_contrast_sets
from rightreasons.difficulty.ranking import paired_difficulty
from rightreasons.probes.bias import prior_bias
from rightreasons.probes.option_order import choices_only, position_bias, pride_prior_intervals
from rightreasons.probes.paralysis import choice_paralysis
from rightreasons.probes.reading import measure_reading
from rightreasons.shortcuts.mutual_information import lmi
from rightreasons.shortcuts.reliance import shortcut_reliance
from rightreasons.shortcuts.swaps import deciding_share
from rightreasons.shortcuts.tradeoff import shortcut_tradeoff
from rightreasons.shortcuts.word_cues import measure_word_cues

Draw = Callable[[np.random.Generator, int], Outcome]
Figures = dict[str, float | Interval | None]

# --------------------------------------------------------------------------------------------------------- calibration


def make_overconfident(excess: float, n_items: int) -> Draw:
    """Simulate confidences that exceed the accuracy by one amount, which is the true l1 error."""

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        confidences = 0.5 + 0.5 * rng.beta(1.5, 1.5, n_items)
        labels = (rng.random(n_items) >= confidences - excess).astype(int)
        probabilities = np.column_stack((confidences, 1 - confidences))
        result = calibration_error(probabilities, labels, resampling=make_resampling(seed))
        return {"interval": add_truth(result.interval, excess)}

    return draw


def draw_calibrated(rng: np.random.Generator, seed: int) -> Outcome:
    """Simulate a calibrated model on 150 items."""
    chances = rng.random(150)
    labels = (rng.random(150) < chances).astype(int)
    result = calibration_error(np.column_stack((1 - chances, chances)), labels, n_bins=10)
    return {"p_value": consistency(result, resampling=make_resampling(seed)).p_value}


def draw_human_votes(rng: np.random.Generator, seed: int) -> Outcome:
    """Simulate a model and the votes of 20 people on 150 items."""
    probabilities, votes = _sample_votes(rng, 150)
    result = human_calibration(probabilities, votes, resampling=make_resampling(seed))
    # The items are exchangeable, so that the truth is the expectation, known from a large sample.
    return {
        "interval": add_truth(result.interval, HUMAN_TRUTH["dist_ce"]),
        "ent_ce_interval": add_truth(result.ent_ce_interval, HUMAN_TRUTH["ent_ce"]),
        "rank_cs_interval": add_truth(result.rank_cs_interval, HUMAN_TRUTH["rank_cs"]),
    }


def _sample_votes(rng: np.random.Generator, n_items: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (N, 3) probabilities of a model, and (N, 3) counts of the votes of 20 people."""
    shares = rng.dirichlet(np.ones(3), size=n_items)
    probabilities = 0.7 * shares + 0.3 * rng.dirichlet(np.ones(3), size=n_items)
    votes = np.array([rng.multinomial(20, item_shares) for item_shares in shares])
    return probabilities, votes


def _measure_human_truth() -> dict[str, float]:
    """Return the measures of human calibration on a large sample."""
    probabilities, votes = _sample_votes(np.random.default_rng(1), 40_000)
    result = human_calibration(probabilities, votes, resampling=make_resampling(0))
    return {name: getattr(result, name) for name in ("dist_ce", "ent_ce", "rank_cs")}


HUMAN_TRUTH = _measure_human_truth()


def _sample_logits(
    rng: np.random.Generator, n_items: int, model_factor: float, label_factor: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return (N, 2) logits of a model and (N,) labels.

    Args:
        rng: Random generator.
        n_items: Number of items.
        model_factor: The model's logits are divided by it; below 1 for an overconfident model.
        label_factor: The logits from which labels are sampled are divided by it.
    """
    logits = rng.normal(0, 1.5, size=(n_items, 2))
    gaps = (logits[:, 1] - logits[:, 0]) / label_factor
    labels = (rng.random(n_items) < 1 / (1 + np.exp(-gaps))).astype(int)
    return logits / model_factor, labels


def _report_temperature(
    rng: np.random.Generator, seed: int, factor: float, fit_split: tuple[np.ndarray, np.ndarray]
) -> RecalibrationReport:
    """Fit a temperature on logits and labels, and report its effect on 200 further items."""
    logits, labels = _sample_logits(rng, 200, factor, label_factor=1.0)
    return recalibration_report(
        *fit_split, logits, labels, method="temperature", resampling=make_resampling(seed)
    )


def make_recalibrated(factor: float) -> Draw:
    """Simulate a temperature that is fitted on 200 items; a factor below 1 is an overconfident model."""

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        fit_split = _sample_logits(rng, 200, factor, label_factor=1.0)
        report = _report_temperature(rng, seed, factor, fit_split)
        # The truth is the change by the fitted temperature, over the distribution of the items.
        temperature = report.recalibrator.parameters["temperature"][0]
        changes = _compute_measures(temperature * factor) - _compute_measures(factor)
        outcome: Figures = {}
        for measure, change in zip(("accuracy", "ece", "brier", "nll"), changes, strict=True):
            name = "tests.interval" if measure == "ece" else f"tests.interval {measure}"
            outcome[name] = add_truth(report.tests[measure].interval, float(change))
        return outcome

    return draw


def make_useless_recalibration(factor: float) -> Draw:
    """Simulate a temperature that does not change the calibration error.

    The labels of the fitting split are those of logits divided by 1.83. The temperature is then as
    much too high as the model's own is too low.
    """

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        fit_split = _sample_logits(rng, 2000, factor, label_factor=1.83)
        report = _report_temperature(rng, seed, factor, fit_split)
        test = report.tests["ece"]
        return {"tests.p_value": test.p_value, "tests.interval": add_truth(test.interval, 0.0)}

    return draw


# The gap between two normal logits of deviation 1.5 has a variance of 4.5.
LOGIT_GAPS = np.linspace(-12, 12, 4001)
GAP_WEIGHTS = np.exp(-(LOGIT_GAPS**2) / 9)
GAP_WEIGHTS /= GAP_WEIGHTS.sum()


def _compute_measures(temperature: float) -> np.ndarray:
    """Return accuracy, calibration error, Brier score and log loss at a temperature; 1 is calibrated."""
    truth = 1 / (1 + np.exp(-LOGIT_GAPS))
    predicted = 1 / (1 + np.exp(-LOGIT_GAPS / temperature))
    confidence = np.maximum(predicted, 1 - predicted)
    accuracy = np.where(predicted > 0.5, truth, 1 - truth)
    brier = 2 * (truth * (1 - predicted) ** 2 + (1 - truth) * predicted**2)
    nll = -truth * np.log(predicted) - (1 - truth) * np.log1p(-predicted)
    # A temperature moves all confidences to the same side, so that the error is that of the mean.
    measures = (accuracy, np.abs(confidence - accuracy), brier, nll)
    return np.array([float(GAP_WEIGHTS @ measure) for measure in measures])


def list_calibration_scenarios() -> list[Scenario]:
    """List the scenarios of calibration and recalibration."""
    scenarios = []
    for excess, n_items in ((0.0, 200), (0.05, 200), (0.1, 1000)):
        words = f"confidence too high by {excess:g} everywhere, {n_items} items"
        draw = make_overconfident(excess, n_items)
        scenarios.append(Scenario("calibration_error", words, draw))
    scenarios += [
        Scenario(
            "consistency", "a calibrated model, 150 items", draw_calibrated, conservative=True
        ),
        Scenario(
            "human_calibration", "150 items of three classes, 20 votes each", draw_human_votes
        ),
        Scenario(
            "recalibration_report",
            "a model that is too sure, a temperature from 200 items, 200 others",
            make_recalibrated(0.5),
            slow=True,
        ),
        Scenario(
            "recalibration_report",
            "a temperature that errs as much to the other side, 200 items",
            make_useless_recalibration(0.5),
            conservative=True,
            slow=True,
        ),
    ]
    return scenarios


# ----------------------------------------------------------------------------------------------------------- shortcuts


def draw_unrelated_word(rng: np.random.Generator, seed: int) -> Outcome:
    """Simulate the LMI of a frequent word without any relation to the label."""
    token_lists = []
    for _ in range(120):
        # Three texts in ten have the word, once to five times.
        count = (rng.random() < 0.3) * rng.integers(1, 6)
        token_lists.append(["other", *["film"] * count])
    labels = rng.permutation([0] * 60 + [1] * 60)
    result = lmi(token_lists, labels, tokenizer="none")
    table = result[0]
    if "film" not in table.tokens:
        return {"by_label.p_value": None}
    return {"by_label.p_value": float(table.p_value[table.tokens.index("film")])}


def draw_unrelated_words(rng: np.random.Generator, seed: int) -> Outcome:
    """Simulate words without any relation to three labels; the smallest corrected p-value."""
    texts = []
    for _ in range(120):
        texts.append(" ".join(f"w{word}" for word in rng.integers(40, size=6)))
    # Each label occurs at least once.
    labels = np.r_[0, 1, 2, rng.choice(3, 117, p=(0.6, 0.3, 0.1))]
    result = measure_word_cues(
        texts, labels, ("a", "b", "c"), resampling=Resampling(level=1e-6, resamples=400, seed=seed)
    )
    return {"cues.p_value": min((cue.p_value for cue in result.cues), default=1.0)}


def draw_random_attributions(rng: np.random.Generator, seed: int) -> Outcome:
    """Simulate attributions that are independent of the shortcut words."""
    token_lists = []
    for _ in range(80):
        n_tokens = rng.integers(4, 14)
        token_lists.append([f"w{word}" for word in rng.integers(40, size=n_tokens)])
    weights = [rng.random(len(tokens)) for tokens in token_lists]
    result = shortcut_reliance(
        token_lists,
        weights,
        [0] * 80,
        {0: [f"w{word}" for word in range(5)]},
        references=(rng.random(80) < 0.3).astype(int),
        top_n=2,
        resampling=make_resampling(seed),
    )
    # Random attributions find a shortcut as often as the null expects, whatever the texts.
    test = result.null["random"]
    return {"null.p_value": test.p_value, "null.interval": add_truth(test.interval, 0.0)}


def draw_cued_predictions(rng: np.random.Generator, seed: int) -> Outcome:
    """Simulate predictions by shortcuts: 0.3 of the correct ones, and 0.8 of the incorrect ones."""
    is_correct = rng.random(90) < 0.7
    is_cued = rng.random(90) < np.where(is_correct, 0.3, 0.8)
    weights = []
    for flag in is_cued:
        # The shortcut has the larger weight if the prediction is cued.
        weights.append([1.0, 0.5] if flag else [0.5, 1.0])
    result = shortcut_reliance(
        [["cue", "rest"]] * 90,
        weights,
        [0] * 90,
        {0: ["cue"]},
        references=np.where(is_correct, 0, 1),
        top_n=1,
        resampling=make_resampling(seed),
    )
    correct_interval = None
    if is_correct.any():
        correct_interval = add_truth(result.correct.interval, 0.3)
    wrong_interval = None
    if not is_correct.all():
        wrong_interval = add_truth(result.wrong.interval, 0.8)
    return {
        "interval": add_truth(result.interval, 0.7 * 0.3 + 0.3 * 0.8),
        "correct.interval": correct_interval,
        "wrong.interval": wrong_interval,
    }


def _compute_f1_by_class(confusion: np.ndarray) -> np.ndarray:
    """Return the (K,) F1 scores of a (K, K) confusion matrix."""
    return 2 * np.diag(confusion) / (confusion.sum(axis=0) + confusion.sum(axis=1))


def make_tradeoff(class_shares: tuple[float, ...], n_items: int) -> Draw:
    """Simulate predictions with a recall of 0.8, even errors, and a share of 0.6 by shortcuts."""
    shares = np.array(class_shares)
    n_classes = len(shares)
    recalls = np.where(np.eye(n_classes, dtype=bool), 0.8, 0.2 / (n_classes - 1))
    truth = float(_compute_f1_by_class(shares[:, None] * recalls).mean()) / 0.6

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        labels = rng.choice(n_classes, size=n_items, p=shares)
        incorrect_labels = (labels + rng.integers(1, n_classes, size=n_items)) % n_classes
        predictions = np.where(rng.random(n_items) < 0.8, labels, incorrect_labels)
        is_cued = rng.random(n_items) < 0.6
        result = shortcut_tradeoff(
            predictions, labels, is_cued, n_classes=n_classes, resampling=make_resampling(seed)
        )
        return {"interval": add_truth(result.interval, truth)}

    return draw


def make_macro_f1(
    class_shares: tuple[float, ...], class_recalls: tuple[float, ...], n_items: int
) -> Draw:
    """Simulate predictions with a recall for each class, and even errors.

    The truth is the mean F1 of the classes that occur in the sample.
    """
    n_classes = len(class_shares)
    recalls = np.array(class_recalls)[:, None]
    is_diagonal = np.eye(n_classes, dtype=bool)
    rates = np.where(is_diagonal, recalls, (1 - recalls) / (n_classes - 1))
    confusion = np.array(class_shares)[:, None] * rates
    f1 = _compute_f1_by_class(confusion)

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        cells = rng.choice(n_classes**2, size=n_items, p=confusion.ravel())
        labels = cells // n_classes
        predictions = cells % n_classes
        _, interval = compute_macro_f1(predictions, labels, make_resampling(seed))
        truth = float(f1[np.union1d(predictions, labels)].mean())
        return {"": add_truth(interval, truth)}

    return draw


def make_swaps(
    n_items: int, swap_rate: float, control_rate: float, *, cluster_size: int = 1
) -> Draw:
    """Simulate predictions that change after a swap of words, or after a control swap.

    Args:
        n_items: Number of items.
        swap_rate: Mean rate of changes by the swap. It varies between clusters.
        control_rate: Rate of changes by the control swap.
        cluster_size: Number of items of each cluster; 1 for independent items.
    """

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        rates = np.full(n_items, swap_rate)
        if 0 < swap_rate < 1:
            n_clusters = n_items // cluster_size
            rates = np.repeat(rng.beta(swap_rate, 1 - swap_rate, size=n_clusters), cluster_size)
        swapped = (rng.random(n_items) < rates).astype(int)
        control = (rng.random(n_items) < control_rate).astype(int)
        clusters = None
        if cluster_size > 1:
            clusters = [str(row // cluster_size) for row in range(n_items)]
        result = deciding_share(
            np.zeros(n_items, dtype=np.int64),
            swapped,
            control,
            goals=np.ones(n_items, dtype=np.int64),
            clusters=clusters,
            resampling=make_resampling(seed),
        )
        outcome: Figures = {"interval": add_truth(result.interval, swap_rate - control_rate)}
        if cluster_size == 1:
            outcome["follow_interval"] = add_truth(result.follow_interval, swap_rate)
        return outcome

    return draw


def list_shortcut_scenarios() -> list[Scenario]:
    """List the scenarios of shortcuts."""
    scenarios = [
        Scenario(
            "lmi",
            "a word in three of ten of 120 texts, once to five times, labels at random",
            draw_unrelated_word,
        ),
        Scenario(
            "measure_word_cues",
            "40 words in 120 texts of three labels, at random",
            draw_unrelated_words,
            conservative=True,
        ),
        Scenario(
            "shortcut_reliance",
            "80 texts of unequal length, attributions at random",
            draw_random_attributions,
            conservative=True,
        ),
        Scenario(
            "shortcut_reliance",
            "90 predictions, cued more often where wrong",
            draw_cued_predictions,
        ),
    ]
    for words, class_shares, class_recalls, n_items in (
        ("three classes alike, 150 items", (1 / 3,) * 3, (0.7,) * 3, 150),
        (
            "six classes, one of 0.01, 200 items",
            (0.01, 0.19, 0.2, 0.2, 0.2, 0.2),
            (0.8,) * 6,
            200,
        ),
        ("two classes, one of 0.01, 200 items", (0.01, 0.99), (0.5, 0.98), 200),
        ("twenty classes, 200 items", (0.05,) * 20, (0.6,) * 20, 200),
        ("two classes, seldom wrong, 50 items", (0.5, 0.5), (0.99,) * 2, 50),
    ):
        draw = make_macro_f1(class_shares, class_recalls, n_items)
        scenarios.append(Scenario("compute_macro_f1", words, draw))
    even_tradeoff = make_tradeoff((1 / 3, 1 / 3, 1 / 3), 150)
    rare_tradeoff = make_tradeoff((0.6, 0.38, 0.02), 150)
    unchanged = make_swaps(40, 0.0, 0.0)
    clustered = make_swaps(200, 0.3, 0.05, cluster_size=4)
    scenarios += [
        Scenario("shortcut_tradeoff", "three classes alike, 150 items", even_tradeoff),
        Scenario("shortcut_tradeoff", "one class of 0.02, 150 items", rare_tradeoff),
        Scenario("deciding_share", "100 items, no effect", make_swaps(100, 0.1, 0.1)),
        Scenario("deciding_share", "100 items, decided in 37 of 100", make_swaps(100, 0.37, 0.02)),
        Scenario("deciding_share", "40 items, nothing ever changes", unchanged, conservative=True),
        Scenario(
            "deciding_share", "200 items in clusters of four, decided in 30 of 100", clustered
        ),
    ]
    return scenarios


# ---------------------------------------------------------------------------------------------------------------- cues


def draw_cue(rng: np.random.Generator, seed: int) -> Outcome:
    """Simulate the word "not" in one of two choices, with random labels."""
    items = []
    for is_second in rng.integers(2, size=60):
        if is_second:
            items.append(["a word here", "word not here"])
        else:
            items.append(["word here", "a not here"])
    result = cue_statistics(items, rng.integers(2, size=60))
    for cue in result.cues:
        if cue.cue == "not":
            return {"cues.p_value": cue.p_value}
    raise ValueError("Expected the cue `not`, but it was not found.")


def draw_equal_subsets(rng: np.random.Generator, seed: int) -> Outcome:
    """Simulate three runs that are as accurate on Easy as on Hard items."""
    is_easy = np.arange(120) < 40
    # The runs agree on an item, but for random changes of one in ten.
    is_correct = (rng.random((120, 1)) < 0.7) ^ (rng.random((120, 3)) < 0.1)
    result = easy_hard_gap(
        is_correct.astype(int),
        np.ones(120, int),
        is_easy,
        n_permutations=199,
        resampling=make_resampling(seed),
    )
    accuracy = 0.7 * 0.9 + 0.3 * 0.1
    return {
        "p_value": result.p_value,
        "interval": add_truth(result.interval, 0.0),
        "accuracy_interval": add_truth(result.accuracy_interval, accuracy),
        "easy_accuracy_interval": add_truth(result.easy_accuracy_interval, accuracy),
        "hard_accuracy_interval": add_truth(result.hard_accuracy_interval, accuracy),
        "runs.p_value": result.runs[0].p_value,
    }


def make_training_sets(n_items: int, n_runs: tuple[int, int], run_deviation: float) -> Draw:
    """Simulate two training sets with equal gaps on average.

    Args:
        n_items: Number of items, one third of them Easy.
        n_runs: Number of runs of each training set.
        run_deviation: Standard deviation of the gaps of the runs.
    """

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        is_easy = np.arange(n_items) < n_items // 3
        levels = rng.normal(0.6, 0.8, (n_items, 1))

        def draw_runs(number: int) -> np.ndarray:
            gaps = rng.normal(0.0, run_deviation, number)
            shifts = np.where(is_easy[:, None], 0.5, -0.5) * gaps
            noise = rng.normal(0, 0.3, (n_items, number))
            return (levels + shifts + noise > 0).astype(int)

        result = compare_gaps(
            draw_runs(n_runs[0]),
            draw_runs(n_runs[1]),
            np.ones(n_items, int),
            is_easy,
            n_permutations=199,
            resampling=make_resampling(seed),
        )
        # The permutation over items concerns these very runs: its null is that they have no gaps.
        item_p_value = None if run_deviation else result.item_p_value
        return {
            "p_value": result.p_value,
            "item_p_value": item_p_value,
            "interval": add_truth(result.interval, 0.0),
        }

    return draw


def _sample_ratings(
    rng: np.random.Generator,
    n_items: int,
    n_raters: int,
    shares: tuple[float, ...],
    faithfulness: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return (N, R) ratings and (N,) true categories.

    Args:
        rng: Random generator.
        n_items: Number of items.
        n_raters: Number of raters.
        shares: Share of each category.
        faithfulness: Rate at which raters give the true category. Otherwise, it is random.
    """
    truth = rng.choice(len(shares), size=(n_items, 1), p=shares)
    random_ratings = rng.choice(len(shares), size=(n_items, n_raters), p=shares)
    ratings = np.where(rng.random((n_items, n_raters)) < faithfulness, truth, random_ratings)
    return ratings, truth[:, 0]


def make_kappa(n_items: int, n_raters: int, shares: tuple[float, ...], faithfulness: float) -> Draw:
    """Simulate the agreement of raters. The true kappa is the square of their faithfulness."""

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        ratings, _ = _sample_ratings(rng, n_items, n_raters, shares, faithfulness)
        counts = []
        for row in ratings:
            counts.append(np.bincount(row, minlength=len(shares)).tolist())
        return {"interval": add_truth(fleiss_kappa(counts).interval, faithfulness**2)}

    return draw


def make_human_performance(
    n_items: int, n_raters: int, shares: tuple[float, ...], faithfulness: float
) -> Draw:
    """Simulate the accuracy of raters, and their kappa."""
    accuracy = faithfulness + (1 - faithfulness) * float(np.square(shares).sum())

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        ratings, labels = _sample_ratings(rng, n_items, n_raters, shares, faithfulness)
        result = human_performance(ratings, labels, n_choices=len(shares))
        return {
            "interval": add_truth(result.interval, accuracy),
            "kappa.interval": add_truth(result.kappa.interval, faithfulness**2),
        }

    return draw


def list_cue_scenarios() -> list[Scenario]:
    """List the scenarios of cues, of Easy and Hard items, and of raters."""
    scenarios = [
        Scenario(
            "cue_statistics",
            "a word in one of two choices, labels at random, 60 items",
            draw_cue,
            conservative=True,
        ),
        Scenario(
            "easy_hard_gap",
            "three runs, no gap, 40 Easy and 80 Hard items",
            draw_equal_subsets,
            conservative=True,
        ),
    ]
    for words, n_items, n_runs, run_deviation in (
        ("three runs each, seeds alike, 150 items", 150, (3, 3), 0.0),
        ("three runs each, seeds differ, 150 items", 150, (3, 3), 0.6),
        ("five and three runs, 24 items", 24, (5, 3), 0.3),
        ("one run each, 60 items", 60, (1, 1), 0.0),
    ):
        draw = make_training_sets(n_items, n_runs, run_deviation)
        scenarios.append(Scenario("compare_gaps", words, draw, conservative=True))

    agreeing = "10 items, three raters who mostly agree"
    rare = "20 items, a rare category"
    scenarios += [
        Scenario("fleiss_kappa", agreeing, make_kappa(10, 3, (0.5, 0.5), 0.9)),
        Scenario("human_performance", agreeing, make_human_performance(10, 3, (0.5, 0.5), 0.9)),
        Scenario(
            "fleiss_kappa",
            "30 items, five raters, three categories",
            make_kappa(30, 5, (0.5, 0.3, 0.2), 0.5),
        ),
        Scenario(
            "fleiss_kappa",
            "100 items, three raters who nearly always agree",
            make_kappa(100, 3, (0.5, 0.5), 0.98),
        ),
        Scenario("fleiss_kappa", rare, make_kappa(20, 3, (0.8, 0.2), 0.6)),
        Scenario("human_performance", rare, make_human_performance(20, 3, (0.8, 0.2), 0.6)),
        Scenario("fleiss_kappa", "15 items, raters at random", make_kappa(15, 6, (0.4, 0.6), 0.0)),
    ]
    return scenarios


# -------------------------------------------------------------------------------------------------------------- probes

PRIOR_BIAS = prior_bias(
    np.random.default_rng(2).normal(size=(200_000, 3)), scores="logits"
).prior_bias
"""Prior bias of random scores of three choices, from a large sample."""


def draw_random_scores(rng: np.random.Generator, seed: int) -> Outcome:
    """Simulate 60 items of three choices with random scores."""
    scores = rng.normal(size=(60, 3))
    labels = rng.integers(3, size=60)
    result = prior_bias(scores, labels, scores="logits", resampling=make_resampling(seed))
    return {
        "pseudo_correct.p_value": result.pseudo_correct.p_value,
        "pseudo_correct.confidence_p_value": result.pseudo_correct.confidence_p_value,
        "interval": add_truth(result.interval, PRIOR_BIAS),
    }


def draw_copied_scores(rng: np.random.Generator, seed: int) -> Outcome:
    """Simulate 40 items with random scores, with five copies of each as a cluster."""
    scores = np.repeat(rng.normal(size=(40, 3)), 5, axis=0)
    labels = np.repeat(rng.integers(3, size=40), 5)
    clusters = np.repeat(np.arange(40), 5)
    result = prior_bias(
        scores, labels, scores="logits", clusters=clusters, resampling=make_resampling(seed)
    )
    return {
        "pseudo_correct.p_value": result.pseudo_correct.p_value,
        "interval": add_truth(result.interval, PRIOR_BIAS),
    }


def make_question_removal(share: float, prior: float, n_items: int, copies: int = 1) -> Draw:
    """Simulate answers to items of four choices, with and without the question.

    Args:
        share: Share of items whose answer is the one without the question. The answers to the
            others are independent of it, with an accuracy of 0.8.
        prior: Accuracy without the question.
        n_items: Number of distinct items.
        copies: Number of copies of each item, which form a cluster; 1 for no clusters.
    """
    chance_agreement = prior * 0.8 + (1 - prior) * 0.2 / 3
    prior_agreement = prior**2 + (1 - prior) ** 2 / 3
    accuracy = share * prior + (1 - share) * 0.8
    # Kappa of the mixture: the answers that stay the same, beyond the agreement of the answers with
    # those without the question of other items.
    kept = share + (1 - share) * chance_agreement
    expected = share * prior_agreement + (1 - share) * chance_agreement
    kappa = (kept - expected) / (1 - expected)

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        labels = rng.integers(4, size=n_items)

        def draw_answers(accuracy: float) -> np.ndarray:
            incorrect_answers = (labels + rng.integers(1, 4, n_items)) % 4
            return np.where(rng.random(n_items) < accuracy, labels, incorrect_answers)

        blind_answers = draw_answers(prior)
        informed_answers = draw_answers(0.8)
        answers = np.where(rng.random(n_items) < share, blind_answers, informed_answers)
        items = np.repeat(np.arange(n_items), copies)
        result = measure_reading(
            answers[items],
            blind_answers[items],
            labels[items],
            n_choices=np.full(len(items), 4),
            clusters=None if copies == 1 else items,
        )
        return {
            "kept": add_truth(result.kept, kept),
            "beyond_chance": add_truth(result.beyond_chance, kappa),
            "accuracy": add_truth(result.accuracy, accuracy),
            "accuracy_without": add_truth(result.accuracy_without, prior),
            "accuracy_loss": add_truth(result.accuracy_loss, accuracy - prior),
        }

    return draw


def draw_added_choices(rng: np.random.Generator, seed: int) -> Outcome:
    """Simulate scores that change by exchangeable noise when a hopeless choice is added."""
    levels = rng.normal(size=(60, 3))
    old_scores = levels + rng.normal(0, 0.5, (60, 3))
    new_scores = levels + rng.normal(0, 0.5, (60, 3))
    labels = rng.integers(3, size=60)
    result = choice_paralysis(
        old_scores,
        np.column_stack((new_scores, np.full(60, -60.0))),
        labels,
        labels,
        [[0, 1, 2]] * 60,
        scores="logits",
        resampling=make_resampling(seed),
    )
    outcome: Figures = {}
    for name, drop in (("drop", result.drop), ("restricted_drop", result.restricted_drop)):
        outcome[f"{name}.t_p_value"] = drop.t_p_value
        outcome[f"{name}.wilcoxon_p_value"] = drop.wilcoxon_p_value
        outcome[f"{name}.interval"] = add_truth(drop.interval, 0.0)
    return outcome


def draw_random_choices(rng: np.random.Generator, seed: int) -> Outcome:
    """Simulate random answers to 150 items without prompts."""
    return {"p_value": choices_only(rng.integers(2, size=150), rng.integers(2, size=150)).p_value}


def make_recalls(n_items: int, recalls: tuple[float, ...]) -> Draw:
    """Simulate answers with a recall for each position of the correct choice.

    The truth is the standard deviation of the recalls of the positions that occur.
    """
    recall_by_position = np.array(recalls)
    n_positions = len(recalls)

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        labels = rng.integers(n_positions, size=n_items)
        is_correct = rng.random(n_items) < recall_by_position[labels]
        answers = np.where(is_correct, labels, (labels + 1) % n_positions)
        result = position_bias(answers, labels, n_positions)
        truth = float(recall_by_position[np.unique(labels)].std())
        return {"interval": add_truth(result.interval, truth)}

    return draw


MEAN_PRIOR = np.array([0.5, 0.3, 0.2])
"""Prior of each of three positions, around which the priors of the items vary."""


def _compute_first_share() -> float:
    """Return the mean prior of the first position, from a large sample of items."""
    weights = MEAN_PRIOR * np.random.default_rng(3).gamma(3.0, size=(400_000, 3))
    return float((weights[:, 0] / weights.sum(axis=1)).mean())


FIRST_SHARE = _compute_first_share()


def make_position_priors(n_items: int) -> Draw:
    """Simulate probabilities of three choices in each rotation, with a prior for each item."""

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        weights = MEAN_PRIOR * rng.gamma(3.0, size=(n_items, 3))
        content = rng.dirichlet(np.ones(3), size=n_items)
        rotations = [np.roll(content, turn, axis=1) for turn in range(3)]
        # (N, rotations, positions)
        products = weights[:, None] * np.stack(rotations, axis=1)
        probabilities = products / products.sum(axis=2, keepdims=True)
        return {"": add_truth(pride_prior_intervals(probabilities)[0], FIRST_SHARE)}

    return draw


def list_probe_scenarios() -> list[Scenario]:
    """List the scenarios of probes for multiple-choice items."""
    scenarios = [
        Scenario(
            "prior_bias",
            "unrelated scores of three choices, 60 items",
            draw_random_scores,
            conservative=True,
        ),
        Scenario(
            "prior_bias",
            "40 items, of which each comes five times",
            draw_copied_scores,
            conservative=True,
        ),
    ]
    for words, draw in (
        ("reads, 200 items of four choices", make_question_removal(0.0, 0.25, 200)),
        (
            "reads, and would be right in 0.8 without the question, 100 items",
            make_question_removal(0.0, 0.8, 100),
        ),
        ("keeps 0.3 of its answers, 100 items", make_question_removal(0.3, 0.25, 100)),
        ("keeps all of its answers, 50 items", make_question_removal(1.0, 0.25, 50)),
        (
            "keeps 0.3 of its answers, 60 items, of which each comes five times",
            make_question_removal(0.3, 0.25, 60, copies=5),
        ),
    ):
        scenarios.append(Scenario("measure_reading", words, draw))
    scenarios += [
        Scenario("choice_paralysis", "noise before and after, 60 items", draw_added_choices),
        Scenario(
            "choices_only",
            "picks and positions at random, 150 items",
            draw_random_choices,
            conservative=True,
        ),
    ]
    for n_items, recalls in (
        (18, (0.6, 0.6, 0.6, 0.6)),
        (18, (1.0, 1.0, 1.0, 1.0)),
        (60, (0.9, 0.5)),
        (60, (0.99, 0.95, 0.9)),
        (200, (0.95, 0.3, 0.4, 0.2)),
    ):
        words = f"{n_items} items, recalls of {', '.join(map(str, recalls))} by position"
        scenarios.append(Scenario("position_bias", words, make_recalls(n_items, recalls)))
    for n_items in (5, 40):
        words = f"{n_items} items, each with a prior of its own around one"
        scenarios.append(Scenario("pride_prior_intervals", words, make_position_priors(n_items)))
    return scenarios


# ---------------------------------------------------------------------------------------------------------- difficulty


def draw_difficulty_pairs(rng: np.random.Generator, seed: int) -> Outcome:
    """Simulate the difficulties of 50 pairs of items that differ by noise."""
    original = rng.gamma(2, size=50)
    edited = original + rng.normal(0, 0.5, 50)
    result = paired_difficulty(original, edited, resampling=make_resampling(seed))
    return {"p_value": result.p_value, "interval": add_truth(result.interval, 0.0)}


CONTRAST_CONSISTENCY = float(np.mean([(0.6**n + 1) / 2 for n in (2, 3, 4)]))
"""True share of contrast sets, of two to four items, whose items are all answered correctly."""


def _sample_contrast_sets(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the sets of items, whether each item is the original of its set, and its correctness.

    The items of half of the 60 sets are all correct; those of the others are correct with 0.6.
    """
    sizes = rng.integers(2, 5, size=60)
    sets = np.repeat(np.arange(60), sizes)
    rates = rng.choice([0.6, 1.0], size=60)
    is_correct = rng.random(len(sets)) < rates[sets]
    is_original = np.r_[True, sets[1:] != sets[:-1]]
    return sets, is_original, is_correct


def draw_contrast_sets(rng: np.random.Generator, seed: int) -> Outcome:
    """Simulate the consistency of contrast sets, from arrays."""
    sets, is_original, is_correct = _sample_contrast_sets(rng)
    result = contrast_consistency(
        is_correct.astype(int), np.ones(len(sets), int), sets, is_original
    )
    return {
        "original_interval": add_truth(result.original_interval, 0.8),
        "contrast_interval": add_truth(result.contrast_interval, 0.8),
        "interval": add_truth(result.interval, CONTRAST_CONSISTENCY),
    }


def draw_contrast_items(rng: np.random.Generator, seed: int) -> Outcome:
    """Simulate the consistency of contrast sets, from the items of a dataset."""
    sets, is_original, is_correct = _sample_contrast_sets(rng)
    items = ContrastItems(np.arange(len(sets)), sets.astype(str), is_original)
    measured = measure_contrast_sets(items, is_correct.astype(int), np.ones(len(sets), int))
    result = measured.result
    followed = measured.figures["contrast_followed"]
    return {
        "figures": add_truth(followed, CONTRAST_CONSISTENCY / 0.8),
        "result.original_interval": add_truth(result.original_interval, 0.8),
        "result.contrast_interval": add_truth(result.contrast_interval, 0.8),
        "result.interval": add_truth(result.interval, CONTRAST_CONSISTENCY),
    }


def make_difficulty_groups(slope: float) -> Draw:
    """Simulate accuracy that falls by a slope from the easiest to the hardest of 120 items."""

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        difficulty = rng.random(120)
        rates = 0.75 + slope * (0.5 - difficulty)
        is_correct = rng.random(120) < rates
        result = accuracy_by_difficulty(
            difficulty, is_correct.astype(int), np.ones(120, int), n_groups=4
        )
        group = result.groups[0]
        truth = float(rates[difficulty <= group.highest].mean())
        outcome: Figures = {"groups.interval": add_truth(group.interval, truth)}
        if slope == 0:
            outcome["correlation.p_value"] = result.correlation.p_value
        return outcome

    return draw


def make_flips(concentration: float) -> Draw:
    """Simulate one to six attempts on each of 60 items, independent of their difficulty.

    Args:
        concentration: Concentration of the beta distribution of the items' success rates. The
            smaller it is, the more similar are the attempts on an item.
    """

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        rates = rng.beta(0.3 * concentration, 0.7 * concentration, size=60)
        items = np.repeat(np.arange(60), rng.integers(1, 7, size=60))
        is_flipped = rng.random(len(items)) < rates[items]
        result = flip_rates(is_flipped, items, rng.lognormal(size=60), n_groups=3)
        return {
            "interval": add_truth(result.interval, 0.3),
            "groups.interval": add_truth(result.groups[1].interval, 0.3),
            "correlation.p_value": result.correlation.p_value,
        }

    return draw


def list_difficulty_scenarios() -> list[Scenario]:
    """List the scenarios of difficulty."""
    return [
        Scenario("paired_difficulty", "50 pairs that differ by noise", draw_difficulty_pairs),
        Scenario("contrast_consistency", "60 sets of two to four items", draw_contrast_sets),
        Scenario("measure_contrast_sets", "60 sets of two to four items", draw_contrast_items),
        Scenario(
            "accuracy_by_difficulty",
            "120 items, right whatever the difficulty",
            make_difficulty_groups(0.0),
        ),
        Scenario(
            "accuracy_by_difficulty",
            "120 items, hard ones right less often",
            make_difficulty_groups(0.4),
        ),
        Scenario("flip_rates", "60 items of one to six attempts, little alike", make_flips(20.0)),
        Scenario("flip_rates", "60 items of one to six attempts, much alike", make_flips(1.0)),
    ]


# ------------------------------------------------------------------------------------------------------------ behavior


def make_suite(sizes: tuple[int, ...], rates: tuple[float, ...]) -> Draw:
    """Simulate a test suite of functionalities, of two classes in turn, with given pass rates."""
    pass_rate = np.array(rates)
    n_functionalities = len(sizes)
    n_cases = sum(sizes)
    table = SuiteTable(
        functionalities=tuple(f"f{n}" for n in range(n_functionalities)),
        classes=tuple("AB"[n % 2] for n in range(n_functionalities)),
        test_types=("MFT",) * n_functionalities,
        expectations=({"name": "equal"},) * n_functionalities,
        case_ids=tuple(map(str, range(n_cases))),
        case_functionality=np.repeat(np.arange(n_functionalities), sizes),
        case_offsets=np.arange(n_cases + 1),
        labels=(1,) * n_cases,
    )
    truth = float(pass_rate.mean())
    class_truth = float(pass_rate[::2].mean())

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        is_passed = rng.random(n_cases) < np.repeat(pass_rate, sizes)
        result = pass_rates(is_passed.astype(int), table, outputs="labels")
        return {
            "interval": add_truth(result.interval, truth),
            "classes.interval": add_truth(result.classes["A"].interval, class_truth),
            "test_types.interval": add_truth(result.test_types["MFT"].interval, truth),
        }

    return draw


def draw_functionality(rng: np.random.Generator, seed: int) -> Outcome:
    """Simulate one functionality of 12 cases, with a pass rate uniform in [0, 1]."""
    draw = make_suite(sizes=(12,), rates=(rng.random(),))
    return {"functionalities.interval": draw(rng, seed)["interval"]}


def draw_generalization(rng: np.random.Generator, seed: int) -> Outcome:
    """Simulate two models with equal accuracy on in-domain and on three other groups of items."""

    def draw_models(n_items: int, rate: float) -> tuple[np.ndarray, np.ndarray]:
        is_correct = (rng.random(n_items) < rate).astype(float)
        partner_is_correct = (rng.random(n_items) < rate).astype(float)
        return is_correct, partner_is_correct

    in_domain = draw_models(80, 0.8)
    groups = [draw_models(12, 0.6), draw_models(30, 0.9), draw_models(5, 0.4)]
    test = compare_generalization(in_domain, groups, n_permutations=199, seed=seed)
    return {"p_value": test.p_value}


def draw_average_generalization(rng: np.random.Generator, seed: int) -> Outcome:
    """Simulate two equal methods on two tasks, with three seeds of each."""
    pairs = []
    for task, n_items in (("one", 80), ("two", 50)):
        # Success rates of the items of three groups, of which the first is in-domain.
        rates_by_group = [rng.beta(4, 2, n_items), rng.beta(2, 2, 12), rng.beta(2, 1, 30)]
        # An item is correct or not for a method, whichever the seed; the seed changes one in five.
        methods_by_group = []
        for rates in rates_by_group:
            methods_by_group.append([rng.random(len(rates)) < rates for _ in range(2)])
        for _ in range(3):
            groups = []
            for rates, methods in zip(rates_by_group, methods_by_group, strict=True):
                models = []
                for is_correct in methods:
                    is_changed = rng.random(len(rates)) < 0.2
                    models.append(np.where(is_changed, rng.random(len(rates)) < rates, is_correct))
                groups.append(tuple(models))
            pairs.append(GeneralizationPair(groups[0], groups[1:], task))
    test = compare_average_generalization(pairs, n_permutations=199, seed=seed)
    return {"p_value": test.p_value}


def draw_transfer(rng: np.random.Generator, seed: int) -> Outcome:
    """Simulate two equal models on five functionalities; the smallest corrected p-value of a loss."""
    standard = {}
    held_out = {}
    for name, rate in (("a", 0.5), ("b", 0.7), ("c", 0.9), ("d", 0.4), ("e", 0.6)):
        rates = rng.beta(4 * rate, 4 * (1 - rate), size=40)
        standard[name] = (rng.random(40) < rates).astype(float)
        held_out[name] = (rng.random(40) < rates).astype(float)
    losses = find_negative_transfer(standard, held_out, confidence_level=0.001)
    return {"p_value": min((loss.p_value for loss in losses), default=1.0)}


def list_behavior_scenarios() -> list[Scenario]:
    """List the scenarios of test suites and generalization."""
    single_cases = make_suite((1,) * 5, (0.9, 0.5, 0.8, 1.0, 0.3))
    passing_cases = make_suite((2, 5, 20, 3, 8, 1), (0.98,) * 6)
    perfect_cases = make_suite((1, 3, 20), (1.0, 1.0, 1.0))
    return [
        Scenario(
            "pass_rates",
            "one functionality of 12 cases, rate uniform in [0, 1]",
            draw_functionality,
        ),
        Scenario("pass_rates", "five functionalities of one case each", single_cases),
        Scenario("pass_rates", "six functionalities that nearly always pass", passing_cases),
        Scenario("pass_rates", "every case passes", perfect_cases),
        Scenario(
            "compare_generalization", "two models alike", draw_generalization, conservative=True
        ),
        Scenario(
            "compare_average_generalization",
            "two methods alike, three seeds of two tasks",
            draw_average_generalization,
            conservative=True,
        ),
        Scenario(
            "find_negative_transfer",
            "five functionalities of 40 cases without any loss",
            draw_transfer,
            conservative=True,
        ),
    ]


SCENARIOS = (
    *list_calibration_scenarios(),
    *list_shortcut_scenarios(),
    *list_cue_scenarios(),
    *list_probe_scenarios(),
    *list_difficulty_scenarios(),
    *list_behavior_scenarios(),
)

_DEGENERATE = "No model with unequal scores has a variance of 0; the test is reported because the paper uses it."

EXEMPT = {
    ("prior_bias", "t_p_value"): _DEGENERATE,
    ("prior_bias", "wilcoxon_p_value"): _DEGENERATE,
    ("judge_bias", "consistency.p_value"): "It is not tested.",
    ("judge_bias", "own.p_value"): "It is not tested: its own answer may be better.",
}
"""Figures that are not simulated, and the reasons."""
