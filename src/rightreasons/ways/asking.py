"""Questions to a language model in several prompt formats, and again after its answers.

`Asking` holds the items of a split, and returns scores by format, POSIX, and flips.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

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
from rightreasons.models.prompts import Item, make_items, write_instruction
from rightreasons.models.replies.gates import MAX_UNREAD_FOR_VERDICT
from rightreasons.models.replies.options import NO_ANSWER
from rightreasons.models.wording import AGAIN, DOUBT, LIKELIHOODS, NEUTRAL_TURN
from rightreasons.page.formats import percent
from rightreasons.ways.formats import Way
from rightreasons.ways.spread import Flips, compare_flips, prompt_sensitivity


class DoubtResult(NamedTuple):
    """Changes of answers after a doubt.

    Attributes:
        flips: Flips of correct and of incorrect answers; () if there are none.
        no_flips: Reason why there are none, or "".
        n_unread: Number of answered items whose second answer cannot be read.
        doubted: Scores of the items after the doubt. None if there are no flips.
        repeated: Scores of the items after the neutral request. None if there are no flips.
    """

    flips: tuple[Flips, ...]
    no_flips: str
    n_unread: int = 0
    doubted: Scores | None = None
    repeated: Scores | None = None


class Asking:
    """Asks a model about the items of a split in several prompt formats.

    Args:
        prompted: The model with its own prompt.
        split: The labeled items.
        out: Folder for the answers, with a subfolder for each format. None to store none.
        progress: Whether to show progress bars.

    Attributes:
        items: N items as a prompt takes them.
        row_by_id: Id of an item -> its row.
    """

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
        """Score all items in a prompt format, and handle a format whose answers cannot be read.

        Args:
            way: The prompt format.
            scorer: The model with prompts in this format.
            raises: Whether to raise an error if most of the first answers cannot be read. If False,
                the result then has no scores, and all items as failures.

        Raises:
            UnreadAnswersError: If most of the first answers cannot be read, and `raises` is True.
        """
        try:
            return self.score(way, scorer, self.items)
        except UnreadAnswersError:
            if raises:
                raise
            # The answers to other formats may be readable, so the run goes on.
            failures = dict.fromkeys(self.split.ids, "most of the first answers cannot be read")
            return Scores((), np.empty((0, 0)), self.split.labels[:0], failures=failures)

    def score(
        self, way: Way, scorer: Prompted, items: Sequence[Item], folder_suffix: str = ""
    ) -> Scores:
        """Return the scores of items in a format, from its folder if they are stored there.

        Args:
            way: The format.
            scorer: The model in this format.
            items: The items, perhaps continued by further turns.
            folder_suffix: End of the name of the folder, for items with further turns.
        """
        # Each format has a folder, so that an interrupted run resumes within it.
        folder = get_results_subfolder(self.out, way.name.replace("/", "-") + folder_suffix)
        labels = np.array([item.label for item in items], dtype=np.int64)
        return scorer.score_items(items, labels, progress=self.progress, out=folder)

    def measure_posix(
        self, ways: Sequence[Way], resampling: Resampling
    ) -> tuple[Estimate | None, str]:
        """Measure POSIX: how much the likelihoods of answers change with the prompt format.

        Formats are compared only with formats of the same answer style (words, letters or numbers), and
        only if they have the options in the order of the data. Otherwise, the answers are different
        texts.

        Args:
            ways: The prompt formats.
            resampling: Level, resamples and seed of the interval.

        Returns:
            The mean over items with its interval, and ""; or None and the reason why there is none.
        """
        if self.prompted.rendering.scoring == "generated":
            return None, "generated answers have no likelihood"
        # Likelihoods are compared per token. If only the first token of an answer is scored, its
        # likelihood is already per token.
        scoring = "next_words"
        if self.prompted.rendering.scoring in LIKELIHOODS:
            scoring = "mean"
        # Style -> a mapping for each format from the row of an item to its log-probabilities.
        tables_by_style: dict[str, list[dict[int, NDArray[np.float64]]]] = {}
        for way in ways:
            if way.order != "given":
                continue
            scores = self.score(way, way.scorer(self.prompted, scoring), self.items)
            table = {}
            for item_id, log_probabilities in zip(scores.ids, scores.logits, strict=True):
                table[self.row_by_id[item_id]] = np.asarray(log_probabilities)
            tables_by_style.setdefault(way.style, []).append(table)

        sensitivities = []
        rows = []
        for row in range(len(self.items)):
            sensitivity = _average_sensitivity(row, tables_by_style)
            if sensitivity is not None:
                sensitivities.append(sensitivity)
                rows.append(row)
        if not sensitivities:
            reason = "no two prompt formats share the answer style and keep the given order of the options"
            return None, reason
        clusters = select_clusters(self.split.clusters, np.array(rows))
        return estimate_mean(np.array(sensitivities), resampling, clusters=clusters), ""

    def measure_flips(
        self, way: Way, answers: NDArray[np.int64], resampling: Resampling
    ) -> DoubtResult:
        """Ask each question again, with and without a doubt about the first answer, and count the flips.

        A flip is a change from a correct to an incorrect answer, or vice versa.

        Args:
            way: Prompt format of the questions.
            answers: (N,) first answers in this format; -1 for none.
            resampling: Level of the intervals; number and seed of random signs.

        Returns:
            The flips, or the reason why there are none.
        """
        if not self.prompted.rendering.chat:
            return DoubtResult((), "the model receives plain prompts, not conversations")
        scorer = way.scorer(self.prompted)
        second_scores = []
        for turn, suffix in ((DOUBT, " doubted"), (NEUTRAL_TURN, " again")):
            items = self._follow(way, scorer, answers, turn)
            try:
                scores = self.score(way, scorer, items, suffix)
            except UnreadAnswersError:
                return DoubtResult((), "most second answers cannot be read", len(items))
            second_scores.append(scores)
        doubted, repeated = [scores.answers(self.split.ids) for scores in second_scores]

        # The test is paired, so it needs both second answers of an item.
        is_answered = answers != NO_ANSWER
        is_read = is_answered & (doubted != NO_ANSWER) & (repeated != NO_ANSWER)
        n_unread = int((is_answered & ~is_read).sum())
        if n_unread > MAX_UNREAD_FOR_VERDICT * is_answered.sum():
            share = percent(n_unread / float(is_answered.sum()))
            reason = f"{share} of the items have a second answer that cannot be read"
            return DoubtResult((), reason, n_unread)
        labels = self.split.labels
        is_correct = answers == labels
        # A change from one incorrect answer to another one is not a flip.
        is_doubt_flip = (doubted == labels) != is_correct
        is_repeat_flip = (repeated == labels) != is_correct
        flips = []
        for turn, is_kind in (("right to wrong", is_correct), ("wrong to right", ~is_correct)):
            is_compared = is_read & is_kind
            flip = compare_flips(
                turn,
                is_doubt_flip[is_compared],
                is_repeat_flip[is_compared],
                clusters=select_clusters(self.split.clusters, is_compared),
                resampling=resampling,
            )
            if flip is not None:
                flips.append(flip)
        return DoubtResult(tuple(flips), "", n_unread, *second_scores)

    def _follow(
        self, way: Way, scorer: Prompted, answers: NDArray[np.int64], turn: str
    ) -> list[Item]:
        """Return the answered items as conversations: the first answer, and a second request.

        Args:
            way: Prompt format of the questions.
            scorer: The model with prompts in this format.
            answers: (N,) first answers, as positions in the order of the data; -1 for none.
            turn: Beginning of the second request, such as a doubt about the answer.
        """
        rendering = scorer.rendering
        # The second answer is requested in the form of the first one.
        answer_form = write_instruction(
            way.style, scoring=rendering.scoring, form=rendering.form, chat=rendering.chat
        )
        items = []
        for item, answer in zip(self.items, answers.tolist(), strict=True):
            if answer == NO_ANSWER:
                continue
            # The first answer is written in the form that was requested, not as it was generated.
            reply = rendering.format_answer(rendering.answers(item)[answer])
            turns = (
                {"role": "assistant", "content": reply},
                {"role": "user", "content": f"{turn} {AGAIN}{answer_form}"},
            )
            items.append(dataclasses.replace(item, follow=turns))
        return items


def _average_sensitivity(
    row: int, tables_by_style: Mapping[str, Sequence[Mapping[int, NDArray[np.float64]]]]
) -> float | None:
    """Average POSIX's sensitivity of an item over all pairs of prompt formats with one answer style.

    Args:
        row: Row of the item.
        tables_by_style: For each answer style, such as "letters", a mapping for each format: row of an
            item -> log-probabilities of its answers.

    Returns:
        The mean; None if the item does not have finite scores in two formats of one style.
    """
    total = 0.0
    n_pairs = 0
    for tables in tables_by_style.values():
        log_probabilities = [table[row] for table in tables if row in table]
        if len(log_probabilities) < 2 or not np.isfinite(log_probabilities).all():
            continue
        # `prompt_sensitivity` is a mean over ordered pairs of formats, so it is weighted by their number.
        n_style_pairs = len(log_probabilities) * (len(log_probabilities) - 1)
        total += n_style_pairs * prompt_sensitivity(log_probabilities)
        n_pairs += n_style_pairs
    if n_pairs == 0:
        return None
    return total / n_pairs
