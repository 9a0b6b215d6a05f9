"""Found tokens against planted ones."""

import pytest

from rightreasons.core.resampling import Resampling
from rightreasons.shortcuts.reliance import detection_quality


def test_counts_over_all_texts():
    # found 4, planted 3, both 2: precision 2/4, recall 2/3, F1 = 2*2/(4+3).
    quality = detection_quality(
        [[1, 1, 0], [0, 1], [1]], [[1, 0, 0], [1, 0], [True]], resampling=Resampling(resamples=200)
    )
    assert (quality.n_found, quality.n_planted, quality.n_both, quality.n_texts) == (4, 3, 2, 3)
    assert (quality.precision, quality.recall) == (1 / 2, 2 / 3)
    assert quality.f1 == pytest.approx(4 / 7)
    assert quality.text_recall == 2 / 3
    assert quality.precision_interval.low <= 1 / 2 <= quality.precision_interval.high


def test_a_perfect_detector_is_not_certain():
    # Two texts count as two items: Wilson's lower end of 2 of 2 is 2 / (2 + z²).
    quality = detection_quality([[1, 0], [0, 1]], [[1, 0], [0, 1]])
    for interval in (quality.precision_interval, quality.recall_interval):
        assert (interval.low, interval.high) == (pytest.approx(2 / (2 + 1.959964**2), abs=1e-6), 1)


def test_text_recall_needs_one_piece_of_a_cue():
    quality = detection_quality([[0, 1, 0]], [[1, 1, 0]])
    assert (quality.recall, quality.text_recall) == (0.5, 1.0)


def test_text_recall_is_over_the_texts_with_a_planted_token():
    # The second text has none; of the first and the third, the first is found.
    quality = detection_quality([[1, 0], [1, 1], [0, 0, 0]], [[1, 0], [0, 0], [0, 1, 1]])
    assert quality.text_recall == 0.5
    assert (quality.precision, quality.recall) == (1 / 3, 1 / 3)


def test_nothing_found_and_nothing_planted():
    quality = detection_quality([[0, 0]], [[0, 1]])
    assert (quality.precision, quality.recall, quality.f1, quality.precision_interval) == (None, 0.0, None, None)
    quality = detection_quality([[0, 1]], [[0, 0]])
    assert (quality.precision, quality.recall, quality.text_recall, quality.recall_interval) == (0.0, None, None, None)


@pytest.mark.parametrize(
    ("found", "planted", "error", "sentence"),
    [
        ([[1, 0]], [[1]], ValueError, "Expected one flag per token in `found` and `planted`, but item 0 has 2 and 1."),
        ([[1]], [[1], [0]], ValueError, "Expected `found` and `planted` of one length, but got 1 and 2."),
        ([], [], ValueError, "Expected at least one text, but `found` is empty."),
        ([[0], [0.5]], [[1], [0]], TypeError, "Expected True or False in `found`, but item 1 holds 0.5."),
    ],
)
def test_bad_input_is_told_in_one_sentence(found, planted, error, sentence):
    with pytest.raises(error) as caught:
        detection_quality(found, planted)
    assert sentence in str(caught.value)
