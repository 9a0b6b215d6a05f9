"""The demo of this measurement: predictions before, with a feature swapped, and with a control changed."""

from rightreasons.page.plots import dots
from rightreasons.widget.demos import module_page
from rightreasons.widget.pages import launch

EXAMPLE = {
    "predictions": [0, 1] * 12,
    "swapped": [1, 0] * 8 + [0, 1] * 2 + [-1] * 4,
    "control": [0, 1] * 9 + [0, 0] + [0, 1] * 2,
    "goals": [1, 0] * 10 + [-1] * 4,
    "clusters": [f"text {row // 2}" for row in range(24)],
}


def draw(result):
    rows = {"decided": [(result["deciding_share"], result["interval"])]}
    if result["follow_rate"] is not None:
        rows["follow rate"] = [(result["follow_rate"], result["follow_interval"])]
    return dots(rows, "feature", xlabel="share of predictions")


def build():
    return module_page(__file__, EXAMPLE, draw)


if __name__ == "__main__":
    launch(build())
