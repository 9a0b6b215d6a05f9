"""The limits on JSON: one sentence that names the place, whatever the document is."""

import json

import pytest

from rightreasons.core.json_files import MAX_NESTING, parse_json


def nested(levels, inner="1"):
    return "[" * levels + inner + "]" * levels


def test_what_the_limits_allow_is_read_as_json_reads_it():
    # Brackets within texts are no levels, closed or not, also behind an escaped quotation mark or a backslash.
    brackets = (
        '{"a": "' + "[" * 100 + '\\"' + "{" * 100 + '", "b": "\\\\", "c": ["' + "]" * 200 + '"]}'
    )
    for text in (
        nested(MAX_NESTING),
        brackets,
        '{"x": NaN}'.replace("NaN", "1e400"),
        '"é"',
        "[]",
        str(10**40),
    ):
        assert parse_json(text, "a.json") == json.loads(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (nested(MAX_NESTING + 1), "at most 64 levels in a.json, but it is nested deeper"),
        (
            '["' + "]" * 70 + '", ' + nested(MAX_NESTING) + "]",
            "nested deeper",
        ),  # the text closes nothing
        (nested(1_000_000), "nested deeper"),
        ('{"a":' * 100_000, "nested deeper"),
        ("1" * 5000, "more than 4,300 digits"),
        ('{\n"a": 1,\n}', r"line (3, column 1|2, column 7) cannot be read as such"),
        ("", "line 1, column 1 cannot be read"),
        ('["' + '\\"' * 100_000, "Unterminated string"),
    ],
)
def test_what_they_refuse_is_one_sentence(text, message):
    with pytest.raises(ValueError, match=message) as error:
        parse_json(text, "a.json")
    assert "\n" not in str(error.value)


def test_a_line_has_its_own_number():
    with pytest.raises(
        ValueError, match=r"Expected JSON in a.jsonl, but line 12, column [34] cannot be read"
    ):
        parse_json("[1,]", "a.jsonl", line=12)
    with pytest.raises(ValueError, match="in line 12 of a.jsonl, but it is nested deeper"):
        parse_json(nested(65), "a.jsonl", line=12)
