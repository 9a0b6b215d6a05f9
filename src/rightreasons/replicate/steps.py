"""The kinds of steps that recipes name.

A step is a function of a `Work` that returns plain values: `rows`, each with a `key` and `figures`,
and `facts`, the values that sentences quote. Its models and scores go into the folder of the work,
from which an interrupted step resumes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from rightreasons.replicate import (
    copa_steps,
    learning_steps,
    pair_steps,
    printed_steps,
    probe_steps,
    suite_steps,
    text_steps,
)
from rightreasons.replicate.work import Work

__all__ = ["STEPS", "Work"]

STEPS: Mapping[str, Callable[[Work], dict[str, Any]]] = MappingProxyType(
    {
        # Kavumba et al. (2019)
        "count_cues": copa_steps.count_cues,
        "score_released_predictions": copa_steps.score_released_predictions,
        "train_on_copa": copa_steps.train_on_copa,
        "compare_training_sets": copa_steps.compare_training_sets,
        # Shen & Kejriwal (2022)
        "probe_trained_models": probe_steps.probe_trained_models,
        "probe_language_models": probe_steps.probe_language_models,
        # Bihani & Rayz (2025)
        "measure_paradox": text_steps.measure_paradox,
        "correlate_trained_models": printed_steps.correlate_trained_models,
        "measure_corrections": text_steps.measure_corrections,
        "correlate_models": printed_steps.correlate_models,
        # Datta et al. (2020)
        "measure_gaussians": pair_steps.measure_gaussians,
        "measure_pairs": pair_steps.measure_pairs,
        # Luz de Araujo & Roth (2023); Ribeiro et al. (2020)
        "score_released_answers": suite_steps.score_released_answers,
        "learn_suites": learning_steps.learn_suites,
    }
)
"""Function by the kind of a step."""
