"""Local mutual information: which tokens of a labeled data set are associated with which label?"""

import datasets
import evaluate

from rightreasons.core.validation import check_token_lists
from rightreasons.evaluate_module import (
    KernelModule,
    describe_options,
    kernel_options,
    select_options,
)
from rightreasons.shortcuts.mutual_information import lmi

_DESCRIPTION = """
Local mutual information (LMI) of tokens and labels, LMI(w, l) = p(w, l) * log(p(l | w) / p(l)): per
label the ranked tokens, with smoothed PMI, counts, p(l | w), the z of the competency problem with
its p-value, and the head of the ranking.
"""

# The docstring of the kernel describes the options; they are added to the inputs.
_KWARGS_DESCRIPTION = describe_options(
    """
Args:
    data: N texts, or N lists of tokens (with `tokenizer="none"`).
    labels: (N,) labels, whole numbers from 0 or names in `label_names`, at least two different ones.
    top_k: Number of ranked tokens returned per label, None for all; default 100. Heads are always
        complete.
    label_names: Names of the labels 0, 1, …; default: the numbers.

Returns:
    dict with `lmi`: for each label (by name) the ranked tokens, each with `token`, `lmi`, `pmi`,
    `count`, `total`, `p_label`, `z` and `p_value`; `heads`: for each label (by number) the tokens
    of its head, as `shortcut_reliance` takes them; `labels`: for each label its number, name,
    prior, number of tokens and head size; `n_documents`, `n_tokens`, `vocabulary_size` and the
    `definition` in words.

Raises:
    TypeError: If an input has the wrong type.
    ValueError: If a value is invalid. The message states what was expected, what was given and
        where.

Examples:
    >>> import rightreasons
    >>> lmi = rightreasons.load("lmi")
    >>> texts = ["good movie", "good good plot", "bad movie", "bad plot"]
    >>> results = lmi.compute(data=texts, labels=[0, 0, 1, 1], label_names=["positive", "negative"])
    >>> [(row["token"], round(row["lmi"], 6)) for row in results["lmi"]["positive"]]
    [('good', 0.195929), ('movie', -0.011707), ('plot', -0.011707)]
    >>> results["heads"]
    {'0': ['good'], '1': ['bad']}
    >>> lmi.compute(data=texts, labels=[0, 0, 1])
    Traceback (most recent call last):
    ...
    ValueError: Expected `data` and `labels` of one length, but got 4 and 3.
""",
    lmi,
)

_CITATION = """
@inproceedings{schuster2019towards,
  title={Towards Debiasing Fact Verification Models},
  author={Schuster, Tal and Shah, Darsh J and Yeo, Yun Jie Serene and Filizzola, Daniel and Santus, Enrico
    and Barzilay, Regina},
  booktitle={Empirical Methods in Natural Language Processing},
  year={2019}
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
class Lmi(KernelModule, evaluate.Measurement):
    CLASS_GROUPS = (("labels",),)

    def _info(self):
        return evaluate.MeasurementInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=[
                # Texts.
                datasets.Features(
                    {
                        "data": datasets.Value("string"),
                        "labels": datasets.Value("int64"),
                    }
                ),
                # Lists of tokens.
                datasets.Features(
                    {
                        "data": datasets.List(datasets.Value("string")),
                        "labels": datasets.Value("int64"),
                    }
                ),
            ],
            reference_urls=["https://arxiv.org/abs/1908.05267", "https://arxiv.org/abs/2103.06922"],
        )

    def parse_input(self, name, values):
        if name == "data" and isinstance(values[0], list):
            # A text may have no tokens.
            return check_token_lists(values, name, allow_empty=True)
        return super().parse_input(name, values)

    @kernel_options(lmi)
    def _compute(self, data, labels, *, top_k=100, label_names=None, **options):
        # `top_k` and `label_names` change what is shown, not what is computed.
        result = lmi(data, labels, **select_options(lmi, options))
        names = result.name_labels(label_names)
        rankings = {}
        heads = {}
        labels_found = []
        for table in result.by_label:
            rankings[names[table.label]] = table.rows(top_k)
            # JSON has no keys that are numbers.
            heads[str(table.label)] = list(table.head)
            labels_found.append(
                {
                    "label": table.label,
                    "name": names[table.label],
                    "prior": table.prior,
                    "n_tokens": len(table.tokens),
                    "head_size": table.head_size,
                    # A preview for tables, as heads have hundreds of tokens.
                    "first_of_head": ", ".join(table.head[:5]),
                }
            )
        return {
            "lmi": rankings,
            "heads": heads,
            "labels": labels_found,
            "n_documents": result.n_documents,
            "n_tokens": result.n_tokens,
            "vocabulary_size": result.vocabulary_size,
            "definition": result.definition,
        }
