"""Limits of expressions over columns, which may come from the data.yaml of an unknown author.

`BoundedEnvironment` is a sandbox of jinja without loops, in which operators and paddings cannot make
values of more than `MAX_LENGTH` characters or elements. `limit_memory` limits everything else.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
from collections.abc import Iterator
from typing import Any

from jinja2 import TemplateSyntaxError, nodes
from jinja2.exceptions import SecurityError
from jinja2.sandbox import SandboxedEnvironment

MAX_LENGTH = 1 << 20
"""Maximum length of a string or a list that an operator or a padding makes."""

MAX_BITS = 1 << 12
"""Maximum number of bits of a power of integers."""

MAX_EXTRA_BYTES = 1 << 31
"""Maximum number of bytes that the evaluation of an expression may add to the memory of the process."""

PADDING_METHODS = frozenset(("ljust", "rjust", "center", "zfill", "expandtabs"))
PADDING_FILTERS = ("center", "indent", "wordwrap", "batch", "slice")

ALLOWED_STATEMENTS = (nodes.Output, nodes.If)


class BoundedEnvironment(SandboxedEnvironment):
    """A sandbox of jinja that refuses expressions with loops or large values."""

    intercepted_binops = frozenset(("*", "**", "%"))

    def __init__(self, **options: Any) -> None:
        """Make the sandbox, and add checks to the filters that pad or format strings.

        Args:
            **options: Options of jinja's `SandboxedEnvironment`.
        """
        super().__init__(**options)
        for name in PADDING_FILTERS:
            self.filters[name] = _bound_widths(self.filters[name])
        self.filters["format"] = _bound_format(self.filters["format"])

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Compute a product or a power unless it is too large."""
        check_product(operator, left, right)
        return super().call_binop(context, operator, left, right)

    def call(__self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        """Call a function or method of an expression, unless it pads or formats a string to a large width.

        Args:
            __context: The context of the template, which jinja passes.
            __obj: The function or method.
            *args: Its arguments.
            **kwargs: Its keyword arguments.

        Raises:
            SecurityError: If the width is larger than `MAX_LENGTH`.
        """
        method = getattr(__obj, "__name__", "")
        if method in PADDING_METHODS:
            check_widths(args)
        if method in ("format", "format_map"):
            # In "{:>8}".format(…), the string is the object of the method, which jinja 3.1.5 wraps.
            string_method = inspect.unwrap(__obj)
            check_format(getattr(string_method, "__self__", None))
        return super().call(__context, __obj, *args, **kwargs)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        """Parse a template as jinja does, and refuse statements other than `if`.

        Loops and assignments are refused because they may need any amount of time and memory.

        Args:
            source: The text of the template.
            name: The name of the template, for error messages; None if it has none.
            filename: The file of the template; None if it is not from a file.

        Raises:
            TemplateSyntaxError: If the template contains another statement.
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
        operator: "*", "**", or "%", which formats strings.
        left: The left operand.
        right: The right operand.

    Raises:
        SecurityError: If a sequence would be longer than `MAX_LENGTH`, or a power of integers would have
            more than `MAX_BITS` bits.

    Example:
        >>> check_product("*", "ab", 3)
        >>> check_product("*", "ab", 10**10)
        Traceback (most recent call last):
        ...
        jinja2.exceptions.SecurityError: at most 1,048,576 characters or elements are allowed
    """
    if operator == "*":
        # Both "ab" * 3 and 3 * "ab" repeat a sequence.
        for sequence, count in ((left, right), (right, left)):
            if isinstance(count, int) and hasattr(sequence, "__len__"):
                check_length(len(sequence) * count)
        return
    if operator == "%":
        check_format(left)
        return
    # For example, 9 ** 9 ** 9 would have 370 million digits.
    are_integers = isinstance(left, int) and isinstance(right, int)
    if are_integers and left.bit_length() * right > MAX_BITS:
        raise SecurityError(f"powers of at most {MAX_BITS:,} bits are allowed")


def check_length(length: int) -> None:
    """Check that a string or list has at most `MAX_LENGTH` characters or elements.

    Raises:
        SecurityError: If it has more.
    """
    if length > MAX_LENGTH:
        raise SecurityError(f"at most {MAX_LENGTH:,} characters or elements are allowed")


def check_widths(arguments: Any) -> None:
    """Check that the integers among the arguments of a padding are at most `MAX_LENGTH`.

    Raises:
        SecurityError: If an integer is larger.
    """
    for argument in arguments:
        if isinstance(argument, int):
            check_length(argument)


def check_format(text: Any) -> None:
    """Check that a format such as "{:>8}" has no width with as many digits as `MAX_LENGTH` or more.

    Args:
        text: The format; a value that is not a string has no widths.

    Raises:
        SecurityError: If the format contains such a number.
    """
    n_digits = len(str(MAX_LENGTH))
    long_number = rf"\d{{{n_digits},}}"
    if isinstance(text, str) and re.search(long_number, text):
        raise SecurityError(f"widths of at most {MAX_LENGTH:,} are allowed")


@contextlib.contextmanager
def limit_memory() -> Iterator[None]:
    """Limit the memory that a block of code may use, so that it raises a MemoryError beyond the limit.

    While the block runs, the limit applies to all threads of the process. On a system without such limits,
    the block runs without a limit.
    """
    try:
        import resource
    except ImportError:  # Windows
        yield
        return
    # The limit is one of the address space, of which libraries have reserved a large part already.
    used_bytes = _get_address_space()
    max_bytes = used_bytes + MAX_EXTRA_BYTES
    soft_limit, hard_limit = resource.getrlimit(resource.RLIMIT_AS)
    # A lower limit, such as one set by a scheduler, must not be raised.
    has_lower_limit = soft_limit != resource.RLIM_INFINITY and soft_limit <= max_bytes
    if used_bytes == 0 or has_lower_limit:
        yield
        return
    resource.setrlimit(resource.RLIMIT_AS, (max_bytes, hard_limit))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft_limit, hard_limit))


# ------------------------------------------------------------------------------- private


def _bound_widths(function: Any) -> Any:
    """Return a filter of jinja with a check of the widths among its arguments."""

    # `wraps` also copies the attribute by which jinja knows that a filter needs the environment.
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
