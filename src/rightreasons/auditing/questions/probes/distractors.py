"""The part of the report on what kinds of choices are added: near ones, random ones, and "None of the above"."""

from __future__ import annotations

from collections.abc import Sequence

from rightreasons.auditing.context import AuditContext
from rightreasons.auditing.page import parts as p
from rightreasons.auditing.page.words import p_equals, percent, written
from rightreasons.data.perturbing.probes import NONE_OF_THE_ABOVE
from rightreasons.measuring.asking.distractors import DistractorFigures, added_choices
from rightreasons.measuring.estimates import estimate_of
from rightreasons.measuring.options import ProbesOptions
from rightreasons.measuring.probes import near_choices_name

SOURCE = "Elhady et al. 2025; comparison of this package"


def asked(
    context: AuditContext, options: ProbesOptions, choices: Sequence[Sequence[str]]
) -> tuple[tuple[int, ...], int | None, bool]:
    """Return the numbers of choices that can be added, how many near ones, and whether "None of the above" is."""
    ks, near, none = added_choices(choices, options.ks)
    stored = None if context.stored is None else context.stored.answers
    unasked = stored is not None and f"{context.primary.ids[0]}/{near_choices_name(near)}" not in stored
    return (ks, None, False) if unasked or not options.distractors else (ks, near, none)


def part(figures: DistractorFigures, joint: bool, level: str) -> p.Part:
    """Report the distractors."""
    k, none = figures.k, figures.none
    near = "The choice of another item that shares" if k == 1 else f"The {k} choices of other items that share"
    text = (
        f"{near} most words with the right one, rare words counting most, "
        f"{'is added in the place of a random one' if k == 1 else f'are added in the place of {k} random ones'}. "
        f"A near choice is picked in {written(figures.near.picked)} of the items, a "
        f"random one in {written(figures.random.picked)} (McNemar's test, p {p_equals(figures.p_value)}). A model that "
        "knows the answer is drawn to neither; one that goes by words, to the near ones. A near choice may be right "
        "too."
    )
    added_rows: tuple[tuple[str, p.Estimate, p.Estimate | None], ...] = ()
    if none is not None:
        alarms = estimate_of(none.false_alarms, none.false_alarms_interval)
        hits = estimate_of(none.hits, none.hits_interval)
        added_rows = (
            (f"“{NONE_OF_THE_ABOVE}”, which is wrong", alarms, None),
            (f"“{NONE_OF_THE_ABOVE}”, which is right", hits, hits),
        )
        text += (
            f"\n\n“{NONE_OF_THE_ABOVE}”, added to the choices, is picked in {written(alarms)} of the items; with the "
            f"right choice taken out, so that it is right, in {written(hits)}. "
        )
        text += (
            f"If taking it out changed no other score, it would be {percent(none.expected)} (McNemar's test of the "
            f"difference, p {p_equals(none.p_value)})."
            if joint
            else "This scorer looks at one choice at a time, and cannot know that the right one is gone: the "
            "difference is arithmetic."
        )
    return p.Part(
        title="Near choices, and none of the above",
        text=text,
        tables=(
            p.Table(
                key="distractors",
                title="Kinds of added choices",
                columns=(
                    p.Column("kind", "Added", "text"),
                    p.Column("picked", f"An added one is picked [{level}]", "share"),
                    p.Column("accuracy", f"Accuracy [{level}]", "share"),
                ),
                rows=(
                    (f"{k} random", figures.random.picked, figures.random.accuracy),
                    (f"{k} near", figures.near.picked, figures.near.accuracy),
                    *added_rows,
                ),
                source=SOURCE,
            ),
        ),
    )
