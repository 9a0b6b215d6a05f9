"""What is told before an audit begins, and the names of its bars."""

import re
from types import SimpleNamespace

import datasets
import pytest

from rightreasons.models.servers.options import ServerOptions
from rightreasons.models.servers.usage import Usage
from rightreasons.report.plan import _priced
from rightreasons.report.questions import QUESTIONS
from rightreasons.report.runner import audit, plan_lines
from tiny_models import save_tiny_classifier, tiny_texts

pytestmark = pytest.mark.usefixtures("unrendered")


class Split(list):
    """Items with a name."""

    choices = None

    def __init__(self, name, n_items):
        super().__init__(["x"] * n_items)
        self.name, self.texts, self.mean_words = name, ["word"] * n_items, 1.0


def context(**others):
    splits = (Split("test", 1000), Split("test_flipped", 90))
    values = {"primary": splits[0], "comparisons": splits[1:], "splits": splits, "task": "classification",
              "label_names": ("a", "b", "c"), "stored": None, "server": None, "prompted": None,
              "why_no_gradients": lambda: ""}  # fmt: skip
    return SimpleNamespace(**{**values, **others})


@pytest.mark.parametrize(
    ("question", "options", "passes"),
    [
        ("calibration", {}, 0),
        (
            "shortcuts",
            {"steps": 10},
            (300 + 90) * 10 * 3 + 400 * 15,
        ),  # a gradient costs three passes; 15 per item for the swaps
        ("shortcuts", {"steps": 10, "items": 20}, (20 + 20) * 10 * 3 + 20 * 15),
        ("difficulty", {"items": 500}, 500 * (1 + 2 * 3) + 1800),  # a pass, and two more for each of three classes
        ("shortcuts", {"importance": "occlusion"}, (100 + 50) * 2 + 400 * 15),
        ("probes", {"ks": (1, 2)}, 1000 * 5),
    ],
)
def test_passes_are_counted(question, options, passes):
    assert QUESTIONS[question].options(**options).passes(context()) == passes


def test_a_server_is_given_no_time_and_stored_predictions_no_plan():
    sections = [SimpleNamespace(question="calibration")]
    (line,) = plan_lines(context(server={"address": "http://x"}), sections, {})
    assert line == "1 question (calibration) about 1,000 items of test, and test_flipped: as long as the server takes."
    assert plan_lines(context(stored=object()), sections, {}) == ()


def test_a_few_items_of_a_language_model_take_time():
    sections, few = [SimpleNamespace(question="shortcuts")], Split("test", 24)
    asked = {"primary": few, "comparisons": (), "splits": (few,), "seconds": 0.2}
    options = {"shortcuts": QUESTIONS["shortcuts"].options()}
    (line,) = plan_lines(context(**asked), sections, options)
    assert line == "1 question (shortcuts) about 24 items of test."
    (line,) = plan_lines(context(**asked, prompted=object()), sections, options)
    # 24 times 30 gradients of three passes each, and 24 times five for the causal test: 2,280 of 0.2 s.
    assert line == "1 question (shortcuts) about 24 items of test: about 9 min, less what an earlier run stored."
    (line,) = plan_lines(context(**{**asked, "seconds": None}, prompted=object()), sections, options)
    assert line == "1 question (shortcuts) about 24 items of test."  # all predictions were stored


@pytest.mark.parametrize("watched", [True, False])
def test_an_audit_says_what_it_is_about_to_do_and_what_each_bar_is_about(tmp_path, capfd, monkeypatch, watched):
    monkeypatch.setattr("rightreasons.models.running.is_watched", lambda: watched)
    save_tiny_classifier(tmp_path / "model")
    texts, labels = tiny_texts(40)
    test = datasets.Dataset.from_dict({"text": texts, "label": labels})
    lines = []
    audit(tmp_path / "model", {"test": test}, out=tmp_path / "report", questions=["calibration", "difficulty", "cues"],
          options={"difficulty": {"items": 20}}, n_resamples=20, tell=lines.append)  # fmt: skip
    plan = next(line for line in lines if "questions" in line)
    assert re.fullmatch(
        r"2 questions \(calibration, difficulty\) about 40 items of test: about [\d.]+ (s|min), less what an earlier "
        r"run stored\.",
        plan,
    )
    bars = capfd.readouterr().err
    assert ("predictions, test: logits:" in bars) == watched
    assert ("2/2 difficulty: Fisher information:" in bars) == watched


def test_a_price_is_shown_where_prices_are_given():
    usage = Usage(requests=2, prompt_tokens=3_000_000, answer_tokens=500)
    for prices, shown in (({}, False), ({"prompt_price": 0.5}, True)):
        client = SimpleNamespace(options=ServerOptions(**prices), usage=Usage())
        head, row, *_ = _priced([("the items", usage)], SimpleNamespace(client=client)).lines
        assert ("price" in head) is shown
        assert row.endswith("1.5000") is shown  # 3 million tokens at 0.5 a million
