"""The demo of this metric: type pass rates by setting, see the G scores."""

from rightreasons.widget.demos import module_page
from rightreasons.widget.pages import launch

EXAMPLE = {
    "standard": [0.55, 0.62, 0.4],
    "seen": [0.98, 0.95, 0.91],
    "held_out_functionality": [0.8, 0.85, 0.6],
    "held_out_class": [0.7, 0.8, 0.55],
    "held_out_type": [0.6, 0.7, 0.5],
}


def build():
    return module_page(__file__, EXAMPLE, options={"iid_score": 0.92})


if __name__ == "__main__":
    launch(build())
