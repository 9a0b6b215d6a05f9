"""What the question about the probes measures: the changed items, near choices, orders, and the chat template."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.context import AuditContext
from rightreasons.core.intervals import Estimate, estimate_of
from rightreasons.datasets.perturbing.probes import NONE_OF_THE_ABOVE, ORIGINAL
from rightreasons.page.words import not_scored_told
from rightreasons.probes.bias import PseudoCorrect
from rightreasons.probes.distractors import DistractorFigures, added_choices, measure_distractors
from rightreasons.probes.measure import (
    WITHOUT_QUESTION,
    OrderFigures,
    ProbeFigures,
    ProbeScores,
    ProbeTables,
    Score,
    measure_option_order,
    measure_probes,
    near_choices_name,
    probe_tables,
    stored_orders,
)
from rightreasons.probes.options import ProbesOptions
from rightreasons.probes.paralysis import ChoiceParalysis, Drop
from rightreasons.probes.picks import (
    PickFigures,
    TemplateFigures,
    ask_for_orders,
    ask_for_picks,
    measure_picks,
    measure_templates,
    template_tables,
)

MARGIN = 0.1
"""A rate of old answers this far above chance is worth ruling out before nothing is said to be found."""

LOSS = 0.02
"""A drop of confidence beyond dilution that is worth a verdict, and worth ruling out."""

STEADY = 0.9
"""Share of items that keep their answer under every order of the choices, below which the order decides some."""

NAMES = {
    ORIGINAL: "Unchanged",
    "no_question": "No question",
    "wrong_question": "Wrong question",
    "no_right_answer": "No right answer",
    "none_added": f"“{NONE_OF_THE_ABOVE}” added",
    "none_right": f"“{NONE_OF_THE_ABOVE}” is right",
}
"""The tables of the probes, for readers."""


@dataclasses.dataclass(frozen=True)
class OldAnswer:
    """How often the choice that was right is picked without its question.

    Attributes:
        probe: What was done to the question.
        rate: Share of the items.
        chance: The share that picking at random gives.
        p_value: Exact test of no difference.
        n_items: Items with an answer.
    """

    probe: str
    rate: Estimate
    chance: float
    p_value: float
    n_items: int

    @property
    def excess(self) -> float:
        """The rate above chance."""
        return (self.rate.value or 0.0) - self.chance

    @property
    def high(self) -> float:
        """The upper end of the rate; 1 where it is not known."""
        return 1.0 if self.rate.high is None else self.rate.high


@dataclasses.dataclass(frozen=True, eq=False)
class ProbesMeasurement:
    """The probed items of an audit, and what they say.

    Attributes:
        context: The audit.
        tables: The items under every probe, with the scores where the model gives them.
        scored: Prior bias and choice paralysis; None where answers are generated.
        picks: What is picked where answers are generated; None where choices are scored.
        distractors: Near choices and “None of the above”; None where they were not asked.
        orders: The effect of the order of scored choices; None for a scorer that sees one choice at a time.
        templates: The effect of the chat template; None where there is none.
        joint: Whether choices are scored together.
        left_out: Numbers of added choices for which the data has too few.
    """

    context: AuditContext
    tables: ProbeTables
    scored: ProbeFigures | None = None
    picks: PickFigures | None = None
    distractors: DistractorFigures | None = None
    orders: OrderFigures | None = None
    templates: TemplateFigures | None = None
    joint: bool = False
    left_out: tuple[int, ...] = ()

    @property
    def n_items(self) -> int:
        """The number of probed items."""
        return len(self.tables)

    @property
    def k(self) -> int:
        """The largest number of added choices."""
        return 0 if self.scored is None else self.scored.largest_k

    @property
    def effect(self) -> ChoiceParalysis:
        """What the most added choices do to the confidence."""
        if self.scored is None:
            raise ValueError("Expected the scores of choices, but there are none.")
        return self.scored.paralysis[self.k]

    @property
    def has_null(self) -> bool:
        """Whether the prior bias has a permutation null."""
        return self.scored is not None and any(bias.null is not None for bias in self.scored.prior_bias.values())

    @property
    def pseudo_correct(self) -> dict[str, PseudoCorrect]:
        """Probe -> how often the old answer is picked, where there is one."""
        biases = {} if self.scored is None else self.scored.prior_bias
        return {name: bias.pseudo_correct for name, bias in biases.items() if bias.pseudo_correct is not None}

    @property
    def none_of_the_above(self) -> tuple[Estimate, Estimate] | None:
        """How often it is picked where it is wrong, and where it is right."""
        if self.distractors is None or (none := self.distractors.none) is None:
            return None
        alarms = estimate_of(none.false_alarms, none.false_alarms_interval)
        return alarms, estimate_of(none.hits, none.hits_interval)

    @property
    def spread(self) -> Estimate | None:
        """How far recall spreads over the position of the right choice."""
        bias = None if self.scored is None else self.scored.position_bias
        return None if bias is None else estimate_of(bias.rstd, bias.interval)

    @property
    def prior(self) -> list[Estimate]:
        """The share of each position in PriDe's prior."""
        orders = self.orders
        return [] if orders is None else list(map(estimate_of, orders.prior, orders.prior_intervals))

    @property
    def preference(self) -> Estimate | None:
        """The prior bias without the question."""
        bias = None if self.scored is None else self.scored.prior_bias["no_question"]
        return None if bias is None else estimate_of(bias.prior_bias, bias.interval)

    @property
    def drop(self) -> Drop | None:
        """The drop beyond dilution with the most added choices, of choices that are scored together."""
        return self.effect.restricted_drop if self.joint else None

    @functools.cached_property
    def old_answers(self) -> list[OldAnswer]:
        """The test of each probe that takes the question away; none where no old answer is left to pick."""
        tests = []
        for name in WITHOUT_QUESTION:
            if self.scored is not None and (test := self.pseudo_correct.get(name)) is not None:
                rate = estimate_of(test.rate, self.scored.pseudo_correct_intervals[name])
                tests.append(OldAnswer(name, rate, test.chance, test.p_value, self.n_items))
            elif self.picks is not None and (picked := self.picks.probes[name]).p_value is not None:
                rate, chance = picked.rate or Estimate(None), picked.reference or 0.0
                tests.append(OldAnswer(name, rate, chance, picked.p_value, picked.n_items))
        return tests

    @functools.cached_property
    def old_answer(self) -> OldAnswer | None:
        """The clearest of these tests; of scores, one above chance goes first."""
        scored = self.scored is not None
        return min(self.old_answers, key=lambda test: (scored and test.excess <= 0, test.p_value), default=None)

    @property
    def probe(self) -> str:
        """The probe of this test."""
        return WITHOUT_QUESTION[0] if self.old_answer is None else self.old_answer.probe

    @property
    def _alpha(self) -> float:
        return 1 - self.context.resampling.level

    @property
    def knows_unasked(self) -> bool:
        """Whether the old answer is picked above chance without its question; of two probes, by Bonferroni."""
        test = self.old_answer
        return test is not None and test.excess > 0 and test.p_value < self._alpha / len(WITHOUT_QUESTION)

    @property
    def knows_much(self) -> bool:
        """Whether it is surely picked more than `MARGIN` above chance."""
        test = self.old_answer
        return self.knows_unasked and test is not None and (test.rate.low or 0.0) > test.chance + MARGIN

    @property
    def is_paralyzed(self) -> bool:
        """Whether added choices surely lower the confidence by more than `LOSS` beyond dilution."""
        drop = self.drop
        if drop is None or drop.t_p_value is None or drop.interval is None:
            return False
        return drop.t_p_value < self._alpha and drop.interval.low > LOSS

    @property
    def consistency(self) -> Estimate | None:
        """Share of the items that keep their answer under every order; None where no orders were asked."""
        if self.orders is not None:
            return estimate_of(self.orders.consistency, self.orders.consistency_interval)
        return None if self.picks is None else self.picks.consistency

    @property
    def in_words(self) -> str:
        """Which orders were asked."""
        figures = self.orders or self.picks
        return "" if figures is None else figures.in_words

    @property
    def n_ordered(self) -> int:
        """The number of items with an answer under every order."""
        return self.picks.n_ordered if self.picks is not None else self.n_items

    def keeps_less_than(self, share: float) -> bool:
        """Whether surely fewer items than this share keep their answer under every order."""
        steady = self.consistency
        return steady is not None and steady.high is not None and steady.high < share

    @property
    def open_questions(self) -> list[str]:
        """What the items do not rule out: "unasked", "paralysis", "order"; of generated answers, all must be known."""
        steady, generated = self.consistency, self.picks is not None
        known = len(self.old_answers) == len(WITHOUT_QUESTION) or not generated
        drop = None if self.drop is None else self.drop.interval
        low = None if steady is None else steady.low
        may_be = {
            "unasked": not known or any(test.high > test.chance + MARGIN for test in self.old_answers),
            "paralysis": drop is not None and drop.high > LOSS,
            "order": generated if low is None else low < STEADY,
        }
        return [name for name, is_open in may_be.items() if is_open]

    @property
    def unanswered(self) -> dict[str, float]:
        """Probe -> the share of the items without an answer, where answers are generated."""
        probes = {} if self.picks is None else self.picks.probes
        return {name: each.n_unanswered / self.n_items for name, each in probes.items() if each.n_unanswered}

    @property
    def mean_unanswered(self) -> float:
        """The mean of these shares over all probes."""
        return 0.0 if self.picks is None else sum(self.unanswered.values()) / len(self.picks.probes)

    @property
    def not_scored(self) -> str:
        """Which items the model could not score, in a sentence; "" where it scored all."""
        left_out = self.tables.left_out if isinstance(self.tables, ProbeScores) else ()
        return " ".join(not_scored_told("item", self.n_items, left_out))


def measure(context: AuditContext, options: ProbesOptions) -> ProbesMeasurement:
    """Put the probes to the model, or look up what a log has of them."""
    stored, items = None, context.primary.data
    if context.stored is not None:
        stored = context.stored.answers
        items = items if context.stored.items is None else context.stored.items
    prompted = context.prompted is not None and context.prompted.rendering.scoring == "generated"
    is_generated = prompted or (context.stored is not None and context.stored.items is not None)
    choices, ids = items["choices"][:], items["id"][:]
    ks, n_near, none = added_choices(choices, options.ks)
    near: int | None = n_near
    if not options.distractors or (stored is not None and f"{ids[0]}/{near_choices_name(n_near)}" not in stored):
        near, none = None, False
    tables = probe_tables(items, ks=ks, near=near, none=none, seed=context.seed)
    which: str | None = options.orders
    if stored is not None:
        which = stored_orders(stored, ids[0], len(choices[0]), options.orders)
    resampling: dict[str, Any] = {"resampling": context.resampling}
    added = f"{ks} {near} {none}"
    if is_generated:
        score = _scorer(context) if stored is None else lambda *_: stored.picks
        picked = ask_for_picks(tables, score("probes", added))
        of_orders = which and ask_for_orders(tables, score("orders", added), which, seed=context.seed)
        picks = measure_picks(tables, picked, orders=of_orders or None, **resampling)
        return ProbesMeasurement(context, tables, picks=picks, templates=_templates(context, options, tables, picked))
    from rightreasons.models.choices import is_joint

    score, joint = (_scorer(context), is_joint(context.scorer)) if stored is None else (lambda *_: stored, stored.joint)
    scores = tables.scored_by(score("probes", added))
    orders = None
    if joint and which is not None and scores.uniform is not None:
        how = {"orders": which, "seed": context.seed, **resampling}
        orders = measure_option_order(scores.tables[ORIGINAL], _complete(score("orders", which)), **how)
    return ProbesMeasurement(
        context,
        scores,
        scored=measure_probes(scores, joint=joint, **resampling),
        distractors=None if near is None else measure_distractors(scores, near, **resampling),
        orders=orders,
        templates=_templates(context, options, scores, {name: rows.argmax() for name, rows in scores.logits.items()}),
        joint=joint,
        left_out=tuple(k for k in dict.fromkeys(options.ks) if k not in ks),
    )


def _scorer(context: AuditContext) -> Any:
    """Return (what is asked, what it depends on) -> the model as a function that stores its answers."""
    from rightreasons.models.choices import choose

    model, method = context.scorer, str(getattr(context.scorer, "method", ""))
    settings = {name: getattr(context, name) for name in ("batch_size", "progress", "fail_fast")}

    def scorer(part: str, *depends: str) -> Score:
        folder = context.folder(part, context.primary.fingerprint, str(context.seed), method, *depends)
        return lambda prompts, choices, ids: choose(model, prompts, choices, ids=ids, out=folder, **settings)

    return scorer


def _complete(score: Score) -> Score:
    """Return the logits alone, of a scorer that must not fail: each of its items was scored in another order."""

    def logits(*items: Any) -> Any:
        scores = score(*items)
        for reason in getattr(scores, "failures", {}).values():
            raise ValueError(reason)
        return getattr(scores, "logits", scores)

    return logits


def _templates(
    context: AuditContext, options: ProbesOptions, tables: ProbeTables, picked: Mapping[str, NDArray[np.int64]]
) -> TemplateFigures | None:
    """Ask again without the chat template, or with it where the model was asked without; None without a template."""
    other = context.prompted.other_way() if context.prompted is not None and options.templates else None
    if context.prompted is None or other is None:
        return None
    folder = context.folder("other template", context.primary.fingerprint, str(context.seed))

    def choose(prompts: Sequence[str], choices: Sequence[Sequence[str]], ids: Sequence[str]) -> Any:
        return other.choose(prompts, choices, ids=ids, out=folder, progress=context.progress)

    again = ask_for_picks(template_tables(tables), choose)
    ways = (picked, again) if context.prompted.rendering.chat else (again, picked)
    return measure_templates(tables, *ways, resampling=context.resampling)
