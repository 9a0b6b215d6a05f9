"""Commands that a report advises ask as the audit asked, and are commands that the command line knows."""

import ast
import re
from types import SimpleNamespace

import pytest

from command_line import run
from rightreasons.page.advice import ask
from rightreasons.page.parts import Column
from rightreasons.page.prose import Prose
from rightreasons.shortcuts.options import ShortcutsOptions


def test_an_advised_command_asks_as_the_audit_did():
    audited = SimpleNamespace(
        command="rightreasons audit my-model 'my reviews.csv' --text-column review --limit 64",
        model_name="my-model",
        dataset_name="my reviews.csv",
    )
    command = "rightreasons audit my-model 'my reviews.csv' --text-column review"
    assert ask(audited, "shortcuts", words="a,b") == (
        f"{command} --limit 64 --questions shortcuts --shortcuts-words a,b"
    )
    assert ask(audited, "difficulty", all_items=True, items="1000") == (
        f"{command} --questions difficulty --difficulty-items 1000"
    )


def test_an_audit_of_objects_is_asked_again_in_python():
    audited = SimpleNamespace(command="", stored=None)
    assert ask(audited, "cues") == "rightreasons.audit(model, data, questions=['cues'])"
    more = ask(audited, "shortcuts", all_items=True, not_reasons="copper,marble", items="200")
    options = ast.literal_eval(more[more.index("options=") + 8 : -1])["shortcuts"]
    assert options == {"not_reasons": ["copper", "marble"], "items": 200}
    assert ShortcutsOptions(**options).not_reasons == ("copper", "marble")
    assert ask(SimpleNamespace(command="", stored=audited), "cues").startswith(
        "rightreasons.audit(predictions=table,"
    )


@pytest.mark.parametrize("flag", ["--shortcuts-words", "--difficulty-items", "--questions"])
def test_the_options_of_advised_commands_are_known(capsys, flag):
    _, out, _ = run(capsys, "audit", "--help-all")
    assert flag in re.sub(r"\s+", " ", out)


def test_the_columns_of_a_table_are_its_items(tmp_path):
    path = tmp_path / "question.md.j2"
    path.write_text(
        """
## table.rates: Rates
A note — with a dash.

- name (text): Model
- rate (share): Rate (of {{ m.unit }}) [{{ level }}] — Hits: right answers —
  over all.
{% for name in m.models %}
- model_{{ loop.index }}: {{ name }}
{% endfor %}
""",
        "utf-8",
    )
    say = Prose(path).of(
        m=SimpleNamespace(unit="items", models=["a — b", "c: d", "- e"]), level="95%"
    )
    assert say("table.rates") == "A note — with a dash."
    assert tuple(say.columns("table.rates")) == (
        Column("name", "Model", "text"),
        Column("rate", "Rate (of items) [95%]", "share", "Hits: right answers — over all."),
        Column("model_1", "a — b"),
        Column("model_2", "c: d"),
        Column("model_3", "- e"),
    )
