"""Choices in every form in which a column holds them, in tables drawn with headings that nobody knows."""

import datasets
import numpy as np
import pytest

from command_line import run
from rightreasons.io.reading import as_table
from rightreasons.io.resolve import resolve
from rightreasons.io.tables import open_multiple_choice

N_ROWS = 40
LETTERS = {
    "Latin": "abcdefghiklmnoprstu",
    "Japanese": "あいうえおかきくけこさしすせそ",
    "Devanagari": "कखगघचछजझटठडढणतथदधन",
}
VOWELS = "ािीुूेो"
"""Signs of Devanagari, which are neither letters nor punctuation."""


def draw_word(rng, script):
    letters = rng.choice(list(LETTERS[script]), 5)
    if script == "Devanagari":
        letters = [letter + rng.choice(list(VOWELS)) for letter in letters]
    return "".join(letters)


def draw_items(rng, script, n_choices):
    """Return questions, lists of choices, and the position of the right one."""
    questions = []
    choices = []
    for _ in range(N_ROWS):
        words = [draw_word(rng, script) for _ in range(8)]
        questions.append(" ".join(words) + "?")
        names = {draw_word(rng, script) for _ in range(3 * n_choices)}
        choices.append(sorted(names)[:n_choices])
    # Every position is right somewhere.
    positions = rng.permutation(np.arange(N_ROWS) % n_choices).tolist()
    return questions, choices, positions


def point_by_text(choices, positions):
    return [row[position] for row, position in zip(choices, positions, strict=True)]


def point_by_letter(choices, positions):
    return ["ABCDEFG"[position] for position in positions]


def point_by_number(choices, positions):
    return [position + 1 for position in positions]


def open_proposed(columns):
    """Return the choices and the labels of a table whose headings say nothing."""
    table = as_table(columns)
    with pytest.warns(UserWarning, match="No heading"):
        items = open_multiple_choice(table)
    assert resolve(table).kind == "multiple_choice"
    return items["choices"][:], items["label"][:]


@pytest.mark.parametrize(
    ("script", "separator", "point"),
    [
        ("Latin", " / ", point_by_text),
        ("Latin", "|", point_by_letter),
        ("Latin", ", ", point_by_number),
        ("Japanese", "・", point_by_letter),
        ("Japanese", "、", point_by_text),
        ("Devanagari", "; ", point_by_number),
        ("Devanagari", "/", point_by_text),
    ],
)
def test_a_text_is_split_at_its_separator_into_choices(script, separator, point):
    rng = np.random.default_rng(len(separator) + len(script))
    questions, choices, positions = draw_items(rng, script, n_choices=4)
    texts = [separator.join(row) for row in choices]
    answers = point(choices, positions)

    proposed = open_proposed({"x1": questions, "x2": texts, "x3": answers})

    assert proposed == (choices, positions)


def test_an_explanation_that_begins_with_its_class_has_no_choices():
    rng = np.random.default_rng(10)
    questions, phrases, positions = draw_items(rng, "Latin", n_choices=3)
    classes = [("yes", "no", "unclear")[position] for position in positions]
    explanations = []
    for name, row in zip(classes, phrases, strict=True):
        explanations.append(f"{name}: {row[0]}")

    resolution = resolve({"x1": questions, "x2": explanations, "x3": classes})

    assert resolution.kind == "classification"


def test_links_are_not_split_into_choices():
    questions, _, positions = draw_items(np.random.default_rng(9), "Latin", n_choices=3)
    links = [f"example.org/{row}/{row * row}" for row in range(N_ROWS)]

    resolution = resolve({"x1": questions, "x2": links, "x3": positions})

    assert resolution.kind == "classification"


def test_choices_with_letters_before_them_are_split_in_one_line_and_in_several():
    questions, choices, positions = draw_items(np.random.default_rng(1), "Latin", n_choices=4)
    letters = point_by_letter(choices, positions)
    for template, separator in (("{}. {}", "\n"), ("({}) {}", " ")):
        texts = []
        for row in choices:
            texts.append(separator.join(map(template.format, "ABCD", row)))

        proposed = open_proposed({"x1": questions, "x2": texts, "x3": letters})

        assert proposed == (choices, positions)


def test_a_known_heading_of_choices_is_read_if_its_cells_are_texts():
    questions, choices, positions = draw_items(np.random.default_rng(2), "Latin", n_choices=3)
    texts = [" / ".join(row) for row in choices]
    answers = point_by_text(choices, positions)
    # A prediction points into the choices as well, but the heading says which column is the label.
    columns = {
        "question": questions,
        "options": texts,
        "answer": answers,
        "guess": point_by_text(choices, [0] * N_ROWS),
    }

    with pytest.warns(UserWarning, match="`choices_column`"):
        items = open_multiple_choice(as_table(columns))

    assert (items["choices"][:], items["label"][:]) == (choices, positions)


def test_sentences_with_commas_next_to_numbers_are_no_choices():
    rng = np.random.default_rng(3)
    sentences, phrases, _ = draw_items(rng, "Latin", n_choices=3)
    # Three phrases a row, and a class of two values: the third phrase is never right.
    texts = [", ".join(row) for row in phrases]
    classes = rng.permutation(np.arange(N_ROWS) % 2).tolist()

    resolution = resolve({"x1": sentences, "x2": texts, "x3": classes})

    assert resolution.kind == "classification"


def test_flags_in_the_objects_of_choices_say_which_is_right():
    questions, choices, positions = draw_items(np.random.default_rng(4), "Japanese", n_choices=4)
    objects = []
    for row, position in zip(choices, positions, strict=True):
        objects.append([{"番": k, "文": text, "正": k == position} for k, text in enumerate(row)])

    proposed = open_proposed({"x1": questions, "x2": objects})

    assert proposed == (choices, positions)


def test_two_flags_in_the_objects_of_choices_are_a_doubt():
    questions, choices, positions = draw_items(np.random.default_rng(5), "Latin", n_choices=4)
    objects = []
    for row, position in zip(choices, positions, strict=True):
        objects.append([{"t": text, "a": k == position, "b": k == 0} for k, text in enumerate(row)])

    resolution = resolve({"x1": questions, "x2": objects})

    assert resolution.kind != "multiple_choice"
    assert any("label_column" in doubt for doubt in resolution.doubts)


def test_lists_of_one_text_each_are_choices():
    questions, choices, positions = draw_items(np.random.default_rng(6), "Latin", n_choices=3)
    lists = [[[text] for text in row] for row in choices]

    proposed = open_proposed({"x1": questions, "x2": lists, "x3": positions})

    assert proposed == (choices, positions)


@pytest.mark.parametrize("names", [("1", "2", "3"), ("option a", "option b", "option c")])
def test_an_object_with_a_text_per_name_is_read_by_the_column_that_names_one(names):
    questions, choices, positions = draw_items(np.random.default_rng(7), "Latin", n_choices=3)
    objects = [dict(zip(names, row, strict=True)) for row in choices]
    answers = [names[position] for position in positions]
    # A csv file or a JSON file may have these names as numbers.
    if names[0].isdecimal():
        answers = list(map(int, answers))

    proposed = open_proposed({"x1": questions, "x2": objects, "x3": answers})

    assert proposed == (choices, positions)


def test_a_record_next_to_a_class_has_fields_and_no_choices():
    questions, choices, positions = draw_items(np.random.default_rng(8), "Latin", n_choices=3)
    fields = ("author", "place", "title")
    records = [dict(zip(fields, row, strict=True)) for row in choices]
    table = datasets.Dataset.from_dict({"x1": questions, "x2": records, "x3": positions})

    assert resolve(table).kind == "classification"


def test_a_data_yaml_keeps_what_was_proposed(tmp_path, monkeypatch, capsys):
    questions, choices, positions = draw_items(np.random.default_rng(11), "Latin", n_choices=3)
    columns = {
        "x1": questions,
        "x2": [" / ".join(row) for row in choices],
        "x3": point_by_letter(choices, positions),
    }
    monkeypatch.chdir(tmp_path)
    datasets.Dataset.from_dict(columns).to_csv("items.csv")

    proposed = run(capsys, "look", "items.csv")
    confirmed = run(capsys, "look", "data.yaml")

    assert "Look at: No heading" in proposed.out
    assert "multiple choice" in confirmed.out
    assert "Look at:" not in confirmed.out
