"""A smaller copy of an encoder, for experiments of hundreds of trainings on two cores.

It keeps the first layers, and the word pieces of the texts of the experiment. These texts have the
same tokens as with the whole vocabulary, because word pieces are matched longest first. So the layers
that are kept compute the same as in the whole encoder.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

N_RESERVED = 104
"""Number of BERT's special tokens and unused entries, which begin its vocabulary."""


def make_small_encoder(
    encoder: str | os.PathLike[str], folder: Path, texts: Sequence[str] | None, n_layers: int
) -> Path:
    """Write the first layers of a BERT encoder, with the word pieces of some texts, to a folder.

    Args:
        encoder: Folder or hub id of an encoder with BERT's WordPiece vocabulary.
        folder: The folder; if it has an encoder already, nothing is written.
        texts: Texts whose word pieces are kept; None to keep the whole vocabulary.
        n_layers: Number of layers to keep.

    Returns:
        The folder.
    """
    # Imported here, because other steps do not need transformers, which takes long to import.
    import transformers

    if (folder / "config.json").is_file():
        return folder
    tokenizer = transformers.AutoTokenizer.from_pretrained(encoder)
    model = transformers.AutoModel.from_pretrained(encoder)
    model.encoder.layer = model.encoder.layer[:n_layers]
    model.config.num_hidden_layers = n_layers
    selected = None
    if texts is not None:
        selected = _select_pieces(tokenizer, texts)
        _select_embeddings(model, selected)

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save_pretrained(folder)
    if selected is not None:
        _renumber_vocabulary(folder / "tokenizer.json", selected)
    # The model is written last, because config.json marks the folder as complete.
    model.save_pretrained(folder)
    return folder


def _select_pieces(tokenizer: Any, texts: Sequence[str]) -> list[int]:
    """Return the numbers of the special tokens and of the word pieces of some texts, ascending."""
    pieces = set(range(N_RESERVED))
    for token_ids in tokenizer(list(texts))["input_ids"]:
        pieces.update(token_ids)
    return sorted(pieces)


def _select_embeddings(model: Any, selected: Sequence[int]) -> None:
    """Keep only the embeddings of some word pieces of a model, which is changed in place.

    Args:
        model: A BERT encoder.
        selected: Numbers of the word pieces, in the order of the new embeddings.
    """
    import torch

    embeddings = model.embeddings.word_embeddings
    make_embedding: Any = torch.nn.Embedding.from_pretrained
    model.embeddings.word_embeddings = make_embedding(
        embeddings.weight.detach()[selected],
        # By default, `from_pretrained` excludes the embeddings from training.
        freeze=False,
        padding_idx=embeddings.padding_idx,
    )
    model.config.vocab_size = len(selected)


def _renumber_vocabulary(file: Path, selected: Sequence[int]) -> None:
    """Keep only some word pieces of a saved tokenizer, and number them anew from 0.

    Args:
        file: tokenizer.json of a WordPiece tokenizer, which is overwritten.
        selected: Old numbers of the word pieces, ascending. The new number of a word piece is its position
            in this list, as in the embeddings of the model.
    """
    description = json.loads(file.read_text("utf-8"))
    vocabulary = description["model"]["vocab"]
    selected_numbers = set(selected)
    new_vocabulary: dict[str, int] = {}
    for piece, number in sorted(vocabulary.items(), key=lambda entry: entry[1]):
        if number in selected_numbers:
            new_vocabulary[piece] = len(new_vocabulary)
    description["model"]["vocab"] = new_vocabulary
    file.write_text(json.dumps(description, ensure_ascii=False), "utf-8")
