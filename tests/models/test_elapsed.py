"""A line shows the elapsed time of slow work."""

import threading

import pytest

from rightreasons.models.runs import elapsed


class Bar:
    """Records what is drawn; the event `is_drawn` is set by the first refresh."""

    def __init__(self, desc, bar_format):
        self.lines = [desc]
        self.is_drawn = threading.Event()
        bars.append(self)

    def refresh(self):
        self.lines.append("refresh")
        self.is_drawn.set()

    def close(self):
        self.lines.append("close")


bars = []


@pytest.fixture(autouse=True)
def fake_bars(monkeypatch):
    bars.clear()
    monkeypatch.setattr(elapsed, "tqdm", Bar)
    monkeypatch.setattr(elapsed, "_REFRESH_SECONDS", 0.001)


def test_the_line_is_drawn_at_once_and_again_until_the_work_ends(monkeypatch):
    monkeypatch.setattr(elapsed, "is_progress_visible", lambda: True)

    def work():
        with elapsed.show_elapsed("Loading x"):
            assert bars[0].lines[0] == "Loading x"
            # Another thread draws while this one works.
            assert bars[0].is_drawn.wait(timeout=60)
            raise ValueError("no weights")

    with pytest.raises(ValueError, match="no weights"):
        work()

    assert bars[0].lines[-1] == "close"
    assert set(bars[0].lines[1:-1]) == {"refresh"}


def test_nothing_is_drawn_if_nobody_watches(monkeypatch):
    monkeypatch.setattr(elapsed, "is_progress_visible", lambda: False)

    with elapsed.show_elapsed("Loading x"):
        pass

    assert bars == []
