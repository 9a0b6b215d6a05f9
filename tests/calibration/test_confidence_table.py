"""The boundaries of confidences, and the names of their columns."""

import numpy as np
import pytest

from rightreasons.calibration.confidence_table import _parse_confidence, _parse_sources


def test_zero_and_one_are_confidences_and_empty_cells_are_none():
    values = _parse_confidence([0, 1, None, 0.375], "sure", "the table")

    np.testing.assert_array_equal(values, [0.0, 1.0, np.nan, 0.375])


@pytest.mark.parametrize("value", [1 + 1e-9, -1e-9, 2, -1])
def test_numbers_beyond_zero_and_one_are_refused(value):
    with pytest.raises(ValueError, match="row 1"):
        _parse_confidence([0.5, value], "sure", "the table")


def test_only_a_prefix_is_left_out_of_the_name_of_a_source():
    headings = ["CONFIDENCE_a", "my_confidence_b", "confidence_confidence_c"]
    columns = {heading: [0.25, 0.75] for heading in headings}

    sources = _parse_sources(columns, headings, "the table")
    assert list(sources) == ["a", "my_confidence_b", "confidence_c"]
    assert list(_parse_sources(columns, headings[:1], "the table")) == ["confidence"]
