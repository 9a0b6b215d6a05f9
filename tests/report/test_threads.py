"""Pictures that are drawn in threads are the same as alone, and leave matplotlib's settings as they were."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import matplotlib

from rightreasons.page.plots import Bar, canvas, dot_rows


def draw(number):
    row = Bar("accuracy", (0.125 * number, None), (0.0, None), (0.875, None))
    return dot_rows(f"key-{number}", rows=[row], series=["first", "second"], xlabel="share").svg


def test_pictures_in_threads():
    before = dict(matplotlib.rcParams)
    alone = [draw(number) for number in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(draw, range(4))) == alone
    assert dict(matplotlib.rcParams) == before


def test_one_figure_at_a_time():
    inside, most, gate, never = 0, 0, Barrier(3), Event()

    def enter(_):
        nonlocal inside, most
        gate.wait()
        with canvas(1.0, 1.0):
            inside += 1
            most = max(most, inside)
            never.wait(0.02)  # lets the others run
            inside -= 1

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(enter, range(3)))
    assert most == 1
