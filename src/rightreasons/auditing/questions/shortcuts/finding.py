"""What the first screen says about shortcuts."""

from __future__ import annotations

from collections.abc import Sequence

from rightreasons.analysis.shortcuts.causal import MIN_ITEMS
from rightreasons.auditing.context import AuditContext
from rightreasons.auditing.page.actions import ask, compare, gate
from rightreasons.auditing.page.parts import Action, Example, Finding, Verdict
from rightreasons.auditing.page.words import percent
from rightreasons.foundations.sentences import counted
from rightreasons.measuring.causal_shortcuts import CausalMeasurement
from rightreasons.measuring.shortcuts import Cue, ShortcutMeasurement

MOST_WORDS = 3


def finding(
    context: AuditContext,
    verdict: Verdict,
    measured: ShortcutMeasurement,
    cues: Sequence[Cue],
    tested: CausalMeasurement | None,
    examples: Sequence[Example],
) -> Finding:
    """Say how many predictions a single word changes, or how many rest on one where that was not tested."""
    effects = None if tested is None else tested.shortcuts
    of_words = {} if effects is None else {cue.cue: cue.effect.excess * cue.effect.n_items for cue in effects.cues}
    ranked = sorted(cues, key=lambda cue: -of_words.get(cue.token, 0.0))
    words = list(dict.fromkeys(cue.token for cue in ranked))
    named = ", ".join(f"“{word}”" for word in words[:MOST_WORDS])
    null, n_items = measured.reliance.null["frequency"], measured.reliance.n_items
    actions = (
        Action(f"Read the words: are {named} reasons for the label?", link="#shortcuts"),
        Action("Test the words that you suspect yourself.", ask(context, "shortcuts", words="WORD,WORD")),
        compare(
            "If they are no reasons: take them out of the training texts or let every label have the same share of "
            "them; fine-tune again, audit, and compare."
        ),
        gate("shortcuts.causal_rate.low > 0.1", "single words surely decide more than 10% of the predictions"),
    )
    if effects is None or not words:
        return Finding(
            claim=f"rests on words that give the label away in {percent(measured.reliance.shortcut_reliance)} of its "
            f"predictions; equally frequent words picked blindly would give {percent(null.rate)}",
            evidence=f"Attributions alone, {counted(n_items, 'prediction')}; whether the words decide was not tested.",
            figure="shortcut_rate",
            size=max(null.excess, 0.0),
            plot="shortcut_types",
            actions=actions if words else (),
        )
    effect, how, control = effects.removal, "taken out", "taken out"
    put_in = effects.insertion
    if put_in is not None and put_in.n_items >= MIN_ITEMS and put_in.excess > effect.excess:
        effect, how, control = put_in, "put in", "put in"
    begins = "hardly changes its mind: it changes" if verdict.tone == "good" else "changes"
    return Finding(
        claim=f"{begins} {percent(effect.rate)} of its predictions when one word such as {named} is {how}, and "
        f"{percent(effect.control_rate)} when a control word is {control}",
        evidence=f"Causal test: one word changed in each of {counted(effect.n_items, 'text')}.",
        figure="causal_shortcut_rate",
        size=max(effect.excess, 0.0),
        plot="interventions_plot",
        pair=tuple(examples[:1]),
        actions=actions,
    )
