"""Logs of lm-evaluation-harness and inspect_ai, in the form in which versions 0.4.13 and 0.3.285 write them."""

import json
import math
import time

import numpy as np
import pytest

from rightreasons.io.harnesses.inspect_logs import _make_text_columns, inspect_reply
from rightreasons.io.log_forms import read_log_columns
from rightreasons.io.logs import LACK, NO_READABLE_ANSWER, UNREAD
from rightreasons.io.opened_columns import read_columns
from rightreasons.io.options import PredictionOptions, ScoreOptions
from rightreasons.io.predictions import read_answers, read_predictions


def columns_of(path, **options):
    return read_columns(path, ScoreOptions(**options))[0]


def sample(number, requests, answers, target, **further):
    """Build a line of a samples file; numbers are texts there."""
    arguments = {
        f"gen_args_{i}": {f"arg_{j}": part for j, part in enumerate(request)}
        for i, request in enumerate(requests)
    }
    answers = (
        [[str(score), "False"] for score in answers] if isinstance(answers[0], float) else answers
    )
    row = {
        "doc_id": number,
        "doc": further.pop("doc", {}),
        "target": target,
        "arguments": arguments,
    }
    row |= {"resps": [[answer] for answer in answers], "filtered_resps": answers, "filter": "none"}
    return (
        row | {"metrics": [name for name in further if name != "filter"], "doc_hash": "d"} | further
    )


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


QUESTIONS = [
    # Three choices, of which the best by sum, per character, and against the choice alone differ.
    ("Why cook?", ["Eat.", "To eat well today.", "Éé."], [-4.0, -9.0, -6.0], 1),
    ("Why run?", ["Flee.", "For fun."], [-3.0, -4.0], 0),
]


def choice_samples(unconditional=False):
    rows = []
    for number, (prompt, choices, scores, label) in enumerate(QUESTIONS):
        requests = [(f"Q: {prompt}\nA:", f" {choice}") for choice in choices]
        answers = list(scores)
        if unconditional:
            requests += [("", f" {choice}") for choice in choices]
            answers += [-2.0 * (index + 1) for index in range(len(choices))]
        doc = {"goal": prompt, "label": label, "pair_id": "p"}
        rows.append(
            sample(
                number,
                requests,
                answers,
                str(label),
                doc=doc,
                acc=float(np.argmax(scores) == label),
            )
        )
    return rows


def test_choices_with_each_normalization_of_the_harness(tmp_path):
    columns = columns_of(write(tmp_path / "samples.jsonl", choice_samples(unconditional=True)))
    assert columns["id"] == ["0", "1"]
    assert columns["prompt"][0] == "Q: Why cook?\nA:"
    assert columns["choices"] == [choices for _, choices, _, _ in QUESTIONS]
    assert columns["label"] == [1, 0]
    assert columns["logits"] == [scores for _, _, scores, _ in QUESTIONS]
    # "Eat." has 4 characters, "To eat well today." 18, "Éé." 3 in 5 bytes.
    assert columns["per_character"][0] == [-4 / 4, -9 / 18, -6 / 3]
    assert columns["per_byte"][0] == [-4 / 4, -9 / 18, -6 / 5]
    assert columns["unconditional"] == [[-4 + 2, -9 + 4, -6 + 6], [-3 + 2, -4 + 4]]
    assert columns["pair_id"] == ["p", "p"]
    assert columns["doc.goal"] == ["Why cook?", "Why run?"]


def test_a_normalization_is_chosen_by_its_column(tmp_path):
    path = write(tmp_path / "samples.jsonl", choice_samples())
    assert read_predictions(path).scores == "logits"
    normalized = read_predictions(path, score_columns="per_character")
    assert normalized.scores == "logits"
    assert normalized.predictions[0] == [-1.0, -0.5, -2.0]
    with pytest.raises(ValueError, match="unconditional"):
        read_predictions(path, score_columns="unconditional")


def test_one_line_and_a_json_file(tmp_path):
    path = tmp_path / "one.json"
    path.write_text(json.dumps(choice_samples()[0]), encoding="utf-8")
    assert columns_of(path)["label"] == [1]


def test_the_same_words_for_all_items_are_classes(tmp_path):
    requests = [
        [(f"{text}\nSentiment:", f" {name}") for name in ("bad", "good")]
        for text in ("Fine.", "Dull.", "So so.")
    ]
    scores = [(-2.0, -1.0), (-1.0, -3.0), (-2.5, -2.0)]
    rows = [
        sample(number, asked, list(score), target)
        for number, (asked, score, target) in enumerate(
            zip(requests, scores, ["1", "bad", "0"], strict=True)
        )
    ]
    read = read_predictions(write(tmp_path / "samples.jsonl", rows))
    assert read.label_names == ("bad", "good")
    assert read.references.tolist() == [1, 0, 0]
    assert read.predictions.tolist() == [list(score) for score in scores]
    assert read.columns["text"][0] == "Fine.\nSentiment:"


def test_letters_stand_for_the_texts_of_the_document(tmp_path):
    rows = [
        sample(
            number,
            [("Q", " A"), ("Q", " B")],
            [-1.0, -2.0],
            "0",
            doc={"choices": [f"x{number}", "y"]},
        )
        for number in range(2)
    ]
    assert columns_of(write(tmp_path / "samples.jsonl", rows))["choices"] == [
        ["x0", "y"],
        ["x1", "y"],
    ]
    bare = [{**row, "doc": {}} for row in rows]
    assert columns_of(write(tmp_path / "samples.jsonl", bare))["choices"] == [["A", "B"]] * 2


@pytest.mark.parametrize(
    ("target", "acc", "label"),
    [
        ("2", {"acc": 1.0}, 2),  # the likeliest choice is number 2, counted from 0
        ("2", {"acc": 0.0}, 1),  # the text "2" is choice 1
        (2, {}, 2),  # as the harness reads a number
        ("7", {"acc": 1.0}, 2),
        ("²", {"acc": 0.0}, 3),
    ],
)
def test_a_target_among_choices_that_are_numbers(tmp_path, target, acc, label):
    row = sample(
        0,
        [("Q", f" {text}") for text in ("5", "2", "7", "²")],
        [-3.0, -2.0, -1.0, -4.0],
        target,
        **acc,
    )
    assert read_columns(write(tmp_path / "samples.jsonl", [row]), ScoreOptions())[0]["label"] == [
        label
    ]


@pytest.mark.parametrize(
    ("metrics", "right"),
    [
        ({"bleu": [0, 0], "extractive_match": [1, 0]}, [1, 0]),
        ({"is_truncated": [0, 0], "pass@k:k=1&n=1": [0.0, 1.0]}, [0, 1]),
        ({"bleu": [0, 0], "is_truncated": [0, 1]}, None),  # neither says it
        ({"mine": [1, 0]}, [1, 0]),  # the only one
    ],
)
def test_the_metric_of_a_log_that_says_what_is_right(metrics, right):
    rows = [
        {
            "doc": {"id": str(n), "query": f"Why {n}?"},
            "metric": {name: values[n] for name, values in metrics.items()},
            "model_response": {"text": ["so"]},
        }
        for n in range(2)
    ]
    assert read_log_columns(rows, "details.parquet").get("correct") == right


@pytest.mark.parametrize(("acc", "label"), [(1.0, 1), (0.0, 0)])
def test_choices_within_the_prompt(tmp_path, acc, label):
    # Winogrande asks for one continuation after two prompts; the target is that continuation.
    requests = [("The cup is", " full."), ("The jug is", " full.")]
    row = sample(0, requests, [-2.0, -1.0], "full.", acc=acc)
    columns = columns_of(write(tmp_path / "samples.jsonl", [row]))
    assert (columns["choices"], columns["prompt"], columns["label"]) == (
        [["The cup is", "The jug is"]],
        ["full."],
        [label],
    )


def test_generated_answers_of_one_filter(tmp_path):
    rows = [
        sample(
            0, [("Capital?", {"until": ["\n"]})], [answer], "Paris", filter=name, exact_match=right
        )
        for name, answer, right in (("strict", "[invalid]", 0.0), ("loose", "Paris", 1.0))
    ]
    path = write(tmp_path / "samples.jsonl", rows)
    with pytest.raises(
        ValueError,
        match=r"filter in samples\.jsonl",
    ):
        columns_of(path)
    with pytest.raises(ValueError, match="Did you mean 'loose'"):
        columns_of(path, log_filter="lose")
    columns = columns_of(path, log_filter="loose")
    assert (columns["answer"], columns["target"], columns["correct"]) == (["Paris"], ["Paris"], [1])
    with pytest.raises(ValueError, match="Expected a column of scores"):
        read_predictions(path, options=PredictionOptions(log_filter="loose"))
    single = write(tmp_path / "single.jsonl", rows[1:])
    assert read_answers(single).answers == ["Paris"]


def test_ids_are_those_of_the_documents_where_they_have_them(tmp_path):
    rows = choice_samples()
    for row, name in zip(rows, ("a-7", "b-7"), strict=True):
        row["doc"]["id"] = name
    assert columns_of(write(tmp_path / "samples.jsonl", rows))["id"] == ["a-7", "b-7"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": "7"}, "correct choice"),
        ({"target": "[0, 1]"}, r"(one|the) correct choice.* item 1 has '\[0, 1\]'"),
        ({"arguments": {}}, "the requests"),
        ({"arguments": 5}, "the requests of each item"),
        (
            {"filtered_resps": [["-1.0", "False"]]},
            "generated answer",
        ),
        (
            {"filtered_resps": [["x", "False"], [None, "False"]]},
            "log-likelihood per",
        ),
        (
            {"filtered_resps": [["nan", "False"], ["-1.0", "False"]]},
            "log-likelihood per",
        ),
        (
            {"doc_id": 0},
            "`doc_id` once in samples.jsonl, but '0' occurs 2 times",
        ),
    ],
)
def test_samples_that_cannot_be_read(tmp_path, change, message):
    rows = choice_samples()
    rows[1] |= change
    with pytest.raises(ValueError, match=message):
        columns_of(write(tmp_path / "samples.jsonl", rows))


@pytest.mark.parametrize("accuracy", [0.25, 0.0])
def test_a_task_that_counts_other_answers_as_correct_is_refused(tmp_path, accuracy):
    # truthfulqa_mc2: several choices are correct, and the accuracy is their probability.
    rows = choice_samples()
    assert columns_of(write(tmp_path / "samples.jsonl", rows))["label"]
    rows[1]["acc"] = accuracy
    with pytest.raises(ValueError, match=f"1 of 2 items differ, such as item 1 with {accuracy}"):
        columns_of(write(tmp_path / "samples.jsonl", rows))


def test_a_log_that_ends_in_the_middle(tmp_path):
    path = write(tmp_path / "samples.jsonl", choice_samples())
    path.write_text(path.read_text(encoding="utf-8")[:-40], encoding="utf-8")
    with pytest.raises(ValueError, match="line 2.*delete it to read the 1 line before it"):
        columns_of(path)


def test_samples_of_two_tasks_and_other_lines(tmp_path):
    generated = sample(5, [("Capital?", {"until": ["\n"]})], ["Paris"], "Paris")
    with pytest.raises(
        ValueError,
        match="mixed.jsonl, each",
    ):
        columns_of(write(tmp_path / "mixed.jsonl", [*choice_samples(), generated]))
    with pytest.raises(ValueError, match="in each line of mixed.jsonl, but line 3 holds"):
        columns_of(write(tmp_path / "mixed.jsonl", [*choice_samples(), {"text": "a"}]))


# ----------------------------------------------------------------------------------------------------------- inspect_ai


def token(text, top):
    """Build one generated token: (token, log-probability) pairs, the first of which was generated."""
    entries = [{"token": name, "logprob": value, "bytes": []} for name, value in top]
    return {"token": text, "logprob": dict(top)[text], "bytes": [], "top_logprobs": entries}


def inspected(name, choices, target, answer, tokens=None, **further):
    output = {
        "model": "m",
        "completion": answer,
        "choices": [{"logprobs": tokens and {"content": tokens}}],
    }
    right = {"value": "C" if answer == target else "I", "answer": answer, "explanation": ""}
    return {
        "id": name, "epoch": 1, "input": f"Question {name}", "choices": choices, "target": target, "output": output,
        "scores": {"choice": right}, "metadata": {"source_id": "s", "level": 3},
    } | further  # fmt: skip


def log(path, samples):
    content = {"version": 2, "status": "success", "eval": {"task": "t"}, "samples": samples}
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@pytest.mark.parametrize("value", [0.5, {"style": 1, "facts": 0}])
def test_scores_that_are_neither_correct_nor_incorrect_are_told(tmp_path, value):
    samples = []
    for number in range(3):
        sample = inspected(number, None, "Paris", "Paris")
        samples.append(sample | {"scores": {"graded": {"value": value}}})
    with pytest.warns(
        UserWarning, match="do not show which answers are correct, because they have values"
    ):
        columns = columns_of(log(tmp_path / "log.json", samples))
    assert "correct" not in columns


def test_a_target_of_several_letters_is_told(tmp_path):
    sample = inspected(7, ["x", "y", "z"], ["A", "C"], "A")
    with pytest.raises(ValueError, match=r"only correct choice.*sample 7 is \"\['A', 'C'\]\""):
        columns_of(log(tmp_path / "log.json", [sample]))


LETTERS = [("A", math.log(0.25)), ("ĠB", math.log(0.5)), ("the", -9.0)]


def test_letters_of_every_sample_give_scores(tmp_path):
    # The letter in "ANSWER: B" counts, not the one in the words before it.
    tokens = [token("A", [("A", -0.1), ("B", -5.0)]), token("ĠB", LETTERS)]
    samples = [
        inspected(1, ["x", "y"], "A", "B", tokens),
        inspected(2, ["u", "v"], "B", "B", tokens),
    ]
    read = read_predictions(log(tmp_path / "log.json", samples))
    assert read.scores == "logits"
    assert read.predictions.tolist() == [[math.log(0.25), math.log(0.5)]] * 2
    assert read.references.tolist() == [0, 1]
    assert read.columns["choices"] == [["x", "y"], ["u", "v"]]
    assert (read.columns["source_id"], read.columns["doc.level"]) == (["s", "s"], [3, 3])


def test_the_letter_of_the_answer_alone_is_confidence(tmp_path):
    known = token("ĠB", [("ĠB", math.log(0.5)), ("C", -1.0)])
    samples = [
        inspected(1, ["x", "y"], "A", "B", [known]),
        inspected(2, ["u", "v"], "B", "B", [known]),
    ]
    samples.append(inspected(3, ["u", "v"], "B", "", [known]))
    with pytest.warns(UserWarning, match="log.json have"):
        read = read_predictions(log(tmp_path / "log.json", samples))
    assert read.kind == "confidence"
    assert read.predictions == pytest.approx([0.5, 0.5])
    assert read.references.tolist() == [0, 1]
    assert read.ids == ("1", "2")


def test_answers_without_probabilities(tmp_path):
    samples = [
        inspected(1, ["x", "y"], "A", "B"),
        inspected(2, ["u", "v"], "B", "B"),
        inspected(3, ["u", "v"], "B", "Z"),
    ]
    columns = columns_of(log(tmp_path / "log.json", samples))
    assert (columns["answer"], columns["correct"], columns["label"]) == (
        ["B", "B", ""],
        [0, 1, 0],
        [0, 1, 1],
    )
    text = inspected(
        1,
        None,
        "yes",
        "yes",
        input=[{"role": "system", "content": "s"}, {"role": "user", "content": "good?"}],
    )
    columns = columns_of(log(tmp_path / "log.json", [text]))
    assert (columns["text"], columns["answer"], columns["target"], columns["correct"]) == (
        ["good?"],
        ["yes"],
        ["yes"],
        [1],
    )


def test_a_scorer_s_word_stands_where_it_keeps_no_letter_or_no_answer(tmp_path):
    def judged(name, value, answer, choices=("x", "y")):
        return inspected(
            name, choices, "B", "B", scores={"own": {"value": value, "answer": answer}}
        )

    samples = [judged(1, "C", "b"), judged(2, "C", None), judged(3, "I", "B"), judged(4, "I", "a")]
    columns = read_columns(log(tmp_path / "log.json", samples), ScoreOptions())[0]
    assert (columns["answer"], columns["correct"]) == (["B", "B", "B", ""], [1, 1, 0, 0])
    assert columns["answer_unread"] == [False, False, False, True]
    samples = [judged(1, "C", None, None), judged(2, "I", None, None), judged(3, "I", "", None)]
    columns = read_columns(log(tmp_path / "log.json", samples), ScoreOptions())[0]
    assert (columns["answer"], columns["correct"]) == (["B", "B", ""], [1, 0, 0])
    with pytest.raises(ValueError, match="and `correct_column`"):
        read_predictions(
            log(tmp_path / "log.json", [judged(1, "P", "so", None), judged(2, "C", "so", None)])
        )


def test_epochs_are_answers_to_one_item(tmp_path):
    samples = [inspected(1, ["x", "y"], "A", "B"), inspected(1, ["x", "y"], "A", "A", epoch=2)]
    columns = columns_of(log(tmp_path / "log.json", samples))
    assert (columns["id"], columns["source_id"]) == (["1/1", "1/2"], ["1", "1"])


def test_a_sample_that_was_run_again_is_one_item(tmp_path):
    again = [
        inspected(1, ["x", "y"], "A", "B"),
        inspected(2, ["x", "y"], "A", "A"),
        inspected(1, ["x", "y"], "A", "A"),
    ]
    columns = columns_of(log(tmp_path / "log.json", again))
    assert (columns["id"], columns["source_id"]) == (["1/1", "2/1", "1/2"], ["1", "2", "1"])
    row = {
        "sample_id": "s",
        "interaction_type": "single_turn",
        "input": {"raw": "Why?"},
        "output": {"raw": ["so"]},
    }
    columns = read_log_columns(
        [{**row, "evaluation": {"is_correct": right}} for right in (True, False)], "every.jsonl"
    )
    assert (columns["id"], columns["source_id"], columns["correct"]) == (
        ["s/1", "s/2"],
        ["s", "s"],
        [1, 0],
    )


@pytest.mark.parametrize(
    ("value", "right"), [("C", 1), ("I", 0), ("N", 0), (True, 1), (False, 0), (1.0, 1), (0, 0)]
)
def test_what_a_scorer_says_of_an_answer(tmp_path, value, right):
    one = inspected(1, None, "yes", "yes", scores={"match": {"value": value, "answer": "yes"}})
    assert columns_of(log(tmp_path / "log.json", [one]))["correct"] == [right]


@pytest.mark.parametrize("value", ["P", 0.5, {"a": 1}])
def test_a_score_between_right_and_wrong_says_nothing(tmp_path, value):
    told = [
        inspected(n, None, "yes", "yes", scores={"match": {"value": each}})
        for n, each in enumerate(["C", value])
    ]
    assert "correct" not in columns_of(log(tmp_path / "log.json", told))


def test_samples_without_a_score_are_left_out_and_counted(tmp_path):
    values = ["C", None, math.nan, "I"]
    told = [
        inspected(n, None, "yes", "yes", scores={"match": {"value": value}})
        for n, value in enumerate(values)
    ]
    with pytest.warns(UserWarning, match=r"log\.json have"):
        columns = columns_of(log(tmp_path / "log.json", told))
    assert (columns["id"], columns["correct"]) == (["0", "3"], [1, 0])
    rows = [
        sample(n, [("Why?", {})], ["so"], "so", exact_match=value)
        for n, value in enumerate([None, 1.0, True])
    ]
    with pytest.warns(UserWarning, match=r"samples\.jsonl have"):
        columns = columns_of(write(tmp_path / "samples.jsonl", rows))
    assert (columns["id"], columns["correct"]) == (["1", "2"], [1, 1])


def test_samples_that_failed_are_counted(tmp_path):
    samples = [
        inspected(1, ["x", "y"], "A", "B"),
        inspected(2, ["x", "y"], "A", "A", error={"message": "timed out"}),
    ]
    with pytest.warns(UserWarning, match=r"1 of 2 samples of log\.json ended in an error"):
        assert columns_of(log(tmp_path / "log.json", samples))["id"] == ["1"]
    with pytest.raises(ValueError, match="all 1 ended in an error"):
        columns_of(log(tmp_path / "log.json", samples[1:]))


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        (None, "samples in log.json, but got an empty list"),
        ([], "samples in log.json, but got an empty list"),
        ([5], "log.json, but sample"),
        (
            [inspected(1, ["x", "y"], "E", "B")],
            "choice as the target",
        ),
        ([inspected(1, ["x", "y"], ["A", "B"], "B")], "the letter of the only correct choice"),
        ([inspected(1, ["x"], "A", "A"), inspected(2, None, "A", "A")], "samples of one kind"),
        (
            [inspected(1, ["x"], "A", "A", scores={})],
            "samples with scores",
        ),
        (
            [inspected(1, ["x"], "A", "A", scores={"own": {}, "match": {}})],
            "the answers of one scorer.*match.*own",
        ),
    ],
)
def test_logs_that_cannot_be_read(tmp_path, samples, message):
    with pytest.raises(ValueError, match=message):
        columns_of(log(tmp_path / "log.json", samples))


def test_an_archive_needs_inspect_ai(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "inspect_ai.log", None)
    path = tmp_path / "log.eval"
    path.write_bytes(b"PK")
    with pytest.raises(ImportError, match=r"\[harness\]"):
        columns_of(path)


def test_the_collector_of_garbage_goes_on_after_reading(tmp_path):
    import gc

    (tmp_path / "broken.jsonl").write_text("{")
    with pytest.raises(ValueError, match="Expected JSON"):
        read_predictions(tmp_path / "broken.jsonl")
    assert gc.isenabled()


def test_half_a_character_in_a_choice_has_its_bytes():
    pairs = {
        f"gen_args_{n}": {"arg_0": "Sky?", "arg_1": f" {word}"}
        for n, word in enumerate(("blue", "\ud800"))
    }
    answers = [["-1.5", "False"], ["-3.0", "False"]]
    row = {
        "doc": {},
        "target": "0",
        "arguments": pairs,
        "resps": answers,
        "filtered_resps": answers,
    }
    other = {**row, "arguments": {**pairs, "gen_args_1": {"arg_0": "Sky?", "arg_1": " red"}}}
    columns = read_log_columns([{**row, "doc_id": 0}, {**other, "doc_id": 1}], "samples.jsonl")
    assert columns["per_byte"] == [[-1.5 / 4, -3.0 / 3], [-1.5 / 4, -3.0 / 3]]


def test_a_hundred_thousand_answers_are_read_in_seconds(tmp_path):
    rows = [
        sample(n, [["Which?", {"until": ["x"]}]], ["A"], "A", exact_match=1.0)
        | {"resps": [[f"{n}: the answer is A."]]}
        for n in range(4000)
    ]
    path = write(tmp_path / "samples.jsonl", rows)
    began = time.process_time()
    assert len(columns_of(path)["id"]) == 4000
    # 5 s for 100,000 is 50 µs each, and machines of tests are slow.
    assert (time.process_time() - began) / 4000 < 4e-4


def test_parts_of_a_message_of_inspect_are_thinking_refusal_and_text():
    refused = {
        "message": {"content": [{"type": "text", "text": "I can't help.", "refusal": True}]},
        "stop_reason": "stop",
    }
    reply = inspect_reply({"choices": [refused]})
    assert (reply.text, reply.refusal, reply.no_answer_reason) == ("", "I can't help.", "refused")
    hidden = [
        {"type": "reasoning", "reasoning": "x9", "redacted": True, "summary": "Lyon?"},
        {"type": "text", "text": "B"},
    ]
    reply = inspect_reply({"choices": [{"message": {"content": hidden}, "stop_reason": "stop"}]})
    assert (reply.text, reply.thinking, reply.no_answer_reason) == ("B", "Lyon?", "")
    assert inspect_reply({"completion": "<think>A?</think>B"}).text == "B"
    assert inspect_reply({"choices": [{"message": {"content": None}}]}).no_answer_reason == "empty"


def make_inspect_sample(number, completion):
    return {"id": number, "target": "yes", "input": "Is it?", "output": {"completion": completion}}


def test_an_empty_answer_of_a_sample_without_choices_is_none():
    samples = [make_inspect_sample(1, "It is."), make_inspect_sample(2, "Hm.")]
    scores = [{"value": "C", "answer": None}, {"value": "I", "answer": " "}]

    columns = _make_text_columns(samples, scores)

    # Without an answer of its own, a scorer has read the whole text.
    assert columns[UNREAD] == [False, True]
    assert columns[LACK] == ["", NO_READABLE_ANSWER]


def test_samples_that_all_have_an_answer_lack_none():
    columns = _make_text_columns([make_inspect_sample(1, "It is.")], [{"value": "C"}])

    assert LACK not in columns
