"""A signal stops long work between two steps, and a second signal ends the process."""

import os
import signal
import subprocess
import sys
import threading
import weakref

import pytest

from rightreasons.core import signals
from rightreasons.core.engines import run_tasks
from rightreasons.core.signals import (
    allow_immediate_interrupt,
    catch_signals,
    defer_stop,
    is_progress_visible,
    is_quiet,
    is_signaled,
    stop_if_signaled,
)


@pytest.fixture(autouse=True)
def in_the_foreground():
    """Undo what a parent process may have set to be ignored.

    A shell without job control ignores SIGINT for its background jobs, and `nohup` ignores SIGHUP.
    """
    handlers = {
        signal.SIGINT: signal.signal(signal.SIGINT, signal.default_int_handler),
        signal.SIGHUP: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    }
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


class Watched:
    """Something that a weak reference watches."""


class Dying:
    def __del__(self):
        signal.raise_signal(signal.SIGTERM)


def send_from_weak_reference():
    watched = Watched()
    reference = weakref.ref(watched, lambda _: signal.raise_signal(signal.SIGTERM))
    del watched
    return reference


def send_from_finalizer():
    weakref.finalize(Watched(), signal.raise_signal, signal.SIGTERM)


def send_from_destructor():
    Dying()


@pytest.mark.parametrize(
    "send", [send_from_weak_reference, send_from_finalizer, send_from_destructor]
)
def test_a_signal_is_not_lost_where_exceptions_are(send):
    with catch_signals() as get_exit_code:
        stop_if_signaled()
        send()
        assert is_signaled()
        with pytest.raises(KeyboardInterrupt):
            stop_if_signaled()
        assert get_exit_code() == 128 + signal.SIGTERM
    assert not is_signaled()


def test_the_exit_code_without_a_signal_is_that_of_an_interrupt():
    with catch_signals() as get_exit_code:
        assert get_exit_code() == 130


def test_a_step_ends_although_a_signal_comes_within_it():
    finished = []

    def run_step(number):
        if number == 1:
            signal.raise_signal(signal.SIGINT)
        finished.append(number)

    with catch_signals() as get_exit_code:
        with pytest.raises(KeyboardInterrupt):
            list(run_tasks(run_step, [0, 1, 2], progress=False))
        assert finished == [0, 1]
        assert get_exit_code() == 130


def test_work_that_stops_itself_goes_on_until_it_does():
    with catch_signals():
        with defer_stop():
            signal.raise_signal(signal.SIGHUP)
            with allow_immediate_interrupt():
                stop_if_signaled()
            assert is_signaled()
        with pytest.raises(KeyboardInterrupt), allow_immediate_interrupt():
            pytest.fail("it waits although a signal came")


def test_deferred_work_is_not_interrupted_while_it_waits():
    with catch_signals(), defer_stop(), allow_immediate_interrupt():
        signal.raise_signal(signal.SIGTERM)
        assert is_signaled()


def test_deferring_ends_with_its_block():
    with catch_signals():
        with defer_stop():
            with defer_stop():
                signal.raise_signal(signal.SIGTERM)
            stop_if_signaled()
        with pytest.raises(KeyboardInterrupt):
            stop_if_signaled()


def test_waiting_ends_at_the_first_signal():
    main = threading.main_thread().ident
    sender = threading.Timer(0.0, signal.pthread_kill, (main, signal.SIGTERM))

    def wait_forever():
        with allow_immediate_interrupt():
            sender.start()
            threading.Event().wait()

    with catch_signals(), pytest.raises(KeyboardInterrupt):
        wait_forever()


def test_after_waiting_a_signal_is_only_recorded():
    with catch_signals():
        with allow_immediate_interrupt():
            pass
        signal.raise_signal(signal.SIGTERM)
        assert is_signaled()


TWO_SIGNALS = """
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
def test_a_second_signal_ends_the_process_at_once(second):
    command = [sys.executable, "-c", TWO_SIGNALS.format(second=second)]

    done = subprocess.run(command, capture_output=True, text=True, env=os.environ)

    assert done.returncode == -getattr(signal, second)
    assert done.stdout == ""
    assert "a second signal stops at once" in done.stderr


def test_a_hangup_that_is_ignored_stays_ignored():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    with catch_signals():
        signal.raise_signal(signal.SIGHUP)
        assert not is_signaled()


def test_handlers_are_restored():
    numbers = [getattr(signal, name) for name in signals.STOP_SIGNALS]
    outer_handlers = [signal.getsignal(number) for number in numbers]

    with catch_signals():
        inner_handlers = [signal.getsignal(number) for number in numbers]

    assert not set(inner_handlers) & set(outer_handlers)
    assert [signal.getsignal(number) for number in numbers] == outer_handlers


def test_other_threads_leave_the_handlers_alone():
    results = []

    def run():
        with catch_signals() as get_exit_code:
            results.append(get_exit_code())

    outer_handler = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()

    assert results == [130]
    assert signal.getsignal(signal.SIGTERM) == outer_handler


class Terminal:
    """A stderr that is a terminal or not."""

    def __init__(self, is_terminal):
        self.is_terminal = is_terminal

    def isatty(self):
        return self.is_terminal


@pytest.mark.parametrize(
    ("is_terminal", "is_notebook", "quiet", "expected"),
    [
        (True, False, False, True),
        (False, True, False, True),
        (False, False, False, False),
        (True, False, True, False),
        (True, True, True, False),
    ],
)
def test_progress_is_shown_to_somebody_who_wants_it(
    monkeypatch, is_terminal, is_notebook, quiet, expected
):
    monkeypatch.setattr(sys, "stderr", Terminal(is_terminal))
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    if is_notebook:
        monkeypatch.setitem(sys.modules, "ipykernel", signals)

    token = is_quiet.set(quiet)
    visible = is_progress_visible()
    is_quiet.reset(token)

    assert visible is expected
    assert is_quiet.get() is False
