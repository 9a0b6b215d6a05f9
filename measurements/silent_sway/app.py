"""The demo of this measurement: answers plainly, beside a neutral sentence and beside a hint, and who mentions it."""

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


def build():
    return module_page(__file__, EXAMPLE)


if __name__ == "__main__":
    launch(build())
