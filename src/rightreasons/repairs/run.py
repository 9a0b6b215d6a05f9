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
"""What a repair writes into its folder."""

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
    """Repair a model that decides by words that are no reasons, and prove it on the audited items.

    The training texts are edited so that the words tell nothing about the label, the model is trained again, and both
    models are compared on the items of the report: as they are, without the words, and with them swapped. Rounds go on
    until the retrained model offers no further word that is no reason. Nothing is edited that nobody called no reason.

    The repair is accepted if afterwards the words decide at most 5 % of the predictions (the interval ends below 10 %),
    the accuracies with swapped words and without words differ by at most 3 points, at most 2 points are lost on texts
    without the words, and the accuracy on the texts as they are is at most 3 points below the former one without them.

    Args:
        report: Folder of an audit that asked about shortcuts.
        train: Labeled training texts of the model: a file, a data set, or a table in memory.
        model: The audited model, as `audit` takes it; None for the one that the report names. If that was an object in
            memory, the texts are repaired, and `after` is verified against what the report says of it.
        options: Fields of `RepairOptions` as keywords, such as `method`, `growth`, `rounds` and `seed`.
        not_reasons: Words that are no reasons for a label, or a function that says whether a word is none. Words that
            the audit showed to be none (planted, vanishing in another split, named then) need no naming.
        retrain: A command such as "fine-tune demo --epochs 2", or a function from the repaired table to a model.
        after: A model that was trained elsewhere on the repaired texts: it is only verified.
        out: Folder for the repaired texts, the plan, the page and audit.json.

    Returns:
        A `RepairResult`: `train`, `model`, `before`, `after`, `repaired`, `page` and more.

    Raises:
        FileNotFoundError: If there is no report.
        ValueError: If nobody has judged the words (repair.yaml then lists them), a word is in no training text, the
            words decide too little to repair, nothing but the words predicts the label, or too few audited items are
            no training texts. Nothing else is written then.
    """
    # Everything that can be refused is refused before the first text is edited.
    folder = check_folder(out, own=OWN)
    if isinstance(retrain, str):
        parse_command(retrain)
    findings = read_findings(report)
    training = open_training_set(train, findings.label_names, **options.source)
    source = findings.model_path if model is None else model
    # A model that no command can ask again is not at hand; its report has a part of its answers.
    scorer = None
    if source is not None:
        # A function has no names of classes; those of the report are its own.
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

    # A repair that guessed which words are no reasons would remove meaning.
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
    """Delete the page of an earlier call if it is about other texts than those that are about to be written.

    A gate would read it as the proof of the new texts.
    """
    file = folder / TRAIN_FILE
    if file.is_file() and file.read_text("utf-8") != training.format():
        for name in (AUDIT_FILE, PAGE):
            (folder / name).unlink(missing_ok=True)


def _describe_settings(
    findings: Findings, result: RepairResult, options: RepairOptions
) -> dict[str, Any]:
    """Return the settings that make the repair again, for the plan."""
    # Options that were not changed are the defaults of the version that the report names.
    changes = options.get_changes()
    return {"report": str(findings.folder), "method": result.edited.method, **changes}


def collect_judgments(
    findings: Findings, not_reasons: Iterable[str] | Judge, file: Path
) -> dict[str, Judgment]:
    """Return which words are reasons and which are none, by the plan, the report, and what is given.

    Args:
        findings: What the audit named.
        not_reasons: Words that are no reasons, or a function that judges the words of the report.
        file: The plan of an earlier call, which a person may have filled in.

    Returns:
        Word -> "yes" or "no"; what is given now wins.
    """
    judged: dict[str, Judgment] = {}
    # The weakest source comes first: what a person says now overrides the file and the report.
    if file.is_file():
        judged.update(read_plan(file))
    for word in findings.spurious_words:
        judged[word] = "no"
    if callable(not_reasons):
        # A function is asked about the words that the report names, and about no other.
        for feature in findings.features:
            for word in feature.words:
                if not_reasons(word):
                    judged[word] = "no"
        return judged
    # A text is a list of letters to Python.
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
    """The steps of a repair, with what they share."""

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
        """Edit, train and search in rounds, and verify the last model.

        Each round edits the original texts by all words so far. It offers new words that decide in
        the retrained model, of which those that are no reasons are edited in the next round.

        Args:
            accepted: Words that are no reasons.
            judged: Word -> judgment, the accepted words included.
            judge: Returns whether a new word is no reason; None to edit no new word.
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
        # A model that only its owner can train is verified by a later call, with `after`.
        if result.model is None:
            return result
        # An edit may have made a training text of an audited item, on which the repaired model must
        # not be tested.
        indices = versions.find_unseen(result.training.items)
        versions = versions.take(indices)
        new_answers = read_versions(self._open(result.model), versions)
        verification = verify(
            versions, old_answers.take(indices), new_answers, self.options.resampling
        )
        return dataclasses.replace(result, verification=verification)

    def _run_round(self, words: SpuriousWords) -> RepairResult:
        """Edit the original texts by all words at once, train, and search for what else decides."""
        edited = edit_items(
            self.training.items,
            self.training.labels,
            words,
            method=self.options.method,
            growth=self.options.growth,
            seed=self.options.seed,
        )
        repaired = self.training.edit(edited)
        model = self._train(repaired, edited)
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
        """Return the audited items as they are, without the words, and with the words swapped."""
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
        """Return the answers of the first model to the audited items, or else what its report says.

        Raises:
            OptionError: If the words decide hardly any predictions, or the report does not name them.
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
        """Return what the report says about its model, which cannot be queried again.

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

    def _train(self, repaired: TrainingSet, edited: EditedItems) -> Any:
        """Return the retrained model, the one that was trained elsewhere, or None."""
        if self.retrained is not None:
            return self.retrained
        # A command reads the texts from a file; an estimator and a function get them in memory.
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
    """Repair the bag of words of the demo, whose data declares the planted words.

    Args:
        report: Folder of the report of `audit_demo`, with the same seed.
        out: Folder of the repair.
        seed: Decides the data.
        say: Called with a line before each step.

    Returns:
        What `repair` returns.
    """
    from rightreasons.report.demo import train_demo_model

    # The demo is made anew from its seed, so that the report needs to hold no model.
    model, data = train_demo_model(seed, say)
    say("Editing the training texts, training again, and verifying …")
    return repair(report, data["train"], model, out=out, seed=seed)
