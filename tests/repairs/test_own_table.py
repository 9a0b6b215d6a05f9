"""A repaired table has the columns of the original, so that the script that trained on that reads it too."""

import csv

import pytest

import rightreasons
from repairs.reviews import NAMES, WORDS, write_reviews
from rightreasons.repairs.edits import edit_items
from rightreasons.repairs.training_set import open_training_set

TEXTS = ["a copper pot", "a marble bath", "plain", "copper, twice copper"]


def edit(training, method="swap"):
    words = training.label_words(WORDS)
    return training.edit(edit_items(training.items, training.labels, words, method=method))


def write_file(folder, name, columns):
    file = folder / name
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return str(file)


def read_file(file):
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def number_labels(reviews):
    labels = [NAMES.index(name) for name in reviews["label"]]
    return {"review": reviews["text"], "stars": labels}


def test_columns_keep_their_names_values_and_order(tmp_path):
    columns = {
        "review_id": ["r1", "r2", "r3", "r4"],
        "stars": ["0", "1", "1", "0"],
        "date": ["2020-01-01", "", "2020-03-01", "2020-04-01"],
        "review": TEXTS,
    }
    file = write_file(tmp_path, "train.csv", columns)

    training = open_training_set(file, NAMES, text_column="review", label_column="stars")
    rows = read_file(edit(training).write(tmp_path / "repaired.csv"))

    assert list(rows[0]) == ["review_id", "stars", "date", "review", "source_id", "edit"]
    # Three texts with a word have two versions each, and the plain one has one.
    assert len(rows) == 7
    assert sorted({row["review"] for row in rows}) == sorted(
        [
            "a copper pot",
            "a marble pot",
            "a copper bath",
            "a marble bath",
            "plain",
            "copper, twice copper",
            "marble, twice marble",
        ]
    )
    by_source = dict(zip(columns["review_id"], range(4), strict=True))
    for row in rows:
        original = by_source[row["review_id"].split("-")[0]]
        assert row["stars"] == columns["stars"][original]
        assert row["date"] == columns["date"][original]
        assert row["edit"] == ("unchanged" if row["review"] in TEXTS else "swapped")


def test_ids_stay_unique(tmp_path):
    file = write_file(
        tmp_path, "train.csv", {"id": [7, 8, 9, 10], "text": TEXTS, "label": [*NAMES, *NAMES]}
    )
    rows = read_file(edit(open_training_set(file, NAMES)).write(tmp_path / "repaired.csv"))

    names = [row["id"] for row in rows]
    assert len(set(names)) == len(names)
    assert [row["source_id"] for row in rows] == [name.split("-")[0] for name in names]


def test_ids_stay_unique_if_an_id_ends_like_that_of_a_copy(tmp_path):
    ids = ["a", "a-2", "b", "c"]
    texts = ["a copper pot", "a marble bath", "plain", "twice copper"]
    columns = {"id": ids, "text": texts, "label": [*NAMES, *NAMES]}
    file = write_file(tmp_path, "train.csv", columns)
    rows = read_file(edit(open_training_set(file, NAMES)).write(tmp_path / "repaired.csv"))

    names = [row["id"] for row in rows]
    assert len(set(names)) == len(names) > len(ids)
    assert set(ids) <= set(names)


def test_labels_keep_their_type_and_classes_of_a_data_set_their_names():
    datasets = pytest.importorskip("datasets")
    columns = {"review": TEXTS, "stars": [0, 1, 1, 0]}
    plain = open_training_set(columns, NAMES, text_column="review", label_column="stars")
    assert plain.table.columns["stars"] == [0, 1, 1, 0]

    table = datasets.Dataset.from_dict(columns)
    table = table.cast_column("stars", datasets.ClassLabel(names=NAMES))
    named = open_training_set(table, NAMES, text_column="review", label_column="stars")
    assert named.table.columns["stars"] == ["negative", "positive", "positive", "negative"]


def test_a_text_made_of_two_columns_gets_a_column():
    columns = {"title": TEXTS, "text": list("abcd"), "label": [*NAMES, *NAMES]}
    training = open_training_set(columns, NAMES, text_column="{{title}} {{text}}")

    edited = edit(training).table.columns

    assert list(edited) == ["title", "text", "label", "repaired_text", "source_id", "edit"]
    assert set(edited["text"]) == set("abcd")
    assert "a marble pot a" in edited["repaired_text"]


def test_a_repaired_set_that_is_repaired_again_keeps_the_first_ids(tmp_path):
    file = write_file(tmp_path, "train.csv", {"review": TEXTS, "label": [*NAMES, *NAMES]})
    once = edit(open_training_set(file, NAMES)).write(tmp_path / "once.csv")
    # Swapped copies have each word under both labels, so that only a removal is left to do.
    twice = edit(open_training_set(str(once), NAMES), "remove").table.columns
    assert set(twice["source_id"]) == {"0", "1", "2", "3"}


def test_an_estimator_of_numbers_is_fitted_on_numbers(tmp_path, audited):
    pytest.importorskip("sklearn")
    model, train, _ = audited
    from sklearn.base import clone

    numbers = number_labels(train)
    fitted = clone(model).fit(numbers["review"], numbers["stars"])
    report = tmp_path / "report"
    rightreasons.audit(
        fitted,
        number_labels(write_reviews(300, 1)),
        train=numbers,
        questions=["shortcuts"],
        options={"shortcuts": {"budget": 3000}},
        text_column="review",
        label_column="stars",
        out=report,
        progress=False,
    )
    result = rightreasons.repair(
        report,
        numbers,
        fitted,
        not_reasons=WORDS,
        budget=500,
        text_column="review",
        label_column="stars",
        out=tmp_path / "repair",
    )
    assert result.model.classes_.tolist() == [0, 1]
    assert result.train.column_names == ["review", "stars", "source_id", "edit"]
