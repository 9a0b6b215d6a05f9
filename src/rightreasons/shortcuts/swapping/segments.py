"""Split texts of any script into words, numbers, marks, and emoji.

Words follow the properties of Unicode. A script that is written without spaces (Chinese, Japanese, Thai, Lao, Khmer,
Burmese) has no such borders: its runs are split into the longest pieces that recur in a collection of texts, which
`Segmenter` learns. `Segmenter.split` is the entry point.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import regex

Text = tuple[str, ...]
"""The columns of an item: one text, or two."""

Span = tuple[int, int]
"""The first character of a part of a text, and the one past its last."""

UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"

_INNER = rf"\p{{L}}\p{{M}}\p{{N}}_\u200c\u200d--[{UNSPACED}]"
"""What a word may hold after its first character."""

_PICTURE = r"\p{Extended_Pictographic}"

# In this order: a run without spaces, a number, a word, an emoji with its modifiers, a run of marks.
_UNIT = regex.compile(
    rf"""
    (?P<run>[{UNSPACED}][{UNSPACED}\p{{M}}]*)
    | \p{{N}}+(?:[.,:/]\p{{N}}+)*(?![{_INNER}])
    | [\p{{L}}\p{{N}}--[{UNSPACED}]][{_INNER}]*(?:['’][{_INNER}]+)*
    | {_PICTURE}[\p{{Emoji_Modifier}}\ufe0f]*(?:\u200d{_PICTURE}[\p{{Emoji_Modifier}}\ufe0f]*)*
    | (?:(?!{_PICTURE})[^\p{{L}}\p{{N}}\s])+
    """,
    regex.VERSION1 | regex.VERBOSE,
)
_GRAPHEME = regex.compile(r"\X")
_LETTER = regex.compile(r"\p{L}")
_DIGIT = regex.compile(r"\p{N}")
_UNSPACED_LETTER = regex.compile(rf"[{UNSPACED}]", regex.VERSION1)

MAX_PIECE = 6
"""Longest piece of a run without spaces, in graphemes."""

MAX_LEARNED = 5_000
"""Number of texts from which the pieces of runs are learned."""

MIN_COHESION = 0.3
"""A piece is a word if it is in at least this share of the texts of its parts, without the first or last grapheme."""

MAX_COVERED = 0.9
"""A piece is only a part of a word if a longer one is in at least this share of its texts."""


class Token(NamedTuple):
    """A word, number, mark, or emoji of an item.

    Attributes:
        column: Column of the item.
        start: Its first character.
        end: One past its last character.
        word: Its lower-case form.
    """

    column: int
    start: int
    end: int
    word: str

    @property
    def key(self) -> tuple[int, str]:
        """The column and the word, under which it is counted."""
        return self.column, self.word


def kind_of(word: str) -> str:
    """Return whether a token is a "word", a "number", or a "mark".

    Example:
        >>> kind_of("film"), kind_of("9/10"), kind_of(":)"), kind_of("😀")
        ('word', 'number', 'mark', 'mark')
    """
    if _LETTER.match(word):
        return "word"
    return "number" if _DIGIT.match(word) else "mark"


def is_unspaced(text: str) -> bool:
    """Return whether a text is mostly in a script that is written without spaces.

    Example:
        >>> is_unspaced("我爱苹果"), is_unspaced("I love apples 苹果")
        (True, False)
    """
    return 2 * len(_UNSPACED_LETTER.findall(text)) > len(text)


class Segmenter:
    """Splits texts into tokens.

    Args:
        texts: Texts from which the pieces of scripts without spaces are learned.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.pieces = learn_pieces(texts)
        self._cache: dict[Text, list[Token]] = {}

    def split(self, item: Text) -> list[Token]:
        """Return the tokens of an item in order. The list is shared: do not change it.

        Example:
            >>> [token.word for token in Segmenter().split(("It's GOOD :) 9/10!",))]
            ["it's", 'good', ':)', '9/10', '!']
        """
        tokens = self._cache.get(item)
        if tokens is None:
            tokens = []
            for column, text in enumerate(item):
                for start, end in self.split_text(text):
                    tokens.append(Token(column, start, end, text[start:end].lower()))
            self._cache[item] = tokens
        return tokens

    def split_text(self, text: str) -> list[Span]:
        """Return the spans of the tokens of a text in order."""
        spans: list[Span] = []
        for match in _UNIT.finditer(text):
            if match["run"] is None:
                spans.append(match.span())
            else:
                spans += self._split_run(match.start(), match["run"])
        return spans

    def _split_run(self, start: int, run: str) -> list[Span]:
        """Split a run without spaces into the longest known pieces, from left to right."""
        graphemes = _GRAPHEME.findall(run)
        spans: list[Span] = []
        index = 0
        while index < len(graphemes):
            size = min(MAX_PIECE, len(graphemes) - index)
            while size > 1 and "".join(graphemes[index : index + size]) not in self.pieces:
                size -= 1
            length = len("".join(graphemes[index : index + size]))
            spans.append((start, start + length))
            start += length
            index += size
        return spans


def learn_pieces(texts: Iterable[str]) -> frozenset[str]:
    """Return the pieces of two to six graphemes that recur in the runs without spaces.

    A piece counts as a word if no longer piece accounts for nearly all of its texts. So a word that is in many texts is
    found whole, whatever surrounds it.

    Example:
        >>> sorted(learn_pieces(["我爱苹果", "苹果很好", "买苹果吧", "好苹果"]))
        ['苹果']
    """
    counts: Counter[str] = Counter()
    n_texts = 0
    for text in texts:
        if n_texts == MAX_LEARNED:
            break
        n_texts += 1
        pieces: set[str] = set()
        for match in _UNIT.finditer(text):
            if match["run"] is not None:
                graphemes = _GRAPHEME.findall(match["run"])
                for size in range(1, MAX_PIECE + 1):
                    for index in range(len(graphemes) - size + 1):
                        pieces.add("".join(graphemes[index : index + size]))
        counts.update(pieces)
    min_texts = max(3, n_texts // 500)
    frequent = {piece: count for piece, count in counts.items() if count >= min_texts}
    covered: dict[str, int] = {}
    cohesive = {}
    for piece, count in frequent.items():
        graphemes = _GRAPHEME.findall(piece)
        parts = ("".join(graphemes[1:]), "".join(graphemes[:-1]))
        if len(graphemes) > 1 and count >= MIN_COHESION * max(frequent[part] for part in parts):
            cohesive[piece] = count
            for part in parts:
                covered[part] = max(covered.get(part, 0), count)
    # A part of a word recurs nearly only within the word.
    learned = set()
    for piece, count in cohesive.items():
        if covered.get(piece, 0) < MAX_COVERED * count:
            learned.add(piece)
    return frozenset(learned)


def put(text: str, spans: Sequence[tuple[int, int, str]]) -> str:
    """Replace parts of a text that do not overlap.

    Example:
        >>> put("a fine film", [(2, 6, "dull")])
        'a dull film'
    """
    parts = []
    end = 0
    for start, stop, new in sorted(spans):
        parts += [text[end:start], new]
        end = stop
    return "".join(parts) + text[end:]


def replace_tokens(item: Text, replacements: Sequence[tuple[Token, str]]) -> Text:
    """Replace tokens of an item by new words, which keep a capital at the beginning.

    Example:
        >>> item = ("Fine film",)
        >>> replace_tokens(item, [(Segmenter().split(item)[0], "dull")])
        ('Dull film',)
    """
    columns = list(item)
    for column, text in enumerate(item):
        spans = []
        for token, new in replacements:
            if token.column == column:
                spans.append(
                    (token.start, token.end, match_case(text[token.start : token.end], new))
                )
        if spans:
            columns[column] = put(text, spans)
    return tuple(columns)


def match_case(old: str, new: str) -> str:
    """Return a word in the case of another one."""
    if old.isupper() and len(old) > 1:
        return new.upper()
    if old[:1].isupper():
        return new[:1].upper() + new[1:]
    return new


def delete_token(item: Text, token: Token) -> Text:
    """Remove a token of an item with the space before it."""
    text = item[token.column]
    front = text[: token.start]
    if front.endswith(" ") and (token.end == len(text) or text[token.end] == " "):
        front = front[:-1]
    columns = list(item)
    columns[token.column] = (front + text[token.end :]).strip(" ")
    return tuple(columns)
