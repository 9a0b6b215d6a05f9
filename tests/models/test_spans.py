"""Windows of long contexts and the best spans in them, compared with loops over all spans."""

import itertools

import numpy as np
import pytest
import torch

from killing import killed_at
from rightreasons.core.errors import SetAsideWarning
from rightreasons.models.loading import load_classifier, load_question_answering
from rightreasons.models.spans import find_best_spans, join_windows, predict_answers
from rightreasons.models.windows import encode_windows
from tiny_models import (
    WORDS,
    save_tiny_classifier,
    save_tiny_reader,
    tiny_questions,
    tiny_tokenizer,
)

# Several windows of 32 tokens.
LONG = " ".join(WORDS * 2)


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    return load_question_answering(
        save_tiny_reader(tmp_path_factory.mktemp("reader") / "tiny"), device="cpu"
    )


def get_characters(windows, window):
    """Return the first and the last character of each token of a window; -1 outside the context."""
    row = slice(*windows.encoded.offsets[window : window + 2])
    return windows.characters.columns["first"][row], windows.characters.columns["last"][row]


def list_context_tokens(windows, window):
    """Return the (first, last) characters of the tokens of the context."""
    starts, ends = get_characters(windows, window)
    tokens = zip(starts.tolist(), ends.tolist(), strict=True)
    return [(start, end) for start, end in tokens if start >= 0]


def test_windows_cover_a_long_context_and_overlap():
    windows = encode_windows(
        tiny_tokenizer(), ["what was good", "what"], [LONG, "the film"], max_length=32, stride=10
    )

    # 26 of 32 positions are left for the context, 10 of them shared: 26 + 3 * 16 = 74, and there are
    # 72 tokens.
    assert windows.owner.tolist() == [0, 0, 0, 0, 1]
    assert windows.encoded.lengths.max() == 32
    tokens_by_window = []
    for window in range(4):
        starts, _ = get_characters(windows, window)
        # [CLS] what was good [SEP]
        assert (starts[:5] < 0).all()
        tokens = list_context_tokens(windows, window)
        assert all(LONG[start:end] in WORDS for start, end in tokens)
        tokens_by_window.append(tokens)
    assert len(set(itertools.chain(*tokens_by_window))) == 2 * len(WORDS)
    for tokens, next_tokens in itertools.pairwise(tokens_by_window):
        assert tokens[-10:] == next_tokens[:10]


def test_a_question_without_space_for_a_context_is_truncated():
    question = " ".join(["good"] * 40)

    windows = encode_windows(tiny_tokenizer(), [question], ["the film was bad"], max_length=32)

    # 32 tokens, 3 special, 10 shared, one of the context: 18 of the question
    starts, _ = get_characters(windows, 0)
    assert (starts < 0).sum() == 18 + 3


def find_spans_by_loops(start, end, windows, n_contexts, max_tokens, n_best):
    """Return the best spans of each context by their characters, with their highest score."""
    scores = [{} for _ in range(n_contexts)]
    for window, owner in enumerate(windows.owner):
        starts, ends = get_characters(windows, window)
        for i in range(len(starts)):
            for j in range(i, min(i + max_tokens, len(starts))):
                if starts[i] < 0 or starts[j] < 0:
                    continue
                span = (int(starts[i]), int(ends[j]))
                score = float(start[window, i] + end[window, j])
                # A span may be in two windows.
                scores[owner][span] = max(score, scores[owner].get(span, -np.inf))
    best = []
    for score_by_span in scores:
        ranked = sorted(score_by_span.items(), key=lambda pair: -pair[1])
        best.append(ranked[:n_best])
    return best


def test_the_best_spans_are_those_of_a_loop_over_all():
    contexts = [LONG, "the film was good", "bad"]
    questions = ["what was good"] * 3
    windows = encode_windows(tiny_tokenizer(), questions, contexts, max_length=32, stride=8)
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(len(windows), 32, generator=generator)
    end = torch.randn(len(windows), 32, generator=generator)
    batch = np.arange(len(windows))

    spans = find_best_spans(start, end, windows, batch, max_answer_tokens=4, n_best=7)()
    best = join_windows(windows.owner, spans, 3, n_best=7)

    expected = find_spans_by_loops(start, end, windows, 3, 4, 7)
    for pairs, expected_pairs in zip(best, expected, strict=True):
        assert [span for span, _ in pairs] == [span for span, _ in expected_pairs]
        scores = [score for _, score in pairs]
        expected_scores = [score for _, score in expected_pairs]
        np.testing.assert_allclose(scores, expected_scores, rtol=1e-6)
    # One span of one token, "bad".
    assert [span for span, _ in best[2]] == [(0, 3)]


def test_missing_spans_are_marked():
    windows = encode_windows(tiny_tokenizer(), ["what was good"], ["bad"], max_length=32)
    starts, _ = get_characters(windows, 0)
    logits = torch.zeros(1, len(starts))
    n_pairs = 2 * len(starts)

    spans = find_best_spans(
        logits, logits, windows, np.arange(1), max_answer_tokens=2, n_best=n_pairs + 3
    )()

    # One of the pairs of tokens is the context, "bad". Three columns have no pair.
    assert spans["starts"].tolist() == [[0] + [-1] * (n_pairs + 2)]
    assert spans["ends"].tolist() == [[3] + [-1] * (n_pairs + 2)]
    assert spans["scores"].tolist() == [[0.0] + [-np.inf] * (n_pairs + 2)]


def test_answers_do_not_depend_on_the_batches(reader):
    rows = tiny_questions(9)
    contexts = [*rows["context"][:8], LONG]
    options = {"n_best": 3, "progress": False}

    singly = predict_answers(reader, rows["question"], contexts, batch_size=1, **options)
    batched = predict_answers(reader, rows["question"], contexts, batch_size=16, **options)

    assert singly.texts == batched.texts
    np.testing.assert_allclose(singly.confidence, batched.confidence, atol=1e-4)
    assert ((singly.confidence > 0) & (singly.confidence <= 1)).all()


def test_an_interrupted_run_resumes(reader, tmp_path, monkeypatch):
    rows = tiny_questions(8)
    inputs = (reader, rows["question"], rows["context"])
    options = {"batch_size": 2, "progress": False, "out": tmp_path / "answers"}
    interrupted_forward = killed_at(reader.model.forward, 3)
    with monkeypatch.context() as patch:
        patch.setattr(reader.model, "forward", interrupted_forward)
        with pytest.raises(KeyboardInterrupt):
            predict_answers(*inputs, **options)
        answers = predict_answers(*inputs, **options)

    # Of 4 batches, 2 are done before the interruption at the third call.
    assert interrupted_forward.calls == 3 + 2
    assert answers.texts == predict_answers(*inputs, progress=False).texts


def test_a_stored_run_knows_the_characters_of_its_answers(reader, tmp_path):
    """The spaces of a context move the answer's characters, though no token changes."""
    options = {"progress": False, "out": tmp_path / "answers"}
    predict_answers(reader, ["what"], ["the film was good"], **options)
    with pytest.warns(SetAsideWarning, match="differs in places"):
        predict_answers(reader, ["what"], ["the   film was good"], **options)


def test_invalid_arguments_are_explained(reader, tmp_path):
    with pytest.raises(ValueError, match="at most 32, the maximum length of .*, but got 64"):
        predict_answers(reader, ["what"], ["the film"], max_length=64)
    with pytest.raises(ValueError, match="one length, but got 1, 2 and 1"):
        predict_answers(reader, ["what"], ["the film", "the plot"])
    with pytest.raises(ValueError, match="`contexts` to have words"):
        predict_answers(reader, ["what"], [" "])
    with pytest.raises(ValueError, match="`stride` to leave room"):
        encode_windows(tiny_tokenizer(), ["what"], ["the film"], max_length=32, stride=28)

    folder = save_tiny_classifier(tmp_path / "classes")
    classifier = load_classifier(folder, device="cpu")
    with pytest.raises(ValueError, match="no logits of spans"):
        predict_answers(classifier, ["what"], ["the film"], progress=False)
    with pytest.raises(ValueError, match="question-answering model"):
        load_question_answering(folder)

    embeddings = reader.model.bert.embeddings.word_embeddings.weight
    bias = reader.model.qa_outputs.bias[:1]
    word = embeddings[reader.tokenizer.convert_tokens_to_ids("what")]
    for weights, message in (
        (bias, r"finite weights, but qa_outputs\.bias of .* holds NaN"),
        (word, "NaN or infinity for question 0"),
    ):
        original = weights.detach().clone()
        with torch.no_grad():
            weights.fill_(torch.nan)
        with pytest.raises(ValueError, match=message):
            predict_answers(reader, ["what"], ["the film"], progress=False)
        with torch.no_grad():
            weights.copy_(original)


def test_a_context_without_tokens_is_an_error_or_excluded(reader):
    questions = ["what was good", "what", "what was dull"]
    contexts = ["the film was good", "\x00\x01", "the plot"]
    with pytest.raises(ValueError, match="context with tokens"):
        predict_answers(reader, questions, contexts, progress=False)

    answers = predict_answers(reader, questions, contexts, fail_fast=False, progress=False)

    assert answers.ids == ("0", "2")
    assert list(answers.failures) == ["1"]
    assert np.isfinite(answers.confidence).all()
