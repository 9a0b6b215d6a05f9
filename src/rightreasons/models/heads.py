"""Heads of classifiers: the names of their classes, and heads that answer a binary question.

`check_classes` returns the classes of a model. `select_label` and `add_zero_logit` make a
multi-label head, or one with a single logit, a binary classifier.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
import transformers

from rightreasons.core.errors import OptionError
from rightreasons.models.weights import find_adapter


def read_class_names(model: str) -> tuple[str, ...]:
    """Return the names of the classes of a model from its configuration, without its weights."""
    config = _read_config(model)
    if has_single_logit(config):
        return _name_single_logit(config)
    return get_class_names(config, model)


def read_labels(model: str) -> tuple[str, ...]:
    """Return the labels of a multi-label classifier from its configuration, without its weights.

    Args:
        model: A folder or a hub id.

    Raises:
        OptionError: If the model is not a multi-label classifier.
    """
    labels = _get_labels(_read_config(model), model)
    if not labels:
        raise OptionError(
            f"Expected a multi-label classifier if `target` names several labels, but got {model}.",
            option="target",
        )
    return labels


def _read_config(model: str) -> Any:
    """Read the configuration of a model, or of the base of an adapter.

    Args:
        model: A folder or a hub id.

    Raises:
        ValueError: If the configuration cannot be read.
    """
    try:
        adapter = find_adapter(model)
        if adapter is not None:
            return adapter.config()
        return transformers.AutoConfig.from_pretrained(model)
    except (OSError, ValueError, TypeError) as error:
        # Errors of the hub fill a page, so that only their beginning is quoted.
        reason = " ".join(str(error).split())[:100]
        raise ValueError(
            f"Expected a model at {model!r}, but its configuration cannot be read: {reason}."
        ) from error


def _get_labels(config: Any, name: str) -> tuple[str, ...]:
    """Return the labels of a multi-label classifier; empty for any other model."""
    if getattr(config, "problem_type", None) != "multi_label_classification":
        return ()
    return get_class_names(config, name)


def get_class_names(config: Any, name: str) -> tuple[str, ...]:
    """Return the names of the classes of a model, in the order of its logits.

    Args:
        config: Configuration of the model.
        name: Name of the model, for errors.

    Raises:
        ValueError: If `id2label` does not have a name for each class, or has a name twice.
    """
    # The configuration may name fewer classes than the head has.
    names = config.id2label
    class_indices = range(config.num_labels)
    for class_index in class_indices:
        if class_index not in names:
            raise ValueError(
                f"Expected `id2label` of {name} to name the classes 0 to {config.num_labels - 1}, "
                f"but {class_index} is not among {', '.join(map(str, names))}."
            )
    texts = tuple(str(names[class_index]) for class_index in class_indices)
    # Predictions and labels are matched by name.
    if len(set(texts)) < len(texts):
        raise ValueError(
            f"Expected `id2label` of {name} to have a name for each class, but got "
            f"{', '.join(texts)}."
        )
    return texts


def check_classes(config: Any, name: str) -> tuple[str, ...]:
    """Check that a model is a classifier of exclusive classes, and return their names.

    Args:
        config: Configuration of the model.
        name: Name of the model, for errors.

    Raises:
        OptionError: If the model is a multi-label classifier.
        ValueError: If the model is a regression model, or its classes have no distinct names.
    """
    problem = getattr(config, "problem_type", None)
    if problem == "multi_label_classification":
        raise OptionError(
            f"Expected {name} to be a classifier of exclusive classes, but it is a model of multi "
            f"label classification with {config.num_labels} outputs. Set `target` to the name of "
            "one label, or to all.",
            option="target",
        )
    if config.num_labels < 2 or problem == "regression":
        raise ValueError(
            f"Expected {name} to be a classifier of exclusive classes, but it is a model of "
            "regression. Define a function that converts the output of the model into "
            "probabilities, and pass it as my_model.py:function."
        )
    return get_class_names(config, name)


def select_label(model: Any, target: str, name: str) -> None:
    """Turn a multi-label classifier into a binary classifier of one of its labels, in place.

    Args:
        model: The model.
        target: The label. The classes become "not LABEL" and "LABEL".
        name: Name of the model, for errors.

    Raises:
        OptionError: If the model has no such label.
    """
    labels = _get_labels(model.config, name)
    if target not in labels:
        heads = "no multi-label head"
        if labels:
            heads = f"the labels {', '.join(labels)}"
        raise OptionError(
            f"Expected {name} to have the label {target!r}, but it has {heads}.", option="target"
        )
    _make_binary(model, labels.index(target), (f"not {target}", target))


def has_single_logit(config: Any) -> bool:
    """Return whether a model has a single output that is a logit, as cross-encoders have.

    transformers trains a single output without a `problem_type` as a regression, but many binary
    classifiers and rerankers are stored without one, too. A single output is therefore taken for a
    logit unless the `problem_type` is "regression".
    """
    return config.num_labels == 1 and getattr(config, "problem_type", None) != "regression"


def add_zero_logit(model: Any) -> None:
    """Turn a model with a single logit z into a classifier with the logits 0 and z, in place.

    The softmax of 0 and z is the sigmoid of z.
    """
    _make_binary(model, 0, _name_single_logit(model.config))


def copy_with_zero_logit(model: Any) -> Any:
    """Return a copy of a model with a single logit z that has the logits 0 and z.

    The copy shares its weights with the model. The model itself is not changed, because it may be
    in training.
    """
    binary = copy.copy(model)
    # A shallow copy shares hooks and configuration with the model.
    binary._forward_hooks = model._forward_hooks.copy()
    binary.config = copy.deepcopy(model.config)
    add_zero_logit(binary)
    return binary


def _name_single_logit(config: Any) -> tuple[str, str]:
    """Return the names of the two classes of a head with a single logit."""
    name = str(config.id2label.get(0, "LABEL_0"))
    # transformers numbers classes without names: the single output is that of the second class.
    if name == "LABEL_0":
        return ("LABEL_0", "LABEL_1")
    return (f"not {name}", name)


def _make_binary(model: Any, index: int, names: tuple[str, str]) -> None:
    """Let a model return the logits 0 and z, with z one of its outputs.

    Args:
        model: A model of transformers, to which a hook is added, and whose configuration is
            changed.
        index: Index of z among the outputs.
        names: Names of the two classes, of which the second has the logit z.
    """

    def replace_logits(_model: Any, _inputs: Any, outputs: Any) -> Any:
        logit = outputs.logits[..., index : index + 1]
        # Padding adds one column of zeros on the left.
        outputs.logits = torch.nn.functional.pad(logit, (1, 0))
        return outputs

    # Gradients pass a hook, and the weights stay unchanged.
    model.register_forward_hook(replace_logits)
    config = model.config
    config.problem_type = "single_label_classification"
    config.id2label = dict(enumerate(names))
    config.label2id = {label: number for number, label in enumerate(names)}
