"""The requests of the questions of an audit about one item, for the tasks of harnesses.

A harness runs the model item by item, and an audit question by question. `ItemAsker.ask` sends the
requests of all questions about one item, and returns the record that `rightreasons audit LOG` reads.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rightreasons.audited.logged_arms import ArmAnswer, write_arms
from rightreasons.audited.recorded import (
    RecordingEngine,
    RecordSettings,
    make_record,
)
from rightreasons.audited.splits import take_splits
from rightreasons.core.choices import HARNESS_QUESTIONS
from rightreasons.core.errors import make_unknown_name_error
from rightreasons.core.options import Options
from rightreasons.core.resampling import Resampling
from rightreasons.datasets.files import make_multiple_choice_features
from rightreasons.datasets.perturbing.arms import (
    ORDERS,
    Arm,
    list_arms,
    list_orders,
    make_original,
    name_extra_choices,
)
from rightreasons.datasets.perturbing.probes import Pool
from rightreasons.integrations.possible_requests import ExploringEngine, PossibleRequest
from rightreasons.io.logs import select_links
from rightreasons.io.options import AuditOptions
from rightreasons.io.samples import choose_rows
from rightreasons.models.prompted import Prompted
from rightreasons.models.prompts import Item, make_items
from rightreasons.models.protocol import Engine
from rightreasons.models.replies.options import NO_ANSWER
from rightreasons.models.replies.repair import SecondReader
from rightreasons.models.wording import Prompt
from rightreasons.probes.measure import WITHOUT_ANSWER, WITHOUT_QUESTION, count_spare_choices
from rightreasons.probes.options import ProbesOptions
from rightreasons.reasons.arms import Arms
from rightreasons.reasons.options import ReasonsOptions
from rightreasons.ways.asking import Asking
from rightreasons.ways.formats import draw_ways
from rightreasons.ways.options import WaysOptions

if TYPE_CHECKING:
    from rightreasons.audited.splits import AuditSplit

Row = Mapping[str, Any]

OPTIONS: Mapping[str, type[Options]] = {
    "probes": ProbesOptions,
    "reasons": ReasonsOptions,
    "ways": WaysOptions,
}
"""Question -> the class of its options."""

SINGLE_ITEM = Resampling(0.95, resamples=2)
"""Resampling of the figures of a single item, which are not read."""


class _EagerReader(SecondReader):
    """A reader of unread answers that does not check its own reliability.

    The reliability is measured on planted texts of all items, by the audit of the log.
    """

    @property
    def is_reliable(self) -> bool:
        return True


def check_questions(names: str | Sequence[str]) -> tuple[str, ...]:
    """Return the distinct names of questions, after checking that a harness can ask them.

    Args:
        names: Names, as a list or separated by commas.

    Raises:
        ValueError: If a name is unknown, or a harness cannot ask the question.

    Example:
        >>> check_questions("reasons, probes")
        ('reasons', 'probes')
    """
    listed = names.split(",") if isinstance(names, str) else names
    checked = dict.fromkeys(name.strip() for name in listed)
    for name in checked:
        if name not in HARNESS_QUESTIONS:
            raise make_unknown_name_error("question of a harness", name, HARNESS_QUESTIONS)
    return tuple(checked)


@dataclasses.dataclass(frozen=True, eq=False)
class ItemAsker:
    """Sends all requests of an audit about one item.

    Attributes:
        rows: The items of the task, with "id", "prompt", "choices" and "label".
        options: Question -> its options.
        prompt: Options of the prompt.
        seed: Seed of all random choices.
    """

    rows: Sequence[Row]
    options: Mapping[str, Any]
    prompt: Prompt
    seed: int = 0

    @classmethod
    def make(
        cls,
        rows: Sequence[Row],
        questions: Sequence[str],
        options: Mapping[str, Mapping[str, Any]],
        prompt: Prompt,
        seed: int,
    ) -> ItemAsker:
        """Make an asker from the names of questions and their options.

        Args:
            rows: The items of the task, with "id", "prompt", "choices" and "label".
            questions: Names of the questions.
            options: Question -> name -> value, for the options that differ from the defaults.
            prompt: Options of the prompt.
            seed: Seed of all random choices.

        Raises:
            ValueError: If an option is unknown or has an invalid value.
        """
        checked = {}
        for name in questions:
            checked[name] = OPTIONS[name].read(options.get(name), f"the question {name!r}")
        return cls(rows, checked, prompt, seed)

    @functools.cached_property
    def _pool(self) -> Pool:
        return Pool([dict(row) for row in self.rows])

    # What depends on all items is computed once, and not for each sample.

    @functools.cached_property
    def _numbers(self) -> dict[str, int]:
        return {str(row["id"]): number for number, row in enumerate(self.rows)}

    @functools.cached_property
    def _reasoned_ids(self) -> frozenset[str]:
        """Ids of the items that the question about reasons uses: a sample, the same as in an audit."""
        options = self.options.get("reasons")
        if options is None:
            return frozenset()
        ids = list(self._numbers)
        rows = choose_rows(ids, options.items, seed=self.seed)
        return frozenset(ids[row] for row in rows)

    def ask(self, engine: Engine, row: Row) -> tuple[int, dict[str, Any]]:
        """Send all requests that an audit would send about an item, and record the answers.

        Args:
            engine: The model.
            row: The item, with "id", "prompt", "choices" and "label".

        Returns:
            The position of the choice that the model picks, -1 for none; and the record of the sample
            for its log, from `make_record`.
        """
        item_id = str(row["id"])
        recorder = RecordingEngine(engine)
        prompted = Prompted(self.prompt, recorder, seed=self.seed)
        # Answers that cannot be read are read in a second request, which is recorded as well.
        if prompted.second_reader is not None:
            prompted.second_reader = _EagerReader(recorder, seed=self.seed)
        # In an audit, the request for the unchanged item has the id of the item, and not of an arm.
        original = self._ask_arms(prompted, [make_original(row)], ids=[item_id])[0]
        arms = None
        if "probes" in self.options:
            answers = self._ask_arms(prompted, self._list_probes(prompted, row))
            # An audit sends the unchanged item again under two other names: as an arm, and as the
            # first order of the choices. With a temperature, these requests get other answers.
            if self.prompt.temperature:
                first_order = next(list_orders(row, with_original=True))
                self._ask_arms(prompted, [make_original(row), first_order])
            arms = write_arms([original, *answers], seed=self.seed, joint=prompted.joint)
        if item_id in self._reasoned_ids:
            self._ask_reasons(prompted, recorder, row)
        if "ways" in self.options:
            self._ask_ways(prompted, row)
        number = self._numbers[item_id]
        # A sample of a harness lacks the fields that link it to other items.
        links = select_links(self.rows[number])
        record = make_record(
            item={**row, **links},
            number=number,
            settings=self._make_settings(engine),
            answers=recorder.answers,
            arms=arms,
        )
        return original.position, record

    def explore(self, row: Row, *, has_template: bool) -> dict[str, PossibleRequest]:
        """Return every request about an item that any answers of a model could lead to.

        This is for a harness that sends all requests at once. Requests that depend on the words of an
        answer, such as those after its reasoning, are excluded.

        Args:
            row: The item, with "id", "prompt", "choices" and "label".
            has_template: Whether prompts are conversations, for a model with a chat template.

        Returns:
            Key of a request -> the request.
        """
        possible: dict[str, PossibleRequest] = {}
        # Later requests, such as those with hints, depend on the option that the model picks. A run
        # with each option collects all of them.
        for position in range(len(row["choices"])):
            engine = ExploringEngine(position, has_template=has_template)
            self.ask(engine, row)
            possible.update(engine.requests)
        return possible

    def explore_posix(self, row: Row, *, has_template: bool) -> dict[str, PossibleRequest]:
        """Return the requests about an item whose log-probabilities are compared between prompts.

        The comparison is the measure POSIX of the question about prompt formats.

        Args:
            row: The item, with "id", "prompt", "choices" and "label".
            has_template: Whether prompts are conversations, for a model with a chat template.

        Returns:
            Key of a request -> the request; empty without this question, or for an unlabeled item.
        """
        if "ways" not in self.options or row["label"] < 0:
            return {}
        # These requests do not depend on answers, so that any position gives all of them.
        engine = ExploringEngine(position=0, has_template=has_template)
        prompted = Prompted(self.prompt, engine, seed=self.seed)
        asking = Asking(prompted, _make_split(row), None, progress=False)
        ways = draw_ways(prompted, self.options["ways"].n_ways, seed=self.seed)
        asking.measure_posix(ways, SINGLE_ITEM)
        return engine.requests

    def _make_settings(self, engine: Engine) -> RecordSettings:
        """Return the settings that the records of all samples share.

        An audit of the log makes the same requests from them.

        Args:
            engine: The model, with its abilities and whether it has a chat template.
        """
        changes_by_question = {}
        for name, options in self.options.items():
            changes_by_question[name] = options.get_changes()
        return RecordSettings(
            questions=changes_by_question,
            prompt=self.prompt.get_changes(),
            abilities=sorted(engine.abilities),
            has_template=engine.has_template,
            is_single_pass=getattr(engine, "is_single_pass", False),
            seed=self.seed,
        )

    def _ask_arms(
        self, prompted: Prompted, arms: Sequence[Arm], ids: Sequence[str] | None = None
    ) -> list[ArmAnswer]:
        """Return the choices that a model makes in arms of an item, which are versions of the item.

        Args:
            prompted: The model.
            arms: N arms, each with a prompt and choices.
            ids: N ids of the requests. None for those of the arms.

        Returns:
            N answers, with the scores of the choices if the model has scores.
        """
        if ids is None:
            ids = [arm.id for arm in arms]
        prompts = []
        choices = []
        for arm in arms:
            prompts.append(arm.prompt)
            choices.append(arm.choices)
        scores = prompted.choose(prompts, choices, ids=ids, progress=False)
        logits_by_id = dict(zip(scores.ids, scores.logits, strict=True))
        positions = scores.answers(ids).tolist()
        answers = []
        for arm, request_id, position in zip(arms, ids, positions, strict=True):
            logits = None
            # A generated answer has no scores of the choices.
            if request_id in logits_by_id and not prompted.answers_once:
                logits = tuple(np.asarray(logits_by_id[request_id]).tolist())
            answers.append(ArmAnswer(arm, position, logits))
        return answers

    def _list_probes(self, prompted: Prompted, row: Row) -> list[Arm]:
        """Return the arms (changed versions) of an item that the question about answer priors needs.

        Args:
            prompted: The model. One that generates its answers has no scores, and needs fewer arms.
            row: The item, with "id", "prompt", "choices" and "label".
        """
        kinds = list(WITHOUT_QUESTION)
        if not prompted.answers_once:
            kinds = list(dict.fromkeys([*kinds, *WITHOUT_ANSWER]))
            for k in self._choose_ks():
                kinds.append(name_extra_choices(k))
        # Orders of choices are compared only if all items have the same number of choices. If the
        # model sees one choice at a time, its score does not depend on the order.
        sizes = {len(item["choices"]) for item in self.rows}
        if len(sizes) == 1 and prompted.joint:
            kinds.append(ORDERS)
        return list(list_arms(row, kinds, pool=self._pool, seed=self.seed))

    def _choose_ks(self) -> tuple[int, ...]:
        """Return the numbers of added choices, as an audit chooses them."""
        spare = count_spare_choices([row["choices"] for row in self.rows])
        ks = dict.fromkeys(k for k in self.options["probes"].ks if k <= spare)
        # If other items have too few choices for any of the numbers, one choice is added.
        return tuple(ks) or (1,)

    def _ask_reasons(self, prompted: Prompted, recorder: RecordingEngine, row: Row) -> None:
        """Ask an item next to hints, and about its reasoning."""
        # Any judgment may be a control of the judge, which is chosen among all items.
        arms = Arms(prompted, self.options["reasons"], seed=self.seed, judges_all=True)
        if arms.reader is not None:
            arms.reader = _EagerReader(recorder, seed=self.seed)
        arms.ask(_make_items(row))

    def _ask_ways(self, prompted: Prompted, row: Row) -> None:
        """Ask an item in several prompt formats, and again with and without a doubt.

        The engine records the answers. The figures of the single item are computed only to send the
        requests that they need, and are discarded.

        Args:
            prompted: The model, whose engine records its answers.
            row: The item, with "id", "prompt", "choices" and "label", -1 if unknown.
        """
        options = self.options["ways"]
        # The question compares accuracies, which need labels.
        if row["label"] < 0:
            return
        asking = Asking(prompted, _make_split(row), None, progress=False)
        ways = draw_ways(prompted, options.n_ways, seed=self.seed)
        answers_by_way = []
        for way in ways:
            scores = asking.score(way, way.scorer(prompted), asking.items)
            answers_by_way.append(scores.answers(asking.split.ids))
        asking.measure_posix(ways, SINGLE_ITEM)
        first_answers = answers_by_way[0]
        # The request expresses a doubt about the answer in the first format, if there is one.
        if options.doubt and first_answers[0] != NO_ANSWER:
            asking.measure_flips(ways[0], np.asarray(first_answers), SINGLE_ITEM)


def _make_items(row: Row) -> list[Item]:
    return make_items(
        [str(row["id"])], [row["label"]], prompt=[row["prompt"]], choices=[list(row["choices"])]
    )


def _make_split(row: Row) -> AuditSplit:
    """Return a split that consists of one item.

    Args:
        row: The item, with "id", "prompt", "choices" and "label".
    """
    import datasets

    features = make_multiple_choice_features()
    columns = {}
    for name in features:
        columns[name] = [row[name]]
    rows = datasets.Dataset.from_dict(columns, features=features)
    return take_splits({"data": rows}, {"data": "primary"}, AuditOptions(), None, "data")[0]
