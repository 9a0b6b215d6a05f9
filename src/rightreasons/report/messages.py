"""Messages of an audit to the person who runs it, before and after the model is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rightreasons.audited.context import AuditContext
from rightreasons.core.clusters import count_units, select_clusters
from rightreasons.core.labels.matching import describe_unlabeled
from rightreasons.core.labels.names import BY_NUMBER
from rightreasons.core.sentences import pluralize
from rightreasons.models.servers.usage import Forecast
from rightreasons.page.formats import describe_unscored_items
from rightreasons.report.answers import AnswerFigures
from rightreasons.report.unread import list_failed_requests

if TYPE_CHECKING:
    from rightreasons.models.prompted import Prompted
    from rightreasons.page.question import Question
    from rightreasons.report.answering import AuditQuestion


def ignore_message(_: str) -> None:
    """Ignore a message."""


def describe_labels(context: AuditContext) -> list[str]:
    """Return messages about the labels, for the user to read before the model is run.

    They state which known issues of the data were corrected, how its labels map to the classes of
    the model, and how many items of each split have no label.

    Args:
        context: The audit, not yet scored.
    """
    lines = context.list_corrections()
    # For multiple choice, `class_of` is None: labels are positions, which need no mapping.
    if context.primary.class_of is not None:
        mapping = context.primary.label_mapping
        lines.append(f"Labels of {context.dataset_name} matched with the classes {mapping}.")
    for split in context.splits:
        n_items = len(split)
        n_labeled = int(split.labeled.sum())
        n_unlabeled = n_items - n_labeled
        if n_unlabeled == 0:
            continue
        verb = "has" if n_unlabeled == 1 else "have"
        items = pluralize(n_items, "item")
        lines.append(f"{n_unlabeled:,} of {items} of the split {split.name} {verb} no label.")
    return lines


def describe_missing_classes(context: AuditContext) -> str:
    """Return a warning about classes of the model that no label of the primary split maps to.

    If labels were matched with classes by number, this may mean that the classes of the model are
    in another order. The warning is "" if there are no such classes, or labels were matched by
    name.

    Args:
        context: The audit. The `class_of` of its primary split is the class number of each label.
    """
    split = context.primary
    if split.class_of is None or not split.label_mapping.startswith(BY_NUMBER):
        return ""
    unlabeled_classes = []
    for number, name in enumerate(context.label_names or ()):
        if number not in split.class_of:
            unlabeled_classes.append(name)
    return describe_unlabeled(unlabeled_classes)


def describe_run(context: AuditContext, questions: Sequence[AuditQuestion]) -> list[str]:
    """Return messages about the questions of an audit and the items that answer them.

    They state which questions are asked about how many items, how many items settle the verdict of
    each, and which items of each split have no scores.

    Args:
        context: The audit, with the scores of the items.
        questions: The questions that apply.
    """
    lines = describe_questions(context, [question.section for question in questions])
    split = context.primary
    n_units = count_units(split.clusters, len(split))
    n_labeled = int(split.labeled.sum())
    labeled_clusters = select_clusters(split.clusters, split.labeled)
    n_labeled_units = count_units(labeled_clusters, n_labeled)
    for question in questions:
        section = question.section
        # `power` computes the number of items that settles a verdict. Not every question has it.
        power = getattr(section, "power", None)
        if power is None:
            continue
        # Unlabeled items do not count for questions about correct answers.
        n_relevant_units = n_units
        if section.needs_labels:
            n_relevant_units = n_labeled_units
        # A question that takes long uses only a sample of the items.
        limit = question.options.find_item_limit(context)
        if limit is not None:
            n_relevant_units = min(n_relevant_units, limit)
        lines.append(f"{section.name}: {power.describe(n_relevant_units)}.")

    for audited_split in context.splits:
        for line in describe_unscored_items("item", len(audited_split), audited_split.left_out):
            lines.append(f"{audited_split.name}: {line}")
    return lines


def describe_questions(context: AuditContext, sections: Sequence[Question]) -> list[str]:
    """Return a line with the questions and the number of items; [] for stored predictions.

    Example: "2 questions (cues, probes) on 150 items of test, and on test_flipped."
    """
    # Stored predictions have no model that could be queried.
    if context.stored is not None or not sections:
        return []
    names = ", ".join(section.name for section in sections)
    questions = pluralize(len(sections), "question")
    split = context.primary
    items = pluralize(len(split), "item")
    line = f"{questions} ({names}) on {items} of {split.name}"
    for comparison in context.comparisons:
        line += f", and on {comparison.name}"
    return [f"{line}."]


def describe_requests(
    forecasts: Mapping[str, Forecast], prompted: Prompted | None = None
) -> list[str]:
    """Return lines with the number of requests of an audit, their price, and a limit that stops it.

    Args:
        forecasts: Step -> its cost; empty if the requests were not counted, which gives no lines.
        prompted: The language model; None for other models, which have no price.

    Example:
        >>> from rightreasons.models.servers.usage import Forecast, Usage
        >>> items, probes = Forecast(Usage(requests=150)), Forecast(Usage(requests=151))
        >>> describe_requests({"the items": items, "probes": probes})
        ['Total requests: about 301 (the items 150, probes 151).']
    """
    if not forecasts:
        return []
    steps = []
    for step, cost in forecasts.items():
        steps.append(f"{step} {cost.at_most.requests:,}")
    listing = ", ".join(steps)
    # The number is approximate, because later requests may depend on earlier answers.
    total = sum(cost.at_most.requests for cost in forecasts.values())
    lines = [f"Total requests: about {total:,} ({listing})."]
    engine = getattr(prompted, "engine", None)
    # Only the engine of a server has a client, whose options have the prices.
    client = getattr(engine, "client", None)
    if client is not None:
        cost = sum(forecasts.values(), Forecast())
        lines.append(f"Total cost: {cost.describe(client.options)}")
        bound = client.account.find_reached_bound(cost.expected)
        if bound:
            lines.append(f"This run will stop early, at {bound}.")
    return lines


def describe_answers(context: AuditContext, answers: AnswerFigures | None) -> list[str]:
    """Return messages on how many answers cannot be read, and which requests have no answer.

    Args:
        context: The audit, after its questions were answered.
        answers: The accuracy of the answers; None if it is not known.
    """
    lines = []
    # The accuracy is worth a message if answers cannot be read, if a group of items is worse than
    # the others, or if the answers have no confidences (`answers_once`), so that nothing else is
    # reported about them.
    if answers is not None and (answers.n_unread or answers.worst or context.answers_once):
        lines.append(answers.sentence)
    for reason, n_failed, example in list_failed_requests(context):
        requests = pluralize(n_failed, "request")
        lines.append(f"Failed: {requests}, such as {example}: {reason}")
    return lines


def list_split_accuracies(context: AuditContext) -> list[tuple[str, float]]:
    """Return (name, accuracy) of each split that the primary one is compared with.

    Splits without scores or without labels are omitted.

    Args:
        context: The audit, scored.
    """
    accuracies = []
    for split in context.comparisons:
        # A split that no question reads has no scores.
        if not context.has_scores(split) or not split.labeled.any():
            continue
        is_correct = context.scores(split).predicted == split.labels
        accuracy = is_correct[split.labeled].mean()
        accuracies.append((split.name, float(accuracy)))
    return accuracies
