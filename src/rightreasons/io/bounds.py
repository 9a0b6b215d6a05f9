"""Limits of expressions over columns, which may come in somebody else's data.yaml.

`BoundedEnvironment` is a sandbox of jinja without loops, whose operators and paddings make no value
of more than `MAX_LENGTH` characters or elements. `limit_memory` bounds everything else.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterator
from typing import Any

from jinja2 import TemplateSyntaxError, nodes
from jinja2.exceptions import SecurityError
from jinja2.sandbox import SandboxedEnvironment

MAX_LENGTH = 1 << 20
"""The maximum length of a text or a list that an operator or a padding makes."""

MAX_BITS = 1 << 12
"""The maximum number of bits of a power of whole numbers."""

MAX_EXTRA_BYTES = 1 << 31
"""Memory that the evaluation of an expression may take beyond that of the process."""

PADDING_METHODS = frozenset(("ljust", "rjust", "center", "zfill", "expandtabs"))
PADDING_FILTERS = ("center", "indent", "wordwrap", "batch", "slice")

ALLOWED_STATEMENTS = (nodes.Output, nodes.If)


class BoundedEnvironment(SandboxedEnvironment):
    """A sandbox whose expressions end soon and make no large values."""

    intercepted_binops = frozenset(("*", "**", "%"))

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        for name in PADDING_FILTERS:
            self.filters[name] = _bound_widths(self.filters[name])
        self.filters["format"] = _bound_format(self.filters["format"])

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Compute a product or a power unless it is too large."""
        check_product(operator, left, right)
        return super().call_binop(context, operator, left, right)

    def call(__self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        """Call a function or method of an expression, unless it pads or formats a text to a large width.

        Raises:
            SecurityError: If it would.
        """
        method = getattr(__obj, "__name__", "")
        if method in PADDING_METHODS:
            check_widths(args)
        if method in ("format", "format_map"):
            # The text whose method is called is the format.
            check_format(getattr(__obj, "__self__", None))
        return super().call(__context, __obj, *args, **kwargs)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        """Parse a template as jinja does, and refuse statements other than `if`.

        Loops and assignments could take any time and memory.

        Raises:
            TemplateSyntaxError: If there is one.
        """
        template = super()._parse(source, name, filename)
        for statement in template.find_all(nodes.Stmt):
            if not isinstance(statement, (*ALLOWED_STATEMENTS, nodes.ExprStmt)):
                kind = type(statement).__name__.lower()
                raise TemplateSyntaxError(
                    f"statements other than if are not allowed, but there is a {kind}",
                    statement.lineno,
                )
        return template


def check_product(operator: str, left: Any, right: Any) -> None:
    """Check that the result of an operator in an expression is not too large.

    Args:
        operator: "*", "**", or "%", which formats texts.
        left: The left operand.
        right: The right operand.

    Raises:
        SecurityError: If a sequence would be longer than `MAX_LENGTH`, or a power of whole numbers
            larger than `MAX_BITS`.

    Example:
        >>> check_product("*", "ab", 3)
        >>> check_product("*", "ab", 10**10)
        Traceback (most recent call last):
        ...
        jinja2.exceptions.SecurityError: at most 1,048,576 characters or elements are allowed
    """
    if operator == "*":
        # The sequence may be on either side of the number.
        for sequence, count in ((left, right), (right, left)):
            if isinstance(count, int) and hasattr(sequence, "__len__"):
                check_length(len(sequence) * count)
        return
    if operator == "%":
        check_format(left)
        return
    # 9 ** 9 ** 9 would have 370 million digits.
    are_whole = isinstance(left, int) and isinstance(right, int)
    if are_whole and left.bit_length() * right > MAX_BITS:
        raise SecurityError(f"powers of at most {MAX_BITS:,} bits are allowed")


def check_length(length: int) -> None:
    """Check that a text or list would have at most `MAX_LENGTH` characters or elements.

    Raises:
        SecurityError: If it would have more.
    """
    if length > MAX_LENGTH:
        raise SecurityError(f"at most {MAX_LENGTH:,} characters or elements are allowed")


def check_widths(arguments: Any) -> None:
    """Check that the whole numbers among the arguments of a padding are at most `MAX_LENGTH`.

    Raises:
        SecurityError: If one is larger.
    """
    for argument in arguments:
        if isinstance(argument, int):
            check_length(argument)


def check_format(text: Any) -> None:
    """Check that a format such as "{:>8}" has no width with as many digits as `MAX_LENGTH`.

    Args:
        text: The format; other values have no widths.

    Raises:
        SecurityError: If it has.
    """
    n_digits = len(str(MAX_LENGTH))
    long_number = rf"\d{{{n_digits},}}"
    if isinstance(text, str) and re.search(long_number, text):
        raise SecurityError(f"widths of at most {MAX_LENGTH:,} are allowed")


@contextlib.contextmanager
def limit_memory() -> Iterator[None]:
    """Limit the memory that a block of code may take, so that too much of it is a MemoryError.

    The limit is that of the process, and also holds for its other threads as long as the block runs.
    Systems without such limits run the block without one.
    """
    try:
        import resource
    except ImportError:  # Windows
        yield
        return
    # The limit counts reserved addresses, of which libraries have many already.
    used = _get_address_space()
    allowed = used + MAX_EXTRA_BYTES
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    # A lower limit that is set already, as by a scheduler, is not raised.
    is_bound = soft != resource.RLIM_INFINITY and soft <= allowed
    if used == 0 or is_bound:
        yield
        return
    resource.setrlimit(resource.RLIMIT_AS, (allowed, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


# ------------------------------------------------------------------------------- private


def _bound_widths(function: Any) -> Any:
    """Return a filter of jinja that refuses large widths among its arguments."""

    # `wraps` also copies the mark by which jinja passes its environment to a filter.
    @functools.wraps(function)
    def bounded(*arguments: Any, **options: Any) -> Any:
        check_widths((*arguments, *options.values()))
        return function(*arguments, **options)

    return bounded


def _bound_format(function: Any) -> Any:
    """Return the filter "format" of jinja with a check of the widths in the format."""

    @functools.wraps(function)
    def bounded(text: Any, *arguments: Any, **options: Any) -> Any:
        check_format(text)
        return function(text, *arguments, **options)

    return bounded


def _get_address_space() -> int:
    """Return the size of the address space of the process in bytes; 0 if the system does not report it."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            n_pages = int(file.read().split()[0])
    except OSError:
        return 0
    import resource

    return n_pages * resource.getpagesize()
