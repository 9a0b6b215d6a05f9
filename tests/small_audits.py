"""A report of hand-made figures, without a model: its audit.json, as the schema has it."""

import json

from rightreasons.core.estimates import Estimate
from rightreasons.io.options import AuditOptions, StoredOptions
from rightreasons.page.parts import Headline, Part, SectionResult, Verdict
from rightreasons.report.outcomes import Outcome
from rightreasons.report.schema import AUDIT_FILE, SCHEMA_VERSION, check_audit


def figure(key, value, low=None, high=None, *, split="test", n=150, **more):
    """A headline of one figure."""
    reason = "" if low is not None else "It has none."
    estimate = Estimate(value, low, high, method="by hand")
    return Headline(
        key, more.pop("name", key.replace("_", " ")), estimate, "Counted by hand.", "Counted", split=split, n=n,
        no_interval=reason, **more,
    )  # fmt: skip


def small_outcomes():
    """Three questions: one answered well, one badly, one that does not apply."""
    accuracy, ece = (
        figure("accuracy", 0.9, 0.84, 0.94),
        figure("ece", 0.06, 0.02, 0.1, better="lower"),
    )
    rate = figure("deciding_share", 0.25, 0.125, 0.4, n=40)
    calibration = SectionResult(
        Verdict("good", "Calibrated within 5 points", "It is right as often as it says."),
        (accuracy, ece),
        (
            Part(
                "Figures",
                headlines=(accuracy, figure("nll", 0.3, unit="nats"), figure("auroc", None)),
            ),
        ),
        data={
            "figures": {"brier": figure("brier", 0.2, 0.1, 0.3).to_dict()},
            "splits": {
                "test": {"accuracy": Estimate(0.9, 0.84, 0.94).to_dict()},
                "test odd": {"accuracy": Estimate(0.5, 0.42, 0.58).to_dict()},
            },
        },
    )
    shortcuts = SectionResult(
        Verdict("bad", "Follows | single words", "One word decides."),
        (rate, figure("shortcut_rate", 0.75, 0.6, 0.8)),
        (),
    )
    return (
        Outcome("calibration", "Is it calibrated?", "answered", "", calibration),
        Outcome("shortcuts", "Does it rely on shortcuts?", "answered", "", shortcuts),
        Outcome("behavior", "Does it behave?", "skipped", "No behavioral suite was named."),
    )


def small_audit(folder, *, name="org/model", dataset="reviews", outcomes=None):
    """Write an audit.json into a folder, and return the folder."""
    split = {"name": "test", "role": "primary", "n_items": 150, "n_available": 150, "n_truncated": 0,
             "fingerprint": "f" * 32, "predictions": None, "left_out": []}  # fmt: skip
    audit = {
        "schema_version": SCHEMA_VERSION,
        "rightreasons": "0.0",
        "created": "2030-01-02T03:04:05+00:00",
        "model": {"name": name, "task": "classification", "label_names": ["no", "yes"], "fingerprint": "m" * 32,
                  "n_parameters": 7, "batching": None, "prompt": None, "server": None},
        "dataset": {"name": dataset, "label_names": ["no", "yes"], "label_mapping": "by name",
                    "label_classes": {"no": "no", "yes": "yes"}, "primary": "test", "splits": [split]},
        "settings": {**AuditOptions().to_dict(), **StoredOptions().to_dict(),
                     "prompt": {}, "server": {}, "questions": [], "options": {}},
        "environment": {"python": "3"},
        "questions": [outcome.to_dict() for outcome in (outcomes or small_outcomes())],
    }  # fmt: skip
    check_audit(audit)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / AUDIT_FILE).write_text(json.dumps(audit), "utf-8")
    return folder
