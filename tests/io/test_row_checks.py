"""The checks of the rows: each finds its kind in a generated table, and nothing in a clean one."""

from __future__ import annotations

import datasets
import numpy as np
import pandas as pd
import pytest

from rightreasons.core.errors import OptionError
from rightreasons.io.descriptions import add_settled_checks
from rightreasons.io.options import CHECK_NAMES, AuditOptions
from rightreasons.io.resolve import resolve
from rightreasons.io.row_checks import (
    CHECKS,
    Outcomes,
    RowDoubt,
    RowRoles,
    RowTable,
    check_rows,
    describe_unused_columns,
)
from rightreasons.io.row_codes import REPEATED_ID, find_repeats
from rightreasons.io.row_filters import filter_rows
from rightreasons.io.tables import open_dataset

WORDS = ("river", "stone", "lamp", "field", "paper", "glass", "wheel", "brick", "cloud", "chair")


def make_rows(n_rows=40, **columns):
    """Return a clean table: distinct texts of several words, two labels in irregular order, and ids."""
    rows = range(n_rows)
    table = {
        "id": [f"q{row}" for row in rows],
        "text": [f"a {WORDS[row % 10]} by the {WORDS[row * 3 // 7 % 10]} {row}" for row in rows],
        "label": ["pos" if row * row % 7 < 3 else "neg" for row in rows],
    }
    return datasets.Dataset.from_dict(table | columns)


def check(data, outcomes=None, train=None, roles=None, settled=()):
    """Return the findings by the names of their checks."""
    roles = roles or RowRoles(("text",), label="label", id="id")
    table = RowTable(data, roles, outcomes, train)
    return {doubt.check: doubt for doubt in check_rows(table, settled)}


def test_options_name_every_check():
    assert tuple(CHECKS) == CHECK_NAMES


def test_a_clean_table_has_no_findings():
    assert check(make_rows(), train=make_rows(n_rows=0)) == {}


def test_unused_columns_are_listed_with_the_counts_of_their_values():
    # 40 rows: every fourth is a draft, the others are final.
    data = make_rows(state=["draft" if row % 4 == 0 else "final" for row in range(40)])
    table = RowTable(data, RowRoles(("text",), label="label", id="id"))

    assert describe_unused_columns(table) == "Not used: state (final 30, draft 10)."


@pytest.mark.parametrize(
    ("column", "values", "n_rejected", "condition"),
    [
        ("answer", ["accept", "reject", "ignore", "accept"], 20, "answer == 'accept'"),
        ("status", ["Validated", "Submitted", "Discarded", "Validated"], 10, "!= 'Discarded'"),
        ("was_cancelled", [False, True, False, False], 10, "was_cancelled == False"),
    ],
)
def test_rows_that_their_annotators_rejected_are_found(column, values, n_rejected, condition):
    data = make_rows(**{column: values * 10})

    doubt = check(data)["rejected_rows"]

    assert doubt.is_open
    assert doubt.count == n_rejected
    assert condition in doubt.remedy


def test_a_condition_of_a_remedy_leaves_the_rejected_rows_out():
    data = make_rows(was_cancelled=[False, True, False, False] * 10)
    condition = check(data)["rejected_rows"].remedy.split('"')[1]

    # Every fourth of 40 rows was canceled.
    assert len(filter_rows(data, condition)) == 30


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("answer", ["reject", "reject"]),
        ("status", ["invalid", "valid"]),
        ("label_source", ["reject", "accept"]),
    ],
)
def test_only_the_statuses_of_annotation_tools_ask_about_their_rows(column, values):
    data = make_rows(**{column: values * 20})

    assert "rejected_rows" not in check(data)


def test_a_column_that_distinguishes_the_rows_of_an_item_asks_for_one_arm():
    data = make_rows()
    stacked = datasets.concatenate_datasets([data, data]).add_column("arm", ["x"] * 40 + ["y"] * 40)

    doubt = check(stacked)["long_format"]

    assert doubt.is_open
    assert "--where \"arm == 'x'\"" in doubt.remedy
    assert "--by arm" in doubt.remedy


def test_an_arm_is_found_although_items_repeat_in_each_arm():
    data = make_rows(8, text=["sun", "moon", "sun", "star", "moon", "rain", "wind", "snow"])
    stacked = datasets.concatenate_datasets([data, data]).remove_columns("id")
    stacked = stacked.add_column("arm", ["x"] * 8 + ["y"] * 8)

    doubt = check(stacked, roles=RowRoles(("text",), label="label"))["long_format"]

    assert "each with all 2 values of 'arm'" in doubt.sentence


@pytest.mark.parametrize("n_rows", [2, 3])
def test_copies_and_arms_of_a_few_rows_are_found(n_rows):
    data = make_rows(n_rows).remove_columns("id")
    copies = datasets.concatenate_datasets([data, data])
    arms = copies.add_column("arm", ["x"] * n_rows + ["y"] * n_rows)

    roles = RowRoles(("text",), label="label")
    assert check(copies, roles=roles).keys() == {"repeated_rows"}
    assert check(arms, roles=roles).keys() == {"long_format"}


def test_texts_that_come_twice_on_average_are_told():
    # 20 texts, twice each, in rows of ids of their own.
    data = make_rows(text=[f"What is the capital of country {row // 2}?" for row in range(40)])
    data = data.remove_columns("label").add_column("label", ["a", "a", "b", "b"] * 10)

    doubt = check(data)["repeated_texts"]

    assert (doubt.count, doubt.is_open) == (20, False)
    # Both rows of a text are one unit already, but not if a text has two units.
    units = data.add_column("source_id", [f"{row // 2}" for row in range(40)])
    assert "repeated_texts" not in check(units)
    units = data.add_column("source_id", [f"{row // 2 + row % 2}" for row in range(40)])
    assert "repeated_texts" in check(units)


def test_items_with_their_correct_choice_twice_are_found():
    # The correct choice, at position row % 3, has a copy in every tenth of 40 items: rows 0, 10, 20 and
    # 30. In rows 5 and 15, two incorrect choices are equal, which does no harm.
    choices = []
    for row in range(40):
        texts = [f"{WORDS[(row + k) % 10]} {row}" for k in range(3)]
        if row % 10 == 0:
            texts[(row + 1) % 3] = texts[row % 3]
        if row in (5, 15):
            texts[(row + 1) % 3] = texts[(row + 2) % 3]
        choices.append(texts)
    data = make_rows(choices=choices).rename_column("text", "prompt").remove_columns("label")
    data = data.add_column("label", [row % 3 for row in range(40)])
    roles = RowRoles(("prompt", "choices"), label="label", id="id", has_positions=True)

    doubt = check(data, roles=roles)["answer_copies"]

    assert (doubt.count, doubt.is_open) == (4, True)
    # An item without a label has no correct choice.
    unlabeled = data.remove_columns("label").add_column("label", [-1] * 40)
    assert "answer_copies" not in check(unlabeled, roles=roles)


def test_copies_without_texts_are_found_by_a_key_and_not_among_rounded_scores():
    # 20 scores of many digits, twice; 8 of 40 scores of two digits are equal by accident.
    exact = datasets.Dataset.from_dict(
        {"p": [row / 97 for row in range(20)] * 2, "y": ["a", "b"] * 20}
    )
    rounded = datasets.Dataset.from_dict(
        {"p": [(row * 7 % 32) / 32 for row in range(40)], "y": ["a", "b", "b"] * 13 + ["a"]}
    )
    roles = RowRoles(label="y")

    assert check(exact, roles=roles).keys() == {"repeated_rows"}
    assert check(rounded, roles=roles) == {}


def test_copies_that_an_audit_found_are_counted_next_to_its_unique_ids():
    # Row numbers are ids, so that only the column of the audit tells copies.
    data = make_rows(copied_row=[str(row // 2) for row in range(40)])
    found = RowRoles(label="label", copied_row="copied_row", has_known_copies=True)
    none_found = RowRoles(label="label", has_known_copies=True)

    assert check(data, roles=found)["repeated_rows"].count == 20
    assert check(data, roles=none_found) == {}


@pytest.mark.parametrize("write", [float, str])
def test_a_few_levels_of_confidence_are_no_copies(write):
    # The model is always correct, so that each of its four levels has one label: 0.5^36 by accident.
    levels = [write(level) for level in (0.0, 0.3, 0.7, 1.0)]
    data = datasets.Dataset.from_dict({"p": levels * 10, "y": ["no", "no", "yes", "yes"] * 10})

    assert check(data, roles=RowRoles(label="y")) == {}


def test_items_of_a_long_table_are_found_without_ids_and_texts():
    items = [*range(12), *range(12)]
    data = datasets.Dataset.from_dict({"thing": items, "arm": [1] * 12 + [2] * 12})

    assert check(data, roles=RowRoles()).keys() == {"long_format"}


def test_repeated_ids_are_told_and_are_no_open_doubt():
    data = make_rows(id=[f"q{row // 4}" for row in range(40)])

    doubt = check(data)["repeated_ids"]

    # 40 rows of 10 ids: 30 rows repeat an id.
    assert (doubt.count, doubt.is_open) == (30, False)


def test_copies_of_rows_are_counted():
    data = make_rows().remove_columns("id")
    copied = datasets.concatenate_datasets([data, data.select(range(10))])

    doubt = check(copied, roles=RowRoles(("text",), label="label"))["repeated_rows"]

    assert (doubt.count, doubt.is_open) == (10, False)


def test_copies_of_less_than_one_row_in_a_hundred_are_not_mentioned():
    data = make_rows(1000).remove_columns("id")
    # 9 of 1,009 rows are fewer than 1 in 100; 11 of 1,011 rows are more.
    few = datasets.concatenate_datasets([data, data.select(range(9))])
    many = datasets.concatenate_datasets([data, data.select(range(11))])
    roles = RowRoles(("text",), label="label")

    assert check(few, roles=roles) == {}
    assert check(many, roles=roles)["repeated_rows"].count == 11


def test_one_text_in_all_rows_is_doubted_and_its_labels_are_not():
    data = make_rows(text=["Rate the sentiment"] * 40)

    found = check(data)

    assert found["constant_text"].is_open
    assert "conflicting_labels" not in found


def test_texts_with_two_labels_are_an_open_doubt_if_they_are_many():
    data = make_rows()
    texts = data["text"][:]
    few = [texts[0], *texts[:3], *texts[4:]]
    many = texts[:20] * 2

    # Rows r and r + 20 have different labels for some r only, as r² mod 7 does not repeat after 20.
    labels = data["label"][:]
    n_torn = 2 * sum(labels[row] != labels[row + 20] for row in range(20))
    doubt = check(make_rows(text=many))["conflicting_labels"]
    assert (doubt.count, doubt.is_open) == (n_torn, True)
    assert "conflicting_labels" not in check(make_rows(text=few))


def test_test_texts_among_training_texts_are_counted_whatever_their_case():
    data = make_rows()
    train = data.select(range(5)).map(lambda row: {"text": row["text"].upper() + "!"})

    doubt = check(data, train=train)["train_leak"]

    assert (doubt.count, doubt.is_open) == (5, True)


def test_texts_that_differ_by_a_number_are_no_near_duplicates():
    data = make_rows(text=[f"Remark {row}" for row in range(40)])
    spelled = make_rows(text=[f"Remark {row // 2}{'.' * (row % 2)}" for row in range(40)])

    assert "near_duplicates" not in check(data)
    assert check(spelled)["near_duplicates"].count == 20


def test_several_labels_are_told_with_the_option_that_asks_about_each():
    data = make_rows(label=[{"joy": 1.0, "fear": float(row % 4 == 0)} for row in range(40)])

    doubt = check(data)["several_labels"]

    assert doubt.count == 10
    assert "--target" in doubt.remedy


@pytest.mark.parametrize(("correct", "found"), [(0, True), (20, True), (1, False), (19, False)])
def test_answers_that_are_all_correct_or_all_incorrect_are_a_selection(correct, found):
    is_correct = np.arange(20) < correct
    outcomes = Outcomes(is_correct, is_stored=True)

    assert ("selected_outcomes" in check(make_rows(20), outcomes)) is found


def test_a_model_may_answer_everything_correctly():
    assert check(make_rows(20), Outcomes(np.ones(20, dtype=bool))) == {}


def test_the_order_of_classes_is_doubted_unless_answers_in_words_are_all_incorrect():
    doubt = "In another order it would be 90 %."
    none_correct = np.zeros(40, dtype=bool)
    gold = np.arange(40) % 2

    assert check(make_rows(), Outcomes(np.arange(40) < 4, order_doubt=doubt)).keys() == {
        "class_order"
    }
    numbered = Outcomes(none_correct, gold=gold, n_classes=2, order_doubt=doubt)
    assert check(make_rows(), numbered).keys() == {"class_order"}
    assert check(make_rows(), Outcomes(none_correct, order_doubt=doubt)) == {}


def test_labels_of_one_class_are_doubted():
    gold = np.ones(40, dtype=np.int64)
    outcomes = Outcomes(np.arange(40) < 30, gold=gold, n_classes=2)

    assert check(make_rows(), outcomes).keys() == {"single_class"}


def test_a_settled_check_withholds_nothing():
    data = make_rows(text=["Rate the sentiment"] * 40)

    assert not check(data, settled=("constant_text",))["constant_text"].is_open
    with pytest.raises(OptionError) as error:
        AuditOptions(settled_checks=("constant",))
    assert error.value.option == ("settled_checks",)


def test_repeated_ids_become_clusters_of_the_common_schema():
    data = make_rows(id=[f"q{row // 4}" for row in range(40)])

    opened = open_dataset(data)

    assert opened[REPEATED_ID][:5] == ["q0", "q0", "q0", "q0", "q1"]
    assert len(set(opened["id"])) == 40


def test_one_id_in_all_rows_and_texts_without_copies_are_no_clusters():
    data = make_rows()

    assert find_repeats(make_rows(id=["file"] * 40), ["id"], ["text"]) == {}
    assert find_repeats(data.remove_columns("id"), ["id"], ["text"]) == {}


def test_look_shows_what_the_rows_leave_open():
    found = resolve(make_rows(answer=["accept", "reject"] * 20))

    assert [doubt.check for doubt in found.row_doubts] == ["rejected_rows"]
    assert found.unused == "Not used: answer (accept 20, reject 20)."
    assert isinstance(found.row_doubts[0], RowDoubt)


def test_a_condition_that_holds_for_no_row_is_refused():
    with pytest.raises(OptionError, match="none of") as error:
        filter_rows(make_rows(), "label == 'other'")
    assert error.value.option == ("where",)


# ------------------------------------------------------------------- groups whose labels do not fit


def make_graded(n_rows=120, n_rejected=40):
    """Return labels in words, answers of which one in ten errs, and a status in a language without a list."""
    names = ["良い", "悪い"]
    labels = [row * row % 7 < 3 for row in range(n_rows)]
    answers = [label != (row % 10 == 0) for row, label in enumerate(labels)]
    # The answers of the last rows alternate, whatever the labels.
    for row in range(n_rows - n_rejected, n_rows):
        answers[row] = row % 2 == 0
    is_rejected = [row >= n_rows - n_rejected for row in range(n_rows)]
    return {
        "prediction": [names[answer] for answer in answers],
        "label": [names[label] for label in labels],
        "審査": ["却下" if rejected else "承認" for rejected in is_rejected],
    }


def test_a_group_whose_labels_fit_by_chance_alone_is_asked_about():
    found = resolve(make_graded())

    assert [doubt.check for doubt in found.row_doubts] == ["failing_group"]
    assert found.row_doubts[0].is_open
    assert found.row_doubts[0].count == 40
    assert "\"審査 == '承認'\"" in found.row_doubts[0].remedy


def test_a_group_that_is_harder_but_better_than_chance_is_not_asked_about():
    table = make_graded()
    # Of the last 40 answers, 30 are correct, of the others 72 of 80: 0.75 is well above one half.
    table["prediction"][80:] = [
        label if row % 4 else {"良い": "悪い", "悪い": "良い"}[label]
        for row, label in enumerate(table["label"][80:])
    ]

    assert resolve(table).row_doubts == ()


def test_a_column_that_was_made_from_the_answers_is_not_asked_about():
    table = make_graded()
    correct = map(str.__eq__, table["prediction"], table["label"])
    table["審査"] = ["○" if is_correct else "×" for is_correct in correct]

    assert resolve(table).row_doubts == ()


def test_a_settled_check_is_not_open_again_for_a_data_yaml(tmp_path):
    pd.DataFrame(make_graded()).to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "data.yaml").write_text("data: rows.csv\nsettled_checks: [failing_group]\n")

    found = resolve(tmp_path / "data.yaml")

    assert found.kind == "predictions"
    assert [(doubt.check, doubt.is_open) for doubt in found.row_doubts] == [
        ("failing_group", False)
    ]
    settings = add_settled_checks(AuditOptions(), None, tmp_path / "data.yaml")
    assert settings.settled_checks == ("failing_group",)
    named = AuditOptions(settled_checks=("long_format",))
    assert add_settled_checks(named, tmp_path / "data.yaml") == named


def make_choice_rows(n_choices):
    """Return questions with a row per choice, of which a flag marks the correct one."""
    rng = np.random.default_rng(n_choices)
    n_items = 20
    marks = np.zeros((n_items, n_choices), dtype=int)
    marks[np.arange(n_items), rng.integers(0, n_choices, n_items)] = 1
    return {
        "問": np.repeat([f"Which of these is number {row}?" for row in range(n_items)], n_choices),
        "候補": [f"choice {row}" for row in range(n_items * n_choices)],
        "正": marks.ravel().tolist(),
    }


@pytest.mark.parametrize(("n_choices", "is_found"), [(4, True), (3, True), (2, False)])
def test_a_row_per_choice_is_an_open_doubt_if_a_flag_marks_one_of_several(n_choices, is_found):
    rows = datasets.Dataset.from_dict(make_choice_rows(n_choices))

    doubts = check_rows(RowTable(rows, RowRoles(("問",), label="正")))

    open_checks = [doubt.check for doubt in doubts if doubt.is_open]
    assert ("choice_rows" in open_checks) == is_found


def test_answers_of_several_systems_are_no_choices():
    columns = make_choice_rows(4)
    # One item has two correct answers.
    columns["正"][:4] = [1, 1, 0, 0]
    rows = datasets.Dataset.from_dict(columns)

    doubts = check_rows(RowTable(rows, RowRoles(("問",), further=("正",))))

    assert "choice_rows" not in [doubt.check for doubt in doubts]


def test_all_unused_columns_are_named_and_the_first_ones_with_their_counts():
    columns = {f"flag {number}": ["a", "b"] * 20 for number in range(8)}
    # One of the columns behind them may say which rows count.
    table = RowTable(
        make_rows(**columns, 審査=["採用", "却下"] * 20), RowRoles(("text",), label="label")
    )

    sentence = describe_unused_columns(table)

    assert sentence.startswith("Not used: flag 0 (a 20, b 20); flag 1 (")
    assert sentence.endswith("; and 1 more column: 審査.")
