"""A behavioral suite over the words of the tiny models: every test type, ten cases or fewer each."""

from rightreasons.data.suites import Case, Functionality, Suite
from tiny_models import NEGATIVE, POSITIVE


def functionality(name, kind, expectation, cases):
    return Functionality(name, name[:1].upper(), kind, expectation, tuple(cases))


WORDS = [*((w, 2) for w in POSITIVE), *((w, 0) for w in NEGATIVE), ("film", 1), ("plot", 1)]


def cases_of(*templates, labels=False):
    return [
        Case(str(i), tuple((t.format(word),) for t in templates), (label,) if labels else None)
        for i, (word, label) in enumerate(WORDS)
    ]


def behavior_suite():
    equal = {"name": "equal"}
    return Suite(
        "tiny",
        ("text",),
        (
            functionality("words", "MFT", equal, cases_of("the {}", labels=True)),
            functionality(
                "not negative",
                "MFT",
                {"name": "not_equal", "value": 0},
                [Case(str(i), ((f"not {w} film",),)) for i, w in enumerate(NEGATIVE)],
            ),
            functionality(
                "actors",
                "INV",
                {"name": "invariant", "tolerance": 0.1},
                cases_of("the man {}", "the woman {}", "the actor {}"),
            ),
            functionality(
                "intensifiers",
                "DIR",
                {"name": "monotonic", "increasing": True},
                cases_of("film {}", "film very {}"),
            ),
            functionality(
                "add negative",
                "DIR",
                {"name": "sentiment_shift", "positive": False},
                cases_of("story {}", "story {} but awful"),
            ),
        ),
    )
