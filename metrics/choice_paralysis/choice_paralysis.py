"""Choice paralysis: does confidence in the correct choice drop when wrong choices are added?"""

import datasets
import evaluate

from rightreasons.evaluate_module import KernelModule, describe_options, kernel_options
from rightreasons.probes.paralysis import choice_paralysis

_DESCRIPTION = """
Choice paralysis: how far the confidence in the correct choice drops when wrong choices are added to
an item. Added choices dilute any softmax, so the drop is split into a mechanical part and the drop
that remains among the original choices. Positive if confidence drops; nearer to 0 is better.
"""

# The docstring of the kernel describes the options; they are added to the inputs.
_KWARGS_DESCRIPTION = describe_options(
    """
Args:
    predictions: N rows of choice scores of the original items.
    perturbed_predictions: N rows of choice scores of the same items with added choices, in the same
        order.
    references: (N,) index of the correct choice in `predictions`.
    perturbed_references: (N,) index of the correct choice in `perturbed_predictions`.
    original_positions: N rows with the position of each original choice in the perturbed row.
        Optional if the original wrong choices come first, in order.

Returns:
    dict with `choice_paralysis` first, then `drop` and `restricted_drop` (each with mean, paired
    tests and interval), `mechanical_drop`, `null_drop`, the confidences and accuracies on the
    original items, on the perturbed items and among the original choices, `n_items` and the
    `definition`.

Examples:
    >>> import rightreasons
    >>> choice_paralysis = rightreasons.load("choice_paralysis")
    >>> results = choice_paralysis.compute(
    ...     predictions=[[0.8, 0.2], [0.4, 0.6]],
    ...     perturbed_predictions=[[0.4, 0.1, 0.5], [0.3, 0.3, 0.4]],
    ...     references=[0, 1],
    ...     perturbed_references=[0, 1],
    ... )
    >>> round(results["choice_paralysis"], 6), round(results["restricted_drop"]["mean"], 6)
    (0.35, 0.05)
    >>> results["accuracy"], results["perturbed_accuracy"]
    (1.0, 0.0)
""",
    choice_paralysis,
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
class ChoiceParalysis(KernelModule, evaluate.Metric):
    # By default the original wrong choices come first in a perturbed row, in order.
    OPTIONAL_INPUTS = ("original_positions",)

    # The perturbed items have more choices, so that their labels are matched separately.
    CLASS_GROUPS = (
        ("predictions", "references"),
        ("perturbed_predictions", "perturbed_references"),
    )

    def _info(self):
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {
                    # Items may have different numbers of choices.
                    "predictions": datasets.List(datasets.Value("float64")),
                    "perturbed_predictions": datasets.List(datasets.Value("float64")),
                    "references": datasets.Value("int64"),
                    "perturbed_references": datasets.Value("int64"),
                    # One position per original choice.
                    "original_positions": datasets.List(datasets.Value("int64")),
                }
            ),
            reference_urls=["https://arxiv.org/abs/2210.01258"],
        )

    @kernel_options(choice_paralysis)
    def _compute(
        self,
        predictions,
        perturbed_predictions,
        references,
        perturbed_references,
        original_positions,
        **options,
    ):
        return choice_paralysis(
            predictions,
            perturbed_predictions,
            references,
            perturbed_references,
            original_positions,
            **options,
        ).to_dict()
