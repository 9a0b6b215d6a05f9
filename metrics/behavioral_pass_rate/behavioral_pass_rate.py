"""Behavioral pass rate: how many test cases of a suite does a model pass?"""

import os

import datasets
import evaluate

import rightreasons
from rightreasons.behavior.rates import pass_rates
from rightreasons.core.labels.matching import MatchTerms, match_labels
from rightreasons.core.validation import require_value
from rightreasons.evaluate_module import (
    ClassNames,
    KernelModule,
    describe_options,
    kernel_options,
)

_DESCRIPTION = """
Behavioral pass rate: the share of test cases that a model passes, for every functionality of a
suite, and the unweighted mean over functionalities. In [0, 1], higher is better.
"""

# The docstring of the kernel describes the options; they are added to the inputs.
_KWARGS_DESCRIPTION = describe_options(
    """
Args:
    predictions: One answer for each example of the suite, in its order: rows of class scores, class
        labels, P(positive), or (outputs="texts") the texts of answers or the names of labels.
    suite: A `rightreasons.datasets.suites.suite.Suite`, the path of a suite file (JSON lines), or a
        name such as checklist_sentiment. Required, at load or at compute.
    known_issues: None (default) corrects the known issues of a suite that is named, False opens it
        as released, and a file adds your own table. A `Suite` stays as it is.
    data_dir: Folder of local copies of known data sets. None (default) to download them.

Returns:
    dict with `behavioral_pass_rate` first (mean over functionalities), then its `interval`,
    `functionalities` (one result each: pass rate, cases, filtered cases, Wilson interval), means by
    `classes` and `test_types`, the numbers of examples and cases, `passed`, one entry per case
    (None if the expectation does not apply), and `n_repeated`, the number of cases that repeat the
    text of another one. Intervals count every text once.

Examples:
    >>> import rightreasons
    >>> from rightreasons.datasets.suites.suite import Case, Functionality
    >>> from rightreasons.datasets.suites.suite import Suite
    >>> cases = (Case("0", (("Not good.",),), (0,)), Case("1", (("Not bad.",),), (1,)))
    >>> negation = Functionality("negation", "Negation", "MFT", {"name": "equal"}, cases)
    >>> metric = rightreasons.load("behavioral_pass_rate", suite=Suite("mine", ("text",), (negation,)))
    >>> results = metric.compute(predictions=[[0.8, 0.2], [0.9, 0.1]])
    >>> results["behavioral_pass_rate"], results["passed"]
    (0.5, [True, False])
    >>> metric.compute(predictions=[[0.8, 0.2]])
    Traceback (most recent call last):
    ...
    ValueError: Expected one prediction for each of the 2 examples of the suite, in its order, but got 1.
""",
    pass_rates,
)

_CITATION = """
@inproceedings{ribeiro2020beyond,
  title={Beyond Accuracy: Behavioral Testing of NLP Models with CheckList},
  author={Ribeiro, Marco Tulio and Wu, Tongshuang and Guestrin, Carlos and Singh, Sameer},
  booktitle={Proceedings of ACL},
  year={2020}
}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class BehavioralPassRate(KernelModule, evaluate.Metric):
    # Columns of a table of predictions are matched by the names of the suite's labels.
    CLASS_GROUPS = (("predictions",),)

    def _info(self):
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=[
                # Rows of class scores.
                datasets.Features({"predictions": datasets.List(datasets.Value("float64"))}),
                # Class labels, or P(positive).
                datasets.Features({"predictions": datasets.Value("float64")}),
                # Texts of answers, or names of labels.
                datasets.Features({"predictions": datasets.Value("string")}),
            ],
            reference_urls=["https://aclanthology.org/2020.acl-main.442"],
        )

    @kernel_options(pass_rates)
    def _compute(self, predictions, *, suite=None, known_issues=None, data_dir=None, **options):
        opened = _open(suite, known_issues, data_dir)
        return pass_rates(predictions, opened.table(), **options).to_dict()

    def read_class_names(self, options, input_names):
        if input_names is None or options.get("suite") is None:
            return None
        suite = _open(options["suite"], options.get("known_issues"), options.get("data_dir"))
        names = suite.label_names
        if names is None:
            return None
        if options.get("outputs") == "binary_sentiment":
            # The model has no column for the label in the middle, "neutral".
            names = names[::2]

        # Columns that are none of the suite's labels come last, where the kernel refuses them.
        terms = MatchTerms(f"the suite {suite.name!r}", "the columns of `predictions`")
        matched = match_labels(names, input_names.names, terms=terms).class_of
        ordered = list(names)
        for position, name in enumerate(input_names.names):
            if position not in matched:
                ordered.append(name)
        return ClassNames(tuple(ordered), terms.source)


def _open(suite, known_issues, data_dir):
    suite = require_value(
        suite, "suite", "a Suite, the path of a suite file or the name of a known one"
    )
    if isinstance(suite, (str, os.PathLike)):
        # Only a suite that is given by name or path needs the code that reads and downloads suites.
        return rightreasons.datasets.open_suite(suite, known_issues=known_issues, data_dir=data_dir)
    if not hasattr(suite, "table"):
        raise TypeError(
            f"Expected `suite` to be a Suite, a path or a name, but got {type(suite).__name__}."
        )
    return suite
