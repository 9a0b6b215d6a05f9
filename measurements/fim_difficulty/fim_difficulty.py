"""Difficulty by Fisher information: which predictions of a classifier are fragile?"""

import os

import datasets
import evaluate

from rightreasons.evaluate_module import KernelModule

_DESCRIPTION = """
Difficulty of texts for a classifier: the largest eigenvalue of the Fisher information of its
prediction with respect to the word embeddings, G = sum_y p(y|x) grad log p(y|x) grad log p(y|x)^T
(Datta et al. 2020). A step of length e along the eigenvector changes the prediction by about e^2/2
times it in KL divergence: large values are fragile predictions.
"""

# The kernel takes a loaded model, so the options are described here.
_KWARGS_DESCRIPTION = """
Args:
    data: N texts. A text that cannot be computed (no tokens, or logits that are not finite) gets
        None and a sentence in `failures`; the other texts keep their values.
    model: A sequence classifier of transformers: a folder, a hub id, or a loaded model (then with
        `tokenizer`). Required, at load or at compute.
    tokenizer: The tokenizer of a loaded model; default None: the one saved with the model.
    method: "auto" (default), "gram" (exact) or "power" (iteration, for very many classes; its error
        is stated).
    batch_size: Maximum number of texts per batch; default 32.
    max_length: Maximum number of tokens per text; default None: the limit of the model.
    device: Where to load a model that is given by name; default None: a GPU if there is one.
    progress: Whether to show a progress bar; default False.

Returns:
    dict with `fim_difficulty`: N eigenvalues, at least 0 (None if it failed), larger is more
    difficult; `mean`, `std`, `median`, `min` and `max` of those computed; `scale_free`: the same
    times the squared mean norm of the embeddings, to compare models; `predictions`, `confidences`:
    N values each; `error`: N bounds on the error of power iteration, 0 for "gram"; `failures`: row
    and sentence of each text that failed; `n_truncated`; `label_names`; and the `definition` in
    words.

Raises:
    TypeError: If an input has the wrong type.
    ValueError: If a value is invalid. The message states what was expected, what was given and
        where.

Examples:
    >>> import rightreasons
    >>> from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast, set_seed
    >>> set_seed(0)
    >>> texts = ["a good film", "a very bad film", "good, very good"]
    >>> words = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "good", "very", "bad", "film", ",")
    >>> tokenizer = BertTokenizerFast(vocab={word: row for row, word in enumerate(words)})
    >>> shape = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    >>> config = BertConfig(vocab_size=11, initializer_range=0.5, **shape)
    >>> model = BertForSequenceClassification(config)
    >>> difficulty = rightreasons.load("fim_difficulty", model=model, tokenizer=tokenizer)
    >>> results = difficulty.compute(data=[*texts, ""])
    >>> len(results["fim_difficulty"]), results["fim_difficulty"][3], results["failures"][0]["row"]
    (4, None, 3)
    >>> results["mean"] > 0
    True
    >>> difficulty.compute(data=texts, model=None)
    Traceback (most recent call last):
    ...
    ValueError: Expected `model` in fim_difficulty, at load or at compute, but there is none.
"""

_CITATION = """
@article{datta2020geometry,
  title={Geometry matters: Exploring language examples at the decision boundary},
  author={Datta, Debajyoti and Kumar, Shashwat and Barnes, Laura and Fletcher, Tom},
  journal={arXiv preprint arXiv:2010.07212},
  year={2020}
}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class FimDifficulty(KernelModule, evaluate.Measurement):
    def _info(self):
        return evaluate.MeasurementInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                # A text may be empty; it is then listed among the failures.
                {"data": datasets.Value("string")}
            ),
            reference_urls=["https://arxiv.org/abs/2010.07212"],
        )

    def _compute(  # noqa: PLR0913
        self,
        data,
        *,
        model=None,
        tokenizer=None,
        method="auto",
        batch_size=32,
        max_length=None,
        device=None,
        progress=False,
    ):
        # An option cannot be a required parameter, as it may be given at load.
        if model is None:
            raise ValueError(
                f"Expected `model` in {self.name}, at load or at compute, but there is none."
            )
        # Imported here, so that the module can be listed and described without torch.
        from rightreasons.core.extras import require_package

        require_package("torch")
        from rightreasons.difficulty import measure_difficulty
        from rightreasons.models.loading import load_classifier
        from rightreasons.models.scorers import as_scorer

        if isinstance(model, (str, os.PathLike)):
            # A saved model comes with its tokenizer, which another one would not match.
            if tokenizer is not None:
                raise TypeError(
                    "Expected no `tokenizer` for a model that is opened by name, "
                    f"but {model!r} has its own."
                )
            classifier = load_classifier(model, device=device)
        else:
            classifier = as_scorer(model, tokenizer=tokenizer)

        # Texts that cannot be computed are listed in the result; they raise no error.
        return measure_difficulty(
            classifier,
            data,
            method=method,
            batch_size=batch_size,
            max_length=max_length,
            progress=progress,
        ).to_dict()
