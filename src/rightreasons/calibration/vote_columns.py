"""Reading of the votes of annotators from the columns of the audited data.

`measure_votes` is the entry point: it compares the model with the votes of the primary split.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from rightreasons.audited.context import AuditContext
from rightreasons.calibration.human import HumanCalibration, human_calibration
from rightreasons.calibration.options import CalibrationOptions
from rightreasons.core.arrays import Floats, Ragged
from rightreasons.core.errors import OptionError, make_unknown_name_error
from rightreasons.core.json_files import parse_json
from rightreasons.core.labels.matching import match_columns
from rightreasons.core.options import parse_names
from rightreasons.core.sentences import format_list
from rightreasons.core.validation import check_scores, softmax


def measure_votes(context: AuditContext, options: CalibrationOptions) -> HumanCalibration | None:
    """Compare the scores of the primary split with the votes of annotators.

    Args:
        context: The audit.
        options: Columns and kind of the votes.

    Returns:
        The comparison; None if the options name no columns of votes.

    Raises:
        ValueError: If the votes are about other classes than the scores, or the classes differ
            between items.
    """
    if options.votes_columns is None:
        return None
    scores = context.scores()
    if scores.kind == "confidence" or isinstance(scores.logits, Ragged):
        raise OptionError(
            "Expected the same classes in all items for `votes_columns`, but the classes of "
            f"items of {context.primary.name!r} differ.",
            option="votes_columns",
        )
    votes = read_votes(context, parse_names(options.votes_columns) or [])
    # Stored probabilities are more exact than a softmax of rounded logits.
    exact = scores.probabilities
    if exact is None or isinstance(exact, Ragged):
        probabilities = softmax(scores.logits)
    else:
        probabilities = check_scores(exact)
    return human_calibration(
        probabilities, votes, votes=options.votes, resampling=context.resampling
    )


def read_votes(context: AuditContext, headings: Sequence[str]) -> Floats:
    """Read the votes of annotators on the items of the primary split.

    Args:
        context: The audit.
        headings: Either one column whose cells are lists of K votes, in the order of the classes of
            the model, or one column per class, which are matched with the classes by their names.

    Returns:
        (N, K) votes, in the order of the classes of the model.

    Raises:
        OptionError: If there are no headings, or the split does not have one of the columns.
    """
    if not headings:
        raise OptionError(
            "Expected comma-separated names of columns in `votes_columns`, but got none.",
            option="votes_columns",
        )
    split = context.primary
    for heading in headings:
        if heading not in split.data.column_names:
            raise make_unknown_name_error(
                f"column of {split.name} in `votes_columns`", heading, split.data.column_names
            )
    columns = []
    for heading in headings:
        columns.append(_parse_numbers(split.data[heading][:], heading))
    # A single column has lists of votes in the order of the classes.
    if len(columns) == 1:
        return columns[0]

    votes = np.column_stack(columns)
    class_names = context.label_names
    if class_names is None or list(class_names) == [str(k) for k in range(len(class_names))]:
        # Classes without names, or with numbers as names, are not matched with headings. The columns
        # have to be in the order of the classes.
        return votes
    column_of_class = match_columns(
        _remove_common_prefix(headings),
        class_names,
        source=f"the columns {format_list(headings)}",
        target=context.source.name,
    )
    return np.asarray(votes[:, column_of_class])


def _remove_common_prefix(headings: Sequence[str]) -> list[str]:
    """Return the part of each heading that names the class, such as "yes" of "votes_yes".

    Example:
        >>> _remove_common_prefix(["votes_no", "votes_not_sure"])
        ['no', 'not_sure']
    """
    prefix = os.path.commonprefix(headings)  # noqa: RUF071 - headings, not paths
    # Names may begin alike ("no", "not sure"), so that the prefix ends at its last separator.
    start = max(prefix.rfind(separator) for separator in "_:. -") + 1
    return [heading[start:] for heading in headings]


def _parse_numbers(column: Sequence[Any], heading: str) -> Floats:
    """Parse a column of votes: (N,) if its cells are numbers, (N, K) if they are lists of K numbers.

    Args:
        column: N cells: numbers, lists of numbers, or strings such as "3" and "[1, 2]".
        heading: Heading of the column, for the message.

    Raises:
        ValueError: If a cell is neither, or the lists differ in length.
    """
    try:
        cells = []
        for cell in column:
            # In a csv file, a list is stored as a string such as "[1, 2]".
            if isinstance(cell, str) and cell.startswith("["):
                cell = parse_json(cell, heading)
            cells.append(cell)
        return np.asarray(cells, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"Expected votes in each item of the column {heading!r}, as numbers or as lists of "
            "one length."
        ) from None
