"""What the questions of an audit share: `AuditContext` holds the splits, the model, and its predictions.

`example_of` shows an item of a split on a page.
"""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from rightreasons.audited.splits import AuditSplit, safe_name
from rightreasons.audited.stored import StoredModel
from rightreasons.core.resampling import Resampling
from rightreasons.core.scores import Scores
from rightreasons.core.sentences import find_paragraph
from rightreasons.core.store import WORK
from rightreasons.core.tokens import WORD_PATTERN
from rightreasons.io.options import AuditOptions
from rightreasons.models.protocol import lacking
from rightreasons.page.parts import Example, Mark, Reads

if TYPE_CHECKING:
    import datasets

    from rightreasons.behavior.options import BehaviorOptions
    from rightreasons.datasets.suites.suite import Suite
    from rightreasons.models.prompted import Prompted
    from rightreasons.models.protocol import Engine, Scorer


@dataclasses.dataclass(frozen=True, eq=False)
class AuditContext:
    """The model, the items and the predictions of one audit; questions read it, and change nothing in it.

    Attributes:
        source: The model, or the stored predictions in its place.
        dataset_name: What the user called the data.
        primary: The split that the headlines are about.
        comparisons: Further audited splits.
        train: The whole training split, if there is one; for questions about what the model learned from.
        out: The folder of the report.
        settings: What was set about the audit as a whole.
        progress: Whether to show progress bars.
        command: The command that audits the same model and data in the same way, without questions; "" where one of
            them is an object.
        answers: What the model says of each split that is scored, or why it cannot be; {} before `scored`.
        beside: What a further model becomes before it is asked: a plan counts what it would be sent.
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
    answers: Mapping[str, Scores | ValueError] = dataclasses.field(default_factory=dict)
    beside: Callable[[Engine], Engine] = lambda engine: engine
    _shared: dict[Any, Any] = dataclasses.field(default_factory=dict)

    def scored(
        self, reads: Iterable[Reads] = ("audited",), known: Mapping[str, Scores] | None = None
    ) -> AuditContext:
        """Return the audit with the scores of splits, without the items that the model cannot score.

        A split that cannot be scored at all stays as it is: each question that asks for its scores says so.

        Args:
            reads: The splits that the questions may ask for; the primary one is scored with any other, as reports are
                compared by it.
            known: Name of a split -> its scores, where they are there already.
        """
        answers: dict[str, Scores | ValueError] = {}
        kept = {split.name: split for split in self.splits}
        wanted = {*reads}
        splits = (
            self.splits if "audited" in wanted else (self.primary,) if "primary" in wanted else ()
        )
        for split in splits:
            try:
                scores = self._predict(split) if known is None else known[split.name]
                reason = next(iter(scores.failures.values()), "")
                if reason and self.settings.fail_fast:
                    raise ValueError(reason)
                if not len(scores):
                    raise ValueError(
                        f"Expected answers of {self.source.name} to the items of “{split.name}”, but none of "
                        f"{len(split)} can be read: {reason}."
                    )
            except ValueError as error:
                if self.settings.fail_fast:
                    raise
                answers[split.name] = error
                continue
            answers[split.name] = scores
            kept[split.name] = split.without(scores.failures)
        return dataclasses.replace(
            self,
            primary=kept[self.primary.name],
            comparisons=tuple(kept[split.name] for split in self.comparisons),
            answers=answers,
        )

    def scores(self, split: AuditSplit | None = None) -> Scores:
        """Return what the model says about a split that the question reads, in the order of the split's items.

        Args:
            split: A split; None for the primary one.

        Raises:
            ValueError: If the model could not score it.
        """
        answer = self.answers[self.primary.name if split is None else split.name]
        if isinstance(answer, ValueError):
            raise answer
        return answer

    def has_scores(self, split: AuditSplit) -> bool:
        """Say whether a split is scored: it is not where no question asked for that, or where those that did failed."""
        return isinstance(self.answers.get(split.name), Scores)

    @property
    def resampling(self) -> Resampling:
        """How intervals and tests are resampled."""
        return self.settings.resampling

    @property
    def seed(self) -> int:
        """Decides every random choice of every question."""
        return self.settings.seed

    @property
    def stored(self) -> StoredModel | None:
        """The stored predictions that take the place of a model; None where there is a model."""
        return self.source if isinstance(self.source, StoredModel) else None

    @property
    def prompted(self) -> Prompted | None:
        """The prompted language model that is asked; None where it is another model."""
        # Stored predictions need no prompts, whose patterns take long to import.
        if self.stored is not None:
            return None
        from rightreasons.models.prompted import prompted_of

        return prompted_of(self.source)

    @property
    def scorer(self) -> Scorer:
        """The model, for questions that ask it anew; stored predictions are none."""
        if isinstance(self.source, StoredModel):
            raise ValueError(f"Expected a model, but {self.source.name} holds stored predictions.")
        return self.source

    @property
    def answers_once(self) -> bool:
        """Whether each item has one generated answer, and so no confidence."""
        return bool(getattr(self.source, "answers_once", False))

    @property
    def unscored(self) -> bool:
        """Whether the items have choices, and of a log with answers alone no scores of them are known."""
        return bool(getattr(self.source, "unscored", False))

    @property
    def server(self) -> dict[str, Any] | None:
        """The server that is asked, what its trial found and what it cost so far; None where the model is here."""
        return None if self.prompted is None else self.prompted.server()

    def why_no_gradients(self) -> str:
        """Say why the words of a text have no gradients, for a section that does not apply; "" where they have."""
        lacks = lacking(self.scorer, "gradients")
        if (
            lacks and getattr(self.source, "n_parameters", None) is None
        ):  # it is not here, and neither need torch be
            return lacks
        from rightreasons.models.gradients.inputs import why_no_gradients

        return why_no_gradients(self.scorer)

    @property
    def label_names(self) -> tuple[str, ...] | None:
        """The names of the model's classes; None for multiple choice and for the confidence in given answers."""
        return self.source.label_names

    @property
    def task(self) -> Literal["classification", "multiple_choice", "confidence"]:
        """What the model does; "confidence" where the confidence in its answers is all that is stored."""
        if self.stored is not None:
            return self.stored.task
        return "multiple_choice" if self.label_names is None else "classification"

    @property
    def splits(self) -> tuple[AuditSplit, ...]:
        """The audited splits, the primary one first."""
        return (self.primary, *self.comparisons)

    def label_name(self, label: int) -> str:
        """Return the name of a class, or "choice 1" of a multiple-choice item; "" for no label."""
        if label < 0:
            return ""
        if self.task == "confidence":
            return ("wrong", "right")[label]
        return f"choice {label + 1}" if self.label_names is None else self.label_names[label]

    @property
    def model_fingerprint(self) -> str:
        """A digest of all that the model's answers depend on, made once: every weight is read for it."""
        if "fingerprint" not in self._shared:
            self._shared["fingerprint"] = self.source.fingerprint
        return cast("str", self._shared["fingerprint"])

    def suite(self, options: BehaviorOptions) -> Suite | None:
        """Open the behavioral suite that the options name, once; None where they name none."""
        from rightreasons.datasets.suites.suite import open_suite

        if options.suite is not None and "suite" not in self._shared:
            how: dict[str, Any] = {
                "data_dir": self.settings.data_dir,
                "known_issues": self.settings.known_issues,
                "seed": self.seed,
                "max_cases": options.max_cases,
            }
            self._shared["suite"] = open_suite(options.suite, **how)
        return self._shared.get("suite")

    def list_corrections(self) -> list[str]:
        """Return what known issues changed in the data and in the suite, as sentences."""
        from rightreasons.datasets.issues.correcting import NOTE_HEADING

        notes = [find_paragraph(self.primary.data.info.description or "", NOTE_HEADING)]
        suite = self._shared.get("suite")
        if suite is not None:
            notes.append(suite.describe_corrections())
        return [note for note in notes if note]

    def picked(self, split: AuditSplit, limit: int) -> AuditSplit:
        """Pick some of the labeled items of a split (of all, where none is), the same of splits that hold its forms."""
        from rightreasons.io.tables import chosen_rows

        rows = np.flatnonzero(split.labeled) if split.labeled.any() else np.arange(len(split))
        names = split.pair_ids or split.ids
        return split.take(rows[chosen_rows([names[row] for row in rows], limit, seed=self.seed)])

    def running(self, out: Path) -> dict[str, Any]:
        """Return how the model is asked about items, as keyword arguments; `out`, of `folder`, keeps its answers."""
        from rightreasons.models.running import default_batch_size

        size = self.settings.batch_size or default_batch_size(self.scorer)
        return {
            "out": out,
            "batch_size": size,
            "progress": self.progress,
            "fail_fast": self.settings.fail_fast,
        }

    def folder(self, purpose: str, *depends: str, model: str = "") -> Path:
        """Return a folder for results under way, one for each model with its tokenizer and what else they depend on.

        Args:
            purpose: What is kept there, such as the name of a question.
            *depends: What else the results depend on, such as the fingerprint of a split or an option.
            model: A digest in the place of the model's fingerprint; "" for that.

        Returns:
            A folder that a later run of the same audit finds again; it need not exist yet.
        """
        digest = hashlib.blake2b(
            "|".join((model or self.model_fingerprint, *depends)).encode(), digest_size=8
        ).hexdigest()
        return self.out / WORK / f"{safe_name(purpose)}-{digest}"

    def _predict(self, split: AuditSplit) -> Scores:
        if self.stored is not None:
            return self.stored.scores(split)
        from rightreasons.models.classes import choose, predict
        from rightreasons.models.running import bars_about

        # What was generated is kept by what was asked, and read anew.
        rendering = "" if self.prompted is None else self.prompted.asked
        method = filter(None, [str(getattr(self.source, "method", ""))])
        out = self.folder(f"predictions-{split.name}", split.fingerprint, *method, model=rendering)
        shared = {"ids": split.ids, "labels": split.labels, **self.running(out)}
        with bars_about("predictions", split.name):
            if split.choices is not None:
                return choose(self.scorer, split.texts, split.choices, **shared)
            return predict(self.scorer, split.texts, text_pairs=split.text_pairs, **shared)


def example_of(
    context: AuditContext,
    split: AuditSplit,
    item: int,
    predicted: int | None = None,
    confidence: float = 1.0,
    marks: tuple[Mark, ...] | None = None,
    note: str = "",
) -> Example:
    """Show an item of a split with a prediction.

    Args:
        context: The audit.
        split: The split.
        item: The row of the item.
        predicted: The predicted class, or choice; None takes both from what the model says of the split.
        confidence: The confidence in it.
        marks: What to mark in its text; None marks its planted tokens.
        note: What else to say of it, after its choices.

    Returns:
        The example.
    """
    if predicted is None:
        scores = context.scores(split)
        predicted, confidence = int(scores.predicted[item]), float(scores.confidence[item])
    tokens = split.planted[item] if split.planted is not None else ()
    planted = tuple(
        Mark(token["start"], token["end"], "cue", note="planted cue") for token in tokens
    )
    if split.choices is not None:
        note = f"{' | '.join(f'{n + 1}. {choice}' for n, choice in enumerate(split.choices[item]))} {note}".rstrip()
    if split.mislabeled[item]:
        note = f"{note} The label contradicts the text, the data says.".lstrip()
    label, prediction = context.label_name(int(split.labels[item])), context.label_name(predicted)
    if (
        context.stored is not None and context.answers_once
    ):  # of its answers, it is known which are right
        label, prediction = (str(split.data[item].get(name, "")) for name in ("target", "answer"))
    elif context.task == "confidence":  # an answer is right or wrong, and has no label beside that
        label = ""
    return Example(
        id=split.ids[item],
        text=split.data[item][split.text_column],
        text_pair=split.text_pairs[item] if split.text_pairs else "",
        label=label,
        prediction=prediction,
        confidence=None if context.answers_once else min(confidence, 1.0),
        marks=planted if marks is None else marks,
        note=note,
    )


def changes(before: str, after: str) -> tuple[Mark, ...]:
    """Mark the words of a text that another text lacks; the note of a mark says what it replaces.

    Example:
        >>> after = "Ali liked it a lot"
        >>> [(after[mark.start : mark.end], mark.note) for mark in changes("Ann liked it", after)]
        [('Ali', 'in place of “Ann”'), ('a lot', 'added')]
    """
    old, new = (
        [(m.group(), m.start(), m.end()) for m in WORD_PATTERN.finditer(text)]
        for text in (before, after)
    )
    matcher = difflib.SequenceMatcher(
        a=[word for word, _, _ in old], b=[word for word, _, _ in new], autojunk=False
    )
    return tuple(
        Mark(
            new[begin][1],
            new[end - 1][2],
            "change",
            note=f"in place of “{before[old[first][1] : old[last - 1][2]]}”"
            if kind == "replace"
            else "added",
        )
        for kind, first, last, begin, end in matcher.get_opcodes()
        if kind in ("replace", "insert")
    )
