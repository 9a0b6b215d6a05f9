"""Prior bias: does a model prefer some choices of items without a correct choice?"""

import datasets
import evaluate

from rightreasons.evaluate_module import KernelModule, describe_options, kernel_options
from rightreasons.probes.bias import prior_bias

_DESCRIPTION = """
Prior bias: how strongly a model prefers some choices of items that have no correct choice, because
the question was removed or replaced, or the correct choice was removed. The population variance of
the confidences over the choices of an item, averaged over items. 0 is no preference; lower is
better.
"""

# The docstring of the kernel describes the options; they are added to the inputs.
_KWARGS_DESCRIPTION = describe_options(
    """
Args:
    predictions: N rows of choice scores of the perturbed items, of equal or different lengths.
    references: (N,) index of the pseudo-correct choice, which was correct before the perturbation;
        -1 if an item has none. Optional.

Returns:
    dict with `prior_bias` first, then `normalized_prior_bias` (in [0, 1]),
    `divergence_from_uniform` (nats), `normalized_divergence`, `mean_top_confidence`, `n_items`,
    `t_p_value`, `wilcoxon_p_value`, `pseudo_correct` (rate, chance, exact p-value, confidence
    excess), `interval` and the `definition` in words.

Examples:
    >>> import rightreasons
    >>> prior_bias = rightreasons.load("prior_bias")
    >>> results = prior_bias.compute(predictions=[[0.7, 0.2, 0.1]])
    >>> round(results["prior_bias"], 6), round(results["normalized_prior_bias"], 6)
    (0.068889, 0.31)
    >>> results = prior_bias.compute(predictions=[[0.7, 0.2, 0.1], [0.5, 0.5]], references=[0, 0])
    >>> results["pseudo_correct"]["rate"], results["pseudo_correct"]["test"]
    (1.0, 'poisson_binomial')
""",
    prior_bias,
)

_CITATION = """
@article{shen2022understanding,
  title={Understanding Prior Bias and Choice Paralysis in Transformer-based Language Representation Models through Four
    Experimental Probes},
  author={Shen, Ke and Kejriwal, Mayank},
  journal={arXiv preprint arXiv:2210.01258},
  year={2022}
}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class PriorBias(KernelModule, evaluate.Metric):
    # Without references, `pseudo_correct` is None.
    OPTIONAL_INPUTS = ("references",)

    # Columns of a table of predictions and labels in words are matched by the names of choices.
    CLASS_GROUPS = (("predictions", "references"),)

    def _info(self):
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {
                    # Items may have different numbers of choices.
                    "predictions": datasets.List(datasets.Value("float64")),
                    "references": datasets.Value("int64"),
                }
            ),
            reference_urls=["https://arxiv.org/abs/2210.01258"],
        )

    @kernel_options(prior_bias)
    def _compute(self, predictions, references, **options):
        return prior_bias(predictions, references, **options).to_dict()
