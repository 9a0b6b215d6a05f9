"""The probes of a language model with and without its chat template."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis.intervals import mcnemar
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.results import Result
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.measuring.estimates import Estimate, share
from rightreasons.measuring.probes import ORIGINAL, WITHOUT_QUESTION, ProbeTables

ASKED = (ORIGINAL, *WITHOUT_QUESTION)
"""The tables that are asked in both ways."""


@dataclasses.dataclass(frozen=True)
class BothWays(Result):
    """What is picked under one probe, with the chat template and without it.

    Attributes:
        n_items: Items with an answer in both ways.
        with_template: Share of them of which the right choice is picked; without the question, the one that was right.
        without: The same without the template.
        difference: With minus without, in [-1, 1].
        p_value: Exact McNemar test of no difference.
    """

    n_items: int
    with_template: Estimate | None
    without: Estimate | None
    difference: float | None
    p_value: float | None


@dataclasses.dataclass(frozen=True)
class TemplateFigures(Result):
    """The probes with and without a chat template; see `measure_templates`.

    Attributes:
        probes: "original", "no_question" and "wrong_question" -> what is picked.
        agreement: Share of the unchanged items whose picked choice is the same in both ways; None without an item.
    """

    probes: Mapping[str, BothWays]
    agreement: Estimate | None


def template_tables(tables: ProbeTables) -> ProbeTables:
    """Return the tables that are asked in both ways."""
    return ProbeTables({name: tables.tables[name] for name in ASKED}, (), tables.n_dropped)


@checks_kinds
def measure_templates(
    tables: ProbeTables,
    with_template: Mapping[str, NDArray[np.int64]],
    without: Mapping[str, NDArray[np.int64]],
    *,
    resampling: Resampling = Resampling(),
) -> TemplateFigures:
    """Compare what a model picks with its chat template and without it, item by item.

    Args:
        tables: From `probe_tables`.
        with_template: Name of each table of `template_tables` -> (N,) picked choices, -1 for no answer.
        without: The same without the template.
        resampling: Level of the intervals.

    Returns:
        A `TemplateFigures`.
    """
    figures = {}
    for name in ASKED:
        column = "label" if name == ORIGINAL else "pseudo_label"
        wanted = np.asarray(tables.tables[name][column][:], dtype=np.int64)
        both = (with_template[name] >= 0) & (without[name] >= 0)
        one, two = ((picks == wanted)[both] for picks in (with_template[name], without[name]))
        n, test = int(both.sum()), mcnemar(one, two) if both.any() else None
        figures[name] = BothWays(
            n,
            share(int(one.sum()), n, resampling),
            share(int(two.sum()), n, resampling),
            None if test is None else test.difference,
            None if test is None else test.p_value,
        )
    both = (with_template[ORIGINAL] >= 0) & (without[ORIGINAL] >= 0)
    same = int((with_template[ORIGINAL] == without[ORIGINAL])[both].sum())
    return TemplateFigures(figures, share(same, int(both.sum()), resampling))
