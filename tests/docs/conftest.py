"""A folder that has what the documents name, with models of a few thousand weights."""

import csv
import json

import pytest

from choice_items import good_items
from rightreasons.datasets.suites.suite import Case, Functionality, Suite
from tiny_causal import save_tiny_causal
from tiny_models import (
    save_tiny_classifier,
    save_tiny_encoder,
    save_tiny_multiple_choice,
    tiny_texts,
)


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    """Models and reviews under the names that the recipes and the pages use."""
    folder = tmp_path_factory.mktemp("documents")
    save_tiny_classifier(folder / "my-model", seed=0)
    save_tiny_classifier(folder / "my-other-model", seed=1)
    save_tiny_encoder(folder / "my-encoder")
    save_tiny_multiple_choice(folder / "my-choice-model")
    save_tiny_causal(folder / "my-language-model")
    texts, labels = tiny_texts(40)
    with folder.joinpath("my_reviews.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["review", "stars"])
        rows.writerows(
            zip(texts, (("negative", "positive")[label] for label in labels), strict=True)
        )
    questions = "\n".join(map(json.dumps, good_items(20)))
    folder.joinpath("my_questions.jsonl").write_text(questions, "utf-8")
    cases = tuple(Case(str(number), ((text,),), (1,)) for number, text in enumerate(texts[:3]))
    praise = Functionality("praise", "Vocabulary", "MFT", {"name": "equal"}, cases)
    Suite("my_suite", ("text",), (praise,), label_names=("negative", "positive")).write(
        folder / "my_suite.jsonl"
    )
    with folder.joinpath("answers.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["item", "confidence_p", "confidence_said", "correct"])
        rows.writerows(
            [item, (item * 7 + 1) % 10 / 10, (item * 7 + 4) % 10 / 10, int(item % 3 > 0)]
            for item in range(30)
        )
    return folder
