"""Generalization score: does training on behavioral tests transfer to unseen functionalities?"""

import datasets
import evaluate

from rightreasons.behavior.generalization import generalization_score
from rightreasons.core.validation import require_value
from rightreasons.evaluate_module import KernelModule

_DESCRIPTION = """
Generalization score (G): the harmonic mean of a model's score on independent data and its score on
a behavioral suite, where each functionality is scored with a model that was trained on the whole
suite (seen), or on the suite without that functionality, its class, or its test type. In [0, 1],
higher is better.
"""

# The only option is not one of the kernel, so everything is described here.
_KWARGS_DESCRIPTION = """
Args:
    standard: (F,) pass rates of the functionalities, for a model that saw none of the suite. At
        least one of the five columns is required.
    seen: (F,) pass rates for a model trained on the whole suite.
    held_out_functionality: (F,) pass rates, each for a model trained without that functionality.
    held_out_class: (F,) pass rates, each for a model trained without the class of that
        functionality.
    held_out_type: (F,) pass rates, each for a model trained without the test type of that
        functionality.
    iid_score: Score on independent data, such as accuracy, in [0, 1]. Required, at load or at
        compute.

Returns:
    dict with `generalization_score` first (mean of the G scores other than the standard one), then
    `scores`, `suite_scores` and `n_functionalities` by setting ("standard", "seen",
    "functionality", "class", "type").

Examples:
    >>> import rightreasons
    >>> metric = rightreasons.load("generalization_score", iid_score=0.9)
    >>> results = metric.compute(seen=[0.5, 0.7], held_out_class=[0.3, 0.3])
    >>> round(results["scores"]["seen"], 6), round(results["scores"]["class"], 6)
    (0.72, 0.45)
    >>> round(results["generalization_score"], 6)
    0.585
"""

_CITATION = """
@article{luzdearaujo2023cross,
  title={Cross-functional Analysis of Generalization in Behavioral Learning},
  author={Luz de Araujo, Pedro Henrique and Roth, Benjamin},
  journal={Transactions of the Association for Computational Linguistics},
  volume={11},
  year={2023},
  doi={10.1162/tacl_a_00590}
}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class GeneralizationScore(KernelModule, evaluate.Metric):
    # Any of the five settings is enough; `compute` without all of them is refused.
    OPTIONAL_INPUTS = (
        "standard",
        "seen",
        "held_out_functionality",
        "held_out_class",
        "held_out_type",
    )

    def _info(self):
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                # All columns are pass rates.
                dict.fromkeys(self.OPTIONAL_INPUTS, datasets.Value("float64"))
            ),
            reference_urls=["https://doi.org/10.1162/tacl_a_00590"],
        )

    # An option cannot be a required parameter, as it may be given at load.
    def _compute(
        self,
        standard,
        seen,
        held_out_functionality,
        held_out_class,
        held_out_type,
        *,
        iid_score=None,
    ):
        columns = {
            "standard": standard,
            "seen": seen,
            "functionality": held_out_functionality,
            "class": held_out_class,
            "type": held_out_type,
        }
        # The kernel scores the settings that were measured.
        pass_rates = {}
        for setting, rates in columns.items():
            if rates is not None:
                pass_rates[setting] = rates
        iid = require_value(iid_score, "iid_score", "a score on independent data, in [0, 1]")
        return generalization_score(pass_rates, iid).to_dict()
