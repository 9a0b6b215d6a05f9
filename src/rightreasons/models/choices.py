"""One interface to every scorer of choices: a multiple-choice head or a language model."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from transformers.models.auto.modeling_auto import MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES as _ENCODER_DECODERS

from rightreasons.core.arrays import Ragged
from rightreasons.core.choices import SCORING_METHODS
from rightreasons.core.errors import OptionError
from rightreasons.core.scores import Scores
from rightreasons.core.validation import check_one_of
from rightreasons.models.batching import TOKENS_PER_ITEM
from rightreasons.models.bidirectional.encoder_decoder import EncoderDecoder
from rightreasons.models.bidirectional.masked import MaskedLM
from rightreasons.models.causal import CausalLM, open_language_model
from rightreasons.models.classes import Classifier
from rightreasons.models.loading import architectures_of, check_model, gguf_path, load_multiple_choice, own_code, quiet
from rightreasons.models.prompts import ChoiceItems, distinct_texts
from rightreasons.models.protocol import Scorer
from rightreasons.models.trial import first_line
from rightreasons.models.weights import adapter_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from rightreasons.models.loading import HowToOpen

HEAD = "head"
"""The method of a multiple-choice head: its one number per (prompt, choice) pair."""

LANGUAGE_MODELS: Mapping[str, type[CausalLM]] = {
    "causal": CausalLM,
    "encoder-decoder": EncoderDecoder,
    "masked": MaskedLM,
}
"""The kinds of models that are asked through a prompt."""

# Maximum choices after one prompt in one sequence; attention costs their square.
_MOST = 16


def load_chooser(
    name_or_path: str | os.PathLike[str], *, method: str | None = None, **how: Unpack[HowToOpen]
) -> Classifier | CausalLM:
    """Open a model that can choose: a multiple-choice model or a language model, whichever it is.

    Args:
        name_or_path: A folder, a hub id, or a GGUF file (which needs the package gguf).
        method: How a language model scores choices, one of `SCORING_METHODS`; None is "mean". For a
            multiple-choice model "head" or None.
        **how: `revision`, `device` and `dtype`, as `HowToOpen` says.

    Returns:
        A `Classifier` without classes, or a `CausalLM` with that `method`.

    Raises:
        TypeError: If the name is neither text nor path.
        ValueError: If there is no such model, or it is neither of the two, or it has no such method.
    """
    if method is not None:
        check_one_of(method, (HEAD, *SCORING_METHODS), "method")
    kind = kind_of_model(name_or_path, how.get("revision"))
    if kind != "choice" and kind not in LANGUAGE_MODELS:
        raise ValueError(
            f"Expected {os.fspath(name_or_path)} to be a multiple-choice model or a language model, but it is {kind}: "
            "fine-tune it as a multiple-choice model first."
        )
    if kind in LANGUAGE_MODELS:
        model = open_language_model(LANGUAGE_MODELS[kind], name_or_path, how)
        return dataclasses.replace(model, method=_method(model, method))
    head = load_multiple_choice(name_or_path, **how)
    _method(head, method)
    return head


def load_language_model(name_or_path: str | os.PathLike[str], **how: Unpack[HowToOpen]) -> CausalLM:
    """Load a language model of any kind, as `load_causal` does a causal one."""
    kind = LANGUAGE_MODELS.get(kind_of_model(name_or_path, how.get("revision")), CausalLM)
    return open_language_model(kind, name_or_path, how)


def choose(
    scorer: Scorer,
    prompts: Sequence[str],
    choices: Sequence[Sequence[str]],
    *,
    method: str | None = None,
    ids: Iterable[object] | None = None,
    labels: Sequence[int] | NDArray[Any] | None = None,
    batch_size: int = 32,
    max_tokens: int | None = None,
    distinct: bool = True,
    progress: bool = True,
    out: str | os.PathLike[str] | None = None,
    fail_fast: bool = True,
) -> Scores:
    """Score every choice of every item by any scorer.

    A scorer that reads one choice at a time scores every distinct (prompt, choice) pair once, however many items share
    it: items with common choices, such as one item under several probes, cost only what differs, and a pair has exactly
    the same score everywhere.

    Args:
        scorer: From `load_chooser`, `load_multiple_choice` or `load_causal`, or any other `Scorer`, such as a
            `Prompted`, which batches by itself.
        prompts: N prompts; one may be empty.
        choices: N lists of at least two texts.
        method: "head" for a multiple-choice model; "mean", "sum", "unconditional" or "letters" for a causal language
            model (`choose_causal`). None takes the scorer's own.
        ids: N unique ids; by default "0", "1", …
        labels: (N,) the index of the right choice, -1 where there is none.
        batch_size: Maximum pairs per batch of a multiple-choice model; default 32.
        max_tokens: Maximum tokens per padded batch; None is no bound for a multiple-choice model, and 128 times
            `batch_size` for a causal one.
        distinct: Whether equal pairs are scored once (default). False scores every pair of every item.
        progress: Whether to show a progress bar.
        out: A folder for the results; a killed run resumes.
        fail_fast: Whether an item that cannot be scored is an error (default). If not, it is left out, and `failures`
            has its id and the reason; every pair of every item is scored then.

    Returns:
        ids, the scores ((N, C) where every item has C choices, else `Ragged`), whose softmax over an item's choices is
        its confidence, labels, and how many prompts or pairs were cut.

    Raises:
        TypeError: If a column is of the wrong kind.
        ValueError: If columns differ in length, an item has fewer than two choices, a score is not finite, the method
            is not one of the scorer's, or `out` holds other files.
    """
    given: dict[str, Any] = {"ids": ids, "labels": labels, "progress": progress, "out": out}
    if isinstance(scorer, CausalLM):
        bound = TOKENS_PER_ITEM * batch_size if max_tokens is None else max_tokens
        asked = {"method": _method(scorer, method), "fail_fast": fail_fast, "max_tokens": bound}
        return scorer.choose(prompts, choices, **asked, **given)
    if not isinstance(scorer, Classifier):
        _check_scorer(scorer)
        if method is not None:
            raise OptionError(
                f"Expected no `method` for {scorer.name}, whose prompt says how it scores, but got {method!r}.",
                option="method",
            )
        return scorer.choose(prompts, choices, **given)
    _method(scorer, method)
    how: dict[str, Any] = {"batch_size": batch_size, "max_tokens": max_tokens, "progress": progress, "out": out}
    if not distinct or not fail_fast:
        return scorer.choose(prompts, choices, ids=ids, labels=labels, fail_fast=fail_fast, **how)
    items = ChoiceItems.of(prompts, choices, ids=ids, labels=labels, allow_empty=True)
    groups = _Groups(items)
    scores = scorer.choose(groups.prompts, groups.choices, ids=groups.names, **how)
    flat = scores.logits.values if isinstance(scores.logits, Ragged) else scores.logits.ravel()
    logits = Ragged.of(flat[groups.place], items.counts).table()
    return Scores(items.ids, logits, items.labels, None, scores.truncated, way=scores.way)


class _Groups:
    """The distinct (prompt, choice) pairs of some items, laid out as items of one prompt and two to `_MOST` choices.

    Attributes:
        prompts: The prompt of each group; a prompt with many choices has several groups.
        choices: Their choices.
        names: Their names: the first item that has the prompt, and the number of the group.
        place: (P,) the position in the groups of the score of every pair of every item.
    """

    def __init__(self, items: ChoiceItems) -> None:
        texts, places = distinct_texts(items.prompts, items.choices)
        # An item may offer one text twice; the scorers need two choices.
        texts = [own if len(own) > 1 else own * 2 for own in texts]
        starts = np.cumsum([0, *map(len, texts)])
        self.place = np.array([starts[group] + place for group, own in places for place in own], dtype=np.int64)
        self.prompts: list[str] = []
        self.choices: list[list[str]] = []
        self.names: list[str] = []
        first = {group: item for item, (group, _) in reversed([*enumerate(places)])}
        for group, own in enumerate(texts):
            for part, rows in enumerate(np.array_split(np.arange(len(own)), -(-len(own) // _MOST))):
                self.prompts.append(items.prompts[first[group]])
                self.choices.append([own[row] for row in rows])
                self.names.append(f"{items.ids[first[group]]}#{part}")


def _check_scorer(scorer: Any) -> None:
    if not callable(getattr(scorer, "choose", None)):
        raise TypeError(
            f"Expected a scorer from `load_chooser` or another scorer of choices, such as a `Prompted`, but got "
            f"{type(scorer).__name__}."
        )


def _method(scorer: Classifier | CausalLM, method: str | None) -> str:
    """Check a method against the kind of scorer; None is the scorer's own."""
    if isinstance(scorer, CausalLM):
        return check_one_of(scorer.method if method is None else method, SCORING_METHODS, "method")
    if scorer.label_names is not None:
        raise ValueError(f"Expected a scorer of choices, but {scorer.name} is a classifier: use `predict`.")
    if method not in (None, HEAD):
        raise OptionError(
            f"Expected `method` to be {HEAD!r} for the multiple-choice model {scorer.name}, but got {method!r}.",
            option="method",
        )
    return HEAD


def kind_of_model(model: str | os.PathLike[str] | torch.nn.Module, revision: str | None = None) -> str:
    """Return what a model folder, a hub repository or a GGUF file holds, as its configuration says, or what a model is.

    Args:
        model: The model: a name, or loaded.
        revision: A branch, tag or commit of the hub repository.

    Returns:
        "choice", one of `LANGUAGE_MODELS`, or the name of another architecture.

    Raises:
        ValueError: If there is no configuration that can be read.
    """
    adapter, config = None, cast("Any", None)
    if isinstance(model, torch.nn.Module):
        inner = getattr(model, "get_base_model", lambda: model)()  # what an adapter of peft is put on
        config, built = getattr(model, "config", None), [type(inner).__name__]
    elif gguf_path(model):
        return "causal"
    else:
        name = check_model(model)
        adapter = adapter_of(name, revision)
        with quiet():
            try:
                where, of = (name, revision) if adapter is None else (adapter.base, adapter.revision)
                config = transformers.AutoConfig.from_pretrained(where, revision=of, trust_remote_code=False)
            except (OSError, ValueError, KeyError) as error:
                raise own_code(error, name) or ValueError(
                    f"Expected {name} to be a multiple-choice model or a language model, but its configuration cannot "
                    f"be read ({first_line(error)})."
                ) from error
        built = [adapter.head] if adapter is not None and adapter.head else architectures_of(config)
    # What turns pictures or sound into text is no encoder-decoder, but a decoder after an encoder of its own.
    texts = _ENCODER_DECODERS.values() if getattr(config, "is_encoder_decoder", False) else ()
    # An adapter that does not tell its task made no classifier of its base if it holds no head.
    headless = adapter is None or adapter.headless
    for architecture in built:
        if architecture.endswith("ForMultipleChoice"):
            return "choice"
        if architecture == "Seq2SeqLM" or (architecture in texts and headless):
            return "encoder-decoder"
        # One class of XLM reads both ways, and says in its configuration which.
        both = architecture.endswith("WithLMHeadModel") and not getattr(config, "causal", True)
        if (both or architecture.endswith("ForMaskedLM")) and headless:
            return "masked"
        if architecture.endswith(("ForCausalLM", "LMHeadModel")):
            return "causal"
    return built[0] if built else f"a model of type {config.model_type} without a head"
