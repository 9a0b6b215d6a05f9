"""Expected calibration error: does a model's confidence match its accuracy?"""

import datasets
import evaluate

from rightreasons.analysis.calibration.errors import calibration_error
from rightreasons.modules import KernelModule

_DESCRIPTION = """
Expected calibration error (ECE): the mean gap between confidence and accuracy over bins of confidence,
ECE = sum_m |B_m| / n * |acc(B_m) - conf(B_m)|. In [0, 1], lower is better. For two classes the word has several
meanings, so the definition is an option (`kind`) and stands in words in the result.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: (N, K) class scores, or (N,) P(class 1) of a binary task, or rows of different lengths (a different
        number of choices an item; `kind="top_label"` only).
    references: (N,) labels, whole numbers from 0.
    n_bins: How many bins; default 15.
    strategy: "uniform" (equal width, default) or "quantile" (equal mass).
    kind: What is compared with what. "top_label" (default): the largest probability with whether it is right.
        "positive": P(class 1) of a binary task with whether the label is 1. "classwise": each class's probability with
        whether the label is that class, averaged over classes.
    norm: "l1" (default; the ECE), "l2" (root mean square) or "max" (maximum calibration error).
    scores: What the numbers are: "probabilities" (default), "logits" or "log_probabilities". It is never guessed.
    debias: Whether to subtract the estimate's own bias (Kumar et al. 2019); default False.
    threshold: Scores at or below it are left out; default 0.0 keeps all.
    confidence_level: Level of a bootstrap interval, such as 0.95; default None gives none.
    n_resamples: Bootstrap resamples; default 1000.
    seed: Seed of the resampling; default 0.

Returns:
    dict with `ece` first, then `mce`, `accuracy`, `mean_confidence`, `overconfidence` and `underconfidence` (the parts
    of the L1 error), `n_items`, `n_bins`, the `definition` in words, the table `bins`, and the interval when asked for.

Raises:
    TypeError: For the wrong kind of input. ValueError: For a wrong value; one sentence says what was expected,
    what came and where.

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
"""

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
    def _info(self):
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=[
                datasets.Features(
                    {
                        "predictions": datasets.List(datasets.Value("float64")),
                        "references": datasets.Value("int64"),
                    }
                ),
                datasets.Features({"predictions": datasets.Value("float64"), "references": datasets.Value("int64")}),
            ],
            reference_urls=["https://arxiv.org/abs/1706.04599", "https://arxiv.org/abs/1909.10155"],
        )

    def _compute(
        self,
        predictions,
        references,
        *,
        n_bins=15,
        strategy="uniform",
        kind="top_label",
        norm="l1",
        scores="probabilities",
        debias=False,
        threshold=0.0,
        confidence_level=None,
        n_resamples=1000,
        seed=0,
    ):
        return calibration_error(
            predictions,
            references,
            n_bins=n_bins,
            strategy=strategy,
            kind=kind,
            norm=norm,
            scores=scores,
            debias=debias,
            threshold=threshold,
            confidence_level=confidence_level,
            n_resamples=n_resamples,
            seed=seed,
        ).to_dict()
