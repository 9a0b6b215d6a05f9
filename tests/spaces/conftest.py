"""Serves Spaces and module apps to the browser tests as a person would find them, each built once per session."""

import functools
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tiny_causal import save_tiny_causal

ROOT = Path(__file__).resolve().parents[2]

os.environ["RIGHTREASONS_WORKERS"] = "1"  # one process that all Spaces of these tests share


@contextmanager
def first_on_path(folder: Path) -> Iterator[None]:
    """Let an app import its neighbors, as `python app.py` does."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


@pytest.fixture(scope="session")
def machine(tmp_path_factory) -> Iterator[Path]:
    """The folder for what is uploaded to the apps and for what they and their workers write; in the end it is empty."""
    folder = tmp_path_factory.mktemp("machine")
    from rightreasons.widget.working import end_workers

    end_workers()  # those that were started for other tests write elsewhere
    yield folder
    end_workers()
    left = [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]
    assert not left, left


@pytest.fixture(autouse=True)
def nothing_is_left(machine, monkeypatch) -> Path:
    """Give what the apps write a folder of its own, in these tests alone: others leave files for good reasons."""
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(machine / "uploads"))
    monkeypatch.setattr(tempfile, "tempdir", str(machine))  # that of the workers, too
    return machine


@pytest.fixture(scope="session", autouse=True)
def probe_model(tmp_path_factory) -> Iterator[Path]:
    """A tiny causal language model in the place of the packaged one, which takes long to load."""
    folder = save_tiny_causal(tmp_path_factory.mktemp("causal") / "tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RIGHTREASONS_PROBE_MODEL", str(folder))
        yield folder


@pytest.fixture(scope="session")
def build(tmp_path_factory) -> Callable[[str], Any]:
    """Build the app in a folder such as "metrics/ece", once per session."""
    pytest.importorskip("gradio")
    own = tmp_path_factory.mktemp("built")  # what an app writes for itself, and keeps

    @functools.cache
    def build_app(folder: str) -> Any:
        path = ROOT / folder / "app.py"
        spec = importlib.util.spec_from_file_location(f"app_of_{folder.replace('/', '_')}", path)
        module = importlib.util.module_from_spec(spec)
        sys.path.append(
            str(path.parent)
        )  # for good: what runs in a worker is imported there by its name
        with first_on_path(path.parent), pytest.MonkeyPatch.context() as patch:
            patch.setattr(tempfile, "tempdir", str(own))
            spec.loader.exec_module(module)
            return module.build()

    return build_app


@pytest.fixture(scope="session")
def serve(build) -> Iterator[Callable[[str], str]]:
    """Give the address of the app in a folder such as "metrics/ece"."""
    served = {}

    def start(folder: str) -> str:
        if folder not in served:
            demo = build(folder)
            _, url, _ = demo.launch(
                prevent_thread_lock=True, server_name="127.0.0.1", quiet=True, ssr_mode=False
            )
            served[folder] = demo, url
        return served[folder][1]

    yield start
    # Together: each waits for its visitors' connections to end.
    with ThreadPoolExecutor(max(len(served), 1)) as pool:
        list(pool.map(lambda each: each[0].close(), served.values()))


@pytest.fixture(scope="session")
def context(chromium) -> Iterator[Any]:
    """One context of the browser for all Spaces, which keeps what all of them load; each page is a visitor."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    yield context
    context.close()


BROKEN = "Connection errored out"
"""What gradio's client says of an answer that was on its way when its visitor left; else it is an error."""


@pytest.fixture
def visit(context, serve):
    """Open an app in the browser, anew where one is open; what the page reports as an error fails the test."""
    errors = []
    page = context.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on(
        "console", lambda message: errors.append(message.text) if message.type == "error" else None
    )
    # A loaded machine is slow, and no mistake of the page: this is waited for only where something is missing.
    page.set_default_timeout(300_000)
    pytest.importorskip("playwright.sync_api").expect.set_options(timeout=300_000)

    def go(folder: str):
        address, before = serve(folder), len(errors)
        page.goto("about:blank")  # leave what is open
        errors[before:] = [error for error in errors[before:] if BROKEN not in error]
        page.goto(address)
        return page

    yield go
    # Gradio's client aborts its own stream when the last answer is there, and when a visitor leaves.
    mistakes = [
        error
        for error in errors
        if not error.startswith("AbortError: signal is aborted without reason")
    ]
    page.close()  # with answers on their way, whose streams it breaks
    assert not mistakes, mistakes
