"""The demo of this metric: chosen and correct answers, Easy and Hard items, and their gap."""

from rightreasons.widget.demos import module_page
from rightreasons.widget.pages import launch

# Eight items, each answered by three runs of a model that is better on the Easy ones.
EXAMPLE = {
    "predictions": [
        [0, 0, 0],
        [1, 1, 1],
        [0, 0, 1],
        [1, 1, 1],
        [0, 1, 0],
        [1, 0, 0],
        [0, 0, 0],
        [1, 0, 1],
    ],
    "references": [0, 1, 0, 1, 1, 0, 0, 1],
    "easy": [True, True, True, True, False, False, False, False],
}


def build():
    return module_page(__file__, EXAMPLE)


if __name__ == "__main__":
    launch(build())
