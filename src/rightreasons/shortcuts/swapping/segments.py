"""Split texts of any script into words, numbers, marks, and emoji.

Letters and digits are recognized by their Unicode properties. Scripts without spaces (Chinese,
Japanese, Thai, Lao, Khmer, Burmese) do not show where a word ends: their runs are split into the
longest pieces that recur in a collection of texts, which `Segmenter` learns. `Segmenter.split` is
the entry point.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import regex

from rightreasons.shortcuts.swapping.capitals import Span, WrittenForms

Text = tuple[str, ...]
"""The columns of an item: one text, or two."""

UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"

_INNER = rf"\p{{L}}\p{{M}}\p{{N}}_\u200c\u200d--[{UNSPACED}]"
"""Characters that a word may have after its first one."""

_PICTURE = r"\p{Extended_Pictographic}"

# In this order: a run without spaces, a number, a word, an emoji with its modifiers, a run of
# marks.
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
# The same for texts without a character beyond ASCII.
_ASCII_UNIT = re.compile(
    r"""
    [0-9]+(?:[.,:/][0-9]+)*(?![A-Za-z0-9_])
    | [A-Za-z0-9][A-Za-z0-9_]*(?:'[A-Za-z0-9_]+)*
    | [^A-Za-z0-9 \t\n\r\f\v]+
    """,
    re.VERBOSE,
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
"""A piece is a word if it is in at least this share of the texts of its parts, without the first or
last grapheme."""

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


def get_kind(word: str) -> str:
    """Return whether a token is a "word", a "number", or a "mark".

    Example:
        >>> get_kind("film"), get_kind("9/10"), get_kind(":)"), get_kind("😀")
        ('word', 'number', 'mark', 'mark')
    """
    if _LETTER.match(word):
        return "word"
    # What begins with a digit counts as a number, such as "9th" or "9/10".
    if _DIGIT.match(word):
        return "number"
    return "mark"


def is_unspaced(text: str) -> bool:
    """Return whether a text is mostly in a script that is written without spaces.

    Example:
        >>> is_unspaced("我爱苹果"), is_unspaced("I love apples 苹果")
        (True, False)
    """
    n_unspaced = len(_UNSPACED_LETTER.findall(text))
    return 2 * n_unspaced > len(text)


class Segmenter:
    """Splits texts into tokens.

    Args:
        texts: Texts from which the pieces of scripts without spaces are learned.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.pieces = learn_pieces(texts)
        self._cache: dict[Text, list[Token]] = {}

    def split(self, item: Text) -> list[Token]:
        """Return the tokens of an item, in order. The list is cached: do not change it.

        Args:
            item: One or two texts.

        Example:
            >>> [token.word for token in Segmenter().split(("It's GOOD :) 9/10!",))]
            ["it's", 'good', ':)', '9/10', '!']
        """
        # Each item is edited about twenty times, and split for every edit.
        tokens = self._cache.get(item)
        if tokens is None:
            tokens = []
            for column, text in enumerate(item):
                for start, end in self.split_text(text):
                    tokens.append(Token(column, start, end, text[start:end].lower()))
            self._cache[item] = tokens
        return tokens

    def list_keys(self, item: Text) -> list[tuple[int, str]]:
        """Return the (column, word) of each token of an item, in order. The result is not cached.

        Example:
            >>> Segmenter().list_keys(("A film", "Good"))
            [(0, 'a'), (0, 'film'), (1, 'good')]
        """
        keys = []
        for column, text in enumerate(item):
            for start, end in self.split_text(text):
                keys.append((column, text[start:end].lower()))
        return keys

    def split_text(self, text: str) -> list[Span]:
        """Return the (start, end) of each token of a text, in order."""
        # The pattern for Unicode is four times as slow, and gives the same tokens of ASCII texts.
        if text.isascii():
            return [match.span() for match in _ASCII_UNIT.finditer(text)]
        spans: list[Span] = []
        for match in _UNIT.finditer(text):
            # The group "run" matches a run of a script without spaces, such as Chinese.
            if match["run"] is None:
                spans.append(match.span())
            else:
                spans += self._split_run(match.start(), match["run"])
        return spans

    def _split_run(self, start: int, run: str) -> list[Span]:
        """Split text without spaces into the longest learned pieces, from left to right.

        Args:
            start: Position of the run in its text.
            run: Part of a text in a script without spaces, such as Chinese.

        Returns:
            (start, end) of each piece in the text.
        """
        graphemes = _GRAPHEME.findall(run)
        spans: list[Span] = []
        index = 0
        while index < len(graphemes):
            piece = self._find_piece(graphemes, index)
            length = len("".join(piece))
            spans.append((start, start + length))
            start += length
            index += len(piece)
        return spans

    def _find_piece(self, graphemes: Sequence[str], index: int) -> Sequence[str]:
        """Return the graphemes of the longest learned piece at a position, or else a single one."""
        for size in range(MAX_PIECE, 1, -1):
            piece = graphemes[index : index + size]
            if "".join(piece) in self.pieces:
                return piece
        return graphemes[index : index + 1]


def learn_pieces(texts: Iterable[str]) -> frozenset[str]:
    """Find the words of two to six graphemes in texts of scripts without spaces, such as Chinese.

    A piece of a text counts as a word if its graphemes mostly occur together, and if no longer
    piece accounts for nearly all of its texts.

    Args:
        texts: Texts, of which the first `MAX_LEARNED` are read. Parts in other scripts are ignored.

    Example:
        >>> sorted(learn_pieces(["我爱苹果", "苹果很好", "买苹果吧", "好苹果"]))
        ['苹果']
    """
    counts: Counter[tuple[str, ...]] = Counter()
    n_texts = 0
    for text in itertools.islice(texts, MAX_LEARNED):
        n_texts += 1
        counts.update(_list_pieces(text))
    # A word is in at least three texts, and of many texts in at least one in 500.
    min_texts = max(3, n_texts // 500)
    frequent = {piece: count for piece, count in counts.items() if count >= min_texts}

    # Every piece is compared with its two parts, without the first and without the last grapheme.
    # `max_covered` is the largest number of texts of a cohesive piece that extends the key.
    max_covered: dict[tuple[str, ...], int] = {}
    cohesive = {}
    for piece, count in frequent.items():
        if len(piece) < 2:
            continue
        head = piece[:-1]
        tail = piece[1:]
        # Every text with a piece has its parts, too, so that both parts are among the frequent.
        if count >= MIN_COHESION * max(frequent[head], frequent[tail]):
            cohesive[piece] = count
            max_covered[head] = max(max_covered.get(head, 0), count)
            max_covered[tail] = max(max_covered.get(tail, 0), count)

    learned = set()
    for piece, count in cohesive.items():
        # A piece that occurs nearly only within a longer one is a part of that word.
        if max_covered.get(piece, 0) < MAX_COVERED * count:
            learned.add("".join(piece))
    return frozenset(learned)


def _list_pieces(text: str) -> set[tuple[str, ...]]:
    """Return the pieces of one to six graphemes of the parts in a script without spaces."""
    pieces = set()
    for match in _UNIT.finditer(text):
        # The group "run" matches a part in such a script.
        if match["run"] is None:
            continue
        graphemes = _GRAPHEME.findall(match["run"])
        # Single graphemes are counted, too: they are the parts of pieces of two.
        for size in range(1, MAX_PIECE + 1):
            n_starts = len(graphemes) - size + 1
            for start in range(n_starts):
                piece = graphemes[start : start + size]
                pieces.add(tuple(piece))
    return pieces


def replace_spans(text: str, spans: Sequence[tuple[int, int, str]]) -> str:
    """Replace parts of a text that do not overlap.

    Args:
        text: The text.
        spans: (start, end, replacement) of each part, in any order.

    Example:
        >>> replace_spans("a fine film", [(2, 6, "dull")])
        'a dull film'
    """
    pieces = []
    end = 0
    for start, stop, replacement in sorted(spans):
        pieces += [text[end:start], replacement]
        end = stop
    return "".join(pieces) + text[end:]


def replace_tokens(
    item: Text,
    replacements: Sequence[tuple[Token, str]],
    forms: WrittenForms,
) -> Text:
    """Replace tokens of an item by words, which get the capitals that their positions ask for.

    Args:
        item: One or two texts.
        replacements: Pairs of a token and the lower-case word that replaces it.
        forms: How words are written.

    Example:
        >>> item = ("Fine film",)
        >>> replace_tokens(item, [(Segmenter().split(item)[0], "dull")], WrittenForms())
        ('Dull film',)
        >>> item = ("This movie... was fine",)
        >>> replace_tokens(item, [(Segmenter().split(item)[2], "dull")], WrittenForms())
        ('This movie dull was fine',)
    """
    columns = []
    for column, text in enumerate(item):
        spans = []
        for token, word in replacements:
            if token.column == column:
                replacement = forms.write_word(word, text, token.start, token.end)
                if get_kind(token.word) == "mark":
                    replacement = _separate_word(text, token, replacement)
                spans.append((token.start, token.end, replacement))
        columns.append(replace_spans(text, spans))
    return tuple(columns)


def _separate_word(text: str, token: Token, word: str) -> str:
    """Return the word that replaces a mark, with spaces that separate it from its neighbors.

    If "dull" replaces "..." in "movie...", the result must not be "moviedull".

    Args:
        text: Text with the mark.
        token: The mark, from `token.start` to `token.end` of the text.
        word: Word or mark that replaces it.
    """
    # Words of scripts without spaces are recognized without them.
    if get_kind(word) == "mark" or is_unspaced(word):
        return word
    front = text[: token.start]
    back = text[token.end :]
    if front[-1:].isalnum():
        word = f" {word}"
    if back[:1].isalnum():
        word = f"{word} "
    return word


def delete_token(item: Text, token: Token) -> Text:
    """Remove a token of an item with the space before it.

    Args:
        item: One or two texts.
        token: A token of the item, as `Segmenter.split` returns it.

    Example:
        >>> item = ("a fine film",)
        >>> delete_token(item, Segmenter().split(item)[1])
        ('a film',)
    """
    text = item[token.column]
    front = text[: token.start]
    back = text[token.end :]
    # One of the two spaces around the token is removed, so that its neighbors stay separate words.
    if front.endswith(" ") and back[:1] in ("", " "):
        front = front[:-1]
    edited = (front + back).strip(" ")
    return (*item[: token.column], edited, *item[token.column + 1 :])
