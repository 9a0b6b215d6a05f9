"""A report as a section of a model card, and as the results in its metadata."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rightreasons.auditing.figures import AuditFigure, answers_worst_first, audit_figures
from rightreasons.auditing.page.first_screen import LIGHTS
from rightreasons.auditing.page.words import short_name
from rightreasons.auditing.reading.markdown import code, row, text
from rightreasons.auditing.schema import read_audit
from rightreasons.foundations.atomic_write import check_file, write_bytes
from rightreasons.foundations.sentences import checks_kinds, counted, one_line

if TYPE_CHECKING:
    from huggingface_hub import EvalResult, ModelCard

BEGIN, END = "<!-- rightreasons: begin -->", "<!-- rightreasons: end -->"
"""What the section stands between, so that the next one replaces it."""

MARK = "rightreasons"
"""The key in the arguments of a metric that tells our results from others."""

_TASKS = {
    "classification": ("text-classification", "Text Classification"),
    "multiple_choice": ("multiple-choice", "Multiple Choice"),
    "confidence": ("question-answering", "Question Answering"),
}


@checks_kinds
def write_card(report: str | os.PathLike[str], to: str | os.PathLike[str]) -> Path:
    """Write a report into a model card: a section with its verdicts, and its figures as `model-index` metadata.

    A section of an earlier report, and its results, are replaced; the rest of the card stays as it is. The metadata is
    read and written by `huggingface_hub`, which keeps the fields and their order, but no comments.

    Args:
        report: The folder of a report, or its audit.json.
        to: The card, such as README.md in the folder of the model; a new one is begun where there is none.

    Returns:
        The card.

    Raises:
        ValueError: If the metadata of the card is not that of a model card, or lists several models.
        FileNotFoundError: If there is no report.
    """
    audit = read_audit(report)
    file = check_file(to, "to")
    name = short_name(audit["model"]["name"])
    card = _open(file, name)
    data: Any = card.data
    theirs = [result for result in data.eval_results or [] if MARK not in (result.metric_args or {})]
    data.eval_results = [*theirs, *eval_results(audit)] or None
    if data.eval_results:
        data.model_name = data.model_name or name
    break_ = "\r\n" if "\r\n" in card.text else "\n"
    card.text = _with_section(card.text.replace("\r\n", "\n"), card_section(audit)).replace("\n", break_)
    return write_bytes(file, card.content.encode("utf-8"))


@checks_kinds
def card_section(audit: Mapping[str, Any]) -> str:
    """Write the section of a model card about an audit, in Markdown.

    Args:
        audit: What `read_audit` returns.

    Returns:
        A heading, on what the model was audited, and a row per question that was answered, the worst first.
    """
    figures = audit_figures(audit)
    primary = next(split for split in audit["dataset"]["splits"] if split["name"] == audit["dataset"]["primary"])
    data = short_name(audit["dataset"]["name"])
    about = (
        f"Audited with rightreasons {audit['rightreasons']} on {counted(primary['n_items'], 'item')} of the split "
        f"{code(primary['name'])} of {code(data)} ({audit['created'][:10]}). In brackets: "
        f"{100 * audit['settings']['confidence_level']:g}% intervals."
    )
    lines = [
        "## Right for the right reasons?",
        "",
        about,
        "",
        row("Question", "Answer", "Figures"),
        row("---", "---", "---"),
    ]
    for answer in answers_worst_first(audit):
        shown = "; ".join(f"{text(figure.name)} {text(figure.in_words)}" for figure in _shown(answer, figures))
        verdict = answer["result"]["verdict"]
        lines.append(
            row(text(answer["title"]), f"**{text(verdict['label'])}** ({LIGHTS[verdict['tone']].lower()})", shown)
        )
    return "\n".join(lines)


@checks_kinds
def eval_results(audit: Mapping[str, Any]) -> list[EvalResult]:
    """Return the figures of an audit as the results of a model card.

    Args:
        audit: What `read_audit` returns.

    Returns:
        One `huggingface_hub.EvalResult` per headline of each answered question, with the ends of its interval and its
        number of items in `metric_args`.
    """
    from huggingface_hub import EvalResult

    figures = audit_figures(audit)
    task, task_name = _TASKS[audit["model"]["task"]]
    dataset = short_name(audit["dataset"]["name"])
    return [
        EvalResult(
            task_type=task,
            task_name=task_name,
            dataset_type=re.sub(r"[^\w./-]+", "-", dataset).strip("-") or "data",
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
        for answer in audit["questions"]
        if answer["result"] is not None
        for figure in _shown(answer, figures)
    ]


def _shown(answer: Mapping[str, Any], figures: Mapping[str, AuditFigure]) -> list[AuditFigure]:
    """Return the headlines of an answer that are defined."""
    keys = len(answer["result"]["headlines"])
    own = [figure for figure in figures.values() if figure.question == answer["question"]]
    return [figure for figure in own[:keys] if figure.estimate.value is not None]


def _open(file: Path, name: str) -> ModelCard:
    import yaml  # type: ignore[import-untyped]
    from huggingface_hub import ModelCard
    from huggingface_hub.repocard import REGEX_YAML_BLOCK

    content = f"# {name}\n"
    if file.is_file():
        with file.open(encoding="utf-8-sig", newline="") as stream:
            content = stream.read()
    if REGEX_YAML_BLOCK.search(content) is None:
        body = re.sub(r"\A\s*---\s*\n---[ \t\r]*\n", "", content)  # empty metadata
        content = f"---\n{{}}\n---\n{body}"
    try:
        card = ModelCard(content)
        models = (yaml.safe_load(content.split("---", 2)[1]) or {}).get("model-index") or []
    except (ValueError, yaml.YAMLError) as error:
        raise ValueError(f"Expected the metadata of a model card in {file.name}, but got {one_line(error)}.") from error
    if len(models) > 1:
        raise ValueError(f"Expected one model in the model-index of {file.name}, but it lists {len(models)}.")
    return card


def _with_section(body: str, section: str) -> str:
    """Put a section in the place of an earlier one, or at the end."""
    whole = f"{BEGIN}\n{section}\n{END}"
    start, end = body.find(BEGIN), body.find(END)
    if 0 <= start < end:
        return body[:start] + whole + body[end + len(END) :]
    return f"{body.rstrip()}\n\n{whole}\n" if body.strip() else f"{whole}\n"
