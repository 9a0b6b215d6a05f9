"""Recipes are complete: scales, steps, printed tables, and sentences fit together."""

import re

import pytest

from rightreasons.replicate.recipe import PAPERS, SCALES, load_recipe
from rightreasons.replicate.steps import STEPS


def test_five_papers_have_a_recipe():
    assert PAPERS == ("beluga2023", "bihani2025", "datta2020", "kavumba2019", "shen2022")


@pytest.mark.parametrize("paper", PAPERS)
def test_recipe_is_complete(paper):
    recipe = load_recipe(paper)

    # One paper has a scale between the small one and that of the paper.
    assert {"small", "paper", "smoke"} <= set(recipe.scales) <= {*SCALES, "smoke"}
    assert recipe.scales["paper"].gpu_hours > 0
    assert recipe.scales["small"].gpu_hours == 0
    names = [step.name for step in recipe.steps]
    assert len(set(names)) == len(names)
    assert {step.kind for step in recipe.steps} <= set(STEPS)
    for table in recipe.tables:
        assert table.step in names, table.title
        assert table.printed is None or table.printed in recipe.printed, table.title
    for printed in recipe.printed.values():
        assert printed["source"], "a printed figure has its source"
    # A sentence quotes facts of steps that exist.
    for sentence in recipe.sentences:
        assert set(re.findall(r"\{(\w+)\.", sentence)) <= set(names), sentence


def test_an_unknown_paper_is_refused():
    with pytest.raises(ValueError, match="paper") as error:
        load_recipe("kavumba2020")

    assert error.value.option == ("paper",)
