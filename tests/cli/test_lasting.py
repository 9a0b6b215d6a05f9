"""What commands leave when they are stopped, when the disk fails, and when single items fail; how they go on."""

import errno
import os
import signal
from types import SimpleNamespace

import numpy as np
import pytest

from command_line import run
from rightreasons.models.batching import read_later
from rightreasons.models.items import Items
from rightreasons.report.schema import read_audit
from tiny_models import save_tiny_classifier, tiny_texts

pytestmark = pytest.mark.usefixtures("unrendered")

QUICK = ("--questions", "calibration", "--n-resamples", "20", "--batch-size", "4")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return save_tiny_classifier(tmp_path_factory.mktemp("tiny") / "classifier")


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    texts, labels = tiny_texts(40)
    file = tmp_path_factory.mktemp("rows") / "rows.csv"
    file.write_text(
        "\n".join(["text,label", *map(",".join, zip(texts, map(str, labels), strict=True))])
    )
    return file


@pytest.fixture
def asked(monkeypatch):
    """The items that the model was asked about, batch by batch."""
    batches, plain = [], Items.inputs
    monkeypatch.setattr(Items, "inputs", lambda *it: batches.append(it[1].tolist()) or plain(*it))
    return batches


@pytest.fixture
def in_the_foreground():
    """Undo what a shell without job control (SIGINT) and `nohup` (SIGHUP) have set to be ignored."""
    handlers = {
        signal.SIGINT: signal.signal(signal.SIGINT, signal.default_int_handler),
        signal.SIGHUP: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    }
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("in_the_foreground")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_keeps_what_was_computed(capsys, tiny, rows, tmp_path, asked, monkeypatch, name):
    number, counted = getattr(signal, name), Items.inputs

    def interrupted(*it):
        if len(asked) == 3:
            os.kill(os.getpid(), number)
        return counted(*it)

    before = signal.getsignal(number)
    with monkeypatch.context() as patch:
        patch.setattr(Items, "inputs", interrupted)
        code, _, err = run(capsys, "audit", tiny, rows, *QUICK, "--out", tmp_path / "report")
    assert code == 128 + number
    assert (
        err.splitlines()[-1]
        == "Interrupted. Finished results are stored: repeat the command to resume."
    )
    assert signal.getsignal(number) == before
    # The signal comes amid the fourth batch of four, which is computed to its end.
    done, asked[:] = {item for batch in asked for item in batch}, []
    assert len(done) == 16
    assert run(capsys, "audit", tiny, rows, *QUICK, "--out", tmp_path / "report")[0] == 0
    assert {item for batch in asked for item in batch} == {*range(40)} - done


def test_a_full_disk_is_told_with_the_file_and_costs_nothing(
    capsys, tiny, rows, tmp_path, asked, monkeypatch
):
    def full(file, **_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", full)
        code, out, err = run(capsys, "audit", tiny, rows, *QUICK, "--out", tmp_path / "report")
    (line,) = [line for line in err.splitlines() if line.startswith("Error")]
    assert (code, out) == (2, "")
    assert "chunk-000000" in line
    assert line.endswith(
        "but the disk is full. Free some space and repeat the same command; stored results are not computed again."
    )
    assert "Traceback" not in err
    assert len(asked) == 10  # each batch once
    assert run(capsys, "audit", tiny, rows, *QUICK, "--out", tmp_path / "report")[0] == 0


def test_an_output_that_cannot_be_written_is_told_before_the_model_is_loaded(
    capsys, rows, tmp_path, monkeypatch
):
    monkeypatch.setattr(
        "rightreasons.report.opening.open_inputs", lambda *_, **__: pytest.fail("It was loaded.")
    )
    (tmp_path / "notes").write_text("")
    monkeypatch.chdir(tmp_path)
    refused = OSError(errno.EROFS, os.strerror(errno.EROFS))
    code, _, err = run(capsys, "audit", "model", rows, *QUICK, "--out", "notes/report")
    assert (code, err.splitlines()[-1]) == (
        2,
        f"Error: Expected --out to be a folder, but {tmp_path / 'notes'} is a file.",
    )
    with monkeypatch.context() as patch:
        patch.setattr("tempfile.TemporaryFile", lambda **_: (_ for _ in ()).throw(refused))
        code, _, err = run(capsys, "audit", "model", rows, *QUICK, "--out", "report")
    assert code == 2
    assert err.splitlines()[-1] == (
        "Error: Expected --out to be a folder that can be written, but report cannot: read-only file system."
    )


def test_items_that_fail_are_in_the_report(capsys, tiny, tmp_path, monkeypatch):
    texts, labels = tiny_texts(40)
    texts[6], texts[11] = "the film and and", " "
    file = tmp_path / "rows.csv"
    lines = [
        f"n{number},{text},{label}"
        for number, (text, label) in enumerate(zip(texts, labels, strict=True))
    ]
    file.write_text("\n".join(["id,text,label", *lines]))
    plain, read = Items.inputs, []

    def broken(columns, *tensors):
        if len(tensors) == 1:  # the scores; the Fisher information has more
            tensors[0][[text.endswith("and and") for text in read[-1]]] = float("nan")
        return read_later(columns, *tensors)

    monkeypatch.setattr(
        Items,
        "inputs",
        lambda *it: read.append([it[0].texts[item] for item in it[1]]) or plain(*it),
    )
    monkeypatch.setattr("rightreasons.models.batching.read_later", broken)
    options = (
        "--questions",
        "calibration,difficulty",
        "--n-resamples",
        "20",
        "--difficulty-items",
        "24",
    )
    code, out, err = run(capsys, "audit", tiny, file, *options, "--out", tmp_path / "report")
    assert code == 0, err
    (split,) = read_audit(tmp_path / "report")["dataset"]["splits"]
    reason = f"Expected finite logits, but {tiny} gave NaN or infinity for item 'n6'."
    assert split["n_items"] == 38
    assert split["left_out"] == [
        {"id": "n6", "reason": reason},
        {"id": "n11", "reason": "Its text has no words."},
    ]
    told = " ".join((out + err).split())
    assert "data: The model could" in told
    assert "item 'n6'; n11: Its text has no words" in told
    page = (tmp_path / "report" / "index.html").read_text("utf-8")
    assert "for item &#39;n6&#39;" in page
    code, _, err = run(
        capsys, "audit", tiny, file, *options, "--fail-fast", "--out", tmp_path / "other"
    )
    assert code == 2
    assert not (tmp_path / "other" / "audit.json").exists()
    assert err.splitlines()[-1].startswith("Error: Expected ")


def test_what_is_damaged_is_computed_again_with_a_line(capsys, tiny, rows, tmp_path, asked):
    out = tmp_path / "report"
    assert run(capsys, "audit", tiny, rows, *QUICK, "--out", out)[0] == 0
    whole = (out / "predictions" / "data.parquet").read_bytes()
    (folder,) = (out / ".work").glob("predictions-*")
    chunk = next(folder.glob("chunk-*"))
    chunk.write_bytes(chunk.read_bytes()[:200])
    (out / "predictions" / "data.parquet").write_bytes(b"half")
    asked.clear()
    code, _, err = run(capsys, "audit", tiny, rows, *QUICK, "--out", out)
    assert code == 0
    assert f"{chunk} is computed again, because it is damaged or belongs to another run" in err
    assert len(asked) == 10
    assert (out / "predictions" / "data.parquet").read_bytes() == whole


def test_a_process_that_is_not_the_main_one_prints_and_writes_no_report(
    capsys, tiny, rows, tmp_path, monkeypatch
):
    monkeypatch.setattr(
        "rightreasons.report.runner.processes", lambda: SimpleNamespace(is_main=False)
    )
    options = ("--items", "24", "--n-resamples", "20", "--out", tmp_path / "report")
    code, out, err = run(capsys, "difficulty", tiny, rows, *options)
    assert (code, out) == (0, ""), err
    assert not [path for path in (tmp_path / "report").iterdir() if path.name != ".work"]
