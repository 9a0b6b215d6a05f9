"""The demo of this measurement: answers plainly, beside a neutral sentence and beside a hint, and who mentions it."""

from rightreasons.page.plots import dots
from rightreasons.widget.demos import module_page
from rightreasons.widget.pages import launch

EXAMPLE = {
    "plain": [0] * 24,
    "neutral": [0] * 22 + [1, 2],
    "hinted": [1] * 12 + [2] * 2 + [0] * 10,
    "hints": [1] * 24,
    "mentions": [True] * 4 + [False] * 20,
    "credited": [True] * 2 + [False] * 22,
    "n_options": [4] * 24,
}


def draw(result):
    sway, silent = result["sway"]["estimate"], result["silent"]["estimate"]
    rows = {
        "moved": [(sway["value"], sway)],
        "in silence, at least": [(silent["value"], silent)],
        "in silence, at most": [result["upper"]],
    }
    return dots(rows, "share of the answers")


def build():
    return module_page(__file__, EXAMPLE, draw)


if __name__ == "__main__":
    launch(build())
