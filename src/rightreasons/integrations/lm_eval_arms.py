"""The questions of an audit inside tasks of lm-evaluation-harness: each document is also asked in its arms.

Around any task with `output_type: multiple_choice`, a YAML of four lines

    include: piqa.yaml
    task: piqa_probed
    class: !function utils.Probed
    metadata: {question: goal}

next to a `utils.py` with `from rightreasons.integrations.lm_eval_arms import Probed` asks each
document without its question, with another question, without its correct choice, and with added
choices. `question` names the field of the question, or a list of fields. All arms are requests of
the same document, so that figures over several arms come out inside the harness; `acc`, `--limit`,
batches and `--log_samples` stay as they are, and `rightreasons audit samples_*.jsonl` makes a
report of the log. `rightreasons data export DATA --to lm-eval` writes such a task for any data.
"""

from __future__ import annotations

import functools
import json
import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from lm_eval.api.instance import Instance
from lm_eval.api.task import ConfigurableTask

from rightreasons.audited.logged_arms import ArmAnswer, write_arms
from rightreasons.datasets.perturbing.arms import (
    ORDERS,
    TEXT_KINDS,
    Arm,
    check_kinds,
    get_added_count,
    list_arms,
    make_original,
)
from rightreasons.datasets.perturbing.hint_kinds import KINDS
from rightreasons.datasets.perturbing.probes import PROBES, Pool
from rightreasons.integrations.arm_figures import ENDS, compute_arm_figures
from rightreasons.io.logs import ARMS_KEY, select_links

EXTRA_CHOICES = PROBES[-1]
"""Name of the probe that adds choices."""

LISTED_KINDS = ("no_question", "wrong_question", "orders")
"""Kinds of arms of a task whose question lists the choices."""

FIGURES_BY_KINDS = (
    (
        ("no_question",),
        (
            "kept_without_question",
            "kept_beyond_chance",
            "right_without_question",
            "lost_without_question",
        ),
    ),
    (("wrong_question",), ("kept_with_another_question",)),
    ((ORDERS,), ("order_consistency",)),
    (PROBES, ("prior_bias_no_question", "choice_paralysis")),
)
"""Kinds of arms, and the figures of the report that need them all."""

STDERR = "_stderr"
"""End of the name under which the harness shows the standard error of a metric."""

LEVEL = 0.95
"""Confidence level of the intervals."""

HIGHER = ("lost_without_question", "order_consistency")
"""Figures for which a larger value is better."""


class Probed(ConfigurableTask):  # type: ignore[misc, unused-ignore]
    """A task that also asks changed versions (arms) of each document.

    Its `metadata` has `question`, the field or fields of the question; `choices`, the field of the
    choices if the question lists them; `arms`, the kinds of arms; `id`, the field of the id; and
    `seed`.
    """

    def __init__(self, config: dict[str, Any] | None = None, **options: Any) -> None:
        """Make a task from its configuration.

        Args:
            config: Content of the YAML file of the task. Its `metadata` must have `question`.
            **options: Further arguments of a task of the harness.

        Raises:
            ValueError: If `question` is missing, or the task cannot ask a kind of arm.
        """
        # "class", by which the harness has found this class, is not accepted by the superclass.
        fields = {name: value for name, value in (config or {}).items() if name != "class"}
        super().__init__(config=fields, **options)
        metadata = self.config.metadata or {}
        if "question" not in metadata:
            raise ValueError(
                f"Expected the field of the question of {self.config.task} as `question` in its "
                f"`metadata`, but it has {sorted(metadata)}."
            )
        if self.multiple_input:
            raise ValueError(
                f"Expected choices that continue a question, but those of {self.config.task} are "
                "in the question itself."
            )
        question = metadata["question"]
        self._question_fields = [question] if isinstance(question, str) else list(question)
        # Without this field, the choices continue the question.
        self._choices_field: str = metadata.get("choices") or ""
        default = LISTED_KINDS if self.is_joint else TEXT_KINDS
        self._kinds = check_kinds(metadata.get("arms", default))
        self._id_field = metadata.get("id", "id")
        self._seed = int(metadata.get("seed", 0))
        self._check_kinds()

    @property
    def is_joint(self) -> bool:
        """Whether the question lists the choices, so that the model sees them together."""
        return bool(self._choices_field)

    def _check_kinds(self) -> None:
        """Raise a ValueError if the task cannot ask one of its kinds of arms.

        The question of a task either lists the choices (`is_joint`), or is continued by each choice.
        """
        for kind in self._kinds:
            # The order of choices matters only if the question lists them. In this case, no choices
            # can be added, because the template of the question has a fixed number of them.
            needs_listed_choices = kind == ORDERS
            needs_continuing_choices = kind.startswith(EXTRA_CHOICES)
            is_possible = kind not in KINDS
            if needs_listed_choices and not self.is_joint:
                is_possible = False
            if needs_continuing_choices and self.is_joint:
                is_possible = False
            if not is_possible:
                raise ValueError(
                    f"Expected kinds of arms that {self.config.task} can ask, but got {kind!r}: "
                    "other orders need choices that the question lists, added choices need those "
                    "that continue it, and hints need generated answers."
                )

    # ------------------------------------------------------------------------ documents as items

    @functools.cached_property
    def _documents(self) -> list[dict[str, Any]]:
        return list(self.eval_docs)

    @functools.cached_property
    def _numbers(self) -> dict[str, int]:
        """Content of a document -> its number: the harness passes no id to `process_results`."""
        numbers: dict[str, int] = {}
        for number, doc in enumerate(self._documents):
            numbers.setdefault(digest_document(doc), number)
        return numbers

    @functools.cached_property
    def _pool(self) -> Pool:
        return Pool([self._make_item(doc) for doc in self._documents])

    @functools.cached_property
    def _fields_by_prompt(self) -> dict[str, dict[str, Any]]:
        """Question as one string -> its fields in the document with this question.

        An arm has its question as one string, and the template of the task needs its fields. The
        question of the arm "no_question" is "".
        """
        fields_by_prompt: dict[str, dict[str, Any]] = {"": dict.fromkeys(self._question_fields, "")}
        for doc in self._documents:
            question = self._join_question(doc)
            if question not in fields_by_prompt:
                fields_by_prompt[question] = {name: doc[name] for name in self._question_fields}
        return fields_by_prompt

    def _join_question(self, doc: dict[str, Any]) -> str:
        return "\n".join(str(doc[name]) for name in self._question_fields)

    def _make_item(self, doc: dict[str, Any]) -> dict[str, Any]:
        """Return a document as an item with "id", "prompt", "choices", "label", and its links to others.

        Args:
            doc: A document of the task, with the fields that its `metadata` names.
        """
        number = self._numbers[digest_document(doc)]
        # If the question lists the choices, the answers are letters, and the choices are in a field.
        answers = self.doc_to_choice(doc)
        choices = answers
        if self.is_joint:
            choices = doc[self._choices_field]
        # The target of a task is the index of the correct answer, or the answer itself.
        label = self.doc_to_target(doc)
        if isinstance(label, str):
            label = list(answers).index(label)
        return {
            "id": str(doc.get(self._id_field, number)),
            "prompt": self._join_question(doc),
            "choices": [str(choice) for choice in choices],
            "label": int(label),
            **select_links(doc),
        }

    def _list_arms(self, doc: dict[str, Any]) -> list[Arm]:
        """Return the arms of a document, which are the same whenever they are listed."""
        item = self._make_item(doc)
        return list(list_arms(item, self._kinds, pool=self._pool, seed=self._seed))

    def _change_document(self, doc: dict[str, Any], arm: Arm) -> dict[str, Any]:
        """Return a document with the question and the choices of an arm."""
        changed = {**doc, **self._fields_by_prompt[arm.prompt]}
        if self.is_joint:
            changed[self._choices_field] = list(arm.choices)
        return changed

    # ------------------------------------------------------------------------ of the harness

    def construct_requests(self, doc: dict[str, Any], ctx: Any, **options: Any) -> Any:
        """Return the requests of a document, followed by those of its arms (changed versions).

        Args:
            doc: The document.
            ctx: Its context: few-shot examples and the question, perhaps inside a chat template.
            **options: Further options of the harness.

        Raises:
            ValueError: If the context does not contain the question.
        """
        # The harness finds the document of a request by this metadata.
        metadata = options.get("metadata")
        requests = super().construct_requests(doc, ctx, **options)
        _, delimiter = self._split_request(requests[0], doc)
        # An arm has another question in the same context. The question is searched from the end,
        # because few-shot examples come before it.
        before_question, question, after_question = str(ctx).rpartition(str(self.doc_to_text(doc)))
        if not question:
            raise ValueError(
                f"Expected the question of a document of {self.config.task} in its context, but a "
                "chat template changed it."
            )
        for arm in self._list_arms(doc):
            changed_doc = self._change_document(doc, arm)
            context = f"{before_question}{self.doc_to_text(changed_doc)}{after_question}"
            for continuation in self._list_continuations(changed_doc, arm):
                request = Instance(
                    request_type="loglikelihood",
                    doc=doc,
                    arguments=(context, f"{delimiter}{continuation}"),
                    idx=len(requests),
                    metadata=metadata,
                )
                requests.append(request)
        return requests

    def _split_request(self, request: Any, doc: dict[str, Any]) -> tuple[str, str]:
        """Return the context and the delimiter of the request of the first choice."""
        context, continuation = request.args[:2]
        return context, continuation.removesuffix(str(self.doc_to_choice(doc)[0]))

    def _list_continuations(self, doc: dict[str, Any], arm: Arm) -> Sequence[str]:
        """Return what continues the question of an arm: letters, or the choices themselves."""
        if self.is_joint:
            return list(self.doc_to_choice(doc))
        return arm.choices

    def process_results(self, doc: dict[str, Any], results: Any) -> dict[str, Any]:
        """Return the metrics of a document.

        For a figure over all documents, the metric is the answers to the document and its arms, from
        which the aggregation computes the figure. The answers are also added to the document, so that
        the log contains them.

        Args:
            doc: The document, which is modified.
            results: (log-likelihood, is greedy) of each request, in the order of
                `construct_requests`.
        """
        plain_doc = {name: value for name, value in doc.items() if name != ARMS_KEY}
        arms = self._list_arms(plain_doc)
        item = self._make_item(plain_doc)
        # The requests of the document come first. Their number depends on the metrics of the task:
        # `acc_mutual_info` doubles it.
        n_arm_requests = sum(len(arm.choices) for arm in arms)
        n_plain_requests = len(results) - n_arm_requests
        log_likelihoods = [float(result[0]) for result in results]
        plain_scores = log_likelihoods[: len(item["choices"])]
        answers = [_make_answer(make_original(item), plain_scores)]
        # The requests of the arms follow, one for each choice.
        start = n_plain_requests
        for arm in arms:
            end = start + len(arm.choices)
            answers.append(_make_answer(arm, log_likelihoods[start:end]))
            start = end
        record = write_arms(answers, seed=self._seed, joint=self.is_joint)
        doc[ARMS_KEY] = {**record, "n_requests": n_plain_requests}
        metrics = dict(super().process_results(plain_doc, results[:n_plain_requests]))
        for figure in self._list_figures():
            # The harness shows "N/A" as the standard error of any figure that is no mean. A later
            # metric of the same name replaces it.
            for end_of_name in (*ENDS, STDERR):
                metrics[f"{figure}{end_of_name}"] = answers
        return metrics

    def _list_figures(self) -> list[str]:
        """Return the names of the figures for which the task asks all needed kinds of arms."""
        asked_kinds = set()
        for kind in self._kinds:
            # Kinds such as "extra_choices_4" differ only in the number of added choices.
            if get_added_count(kind) is not None:
                kind = EXTRA_CHOICES
            asked_kinds.add(kind)
        figures: list[str] = []
        for needed_kinds, names in FIGURES_BY_KINDS:
            if asked_kinds.issuperset(needed_kinds):
                figures.extend(names)
        return figures

    def aggregation(self) -> dict[str, Any]:
        """Return the aggregation of each metric."""
        aggregations = dict(super().aggregation())
        for figure in self._list_figures():
            for end in ENDS:
                aggregations[f"{figure}{end}"] = _make_aggregation(f"{figure}{end}")
            aggregations[f"{figure}{STDERR}"] = _make_standard_error(figure)
        return aggregations

    def higher_is_better(self) -> dict[str, bool]:
        """Return whether a larger value of each metric is better."""
        better = dict(super().higher_is_better())
        for figure in self._list_figures():
            for end in ENDS:
                better[f"{figure}{end}"] = figure in HIGHER
        return better


def digest_document(doc: dict[str, Any]) -> str:
    """Return the content of a document as a text, by which equal ones are recognized."""
    return json.dumps(doc, sort_keys=True, default=str)


def _make_answer(arm: Arm, scores: Sequence[float]) -> ArmAnswer:
    return ArmAnswer(arm, int(np.argmax(scores)), tuple(scores))


def _make_aggregation(name: str) -> Callable[[list[list[ArmAnswer]]], float]:
    """Return an aggregation of the harness: a function that computes a figure over all documents.

    Its argument is the answers to the arms of each document, and its result is NaN if the figure is
    undefined.

    Args:
        name: Name of the figure, such as "kept_without_question_low".
    """

    def aggregate(items: list[list[ArmAnswer]]) -> float:
        return _compute_once(items).get(name, math.nan)

    # The harness writes the name of the function into its log.
    aggregate.__name__ = name
    return aggregate


def _make_standard_error(figure: str) -> Callable[[list[list[ArmAnswer]]], float | str]:
    """Return an aggregation of the harness: a function that computes the standard error of a figure.

    The standard error is that of a normal distribution whose interval is as wide as the interval of
    the figure. It is "N/A", as elsewhere in the harness, if there is no interval.

    Args:
        figure: Name of the figure, such as "kept_without_question".
    """

    def aggregate(items: list[list[ArmAnswer]]) -> float | str:
        """Return half of the width of the interval, divided by the quantile of its level."""
        figures = _compute_once(items)
        width = figures.get(f"{figure}_high", math.nan) - figures.get(f"{figure}_low", math.nan)
        if math.isnan(width):
            return "N/A"
        z = statistics.NormalDist().inv_cdf((1 + LEVEL) / 2)
        return width / (2 * z)

    aggregate.__name__ = f"{figure}{STDERR}"
    return aggregate


_LAST_FIGURES: dict[tuple[int, ...], dict[str, float]] = {}
"""Figures of the last documents, because each metric is aggregated separately."""


def _compute_once(items: list[list[ArmAnswer]]) -> dict[str, float]:
    """Return the figures of documents, which are computed once for all metrics.

    The harness aggregates each metric separately, with the same lists of answers, so that a cache of
    one entry is enough.

    Args:
        items: Answers to the arms of each document.
    """
    # A list is recognized by its `id`, which is unique as long as the list exists. The harness keeps
    # the lists until all metrics are computed.
    key = tuple(id(answers) for answers in items)
    if key not in _LAST_FIGURES:
        _LAST_FIGURES.clear()
        _LAST_FIGURES[key] = compute_arm_figures(items, LEVEL)
    return _LAST_FIGURES[key]
