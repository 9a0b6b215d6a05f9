"""The demo of this metric: class probabilities beside the votes of ten people per item."""

from rightreasons.widget.demos import module_page
from rightreasons.widget.pages import launch

EXAMPLE = {
    "predictions": [
        [0.9, 0.08, 0.02],
        [0.3, 0.6, 0.1],
        [0.05, 0.15, 0.8],
        [0.5, 0.3, 0.2],
        [0.1, 0.85, 0.05],
    ],
    "references": [[6, 3, 1], [4, 5, 1], [0, 1, 9], [3, 5, 2], [2, 4, 4]],
}


def build():
    return module_page(__file__, EXAMPLE)


if __name__ == "__main__":
    launch(build())
