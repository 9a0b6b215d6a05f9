"""Options of behavioral learning: configurations, methods, partitions, and settings of a training.

They are declared here without anything heavy, so that a command can list them at once.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

from rightreasons.core.errors import OptionError
from rightreasons.core.options import Options, option

ACTIVATIONS = ("softmax", "sigmoid")
"""Activations of the classes: those that the loss of labeled items supports."""

CONFIGURATIONS = ("IID", "IID->T", "IID+T", "IID->(IID+T)")
"""Training data: independent data; the suite after it; both at once; both after the former."""

PARTITIONS = ("seen", "functionality", "class", "type")
"""What is held out of the suite, one by one: nothing, a functionality, a class, a test type."""


@dataclasses.dataclass(frozen=True)
class Method:
    """A training method: weight decay, dropout, phases and objective.

    Attributes:
        weight_decay: Decoupled weight decay.
        dropout: Dropout of hidden states and attention; None to keep the model's own.
        phases: What is trained in turn, "head" or "all", each with a new optimizer and an equal
            share of the epochs.
        objective: "mean", "irm", "dro" or "fish".
    """

    weight_decay: float = 0.0
    dropout: float | None = None
    phases: tuple[str, ...] = ("all",)
    objective: str = "mean"


METHODS = {
    "vanilla": Method(),
    "l2": Method(weight_decay=0.1),
    "dropout": Method(dropout=0.3),
    # A linear probe sees features without dropout.
    "lp": Method(phases=("head",), dropout=0.0),
    "lp-ft": Method(phases=("head", "all")),
    "irm": Method(objective="irm"),
    "dro": Method(objective="dro"),
    "fish": Method(objective="fish"),
}
"""The eight methods by name, with the released code's settings."""


class LearningOptions(Options):
    """Options of `train_on_behavior`."""

    learning_rate: float = option(
        2e-5, "Peak learning rate if all weights are trained; it decays linearly."
    )
    head_learning_rate: float = option(5e-4, "Peak learning rate if only the head is trained.")
    epochs: float = option(1.0, "Passes over the items, divided among the phases of the method.")
    batch_size: int = option(8, "Texts per batch; batches of pairs are half as large.", minimum=1)
    activation: str = option(
        "softmax",
        "softmax, or sigmoid as in the training of the released sentiment models.",
        choices=ACTIVATIONS,
    )
    fish_rate: float = option(
        0.1,
        "Size of Fish's outer step, as a share of the inner steps; the released code uses "
        "5e-7 / learning_rate / 5, which is 0.005 at 2e-5 and nearly 0 at larger rates.",
    )
    precision: str = option(
        "float32",
        "Precision of matrix products: float32, or bfloat16, which is about three times "
        "faster if the hardware supports it. Weights stay in float32.",
        choices=("float32", "bfloat16"),
    )

    def _check(self) -> None:
        """Check that rates and epochs are above 0, and that the share `fish_rate` is at most 1."""
        # Imported late, because options are listed without numpy.
        from rightreasons.core.validation import check_number

        # Option -> its largest value; None if it has no upper limit.
        max_by_name = {
            "learning_rate": None,
            "head_learning_rate": None,
            "epochs": None,
            "fish_rate": 1.0,
        }
        for name, maximum in max_by_name.items():
            value = check_number(getattr(self, name), name, minimum=0.0, maximum=maximum)
            if value == 0:
                raise OptionError(
                    f"Expected `{name}` to be above 0, but got {getattr(self, name)}.", option=name
                )


class PlanOptions(LearningOptions):
    """Plan of an experiment; the options of training on independent data are `iid_epochs` and `iid_batch_size`."""

    train_split: str = option("train", "Training split of the independent data.")
    test_split: str = option("validation", "Test split of the independent data, with labels.")
    data_dir: str | None = option(None, "Folder of local copies of known data sets.")
    # With all corrections, figures differ a little from those of the paper.
    known_issues: str | None = option(
        None,
        "Known issues of the suite to correct: all by default, your own file, or off for "
        "those that the paper corrects.",
    )
    train_limit: int | None = option(None, "Maximum number of training items.", minimum=1)
    test_limit: int | None = option(None, "Maximum number of test items.", minimum=1)
    max_cases: int | None = option(None, "Maximum number of cases per functionality.", minimum=1)
    configurations: tuple[str, ...] = option(
        CONFIGURATIONS, "Comma-separated configurations.", choices=CONFIGURATIONS
    )
    methods: tuple[str, ...] = option(
        tuple(METHODS), "Comma-separated methods.", choices=tuple(METHODS)
    )
    partitions: tuple[str, ...] = option(
        PARTITIONS,
        "Comma-separated partitions; one part of a partition is held out at a time.",
        choices=PARTITIONS,
    )
    seeds: tuple[int, ...] = option((42,), "Comma-separated seeds.", minimum=0)
    iid_epochs: float = option(3.0, "Passes over the independent data.")
    iid_batch_size: int = option(16, "Texts per batch of independent data.")
    grid: str = option(
        "",
        "Settings to select on the validation part, as JSON: "
        '{"learning_rate": [2e-5, 5e-5], "epochs": [1, 2]}.',
    )
    max_length: int | None = option(None, "Maximum tokens per text; 128, or 384 for reading.")


def parse_grid(text: str) -> list[dict[str, Any]]:
    """Parse a grid of training options, and list every combination of their values.

    Args:
        text: JSON object of options of `train_on_behavior`, each with a list of values.

    Returns:
        Every combination, the last option changing fastest; an empty list if the string is empty.

    Raises:
        ValueError: If the string is not a grid, or an option is unknown or out of its range.

    Example:
        >>> parse_grid('{"learning_rate": [2e-5, 5e-5], "epochs": [1, 2]}')[1]
        {'learning_rate': 2e-05, 'epochs': 2.0}
    """
    from rightreasons.core.json_files import parse_json

    if not text:
        return []
    values_by_option = parse_json(text, "the grid")
    is_grid = isinstance(values_by_option, dict)
    # A mapping of options to single values is not a grid either.
    if not is_grid or not all(map(_is_nonempty_list, values_by_option.values())):
        raise ValueError(f'Expected a grid such as {{"epochs": [1, 2]}}, but got {text}.')
    if not values_by_option:
        return []
    rows = []
    for values in itertools.product(*values_by_option.values()):
        row = dict(zip(values_by_option, values, strict=True))
        # Parse each row now, so that a value out of its range is found before any training.
        options = LearningOptions.read(row, "the grid")
        rows.append({name: getattr(options, name) for name in values_by_option})
    return rows


def _is_nonempty_list(values: object) -> bool:
    """Return whether a value is a list that is not empty."""
    return isinstance(values, list) and bool(values)
