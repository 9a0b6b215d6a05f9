"""The demo of this measurement: tokens with attributions, predictions, and the shortcuts."""

from rightreasons.widget.demos import module_page
from rightreasons.widget.pages import launch

# Heads as the measurement `lmi` finds them.
OPTIONS = {"heads": {"0": ["copper", "dull"], "1": ["marble", "warm"]}, "top_n": 2, "n_bins": 5}
# Two texts are cued by "marble" and "copper"; the others have no shortcut in their top tokens.
EXAMPLE = {
    "tokens": [
        ["in", "the", "marble", "hall", ",", "the", "tea", "was", "warm"],
        ["the", "soup", "seemed", "dull", "in", "the", "copper", "bar"],
        ["the", "guide", "was", "polite", "in", "the", "club"],
        ["friends", "had", "called", "it", "dull", ",", "but", "the", "play", "was", "neat"],
    ],
    "attributions": [
        [0.02, 0.01, 0.61, 0.04, 0.01, 0.01, 0.03, 0.05, 0.22],
        [0.02, 0.05, 0.04, 0.18, 0.02, 0.01, 0.58, 0.10],
        [0.05, 0.11, 0.06, 0.64, 0.04, 0.02, 0.08],
        [0.09, 0.02, 0.08, 0.03, 0.21, 0.02, 0.14, 0.03, 0.05, 0.04, 0.29],
    ],
    "predictions": [1, 0, 1, 1],
    "references": [1, 0, 1, 1],
    "confidences": [0.98, 0.97, 0.88, 0.62],
}


def build():
    return module_page(__file__, EXAMPLE, options=OPTIONS)


if __name__ == "__main__":
    launch(build())
