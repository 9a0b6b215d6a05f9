"""Answers of systems in columns whose headings nobody knows, in drawn tables."""

import numpy as np
import pytest

from rightreasons.core.errors import OptionError
from rightreasons.io import read_predictions
from rightreasons.io.descriptions import make_description
from rightreasons.io.resolve import resolve

N_ROWS = 90
LABELS = ("pro", "contra", "neither")


def draw_answers(rng, gold, accuracy):
    """Return answers that are the label with some probability, and otherwise drawn."""
    drawn = rng.choice(LABELS, N_ROWS)
    return np.where(rng.random(N_ROWS) < accuracy, gold, drawn).tolist()


def draw_columns(seed, accuracies):
    """Return labels, the answers of systems, and the share of each system's correct answers."""
    rng = np.random.default_rng(seed)
    gold = rng.choice(LABELS, N_ROWS)
    answers = [draw_answers(rng, gold, accuracy) for accuracy in accuracies]
    shares = [float(np.mean(np.array(column) == gold)) for column in answers]
    return gold.tolist(), answers, shares


def draw_texts(seed):
    rng = np.random.default_rng(seed)
    words = "the old river crossed town while seven quiet birds watched walls".split()
    return [" ".join(rng.choice(words, 9)) for _ in range(N_ROWS)]


def measure_accuracy(predictions):
    return float(np.mean(predictions.references))


@pytest.mark.parametrize("heading", ["qq7", "応答", "ответ"])
def test_one_column_with_the_values_of_the_labels_holds_the_answers(heading):
    gold, (answers,), (share,) = draw_columns(seed=1, accuracies=[0.7])
    columns = {"id": list(range(N_ROWS)), "label": gold, heading: answers}

    with pytest.warns(UserWarning, match="`correct_column`"):
        predictions = read_predictions(columns, answers_alone=True)

    assert measure_accuracy(predictions) == pytest.approx(share)
    resolution = resolve(columns)
    assert resolution.kind == "predictions"
    assert resolution.columns["right"] == (heading, "label")


def test_a_confidence_next_to_such_answers_is_proposed_too():
    gold, (answers,), (share,) = draw_columns(seed=2, accuracies=[0.7])
    confidence = np.random.default_rng(3).uniform(0.4, 1.0, N_ROWS).tolist()

    with pytest.warns(UserWarning, match="`confidence_column`"):
        predictions = read_predictions({"label": gold, "x1": answers, "x2": confidence})

    assert predictions.predictions.tolist() == confidence
    assert measure_accuracy(predictions) == pytest.approx(share)


@pytest.mark.parametrize("accuracies", [(0.8, 0.7), (0.8, 0.0), (0.9, 0.6, 0.3)])
def test_several_systems_are_a_question_that_names_them(accuracies):
    gold, answers, _ = draw_columns(seed=4, accuracies=accuracies)
    systems = {f"m{k}": column for k, column in enumerate(answers)}
    columns = {"label": gold, **systems}

    with pytest.raises(OptionError, match="several systems") as error:
        read_predictions(columns, answers_alone=True)

    assert error.value.option == ("correct_column",)
    assert all(repr(name) in str(error.value) for name in systems)
    resolution = resolve(columns)
    assert (resolution.kind, resolution.readable) == ("predictions", False)


def test_the_option_of_that_question_reads_each_system():
    gold, answers, shares = draw_columns(seed=5, accuracies=(0.8, 0.3))
    columns = {"label": gold, "m0": answers[0], "m1": answers[1]}

    accuracies = []
    for name in ("m0", "m1"):
        comparison = f"{{{{ {name} == label }}}}"
        predictions = read_predictions(columns, answers_alone=True, correct_column=comparison)
        accuracies.append(measure_accuracy(predictions))

    assert accuracies == pytest.approx(shares)


def test_three_columns_of_one_set_of_values_without_a_heading_are_a_question():
    gold, answers, _ = draw_columns(seed=6, accuracies=(0.8, 0.7))

    with pytest.raises(OptionError, match="column of labels") as error:
        read_predictions({"x1": gold, "x2": answers[0], "x3": answers[1]}, answers_alone=True)

    assert error.value.option == ("correct_column",)


def test_labeled_texts_stay_items_and_the_answers_next_to_them_are_listed():
    gold, answers, shares = draw_columns(seed=7, accuracies=(0.8, 0.4))
    columns = {"text": draw_texts(8), "label": gold, "m0": answers[0], "m1": answers[1]}

    resolution = resolve(columns)

    assert resolution.kind == "classification"
    assert resolution.doubts == ()
    assert "'m0', 'm1' hold the values of 'label'" in resolution.unused
    assert f"{shares[0]:.0%} and {shares[1]:.0%}" in resolution.unused


def test_a_second_system_next_to_known_predictions_is_listed():
    gold, answers, shares = draw_columns(seed=9, accuracies=(0.8, 0.1))
    columns = {"label": gold, "prediction": answers[0], "older": answers[1]}

    resolution = resolve(columns)

    assert resolution.columns["right"] == ("prediction", "label")
    assert f"'older' holds the values of 'label' and agrees with it in {shares[1]:.0%}" in (
        resolution.unused
    )


def test_columns_that_share_values_by_accident_are_no_answers():
    rng = np.random.default_rng(10)
    gold = rng.choice(LABELS, N_ROWS).tolist()
    # The stance of another text, drawn apart from the label; and two flags.
    columns = {
        "text": draw_texts(11),
        "label": gold,
        "earlier": rng.choice(LABELS, N_ROWS).tolist(),
        "is_long": rng.integers(0, 2, N_ROWS).tolist(),
    }

    resolution = resolve(columns)

    assert resolution.kind == "classification"
    assert "hold" not in resolution.unused


def test_two_flags_are_not_taken_for_labels_and_answers():
    rng = np.random.default_rng(12)
    gold = rng.integers(0, 2, N_ROWS).tolist()
    flags = [value if row % 5 else 1 - value for row, value in enumerate(gold)]

    with pytest.raises(OptionError) as error:
        read_predictions({"label": gold, "is_long": flags}, answers_alone=True)

    assert set(error.value.option) & {"score_columns", "correct_column", "confidence_column"}


def test_a_poor_system_among_good_rows_is_a_question_and_no_missing_text():
    gold, (good, poor), _ = draw_columns(seed=13, accuracies=(0.6, 0.0))
    # Of rows of two systems, 30% are answered by more than chance: less than `MIN_KAPPA`.
    columns = {"система": ["А"] * N_ROWS + ["Б"] * N_ROWS, "ответ": good + poor, "эталон": gold * 2}

    resolution = resolve(columns)

    assert (resolution.kind, resolution.readable) == ("predictions", False)
    assert "`correct_column`" in resolution.doubts[0]


def draw_logits(seed):
    """Return labels, and a logit per class that is the largest for the label in most rows."""
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, 2, N_ROWS)
    logits = rng.normal(size=(N_ROWS, 2)) + 2 * np.eye(2)[gold]
    return [("예", "아니오")[number] for number in gold], logits


def test_columns_called_as_the_labels_are_scores_whose_kind_is_a_question():
    gold, logits = draw_logits(seed=14)
    columns = {"정답": gold, "예": logits[:, 0].tolist(), "아니오": logits[:, 1].tolist()}

    resolution = resolve(columns)
    with pytest.warns(UserWarning, match="`score_columns`"):
        predictions = read_predictions(columns, scores="logits")

    assert not resolution.readable
    assert "`scores` to logits" in resolution.doubts[0]
    names = predictions.label_names
    predicted = [names[number] for number in predictions.predictions.argmax(axis=1)]
    labels = [names[number] for number in predictions.references]
    assert labels == gold
    assert predicted == [("예", "아니오")[number] for number in logits.argmax(axis=1)]


def test_measures_of_texts_that_are_called_as_the_labels_are_no_predictions():
    gold, measures = draw_logits(seed=15)
    table = {"예": measures[:, 0].tolist(), "아니오": measures[:, 1].tolist()}

    resolution = resolve({"text": draw_texts(16), "label": gold, **table})

    assert (resolution.kind, resolution.readable) == ("classification", True)


def test_votes_by_class_are_no_scores():
    gold, _ = draw_logits(seed=17)
    votes = [3 * row % 11 for row in range(N_ROWS)]

    with pytest.raises(OptionError) as error:
        read_predictions({"정답": gold, "예": votes, "아니오": [10 - vote for vote in votes]})

    assert "`scores` to logits" not in str(error.value)


def test_flags_next_to_fractions_may_say_which_answers_are_correct():
    rng = np.random.default_rng(18)
    columns = {
        "frage": draw_texts(19),
        "sicherheit": rng.uniform(0.3, 1.0, N_ROWS).tolist(),
        "richtig": rng.choice(["ja", "nein"], N_ROWS).tolist(),
    }

    resolution = resolve(columns)

    assert resolution.kind == "classification"
    assert "`confidence_column` and `correct_column`" in resolution.unused


def test_objects_of_a_label_and_a_score_are_answers_with_a_confidence():
    # What a pipeline of transformers returns, one object per row.
    gold = ["up", "down"] * 10
    answers = ["up", "down", "down", "down"] * 5
    rows = [
        {"prediction": {"label": answer, "score": 0.6 + 0.01 * row}, "gold": label}
        for row, (answer, label) in enumerate(zip(answers, gold, strict=True))
    ]

    with pytest.warns(UserWarning, match=r"prediction\.score"):
        predictions = read_predictions(rows)

    assert predictions.kind == "confidence"
    # Three of four answers are the label.
    assert predictions.references.sum() == 15


def test_texts_numbers_and_lists_that_are_not_read_are_named():
    rows = {
        "question": [f"Is statement {row} true?" for row in range(N_ROWS)],
        "label": [row % 2 for row in range(N_ROWS)],
        "passage": [f"Statement {row} holds on odd days." for row in range(N_ROWS)],
        "agreement": [(row % 7) / 7 for row in range(N_ROWS)],
        "log_share": [-row / 3 for row in range(N_ROWS)],
        "spans": [[f"a{row}", f"b{row}"] for row in range(N_ROWS)],
        # Ids, counts, and columns of few values, which are listed with their counts, are not among them.
        "key": [f"doc-{row}" for row in range(N_ROWS)],
        "length": [row * 3 for row in range(N_ROWS)],
        "topic": ["law", "art"] * (N_ROWS // 2),
    }

    sentence = resolve(rows).unused

    assert "Not read: passage (texts), agreement (numbers), log_share (numbers)" in sentence
    assert "spans (lists or objects)." in sentence
    assert "Not used: topic" in sentence
    assert not {"key", "length"} & set(sentence.replace(",", " ").split())


def test_columns_of_an_expression_are_read():
    rows = {
        "good": [f"The {row} cats sleep." for row in range(N_ROWS)],
        "bad": [f"The {row} cats sleeps." for row in range(N_ROWS)],
        "label": [0] * N_ROWS,
    }
    arguments = {"prompt_column": "{{ 'Which?' }}", "choices_column": "{{ [good, bad] }}"}

    resolution = resolve(make_description({"data": rows, "label_column": "label", **arguments}))

    assert resolution.kind == "multiple_choice"
    assert "Not read" not in resolution.unused
