"""Pictures that are drawn in threads are the same as alone."""

from concurrent.futures import ThreadPoolExecutor

from rightreasons.core.estimates import Estimate
from rightreasons.page.plots import dot_rows


def draw(number):
    row = ("accuracy", [Estimate(0.125 * number, 0.0, 0.875), Estimate(None)])
    return dot_rows(f"key-{number}", rows=[row], series=["first", "second"], xlabel="share").svg


def test_pictures_in_threads():
    alone = [draw(number) for number in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(draw, range(4))) == alone
