"""The audit that needs nothing from elsewhere: a real encoder, fine-tuned on data with a planted shortcut.

The data records which tokens are planted and how often they agree with the label, so the report can be compared with
the truth: a model that looks calibrated on the split it was trained for relies on the cue, and fails where the cue is
flipped.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rightreasons.auditing.reports import OWN
from rightreasons.auditing.runner import AuditResult, audit
from rightreasons.foundations.atomic_write import check_folder

PLANTED: Mapping[str, Any] = {"strength": 0.9, "coverage": 0.7, "label_noise": 0.05, "train_size": 2500}
"""The options of `planted_shortcuts`: 7 of 10 texts carry the cue, and it agrees with the label in 9 of 10 of them."""

TRAINING: Mapping[str, Any] = {"epochs": 1.0, "learning_rate": 1e-4, "batch_size": 32, "max_length": 64}
"""The options of `fine_tune`: about a minute on two cores."""

QUESTIONS: Mapping[str, Mapping[str, Any]] = {"shortcuts": {"items": 100}, "difficulty": {"items": 200}}
"""How many items the slower questions look at: enough for the demo, in about a minute more."""


def audit_demo(
    out: str | os.PathLike[str] = "report",
    *,
    model_dir: str | os.PathLike[str] = "runs/demo",
    seed: int = 0,
    progress: bool = True,
    say: Callable[[str], object] = lambda line: None,
    planted: Mapping[str, Any] = PLANTED,
    training: Mapping[str, Any] = TRAINING,
    encoder: str | os.PathLike[str] | None = None,
    questions: Sequence[str] | None = None,
    **options: Any,
) -> AuditResult:
    """Fine-tune the packaged encoder on planted data and audit it on the splits with the cue, without and flipped.

    Args:
        out: The folder of the report.
        model_dir: The folder of the model; a finished one is used again, an unfinished one goes on.
        seed: Decides the data, the training and every random choice of the audit.
        progress: Whether to show progress bars.
        say: Called with a line before each step.
        planted: Options of the data.
        training: Options of the training.
        encoder: Another encoder; None for that of the extra [demo].
        questions: The questions to ask; None for all that apply.
        **options: Further options of `audit`.

    Returns:
        What `audit` returns.

    Raises:
        ImportError: If the extra [demo] is not installed.
    """
    from rightreasons.data.builders.catalog import load_dataset
    from rightreasons.models.packaged import demo_encoder

    source = demo_encoder() if encoder is None else encoder  # first: its extra installs all that the others need
    from rightreasons.training.tuning.finetune import fine_tune

    check_folder(out, own=OWN)
    check_folder(model_dir, "model_dir")
    folder = Path(model_dir) if seed == 0 else Path(f"{model_dir}-{seed}")
    say("Making reviews with a planted cue …")
    data = load_dataset("planted_shortcuts", seed=seed, **planted)
    say(f"Fine-tuning {Path(source).parent.name if encoder is None else source} on {len(data['train']):,} of them …")
    fine_tune(source, data["train"], out=folder, seed=seed, progress=progress, **training)
    say("Auditing …")
    return audit(
        folder,
        data,
        name="planted_shortcuts",
        out=out,
        split=("test", "test_absent", "test_flipped"),
        seed=seed,
        progress=progress,
        options={name: its for name, its in QUESTIONS.items() if questions is None or name in questions},
        questions=questions,
        command=f"rightreasons demo{'' if seed == 0 else f' --seed {seed}'}",
        **options,
    )
