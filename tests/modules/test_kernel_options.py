"""A module's options are its kernels': names, defaults, documentation, and the flat form of `resampling`."""

import inspect

import pytest

from rightreasons.core.resampling import Resampling
from rightreasons.evaluate_module import (
    describe_options,
    kernel_options,
    parse_argument_help,
    select_options,
)

RESAMPLING = Resampling(level=0.9, resamples=50, seed=3)


def statistics(values, *, top=None, features=("unigram",), tokenizer=None):
    """Count.

    Args:
        values: The values.
        top: Number of rows; default None shows all.
        features: Families of cues.
        tokenizer: A function.
    """
    return {"top": top, "features": features, "tokenizer": tokenizer}


def classifier(values, *, features=("bigram",), n_folds=10, resampling=RESAMPLING):
    """Fit.

    Args:
        values: The values.
        features: Not this text: the first kernel's.
        n_folds: Number of folds.
        resampling: Not shown.
    """
    return {"features": features, "n_folds": n_folds, "resampling": resampling}


def shuffles(values, *, seed=7, resampling=None):
    return {"seed": seed, "resampling": resampling}


@kernel_options(statistics, classifier, without=("tokenizer",))
def both(self, values, *, own=1, **options):
    return {
        "own": own,
        "statistics": statistics(values, **select_options(statistics, options)),
        "classifier": classifier(values, **select_options(classifier, options)),
    }


def test_signature_holds_the_module_s_own_options_and_each_of_the_kernels_once():
    assert str(inspect.signature(both)) == (
        "(self, values, *, own=1, top=None, features=('unigram',), n_folds=10, "
        "confidence_level=0.9, n_resamples=50, seed=3)"
    )


def test_each_kernel_gets_its_own_options_and_the_first_default_counts():
    assert both(None, []) == {
        "own": 1,
        "statistics": {"top": None, "features": ("unigram",), "tokenizer": None},
        "classifier": {"features": ("unigram",), "n_folds": 10, "resampling": RESAMPLING},
    }
    result = both(None, [], own=2, top=4, n_folds=5, confidence_level=0.8, seed=1)
    assert result["own"] == 2
    assert result["statistics"]["top"] == 4
    assert result["classifier"] == {
        "features": ("unigram",),
        "n_folds": 5,
        "resampling": Resampling(0.8, 50, 1),
    }


def test_an_interval_that_the_kernel_always_gives_cannot_be_turned_off():
    with pytest.raises(TypeError, match="confidence_level"):
        both(None, [], confidence_level=None)


def test_no_interval_by_default_where_the_kernel_gives_none_and_a_seed_of_its_own_stays():
    @kernel_options(shuffles)
    def compute(self, values, **options):
        return shuffles(values, **options)

    assert compute(None, []) == {"seed": 7, "resampling": None}
    assert compute(None, [], confidence_level=0.9, seed=2) == {
        "seed": 2,
        "resampling": Resampling(0.9, 1000, 2),
    }


@pytest.mark.parametrize(
    ("excluded", "given", "expected"),
    [
        ("n_resamples", {"seed": 2}, Resampling(0.9, 50, 2)),
        ("confidence_level", {"n_resamples": 20}, Resampling(0.9, 20, 3)),
        ("seed", {"n_resamples": 20}, Resampling(0.9, 20, 3)),
    ],
)
def test_a_resampling_option_that_a_module_excludes_has_the_default_of_its_kernel(
    excluded, given, expected
):
    @kernel_options(classifier, without=(excluded,))
    def compute(self, values, **options):
        return classifier(values, **options)

    assert compute(None, [], **given)["resampling"] == expected


def test_descriptions_come_from_the_kernels_and_end_with_the_default():
    text = (
        "\nArgs:\n    values: N values.\n    own: Described by the module.\n\nReturns:\n    dict\n"
    )
    described = describe_options(text, statistics, classifier, without=("tokenizer",))
    assert described.endswith("\n\nReturns:\n    dict\n")
    assert parse_argument_help(described) == {
        "values": "N values.",
        "own": "Described by the module.",
        "top": "Number of rows; default None shows all.",
        "features": "Families of cues. Default: ('unigram',).",
        "n_folds": "Number of folds. Default: 10.",
        "confidence_level": "Level of the bootstrap intervals. Default: 0.9.",
        "n_resamples": "Number of bootstrap resamples. Default: 50.",
        "seed": "Seed of the random draws. Default: 3.",
    }
    assert parse_argument_help(describe_options(text, shuffles))["confidence_level"] == (
        "Level of a bootstrap interval, such as 0.95; default None gives none."
    )
