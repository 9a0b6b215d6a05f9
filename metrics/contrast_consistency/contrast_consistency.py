"""Contrast consistency: is a model correct on an item and on all of its small revisions?"""

import datasets
import evaluate

from rightreasons.difficulty.contrast import contrast_consistency, parse_set_names
from rightreasons.evaluate_module import (
    KernelModule,
    describe_options,
    kernel_options,
    named_classes,
)

_DESCRIPTION = """
Contrast consistency: the share of contrast sets (an original item and small revisions of it that
usually change its label) whose items are all predicted correctly, including the original; with the
accuracy on the originals and on the perturbed items. In [0, 1]; higher is better.
"""

# The docstring of the kernel describes the options; they are added to the inputs.
_KWARGS_DESCRIPTION = describe_options(
    """
Args:
    predictions: (N,) predicted classes.
    references: (N,) labels.
    groups: (N,) names of the contrast sets, texts or whole numbers.
    is_original: (N,) whether an item is the original of its set, which has exactly one. Optional;
        default: the first item of each set.

Returns:
    dict with `contrast_consistency` first, then its `interval` over sets, `original_accuracy` and
    `original_interval`, `contrast_accuracy` (on the perturbed items) and `contrast_interval` with
    sets as clusters, `n_sets`, `n_contrasts`, and `sets` with `consistent`: the names of the sets,
    and whether all items of a set are correct.

Examples:
    >>> import rightreasons
    >>> metric = rightreasons.load("contrast_consistency")
    >>> columns = {"references": [0, 1, 1, 0, 0], "groups": ["a", "a", "b", "b", "b"]}
    >>> results = metric.compute(predictions=[0, 1, 1, 0, 1], **columns)
    >>> results["contrast_consistency"], results["original_accuracy"], round(results["contrast_accuracy"], 4)
    (0.5, 1.0, 0.6667)
""",
    contrast_consistency,
    named_classes,
)

_CITATION = """
@inproceedings{gardner2020evaluating,
  title={Evaluating Models' Local Decision Boundaries via Contrast Sets},
  author={Gardner, Matt and Artzi, Yoav and Basmov, Victoria and Berant, Jonathan and Bogin, Ben and Chen, Sihao
    and others},
  booktitle={Findings of the Association for Computational Linguistics: EMNLP 2020},
  year={2020}
}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class ContrastConsistency(KernelModule, evaluate.Metric):
    OPTIONAL_INPUTS = ("is_original",)

    # Predictions and labels in words are matched by the names of classes.
    CLASS_GROUPS = (("predictions", "references"),)

    def _info(self):
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {
                    # The kernel checks that predictions are whole numbers.
                    "predictions": datasets.Value("float64"),
                    "references": datasets.Value("int64"),
                    "groups": datasets.Value("string"),
                    "is_original": datasets.Value("bool"),
                }
            ),
            reference_urls=["https://aclanthology.org/2020.findings-emnlp.117"],
        )

    def parse_input(self, name, values):
        if name == "groups":
            # Contrast sets may be numbered instead of named.
            values = parse_set_names(values)
        return super().parse_input(name, values)

    @kernel_options(contrast_consistency, named_classes)
    def _compute(self, predictions, references, groups, is_original, **options):
        return contrast_consistency(
            predictions, references, groups, is_original, **options
        ).to_dict()
