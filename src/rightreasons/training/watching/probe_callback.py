"""Watch prior bias and choice paralysis of a multiple-choice model over training."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any

from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.results import Result
from rightreasons.foundations.validation import check_count, check_seed
from rightreasons.measuring.probes import ProbeFigures, measure_probes, probe_tables
from rightreasons.models.scoring.choices import choose
from rightreasons.training.tuning.examples import Table, as_dataset
from rightreasons.training.watching.recording import RecordingCallback, chooser_of

LOGGED = "probes"
"""The entry of the Trainer's log history that holds a record."""


@dataclasses.dataclass(frozen=True)
class ProbeRecord(Result):
    """The probes at one point of training.

    Attributes:
        step: Optimizer steps so far.
        epoch: Passes over the training set so far.
        n_items: Items probed.
        accuracy: Accuracy before any perturbation.
        original_variance: Mean within-item variance of the confidences before any perturbation.
        no_question: Prior bias without the question.
        wrong_question: Prior bias with the question of another item.
        no_right_answer: Prior bias without the right choice.
        pseudo_correct: Share of items whose once right choice is picked without the question, in [0, 1].
        chance: What picking at random would give.
        pseudo_correct_p_value: Exact test of that share against chance.
        added: How many choices were added.
        choice_paralysis: Drop of the confidence in the right choice.
        null_drop: The drop if each added choice were as good as the item's own.
        restricted_drop: The drop among the item's own choices, free of dilution.
    """

    step: int
    epoch: float
    n_items: int
    accuracy: float
    original_variance: float
    no_question: float
    wrong_question: float
    no_right_answer: float
    pseudo_correct: float
    chance: float
    pseudo_correct_p_value: float
    added: int
    choice_paralysis: float
    null_drop: float
    restricted_drop: float

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> ProbeRecord:
        """Make a record again from `to_dict`."""
        return cls(**row)


class ProbeCallback(RecordingCallback[ProbeRecord]):
    """Put the four probes to the model before fine-tuning, at each evaluation, and at the end.

    The items are perturbed once. The records also stand in the Trainer's log history, from where a resumed run takes
    them, and figures join the metrics of `Trainer.evaluate`: `eval_prior_bias` (without the question),
    `eval_pseudo_correct`, `eval_choice_paralysis` and `eval_restricted_drop`.

    Args:
        items: Labelled multiple-choice items to watch {id, prompt, choices, label}, such as the validation set or a
            part of it: a Dataset, a mapping of columns or a list of rows. Without ids, row numbers serve.
        k: How many choices the fourth probe adds; default 2.
        seed: Decides what is borrowed.
        batch_size: Pairs of a batch; default 64.
        out: A file for the records, JSON; None keeps them with the Trainer alone.

    Attributes:
        records: One `ProbeRecord` a point of training, the one before fine-tuning (step 0) first.

    Raises:
        TypeError: If the items are of the wrong kind.
        ValueError: If they cannot be probed.

    References:
        Shen and Kejriwal (2022), "Understanding Prior Bias and Choice Paralysis in Transformer-based Language
        Representation Models through Four Experimental Probes", section 3.

    Example:
        >>> items = [
        ...     {"id": "a", "prompt": "Why cook?", "choices": ["To eat.", "To fly."], "label": 0},
        ...     {"id": "b", "prompt": "Why run?", "choices": ["To hurry.", "To sleep."], "label": 0},
        ... ]
        >>> callback = ProbeCallback(items, k=1)
        >>> callback.records
        []
        >>> trainer = transformers.Trainer(model, args, callbacks=[callback])  # doctest: +SKIP
    """

    def __init__(
        self,
        items: Table,
        *,
        k: int = 2,
        seed: int = 0,
        batch_size: int = 64,
        out: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(LOGGED, ProbeRecord.of, out)
        self._k = check_count(k, "k")
        self._seed = check_seed(seed)
        self._batch_size = check_count(batch_size, "batch_size")
        data = as_dataset(items, "multiple_choice", "items")
        if "id" not in data.column_names:
            data = data.add_column("id", [str(row) for row in range(len(data))])
        self._tables = probe_tables(data, ks=(self._k,), seed=self._seed)

    def measure(self, given: Mapping[str, Any], *, step: int, epoch: float) -> ProbeRecord:
        """Put the probes to the model that the Trainer gives."""
        scorer = chooser_of(given)

        def score(prompts: Sequence[str], choices: Sequence[Sequence[str]], ids: Sequence[str]) -> Any:
            return choose(scorer, prompts, choices, ids=ids, batch_size=self._batch_size, progress=False).logits

        figures = measure_probes(
            self._tables.scored_by(score), resampling=Resampling(resamples=1, seed=self._seed), n_permutations=0
        )
        return _record_of(figures, self._k, step, epoch)

    def metrics(self, record: ProbeRecord) -> dict[str, float]:
        """Return the figures that join the metrics of `Trainer.evaluate`."""
        return {
            "eval_prior_bias": record.no_question,
            "eval_pseudo_correct": record.pseudo_correct,
            "eval_choice_paralysis": record.choice_paralysis,
            "eval_restricted_drop": record.restricted_drop,
        }

    def __len__(self) -> int:
        """How many items are watched."""
        return len(self._tables)


def _record_of(figures: ProbeFigures, k: int, step: int, epoch: float) -> ProbeRecord:
    bias, paralysis = figures.prior_bias, figures.paralysis[k]
    pseudo = bias["no_question"].pseudo_correct
    if pseudo is None:  # every item that is probed has a label
        raise ValueError("Expected items with a label to probe, but there are none.")
    return ProbeRecord(
        step=step,
        epoch=epoch,
        n_items=figures.n_items,
        accuracy=figures.accuracy,
        original_variance=figures.original.prior_bias,
        no_question=bias["no_question"].prior_bias,
        wrong_question=bias["wrong_question"].prior_bias,
        no_right_answer=bias["no_right_answer"].prior_bias,
        pseudo_correct=pseudo.rate,
        chance=pseudo.chance,
        pseudo_correct_p_value=pseudo.p_value,
        added=k,
        choice_paralysis=paralysis.choice_paralysis,
        null_drop=paralysis.null_drop,
        restricted_drop=paralysis.restricted_drop.mean,
    )
