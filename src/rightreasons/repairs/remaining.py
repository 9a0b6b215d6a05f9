"""Find what else decides in a repaired model, by the swaps of the audit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from rightreasons.repairs.findings import Findings
from rightreasons.repairs.options import RepairOptions
from rightreasons.repairs.training_set import TrainingSet, list_columns
from rightreasons.repairs.words import SpuriousWords
from rightreasons.shortcuts.measure_deciding import FeatureEffect, measure_swaps
from rightreasons.shortcuts.swapping.training import TrainingTexts


def find_remaining(
    scorer: Any,
    findings: Findings,
    repaired: TrainingSet,
    words: SpuriousWords,
    options: RepairOptions,
) -> tuple[FeatureEffect, ...]:
    """List the features, other than the repaired words, that decide in a repaired model.

    The repaired texts offer the candidates, as in an audit with these training texts. The repaired
    words are left out, because they are verified separately.

    Args:
        scorer: The repaired model.
        findings: The audited items, with their gold labels.
        repaired: Repaired training texts.
        words: Words that were repaired.
        options: Budget, level and seed.

    Returns:
        Features that decide more than their margins allow, the largest effect first.
    """
    # The repaired model may have its classes in another order than the audited one.
    class_names = list(scorer.label_names)
    class_of_label = np.array([class_names.index(name) for name in findings.label_names])
    training = TrainingTexts(
        list_columns(repaired.items),
        class_of_label[repaired.labels],
        len(class_names),
        segmenter=repaired.segmenter,
        # Reasons are never candidates.
        reasons=words.labels,
    )

    columns = list_columns(findings.items)
    second_texts = None
    if len(columns) > 1:
        second_texts = columns[1]
    scores = scorer.predict(columns[0], text_pairs=second_texts, progress=False)
    # Unlabeled items (-1) are mapped like the label 0 first, and then set to -1 again.
    is_labeled = findings.labels >= 0
    classes = class_of_label[np.maximum(findings.labels, 0)]
    gold = np.where(is_labeled, classes, -1)
    measured = measure_swaps(
        scorer,
        columns,
        scores.predicted,
        training,
        ids=findings.ids,
        labels=gold,
        resampling=options.resampling,
        budget=options.budget,
        progress=False,
    )
    # The strongest pair of words is among the tests and among the pairs.
    effects = dict.fromkeys([*measured.rows, *measured.pairs])
    decisive = [effect for effect in effects if effect.is_decisive]
    return tuple(sorted(decisive, key=lambda row: -row.effect.deciding_share))


def list_new_words(features: Iterable[FeatureEffect], known: Sequence[str]) -> list[str]:
    """Return the distinct words of features that are not among known words, in their order.

    Args:
        features: Features with their words.
        known: Words to leave out.
    """
    words: dict[str, None] = {}
    for feature in features:
        for word in feature.words:
            if word not in known:
                words[word] = None
    return list(words)
