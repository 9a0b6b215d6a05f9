"""What the first screen says about choosing without a reason to."""

from __future__ import annotations

from rightreasons.auditing.context import AuditContext
from rightreasons.auditing.page.actions import ask, gate
from rightreasons.auditing.page.parts import Action, Finding, Verdict
from rightreasons.auditing.page.words import capitalized, p_equals, percent
from rightreasons.foundations.sentences import counted
from rightreasons.measuring.estimates import Estimate
from rightreasons.measuring.option_order import OrderFigures
from rightreasons.measuring.probes import ProbeFigures

WITHOUT = {"no_question": "without the question", "wrong_question": "with the question of another item"}

STEADY = 0.9
"""Share of items that keep their answer under every order of the choices, below which the order decides some."""

_ORDER = "The order decides"


def order_verdict(consistency: Estimate, summary: str) -> Verdict | None:
    """Judge by the share of items that keep their answer under every order; None where it may be high enough.

    Red takes an answer that the order decides in most items: an intervention.
    """
    if consistency.high is None or consistency.high >= STEADY:
        return None
    if consistency.high < 0.5:
        return Verdict("bad", _ORDER, summary)
    return Verdict("warn", f"{_ORDER} some", summary)


def is_of_order(verdict: Verdict) -> bool:
    """Return whether a verdict is one of `order_verdict`."""
    return verdict.label.startswith(_ORDER)


def finding(context: AuditContext, figures: ProbeFigures, orders: OrderFigures | None, verdict: Verdict) -> Finding:
    """Say what the test that decided the verdict shows: the order, the added choices, or the missing question."""
    probe, k = figures.telling_probe, figures.largest_k
    test = None if probe is None else figures.prior_bias[probe].pseudo_correct
    actions = (
        Action("Read the items that it answers without the question: do the choices give them away?", link="#probes"),
        Action("See which cues the choices hold.", ask(context, "cues")),
        gate("probes.verdict == bad", "the verdict on the probes is red"),
    )
    if orders is not None and is_of_order(verdict):
        return Finding(
            claim=f"changes its answer with the order of the choices in {percent(1 - orders.consistency)} of the items",
            evidence=f"{capitalized(orders.in_words)} of the choices, {counted(figures.n_items, 'item')}.",
            figure="order_consistency",
            size=1 - orders.consistency,
            plot="position_prior",
            actions=(Action("Ask with the choices in several orders, and average.", link="#probes"), *actions[1:]),
        )
    drop = figures.paralysis[k].restricted_drop
    if verdict.label.startswith("Paralyzed"):
        return Finding(
            claim=f"loses {100 * drop.mean:.1f} points of confidence in the right choice when "
            f"{counted(k, 'wrong one is', 'wrong ones are')} added, beyond dilution",
            evidence=f"Paired t-test, {counted(figures.n_items, 'item')}.",
            figure=f"restricted_drop_{k}",
            size=max(drop.mean, 0.0),
            plot="choice_paralysis",
            actions=actions,
        )
    if test is None or probe is None:
        return Finding(
            claim="was asked without its questions", evidence=f"{counted(figures.n_items, 'item')}.", actions=actions
        )
    return Finding(
        claim=f"picks the right choice in {percent(test.rate)} of the items {WITHOUT[probe]}, where chance gives "
        f"{percent(test.chance)}",
        evidence=f"Exact test of the clearer of two probes, p {p_equals(test.p_value)}, "
        f"{counted(figures.n_items, 'item')}.",
        figure=f"pseudo_correct_{probe}",
        size=max(test.rate - test.chance, 0.0),
        plot="probe_confidence",
        actions=actions,
    )
