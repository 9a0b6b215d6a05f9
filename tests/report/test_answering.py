"""Questions that fail, and the errors that are left if none is answered."""

import contextlib
import dataclasses
from types import SimpleNamespace

import pytest

from rightreasons.core.errors import OptionError
from rightreasons.report import answering
from rightreasons.report.answering import (
    AuditQuestion,
    answer_questions,
    select_requested,
    sort_for_report,
)
from rightreasons.report.outcomes import Outcome
from rightreasons.report.questions import QUESTIONS, load_sections, parse_question_options


def make_questions(*names):
    options = parse_question_options(list(names), None)
    return [
        AuditQuestion(section, options[section.name], "") for section in load_sections(list(names))
    ]


def fail(question, reason, options=()):
    return Outcome(question.name, question.section.title, "failed", reason, options=options)


def test_an_error_that_all_questions_share_is_reported_once_and_names_its_options():
    questions = make_questions("reasons", "ways")
    message = "Expected `form` or `max_new_tokens`, not `both`."
    options = ("form", "max_new_tokens")
    outcomes = [fail(question, message, options) for question in questions]

    with pytest.raises(
        OptionError, match=r"^Expected `form` or `max_new_tokens`, not `both`\.$"
    ) as error:
        select_requested(outcomes, questions)

    assert error.value.option == ("form", "max_new_tokens")


def test_different_errors_are_listed_by_question():
    questions = make_questions("reasons", "ways")
    outcomes = [
        fail(questions[0], "Expected more.", ("limit",)),
        fail(questions[1], "Expected less.", ("seed", "limit")),
    ]

    with pytest.raises(OptionError, match="each failed") as error:
        select_requested(outcomes, questions)

    assert "reasons: Expected more. ways: Expected less." in str(error.value)
    assert error.value.option == ("limit", "seed")


def test_one_answer_is_no_error():
    questions = make_questions("reasons", "ways")
    answered = dataclasses.replace(fail(questions[1], ""), status="answered")
    outcomes = [fail(questions[0], "Expected more."), answered]

    assert select_requested(outcomes, questions) == outcomes


def test_a_report_has_its_questions_in_the_order_in_which_they_are_registered():
    outcomes = [Outcome(name, "", "skipped") for name in sorted(QUESTIONS)]

    names = [outcome.question for outcome in sort_for_report(outcomes)]

    assert names == list(QUESTIONS)


def test_bars_number_the_questions_that_apply(monkeypatch):
    titles = []

    @contextlib.contextmanager
    def record_title(title):
        titles.append(title)
        yield

    def fail_to_run(context, options):
        raise ValueError("Expected more.")

    section = SimpleNamespace(name="cues", title="Cues", run=fail_to_run)
    questions = [AuditQuestion(section, None, reason) for reason in ("", "Not for texts.", "")]
    monkeypatch.setattr(answering, "prefix_bar_titles", record_title)
    monkeypatch.setattr(answering, "measure_answers", lambda context: None)

    with pytest.warns(UserWarning, match="more"):
        outcomes, _ = answer_questions(None, None, questions)

    assert titles == ["1/2 cues", "2/2 cues"]
    assert [outcome.status for outcome in outcomes] == ["failed", "skipped", "failed"]
