"""A user's data set, whatever its form and its columns, in the common schema."""

import json

import datasets
import pytest

from rightreasons.io.resolve import resolve
from rightreasons.io.samples import choose_rows, choose_split, select_labeled_items
from rightreasons.io.tables import open_dataset, open_multiple_choice, open_splits

datasets.disable_progress_bars()

TEXTS = ["Fine, really.", 'He said "no".', "NA"]
LABELS = ["good", "bad", "good"]


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.delenv("RIGHTREASONS_DATA_DIR", raising=False)


def write(path):
    rows = [
        {"Sentence": text, "category": label, "n": n}
        for n, (text, label) in enumerate(zip(TEXTS, LABELS, strict=True))
    ]
    if path.suffix == ".csv":
        path.write_text(
            'Sentence,category,n\n"Fine, really.",good,0\n"He said ""no"".",bad,1\nNA,good,2\n',
            "utf-8",
        )
    elif path.suffix == ".tsv":
        path.write_text(
            'Sentence\tcategory\tn\nFine, really.\tgood\t0\nHe said "no".\tbad\t1\nNA\tgood\t2\n',
            "utf-8",
        )
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    elif path.suffix == ".json":
        path.write_text(json.dumps({"version": 1, "data": rows}), "utf-8")
    elif path.suffix == ".parquet":
        datasets.Dataset.from_list(rows).to_parquet(path)
    elif path.name == "saved":
        datasets.Dataset.from_list(rows).save_to_disk(path)
    else:
        path.mkdir()
        (path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        (path / "test.jsonl").write_text(json.dumps(rows[1]) + "\n", "utf-8")
    return path


@pytest.mark.parametrize(
    "form", ["a.csv", "a.tsv", "a.jsonl", "a.json", "a.parquet", "saved", "folder"]
)
def test_every_form_gives_the_same(tmp_path, form):
    path = write(tmp_path / form)
    split = "train" if form == "folder" else None
    data = open_dataset(path, split=split)
    assert list(data.features) == ["id", "text", "label", "n"]
    assert data["text"][:] == TEXTS
    assert data.features["label"].names == ["bad", "good"]
    assert data["label"][:] == [1, 0, 1]
    assert data["id"][:] == (
        ["train-0", "train-1", "train-2"] if form == "folder" else ["0", "1", "2"]
    )
    assert open_dataset(str(path), split=split)["text"][:] == TEXTS  # a string is a path as well


def test_all_splits_share_the_names_of_the_classes(tmp_path):
    data = open_dataset(write(tmp_path / "folder"))
    assert isinstance(data, datasets.DatasetDict)
    assert data["test"].features["label"].names == [
        "bad",
        "good",
    ]  # the test split alone holds "bad" only
    assert data["test"]["label"][:] == [0]
    saved = datasets.DatasetDict(
        {"train": datasets.Dataset.from_dict({"text": ["a"], "label": [1]})}
    )
    saved.save_to_disk(tmp_path / "dict")
    assert open_dataset(tmp_path / "dict", split="train").features["label"].names == ["0", "1"]


def test_a_name_of_the_catalog_keeps_its_other_columns():
    data = open_dataset("planted_shortcuts", "function", split="test_flipped", limit=10)
    assert list(data.features)[:3] == ["id", "text", "label"]
    assert "planted" in data.features
    assert data.features["label"].names == ["negative", "positive"]
    assert len(data) == 10
    item = data[0]
    assert item["planted"][0]["token"] in ("then", "again")
    assert str(data.split) == "test_flipped"


@pytest.mark.real_data
def test_a_published_data_set_by_its_name(real_data):
    data = open_dataset("trec", split="test", data_dir=real_data)
    assert len(data) == 500
    assert data.features["label"].names == ["ABBR", "ENTY", "DESC", "HUM", "LOC", "NUM"]


@pytest.mark.real_data
def test_the_files_of_a_published_data_set_as_a_users_own(real_data):
    data = open_dataset(real_data / "sst2" / "test.tsv", column_names=("text", "label"))
    assert len(data) == 1821
    assert data.features["label"].names == ["0", "1"]


@pytest.mark.parametrize(
    ("labels", "options", "names", "ids"),
    [
        ([0, 2, 1], {}, ["0", "1", "2"], [0, 2, 1]),
        (["1", "0", "1"], {}, ["0", "1"], [1, 0, 1]),
        ([True, False, True], {}, ["false", "true"], [1, 0, 1]),
        ([1.0, 0.0, 1.0], {}, ["0", "1"], [1, 0, 1]),
        ([2, -1, None], {}, ["0", "1", "2"], [2, -1, -1]),
        (["b", "a", "b"], {"label_names": ["b", "a"]}, ["b", "a"], [0, 1, 0]),
        ([1, 0, 1], {"label_names": ["no", "yes"]}, ["no", "yes"], [1, 0, 1]),
        ([1, 3, 2], {"label_names": ["1", "2", "3"]}, ["1", "2", "3"], [0, 2, 1]),
    ],
)
def test_labels_of_every_kind(labels, options, names, ids):
    rows = datasets.Dataset.from_dict({"text": list("abc"), "label": labels})
    data = open_dataset(rows, **options)
    assert data.features["label"].names == names
    assert data["label"][:] == ids


def test_class_labels_keep_their_names_or_take_new_ones():
    features = datasets.Features(
        {
            "text": datasets.Value("string"),
            "label": datasets.ClassLabel(names=["positive", "negative"]),
        }
    )
    rows = datasets.Dataset.from_dict({"text": ["a", "b"], "label": [0, 1]}, features=features)
    assert open_dataset(rows).features["label"].names == ["positive", "negative"]
    # The same names in another order or another case: the ids follow the names.
    assert open_dataset(rows, label_names=["negative", "positive"])["label"][:] == [1, 0]
    assert open_dataset(rows, label_names=["Neutral", "Negative", "Positive"])["label"][:] == [2, 1]
    for others in (["yes", "no"], ["a", "b", "c"]):
        with pytest.raises(
            ValueError,
            match=rf"Expected the labels {', '.join(others)} in .*, but the labels are positive, negative",
        ):
            open_dataset(rows, label_names=others)


def test_pairs_of_texts():
    rows = datasets.Dataset.from_dict({"premise": ["p"], "hypothesis": ["h"], "label": [0]})
    data = open_dataset(rows)
    assert (data["text"][0], data["text_pair"][0]) == ("p", "h")
    named = open_dataset(rows, text_column="hypothesis", text_pair_column="premise")
    assert (named["text"][0], named["text_pair"][0]) == ("h", "p")
    alone = open_dataset(rows, text_column="hypothesis")
    assert list(alone.features) == ["id", "text", "label", "premise"]


def test_ids_come_from_a_column_if_they_are_unique():
    rows = {"text": ["a", "b"], "label": [0, 1]}
    assert open_dataset(datasets.Dataset.from_dict({**rows, "guid": [7, 9]}))["id"][:] == ["7", "9"]
    assert open_dataset(datasets.Dataset.from_dict({**rows, "idx": [7, 7]}))["id"][:] == ["0", "1"]
    with pytest.raises(ValueError, match="'7' is repeated at item 1"):
        open_dataset(datasets.Dataset.from_dict({**rows, "idx": [7, 7]}), id_column="idx")


def test_empty_texts_are_an_error_or_left_out_on_demand():
    rows = datasets.Dataset.from_dict({"text": ["a", "  ", None, "d"], "label": [0, 1, 1, 0]})
    with pytest.raises(ValueError, match="empty. Exclude empty rows"):
        open_dataset(rows)
    data = open_dataset(rows, drop_empty=True)
    assert (data["text"][:], data["id"][:], data["label"][:]) == (["a", "d"], ["0", "3"], [0, 0])


def test_data_without_labels_on_demand():
    rows = datasets.Dataset.from_dict({"text": ["a", "b"]})
    assert list(open_dataset(rows, require_labels=False).features) == ["id", "text"]


def test_a_limit_goes_by_seed_and_id_alone():
    n = 400
    rows = {
        "id": [f"i{k}" for k in range(n)],
        "text": ["x"] * n,
        "label": [int(k % 4 == 0) for k in range(n)],
    }
    data = datasets.Dataset.from_dict(rows)
    few, more = open_dataset(data, limit=40), open_dataset(data, limit=80)
    assert len(few) == 40
    assert set(few["id"]) < set(more["id"])
    shuffled = data.shuffle(seed=1)
    assert set(open_dataset(shuffled, limit=40)["id"]) == set(few["id"])
    assert set(open_dataset(data, limit=40, seed=1)["id"]) != set(few["id"])
    assert len(open_dataset(data, limit=10_000)) == n
    # The same items as the audit's, and as those of a set of another task.
    assert few["id"][:] == [f"i{row}" for row in choose_rows(rows["id"], 40)]
    items = {"id": rows["id"], "prompt": ["x"] * n, "choices": [["a", "b"]] * n, "label": [0] * n}
    assert (
        open_multiple_choice(datasets.Dataset.from_dict(items), limit=40)["id"][:] == few["id"][:]
    )


def table(*labels):
    return datasets.Dataset.from_dict(
        {"text": [f"t{k}" for k in range(len(labels))], "label": list(labels)}
    )


def test_every_split_by_its_name(tmp_path):
    assert {name: len(rows) for name, rows in open_splits(write(tmp_path / "folder")).items()} == {
        "train": 3,
        "test": 1,
    }
    assert list(open_splits(table(0, 1))) == ["data"]
    assert list(open_splits("planted_shortcuts", "function", split="test_flipped", limit=3)) == [
        "test_flipped"
    ]
    pieces = open_splits(
        {"late": table(1), "soon": table(0, 2, 1)}
    )  # the classes of all splits together
    assert pieces["late"].features["label"].names == ["0", "1", "2"]
    rows = datasets.Dataset.from_list([FORMS["piqa"]])
    assert open_splits({"dev": rows}, task="multiple_choice")["dev"]["choices"][0] == ["a", "b"]
    with pytest.raises(ValueError, match="`task`.*regression"):
        open_splits(rows, task="regression")


def test_a_column_that_names_the_split_of_every_row():
    rows = {
        "text": ["a", "b", "c", "d"],
        "label": ["no", "yes", "yes", "no"],
        "split": ["Train", "dev", "train", "test"],
    }
    splits = open_splits(rows)
    assert {split: items["text"][:] for split, items in splits.items()} == {
        "train": ["a", "c"],
        "validation": ["b"],
        "test": ["d"],
    }
    assert {split: items["label"][:] for split, items in splits.items()} == {
        "train": [0, 1],
        "validation": [1],
        "test": [0],
    }
    assert open_dataset(rows, split="train")["text"][:] == ["a", "c"]
    assert resolve(rows).splits == {"train": 2, "validation": 1, "test": 1}
    for other in (
        ["train"] * 4,
        ["train", "test", None, "test"],
        ["train", "test", "late", "test"],
        [0, 1, 0, 1],
    ):
        assert list(open_splits({**rows, "split": other})) == ["data"]
    predictions = {"p_no": [0.9, 0.2, 0.1, 0.8], **rows, "p_yes": [0.1, 0.8, 0.9, 0.2]}
    assert resolve(predictions).splits == {"data": 4}


def test_the_split_that_is_chosen():
    some, none = table(-1, 1), table(-1, -1)
    splits = {"extra": some, "train": some, "test": none, "validation": some}
    assert choose_split(splits, source_name="x") == "validation"
    assert choose_split(splits, "extra", source_name="x") == "extra"
    assert choose_split({"train": some, "test": none}, source_name="x") == "test"
    assert choose_split({"train": some, "test": none}, source_name="x", takes_any=True) == "train"
    assert choose_split(splits, source_name="x", preferred=("test", "train")) == "train"
    assert choose_split({"train": none}, source_name="x") == "train"
    with pytest.raises(ValueError, match="x .*test, validation.*"):
        choose_split({"a": some, "b": some}, source_name="x")
    with pytest.raises(ValueError, match="split of x.*Did you mean 'extra'"):
        choose_split(splits, "extr", source_name="x")
    assert select_labeled_items(some)["text"][:] == ["t1"]
    first = table(-1, 0)  # the first class is a label
    assert select_labeled_items(first)["text"][:] == ["t1"]
    assert choose_split({"test": none, "validation": first}, source_name="x") == "validation"


@pytest.mark.parametrize(
    ("columns", "options", "error", "message"),
    [
        (
            {"a": ["x"], "b": [1]},
            {},
            ValueError,
            "[^.]*_label; name",
        ),
        (
            {"a": ["x"], "label": [1]},
            {},
            ValueError,
            "a, label; name",
        ),
        (
            {"text": ["x"], "label": [1]},
            {"text_column": "txt"},
            ValueError,
            "'txt' that `text_column` names.*'text'",
        ),
        (
            {"text": ["x"], "label": [1]},
            {"label_column": 3},
            TypeError,
            "`label_column` to be a text, but got 3",
        ),
        (
            {"text": [5], "label": [1]},
            {},
            TypeError,
            r"holds 5 \(int\)",
        ),
        (
            {"text": ["x"], "label": [0.5]},
            {},
            ValueError,
            "Expected class labels .* row 0 holds 0.5",
        ),
        ({"text": ["x"], "label": [-3]}, {}, ValueError, "Expected class labels .* row 0 holds -3"),
        (
            {"text": ["x"], "label": [[4, 27]]},
            {},
            ValueError,
            r"\[4, 27\]. For items",
        ),
        (
            {"text": ["x"], "label": [2]},
            {"label_names": ["n", "p"]},
            ValueError,
            "unambiguous numbers",
        ),
        (
            {"text": ["x"], "label": ["pos"]},
            {"label_names": ["neg", "poss"]},
            ValueError,
            "holds 'pos'.*mean 'poss'",
        ),
        ({"text": ["x"], "label": [1]}, {"split": "test"}, ValueError, "has no splits"),
        ({"text": ["x"], "label": [1]}, {"limit": 0}, ValueError, "`limit` to be at least 1"),
        (
            {"prompt": ["x"], "choices": [["a", "b"]], "label": [1]},
            {},
            ValueError,
            "classify .*its",
        ),
        (
            {
                "question": [{"stem": "x", "choices": [{"label": "A", "text": "a"}]}],
                "answerKey": ["A"],
            },
            {"label_column": "answerKey"},
            ValueError,
            "question.stem, question.choices",
        ),
        (
            {"text": ["x"], "label": [1]},
            {"label_names": "ab"},
            TypeError,
            "`label_names` to be a list, but got 'ab'",
        ),
    ],
)
def test_what_is_wrong_is_one_sentence(columns, options, error, message):
    with pytest.raises(error, match=message):
        open_dataset(datasets.Dataset.from_dict(columns), **options)


def test_prompts_of_multiple_choice_are_classified_on_demand():
    items = datasets.Dataset.from_dict(
        {"prompt": ["x", "y"], "choices": [["a", "b"]] * 2, "label": [1, 0], "kind": ["m", "n"]}
    )
    assert open_dataset(items, text_column="prompt")["text"][:] == ["x", "y"]
    assert open_dataset(items, label_column="kind").features["label"].names == ["m", "n"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "text,label\nfine,1\nbad\n", "Expected 2 columns .* row 1 has 1"),
        ("a.csv", "text,label\n", "at least one row"),
        ("a.csv", "", "at least one row"),
        (
            "a.csv",
            "text,label,text\na,1,b\n",
            "needed, occurs twice",
        ),
        ("a.csv", "text;label\na, b;1;2\n", r"\(text, label\)"),
        ("a.jsonl", '{"text": "a"}\n{broken\n', "parsing failed at line 2, column 2"),
        ("a.jsonl", "3\n", "line 1 holds 3"),
        ("a.json", '"text"', "a list of records"),
        ("a.parquet", "no parquet", "Expected a parquet file"),
        ("a.docx", "x", r"of type \.csv, "),
    ],
)
def test_a_bad_file_is_one_sentence(tmp_path, name, content, message):
    (tmp_path / name).write_text(content, "utf-8")
    with pytest.raises(ValueError, match=message) as caught:
        open_dataset(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"text,label\n\xff\x00\xf0,1\n")
    with pytest.raises(ValueError, match="[Ss]et `encoding`"):
        open_dataset(tmp_path / "a.csv")


def test_what_is_nowhere(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no such file or folder"):
        open_dataset(tmp_path / "none.csv")
    with pytest.raises(
        ValueError,
        match="mean 'planted_shortcuts'",
    ):
        open_dataset("planted_shortcut")
    with pytest.raises(TypeError, match="name, its path"):
        open_dataset(3)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="Expected a folder of data files"):
        open_dataset(tmp_path / "empty")
    with pytest.raises(ValueError, match="split of .*Did you mean 'train'"):
        open_dataset(write(tmp_path / "folder"), split="trian")


# ------------------------------------------------------------------------------------------------------ multiple choice

FORMS = {
    "schema": {"prompt": "p", "choices": ["a", "b"], "label": 1},
    "hellaswag": {"ind": 4, "ctx": "p", "endings": ["a", "b"], "label": "1"},
    "piqa": {"goal": "p", "sol1": "a", "sol2": "b", "label": 1},
    "socialiqa": {
        "context": "p",
        "question": "",
        "answerA": "a",
        "answerB": "b",
        "answerC": "c",
        "label": "2",
    },
    "anli": {
        "observation_1": "p",
        "observation_2": " ",
        "hypothesis_1": "a",
        "hypothesis_2": "b",
        "label": "2",
    },
    "arc": {
        "question": "p",
        "choices": {"text": ["a", "b"], "label": ["A", "B"]},
        "answerKey": "B",
    },
    "arc numbers": {
        "question": "p",
        "choices": {"text": ["a", "b"], "label": ["1", "2"]},
        "answerKey": "2",
    },
    "records": {
        "question": "p",
        "choices": [{"text": "a", "label": "X"}, {"text": "b", "label": "Y"}],
        "answerKey": "Y",
    },
    "swag": {
        "startphrase": "p",
        "ending0": "a",
        "ending1": "b",
        "ending2": "c",
        "ending3": "d",
        "label": 1,
    },
    "winogrande": {"sentence": "p", "option1": "a", "option2": "b", "answer": "2"},
    "letters": {"question": "p", "A": "a", "B": "b", "C": "c", "D": "d", "answer": "B"},
    "mmlu": {"question": "p", "choices": ["a", "b"], "answer": 1},
    "text of the answer": {"question": "p", "options": ["a", "b"], "answer": "b"},
    "arc as released": {
        "question": {
            "stem": "p",
            "choices": [{"text": "a", "label": "1"}, {"text": "b", "label": "2"}],
        },
        "answerKey": "2",
    },
    "commonsenseqa as released": {
        "question": {
            "question_concept": "x",
            "choices": [{"label": "A", "text": "a"}, {"label": "B", "text": "b"}],
            "stem": "p",
        },
        "answerKey": "B",
    },
    "anli recast": {
        "context": "p",
        "question": {
            "stem": "",
            "choices": [{"label": "A", "text": "a"}, {"label": "B", "text": "b"}],
        },
        "answerKey": "B",
    },
    "socialiqa letters": {
        "context": "p",
        "question": "",
        "answerA": "a",
        "answerB": "b",
        "answerC": "c",
        "correct": "B",
    },
    "socialiqa numbers": {
        "context": "p",
        "question": "",
        "answerA": "a",
        "answerB": "b",
        "answerC": "c",
        "correct": 2.0,
    },
    "medqa": {
        "question": "p",
        "options": {"B": "b", "A": "a", "C": None},
        "answer": "b",
        "answer_idx": "B",
    },
    "aqua": {"question": "p", "options": ["a", "b"], "correct": "B"},
    "counted": {"prompt": "p", "choice_0": "a", "choice_1": "b", "label": 1},
    "lettered": {"query": "p", "option_b": "b", "option_a": "a", "gold": "B"},
}


@pytest.mark.parametrize("form", FORMS)
def test_the_usual_forms(form):
    data = open_multiple_choice(datasets.Dataset.from_list([FORMS[form]]))
    assert list(data.features)[:4] == ["id", "prompt", "choices", "label"]
    item = data[0]
    assert (item["prompt"], item["choices"][:2], item["label"]) == ("p", ["a", "b"], 1)
    assert item["id"] == ("4" if form == "hellaswag" else "0")


def test_a_column_for_each_choice(tmp_path):
    # Ten choices in columns counted from 1, out of order; the second item has two of them, the third three.
    names = [f"Choice {n}" for n in (10, *range(1, 10))]
    rows = [
        ["a trip", "why", *(f"c{n}" for n in (10, *range(1, 10))), "10"],
        ["a trip", "who", "", "me", "you", *[""] * 7, "1"],
        ["a trip", "how", "", "well", "so", "ill", *[""] * 6, "2"],
    ]
    path = tmp_path / "items.csv"
    path.write_text(
        "\n".join(",".join(row) for row in (["Context", "Question", *names, "Answer"], *rows)),
        "utf-8",
    )
    with pytest.raises(ValueError, match="row 0 holds .10.. If the values are numbers"):
        open_multiple_choice(path)
    items = open_multiple_choice(path, first_label=1)
    assert items["prompt"][:] == ["a trip why", "a trip who", "a trip how"]
    assert items["choices"][:] == [
        [f"c{n}" for n in range(1, 11)],
        ["me", "you"],
        ["well", "so", "ill"],
    ]
    assert items["label"][:] == [9, 0, 1]
    with pytest.raises(ValueError, match="Expected texts to classify"):
        open_dataset(path)
    # Columns counted from 0 say so of the labels, too.
    zero = datasets.Dataset.from_list(
        [{"stem": "p", "answer_0": "a", "answer_1": "b", "label": 1, "answer_x": "c"}]
    )
    assert open_multiple_choice(zero, prompt_column="stem")["label"][:] == [1]
    gap = zero.rename_column("answer_1", "answer_2")
    with pytest.raises(ValueError, match="in a known format"):
        open_multiple_choice(gap)


def test_a_right_choice_means_one_thing():
    sums = [
        {"question": "1 + 1", "options": ["2", "3", "1"], "answer": "2"},
        {"question": "1 + 2", "options": ["1", "3", "5"], "answer": "1"},
    ]
    with pytest.raises(ValueError, match="holds '2', which") as error:
        open_multiple_choice(datasets.Dataset.from_list(sums))
    # As the message advises, the first answer is the text "2" of choice 0, and the second one "1".
    expression = "{{ options.index(answer) }}"
    assert f"`choices_column` to 'options', `label_column` to \"{expression}\"" in str(error.value)
    settled = open_multiple_choice(
        datasets.Dataset.from_list(sums),
        choices_column="options",
        label_column=expression,
        first_label=0,
    )
    assert settled["label"][:] == [0, 0]
    assert open_multiple_choice(datasets.Dataset.from_list(sums), first_label=0)["label"][:] == [
        2,
        1,
    ]
    sums[0]["answer"] = "3"  # no number of a choice, so all of them are texts
    assert open_multiple_choice(datasets.Dataset.from_list(sums))["label"][:] == [1, 0]
    named = [
        {"question": "p", "choices": {"text": ["1", "2"], "label": ["2", "1"]}, "answerKey": "1"}
    ]
    assert open_multiple_choice(datasets.Dataset.from_list(named))["label"][:] == [1]
    sums[1]["answer"] = "B"
    with pytest.raises(ValueError, match="they are mixed"):
        open_multiple_choice(datasets.Dataset.from_list(sums))


def test_nested_columns_by_dotted_names(tmp_path):
    rows = [
        {
            "q": {
                "stem": "Who?",
                "options": [{"t": "I"}, {"t": "You"}],
                "meta": {"gold": 1, "key": "a"},
            }
        },
        {
            "q": {
                "stem": "What?",
                "options": [{"t": "It"}, {"t": "That"}],
                "meta": {"gold": 0, "key": "b"},
            }
        },
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    data = open_multiple_choice(
        path,
        prompt_column="q.stem",
        choices_column="q.options.t",
        label_column="q.meta.gold",
        id_column="q.meta.key",
    )
    assert data.to_list()[1] == {
        "id": "b",
        "prompt": "What?",
        "choices": ["It", "That"],
        "label": 0,
        "q": rows[1]["q"],
    }
    texts = open_dataset(path, text_column="q.stem", label_column="q.meta.key").select([1, 0])
    assert texts["text"][:] == ["What?", "Who?"]
    assert open_dataset(texts, text_column="q.stem")["text"][:] == [
        "What?",
        "Who?",
    ]  # rows in another order
    with pytest.raises(ValueError, match="`text_column` names.*Did"):
        open_dataset(path, text_column="q.stm", label_column="q.meta.key")


def test_an_alpha_nli_file_in_the_form_of_commonsenseqa(real_data):
    data = open_multiple_choice(real_data / "anli/anli_dev.jsonl")
    assert len(data) == 1532
    assert data[0]["prompt"].startswith(
        "Ron started his new job as a landscaper today. Ron is immediately fired"
    )
    right = [next(s["statement"] for s in row if s["label"]) for row in data["statements"]]
    assert all(
        choices[label] in statement
        for choices, label, statement in zip(data["choices"], data["label"], right, strict=True)
    )


def quiz(labels, first=("red", "blue-green", "Green"), **columns):
    rows = [[f"{word} {row}" if row else word for word in first] for row in range(len(labels))]
    return datasets.Dataset.from_dict(
        {"ask": ["?"] * len(labels), "options": rows, "right": labels, **columns}
    )


def read_quiz(data, **options):
    opened = open_multiple_choice(
        data, prompt_column="ask", choices_column="options", label_column="right", **options
    )
    return (
        opened["label"][:]
        if isinstance(opened, datasets.Dataset)
        else {p: d["label"][:] for p, d in opened.items()}
    )


@pytest.mark.parametrize(
    ("labels", "read"),
    [
        ([1, 0, 1], [1, 0, 1]),
        ([3, 1, 2], [2, 0, 1]),  # all from 1 to 3
        (["2.0", "1.0", "3.0"], [1, 0, 2]),
        ([0, 2, None, -1], [0, 2, -1, -1]),
        ([0.0, float("nan"), 2.0], [0, -1, 2]),
        (["a", "C", "-", ""], [0, 2, -1, -1]),
        (["RED", "green 1", "Blue_Green 2", "-1.0"], [0, 2, 1, -1]),
    ],
)
def test_right_choices_are_numbers_letters_or_texts_of_their_items(labels, read):
    assert read_quiz(quiz(labels)) == read


def test_numbers_of_choices_in_doubt_are_refused():
    with pytest.raises(
        ValueError,
        match="which may count",
    ):
        read_quiz(quiz([1, 2, 1]))
    assert read_quiz(quiz([1, 2, 1]), first_label=1) == [0, 1, 0]
    assert read_quiz(quiz([1, 2, 1]), first_label=0) == [1, 2, 1]
    # Another split tells it, a known format does not ask.
    assert read_quiz({"train": quiz([1, 2, 1]), "test": quiz([0, 2])}) == {
        "train": [1, 2, 1],
        "test": [0, 2],
    }
    assert read_quiz({"train": quiz([1, 2, 1]), "test": quiz([3, 3])}) == {
        "train": [0, 1, 0],
        "test": [2, 2],
    }
    known = quiz([1, 2, 1]).rename_columns(
        {"ask": "prompt", "options": "choices", "right": "label"}
    )
    assert open_multiple_choice(known)["label"][:] == [1, 2, 1]
    with pytest.raises(ValueError, match="the text of a choice .* row 0 holds 7"):
        read_quiz(quiz([7, 1, 1]))


def test_names_of_a_class_label_are_those_of_choices():
    def labeled(names, labels):
        return quiz(labels).cast_column("right", datasets.ClassLabel(names=names))

    assert read_quiz(labeled(["C", "B", "A"], [0, 1, 2, -1])) == [2, 1, 0, -1]
    assert (
        read_quiz(labeled(["1", "2", "3"], [0, 1, 1]))
        == [0, 1, 1]
        == read_quiz(labeled(["x", "y", "z"], [0, 1, 1]))
    )
    known = labeled(["1", "2", "3"], [0, 0, 1]).rename_columns(
        {"ask": "prompt", "options": "choices", "right": "label"}
    )
    assert open_multiple_choice(known)["label"][:] == [0, 0, 1]
    with pytest.raises(ValueError, match="row 0 holds 'x'"):
        read_quiz(labeled(["x", "y", "z", "w"], [0, 1, 3]))


def test_minus_one_and_a_hyphen_may_be_choices():
    data = quiz(["-1", "+ 1", "-"], first=("-1", "+", "-"))
    data = data.map(lambda row, number: {"options": ["-1", "+ 1", "-"]}, with_indices=True)
    assert read_quiz(data) == [0, 1, 2]


def test_copa_asks_in_its_own_words():
    rows = {
        "premise": ["It rained."] * 2,
        "question": ["cause", "effect"],
        "choice1": ["a"] * 2,
        "choice2": ["b"] * 2,
    }
    data = open_multiple_choice(datasets.Dataset.from_dict({**rows, "label": [0, 1]}))
    assert data["prompt"][:] == [
        "It rained. What was the cause?",
        "It rained. What happened as a result?",
    ]


def test_named_columns_of_an_own_form(tmp_path):
    path = tmp_path / "quiz.csv"
    path.write_text("setting,ask,x,y,right\nHere.,Who?,I,You,2\nThere.,Who?,I,You,1\n", "utf-8")
    data = open_multiple_choice(
        path,
        prompt_column=("setting", "ask"),
        choices_column=("x", "y"),
        label_column="right",
        first_label=1,
    )
    assert data["prompt"][0] == "Here. Who?"
    assert data["label"][:] == [1, 0]


def test_a_file_of_rows_without_answers():
    rows = datasets.Dataset.from_dict({"goal": ["p"], "sol1": ["a"], "sol2": ["b"]})
    assert open_multiple_choice(rows, require_labels=False)["label"][:] == [-1]
    with pytest.raises(ValueError, match="right choices"):
        open_multiple_choice(rows)


@pytest.mark.parametrize(
    ("row", "options", "error", "message"),
    [
        (
            {"text": "a"},
            {},
            ValueError,
            "known format",
        ),
        ({**FORMS["piqa"], "label": 2}, {}, ValueError, "the text of a choice .* row 0 holds 2"),
        (
            {**FORMS["piqa"], "label": 0},
            {"first_label": 1},
            ValueError,
            "row 0 holds 0. If the values are numbers",
        ),
        ({**FORMS["piqa"], "label": "9" * 5000}, {}, ValueError, "row 0 holds .9999999999"),
        (
            {**FORMS["piqa"], "label": 0.5},
            {},
            ValueError,
            "row 0 holds 0.5",
        ),
        (
            {**FORMS["piqa"], "label": "maybe"},
            {},
            ValueError,
            "number, the letter",
        ),
        (
            {**FORMS["piqa"], "label": True},
            {},
            ValueError,
            "0 holds True",
        ),
        (
            {**FORMS["piqa"], "label": False},
            {},
            ValueError,
            "0 holds False",
        ),
        ({**FORMS["piqa"], "sol1": None}, {}, TypeError, "a list of texts, but row 0 holds"),
        (
            {**FORMS["schema"], "choices": ["a"]},
            {},
            ValueError,
            "at least two choices .* row 0 has 1",
        ),
        (
            {**FORMS["schema"], "prompt": " "},
            {},
            ValueError,
            "a prompt in each row of .* row 0 holds ''",
        ),
        ({**FORMS["schema"], "prompt": 3}, {}, TypeError, "Expected texts in the column 'prompt'"),
        (
            FORMS["schema"],
            {"choices_column": "option"},
            ValueError,
            "'option' that `choices_column` names",
        ),
    ],
)
def test_what_is_wrong_with_choices(row, options, error, message):
    with pytest.raises(error, match=message):
        open_multiple_choice(datasets.Dataset.from_list([row]), **options)


def test_lists_of_choices_in_cells_of_csv_are_read_as_pandas_and_json_write_them(tmp_path):
    # One cell is a list as Python prints it, and one as JSON.
    (tmp_path / "a.csv").write_text(
        'question,choices,answer\n"Sky?","[\'blue\', ""it\'s red""]",0\n'
        '"Sea?","[""red"", ""blue""]",1\n',
        "utf-8",
    )

    items = open_multiple_choice(tmp_path / "a.csv")

    assert items["choices"][:] == [["blue", "it's red"], ["red", "blue"]]
    assert items["label"][:] == [0, 1]


def test_folders_of_one_name_are_read_each_as_it_is(tmp_path):
    """`datasets` would serve the second from the cache of the first: same name, same names of files."""
    for place, label in (("a", "good"), ("b", "bad")):
        rows = datasets.Dataset.from_dict({"id": [place], "text": ["fine"], "label": [label]})
        (tmp_path / place / "mine").mkdir(parents=True)
        rows.to_parquet(tmp_path / place / "mine" / "train.parquet")
        (tmp_path / place / "mine" / "README.md").write_text(
            "---\nconfigs:\n- config_name: default\n  data_files: train.parquet\n---\n", "utf-8"
        )
    found = [open_splits(str(tmp_path / place / "mine"))["train"]["id"][:] for place in "ab"]
    assert found == [["a"], ["b"]]


def test_a_table_whose_marks_are_no_quotes(tmp_path):
    (tmp_path / "a.csv").write_text('text,label\n"Fine,up\nDull,down\n', "utf-8")
    with pytest.raises(ValueError, match="every quotation"):
        open_dataset(tmp_path / "a.csv")
    assert open_dataset(tmp_path / "a.csv", quote="none")["text"][:] == ['"Fine', "Dull"]
