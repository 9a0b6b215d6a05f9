"""What passes: an input has two outcomes, the right figure or one sentence, in bounded memory and time."""

import contextlib
import dataclasses
import os
import pickle
import resource
import signal
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rightreasons.core.errors import OptionError, OptionTypeError, format_error

ROOT = Path(__file__).parents[2]
OURS = tuple(str(ROOT / folder) + os.sep for folder in ("src", "metrics", "measurements"))
KINDS = (
    ValueError,
    TypeError,
    ImportError,
    OSError,
    FileNotFoundError,
    PermissionError,
    NotADirectoryError,
    IsADirectoryError,
)
LONGEST = 10_000
"""Characters of a sentence; a person reads no longer one."""

SECONDS = 10
"""Processor time of one input."""

MEMORY = 2 << 30
"""Bytes that one input may add to the address space of the process."""


@dataclasses.dataclass(frozen=True)
class Target:
    """What is fuzzed.

    Attributes:
        name: Its name.
        inputs: A strategy of hypothesis for plain values.
        check: Takes an input and an empty folder; raises what the code raises, and AssertionError for a wrong figure.
        examples: Inputs of the short form in the tests.
    """

    name: str
    inputs: Any
    check: Callable[[Any, Path], object]
    examples: int = 20


class TooSlow(BaseException):
    """Raised in the middle of whatever takes too long."""


class NotOneSentence(AssertionError):
    """An input ended in something else than a figure or one sentence."""


def complaint(error: BaseException) -> str | None:
    """Say what is wrong with an error; None where it is one sentence of ours."""
    message = format_error(error) if isinstance(error, OSError) else str(error)
    if isinstance(error, AssertionError):
        return f"a wrong result: {message}"
    if type(error) not in (*KINDS, OptionError, OptionTypeError):
        return f"{type(error).__name__} instead of a sentence"
    if "Expected" not in message:
        return f"{type(error).__name__} that is not one sentence of ours"
    if len(message) > LONGEST:
        return f"a sentence of {len(message):,} characters"
    frames = traceback.extract_tb(error.__traceback__)
    if frames and not _is_ours(frames[-1].filename) and not isinstance(error, OSError):
        return f"{type(error).__name__} raised by {frames[-1].filename}"
    return None


def _is_ours(file: str) -> bool:
    # evaluate runs copies of its modules, and those that are fuzzed are ours.
    return file.startswith(OURS) or f"{os.sep}evaluate_modules{os.sep}" in file


def outcome(function: Callable[[], Any]) -> tuple[str, Any]:
    """Return ("result", what the function returns) or ("sentence", the error); anything else is raised."""
    try:
        return "result", function()
    except Exception as error:
        if complaint(error) is not None:
            raise
        return "sentence", f"{type(error).__name__}: {error}"


@contextlib.contextmanager
def bounds(seconds: float = SECONDS, memory: int | None = MEMORY):
    """Bound the processor time and the memory of what runs inside."""

    def stop(*_: object) -> None:
        raise TooSlow(f"took more than {seconds} seconds")

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if memory is not None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + memory, hard))
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def judge(target: Target, value: Any, folder: Path, *, seconds: float = SECONDS) -> None:
    """Give a target one input.

    Raises:
        NotOneSentence: If it ended in anything else than a figure or one sentence.
    """
    try:
        with bounds(seconds):
            target.check(value, folder)
    except TooSlow as error:
        raise NotOneSentence(f"{target.name}: {error}") from error
    except Exception as error:
        wrong = complaint(error)
        if wrong is not None:
            raise NotOneSentence(f"{target.name}: {wrong}") from error


def place(error: BaseException) -> str:
    """Name where an error arose, so that a second input with the same fault is no second finding."""
    cause = error.__cause__ or error
    frames = traceback.extract_tb(cause.__traceback__)
    ours = [frame for frame in frames if _is_ours(frame.filename)]
    last = (ours or frames)[-1]
    return f"{type(cause).__name__}:{Path(last.filename).name}:{last.name}"


def store(found: Path, target: Target, value: Any, error: BaseException) -> Path:
    """Write an input that failed, to be replayed, with what happened beside it."""
    found.mkdir(parents=True, exist_ok=True)
    name = f"{target.name}-{place(error).replace(':', '-').replace('<', '').replace('>', '')}"
    (found / f"{name}.pickle").write_bytes(pickle.dumps((target.name, value)))
    told = "".join(traceback.format_exception(error.__cause__ or error))
    file = found / f"{name}.txt"
    file.write_text(
        f"{error}\n\ninput:\n{value!r:.20000}\n\n{told:.20000}\n",
        "utf-8",
        errors="backslashreplace",
    )
    return file
