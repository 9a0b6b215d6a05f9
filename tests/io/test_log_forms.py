"""Formats of logs as data: HELM, OpenAI evals, and promptfoo."""

import json

import pytest

import logs_of_harnesses as logs
from rightreasons.io.log_forms import is_joined_file, is_log
from rightreasons.io.opened_columns import read_columns
from rightreasons.io.options import ScoreOptions


def read(path, **options):
    return read_columns(path, ScoreOptions(**options))[0]


def test_helm_is_joined_by_instance_and_its_letters_are_those_that_it_showed(tmp_path):
    path = logs.write_helm(tmp_path, 15)

    columns = read(path)

    labels, picks = logs.list_picks(20, 15)
    assert columns["label"] == labels
    assert columns["answer_choice"] == picks
    assert sum(columns["correct"]) == 15
    assert columns["choices"][3] == ["yes 3", "no 3"]
    assert set(columns["model"]) == {"openai/m"}
    assert set(columns["task"]) == {"mmlu:subject=law"}


def test_helm_without_its_metrics_compares_answers_with_labels(tmp_path):
    path = logs.write_helm(tmp_path, 15)
    path.with_name("per_instance_stats.json").unlink()

    assert sum(read(path)["correct"]) == 15


def test_metrics_of_helm_alone_say_what_is_correct(tmp_path):
    path = logs.write_helm(tmp_path, 4).with_name("per_instance_stats.json")

    columns = read(path)

    assert sum(columns["correct"]) == 4
    assert columns["id"][:2] == ["id0", "id1"]
    # Next to the answers, it is a part of their log.
    assert is_joined_file(path)
    path.with_name("scenario_state.json").unlink()
    assert not is_joined_file(path)


def test_events_of_a_sample_are_one_row(tmp_path):
    columns = read(logs.write_openai_evals(tmp_path / "log.jsonl", 12))

    assert len(columns["id"]) == 20
    assert sum(columns["correct"]) == 12
    assert columns["text"][3] == "Is it 3?"
    assert (columns["answer"][0], columns["target"][1]) == ("A", "B")
    assert (columns["model"][0], columns["task"][0]) == ("gpt-x", "law.dev.v0")


def test_one_provider_of_a_file_is_meant(tmp_path):
    path = logs.write_promptfoo(tmp_path / "out.json", 9, models=("openai:m", "local:n"))

    with pytest.raises(ValueError, match="one provider") as error:
        read(path)
    columns = read(path, log_filter="local:n")

    assert error.value.option == ("log_filter",)
    assert (len(columns["id"]), sum(columns["correct"])) == (20, 9)
    assert columns["model"][0] == "local:n"


def test_a_log_without_samples_is_refused(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({"spec": {"completion_fns": ["m"]}}) + "\n", "utf-8")

    with pytest.raises(ValueError, match="Expected samples"):
        read(path)


def test_usual_records_are_no_log():
    assert not is_log({"results": [1], "spec": "v1", "id": 3, "stats": None})
    assert not is_log([{"instance_id": 1}])
