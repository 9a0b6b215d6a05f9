"""Where the training texts come from in which shortcuts are found: a file of their own, or half of the items."""

import csv

import numpy as np
import pandas as pd
import pytest
from benchmarks.verdicts.classes import PARTS
from benchmarks.verdicts.texts import draw_labeled_texts

import rightreasons
from shortcuts.planted_models import draw_texts, read_content

NAMES = ("bad", "good")


def table(path, n_items, seed, names=NAMES):
    """Write a file as a German spreadsheet does, with a planted word that agrees with 95 % of the labels."""
    made, labels = draw_labeled_texts(n_items, seed, PARTS["follows a word of .95"].plant)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerows(
            [("review", "label"), *zip(made, (names[label] for label in labels), strict=True)]
        )
    return path


def follower(rows, rule=PARTS["follows a word of .95"].rule):
    logits = np.array([[-rule(text), rule(text)] for text in rows])
    return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)


def three_classes(rows):
    return np.column_stack((0.9 * follower(rows), np.full(len(rows), 0.1)))


def shortcuts(data, tmp_path, rule=follower, **settings):
    model = rightreasons.models.as_scorer(rule, label_names=NAMES)
    how = {
        "questions": ["shortcuts"],
        "out": tmp_path / "report",
        "n_resamples": 30,
        "progress": False,
    }
    result = rightreasons.audit(model, data, **how, **settings)
    return result.to_dict()["questions"][0]


def test_half_of_a_single_file_stands_for_training_texts(tmp_path):
    answer = shortcuts(table(tmp_path / "reviews.csv", 240, 7), tmp_path)
    verdict = answer["result"]["verdict"]
    assert verdict["tone"] == "warn"
    assert {"marble", "copper"} == set(answer["result"]["data"]["swaps"]["pairs"][0]["words"])
    # 240 items: 120 that offer words, and the others are asked about.
    assert "the 120 tested items" in verdict["summary"].replace("All", "the")
    used = "The test used 120 of 240 items: the other 120 replaced the missing training texts."
    assert used in verdict["summary"]
    page = (tmp_path / "report" / "index.html").read_text("utf-8").replace("\n", " ")
    assert "120 items of “data” replace them" in page
    # The items that replace training texts are on the page, too.
    assert ">not tested</td>" in page


def test_training_texts_of_their_own_leave_all_items_to_ask_about(tmp_path):
    train = table(tmp_path / "train.csv", 400, 8)
    answer = shortcuts(table(tmp_path / "reviews.csv", 130, 7), tmp_path, train=str(train))
    assert "130 tested items" in answer["result"]["verdict"]["summary"]
    assert answer["result"]["verdict"]["tone"] == "warn"
    in_memory = shortcuts(
        table(tmp_path / "reviews.csv", 130, 7), tmp_path, train=pd.read_csv(train, sep=";")
    )
    assert in_memory["result"]["verdict"] == answer["result"]["verdict"]
    assert not (tmp_path / "report" / "audit.yaml").exists()  # no command could name the table


def test_training_texts_with_another_label_are_refused(tmp_path):
    train = table(tmp_path / "train.csv", 40, 8, names=("bad", "great"))
    with pytest.raises(
        ValueError,
        match=r"\(bad, good\)",
    ):
        shortcuts(table(tmp_path / "reviews.csv", 40, 7), tmp_path, train=str(train))


def test_few_items_without_training_texts_are_not_halved(tmp_path):
    with pytest.raises(ValueError, match=r"\(`--train`\), and fewer than 100"):
        shortcuts(table(tmp_path / "reviews.csv", 99, 7), tmp_path)


def test_near_duplicates_of_training_texts_are_counted(tmp_path):
    train = table(tmp_path / "train.csv", 400, 8)
    rows = train.read_text("utf-8").splitlines()
    own = table(tmp_path / "own.csv", 100, 7).read_text("utf-8").splitlines()
    # Thirty training texts with a word more at their end: of about ten runs one is new.
    near = [row.replace(";", " indeed;") for row in rows[1:31]]
    (tmp_path / "reviews.csv").write_text("\n".join([*own, *near]), "utf-8")
    answer = shortcuts(tmp_path / "reviews.csv", tmp_path, train=str(train))
    assert answer["result"]["data"]["swaps"]["n_near_duplicates"] == 30
    tables = {table["key"]: table for part in answer["result"]["parts"] for table in part["tables"]}
    assert [row["part"] for row in tables["by_memory"]["rows"]] == [
        "near duplicates of training texts",
        "other items",
    ]


def test_halves_without_a_class_are_told_before_anything_is_computed(tmp_path):
    file = table(tmp_path / "reviews.csv", 120, 7)
    file.write_text(f"{file.read_text('utf-8')}a single odd one;odd\n", "utf-8")
    for seed in range(6):  # the one item is in either half
        model = rightreasons.models.as_scorer(three_classes, label_names=("bad", "good", "odd"))
        how = {"questions": ["shortcuts"], "n_resamples": 30, "progress": False, "seed": seed}
        try:
            result = rightreasons.audit(model, file, out=tmp_path / f"report-{seed}", **how)
        except ValueError as error:
            assert "would replace training texts" in str(error)  # noqa: PT017
            return
        assert result.outcomes[0].status == "answered"
    raise AssertionError("the odd item is in no half")


def follows(word):
    return lambda rows: np.array([[0.2, 0.8] if word in text else [0.8, 0.2] for text in rows])


def test_a_word_of_a_script_without_spaces_is_named(tmp_path):
    kana = np.array(list("かきくけこさしすせそ"))
    rng = np.random.default_rng(3)
    rows = []
    for row in range(240):
        text = "".join(rng.permutation(kana))
        rows.append({"text": text + "たち"[row % 2] + text[:2], "label": NAMES[row % 2]})
    verdict = shortcuts(rows, tmp_path, follows("ち"))["result"]["verdict"]

    assert verdict["tone"] == "warn"
    assert "“ち”" in verdict["label"]


def test_what_decides_a_twentieth_of_the_items_decides_a_rare_label(tmp_path):
    made, _ = draw_labeled_texts(600, 5)
    rows = []
    for row, text in enumerate(made):
        is_rare = row % 20 == 0
        rows.append({"text": f"{text} copper" if is_rare else text, "label": NAMES[is_rare]})
    verdict = shortcuts(rows, tmp_path, follows("copper"))["result"]["verdict"]

    assert verdict["tone"] != "good"


def test_without_training_texts_the_verdict_names_the_option(tmp_path):
    """A reader whose decisions are spread would be green, if its training texts were known."""
    items, labels = draw_texts(600, 1)
    rows = [
        {"text": text, "label": NAMES[label]} for text, label in zip(items, labels, strict=True)
    ]

    def reader(rows):
        odds = np.array([read_content(text) for text in rows])
        return np.column_stack((1 / (1 + np.exp(odds)), 1 / (1 + np.exp(-odds))))

    result = shortcuts(rows, tmp_path, reader)["result"]
    assert result["verdict"]["tone"] == "neutral"
    assert result["verdict"]["label"] == "Inconclusive without training texts"
    assert "`train=`" in result["verdict"]["summary"]


def test_a_word_that_is_no_reason_is_not_blamed_for_its_partner(tmp_path):
    """The model reads "great" alone, which stands where "copper" does not: each is swapped for the other."""
    made, _ = draw_labeled_texts(
        400, 5, lambda draw: draw.words.__setitem__(slice(None), draw.words[:8])
    )
    rows = [
        {"text": f"{text} {('copper', 'great')[place % 2]}", "label": NAMES[place % 2]}
        for place, text in enumerate(made)
    ]
    how = {"rule": follows("great"), "options": {"shortcuts": {"not_reasons": ["copper"]}}}
    assert shortcuts(rows, tmp_path, **how)["result"]["verdict"]["tone"] == "warn"
    how["options"]["shortcuts"]["reasons"] = ["great"]
    assert shortcuts(rows, tmp_path, **how)["result"]["verdict"]["tone"] == "neutral"


def test_a_number_of_items_goes_before_the_budget(tmp_path):
    train = table(tmp_path / "train.csv", 400, 8)
    data = table(tmp_path / "reviews.csv", 150, 7)

    for options, n_items in (({"items": 130, "budget": 1}, 130), ({"budget": 1}, 100)):
        answer = shortcuts(data, tmp_path, train=str(train), options={"shortcuts": options})
        assert answer["result"]["data"]["swaps"]["n_items"] == n_items
        assert f"The test used {n_items} of 150 items." in answer["result"]["verdict"]["summary"]


def test_seconds_warn_and_are_read_as_passes(tmp_path):
    train = table(tmp_path / "train.csv", 400, 8)
    data = table(tmp_path / "reviews.csv", 150, 7)
    options = {"shortcuts": {"seconds": 0.0}}

    with pytest.warns(FutureWarning, match="`seconds` is deprecated"):
        answer = shortcuts(data, tmp_path, train=str(train), options=options)
    assert answer["result"]["data"]["swaps"]["n_items"] == 100
