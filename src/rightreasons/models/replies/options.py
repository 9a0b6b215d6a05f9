"""The answers of an item in the forms that a line of a reply can have."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rightreasons.models.replies.markup import BOX, remove_markup

NO_ANSWER = -1
"""Reading of a text without an answer, or with several."""

# "B. Paris", "(B) Paris" and "B - Paris", but not a range of numbers.
_MARK_BEFORE_TEXT = re.compile(r"[(\[]?(?P<mark>\w+)(?:[\s)\].:,]|(?<!\d)-)[\s.:,(-]*(?P<text>.+)")
# "Paris (B)".
_MARK_AFTER_TEXT = re.compile(r"(?P<text>.+?)\W*\s[(\[](?P<mark>\w+)[)\]]?")

# "B)", of which the bracket was not opened.
_OPEN_BRACKET = re.compile(r"(?P<mark>.*[^\W_])[)\]]")

_FINAL_MARKS = " \t.,;:!。"
_PAIRS = frozenset({"()", "[]", "{}", "<>", '""', "''", BOX * 2})


class AnswerOptions:
    """The possible answers of an item, which `find` recognizes in a line.

    Args:
        answers: C answers: label words, texts of choices, letters or numbers.
        texts: C texts that letters or numbers represent; empty for other answers.

    Example:
        >>> options = AnswerOptions(["A", "B"], ["Paris", "Lyon"])
        >>> lines = ("(b)", "B. Lyon", "Lyon!", "Lyon (B)", "B. Paris", "A?")
        >>> [options.find(line) for line in lines]
        [1, 1, 1, 1, -1, -1]
    """

    def __init__(self, answers: Sequence[str], texts: Sequence[str]) -> None:
        """Normalize the answers and texts, and index them for `find`."""
        # Letter or number -> index of the answer.
        self._index_by_mark: dict[str, int] = {}
        self._texts = [normalize_line(text) for text in texts]
        # Answer or text -> indices of the answers that it may be; several if it is ambiguous.
        self._indices_by_name: dict[str, set[int]] = {}
        for index, answer in enumerate(answers):
            name = normalize_line(answer)
            self._add_name(name, index)
            # Only letters and numbers can come with a text, as in "B. Lyon". "positive. Negative"
            # is not a label with its text.
            if len(answer) == 1 or answer.isdecimal():
                self._index_by_mark[name] = index
        for index, text in enumerate(self._texts):
            self._add_name(text, index)

    def _add_name(self, name: str, index: int) -> None:
        indices = self._indices_by_name.setdefault(name, set())
        indices.add(index)

    def find(self, line: str) -> int:
        """Return the index of the answer that a line consists of, or `NO_ANSWER`.

        A line may be the letter or number of an answer, its text, or both, as in "B. Lyon". A line
        that may be several answers, such as a letter that is also the text of another answer, is
        `NO_ANSWER`.
        """
        name = normalize_line(line)
        indices = self._indices_by_name.get(name, set())
        is_unambiguous = len(indices) == 1
        if name and is_unambiguous:
            return min(indices)
        if indices or not self._index_by_mark:
            return NO_ANSWER
        return self._find_mark_with_text(name)

    def _find_mark_with_text(self, name: str) -> int:
        """Return the answer whose letter or number and text a line has, or `NO_ANSWER`.

        Args:
            name: A normalized line, such as "b. lyon" or "lyon (b)".
        """
        for pattern in (_MARK_BEFORE_TEXT, _MARK_AFTER_TEXT):
            match = pattern.fullmatch(name)
            if match is None:
                continue
            index = self._index_by_mark.get(match["mark"], NO_ANSWER)
            if index == NO_ANSWER:
                continue
            # A letter with the text of another answer contradicts itself.
            text = normalize_line(match["text"])
            if index < len(self._texts) and text == self._texts[index]:
                return index
        return NO_ANSWER


def normalize_line(text: str) -> str:
    """Return a line in lower case, without markup, brackets and final punctuation.

    Example:
        >>> normalize_line("**(B).**"), normalize_line("<b>Paris!</b>")
        ('b', 'paris')
    """
    plain_text = remove_markup(text)
    words = plain_text.split()
    line = " ".join(words)
    line = line.rstrip(_FINAL_MARKS)
    # In a loop, because brackets and punctuation may be nested, as in "(B)." and "<(B)>".
    while _is_enclosed(line):
        line = line[1:-1]
        line = line.strip()
        line = line.rstrip(_FINAL_MARKS)
    # A letter in a list may have a closing bracket only, as in "B)".
    match = _OPEN_BRACKET.fullmatch(line)
    if match is not None:
        line = match["mark"]
    return line.casefold()


def _is_enclosed(line: str) -> bool:
    """Return whether a line is inside a pair of brackets or quotation marks."""
    if len(line) <= 2:
        return False
    ends = line[0] + line[-1]
    return ends in _PAIRS
