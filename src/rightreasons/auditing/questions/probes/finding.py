"""What the first screen says about choosing without a reason to."""

from __future__ import annotations

from rightreasons.auditing.context import AuditContext
from rightreasons.auditing.page.actions import ask, gate
from rightreasons.auditing.page.parts import Action, Finding, Verdict
from rightreasons.auditing.page.words import p_equals, percent
from rightreasons.foundations.sentences import counted
from rightreasons.measuring.option_order import OrderFigures
from rightreasons.measuring.probes import ProbeFigures

WITHOUT = {"no_question": "without the question", "wrong_question": "with the question of another item"}


def finding(context: AuditContext, figures: ProbeFigures, orders: OrderFigures | None, verdict: Verdict) -> Finding:
    """Say what the test that decided the verdict shows: the order, the added choices, or the missing question."""
    probe, k = figures.telling_probe, figures.largest_k
    test = None if probe is None else figures.prior_bias[probe].pseudo_correct
    actions = (
        Action("Read the items that it answers without the question: do the choices give them away?", link="#probes"),
        Action("See which cues the choices hold.", ask(context, "cues")),
        gate("probes.verdict == bad", "the model is biased and paralyzed"),
    )
    if orders is not None and "order" in verdict.label:
        return Finding(
            claim=f"changes its answer with the order of the choices in {percent(1 - orders.consistency)} of the items",
            evidence=f"{orders.in_words.capitalize()} of the choices, {counted(figures.n_items, 'item')}.",
            figure="order_consistency",
            size=1 - orders.consistency,
            plot="position_prior",
            actions=(Action("Ask with the choices in several orders, and average.", link="#probes"), *actions[1:]),
        )
    drop = figures.paralysis[k].restricted_drop
    if verdict.label.startswith("Paralyzed"):
        return Finding(
            claim=f"loses {100 * drop.mean:.1f} points of confidence in the right choice when {k} wrong ones are "
            "added, beyond their share",
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
