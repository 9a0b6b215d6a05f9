"""Behavioral suites."""

import gzip
import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import strategies as st

from fuzzing.damage import altered, damaged
from fuzzing.judging import Target
from fuzzing.targets.tables import lines
from rightreasons.datasets.suites.suite import Suite, open_suite
from tiny_suites import behavior_suite, reading_suite


def seeds(suffix):
    """Write the tiny suites in one format."""
    made = []
    with TemporaryDirectory() as folder:
        for suite in (behavior_suite(), reading_suite()):
            made.append(suite.write(Path(folder) / f"suite{suffix}").read_bytes())
    return made


FILES = {suffix: seeds(suffix) for suffix in (".jsonl", ".jsonl.gz")}
SHORT = [[json.loads(line) for line in content.splitlines()] for content in FILES[".jsonl"]]


@st.composite
def files(draw):
    """A suite with a few edits, or with values of another kind."""
    suffix = draw(st.sampled_from(sorted(FILES)))
    if draw(st.booleans()):
        return suffix, draw(damaged(FILES[suffix]))
    content = lines(draw(altered(SHORT)))
    return draw(st.sampled_from([(".jsonl", content), (".jsonl.gz", gzip.compress(content, 1))]))


def check_suite(value, folder):
    suffix, content = value
    path = folder / f"suite{suffix}"
    path.write_bytes(content)
    suite = open_suite(path)
    suite.table()
    assert suite.n_examples == len(suite.texts()) == len(suite.to_dataset())
    # What is read is written and read again as the same suite.
    assert Suite.read(suite.write(folder / "again.jsonl")) == suite


TARGETS = [
    Target("suites", files(), check_suite, 15),
]
