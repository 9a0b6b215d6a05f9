"""Deciding share: how many of all predictions change when a feature is swapped for that of another label?"""

import datasets
import evaluate

from rightreasons.evaluate_module import KernelModule, describe_options, kernel_options
from rightreasons.shortcuts.swaps import deciding_share

_DESCRIPTION = """
Deciding share: the share of all predictions that change when a feature of the text (a word, the length, the order of
two words) is swapped for that of another label, minus the share that a matched control changes. In [-1, 1]; near 1 for
a model that decides by the feature alone, near 0 for one to which it means no more than the control.
"""

_KWARGS_DESCRIPTION = describe_options(
    """
Args:
    predictions: (N,) predicted labels of all texts, those without the feature included.
    swapped: (N,) predicted labels with the feature of another label; -1 where there is none to swap.
    control: (N,) predicted labels with something else changed likewise; -1 where there is nothing.
    goals: (N,) labels that the new features point at, -1 for none; optional, for the follow rate.
    clusters: N names of what the texts belong to; optional.
    confidence_level: Level of the intervals; default 0.95.

Returns:
    dict with `deciding_share` in [-1, 1] first, then `interval`, `n_items`, `coverage` (the share of texts with
    something to swap), `rate` (of these, the share that changes), `control_rate`, `follow_rate` (of the swaps that
    point at another label than the predicted one, the share whose prediction becomes that label) and
    `follow_interval`.

Raises:
    TypeError: For the wrong kind of input. ValueError: For a wrong value. The message is one sentence: what was
    expected, what was given and where.

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
    OPTIONAL_INPUTS = ("goals", "clusters")

    def _info(self):
        label = datasets.Value("int64")
        return evaluate.MeasurementInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {
                    "predictions": label,
                    "swapped": label,
                    "control": label,
                    "goals": label,
                    "clusters": datasets.Value("string"),
                }
            ),
            reference_urls=["https://arxiv.org/abs/2012.10040", "https://arxiv.org/abs/2210.14011"],
        )

    @kernel_options(deciding_share, without=("goals", "clusters", "n_resamples", "seed"))
    def _compute(self, predictions, swapped, control, goals, clusters, **options):
        return deciding_share(
            predictions, swapped, control, goals=goals, clusters=clusters, **options
        ).to_dict()
