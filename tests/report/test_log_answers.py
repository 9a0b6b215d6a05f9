"""Every log ends in a report with figures: accuracy by sample and epoch as its harness tells it, and what is unread."""

from __future__ import annotations

import json
import math
import random

import numpy as np
import pytest

from rightreasons.core.errors import OptionError
from rightreasons.core.replies import Reply
from rightreasons.io import read_predictions
from rightreasons.models.protocol import Answers
from rightreasons.report.runner import audit
from second_reader import choose

pytestmark = pytest.mark.usefixtures("unrendered")

LETTERS = "ABCD"


def audited(path, tmp_path, **how):
    result = audit(predictions=path, out=tmp_path / "report", progress=False, n_resamples=50, **how)
    return result.audit["answers"], result


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


# ------------------------------------------------------------------------------------------------------- inspect_ai


def letters_first(content, *, logprobs, share=0.8):
    """Make an output that thinks aloud, then answers, with the share of its letter at each letter token."""
    from inspect_ai.model import (
        ChatCompletionChoice,
        ChatMessageAssistant,
        Logprob,
        Logprobs,
        ModelOutput,
        ModelUsage,
        TopLogprob,
    )

    tokens = []
    for token in content.replace("\n", " \n ").split(" "):
        if token in ("A", "B", "C"):
            shares = {letter: share if letter == token else (1 - share) / 2 for letter in "ABC"}
            top = [
                TopLogprob(token=letter, logprob=math.log(each)) for letter, each in shares.items()
            ]
            tokens.append(Logprob(token=token, logprob=math.log(share), top_logprobs=top))
        else:
            tokens.append(Logprob(token=token, logprob=-0.1, top_logprobs=[]))
    message = ChatMessageAssistant(content=content)
    choice = ChatCompletionChoice(
        message=message, stop_reason="stop", logprobs=Logprobs(content=tokens)
    )
    choice = choice if logprobs else choice.model_copy(update={"logprobs": None})
    return ModelOutput(
        model="mock", choices=[choice], usage=ModelUsage(input_tokens=9, output_tokens=9)
    )


def evaluated(tmp_path, answer, *, epochs=1, shuffle=False, cot=False, form="eval"):
    """Run inspect_ai on thirty questions of three choices, of which the one with "right" in it is right."""
    import inspect_ai
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import get_model
    from inspect_ai.scorer import choice
    from inspect_ai.solver import multiple_choice

    samples = []
    for n in range(30):
        texts = [f"wrong {n}", f"other {n}", f"odd {n}"]
        texts[n % 3] = f"right {n}"
        samples.append(Sample(id=n, input=f"Which, {n}?", choices=texts, target=LETTERS[n % 3]))
    task = inspect_ai.Task(
        dataset=MemoryDataset(samples), solver=multiple_choice(cot=cot, shuffle=random.Random(5) if shuffle else None),
        scorer=choice(), epochs=epochs,
    )  # fmt: skip
    model = get_model("mockllm/model", custom_outputs=answer)
    where = {"log_dir": str(tmp_path / "logs"), "log_format": form}
    (log,) = inspect_ai.eval(task, model=model, display="none", max_samples=1, **where)
    assert log.status == "success", log.error
    told = {name: metric.value for name, metric in log.results.scores[0].metrics.items()}
    return log.location.removeprefix("file://"), told


def shown_letter(messages, start):
    """Return the letter before a choice as it was shown."""
    text = messages[-1].text
    return next(
        line[0] for line in text.splitlines() if line[1:3] == ") " and line[3:].startswith(start)
    )


@pytest.mark.parametrize("form", ["eval", "json"])
@pytest.mark.parametrize("cot", [False, True])
@pytest.mark.parametrize("shuffle", [False, True])
def test_shuffled_choices_keep_their_answers_and_their_confidences(tmp_path, shuffle, cot, form):
    pytest.importorskip("inspect_ai")
    draw = random.Random(1)

    def answer(messages, *_):
        right = shown_letter(messages, "right")
        letter = right if draw.random() < 0.7 else draw.choice(sorted({*"ABC"} - {right}))
        other = "A" if letter != "A" else "B"
        thought = f"It may be {other} at first sight.\n" if cot else ""
        return letters_first(f"{thought}ANSWER: {letter}", logprobs=True)

    log, told = evaluated(tmp_path, answer, shuffle=shuffle, cot=cot, form=form)
    figures, result = audited(log, tmp_path, questions=["calibration"])
    assert figures["n_items"] == 30
    assert figures["low"] == pytest.approx(told["accuracy"], abs=1e-12)
    assert figures["standard_error"] == pytest.approx(told["stderr"], abs=1e-12)
    assert figures["lacks"] == {}
    # Every answer has the confidence of its own letter.
    table = result.audit["dataset"]["splits"][0]
    assert table["n_items"] == 30
    # Every answer has the confidence of its own letter, 0.8: another letter has 0.1.
    predictions = np.asarray(read_predictions(log).predictions, dtype=float)
    np.testing.assert_allclose(np.exp(predictions).max(axis=1), 0.8)


@pytest.mark.parametrize("logprobs", [False, True])
def test_epochs_are_clustered_by_sample_as_the_harness_does(tmp_path, logprobs):
    pytest.importorskip("inspect_ai")
    draw = random.Random(3)
    easy = {n: draw.random() for n in range(30)}

    def answer(messages, *_):
        number = int(messages[-1].text.split("Which, ")[1].split("?")[0])
        said = "right" if draw.random() < easy[number] else "wrong" if number % 3 else "other"
        # They are drawn: the letter that was answered is not the likeliest.
        return letters_first(
            f"ANSWER: {shown_letter(messages, said)}", logprobs=logprobs, share=0.3
        )

    log, told = evaluated(tmp_path, answer, epochs=4)
    figures, _ = audited(log, tmp_path)
    assert (figures["n_items"], figures["n_units"]) == (120, 30)
    assert figures["low"] == pytest.approx(told["accuracy"], abs=1e-12)
    assert figures["standard_error"] == pytest.approx(told["stderr"], abs=1e-12)
    naive = math.sqrt(figures["low"] * (1 - figures["low"]) / 120)
    assert figures["standard_error"] > 1.3 * naive
    assert 0 < figures["agreement"]["value"] < 1


def test_an_answer_that_is_refused_cut_or_unread_is_wrong_and_named(tmp_path):
    pytest.importorskip("inspect_ai")
    from inspect_ai.model import ModelOutput, ModelUsage

    def answer(messages, *_):
        number = int(messages[-1].text.split("Which, ")[1].split("?")[0])
        if number < 12:
            content, reason = ("", "content_filter") if number < 5 else ("I cannot say.", "stop")
            content, reason = (
                ("<think>The right one", "max_tokens") if 5 <= number < 9 else (content, reason)
            )
            output = ModelOutput.from_content("mock", content, stop_reason=reason)
            return output.model_copy(update={"usage": ModelUsage(input_tokens=9, output_tokens=9)})
        return letters_first(f"ANSWER: {shown_letter(messages, 'right')}", logprobs=False)

    log, told = evaluated(tmp_path, answer)
    figures, result = audited(log, tmp_path)
    # 18 of 30 are right; 12 are unread.
    assert told["accuracy"] == figures["low"] == pytest.approx(0.6)
    assert figures["high"] == pytest.approx(1.0)
    assert figures["lacks"] == {
        "stopped by a content filter": 5, "not finished: its thinking does not end": 4, "no answer that can be read": 3,
    }  # fmt: skip
    assert "content filter" in result.page.read_text("utf-8")
    assert "answer_unread" not in {row["kind"] for row in figures["groups"]}


def test_drawn_answers_show_positions_epochs_cues_and_partial_confidences(tmp_path):
    pytest.importorskip("inspect_ai")
    draw = random.Random(6)

    def answer(messages, *_):
        # Half of the answers are A, wherever the correct choice is; every fifth is unreadable.
        number = int(messages[-1].text.split("Which, ")[1].split("?")[0])
        letter = "A" if draw.random() < 0.5 else shown_letter(messages, "right")
        content = "I cannot say." if number % 5 == 4 else f"ANSWER: {letter}"
        # Only some answers have log-probabilities, of which most are not the largest.
        return letters_first(content, logprobs=number % 3 > 0, share=0.3)

    log, told = evaluated(tmp_path, answer, epochs=3)
    figures, result = audited(log, tmp_path)

    assert figures["low"] == pytest.approx(told["accuracy"], abs=1e-12)
    assert figures["standard_error"] == pytest.approx(told["stderr"], abs=1e-12)
    assert figures["lacks"] == {"no answer that can be read": 18}  # 6 items of 3 epochs
    shares = {row["letter"]: row for row in figures["positions"]}
    assert sum(row["picked"] for row in shares.values()) == pytest.approx(1.0)
    assert shares["A"]["excess"]["low"] > 0
    assert shares["A"]["accuracy"]["value"] > shares["B"]["accuracy"]["value"]
    rates = [row["rate"]["value"] for row in figures["epochs"]["pass_rates"]]
    assert rates[0] == pytest.approx(told["accuracy"])
    assert rates[0] > rates[1] > rates[2]
    assert result["cues"].status == "answered"
    # The 16 readable items with log-probabilities, of 3 epochs each, have a confidence.
    assert result["calibration"].status == "answered"
    readable = [n for n in range(30) if n % 5 != 4 and n % 3 > 0]
    assert result["calibration.accuracy"].n == 3 * len(readable)
    page = result.page.read_text("utf-8")
    for title in (
        "Picks and correct choices by position",
        "Agreement across epochs",
        "Unreadable answers, by reason",
    ):
        assert title in page


# ------------------------------------------------------------------------------------------------------------- others


def test_lighteval_details_of_likelihoods_and_of_answers(tmp_path):
    import pyarrow
    import pyarrow.parquet

    draw = np.random.default_rng(0)

    def row(n, response, metric):
        doc = {
            "id": str(n),
            "query": f"Question {n}?",
            "choices": [" yes it is", " no"],
            "gold_index": [n % 2],
        }
        return {
            "doc": doc,
            "metric": metric,
            "model_response": {"logprobs": [], "text": [], **response},
        }

    likely = [row(n, {"logprobs": draw.normal(size=2).tolist()}, {"acc": 1}) for n in range(40)]
    right = [
        int(np.argmax(one["model_response"]["logprobs"]) == n % 2) for n, one in enumerate(likely)
    ]
    path = tmp_path / "details_task_2026.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(likely), path)
    figures, _ = audited(path, tmp_path, questions=["calibration"])
    assert figures["low"] == pytest.approx(np.mean(right))
    said = [
        row(n, {"text": ["<think>yes" if n < 10 else "yes"]}, {"em": int(n >= 10 and n % 2)})
        for n in range(40)
    ]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(said), path)
    figures, _ = audited(path, tmp_path)
    assert figures["low"] == pytest.approx(15 / 40)
    assert figures["lacks"] == {"not finished: its thinking does not end": 10}


def test_samples_of_every_eval_ever_and_plain_rows_with_correct(tmp_path):
    rows = [
        {"sample_id": f"s{n}", "interaction_type": "single_turn", "input": {"raw": "Why?", "reference": ["so"]},
         "output": {"raw": ["so" if n % 3 else "no"]}, "evaluation": {"score": 1.0, "is_correct": n % 3 > 0}}
        for n in range(30)
    ]  # fmt: skip
    figures, _ = audited(lines(tmp_path / "x_samples.jsonl", rows), tmp_path)
    assert figures["low"] == pytest.approx(20 / 30)
    for n, row in enumerate(rows):
        row["evaluation"] = {"score": float(n % 3 == 1), "is_correct": None}
    figures, _ = audited(lines(tmp_path / "x_samples.jsonl", rows), tmp_path)
    assert figures["low"] == pytest.approx(10 / 30)
    plain = [
        {"id": n, "question": f"Why {n}?", "correct": n % 4 == 0, "subject": "ab"[n % 2]}
        for n in range(40)
    ]
    figures, _ = audited(lines(tmp_path / "plain.jsonl", plain), tmp_path)
    assert figures["low"] == pytest.approx(10 / 40)
    groups = {
        row["name"]: row["accuracy"]["value"]
        for row in figures["groups"]
        if row["kind"] == "subject"
    }
    assert groups == {"a": 0.5, "b": 0.0}  # multiples of 4 are even


def test_a_log_that_is_over_and_under_confident_by_normalization_has_no_verdict(tmp_path):
    draw = np.random.default_rng(2)
    rows = []
    for n in range(120):
        texts = [f" yes {n}", f" no {n}, as " + "it is " * 20]
        sums = [
            -2.0 - draw.exponential(),
            -30.0 - draw.exponential(),
        ]  # the short one nearly always
        target = int(draw.random() < 0.9)
        row = {
            "doc_id": n,
            "doc": {"q": n},
            "target": str(target),
            "filter": "none",
            # The first choice has the larger sum, whatever is drawn.
            "acc": float(target == 0),
        }
        row["arguments"] = {
            f"gen_args_{i}": {"arg_0": f"Q{n}?", "arg_1": text} for i, text in enumerate(texts)
        }
        row["resps"] = row["filtered_resps"] = [[str(value), "False"] for value in sums]
        rows.append({**row, "metrics": ["acc"]})
    path = lines(tmp_path / "samples_task_2026-01-01T00-00-00.0.jsonl", rows)
    _, result = audited(path, tmp_path, questions=["calibration"])
    verdict = result["calibration"].result.verdict
    assert verdict.label == "Depends on the normalization", verdict
    assert verdict.tone == "neutral"
    assert "too high with `logits`" in verdict.summary
    assert "too low with `per_character` and `per_byte`" in verdict.summary


def test_a_log_that_cannot_answer_a_question_says_what_to_log(tmp_path):
    pytest.importorskip("inspect_ai")

    def answer(messages, *_):
        return letters_first(f"ANSWER: {shown_letter(messages, 'right')}", logprobs=False)

    log, _ = evaluated(tmp_path, answer)
    _, result = audited(log, tmp_path)
    why = {name: result[name].reason for name in ("calibration", "cues", "probes")}
    assert "--logprobs --top-logprobs 20" in why["calibration"]
    assert "output_type: multiple_choice" in why["calibration"]
    # Which choice was answered is all that cues need.
    assert why["cues"] == ""
    assert "ask the model again" in why["probes"]
    assert not any("about multiple-choice data" in reason for reason in why.values())


class Judge:
    """Reads a text by the option that it names, or always the first option that is listed."""

    name, fingerprint, thinks, budget, has_template = "judge", "judge", False, 32, True
    abilities = frozenset({"text"})

    def __init__(self, read=choose):
        self.read = read
        self.n_asked = 0

    def generate(self, requests, **options):
        self.n_asked += len(requests)
        return Answers([[Reply(self.read(request.prompt[0]["content"]))] for request in requests])


def write_unread_log(tmp_path, shuffle):
    """Write a log of which the harness reads 15 of 30 answers; all but three are correct."""

    def answer(messages, *_):
        number = int(messages[-1].text.split("Which, ")[1].split("?")[0])
        letter = shown_letter(
            messages, "right" if number >= 3 else ("other", "odd", "wrong")[number]
        )
        text = f"ANSWER: {letter}" if number % 2 else f"I would go with option {letter} here."
        return letters_first(text, logprobs=False)

    log, told = evaluated(tmp_path, answer, shuffle=shuffle)
    assert told["accuracy"] == pytest.approx(14 / 30)
    return log


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_judge_reads_the_unread_answers_of_a_log(tmp_path, monkeypatch, shuffle):
    pytest.importorskip("inspect_ai")
    judge = Judge()
    monkeypatch.setattr("rightreasons.audited.judged_logs.open_judge", lambda *_: judge)
    log = write_unread_log(tmp_path, shuffle)

    figures, result = audited(log, tmp_path, judge="judge")

    # 27 of 30 are correct, and the letters are those that the model saw.
    assert (figures["low"], figures["high"], figures["lacks"]) == (0.9, 0.9, {})
    assert "15 of 15 unread answers read by judge" in result.page.read_text("utf-8")
    # Twice for each of 15 texts, and for 12 planted ones.
    assert judge.n_asked == 2 * (15 + 12)


def test_a_judge_that_does_not_read_leaves_answers_unread(tmp_path, monkeypatch):
    pytest.importorskip("inspect_ai")
    judge = Judge(lambda prompt: "A")
    monkeypatch.setattr("rightreasons.audited.judged_logs.open_judge", lambda *_: judge)

    figures, result = audited(write_unread_log(tmp_path, False), tmp_path, judge="judge")

    assert figures["low"] == pytest.approx(14 / 30)
    assert figures["lacks"] == {"no answer that can be read": 15}
    assert "none of 15 unread answers read by judge" in result.page.read_text("utf-8")


def test_a_judge_of_a_file_without_choices_is_refused(tmp_path):
    file = tmp_path / "answers.jsonl"
    file.write_text('{"text": "a", "label": 1, "prediction": 1}\n' * 30, "utf-8")

    with pytest.raises(OptionError) as error:
        audited(file, tmp_path, judge="judge")
    assert error.value.option == ("judge",)
