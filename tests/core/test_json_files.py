"""JSON documents within limits: an error names the place, whatever the document is."""

import json

import pytest

from rightreasons.core.json_files import MAX_NESTING, parse_json


def nested(levels, inner="1"):
    return "[" * levels + inner + "]" * levels


BRACKETS_WITHIN_TEXTS = (
    '{"a": "' + "[" * 100 + '\\"' + "{" * 100 + '", "b": "\\\\", "c": ["' + "]" * 200 + '"]}'
)
"""Brackets that are no levels: unclosed, and after an escaped quotation mark or backslash."""


@pytest.mark.parametrize(
    "text",
    [nested(MAX_NESTING), BRACKETS_WITHIN_TEXTS, '{"x": 1e400}', '"é"', "[]", str(10**40)],
)
def test_documents_within_the_limits_are_read_as_json_reads_them(text):
    assert parse_json(text, "a.json") == json.loads(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (nested(MAX_NESTING + 1), "at most 64 levels"),
        # The brackets within the text close nothing.
        ('["' + "]" * 70 + '", ' + nested(MAX_NESTING) + "]", "nested deeper"),
        (nested(1_000_000), "nested deeper"),
        ('{"a":' * 100_000, "nested deeper"),
        ("1" * 5000, "4,300 digits"),
        # Python versions differ in the place of a trailing comma.
        ('{\n"a": 1,\n}', r"line (3, column 1|2, column 7)"),
        ("", "line 1, column 1"),
        ('["' + '\\"' * 100_000, "Unterminated string"),
    ],
)
def test_other_documents_are_refused_in_one_sentence(text, words):
    with pytest.raises(ValueError, match=words) as error:
        parse_json(text, "a.json")

    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "words"), [("[1,]", "line 12, column [34]"), (nested(65), "line 12 of a.jsonl")]
)
def test_a_line_of_a_file_has_its_number(text, words):
    with pytest.raises(ValueError, match=words):
        parse_json(text, "a.jsonl", line=12)
