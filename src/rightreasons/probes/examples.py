"""Single items on which a probe, or another order of the choices, shows what it does to an answer.

Each function yields the items that show one finding, the clearest first. An example has the choices
of the item, with the answer and the confidences of the model under two conditions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rightreasons.audited.examples import NOT_SHOWN, Condition, make_choices, shorten_choice
from rightreasons.datasets.perturbing.arms import name_extra_choices
from rightreasons.datasets.perturbing.probes import ORIGINAL
from rightreasons.page.parts import Choice, Example
from rightreasons.probes.measure import OrderedAnswers
from rightreasons.probes.measurement import ProbesMeasurement


def list_kept_examples(measurement: ProbesMeasurement) -> Iterator[Example]:
    """Yield items whose answer stays the same without their question, the clearest first."""
    probe = measurement.probe
    answers = measurement.picked[ORIGINAL]
    is_kept = (answers == measurement.picked[probe]) & (answers >= 0)
    conditions_by_row = {}
    for row in np.flatnonzero(is_kept).tolist():
        conditions_by_row[row] = (
            _read_probe(measurement, ORIGINAL, row, "With its question"),
            _read_probe(measurement, probe, row, "Without it"),
        )
    for row in _rank_rows(measurement, _get_confidences(conditions_by_row)):
        note = "Without its question, the answer is the same."
        # In one of the probes, the prompt is the question of another item.
        other_prompt = measurement.tables.tables[probe][row]["prompt"]
        if other_prompt:
            note = f"With “{shorten_choice(other_prompt)}” instead of its question, the answer is the same."
        yield _make_example(measurement, row, conditions_by_row[row], note)


def list_order_examples(measurement: ProbesMeasurement) -> Iterator[Example]:
    """Yield items whose answer changes with the order of their choices, the clearest first."""
    ordered = measurement.ordered
    if ordered is None:
        return
    conditions_by_row = {}
    changed_rows = np.flatnonzero(ordered.is_answered)[~ordered.is_steady]
    for row in changed_rows.tolist():
        original_choice = ordered.get_picked_choice(0, row)
        changed = []
        for order in range(1, len(ordered.orders)):
            if ordered.get_picked_choice(order, row) != original_choice:
                changed.append(_read_order(ordered, row, order, "Another order"))
        # Of the orders that change the answer, the one with the most confident answer is shown.
        clearest = max(changed, key=lambda condition: condition.top_confidence)
        conditions_by_row[row] = (_read_order(ordered, row, 0, "Original order"), clearest)
    for row in _rank_rows(measurement, _get_confidences(conditions_by_row)):
        note = "Only the order of the choices differs, and the model picks another choice."
        yield _make_example(measurement, row, conditions_by_row[row], note)


def list_paralysis_examples(measurement: ProbesMeasurement) -> Iterator[Example]:
    """Yield items whose correct choice loses confidence beyond dilution, the largest loss first."""
    if measurement.scored is None:
        return
    k = measurement.k
    tables = measurement.tables
    own_confidences = tables.get_own_confidences(name_extra_choices(k))
    loss_by_row = {}
    for row, drop in enumerate(tables.get_restricted_drop(k).tolist()):
        if drop > 0:
            loss_by_row[row] = drop
    for row in _rank_rows(measurement, loss_by_row):
        original = _read_probe(measurement, ORIGINAL, row, "Its own choices")
        # Relative to the own choices, so that the share of the added ones does not count.
        own_row = own_confidences[row]
        extended = dataclasses.replace(
            original, name=f"With {k} more", picked=int(own_row.argmax()), confidences=own_row
        )
        note = f"With {k} more choices, confidences and answer are those among its own choices."
        yield _make_example(measurement, row, (original, extended), note)


def list_unanswerable_examples(measurement: ProbesMeasurement) -> Iterator[Example]:
    """Yield items whose correct choice was replaced, the most confident answer first."""
    probe = "no_right_answer"
    replaced_by_row = {}
    confidence_by_row = {}
    for row, positions in enumerate(measurement.tables.column(probe, "original_positions")):
        answer = _read_probe(measurement, probe, row, "Correct one replaced")
        replaced_by_row[row] = dataclasses.replace(answer, positions=positions)
        confidence_by_row[row] = answer.top_confidence
    for row in _rank_rows(measurement, confidence_by_row):
        replaced = replaced_by_row[row]
        original = _read_probe(measurement, ORIGINAL, row, "Unchanged")
        example = _make_example(measurement, row, (original, replaced), note="")
        # The borrowed choice is at the position of the correct one.
        perturbed = measurement.tables.tables[probe][row]
        position = perturbed["original_positions"].index(NOT_SHOWN)
        borrowed = Choice(
            text=shorten_choice(perturbed["choices"][position]),
            is_correct=False,
            answers=(
                original.describe_choice(NOT_SHOWN, has_letter=False),
                replaced.describe_choice(position, has_letter=False),
            ),
        )
        yield dataclasses.replace(example, choices=(*example.choices, borrowed))


def _read_probe(measurement: ProbesMeasurement, table: str, row: int, name: str) -> Condition:
    """Return the answer to an item in a table of the probes.

    Args:
        measurement: The measurement, with all tables.
        table: Name of the table, such as "no_question", with the choices in their original order.
        row: Row of the item.
        name: Name of the condition for readers.
    """
    # Generated answers have no confidence.
    confidences = None
    if measurement.scored is not None:
        confidences = measurement.tables.confidences[table][row]
    picked = int(measurement.picked[table][row])
    return Condition(name, positions=None, picked=picked, confidences=confidences)


def _read_order(ordered: OrderedAnswers, row: int, order: int, name: str) -> Condition:
    """Return the answer to an item under an order of its choices.

    Args:
        ordered: Answers under each order.
        row: Row of the item.
        order: Number of the order.
        name: Name of the condition for readers.
    """
    confidences = None
    if ordered.probabilities is not None:
        confidences = ordered.probabilities[row, order]
    # `argsort` inverts an order: the position of each choice instead of the choice at each position.
    positions = np.argsort(ordered.orders[order]).tolist()
    return Condition(name, positions, int(ordered.positions[order, row]), confidences)


def _get_confidences(
    conditions_by_row: Mapping[int, Sequence[Condition]],
) -> dict[int, float]:
    """Return, for each row, the confidence of the least confident answer.

    An answer that is close to a tie under one condition convinces nobody.
    """
    confidences = {}
    for row, conditions in conditions_by_row.items():
        confidences[row] = min(condition.top_confidence for condition in conditions)
    return confidences


def _rank_rows(measurement: ProbesMeasurement, strength_by_row: Mapping[int, float]) -> list[int]:
    """Sort the rows of items, the clearest examples first.

    Items that are answered correctly before the change come first, and among them those of the
    shortest quarter. Of these, the one with the strongest effect comes first.

    Args:
        measurement: The measurement.
        strength_by_row: Row -> strength of the effect on the item.
    """
    tables = measurement.tables
    # Whole columns are read, because reading a million items one by one takes minutes.
    ids = tables.column(ORIGINAL, "id")
    prompts = tables.column(ORIGINAL, "prompt")
    choices = tables.column(ORIGINAL, "choices")
    is_correct = measurement.picked[ORIGINAL] == tables.labels()
    n_words_by_row = {}
    for row in strength_by_row:
        text = " ".join([prompts[row], *choices[row]])
        n_words_by_row[row] = len(text.split())
    # Without any item, there is no median.
    # Short items fit on the first screen.
    max_short_words = 0.0
    if n_words_by_row:
        max_short_words = float(np.quantile(list(n_words_by_row.values()), 0.25))

    def rank(row: int) -> tuple[bool, bool, float, str]:
        """Return a key that is smaller for a clearer example; ids break ties."""
        is_long = bool(n_words_by_row[row] > max_short_words)
        return not is_correct[row], is_long, -strength_by_row[row], str(ids[row])

    return sorted(strength_by_row, key=rank)


def _make_example(
    measurement: ProbesMeasurement, row: int, conditions: Sequence[Condition], note: str
) -> Example:
    """Make an example of an item with the answers under several conditions.

    Args:
        measurement: The measurement.
        row: Row of the item.
        conditions: The conditions, the unchanged item first.
        note: Remark on what they show.
    """
    item = measurement.tables.tables[ORIGINAL][row]
    original = conditions[0]
    prediction = ""
    if original.picked != NOT_SHOWN:
        prediction = shorten_choice(item["choices"][original.picked])
    # Generated answers have no confidence.
    confidence = None
    if original.confidences is not None:
        confidence = original.top_confidence
    return Example(
        id=str(item["id"]),
        text=item["prompt"],
        label=shorten_choice(item["choices"][item["label"]]),
        prediction=prediction,
        confidence=confidence,
        note=note,
        conditions=tuple(condition.name for condition in conditions),
        choices=make_choices(item["choices"], item["label"], conditions),
    )
