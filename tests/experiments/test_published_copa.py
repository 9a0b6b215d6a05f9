"""The command that prints every published number of Balanced COPA finds each of them."""

import subprocess
import sys

import pytest


@pytest.mark.real_data
def test_every_number_is_the_published_one(real_data, root, tmp_path):
    done = subprocess.run(
        [
            sys.executable,
            root / "experiments" / "balanced_copa" / "published.py",
            "--data-dir",
            real_data,
        ],
        capture_output=True,
        text=True,
        check=False,
        env={"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "DIFFERENT" not in done.stdout
    for number in (
        "(76.5, 2.7), (83.9, 4.4), (71.9, 2.5)",
        "(87.7, 0.9), (91.6, 1.1), (85.3, 2.0)",
        "(190, 310)",
    ):
        assert done.stdout.count(number) >= 2
