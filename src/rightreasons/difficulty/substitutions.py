"""Substitution tests: replace the words that a prediction rests on, and see whether it changes."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from rightreasons.core.options import Options, option
from rightreasons.core.results import Result
from rightreasons.core.tokens import STOP_WORDS
from rightreasons.core.validation import check_ids, check_same_length, check_texts, softmax
from rightreasons.datasets.perturbing.edits import (
    Lookups,
    Substitution,
    apply_substitutions,
    name_substitutions,
    word_substitutions,
)
from rightreasons.models.classes import Classifier, predict
from rightreasons.models.gradients.options import Attributions


class SubstitutionOptions(Options):
    """How words are chosen and replaced; see `substitution_tests`."""

    mode: str = option(
        "single",
        "single (the paper's test of difficult examples): one word at a time; joint (of easy ones): several at once.",
        choices=("single", "joint"),
    )
    top_k: int | None = option(
        None, "Number of words to choose; by default those beyond the threshold.", minimum=1
    )
    name_pool: tuple[str, ...] = option(
        (), "Names to use where the text has no second one; by default common US names."
    )
    n_candidates: int = option(1, "Candidates of each kind per word (mode single).", minimum=1)
    max_changes: int = option(
        6, "Maximum number of words replaced at once (mode joint).", minimum=1
    )
    max_length: int | None = option(
        None, "Maximum number of tokens per text; by default what the model allows."
    )
    batch_size: int = option(32, "Maximum number of texts per batch.", minimum=1)
    seed: int = option(0, "Seed of the candidates.", minimum=0)
    progress: bool = option(True, "Show progress bars.")
    fail_fast: bool = option(
        True, "Stop at a changed text that the model cannot score; else it is left out."
    )


@dataclasses.dataclass(frozen=True)
class Attempt(Result):
    """One changed text and the prediction for it.

    Attributes:
        item: Row of the original.
        id: Id of the original.
        kind: "synonym", "antonym" or "name".
        changes: The substitutions made together.
        text: The changed text.
        flipped: Whether another class is predicted.
        before: The class predicted for the original.
        after: The class predicted for the changed text.
        confidence_before: Probability of class `before` for the original.
        confidence_after: Probability of class `before` for the changed text.
    """

    item: int
    id: str
    kind: str
    changes: tuple[Substitution, ...]
    text: str
    flipped: bool
    before: int
    after: int
    confidence_before: float
    confidence_after: float


@dataclasses.dataclass(frozen=True)
class SubstitutionTests(Result):
    """The effect of substitutions; see `substitution_tests`.

    Attributes:
        mode: "single" or "joint".
        attempts: Every changed text.
        needed: For each item, the fewest replaced words of an attempt that flips it; None where no attempt does.
        n_items: Number of items.
        n_unknown: Number of replacements that are left out because the model's vocabulary lacks them.
        definition: How words were chosen and replaced.
        n_failed: Number of changed texts that the model could not score; they are left out.
    """

    mode: str
    attempts: tuple[Attempt, ...]
    needed: tuple[int | None, ...]
    n_items: int
    n_unknown: int
    definition: str
    n_failed: int = 0


def substitution_tests(
    classifier: Classifier,
    texts: Sequence[str],
    lookups: Lookups,
    options: SubstitutionOptions = SubstitutionOptions(),
    *,
    ids: Iterable[object] | None = None,
    attributions: Attributions | None = None,
) -> SubstitutionTests:
    r"""Replace the words that predictions rest on, one at a time or several at once.

    Words are chosen by integrated gradients a_t of the predicted class: those with |a_t| >= mean + 1 standard deviation
    over the words of the text, or the `top_k` largest; English function words and punctuation are never replaced. In
    mode "single" each attempt replaces one word by one candidate, or one name. In mode "joint" attempt k replaces the k
    most attributed words that have a candidate of the kind, k = 1, 2, …, `max_changes`. A replacement that the
    tokenizer reads as its unknown token would test that token and not the word, so it is left out and counted.

    Args:
        classifier: A sequence classifier.
        texts: N texts.
        lookups: For each kind, candidates of a word and their source, from `datasets.substitution_lookups`.
        options: How words are chosen and replaced.
        ids: N unique ids; an id and the seed decide what is drawn for a text, whatever the other texts are.
        attributions: Integrated gradients of the texts, unit="word", if they are known already.

    Returns:
        A `SubstitutionTests`.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If a column or an option is wrong.

    References:
        Datta et al. (2020), "Geometry matters", section 4.2.1 and Tables 1-3. The threshold is not given there; mean
        plus one standard deviation is ours.
    """
    rows = check_texts(texts, "texts")
    keys = check_ids(range(len(rows)) if ids is None else ids, "ids")
    running: dict[str, Any] = {"max_length": options.max_length, "progress": options.progress}
    if attributions is None:
        from rightreasons.models.gradients.attribution import integrated_gradients

        check_same_length(texts=rows, ids=keys)
        attributions = integrated_gradients(classifier, rows, ids=keys, unit="word", **running)
    check_same_length(texts=rows, ids=keys, attributions=attributions)
    before = softmax(np.asarray(attributions.logits, dtype=np.float64))
    is_single, top_k, seed = options.mode == "single", options.top_k, options.seed
    plans: list[tuple[int, str, tuple[Substitution, ...]]] = []
    n_unknown = 0
    unknown = getattr(classifier.tokenizer, "unk_token_id", None)

    @functools.cache
    def knows(word: str) -> bool:  # the tokenizer reads it without its unknown token
        return (
            unknown is None
            or unknown
            not in classifier.tokenizer(f" {word}", add_special_tokens=False)["input_ids"]
        )

    for item, (text, key) in enumerate(zip(rows, keys, strict=True)):
        spans = _chosen_words(attributions, item, text, top_k)
        n_candidates = options.n_candidates if is_single else 1
        changes = word_substitutions(
            text, spans, lookups, item_id=key, seed=seed, n_candidates=n_candidates
        )
        if is_single:
            changes += name_substitutions(text, item_id=key, seed=seed, pool=options.name_pool)
        known = [change for change in changes if knows(change.replacement)]
        n_unknown += len(changes) - len(known)
        if is_single:
            plans += [(item, change.kind, (change,)) for change in known]
        else:
            for kind in lookups:
                of_kind = [change for change in known if change.kind == kind][: options.max_changes]
                plans += [
                    (item, kind, tuple(of_kind[:count])) for count in range(1, len(of_kind) + 1)
                ]
    texts_after = [apply_substitutions(rows[item], changes) for item, _, changes in plans]
    after, n_failed = before[:0], 0
    if plans:
        scored = predict(
            classifier,
            texts_after,
            batch_size=options.batch_size,
            fail_fast=options.fail_fast,
            **running,
        )
        after, n_failed = softmax(np.asarray(scored.logits)), len(scored.failures)
        rest = [int(name) for name in scored.ids]
        plans, texts_after = [plans[row] for row in rest], [texts_after[row] for row in rest]
    attempts = []
    needed: list[int | None] = [None] * len(keys)
    for (item, kind, replaced), text, scores in zip(plans, texts_after, after, strict=True):
        old, new = int(before[item].argmax()), int(scores.argmax())
        confidences = float(before[item, old]), float(scores[old])
        attempts.append(
            Attempt(item, keys[item], kind, replaced, text, new != old, old, new, *confidences)
        )
        if new != old:
            needed[item] = min(len(replaced), needed[item] or len(replaced))
    words = (
        "with attribution of at least mean + 1 standard deviation"
        if top_k is None
        else f"of rank 1 to {top_k}"
    )
    how = "one at a time" if is_single else "the most attributed ones together"
    return SubstitutionTests(
        mode=options.mode,
        attempts=tuple(attempts),
        needed=tuple(needed),
        n_items=len(keys),
        n_unknown=n_unknown,
        definition=f"Words {words} (integrated gradients of the predicted class) replaced {how}; "
        "function words are never replaced.",
        n_failed=n_failed,
    )


def _chosen_words(
    attributions: Attributions, item: int, text: str, top_k: int | None
) -> list[tuple[int, int]]:
    """Return the spans of the words that a prediction rests on, the most attributed first, without function words.

    Neither "I" nor "very" has a synonym worth the name, though WordNet finds one ("one", "identical").
    """
    first, last = attributions.scores.offsets[item : item + 2]
    size = np.abs(attributions.scores[item])
    if not len(size):
        return []
    order = np.argsort(-size, kind="stable")
    if top_k is None:
        order = order[size[order] >= size.mean() + size.std()]
    starts, ends = attributions.starts[first:last].tolist(), attributions.ends[first:last].tolist()
    spans = [(starts[word], ends[word]) for word in order.tolist()]
    spans = [(start, end) for start, end in spans if _content(text[start:end])]
    return spans if top_k is None else spans[:top_k]


def _content(word: str) -> bool:
    return any(letter.isalpha() for letter in word) and word.lower() not in STOP_WORDS
