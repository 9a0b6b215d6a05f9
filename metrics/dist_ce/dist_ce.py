"""Human distribution calibration error: do probabilities match the votes of people?"""

import datasets
import evaluate

from rightreasons.calibration.confidences import refuse_class_labels
from rightreasons.calibration.human import human_calibration
from rightreasons.evaluate_module import (
    KernelModule,
    describe_options,
    kernel_options,
    named_classes,
)

_DESCRIPTION = """
DistCE, EntCE and RankCS: how far a model's class probabilities are from the votes of people who may
disagree about an item. DistCE is the mean total variation distance of the two distributions, in [0,
1], lower is better. EntCE is the mean absolute difference of their entropies. RankCS is the share
of items for which both rank the classes equally.
"""

# The docstring of the kernel describes the options; they are added to the inputs.
_KWARGS_DESCRIPTION = describe_options(
    """
Args:
    predictions: (N, K) class scores, or (N,) P(class 1) of a binary task.
    references: (N, K) votes for each class, in the order of the classes of the scores. The columns
        of two tables are matched by name.

Returns:
    dict with `dist_ce` first, then its `interval`, `ent_ce` in nats and `ent_ce_interval`,
    `rank_cs` and `rank_cs_interval`, `n_items`, `n_votes`.

Examples:
    >>> import rightreasons
    >>> metric = rightreasons.load("dist_ce")
    >>> votes = [[5, 3, 2], [5, 4, 1]]
    >>> results = metric.compute(predictions=[[0.7, 0.2, 0.1], [0.4, 0.5, 0.1]], references=votes)
    >>> round(results["dist_ce"], 6), results["rank_cs"], results["n_votes"]
    (0.15, 0.5, 20)
    >>> metric.compute(predictions=[[0.7, 0.3]], references=[[0.5, 0.5]])
    Traceback (most recent call last):
    ...
    ValueError: Expected whole numbers of votes in `references` for votes='counts', but row 0 has 0.5.
""",
    human_calibration,
    named_classes,
)

_CITATION = """
@inproceedings{baan2022stop,
  title={Stop Measuring Calibration When Humans Disagree},
  author={Baan, Joris and Aziz, Wilker and Plank, Barbara and Fern{\\'a}ndez, Raquel},
  booktitle={Conference on Empirical Methods in Natural Language Processing},
  year={2022}
}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class DistCe(KernelModule, evaluate.Metric):
    # Columns of the two tables are matched by the names of classes.
    CLASS_GROUPS = (("predictions", "references"),)

    def _info(self):
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=[
                # Rows of class scores.
                datasets.Features(
                    {
                        "predictions": datasets.List(datasets.Value("float64")),
                        "references": datasets.List(datasets.Value("float64")),
                    }
                ),
                # P(class 1); the votes have a column for each of the two classes.
                datasets.Features(
                    {
                        "predictions": datasets.Value("float64"),
                        "references": datasets.List(datasets.Value("float64")),
                    }
                ),
            ],
            reference_urls=[
                "https://aclanthology.org/2022.emnlp-main.124",
                "https://arxiv.org/abs/2210.16133",
            ],
        )

    def parse_input(self, name, values):
        if name == "predictions":
            # Batches of class labels would join those of probabilities as floats.
            refuse_class_labels(values)
        return super().parse_input(name, values)

    @kernel_options(human_calibration, named_classes)
    def _compute(self, predictions, references, **options):
        return human_calibration(predictions, references, **options).to_dict()
