"""What the page of a comparison concludes: no more than the figures at which the tests tell the models apart."""

from types import SimpleNamespace

import pytest

from rightreasons.core.intervals import Estimate
from rightreasons.report import comparison as page


@pytest.mark.parametrize(
    ("first", "second", "open_", "tone", "label"),
    [
        (0, 0, 3, "neutral", "Cannot tell them apart"),
        (0, 0, 0, "neutral", "Cannot tell them apart"),
        (1, 0, 0, "good", "one is better at 1 of 1 figure"),
        (0, 1, 9, "good", "two is better at 1 of 10 figures"),
        (2, 1, 9, "good", "Each is better at something"),
    ],
)
def test_one_better_figure_is_not_a_better_model(first, second, open_, tone, label):
    at = {"first": ["a"] * first, "second": ["b"] * second, "": ["c"] * open_}
    comparison = SimpleNamespace(first="one", second="two", answers=(), better_at=at.__getitem__)
    said = page._answers_section(comparison).verdict
    assert (said.tone, said.label) == (tone, label)
    assert ("1 figure is open" in said.summary) == (open_ == 1)


@pytest.mark.parametrize(("n", "alone", "says"), [(1, 1, "1 item is right"), (9, 0, "0 items are right")])
def test_accuracy(n, alone, says):
    compared = SimpleNamespace(n_items=n, first_right=alone, second_right=0)
    accuracy = SimpleNamespace(first=Estimate(0.5), second=Estimate(None), p_value=1.0, winner="")
    said = page._verdict(SimpleNamespace(first="one", second="two"), compared, accuracy)
    assert said.label == "No difference in accuracy shown"
    assert f"On {n} shared item{'s' * (n > 1)} one is right" in said.summary
    assert f"{says} in the first alone, 0 in the second alone (McNemar's mid-p test, p = 1.000)" in said.summary
