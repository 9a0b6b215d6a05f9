"""Logs of evaluation harnesses, and the stored predictions of an audit: whole, damaged, or with other values inside."""

import importlib.util
import io
import warnings
import zipfile

from hypothesis import strategies as st

from fuzzing.damage import altered, as_json, damaged
from fuzzing.judging import Target
from fuzzing.targets.tables import lines, packed, parquet, written
from rightreasons.calibration.confidence_table import read_confidence
from rightreasons.io.predictions import read_answers, read_predictions


def sample(number, requests, answers, **further):
    """A line of a samples file of lm-evaluation-harness."""
    arguments = {
        f"gen_args_{i}": {f"arg_{j}": part for j, part in enumerate(one)}
        for i, one in enumerate(requests)
    }
    row = {
        "doc_id": number,
        "doc": {"id": number, "pair_id": "p"},
        "target": "1",
        "arguments": arguments,
    }
    row |= {"resps": [[answer] for answer in answers], "filtered_resps": answers, "filter": "none"}
    return row | {"metrics": ["acc"], "acc": 1.0} | further


def scored(number, texts, **further):
    answers = [[str(-1.5 * place - number), "False"] for place in range(len(texts))]
    return sample(number, [(f"Q{number}", f" {text}") for text in texts], answers, **further)


def request(name, task, **further):
    """A request that `rightreasons data export --reasons` wrote."""
    row = {
        "id": name,
        "number": 0,
        "arm": "plain",
        "asked": "items",
        "prompt": "Q",
        "choices": ["x", "y"],
        "options": ["A", "B"],
        "label": 1,
    }
    return row | {"task": task, "text_pair": None, "easy": True, **further}


GENERATED = [("Q", {"until": ["\n"]})]
SAMPLES = [
    [scored(0, ["x", "y z"]), scored(1, ["u", "v", "w"])],
    [scored(0, ["no", "yes"], target="yes"), scored(1, ["no", "yes"], target="0")],
    [
        sample(0, GENERATED, ["Paris"], target="Paris", exact_match=1.0),
        sample(1, GENERATED, ["5"], filter="strict"),
    ],
    [scored(n, ["A", "B"], doc=request(str(n), "classification"), target="1") for n in range(2)],
    [scored(n, ["A", "B"], doc=request(str(n), "multiple_choice"), target="1") for n in range(2)],
]


def inspected(name, metadata, *, choices=("x", "y"), tokens=True):
    """A sample of a log of inspect_ai."""
    top = [
        {"token": letter, "logprob": value, "bytes": []}
        for letter, value in (("B", -0.5), ("ĠA", -1.5))
    ]
    token = {"token": "B", "logprob": -0.5, "bytes": [], "top_logprobs": top}
    message = {"role": "assistant", "content": "B"}
    choice = {
        "message": message,
        "stop_reason": "stop",
        "logprobs": {"content": [token]} if tokens else None,
    }
    score = {"value": "C", "answer": "B", "explanation": ""}
    return {
        "id": name, "epoch": 1, "input": "Q", "choices": None if choices is None else list(choices), "target": "B",
        "messages": [], "output": {"model": "m", "completion": "B", "choices": [choice]}, "scores": {"choice": score},
        "metadata": metadata,
    }  # fmt: skip


EVALUATION = {
    "created": "2026-11-22T12:00:00+00:00", "task": "t", "dataset": {}, "model": "m", "config": {}, "run_id": "r",
    "eval_id": "e", "task_id": "i",
}  # fmt: skip


def log(*samples):
    return {"version": 2, "status": "success", "eval": EVALUATION, "samples": list(samples)}


LOGS = [
    log(inspected("a", {"level": 3}), inspected("b", {}, tokens=False)),
    log(inspected("a", {}, choices=None), inspected("b", {}, choices=None)),
    log(*(inspected(name, request(name, "classification"), choices=None) for name in "ab")),
    log(
        *(
            inspected(name, request(name, "multiple_choice"), choices=None, tokens=False)
            for name in "ab"
        )
    ),
]
STORED = {
    "id": ["a", "b"],
    "text": ["x", "y"],
    "label": [0, 1],
    "prediction": [0, 0],
    "logits": [[0.5, -0.5], [1, 0]],
}


def archived(content):
    """Write a log as inspect_ai's archive: a header, and a file per sample."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        samples = content.get("samples") if isinstance(content, dict) else None
        header = (
            {k: v for k, v in content.items() if k != "samples"}
            if isinstance(content, dict)
            else content
        )
        archive.writestr(zipfile.ZipInfo("header.json"), as_json(header))  # with a time of its own
        for number, one in enumerate(samples if isinstance(samples, list) else ()):
            archive.writestr(zipfile.ZipInfo(f"samples/{number}_epoch_1.json"), as_json(one))
    return stream.getvalue()


FORMS = {
    ".jsonl": (SAMPLES, lines),
    ".json": (LOGS, as_json),
    ".parquet": ([STORED], parquet),
}
if importlib.util.find_spec("inspect_ai") is not None:  # reads its archives
    FORMS[".eval"] = (LOGS, archived)


@st.composite
def files(draw):
    """A log with a few edits, or with a few values of another kind inside."""
    suffix = draw(st.sampled_from(sorted(FORMS)))
    whole, write = FORMS[suffix]
    if suffix == ".parquet" or draw(st.integers(0, 2)) == 0:
        return draw(packed(suffix, draw(damaged([write(one) for one in whole]))))
    return suffix, write(draw(altered(whole)))


def check(value, folder):
    kind, file = value
    path = written(folder, file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # samples that are left out are counted in one
        if kind == "confidence":
            assert len(read_confidence(str(path)).correct)
        else:
            assert len(read_predictions(path) if kind == "predictions" else read_answers(path)) > 0


TARGETS = [
    Target(
        "logs",
        st.tuples(st.sampled_from(["predictions", "answers", "confidence"]), files()),
        check,
        25,
    )
]
