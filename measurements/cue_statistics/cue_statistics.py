"""Cue statistics: does a multiple-choice data set reveal its answers?"""

import datasets
import evaluate

from rightreasons.core.validation import check_choice_lists
from rightreasons.cues.classifier import cue_classifier
from rightreasons.cues.statistics import cue_statistics
from rightreasons.evaluate_module import (
    KernelModule,
    describe_options,
    kernel_options,
    select_options,
)

_DESCRIPTION = """
Applicability, productivity and coverage of superficial cues (words, runs of words, length, overlap,
negation) in the choices of a multiple-choice data set, with exact binomial tests, Holm's correction
and intervals; and the cross-validated accuracy of a classifier that sees only those cues.
"""

# The docstrings of both kernels describe the options; they are added to the inputs.
_KWARGS_DESCRIPTION = describe_options(
    """
Args:
    data: N items, each a list of at least two choices; the number of choices may differ.
    labels: (N,) index of the correct choice of each item.
    prompts: (N,) prompts. Optional; only needed for the feature "overlap".
    groups: (N,) names of groups of items, such as the original of a mirrored pair, which stay in
        one fold. Optional.
    classifier: Whether to cross-validate a cue-only classifier on the same features; default False.

Returns:
    dict with `cues` first: a list, in descending order of applicability, of {cue, applicability,
    productivity, coverage, n_correct, chance, p_value, p_holm, low, high}. Then `n_items`,
    `n_cues`, `n_significant` (cues with a corrected p-value below 1 - confidence_level),
    `min_applicability`, `confidence_level`, and `cue_classifier` {accuracy, low, high, chance,
    n_items, n_groups, n_folds, confidence_level}, or None.

Raises:
    TypeError: If an input has the wrong type.
    ValueError: If a value is invalid. The message states what was expected, what was given and
        where.

Examples:
    >>> import rightreasons
    >>> measurement = rightreasons.load("cue_statistics")
    >>> data = [["The dog ran.", "A dog sat."], ["He was in.", "The man was out."], ["It rained.", "The sun shone."]]
    >>> results = measurement.compute(data=data, labels=[0, 1, 1], top=1)
    >>> [(row["cue"], row["applicability"], row["productivity"], row["coverage"]) for row in results["cues"]]
    [('the', 3, 1.0, 1.0)]
    >>> results["cues"][0]["p_value"], results["n_significant"]
    (0.25, 0)
""",
    cue_statistics,
    cue_classifier,
)

_CITATION = """
@inproceedings{niven2019probing,
  title={Probing Neural Network Comprehension of Natural Language Arguments},
  author={Niven, Timothy and Kao, Hung-Yu},
  booktitle={Annual Meeting of the Association for Computational Linguistics},
  year={2019}
}
@inproceedings{kavumba2019choosing,
  title={When Choosing Plausible Alternatives, Clever Hans can be Clever},
  author={Kavumba, Pride and Inoue, Naoya and Heinzerling, Benjamin and Singh, Keshav and Reisert, Paul
    and Inui, Kentaro},
  booktitle={Proceedings of the First Workshop on Commonsense Inference in Natural Language Processing},
  year={2019}
}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class CueStatistics(KernelModule, evaluate.Measurement):
    # `prompts` are for the feature "overlap", `groups` for the folds of the classifier.
    OPTIONAL_INPUTS = ("prompts", "groups")

    def _info(self):
        return evaluate.MeasurementInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {
                    # Items may have different numbers of choices.
                    "data": datasets.List(datasets.Value("string")),
                    "labels": datasets.Value("int64"),
                    "prompts": datasets.Value("string"),
                    "groups": datasets.Value("string"),
                }
            ),
            reference_urls=["https://arxiv.org/abs/1907.07355", "https://arxiv.org/abs/1911.00225"],
        )

    def parse_input(self, name, values):
        if name == "data":
            # Choices are texts: a number would silently become one in a table of Arrow.
            return check_choice_lists(values, name)
        return super().parse_input(name, values)

    @kernel_options(cue_statistics, cue_classifier)
    def _compute(self, data, labels, prompts=None, groups=None, *, classifier=False, **options):
        # A column of empty texts is what a form or a file has if there are none.
        if prompts is not None and not any(prompts):
            prompts = None
        if groups is not None and not any(groups):
            groups = None
        result = cue_statistics(
            data, labels, prompts=prompts, **select_options(cue_statistics, options)
        ).to_dict()
        result["cue_classifier"] = None
        if classifier:
            accuracy = cue_classifier(
                data,
                labels,
                prompts=prompts,
                groups=groups,
                **select_options(cue_classifier, options),
            ).to_dict()
            # One value per item, of use to the report alone.
            del accuracy["credits"]
            result["cue_classifier"] = accuracy
        return result
