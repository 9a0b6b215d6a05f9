"""The progress of a training for a person: one bar, and one line per evaluation."""

from __future__ import annotations

import sys
from typing import Any

import transformers
from tqdm.auto import tqdm  # type: ignore[import-untyped]


class TrainingBar(transformers.TrainerCallback):  # type: ignore[misc]
    """Shows the steps of a training as a bar on stderr, and the figures of each evaluation in a line above it.

    Args:
        description: What is shown before the bar.
    """

    def __init__(self, description: str = "fine-tuning") -> None:
        self.description = description
        self._bar: Any = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Open the bar, at the step at which a run resumes."""
        if state.is_world_process_zero:
            self._bar = tqdm(total=state.max_steps, initial=state.global_step, desc=self.description, unit="step")

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Advance the bar."""
        if self._bar is not None:
            self._bar.update(state.global_step - self._bar.n)

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: dict[str, Any] | None = None, **_: Any) -> None:
        """Write the figures of an evaluation."""
        if self._bar is None:
            return
        figures = {key.removeprefix("eval_"): value for key, value in (metrics or {}).items()}
        named = {"loss": "loss {:.3f}", "accuracy": "accuracy {:.1%}", "f1": "F1 {:.1%}", "ece": "ECE {:.1%}"}
        told = [form.format(figures[key]) for key, form in named.items() if figures.get(key) is not None]
        tqdm.write(f"Epoch {state.epoch:g}, validation: {', '.join(told)}", file=sys.stderr)

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Close the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
