"""`rightreasons doctor`: what is there, what is missing, and no waiting for a hub that does not answer."""

import socket

from huggingface_hub import constants

from command_line import run
from rightreasons.cli import reports as installation


def test_a_hub_that_does_not_answer_is_told(capsys, monkeypatch):
    def refused(*_, **__):
        raise TimeoutError("timed out")

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(socket, "create_connection", refused)
    code, out, _ = run(capsys, "doctor")
    assert code == 0
    assert "cannot be reached (timed out): local models and data alone" in out


def test_what_is_missing_says_how_to_install_it(capsys, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    version = installation.installed_version
    monkeypatch.setattr(installation, "installed_version", lambda name: None if name == "gradio" else version(name))
    lines = run(capsys, "doctor").out.splitlines()
    told = {line[4:18].strip(): (line[:4].strip(), line[18:]) for line in lines}
    assert told["[spaces]"] == ("--", "missing gradio: pip install 'rightreasons[spaces]'")
    assert told["[models]"] == ("ok", "installed")
    assert told["hub"][0] == "--"
    assert "dev" not in "".join(told)
