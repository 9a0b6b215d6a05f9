"""Deciding share: how many predictions change when a feature is swapped for another label's?"""

import datasets
import evaluate

from rightreasons.evaluate_module import KernelModule, describe_options, kernel_options
from rightreasons.shortcuts.swaps import deciding_share

_DESCRIPTION = """
Deciding share: the share of all predictions that change when a feature of the text (a word, the
length, the order of two words) is swapped for that of another label, minus the share that a matched
control changes. In [-1, 1]; near 1 for a model that decides by the feature alone, near 0 for one to
which it means no more than the control.
"""

# The docstring of the kernel describes the options; they are added to the inputs.
_KWARGS_DESCRIPTION = describe_options(
    """
Args:
    predictions: (N,) predicted labels of all texts, including those without the feature.
    swapped: (N,) predicted labels with the feature of another label; -1 if a text has nothing to
        swap.
    control: (N,) predicted labels with a matched control changed instead; -1 if a text has none.
    goals: (N,) labels that the new features are associated with, -1 for none. Optional, for the
        follow rate.
    clusters: (N,) names of the clusters that the texts belong to. Optional.
    confidence_level: Level of the intervals; default 0.95.

Returns:
    dict with `deciding_share` in [-1, 1] first, then `interval`, `n_items`, `coverage` (the share
    of texts with something to swap), `rate` (the share of these that changes), `control_rate`,
    `follow_rate` (of the swaps to a label other than the predicted one, the share after which the
    model predicts it) and `follow_interval`.

Raises:
    TypeError: If an input has the wrong type.
    ValueError: If a value is invalid. The message states what was expected, what was given and
        where.

Examples:
    Four texts, three with the feature: two predictions change by its swap, one by the control. 2/4 - 1/4 = 0.25.

    >>> import rightreasons
    >>> share = rightreasons.load("deciding_share")
    >>> results = share.compute(
    ...     predictions=[0, 1, 1, 0], swapped=[1, 0, 1, -1], control=[0, 1, 1, 1], goals=[1, 0, 0, -1]
    ... )
    >>> results["deciding_share"], results["coverage"], round(results["follow_rate"], 3)
    (0.25, 0.75, 0.667)
    >>> share.compute(predictions=[0, 1], swapped=[1, 0], control=[0, 2.5])
    Traceback (most recent call last):
    ...
    ValueError: Expected whole numbers in `control`, but item 1 is 2.5, a float.
""",
    deciding_share,
    without=("goals", "clusters", "n_resamples", "seed"),
)

_CITATION = """
@article{wang2021robustness,
  title={Robustness to Spurious Correlations in Text Classification via Automatically Generated Counterfactuals},
  author={Wang, Zhao and Culotta, Aron},
  journal={Proceedings of the AAAI Conference on Artificial Intelligence},
  year={2021}
}
@inproceedings{joshi2022spurious,
  title={Are All Spurious Features in Natural Language Alike? An Analysis through a Causal Lens},
  author={Joshi, Nitish and Pan, Xiang and He, He},
  booktitle={Proceedings of EMNLP},
  year={2022}
}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class DecidingShare(KernelModule, evaluate.Measurement):
    # Without `goals` there is no follow rate; without `clusters` texts are independent.
    OPTIONAL_INPUTS = ("goals", "clusters")

    def _info(self):
        return evaluate.MeasurementInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {
                    # All four are labels, or -1.
                    "predictions": datasets.Value("int64"),
                    "swapped": datasets.Value("int64"),
                    "control": datasets.Value("int64"),
                    "goals": datasets.Value("int64"),
                    # Texts of one cluster, such as a template, vary together.
                    "clusters": datasets.Value("string"),
                }
            ),
            reference_urls=["https://arxiv.org/abs/2012.10040", "https://arxiv.org/abs/2210.14011"],
        )

    # `goals` and `clusters` are inputs here, and the intervals have closed forms: nothing is drawn.
    @kernel_options(deciding_share, without=("goals", "clusters", "n_resamples", "seed"))
    def _compute(self, predictions, swapped, control, goals, clusters, **options):
        return deciding_share(
            predictions, swapped, control, goals=goals, clusters=clusters, **options
        ).to_dict()
