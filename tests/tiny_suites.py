"""A behavioral suite over the words of the tiny models: every test type, ten cases or fewer each."""

from rightreasons.datasets.suites.suite import Case, Functionality, Suite
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
        ("negative", "neutral", "positive"),
    )


def reading_suite():
    """A suite of reading: two functionalities with known answers, two of changes that should not matter."""
    equal, invariant = (
        {"name": "equal", "clean": "article"},
        {"name": "invariant", "tolerance": 0.1},
    )
    rows = [
        ("film", "story"),
        ("plot", "actor"),
        ("scene", "man"),
        ("woman", "film"),
        ("story", "plot"),
        ("man", "rain"),
    ]

    def case(number, *examples, labels=None, meta=None):
        return Case(str(number), tuple(examples), labels, meta)

    plain = "the {} was good and the {} was bad"
    return Suite(
        "tiny reading",
        ("context", "question"),
        (
            functionality(
                "which is good",
                "MFT",
                equal,
                [
                    case(n, (plain.format(a, b), "what was good"), labels=(a,))
                    for n, (a, b) in enumerate(rows)
                ],
            ),
            functionality(
                "negated",
                "MFT",
                equal,
                [
                    case(n, (f"the {a} was not good but the {b} was", "what was good"), labels=(b,))
                    for n, (a, b) in enumerate(rows)
                ],
            ),
            functionality(
                "words in the question",
                "INV",
                invariant,
                [
                    case(
                        n,
                        *(
                            (plain.format(a, b), f"what {extra}was bad")
                            for extra in ("", "very ", "so ")
                        ),
                    )
                    for n, (a, b) in enumerate(rows)
                ],
            ),
            functionality(
                "other names",
                "INV",
                invariant,
                [
                    case(
                        n,
                        (plain.format(a, b), "what was bad"),
                        (plain.format(a, "glass"), "what was bad"),
                        meta=(None, (b, "glass")),
                    )
                    for n, (a, b) in enumerate(rows)
                ],
            ),
        ),
    )
