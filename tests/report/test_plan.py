"""What is told before an audit begins, and the names of its bars."""

from types import SimpleNamespace

import datasets
import pytest

from fake_server import serving
from rightreasons.models.protocol import Request
from rightreasons.models.servers.opening import open_server
from rightreasons.models.servers.options import ServerOptions
from rightreasons.models.servers.usage import Forecast, Usage
from rightreasons.report.messages import describe_questions
from rightreasons.report.plan import CountingEngine, _price_plan
from rightreasons.report.questions import QUESTIONS
from rightreasons.report.runner import audit
from tiny_models import save_tiny_classifier, tiny_texts

pytestmark = pytest.mark.usefixtures("unrendered")


class Split(list):
    """Items with a name."""

    choices = None

    def __init__(self, name, n_items):
        super().__init__(["x"] * n_items)
        self.name, self.texts = name, ["word"] * n_items


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
            {},
            300 * 11 * 3 + 30_000,
        ),  # a gradient costs three passes; the budget of the swaps
        ("shortcuts", {"items": 20}, 20 * 11 * 3 + 20 * 35),
        (
            "difficulty",
            {"items": 500},
            500 * (1 + 2 * 3) + 2700,
        ),  # a pass, and two more for each of three classes; then the replacements
        ("probes", {"ks": (1, 2)}, 1000 * 5),
        # Twelve formats, a doubt, and its control.
        ("ways", {}, 1000 * 14),
        ("ways", {"n_ways": 5, "doubt": False}, 1000 * 5),
    ],
)
def test_passes_are_counted(question, options, passes):
    assert QUESTIONS[question].options(**options).passes(context()) == passes


def test_stored_predictions_have_no_plan():
    sections = [SimpleNamespace(name="calibration")]
    assert describe_questions(context(), sections) == [
        "1 question (calibration) on 1,000 items of test, and on test_flipped."
    ]
    assert describe_questions(context(stored=object()), sections) == []


def test_the_power_of_a_question_that_samples_items_is_that_of_its_sample():
    options = QUESTIONS["reasons"].options(items=20)

    assert options.find_item_limit(context()) == 20


@pytest.mark.parametrize("watched", [True, False])
def test_an_audit_says_what_it_is_about_to_do_and_what_each_bar_is_about(
    tmp_path, capfd, monkeypatch, watched
):
    monkeypatch.setattr("rightreasons.models.runs.progress.is_progress_visible", lambda: watched)
    save_tiny_classifier(tmp_path / "model")
    texts, labels = tiny_texts(40)
    test = datasets.Dataset.from_dict({"text": texts, "label": labels})
    lines = []
    audit(tmp_path / "model", {"test": test}, out=tmp_path / "report", questions=["calibration", "difficulty", "cues"],
          options={"difficulty": {"items": 20}}, n_resamples=20, tell=lines.append)  # fmt: skip
    plan = next(line for line in lines if "questions" in line)
    assert plan == "2 questions (calibration, difficulty) on 40 items of test."
    bars = capfd.readouterr().err
    assert ("predictions, test: logits, 40 items:" in bars) == watched
    assert ("2/2 difficulty: Fisher information, 20 items:" in bars) == watched


@pytest.mark.parametrize("chat", ["off", "on"])
@pytest.mark.parametrize("n_items", [2, 9])
def test_a_plan_counts_its_own_samples_and_what_they_show_to_be_missing(chat, n_items):
    requests = []
    for n in range(n_items):
        prompt = f"Which is it, {n}?"
        if chat == "on":
            prompt = ({"role": "user", "content": prompt},)
        # No token of the server is " Q", so its letters are echoed in addition.
        requests.append(Request(f"item {n}", prompt, (" A", " Q")))
    with serving() as fake:
        planned = CountingEngine(open_server(fake.url, chat=chat, progress=False))
        for _ in range(2):
            # Later questions send the same requests, which cost nothing more.
            planned.likelihoods(requests)
        n_planned = planned.cost.at_most.requests
        planned.begin_step()
        planned.likelihoods(requests[:1])
        n_planned += planned.cost.at_most.requests

        engine = open_server(fake.url, chat=chat, progress=False)
        fake.reset()
        engine.likelihoods(requests, progress=False)
        n_sent = len(fake.bodies)

    # Each item takes a request for its likeliest tokens, and one for the echo of " Q". After a
    # conversation, " A" is echoed, too, and so is the conversation itself.
    n_of_item = {"off": 2, "on": 4}[chat]
    assert n_planned == n_sent == n_of_item * n_items


def test_a_price_is_shown_where_prices_are_given():
    usage = Usage(requests=2, prompt_tokens=3_000_000, answer_tokens=500)
    for prices, shown in (({}, False), ({"prompt_price": 0.5}, True)):
        client = SimpleNamespace(options=ServerOptions(**prices), usage=Usage())
        # As many generated tokens are expected as may be: nothing is known about their number.
        rows = [("the items", Forecast(usage, answer_tokens=500))]
        head, row, *_ = _price_plan(rows, SimpleNamespace(client=client)).lines
        assert ("price" in head) is shown
        assert row.endswith("1.5000") is shown  # 3 million tokens at 0.5 a million


def test_a_plan_has_the_expected_costs_next_to_the_highest_ones():
    usage = Usage(requests=10, prompt_tokens=1000, answer_tokens=20_480)
    client = SimpleNamespace(options=ServerOptions(answer_price=1000.0), usage=Usage())
    rows = [("the items", Forecast(usage, answer_tokens=3000))]

    plan = _price_plan(rows, SimpleNamespace(client=client, n_sampled=3))

    assert plan.lines[1].split() == [
        "the",
        "items",
        "10",
        "1,000",
        "3,000",
        "20,480",
        "3.0000",
        "20.4800",
    ]
    assert plan.costs["the items"]["answer_tokens"] == 20_480
    assert plan.costs["the items"]["expected_price"] == 3.0
    assert "for the trial and 3 prompts" in plan.lines[2]
