"""Options decide what columns mean, then headings that their cells do not contradict, and cells alone only propose."""

import warnings

import datasets
import pytest

from rightreasons.core.errors import OptionError
from rightreasons.io.contents import describe_content, describe_contents
from rightreasons.io.headings import is_first_row
from rightreasons.io.options import TextOptions
from rightreasons.io.predictions import read_predictions
from rightreasons.io.resolve import resolve
from rightreasons.io.roles import find_text_roles
from rightreasons.io.tables import open_dataset

N_ROWS = 20
TEXTS = [f"The plot of film {row} drags, and the cast looks bored." for row in range(N_ROWS)]
SHORT_TEXTS = [f"See film {row}" for row in range(N_ROWS)]
LABELS = ["bad", "bad", "good", "bad"] * 5
ANSWERS = ["bad", "good", "good", "bad"] * 5
SCORES = [0.9, 0.45, 0.2, 0.7, 0.6] * 4


def find_roles(columns, **options):
    table = datasets.Dataset.from_dict(columns)
    return find_text_roles({"": table}, TextOptions(**options), "the table")[""]


# ---------------------------------------------------------------------------------------- contents


@pytest.mark.parametrize(
    ("cells", "is_text", "is_class", "is_fraction"),
    [
        (TEXTS, True, False, False),
        (
            ["とても面白い映画でした、音楽も美しく心に残りました" + str(row) for row in range(12)],
            True,
            False,
            False,
        ),
        (LABELS, False, True, False),
        (["0", "1", "1", "2"] * 5, False, True, False),
        ([1, 2, 5, 9] * 5, False, False, False),
        ([f"ab-{row:04}" for row in range(N_ROWS)], False, False, False),
        ([f"https://example.org/{row}" for row in range(N_ROWS)], False, False, False),
        (SCORES, False, False, True),
        (["0,25", "0,5", "10 %", "0,75"] * 5, False, False, True),
        ([[0.5, 0.5]] * N_ROWS, False, False, False),
        (LABELS[:9], False, False, False),
        ([None] * N_ROWS, False, False, False),
    ],
)
def test_cells_are_texts_classes_or_fractions(cells, is_text, is_class, is_fraction):
    content = describe_content(cells)

    assert content.has_texts == is_text
    assert content.has_classes == is_class
    assert content.has_fractions == is_fraction


def test_a_long_table_is_described_by_the_same_sample_each_time():
    # Rows alternate, so that every second one would miss a class.
    table = {"x": ["a", "b"] * 5_000}

    contents = [describe_contents(table)["x"] for _ in range(2)]

    assert contents[0].n_rows == 2_000
    assert contents[0].n_values == 2
    assert contents[0].spaced == contents[1].spaced


def test_a_long_text_or_a_number_is_no_heading():
    assert is_first_row(["x" * 61, "label"])
    assert is_first_row(["id", "0.48"])
    assert not is_first_row(["1", "0", "label"])


# -------------------------------------------------------------------------------- texts to classify


def test_headings_that_cells_confirm_are_taken_without_a_word():
    roles = find_roles({"review": TEXTS, "label": LABELS, "source": ["x", "y"] * 10})

    assert [role.source for role in roles.roles] == ["heading", "heading"]
    assert roles.get_column("label") == "label"
    assert roles.get("label").runner_up == "source"
    assert roles.doubts == ()


def test_cells_propose_what_no_heading_says_in_one_line_each():
    roles = find_roles({"問": TEXTS, "極性": LABELS, "番号": list(range(N_ROWS))})

    assert roles.get_column("text") == "問"
    assert roles.get_column("label") == "極性"
    assert not roles.is_settled("text")
    assert len(roles.doubts) == 2
    assert "`text_column`" in roles.doubts[0]
    assert "`label_column`" in roles.doubts[1]


def test_an_option_settles_a_role_without_a_doubt():
    roles = find_roles({"a": TEXTS, "b": LABELS}, text_column="a", label_column="b")

    assert {role.source for role in roles.roles} == {"option"}
    assert roles.doubts == ()


def test_three_columns_of_texts_are_asked_about():
    with pytest.raises(OptionError, match="all hold texts") as error:
        find_roles({"a": TEXTS, "b": TEXTS[::-1], "c": TEXTS, "label": LABELS})
    assert "text_column" in error.value.option


def test_much_longer_texts_are_proposed_beside_short_ones():
    roles = find_roles({"a": SHORT_TEXTS, "b": TEXTS, "label": LABELS})

    assert roles.get_column("text") == "b"
    assert roles.get("text").runner_up == "a"


def test_two_columns_of_classes_are_asked_about_by_name():
    with pytest.raises(OptionError, match="'a', 'b'") as error:
        find_roles({"text": TEXTS, "a": LABELS, "b": ANSWERS})
    assert error.value.option == ("label_column",)


def test_the_last_word_of_a_heading_breaks_a_tie_between_classes():
    roles = find_roles({"text": TEXTS, "airline": ANSWERS, "airline_sentiment": LABELS})

    assert roles.get_column("label") == "airline_sentiment"
    assert roles.get("label").source == "content"


def test_a_constant_text_is_a_doubt_that_names_the_other_column():
    roles = find_roles({"title": ["Rate this"] * N_ROWS, "input": TEXTS, "label": LABELS})

    assert roles.get_column("text") == "title"
    assert "'input' holds 20 texts" in roles.doubts[0]
    assert "`text_column`" in roles.doubts[0]


def test_a_label_of_free_text_is_a_doubt_that_names_the_column_of_classes():
    roles = find_roles({"text": SHORT_TEXTS, "target": TEXTS, "polarity": LABELS})

    assert roles.get_column("label") == "target"
    assert "'polarity' may hold the labels" in roles.doubts[0]
    assert "`label_column`" in roles.doubts[0]


def test_the_first_row_of_a_table_without_a_heading_proposes_nothing():
    with pytest.raises(OptionError) as error:
        find_roles({TEXTS[0] + " It is long.": TEXTS[1:], "0.48": SCORES[1:]})
    assert set(error.value.option) == {"text_column", "label_column"}


def test_a_first_row_of_cells_names_no_column_by_its_last_word():
    # A file of tweets without headings: its first row ends in a word that also ends usual headings.
    columns = {"4": ["0", "4"] * 10, "1467810369": range(N_ROWS), "NO_QUERY": ["NO_QUERY"] * N_ROWS}

    with pytest.raises(OptionError, match="no headings") as error:
        find_roles({**columns, TEXTS[0]: TEXTS})

    assert "text_column" in error.value.option


@pytest.mark.parametrize("stars", [[1, 2, 4, 5], [0, 4, 4, 0], [-1, 0, 1, 1]])
def test_grades_may_be_the_labels_as_well_as_the_only_classes(stars):
    table = {"text": TEXTS, "verified": LABELS, "grade": stars * 5}

    resolution = resolve(table)

    assert "label" not in resolution.columns
    assert "Choose one of verified, grade" in " ".join(resolution.doubts)
    # Large numbers are counts, years or times.
    counts = {**table, "grade": [number + 2000 for number in table["grade"]]}
    assert resolve(counts).columns["label"] == ("verified",)


def test_labels_that_are_not_required_are_named_and_not_taken():
    table = datasets.Dataset.from_dict({"text": TEXTS, "x": LABELS})

    with pytest.warns(UserWarning, match="no labels are read"):
        items = open_dataset(table, require_labels=False)

    assert "label" not in items.column_names


def test_look_shows_a_proposal_and_its_reason_and_the_reader_warns_of_it():
    table = {"問": TEXTS, "極性": LABELS}

    resolution = resolve(table)

    assert resolution.columns == {"text": ("問",), "label": ("極性",)}
    assert [role.reason for role in resolution.roles] == [
        "the only column of texts",
        "the only column of classes, 2 of them",
    ]
    assert len(resolution.doubts) == 2
    with pytest.warns(UserWarning, match="`label_column`"):
        open_dataset(datasets.Dataset.from_dict(table))


# -------------------------------------------------------------------------------------- predictions


def test_columns_that_add_up_to_one_are_proposed_as_scores():
    table = {
        "本文": TEXTS,
        "良い": [1 - score for score in SCORES],
        "悪い": SCORES,
        "正解": ["悪い", "良い", "良い", "悪い", "悪い"] * 4,
    }

    resolution = resolve(table)

    assert resolution.kind == "predictions"
    assert resolution.columns == {"scores": ("良い", "悪い"), "labels": ("正解",)}
    assert {role.source for role in resolution.roles} == {"content"}
    with pytest.warns(UserWarning, match="add up to 1"):
        read = read_predictions(table)
    # Every label is the class of the larger score.
    assert (read.predictions.argmax(axis=1) == read.references).all()


def test_scores_of_unknown_classes_beside_words_are_asked_about():
    table = {"a": [1 - score for score in SCORES], "b": SCORES, "label": LABELS}
    with (
        pytest.warns(UserWarning, match="add up to 1"),
        pytest.raises(OptionError, match="`label_names`"),
    ):
        read_predictions(table)


def test_a_single_fraction_beside_answers_and_labels_is_proposed_as_confidence():
    table = {"text": TEXTS, "pred": ANSWERS, "score": SCORES, "gold": LABELS}

    resolution = resolve(table)

    assert resolution.columns == {"confidence": ("score",), "right": ("pred", "gold")}
    assert "`confidence_column`" in resolution.doubts[0]


def test_a_usual_heading_of_confidence_needs_no_proposal():
    table = {"pred": ANSWERS, "confidence": SCORES, "gold": LABELS, "latency": SCORES[::-1]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read = read_predictions(table)
    # One answer in four is wrong.
    assert read.references.mean() == pytest.approx(0.75)


def test_answers_with_the_values_of_the_labels_are_proposed_beside_a_confidence():
    table = {"x": ANSWERS, "confidence": SCORES, "gold": LABELS, "arm": ["p", "q"] * 10}

    with pytest.warns(UserWarning, match="values of 'gold'"):
        read = read_predictions(table)

    assert read.references.mean() == pytest.approx(0.75)


# ----------------------------------------------------------------------------- pairs, choices, flags


def test_two_texts_of_similar_length_are_proposed_as_a_pair_in_their_order():
    longer = [f"{text} Indeed." for text in TEXTS]

    roles = find_roles({"a": TEXTS, "b": longer, "label": LABELS})

    assert roles.get_column("text") == "a"
    assert roles.get_column("text pair") == "b"
    assert "`text_pair_column`" in roles.doubts[0]


@pytest.mark.parametrize(
    "choices",
    [
        {"options": [["wet", "dry"]] * N_ROWS, "right": [0, 1] * 10},
        {
            **{name: [f"{name} {row}" for row in range(N_ROWS)] for name in ("p", "q", "r")},
            "right": ["A", "B", "C", "A"] * 5,
        },
    ],
)
def test_items_that_may_have_choices_are_asked_about(choices):
    with pytest.raises(OptionError, match="may hold choices") as error:
        find_roles({"x": TEXTS, **choices})
    assert "choices_column" in error.value.option


def test_flags_are_classes():
    roles = find_roles({"x": TEXTS, "y": [True, False] * 10})

    assert roles.get_column("label") == "y"


# ----------------------------------------------------------------- labels and answers, scores, fields

CLASSES = ["良い", "悪い", "普通"]
GOLD = [CLASSES[row % 3] for row in range(30)]
# Every fifth answer is the next class: 24 of 30 are correct.
PREDICTED = [CLASSES[(row + (row % 5 == 0)) % 3] for row in range(30)]
FRACTIONS = [0.5 + row / 100 for row in range(30)]


def read_with_doubts(table):
    """Read predictions, and return the lines about proposals as well."""
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        read = read_predictions(table, answers_alone=True)
    return read, [str(record.message) for record in records]


def test_two_columns_of_one_set_of_classes_that_agree_are_labels_and_answers():
    read, doubts = read_with_doubts({"番号": list(range(30)), "正解": GOLD, "予測": PREDICTED})

    assert read.taken == {"right": ("予測", "正解")}
    assert read.references.mean() == pytest.approx(24 / 30)
    assert len(doubts) == 1
    assert "agree in 80% of the rows" in doubts[0]
    assert "`label_column`" in doubts[0]


@pytest.mark.parametrize(
    "others",
    [
        # Agreement by chance: every third class is shifted by one, two or none.
        [CLASSES[(row + row // 3) % 3] for row in range(30)],
        # A copy of the labels answers nothing.
        GOLD,
        # Words of another set.
        [{"良い": "a", "悪い": "b", "普通": "c"}[label] for label in PREDICTED],
    ],
)
def test_columns_that_do_not_agree_or_always_do_are_no_labels_and_answers(others):
    resolution = resolve({"本文": TEXTS + TEXTS[:10], "x": GOLD, "y": others})

    assert resolution.kind == "classification"


def test_two_flags_are_no_labels_and_answers():
    flags = [int(label == "良い") for label in GOLD]
    near = [*flags[:-3], *(1 - flag for flag in flags[-3:])]

    assert resolve({"本文": TEXTS + TEXTS[:10], "x": flags, "y": near}).kind == "classification"


def test_a_fraction_beside_proposed_answers_is_their_confidence():
    resolution = resolve({"正解": GOLD, "予測": PREDICTED, "確信度": FRACTIONS})

    assert resolution.columns == {"confidence": ("確信度",), "right": ("予測", "正解")}
    assert resolution.comparison == "{{ 予測 == 正解 }}"


def make_shares(row):
    """Return scores of which that of the predicted class is the largest."""
    return {
        name: 0.5 + row / 100 if name == PREDICTED[row] else 0.25 - row / 200 for name in CLASSES
    }


@pytest.mark.parametrize(
    "scores",
    [
        {"得点": [make_shares(row) for row in range(30)]},
        {f"{name}の確率": [make_shares(row)[name] for row in range(30)] for name in CLASSES},
    ],
)
def test_scores_of_all_classes_are_proposed_from_objects_and_from_columns(scores):
    # The answers are no labels, since the largest score decides them.
    read, _ = read_with_doubts({"正解": GOLD, "予測": PREDICTED, **scores})

    assert read.taken["labels"] == ("正解",)
    assert set(read.label_names) == set(CLASSES)
    assert (read.predictions.argmax(axis=1) == read.references).mean() == pytest.approx(24 / 30)


def test_lists_of_scores_are_proposed():
    read, _ = read_with_doubts(
        {
            "正解": [row % 3 for row in range(30)],
            "得点": [[*make_shares(r).values()] for r in range(30)],
        }
    )

    assert read.taken == {"scores": ("得点",), "labels": ("正解",)}


def test_objects_of_marks_are_labels():
    marks = [{name: float(name == label) for name in CLASSES} for label in GOLD]

    resolution = resolve({"本文": TEXTS + TEXTS[:10], "分類": marks})

    assert resolution.columns == {"text": ("本文",), "label": ("分類",)}
    assert {row.value: row.count for row in resolution.mapping} == dict.fromkeys(CLASSES, 10)


def test_fields_of_objects_are_proposed_by_their_paths():
    rows = [
        {"番号": row, "入力": {"本文": TEXTS[row]}, "注釈": [{"選択": [LABELS[row]]}]}
        for row in range(N_ROWS)
    ]

    resolution = resolve(rows)
    with pytest.warns(UserWarning, match="No heading"):
        items = open_dataset(rows)

    assert resolution.columns == {"text": ("入力.本文",), "label": ("注釈.選択",)}
    assert items["text"][:] == TEXTS
    assert [items.features["label"].names[label] for label in items["label"]] == LABELS


def test_a_usual_heading_above_objects_is_that_of_their_fields():
    rows = [
        {
            "review": {"body": TEXTS[row], "lang": "en"},
            "annotation": {"mood": LABELS[row], "by": "Ada"},
        }
        for row in range(N_ROWS)
    ]

    resolution = resolve(rows)

    assert resolution.columns == {"text": ("review.body",), "label": ("annotation.mood",)}
