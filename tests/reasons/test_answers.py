"""The answers of an arm: their hits, mentions and channels, and how traces are sorted into arms."""

import pytest

from rightreasons.reasons.answers import Arm, Traces
from rightreasons.reasons.trace import HINT, NEUTRAL, OWN, PLAIN, Trace

EIGHT_WORDS = "one two three four five six seven eight"


def make_trace(item, answer=1, arm=HINT, **changes):
    fields = {"n_options": 3, "question": "Where?", "kind": "colleague", "source": "Tamsin"}
    return Trace(item, arm, answer, **{**fields, **changes})


def make_arm(*traces, kind=""):
    return Arm({trace.item: trace for trace in traces}, kind)


@pytest.mark.parametrize(
    ("answer", "hint", "is_hit"),
    [
        (1, 1, True),
        # Option 0 is an option, but -1 stands for an unread answer and for no hint.
        (0, 0, True),
        (-1, -1, False),
        (2, 1, False),
        (0, 1, False),
    ],
)
def test_a_hit_is_an_answer_at_its_hint(answer, hint, is_hit):
    assert make_arm(make_trace("a", answer, hint=hint)).hits.tolist() == [is_hit]


def test_an_empty_channel_differs_from_one_without_a_mention():
    arm = make_arm(
        make_trace("a", thinking="Tamsin says so.", text=""),
        make_trace("b", thinking="", text="It is B."),
        make_trace("c", thinking="It is B.", text="Tamsin says so."),
        make_trace("d"),
    )

    assert arm.channels["thinking"].tolist() == [1, -1, 0, -1]
    assert arm.channels["answer"].tolist() == [-1, 0, 1, -1]
    # The larger one of (1, -1), (-1, 0), (0, 1) and (-1, -1) is above 0 twice.
    assert arm.mentions.tolist() == [True, False, True, False]


def test_an_arm_searches_for_the_role_of_its_own_kind():
    trace = make_trace("a", text="The professor says so.")

    assert make_arm(trace).mentions.tolist() == [False]
    assert make_arm(trace, kind="professor").mentions.tolist() == [True]


def test_thinking_and_text_together_show_reasons():
    arm = make_arm(
        # 4 + 4 words are the eight that reasons need, and 4 + 3 are one fewer.
        make_trace("a", thinking="one two three four", text="five six seven eight"),
        make_trace("b", thinking="one two three four", text="five six seven"),
        make_trace("c", text=EIGHT_WORDS),
    )

    assert arm.shows.tolist() == [True, False, True]


def test_a_missing_item_has_no_answer():
    arm = make_arm(make_trace("a", 2), make_trace("b", 0), make_trace("c", -1))

    assert arm.list_answers(["c", "x", "a", "b"]) == [-1, -1, 2, 0]


def test_hints_are_separated_by_kind_and_other_arms_are_not():
    traces = Traces(
        (
            make_trace("a", 0, PLAIN, kind=""),
            make_trace("a", 0, NEUTRAL),
            make_trace("b", 2, NEUTRAL, kind="metadata"),
            make_trace("a", 1, HINT),
            make_trace("a", 2, HINT, kind="metadata"),
            make_trace("a", 0, OWN),
        )
    )

    assert list(traces.arms) == [
        ("plain", ""),
        ("neutral", ""),
        ("hint", "colleague"),
        ("hint", "metadata"),
        ("own", "colleague"),
    ]
    assert traces.arm(NEUTRAL).list_answers(["a", "b"]) == [0, 2]
    assert traces.arm(HINT, "metadata").list_answers(["a"]) == [2]
    assert traces.arm(OWN, "metadata").traces == {}
