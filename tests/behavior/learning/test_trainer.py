"""The trainer of behavioral learning on tiny models: steps by hand, and what each method leaves behind."""

import copy

import numpy as np
import pytest
import torch
import transformers

from rightreasons.behavior.learning.items import (
    describe,
    iid_items,
    join_items,
    plan_steps,
    suite_items,
)
from rightreasons.behavior.learning.methods import RULES, class_losses, dir_loss, inv_loss, mft_loss
from rightreasons.behavior.learning.options import METHODS
from rightreasons.behavior.learning.trainer import train_on_behavior
from rightreasons.core.suites import PAIRWISE
from rightreasons.datasets.suites.suite import Case, Suite
from rightreasons.models.batching import encode, pad
from rightreasons.models.loading import load_classifier
from tiny_models import save_tiny_classifier, tiny_texts
from tiny_suites import behavior_suite, functionality


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = save_tiny_classifier(
        tmp_path_factory.mktemp("behavior") / "tiny",
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return load_classifier(folder, device="cpu")


@pytest.fixture(scope="module")
def items():
    texts, labels = tiny_texts(20)
    return join_items(suite_items(behavior_suite()), iid_items(texts, labels))


@pytest.fixture(scope="module")
def encoded(tiny, items):
    return encode(tiny.tokenizer, items.texts, max_length=32)


def test_items_of_a_suite():
    items = suite_items(behavior_suite())
    assert [RULES[r] for r in dict.fromkeys(items.rule.tolist())] == [
        "labeled",
        "invariant",
        "not_less_conf",
        "not_less_0",
    ]
    assert items.targets[0].tolist() == [0, 1]
    assert items.targets[8].tolist() == [0.5, 0.5]
    np.testing.assert_allclose(items.targets[10], [1 / 3, 2 / 3])
    pairs = items.rule == 1
    assert items.n_changed[pairs].tolist() == [2] * 10
    assert items.texts[items.changed[pairs][0] + 1] == "the actor good"
    assert items.holds_out({"actors"}).sum() == 10


def test_paraphrase_directions_are_labeled_items():
    pair = (("a", "b"), ("a", "c"), ("a", "d"))
    suite = Suite(
        "pairs",
        ("text", "text_pair"),
        (
            functionality(
                "changed",
                "DIR",
                {"name": "equal", "value": 0, "skip_first": True},
                [Case("0", pair)],
            ),
            functionality("implied", "DIR", {"name": "transitive"}, [Case("0", pair, (1, 0, 0))]),
        ),
    )
    items = suite_items(suite, labels="classes")
    assert items.first.tolist() == [1, 2, 3, 4, 5]
    assert items.targets.argmax(1).tolist() == [0, 0, 1, 0, 0]
    assert set(items.rule.tolist()) == {0}


def test_steps_of_the_plain_methods_are_of_one_type_and_cover_each_item_once(items):
    steps = plan_steps(items, objective="mean", batch_size=8, epochs=1, seed=0)
    assert sorted(i for step in steps for i, _ in step) == list(range(len(items)))
    assert all(len({items.type[i] for i, _ in step}) == 1 for step in steps)
    assert max(len(step) for step in steps if items.type[step[0][0]] in (2, 3)) == 4
    for step in steps:
        for item, text in step:
            last = items.changed[item] + max(0, items.n_changed[item] - 1)
            assert items.changed[item] <= text <= last
    assert steps == plan_steps(items, objective="mean", batch_size=8, epochs=1, seed=0)
    assert steps != plan_steps(items, objective="mean", batch_size=8, epochs=1, seed=1)
    assert len(plan_steps(items, objective="mean", batch_size=8, epochs=1.5, seed=0)) == -(
        -3 * len(steps) // 2
    )


def test_steps_of_environments(items):
    for objective in ("dro", "fish"):
        steps = plan_steps(items, objective=objective, batch_size=8, epochs=2, seed=0)
        environments = [{items.environment[i] for i, _ in step} for step in steps]
        assert all(len(e) == 1 for e in environments)
    assert len(set().union(*environments[:5])) == 5
    for step in plan_steps(items, objective="irm", batch_size=8, epochs=2, seed=0):
        assert {items.environment[i] for i, _ in step} == set(range(6))


def test_every_item_has_the_loss_of_its_rule(items):
    logits = torch.randn(len(items.texts), 2, generator=torch.Generator().manual_seed(0))
    changed = np.where(items.n_changed > 0, items.changed, items.first)
    texts, about = describe(items, list(zip(range(len(items)), changed.tolist(), strict=True)))
    losses = class_losses(logits[torch.from_numpy(texts)], about)
    for number in range(len(items)):
        before, after = logits[items.first[number]][None], logits[changed[number]][None]
        rule = RULES[items.rule[number]]
        if rule == "labeled":
            alone = mft_loss(before, torch.from_numpy(items.targets[number]).float()[None])
        else:
            alone = (
                inv_loss(before, after) if rule == "invariant" else dir_loss(before, after, rule)
            )
        torch.testing.assert_close(losses[number], alone[0])


@pytest.mark.parametrize("method", METHODS)
def test_each_method_trains_what_it_should(tiny, items, encoded, method):
    model = copy.deepcopy(tiny.model)
    loss = train_on_behavior(
        model, encoded, items, method=method, learning_rate=1e-3, epochs=1, batch_size=16
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
    assert all(parameter.requires_grad for parameter in model.parameters())


def trained(tiny, encoded, items, method, **options):
    model = copy.deepcopy(tiny.model)
    train_on_behavior(
        model, encoded, items, method=method, **{"learning_rate": 1e-3, "batch_size": 16, **options}
    )
    old = dict(tiny.model.named_parameters())
    return {name: (new - old[name]).detach() for name, new in model.named_parameters()}


@pytest.mark.parametrize("rate", [2e-5, 1e-3])
def test_fish_moves_at_every_learning_rate(tiny, encoded, items, rate):
    moved = max(
        change.abs().max().item()
        for change in trained(tiny, encoded, items, "fish", learning_rate=rate).values()
    )
    n_steps = len(plan_steps(items, objective="fish", batch_size=16, epochs=1, seed=0))
    # AdamW moves a weight by about the learning rate in its first step, and a round of five goes a tenth of its way.
    assert 0.1 * rate < moved <= 0.1 * n_steps * rate * 1.5


def test_the_outer_step_of_fish_goes_its_share_of_the_way(tiny, encoded, items):
    n_steps = len(plan_steps(items, objective="fish", batch_size=16, epochs=0.1, seed=0))
    assert n_steps <= 5  # one round
    half, whole = (
        trained(tiny, encoded, items, "fish", epochs=0.1, fish_rate=share) for share in (0.5, 1.0)
    )
    for name, change in whole.items():
        torch.testing.assert_close(half[name], change / 2, rtol=1e-3, atol=1e-7)


@pytest.mark.parametrize("method", ["vanilla", "l2"])
def test_trainer_of_transformers_ends_with_the_same_weights(tiny, encoded, items, method, tmp_path):
    """The same steps as batches of `Trainer`: AdamW, clipping, the schedule and what decays are its own."""
    steps = plan_steps(items, objective="mean", batch_size=16, epochs=1, seed=0)

    class Batches(torch.utils.data.Dataset):
        def __len__(self):
            return len(steps)

        def __getitem__(self, number):
            return number

    class Peer(transformers.Trainer):
        def _get_train_sampler(self, *_):
            return torch.utils.data.SequentialSampler(self.train_dataset)

        def compute_loss(self, model, inputs, **_):
            texts, batch = describe(items, steps[inputs["number"]])
            return class_losses(model(**pad(encoded, texts)).logits, batch).mean()

    model = copy.deepcopy(tiny.model)
    arguments = transformers.TrainingArguments(
        output_dir=tmp_path, num_train_epochs=1, per_device_train_batch_size=1, learning_rate=1e-3, use_cpu=True,
        weight_decay=METHODS[method].weight_decay, report_to="none", save_strategy="no", remove_unused_columns=False,
    )  # fmt: skip
    peer = Peer(
        model, arguments, data_collator=lambda rows: {"number": rows[0]}, train_dataset=Batches()
    )
    loss = peer.train().training_loss
    own = copy.deepcopy(tiny.model)
    assert train_on_behavior(
        own, encoded, items, method=method, learning_rate=1e-3, batch_size=16
    ) == pytest.approx(loss)
    for (name, ours), theirs in zip(own.named_parameters(), model.parameters(), strict=True):
        # The gradient of a key's bias is 0 but for rounding, which Adam divides by its own size.
        if not name.endswith("key.bias"):
            torch.testing.assert_close(ours, theirs, atol=5e-5, rtol=1e-3, msg=name)


def test_trainer_decays_weights_and_not_biases(tiny, encoded, items):
    plain, decayed = (trained(tiny, encoded, items, method) for method in ("vanilla", "l2"))
    name = "bert.encoder.layer.0.intermediate.dense"
    weight = dict(tiny.model.named_parameters())[f"{name}.weight"].detach()
    difference = (decayed[f"{name}.weight"] - plain[f"{name}.weight"]).flatten()
    # Decay is -rate * 0.1 * weight a step, summed over rates that fall to nothing.
    assert torch.corrcoef(torch.stack((difference, weight.flatten())))[0, 1] < -0.5


def test_bfloat16_multiplies_coarsely_and_keeps_weights_in_float32(tiny, encoded, items):
    found = {}
    for precision in ("float32", "bfloat16"):
        model = copy.deepcopy(tiny.model)
        loss = train_on_behavior(model, encoded, items, learning_rate=1e-3, precision=precision)
        found[precision] = (loss, model.classifier.weight.detach())
    assert found["bfloat16"][1].dtype == torch.float32
    assert found["bfloat16"][0] == pytest.approx(found["float32"][0], rel=0.05)
    assert not torch.equal(found["bfloat16"][1], found["float32"][1])
    with pytest.raises(ValueError, match="precision"):
        train_on_behavior(tiny.model, encoded, items, precision="float16")


def test_options_that_cannot_be_are_refused_before_training(tiny, items, encoded):
    for wrong in (
        {"learning_rate": 0.0},
        {"head_learning_rate": -1.0},
        {"batch_size": 0},
        {"activation": "relu"},
    ):
        with pytest.raises(ValueError, match=f"Expected `{next(iter(wrong))}` to be"):
            train_on_behavior(tiny.model, encoded, items, **wrong)
    with pytest.raises(ValueError, match="Did you mean 'fish'"):
        train_on_behavior(tiny.model, encoded, items, method="fsh")
    with pytest.raises(TypeError, match="'learning_rate'"):
        train_on_behavior(tiny.model, encoded, items, learning_rat=1.0)


def numpy_adamw(weights, slopes, rate, n_steps):
    """AdamW without decay, clipping to norm 1 and a linear fall, as Trainer does."""
    m = v = np.zeros_like(weights)
    for t, slope_of in enumerate(slopes, start=1):
        slope = slope_of(weights)
        slope = slope * min(1.0, 1.0 / (np.linalg.norm(slope) + 1e-6))
        m, v = 0.9 * m + 0.1 * slope, 0.999 * v + 0.001 * slope**2
        step = rate * (1 - (t - 1) / n_steps)
        weights = weights - step * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return weights


def test_linear_probing_step_by_step(tiny, encoded, items):
    """Labeled items alone, whose slope is (p - y) h, by hand."""
    labeled = items.select(items.rule == 0)
    options = {"epochs": 1.0, "batch_size": 8, "seed": 3}
    steps = plan_steps(labeled, objective="mean", **options)
    model = copy.deepcopy(tiny.model)
    inputs = []
    hook = model.classifier.register_forward_pre_hook(lambda _, args: inputs.append(args[0]))
    with torch.no_grad():
        model.eval()(**pad(encoded, np.arange(len(encoded)), model.device))
    hook.remove()
    h = np.c_[inputs[0].numpy(), np.ones(len(encoded))].astype(np.float64)

    def slope_of(step):
        chosen = [item for item, _ in step]
        x, y = h[labeled.first[chosen]], labeled.targets[chosen]

        def slope(weights):
            z = x @ weights.T
            p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
            return (p - y).T @ x / len(x)

        return slope

    head = model.classifier
    start = np.c_[head.weight.detach().numpy(), head.bias.detach().numpy()].astype(np.float64)
    wanted = numpy_adamw(start, [slope_of(step) for step in steps], 1e-2, len(steps))
    train_on_behavior(model, encoded, labeled, method="lp", head_learning_rate=1e-2, **options)
    np.testing.assert_allclose(np.c_[head.weight.detach(), head.bias.detach()], wanted, atol=2e-5)


def test_what_is_held_out_leaves_no_trace(tiny, encoded, items):
    held = items.holds_out({"words"})
    other = copy.deepcopy(items)
    other.targets[held] = other.targets[held][:, ::-1]
    first, second = (copy.deepcopy(tiny.model) for _ in range(2))
    for model, each in ((first, items), (second, other)):
        train_on_behavior(model, encoded, each.select(~held), method="lp", epochs=1.0)
    torch.testing.assert_close(first.classifier.weight, second.classifier.weight, atol=0, rtol=0)


@pytest.mark.parametrize(
    "spec",
    [
        {"name": "equal"},
        {"name": "not_equal", "value": 0},
        {"name": "invariant"},
        {"name": "monotonic", "increasing": False},
        {"name": "sentiment_shift", "positive": False},
        {"name": "transitive"},
    ],
    ids=lambda spec: spec["name"],
)
def test_these_expectations_can_be_learned_from(spec):
    case = Case("0", (("a",), ("b",), ("c",)), (1, 0, 0))
    suite = Suite("x", ("text",), (functionality("f", "DIR", spec, [case]),))
    assert len(suite_items(suite, labels="classes")) == (1 if spec["name"] in PAIRWISE else 3)


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ({"name": "monotonic", "increasing": True, "label": 1}, "'monotonic of one label'"),
        ({"name": "unknown", "why": "it is code"}, "'unknown'"),
    ],
)
def test_expectations_without_a_loss_are_told(spec, named):
    suite = Suite(
        "x", ("text",), (functionality("f", "DIR", spec, [Case("0", (("a",), ("b",)), (1, 0))]),)
    )
    with pytest.raises(ValueError, match=f"a known loss for 'f', but got {named}"):
        suite_items(suite, labels="classes")


def test_bad_input_is_told(items):
    with pytest.raises(ValueError, match="all items are held out"):
        plan_steps(
            items.select(np.zeros(len(items), bool)),
            objective="mean",
            batch_size=8,
            epochs=1,
            seed=0,
        )
    texts = Suite(
        "read",
        ("text",),
        (functionality("f", "MFT", {"name": "equal"}, [Case("0", (("a",),), ("b",))]),),
    )
    with pytest.raises(ValueError, match="labels of sentiment from 0 to 2, but got 'b'"):
        suite_items(texts)
