"""What counts as the same text: the normalizations of answers, by name."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping

from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import check_one_of

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_FIRST_ARTICLE = re.compile(r"^(a|an|the) ")


@checks_kinds
def normalize_answer(text: str, normalization: str = "squad") -> str:
    """Bring a text to the form in which answers are compared.

    | name | what it does |
    | --- | --- |
    | `none` | nothing: texts are compared as they are |
    | `casefold` | folds the case, and leaves one space between words |
    | `article` | drops the spaces around the text and a leading a, an or the, as CheckList's suite of reading does |
    | `ropes` | lowers the case, drops ASCII punctuation, and leaves one space between words; articles stay |
    | `squad` | as `ropes`, and drops the articles a, an and the |

    Args:
        text: A text.
        normalization: The name.

    Returns:
        The normalized text.

    Raises:
        ValueError: If there is no normalization of this name.

    References:
        Rajpurkar, Zhang, Lopyrev and Liang (2016), "SQuAD: 100,000+ Questions for Machine Comprehension of Text",
        EMNLP, section 6.1, with the released script of version 1.1. Lin, Tafjord, Clark and Gardner (2019), "Reasoning
        Over Paragraph Effects in Situations", MRQA, with the released script of version 1.0.

    Example:
        >>> normalize_answer("The  Cat's  pajamas, an hour!")
        'cats pajamas hour'
        >>> normalize_answer("The  Cat's  pajamas, an hour!", "ropes")
        'the cats pajamas an hour'
    """
    return NORMALIZERS[check_one_of(normalization, tuple(NORMALIZERS), "normalization")](text)


def _none(text: str) -> str:
    return text


def _casefold(text: str) -> str:
    return " ".join(text.casefold().split())


def _article(text: str) -> str:
    return _FIRST_ARTICLE.sub("", text.strip())


def _ropes(text: str) -> str:
    return " ".join(text.lower().translate(_PUNCTUATION).split())


def _squad(text: str) -> str:
    # Punctuation goes first: "A." is an article.
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


NORMALIZERS: Mapping[str, Callable[[str], str]] = {
    "none": _none,
    "casefold": _casefold,
    "article": _article,
    "ropes": _ropes,
    "squad": _squad,
}
"""The normalization of each name; `foundations.suites` declares the same names for suites."""
