"""Which words the scores of any scorer depend on: each word left out, one at a time, and the scorer asked again."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Ragged, offsets_of
from rightreasons.core.tokens import WORD_PATTERN
from rightreasons.core.validation import check_choices, check_ids, check_labels, check_same_length, check_texts
from rightreasons.datasets.perturbing.edits import delete_words
from rightreasons.models.classes import Classifier, choose, predict
from rightreasons.models.protocol import Scorer

WITHOUT = "without word"
"""The id of an item without its word j is "{id}/without word {j}"."""


@dataclasses.dataclass(frozen=True, eq=False)
class Occlusion:
    """The scores of N items as they are, and without each of their words.

    The words of all items are in flat arrays, one item after another; those of item i are at
    `offsets[i]:offsets[i + 1]`.

    Attributes:
        ids: N item ids.
        tokens: N tuples of lower-case words and marks of punctuation, every occurrence by itself.
        offsets: (N + 1,) where the words of each item begin.
        starts: (total,) first character of each word in its text.
        ends: (total,) one past its last character.
        parts: (total,) 0 for a word of the text (or prompt), 1 for one of the second text.
        logits: N rows of scores of the item as it is; NaN where it has no answer.
        without: total rows of scores of the item without the word; NaN where it has no answer.
        labels: (N,) gold labels, -1 where there is none; None when the data has no labels.
        label_names: K names of the classes; None for multiple choice.
        failures: Id of an item without an answer -> why.
        n_unanswered: How many words have no answer to the item without them, of items that have one.
        n_truncated: How many texts were cut, over all that was asked.
    """

    ids: tuple[str, ...]
    tokens: tuple[tuple[str, ...], ...]
    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    parts: NDArray[np.int64]
    logits: Ragged
    without: Ragged
    labels: NDArray[np.int64] | None
    label_names: tuple[str, ...] | None
    failures: Mapping[str, str]
    n_unanswered: int
    n_truncated: int

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def answered(self) -> NDArray[np.bool_]:
        """(N,) which items have an answer."""
        return ~_unanswered(self.logits)

    @property
    def probabilities(self) -> Ragged:
        """N rows of the softmax of the scores; NaN where there is no answer."""
        return self.logits.softmax()

    @functools.cached_property
    def predicted(self) -> NDArray[np.int64]:
        """(N,) predicted classes, or choices; -1 where there is no answer."""
        return _predicted(self.logits)

    def importances(self, explained: NDArray[np.int64], *, target: str = "probability") -> Ragged:
        """Return how much the score of a label falls without each word.

        Args:
            explained: (N,) the class, or choice, of each item.
            target: "probability" (default) or "logit", the score itself.

        Returns:
            N rows, one number per word: below 0 where the label scores higher without it, NaN where there is no answer.
        """
        whole, without = self.logits, self.without
        if target == "probability":
            whole, without = whole.softmax(), without.softmax()
        labels = np.maximum(explained, 0)
        return Ragged(whole.at(labels)[self._rows] - without.at(labels[self._rows]), self.offsets)

    @property
    def _rows(self) -> NDArray[np.int64]:
        """(total,) the item of each word."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))


def occlude(
    scorer: Scorer,
    texts: Sequence[str],
    *,
    text_pairs: Sequence[str] | None = None,
    choices: Sequence[Sequence[str]] | None = None,
    ids: Iterable[object] | None = None,
    labels: Sequence[int] | NDArray[Any] | None = None,
    batch_size: int = 32,
    progress: bool = True,
    out: str | os.PathLike[str] | None = None,
    fail_fast: bool = True,
) -> Occlusion:
    r"""Ask a scorer about items as they are, and without each of their words.

    A word is a run of letters and digits, or one mark of punctuation; each occurrence is left out by itself, with the
    space that it leaves. Of an item of n words the scorer is asked n + 1 times, with the same few-shot examples. The
    choices of a multiple-choice item stay whole: the words are those of its prompt.

    Args:
        scorer: Whatever `predict` or `choose` asks: a classifier, a prompted model, here or behind a server.
        texts: N texts, or prompts.
        text_pairs: N second texts, whose words are left out too.
        choices: N lists of at least two choices, for a scorer of choices.
        ids: N unique ids; by default "0", "1", …
        labels: (N,) gold labels, -1 where there is none.
        batch_size: Items per batch of a model that does not batch by itself.
        progress: Whether to show a progress bar.
        out: A folder for the answers, from which a killed run resumes.
        fail_fast: As in `predict` and `choose`.

    Returns:
        An `Occlusion`.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If columns differ in length, a label is none of the scorer's, or a language model without a prompt
            is asked for classes.

    References:
        Zeiler and Fergus (2014), Visualizing and Understanding Convolutional Networks, section 4.2. Li, Monroe and
        Jurafsky (2016), Understanding Neural Networks through Representation Erasure.
    """
    first = check_texts(texts, "texts", allow_empty=True)
    columns = [first]
    if text_pairs is not None:
        columns.append(check_texts(text_pairs, "text_pairs", allow_empty=True))
        check_same_length(texts=first, text_pairs=columns[1])
    rows = None if choices is None else check_choices(first, choices, allow_empty=True)[1]
    names = check_ids(range(len(first)) if ids is None else ids, "ids")
    check_same_length(texts=first, ids=names)
    gold = None if labels is None else check_labels(labels, name="labels", minimum=-1)
    if gold is not None:
        check_same_length(texts=first, labels=gold)

    spans = [
        (item, part, *match.span())
        for item in range(len(first))
        for part, column in enumerate(columns)
        for match in WORD_PATTERN.finditer(column[item])
    ]
    items, parts, starts, ends = np.array(spans, dtype=np.int64).reshape(-1, 4).T
    offsets = offsets_of(np.bincount(items, minlength=len(first)))
    words = [columns[part][item][start:end].lower() for item, part, start, end in spans]
    asked_ids, shortened = [*names], [[*column] for column in columns]
    for place, (item, part, start, end) in enumerate(spans):
        asked_ids.append(f"{names[item]}/{WITHOUT} {place - offsets[item]}")
        for number, column in enumerate(columns):
            text = column[item]
            shortened[number].append(delete_words(text, [(start, end)]) if number == part else text)
    of_item = [*range(len(first)), *items.tolist()]
    # A classifier takes no empty text: what is left of a text of one word is not asked.
    empty = rows is None and isinstance(scorer, Classifier)
    able = [place for place in range(len(asked_ids)) if not empty or all(column[place].strip() for column in shortened)]
    common: dict[str, Any] = {
        "ids": [asked_ids[place] for place in able],
        "batch_size": batch_size,
        "progress": progress,
        "out": out,
        "fail_fast": fail_fast,
    }
    texts_of = [[column[place] for place in able] for column in shortened]
    if rows is None:
        scores = predict(scorer, texts_of[0], text_pairs=texts_of[1] if len(texts_of) > 1 else None, **common)
        widths = np.full(len(first), len(scores.label_names or ()))
    else:
        scores = choose(scorer, texts_of[0], [rows[of_item[place]] for place in able], **common)
        widths = np.array([len(row) for row in rows], dtype=np.int64)
    if gold is not None:
        check_labels(gold, widths, name="labels", minimum=-1)

    answers = dict(zip(scores.ids, scores.logits, strict=True))
    logits = [answers.get(name, np.full(widths[item], np.nan)) for name, item in zip(asked_ids, of_item, strict=True)]
    return Occlusion(
        ids=tuple(names),
        tokens=tuple(tuple(words[a:b]) for a, b in itertools.pairwise(offsets.tolist())),
        offsets=offsets,
        starts=starts,
        ends=ends,
        parts=parts,
        logits=_ragged(logits[: len(first)]),
        without=_ragged(logits[len(first) :]),
        labels=gold,
        label_names=scores.label_names,
        failures={name: scores.failures.get(name, "It was not asked.") for name in names if name not in answers},
        n_unanswered=sum(
            name not in answers and names[item] in answers
            for name, item in zip(asked_ids[len(first) :], items.tolist(), strict=True)
        ),
        n_truncated=scores.truncated,
    )


def _ragged(rows: Sequence[NDArray[np.float64]]) -> Ragged:
    return Ragged.of(np.concatenate(rows) if rows else np.empty(0), [len(row) for row in rows])


def _unanswered(rows: Ragged) -> NDArray[np.bool_]:
    return np.isnan(rows.reduce(np.maximum)) if len(rows) else np.empty(0, dtype=np.bool_)


def _predicted(rows: Ragged) -> NDArray[np.int64]:
    if not len(rows):
        return np.empty(0, dtype=np.int64)
    return np.where(_unanswered(rows), -1, Ragged(np.nan_to_num(rows.values), rows.offsets).argmax())
