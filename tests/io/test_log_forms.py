"""Formats of logs as data: HELM, OpenAI evals, and promptfoo."""

import json

import pytest

import logs_of_harnesses as logs
from rightreasons.io.log_forms import is_joined_file, is_log
from rightreasons.io.opened_columns import read_columns
from rightreasons.io.options import ScoreOptions


def read_log(path, **options):
    return read_columns(path, ScoreOptions(**options))[0]


def test_helm_is_joined_by_instance_and_its_letters_are_those_that_it_showed(tmp_path):
    path = logs.write_helm(tmp_path, 15)

    columns = read_log(path)

    labels, picks = logs.list_picks(20, 15)
    assert columns["label"] == labels
    assert columns["answer_choice"] == picks
    assert sum(columns["correct"]) == 15
    assert columns["choices"][3] == ["yes 3", "no 3"]
    assert set(columns["model"]) == {"openai/m"}
    assert set(columns["task"]) == {"mmlu:subject=law"}


def repeat_helm(path, **fields):
    """Add a second answer to each item, which is incorrect and has further fields."""
    content = json.loads(path.read_text("utf-8"))
    stats_path = path.with_name("per_instance_stats.json")
    stats = json.loads(stats_path.read_text("utf-8"))
    perturbation = fields.get("perturbation")
    for state, row in list(zip(content["request_states"], stats, strict=True)):
        instance = {**state["instance"], "perturbation": perturbation}
        trial = fields.get("train_trial_index", 0)
        content["request_states"].append(
            {**state, "instance": instance, "train_trial_index": trial}
        )
        wrong = [{**stat, "mean": 0.0} for stat in row["stats"]]
        stats.append({**row, "stats": wrong, **fields})
    path.write_text(json.dumps(content), "utf-8")
    stats_path.write_text(json.dumps(stats), "utf-8")


def test_trials_of_helm_have_their_own_metrics(tmp_path):
    path = logs.write_helm(tmp_path, 15)
    repeat_helm(path, train_trial_index=1)

    columns = read_log(path)

    # 15 of 20 answers of the first trial are correct, and none of the second one.
    assert len(columns["id"]) == 40
    assert sum(columns["correct"]) == 15


@pytest.mark.parametrize("name", ["scenario_state.json", "per_instance_stats.json"])
def test_changed_items_of_helm_are_left_out_until_they_are_selected(tmp_path, name):
    path = logs.write_helm(tmp_path, 15)
    repeat_helm(path, perturbation={"name": "typos", "computed_on": "worst"})
    if name != path.name:
        path.unlink()
        path = path.with_name(name)

    with pytest.warns(
        UserWarning, match=r"20 of 40 samples of \S+ are about changed items \(typos"
    ):
        columns = read_log(path)

    assert (len(columns["id"]), sum(columns["correct"])) == (20, 15)
    changed = read_log(path, log_filter="typos")
    assert (len(changed["id"]), sum(changed["correct"])) == (20, 0)
    with pytest.raises(ValueError, match="version"):
        read_log(path, log_filter="names")


def test_helm_without_its_metrics_compares_answers_with_labels(tmp_path):
    path = logs.write_helm(tmp_path, 15)
    path.with_name("per_instance_stats.json").unlink()

    columns = read_log(path)

    assert sum(columns["correct"]) == 15


def test_metrics_of_helm_alone_say_what_is_correct(tmp_path):
    path = logs.write_helm(tmp_path, 4).with_name("per_instance_stats.json")

    columns = read_log(path)

    assert sum(columns["correct"]) == 4
    assert columns["id"][:2] == ["id0", "id1"]
    # Next to the answers, it is a part of their log.
    assert is_joined_file(path)
    path.with_name("scenario_state.json").unlink()
    assert not is_joined_file(path)


def test_events_of_a_sample_are_one_row(tmp_path):
    columns = read_log(logs.write_openai_evals(tmp_path / "log.jsonl", 12))

    assert len(columns["id"]) == 20
    assert sum(columns["correct"]) == 12
    assert columns["text"][3] == "Is it 3?"
    assert columns["answer"][0] == "A"
    assert columns["target"][1] == "B"
    assert columns["model"][0] == "gpt-x"
    assert columns["task"][0] == "law.dev.v0"


def test_an_option_names_one_of_several_providers(tmp_path):
    path = logs.write_promptfoo(tmp_path / "out.json", 9, models=("openai:m", "local:n"))

    with pytest.raises(ValueError, match="one provider") as error:
        read_log(path)
    columns = read_log(path, log_filter="local:n")

    assert error.value.option == ("log_filter",)
    assert len(columns["id"]) == 20
    assert sum(columns["correct"]) == 9
    assert columns["model"][0] == "local:n"


def test_a_log_without_samples_is_refused(tmp_path):
    path = tmp_path / "log.jsonl"
    specification = {"spec": {"completion_fns": ["m"]}}
    path.write_text(json.dumps(specification) + "\n", "utf-8")

    with pytest.raises(ValueError, match="Expected samples"):
        read_log(path)


def test_usual_records_are_no_log():
    assert not is_log({"results": [1], "spec": "v1", "id": 3, "stats": None})
    assert not is_log([{"instance_id": 1}])
