"""Time scoring, attributions and Fisher information of an encoder and of decoders against their floors.

    python benchmarks/decoders.py [--models encoder,llama,qwen3] [--repeats 3] [--layers 2] [--texts 128]

The encoder is the packaged MiniLM with a random head. The decoders are a Llama and a Qwen3 of about
120 million parameters with random weights, built here; those that classify have `--layers` of their
twelve layers. Texts are random words of the packaged tokenizer. Times are processor time of one
thread. In every repeat ours and its peer take turns in one process, and the median of the ratios
counts, so that other work on the machine does not matter much. The trial that selects a batching
strategy runs before, and is timed separately.

1. `predict` / bare forward passes over the same batches, tokenized, sorted by length and padded.
2. Choices: `Classifier.choose` / the bare loop (encoder); a plain loop over all (prompt, choice) pairs /
   `CausalLM.choose` with a shared prefix (decoders).
3. Integrated gradients: captum in the order of the data / ours, at equal nodes; ours / nodes x one
   forward and backward pass over batches without padding.
4. Fisher information of two classes / bare forward passes; and one forward and backward pass / a
   forward pass, which is the smallest possible ratio.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import transformers
from attribution import captum_scores, one_pass

from probes import score_pairs
from rightreasons.models.batching import encode, frozen, make_length_batches, pad
from rightreasons.models.choices import bare, load_causal
from rightreasons.models.classes import predict
from rightreasons.models.gradients.attribution import integrated_gradients
from rightreasons.models.gradients.fisher import fisher_information
from rightreasons.models.language.causal import CausalLM
from rightreasons.models.loading import Classifier, load_classifier, load_multiple_choice
from rightreasons.models.padding_trial import find_classifier_strategy
from rightreasons.models.scorers import demo_encoder

BATCH_SIZE = 32
NODES = 12
"""Nodes of the path of integrated gradients.

Predicting the class and the ends of the path cost about two forward passes more. With few nodes they
would dominate.
"""

SIZES = {
    "hidden_size": 768,
    "intermediate_size": 2048,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "max_position_embeddings": 512,
    "pad_token_id": 0,
    "bos_token_id": 101,
    "eos_token_id": 102,
}
DECODERS = {"llama": transformers.LlamaConfig, "qwen3": transformers.Qwen3Config}
TARGETS = {
    "predict / bare forward passes": "<= 1.2",
    "choices / bare loop": "<= 1.2",
    "plain loop over pairs / shared prefix": ">= 1.8",
    "captum / ours, equal nodes": ">= 1.5",
    "integrated gradients / floor": "<= 1.25",
    "captum / floor": "-",
    "Fisher, two classes / bare forward passes": "<= 2.3",
    "forward and backward / bare forward passes": "-",
}


Function = Callable[[], object]


def measure_seconds(function: Function) -> float:
    """Return the processor time of one call."""
    start = time.process_time()
    function()
    return time.process_time() - start


def measure_ratio(function: Function, peer: Function, n_repeats: int) -> float:
    """Return the median of the ratios of the times of a function and its peer, which take turns."""
    ratios = [measure_seconds(function) / measure_seconds(peer) for _ in range(n_repeats)]
    return statistics.median(ratios)


def measure_attributions(
    run: Function, run_captum: Function, run_floor: Function, n_repeats: int
) -> dict[str, float]:
    """Compare attributions by our code, by captum and the floor, which take turns."""
    captum_ratios = []
    floor_ratios = []
    captum_floor_ratios = []
    for _ in range(n_repeats):
        seconds = measure_seconds(run)
        captum_seconds = measure_seconds(run_captum)
        floor_seconds = measure_seconds(run_floor)
        captum_ratios.append(captum_seconds / seconds)
        floor_ratios.append(seconds / floor_seconds)
        captum_floor_ratios.append(captum_seconds / floor_seconds)
    return {
        "captum / ours, equal nodes": statistics.median(captum_ratios),
        "integrated gradients / floor": statistics.median(floor_ratios),
        "captum / floor": statistics.median(captum_floor_ratios),
    }


def make_text(n_tokens: int, rng: np.random.Generator, tokenizer) -> str:
    """Return a text of random tokens."""
    # The frequent words of the vocabulary, without its special tokens and single characters.
    ids = rng.integers(2000, 6000, n_tokens).tolist()
    return " ".join(tokenizer.convert_ids_to_tokens(ids)).replace(" ##", " ")


def save_model(folder: Path, model, tokenizer) -> Path:
    """Save a model with its tokenizer, and return the folder."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def make_classifier(name: str, tokenizer, folder: Path, n_layers: int) -> Classifier:
    """Make a classifier of two classes with a random head.

    Args:
        name: "encoder", or a key of `DECODERS`.
        tokenizer: Tokenizer of the model.
        folder: Folder in which the model is saved.
        n_layers: Number of layers of a decoder.
    """
    torch.manual_seed(0)
    factory = transformers.AutoModelForSequenceClassification
    if name == "encoder":
        model = factory.from_pretrained(demo_encoder(), num_labels=2)
    else:
        sizes = {**SIZES, "num_hidden_layers": n_layers}
        config = DECODERS[name](vocab_size=len(tokenizer), num_labels=2, **sizes)
        model = factory.from_config(config)
    return load_classifier(save_model(folder, model, tokenizer), device="cpu")


def make_causal_model(name: str, tokenizer, folder: Path) -> CausalLM:
    """Make a language model with random weights; see `make_classifier` for the arguments."""
    torch.manual_seed(0)
    config = DECODERS[name](vocab_size=len(tokenizer), **SIZES)
    model = transformers.AutoModelForCausalLM.from_config(config)
    scorer = load_causal(save_model(folder, model, tokenizer), device="cpu")
    # A text of a decoder has no [SEP] at its end.
    scorer.tokenizer.backend_tokenizer.post_processor = None
    return scorer


def make_batches(encoded, device) -> list[dict[str, torch.Tensor]]:
    """Return the padded batches of encoded texts, sorted by length."""
    batches = make_length_batches(encoded.lengths, batch_size=BATCH_SIZE)
    return [pad(encoded, batch, device) for batch in batches]


def measure_classifier(
    classifier: Classifier, texts: list[str], n_repeats: int, has_attributions: bool
) -> dict[str, float]:
    """Measure predictions and Fisher information, and attributions if required."""
    encoded = encode(classifier.tokenizer, texts, max_length=classifier.max_length)
    batches = make_batches(encoded, classifier.device)
    embed = classifier.model.get_input_embeddings()

    @torch.inference_mode()
    def run_forward() -> None:
        for inputs in batches:
            classifier.model(**inputs).logits.cpu()

    def run_forward_and_backward() -> None:
        with frozen(classifier.model) as model:
            for inputs in batches:
                embeddings = embed(inputs["input_ids"]).detach().requires_grad_()
                logits = model(
                    inputs_embeds=embeddings, attention_mask=inputs["attention_mask"]
                ).logits
                torch.autograd.grad(logits[:, 0].sum(), embeddings)

    def run_trial() -> None:
        find_classifier_strategy(classifier, longest=int(encoded.lengths.max()))

    # The first pass is slower than later ones.
    run_forward()
    trial_seconds = measure_seconds(run_trial)
    forward_seconds = measure_seconds(run_forward)
    print(
        f"  trial {trial_seconds:.2f} s, "
        f"a bare pass over the {len(texts)} texts {forward_seconds:.2f} s",
        flush=True,
    )
    options = {"batch_size": BATCH_SIZE, "progress": False}

    def run_predict() -> None:
        predict(classifier, texts, **options)

    def run_fisher() -> None:
        fisher_information(classifier, texts, **options)

    ratios = {
        "predict / bare forward passes": measure_ratio(run_predict, run_forward, n_repeats),
        "Fisher, two classes / bare forward passes": measure_ratio(
            run_fisher, run_forward, n_repeats
        ),
        "forward and backward / bare forward passes": measure_ratio(
            run_forward_and_backward, run_forward, n_repeats
        ),
    }
    if has_attributions:
        ratios |= measure_integrated_gradients(classifier, texts, encoded.lengths, n_repeats)
    return ratios


def measure_integrated_gradients(
    classifier: Classifier, texts: list[str], lengths: np.ndarray, n_repeats: int
) -> dict[str, float]:
    """Measure integrated gradients; `lengths` are the numbers of tokens of the texts."""
    nodes = {"steps": NODES, "method": "riemann_right"}
    embed = classifier.model.get_input_embeddings()
    sorted_lengths = np.sort(lengths)

    def run() -> None:
        integrated_gradients(classifier, texts, baseline="pad", progress=False, **nodes)

    def run_floor() -> None:
        # Batches without padding, of the mean length of 16 texts that are similarly long.
        n_batches = -(-len(sorted_lengths) // 16)
        with frozen(classifier.model) as model:
            for batch in np.array_split(sorted_lengths, n_batches):
                for _ in range(NODES):
                    ids = torch.randint(1000, 5000, (len(batch), round(batch.mean())))
                    one_pass(model, embed, ids)

    # Captum explains the classes that our code does.
    classes = integrated_gradients(
        classifier, texts, method="gauss_legendre", steps=1, progress=False
    ).explained

    def run_captum() -> None:
        captum_scores(classifier, texts, classes, by_length=False, **nodes)

    run_floor()
    return measure_attributions(run, run_captum, run_floor, n_repeats)


def measure_encoder_choices(
    prompts: list[str], choices: list[list[str]], n_repeats: int
) -> dict[str, float]:
    """Measure the scoring of choices by an encoder with a multiple-choice head."""
    scorer = load_multiple_choice(demo_encoder(), allow_untrained=True, device="cpu")
    pair_prompts = []
    pair_choices = []
    for prompt, item_choices in zip(prompts, choices, strict=True):
        for choice in item_choices:
            pair_prompts.append(prompt)
            pair_choices.append(choice)
    encoded = encode(scorer.tokenizer, pair_prompts, pair_choices, max_length=scorer.max_length)
    batches = make_batches(encoded, scorer.device)

    @torch.inference_mode()
    def run_bare_loop() -> None:
        for batch in batches:
            # The model expects a dimension of choices; each pair is an item with one choice.
            inputs = {name: tensor.unsqueeze(1) for name, tensor in batch.items()}
            scorer.model(**inputs).logits.cpu()

    def run() -> None:
        scorer.choose(prompts, choices, progress=False)

    run_bare_loop()
    trial_seconds = measure_seconds(run)
    ratios = {"choices / bare loop": measure_ratio(run, run_bare_loop, n_repeats)}
    print(
        f"  choices: the first call, with the trial, {trial_seconds:.2f} s, "
        f"the bare loop {measure_seconds(run_bare_loop):.2f} s",
        flush=True,
    )
    return ratios


def measure_causal_choices(
    scorer: CausalLM, prompts: list[str], choices: list[list[str]], n_repeats: int
) -> dict[str, float]:
    """Measure the scoring of choices by a decoder, with and without a shared prefix."""

    def run() -> np.ndarray:
        return np.asarray(bare(scorer, "sum").choose(prompts, choices, progress=False).logits)

    def run_plain_loop() -> np.ndarray:
        return score_pairs(scorer, prompts, choices)

    trial_seconds = measure_seconds(run)
    max_difference = float(np.abs(run() - run_plain_loop()).max())
    ratios = {
        "plain loop over pairs / shared prefix": measure_ratio(run_plain_loop, run, n_repeats)
    }
    print(
        f"  causal: the first call, with the trial, {trial_seconds:.1f} s, "
        f"later ones {measure_seconds(run):.1f} s, largest difference {max_difference:.0e}",
        flush=True,
    )
    return ratios


def measure_model(
    name: str, tokenizer, *, parts: str, n_repeats: int, n_layers: int, n_texts: int
) -> dict[str, float]:
    """Return the ratios of one model; the arguments are those of the command line."""
    rng = np.random.default_rng(0)
    n_items = 24 if name == "encoder" else 4
    texts = [make_text(int(rng.integers(4, 61)), rng, tokenizer) for _ in range(n_texts)]
    prompts = [make_text(int(rng.integers(40, 81)), rng, tokenizer) for _ in range(n_items)]
    choices = []
    for _ in prompts:
        choices.append([make_text(int(rng.integers(8, 24)), rng, tokenizer) for _ in range(4)])
    print(f"{name}: {len(texts)} texts, {len(prompts)} items of 4 choices", flush=True)

    ratios: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        if name == "encoder" and "choices" in parts:
            ratios = measure_encoder_choices(prompts, choices, n_repeats)
        elif "choices" in parts:
            scorer = make_causal_model(name, tokenizer, Path(folder) / "causal")
            n_parameters = sum(parameter.numel() for parameter in scorer.model.parameters())
            print(f"  {n_parameters / 1e6:.0f} million parameters")
            ratios = measure_causal_choices(scorer, prompts, choices, n_repeats)
            # Two models would need twice the memory.
            del scorer
        if "classes" in parts or "fisher" in parts:
            classifier = make_classifier(name, tokenizer, Path(folder) / "classes", n_layers)
            ratios |= measure_classifier(classifier, texts, n_repeats, "classes" in parts)
    return ratios


def main() -> None:
    """Measure the models and print a row for each ratio, with its target."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", default="encoder,llama,qwen3", help="comma-separated models")
    parser.add_argument(
        "--parts",
        default="choices,classes",
        help="what is measured: choices, classes, or fisher, which is classes without attributions",
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--layers", type=int, default=2, help="layers of the decoders that classify"
    )
    parser.add_argument("--texts", type=int, default=128, help="texts to classify and to explain")
    options = parser.parse_args()

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)
    tokenizer = transformers.AutoTokenizer.from_pretrained(demo_encoder())
    print(
        f"{platform.machine()}, one thread, torch {torch.__version__}, transformers {transformers.__version__}"
    )
    for name in options.models.split(","):
        ratios = measure_model(
            name,
            tokenizer,
            parts=options.parts,
            n_repeats=options.repeats,
            n_layers=options.layers,
            n_texts=options.texts,
        )
        for measure, ratio in ratios.items():
            print(f"| {name} | {measure} | {ratio:.2f} | {TARGETS[measure]} |", flush=True)


if __name__ == "__main__":
    main()
