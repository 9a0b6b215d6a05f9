"""Shortcut trade-off: how much score does a model gain per prediction that uses shortcuts?"""

import datasets
import evaluate

from rightreasons.evaluate_module import KernelModule, describe_options, kernel_options
from rightreasons.shortcuts.tradeoff import shortcut_tradeoff

_DESCRIPTION = """
Shortcut trade-off (T_sc): F1, or accuracy, divided by the share of predictions that rely on
shortcuts. From 0 up, higher is better; read it together with its two parts.
"""

# The docstring of the kernel describes the options; they are added to the inputs.
_KWARGS_DESCRIPTION = describe_options(
    """
Args:
    predictions: (N,) predicted labels.
    references: (N,) labels.
    cued: (N,) whether each prediction relies on a shortcut: `cued` in the `examples` of
        `shortcut_reliance`.

Returns:
    dict with `shortcut_tradeoff` first (None if no prediction is cued), then `score`,
    `shortcut_rate`, `interval`, `n_items`, `n_cued` and the `definition` in words.

Raises:
    TypeError: If an input has the wrong type.
    ValueError: If a value is invalid. The message states what was expected, what was given and
        where.

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
                    # Numbers of labels, as in `shortcut_reliance`.
                    "predictions": datasets.Value("int64"),
                    "references": datasets.Value("int64"),
                    # True and False, or 0 and 1.
                    "cued": datasets.Value("bool"),
                }
            ),
            reference_urls=["https://arxiv.org/abs/2412.15269"],
        )

    # `average` and `n_classes` are options of the kernel.
    @kernel_options(shortcut_tradeoff)
    def _compute(self, predictions, references, cued, **options):
        return shortcut_tradeoff(predictions, references, cued, **options).to_dict()
