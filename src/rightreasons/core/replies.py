"""What a language model wrote once: its thinking, its text, its refusal, how it ended and what it cost."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from rightreasons.core.results import Result

Finish: TypeAlias = Literal["stop", "length", "thinking", "refusal", "content_filter"]

THINKING_TAGS: tuple[tuple[str, str], ...] = (
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<unused94>", "<unused95>"),
    ("<|channel>thought", "<channel|>"),
    ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
    ("<|channel|>commentary", "<|channel|>final<|message|>"),
)
"""Marks between which models think, beside `_TAG`: of Magistral, Kimi, OpenThinker, Command, MedGemma, Gemma 4 and
gpt-oss."""

_NAMES = r"cot|reason|analysis|reflection|rationale|scratchpad|[\w:]*(?:think|thought|reasoning|monologue)[\w:]*"
_TAG = rf"(?i:<\|?/?(?:{_NAMES})\|?>)"
"""A tag of thinking by its name, such as <think> of DeepSeek, Qwen and many others, <seed:think> and <reasoning>."""

_FINISHES: Mapping[str, Finish] = {
    "length": "length", "max_tokens": "length", "max_output_tokens": "length", "model_length": "length",
    **dict.fromkeys(("content_filter", "safety", "recitation", "prohibited_content", "blocklist", "spii", "sensitive",
                     "guardrail_intervened"), "content_filter"),
    "refusal": "refusal",
}  # fmt: skip
"""What servers and logs say of an end that is none; everything else is an end ("stop", "end_turn", "eos", none)."""

UNANSWERED: Mapping[str, str] = {
    "length": "not finished: the bound of new tokens was reached",
    "thinking": "not finished: its thinking does not end",
    "refusal": "refused",
    "content_filter": "stopped by a content filter",
}
"""Why a reply is no answer, by its finish."""


@dataclasses.dataclass(frozen=True)
class Reply(Result):
    """What a language model wrote once. Thinking is never an answer, nor is a text that was cut.

    Attributes:
        text: The text without thinking and refusal.
        thinking: What it thought before or between, where it shows that; "" for none, or hidden.
        refusal: The words of a refusal that the server marks as one; "" for none.
        finish: "stop" for a text that ended by itself; "length" where the bound of new tokens cut it, "thinking" where
            it ended within its thinking, "refusal", "content_filter".
        usage: "prompt_tokens", "answer_tokens" (its thinking among them) and "thinking_tokens" of the request, as far
            as they were told; {} also for all but the first of several replies to one request.
    """

    text: str = ""
    thinking: str = ""
    refusal: str = ""
    finish: Finish = "stop"
    usage: Mapping[str, int] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(
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
        r"""Make a reply of what a server, a model here or a log tells.

        Args:
            text: What was generated, perhaps with thinking between tags; None for nothing.
            thinking: What the server parted from it.
            refusal: The words of a refusal.
            finish: Why it ended, in the words of a server or a log; None where that is not known.
            usage: Tokens of the request.
            tags: (open, close) of thinking beside `THINKING_TAGS`.
            opened: Whether thinking began in the prompt, as some chat templates have it.

        Example:
            >>> Reply.of("<think>A? No.</think>B").text, Reply.of("<think>The answer is A").finish
            ('B', 'thinking')
            >>> Reply.of("Let me see.\n</think>\n\nB", finish="stop").thinking
            'Let me see.'
            >>> Reply.of("", refusal="I can't help with that.").lack
            'refused'
        """
        rest, thoughts, closed = split_thinking(text or "", tags, opened=opened)
        ended = _FINISHES.get(str(finish or "").lower().partition(":")[0], "stop")
        if refusal and ended == "stop":
            ended = "refusal"
        if ended in ("stop", "length") and (
            not closed or (ended == "length" and not rest and (thinking or thoughts))
        ):
            ended = "thinking"
        parts = [part.strip() for part in (thinking or "", *thoughts)]
        return cls(rest, "\n\n".join(filter(None, parts)), refusal or "", ended, dict(usage or {}))

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Reply:
        """Read what `to_dict` gave; fields that are not there have their defaults."""
        return cls(
            **{
                field.name: kept[field.name]
                for field in dataclasses.fields(cls)
                if field.name in kept
            }
        )

    @property
    def finished(self) -> bool:
        """Whether it ended by itself, outside its thinking."""
        return self.finish not in ("length", "thinking")

    @property
    def thinks(self) -> bool:
        """Whether there was thinking, shown or hidden."""
        return bool(self.thinking or self.usage.get("thinking_tokens"))

    @property
    def lack(self) -> str:
        """Why it is no answer, in words; "" where its text can be one."""
        return UNANSWERED.get(self.finish, "" if self.text.strip() else "empty")


def split_thinking(
    text: str, tags: Sequence[tuple[str, str]] = (), *, opened: bool = False
) -> tuple[str, list[str], bool]:
    """Part thinking between tags from a text.

    Args:
        text: The text.
        tags: (open, close) beside `THINKING_TAGS`.
        opened: Whether thinking began before the text; a close without an open says so too.

    Returns:
        The text without its thinking, the thoughts, and whether every thought is closed: of one that is not, the rest
        of the text is thinking.

    Example:
        >>> split_thinking("<think>a</think>b<think>c")
        ('b', ['a', 'c'], False)
    """
    kept: list[str] = []
    thoughts: list[str] = []
    start, within = 0, "any" if opened else ""
    for match, close in find_thinking_marks(text, tags):
        part, mark = text[start : match.start()], match[0]
        if not within and close:
            kept.append(part)
            within = close
        elif not within:  # what comes before a close without an open was thought as well
            thoughts.append("\n".join(filter(None, (*kept, part))))
            kept = []
        elif within == mark or (within == "any" and not close):
            thoughts.append(part)
            within = ""
        else:
            continue  # a thought that speaks of thinking
        start = match.end()
    (thoughts if within else kept).append(text[start:])
    return ("\n".join(kept).strip() if thoughts else text), thoughts, not within


def find_thinking_marks(
    text: str, tags: Sequence[tuple[str, str]] = ()
) -> Iterator[tuple[re.Match[str], str]]:
    """Find the marks of thinking in a text, each with the mark that closes it, "" for one that closes.

    Args:
        text: The text.
        tags: (open, close) beside `THINKING_TAGS`.

    Example:
        >>> [(mark[0], close) for mark, close in find_thinking_marks("<Thought>a</Thought>")]
        [('<Thought>', '</Thought>'), ('</Thought>', '')]
    """
    closes, marks = _marks(tuple(tags))
    for match in marks.finditer(text):
        mark = match[0]
        yield (
            match,
            closes[mark]
            if mark in closes
            else ""
            if "/" in mark
            else re.sub(r"<\|?", r"\g<0>/", mark),
        )


@functools.lru_cache(maxsize=16)
def _marks(tags: tuple[tuple[str, str], ...]) -> tuple[dict[str, str], re.Pattern[str]]:
    """Return what closes each mark, "" for one that closes, and the pattern of all marks."""
    opens = dict((*THINKING_TAGS, *tags))
    closes = dict.fromkeys(opens.values(), "") | opens
    return closes, re.compile(
        "|".join([*sorted(map(re.escape, closes), key=len, reverse=True), _TAG])
    )


def extract_text(content: Any, kind: str = "text") -> str:
    """Return the words of a message: a text, or the parts of one kind, alone or in a list.

    Example:
        >>> parts = [{"type": "thinking", "thinking": "A?"}, {"type": "text", "text": "B"}]
        >>> extract_text(parts), extract_text(parts, "thinking")
        ('B', 'A?')
    """
    if isinstance(content, Mapping):
        type_name = str(content.get("type", "text")).removeprefix("output_")
        return extract_text(content.get(kind)) if type_name == kind else ""
    if isinstance(content, list):
        return "".join(extract_text(part, kind) for part in content)
    return content if isinstance(content, str) and kind == "text" else ""
