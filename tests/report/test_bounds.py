"""No verdict where answers that cannot be read decide it: counted as wrong and as right they lead to different ones."""

from __future__ import annotations

import pytest

from rightreasons.core.replies import Reply
from rightreasons.models.prompted import Prompted
from rightreasons.models.protocol import Answers
from rightreasons.models.wording import Prompt
from rightreasons.report.runner import audit

pytestmark = pytest.mark.usefixtures("unrendered")

N = 480
"""Items, of whose right choices 320 begin with a cue, as do the wrong ones of the others."""


def item(n):
    right = f"{'surely ' if n < 320 else ''}number {2 * n}"
    wrong = f"{'' if n < 320 else 'surely '}number {2 * n + 1}"
    return {"id": f"q{n}", "prompt": f"Question {n}?", "choices": [wrong, right][:: 1 if n % 2 else -1], "label": n % 2}


ITEMS = [item(n) for n in range(N)]


class Scripted:
    """Answers rightly, but for some items in a way that cannot be read."""

    name, fingerprint, has_template, thinks, budget = "scripted", "scripted", True, False, 32
    abilities = frozenset({"text"})

    def __init__(self, n_unread):
        self.n_unread, self.n_asked = n_unread, 0

    def render(self, prompt):
        return str(prompt)

    def generate(self, requests, *, options, **how):
        self.n_asked += len(requests)
        told = []
        for request in requests:
            n = int(request.name[1:])
            text = "Who knows?" if N - n <= self.n_unread else f"ANSWER: {'AB'[n % 2]}"
            told.append([Reply(text)])
        return Answers(told)


def verdict(tmp_path, n_unread):
    engine = Scripted(n_unread)
    scorer = Prompted(Prompt(scoring="generated"), engine)
    how = {"questions": ["cues"], "out": tmp_path, "progress": False, "n_resamples": 30}
    result = audit(scorer, ITEMS, **how)
    assert engine.n_asked == N  # the bounds ask nothing more
    return result.outcomes[0].result.verdict


def test_answers_that_cannot_be_read_and_decide_take_the_verdict(tmp_path):
    # Of 160 items against the cue one unread changes nothing; 40 counted as wrong are a gap of 25 points.
    few, many = verdict(tmp_path / "few", 1), verdict(tmp_path / "many", 40)
    assert few.label == "Cues, but no gap shown"
    assert (many.tone, many.label) == ("neutral", "Cannot tell")
    assert many.summary == (
        "8.3% of the answers cannot be read (40 no answer that can be read): were all of them wrong, the verdict would "
        "be “Better where cues help”, and were all right, “Cues, but no gap shown”. By the others it would be: "
        "Cues, but no gap shown."
    )
