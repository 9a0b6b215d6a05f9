"""Serves Spaces and module apps to the browser tests as a person would find them, each built once per session."""

import functools
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

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


@pytest.fixture(scope="session", autouse=True)
def nothing_is_left(tmp_path_factory) -> Iterator[Path]:
    """Give all apps a folder for what is uploaded and for what they write; it must be empty in the end."""
    folder = tmp_path_factory.mktemp("machine")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADIO_TEMP_DIR", str(folder / "uploads"))
        patch.setenv("TMPDIR", str(folder))
        patch.setattr(tempfile, "tempdir", str(folder))
        yield folder
        from rightreasons.widget import end_workers

        end_workers()
    left = [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]
    assert not left, left


@pytest.fixture(scope="session")
def build() -> Callable[[str], Any]:
    """Build the app in a folder such as "metrics/ece", once per session."""
    pytest.importorskip("gradio")

    @functools.cache
    def build_app(folder: str) -> Any:
        path = ROOT / folder / "app.py"
        spec = importlib.util.spec_from_file_location(f"app_of_{folder.replace('/', '_')}", path)
        module = importlib.util.module_from_spec(spec)
        sys.path.append(str(path.parent))  # for good: what runs in a worker is imported there by its name
        with first_on_path(path.parent):
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
            _, url, _ = demo.launch(prevent_thread_lock=True, server_name="127.0.0.1", quiet=True, ssr_mode=False)
            served[folder] = demo, url
        return served[folder][1]

    yield start
    for demo, _ in served.values():
        demo.close()


@pytest.fixture
def visit(page, serve):
    """Open an app in the browser; what the page itself reports as an error fails the test."""
    errors = []
    page.on("pageerror", lambda error: errors.append(error))
    # A loaded machine is slow, and no mistake of the page: this is waited for only where something is missing.
    page.set_default_timeout(60_000)
    pytest.importorskip("playwright.sync_api").expect.set_options(timeout=60_000)

    def go(folder: str):
        page.goto(serve(folder))
        return page

    yield go
    assert not errors, errors
