"""Limits of expressions, each at its largest value and next to it."""

from __future__ import annotations

import pytest
from jinja2 import TemplateSyntaxError
from jinja2.exceptions import SecurityError

from rightreasons.io.bounds import MAX_BITS, MAX_LENGTH, BoundedEnvironment


def evaluate(expression, **values):
    """Return what an expression prints."""
    return BoundedEnvironment().from_string("{{ " + expression + " }}").render(**values)


@pytest.mark.parametrize(
    ("expression", "length"),
    [
        ("('ab' * n) | length", MAX_LENGTH // 2),
        ("(n * 'ab') | length", MAX_LENGTH // 2),
        ("('x'.ljust(n)) | length", MAX_LENGTH),
        ("('x'.zfill(n)) | length", MAX_LENGTH),
        ("('x' | center(n)) | length", MAX_LENGTH),
        ("('x' | center(width=n)) | length", MAX_LENGTH),
    ],
)
def test_strings_have_at_most_a_length(expression, length):
    assert evaluate(expression, n=length) == str(MAX_LENGTH)
    with pytest.raises(SecurityError, match="characters"):
        evaluate(expression, n=length + 1)


@pytest.mark.parametrize(
    "expression",
    [
        "'{:>9999999}'.format(1)",
        "'{x:>9999999}'.format_map({'x': 1})",
        "'%9999999d' % 1",
        "'%9999999d' | format(1)",
    ],
)
def test_formats_have_no_long_widths(expression):
    with pytest.raises(SecurityError, match="widths"):
        evaluate(expression)


@pytest.mark.parametrize("expression", ["'{:>9}'.format(1)", "'%9d' % 1", "'%9d' | format(1)"])
def test_formats_may_have_widths(expression):
    assert evaluate(expression) == "        1"
    # Six digits are fewer than those of the limit.
    assert len(evaluate(expression.replace("9", "999999"))) == 999_999


def test_powers_have_at_most_a_number_of_bits():
    # 2 has two bits.
    assert int(evaluate(f"2 ** {MAX_BITS // 2}")) == 2 ** (MAX_BITS // 2)
    with pytest.raises(SecurityError, match="bits"):
        evaluate(f"2 ** {MAX_BITS // 2 + 1}")
    assert evaluate("1.5 ** 2") == "2.25"
    assert evaluate("3 * 4 % 5") == "2"


def test_only_conditions_are_statements():
    environment = BoundedEnvironment()

    assert environment.from_string("{% if x %}yes{% endif %}").render(x=1) == "yes"
    for source in ("{% for x in y %}{% endfor %}", "{% set x = 1 %}"):
        with pytest.raises(TemplateSyntaxError, match="statements"):
            environment.from_string(source)
