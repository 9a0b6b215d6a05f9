"""Labels go by name: two lists of names, and columns of labels of every kind."""

import time

import numpy as np
import pytest

from rightreasons.core.labels.ids import resolve_label_columns, resolve_labels
from rightreasons.core.labels.matching import MatchTerms, match_labels
from rightreasons.core.labels.names import BY_FOLDED_NAME, BY_NAME, BY_NUMBER, check_label_names
from rightreasons.core.labels.new_classes import MAX_CLASSES


@pytest.mark.parametrize(
    ("names", "classes", "options", "class_of", "how"),
    [
        (["bad", "good"], ["good", "bad", "none"], {}, [1, 0], BY_NAME),
        # An exact name goes before a folded one, even where folding would make two classes one.
        (["Yes", "yes"], ["yes", "no", "Yes"], {}, [2, 0], BY_NAME),
        (["Non-Hateful", "HATEFUL"], ["hateful", "non_hateful"], {}, [1, 0], BY_FOLDED_NAME),
        (["\u00e9", "bar"], ["bar", "e\u0301"], {}, [1, 0], BY_FOLDED_NAME),
        # "1" and "2" are names here, not positions.
        (["2", "1"], ["1", "2"], {}, [1, 0], BY_NAME),
        (["0", "1"], ["bad", "good"], {}, [0, 1], BY_NUMBER),
        (["1", "2", "3"], ["a", "b", "c"], {}, [0, 1, 2], BY_NUMBER),
        (["0", "1", "2", "3"], ["a", "b", "c"], {"used": [1, 2, 3]}, [-1, 0, 1, 2], BY_NUMBER),
        (
            ["0", "1", "2", "3"],
            ["a", "b", "c"],
            {"used": [2], "used_anywhere": [1, 2, 3]},
            [-1, 0, 1, 2],
            BY_NUMBER,
        ),
        (
            ["0", "1", "2", "3"],
            ["a", "b", "c"],
            {"used": [2], "used_anywhere": [0, 2, 3]},
            [0, -1, 2, -1],
            BY_NUMBER,
        ),
        (["1", "2"], ["a", "b", "c"], {"first": 1}, [0, 1], BY_NUMBER),
        (["1", "2"], ["a", "b", "c"], {"first": 0}, [1, 2], BY_NUMBER),
        (["0", "1", "2"], ["LABEL_0", "LABEL_1"], {"used": [1, 0]}, [0, 1, -1], BY_NUMBER),
        (["1", "2"], ["LABEL_0", "LABEL_1"], {}, [0, 1], BY_NUMBER),
        (["0", "1"], ["1", "2"], {}, [0, 1], BY_NUMBER),
        (["joy", "anger"], ["LABEL_0", "LABEL_1"], {}, [0, 1], BY_NUMBER),
        (["LABEL_0", "LABEL_1"], ["bad", "good"], {}, [0, 1], BY_NUMBER),
        # A name that does not occur need not be a class.
        (["bad", "mixed", "good"], ["good", "bad"], {"used": [0, 2]}, [1, -1, 0], BY_NAME),
    ],
)
def test_lists_of_names(names, classes, options, class_of, how):
    match = match_labels(names, classes, **options)
    assert (match.class_of.tolist(), match.how) == (class_of, how)


@pytest.mark.parametrize(
    ("names", "classes", "options"),
    [
        (["joy", "anger"], ["bad", "good"], {}),
        (["Yes", "yes"], ["YES", "no"], {}),  # two names would become one class
        (["YES", "no"], ["Yes", "yes", "no"], {}),  # one name could be two classes
        (["0", "1", "n/a"], ["LABEL_0", "LABEL_1", "LABEL_2"], {}),
        (
            ["1", "2"],
            ["LABEL_0", "LABEL_1", "LABEL_2"],
            {},
        ),  # 3 of three from 1, or 0 of three from 0, is missing
        (["1"], ["bad", "good"], {}),
        (["0", "1", "2"], ["bad", "good"], {}),
        (["joy", "anger"], ["LABEL_0", "LABEL_1", "LABEL_2"], {}),
        (["1", "2"], ["bad", "good"], {"first": 0}),
        (["bad", "mixed", "good"], ["good", "bad"], {}),
    ],
)
def test_names_in_doubt_are_refused_with_both_lists(names, classes, options):
    with pytest.raises(ValueError, match="Expected the labels of x ") as caught:
        match_labels(names, classes, terms=MatchTerms("x", "m"), **options)
    assert all(name in str(caught.value) for name in (*names, *classes))
    assert "\n" not in str(caught.value)


def test_a_match_in_words():
    assert match_labels(["a", "b"], ["a", "b"]).in_words == "by name: a, b"
    assert (
        match_labels(["A", "b"], ["b", "a"]).in_words
        == "by name, letter case aside: A is a, b is b"
    )
    many = [f"c{k}" for k in range(12)]
    numbered = match_labels(many, [f"LABEL_{k}" for k in range(12)])
    assert numbered.in_words.startswith(
        "by number, as the model only numbers its classes (labels in the order of the data): c0"
    )
    assert numbered.in_words.endswith("c9 is LABEL_9 and 2 more")
    assert numbered.to_dict()["pairs"][11] == ["c11", "LABEL_11"]


@pytest.mark.parametrize(
    ("values", "names", "ids", "classes"),
    [
        ([0, 2, 1], None, [0, 2, 1], ("0", "1", "2")),
        (["0", "2", "1"], None, [0, 2, 1], ("0", "1", "2")),
        ([1.0, None, 0.0], None, [1, -1, 0], ("0", "1")),
        ([1.0, float("nan"), 0.0], None, [1, -1, 0], ("0", "1")),
        (["1.0", "", "0.0"], None, [1, -1, 0], ("0", "1")),
        (np.array([1.0, np.nan, 0.0]), None, [1, -1, 0], ("0", "1")),
        (np.array([2, 0], dtype=np.uint8), None, [2, 0], ("0", "1", "2")),
        ([np.int64(1), np.str_("0")], None, [1, 0], ("0", "1")),
        ([" 1", "1", "0 "], None, [1, 1, 0], ("0", "1")),
        (["01", "02"], None, [0, 1], ("01", "02")),
        ([True, False], None, [1, 0], ("false", "true")),
        ([True, float("nan"), False], None, [1, -1, 0], ("false", "true")),
        (["True", "FALSE", "true"], None, [1, 0, 1], ("false", "true")),
        (["b", None, "a", " b"], None, [1, -1, 0, 1], ("a", "b")),
        (["None", "Pro", "None"], None, [0, 1, 0], ("None", "Pro")),
        ([0, 1, -1, "-1", -1.0], None, [0, 1, -1, -1, -1], ("0", "1")),
        (["no", "-", "yes"], None, [0, -1, 1], ("no", "yes")),
        (["+", "-"], None, [0, 1], ("+", "-")),
        (["+1", "-1"], None, [0, 1], ("+1", "-1")),
        # Known names come first.
        ([1, 3, 2], ["1", "2", "3"], [0, 2, 1], None),
        (["3", 1.0], ["3", "2", "1"], [0, 2], None),
        (["1.0", "2.0"], ["2.0", "1.0"], [1, 0], None),
        (["-1", "1", "0"], ["-1", "0", "1"], [0, 2, 1], None),
        ([0.5, "1.5"], ["1.5", "0.5"], [1, 0], None),
        (["-", "a"], ["a", "-"], [1, 0], None),
        (["-", "a"], ["a", "b"], [-1, 0], None),
        (["0", "n/a"], ["n/a", "0"], [1, 0], None),
        (["Good", "BAD"], ["bad", "good"], [1, 0], None),
        ([0, 1], ["bad", "good"], [0, 1], None),
        (["2", "1"], ["bad", "good"], [1, 0], None),
        ([None, ""], None, [-1, -1], ()),
    ],
)
def test_columns_of_every_kind(values, names, ids, classes):
    column = resolve_labels(values, names)
    assert column.ids.dtype == np.int64
    assert column.ids.tolist() == ids
    assert column.names == (tuple(names) if classes is None else classes)


@pytest.mark.parametrize(
    ("values", "names", "error", "message"),
    [
        (
            ["0", "1", "n/a"],
            None,
            ValueError,
            "either numbers",
        ),
        (["+", "0", "-"], None, ValueError, "holds both: 0 and '[+]', '-'"),
        ([1, "a"], None, ValueError, "holds both: 1 and 'a'"),
        (["1", "nan"], None, ValueError, "holds both: 1 and 'nan'"),
        (["01", "1"], None, ValueError, "holds both: 1 and '01'"),
        (
            ["Good", "good"],
            None,
            ValueError,
            "than letter case",
        ),
        (["non-toxic", "non toxic"], None, ValueError, "got 'non-toxic' and 'non toxic'"),
        (["Good", "good"], ["good", "bad"], ValueError, "two of these differ by letter case"),
        ([0, True], None, TypeError, "True among numbers"),
        ([0, [1]], None, TypeError, "row 1 holds a list"),
        ([0, b"1"], None, TypeError, "row 1 holds a bytes"),
        ([0, 0.5], None, ValueError, "whole numbers from 0, .* row 1 holds 0.5"),
        ([0, float("inf")], None, ValueError, "row 1 holds inf"),
        (["1", "0.5"], None, ValueError, "whole numbers from 0, .* row 1 holds 0.5"),
        (["a", "-100"], None, ValueError, "row 1 holds -100"),
        (["1" * 19, "2"], None, ValueError, "row 0 holds 1111111111111111111"),
        ([0, -100], None, ValueError, "row 1 holds -100"),
        ([0, 10**400], None, ValueError, "row 1 holds a number of 1,329 bits"),
        ([0, 2**62], None, ValueError, "row 1 holds 4611686018427387904"),
        (
            np.array([0, 2**63], dtype=np.uint64),
            None,
            ValueError,
            "row 1 holds 9223372036854775808",
        ),
        ([0, MAX_CLASSES], None, ValueError, "from 0 to 9,999 in x, but row 1 holds 10000"),
        (
            [f"w{k}" for k in range(MAX_CLASSES + 1)],
            None,
            ValueError,
            "at most 10,000 classes in x.* holds 10,001",
        ),
        (
            [1, -1],
            None,
            ValueError,
            "only values are '1' and -1",
        ),
        (["a", "-"], None, ValueError, "only values are 'a' and -"),
        (
            ["pos"],
            ["neg", "poss"],
            ValueError,
            "'pos'.*mean 'poss'",
        ),
        (
            ["neg", "1"],
            ["neg", "pos"],
            ValueError,
            "labels neg, pos",
        ),
        ([0, 2], ["neg", "pos"], ValueError, r"\(neg, pos\)"),
        (
            [1, 2],
            ["a", "b", "c"],
            ValueError,
            "0 or from 1, as there",
        ),
        (
            [3, 2],
            ["a", "b", "c"],
            ValueError,
            "3, which may count",
        ),
        ([5, 2], ["a", "b", "c"], ValueError, r"2 \(a, b, c\)"),
        ([True], ["neg", "pos"], ValueError, "row 0 holds 'true'"),
    ],
)
def test_columns_in_doubt_are_one_sentence(values, names, error, message):
    with pytest.raises(error, match=message) as caught:
        resolve_labels(values, names, source="x")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_the_first_number_can_be_told():
    assert resolve_labels([1, 2], ["a", "b", "c"], first=1).ids.tolist() == [0, 1]
    assert resolve_labels([1, 2], ["a", "b", "c"], first=0).ids.tolist() == [1, 2]
    column = resolve_labels([1, 3], first=1)
    assert (column.ids.tolist(), column.names) == ([0, 2], ("1", "2", "3"))
    with pytest.raises(ValueError, match="9,999 in the labels"):
        resolve_labels([1, 0], first=1)
    with pytest.raises(ValueError, match="0 or 1, but got 2"):
        resolve_labels([1, 0], first=2)
    with pytest.raises(ValueError, match="holds both: 1 and 'a'. Name the classes."):
        resolve_labels([1, "a"], remedy="Name the classes")


def test_splits_share_their_classes():
    splits = resolve_label_columns({"train": ["b", "-", "a", "-"], "test": ["c", ""]})
    assert splits["train"].ids.tolist() == [1, -1, 0, -1]
    assert splits["test"].ids.tolist() == [2, -1]
    # The numbers of one split, the words of another: in doubt; the sentence names the split that has the words.
    with pytest.raises(ValueError, match="in test, but it holds both"):
        resolve_label_columns({"train": [0, 1], "test": ["a"]})


def test_names_of_classes_are_distinct_texts():
    assert check_label_names(["x", "y"]) == ("x", "y")
    with pytest.raises(ValueError, match="'x' comes again at position 1"):
        check_label_names(["x", "x"])
    with pytest.raises(ValueError, match="entry 1 is empty"):
        check_label_names(["x", " "])
    with pytest.raises(TypeError, match="`label_names` to"):
        check_label_names("xy")


@pytest.mark.parametrize(
    "values", [["good", "bad", "-", "fine"], [0, 1, 2, None], [0.0, 1.0, float("nan"), 2.0]]
)
def test_a_million_rows_are_resolved_in_less_than_a_second(values):
    rows = values * 250_000
    start = time.process_time()
    column = resolve_labels(rows)
    assert time.process_time() - start < 1
    assert len(column.ids) == 1_000_000
