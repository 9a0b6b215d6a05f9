"""The demo of this measurement: predictions before, with a feature swapped, and with a control changed."""

from rightreasons.widget.demos import module_page
from rightreasons.widget.pages import launch

EXAMPLE = {
    "predictions": [0, 1] * 12,
    "swapped": [1, 0] * 8 + [0, 1] * 2 + [-1] * 4,
    "control": [0, 1] * 9 + [0, 0] + [0, 1] * 2,
    "goals": [1, 0] * 10 + [-1] * 4,
    "clusters": [f"text {row // 2}" for row in range(24)],
}


def build():
    return module_page(__file__, EXAMPLE)


if __name__ == "__main__":
    launch(build())
