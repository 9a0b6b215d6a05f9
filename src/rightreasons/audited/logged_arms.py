"""Answers to the arms of items, as the tasks of other harnesses write them to their logs.

An arm is a version of an item, such as one with another order of its choices. `ArmAnswer` is the
answer to one arm; `write_arms` and `read_arms` convert the answers to one item for a log.
`LoggedArms` looks the answers up by the ids of an audit's requests, in place of a model.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rightreasons.core.arrays import Ragged
from rightreasons.core.scores import Scores
from rightreasons.datasets.perturbing.arms import Arm, get_added_count, name_arm
from rightreasons.datasets.perturbing.orders import list_choice_orders, name_order
from rightreasons.datasets.perturbing.probes import ORIGINAL

if TYPE_CHECKING:
    import datasets

NO_ANSWER = -1

MISSING = "The log contains no answer to it."
"""Reason why an item has no score in an arm."""


@dataclasses.dataclass(frozen=True)
class ArmAnswer:
    """The answer of a model in one arm of an item.

    Attributes:
        arm: The arm.
        position: Position of the choice that it picks, -1 for no answer.
        logits: Scores of the displayed choices; None if the log has none.
    """

    arm: Arm
    position: int
    logits: tuple[float, ...] | None = None


def write_arms(
    answers: Iterable[ArmAnswer], *, seed: int = 0, joint: bool = True
) -> dict[str, Any]:
    """Return the answers to the arms of one item as plain values, which `read_arms` reads.

    An arm is a version of the item, such as one with another order of its choices.

    Args:
        answers: The answers, including that to the unchanged item.
        seed: Seed by which the arms were made.
        joint: Whether the model saw the choices of an item together.

    Returns:
        `{"seed": …, "joint": …, "arms": …}`, where "arms" maps the name of each arm to its fields,
        the "position" of the picked choice, and the "logits" of the choices.
    """
    arms = {}
    for answer in answers:
        # The log has the id of the item in another field, and the name of the arm is the key.
        fields = dataclasses.asdict(answer.arm)
        del fields["item_id"], fields["name"]
        logits = None if answer.logits is None else list(answer.logits)
        arms[answer.arm.name] = {**fields, "position": answer.position, "logits": logits}
    return {"seed": seed, "joint": joint, "arms": arms}


def read_arms(item_id: str, record: Mapping[str, Any]) -> list[ArmAnswer]:
    """Return the answers to the arms of one item, such as its versions with reordered choices.

    Args:
        item_id: Id of the item.
        record: Result of `write_arms`: "arms" maps the name of an arm to its prompt, choices and
            label, the "position" of the picked choice, and the "logits" of the choices.
    """
    answers = []
    for name, values in record["arms"].items():
        fields = dict(values)
        position = fields.pop("position")
        logits = fields.pop("logits")
        for field in ("choices", "original_positions"):
            fields[field] = tuple(fields[field])
        answer = ArmAnswer(
            arm=Arm(item_id=item_id, name=name, **fields),
            position=position,
            logits=None if logits is None else tuple(logits),
        )
        answers.append(answer)
    return answers


@dataclasses.dataclass(frozen=True, eq=False)
class LoggedArms:
    """Answers to the arms of the items of a log.

    Attributes:
        answers: Item -> arm -> the answer.
        joint: Whether the model saw the choices of an item together.
    """

    answers: Mapping[str, Mapping[str, ArmAnswer]]
    joint: bool = True

    # Requests of questions are answered from the ids alone, as the log has all texts.

    @classmethod
    def read(cls, ids: Sequence[str], records: Sequence[str]) -> LoggedArms:
        """Read the answers to the arms of items from a column of a log.

        An arm is a version of an item, such as one with another order of its choices.

        Args:
            ids: N ids of the items.
            records: N results of `write_arms` as JSON strings; "" for an item without arms, such as
                one whose sample ended early.
        """
        answers: dict[str, dict[str, ArmAnswer]] = {}
        joint = True
        for item_id, text in zip(ids, records, strict=True):
            answer_by_arm: dict[str, ArmAnswer] = {}
            if text:
                record = json.loads(text)
                # `joint` of the log is true only if the model always saw the choices together.
                joint = joint and bool(record["joint"])
                for answer in read_arms(item_id, record):
                    answer_by_arm[answer.arm.name] = answer
            answers[item_id] = answer_by_arm
        return cls(answers, joint)

    @property
    def names(self) -> list[str]:
        """Names of the arms that some item has, in the order of the log."""
        names: dict[str, None] = {}
        for by_name in self.answers.values():
            names.update(dict.fromkeys(by_name))
        return list(names)

    @functools.cached_property
    def is_scored(self) -> bool:
        """Whether all answers have scores, by which the picked choice is the most likely one.

        If a sampled answer picks another choice, its scores do not belong to the answer.
        """
        for answer_by_arm in self.answers.values():
            for answer in answer_by_arm.values():
                if answer.logits is None:
                    return False
                if int(np.argmax(answer.logits)) != answer.position:
                    return False
        return True

    def list_ks(self) -> tuple[int, ...]:
        """Return the numbers of added choices of the arms, the smallest first."""
        counts = {get_added_count(name) for name in self.names}
        return tuple(sorted(count for count in counts if count is not None))

    def has_orders(self, n_choices: int) -> bool:
        """Return whether the log has answers to all orders of items with `n_choices` choices."""
        names = set(self.names)
        # Order 0 is that of the unchanged item.
        numbers = range(1, len(list_choice_orders(n_choices)))
        return all(name_order(number) in names for number in numbers)

    def find_answer(self, request_id: str) -> ArmAnswer | None:
        """Return the answer to a request such as "ITEM/ARM"; None if the log does not contain it."""
        item_id, _, name = request_id.rpartition("/")
        # Order 0 is that of the unchanged item, which is stored under another name.
        if name == name_order(0):
            name = ORIGINAL
        return self.answers.get(item_id, {}).get(name)

    def choose(
        self, prompts: Sequence[str], choices: Sequence[Sequence[str]], ids: Sequence[str]
    ) -> Scores:
        """Return the logged scores for requests. It replaces the method `choose` of a model.

        Args:
            prompts: Prompts of the requests, which are ignored: the ids are enough.
            choices: Choices of the requests, which are ignored, too.
            ids: Ids of the requests, such as "ITEM/ARM".

        Returns:
            The scores of the answered requests. The others are among its failures.
        """
        rows = []
        answered_ids = []
        failures = {}
        for request_id in ids:
            answer = self.find_answer(request_id)
            # An answer that could not be read has neither a position nor scores.
            if answer is None or (answer.position < 0 and answer.logits is None):
                failures[request_id] = MISSING
                continue
            rows.append(self._score(answer))
            answered_ids.append(request_id)
        # The empty array is needed if there are no rows, which `concatenate` refuses.
        values = np.concatenate([np.empty(0), *rows])
        logits = Ragged.of(values, [len(row) for row in rows])
        return Scores(ids=tuple(answered_ids), logits=logits, failures=failures)

    def _score(self, answer: ArmAnswer) -> Any:
        """Return (K,) logits of the K displayed choices of an answer.

        If not all answers of the log have logits, those of all answers are replaced by 0 for the
        picked choice and -inf for the others, which is a probability of 1 for the picked choice.
        """
        if self.is_scored and answer.logits is not None:
            return np.array(answer.logits)
        scores = np.full(len(answer.arm.choices), -np.inf)
        scores[answer.position] = 0.0
        return scores

    def make_table(self, item_ids: Sequence[str], name: str) -> datasets.Dataset:
        """Return one arm of several items as a table.

        Args:
            item_ids: Ids of the items.
            name: Name of the arm, such as that of a reordering of the choices.

        Returns:
            A row per item, with the columns of a perturbed dataset: the changed prompt, choices and
            label, and the id of the original item.

        Raises:
            KeyError: If an item lacks the arm.
        """
        import datasets

        from rightreasons.datasets.perturbing.probes import FEATURES

        rows = []
        for item_id in item_ids:
            arm = self.answers[item_id][name].arm
            rows.append(
                {
                    "id": name_arm(item_id, name),
                    "prompt": arm.prompt,
                    "choices": list(arm.choices),
                    "label": arm.label,
                    "source_id": item_id,
                    "probe": name,
                    "pseudo_label": arm.pseudo_label,
                    "prompt_source": "",
                    "choice_sources": [""] * len(arm.choices),
                    "original_positions": list(arm.original_positions),
                }
            )
        return datasets.Dataset.from_list(rows, features=FEATURES)


@dataclasses.dataclass(frozen=True, eq=False)
class RecordedArms(LoggedArms):
    """Arms of the items of a log that also has the replies to them, which its scorer reads.

    Attributes:
        scorer: The scorer.
    """

    scorer: Any = None

    @property
    def is_scored(self) -> bool:
        """Whether the scorer gives scores, and not one answer."""
        return not self.scorer.answers_once

    def choose(
        self, prompts: Sequence[str], choices: Sequence[Sequence[str]], ids: Sequence[str]
    ) -> Scores:
        """Return the scores of the requests of a question, read as those of a model."""
        # The scorer reads all replies together, as in an audit of the model: whether a second reader
        # of unread replies is reliable depends on all of them.
        scores: Scores = self.scorer.choose(prompts, choices, ids=ids, progress=False)
        return scores
