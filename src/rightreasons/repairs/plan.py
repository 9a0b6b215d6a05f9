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
from rightreasons.repairs.findings import Findings, NamedFeature
from rightreasons.repairs.training_set import TrainingSet

PLAN_FILE = "repair.yaml"

Judgment = Literal["yes", "no", "?"]

N_TEXTS = 3
"""Number of texts with a word that a person is shown."""

MAX_WORDS_IN_SENTENCE = 6
"""Number of words that a refusal names."""

MAX_WORDS = 60
"""Number of words that a plan lists."""


NO_FEATURE = NamedFeature("", "", (), 0.0, is_spurious=False)
"""The feature of a word that only a user named."""


@dataclasses.dataclass(frozen=True)
class PlannedWord(Result):
    """A word that decides, for a person to judge.

    Attributes:
        word: The word.
        predicts: Name of the label that it predicts.
        texts: Number of training texts that have it.
        decides: Share of the predictions that the strongest pair with it decides; None if the report shows none.
        decides_together: Share that the words of the shortest list with it decide together; None for the words of a
            pair.
        reason: "yes" if it is a reason for the label, "no" if it is none, "?" if nobody has judged it.
        examples: Three training texts that have it.
    """

    word: str
    predicts: str
    texts: int
    decides: float | None
    decides_together: float | None
    reason: Judgment
    examples: tuple[str, ...]

    @property
    def named_share(self) -> float | None:
        """Share that the pair or the list decides by which the word was named."""
        if self.decides_together is not None:
            return self.decides_together
        return self.decides


def make_plan(
    findings: Findings, training: TrainingSet, judged: Mapping[str, Judgment]
) -> list[PlannedWord]:
    """List the words that decide and are in the training texts, with what is known about each.

    Args:
        findings: The features that the audit named.
        training: Training texts.
        judged: Word -> judgment; the words that are judged "no" are listed whether an audit named them or not.

    Returns:
        At most `MAX_WORDS` words: those that nobody has judged first, and of these the pairs, by the
        share that they decide.
    """
    feature_by_word = _find_naming_features(findings)
    texts_by_word = _collect_texts(training, [*feature_by_word, *judged])
    # Only a word of the training texts can be edited in them.
    words = list(filter(texts_by_word.get, texts_by_word))
    rows = []
    for word, label in training.label_words(words).labels.items():
        texts = texts_by_word[word]
        feature = feature_by_word.get(word, NO_FEATURE)
        row = PlannedWord(
            word=word,
            predicts=training.label_names[label],
            texts=len(texts),
            decides=findings.pair_shares.get(word),
            decides_together=feature.joint_share,
            reason=judged.get(word, "?"),
            examples=tuple(texts[:N_TEXTS]),
        )
        rows.append(row)

    def rank(row: PlannedWord) -> tuple[bool, int, float, str]:
        """Return a key that is smaller for words that a person should judge first."""
        feature = feature_by_word.get(row.word, NO_FEATURE)
        is_judged = row.reason != "?"
        # A pair comes before the lists, which name many words.
        return is_judged, len(feature.words), -feature.deciding_share, row.word

    # A person would not judge hundreds of words.
    rows.sort(key=rank)
    return rows[:MAX_WORDS]


def _find_naming_features(findings: Findings) -> dict[str, NamedFeature]:
    """Return word -> feature by which an audit named it.

    If several features contain the word, it is the one with the fewest words, and of these the one
    that decides most: a pair says more about its words than a list of all words that decide.
    """
    features = sorted(
        findings.features, key=lambda feature: (len(feature.words), -feature.deciding_share)
    )
    feature_by_word: dict[str, NamedFeature] = {}
    for feature in features:
        for word in feature.words:
            feature_by_word.setdefault(word, feature)
    return feature_by_word


def _collect_texts(training: TrainingSet, words: Iterable[str]) -> dict[str, list[str]]:
    """Return the training texts with each word, in their order."""
    texts: dict[str, list[str]] = {word: [] for word in words}
    for item in training.items:
        tokens = training.segmenter.split(item)
        words_of_item = {token.word for token in tokens}
        for word in words_of_item & texts.keys():
            texts[word].append(" / ".join(item))
    return texts


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
        raise ValueError(f"Expected {file} as a repair wrote it, but it is not YAML.") from error
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
    """Return the error message for a report whose words nobody has judged.

    It ends in an option for the command line that names the words of the first pair or list.

    Args:
        rows: The words of the plan, those to judge first.
        file: The plan.
    """
    unjudged = [row for row in rows if row.reason == "?"]
    # Words of one pair or list have the same share. If more words were named, a reader might call
    # all of them no reasons without looking.
    first_words = []
    for row in unjudged[:MAX_WORDS_IN_SENTENCE]:
        if row.named_share == unjudged[0].named_share:
            first_words.append(row.word)
    option = shlex.join(["--not-reasons", ",".join(first_words)])
    return (
        f"Expected a person's judgment of the words that decide, but there is none: {file} lists {len(unjudged)} words "
        "with three texts each. Write `reason: no` for words that are no reasons and repeat the command, or name "
        f"them, as in {option}"
    )
