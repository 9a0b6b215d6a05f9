"""The demo: an audit of a small model on planted data, which needs no downloads."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rightreasons.core.extras import require_package
from rightreasons.core.store import check_folder
from rightreasons.page.advice import format_report_folder
from rightreasons.report.folder import OWN
from rightreasons.report.messages import ignore_message
from rightreasons.report.runner import AuditResult, audit

if TYPE_CHECKING:
    import datasets

PLANTED: Mapping[str, Any] = {
    "strength": 0.9,
    "coverage": 0.7,
    "label_noise": 0.05,
    "negation": 0.05,
    "contrast": 0.0,
}
"""Options of the reviews. 7 of 10 contain the cue, which agrees with the label in 9 of 10 of them.
Few are negated and none has a second opinion, because a bag of words understands neither."""


MODEL_NAME = "bag-of-words"
"""Name of the model in the report."""

DEFAULT_OUT = "report"
"""Folder of the report if none is named."""


def format_repair_command(
    out: str | os.PathLike[str], seed: int = 0, program: str = "rightreasons"
) -> str:
    """Return the command that repairs the model of the demo, after its audit.

    Args:
        out: The report folder of the audit.
        seed: Seed of the data and of the audit.
        program: Command that starts the program in a shell.

    Example:
        >>> format_repair_command("report"), format_repair_command("my report", seed=3)
        ('rightreasons demo --repair', "rightreasons demo --repair --out 'my report' --seed 3")
    """
    options = ["--repair"]
    # A command without defaults is shorter to type.
    if Path(out) != Path(DEFAULT_OUT):
        options += ["--out", str(out)]
    if seed != 0:
        options += ["--seed", str(seed)]
    return f"{program} demo {shlex.join(options)}"


def audit_demo(
    out: str | os.PathLike[str] = DEFAULT_OUT,
    *,
    seed: int = 0,
    say: Callable[[str], object] = ignore_message,
    **options: Any,
) -> AuditResult:
    """Train a bag of words on planted data, and audit it with, without and with flipped cues.

    The data records which tokens are planted and how often they agree with the label, so that the
    report can be compared with the truth: a model that looks good on the split it was trained for
    relies on the cue, and fails where the cue is flipped. The model is a logistic regression on
    word counts, which is the same on every machine.

    Args:
        out: The report folder.
        seed: Seed of the data and of every random choice of the audit.
        say: Called with a message before each step.
        **options: Further options of `audit`.

    Returns:
        The result of `audit`.

    Raises:
        ModuleNotFoundError: If the extra [demo] is not installed.
    """
    from rightreasons.models.scorers import as_scorer

    # A folder that cannot be written is refused before the training.
    check_folder(out, own=OWN)
    model, data = train_demo_model(seed, say)
    say("Auditing …")
    command = "rightreasons demo"
    if seed != 0:
        command += f" --seed {seed}"
    return audit(
        as_scorer(model, name=MODEL_NAME),
        data,
        name="planted_shortcuts",
        out=out,
        split=("test", "test_absent", "test_flipped"),
        seed=seed,
        command=command,
        repair_command=format_repair_command(format_report_folder(out), seed),
        **options,
    )


def serve_demo(
    report: str | os.PathLike[str],
    *,
    seed: int = 0,
    say: Callable[[str], object] = ignore_message,
) -> None:
    """Serve the report of the demo with live predictions of its model, until it is interrupted.

    Args:
        report: Folder that `audit_demo` has written.
        seed: Seed of the demo.
        say: Called with the address of the page.
    """
    from rightreasons.models.scorers import as_scorer
    from rightreasons.report.live import serve

    # The same seed trains the same model.
    model, _ = train_demo_model(seed)
    serve(report, as_scorer(model, name=MODEL_NAME), tell=say)


def train_demo_model(
    seed: int = 0, say: Callable[[str], object] = ignore_message
) -> tuple[Any, datasets.DatasetDict]:
    """Train the bag of words of the demo.

    Args:
        seed: Seed of the data.
        say: Called with a message before each step.

    Returns:
        The model, and the planted data with the split "train" that it was trained on.

    Raises:
        ModuleNotFoundError: If the extra [demo] is not installed.
    """
    # scikit-learn is only needed for the demo.
    require_package("sklearn")
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    from rightreasons.datasets.builder import load_dataset

    say("Making reviews with a planted cue …")
    data = load_dataset("planted_shortcuts", seed=seed, **PLANTED)
    train = data["train"]
    say(f"Training a bag of words on {len(train):,} of them …")
    names = train.features["label"].names
    model = make_pipeline(CountVectorizer(), LogisticRegression())
    # The model is trained with class names, which thus become the classes of the estimator.
    model.fit(train["text"][:], [names[label] for label in train["label"]])
    return model, data
