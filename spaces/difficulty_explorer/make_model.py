"""Makes the bundled network: trained on generated reviews, with reviews that it has not seen.

    python spaces/difficulty_explorer/make_model.py

takes about a minute.
"""

import json
import re
import shutil
import tempfile
from pathlib import Path

import torch
from difficulty_model import BUNDLED, TEXTS
from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

from rightreasons.datasets.builder import load_dataset
from rightreasons.training.finetune import fine_tune

TRAIN, TEST = 4000, 40
SHOWN = 14
"""Initial reviews of the page."""


def main() -> None:
    """Train the network, and keep it with the reviews."""
    # No cue is planted: the model should read the reviews.
    data = load_dataset(
        "planted_shortcuts",
        coverage=0.0,
        label_noise=0.0,
        train_size=TRAIN,
        validation_size=10,
        test_size=TEST,
    )
    texts = data["train"]["text"][:]
    BUNDLED.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        # The vocabulary is the training texts': the network is small enough to bundle.
        words = sorted(
            {word for text in texts for word in re.findall(r"\w+|[^\w\s]", text.lower())}
        )
        vocabulary = {
            word: row
            for row, word in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words))
        }
        config = BertConfig(
            vocab_size=len(vocabulary),
            hidden_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=64,
            initializer_range=0.1,
            id2label={0: "negative", 1: "positive"},
            label2id={"negative": 0, "positive": 1},
        )
        # The initial weights are drawn from torch's global generator.
        torch.manual_seed(0)
        model = BertForSequenceClassification(config)
        start = Path(folder) / "start"
        model.save_pretrained(start)
        BertTokenizerFast(vocab=vocabulary, model_max_length=64).save_pretrained(start)
        tuned = fine_tune(
            start,
            data["train"],
            out=Path(folder) / "model",
            epochs=5,
            learning_rate=2e-3,
            batch_size=32,
            max_length=64,
            checkpoint_steps=0,
            progress=False,
            device="cpu",
        )
        # Only what loading needs: the state of the training is not kept.
        for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
            shutil.copyfile(Path(tuned.folder) / name, BUNDLED / name)
    TEXTS.write_text(json.dumps(data["test"]["text"][:SHOWN], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
