"""Logs of harnesses whose recorded answers replace a model.

`open_recorded_log` opens a log that contains the model's answers to the questions of an audit.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rightreasons.audited.logged_arms import LoggedArms, RecordedArms
from rightreasons.audited.recorded import (
    RecordedEngine,
    RecordSettings,
)
from rightreasons.core.choices import HARNESS_QUESTIONS
from rightreasons.core.errors import OptionError
from rightreasons.core.options import Options
from rightreasons.core.sentences import format_list

if TYPE_CHECKING:
    import datasets

    from rightreasons.models.prompted import Prompted


@dataclasses.dataclass(frozen=True, eq=False)
class RecordedLog:
    """A log whose answers replace the model.

    Attributes:
        path: The log.
        scorer: The model with its prompt.
        items: The items.
        settings: The settings of its task.
    """

    path: str
    scorer: Prompted
    items: datasets.Dataset
    settings: RecordSettings

    @classmethod
    def make(
        cls, path: str | os.PathLike[str], model: str, records: Sequence[Mapping[str, Any]]
    ) -> RecordedLog:
        """Combine the records of all samples of a log.

        Args:
            path: The log.
            model: Name of the model.
            records: Results of `make_record`, one for each sample, with the keys "item", "number"
                (of the item in the task), "settings", "answers" and "arms".
        """
        from rightreasons.models.prompted import Prompted
        from rightreasons.models.wording import Prompt

        # All samples have the same settings.
        settings = RecordSettings(**records[0]["settings"])
        item_by_id: dict[str, dict[str, Any]] = {}
        arms_by_id: dict[str, str] = {}
        answers: dict[str, Sequence[Any]] = {}
        # Harnesses change the order of the samples. It is restored, because it may change the last
        # digits of sums.
        for record in sorted(records, key=lambda record: int(record["number"])):
            item_id = record["item"]["id"]
            # If an item was asked in several epochs, only its first record is used.
            item_by_id.setdefault(item_id, record["item"])
            if record["arms"] is not None:
                arms_by_id.setdefault(item_id, json.dumps(record["arms"]))
            for key, values in record["answers"].items():
                answers.setdefault(key, values)
        engine = RecordedEngine(model, settings, answers)
        prompt = Prompt.read(settings.prompt, "the log")
        scorer = Prompted(prompt, engine, seed=settings.seed)
        if arms_by_id:
            # The arms (changed versions of the items) are read from the log and not made again:
            # their texts may come from items that the log lacks, such as those beyond a limit.
            arm_records = [arms_by_id.get(item_id, "") for item_id in item_by_id]
            logged = LoggedArms.read(list(item_by_id), arm_records)
            scorer.logged_arms = RecordedArms(logged.answers, scorer.joint, scorer)
        items = _make_rows(list(item_by_id.values()))
        return cls(os.fspath(path), scorer, items, settings)

    def choose_questions(
        self, requested: Iterable[str] | None, default: Iterable[str]
    ) -> list[str]:
        """Return the names of the questions of an audit that the log can answer.

        Args:
            requested: Names of the requested questions; None for all that the log can answer.
            default: Names of the default questions of an audit.

        Raises:
            OptionError: If the log lacks the answers to a requested question.
        """
        recorded = list(self.settings.questions)
        # The questions of `HARNESS_QUESTIONS` query the model, and need recorded answers. All others
        # only need the answers to the items themselves.
        if requested is None:
            others = [name for name in default if name not in HARNESS_QUESTIONS]
            return [*others, *recorded]
        names = list(requested)
        for name in names:
            if name in HARNESS_QUESTIONS and name not in recorded:
                raise OptionError(
                    f"Expected questions that {Path(self.path).name} answers "
                    f"({format_list(recorded)}), but got {name!r}. Use `-T questions={name}` to "
                    "record an answer.",
                    option="questions",
                )
        return names

    def choose_options(
        self, questions: Iterable[str], requested: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        """Return the options of questions: those of the log, changed by those that the user set.

        Args:
            questions: Names of the questions that are answered.
            requested: Question -> its options, as `Options` or as a mapping of the options that are
                set; None if no options are set.

        Returns:
            Question -> name -> value of its options.
        """
        options: dict[str, Any] = {}
        # The options of questions that are not answered would raise an error in the audit.
        for question in questions:
            if question in self.settings.questions:
                options[question] = dict(self.settings.questions[question])
        for question, values in (requested or {}).items():
            changes = values
            if isinstance(values, Options):
                # A command line passes the options of all questions. Only values that differ from
                # the defaults were set by the user, and replace those of the log.
                changes = values.get_changes()
                if not changes:
                    continue
            options[question] = {**options.get(question, {}), **changes}
        return options


def _make_rows(items: Sequence[Mapping[str, Any]]) -> datasets.Dataset:
    """Return multiple-choice items as a data set.

    Args:
        items: Items with "id", "prompt", "choices" and "label", and perhaps with names in
            `UNIT_LINKS` that connect related items, such as "source_id".
    """
    import datasets

    from rightreasons.datasets.files import make_multiple_choice_features
    from rightreasons.io.logs import UNIT_LINKS

    # These columns are kept, because intervals must treat related items as one unit.
    links = {}
    for name in UNIT_LINKS:
        if any(name in item for item in items):
            links[name] = datasets.Value("string")
    features = make_multiple_choice_features(**links)
    columns: dict[str, list[Any]] = defaultdict(list)
    for item in items:
        for name in features:
            columns[name].append(item.get(name))
    return datasets.Dataset.from_dict(dict(columns), features=features)


def open_recorded_log(source: object) -> RecordedLog | None:
    """Open a log with recorded answers.

    Args:
        source: Path of a log, or any other model or path.

    Returns:
        The log; None if the source is anything else.
    """
    from rightreasons.io.harnesses.recorded_logs import read_records

    log = read_records(source)
    if log is None:
        return None
    model, records = log
    return RecordedLog.make(str(source), model, records)
