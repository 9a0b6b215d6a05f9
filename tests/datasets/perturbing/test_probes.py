"""The confusion probes: what must hold for every item, in any order, subset and number of workers."""

import re
import warnings

import datasets
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightreasons.datasets.builder import load_dataset
from rightreasons.datasets.perturbing.probes import FEATURES, PROBES, Pool, perturb

ITEMS = [
    {
        "id": f"item-{number:02d}",
        "prompt": f"Question {number}?",
        "choices": [f"answer {number}-{choice}" for choice in range(2 + number % 3)],
        "label": number % 2,
    }
    for number in range(30)
]


@pytest.fixture(scope="module")
def items():
    return datasets.Dataset.from_list(ITEMS)


def by_id(perturbed):
    return {row["source_id"]: row for row in perturbed}


def test_few_items_are_perturbed_without_a_progress_bar(items, capsys):
    # A title that no cache of `datasets` knows.
    fresh = items.map(lambda row: {"prompt": f"{row['prompt']} Say."})
    was_disabled = datasets.are_progress_bars_disabled()
    capsys.readouterr()

    perturb(fresh, "no_question")

    assert capsys.readouterr().err == ""
    # The setting of the user stays as it was.
    assert datasets.are_progress_bars_disabled() is was_disabled


@pytest.mark.parametrize("probe", PROBES)
def test_schema_and_provenance(items, probe):
    perturbed = perturb(items, probe)
    assert perturbed.features == FEATURES
    assert len(perturbed) == len(items)
    texts = {row["id"]: row for row in ITEMS}
    for row in perturbed:
        source = texts[row["source_id"]]
        assert row["id"] == f"{row['source_id']}/{probe}"
        for text, origin in zip(row["choices"], row["choice_sources"], strict=True):
            assert text in texts[origin]["choices"]
        if row["prompt_source"]:
            assert row["prompt"] == texts[row["prompt_source"]]["prompt"]
        for place, text in zip(row["original_positions"], source["choices"], strict=True):
            assert place == -1 or row["choices"][place] == text


def test_no_question(items):
    for row, source in zip(perturb(items, "no_question"), ITEMS, strict=True):
        assert row["prompt"] == ""
        assert row["prompt_source"] == ""
        assert row["choices"] == source["choices"]
        assert (row["label"], row["pseudo_label"]) == (-1, source["label"])


def test_wrong_question(items):
    for row, source in zip(perturb(items, "wrong_question"), ITEMS, strict=True):
        assert row["prompt"] != source["prompt"]
        assert row["prompt_source"] != source["id"]
        assert (row["label"], row["pseudo_label"]) == (-1, source["label"])


def test_wrong_question_never_has_the_text_of_the_own_one():
    # Nine of ten prompts are one question, in two spellings; it can borrow the tenth alone.
    prompts = ["Why?", "why?  "] * 4 + ["Why?", "What for?"]
    rows = [{**row, "prompt": prompt} for row, prompt in zip(ITEMS, prompts, strict=False)]
    for row in perturb(datasets.Dataset.from_list(rows), "wrong_question"):
        assert (row["prompt"] == "What for?") == (row["source_id"] != "item-09")


def test_no_right_answer(items):
    for row, source in zip(perturb(items, "no_right_answer"), ITEMS, strict=True):
        right = source["choices"][source["label"]]
        assert right not in row["choices"]
        assert len(row["choices"]) == len(set(row["choices"])) == len(source["choices"])
        assert (row["label"], row["pseudo_label"]) == (-1, -1)
        kept = [text for index, text in enumerate(source["choices"]) if index != source["label"]]
        assert [
            text for index, text in enumerate(row["choices"]) if index != source["label"]
        ] == kept


@pytest.mark.parametrize("k", [1, 2, 4, 8, "double"])
def test_extra_choices(items, k):
    places = []
    for row, source in zip(perturb(items, "extra_choices", k=k), ITEMS, strict=True):
        right = source["choices"][source["label"]]
        added = len(source["choices"]) if k == "double" else k
        assert len(row["choices"]) == len(set(row["choices"])) == len(source["choices"]) + added
        assert row["choices"].count(right) == 1
        assert row["choices"][row["label"]] == right
        assert row["original_positions"][source["label"]] == row["label"]
        places.append(row["label"])
    assert len(set(places)) > 1


@pytest.mark.parametrize("probe", PROBES)
def test_order_and_subset_do_not_matter(items, probe):
    whole = by_id(perturb(items, probe, seed=7))
    assert by_id(perturb(items.select(range(29, -1, -1)), probe, seed=7)) == whole
    part = by_id(perturb(items.select([3, 11, 20]), probe, seed=7, pool=items))
    assert part == {key: whole[key] for key in part}
    assert by_id(perturb(items, probe, seed=7, pool=Pool(items))) == whole


def test_seeds_differ(items):
    first, second = (by_id(perturb(items, "wrong_question", seed=seed)) for seed in (0, 1))
    assert sum(first[key]["prompt"] != second[key]["prompt"] for key in first) > 20


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_borrowed_choices_are_new(seed, k):
    rows = [{**row, "choices": row["choices"][:2]} for row in ITEMS[:8]]
    for row in perturb(datasets.Dataset.from_list(rows), "extra_choices", k=k, seed=seed):
        assert len(set(row["choices"])) == 2 + k


def test_draws_are_spread_over_the_pool(items):
    sources = [row["prompt_source"] for row in perturb(items, "wrong_question")]
    assert len(set(sources)) > 12  # 30 draws of 29: about 19 different ones are expected


@pytest.mark.parametrize(
    ("change", "probe", "sentence"),
    [
        (
            {"choices": ["one"], "label": 0},
            "no_question",
            "least two choices",
        ),
        ({"choices": ["a", "A "]}, "no_question", "choices of item 'bad' to differ"),
        ({"prompt": " "}, "wrong_question", "prompt in item 'bad', but it is empty"),
        (
            {"label": 2},
            "no_question",
            r"choice \(0 to 1\)",
        ),
        (
            {"label": -1},
            "extra_choices",
            r"choice \(0 to 1\)",
        ),
    ],
)
def test_bad_items(change, probe, sentence):
    bad = {"id": "bad", "prompt": "Why?", "choices": ["yes", "no"], "label": 0, **change}
    with pytest.raises(ValueError, match=sentence):
        perturb(datasets.Dataset.from_list([*ITEMS[:5], bad]), probe, duplicates="error")


def test_bad_pools_and_options(items):
    few = items.select([0, 1])
    with pytest.raises(ValueError, match="borrow for item 'item-00'"):
        perturb(few, "extra_choices", k=8)
    with pytest.raises(ValueError, match="no item of the pool of 1 has"):
        perturb(items.select([0]), "wrong_question")
    with pytest.raises(ValueError, match="`probe` to be one of"):
        perturb(items, "no_questions")
    with pytest.raises(ValueError, match="`k` to be at least 1, but got 0"):
        perturb(items, "extra_choices", k=0)
    with pytest.raises(ValueError, match="once"):
        perturb(datasets.Dataset.from_list([ITEMS[0], ITEMS[0]]), "no_question")


def test_dropped_duplicates():
    bad = {"id": "bad", "prompt": "Why?", "choices": ["yes", "yes"], "label": 0}
    items = datasets.Dataset.from_list([*ITEMS[:5], bad])
    without = [row["id"] for row in ITEMS[:5]]
    for probe in PROBES[1:]:
        with pytest.warns(UserWarning, match="6 items because"):
            assert perturb(items, probe)["source_id"][:] == without
    with warnings.catch_warnings():
        warnings.simplefilter(
            "error"
        )  # without its question, an item with equal choices is as good as another
        assert perturb(items, "no_question")["source_id"][:] == [*without, "bad"]
        assert perturb(items, "no_question", duplicates="drop")["source_id"][:] == without


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "split", "count"),
    [
        ("anli", "validation", 1532),
        ("hellaswag", "validation", 10042),
        ("piqa", "validation", 1838),
        ("piqa", "test", 3084),
        ("socialiqa", "validation", 1954),
        ("socialiqa", "train", 33410),
    ],
)
def test_real_counts(real_data, tmp_path, name, split, count):
    data = load_dataset(
        name, split=split, data_dir=real_data, cache_dir=tmp_path, known_issues=False
    )
    labels = [row["label"] for row in data]
    assert len(labels) == count
    expected = (
        {-1}
        if (name, split) == ("piqa", "test")
        else set(range({"hellaswag": 4, "socialiqa": 3}.get(name, 2)))
    )
    assert set(labels) == expected


@pytest.mark.real_data
def test_real_perturbed_sets(real_data, tmp_path):
    for name, count in (
        ("perturbed_anli", 1532),
        ("perturbed_piqa", 1838),
        ("perturbed_socialiqa", 1949),
    ):
        data = load_dataset(
            name,
            "extra_choices",
            split="validation",
            data_dir=real_data,
            cache_dir=tmp_path,
            k=2,
            known_issues=False,
        )
        assert len(data) == count  # five items of SocialIQA have two equal choices and are left out
        assert all(label >= 0 for label in data["label"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"label": None},
            "choice (0 to 1)",
        ),
        ({"prompt": None}, "prompt in item 'a'"),
        (
            {"choices": ["So.", None]},
            "one is missing",
        ),
        ({"choices": None}, "one is missing"),
    ],
)
def test_what_an_item_lacks_is_told(change, message):
    row = {"id": "a", "prompt": "Why?", "choices": ["So.", "No."], "label": 0, **change}
    text, number = datasets.Value("string"), datasets.Value("int64")
    features = datasets.Features(
        {"id": text, "prompt": text, "choices": datasets.List(text), "label": number}
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        perturb(datasets.Dataset.from_list([row], features=features), "extra_choices", k=1)


TRUE_STATEMENTS = [
    {
        "id": str(number),
        "prompt": "Which of the following statements is true?",
        "choices": [f"{number} is less than {number + 1}.", f"{number} is more than {number + 1}."],
        "label": 0,
    }
    for number in range(20)
]


@pytest.mark.parametrize("probe", ["no_right_answer", "extra_choices"])
def test_a_choice_of_an_item_with_the_same_prompt_is_never_borrowed(probe):
    # The correct statement of any of the 20 items answers the prompt of all of them.
    items = datasets.Dataset.from_list([*TRUE_STATEMENTS, *ITEMS])
    statements = {text for row in TRUE_STATEMENTS for text in row["choices"]}

    perturbed = perturb(items, probe)

    assert len(perturbed) == 50
    for row in perturbed:
        if row["prompt"].startswith("Which of the following"):
            borrowed = [
                text
                for text, source in zip(row["choices"], row["choice_sources"], strict=True)
                if source != row["source_id"]
            ]
            assert borrowed
            assert not statements & set(borrowed)


@pytest.mark.parametrize("probe", ["no_right_answer", "extra_choices"])
def test_items_that_can_only_borrow_from_their_own_prompt_are_left_out_and_counted(probe):
    items = datasets.Dataset.from_list([*TRUE_STATEMENTS, ITEMS[0]])

    # The 20 items need up to two choices, which the item with another prompt has.
    assert len(perturb(items, probe)) == 21

    with pytest.warns(UserWarning, match="Left out 20 of 20 items"):
        perturbed = perturb(items.select(range(20)), probe)
    assert len(perturbed) == 0
