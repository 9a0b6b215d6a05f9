"""The answer that a text gives, found by the form of the text, whatever its language.

`read_answer` returns the answer, and `find_answer` also the form. A text can be read if its last
line is an answer, if it ends in a form that prompts and harnesses request, or by a pattern of the
user. For any other text, `rightreasons.models.replies.repair` can ask a model what it means.
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
    """The answer that a text gives, and the form in which the text gives it.

    Attributes:
        answer: Index of the answer, or `NO_ANSWER`.
        form: "constrained" for a reply that the server restricted to the options; "line" for a last
            line "ANSWER: X"; "pattern" for a pattern of the user; "requested" for another form that
            prompts request; "plain" for a line that is an answer; "repaired" for a reading by a
            second request. Empty if there is no answer.
    """

    answer: int = NO_ANSWER
    form: Form = ""


def read_answer(text: str, answers: Sequence[str], **options: Any) -> int:
    r"""Return the index of the answer that a text gives, or `NO_ANSWER` (-1).

    Args:
        text: The generated text.
        answers: The possible answers, such as ["A", "B"].
        **options: Further arguments of `find_answer`.

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
    2. The last match of the pattern.
    3. A form that prompts request: a last sentence "The answer is X", a box of LaTeX or a tag
       named "answer" in the last line, or a JSON object with a key "answer" at the end.
    4. A last line, or a whole text, that is an answer: its letter, its letter with its text, or its
       text.

    Markup, brackets, quotation marks and letter case are ignored. If lines of the text give
    different answers, it has no answer.

    Args:
        text: The generated text, without reasoning between tags.
        answers: The C answers as the prompt requests them: label words, texts of choices, letters
            or numbers.
        texts: The C texts that letters or numbers represent.
        pattern: Regular expression. Its last match, or the first group of this match, is an answer
            or its text.
        is_truncated: Whether the end of the text is missing. Then only a single line that is an
            answer, a first line "ANSWER: X", or the pattern gives an answer.
        continues: Whether the prompt ends with words such as "Answer:". Then the first line is read
            before the last one.

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
        # The first line follows directly after "Answer:" in the prompt.
        answer = options.find(lines[0])
        if answer != NO_ANSWER:
            return Reading(answer, "line")
    if is_truncated and len(lines) > 1:
        # The last line is missing. The first line is complete, but has to be "ANSWER: X", because
        # any other line may be the beginning of a list.
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
    """Return the lines of a text without markup, and without empty lines.

    If the line before the last is a heading "Answer", the two become one line "answer: X".
    """
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
    """Return a reading of an answer in a form; an empty reading for `NO_ANSWER`."""
    if answer == NO_ANSWER:
        return Reading()
    return Reading(answer, form)


def _confirm(lines: Sequence[str], answer: int, form: Form, options: AnswerOptions) -> Reading:
    """Return the reading of a last line, unless an earlier line gives another answer.

    A base model continues after its answer, and writes further questions with their answers.

    Args:
        lines: The lines of the text.
        answer: Index of the answer that the last line gives.
        form: Form in which the last line gives it.
        options: The answers of the item, which can be found in a line.

    Returns:
        The reading; an empty one if the lines contradict each other.
    """
    # The first line may give an answer, too, unless it is the first one in a list of the options.
    first_answer = options.find(lines[0])
    begins_with_list = len(lines) > 1 and options.find(lines[1]) != NO_ANSWER
    if first_answer not in (NO_ANSWER, answer) and not begins_with_list:
        return Reading()
    if _has_other_answer(lines[:-1], answer, options):
        return Reading()
    return Reading(answer, form)


def _has_other_answer(lines: Sequence[str], answer: int, options: AnswerOptions) -> bool:
    """Return whether a line gives another answer, in a form like "The answer is B"."""
    answers = {_find_requested(line, options) for line in lines}
    return not answers <= {NO_ANSWER, answer}


def _read_answer_line(lines: Sequence[str], options: AnswerOptions) -> Reading | None:
    """Read a last line "ANSWER: X". None if the text has no such line, or X is not an answer.

    Args:
        lines: The lines of the text.
        options: The answers of the item, which can be found in a line.
    """
    if not lines:
        return None
    answer = _find_stated(_ANSWER_LINE, lines[-1], options)
    if answer == NO_ANSWER:
        return None
    return _confirm(lines, answer, "line", options)


def _read_pattern(pattern: str, text: str, options: AnswerOptions) -> Reading | None:
    """Read the last match of the user's pattern in a text; None if there is no match.

    Args:
        pattern: Regular expression. The answer is its first group, or the whole match if it has no
            group.
        text: The text.
        options: The answers of the item, which can be found in a line.
    """
    matches = list(re.finditer(pattern, text))
    if not matches:
        return None
    last_match = matches[-1]
    group = 1 if last_match.re.groups else 0
    # A group that is not part of the match is None.
    answer = options.find(last_match[group] or "")
    return _make_reading(answer, "pattern")


def _read_json(text: str, options: AnswerOptions) -> Reading | None:
    """Read the JSON object at the end of a text; None if the text does not end in one.

    Args:
        text: The text, such as 'I think {"answer": "B"}'. It may end in a block of code.
        options: The answers of the item, which can be found in a line.
    """
    text = text.strip().removesuffix("```").rstrip()
    if not text.endswith("}"):
        return None
    # The object may begin at any line that begins with a brace. The first one from which the rest
    # of the text is valid JSON is the outermost object.
    for match in re.finditer(r"^\s*\{", text, re.MULTILINE):
        try:
            value = json.loads(text[match.start() :])
        except ValueError:
            continue
        return _read_json_object(value, options)
    return None


def _read_json_object(value: dict[str, Any], options: AnswerOptions) -> Reading:
    """Read the value of a key such as "answer", unless another value is a different answer.

    Args:
        value: The object, such as {"reason": "It is warm.", "answer": "B"}.
        options: The answers of the item, which can be found in a line.

    Returns:
        The reading; an empty one if no key of `JSON_KEYS` has an answer, or the values contradict
        each other.
    """
    answers = set()
    other_answers = set()
    for key, text in value.items():
        answer = options.find(str(text))
        if key.lower() in JSON_KEYS:
            answers.add(answer)
        elif answer != NO_ANSWER:
            other_answers.add(answer)
    is_unique = len(answers) == 1 and NO_ANSWER not in answers
    if not is_unique or not other_answers <= answers:
        return Reading()
    return Reading(answers.pop(), "requested")


def _read_requested_form(lines: Sequence[str], options: AnswerOptions) -> Reading | None:
    r"""Read a last line like "The answer is B" or "\boxed{B}"; None if it gives no answer."""
    if not lines:
        return None
    answer = _find_requested(lines[-1], options)
    if answer == NO_ANSWER:
        return None
    return _confirm(lines, answer, "requested", options)


def _find_requested(line: str, options: AnswerOptions) -> int:
    """Return the answer that a line gives in a form that prompts request, or `NO_ANSWER`.

    The forms are a box of LaTeX, "ANSWER: X", and "The answer is X".

    Args:
        line: A line without markup.
        options: The answers of the item, which can be found in a line.
    """
    box = _BOXED.search(line)
    if box is not None:
        return options.find(box["answer"])
    answer = _find_stated(_ANSWER_LINE, line, options)
    if answer != NO_ANSWER:
        return answer
    return _find_stated(_ANSWER_SENTENCE, line, options)


def _find_stated(pattern: re.Pattern[str], line: str, options: AnswerOptions) -> int:
    """Return the answer that a line gives after words such as "The answer is", or `NO_ANSWER`.

    Args:
        pattern: Pattern of the words, with a group `answer` after them.
        line: A line without markup.
        options: The answers of the item, which can be found in a line.
    """
    match = pattern.search(line)
    if match is None:
        return NO_ANSWER
    # After an odd number of quotation marks, the sentence is part of a quotation.
    text_before = line[: match.start("answer")]
    is_quoted = text_before.count('"') % 2 == 1
    if is_quoted:
        return NO_ANSWER
    return options.find(match["answer"])


def _read_plain_line(lines: Sequence[str], options: AnswerOptions) -> Reading | None:
    """Read a last line that is an answer and nothing else; None if it is not.

    Args:
        lines: The lines of the text.
        options: The answers of the item, which can be found in a line.
    """
    if not lines:
        return None
    answer = options.find(lines[-1])
    if answer == NO_ANSWER:
        return None
    earlier_lines = lines[:-1]
    # A line that does not end a sentence, like "It cannot be:", introduces the last line, and may
    # say that it is not the answer.
    if earlier_lines and not _ENDS_SENTENCE.search(earlier_lines[-1]):
        return None
    # After an odd number of quotation marks, the last line is part of a quotation.
    n_quotes = sum(line.count('"') for line in earlier_lines)
    if n_quotes % 2:
        return None
    # Lines with different answers are a list.
    for line in earlier_lines:
        if options.find(line) not in (NO_ANSWER, answer):
            return None
    return _confirm(lines, answer, "plain", options)
