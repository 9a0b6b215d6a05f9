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
POSITIONS = [row * row % 7 % 3 for row in range(N_ROWS)]
# The choice at the right position of a row is the sum that its question asks for, row + 3.
LISTS = [
    [f"{row + 3 + (k - position) % 3} 杯" for k in range(3)]
    for row, position in enumerate(POSITIONS)
]
RIGHT_TEXTS = [choices[position] for choices, position in zip(LISTS, POSITIONS, strict=True)]


def find_label(columns):
    """Return the column of classes that relations mark as the labels."""
    contents = describe_contents(columns)
    decided = find_decided_label(contents, contents.list_classes(contents))
    return None if decided is None else decided.column


def find_roles(columns, **options):
    table = datasets.Dataset.from_dict(columns)
    return find_text_roles({"": table}, TextOptions(**options), "the table")[""]


# ------------------------------------------------------------------------------ lists of choices


@pytest.mark.parametrize(
    "answers",
    [
        POSITIONS,
        [position + 1 for position in POSITIONS],
        ["ABC"[position] for position in POSITIONS],
        RIGHT_TEXTS,
    ],
)
def test_a_list_of_choices_is_read_with_the_column_that_points_into_it(answers):
    table = datasets.Dataset.from_dict({"設問": QUESTIONS, "候補": LISTS, "鍵": answers})

    with pytest.warns(UserWarning, match="`choices_column`"):
        items = open_multiple_choice(table)

    assert items["label"][:] == POSITIONS
    assert items["prompt"][0] == QUESTIONS[0]


def test_objects_of_a_mark_and_a_text_are_choices_whatever_their_fields_are_called():
    objects = []
    for texts in LISTS:
        choices = [{"記号": mark, "文": text} for mark, text in zip("いろは", texts, strict=True)]
        objects.append(choices)
    marks = ["いろは"[position] for position in POSITIONS]
    table = datasets.Dataset.from_dict({"設問": QUESTIONS, "候補": objects, "鍵": marks})

    with pytest.warns(UserWarning, match="No heading"):
        items = open_multiple_choice(table)

    assert items["label"][:] == POSITIONS
    assert items["choices"][:] == LISTS


def test_an_explanation_that_singles_out_the_right_choice_is_no_part_of_the_question():
    explanations = [f"よく数えると {text} になるから。" for text in RIGHT_TEXTS]
    columns = {"問": QUESTIONS, "鍵": POSITIONS, "解説": explanations, "候補": LISTS}

    proposal = propose_choices(describe_contents(columns))

    assert proposal.prompt == ("問",)


def test_of_two_columns_that_point_into_the_choices_none_is_proposed():
    # Every fifth answer is the next choice.
    answers = [(position + (row % 5 == 0)) % 3 for row, position in enumerate(POSITIONS)]
    columns = {"問": QUESTIONS, "候補": LISTS, "a": POSITIONS, "b": answers}

    assert propose_choices(describe_contents(columns)) is None


def test_lists_of_votes_are_no_choices():
    columns = {
        "x": QUESTIONS,
        "v": [["pro", "con", "pro"], ["con", "con", "pro"]] * 12,
        "g": ["pro", "con"] * 12,
        "z": [True, False, True] * 8,
    }

    roles = find_roles(columns)

    assert roles.get_column("label") == "g"
    assert "most votes in 'v'" in roles.get("label").reason


# -------------------------------------------------------------------------- a column per choice


def test_columns_of_choices_are_found_among_questions_and_links():
    links = [f"https://example.org/{row}" for row in range(N_ROWS)]
    columns = {"u": links, "q": QUESTIONS}
    for k in range(3):
        columns[f"c{k}"] = [choices[k] for choices in LISTS]
    columns["y"] = POSITIONS
    table = datasets.Dataset.from_dict(columns)

    with pytest.warns(UserWarning, match="`prompt_column`"):
        task, splits = open_task_items(table, SourceOptions())

    assert task == "multiple_choice"
    assert splits["data"]["label"][:] == POSITIONS
    assert resolve(table).columns["choices"] == ("c0", "c1", "c2")


def test_two_texts_are_choices_only_if_each_is_as_often_the_longer_one():
    short = [f"Cup {row} spills." for row in range(N_ROWS)]
    long = [f"Cup {row} spills on the floor." for row in range(N_ROWS)]
    is_even = np.arange(N_ROWS) % 2 == 0
    labels = [int(row * row % 5 < 3) for row in range(N_ROWS)]
    items = {"q": QUESTIONS, "y": labels}
    mixed = {
        "a": np.where(is_even, short, long).tolist(),
        "b": np.where(is_even, long, short).tolist(),
    }
    sorted_by_length = {"a": short, "b": long}

    proposal = propose_choices(describe_contents({**items, **mixed}))

    assert proposal.choices == ("a", "b")
    assert propose_choices(describe_contents({**items, **sorted_by_length})) is None


def test_a_heading_of_texts_says_that_there_are_texts_to_classify():
    table = {"text": QUESTIONS, "候補": LISTS, "鍵": POSITIONS}

    assert resolve(table).kind == "classification"


# ------------------------------------------------------------------------------------- labels


def test_the_label_is_what_most_annotators_say():
    gold = ["bad", "good", "fair"] * 8
    # Each annotator errs in other rows, so that the majority never does.
    annotators = {}
    for k in range(4):
        votes = gold.copy()
        votes[k::4] = ["fair"] * 6
        annotators[f"a{k}"] = votes

    assert find_label({"source": ["web", "book"] * 12, **annotators, "gold": gold}) == "gold"
    # Of the annotators alone, no column is the majority of the others in every row.
    assert find_label(annotators) is None


def test_columns_that_name_the_same_classes_are_one():
    words = ["no", "yes", "yes"] * 8

    assert find_label({"n": [0, 1, 1] * 8, "w": words}) == "w"
    assert not are_renamed(["a", "b"], ["b", "a"])


def test_the_largest_of_the_counts_of_votes_decides_the_label():
    columns = {
        "n": [3] * N_ROWS,
        "a": [3, 0, 1, 2] * 6,
        "b": [0, 3, 2, 1] * 6,
        # 0 where "a" has more votes, 1 where "b" has.
        "y": [0, 1, 1, 0] * 6,
        "z": [0, 1, 0, 0] * 6,
    }

    assert find_label(columns) == "y"


def test_texts_that_begin_with_a_class_are_answers_and_not_what_a_model_reads():
    questions = [f"Is the number {row} even?" for row in range(N_ROWS)]
    answers = ["yes", "no"] * 12
    outputs = []
    for row, answer in enumerate(answers):
        explanation = f"Because of reason {row}, which takes many words to explain here."
        outputs.append(f"{answer.title()}. {explanation}")

    roles = find_roles({"x": questions, "o": outputs, "y": answers})

    assert roles.get_column("text") == "x"
    assert not begins_with_class(["1 apple", "2 pears"], ["1", "2"])


def test_a_column_of_arms_is_no_label():
    # Every item is there once in each arm.
    columns = {"x": QUESTIONS * 2, "arm": ["p"] * N_ROWS + ["q"] * N_ROWS}

    roles = find_roles(columns, require_labels=False)

    assert roles.get("label") is None


def test_a_label_by_its_heading_is_doubted_if_another_column_has_all_values_of_the_answers():
    gold = ["toxic", "clean", "mixed"] * 8
    table = {
        "text": QUESTIONS,
        "category": ["toxic", "neutral", "mixed"] * 8,
        "expected": gold,
        "system": ["clean", "clean", "toxic"] * 8,
    }

    assert "'expected', and not 'category'" in " ".join(resolve(table).doubts)
    assert resolve({**table, "category": gold}).doubts == ()


# -------------------------------------------------------------------------------- predictions


def test_scores_get_their_classes_from_the_column_that_they_decide():
    scores = [0.9, 0.2, 0.7, 0.35, 0.6, 0.1] * 4
    predicted = ["up" if score > 0.5 else "down" for score in scores]
    # Every fourth label is "down", whatever the score.
    gold = ["down" if row % 4 == 0 else label for row, label in enumerate(predicted)]
    table = {
        "r": ["east", "west", "south"] * 8,
        "a": scores,
        "b": [1 - score for score in scores],
        "g": gold,
        "p": predicted,
    }

    with pytest.warns(UserWarning, match="No heading"):
        parsed = read_predictions(table)

    assert parsed.taken["labels"] == ("g",)
    accuracy = (parsed.predictions.argmax(axis=1) == parsed.references).mean()
    assert accuracy == pytest.approx(np.mean(np.array(gold) == predicted))


def test_a_third_column_of_the_same_values_asks_which_two_are_meant():
    gold = ["p", "q", "r"] * 8
    columns = {
        "a": gold,
        # Rows 0, 14, and 21 differ from the labels.
        "b": ["q" if row % 7 == 0 else label for row, label in enumerate(gold)],
        "c": ["r", "p", "p"] * 8,
    }

    with pytest.raises((OptionError, ValueError)):
        read_predictions(columns, answers_alone=True)


def test_paragraphs_are_known_by_their_fields():
    question = {"id": "1", "question": "Who?", "answers": [{"text": "Ann", "answer_start": 0}]}
    paragraph = {"context": "Ann met Bob.", "qas": [question]}
    articles = {"題": ["A"], "本文": [[paragraph]]}

    resolution = resolve(datasets.Dataset.from_dict(articles))

    assert resolution.kind == "question_answering"
    assert resolution.items[0]["question"] == "Who?"


# ------------------------------------------------------- kinds that files nobody had seen showed


def test_the_right_choice_is_found_if_headings_say_the_choices_alone():
    lettered_choices = [dict(zip("ABC", choices, strict=True)) for choices in LISTS]
    letters = ["ABC"[position] for position in POSITIONS]
    tables = [
        {"question": QUESTIONS, "options": LISTS, "answerIndex": POSITIONS},
        {"question": QUESTIONS, "options": lettered_choices, "key": letters},
    ]

    for columns in tables:
        resolution = resolve(datasets.Dataset.from_dict(columns))

        assert "choice 1" in [row.label for row in resolution.mapping]
        assert "`label_column`" in resolution.doubts[0]


def test_choices_without_a_right_one_are_doubted():
    table = datasets.Dataset.from_dict({"question": QUESTIONS, "options": LISTS})

    assert resolve(table).doubts == (
        "No column is used for the correct choices. Name the column with `label_column`.",
    )


def test_texts_whose_heading_continues_that_of_the_texts_are_a_doubt():
    other_texts = [f"{question} 本当ですか。" for question in QUESTIONS]
    labels = ["p", "q", "q"] * 8
    pairs = {"text": QUESTIONS, "text_b": other_texts, "label": labels}

    assert "'text_b'" in resolve(pairs).doubts[0]
    assert resolve({**pairs, "text_b": labels}).doubts == ()


def test_of_three_texts_the_longest_is_not_taken():
    texts = {}
    for name, length in (("a", 1), ("b", 2), ("c", 90)):
        texts[name] = [f"{question} {name * length}" for question in QUESTIONS]

    with pytest.raises(OptionError) as error:
        find_roles(texts)
    assert error.value.option[0] == "text_column"


def test_a_first_row_whose_class_is_a_heading_proposes_nothing():
    columns = {"水は何杯ですか。": QUESTIONS, "p": ["p", "q", "q"] * 8}

    with pytest.raises(OptionError, match="column_names="):
        find_roles(columns)


def test_rows_of_empty_cells_above_the_headings_are_skipped(tmp_path):
    (tmp_path / "a.csv").write_text(",,\n,,\ntext,label,x\nFine.,up,1\nDull.,down,2\n")

    assert as_table(tmp_path / "a.csv").to_dict() == {
        "text": ["Fine.", "Dull."],
        "label": ["up", "down"],
        "x": ["1", "2"],
    }


def test_fractions_below_chance_are_no_confidence():
    gold = ["p", "q", "r"] * 8
    predicted = ["q" if row % 5 == 0 else label for row, label in enumerate(gold)]
    # At most 0.024; the most probable of three classes has at least 1/3.
    costs = [0.001 * (row + 1) for row in range(N_ROWS)]
    table = {"gold": gold, "prediction": predicted, "cost": costs}

    parsed = read_predictions(table, answers_alone=True)

    assert parsed.taken == {"right": ("prediction", "gold")}


def test_a_column_of_correctness_settles_which_of_two_answers_is_meant():
    table = {
        "question": QUESTIONS,
        "answer": POSITIONS,
        "predicted": [0] * N_ROWS,
        "correct": [position == 0 for position in POSITIONS],
    }

    parsed = read_predictions(table, answers_alone=True)

    assert parsed.taken["right"] == ("correct",)


def test_errors_in_words_are_no_sign_of_another_order():
    gold = ["up", "down", "down"] * 8
    # Every answer is wrong, as if the two classes were exchanged.
    answers = ["down" if label == "up" else "up" for label in gold]

    parsed = read_predictions({"gold": gold, "prediction": answers}, answers_alone=True)

    assert parsed.doubt == ""


def test_the_log_probability_of_an_answer_is_its_confidence():
    gold = ["up", "down", "down"] * 8
    answers = ["up" if row % 4 == 0 else label for row, label in enumerate(gold)]
    logprobs = [-0.05 * (row % 9) - 0.01 for row in range(N_ROWS)]
    table = {"label": gold, "answer": answers, "logprob": logprobs}

    with pytest.warns(UserWarning, match="e to its power"):
        parsed = read_predictions(table)

    assert parsed.kind == "confidence"
    # The log-probability of row 1 is -0.05 - 0.01.
    assert parsed.predictions[1] == pytest.approx(np.exp(-0.06))


def test_log_probabilities_of_all_classes_are_scores_whatever_they_are_called():
    # Class k has k² + 1 + row % 5 of 8 + 3 (row % 5) shares.
    shares = np.array(
        [[k * k + 1 + row % 5 for k in range(3)] for row in range(N_ROWS)], dtype=float
    )
    probabilities = shares / shares.sum(axis=1, keepdims=True)
    columns = np.log(probabilities).T.tolist()
    table = {"text": QUESTIONS, "gold": ["low", "mid", "high"] * 8}
    table |= dict(zip(("lp_low", "lp_mid", "lp_high"), columns, strict=True))

    with pytest.warns(UserWarning, match="e to their power"):
        parsed = read_predictions(table)

    assert parsed.label_names == ("low", "mid", "high")
    # Row 1 has shares of 2, 3 and 6 of 11.
    assert np.exp(parsed.predictions[1]) == pytest.approx([2 / 11, 3 / 11, 6 / 11])
    assert resolve(table).columns["scores"] == ("lp_low", "lp_mid", "lp_high")


def make_probabilities(answers, positive):
    """Return fractions above 0.5 in the rows of an answer, and below in others: 0.51, 0.52, … or 0.01, 0.02, …"""
    fractions = []
    for row, answer in enumerate(answers):
        start = 0.5 if answer == positive else 0.0
        fractions.append(start + (row + 1) / 100)
    return fractions


@pytest.mark.parametrize("order", [("gold", "predicted"), ("predicted", "gold")])
def test_fractions_that_decide_the_answers_are_the_probability_of_one(order):
    gold = ["oui", "non", "non", "oui"] * 12
    predicted = ["oui" if row % 8 == 1 else label for row, label in enumerate(gold)]
    columns = {"gold": gold, "predicted": predicted}
    table = {f"colonne {name[0]}": columns[name] for name in order}
    table["p"] = make_probabilities(predicted, positive="non")

    with pytest.warns(UserWarning, match="above 0.5"):
        parsed = read_predictions(table)

    # The positive class is the last one, whichever column of classes comes first.
    assert parsed.label_names == ("oui", "non")
    assert parsed.predictions.tolist() == table["p"]
    assert parsed.references.tolist() == [label == "non" for label in gold]


def test_fractions_above_a_half_in_rows_of_both_answers_are_a_confidence():
    gold = ["oui", "non", "non", "oui"] * 12
    predicted = ["oui" if row % 8 == 1 else label for row, label in enumerate(gold)]
    table = {"g": gold, "v": predicted, "p": [0.5 + (row + 1) / 100 for row in range(48)]}

    with pytest.warns(UserWarning, match="fractions from 0 to 1"):
        parsed = read_predictions(table)

    assert parsed.kind == "confidence"
    assert parsed.references.tolist() == [row % 8 != 1 for row in range(48)]


@pytest.mark.parametrize("system", [None, "You classify reviews of hotels."])
def test_the_turns_of_a_conversation_are_text_and_label(system):
    labels = ["up", "down", "down"] * 8
    rows = []
    for question, label in zip(QUESTIONS, labels, strict=True):
        turns = [{"from": "human", "values": question}, {"from": "gpt", "values": label}]
        if system is not None:
            turns.insert(0, {"from": "system", "values": system})
        rows.append({"turns": turns})
    position = 0 if system is None else 1

    resolution = resolve(datasets.Dataset.from_list(rows))

    assert resolution.columns["text"] == (f'{{{{ turns[{position}]["values"] }}}}',)
    assert resolution.columns["label"] == (f'{{{{ turns[{position + 1}]["values"] }}}}',)
    assert [item["text"] for item in resolution.items] == QUESTIONS[:3]
    # Classes are sorted by name: "up" is class 1.
    assert [item["label"] for item in resolution.items] == [1, 0, 0]


def test_turns_of_different_numbers_have_no_positions():
    rows = []
    for row, question in enumerate(QUESTIONS):
        turns = [{"content": question}, {"content": ["up", "down"][row % 2]}]
        rows.append({"messages": turns + turns[: row % 2]})

    assert not resolve(datasets.Dataset.from_list(rows)).readable


@pytest.mark.parametrize("values", [(False, True), (0, 1)])
def test_flags_next_to_a_confidence_are_the_correctness(values):
    flags = [values[row % 3 > 0] for row in range(N_ROWS)]
    table = {"q": QUESTIONS, "conf": [(row + 1) / 30 for row in range(N_ROWS)], "ok": flags}

    with pytest.warns(UserWarning, match="correctness"):
        parsed = read_predictions(table)

    assert parsed.kind == "confidence"
    assert parsed.references.tolist() == [row % 3 > 0 for row in range(N_ROWS)]
    # With a second such column, either may be the correctness.
    assert not resolve({**table, "seen": flags[::-1]}).readable


def test_sentences_of_ideographs_are_texts_and_names_are_not():
    sentences = [f"{chr(0x4E00 + row)}部电影非常好看" for row in range(N_ROWS)]
    names = [f"{chr(0x4E00 + row)}小明" for row in range(N_ROWS)]
    table = {"句子": sentences, "作者": names, "情感": ["好", "坏", "坏", "好"] * 6}

    resolution = resolve(table)

    # 8 ideographs are 16 columns wide, which is more than twice 7; 3 are 6 columns.
    assert resolution.columns["text"] == ("句子",)
    assert resolution.columns["label"] == ("情感",)


def test_an_empty_column_of_predictions_makes_no_predictions():
    rows = [{"data": {"text": text}, "predictions": []} for text in QUESTIONS]
    table = datasets.Dataset.from_list(rows)

    assert resolve(table).kind == "classification"


def test_one_item_has_no_arms():
    columns = {"text": ["Rate this."] * 12, "label": ["p", "q"] * 6, "hit": [*"abcdef"] * 2}

    resolution = resolve(datasets.Dataset.from_dict(columns))

    checks = [doubt.check for doubt in resolution.row_doubts]
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
