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


@pytest.fixture
def clock(monkeypatch):
    """Return a list with the present second, without a terminal."""
    seconds = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: seconds[0])
    monkeypatch.setattr(progress, "is_progress_visible", lambda: False)
    monkeypatch.setattr(progress.ProgressLines, "_latest_line", None)
    return seconds


def test_without_a_terminal_slow_work_prints_a_line_per_minute(clock, capsys):
    with progress.progress_bar(200, "attributions", shown=True) as bar:
        for second in (140.0, 165.0, 170.0, 226.0):
            clock[0] = second
            bar.update(10)

    # 20 items took 65 s, so that 180 take 585 s. At 170 s, the latest line is 5 s old. 40 items
    # took 126 s, so that 160 take 504 s.
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "attributions: 20/200 items, 09:45 left",
        "attributions: 40/200 items, 08:24 left",
    ]


def test_the_minute_counts_over_short_steps(clock, capsys):
    for step in range(5):
        with progress.progress_bar(4, f"step {step}", shown=True) as bar:
            clock[0] += 25
            bar.update(4)

    # The steps end after 25, 50, 75, 100 and 125 s. The line after 75 s is 50 s old after 125 s.
    assert capsys.readouterr().err.splitlines() == ["step 2: 4/4 items, 00:00 left"]


def test_quiet_commands_print_no_lines(clock, capsys):
    token = progress.is_quiet.set(True)

    with progress.progress_bar(4, "items", shown=True) as bar:
        clock[0] += 900
        bar.update(4)
    progress.is_quiet.reset(token)

    assert capsys.readouterr().err == ""
