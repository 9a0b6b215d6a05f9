"""Thinking is parted from answers by every usual tag, and what does not end is no answer."""

from __future__ import annotations

import itertools
import json

import pytest

from rightreasons.core.replies import THINKING_TAGS, Reply, extract_text, split_thinking
from rightreasons.models.replies.answers import NO_ANSWER, read_answer

NAMED = ("think", "thinking", "thought", "reasoning", "reason", "scratchpad", "seed:think", "Think", "|think|", "cot",
         "longcat_think", "analysis", "inner_monologue")  # fmt: skip
TAGS = (
    *THINKING_TAGS,
    *((f"<{name}>", f"<{'|/' if '|' in name else '/'}{name.lstrip('|')}>") for name in NAMED),
)


@pytest.mark.parametrize(("begin", "end"), TAGS)
def test_thinking_between_tags_is_no_text(begin, end):
    whole = Reply.of(f"{begin}The answer is A? No, wait.{end}\n\n**B**")
    assert (whole.text, whole.thinking, whole.finish, whole.lack) == (
        "**B**",
        "The answer is A? No, wait.",
        "stop",
        "",
    )
    begun_before = Reply.of(f"The answer is A?{end}B")
    assert (begun_before.text, begun_before.thinking) == ("B", "The answer is A?")
    for finish in ("stop", "length", None):
        cut = Reply.of(f"{begin}The answer is A", finish=finish)
        assert (cut.text, cut.thinking, cut.finish) == ("", "The answer is A", "thinking")
        assert cut.lack == "not finished: its thinking does not end"


def test_thinking_that_begins_in_the_prompt_is_not_finished_without_its_end():
    assert Reply.of("The answer is A", opened=True).finish == "thinking"
    assert Reply.of("The answer is A</think>B", opened=True).text == "B"


def test_thoughts_of_several_kinds_are_parted_in_their_order():
    # A thought that names other tags does not end at them; a stray end takes what is before it with it.
    pairs = list(itertools.permutations(TAGS, 2))
    for (begin, end), (other, other_end) in pairs:
        text, thoughts, closed = split_thinking(f"{begin}a{end}x{other}b{other_end}y")
        assert (text, thoughts, closed) == ("x\ny", ["a", "b"], True)
    assert split_thinking("<think>I write <reasoning> and </reasoning> here</think>B")[0] == "B"
    assert split_thinking("<think>a</think>A</think>B") == ("B", ["a", "A"], True)
    assert split_thinking("2 < 3, as in <b>bold</b>") == ("2 < 3, as in <b>bold</b>", [], True)
    asked = "<sentiment_analysis>positive</sentiment_analysis>"
    assert split_thinking(asked) == (asked, [], True)


def test_what_is_said_to_a_tool_is_no_answer():
    call = (
        '<|channel|>commentary to=functions.say <|constrain|>json<|message|>{"answer": "A"}<|call|>'
    )
    assert Reply.of(call).lack == "not finished: its thinking does not end"
    final = "<|end|><|start|>assistant<|channel|>final<|message|>B<|return|>"
    assert (
        Reply.of(f"<|channel|>analysis<|message|>A?{final}").thinking
        == "A?<|end|><|start|>assistant"
    )
    assert (
        read_answer('<tool_call>{"arguments": {"answer": "A"}}</tool_call>', ["A", "B"])
        == NO_ANSWER
    )


def test_parts_of_a_message_are_read_whatever_holds_them():
    for content in (
        "B",
        ["B"],
        {"text": "B"},
        [{"type": "output_text", "text": "B"}],
        [{"type": "text", "text": "B"}],
    ):
        assert extract_text(content) == "B"
    assert (
        extract_text(
            [{"type": "refusal", "refusal": "no"}, {"type": "redacted_thinking", "data": "x"}]
        )
        == ""
    )


def test_tags_of_ones_own_are_known_beside_the_usual_ones():
    tags = (("{{", "}}"),)
    assert Reply.of("{{A?}}B", tags=tags).text == "B"
    assert Reply.of("{{A?}}B").text == "{{A?}}B"
    assert Reply.of("<think>A?</think>B", tags=tags).text == "B"


def test_a_text_that_was_cut_refused_or_filtered_is_no_answer():
    told = [
        ("A", {"finish": "length"}, "not finished: the bound of new tokens was reached"),
        ("A", {"finish": "max_tokens"}, "not finished: the bound of new tokens was reached"),
        ("", {"thinking": "A? B?", "finish": "length"}, "not finished: its thinking does not end"),
        ("A", {"finish": "content_filter"}, "stopped by a content filter"),
        ("", {"refusal": "I cannot."}, "refused"),
        (" \n", {"finish": "stop"}, "empty"),
        (None, {}, "empty"),
        ("A", {"finish": "stop"}, ""),
        ("A", {"finish": "eos"}, ""),
        ("A", {"thinking": "B?", "finish": "stop"}, ""),
    ]
    for text, how, lack in told:
        assert Reply.of(text, **how).lack == lack


def test_it_goes_through_json():
    reply = Reply.of("<think>so</think>B", finish="length", usage={"answer_tokens": 7})
    assert Reply.from_dict(json.loads(json.dumps(reply.to_dict()))) == reply
    assert reply.thinks
    assert Reply.of("B", usage={"thinking_tokens": 64}).thinks  # hidden
