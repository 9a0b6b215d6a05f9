"""Shortcut trade-off: how much score does a model buy with how many shortcuts?"""

import datasets
import evaluate

from rightreasons.evaluate_module import KernelModule, describe_options, kernel_options
from rightreasons.shortcuts.reliance import shortcut_tradeoff

_DESCRIPTION = """
Shortcut trade-off (T_sc): F1, or accuracy, divided by the share of predictions that rest on shortcuts. From 0 up,
higher is better; read it together with its two parts.
"""

_KWARGS_DESCRIPTION = describe_options(
    """
Args:
    predictions: (N,) predicted labels.
    references: (N,) labels.
    cued: (N,) whether each prediction is shortcut-cued: `cued` of the `examples` of `shortcut_reliance`.

Returns:
    dict with `shortcut_tradeoff` first (None where no prediction is cued), then `score`, `shortcut_rate`, `interval`,
    `n_items`, `n_cued` and the `definition` in words.

Raises:
    TypeError: For the wrong kind of input. ValueError: For a wrong value. The message is one sentence: what was
    expected, what was given and where.

Examples:
    >>> import rightreasons
    >>> tradeoff = rightreasons.load("shortcut_tradeoff", average="micro")
    >>> cued = [True, False, True, False]
    >>> results = tradeoff.compute(predictions=[1, 1, 0, 0], references=[1, 0, 0, 0], cued=cued)
    >>> results["shortcut_tradeoff"], results["score"], results["shortcut_rate"]
    (1.5, 0.75, 0.5)
    >>> print(tradeoff.compute(predictions=[1, 0], references=[1, 0], cued=[False, False])["shortcut_tradeoff"])
    None
    >>> tradeoff.compute(predictions=[1, 0], references=[1, 0], cued=[1, 0.5])
    Traceback (most recent call last):
    ...
    TypeError: Expected True or False in `cued`, but item 1 is 0.5 (float).
""",
    shortcut_tradeoff,
)

_CITATION = """
@inproceedings{bihani2025reliability,
  title={The Reliability Paradox: Exploring How Shortcut Learning Undermines Language Model Calibration},
  author={Bihani, Geetanjali and Rayz, Julia},
  booktitle={Hawaii International Conference on System Sciences},
  year={2025}
}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class ShortcutTradeoff(KernelModule, evaluate.Metric):
    def _info(self):
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {
                    "predictions": datasets.Value("int64"),
                    "references": datasets.Value("int64"),
                    "cued": datasets.Value("bool"),
                }
            ),
            reference_urls=["https://arxiv.org/abs/2412.15269"],
        )

    @kernel_options(shortcut_tradeoff)
    def _compute(self, predictions, references, cued, **options):
        return shortcut_tradeoff(predictions, references, cued, **options).to_dict()
