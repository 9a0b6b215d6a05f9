"""Files and folders of rows: the same cells in either, or one sentence; and no input that exhausts memory."""

import csv
import io
import json
import random
import resource
import subprocess
import sys
import zipfile

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from rightreasons.core.errors import OptionError
from rightreasons.io import arrow_tables
from rightreasons.io.arrow_tables import make_column, read_values
from rightreasons.io.columns import get_values
from rightreasons.io.files import documents, text_files
from rightreasons.io.files.readers import read_file
from rightreasons.io.options import FileForm
from rightreasons.io.reading import as_table

datasets.disable_progress_bars()

ODD = [
    "NA",
    "None",
    "null",
    "",
    "007",
    "1.50",
    ' "quoted" ',
    "two\nlines",
    "x" * 200_000,
    "\u2028",
    "nan",
    "True",
]


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


def write(path, rows):
    path.parent.mkdir(exist_ok=True, parents=True)
    with open(path, "w", encoding="utf-8", newline="") as stream:
        if path.suffix == ".csv":
            csv.writer(stream).writerows(
                [["text", "n"], *([row["text"], row["n"]] for row in rows)]
            )
        elif path.suffix == ".tsv":
            stream.writelines(
                f"{row['text']}\t{row['n']}\n" for row in ({"text": "text", "n": "n"}, *rows)
            )
        elif path.suffix == ".jsonl":
            stream.writelines(json.dumps(row) + "\n" for row in rows)
        elif path.suffix == ".json":
            json.dump(rows, stream)
    if path.suffix == ".parquet":
        datasets.Dataset.from_list(rows).to_parquet(path)
    return path


# ------------------------------------------------------------------------------------------------- file = folder


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".json", ".parquet"])
def test_a_folder_means_what_its_files_mean(tmp_path, suffix):
    odd = [text for text in ODD if suffix != ".tsv" or "\n" not in text]
    rows = [{"text": text, "n": str(n)} for n, text in enumerate(odd)]
    path = write(tmp_path / "data" / f"train{suffix}", rows)
    write(tmp_path / "data" / f"test-00{suffix}", rows[1:3])
    write(tmp_path / "data" / f"test-01{suffix}", rows[:2])
    (tmp_path / "data" / "README.md").write_text("---\nlicense: mit\n---\nconfigs: none", "utf-8")
    one, parts = as_table(path), as_table(tmp_path / "data")
    assert one["text"][:] == odd
    assert list(parts) == ["train", "test"]
    assert parts["train"].to_dict() == one.to_dict()
    assert parts["train"].features == one.features
    assert parts["test"]["n"][:] == ["1", "2", "0", "1"]


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    for suffix in (".csv", ".tsv", ".jsonl", ".json"):
        path = write(tmp_path / f"a{suffix}", [{"text": "x", "n": "1"}])
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
        assert as_table(path).to_list() == [{"text": "x", "n": "1"}]


@pytest.mark.parametrize(
    ("names", "splits"),
    [
        (["a.csv"], {"train": "a"}),
        (["train.csv", "dev.csv", "other.csv"], {"train": "train", "validation": "dev"}),
        (["my_valid_2.csv", "x-eval.csv"], {"validation": "my_valid_2", "test": "x-eval"}),
        (
            ["dev/a.csv", "training/b.csv", "test.csv"],
            {"train": "training/b", "validation": "dev/a"},
        ),
        (["data/de-00000-of-00001.csv", "data/en-00000-of-00001-ab.csv"], None),
        (["a.csv", ".hidden.csv", "__MACOSX/a.csv", "labels.json"], {"train": "a"}),
        (["contested.csv", "training.csv", "devise.csv"], {"train": "training"}),
    ],
)
def test_names_tell_the_splits_as_they_do_for_datasets(tmp_path, names, splits):
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"text,n\n{path.relative_to(tmp_path).with_suffix('')},1\n", "utf-8")
    parts = {split: part["text"][0] for split, part in as_table(tmp_path).items()}
    if splits is not None:
        assert parts == splits
    if "labels.json" not in names:  # `datasets` would read the labels alone
        theirs = datasets.load_dataset(str(tmp_path))
        assert {split: part["text"][0] for split, part in theirs.items()} == parts


@pytest.mark.parametrize(
    ("names", "splits"),
    [
        ("train test test_hard", "train test test_hard"),
        ("train-1 train-2 Test_1 Test_2 test_hard1", "train test test_hard"),
        ("train dev_matched dev_mismatched", "train dev_matched dev_mismatched"),
        ("sst2_train imdb_test", "train test"),
        ("test eval", "test eval"),
    ],
)
def test_variants_of_a_split_are_no_parts_of_it(tmp_path, names, splits):
    for name in names.split():
        (tmp_path / f"{name}.csv").write_text(f"text,n\n{name},1\n", "utf-8")
    parts = as_table(tmp_path)
    assert list(parts) == splits.split()
    assert sum(len(part) for part in parts.values()) == len(names.split())


def test_a_split_without_a_column_has_nulls_there(tmp_path):
    write(tmp_path / "train.jsonl", [{"text": "a", "n": 1}])
    (tmp_path / "test.jsonl").write_text('{"text": "b"}\n', "utf-8")
    parts = as_table(tmp_path)
    assert parts["test"].to_list() == [{"text": "b", "n": None}]
    assert parts["test"].features == parts["train"].features


def test_what_datasets_wrote_or_a_card_describes_is_read_by_it(tmp_path):
    rows = datasets.Dataset.from_dict({"text": ["a", "b"], "label": [1, 0]})
    rows.save_to_disk(tmp_path / "one")
    datasets.DatasetDict({"train": rows}).save_to_disk(tmp_path / "parts")
    assert as_table(tmp_path / "one").to_list() == as_table(tmp_path / "parts")["train"].to_list()
    write(tmp_path / "hub" / "en" / "a.csv", [{"text": "x", "n": 5}])
    write(tmp_path / "hub" / "de" / "a.csv", [{"text": "y", "n": 6}])
    (tmp_path / "hub" / "README.md").write_text(
        "---\nconfigs:\n- config_name: en\n  data_files: en/a.csv\n- config_name: de\n  data_files: de/a.csv\n---\n",
        "utf-8",
    )
    assert as_table(tmp_path / "hub", "de")["train"].to_list() == [{"text": "y", "n": 6}]


# ------------------------------------------------------------------------------------------------- the same cells


def test_the_fast_reader_gives_the_cells_of_pythons(tmp_path, monkeypatch):
    # Odd quoting: quotes inside a cell, doubled, behind spaces, before text, never closed; all ends of lines.
    # No backslash, which may stand before a mark that ends no cell.
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 1 << 10)
    rng = random.Random(7)
    alphabet = [
        '"',
        '"',
        ",",
        "\t",
        "\n",
        "\r\n",
        "\r",
        "a",
        "bc",
        " ",
        '""',
        "é",
        "/",
        "\x0b",
        "\u2028",
        "NA",
        "'",
    ]
    outcomes = set()
    for number in range(1500):
        tabs = number % 3 == 0
        pieces = rng.randint(1, 200) if number % 10 == 0 else rng.randint(1, 12)
        text = "".join(rng.choice(alphabet) for _ in range(pieces))
        path = tmp_path / ("a.tsv" if tabs else "a.csv")
        path.write_bytes(text.encode())
        end = "\nTHE END\n"
        rows = [
            row
            for row in csv.reader(
                io.StringIO(text + end, newline=""),
                delimiter="\t" if tabs else ",",
                quoting=csv.QUOTE_NONE if tabs else csv.QUOTE_MINIMAL,
            )
            if row
        ]
        is_open, rows = rows[-1] != ["THE END"], rows[:-1]
        names = [f"c{place}" for place in range(len(rows[0]))] if rows else ["c0"]
        ragged = len(set(map(len, rows))) > 1
        rows = [
            row for row in rows if any(row) or len(row) == 1
        ]  # a spreadsheet ends in rows of empty cells
        outcome = "open" if is_open else "ragged" if ragged else "read" if rows else "empty"
        outcomes.add(outcome)
        form = FileForm(
            column_names=names, separator="\t" if tabs else ",", quote="none" if tabs else None
        )
        if outcome == "read":
            table = read_file(path, form)
            assert [list(row.values()) for row in table.to_pylist()] == rows, text
        else:
            with pytest.raises(
                ValueError, match="still open|columns|one row|quotation mark is left open"
            ):
                read_file(path, form)
    assert outcomes == {"open", "ragged", "read", "empty"}


def test_a_fast_and_an_exact_reading_of_quotes(tmp_path):
    path = tmp_path / "a.csv"
    # Empty quoted cells at the end look like an open quotation mark to the fast reader.
    for last in ('""', '""""', "b", '"b"', '"b""c"', 'b"c', '"b"c', '"\n"', ""):
        path.write_text(f"x,{last}", "utf-8", newline="")
        expected = next(csv.reader(io.StringIO(f"x,{last}", newline="")))
        read = read_file(path, FileForm(column_names=["a", "b"]))
        assert read.to_pylist() == [dict(zip("ab", expected, strict=True))]


def test_records_in_every_wrapping(tmp_path):
    rows = [{"text": "a", "n": 1}, {"text": "b", "n": 2}]
    forms = {
        "list.json": json.dumps(rows, indent=1),
        "wrapped.json": json.dumps({"version": "1", "rows": rows}),
        "columns.json": json.dumps({"text": ["a", "b"], "n": [1, 2]}),
        "lines.json": "\n".join(map(json.dumps, rows)),
        "lines.jsonl": "\r\n\n".join(map(json.dumps, rows)) + "\n\n",
        "spaced.jsonl": "".join(f"  {json.dumps(row)} \n" for row in rows),
    }
    for name, text in forms.items():
        (tmp_path / name).write_text(text, "utf-8", newline="")
        assert read_file(tmp_path / name).to_pylist() == rows, name
    (tmp_path / "ids.json").write_text(json.dumps({"u": rows[0], "v": rows[1]}), "utf-8")
    assert read_file(tmp_path / "ids.json").to_pylist() == [
        {"id": "u", **rows[0]},
        {"id": "v", **rows[1]},
    ]


def test_records_that_differ_from_chunk_to_chunk(tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "N_RECORDS_AT_A_TIME", 1)
    rows = [
        {"a": None},
        {"a": 1, "q": {"x": []}},
        {"a": 2.5},
        {"b": [1], "q": {"y": 1}},
        {},
        {"q": {"x": ["z"]}},
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    table = read_file(path)
    assert table["a"].to_pylist() == [None, 1.0, 2.5, None, None, None]
    assert table["b"].to_pylist() == [None, None, None, [1], None, None]
    assert table["q"].to_pylist()[1] == {"x": [], "y": None}
    assert table["q"].to_pylist()[5] == {"x": ["z"], "y": None}
    path.write_text('{"a": 1}\n{"a": 1}\n{"a": "x"}\n', "utf-8")
    assert read_values(read_file(path)["a"]) == [1, 1, "x"]


# ------------------------------------------------------------------------------------------------- one sentence


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", '{"a": 1}\n\n{"a": }\n', "at line 3, column 7"),
        ("a.jsonl", '{"a": 1} {"a": 2}\n', "column 10: Extra data"),
        ("a.jsonl", '{"a":' * 100_000, "line 1 of .* nested deeper"),
        (
            "a.jsonl",
            '{"a": ' + "[" * 900 + "]" * 900 + "}",
            "line 1 of .* nested deeper|column 'a' is nested deeper",
        ),
        ("a.json", "[" * 1_000_000, "nested deeper"),
        ("a.json", '[{"a": ' + "[" * 900 + "]" * 900 + "}]", "nested deeper"),
        ("a.jsonl", '{"a": ' + "1" * 5000 + "}\n", "line 1 of .* more than 4,300 digits"),
        ("a.jsonl", r'{"\ud800": 1}', "values that a table can hold in the column"),
        ("a.jsonl", "{}\n{}\n", "at least one row"),
        ("a.json", "3", "a list of records .* got a single int"),
        ("a.json", "[1]", "record 0 holds 1"),
        ("a.csv", 'a,b\n1,"open\n2,3\n', "the last cell is still open"),
        (
            "a.csv",
            "a,b\n1," + "x" * (1 << 24) + "y\n",
            "each cell of the column .*16,777,217|every cell has at most",
        ),
        ("a.csv", ",".join(map(str, range(10_001))) + "\n", "at most 10,000 columns"),
        (
            "a.jsonl",
            json.dumps({str(number): 1 for number in range(10_001)}),
            "at most 10,000 columns",
        ),
        (
            "a.jsonl",
            "".join(f'{{"{n % 9_000}": 1}}\n' for n in range(40_000)),
            "records with the same keys",
        ),
    ],
)
def test_what_is_wrong_in_a_file(tmp_path, name, content, message):
    (tmp_path / name).write_text(content, "utf-8")
    with pytest.raises(ValueError, match=message) as caught:
        as_table(tmp_path / name)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / name).rename(folder / name)
    with pytest.raises(ValueError, match=message):
        as_table(folder)


def test_what_is_wrong_in_parquet(tmp_path):
    path = tmp_path / "a.parquet"
    deep = pa.array([1])
    for _ in range(70):
        deep = pa.StructArray.from_arrays([deep], ["x"])
    damaged = pa.table({"a": [1]}).replace_schema_metadata({"huggingface": "{"})
    odd = pa.table({"a": [1]}).replace_schema_metadata(
        {"huggingface": '{"info": {"features": {"a": {"_type": "No"}}}}'}
    )
    for table, message in (
        (pa.table({"a": pa.array([], pa.string())}), "at least one row"),
        (pa.table([[1], [2]], names=["a", "a"]), "each column of .* once, but 'a' is repeated"),
        (pa.table({"a": deep}), "columns of at most 64 levels"),
        (damaged, "columns that `datasets` can hold"),
        (odd, "columns that `datasets` can hold"),
    ):
        pyarrow.parquet.write_table(table, path)
        with pytest.raises(ValueError, match=message) as caught:
            as_table(path)
        assert "\n" not in str(caught.value)
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(ValueError, match="Expected a parquet file"):
        as_table(path)


def test_categories_of_pandas_are_texts(tmp_path):
    table = pa.table({"a": pa.array(["x", None, "y"]).dictionary_encode()})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    assert as_table(tmp_path / "a.parquet")["a"][:] == ["x", None, "y"]


def folder_of(tmp_path, **contents):
    for name, content in contents.items():
        path = tmp_path / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(content)
    return tmp_path


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ({"a_DOT_tar": b"no tar"}, "cannot be read"),
        ({"state_DOT_json": b"{}"}, "cannot be read"),
        ({"dataset_dict_DOT_json": b'"nope"'}, "cannot be read"),
        ({"dataset_dict_DOT_json": b"{"}, "cannot be read"),
        (
            {
                "README_DOT_md": b"---\nconfigs: !!python/object:os.system x\n---\n",
                "a_DOT_csv": b"a\n1\n",
            },
            "cannot be read",
        ),
        ({"README_DOT_md": b"---\nconfigs: 5\n---\n", "a_DOT_csv": b"a\n1\n"}, "cannot be read"),
        (
            {"train_DOT_csv": b"a,b\n1,2\n", "train2_DOT_csv": b"a,c\n1,2\n"},
            "in all files",
        ),
        (
            {"train_test_DOT_csv": b"a\n1\n"},
            "contains train",
        ),
        ({"a_DOT_csv": b"a,b\n1\n"}, "Expected 2 columns"),
        (
            {"train_DOT_csv": b"a\n1\n", "train_DOT_csv_DOT_gz": b"a\n1\n"},
            "train.csv.gz and train.csv are the same file",
        ),
        (
            {"en__train_DOT_csv": b"a\n1\n", "fr__train_DOT_csv": b"a\n1\n"},
            "train is in en and in fr. Choose one of",
        ),
        (
            {"en__dev__a_DOT_csv": b"a\n1\n", "dev__a_DOT_csv": b"a\n1\n"},
            "validation is in (en|.) and in (en|.)",
        ),
        ({"notes_DOT_docx": b"a"}, "cannot be read"),
    ],
)
def test_what_is_wrong_in_a_folder(tmp_path, contents, message):
    with pytest.raises(ValueError, match=message) as caught:
        as_table(folder_of(tmp_path, **contents))
    assert "\n" not in str(caught.value)


def test_a_column_of_other_types_in_another_file_is_as_one_in_the_same_file(tmp_path):
    folder = folder_of(
        tmp_path, x_DOT_jsonl=b'{"a": 1, "b": 1}\n', y_DOT_jsonl=b'{"b": 0.5, "a": "1"}\n'
    )
    rows = as_table(folder)["train"]
    assert (get_values(rows, "a"), get_values(rows, "b")) == ([1, "1"], [1.0, 0.5])


def test_names_that_no_data_set_has(tmp_path):
    with pytest.raises(FileNotFoundError, match="Expected a data set at xxx"):
        as_table("x" * 5000)
    with pytest.raises(ValueError, match="Expected at most 10,000 files"):
        as_table("/")
    for name in (write(tmp_path / "a.csv", [{"text": "x", "n": 1}]), tmp_path):
        with pytest.raises(ValueError, match="has no configurations, but got 'en'"):
            as_table(name, "en")


# ------------------------------------------------------------------------------------------------- memory

BOMBS = {
    # 1 MB repeated 2,000,000 times, and a number repeated 100,000,000 times, in files of less than 1 MB
    "text.parquet": lambda: pa.DictionaryArray.from_arrays(
        np.zeros(2_000_000, dtype=np.int32), ["x" * 1_000_000]
    ),
    "numbers.parquet": lambda: np.zeros(100_000_000, dtype=np.int8),
    "lists.parquet": lambda: pa.ListArray.from_arrays(
        np.arange(0, 500_001, 5, dtype=np.int32),
        pa.DictionaryArray.from_arrays(np.zeros(500_000, dtype=np.int32), ["x" * 1_000_000, "y"]),
    ),
}


@pytest.fixture
def bombs(tmp_path):
    for name, column in BOMBS.items():
        pyarrow.parquet.write_table(pa.table({"a": column()}), tmp_path / name)
        assert (tmp_path / name).stat().st_size < 1 << 20
    texts = {
        "keys.jsonl": "".join(
            f'{{"{number}": 1}}\n' for number in range(300_000)
        ),  # 9 × 10^10 cells
        "commas.csv": "a,b\n" + "," * 10_000_000,
        "line.jsonl": '{"a": "' + "x" * (1 << 26) + '"}',
        "deep.json": "[" * 10_000_000,
        "cell.csv": 'a,b\n1,"' + ("x" * 1000 + "\n") * 20_000,
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, "utf-8")
    return [tmp_path / name for name in (*BOMBS, *texts)]


def test_no_input_exhausts_memory(bombs):
    code = (
        "import sys; from rightreasons.io.reading import as_table\n"
        "for name in sys.argv[1:]:\n"
        "    try: print(as_table(name))\n"
        "    except ValueError as error: print(error)"
    )
    limit = 2 << 30
    done = subprocess.run(
        [sys.executable, "-c", code, *bombs],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)),
    )
    assert done.returncode == 0, done.stderr[-500:]
    for bomb, sentence in zip(bombs, done.stdout.splitlines(), strict=True):
        assert sentence.startswith("Expected "), bomb
        assert bomb.name in sentence


@pytest.mark.parametrize(
    ("name", "content", "rows"),
    [
        (
            "a.txt",
            '{"id": 3, "t": "a, b"}\n\n{"id": "x", "t": "c\\td"}\n',
            [[3, "a, b"], ["x", "c\td"]],
        ),
        (
            "a.out",
            'id\tt\n7\tDull, dull.\nb\t"Oh," said I\n',
            [["7", "Dull, dull."], ["b", '"Oh," said I']],
        ),
        ("a.PRED", 'id,t\n7,"one, ""two"""\n8,three\n', [["7", 'one, "two"'], ["8", "three"]]),
        ("a.lst", '[{"id": 1, "t": null}]', [[1, None]]),
    ],
)
def test_text_of_another_suffix_is_what_its_lines_show(tmp_path, name, content, rows):
    (tmp_path / name).write_text(content)
    table = read_file(tmp_path / name)
    assert list(zip(*(read_values(table[column]) for column in ("id", "t")), strict=True)) == list(
        map(tuple, rows)
    )


@pytest.mark.parametrize(
    "content",
    [b"0\n1\n1\n", b"One, two.\nThree\n", b"\x80\x04\x95\x00,\n\x00,\n", b"<a>\n<b/>\n</a>\n"],
)
def test_what_shows_no_table_is_refused(tmp_path, content):
    (tmp_path / "a.dat").write_bytes(content)
    with pytest.raises(ValueError, match="such content"):
        read_file(tmp_path / "a.dat")


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ('n\tt\n1\t"A ""word"" here."\n2\tplain\n', ['A "word" here.', "plain"]),  # doubled marks
        (
            'n\tt\n1\t"two\nlines, no tab"\n2\t"x"\n',
            ["two\nlines, no tab", "x"],
        ),  # rows that fit only so
        (
            'n\tt\n1\t"Stop," he said, "now"\n2\t"x"\n',
            ['"Stop," he said, "now"', '"x"'],
        ),  # quotations of the text
        ('n\tt\n1\t""Twice"" said\n2\tx\n', ['""Twice"" said', "x"]),
    ],
)
def test_a_tsv_file_that_quotes_its_cells(tmp_path, content, texts):
    (tmp_path / "a.tsv").write_text(content)
    assert read_file(tmp_path / "a.tsv")["t"].to_pylist() == texts
    whole = FileForm(quote="none")
    if "\nlines" not in content:
        assert (
            read_file(tmp_path / "a.tsv", whole)["t"][0].as_py()
            == content.split("\n")[1].split("\t")[1]
        )


def test_another_quotation_mark(tmp_path):
    (tmp_path / "a.csv").write_text("'Es; sagt \"er\"';gut\nKurz;schlecht\n")
    table = read_file(
        tmp_path / "a.csv", FileForm(column_names=["t", "l"], separator=";", quote="'")
    )
    assert table["t"].to_pylist() == ['Es; sagt "er"', "Kurz"]
    with pytest.raises(ValueError, match="row 0 has 3. Set `separator` and `quote`"):
        read_file(tmp_path / "a.csv", FileForm(column_names=["t", "l"], separator=";"))


def test_an_archive_holds_one_table_beside_what_is_none(tmp_path):
    with zipfile.ZipFile(tmp_path / "release.zip", "w") as archive:
        archive.writestr("data/README.txt", "a,b\n1,2\n")
        archive.writestr("data/set.jsonl", '{"t": "x"}\n{"t": "y"}\n')
        archive.writestr("__MACOSX/data/._set.jsonl", "junk")
    assert read_file(tmp_path / "release.zip")["t"].to_pylist() == ["x", "y"]
    with zipfile.ZipFile(tmp_path / "release.zip", "a") as archive:
        archive.writestr("data/dev.csv", "t\nz\n")
    with pytest.raises(ValueError, match="data/set.jsonl, data/dev.csv"):
        read_file(tmp_path / "release.zip")


def test_records_beside_lists_of_words_and_by_their_keys(tmp_path):
    content = {
        "name": "dates",
        "keywords": ["a", "b"],
        "examples": [{"t": "x"}, {"t": "y"}, {"t": "z"}],
    }
    (tmp_path / "task.json").write_text(json.dumps(content))
    assert read_file(tmp_path / "task.json")["t"].to_pylist() == ["x", "y", "z"]
    # Columns of pandas have the numbers of the rows in order, all of them.
    (tmp_path / "keys.json").write_text(
        json.dumps({"q#1": {"0": 0.2, "1": 0.8}, "q#2": {"1": 0.9, "0": 0.1}})
    )
    assert read_file(tmp_path / "keys.json")["id"].to_pylist() == ["q#1", "q#2"]


def test_objects_with_keys_of_their_own_keep_them_and_their_order():
    scores = [{f"{9 - place}/{row}": int(not place) for place in range(3)} for row in range(20)]
    column = make_column(scores, "target_scores", "the table")
    assert [list(row) for row in read_values(column)] == [list(row) for row in scores]
    assert pa.types.is_struct(
        make_column(scores[:5], "target_scores", "the table").type
    )  # few keys in all


def test_the_digest_of_a_table_depends_on_its_content_alone():
    table = pa.table({"id": ["a", "b", "c"], "p": [0.5, 0.25, 0.125]})
    in_chunks = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    digest = arrow_tables.digest_table(table)

    assert arrow_tables.digest_table(in_chunks) == digest
    assert arrow_tables.digest_table(table.replace_schema_metadata({"note": "x"})) == digest
    assert arrow_tables.digest_table(table.slice(0, 2)) != digest
    assert arrow_tables.digest_table(table, prefix=b"labels") != digest


@pytest.mark.parametrize(("n_filled", "is_sparse"), [(19, True), (20, False)])
def test_objects_of_many_keys_are_sparse_if_less_than_a_quarter_is_filled(n_filled, is_sparse):
    # Two objects of 40 keys have 80 cells, a quarter of which is 20: ten in the second object.
    keys = [f"key {number}" for number in range(40)]
    rows = [dict.fromkeys(keys[: n_filled - 10], 1), dict.fromkeys(keys[-10:], 1)]
    kind = pa.struct([(key, pa.int64()) for key in keys])

    assert arrow_tables._has_sparse_fields(pa.array(rows, kind)) == is_sparse


def test_objects_of_few_keys_are_never_sparse():
    keys = [f"key {number}" for number in range(arrow_tables.MAX_SPARSE_FIELDS)]
    kind = pa.struct([(key, pa.int64()) for key in keys])

    assert not arrow_tables._has_sparse_fields(pa.array([{}, {"key 0": 1}], kind))


# ------------------------------------------------------------------------------------------------- folders of texts


def test_each_file_in_the_folder_of_a_label_is_an_item(tmp_path):
    folder = folder_of(
        tmp_path,
        train__gut__b_DOT_txt="Schön.\n\nSehr schön.\n".encode(),
        train__schlecht__a_DOT_txt=b"Na ja",
        test__gut__a_DOT_txt="Grün".encode("cp1252"),
        LIESMICH_DOT_txt=b"Zwei Klassen.",
    )

    with pytest.warns(UserWarning, match="LIESMICH|cp1252") as caught:
        parts = as_table(folder)

    assert parts["train"].to_list() == [
        {"id": "train/gut/b.txt", "text": "Schön.\n\nSehr schön.\n", "label": "gut"},
        {"id": "train/schlecht/a.txt", "text": "Na ja", "label": "schlecht"},
    ]
    assert parts["test"]["text"][:] == ["Grün"]
    messages = [str(warning.message) for warning in caught]
    assert any("not read: LIESMICH.txt" in message for message in messages)
    assert any("cp1252" in message for message in messages)


def test_folders_of_splits_are_no_labels(tmp_path):
    folder = folder_of(tmp_path, train__a_DOT_txt=b"One.\nTwo.\n", test__b_DOT_txt=b"Three.\n")

    parts = as_table(folder)

    assert parts["train"]["text"][:] == ["One.", "Two."]
    assert parts["train"].column_names == ["text"]


def test_a_long_row_of_too_many_cells_is_not_an_open_quotation_mark(tmp_path):
    path = tmp_path / "a.csv"
    # Arrow reports the first hundred characters of a row, in which the quotation mark is not closed.
    path.write_text(f'a,b\nx,1\n"{"word, " * 40}",1,2,3\n', "utf-8")

    with pytest.raises(OptionError, match="row 1 has 4"):
        as_table(path)


def test_nul_characters_are_named(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\nab\x00c,1\n", "utf-8")

    with pytest.raises(OptionError, match="NUL characters"):
        as_table(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("rule", "n_rows"),
    [("|:---|---:|", 3), ("|-----|---|", 3), ("| - | - |", 4), ("| --- | good |", 4)],
)
def test_the_line_below_headings_of_markdown_is_no_row(tmp_path, rule, n_rows):
    lines = [
        "| text | label |",
        rule,
        "| A fine film. | good |",
        "| --- | --- |",
        "| Dull. | bad |",
    ]
    path = tmp_path / "reviews.md"
    path.write_text("\n".join(lines))

    table = as_table(path)

    # Only the line below the headings is a rule, and only with three dashes in each cell.
    assert len(table) == n_rows
