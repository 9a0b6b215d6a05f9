"""The demo of this metric: type scores before and after adding choices, and see how much of the drop is dilution."""

from rightreasons.widget.demos import module_page
from rightreasons.widget.pages import launch

EXAMPLE = {
    "predictions": [[0.8, 0.2], [0.4, 0.6], [0.9, 0.1]],
    "perturbed_predictions": [[0.4, 0.1, 0.5], [0.3, 0.3, 0.4], [0.6, 0.2, 0.2]],
    "references": [0, 1, 0],
    "perturbed_references": [0, 1, 0],
}


def build():
    return module_page(__file__, EXAMPLE)


if __name__ == "__main__":
    launch(build())
