"""An audit as others keep and check it: model cards, Every Eval Ever, hub benchmarks, the gate of a build."""

from __future__ import annotations

import dataclasses
import datetime
import operator
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rightreasons.core.errors import OptionError, OptionTypeError, make_unknown_name_error
from rightreasons.core.results import Result
from rightreasons.core.sentences import format_value, pluralize
from rightreasons.core.store import check_file, write_bytes, write_json
from rightreasons.core.validation import check_kind, check_one_of
from rightreasons.page.prose import TONES, short_name
from rightreasons.report.figures import ENDS, AuditFigure, audit_figures, shorten_path, sort_answers
from rightreasons.report.outcomes import LIGHTS
from rightreasons.report.questions import QUESTIONS
from rightreasons.report.schema import read_audit

if TYPE_CHECKING:
    from huggingface_hub import EvalResult, ModelCard


def text(value: str) -> str:
    r"""Write a text so that Markdown shows it as it is, on one line.

    Example:
        >>> print(text("a|b <img> *x* @who\nline"))
        a\|b &lt;img&gt; \*x\* &#64;who line
    """
    line = " ".join(value.split())
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~#])", r"\\\1", line).replace("@", "&#64;")


def row(*cells: str) -> str:
    """Write a row of a table.

    Example:
        >>> row("a", "b")
        '| a | b |'
    """
    return f"| {' | '.join(cells)} |"


BEGIN, END = "<!-- rightreasons: begin -->", "<!-- rightreasons: end -->"
"""What the section stands between, so that the next one replaces it."""

MARK = "rightreasons"
"""The key in the arguments of a metric that tells our results from others."""

_TASKS = {
    "classification": ("text-classification", "Text Classification"),
    "multiple_choice": ("multiple-choice", "Multiple Choice"),
    "confidence": ("question-answering", "Question Answering"),
}


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
    check_kind(to, "to", str | os.PathLike)
    audit = read_audit(report)
    file = check_file(to, "to")
    name = short_name(audit["model"]["name"])
    card = _open(file, name)
    data: Any = card.data
    theirs = [
        result for result in data.eval_results or [] if MARK not in (result.metric_args or {})
    ]
    data.eval_results = [*theirs, *eval_results(audit)] or None
    if data.eval_results:
        data.model_name = data.model_name or name
    card.text = _with_section(card.text, card_section(audit))
    return write_bytes(file, card.content.encode("utf-8"))


def card_section(audit: Mapping[str, Any]) -> str:
    """Write the section of a model card about an audit, in Markdown.

    Args:
        audit: What `read_audit` returns.

    Returns:
        A heading, on what the model was audited, and a row per question that was answered, the worst first.
    """
    figures = audit_figures(audit)
    primary = next(
        split
        for split in audit["dataset"]["splits"]
        if split["name"] == audit["dataset"]["primary"]
    )
    data = short_name(audit["dataset"]["name"])
    about = (
        f"Audited with rightreasons {audit['rightreasons']} on {pluralize(primary['n_items'], 'item')} of the split "
        f"“{text(primary['name'])}” of {text(data)} ({audit['created'][:10]}). In brackets: "
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
    for answer in sort_answers(audit):
        shown = "; ".join(
            f"{text(figure.name)} {text(figure.in_words)}" for figure in _shown(answer, figures)
        )
        verdict = answer["result"]["verdict"]
        lines.append(
            row(
                text(answer["title"]),
                f"**{text(verdict['label'])}** ({LIGHTS[verdict['tone']].lower()})",
                shown,
            )
        )
    return "\n".join(lines)


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
    of_question = [figure for figure in figures.values() if figure.question == answer["question"]]
    return [figure for figure in of_question[:keys] if figure.estimate.value is not None]


def _open(file: Path, name: str) -> ModelCard:
    import yaml
    from huggingface_hub import ModelCard
    from huggingface_hub.repocard import REGEX_YAML_BLOCK

    content = file.read_text("utf-8") if file.is_file() else f"# {name}\n"
    if REGEX_YAML_BLOCK.search(content) is None:
        content = f"---\n{{}}\n---\n{content}"
    try:
        card = ModelCard(content)
        if len((yaml.safe_load(content.split("---", 2)[1]) or {}).get("model-index") or []) > 1:
            raise ValueError("several models in its model-index")
        return card
    except (ValueError, yaml.YAMLError) as error:
        raise ValueError(
            f"Expected the metadata of a model card in {file.name}, but got {format_value(error)}."
        ) from error


def _with_section(body: str, section: str) -> str:
    """Put a section in the place of an earlier one, or at the end."""
    whole = f"{BEGIN}\n{section}\n{END}"
    start, end = body.find(BEGIN), body.find(END)
    if 0 <= start < end:
        return body[:start] + whole + body[end + len(END) :]
    return f"{body.rstrip()}\n\n{whole}\n" if body.strip() else f"{whole}\n"


# ------------- The figures as other collections keep them: Every Eval Ever's records, and results of hub benchmarks


def write_every_eval_ever(report: str | os.PathLike[str], to: str | os.PathLike[str]) -> Path:
    """Write a report as a record of Every Eval Ever (schema 0.3.0), with intervals and numbers of items.

    It has one result per figure that is defined. Who made the model and who asks is not in an audit: the organization
    is "unknown" and the relationship "other", until the one who sends it says so.

    Args:
        report: The folder of a report, or its audit.json.
        to: The file, such as record.json.

    Returns:
        The file.

    Raises:
        FileNotFoundError: If there is no report.
    """
    audit = read_audit(report)
    made = datetime.datetime.fromisoformat(audit["created"])
    model, server = audit["model"]["name"], audit["model"]["server"]
    stamp = str(int(made.timestamp()))
    record = {
        "schema_version": "0.3.0",
        "evaluation_id": f"rightreasons/{model}/{stamp}",
        "evaluation_timestamp": stamp,
        "retrieved_timestamp": stamp,
        "source_metadata": {
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "rightreasons", "version": audit["rightreasons"]},
        "model_info": {
            "name": model,
            "id": model,
            "additional_details": {
                "deployment_type": "self_deployed" if server is None else "unknown",
                "model_availability": "unknown",
                "fingerprint": audit["model"]["fingerprint"],
            },
        },
        "evaluation_results": [
            _result(figure, audit)
            for figure in audit_figures(audit).values()
            if figure.estimate.value is not None
        ],
    }
    return write_json(check_file(to, "to"), record)


def write_eval_results(
    report: str | os.PathLike[str], to: str | os.PathLike[str], *, benchmark: str, figure: str
) -> Path:
    """Write one figure of a report as the hub shows results of its benchmarks beside a model.

    Args:
        report: The folder of a report, or its audit.json.
        to: The file, such as .eval_results/reasons.yaml in the folder of the model.
        benchmark: The data set that the hub lists as a benchmark, and its task: "org/data:task".
        figure: The path of the figure, such as "reasons.silent_sway".

    Returns:
        The file. A result has one number; the interval and the number of items are in its notes.

    Raises:
        ValueError: If the benchmark has no task, or the audit has no such figure.
        FileNotFoundError: If there is no report.
    """
    import yaml
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    data, _, task = benchmark.partition(":")
    if not data or not task:
        raise OptionError(
            f"Expected `benchmark` as org/data:task, but got {benchmark!r}.", option="benchmark"
        )
    audit = read_audit(report)
    figures = {
        path: each for path, each in audit_figures(audit).items() if each.estimate.value is not None
    }
    if figure not in figures:
        raise make_unknown_name_error("figure", figure, figures)
    found = figures[figure]
    entry = EvalResultEntry(
        dataset_id=data,
        task_id=task,
        value=found.estimate.value,
        date=audit["created"][:10],
        notes=f"{found.name}: {found.in_words}; rightreasons {audit['rightreasons']}",
    )
    return write_bytes(
        check_file(to, "to"),
        yaml.safe_dump(eval_result_entries_to_yaml([entry]), sort_keys=False).encode("utf-8"),
    )


def _result(figure: AuditFigure, audit: Mapping[str, Any]) -> dict[str, Any]:
    estimate = figure.estimate
    ends = [end for end in (estimate.value, estimate.low) if end is not None]
    least = (-1.0 if figure.unit == "fraction" else "-Infinity") if min(ends) < 0 else 0.0
    uncertainty: dict[str, Any] = {} if figure.n is None else {"num_samples": figure.n}
    if estimate.low is not None and estimate.high is not None:
        uncertainty["confidence_interval"] = {
            "lower": estimate.low,
            "upper": estimate.high,
            "confidence_level": estimate.level,
            "method": estimate.method,
        }
    return {
        "evaluation_name": figure.path,
        "source_data": {
            "dataset_name": audit["dataset"]["name"],
            "source_type": "other",
            "additional_details": {"split": figure.split or audit["dataset"]["primary"]},
        },
        "metric_config": {
            "metric_id": f"rightreasons.{figure.path}",
            "metric_name": figure.name,
            "metric_unit": "proportion" if figure.unit == "fraction" else figure.unit,
            "lower_is_better": figure.better == "lower",
            "score_type": "continuous",
            "min_score": least,
            "max_score": 1.0 if figure.unit == "fraction" else "Infinity",
            "additional_details": {"better": figure.better or "neither"},
        },
        "score_details": {"score": estimate.value}
        | ({"uncertainty": uncertainty} if uncertainty else {}),
    }


OPERATORS = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_CONDITION = re.compile(
    rf"\s*([^\s<>=!]+)\s*(<=|>=|==|!=|<|>)\s*(?:({_NUMBER})\s*(%?)|([a-z]+))\s*"
)
_MARKS = {"pass": "ok", "fail": "FAIL", "undefined": "UNDEFINED"}


@dataclasses.dataclass(frozen=True)
class GateCheck(Result):
    """One condition, and what the report says about it.

    Attributes:
        condition: The condition as it was typed; where it holds, the check fails.
        outcome: "pass", "fail", or "undefined" where the report has no such figure, which fails the gate too.
        told: The figure with its interval, or why there is none.
    """

    condition: str
    outcome: Literal["pass", "fail", "undefined"]
    told: str

    @property
    def line(self) -> str:
        """The check in one line."""
        return f"{_MARKS[self.outcome]:<9} {self.condition}: {self.told}"


@dataclasses.dataclass(frozen=True)
class GateResult(Result):
    """What a gate found.

    Attributes:
        checks: The conditions in their order.
        passed: Whether every check passes.
    """

    checks: tuple[GateCheck, ...]
    passed: bool


def gate(report: str | os.PathLike[str], fail_if: Sequence[str]) -> GateResult:
    """Check the figures of a report against conditions that must not hold.

    A condition is a path, one of `< <= > >= == !=`, and a number, such as `shortcuts.deciding_share.low > 0.25` or
    `calibration.ece.low > 5%`. The path of a figure alone is its value; `.low` and `.high` are the ends of its
    interval and `.n` is its number of items. `shortcuts.verdict == bad` is about a verdict: good, warn, bad or neutral.

    Args:
        report: The folder of a report, or its audit.json.
        fail_if: The conditions. One about a figure that the report does not have, as its question does not apply,
            failed or was not asked, or as the figure is undefined or has no interval, fails too.

    Returns:
        The checks, and whether the gate is passed.

    Raises:
        TypeError: If the conditions are no list of texts.
        ValueError: If a condition is no such expression, or its path is unknown; the nearest known ones are given.
        FileNotFoundError: If there is no report.
    """
    check_kind(fail_if, "fail_if", Iterable)
    if isinstance(fail_if, str) or not all(isinstance(each, str) for each in fail_if):
        raise OptionTypeError(
            f"Expected a list of conditions in `fail_if`, but got {fail_if!r}.", option="fail_if"
        )
    audit = read_audit(report)
    checks = tuple(check(audit, condition) for condition in fail_if)
    return GateResult(checks, all(check.outcome == "pass" for check in checks))


def check(audit: Mapping[str, Any], condition: str) -> GateCheck:
    """Check one condition of an audit: "fail" where it holds, as `gate` names what must not."""
    figures = audit_figures(audit)
    match = _CONDITION.fullmatch(condition)
    if match is None:
        raise ValueError(
            f"Expected a path, one of {' '.join(OPERATORS)} and a number, such as 'calibration.ece > 0.05', but got "
            f"{condition!r}."
        )
    path, compare = shorten_path(match[1]), OPERATORS[match[2]]
    question, _, key = path.partition(".")
    answer = next((each for each in audit["questions"] if each["question"] == question), None)
    if key == "verdict":
        check_one_of(match[5] or match[3], TONES, path)
        if match[2] not in ("==", "!="):
            raise ValueError(f"Expected == or != with a verdict, but got {condition!r}.")
    elif match[5] is not None:
        raise ValueError(f"Expected a number at the end of {condition!r}, but got {match[5]!r}.")
    if answer is None and question not in QUESTIONS:
        raise make_unknown_name_error("question", question, QUESTIONS)
    if answer is None or answer["result"] is None:
        return GateCheck(
            condition, "undefined", answer["reason"] if answer else "The question was not asked."
        )
    if key == "verdict":
        verdict = answer["result"]["verdict"]
        fails = bool(compare(verdict["tone"], match[5]))
        return GateCheck(
            condition, "fail" if fails else "pass", f"{verdict['label']} ({verdict['tone']})"
        )
    figure, end = _figure(path, figures)
    bound = float(match[3]) / (100 if match[4] else 1)
    if figure.unit == "fraction" and end != "n" and abs(bound) > 1:
        raise ValueError(
            f"Expected a share from 0 to 1, or a percentage, in {condition!r}, but got {match[3]}."
        )
    value = figure.n if end == "n" else getattr(figure.estimate, end)
    if value is None:
        what = "is undefined for these items" if end == "value" else "has no interval"
        what = "has no number of items in the report" if end == "n" else what
        return GateCheck(condition, "undefined", f"{figure.name} {what}.")
    fails = bool(compare(value, bound))
    return GateCheck(condition, "fail" if fails else "pass", figure.in_words)


def _figure(path: str, figures: Mapping[str, AuditFigure]) -> tuple[AuditFigure, str]:
    """Find a figure by its path, and which of its values is meant."""
    if path in figures:
        return figures[path], "value"
    stem, _, end = path.rpartition(".")
    if stem in figures and end in ENDS:
        return figures[stem], end
    if stem in figures:
        raise ValueError(
            f"Expected {', '.join(ENDS[:-1])} or {ENDS[-1]} after {stem}, but got {format_value(end)}."
        )
    question = path.partition(".")[0]
    raise make_unknown_name_error(
        "figure", path, (known for known in figures if known.startswith(f"{question}."))
    )
