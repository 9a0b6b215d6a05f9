"""`rightreasons data mirror`, as a user types it: from items to a worksheet, and back to balanced items."""

import csv
import json

import pytest

from command_line import run


def test_a_worksheet_goes_out_and_comes_back_as_balanced_items(tmp_path, capsys):
    rows = []
    for number in range(30):
        choices = [f"It was wet {number}.", f"It is dry {number}."]
        rows.append(
            {"id": f"i{number}", "prompt": f"Why {number}?", "choices": choices, "label": 0}
        )
    data = tmp_path / "items.jsonl"
    data.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    sheet = tmp_path / "sheet.csv"
    balanced = tmp_path / "balanced.jsonl"

    written = run(capsys, "data", "mirror", "write", data, "--out", sheet)
    with sheet.open(encoding="utf-8-sig", newline="") as opened:
        cells = list(csv.DictReader(opened))
    for row in cells[:2]:
        row["new prompt"] = f"New for {row['item']}"
    with sheet.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, list(cells[0]))
        writer.writeheader()
        writer.writerows(cells)
    read = run(capsys, "data", "mirror", "read", data, sheet, "--out", balanced)

    assert "30 of 30 items to mirror" in written.out
    assert "2 items with a mirror, 28 left out" in read.out
    items = [json.loads(line) for line in balanced.read_text("utf-8").splitlines()]
    assert [item["label"] for item in items] == [0, 1, 0, 1]
    assert items[1]["prompt"] == "New for i0"


@pytest.mark.parametrize("command", ["ratings write", "ratings read", "mirror write", "split"])
def test_the_options_of_a_sample_have_no_prefix(capsys, command):
    ran = run(capsys, "data", *command.split(), "--help-all")

    assert "--limit" in ran.out
    assert "--seed" in ran.out
    assert "-limit" not in ran.out.replace("--limit", "")
