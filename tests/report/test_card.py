"""A report in a model card: the section, the metadata, and what stays as it was."""

import pytest
import yaml
from huggingface_hub import ModelCard

from command_line import run
from rightreasons.page.parts import SectionResult, Verdict
from rightreasons.report.outcomes import Outcome
from rightreasons.report.sharing.card import write_card
from small_audits import figure, small_audit

CARD = """---
license: mit
custom: [1, 2]
model-index:
- name: mine
  results:
  - task: {type: text-classification}
    dataset: {name: Other, type: other}
    metrics: [{type: f1, value: 0.5}]
    source: {name: A board, url: "https://example.org"}
---
# Mine

Text with <b>tags</b> and `code`.
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return small_audit(tmp_path_factory.mktemp("card") / "report", dataset="my reviews | 2")


def test_a_card_keeps_what_it_has(capsys, report, tmp_path):
    file = tmp_path / "README.md"
    file.write_text(CARD, "utf-8")
    code, out, _ = run(capsys, "card", report, "--to", file)
    assert (code, out) == (0, f"Card: {file}\n")
    card = ModelCard.load(file)
    text = card.text
    assert text.startswith(
        "# Mine\n\nText with <b>tags</b> and `code`.\n\n<!-- rightreasons: begin -->\n## Right"
    )
    assert (
        "| Does it rely on shortcuts? | **Follows \\| single words** (problem) | deciding share 25.0%"
        in text
    )
    assert text.index("Does it rely on shortcuts?") < text.index("Is it calibrated?")
    assert "Does it behave?" not in text
    data = card.data.to_dict()
    assert (list(data)[:2], data["custom"], data["license"]) == (
        ["license", "custom"],
        [1, 2],
        "mit",
    )
    (index,) = data["model-index"]
    assert index["name"] == "mine"
    other, ours = index["results"]
    assert other["metrics"] == [{"type": "f1", "value": 0.5}]
    assert other["source"] == {"name": "A board", "url": "https://example.org"}
    assert ours["dataset"] == {"name": "my reviews | 2", "type": "my-reviews-2", "split": "test"}
    assert {metric["type"]: metric["value"] for metric in ours["metrics"]} == {
        "accuracy": 0.9, "ece": 0.06, "deciding_share": 0.25, "shortcut_rate": 0.75,
    }  # fmt: skip
    args = {
        "rightreasons": "shortcuts.deciding_share",
        "low": 0.125,
        "high": 0.4,
        "confidence_level": 0.95,
        "n": 40,
    }
    assert ours["metrics"][2]["args"] == args


def test_a_second_report_replaces_the_first(report, tmp_path):
    file = tmp_path / "README.md"
    write_card(report, file)
    once = file.read_bytes()
    write_card(report, file)
    assert file.read_bytes() == once
    again = Outcome(
        "calibration", "Is it calibrated?", "answered", "",
        SectionResult(Verdict("warn", "Sure", "So."), (figure("ece", 0.2, 0.1, 0.3), figure("nll", None)), ()),
    )  # fmt: skip
    file.write_text(f"{file.read_text('utf-8')}\nAfter the section.\n", "utf-8")
    write_card(small_audit(tmp_path / "again", outcomes=(again,)), file)
    card = ModelCard.load(file)
    assert card.text.startswith("# org/model\n\n<!-- rightreasons: begin -->")
    assert card.text.endswith("<!-- rightreasons: end -->\n\nAfter the section.\n")
    assert card.text.count("## Right for the right reasons?") == 1
    assert "Follows" not in card.text
    assert [(result.metric_type, result.metric_value) for result in card.data.eval_results] == [
        ("ece", 0.2)
    ]
    assert card.data.model_name == "org/model"


@pytest.mark.parametrize("text", ["", "No metadata.\n"])
def test_a_card_without_metadata(report, tmp_path, text):
    file = tmp_path / "README.md"
    file.write_text(text, "utf-8")
    write_card(report, file)
    card = ModelCard.load(file)
    assert card.text.strip().startswith(text.strip())
    assert len(card.data.eval_results) == 4
    assert list(yaml.safe_load(file.read_text("utf-8").split("---")[1])) == ["model-index"]


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ("a: [", "card in README.md"),
        ("- a", "repo card metadata block should be a dict"),
        ("model-index: [{name: a}]", "card in README.md"),
        (
            "model-index: [{name: a, results: []}, {name: b, results: []}]",
            "several models in its model-index",
        ),
    ],
)
def test_metadata_that_is_none(report, tmp_path, metadata, message):
    file = tmp_path / "README.md"
    file.write_text(f"---\n{metadata}\n---\nText\n", "utf-8")
    before = file.read_bytes()
    with pytest.raises(ValueError, match=message):
        write_card(report, file)
    assert file.read_bytes() == before
