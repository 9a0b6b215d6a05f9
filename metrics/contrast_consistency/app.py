"""The demo of this metric: predictions on small contrast sets, and which sets are right throughout."""

from rightreasons.page.plots import dots
from rightreasons.widget.demos import module_page
from rightreasons.widget.pages import launch

EXAMPLE = {
    "predictions": [0, 1, 1, 0, 1, 1, 1, 0, 1, 0],
    "references": [0, 1, 1, 0, 0, 1, 0, 0, 1, 0],
    "groups": ["a", "a", "b", "b", "b", "c", "c", "d", "d", "d"],
    "is_original": [True, False, True, False, False, True, False, True, False, False],
}


def draw(result):
    rows = {
        "original items": [(result["original_accuracy"], result["original_interval"])],
        "contrast items": [(result["contrast_accuracy"], result["contrast_interval"])],
        "whole sets": [(result["contrast_consistency"], result["interval"])],
    }
    return dots(rows, "share that is right", xlabel="right")


def build():
    return module_page(__file__, EXAMPLE, draw)


if __name__ == "__main__":
    launch(build())
