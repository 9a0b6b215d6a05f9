"""`rightreasons doctor`: what is there, and what is missing."""

from command_line import run
from rightreasons.cli import reports as installation
from rightreasons.core.extras import make_install_command


def test_what_is_missing_says_how_to_install_it(capsys, monkeypatch):
    version = installation.get_installed_version
    monkeypatch.setattr(
        installation,
        "get_installed_version",
        lambda name: None if name == "gradio" else version(name),
    )
    lines = run(capsys, "doctor").out.splitlines()
    told = {line[4:18].strip(): (line[:4].strip(), line[18:].strip()) for line in lines}
    assert told["[spaces]"] == (
        "--",
        f"missing gradio: {make_install_command('spaces')}",
    )
    assert told["[models]"] == ("ok", "installed")
    assert "dev" not in "".join(told)
