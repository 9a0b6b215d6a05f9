"""An audit for each value of a column."""

import datasets
import pytest

from rightreasons.core.errors import OptionError
from rightreasons.report.arms import list_values


def test_arms_are_the_values_of_a_column_in_their_order():
    texts = [f"text {row}" for row in range(40)]
    data = datasets.Dataset.from_dict({"arm": ["b", "a"] * 20, "text": texts})

    assert list_values(data, "arm") == ["b", "a"]
    with pytest.raises(OptionError) as error:
        list_values(data, "text")
    assert error.value.option == ("by",)
