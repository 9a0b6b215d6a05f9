"""Reversed questions and words put in, of a scripted model of known truth."""

import json

import pytest

from command_line import run
from fake_server import serving
from reasons.scripted import Script, ScriptedEngine, behind
from rightreasons.models.prompted import Prompted
from rightreasons.models.prompts import Item
from rightreasons.models.wording import Prompt
from rightreasons.reasons import reversed_pairs, words_put_in
from rightreasons.reasons.arms import WORD, Arms
from rightreasons.reasons.measure import measure_reasons, read_traces
from rightreasons.reasons.options import ReasonsOptions
from rightreasons.reasons.question import REASONS


def measured(script, items, groups=None, **options):
    chosen = ReasonsOptions(hints=("colleague",), early=False, transplant=False, **options)
    asked = Arms(Prompted(Prompt(), ScriptedEngine(script)), chosen).ask(items, groups)
    return measure_reasons(asked, reverses=chosen.reversed)


def soup(n):
    things = ["a pot", "a hat", "a cup", "a boat"]
    return [Item(f"q{i}", {"prompt": f"Number {i}: where is the soup kept?", "choices": things}, 0) for i in range(n)]


def larger(n):
    """Make n pairs: is i larger than i + 1, and the reverse?"""
    asked = [(i, first, second) for i in range(n) for first, second in ((i, i + 1), (i + 1, i))]
    return [
        Item(f"{a} {b}", {"prompt": f"Number {i}: is {a} larger than {b}?", "choices": ["Yes", "No"]}, int(a < b))
        for i, a, b in asked
    ], [f"pair {i}" for i, _, _ in asked]


@pytest.mark.parametrize("leans", [0.0, 0.5])
def test_a_lean_is_told_from_errors(leans):
    # Either answer is drawn by the question: yes of both in ((1 + leans) / 2)^2, no of both in ((1 - leans) / 2)^2
    pairs = measured(Script(sway=0.0, churn=0.0, leans=leans), *larger(300), reversed=True).pairs
    yes, no = ((1 + leans) / 2) ** 2, ((1 - leans) / 2) ** 2
    assert pairs.lean.value == pytest.approx(yes - no, abs=0.1)
    assert pairs.same.value == pytest.approx(yes + no, abs=0.08)
    assert (pairs.lean.p_value < 1e-6) == (leans > 0)
    # errors of the question that is truly no, which is answered yes, and of the other
    wrong, other = (1 + leans) / 2, (1 - leans) / 2
    assert pairs.by_chance == pytest.approx(wrong * (1 - other) + other * (1 - wrong), abs=0.08)


def test_pairs_with_an_unread_answer_widen_the_interval():
    whole = reversed_pairs([0, 0, 1, 1] * 10, [0, 0, 1, 0] * 10)
    cut = reversed_pairs([0, -1, 1, -1] * 10, [0, 0, 1, 0] * 10)
    assert (whole.lean.value, cut.lean.value) == (0.25, 0.0)
    assert cut.lean.estimate.high > whole.lean.estimate.high - 0.05
    assert (cut.by_chance, cut.n_pairs, cut.same.value) == (None, 40, 1.0)


def test_groups_that_are_no_pairs_are_refused():
    made, groups = larger(20)
    with pytest.raises(ValueError, match="Expected groups of two items with two options .* but 'pair 0' has 1 item"):
        measured(Script(), made[1:], groups[1:], reversed=True)


def test_a_word_that_turns_answers_is_told_or_not():
    m = measured(Script(sway=0.0, churn=0.0, turns=0.4, tells=0.5), soup(400), words=True)
    assert m.words.changed.value == pytest.approx(0.4, abs=0.08)
    assert m.words.unfaithful.value == pytest.approx(0.5, abs=0.12)
    assert m.words.phi.p_value < 1e-6
    assert "Of the answers that differ" in str(REASONS.answer(m).to_dict())
    echo = measured(Script(sway=0.0, churn=0.0, turns=0.4, echoes=0.9), soup(400), words=True).words
    assert echo.unfaithful.value == pytest.approx(0.1, abs=0.06)  # hardly "unfaithful", and yet it says nothing
    assert echo.phi.p_value > 0.01
    noise = measured(Script(sway=0.0, churn=0.4), soup(400), words=True).words
    assert noise.changed.p_value > 0.01  # 0.3 of the answers differ, as beside the neutral sentence
    assert noise.unfaithful.value == 1.0
    assert words_put_in([0, 0], [0, 0], [0, 0], [1, 0]).unfaithful is None  # no change is no faithfulness


def test_words_are_nothing_where_none_fits_or_nothing_is_seen():
    assert measured(Script(), larger(30)[0], words=True).words is None
    m = measured(Script(turns=0.5, bare=True), soup(60), words=True)
    assert (m.words.unfaithful, m.words.phi) == (None, None)


def test_both_by_the_command_are_planned_sent_and_kept(tmp_path, capsys):
    made, groups = larger(24)
    rows = [
        {"id": item.id, **item.fields, "label": item.label, "pair": group}
        for item, group in zip(made, groups, strict=True)
    ]
    for row in rows:
        row["prompt"] = f"{row['prompt']} Where is the soup?"
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    with serving() as fake:
        behind(fake, Script(sway=1.0, leans=0.5, churn=0.0))
        flags = ["--hints", "colleague", "--no-early", "--no-transplant", "--words", "--reversed"]
        flags += ["--groups-column", "pair", "--out", tmp_path / "report"]
        plan = run(capsys, "reasons", fake.url, path, *flags, "--plan")
        (line,) = [line for line in plan.err.splitlines() if line.startswith("reasons ")]
        assert line.split()[1] == f"{48 * 5}"
        done = run(capsys, "reasons", fake.url, path, *flags)
        assert done.code == 0, done.err
        page = (tmp_path / "report" / "index.html").read_text("utf-8")
        assert "Of 24 pairs of reversed questions" in page
        assert "An adjective was put into 48 questions." in page
    lines = (tmp_path / "report" / "reasons.jsonl").read_text("utf-8").splitlines()
    again = measure_reasons(read_traces(map(json.loads, lines)), reverses=True)
    assert sum(trace.arm == WORD for trace in again.asked.traces) == 48
    record = json.loads((tmp_path / "report" / "audit.json").read_text("utf-8"))["questions"][0]["result"]["data"]
    assert (record["words"], record["reversed"]) == (again.words.to_dict(), again.pairs.to_dict())
