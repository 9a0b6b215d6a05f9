"""Items for question-answering models: questions with contexts, and the same items over the windows of the contexts."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.data.suites.suite import Suite
from rightreasons.foundations.ragged import offsets_of
from rightreasons.measuring.behavior_spans import reading_texts
from rightreasons.models.running.batching import Encoded, pad
from rightreasons.models.scoring.windows import Windows
from rightreasons.training.behavior.items import IID, TYPES, Items, Step
from rightreasons.training.behavior.losses import RULES, span_losses
from rightreasons.training.behavior.trainer import Batch, Target, describe
from rightreasons.training.tuning.span_examples import answer_characters, answer_tokens


def locate(answer: str, context: str) -> int:
    """Find an answer in its context: its first occurrence as whole words, else its first occurrence; -1 if none.

    Example:
        >>> locate("Ann", "Annabel met Ann.")
        12
    """
    match = re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", context)
    return match.start() if match else context.find(answer)


def reading_items(suite: Suite) -> Items:
    """Turn a suite of reading into items over its questions (`texts`) and contexts (`text_pairs`).

    Minimum functionality tests become labeled items, whose `targets` are the first character of the answer in the
    context and the one after its last; an example whose context does not contain the answer is left out. Invariance
    tests become pairs of an original and one changed text.

    Raises:
        ValueError: If the suite has other texts, or no loss is known for an expectation.
    """
    questions, contexts = reading_texts(suite)
    rows: list[tuple[int, int, int, int, int, int]] = []
    targets: list[tuple[int, int]] = []
    start = 0
    for number, functionality in enumerate(suite.functionalities):
        name = functionality.expectation["name"]
        if name not in ("equal", "invariant"):
            raise ValueError(
                f"Expected equal or invariant answers for {functionality.name!r} of a suite of reading, but got "
                f"{name!r}, for which no loss is known."
            )
        kind = TYPES.index(functionality.test_type)
        for case in functionality.cases:
            size = len(case.examples)
            if name == "invariant":
                rows.append((start, start + 1, size - 1, RULES.index("invariant"), kind, number))
                targets.append((-1, -1))
            else:
                for text, answer in enumerate(case.labels or (), start=start):
                    begin = locate(answer, contexts[text]) if isinstance(answer, str) and answer else -1
                    if begin >= 0:
                        rows.append((text, text, 0, RULES.index("labeled"), TYPES.index("MFT"), number))
                        targets.append((begin, begin + len(answer)))
            start += size
    return Items.of_rows(
        questions,
        contexts,
        np.array(rows, dtype=np.int64).reshape(-1, 6),
        np.array(targets, dtype=np.float64).reshape(-1, 2),
        tuple(f.name for f in suite.functionalities),
    )


def question_items(
    questions: Sequence[str], contexts: Sequence[str], answers: Sequence[Mapping[str, Sequence[Any]]]
) -> Items:
    """Turn independent questions into labeled items of one environment; the first answer of each is learned.

    Raises:
        ValueError: If a question has no answer, or one that is not in its context.
    """
    characters = answer_characters(answers, contexts, "the independent data")
    rows = np.zeros((len(questions), 6), dtype=np.int64)
    rows[:, 0] = rows[:, 1] = np.arange(len(questions))
    return Items.of_rows(list(questions), list(contexts), rows, characters.astype(np.float64).reshape(-1, 2), (IID,))


def window_items(items: Items, windows: Windows) -> tuple[Encoded, Items]:
    """Turn items over texts into items over the windows of these texts.

    A labeled item becomes one item per window, whose `targets` are the first and last token of the answer, or the
    first token of the window where it does not contain the whole answer. A pair takes the first window of each of its
    texts.

    Args:
        items: From `reading_items` or `question_items`.
        windows: The windows of all their texts.

    Returns:
        The windows' tokens, first windows first, and the items over them.
    """
    n_texts = len(items.texts)
    counts = np.bincount(windows.owner, minlength=n_texts)
    begins = np.concatenate(([0], np.cumsum(counts)[:-1]))
    further = np.setdiff1d(np.arange(len(windows)), begins)
    # Window i is the first of text i; the further windows follow, those of a text together.
    order = np.concatenate((begins, further)).astype(np.int64)
    behind = n_texts + np.concatenate(([0], np.cumsum(counts - 1)[:-1]))

    characters = np.full((n_texts, 2), -1, dtype=np.int64)
    labeled = items.n_changed == 0
    characters[items.first[labeled]] = items.targets[labeled].astype(np.int64)
    tokens = np.maximum(answer_tokens(windows, characters), 0)[order]

    repeats = np.where(labeled, counts[items.first], 1)
    sources = np.repeat(np.arange(len(items)), repeats)
    place = np.arange(len(sources)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    text = items.first[sources]
    window = np.where(place == 0, text, behind[text] + place - 1)
    is_labeled = labeled[sources]
    return _take(windows.encoded, order), Items(
        texts=[""] * len(windows),
        text_pairs=None,
        first=window,
        changed=np.where(is_labeled, window, items.changed[sources]),
        n_changed=items.n_changed[sources],
        targets=np.where(is_labeled[:, None], tokens[window], 0).astype(np.float64),
        rule=items.rule[sources],
        type=items.type[sources],
        environment=items.environment[sources],
        environments=items.environments,
    )


def span_target(encoded: Encoded) -> Target:
    """Return what a question-answering model learns from items over windows."""

    def describe_spans(items: Items, step: Step) -> tuple[NDArray[np.int64], Batch]:
        windows, batch = describe(items, step)
        pairs = zip(*(batch[name].tolist() for name in ("first", "second", "rule")), strict=True)
        shared = [_shared_tokens(encoded, windows[first], windows[second], rule) for first, second, rule in pairs]
        # In a batch padded on the left, a window's tokens stand further right.
        width = int(encoded.lengths[windows].max())
        shifts = (width - encoded.lengths[windows]) * (encoded.padding_side == "left")
        columns: Batch = {}
        for side, name in enumerate(("first", "second")):
            table = np.full((len(shared), max(len(pair[side]) for pair in shared)), -1, dtype=np.int64)
            for row, (pair, window) in enumerate(zip(shared, batch[name].tolist(), strict=True)):
                table[row, : len(pair[side])] = pair[side] + shifts[window]
            columns[f"shared_{name}"] = torch.from_numpy(table)
        return windows, {**batch, **columns, "mask": pad(encoded, windows)["attention_mask"][batch["first"]]}

    return Target(
        describe_spans, lambda outputs: torch.stack((outputs.start_logits, outputs.end_logits), dim=-1), span_losses
    )


def aligned_positions(original: Sequence[int], changed: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the tokens that two texts share, in order.

    Args:
        original: Token ids of one text.
        changed: Token ids of another.

    Returns:
        The positions in each, of the matching blocks of `difflib.SequenceMatcher`.

    Example:
        >>> first, second = aligned_positions([101, 7, 8, 9, 102], [101, 7, 5, 5, 9, 102])
        >>> first.tolist(), second.tolist()
        ([0, 1, 3, 4], [0, 1, 4, 5])
    """
    blocks = difflib.SequenceMatcher(None, list(original), list(changed), autojunk=False).get_matching_blocks()
    first = np.concatenate([np.arange(b.a, b.a + b.size) for b in blocks]).astype(np.int64)
    second = np.concatenate([np.arange(b.b, b.b + b.size) for b in blocks]).astype(np.int64)
    return first, second


def _shared_tokens(encoded: Encoded, first: int, second: int, rule: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if RULES[rule] != "invariant":
        return np.empty(0, np.int64), np.empty(0, np.int64)
    ids, offsets = encoded.columns["input_ids"], encoded.offsets
    return aligned_positions(*(ids[offsets[window] : offsets[window + 1]].tolist() for window in (first, second)))


def _take(encoded: Encoded, order: NDArray[np.int64]) -> Encoded:
    lengths = encoded.lengths[order]
    offsets = offsets_of(lengths)
    source = np.repeat(encoded.offsets[order] - offsets[:-1], lengths) + np.arange(offsets[-1])
    return dataclasses.replace(
        encoded,
        columns={name: column[source] for name, column in encoded.columns.items()},
        offsets=offsets,
        truncated=encoded.truncated[order],
    )
