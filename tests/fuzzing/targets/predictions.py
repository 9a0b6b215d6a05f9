"""Readers of stored outputs: scores, answers and pasted tables."""

import functools
import io
from tempfile import TemporaryDirectory

import datasets
import numpy as np
from hypothesis import strategies as st

from fuzzing.damage import altered, as_json, damaged
from fuzzing.judging import Target
from fuzzing.targets.tables import lines, packed, parquet, table, written
from rightreasons.cues.rating_sheets import read_rating_sheets, write_rating_sheets
from rightreasons.io.predictions import parse_predictions, read_answers, read_predictions

ROWS = [
    {"id": "a", "p_neg": 0.9, "p_pos": 0.1, "label": "neg"},
    {"id": "b", "p_neg": 0.25, "p_pos": 0.75, "label": "pos"},
]
LISTS = [{"scores": [0.9, 0.1], "label": 0}, {"scores": [0.25, 0.75], "label": 1}]
ANSWERS = [{"prediction": "neg"}, {"prediction": "pos"}]


def npz(**arrays):
    """Write arrays as npz."""
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


FILES = {
    ".csv": [table(ROWS), b"p_0,p_1,label\n.9,.1,0\n", table(ANSWERS), b"score,label\n0.5,1\n"],
    ".tsv": [table(ROWS, "\t")],
    ".json": [as_json(ROWS), as_json({"logits": [[1.0, 2.0]], "labels": [1]})],
    ".jsonl": [lines(ROWS), lines(LISTS), lines(ANSWERS)],
    ".npz": [
        npz(probs=np.array([[0.5, 0.5]]), labels=np.array([0])),
        npz(x=np.array([None], dtype=object)),
    ],
    ".parquet": [parquet({"scores": [[0.5, 0.5], [0.25, 0.75]], "label": [0, 1]})],
}


@st.composite
def files(draw):
    """A file of predictions with a few edits, or with values of another kind."""
    suffix = draw(st.sampled_from(sorted(FILES)))
    if draw(st.booleans()):
        return draw(packed(suffix, draw(damaged(FILES[suffix]))))
    rows = draw(altered([ROWS, LISTS, ANSWERS]))
    return draw(
        st.sampled_from([(".json", as_json(rows)), (".jsonl", lines(rows) if rows else b"")])
    )


def check(value, folder):
    read, file = value
    path = written(folder, file)
    made = read_predictions(path) if read == "predictions" else read_answers(path)
    assert len(made) > 0


def check_pasted(value, folder):
    assert len(parse_predictions(value[1].decode("utf-8", "replace"))) > 0


ITEMS = datasets.Dataset.from_list(
    [
        {"id": "a", "prompt": "it rained", "choices": ["wet", "dry"], "label": 0},
        {"id": "b", "prompt": "the sun", "choices": ["warm", "cold", "blue"], "label": 2},
    ]
)


@functools.cache
def sheets():
    """Sheets of two items that a rater has filled."""
    with TemporaryDirectory() as folder:
        (file,) = write_rating_sheets(ITEMS, folder, n_raters=1)
        header, *rows = file.read_text("utf-8-sig").splitlines()
    filled = "\n".join([header, *(row + "2" for row in rows)])
    return [filled.encode(), filled.replace(",", ";").encode(), "\ufeff".encode() + filled.encode()]


def check_sheets(value, folder):
    files = []
    for number, content in enumerate((sheets()[0], value)):
        files.append(folder / f"rater-{number}.csv")
        files[-1].write_bytes(content)
    made = read_rating_sheets(ITEMS, files)
    assert all(
        0 <= answer < len(item["choices"])
        for item, row in zip(ITEMS, made["ratings"], strict=True)
        for answer in row
    )


TARGETS = [
    Target(
        "predictions", st.tuples(st.sampled_from(["predictions", "answers"]), files()), check, 20
    ),
    Target(
        "pasted",
        files().filter(lambda file: file[0] in (".csv", ".tsv", ".json", ".jsonl")),
        check_pasted,
        15,
    ),
    Target("sheets", st.deferred(lambda: damaged(sheets())), check_sheets, 15),
]
