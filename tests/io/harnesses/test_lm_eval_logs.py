"""Samples of lm-evaluation-harness as columns: choices, targets, metrics and malformed samples."""

from __future__ import annotations

import pytest

from rightreasons.io.harnesses.lm_eval_logs import read_lm_eval_columns


def make_scored(number, logits=(-1.0, -2.0, -3.0), choices=(" one", " two", " three"), **changes):
    """Return a sample with the log-likelihood of each choice."""
    sample = {
        "doc_id": number,
        "doc": {},
        "target": "0",
        "arguments": [[f"Prompt {number}", choice] for choice in choices],
        "resps": [[[str(value), "False"]] for value in logits],
        "filtered_resps": [[str(value), "False"] for value in logits],
    }
    return sample | changes


def make_generated(number, answer="B", **changes):
    """Return a sample with a generated answer."""
    sample = {
        "doc_id": number,
        "doc": {},
        "target": "B",
        "arguments": [[f"Prompt {number}", {"until": ["."]}]],
        "resps": [[f"It is {answer}"]],
        "filtered_resps": [answer],
    }
    return sample | changes


def read(*samples, log_filter=None):
    return read_lm_eval_columns(samples, "the log", log_filter)


def read_choice(**changes):
    """Return the columns of one sample with choices."""
    return read(make_scored(3, **changes))


def test_choices_have_a_prompt_and_scores():
    columns = read_choice(target="1")

    assert columns["id"] == ["3"]
    assert columns["prompt"] == ["Prompt 3"]
    assert columns["choices"] == [["one", "two", "three"]]
    assert columns["logits"] == [[-1.0, -2.0, -3.0]]
    assert columns["label"] == [1]
    assert "unconditional" not in columns


def test_requests_may_be_objects_with_numbered_keys():
    arguments = {
        "gen_args_0": {"arg_0": "Why?", "arg_1": " so"},
        "gen_args_1": {"arg_0": "Why?", "arg_1": " no"},
    }
    answers = [["-1.0", "True"], ["-2.0", "False"]]

    columns = read_choice(arguments=arguments, filtered_resps=answers)

    assert columns["choices"] == [["so", "no"]]


@pytest.mark.parametrize(
    ("target", "choices", "acc", "label"),
    [
        ("2", (" one", " two", " three"), None, 2),
        ("two", (" one", " two", " three"), None, 1),
        # "2" is the number of the last choice and the text of the first one, which is the likeliest.
        ("2", (" 2", " 3", " 4"), 1.0, 0),
        ("2", (" 2", " 3", " 4"), 0.0, 2),
        # A text that occurs twice identifies no choice, but a number does.
        ("1", (" 1", " 1", " 4"), None, 1),
        ("3", (" 3", " 5", " 4"), None, 0),
    ],
)
def test_a_target_is_the_number_or_the_text_of_a_choice(target, choices, acc, label):
    changes = {} if acc is None else {"acc": acc}

    columns = read_choice(target=target, choices=choices, **changes)

    assert columns["label"] == [label]


@pytest.mark.parametrize(
    ("target", "choices"),
    [("3", (" a", " b", " c")), ("x", (" a", " b", " c")), ("a", (" a", " a", " c"))],
)
def test_a_target_that_identifies_no_choice_is_refused(target, choices):
    with pytest.raises(ValueError, match="one correct choice"):
        read_choice(target=target, choices=choices)


@pytest.mark.parametrize(
    ("logits", "acc", "label"), [((-1.0, -2.0), 1, 0), ((-1.0, -2.0), 0, 1), ((-2.0, -1.0), 1, 1)]
)
def test_choices_in_a_gap_are_judged_by_the_accuracy(logits, acc, label):
    arguments = [["The cat", " is here."], ["The dog", " is here."]]
    answers = [[str(value), "False"] for value in logits]

    columns = read_choice(arguments=arguments, filtered_resps=answers, acc=acc)

    assert columns["prompt"] == ["is here."]
    assert columns["choices"] == [["The cat", "The dog"]]
    assert columns["label"] == [label]


@pytest.mark.parametrize("acc", [None, 0.5])
def test_a_gap_without_an_accuracy_is_refused(acc):
    arguments = [["The cat", " is here."], ["The dog", " is here."]]
    answers = [["-1.0", "False"], ["-2.0", "False"]]

    with pytest.raises(ValueError, match="one correct choice"):
        read_choice(arguments=arguments, filtered_resps=answers, acc=acc)


def test_an_accuracy_of_another_kind_is_refused():
    with pytest.raises(ValueError, match="1 of 2 items"):
        read(make_scored(0, acc=1.0), make_scored(1, acc=0.75))
    # Of equally likely choices, the harness predicts the first.
    columns = read(make_scored(0, logits=(-1.0, -1.0, -2.0), acc=1.0), make_scored(1, acc=1))
    assert columns["label"] == ["one", "one"]


def test_the_same_words_in_all_items_are_classes():
    columns = read(make_scored(0), make_scored(1, target="2", logits=(-4.0, -5.0, -6.0)))

    assert columns["text"] == ["Prompt 0", "Prompt 1"]
    assert columns["label"] == ["one", "three"]
    assert columns["logit_two"] == [-2.0, -5.0]
    letters = (" A", " B", " C")
    columns = read(make_scored(0, choices=letters), make_scored(1, choices=letters))
    assert columns["choices"] == [["A", "B", "C"]] * 2
    # Choices that repeat are no classes.
    repeated = (" one", " one", " two")
    columns = read(make_scored(0, choices=repeated), make_scored(1, choices=repeated))
    assert columns["choices"] == [["one", "one", "two"]] * 2


@pytest.mark.parametrize(
    ("document", "choices"),
    [
        ({"choices": ["x", "y", "z"]}, ["x", "y", "z"]),
        ({"choices": {"text": ["x", "y", "z"]}}, ["x", "y", "z"]),
        ({"choices": ["x", "y"]}, ["A", "B", "C"]),
        ({"choices": [1, 2, 3]}, ["A", "B", "C"]),
        ({}, ["A", "B", "C"]),
    ],
)
def test_letters_are_replaced_by_the_texts_of_the_document(document, choices):
    letters = (" A", " B", " C")
    samples = [make_scored(row, choices=letters, doc=document) for row in range(2)]

    assert read(*samples)["choices"] == [choices] * 2


def test_choices_without_the_prompt_are_subtracted():
    arguments = [["Why?", " a"], ["Why?", " b"], ["", " a"], ["", " b"]]
    answers = [[value, "False"] for value in ("-1.0", "-2.0", "-0.25", "-0.5")]

    columns = read_choice(arguments=arguments, filtered_resps=answers)

    assert columns["choices"] == [["a", "b"]]
    assert columns["logits"] == [[-1.0, -2.0]]
    assert columns["unconditional"] == [[-0.75, -1.5]]
    # Four choices after a prompt, and an odd number of requests.
    for prompts in (["Why?"] * 4, ["", "", "", ""], ["Why?", "Why?", ""]):
        arguments = [
            [prompt, f" {letter}x"] for prompt, letter in zip(prompts, "abcd", strict=False)
        ]
        columns = read_choice(arguments=arguments, filtered_resps=answers[: len(prompts)])
        assert len(columns["choices"][0]) == len(prompts)
        assert "unconditional" not in columns


@pytest.mark.parametrize(
    ("answers", "logits"),
    [
        ([[["-1.5", "False"]], [["-2.5", "True"]]], [-1.5, -2.5]),
        ([["-1.5", "False"], ["-2.5", "True"]], [-1.5, -2.5]),
        ([-1.5, -2.5], [-1.5, -2.5]),
    ],
)
def test_log_likelihoods_are_nested_in_lists(answers, logits):
    columns = read_choice(choices=(" a", " b"), filtered_resps=answers)

    assert columns["logits"] == [logits]


@pytest.mark.parametrize(
    "answers",
    [
        [[["-1.5", "False"], ["-1.6", "False"]], ["-2.5", "True"]],
        [[], ["-2.5", "True"]],
        ["x", "-2.5"],
        ["nan", "-2.5"],
        [None, "-2.5"],
        # Another number of answers than of requests.
        ["-2.5"],
    ],
)
def test_other_answers_are_no_log_likelihoods(answers):
    with pytest.raises(ValueError, match="log-likelihood"):
        read_choice(choices=(" a", " b"), filtered_resps=answers)


@pytest.mark.parametrize("arguments", [[], {}, "x", [[]], [["Why?", " a"], []]])
def test_requests_without_arguments_are_refused(arguments):
    with pytest.raises(ValueError, match="the requests of each item"):
        read_choice(arguments=arguments)


def test_a_single_choice_and_other_arguments_are_refused():
    for choices in ((" a",), (" a", 2)):
        with pytest.raises(ValueError, match="at least two choices"):
            read_choice(choices=choices, filtered_resps=["-1.0"] * len(choices))


def test_samples_of_two_kinds_are_refused():
    with pytest.raises(ValueError, match="one task"):
        read(make_scored(0), make_generated(1))


def test_generated_answers_have_a_target_and_metrics():
    columns = read(
        make_generated(0, exact_match=1.0), make_generated(1, "[invalid]", exact_match=0.0)
    )

    assert columns["text"] == ["Prompt 0", "Prompt 1"]
    assert columns["answer"][0] == "B"
    assert columns["target"] == ["B", "B"]
    assert columns["correct"] == [1, 0]


def test_one_of_several_filters_is_selected():
    samples = [make_generated(0, filter="strict"), make_generated(0, "C", filter="flexible")]

    assert read(*samples, log_filter="flexible")["answer"] == ["C"]
    with pytest.raises(ValueError, match="filter"):
        read(*samples)


@pytest.mark.parametrize(
    ("documents", "ids"),
    [
        ([{"id": "a"}, {"id": 7}], ["a", "7"]),
        ([{"id": "a"}, {"id": "a"}], ["0", "1"]),
        ([{"id": "a"}, {}], ["0", "1"]),
        (["text", "text"], ["0", "1"]),
    ],
)
def test_ids_are_those_of_documents_if_all_are_distinct(documents, ids):
    samples = [make_generated(row, doc=document) for row, document in enumerate(documents)]

    assert read(*samples)["id"] == ids


def test_repeated_numbers_of_samples_are_refused():
    with pytest.raises(ValueError, match="occurs 2 times"):
        read(make_generated(0), make_generated(0))
