"""Replies of language models: the text, the reasoning before it, a refusal, the ending and the cost.

Servers, local models and logs report a reply in different forms. `Reply.parse` turns each into one
value: it separates reasoning between tags (`split_thinking`) from the text, and normalizes why the
reply ended. `Reply.no_answer_reason` says whether the text can be an answer at all.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from rightreasons.core.results import Result

Finish: TypeAlias = Literal["stop", "length", "thinking", "refusal", "content_filter", "no_choice"]

THINKING_TAGS: tuple[tuple[str, str], ...] = (
    ("<|begin_of_thought|>", "<|end_of_thought|>"),  # OpenThinker
    ("<|START_THINKING|>", "<|END_THINKING|>"),  # Command
    ("<unused94>", "<unused95>"),  # MedGemma
    ("<|channel>thought", "<channel|>"),  # Gemma 4
    ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),  # gpt-oss
    ("<|channel|>commentary", "<|channel|>final<|message|>"),  # gpt-oss, to a tool
)
"""Opening and closing tags of reasoning that `_NAMED_TAG` does not match."""

_TAG_NAMES = (
    r"cot|reason|analysis|reflection|rationale|scratchpad"
    r"|[\w:]*(?:think|thought|reasoning|monologue)[\w:]*"
)
_CAPITAL_TAG_NAMES = (
    r"COT|REASON|ANALYSIS|REFLECTION|RATIONALE|SCRATCHPAD"
    r"|[A-Z_]*(?:THINK|THOUGHT|REASONING|MONOLOGUE)[A-Z_]*"
)
_NAMED_TAG = rf"(?i:<\|?/?(?:{_TAG_NAMES})\|?>|◁/?(?:{_TAG_NAMES})▷)|\[/?(?:{_CAPITAL_TAG_NAMES})\]"
"""Tag whose name says that it holds reasoning.

Examples are <think> of DeepSeek, Qwen and many others, <seed:think>, <reasoning>, <|think|>,
◁think▷ and [THINK]. In square brackets, small letters are a remark of the text.
"""

_SPECIAL_TOKEN = re.compile(r"<\|[^|<>\n]+\|>")
_FINAL_TOKENS = re.compile(r"(?:\s|<\|[^|<>\n]+\|>)*$")
_OPENING_TAG = re.compile(r"\s*(?P<bracket>[<\[◁])(?P<name>[A-Za-z]\w+)(?P<closing>[>\]▷])")
_ANSWER_TAG_NAMES = frozenset({"answer", "final_answer"})

_UNDECODED_OPENING = re.compile(r"\s*analysis(?=[^\W_a-z])")
_UNDECODED_CLOSING = "assistantfinal"
"""Roles and channels of gpt-oss, of which a decoder has dropped the special tokens."""

_UNKNOWN_TAG = "any"
"""Closing tag of reasoning that began before the text: any closing tag ends it."""

_FINISH_BY_REPORTED_REASON: Mapping[str, Finish] = {
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "recitation": "content_filter",
    "prohibited_content": "content_filter",
    "blocklist": "content_filter",
    "spii": "content_filter",
    "sensitive": "content_filter",
    "guardrail_intervened": "content_filter",
    "refusal": "refusal",
}
"""Reasons for which a reply ended, as servers and logs report them.

Any other reason, such as "stop", "end_turn", "eos" or none, is a regular end.
"""

UNANSWERED: Mapping[str, str] = {
    "length": "not finished: the bound of new tokens was reached",
    "thinking": "not finished: its thinking does not end",
    "refusal": "refused",
    "content_filter": "stopped by a content filter",
    "no_choice": "the server returned no choice",
}
"""Finish of a reply -> why the reply is not an answer."""

WITHHELD: tuple[Finish, ...] = ("refusal", "content_filter", "no_choice")
"""Finishes of replies without an attempt to answer, which are neither correct nor incorrect."""


@dataclasses.dataclass(frozen=True)
class Reply(Result):
    """One reply of a language model. Neither reasoning nor a truncated text is an answer.

    Attributes:
        text: The text, without reasoning and refusal.
        thinking: The reasoning before or within the text. "" if there is none, or it is hidden.
        refusal: The refusal, if the server reports it apart from the text. "" if there is none.
        finish: How the reply ended: "stop" for a regular end, "length" if the limit of new tokens
            truncated the text, "thinking" if it truncated the reasoning, "refusal",
            "content_filter", or "no_choice" if the server returned an empty list of choices.
        usage: Tokens of the request, as far as they are known: "prompt_tokens", "answer_tokens"
            (reasoning included) and "thinking_tokens". If a request has several replies, only the
            first has its usage.
    """

    text: str = ""
    thinking: str = ""
    refusal: str = ""
    finish: Finish = "stop"
    usage: Mapping[str, int] = dataclasses.field(default_factory=dict)

    @classmethod
    def parse(
        cls,
        text: str | None,
        *,
        thinking: str | None = None,
        refusal: str | None = None,
        finish: str | None = None,
        usage: Mapping[str, int] | None = None,
        tags: Sequence[tuple[str, str]] = (),
        opened: bool = False,
    ) -> Reply:
        r"""Parse a reply of a server, a local model or a log.

        Args:
            text: The generated text, perhaps with reasoning between tags. None counts as empty.
            thinking: Reasoning that the server reports separately from the text.
            refusal: Refusal that the server reports separately from the text.
            finish: Finish reason as reported by the server or the log, such as "length". None if it
                is unknown.
            usage: Number of tokens of the request, such as {"answer_tokens": 12}.
            tags: (opening, closing) tags of reasoning, in addition to the usual ones.
            opened: Whether the text begins inside the reasoning, because some chat templates end with
                the opening tag.

        Example:
            >>> reply = Reply.parse("<think>A? No.</think>B")
            >>> reply.text, reply.thinking
            ('B', 'A? No.')
            >>> Reply.parse("<think>The answer is A").finish
            'thinking'
            >>> Reply.parse("Let me see.\n</think>\n\nB", finish="stop").thinking
            'Let me see.'
            >>> Reply.parse("", refusal="I can't help with that.").no_answer_reason
            'refused'
        """
        answer, thoughts, is_closed = split_thinking(text or "", tags, opened=opened)
        has_thinking = bool(thinking or thoughts)

        # Some servers append details to the finish reason, after a colon.
        reported_reason = str(finish or "").lower().partition(":")[0]
        normalized = _FINISH_BY_REPORTED_REASON.get(reported_reason, "stop")
        if refusal and normalized == "stop":
            normalized = "refusal"
        # If the length limit leaves reasoning but no answer, it was reached within the reasoning,
        # even if the server closes the tags or reports the reasoning separately.
        is_only_thinking = normalized == "length" and not answer and has_thinking
        if normalized in ("stop", "length") and (not is_closed or is_only_thinking):
            normalized = "thinking"

        all_thoughts = [thought.strip() for thought in (thinking or "", *thoughts)]
        return cls(
            text=answer,
            thinking="\n\n".join(filter(None, all_thoughts)),
            refusal=refusal or "",
            finish=normalized,
            usage=dict(usage or {}),
        )

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Reply:
        """Make a reply from the output of `to_dict`. Missing fields have their defaults."""
        names = {field.name for field in dataclasses.fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in names})

    @property
    def finished(self) -> bool:
        """Whether the reply ended by itself, outside of its reasoning."""
        return self.finish not in ("length", "thinking")

    @property
    def thinks(self) -> bool:
        """Whether the model reasoned, visibly or not."""
        return bool(self.thinking or self.usage.get("thinking_tokens"))

    @property
    def no_answer_reason(self) -> str:
        """Reason why the reply is not an answer, or "" if its text can be one."""
        if self.finish in UNANSWERED:
            return UNANSWERED[self.finish]
        return "" if self.text.strip() else "empty"


def split_thinking(
    text: str, tags: Sequence[tuple[str, str]] = (), *, opened: bool = False
) -> tuple[str, list[str], bool]:
    """Split the reply of a language model into its visible text and the reasoning between tags.

    A closing tag without an opening one ends reasoning that began before the text. Reasoning
    without a closing tag extends to the end of the text. If no tags are known, but the text begins
    with a pair of other marks, they enclose the reasoning; see `find_opening_block`.

    Args:
        text: The reply.
        tags: (opening, closing) tags, in addition to the usual ones such as <think>.
        opened: Whether the text begins inside the reasoning.

    Returns:
        The text without reasoning, the pieces of reasoning, and whether each of them is closed.

    Example:
        >>> split_thinking("<think>a</think>b<think>c")
        ('b', ['a', 'c'], False)
    """
    # (match of a tag, the tag that closes it) of each tag in the text; the second one is "" if the
    # tag is itself a closing one.
    marks = list(find_thinking_marks(text, tags))
    if not marks and not opened:
        block = find_opening_block(text)
        if block is not None:
            return block

    visible: list[str] = []
    thoughts: list[str] = []
    # Everything before `start` has been assigned to one of the two.
    start = 0
    # The tag that closes the current reasoning; "" outside of reasoning.
    expected_tag = _UNKNOWN_TAG if opened else ""
    for match, closing_tag in marks:
        segment = text[start : match.start()]
        is_opening = bool(closing_tag)
        if not expected_tag and is_opening:
            visible.append(segment)
            expected_tag = closing_tag
        elif not expected_tag:
            # A closing tag without an opening one: everything before it is reasoning.
            segments = [*visible, segment]
            thoughts.append("\n".join(filter(None, segments)))
            visible = []
        elif expected_tag == match[0] or (expected_tag == _UNKNOWN_TAG and not is_opening):
            # The tag closes the current reasoning. If it began before the text, any tag may do so.
            thoughts.append(segment)
            expected_tag = ""
        else:
            # Other tags inside the reasoning are part of it.
            continue
        start = match.end()

    is_closed = not expected_tag
    remainder = text[start:]
    if is_closed:
        visible.append(remainder)
    else:
        thoughts.append(remainder)
    if not thoughts:
        # A text without reasoning keeps the white space around it.
        return text, thoughts, is_closed
    return "\n".join(visible).strip(), thoughts, is_closed


def find_opening_block(text: str) -> tuple[str, list[str], bool] | None:
    """Split a text that begins with reasoning between unusual marks.

    The marks are special tokens, the last of which ends the reasoning; a tag that is closed and
    followed by text; or the channel names of gpt-oss without their special tokens.

    Args:
        text: The text of a reply.

    Returns:
        The text after the reasoning, a list with the reasoning, and whether the reasoning is closed.
        None if the text does not begin with such marks.

    Example:
        >>> find_opening_block("<|inner_prefix|>A? No.<|inner_suffix|>B")
        ('B', ['A? No.'], True)
        >>> find_opening_block("<details>A? No.</details>B")
        ('B', ['A? No.'], True)
        >>> find_opening_block("analysisIs it A? No.assistantfinalB")
        ('B', ['Is it A? No.'], True)
    """
    # gpt-oss: "analysis" begins the reasoning, and "assistantfinal" ends it.
    channel = _UNDECODED_OPENING.match(text)
    if channel is not None:
        thought, closing, answer = text[channel.end() :].rpartition(_UNDECODED_CLOSING)
        if not closing:
            # Without the closing mark, `rpartition` returns all of the text as its last part.
            return "", [answer], False
        return answer.strip(), [thought], True

    # Special tokens such as <|inner_prefix|>. After the one at the beginning, the text up to the next
    # special token is reasoning, and the text after the last one is the answer.
    special = _SPECIAL_TOKEN.match(text.lstrip())
    if special is not None:
        body = _FINAL_TOKENS.sub("", text.lstrip()[special.end() :])
        closings = list(_SPECIAL_TOKEN.finditer(body))
        if not closings:
            return "", [body], False
        thought = body[: closings[0].start()]
        answer = body[closings[-1].end() :]
        return answer.strip(), [thought], True

    tag = _OPENING_TAG.match(text)
    if tag is None or tag["name"].lower() in _ANSWER_TAG_NAMES:
        return None
    closing_tag = f"{tag['bracket']}/{tag['name']}{tag['closing']}"
    thought, closing, answer = text[tag.end() :].rpartition(closing_tag)
    # A tag around the whole text encloses the answer, not reasoning.
    if not closing or not answer.strip():
        return None
    return answer.strip(), [thought], True


def find_thinking_marks(
    text: str, tags: Sequence[tuple[str, str]] = ()
) -> Iterator[tuple[re.Match[str], str]]:
    """Find the tags of reasoning in a text.

    Args:
        text: The text.
        tags: (opening, closing) tags, in addition to the usual ones.

    Yields:
        The match of each tag, and the tag that closes it; "" if the tag is itself a closing one.

    Example:
        >>> [(tag[0], closing) for tag, closing in find_thinking_marks("<Thought>a</Thought>")]
        [('<Thought>', '</Thought>'), ('</Thought>', '')]
    """
    closing_by_tag, pattern = _compile_tags(tuple(tags))
    for match in pattern.finditer(text):
        tag = match[0]
        if tag in closing_by_tag:
            yield match, closing_by_tag[tag]
        elif "/" in tag:
            yield match, ""
        else:
            # <think> is closed by </think>, <|think|> by <|/think|>, and [THINK] by [/THINK].
            yield match, re.sub(r"^[<\[◁]\|?", r"\g<0>/", tag)


@functools.lru_cache(maxsize=16)
def _compile_tags(tags: tuple[tuple[str, str], ...]) -> tuple[dict[str, str], re.Pattern[str]]:
    """Compile the pattern that finds tags of reasoning.

    Args:
        tags: (opening, closing) tags, in addition to the usual ones.

    Returns:
        Tag -> the tag that closes it ("" for a closing tag), and the pattern of all tags.
    """
    closing_by_opening = dict((*THINKING_TAGS, *tags))
    closing_by_tag = dict.fromkeys(closing_by_opening.values(), "")
    # Opening tags come last, so that a tag that both opens and closes counts as an opening one.
    closing_by_tag.update(closing_by_opening)
    # A regular expression matches the first alternative that fits. The longest tag comes first,
    # because it may begin with another tag.
    literals = sorted(map(re.escape, closing_by_tag), key=len, reverse=True)
    return closing_by_tag, re.compile("|".join([*literals, _NAMED_TAG]))


def extract_text(content: Any, kind: str = "text") -> str:
    """Return the text of the content of a message, or the text of its parts of one type.

    Args:
        content: A string, a part such as {"type": "text", "text": "B"}, or a list of them.
        kind: Type of the parts to join, such as "text" or "thinking".

    Example:
        >>> parts = [{"type": "thinking", "thinking": "A?"}, {"type": "text", "text": "B"}]
        >>> extract_text(parts), extract_text(parts, "thinking")
        ('B', 'A?')
    """
    if isinstance(content, Mapping):
        # OpenAI calls the type "output_text", and others "text".
        part_type = str(content.get("type", "text")).removeprefix("output_")
        return extract_text(content.get(kind)) if part_type == kind else ""
    if isinstance(content, list):
        return "".join(extract_text(item, kind) for item in content)
    if isinstance(content, str) and kind == "text":
        return content
    return ""
