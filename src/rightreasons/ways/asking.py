"""Questions to a language model in several prompt formats, and again after its answers.

`Asking` holds the items of a split, and returns scores by format, POSIX, and flips.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.splits import AuditSplit
from rightreasons.core.clusters import select_clusters
from rightreasons.core.errors import UnreadAnswersError
from rightreasons.core.estimates import Estimate, estimate_mean, estimate_rate
from rightreasons.core.resampling import Resampling
from rightreasons.core.scores import Scores
from rightreasons.core.store import get_results_subfolder
from rightreasons.models.prompted import Prompted
from rightreasons.models.prompts import Item, instruction, make_items
from rightreasons.models.replies.gates import MAX_UNREAD_FOR_VERDICT
from rightreasons.models.replies.options import NO_ANSWER
from rightreasons.models.wording import AGAIN, DOUBT, LIKELIHOODS, NEUTRAL_TURN
from rightreasons.page.formats import percent
from rightreasons.ways.formats import Way
from rightreasons.ways.spread import Flips, compare_flips, prompt_sensitivity


class Asking:
    """Asks about the items of a split in several formats."""

    def __init__(
        self, prompted: Prompted, split: AuditSplit, out: Path | None, progress: bool
    ) -> None:
        self.prompted = prompted
        self.split = split
        self.out = out
        self.progress = progress
        self.items = make_items(split.ids, split.labels.tolist(), **split.fields)
        self.row_by_id = {item.id: row for row, item in enumerate(self.items)}

    def estimate_accuracy(self, answers: NDArray[np.int64], resampling: Resampling) -> Estimate:
        """Return the share of correct answers; an unread answer is incorrect."""
        accuracy = estimate_rate(answers == self.split.labels, resampling, self.split.clusters)
        if accuracy is None:
            raise ValueError(f"Expected items in “{self.split.name}”, but there are none.")
        return accuracy

    def score_readable(self, way: Way, scorer: Prompted, *, raises: bool) -> Scores:
        """Return the scores of a format; none if most of its first answers cannot be read."""
        try:
            return self.score(way, scorer, self.items)
        except UnreadAnswersError:
            if raises:
                raise
            # Another format may still be read.
            failures = dict.fromkeys(self.split.ids, "most of the first answers cannot be read")
            return Scores((), np.empty((0, 0)), self.split.labels[:0], failures=failures)

    def score(
        self, way: Way, scorer: Prompted, items: Sequence[Item], folder_suffix: str = ""
    ) -> Scores:
        """Return the scores of items in a format."""
        # Each format has a folder, so that an interrupted run resumes within it.
        folder = get_results_subfolder(self.out, way.name.replace("/", "-") + folder_suffix)
        labels = np.array([item.label for item in items], dtype=np.int64)
        return scorer.score_items(items, labels, progress=self.progress, out=folder)

    def measure_posix(
        self, ways: Sequence[Way], resampling: Resampling
    ) -> tuple[Estimate | None, str]:
        """Return POSIX over the formats in the given order, by answer style; or why there is none."""
        if self.prompted.rendering.scoring == "generated":
            return None, "generated answers have no likelihood"
        # Likelihoods per token are comparable across formats; a first token is its own mean.
        scoring = "next_words"
        if self.prompted.rendering.scoring in LIKELIHOODS:
            scoring = "mean"
        rows_by_style: dict[str, list[dict[int, NDArray[np.float64]]]] = {}
        for way in ways:
            # In another order, letters and numbers are other answers.
            if way.order != "given":
                continue
            scores = self.score(way, way.scorer(self.prompted, scoring), self.items)
            rows = {}
            for item_id, row in zip(scores.ids, scores.logits, strict=True):
                rows[self.row_by_id[item_id]] = np.asarray(row)
            rows_by_style.setdefault(way.style, []).append(rows)

        # An item without two formats of one style has no sensitivity.
        values = []
        indices = []
        for index in range(len(self.items)):
            sensitivity = _average_sensitivity(index, rows_by_style)
            if sensitivity is not None:
                values.append(sensitivity)
                indices.append(index)
        if not values:
            return None, (
                "no two ways share the style of the answers and the given order of the options"
            )
        clusters = select_clusters(self.split.clusters, np.array(indices))
        return estimate_mean(np.array(values), resampling, clusters=clusters), ""

    def measure_flips(
        self, way: Way, answers: NDArray[np.int64], resampling: Resampling
    ) -> tuple[tuple[Flips, ...], str, int]:
        """Return the flips of correct and of incorrect answers, why there are none, and the unread."""
        if not self.prompted.rendering.chat:
            return (), "the model is asked without turns of a conversation", 0
        scorer = way.scorer(self.prompted)
        second_answers = []
        for turn, suffix in ((DOUBT, " doubted"), (NEUTRAL_TURN, " again")):
            items = self._follow(way, scorer, answers, turn)
            try:
                scores = self.score(way, scorer, items, suffix)
            except UnreadAnswersError:
                return (), "most second answers cannot be read", len(items)
            second_answers.append(scores.answers(self.split.ids))
        doubted, repeated = second_answers

        # Only items with both second answers are compared, as the test is paired.
        is_answered = answers != NO_ANSWER
        is_read = is_answered & (doubted != NO_ANSWER) & (repeated != NO_ANSWER)
        n_unread = int((is_answered & ~is_read).sum())
        if n_unread > MAX_UNREAD_FOR_VERDICT * is_answered.sum():
            share = percent(n_unread / float(is_answered.sum()))
            return (), f"{share} of the items have a second answer that cannot be read", n_unread
        is_correct = answers == self.split.labels
        flips = []
        for turn, is_kind in (("right to wrong", is_correct), ("wrong to right", ~is_correct)):
            rows = is_read & is_kind
            flip = compare_flips(
                turn,
                (doubted == self.split.labels)[rows] != is_correct[rows],
                (repeated == self.split.labels)[rows] != is_correct[rows],
                clusters=select_clusters(self.split.clusters, rows),
                resampling=resampling,
            )
            if flip is not None:
                flips.append(flip)
        return tuple(flips), "", n_unread

    def _follow(
        self, way: Way, scorer: Prompted, answers: NDArray[np.int64], turn: str
    ) -> list[Item]:
        """Return the answered items, each with its first answer and a further turn."""
        rendering = scorer.rendering
        form = instruction(
            way.style, scoring=rendering.scoring, form=rendering.form, chat=rendering.chat
        )
        items = []
        for item, answer in zip(self.items, answers.tolist(), strict=True):
            if answer == NO_ANSWER:
                continue
            # The model reads its own answer in the form that was requested.
            reply = rendering.format_answer(rendering.answers(item)[answer])
            turns = (
                {"role": "assistant", "content": reply},
                {"role": "user", "content": f"{turn} {AGAIN}{form}"},
            )
            items.append(dataclasses.replace(item, follow=turns))
        return items


def _average_sensitivity(
    index: int, rows_by_style: Mapping[str, Sequence[Mapping[int, NDArray[np.float64]]]]
) -> float | None:
    """Return the sensitivity of an item over the pairs of formats of each style, or None."""
    total = 0.0
    n_pairs = 0
    for tables in rows_by_style.values():
        rows = [table[index] for table in tables if index in table]
        if len(rows) < 2 or not np.isfinite(rows).all():
            continue
        # Each style weighs as many pairs as it has.
        pairs = len(rows) * (len(rows) - 1)
        total += pairs * prompt_sensitivity(rows)
        n_pairs += pairs
    return total / n_pairs if n_pairs else None
