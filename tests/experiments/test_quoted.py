"""The numbers that README and the page of evidence quote are those of the committed results."""

import json
import re
from pathlib import Path

import numpy as np
from benchmarks.verdicts.natural.__main__ import STRONG, classify, read_stored
from benchmarks.verdicts.natural.cases import list_cases
from benchmarks.verdicts.natural.reasons import STORED, describe_rounds

ROOT = Path(__file__).parents[2]
README, EVIDENCE = (
    (ROOT / name).read_text("utf-8").replace("\N{MINUS SIGN}", "-")
    for name in ("README.md", "docs/evidence/index.md")
)


def results(name, room="experiments"):
    return json.loads((ROOT / room / name / "results.json").read_text("utf-8"))


def answer(folder):
    """The answer in the table of experiments."""
    return next(
        line
        for line in EVIDENCE.splitlines()
        if line.startswith("| [") and f"(../../{folder})" in line
    )


def numbers(text):
    return [float(number) for number in re.findall(r"-?\d+\.\d+", text)]


def test_first_screen():
    """README opens with the figures of the gallery's audit of `make audit`, whose first screen is its picture."""
    questions = json.loads((ROOT / "docs" / "gallery" / "demo" / "audit.json").read_text("utf-8"))[
        "questions"
    ]
    results = {each["question"]: each["result"] for each in questions}
    accuracy = results["calibration"]["data"]["splits"]["test"]["accuracy"]["value"]
    decided = results["shortcuts"]["headlines"][0]
    assert decided["key"] == "deciding_share"
    beginning = " ".join(README.partition("## Questions")[0].split())
    assert f"is correct on {100 * accuracy:.0f}% of its test items" in beginning
    assert f"decide {100 * decided['estimate']['value']:.0f}% of its predictions" in beginning
    words = re.findall("“.+?”", results["shortcuts"]["finding"]["claim"])
    assert len(words) == 2
    assert all(word in beginning for word in words)


def test_verdicts():
    """README counts the stored audits of natural texts: what strong followers and readers get."""
    cases = {case.name: case for case in list_cases()}
    groups = {}
    for row in read_stored():
        groups.setdefault(classify(cases[row["case"]], row), []).append(row)
    strong = groups[f"followers, {STRONG:.0%} or more"]
    flagged = [row for row in strong if row["color"] in ("amber", "red")]
    named = [row for row in flagged if row["is_named"]]
    readers = groups["readers"] + groups["readers of signs, for good reasons"]
    text = " ".join(README.split())
    assert f"in {len(flagged)} of {len(strong)} audits" in text
    assert f"{len(named)} audits name the cue" in text
    assert not [row for row in strong if row["color"] == "green"]
    assert not [row for row in readers if row["color"] == "red"]
    assert f"None of {len(readers)} audits of other models is red" in text


def test_readers_are_green_once_their_words_are_called_reasons():
    """Every amber reader of the stored rounds ends green, and the page says so."""
    page = (ROOT / "docs" / "evidence" / "verdicts.md").read_text("utf-8")
    rows = json.loads(STORED.read_text("utf-8"))
    assert rows
    for row in rows:
        assert row["colors"][0] == "amber"
        assert row["colors"][-1] == "green"
    assert describe_rounds(rows) in page


def test_detector():
    rows = [
        row
        for row in results("shortcut_ground_truth", "benchmarks")["rows"]
        if row["varied"] == "strength"
    ]
    table = [
        numbers(line.replace("%", " %.0", 1))
        for line in EVIDENCE.splitlines()
        if re.match(r"\| \d+%( \(no cue\))? \|", line)
    ]
    assert len(table) == 4
    for quoted, row in zip(table, sorted(rows, key=lambda row: row["value"]), strict=True):
        keys = (
            "decided_by_cue",
            "shortcut_rate",
            "null_frequency",
            "excess_over_frequency",
            "precision",
            "recall",
        )
        digits = (2, 3, 3, 3, 2, 2)
        assert quoted == [round(row[key], places) for key, places in zip(keys, digits, strict=True)]


def test_language_models():
    folder = ROOT / "benchmarks" / "language_models"
    page = " ".join(
        (folder / "README.md").read_text("utf-8").replace("\N{MINUS SIGN}", "-").split()
    )
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in (folder / "RESULTS.md")
        .read_text("utf-8")
        .replace("\N{MINUS SIGN}", "-")
        .splitlines()
        if line.startswith("| ")
    ]
    drawn = {
        (row[0], row[2]): [int(cell) for cell in row[3:]]
        for row in rows
        if len(row) == 6 and row[1] == "0" and row[3].isdigit()
    }
    able, sure = "better than the most frequent label", "too sure of itself"
    assert drawn["socialiqa", able] == [2, 0, 6]
    assert drawn["trec", able] == [1, 9, 2]
    assert (drawn["sst2", able][0], drawn["piqa", able][0]) == (0, 0)
    assert [
        sum(counts)
        for counts in zip(
            *(drawn[name, sure] for name in results("language_models", "benchmarks")), strict=True
        )
    ] == [31, 0, 9]
    blank = {
        name: drawn[name, "gives one answer to 9 of 10 items"][:2]
        for name in results("language_models", "benchmarks")
    }
    assert blank == {"sst2": [6, 6], "trec": [5, 7], "piqa": [2, 6], "socialiqa": [2, 6]}
    ways = [row for row in rows if len(row) == 8 and row[1] == "0"]
    assert (
        len(ways)
        == sum(
            "/0/" in way
            for cells in results("language_models", "benchmarks").values()
            for way in cells
        )
        == 40
    )
    letters = [row for row in ways[24:] if row[2] == "letters"]
    assert len(letters) == 4
    assert min(int(row[7].rstrip("%")) for row in letters) == 95
    means = [row for row in ways[32:] if row[3] == "mean"]  # those of SocialIQA
    told = [way[4] for way in means] + [way[5] for way in ways[24:32] if way[0] == "off" and way[3] in ("mean", "sum")
                                        and way[2] == "words"]  # fmt: skip
    assert all(figure in page for figure in told), told
    changes = [row for row in rows if row[0] == "template on, off" and row[1].startswith("0")]
    clear = [row for row in changes if float(row[3]) < 0.05]
    assert f"in {len(clear)} of {len(changes)} comparisons" in page.partition("**The template**")[2]
    assert [(row[1], round(100 * float(row[2].split()[0]))) for row in clear] == [
        ("0, words, sum", -13),
        ("0, words, mean", -18),
    ]
    assert "13 points lower with it by the sum and 18 by the mean" in page
    # With four examples: the ways that were asked, and the same ways without.
    cells = results("language_models", "benchmarks")
    pairs = [
        (name, key.replace("/4/", "/0/"), key)
        for name, own in cells.items()
        for key in own
        if "/4/" in key
    ]

    def favorite(name, key):
        picks = np.array([np.argmax(row) for row in cells[name][key]["scores"]])
        return np.bincount(picks).max() / len(picks)

    counts = [sum(favorite(name, key[place]) >= 0.9 for name, *key in pairs) for place in (0, 1)]
    many = [row for row in rows if len(row) == 6 and row[1] == "4"]
    n_sure, n_unsure, n_able = (
        sum(int(row[place]) for row in many if row[2] == what)
        for place, what in ((3, sure), (4, sure), (3, able))
    )
    assert (
        f"left in {counts[1]} of {len(pairs)} ways, where the same ways without examples have it in {counts[0]};"
        in page
    )
    sets = sum(row[2] == able and row[3] != "0" for row in many)
    assert (n_able, sets) == (5, 3)
    assert (
        f"too sure of itself in {n_sure}, its opposite in {n_unsure}, both of PIQA by the mean"
        in page
    )
    assert [row[4] for row in many if row[0] == "piqa" and row[2] == sure] == ["2"]
    letters = [
        f"{favorite(name, f'chat/{n}/letters/sum'):.0%}"
        for name in ("sst2", "socialiqa")
        for n in (0, 4)
    ]
    assert (
        "from {} to {} of the items on SST-2, and from {} to {} on SocialIQA".format(*letters)
        in page
    )
    tested = [row for row in rows if row[0] == "4 examples, none"]
    differing = [row for row in tested if float(row[3]) < 0.05]
    assert f"in {len(differing)} of {len(tested)} comparisons" in page
    assert [(row[1], f"{100 * float(row[2].split()[0]):.1f}") for row in differing] == [
        ("chat, words, sum", "-33.3"), ("chat, words, mean", "-33.3"),
        ("chat, words, mean", "25.0"), ("chat, words, unconditional", "37.5"),
    ]  # fmt: skip
    # Contextual calibration of the words of TREC, beside their sum, without and with the template.
    start, end = (next(n for n, row in enumerate(rows) if len(row) == 8 and row[4].startswith(figure))
                  for figure in ("0.200 [0.118", "0.600 [0.474"))  # fmt: skip
    trec = {tuple(row[:4]): row[4].split()[0] for row in rows[start:end] if len(row) == 8}
    for score in ("calibrated", "sum"):
        for shots in "04":
            told = [trec[template, shots, "words", score] for template in ("off", "on")]
            assert " and ".join(told) in page, told
