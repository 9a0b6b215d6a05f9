"""A second model judges the scripted one: judgments with quotes, mistakes, other words."""

import json

import pytest

from command_line import run
from reasons.scripted import Script, ScriptedEngine, ScriptedJudge, make_items
from rightreasons.models.prompted import Prompted
from rightreasons.models.wording import Prompt
from rightreasons.reasons.arms import Arms
from rightreasons.reasons.measure import measure_reasons
from rightreasons.reasons.options import ReasonsOptions
from rightreasons.reasons.question import REASONS
from rightreasons.reasons.second import check_second_model
from rightreasons.reasons.sheet import N_RATED


def measure(script, n=120, judge=None, is_labeled=True, **options):
    prompted = Prompted(Prompt(), ScriptedEngine(script))
    reasons_options = ReasonsOptions(**{"hints": ("colleague",), **options})
    arms = Arms(prompted, reasons_options, second=judge)
    return measure_reasons(arms.ask(make_items(n, is_labeled=is_labeled)))


def get_rows(measurement, key):
    """Return the rows of the table with this key in the report."""
    tables = []
    for part in REASONS.answer(measurement).parts:
        tables += part.tables
    rows_by_key = {table.key: table.rows for table in tables}
    return rows_by_key[key]


def test_a_judge_agrees_with_the_words_if_both_detect_mentions():
    measurement = measure(Script(sway=0.5, says=0.4, names=0.3), 200, ScriptedJudge())
    judged = measurement.lead.judged
    sway = measurement.lead.sway

    assert judged.n == sway.n_moved
    assert judged.dropped == 0
    assert judged.agrees.value == 1.0
    assert judged.mentioned.value == sway.mentioned.value
    # A moved answer that does not credit the hint names it at a rate of 0.3.
    assert 0 < judged.credited.value < judged.mentioned.value
    assert get_rows(measurement, "judged")[0][:2] == ("a colleague's opinion", judged.n)


def test_judgments_with_invented_quotes_are_dropped():
    measurement = measure(Script(sway=0.5, says=1.0), 60, ScriptedJudge(quote_prefix="No. "))

    assert measurement.lead.judged.dropped > 10
    # The remaining answers are at the hint by chance, and do not mention it.
    assert measurement.lead.judged.mentioned.value == 0.0


def test_a_judge_that_is_the_audited_model_is_refused():
    engine = ScriptedEngine(Script())

    with pytest.raises(ValueError, match="audited model") as error:
        check_second_model(engine, engine)

    assert error.value.option == ("judge",)


def test_hidden_thinking_is_not_judged():
    script = Script(sway=0.5, is_bare=True, hides_thinking=True)

    measurement = measure(script, 60, ScriptedJudge())

    assert measurement.lead.status == "unseen"
    assert measurement.lead.judged is None
    assert measurement.changes == {}


def test_mistakes_change_answers_and_other_words_do_not():
    measurement = measure(Script(churn=0.0), 120, ScriptedJudge())
    mistake, n_items = measurement.changes["mistake"]
    reworded, _ = measurement.changes["reworded"]

    # One of four sentences names the option, and the mistake is in it in a quarter of the items.
    assert mistake.value == 1.0
    assert n_items == pytest.approx(30, abs=15)
    assert reworded.value == 0.0
    assert [row[0] for row in get_rows(measurement, "again")] == [
        "a mistake in its reasoning",
        "reasoning in other words",
    ]


def rate_all_as_a_reason(sheet):
    """Mark the choice that a hint is given as a reason in each question of a sheet."""
    text = sheet.read_text("utf-8-sig")
    choice = "it is given as a reason,"
    sheet.write_text(text.replace(f"{choice}\n", f"{choice}1\n"), "utf-8")


def test_the_sheet_for_raters_hides_the_arms_and_can_be_rated(tmp_path, capsys):
    measurement = measure(Script(sway=0.5, says=0.5), 200)
    path = tmp_path / "said.jsonl"
    path.write_text(REASONS.answer(measurement).files["said.jsonl"], "utf-8")
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]

    assert len(rows) == N_RATED + N_RATED // 2
    assert {row["label"] for row in rows} == {0, 3}
    assert all("What does it say of this note?" in row["prompt"] for row in rows)

    folder = tmp_path / "sheets"
    finished = run(capsys, "data", "ratings", "write", path, "--raters", "2", "--out", folder)
    assert finished.code == 0, finished.err
    sheets = sorted(folder.glob("*.csv"))
    assert "plain" not in sheets[0].read_text("utf-8-sig")

    for sheet in sheets:
        rate_all_as_a_reason(sheet)
    finished = run(capsys, "data", "ratings", "read", path, *sheets)
    assert finished.code == 0, finished.err
    assert "no kappa, as all answers are the same choice" in finished.out
