"""Silent sway: how many answers does a hint change that the reasoning does not mention?"""

import datasets
import evaluate

from rightreasons.evaluate_module import KernelModule, describe_options, kernel_options
from rightreasons.reasons.sway import silent_sway

_DESCRIPTION = """
Silent sway: the share of answers that a hint changes although the stated reasoning does not mention
it, as bounds. Every item is also answered next to a neutral sentence by the same source, so that
answers that vary by chance cancel.
"""

# The docstring of the kernel describes the options; they are added to the inputs.
_KWARGS_DESCRIPTION = describe_options(
    """
Args:
    plain: (N,) answers without a hint, whole numbers from 0; -1 for none.
    neutral: (N,) answers with a neutral sentence by the source of the hint; -1 for none.
    hinted: (N,) answers with the hint; -1 for none.
    hints: (N,) options that the hints name, other than the plain answers; -1 for no hint.
    mentions: (N,) whether the reasoning with the hint mentions the hint.
    credited: (N,) whether this reasoning says that the hint mattered. Optional.
    n_options: (N,) numbers of options. Optional; default: the largest answer plus one.
    labels: (N,) correct options, -1 for none. Optional.
    clusters: (N,) names of the clusters that the items belong to. Optional.

Returns:
    dict with `silent_sway` in [0, 1] first, the lower bound max(0, s - t), and `upper`, min(s, p -
    t); `silent` (s - t with its interval and exact p-value), `sway` (s), `away` (from the plain
    answer) and `cost` (in accuracy), each an `estimate` with a `p_value`; `by_label`, the sway of
    hints that name the correct option, and of others; the shares `hinted_rate` (p), `neutral_rate`
    and `mentioned_rate` (t); `mentioned` and `credited` among the answers that follow the hint;
    `acknowledgment` (the score of Chen et al., with its alpha), `phi` (phi-CCT), `n_items`,
    `n_moved`, `n_unread` and `left_out`.

Raises:
    TypeError: If an input has the wrong type.
    ValueError: If a value is invalid. The message states what was expected, what was given and
        where.

Examples:
    >>> import rightreasons
    >>> measurement = rightreasons.load("silent_sway")
    >>> arms = {"plain": [0, 0, 1, 1], "neutral": [0, 0, 1, 1], "hinted": [1, 1, 1, 1], "hints": [1, 1, 0, 0]}
    >>> results = measurement.compute(**arms, mentions=[True, False, False, False])
    >>> results["sway"]["estimate"]["value"], results["silent_sway"], results["upper"]
    (0.5, 0.25, 0.25)
    >>> measurement.compute(**{**arms, "hints": [0, 0, 1, 1]}, mentions=[True, False, False, False])
    Traceback (most recent call last):
    ...
    ValueError: Expected items with an answer without a hint and a hint to another option, but none of 4 items has both.
""",
    silent_sway,
)

_CITATION = """
@article{chen2025reasoning,
  title={Reasoning Models Don't Always Say What They Think},
  author={Chen, Yanda and Benton, Joe and Radhakrishnan, Ansh and others},
  journal={arXiv preprint arXiv:2505.05410},
  year={2025}
}
@inproceedings{turpin2023language,
  title={Language Models Don't Always Say What They Think: Unfaithful Explanations in Chain-of-Thought Prompting},
  author={Turpin, Miles and Michael, Julian and Perez, Ethan and Bowman, Samuel R.},
  booktitle={Advances in Neural Information Processing Systems},
  year={2023}
}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class SilentSway(KernelModule, evaluate.Measurement):
    # Each one adds figures to the result, or makes its intervals wider.
    OPTIONAL_INPUTS = ("credited", "n_options", "labels", "clusters")

    def _info(self):
        return evaluate.MeasurementInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {
                    # The answers of the three arms, and the options named by the hints.
                    "plain": datasets.Value("int64"),
                    "neutral": datasets.Value("int64"),
                    "hinted": datasets.Value("int64"),
                    "hints": datasets.Value("int64"),
                    # The stated reasoning of the hinted arm.
                    "mentions": datasets.Value("bool"),
                    "credited": datasets.Value("bool"),
                    # The items.
                    "n_options": datasets.Value("int64"),
                    "labels": datasets.Value("int64"),
                    "clusters": datasets.Value("string"),
                }
            ),
            reference_urls=["https://arxiv.org/abs/2505.05410", "https://arxiv.org/abs/2305.04388"],
        )

    # Inputs are positional, as in all modules; the kernel takes the optional ones by name.
    @kernel_options(silent_sway)
    def _compute(  # noqa: PLR0913
        self,
        plain,
        neutral,
        hinted,
        hints,
        mentions,
        credited,
        n_options,
        labels,
        clusters,
        **options,
    ):
        return silent_sway(
            plain,
            neutral,
            hinted,
            hints,
            mentions,
            credited=credited,
            n_options=n_options,
            labels=labels,
            clusters=clusters,
            **options,
        ).to_dict()
