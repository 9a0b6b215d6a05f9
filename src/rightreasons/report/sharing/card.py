"""Model cards: a section with the verdicts of an audit, and its figures as metadata."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rightreasons.core.sentences import format_value, pluralize
from rightreasons.core.store import check_file, write_bytes
from rightreasons.core.validation import check_kind
from rightreasons.report.figures import AuditFigure, audit_figures, sort_answers
from rightreasons.report.outcomes import LIGHTS
from rightreasons.report.schema import get_names, read_audit

if TYPE_CHECKING:
    from huggingface_hub import EvalResult, ModelCard

BEGIN = "<!-- rightreasons: begin -->"
END = "<!-- rightreasons: end -->"
"""Lines around the section, so that the next one replaces it."""

MARK = "rightreasons"
"""Key in the arguments of a metric that distinguishes our results from others."""

_TASKS = {
    "classification": ("text-classification", "Text Classification"),
    "multiple_choice": ("multiple-choice", "Multiple Choice"),
    "confidence": ("question-answering", "Question Answering"),
}
"""Task of an audit -> its name on the hub, and its name for readers."""


def write_card(report: str | os.PathLike[str], to: str | os.PathLike[str]) -> Path:
    """Write a report into a model card: its verdicts, and its figures as `model-index` metadata.

    The section and the results of an earlier report are replaced; the rest of the card stays as it
    is. The metadata is read and written by `huggingface_hub`, which keeps the fields and their order,
    but no comments.

    Args:
        report: The folder of a report, or its audit.json.
        to: The card, such as README.md in the folder of the model. If there is none, it is created.

    Returns:
        The card.

    Raises:
        ValueError: If the metadata of the card is not that of a model card, or lists several models.
        FileNotFoundError: If there is no report.
    """
    check_kind(to, "to", str | os.PathLike)
    audit = read_audit(report)
    file = check_file(to, "to")
    name, _ = get_names(audit)
    card = _open_card(file, name)
    metadata: Any = card.data
    # Only our own results are replaced, and not those of other tools.
    results = []
    for result in metadata.eval_results or []:
        if MARK not in (result.metric_args or {}):
            results.append(result)
    results += list_eval_results(audit)
    metadata.eval_results = results or None
    # Without results, a card needs no name of its model.
    if results:
        metadata.model_name = metadata.model_name or name
    card.text = _insert_section(card.text, format_section(audit))
    return write_bytes(file, card.content.encode("utf-8"))


def format_section(audit: Mapping[str, Any]) -> str:
    """Return the section of a model card about an audit, in Markdown.

    Args:
        audit: Content of audit.json.

    Returns:
        A heading, what was audited, and a table with a row per answered question, the worst first.
    """
    figures = audit_figures(audit)
    # The first sentence states the items of the primary split; figures only name other items.
    primary = audit["dataset"]["primary"]
    primary_items = f" on {pluralize(_count_primary_items(audit), 'item')} of {primary}"
    lines = [
        "## Right for the right reasons?",
        "",
        _describe_audit(audit),
        "",
        format_row("Question", "Answer", "Metrics"),
        format_row("---", "---", "---"),
    ]
    for answer in sort_answers(audit):
        verdict = answer["result"]["verdict"]
        light = LIGHTS[verdict["tone"]].lower()
        descriptions = []
        for figure in _list_headlines(answer, figures):
            words = figure.in_words.removesuffix(primary_items)
            descriptions.append(f"{escape(figure.name)} {escape(words)}")
        row = format_row(
            escape(answer["title"]),
            f"**{escape(verdict['label'])}** ({light})",
            "; ".join(descriptions),
        )
        lines.append(row)
    return "\n".join(lines)


def _describe_audit(audit: Mapping[str, Any]) -> str:
    """Return a sentence about the version, the audited items, the date and the level of intervals.

    Args:
        audit: Content of audit.json.
    """
    dataset = audit["dataset"]
    _, data_name = get_names(audit)
    n_items = _count_primary_items(audit)
    date = audit["created"][:10]
    level = 100 * audit["settings"]["confidence_level"]
    return (
        f"Audited with rightreasons {audit['rightreasons']} on {pluralize(n_items, 'item')} of the "
        f"split “{escape(dataset['primary'])}” of {escape(data_name)} "
        f"({date}). In brackets: {level:g}% intervals."
    )


def _count_primary_items(audit: Mapping[str, Any]) -> int:
    """Return the number of items of the primary split."""
    dataset = audit["dataset"]
    for split in dataset["splits"]:
        if split["name"] == dataset["primary"]:
            return int(split["n_items"])
    return 0


def list_eval_results(audit: Mapping[str, Any]) -> list[EvalResult]:
    """Return the figures of an audit as the results of a model card.

    Args:
        audit: Content of audit.json.

    Returns:
        One `huggingface_hub.EvalResult` per headline of each answered question, with the ends of its
        interval and its number of items in `metric_args`.
    """
    figures = audit_figures(audit)
    results = []
    for answer in audit["questions"]:
        # A question without an answer has no figures.
        if answer["result"] is not None:
            for figure in _list_headlines(answer, figures):
                results.append(_make_eval_result(figure, audit))
    return results


def _make_eval_result(figure: AuditFigure, audit: Mapping[str, Any]) -> EvalResult:
    """Return a figure as a result in the metadata of a model card.

    Args:
        figure: The figure, whose interval and number of items are arguments of the metric.
        audit: Content of audit.json.
    """
    from huggingface_hub import EvalResult

    task, task_name = _TASKS[audit["model"]["task"]]
    _, dataset = get_names(audit)
    # The type of a data set is a name on the hub, which has few characters.
    dataset_type = re.sub(r"[^\w./-]+", "-", dataset).strip("-") or "data"
    return EvalResult(
        task_type=task,
        task_name=task_name,
        dataset_type=dataset_type,
        dataset_name=dataset,
        dataset_config=audit["settings"]["config"],
        dataset_split=figure.split or None,
        metric_type=figure.key,
        metric_name=figure.name,
        metric_value=figure.estimate.value,
        metric_args={
            MARK: figure.path,
            "low": figure.estimate.low,
            "high": figure.estimate.high,
            "confidence_level": figure.estimate.level,
            "n": figure.n,
        },
    )


def _list_headlines(
    answer: Mapping[str, Any], figures: Mapping[str, AuditFigure]
) -> list[AuditFigure]:
    """Return the main figures (headlines) of an answered question that have a value.

    Args:
        answer: The question and its result, from audit.json.
        figures: Path -> figure of the audit, from `audit_figures`.
    """
    question = answer["question"]
    figures_of_question = [figure for figure in figures.values() if figure.question == question]
    # `audit_figures` lists the headlines of a question before its other figures.
    n_headlines = len(answer["result"]["headlines"])
    headlines = []
    for figure in figures_of_question[:n_headlines]:
        if figure.estimate.value is not None:
            headlines.append(figure)
    return headlines


def _open_card(file: Path, name: str) -> ModelCard:
    """Open a model card; if the file does not exist, make one with a heading.

    Args:
        file: Path of the card.
        name: Name of the model, for the heading.

    Raises:
        ValueError: If its metadata is not that of a model card, or lists several models.
    """
    import yaml
    from huggingface_hub import ModelCard
    from huggingface_hub.repocard import REGEX_YAML_BLOCK

    content = f"# {name}\n"
    if file.is_file():
        content = file.read_text("utf-8")
    # The library expects a block of metadata between lines of "---", which may be empty.
    if REGEX_YAML_BLOCK.search(content) is None:
        content = f"---\n{{}}\n---\n{content}"
    try:
        card = ModelCard(content)
        _, metadata_block, _ = content.split("---", 2)
        metadata = yaml.safe_load(metadata_block) or {}
        # The library would silently drop all models but the first.
        if len(metadata.get("model-index") or []) > 1:
            raise ValueError("several models in its model-index")
    except (ValueError, yaml.YAMLError) as error:
        raise ValueError(
            f"Expected the metadata of a model card in {file.name}, but got {format_value(error)}."
        ) from error
    return card


def _insert_section(body: str, section: str) -> str:
    """Return the text of a model card with a section, which replaces an earlier one.

    Args:
        body: Text of the card. An earlier section is between the lines `BEGIN` and `END`.
        section: The new section, which is appended if there is no earlier one.
    """
    block = f"{BEGIN}\n{section}\n{END}"
    start = body.find(BEGIN)
    end = body.find(END)
    has_section = 0 <= start < end
    if has_section:
        return body[:start] + block + body[end + len(END) :]
    if not body.strip():
        return f"{block}\n"
    return f"{body.rstrip()}\n\n{block}\n"


def escape(text: str) -> str:
    r"""Return a text for Markdown, on one line and with its special characters escaped.

    Example:
        >>> print(escape("a|b <img> *x* @who\nline"))
        a\|b &lt;img&gt; \*x\* &#64;who line
    """
    line = " ".join(text.split())
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # A name after @ would notify its owner.
    return re.sub(r"([\\`*_\[\]|~#])", r"\\\1", line).replace("@", "&#64;")


def format_row(*cells: str) -> str:
    """Return a row of a table.

    Example:
        >>> format_row("a", "b")
        '| a | b |'
    """
    return f"| {' | '.join(cells)} |"
