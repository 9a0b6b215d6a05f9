"""Substitution tests: replace the words that a prediction relies on, and see whether it changes.

`substitution_tests` chooses words by integrated gradients, replaces them one at a time or together, and predicts
the changed texts.
"""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from rightreasons.core.arrays import Floats
from rightreasons.core.options import Options, option
from rightreasons.core.results import Result
from rightreasons.core.tokens import STOP_WORDS
from rightreasons.core.validation import check_ids, check_same_length, check_texts, softmax
from rightreasons.datasets.perturbing.edits import (
    Lookups,
    Substitution,
    apply_substitutions,
    draw_substitutions,
    name_substitutions,
)
from rightreasons.models.classes import Classifier, predict
from rightreasons.models.gradients.options import Attributions


class SubstitutionOptions(Options):
    """Options of `substitution_tests`: the words that are replaced, and their replacements."""

    mode: str = option(
        "single",
        "single (the paper's test of difficult examples): one word at a time; joint (of easy ones): several at once.",
        choices=("single", "joint"),
    )
    top_k: int | None = option(
        None, "Number of words to choose; by default those beyond the threshold.", minimum=1
    )
    name_pool: tuple[str, ...] = option(
        (), "Names to use if the text has no second one; by default common US names."
    )
    n_candidates: int = option(1, "Candidates of each kind per word (mode single).", minimum=1)
    max_changes: int = option(
        6, "Maximum number of words replaced at once (mode joint).", minimum=1
    )
    max_length: int | None = option(
        None, "Maximum number of tokens per text; by default the limit of the model."
    )
    batch_size: int = option(32, "Maximum number of texts per batch.", minimum=1)
    seed: int = option(0, "Seed of the candidates.", minimum=0)
    progress: bool = option(True, "Show progress bars.")
    fail_fast: bool = option(
        True, "Stop at a changed text that the model cannot score; else it is excluded."
    )


@dataclasses.dataclass(frozen=True)
class Attempt(Result):
    """One changed text and its prediction.

    Attributes:
        item: Row of the original.
        id: Id of the original.
        kind: "synonym", "similar", "antonym" or "name".
        changes: Substitutions that were made together.
        text: The changed text.
        flipped: Whether the predicted class differs.
        before: Predicted class of the original.
        after: Predicted class of the changed text.
        confidence_before: Probability of class `before` for the original.
        confidence_after: Probability of class `before` for the changed text.
        new_confidence: Probability of class `after` for the changed text.
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
    new_confidence: float | None = None


@dataclasses.dataclass(frozen=True)
class SubstitutionTests(Result):
    """Effect of substitutions on predictions; see `substitution_tests`.

    Attributes:
        mode: "single" or "joint".
        attempts: Every changed text.
        fewest_changes: For each item, the smallest number of replaced words of an attempt that flips it.
            None if no attempt does.
        n_items: Number of items.
        n_unknown: Number of replacements that are excluded because the model's vocabulary lacks them.
        definition: Description of the words and their replacement.
        n_failed: Number of changed texts that are excluded because the model could not score them.
    """

    mode: str
    attempts: tuple[Attempt, ...]
    fewest_changes: tuple[int | None, ...]
    n_items: int
    n_unknown: int
    definition: str
    n_failed: int = 0

    def __getattr__(self, name: str) -> Any:
        """Return `fewest_changes` by its name of an earlier release, `needed`, with a warning."""
        # Python calls this only for attributes that do not exist.
        if name == "needed":
            message = "SubstitutionTests.needed is now fewest_changes."
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            return self.fewest_changes
        raise AttributeError(f"SubstitutionTests has no attribute {name!r}.")


@dataclasses.dataclass(frozen=True)
class _Plan:
    """Substitutions that make one changed text of an item."""

    item: int
    kind: str
    changes: tuple[Substitution, ...]


def substitution_tests(
    classifier: Classifier,
    texts: Sequence[str],
    lookups: Lookups,
    options: SubstitutionOptions = SubstitutionOptions(),
    *,
    ids: Iterable[object] | None = None,
    attributions: Attributions | None = None,
) -> SubstitutionTests:
    r"""Replace the words that predictions rely on, one at a time or several at once.

    Words are chosen by integrated gradients a_t of the predicted class: those with |a_t| >= mean + 1
    standard deviation over the words of the text, or the `top_k` largest. English function words and
    punctuation are never replaced. In mode "single" each attempt replaces one word by one candidate, or one
    name. In mode "joint" attempt k replaces the k most attributed words that have a candidate of the kind,
    k = 1, 2, …, `max_changes`. A replacement that the tokenizer reads as its unknown token would test that
    token and not the word, so it is excluded and counted.

    Args:
        classifier: A sequence classifier.
        texts: N texts.
        lookups: Kind of replacement, such as "synonym" -> function that returns candidates of a word,
            and their source; from `datasets.list_lookups`.
        options: How many words are replaced, the mode, and how replacements are sampled.
        ids: N unique ids. The replacements of a text are sampled by its id and the seed, so they do not
            depend on the other texts.
        attributions: Integrated gradients of the texts, unit="word". If None, they are computed.

    Returns:
        A `SubstitutionTests`.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If columns differ in length or an option is invalid.

    References:
        Datta et al. (2020), "Geometry matters", section 4.2.1 and Tables 1-3. The threshold is not given
        there; mean plus one standard deviation is ours.
    """
    rows = check_texts(texts, "texts")
    names = check_ids(range(len(rows)) if ids is None else ids, "ids")
    running: dict[str, Any] = {"max_length": options.max_length, "progress": options.progress}
    if attributions is None:
        # Gradients need torch, which the rest of this module does without.
        from rightreasons.models.gradients.attribution import integrated_gradients

        check_same_length(texts=rows, ids=names)
        attributions = integrated_gradients(classifier, rows, ids=names, unit="word", **running)
    check_same_length(texts=rows, ids=names, attributions=attributions)

    is_known = make_vocabulary_check(classifier)
    plans: list[_Plan] = []
    n_unknown = 0
    for item, (text, name) in enumerate(zip(rows, names, strict=True)):
        spans = _choose_words(attributions, item, text, options.top_k)
        changes = _draw_changes(text, spans, lookups, options, name)
        usable = [change for change in changes if is_known(change.replacement)]
        n_unknown += len(changes) - len(usable)
        plans += _plan_attempts(item, usable, kinds=lookups, options=options)

    # The attributions come with the logits of the originals, which are not predicted again.
    original_scores = softmax(np.asarray(attributions.logits, dtype=np.float64))
    attempts: list[Attempt] = []
    n_failed = 0
    if plans:
        changed = [apply_substitutions(rows[plan.item], plan.changes) for plan in plans]
        predicted = predict(
            classifier,
            changed,
            batch_size=options.batch_size,
            fail_fast=options.fail_fast,
            **running,
        )
        n_failed = len(predicted.failures)
        changed_scores = softmax(np.asarray(predicted.logits))
        # Texts that failed have no row, so a row is found by the number that `predict` gave it.
        for number, scores in zip(map(int, predicted.ids), changed_scores, strict=True):
            plan = plans[number]
            attempt = _make_attempt(
                plan, names[plan.item], changed[number], original_scores[plan.item], scores
            )
            attempts.append(attempt)
    return SubstitutionTests(
        mode=options.mode,
        attempts=tuple(attempts),
        fewest_changes=_count_needed_words(attempts, len(names)),
        n_items=len(names),
        n_unknown=n_unknown,
        definition=_describe_substitutions(options),
        n_failed=n_failed,
    )


def make_vocabulary_check(classifier: Classifier) -> Callable[[str], bool]:
    """Return a function that checks whether the vocabulary of a classifier contains a word.

    A word is missing if the tokenizer replaces a part of it by its unknown token. A tokenizer without an
    unknown token contains every word.

    Args:
        classifier: The classifier, with its tokenizer.

    Returns:
        Function of a word that returns whether the vocabulary contains it.
    """
    tokenizer = classifier.tokenizer
    unknown_token = getattr(tokenizer, "unk_token_id", None)

    # Cached, because the same words come up in many texts, and tokenizing takes most of the time.
    @functools.cache
    def is_known(word: str) -> bool:
        if unknown_token is None:
            return True
        # The space is needed, because byte-pair tokenizers split a word at the start of a text differently.
        tokens = tokenizer(f" {word}", add_special_tokens=False)["input_ids"]
        return unknown_token not in tokens

    return is_known


def _draw_changes(
    text: str,
    spans: Sequence[tuple[int, int]],
    lookups: Lookups,
    options: SubstitutionOptions,
    item_id: str,
) -> list[Substitution]:
    """Draw the replacements of the chosen words of a text, and of its names in mode "single".

    Args:
        text: The text.
        spans: Start and end of each chosen word in `text`, the most attributed word first.
        lookups: For each kind, such as "synonym": candidates of a word, and the name of their source.
        options: Options of the tests; `mode`, `n_candidates`, `seed` and `name_pool` are used.
        item_id: Id of the text. Together with the seed, it determines the sampled replacements.
    """
    is_single = options.mode == "single"
    # In mode "joint", each word has at most one replacement of each kind.
    n_candidates = options.n_candidates if is_single else 1
    changes = draw_substitutions(
        text, spans, lookups, item_id=item_id, seed=options.seed, n_candidates=n_candidates
    )
    if is_single:
        changes += name_substitutions(
            text, item_id=item_id, seed=options.seed, pool=options.name_pool
        )
    return changes


def _plan_attempts(
    item: int,
    changes: Sequence[Substitution],
    kinds: Iterable[str],
    options: SubstitutionOptions,
) -> list[_Plan]:
    """Plan the changed texts of an item: decide which replacements each of them combines.

    In mode "single", each text has one replacement. In mode "joint", the k-th text of a kind has the first
    k replacements of this kind.

    Args:
        item: Row of the item.
        changes: Possible replacements, those of the most attributed words first.
        kinds: Kinds of replacements, such as "synonym".
        options: Options of the tests; `mode` and `max_changes` are used.
    """
    if options.mode == "single":
        return [_Plan(item, change.kind, (change,)) for change in changes]
    plans = []
    for kind in kinds:
        kind_changes = [change for change in changes if change.kind == kind]
        # The changes of the most attributed words come first.
        n_changes = min(len(kind_changes), options.max_changes)
        for count in range(1, n_changes + 1):
            plans.append(_Plan(item, kind, tuple(kind_changes[:count])))
    return plans


def _make_attempt(
    plan: _Plan, item_id: str, text: str, original_scores: Floats, scores: Floats
) -> Attempt:
    """Return an attempt with the predictions before and after the change of its text.

    Args:
        plan: The row of the item, the kind of replacement, and the changes.
        item_id: Id of the item.
        text: The changed text.
        original_scores: (K,) probabilities of the original.
        scores: (K,) probabilities of the changed text.
    """
    old_class = int(original_scores.argmax())
    new_class = int(scores.argmax())
    return Attempt(
        item=plan.item,
        id=item_id,
        kind=plan.kind,
        changes=plan.changes,
        text=text,
        flipped=new_class != old_class,
        before=old_class,
        after=new_class,
        # Both are about the old class: the decrease shows how close an attempt came to a flip.
        confidence_before=float(original_scores[old_class]),
        confidence_after=float(scores[old_class]),
        new_confidence=float(scores[new_class]),
    )


def _count_needed_words(attempts: Sequence[Attempt], n_items: int) -> tuple[int | None, ...]:
    """Return the smallest number of replaced words that flips each item; None if no attempt does.

    Args:
        attempts: Attempts on all items.
        n_items: Number of items.
    """
    fewest: list[int | None] = [None] * n_items
    for attempt in attempts:
        if not attempt.flipped:
            continue
        n_words = len(attempt.changes)
        smallest = fewest[attempt.item]
        if smallest is None or n_words < smallest:
            fewest[attempt.item] = n_words
    return tuple(fewest)


def _describe_substitutions(options: SubstitutionOptions) -> str:
    """Describe which words are replaced, and how, for the definition of the result.

    Args:
        options: Options of the tests; `top_k` and `mode` are used.
    """
    if options.top_k is None:
        words = "with attribution of at least mean + 1 standard deviation"
    else:
        words = f"of rank 1 to {options.top_k}"
    if options.mode == "single":
        order = "one at a time"
    else:
        order = "the most attributed ones together"
    return (
        f"Words {words} (integrated gradients of the predicted class) replaced {order}; "
        "function words are never replaced."
    )


def _choose_words(
    attributions: Attributions, item: int, text: str, top_k: int | None
) -> list[tuple[int, int]]:
    """Choose the words of a text that its prediction relies on most.

    Args:
        attributions: Attributions of the words of all texts, in flat arrays.
        item: Row of the text.
        text: The text.
        top_k: Maximum number of words; None for those with an absolute attribution of at least mean + 1
            standard deviation over the words of the text.

    Returns:
        (start, end) of each word in the text, by falling attribution, without function words and
        punctuation. A position, unlike the word itself, is unique in the text.
    """
    # The words of all texts are in flat arrays, one text after another.
    first_word, end_word = attributions.scores.offsets[item : item + 2]
    sizes = np.abs(attributions.scores[item])
    if not len(sizes):
        return []
    # A stable sort keeps words of equal attribution in the order of the text.
    order = np.argsort(-sizes, kind="stable")
    if top_k is None:
        # The paper does not give its threshold.
        order = order[sizes[order] >= sizes.mean() + sizes.std()]
    starts = attributions.starts[first_word:end_word].tolist()
    ends = attributions.ends[first_word:end_word].tolist()
    spans = []
    for word in order.tolist():
        if _is_content_word(text[starts[word] : ends[word]]):
            spans.append((starts[word], ends[word]))
    # The limit applies after function words are excluded. Otherwise no word might be left to replace.
    return spans if top_k is None else spans[:top_k]


def _is_content_word(word: str) -> bool:
    """Return whether a word may be replaced: neither "I" nor "very" has a useful synonym."""
    return any(letter.isalpha() for letter in word) and word.lower() not in STOP_WORDS
