"""Cue statistics: does a multiple-choice data set give its answers away?"""

import datasets
import evaluate

from rightreasons.core.validation import check_choice_lists
from rightreasons.cues.classifier import cue_classifier
from rightreasons.cues.statistics import cue_statistics
from rightreasons.evaluate_module import KernelModule, describe_options, kernel_options, options_for

_DESCRIPTION = """
Applicability, productivity and coverage of superficial cues (words, runs of words, length, overlap, negation) in the
choices of a multiple-choice data set, with exact binomial tests, Holm's correction and intervals; and the
cross-validated accuracy of a classifier that sees those cues and nothing else.
"""

_KWARGS_DESCRIPTION = describe_options(
    """
Args:
    data: N items, each a list of at least two choices; the number of choices may differ.
    labels: (N,) the index of the right choice of each item.
    prompts: N prompts; needed for the feature "overlap" only.
    groups: N group names, such as the original of a mirrored pair; items of one group stay in one fold.
    classifier: Whether to cross-validate a cue-only classifier on the same features; default False.

Returns:
    dict with `cues` first: a list, in descending order of applicability, of {cue, applicability, productivity,
    coverage, n_correct, chance, p_value, p_holm, low, high}. Then `n_items`, `n_cues`, `n_significant` (cues with a
    corrected p-value below 1 - confidence_level), `min_applicability`, `confidence_level`, and `cue_classifier`
    {accuracy, low, high, chance, n_items, n_groups, n_folds, confidence_level}, or None.

Raises:
    TypeError: For the wrong kind of input. ValueError: For a wrong value. The message is one sentence: what was
    expected, what was given and where.

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
    OPTIONAL_INPUTS = ("prompts", "groups")

    def _info(self):
        return evaluate.MeasurementInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {
                    "data": datasets.List(datasets.Value("string")),
                    "labels": datasets.Value("int64"),
                    "prompts": datasets.Value("string"),
                    "groups": datasets.Value("string"),
                }
            ),
            reference_urls=["https://arxiv.org/abs/1907.07355", "https://arxiv.org/abs/1911.00225"],
        )

    def _checked(self, inputs):
        # Arrow would silently write the number 3 as the text "3".
        return {
            **super()._checked({**inputs, "data": None}),
            "data": check_choice_lists(inputs["data"], "data"),
        }

    @kernel_options(cue_statistics, cue_classifier)
    def _compute(self, data, labels, prompts=None, groups=None, *, classifier=False, **options):
        prompts, groups = (
            column if column is not None and any(column) else None for column in (prompts, groups)
        )
        statistics = cue_statistics(
            data, labels, prompts=prompts, **options_for(cue_statistics, options)
        )
        accuracy = None
        if classifier:
            accuracy = cue_classifier(
                data, labels, prompts=prompts, groups=groups, **options_for(cue_classifier, options)
            ).to_dict()
            del accuracy["credits"]
        return {**statistics.to_dict(), "cue_classifier": accuracy}
