"""What the questions of an audit share: `AuditContext` has the splits, the model and its scores.

Scores are computed in `rightreasons.audited.scoring`, examples of items are made in
`rightreasons.audited.examples`.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from rightreasons.audited.splits import AuditSplit, safe_name
from rightreasons.audited.stored_model import StoredModel
from rightreasons.core.labels.names import are_numbers
from rightreasons.core.resampling import Resampling
from rightreasons.core.scores import Scores
from rightreasons.core.sentences import find_paragraph
from rightreasons.core.store import WORK
from rightreasons.io.options import AuditOptions
from rightreasons.models.protocol import explain_missing_ability

if TYPE_CHECKING:
    import datasets

    from rightreasons.audited.logged_arms import LoggedArms
    from rightreasons.behavior.options import BehaviorOptions
    from rightreasons.datasets.suites.suite import Suite
    from rightreasons.models.prompted import Prompted
    from rightreasons.models.protocol import Engine, Scorer


JudgeScores = Callable[["AuditContext", Scores, Sequence[str]], Mapping[str, tuple[str, str]]]
"""Returns question -> the label of its verdict on given scores, and why there is none."""


def _keep_engine(engine: Engine) -> Engine:
    return engine


def _judge_nothing(
    context: AuditContext, scores: Scores, questions: Sequence[str]
) -> Mapping[str, tuple[str, str]]:
    return {}


@dataclasses.dataclass(frozen=True, eq=False)
class AuditContext:
    """The model, the items and the scores of one audit. Questions read it and never change it.

    Attributes:
        source: The model, or stored predictions instead of a model.
        dataset_name: Name of the data in the report.
        primary: The split of the headlines.
        comparisons: All other audited splits.
        train: The whole training split, for questions about the data that the model learned from;
            None if there is none.
        out: The report folder.
        settings: Options of the audit as a whole.
        progress: Whether to show progress bars.
        command: Command that audits the same model and data with the same options, without
            questions; "" if an input is an object, which no command can name.
        repair_command: Command that repairs the model; "" for the command `repair` with the report.
        answers: Scores of each split, or why it has none; empty before `score_audit`.
        previous: Question -> what an earlier audit tested, to be tested again; empty without one.
        wrap_engine: Returns the engine that replaces that of a second model, such as a judge. A plan
            counts its requests in this way.
        judge_scores: Returns the verdicts of other questions on given scores of the primary split,
            for a question that compares them.
    """

    source: Scorer | StoredModel
    dataset_name: str
    primary: AuditSplit
    comparisons: tuple[AuditSplit, ...]
    train: datasets.Dataset | None
    out: Path
    settings: AuditOptions
    progress: bool = True
    command: str = ""
    repair_command: str = ""
    answers: Mapping[str, Scores | ValueError] = dataclasses.field(default_factory=dict)
    previous: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    wrap_engine: Callable[[Engine], Engine] = _keep_engine
    judge_scores: JudgeScores = _judge_nothing
    _shared: dict[Any, Any] = dataclasses.field(default_factory=dict)

    # --- Splits and their scores

    @property
    def splits(self) -> tuple[AuditSplit, ...]:
        """All audited splits, the primary one first."""
        return (self.primary, *self.comparisons)

    def scores(self, split: AuditSplit | None = None) -> Scores:
        """Return the scores of a split, in the order of its items.

        Args:
            split: Split whose scores are returned. If None, the primary one.

        Raises:
            ValueError: If the model could not score it.
        """
        name = self.primary.name if split is None else split.name
        answer = self.answers[name]
        if isinstance(answer, ValueError):
            raise answer
        return answer

    def has_scores(self, split: AuditSplit) -> bool:
        """Return whether a split has scores: a question reads it, and the model could score it."""
        return isinstance(self.answers.get(split.name), Scores)

    def sample_items(self, split: AuditSplit, limit: int) -> AuditSplit:
        """Return at most `limit` items of a split: labeled ones, or any if none is labeled.

        The items are selected at random, by the seed and their ids. Two splits with versions of the
        same items have the same `sampling_names`, by which the same items of both are selected.

        Args:
            split: The split.
            limit: Maximum number of items.
        """
        from rightreasons.io.samples import choose_rows

        rows = np.arange(len(split))
        if split.labeled.any():
            rows = np.flatnonzero(split.labeled)
        names = split.sampling_names
        positions = choose_rows([names[row] for row in rows], limit, seed=self.seed)
        return split.take(rows[positions])

    # --- Options

    @property
    def resampling(self) -> Resampling:
        """Level, resamples and seed of intervals and tests."""
        return self.settings.resampling

    @property
    def seed(self) -> int:
        """Seed of all random choices."""
        return self.settings.seed

    # --- The model

    @property
    def stored(self) -> StoredModel | None:
        """The stored predictions; None if there is a model."""
        return self.source if isinstance(self.source, StoredModel) else None

    @property
    def logged_arms(self) -> LoggedArms | None:
        """Arms of the items that a log contains; None without any, and for a model."""
        if self.stored is not None:
            return self.stored.arms
        return getattr(self.source, "logged_arms", None)

    @property
    def joint(self) -> bool:
        """Whether the model sees the choices of an item together."""
        if self.logged_arms is not None:
            return self.logged_arms.joint
        return bool(self.scorer.joint)

    @property
    def prompted(self) -> Prompted | None:
        """The prompted language model; None if the model is of another kind."""
        # Stored predictions need no prompts, whose patterns take long to import.
        if self.stored is not None:
            return None
        from rightreasons.models.prompted import find_prompted

        return find_prompted(self.source)

    @property
    def scorer(self) -> Scorer:
        """The model, for questions that need new predictions.

        Raises:
            ValueError: If there are only stored predictions.
        """
        if isinstance(self.source, StoredModel):
            raise ValueError(
                f"Expected a model, but {self.source.name} contains stored predictions."
            )
        return self.source

    @property
    def answers_once(self) -> bool:
        """Whether each item has a single generated answer, and thus no confidence."""
        return bool(getattr(self.source, "answers_once", False))

    @property
    def has_confidences(self) -> bool:
        """Whether answers have a confidence; of a log, whether some do."""
        if self.stored is not None:
            return self.stored.has_confidences
        return not self.answers_once

    @property
    def unscored(self) -> bool:
        """Whether the items have choices without scores, as in a log that stores only answers."""
        return bool(getattr(self.source, "unscored", False))

    @property
    def server(self) -> dict[str, Any] | None:
        """The server, the results of its trial, and its usage; None for a local model."""
        if self.prompted is None:
            return None
        return self.prompted.server(self.out / WORK)

    def why_no_gradients(self) -> str:
        """Return a sentence on why the model has no gradients of its words; "" if it has them."""
        reason = explain_missing_ability(self.scorer, "gradients")
        # The check below is more precise for a loaded model, but imports torch, which takes seconds.
        # A model on a server has no parameters on this machine, and needs no such check.
        is_remote = getattr(self.source, "n_parameters", None) is None
        if reason and is_remote:
            return reason
        from rightreasons.models.gradients.inputs import explain_missing_gradients

        # For a loaded model, this reason is more precise.
        return explain_missing_gradients(self.scorer)

    @property
    def task(self) -> Literal["classification", "multiple_choice", "confidence"]:
        """Task of the model; "confidence" if only confidences in given answers are stored."""
        if self.stored is not None:
            return self.stored.task
        return "multiple_choice" if self.label_names is None else "classification"

    @property
    def label_names(self) -> tuple[str, ...] | None:
        """Names of the classes; None for multiple choice and for confidences in given answers."""
        return self.source.label_names

    def label_name(self, label: int) -> str:
        """Return the name of a class, such as "negative" or "choice 1"; "" for the label -1.

        Args:
            label: Number of a class or choice. In the task "confidence", 1 for a correct answer and
                0 for an incorrect one.
        """
        if label < 0:
            return ""
        if self.task == "confidence":
            return ("wrong", "right")[label]
        if self.label_names is None:
            return f"choice {label + 1}"
        return self._class_words.get(label, self.label_names[label])

    @functools.cached_property
    def _class_words(self) -> dict[int, str]:
        """Class number -> its name in the data, if the model only numbers its classes.

        An example is `{0: "negative"}` for a class that the model calls "LABEL_0". Empty if the
        model has names of classes, or the task is multiple choice.
        """
        split = self.primary
        if split.class_of is None or not are_numbers(self.label_names or ()):
            return {}
        words = {}
        # Entry k of `class_of` is the class of label k of the data; the final -1 is for unlabeled
        # items.
        for class_number, name in zip(
            split.class_of.tolist(), split.data_label_names, strict=False
        ):
            if class_number >= 0:
                words[class_number] = name
        return words

    @property
    def model_fingerprint(self) -> str:
        """Digest of everything that the predictions depend on."""
        # The digest reads every weight, so that it is computed once.
        if "fingerprint" not in self._shared:
            self._shared["fingerprint"] = self.source.fingerprint
        return cast("str", self._shared["fingerprint"])

    def get_run_arguments(self, out: Path) -> dict[str, Any]:
        """Return keyword arguments for running the model on items, such as its batch size.

        Args:
            out: A folder from `folder` for the answers of the model. Answers that it already
                contains are not computed again.
        """
        from rightreasons.models.runs.processes import default_batch_size

        return {
            "out": out,
            "batch_size": self.settings.batch_size or default_batch_size(self.scorer),
            "progress": self.progress,
            "fail_fast": self.settings.fail_fast,
        }

    def folder(self, purpose: str, *depends: str, model: str = "") -> Path:
        """Return the path of a folder for intermediate results, which may not exist yet.

        A later run of the same audit gets the same folder, so that it can resume. The folder is
        another one if the model or anything else differs that the results depend on.

        Args:
            purpose: Content of the folder, such as the name of a question.
            *depends: Everything besides the model that the results depend on, such as the
                fingerprint of a split or an option.
            model: Digest to use instead of the fingerprint of the model; "" to use the fingerprint.
        """
        parts = (model or self.model_fingerprint, *depends)
        digest = hashlib.blake2b("|".join(parts).encode(), digest_size=8)
        return self.out / WORK / f"{safe_name(purpose)}-{digest.hexdigest()}"

    # --- Suite and known issues

    def suite(self, options: BehaviorOptions) -> Suite | None:
        """Return the behavioral suite that the options name, opened once; None if they name none.

        Args:
            options: Options of the question about behavior: the suite, and its number of cases.
        """
        from rightreasons.datasets.suites.suite import open_suite

        # Several questions may read the suite, which is slow to open.
        if options.suite is not None and "suite" not in self._shared:
            self._shared["suite"] = open_suite(
                options.suite,
                data_dir=self.settings.data_dir,
                known_issues=self.settings.known_issues,
                seed=self.seed,
                max_cases=options.max_cases,
            )
        return self._shared.get("suite")

    def list_corrections(self) -> list[str]:
        """Return sentences on the corrections of known issues in the data and in the suite."""
        from rightreasons.datasets.issues.correcting import NOTE_HEADING

        notes = [find_paragraph(self.primary.data.info.description or "", NOTE_HEADING)]
        suite = self._shared.get("suite")
        if suite is not None:
            notes.append(suite.describe_corrections())
        return [note for note in notes if note]
