"""Reads the files of the COPA family: XML, an archive of it, or CSV. None of them is trusted."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from datasets.utils.file_utils import xopen
from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from rightreasons.data.builders.sources import members
from rightreasons.foundations.label_names import listed
from rightreasons.foundations.sentences import checks_kinds

Row = dict[str, Any]

MAX_BYTES = 1 << 24
"""The maximum size of a file or of the content of an archive: 16 MiB; the published ones have 0.2 MB."""

QUESTIONS = ("cause", "effect")

_MAX_ID_DIGITS = 18
_DTD = "copa.dtd"
_ARCHIVES = (b"BZh", b"\x1f\x8b", b"PK\x03\x04")
_COLUMNS = ("id", "premise", "question", "choice1", "choice2", "label")


@checks_kinds
def read_items(file: str, member: str) -> list[Row]:
    """Read the items of one file; its first bytes determine its format.

    Args:
        file: A path, or an address on the hub.
        member: The name of the XML file in `file` where that is an archive.

    Returns:
        Items in the file's order: id, premise, question ("cause" or "effect"), choice1, choice2, and label (0 or 1).

    Raises:
        ValueError: If the file is hostile or damaged, or contains an invalid item.
    """
    with xopen(file, "rb") as stream:
        content = stream.read(MAX_BYTES + 1)
    if content.startswith(_ARCHIVES):
        content, file = _from_archive(file, member), f"{member} in {file}"
    if len(content) > MAX_BYTES:
        raise ValueError(f"Expected at most {MAX_BYTES} bytes in {file}, but it is larger.")
    content = content.removeprefix(b"\xef\xbb\xbf")
    rows = list(_from_xml(content, file) if content.lstrip().startswith(b"<") else _from_csv(content, file))
    seen: set[int] = set()
    for row in rows:
        if row["id"] in seen:
            raise ValueError(f"Expected each item once in {file}, but id {row['id']} comes again.")
        seen.add(row["id"])
    return rows


def parse_xml(content: bytes, where: str) -> Element:
    """Parse untrusted XML: no entity is declared or resolved, and no other file is read.

    The published files name their grammar (`<!DOCTYPE copa-corpus SYSTEM "copa.dtd">`). That name is allowed and never
    resolved; any other is refused.

    Raises:
        ValueError: If the document declares an entity, refers to another file, or is not well formed.
    """
    parser = _CopaParser(forbid_dtd=True, forbid_entities=True, forbid_external=True)
    try:
        parser.feed(content)
        root: Element = parser.close()
    except DefusedXmlException as error:
        raise ValueError(f"Expected no XML entities in {where}, but it declares or refers to one ({error}).") from None
    except ParseError as error:
        raise ValueError(f"Expected well-formed XML in {where}, but it is broken: {error}.") from None
    except (LookupError, ValueError) as error:
        if isinstance(error, _PointsOutsideError):
            raise
        raise ValueError(f"Expected XML in UTF-8 in {where}, but it declares an unreadable encoding.") from None
    return root


class _PointsOutsideError(ValueError):
    """A document type that another file declares."""


class _CopaParser(DefusedXMLParser):  # type: ignore[misc]
    def defused_start_doctype_decl(self, name: str, sysid: str | None, pubid: str | None, has_internal: bool) -> None:
        if pubid is not None or sysid not in (None, _DTD):
            raise _PointsOutsideError(
                f"Expected the document type to name {_DTD!r} or nothing, but it points outside, to {sysid or pubid!r}."
            )


# ------------------------------------------------------------------------------------------------------------- private


def _from_archive(file: str, member: str) -> bytes:
    # Apple's archiver leaves a shadow "._name" beside each file, so the whole name must match.
    bodies = [body for name, body in members(file, max_bytes=MAX_BYTES) if PurePosixPath(name).name == member]
    if len(bodies) != 1:
        raise ValueError(f"Expected one file {member!r} in the archive {file}, but it holds {len(bodies)}.")
    return bodies[0]


def _from_xml(content: bytes, where: str) -> Iterator[Row]:
    root = parse_xml(content, where)
    if root.tag != "copa-corpus":
        raise ValueError(f"Expected the root element <copa-corpus> in {where}, but it is <{root.tag}>.")
    for number, item in enumerate(root):
        if item.tag != "item":
            raise ValueError(f"Expected elements <item> in {where}, but element {number} is <{item.tag}>.")
        key = item.get("id")
        texts = {tag: [element.text or "" for element in item.findall(tag)] for tag in ("p", "a1", "a2")}
        for tag, contents in texts.items():
            if len(contents) != 1:
                raise ValueError(f"Expected one <{tag}> in item {key} of {where}, but it has {len(contents)}.")
        right = item.get("most-plausible-alternative")
        if right not in ("1", "2"):
            raise ValueError(
                f"Expected most-plausible-alternative of item {key} in {where} to be 1 or 2, but it is {right!r}."
            )
        yield _row(key, texts["p"][0], item.get("asks-for"), texts["a1"][0], texts["a2"][0], int(right) - 1, where)


def _from_csv(content: bytes, where: str) -> Iterator[Row]:
    try:
        reader = csv.DictReader(io.StringIO(content.decode("utf-8"), newline=""), strict=True)
        rows = list(reader)
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"Expected XML or CSV in {where}, but it is neither: {error}.") from None
    missing = [name for name in _COLUMNS if name not in (reader.fieldnames or ())]
    if missing:
        raise ValueError(
            f"Expected the columns {', '.join(_COLUMNS)} in {where}, but {', '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} missing; it has {listed(reader.fieldnames or ())}."
        )
    for row in rows:
        if row["label"] not in ("0", "1"):
            raise ValueError(
                f"Expected the label of item {row['id']} in {where} to be 0 or 1 (choices count from 0 here), "
                f"but it is {row['label']!r}."
            )
        yield _row(row["id"], row["premise"], row["question"], row["choice1"], row["choice2"], int(row["label"]), where)


def _row(
    key: str | None,
    premise: str | None,
    question: str | None,
    choice1: str | None,
    choice2: str | None,
    label: int,
    where: str,
) -> Row:
    if key is None or not key.isascii() or not key.isdigit() or len(key) > _MAX_ID_DIGITS:
        raise ValueError(
            f"Expected each item's id in {where} to be a whole number of at most {_MAX_ID_DIGITS} digits, but got "
            f"{key if key is None else key[:40]!r}."
        )
    if question not in QUESTIONS:
        raise ValueError(
            f"Expected item {key} in {where} to ask for a cause or an effect, but it asks for {question!r}."
        )
    # Item 1129 begins an alternative with a space.
    texts = {name: (text or "").strip() for name, text in (("p", premise), ("a1", choice1), ("a2", choice2))}
    for name, text in texts.items():
        if not text:
            raise ValueError(f"Expected words in each text of {where}, but {name!r} of item {key} has none.")
    if texts["a1"] == texts["a2"]:
        raise ValueError(f"Expected two different alternatives in item {key} of {where}, but they are the same.")
    return {
        "id": int(key),
        "premise": texts["p"],
        "question": question,
        "choice1": texts["a1"],
        "choice2": texts["a2"],
        "label": label,
    }
