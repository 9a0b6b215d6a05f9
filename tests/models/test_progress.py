"""A bar of one part of a work also shows how much of all parts is left."""

import numpy as np
import pytest

from rightreasons.models.runs import progress
from rightreasons.models.runs.progress import (
    BarText,
    RequestTotal,
    begin_step,
    open_item_bar,
    show_total,
)


class FakeBar:
    """Records how far a bar moves, and the words at its end."""

    def __init__(self, *_, **__):
        self.n = 0
        self.postfixes = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def update(self, n):
        self.n += n

    def set_postfix_str(self, text, refresh=True):
        self.postfixes.append(text)


@pytest.fixture
def bar(monkeypatch):
    bar = FakeBar()
    monkeypatch.setattr(progress, "progress_bar", lambda *_, **__: bar)
    return bar


def test_the_remaining_time_is_that_of_all_parts():
    total = RequestTotal({"the items": 40, "probes": 60})
    total.begin("the items")
    total.advance(10, seconds=20.0)

    # 90 requests remain, at 2 seconds each.
    assert total.describe() == "10/100 requests in all, 03:00 left"


def test_a_part_that_was_stored_counts_as_finished_but_not_for_the_speed():
    total = RequestTotal({"the items": 40, "probes": 60})
    total.begin("the items")
    total.begin("probes")
    total.advance(20, seconds=20.0)

    assert total.describe() == "60/100 requests in all, 00:40 left"


def test_a_part_that_sends_more_than_planned_counts_as_planned():
    total = RequestTotal({"the items": 40, "probes": 60})
    total.begin("the items")
    total.advance(50, seconds=10.0)

    # 60 requests remain, at 0.2 seconds each.
    assert total.describe() == "40/100 requests in all, 00:12 left"


def test_a_part_without_requests_shows_no_total():
    total = RequestTotal({"probes": 60})
    total.begin("difficulty")

    assert total.describe() == ""


@pytest.mark.parametrize("lengths", [None, np.array([3, 1, 4, 1, 5])])
def test_a_bar_moves_by_its_units_and_the_total_by_items(bar, lengths):
    items = np.array([4, 0, 2])
    with show_total({"the items": 3, "probes": 7}):
        begin_step("the items")
        with open_item_bar(BarText("items", lengths), items, is_shown=True) as advance:
            advance(items[:2])
            advance(items[2:])

    # 5 + 3 + 4 tokens, or 3 items.
    assert bar.n == (3 if lengths is None else 12)
    assert [text.split(" requests")[0] for text in bar.postfixes] == ["2/10", "3/10"]


def test_without_a_total_a_bar_only_shows_its_items(bar):
    begin_step("the items")
    items = np.arange(5)
    with open_item_bar(BarText("items"), items, is_shown=True) as advance:
        advance(items)

    assert bar.n == 5
    assert bar.postfixes == []


def test_a_title_does_not_repeat_that_of_the_outer_block():
    with progress.prefix_bar_titles("predictions", "test"):
        assert progress.make_title("predictions") == "predictions, test"
        assert progress.make_title("attributions") == "predictions, test: attributions"


def test_a_bar_disappears_when_its_work_is_finished(monkeypatch, capsys):
    monkeypatch.setattr(progress, "is_progress_visible", lambda: True)

    with progress.progress_bar(3, "items", shown=True) as bar:
        bar.update(3)

    output = capsys.readouterr().err
    assert "items:" in output
    # The output ends with an empty line over the bar, without a line break.
    assert "\n" not in output
    assert output.rsplit("\r", 1)[-1].strip() == ""
