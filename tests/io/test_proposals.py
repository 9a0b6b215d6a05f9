"""Relations between columns, and choices, are found by cells alone, in tables whose headings say nothing."""

from types import SimpleNamespace

import datasets
import numpy as np
import pytest

from rightreasons.core.errors import OptionError
from rightreasons.io.contents import describe_contents
from rightreasons.io.options import SourceOptions, TextOptions
from rightreasons.io.predictions import read_predictions
from rightreasons.io.proposals.choices import _measure_length_ratio, propose_choices
from rightreasons.io.proposals.relations import (
    are_renamed,
    begins_with_class,
    find_decided_label,
)
from rightreasons.io.reading import as_table
from rightreasons.io.resolve import resolve
from rightreasons.io.roles import find_text_roles
from rightreasons.io.tables import open_multiple_choice, open_task_items

N_ROWS = 24
QUESTIONS = [f"水 {row} 杯と 3 杯を合わせると何杯になりますか。" for row in range(N_ROWS)]
RIGHT = [row * row % 7 % 3 for row in range(N_ROWS)]
LISTS = [[f"{row + 3 + (k - RIGHT[row]) % 3} 杯" for k in range(3)] for row in range(N_ROWS)]


def find_label(columns):
    """Return the column of classes that relations mark as the labels."""
    contents = describe_contents(columns)
    decided = find_decided_label(contents, contents.list_classes(contents))
    return None if decided is None else decided.column


# ------------------------------------------------------------------------------ lists of choices


@pytest.mark.parametrize(
    "answers",
    [
        RIGHT,
        [position + 1 for position in RIGHT],
        ["ABC"[position] for position in RIGHT],
        [choices[position] for choices, position in zip(LISTS, RIGHT, strict=True)],
    ],
)
def test_a_list_of_choices_is_read_with_the_column_that_points_into_it(answers):
    table = datasets.Dataset.from_dict({"設問": QUESTIONS, "候補": LISTS, "鍵": answers})

    with pytest.warns(UserWarning, match="`choices_column`"):
        items = open_multiple_choice(table)

    assert items["label"][:] == RIGHT
    assert items["prompt"][0] == QUESTIONS[0]


def test_objects_of_a_mark_and_a_text_are_choices_whatever_their_fields_are_called():
    objects = [
        [{"記号": mark, "文": text} for mark, text in zip("いろは", texts, strict=True)]
        for texts in LISTS
    ]
    marks = ["いろは"[position] for position in RIGHT]
    table = datasets.Dataset.from_dict({"設問": QUESTIONS, "候補": objects, "鍵": marks})

    with pytest.warns(UserWarning, match="No heading"):
        items = open_multiple_choice(table)

    assert (items["label"][:], items["choices"][:]) == (RIGHT, LISTS)


def test_an_explanation_that_singles_out_the_right_choice_is_no_part_of_the_question():
    explained = [
        f"よく数えると {choices[position]} になるから。"
        for choices, position in zip(LISTS, RIGHT, strict=True)
    ]
    contents = describe_contents({"問": QUESTIONS, "鍵": RIGHT, "解説": explained, "候補": LISTS})

    assert propose_choices(contents).prompt == ("問",)


def test_two_columns_that_point_into_the_choices_are_for_a_person_to_tell_apart():
    given = [(position + (row % 5 == 0)) % 3 for row, position in enumerate(RIGHT)]
    contents = describe_contents({"問": QUESTIONS, "候補": LISTS, "a": RIGHT, "b": given})

    assert propose_choices(contents) is None


def test_lists_of_votes_are_no_choices():
    votes = [["pro", "con", "pro"], ["con", "con", "pro"]] * 12
    gold = ["pro", "con"] * 12
    table = datasets.Dataset.from_dict(
        {"x": QUESTIONS, "v": votes, "g": gold, "z": [True, False, True] * 8}
    )

    roles = find_text_roles({"": table}, TextOptions(), "the table")[""]

    assert roles.get_column("label") == "g"
    assert "most votes in 'v'" in roles.get("label").reason


# -------------------------------------------------------------------------- a column per choice


def test_columns_of_choices_are_found_among_questions_and_links():
    choices = {f"c{k}": [row[k] for row in LISTS] for k in range(3)}
    links = [f"https://example.org/{row}" for row in range(N_ROWS)]
    table = datasets.Dataset.from_dict({"u": links, "q": QUESTIONS, **choices, "y": RIGHT})

    with pytest.warns(UserWarning, match="`prompt_column`"):
        task, splits = open_task_items(table, SourceOptions())

    assert task == "multiple_choice"
    assert splits["data"]["label"][:] == RIGHT
    assert resolve(table).columns["choices"] == ("c0", "c1", "c2")


def test_two_texts_are_choices_only_if_each_is_as_often_the_longer_one():
    short = [f"Cup {row} spills." for row in range(N_ROWS)]
    long = [f"Cup {row} spills on the floor." for row in range(N_ROWS)]
    is_swapped = np.arange(N_ROWS) % 2 == 0
    first = np.where(is_swapped, short, long).tolist()
    second = np.where(is_swapped, long, short).tolist()
    labels = [row * row % 5 < 3 for row in range(N_ROWS)]
    question = {"q": QUESTIONS, "y": list(map(int, labels))}

    mixed = propose_choices(describe_contents({**question, "a": first, "b": second}))
    sorted_by_length = propose_choices(describe_contents({**question, "a": short, "b": long}))

    assert mixed.choices == ("a", "b")
    assert sorted_by_length is None


def test_a_heading_of_texts_says_that_there_are_texts_to_classify():
    table = {"text": QUESTIONS, "候補": LISTS, "鍵": RIGHT}

    assert resolve(table).kind == "classification"


# ------------------------------------------------------------------------------------- labels


def test_the_label_is_what_most_annotators_say():
    # Each annotator errs in other rows, so that the majority never does.
    gold = ["bad", "good", "fair"] * 8
    annotators = {
        f"a{k}": [
            "fair" if row % 4 == k and value != "fair" else value for row, value in enumerate(gold)
        ]
        for k in range(4)
    }

    assert find_label({"source": ["web", "book"] * 12, **annotators, "gold": gold}) == "gold"
    # Of three systems and a label, no column is the majority of the others in every row.
    assert find_label({**annotators}) is None


def test_columns_that_name_the_same_classes_are_one():
    words = ["no", "yes", "yes"] * 8

    assert find_label({"n": [0, 1, 1] * 8, "w": words}) == "w"
    assert not are_renamed(["a", "b"], ["b", "a"])


def test_the_largest_of_the_counts_of_votes_decides_the_label():
    counts = {"a": [3, 0, 1, 2] * 6, "b": [0, 3, 2, 1] * 6}
    classes = [0, 1, 1, 0] * 6

    assert find_label({"n": [3] * N_ROWS, **counts, "y": classes, "z": [0, 1, 0, 0] * 6}) == "y"


def test_texts_that_begin_with_a_class_are_answers_and_not_what_a_model_reads():
    answers = ["yes", "no"] * 12
    outputs = [
        f"{answer.title()}. Because of reason {row}, which takes many words to explain here."
        for row, answer in enumerate(answers)
    ]
    table = datasets.Dataset.from_dict(
        {"x": [f"Is the number {row} even?" for row in range(N_ROWS)], "o": outputs, "y": answers}
    )

    roles = find_text_roles({"": table}, TextOptions(), "the table")[""]

    assert roles.get_column("text") == "x"
    assert not begins_with_class(["1 apple", "2 pears"], ["1", "2"])


def test_a_column_of_arms_is_no_label():
    table = datasets.Dataset.from_dict(
        {"x": [*QUESTIONS, *QUESTIONS], "arm": ["p"] * N_ROWS + ["q"] * N_ROWS}
    )

    roles = find_text_roles({"": table}, TextOptions(require_labels=False), "the table")[""]

    assert roles.get("label") is None


def test_a_label_by_its_heading_is_doubted_if_another_column_has_all_values_of_the_answers():
    kinds = ["toxic", "neutral", "mixed"] * 8
    gold = ["toxic", "clean", "mixed"] * 8
    answers = ["clean", "clean", "toxic"] * 8
    doubted = {"text": QUESTIONS, "category": kinds, "expected": gold, "system": answers}

    assert "'expected', and not 'category'" in " ".join(resolve(doubted).doubts)
    assert resolve({**doubted, "category": gold}).doubts == ()


# -------------------------------------------------------------------------------- predictions


def test_scores_get_their_classes_from_the_column_that_they_decide():
    shares = [0.9, 0.2, 0.7, 0.35, 0.6, 0.1] * 4
    predicted = ["up" if share > 0.5 else "down" for share in shares]
    gold = ["down" if row % 4 == 0 else value for row, value in enumerate(predicted)]
    table = {
        "r": ["east", "west", "south"] * 8,
        "a": shares,
        "b": [1 - share for share in shares],
        "g": gold,
        "p": predicted,
    }

    with pytest.warns(UserWarning, match="No heading"):
        read = read_predictions(table)

    assert read.taken["labels"] == ("g",)
    expected = np.mean([left == right for left, right in zip(gold, predicted, strict=True)])
    assert (read.predictions.argmax(axis=1) == read.references).mean() == pytest.approx(expected)


def test_a_third_column_of_the_same_values_asks_which_two_are_meant():
    gold = ["p", "q", "r"] * 8
    near = ["q" if row % 7 == 0 else value for row, value in enumerate(gold)]
    far = ["r", "p", "p"] * 8

    with pytest.raises((OptionError, ValueError)):
        read_predictions({"a": gold, "b": near, "c": far}, answers_alone=True)


def test_paragraphs_are_known_by_their_fields():
    question = {"id": "1", "question": "Who?", "answers": [{"text": "Ann", "answer_start": 0}]}
    articles = {"題": ["A"], "本文": [[{"context": "Ann met Bob.", "qas": [question]}]]}

    read = resolve(datasets.Dataset.from_dict(articles))

    assert (read.kind, read.items[0]["question"]) == ("question_answering", "Who?")


# ------------------------------------------------------- kinds that files nobody had seen showed


def test_the_right_choice_is_found_if_headings_say_the_choices_alone():
    table = {"question": QUESTIONS, "options": LISTS, "answerIndex": RIGHT}
    lettered = [dict(zip("ABC", row, strict=True)) for row in LISTS]
    letters = {"question": QUESTIONS, "options": lettered, "key": ["ABC"[k] for k in RIGHT]}

    for columns in (table, letters):
        found = resolve(datasets.Dataset.from_dict(columns))

        assert [row.label for row in found.mapping if row.label == "choice 1"]
        assert "`label_column`" in found.doubts[0]


def test_choices_without_a_right_one_are_told():
    table = datasets.Dataset.from_dict({"question": QUESTIONS, "options": LISTS})

    assert resolve(table).doubts == (
        "No column is used for the correct choices. Name the column with `label_column`.",
    )


def test_texts_whose_heading_continues_that_of_the_texts_are_told():
    other_texts = [f"{question} 本当ですか。" for question in QUESTIONS]
    labels = ["p", "q", "q"] * 8
    pairs = {"text": QUESTIONS, "text_b": other_texts, "label": labels}

    assert "'text_b'" in resolve(pairs).doubts[0]
    assert resolve({**pairs, "text_b": labels}).doubts == ()


def test_of_three_texts_the_longest_is_not_taken():
    texts = {
        name: [f"{question} {name * size}" for question in QUESTIONS]
        for name, size in (("a", 1), ("b", 2), ("c", 90))
    }

    with pytest.raises(OptionError) as error:
        find_text_roles({"": datasets.Dataset.from_dict(texts)}, TextOptions(), "the table")
    assert error.value.option[0] == "text_column"


def test_a_first_row_whose_class_is_a_heading_proposes_nothing():
    table = datasets.Dataset.from_dict({"水は何杯ですか。": QUESTIONS, "p": ["p", "q", "q"] * 8})

    with pytest.raises(OptionError, match="column_names="):
        find_text_roles({"": table}, TextOptions(), "the table")


def test_rows_of_empty_cells_above_the_headings_are_skipped(tmp_path):
    (tmp_path / "a.csv").write_text(",,\n,,\ntext,label,x\nFine.,up,1\nDull.,down,2\n")

    assert as_table(tmp_path / "a.csv").to_dict() == {
        "text": ["Fine.", "Dull."],
        "label": ["up", "down"],
        "x": ["1", "2"],
    }


def test_fractions_below_chance_are_no_confidence():
    gold = ["p", "q", "r"] * 8
    predicted = ["q" if row % 5 == 0 else value for row, value in enumerate(gold)]
    costs = [0.001 * (row + 1) for row in range(N_ROWS)]
    table = {"gold": gold, "prediction": predicted, "cost": costs}

    assert read_predictions(table, answers_alone=True).taken == {"right": ("prediction", "gold")}


def test_a_column_of_correctness_settles_which_of_two_answers_is_meant():
    table = {"question": QUESTIONS, "answer": RIGHT, "predicted": [0] * N_ROWS}
    table["correct"] = [position == 0 for position in RIGHT]

    read = read_predictions(table, answers_alone=True)

    assert read.taken["right"] == ("correct",)


def test_errors_in_words_are_no_sign_of_another_order():
    gold = ["up", "down", "down"] * 8
    answers = ["down" if label == "up" else "up" for label in gold]

    assert read_predictions({"gold": gold, "prediction": answers}, answers_alone=True).doubt == ""


def test_the_log_probability_of_an_answer_is_its_confidence():
    gold = ["up", "down", "down"] * 8
    answers = ["up" if row % 4 == 0 else label for row, label in enumerate(gold)]
    logprobs = [-0.05 * (row % 9) - 0.01 for row in range(N_ROWS)]
    table = {"label": gold, "answer": answers, "logprob": logprobs}

    with pytest.warns(UserWarning, match="e to its power"):
        read = read_predictions(table)

    assert read.kind == "confidence"
    assert read.predictions[1] == pytest.approx(np.exp(-0.06))


def test_an_empty_column_of_predictions_makes_no_predictions():
    rows = [{"data": {"text": text}, "predictions": []} for text in QUESTIONS]
    table = datasets.Dataset.from_list(rows)

    assert resolve(table).kind == "classification"


def test_one_item_has_no_arms():
    rows = {"text": ["Rate this."] * 12, "label": ["p", "q"] * 6, "hit": [*"abcdef"] * 2}

    checks = [doubt.check for doubt in resolve(datasets.Dataset.from_dict(rows)).row_doubts]

    assert "constant_text" in checks
    assert "long_format" not in checks


@pytest.mark.parametrize(
    ("texts", "ratio"),
    [
        # Mean lengths of 1, 2 and 3 characters.
        ([["a", "b"], ["cd", "ef"], ["ghi", "jkl"]], 3.0),
        # An empty text is shorter than one character, which counts as one.
        ([["", ""], ["cd", "ef"], ["ghi", "jkl"]], 3.0),
        # Choices of one item differ: two equal ones in every row are none.
        ([["a", "b"], ["a", "b"], ["ghi", "jkl"]], np.inf),
    ],
)
def test_choices_are_at_most_so_much_longer_than_one_another(texts, ratio):
    columns = dict(zip("xyz", texts, strict=True))
    contents = SimpleNamespace(get_cells=columns.__getitem__)

    assert _measure_length_ratio(contents, list(columns)) == ratio
