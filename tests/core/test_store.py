"""The version of the code: of every file of the package, and of the libraries that compute."""

import shutil
from importlib.metadata import PackageNotFoundError
from pathlib import Path

from rightreasons.core import store as code_version
from rightreasons.core.store import digest_value


def test_a_change_of_a_file_or_of_a_library_counts(tmp_path, monkeypatch):
    now = code_version.digest_package_code.__wrapped__
    assert now() == now()
    monkeypatch.setattr(code_version, "__file__", str(tmp_path / "foundations" / "code_version.py"))
    (tmp_path / "foundations").mkdir()
    shutil.copy(Path(__file__), tmp_path / "foundations" / "one.py")
    digests = [now()]
    (tmp_path / "foundations" / "one.py").write_text("x = 1")
    digests.append(now())
    monkeypatch.setattr(code_version, "version", lambda name: "another")
    digests.append(now())

    def absent(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(code_version, "version", absent)
    digests.append(now())
    assert len(set(digests)) == 4


def test_the_digest_of_a_value_does_not_depend_on_the_order_of_its_keys():
    value = {"model": "m", "options": {"n_bins": 15, "seed": 0}}
    turned = {"options": {"seed": 0, "n_bins": 15}, "model": "m"}
    assert list(value) != list(turned)
    assert digest_value(value) == digest_value(turned)
    assert digest_value(value) != digest_value({**value, "model": "n"})
