"""Shortcut reliance: how many predictions rely on tokens that reveal the predicted label?"""

import datasets
import evaluate

from rightreasons.evaluate_module import KernelModule, describe_options, kernel_options
from rightreasons.shortcuts.reliance import shortcut_reliance

_DESCRIPTION = """
Shortcut reliance (P_sc): the fraction of predictions with one of their most attributed tokens in
the head of the LMI ranking of the predicted label. Split into lexicon- and grammar-cued
predictions, into correct and incorrect ones and by confidence, with two null models, because
frequent words fill the heads and every text contains many of them.
"""

# The docstring of the kernel describes the options; they are added to the inputs.
_KWARGS_DESCRIPTION = describe_options(
    """
Args:
    tokens: N lists of tokens, without special tokens; the same kind of tokens as in `heads`.
    attributions: N lists of attributions, one per token. A larger attribution means that the
        prediction relies more on the token.
    predictions: (N,) predicted labels.
    references: (N,) labels. Optional.
    confidences: (N,) probabilities of the predicted labels, in [0, 1]. Optional.
    heads: For each label the tokens of its head, such as `heads` of the measurement `lmi`.
        Required, at load or at compute.
    per_example: Whether to return the shortcuts of each prediction; default True.

Returns:
    dict with `shortcut_reliance` in [0, 1] first, its `interval`, `n_items`, `n_cued`,
    `lexicon_cued` and `grammar_cued`, `null` with the models "random" and "frequency" (each with
    `rate`, `excess`, `interval` and `p_value`), `correct` and `wrong` (each with `rate`, `interval`
    and `joint`), `bins`, `examples` and the `definition` in words.

Raises:
    TypeError: If an input has the wrong type.
    ValueError: If a value is invalid. The message states what was expected, what was given and
        where.

Examples:
    >>> import rightreasons
    >>> reliance = rightreasons.load("shortcut_reliance", top_n=1)
    >>> tokens = [["the", "good", "film"], ["a", "bad", "film"], ["the", "film", "fails"]]
    >>> attributions = [[0.1, 0.7, 0.2], [0.1, 0.6, 0.3], [0.5, 0.2, 0.9]]
    >>> heads = {0: ["bad", "the"], 1: ["good"]}
    >>> results = reliance.compute(tokens=tokens, attributions=attributions, predictions=[1, 0, 0], heads=heads)
    >>> round(results["shortcut_reliance"], 4), round(results["null"]["random"]["rate"], 4)
    (0.6667, 0.3333)
    >>> [example["tokens"] for example in results["examples"]]
    [['good'], ['bad'], []]
    >>> reliance.compute(tokens=tokens, attributions=attributions, predictions=[1, 0, 2], heads=heads)
    Traceback (most recent call last):
    ...
    ValueError: Expected a head for each predicted label, but the prediction of item 2 is 2; labels with a head: 0, 1.
""",
    shortcut_reliance,
)

_CITATION = """
@inproceedings{bihani2025reliability,
  title={The Reliability Paradox: Exploring How Shortcut Learning Undermines Language Model Calibration},
  author={Bihani, Geetanjali and Rayz, Julia},
  booktitle={Hawaii International Conference on System Sciences},
  year={2025}
}
@inproceedings{du2021towards,
  title={Towards Interpreting and Mitigating Shortcut Learning Behavior of NLU Models},
  author={Du, Mengnan and Manjunatha, Varun and Jain, Rajiv and Deshpande, Ruchi and Dernoncourt, Franck
    and Gu, Jiuxiang and Sun, Tong and Hu, Xia},
  booktitle={North American Chapter of the Association for Computational Linguistics},
  year={2021}
}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class ShortcutReliance(KernelModule, evaluate.Measurement):
    # Without them there is no split into correct and incorrect predictions, or by confidence.
    OPTIONAL_INPUTS = ("references", "confidences")

    def _info(self):
        return evaluate.MeasurementInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {
                    # A list per text; texts have different numbers of tokens.
                    "tokens": datasets.List(datasets.Value("string")),
                    "attributions": datasets.List(datasets.Value("float64")),
                    # A value per text.
                    "predictions": datasets.Value("int64"),
                    "references": datasets.Value("int64"),
                    "confidences": datasets.Value("float64"),
                }
            ),
            reference_urls=["https://arxiv.org/abs/2412.15269", "https://arxiv.org/abs/2103.06922"],
        )

    @kernel_options(shortcut_reliance)
    def _compute(
        self,
        tokens,
        attributions,
        predictions,
        references,
        confidences,
        *,
        heads=None,
        per_example=True,
        **options,
    ):
        # An option cannot be a required parameter, as it may be given at load.
        if heads is None:
            raise ValueError(
                f"Expected `heads` in {self.name}, at load or at compute, but there are none."
            )
        result = shortcut_reliance(
            tokens,
            attributions,
            predictions,
            heads,
            references=references,
            confidences=confidences,
            **options,
        ).to_dict()
        # The examples are as long as the data, everything else is short.
        if not per_example:
            del result["examples"]
        return result
