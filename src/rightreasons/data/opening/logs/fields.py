"""What the logs of all harnesses share: the fields of an item beside its answers, and whose answers are meant."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rightreasons.foundations.label_names import listed
from rightreasons.foundations.validation import unknown_name

LINKS = ("pair_id", "source_id", "role", "is_original", "mirrored")
"""Fields of a document that keep their names, since they say which items belong together."""

EXPORTED = ("asked", "prompt", "choices", "options", "label")
"""Fields of a document that `rightreasons data export` wrote: they come back as they were."""


def is_exported(document: Any) -> bool:
    """Tell whether a document, or the metadata of a sample, is a request that `rightreasons data export` wrote."""
    return isinstance(document, dict) and document.keys() >= {"id", "text", *EXPORTED}


def field_columns(documents: Sequence[Mapping[str, Any]], taken: Collection[str]) -> dict[str, list[Any]]:
    """Return the fields that all items have as columns, `doc.<name>` or a name of `LINKS`, where these are not taken.

    Example:
        >>> field_columns([{"level": 3, "pair_id": "p"}], {"id"})
        {'doc.level': [3], 'pair_id': ['p']}
    """
    columns = {name: name if name in LINKS else f"doc.{name}" for name in documents[0]}
    return {
        column: [document[name] for document in documents]
        for name, column in columns.items()
        if column not in taken and all(name in document for document in documents)
    }


def one_source(kind: str, names: Collection[str], chosen: str | None, where: str) -> str:
    """Return the filter or scorer whose answers are meant: the one that is named, or the only one.

    Raises:
        ValueError: If there are several and none is named, or the one named is not there.
    """
    known = sorted(names)
    if chosen is None and len(known) > 1:
        raise ValueError(
            f"Expected the answers of one {kind} in {where}, but it has those of {listed(known)}; name one with "
            "`log_filter`."
        )
    if chosen is not None and chosen not in known:
        raise unknown_name(f"{kind} of {where}", chosen, known)
    return chosen or known[0]
