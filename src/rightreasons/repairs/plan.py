"""repair.yaml: which words a person has judged, and which are still open.

Only words that are judged to be no reasons are edited. `make_plan` lists what decides; a person fills in `reason: yes`
or `reason: no`, and `read_plan` reads the judgments.
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
from rightreasons.core.sentences import format_value, pluralize
from rightreasons.core.store import write_text
from rightreasons.repairs.findings import Findings, NamedFeature
from rightreasons.repairs.training_set import TrainingSet

PLAN_FILE = "repair.yaml"

Judgment = Literal["yes", "no", "?"]

N_TEXTS = 3
"""Number of texts with a word that a person is shown."""

MAX_WORDS_IN_SENTENCE = 6
"""Number of words that an error message names."""

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
        decides: Share of the predictions that the strongest pair with the word decides; None if the
            report has no such pair.
        decides_together: Share that the words of the shortest list with the word decide together;
            None for the words of a pair.
        reason: "yes" if the word is a reason for the label, "no" if it is no reason, "?" if nobody
            has judged it.
        examples: Up to three training texts that have the word.
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
        """Share of the predictions that the list or pair decides in which the word was named."""
        if self.decides_together is not None:
            return self.decides_together
        return self.decides


def make_plan(
    findings: Findings, training: TrainingSet, judged: Mapping[str, Judgment]
) -> list[PlannedWord]:
    """List the decisive words of training texts for a person, with shares, examples and judgments.

    Args:
        findings: The features that the audit named.
        training: Labeled training texts.
        judged: Word -> "yes", "no" or "?". These words are listed, too, if an audit did not name
            them.

    Returns:
        At most `MAX_WORDS` words. Those without a judgment come first, and among these words of
        pairs, by the share that they decide.
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
        # Words of pairs come before those of lists, which have many words.
        return is_judged, len(feature.words), -feature.deciding_share, row.word

    # A person would not judge hundreds of words.
    rows.sort(key=rank)
    return rows[:MAX_WORDS]


def _find_naming_features(findings: Findings) -> dict[str, NamedFeature]:
    """Return word -> feature in which an audit named it.

    If several features contain the word, it is the one with the fewest words, because a pair says
    more about its words than a long list; and among these the one that decides most.

    Args:
        findings: The features that the audit named.
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
    """Return word -> training texts that contain it, in the order of the training set.

    Args:
        training: Labeled training texts.
        words: Lower-case words.
    """
    texts: dict[str, list[str]] = {word: [] for word in words}
    for item in training.items:
        tokens = training.segmenter.split(item)
        words_of_item = {token.word for token in tokens}
        for word in words_of_item & texts.keys():
            texts[word].append(" / ".join(item))
    return texts


def write_plan(file: Path, rows: Sequence[PlannedWord], settings: Mapping[str, Any]) -> Path:
    """Write a plan as YAML: the settings that repeat the repair, and the words."""
    content = {**settings, "words": [row.to_dict() for row in rows]}
    return write_text(file, yaml.safe_dump(content, sort_keys=False, allow_unicode=True))


def read_plan(file: Path) -> dict[str, Judgment]:
    """Read a person's judgments from a plan.

    Args:
        file: A YAML file that `write_plan` wrote and a person edited.

    Returns:
        Word -> "yes" if it is a reason for its label, "no" if it is no reason; words with "?" are
        left out.

    Raises:
        ValueError: If the file is not a plan, or a judgment is not "yes", "no" or "?".
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
        if not isinstance(row, dict) or "word" not in row:
            raise ValueError(
                f"Expected `word` and `reason` in each row of {file}, but got {format_value(row)}."
            )
        reason = row.get("reason")
        # YAML reads yes and no without quotation marks as True and False.
        if reason in (True, False):
            reason = "yes" if reason else "no"
        if reason not in ("yes", "no", "?", None):
            raise OptionError(
                f"Expected yes, no or ? as the reason of {format_value(row['word'])} in "
                f"{file.name}, but got {format_value(reason)}.",
                option="not_reasons",
            )
        if reason in ("yes", "no"):
            judged[str(row["word"]).lower()] = reason
    return judged


def explain_unjudged(rows: Iterable[PlannedWord], file: Path) -> str:
    """Return the error message for a report whose words nobody has judged.

    It ends in an option of the command line that names the words of the first pair or list.

    Args:
        rows: The words of the plan, those to judge first.
        file: The plan.
    """
    unjudged = [row for row in rows if row.reason == "?"]
    # Words of one pair or list have the same share. Further words are not named, so that nobody
    # copies an option with words that nobody has looked at.
    first_words = []
    for row in unjudged[:MAX_WORDS_IN_SENTENCE]:
        if row.named_share == unjudged[0].named_share:
            first_words.append(row.word)
    option = shlex.join(["--not-reasons", ",".join(first_words)])
    return (
        "Expected your judgment of the words that decide predictions, but there is none. "
        f"{file} lists {pluralize(len(unjudged), 'word')} with example texts. Write `reason: no` "
        f"for words that are not valid reasons and repeat the command, or name them: {option}"
    )
