"""The folder of a report: its files change together, and questions that are asked later are added to it."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rightreasons.auditing.answers import load_answer, save_answer
from rightreasons.auditing.context import WORK, AuditContext
from rightreasons.auditing.figures import figures_table
from rightreasons.auditing.items import items_file, items_table
from rightreasons.auditing.options import question_options
from rightreasons.auditing.page.parts import Section
from rightreasons.auditing.page.report import Outcome
from rightreasons.auditing.predictions import predictions_file, save_predictions
from rightreasons.auditing.questions import available_questions, load_sections
from rightreasons.auditing.schema import AUDIT_FILE, read_audit, signed
from rightreasons.foundations.atomic_write import json_text, write_bytes, write_text
from rightreasons.foundations.code_version import package_code
from rightreasons.foundations.options import Options
from rightreasons.foundations.storing.lease import leased
from rightreasons.foundations.storing.notices import tell
from rightreasons.foundations.storing.records import SET_ASIDE, digest_of_files, digest_of_value
from rightreasons.foundations.storing.swap import finish_swap, swapped_in

PAGE = "index.html"

FIGURES_FILE = "figures.csv"

OWN = (AUDIT_FILE, PAGE, FIGURES_FILE, "figures", "predictions", "items", "ranking.csv")
"""What is in the folder of a report."""

# What has no part in any figure.
_BESIDE = ("batch_size", "fail_fast")


class Report:
    """The report that an audit writes, and the one that is there already.

    Args:
        context: What is audited.
        settings: The options of the audit as a whole.

    Attributes:
        subject: A digest of what the report is about: model, items and settings, but not questions. Questions about the
            same subject are joined in one report.
    """

    def __init__(self, context: AuditContext, settings: Mapping[str, Any]) -> None:
        self.context, self.folder = context, context.out
        own = {name: value for name, value in settings.items() if name not in _BESIDE}
        self.subject = digest_of_value([context.digest, own])

    def sections(self, asked: Sequence[str]) -> list[Section]:
        """Return the sections of the questions that are asked and of those that the report has."""
        return load_sections([*asked, *self._earlier(asked)])

    def to_ask_again(self, asked: Sequence[str]) -> list[tuple[Section, Options]]:
        """Return the questions of the earlier report whose answers are gone or of other code, with their options."""
        kept = {one.question for one, _ in self._kept(asked)}
        return [
            (section, options)
            for question, options in self._earlier(asked).items()
            if question not in kept
            for section in load_sections([question])
        ]

    @contextlib.contextmanager
    def joined(
        self, outcomes: Sequence[Outcome], options: Mapping[str, Options]
    ) -> Iterator[tuple[list[Outcome], dict[str, Options]]]:
        """Join the answers with those that the report has, while no other command writes it.

        Args:
            outcomes: The questions with their answers.
            options: Question -> its options.

        Yields:
            All outcomes in the order of the page, and question -> its options.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / WORK).mkdir(exist_ok=True)
        with leased(self.folder / WORK, alone=True):
            for outcome in outcomes:
                if outcome.status == "answered":
                    save_answer(self.folder / WORK, outcome, self._inputs(outcome.question, options[outcome.question]))
            kept = self._kept(list(options))
            place = {question: number for number, question in enumerate(available_questions())}
            whole = sorted([*outcomes, *(one for one, _ in kept)], key=lambda one: place[one.question])
            its = {**options, **{one.question: options for one, options in kept}}
            yield whole, {one.question: its[one.question] for one in whole}

    def write(self, record: dict[str, Any], outcomes: Sequence[Outcome], page: str) -> dict[str, Any]:
        """Write the files of the report, all or none; a report about another subject is set aside.

        Returns:
            The record with the digests of the files beside it.
        """
        earlier = self._read()
        with swapped_in(self.folder, self._files) as new:
            for split in self.context.all_splits:
                if self.context.has_scores(split):
                    save_predictions(new / predictions_file(split.name), split, self.context.scores(split))
            for outcome in outcomes:
                for plot in outcome.result.plots if outcome.result else ():
                    write_bytes(new / "figures" / f"{plot.key}.png", plot.png)
                for name, text in outcome.result.files.items() if outcome.result else ():
                    write_text(new / name, text)
                if outcome.result and outcome.result.by_item:
                    write_text(new / items_file(outcome.question), items_table(outcome.result.by_item))
            write_text(new / PAGE, page)
            write_text(new / FIGURES_FILE, figures_table(record))
            record = signed({**record, "files": digest_of_files(new)})
            write_text(new / AUDIT_FILE, json_text(record))
            if earlier is None or earlier.get("subject") != self.subject:
                self._set_aside(earlier)
        return record

    def _inputs(self, question: str, options: Options) -> str:
        (section,) = load_sections([question])
        left_out = [[split.name, list(split.left_out)] for split in self.context.read(section.reads)]
        return digest_of_value([self.subject, left_out, question, options.to_dict(), package_code()])

    def _read(self) -> dict[str, Any] | None:
        """Read the audit.json that is there; None where there is none that can be read."""
        finish_swap(self.folder)
        with contextlib.suppress(OSError, ValueError):
            return read_audit(self.folder)
        return None

    def _earlier(self, asked: Sequence[str]) -> dict[str, Options]:
        """Return the options of the questions of the report that is there, if it is about the same subject."""
        audit = self._read()
        if audit is None or audit.get("subject") != self.subject:
            return {}
        others = {name: its for name, its in audit["settings"]["options"].items() if name not in asked}
        with contextlib.suppress(TypeError, ValueError):
            return question_options(others, others)
        return {}  # of a version with other options

    def _kept(self, asked: Sequence[str]) -> list[tuple[Outcome, Options]]:
        """Return the outcomes of other questions that the report has, where they still hold."""
        kept = []
        for question, options in self._earlier(asked).items():
            outcome = load_answer(self.folder / WORK, question, self._inputs(question, options))
            if outcome is not None:
                kept.append((outcome, options))
        return kept

    def _files(self) -> list[str]:
        """Name the files of the report that is there."""
        paths = [path for name in OWN for path in (self.folder / name, *(self.folder / name).glob("**/*"))]
        return [path.relative_to(self.folder).as_posix() for path in paths if path.is_file()]

    def _set_aside(self, earlier: Mapping[str, Any] | None) -> None:
        """Keep the files of another report; they also stay in their places until the new ones are there."""
        files = self._files()
        content = earlier if earlier is not None else digest_of_files(self.folder, files)
        place = self.folder / SET_ASIDE / digest_of_value(content)[:16]
        if not files or place.exists():
            return
        half = place.with_name(f".{place.name}.part")
        shutil.rmtree(half, ignore_errors=True)
        for name in files:
            (half / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(self.folder / name, half / name)
        half.rename(place)
        why = "is damaged" if earlier is None else "is about another model, data or settings"
        tell(f"The earlier report in {self.folder} {why}: it is set aside in {place}.")
