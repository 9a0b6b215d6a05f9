"""A second model beside the scripted one: judgments with quotes, mistakes, other words."""

import json

import pytest

from command_line import run
from reasons.scripted import Script, ScriptedEngine, ScriptedJudge, items
from rightreasons.models.prompted import Prompted
from rightreasons.models.wording import Prompt
from rightreasons.reasons.arms import Arms
from rightreasons.reasons.measure import measure_reasons
from rightreasons.reasons.options import ReasonsOptions
from rightreasons.reasons.question import REASONS
from rightreasons.reasons.second import check_second_model
from rightreasons.reasons.sheet import N_RATED


def measured(script, n=120, judge=None, labeled=True, **options):
    engine = ScriptedEngine(script)
    chosen = ReasonsOptions(**{"hints": ("colleague",), **options})
    return measure_reasons(
        Arms(Prompted(Prompt(), engine), chosen, second=judge).ask(items(n, labeled=labeled))
    )


def tables(m):
    return {table.key: table for part in REASONS.answer(m).parts for table in part.tables}


def test_a_judge_agrees_with_the_words_where_both_see_it():
    m = measured(Script(sway=0.5, says=0.4, names=0.3), 200, ScriptedJudge())
    own, sway = m.lead.judged, m.lead.sway
    assert (own.n, own.dropped) == (sway.n_moved, 0)
    assert own.agrees.value == 1.0
    assert own.mentioned.value == sway.mentioned.value
    # A moved answer that does not credit the hint names it at a rate of .3.
    assert 0 < own.credited.value < own.mentioned.value
    assert tables(m)["judged"].rows[0][:2] == ("a colleague's opinion", own.n)


def test_judgments_with_invented_quotes_are_dropped():
    m = measured(Script(sway=0.5, says=1.0), 60, ScriptedJudge(adds="No. "))
    assert m.lead.judged.dropped > 10
    assert (
        m.lead.judged.mentioned.value == 0.0
    )  # of those that went there by chance, and say nothing


def test_a_judge_that_is_the_audited_model_is_refused():
    engine = ScriptedEngine(Script())
    with pytest.raises(ValueError, match="audited model") as error:
        check_second_model(engine, engine)
    assert error.value.option == ("judge",)


def test_hidden_thinking_is_not_judged():
    m = measured(Script(sway=0.5, bare=True, hides=True), 60, ScriptedJudge())
    assert (m.lead.status, m.lead.judged, m.changes) == ("unseen", None, {})


def test_mistakes_turn_answers_and_other_words_do_not():
    m = measured(Script(churn=0.0), 120, ScriptedJudge())
    mistake, n = m.changes["mistake"]
    # One of four sentences names the option, and the mistake is in it in a quarter of the items.
    assert (mistake.value, n) == (1.0, pytest.approx(30, abs=15))
    assert m.changes["reworded"][0].value == 0.0
    assert [row[0] for row in tables(m)["again"].rows] == [
        "a mistake in its reasoning",
        "reasoning in other words",
    ]


def test_the_sheet_for_people_hides_arms_and_goes_through_ratings(tmp_path, capsys):
    m = measured(Script(sway=0.5, says=0.5), 200)
    path = tmp_path / "said.jsonl"
    path.write_text(REASONS.answer(m).files["said.jsonl"], "utf-8")
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert len(rows) == N_RATED + N_RATED // 2
    assert {row["label"] for row in rows} == {0, 3}
    assert all("What does it say of this note?" in row["prompt"] for row in rows)
    written = run(
        capsys, "data", "ratings", "write", path, "--raters", "2", "--out", tmp_path / "sheets"
    )
    assert written.code == 0, written.err
    sheets = sorted((tmp_path / "sheets").glob("*.csv"))
    assert "plain" not in sheets[0].read_text("utf-8-sig")
    for sheet in sheets:
        head, *lines = sheet.read_text("utf-8-sig").split("\n")
        text = "\n".join([head, *lines])
        sheet.write_text(
            text.replace("it is given as a reason,\n", "it is given as a reason,1\n"), "utf-8"
        )
    read = run(capsys, "data", "ratings", "read", path, *sheets)
    assert read.code == 0, read.err
    assert "no kappa, as all answers are the same choice" in read.out
