"""Which answer a text gives, by its form alone: no rule depends on a language or on the answer.

`read_answer` reads a text, and `find_answer` also says by which form. A text is read if its last
line is an answer, if it ends in a form that prompts and harnesses request, or by a pattern of the
user. Anything else is unread, and `rightreasons.models.replies.repair` can ask what it means.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from rightreasons.models.replies.markup import BOX, remove_markup
from rightreasons.models.replies.options import NO_ANSWER, AnswerOptions

Form: TypeAlias = Literal["constrained", "line", "pattern", "requested", "plain", "repaired", ""]

JSON_KEYS = ("answer", "final_answer", "choice", "label")
"""Keys of the answer in replies in JSON, as prompts request them."""

# "ANSWER: X", the last line that this package and others request.
_ANSWER_LINE = re.compile(r"(?:^|[.!?。]\s+)(?:final )?answer\s*:\s*(?P<answer>.+)", re.IGNORECASE)
_ANSWER_HEADING = re.compile(r"(?:final )?answer\s*:?", re.IGNORECASE)
# The sentence that few-shot examples of chains of thought end with (Wei et al. 2022; MMLU-Pro).
_ANSWER_SENTENCE = re.compile(
    r"(?:^|[.!?。]\s+)(?:(?:so|thus|therefore),? )?"
    r"the (?:best |correct |final )?answer is:?\s*(?P<answer>.+)",
    re.IGNORECASE,
)
_BOXED = re.compile(rf"(?:^|[.!?。]\s+){BOX}(?P<answer>[^{BOX}]*){BOX}[\s.,;!。]*$")

_ENDS_SENTENCE = re.compile(r"[.!。][\"')\]]*$")


@dataclasses.dataclass(frozen=True)
class Reading:
    """The answer that a text gives, and the form in which it gives it.

    Attributes:
        answer: Index of the answer, or `NO_ANSWER`.
        form: "constrained" for a reply that the server held to the options, "line" for a last line
            "ANSWER: X", "pattern" for a pattern of the user, "requested" for another form that
            prompts request, "plain" for a line that is an answer, "repaired" for a reading by a
            second request, and "" for no answer.
    """

    answer: int = NO_ANSWER
    form: Form = ""


def read_answer(text: str, answers: Sequence[str], **options: Any) -> int:
    r"""Return which of some answers a text gives; the arguments are those of `find_answer`.

    Example:
        >>> texts = ("The answer is (B).", r"\boxed{A}", "A or B", "Ｂ", "It is not A.")
        >>> [read_answer(text, ["A", "B"]) for text in texts]
        [1, 0, -1, 1, -1]
        >>> read_answer("A dog barks.", ["A", "B"], texts=["a dog barks", "a cat meows"])
        0
        >>> read_answer("Reason: x. Final: b", ["A", "B"], pattern=r"Final: (\w)")
        1
    """
    return find_answer(text, answers, **options).answer


def find_answer(
    text: str,
    answers: Sequence[str],
    *,
    texts: Sequence[str] = (),
    pattern: str | None = None,
    is_truncated: bool = False,
    continues: bool = False,
) -> Reading:
    r"""Find the answer that a text gives, and the form in which it gives it.

    In this order:

    1. A last line "ANSWER: X".
    2. What the pattern finds last.
    3. A form that prompts request: a last sentence "The answer is X", a box of LaTeX or a tag
       named "answer" that is the last line, or a last JSON object with a key "answer".
    4. A last line, or a whole text, that is an answer: its letter, its letter with its text, or its
       text.

    Marks of markup, brackets, quotation marks and letter case are ignored. A text whose lines give
    different answers is unread.

    Args:
        text: The generated text, without reasoning between tags.
        answers: The C answers as they are requested: label words, texts of choices, letters or
            numbers.
        texts: The C texts that letters or numbers represent.
        pattern: Regular expression. What it finds last, in its first group if it has one, is the
            answer or its text.
        is_truncated: Whether the text was truncated. Then only a text that is an answer as a whole,
            a first line "ANSWER: X", and the pattern count.
        continues: Whether the prompt ends with the words that an answer follows. Then the first
            line is read before the last one.

    Returns:
        The reading; `Reading()` for a text without an answer, or with several.

    Example:
        >>> find_answer("It is warm.\n\nANSWER: B", ["A", "B"])
        Reading(answer=1, form='line')
        >>> find_answer("B. Because it is warm.", ["A", "B"])
        Reading(answer=-1, form='')
        >>> find_answer(" B\n\nQuestion: Which one?", ["A", "B"], continues=True)
        Reading(answer=1, form='line')
    """
    options = AnswerOptions(answers, texts)
    lines = _list_lines(text)
    if continues and lines:
        # The first line continues the prompt's own "Answer:".
        answer = options.find(lines[0])
        if answer != NO_ANSWER:
            return Reading(answer, "line")
    if is_truncated and len(lines) > 1:
        # Only the first line is surely complete, and only the requested form is surely no list.
        answer = _find_stated(_ANSWER_LINE, lines[0], options)
        if answer != NO_ANSWER and not _has_other_answer(lines[1:], answer, options):
            return Reading(answer, "line")
        lines = []

    reading = _read_answer_line(lines, options)
    if reading is None and pattern is not None:
        reading = _read_pattern(pattern, text, options)
    if reading is None:
        reading = _read_json(text, options)
    if reading is None:
        reading = _read_requested_form(lines, options)
    if reading is None:
        reading = _read_plain_line(lines, options)
    return reading or Reading()


def _list_lines(text: str) -> list[str]:
    """Return the lines of a text that are not empty, with a heading "Answer" before its line."""
    lines = []
    for raw_line in remove_markup(text).split("\n"):
        line = raw_line.strip()
        if line:
            lines.append(line)
    if len(lines) > 1 and _ANSWER_HEADING.fullmatch(lines[-2]):
        last_line = lines.pop()
        lines[-1] = f"answer: {last_line}"
    return lines


def _make_reading(answer: int, form: Form) -> Reading:
    """Return the reading of an answer in a form, or an empty one for no answer."""
    if answer == NO_ANSWER:
        return Reading()
    return Reading(answer, form)


def _confirm(lines: Sequence[str], answer: int, form: Form, options: AnswerOptions) -> Reading:
    """Return the reading of a last line, or an empty one if an earlier line gives another answer.

    A base model that goes on writing asks and answers further questions.
    """
    # A text that begins with a list of its options gives no answer by its first line.
    begins_with_list = len(lines) > 1 and options.find(lines[1]) != NO_ANSWER
    if not begins_with_list and options.find(lines[0]) not in (NO_ANSWER, answer):
        return Reading()
    if _has_other_answer(lines[:-1], answer, options):
        return Reading()
    return Reading(answer, form)


def _has_other_answer(lines: Sequence[str], answer: int, options: AnswerOptions) -> bool:
    """Return whether a line gives another answer in a form that prompts request."""
    answers = {_find_requested(line, options) for line in lines}
    return not answers <= {NO_ANSWER, answer}


def _read_answer_line(lines: Sequence[str], options: AnswerOptions) -> Reading | None:
    """Read a last line "ANSWER: X". None if the text has no such line, or X is no answer."""
    if not lines:
        return None
    answer = _find_stated(_ANSWER_LINE, lines[-1], options)
    if answer == NO_ANSWER:
        return None
    return _confirm(lines, answer, "line", options)


def _read_pattern(pattern: str, text: str, options: AnswerOptions) -> Reading | None:
    """Read what the user's pattern finds last, or return None if it finds nothing."""
    matches = list(re.finditer(pattern, text))
    if not matches:
        return None
    last_match = matches[-1]
    # Without a group, all of the match is the answer.
    group = 1 if last_match.re.groups else 0
    answer = options.find(last_match[group] or "")
    return _make_reading(answer, "pattern")


def _read_json(text: str, options: AnswerOptions) -> Reading | None:
    """Read a text that ends in a JSON object, or None if it does not."""
    text = text.strip().removesuffix("```").rstrip()
    if not text.endswith("}"):
        return None
    # The object is the longest one that begins a line: others may be inside it.
    for match in re.finditer(r"^\s*\{", text, re.MULTILINE):
        try:
            value = json.loads(text[match.start() :])
        except ValueError:
            continue
        return _read_json_object(value, options)
    return None


def _read_json_object(value: dict[str, Any], options: AnswerOptions) -> Reading:
    """Read the values of the keys of an answer, with which all other values have to agree."""
    answers = set()
    other_answers = set()
    for key, text in value.items():
        answer = options.find(str(text))
        if key.lower() in JSON_KEYS:
            answers.add(answer)
        elif answer != NO_ANSWER:
            other_answers.add(answer)
    if len(answers) != 1 or NO_ANSWER in answers or not other_answers <= answers:
        return Reading()
    return Reading(answers.pop(), "requested")


def _read_requested_form(lines: Sequence[str], options: AnswerOptions) -> Reading | None:
    """Read a last sentence or a last box that gives an answer, or return None."""
    if not lines:
        return None
    answer = _find_requested(lines[-1], options)
    if answer == NO_ANSWER:
        return None
    return _confirm(lines, answer, "requested", options)


def _find_requested(line: str, options: AnswerOptions) -> int:
    """Return the answer that a line gives in a form that prompts request."""
    box = _BOXED.search(line)
    if box is not None:
        return options.find(box["answer"])
    answer = _find_stated(_ANSWER_LINE, line, options)
    if answer != NO_ANSWER:
        return answer
    return _find_stated(_ANSWER_SENTENCE, line, options)


def _find_stated(pattern: re.Pattern[str], line: str, options: AnswerOptions) -> int:
    """Return the answer that a pattern finds at the end of a line."""
    match = pattern.search(line)
    # Within quotation marks a sentence is mentioned, not stated.
    if match is None or line[: match.start("answer")].count('"') % 2:
        return NO_ANSWER
    return options.find(match["answer"])


def _read_plain_line(lines: Sequence[str], options: AnswerOptions) -> Reading | None:
    """Read a last line that is an answer, or return None."""
    if not lines:
        return None
    answer = options.find(lines[-1])
    earlier_lines = lines[:-1]
    # A line that leads into the answer, such as a heading or one that ends in a colon, may say that
    # it is none. So may an unclosed quotation.
    if earlier_lines and not _ENDS_SENTENCE.search(earlier_lines[-1]):
        return None
    n_quotes = sum(line.count('"') for line in earlier_lines)
    if answer == NO_ANSWER or n_quotes % 2:
        return None
    # Several lines that are answers are a list.
    for line in earlier_lines:
        if options.find(line) not in (NO_ANSWER, answer):
            return None
    return _confirm(lines, answer, "plain", options)
