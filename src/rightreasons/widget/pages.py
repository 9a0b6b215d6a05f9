"""The shared parts of our pages: limits for visitors, uploads that are deleted, elements, and links.

`public_page` builds a page, `launch` serves it, and `waiting` and `opening` run long work in its
handlers. The functions between write elements of a page as HTML.
"""

from __future__ import annotations

import abc
import contextlib
import functools
import html
import json
import re
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rightreasons.core.arrays import describe_kind
from rightreasons.core.intervals import Interval
from rightreasons.core.limits import (
    MAX_PAGE_CHARACTERS,
    MAX_UNPACKED_BYTES,
    MAX_UPLOAD_BYTES,
    MAX_UPLOAD_CELLS,
    MAX_UPLOAD_ROWS,
)
from rightreasons.core.sentences import pluralize
from rightreasons.core.validation import check_at_most, check_count
from rightreasons.io.files.compressed import get_data_type, unpack_file
from rightreasons.page.formats import NONE

MAX_TABLE_ROWS = 200
"""Maximum number of rows that `table` writes; below them it says how many more there are."""

MISTAKES = (TypeError, ValueError)
"""Errors that a user's input may raise; the page shows their message. Any other error is a bug of ours."""

FILTER = "Filter of a log"
"""The field of a page in which a visitor names the filter or the scorer of a log that has several."""


def problem(error: Exception | str) -> str:
    """Write an error as one sentence for the reader of a page, to whom an option of the reader of logs is a field.

    Example:
        >>> problem(ValueError("Expected x < 1."))
        '<p class="rr-problem" role="alert">Expected x &lt; 1.</p>'
    """
    sentence = str(error).replace("Choose one with `log_filter`", f"Choose one under “{FILTER}”")
    return f'<p class="rr-problem" role="alert">{html.escape(sentence)}</p>'


def verdict(sentence: str, tone: str = "neutral") -> str:
    """Write the one sentence that says what a page shows; its tone is "bad", "warn", "neutral" or "good".

    Example:
        >>> verdict("Sure & wrong.", "bad")
        '<p class="rr-verdict rr-bad">Sure &amp; wrong.</p>'
    """
    return f'<p class="rr-verdict rr-{tone}">{html.escape(sentence)}</p>'


def tiles(entries: Iterable[tuple[str, str, str]]) -> str:
    """Write figures as a grid of tiles: a name, a value, and a small line below.

    Args:
        entries: (name, value, small line) of each tile.

    Example:
        >>> tiles([("ECE", "0.05", "lower is better")]).count("<div>")
        1
    """
    blocks = []
    for entry in entries:
        name, value, small_line = map(html.escape, entry)
        blocks.append(
            f'<div><dt>{name}</dt><dd>{value}</dd><dd class="rr-small">{small_line}</dd></div>'
        )
    # On a wide page, all rows are full: four tiles are one row, and six are two.
    n_columns = 3
    if len(blocks) % 4 == 0:
        n_columns = 4
    return f'<dl class="rr-tiles" style="--rr-columns: {n_columns}">{"".join(blocks)}</dl>'


def table(
    rows: Sequence[Mapping[str, Any]],
    columns: Mapping[str, str] | None = None,
    *,
    caption: str = "",
) -> str:
    """Write rows as an HTML table that scrolls within itself on a narrow page.

    At most `MAX_TABLE_ROWS` rows are written, and the number of the others below them.

    Args:
        rows: One mapping per row.
        columns: The heading of each key to show, in order; by default the keys of the first row.
        caption: A line above the table.
    """
    if columns is None:
        columns = {}
        if rows:
            columns = {key: key.replace("_", " ") for key in rows[0]}
    # Figures are aligned to the right, texts to the left.
    class_by_key = {}
    for key in columns:
        class_by_key[key] = ""
        if _is_numeric(rows, key):
            class_by_key[key] = ' class="rr-number"'

    headings = []
    for key, heading in columns.items():
        headings.append(f"<th{class_by_key[key]}>{html.escape(heading)}</th>")
    body = []
    for row in rows[:MAX_TABLE_ROWS]:
        cells = []
        for key in columns:
            text = html.escape(figure(row.get(key)))
            cells.append(f"<td{class_by_key[key]}>{text}</td>")
        body.append(f"<tr>{''.join(cells)}</tr>")

    caption_element = ""
    if caption:
        caption_element = f"<caption>{html.escape(caption)}</caption>"
    footnote = ""
    n_hidden = len(rows) - MAX_TABLE_ROWS
    if n_hidden > 0:
        footnote = f'<p class="rr-small">and {pluralize(n_hidden, "more row")}</p>'
    # A reader without a mouse can scroll the table once it has the focus.
    return (
        f'<div class="rr-table" tabindex="0"><table>{caption_element}'
        f"<thead><tr>{''.join(headings)}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table></div>{footnote}"
    )


def _is_numeric(rows: Sequence[Mapping[str, Any]], key: str) -> bool:
    """Return whether a column has numbers and gaps alone."""
    values = [row.get(key) for row in rows]
    return bool(values) and all(value is None or is_number(value) for value in values)


def figure(value: Any) -> str:
    """Write one value for display: four decimal places, thousands separators, a dash if undefined.

    Example:
        >>> figure(0.123456), figure(12000), figure(None), figure(1e-7), figure(True)
        ('0.1235', '12,000', '–', '1e-07', 'yes')
    """
    if value is None:
        return NONE
    # A bool is an int, too.
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if not isinstance(value, float):
        return str(value)
    # Four decimal places would show a small figure as zero.
    if 0 < abs(value) < 5e-5:
        return f"{value:.0e}"
    # The sum with zero has no sign before zero.
    return f"{value + 0.0:.4f}"


def between(interval: Interval | Mapping[str, Any] | None) -> str:
    """Write an interval for the small line of a tile; "" where there is none.

    Example:
        >>> between({"low": 0.25, "high": 0.5, "confidence_level": 0.95})
        '95% interval 0.2500 to 0.5000'
    """
    if interval is None:
        return ""
    if isinstance(interval, Interval):
        interval = interval.to_dict()
    level = f"{100 * interval['confidence_level']:g}%"
    return f"{level} interval {figure(interval['low'])} to {figure(interval['high'])}"


def is_number(value: Any) -> bool:
    """Return whether a value is a number and no truth value."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


PRIVACY = "An upload is deleted as soon as it has been read, and its content when you leave."
"""What our pages say of their visitors' data; `public_page` makes it so."""

STYLE = Path(__file__).with_name("page.css")
"""The style sheet of our pages."""

REPOSITORY = "https://github.com/rightreasons/rightreasons"

MAX_HUB_ID = 96
"""Characters of the id of a model or a data set on the hub."""

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")

WAITING = 32
"""Visitors who may wait for one handler; further ones are turned away with a sentence."""

SESSIONS = 100
"""Sessions whose state is kept."""


@contextlib.contextmanager
def public_page(title: str, style: Path | None = None) -> Iterator[Any]:
    """Build a `gradio.Blocks` for a public page.

    Its handlers are for the page alone. A handler that is called while it works is called once more
    afterwards, with the latest inputs. An upload that no handler has read is deleted after ten
    minutes; what a session holds is dropped when its visitor leaves. Within the route of another
    page, it is a page of that app.

    Args:
        title: The title of the page.
        style: A further style sheet; None without one.

    Yields:
        The app, inside which components are created.
    """
    import gradio as gr
    from gradio.context import Context

    app: Any = Context.root_block
    if app is None:
        # Uploads are searched every 60 seconds, and deleted when they are 600 seconds old.
        app = gr.Blocks(title=title, delete_cache=(60, 600))
    else:
        # The app of several pages is entered already.
        app = contextlib.nullcontext(app)
    with app as demo:
        for file in filter(None, (STYLE, style)):
            gr.HTML(f"<style>{file.read_text(encoding='utf-8')}</style>", elem_classes="rr-style")
        # gradio gives every route the title of the app.
        demo.load(None, js=f"() => {{ document.title = {json.dumps(title)}; }}")

        def forget(request: Any) -> None:
            demo.state_holder.session_data.pop(request.session_hash, None)

        # gradio passes a request to an argument of this annotation, and gradio is imported late.
        forget.__annotations__["request"] = gr.Request
        demo.unload(forget)
        yield demo
    for handler in demo.fns.values():
        handler.api_visibility = "private"
        # A visitor who presses a button again meanwhile has changed something.
        if handler.trigger_mode == "once":
            handler.trigger_mode = "always_last"
    # One call at a time, because a module or a model holds the state of the call that it answers.
    demo.queue(max_size=WAITING, default_concurrency_limit=1)


def launch(demo: Any) -> None:
    """Serve a page to the public, with a limit on the size of a file and on the sessions that are kept."""
    demo.launch(max_file_size=MAX_UPLOAD_BYTES, state_session_capacity=SESSIONS)


def typed_text(value: object, name: str) -> str:
    """Check a text that a visitor typed.

    Example:
        >>> typed_text(None, "Question")
        Traceback (most recent call last):
        ...
        TypeError: Expected `Question` to be a text, but got None.
    """
    if not isinstance(value, str):
        raise TypeError(f"Expected `{name}` to be a text, but got {describe_kind(value)}.")
    if len(value) > MAX_PAGE_CHARACTERS:
        raise ValueError(
            f"Expected `{name}` to have at most {MAX_PAGE_CHARACTERS:,} characters, but got {len(value):,}."
        )
    return value


def typed_count(value: object, name: str, *, minimum: int = 0, maximum: int = 2**31 - 1) -> int:
    """Check a whole number that a visitor typed; JSON may write it as 3.0.

    Example:
        >>> typed_count(3.0, "Seed")
        3
        >>> typed_count(None, "Seed")
        Traceback (most recent call last):
        ...
        ValueError: Expected a number for `Seed`, but the field is empty.
    """
    if value is None:
        raise ValueError(f"Expected a number for `{name}`, but the field is empty.")
    # JSON does not distinguish 3.0 from 3.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return check_count(value, name, minimum=minimum, maximum=maximum)


def typed_hub_id(value: object, name: str) -> str:
    """Check the id of a model or a data set that a visitor typed: a public page opens no folders of its machine.

    Example:
        >>> typed_hub_id(" owner/model ", "Model")
        'owner/model'
        >>> typed_hub_id("/etc", "Model")
        Traceback (most recent call last):
        ...
        ValueError: Expected the id of `Model` on the hub, such as owner/name, but got '/etc'.
    """
    text = typed_text(value, name).strip()
    if len(text) > MAX_HUB_ID:
        raise ValueError(
            f"Expected the id of `{name}` on the hub, at most {MAX_HUB_ID} letters, but got {len(text):,}."
        )
    if not _HUB_ID.fullmatch(text) or Path(text).exists():
        raise ValueError(
            f"Expected the id of `{name}` on the hub, such as owner/name, but got {text!r}."
        )
    return text


# ------------------------------------------------------------------------------------------------ work that takes long


def waiting(steps: Generator[None, None, Any], n_outputs: int) -> Generator[Any, None, Any]:
    """Wait for work inside a handler of gradio, and leave its outputs unchanged meanwhile.

    Args:
        steps: Generator of `work`, which yields while the work goes on.
        n_outputs: Number of outputs of the handler.

    Yields:
        Outputs that stay as they are, so that gradio notices when the visitor leaves.

    Returns:
        The result of the work.
    """
    import gradio as gr

    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value
        # A handler with a single output yields a value instead of a list.
        unchanged: Any = gr.skip()
        if n_outputs > 1:
            unchanged = [gr.skip()] * n_outputs
        try:
            yield unchanged
        except GeneratorExit:
            # The visitor has left, and nobody needs the result.
            steps.close()
            raise


def opening(
    steps: Generator[None, None, Any],
    write: Callable[[Any], Generator[Any, None, list[Any]]],
    mistaken: Callable[[Exception], list[Any]],
    n_outputs: int,
) -> Generator[Any, None, None]:
    """Open what a visitor brings, inside a handler of gradio, and show it or the visitor's mistake.

    Args:
        steps: Generator of `work`, which opens it, for example an uploaded file.
        write: Called with the result of the work. A generator, which may yield intermediate outputs,
            and returns the outputs.
        mistaken: Called with a TypeError or ValueError; returns the outputs.
        n_outputs: Number of outputs of the handler.

    Yields:
        The outputs of the handler.
    """
    try:
        opened = yield from waiting(steps, n_outputs)
        outputs = yield from write(opened)
        yield outputs
    except MISTAKES as error:
        yield mistaken(error)


# --------------------------------------------------------------------------------------------------- files of visitors


class Held:
    """An uploaded file that is deleted when nobody holds it any longer.

    Args:
        path: The file.

    Attributes:
        path: The file.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._end = weakref.finalize(self, _delete, self.path)


@contextlib.contextmanager
def by_name(*paths: str | Path) -> Iterator[None]:
    """Let an error call uploaded files by their names, as a visitor knows them, in place of their paths on the server.

    Example:
        >>> with by_name("/tmp/gradio/5f2a/items.csv"):
        ...     raise TypeError("Expected labels in /tmp/gradio/5f2a/items.csv, but there are none.")
        Traceback (most recent call last):
        ...
        ValueError: Expected labels in items.csv, but there are none.
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        sentence = str(error)
        for path in paths:
            sentence = sentence.replace(str(path), Path(path).name)
        raise ValueError(sentence) from error


def upload_file(**settings: Any) -> Any:
    """Create a drop zone for files, whose handler gets paths; the readers check the suffixes. See `gradio.File`."""
    return _file_class()(height=130, **settings)


@functools.cache
def _file_class() -> Any:
    """Return a subclass of `gradio.File` whose handlers get paths.

    gradio's own class makes an empty temporary file for each upload, and leaves it behind.
    """
    import gradio as gr

    def process_single_file(self: Any, file: Any) -> str:
        return str(file.path)

    # It has to be a class, because gradio makes a component anew with each update of it. A `class`
    # statement would call gradio's metaclass, which writes a stub file next to the source;
    # `ABCMeta.__new__` skips that.
    body = {"_process_single_file": process_single_file, "__module__": gr.File.__module__}
    return abc.ABCMeta.__new__(type(gr.File), "File", (gr.File,), body)


def download_text(
    button: Any, write: Callable[..., str], inputs: Sequence[Any], name: str, kind: str
) -> None:
    """Let a button save a text as a file of the visitor, without a file on the server.

    Args:
        button: The button.
        write: Called with the inputs; returns the text, that of bytes in base64.
        inputs: Components.
        name: Name of the file.
        kind: Its media type; that of bytes is not "text/…".
    """
    import gradio as gr

    # The text travels through a hidden field, and JavaScript makes a file of it.
    text = gr.Textbox(visible="hidden", elem_classes="rr-style")
    content = "Uint8Array.from(atob(text), c => c.charCodeAt(0))"
    if kind.startswith("text/"):
        content = "text"
    save = f"""(text) => {{
        if (!text) return;
        const bytes = {content};
        const link = document.createElement('a');
        link.href = URL.createObjectURL(new Blob([bytes], {{type: '{kind}'}}));
        link.download = '{name}';
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    }}"""
    clicked = button.click(write, list(inputs), text, show_progress="hidden")
    saved = clicked.then(None, text, None, js=save)
    # The saved text is removed from the page.
    saved.then(lambda: "", None, text, show_progress="hidden")


def _delete(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
        # The folder is that of the file's digest, and stays if it holds another file.
        path.parent.rmdir()


def filter_field() -> Any:
    """Make the field for the filter or the scorer of a log."""
    import gradio as gr

    return gr.Textbox(label=FILTER, placeholder="where it has several", elem_id="filter")


# ------------------------------------------------------------------------------------------------------------- links


def example_files(paths: Sequence[Path], words: str = "Example files") -> str:
    """Write links to example files of a Space as HTML, from which visitors see the expected form.

    Args:
        paths: The files, which gradio then serves.
        words: Text before the links.
    """
    import gradio as gr

    gr.set_static_paths([str(path) for path in paths])
    links = []
    for path in paths:
        address = f"gradio_api/file={quote(str(path.resolve()))}"
        name = html.escape(path.name)
        links.append(f'<a href="{address}" download="{name}">{name}</a>')
    return f'<p class="rr-small rr-files">{html.escape(words)}: {" · ".join(links)}</p>'


def page_links(docs: str, papers: Mapping[str, str]) -> Any:
    """Make the links of a page to the package, its documentation and the papers.

    Args:
        docs: The page of the documentation, such as "calibration".
        papers: Authors and year -> address.

    Returns:
        A `gradio.HTML`.
    """
    import gradio as gr

    entries = [
        ("Package", REPOSITORY),
        ("Documentation", f"{REPOSITORY}/blob/main/docs/{docs}.md"),
        *papers.items(),
    ]
    links = []
    for name, address in entries:
        links.append(f'<a href="{html.escape(address)}">{html.escape(name)}</a>')
    return gr.HTML(f'<nav class="rr-links" aria-label="Links"><p>{" · ".join(links)}</p></nav>')


# -------------------------------------------------------------------- what a stranger sends, measured before it is held


def check_upload(path: str | Path) -> Path:
    r"""Check that a file is within the limits of a public page; its readers check archives and parquet files.

    A compressed file is unpacked to disk until the limit; memory and time are limited where it is read (`work`).

    Args:
        path: The file. What cannot be read is left to its reader, which says so.

    Returns:
        The file.

    Raises:
        ValueError: If it has more bytes, rows or values than `core/validation.py` allows.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "long.csv"
        >>> _ = file.write_text("label\n" + "1\n" * 1_000_001)
        >>> check_upload(file)
        Traceback (most recent call last):
        ...
        ValueError: Expected at most 1,000,000 rows in long.csv, but it has 1,000,001.
    """
    path = Path(path)
    check_at_most(path.stat().st_size, MAX_UPLOAD_BYTES, "bytes", path.name)
    n_lines = 0
    n_separators = 0
    with unpack_file(path, MAX_UNPACKED_BYTES, path.name) as file:
        kind = get_data_type(file)
        # Readers of these files check the limits by what the files declare.
        if kind in (".npz", ".eval", ".parquet"):
            return path
        check_at_most(file.stat().st_size, MAX_UNPACKED_BYTES, "bytes", path.name)
        # Counting bytes needs neither the memory nor the time that reading the table would.
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                n_lines += block.count(b"\n")
                n_separators += block.count(b",") + block.count(b"\t")
    n_rows = n_lines
    if kind in (".csv", ".tsv"):
        # The first line is the heading.
        n_rows -= 1
    check_at_most(n_rows, MAX_UPLOAD_ROWS, "rows", path.name)
    # A line with n separators has n + 1 values.
    check_at_most(n_lines + n_separators, MAX_UPLOAD_CELLS, "values", path.name)
    return path
