"""Every kernel and every evaluate module: types, orders, batches, copies and degenerate input."""

import pickle

import datasets
import evaluate
import numpy as np
import pandas as pd
import pytest

import rightreasons
from kernel_inputs import KERNELS
from module_inputs import MODULES, loaded
from tester import (
    REFUSED_CONDITIONS,
    REFUSED_NUMBERS,
    assert_equal,
    get_outcome,
    is_table,
    list_measures,
    list_types,
    make_measure,
)

every_measure = pytest.mark.parametrize(("kind", "name"), list_measures())
every_module = pytest.mark.parametrize("name", MODULES)

SINGULARS = {"predictions": "prediction", "references": "reference"}


@every_measure
def test_the_type_of_an_input_changes_nothing(kind, name):
    measure = make_measure(kind, name)
    expected = measure.compute(**measure.columns)

    for column, values in measure.columns.items():
        for type_name, convert in list_types(values).items():
            columns = {**measure.columns, column: convert(values)}
            try:
                result = measure.compute(**columns)
            except (TypeError, ValueError) as error:
                raise AssertionError(f"{column} as {type_name}: {error}") from error
            assert_equal(result, expected)


# An answer belongs to the example of the suite at its position; label errors are positions.
ORDERED = {
    "pass_rates",
    "behavioral_pass_rate",
    "behavioral_pass_rate of labels",
    "label_errors",
    # Folds are filled in the order of the items.
    "cue_statistics",
    "cue_classifier",
}


@every_measure
def test_the_order_of_the_items_changes_nothing(kind, name):
    if name in ORDERED:
        pytest.skip("the order of the items has a meaning")
    measure = make_measure(kind, name)
    expected = measure.compute(**measure.columns)

    n_items = len(next(iter(measure.columns.values())))
    for order in (range(n_items)[::-1], np.random.default_rng(1).permutation(n_items)):
        columns = {}
        for column, values in measure.columns.items():
            columns[column] = [values[item] for item in order]
        assert_equal(measure.compute(**columns), expected, by_item=False)


@every_measure
def test_inputs_stay_as_they_are(kind, name):
    measure = make_measure(kind, name)
    arrays = {}
    for column, values in measure.columns.items():
        arrays[column] = np.array(values)
        arrays[column].flags.writeable = False

    measure.compute(**arrays)

    for column, values in measure.columns.items():
        assert arrays[column].tolist() == values


@every_measure
def test_degenerate_input_is_refused_by_one_sentence(kind, name):
    measure = make_measure(kind, name)
    optional = set()
    if kind == "module":
        optional = set(loaded(name).OPTIONAL_INPUTS)

    for column, values in measure.columns.items():
        value = np.ravel(np.array(values, dtype=object))[0]
        conditions = dict(REFUSED_CONDITIONS)
        if not isinstance(value, str):
            conditions.update(REFUSED_NUMBERS)
        for condition, change in conditions.items():
            if change(values) is None and (column in optional or kind == "kernel"):
                continue  # an optional column may be omitted
            outcome = get_outcome(
                lambda: measure.compute(**{**measure.columns, column: change(values)})  # noqa: B023
            )
            assert isinstance(outcome, tuple), f"{column}: {condition} gives {outcome}"


@every_measure
def test_columns_of_different_lengths_are_refused(kind, name):
    measure = make_measure(kind, name)
    if len(measure.columns) == 1 or name == "distribution_overlap":
        pytest.skip("the columns are not about the same items")
    for column, values in measure.columns.items():
        outcome = get_outcome(
            lambda: measure.compute(**{**measure.columns, column: values[:-1]})  # noqa: B023
        )
        assert isinstance(outcome, tuple), column


@every_measure
def test_one_item_gives_a_figure_or_one_sentence(kind, name):
    measure = make_measure(kind, name)
    columns = {column: values[:1] for column, values in measure.columns.items()}
    get_outcome(lambda: measure.compute(**columns))


@every_measure
def test_equal_items_give_a_figure_or_one_sentence(kind, name):
    measure = make_measure(kind, name)
    columns = {}
    for column, values in measure.columns.items():
        columns[column] = [values[0]] * len(values)
    get_outcome(lambda: measure.compute(**columns))


@pytest.mark.parametrize("name", KERNELS)
def test_the_result_of_a_kernel_can_be_pickled(name):
    function, columns, options = KERNELS[name]
    result = function(**columns, **options)
    copied = pickle.loads(pickle.dumps(result))
    if hasattr(result, "to_dict"):
        copied, result = copied.to_dict(), result.to_dict()
    assert np.all(copied == result)


# ------------------------------------------------------------------------------- modules in batches


@every_module
def test_batches_give_the_figures_of_one_call(name):
    columns, options = MODULES[name]
    module = loaded(name)
    expected = module.compute(**columns, **options)

    module.add_batch(**{column: values[:2] for column, values in columns.items()})
    assert module.compute(**{c: values[2:] for c, values in columns.items()}, **options) == expected
    for item in range(3):
        module.add_batch(**{c: values[item : item + 1] for c, values in columns.items()})
    assert module.compute(**options) == expected
    for item in range(3):
        module.add(**{SINGULARS.get(c, c): values[item] for c, values in columns.items()})
    assert module.compute(**options) == expected


@every_module
def test_combine_gives_the_figures_of_one_call(name):
    columns, options = MODULES[name]
    module = loaded(name)
    expected = module.compute(**columns, **options)
    combined = evaluate.combine([module])

    assert combined.compute(**columns, **options) == expected
    combined.add_batch(**columns)
    assert module.compute(**options) == expected
    for item in range(3):
        combined.add(**{SINGULARS.get(c, c): values[item] for c, values in columns.items()})
    assert module.compute(**options) == expected


@every_module
def test_optional_inputs_may_be_omitted_in_every_way(name):
    columns, options = MODULES[name]
    module = loaded(name)
    optional = set(module.OPTIONAL_INPUTS)
    required = {column: values for column, values in columns.items() if column not in optional}
    if not optional or not required:
        pytest.skip("no input is optional, or all are")
    expected = module.compute(**required, **options)

    module.add_batch(**{c: values[:2] for c, values in required.items()})
    module.add(**{SINGULARS.get(c, c): values[2] for c, values in required.items()})
    assert module.compute(**options) == expected
    # The host passes every input by name, which the modules have made optional for it.
    evaluate.combine([module]).add_batch(**required)
    assert module.compute(**options) == expected


@every_module
def test_a_copy_of_a_module_has_its_batches(name):
    columns, options = MODULES[name]
    if name == "fim_difficulty":
        pytest.skip("its model is not copied")
    module = loaded(name)
    module.add_batch(**columns)
    copied = pickle.loads(pickle.dumps(module))
    assert copied.compute(**options) == module.compute(**options)


@every_module
def test_options_of_load_are_those_of_compute(name):
    columns, options = MODULES[name]
    if name == "fim_difficulty":
        pytest.skip("its model is an option of load")
    expected = loaded(name).compute(**columns, **options)
    assert rightreasons.load(name.split()[0], **options).compute(**columns) == expected


@every_module
def test_a_module_gives_the_figures_of_its_kernel_after_a_refusal(name):
    columns, options = MODULES[name]
    module = loaded(name)
    expected = module.compute(**columns, **options)

    module.add_batch(**columns)
    with pytest.raises((TypeError, ValueError)):
        module.add_batch(**{column: {} for column in columns})
    assert module.compute(**options) == expected


# ------------------------------------------------------------------------------ modules with classes


def list_class_columns():
    """List the modules that match classes by name, with a table of scores and its labels."""
    for name, (columns, _) in MODULES.items():
        for group in loaded(name).CLASS_GROUPS:
            tables = [column for column in group if is_table(columns.get(column, [0]))]
            labels = [c for c in group if isinstance(columns.get(c, [None])[0], int)]
            if tables and labels:
                yield name, tables[0], labels[0]


@pytest.mark.parametrize(("name", "table", "labels"), list_class_columns())
def test_named_classes_are_matched_whatever_their_order(name, table, labels):
    columns, options = MODULES[name]
    module = loaded(name)
    expected = module.compute(**columns, **options)
    names = [f"class {chr(ord('a') + k)}" for k in range(len(columns[table][0]))]
    words = [names[label] for label in columns[labels]]
    frame = pd.DataFrame(columns[table], columns=names)
    features = datasets.Features({"label": datasets.ClassLabel(names=names)})
    dataset = datasets.Dataset.from_dict({"label": columns[labels]}, features=features)
    class_label = dataset["label"]

    for scores, references in (
        (frame, words),
        (frame, class_label),
        (frame[names[::-1]], class_label),
    ):
        named = {**columns, table: scores, labels: references}
        assert_equal(module.compute(**named, **options), expected)

    # The batch before names the classes; a later one may have its columns in another order.
    named = {**columns, labels: words}
    module.add_batch(**{c: values[:2] for c, values in {**named, table: frame}.items()})
    module.add_batch(
        **{c: values[2:] for c, values in {**named, table: frame[names[::-1]]}.items()}
    )
    assert_equal(module.compute(**options), expected)
