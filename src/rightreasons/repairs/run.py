"""Find, fix, prove: edit the training texts by what an audit named, train again, and verify on the audited items."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rightreasons.core.errors import OptionError, OptionTypeError
from rightreasons.core.options import accept_options_as_keywords
from rightreasons.core.store import check_folder
from rightreasons.models.scorers import as_named_scorer
from rightreasons.repairs.edits import EditedItems, edit_items
from rightreasons.repairs.findings import Findings, read_findings
from rightreasons.repairs.options import RepairOptions
from rightreasons.repairs.other_signal import check_other_signal, enumerate_words
from rightreasons.repairs.plan import (
    PLAN_FILE,
    Judgment,
    explain_unjudged,
    make_plan,
    read_plan,
    write_plan,
)
from rightreasons.repairs.remaining import find_remaining, list_new_words
from rightreasons.repairs.result import RepairResult, Round
from rightreasons.repairs.retraining import MODEL_FOLDER, Retrain, parse_command, retrain_model
from rightreasons.repairs.training_set import TrainingSet, open_training_set
from rightreasons.repairs.verification import (
    MIN_DECIDED,
    Answers,
    ReportedAnswers,
    Versions,
    check_classes,
    read_versions,
    verify,
    write_versions,
)
from rightreasons.repairs.words import SpuriousWords, find_longer_forms
from rightreasons.report.render import PAGE
from rightreasons.report.schema import AUDIT_FILE
from rightreasons.shortcuts.measure_deciding import FeatureEffect

if TYPE_CHECKING:
    from rightreasons.models.protocol import Scorer

TRAIN_FILE = "train.repaired.csv"
"""The repaired training texts."""

OWN = (AUDIT_FILE, PAGE, "figures", PLAN_FILE, TRAIN_FILE, MODEL_FOLDER)
"""Files and folders that a repair writes into its folder."""

Judge = Callable[[str], bool]
"""Returns whether a word is no reason for a label."""


@accept_options_as_keywords(RepairOptions)
def repair(  # noqa: PLR0913 - what to repair, with what, and where to
    report: str | os.PathLike[str],
    train: Any,
    model: Any = None,
    *,
    options: RepairOptions,
    not_reasons: Iterable[str] | Judge = (),
    retrain: str | Retrain | None = None,
    after: Any = None,
    out: str | os.PathLike[str] = "repair",
) -> RepairResult:
    """Repair a model that relies on spurious words, and verify the repair on the audited items.

    The training texts are edited so that the words no longer predict a label, the model is trained
    again, and both models are compared on the items of the report: unchanged, without the words,
    and with the words swapped. Further rounds follow as long as the retrained model relies on other
    words that are no reasons for a label. Only words that were judged to be no reasons are edited.

    The repair is accepted if afterwards swapping the words flips at most 5 % of the predictions (the
    interval ends below 10 %), the accuracies with swapped words and without words differ by at most
    3 points, the accuracy without the words falls by at most 2 points, and the accuracy on
    unchanged texts is at most 3 points below the former accuracy without the words.

    Args:
        report: Folder of an audit with the question about shortcuts.
        train: Labeled training texts of the model: a file, a data set, or a table in memory.
        model: The audited model, in any form that `audit` accepts. If None (default), the model
            that the report names. If that was an object in memory, the texts are repaired, and
            `after` is compared with the predictions in the report.
        options: Fields of `RepairOptions` as keywords, such as `method`, `growth`, `rounds` and
            `seed`.
        not_reasons: Words that are no reasons for a label, or a function that returns whether a
            word is no reason. Words that the audit showed to be no reasons (planted, vanishing in
            another split, or named in its options) need not be repeated.
        retrain: A command such as "fine-tune demo --epochs 2", or a function from the repaired
            table to a model.
        after: A model that was trained elsewhere on the repaired texts, and is only verified.
        out: Folder for the repaired texts, the plan, the page and audit.json.

    Returns:
        A `RepairResult`: `train`, `model`, `before`, `after`, `repaired`, `page` and more.

    Raises:
        FileNotFoundError: If there is no report.
        ValueError: If no word was judged (repair.yaml then lists the words), a word is in no
            training text, the words decide too few predictions, only the words predict the label,
            or too few audited items are left that are not training texts. Then, only repair.yaml
            is written.
    """
    # Everything that can be refused is refused before the first text is edited.
    folder = check_folder(out, own=OWN)
    if isinstance(retrain, str):
        parse_command(retrain)
    findings = read_findings(report)
    training = open_training_set(train, findings.label_names, **options.source)
    source = findings.model_path if model is None else model
    # Some models, such as an object in memory, cannot be loaded from a report. Then, only their
    # predictions in the report are known.
    scorer = None
    if source is not None:
        # The classes of a function have no names, so that those of the report are used.
        scorer = as_named_scorer(source, findings.label_names)
    judged = collect_judgments(findings, not_reasons, folder / PLAN_FILE)
    work = _Repair(
        findings=findings,
        training=training,
        options=options,
        scorer=scorer,
        model=model,
        retrain=retrain,
        retrained=after,
        folder=folder,
    )

    # Only words that somebody judged are edited, because others may carry meaning.
    accepted = [word for word, judgment in judged.items() if judgment == "no"]
    if not accepted:
        plan = make_plan(findings, training, judged)
        if not plan:
            raise OptionError(
                f"Expected a report with decisive words, but {findings.folder} lists none, so "
                "there is nothing to repair.",
                option="report",
            )
        file = write_plan(folder / PLAN_FILE, plan, {"report": str(findings.folder)})
        raise OptionError(explain_unjudged(plan, file), option="not_reasons")

    result = work.run(accepted, judged, not_reasons if callable(not_reasons) else None)
    write_plan(folder / PLAN_FILE, result.plan, _describe_settings(findings, result, options))
    _discard_outdated_proof(folder, result.training)
    result.training.write(folder / TRAIN_FILE)
    if result.verification is not None:
        from rightreasons.repairs.page import write_repair_page

        write_repair_page(result, options.resampling)
    return result


def _discard_outdated_proof(folder: Path, training: TrainingSet) -> None:
    """Delete the page and audit.json of an earlier repair if its training texts were different.

    Otherwise, a gate would read them as the proof of the new texts.

    Args:
        folder: Folder of the repair.
        training: Repaired training texts that are about to be written.
    """
    file = folder / TRAIN_FILE
    if file.is_file() and file.read_text("utf-8") != training.format():
        for name in (AUDIT_FILE, PAGE):
            (folder / name).unlink(missing_ok=True)


def _describe_settings(
    findings: Findings, result: RepairResult, options: RepairOptions
) -> dict[str, Any]:
    """Return the settings that are needed to repeat the repair, for the plan."""
    # Other options have the defaults of the package version that the report names.
    changes = options.get_changes()
    return {"report": str(findings.folder), "method": result.edited.method, **changes}


def collect_judgments(
    findings: Findings, not_reasons: Iterable[str] | Judge, file: Path
) -> dict[str, Judgment]:
    """Return which words are reasons for a label, from an earlier plan, the report and the user.

    Args:
        findings: Features that the audit named, and those that it showed to be spurious.
        not_reasons: Words that are no reasons, or a function that returns whether a word of the
            report is no reason.
        file: The plan of an earlier call, which a person may have filled in.

    Returns:
        Word -> "yes" if it is a reason, "no" if it is no reason. If sources contradict each other,
        `not_reasons` takes precedence over the report, and the report over the plan.
    """
    judged: dict[str, Judgment] = {}
    # Later sources override earlier ones.
    if file.is_file():
        judged.update(read_plan(file))
    for word in findings.spurious_words:
        judged[word] = "no"
    if callable(not_reasons):
        # A function only judges the words that the report names.
        for feature in findings.features:
            for word in feature.words:
                if not_reasons(word):
                    judged[word] = "no"
        return judged
    # A string is also an iterable of letters, which is surely a mistake.
    if isinstance(not_reasons, str):
        raise OptionTypeError(
            f"Expected a list of words in `not_reasons`, but got {not_reasons!r}.",
            option="not_reasons",
        )
    for word in not_reasons:
        judged[word.strip().lower()] = "no"
    return judged


@dataclasses.dataclass(frozen=True, eq=False)
class _Repair:
    """The steps of a repair, with their common inputs.

    Attributes:
        findings: Features that the audit named, and the audited items.
        training: Original training texts.
        options: Options of the repair.
        scorer: The first model, opened; None if only the predictions in its report are known.
        model: The first model, as the user passed it.
        retrain: Command or function that trains a model; None for an estimator that is cloned.
        retrained: Model that was trained elsewhere; None if there is none.
        folder: Folder of the repair.
    """

    findings: Findings
    training: TrainingSet
    options: RepairOptions
    scorer: Any
    model: Any
    retrain: str | Retrain | None
    retrained: Any
    folder: Path

    def run(
        self, accepted: Sequence[str], judged: dict[str, Judgment], judge: Judge | None
    ) -> RepairResult:
        """Edit the texts and retrain the model in rounds, and verify the last model.

        Each round edits the original texts by all spurious words so far. New words on which the
        retrained model relies are edited in the next round if they are judged to be no reasons.

        Args:
            accepted: Spurious words, which are no reasons for a label.
            judged: Word -> "yes" or "no", including the accepted words.
            judge: Function that returns whether a new word is no reason; None to edit no new words.
        """
        rounds: list[Round] = []
        while True:
            words = self.training.label_words(accepted)
            # A repair that cannot succeed is refused before the training, which takes long.
            check_other_signal(self.training, words)
            versions = self._write_versions(words)
            old_answers = self._read_before(words, versions)
            result = self._run_round(words)
            candidates = list_new_words(result.remaining, list(judged))
            rounds.append(Round(tuple(result.words.labels), tuple(candidates)))
            # Without a judge, candidates are only listed for a person.
            additions = []
            if judge is not None:
                additions = [word for word in candidates if judge(word)]
            if not additions or len(rounds) >= self.options.rounds:
                break
            accepted = [*result.words.labels, *additions]
            judged = judged | dict.fromkeys(additions, "no")

        judgments = judged | dict.fromkeys(candidates, "?")
        plan = make_plan(self.findings, self.training, judgments)
        result = dataclasses.replace(
            result,
            plan=tuple(plan),
            rounds=tuple(rounds),
            longer_forms=find_longer_forms(result.words, self.training.items),
        )
        # If only the user can train the model, a later call verifies it by the option `after`.
        if result.model is None:
            return result
        # An edit may have turned a training text into an audited item, on which the repaired model
        # must not be tested.
        indices = versions.find_unseen(result.training.items)
        versions = versions.take(indices)
        new_answers = read_versions(self._open(result.model), versions)
        verification = verify(
            versions, old_answers.take(indices), new_answers, self.options.resampling
        )
        return dataclasses.replace(result, verification=verification)

    def _run_round(self, words: SpuriousWords) -> RepairResult:
        """Edit the original texts by all spurious words, train a model, and list what else decides.

        Args:
            words: All spurious words that are known so far.

        Returns:
            The edited texts, the model (None if only the user can train it), and the other features
            that decide in it. The result has no plan and no verification yet.
        """
        edited = edit_items(
            self.training.items,
            self.training.labels,
            words,
            method=self.options.method,
            growth=self.options.growth,
            seed=self.options.seed,
        )
        repaired = self.training.edit(edited)
        model = self._train_model(repaired, edited)
        remaining: tuple[FeatureEffect, ...] = ()
        if model is not None:
            scorer = self._open(model)
            check_classes(scorer, self.findings.label_names)
            remaining = find_remaining(scorer, self.findings, repaired, words, self.options)
        return RepairResult(
            out=self.folder,
            findings=self.findings,
            words=words,
            edited=edited,
            training=repaired,
            originals=self.training.items,
            model=model,
            remaining=remaining,
        )

    def _open(self, model: Any) -> Scorer:
        """Return the scorer of a retrained model, whose classes are those of the report."""
        return as_named_scorer(model, self.findings.label_names)

    def _write_versions(self, words: SpuriousWords) -> Versions:
        """Return three versions of the audited items: unchanged, without the words, with swapped words."""
        return write_versions(
            self.findings.items,
            self.findings.labels,
            words,
            ids=self.findings.ids,
            label_names=self.findings.label_names,
            training=self.training.items,
            seed=self.options.seed,
        )

    def _read_before(self, words: SpuriousWords, versions: Versions) -> Answers | ReportedAnswers:
        """Return the first model's predictions for the audited items, or those in its report.

        Args:
            words: Spurious words: they predict a label, but are no reasons for it.
            versions: The items in three versions: unchanged, without the words, with swapped words.

        Raises:
            OptionError: If the words decide hardly any predictions, or the report does not name
                them.
        """
        if self.scorer is None:
            return self._read_report(words, versions)
        answers = read_versions(self.scorer, versions)
        decided = answers.measure_decided(self.options.resampling)
        if decided.low is not None and decided.low < MIN_DECIDED:
            raise OptionError(
                f"Expected words that decide at least {MIN_DECIDED:.0%} of the predictions, but "
                f"swapping {enumerate_words(words)} changes {decided.value:.1%} "
                f"[{decided.low:.1%}, {decided.high:.1%}] of {len(versions.rows):,} predictions. "
                "There is nothing to repair.",
                option="not_reasons",
            )
        return answers

    def _read_report(self, words: SpuriousWords, versions: Versions) -> ReportedAnswers:
        """Return the predictions in the report of a model that cannot be queried again.

        Args:
            words: Spurious words: they predict a label, but are no reasons for it.
            versions: The items, unchanged and without the words.

        Raises:
            OptionError: If the report names none of the words.
        """
        share = self.findings.find_share(words.labels)
        if not share:
            raise OptionError(
                "Expected words that the report lists, because its model was "
                f"{self.findings.missing_model} and cannot be run again, but the report does not "
                f"list {enumerate_words(words)}.",
                option="not_reasons",
            )
        # An item has a word if removing the words changes it.
        has_words = []
        for item, item_without_words in zip(versions.original, versions.removed, strict=True):
            has_words.append(item != item_without_words)
        return ReportedAnswers(
            labels=versions.labels,
            original=self.findings.predicted[versions.rows],
            has_words=np.array(has_words),
            decided=share,
        )

    def _train_model(self, repaired: TrainingSet, edited: EditedItems) -> Any:
        """Train a model on the repaired texts, unless the user did so elsewhere.

        Args:
            repaired: The repaired texts.
            edited: The same texts, with their weights.

        Returns:
            The model; None if only the user can train it.
        """
        if self.retrained is not None:
            return self.retrained
        # A command reads the texts from a file. Estimators and functions get them in memory.
        file = self.folder / TRAIN_FILE
        if isinstance(self.retrain, str):
            repaired.write(file)
        return retrain_model(self.model, repaired, edited.weights, retrain=self.retrain, file=file)


def repair_demo(
    report: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    seed: int = 0,
    say: Callable[[str], object] = lambda line: None,
) -> RepairResult:
    """Repair the bag-of-words model of the demo, whose data declares the planted words.

    Args:
        report: Folder of the report of `audit_demo`, with the same seed.
        out: Folder of the repair.
        seed: Seed of the data.
        say: Function that is called with a line before each step.

    Returns:
        The result of `repair`.
    """
    from rightreasons.report.demo import train_demo_model

    # The seed reproduces the model, so that the report need not store it.
    model, data = train_demo_model(seed, say)
    say("Editing the training texts, training again, and verifying …")
    return repair(report, data["train"], model, out=out, seed=seed)
