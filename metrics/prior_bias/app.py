"""The demo of this metric: type the scores of items without a right choice, and see how strongly some are preferred."""

from rightreasons.widget.demos import module_page
from rightreasons.widget.pages import launch

EXAMPLE = {
    "predictions": [[0.7, 0.2, 0.1], [0.45, 0.3, 0.25], [0.8, 0.2], [0.35, 0.35, 0.3]],
    "references": [0, 1, 0, 2],
}


def build():
    return module_page(__file__, EXAMPLE)


if __name__ == "__main__":
    launch(build())
