"""Errors as a person reads them: one sentence, whoever raised them."""

from __future__ import annotations

LONGEST = 1000
"""Characters of an error; of a longer one, the middle is left out."""

EXPECTED = (ValueError, TypeError, OSError, ImportError)
"""What users can cause and understand; anything else is a mistake of ours."""


def in_one_sentence(error: BaseException) -> str:
    r"""Write an error in one line.

    Args:
        error: Any error.

    Returns:
        Its message, in one line and of bounded length. An error of the operating system names the file; an error that
        is a mistake of ours names its kind.

    Example:
        >>> in_one_sentence(ValueError("Expected 2 rows,\n but got 3."))
        'Expected 2 rows, but got 3.'
        >>> in_one_sentence(PermissionError(13, "Permission denied", "report/index.html"))
        "Expected access to 'report/index.html', but got: permission denied."
        >>> in_one_sentence(KeyError("text"))
        "An error inside rightreasons: KeyError: 'text'."
    """
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.strerror:
        where = f" to {error.filename!r}" if error.filename is not None else ""
        text = f"Expected access{where}, but got: {error.strerror.lower()}."
    elif not isinstance(error, EXPECTED):
        text = f"An error inside rightreasons: {type(error).__name__}{f': {text}' if text else ''}."
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}"
    return text or type(error).__name__
