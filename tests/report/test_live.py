"""A report with the model behind it: who may ask, what is answered, and what a browser shows."""

import http.client
import json
import threading

import numpy as np
import pandas as pd
import pytest

import rightreasons
from rightreasons.core.errors import OptionError
from rightreasons.models.scorers import as_scorer
from rightreasons.report.live import LiveReport, LiveServer

TEXTS = [f"a {word} film {number}" for number in range(20) for word in ("dull", "fine")]


def score_words(texts):
    """Return .75 for good if "fine" is in a text, and .2 otherwise."""
    good = np.array([0.75 if "fine" in text else 0.2 for text in texts])
    return np.column_stack([1 - good, good])


def score_lengths(texts):
    """Return a larger probability for longer texts."""
    good = np.array([1 - 1 / len(text) for text in texts])
    return np.column_stack([1 - good, good])


def make_scorer(function=score_words):
    return as_scorer(function, label_names=["bad", "good"], name=function.__name__)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    rows = pd.DataFrame({"text": TEXTS, "label": [0, 1] * 20})
    out = tmp_path_factory.mktemp("live") / "report"
    rightreasons.audit(
        make_scorer(), rows, questions=["calibration"], out=out, n_resamples=20, progress=False
    )
    return out


@pytest.fixture(scope="module")
def server(report):
    live = LiveReport(report, [make_scorer(), make_scorer(score_lengths)])
    with LiveServer(live, token="secret") as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def request(server, path, body=None, **headers):
    """Send a request as a program on this machine could, and return the status and the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    try:
        connection.request("GET" if body is None else "POST", path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_every_model_is_asked(server):
    status, body = request(server, "/secret/predict", json.dumps({"text": "a fine film"}))
    assert status == 200
    models = json.loads(body)["models"]
    assert [model["name"] for model in models] == ["score_words", "score_lengths"]
    assert models[0]["probabilities"] == pytest.approx([0.25, 0.75])
    # The text has 11 characters: 1 - 1/11.
    assert models[1]["probabilities"] == pytest.approx([1 / 11, 10 / 11])


def test_only_who_knows_the_token_is_answered(server):
    assert request(server, "/secret/")[0] == 200
    for path in ("/", "/secret", "/guess/", "/guess/predict"):
        assert request(server, path)[0] == 404 or path == "/secret"
    assert request(server, "/guess/predict", json.dumps({"text": "a film"}))[0] == 404
    # A page of another site, whose name leads to this machine, has another host.
    assert request(server, "/secret/", Host="evil.example")[0] == 404
    port = server.server_port
    assert request(server, "/secret/", Host=f"localhost:{port}")[0] == 200


def test_only_files_of_the_report_are_sent(server, report):
    (report / "private.txt").write_text("mine", "utf-8")
    assert json.loads(request(server, "/secret/audit.json")[1])["model"]["name"] == "score_words"
    for path in ("private.txt", "../report/audit.json", "%2e%2e/report/audit.json", ".work"):
        assert request(server, f"/secret/{path}")[0] == 404, path


@pytest.mark.parametrize("body", ["", "[]", "{}", '{"text": " "}', '{"text": 3}', "{"])
def test_odd_requests_are_told(server, body):
    status, answer = request(server, "/secret/predict", body)
    assert status == 200
    assert "Expected" in json.loads(answer)["error"]


def test_long_requests_are_refused(server):
    assert request(server, "/secret/predict", "x" * 200_000)[0] == 413


def test_a_stored_page_asks_nobody_and_a_live_one_its_own_server(server, report):
    stored = (report / "index.html").read_text("utf-8")
    assert "connect-src" not in stored
    assert 'name="live"' not in stored
    page = request(server, "/secret/")[1].decode()
    assert "connect-src 'self';" in page
    assert "score_lengths" in page


def test_a_model_in_memory_must_be_given(report):
    with pytest.raises(OptionError, match="object in memory") as error:
        LiveReport(report)
    assert error.value.option == ("model",)


def test_a_function_has_the_classes_of_the_report(report):
    live = LiveReport(report, [score_words])
    assert live.scorers[0].label_names == ("bad", "good")
    assert live.predict({"text": "a fine film"})[0]["probabilities"] == pytest.approx([0.25, 0.75])


def test_a_page_of_an_earlier_version_is_refused(report, tmp_path):
    for file in ("audit.json", "index.html"):
        (tmp_path / file).write_bytes((report / file).read_bytes())
    (tmp_path / "index.html").write_text("<p>old</p>", "utf-8")
    with pytest.raises(OptionError, match="Repeat the audit") as error:
        LiveReport(tmp_path, [make_scorer()])
    assert error.value.option == ("report",)


def test_a_taken_port_is_told(server, report):
    with pytest.raises(OptionError, match="free port") as error:
        rightreasons.serve(report, make_scorer(), port=server.server_port)
    assert error.value.option == ("port",)


def test_an_item_has_its_complete_text(server):
    item = json.dumps({"split": "data", "id": "3"})

    status, answer = request(server, "/secret/item", item)

    assert (status, json.loads(answer)) == (200, {"text": "a fine film 1"})


@pytest.mark.parametrize("item", [{"split": "data", "id": "99"}, {"split": "other", "id": "3"}])
def test_an_unknown_item_has_no_texts(server, item):
    status, answer = request(server, "/secret/item", json.dumps(item))

    assert (status, json.loads(answer)) == (200, {})


@pytest.fixture(scope="module")
def pair_server(tmp_path_factory):
    def score_pairs(texts, text_pairs):
        good = np.array([0.9 if "fine" in pair else 0.2 for pair in text_pairs])
        return np.column_stack([1 - good, good])

    pairs = ["a fine film" if number % 2 else "a dull film" for number in range(40)]
    rows = pd.DataFrame({"text": TEXTS, "text_pair": pairs, "label": [0, 1] * 20})
    out = tmp_path_factory.mktemp("pairs") / "report"
    scorer = make_scorer(score_pairs)
    rightreasons.audit(
        scorer, rows, questions=["calibration"], out=out, n_resamples=20, progress=False
    )
    with LiveServer(LiveReport(out, [scorer]), token="secret") as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.browser
def test_the_second_text_of_a_pair_is_there_from_the_start(page, pair_server):
    expect = pytest.importorskip("playwright.sync_api").expect
    page.goto(pair_server.address)
    page.get_by_role("table", name="score_pairs").wait_for()
    assert page.locator("#try-pair").input_value() in ("a fine film", "a dull film")

    row = page.locator("#items tbody tr", has_text="a fine film 7")
    assert row.locator("td").first.locator("p").inner_text() == "a fine film"
    row.locator("td").first.click()
    page.get_by_role("button", name="Edit this text").click()
    expect(page.locator("#try-text")).to_have_value("a fine film 7")

    assert page.locator("#try-pair").input_value() == "a fine film"


@pytest.mark.browser
def test_a_reader_edits_a_text(page, server):
    expect = pytest.importorskip("playwright.sync_api").expect
    problems = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(server.address)
    box = page.locator("#try-text")
    page.get_by_role("table", name="score_words").wait_for()
    page.locator("#items tbody tr", has_text="a dull film 7").locator("td").first.click()
    page.get_by_role("button", name="Edit this text").click()
    expect(box).to_have_value("a dull film 7")
    box.fill("a fine film 7")
    page.get_by_text("80.0% bad → 75.0% good").wait_for()
    assert page.locator("#try-models table").count() == 2
    box.fill("")
    page.get_by_text("Type a text.").wait_for()
    assert problems == []
