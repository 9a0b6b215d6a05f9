"""From a figure with its interval to a verdict."""

from rightreasons.core.decisions import Decision, Margin, decide, decide_above
from rightreasons.core.estimates import Estimate


def test_the_items_that_would_tell_are_items_where_each_cluster_has_several():
    # Twice the width of what would do, with 25 clusters of four: 4 x 100 items, not 4 x 25.
    margin, estimate = Margin(small=0.1, large=0.25), Estimate(0.05, -0.05, 0.15)
    assert decide(estimate, margin, 100, 25).n_needed == 400
    # 19 clusters are too few whatever the interval says; with 20 like them there would be 20/19 of the items.
    assert decide(Estimate(0.0, -0.01, 0.01), margin, 95, 19) == Decision("unknown", 95, 100)


def test_two_items_do_not_say_that_twenty_would_tell():
    # A share's interval has half a width of at most 0.98 / sqrt(n): 0.05 takes (0.98 / 0.05) ** 2 = 384.16 items.
    assert decide(Estimate(-0.225, -1.0, 1.0), Margin(small=0.05, large=0.05), 2).n_needed == 385


def test_without_an_interval_nothing_is_known():
    for estimate in (None, Estimate(0.5, None, None), Estimate(None, None, None)):
        assert decide_above(estimate, Margin(0.1, 0.25), 100) == Decision("unknown", 100)
