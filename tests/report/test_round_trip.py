"""Items written as the task of a harness come back in its log with the figures of a direct run."""

import json
import zlib

import datasets
import numpy as np
import pytest
import yaml

import rightreasons
from command_line import run
from rightreasons.audited.stored import StoredAnswers
from rightreasons.core.arrays import Ragged
from rightreasons.models.prompts import Rendering
from rightreasons.models.wording import Prompt
from rightreasons.probes.measure import (
    measure_option_order,
    measure_probes,
    orders_in_words,
    probe_tables,
)
from rightreasons.report.requests import choice_requests, request_rows

pytestmark = pytest.mark.usefixtures("unrendered")

SUBJECTS = ["cat", "dog", "cook", "pilot", "nurse", "king", "poet", "clerk", "diver", "judge", "smith", "baker"]


def items(n_choices=3):
    return datasets.Dataset.from_list(
        [
            {
                "id": f"{name}-{row}",
                "prompt": f"Why does the {name} run?",
                "choices": [f"The {name} is {word}." for word in ("late", "glad", "cold", "lost")[:n_choices]],
                "label": row % n_choices,
            }
            for row, name in enumerate(SUBJECTS)
        ]
    )


def log_likelihood(context, continuation):
    """Make up a log-likelihood of a continuation after a context; the same for the same texts."""
    return -1 - zlib.crc32(f"{context}|{continuation}".encode()) % 7919 / 1000


def harness(folder, score=log_likelihood):
    """Do to a task what lm-evaluation-harness does: ask it, and write the samples file."""
    task = yaml.safe_load(next(folder.glob("*.yaml")).read_text(encoding="utf-8"))
    assert task["output_type"] == "multiple_choice"
    rows = (folder / task["dataset_kwargs"]["data_files"]["test"]).read_text(encoding="utf-8").splitlines()
    lines = []
    for number, doc in enumerate(map(json.loads, rows)):
        context, options = doc[task["doc_to_text"]], doc[task["doc_to_choice"]]
        pairs = [(context, task["target_delimiter"] + option) for option in options]
        answers = [[str(score(*pair)), "False"] for pair in pairs]
        arguments = {f"gen_args_{i}": {"arg_0": one, "arg_1": two} for i, (one, two) in enumerate(pairs)}
        sample = {"doc_id": number, "doc": doc, "target": str(doc[task["doc_to_target"]]), "arguments": arguments}
        sample |= {"resps": [[answer] for answer in answers], "filtered_resps": answers, "filter": "none", "acc": 0.0}
        lines.append(json.dumps(sample))
    path = folder / "samples.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def direct(prompts, choices, ids):
    rows = [
        [log_likelihood(prompt, f" {choice}") for choice in row] for prompt, row in zip(prompts, choices, strict=True)
    ]
    return Ragged.of(np.concatenate(rows), [len(row) for row in rows])


def direct_letters(prompts, choices, ids):
    rows = []
    for prompt, row in zip(prompts, choices, strict=True):
        lines = "\n".join(f"{letter}. {text}" for letter, text in zip("ABCDEFGHIJKLMNOP", row, strict=False))
        context = f"{prompt}\n{lines}\nAnswer:".lstrip("\n")
        rows.append([log_likelihood(context, f" {letter}") for letter in "ABCDEFGHIJKLMNOP"[: len(row)]])
    return Ragged.of(np.concatenate(rows), [len(row) for row in rows])


def export(capsys, tmp_path, *options, n_choices=3):
    source = tmp_path / "items.jsonl"
    source.write_text("\n".join(map(json.dumps, items(n_choices))), encoding="utf-8")
    return run(capsys, "data", "export", source, "--out", tmp_path / "task", *options)


def answered(tmp_path, log, **options):
    report = rightreasons.audit(predictions=str(log), out=tmp_path / "report", questions=["probes"], **options)
    outcome = next(one for one in report.outcomes if one.question == "probes")
    assert outcome.status == "answered", outcome.reason
    return outcome.result.data


def test_probes_of_single_choices(capsys, tmp_path):
    said = export(capsys, tmp_path)
    assert said.code == 0, said.err
    # 12 items, three probes of each, and four numbers of added choices: 12 * 8.
    assert "96 requests about 12 items" in said.out
    data = answered(tmp_path, harness(tmp_path / "task"), task="multiple_choice")
    figures = measure_probes(probe_tables(items()).scored_by(direct))
    assert data["figures"] == json.loads(json.dumps(figures.to_dict()))
    assert data["orders"] is None
    assert not data["sees_choices_together"]


@pytest.mark.parametrize(("n_choices", "words"), [(3, "all 6 orders"), (4, "all 4 cyclic orders")])
def test_letters_and_orders(capsys, tmp_path, n_choices, words):
    asked = ("--style", "letters", "--parts", "probes,orders")
    export(capsys, tmp_path, *asked, n_choices=n_choices)
    data = answered(tmp_path, harness(tmp_path / "task"), task="multiple_choice")
    own = items(n_choices)
    scores = probe_tables(own).scored_by(direct_letters)
    assert data["figures"] == json.loads(json.dumps(measure_probes(scores).to_dict()))
    figures = measure_option_order(own, direct_letters)
    assert orders_in_words(figures.orders, figures.n_orders) == words
    wanted = json.loads(json.dumps(figures.to_dict()))
    del wanted["steady"]
    assert data["orders"] == wanted
    assert data["sees_choices_together"]


def test_the_items_alone_answer_what_needs_no_other(capsys, tmp_path):
    export(capsys, tmp_path, "--parts", "items")
    log = harness(tmp_path / "task")
    report = rightreasons.audit(predictions=str(log), out=tmp_path / "report", questions=["calibration", "probes"])
    status = {one.question: one.status for one in report.outcomes}
    assert (status["calibration"], status["probes"]) == ("answered", "skipped")
    assert "rightreasons data export" in next(one.reason for one in report.outcomes if one.question == "probes")


def test_a_log_with_other_texts_or_half_its_requests(capsys, tmp_path):
    export(capsys, tmp_path)
    log = harness(tmp_path / "task")
    lines = log.read_text(encoding="utf-8").splitlines()
    fewer = [line for line in lines if "/wrong_question" not in line]
    changed = [line.replace("is glad", "is sad") if "/extra_choices_8" in line else line for line in lines]
    for other, sentence in ((fewer, "each of 96 requests in samples.jsonl, but 12"), (changed, "other texts")):
        log.write_text("\n".join(other), encoding="utf-8")
        with pytest.raises(ValueError, match=sentence), pytest.warns(UserWarning, match="could not be answered"):
            rightreasons.audit(predictions=str(log), out=tmp_path / "report", questions=["probes"])


def test_requests_are_written_once_with_their_right_choice():
    requests = {one.id: one for one in choice_requests(items(), parts=["items", "probes", "orders"], ks=[1])}
    # The item, three probes, one added choice, five further orders.
    assert len(requests) == 12 * (1 + 3 + 1 + 5)
    assert requests["dog-1"].asked == "items"
    for name, label in (("dog-1", 1), ("dog-1/no_question", -1), ("dog-1/order 1", 0), ("dog-1/order 2", 2)):
        assert requests[name].label == label
    unlabeled = items().map(lambda row: {"label": -1})
    assert {request.label for request in choice_requests(unlabeled, parts=["orders"])} == {-1}
    turned, added = requests["dog-1/order 1"], requests["dog-1/extra_choices_1"]
    assert turned.choices[turned.label] == added.choices[added.label] == items()[1]["choices"][1]
    letters = Rendering.of(Prompt(style="letters"), chat=False, scorings=["sum"])
    (row,) = request_rows([requests["dog-1/no_question"]], letters)
    assert row["text"].startswith("A. The dog is late.\nB. ")


def test_stored_answers_are_those_of_the_same_request():
    logits = Ragged.of(np.array([-1.0, -2.0, -3.0, -4.0, -5.0]), [2, 3])
    answers = StoredAnswers("the log", ["a", "a/order 1"], ["Why?", "Why?"], [["x", "y"], ["y", "x", "z"]], logits)
    assert answers(["Why?"] * 2, [["y", "x", "z"], ["x", "y"]], ["a/order 1", "a/order 0"]).values.tolist() == [
        -3, -4, -5, -1, -2,
    ]  # fmt: skip
    with pytest.raises(ValueError, match=r"each of 2 requests in the log, but 1 have none, such as 'b'"):
        answers(["Why?"] * 2, [["x", "y"]] * 2, ["a", "b"])
    with pytest.raises(ValueError, match="asked with other texts"):
        answers(["How?"], [["x", "y"]], ["a"])


def test_a_task_of_inspect_is_python_that_names_its_rows(capsys, tmp_path):
    export(capsys, tmp_path, "--to", "inspect", "--limit", "4")
    source = (tmp_path / "task" / "rightreasons_items.py").read_text(encoding="utf-8")
    compile(source, "task", "exec")
    rows = [json.loads(line) for line in (tmp_path / "task" / "items.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["asked"] for row in rows} >= {"items", "no_question", "extra_choices_4"}
    assert all(row["options"] == list("ABCDEFGHIJKL"[: len(row["choices"])]) for row in rows)


def test_letters_that_a_model_wrote_come_back_as_picks(capsys, tmp_path):
    """A log of inspect_ai without log-probabilities: the first letter each time, and once no letter."""
    export(capsys, tmp_path, "--to", "inspect", "--parts", "probes,orders")
    rows = [json.loads(line) for line in (tmp_path / "task" / "items.jsonl").read_text(encoding="utf-8").splitlines()]
    samples = [
        {"id": row["id"], "target": "A", "metadata": row, "output": {}, "scores": {"answer_scorer": {"answer": "A"}}}
        for row in rows
    ]
    unread = next(one for one in samples if one["metadata"]["asked"] == "no_question")
    unread["scores"]["answer_scorer"]["answer"] = ""
    log = tmp_path / "log.json"
    log.write_text(json.dumps({"version": 2, "status": "success", "eval": {}, "samples": samples}))
    figures = answered(tmp_path, log)["picks"]
    # Of 12 items with three choices under all 6 orders, none keeps an answer that is always the first choice.
    assert (figures["orders"], figures["n_orders"], figures["consistency"]["value"]) == ("all", 6, 0)
    probe = figures["probes"]["no_question"]
    assert (probe["n_items"], probe["n_unanswered"]) == (11, 1)
    # Labels go round three choices, so of the other 11 items 3 or 4 have the first as their answer.
    first = unread["metadata"]["id"].split("/")[0].endswith(("-0", "-3", "-6", "-9"))
    assert probe["rate"]["value"] == pytest.approx((4 - first) / 11)
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert "changes its answer with the order of the choices in 100.0% of the items" in page
    assert "generated answers" in page


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--to", "helm"], "Expected --to to be one of"),
        (["--parts", "probes,cues"], "Expected --parts to be one of"),
        (["--split", "dev"], "dev"),
    ],
)
def test_what_cannot_be_exported(capsys, tmp_path, options, sentence):
    said = export(capsys, tmp_path, *options)
    assert said.code != 0
    assert sentence in said.err
    assert not (tmp_path / "task").exists()
