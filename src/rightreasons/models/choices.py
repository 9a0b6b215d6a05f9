"""Models that score choices or write answers, opened by whatever kind they are.

`load_chooser` opens a multiple-choice model or a language model of any kind, `load_language_model`
and `load_causal` language models alone. `kind_of_model` tells the kind by the configuration. Every
kind of language model is asked through prompts, by a `LocalEngine`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import torch
import transformers
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES as _ENCODER_DECODERS,
)

from rightreasons.core.choices import SCORING_METHODS
from rightreasons.core.errors import get_first_line
from rightreasons.core.validation import check_one_of
from rightreasons.models.classes import Classifier
from rightreasons.models.language.bidirectional import EncoderDecoder, MaskedLM
from rightreasons.models.language.causal import CausalLM
from rightreasons.models.loading import (
    HowToOpen,
    check_model,
    check_vocabulary,
    gguf_path,
    list_architectures,
    load_multiple_choice,
    load_tokenizer,
    open_weights,
    own_code,
    quiet,
)
from rightreasons.models.local import LocalEngine
from rightreasons.models.prompted import Prompted
from rightreasons.models.weights import Adapter, find_adapter
from rightreasons.models.wording import Prompt

if TYPE_CHECKING:
    from typing_extensions import Unpack

LANGUAGE_MODELS: Mapping[str, type[CausalLM]] = {
    "causal": CausalLM,
    "encoder-decoder": EncoderDecoder,
    "masked": MaskedLM,
}
"""The kinds of models that are asked through a prompt."""

Model = TypeVar("Model", bound=CausalLM)


def load_causal(name_or_path: str | os.PathLike[str], **options: Unpack[HowToOpen]) -> CausalLM:
    """Load a causal language model and its tokenizer, and try it on a few short sequences.

    Args:
        name_or_path: A folder, a hub id, or a GGUF file (which needs the package gguf).
        **options: `revision`, `device` and `dtype`, as in `HowToOpen`.

    Returns:
        The model, in evaluation mode.

    Raises:
        ValueError: If there is no such model, it is not a causal language model, its tokenizer is
            missing, or the trial finds that it cannot be asked.
    """
    return open_language_model(CausalLM, name_or_path, options)


def open_language_model(
    kind: type[Model], name_or_path: str | os.PathLike[str], options: HowToOpen
) -> Model:
    """Open a language model of a kind, and try it; the errors are those of `load_causal`.

    Args:
        kind: `CausalLM`, or a kind that is derived from it.
        name_or_path: A folder, a hub id, or a GGUF file.
        options: `revision`, `device` and `dtype`.
    """
    path = gguf_path(name_or_path)
    source: dict[str, Any] = {}
    if path is None:
        name = check_model(name_or_path)
    else:
        # transformers reads the file by its folder and its name.
        name = str(path.parent)
        source["gguf_file"] = path.name
    model, missing = open_weights(kind.OPENED_BY, kind.KIND, name, options, **source)
    if missing:
        # Random weights in their place would give numbers that look like scores.
        raise ValueError(
            f"Expected {name} to be a {kind.KIND}, but its checkpoint lacks the weights "
            f"{', '.join(missing[:3])}."
        )
    tokenizer = load_tokenizer(name, options.get("revision"), **source)
    check_vocabulary(model, tokenizer, name)
    scorer = kind(model, tokenizer, os.fspath(name_or_path))
    scorer.try_out()
    return scorer


def bare(model: CausalLM, method: str = "mean", **options: Any) -> Prompted:
    r"""Return a language model as a scorer of choices that is asked prompts as they are.

    With l(a | p) = sum_t log P(a_t | p, a_<t), the log-likelihood of the tokens of a space and the
    choice after p, `loglikelihood` of the pair in lm-evaluation-harness:

        sum            l(a | p)
        mean           l(a | p) / number of tokens of a
        unconditional  l(a | p) - l(a | p0), p0 the empty prompt (Holtzman et al. 2021, PMI_DC)
        letters        log P(letter | p, all choices with letters, "Answer:"): the model sees the
                       choices together

    An empty prompt is read as the tokenizer's start token, and a long one loses its beginning.

    Args:
        model: The model.
        method: "mean" (default), "sum", "unconditional" or "letters".
        **options: Options of `LocalEngine`.

    References:
        Holtzman et al. (2021), "Surface Form Competition: Why the Highest Probability Answer Isn't
        Always Right", EMNLP.
    """
    check_one_of(method, SCORING_METHODS, "method")
    if method == "letters":
        prompt = Prompt(
            chat="off",
            template="{{ prompt }}\n{{ options }}",
            style="letters",
            answer_prefix="Answer:",
            scoring="sum",
        )
    else:
        prompt = Prompt(chat="off", template="{{ prompt }}", style="words", scoring=method)
    return Prompted(prompt, LocalEngine(model, **options))


def load_chooser(
    name_or_path: str | os.PathLike[str], *, method: str | None = None, **options: Unpack[HowToOpen]
) -> Classifier | Prompted:
    """Open a model that can choose: a multiple-choice model or a language model.

    Args:
        name_or_path: A folder, a hub id, or a GGUF file (which needs the package gguf).
        method: How a language model scores choices, as in `bare`; None is "mean". A head has no
            other.
        **options: `revision`, `device` and `dtype`, as in `HowToOpen`.

    Returns:
        A `Classifier` without classes, or a language model that is asked prompts as they are.

    Raises:
        TypeError: If the name is neither text nor path.
        ValueError: If there is no such model, it is neither of the two, or it has no such method.
    """
    kind = kind_of_model(name_or_path, options.get("revision"))
    if kind in LANGUAGE_MODELS:
        model = open_language_model(LANGUAGE_MODELS[kind], name_or_path, options)
        return bare(model, method or "mean")
    if kind != "choice":
        raise ValueError(
            f"Expected {os.fspath(name_or_path)} to be a multiple-choice model or a language "
            f"model, but it is {kind}: fine-tune it as a multiple-choice model first."
        )
    if method is not None:
        raise ValueError(
            f"Expected no `method` of the multiple-choice model {name_or_path}, but got {method!r}."
        )
    return load_multiple_choice(name_or_path, **options)


def load_language_model(
    name_or_path: str | os.PathLike[str], **options: Unpack[HowToOpen]
) -> CausalLM:
    """Load a language model of any kind, as `load_causal` does a causal one."""
    kind = kind_of_model(name_or_path, options.get("revision"))
    # The loader of causal models states what is wrong with another kind.
    return open_language_model(LANGUAGE_MODELS.get(kind, CausalLM), name_or_path, options)


def kind_of_model(
    model: str | os.PathLike[str] | torch.nn.Module, revision: str | None = None
) -> str:
    """Return the kind of a model, by the configuration of a name, or by the class of an object.

    Args:
        model: A model folder, a hub repository or a GGUF file, or a loaded model.
        revision: A branch, tag or commit of the hub repository.

    Returns:
        "choice", one of `LANGUAGE_MODELS`, or the name of another architecture.

    Raises:
        ValueError: If there is no configuration that can be read.
    """
    if not isinstance(model, torch.nn.Module) and gguf_path(model):
        return "causal"
    adapter: Adapter | None = None
    config: Any
    if isinstance(model, torch.nn.Module):
        config = getattr(model, "config", None)
        architectures = [_get_class_name(model)]
    else:
        name = check_model(model)
        adapter = find_adapter(name, revision)
        config = _load_config(name, revision, adapter)
        architectures = list_architectures(config)
        # The head of an adapter replaces that of its base.
        if adapter is not None and adapter.head:
            architectures = [adapter.head]
    # An adapter may hold a classification head without naming its task. Its base is then no longer
    # a language model, unless the adapter holds no head at all.
    is_headless = adapter is None or adapter.headless
    for architecture in architectures:
        kind = _find_kind(architecture, config, is_headless=is_headless)
        if kind is not None:
            return kind
    if architectures:
        return architectures[0]
    return f"a model of type {config.model_type} without a head"


def _get_class_name(model: torch.nn.Module) -> str:
    """Return the name of the class of a model, or of the one that an adapter of peft is put on."""
    unwrap: Any = getattr(model, "get_base_model", None)
    if unwrap is not None:
        model = unwrap()
    return type(model).__name__


def _load_config(name: str, revision: str | None, adapter: Adapter | None) -> Any:
    """Return the configuration of a model, or of the base of an adapter.

    Args:
        name: A folder or a hub id, for errors as well.
        revision: A branch, tag or commit of the hub repository.
        adapter: The adapter in the folder, or None.

    Raises:
        ValueError: If there is none that can be read, or the model needs its own code.
    """
    base = name
    if adapter is not None:
        base = adapter.base
        revision = adapter.revision
    with quiet():
        try:
            return transformers.AutoConfig.from_pretrained(
                base, revision=revision, trust_remote_code=False
            )
        except (OSError, ValueError, KeyError) as error:
            # `own_code` returns an error if the model needs its own Python code, which is never
            # run.
            raise own_code(error, name) or ValueError(
                f"Expected {name} to be a multiple-choice model or a language model, but its "
                f"configuration cannot be read ({get_first_line(error)})."
            ) from error


def _find_kind(architecture: str, config: Any, *, is_headless: bool) -> str | None:
    """Return "choice", "causal", "encoder-decoder" or "masked" by the name of an architecture.

    Args:
        architecture: Name of the class, such as "BertForMaskedLM", or the head of an adapter.
        config: Configuration of the model.
        is_headless: Whether no adapter puts its own head on the model.

    Returns:
        The kind; None for any other, such as a sequence classifier.
    """
    if architecture.endswith("ForMultipleChoice"):
        return "choice"
    # transformers also lists classes that turn pictures or sound into text. Those have a separate
    # encoder before a decoder, and their configurations are not marked as encoder-decoders.
    encoder_decoders: Sequence[str] = ()
    if getattr(config, "is_encoder_decoder", False):
        encoder_decoders = list(_ENCODER_DECODERS.values())
    if architecture == "Seq2SeqLM" or (architecture in encoder_decoders and is_headless):
        return "encoder-decoder"
    # The class of XLM reads from both sides, unless its configuration says that it is causal.
    is_masked = architecture.endswith("ForMaskedLM")
    if architecture.endswith("WithLMHeadModel") and not getattr(config, "causal", True):
        is_masked = True
    if is_masked and is_headless:
        return "masked"
    if architecture.endswith(("ForCausalLM", "LMHeadModel")):
        return "causal"
    return None
