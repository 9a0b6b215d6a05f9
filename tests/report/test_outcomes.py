"""What a reader sees first of the answers, and where a share is placed on its scale."""

from __future__ import annotations

import pytest

from rightreasons.core.estimates import Estimate
from rightreasons.page.parts import (
    Action,
    Contrast,
    Example,
    ExampleList,
    Finding,
    Headline,
    Part,
    Plot,
    SectionResult,
    Share,
    Verdict,
)
from rightreasons.report.outcomes import (
    Outcome,
    compose_first_screen,
    find_examples,
    find_figure,
    find_plot,
    get_finding,
    list_answered,
    place_bar,
    sort_worst_first,
)

GATE = Action("Gate.", "rightreasons gate report")
REPAIR = Action("Repair.", "rightreasons repair MODEL")


def make_headline(key, value=0.5, low=None, high=None, unit="fraction"):
    return Headline(
        key, key, Estimate(value, low, high), "Share.", "Counted", unit, None, "", 9, "No."
    )


def make_plot(key):
    return Plot(key, key, "", "", "", {})


def make_examples(key, count, *, folded=False):
    examples = tuple(Example(str(number), "text", "a", "b", None) for number in range(count))
    return ExampleList(key, key, "", examples, folded=folded)


def make_result(tone="bad", size=0.5, **fields):
    finding = Finding("is so.", "", size=size, actions=(REPAIR, GATE), **fields.pop("finding", {}))
    defaults = {
        "verdict": Verdict(tone, "Very Bad", "It is."),
        "finding": finding,
        "headlines": (),
        "parts": (),
    }
    return SectionResult(**(defaults | fields))


def make_outcome(question, **options):
    return Outcome(question, question, "answered", result=make_result(**options))


def test_questions_without_an_answer_are_left_out():
    skipped = Outcome("x", "x", "skipped", "No labels.")

    assert list_answered([skipped]) == []
    assert compose_first_screen([skipped], "model-x", "") is None


def test_the_worst_answer_comes_first():
    outcomes = [
        make_outcome("good", tone="good", size=0.0),
        make_outcome("small", size=0.1),
        make_outcome("large", size=0.4),
    ]

    assert [outcome.question for outcome, _ in sort_worst_first(outcomes)] == [
        "large",
        "small",
        "good",
    ]
    screen = compose_first_screen(outcomes, "model-x", "Heading")
    assert screen["claim"] == "model-x is so."
    assert [outcome.question for outcome, _ in screen["rows"]] == ["large", "small", "good"]
    # A page about several models keeps its order and its heading.
    screen = compose_first_screen(outcomes, "", "Heading")
    assert screen["claim"] == "Heading"
    assert [outcome.question for outcome, _ in screen["rows"]] == ["good", "small", "large"]


@pytest.mark.parametrize(
    ("tone", "subject", "is_correction", "actions"),
    [
        ("bad", "model-x", False, (REPAIR, GATE)),
        ("good", "model-x", False, (GATE,)),
        ("good", "model-x", True, (REPAIR, GATE)),
        ("good", "", False, (REPAIR, GATE)),
    ],
)
def test_a_good_verdict_about_a_model_proposes_gates_alone(tone, subject, is_correction, actions):
    outcome = make_outcome("x", tone=tone)

    screen = compose_first_screen([outcome], subject, "", is_correction=is_correction)

    assert screen["actions"] == {"x": actions}


def test_a_contrast_replaces_the_plot():
    plots = (make_plot("a"), make_plot("b"))
    share = Share("x", Estimate(0.5))
    contrast = Contrast("Changes", (share, share))

    assert find_plot(make_result(parts=(Part("t", plots=plots),), finding={"plot": "b"})).key == "b"
    assert find_plot(make_result(parts=(Part("t", plots=plots),))).key == "a"
    assert find_plot(make_result()) is None
    for fields, has_plot in (({}, True), ({"contrast": contrast}, False)):
        outcome = make_outcome("x", parts=(Part("t", plots=plots),), finding=fields)
        assert bool(compose_first_screen([outcome], "m", "")["plot"]) is has_plot


def test_a_verdict_stands_for_a_missing_finding():
    verdict = Verdict("bad", "Very Bad", "")

    finding = get_finding(SectionResult(verdict=verdict, headlines=(), parts=()))

    assert finding.claim == "— very Bad"


def test_the_figure_of_a_finding_is_named_or_the_first_share():
    headlines = (make_headline("a", unit="nats"), make_headline("b"), make_headline("c"))
    parts = (Part("t", headlines=(make_headline("d"),)),)

    def find(figure):
        found = find_figure(
            make_result(headlines=headlines, parts=parts, finding={"figure": figure})
        )
        return found and found.key

    assert [find("c"), find("d"), find("x"), find("")] == ["c", "d", "b", "b"]
    assert find_figure(make_result(headlines=headlines[:1], parts=parts)) is None


def test_examples_of_the_finding_come_first_and_are_cut():
    parts = (
        Part("one", headlines=(make_headline("a"),), examples=(make_examples("x", 5),)),
        Part("two", headlines=(make_headline("b"),), examples=(make_examples("y", 5),)),
    )

    def find(figure, parts=parts):
        found = find_examples(make_result(parts=parts, finding={"figure": figure}))
        return found and (found.key, len(found.examples))

    assert find("b") == ("y", 3)
    assert find("a") == ("x", 3)
    assert find("other") == ("x", 3)
    folded = (Part("t", examples=(make_examples("z", 5, folded=True), make_examples("e", 0))),)
    assert find("a", folded) is None
    assert find("b", (*folded, *parts)) == ("y", 3)


@pytest.mark.parametrize(
    ("value", "low", "high", "unit", "bar"),
    [
        (0.25, 0.2, 0.3, "fraction", {"low": 20.0, "width": 10.0, "dot": 24.5}),
        # Without an interval, and at both ends of the scale.
        (0.25, None, None, "fraction", {"low": 25.0, "width": 0.5, "dot": 24.5}),
        (0.0, 0.0, 0.1, "fraction", {"low": 0.0, "width": 10.0, "dot": 0.0}),
        (1.0, 0.9, 1.0, "fraction", {"low": 90.0, "width": 10.0, "dot": 99.0}),
        (0.1, -0.2, 0.3, "fraction", {"low": 0.0, "width": 30.0, "dot": 9.5}),
        (0.1, -1.0, 0.3, "fraction", {"low": 0.0, "width": 30.0, "dot": 9.5}),
        (0.1, -1.01, 0.3, "fraction", None),
        (-0.1, -0.2, 0.0, "fraction", None),
        (1.1, None, None, "fraction", None),
        (0.9, 0.8, 1.01, "fraction", None),
        (0.5, None, None, "nats", None),
        (None, None, None, "fraction", None),
    ],
)
def test_a_share_is_placed_between_0_and_100_percent(value, low, high, unit, bar):
    assert place_bar(make_headline("x", value, low, high, unit)) == bar
