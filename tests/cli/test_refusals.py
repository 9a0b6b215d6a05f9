"""Malformed tables through every command that takes data: a refusal ends in the `look` that explains it."""

import json
import re
import shlex

import pytest

from command_line import run
from fuzzing.targets.commands import commands
from tiny_models import save_tiny_classifier, save_tiny_multiple_choice, tiny_texts
from tiny_suites import behavior_suite

N = 12
TEXTS, NUMBERS = tiny_texts(N)
WORDS = [("negative", "positive")[number] for number in NUMBERS]


def csv(heading, cells):
    return "\n".join([heading, *(cells(i) for i in range(N))]) + "\n"


def jsonl(row):
    return "".join(json.dumps(row(i)) + "\n" for i in range(N))


def scored(
    label=lambda i: WORDS[i], first=lambda i: 0.4, heading="text,label,p_negative,p_positive"
):
    """Predictions with one thing amiss."""
    return csv(heading, lambda i: f'{TEXTS[i]},"{label(i)}",{first(i)},0.6')


TABLES = {
    "other_headings.csv": csv("Rezension,Etikett", lambda i: f"{TEXTS[i]},{WORDS[i]}"),
    "other_scores.csv": csv(
        "Rezension,Etikett,schlecht,gut", lambda i: f"{TEXTS[i]},{WORDS[i]},0.4,0.6"
    ),
    "no_label.csv": csv("text,date", lambda i: f"{TEXTS[i]},2020-01-{i + 1}"),
    "no_number.csv": scored(first=lambda i: "x" if i == 3 else 0.4),
    "not_a_number.csv": scored(first=lambda i: "nan" if i == 3 else 0.4),
    "sums.csv": scored(first=lambda i: 0.9),
    "percent.csv": csv(
        "text,label,p_negative,p_positive", lambda i: f"{TEXTS[i]},{WORDS[i]},40,60"
    ),
    "mixed.csv": scored(label=lambda i: 1 if i == 2 else WORDS[i]),
    "bare.csv": scored(label=lambda i: NUMBERS[i], heading="text,label,p_good,p_bad"),
    "range.csv": scored(label=lambda i: 7 if i == 5 else NUMBERS[i], heading="text,label,p_0,p_1"),
    "twice.csv": csv(
        "text,text,label,p_0,p_0,p_1", lambda i: f"{TEXTS[i]},b,{NUMBERS[i]},0.4,0.4,0.6"
    ),
    "several.csv": scored(label=lambda i: "0,1" if i % 3 else "0"),
    "unlabeled.csv": scored(label=lambda i: ""),
    "rating.csv": csv("text,label", lambda i: f"{TEXTS[i]},{0.37 * i + 0.11:.2f}"),
    "three.csv": csv("text,label", lambda i: f"{TEXTS[i]},{('red', 'green', 'blue')[i % 3]}"),
    "confident.csv": csv("question,answer,confidence", lambda i: f"{TEXTS[i]},{WORDS[i]},0.7"),
    "perhaps.csv": csv("text,confidence,correct", lambda i: f"{TEXTS[i]},0.5,perhaps"),
    "no_text.jsonl": jsonl(lambda i: {"text": None if i == 2 else TEXTS[i], "label": WORDS[i]}),
    "numbers.jsonl": jsonl(lambda i: {"text": i, "label": WORDS[i]}),
    "ninth.jsonl": jsonl(
        lambda i: {
            "prompt": f"rain {i}",
            "choices": ["wet", "dry"],
            "label": 9 if i == 4 else i % 2,
        }
    ),
    "damp.jsonl": jsonl(
        lambda i: {"prompt": f"rain {i}", "choices": ["wet", "dry"], "label": "damp"}
    ),
    "one.jsonl": jsonl(
        lambda i: {"prompt": f"rain {i}", "choices": ["wet", "dry"][: 1 + (i != 4)], "label": 0}
    ),
    "frage.jsonl": jsonl(
        lambda i: {"Frage": f"rain {i}", "Antworten": ["wet", "dry"], "richtig": 0}
    ),
}
"""Tables that can be shown, with something amiss for some commands or for all."""

NO_TABLES = {
    "ragged.csv": "text,label\na,b,c,d\nfine,positive\n",
    "empty.csv": "",
    "half.jsonl": '{"text": "a", "label": ',
    "words.json": "[1, 2, 3]",
    "headings.csv": "text,label\n",
}

COMMANDS = {
    "audit": "audit classifier {} --questions calibration --n-resamples 20",
    "behavior": "behavior suite.jsonl --predictions {}",
    "calibration": "calibration {}",
    "confidence": "confidence {}",
    "cues": "cues {}",
    "data export": "data export {} --reasons",
    "data gaps": "data gaps {} --original answers.csv --balanced answers.csv",
    "data mirror read": "data mirror read {} sheet.csv",
    "data mirror write": "data mirror write {}",
    "data ratings read": "data ratings read {} sheet.csv",
    "data ratings write": "data ratings write {}",
    "data split": "data split {}",
    "debias": "debias chooser {}",
    "difficulty": "difficulty classifier {}",
    "fine-tune": "fine-tune classifier {}",
    "judges": "judges {}",
    "probes": "probes chooser {}",
    "reasons": "reasons classifier {}",
    "recalibrate": "recalibrate {0} {0}",
    "shortcuts": "shortcuts classifier {}",
    "ways": "ways classifier {}",
}

PRINTED = ("confidence", "cues", "data gaps", "data ratings read", "judges")
"""Commands that write nothing."""

OF_THE_QUESTION = (
    "Expected a question that applies",
    "Expected a language model",
    "Expected one prediction for each of the",
    "Expected one line for each of the",
    "Expected each item once per source",
    "Expected 1 choices of other items to borrow",
)
"""How the refusals begin that are about a question, a model or a suite rather than a table."""


def test_every_command_that_takes_a_table_is_among_these():
    taking = {
        " ".join(path)
        for path, parameters in commands().items()
        if {"dataset", "file", "files"}
        & {each.name for each in parameters if each.param_type_name == "argument"}
    }
    assert taking - {"data issues", "look", "suite convert"} == COMMANDS.keys() - {"behavior"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("refusals")
    save_tiny_classifier(folder / "classifier")
    save_tiny_multiple_choice(folder / "chooser")
    behavior_suite().write(folder / "suite.jsonl")
    for name, content in {**TABLES, **NO_TABLES}.items():
        (folder / name).write_text(content, "utf-8")
    (folder / "answers.csv").write_text("prediction\n" + "0\n" * N, "utf-8")
    (folder / "sheet.csv").write_text("number,answer\n1,A\n", "utf-8")
    return folder


def refusals(capsys, command, tables, out):
    """The sentences of a command about tables that it refuses, each with the table."""
    for name in tables:
        place = out / (f"{name}.csv" if command == "recalibrate" else name.replace(".", "_"))
        where = () if command in PRINTED else ("--out", place)
        code, _, told = run(capsys, *COMMANDS[command].format(name).split(), *where)
        assert code in (0, 2), (name, told)
        sentence = next((line for line in told.splitlines() if line.startswith("Error: ")), "")
        assert bool(sentence) == (code == 2), (name, told)
        if sentence and not sentence.removeprefix("Error: ").startswith(OF_THE_QUESTION):
            yield name, sentence


@pytest.mark.parametrize("command", COMMANDS)
def test_a_refused_table_is_explained_by_the_look_that_ends_the_sentence(
    capsys, folder, tmp_path, monkeypatch, command
):
    monkeypatch.chdir(folder)
    refused = dict(refusals(capsys, command, TABLES, tmp_path))
    assert len(refused) > 1 or command in ("reasons", "ways")
    for name, sentence in refused.items():
        ending = re.search(
            r" `rightreasons (look \S+)` shows how the file would be read\.$", sentence
        )
        assert ending, sentence
        code, shown, told = run(capsys, *shlex.split(ending[1]), "--out", tmp_path / "data.yaml")
        # What no command can read is an error of look, too, after the columns and items.
        assert code == (2 if told else 0), (name, told)
        assert told.startswith("Error: ") == bool(told)
        heading, *_ = folder.joinpath(name).read_text("utf-8").splitlines()
        columns = json.loads(heading) if name.endswith("l") else heading.split(",")
        assert all(column in shown for column in columns), shown
        assert "Item 1: " in shown
        (tmp_path / "data.yaml").unlink(missing_ok=True)


@pytest.mark.parametrize("command", ["calibration", "fine-tune"])
def test_of_what_is_no_table_a_command_and_look_say_the_same(
    capsys, folder, tmp_path, monkeypatch, command
):
    monkeypatch.chdir(folder)
    refused = dict(refusals(capsys, command, NO_TABLES, tmp_path))
    assert refused.keys() == NO_TABLES.keys()
    for name, sentence in refused.items():
        code, _, told = run(capsys, "look", name, "--out", tmp_path / "data.yaml")
        assert code == 2
        same = sentence.split(" `rightreasons look ")[0]
        assert re.sub("`|--", "", told.strip()) == re.sub("`|--", "", same)
