"""A smaller copy of the packaged encoder, for an experiment of a thousand trainings.

It keeps the first layers and the word pieces that the experiment's texts are made of. Word pieces are matched longest
first, so a text is cut as before: the tokens and what the kept layers compute are those of the whole encoder.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import torch
import transformers

from rightreasons.models.scorers import demo_encoder

N_RESERVED = 104  # BERT's special tokens and unused places


def small_encoder(folder: Path, texts: Sequence[str], n_layers: int) -> Path:
    """Write the encoder's first layers, with the word pieces of some texts, to a folder, if they are not there."""
    if (folder / "config.json").is_file():
        return folder
    tokenizer = transformers.AutoTokenizer.from_pretrained(demo_encoder())
    model = transformers.AutoModel.from_pretrained(demo_encoder())
    used = {piece for row in tokenizer(list(texts))["input_ids"] for piece in row}
    kept = sorted({*range(N_RESERVED), *used})
    embeddings = model.embeddings.word_embeddings
    model.embeddings.word_embeddings = torch.nn.Embedding.from_pretrained(
        embeddings.weight.detach()[kept], freeze=False, padding_idx=embeddings.padding_idx
    )
    model.encoder.layer = model.encoder.layer[:n_layers]
    model.config.vocab_size, model.config.num_hidden_layers = len(kept), n_layers
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save_pretrained(folder)
    file = folder / "tokenizer.json"
    description = json.loads(file.read_text("utf-8"))
    pieces = {number: piece for piece, number in description["model"]["vocab"].items()}
    description["model"]["vocab"] = {pieces[old]: new for new, old in enumerate(kept)}
    file.write_text(json.dumps(description, ensure_ascii=False), "utf-8")
    model.save_pretrained(folder)
    return folder
