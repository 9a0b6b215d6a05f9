"""An encoder and decoders side by side: what scoring, attributions and Fisher information cost beyond their floors.

    python benchmarks/decoders.py [--models encoder,llama,qwen3] [--repeats 3] [--layers 2] [--texts 128]

The encoder is the packaged MiniLM with a random head; the decoders are a Llama and a Qwen3 of about 120 million
parameters with random weights, built here; those that classify have `--layers` of their twelve layers. Texts are random
words of the packaged tokenizer. Processor time of one thread; in every repeat ours and its peer take turns in one
process, and the median of the ratios counts, so that other work on the machine does not matter much. The model's trial
is run before and timed by itself.

1. `predict` / bare forward passes over the same batches, tokenized, sorted by length and padded.
2. Choices: `Classifier.choose` / the bare loop (encoder); a plain loop over all (prompt, choice) pairs /
   `CausalLM.choose` with a shared prefix (decoders).
3. Integrated gradients: captum in the order of the data / ours, at equal nodes; ours / nodes x one forward and backward
   pass over batches without padding.
4. Fisher information of two classes / bare forward passes; and one forward and backward pass / a forward pass, which
   is the least that it can be.
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

from probes import plain_loop
from rightreasons.models.batching import encode, frozen, length_batches, pad
from rightreasons.models.choices import bare, load_causal
from rightreasons.models.classes import predict
from rightreasons.models.gradients.attribution import integrated_gradients
from rightreasons.models.gradients.fisher import fisher_information
from rightreasons.models.language.causal import CausalLM
from rightreasons.models.loading import Classifier, load_classifier, load_multiple_choice
from rightreasons.models.scorers import demo_encoder
from rightreasons.models.trial import classifier_way

BATCH_SIZE = 32
NODES = 12
"""Predicting the class and the ends of the path cost about two forward passes more, so few nodes say little."""

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


def seconds(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def ratio(mine: Callable[[], object], peer: Callable[[], object], repeats: int) -> float:
    """The median of the ratios mine / peer, which take turns."""
    return statistics.median(seconds(mine) / seconds(peer) for _ in range(repeats))


def explained(
    ours: Callable[[], object],
    captum: Callable[[], object],
    floor: Callable[[], object],
    repeats: int,
) -> dict[str, float]:
    """Compare attributions by ours, by captum and the floor, which take turns."""
    rows = [(seconds(ours), seconds(captum), seconds(floor)) for _ in range(repeats)]
    return {
        "captum / ours, equal nodes": statistics.median(peer / mine for mine, peer, _ in rows),
        "integrated gradients / floor": statistics.median(mine / least for mine, _, least in rows),
        "captum / floor": statistics.median(peer / least for _, peer, least in rows),
    }


def words(count: int, rng: np.random.Generator, tokenizer) -> str:
    return " ".join(
        tokenizer.convert_ids_to_tokens(rng.integers(2000, 6000, count).tolist())
    ).replace(" ##", " ")


def save(folder: Path, model, tokenizer) -> Path:
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def classifier_of(name: str, tokenizer, folder: Path, layers: int) -> Classifier:
    torch.manual_seed(0)
    if name == "encoder":
        model = transformers.AutoModelForSequenceClassification.from_pretrained(
            demo_encoder(), num_labels=2
        )
    else:
        config = DECODERS[name](
            vocab_size=len(tokenizer), num_labels=2, **{**SIZES, "num_hidden_layers": layers}
        )
        model = transformers.AutoModelForSequenceClassification.from_config(config)
    return load_classifier(save(folder, model, tokenizer), device="cpu")


def scorer_of(name: str, tokenizer, folder: Path) -> CausalLM:
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(
        DECODERS[name](vocab_size=len(tokenizer), **SIZES)
    )
    scorer = load_causal(save(folder, model, tokenizer), device="cpu")
    scorer.tokenizer.backend_tokenizer.post_processor = (
        None  # a text of a decoder has no [SEP] at its end
    )
    return scorer


def classes(
    classifier: Classifier, texts: list[str], repeats: int, explain: bool
) -> dict[str, float]:
    encoded = encode(classifier.tokenizer, texts, max_length=classifier.max_length)
    padded = [
        pad(encoded, b, classifier.device)
        for b in length_batches(encoded.lengths, batch_size=BATCH_SIZE)
    ]

    @torch.inference_mode()
    def bare() -> None:
        for inputs in padded:
            classifier.model(**inputs).logits.cpu()

    def trial() -> None:
        classifier_way(classifier, longest=int(encoded.lengths.max()))

    bare()
    print(
        f"  trial {seconds(trial):.2f} s, a bare pass over the {len(texts)} texts {seconds(bare):.2f} s",
        flush=True,
    )
    options = {"batch_size": BATCH_SIZE, "progress": False}
    nodes = {"steps": NODES, "method": "riemann_right"}

    def ours() -> None:
        integrated_gradients(classifier, texts, baseline="pad", progress=False, **nodes)

    table = classifier.model.get_input_embeddings()
    lengths = np.sort(encoded.lengths)

    def floor() -> None:
        """Batches of one length, the mean of 16 texts of like length: all tokens, no padding."""
        with frozen(classifier.model) as model:
            for part in np.array_split(lengths, -(-len(lengths) // 16)):
                for _ in range(NODES):
                    one_pass(
                        model, table, torch.randint(1000, 5000, (len(part), round(part.mean())))
                    )

    def both_ways() -> None:
        with frozen(classifier.model) as model:
            for inputs in padded:
                embeddings = table(inputs["input_ids"]).detach().requires_grad_()
                logits = model(
                    inputs_embeds=embeddings, attention_mask=inputs["attention_mask"]
                ).logits
                torch.autograd.grad(logits[:, 0].sum(), embeddings)

    found = {
        "predict / bare forward passes": ratio(
            lambda: predict(classifier, texts, **options), bare, repeats
        ),
        "Fisher, two classes / bare forward passes": ratio(
            lambda: fisher_information(classifier, texts, **options), bare, repeats
        ),
        "forward and backward / bare forward passes": ratio(both_ways, bare, repeats),
    }
    if not explain:
        return found
    first = integrated_gradients(
        classifier, texts, method="gauss_legendre", steps=1, progress=False
    ).explained
    floor()
    return found | explained(
        ours,
        lambda: captum_scores(classifier, texts, first, by_length=False, **nodes),
        floor,
        repeats,
    )


def encoder_choices(prompts: list[str], choices: list[list[str]], repeats: int) -> dict[str, float]:
    model = load_multiple_choice(demo_encoder(), allow_untrained=True, device="cpu")
    first = [prompt for prompt, row in zip(prompts, choices, strict=True) for _ in row]
    encoded = encode(
        model.tokenizer,
        first,
        [text for row in choices for text in row],
        max_length=model.max_length,
    )
    padded = [
        pad(encoded, b, model.device)
        for b in length_batches(encoded.lengths, batch_size=BATCH_SIZE)
    ]

    @torch.inference_mode()
    def bare() -> None:
        for inputs in padded:
            model.model(
                **{name: tensor.unsqueeze(1) for name, tensor in inputs.items()}
            ).logits.cpu()

    bare()
    once = seconds(lambda: model.choose(prompts, choices, progress=False))
    name = "choices / bare loop"
    found = {name: ratio(lambda: model.choose(prompts, choices, progress=False), bare, repeats)}
    print(
        f"  choices: the first call, with the trial, {once:.2f} s, the bare loop {seconds(bare):.2f} s",
        flush=True,
    )
    return found


def causal(
    scorer: CausalLM, prompts: list[str], choices: list[list[str]], repeats: int
) -> dict[str, float]:
    def ours() -> np.ndarray:
        return np.asarray(bare(scorer, "sum").choose(prompts, choices, progress=False).logits)

    once = seconds(ours)
    largest = float(np.abs(ours() - plain_loop(scorer, prompts, choices)).max())
    found = {
        "plain loop over pairs / shared prefix": ratio(
            lambda: plain_loop(scorer, prompts, choices), ours, repeats
        ),
    }
    print(
        f"  causal: the first call, with the trial, {once:.1f} s, later ones {seconds(ours):.1f} s, "
        f"largest difference {largest:.0e}",
        flush=True,
    )
    return found


def main() -> None:
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
        rng = np.random.default_rng(0)
        n_choices = 24 if name == "encoder" else 4
        texts = [words(int(rng.integers(4, 61)), rng, tokenizer) for _ in range(options.texts)]
        prompts = [words(int(rng.integers(40, 81)), rng, tokenizer) for _ in range(n_choices)]
        choices = [
            [words(int(rng.integers(8, 24)), rng, tokenizer) for _ in range(4)] for _ in prompts
        ]
        print(f"{name}: {len(texts)} texts, {len(prompts)} items of 4 choices", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            found: dict[str, float] = {}
            if name == "encoder" and "choices" in options.parts:
                found = encoder_choices(prompts, choices, options.repeats)
            elif "choices" in options.parts:
                scorer = scorer_of(name, tokenizer, Path(folder) / "causal")
                print(
                    f"  {sum(p.numel() for p in scorer.model.parameters()) / 1e6:.0f} million parameters"
                )
                found = causal(scorer, prompts, choices, options.repeats)
                del scorer
            if "classes" in options.parts or "fisher" in options.parts:
                classifier = classifier_of(
                    name, tokenizer, Path(folder) / "classes", options.layers
                )
                found |= classes(classifier, texts, options.repeats, "classes" in options.parts)
        for what, size in found.items():
            print(f"| {name} | {what} | {size:.2f} | {TARGETS[what]} |", flush=True)


if __name__ == "__main__":
    main()
