"""The demo of this metric: answers to a small suite, and which cases they pass."""

from rightreasons.datasets.suites.suite import Case, Functionality, Suite
from rightreasons.widget.demos import module_page
from rightreasons.widget.pages import launch

FOOD = [
    Case(str(label), ((text,),), (label,))
    for label, text in enumerate(("The food is not good.", "The food is not bad."))
]
NAMES = Case("0", (("Ann liked it.",), ("Eve liked it.",)))
NEGATION = Functionality("negation", "Negation", "MFT", {"name": "equal"}, tuple(FOOD))
INVARIANCE = Functionality("names", "NER", "INV", {"name": "invariant", "tolerance": 0.1}, (NAMES,))
SUITE = Suite("demo", ("text",), (NEGATION, INVARIANCE))
EXAMPLE = {"predictions": [[0.8, 0.2], [0.7, 0.3], [0.1, 0.9], [0.15, 0.85]]}


def build():
    return module_page(__file__, EXAMPLE, suite=SUITE)


if __name__ == "__main__":
    launch(build())
