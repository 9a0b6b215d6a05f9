"""What test_two_processes.py launches, alone and as one of two: every kernel that shares its batches among processes.

python two_processes.py CLASSIFIER CHOICE_MODEL OUT
"""

import json
import sys
from pathlib import Path

import numpy as np

import rightreasons
from rightreasons.core.arrays import Ragged
from rightreasons.models.classes import predict
from rightreasons.models.gradients.attribution import integrated_gradients
from rightreasons.models.gradients.fisher import fisher_information
from rightreasons.models.loading import load_classifier, load_multiple_choice
from rightreasons.models.runs.processes import processes

# Lengths that rise and fall, so that neither the batches nor the shares of a process are in the order of the items.
TEXTS = [
    " ".join(("the film was good a very bad actor fell not so great").split()[: 1 + 5 * i % 11])
    for i in range(23)
]
CHOICES = [
    ["of the rain", "the floor was dry"],
    ["so it fell", "because of the man", "not good"],
] * 4
OPTIONS = {"batch_size": 4, "progress": False}


def rows(values: object) -> list:
    if isinstance(values, Ragged):
        return [row.tolist() for row in values]
    return np.asarray(values).tolist()


def compute(classifier_folder: str, choice_folder: str, out: Path) -> dict[str, object]:
    classifier, chooser = load_classifier(classifier_folder), load_multiple_choice(choice_folder)
    poisoned = [*TEXTS[:5], "", *TEXTS[5:]]
    fisher = fisher_information(
        classifier, poisoned, eigenvector=True, out=out / "fisher", **OPTIONS
    )
    again = fisher_information(
        classifier, poisoned, eigenvector=True, out=out / "fisher", **OPTIONS
    )
    prompts = TEXTS[: len(CHOICES)]
    measurement = rightreasons.load(
        "fim_difficulty", model=classifier.model, tokenizer=classifier.tokenizer
    )
    attributions = integrated_gradients(classifier, TEXTS, progress=False)
    return {
        "ids": list(fisher.ids),
        "eigenvalues": rows(fisher.eigenvalues),
        "stored": rows(again.eigenvalues),
        "token_norms": rows(fisher.token_norms),
        "tokens": [list(tokens) for tokens in fisher.tokens or ()],
        "failures": [list(failure) for failure in fisher.failures],
        "power": rows(fisher_information(classifier, TEXTS, method="power", **OPTIONS).eigenvalues),
        "fim_difficulty": measurement.compute(data=TEXTS, batch_size=4)["fim_difficulty"],
        "predict": rows(predict(classifier, TEXTS, **OPTIONS).logits),
        "predict_choices": rows(chooser.choose(prompts, CHOICES, **OPTIONS).logits),
        "attributions": rows(attributions.scores),
    }


def main() -> None:
    classifier, choice, out = sys.argv[1:]
    found = compute(classifier, choice, Path(out))
    who = processes()
    file = Path(out) / f"{who.rank}_of_{who.count}.json"
    file.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
