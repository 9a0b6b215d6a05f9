"""Texts of language models without the marks of markdown, LaTeX and chat formats.

`remove_markup` removes marks that carry no meaning, so that bold letters, letters in LaTeX's text
style, and full-width letters become usual ones. Signs that may deny an answer stay, and a text that
is struck through is removed.
"""

from __future__ import annotations

import re
import unicodedata

BOX = "□"
"""Mark around an answer in a box of LaTeX, or between tags named "answer"."""

_INVISIBLE = dict.fromkeys("\u200b\u200c\u200d\u200e\u200f\u2060\ufeff")
_DOUBLE_QUOTES = dict.fromkeys("“”„«»「」『』【】", '"')
_SINGLE_QUOTES = dict.fromkeys("‘’ʼ", "'")
_DASHES = dict.fromkeys("‐‑–—−", "-")
_USUAL_CHARACTERS = str.maketrans(_INVISIBLE | _DOUBLE_QUOTES | _SINGLE_QUOTES | _DASHES)

_TOOL_CALL = re.compile(r"(?s)<(tool_call|function_call)>.*?(?:</\1>|$)")
_STRUCK_TEXT = re.compile(r"~~[^~\n]*~~|<(s|del|strike)>.*?</\1>")
_FINAL_TOKENS = re.compile(r"(?:\s|<\|[^|<>\n]*\|>|</?s>|\[/?INST\])+$")
_LATEX_STYLE = re.compile(r"\\(?:text|math)(?:bf|it|rm|tt|sf)?\s*\{([^{}]*)\}")
_LATEX_BOX = re.compile(r"\\f?boxed\s*(?:\{([^{}]*)\}|(\w))")
_LATEX_DELIMITER = re.compile(r"\\[()\[\]]|\$")
_ANSWER_TAG = re.compile(r"(?is)<(?:final_)?answer>\s*(.*?)\s*(?:</(?:final_)?answer>|$)")
_EMPHASIS = re.compile(r"\*+|`+\w*\n|`+|(?<!\w)_+|_+(?!\w)")
_LINE_MARK = re.compile(r"(?m)^[ \t]*(?:(?:#+|>|-|•)[ \t]+)+")
# A single capital letter is an answer in brackets, not a tag.
_TAG = re.compile(r"</?(?:[a-z]|[A-Za-z]\w+)\s*/?>")

_REPLACEMENTS = (
    (_TOOL_CALL, ""),
    (_STRUCK_TEXT, ""),
    (_FINAL_TOKENS, ""),
    # The style of a box's content is removed first, since boxes may not hold braces below.
    (_LATEX_STYLE, r"\1"),
    (_LATEX_BOX, rf"{BOX}\1\2{BOX}"),
    (_LATEX_DELIMITER, ""),
    (_ANSWER_TAG, rf"{BOX}\1{BOX}"),
    (_EMPHASIS, ""),
    # A line may be a heading within a quotation: the marks go together.
    (_LINE_MARK, ""),
    # The text after a tag does not belong to the text before it.
    (_TAG, "\n"),
)


def remove_markup(text: str) -> str:
    r"""Return a text without marks of markdown, LaTeX and chat formats.

    An answer in a box of LaTeX, or between tags named "answer", is put between squares.

    Example:
        >>> remove_markup("**B** is $\\text{right}$"), remove_markup("So \\boxed{B}")
        ('B is right', 'So □B□')
        >>> remove_markup("Ｂ<|im_end|>")
        'B'
    """
    text = unicodedata.normalize("NFKC", text)
    text = text.translate(_USUAL_CHARACTERS)
    for pattern, replacement in _REPLACEMENTS:
        text = pattern.sub(replacement, text)
    return text.strip()
