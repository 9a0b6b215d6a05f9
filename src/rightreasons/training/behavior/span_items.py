"""What behavioral learning of spans trains on: questions with contexts as items, and their windows."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.data.suites.suite import Suite
from rightreasons.models.running.batching import Encoded, pad
from rightreasons.models.scoring.windows import Windows
from rightreasons.training.behavior.items import IID, RULES, TYPES, Items, Step
from rightreasons.training.behavior.losses import aligned_positions
from rightreasons.training.behavior.span_losses import span_losses
from rightreasons.training.behavior.trainer import Target, describe
from rightreasons.training.tuning.span_examples import answer_characters, answer_tokens

COLUMNS = ("question", "context")
"""The text columns of a suite of reading, in any order."""


def is_reading(suite: Suite) -> bool:
    """Tell whether a suite asks for spans: its texts are questions and contexts."""
    return set(suite.text_columns) == set(COLUMNS)


def reading_texts(suite: Suite) -> tuple[list[str], list[str]]:
    """Return the questions and the contexts of all examples, in the suite's order.

    Raises:
        ValueError: If the suite has other texts.
    """
    if not is_reading(suite):
        raise ValueError(
            f"Expected a suite of reading, with the text columns question and context, but {suite.name!r} has "
            f"{', '.join(suite.text_columns)}."
        )
    places = [suite.text_columns.index(name) for name in COLUMNS]
    rows = suite.texts()
    questions, contexts = ([row[place] for row in rows] for place in places)
    return questions, contexts


def locate(answer: str, context: str) -> int:
    """Find where an answer stands in its context: its first place as whole words, else its first place; -1 if none.

    Example:
        >>> locate("Ann", "Annabel met Ann.")
        12
    """
    found = re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", context)
    return found.start() if found else context.find(answer)


def reading_items(suite: Suite) -> Items:
    """Turn a suite of reading into items over its questions (`texts`) and contexts (`text_pairs`).

    Minimum functionality tests become labeled items, whose `targets` are the first character of the answer in the
    context and the one behind its last; an example whose context does not hold the answer is left out. Invariance tests
    become pairs of an original and one changed text.

    Raises:
        ValueError: If the suite is none of reading, or a functionality expects what no loss is known for.
    """
    questions, contexts = reading_texts(suite)
    about: list[tuple[int, int, int, int, int, int]] = []
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
                about.append((start, start + 1, size - 1, RULES.index("invariant"), kind, number))
                targets.append((-1, -1))
            else:
                for place, answer in enumerate(case.labels or ()):
                    row = start + place
                    begin = locate(answer, contexts[row]) if isinstance(answer, str) and answer else -1
                    if begin >= 0:
                        about.append((row, row, 0, RULES.index("labeled"), TYPES.index("MFT"), number))
                        targets.append((begin, begin + len(answer)))
            start += size
    names = tuple(f.name for f in suite.functionalities)
    return _items(questions, contexts, np.array(about, dtype=np.int64).reshape(-1, 6), targets, names)


def question_items(
    questions: Sequence[str], contexts: Sequence[str], answers: Sequence[Mapping[str, Sequence[Any]]]
) -> Items:
    """Turn independent questions into labeled items of one environment; the first answer of each is learned.

    Raises:
        ValueError: If a question has no answer, or one that is not in its context.
    """
    characters = answer_characters(answers, contexts, "the independent data")
    about = np.zeros((len(questions), 6), dtype=np.int64)
    about[:, 0] = about[:, 1] = np.arange(len(questions))
    return _items(list(questions), list(contexts), about, characters.tolist(), (IID,))


def window_items(items: Items, windows: Windows) -> tuple[Encoded, Items]:
    """Turn items over texts into items over the windows of these texts.

    A labeled item becomes one item a window, whose `targets` are the first and last token of the answer, or the first
    token of the window where it does not hold the answer whole. A pair takes the first window of each of its texts.

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
    # Window i is the first of text i; the further ones stand behind, those of a text together.
    order = np.concatenate((begins, further)).astype(np.int64)
    behind = n_texts + np.concatenate(([0], np.cumsum(counts - 1)[:-1]))

    characters = np.full((n_texts, 2), -1, dtype=np.int64)
    labeled = items.n_changed == 0
    characters[items.first[labeled]] = items.targets[labeled].astype(np.int64)
    tokens = np.maximum(answer_tokens(windows, characters), 0)[order]

    repeats = np.where(labeled, counts[items.first], 1)
    rows = np.repeat(np.arange(len(items)), repeats)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    text = items.first[rows]
    window = np.where(place == 0, text, behind[text] + place - 1)
    is_labeled = labeled[rows]
    return _take(windows.encoded, order), Items(
        texts=[""] * len(windows),
        text_pairs=None,
        first=window,
        changed=np.where(is_labeled, window, items.changed[rows]),
        n_changed=items.n_changed[rows],
        targets=np.where(is_labeled[:, None], tokens[window], 0).astype(np.float64),
        rule=items.rule[rows],
        type=items.type[rows],
        environment=items.environment[rows],
        environments=items.environments,
    )


def span_target(encoded: Encoded) -> Target:
    """Return what a question-answering model learns from items over windows."""

    def describe_spans(items: Items, step: Step) -> tuple[NDArray[np.int64], dict[str, torch.Tensor]]:
        windows, about = describe(items, step)
        mask = pad(encoded, windows)["attention_mask"]
        shared = [_shared(encoded, windows, a, b, rule) for a, b, rule in _triples(about)]
        width = max(len(first) for first, _ in shared)
        tables = np.full((2, len(shared), width), -1, dtype=np.int64)
        for number, pair in enumerate(shared):
            for side, positions in enumerate(pair):
                tables[side, number, : len(positions)] = positions
        return windows, {
            **about,
            "mask": mask[about["first"]],
            "shared_first": torch.from_numpy(tables[0]),
            "shared_second": torch.from_numpy(tables[1]),
        }

    return Target(
        describe_spans, lambda outputs: torch.stack((outputs.start_logits, outputs.end_logits), dim=-1), span_losses
    )


def _triples(about: Mapping[str, torch.Tensor]) -> zip[tuple[int, int, int]]:
    return zip(about["first"].tolist(), about["second"].tolist(), about["rule"].tolist(), strict=True)


def _shared(
    encoded: Encoded, windows: NDArray[np.int64], first: int, second: int, rule: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the positions of the tokens that both windows of a pair have, as they stand in the padded batch."""
    if RULES[rule] != "invariant":
        return np.empty(0, np.int64), np.empty(0, np.int64)
    ids, offsets = encoded.columns["input_ids"], encoded.offsets
    rows = [ids[offsets[windows[w]] : offsets[windows[w] + 1]].tolist() for w in (first, second)]
    positions = aligned_positions(*rows)
    if encoded.padding_side == "right":
        return positions
    width = int(encoded.lengths[windows].max())
    return positions[0] + width - len(rows[0]), positions[1] + width - len(rows[1])


def _take(encoded: Encoded, order: NDArray[np.int64]) -> Encoded:
    lengths = encoded.lengths[order]
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    source = np.repeat(encoded.offsets[order] - offsets[:-1], lengths) + np.arange(offsets[-1])
    return dataclasses.replace(
        encoded,
        columns={name: column[source] for name, column in encoded.columns.items()},
        offsets=offsets,
        truncated=encoded.truncated[order],
    )


def _items(
    questions: list[str],
    contexts: list[str],
    about: NDArray[np.int64],
    targets: Sequence[Sequence[int]],
    environments: tuple[str, ...],
) -> Items:
    first, changed, n_changed, rule, kind, environment = about.T
    return Items(
        texts=questions,
        text_pairs=contexts,
        first=first,
        changed=changed,
        n_changed=n_changed,
        targets=np.array(targets, dtype=np.float64).reshape(-1, 2),
        rule=rule,
        type=kind,
        environment=environment,
        environments=environments,
    )
