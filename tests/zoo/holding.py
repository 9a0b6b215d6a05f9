"""What the library says of a tiny model, compared with the literal way: exact, refused in a sentence, or wrong."""

from __future__ import annotations

import dataclasses
import functools
import tempfile
from collections.abc import Callable, Iterator
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
from rightreasons.models.trial import BatchingStrategy, find_classifier_strategy
from tiny_causal import chosen
from zoo import literal
from zoo.building import build, reads_types, save
from zoo.words import CHOICES, PAIRS, PROMPTS, TEXTS, tokenizer

TOLERANCE = 1e-4
"""Relative to the largest number of the call."""

ROUNDING = 1e-2
"""What differs by less is compared in float64 again."""

STEPS = 6

LONGEST = 60
"""Tokens of the longest texts, nearly."""

VARIANTS = {
    "classes": ("right", "left", "other padding"),
    "choices": ("right", "left"),
    "causal": ("right", "left", "prepend"),
    "encoder-decoder": ("right", "prepend"),
    "masked": ("right", "prepend"),
}
"""The padding side of the tokenizer; a padding id of the model's own; a tokenizer as Llama 2's."""

CHANGED = {
    "classes": ("adapter",),
    "choices": ("adapter",),
    "causal": ("adapter", "4 bits"),
    "encoder-decoder": ("adapter",),
    "masked": ("adapter",),
}
"""Other weights of published models: a LoRA beside its base, and 4 bits of bitsandbytes."""

CALLS = {
    "classes": ("predict", "attributions", "fisher"),
    "choices": ("choices",),
    "causal": ("causal",),
    "encoder-decoder": ("encoder-decoder",),
    "masked": ("masked",),
}
"""What is asked of a model, by task."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a call came to.

    Attributes:
        call: One of those of `CALLS`.
        variant: The tokenizer's padding side, or another circumstance.
        verdict: "exact", "refused" (with a sentence), "wrong" (with an error) or "crashed".
        error: The largest difference relative to the largest number; None where there is no number.
        sentence: The refusal, or what crashed.
        way: How the inputs were batched, as the trial found; "" where nothing was exact.
    """

    call: str
    variant: str
    verdict: str
    error: float | None = None
    sentence: str = ""
    way: str = ""


def hold(task: str, family: str, *, brief: bool = False) -> list[Outcome]:
    """Build a tiny model of a family and compare every call of the task with the literal way.

    Args:
        task: A key of `VARIANTS`.
        family: One of its families.
        brief: Whether gradients are compared with one tokenizer alone.

    Raises:
        NotBuilt: If there is no such tiny model, with the reason.
    """
    model = build(task, family)
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory() as folder:
        known = model.written is None
        for variant in (*VARIANTS[task], *(() if known else CHANGED[task])):
            if variant == "other padding" and not known:
                continue
            gradients = variant != "other padding" and not (brief and variant != "right")
            outcomes += _HELD[task](model, Path(folder) / variant, variant, gradients)
    return outcomes


def _classes(model: Any, folder: Path, variant: str, gradients: bool) -> Iterator[Outcome]:
    words = tokenizer(side="left" if variant == "left" else "right", types=reads_types(model))
    config = model.config.get_text_config()
    pad = getattr(config, "pad_token_id", None)
    if variant == "other padding":
        config.pad_token_id = words.mask_token_id
    save(model, folder, words, variant)
    config.pad_token_id = pad
    with _trying("predict", variant) as caught:
        classifier = load_classifier(folder, device="cpu")
    if caught:
        yield from (
            dataclasses.replace(caught[0], call=call)
            for call in ("predict", "attributions", "fisher")
        )
        return
    words = classifier.tokenizer  # opening a folder may change it
    model, length = classifier.model, _length(classifier.model, words, classifier.max_length)
    if length < classifier.max_length:
        told = f"the model takes {length} tokens, not {classifier.max_length}"
        yield Outcome("predict", variant, "wrong", None, told)
    texts = [*TEXTS, " ".join(TEXTS)]
    bound: dict[str, Any] = {"max_length": length, "progress": False}
    parts = [literal.inputs_of(words, text, None, length) for text in texts]
    pairs = [literal.inputs_of(words, *both, length) for both in zip(TEXTS, PAIRS, strict=True)]
    alone = [literal.logits(model, part) for part in parts]
    outcome = _compare(
        "predict", variant, alone, lambda: predict(classifier, texts, **bound).logits
    )
    yield _with_way(outcome, lambda: _way(classifier, length))
    alone = [literal.logits(model, part) for part in pairs]
    yield _compare(
        "predict",
        f"{variant}, pairs",
        alone,
        lambda: predict(classifier, TEXTS, text_pairs=PAIRS, **bound).logits,
    )
    if not gradients:
        return
    yield from _gradients(classifier, model, variant, parts[: len(TEXTS)], bound)


def _choices(model: Any, folder: Path, variant: str, _gradients: bool) -> Iterator[Outcome]:
    words = tokenizer(side="left" if variant == "left" else "right", types=reads_types(model))
    save(model, folder, words, variant)
    with _trying("choices", variant) as caught:
        classifier = load_multiple_choice(folder, device="cpu")
    if caught:
        yield caught[0]
        return
    words = classifier.tokenizer  # opening a folder may change it
    model, length = classifier.model, _length(classifier.model, words, classifier.max_length)
    bound: dict[str, Any] = {"choices": CHOICES, "max_length": length, "progress": False}
    items = [
        [literal.inputs_of(words, prompt, choice, length) for choice in row]
        for prompt, row in zip(PROMPTS, CHOICES, strict=True)
    ]
    alone = [np.array([literal.pair_logit(model, part) for part in item]) for item in items]
    outcome = _compare(
        "choices", variant, alone, lambda: classifier.choose(PROMPTS, **bound).logits
    )
    yield _with_way(outcome, lambda: _way(classifier, length))


def _language_model(
    task: str, model: Any, folder: Path, variant: str, _gradients: bool
) -> Iterator[Outcome]:
    kind = "prepend" if variant == "prepend" else "bytes"
    ends, types = task != "causal", task == "masked" and reads_types(model)
    words = tokenizer(
        kind=kind, side="left" if variant == "left" else "right", ends=ends, types=types
    )
    save(model, folder, words, variant)
    with _trying(task, variant) as caught:
        scorer = load_language_model(folder, device="cpu")
    if caught:
        yield caught[0]
        return
    score = functools.partial(literal.LIKELIHOODS[task], scorer.model, scorer.tokenizer)

    def held() -> list[Outcome]:
        asked = [
            [score(prompt, choice, scorer.max_length) for choice in row]
            for prompt, row in zip(PROMPTS, CHOICES, strict=True)
        ]
        sums = [np.array([value for value, _ in row]) for row in asked]
        means = [np.array([value / count for value, count in row]) for row in asked]
        return [
            _compare(
                task,
                f"{variant}, {method}",
                alone,
                lambda: chosen(scorer, PROMPTS, CHOICES, method=method, progress=False).logits,  # noqa: B023
            )
            for method, alone in (("sum", sums), ("mean", means))
        ]

    for outcome in _without_rounding(held(), scorer.model, held):
        yield _with_way(outcome, lambda: find_likelihood_strategy(scorer, longest=LONGEST))


_HELD: dict[str, Callable[[Any, Path, str, bool], Iterator[Outcome]]] = {
    "classes": _classes,
    "choices": _choices,
    **{task: functools.partial(_language_model, task) for task in literal.LIKELIHOODS},
}


def _way(classifier: Any, length: int) -> BatchingStrategy:
    """Return how the inputs of a classifier or a multiple-choice model are batched."""
    return find_classifier_strategy(
        classifier, longest=min(length, LONGEST), joint=classifier.label_names is None
    )


def _with_way(outcome: Outcome, way: Callable[[], BatchingStrategy]) -> Outcome:
    return dataclasses.replace(outcome, way=way().name) if outcome.verdict == "exact" else outcome


def _length(model: Any, words: Any, claimed: int) -> int:
    """Return how many tokens a model takes: what is claimed, or less where the plain forward pass fails at that."""
    for length in (claimed, 64, 62, 48):
        if length <= claimed:
            inputs = literal.inputs_of(words, " ".join(TEXTS), None, length)
            try:
                _reads(model, inputs)
                return length
            except Exception:
                continue
    return min(claimed, 32)


def _reads(model: Any, inputs: dict[str, Any]) -> None:
    if "MultipleChoice" in type(model).__name__:
        literal.pair_logit(model, inputs)
    else:
        literal.logits(model, inputs)


def _gradients(
    classifier: Any, model: Any, variant: str, items: list[dict[str, Any]], asked: dict[str, Any]
) -> Iterator[Outcome]:
    got = {
        "attributions": lambda: (
            integrated_gradients(
                classifier,
                TEXTS,
                **asked,
                method="riemann_right",
                steps=STEPS,
                baseline="zeros",
                rank_special=True,
            ).scores
        ),
        "fisher": lambda: fisher_information(classifier, TEXTS, **asked).eigenvalues,
    }
    alone: dict[str, Any] = {}
    reason = ""

    def held() -> list[Outcome]:
        nonlocal alone, reason
        alone, reason = _literal_gradients(model, items)
        return [_compare(call, variant, alone.get(call), got[call]) for call in got]

    outcomes = _without_rounding(held(), model, held)
    for outcome in outcomes:
        known = outcome.verdict == "refused" or outcome.call in alone
        yield outcome if known else dataclasses.replace(outcome, verdict="unknown", sentence=reason)


def _without_rounding(
    outcomes: list[Outcome], model: Any, again: Callable[[], list[Outcome]]
) -> list[Outcome]:
    """Ask again in float64 what is off by little: what is rounding in float32 goes away, what is wrong stays."""
    if any(outcome.verdict == "wrong" and (outcome.error or 1) < ROUNDING for outcome in outcomes):
        model.double()
        if hasattr(model, "set_experts_implementation"):
            model.set_experts_implementation("eager")  # the fast one has no float64
        outcomes = [
            b if a.verdict == "wrong" else a for a, b in zip(outcomes, again(), strict=True)
        ]
    return outcomes


def _literal_gradients(model: Any, items: list[dict[str, Any]]) -> tuple[dict[str, Any], str]:
    """Return the literal attributions and eigenvalues; none, and the reason, where there is no literal way."""
    try:
        reader = literal.Reader(model)
        labels = [int(literal.logits(reader.model, part).argmax()) for part in items]
        rows = [
            literal.attributions(reader, [part], label, STEPS)
            for part, label in zip(items, labels, strict=True)
        ]
        return {
            "attributions": rows,
            "fisher": np.array([literal.fisher(reader, [part]) for part in items]),
        }, ""
    except Exception as error:  # then only a refusal is right
        return {}, f"no literal way: {type(error).__name__}: {error}"


class _trying:
    """Turns an error of the block into an outcome."""

    def __init__(self, call: str, variant: str) -> None:
        self._call, self._variant = call, variant
        self._caught: list[Outcome] = []

    def __enter__(self) -> list[Outcome]:
        return self._caught

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> bool:
        if not isinstance(error, Exception):
            return False
        line = (str(error).strip().splitlines() or [""])[0]
        if isinstance(error, (ValueError, TypeError)) and line.startswith("Expected"):
            self._caught.append(Outcome(self._call, self._variant, "refused", None, line))
        else:
            self._caught.append(
                Outcome(
                    self._call, self._variant, "crashed", None, f"{type(error).__name__}: {line}"
                )
            )
        return True


def _compare(call: str, variant: str, alone: Any, ask: Callable[[], Any]) -> Outcome:
    with _trying(call, variant) as caught:
        answer = ask()
    if caught:
        return caught[0]
    if alone is None:
        return Outcome(call, variant, "answered")
    got = [
        np.asarray(row, dtype=np.float64)
        for row in (answer if isinstance(answer, Ragged) else list(answer))
    ]
    want = [np.asarray(row, dtype=np.float64) for row in alone]
    if [row.shape for row in got] != [row.shape for row in want]:
        return Outcome(call, variant, "wrong", None, f"{len(got)} rows of other lengths")
    size = max(float(np.abs(row).max(initial=0.0)) for row in want) or 1.0
    error = (
        max(float(np.abs(a - b).max(initial=0.0)) for a, b in zip(got, want, strict=True)) / size
    )
    return Outcome(call, variant, "exact" if error <= TOLERANCE else "wrong", error)


def single_thread() -> None:
    """Tiny models are fastest on one thread."""
    torch.set_num_threads(1)
