"""Strategies of inputs that somebody could have: hostile cells, damaged files, values of the wrong kind."""

import json

from hypothesis import strategies as st

CELLS = (
    "",
    " ",
    "\x00",
    "\ufeff",
    '"',
    "'",
    ",",
    ";",
    "\t",
    "\n",
    "\r\n",
    "NA",
    "nan",
    "None",
    "null",
    "inf",
    "-1",
    "0",
    "1",
    "01",
    "1.0",
    "+1",
    "1_0",
    "1e400",
    "9" * 31,
    str(2**63),
    "True",
    "é",
    "e\u0301",
    "\u202e",
    "０",
    "½",
    "{",
    "[",
    "{}",
    "\\",
    "\\u0000",
    "<a>",
    "&amp;",
    "=1+1",
    "../x",
    "/",
    "x" * 5000,
    "label",
    "text",
    "positive",
    "Positive",
    "negative",
    "a good film",
    "the cat sat.",
    "LABEL_0",
    "LABEL_1",
    "-",
    "?",
    "A",
    "B",
)

TOKENS = (
    b"",
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\x80",
    b'"',
    b"'",
    b",",
    b"\t",
    b"\n",
    b"\r",
    b"{",
    b"}",
    b"[",
    b"]",
    b"[" * 3000,
    b'{"a":' * 3000,
    b":",
    b"null",
    b"NaN",
    b"Infinity",
    b"-1",
    b"1e999",
    b"9" * 5000,
    b"9223372036854775808",
    b"<",
    b">",
    b"<!DOCTYPE a [<!ENTITY b 'c'>]>",
    b"<?xml version='1.0' encoding='utf-7'?>",
    b"encoding='hex'",
    b"&b;",
    b"\x1f\x8b",
    b"PK\x03\x04",
    b"PAR1",
    b".",
    b"c",
    b"R",
    b"(",
    b"N.",
    b"]" * 2000,
    b"x" * 140_000,
)

words = st.sampled_from(CELLS) | st.text(max_size=12)
numbers = (
    st.integers(-3, 5)
    | st.sampled_from([2**31, 2**63, -(2**63) - 1, 10**30, 10**400])
    | st.floats()
    | st.sampled_from([0.5, 1.0, 1e308, -0.0])
)
scalars = st.none() | st.booleans() | numbers | words
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
"""Any value that JSON could hold, and some that it could not."""


@st.composite
def damaged(draw, files):
    """Return one of some files (bytes) with a few edits."""
    content = draw(st.sampled_from(files))
    for _ in range(draw(st.integers(0, 5))):
        start = draw(st.integers(0, max(len(content), 1)))
        length = draw(st.integers(0, 6) | st.integers(0, len(content)))
        kind = draw(st.sampled_from(["insert", "replace", "delete", "truncate", "repeat", "byte"]))
        if kind == "truncate":
            content = content[:start]
        elif kind == "repeat":
            content = content[: start + length] + content[start:]
        elif kind == "byte":
            content = content[:start] + bytes([draw(st.integers(0, 255))]) + content[start + 1 :]
        else:
            token = (
                b"" if kind == "delete" else draw(st.sampled_from(TOKENS) | st.binary(max_size=4))
            )
            content = (
                content[:start] + token + content[start + (0 if kind == "insert" else length) :]
            )
    return content


def _places(value, path=()):
    yield path
    for key, inner in (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    ):
        yield from _places(inner, (*path, key))


@st.composite
def altered(draw, examples):
    """Return one of some values of JSON in which a few parts are removed, repeated or something else."""
    value = json.loads(json.dumps(draw(st.sampled_from(examples))))
    for _ in range(draw(st.integers(0, 3))):
        path = draw(st.sampled_from(list(_places(value))))
        if not path:
            continue
        holder = value
        for key in path[:-1]:
            holder = holder[key]
        kind = draw(st.sampled_from(["other", "other", "delete", "add"]))
        if kind == "delete":
            del holder[path[-1]]
        elif kind == "add" and isinstance(holder, list):
            holder.append(draw(values))
        elif kind == "add":
            holder[draw(words)] = draw(values)
        else:
            holder[path[-1]] = draw(values)
    return value


def as_json(value) -> bytes:
    """Write a value as JSON, also one that JSON has not."""
    return json.dumps(value, default=str).encode("utf-8", "surrogatepass")
