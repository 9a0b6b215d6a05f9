"""An audit in a terminal and in a notebook, as audit.json has it, and a comparison in a notebook."""

from __future__ import annotations

import base64
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rightreasons.core.estimates import Estimate
from rightreasons.page.formats import cell, format_estimate
from rightreasons.page.parts import Example, Table
from rightreasons.report.figures import audit_figures, sort_answers
from rightreasons.report.outcomes import LIGHTS
from rightreasons.report.render import PAGE, mark_code
from rightreasons.report.schema import describe_subject


def describe_verdicts(audit: Mapping[str, Any], folder: Path) -> str:
    """Return the verdicts of an audit and the path of its page as lines of text.

    Args:
        audit: Content of audit.json. The worst verdict comes first.
        folder: Folder of the report.
    """
    lines = []
    for answer in sort_answers(audit):
        verdict = answer["result"]["verdict"]
        lines.append(f"{LIGHTS[verdict['tone']]}: {answer['title']} {verdict['label']}.")
        lines.append(f"  {verdict['summary']}")
    lines.append(f"Report: {folder / PAGE}")
    return "\n".join(lines)


# -------------------------------------------------------------------------------- notebooks


def render_summary(audit: Mapping[str, Any], folder: Path) -> str:
    """Render the first screen of a report as HTML for a notebook, without scripts or links.

    Args:
        audit: Content of audit.json.
        folder: Folder of the report.
    """
    answers = sort_answers(audit)
    variables: dict[str, Any] = {
        "lights": LIGHTS,
        "rows": [_make_summary_row(audit, answer) for answer in answers],
        "others": [answer for answer in audit["questions"] if answer["result"] is None],
        "page": folder / PAGE,
        **_describe_worst_finding(audit, folder),
    }
    html: str = _load_template("notebook.html.j2").render(**variables)
    return html


def _describe_worst_finding(audit: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the variables of the template that describe the worst finding of an audit.

    Args:
        audit: Content of audit.json.
        folder: Folder of the report.

    Returns:
        `claim` and `evidence`, the finding in two strings; `shares_title` and `shares`, the bars of
        a contrast of shares; and `picture`, the plot of a finding without a contrast. All are empty
        if no question is answered.
    """
    variables: dict[str, Any] = {
        "claim": "",
        "evidence": "",
        "shares_title": "",
        "shares": [],
        "picture": "",
    }
    answers = sort_answers(audit)
    if not answers:
        return variables
    worst_result = answers[0]["result"]
    finding = worst_result["finding"]
    # Without a finding, the verdict is the claim.
    if finding is None:
        variables["claim"] = worst_result["verdict"]["label"]
        return variables
    # A finding is a clause that continues the name of the model.
    sentence = f"{describe_subject(audit)} {finding['claim']}"
    variables["claim"] = f"{sentence.rstrip('.')}."
    variables["evidence"] = finding["evidence"]
    if finding["contrast"] is not None:
        variables["shares_title"] = finding["contrast"]["title"]
        variables["shares"] = _list_shares(finding["contrast"])
    elif finding["plot"]:
        variables["picture"] = _read_picture(folder / "figures" / f"{finding['plot']}.png")
    return variables


def render_comparison(
    heading: str, tables: Sequence[Table], examples: Sequence[tuple[str, Example]] = ()
) -> str:
    """Render the finding of a comparison as HTML for a notebook, without scripts or links.

    Args:
        heading: The finding.
        tables: Tables of the models.
        examples: (title, item) of items that show the finding.
    """
    # A notebook shows no links, because it may be opened elsewhere.
    template = _load_template("notebook_comparison.html.j2")
    html: str = template.render(heading=heading, tables=tables, examples=examples)
    return html


@functools.cache
def _load_template(name: str) -> Any:
    """Return a template of a page in a notebook."""
    import jinja2

    # Names of models and labels come from users, and are escaped.
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("rightreasons.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["cell"] = cell
    environment.filters["coded"] = mark_code
    return environment.get_template(name)


def _make_summary_row(audit: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, str]:
    """Return the verdict and one figure of an answered question, for a row of a summary.

    Args:
        audit: Content of audit.json.
        answer: One of its answered questions.

    Returns:
        `tone`, `title` and `label` of the verdict, and the name and the value of the figure that
        the finding names as `figure` and `value`; both are "" if it names none.
    """
    result = answer["result"]
    row = {
        "tone": result["verdict"]["tone"],
        "title": answer["title"],
        "label": result["verdict"]["label"],
        "figure": "",
        "value": "",
    }
    # A verdict without a finding names no figure.
    finding = result["finding"] or {}
    for figure in audit_figures(audit).values():
        if figure.question == answer["question"] and figure.key == finding.get("figure"):
            row["figure"] = figure.name
            row["value"] = format_estimate(figure.estimate, figure.unit)
            break
    return row


def _read_picture(path: Path) -> str:
    """Return a picture of the report as the address of an image; "" if it is gone."""
    # A notebook keeps the image, also without the folder of the report.
    if not path.is_file():
        return ""
    return f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}"


def _list_shares(contrast: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the bars that compare the shares of a finding, without undefined shares.

    Args:
        contrast: Contrast of a finding in audit.json. Its "shares" have a "name" and an "estimate".

    Returns:
        Name of each share, its value with the interval as `text`, and its length in `percent`.
    """
    bars = []
    for share in contrast["shares"]:
        estimate = Estimate(**share["estimate"])
        if estimate.value is None:
            continue
        bar = {
            "name": share["name"],
            "text": format_estimate(estimate),
            "percent": f"{100 * estimate.value:.1f}",
        }
        bars.append(bar)
    return bars
