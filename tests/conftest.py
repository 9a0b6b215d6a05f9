"""Fixtures that many tests share."""

import asyncio
import gc
import os
from pathlib import Path

# Said before any library that reads them is imported: no test asks the network for anything.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_EVALUATE_OFFLINE"] = "1"
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
# Each test tries its models anew.
os.environ["RIGHTREASONS_CACHE_DIR"] = ""
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import shutil

import hypothesis
import pytest

# A loaded machine may take long for any example.
hypothesis.settings.register_profile("unhurried", deadline=None)
hypothesis.settings.load_profile("unhurried")

pytest_plugins = ("audit_fixtures",)

ROOT = Path(__file__).resolve().parents[1]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


# The libraries that are loaded stay to the end: garbage is not looked for among them, which would take a fifth of all
# time, and less often than Python does.
gc.disable()
gc.set_threshold(10_000, 20, 20)


SMOKE = {
    "tests/zoo/test_zoo.py::test_the_mechanisms_are_families_of_the_installed_transformers",
    "tests/zoo/test_zoo.py::test_wrong_masks_are_detected_in_bfloat16_but_for_one_token_in_long_texts",
    "tests/fuzzing/test_fuzzing.py::test_every_input_has_the_right_figure_or_one_sentence[classes]",
    "tests/faults/test_faults.py::test_every_command_that_writes_has_a_case",
    "tests/report/test_render.py::test_the_page_fits_the_window_and_asks_for_nothing[light-1280]",
    "tests/spaces/test_module_apps.py::test_example_computes_and_the_card_is_there",
    "tests/spaces/test_module_apps.py::test_the_example_of_every_module_computes[behavioral_pass_rate]",
    "tests/spaces/test_module_apps.py::test_the_example_of_every_module_computes[ece]",
    "tests/spaces/test_module_apps.py::test_the_example_of_every_module_computes[fim_difficulty]",
    "tests/spaces/test_module_apps.py::test_the_example_of_every_module_computes[silent_sway]",
}
"""What the default run has of the zoo, fuzzing, faults and browsers; `make -C benchmarks nightly` runs all."""


LONG = frozenset(Path(__file__).with_name("nightly.txt").read_text("utf-8").splitlines())


def pytest_collection_modifyitems(items) -> None:
    for item in items:
        place = item.nodeid.split("/")[1:2]
        names = {item.nodeid, item.nodeid.partition("[")[0], item.nodeid.partition("::")[0]}
        heavy = (
            place in (["zoo"], ["fuzzing"], ["faults"])
            or "chromium" in item.fixturenames
            or names & LONG
        )
        if heavy and not names & SMOKE:
            item.add_marker("nightly")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    """Hide the loop of an open browser, which runs in this thread, from tests that start a loop of their own."""
    loop = None if "chromium" in getattr(item, "fixturenames", ()) else asyncio._get_running_loop()
    if loop is None:
        return (yield)
    asyncio._set_running_loop(None)
    try:
        return (yield)
    finally:
        asyncio._set_running_loop(loop)


pytest_runtest_call = pytest_runtest_setup


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="module", autouse=True)
def what_a_file_loads_stays():
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real benchmark files, one folder a data set."""
    named = os.environ.get("RIGHTREASONS_DATA_DIR")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(
            "the real benchmark files are absent: set RIGHTREASONS_DATA_DIR to a folder that holds them"
        )
    return folder


@pytest.fixture(scope="session")
def chromium():
    """A headless Chromium, driven by playwright."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed (Debian: apt-get install chromium)")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=[
                "--no-sandbox",
                "--disable-gpu",
                "--disable-background-networking",
                "--disable-component-update",
            ],
        )
        yield browser
        browser.close()


@pytest.fixture
def page(chromium):
    """A fresh page of a fresh browser context."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    yield context.new_page()
    context.close()


@pytest.fixture(scope="module")
def unrendered():
    """Leaves pictures empty, which take a fifth of the time of an audit: for files that ask about something else."""
    with pytest.MonkeyPatch.context() as patch:
        from rightreasons.page.plots import Drawing

        patch.setattr(Drawing, "png", b"\x89PNG\r\n\x1a\n")
        patch.setattr(Drawing, "svg", '<svg style="max-width:1px"></svg>')
        yield


@pytest.fixture(scope="session")
def classifier_folder(tmp_path_factory):
    """A tiny classifier with its tokenizer."""
    from tiny_models import save_tiny_classifier

    return save_tiny_classifier(tmp_path_factory.mktemp("classifier"))


@pytest.fixture(scope="session")
def choice_folder(tmp_path_factory):
    """A tiny multiple-choice model with its tokenizer."""
    from tiny_models import save_tiny_multiple_choice

    return save_tiny_multiple_choice(tmp_path_factory.mktemp("choice"))


@pytest.fixture(scope="session")
def encoder_folder(tmp_path_factory):
    """A tiny encoder without a head, with its tokenizer."""
    from tiny_models import save_tiny_encoder

    return save_tiny_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="session")
def tiny_learning_task(encoder_folder):
    """What the runs of a small plan of behavioral learning share."""
    from rightreasons.behavior.learning.kinds import IidData
    from rightreasons.behavior.learning.plan import LearningTask
    from tiny_models import tiny_texts
    from tiny_suites import behavior_suite

    texts, labels = tiny_texts(24)
    options = {"epochs": 1, "batch_size": 16, "learning_rate": 1e-3}
    return LearningTask(
        model=str(encoder_folder),
        suite=behavior_suite(),
        train=IidData(texts[:16], labels[:16]),
        test=IidData(texts[16:], labels[16:]),
        options=options,
        iid_options=dict(options),
        device="cpu",
    )
