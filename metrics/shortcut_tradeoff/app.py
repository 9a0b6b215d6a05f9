"""The demo of this metric: predictions, labels and which predictions are cued, and the trade-off between the two."""

from rightreasons.widget.demos import module_page
from rightreasons.widget.pages import launch

EXAMPLE = {
    "predictions": [1, 1, 0, 0, 1, 0, 1, 0, 1, 0],
    "references": [1, 1, 0, 0, 1, 0, 0, 0, 1, 1],
    "cued": [True, True, True, False, True, True, True, False, True, True],
}


def build():
    return module_page(__file__, EXAMPLE)


if __name__ == "__main__":
    launch(build())
