"""What the first screen says about fragile examples."""

from __future__ import annotations

from collections.abc import Mapping

from rightreasons.auditing.context import AuditContext
from rightreasons.auditing.page.actions import ask, gate
from rightreasons.auditing.page.parts import Action, Example, Finding, Headline
from rightreasons.auditing.page.words import percent
from rightreasons.foundations.sentences import counted
from rightreasons.measuring.difficulty import ExtremeFlips


def finding(
    context: AuditContext,
    headlines: Mapping[str, Headline],
    flips: ExtremeFlips | None,
    n_items: int,
    examples: tuple[Example, ...],
) -> Finding:
    """Say what one replaced word does to the most fragile items, or how often the model is right on them."""
    read = Action("Read the most fragile items, and the words that move them.", link="#difficulty")
    rank = Action(
        "Rank all items, and label or augment the most fragile ones first.",
        ask(context, "difficulty", all_items=True, items="1000"),
    )
    tested = (0, 0) if flips is None else flips.n_flipped(hard=True, kinds=flips.kept)
    if flips is not None and tested[1]:
        flipped, easy = tested[0], flips.n_flipped(hard=False, kinds=flips.kept)
        least = f", and on {easy[0]} of the {easy[1]} least fragile" if easy[1] else ""
        return Finding(
            claim=f"changes its answer on {flipped} of the {tested[1]} most fragile items when one word is replaced by "
            f"one of like meaning{least}",
            evidence=f"Word replacements in {tested[1] + easy[1]} of {n_items:,} ranked items.",
            figure="hardest_flipped",
            # Of the items, the tested ones are the extremes.
            size=flipped / n_items,
            plot="difficulty_accuracy",
            pair=tuple(example for example in examples if "flips it" in example.note)[:1],
            actions=(read, rank, gate("difficulty.easiest_flipped.low > 0.1", "one word surely flips easy items")),
        )
    accuracy = headlines.get("hardest_accuracy")
    if accuracy is None:
        claim = f"has its answers to {counted(n_items, 'item')} ranked by fragility"
        return Finding(claim=claim, evidence="", actions=(read, rank))
    return Finding(
        claim=f"gets {percent(accuracy.estimate.value or 0.0)} of its most fragile items right",
        evidence=f"{counted(n_items, 'item')} ranked by the Fisher information; no word was replaced.",
        figure="hardest_accuracy",
        plot="difficulty_accuracy",
        actions=(read, rank),
    )
