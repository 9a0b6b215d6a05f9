"""The declared form of audit.json: what fits, what does not, and that it is documented."""

import copy
import json
import re

import pytest

from rightreasons.report.schema import (
    audit_schema,
    check_audit,
    get_names,
    read_audit,
)


def named_fields(schema):
    """Every field that the schema names, at any depth."""
    for name, inner in schema.get("properties", {}).items():
        yield name
        yield from named_fields(inner)
    if isinstance(schema.get("items"), dict):
        yield from named_fields(schema["items"])
    for inner in schema.get("$defs", {}).values():
        yield from named_fields(inner)


def test_every_field_is_documented(root):
    text = (root / "docs" / "audit_schema.md").read_text("utf-8")
    documented = set(re.findall(r"`(\w+)`", text))
    assert set(named_fields(audit_schema())) <= documented


def test_audits_of_earlier_versions_open(root):
    # The app keeps audits that were made before some fields were added.
    files = sorted((root / "spaces" / "leaderboard" / "bundled").glob("*.audit.json"))

    assert files
    for file in files:
        assert read_audit(file)["model"]


def test_every_object_of_the_schema_refuses_what_it_does_not_name():
    for name, schema in audit_schema()["$defs"].items():
        assert schema["additionalProperties"] is False, name
        optional = {
            field
            for field, its in schema["properties"].items()
            if its.get("default", "none") in (None, False)
        }
        assert set(schema["required"]) == set(schema["properties"]) - optional, name


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (
            ("schema_version",),
            "one",
            r"pattern '\^1",
        ),
        (
            ("model", "n_parameters"),
            "many",
            r"`model\.n_parameters` does",
        ),
        (("model", "n_parameters"), True, "valid integer"),
        (
            ("dataset", "splits", 0, "role"),
            "third",
            r"`dataset\.splits\.0\.role` does",
        ),
        (
            ("questions", 0, "result", "verdict", "tone"),
            "great",
            r"`questions\.0\.result\.verdict\.tone`",
        ),
        (
            ("questions", 0, "extra"),
            1,
            r"`questions\.0\.extra` does",
        ),
        (
            ("questions", 0, "result", "finding", "pair"),
            [None] * 3,
            r"`questions\.0\.result\.finding\.pair`",
        ),
        (("questions",), {}, r"`questions` does not: \{\}"),
    ],
)
def test_what_does_not_fit_is_named(report, path, value, message):
    audit = copy.deepcopy(report.to_dict())
    check_audit(audit)
    place = audit
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(ValueError, match=message):
        check_audit(audit)


def test_a_missing_field_is_named(report):
    audit = copy.deepcopy(report.to_dict())
    del audit["questions"][0]["result"]["parts"][0]["title"]
    with pytest.raises(ValueError, match="field required"):
        check_audit(audit)


def test_reading_back(report, tmp_path):
    assert read_audit(report.out / "audit.json") == read_audit(str(report.out))
    with pytest.raises(FileNotFoundError, match="report with audit.json"):
        read_audit(tmp_path)
    file = tmp_path / "audit.json"
    file.write_text("{")
    with pytest.raises(ValueError, match="to be an audit in JSON, but it cannot be read"):
        read_audit(tmp_path)
    file.write_text(json.dumps({**report.to_dict(), "created": float("nan")}))
    with pytest.raises(ValueError, match="NaN is not a JSON number"):
        read_audit(tmp_path)
    file.write_text(json.dumps({**report.to_dict(), "schema_version": "2.0"}))
    with pytest.raises(ValueError, match=r"version 1\.0"):
        read_audit(tmp_path)
    file.write_text(json.dumps([1]))
    with pytest.raises(ValueError, match=r"`` does not: \[1\]"):
        read_audit(tmp_path)


@pytest.mark.parametrize(
    ("model", "data", "logged", "names"),
    [
        ("org/model", "org/data", None, ("org/model", "org/data")),
        ("/runs/tone", "/data/films.csv", None, ("tone", "films.csv")),
        # A log names the model and the task, whatever its file is called.
        ("logs/s.jsonl", "logs/s.jsonl", ["org/model", "piqa"], ("org/model", "piqa")),
        ("logs/s.jsonl", "logs/s.jsonl", ["org/model", ""], ("org/model", "s")),
        ("answers.csv", "answers.csv", None, ("answers", "answers")),
        # Stored predictions of a file of items.
        ("answers.csv", "/data/films.csv", ["org/model", ""], ("org/model", "films.csv")),
    ],
)
def test_names_of_a_log_precede_those_of_its_file(model, data, logged, names):
    audit = {"model": {"name": model, "logged": logged}, "dataset": {"name": data}}

    assert get_names(audit) == names


def test_names_have_no_folder_of_a_logged_model():
    audit = {
        "model": {"name": "s.jsonl", "logged": ["/models/tone", "piqa"]},
        "dataset": {"name": "s.jsonl"},
    }

    assert get_names(audit) == ("tone", "piqa")
