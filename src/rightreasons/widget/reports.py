"""A report within a page: the component of its own page, with its items, its links and "What if?".

`show_report` makes the component. `answer_edits` connects it with a handler that predicts the text
that a reader edits.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_name("report.js")
"""The script that shows a report in a shadow root of the page."""

_DISPATCH_ANSWER = """(answer) => document.dispatchEvent(
    new CustomEvent("rr-answer", { detail: JSON.parse(answer) }))"""


def show_report(value: Mapping[str, Any] | None, *, elem_id: str) -> Any:
    """Create the component that displays a report; a page may have only one.

    Args:
        value: A mapping with `page`, the HTML of the report, and `live`, the models for trying edited
            texts: `{"models": [{"name": …, "labels": […]}], "has_pairs": …}`, or None if there are
            none. If `value` is None, no report is displayed.
        elem_id: Id of the component.

    Returns:
        A `gradio.HTML`.
    """
    import gradio as gr

    return gr.HTML(
        value,
        # The script displays the report. In a template, the styles of the report would change the
        # whole page, and its script would not run.
        html_template="",
        js_on_load=SCRIPT.read_text("utf-8"),
        apply_default_css=False,
        elem_id=elem_id,
    )


def answer_edits(report: Any, predict: Callable[..., Any], inputs: Sequence[Any]) -> None:
    """Call a handler when a reader edits a text, and pass its answer to the report.

    Args:
        report: The component that displays the report, from `show_report`. Its script sends an event
            "input" with the edited texts.
        predict: Function that gradio calls for this event, with the values of `inputs` and a
            `gradio.EventData`, whose `_data` is the request of the script. It returns the predictions
            as the JSON text of `write_answer`.
        inputs: Components of gradio whose values the function needs.
    """
    import gradio as gr

    # An event cannot return a value to the script of the report. So the answer is written into a
    # hidden field, and a script on the page dispatches it as an event to the report.
    answer = gr.Textbox(visible="hidden", elem_classes="rr-style")
    predicted = report.input(predict, list(inputs), answer, show_progress="hidden")
    predicted.then(None, answer, None, js=_DISPATCH_ANSWER)


def write_answer(request: Mapping[str, Any], **content: Any) -> str:
    """Write the answer to a request as JSON.

    Args:
        request: The request, whose number the answer repeats.
        **content: `models`, the probabilities of each model, or `error`, a sentence.
    """
    return json.dumps({**content, "number": request["number"]})
