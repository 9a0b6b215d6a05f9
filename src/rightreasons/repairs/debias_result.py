"""What a correction of answer priors made, and whether it is recommended."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from rightreasons.audited.context import AuditContext
from rightreasons.probes.corrections import PriorCorrection
from rightreasons.repairs.acceptance import Criterion
from rightreasons.repairs.prior_effects import CorrectionEffect
from rightreasons.report.render import PAGE


@dataclasses.dataclass(frozen=True, eq=False)
class DebiasResult:
    """A correction of answer priors, and what it changes.

    Attributes:
        out: Folder with the correction, the page and audit.json.
        context: The model and the items.
        correction: The correction per item, fitted on the first part of the items.
        before: Figures of the uncorrected model on the other items.
        effects: Method -> its figures on the same items: "per_item" and, if they apply, "positions"
            (PriDe) and "content_free" (contextual calibration).
        skipped: Method -> the reason why it does not apply.
        criteria: Conditions under which the correction is recommended.
        n_fit: Number of items that the corrections were fitted on.
        n_items: Number of items that the corrections are judged on.
    """

    out: Path
    context: AuditContext
    correction: PriorCorrection
    before: CorrectionEffect
    effects: Mapping[str, CorrectionEffect]
    skipped: Mapping[str, str]
    criteria: tuple[Criterion, ...]
    n_fit: int
    n_items: int

    @property
    def after(self) -> CorrectionEffect:
        """The effect of the correction per item."""
        # The two others are compared with it, and never recommended.
        return self.effects["per_item"]

    @property
    def recommended(self) -> bool | None:
        """Whether the correction is recommended; None if the model shows no prior to correct."""
        # The first condition is that there is a prior. Otherwise, a correction only adds noise.
        prior = self.criteria[0]
        if not prior.is_met:
            return None
        return all(criterion.is_met for criterion in self.criteria)

    @property
    def page(self) -> Path:
        """The page."""
        return self.out / PAGE
