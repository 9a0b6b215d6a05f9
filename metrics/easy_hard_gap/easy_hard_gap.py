"""Easy/Hard gap: is a model better on items that superficial cues solve?"""

import datasets
import evaluate

from rightreasons.cues.easy_hard import easy_hard_gap
from rightreasons.cues.labels import parse_runs
from rightreasons.evaluate_module import KernelModule, describe_options, kernel_options

_DESCRIPTION = """
Easy/Hard gap: accuracy on Easy items, which a model that never saw the question solves, minus
accuracy on Hard items. In [-1, 1]; 0 is best, and a positive gap suggests that the model relies on
cues in the choices. With the accuracies on all, Easy and Hard items, an approximate-randomization
p-value and intervals; several runs give mean and population standard deviation.
"""

# The docstring of the kernel describes the options; they are added to the inputs.
_KWARGS_DESCRIPTION = describe_options(
    """
Args:
    predictions: (N,) index of the chosen answer of each item; or (N, R), one row per item and one
        column per run (seed).
    references: (N,) index of the correct answer of each item.
    easy: (N,) whether an item is Easy. Both kinds must occur.

Returns:
    dict with `easy_hard_gap` first, then `accuracy`, `easy_accuracy`, `hard_accuracy`, `p_value`,
    their intervals (`interval` is that of the gap), their population standard deviations over runs
    (None for a single run), `n_easy`, `n_hard`, `n_runs`, `n_permutations` and the list `runs` with
    the same figures for each run.

Raises:
    TypeError: If an input has the wrong type.
    ValueError: If a value is invalid, or all items are Easy or none is.

Examples:
    >>> import rightreasons
    >>> metric = rightreasons.load("easy_hard_gap")
    >>> results = metric.compute(
    ...     predictions=[0, 1, 1, 0, 0],
    ...     references=[0, 1, 1, 1, 0],
    ...     easy=[True, True, False, False, False],
    ... )
    >>> results["easy_accuracy"], round(results["hard_accuracy"], 4)
    (1.0, 0.6667)
    >>> round(results["easy_hard_gap"], 4)
    0.3333
    >>> two_seeds = metric.compute(
    ...     predictions=[[0, 0], [1, 0]], references=[0, 1], easy=[True, False]
    ... )
    >>> two_seeds["easy_hard_gap"], two_seeds["easy_hard_gap_std"]
    (0.5, 0.5)
""",
    easy_hard_gap,
)

_CITATION = """
@inproceedings{kavumba2019choosing,
  title={When Choosing Plausible Alternatives, Clever Hans can be Clever},
  author={Kavumba, Pride and Inoue, Naoya and Heinzerling, Benjamin and Singh, Keshav and Reisert, Paul
    and Inui, Kentaro},
  booktitle={Proceedings of the First Workshop on Commonsense Inference in Natural Language Processing},
  year={2019}
}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class EasyHardGap(KernelModule, evaluate.Metric):
    def _info(self):
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=[
                # One run of a model.
                datasets.Features(
                    {
                        "predictions": datasets.Value("int64"),
                        "references": datasets.Value("int64"),
                        "easy": datasets.Value("bool"),
                    }
                ),
                # Several runs: a row of predictions per item.
                datasets.Features(
                    {
                        "predictions": datasets.List(datasets.Value("int64")),
                        "references": datasets.Value("int64"),
                        "easy": datasets.Value("bool"),
                    }
                ),
            ],
            reference_urls=["https://arxiv.org/abs/1911.00225", "https://balanced-copa.github.io"],
        )

    def parse_input(self, name, values):
        if name == "predictions":
            # Runs are read before the declared types, whose rows need not have one length.
            values = parse_runs(values)
            # A table with one run joins batches of single predictions.
            if values.shape[1] == 1:
                values = values[:, 0]
        return super().parse_input(name, values)

    @kernel_options(easy_hard_gap)
    def _compute(self, predictions, references, easy, **options):
        return easy_hard_gap(predictions, references, easy, **options).to_dict()
