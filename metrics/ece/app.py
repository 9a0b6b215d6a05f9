"""The demo of this metric: type predictions and labels, and see the calibration error and its bins."""

from rightreasons.widget.demos import module_page
from rightreasons.widget.pages import launch

EXAMPLE = {
    "predictions": [
        [0.95, 0.05],
        [0.91, 0.09],
        [0.85, 0.15],
        [0.35, 0.65],
        [0.62, 0.38],
        [0.55, 0.45],
    ],
    "references": [0, 1, 0, 1, 1, 0],
}


def build():
    return module_page(__file__, EXAMPLE, options={"n_bins": 10})


if __name__ == "__main__":
    launch(build())
