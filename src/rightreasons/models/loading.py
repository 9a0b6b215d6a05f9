"""Open a model: a folder, a hub id, an adapter (such as a LoRA) on its base, quantized weights, a package."""

from __future__ import annotations

import contextlib
import copy
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
from rightreasons.core.errors import OptionError, get_first_line
from rightreasons.core.hub import use_hub_or_cache
from rightreasons.core.sentences import format_value
from rightreasons.models.batching import vocabulary_size
from rightreasons.models.classes import Classifier as Classifier
from rightreasons.models.running import default_device
from rightreasons.models.trial import SHORTEST, classifier_way
from rightreasons.models.trial import position_bound as position_bound
from rightreasons.models.unreadable import describe_file, describe_folder, find_other_input
from rightreasons.models.weights import ADAPTER, Adapter, find_adapter, unwrap_model

if TYPE_CHECKING:
    from typing_extensions import Unpack

GGUF_SUFFIX = ".gguf"
_SETFIT_HEAD = "model_head.pkl"

FEWEST_TOKENS = 0.5
"""Share of a model's words that its tokenizer must know."""


class HowToOpen(TypedDict, total=False):
    """How a model is opened.

    Attributes:
        revision: A branch, tag or commit of the hub repository.
        device: Device of the model; None, the default, takes a GPU if there is one, else the CPU, and "auto" spreads
            the layers of a model that is larger than a GPU over all of them.
        dtype: Type of the weights, such as "bfloat16"; None, the default, keeps that of the checkpoint.
        allow_untrained: Whether weights that the checkpoint lacks may be initialized at random. An encoder has no
            trained head, so its answers would be noise: refused by default.
        target: The label of a multi-label classifier that is asked for: it answers whether a text has it.
    """

    revision: str | None
    device: str | torch.device | None
    dtype: str | torch.dtype | None
    allow_untrained: bool
    target: str | None


def load_classifier(name_or_path: str | os.PathLike[str], **how: Unpack[HowToOpen]) -> Classifier:
    """Load a sequence classifier and its tokenizer, and try it on a few short texts.

    Args:
        name_or_path: A folder that `save_pretrained` wrote (model and tokenizer), or a hub id.
        **how: `revision`, `device`, `dtype`, `allow_untrained` and `target`, as `HowToOpen` says.

    Returns:
        The classifier, in evaluation mode.

    Raises:
        TypeError: If the name is neither text nor path.
        ValueError: If there is no such model, or it is no classifier of at least two exclusive classes, or its
            tokenizer is missing, or the trial finds that it cannot be asked.
    """
    return _load(
        transformers.AutoModelForSequenceClassification, "sequence classifier", name_or_path, **how
    )


def loaded_parts(
    model: Any, tokenizer: Any = None, name: str | None = None
) -> tuple[Any, Any, str]:
    """Return a loaded model without what wraps it, its tokenizer, and what it is called in errors.

    Args:
        model: The model.
        tokenizer: Its tokenizer; None for the one that it holds, or that of the folder, or the download, it came from.
        name: Its name; None takes its configuration's name, or its class.

    Raises:
        TypeError: If there is no tokenizer.
        ValueError: If its weights are not in memory, or it and its tokenizer do not belong together.
    """
    tokenizer = getattr(model, "tokenizer", None) if tokenizer is None else tokenizer
    model = unwrap_model(model)
    place = getattr(getattr(model, "config", None), "_name_or_path", "")
    if tokenizer is None and place:
        with contextlib.suppress(ValueError):
            tokenizer = load_tokenizer(place, local_files_only=True)
    if tokenizer is None:
        raise TypeError(
            f"Expected `tokenizer` beside a loaded model ({type(model).__name__}), but got None."
        )
    called = name or place or type(model).__name__
    if isinstance(model, torch.nn.Module):
        check_in_memory(model, called)
        check_vocabulary(model, tokenizer, called)
    return model, tokenizer, called


def loaded_classifier(model: Any, tokenizer: Any, name: str) -> Classifier:
    """Return the classifier that a loaded model and its tokenizer, from `loaded_parts`, make.

    Raises:
        ValueError: As `load_classifier`. The model is not changed, and neither is its configuration.
    """
    # What a model that is not of transformers scores shows in its trial.
    is_ours = type(model).__module__.startswith("transformers.")
    is_head = not is_ours or _head(type(model).__name__) == "ForSequenceClassification"
    if not hasattr(getattr(model, "config", None), "num_labels") or not is_head:
        raise ValueError(
            f"Expected a sequence classifier in `model`, but got {type(model).__name__}."
        )
    if has_single_logit(model.config):
        model = copy_with_zero_logit(model)
    classifier = Classifier(model, tokenizer, check_classes(model.config, name), name)
    classifier_way(classifier, longest=SHORTEST)  # longer texts are tried where they are met
    return classifier


def load_multiple_choice(
    name_or_path: str | os.PathLike[str], **how: Unpack[HowToOpen]
) -> Classifier:
    """Load a multiple-choice model (`AutoModelForMultipleChoice`) and its tokenizer.

    The arguments are those of `load_classifier`, and so are the errors.

    Returns:
        The model and its tokenizer; `label_names` is None.
    """
    return _load(
        transformers.AutoModelForMultipleChoice, "multiple-choice model", name_or_path, **how
    )


def load_question_answering(
    name_or_path: str | os.PathLike[str], **how: Unpack[HowToOpen]
) -> Classifier:
    """Load a model that marks the answer to a question in a context (`AutoModelForQuestionAnswering`).

    The arguments are those of `load_classifier`, and so are the errors.

    Returns:
        The model and its tokenizer; `label_names` is None.
    """
    return _load(
        transformers.AutoModelForQuestionAnswering, "question-answering model", name_or_path, **how
    )


def open_weights(
    auto_class: Any,
    kind: str,
    name: str,
    how: HowToOpen,
    *,
    held: Mapping[str, Any] | None = None,
    **options: Any,
) -> tuple[Any, list[str]]:
    """Open the weights of a model by a class of transformers, on their device; an adapter is put on its base.

    Args:
        auto_class: The class, such as `AutoModelForCausalLM`.
        kind: What the model should be, for errors.
        name: A folder or a hub id.
        how: `revision`, `device` and `dtype`.
        held: The weights that an adapter holds, by their names, whatever the checkpoint has in their place.
        **options: Other arguments of `from_pretrained`.

    Returns:
        The model in evaluation mode, and the names of the weights that its checkpoint lacks.

    Raises:
        ImportError: If what reads an adapter is not installed.
        ValueError: If it cannot be opened as one, or its weights are not those that its configuration describes.
    """
    adapter = None if options else find_adapter(name, how.get("revision"))
    if adapter is not None:
        return _open_adapted(adapter, auto_class, kind, how)
    revision, device, dtype = how.get("revision"), how.get("device"), how.get("dtype")
    where = default_device() if device is None else check_device(device)
    options["device_map"] = where if where == "auto" else {"": where}
    options |= {} if dtype is None else {"dtype": dtype}
    with quiet():
        try:
            model, report = auto_class.from_pretrained(
                name,
                revision=revision,
                output_loading_info=True,
                trust_remote_code=False,
                ignore_mismatched_sizes=True,  # the report says which
                **options,
            )
        except Exception as error:
            raise _explain(error, kind, name, how.get("revision")) from error
    saved = [_head(architecture) for architecture in architectures_of(model.config)]
    # An adapter may turn a model for another task into one for this.
    other = any(saved) and _head(type(model).__name__) not in saved and "config" not in options
    if other and auto_class is not transformers.AutoModelForCausalLM:
        raise ValueError(
            f"Expected {name} to be a {kind}, but it was saved as {_architecture(model.config)}, for another task."
        )
    others = {
        key
        for key, _, shape in report["mismatched_keys"]
        if held and key in held and held[key].shape == shape
    }
    report["mismatched_keys"] = [
        each for each in report["mismatched_keys"] if each[0] not in others
    ]
    _check_report(model, report, kind, name)
    settings = getattr(model.config, "quantization_config", None)
    if settings and getattr(model, "hf_quantizer", None) is None:
        raise ValueError(
            f"Expected weights as transformers reads them, but those of {name} are quantized by a method that it does "
            f"not know: {format_value(settings)}."
        )
    if where == "auto":
        check_in_memory(model, name)
    # At each layer of each batch it would say how it rounds.
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)
    model.config.return_dict = True  # a model may have been saved as one that returns tuples
    return model.eval(), sorted(others.union(report["missing_keys"]))


def _open_adapted(
    adapter: Adapter, auto_class: Any, kind: str, how: HowToOpen
) -> tuple[Any, list[str]]:
    if adapter.head and not auto_class.__name__.endswith(adapter.head):
        raise ValueError(
            f"Expected {adapter.name} to be a {kind}, but it is an adapter for {adapter.head}, for another task."
        )
    with quiet():
        try:
            its = HowToOpen(**{**how, "revision": adapter.revision})
            base, adapted = check_model(adapter.base), adapter.weights
            model, absent = open_weights(
                auto_class, kind, base, its, held=adapted, config=adapter.config()
            )
        except (ValueError, OSError) as error:
            raise ValueError(
                f"Expected a {kind} in {adapter.base}, the base that {adapter.name} names in `base_model_name_or_path` "
                f"of its {ADAPTER}, but it cannot be opened: {get_first_line(error)}"
            ) from error
        whole = model.state_dict()
        for key in adapted.keys() & set(
            absent
        ):  # a head that peft keeps beside, and never asks, is not random
            if whole[key].shape == adapted[key].shape:
                whole[key].copy_(adapted[key])
        return adapter.attach(model), [key for key in absent if key not in adapted]


def load_tokenizer(name: str, revision: str | None = None, **options: Any) -> Any:
    """Load the tokenizer of a model; `options` are other arguments of `from_pretrained`.

    Raises:
        ValueError: If there is none. From a folder without tokenizer files transformers makes an empty one, which turns
            every word into the unknown token; that counts as none.
    """
    adapter = None if options else find_adapter(name, revision)
    where, of = (name, revision) if adapter is None else adapter.tokenizer
    with quiet():
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                where, revision=of, trust_remote_code=False, **options
            )
        except Exception as error:
            raise own_code(error, name) or ValueError(
                f"Expected a tokenizer beside the model {name}, but none could be loaded ({get_first_line(error)})."
            ) from error
    if len(tokenizer) <= len(set(tokenizer.all_special_ids)):
        raise ValueError(
            f"Expected a tokenizer beside the model {name}, but there is none: save it to the same folder with "
            "`tokenizer.save_pretrained`."
        )
    return tokenizer


def check_model(name_or_path: object) -> str:
    """Check that a name can be a model: a folder with a configuration, or the id of a hub repository.

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
    # A hub id is "name" or "owner/name"; anything else can only be a path.
    if (
        isinstance(name_or_path, os.PathLike)
        or not name
        or name[0] in "./~\\"
        or name.count("/") > 1
    ):
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
    return path if path.suffix == GGUF_SUFFIX and path.is_file() else None


def agree_on_padding(model: Any, tokenizer: Any) -> None:
    """Give a model without a padding token that of its tokenizer.

    A decoder with a classification head reads the last token that is not padding, and refuses batches without one.
    """
    if getattr(model.config, "pad_token_id", None) is None and tokenizer.pad_token_id is not None:
        model.config.pad_token_id = tokenizer.pad_token_id


def architectures_of(config: Any) -> list[str]:
    """Return the architectures that a configuration names; one may be a text in place of a list."""
    named = config.architectures or []
    return [named] if isinstance(named, str) else [str(architecture) for architecture in named]


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the reports of transformers: errors here say what matters in them in one sentence."""
    its = transformers.utils.logging
    verbosity, bar = its.get_verbosity(), its.is_progress_bar_enabled()
    its.set_verbosity_error()
    its.disable_progress_bar()
    try:
        yield
    finally:
        its.set_verbosity(verbosity)
        if bar:
            its.enable_progress_bar()


def _load(
    auto_class: Any, kind: str, name_or_path: str | os.PathLike[str], **how: Unpack[HowToOpen]
) -> Classifier:
    name, revision = check_model(name_or_path), how.get("revision")
    allow_untrained = how.get("allow_untrained", False)
    model, absent = open_weights(auto_class, kind, name, how)
    if absent and not allow_untrained:
        if (Path(name) / _SETFIT_HEAD).is_file():
            raise ValueError(
                f"Expected the weights of a {kind} in {name}, but its head is in {_SETFIT_HEAD}, a pickle, which is "
                "never opened: open the model by setfit, and pass it to `rightreasons.audit` or `as_scorer`."
            )
        listed = ", ".join(absent[:3]) + (f" and {len(absent) - 3} more" if len(absent) > 3 else "")
        raise ValueError(
            f"Expected {name} to be a trained {kind}, but its checkpoint lacks the weights {listed}: it is "
            f"{_architecture(model.config)} without that head. Fine-tune it first."
        )
    tokenizer = load_tokenizer(name, revision)
    check_vocabulary(model, tokenizer, name)
    agree_on_padding(model, tokenizer)
    names, target = None, how.get("target")
    if target is not None:
        _ask_for(model, target, name)
    if auto_class is transformers.AutoModelForSequenceClassification:
        if has_single_logit(model.config):
            add_zero_logit(model)
        names = check_classes(model.config, name)
    classifier = Classifier(model, tokenizer, names, name)
    if not allow_untrained:  # what is trained first is tried where it is used
        classifier_way(
            classifier,
            longest=SHORTEST,
            joint=auto_class is transformers.AutoModelForMultipleChoice,
        )
    return classifier


def _head(architecture: str) -> str:
    """Return the part of the name of an architecture that tells its task; "" where none does."""
    match = re.search("(For[A-Z]|LMHead).*", architecture)
    return match[0] if match else ""


def classes_of(model: str) -> tuple[str, ...]:
    """Return the names of a model's classes, for which its configuration is read alone."""
    config = _config_of(model)
    if has_single_logit(config):
        return _name_single_logit(config)
    return class_names(config, model)


def labels_of(model: str) -> tuple[str, ...]:
    """Return the labels of a multi-label classifier, for which its configuration is read alone.

    Raises:
        ValueError: If it is no multi-label classifier.
    """
    labels = _labels_in(_config_of(model), model)
    if not labels:
        raise OptionError(
            f"Expected a multi-label classifier where `target` names several labels, but got {model}.",
            option="target",
        )
    return labels


def _config_of(model: str) -> Any:
    try:
        adapter = find_adapter(model)
        return (
            transformers.AutoConfig.from_pretrained(model) if adapter is None else adapter.config()
        )
    except (OSError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split())[:100]
        raise ValueError(
            f"Expected a model at {model!r}, but its configuration cannot be read: {reason}."
        ) from error


def _labels_in(config: Any, name: str) -> tuple[str, ...]:
    several = getattr(config, "problem_type", None) == "multi_label_classification"
    return class_names(config, name) if several else ()


def class_names(config: Any, name: str) -> tuple[str, ...]:
    """Return the names of a model's classes in the order of its logits.

    Raises:
        ValueError: If `id2label` does not name each of them, or two alike.
    """
    names, last = config.id2label, config.num_labels - 1
    if absent := [number for number in range(last + 1) if number not in names]:
        raise ValueError(
            f"Expected `id2label` of {name} to name the classes 0 to {last}, but {absent[0]} is not among "
            f"{', '.join(map(str, names))}."
        )
    texts = tuple(str(names[number]) for number in range(last + 1))
    if len(set(texts)) < len(texts):
        raise ValueError(
            f"Expected `id2label` of {name} to have a name for each class, but got {', '.join(texts)}."
        )
    return texts


def _ask_for(model: Any, target: str, name: str) -> None:
    """Make a multi-label classifier a binary classifier of one label."""
    labels = _labels_in(model.config, name)
    if target not in labels:
        known = f"the labels {', '.join(labels)}" if labels else "no multi-label head"
        raise OptionError(
            f"Expected {name} to have the label {target!r}, but it has {known}.", option="target"
        )
    _make_binary(model, labels.index(target), (f"not {target}", target))


def has_single_logit(config: Any) -> bool:
    """Return whether a head has a single output that is a logit, as those of cross-encoders.

    transformers trains a single output without a `problem_type` as a regression, and many binary
    classifiers and rerankers are stored that way. A head that was saved as a regression is one.
    """
    return config.num_labels == 1 and getattr(config, "problem_type", None) != "regression"


def add_zero_logit(model: Any) -> None:
    """Make a head with a single logit z a binary classifier, by the logits 0 and z.

    Their softmax is the sigmoid of z.
    """
    _make_binary(model, 0, _name_single_logit(model.config))


def _name_single_logit(config: Any) -> tuple[str, str]:
    """Return the names of the two classes of a head with a single logit."""
    name = str(config.id2label.get(0, "LABEL_0"))
    # transformers numbers classes without names: the single output is that of the second class.
    if name == "LABEL_0":
        return ("LABEL_0", "LABEL_1")
    return (f"not {name}", name)


def copy_with_zero_logit(model: Any) -> Any:
    """Return a binary classifier that shares the weights of a loaded model with a single logit.

    The model itself, which may be in training, is not changed.
    """
    binary = copy.copy(model)
    # The shallow copy would share its hooks and its configuration with the model.
    binary._forward_hooks = model._forward_hooks.copy()
    binary.config = copy.deepcopy(model.config)
    add_zero_logit(binary)
    return binary


def _make_binary(model: Any, position: int, names: tuple[str, str]) -> None:
    """Let a head answer with the logits 0 and z, z the output at a position."""

    def replace_logits(_model: Any, _inputs: Any, outputs: Any) -> Any:
        single = outputs.logits[..., position : position + 1]
        outputs.logits = torch.nn.functional.pad(single, (1, 0))
        return outputs

    model.register_forward_hook(replace_logits)
    config = model.config
    config.problem_type = "single_label_classification"
    config.id2label = dict(enumerate(names))
    config.label2id = {label: number for number, label in enumerate(names)}


def check_classes(config: Any, name: str) -> tuple[str, ...]:
    """Return the names of the classes of a model; refuse models without exclusive classes."""
    problem = getattr(config, "problem_type", None)
    if problem == "multi_label_classification":
        raise OptionError(
            f"Expected {name} to be a classifier of exclusive classes, but it is a model of multi "
            f"label classification with {config.num_labels} outputs: of several labels "
            "`target` names one, or all (target=all).",
            option="target",
        )
    if config.num_labels < 2 or problem == "regression":
        raise ValueError(
            f"Expected {name} to be a classifier of exclusive classes, but it is a model of "
            f"regression: define a function that turns its numbers into probabilities, and name "
            "it as my_model.py:function."
        )
    return class_names(config, name)


def check_vocabulary(model: Any, tokenizer: Any, name: str) -> None:
    """Refuse a tokenizer that knows far fewer tokens than its model; more than that shows in the texts.

    Tables of words are padded to round numbers, by 2 % at most in published models.
    """
    known, size = vocabulary_size(model), len(tokenizer)
    if known is not None and size < known * FEWEST_TOKENS:
        raise ValueError(
            f"Expected a tokenizer of about {known:,} tokens, which {name} knows, but it has {size:,}: tokenizer and "
            "model do not belong together."
        )


def check_in_memory(model: torch.nn.Module, name: str) -> None:
    """Refuse a model without the values of its weights, such as one that is offloaded."""
    if empty := [key for key, weight in model.named_parameters() if weight.is_meta]:
        raise ValueError(
            f"Expected the weights of {name} in memory, but {empty[0]} is on the meta device, where it has no values: "
            "open the model by from_pretrained, without offloading."
        )


def _check_report(model: Any, report: dict[str, Any], kind: str, name: str) -> None:
    """Refuse a checkpoint whose weights are not those that the configuration describes.

    Args:
        model: The model as it was opened.
        report: What transformers reports of its weights.
        kind: What the model should be.
        name: What the user called it.

    Raises:
        ValueError: If a weight has another shape, or the checkpoint is one of another architecture or of more layers.
    """
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
            f"which a wrapper such as DataParallel or torch.compile adds: remove it from the names, "
            f"as {{key.removeprefix({prefix!r}): weight}}, and save the weights again."
        )
    known = {_mask_numbers(key) for key in model.state_dict()}
    has_no_weights = set(dict(model.named_parameters())) <= missing
    # A checkpoint may hold a head that is not needed, but no further layers.
    further = [key for key in unexpected if has_no_weights or _mask_numbers(key) in known]
    if further:
        raise ValueError(
            f"Expected {name} to be a {kind} of type {model.config.model_type}, as its "
            f"configuration says, but {min(further)} of its checkpoint has no place in it."
        )


def _mask_numbers(key: str) -> str:
    """Return the name of a weight without the number of its layer."""
    return re.sub(r"\d+", "0", key)


def _find_prefix(unexpected: Iterable[str], missing: set[str]) -> str:
    """Return the prefix with which every weight is named; "" if there is none."""
    # If weights are only left over, their names are not the problem.
    if not missing:
        return ""
    names = sorted(unexpected)
    for name in names[:1]:
        # The prefix ends at a dot, so that each end of the name is tried.
        parts = name.split(".")
        for n_parts in range(1, len(parts)):
            prefix = ".".join(parts[:n_parts]) + "."
            if {key.removeprefix(prefix) for key in names} >= missing:
                return prefix
    return ""


def own_code(error: Exception, name: str) -> ValueError | None:
    """Return the error of a model that needs Python code of its own; None for others."""
    if not any(words in str(error) for words in ("Weights only load failed", "trust_remote_code")):
        return None
    return ValueError(
        f"Expected weights alone, and an architecture that transformers has, but {name} needs Python code or objects "
        "of its own, which are never run: save it as safetensors."
    )


def check_device(device: Any) -> torch.device | str:
    """Check the name of a device that this machine has; "auto" are all of its GPUs."""
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
    """Return the error of a model that cannot be opened, in a sentence."""
    needs_code = own_code(error, name)
    if needs_code is not None:
        return needs_code
    architectures: list[str] = []
    with contextlib.suppress(Exception):
        config = transformers.AutoConfig.from_pretrained(
            name, revision=revision, trust_remote_code=False
        )
        architectures = architectures_of(config)
    other_input = find_other_input(architectures)
    if other_input:
        return OptionError(
            f"Expected {name} to be a {kind}, but it is {architectures[0]}, which reads "
            f"{other_input} and no text: audit its stored predictions, with `predictions`.",
            option="predictions",
        )
    if isinstance(error, OSError) and not Path(name).is_dir():
        return ValueError(
            f"Expected the model as a folder or a hub id, but {name!r} is no folder here and no model that the hub "
            f"provides ({get_first_line(error)})."
        )
    return ValueError(
        f"Expected {name} to be a {kind}, but it cannot be opened as one: {get_first_line(error)}"
    )


def _architecture(config: Any) -> str:
    return next(iter(architectures_of(config)), f"a model of type {config.model_type}")
