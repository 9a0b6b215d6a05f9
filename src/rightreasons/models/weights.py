"""Weights that are no plain checkpoint: an adapter (LoRA) on its base, and quantized weights.

`find_adapter` reads an adapter. `AutoPeftModel` of peft would open the same model, with equal
logits, but it does not say which weights the files lack, and a head that it draws at random looks
like a trained one. It also needs the number of classes from its caller. Therefore only
`PeftModel.from_pretrained` is used, on a base that is opened and checked like any other model.
"""

from __future__ import annotations

import contextlib
import copy
import re
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
import transformers
from torch.utils import _python_dispatch

from rightreasons.core.errors import get_first_line
from rightreasons.core.extras import require_package

ADAPTER = "adapter_config.json"
HEADS = {
    "SEQ_CLS": "ForSequenceClassification",
    "CAUSAL_LM": "ForCausalLM",
    "QUESTION_ANS": "ForQuestionAnswering",
    "SEQ_2_SEQ_LM": "Seq2SeqLM",
}
"""Tasks of peft -> end of the names of their architectures, or of the class that opens them."""

_MODEL_FILES = ("model*.safetensors", "pytorch_model*.bin")
# Modules that peft puts between a layer and its weights.
_WRAPPERS = re.compile(r"\.(base_layer|token_adapter|modules_to_save|original_module)(?=\.)")
# Packed weights have these types. Whole numbers of other models have 64 bits, such as positions.
_PACKED_TYPES = (
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
)


@dataclass(frozen=True, eq=False)
class Adapter:
    """An adapter of peft, such as a LoRA.

    Attributes:
        name: Folder or hub id of the adapter.
        base: Folder or hub id of the model that the adapter changes.
        revision: Revision of the base.
        head: End of the name of the architectures that the adapter was made for, such as
            "ForCausalLM"; an empty string if it names none.
    """

    name: str
    base: str
    revision: str | None
    head: str
    _settings: Any = field(repr=False)
    _own_revision: str | None = field(repr=False)

    @property
    def tokenizer(self) -> tuple[str, str | None]:
        """Folder or hub id, and revision, of the tokenizer of the adapter, or else of its base."""
        file = transformers.utils.cached_file(
            self.name,
            "tokenizer_config.json",
            revision=self._own_revision,
            _raise_exceptions_for_missing_entries=False,
        )
        if file is None:
            return self.base, self.revision
        return self.name, self._own_revision

    @cached_property
    def weights(self) -> dict[str, torch.Tensor]:
        """Weights of the adapter by name. One that replaces a weight of the base has the same name.

        Raises:
            ValueError: If the file of the adapter cannot be read.
        """
        from peft.utils import load_peft_weights

        try:
            weights = load_peft_weights(self.name, device="cpu", revision=self._own_revision)
        except Exception as error:
            raise ValueError(
                f"Expected weights in the adapter {self.name}, but they cannot be read: "
                f"{get_first_line(error)}"
            ) from error
        return {_get_name_in_base(name): weight for name, weight in weights.items()}

    @property
    def headless(self) -> bool:
        """Whether no weight of the adapter replaces a weight of the base, such as its head."""
        from peft.mapping import PEFT_TYPE_TO_PREFIX_MAPPING

        prefix = PEFT_TYPE_TO_PREFIX_MAPPING.get(self._settings.peft_type, "")
        return all(prefix in name for name in self.weights)

    def config(self) -> Any:
        """Return the configuration of the base, with the adapter's number of classes."""
        config = transformers.AutoConfig.from_pretrained(
            self.base, revision=self.revision, trust_remote_code=False
        )
        if not self.headless:
            n_classes = self._count_classes(config)
            if n_classes is not None and n_classes != config.num_labels:
                config.num_labels = n_classes
        return config

    def _count_classes(self, config: Any) -> int | None:
        """Return the number of classes of the adapter's head; None if the adapter has no head.

        The base is built with 2 and with 3 classes. A weight whose shape differs between the two
        has one row per class. The weight of that name in the adapter then has as many rows as the
        adapter has classes.

        Args:
            config: Configuration of the base.
        """
        shapes_by_count = []
        # A base without a classification head raises a ValueError. The meta device needs no memory.
        with contextlib.suppress(ValueError), torch.device("meta"):
            for n_classes in (2, 3):
                shapes_by_count.append(self._list_shapes(config, n_classes))
        if len(shapes_by_count) < 2:
            return None
        shapes, other_shapes = shapes_by_count
        counts = set()
        for name, shape in shapes.items():
            if shape != other_shapes[name]:
                counts.add(len(self.weights[name]))
        return counts.pop() if len(counts) == 1 else None

    def _list_shapes(self, config: Any, n_classes: int) -> dict[str, torch.Size]:
        """Build the base with a number of classes, and return shapes of its weights.

        Args:
            config: Configuration of the base.
            n_classes: Number of classes.

        Returns:
            Name -> shape of those weights of the base that the adapter replaces.
        """
        config = copy.deepcopy(config)
        config.num_labels = n_classes
        model = transformers.AutoModelForSequenceClassification.from_config(config)
        weights = model.state_dict()
        return {name: weights[name].shape for name in weights if name in self.weights}

    def attach(self, model: Any) -> Any:
        """Put the adapter on its base, and return the model.

        If the adapter has its own word embeddings, those of the base are resized.

        Args:
            model: The base, which is changed.

        Raises:
            ValueError: If the adapter does not fit the base, or lacks weights.
        """
        from peft import PeftModel
        from peft.utils import get_peft_model_state_dict

        expected = f"Expected {self.name} to be an adapter of {self.base}, but"
        base_names = set(model.state_dict())
        try:
            self._resize_words(model)
            with warnings.catch_warnings():
                # peft only warns of missing weights, which are an error below.
                warnings.simplefilter("ignore")
                adapted = PeftModel.from_pretrained(
                    model,
                    self.name,
                    config=self._settings,
                    revision=self._own_revision,
                    torch_device="cpu",
                )
        except Exception as error:
            raise ValueError(
                f"{expected} the adapter cannot be applied to the base: {get_first_line(error)}"
            ) from error
        weights = get_peft_model_state_dict(adapted, save_embedding_layers=False)
        needed = set(map(_get_name_in_base, weights))
        missing = needed - self.weights.keys()
        if missing:
            raise ValueError(f"{expected} it lacks the weights {min(missing)}.")
        unknown = self.weights.keys() - needed - base_names
        if unknown:
            raise ValueError(f"{expected} the base has no layer for the weights {min(unknown)}.")
        return unwrap_model(adapted)

    def _resize_words(self, model: Any) -> None:
        """Resize the word embeddings of the base to the size of those in the adapter, if any."""
        table = model.get_input_embeddings().weight
        for name, weight in model.named_parameters():
            is_word_table = weight is table
            if not is_word_table or name not in self.weights:
                continue
            n_words = len(self.weights[name])
            if n_words != len(table):
                model.resize_token_embeddings(n_words)
            return


def _get_name_in_base(name: str) -> str:
    """Return the name that a weight of an adapter has in its base."""
    return _WRAPPERS.sub("", name.removeprefix("base_model.").removeprefix("model."))


def find_adapter(name: str, revision: str | None = None) -> Adapter | None:
    """Return the adapter in a folder or a hub repository; None if it contains no adapter.

    Args:
        name: A folder or a hub id.
        revision: A branch, tag or commit of the hub repository.

    Raises:
        ImportError: If the package peft, which reads adapters, is not installed.
        ValueError: If the adapter does not name its base or cannot be read, or the folder also
            contains a whole model.
    """
    try:
        file = transformers.utils.find_adapter_config_file(name, revision=revision)
    except Exception:
        # If the name is wrong, opening the model raises a clearer error.
        return None
    if file is None:
        return None
    _check_no_model(name)
    require_package("peft")
    settings, base = _read_settings(name, revision)
    # The base may be a subfolder of the adapter.
    inner_folder = Path(name) / base
    if inner_folder.is_dir() and not Path(base).exists():
        base = str(inner_folder)
    # The task is an enumeration, or a string in older versions of peft.
    task = str(getattr(settings.task_type, "value", settings.task_type))
    return Adapter(
        name=name,
        base=base,
        revision=settings.revision,
        head=HEADS.get(task, ""),
        _settings=settings,
        _own_revision=revision,
    )


def _check_no_model(name: str) -> None:
    """Check that a folder with an adapter does not contain a whole model, too.

    Raises:
        ValueError: If the folder contains weights of a model.
    """
    for pattern in _MODEL_FILES:
        for path in Path(name).glob(pattern):
            raise ValueError(
                f"Expected {name} to contain a model or an adapter, but the folder contains both, "
                f"{path.name} and {ADAPTER}. Remove one of the two files."
            )


def _read_settings(name: str, revision: str | None) -> tuple[Any, str]:
    """Read the settings of an adapter.

    Args:
        name: Folder or hub id of the adapter.
        revision: A branch, tag or commit of the hub repository.

    Returns:
        The settings as an object of peft, and the folder or hub id of the base.

    Raises:
        ValueError: If the settings cannot be read, or name no base.
    """
    from peft import PeftConfig

    try:
        settings = PeftConfig.from_pretrained(name, revision=revision)
        base = settings.base_model_name_or_path
    except Exception as error:
        raise ValueError(
            f"Expected an adapter in {name}, but its {ADAPTER} cannot be read: "
            f"{type(error).__name__}: {get_first_line(error)}"
        ) from error
    if not isinstance(base, str) or not base:
        raise ValueError(
            f"Expected the base of the adapter {name} in `base_model_name_or_path` of its "
            f"{ADAPTER}, but got {base!r}."
        )
    return settings, base


def unwrap_model(model: Any) -> Any:
    """Return the model of transformers inside a `DataParallel` or a `PeftModel`.

    The layers of a `PeftModel` remain changed by its adapter. Any other model is returned
    unchanged.
    """
    if isinstance(model, (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)):
        model = model.module
    if getattr(model, "get_base_model", None) is None:
        return model
    # With prompt tuning, the wrapper itself inserts the virtual tokens, and is needed.
    settings = getattr(model, "active_peft_config", None)
    if getattr(settings, "is_prompt_learning", True):
        return model
    return model.get_base_model()


def explain_quantization(model: torch.nn.Module) -> str:
    """Return why gradients cannot be computed for a model with quantized layers; "" for others.

    Residual connections lead gradients around a quantized layer, so that their values would be
    incorrect, without an error.
    """
    for name, layer in model.named_modules():
        if _is_quantized(layer):
            return (
                "Expected a model that gradients can pass through, but "
                f"{type(model).__name__} has the quantized layer {name} ({type(layer).__name__}): "
                "load it in float32 or bfloat16."
            )
    return ""


def _is_quantized(layer: torch.nn.Module) -> bool:
    """Return whether a layer has packed weights, or is a quantized layer of torch."""
    module_name = type(layer).__module__
    if module_name.startswith("torch.") and ".quantized" in module_name:
        return True
    for weight in (*layer._parameters.values(), *layer._buffers.values()):
        if weight is not None and weight.dtype in _PACKED_TYPES:
            return True
    return False


def explain_untrainable(model: torch.nn.Module) -> str:
    """Return why the weights of a model cannot all be trained; an empty string if they can.

    Training a model with an adapter would change its base as well, and the saved model would
    contain the weights of two models. Packed weights cannot be changed by an optimizer.
    """
    for layer in model.modules():
        # Layers that peft has changed have this switch for their adapters.
        if hasattr(layer, "_disable_adapters"):
            return (
                f"Expected a whole model to train, but {type(model).__name__} has layers of an "
                "adapter: merge it into its base first, by `merge_and_unload` of peft."
            )
    # As Any, because the type guard of the function confuses type checkers.
    is_packed: Any = _python_dispatch.is_traceable_wrapper_subclass
    for name, weight in model.named_parameters():
        # Gradients can pass packed weights of torchao, but an optimizer cannot change them.
        if is_packed(weight):
            return (
                f"Expected a whole model to train, but {type(model).__name__} has the quantized "
                f"weight {name} ({type(weight).__name__}): load it in float32 or bfloat16."
            )
    return explain_quantization(model)


def describe_weights(model: torch.nn.Module) -> str:
    """Describe the adapters and the quantization of a model for reports; "" if it has neither.

    An example is "LORA adapter on org/base; quantized (bitsandbytes)".
    """
    notes = []
    for settings in (getattr(model, "peft_config", None) or {}).values():
        # The type is an enumeration, or a string in older versions of peft.
        kind = getattr(settings.peft_type, "value", settings.peft_type)
        notes.append(f"{kind} adapter on {settings.base_model_name_or_path}")
    # The configuration still has its entry if the weights were dequantized. Then no layer is
    # quantized.
    quantization = getattr(getattr(model, "config", None), "quantization_config", None)
    if quantization is not None and explain_quantization(model):
        method = getattr(quantization, "quant_method", "")
        notes.append(f"quantized ({getattr(method, 'value', method)})")
    return "; ".join(notes)
