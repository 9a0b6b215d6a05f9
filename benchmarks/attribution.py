"""Integrated gradients compared with captum's LayerIntegratedGradients, on real sentences of mixed length.

    python benchmarks/attribution.py [--data FOLDER] [--model FOLDER] [--items 256] [--reference-items 64] [--nodes 20]

The packaged MiniLM encoder is fine-tuned on SST-2 (2,000 sentences, one epoch; kept in --work) unless --model names a
fine-tuned classifier. captum gets batches of 32 in the order of the data, padded, as its users write them, and also
batches sorted by length, as its users could. The target is the probability of the predicted class, the baseline the
padding token. Times are CPU seconds of one thread, so that other work on the machine does not count; the methods
alternate, the best time of each counts, and the ratio of every repeat is shown.

1. Equal nodes: right Riemann sum, both.
2. The lower bound: nodes x one forward and backward pass over the tokens without any padding, in batches of one length,
   at the best speed that any batch of that length reaches; at the paper's 50 nodes (--floor-nodes). Ours also predicts
   the class and measures the completeness gap.
3. Equal agreement: how often the top three tokens are those of a 400-step reference, and at what cost.
"""

import argparse
import os
import platform
import tempfile
import time
from pathlib import Path

import captum
import numpy as np
import torch
import transformers
from captum.attr import LayerIntegratedGradients

import rightreasons
from rightreasons.models.batching import frozen
from rightreasons.models.gradients.attribution import integrated_gradients
from rightreasons.models.loading import Classifier, load_classifier
from rightreasons.models.scorers import demo_encoder
from rightreasons.training.finetune import fine_tune

BATCH_SIZE = 32
REFERENCE_STEPS = 400
TOP = 3


def captum_scores(
    classifier: Classifier, texts: list[str], explained, *, steps: int, method: str, by_length: bool
):
    """The L2 norm of every token's attribution, special tokens left out."""
    model, tokenizer = classifier.model, classifier.tokenizer
    engine = LayerIntegratedGradients(
        lambda ids, mask: model(input_ids=ids, attention_mask=mask).logits.softmax(-1),
        model.get_input_embeddings(),
    )
    order = (
        sorted(range(len(texts)), key=lambda i: len(texts[i]))
        if by_length
        else list(range(len(texts)))
    )
    scores: list = [None] * len(texts)
    for start in range(0, len(order), BATCH_SIZE):
        rows = order[start : start + BATCH_SIZE]
        inputs = tokenizer([texts[i] for i in rows], padding=True, return_tensors="pt")
        ids, mask = inputs["input_ids"], inputs["attention_mask"]
        attributions = engine.attribute(
            ids,
            baselines=torch.where(mask.bool(), tokenizer.pad_token_id, ids),
            additional_forward_args=(mask,),
            target=torch.from_numpy(explained[rows]),
            n_steps=steps,
            method=method,
            internal_batch_size=2 * BATCH_SIZE,
        )
        for row, index in enumerate(rows):
            scores[index] = attributions[row].norm(dim=-1)[mask[row].bool()][1:-1].numpy()
    return scores


def ours(classifier: Classifier, texts: list[str], **options):
    return integrated_gradients(classifier, texts, baseline="pad", progress=False, **options)


def floor_seconds(classifier: Classifier, texts: list[str]) -> float:
    """One forward and backward pass over all tokens, without padding, at the best speed of any batch of that length."""
    lengths = np.array([len(row) for row in classifier.tokenizer(texts)["input_ids"]])
    table, total = classifier.model.get_input_embeddings(), 0.0
    with frozen(classifier.model) as model:
        for length in np.unique(lengths):
            each = []
            for tokens in (512, 1024, 2048):
                rows = max(1, tokens // int(length))
                ids = torch.randint(1000, 5000, (rows, int(length)))
                best = min(seconds(lambda ids=ids: one_pass(model, table, ids)) for _ in range(2))
                each.append(best / rows)
            total += min(each) * int((lengths == length).sum())
    return total


def one_pass(model, table, ids) -> None:
    embeddings = table(ids).detach().requires_grad_()
    scores = model(inputs_embeds=embeddings).logits.softmax(-1)[:, 0]
    torch.autograd.grad(scores.sum(), embeddings)


def seconds(function) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def agreement(scores, reference) -> float:
    """The share of the reference's top tokens that are among the top tokens, averaged over texts."""
    shares = []
    for ours, theirs in zip(scores, reference, strict=True):
        top = set(np.argsort(-theirs, kind="stable")[:TOP].tolist())
        shares.append(len(top & set(np.argsort(-ours, kind="stable")[:TOP].tolist())) / len(top))
    return float(np.mean(shares))


def fine_tuned(options) -> Path:
    if options.model:
        return Path(options.model)
    train = (
        rightreasons.load_dataset("sst2", split="train", data_dir=options.data)
        .shuffle(seed=0)
        .select(range(2000))
    )
    return Path(fine_tune(demo_encoder(), train, out=options.work, epochs=1, progress=False).folder)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data",
        default=os.environ.get("RIGHTREASONS_DATA_DIR"),
        help="local copies of the data sets",
    )
    parser.add_argument("--model", help="a fine-tuned classifier of movie reviews")
    parser.add_argument(
        "--work", default=str(Path(tempfile.gettempdir()) / "rightreasons-benchmark-sst2")
    )
    parser.add_argument("--items", type=int, default=256)
    parser.add_argument("--reference-items", type=int, default=64)
    parser.add_argument("--nodes", type=int, default=20)
    parser.add_argument("--floor-nodes", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    folder = fine_tuned(options)
    torch.set_num_threads(1)
    classifier = load_classifier(folder, device="cpu")
    data = rightreasons.load_dataset("sst2", split="validation", data_dir=options.data).shuffle(
        seed=1
    )
    texts = list(data["text"][: options.items])
    lengths = [len(row) for row in classifier.tokenizer(texts)["input_ids"]]
    print(
        f"{len(texts)} sentences of SST-2, {min(lengths)} to {max(lengths)} tokens, mean {np.mean(lengths):.1f}; "
        f"{platform.machine()}, one thread; torch {torch.__version__}, transformers {transformers.__version__}, "
        f"captum {captum.__version__}\n"
    )

    first = ours(classifier, texts, method="gauss_legendre", steps=1)  # also warms up
    nodes = {"method": "riemann_right", "steps": options.nodes}
    runs = {
        "rightreasons": lambda: ours(classifier, texts, **nodes),
        "captum": lambda: captum_scores(
            classifier, texts, first.explained, by_length=False, **nodes
        ),
        "captum, sorted by length": lambda: captum_scores(
            classifier, texts, first.explained, by_length=True, **nodes
        ),
    }
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(options.repeats):
        for name, run in runs.items():
            times[name].append(seconds(run))
    best = {name: min(values) for name, values in times.items()}
    print(f"1. Equal nodes ({options.nodes}, right Riemann sum)\n")
    for name, spent in best.items():
        ratios = [
            mine / least for mine, least in zip(times[name], times["rightreasons"], strict=True)
        ]
        by_repeat = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        print(
            f"   {name:28s} {spent:8.1f} s   {spent / best['rightreasons']:5.2f} x ours; by repeat {by_repeat}"
        )
    deep = seconds(
        lambda: ours(classifier, texts, method="riemann_right", steps=options.floor_nodes)
    )
    floor = floor_seconds(classifier, texts) * options.floor_nodes
    print(
        f"\n2. Floor of {options.floor_nodes} nodes: {floor:.1f} s; ours takes {deep:.1f} s, "
        f"{deep / floor:.2f} x the floor\n",
        flush=True,
    )

    part = texts[: options.reference_items]
    explained = first.explained[: len(part)]
    reference = list(ours(classifier, part, method="gauss_legendre", steps=REFERENCE_STEPS).scores)
    print(
        f"3. Agreement of the top {TOP} with {REFERENCE_STEPS} steps, on {len(part)} of the sentences\n"
    )
    print("   way                                  agreement    seconds   nodes     largest gap")
    results: dict[str, tuple[float, float]] = {}

    def report(name: str, scores, spent: float, used: float, gap: str = "") -> None:
        results[name] = agreement(scores, reference), spent
        print(
            f"   {name:36s} {results[name][0]:9.3f} {spent:10.1f} {used:7.1f}     {gap}", flush=True
        )

    for tolerance in (0.2, 0.1, 0.05, 0.02, 0.01):
        start = time.process_time()
        result = ours(classifier, part, method="adaptive", tolerance=tolerance)
        spent = time.process_time() - start
        report(
            f"ours, adaptive, gap {tolerance:g}",
            result.scores,
            spent,
            result.nodes.mean(),
            f"{abs(result.gap).max():.4f}",
        )
    for steps in (6, 8, 10, 12):
        start = time.process_time()
        result = ours(classifier, part, method="gauss_legendre", steps=steps)
        spent = time.process_time() - start
        report(
            f"ours, Gauss-Legendre {steps}",
            result.scores,
            spent,
            steps,
            f"{abs(result.gap).max():.4f}",
        )
    for steps in (6, 8, 10, 12, 50):
        start = time.process_time()
        scores = captum_scores(
            classifier, part, explained, steps=steps, method="gausslegendre", by_length=False
        )
        report(f"captum, Gauss-Legendre {steps}", scores, time.process_time() - start, steps)

    def cheapest(prefix: str) -> float:
        return min(
            spent
            for name, (share, spent) in results.items()
            if name.startswith(prefix) and share >= 0.95
        )

    mine = cheapest("ours")
    print(
        f"\n   captum at its default of 50 steps costs {results['captum, Gauss-Legendre 50'][1] / mine:.1f} x"
    )
    print(
        f"   captum with its steps tuned to an agreement of 0.95 costs {cheapest('captum') / mine:.1f} x"
    )


if __name__ == "__main__":
    main()
