"""Watch prior bias and choice paralysis of a multiple-choice model during training."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.validation import check_count, check_seed
from rightreasons.measuring.probes import ProbeRecord, measure_probes, probe_tables
from rightreasons.models.scoring.choices import choose
from rightreasons.training.tuning.examples import Table, as_dataset
from rightreasons.training.watching.recording import RecordingCallback, chooser_of

LOGGED = "probes"
"""The entry of the Trainer's log history with a record."""


class ProbeCallback(RecordingCallback[ProbeRecord]):
    """Put the four probes to the model before fine-tuning, at each evaluation, and at the end.

    The items are perturbed once. Figures are part of each evaluation, wherever Trainer's own go, as with
    `ShortcutCallback`: `eval_prior_bias` (without the question), `eval_pseudo_correct`, `eval_choice_paralysis` and
    `eval_restricted_drop`. A resumed run restores the records of its checkpoint from the log history.

    Args:
        items: Labeled multiple-choice items to watch {id, prompt, choices, label}, such as the validation set or a
            part of it: a Dataset, a mapping of columns or a list of rows. Row numbers replace missing ids.
        k: Number of choices that the fourth probe adds; default 2.
        seed: Decides what is borrowed.
        batch_size: Pairs of prompt and choice per batch; default 64.
        out: A JSON file for the records; None keeps them only with the Trainer.

    Attributes:
        records: One `ProbeRecord` per measurement, the one before fine-tuning (step 0) first.

    Raises:
        TypeError: If the items have the wrong type.
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

    def measure(self, parts: Mapping[str, Any], *, step: int, epoch: float) -> ProbeRecord:
        """Put the probes to the model that the Trainer gives."""
        scorer = chooser_of(parts)

        def score(prompts: Sequence[str], choices: Sequence[Sequence[str]], ids: Sequence[str]) -> Any:
            return choose(scorer, prompts, choices, ids=ids, batch_size=self._batch_size, progress=False).logits

        figures = measure_probes(
            self._tables.scored_by(score), resampling=Resampling(resamples=1, seed=self._seed), n_permutations=0
        )
        return figures.record(self._k, step=step, epoch=epoch)

    def figures(self, record: ProbeRecord) -> dict[str, float]:
        """Return the figures that join an evaluation, without its prefix."""
        return {
            "prior_bias": record.no_question,
            "pseudo_correct": record.pseudo_correct,
            "choice_paralysis": record.choice_paralysis,
            "restricted_drop": record.restricted_drop,
        }

    def __len__(self) -> int:
        """Return the number of watched items."""
        return len(self._tables)
