"""The demo of this measurement: predictions before, without their cue, and without a control word."""

from rightreasons.page.plots import dots
from rightreasons.widget.demos import module_page
from rightreasons.widget.pages import launch

SURE, LESS_SURE, CHANGED = [0.94, 0.06], [0.71, 0.29], [0.18, 0.82]
EXAMPLE = {
    "probabilities": [SURE] * 24,
    "without_cue": [CHANGED] * 9 + [LESS_SURE] * 3 + [CHANGED] * 7 + [SURE] * 5,
    "without_control": ([SURE] * 10 + [CHANGED] + [LESS_SURE]) * 2,
    "cues": ([*["copper"] * 7, *["again"] * 5]) * 2,
    "removals": ["delete"] * 12 + ["mask"] * 12,
}


def draw(result):
    effects = {"all removals": result["removal"], **result["removals"], "insertion": result["insertion"]}
    rows = {
        name: [(effect["rate"], effect["interval"]), (effect["control_rate"], effect["control_interval"])]
        for name, effect in effects.items()
        if effect is not None
    }
    return dots(rows, "cue", "control word", xlabel="predictions that change")


def build():
    return module_page(__file__, EXAMPLE, draw)


if __name__ == "__main__":
    launch(build())
