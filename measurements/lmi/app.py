"""The demo of this measurement: type texts and labels, see which tokens point at which label."""

from rightreasons.widget.demos import module_page
from rightreasons.widget.pages import launch

OPTIONS = {"label_names": ["negative", "positive"], "pmi_smoothing": 1.0}
EXAMPLE = {
    "data": [
        "A good movie, and a good plot.",
        "Good actors in a good story.",
        "The plot is good!",
        "A bad movie with a bad plot.",
        "Bad actors in a dull story.",
        "The story is bad...",
    ],
    "labels": [1, 1, 1, 0, 0, 0],
}


def build():
    return module_page(__file__, EXAMPLE, options=OPTIONS)


if __name__ == "__main__":
    launch(build())
