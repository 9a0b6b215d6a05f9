"""Substitution tests: replace the words that a prediction rests on, and see whether it changes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from rightreasons.analysis.tokens import STOP_WORDS
from rightreasons.data.perturbing.substitutions import (
    Lookups,
    Substitution,
    apply_substitutions,
    name_substitutions,
    word_substitutions,
)
from rightreasons.foundations.numeric import softmax
from rightreasons.foundations.results import Result
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import check_count, check_ids, check_one_of, check_same_length, check_texts
from rightreasons.models.gradients.attribution import Attributions, integrated_gradients
from rightreasons.models.loading import Classifier
from rightreasons.models.scoring.classes import predict

MODES = ("single", "joint")


@dataclasses.dataclass(frozen=True)
class Attempt(Result):
    """One changed text and the prediction for it.

    Attributes:
        item: Row of the original.
        id: Id of the original.
        kind: "synonym", "antonym", "neighbor" or "name".
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

    @property
    def n_changes(self) -> int:
        """How many words were replaced."""
        return len(self.changes)


@dataclasses.dataclass(frozen=True)
class SubstitutionTests(Result):
    """The effect of substitutions; see `substitution_tests`.

    Attributes:
        mode: "single" or "joint".
        attempts: Every changed text.
        needed: For each item, the fewest replaced words of an attempt that flips it; None where no attempt does.
        n_chosen: For each item, the number of words chosen.
        n_items: Number of items.
        n_unknown: Number of replacements that are left out because the model's vocabulary lacks them.
        definition: How words were chosen and replaced.
        n_failed: Number of changed texts that the model could not score; they are left out.
    """

    mode: str
    attempts: tuple[Attempt, ...]
    needed: tuple[int | None, ...]
    n_chosen: tuple[int, ...]
    n_items: int
    n_unknown: int
    definition: str
    n_failed: int = 0

    def of_kind(self, kind: str) -> tuple[Attempt, ...]:
        """Return the attempts with one kind of substitution."""
        return tuple(attempt for attempt in self.attempts if attempt.kind == kind)


@checks_kinds
def substitution_tests(
    classifier: Classifier,
    texts: Sequence[str],
    lookups: Lookups | Callable[[int], Lookups],
    *,
    ids: Iterable[object] | None = None,
    mode: str = "single",
    top_k: int | None = None,
    names: bool = True,
    name_pool: Sequence[str] = (),
    n_candidates: int = 1,
    max_changes: int = 6,
    max_length: int | None = None,
    batch_size: int = 32,
    seed: int = 0,
    attributions: Attributions | None = None,
    progress: bool = True,
    fail_fast: bool = True,
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
        lookups: From `data.substitutions.substitution_lookups`: for each kind, candidates of a word and their source;
            or a function that gives them for a predicted class, such as neighbors among words of that class alone.
        ids: N unique ids; an id and `seed` decide what is drawn for a text, whatever the other texts are.
        mode: "single" (default; the paper's test of difficult examples) or "joint" (its test of easy ones).
        top_k: Number of words to choose; None (default) takes those beyond the threshold.
        names: Whether to replace names of people too (mode "single").
        name_pool: Names to use where the text has no second one; common US names if empty.
        n_candidates: Candidates of each kind per word (mode "single"); default 1.
        max_changes: Maximum number of words replaced at once (mode "joint"); default 6.
        max_length: Maximum number of tokens per text; None takes what the model allows.
        batch_size: Maximum number of texts per batch; default 32.
        seed: Seed of the candidates; default 0.
        attributions: Integrated gradients of the texts, unit="word", if they are known already.
        progress: Whether to show progress bars.
        fail_fast: Whether a changed text that the model cannot score is an error (default); if not, it is left out.

    Returns:
        A `SubstitutionTests`.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If a column or an option is wrong.

    References:
        Datta et al. (2020), "Geometry matters", section 4.2.1 and Tables 1-3. The threshold is not given there; mean
        plus one standard deviation is ours.
    """
    check_one_of(mode, MODES, "mode")
    rows = check_texts(texts, "texts")
    keys = check_ids(range(len(rows)) if ids is None else ids, "ids")
    check_same_length(texts=rows, ids=keys)
    check_count(max_changes, "max_changes")
    if top_k is not None:
        check_count(top_k, "top_k")
    if attributions is None:
        attributions = integrated_gradients(
            classifier, rows, ids=keys, unit="word", max_length=max_length, progress=progress
        )
    check_same_length(texts=rows, attributions=attributions)
    before = softmax(np.asarray(attributions.logits, dtype=np.float64))
    plans: list[tuple[int, str, tuple[Substitution, ...]]] = []
    n_chosen, n_unknown = [], 0
    knows = _vocabulary(classifier)
    for item, (text, key) in enumerate(zip(rows, keys, strict=True)):
        spans = _chosen_words(attributions, item, text, top_k)
        n_chosen.append(len(spans))
        known = lookups(int(before[item].argmax())) if callable(lookups) else lookups
        found = word_substitutions(
            text, spans, known, item_id=key, seed=seed, n_candidates=n_candidates if mode == "single" else 1
        )
        if mode == "single" and names:
            found += name_substitutions(text, item_id=key, seed=seed, pool=name_pool)
        n_found = len(found)
        found = [change for change in found if knows(change.replacement)]
        n_unknown += n_found - len(found)
        if mode == "single":
            plans += [(item, change.kind, (change,)) for change in found]
        else:
            for kind in known:
                of_kind = [change for change in found if change.kind == kind][:max_changes]
                plans += [(item, kind, tuple(of_kind[:count])) for count in range(1, len(of_kind) + 1)]
    changed = [apply_substitutions(rows[item], changes) for item, _, changes in plans]
    options: dict[str, Any] = {"max_length": max_length, "batch_size": batch_size, "progress": progress}
    after, n_failed = before[:0], 0
    if changed:
        scored = predict(classifier, changed, fail_fast=fail_fast, **options)
        after, n_failed = softmax(np.asarray(scored.logits)), len(scored.failures)
        rest = [int(name) for name in scored.ids]
        plans, changed = [plans[row] for row in rest], [changed[row] for row in rest]
    attempts = []
    needed: list[int | None] = [None] * len(keys)
    for (item, kind, changes), text, scores in zip(plans, changed, after, strict=True):
        old, new = int(before[item].argmax()), int(scores.argmax())
        confidences = float(before[item, old]), float(scores[old])
        attempts.append(Attempt(item, keys[item], kind, changes, text, new != old, old, new, *confidences))
        if new != old:
            needed[item] = min(len(changes), needed[item] or len(changes))
    words = "with attribution of at least mean + 1 standard deviation" if top_k is None else f"of rank 1 to {top_k}"
    how = "one at a time" if mode == "single" else "the most attributed ones together"
    return SubstitutionTests(
        mode=mode,
        attempts=tuple(attempts),
        needed=tuple(needed),
        n_chosen=tuple(n_chosen),
        n_items=len(keys),
        n_unknown=n_unknown,
        definition=f"Words {words} (integrated gradients of the predicted class) replaced {how}; "
        "function words are never replaced.",
        n_failed=n_failed,
    )


def _chosen_words(attributions: Attributions, item: int, text: str, top_k: int | None) -> list[tuple[int, int]]:
    """Return the spans of the words that a prediction rests on, the most attributed first, without function words.

    Neither "I" nor "very" has a synonym worth the name, though WordNet finds one ("one", "identical").
    """
    first, last = attributions.scores.offsets[item : item + 2]
    size = np.abs(attributions.scores.values[first:last])
    if not len(size):
        return []
    order = np.argsort(-size, kind="stable")
    if top_k is None:
        order = order[size[order] >= size.mean() + size.std()]
    starts, ends = attributions.starts[first:last].tolist(), attributions.ends[first:last].tolist()
    spans = [(starts[word], ends[word]) for word in order.tolist()]
    spans = [(start, end) for start, end in spans if _content(text[start:end])]
    return spans if top_k is None else spans[:top_k]


def _vocabulary(classifier: Classifier) -> Callable[[str], bool]:
    """Return a function that tells whether the tokenizer reads a word without its unknown token."""
    tokenizer = classifier.tokenizer
    known: dict[str, bool] = {}
    unknown = getattr(tokenizer, "unk_token_id", None)

    def knows(word: str) -> bool:
        if unknown is None:
            return True
        if word not in known:
            known[word] = unknown not in tokenizer(f" {word}", add_special_tokens=False)["input_ids"]
        return known[word]

    return knows


def _content(word: str) -> bool:
    return any(letter.isalpha() for letter in word) and word.lower() not in STOP_WORDS
