"""Failed requests: equal reasons are one, and only a complete reply without an answer is unread."""

from __future__ import annotations

from types import SimpleNamespace

from rightreasons.report.unread import list_failed_requests


def test_failed_requests_are_unread_by_their_replies_and_not_by_the_words_of_their_reason():
    failures = {
        "i0/order": "no answer in 'I weigh it.'",
        "i1/order": "no answer in 'Both.'",
        "i2/order": "no answer in 30 seconds",
        "i3": "no answer in 'None.'",
    }
    prompted = SimpleNamespace(failures=failures, unread={"i0/order", "i1/order", "i3"})
    # An item without a score is listed elsewhere.
    split = SimpleNamespace(left_out=[("i3", failures["i3"])])

    failed = list_failed_requests(SimpleNamespace(prompted=prompted, splits=[split]))

    assert failed == [
        ("no answer that can be read", 2, "i0/order"),
        ("no answer in 30 seconds", 1, "i2/order"),
    ]
