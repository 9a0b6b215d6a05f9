"""What the page of a comparison concludes: no more than the figures at which the tests tell the models apart."""

from types import SimpleNamespace

import pytest

from rightreasons.report import comparison as page


@pytest.mark.parametrize(
    ("first", "second", "open_", "tone", "label"),
    [
        (0, 0, 3, "neutral", "Inconclusive: no significant difference between one and two"),
        (0, 0, 0, "neutral", "Inconclusive: no significant difference between one and two"),
        (1, 0, 0, "good", "one is better at 1 of 1 metric"),
        (0, 1, 9, "good", "two is better at 1 of 10 metrics"),
        (2, 1, 9, "good", "one is better at 2 metrics, and two at 1"),
    ],
)
def test_one_better_figure_is_not_a_better_model(first, second, open_, tone, label):
    at = {"first": ["a"] * first, "second": ["b"] * second, "": ["c"] * open_}
    comparison = SimpleNamespace(
        first="one",
        second="two",
        list_better_figures=at.__getitem__,
        winners=[side for side in ("first", "second") if at[side]],
        n_tests=first + second + open_,
        n_same_answers=None,
        get_name={"first": "one", "second": "two", "": ""}.__getitem__,
    )
    rule, say = page.ANSWERS.find_rule(comparison), page.ANSWERS.prose.of(m=comparison)
    assert (rule.tone, say.title(f"verdict.{rule.key}")) == (tone, label)
    assert ("1 metric shows no significant difference" in say(f"verdict.{rule.key}")) == (
        open_ == 1
    )
