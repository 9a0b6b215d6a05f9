"""Measurement of the question about answer priors: changed items, and orders of the choices.

`measure` asks the model of an audit and returns a `ProbesMeasurement`; `decide_figures` compares its
figures with their margins, at one level for all of them together.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.context import AuditContext
from rightreasons.audited.logged_arms import LoggedArms
from rightreasons.audited.scoring import reuse_scores
from rightreasons.core.clusters import count_units, select_clusters
from rightreasons.core.decisions import MARGINS, Decision, Power, decide_above
from rightreasons.core.estimates import Estimate, estimate_rate, make_estimate
from rightreasons.core.resampling import Resampling
from rightreasons.datasets.perturbing.orders import describe_choice_orders, list_choice_orders
from rightreasons.datasets.perturbing.probes import ORIGINAL
from rightreasons.page.formats import describe_range, describe_unscored_items
from rightreasons.probes.measure import (
    WITHOUT_ANSWER,
    WITHOUT_QUESTION,
    OrderedAnswers,
    OrderFigures,
    ProbeFigures,
    ProbeTables,
    Score,
    collect_logged_tables,
    count_spare_choices,
    measure_probes,
    pick_choices,
    pick_in_orders,
    probe_tables,
    score_in_orders,
    summarize_orders,
)
from rightreasons.probes.options import ProbesOptions
from rightreasons.probes.paralysis import ChoiceParalysis, Drop
from rightreasons.probes.reading import Reading

Hits = tuple[NDArray[np.bool_], Any]

POWER = Power("kept", n_tests=5)
"""Differences that a number of items can detect."""

NAMES = {
    ORIGINAL: "Unchanged",
    "no_question": "No question",
    "wrong_question": "Wrong question",
    "no_right_answer": "No correct answer",
}
"""Names of the tables for readers."""


def decide_figures(
    tables: ProbeTables,
    picked: Mapping[str, NDArray[np.int64]],
    *,
    steady: Hits | None = None,
    joint: bool = False,
    resampling: Resampling,
) -> dict[str, Decision]:
    """Decide which figures of the probes are small or large, at one level for all of them together.

    Args:
        tables: Items under every probe, with their scores if choices are scored.
        picked: Name of the table -> (N,) picked choices, -1 for no answer.
        steady: Whether each item keeps its answer under every order of the choices, and the
            clusters of these items. None if no orders were scored.
        joint: Whether choices are scored together, so that added ones may change the other scores.
        resampling: Confidence level of the verdict.

    Returns:
        Decisions by name, as far as they can be made: "kept_" and the name of each probe that removes
        the question (share of answers that stay beyond chance), "unasked" (accuracy without the
        question above guessing), "lost" (accuracy lost without it), "paralysis" (confidence lost to
        added choices) and "order" (share of answers that change with the order).
    """
    # The level is corrected for the tests that can make the verdict worse: "kept" of each probe,
    # "unasked", "paralysis" and "order". "lost" only explains why a model knows the answers.
    n_tests = len(WITHOUT_QUESTION) + 1
    if joint:
        n_tests += 1
    if steady is not None:
        n_tests += 1
    corrected = resampling.correct_for_tests(n_tests)
    decided: dict[str, Decision] = {}
    for name, reading in tables.compare_readings(picked, corrected).items():
        sizes = (reading.n_items, reading.n_units)
        decided[f"kept_{name}"] = decide_above(reading.beyond_chance, MARGINS["kept"], *sizes)
        if name == "no_question":
            decided["unasked"] = decide_above(reading.excess, MARGINS["accuracy"], *sizes)
            decided["lost"] = decide_above(reading.accuracy_loss, MARGINS["accuracy"], *sizes)
    if joint:
        # The largest number of added choices has the largest effect, if there is any.
        drop = tables.measure_paralysis(max(tables.ks), corrected).restricted_drop
        decided["paralysis"] = decide_above(
            drop.estimate, MARGINS["paralysis"], len(tables), tables.n_units
        )
    if steady is not None:
        is_steady, units = steady
        changed = estimate_rate(~is_steady, corrected, units)
        n_items = len(is_steady)
        decided["order"] = decide_above(
            changed, MARGINS["order"], n_items, count_units(units, n_items)
        )
    return decided


@dataclasses.dataclass(frozen=True, eq=False)
class ProbesMeasurement:
    """Probed items of an audit, with the figures and decisions of their answers.

    Attributes:
        context: The audit.
        tables: Items under every probe, with scores if the model returns them.
        picked: Name of the table -> (N,) picked choices, -1 for no answer.
        decided: Decisions by name, from `decide_figures`.
        reading: Probe that removes the question -> the answers with and without it; {} if no item has
            an answer.
        scored: Prior bias and choice paralysis. None for generated answers.
        orders: Effect of the order of scored choices. None for a scorer that sees one choice at a
            time.
        steady: Which of the items with an answer under every order keep it, and their clusters. None
            if no orders were asked.
        joint: Whether choices are scored together.
        left_out: Numbers of added choices for which the data has too few.
        ordered: Answers under every order, of which `steady` is the summary.
    """

    context: AuditContext
    tables: ProbeTables
    picked: Mapping[str, NDArray[np.int64]]
    decided: Mapping[str, Decision]
    reading: Mapping[str, Reading]
    scored: ProbeFigures | None = None
    orders: OrderFigures | None = None
    steady: Hits | None = None
    joint: bool = False
    left_out: tuple[int, ...] = ()
    ordered: OrderedAnswers | None = None

    @property
    def n_items(self) -> int:
        """Number of probed items."""
        return len(self.tables)

    @property
    def k(self) -> int:
        """Largest number of added choices."""
        if self.scored is None:
            return 0
        return max(self.scored.paralysis)

    @property
    def effect(self) -> ChoiceParalysis:
        """Effect of the most added choices on the confidence."""
        if self.scored is None:
            raise ValueError("Expected the scores of choices, but got none.")
        return self.scored.paralysis[self.k]

    @property
    def spread(self) -> Estimate | None:
        """Spread of recall over the position of the correct choice."""
        if self.scored is None or self.scored.position_bias is None:
            return None
        bias = self.scored.position_bias
        return make_estimate(bias.rstd, bias.interval)

    @property
    def prior(self) -> list[Estimate]:
        """Share of each position in PriDe's prior; [] if no orders were scored."""
        if self.orders is None:
            return []
        return list(map(make_estimate, self.orders.prior, self.orders.prior_intervals))

    @property
    def drop(self) -> Drop | None:
        """Drop beyond dilution with the most added choices. None unless choices are scored together."""
        # A scorer of single choices cannot be paralyzed: its whole drop is dilution.
        if not self.joint:
            return None
        return self.effect.restricted_drop

    @property
    def probe(self) -> str:
        """Probe of the first screen: the one under which most answers significantly stay the same."""
        # Without answers to any probe, the page explains why for the first one.
        if not self.reading:
            return WITHOUT_QUESTION[0]
        # Levels of a decision, the worst first.
        for level in ("large", "some", "unknown", "small"):
            for name in self.reading:
                if self.decided[f"kept_{name}"].level == level:
                    return name
        raise ValueError(f"Expected decisions with known levels, but got {self.decided}.")

    @property
    def read(self) -> Reading | None:
        """Answers with and without the question under this probe."""
        return self.reading.get(self.probe)

    def says(self, test: str, *levels: str) -> bool:
        """Return whether a test was decided at one of some levels.

        Args:
            test: "kept", "unasked", "lost", "paralysis" or "order". "kept" has a decision for each
                probe without the question, of which any may have the level.
            *levels: "small", "some", "large" or "unknown".
        """
        decisions = [self.decided[name] for name in self.decided if name.startswith(test)]
        return any(decision.level in levels for decision in decisions)

    @property
    def is_as_good_without(self) -> bool:
        """Whether the model is better than guessing without the question, and as good as with it."""
        decision = self.decided.get("kept_no_question")
        # A model whose answers change without the question uses it, even if it is as accurate.
        if decision is not None and decision.level == "small":
            return False
        is_above_guessing = self.says("unasked", "large")
        loses_little = self.says("lost", "small")
        return is_above_guessing and loses_little

    @property
    def consistency(self) -> Estimate | None:
        """Share of the items that keep their answer under every order. None if none were asked."""
        if self.steady is None:
            return None
        is_steady, units = self.steady
        return estimate_rate(is_steady, self.context.resampling, units)

    @property
    def order_changes(self) -> Estimate | None:
        """Share of the items whose answer changes with the order. None if no orders were asked."""
        if self.steady is None:
            return None
        is_steady, units = self.steady
        return estimate_rate(~is_steady, self.context.resampling, units)

    @property
    def n_choices(self) -> int:
        """Number of choices of the first item, and of every item if orders were asked."""
        return len(self.tables.column(ORIGINAL, "choices")[0])

    @property
    def n_orders(self) -> int:
        """Number of orders of the choices in which an item is asked."""
        return len(list_choice_orders(self.n_choices))

    @property
    def choice_counts(self) -> str:
        """Number of choices of the items, such as "4" or "2 to 5"."""
        return describe_range(self.tables.sizes().tolist())

    @property
    def changes_by_chance(self) -> float:
        """Share of items whose answer would change if each order were answered by a random guess."""
        # The guesses under all further orders have to be that under the first one.
        return float(1 - self.n_choices ** (1.0 - self.n_orders))

    @property
    def moves(self) -> bool:
        """Whether significantly more answers than the margin change with the order of the choices."""
        if self.consistency is None or self.consistency.high is None:
            return False
        return self.consistency.high < 1 - MARGINS["order"].small

    @property
    def in_words(self) -> str:
        """Description of the orders that were asked."""
        return describe_choice_orders(self.n_choices)

    @property
    def n_ordered(self) -> int:
        """Number of items with an answer under every order."""
        if self.steady is None:
            return 0
        return len(self.steady[0])

    @property
    def open_questions(self) -> dict[str, Decision | None]:
        """Name of each test that is open -> its decision; None for a test that was not made.

        A test is settled if its figure is significantly small, or for the accuracy that is lost
        without the question, significantly large.
        """
        open_tests: dict[str, Decision | None] = {}
        for name in WITHOUT_QUESTION:
            if name not in self.reading:
                open_tests[f"kept_{name}"] = None
        # Choices that are scored one by one have the same scores in every order.
        can_depend_on_order = self.joint or self.scored is None
        if can_depend_on_order and "order" not in self.decided:
            open_tests["order"] = None
        for name, decision in self.decided.items():
            # "lost" is settled if the model is significantly better with the question.
            settled_level = "large" if name == "lost" else "small"
            if decision.level != settled_level:
                open_tests[name] = decision
        return open_tests

    @property
    def open_kinds(self) -> list[str]:
        """Kinds of the open tests, by the first words of their names."""
        kinds = [name.split("_")[0] for name in self.open_questions]
        return list(dict.fromkeys(kinds))

    @property
    def missing_arms(self) -> list[str]:
        """Descriptions of the changed versions of items that a log lacks, to follow "the items".

        For example ["with another question", "in other orders of the choices"]; empty if a model
        was queried.
        """
        if self.context.logged_arms is None:
            return []
        descriptions = {
            "no_question": "without their question",
            "wrong_question": "with another question",
        }
        missing = []
        for name, description in descriptions.items():
            if name not in self.tables.tables:
                missing.append(description)
        if self.steady is None and self.context.joint:
            missing.append("in other orders of the choices")
        return missing

    @property
    def n_needed(self) -> int | None:
        """Number of items that would settle the open tests; None if more items would not help."""
        # More items do not help if a test could not be made at all.
        if not self.open_questions or None in self.open_questions.values():
            return None
        return POWER.find_needed_items(len(self.tables), self.tables.n_units)

    @property
    def mean_unanswered(self) -> float:
        """Mean share of the items without an answer, over all probes."""
        shares = [(picks < 0).mean() for picks in self.picked.values()]
        return float(np.mean(shares))

    @property
    def not_scored(self) -> str:
        """Sentence on the items that the model could not score; "" if it scored all."""
        return " ".join(describe_unscored_items("item", self.n_items, self.tables.left_out))


def measure(context: AuditContext, options: ProbesOptions) -> ProbesMeasurement:
    """Measure how a model answers changed versions of its items, which may be read from a log.

    Args:
        context: The audit of a multiple-choice model.
        options: Numbers of choices to add.
    """
    if context.logged_arms is not None:
        return _measure_log(context, context.logged_arms)
    items = context.primary.data
    # Texts are borrowed from all items, including those that were excluded because the model could
    # not answer them, so that all models get the same texts.
    pool = (context.primary.before_exclusion or context.primary).data
    n_spare = count_spare_choices(pool["choices"][:])
    requested_ks = tuple(dict.fromkeys(options.ks))
    # If there are too few choices for each requested number, a single one is added.
    ks = tuple(k for k in requested_ks if k <= n_spare) or (1,)
    tables = probe_tables(
        items,
        ks=ks,
        pool=pool,
        groups_column=context.primary.groups_column,
        seed=context.seed,
    )
    prompted = context.prompted
    if prompted is not None and prompted.rendering.scoring == "generated":
        return _measure_generated(context, tables)
    left_out = tuple(k for k in requested_ks if k not in ks)
    return _measure_scored(context, tables, left_out)


def _measure_log(context: AuditContext, arms: LoggedArms) -> ProbesMeasurement:
    """Measure the probes from the answers in a log.

    Scores are used if the log has the scores of all probes, and otherwise only the picked choices.

    Args:
        context: The audit of the log.
        arms: Requests of the log about changed versions of the items.
    """
    tables = collect_logged_tables(
        context.primary.data, arms, groups_column=context.primary.groups_column
    )
    has_all_probes = bool(tables.ks) and all(name in tables.tables for name in WITHOUT_ANSWER)
    if arms.is_scored and has_all_probes:
        return _measure_scored(context, tables, ())
    return _measure_generated(context, tables)


def _measure_generated(context: AuditContext, tables: ProbeTables) -> ProbesMeasurement:
    """Measure the probes of a model that generates its answers.

    It answers the items without their question, with another one, and in several orders.

    Args:
        context: The audit.
        tables: N items before and after each probe, one table for each probe.
    """
    ks = str(tables.ks)
    # The other probes are about confidence, which generated answers do not have.
    names = [name for name in (ORIGINAL, *WITHOUT_QUESTION) if name in tables.tables]
    tables = dataclasses.replace(tables, tables={name: tables.tables[name] for name in names})
    picked = pick_choices(tables, names, _make_score(context, "probes", ks))
    ordered: OrderedAnswers | None = None
    steady: Hits | None = None
    if _can_ask_orders(context, tables):
        ordered = pick_in_orders(tables, _make_score(context, "orders", ks))
        steady = (ordered.is_steady, select_clusters(tables.units, ordered.is_answered))
    return ProbesMeasurement(
        context=context,
        tables=tables,
        picked=picked,
        decided=decide_figures(tables, picked, steady=steady, resampling=context.resampling),
        reading=tables.compare_readings(picked, context.resampling),
        steady=steady,
        ordered=ordered,
    )


def _measure_scored(
    context: AuditContext, tables: ProbeTables, left_out: tuple[int, ...]
) -> ProbesMeasurement:
    """Measure the probes of a model that scores choices, under every probe and in several orders.

    Args:
        context: The audit.
        tables: N items before and after each probe, one table for each probe.
        left_out: Requested numbers of added choices for which the data has too few.
    """
    score_probes = _make_score(context, "probes", str(tables.ks))
    tables = tables.scored_by(_reuse_scores(context, score_probes))
    picked = {}
    for name, rows in (tables.logits or {}).items():
        picked[name] = rows.argmax()
    scored = measure_probes(tables, resampling=context.resampling)
    joint = context.joint

    ordered: OrderedAnswers | None = None
    orders: OrderFigures | None = None
    steady: Hits | None = None
    # A scorer of single choices gives the same scores in every order.
    if joint and _can_ask_orders(context, tables):
        score = _reuse_scores(context, _make_score(context, "orders"))
        original = tables.tables[ORIGINAL]
        ordered = score_in_orders(original, score)
        orders = summarize_orders(
            ordered, original["id"][:], clusters=tables.units, resampling=context.resampling
        )
        steady = (ordered.is_steady, tables.units)
    decided = decide_figures(
        tables, picked, steady=steady, joint=joint, resampling=context.resampling
    )
    return ProbesMeasurement(
        context=context,
        tables=tables,
        picked=picked,
        decided=decided,
        reading=scored.reading,
        scored=scored,
        orders=orders,
        steady=steady,
        joint=joint,
        left_out=left_out,
        ordered=ordered,
    )


def _can_ask_orders(context: AuditContext, tables: ProbeTables) -> bool:
    """Return whether there are answers to the items in all orders of their choices.

    All items need the same number of choices, and a log must contain all orders.

    Args:
        context: The audit of a model or of a log.
        tables: N items before and after each probe, one table for each probe.
    """
    sizes = set(tables.sizes().tolist())
    if len(sizes) != 1:
        return False
    arms = context.logged_arms
    return arms is None or arms.has_orders(sizes.pop())


def _reuse_scores(context: AuditContext, score: Score) -> Score:
    """Return a scorer that reuses the scores that the audit already has.

    Args:
        context: The audit, whose primary split may be scored.
        score: Scorer of all other requests.
    """
    # A log contains all answers, and those of a server are stored by request.
    is_stored = context.logged_arms is not None or context.server is not None
    if is_stored or not context.has_scores(context.primary):
        return score
    return reuse_scores(context.scores(), context.primary, score)


def _make_score(context: AuditContext, part: str, *depends: str) -> Score:
    """Return a function that scores choices with the model of an audit, and stores the scores.

    Args:
        context: The audit.
        part: "probes" or "orders", for the name of the folder of the scores.
        *depends: Values on which the requests depend, besides the items, the seed and the scoring
            method. They are a part of the name of the folder.
    """
    from rightreasons.models.classes import choose

    if context.logged_arms is not None:
        return context.logged_arms.choose
    model = context.scorer
    # The name of the folder contains everything on which the scores depend.
    method = str(getattr(model, "method", ""))
    folder = context.folder(part, context.primary.fingerprint, str(context.seed), method, *depends)

    def score(prompts: Sequence[str], choices: Sequence[Sequence[str]], ids: Sequence[str]) -> Any:
        return choose(model, prompts, choices, ids=ids, **context.get_run_arguments(folder))

    return score
