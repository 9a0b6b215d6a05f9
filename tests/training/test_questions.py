"""Fine-tuning on questions whose answers are spans of a context."""

import datasets
import numpy as np
import pytest

from rightreasons.core.errors import OptionError
from rightreasons.models.loading import load_question_answering
from rightreasons.models.spans import predict_answers
from rightreasons.training.examples import encode_questions, find_training_task, open_training_data
from rightreasons.training.finetune import fine_tune
from rightreasons.training.options import TrainingDataOptions
from tiny_models import save_tiny_encoder, tiny_questions, tiny_tokenizer


def make_questions(contexts, answer):
    """One question on each context, with the same answer wherever it is in the context."""
    answers = []
    for context in contexts:
        answers.append({"text": [answer], "answer_start": [context.index(answer)]})
    columns = {"question": ["good"] * len(contexts), "context": contexts, "answers": answers}
    return datasets.Dataset.from_dict(columns)


def test_positions_are_those_of_the_answer_or_of_the_first_token():
    tokenizer = tiny_tokenizer()
    # [CLS] good [SEP] is three tokens, so the answer is token 3 + 4 of an undivided context.
    context = "the film is a bad film"
    whole = encode_questions(tokenizer, 32, make_questions([context], "bad"), "train")

    # Windows of 8 tokens have room for 4 of the context, of which 2 are shared.
    cut = encode_questions(tokenizer, 8, make_questions([context], "bad"), "train")

    assert whole.dataset["start_positions"][:] == whole.dataset["end_positions"][:] == [7]
    assert (len(whole), whole.truncated, cut.truncated) == (1, 0, 1)
    for row in cut.dataset:
        tokens = tokenizer.convert_ids_to_tokens(row["input_ids"])
        has_answer = "bad" in tokens
        assert row["start_positions"] == (tokens.index("bad") if has_answer else 0)
    assert max(cut.dataset["start_positions"][:]) > 0


def test_a_model_learns_to_mark_answers(tmp_path):
    encoder = save_tiny_encoder(tmp_path / "encoder")
    questions = tiny_questions(40)

    done = fine_tune(
        encoder,
        questions,
        out=tmp_path / "model",
        validation=tiny_questions(8),
        epochs=30,
        learning_rate=3e-3,
        batch_size=8,
        max_length=48,
        progress=False,
    )

    assert (done.task, done.label_names, done.n_train) == ("question_answering", None, 40)
    assert set(done.metrics) == {"loss"}
    reader = load_question_answering(done.folder)
    answers = predict_answers(reader, questions["question"], questions["context"], progress=False)
    expected = [answer["text"][0] for answer in questions["answers"]]
    assert np.mean(np.array(answers.texts) == np.array(expected)) > 0.9


def test_the_task_is_found_by_the_columns():
    assert find_training_task(tiny_questions(1)) == "question_answering"


def test_an_answer_outside_of_its_context_is_refused(tmp_path):
    questions = tiny_questions(2)
    questions["answers"][1] = {"text": ["nowhere"], "answer_start": [10_000]}

    with pytest.raises(ValueError, match="inside its context"):
        fine_tune(save_tiny_encoder(tmp_path / "encoder"), questions, out=tmp_path / "model")


def test_questions_are_not_opened_by_name():
    with pytest.raises(OptionError, match="Pass the rows") as error:
        open_training_data("squad", TrainingDataOptions(), task="question_answering")

    assert error.value.option == ("task",)
