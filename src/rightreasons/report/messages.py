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


def ignore_message(_: str) -> None:
    """Ignore a message."""


def describe_labels(context: AuditContext) -> list[str]:
    """Return messages about the labels, before the model reads anything.

    They state which known issues of the data were corrected, how its labels map to the classes of
    the model, and how many items of each split have no label.
    """
    lines = context.list_corrections()
    # Labels of choices are positions, which need no mapping.
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
    """Return a warning about the classes that no label of the primary split has; "" for none.

    If labels were matched with classes by number, this may mean that the classes of the model are
    in another order. Labels that were matched by name need no warning.
    """
    split = context.primary
    if split.class_of is None or not split.label_mapping.startswith(BY_NUMBER):
        return ""
    unlabeled_classes = []
    for number, name in enumerate(context.label_names or ()):
        if number not in split.class_of:
            unlabeled_classes.append(name)
    return describe_unlabeled(unlabeled_classes)


def describe_run(context: AuditContext, sections: Sequence[Question]) -> list[str]:
    """Return messages about the questions of an audit and the items that answer them.

    They state which questions are asked about how many items, how many items settle the verdict of
    each, and which items of each split have no scores.

    Args:
        context: The audit, with the scores of the items.
        sections: The questions that apply.
    """
    lines = describe_questions(context, sections)
    split = context.primary
    n_units = count_units(split.clusters, len(split))
    n_labeled = int(split.labeled.sum())
    labeled_clusters = select_clusters(split.clusters, split.labeled)
    n_labeled_units = count_units(labeled_clusters, n_labeled)
    for section in sections:
        # Only verdicts with a margin have a number of items that settles them.
        power = getattr(section, "power", None)
        if power is None:
            continue
        # Unlabeled items do not count for questions about correct answers.
        n_relevant_units = n_units
        if section.needs_labels:
            n_relevant_units = n_labeled_units
        lines.append(f"{section.name}: {power.describe(n_relevant_units)}.")

    for audited_split in context.splits:
        for line in describe_unscored_items("item", len(audited_split), audited_split.left_out):
            lines.append(f"{audited_split.name}: {line}")
    return lines


def describe_questions(context: AuditContext, sections: Sequence[Question]) -> list[str]:
    """Return a line on which questions are asked about how many items; none for stored predictions.

    Example: "2 questions (cues, probes) about 150 items of test, and test_flipped."
    """
    # Nothing is asked of stored predictions.
    if context.stored is not None or not sections:
        return []
    names = ", ".join(section.name for section in sections)
    questions = pluralize(len(sections), "question")
    split = context.primary
    items = pluralize(len(split), "item")
    line = f"{questions} ({names}) about {items} of {split.name}"
    for comparison in context.comparisons:
        line += f", and {comparison.name}"
    return [f"{line}."]


def describe_requests(
    forecasts: Mapping[str, Forecast], prompted: Prompted | None = None
) -> list[str]:
    """Return how many requests an audit makes in all, and their price; no line if they were not counted.

    Args:
        forecasts: Step -> its cost.
        prompted: The language model. None for another kind of model.

    Example:
        >>> from rightreasons.models.servers.usage import Forecast, Usage
        >>> items, probes = Forecast(Usage(requests=150)), Forecast(Usage(requests=151))
        >>> describe_requests({"the items": items, "probes": probes})
        ['Requests in all: about 301 (the items 150, probes 151).']
    """
    if not forecasts:
        return []
    steps = []
    for step, cost in forecasts.items():
        steps.append(f"{step} {cost.at_most.requests:,}")
    listing = ", ".join(steps)
    # Later requests may depend on earlier answers, so that nothing is promised.
    total = sum(cost.at_most.requests for cost in forecasts.values())
    lines = [f"Requests in all: about {total:,} ({listing})."]
    client = getattr(getattr(prompted, "engine", None), "client", None)
    # A local model costs nothing but time.
    if client is not None:
        cost = sum(forecasts.values(), Forecast())
        lines.append(f"Cost in all: {cost.describe(client.options)}")
        reached = client.account.find_reached_bound(cost.expected)
        if reached:
            bound = reached.removesuffix(" is reached")
            lines.append(f"This run will stop early, at {bound}.")
    return lines


def describe_answers(context: AuditContext, answers: AnswerFigures | None) -> list[str]:
    """Return messages on how many answers cannot be read, and which requests have no answer.

    Args:
        context: The audit, after its questions were answered.
        answers: Figures of the answers; None if they are not known.
    """
    lines = []
    # Without a confidence in them, the answers are all that there is to report.
    if answers is not None and (answers.n_unread or answers.worst or context.answers_once):
        lines.append(answers.sentence)
    for reason, n_failed, example in list_failed_requests(context):
        requests = pluralize(n_failed, "request")
        lines.append(f"{requests} of the questions without an answer, such as {example}: {reason}")
    return lines


def list_split_accuracies(context: AuditContext) -> list[tuple[str, float]]:
    """Return the name and the accuracy of each split that the primary one is compared with."""
    accuracies = []
    for split in context.comparisons:
        # A split that no question reads has no scores, and one may have no labels.
        if not context.has_scores(split) or not split.labeled.any():
            continue
        is_correct = context.scores(split).predicted == split.labels
        accuracy = is_correct[split.labeled].mean()
        accuracies.append((split.name, float(accuracy)))
    return accuracies
