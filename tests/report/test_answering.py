"""Questions that fail, and the errors that are left if none is answered."""

import dataclasses

import pytest

from rightreasons.core.errors import OptionError
from rightreasons.report.answering import AuditQuestion, select_requested, sort_for_report
from rightreasons.report.outcomes import Outcome
from rightreasons.report.questions import QUESTIONS, load_sections, parse_question_options


def make_questions(*names):
    options = parse_question_options(list(names), None)
    return [
        AuditQuestion(section, options[section.name], "") for section in load_sections(list(names))
    ]


def fail(question, reason):
    return Outcome(question.name, question.section.title, "failed", reason)


def test_an_error_that_all_questions_share_is_reported_once_and_names_its_options():
    questions = make_questions("reasons", "ways")
    outcomes = [fail(question, "Expected `form` or `max_new_tokens`.") for question in questions]

    with pytest.raises(OptionError, match=r"^Expected `form` or `max_new_tokens`\.$") as error:
        select_requested(outcomes, questions)

    assert error.value.option == ("form", "max_new_tokens")


def test_different_errors_are_listed_by_question():
    questions = make_questions("reasons", "ways")
    outcomes = [fail(questions[0], "Expected more."), fail(questions[1], "Expected less.")]

    with pytest.raises(OptionError, match="each failed") as error:
        select_requested(outcomes, questions)

    assert "reasons: Expected more. ways: Expected less." in str(error.value)


def test_one_answer_is_no_error():
    questions = make_questions("reasons", "ways")
    answered = dataclasses.replace(fail(questions[1], ""), status="answered")
    outcomes = [fail(questions[0], "Expected more."), answered]

    assert select_requested(outcomes, questions) == outcomes


def test_a_report_has_its_questions_in_the_order_in_which_they_are_registered():
    outcomes = [Outcome(name, "", "skipped") for name in sorted(QUESTIONS)]

    names = [outcome.question for outcome in sort_for_report(outcomes)]

    assert names == list(QUESTIONS)
