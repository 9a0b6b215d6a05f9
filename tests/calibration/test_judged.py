"""Labeled items with scores: what is left out, what is shared, and what is counted."""

import numpy as np
import pytest

from rightreasons.calibration.judged import JudgedItems
from rightreasons.core.arrays import Ragged
from rightreasons.core.resampling import Resampling

PROBABILITIES = np.array([[0.7, 0.2, 0.1], [0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
LABELS = np.array([0, 1, -1])


def test_unlabeled_items_are_left_out_with_their_clusters():
    clusters = np.array(["a", "a", "b"])

    items = JudgedItems.of(np.log(PROBABILITIES), LABELS, clusters=clusters)

    assert len(items) == 2
    assert items.clusters.tolist() == ["a", "a"]
    assert items.n_units == 1
    assert items.top.correct.tolist() == [True, False]


def test_the_probability_of_the_label_is_read_from_its_column():
    items = JudgedItems.of(np.log(PROBABILITIES), LABELS)

    assert items.label_probability == pytest.approx([0.7, 0.3])


def test_the_probability_of_a_label_stays_within_its_bounds():
    table = np.array([[1.0 + 1e-9, 0.0], [0.0, 1.0 + 1e-9]])

    items = JudgedItems.of(np.zeros((2, 2)), np.array([0, 0]), probabilities=table)

    assert items.label_probability.tolist() == [1.0, 0.0]


def test_exact_probabilities_replace_those_of_the_logits():
    items = JudgedItems.of(np.zeros((3, 3)), LABELS, probabilities=PROBABILITIES)

    assert items.top.confidence == pytest.approx([0.7, 0.5])


def test_without_probabilities_there_are_class_scores():
    items = JudgedItems.of(np.log(PROBABILITIES), LABELS, kind="confidence")

    assert items.kind == "top_label"
    assert items.has_fixed_classes


def test_choices_and_given_answers_have_no_fixed_classes():
    choices = Ragged(np.array([0.7, 0.3, 0.2, 0.2, 0.6]), np.array([0, 2, 5]))
    confidence = np.array([0.9, 0.4])
    logits = np.log(np.column_stack((1 - confidence, confidence)))

    ragged = JudgedItems.of(choices, np.array([0, 2]))
    given = JudgedItems.of(logits, np.array([1, 0]), probabilities=confidence, kind="confidence")

    assert not ragged.has_fixed_classes
    assert not given.has_fixed_classes
    assert given.top.confidence.tolist() == [0.9, 0.4]
    assert given.top.correct.tolist() == [True, False]


def test_masked_units_are_clusters_or_items():
    logits = np.zeros((4, 2))
    labels = np.array([0, 0, 1, 1])
    mask = np.array([True, True, True, False])

    plain = JudgedItems.of(logits, labels)
    clustered = JudgedItems.of(logits, labels, clusters=np.array(["a", "a", "b", "c"]))

    assert plain.count_masked_units(mask) == 3
    assert clustered.count_masked_units(mask) == 2


def test_resamples_are_drawn_once_for_all_norms():
    rng = np.random.default_rng(0)
    items = JudgedItems.of(rng.normal(size=(30, 2)), rng.integers(0, 2, 30))
    resampling = Resampling(resamples=20)

    def count_cached(kind):
        return sum(key[0] == kind for key in items._cache)

    items.compute_error(resampling)
    items.compute_error(resampling, norm="l2")
    assert count_cached("resamples") == 1

    items.compute_error(Resampling(resamples=20, seed=1))
    assert count_cached("resamples") == 2
    # The bins depend on neither.
    assert count_cached("bins") == 1


def test_the_null_model_of_clusters_draws_whole_clusters():
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(10), 20)
    logits = rng.normal(size=(10, 2))[rows]
    labels = rng.integers(0, 2, 10)[rows]

    plain = JudgedItems.of(logits, labels).get_null_model(Resampling())
    clustered = JudgedItems.of(logits, labels, clusters=rows).get_null_model(Resampling())

    # Ten independent units scatter more than 200.
    assert clustered.expected > 2 * plain.expected


def test_the_order_of_the_input_does_not_change_the_canonical_answers():
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(20, 3))
    labels = rng.integers(0, 3, 20)
    shuffled = rng.permutation(20)

    first = JudgedItems.of(logits, labels, clusters=np.arange(20)).canonical_answers
    second = JudgedItems.of(
        logits[shuffled], labels[shuffled], clusters=np.arange(20)[shuffled]
    ).canonical_answers

    for left, right in zip(first, second, strict=True):
        assert left.tolist() == right.tolist()
    assert np.all(np.diff(first[0]) >= 0)
