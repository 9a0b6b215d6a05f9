"""The demo of `make audit`, with a tiny encoder in place of the packaged one."""

from rightreasons.report.runner import Demo, audit_demo

PLANTED = {"train_size": 400, "validation_size": 120, "test_size": 150}
TRAINING = {"epochs": 4, "learning_rate": 5e-3, "max_length": 48}


def test_the_demo_trains_audits_and_goes_on(planted_encoder, tmp_path):
    said = []
    options = {
        "model_dir": tmp_path / "model",
        "demo": Demo(PLANTED, TRAINING, planted_encoder),
        "progress": False,
        "questions": ["calibration"],
        "n_resamples": 20,
    }
    result = audit_demo(tmp_path / "report", say=said.append, **options)
    assert [split["name"] for split in result.audit["dataset"]["splits"]] == [
        "test",
        "test_absent",
        "test_flipped",
        "validation",
    ]
    assert result.audit["dataset"]["name"] == "planted_shortcuts"
    splits = result["calibration"].result.data["splits"]
    assert splits["test"]["accuracy"]["value"] > splits["test_flipped"]["accuracy"]["value"] + 0.5
    assert "rightreasons demo" in result.page.read_text("utf-8")
    assert len(said) == 3
    weights = tmp_path / "model" / "model.safetensors"
    before = weights.stat().st_mtime_ns
    again = audit_demo(tmp_path / "report", **options)
    assert weights.stat().st_mtime_ns == before
    assert again["calibration"].result.data == result["calibration"].result.data
    other = audit_demo(tmp_path / "other", seed=1, **options)
    assert (tmp_path / "model-1" / "model.safetensors").is_file()
    assert other.audit["model"]["fingerprint"] != result.audit["model"]["fingerprint"]
