"""Items and answers in two files: joined by ids, and what has no partner is told."""

from __future__ import annotations

import json
import warnings

import pytest

from rightreasons.core.errors import OptionError
from rightreasons.io.descriptions import read_description
from rightreasons.io.joined_files import JoinedFiles
from rightreasons.io.joins import join_files
from rightreasons.io.logs import UNREAD
from rightreasons.io.options import FileForm
from rightreasons.io.reading import as_table
from rightreasons.io.resolve import resolve
from rightreasons.report.runner import audit

LABELS = ("up", "down", "up", "up", "down", "down", "up", "down", "up", "down", "down", "up")


IDS = [f"q-{7 * row}" for row in range(12)]


def make_items():
    """Return items with ids that are codes, texts and gold labels."""
    items = []
    for row, (item_id, label) in enumerate(zip(IDS, LABELS, strict=True)):
        items.append({"id": item_id, "text": f"Remark {row}", "label": label})
    return items


def make_openai_line(row, text):
    """Return a line of the output of a batch of OpenAI."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}}
    return {"custom_id": f"q-{7 * row}", "response": {"body": {"choices": [choice]}}}


def make_anthropic_line(row, text):
    """Return a line of the output of a batch of Anthropic."""
    message = {"content": [{"type": "text", "text": text}]}
    return {"custom_id": f"q-{7 * row}", "result": {"type": "succeeded", "message": message}}


def write_files(folder, items, answers):
    """Write both as JSON lines; return their paths."""
    paths = (folder / "items.jsonl", folder / "answers.jsonl")
    for path, rows in zip(paths, (items, answers), strict=True):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return paths


@pytest.mark.parametrize("make_line", [make_openai_line, make_anthropic_line])
def test_the_output_of_a_batch_is_joined_and_audited(make_line, tmp_path):
    # Row 0 is "up" and row 1 "down", so that one answer of twelve is incorrect.
    answers = ["down", "down", *LABELS[2:]]
    lines = [make_line(row, f" {answer}\n") for row, answer in enumerate(answers)]
    # The answers come in another order.
    items, output = write_files(tmp_path, make_items(), lines[::-1])

    result = audit(items=str(items), answers=str(output), out=tmp_path / "report", progress=False)

    assert result.audit["answers"]["accuracy"]["value"] == pytest.approx(11 / 12)
    assert result.audit["settings"]["answers"] == str(output)


def test_a_request_that_failed_has_an_answer_that_cannot_be_read():
    answers = ["", *["up"] * 11]
    lines = [make_openai_line(row, answer) for row, answer in enumerate(answers)]

    joined = join_files(JoinedFiles(make_items(), lines), FileForm(), as_table)

    assert joined[UNREAD] == [True, *[False] * 11]


def test_ids_without_a_partner_are_counted_and_named():
    # The items are rows 0 to 11.
    answers = [{"id": f"q-{7 * row}", "answer": "up"} for row in range(2, 14)]

    with pytest.warns(UserWarning, match="left out") as records:
        joined = join_files(JoinedFiles(make_items(), answers), FileForm(), as_table)

    message = str(records[0].message)
    assert "2 items have no answer (q-0, q-7)" in message
    assert "2 answers have no item (q-84, q-91)" in message
    assert len(joined) == 10


def test_a_submission_may_call_its_answers_as_the_solution_calls_the_labels():
    answers = [{"id": item_id, "label": "up"} for item_id in IDS]

    joined = join_files(JoinedFiles(make_items(), answers), FileForm(), as_table)

    assert joined["prediction"] == ["up"] * 12
    assert joined["label"] == list(LABELS)


def test_row_numbers_of_two_files_are_no_shared_ids():
    items = [{"row": row, "label": LABELS[row]} for row in range(12)]
    answers = [{"n": row, "answer": "up"} for row in range(12)]

    with pytest.raises(OptionError) as error:
        join_files(JoinedFiles(items, answers), FileForm(), as_table)
    assert error.value.option == ("join",)
    joined = join_files(JoinedFiles(items, answers, "row=n"), FileForm(), as_table)
    assert len(joined) == 12


def test_items_with_an_id_twice_are_refused():
    items = [*make_items(), make_items()[0]]
    answers = [{"id": item_id, "answer": "up"} for item_id in IDS]

    with pytest.raises(OptionError, match="twice") as error:
        join_files(JoinedFiles(items, answers, "id"), FileForm(), as_table)
    assert error.value.option == ("join",)


def test_a_description_joins_two_files_beside_it(tmp_path):
    answers = [make_openai_line(row, LABELS[row]) for row in range(12)]
    write_files(tmp_path, make_items(), answers)
    description = tmp_path / "data.yaml"
    description.write_text("items: items.jsonl\nanswers: answers.jsonl\njoin: id=custom_id\n")

    assert resolve(description).columns["right"] == ("prediction", "label")


def test_one_of_two_files_is_refused(tmp_path):
    with pytest.raises(OptionError) as error:
        audit(items="items.csv", out=tmp_path)
    assert "items" in error.value.option
    with pytest.raises(OptionError) as error:
        audit(join="id=custom_id", predictions="x.csv", out=tmp_path)
    assert error.value.option == ("join",)


def test_a_condition_may_read_both_files():
    answers = [{"id": item_id, "answer": "up"} for item_id in IDS]
    description = read_description(JoinedFiles(make_items(), answers))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = as_table(description, form=FileForm(where="label == answer"))

    # Six of the twelve labels are "up".
    assert len(table) == 6
