"""The part of the section that shows whether the named words decide, and the verdict that follows from it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal

from rightreasons.analysis.shortcuts.causal import Effect
from rightreasons.analysis.shortcuts.groups import WorstGroup
from rightreasons.auditing.context import AuditContext, AuditSplit
from rightreasons.auditing.page import parts as p
from rightreasons.auditing.page import plots
from rightreasons.auditing.page.examples import example_of
from rightreasons.auditing.page.words import first_of, percent, written
from rightreasons.foundations.sentences import counted
from rightreasons.measuring.causal_shortcuts import CausalMeasurement, named_cues
from rightreasons.measuring.estimates import Estimate, estimate_of
from rightreasons.measuring.shortcuts import Cue, ShortcutMeasurement

SOURCE = "This package; Garg et al. 2019"
GROUPS_SOURCE = "Sagawa et al. 2020"
N_EXAMPLES = 5
N_WORDS = 4

REMOVALS = {
    "delete": "Deleted",
    "mask": "Masked",
    "swap": "Swapped for a word of like frequency",
}


def headline(causal: CausalMeasurement, split: AuditSplit) -> p.Headline | None:
    """Return the causal shortcut rate; None where no prediction could be tested."""
    if causal.shortcuts is None:
        return None
    removal = causal.shortcuts.removal
    return p.Headline(
        "causal_shortcut_rate",
        "Causal shortcut rate",
        estimate_of(removal.rate, removal.interval),
        "Share of the predictions with a named cue that change when the cue is taken out of the text, over "
        f"{_listed([REMOVALS[name].lower() for name in causal.shortcuts.removals])}. Taking out a control word changes "
        f"{percent(removal.control_rate)}.",
        SOURCE,
        better="lower",
        split=split.name,
        n=removal.n_items,
    )


def part(
    context: AuditContext,
    split: AuditSplit,
    measured: ShortcutMeasurement,
    cues: Sequence[Cue],
    causal: CausalMeasurement,
    groups: WorstGroup,
) -> p.Part:
    """Show what taking cues out and putting them in does, and how texts fare whose cues point elsewhere."""
    shortcuts = causal.shortcuts
    text = (
        f"{_reach(causal, ' of the predicted label in the text.')} Each is made again without the cue, in each way "
        "below, and without a control word, in one way drawn for each: the word of the text that is nearest to the cue "
        "in frequency and gives no label away. Into texts that lack a cue of another label, one is put in.\n\n"
    )
    if not cues:
        return p.Part(
            title="Do these words decide?",
            text="No word cues more predictions than blind picks would.",
            tables=() if context.primary.cue_labels is None else (_groups_table(context, groups),),
        )
    if shortcuts is None:
        return p.Part(
            title="Do these words decide?",
            text=f"{text}None of them has a control word, so the test cannot be made.",
            tables=(_groups_table(context, groups),),
        )
    rows: list[tuple[p.Cell, ...]] = [_row(REMOVALS[name], effect) for name, effect in shortcuts.removals.items()]
    if shortcuts.insertion is not None:
        rows.append(_row("Put into texts that lack it", shortcuts.insertion))
    table = p.Table(
        key="interventions",
        title="Interventions",
        columns=(
            p.Column("intervention", "The cue is", "text"),
            p.Column("n", "Predictions", "count", "Those whose control word is treated in this way."),
            p.Column("rate", "Change", "share", "Share that changes; for a cue that is put in, to its label."),
            p.Column("control", "With a control word", "share", "The same done to a word of like frequency."),
            p.Column("excess", "Difference", "share"),
            p.Column("confidence", "Change of confidence", "share", "Beyond that of the control word."),
        ),
        rows=tuple(rows),
        note=" ".join(
            [f"{REMOVALS[name]} is left out: {reason}" for name, reason in causal.left_out.items()]
            + (
                [f"Left out: {counted(causal.n_failed, 'item')} with a changed text that the model could not score."]
                if causal.n_failed
                else []
            )
        ),
        source=SOURCE,
    )
    by_cue = p.Table(
        key="interventions_by_cue",
        title="By cue",
        columns=(
            p.Column("cue", "Cue", "text"),
            p.Column("n", "Predictions", "count"),
            p.Column("rate", "Change without it", "share", "Over all ways of taking it out."),
            p.Column("control", "Without a control word", "share", "In the one way drawn for each."),
            p.Column("excess", "Difference", "share"),
        ),
        rows=tuple(
            _row(cue.cue, cue.effect)[:-1]
            for cue in sorted(shortcuts.cues, key=lambda cue: -cue.effect.excess * cue.effect.n_items)
        ),
        source=SOURCE,
    )
    return p.Part(
        title="Do these words decide?",
        text=text + shortcuts.reason,
        plots=(_plot(rows),),
        tables=(table, by_cue, _groups_table(context, groups)),
        examples=_examples(context, split, measured, causal),
    )


def verdict(
    context: AuditContext,
    measured: ShortcutMeasurement,
    cues: Sequence[Cue],
    causal: CausalMeasurement | None,
    groups: WorstGroup,
) -> p.Verdict:
    """Say whether words decide, and by which test that is known.

    Red takes an effect of taking the named cues out, together with ground truth (a named cue is planted) or with texts
    whose cues point elsewhere and surely most of which the model labels as the cue says. A causal effect alone is
    amber: words may decide that mean the label. So is attention to words without a causal effect.
    """
    null = measured.reliance.null["frequency"]
    if not cues:
        return p.Verdict(
            "neutral",
            "No word stands out",
            "None of the words that point at a label cues more of "
            f"{counted(measured.reliance.n_items, 'prediction')} than "
            "blind picks would, so there is nothing to test. With more items, one may stand out.",
        )
    if causal is None:
        shortcuts, reason = None, "Pieces of words cannot be taken out of a text, so nothing was tested."
    else:
        shortcuts, reason = causal.shortcuts, "No prediction has a cue and a control word."
    conclusion = "cannot tell" if shortcuts is None else shortcuts.conclusion
    if conclusion == "cues do not decide" and shortcuts is not None:
        return p.Verdict("good", shortcuts.in_words, shortcuts.reason)
    if conclusion == "cues decide" and shortcuts is not None:
        effects = {cue.cue: cue.effect.excess * cue.effect.n_items for cue in shortcuts.cues}
        named = _words(context, sorted(cues, key=lambda cue: -effects.get(cue.token, 0.0)))
        # Texts whose cues point elsewhere are evidence only if predictions change without their cues: a word that means
        # its label changes predictions when it is put in, whatever they rest on otherwise.
        evidence = ""
        if shortcuts.removal.excess_interval.low > 0:
            planted = [f"“{cue.token}”" for cue in cues if cue.planted and effects.get(cue.token, 0.0) > 0]
            evidence = _against(context, groups)
            if planted and not evidence:
                evidence = f"The data says that {_listed(planted)} {'is' if len(planted) == 1 else 'are'} planted."
        tone: Literal["bad", "warn"] = "bad" if evidence else "warn"
        label = "Follows single words" if evidence else shortcuts.in_words
        reading = evidence or "Whether they may decide is for a reader of the words to say."
        reach = "" if causal is None else _reach(causal, ".")
        return p.Verdict(tone, label, f"{reach} {shortcuts.reason} Most of all {named}. {reading}".strip())
    reason = reason if shortcuts is None else shortcuts.reason
    if null.interval.low > 0:
        standing_out = named_cues(cues)
        such = f"such as {_words(context, standing_out)}" if standing_out else "that give their label away"
        return p.Verdict(
            "warn",
            "Looks at single words",
            f"{written(estimate_of(null.excess, null.interval))} more of its predictions than blind picks would "
            f"give rest on words {such}. Whether they decide is open: {reason}",
        )
    return p.Verdict("neutral", "Cannot tell", reason)


# ------------------------------------------------------------------------------------------------------------- private


def _reach(causal: CausalMeasurement, end: str) -> str:
    """Say how many predictions have a named cue."""
    has = "has" if causal.n_with_cue == 1 else "have"
    return f"{causal.n_with_cue:,} of {counted(causal.n_items, 'prediction')} {has} a named cue{end}"


def _row(name: str, effect: Effect) -> tuple[p.Cell, ...]:
    return (
        name,
        effect.n_items,
        estimate_of(effect.rate, effect.interval),
        estimate_of(effect.control_rate, effect.control_interval),
        estimate_of(effect.excess, effect.excess_interval),
        estimate_of(effect.confidence, effect.confidence_interval),
    )


def _plot(rows: Sequence[tuple[p.Cell, ...]]) -> p.Plot:
    """Draw what each intervention on a cue changes beside the same on a control word."""
    bars = [
        plots.Bar.of(str(name), rate, control)
        for name, _, rate, control, *_ in rows
        if isinstance(rate, Estimate) and isinstance(control, Estimate)
    ]
    words = "; ".join(
        f"{bar.name}: the cue {percent(bar.values[0] or 0.0)}, a control word {percent(bar.values[1] or 0.0)}"
        for bar in bars
    )
    return plots.dot_rows(
        "interventions_plot", rows=bars, series=("the cue", "a control word"), xlabel="predictions that change"
    ).plot(
        title="What one word changes",
        caption="Share of predictions that change when the cue is treated, beside a control word of like frequency. "
        "Whiskers are Wilson intervals.",
        alt=f"Predictions that change. {words}.",
        source=SOURCE,
    )


def _groups_table(context: AuditContext, groups: WorstGroup) -> p.Table:
    planted = "" if context.primary.cue_labels is None else "The data says which cue is planted in each text. "
    return p.Table(
        key="accuracy_by_cue",
        title="Accuracy by cue and label",
        columns=(
            p.Column("cue", "Holds a cue of", "text"),
            p.Column("label", "Gold label", "text"),
            p.Column("n", "Items", "count"),
            p.Column("accuracy", "Accuracy", "share"),
            p.Column("follows", "Predicted as the cue says", "share"),
        ),
        rows=tuple(
            (
                "no label" if group.cue_label is None else context.label_name(group.cue_label),
                context.label_name(group.label),
                group.n_items,
                estimate_of(group.accuracy, group.interval),
                Estimate(group.follows),
            )
            for group in groups.groups
        ),
        note=f"{planted}Over all items of the split, whose accuracy is {percent(groups.accuracy)}. The worst of the "
        f"groups of at least {groups.min_group} items has the worst-group accuracy.",
        source=GROUPS_SOURCE,
    )


def _against(context: AuditContext, groups: WorstGroup) -> str:
    """Say how the worst group fares, if its cues point elsewhere, and surely most of it is labeled as they say."""
    group, interval, follows = groups.group, groups.interval, groups.follows_interval
    if group is None or interval is None or follows is None or group.cue_label in (None, group.label):
        return ""
    if interval.high >= groups.accuracy_interval.low or follows.low <= 0.5:
        return ""
    return (
        f"Where cues of “{context.label_name(group.cue_label)}” occur in texts of “{context.label_name(group.label)}”, "
        f"{written(estimate_of(group.accuracy, interval))} of {counted(group.n_items, 'prediction')} are right, "
        f"against {percent(groups.accuracy)} of all; {written(estimate_of(group.follows, follows))} are what the cue "
        "says."
    )


def _words(context: AuditContext, cues: Sequence[Cue]) -> str:
    labels: dict[str, list[str]] = {}
    for cue in cues:
        labels.setdefault(cue.token, []).append(context.label_name(cue.label))
    return ", ".join(f"“{word}” ({', '.join(names)})" for word, names in list(labels.items())[:N_WORDS])


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _examples(
    context: AuditContext, split: AuditSplit, measured: ShortcutMeasurement, causal: CausalMeasurement
) -> tuple[p.ExampleList, ...]:
    """Show predictions that change when their cue is deleted, surest first."""
    old, confidence = measured.predictions, measured.probabilities.max(axis=1)
    deleted = causal.without_cue["delete"].argmax(axis=1)
    flips = sorted(
        ((place, item) for place, item in enumerate(causal.items) if deleted[place] != old[item.row]),
        key=lambda pair: -confidence[pair[1].row],
    )
    if not flips:
        return ()
    examples = []
    for place, item in flips[:N_EXAMPLES]:
        marks = tuple(
            p.Mark(word.start, word.end, "cue", note="the cue that is deleted")
            for word in measured.words(item.row)
            if split.texts[item.row][word.start : word.end].lower() == item.cue
        )
        example = example_of(context, split, item.row, int(old[item.row]), float(confidence[item.row]), marks)
        new = context.label_name(int(deleted[place]))
        examples.append(dataclasses.replace(example, note=f"Without “{item.cue}”: {new}."))
    return (
        p.ExampleList(
            key="decided_by_a_word",
            title="Decided by one word",
            note=f"{first_of(len(examples), len(flips), 'such prediction', 'surest')}. The deleted cue is marked.",
            examples=tuple(examples),
        ),
    )
