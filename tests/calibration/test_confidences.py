"""The lint: P(class 1) beside correctness is told from P(class 1) beside labels."""

import warnings

import numpy as np
import pytest

from rightreasons.calibration.confidences import parse_top_label
from rightreasons.calibration.errors import (
    MISTAKES,
    ConfidenceVersusLabelWarning,
    PositiveVersusCorrectnessWarning,
    calibration_error,
)


def warned(predictions, references):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return calibration_error(predictions, references).warning


def looks_like_positive_vs_correctness(predictions, references):
    return warned(predictions, references) == MISTAKES[PositiveVersusCorrectnessWarning]


def looks_like_confidence_vs_label(predictions, references):
    return warned(predictions, references) == MISTAKES[ConfidenceVersusLabelWarning]


def classifier(n=2000, sharpness=3.0, base=0.0, seed=0):
    """P(class 1) of a calibrated binary classifier, and labels drawn from it."""
    rng = np.random.default_rng(seed)
    positive = 1 / (1 + np.exp(-rng.normal(base, sharpness, n)))
    return positive, (rng.random(n) < positive).astype(int)


def correctness(positive, labels):
    return ((positive >= 0.5) == labels).astype(int)


class TestLooksLike:
    @pytest.mark.parametrize("sharpness", [1.0, 3.0, 6.0])
    @pytest.mark.parametrize("seed", range(3))
    def test_tells_the_mistake_from_the_right_use(self, sharpness, seed):
        positive, labels = classifier(sharpness=sharpness, seed=seed)
        assert not looks_like_positive_vs_correctness(positive, labels)
        assert looks_like_positive_vs_correctness(positive, correctness(positive, labels))

    @pytest.mark.parametrize(("n_ones", "suspect"), [(29, False), (30, True)])
    def test_more_than_half_of_those_below_by_chance(self, n_ones, suspect):
        # Of 40 items below 0.5, by chance at most 20 + 3.09 * sqrt(40) / 2 = 29.8 have reference 1.
        positive, references = np.repeat([0.3, 0.6], 40), np.zeros(80, int)
        references[:n_ones], references[40:64] = 1, 1
        assert looks_like_positive_vs_correctness(positive, references) is suspect

    def test_columns_are_read_as_class_0_and_1(self):
        positive, labels = classifier()
        rows = np.column_stack((1 - positive, positive))
        assert looks_like_positive_vs_correctness(rows, correctness(positive, labels))
        assert not looks_like_positive_vs_correctness(rows, labels)

    @pytest.mark.parametrize(
        "labels_of",
        [
            lambda p, y: 1 - y,  # swapped labels
            lambda p, y: np.ones_like(y),  # a split with one class
            lambda p, y: np.random.default_rng(0).integers(
                0, 2, len(y)
            ),  # labels that the model does not know
            lambda p, y: (np.random.default_rng(0).random(len(y)) < 0.7).astype(
                int
            ),  # and of skewed classes
        ],
    )
    def test_other_troubles_are_not_this_one(self, labels_of):
        positive, labels = classifier()
        assert not looks_like_positive_vs_correctness(positive, labels_of(positive, labels))

    def test_confidence_beside_correctness_is_right_use(self):
        positive, labels = classifier()
        confidence = np.maximum(positive, 1 - positive)
        assert not looks_like_positive_vs_correctness(confidence, correctness(positive, labels))

    def test_few_items_say_nothing(self):
        positive, labels = classifier(12)
        assert not looks_like_positive_vs_correctness(positive, correctness(positive, labels))

    def test_three_classes_say_nothing(self):
        rows = np.full((50, 3), 1 / 3)
        assert not looks_like_positive_vs_correctness(rows, np.zeros(50, int))

    def test_an_untrained_model_on_skewed_classes(self):
        # P(class 1) wavers about 0.5 while 70 % of the labels are 1
        rng = np.random.default_rng(0)
        positive = np.clip(rng.normal(0.5, 0.05, 1000), 0, 1)
        labels = (rng.random(1000) < 0.7).astype(int)
        assert not looks_like_positive_vs_correctness(positive, labels)


class TestWarning:
    def test_the_kernel_warns_and_says_so_in_the_result(self):
        positive, labels = classifier()
        with pytest.warns(PositiveVersusCorrectnessWarning, match="pass the labels as references"):
            result = calibration_error(positive, correctness(positive, labels), kind="positive")
        assert result.warning is not None
        with pytest.warns(PositiveVersusCorrectnessWarning):
            calibration_error(
                np.column_stack((1 - positive, positive)), correctness(positive, labels)
            )

    def test_it_points_at_the_caller(self):
        positive, labels = classifier()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            calibration_error(positive, correctness(positive, labels))
        assert [w.filename for w in caught] == [__file__]

    def test_right_use_is_silent(self):
        positive, labels = classifier()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert calibration_error(positive, labels).warning is None


class TestConfidenceBesideLabels:
    @pytest.mark.parametrize("sharpness", [1.0, 3.0, 6.0])
    @pytest.mark.parametrize("base", [0.0, -1.0])
    @pytest.mark.parametrize("seed", range(3))
    def test_tells_the_mistake_from_the_right_uses(self, sharpness, base, seed):
        positive, labels = classifier(sharpness=sharpness, base=base, seed=seed)
        confidence = np.maximum(positive, 1 - positive)
        assert looks_like_confidence_vs_label(confidence, labels)
        assert not looks_like_confidence_vs_label(confidence, correctness(positive, labels))
        assert not looks_like_confidence_vs_label(positive, labels)
        above = positive >= 0.5  # P(class 1) of the items that are predicted as class 1
        assert not looks_like_confidence_vs_label(positive[above], labels[above])

    def test_overconfidence_that_says_something_is_not_the_mistake(self):
        positive, labels = classifier()
        sure = np.clip(np.maximum(positive, 1 - positive) + 0.1, 0, 1)
        assert not looks_like_confidence_vs_label(sure, correctness(positive, labels))

    @pytest.mark.parametrize("confidence", [[0.9] * 100, [0.9] * 50 + [0.91] * 50])
    def test_confidence_that_hardly_differs_says_nothing(self, confidence):
        assert not looks_like_confidence_vs_label(confidence, [1, 0] * 50)

    def test_half_is_no_confidence_below_half(self):
        confidence, labels = [0.5, 0.6, 0.8, 1.0] * 50, [0, 1, 1, 0, 1, 0, 0, 1] * 25
        assert looks_like_confidence_vs_label(confidence, labels)
        assert not looks_like_confidence_vs_label([0.49, *confidence], [0, *labels])

    def test_few_items_and_tables_say_nothing(self):
        positive, labels = classifier()
        confidence = np.maximum(positive, 1 - positive)
        assert not looks_like_confidence_vs_label(confidence[:19], labels[:19])
        assert not looks_like_confidence_vs_label(
            np.column_stack((1 - confidence, confidence)), labels
        )

    def test_the_kernel_warns_for_either_kind(self):
        positive, labels = classifier()
        confidence = np.maximum(positive, 1 - positive)
        for kind, match in (
            ("top_label", "no prediction is below 0.5"),
            ("confidence", "like class labels"),
        ):
            with pytest.warns(ConfidenceVersusLabelWarning, match=match):
                assert calibration_error(confidence, labels, kind=kind).warning is not None

    def test_probability_of_class_1_as_confidence_is_noticed(self):
        positive, labels = classifier()
        right = correctness(positive, labels)
        with pytest.warns(PositiveVersusCorrectnessWarning, match="the larger of"):
            calibration_error(positive, right, kind="confidence")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            calibration_error(np.maximum(positive, 1 - positive), right, kind="confidence")

    def test_either_mistake_gives_a_figure_like_a_published_one(self):
        # a calibrated classifier of balanced classes, some 93 % right: both figures are near 0.93 - 0.5
        positive, labels = classifier(20_000, sharpness=7.0)
        right = correctness(positive, labels)
        with pytest.warns(PositiveVersusCorrectnessWarning):
            first = calibration_error(positive, right, kind="positive").ece
        with pytest.warns(ConfidenceVersusLabelWarning):
            second = calibration_error(np.maximum(positive, 1 - positive), labels).ece
        assert first == pytest.approx(right.mean() - 0.5, abs=0.02)
        assert second == pytest.approx(right.mean() - 0.5, abs=0.02)


@pytest.mark.parametrize("kind", ["top_label", "confidence"])
def test_references_may_be_an_iterator(kind):
    references = [1, 0, 1]

    from_list = parse_top_label([0.9, 0.2, 0.7], references, kind=kind)
    from_iterator = parse_top_label([0.9, 0.2, 0.7], iter(references), kind=kind)

    assert from_iterator.labels.tolist() == from_list.labels.tolist()
