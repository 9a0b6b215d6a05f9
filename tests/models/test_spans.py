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

LONG = " ".join(WORDS * 2)  # several windows of 32


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    return load_question_answering(
        save_tiny_reader(tmp_path_factory.mktemp("reader") / "tiny"), device="cpu"
    )


def tokens_of(windows, window):
    """The first and the last character of each token of a window."""
    row = slice(*windows.encoded.offsets[window : window + 2])
    return windows.characters.columns["first"][row], windows.characters.columns["last"][row]


def test_windows_cover_a_long_context_and_overlap():
    windows = encode_windows(
        tiny_tokenizer(), ["what was good", "what"], [LONG, "the film"], max_length=32, stride=10
    )
    # 26 of 32 places are left for the context, 10 of them shared: 26 + 3 * 16 = 74, and there are 72 tokens.
    assert windows.owner.tolist() == [0, 0, 0, 0, 1]
    assert windows.encoded.lengths.max() == 32
    seen = []
    for window in range(4):
        first, last = tokens_of(windows, window)
        inside = first >= 0
        assert not inside[:5].any()  # [CLS] what was good [SEP]
        seen.append(
            [(a, b) for a, b in zip(first[inside].tolist(), last[inside].tolist(), strict=True)]
        )
        assert all(LONG[a:b] in WORDS for a, b in seen[-1])
    assert len({place for part in seen for place in part}) == 2 * len(WORDS)
    for before, after in itertools.pairwise(seen):
        assert before[-10:] == after[:10]


def test_a_question_that_leaves_no_room_is_cut():
    windows = encode_windows(
        tiny_tokenizer(), [" ".join(["good"] * 40)], ["the film was bad"], max_length=32
    )
    # 32 tokens, 3 special, 10 shared, one of the context: 18 of the question
    assert (tokens_of(windows, 0)[0] < 0).sum() == 18 + 3


def by_loops(start, end, windows, contexts, most, n_best):
    """Every span of every window, by its characters, with its highest score."""
    scores = [{} for _ in contexts]
    for window, owner in enumerate(windows.owner):
        first, last = tokens_of(windows, window)
        for i in range(len(first)):
            for j in range(i, min(i + most, len(first))):
                if first[i] >= 0 and first[j] >= 0:
                    key, score = (
                        (int(first[i]), int(last[j])),
                        float(start[window, i] + end[window, j]),
                    )
                    scores[owner][key] = max(score, scores[owner].get(key, -np.inf))
    return [sorted(spans.items(), key=lambda item: -item[1])[:n_best] for spans in scores]


def test_the_best_spans_are_those_of_a_loop_over_all():
    contexts = [LONG, "the film was good", "bad"]
    windows = encode_windows(
        tiny_tokenizer(), ["what was good"] * 3, contexts, max_length=32, stride=8
    )
    generator = torch.Generator().manual_seed(0)
    start, end = (torch.randn(len(windows), 32, generator=generator) for _ in range(2))
    batch = np.arange(len(windows))
    found = find_best_spans(start, end, windows, batch, max_answer_tokens=4, n_best=7)()
    best = join_windows(windows.owner, found, 3, n_best=7)
    for spans, wanted in zip(best, by_loops(start, end, windows, contexts, 4, 7), strict=True):
        assert [span for span, _ in spans] == [span for span, _ in wanted]
        np.testing.assert_allclose(
            [score for _, score in spans], [score for _, score in wanted], rtol=1e-6
        )
    assert [span for span, _ in best[2]] == [(0, 3)]  # one span of one token, "bad"


def test_spans_that_no_window_has_are_marked():
    windows = encode_windows(tiny_tokenizer(), ["what was good"], ["bad"], max_length=32)
    logits = torch.zeros(1, len(tokens_of(windows, 0)[0]))
    n_pairs = 2 * logits.shape[1]

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
    one, many = (
        predict_answers(
            reader, rows["question"], contexts, batch_size=size, n_best=3, progress=False
        )
        for size in (1, 16)
    )
    assert one.texts == many.texts
    np.testing.assert_allclose(one.confidence, many.confidence, atol=1e-4)
    assert ((one.confidence > 0) & (one.confidence <= 1)).all()


def test_a_killed_run_goes_on(reader, tmp_path, monkeypatch):
    rows = tiny_questions(8)
    options = {"batch_size": 2, "progress": False, "out": tmp_path / "answers"}
    killed = killed_at(reader.model.forward, 3)
    with monkeypatch.context() as patch:
        patch.setattr(reader.model, "forward", killed)
        with pytest.raises(KeyboardInterrupt):
            predict_answers(reader, rows["question"], rows["context"], **options)
        answers = predict_answers(reader, rows["question"], rows["context"], **options)
    assert killed.calls == 3 + 2  # 4 batches, 2 of them done before
    assert (
        answers.texts
        == predict_answers(reader, rows["question"], rows["context"], progress=False).texts
    )


def test_a_stored_run_knows_the_characters_of_its_answers(reader, tmp_path):
    """The spaces of a context move the answer's characters, though no token changes."""
    options = {"progress": False, "out": tmp_path / "answers"}
    predict_answers(reader, ["what"], ["the film was good"], **options)
    with pytest.warns(SetAsideWarning, match="differs in places"):
        predict_answers(reader, ["what"], ["the   film was good"], **options)


def test_bad_input_is_told(reader, tmp_path):
    with pytest.raises(ValueError, match="at most 32, the maximum length of .*, but got 64"):
        predict_answers(reader, ["what"], ["the film"], max_length=64)
    with pytest.raises(ValueError, match="one length, but got 1, 2 and 1"):
        predict_answers(reader, ["what"], ["the film", "the plot"])
    with pytest.raises(ValueError, match="`contexts` to have words"):
        predict_answers(reader, ["what"], [" "])
    with pytest.raises(ValueError, match="`stride` to leave room"):
        encode_windows(tiny_tokenizer(), ["what"], ["the film"], max_length=32, stride=28)
    classifier = load_classifier(save_tiny_classifier(tmp_path / "classes"), device="cpu")
    with pytest.raises(ValueError, match="no logits of spans"):
        predict_answers(classifier, ["what"], ["the film"], progress=False)
    with pytest.raises(
        ValueError,
        match="question-answering model",
    ):
        load_question_answering(tmp_path / "classes")
    table = reader.model.bert.embeddings.word_embeddings.weight
    for broken, error in (
        (reader.model.qa_outputs.bias[:1], r"finite weights, but qa_outputs\.bias of .* holds NaN"),
        (table[reader.tokenizer.convert_tokens_to_ids("what")], "NaN or infinity for question 0"),
    ):
        before = broken.detach().clone()
        with torch.no_grad():
            broken.fill_(torch.nan)
        with pytest.raises(ValueError, match=error):
            predict_answers(reader, ["what"], ["the film"], progress=False)
        with torch.no_grad():
            broken.copy_(before)


def test_a_context_without_tokens_is_told_or_left_out(reader):
    questions, contexts = (
        ["what was good", "what", "what was dull"],
        ["the film was good", "\x00\x01", "the plot"],
    )
    with pytest.raises(ValueError, match="context with tokens"):
        predict_answers(reader, questions, contexts, progress=False)
    answers = predict_answers(reader, questions, contexts, fail_fast=False, progress=False)
    assert (answers.ids, list(answers.failures)) == (("0", "2"), ["1"])
    assert np.isfinite(answers.confidence).all()
