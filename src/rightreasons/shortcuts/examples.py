"""Show single texts: before and after a swap, and misclassified ones with their top tokens.

The second list is the paper's Table 4: each token that a prediction relies on is marked, with its
type if it is a shortcut. Both lists are deterministic, so that a report has the same examples on
every machine.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.examples import list_differences, make_example
from rightreasons.audited.splits import AuditSplit
from rightreasons.core.sentences import join_parts, pluralize
from rightreasons.page.formats import percent
from rightreasons.page.parts import Change, Example, Mark
from rightreasons.shortcuts.measure import ShortcutMeasurement
from rightreasons.shortcuts.measure_deciding import FeatureEffect, SwappedItem
from rightreasons.shortcuts.measurement import ShortcutAnswers
from rightreasons.shortcuts.protocols import Protocol
from rightreasons.shortcuts.swapping.segments import Segmenter, Token
from rightreasons.shortcuts.swapping.training import get_item

N_EXAMPLES = 5
"""Number of examples of a list."""

MAX_NAMED_WORDS = 3
"""Number of replaced words that an example names; it counts the others."""

MAX_SHORT_WORDS = 40
"""Number of words of a text that counts as short. Longer texts come later in a list."""

TOKEN_TYPES = {
    "lexical": "lexical word",
    "stop_word": "function word",
    "punctuation": "punctuation",
    "sub_word": "piece of a word",
    "number": "number",
}
"""Category of a token -> its name for readers."""


def list_swapped_examples(
    measurement: ShortcutAnswers, feature: FeatureEffect | None = None
) -> Iterator[Example]:
    """Yield correct predictions with the swap of a feature, for the page.

    Short texts come first, and among them those with the most confident predictions before and
    after the swap.

    Args:
        measurement: The measurement, with the edited items of each feature.
        feature: The feature; None for the strongest one.

    Yields:
        The original items, with marks at the swapped words and a note such as "When it becomes
        “dull”, the prediction is negative (98.0%)."
    """
    feature = feature or measurement.strongest
    if feature is None:
        return
    split = measurement.context.primary
    columns = [split.texts, *_list_pairs(split)]
    confidences = measurement.context.scores().confidence

    def rank(item: SwappedItem) -> tuple[bool, float, str]:
        """Return a key that is smaller for shorter and more confident items; ids break ties."""
        words = " ".join(get_item(columns, item.row)).split()
        is_long = len(words) > MAX_SHORT_WORDS
        # A prediction of 98% that flips to one of 50.1% convinces nobody: the smaller one counts.
        confidence = min(float(confidences[item.row]), item.confidence)
        return is_long, -confidence, split.ids[item.row]

    items = sorted(_select_swapped_items(measurement, feature), key=rank)
    for item in items[:N_EXAMPLES]:
        original = get_item(columns, item.row)
        marks, clauses = describe_swap(original, item.text)
        label = measurement.context.label_name(item.label)
        # If a whole text was exchanged, marks at single words mean nothing.
        if _shows_unchanged(feature):
            marks = ()
            label = f"still {label}"
        example = make_example(measurement.context, split, item.row, marks=marks)
        # Answers of a log or a generating model have no confidence.
        if not measurement.context.answers_once:
            label = f"{label} ({percent(item.confidence)})"
        note = f"When {join_parts(clauses)}, the prediction is {label}."
        yield dataclasses.replace(example, note=note)


def _select_swapped_items(
    measurement: ShortcutAnswers, feature: FeatureEffect
) -> Iterator[SwappedItem]:
    """Yield the swaps of a feature that show its effect, on correctly predicted items.

    Most features show it by predictions that change. If one text of a pair decides alone, the
    predictions stay the same although the other text is exchanged.

    Args:
        measurement: The answers, with all swapped items.
        feature: The feature.
    """
    split = measurement.context.primary
    predicted = measurement.context.scores().predicted
    is_correct = predicted == split.labels
    # If the label is known to be wrong, the prediction is not really correct.
    is_eligible = is_correct & ~split.mislabeled
    for item in measurement.swaps.swapped_items:
        is_about_feature = item.feature == feature.key
        if not is_about_feature or not is_eligible[item.row]:
            continue
        is_unchanged = item.label == predicted[item.row]
        if is_unchanged == _shows_unchanged(feature):
            yield item


def _shows_unchanged(feature: FeatureEffect) -> bool:
    """Return whether a feature is shown by predictions that stay the same, not by changed ones."""
    # If a single text of a pair decides, an exchange of the other text changes no prediction.
    return feature.test == "one text alone"


def _list_pairs(split: AuditSplit) -> list[Sequence[str]]:
    """Return the column of second texts, if there is one."""
    if split.text_pairs is None:
        return []
    return [split.text_pairs]


def describe_swap(
    original: Sequence[str], edited: Sequence[str]
) -> tuple[tuple[Mark, ...], list[str]]:
    """Mark what a swap changes in the first text, and describe the changes in words.

    Up to three replaced words are named. For other changes, such as new spaces, the whole edited
    text is quoted.

    Args:
        original: The text, or both texts of a pair.
        edited: The text or texts after the swap.

    Returns:
        Marks in the first text, and clauses such as "it becomes “dull”".
    """
    replacements = []
    # Marks are in the first text only, so that a change of the second text is described.
    is_second_unchanged = original[1:] == edited[1:]
    if is_second_unchanged:
        replacements = _list_replacements(original[0], edited[0])
    # If more than half of the words differ, the edited text is another text, whose words do not
    # correspond to those of the original.
    n_words = len(original[0].split())
    max_replacements = max(2, n_words / 2)
    if 0 < len(replacements) <= max_replacements:
        return _mark_replacements(replacements), _name_replacements(replacements)

    names: tuple[str, ...] = ("it",)
    if len(original) > 1:
        names = ("the first text", "the second text")
    clauses = []
    for name, old_text, new_text in zip(names, original, edited, strict=True):
        if old_text != new_text:
            # A page shows neither double spaces nor line breaks, so that signs replace them.
            visible = new_text.replace("  ", "␣␣").replace("\n", "⏎")
            clauses.append(f"{name} becomes “{visible}”")
    marks = []
    for mark in list_differences(edited[0], original[0]):
        marks.append(dataclasses.replace(mark, kind="cue", note=""))
    return tuple(marks), clauses


class Replacement(NamedTuple):
    """A replaced word of a text.

    Attributes:
        token: The replaced word, with its position.
        word: Its spelling in the text, such as "Fine".
        substitute: Spelling of the new word.
    """

    token: Token
    word: str
    substitute: str


def _list_replacements(original: str, edited: str) -> list[Replacement]:
    """Return the words that differ between two texts, position by position.

    Empty if the texts have different numbers of words, which then do not correspond.

    Args:
        original: Text of the item.
        edited: The same text after a swap of words.
    """
    segmenter = Segmenter()
    tokens = segmenter.split((original,))
    new_tokens = segmenter.split((edited,))
    if len(tokens) != len(new_tokens):
        return []
    replacements = []
    for token, new_token in zip(tokens, new_tokens, strict=True):
        if token.word != new_token.word:
            word = original[token.start : token.end]
            substitute = edited[new_token.start : new_token.end]
            replacements.append(Replacement(token, word, substitute))
    return replacements


def _mark_replacements(replacements: Sequence[Replacement]) -> tuple[Mark, ...]:
    """Return a mark for each replaced word, which says what it becomes."""
    marks = []
    for token, _, substitute in replacements:
        note = f"becomes “{substitute}”"
        marks.append(Mark(token.start, token.end, kind="cue", note=note))
    return tuple(marks)


def _name_replacements(replacements: Sequence[Replacement]) -> list[str]:
    """Return clauses that name the first replaced words, and the number of further ones.

    Args:
        replacements: Replaced words of a text, at least one.

    Returns:
        Clauses such as ["“fine” becomes “dull”", "“good” becomes “bad”"]. A single word is marked in
        the text, and needs no name: ["it becomes “dull”"].
    """
    # A word that occurs twice is replaced twice and named once.
    replacement_by_word: dict[str, Replacement] = {}
    for replacement in replacements:
        replacement_by_word.setdefault(replacement.token.word, replacement)
    distinct = list(replacement_by_word.values())
    if len(distinct) == 1:
        return [f"it becomes “{distinct[0].substitute}”"]
    clauses = []
    for _, word, substitute in distinct[:MAX_NAMED_WORDS]:
        clauses.append(f"“{word}” becomes “{substitute}”")
    n_more = len(distinct) - len(clauses)
    if n_more > 0:
        clauses.append(pluralize(n_more, "more word is swapped", "more words are swapped"))
    return clauses


def list_changes(measurement: ShortcutAnswers) -> Iterator[tuple[str, Change]]:
    """Yield the swaps of word pairs in single texts, which a reader of the page can try.

    Args:
        measurement: Results of the question about shortcuts. `swaps` has the tested pairs of words
            and some items with their words swapped, and `context` the audited items and labels.

    Yields:
        (original text, change): the changed text, its prediction, and a name such as "“fine” →
        “dull”".
    """
    pair_names = {row.name for row in measurement.swaps.pairs}
    for item in measurement.swaps.swapped_items:
        is_single_text = len(item.text) == 1
        if item.feature not in pair_names or not is_single_text:
            continue
        original = measurement.context.primary.texts[item.row]
        # A word that occurs twice is swapped twice, and named once.
        edited = item.text[0]
        swap_names: dict[str, None] = {}
        for token, _, substitute in _list_replacements(original, edited):
            swap_name = f"“{token.word}” → “{substitute.lower()}”"
            swap_names[swap_name] = None
        if not swap_names:
            continue
        name = ", ".join(swap_names)
        # Answers of a generating model have no confidence.
        confidence = None
        if not measurement.context.answers_once:
            confidence = item.confidence
        label = measurement.context.label_name(item.label)
        yield original, Change(name, edited, label, confidence)


def list_misclassified_examples(measurement: Any) -> Iterator[Example]:
    """Yield misclassified items that are shortcut-cued, the most confident predictions first.

    Their top tokens by attribution are marked, and the note names their shortcuts.

    Args:
        measurement: `ShortcutAnswers` with attributions.
    """
    measured: ShortcutMeasurement = measurement.measured
    confidences = measured.probabilities.max(axis=1)
    is_error = measured.predictions != measured.labels
    # A wrong label makes a correct prediction look like an error.
    is_real_error = is_error & ~measurement.items.mislabeled
    is_eligible = is_real_error & measured.cued
    rows = np.flatnonzero(is_eligible)

    def rank(row: int) -> tuple[float, str]:
        """Order items by falling confidence, and equal ones by their ids."""
        confidence = float(confidences[row])
        return -confidence, measurement.items.ids[row]

    ranked_rows = sorted(rows.tolist(), key=rank)
    for row in ranked_rows[:N_EXAMPLES]:
        yield make_example(
            measurement.context,
            measurement.items,
            row,
            predicted=int(measured.predictions[row]),
            confidence=float(confidences[row]),
            marks=mark_top_tokens(measured, row),
            note=describe_shortcuts(measured, row),
        )


def mark_top_tokens(measured: ShortcutMeasurement, row: int) -> tuple[Mark, ...]:
    """Return marks of the top tokens of an item by attribution, for the page.

    A token that is a shortcut gets a mark of the kind "cue", any other one of the kind "weight".

    Args:
        measured: Attributions and shortcuts of all items, in flat arrays.
        row: Row of the item in the measurement.

    Returns:
        The marks in the first text, in its order. The weight is the attribution relative to the
        largest one of the item.
    """
    shortcuts = measured.reliance.examples[row]
    positions_and_categories = zip(shortcuts.positions, shortcuts.categories, strict=True)
    category_by_position = dict(positions_and_categories)
    attributions = measured.attributions
    # The tokens of all items are in flat arrays, those of this item from `start` to `stop`.
    offsets = attributions.scores.offsets
    start, stop = offsets[row : row + 2].tolist()
    scores = attributions.scores.values[start:stop]
    largest = float(np.abs(scores).max())
    # All attributions are 0 if the model ignores the text.
    largest = max(largest, 1e-12)
    marks = []
    for position in _rank_tokens(scores, measured.protocol):
        index = start + position
        first_character = int(attributions.starts[index])
        end_character = int(attributions.ends[index])
        # Only characters of the first text can be marked, and special tokens have none.
        is_second_text = attributions.parts[index] > 0
        is_special = first_character == end_character
        if is_second_text or is_special:
            continue
        weight = float(scores[position]) / largest
        note = f"attribution {weight:.2f} of the largest"
        mark = Mark(
            first_character,
            end_character,
            kind="weight",
            weight=weight,
            note=note,
        )
        category = category_by_position.get(position)
        if category is not None:
            cue_note = f"shortcut ({TOKEN_TYPES[category]}), {note}"
            mark = dataclasses.replace(mark, kind="cue", note=cue_note)
        marks.append(mark)
    return tuple(_drop_overlaps(marks))


def _rank_tokens(scores: NDArray[np.float64], protocol: Protocol) -> list[int]:
    """Return the positions of the `top_n` tokens of a text, the most important first.

    Args:
        scores: Attribution of each token.
        protocol: Number of top tokens, and whether they are ranked by value or by magnitude.
    """
    keys = scores
    if protocol.rank_by == "magnitude":
        keys = np.abs(scores)
    order = np.argsort(-keys, kind="stable")
    return [int(position) for position in order[: protocol.top_n]]


def _drop_overlaps(marks: Sequence[Mark]) -> list[Mark]:
    """Return marks in the order of the text, without those that overlap an earlier one.

    Several byte-level pieces of one character have the same span, which is marked once.
    """
    separate: list[Mark] = []
    for mark in sorted(marks, key=lambda mark: (mark.start, mark.end)):
        if not separate or mark.start >= separate[-1].end:
            separate.append(mark)
    return separate


def describe_shortcuts(measured: ShortcutMeasurement, row: int) -> str:
    """Return a sentence on the shortcuts of an item, such as "Shortcut: “copper” (lexical word).".

    Args:
        measured: Attributions and shortcuts of all items, in flat arrays.
        row: Row of the item in the measurement.
    """
    example = measured.reliance.examples[row]
    # A word that occurs twice among the top tokens is listed once.
    descriptions: dict[str, None] = {}
    for token, category in zip(example.tokens, example.categories, strict=True):
        descriptions[f"“{token}” ({TOKEN_TYPES[category]})"] = None
    noun = "Shortcuts"
    if len(descriptions) == 1:
        noun = "Shortcut"
    return f"{noun}: {', '.join(descriptions)}."
