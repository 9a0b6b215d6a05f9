"""Which answer a generated text gives: a letter, a number, a label word or the text of a choice; or none."""

from __future__ import annotations

import re
from collections.abc import Sequence

NO_ANSWER = -1
"""What a text without an answer is parsed as, and one that names several."""


def parse_answer(text: str, answers: Sequence[str], *, others: Sequence[str] = (), pattern: str | None = None) -> int:
    r"""Return which of some answers a text gives.

    The rules, of which the first that finds exactly one answer decides:

    1. the text is an answer, marks and case aside: "positive.", "(B)";
    2. it begins with a mark and its punctuation: "B. Because", "2) no";
    3. it says so: "the answer is B", "Answer: positive";
    4. one answer alone occurs in it as a whole word; a letter counts only where it is a capital, and "A" and "I" only
       before punctuation, "or" and "and", since they are words;
    5. one of `others` alone occurs in it: the texts behind letters and numbers.

    A longer answer hides a shorter one inside it: "not entailment" is not "entailment".

    Args:
        text: What was generated.
        answers: The C answers as they are asked for: label words, texts of choices, letters or numbers.
        others: The C texts that letters or numbers stand for.
        pattern: A regular expression in place of the rules: what it finds first, in its first group if it has one, is
            the answer or its text, case aside.

    Returns:
        The index of the answer; `NO_ANSWER` where there is none, or where several are named.

    Example:
        >>> parse_answer("The answer is (B), not A.", ["A", "B"]), parse_answer("A or B", ["A", "B"])
        (1, -1)
        >>> parse_answer("I think it is not entailment.", ["entailment", "not entailment"])
        1
        >>> parse_answer("A dog barks.", ["A", "B"], others=["a dog barks", "a cat meows"])
        0
        >>> parse_answer("Reason: x. Final: b", ["A", "B"], pattern=r"Final: (\w)")
        1
    """
    if pattern is not None:
        match = re.search(pattern, text)
        part = "" if match is None else (match[1] if match.re.groups else match[0]) or ""
        return _only(_same(part, answers) or _same(part, others))
    marks = all(len(answer) == 1 or answer.isdecimal() for answer in answers)
    rules = [_same(text, answers)]
    rules += [_begins(text, answers)] if marks else []
    rules += [_said(text, answers, marks), _occurring(text, answers, marks), _same(text, others)]
    rules += [_occurring(text, others, False)]
    return next((index for rule in rules if (index := _only(rule)) != NO_ANSWER), NO_ANSWER)


def _only(indices: set[int]) -> int:
    return next(iter(indices)) if len(indices) == 1 else NO_ANSWER


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[^\w\s]", " ", text).casefold().split())


def _same(text: str, answers: Sequence[str]) -> set[int]:
    """Return the answers that a text is, marks and case aside; letters and numbers literally first."""
    exact = {index for index, answer in enumerate(answers) if text.strip() == answer.strip()}
    plain = _plain(text)
    return exact or {index for index, answer in enumerate(answers) if plain and plain == _plain(answer)}


def _begins(text: str, answers: Sequence[str]) -> set[int]:
    match = re.match(r"\W*(\w+)\s*(?:[.:),\]*]|\n|$)", text)
    return set() if match is None else {index for index, answer in enumerate(answers) if match[1] == answer}


def _said(text: str, answers: Sequence[str], marks: bool) -> set[int]:
    """Return the answers that follow "answer is", "Answer:" and the like."""
    lead = r"\b(?:answer|label|option|choice|sentiment|category)\b\s*(?:is|would be|:)\W*"
    said = set()
    for match in re.finditer(lead, text, re.IGNORECASE):
        rest = text[match.end() :]
        ends = {
            index: len(answer)
            for index, answer in enumerate(answers)
            if re.match(rf"{re.escape(answer)}(?!\w)", rest, 0 if marks else re.IGNORECASE)
        }
        said |= {index for index, end in ends.items() if end == max(ends.values())}
    return said


def _occurring(text: str, answers: Sequence[str], marks: bool) -> set[int]:
    """Return the answers that occur as whole words outside longer ones."""
    spans: list[tuple[int, int, int]] = []
    for index, answer in enumerate(answers):
        if not answer.strip():
            continue
        after = r"(?=\s*(?:[.:),\]*/]|or\b|and\b|$))" if marks and answer in ("A", "I") else r"(?!\w)"
        found = re.finditer(rf"(?<!\w){re.escape(answer)}{after}", text, 0 if marks else re.IGNORECASE)
        spans += [(match.start(), match.end(), index) for match in found]
    return {
        index
        for start, end, index in spans
        if not any(a <= start and end <= b and b - a > end - start for a, b, _ in spans)
    }
