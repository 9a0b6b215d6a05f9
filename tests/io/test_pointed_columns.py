"""Columns of choices that a column of labels names or repeats."""

import random

import pytest

from rightreasons.io.contents import describe_contents
from rightreasons.io.descriptions import make_description
from rightreasons.io.proposals.pointed_columns import propose_pointed_columns
from rightreasons.io.resolve import resolve

N_ROWS = 60
NAMES = ("réponse x", "réponse y", "réponse z")
WORDS = "river silent planet orange doctor window quickly heavy train under the a of small".split()


def make_texts(seed, n_words=6):
    generator = random.Random(seed)
    return [" ".join(generator.choices(WORDS, k=n_words)) for _ in range(N_ROWS)]


def make_rows(make_label):
    """Return a question, three choices, and a label that identifies the choice at position (7 x row) % 3."""
    rows = {"question": make_texts(0, n_words=9)}
    for seed, name in enumerate(NAMES):
        rows[name] = make_texts(seed + 1)
    rows["clé"] = [make_label(rows, row, NAMES[7 * row % 3]) for row in range(N_ROWS)]
    return rows


@pytest.mark.parametrize(
    "make_label",
    [lambda rows, row, name: name, lambda rows, row, name: rows[name][row]],
    ids=["names", "texts"],
)
def test_labels_that_point_to_columns_make_them_choices(make_label):
    # The heading "question" alone would make this a table of texts to classify.
    resolution = resolve(make_rows(make_label))

    assert resolution.kind == "multiple_choice"
    assert resolution.columns["prompt"] == ("question",)
    assert resolution.columns["choices"] == NAMES
    # The first rows have the positions 0, 7 % 3 = 1 and 14 % 3 = 2.
    assert [item["label"] for item in resolution.items] == [0, 1, 2]


def test_a_choice_that_is_never_correct_is_a_choice_between_two_that_are():
    rows = make_rows(lambda rows, row, name: "réponse x" if row % 2 else "réponse z")

    proposal = propose_pointed_columns(describe_contents(rows))

    assert proposal.choices == NAMES
    assert proposal.label == "{{ ['réponse x', 'réponse y', 'réponse z'].index(clé) }}"


def test_a_cleaned_copy_of_a_text_is_no_choice():
    original = make_texts(0)
    rows = {
        "body": original,
        "original": original,
        # Cleaning changes every third text.
        "cleaned": [text if row % 3 else text.upper() for row, text in enumerate(original)],
        "topic": ["river", "planet"] * (N_ROWS // 2),
    }

    assert propose_pointed_columns(describe_contents(rows)) is None


def test_two_columns_that_point_to_choices_are_labels_and_answers():
    rows = make_rows(lambda rows, row, name: name)
    rows["modèle"] = [NAMES[row % 3] for row in range(N_ROWS)]

    assert propose_pointed_columns(describe_contents(rows)) is None


@pytest.mark.parametrize("n_copies", [3, 4])
def test_choices_differ_in_95_percent_of_the_rows(n_copies):
    rows = make_rows(lambda rows, row, name: name)
    for row in range(n_copies):
        rows["réponse y"][row] = rows["réponse x"][row]

    proposal = propose_pointed_columns(describe_contents(rows))

    # 57 of 60 rows are 95 %, 56 of 60 are 93.3 %.
    assert (proposal is not None) == (n_copies == 3)


def test_numbers_next_to_as_many_texts_are_doubted_if_a_heading_names_texts():
    rows = make_rows(lambda rows, row, name: NAMES.index(name) + 1)
    arguments = {"prompt_column": "question", "choices_column": list(NAMES)}

    resolution = resolve(rows)
    remedied = resolve(make_description({"data": rows, "label_column": "clé", **arguments}))

    assert resolution.kind == "classification"
    (doubt,) = [doubt for doubt in resolution.doubts if "choices_column" in doubt]
    assert "'réponse x', 'réponse y', 'réponse z'" in doubt
    assert remedied.kind == "multiple_choice"
    assert [item["label"] for item in remedied.items] == [0, 1, 2]
    # A user who names the texts is not asked.
    named = resolve(
        make_description({"data": rows, "text_column": "question", "label_column": "clé"})
    )
    assert not any("choices_column" in doubt for doubt in named.doubts)


def test_a_correct_choice_next_to_distractors_is_read_as_advised():
    rows = make_rows(lambda rows, row, name: name)
    del rows["clé"]
    settings = {"prompt_column": "question", "label_column": "réponse x"}

    (advice,) = [doubt for doubt in resolve(rows).doubts if "choices_column" in doubt]
    # The advice has the expression in quotation marks.
    expression = advice[advice.index("'{{") + 1 : advice.index("}}'") + 2]
    advised = resolve(make_description({"data": rows, "choices_column": expression, **settings}))

    positions = []
    for row in range(3):
        choices = sorted(rows[name][row] for name in NAMES)
        positions.append(choices.index(rows["réponse x"][row]))
    assert [item["label"] for item in advised.items] == positions
    # Two texts may be a pair.
    pair = {name: rows[name] for name in ("question", "réponse x", "réponse y")}
    assert not any("choices_column" in doubt for doubt in resolve(pair).doubts)
