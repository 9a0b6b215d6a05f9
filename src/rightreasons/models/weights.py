"""What weights are where they are no plain checkpoint: an adapter, such as a LoRA, on its base; and quantized ones."""

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

from rightreasons.core.errors import get_first_line
from rightreasons.core.extras import require_package

ADAPTER = "adapter_config.json"
HEADS = {
    "SEQ_CLS": "ForSequenceClassification",
    "CAUSAL_LM": "ForCausalLM",
    "QUESTION_ANS": "ForQuestionAnswering",
    "SEQ_2_SEQ_LM": "Seq2SeqLM",
}
"""What peft calls a task, and the end of the names of its architectures, or of the class that opens them."""

_MODELS = ("model*.safetensors", "pytorch_model*.bin")
# What peft puts between a layer and its weights.
_WRAPPERS = re.compile(r"\.(base_layer|token_adapter|modules_to_save|original_module)(?=\.)")
# Packed weights are of these types; other models hold whole numbers of 64 bits alone, such as positions.
_PACKED = (
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
)


@dataclass(frozen=True, eq=False)
class Adapter:
    """An adapter, as peft wrote it.

    Attributes:
        name: Its folder or hub id.
        base: The folder or hub id of the model that it changes.
        revision: The revision of the base.
        head: The end of the name of the architectures that it was made for; "" where it does not say.
    """

    name: str
    base: str
    revision: str | None
    head: str
    _settings: Any = field(repr=False)
    _own: str | None = field(repr=False)

    @property
    def tokenizer(self) -> tuple[str, str | None]:
        """The folder or hub id of the tokenizer, beside the adapter or else beside its base, and its revision."""
        beside = transformers.utils.cached_file(
            self.name,
            "tokenizer_config.json",
            revision=self._own,
            _raise_exceptions_for_missing_entries=False,
        )
        return (self.base, self.revision) if beside is None else (self.name, self._own)

    @cached_property
    def weights(self) -> dict[str, torch.Tensor]:
        """Its weights, by the names that the whole ones among them have in the base."""
        from peft.utils import load_peft_weights

        try:
            held = load_peft_weights(self.name, device="cpu", revision=self._own)
        except Exception as error:
            raise ValueError(
                f"Expected weights in the adapter {self.name}, but they cannot be read: {get_first_line(error)}"
            ) from error
        return {_name_in_base(key): weight for key, weight in held.items()}

    @property
    def headless(self) -> bool:
        """Whether it holds no whole weights, such as a head of its own."""
        from peft.mapping import PEFT_TYPE_TO_PREFIX_MAPPING

        prefix = PEFT_TYPE_TO_PREFIX_MAPPING.get(self._settings.peft_type, "")
        return all(prefix in name for name in self.weights)

    def config(self) -> Any:
        """Return the configuration of the base, with as many classes as the adapter's own head has."""
        config = transformers.AutoConfig.from_pretrained(
            self.base, revision=self.revision, trust_remote_code=False
        )
        held = self.weights
        if self.headless:
            return config
        sizes = []
        with contextlib.suppress(ValueError), torch.device("meta"):  # a base without such a head
            for count in (2, 3):
                other = copy.deepcopy(config)
                other.num_labels = count
                whole = transformers.AutoModelForSequenceClassification.from_config(
                    other
                ).state_dict()
                sizes.append({name: weight.shape for name, weight in whole.items() if name in held})
            # The weights whose sizes differ are counted by classes.
            classes = {len(held[name]) for name in sizes[0] if sizes[0][name] != sizes[1][name]}
            if len(classes) == 1 and classes != {config.num_labels}:
                (config.num_labels,) = classes
        return config

    def put_on(self, model: Any) -> Any:
        """Return its base, which is opened, with it; a table of words takes as many as it holds.

        Raises:
            ValueError: If it does not belong there.
        """
        from peft import PeftModel
        from peft.utils import get_peft_model_state_dict

        made = f"Expected {self.name} to be an adapter of {self.base}, but"
        words, whole = model.get_input_embeddings(), set(model.state_dict())
        table = next(
            (name for name, weight in model.named_parameters() if weight is words.weight), ""
        )
        try:
            if table in self.weights and len(self.weights[table]) != len(words.weight):
                model.resize_token_embeddings(len(self.weights[table]))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what it lacks is said below
                settings = {"config": self._settings, "revision": self._own, "torch_device": "cpu"}
                adapted = PeftModel.from_pretrained(model, self.name, **settings)
        except Exception as error:
            raise ValueError(f"{made} it cannot be put on it: {get_first_line(error)}") from error
        expected = set(
            map(_name_in_base, get_peft_model_state_dict(adapted, save_embedding_layers=False))
        )
        if lacks := expected - self.weights.keys():
            raise ValueError(f"{made} it lacks the weights {min(lacks)}.")
        if more := self.weights.keys() - expected - whole:
            raise ValueError(f"{made} its weights {min(more)} have no place in it.")
        return without_wrapper(adapted)


def _name_in_base(key: str) -> str:
    """Return the name that a whole weight of an adapter has in its base."""
    return _WRAPPERS.sub("", key.removeprefix("base_model.").removeprefix("model."))


def adapter_of(name: str, revision: str | None = None) -> Adapter | None:
    """Return the adapter that a folder or a hub repository holds; None where it holds none.

    Raises:
        ImportError: If peft, which reads it, is not installed.
        ValueError: If it does not name its base, cannot be read, or lies beside a whole model.
    """
    try:
        file = transformers.utils.find_adapter_config_file(name, revision=revision)
    except Exception:  # opening the model says what is wrong with it
        return None
    if file is None:
        return None
    folder = Path(name)
    if whole := [path.name for pattern in _MODELS for path in folder.glob(pattern)]:
        raise ValueError(
            f"Expected {name} to hold a model or an adapter, but it holds both, {whole[0]} and {ADAPTER}: leave there "
            "what is meant."
        )
    require_package("peft")
    from peft import PeftConfig

    try:
        settings = PeftConfig.from_pretrained(name, revision=revision)
        base = settings.base_model_name_or_path
    except Exception as error:
        raise ValueError(
            f"Expected an adapter in {name}, but its {ADAPTER} cannot be read: {type(error).__name__}: "
            f"{get_first_line(error)}"
        ) from error
    if not isinstance(base, str) or not base:
        raise ValueError(
            f"Expected the base of the adapter {name} in `base_model_name_or_path` of its {ADAPTER}, but got {base!r}."
        )
    beside = folder / base
    base = str(beside) if beside.is_dir() and not Path(base).exists() else base
    head = HEADS.get(str(getattr(settings.task_type, "value", settings.task_type)), "")
    return Adapter(name, base, settings.revision, head, settings, revision)


def without_wrapper(model: Any) -> Any:
    """Return the model of transformers that a `DataParallel` holds, or whose layers a loaded `PeftModel` has changed.

    Any other model is returned as it is.
    """
    if isinstance(model, (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)):
        model = model.module
    inner = getattr(model, "get_base_model", None)
    if inner is None or getattr(
        getattr(model, "active_peft_config", None), "is_prompt_learning", True
    ):
        return model
    return inner()


def quantized(model: torch.nn.Module) -> str:
    """Return why gradients do not pass a model: its first quantized layer, in a sentence; "" where they pass.

    Residual connections would lead gradients around such layers, to wrong values.
    """
    for name, part in model.named_modules():
        tensors = (*part._parameters.values(), *part._buffers.values())
        kind = type(part).__module__
        if any(weight is not None and weight.dtype in _PACKED for weight in tensors) or (
            kind.startswith("torch.") and ".quantized" in kind
        ):
            return (
                f"Expected a model that gradients can pass through, but {type(model).__name__} has the quantized layer "
                f"{name} ({type(part).__name__}): load it in float32 or bfloat16."
            )
    return ""


def told_of(model: torch.nn.Module) -> str:
    """Say what the weights of a model are where they are no plain checkpoint, for reports; "" where they are."""
    notes = []
    for each in (getattr(model, "peft_config", None) or {}).values():
        notes.append(
            f"{getattr(each.peft_type, 'value', each.peft_type)} adapter on {each.base_model_name_or_path}"
        )
    settings = getattr(getattr(model, "config", None), "quantization_config", None)
    if settings is not None and quantized(model):
        method = getattr(settings, "quant_method", "")
        notes.append(f"quantized ({getattr(method, 'value', method)})")
    return "; ".join(notes)
