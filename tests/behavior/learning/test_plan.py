"""Plans of runs: what they list, that they resume and refuse, and what is collected from them."""

import dataclasses
import json
import shutil

import numpy as np
import pytest
import torch
import transformers

from killing import killed_at
from rightreasons.behavior.learning import plan as behavior_plan
from rightreasons.behavior.learning import run as behavior_runner
from rightreasons.behavior.learning.collect import collect_scores
from rightreasons.behavior.learning.plan import Plan, partition, plan_runs
from rightreasons.behavior.learning.run import run_plan
from rightreasons.core.errors import SetAsideWarning
from tiny_causal import tiny_causal_tokenizer
from tiny_suites import behavior_suite


@pytest.fixture
def task(tiny_learning_task):
    return tiny_learning_task


def test_partitions():
    suite = behavior_suite()
    assert partition(suite, "seen") == {"": ()}
    assert partition(suite, "type")["DIR"] == ("intensifiers", "add negative")
    assert partition(suite, "class")["A"] == ("actors", "add negative")
    assert len(partition(suite, "functionality")) == 5


def test_a_plan_lists_every_run_once():
    suite = behavior_suite()
    runs = plan_runs(suite, seeds=(1, 2))
    held_out_sets = 1 + 5 + 4 + 3  # nothing, 5 functionalities, 4 classes (W, N, A, I), 3 types
    assert len(runs) == 2 * (1 + 3 * 8 * held_out_sets)
    assert len({run.key for run in runs}) == len(runs)


def few_cases(sizes):
    """The suite of the tests with so many cases of each of its functionalities."""
    whole = behavior_suite()
    kept = [
        dataclasses.replace(f, cases=f.cases[:size])
        for f, size in zip(whole.functionalities, sizes, strict=False)
    ]
    return dataclasses.replace(whole, functionalities=tuple(kept))


def test_what_leaves_no_training_case_is_left_out():
    suite = few_cases((4, 1, 1))  # only "words" (MFT, class W) has training cases
    runs = plan_runs(suite, configurations=("IID->T",), methods=("vanilla",))
    assert {(run.partition, run.held) for run in runs} == {
        ("seen", ""),
        ("functionality", "not negative"),
        ("functionality", "actors"),
        ("class", "N"),
        ("class", "A"),
        ("type", "INV"),
    }
    with pytest.raises(ValueError, match="two or more cases in the suite 'tiny'"):
        plan_runs(few_cases((1, 1)))


def test_without_validation_cases_the_first_alternative_is_taken(task, tmp_path):
    grid = ({"epochs": 1}, {"epochs": 2})
    # two cases: one to train on, one to test; four: validation cases of "words", which one run holds out
    for name, sizes in (("none", (2, 2, 2)), ("held", (4, 2, 2))):
        own = dataclasses.replace(task, suite=few_cases(sizes), grid=grid)
        runs = plan_runs(
            own.suite,
            configurations=("IID+T",),
            methods=("vanilla", "lp"),
            partitions=("functionality",),
        )
        runs = [run for run in runs if run.held == "words"]
        plan = Plan.create(tmp_path / name, runs, own.settings())
        assert run_plan(plan, own, progress=False) == len(runs) == 2
        assert [result["options"]["epochs"] for result in plan.results()] == [1, 1]


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("epochs", float("nan"), "a finite number"),
        ("epochs", 0, "above 0"),
        ("learning_rate", -1, "at least 0"),
        ("batch_size", 0, "at least 1"),
        ("activation", "relu", "'softmax' or 'sigmoid'"),
        ("precision", "foo", "'float32' or 'bfloat16'"),
    ],
)
def test_options_are_checked_before_anything_runs(task, option, value, said):
    for where, given in (
        ("options", {"options": {option: value}}),
        ("iid_options", {"iid_options": {option: value}}),
        (r"grid\[1\]", {"grid": ({}, {option: value})}),
    ):
        with pytest.raises(
            (TypeError, ValueError), match=rf"`{option}` to be .*{said}.* \(in `{where}`\)\.$"
        ):
            dataclasses.replace(task, **given)


def test_lengths_and_seeds_are_checked_before_anything_runs(task):
    with pytest.raises(ValueError, match="`max_length` to be at least 4, but got 0"):
        dataclasses.replace(task, max_length=0)
    with pytest.raises(ValueError, match=r"`seed` to be at most 4294967295"):
        plan_runs(task.suite, seeds=(2**32,))


def test_another_model_in_the_same_folder_is_refused(task, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(task.model, folder)
    own = dataclasses.replace(task, model=str(folder))
    plan = Plan.create(
        tmp_path / "plan", plan_runs(task.suite, configurations=("IID",)), own.settings()
    )
    assert own.settings() == plan.settings
    (folder / "merges.txt").write_text("t h\n")
    assert own.settings()["model digest"] != plan.settings["model digest"]
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"?")
    with pytest.raises(ValueError, match="got another model digest"):
        run_plan(plan, own, progress=False)
    assert dataclasses.replace(task, model="some/hub-id").settings()["model digest"] == ""


def test_a_damaged_result_is_not_finished(task, tmp_path):
    runs = plan_runs(task.suite, configurations=("IID",), seeds=(1, 2, 3, 4))
    plan = Plan.create(tmp_path / "plan", runs, task.settings())
    for run in runs:
        plan.store(run, {"pass_rates": {"words": 0.5}, "iid_accuracy": 0.9})
    files = [tmp_path / "plan" / "results" / f"{run.key}.json" for run in runs]
    files[0].write_text(files[0].read_text()[:20])
    files[1].write_text("[]")
    files[2].write_bytes(b"\xff")
    with pytest.warns(SetAsideWarning, match="computed again"):
        assert plan.pending() == runs[:3]
    assert [row.seed for row in collect_scores(plan).rows] == [4]


@pytest.mark.filterwarnings("ignore::rightreasons.core.errors.SetAsideWarning")
def test_no_flipped_bit_of_a_result_is_collected(task, tmp_path):
    (run,) = runs = plan_runs(task.suite, configurations=("IID",), seeds=(1,))
    plan = Plan.create(tmp_path / "plan", runs, task.settings())
    plan.store(run, {"pass_rates": {"words": 0.5, "actors": 0.25}, "iid_accuracy": 0.9})
    file = tmp_path / "plan" / "results" / f"{run.key}.json"
    whole, right = file.read_bytes(), plan.results()
    noticed = 0
    for place in range(len(whole)):
        file.write_bytes(
            whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :]
        )
        read = plan.results()
        noticed += not read
        assert read in ([], right)  # a flip in the space between two values changes nothing
    assert noticed > 0.8 * len(whole)


def test_a_damaged_model_of_a_plan_is_trained_again(task, tmp_path):
    runs = plan_runs(task.suite, configurations=("IID",))
    plan = Plan.create(tmp_path / "plan", runs, task.settings())
    run_plan(plan, task, progress=False)
    (whole,) = (
        {key: value for key, value in row.items() if key != "seconds"} for row in plan.results()
    )
    (folder,) = (
        path for path in (plan.folder / "models").iterdir() if not path.name.startswith(".")
    )
    plain = tmp_path / "plain"
    plain.mkdir()
    assert folder.stat().st_mode == plain.stat().st_mode  # colleagues may read it
    weights = folder / "model.safetensors"
    content = weights.read_bytes()
    weights.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    (plan.folder / "results" / f"{runs[0].key}.json").unlink()
    with pytest.warns(SetAsideWarning, match="computed again"):
        assert run_plan(plan, task, progress=False) == 1
    assert weights.read_bytes() == content
    assert [
        {key: value for key, value in row.items() if key != "seconds"} for row in plan.results()
    ] == [whole]
    # All runs are finished, and the model is looked at all the same.
    weights.write_bytes(content[:-1])
    with pytest.warns(SetAsideWarning, match="computed again"):
        assert run_plan(plan, task, progress=False) == 0
    assert not folder.exists()
    assert run_plan(plan, task, progress=False) == 0  # no run needs it


def test_a_killed_plan_goes_on_and_collects(task, tmp_path, monkeypatch):
    runs = plan_runs(
        task.suite, configurations=("IID", "IID->T"), methods=("lp",), partitions=("seen", "type")
    )
    plan = Plan.create(tmp_path / "plan", runs, task.settings())
    with monkeypatch.context() as patch:
        patch.setattr(
            behavior_runner, "train_on_behavior", killed_at(behavior_runner.train_on_behavior, 2)
        )
        with pytest.raises(KeyboardInterrupt):
            run_plan(plan, task, progress=False)
    assert len(plan.list_finished_keys()) == 1
    plan = Plan.open(tmp_path / "plan")
    assert run_plan(plan, task, progress=False) == len(runs) - 1
    assert run_plan(plan, task, progress=False) == 0

    found = collect_scores(plan)
    assert (found.n_done, found.n_runs) == (len(runs), len(runs))
    iid, probe = found.rows
    assert list(iid.scores) == ["standard"]
    assert list(probe.scores) == ["seen", "type"]
    by_key = {r["key"]: r for r in plan.results()}
    held = next(run for run in runs if run.held == "INV")
    assert probe.pass_rates["type"]["actors"] == by_key[held.key]["pass_rates"]["actors"]
    # The score on independent data is that of the model trained on the whole suite, in every setting.
    whole = next(run for run in runs if run.configuration == "IID->T" and run.partition == "seen")
    s, a = probe.suite_scores["type"], by_key[whole.key]["iid_accuracy"]
    assert probe.iid_score == a
    rates = [probe.pass_rates["type"][name] for name in found.functionalities]
    assert s == pytest.approx(np.mean(rates))
    assert probe.scores["type"] == pytest.approx(2 * s * a / (s + a) if s and a else 0)


def test_training_runs_with_a_grid(task, tmp_path):
    own = dataclasses.replace(task, grid=({"epochs": 1}, {"epochs": 2}))
    runs = [
        run
        for run in plan_runs(
            task.suite,
            configurations=("IID+T",),
            methods=("vanilla", "lp"),
            partitions=("seen", "type"),
        )
        if run.held in ("", "DIR")
    ]
    plan = Plan.create(tmp_path / "plan", runs, own.settings())
    run_plan(plan, own, progress=False)
    for result in plan.results():
        assert result["options"]["epochs"] in (1, 2)
        assert 0 <= result["iid_accuracy"] <= 1
        assert not np.isnan(
            [rate for rate in result["pass_rates"].values() if rate is not None]
        ).any()


@pytest.mark.parametrize("method", ["vanilla", "lp"])
def test_a_run_is_asked_what_it_held_out(task, tmp_path, monkeypatch, method):
    runs = plan_runs(
        task.suite, configurations=("IID->T",), methods=(method,), partitions=("seen", "type")
    )
    runs = [run for run in runs if run.held in ("", "DIR")]
    told = {}
    for name, asked in (
        ("held out", behavior_runner.select_functionalities),
        ("all", lambda suite, _, keep: suite),
    ):
        plan = Plan.create(tmp_path / name, runs, task.settings())
        with monkeypatch.context() as patch:
            patch.setattr(behavior_runner, "select_functionalities", asked)
            run_plan(plan, task, progress=False)
        told[name] = {result["held"]: result for result in plan.results()}
    suite = task.suite.split("test")
    cases = [
        functionality.name for functionality in suite.functionalities for _ in functionality.cases
    ]
    (names,) = {run.held_out for run in runs if run.held}
    assert 0 < len(names) < len(suite.functionalities)
    whole, part = told["all"]["DIR"], told["held out"]["DIR"]
    assert part["pass_rates"] == {name: whole["pass_rates"][name] for name in names}
    assert part["passed"] == "".join(
        letter if name in names else "."
        for letter, name in zip(whole["passed"], cases, strict=True)
    )
    assert part["iid_right"] == whole["iid_right"]
    assert told["held out"][""] == {**told["all"][""], "seconds": told["held out"][""]["seconds"]}


def test_a_share_of_the_independent_data_is_mixed_with_the_suite(task, tmp_path):
    runs = plan_runs(task.suite, configurations=("IID",))
    sizes = []
    for share in (1.0, 0.5):
        shared = dataclasses.replace(task, iid_share=share)
        runner = behavior_runner.Runner(
            Plan.create(tmp_path / str(share), runs, shared.settings()), shared
        )
        sizes.append((len(runner.iid_train), len(runner.iid_mixed)))
    (n, whole), (also_n, half) = sizes
    assert n == whole == also_n == len(task.train.texts)
    assert 0 < half < n
    with pytest.raises(ValueError, match="`iid_share` to be between 0 and 1, but got 2"):
        dataclasses.replace(task, iid_share=2)


def test_few_training_cases_leave_the_test_cases_as_they_are(task):
    whole, few = task.train_suite(), dataclasses.replace(task, train_cases=2).train_suite()
    sizes = {f.name: len(f.cases) for f in whole.functionalities}
    assert max(sizes.values()) > 2
    assert {f.name: len(f.cases) for f in few.functionalities} == {
        name: min(size, 2) for name, size in sizes.items()
    }
    kept = {f.name: {case.id for case in f.cases} for f in whole.functionalities}
    assert all({case.id for case in f.cases} <= kept[f.name] for f in few.functionalities)
    assert [f.cases for f in few.functionalities] == [
        f.cases for f in dataclasses.replace(task, train_cases=2).train_suite().functionalities
    ]
    assert dataclasses.replace(task, train_cases=2).settings() != task.settings()
    with pytest.raises(ValueError, match="`train_cases`"):
        dataclasses.replace(task, train_cases=0)


def test_a_plan_of_other_code_or_data_is_refused(task, tmp_path, monkeypatch):
    runs = plan_runs(task.suite, configurations=("IID",))
    plan = Plan.create(tmp_path / "plan", runs, task.settings())
    plan.store(runs[0], {"pass_rates": {"words": 0.5}, "iid_accuracy": 0.9})
    with pytest.raises(ValueError, match="got another options"):
        run_plan(plan, dataclasses.replace(task, options={"epochs": 3}), progress=False)
    with pytest.raises(ValueError, match="holds another plan"):
        Plan.create(tmp_path / "plan", plan_runs(task.suite), task.settings())
    monkeypatch.setattr(behavior_plan, "plan_code", lambda: "9+x")
    with pytest.raises(ValueError, match="the 1 finished runs of the old plan are kept"):
        run_plan(plan, task, progress=False)
    # finished runs can still be collected: G = 2 (.9)(.5) / 1.4
    assert collect_scores(Plan.open(tmp_path / "plan")).rows[0].scores["standard"] == pytest.approx(
        0.9 / 1.4
    )


def test_what_is_no_plan_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no plan\.json"):
        Plan.open(tmp_path)
    (tmp_path / "plan.json").write_text(json.dumps({"format": "x"}))
    with (
        pytest.warns(SetAsideWarning),
        pytest.raises(ValueError, match=r"plan\.json .*, but the file is damaged"),
    ):
        Plan.open(tmp_path)


def test_a_damaged_plan_is_told_with_its_file(task, tmp_path):
    runs = plan_runs(task.suite, configurations=("IID",), seeds=(1, 2))
    Plan.create(tmp_path, runs, task.settings())
    file = tmp_path / "plan.json"
    whole = file.read_text()
    for damaged in (
        "",
        whole[:30],
        whole.replace('"seed": 2', '"seed": 3'),
        "[]",
        whole.replace("IID", "iid"),
    ):
        file.write_text(damaged)
        with (
            pytest.warns(SetAsideWarning),
            pytest.raises(ValueError, match=r"plan\.json .*, but the file is damaged"),
        ):
            Plan.open(tmp_path)
    file.write_text(whole)
    assert Plan.open(tmp_path).runs == runs


def decoder_folder(folder, pad):
    """A tiny GPT-2 without a head, whose tokenizer has no padding token."""
    tokenizer = tiny_causal_tokenizer()
    tokenizer.eos_token = "<s>"
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer), n_embd=16, n_layer=1, n_head=2, n_positions=64, initializer_range=0.4,
        bos_token_id=1, eos_token_id=1, pad_token_id=pad,
    )  # fmt: skip
    torch.manual_seed(0)
    transformers.GPT2Model(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


@pytest.mark.filterwarnings("ignore:.*has no padding token")
def test_a_decoder_learns_whatever_its_padding_token(task, tmp_path):
    # A decoder's head reads the last token that is not padding: batches are padded by the token that it takes for it.
    suite = few_cases((4, 4))
    runs = plan_runs(
        suite, configurations=("IID->T",), methods=("vanilla", "lp"), partitions=("seen",)
    )
    results = []
    for pad in (None, 5):
        own = dataclasses.replace(
            task, model=decoder_folder(tmp_path / f"model-{pad}", pad), suite=suite
        )
        plan = Plan.create(tmp_path / f"plan-{pad}", runs, own.settings())
        assert run_plan(plan, own, progress=False) == 2
        results.append([(row["method"], row["passed"], row["iid_right"]) for row in plan.results()])
        confidence = [row["mean_confidence"] for row in plan.results()]
        results[-1].append([round(value, 4) for value in confidence])
    assert results[0] == results[1]
