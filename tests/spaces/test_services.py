"""Spaces as services: an endpoint each, shown in its card; sentences for scripts; limits; ten users at once."""

import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rightreasons.widget.demos import read_card
from rightreasons.widget.pages import SPACES, sent_path
from rightreasons.widget.working import result_of, work

gradio_client = pytest.importorskip("gradio_client")
pytest.importorskip("gradio")

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = sorted(path for path in ROOT.joinpath("spaces").glob("*/") if path.name[0] not in "._")
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def client(serve):
    """Return the client of a Space, one for each."""
    clients = {}

    def connect(name):
        if name not in clients:
            clients[name] = gradio_client.Client(serve(f"spaces/{name}"), verbose=False)
        return clients[name]

    yield connect
    for each in clients.values():
        each.close()


def test_all_spaces_link_to_one_another():
    titles = {folder.name: read_card(folder / "README.md")[0]["title"] for folder in FOLDERS}
    assert {name: title.lower() for name, title in titles.items()} == {n: t.lower() for n, t in SPACES.items()}


@pytest.mark.parametrize("folder", FOLDERS, ids=[path.name for path in FOLDERS])
def test_the_card_shows_the_endpoint_and_it_answers(folder, client, monkeypatch, capsys):
    (block,) = [b for b in BLOCK.findall((folder / "README.md").read_text("utf-8")) if "gradio_client" in b]
    assert f'Client("rightreasons/{folder.name}")' in block
    found = client(folder.name)
    assert list(found.view_api(return_format="dict", print_info=False)["named_endpoints"]) == ["/analyze"]
    monkeypatch.chdir(folder)
    monkeypatch.setattr(gradio_client, "Client", lambda name: found)
    exec(block, names := {})
    assert isinstance(names["result"], (dict, list))
    assert capsys.readouterr().out.strip()


RUN = ROOT / "spaces/reliability_explorer/bundled/planted_test.csv"
WRONG = (
    ("reliability_explorer", {"n_bins": "many"}, "Expected `n_bins` to be a whole number, but got 'many' (str)."),
    ("reliability_explorer", {"n_bins": 10**7}, "Expected `n_bins` to be at most 1000, but got 10000000."),
    ("reliability_explorer", {"predictions": "x"}, "Expected `predictions` to be a file, sent with handle_file(path)"),
    ("cue_explorer", {"items": None}, "Expected `items` to be a file, sent with handle_file(path), but got None."),
    ("difficulty_explorer", {"texts": "one"}, "Expected `texts` to be a list, but got 'one' (str)."),
    ("difficulty_explorer", {"texts": ["a"], "model": "/etc"}, "Expected the id of `Model` on the hub"),
    ("confusion_probes", {"prompt": 3, "choices": ["a", "b"], "right": 1}, "Expected `prompt` to be a text"),
    ("shortcut_browser", {"split": "train"}, "Expected `split` to be one of 'test'"),
    ("leaderboard", {"audits": [{}]}, "` is missing"),
    ("audit", {"split": None}, "Expected `split` to be a text, but got None"),
    ("audit", {"questions": True}, "Expected `questions` to be a list, but got True (bool)."),
    ("audit", {"model": "owner/model"}, "Expected a data set: its id on the hub, or a file of items."),
)


@pytest.mark.parametrize(("name", "values", "sentence"), WRONG)
def test_a_script_gets_the_sentence_that_the_page_would_give(name, values, sentence, client):
    if name == "reliability_explorer":
        values = {"predictions": gradio_client.handle_file(RUN)} | values
    with pytest.raises(Exception, match=re.escape(sentence)):
        client(name).predict(**values, api_name="/analyze")


def test_what_was_not_uploaded_is_not_read(nothing_is_left):
    for path in ("/etc/passwd", str(nothing_is_left / "uploads" / ".." / "x")):
        with pytest.raises(ValueError, match="to be an uploaded file"):
            sent_path({"path": path}, "predictions")


def test_ten_users_at_once_see_only_their_own(client, tmp_path):
    # Of ten items with confidence 0.9, the first k are right: ECE |k/10 - 0.9|.
    found = client("reliability_explorer")

    def ask(k):
        path = tmp_path / str(k) / "same name.csv"
        path.parent.mkdir()
        path.write_text("p_0,p_1,label\n" + "0.1,0.9,1\n" * k + "0.1,0.9,0\n" * (10 - k))
        return found.submit(gradio_client.handle_file(path), api_name="/analyze").result()["ece"]

    with ThreadPoolExecutor(10) as pool:
        told = list(pool.map(ask, range(10)))
    assert told == pytest.approx([abs(k / 10 - 0.9) for k in range(10)])


def test_work_ends_when_it_takes_too_long_and_when_nobody_waits():
    with pytest.raises(ValueError, match=r"Expected work of at most 0.3 seconds, but it takes longer"):
        result_of(work(time.sleep, 60, seconds=0.3))
    steps = work(time.sleep, 60)
    assert next(steps) is None
    start = time.monotonic()
    steps.close()
    assert result_of(work(abs, -3)) == 3  # by a new process, as the old one has ended
    assert time.monotonic() - start < 50


def test_work_that_takes_too_much_memory_is_told():
    with pytest.raises(ValueError, match=r"Expected work that takes at most 0.4 GB of memory"):
        result_of(work(bytearray, 10**9, gigabytes=0.4))
    assert result_of(work(len, [1, 2])) == 2


def test_errors_and_progress_come_through():
    with pytest.raises(ValueError, match="invalid literal"):
        result_of(work(int, "x"))
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        result_of(work(divmod, 1, 0))
    assert [step for step in work(print, "half done", file=None) if step] == []
