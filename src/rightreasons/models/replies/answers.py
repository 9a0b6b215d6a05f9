"""Which answer a text gives, and which probability, by one strict set of rules: what is not plainly said is unread.

Whether a text is read must not depend on which answer it gives: every rule treats all answers alike, "A" among them.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rightreasons.core.yaml_files import parse_yaml

NO_ANSWER = -1
"""What a text without an answer is read as, and one that names several, or takes back what it said."""

_UNUSUAL = str.maketrans(
    dict.fromkeys("\u200b\u200c\u200d\u200e\u200f\u2060\ufeff") | dict.fromkeys("‘’ʼ", "'")
    | dict.fromkeys("“”„«»「」『』【】", '"')
    | dict.fromkeys(map(chr, (*range(0x2600, 0x2758), *range(0x2795, 0x27C0), *range(0x1F300, 0x1FB00), 0xFE0F)), " ")
    | dict.fromkeys("❌✗✘✖🚫👎", " not ")
)  # fmt: skip
_PLAIN = re.compile(r"[a-zA-Z0-9 \n.,;:!?()'\"%/=+]*")
_WORD = re.compile(r"\w+")
_GAPS = re.compile(r"\n\W+")


def _patterns() -> tuple[dict[str, list[Any]], dict[str, re.Pattern[str]]]:
    """Return the lists and the patterns of answer_patterns.yaml, in which <name> stands for any entry of a list."""
    yaml_text = Path(__file__).with_name("answer_patterns.yaml").read_text("utf-8")
    lists = parse_yaml(unicodedata.normalize("NFKC", yaml_text))
    patterns = lists.pop("patterns")
    groups = {name: f"(?:{'|'.join(each)})" for name, each in lists.items() if name != "markup"}

    def filled(pattern: str) -> str:
        return re.sub(r"(?<!\?P)<([a-z_]+)>", lambda match: filled(groups[match[1]]), pattern)

    return lists, {name: re.compile(filled(pattern)) for name, pattern in patterns.items()}


_LISTS, _SAID = _patterns()
_MARKUP = [(sign, re.compile(marks), instead) for sign, marks, instead in _LISTS["markup"]]


def read_answer(
    text: str,
    answers: Sequence[str],
    *,
    others: Sequence[str] = (),
    pattern: str | None = None,
    cut: bool = False,
) -> int:
    r"""Return which of some answers a text gives.

    A last line "ANSWER: X", the form that is asked for, decides; then what a pattern finds. Else the rules read it:
    full-width letters are letters, marks of LaTeX, markdown and HTML are no matter, and the last statement decides:

    - a line or text that is an answer, or a letter with its text: "B", "(b)", "Option B", "B. Paris", "positive";
    - an answer after "ANSWER:", "the answer is", "\boxed{", "I choose", in some twenty-five languages, that ends there;
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
    known = _known(tuple(answers)).beside(tuple(others))
    plain = plain_text(text)
    more = _SAID["next"].search(plain)
    if more is not None:
        plain = plain[: more.start()].rstrip()
    line = None if cut else _SAID["last_line"].match(plain, plain.rfind("\n") + 1)
    asked_for = known.same(line["answer"]) if line is not None else NO_ANSWER
    if asked_for != NO_ANSWER:
        return asked_for
    found = (
        []
        if pattern is None
        else [match[bool(match.re.groups)] or "" for match in re.finditer(pattern, text)]
    )
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


def _places(names: Iterable[tuple[str, int]]) -> Mapping[str, set[int]]:
    places: dict[str, set[int]] = {}
    for name, place in names:
        places.setdefault(_words(name), set()).add(place)
    return places


def _shorter(named: tuple[Any, ...]) -> int:
    return -len(named[0])


class _Known:
    """The answers and their texts, by their words. Items have texts of their own: little is made of them beforehand.

    Attributes:
        marks: Whether they are marks.
        answers: Their places, longer ones first.
        mention: What finds marks.
    """

    _others: tuple[str, ...] = ()

    def __init__(self, answers: tuple[str, ...]) -> None:
        self.marks = all(len(answer) == 1 or answer.isdecimal() for answer in answers)
        names = [
            (unicodedata.normalize("NFKC", answer), place) for place, answer in enumerate(answers)
        ]
        mention = "|".join(re.escape(name) for name, _ in names)
        # What begins with one of some letters is found faster than what begins with a look behind it.
        # Words of scripts without spaces touch a letter, and are not one with it.
        inside = r"'0-9A-Za-z_\u00c0-\u1fff"
        begun = (
            rf"(?:{mention})(?<![{inside}].)"
            if all(len(name) == 1 for name, _ in names)
            else rf"(?<![{inside}])(?:{mention})"
        )
        self.mention = re.compile(rf"{begun}(?![{inside}+])") if self.marks else None
        self._words = _places(names)
        # What lines begin with that are one of them.
        self._firsts = {
            "the",
            *_FIRSTS,
            *(first + mark for first in _FIRSTS for mark in self._words),
        }
        self._firsts |= {name.partition(" ")[0] for name in self._words}
        names.sort(key=_shorter)
        self.answers = dict(names)
        self._names: dict[str, list[tuple[str, int]]] = {}  # by the first letter in small
        for name, place in names:
            self._names.setdefault(name[:1].lower(), []).append((name, place))

    def beside(self, others: tuple[str, ...]) -> _Known:
        """Return the answers with the texts of an item."""
        known = object.__new__(_Known)  # which is a copy.copy without its detours
        known.__dict__ = {**self.__dict__, "_others": others}
        if not self.marks and others:
            known._words = _places([*self.answers.items(), *known.texts])
        return known

    @functools.cached_property
    def texts(self) -> list[tuple[str, int]]:
        """The texts and their places, longer ones first."""
        read = str.strip if _PLAIN.fullmatch(" ".join(self._others)) else plain_text
        return sorted(
            zip(map(read, self._others), range(len(self._others)), strict=True), key=_shorter
        )

    @functools.cached_property
    def _begin(self) -> str:
        """The texts in small letters, each from its first word on."""
        return _GAPS.sub("\n", "\n".join(["", *(text for text, _ in self.texts)])).lower()

    def _text(self, words: str) -> int:
        """Return the place of the text that is some words; `NO_ANSWER` if none is, or several are."""
        # The words of a text in ASCII are no longer than it is.
        alike = [
            place
            for text, place in self.texts
            if (len(words) <= len(text) or not text.isascii()) and words == _words(text)
        ]
        return alike[0] if len(alike) == 1 else NO_ANSWER

    def same(self, line: str) -> int:
        """Return the answer that a line is: its mark, its words, or both."""
        places = self._words.get(line.casefold(), set())
        if len(places) == 1 and line:
            return next(iter(places))
        # Most lines begin like no answer.
        first = _WORD.search(line)
        begun = first[0].lower() if first is not None else ""
        if not begun or (
            line.isascii() and begun not in self._firsts and f"\n{begun}" not in self._begin
        ):
            return NO_ANSWER
        if _SAID["no_line"].search(line):
            return NO_ANSWER
        words = _words(line)
        places = self._words.get(words, set())
        place = next(iter(places)) if len(places) == 1 else self._text(words)
        if place != NO_ANSWER or not self.marks:
            return place
        for match in (_SAID["marked"].match(line), _SAID["behind"].search(line)):
            places = self._words.get(match["mark"].casefold(), set()) if match else set()
            if match and len(places) == 1:
                rest = _words(line[: match.start()] + line[match.end() :])
                if not rest or any(rest == _words(text) for text, of in self.texts if of in places):
                    return next(iter(places))
        return NO_ANSWER

    def at(self, text: str, start: int, *, small: bool = True) -> tuple[int, int]:
        """Return the answer at a position in a text, and where it ends; `NO_ANSWER` if there is none."""
        first, letter = (NO_ANSWER, start), text[start : start + 1].lower()
        names = self._names.get(letter, ())
        longer = [pair for pair in self.texts if pair[0][:1].lower() == letter and len(pair[0]) > 1]
        if longer:
            names = sorted((*names, *longer), key=_shorter)
        for name, place in names:
            end = start + len(name)
            part = text[start:end]
            if part == name or (
                part.lower() == name.lower() and (small or not self.marks or len(name) > 1)
            ):
                if name.isdecimal() and _DIGITS.match(text, end):
                    continue  # a part of a number
                if _SAID["end"].match(text, end):
                    return place, end
                first = (place, end) if first[0] == NO_ANSWER else first
        return first

    def after(self, text: str, start: int, *, small: bool = False) -> tuple[int, int]:
        """Return the answer at a position, or after marks and articles there, and where it ends."""
        for filling in ("opening", "filling"):
            place, end = self.at(text, _past(filling, text, start), small=small)
            if place != NO_ANSWER:
                break
        return place, end

    def mentions(self, text: str) -> set[int]:
        """Return the answers that occur in a text as whole words, the texts of letters aside."""
        found: set[int] = set()
        spans: list[tuple[int, int]] = []
        if self.mention is not None:
            return {self.answers[match] for match in self.mention.findall(text)}
        lower = text.lower()
        for name, place in self.answers.items():
            word, at = name.lower(), -1
            while word and (at := lower.find(word, at + 1)) >= 0:
                end = at + len(word)
                inside = any(a <= at and end <= b for a, b in spans)
                if (
                    not inside
                    and not lower[at - 1 : at].isalnum()
                    and not lower[end : end + 1].isalnum()
                ):
                    spans.append((at, end))
                    found.add(place)
        return found


_known = functools.lru_cache(maxsize=256)(_Known)

_IN_BRACKETS = re.compile(r"\s*\(.\)")
_DIGITS = re.compile(r"[.,]?\d")

_FIRSTS = {
    each.partition(" ")[0]
    for words in (*_LISTS["kind"], *_LISTS["before"])
    for each in words.split("|")
}
"""Words that a line with a mark may begin with."""


def _past(name: str, text: str, start: int) -> int:
    """Return the end of an optional pattern at a position: the position itself where it does not match."""
    match = _SAID[name].match(text, start)
    return match.end() if match else start


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text)).casefold()


class _Reading:
    """The reading of one text."""

    def __init__(self, text: str, known: _Known) -> None:
        self.text, self.known = text, known
        self.lower = text.replace("İ", "i").lower()  # the one letter that would become two

    def answer(self) -> int:
        text = self.text
        if "\n" not in text:
            whole = self.known.same(text)
            if whole != NO_ANSWER or not text:
                return whole
        # The last statement decides: lines are read from the end, long ones by sentences.
        said, start = None, len(text) + 1
        while start and said is None:
            line_end = end = start - 1
            start = text.rfind("\n", 0, end) + 1
            while end > start and said is None:
                begin = max(start, text.rfind(". ", start, max(start, end - 100)) + 1)
                said, end = self._statement(begin, end), begin
            if said is None or said[0] == start:
                said = max(filter(None, (said, self._line(start, line_end))), default=None)
        if said is None:
            return self._begun()
        start, end, place = said
        unsaid = (
            self._quoted(start, end)
            or self._joined(start, place)
            or self._contradicted(start, place)
        )
        return NO_ANSWER if unsaid or self._taken_back(end, place) else place

    def _quoted(self, start: int, end: int) -> bool:
        """Return whether a statement is within quotation marks that its line does not begin with: it is mentioned."""
        before = self.text[self.text.rfind("\n", 0, start) + 1 : start]
        opened = before.count('"') % 2 == 1 and before.find('"') + before.count('"') > 1
        mentioned = opened or _SAID["mentioned"].match(self.text, end) is not None
        return mentioned and self.text[start] != "□" and '"' not in self.text[start : end - 1]

    def _contradicted(self, start: int, place: int) -> bool:
        """Return whether the statement before says another answer, and nothing between says that it no longer holds."""
        said = self._statement(0, start)
        if said is None or said[2] in (NO_ANSWER, place):
            return False
        return _SAID["revised"].search(self.lower, self._sentence(said[0]), start) is None

    def _joined(self, start: int, place: int) -> bool:
        """Return whether another answer was said directly before a statement."""
        if not self.known.mentions(self.text[max(0, start - 40) : start]) - {place}:
            return False
        said = self._statement(max(0, start - 80), start)
        if (
            said
            and said[2] not in (NO_ANSWER, place)
            and _SAID["joint"].fullmatch(self.text, said[1], start)
        ):
            return True
        if said and said[1] > start and self.known.mentions(self.text[said[0] : start]) - {place}:
            return True
        return bool(self._beside(start, place).removesuffix("the ").strip(" ,)"))

    def _taken_back(self, end: int, place: int) -> bool:
        """Return whether what follows a statement takes it back, or says another answer as well."""
        if _SAID["recanted"].search(self.lower, end) or _hangs(self.text, end):
            return True
        if not self.known.mentions(self.text[end:]) - {place}:
            return False
        return _SAID["retraction"].search(self.lower, end) is not None or any(
            _SAID["also"].search(each)
            and self.known.mentions(each) - {place}
            and not _SAID["denied"].search(each)
            for each in _SAID["stop"].split(self.text[end:])
        )

    def _statement(self, start: int, end: int) -> tuple[int, int, int] | None:
        """Return where the last statement of a part begins and ends, and its answer; None where it makes none.

        The answer is `NO_ANSWER` where it is not plain.
        """
        text, known = self.text, self.known
        last: tuple[int, int, int] | None = None
        leads = [*_SAID["lead"].finditer(self.lower, start, end)]
        if not text.isascii():
            leads = sorted(
                [*leads, *_SAID["lead_within_words"].finditer(self.lower, start, end)],
                key=re.Match.start,
            )
        for lead in reversed(leads):
            said = self._said(lead)
            if said is not None:
                last = (lead.start(), *said)
                break
        rights = set[int]()
        for match in (
            known.mention.finditer(text, last[0] if last else start, end) if known.mention else ()
        ):
            right = _SAID["right"].match(text, match.end())
            if right is not None:
                place = known.at(text, match.start())[0]
                rights |= set() if (denied := self._denied(match.start())) else {place}
                beside = "also" in right[0] or self._beside(match.start(), place)
                if denied or beside or len(rights) > 1 or self._left_open(right.end(), place):
                    place = NO_ANSWER
                last = max(last or (0, 0, 0), (match.start(), right.end(), place))
        return last

    def _beside(self, start: int, place: int) -> str:
        """Return what joins another answer to what follows it, as in "A and B"; "" where nothing does."""
        mention = self.known.mention
        before = [*mention.finditer(self.text, max(0, start - 40), start)][-1:] if mention else []
        if not before or self.known.answers[before[0][0]] == place:
            return ""
        joined = _SAID["beside"].fullmatch(self.text, before[0].end(), start)
        return (
            ""
            if joined is None or _SAID["contrast"].search(self.lower, 0, before[0].start())
            else joined[0]
        )

    def _left_open(self, end: int, place: int) -> bool:
        """Return whether the rest of a sentence behind a statement asks, or names another answer with a "but"."""
        stop = _SAID["stop"].search(self.text, end)
        rest = self.text[end : stop.end() if stop else len(self.text)]
        return rest.endswith("?") or bool(
            _SAID["open"].search(rest) and self.known.mentions(rest) - {place}
        )

    def _line(self, start: int, end: int) -> tuple[int, int, int] | None:
        """Return the same of a line that is an answer by itself, as the first line and the last one may be."""
        text, known = self.text, self.known
        if (start == 0) == (end == len(text)):
            return None
        place = known.same(text[start:end].strip())
        if place == NO_ANSWER:
            return None
        # Options that are listed again are no answer, but what is said beside a whole list is.
        rest = text[end:] if start == 0 else text[:start]
        others = [
            each for line in rest.split("\n") if (each := known.same(line.strip())) != NO_ANSWER
        ]
        listed = others == [*range(len(known.answers))]
        return start, end, place if listed or set(others) <= {place} else NO_ANSWER

    def _said(self, lead: re.Match[str]) -> tuple[int, int] | None:
        """Return the end and the answer of the statement that a lead begins; None where it begins none."""
        text, begin = self.text, lead.end()
        # A small letter is an answer only after a mark such as a colon.
        place, end = self.known.after(
            text, begin, small=lead[0][-1:] in ":=□" or _IN_BRACKETS.match(text, begin) is not None
        )
        if (
            place == NO_ANSWER
            or not _SAID["end"].match(text, end)
            or _SAID["negated"].search(lead[0])
        ):
            return self._corrected(lead)
        if self._left_open(end, place) or self._denied(lead.start()):
            return end, NO_ANSWER
        gap = _past("gap", text, end)
        if text[gap : gap + 1].strip():
            # Its text may stand between the answer and what is joined to it.
            exact, more = self.known.at(text, gap)
            more = more if exact == place and not text[more : more + 1].isalnum() else end
            for begin in (more, _past("aside", text, more)):
                second, behind = self.known.after(text, _past("more", text, begin))
                another = second not in (NO_ANSWER, place) and _SAID["listed"].match(text, behind)
                if another and "\n" not in text[end:behind]:
                    return behind, NO_ANSWER
        return end, place

    def _corrected(self, lead: re.Match[str]) -> tuple[int, int] | None:
        """Return what a statement comes to that names no answer at once: what follows "but", or nothing plain."""
        if _SAID["weak"].match(lead[0]):
            return None
        stop = _SAID["stop"].search(self.text, lead.end())
        end = stop.end() if stop else len(self.text)
        rest = self.text[lead.end() : end]
        if not self.known.mentions(rest):
            return None
        but = _SAID["but"].match(rest)
        if (
            but is not None
            and _SAID["negated"].search(lead[0] + but[0])
            and not self._denied(lead.start())
        ):
            place, behind = self.known.after(rest, but.end())
            if place != NO_ANSWER and _SAID["end"].match(rest, behind):
                return end, place
        return end, NO_ANSWER

    def _sentence(self, place: int) -> int:
        """Return where the sentence of a place begins."""
        return max(self.lower.rfind("\n", 0, place), self.lower.rfind(". ", 0, place)) + 1

    def _denied(self, place: int) -> bool:
        """Return whether what stands before a place in its sentence says that no statement follows."""
        start = self._sentence(place)
        if _SAID["would"].match(self.lower, place) and not _SAID["bare"].fullmatch(
            self.lower, start, place
        ):
            return True  # on what it hangs may be said in many ways
        return start < place and _denies(
            self.lower[start:place], _SAID["noun"].match(self.lower, place) is not None
        )

    def _begun(self) -> int:
        """Return the answer that a text begins with, or that its sentences say of the item."""
        text, known = self.text, self.known
        place, end = known.at(text, _past("opening", text, 0), small=False)
        mark = _SAID["begun"].match(text, end)
        if place != NO_ANSWER and mark is not None:
            rest = text[end:]
            texts = [
                (name.lower(), of) for name, of in known.texts if known.marks and len(name) > 1
            ]
            answer = next((name for name, of in texts if of == place), "")
            at = rest.lower().find(answer)
            rest = rest if at < 0 else f"{rest[:at]} {rest[at + len(answer) :]}"
            lower = rest.lower()
            another = any(name in lower for name, of in texts if of != place)
            if (
                not another
                and not known.mentions(rest)
                and not _SAID["not_so"].match(rest)
                and not _hangs(rest)
            ):
                return place
        if known.marks or "?" in text:
            return NO_ANSWER
        said: set[int] = set()
        for sentence in _SAID["stop"].split(text):
            subject = _SAID["subject"].match(sentence.strip())
            if subject is not None:
                place, end = known.at(sentence.strip(), subject.end())
                if place != NO_ANSWER and _SAID["object"].match(sentence.strip(), end):
                    said.add(place)
        return next(iter(said)) if len(said) == 1 and known.mentions(text) == said else NO_ANSWER


def _hangs(text: str, end: int = 0) -> bool:
    """Return whether what follows a statement directly denies it, or makes it a condition or somebody else's."""
    return any(_SAID[name].match(text, end) for name in ("refuted", "hinged"))


@functools.lru_cache(maxsize=4096)
def _denies(before: str, noun: bool) -> bool:
    """Return whether what stands before a statement, perhaps one that begins with a noun, says that it is none."""
    if noun and not _SAID["plain"].search(before):
        return True
    for last in (_SAID["last_stop"], _SAID["turn"]):
        match = last.match(before)
        before = before if match is None else before[match.end() :]
    return _SAID["danger"].search(_SAID["interjection"].sub("", before)) is not None


_IN_WORDS = {word: value for value, word in enumerate([*_LISTS["unit"], *_LISTS["teen"]])}
_IN_WORDS |= {word: 10 * value for value, word in enumerate(_LISTS["ten"], start=2)}


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
    text = _SAID["worded"].sub(
        lambda match: str(sum(_IN_WORDS[part] for part in match[1].lower().split("-"))),
        plain_text(text),
    )
    found, label = list(_SAID["number"].finditer(text)), _SAID["probability"].pattern
    named = [
        number for number in found if re.search(rf"{label}[^\d.\n]*\Z", text[: number.start()])
    ]
    if _SAID["range"].search(text) or (not named and re.search(rf"{label}\W*(?:[:=]|is\b)", text)):
        return None
    shares = [number for number in found if number[2] or number[3]]
    alone = len(found) == 1 and not text.replace(found[0][0], "").strip(" .!%")
    found = named or shares or [number for number in found if alone or not number[1].isdecimal()]
    values = {_share(match) for match in found}
    is_denied = any(
        _SAID["bound"].search(text[max(0, match.start() - 30) : match.start()].rpartition(".")[2])
        for match in found
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
