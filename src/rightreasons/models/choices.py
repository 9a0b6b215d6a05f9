"""Opening of models that score choices or write answers, according to their kind.

`load_chooser` opens a multiple-choice model or a language model of any kind, `load_language_model`
and `load_causal` open only language models. `find_model_kind` reads the kind from the
configuration. Every kind of language model is asked through prompts, by a `LocalEngine`.
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
from rightreasons.models.input_limits import check_vocabulary
from rightreasons.models.language.bidirectional import EncoderDecoder, MaskedLM
from rightreasons.models.language.causal import CausalLM
from rightreasons.models.loading import (
    HowToOpen,
    check_model,
    find_gguf_file,
    list_architectures,
    load_multiple_choice,
    load_tokenizer,
    make_own_code_error,
    open_weights,
    silence_transformers,
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
    """Open a language model and its tokenizer, and run a trial of the model.

    Args:
        kind: Class of the model, such as `CausalLM` or `MaskedLM`.
        name_or_path: A folder, a hub id, or a GGUF file.
        options: `revision`, `device` and `dtype`.

    Raises:
        ValueError: If there is no such model, it is of another kind, its tokenizer is missing, or
            the trial finds that it cannot score texts.
    """
    path = find_gguf_file(name_or_path)
    source: dict[str, Any] = {}
    if path is None:
        name = check_model(name_or_path)
    else:
        # transformers opens a GGUF file by its folder and its file name.
        name = str(path.parent)
        source["gguf_file"] = path.name
    model, missing = open_weights(kind.OPENED_BY, kind.KIND, name, options, **source)
    if missing:
        # transformers has initialized these weights at random, so that scores would be noise.
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
    r"""Return a language model as a scorer of choices after unchanged prompts, without a template.

    With l(a | p) = sum_t log P(a_t | p, a_<t), the log-likelihood of the tokens of a space and the
    choice after p, `loglikelihood` of the pair in lm-evaluation-harness:

        sum            l(a | p)
        mean           l(a | p) / number of tokens of a
        unconditional  l(a | p) - l(a | p0), p0 the empty prompt (Holtzman et al. 2021, PMI_DC)
        letters        log P(letter | p, all choices with letters, "Answer:"): the model sees the
                       choices together

    An empty prompt is replaced by the start token of the tokenizer, and a prompt that is too long
    is truncated at its beginning.

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
    """Load a model that scores choices: a multiple-choice model or a language model.

    Args:
        name_or_path: A folder, a hub id, or a GGUF file (which needs the package gguf).
        method: How a language model scores choices, as in `bare`. If None, "mean". Not allowed for
            a multiple-choice model.
        **options: `revision`, `device` and `dtype`, as in `HowToOpen`.

    Returns:
        A `Classifier` without classes, or a `Prompted` that scores choices after unchanged prompts.

    Raises:
        TypeError: If the name is neither a string nor a path.
        ValueError: If there is no such model, it is neither of the two kinds, or it does not have
            the method.
    """
    kind = find_model_kind(name_or_path, options.get("revision"))
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
    kind = find_model_kind(name_or_path, options.get("revision"))
    # The loader of causal models states what is wrong with another kind.
    return open_language_model(LANGUAGE_MODELS.get(kind, CausalLM), name_or_path, options)


def find_model_kind(
    model: str | os.PathLike[str] | torch.nn.Module, revision: str | None = None
) -> str:
    """Find the kind of a model, by its configuration or by its class.

    Args:
        model: A model folder, a hub repository or a GGUF file, or a loaded model.
        revision: A branch, tag or commit of the hub repository.

    Returns:
        "choice" for a multiple-choice model; "causal", "encoder-decoder" or "masked" for a language
        model; otherwise the name of the architecture, such as "BertForSequenceClassification".

    Raises:
        ValueError: If there is no configuration that can be read.
    """
    if not isinstance(model, torch.nn.Module) and find_gguf_file(model):
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
    """Return the name of the class of a model, without the wrapper of an adapter of peft."""
    unwrap: Any = getattr(model, "get_base_model", None)
    if unwrap is not None:
        model = unwrap()
    return type(model).__name__


def _load_config(name: str, revision: str | None, adapter: Adapter | None) -> Any:
    """Load the configuration of a model, or of the base of an adapter.

    Args:
        name: A folder or a hub id.
        revision: A branch, tag or commit of the hub repository.
        adapter: The adapter in the folder. None if it contains a model.

    Raises:
        ValueError: If the configuration cannot be read, or the model needs its own Python code.
    """
    base = name
    if adapter is not None:
        base = adapter.base
        revision = adapter.revision
    with silence_transformers():
        try:
            return transformers.AutoConfig.from_pretrained(
                base, revision=revision, trust_remote_code=False
            )
        except (OSError, ValueError, KeyError) as error:
            # `make_own_code_error` returns an error if the model needs its own Python code, which
            # is never run.
            raise make_own_code_error(error, name) or ValueError(
                f"Expected {name} to be a multiple-choice model or a language model, but its "
                f"configuration cannot be read ({get_first_line(error)})."
            ) from error


def _find_kind(architecture: str, config: Any, *, is_headless: bool) -> str | None:
    """Return the kind of a model, by the name of its architecture.

    Args:
        architecture: Name of the class, such as "BertForMaskedLM", or the head of an adapter.
        config: Configuration of the model.
        is_headless: Whether the model has its own head, and not one of an adapter.

    Returns:
        "choice", "causal", "encoder-decoder" or "masked". None for another kind, such as a sequence
        classifier.
    """
    if architecture.endswith("ForMultipleChoice"):
        return "choice"
    # transformers also lists classes that turn pictures or sound into text. In these, a separate
    # encoder precedes a decoder, and the configuration is not marked as that of an encoder-decoder.
    encoder_decoders: Sequence[str] = ()
    if getattr(config, "is_encoder_decoder", False):
        encoder_decoders = list(_ENCODER_DECODERS.values())
    if architecture == "Seq2SeqLM" or (architecture in encoder_decoders and is_headless):
        return "encoder-decoder"
    # XLM is a masked language model, unless its configuration says that it is causal.
    is_masked = architecture.endswith("ForMaskedLM")
    if architecture.endswith("WithLMHeadModel") and not getattr(config, "causal", True):
        is_masked = True
    if is_masked and is_headless:
        return "masked"
    if architecture.endswith(("ForCausalLM", "LMHeadModel")):
        return "causal"
    return None
