"""Causal shortcut rate: how many predictions change when their cue is taken away, and how many without another word?"""

import datasets
import evaluate
import numpy as np

from rightreasons.evaluate_module import KernelModule, describe_options, kernel_options
from rightreasons.shortcuts.causal import causal_shortcuts

_DESCRIPTION = """
Causal shortcut rate: the share of predictions that change when their cue is taken out of the text, beside the same done
to a control word of the same text. In [0, 1]; the difference to the control says whether the cues decide.
"""

_KWARGS_DESCRIPTION = describe_options(
    """
Args:
    probabilities: (N, K) predicted probabilities of N texts that hold a cue of their predicted label.
    without_cue: (N, K) probabilities of the same texts without their cue.
    without_control: (N, K) probabilities of the same texts without a control word.
    cues: N names, the cue of each text.
    removals: N names of how the words are taken away, such as "delete", "mask" and "swap"; optional. With several
        removals, the rows of each hold the same texts in the same order.
    confidence_level: Level of the intervals; default 0.95.
    n_resamples: Number of sign flips of the p-values; default 1000.

Returns:
    dict with `causal_shortcut_rate` in [0, 1] first, then `removal` (the effect over all removals: `n_items`, `rate`,
    `interval`, `control_rate`, `control_interval`, `excess`, `excess_interval`, `p_value`, `confidence` and
    `confidence_interval`), `removals` (the effect of each removal), `insertion` (None), `cues` (the effect of each
    cue), `conclusion` ("cues decide", "cues do not decide" or "cannot tell") and `reason`, one sentence.

Raises:
    TypeError: For the wrong kind of input. ValueError: For a wrong value. The message is one sentence: what was
    expected, what was given and where.

Examples:
    >>> import rightreasons
    >>> rate = rightreasons.load("causal_shortcut_rate")
    >>> results = rate.compute(
    ...     probabilities=[[0.9, 0.1]] * 4,
    ...     without_cue=[[0.2, 0.8]] * 3 + [[0.7, 0.3]],
    ...     without_control=[[0.4, 0.6]] + [[0.9, 0.1]] * 3,
    ...     cues=["copper", "copper", "marble", "marble"],
    ... )
    >>> results["causal_shortcut_rate"], results["removal"]["control_rate"], results["conclusion"]
    (0.75, 0.25, 'cannot tell')
    >>> rate.compute(
    ...     probabilities=[[0.9, 0.1]] * 3,
    ...     without_cue=[[0.2, 0.8]] * 3,
    ...     without_control=[[0.9, 0.1]] * 3,
    ...     cues=["copper"] * 3,
    ...     removals=["delete", "delete", "mask"],
    ... )
    Traceback (most recent call last):
    ...
    ValueError: Expected the same texts in each of `removals`, but delete has 2 rows and mask has 1.
""",
    causal_shortcuts,
    without=("inserted", "control_removals"),
)

_CITATION = """
@inproceedings{garg2019counterfactual,
  title={Counterfactual Fairness in Text Classification through Robustness},
  author={Garg, Sahaj and Perot, Vincent and Limtiaco, Nicole and Taly, Ankur and Chi, Ed H. and Beutel, Alex},
  booktitle={AAAI/ACM Conference on AI, Ethics, and Society},
  year={2019}
}
@inproceedings{bihani2025reliability,
  title={The Reliability Paradox: Exploring How Shortcut Learning Undermines Language Model Calibration},
  author={Bihani, Geetanjali and Rayz, Julia},
  booktitle={Hawaii International Conference on System Sciences},
  year={2025}
}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class CausalShortcutRate(KernelModule, evaluate.Measurement):
    OPTIONAL_INPUTS = ("removals",)
    CLASSES = (("probabilities", "without_cue", "without_control"),)

    def _info(self):
        return evaluate.MeasurementInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {
                    "probabilities": datasets.List(datasets.Value("float64")),
                    "without_cue": datasets.List(datasets.Value("float64")),
                    "without_control": datasets.List(datasets.Value("float64")),
                    "cues": datasets.Value("string"),
                    "removals": datasets.Value("string"),
                }
            ),
            reference_urls=["https://arxiv.org/abs/1809.10610"],
        )

    @kernel_options(causal_shortcuts, without=("inserted", "control_removals"))
    def _compute(self, probabilities, without_cue, without_control, cues, removals, **options):
        rows = _rows_of(["removal"] * len(cues) if removals is None else removals)
        before, names = ({name: _take(column, rows[name]) for name in rows} for column in (probabilities, cues))
        first = next(iter(rows))
        for name in rows:
            _check_same(before[first], before[name], names[first], names[name], first, name)
        return causal_shortcuts(
            before[first],
            {name: _take(without_cue, rows[name]) for name in rows},
            {name: _take(without_control, rows[name]) for name in rows},
            names[first],
            **options,
        ).to_dict()


def _rows_of(removals):
    """Return the rows of each removal, in the order of the first row of each."""
    rows = {}
    for row, name in enumerate(removals):
        rows.setdefault(name, []).append(row)
    first = next(iter(rows))
    other = next((name for name in rows if len(rows[name]) != len(rows[first])), None)
    if other is not None:
        raise ValueError(
            f"Expected the same texts in each of `removals`, but {first} has {len(rows[first])} rows and {other} has "
            f"{len(rows[other])}."
        )
    return rows


def _take(column, rows):
    return column[rows] if isinstance(column, np.ndarray) else [column[row] for row in rows]


def _check_same(probabilities, others, cues, other_cues, first, name):
    """Check that two removals hold the same texts: of the same cue and the same prediction before."""
    for item, pair in enumerate(zip(cues, other_cues, probabilities, others, strict=True)):
        if pair[0] != pair[1] or list(pair[2]) != list(pair[3]):
            raise ValueError(
                f"Expected the same texts in the same order in each of `removals`, but text {item} of {first} and of "
                f"{name} differ in `{'cues' if pair[0] != pair[1] else 'probabilities'}`."
            )
