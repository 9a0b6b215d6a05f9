"""Open a model: a folder, a hub id, an adapter on its base, quantized weights, or a loaded model.

`load_classifier`, `load_multiple_choice` and `load_question_answering` open models by name, and
`make_classifier` takes a loaded one. Each refuses, in one sentence, what it cannot ask.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import torch
import transformers

from rightreasons.core.arrays import describe_kind
from rightreasons.core.errors import OptionError, OptionTypeError, get_first_line
from rightreasons.core.hub import find_hub_id, use_hub_or_cache
from rightreasons.core.sentences import format_value
from rightreasons.models.batching import vocabulary_size
from rightreasons.models.classes import Classifier as Classifier
from rightreasons.models.heads import (
    add_zero_logit,
    check_classes,
    copy_with_zero_logit,
    has_single_logit,
    select_label,
)
from rightreasons.models.runs.processes import default_device
from rightreasons.models.trial import SHORTEST, classifier_way
from rightreasons.models.trial import position_bound as position_bound
from rightreasons.models.unreadable import (
    OBJECT_ADVICE,
    describe_file,
    describe_folder,
    find_other_input,
)
from rightreasons.models.weights import ADAPTER, Adapter, find_adapter, unwrap_model

if TYPE_CHECKING:
    from typing_extensions import Unpack

GGUF_SUFFIX = ".gguf"
_SETFIT_HEAD = "model_head.pkl"
_UNKNOWN_TASK = "Unrecognized configuration class"
_CODE_ERRORS = ("Weights only load failed", "trust_remote_code")

MIN_KNOWN_TOKENS = 0.5
"""Smallest share of a model's tokens that its tokenizer must know."""


class HowToOpen(TypedDict, total=False):
    """Options of opening a model.

    Attributes:
        revision: A branch, tag or commit of the hub repository.
        device: Device of the model. None (default) takes a GPU if there is one, else the CPU;
            "auto" spreads the layers of a model that is larger than a GPU over all of them.
        dtype: Type of the weights, such as "bfloat16". None (default) keeps that of the checkpoint.
        allow_untrained: Whether weights that the checkpoint lacks may be initialized at random. An
            encoder has no trained head, so that its answers would be noise: refused by default.
        target: Label of a multi-label classifier that is asked about: it answers whether a text
            has it.
    """

    revision: str | None
    device: str | torch.device | None
    dtype: str | torch.dtype | None
    allow_untrained: bool
    target: str | None


def load_classifier(
    name_or_path: str | os.PathLike[str], **options: Unpack[HowToOpen]
) -> Classifier:
    """Load a sequence classifier and its tokenizer, and try it on a few short texts.

    Args:
        name_or_path: A folder that `save_pretrained` wrote (model and tokenizer), or a hub id.
        **options: `revision`, `device`, `dtype`, `allow_untrained` and `target`, as in `HowToOpen`.

    Returns:
        The classifier, in evaluation mode.

    Raises:
        TypeError: If the name is neither text nor path.
        ValueError: If there is no such model, or it is no classifier of at least two exclusive
            classes, or its tokenizer is missing, or the trial finds that it cannot be asked.
    """
    return _load(
        transformers.AutoModelForSequenceClassification,
        "sequence classifier",
        name_or_path,
        **options,
    )


def load_multiple_choice(
    name_or_path: str | os.PathLike[str], **options: Unpack[HowToOpen]
) -> Classifier:
    """Load a multiple-choice model (`AutoModelForMultipleChoice`) and its tokenizer.

    The arguments are those of `load_classifier`, and so are the errors.

    Returns:
        The model and its tokenizer; `label_names` is None.
    """
    return _load(
        transformers.AutoModelForMultipleChoice, "multiple-choice model", name_or_path, **options
    )


def load_question_answering(
    name_or_path: str | os.PathLike[str], **options: Unpack[HowToOpen]
) -> Classifier:
    """Load a model that marks the answer to a question in a text (`AutoModelForQuestionAnswering`).

    The arguments are those of `load_classifier`, and so are the errors.

    Returns:
        The model and its tokenizer; `label_names` is None.
    """
    return _load(
        transformers.AutoModelForQuestionAnswering,
        "question-answering model",
        name_or_path,
        **options,
    )


def _load(
    auto_class: Any, kind: str, name_or_path: str | os.PathLike[str], **options: Unpack[HowToOpen]
) -> Classifier:
    """Load a model with a head and its tokenizer, check that they fit, and try them.

    Args:
        auto_class: Class of transformers that opens the model.
        kind: What the model should be, for errors, such as "sequence classifier".
        name_or_path: A folder or a hub id.
        **options: Options of `HowToOpen`.

    Raises:
        TypeError: If the name is neither text nor path.
        ValueError: If there is no such model, or it cannot be asked.
    """
    name = check_model(name_or_path)
    is_classifier = auto_class is transformers.AutoModelForSequenceClassification
    allow_untrained = options.get("allow_untrained", False)
    model, missing = open_weights(auto_class, kind, name, options)
    if missing and not allow_untrained:
        raise ValueError(_explain_untrained(model, kind, name, missing))
    tokenizer = load_tokenizer(name, options.get("revision"))
    check_vocabulary(model, tokenizer, name)
    agree_on_padding(model, tokenizer)

    # One label of a multi-label head, or a single logit, becomes a classifier of two classes.
    target = options.get("target")
    if target is not None:
        select_label(model, target, name)
    label_names = None
    if is_classifier:
        if has_single_logit(model.config):
            add_zero_logit(model)
        label_names = check_classes(model.config, name)
    classifier = Classifier(model, tokenizer, label_names, name)
    # An untrained model is tried when it is used, after its training.
    if not allow_untrained:
        is_joint = auto_class is transformers.AutoModelForMultipleChoice
        classifier_way(classifier, longest=SHORTEST, joint=is_joint)
    return classifier


def _explain_untrained(model: Any, kind: str, name: str, missing: list[str]) -> str:
    """Return the sentence that refuses a model whose checkpoint lacks weights.

    Args:
        model: The model, in which these weights are random.
        kind: What it should be.
        name: Its folder or hub id.
        missing: Names of the weights.
    """
    if (Path(name) / _SETFIT_HEAD).is_file():
        return (
            f"Expected the weights of a {kind} in {name}, but its head is in {_SETFIT_HEAD}, a "
            "pickle, which is never opened: open the model by setfit, and pass it to "
            "`rightreasons.audit` or `as_scorer`."
        )
    names = ", ".join(missing[:3])
    if len(missing) > 3:
        names += f" and {len(missing) - 3} more"
    return (
        f"Expected {name} to be a trained {kind}, but its checkpoint lacks the weights {names}: it "
        f"is {_get_architecture(model.config)} without that head. Fine-tune it first."
    )


def unpack_model(
    model: Any, tokenizer: Any = None, name: str | None = None
) -> tuple[Any, Any, str]:
    """Return a loaded model without its wrapper, its tokenizer, and its name in errors.

    Args:
        model: The model.
        tokenizer: Its tokenizer. If None, that of the model, or that of the folder or the download
            from which the model was loaded.
        name: Its name. If None, that of its configuration, or of its class.

    Raises:
        TypeError: If there is no tokenizer.
        ValueError: If its weights are not in memory, or it and its tokenizer do not belong
            together.
    """
    if tokenizer is None:
        tokenizer = getattr(model, "tokenizer", None)
    model = unwrap_model(model)
    # Before the tokenizer is missed, which would help no model of pictures.
    _check_input(model)
    # The folder or hub id from which transformers loaded the model.
    source = getattr(getattr(model, "config", None), "_name_or_path", "")
    if tokenizer is None and source:
        with contextlib.suppress(ValueError):
            tokenizer = load_tokenizer(source, local_files_only=True)
    if tokenizer is None:
        raise TypeError(
            f"Expected `tokenizer` with a loaded model ({type(model).__name__}), but got None. "
            "Pass (model, tokenizer), or a function of a list of texts that returns "
            "probabilities."
        )
    name = name or source or type(model).__name__
    # A session of optimum is no module of torch, and has no weights in it.
    if isinstance(model, torch.nn.Module):
        _check_arguments(model, tokenizer)
        check_in_memory(model, name)
        check_vocabulary(model, tokenizer, name)
    return model, tokenizer, name


def _check_input(model: Any) -> None:
    """Refuse a loaded model of transformers that reads no text, such as one of pictures."""
    kind = type(model).__name__
    other_input = find_other_input([kind])
    if other_input:
        raise OptionTypeError(
            f"Expected a model of texts, but {kind} reads {other_input}. Audit the stored "
            "predictions of this model with `predictions`.",
            option="predictions",
        )


def _check_arguments(model: torch.nn.Module, tokenizer: Any) -> None:
    """Refuse a module that needs other arguments than those that its tokenizer makes.

    Modules of sentence-transformers, and many of users, wrap a model of transformers.
    """
    # A module that was traced does not tell its arguments.
    try:
        parameters = inspect.signature(model.forward).parameters
    except (TypeError, ValueError):
        return
    # Models are called with their inputs by name.
    inputs = {*tokenizer.model_input_names, "attention_mask"}
    for parameter in parameters.values():
        is_variable = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        is_required = parameter.default is parameter.empty and not is_variable
        if is_required and parameter.name not in inputs:
            raise TypeError(
                f"Expected a model that takes {', '.join(tokenizer.model_input_names)}, but "
                f"{type(model).__name__} needs {parameter.name!r}. Pass the transformers model "
                "inside it and the tokenizer as a pair, or pass a function of a list of texts "
                "that returns probabilities."
            )


def make_classifier(model: Any, tokenizer: Any, name: str) -> Classifier:
    """Return the classifier of a loaded model, after a trial on short texts.

    Args:
        model: The model, from `unpack_model`. Neither it nor its configuration is changed.
        tokenizer: Its tokenizer.
        name: Its name in errors and reports.

    Raises:
        ValueError: As `load_classifier`.
    """
    # Classes of transformers name their head. What another class scores is found by its trial.
    is_of_transformers = type(model).__module__.startswith("transformers.")
    has_head = (
        not is_of_transformers or _get_head(type(model).__name__) == "ForSequenceClassification"
    )
    if not hasattr(getattr(model, "config", None), "num_labels") or not has_head:
        raise ValueError(
            f"Expected a sequence classifier in `model`, but got {type(model).__name__}. For any "
            "other model, pass a function of a list of texts that returns probabilities."
        )
    if has_single_logit(model.config):
        model = copy_with_zero_logit(model)
    classifier = Classifier(model, tokenizer, check_classes(model.config, name), name)
    # Longer texts are tried once data has them.
    classifier_way(classifier, longest=SHORTEST)
    return classifier


# ------------------------------------------------------------------------------- weights


def open_weights(
    auto_class: Any,
    kind: str,
    name: str,
    settings: HowToOpen,
    *,
    adapted: Mapping[str, Any] | None = None,
    **options: Any,
) -> tuple[Any, list[str]]:
    """Open the weights of a model by a class of transformers; an adapter is put on its base.

    Args:
        auto_class: The class, such as `AutoModelForCausalLM`.
        kind: What the model should be, for errors.
        name: A folder or a hub id.
        settings: `revision`, `device` and `dtype`.
        adapted: Weights of an adapter by their names, which replace those of the checkpoint.
        **options: Further arguments of `from_pretrained`.

    Returns:
        The model in evaluation mode, and the names of the weights that its checkpoint lacks.

    Raises:
        ImportError: If the package that reads an adapter is not installed.
        ValueError: If it cannot be opened as one, or its weights are not those that its
            configuration describes.
    """
    # With `options`, the base of an adapter is opened, or a GGUF file: neither is itself an
    # adapter.
    adapter = None
    if not options:
        adapter = find_adapter(name, settings.get("revision"))
    if adapter is not None:
        return _open_adapted(adapter, auto_class, kind, settings)
    # Weights are read onto their device, so that they are never in memory twice.
    device = _choose_device(settings.get("device"))
    options["device_map"] = device if device == "auto" else {"": device}
    if settings.get("dtype") is not None:
        options["dtype"] = settings.get("dtype")
    with quiet():
        try:
            model, report = auto_class.from_pretrained(
                name,
                revision=settings.get("revision"),
                output_loading_info=True,
                trust_remote_code=False,
                # Mismatches are in the report, and are refused below.
                ignore_mismatched_sizes=True,
                **options,
            )
        except Exception as error:
            # `name` is the folder of a GGUF file, of which the user gave the path.
            if "gguf_file" in options:
                raise ValueError(
                    f"Expected {Path(name) / options['gguf_file']} to be a {kind}, but the file "
                    "cannot be read, perhaps because of an interrupted download: "
                    f"{get_first_line(error)}"
                ) from error
            raise _explain(error, kind, name, settings.get("revision")) from error
    # The base of an adapter may have been saved for another task.
    if "config" not in options:
        _check_task(model, auto_class, kind, name)
    replaced = _take_replaced(report, adapted or {})
    _check_report(model, report, kind, name)
    _check_quantization(model, name)
    if device == "auto":
        check_in_memory(model, name)
    # bitsandbytes would report its rounding at each layer of each batch.
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)
    # A model may have been saved as one that returns tuples.
    model.config.return_dict = True
    return model.eval(), sorted(replaced.union(report["missing_keys"]))


def _choose_device(device: str | torch.device | None) -> Any:
    """Return the device that a user names; by default that of this process."""
    return default_device() if device is None else check_device(device)


def _check_task(model: Any, auto_class: Any, kind: str, name: str) -> None:
    """Check that a model was saved for the task that it is opened for.

    Args:
        model: The model as it was opened.
        auto_class: The class of transformers that opened it.
        kind: What the model should be, for errors.
        name: Its name in errors.

    Raises:
        ValueError: If its configuration names architectures with other heads only. Some weights
            would fit all the same.
    """
    # The heads of causal models have several names, such as GPT2LMHead.
    if auto_class is transformers.AutoModelForCausalLM:
        return
    saved_heads = [_get_head(architecture) for architecture in list_architectures(model.config)]
    if any(saved_heads) and _get_head(type(model).__name__) not in saved_heads:
        raise ValueError(
            f"Expected {name} to be a {kind}, but it was saved as "
            f"{_get_architecture(model.config)}, for another task."
        )


def _take_replaced(report: dict[str, Any], adapted: Mapping[str, Any]) -> set[str]:
    """Remove the mismatches that an adapter resolves from a report, and return their names.

    The head of a base may have another number of classes than that of the adapter, which replaces
    it.

    Args:
        report: The report of transformers, whose `mismatched_keys` (name, shape in the checkpoint,
            shape in the model) are changed.
        adapted: Name -> weight that the adapter puts in place of that of the base.
    """
    replaced = set()
    remaining = []
    for mismatch in report["mismatched_keys"]:
        key, _, expected_shape = mismatch
        if key in adapted and adapted[key].shape == expected_shape:
            replaced.add(key)
        else:
            remaining.append(mismatch)
    report["mismatched_keys"] = remaining
    return replaced


def _check_quantization(model: Any, name: str) -> None:
    """Refuse weights that are quantized by a method that transformers does not know."""
    quantization = getattr(model.config, "quantization_config", None)
    if quantization and getattr(model, "hf_quantizer", None) is None:
        raise ValueError(
            f"Expected weights that transformers can load, but the weights of {name} are "
            f"quantized by a method that it does not know: {format_value(quantization)}."
        )


def _open_adapted(
    adapter: Adapter, auto_class: Any, kind: str, settings: HowToOpen
) -> tuple[Any, list[str]]:
    """Open the base of an adapter, and put the adapter on it.

    Args:
        adapter: The adapter.
        auto_class: Class of transformers that opens the base.
        kind: What the model should be, for errors.
        settings: Options of opening the base.

    Returns:
        The model, and the names of the weights that neither the base nor the adapter has.

    Raises:
        ValueError: If the adapter is for another task, or the base cannot be opened.
    """
    if adapter.head and not auto_class.__name__.endswith(adapter.head):
        raise ValueError(
            f"Expected {adapter.name} to be a {kind}, but it is an adapter for {adapter.head}, for "
            "another task."
        )
    with quiet():
        try:
            model, missing = open_weights(
                auto_class,
                kind,
                check_model(adapter.base),
                HowToOpen(**{**settings, "revision": adapter.revision}),
                adapted=adapter.weights,
                config=adapter.config(),
            )
        except (ValueError, OSError) as error:
            raise ValueError(
                f"Expected a {kind} in {adapter.base}, the base model of {adapter.name} "
                f"(`base_model_name_or_path` in its {ADAPTER}), but the base model cannot be "
                f"opened: {get_first_line(error)}"
            ) from error
        _copy_replaced(model, adapter, missing)
        model = adapter.attach(model)
    return model, [key for key in missing if key not in adapter.weights]


def _copy_replaced(model: Any, adapter: Adapter, missing: list[str]) -> None:
    """Copy the head of an adapter into its base, where it would be random.

    The adapter puts its own head next to that of the base, whose values are then not used. Random
    ones would still change the digest of the model.

    Args:
        model: The base, whose weights are changed.
        adapter: The adapter.
        missing: Names of the weights that the checkpoint of the base lacks.
    """
    weights = model.state_dict()
    for key in adapter.weights.keys() & set(missing):
        if weights[key].shape == adapter.weights[key].shape:
            weights[key].copy_(adapter.weights[key])


def load_tokenizer(name: str, revision: str | None = None, **options: Any) -> Any:
    """Load the tokenizer of a model; `options` are further arguments of `from_pretrained`.

    Raises:
        ValueError: If there is none. From a folder without tokenizer files transformers makes an
            empty one, which turns every word into the unknown token; that counts as none.
    """
    source = name
    source_revision = revision
    # An adapter may have its own tokenizer, with further words, or that of its base.
    adapter = None if options else find_adapter(name, revision)
    if adapter is not None:
        source, source_revision = adapter.tokenizer
    expected = f"Expected a tokenizer next to the model {name}, but"
    with quiet():
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                source, revision=source_revision, trust_remote_code=False, **options
            )
        except Exception as error:
            raise own_code(error, name) or ValueError(
                f"{expected} none could be loaded ({get_first_line(error)})."
            ) from error
    # An empty tokenizer has special tokens only.
    if len(tokenizer) <= len(set(tokenizer.all_special_ids)):
        raise ValueError(
            f"{expected} there is none: save it to the same folder with "
            "`tokenizer.save_pretrained`."
        )
    return tokenizer


# --------------------------------------------------------------------------------- names


def check_model(name_or_path: object) -> str:
    """Check that a name can be a model: a folder with a configuration, or a hub id.

    Returns:
        The name in the form that transformers takes.
    """
    if not isinstance(name_or_path, (str, os.PathLike)):
        raise TypeError(
            f"Expected the model as a folder or a hub id, but got {describe_kind(name_or_path)}."
        )
    name = os.fspath(name_or_path)
    if not name.strip() or "\0" in name:
        raise ValueError(f"Expected the model as a folder or a hub id, but got {name!r}.")
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file() and not (folder / ADAPTER).is_file():
            raise ValueError(describe_folder(folder))
        return str(folder)
    if folder.exists():
        raise ValueError(describe_file(folder))
    if folder.suffix == GGUF_SUFFIX:
        raise FileNotFoundError(f"Expected the model {name}, but there is no such file.")
    hub_id = find_hub_id(name)
    if hub_id:
        raise ValueError(
            f"Expected the model as a folder or a hub id, but got the address {name}. Pass the "
            f"hub id {hub_id}."
        )
    # A hub id is "name" or "owner/name"; anything else can only be a path.
    is_path = name[0] in "./~\\" or name.count("/") > 1
    if isinstance(name_or_path, os.PathLike) or is_path:
        raise ValueError(
            f"Expected the model as a folder or a hub id, but the folder {name!r} does not exist."
        )
    use_hub_or_cache()
    return name


def gguf_path(name_or_path: object) -> Path | None:
    """Return the path of a GGUF file; None for anything else."""
    if not isinstance(name_or_path, (str, os.PathLike)):
        return None
    path = Path(os.fspath(name_or_path))
    if path.suffix == GGUF_SUFFIX and path.is_file():
        return path
    return None


def list_architectures(config: Any) -> list[str]:
    """Return the architectures that a configuration names."""
    names = config.architectures or []
    # Some configurations have a single name in place of a list.
    if isinstance(names, str):
        return [names]
    return list(map(str, names))


def _get_architecture(config: Any) -> str:
    """Return the first architecture of a configuration, or else its type."""
    for name in list_architectures(config):
        return name
    return f"a model of type {config.model_type}"


def _get_head(architecture: str) -> str:
    """Return the part of the name of an architecture that names its task; "" if none does."""
    match = re.search("(For[A-Z]|LMHead).*", architecture)
    return match[0] if match else ""


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the reports and progress bars of transformers in the block.

    Errors of this package say what matters in them in one sentence.
    """
    # Both settings are global, so that they are restored.
    reports = transformers.utils.logging
    verbosity = reports.get_verbosity()
    has_bars = reports.is_progress_bar_enabled()
    reports.set_verbosity_error()
    reports.disable_progress_bar()
    try:
        yield
    finally:
        reports.set_verbosity(verbosity)
        if has_bars:
            reports.enable_progress_bar()


# -------------------------------------------------------------------------------- checks


def agree_on_padding(model: Any, tokenizer: Any) -> None:
    """Give a model without a padding token that of its tokenizer.

    A decoder with a classification head reads the last token that is not padding, and refuses
    batches without one.
    """
    if getattr(model.config, "pad_token_id", None) is None and tokenizer.pad_token_id is not None:
        model.config.pad_token_id = tokenizer.pad_token_id


def check_vocabulary(model: Any, tokenizer: Any, name: str) -> None:
    """Refuse a tokenizer that knows far fewer tokens than its model.

    One that knows too many shows in the texts. Tables of words are padded to round numbers, by 2 %
    at most in published models.
    """
    n_known = vocabulary_size(model)
    n_tokens = len(tokenizer)
    if n_known is not None and n_tokens < n_known * MIN_KNOWN_TOKENS:
        raise ValueError(
            f"Expected a tokenizer of about {n_known:,} tokens, the vocabulary size of {name}, "
            f"but got {n_tokens:,} tokens. The tokenizer and model do not belong together."
        )


def check_in_memory(model: torch.nn.Module, name: str) -> None:
    """Refuse a model without the values of its weights, such as one that is offloaded."""
    for key, weight in model.named_parameters():
        if weight.is_meta:
            raise ValueError(
                f"Expected the weights of {name} in memory, but {key} is on the meta device, "
                "which stores no values. Load the model with from_pretrained, without "
                "offloading."
            )


def _check_report(model: Any, report: dict[str, Any], kind: str, name: str) -> None:
    """Check that the weights of a checkpoint are those that the configuration describes.

    Args:
        model: The model as it was opened.
        report: `missing_keys`, `unexpected_keys` and `mismatched_keys`, from transformers.
        kind: What the model should be.
        name: Its name in errors.

    Raises:
        ValueError: If a weight has another shape, all names have a prefix, or the checkpoint is
            one of another architecture or of more layers.
    """
    # transformers would initialize these weights at random.
    if report["mismatched_keys"]:
        key, shape, expected_shape = min(report["mismatched_keys"])
        raise ValueError(
            f"Expected {name} to be a {kind} as its configuration says, but {key} of its "
            f"checkpoint has the shape {tuple(shape)}, not {tuple(expected_shape)}."
        )
    unexpected = report["unexpected_keys"]
    missing = set(report["missing_keys"])
    prefix = _find_prefix(unexpected, missing)
    if prefix:
        raise ValueError(
            f"Expected {name} to be a {kind}, but the names of its weights begin with {prefix!r}, "
            "which a wrapper such as DataParallel or torch.compile adds. Remove the prefix from "
            f"the names, as in {{key.removeprefix({prefix!r}): weight}}, and save the weights "
            "again."
        )
    # A checkpoint may hold a head that is not needed. It must not hold further layers, whose names
    # differ from those of the model in a number only, and must have some weight of the model.
    layer_names = {_mask_numbers(key) for key in model.state_dict()}
    lacks_all_weights = set(dict(model.named_parameters())) <= missing
    misplaced = []
    for key in unexpected:
        if lacks_all_weights or _mask_numbers(key) in layer_names:
            misplaced.append(key)
    if misplaced:
        raise ValueError(
            f"Expected {name} to be a {kind} of type {model.config.model_type}, as its "
            f"configuration says, but the weight {min(misplaced)} of its checkpoint does not "
            "exist in such a model."
        )


def _mask_numbers(key: str) -> str:
    """Return the name of a weight without the number of its layer."""
    return re.sub(r"\d+", "0", key)


def _find_prefix(unexpected: Iterable[str], missing: set[str]) -> str:
    """Find the prefix that a wrapper has added to the names of all weights, such as "module.".

    Args:
        unexpected: Names in the checkpoint that the model does not have.
        missing: Names that the checkpoint lacks.

    Returns:
        The prefix without which the unexpected names include all missing ones; "" if there is none.
    """
    # If no weight is missing, the names are not the problem.
    if not missing:
        return ""
    names = sorted(unexpected)
    if not names:
        return ""
    # All names share the prefix, so that one of them has all candidates. A prefix ends at a dot.
    parts = names[0].split(".")
    for n_parts in range(1, len(parts)):
        prefix = ".".join(parts[:n_parts]) + "."
        if {key.removeprefix(prefix) for key in names} >= missing:
            return prefix
    return ""


def own_code(error: Exception, name: str) -> ValueError | None:
    """Return the error of a model that needs its own Python code; None for others."""
    if not any(words in str(error) for words in _CODE_ERRORS):
        return None
    return ValueError(
        "Expected weights alone, and an architecture that transformers has, but "
        f"{name} needs its own Python code or objects, which are never run: save it as "
        "safetensors."
    )


def check_device(device: Any) -> torch.device | str:
    """Check that this machine has a device.

    Args:
        device: Name of the device, such as "cuda:1", or "auto" for all GPUs.

    Raises:
        OptionError: If no tensor can be put on it.
    """
    if device == "auto":
        return "auto"
    try:
        torch.zeros(1, device=device).item()
        return torch.device(device)
    except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
        raise OptionError(
            f"Expected `device` to be one of this machine, such as 'cpu', but got {str(device)!r}.",
            option="device",
        ) from error


def _explain(error: Exception, kind: str, name: str, revision: str | None) -> ValueError:
    """Return the error of a model that cannot be opened, with the reason and what can be done.

    Args:
        error: The error of transformers.
        kind: What the model should be.
        name: A folder or a hub id.
        revision: A branch, tag or commit of the hub repository.
    """
    needs_code = own_code(error, name)
    if needs_code is not None:
        return needs_code
    # The configuration may be what cannot be read.
    config = None
    architectures: list[str] = []
    with contextlib.suppress(Exception):
        config = transformers.AutoConfig.from_pretrained(
            name, revision=revision, trust_remote_code=False
        )
        architectures = list_architectures(config)
    other_input = find_other_input(architectures)
    if other_input:
        return OptionError(
            f"Expected {name} to be a {kind}, but it is {architectures[0]}, which reads "
            f"{other_input} and no text: audit its stored predictions, with `predictions`.",
            option="predictions",
        )
    # A model of texts and pictures, for example, has no head for the task.
    if architectures and _UNKNOWN_TASK in str(error):
        return ValueError(
            f"Expected {name} to be a {kind}, but it is {architectures[0]}, of which transformers "
            "has none: define a function that returns the probabilities of texts, and name it as "
            "my_model.py:function."
        )
    if isinstance(error, OSError) and not Path(name).is_dir():
        return ValueError(
            f"Expected the model as a folder or a hub id, but {name!r} is no folder here and no "
            f"model that the hub provides ({get_first_line(error)}). A model behind a server is "
            "named by the address of the server."
        )
    if isinstance(error, OSError) and config is not None:
        # Weights in another format, such as ONNX, or none at all.
        return ValueError(
            f"Expected the weights of a {kind} in {name}, but transformers finds none "
            f"({get_first_line(error)}): {OBJECT_ADVICE}."
        )
    return ValueError(
        f"Expected {name} to be a {kind}, but it cannot be opened as one: {get_first_line(error)}"
    )
