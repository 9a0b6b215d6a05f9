"""Rows of the tables of the page about reasons, and the examples that it shows."""

from __future__ import annotations

from collections.abc import Iterator

from rightreasons.core.choices import LETTERS
from rightreasons.core.estimates import make_estimate
from rightreasons.page.parts import Cell, Example, Mark
from rightreasons.reasons.answers import Arm
from rightreasons.reasons.measure import ReasonsMeasurement
from rightreasons.reasons.second import join_texts
from rightreasons.reasons.trace import HINT, Trace

Row = tuple[Cell, ...]

MAX_SHOWN_CHARACTERS = 700
"""Length of an answer on the page. The file has all of it."""

CHANGES = {"mistake": "a mistake in its reasoning", "reworded": "reasoning in other words"}
"""Edit of the reasoning -> its description."""


def list_sway_rows(measurement: ReasonsMeasurement) -> Iterator[Row]:
    """Yield how many answers each hint changes, and how many of them in silence.

    A row has: title, items, sway, its p-value, silent sway, its p-value, its upper bound, cost in
    accuracy, and change of the share that keeps the plain answer.

    Args:
        measurement: Results of the question about reasons. `hints` maps the key of a hint to its
            results, such as its title, its `sway` (how it changes answers) and its `evidence`.
    """
    for hint in measurement.hints.values():
        sway = hint.sway
        # If the reasoning is not shown, nobody knows whether it names the hint.
        silent_cells: Row = (sway.lower_bound, hint.silent_p, sway.upper)
        if measurement.why_unseen:
            silent_cells = (None, None, None)
        cost = None
        if sway.cost is not None:
            cost = sway.cost.estimate
        yield (
            hint.title,
            sway.n_items,
            sway.sway.estimate,
            hint.sway_p,
            *silent_cells,
            cost,
            sway.plain_kept.estimate,
        )


def list_label_rows(measurement: ReasonsMeasurement) -> list[Row]:
    """Return the sway of hints to the correct option, and of hints to an incorrect one.

    A row has: title of the kind of hint, hinted option in words, and sway. Empty if no hint names
    the correct option.
    """
    names = {"right": "the correct option", "wrong": "the incorrect option"}
    rows: list[Row] = []
    for hint in measurement.hints.values():
        for name, estimate in hint.sway.by_label.items():
            rows.append((hint.title, names[name], estimate))
    return rows


def list_mention_rows(measurement: ReasonsMeasurement) -> Iterator[Row]:
    """Yield how many of the answers at each hint mention it, with Chen et al.'s score and phi.

    A row has: title, answers at the hint that show reasons, shares that mention it and that credit it, Chen et al.'s
    alpha and normalized score, phi and its p-value, and false confessions.

    Args:
        measurement: Results of the question about reasons. `hints` maps the key of a hint to its
            results, such as its title, its `sway` (how it changes answers) and its `evidence`.
    """
    for hint in measurement.hints.values():
        sway = hint.sway
        score = sway.acknowledgment
        # Only a judge can read whether the hint is given as a reason.
        credited = None
        if hint.judged is not None:
            credited = hint.judged.credited
        yield (
            hint.title,
            hint.n_explained,
            sway.mentioned,
            credited,
            score.alpha,
            make_estimate(score.normalized, score.interval),
            sway.phi.phi,
            sway.phi.p_value,
            hint.false_confessions,
        )


def list_evidence_rows(measurement: ReasonsMeasurement) -> Iterator[Row]:
    """Yield the evidence on the silence of the answers at each hint, from the texts and a judge.

    A row has: title, items, accuracy of the classifier, share with more new words, share that is
    longer, p-value, telling words, smallest share of implanted acknowledgments that is noticed, and
    the shares of answers that a judge says mention the hint.

    Args:
        measurement: Results of the question about reasons. `hints` maps the key of a hint to its
            results, such as its title, its `sway` (how it changes answers) and its `evidence`.
    """
    for hint in measurement.hints.values():
        texts = hint.evidence.texts
        # Too few answers are not compared.
        if texts is None:
            continue
        alpha = 1 - hint.sway.silent.estimate.level
        noticed = "none"
        if hint.evidence.noticed_share is not None:
            noticed = f"{hint.evidence.noticed_share:.0%}"
        elif texts.p_value < alpha:
            # Implanted acknowledgments would prove nothing if the unchanged texts differ.
            noticed = "not needed"
        yield (
            hint.title,
            texts.n_items,
            texts.accuracy,
            texts.has_more_new_words,
            texts.is_longer,
            texts.p_value,
            ", ".join([f"“{word}”" for word in texts.words]),
            noticed,
            hint.evidence.judged,
            hint.evidence.acknowledged,
        )


def list_judged_rows(measurement: ReasonsMeasurement) -> Iterator[Row]:
    """Yield what a judge says of the answers at each hint, without hints that it did not judge.

    A row has: title, judgments, shares that mention the hint, that credit it, and for which the
    search for words agrees, dropped judgments, planted texts found, and plain texts spared.
    """
    for hint in measurement.hints.values():
        judged = hint.judged
        if judged is None:
            continue
        yield (
            hint.title,
            judged.n,
            judged.mentioned,
            judged.credited,
            judged.agrees,
            judged.dropped,
            f"{judged.n_found} of {judged.n_planted}",
            f"{judged.n_spared} of {judged.n_plain}",
        )


def list_detector_rows(measurement: ReasonsMeasurement) -> Iterator[Row]:
    """Return the errors of the search for the name and the role of the source."""
    for hint in measurement.hints.values():
        detector = hint.detector
        yield (hint.title, detector.false_mentions, detector.neutral_mentions, detector.missed)


def list_effect_rows(measurement: ReasonsMeasurement) -> Iterator[Row]:
    """Yield the effects of the first hint: through the reasoning, past it, and their difference.

    A row has: name, effect, and p-value.
    """
    result = measurement.transplant
    if result is None:
        return
    effects = {
        "through the reasoning written with the hint": result.indirect,
        "bypassing the reasoning": result.direct,
        "the second minus the first": result.bypass,
    }
    for name, effect in effects.items():
        yield (name, effect.estimate, effect.p_value)


def list_change_rows(measurement: ReasonsMeasurement) -> Iterator[Row]:
    """Return how many answers an edit of the reasoning changes."""
    for name, (change, n_items) in measurement.changes.items():
        yield (CHANGES[name], n_items, change.estimate, change.p_value)


def make_examples(measurement: ReasonsMeasurement) -> tuple[Example, ...]:
    """Return the answers to an item next to the neutral sentence and next to the hint."""
    if measurement.pair is None:
        return ()
    neutral_trace, hinted_trace = measurement.pair
    return make_example(neutral_trace), make_example(hinted_trace)


def make_example(trace: Trace) -> Example:
    """Make an example of an answer: the question, the sentence next to it, and the reasoning.

    Args:
        trace: The answer. The sentence of its arm, if there is one, is marked.
    """
    question = f"{trace.question}\n\n{trace.sentence}"
    text = f"{question}\n\n→ {_clip(join_texts(trace))}"
    # The plain question has no sentence next to it.
    marks: tuple[Mark, ...] = ()
    if trace.sentence:
        # The sentence is the end of the question.
        end = len(question)
        start = end - len(trace.sentence)
        marks = (_mark_sentence(trace, start, end),)
    return Example(
        id=trace.item,
        text=text,
        label=get_letter(trace.label),
        prediction=get_letter(trace.answer),
        confidence=None,
        marks=marks,
    )


def _clip(text: str) -> str:
    """Return the beginning of a text."""
    if len(text) <= MAX_SHOWN_CHARACTERS:
        return text
    # A cut within a word is better than a longer page.
    return f"{text[:MAX_SHOWN_CHARACTERS].rstrip()}…"


def _mark_sentence(trace: Trace, start: int, end: int) -> Mark:
    """Make a mark of the hint or neutral sentence next to a question, with a note on what it is.

    Args:
        trace: The answer next to it.
        start: Beginning of the sentence in the text of the example.
        end: End of the sentence.
    """
    if trace.arm != HINT:
        return Mark(start, end, "change", note="a neutral sentence by the same source")
    # The search for the source needs an arm, which has a single answer here.
    is_mention = Arm({trace.item: trace}).mentions[0]
    if is_mention:
        note = "the hint; the answer names its source"
    else:
        note = "the hint; the answer does not name its source"
    return Mark(start, end, "cue", note=note)


def get_letter(option: int) -> str:
    """Return the letter of an option; "" for none."""
    # An unread answer, or an item without a label.
    if option < 0:
        return ""
    return LETTERS[option]
