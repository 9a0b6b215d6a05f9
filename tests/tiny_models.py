"""Tiny BERT models with a tokenizer of a few words, built from a configuration: no weights are fetched."""

import torch
from transformers import (
    BertConfig,
    BertForMultipleChoice,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertModel,
    BertTokenizerFast,
)

WORDS = (
    "the a film was is story plot actor scene and but very not good great fine lovely bad awful dull poor "
    "man woman cause effect because so rain sun wet dry fell broke glass floor what"
).split()
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
POSITIVE = ("good", "great", "fine", "lovely")
NEGATIVE = ("bad", "awful", "dull", "poor")


def tiny_tokenizer(max_length: int = 32) -> BertTokenizerFast:
    vocabulary = {word: index for index, word in enumerate((*SPECIAL, *WORDS))}
    return BertTokenizerFast(vocab=vocabulary, model_max_length=max_length)


def tiny_config(**options) -> BertConfig:
    sizes = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
    }
    # So wide that the logits of two texts differ, and with so little dropout that it learns in a few steps.
    noise = {
        "initializer_range": 0.1,
        "hidden_dropout_prob": 0.02,
        "attention_probs_dropout_prob": 0.02,
    }
    vocabulary = len(SPECIAL) + len(WORDS)
    return BertConfig(
        **{"vocab_size": vocabulary, "max_position_embeddings": 32, **sizes, **noise, **options}
    )


def _save(model_class, folder, seed, **options):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = model_class(tiny_config(**options))
    model.save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


def save_tiny_classifier(folder, *, label_names=("negative", "positive"), seed=0, **options):
    """A folder of a BERT sequence classifier with random weights."""
    names = dict(enumerate(label_names))
    return _save(
        BertForSequenceClassification,
        folder,
        seed,
        id2label=names,
        label2id={v: k for k, v in names.items()},
        **options,
    )


def save_tiny_multiple_choice(folder, *, seed=0):
    """A folder of a BERT multiple-choice model with random weights."""
    return _save(BertForMultipleChoice, folder, seed)


def save_tiny_reader(folder, *, seed=0, **options):
    """A folder of a BERT question-answering model with random weights."""
    return _save(BertForQuestionAnswering, folder, seed, **options)


def save_tiny_encoder(folder, *, seed=0):
    """A folder of a BERT encoder without a head."""
    return _save(BertModel, folder, seed)


def tiny_texts(count: int) -> tuple[list[str], list[int]]:
    """Sentences of 3 to 20 words whose label is told by one word."""
    texts, labels = [], []
    for index in range(count):
        label = (index * 7 // 3) % 2
        told = (POSITIVE if label else NEGATIVE)[index % 4]
        filler = [WORDS[(index + 3 * k) % 12] for k in range(index * 5 % 18)]
        texts.append(" ".join(["the", *filler, told, "film"]))
        labels.append(label)
    return texts, labels


def tiny_questions(count: int) -> dict[str, list]:
    """Questions on two sentences, "what was good": the noun of the sentence with that adjective is the answer."""
    nouns = ("film", "story", "plot", "actor", "scene", "man", "woman")
    columns: dict[str, list] = {"id": [], "question": [], "context": [], "answers": []}
    for index in range(count):
        first, second = nouns[index % 7], nouns[(index + 1 + index // 7 % 5) % 7]
        good, bad = POSITIVE[index % 4], NEGATIVE[index // 2 % 4]
        asked, answer = ((good, first), (bad, second))[index // 3 % 2]
        context = f"the {first} was {good} and the {second} was {bad}"
        columns["id"].append(str(index))
        columns["question"].append(f"what was {asked}")
        columns["context"].append(context)
        columns["answers"].append(
            {"text": [answer], "answer_start": [context.index(f" {answer} ") + 1]}
        )
    return columns
