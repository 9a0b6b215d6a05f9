"""Small inputs of the kernels, which the tester brings into other forms, orders and conditions.

All fractions are sixteenths, which float16 and bfloat16 hold exactly: whatever the type of the
input, the figures must be the same.
"""

import numpy as np

from module_inputs import SUITE
from rightreasons.behavior.generalization import generalization_score
from rightreasons.behavior.rates import pass_rates
from rightreasons.calibration.errors import calibration_error
from rightreasons.calibration.human import human_calibration
from rightreasons.calibration.macro_error import macro_ce
from rightreasons.calibration.proper_scores import (
    auroc,
    brier_score,
    negative_log_likelihood,
    selective_scores,
)
from rightreasons.calibration.recalibrators import fit_temperature
from rightreasons.calibration.smooth import ece_sweep, smooth_ece
from rightreasons.core.classification import accuracy, classification_scores, label_errors
from rightreasons.core.resampling import Resampling
from rightreasons.cues.classifier import cue_classifier
from rightreasons.cues.easy_hard import easy_hard_gap
from rightreasons.cues.ratings import fleiss_kappa
from rightreasons.cues.statistics import cue_statistics
from rightreasons.difficulty.contrast import contrast_consistency
from rightreasons.difficulty.ranking import distribution_overlap, paired_difficulty
from rightreasons.probes.bias import prior_bias
from rightreasons.probes.option_order import choices_only
from rightreasons.probes.paralysis import choice_paralysis
from rightreasons.probes.reading import measure_reading
from rightreasons.reasons.sway import phi_cct, silent_sway
from rightreasons.shortcuts.mutual_information import lmi
from rightreasons.shortcuts.reliance import shortcut_reliance
from rightreasons.shortcuts.swaps import deciding_share
from rightreasons.shortcuts.tradeoff import shortcut_tradeoff

N_ITEMS = 24
_RNG = np.random.default_rng(5)
_WORDS = np.array(["good", "bad", "film", "plot", "dull", "warm"])

ROWS = (_RNG.multinomial(16, [0.5, 0.3, 0.2], size=N_ITEMS) / 16).tolist()
WIDER_ROWS = (_RNG.multinomial(16, [0.3, 0.2, 0.1, 0.2, 0.2], size=N_ITEMS) / 16).tolist()
FRACTIONS = (_RNG.integers(1, 16, size=N_ITEMS) / 16).tolist()
OTHER_FRACTIONS = (_RNG.integers(1, 16, size=N_ITEMS) / 16).tolist()
LABELS = _RNG.integers(3, size=N_ITEMS).tolist()
PREDICTIONS = _RNG.integers(3, size=N_ITEMS).tolist()
OTHER_PREDICTIONS = _RNG.integers(3, size=N_ITEMS).tolist()
BINARY = [0, 1] * (N_ITEMS // 2)
FLAGS = (_RNG.random(N_ITEMS) < 0.5).tolist()
OTHER_FLAGS = (_RNG.random(N_ITEMS) < 0.5).tolist()
VOTES = _RNG.integers(1, 6, size=(N_ITEMS, 3)).tolist()
TOKENS = _RNG.choice(_WORDS, size=(N_ITEMS, 3)).tolist()
TEXTS = [" ".join(words) for words in TOKENS]
CHOICES = _RNG.choice(_WORDS, size=(N_ITEMS, 2)).tolist()
GROUPS = [f"set {item // 2}" for item in range(N_ITEMS)]
# Answers without a hint, and hints to another option.
PLAIN = _RNG.integers(3, size=N_ITEMS).tolist()
HINTS = [(answer + 1) % 3 for answer in PLAIN]

FEW = Resampling(resamples=40)


def _generalization_of_seen(seen):
    """Return the generalization score, whose pass rates are a dictionary, for one column."""
    return generalization_score({"seen": seen}, 0.5)


KERNELS = {
    "calibration_error": (
        calibration_error,
        {"predictions": ROWS, "references": LABELS},
        {"resampling": FEW},
    ),
    "calibration_error of classes": (
        calibration_error,
        {"predictions": ROWS, "references": LABELS},
        {"kind": "classwise", "strategy": "quantile", "n_bins": 5},
    ),
    "calibration_error of P(class 1)": (
        calibration_error,
        {"predictions": FRACTIONS, "references": BINARY},
        {"kind": "positive", "norm": "l2"},
    ),
    "calibration_error of confidence": (
        calibration_error,
        {"predictions": FRACTIONS, "references": FLAGS},
        {"kind": "confidence"},
    ),
    "macro_ce": (macro_ce, {"predictions": ROWS, "references": LABELS}, {}),
    "smooth_ece": (smooth_ece, {"predictions": ROWS, "references": LABELS}, {}),
    "ece_sweep": (ece_sweep, {"predictions": ROWS, "references": LABELS}, {}),
    "brier_score": (brier_score, {"predictions": ROWS, "references": LABELS}, {}),
    "negative_log_likelihood": (
        negative_log_likelihood,
        {"predictions": ROWS, "references": LABELS},
        {"scores": "logits"},
    ),
    "selective_scores": (selective_scores, {"predictions": ROWS, "references": LABELS}, {}),
    "auroc": (auroc, {"scores": FRACTIONS, "events": FLAGS}, {}),
    "fit_temperature": (fit_temperature, {"predictions": ROWS, "references": LABELS}, {}),
    "human_calibration": (
        human_calibration,
        {"predictions": ROWS, "references": VOTES},
        {"resampling": FEW},
    ),
    "classification_scores": (
        classification_scores,
        {"predictions": PREDICTIONS, "references": LABELS},
        {},
    ),
    "accuracy": (accuracy, {"predictions": PREDICTIONS, "references": LABELS}, {}),
    "label_errors": (label_errors, {"probabilities": ROWS, "labels": LABELS}, {}),
    "lmi": (lmi, {"data": TEXTS, "labels": LABELS}, {}),
    "lmi of tokens": (lmi, {"data": TOKENS, "labels": LABELS}, {"tokenizer": "none"}),
    "cue_statistics": (cue_statistics, {"data": CHOICES, "labels": BINARY}, {}),
    "cue_classifier": (cue_classifier, {"data": CHOICES, "labels": BINARY}, {"n_folds": 3}),
    "easy_hard_gap": (
        easy_hard_gap,
        {"predictions": PREDICTIONS, "references": LABELS, "easy": FLAGS},
        {"n_permutations": 40, "resampling": FEW},
    ),
    "fleiss_kappa": (fleiss_kappa, {"counts": [[2, 1, 1], [1, 3, 0]] * (N_ITEMS // 2)}, {}),
    "prior_bias": (
        prior_bias,
        {"predictions": ROWS, "references": LABELS},
        {"resampling": FEW},
    ),
    "choice_paralysis": (
        choice_paralysis,
        {
            "predictions": ROWS,
            "perturbed_predictions": WIDER_ROWS,
            "references": LABELS,
            "perturbed_references": LABELS,
        },
        {},
    ),
    "measure_reading": (
        measure_reading,
        {
            "answers": PREDICTIONS,
            "answers_without": OTHER_PREDICTIONS,
            "references": LABELS,
            "n_choices": [3] * N_ITEMS,
        },
        {},
    ),
    "choices_only": (
        choices_only,
        {"predictions": PREDICTIONS, "references": LABELS},
        {},
    ),
    "contrast_consistency": (
        contrast_consistency,
        {
            "predictions": PREDICTIONS,
            "references": LABELS,
            "groups": GROUPS,
            "is_original": [True, False] * (N_ITEMS // 2),
        },
        {},
    ),
    "paired_difficulty": (
        paired_difficulty,
        {"original": FRACTIONS, "perturbed": OTHER_FRACTIONS},
        {"resampling": FEW},
    ),
    "distribution_overlap": (
        distribution_overlap,
        {"first": FRACTIONS, "second": OTHER_FRACTIONS},
        {},
    ),
    "pass_rates": (
        pass_rates,
        {"predictions": [[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]]},
        {"suite": SUITE.table()},
    ),
    "generalization_score": (_generalization_of_seen, {"seen": FRACTIONS}, {}),
    "shortcut_reliance": (
        shortcut_reliance,
        {
            "tokens": TOKENS,
            "attributions": ROWS,
            "predictions": BINARY,
            "references": LABELS,
            "confidences": FRACTIONS,
        },
        {"heads": {0: ["good", "film"], 1: ["bad"]}, "resampling": FEW},
    ),
    "shortcut_tradeoff": (
        shortcut_tradeoff,
        {"predictions": PREDICTIONS, "references": LABELS, "cued": FLAGS},
        {"resampling": FEW},
    ),
    "deciding_share": (
        deciding_share,
        {"predictions": PREDICTIONS, "swapped": OTHER_PREDICTIONS, "control": PREDICTIONS},
        {},
    ),
    "silent_sway": (
        silent_sway,
        {
            "plain": PLAIN,
            "neutral": PREDICTIONS,
            "hinted": OTHER_PREDICTIONS,
            "hints": HINTS,
            "mentions": FLAGS,
        },
        {"n_resamples": 40},
    ),
    "phi_cct": (phi_cct, {"mentions": FLAGS, "moved": OTHER_FLAGS}, {}),
}
"""For each kernel, some more than once: the function, columns with a value per item, and options."""
