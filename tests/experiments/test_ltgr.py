"""LTGR: its formulas against numpy and by hand, and a real run on data with a planted shortcut."""

import ltgr
import numpy as np
import pytest
import torch
from ltgr import (
    attribution_similarity,
    fine_tune_ltgr,
    ltgr_loss,
    ltgr_trainer,
    shortcut_degree,
    smoothed_targets,
)

from rightreasons.core.arrays import Ragged
from rightreasons.core.validation import softmax
from rightreasons.models.classes import predict
from rightreasons.models.loading import load_classifier
from rightreasons.shortcuts.mutual_information import lmi
from rightreasons.training.finetune import fine_tune
from tiny_models import tiny_texts

NAMES = ["negative", "positive"]
TEXTS, LABELS = tiny_texts(40)
TRAIN = {"text": TEXTS, "label": [NAMES[label] for label in LABELS]}
QUICK = {
    "epochs": 2,
    "batch_size": 8,
    "learning_rate": 3e-3,
    "device": "cpu",
    "progress": False,
    "label_names": NAMES,
}


def test_loss_equals_its_formula_in_numpy():
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=(7, 4)), rng.integers(4, size=7)
    targets, alpha = rng.dirichlet(np.ones(4), size=7), 0.8
    log_probability = np.log(np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True))
    hard = -log_probability[np.arange(7), labels].mean()
    soft = -(targets * log_probability).sum(axis=1).mean()
    found = ltgr_loss(torch.tensor(logits), torch.tensor(labels), torch.tensor(targets), alpha)
    assert found.item() == pytest.approx(0.2 * hard + 0.8 * soft, rel=1e-5)
    # Its gradient is softmax(z) minus the mixture of label and target, over the batch.
    z = torch.tensor(logits, requires_grad=True)
    ltgr_loss(z, torch.tensor(labels), torch.tensor(targets), alpha).backward()
    mixture = 0.2 * np.eye(4)[labels] + 0.8 * targets
    np.testing.assert_allclose(z.grad.numpy(), (np.exp(log_probability) - mixture) / 7, atol=1e-6)


def test_smoothing_by_hand():
    # .8^.5 = .894427, .2^.5 = .447214: ratio 2 to 1; the extremes are the teacher itself and no opinion.
    found = smoothed_targets([[0.8, 0.2], [0.8, 0.2], [0.8, 0.2]], [0.0, 0.5, 1.0])
    np.testing.assert_allclose(found, [[0.8, 0.2], [2 / 3, 1 / 3], [0.5, 0.5]])
    sure = smoothed_targets([[1.0, 0.0]], [1.0])
    np.testing.assert_allclose(sure, [[0.5, 0.5]])
    rows = np.random.default_rng(1).dirichlet(np.ones(5), size=20)
    smooth = smoothed_targets(rows, np.full(20, 0.7))
    np.testing.assert_allclose(smooth, rows**0.3 / (rows**0.3).sum(axis=1, keepdims=True))
    assert (smooth.argmax(axis=1) == rows.argmax(axis=1)).all()


def test_degree_by_hand():
    # u + v = 1.6, 0.2, 1.0, 0.0: minus the least, over the range 1.6.
    found = shortcut_degree([True, False, True, False], [0.6, 0.2, 0.0, 0.0])
    np.testing.assert_allclose(found, [1.0, 0.125, 0.625, 0.0])
    assert shortcut_degree([True, True], [0.5, 0.5]).tolist() == [0.0, 0.0]


def test_similarity_of_early_and_late_attributions():
    offsets = np.array([0, 2, 4, 6])
    one = Ragged(np.array([1.0, 0.0, 1.0, 1.0, 0.0, 0.0]), offsets)
    two = Ragged(np.array([1.0, 1.0, 2.0, 2.0, 1.0, 0.0]), offsets)
    # cos((1, 0), (1, 1)) = 1 / sqrt 2; parallel rows give 1; a row of zeros gives 0.
    np.testing.assert_allclose(
        attribution_similarity(one, two, [True] * 3), [1 / np.sqrt(2), 1.0, 0.0]
    )
    assert attribution_similarity(one, two, [True, False, True])[1] == 0.0
    with pytest.raises(ValueError, match="`first` and `last`"):
        attribution_similarity(one, Ragged(np.ones(6), np.array([0, 1, 4, 6])), [True] * 3)


def test_a_run_puts_the_parts_together_and_goes_on(encoder_folder, tmp_path, monkeypatch):
    run = fine_tune_ltgr(encoder_folder, TRAIN, out=tmp_path / "run", validation=TRAIN, **QUICK)
    assert run.folder == str(tmp_path / "run" / "student")
    assert 0 <= run.degree.min() < run.degree.max() <= 1
    assert set(run.student.metrics) == set(run.teacher.metrics)
    # The targets are what the formulas make of the teacher's own answers.
    teacher = predict(load_classifier(run.teacher.folder), TEXTS, progress=False)
    total = run.in_head + run.similarity
    np.testing.assert_allclose(run.degree, (total - total.min()) / (total.max() - total.min()))
    early = predict(load_classifier(tmp_path / "run" / "teacher-epoch-1"), TEXTS, progress=False)
    disagree = early.logits.argmax(axis=1) != teacher.logits.argmax(axis=1)
    assert (run.similarity[disagree] == 0).all()
    # A finished run is opened: nothing is trained or attributed again.
    monkeypatch.setattr("rightreasons.models.gradients.attribution.integrate", None)
    again = fine_tune_ltgr(encoder_folder, TRAIN, out=tmp_path / "run", validation=TRAIN, **QUICK)
    np.testing.assert_allclose(again.degree, run.degree)
    assert again.to_dict()["folder"] == run.folder


def test_alpha_zero_is_plain_fine_tuning(encoder_folder, tmp_path):
    plain = fine_tune(encoder_folder, TRAIN, out=tmp_path / "plain", **QUICK)
    run = fine_tune_ltgr(encoder_folder, TRAIN, out=tmp_path / "ltgr", alpha=0.0, **QUICK)
    texts = TEXTS[:10]
    one, two = (
        predict(load_classifier(r.folder), texts, progress=False).logits
        for r in (plain, run.student)
    )
    np.testing.assert_allclose(one, two, atol=1e-3)


def test_a_student_is_less_sure_than_its_teacher(encoder_folder, tmp_path, monkeypatch):
    # Were every example all shortcut, the student would learn to have no opinion: 0.2 label, 0.8 one half each is
    # 0.6 against 0.4 at most.
    monkeypatch.setattr(ltgr, "shortcut_degree", lambda u, v: np.ones(len(v)))
    run = fine_tune_ltgr(encoder_folder, TRAIN, out=tmp_path / "run", **{**QUICK, "epochs": 6})
    student = softmax(predict(load_classifier(run.folder), TEXTS, progress=False).logits).max(
        axis=1
    )
    teacher = softmax(
        predict(load_classifier(run.teacher.folder), TEXTS, progress=False).logits
    ).max(axis=1)
    assert student.mean() < 0.65
    assert student.mean() < teacher.mean()


def test_the_encoder_rests_in_frozen_epochs(encoder_folder, tmp_path):
    run = fine_tune_ltgr(encoder_folder, TRAIN, out=tmp_path / "run", frozen_epochs=1, **QUICK)
    before = load_classifier(encoder_folder, allow_untrained=True).model.bert.state_dict()
    after_one = load_classifier(tmp_path / "run" / "teacher-epoch-1").model.bert.state_dict()
    after = load_classifier(run.teacher.folder).model.bert.state_dict()
    name = "encoder.layer.0.attention.self.query.weight"
    assert torch.equal(before[name], after_one[name])
    assert not torch.equal(before[name], after[name])


def test_heads_of_elsewhere_are_taken(encoder_folder, tmp_path):
    heads = lmi(TEXTS, LABELS, head_size=1000)
    run = fine_tune_ltgr(encoder_folder, TRAIN, out=tmp_path / "run", heads=heads, **QUICK)
    assert run.in_head.all()


def test_bad_alpha(encoder_folder, tmp_path):
    with pytest.raises(ValueError, match="Expected `alpha`"):
        ltgr_trainer(1.5)
    with pytest.raises(ValueError, match="Expected `alpha` to be between 0 and 1"):
        fine_tune_ltgr(encoder_folder, TRAIN, out=tmp_path / "run", alpha=-1)
