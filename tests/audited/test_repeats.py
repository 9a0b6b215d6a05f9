"""What an audit notices about functions and scorers of the user's own."""

import datasets
import numpy as np
import pytest

import rightreasons

TEXTS = [f"a {'good' if i % 2 else 'bad'} film {i * 7 % 31}" for i in range(40)]
LABELS = [i % 2 for i in range(40)]
NAMES = ["negative", "positive"]


def audit(function, tmp_path, **columns):
    data = datasets.Dataset.from_dict({"text": TEXTS, "label": LABELS, **columns})
    data = data.cast_column("label", datasets.ClassLabel(names=NAMES))
    lines = []
    result = rightreasons.audit(
        function,
        data,
        out=tmp_path / "report",
        questions=["calibration"],
        label_names=",".join(NAMES),
        n_resamples=20,
        progress=False,
        tell=lines.append,
    )
    return result, "\n".join(lines)


def rate(text):
    return [0.2, 0.8] if "good" in text else [0.9, 0.1]


def test_a_function_that_scores_each_text_by_itself_gets_no_note(tmp_path):
    result, lines = audit(lambda texts: [rate(text) for text in texts], tmp_path)

    assert result["calibration.accuracy"].estimate.value == 1.0
    assert "scores" not in lines


def test_scores_that_depend_on_the_other_texts_are_refused(tmp_path):
    def rank(texts):
        # Probabilities by the rank among the texts of a call.
        positions = np.argsort(np.argsort(texts))
        return positions / len(texts)

    with pytest.raises(ValueError, match="item alone"):
        audit(rank, tmp_path)


def test_random_answers_are_noted(tmp_path):
    generator = np.random.default_rng(3)

    def sample(texts):
        rows = np.array([rate(text) for text in texts])
        is_flipped = generator.random(len(texts)) < 0.5
        return np.where(is_flipped[:, None], rows[:, ::-1], rows)

    _, lines = audit(sample, tmp_path)

    # Half of 20 items differ between two answers, by chance.
    assert "random" in lines


@pytest.mark.parametrize("reads_pairs", [True, False])
def test_unread_second_texts_are_noted(tmp_path, reads_pairs):
    def compare(texts, text_pairs):
        if reads_pairs:
            return [rate(pair) for pair in text_pairs]
        return [rate(text) for text in texts]

    _, lines = audit(compare, tmp_path, text_pair=TEXTS)

    assert ("exchange" in lines) is not reads_pairs


def test_the_items_are_asked_once_more_and_no_more(tmp_path):
    n_texts = 0

    def count(texts):
        nonlocal n_texts
        n_texts += len(texts)
        return [rate(text) for text in texts]

    audit(count, tmp_path)

    # All 40 items, and 20 of them again.
    assert n_texts == 60
