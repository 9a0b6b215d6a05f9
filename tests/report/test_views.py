"""Parts of a summary in a notebook, and of the page of an audit, without an audit."""

from __future__ import annotations

import base64
import types

import numpy as np
import pytest

from rightreasons.core.arrays import Ragged
from rightreasons.io.row_checks import RowDoubt
from rightreasons.models.servers.usage import Forecast, Usage
from rightreasons.report.audit_page import _describe_choices, _is_about_answers
from rightreasons.report.messages import (
    describe_labels,
    describe_missing_classes,
    describe_questions,
    describe_requests,
    list_split_accuracies,
)
from rightreasons.report.row_doubts import AuditedRows, judge_answers
from rightreasons.report.views import _list_shares, _read_picture


class Split(types.SimpleNamespace):
    """A split of an audit, as far as messages read it."""

    def __len__(self):
        return len(self.labels)

    @property
    def labeled(self):
        return self.labels >= 0


def make_split(labels=(0, 1, 1, -1), **fields):
    defaults = {"name": "test", "class_of": None, "label_mapping": "by name", "choices": None}
    return Split(labels=np.array(labels), **(defaults | fields))


def make_scores(logits, label_names=("no", "yes")):
    rows = logits if isinstance(logits, Ragged) else np.array(logits)
    return types.SimpleNamespace(
        logits=rows,
        predicted=np.array([int(np.argmax(row)) for row in rows]),
        labels=None,
        label_names=label_names,
    )


def make_context(split, scores=None, **fields):
    defaults = {
        "primary": split,
        "splits": [split],
        "comparisons": [],
        "stored": None,
        "task": "classification",
        "label_names": ("no", "yes"),
        "dataset_name": "reviews",
        "list_corrections": list,
        "has_scores": lambda split: scores is not None,
        "scores": lambda split: scores,
        "answers_once": False,
    }
    return types.SimpleNamespace(**(defaults | fields))


def test_a_picture_is_an_address_unless_it_is_gone(tmp_path):
    picture = tmp_path / "x.png"
    picture.write_bytes(b"abc")

    address = _read_picture(picture)

    assert base64.b64decode(address.partition(",")[2]) == b"abc"
    assert _read_picture(tmp_path / "y.png") == ""


def test_undefined_shares_have_no_bar():
    estimate = {"value": 0.25, "low": 0.125, "high": 0.5}
    shares = [{"name": "x", "estimate": estimate}, {"name": "y", "estimate": {"value": None}}]

    assert _list_shares({"shares": shares}) == [
        {"name": "x", "text": "25.0% [12.5, 50.0]", "percent": "25.0"}
    ]


@pytest.mark.parametrize(
    ("stored", "answers_once", "expected"),
    [("log", True, True), ("log", False, False), (None, True, False)],
)
def test_tables_of_answers_are_those_of_a_log(stored, answers_once, expected):
    context = make_context(make_split(), stored=stored, answers_once=answers_once)

    assert _is_about_answers(context) is expected


def test_a_random_guess_depends_on_the_number_of_choices():
    split = make_split(choices=[["a", "b"], ["a", "b", "c", "d"]])

    # (1/2 + 1/4) / 2
    assert _describe_choices(make_context(split)) == {"counts": "2 to 4", "guessing": 0.375}
    assert _describe_choices(make_context(make_split())) is None


def test_answers_of_classes_have_labels_and_choices_have_none():
    scores = make_scores([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]])
    split = make_split()

    outcomes = judge_answers(make_context(split, scores))

    assert outcomes.is_correct.tolist() == [True, True, False]
    assert outcomes.rows.tolist() == [0, 1, 2]
    assert (outcomes.labels.tolist(), outcomes.answers.tolist()) == ([0, 1, 1], [0, 1, 0])
    assert (outcomes.n_classes, outcomes.is_stored) == (2, False)
    choices = judge_answers(make_context(split, scores, task="multiple_choice"))
    assert (choices.labels, choices.n_classes) == (None, 0)
    ragged = make_scores(Ragged.of(np.array([0.9, 0.1] * 4), [2] * 4))
    assert judge_answers(make_context(split, ragged)).labels is None
    confidence = judge_answers(make_context(split, scores, task="confidence"))
    assert confidence.is_correct.tolist() == [False, True, True]
    assert judge_answers(make_context(split)) is None
    assert judge_answers(make_context(make_split([-1, -1]), scores)) is None
    stored = types.SimpleNamespace(order_doubt="Another order.")
    outcomes = judge_answers(make_context(split, scores, stored=stored))
    assert (outcomes.is_stored, outcomes.order_doubt) == (True, "Another order.")


def test_open_doubts_come_before_notes():
    doubts = (RowDoubt("class_order", "It is so.", 1), RowDoubt("x", "Or so.", 1, is_open=False))
    rows = AuditedRows(doubts, "Not used: y.")

    assert rows.lines == ["Rows: It is so.", "Note: Or so.", "Not used: y."]
    assert rows.class_order == "It is so."
    assert rows.open_doubts == [doubts[0]]
    assert AuditedRows().class_order == ""
    assert AuditedRows().lines == []


def test_items_without_labels_are_counted():
    split = make_split(class_of=np.array([0, 1]), label_mapping="by number: no = 0")

    mapping, unlabeled = describe_labels(make_context(split))

    assert mapping.startswith("Labels of reviews matched")
    assert unlabeled == "1 of 4 items of the split test has no label."
    (two,) = describe_labels(make_context(make_split([0, -1, -1])))
    assert two == "2 of 3 items of the split test have no label."
    assert describe_labels(make_context(make_split([0, 1]))) == []


@pytest.mark.parametrize(
    ("class_of", "mapping", "has_warning"),
    [
        ([0, 0], "by number", True),
        ([0, 1], "by number", False),
        ([0, 0], "by name", False),
        (None, "by number", False),
    ],
)
def test_classes_without_a_label_are_a_warning_if_matched_by_number(class_of, mapping, has_warning):
    from rightreasons.core.labels.names import BY_NUMBER

    label_mapping = BY_NUMBER if mapping == "by number" else "by name"
    split = make_split(class_of=class_of, label_mapping=label_mapping)

    warning = describe_missing_classes(make_context(split))

    assert bool(warning) is has_warning
    assert ("yes" in warning) is has_warning


def test_questions_are_announced_for_a_model():
    split = make_split()
    other = make_split(name="flipped")
    sections = [types.SimpleNamespace(name="cues"), types.SimpleNamespace(name="probes")]
    context = make_context(split, comparisons=[other])

    assert describe_questions(context, sections) == [
        "2 questions (cues, probes) on 4 items of test, and on flipped."
    ]
    assert describe_questions(context, []) == []
    assert describe_questions(make_context(split, stored="log"), sections) == []


def test_requests_are_added_up():
    forecasts = {"the items": Forecast(Usage(requests=1500)), "probes": Forecast(Usage(requests=1))}

    assert describe_requests(forecasts) == [
        "Total requests: about 1,501 (the items 1,500, probes 1)."
    ]
    assert describe_requests({}) == []


def test_accuracies_are_those_of_labeled_items_of_other_splits():
    scores = make_scores([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]])
    splits = [make_split(), make_split([-1] * 4, name="unlabeled")]
    context = make_context(splits[0], scores, comparisons=splits)

    assert list_split_accuracies(context) == [("test", pytest.approx(2 / 3))]
    assert list_split_accuracies(make_context(splits[0], comparisons=splits)) == []
