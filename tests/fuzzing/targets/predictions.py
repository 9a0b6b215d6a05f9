"""Readers of stored outputs: scores, answers and pasted tables."""

import io

import numpy as np
from hypothesis import strategies as st

from fuzzing.damage import altered, as_json, damaged
from fuzzing.judging import Target
from fuzzing.targets.tables import lines, parquet, table, written
from rightreasons.data.opening.predictions import parse_predictions, read_answers, read_predictions

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
    ".npz": [npz(probs=np.array([[0.5, 0.5]]), labels=np.array([0])), npz(x=np.array([None], dtype=object))],
    ".parquet": [parquet({"scores": [[0.5, 0.5], [0.25, 0.75]], "label": [0, 1]})],
}


@st.composite
def files(draw):
    """A file of predictions with a few edits, or with values of another kind."""
    suffix = draw(st.sampled_from(sorted(FILES)))
    if draw(st.booleans()):
        return suffix, draw(damaged(FILES[suffix]))
    rows = draw(altered([ROWS, LISTS, ANSWERS]))
    return draw(st.sampled_from([(".json", as_json(rows)), (".jsonl", lines(rows) if rows else b"")]))


def check(value, folder):
    read, file = value
    path = written(folder, file)
    made = read_predictions(path) if read == "predictions" else read_answers(path)
    assert len(made) > 0


def check_pasted(value, folder):
    assert len(parse_predictions(value[1].decode("utf-8", "replace"))) > 0


TARGETS = [
    Target("predictions", st.tuples(st.sampled_from(["predictions", "answers"]), files()), check, 60),
    Target("pasted", files().filter(lambda file: file[0] not in (".npz", ".parquet")), check_pasted, 40),
]
