"""Work of a page in processes of its own: limits of time and memory, and errors that come through."""

import time

import pytest

from rightreasons.widget.working import result_of, work


def test_work_ends_when_it_takes_too_long_and_when_nobody_waits():
    with pytest.raises(ValueError, match="most 0.3 seconds"):
        result_of(work(time.sleep, 60, seconds=0.3))
    steps = work(time.sleep, 60)
    assert next(steps) is None
    start = time.monotonic()
    steps.close()
    assert result_of(work(abs, -3)) == 3  # by a new process, as the old one has ended
    assert time.monotonic() - start < 50


def test_work_that_takes_too_much_memory_is_told():
    with pytest.raises(ValueError, match="0.4 GB of memory"):
        result_of(work(bytearray, 10**9, gigabytes=0.4))
    assert result_of(work(len, [1, 2])) == 2


def test_errors_come_through():
    with pytest.raises(ValueError, match="invalid literal"):
        result_of(work(int, "x"))
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        result_of(work(divmod, 1, 0))
