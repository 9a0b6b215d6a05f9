"""Which answer a text gives, and which probability, by one strict set of rules: what is not plainly said is unread.

Whether a text is read must not depend on which answer it gives: every rule treats all answers alike, "A" among them.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

NO_ANSWER = -1
"""What a text without an answer is read as, and one that names several, or takes back what it said."""

_UNUSUAL = str.maketrans(
    dict.fromkeys("\u200b\u200c\u200d\u200e\u200f\u2060\ufeff") | dict.fromkeys("‘’ʼ", "'")
    | dict.fromkeys("“”„«»「」『』【】", '"')
)  # fmt: skip
_MARKUP = (
    ("\\", re.compile(r"\\(?:text|math)(?:bf|it|rm|tt|sf)?\s*\{([^{}]*)\}"), r"\1"),
    ("\\", re.compile(r"\\f?boxed\s*\{([^{}]*)\}|\\boxed\s+(\w)"), r"□\1\2□"),
    ("<", re.compile(r"</?answer>", re.IGNORECASE), "□"),
    ("_", re.compile(r"(?<!\w)_+|_+(?!\w)"), ""),
    ("<", re.compile(r"</?[A-Za-z]\w*\s*/?>"), ""),
    ("", re.compile(r"\\[()\[\]]|[$*`]"), ""),
    ("", re.compile(r"\n[ \t]*(?:#+|>|[-•–—])[ \t]+"), "\n"),
)
"""What is taken off a text first, where it holds a sign; a boxed or tagged answer stays between squares."""

_PLAIN = re.compile(r"[a-zA-Z0-9 \n.,;:!?()'\"%/=+]*")
_WORD = re.compile(r"\w+")


def _patterns() -> dict[str, re.Pattern[str]]:
    """Return the patterns of answer_patterns.yaml; in each, and in a list, <name> stands for any entry of a list."""
    import yaml

    lists = yaml.safe_load(Path(__file__).with_name("answer_patterns.yaml").read_text("utf-8"))
    patterns = lists.pop("patterns")
    groups = {name: f"(?:{'|'.join(each)})" for name, each in lists.items()}

    def filled(pattern: str) -> str:
        return re.sub(r"(?<!\?P)<([a-z_]+)>", lambda match: filled(groups[match[1]]), pattern)

    return {name: re.compile(filled(pattern)) for name, pattern in patterns.items()}


_SAID = _patterns()


def read_answer(
    text: str, answers: Sequence[str], *, others: Sequence[str] = (), pattern: str | None = None, cut: bool = False
) -> int:
    r"""Return which of some answers a text gives.

    A last line "ANSWER: X", the form that is asked for, decides; then what a pattern finds. Else the rules read it:
    full-width letters are letters, marks of LaTeX, markdown and HTML are no matter, and the last statement decides:

    - a line or text that is an answer, or a letter with its text: "B", "(b)", "Option B", "B. Paris", "positive";
    - an answer after "ANSWER:", "the answer is", "\boxed{", "I choose", in some twenty languages, that ends there;
    - "B is correct".

    A statement that is denied, conditional, asked or somebody else's, that names several answers or is taken back
    makes the text unread. Without a statement, what a text begins with counts, as of "B. Because …" and "No, it …", if
    it names no answer again; and of words, "This is a positive review." Anything else is unread.

    Args:
        text: What was generated, without thinking.
        answers: The C answers as they are asked for: label words, texts of choices, letters or numbers.
        others: The C texts that letters or numbers stand for.
        pattern: A regular expression before the rules: what it finds last, in its first group if it has one, is the
            answer or its text, case aside.
        cut: Whether the text was cut where tokens ran out: then it counts only if all of it is an answer, or its first
            line.

    Returns:
        The index of the answer; `NO_ANSWER` where there is none, or where it is not plain which.

    Example:
        >>> [read_answer(text, ["A", "B"]) for text in ("The answer is (B), not A.", r"So \boxed{A}", "A or B", "Ｂ")]
        [1, 0, -1, 1]
        >>> read_answer("I initially thought the answer is A, but the answer is B.", ["A", "B"])
        1
        >>> read_answer("This is not a positive review.", ["negative", "positive"])
        -1
        >>> read_answer("A dog barks.", ["A", "B"], others=["a dog barks", "a cat meows"])
        0
        >>> read_answer("Reason: x. Final: b", ["A", "B"], pattern=r"Final: (\w)")
        1
    """
    known = _known(tuple(answers), tuple(others))
    plain = plain_text(text)
    more = _SAID["next"].search(plain)
    plain = plain if more is None else plain[: more.start()].rstrip()
    line = None if cut else _SAID["last_line"].match(plain, plain.rfind("\n") + 1)
    asked_for = known.same(line["answer"]) if line is not None else NO_ANSWER
    if asked_for != NO_ANSWER:
        return asked_for
    found = [] if pattern is None else [match[bool(match.re.groups)] or "" for match in re.finditer(pattern, text)]
    if found:
        return known.same(plain_text(found[-1]))
    return known.same(plain.partition("\n")[0]) if cut else _Reading(plain, known).answer()


def plain_text(text: str) -> str:
    """Return a text without the marks of markup, its compatible letters in their usual form."""
    text = text if text.isascii() else unicodedata.normalize("NFKC", text).translate(_UNUSUAL)
    if not _PLAIN.fullmatch(text):
        text = f"\n{text}"
        for sign, marks, instead in _MARKUP:
            text = marks.sub(instead, text) if sign in text else text
    return text.strip()


@functools.lru_cache(maxsize=1024)
def _known(answers: tuple[str, ...], others: tuple[str, ...]) -> _Known:
    return _Known(answers, others)


def _places(names: Iterable[tuple[str, int]]) -> Mapping[str, set[int]]:
    places: dict[str, set[int]] = {}
    for name, place in names:
        places.setdefault(_words(name), set()).add(place)
    return places


def _shorter(named: tuple[Any, ...]) -> int:
    return -len(named[0])


@functools.lru_cache(maxsize=256)
def _names_of(
    answers: tuple[str, ...],
) -> tuple[bool, list[tuple[str, int]], re.Pattern[str] | None, Mapping[str, set[int]]]:
    """Return whether answers are marks, the answers, longer ones first, what finds marks, and their places by words."""
    marks = all(len(answer) == 1 or answer.isdecimal() for answer in answers)
    names = [(unicodedata.normalize("NFKC", answer), place) for place, answer in enumerate(answers)]
    mention = "|".join(re.escape(name) for name, _ in names)
    found = re.compile(rf"(?<![\w'])(?:{mention})(?![\w'+])") if marks else None
    return marks, sorted(names, key=_shorter), found, _places(names)


class _Known:
    """The answers and their texts, by their words."""

    def __init__(self, answers: tuple[str, ...], others: Sequence[str]) -> None:
        self.marks, self.answers, self.mention, self._words = _names_of(answers)
        texts = [(plain_text(other), place) for place, other in enumerate(others)]
        self._of_texts = _places(texts)
        if not self.marks:
            self._words = _places([*self.answers, *texts])
        self.texts = sorted((pair for pair in texts if len(pair[0]) > 1), key=_shorter)
        both = [(*pair, self.marks) for pair in self.answers] + [(*pair, False) for pair in self.texts]
        self._names = sorted(both, key=_shorter)
        self._begins = {name[:1].lower() for name, _, _ in both}

    def same(self, line: str) -> int:
        """Return the answer that a line is: its mark, its words, or both."""
        words = _words(line)
        if not words or "%" in line or (line.endswith("?") and not line[:-1].endswith("?")):
            return NO_ANSWER
        places = self._words.get(words, set())
        places = places if len(places) == 1 else self._of_texts.get(words, set())
        if len(places) == 1:
            return next(iter(places))
        for match in (_SAID["marked"].match(line), _SAID["behind"].search(line)) if self.marks else ():
            if match is not None:
                places = self._words.get(match["mark"].casefold(), set())
                rest = _words(line[: match.start()] + line[match.end("mark") :])
                if len(places) == 1 and (not rest or places <= self._of_texts.get(rest, set())):
                    return next(iter(places))
        return NO_ANSWER

    def at(self, text: str, start: int, *, small: bool = True) -> tuple[int, int]:
        """Return the answer at a position in a text, and where it ends; `NO_ANSWER` if there is none."""
        first = NO_ANSWER, start
        for name, place, exact in self._names if text[start : start + 1].lower() in self._begins else ():
            part = text[start : start + len(name)]
            end = start + len(name)
            if part.isdecimal() and re.match(r"[.,]?\d", text[end:]):
                continue  # a part of a number
            if part == name or (part.lower() == name.lower() and (small or not exact)):
                if _SAID["end"].match(text, end):
                    return place, end
                first = (place, end) if first[0] == NO_ANSWER else first
        return first

    def after(self, text: str, start: int, *, small: bool = False) -> tuple[int, int]:
        """Return the answer at a position, or after marks and articles there, and where it ends."""
        for filling in (_SAID["opening"], _SAID["filling"]):
            match = filling.match(text, start)
            place, end = self.at(text, match.end() if match else start, small=small)
            if place != NO_ANSWER:
                break
        return place, end

    def mentions(self, text: str) -> set[int]:
        """Return the answers that occur in a text as whole words, the texts of letters aside."""
        found: set[int] = set()
        spans: list[tuple[int, int]] = []
        if self.mention is not None:
            names = dict(self.answers)
            return {names[match[0]] for match in self.mention.finditer(text)}
        lower = text.lower()
        for name, place in self.answers:
            word, at = name.lower(), -1
            while word and (at := lower.find(word, at + 1)) >= 0:
                end = at + len(word)
                inside = any(a <= at and end <= b for a, b in spans)
                if not inside and not lower[at - 1 : at].isalnum() and not lower[end : end + 1].isalnum():
                    spans.append((at, end))
                    found.add(place)
        return found


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text)).casefold()


class _Reading:
    """The reading of one text."""

    def __init__(self, text: str, known: _Known) -> None:
        self.text, self.known, self.same = text, known, functools.cache(known.same)
        self.lower = text.replace("İ", "i").lower()  # the one letter that would become two
        self.leads = (_SAID["lead"],) if text.isascii() else (_SAID["lead"], _SAID["lead_within_words"])

    def answer(self) -> int:
        whole = self.same(self.text) if "\n" not in self.text else NO_ANSWER
        if whole != NO_ANSWER or not self.text:
            return whole
        lines = [match.span() for match in re.finditer(r"[^\n]*[^\s][^\n]*", self.text)]
        # The last statement decides: lines are read from the end.
        for start, end in reversed(lines):
            said = max(self._statements(start, end, ends=start in (lines[0][0], lines[-1][0])), default=None)
            if said is not None:
                break
        else:
            return self._begun()
        _, end, place = said
        taken_back = _SAID["retraction"].search(self.lower, end) and self.known.mentions(self.text[end:]) - {place}
        return NO_ANSWER if taken_back else place

    def _statements(self, start: int, end: int, *, ends: bool) -> Iterator[tuple[int, int, int]]:
        """Yield where each statement of a line begins and ends, and its answer; `NO_ANSWER` where that is not plain.

        Args:
            start: Where the line begins.
            end: Where it ends.
            ends: Whether it is the first or the last line, which may be an answer by itself.
        """
        text, known = self.text, self.known
        place = self.same(text[start:end].strip()) if ends else NO_ANSWER
        if place != NO_ANSWER:
            # Options that are listed again are no answer.
            alike = {self.same(line.strip()) for line in text.split("\n") if line.strip()} - {NO_ANSWER}
            yield start, end, place if alike == {place} else NO_ANSWER
        for match in (each for form in self.leads for each in form.finditer(self.lower, start, end)):
            said = self._said(match)
            if said is not None:
                yield match.start(), *said
        for match in known.mention.finditer(text, start, end) if known.mention else ():
            right = _SAID["right"].match(text, match.end())
            if right is not None:
                denied = self._denied(match.start())
                yield match.start(), right.end(), NO_ANSWER if denied else known.at(text, match.start())[0]

    def _said(self, lead: re.Match[str]) -> tuple[int, int] | None:
        """Return the end and the answer of the statement that a lead begins; None where it begins none."""
        text, begin = self.text, lead.end()
        stop = _SAID["stop"].search(text, begin)
        rest = text[begin : stop.end() if stop else len(text)]
        # A small letter is an answer only after a mark such as a colon.
        place, end = self.known.after(text, begin, small=lead[0][-1:] in ":=□")
        denied = re.search(r"n't|not\b", lead[0]) is not None
        if place == NO_ANSWER or not _SAID["end"].match(text, end) or denied:
            return self._corrected(lead, rest)
        if text[end : end + 1] == "?" or self._denied(lead.start()):
            return end, NO_ANSWER
        more = _SAID["more"].match(text, end)
        if more is not None:
            second, behind = self.known.after(text, more.end())
            if second not in (NO_ANSWER, place) and _SAID["end"].match(text, behind):
                return behind, NO_ANSWER
        return end, NO_ANSWER if _SAID["refuted"].match(text, end) else place

    def _corrected(self, lead: re.Match[str], rest: str) -> tuple[int, int] | None:
        """Return what a statement comes to that names no answer at once: what follows "but", or nothing plain."""
        if _SAID["weak"].match(lead[0]) or not self.known.mentions(rest):
            return None
        end = lead.end() + len(rest)
        but = _SAID["but"].match(rest)
        if but is not None and not self._denied(lead.start()):
            place, behind = self.known.after(rest, but.end())
            if place != NO_ANSWER and _SAID["end"].match(rest, behind):
                return end, place
        return end, NO_ANSWER

    def _denied(self, place: int) -> bool:
        """Return whether what stands before a place in its sentence says that no statement follows."""
        before = self.lower[self.lower.rfind("\n", 0, place) + 1 : place]
        for form in (_SAID["stop"], _SAID["turn"]):
            before = before[max((match.end() for match in form.finditer(before)), default=0) :]
        return _SAID["danger"].search(_SAID["interjection"].sub("", before)) is not None

    def _begun(self) -> int:
        """Return the answer that a text begins with, or that its sentences say of the item."""
        text, known = self.text, self.known
        opening = _SAID["opening"].match(text)
        place, end = known.at(text, opening.end() if opening else 0, small=False)
        mark = re.match(r"[)\]\"']*[.),;–—\n-]\s|[)\]]\s", text[end:])
        if place != NO_ANSWER and mark is not None:
            rest = text[end:]
            for name, of in known.texts if known.marks else ():
                at = rest.lower().find(name.lower()) if of == place else -1
                rest = rest if at < 0 else f"{rest[:at]} {rest[at + len(name) :]}"
            another = any(name.lower() in rest.lower() for name, of in known.texts if known.marks and of != place)
            if (
                not another
                and not known.mentions(rest)
                and not re.match(r"\W*(?:not|wait|actually|no)\b", rest, re.IGNORECASE)
            ):
                return place
        if known.marks:
            return NO_ANSWER
        said: set[int] = set()
        for sentence in _SAID["stop"].split(text):
            subject = _SAID["subject"].match(sentence.strip())
            if subject is not None:
                place, end = known.at(sentence.strip(), subject.end())
                if place != NO_ANSWER and _SAID["object"].match(sentence.strip(), end):
                    said.add(place)
        return next(iter(said)) if len(said) == 1 and known.mentions(text) == said else NO_ANSWER


_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_UNITS = _WORDS.split()
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety", "hundred")
_IN_WORDS = {word: value for value, word in enumerate(_UNITS)} | {ten: 20 + 10 * n for n, ten in enumerate(_TENS)}
_WORDED = re.compile(
    rf"\b(?:(?:a|one) (?=hundred))?((?:{'|'.join(_TENS)})(?:-(?:{'|'.join(_UNITS[1:10])}))?|{'|'.join(_UNITS[::-1])})"
    r"(?=\s*(?:percent|per cent|%))",
    re.IGNORECASE,
)


def read_probability(text: str) -> float | None:
    """Return the probability that a text gives; None where there is none, or not plainly one.

    "0.85", "0,85", "85%", "85 percent", "ninety percent", "85/100", "8/10" and "8 out of 10" are probabilities; a whole
    number above 10 is a percentage where it follows "probability" or "confidence", or stands alone. What follows these
    words counts; without them, percentages and shares before bare numbers. Several different numbers, a range and a
    denied one are none.

    Example:
        >>> [read_probability(text) for text in ("Probability: 0.85", "I am 90% sure.", "85", "8/10", "0,85")]
        [0.85, 0.9, 0.85, 0.8, 0.85]
        >>> [read_probability(text) for text in ("Between 0.2 and 0.4", "The answer is 2.", "Probability: high", "7")]
        [None, None, None, None]
    """
    text = _WORDED.sub(
        lambda match: str(sum(_IN_WORDS[part] for part in match[1].lower().split("-"))), plain_text(text)
    )
    found = list(_SAID["number"].finditer(text))
    labels = list(_SAID["probability"].finditer(text))
    named = [
        one
        for one in found
        if any(
            label.end() <= one.start() and re.fullmatch(r"[^\d.\n]*", text[label.end() : one.start()])
            for label in labels
        )
    ]
    if _SAID["range"].search(text) or (
        not named and any(re.match(r"\W*(?:[:=]|is\b)", text[label.end() :]) for label in labels)
    ):
        return None
    shares = [one for one in found if one[2] or one[3]]
    alone = len(found) == 1 and not text.replace(found[0][0], "").strip(" .!%")
    found = named or shares or [one for one in found if alone or not one[1].isdecimal()]
    values = {_share(match) for match in found}
    is_denied = any(
        _SAID["bound"].search(text[max(0, match.start() - 30) : match.start()].rpartition(".")[2]) for match in found
    )
    value = next(iter(values)) if len(values) == 1 and not is_denied else -1.0
    return value if value >= 0 else None


def _share(match: re.Match[str]) -> float:
    """Return the share that a number is; -1 for one that is none."""
    value, whole = float(match[1].replace(",", ".")), match[1].isdecimal()
    if match[3]:
        value = value / int(match[3]) if int(match[3]) else -1.0
    elif match[2] or (whole and 10 < value <= 100):
        value /= 100
    return value if 0 <= value <= 1 else -1.0
