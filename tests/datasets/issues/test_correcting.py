"""What known issues do to rows: they are left out, relabeled or noted, counted, and said."""

import json

import datasets
import pytest

from rightreasons.core.errors import OptionError
from rightreasons.datasets.builder import load_dataset
from rightreasons.datasets.issues.correcting import correct_dataset, correct_rows, get_note
from rightreasons.datasets.issues.table import Issue
from rightreasons.io.tables import open_dataset

TRAIN = [
    {"id": "a", "text": "A fine film.", "label": 1},
    {"id": "b", "text": "a FINE film", "label": 0},
    {"id": "c", "text": "Dull.", "label": 0},
    {"id": "d", "text": "dull", "label": 0},
    {"id": "e", "text": "So so #irony", "label": 1},
]
TEST = [{"id": "t", "text": "Dull!", "label": 1}, {"id": "u", "text": "So so #irony", "label": 1}]

ITEMS = [
    {"id": "0", "prompt": "Why?", "choices": ["To go.", "to go"], "label": 0},
    {"id": "1", "prompt": "Why?", "choices": ["One.", "Two."], "label": 1},
    {"id": "2", "prompt": "How?", "choices": ["Well.", "Well", "Badly."], "label": 2},
    {"id": "3", "prompt": "When?", "choices": ["Now.", "Later."], "label": -1},
]


def find_ids(rows, rule):
    issue = Issue(kind="issue", rule=rule, action="drop")
    correction = correct_rows(
        rows, [issue], split="train", read_split={"test": TEST}.get, is_published=True
    )
    remaining = {row["id"] for row in correction.rows}
    return [row["id"] for row in rows if row["id"] not in remaining]


@pytest.mark.parametrize(
    ("rule", "ids"),
    [
        # One text with the labels 1 and 0, but for case and marks.
        ({"conflict": {}}, ["a", "b"]),
        ({"conflict": {"exact": True}}, []),
        ({"duplicate": {}}, ["d"]),
        ({"overlap": {"other_split": "test"}}, ["c", "d", "e"]),
        ({"overlap": {"other_split": "test", "conflict": True}}, ["c", "d"]),
        ({"overlap": {"other_split": "test", "conflict": False}}, ["e"]),
        ({"overlap": {"other_split": "test", "exact": True}}, ["e"]),
        ({"shared_text": {"other_split": "test"}}, ["c", "d", "e"]),
        ({"match": {"pattern": "#IRONY", "ignore_case": True}}, ["e"]),
        ({"match": {"pattern": "#IRONY"}}, []),
        ({"hidden": {}}, []),
    ],
)
def test_rules_find_texts(rule, ids):
    assert find_ids(TRAIN, rule) == ids


@pytest.mark.parametrize(
    ("rule", "ids"),
    [
        ({"repeated_prompt": {}}, ["0", "1"]),
        ({"equal_choices": {"with_answer": True}}, ["0"]),
        ({"equal_choices": {"with_answer": False}}, ["2"]),
        ({"hidden": {}}, ["3"]),
        ({"match": {"pattern": "Badly"}}, ["2"]),
    ],
)
def test_rules_find_multiple_choice_items(rule, ids):
    assert find_ids(ITEMS, rule) == ids


def test_a_repaired_item_is_left_alone():
    repaired = [dict(row) for row in TRAIN]
    hashes = [compute_hash(TRAIN[1])]
    repaired[1]["label"] = 1
    issue = Issue(kind="wrong_label", hashes=hashes, action="drop")

    def count_rows(rows):
        return len(correct_rows(rows, [issue], split="train", read_split={}.get).rows)

    assert (count_rows(TRAIN), count_rows(repaired)) == (4, 5)


def compute_hash(row):
    from rightreasons.datasets.issues.rules import make_item

    return make_item(row).compute_hash()


def test_counts_are_asserted_on_a_published_file_alone():
    issue = Issue(kind="copies", rule={"duplicate": {}}, count=2, of=5)

    with pytest.raises(OptionError, match="'copies' in 2") as error:
        correct_rows(TRAIN, [issue], split="train", read_split={}.get, is_published=True)
    assert error.value.option == ("known_issues",)

    correction = correct_rows(TRAIN, [issue], split="train", read_split={}.get)
    assert [count.n_items for count in correction.counts] == [1]


def test_a_dropped_item_is_counted_once():
    conflict = Issue(kind="conflict", rule={"conflict": {}}, action="drop")
    pattern = Issue(kind="pattern", rule={"match": {"pattern": "film"}}, action="drop")

    correction = correct_rows(TRAIN, [conflict, pattern], split="train", read_split={}.get)

    assert [(count.kind, count.n_items) for count in correction.counts] == [("conflict", 2)]
    assert len(correction.rows) == 3


PAIRS = [
    {"id": f"{pair}-{role}", "text": text, "label": label, "pair_id": pair, "role": role}
    for pair, role, text, label in [
        ("p", "original", "A film.", 0),
        ("p", "perturbed", "A  film!", 1),
        ("q", "original", "Good.", 1),
        ("q", "perturbed", "Bad.", 0),
    ]
]


@pytest.mark.parametrize(
    ("drop", "ids"),
    [
        ("item", ["q-original", "q-perturbed"]),
        ("pair", ["q-original", "q-perturbed"]),
        ("perturbed", ["p-original", "q-original", "q-perturbed"]),
    ],
)
def test_what_is_dropped_with_an_unrevised_pair(drop, ids):
    issue = Issue(kind="not_revised", rule={"same_pair_text": {}}, action="drop", drop=drop)

    correction = correct_rows(PAIRS, [issue], split="train", read_split={}.get)

    assert [row["id"] for row in correction.rows] == ids


# -------------------------------------------------------------------------------- a user's own data


@pytest.fixture
def table(tmp_path):
    file = tmp_path / "issues.yaml"
    file.write_text(
        "- {split: train, kind: leak, rule: {overlap: {other_split: test}}, action: drop, count: 3}\n"
        "- {kind: wrong, ids: [a], action: relabel, to: 0, split: train}\n",
        "utf-8",
    )
    return file


def test_a_users_table_corrects_a_users_data(table):
    data = datasets.DatasetDict(
        {
            "train": datasets.Dataset.from_list(TRAIN).add_column("source", list("vwxyz")),
            "test": datasets.Dataset.from_list(TEST),
        }
    )

    corrected = correct_dataset(data, table)

    assert corrected["train"].to_list() == [
        {"id": "a", "text": "A fine film.", "source": "v", "label": 0},
        {"id": "b", "text": "a FINE film", "source": "w", "label": 0},
    ]
    assert corrected["test"].to_list() == TEST
    assert get_note(corrected) == (
        "Known issues: train: 3 of 5 items left out (3 leak), 1 with a corrected label (1 wrong)."
    )


def test_a_file_of_a_user_is_opened_with_the_table(tmp_path, table):
    folder = tmp_path / "mine"
    folder.mkdir()
    for split, rows in (("train", TRAIN), ("test", TEST)):
        lines = [json.dumps(row) for row in rows]
        (folder / f"{split}.jsonl").write_text("\n".join(lines), "utf-8")

    whole = open_dataset(folder, known_issues=str(table))
    part = open_dataset(folder, split="train", known_issues=str(table))
    as_it_is = open_dataset(folder, known_issues="off")

    assert whole["train"]["id"][:] == part["id"][:] == ["a", "b"]
    assert len(as_it_is["train"]) == 5
    assert "3 of 5 items left out" in get_note(part)


def test_without_a_table_a_users_data_stays_as_it_is():
    data = datasets.Dataset.from_list(TRAIN)

    assert correct_dataset(data, True) is data
    assert correct_dataset(data, "off") is data
    assert get_note(data) == ""


# ------------------------------------------------------------------------------------- real files


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "config", "remaining"),
    [
        # 10 contradicting items and one with the correct choice twice; 56 + 7 in train.
        ("socialiqa", None, {"validation": 1954 - 11, "train": 33410 - 63}),
        # 142 copies of test items, 90 with the other label, and a tweet with two labels thrice.
        ("tweeteval_hate", None, {"train": 8993 - 235, "validation": 999, "test": 2970}),
        ("tweeteval_irony", None, {"train": 2862, "validation": 955, "test": 784}),
        ("balanced_copa", "balanced", {"train": 998}),
        ("balanced_copa", "original", {"train": 500}),
        ("imdb_counterfactual", None, {"train": 3414 - 7, "validation": 490, "test": 975}),
    ],
)
def test_the_default_leaves_out_the_known_issues_and_says_so(
    real_data, tmp_path, name, config, remaining
):
    data = load_dataset(name, config, data_dir=real_data, cache_dir=tmp_path)
    again = load_dataset(name, config, data_dir=real_data, cache_dir=tmp_path)

    assert {split: len(part) for split, part in data.items()} == remaining
    assert get_note(again) == get_note(data)
    if any("out" in get_note(part) for part in data.values()):
        assert "left out" in data["train"].info.description


@pytest.mark.real_data
def test_the_note_of_socialiqa_says_each_count(real_data, tmp_path):
    data = load_dataset("socialiqa", split="validation", data_dir=real_data, cache_dir=tmp_path)

    assert (
        "validation: 11 of 1,954 items left out (10 conflicting label, 1 right choice twice), "
        "23 noted (19 duplicate, 4 equal wrong choices)." in get_note(data)
    )


@pytest.mark.real_data
def test_balanced_copa_stays_balanced(real_data, tmp_path):
    from rightreasons.datasets.perturbing.mirroring import check_mirrored

    options = {"split": "train", "data_dir": real_data, "cache_dir": tmp_path}
    balanced = load_dataset("balanced_copa", "balanced", **options)

    check_mirrored(balanced.to_list())
    assert 1381 not in balanced["id"]


@pytest.mark.real_data
def test_a_streamed_split_is_corrected_too(real_data):
    stream = load_dataset("tweeteval_hate", split="train", data_dir=real_data, streaming=True)

    assert sum(1 for _ in stream) == 8993 - 235
