"""Fine-tuning on spans: where the answers are, that a tiny model learns, and that a killed run goes on."""

import re

import numpy as np
import pytest
import torch

from killing import killed_at
from rightreasons.models.loading import load_question_answering
from rightreasons.models.spans import encode_windows
from rightreasons.training.examples import answer_characters, answer_tokens
from rightreasons.training.finetune import Objective, fine_tune
from tiny_models import WORDS, tiny_questions, tiny_tokenizer


def test_answers_are_found_in_their_windows():
    context = " ".join(WORDS * 2)
    begin = context.rindex("very not good")
    windows = encode_windows(tiny_tokenizer(), ["what was good", "what"], [context, "very good"], max_length=32)
    characters = np.array([(begin, begin + len("very not good")), (0, len("very"))])
    places = answer_tokens(windows, characters)
    held = places[:, 0] >= 0
    assert held.tolist()[-1]
    assert 1 <= held[:-1].sum() < len(windows) - 1  # some windows hold the answer, some do not
    for window in np.flatnonzero(held):
        first, last = windows.tokens_of(window)
        text = [context, "very good"][windows.owner[window]][first[places[window, 0]] : last[places[window, 1]]]
        assert text == ["very not good", "very"][windows.owner[window]]
    assert (places[~held] == -1).all()


def test_an_answer_cut_by_the_edge_of_a_window_is_not_held():
    windows = encode_windows(tiny_tokenizer(), ["what"], [" ".join(WORDS)], max_length=16, stride=0)
    edge = int(windows.tokens_of(0)[1].max())
    assert answer_tokens(windows, np.array([(edge - 1, edge + 2)])).tolist() == [[-1, -1]] * len(windows)


OPTIONS = {
    "task": "question_answering",
    "epochs": 20,
    "learning_rate": 3e-3,
    "batch_size": 16,
    "max_length": 32,
    "device": "cpu",
    "progress": False,
}


def test_a_tiny_model_learns_to_read(encoder_folder, tmp_path):
    rows = tiny_questions(96)
    done = fine_tune(encoder_folder, rows, validation=rows, out=tmp_path / "reader", **OPTIONS)
    assert done.task == "question_answering"
    assert done.label_names is None
    assert done.n_train == 96
    assert done.metrics["exact_match"] >= 0.7  # each context has two nouns
    assert done.metrics["f1"] == pytest.approx(done.metrics["exact_match"])  # answers of one word
    assert done.metrics["loss"] > 0
    model = load_question_answering(tmp_path / "reader", device="cpu").model
    assert fine_tune(encoder_folder, rows, validation=rows, out=tmp_path / "reader", **OPTIONS) == done
    assert model.qa_outputs.weight.shape == (2, 32)


def test_a_killed_run_ends_with_the_model_of_one_that_was_not(encoder_folder, tmp_path, monkeypatch):
    from transformers import Trainer

    rows = tiny_questions(32)
    options = {**OPTIONS, "epochs": 3, "checkpoint_steps": 2}
    whole = fine_tune(encoder_folder, rows, out=tmp_path / "whole", **options)
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "training_step", killed_at(Trainer.training_step, 4))
        with pytest.raises(KeyboardInterrupt):
            fine_tune(encoder_folder, rows, out=tmp_path / "parts", **options)
    parts = fine_tune(encoder_folder, rows, out=tmp_path / "parts", **options)
    assert parts.resumed_from_step == 2
    assert parts.n_steps == whole.n_steps
    one, two = (load_question_answering(tmp_path / name, device="cpu").model for name in ("whole", "parts"))
    for (name, first), (_, second) in zip(one.named_parameters(), two.named_parameters(), strict=True):
        torch.testing.assert_close(first, second, msg=name)


def test_bad_input_is_told(encoder_folder, tmp_path):
    rows = tiny_questions(2)
    for answers, said in (
        ({"text": [], "answer_start": []}, "question 1 has none"),
        ({"text": ["film"], "answer_start": [90]}, "'film' at 90"),
    ):
        with pytest.raises(ValueError, match=said):
            answer_characters([rows["answers"][0], answers], rows["context"], "train")
    with pytest.raises(ValueError, match="answers in .*, a question_answering dataset, but it lacks context"):
        fine_tune(encoder_folder, {"question": ["a"]}, out=tmp_path / "x", **OPTIONS)
    with pytest.raises(ValueError, match="no `extra_columns`"):
        fine_tune(encoder_folder, rows, out=tmp_path / "x", objective=Objective(extra_columns=("a",)), **OPTIONS)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "Expected an answer to each question of `train`, but question 1 has none."),
        ({"text": ["film"], "answer_start": []}, "question 1 has none."),
        ({"text": ["film"], "answer_start": [None]}, "but got 'film' at None."),
    ],
)
def test_a_question_without_an_answer_is_told(answer, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        answer_characters([{"text": ["the"], "answer_start": [0]}, answer], ["the film", "the film"], "train")
