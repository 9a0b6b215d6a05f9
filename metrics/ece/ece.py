"""Expected calibration error: does a model's confidence match its accuracy?"""

import datasets
import evaluate

from rightreasons.calibration.errors import calibration_error
from rightreasons.evaluate_module import (
    KernelModule,
    describe_options,
    kernel_options,
    named_classes,
)

_DESCRIPTION = """
Expected calibration error (ECE): the mean gap between confidence and accuracy over bins of
confidence, ECE = sum_m |B_m| / n * |acc(B_m) - conf(B_m)|. In [0, 1], lower is better. For two
classes the term has several meanings, so the definition is an option (`kind`), and the result
states it in words.
"""

# The docstring of the kernel describes the options; they are added to the inputs.
_KWARGS_DESCRIPTION = describe_options(
    """
Args:
    predictions: (N, K) class scores, or (N,) P(class 1) of a binary task, or rows of different
        lengths (items with different numbers of choices, only for `kind="top_label"`). For
        `kind="confidence"`: (N,) confidence in the given answer, in [0, 1].
    references: (N,) labels, whole numbers from 0. For `kind="confidence"`: (N,) whether the answer
        was correct, 1 or 0.

Returns:
    dict with `ece` first, then `mce`, `accuracy`, `mean_confidence`, `overconfidence` and
    `underconfidence` (the parts of the L1 error), `n_items`, `n_bins`, the `definition` in words,
    the table `bins`, and the `interval` if requested.

Raises:
    TypeError: If an input has the wrong type.
    ValueError: If a value is invalid. The message states what was expected, what was given and
        where.

Examples:
    >>> import rightreasons
    >>> ece = rightreasons.load("ece", n_bins=10)
    >>> predictions = [[0.95, 0.05], [0.91, 0.09], [0.85, 0.15], [0.35, 0.65], [0.62, 0.38], [0.55, 0.45]]
    >>> results = ece.compute(predictions=predictions, references=[0, 1, 0, 1, 1, 0])
    >>> round(results["ece"], 6), results["n_items"]
    (0.288333, 6)
    >>> round(ece.compute(predictions=predictions, references=[0, 1, 0, 1, 1, 0], n_bins=1)["ece"], 6)
    0.088333
    >>> ece.compute(predictions=[[0.5, 0.33]], references=[0])
    Traceback (most recent call last):
    ...
    ValueError: Expected each row of `predictions` to sum to 1, but row 0 sums to 0.83.
""",
    calibration_error,
    named_classes,
)

_CITATION = """
@inproceedings{guo2017calibration,
  title={On Calibration of Modern Neural Networks},
  author={Guo, Chuan and Pleiss, Geoff and Sun, Yu and Weinberger, Kilian Q.},
  booktitle={International Conference on Machine Learning},
  year={2017}
}
@inproceedings{naeini2015obtaining,
  title={Obtaining Well Calibrated Probabilities Using Bayesian Binning},
  author={Naeini, Mahdi Pakdaman and Cooper, Gregory F. and Hauskrecht, Milos},
  booktitle={AAAI Conference on Artificial Intelligence},
  year={2015}
}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class Ece(KernelModule, evaluate.Metric):
    # Columns of a table of predictions and labels in words are matched by the names of classes.
    CLASS_GROUPS = (("predictions", "references"),)

    def _info(self):
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=[
                # Rows of scores and labels; rows may differ in length.
                datasets.Features(
                    {
                        "predictions": datasets.List(datasets.Value("float64")),
                        "references": datasets.Value("int64"),
                    }
                ),
                # P(class 1) and labels, or confidence and whether the answer was correct.
                datasets.Features(
                    {
                        "predictions": datasets.Value("float64"),
                        "references": datasets.Value("int64"),
                    }
                ),
                datasets.Features(
                    {
                        "predictions": datasets.Value("float64"),
                        "references": datasets.Value("bool"),
                    }
                ),
            ],
            reference_urls=["https://arxiv.org/abs/1706.04599", "https://arxiv.org/abs/1909.10155"],
        )

    # `clusters` has a value per item, so that it is no option of a module.
    @kernel_options(calibration_error, named_classes, without=("clusters",))
    def _compute(self, predictions, references, **options):
        return calibration_error(predictions, references, **options).to_dict()
