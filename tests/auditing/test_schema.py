"""The declared form of audit.json: what fits, what does not, and that it is documented."""

import copy
import json
import re

import pytest

from rightreasons.auditing.schema import audit_schema, check_audit, read_audit


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


def test_every_object_of_the_schema_refuses_what_it_does_not_name():
    for name, schema in audit_schema()["$defs"].items():
        assert schema["additionalProperties"] is False, name
        assert set(schema["required"]) == set(schema["properties"]), name


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("schema_version",), "one", r"`schema_version` in the audit to fit its schema, but 'one' does not match '\^1"),
        (("model", "n_parameters"), "many", r"`model\.n_parameters` .* 'many' is not of type 'integer', 'null'\.$"),
        (("model", "n_parameters"), True, "but True is not of type 'integer'"),
        (("settings", "confidence_level"), 2, r"`settings\.confidence_level` .* 2 is greater than the maximum of 1"),
        (("settings", "limit"), 0, r"`settings\.limit` .* 0 is less than the minimum of 1"),
        (("dataset", "splits", 0, "role"), "third", r"`dataset\.splits\[0\]\.role` .* 'third' is not one of"),
        (("questions", 0, "result", "verdict", "tone"), "great", r"`questions\[0\]\.result\.verdict\.tone`"),
        (("questions", 0, "result", "headlines", 0, "estimate", "value"), "high", "'high' is not of type 'number'"),
        (("questions", 0, "extra"), 1, r"`questions\[0\]` .* \('extra' was unexpected\)"),
        (("questions",), {}, r"`questions` in the audit to fit its schema, but \{\} is not of type 'array'"),
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
    with pytest.raises(
        ValueError, match=r"Expected `questions\[0\]\.result\.parts\[0\]` .* 'title' is a required property"
    ):
        check_audit(audit)


def test_reading_back(report, tmp_path):
    assert read_audit(report.out / "audit.json") == read_audit(str(report.out))
    with pytest.raises(FileNotFoundError, match="the folder of a report with audit.json in it, but .* has none"):
        read_audit(tmp_path)
    file = tmp_path / "audit.json"
    file.write_text("{")
    with pytest.raises(ValueError, match="to be an audit in JSON, but it cannot be read"):
        read_audit(tmp_path)
    file.write_text(json.dumps({**report.to_dict(), "created": float("nan")}))
    with pytest.raises(ValueError, match="NaN is not a JSON number"):
        read_audit(tmp_path)
    file.write_text(json.dumps({**report.to_dict(), "schema_version": "2.0"}))
    with pytest.raises(ValueError, match=r"an audit of schema version 1\.0, but .* is of 2\.0"):
        read_audit(tmp_path)
    file.write_text(json.dumps([1]))
    with pytest.raises(ValueError, match=r"the audit to fit its schema, but \[1\] is not of type 'object'"):
        read_audit(tmp_path)
