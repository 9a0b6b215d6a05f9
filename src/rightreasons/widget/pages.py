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
from rightreasons.core.errors import OptionError
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
from rightreasons.page.formats import NONE, number, p_value

MAX_TABLE_ROWS = 200
"""Maximum number of rows that `table` writes; below them it says how many more there are."""

MISTAKES = (TypeError, ValueError)
"""Errors that a user's input may raise; the page shows their message. Any other error is a bug of ours."""

FILTER = "Filter of a log"
"""The field of a page in which a visitor names the filter or the scorer of a log that has several."""

FIELD_BY_OPTION = {"log_filter": FILTER}
"""Option of the readers of files -> the field of a page for it."""


def problem(error: Exception | str) -> str:
    """Write an error as a paragraph of HTML for the visitor of a page.

    A visitor does not know the option that an error names, so the name of its field replaces it.

    Args:
        error: The error, or its message.

    Example:
        >>> problem(ValueError("Expected x < 1."))
        '<p class="rr-problem" role="alert">Expected x &lt; 1.</p>'
    """
    sentence = str(error)
    for option in getattr(error, "option", ()):
        if option in FIELD_BY_OPTION:
            # Messages write options in backticks.
            sentence = sentence.replace(f"`{option}`", f"the field “{FIELD_BY_OPTION[option]}”")
    return f'<p class="rr-problem" role="alert">{html.escape(sentence)}</p>'


def verdict(sentence: str, tone: str = "neutral") -> str:
    """Write the one sentence that says what a page shows; its tone is "bad", "warn", "neutral" or "good".

    Example:
        >>> verdict("Sure & wrong.", "bad")
        '<p class="rr-verdict rr-bad">Sure &amp; wrong.</p>'
    """
    return f'<p class="rr-verdict rr-{tone}">{html.escape(sentence)}</p>'


def tiles(entries: Iterable[tuple[str, str, str]]) -> str:
    """Write figures as a grid of tiles in HTML: a name, a value, and a small line below.

    Args:
        entries: (name, value, small line) of each tile, such as ("ECE", "0.05", "lower is better").

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
    # With these numbers of columns, all rows of a wide page are full: four tiles are one row, and six
    # tiles are two rows.
    n_columns = 3
    if len(blocks) % 4 == 0:
        n_columns = 4
    return f'<dl class="rr-tiles" style="--rr-columns: {n_columns}">{"".join(blocks)}</dl>'


def table(
    rows: Sequence[Mapping[str, Any]],
    columns: Mapping[str, str] | None = None,
    *,
    caption: str = "",
    units: Mapping[str, str] | None = None,
) -> str:
    """Write rows as an HTML table that scrolls within itself on a narrow page.

    At most `MAX_TABLE_ROWS` rows are written. The number of further rows is written below the table.

    Args:
        rows: Key -> value of each row.
        columns: Key -> heading of each displayed column, in order. If None, the keys of the first row
            are the headings.
        caption: A line above the table; "" if there is none.
        units: Key -> unit of its values, as in `number`, or "p_value". Values of other keys are written
            by `figure`.
    """
    units = units or {}
    if columns is None:
        columns = {}
        if rows:
            columns = {key: key.replace("_", " ") for key in rows[0]}
    # The class of numeric columns aligns their cells to the right.
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
            text = html.escape(_write_value(row.get(key), units.get(key)))
            cells.append(f"<td{class_by_key[key]}>{text}</td>")
        body.append(f"<tr>{''.join(cells)}</tr>")

    caption_element = ""
    if caption:
        caption_element = f"<caption>{html.escape(caption)}</caption>"
    footnote = ""
    n_hidden = len(rows) - MAX_TABLE_ROWS
    if n_hidden > 0:
        footnote = f'<p class="rr-small">and {pluralize(n_hidden, "more row")}</p>'
    # With a tabindex, the table can have the focus and be scrolled without a mouse.
    return (
        f'<div class="rr-table" tabindex="0"><table>{caption_element}'
        f"<thead><tr>{''.join(headings)}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table></div>{footnote}"
    )


def _write_value(value: Any, unit: str | None) -> str:
    """Write the value of a cell in its unit; None for a value without a unit."""
    if unit is None:
        return figure(value)
    if unit == "p_value":
        return NONE if value is None else p_value(value)
    return number(value, unit)


def _is_numeric(rows: Sequence[Mapping[str, Any]], key: str) -> bool:
    """Return whether a column has numbers and gaps alone."""
    values = [row.get(key) for row in rows]
    return bool(values) and all(value is None or is_number(value) for value in values)


def figure(value: Any) -> str:
    """Format a value for display: four decimal places, thousands separators, a dash if undefined.

    Args:
        value: A number, a boolean, None, or any other value, which is converted to a string.

    Example:
        >>> figure(0.123456), figure(12000), figure(None), figure(1e-7), figure(True)
        ('0.1235', '12,000', '–', '1e-07', 'yes')
    """
    if value is None:
        return NONE
    # Booleans come first, because bool is a subclass of int.
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if not isinstance(value, float):
        return str(value)
    # With four decimal places, a smaller figure would be displayed as zero.
    if 0 < abs(value) < 5e-5:
        return f"{value:.0e}"
    # Adding zero turns -0.0 into 0.0.
    return f"{value + 0.0:.4f}"


def between(interval: Interval | Mapping[str, Any] | None) -> str:
    """Write the interval of a share for the small line of a tile; "" if there is none.

    Example:
        >>> between({"low": 0.25, "high": 0.5, "confidence_level": 0.95})
        '95% interval 25.0% to 50.0%'
    """
    if interval is None:
        return ""
    if isinstance(interval, Interval):
        interval = interval.to_dict()
    level = f"{100 * interval['confidence_level']:g}%"
    return f"{level} interval {number(interval['low'])} to {number(interval['high'])}"


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

    Handlers cannot be called through gradio's API. A handler that is called while it is running is
    called once more afterwards, with the latest inputs. An upload that no handler has read is deleted
    after ten minutes, and the state of a session is deleted when the visitor leaves. If the block is
    within the route of an app with several pages, it adds a page to that app.

    Args:
        title: The title of the page.
        style: A further style sheet; None if there is none.

    Yields:
        The app, inside which components are created.
    """
    import gradio as gr
    from gradio.context import Context

    app: Any = Context.root_block
    if app is None:
        # Every 60 seconds, gradio deletes uploads that are older than 600 seconds.
        app = gr.Blocks(title=title, delete_cache=(60, 600))
    else:
        # The context of an app with several pages has already been entered.
        app = contextlib.nullcontext(app)
    with app as demo:
        for file in filter(None, (STYLE, style)):
            gr.HTML(f"<style>{file.read_text(encoding='utf-8')}</style>", elem_classes="rr-style")
        # gradio gives every route the title of the app.
        demo.load(None, js=f"() => {{ document.title = {json.dumps(title)}; }}")

        def forget(request: Any) -> None:
            demo.state_holder.session_data.pop(request.session_hash, None)

        # gradio passes the request because of this annotation. It is set here, because gradio is not
        # imported at the top of the module.
        forget.__annotations__["request"] = gr.Request
        demo.unload(forget)
        yield demo
    for handler in demo.fns.values():
        handler.api_visibility = "private"
        # A visitor who presses a button again while its handler is running has changed an input.
        if handler.trigger_mode == "once":
            handler.trigger_mode = "always_last"
    # Handlers run one at a time, because a module or a model stores the state of the current call.
    demo.queue(max_size=WAITING, default_concurrency_limit=1)


def launch(demo: Any) -> None:
    """Serve a page to the public, with a limit on the size of a file and on the sessions that are kept."""
    demo.launch(max_file_size=MAX_UPLOAD_BYTES, state_session_capacity=SESSIONS)


def typed_text(value: object, name: str) -> str:
    """Check that a field contains a string of limited length.

    Args:
        value: Value of the field.
        name: Name of the field, for error messages.

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
    """Check that a field contains the id of a model or a data set on the hub, and no path of this computer.

    Args:
        value: Value of the field.
        name: Name of the field, for error messages.

    Returns:
        The id without spaces around it.

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
    """Wait for work inside a handler of gradio, without changing the outputs of the handler.

    Args:
        steps: Generator of `work`, which yields as long as the work is running.
        n_outputs: Number of outputs of the handler.

    Yields:
        Unchanged outputs. Because of them, gradio closes the generator when the visitor leaves.

    Returns:
        The result of the work.
    """
    import gradio as gr

    while True:
        try:
            next(steps)
        except StopIteration as end:
            # The value of a generator is its result.
            return end.value
        # A handler with a single output yields a value instead of a list.
        unchanged: Any = gr.skip()
        if n_outputs > 1:
            unchanged = [gr.skip()] * n_outputs
        try:
            yield unchanged
        except GeneratorExit:
            # The visitor has left, so the work is stopped.
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
    """Replace paths of uploaded files on the server by the names of the files, in errors of a block.

    Args:
        *paths: Paths of the files.

    Raises:
        OptionError: In place of a TypeError or ValueError that names its option.
        ValueError: In place of any other TypeError or ValueError.

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
        # `problem` needs the option, to name the field of the page.
        option = getattr(error, "option", ())
        if option:
            raise OptionError(sentence, option=option) from error
        raise ValueError(sentence) from error


def upload_file(**settings: Any) -> Any:
    """Create a drop zone for files, whose handler gets paths; the readers check the suffixes. See `gradio.File`."""
    return _file_class()(height=130, **settings)


@functools.cache
def _file_class() -> Any:
    """Return a subclass of `gradio.File` whose handlers get the paths of uploads.

    The class of gradio itself creates an empty temporary file for each upload, and does not delete it.
    """
    import gradio as gr

    def process_single_file(self: Any, file: Any) -> str:
        return str(file.path)

    # A changed method of one component would not be enough, because gradio creates a new component
    # with each update. A `class` statement would call gradio's metaclass, which writes a stub file to
    # the folder of the source. `ABCMeta.__new__` does not.
    body = {"_process_single_file": process_single_file, "__module__": gr.File.__module__}
    return abc.ABCMeta.__new__(type(gr.File), "File", (gr.File,), body)


def download_text(
    button: Any, write: Callable[..., str], inputs: Sequence[Any], name: str, kind: str
) -> None:
    """Let a button download a file in the browser of the visitor, without a file on the server.

    Args:
        button: The button.
        write: Function of the values of the inputs that returns the content of the file: a text, or
            bytes encoded in base64.
        inputs: Components with the values.
        name: Name of the file.
        kind: Media type of the file. If it begins with "text/", the content is a text.
    """
    import gradio as gr

    # The content is sent to a hidden field, and JavaScript saves it as a file.
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
    # After the download, the hidden field is cleared.
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
    """Write links to example files of a Space as HTML, and let gradio serve these files.

    Args:
        paths: The files.
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
        docs: Name of the page of the documentation, such as "calibration".
        papers: Authors and year -> address of the paper.

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
    r"""Check that an uploaded file has at most the numbers of bytes, rows and values of a public page.

    The rows of archives and parquet files are not counted here, because their readers check them. A
    compressed file is unpacked to disk, up to the limit. Memory and time are limited by `work`, in which
    the file is read.

    Args:
        path: The file, which may be of any type.

    Returns:
        The file.

    Raises:
        ValueError: If the file has more bytes, rows or values than `core/limits.py` allows.

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
        # These files declare their numbers of rows and values, which their readers check.
        if kind in (".npz", ".eval", ".parquet"):
            return path
        check_at_most(file.stat().st_size, MAX_UNPACKED_BYTES, "bytes", path.name)
        # Line feeds and separators are counted, which needs less memory and time than parsing.
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
