"""A scorer whose answer priors are corrected, to be audited like any other model.

`CorrectedScorer` asks the model twice, with and without the question, and passes both scores to a
`PriorCorrection`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Ragged
from rightreasons.core.scores import Scores
from rightreasons.core.store import digest_value, get_results_subfolder
from rightreasons.core.validation import check_ids
from rightreasons.models.protocol import Ability
from rightreasons.models.scorers import as_scorer
from rightreasons.probes.corrections import PriorCorrection, parse_choice_scores

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from rightreasons.models.protocol import HowToKeep


class CorrectedScorer:
    """A scorer of choices whose answer prior is corrected.

    Args:
        model: A multiple-choice model, in any form that `rightreasons.models.as_scorer` accepts.
        correction: Result of `fit_prior_correction` or `load_prior_correction`.

    Attributes:
        name: Name of the scorer, with a remark on the correction.
        label_names: None, as for every scorer of choices.
        abilities: Empty, because only scores can be corrected.
        fingerprint: Digest of the scorer and the correction.
        joint: Whether the scorer sees the choices of an item together.

    Raises:
        TypeError: If the argument is not a model.
        ValueError: If the model has classes.
    """

    # A scorer of choices has no classes. Gradients and texts cannot be corrected.
    label_names = None
    abilities: frozenset[Ability] = frozenset()

    def __init__(self, model: Any, correction: PriorCorrection) -> None:
        """Open the model, and store it with the correction."""
        scorer = as_scorer(model)
        if scorer.label_names is not None:
            raise ValueError(
                f"Expected a scorer of choices, but {scorer.name} has classes. Correct the priors "
                "of classes with `rightreasons recalibrate`."
            )
        self.scorer = scorer
        self.correction = correction
        self.name = f"{scorer.name}, answer priors corrected"
        self.joint = scorer.joint
        self.fingerprint = digest_value([scorer.fingerprint, correction.to_dict()])

    def describe(self) -> dict[str, Any]:
        """Return the description of the scorer, with the correction."""
        return {**self.scorer.describe(), "correction": self.correction.to_dict()}

    def predict(self, texts: Sequence[str], **keeping: Any) -> Scores:
        """Raise ValueError, because the model scores choices and has no classes."""
        raise ValueError(
            f"Expected a scorer of classes, but {self.name} is asked for choices: use `choose`."
        )

    def choose(
        self,
        prompts: Sequence[str],
        choices: Sequence[Sequence[str]],
        *,
        ids: Iterable[object] | None = None,
        labels: Sequence[int] | NDArray[Any] | None = None,
        **keeping: Unpack[HowToKeep],
    ) -> Scores:
        """Score the choices of N items with and without their questions, and correct the scores.

        Args:
            prompts: N questions.
            choices: N lists of choices.
            ids: N unique ids; None to number the items.
            labels: (N,) correct choices; None if they are unknown.
            **keeping: Whether to show `progress`, and the folder `out` of the scores.

        Returns:
            Corrected scores. Items that the model cannot score with or without the question are
            among the failures.
        """
        # Both requests of an item have the same id, by which their scores are joined.
        names = check_ids(range(len(prompts)) if ids is None else ids, "ids")
        progress = keeping.get("progress", True)
        out = keeping.get("out")
        answers = self.scorer.choose(
            prompts,
            choices,
            ids=names,
            labels=labels,
            progress=progress,
            out=get_results_subfolder(out, "items"),
        )
        # A correction that removes nothing costs no second request.
        no_question_answers = None
        if self.correction.needs_second_request:
            no_question_answers = self.scorer.choose(
                [""] * len(choices),
                choices,
                ids=names,
                progress=progress,
                out=get_results_subfolder(out, "without_question"),
            )
        return correct_scores(answers, no_question_answers, self.correction)


def correct_scores(
    answers: Scores, no_question_answers: Scores | None, correction: PriorCorrection
) -> Scores:
    """Correct the scores of items, and leave out those that lack scores without the question.

    Args:
        answers: Scores of the choices with the question.
        no_question_answers: Scores of the same choices without the question. None if the correction
            does not need them.
        correction: A fitted correction.

    Returns:
        Corrected logits. Items without one of the two scores are among the failures.
    """
    failures = dict(answers.failures)
    no_question_rows = None
    if no_question_answers is not None:
        # If an item failed in both requests, the reason of the one with the question is reported.
        failures = {**no_question_answers.failures, **failures}
        row_by_id = {item_id: row for row, item_id in enumerate(no_question_answers.ids)}
        rows = [row for row, item_id in enumerate(answers.ids) if item_id in row_by_id]
        answers = answers.take(np.array(rows, dtype=np.intp))
        # Both scores are listed in the order of `answers`.
        order = np.array([row_by_id[item_id] for item_id in answers.ids], dtype=np.intp)
        no_question_rows = _get_rows(no_question_answers.take(order))
    corrected = correction.correct_rows(_get_rows(answers), no_question_rows)
    return Scores(
        ids=answers.ids,
        logits=corrected.table(),
        labels=answers.labels,
        truncated=answers.truncated,
        way=answers.way,
        failures=failures,
    )


def _get_rows(scores: Scores) -> Ragged:
    return parse_choice_scores(scores.logits, "logits", "scores")
