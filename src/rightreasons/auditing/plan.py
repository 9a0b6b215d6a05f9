"""What an audit is about to do, and about how long it takes: told before the model reads anything."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rightreasons.analysis.tokens import WORD_PATTERN
from rightreasons.foundations.sentences import counted

if TYPE_CHECKING:
    from rightreasons.auditing.context import AuditContext
    from rightreasons.auditing.page.parts import Section
    from rightreasons.foundations.options import Options

SAMPLE = 8
"""Items that are timed: the model reads them twice, and the faster time counts."""

FEW = 32
"""Items of the audited split below which a classifier is not timed, as all is done in no time."""

PASSES_PER_GRADIENT = 3.0
"""What a pass with its gradient costs, in passes without one: the backward pass costs about two."""

GRADIENTS_PER_ATTRIBUTION = 11.0
"""Gradients of the adaptive rule per item, as measured of an encoder on sentences."""

GRADIENTS_OF_PROMPTS = 30.0
"""The same of a decoder that reads a prompt; a pass is cheap beside them, as items share what precedes them."""

CAUSAL_PASSES = 5.0
"""Most passes per item of the causal test of shortcuts: three ways of taking a word out, a control and an insertion."""

FLIP_PASSES = 1800.0
"""Passes for the replacements of single words in the texts at both ends of the difficulty, which are always as many."""


def plan_lines(
    context: AuditContext, applicable: Sequence[tuple[Section, Any]], options: Mapping[str, Options]
) -> tuple[str, ...]:
    """Say which questions are asked of how many items, and about how long that takes.

    The time of a pass is measured on a few of the items; how many passes a question needs is counted, and for
    gradients estimated. What an earlier run of the same audit has stored is not taken off.

    Args:
        context: The audit, nothing of which is scored yet.
        applicable: The questions with whether they apply.
        options: Question -> its options.

    Returns:
        One sentence; none where predictions are stored, which takes no time.
    """
    asked = [section for section, applies in applicable if applies]
    if context.stored is not None or not asked:
        return ()
    names = ", ".join(section.question for section in asked)
    n_questions, n_items = counted(len(asked), "question"), counted(len(context.primary), "item")
    line = f"{n_questions} ({names}) about {n_items} of {context.primary.name}"
    others = [split.name for split in context.comparisons]
    line += f", and {', '.join(others)}" if others else ""
    if context.server is not None:
        return (f"{line}: as long as the server takes.",)
    if len(context.primary) < FEW and context.prompted is None:
        return (f"{line}.",)
    read = {split.name: split for section in asked for split in context.read(section.reads)}
    passes = float(sum(map(len, read.values())))
    passes += sum(passes_of(section, context, options[section.question]) for section in asked)
    return (f"{line}: about {in_words(passes * seconds_per_pass(context))}, less what an earlier run stored.",)


def passes_of(section: Section, context: AuditContext, options: Any) -> float:
    """Return about how many passes of one item a question needs beyond the predictions.

    Args:
        section: The question.
        context: The audit.
        options: The options of the question.
    """
    n_items, n_classes = len(context.primary), len(context.label_names or ()) or 2
    if section.question == "shortcuts":
        from rightreasons.auditing.questions.shortcuts.section import COMPARED_ITEMS, MAX_ITEMS

        gradients = options.steps or (GRADIENTS_PER_ATTRIBUTION if context.prompted is None else GRADIENTS_OF_PROMPTS)
        most = [MAX_ITEMS, *[COMPARED_ITEMS] * len(context.comparisons)]
        counts = [min(options.items or limit, len(split)) for split, limit in zip(context.splits, most, strict=True)]
        if options.importance == "occlusion" or (context.why_no_gradients() and not options.needs_gradients()):
            counts = [
                count if options.items else min(count, limit // 3) for count, limit in zip(counts, most, strict=True)
            ]
            return float(sum(counts) * _n_words(context) + counts[0] * CAUSAL_PASSES)
        return float(sum(counts) * gradients * PASSES_PER_GRADIENT + counts[0] * CAUSAL_PASSES)
    if section.question == "difficulty":
        from rightreasons.auditing.questions.difficulty.eigenvalue import MAX_ITEMS as RANKED_ITEMS
        from rightreasons.auditing.questions.difficulty.left_out import MAX_ITEMS as LEFT_OUT_ITEMS

        wanted = options.measures or ("eigenvalue", "information")
        passes = float(n_items) if "information" in wanted and context.prompted is not None else 0.0
        by_gradients = "eigenvalue" in wanted and not context.why_no_gradients()
        if "left_out_words" in wanted or not (options.measures or by_gradients):
            passes += min(options.items or LEFT_OUT_ITEMS, n_items) * _n_words(context)
        if not by_gradients:
            return passes
        if context.primary.choices is not None:
            n_classes = max(map(len, context.primary.choices))
        flips = FLIP_PASSES if context.task == "classification" else 0.0
        n_ranked = min(options.items or RANKED_ITEMS, n_items)
        return passes + n_ranked * (1 + (PASSES_PER_GRADIENT - 1) * n_classes) + flips
    if section.question == "probes":
        return float(n_items * (3 + len(options.ks) + 3 * options.distractors))
    if section.question == "behavior":
        suite = context.suite(options)
        return 0.0 if suite is None else float(suite.n_examples)
    return 0.0


def _n_words(context: AuditContext) -> float:
    """Return how many forms a text has, with and without each of its words."""
    return 1 + float(np.mean([len(WORD_PATTERN.findall(text)) for text in context.primary.texts]))


def seconds_per_pass(context: AuditContext) -> float:
    """Measure how long the model takes per item of the primary split, on items of all lengths."""
    split = context.primary
    order = np.argsort([len(text) for text in split.texts], kind="stable")
    rows = order[np.linspace(0, len(order) - 1, min(SAMPLE, len(order))).astype(int)]
    part = split.take(np.sort(rows))
    times = []
    for _ in range(2):
        began = time.perf_counter()
        context.predict_anew(part)
        times.append(time.perf_counter() - began)
    return min(times) / len(part)


def in_words(seconds: float) -> str:
    """Write a time as roughly as it is known.

    Example:
        >>> [in_words(seconds) for seconds in (4, 31, 100, 610, 4000, 20000)]
        ['10 s', '40 s', '2 min', '11 min', '1.5 hours', '6 hours']
    """
    if seconds < 60:
        return f"{max(1, -(-int(seconds) // 10)) * 10} s"
    minutes = -(-seconds // 60)
    if minutes < 60:
        return f"{minutes:.0f} min"
    hours = minutes / 60
    return f"{np.ceil(hours * 2) / 2:g} hours" if hours < 10 else f"{np.ceil(hours):.0f} hours"
