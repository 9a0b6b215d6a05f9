"""A signal is noted wherever it comes, and looked at between two steps; a second one ends the process."""

import os
import signal
import subprocess
import sys
import threading
import weakref

import pytest

from rightreasons.core.engines import run_tasks
from rightreasons.core.signals import (
    allow_immediate_interrupt,
    catch_signals,
    defer_stop,
    is_signaled,
    stop_if_signaled,
)


@pytest.fixture(autouse=True)
def in_the_foreground():
    """A shell without job control starts what runs in the background with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Watched:
    """Something that is watched by a weak reference."""


class Dying:
    def __del__(self):
        signal.raise_signal(signal.SIGTERM)


def in_a_weak_reference():
    watched = Watched()
    reference = weakref.ref(watched, lambda _: signal.raise_signal(signal.SIGTERM))
    del watched
    return reference


def in_a_finalizer():
    weakref.finalize(Watched(), signal.raise_signal, signal.SIGTERM)


def in_a_destructor():
    Dying()


@pytest.mark.parametrize("send", [in_a_weak_reference, in_a_finalizer, in_a_destructor])
def test_a_signal_is_not_lost_where_exceptions_are(send):
    with catch_signals() as code:
        stop_if_signaled()
        send()
        assert is_signaled()
        with pytest.raises(KeyboardInterrupt):
            stop_if_signaled()
        assert code() == 128 + signal.SIGTERM
    assert not is_signaled()


def test_nothing_stops_amid_a_step():
    """The first task ends although the signal comes within it, and the second does not begin."""
    ended = []

    def task(number):
        if number == 1:
            signal.raise_signal(signal.SIGINT)
        ended.append(number)

    with catch_signals() as code:
        with pytest.raises(KeyboardInterrupt):
            list(run_tasks(task, [0, 1, 2], progress=False))
        assert (ended, code()) == ([0, 1], 130)


def test_work_that_stops_itself_goes_on_until_it_does():
    with catch_signals():
        with defer_stop():
            signal.raise_signal(signal.SIGHUP)
            with allow_immediate_interrupt():
                stop_if_signaled()
            assert is_signaled()
        with pytest.raises(KeyboardInterrupt), allow_immediate_interrupt():
            pytest.fail("it waits although a signal came")


def test_waiting_ends_at_the_first_signal():
    main = threading.main_thread().ident
    sender = threading.Timer(0.0, signal.pthread_kill, (main, signal.SIGTERM))

    def wait_forever():
        with allow_immediate_interrupt():
            sender.start()
            threading.Event().wait()

    with catch_signals(), pytest.raises(KeyboardInterrupt):
        wait_forever()


SECOND = """
import signal, weakref
from rightreasons.core.signals import catch_signals
class A:
    def __del__(self):
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.{second})
        print("still here", flush=True)
with catch_signals():
    A()
    print("still running", flush=True)
"""


@pytest.mark.parametrize("second", ["SIGTERM", "SIGINT"])
def test_two_signals_stop_at_once_wherever_they_come(second):
    words = [sys.executable, "-c", SECOND.format(second=second)]
    done = subprocess.run(words, capture_output=True, text=True, env=os.environ)
    assert done.returncode == -getattr(signal, second)
    assert done.stdout == ""
    assert "a second signal stops at once" in done.stderr


def test_handlers_are_as_they_were():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with catch_signals():
        assert signal.getsignal(signal.SIGTERM) != before[1]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
