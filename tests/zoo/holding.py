"""Results of the library on a tiny model, compared with the reference: exact, refused with a reason, or wrong."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rightreasons.core.arrays import Ragged
from rightreasons.models.choices import load_language_model
from rightreasons.models.classes import predict
from rightreasons.models.gradients.attribution import integrated_gradients
from rightreasons.models.gradients.fisher import fisher_information
from rightreasons.models.language.likelihood_runs import find_likelihood_strategy
from rightreasons.models.loading import load_classifier, load_multiple_choice
from rightreasons.models.padding_trial import find_classifier_strategy
from rightreasons.models.trial import BatchingStrategy
from tiny_causal import chosen
from zoo import literal
from zoo.building import build, has_token_types, save
from zoo.words import CHOICES, PAIRS, PROMPTS, TEXTS, tokenizer

TOLERANCE = 1e-4
"""Largest error of an exact result, relative to the largest number of the call."""

MAX_ROUNDING = 1e-2
"""Errors below this may be rounding: they are compared in float64 again."""

STEPS = 6

MAX_TOKENS = 60
"""Tokens of the longest texts, nearly."""

VARIANTS = {
    "classes": ("right", "left", "other padding"),
    "choices": ("right", "left"),
    "causal": ("right", "left", "prepend"),
    "encoder-decoder": ("right", "prepend"),
    "masked": ("right", "prepend"),
}
"""Task -> its tokenizers: by the side of padding, with a padding id of the model's own, or as Llama 2's."""

WEIGHT_VARIANTS = {
    "classes": ("adapter",),
    "choices": ("adapter",),
    "causal": ("adapter", "4 bits"),
    "encoder-decoder": ("adapter",),
    "masked": ("adapter",),
}
"""Task -> other weights of published models: a LoRA on its base, and 4 bits of bitsandbytes."""

CALLS = {
    "classes": ("predict", "attributions", "fisher"),
    "choices": ("choices",),
    "causal": ("causal",),
    "encoder-decoder": ("encoder-decoder",),
    "masked": ("masked",),
}
"""Task -> the calls that are compared."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The outcome of a call.

    Attributes:
        call: One of those of `CALLS`.
        variant: The tokenizer's padding side, or another circumstance.
        verdict: "exact", "refused" (with a reason), "wrong" (with an error), "crashed", "answered"
            if there is no reference, or "unknown" if it is undefined.
        error: The largest difference relative to the largest number; None if there is no number.
        sentence: The refusal, or the error that crashed the call.
        strategy: How the inputs were batched, as the trial found; "" if nothing was exact.
    """

    call: str
    variant: str
    verdict: str
    error: float | None = None
    sentence: str = ""
    strategy: str = ""


def compare_family(task: str, family: str, *, is_brief: bool = False) -> list[Outcome]:
    """Build a tiny model of a family, and compare every call of the task with the reference.

    Args:
        task: A key of `VARIANTS`.
        family: One of its families.
        is_brief: Whether gradients are compared with one tokenizer alone.

    Raises:
        NotBuilt: If there is no such tiny model, with the reason.
    """
    model = build(task, family)
    is_published = model.published_config is not None
    variants = VARIANTS[task]
    if is_published:
        # The padding id of a published model is part of its configuration.
        variants = tuple(variant for variant in variants if variant != "other padding")
        variants += WEIGHT_VARIANTS[task]
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory() as folder:
        for variant in variants:
            with_gradients = variant != "other padding"
            if is_brief and variant != "right":
                with_gradients = False
            compare = COMPARISONS[task]
            outcomes += compare(model, Path(folder) / variant, variant, with_gradients)
    return outcomes


# ---------------------------------------------------------------- Tasks


def compare_classes(
    model: Any, folder: Path, variant: str, with_gradients: bool
) -> Iterator[Outcome]:
    """Compare logits of texts and pairs of texts, and gradients."""
    save_classifier(model, folder, variant)
    with catch_error("predict", variant) as caught:
        classifier = load_classifier(folder, device="cpu")
    if caught:
        for call in CALLS["classes"]:
            yield dataclasses.replace(caught[0], call=call)
        return

    # Opening a folder may change the tokenizer and the model.
    words = classifier.tokenizer
    model = classifier.model
    length = find_length(model, words, classifier.max_length)
    if length < classifier.max_length:
        sentence = f"the model takes {length} tokens, not {classifier.max_length}"
        yield Outcome("predict", variant, "wrong", None, sentence)
    options: dict[str, Any] = {"max_length": length, "progress": False}

    texts = [*TEXTS, " ".join(TEXTS)]
    inputs = [literal.tokenize(words, text, None, length) for text in texts]
    reference = [literal.compute_logits(model, row) for row in inputs]
    outcome = compare_call(
        "predict", variant, reference, lambda: predict(classifier, texts, **options).logits
    )
    yield add_strategy(outcome, lambda: find_strategy(classifier, length))

    pair_inputs = []
    for text, pair in zip(TEXTS, PAIRS, strict=True):
        pair_inputs.append(literal.tokenize(words, text, pair, length))
    reference = [literal.compute_logits(model, row) for row in pair_inputs]
    yield compare_call(
        "predict",
        f"{variant}, pairs",
        reference,
        lambda: predict(classifier, TEXTS, text_pairs=PAIRS, **options).logits,
    )

    if with_gradients:
        # The last text is all others in one.
        yield from compare_gradients(classifier, variant, inputs[: len(TEXTS)], options)


def save_classifier(model: Any, folder: Path, variant: str) -> None:
    """Save a classifier with the tokenizer of a variant."""
    side = "left" if variant == "left" else "right"
    words = tokenizer(side=side, types=has_token_types(model))
    config = model.config.get_text_config()
    padding_id = getattr(config, "pad_token_id", None)
    if variant == "other padding":
        config.pad_token_id = words.mask_token_id
    save(model, folder, words, variant)
    config.pad_token_id = padding_id


def compare_choices(
    model: Any, folder: Path, variant: str, with_gradients: bool
) -> Iterator[Outcome]:
    """Compare the logits of a multiple-choice head; there are no gradients."""
    side = "left" if variant == "left" else "right"
    save(model, folder, tokenizer(side=side, types=has_token_types(model)), variant)
    with catch_error("choices", variant) as caught:
        classifier = load_multiple_choice(folder, device="cpu")
    if caught:
        yield caught[0]
        return

    # Opening a folder may change the tokenizer and the model.
    words = classifier.tokenizer
    model = classifier.model
    length = find_length(model, words, classifier.max_length)
    options: dict[str, Any] = {"choices": CHOICES, "max_length": length, "progress": False}

    reference = []
    for prompt, choices in zip(PROMPTS, CHOICES, strict=True):
        inputs = [literal.tokenize(words, prompt, choice, length) for choice in choices]
        reference.append(np.array([literal.compute_choice_logit(model, row) for row in inputs]))
    outcome = compare_call(
        "choices", variant, reference, lambda: classifier.choose(PROMPTS, **options).logits
    )
    yield add_strategy(outcome, lambda: find_strategy(classifier, length))


def compare_language_model(
    task: str, model: Any, folder: Path, variant: str, with_gradients: bool
) -> Iterator[Outcome]:
    """Compare the log-likelihoods of choices, their sums and means; there are no gradients."""
    words = tokenizer(
        kind="prepend" if variant == "prepend" else "bytes",
        side="left" if variant == "left" else "right",
        ends=task != "causal",
        types=task == "masked" and has_token_types(model),
    )
    save(model, folder, words, variant)
    with catch_error(task, variant) as caught:
        scorer = load_language_model(folder, device="cpu")
    if caught:
        yield caught[0]
        return

    def compare_methods() -> list[Outcome]:
        return compare_likelihoods(task, scorer, variant)

    outcomes = repeat_in_float64(compare_methods(), scorer.model, compare_methods)
    for outcome in outcomes:
        yield add_strategy(outcome, lambda: find_likelihood_strategy(scorer, longest=MAX_TOKENS))


def compare_likelihoods(task: str, scorer: Any, variant: str) -> list[Outcome]:
    """Compare the sums and means of log-probabilities of choices."""
    score = literal.SCORERS[task]
    sums = []
    means = []
    for prompt, choices in zip(PROMPTS, CHOICES, strict=True):
        values = []
        counts = []
        for choice in choices:
            value, count = score(scorer.model, scorer.tokenizer, prompt, choice, scorer.max_length)
            values.append(value)
            counts.append(count)
        sums.append(np.array(values))
        means.append(np.array(values) / counts)

    def choose(method: str) -> Any:
        return chosen(scorer, PROMPTS, CHOICES, method=method, progress=False).logits

    return [
        compare_call(task, f"{variant}, sum", sums, lambda: choose("sum")),
        compare_call(task, f"{variant}, mean", means, lambda: choose("mean")),
    ]


COMPARISONS: dict[str, Callable[[Any, Path, str, bool], Iterator[Outcome]]] = {
    "classes": compare_classes,
    "choices": compare_choices,
    "causal": functools.partial(compare_language_model, "causal"),
    "encoder-decoder": functools.partial(compare_language_model, "encoder-decoder"),
    "masked": functools.partial(compare_language_model, "masked"),
}


# ---------------------------------------------------------------- Gradients


def compare_gradients(
    classifier: Any, variant: str, inputs: list[literal.Inputs], options: dict[str, Any]
) -> Iterator[Outcome]:
    """Compare attributions and Fisher information of `TEXTS`, whose tokens are the inputs."""

    def attribute() -> Any:
        result = integrated_gradients(
            classifier,
            TEXTS,
            **options,
            method="riemann_right",
            steps=STEPS,
            baseline="zeros",
            rank_special=True,
        )
        return result.scores

    def compute_eigenvalues() -> Any:
        return fisher_information(classifier, TEXTS, **options).eigenvalues

    computations = {"attributions": attribute, "fisher": compute_eigenvalues}
    reference: dict[str, Any] = {}
    reason = ""

    def compare_both() -> list[Outcome]:
        nonlocal reference, reason
        reference, reason = compute_reference_gradients(classifier.model, inputs)
        return [
            compare_call(call, variant, reference.get(call), compute)
            for call, compute in computations.items()
        ]

    for outcome in repeat_in_float64(compare_both(), classifier.model, compare_both):
        if outcome.verdict != "refused" and outcome.call not in reference:
            # Without a reference, only a refusal is right.
            outcome = dataclasses.replace(outcome, verdict="unknown", sentence=reason)
        yield outcome


def compute_reference_gradients(
    model: Any, inputs: list[literal.Inputs]
) -> tuple[dict[str, Any], str]:
    """Return attributions and eigenvalues by call; {} and the reason if the reference is undefined."""
    attributions = []
    eigenvalues = []
    try:
        reader = literal.EmbeddingReader(model)
        for row in inputs:
            label = int(literal.compute_logits(model, row).argmax())
            attributions.append(literal.integrate_gradients(reader, [row], label, STEPS))
            eigenvalues.append(literal.compute_fisher(reader, [row]))
    except Exception as error:
        return {}, f"no reference: {type(error).__name__}: {error}"
    return {"attributions": attributions, "fisher": np.array(eigenvalues)}, ""


def repeat_in_float64(
    outcomes: Sequence[Outcome], model: Any, compare: Callable[[], list[Outcome]]
) -> list[Outcome]:
    """Repeat a comparison in float64 if it is off by little: rounding in float32 vanishes, and errors remain."""
    outcomes = list(outcomes)
    errors = [outcome.error or 1 for outcome in outcomes if outcome.verdict == "wrong"]
    if not any(error < MAX_ROUNDING for error in errors):
        return outcomes
    model.double()
    if hasattr(model, "set_experts_implementation"):
        # The fast implementation has no float64.
        model.set_experts_implementation("eager")
    for index, repeated in enumerate(compare()):
        if outcomes[index].verdict == "wrong":
            outcomes[index] = repeated
    return outcomes


# ---------------------------------------------------------------- Calls


def find_strategy(classifier: Any, length: int) -> BatchingStrategy:
    """Return how the inputs of a classifier or a multiple-choice model are batched."""
    return find_classifier_strategy(
        classifier, longest=min(length, MAX_TOKENS), joint=classifier.label_names is None
    )


def add_strategy(outcome: Outcome, find: Callable[[], BatchingStrategy]) -> Outcome:
    """Return an exact outcome with the strategy that is found, and any other one as it is."""
    if outcome.verdict != "exact":
        return outcome
    return dataclasses.replace(outcome, strategy=find().name)


def find_length(model: Any, words: Any, stated: int) -> int:
    """Return how many tokens a model takes: the stated number, or fewer if the plain forward pass fails."""
    compute = literal.compute_logits
    if "MultipleChoice" in type(model).__name__:
        compute = literal.compute_choice_logit
    for length in (stated, 64, 62, 48):
        if length > stated:
            continue
        inputs = literal.tokenize(words, " ".join(TEXTS), None, length)
        try:
            compute(model, inputs)
        except Exception:
            continue
        return length
    return min(stated, 32)


@contextlib.contextmanager
def catch_error(call: str, variant: str) -> Iterator[list[Outcome]]:
    """Turn an error of the block into an outcome, which is added to the yielded list."""
    outcomes: list[Outcome] = []
    try:
        yield outcomes
    except Exception as error:
        lines = str(error).strip().splitlines()
        sentence = lines[0] if lines else ""
        if isinstance(error, (ValueError, TypeError)) and sentence.startswith("Expected"):
            outcomes.append(Outcome(call, variant, "refused", None, sentence))
        else:
            sentence = f"{type(error).__name__}: {sentence}"
            outcomes.append(Outcome(call, variant, "crashed", None, sentence))


def compare_call(call: str, variant: str, reference: Any, compute: Callable[[], Any]) -> Outcome:
    """Compare the rows that a call computes with those of the reference; None if it has none."""
    with catch_error(call, variant) as caught:
        computed = compute()
    if caught:
        return caught[0]
    if reference is None:
        return Outcome(call, variant, "answered")

    rows = computed if isinstance(computed, Ragged) else list(computed)
    values = [np.asarray(row, dtype=np.float64) for row in rows]
    expected = [np.asarray(row, dtype=np.float64) for row in reference]
    if [row.shape for row in values] != [row.shape for row in expected]:
        return Outcome(call, variant, "wrong", None, f"{len(values)} rows of other lengths")

    size = max(float(np.abs(row).max(initial=0.0)) for row in expected) or 1.0
    differences = []
    for row, expected_row in zip(values, expected, strict=True):
        differences.append(float(np.abs(row - expected_row).max(initial=0.0)))
    error = max(differences) / size
    return Outcome(call, variant, "exact" if error <= TOLERANCE else "wrong", error)


def use_single_thread() -> None:
    """Use one thread, with which tiny models are fastest."""
    torch.set_num_threads(1)
