"""Where a language model's confidence comes from: sources of it that the model is asked for, on the same answers."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.context import AuditContext
from rightreasons.audited.predictions import safe_name
from rightreasons.calibration.measure import VotesMeasurement, measure_votes
from rightreasons.calibration.options import CalibrationOptions
from rightreasons.core.arrays import Ragged
from rightreasons.core.errors import OptionError, unknown_name
from rightreasons.core.label_names import MatchTerms, listing, match_labels
from rightreasons.core.options import listed as listed_names
from rightreasons.core.validation import check_scores, parse_json, softmax

if TYPE_CHECKING:
    from rightreasons.calibration.elicit import ConfidenceMeasurement, Elicited


def votes_measured(context: AuditContext, options: CalibrationOptions) -> VotesMeasurement | None:
    """Compare the primary split with the votes that the options name; None where they name none.

    Raises:
        ValueError: If the votes are of other classes than the scores, or the items have no classes in common.
    """
    if options.votes_columns is None:
        return None
    split, scores = context.primary, context.scores()
    if scores.kind == "confidence" or isinstance(scores.logits, Ragged):
        raise OptionError(
            f"Expected the same classes in all items for `votes_columns`, but {split.name!r} has "
            f"{'the confidence in given answers' if scores.kind == 'confidence' else 'choices of different numbers'}.",
            option="votes_columns",
        )
    votes = _votes(context, listed_names(options.votes_columns) or [])
    exact = scores.probabilities
    table = softmax(scores.logits) if exact is None or isinstance(exact, Ragged) else check_scores(exact)
    return measure_votes(table, votes, split.labels, kind=options.votes, resampling=context.resampling)


# ------------------------------------------------------------------------------------------------------------- private


def _votes(context: AuditContext, columns: list[str]) -> NDArray[np.float64]:
    """Return the votes in the order of the model's classes."""
    split = context.primary
    known = split.data.column_names
    for name in columns:
        if name not in known:
            raise unknown_name(f"column of {split.name} in `votes_columns`", name, known)
    if len(columns) == 1:
        return _numbers(split.data[columns[0]][:], columns[0])
    if not columns:
        raise OptionError(
            "Expected comma-separated names of columns in `votes_columns`, but got none.", option="votes_columns"
        )
    table = np.column_stack([_numbers(split.data[name][:], name) for name in columns])
    classes = context.label_names
    if classes is None or list(classes) == [str(number) for number in range(len(classes))]:
        return table
    match = match_labels(
        _classes_in(columns), classes, terms=MatchTerms(f"the columns {listing(columns)}", context.model_name)
    )
    if sorted(match.class_of.tolist()) != list(range(len(classes))):
        raise ValueError(
            f"Expected a column of votes for each of the classes {listing(classes)}, but got {listing(columns)}."
        )
    return np.asarray(table[:, np.argsort(match.class_of)])


def _numbers(column: list[Any], name: str) -> NDArray[np.float64]:
    """Return numbers or rows of numbers; the cells of a csv file are texts."""
    try:
        cells = [parse_json(cell, name) if isinstance(cell, str) and cell[:1] == "[" else cell for cell in column]
        return np.asarray(cells, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"Expected votes in each item of the column {name!r}: numbers, or lists of one length."
        ) from None


def _classes_in(columns: list[str]) -> list[str]:
    """Return what the names of columns differ in: "votes_yes" and "votes_no" name yes and no."""
    shared = 0
    while len({name[: shared + 1] for name in columns}) == 1 and shared < min(map(len, columns)):
        shared += 1
    separators = [position + 1 for position, sign in enumerate(columns[0][:shared]) if sign in "_:. -"]
    return [name[separators[-1] if separators else 0 :] for name in columns]


MIN_CONFIDENT = 10
"""A source that gives fewer answers a confidence than this is named, and compared with none."""


@dataclasses.dataclass(frozen=True, eq=False)
class ElicitedItems:
    """What the model said of its confidence, and the comparison of the sources.

    Attributes:
        elicited: What was asked and said.
        measured: The sources with enough confidences, compared; None where there is none.
        rare: Source -> how many answers have a confidence, of those that have too few.
        lacking: Source -> why the model cannot be asked for it.
        n_items: How many items were asked about.
    """

    elicited: Elicited
    measured: ConfidenceMeasurement | None
    rare: dict[str, int]
    lacking: dict[str, str]
    n_items: int


def elicited_items(context: AuditContext, options: CalibrationOptions) -> ElicitedItems | None:
    """Ask the model for the sources of confidence that the options name; None where they name none.

    Raises:
        ValueError: If the model is no prompted language model, or cannot be asked for any source.
    """
    if not options.elicit:
        return None
    if context.prompted is None:
        raise ValueError(f"Expected a language model to ask how sure it is, but {context.model_name} is none.")
    from rightreasons.calibration.elicit import elicit_confidence, lacking_sources, measure_confidence
    from rightreasons.calibration.options import ElicitOptions

    split = context.primary
    items = split.take(np.flatnonzero(split.labeled))
    columns = {"prompt": items.texts, "choices": items.choices} if items.choices is not None else {"text": items.texts}
    if items.text_pairs is not None:
        columns["text_pair"] = items.text_pairs
    first = () if context.prompted.answers_once else ("probability",)
    sources = (*first, *(name for name in dict.fromkeys(options.elicit) if name not in first))
    asked = ElicitOptions(sources=sources, seed=context.seed)
    lacking = lacking_sources(context.prompted, asked)
    if len(lacking) == len(sources):
        raise ValueError(" ".join(lacking.values()))
    elicited = elicit_confidence(
        context.prompted,
        {"id": items.ids, "label": items.labels.tolist(), **columns},
        options=asked.replaced(sources=tuple(name for name in sources if name not in lacking)),
        progress=context.progress,
        out=context.folder(f"confidence-{safe_name(split.name)}", split.fingerprint, str(context.seed)),
    )
    table = elicited.table
    counts = {
        name: int((np.isfinite(values) & (table.correct[name] >= 0)).sum()) for name, values in table.confidence.items()
    }
    known = [name for name, count in counts.items() if count >= MIN_CONFIDENT]
    enough = dataclasses.replace(
        table,
        confidence={name: table.confidence[name] for name in known},
        correct={name: table.correct[name] for name in known},
    )
    return ElicitedItems(
        elicited=elicited,
        measured=measure_confidence(enough, options=options, resampling=context.resampling) if known else None,
        rare={name: count for name, count in counts.items() if name not in known},
        lacking=lacking,
        n_items=len(items),
    )
