"""The section about difficulty, and `rightreasons difficulty`, on a tiny model that goes by a planted cue."""

import csv
import json
import re

import datasets
import numpy as np
import pyarrow.parquet as pq
import pytest

from command_line import run
from rightreasons.difficulty.contrast_sets import ContrastItems, measure_contrast_sets
from rightreasons.difficulty.page_contrast import CONTRAST, ContrastAnswers
from rightreasons.difficulty.page_rankings import EIGENVALUE
from rightreasons.models.choices import load_chooser
from rightreasons.models.gradients.fisher import fisher_information
from rightreasons.models.loading import load_classifier
from rightreasons.models.prompted import Prompted
from rightreasons.report.runner import audit
from tiny_causal import save_tiny_causal
from tiny_models import save_tiny_classifier, save_tiny_multiple_choice

OPTIONS = {"questions": ["difficulty"], "n_resamples": 50, "progress": False, "raise_errors": True}


@pytest.fixture(scope="module")
def answered(planted, planted_model, tmp_path_factory):
    out = tmp_path_factory.mktemp("difficulty") / "report"
    result = audit(planted_model, planted, out=out, **OPTIONS)
    return result.outcomes[0].result, out


def test_the_ranking_is_that_of_the_eigenvalues(answered, planted, planted_model):
    found, out = answered
    ranking = found.data["ranking"]
    values = [row["eigenvalue"] for row in ranking]
    assert values == sorted(values, reverse=True)
    data = planted["test"]
    assert {row["id"] for row in ranking} == set(data["id"])
    direct = fisher_information(
        load_classifier(planted_model), data["text"][:], ids=data["id"][:], progress=False
    )
    np.testing.assert_allclose(values, np.sort(direct.eigenvalues)[::-1], rtol=1e-3)
    stored = json.loads((out / "audit.json").read_text("utf-8"))
    assert stored["questions"][0]["result"]["data"]["ranking"][0] == ranking[0]


def test_what_it_says(answered):
    found, out = answered
    figures = {headline.key: headline for headline in found.headlines}
    assert list(figures) == [
        "hardest_accuracy",
        "easiest_accuracy",
        "hardest_flipped",
        "median_difficulty",
    ]
    assert all(headline.estimate.has_interval for headline in figures.values())
    assert (out / "figures" / "difficulty_accuracy.png").stat().st_size > 5_000
    page = (out / "index.html").read_text("utf-8")
    assert "Which predictions are fragile?" in page


def test_a_ranking_is_no_verdict(answered):
    verdict = answered[0].verdict
    assert (verdict.tone, verdict.label) == ("neutral", "Ranked by fragility")
    assert "has no verdict" in verdict.summary
    assert {rule.tone for rule in EIGENVALUE.verdict} == {"neutral"}


def test_words_are_replaced_by_the_table_of_the_package(answered):
    found, _ = answered
    kinds = {attempt["kind"] for attempt in found.data["substitutions"]["attempts"]}
    assert {"synonym", "antonym"} <= kinds
    assert "adjectives and antonyms of WordNet" in found.parts[-1].text


def test_flips_by_difficulty_are_those_of_the_attempts(answered):
    found, out = answered
    attempts = found.data["substitutions"]["attempts"]
    reversed_ = [attempt for attempt in attempts if attempt["kind"] == "antonym"]
    rates = found.data["flips_by_difficulty"]["meaning reversed"]
    assert rates["n_attempts"] == len(reversed_)
    assert rates["rate"] == np.mean([attempt["flipped"] for attempt in reversed_])
    assert sum(group["n_attempts"] for group in rates["groups"]) == len(reversed_)
    assert (out / "figures" / "difficulty_flips.png").stat().st_size > 5_000


def test_examples_are_marked_and_told_what_flips_them(answered):
    found, _ = answered
    hard, easy = found.parts[-1].examples
    assert len(hard.examples) == len(easy.examples) == 6
    for example in (*hard.examples, *easy.examples):
        assert example.marks
        assert max(mark.weight for mark in example.marks) == 1
        assert example.note.startswith("λ = ")
    told = ("flips it to", "flips it;", "No word could be replaced.")
    assert all(any(words in example.note for words in told) for example in hard.examples)
    substitutions = found.data["substitutions"]
    assert substitutions["n_items"] == 24
    assert all(len(attempt["changes"]) == 1 for attempt in substitutions["attempts"])


def make_rows_of_choices():
    return [
        {
            "prompt": f"the man fell because {'very ' * (number % 5)}the {word}",
            "choices": ["of the rain", "the floor was dry"],
            "label": number % 2,
        }
        for number, word in enumerate(["rain", "glass", "film", "plot"] * 6)
    ]


def test_choices_of_a_language_model_are_ranked(tmp_path):
    model = save_tiny_causal(tmp_path / "model")
    data = datasets.Dataset.from_list(make_rows_of_choices())

    found = audit(str(model), data, out=tmp_path / "out", **OPTIONS).outcomes[0].result

    direct = fisher_information(
        load_chooser(model), data["prompt"][:], choices=data["choices"][:], progress=False
    )
    values = [row["eigenvalue"] for row in found.data["ranking"]]
    np.testing.assert_allclose(values, np.sort(direct.eigenvalues)[::-1], rtol=1e-3)
    # Words are replaced in texts alone.
    assert found.data["substitutions"] is None
    assert any("not those of the choices" in limit for limit in found.limits)


def test_choices_are_scored_once(tmp_path, monkeypatch):
    model = save_tiny_causal(tmp_path / "model")
    data = datasets.Dataset.from_list(make_rows_of_choices())
    scored = []
    score_items = Prompted.score_items

    def record(scorer, items, *arguments, **options):
        scored.extend(item.id for item in items)
        return score_items(scorer, items, *arguments, **options)

    monkeypatch.setattr(Prompted, "score_items", record)

    audit(str(model), data, out=tmp_path / "out", **OPTIONS)

    # The predictions of the report are those that the eigenvalues are computed from.
    assert len(scored) == len(set(scored)) == len(data)


def test_without_labels(planted, planted_model, tmp_path):
    data = planted["test"].remove_columns("label").select(range(30))
    found = audit(planted_model, data, out=tmp_path, **OPTIONS).outcomes[0].result
    assert "hardest_accuracy" not in {headline.key for headline in found.headlines}
    assert len(found.data["ranking"]) == 30
    assert found.data["accuracy_by_difficulty"] is None


def test_too_few_items(tmp_path):
    model = save_tiny_classifier(tmp_path / "model")
    file = tmp_path / "items.csv"
    file.write_text("text,label\na good film,positive\na bad film,negative\n", "utf-8")
    with pytest.raises(ValueError, match="at least 20"):
        audit(model, str(file), out=tmp_path / "report", **OPTIONS)
    with pytest.raises(ValueError, match="Expected `items`"):
        audit(
            model,
            str(file),
            out=tmp_path / "report",
            options={"difficulty": {"items": 10}},
            **OPTIONS,
        )
    assert not (tmp_path / "report").exists()


class TestContrastSets:
    """A tiny model whose answers are read from its own predictions: what counts is which items go together."""

    TEXTS = (
        "a good film",
        "a bad film",
        "the plot is dull",
        "the plot is fine",
        "a great actor",
        "an awful actor",
    )

    @pytest.fixture(scope="class")
    def model(self, tmp_path_factory):
        return save_tiny_classifier(tmp_path_factory.mktemp("tiny"))

    def rows(self, n_sets=12):
        """Pairs and, of every third set, a second revision; the original comes last."""
        rows = []
        for number in range(n_sets):
            for place in range(2 + (number % 3 == 0)):
                text = f"{self.TEXTS[(number + place) % 6]} {'very ' * (number // 6)}good"
                rows.append({"text": text, "label": ("negative", "positive")[(number + place) % 2],
                             "set": f"s{number}", "kind": "revised"})  # fmt: skip
            rows[-1]["kind"] = "original"
        return rows

    def test_they_alone_are_measured_of_few_items(self, model, tmp_path, capsys):
        file, out = tmp_path / "mine.jsonl", tmp_path / "out"
        file.write_text("\n".join(map(json.dumps, self.rows(8))), "utf-8")
        columns = ("--groups-column", "set", "--original-column", "kind")
        code, said, _ = run(capsys, "difficulty", model, file, "--out", out, *columns)
        assert code == 0
        assert "for a verdict. Of 8 contrast sets" in " ".join(said.split())
        assert "Contrast sets" in (out / "index.html").read_text("utf-8")
        assert (out / "figures" / "contrast_sets.png").stat().st_size > 5_000
        stored = json.loads((out / "audit.json").read_text("utf-8"))
        assert stored["settings"]["groups_column"] == "set"
        answered = stored["questions"][0]["result"]
        figures = {
            headline["key"]: headline["estimate"]["value"] for headline in answered["headlines"]
        }
        assert list(figures) == [
            "original_accuracy",
            "contrast_accuracy",
            "contrast_consistency",
            "contrast_followed",
        ]
        ((split, measured),) = answered["data"]["contrast_sets"].items()
        table = pq.read_table(out / "predictions" / f"{split}.parquet").to_pydict()
        right = np.array(table["prediction"]) == np.array(table["label"])
        sets = np.array([row["set"] for row in self.rows(8)])
        assert figures["contrast_consistency"] == np.mean(
            [right[sets == name].all() for name in measured["sets"]]
        )
        originals = np.array([row["kind"] == "original" for row in self.rows(8)])
        assert figures["original_accuracy"] == right[originals].mean()
        assert figures["contrast_accuracy"] == pytest.approx(right[~originals].mean())

    def test_a_limit_takes_whole_sets(self, model, tmp_path):
        data = datasets.Dataset.from_list(self.rows())
        options = {"difficulty": {"original_column": "kind"}}
        found = audit(
            model, data, out=tmp_path, options=options, limit=10, groups_column="set", **OPTIONS
        ).outcomes[0].result  # fmt: skip
        (measured,) = found.data["contrast_sets"].values()
        assert measured["n_left_out"] == 0
        assert 8 <= measured["n_sets"] + measured["n_contrasts"] <= 10

    def test_beside_the_eigenvalue(self, model, tmp_path):
        data = datasets.Dataset.from_list(self.rows()).rename_columns(
            {"set": "pair_id", "kind": "role"}
        )
        found = audit(model, data, out=tmp_path, **OPTIONS).outcomes[0].result
        assert [part.title for part in found.parts][-1] == "Contrast sets"
        values = {row["id"]: row["eigenvalue"] for row in found.data["ranking"]}
        differences = []
        for name in sorted({row["set"] for row in self.rows()}):
            members = [number for number, row in enumerate(self.rows()) if row["set"] == name]
            revised = [values[str(number)] for number in members[:-1]]
            differences.append(values[str(members[-1])] - np.mean(revised))
        assert found.data["revisions"]["mean"] == pytest.approx(np.mean(differences))
        assert found.data["revisions"]["n_pairs"] == 12
        assert len(found.data["ranking"]) == len(data)
        assert {"hardest_accuracy", "contrast_consistency"} <= {
            headline.key for headline in found.headlines
        }
        assert found.verdict.summary.count("Of 12 contrast sets, the model is correct on") == 1

    @pytest.mark.parametrize(
        ("outcomes", "tone", "label"),
        [
            ((19, 0, 0, 0), "neutral", "Too few contrast sets for a verdict"),
            # All of 20: at least 0.839 at 95 %; all of 40: at least 0.912.
            ((20, 0, 0, 0), "neutral", "Inconclusive"),
            ((40, 0, 0, 0), "good", "Correct on revisions, too"),
            ((0, 30, 0, 0), "bad", "Fails on most small revisions"),
            ((0, 15, 15, 0), "bad", "Fails on most small revisions"),  # a constant answer
            ((0, 0, 0, 25), "neutral", "Correct on no original"),
            # 60 of 100 where the original is right: [0.502, 0.691]; accuracies 1.0 and 0.6.
            ((60, 40, 0, 0), "bad", "Less accurate on small revisions"),
            # 80 of 95: [0.756, 0.902] is not below 0.9, 160 of 190: [0.783, 0.887] is; accuracies 0.95 and 0.85, 0.95.
            ((80, 15, 5, 0), "neutral", "Inconclusive"),
            ((160, 30, 10, 0), "bad", "Less accurate on small revisions"),
            ((160, 30, 30, 0), "warn", "Fails on some small revisions"),
        ],
    )
    def test_the_verdict(self, outcomes, tone, label):
        right = np.repeat([[1, 1], [1, 0], [0, 1], [0, 0]], outcomes, axis=0).ravel()
        names = np.repeat(np.arange(sum(outcomes)), 2).astype(str)
        pairs = ContrastItems(np.arange(len(right)), names, np.tile([True, False], sum(outcomes)))
        measured = measure_contrast_sets(pairs, right, np.ones(len(right), dtype=np.int64))
        rule = CONTRAST.find_rule(ContrastAnswers(None, {"test": measured}))
        assert (rule.tone, CONTRAST.prose.title(f"verdict.{rule.key}")) == (tone, label)

    def test_of_stored_predictions(self, tmp_path, capsys):
        rows = [
            ("good", "positive", "s1", "original", 0.2, 0.8),
            ("bad", "negative", "s1", "revised", 0.3, 0.7),
            ("fine", "positive", "s2", "original", 0.1, 0.9),
            ("dull", "negative", "s2", "revised", 0.6, 0.4),
        ]
        file = tmp_path / "stored.csv"
        lines = (
            ",".join(map(str, row))
            for row in [("text", "label", "set", "kind", "negative", "positive"), *rows]
        )
        file.write_text("\n".join(lines), "utf-8")
        columns = (
            "--score-columns",
            "negative,positive",
            "--groups-column",
            "set",
            "--difficulty-original-column",
        )
        code, said, _ = run(capsys, "audit", "--predictions", file, "--questions", "difficulty", *columns, "kind",
                            "--out", tmp_path / "out")  # fmt: skip
        assert code == 0
        assert "sets, the model is correct on 100.0%" in " ".join(said.split())
        assert re.search(
            r"In 50\.0% \S+ \S+ of the sets, all predictions are correct", " ".join(said.split())
        )

    def test_pairs_of_multiple_choice(self, tmp_path):
        model = save_tiny_multiple_choice(tmp_path / "model")
        rows = [
            {"prompt": f"the rain fell {'very ' * number}", "choices": ["wet floor", "dry floor"][:: 1 - 2 * mirrored],
             "label": mirrored, "source_id": str(number), "mirrored": bool(mirrored)}
            for number in range(6) for mirrored in (0, 1)
        ]  # fmt: skip
        found = audit(model, datasets.Dataset.from_list(rows), out=tmp_path / "out", **OPTIONS)
        (measured,) = found.outcomes[0].result.data["contrast_sets"].values()
        assert (measured["n_sets"], measured["n_contrasts"]) == (6, 6)

    def test_data_without_them(self, model, tmp_path):
        data = datasets.Dataset.from_list(self.rows())
        with pytest.raises(ValueError, match="'sets' that `groups_column`"):
            audit(model, data, out=tmp_path, groups_column="sets", **OPTIONS)


class TestCommand:
    def test_a_user_ranks_a_test_set(self, planted, planted_model, tmp_path, capsys):
        file = tmp_path / "mine.jsonl"
        rows = [
            {"text": row["text"], "label": row["label"]}
            for row in planted["test"].select(range(40))
        ]
        file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
        out = tmp_path / "out"
        code, _, _ = run(
            capsys, "difficulty", planted_model, file, "--out", out, "--n-resamples", 50
        )
        assert code == 0
        with (out / "ranking.csv").open(encoding="utf-8") as stream:
            ranking = list(csv.DictReader(stream))
        assert len(ranking) == 40
        assert float(ranking[0]["eigenvalue"]) >= float(ranking[-1]["eigenvalue"])
        assert (out / "index.html").is_file()

    def test_mistakes_are_one_sentence(self, tmp_path, capsys):
        file = tmp_path / "mine.csv"
        file.write_text("text,label\na good film,0\na bad film,1\n", "utf-8")
        again = run(capsys, "difficulty", tmp_path / "nothing", file, "--out", tmp_path / "out")
        assert again.code == 2
        # The first line says what is audited.
        message = again.err.splitlines()[-1]
        assert message.startswith("Error: Expected the model as a folder or a hub id")
