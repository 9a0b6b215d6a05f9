"""Write a word that replaces another one with the capitals that its position asks for.

Words are compared in lower case, but a text has "AP" and "Reuters". `WrittenForms` counts how each
word is written at the start of a sentence and within one. `WrittenForms.write_word` is the entry
point.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import regex

from rightreasons.core.sentences import capitalize_first

_SENTENCE_END = regex.compile(r"\p{Sentence_Terminal}")

Span = tuple[int, int]
"""(start, end) of a part of a text: its first character, and the one after its last."""


class WrittenForms:
    """The most frequent written form of each word, at the start of a sentence and within one.

    Args:
        texts: Texts in which the forms are counted; none by default, so that a word takes the
            capitals of the one that it replaces.
        split_text: Function that returns the (start, end) of each token of a text. Without texts,
            it is not needed.

    Example:
        >>> import re
        >>> def split_text(text):
        ...     return [match.span() for match in re.finditer("[A-Za-z]+", text)]
        >>> forms = WrittenForms(["(AP) Oil fell", "Oil rose, the AP says"], split_text)
        >>> text = "Gas rose, the Post says"
        >>> forms.write_word("ap", text, 14, 18), forms.write_word("oil", text, 0, 3)
        ('AP', 'Oil')
    """

    def __init__(
        self,
        texts: Iterable[str] = (),
        split_text: Callable[[str], Sequence[Span]] | None = None,
    ) -> None:
        counts: Counter[tuple[bool, str]] = Counter()
        if split_text is not None:
            for text in texts:
                for start, end in split_text(text):
                    is_start = starts_sentence(text, start)
                    form = text[start:end]
                    counts[is_start, form] += 1

        # (whether the position starts a sentence, lower-case word) -> most frequent form. Ties are
        # broken by the form itself, so that they do not depend on the order of the texts.
        self._form_by_position: dict[tuple[bool, str], str] = {}
        forms = sorted(counts)
        forms.sort(key=counts.__getitem__, reverse=True)
        for is_start, form in forms:
            key = (is_start, form.lower())
            self._form_by_position.setdefault(key, form)

    def get_inner_form(self, word: str) -> str:
        """Return how a lower-case word is mostly written within a sentence.

        Example:
            >>> WrittenForms(["AP", "Oil"], lambda text: [(0, len(text))]).get_inner_form("ap")
            'AP'
        """
        form = self._form_by_position.get((False, word))
        if form is None:
            form = self._form_by_position.get((True, word), word)
            # A single capital at the start of a sentence is due to the position.
            if form == capitalize_first(word):
                return word
        return form

    def get_start_form(self, word: str) -> str | None:
        """Return how a lower-case word is mostly written at the start of a sentence.

        None if it never starts one.
        """
        return self._form_by_position.get((True, word))

    def write_word(self, word: str, text: str, start: int, end: int) -> str:
        """Return the written form of a word that replaces a part of a text.

        If the replaced word is written as usual, the new one is, too. Otherwise, such as in a text
        in capitals, the new word is written like the replaced one.

        Args:
            word: The new word, in lower case.
            text: The text.
            start: Position of the replaced word's first character.
            end: One past its last character.
        """
        original = text[start:end]
        replaced_word = original.lower()
        inner_form = self.get_inner_form(word)
        if starts_sentence(text, start) and original == self.get_start_form(replaced_word):
            start_form = self.get_start_form(word)
            if start_form is None:
                return match_case(original, inner_form)
            return start_form
        if original == self.get_inner_form(replaced_word):
            return inner_form
        if original.islower():
            return word
        return match_case(original, inner_form)


def starts_sentence(text: str, start: int) -> bool:
    """Return whether no word precedes a position in its sentence.

    A sentence starts with the text, after a line break, and after a mark that ends a sentence in
    its script, such as a full stop.

    Args:
        text: The text.
        start: Position of a word.

    Example:
        >>> text = "Oil rose, (Reuters) says. Gas fell"
        >>> [starts_sentence(text, start) for start in (0, 4, 11, 26)]
        [True, False, False, True]
    """
    # Found by position, because a copy of the text before every word takes long for long texts.
    for position in range(start - 1, -1, -1):
        character = text[position]
        # A combining mark belongs to the letter before it.
        if character.isalnum() or unicodedata.combining(character):
            return False
        if character == "\n" or _SENTENCE_END.match(character):
            return True
    return True


def match_case(original: str, word: str) -> str:
    """Return a word in the case of the one that it replaces.

    Example:
        >>> match_case("MESS", "film"), match_case("Mess", "film"), match_case("mess", "film")
        ('FILM', 'Film', 'film')
    """
    # A single capital is the beginning of a word rather than a word in capitals.
    if original.isupper() and len(original) > 1:
        return word.upper()
    if original[:1].isupper():
        return capitalize_first(word)
    return word
