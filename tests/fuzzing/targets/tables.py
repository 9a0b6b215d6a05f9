"""Readers of tables: csv, tsv, json, JSON lines and parquet, as classification and as multiple choice."""

import bz2
import csv
import gzip
import io
import lzma
import zipfile

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from fuzzing.damage import altered, as_json, damaged, words
from fuzzing.judging import Target, outcome
from rightreasons.io.tables import open_dataset, open_multiple_choice, open_questions

ROWS = [
    {"id": "a", "text": "a good film", "label": "positive"},
    {"id": "b", "text": 'he said "no", twice', "label": "negative"},
    {"id": "c", "text": "dull", "label": "negative"},
]
ITEMS = [
    {"id": "a", "prompt": "it rained", "choices": ["wet", "dry"], "label": 0},
    {"id": "b", "prompt": "the sun", "choices": ["warm", "cold", "blue"], "label": 2},
]
NAMED = [
    {"goal": "open a jar", "sol1": "twist", "sol2": "sing", "label": 1},
    {
        "question": {
            "stem": "who?",
            "choices": [{"label": "A", "text": "he"}, {"label": "B", "text": "she"}],
        },
        "answerKey": "B",
    },
    {"obs1": "he ran", "obs2": "he fell", "hyp1": "a", "hyp2": "b", "label": "1"},
]
QUESTIONS = [
    {
        "id": "q",
        "question": "who?",
        "context": "Ann sat.",
        "answers": {"text": ["Ann"], "answer_start": [0]},
    },
    {
        "data": [
            {
                "title": "t",
                "paragraphs": [
                    {
                        "context": "Ann sat.",
                        "qas": [
                            {
                                "id": "q",
                                "question": "who?",
                                "answers": [{"text": "Ann", "answer_start": 0}],
                            }
                        ],
                    }
                ],
            }
        ]
    },
]


def table(rows, separator=","):
    """Write rows as csv or tsv."""
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=separator)
    writer.writerow(rows[0])
    writer.writerows([str(value) for value in row.values()] for row in rows)
    return stream.getvalue().encode()


def lines(rows):
    """Write rows as JSON lines."""
    return b"\n".join(map(as_json, rows))


def zipped(content, member="data"):
    """Write a zip archive of one file."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(member, content)
    return stream.getvalue()


def parquet(columns):
    """Write columns as parquet."""
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream)
    return stream.getvalue()


FILES = {
    ".csv": [table(ROWS), table([{"text": "x", "label": 1}]), b"text,label\n"],
    ".tsv": [table(ROWS, "\t"), b'text\tlabel\n"a\t1\nb\t0\n'],
    ".json": [as_json(ROWS), as_json({"data": ROWS}), as_json(QUESTIONS[1]), as_json(ITEMS)],
    ".jsonl": [
        lines(ROWS),
        lines(ITEMS),
        lines(NAMED[:1]),
        lines(NAMED[1:2]),
        lines(QUESTIONS[:1]),
    ],
    ".parquet": [
        parquet({"text": ["a", "b"], "label": [0, 1]}),
        parquet({"prompt": ["a"], "choices": [["x", "y"]], "label": [1]}),
    ],
}
columns = st.none() | st.sampled_from(
    ["text", "label", "id", "choices", "question.stem", "", "nope", 5]
)
options = st.fixed_dictionaries(
    {},
    optional={
        "label_column": columns,
        "id_column": columns,
        "split": st.sampled_from([None, "train", "x"]),
        "require_labels": st.booleans(),
        "limit": st.sampled_from([None, 1, 2, 0, "x"]),
        "config": st.none() | words,
    },
)


PACKED = {
    ".gz": lambda content: gzip.compress(content, 1),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda content: pa.compress(content, "zstd", asbytes=True),
    ".zip": zipped,
}


@st.composite
def packed(draw, suffix, content):
    """A file as it is, or compressed, perhaps with damage outside."""
    if draw(st.integers(0, 4)):
        return suffix, content
    packing = draw(st.sampled_from(sorted(PACKED)))
    content = PACKED[packing](content)
    return suffix + packing, draw(st.just(content) | damaged([content]))


@st.composite
def files(draw):
    """A file of a known suffix with a few edits, or of rows in which a few values are something else."""
    suffix = draw(st.sampled_from(sorted(FILES)))
    if draw(st.booleans()):
        return draw(packed(suffix, draw(damaged(FILES[suffix]))))
    rows = draw(altered([ROWS, ITEMS, NAMED[:1], NAMED[1:2], NAMED[2:], QUESTIONS[:1]]))
    return draw(
        st.sampled_from([(".json", as_json(rows)), (".jsonl", lines(rows) if rows else b"")])
    )


@st.composite
def cells(draw):
    """A csv or tsv of odd cells."""
    suffix, separator = draw(st.sampled_from([(".csv", ","), (".tsv", "\t")]))
    header = draw(st.permutations(["text", "label", *draw(st.lists(words, max_size=2))]))
    rows = draw(
        st.lists(st.lists(words, min_size=len(header), max_size=len(header) + 1), max_size=5)
    )
    stream = io.StringIO()
    csv.writer(stream, delimiter=separator).writerows([header, *rows])
    return suffix, stream.getvalue().encode("utf-8", "surrogatepass")


def written(folder, value):
    suffix, content = value
    path = folder / f"data{suffix}"
    path.write_bytes(content)
    return path


def check_schema(data, label_names=True):
    """Hold what every opened data set has: unique ids, words in the texts, labels among the classes."""
    for part in data.values() if isinstance(data, datasets.DatasetDict) else (data,):
        ids = part["id"][:]
        assert len(set(ids)) == len(ids), ids
        assert all(isinstance(key, str) for key in ids)
        if label_names and "label" in part.column_names:
            names = part.features["label"].names
            assert len(set(names)) == len(names)
            assert all(-1 <= label < len(names) for label in part["label"][:])


def check_classes(value, folder):
    file, keywords = value
    data = open_dataset(written(folder, file), **keywords)
    check_schema(data)
    for part in data.values() if isinstance(data, datasets.DatasetDict) else (data,):
        assert all(isinstance(text, str) and text.strip() for text in part["text"][:])


def check_choices(value, folder):
    file, keywords = value
    data = open_multiple_choice(written(folder, file), **keywords)
    check_schema(data, label_names=False)
    for part in data.values() if isinstance(data, datasets.DatasetDict) else (data,):
        for item in part.select_columns(["choices", "label"]):
            assert all(isinstance(choice, str) for choice in item["choices"])
            assert -1 <= item["label"] < len(item["choices"])
            assert len(item["choices"]) >= 2


def check_questions(value, folder):
    open_questions(written(folder, value))


def opened(source):
    """What a person sees of data: the texts, and the name of each label."""
    data = open_dataset(source, text_column="text", label_column="label")
    if isinstance(data, datasets.DatasetDict):
        (data,) = data.values()
    names = data.features["label"].names
    return data["text"][:], [names[label] if label >= 0 else None for label in data["label"][:]]


def check_forms(value, folder):
    """The same rows of texts have the same outcome in every form."""
    texts, labels = [row[0] for row in value], [row[1] for row in value]
    rows = {"text": texts, "label": labels}
    sources = {"Dataset": datasets.Dataset.from_dict(rows)}
    for suffix, content in (
        (".csv", table([dict(zip(rows, row, strict=True)) for row in value])),
        (".jsonl", lines([dict(zip(rows, row, strict=True)) for row in value])),
        (".parquet", parquet(rows)),
    ):
        sources[suffix] = written(folder, (suffix, content))
        inside = folder / f"folder{suffix}"
        inside.mkdir()
        (inside / f"train{suffix}").write_bytes(content)
        sources[f"folder of {suffix}"] = inside
    outcomes = {
        form: outcome(lambda source=source: opened(source)) for form, source in sources.items()
    }
    first = outcomes["Dataset"]
    for form, other in outcomes.items():
        assert other[0] == first[0], f"{form} {other} but Dataset {first}"
        assert other[0] == "sentence" or other == first, f"{form} {other} but Dataset {first}"


plain_words = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\r\n\x00\ufeff"), max_size=6
)
rows = st.lists(
    st.tuples(
        plain_words.map(lambda word: f"t{word}")
        | st.sampled_from(["NA", "None", "null", '"a', "a,b", "  x", "07"]),
        st.sampled_from(
            [
                "positive",
                "negative",
                "Positive",
                "1",
                "0",
                "2",
                "None",
                "NA",
                "-",
                "nan",
                "1.0",
                "01",
                " 1",
            ]
        ),
    ),
    min_size=1,
    max_size=6,
)

TARGETS = [
    Target("classes", st.tuples(files() | cells(), options), check_classes, 20),
    Target("choices", st.tuples(files(), options), check_choices, 20),
    Target("questions", files(), check_questions, 10),
    Target("forms", rows, check_forms, 5),
]
