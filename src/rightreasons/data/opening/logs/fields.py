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

UNREAD = "answer_unread"
"""The column that says which samples hold no answer that can be read; not there where all do."""

_TOLD = frozenset((*EXPORTED, "id", "number", "task", "text", "text_pair", "turns"))
"""Fields of such a document that are columns of their own, or none."""


def is_exported(document: Any) -> bool:
    """Tell whether a document, or the metadata of a sample, is a request that `rightreasons data export` wrote."""
    return isinstance(document, Mapping) and document.keys() >= {"id", *EXPORTED}


def exported_columns(
    documents: Sequence[Mapping[str, Any]], logits: Sequence[Sequence[float]] | None, where: str
) -> dict[str, list[Any]]:
    """Return the columns of requests that `rightreasons data export` wrote.

    Args:
        documents: The requests.
        logits: A row of scores for each, one per option; None where only answers are known.
        where: The name of the file, for errors.

    Raises:
        ValueError: If requests are of different tasks, or a request is not as it was written.

    Example:
        >>> row = {"id": "a", "asked": "items", "prompt": "Fun.", "choices": ["bad", "good"], "options": ["A", "B"]}
        >>> row |= {"label": 1, "task": "classification", "text_pair": None, "pair_id": "p"}
        >>> exported_columns([row], [[-2.0, -1.0]], "samples.jsonl")
        {'id': ['a'], 'text': ['Fun.'], 'label': ['good'], 'logit_bad': [-2.0], 'logit_good': [-1.0], 'pair_id': ['p']}
    """
    first = documents[0]
    tasks = {str(one.get("task", "multiple_choice")) for one in documents}
    if len(tasks) > 1:
        raise ValueError(f"Expected requests of one task in {where}, but it has those of {listed(sorted(tasks))}.")
    for place, one in enumerate(documents):
        label, choices, options = one["label"], one["choices"], one["options"]
        n_choices = len(choices) if isinstance(choices, list) and isinstance(options, list) else 0
        if not n_choices or len(options) != n_choices or not (isinstance(label, int) and -1 <= label < n_choices):
            raise ValueError(
                f"Expected the requests of {where} as they were written, but that of {str(one['id'])[:40]!r} has the "
                f"choices {str(choices)[:40]} and the label {str(label)[:40]}."
            )
        if logits is not None and len(logits[place]) != n_choices:
            raise ValueError(
                f"Expected a score for each of {n_choices} choices in {where}, but {str(one['id'])[:40]!r} has "
                f"{len(logits[place])}."
            )
    columns: dict[str, list[Any]] = {"id": [str(one["id"]) for one in documents]}
    if tasks == {"classification"}:
        names = [str(name) for name in first["choices"]]
        if any(one["choices"] != first["choices"] for one in documents):
            raise ValueError(f"Expected the same classes in every request of {where}, but they differ.")
        columns["text"] = [one["prompt"] for one in documents]
        if any(one.get("text_pair") is not None for one in documents):
            columns["text_pair"] = [one.get("text_pair") for one in documents]
        columns["label"] = [names[one["label"]] if one["label"] >= 0 else None for one in documents]
        for place, name in enumerate(names if logits is not None else ()):
            columns[f"logit_{name}"] = [row[place] for row in logits or ()]
    else:
        columns |= {name: [one[name] for one in documents] for name in EXPORTED}
        if logits is not None:
            columns["logits"] = [list(row) for row in logits]
    further = [name for name in first if name not in _TOLD and name not in columns]
    return columns | {
        name: [one[name] for one in documents] for name in further if all(name in one for one in documents)
    }


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
