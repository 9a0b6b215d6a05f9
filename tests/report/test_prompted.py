"""The audit of a causal language model that is asked through a prompt."""

import html
import json
import re

import pytest

from rightreasons.cli import main
from rightreasons.core.errors import UnreadAnswersError
from rightreasons.datasets.suites.suite import Case, Suite
from rightreasons.models.choices import load_causal
from rightreasons.models.local import LocalEngine
from rightreasons.models.prompted import Prompted
from rightreasons.models.wording import Prompt
from rightreasons.report import runner
from rightreasons.report.runner import audit
from tiny_causal import save_tiny_causal
from tiny_models import NEGATIVE, POSITIVE, tiny_texts
from tiny_suites import behavior_suite, functionality

pytestmark = pytest.mark.usefixtures("unrendered")

QUALITIES = (*POSITIVE, *NEGATIVE)
TEMPLATE = "what was {{ text }} so"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A causal model, texts with a training split, multiple-choice items, and a suite."""
    folder = tmp_path_factory.mktemp("prompted")
    save_tiny_causal(folder / "model")
    behavior_suite().write(folder / "suite.jsonl")
    two = [
        Case(str(i), ((f"the film was {word}",),), (int(word in POSITIVE),))
        for i, word in enumerate(QUALITIES)
    ]
    kept = [
        Case(str(i), ((f"a {word} plot",), (f"the {word} plot",)))
        for i, word in enumerate(QUALITIES)
    ]
    parts = (
        functionality("words", "MFT", {"name": "equal"}, two),
        functionality("articles", "INV", {"name": "invariant"}, kept),
    )
    Suite("two", ("text",), parts, ("bad", "good")).write(folder / "two.jsonl")
    texts, labels = tiny_texts(60)
    rows = [{"id": f"t{i}", "text": text, "label": ("bad", "good")[label]} for i, (text, label) in
            enumerate(zip(texts, labels, strict=True))]  # fmt: skip
    (folder / "texts").mkdir()
    for split, part in (("train", rows[:35]), ("test", rows[35:])):
        (folder / "texts" / f"{split}.jsonl").write_text("\n".join(map(json.dumps, part)), "utf-8")
    choices = [["it was wet", "sun"], ["the man fell", "dry"], ["so", "very bad plot"]]
    items = [
        {"id": f"c{i}", "prompt": f"rain fell because {('man', 'glass')[i % 2]} {i % 5}", "choices": choices[i % 3],
         "label": i % 2} for i in range(24)
    ]  # fmt: skip
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, items)), "utf-8")
    return folder


@pytest.fixture(scope="module")
def classified(files, tmp_path_factory):
    """The audit of a classification with everything that is asked of it."""
    out = tmp_path_factory.mktemp("classified")
    return audit(
        files / "model", files / "texts", out=out, template=TEMPLATE, n_resamples=30, progress=False,
        options={"behavior": {"suite": str(files / "two.jsonl")}}, raise_errors=True,
    )  # fmt: skip


def test_every_question_of_a_classification(classified):
    status = {outcome.question: outcome.status for outcome in classified.outcomes}
    assert status == {
        "calibration": "answered", "shortcuts": "answered", "cues": "skipped", "probes": "skipped",
        "difficulty": "answered", "behavior": "answered",
    }  # fmt: skip
    assert classified.audit["model"]["n_parameters"] > 0


def test_the_report_says_at_its_top_what_was_asked(classified):
    page = html.unescape(classified.page.read_text("utf-8"))
    top = page[: page.index('id="answers"')]
    assert TEMPLATE in top
    assert "template and contain no examples" in top
    first = json.loads((classified.out / "audit.json").read_text("utf-8"))["model"]["prompt"]
    assert first["example"] in top
    assert first["example"].startswith("what was ")
    assert (first["template"], first["label_words"], first["scoring"]) == (
        TEMPLATE,
        ["bad", "good"],
        "sum",
    )


def test_the_printed_command_asks_the_same(classified, monkeypatch):
    page = html.unescape(classified.page.read_text("utf-8"))
    command = re.findall(r"<pre><code>(rightreasons audit.*?)</code>", page, re.S)[-1]
    assert f"--template '{TEMPLATE}'" in command
    given = {}
    monkeypatch.setattr(
        runner, "audit", lambda model, dataset, **options: given.update(options) or classified
    )
    import shlex

    with pytest.raises(SystemExit):
        main(shlex.split(command)[1:])
    assert given["template"] == TEMPLATE


def test_a_loaded_model_is_asked_as_its_folder_is(files, tmp_path):
    opened, figures = load_causal(files / "model"), []
    for n, model in enumerate((files / "model", (opened.model, opened.tokenizer))):
        how = {
            "questions": ["calibration"],
            "n_resamples": 20,
            "progress": False,
            "out": tmp_path / f"{n}",
        }
        figures.append(audit(model, files / "texts", **how)["calibration.ece"])
    assert figures[0] == figures[1]


def test_choices_by_letters(files, tmp_path):
    result = audit(
        files / "model", files / "items.jsonl", out=tmp_path, style="letters", n_resamples=30, progress=False,
        questions=["calibration", "probes"], raise_errors=True,
    )  # fmt: skip
    assert [outcome.status for outcome in result.outcomes] == ["answered"] * 2
    assert result["probes"].result.data["orders"]["n_choices"] == 2
    assert "\nA. it was wet\nB. sun\nAnswer:" in result.audit["model"]["prompt"]["example"]


def test_an_audit_of_answers_that_cannot_be_read_ends_after_twenty(files, tmp_path):
    prompt = Prompt(scoring="generated", max_new_tokens=6, pattern="neither")
    scorer = Prompted(prompt, LocalEngine(load_causal(files / "model")), ["bad", "good"])

    with pytest.raises(UnreadAnswersError, match="20 of the first 20"):
        audit(scorer, files / "texts", out=tmp_path / "report", progress=False)

    assert len(scorer.replies) == 20


def test_generated_answers_are_told_apart_from_none(files, tmp_path):
    prompt = Prompt(scoring="generated", max_new_tokens=6, pattern="bad|good")
    scorer = Prompted(prompt, LocalEngine(load_causal(files / "model")), ["bad", "good"])
    result = audit(
        scorer, files / "texts", out=tmp_path / "report", n_resamples=30, progress=False, limit=19,
        options={"behavior": {"suite": str(files / "two.jsonl")}},
    )  # fmt: skip
    split = result.audit["dataset"]["splits"][0]
    assert split["n_items"] + len(split["left_out"]) == 19
    assert 0 < len(split["left_out"]) < 19
    assert "generated answer has no confidence" in result["calibration"].reason
    assert "have no answer and match no label" in result["behavior"].result.data["labels"]
    page = html.unescape(result.page.read_text("utf-8"))
    assert re.search(r"\d+ cannot be read \(.*\) and count as incorrect", page)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--template", "{{ txt }}"), "but got 'txt'. Did you mean 'text'"),
        (("--chat", "on"), "where --chat"),
        (
            ("--shots", "99"),
            "99 few-shot examples",
        ),
        (("--label-words", "good,good"), "Expected distinct words in --label-words"),
        (
            ("--scoring", "next_words", "--label-words", "very bad,very good"),
            "both begin with 'very'",
        ),
        (("--timeout", "3"), "Expected no --timeout with"),
    ],
)
def test_mistakes_are_one_sentence(files, tmp_path, words, sentence, capsys):
    with pytest.raises(SystemExit) as stop:
        main(
            [
                "calibration",
                str(files / "model"),
                str(files / "texts"),
                *words,
                "--out",
                str(tmp_path / "report"),
            ]
        )
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert "Traceback" not in error


def test_suites_from_the_command_line(files, tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["behavior", str(files / "model"), str(files / "suite.jsonl"), "--label-words", "bad,so,good", "--out",
              str(tmp_path / "behavior"), "--n-resamples", "20"])  # fmt: skip
    assert stop.value.code in (0, None)
    assert "Pass rates:" in capsys.readouterr().out
    page = html.unescape((tmp_path / "behavior" / "index.html").read_text("utf-8"))
    top = page[page.index("The prompt</h2>") : page.index("The answers</h2>")]
    for told in ("The labels are called bad, so, good.", "{{ text }}", "\nAnswer:"):
        assert told in top
    rates = json.loads((tmp_path / "behavior" / "pass_rates.json").read_text("utf-8"))
    assert rates["prompt"]["label_words"] == ["bad", "so", "good"]
