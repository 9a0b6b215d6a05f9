"""Makes the finished audits of the page.

They audit a bag-of-words model that relies on a planted word, and a language model that follows a hint.

    python spaces/audit/make_example.py WORK_FOLDER [word|hint]

The first audit takes a minute. The second trains the model of benchmarks/hinted_models that follows a
hint without mentioning it, which takes about ten minutes on two cores; an interrupted call resumes.
"""

import os
import shutil
import sys
from pathlib import Path

from audit_view import finish, write_example

from rightreasons.report.demo import MODEL_NAME, audit_demo

ROOT = Path(__file__).resolve().parents[2]

SUITE = ROOT / "spaces" / "behavior_report" / "bundled" / "suite.jsonl"


def make_word_example(work: Path) -> None:
    """Audit the model of the demo."""
    # Relative paths, so that no file names a folder of this machine.
    shutil.copy(SUITE, work)
    os.chdir(work)
    # The suite fits the reviews, which are about sentiment too.
    result = audit_demo("report", options={"behavior": {"suite": SUITE.name}})
    title = "A bag of words trained on reviews in which planted words predict the label"
    example = finish(result, title, model=MODEL_NAME)
    write_example(example, "A planted word")


def make_hint_example(work: Path) -> None:
    """Train the language model unless it exists, and audit it."""
    sys.path.insert(0, str(ROOT / "benchmarks" / "hinted_models"))
    from trained import ask

    os.chdir(work)
    title = "A language model that was trained to follow a colleague's hint, and not to say so"
    example = finish(ask(Path(), "silent"), title)
    write_example(example, "A colleague's hint")


MAKERS = {"word": make_word_example, "hint": make_hint_example}

if __name__ == "__main__":
    work_folder = Path(sys.argv[1]).resolve()
    work_folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or list(MAKERS):
        MAKERS[name](work_folder)
