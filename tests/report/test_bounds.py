"""No verdict where answers that cannot be read decide it: counted as wrong and as right they lead to different ones."""

from __future__ import annotations

import pytest

from rightreasons.core.replies import Reply
from rightreasons.models.prompted import Prompted
from rightreasons.models.protocol import Answers
from rightreasons.models.wording import Prompt
from rightreasons.report.runner import audit

pytestmark = pytest.mark.usefixtures("unrendered")

N = 240
ITEMS = [
    {"id": f"q{n}", "prompt": f"Question {n}?", "choices": ["yes", "no"], "label": n % 2}
    for n in range(N)
]


class Scripted:
    """Answers all four times alike: rightly, but for some items wrongly, and some in a way that cannot be read."""

    name, fingerprint, has_template, thinks, budget = "scripted", "scripted", True, False, 32
    abilities = frozenset({"text"})

    def __init__(self, n_wrong, n_unread):
        self.n_wrong, self.n_unread, self.n_asked = n_wrong, n_unread, 0

    def render(self, prompt):
        return str(prompt)

    def generate(self, requests, *, options, **how):
        self.n_asked += len(requests)
        told = []
        for request in requests:
            n = int(request.name[1:])
            right = n % 2 if n >= self.n_wrong else 1 - n % 2
            text = "Who knows?" if N - n <= self.n_unread else f"ANSWER: {'AB'[right]}"
            told.append([Reply(text)] * options.n)
        return Answers(told)


def verdict(tmp_path, n_wrong, n_unread):
    engine = Scripted(n_wrong, n_unread)
    scorer = Prompted(Prompt(scoring="generated", samples=4, repair="off"), engine)
    how = {"questions": ["calibration"], "out": tmp_path, "progress": False, "n_resamples": 30}
    result = audit(scorer, ITEMS, **how)
    assert engine.n_asked == N  # the bounds ask nothing more
    return result.outcomes[0].result.verdict


def test_answers_that_cannot_be_read_and_decide_take_the_verdict(tmp_path):
    # 1 of 240 wrong at a confidence of 1: a gap of 0.4 points. One unread changes nothing; of 20, counted as wrong,
    # it is 21 / 240 = 8.75 points.
    few, many = verdict(tmp_path / "few", 1, 1), verdict(tmp_path / "many", 1, 20)
    assert (few.tone, few.label) == ("good", "Calibrated within 5 points")
    assert (many.tone, many.label) == ("neutral", "Inconclusive")
    assert many.summary == (
        "8.3% of the answers cannot be read (20 no answer that can be read). If all of them were incorrect, the verdict "
        "would be “Overconfident, perhaps by 5 points or more”; if all were correct, “Calibrated within 5 points”. "
        "Based on the other answers, it would be: Calibrated within 5 points."
    )
