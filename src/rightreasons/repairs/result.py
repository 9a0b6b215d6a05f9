"""Result of a repair: the edited texts, the retrained model, and whether it is verified."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rightreasons.core.sentences import pluralize
from rightreasons.repairs.edits import EditedItems
from rightreasons.repairs.findings import Findings
from rightreasons.repairs.plan import PlannedWord
from rightreasons.repairs.retraining import make_table
from rightreasons.repairs.training_set import TrainingSet
from rightreasons.repairs.verification import Reading, Verification
from rightreasons.repairs.words import SpuriousWords
from rightreasons.report.render import PAGE
from rightreasons.report.schema import read_audit
from rightreasons.report.views import describe_verdicts, render_summary
from rightreasons.shortcuts.measure_deciding import FeatureEffect
from rightreasons.shortcuts.swapping.segments import Text

if TYPE_CHECKING:
    import datasets


@dataclasses.dataclass(frozen=True)
class Round:
    """One round of edits.

    Attributes:
        words: Words that were edited.
        candidates: New words that decide more than their margin in the retrained model.
    """

    words: tuple[str, ...]
    candidates: tuple[str, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class RepairResult:
    """The repaired texts, the retrained model, and the verification of a repair.

    Attributes:
        out: Folder with the repaired texts and the plan, and after a verification with the page and
            audit.json.
        findings: Features that the audit named, and the audited items.
        words: Words that are no reasons, with the label that each predicts.
        edited: How the texts were edited.
        training: Training texts after the edit.
        originals: Training texts before the edit.
        plan: Words for a person to judge, and those that were judged.
        model: The retrained model, in any form that `as_scorer` accepts; None if only the user can
            train it.
        verification: Figures of both models on the audited items; None without a retrained model.
        rounds: The rounds, in order.
        remaining: Other features that decide in the retrained model, largest first.
        longer_forms: Unedited word that begins with an edited one, such as "immigrants" -> number
            of training texts.
    """

    out: Path
    findings: Findings
    words: SpuriousWords
    edited: EditedItems
    training: TrainingSet
    originals: Sequence[Text]
    plan: tuple[PlannedWord, ...] = ()
    model: Any = None
    verification: Verification | None = None
    rounds: tuple[Round, ...] = ()
    remaining: tuple[FeatureEffect, ...] = ()
    longer_forms: dict[str, int] = dataclasses.field(default_factory=dict)

    @property
    def n_training(self) -> int:
        """Number of training texts before the edit."""
        # The edited set may have more texts by copies, or fewer, without those that became empty.
        return len(self.originals)

    @property
    def has_other_training(self) -> bool:
        """Whether the report had other training texts; False if it had none."""
        digest = self.findings.training_digest
        return digest not in ("", self.training.digest)

    @property
    def train(self) -> datasets.Dataset:
        """The repaired texts as a table."""
        # The table is only made on request, because it copies all texts.
        return make_table(self.training)

    @property
    def repaired(self) -> bool | None:
        """Whether the retrained model meets the acceptance rule; None without one."""
        # Edited texts without a retrained model are not a repair.
        if self.verification is None:
            return None
        return self.verification.repaired

    @property
    def before(self) -> Reading | None:
        """The model before the repair, on the audited items."""
        if self.verification is None:
            return None
        return self.verification.before

    @property
    def after(self) -> Reading | None:
        """The retrained model, on the audited items."""
        if self.verification is None:
            return None
        return self.verification.after

    @property
    def page(self) -> Path | None:
        """The page; None without a retrained model."""
        # A page reports a verification, so that there is none without a retrained model.
        if self.verification is None:
            return None
        return self.out / PAGE

    def __str__(self) -> str:
        # Texts alone have no verdict, and no audit.json.
        if self.verification is None:
            return (
                f"{pluralize(len(self.training.labels), 'training text')}, not verified: {self.out}"
            )
        return describe_verdicts(read_audit(self.out), self.out)

    def _repr_html_(self) -> str:
        if self.verification is None:
            return html.escape(str(self))
        return render_summary(read_audit(self.out), self.out)

    @property
    def n_items(self) -> int:
        """Number of audited items on which the models were compared."""
        if self.verification is None:
            return 0
        return self.verification.n_items
