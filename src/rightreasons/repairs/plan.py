"""repair.yaml: which words a person has judged, and which are still open.

Nothing is edited that nobody called no reason. `make_plan` lists what decides; a person fills in `reason: yes` or
`reason: no`, and `read_plan` takes it back.
"""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import yaml

from rightreasons.core.errors import OptionError
from rightreasons.core.results import Result
from rightreasons.core.sentences import format_value
from rightreasons.core.store import write_text
from rightreasons.repairs.findings import Findings
from rightreasons.repairs.training_set import TrainingSet

PLAN_FILE = "repair.yaml"

Judgment = Literal["yes", "no", "?"]

N_TEXTS = 3
"""Number of texts with a word that a person is shown."""

MAX_WORDS_IN_SENTENCE = 6
"""Number of words that a refusal names."""

MAX_WORDS = 60
"""Number of words that a plan lists."""


@dataclasses.dataclass(frozen=True)
class PlannedWord(Result):
    """A word that decides, for a person to judge.

    Attributes:
        word: The word.
        predicts: Name of the label that it predicts.
        texts: Number of training texts that have it.
        decides: Share of the predictions that its pair decides, or else the shortest list with it.
        reason: "yes" if it is a reason for the label, "no" if it is none, "?" if nobody has judged it.
        examples: Three training texts that have it.
    """

    word: str
    predicts: str
    texts: int
    decides: float
    reason: Judgment
    examples: tuple[str, ...]


def make_plan(
    findings: Findings, training: TrainingSet, judged: Mapping[str, Judgment]
) -> list[PlannedWord]:
    """List the words that decide and are in the training texts, with what is known about each.

    Args:
        findings: What the audit named.
        training: Training texts.
        judged: Word -> judgment; the words that are judged "no" are listed whether an audit named them or not.

    Returns:
        The words: those that nobody has judged first, and of these the pairs, by the share that they decide.
    """
    # A pair says more about its words than a list of all words that decide.
    features = sorted(
        findings.features, key=lambda feature: (len(feature.words), -feature.deciding_share)
    )
    shares: dict[str, float] = {}
    sizes: dict[str, int] = {}
    for feature in features:
        for word in feature.words:
            shares.setdefault(word, feature.deciding_share)
            sizes.setdefault(word, len(feature.words))
    for word in judged:
        shares.setdefault(word, 0.0)
        sizes.setdefault(word, 0)

    texts_by_word: dict[str, list[str]] = {word: [] for word in shares}
    counts = dict.fromkeys(shares, 0)
    for item in training.items:
        tokens = training.segmenter.split(item)
        words = {token.word for token in tokens}
        for word in words & shares.keys():
            counts[word] += 1
            if len(texts_by_word[word]) < N_TEXTS:
                texts_by_word[word].append(" / ".join(item))

    # A word of the audited texts alone cannot be edited in the training texts.
    words_in_training = list(filter(counts.get, shares))
    rows = []
    for word, label in training.label_words(words_in_training).labels.items():
        rows.append(
            PlannedWord(
                word=word,
                predicts=training.label_names[label],
                texts=counts[word],
                decides=round(shares[word], 4),
                reason=judged.get(word, "?"),
                examples=tuple(texts_by_word[word]),
            )
        )
    # What waits for a person comes first, and a pair before the lists, which name many words.
    rows.sort(key=lambda row: (row.reason != "?", sizes[row.word], -row.decides, row.word))
    return rows[:MAX_WORDS]


def write_plan(file: Path, rows: Sequence[PlannedWord], settings: Mapping[str, Any]) -> Path:
    """Write a plan as YAML: the settings that make the repair again, and the words."""
    content = {**settings, "words": [row.to_dict() for row in rows]}
    return write_text(file, yaml.safe_dump(content, sort_keys=False, allow_unicode=True))


def read_plan(file: Path) -> dict[str, Judgment]:
    """Read which words a person has judged in a plan.

    Returns:
        Word -> "yes" or "no"; words with "?" are left out.

    Raises:
        ValueError: If the file is no plan, or a judgment is something else.
    """
    try:
        content = yaml.safe_load(file.read_text("utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"Expected {file} as a repair wrote it, but it is no YAML.") from error
    rows = content.get("words") if isinstance(content, dict) else None
    if not isinstance(rows, list):
        raise ValueError(f"Expected `words` in {file}, but got {format_value(content)}.")
    judged: dict[str, Judgment] = {}
    for row in rows:
        # YAML reads a bare yes or no as a truth value.
        reason = {True: "yes", False: "no"}.get(row.get("reason"), row.get("reason"))
        if reason not in ("yes", "no", "?", None):
            raise OptionError(
                f"Expected yes, no or ? as the reason of {format_value(row.get('word'))} in {file.name}, but got "
                f"{format_value(reason)}.",
                option="not_reasons",
            )
        if reason in ("yes", "no"):
            judged[str(row["word"]).lower()] = reason
    return judged


def explain_unjudged(rows: Iterable[PlannedWord], file: Path) -> str:
    """Return the sentence for a report whose words nobody has judged."""
    unjudged = [row for row in rows if row.reason == "?"]
    # The first rows are the strongest pair. A longer list would invite to call every word no reason.
    words = []
    for row in unjudged[:MAX_WORDS_IN_SENTENCE]:
        if row.decides == unjudged[0].decides:
            words.append(row.word)
    # The line can be pasted.
    line = shlex.join(["--not-reasons", ",".join(words)])
    return (
        f"Expected a person's judgment of the words that decide, but there is none: {file} lists {len(unjudged)} words "
        "with three texts each. Write `reason: no` for words that are no reasons and repeat the command, or name "
        f"them, as in {line}"
    )
