"""Name what decides, in words that can be the subject of a sentence.

The page, the headline and the tables name a feature by the same functions, so that they agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rightreasons.core.sentences import join_parts
from rightreasons.core.tokens import is_punctuation
from rightreasons.page.parts import Cell
from rightreasons.shortcuts.measure_deciding import TEST_MARGINS, FeatureEffect
from rightreasons.shortcuts.measurement import ShortcutAnswers
from rightreasons.shortcuts.swapping.edits import Pair

MAX_SUBJECT_WORDS = 4
"""Number of words by which a sentence names a list."""

MAX_TABLE_WORDS = 8
"""Number of words by which a table names a list."""

GROUPS = {
    "declared words": "the words",
    "words named before": "the words",
    "words listed before": "words",
    "exclusive words before": "words of a single label",
    "a word per text before": "a single word of each text",
    "all listed words": "words",
    "exclusive words": "words of a single label",
    "a word per text": "a single word of each text",
    "strongest word per text": "the strongest word of each text",
    "rare words": "rare words",
}
"""Test of a list -> name of its words."""

PLURAL_TESTS = (
    "declared words",
    "words named before",
    "words listed before",
    "exclusive words before",
    "all listed words",
    "exclusive words",
    "rare words",
    "form",
    "overlap",
)
"""Tests whose features are plural."""

AGREEING_TESTS = tuple(test for test in GROUPS if test not in ("words named before", "rare words"))
"""Tests of lists, which swap the words of the predicted label. Pairs and rare words are swapped in
all texts that contain them."""


def subject(row: FeatureEffect) -> str:
    """Return a noun phrase for a feature, such as "the words “too” and “best”" or "the length".

    A list is named by its most effective words, and the form by its marks.

    Args:
        row: Effect of the feature, with its test, its name and its words.
    """
    words = row.words[:MAX_SUBJECT_WORDS]
    if row.test in ("words", "insertion"):
        return f"the {_name_kind(row.words)} {quote_words(row.words)}"
    if row.test in GROUPS:
        return _name_group(GROUPS[row.test], row.words)
    if row.test == "form" and words:
        return f"{row.name} (such as {quote_words(words)})"
    # The most effective part is only known if the form is decisive.
    if row.test == "form" and row.name == row.test:
        return "the capitals, marks and spaces"
    if row.test == "any word":
        return "the exact wording"
    if row.test == "place":
        return f"the {row.name} of the text"
    if row.test == "overlap":
        return "the words that both texts share"
    # The name of a form may have its article already.
    if row.name.startswith("the "):
        return row.name
    return f"the {row.name}"


def _name_group(group: str, words: Sequence[str]) -> str:
    """Return a noun phrase for a list of words: all of them, or the first ones as examples.

    Args:
        group: Noun phrase for the list, such as "the words" or "rare words".
        words: Words of the list, the most effective first; empty if they have no names.
    """
    if not words:
        return group
    named_words = words[:MAX_SUBJECT_WORDS]
    if group == "the words" and len(words) <= MAX_SUBJECT_WORDS:
        return f"{group} {quote_words(named_words)}"
    if group in ("words", "rare words"):
        return f"{group} such as {quote_words(named_words)}"
    # The sentence continues after the name, and commas around the examples would split it.
    return f"{group} (such as {quote_words(named_words)})"


def _name_kind(words: Sequence[str]) -> str:
    """Return a noun for words and marks: "word", "words", "mark", "marks" or "words and marks"."""
    n_marks = sum(is_punctuation(word) for word in words)
    # In the singular; several words get an "s".
    kind = "word"
    if n_marks == len(words):
        kind = "mark"
    elif n_marks:
        kind = "words and mark"
    if len(words) == 1:
        return kind
    return f"{kind}s"


def quote_words(words: Sequence[str]) -> str:
    """Return words in quotation marks as an enumeration."""
    return join_parts([f"“{word}”" for word in words])


def name_pair_key(pair: Pair) -> str:
    """Return the name of a pair of words by which audits are compared, such as "copper/marble".

    Two audits may pair the same words in another order, or a word with another neutral one.
    """
    words = "/".join(sorted(pair.predictive_words))
    # A word may be a cue in one text of a pair only.
    return words if pair.column == 0 else f"{words}.text_pair"


def is_plural(row: FeatureEffect) -> bool:
    """Return whether the subject of a sentence about a feature is plural."""
    if row.test in ("words", "insertion"):
        return len(row.words) > 1
    return row.test in PLURAL_TESTS


def needs_agreement(row: FeatureEffect) -> bool:
    """Return whether a test only swaps words that predict the label that the model predicts."""
    return row.test in AGREEING_TESTS


def describe_decision(row: FeatureEffect) -> str:
    """Return a decision with its margin, such as "less than 50%"."""
    # Each test has its own margins, because a list of words may decide more than a single pair.
    margin = TEST_MARGINS[row.test]
    texts = {
        "large": f"more than {margin.large:.0%}",
        "some": f"more than {margin.small:.0%}",
        "small": f"less than {margin.small:.0%}",
        "unknown": "inconclusive",
    }
    return texts[row.decision.level]


def describe_margin(row: FeatureEffect) -> str:
    """Return the share that a feature must stay below for a green verdict, such as "50%"."""
    return f"{TEST_MARGINS[row.test].small:.0%}"


def name_feature(row: FeatureEffect) -> str:
    """Return the words of a feature, or its name."""
    if row.test == "words" or not row.words:
        return row.name
    return ", ".join(row.words[:MAX_TABLE_WORDS])


def list_cells(row: FeatureEffect) -> tuple[Cell, ...]:
    """Return cells of a table about a feature.

    They are its name, its effect, the share of texts that have it, the shares of predictions that
    change with the swap and with the control, and the follow rate.
    """
    effect = row.effect
    return (
        name_feature(row),
        row.estimate,
        effect.coverage,
        effect.rate,
        effect.control_rate,
        row.follow_rate,
    )


def list_test_rows(measurement: ShortcutAnswers) -> Iterator[tuple[Cell, ...]]:
    """Yield the effect of each test."""
    # A test that could not be made has no row; the verdict names it.
    for row in measurement.swaps.rows:
        yield row.test, *list_cells(row), describe_decision(row)


def list_insertion_rows(measurement: ShortcutAnswers) -> Iterator[tuple[Cell, ...]]:
    """Yield, for each label, the word whose insertion changes most predictions to that label."""
    for row in measurement.swaps.insertions:
        label = measurement.context.label_name(row.label)
        yield row.words[0], label, row.estimate, row.effect.control_rate
