"""`rightreasons cues` and `rightreasons data split`, as a user types them."""

import json

import pytest

from choice_items import told_items, write_splits
from command_line import run
from tiny_models import save_tiny_encoder


@pytest.fixture
def items(tmp_path):
    """A file of items of which the longer choice with "was" is always right."""
    rows = [
        {
            "id": f"i{i}",
            "prompt": "the rain fell",
            "choices": ["the film was very good", "a dull film"]
            if i % 3
            else ["a poor plot", "the story was very good"],
            "label": 0 if i % 3 else 1,
            "source_id": f"i{i // 2}",
        }
        for i in range(40)
    ]
    file = tmp_path / "items.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return file


class TestCues:
    def test_a_data_set_that_gives_its_answers_away(self, items, capsys):
        done = json.loads(run(capsys, "cues", items, "--json").out)
        said = "\n".join(done["printed"])
        assert "40 items" in said
        assert "solves 100.0% [83.9, 100.0] of" in " ".join(
            said.split()
        )  # Wilson's low end for 20 of 20 pairs: 20 / (20 + 1.96^2)
        said = " ".join(said.split())
        assert "50.0%: the data gives answers away." in said
        assert "10 folds." in said
        figures = done["result"]
        was = next(row for row in figures["cue_statistics"]["cues"] if row["cue"] == "was")
        assert (was["applicability"], was["productivity"]) == (40, 1.0)
        assert len(figures["cue_classifier"]["credits"]) == 40

    def test_the_order_of_the_rows_does_not_matter(self, tmp_path, capsys):
        rows = [
            {**row, "id": f"q{number * 7 % 61}"}
            for number, row in enumerate(told_items(60, told=lambda i: i % 3 > 0))
        ]
        results = []
        for name, version in (("file", rows), ("reversed", rows[::-1])):
            folder = write_splits(tmp_path / name, train=version)
            done = json.loads(run(capsys, "cues", folder / "train.jsonl", "--json").out)
            results.append(done["result"])

        # The folds of the classifier are drawn by position: other folds have other accuracies.
        assert results[0] == results[1]

    def test_pairs_that_are_torn_apart(self, tmp_path, capsys):
        # Each pair offers the same two words of its own, and either is right once: nothing but the pairs is to be had.
        rows = [
            {
                "prompt": "p",
                "choices": [f"red{n // 2}", f"blue{n // 2}"],
                "label": n % 2,
                "pair": n // 2,
            }
            for n in range(60)
        ]
        file = tmp_path / "pairs.jsonl"
        file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
        code, said, _ = run(capsys, "cues", file)
        assert code == 0
        said = " ".join(said.split())
        assert "related items are in different folds" in said
        assert "pass --groups-column" in said
        _, said, _ = run(capsys, "cues", file, "--groups-column", "pair")
        said = " ".join(said.split())
        assert "solves 50.0% [37." in said
        assert "60 items do not rule" in said

    def test_options(self, items, capsys):
        code, said, _ = run(capsys, "cues", items, "--features", "length", "--top", 1)
        assert code == 0
        assert "<longest>" in said
        assert "<shortest>" not in said

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (("--features", "words"), "--features to be one of"),
            (("--groups-column", "pair"), "Expected a column 'pair'"),
            (("--split", "test"), "but got 'test'"),
            (("--choices-column", "options"), "'options'"),
            (("--n-folds", "100"), "at most the number of groups, 20"),
        ],
    )
    def test_mistakes_are_one_sentence(self, items, words, message, capsys):
        code, _, error = run(capsys, "cues", items, *words)
        assert code == 2
        assert message in error
        assert "Traceback" not in error

    @pytest.mark.real_data
    def test_balanced_copa(self, real_data, capsys):
        words = ("--data-dir", real_data, "--features", "unigram")
        code, said, _ = run(capsys, "cues", "balanced_copa", "--config", "original", *words)
        assert code == 0
        row = next(line.split() for line in said.splitlines() if line.startswith("  the "))
        assert row[:3] == ["the", "85", "38.8%"]
        again = run(capsys, "cues", "balanced_copa", "--config", "balanced", *words)
        assert again.code == 0
        assert "solves 50.0% [46.9, 53.1]" in again.out
        assert "50.0%: there is no sign" in " ".join(again.out.split())


class TestSplit:
    def test_parts_the_items(self, items, tmp_path, capsys):
        encoder, data = save_tiny_encoder(tmp_path / "encoder"), tmp_path / "data"
        data.mkdir()
        (data / "test.jsonl").write_text(items.read_text("utf-8"), "utf-8")
        (data / "train.jsonl").write_text(
            items.read_text("utf-8").replace('"id": "i', '"id": "t'), "utf-8"
        )
        words = (
            "data",
            "split",
            data,
            "--model",
            encoder,
            "--out",
            tmp_path / "out",
            "--n-runs",
            2,
        )
        words += ("--epochs", 8, "--learning-rate", 5e-3, "--max-length", 24)
        code, said, _ = run(capsys, *words)
        assert code == 0
        subsets = json.loads((tmp_path / "out" / "easy_hard_subsets.json").read_text("utf-8"))
        assert sorted(subsets["easy"] + subsets["hard"]) == sorted(f"i{i}" for i in range(40))
        assert len(subsets["easy"]) > 30
        assert f"Easy: {len(subsets['easy'])} items" in said
        assert "by chance, 25.0% would be" in said
        assert (tmp_path / "out" / "split.json").exists()
        # A second call reads the runs back.
        again = run(capsys, *words)
        assert again.code == 0
        assert said.splitlines()[-3:] == again.out.splitlines()[-3:]

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ((), "split of"),
            (("--test-split", "test"), "split of"),
        ],
    )
    def test_mistakes_are_one_sentence(self, items, tmp_path, words, message, capsys):
        again = run(
            capsys, "data", "split", items, "--model", tmp_path, "--out", tmp_path / "out", *words
        )
        assert again.code == 2
        assert message in again.err
        assert not (tmp_path / "out").exists()


@pytest.fixture
def tweets(tmp_path):
    """A folder of two splits of made-up tweets, of which the test split alone names its label."""
    folder = tmp_path / "tweets"
    folder.mkdir()
    for split, hashtag in (("train", "monday"), ("test", "sarcasm")):
        rows = []
        for number in range(60):
            label = ("plain", "ironic")[number % 2]
            # Words that both labels have alike, and a hashtag of the ironic ones.
            text = f"rain on train {number // 2 % 5} #{hashtag if number % 2 else 'monday'}"
            rows.append({"id": f"{split}{number}", "text": text, "label": label})
        (folder / f"{split}.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return folder


class TestWordsOfTexts:
    def test_the_split_that_names_its_label_is_found(self, tweets, capsys):
        done = json.loads(run(capsys, "cues", tweets, "--json").out)

        splits = done["result"]
        assert splits["train"]["cues"] == []
        by_word = {cue["word"]: cue for cue in splits["test"]["cues"]}
        assert set(by_word) == {"sarcasm", "monday"}
        cue = by_word["sarcasm"]
        assert (cue["label"], cue["n_texts"], cue["share"], cue["prior"]) == (
            "ironic",
            30,
            1.0,
            0.5,
        )
        said = " ".join("\n".join(done["printed"]).split())
        assert "test: 60 items" in said
        assert "sarcasm ironic 30 100.0% 50.0%" in said

    def test_one_split_and_few_words(self, tweets, capsys):
        code, said, _ = run(capsys, "cues", tweets, "--split", "test", "--top", 1)

        assert code == 0
        assert "train: " not in said
        assert said.count("30  ") == 1
        assert "2 of " in said

    def test_a_text_column_is_named(self, tmp_path, capsys):
        rows = []
        for number in range(40):
            rows.append(
                {
                    "review": f"film {number % 4 // 2} {'dull' if number % 2 else 'fine'}",
                    "y": number % 2,
                }
            )
        file = tmp_path / "reviews.jsonl"
        file.write_text("\n".join(map(json.dumps, rows)), "utf-8")

        done = json.loads(
            run(
                capsys, "cues", file, "--text-column", "review", "--label-column", "y", "--json"
            ).out
        )

        (found,) = done["result"].values()
        assert {cue["word"] for cue in found["cues"]} == {"dull", "fine"}

    def test_a_table_of_neither_is_told_about_choices(self, tmp_path, capsys):
        file = tmp_path / "numbers.csv"
        file.write_text("height,weight\n1,2\n3,4\n", "utf-8")

        code, _, error = run(capsys, "cues", file)

        assert code == 2
        assert "--choices-column" in error

    def test_texts_of_one_label_have_no_cues(self, tmp_path, capsys):
        file = tmp_path / "texts.csv"
        file.write_text("text,label\nfine film,good\nfine plot,good\n", "utf-8")

        code, _, error = run(capsys, "cues", file)

        assert code == 2
        assert "two labels" in error
