"""The demo of this metric: type scores before and after adding choices, and see how much of the drop is dilution."""

from rightreasons.page.plots import dots
from rightreasons.widget.demos import module_page
from rightreasons.widget.pages import launch

EXAMPLE = {
    "predictions": [[0.8, 0.2], [0.4, 0.6], [0.9, 0.1]],
    "perturbed_predictions": [[0.4, 0.1, 0.5], [0.3, 0.3, 0.4], [0.6, 0.2, 0.2]],
    "references": [0, 1, 0],
    "perturbed_references": [0, 1, 0],
}


def draw(result):
    stages = {"as it was": "", "with more choices": "perturbed_", "its own choices of these": "restricted_"}
    rows = {title: (result[f"{stage}confidence"], result[f"{stage}accuracy"]) for title, stage in stages.items()}
    return dots(rows, "confidence", "accuracy")


def build():
    return module_page(__file__, EXAMPLE, draw)


if __name__ == "__main__":
    launch(build())
