"""The demo of this measurement: type texts and labels, see which tokens point at which label."""

from rightreasons.page.plots import dots
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


def draw(result):
    """Draw, for the first tokens of each label, how often they occur with it, beside how common the label is."""
    priors = {row["name"]: row["prior"] for row in result["labels"]}
    rows = {
        f"{row['token']} → {name}": (row["p_label"], priors[name])
        for name, tokens in result["lmi"].items()
        for row in tokens[:4]
        if row["lmi"] > 0
    }
    return dots(rows, "where the token is", "anywhere", xlabel="share of the label")


def build():
    return module_page(__file__, EXAMPLE, draw, options=OPTIONS)


if __name__ == "__main__":
    launch(build())
