"""The demo of this metric: predictions on small contrast sets, and which sets are right throughout."""

from rightreasons.widget.demos import module_page
from rightreasons.widget.pages import launch

EXAMPLE = {
    "predictions": [0, 1, 1, 0, 1, 1, 1, 0, 1, 0],
    "references": [0, 1, 1, 0, 0, 1, 0, 0, 1, 0],
    "groups": ["a", "a", "b", "b", "b", "c", "c", "d", "d", "d"],
    "is_original": [True, False, True, False, False, True, False, True, False, False],
}


def build():
    return module_page(__file__, EXAMPLE)


if __name__ == "__main__":
    launch(build())
