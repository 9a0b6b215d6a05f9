"""Options of fine-tuning, of the data that it trains on, and of the premise-oblivious split.

They are declared here without anything heavy, so that a command can list them at once.
"""

from __future__ import annotations

from rightreasons.core.errors import OptionError
from rightreasons.core.options import Options, option
from rightreasons.io.options import ItemOptions

TASKS = ("classification", "multiple_choice", "question_answering")


class TuningOptions(Options):
    """Options of `fine_tune`."""

    task: str | None = option(
        None,
        "classification, multiple_choice or question_answering; by default the task that fits "
        "the columns of the data.",
        choices=TASKS,
    )
    label_names: tuple[str, ...] | None = option(
        None,
        "Names of the classes, written into the model's configuration; by default the names "
        "of a ClassLabel column, the labels if they are texts, or numbers.",
    )
    epochs: float = option(3.0, "Passes over the training set.", minimum=0.0)
    learning_rate: float = option(5e-5, "Peak learning rate.", minimum=0.0)
    freeze_encoder: bool = option(False, "Train only the head.")
    batch_size: int = option(32, "Examples per batch, on each device.", minimum=1)
    max_length: int = option(
        128,
        "Maximum tokens per text (per prompt with one choice, or per window of a context); longer texts are "
        "truncated and counted.",
        minimum=4,
    )
    weight_decay: float = option(
        0.01, "Decoupled weight decay, applied only to matrices.", minimum=0.0
    )
    warmup: float = option(
        0.06, "Fraction of the steps during which the learning rate increases.", minimum=0.0
    )
    seed: int = option(
        0, "Seed of the initial head, the order of the items and the dropout.", minimum=0
    )
    # Frequent checkpoints slow down a training, rare ones lose more of it when it is killed.
    checkpoint_steps: int | None = option(
        None,
        "Steps between checkpoints, which are kept until the end; by default ten checkpoints "
        "per run, at least 50 steps apart; 0 for none.",
        minimum=0,
    )
    revision: str | None = option(None, "Branch, tag or commit of the hub repository.")

    def _check(self) -> None:
        # `minimum=0.0` allows 0, too.
        if self.epochs == 0:
            raise OptionError(
                f"Expected `epochs` to be above 0, but got {self.epochs}.", option="epochs"
            )


class TrainingDataOptions(ItemOptions):
    """Options of `open_training_data`."""

    train_split: str | None = option(
        None, "Split to train on; by default train, or the only split."
    )
    validation_split: str | None = option(
        None,
        "Split to evaluate on after each epoch; by default the first of validation, dev and test "
        "with labels.",
    )
    held_out: float = option(
        0.2,
        "Share of the items that is held out for evaluation and audit if there is no other split; "
        "0 for none.",
    )
    limit: int | None = option(
        None, "Maximum number of items per split, selected by id.", minimum=2
    )

    def _check(self) -> None:
        """Check the share that is held out."""
        # Imported late, because options are listed without numpy.
        from rightreasons.core.validation import check_fraction

        super()._check()
        # 0 holds nothing out. Other shares must leave items on both sides.
        if self.held_out:
            check_fraction(self.held_out, "held_out", open_ends=True)


class SplitOptions(Options):
    """Training without the premises, by `premise_oblivious_split`."""

    n_runs: int = option(3, "Number of models to train, each with a different seed.", minimum=1)
    epochs: float = option(3.0, "Passes over the training set.")
    learning_rate: float = option(5e-5, "Peak learning rate.")
    batch_size: int = option(16, "Items per batch.", minimum=1)
    max_length: int = option(64, "Maximum number of tokens per choice.", minimum=4)
    seed: int = option(0, "Seed of the first model; each further run adds 1.")
