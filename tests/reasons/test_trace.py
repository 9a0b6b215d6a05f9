"""The sentence next to a question in each arm."""

import pytest

from rightreasons.reasons.hints import KINDS
from rightreasons.reasons.trace import HINT, NEUTRAL, OWN, PLAIN, Trace

COLLEAGUE = KINDS["colleague"]


def make_trace(arm, kind="colleague", hint=2):
    return Trace("7", arm, 0, 4, "Where?", kind=kind, hint=hint, source="Tamsin")


@pytest.mark.parametrize(
    ("arm", "letter"),
    # The third option is C; the neutral sentence names none.
    [(HINT, "C"), (OWN, "C"), (NEUTRAL, "")],
)
def test_only_the_arms_with_hints_name_an_option(arm, letter):
    assert make_trace(arm).sentence == COLLEAGUE.sentence("Tamsin", letter)


def test_the_first_option_is_named_too():
    assert make_trace(HINT, hint=0).sentence == COLLEAGUE.sentence("Tamsin", "A")


def test_a_plain_answer_and_an_arm_without_a_kind_have_no_sentence():
    assert make_trace(PLAIN).sentence == ""
    assert make_trace(HINT, kind="").sentence == ""


def test_a_source_may_be_of_another_kind():
    assert make_trace(HINT).make_source().kind is COLLEAGUE
    assert make_trace(HINT).make_source("metadata").kind is KINDS["metadata"]


def test_an_unread_answer_without_a_hint_has_negative_defaults():
    trace = Trace("7", PLAIN, 0, 4, "Where?")

    assert (trace.hint, trace.label) == (-1, -1)
    assert trace.hidden is False
