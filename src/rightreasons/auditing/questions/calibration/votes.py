"""Where people disagree: the model's probabilities beside their votes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.auditing.context import AuditContext
from rightreasons.auditing.page import parts as p
from rightreasons.auditing.page.words import decimal, level_percent, percent
from rightreasons.foundations.bounds import parse_json
from rightreasons.foundations.label_names import listed, match_labels
from rightreasons.foundations.numeric import softmax
from rightreasons.foundations.options import listed as listed_names
from rightreasons.foundations.ragged import Ragged
from rightreasons.foundations.sentences import counted
from rightreasons.foundations.validation import check_scores, unknown_name
from rightreasons.measuring.options import CalibrationOptions
from rightreasons.measuring.votes import VOTE_FIGURES, VotesMeasurement, measure_votes

LOW_MAJORITY = 0.6
"""Below this share of labels with the most votes, the report asks whether the votes are in the order of the classes."""

FEW_VOTES = 20
"""With fewer votes per item than this, the report says that the votes themselves are coarse."""


def votes_measured(context: AuditContext, options: CalibrationOptions) -> VotesMeasurement | None:
    """Compare the primary split with the votes that the options name; None where they name none.

    Raises:
        ValueError: If the votes are of other classes than the scores, or the items have no classes in common.
    """
    if options.votes_columns is None:
        return None
    split, scores = context.primary, context.scores()
    if scores.kind == "confidence" or isinstance(scores.logits, Ragged):
        raise ValueError(
            f"Expected the same classes in all items for `votes_columns`, but {split.name!r} has "
            f"{'the confidence in given answers' if scores.kind == 'confidence' else 'choices of different numbers'}."
        )
    votes = _votes(context, listed_names(options.votes_columns) or [])
    exact = scores.probabilities
    table = softmax(scores.logits) if exact is None or isinstance(exact, Ragged) else check_scores(exact)
    return measure_votes(table, votes, split.labels, kind=options.votes, resampling=context.resampling)


def votes_part(context: AuditContext, measured: VotesMeasurement) -> p.Part:
    """Show the figures, and what the votes are."""
    result, split = measured.result, context.primary.name
    figures = [
        p.Headline.of(key, text, measured.figures[key], split=split, n=result.n_items)
        for key, text in VOTE_FIGURES.items()
    ]
    gap = decimal(abs(result.entropy_gap))
    surer = f"{'surer' if result.entropy_gap < 0 else 'less sure'} than people by {gap} nats of entropy"
    text = (
        "Where people disagree there is no one right answer, and calibration to a label says little. On average the "
        f"probabilities are {percent(result.dist_ce)} away from the shares of the votes. The model is "
        f"{surer if float(result.entropy_gap) else 'as sure as people'}, and ranks the classes as they do in "
        f"{percent(result.rank_cs)} of the items."
    )
    if result.dist_ce_if_calibrated is not None and result.n_votes is not None:
        each = result.n_votes / result.n_items
        text += (
            f" There are {result.n_votes:,} votes, {each:,.1f} per item: if they were drawn from the model's own "
            f"probabilities, the distance would still be {percent(result.dist_ce_if_calibrated)}."
        )
        if each < FEW_VOTES:
            text += " So few votes are a coarse picture of what people think."
    if measured.majority is not None:
        text += f"\n\nThe label has the most votes in {percent(measured.majority)} of the labeled items"
        low = measured.majority < LOW_MAJORITY
        text += ": see whether the columns of the votes are in the order of the classes." if low else "."
    names = context.label_names or tuple(f"choice {k + 1}" for k in range(len(measured.shares)))
    table = p.Table(
        key="votes",
        title="The votes by class",
        columns=(
            p.Column("label", "Class", "text"),
            p.Column("share", "Share of the votes", "share", "Of all votes; of distributions, their mean."),
        ),
        rows=tuple(zip(names, (float(share) for share in measured.shares), strict=True)),
        note=f"On {counted(result.n_items, 'item')} of “{split}”. Intervals above: "
        f"{level_percent(context.resampling.level)}, "
        "bootstrap over items; Wilson for RankCS.",
        source="Counted",
    )
    return p.Part(title="Where people disagree", text=text, headlines=tuple(figures), tables=(table,))


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
        raise ValueError("Expected comma-separated names of columns in `votes_columns`, but got none.")
    table = np.column_stack([_numbers(split.data[name][:], name) for name in columns])
    classes = context.label_names
    if classes is None or list(classes) == [str(number) for number in range(len(classes))]:
        return table
    match = match_labels(
        _classes_in(columns), classes, where=f"the columns {listed(columns)}", classes_of=context.model_name
    )
    if sorted(match.class_of.tolist()) != list(range(len(classes))):
        raise ValueError(
            f"Expected a column of votes for each of the classes {listed(classes)}, but got {listed(columns)}."
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
