"""Open a model: a folder, a hub id, an adapter on its base, quantized weights, or a loaded model.

`load_classifier`, `load_multiple_choice` and `load_question_answering` open models by name, and
`make_classifier` takes a loaded one. Each raises an error in one sentence for a model that it
cannot use.
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
from rightreasons.models.classes import Classifier as Classifier
from rightreasons.models.heads import (
    add_zero_logit,
    check_classes,
    copy_with_zero_logit,
    has_single_logit,
    select_label,
)
from rightreasons.models.input_limits import check_vocabulary
from rightreasons.models.padding_trial import find_classifier_strategy
from rightreasons.models.runs.processes import default_device
from rightreasons.models.trial import SHORTEST
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
        TypeError: If the name is neither a string nor a path.
        ValueError: If there is no such model, it is not a classifier of at least two exclusive
            classes, its tokenizer is missing, or a trial finds that it cannot score texts.
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

    Args:
        name_or_path: A folder that `save_pretrained` wrote (model and tokenizer), or a hub id.
        **options: Options of `HowToOpen`.

    Returns:
        The model and its tokenizer; `label_names` is None.

    Raises:
        TypeError: If the name is neither a string nor a path.
        ValueError: If there is no such model, its head is of another kind, its tokenizer is
            missing, or a trial finds that it cannot score texts.
    """
    return _load(
        transformers.AutoModelForMultipleChoice, "multiple-choice model", name_or_path, **options
    )


def load_question_answering(
    name_or_path: str | os.PathLike[str], **options: Unpack[HowToOpen]
) -> Classifier:
    """Load a model that marks the answer to a question in a text (`AutoModelForQuestionAnswering`).

    Args:
        name_or_path: A folder that `save_pretrained` wrote (model and tokenizer), or a hub id.
        **options: Options of `HowToOpen`.

    Returns:
        The model and its tokenizer; `label_names` is None.

    Raises:
        TypeError: If the name is neither a string nor a path.
        ValueError: If there is no such model, its head is of another kind, its tokenizer is
            missing, or a trial finds that it cannot score texts.
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
        auto_class: Class of transformers that opens the model, such as
            `AutoModelForSequenceClassification`.
        kind: Expected kind of model, for errors, such as "sequence classifier".
        name_or_path: A folder or a hub id.
        **options: Options of `HowToOpen`.

    Raises:
        TypeError: If the name is neither a string nor a path.
        ValueError: If there is no such model, or it cannot score texts.
    """
    name = check_model(name_or_path)
    is_classifier = auto_class is transformers.AutoModelForSequenceClassification
    allow_untrained = options.get("allow_untrained", False)
    model, missing = open_weights(auto_class, kind, name, options)
    if missing and not allow_untrained:
        raise ValueError(_explain_missing_weights(model, kind, name, missing))
    tokenizer = load_tokenizer(name, options.get("revision"))
    check_vocabulary(model, tokenizer, name)
    share_padding(model, tokenizer)

    # A multi-label head with a target label becomes a classifier of two classes, and so does a head
    # with a single logit.
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
        find_classifier_strategy(classifier, longest=SHORTEST, joint=is_joint)
    return classifier


def _explain_missing_weights(model: Any, kind: str, name: str, missing: list[str]) -> str:
    """Return the error message for a model whose checkpoint lacks weights.

    Args:
        model: The model, in which the missing weights are random.
        kind: Expected kind of model, such as "sequence classifier".
        name: Folder or hub id of the model.
        missing: Names of the missing weights.
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
    """Find the tokenizer and the name of a loaded model, and unwrap and check the model.

    Args:
        model: A model of transformers or a session of optimum, perhaps inside a `DataParallel` or
            `PeftModel`.
        tokenizer: Its tokenizer. If None, the attribute `tokenizer` of the model, or the tokenizer
            in the folder or download from which the model was loaded.
        name: Name of the model for errors. If None, the name in its configuration, or else the name
            of its class.

    Returns:
        The model without its wrapper, the tokenizer, and the name.

    Raises:
        TypeError: If there is no tokenizer.
        ValueError: If the weights are not in memory, or the model and the tokenizer do not belong
            together.
    """
    if tokenizer is None:
        tokenizer = getattr(model, "tokenizer", None)
    model = unwrap_model(model)
    # Checked first, because a tokenizer would not help a model of pictures.
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
    # A session of optimum is not a module of torch, and its weights cannot be checked.
    if isinstance(model, torch.nn.Module):
        _check_arguments(model, tokenizer)
        check_in_memory(model, name)
        check_vocabulary(model, tokenizer, name)
    return model, tokenizer, name


def _check_input(model: Any) -> None:
    """Refuse a loaded model of transformers that reads no text, such as a model of pictures.

    Args:
        model: The loaded model. Only its class is looked at.

    Raises:
        OptionTypeError: If the main input of the class of the model is not text.
    """
    kind = type(model).__name__
    other_input = find_other_input([kind])
    if other_input:
        raise OptionTypeError(
            f"Expected a model of texts, but {kind} reads {other_input}. Audit the stored "
            "predictions of this model with `predictions`.",
            option="predictions",
        )


def _check_arguments(model: torch.nn.Module, tokenizer: Any) -> None:
    """Check that a module can be called with the tensors that its tokenizer makes.

    A module of sentence-transformers, or of a user, that wraps a model of transformers may need
    other arguments.

    Args:
        model: The module.
        tokenizer: The tokenizer, of which the names of its tensors are used.

    Raises:
        TypeError: If the module has another required argument.
    """
    # A traced module does not have a signature.
    try:
        parameters = inspect.signature(model.forward).parameters
    except (TypeError, ValueError):
        return
    # Tensors are passed by name.
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
        name: Name of the model, for errors and reports.

    Raises:
        ValueError: If the model is not a classifier of at least two exclusive classes, or the trial
            finds that it cannot score texts.
    """
    # In transformers the name of a class tells its head. Another class is judged by its trial only.
    has_head = True
    if type(model).__module__.startswith("transformers."):
        has_head = _get_head(type(model).__name__) == "ForSequenceClassification"
    if not hasattr(getattr(model, "config", None), "num_labels") or not has_head:
        raise ValueError(
            f"Expected a sequence classifier in `model`, but got {type(model).__name__}. For any "
            "other model, pass a function of a list of texts that returns probabilities."
        )
    if has_single_logit(model.config):
        model = copy_with_zero_logit(model)
    classifier = Classifier(model, tokenizer, check_classes(model.config, name), name)
    # There is another trial with longer texts when data has them.
    find_classifier_strategy(classifier, longest=SHORTEST)
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
        kind: Expected kind of model, for errors, such as "causal language model".
        name: A folder or a hub id.
        settings: `revision`, `device` and `dtype`.
        adapted: Name -> weight of an adapter that will replace the weight of the checkpoint.
        **options: Further arguments of `from_pretrained`, such as `gguf_file`.

    Returns:
        The model in evaluation mode, and the names of the weights that its checkpoint lacks.

    Raises:
        ImportError: If the package that reads an adapter is not installed.
        ValueError: If the model cannot be opened as one of this kind, or its weights do not fit its
            configuration.
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
    with silence_transformers():
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
            raise _make_opening_error(error, kind, name, settings.get("revision")) from error
    # The base of an adapter may have been saved for another task.
    if "config" not in options:
        _check_task(model, auto_class, kind, name)
    replaced = _remove_resolved_mismatches(report, adapted or {})
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
        model: The opened model.
        auto_class: Class of transformers that opened it.
        kind: Expected kind of model, for errors.
        name: Name of the model, for errors.

    Raises:
        ValueError: If all architectures that the configuration names have other heads. Some weights
            would fit nevertheless.
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


def _remove_resolved_mismatches(report: dict[str, Any], adapted: Mapping[str, Any]) -> set[str]:
    """Remove from a loading report those mismatches that an adapter resolves.

    The head of a base model may have another number of classes than the head of the adapter, which
    replaces it.

    Args:
        report: The report of transformers. Its entry `mismatched_keys`, a list of (name, shape in
            the checkpoint, shape in the model), is changed.
        adapted: Name -> weight that the adapter puts in place of the weight of the base.

    Returns:
        Names of the weights whose mismatch was removed.
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
    """Check that transformers knows the method by which weights are quantized.

    Args:
        model: The loaded model, with its configuration in `config`.
        name: Name of the model in the error message.

    Raises:
        ValueError: If the configuration has a quantization that transformers did not apply.
    """
    quantization = getattr(model.config, "quantization_config", None)
    # transformers sets `hf_quantizer` only if it has applied the quantization.
    if quantization and getattr(model, "hf_quantizer", None) is None:
        raise ValueError(
            f"Expected weights that transformers can load, but the weights of {name} are "
            f"quantized by a method that it does not know: {format_value(quantization)}."
        )


def _open_adapted(
    adapter: Adapter, auto_class: Any, kind: str, settings: HowToOpen
) -> tuple[Any, list[str]]:
    """Open the base model of an adapter, and put the adapter on it.

    Args:
        adapter: The adapter.
        auto_class: Class of transformers that opens the base.
        kind: Expected kind of model, for errors.
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
    with silence_transformers():
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
        _copy_adapter_head(model, adapter, missing)
        model = adapter.attach(model)
    return model, [key for key in missing if key not in adapter.weights]


def _copy_adapter_head(model: Any, adapter: Adapter, missing: list[str]) -> None:
    """Copy the head of an adapter into its base model, whose own head is missing.

    The adapter puts its own head next to that of the base, which is then unused. Random weights
    there would still change the digest of the model.

    Args:
        model: The base model, whose weights are changed.
        adapter: The adapter.
        missing: Names of the weights that the checkpoint of the base lacks.
    """
    weights = model.state_dict()
    for key in adapter.weights.keys() & set(missing):
        if weights[key].shape == adapter.weights[key].shape:
            weights[key].copy_(adapter.weights[key])


def load_tokenizer(name: str, revision: str | None = None, **options: Any) -> Any:
    """Load the tokenizer of a model, or that of the base of an adapter.

    Args:
        name: Folder or hub id of the model.
        revision: A branch, tag or commit of the hub repository.
        **options: Further arguments of `from_pretrained`.

    Raises:
        ValueError: If there is no tokenizer. A folder without tokenizer files counts as such, even
            though transformers makes a tokenizer without words for it.
    """
    source = name
    source_revision = revision
    # An adapter may have its own tokenizer, with additional words, or use that of its base.
    adapter = None if options else find_adapter(name, revision)
    if adapter is not None:
        source, source_revision = adapter.tokenizer
    expected = f"Expected a tokenizer next to the model {name}, but"
    with silence_transformers():
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                source, revision=source_revision, trust_remote_code=False, **options
            )
        except Exception as error:
            raise make_own_code_error(error, name) or ValueError(
                f"{expected} none could be loaded ({get_first_line(error)})."
            ) from error
    has_words = len(tokenizer) > len(set(tokenizer.all_special_ids))
    if not has_words:
        raise ValueError(
            f"{expected} there is none: save it to the same folder with "
            "`tokenizer.save_pretrained`."
        )
    return tokenizer


# --------------------------------------------------------------------------------- names


def check_model(name_or_path: object) -> str:
    """Check that a name can be a model: a folder with a configuration, or a hub id.

    Returns:
        The folder with `~` expanded, or the hub id.

    Raises:
        TypeError: If the name is neither a string nor a path.
        ValueError: If the name is empty, a folder without a model, a file, or the address of a page
            of the hub.
        FileNotFoundError: If the name is a GGUF file that does not exist.
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


def find_gguf_file(name_or_path: object) -> Path | None:
    """Return the path of an existing GGUF file; None if the name is not one."""
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
def silence_transformers() -> Iterator[None]:
    """Turn off log messages and progress bars of transformers during the block.

    What matters in these messages is in the errors of this package.
    """
    # Both settings are global, and are restored afterwards.
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


def share_padding(model: Any, tokenizer: Any) -> None:
    """Set the padding token of a model that has none to that of its tokenizer.

    A decoder with a classification head reads the score at the last token that is not padding, and
    refuses batches if it has no padding token.
    """
    if getattr(model.config, "pad_token_id", None) is None and tokenizer.pad_token_id is not None:
        model.config.pad_token_id = tokenizer.pad_token_id


def check_in_memory(model: torch.nn.Module, name: str) -> None:
    """Check that the values of all weights of a model are in memory, and not offloaded.

    Args:
        model: The model.
        name: Name of the model, for errors.

    Raises:
        ValueError: If a weight is on the meta device.
    """
    for key, weight in model.named_parameters():
        if weight.is_meta:
            raise ValueError(
                f"Expected the weights of {name} in memory, but {key} is on the meta device, "
                "which stores no values. Load the model with from_pretrained, without "
                "offloading."
            )


def _check_report(model: Any, report: dict[str, Any], kind: str, name: str) -> None:
    """Check that the weights of a checkpoint fit the configuration of its model.

    Args:
        model: The opened model.
        report: What transformers reports of loading the model: `missing_keys` and
            `unexpected_keys`, names of weights; and `mismatched_keys`, a list of (name, shape in
            the checkpoint, shape in the model).
        kind: Expected kind of model, for errors.
        name: Name of the model, for errors.

    Raises:
        ValueError: If a weight has another shape, all names have a prefix, or the checkpoint is of
            another architecture or has more layers.
    """
    # transformers would initialize mismatched weights at random.
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
    # An unexpected weight may be an unused head. It must not be a further layer, whose name differs
    # from a name in the model in a number only. If no weight of the model is in the checkpoint, the
    # checkpoint is of another architecture.
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
    """Replace the numbers in the name of a weight by 0, so that all layers have equal names."""
    return re.sub(r"\d+", "0", key)


def _find_prefix(unexpected: Iterable[str], missing: set[str]) -> str:
    """Find the prefix that a wrapper has added to the names of all weights, such as "module.".

    Args:
        unexpected: Names in the checkpoint that the model does not have.
        missing: Names of the model that the checkpoint does not have.

    Returns:
        A prefix whose removal from the unexpected names gives all missing ones. Empty if there
        is none.
    """
    # If no weight is missing, the names are not the problem.
    if not missing:
        return ""
    names = sorted(unexpected)
    if not names:
        return ""
    # A prefix ends with a dot. As all names begin with it, any of them has all candidates.
    parts = names[0].split(".")
    for n_parts in range(1, len(parts)):
        prefix = ".".join(parts[:n_parts]) + "."
        if {key.removeprefix(prefix) for key in names} >= missing:
            return prefix
    return ""


def make_own_code_error(error: Exception, name: str) -> ValueError | None:
    """Return a clearer error if transformers failed because a model needs its own Python code.

    Args:
        error: The error of transformers.
        name: Folder or hub id of the model.

    Returns:
        The new error. None if the error has another cause.
    """
    if not any(words in str(error) for words in _CODE_ERRORS):
        return None
    return ValueError(
        "Expected weights alone, and an architecture that transformers has, but "
        f"{name} needs its own Python code or objects, which are never run: save it as "
        "safetensors."
    )


def check_device(device: Any) -> torch.device | str:
    """Check that this machine has a device, by putting a tensor on it.

    Args:
        device: A device of torch or its name, such as "cuda:1"; or "auto" for all GPUs.

    Returns:
        The device; "auto" unchanged.

    Raises:
        OptionError: If no tensor can be put on the device.
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


def _make_opening_error(error: Exception, kind: str, name: str, revision: str | None) -> ValueError:
    """Return the error for a model that transformers cannot open, with the reason and advice.

    Args:
        error: The error of transformers.
        kind: Expected kind of model, such as "sequence classifier".
        name: A folder or a hub id.
        revision: A branch, tag or commit of the hub repository.
    """
    own_code_error = make_own_code_error(error, name)
    if own_code_error is not None:
        return own_code_error
    # The configuration may be unreadable, too.
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
    # transformers has no head of this kind for a model of texts and pictures, for example.
    if architectures and _UNKNOWN_TASK in str(error):
        return ValueError(
            f"Expected {name} to be a {kind}, but it is {architectures[0]}, of which transformers "
            "has none: define a function that returns the probabilities of texts, and name it as "
            "my_model.py:function."
        )
    if isinstance(error, OSError) and not Path(name).is_dir():
        return ValueError(
            f"Expected the model as a folder or a hub id, but {name!r} is neither a local folder "
            f"nor a model on the hub ({get_first_line(error)}). For a model behind a server, pass the "
            "address of the server."
        )
    if isinstance(error, OSError) and config is not None:
        # The folder has weights in another format, such as ONNX, or no weights.
        return ValueError(
            f"Expected the weights of a {kind} in {name}, but transformers finds none "
            f"({get_first_line(error)}): {OBJECT_ADVICE}."
        )
    return ValueError(
        f"Expected {name} to be a {kind}, but it cannot be opened as one: {get_first_line(error)}"
    )
