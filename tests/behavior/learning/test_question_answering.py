"""Behavioral learning of reading on tiny models: items, windows, losses by hand, methods, a whole plan."""

import copy
import dataclasses

import numpy as np
import pytest
import torch

from rightreasons.behavior.learning.collect import collect_scores
from rightreasons.behavior.learning.items import (
    IID,
    aligned_positions,
    join_items,
    locate,
    plan_steps,
    question_items,
    reading_items,
    span_target,
    window_items,
)
from rightreasons.behavior.learning.kinds import IidData
from rightreasons.behavior.learning.methods import inv_loss, span_losses
from rightreasons.behavior.learning.options import METHODS
from rightreasons.behavior.learning.plan import LearningTask, Plan, plan_runs
from rightreasons.behavior.learning.run import run_plan
from rightreasons.behavior.learning.trainer import train_on_behavior
from rightreasons.behavior.measure import measure_reading, reading_texts
from rightreasons.behavior.rates import pass_rates
from rightreasons.datasets.suites.suite import Case, Suite
from rightreasons.models.batching import pad
from rightreasons.models.loading import load_question_answering
from rightreasons.models.spans import predict_answers
from rightreasons.models.windows import encode_windows
from tiny_models import WORDS, save_tiny_encoder, save_tiny_reader, tiny_questions, tiny_tokenizer
from tiny_suites import behavior_suite, functionality, reading_suite


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = save_tiny_reader(
        tmp_path_factory.mktemp("reading") / "tiny",
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return load_question_answering(folder, device="cpu")


@pytest.fixture(scope="module")
def whole():
    rows = tiny_questions(12)
    return join_items(
        reading_items(reading_suite()),
        question_items(rows["question"], rows["context"], rows["answers"]),
    )


@pytest.fixture(scope="module")
def windowed(tiny, whole):
    return window_items(
        whole, encode_windows(tiny.tokenizer, whole.texts, whole.text_pairs, max_length=32)
    )


def test_answers_are_located_as_whole_words_first():
    assert locate("man", "the woman saw a man") == 16
    assert locate("man", "the woman") == 6
    assert locate("man", "the film") == -1


def test_items_of_a_suite_of_reading(whole):
    assert whole.environments == (
        "which is good",
        "negated",
        "words in the question",
        "other names",
        IID,
    )
    first = whole.targets[0].astype(int)
    assert whole.text_pairs[0][first[0] : first[1]] == "film"
    second = whole.targets[6].astype(int)
    assert whole.text_pairs[whole.first[6]][second[0] : second[1]] == "story"
    assert whole.n_changed[12:18].tolist() == [2] * 6
    assert whole.texts[whole.changed[12] + 1] == "what so was bad"
    assert whole.type.tolist() == [1] * 12 + [2] * 12 + [0] * 12


def test_an_example_without_its_answer_is_left_out():
    case = Case(
        "0", (("the film was good", "what"), ("the plot was good", "what")), ("story", "plot")
    )
    suite = Suite(
        "one", ("context", "question"), (functionality("f", "MFT", {"name": "equal"}, [case]),)
    )
    assert reading_items(suite).first.tolist() == [1]


def test_windows_of_items():
    """A long context has several windows: one holds the answer, the others point at the first token."""
    long = " ".join(WORDS)
    items = question_items(
        ["what was good", "what"],
        [long, "the film was good"],
        [
            {"text": ["broke glass"], "answer_start": [long.index("broke glass")]},
            {"text": ["film"], "answer_start": [4]},
        ],
    )
    encoded, own = window_items(
        items, encode_windows(tiny_tokenizer(), items.texts, items.text_pairs, max_length=24)
    )
    assert own.first.tolist() == [0, 2, 3, 1] == own.changed.tolist()
    assert encoded.lengths.tolist() == [24, 8, 24, 22]
    # 24 tokens have 18 places for the context, of which 8 are shared: windows begin at words 0, 10 and 20 of 36
    vocabulary = {index: word for word, index in tiny_tokenizer().get_vocab().items()}
    for window, (start, end) in zip(own.first, own.targets.astype(int), strict=True):
        ids = encoded.columns["input_ids"][encoded.offsets[window] :][start : end + 1]
        assert [vocabulary[i] for i in ids.tolist()] in (["broke", "glass"], ["[CLS]"], ["film"])
    assert (own.targets[:, 0] > 0).tolist()[-1]
    assert 1 <= (own.targets[:3, 0] > 0).sum() < 3


def numpy_loss(logits, about):
    """The mean of the items' losses, by loops."""
    total = []
    for item in range(len(about["rule"])):
        parts = []
        for side in (0, 1):
            z = logits[about["first"][item], :, side]
            if about["rule"][item] == 0:
                z = z[about["mask"][item].bool().numpy()]
                parts.append(np.log(np.exp(z).sum()) - z[int(about["targets"][item, side])])
                continue
            u = logits[about["second"][item], :, side]
            z = z[[p for p in about["shared_first"][item].tolist() if p >= 0]]
            u = u[[p for p in about["shared_second"][item].tolist() if p >= 0]]
            parts.append(-(np.exp(z) / np.exp(z).sum() * (u - np.log(np.exp(u).sum()))).sum())
        total.append(np.mean(parts))
    return np.array(total)


def test_losses_of_spans_by_hand(windowed):
    encoded, own = windowed
    target = span_target(encoded)
    for step in plan_steps(own, objective="irm", batch_size=4, epochs=1, seed=0)[
        :3
    ]:  # all rules in one batch
        windows, about = target.describe(own, step)
        width = int(encoded.lengths[windows].max())
        logits = torch.randn(
            3,
            len(windows),
            width,
            2,
            generator=torch.Generator().manual_seed(1),
            dtype=torch.float64,
        )
        losses = span_losses(logits, about)
        for head in range(3):
            np.testing.assert_allclose(
                losses[head], numpy_loss(logits[head].numpy(), about), rtol=1e-9
            )


def test_an_invariant_pair_has_the_loss_of_its_shared_tokens(windowed):
    encoded, own = windowed
    item = int(np.flatnonzero(own.rule == 1)[0])
    step = [(item, int(own.changed[item]))]
    windows, about = span_target(encoded).describe(own, step)
    logits = torch.randn(
        2, int(encoded.lengths[windows].max()), 2, generator=torch.Generator().manual_seed(2)
    )
    rows = [
        encoded.columns["input_ids"][encoded.offsets[w] : encoded.offsets[w + 1]].tolist()
        for w in windows
    ]
    first, second = aligned_positions(*rows)
    alone = inv_loss(logits[0].T[:, first], logits[1].T[:, second]).mean()
    torch.testing.assert_close(span_losses(logits, about)[0], alone)
    assert len(rows[1]) == len(rows[0]) + 1  # one word more, and that word is not shared
    assert (about["shared_second"] >= 0).sum() == len(rows[0])


def test_shared_tokens_are_aligned_in_order():
    first, second = aligned_positions([1, 2, 3, 4], [1, 3, 4, 9])
    assert (first.tolist(), second.tolist()) == ([0, 2, 3], [0, 1, 2])


def test_gradients_reach_the_original(windowed):
    encoded, own = windowed
    item = int(np.flatnonzero(own.rule == 1)[0])
    windows, about = span_target(encoded).describe(own, [(item, int(own.changed[item]))])
    logits = torch.randn(2, int(encoded.lengths[windows].max()), 2).requires_grad_()
    span_losses(logits, about).sum().backward()
    assert logits.grad[int(about["first"][0])].abs().sum() > 0
    assert logits.grad[int(about["second"][0])].abs().sum() > 0
    assert torch.isfinite(logits.grad).all()


@pytest.mark.parametrize("method", METHODS)
def test_each_method_trains_what_it_should(tiny, windowed, method):
    encoded, own = windowed
    model = copy.deepcopy(tiny.model)
    loss = train_on_behavior(
        model,
        encoded,
        own,
        target=span_target(encoded),
        method=method,
        learning_rate=1e-3,
        batch_size=16,
    )
    assert np.isfinite(loss)
    moved = {
        name.startswith("bert.")
        for (name, new), (_, old) in zip(
            model.named_parameters(), tiny.model.named_parameters(), strict=True
        )
        if not torch.equal(new, old)
    }
    assert moved == ({False} if method == "lp" else {False, True})


def test_one_step_of_a_head_by_hand(tiny, windowed):
    """Labeled items: the slope is (p - y) h, summed over tokens, half for each side; AdamW's first step is its sign."""
    encoded, own = windowed
    labeled = own.select(own.rule == 0)
    model = copy.deepcopy(tiny.model)
    head = model.qa_outputs
    (step,) = plan_steps(labeled, objective="irm", batch_size=64, epochs=1e-9, seed=0)
    rate, n = 1e-2, len(labeled)
    target = span_target(encoded)
    windows, about = target.describe(labeled, step)
    inputs = []
    hook = head.register_forward_pre_hook(lambda _, args: inputs.append(args[0]))
    with torch.no_grad():
        model.eval()(**pad(encoded, windows, model.device))
    hook.remove()
    h = inputs[0].numpy().astype(np.float64)
    h = np.concatenate((h, np.ones((*h.shape[:2], 1))), axis=2)
    weights = np.c_[head.weight.detach().numpy(), head.bias.detach().numpy()].astype(np.float64)
    slope = np.zeros_like(weights)
    for item in range(n):
        x, inside = h[int(about["first"][item])], about["mask"][item].bool().numpy()
        for side in (0, 1):
            z = np.where(inside, x @ weights[side], -np.inf)
            p = np.exp(z - z.max()) / np.exp(z - z.max()).sum()
            p[int(about["targets"][item, side])] -= 1
            slope[side] += p @ x / (2 * n)
    slope *= min(1.0, 1.0 / np.linalg.norm(slope))
    wanted = weights - rate * slope / (np.abs(slope) + 1e-8)
    one_batch = {"epochs": 1e-9, "batch_size": 64, "seed": 0}
    iid = labeled.select(labeled.environment == 4)
    assert len(plan_steps(iid, objective="mean", **one_batch)) == 1
    everything = dataclasses.replace(labeled, type=np.zeros(n, dtype=np.int64))
    train_on_behavior(
        model, encoded, everything, target=target, method="lp", head_learning_rate=rate, **one_batch
    )
    # A bias shifts all tokens alike: its slope is 0, and what rounding leaves of it says nothing.
    np.testing.assert_allclose(head.weight.detach(), wanted[:, :-1], atol=2e-5)


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    folder = save_tiny_encoder(tmp_path_factory.mktemp("plan"))
    rows = tiny_questions(24)
    train, test = (
        IidData(rows["question"][part], rows["answers"][part], rows["context"][part])
        for part in (slice(0, 16), slice(16, 24))
    )
    options = {"epochs": 1, "batch_size": 16, "learning_rate": 1e-3}
    return LearningTask(
        model=str(folder),
        suite=reading_suite(),
        train=train,
        test=test,
        labels="answers",
        options=options,
        iid_options=options,
        max_length=32,
        device="cpu",
    )


def test_a_plan_of_reading_from_beginning_to_end(task, tmp_path):
    probed, whole = ("IID", "IID->T", "IID->(IID+T)"), ("IID+T",)
    runs = plan_runs(
        task.suite, configurations=probed, methods=("lp",), partitions=("seen", "type")
    )
    runs += plan_runs(task.suite, configurations=whole, methods=("vanilla",), partitions=("seen",))
    plan = Plan.create(tmp_path / "plan", runs, task.settings())
    assert run_plan(plan, task, progress=False) == len(runs)
    found = collect_scores(Plan.open(tmp_path / "plan"))
    assert found.n_done == found.n_runs == len(runs)
    settings = {(row.configuration, row.method): list(row.scores) for row in found.rows}
    assert settings == {
        ("IID", "vanilla"): ["standard"],
        ("IID->T", "lp"): ["seen", "type"],
        ("IID->(IID+T)", "lp"): ["seen", "type"],
        ("IID+T", "vanilla"): ["seen"],
    }
    for row in found.rows:
        assert row.iid_score <= row.iid_f1 <= 1
    # what is stored is what the stored model answers
    iid = next(result for result in plan.results() if result["configuration"] == "IID")
    reader = load_question_answering(tmp_path / "plan" / "models" / "iid-42", device="cpu")
    answers = predict_answers(reader, task.test.texts, task.test.text_pairs, progress=False)
    right = [
        text in answer["text"] for text, answer in zip(answers.texts, task.test.labels, strict=True)
    ]
    assert iid["iid_right"] == "".join("01"[r] for r in right)
    assert iid["iid_accuracy"] == pytest.approx(np.mean(right))
    part = task.suite.split("test")
    rates = pass_rates(
        list(predict_answers(reader, *reading_texts(part), progress=False).texts),
        part.table(),
        outputs="texts",
    )
    assert iid["pass_rates"] == {f.functionality: f.pass_rate for f in rates.functionalities}


def test_probes_and_runs_of_reading_take_the_best_of_a_grid(task, tmp_path):
    own = dataclasses.replace(
        task, grid=({"head_learning_rate": 1e-3}, {"head_learning_rate": 0.3, "epochs": 3})
    )
    runs = plan_runs(
        task.suite, configurations=("IID->T",), methods=("vanilla", "lp"), partitions=("seen",)
    )
    plan = Plan.create(tmp_path / "plan", runs, own.settings())
    run_plan(plan, own, progress=False)
    assert {result["options"]["head_learning_rate"] for result in plan.results()} <= {1e-3, 0.3}
    assert len(plan.results()) == len(runs)


def test_a_reader_is_asked_a_suite(tiny, tmp_path):
    suite = reading_suite()
    tested = measure_reading(tiny, suite, progress=False, out=tmp_path / "answers")
    assert len(tested.answers) == suite.n_examples
    assert tested.result.n_cases == suite.n_cases == 24
    replaced = np.flatnonzero([row["functionality"] == "other names" for row in suite.examples()])
    for n, case in enumerate(np.array(replaced).reshape(-1, 2).tolist()):
        before, after = (tested.answers[row] for row in case)
        old, new = suite.functionalities[3].cases[n].meta[1]
        words = [new if word == old else word for word in before.split()]
        assert tested.result.passed[18 + n] == (after.split() == words)


def test_bad_input_is_told(task):
    with pytest.raises(ValueError, match="question and context, but 'tiny' has text"):
        reading_items(behavior_suite())
    strange = Suite(
        "x",
        ("question", "context"),
        (
            functionality(
                "f",
                "DIR",
                {"name": "monotonic", "increasing": True},
                [Case("0", (("a", "b"),) * 2)],
            ),
        ),
    )
    with pytest.raises(ValueError, match="a known loss for 'f', but got 'monotonic'"):
        reading_items(strange)
    with pytest.raises(ValueError, match="independent test"):
        dataclasses.replace(task, test=IidData(task.test.texts, task.test.labels))
    wrong = IidData(
        task.test.texts, [{"text": ["film"], "answer_start": [90]}] * 8, task.test.text_pairs
    )
    with pytest.raises(ValueError, match="'film' at 90"):
        dataclasses.replace(task, test=wrong)
    with pytest.raises(ValueError, match="`activation` to be one of 'softmax'"):
        span_losses(torch.zeros(1, 3, 2), {}, activation="sigmoid")
