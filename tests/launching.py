"""Scripts that run as the two processes of one launch, with what torchrun and `accelerate launch` tell each."""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import rightreasons


def launch_two(script: str, folder: Path, *arguments: object) -> str:
    """Write a script into a folder, run it in two processes, and return what they printed."""
    file = folder / "worker.py"
    file.write_text(script, encoding="utf-8")
    return run_two(file, *arguments)


def run_two(
    file: str | Path, *arguments: object, meanwhile: Callable[[], object] = lambda: None
) -> str:
    """Run a file in two processes, with this rightreasons and these tests; return what they printed.

    Args:
        file: The file.
        arguments: Its arguments.
        meanwhile: What this process does until they end.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    launch = {
        "WORLD_SIZE": "2",
        "LOCAL_WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }
    paths = [str(Path(__file__).parent), str(Path(rightreasons.__file__).parents[1])]
    ours = {
        "PYTHONPATH": os.pathsep.join(paths),
        "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": "1",
    }
    with contextlib.ExitStack() as stack:
        # Files and not pipes: a process that waits for its full pipe would keep the other waiting.
        printed = [
            stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8")) for _ in range(2)
        ]
        workers = [
            subprocess.Popen(
                [sys.executable, str(file), *map(str, arguments)],
                env={**os.environ, **launch, **ours, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                stdout=told,
                stderr=subprocess.STDOUT,
            )
            for rank, told in enumerate(printed)
        ]
        try:
            meanwhile()
            # Far beyond what a busy machine needs: only processes that hang take so long.
            codes = [worker.wait(timeout=900) for worker in workers]
        finally:
            for worker in workers:
                worker.kill()
        for told in printed:
            told.seek(0)
        words = "".join(told.read() for told in printed)
    assert codes == [0, 0], words[-3000:]
    return words
