"""The demo of this measurement: difficulties of texts for a tiny model, built at the start."""

import re

from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

from rightreasons.widget.demos import module_page
from rightreasons.widget.pages import launch

TEXTS = [
    "A good film with good actors.",
    "A bad film with a dull plot.",
    "Good actors in a bad film.",
    "The plot is not bad.",
]


def build():
    # An untrained model shows the form of the result.
    words = (
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *sorted({*re.findall(r"\w+|\.", " ".join(TEXTS).lower())}),
    )
    tokenizer = BertTokenizerFast(vocab={word: row for row, word in enumerate(words)})
    config = BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2
    )
    model = BertForSequenceClassification(config).eval()
    # The model is an object, so that no visitor can name a folder of the server.
    models = {"model": model, "tokenizer": tokenizer}
    return module_page(__file__, {"data": TEXTS}, **models)


if __name__ == "__main__":
    launch(build())
