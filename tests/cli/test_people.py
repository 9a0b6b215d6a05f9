"""`rightreasons data ratings` and `rightreasons recalibrate`, as a user types them."""

import csv
import json

import numpy as np
import pytest

from command_line import run
from rightreasons.calibration.recalibration import recalibrate
from rightreasons.io.options import SourceOptions


@pytest.fixture(scope="module")
def copa(tmp_path_factory):
    """Nine items."""
    rows = [
        {
            "id": f"i{n}{'-m' if n % 2 else ''}",
            "premise": f"The rain fell on day {n}.",
            "question": "effect",
            "choice1": f"The street was wet {n}.",
            "choice2": f"The sun rose {n}.",
            "label": n % 3 % 2,
        }
        for n in range(9)
    ]
    file = tmp_path_factory.mktemp("copa") / "items.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return file, rows


def filled(sheet, answer):
    """Fill a sheet: `answer` maps the premise to the number of a choice."""
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(
            {**row, "answer": answer(next(v for k, v in row.items() if k in ("prompt", "premise")))}
            for row in rows
        )


class TestRatings:
    def test_sheets_there_and_back(self, copa, tmp_path, capsys):
        file, rows = copa
        code, said, _ = run(
            capsys, "data", "ratings", "write", file, "--out", tmp_path, "--raters", 3
        )
        assert (code, "9 items" in said) == (0, True)
        sheets = sorted(tmp_path.glob("rater-*.csv"))
        right = {f"day {row['id'][1]}": row["label"] + 1 for row in rows}
        for number, sheet in enumerate(sheets):
            # The first two are always right; the third always takes the first choice.
            filled(
                sheet,
                lambda text, n=number: (
                    1 if n == 2 else next(v for k, v in right.items() if k in text)
                ),
            )
        done = json.loads(run(capsys, "data", "ratings", "read", file, *sheets, "--json").out)
        # Labels 0 1 0 0 1 0 0 1 0: the third is right on six of nine.
        assert "accuracy 0.889" in "\n".join(done["printed"])
        figures = done["result"]
        assert figures["accuracy"] == pytest.approx(8 / 9)
        # Votes (3, 0) six times and (1, 2) three: P = (6 + 3 / 3) / 9, P_e = (21^2 + 6^2) / 27^2.
        assert figures["kappa"]["fleiss_kappa"] == pytest.approx(
            (7 / 9 - 477 / 729) / (1 - 477 / 729)
        )

    def test_a_sheet_without_answers(self, copa, tmp_path, capsys):
        run(
            capsys, "data", "ratings", "write", copa[0], "--out", tmp_path / "sheets", "--raters", 2
        )
        code, _, told = run(
            capsys,
            "data",
            "ratings",
            "read",
            copa[0],
            tmp_path / "sheets" / "rater-1.csv",
            tmp_path / "rater-2.csv",
        )
        assert (code, "in rater-1.csv" in told) == (
            2,
            True,
        )


class TestSplits:
    def test_the_split_by_default_is_the_one_to_test_on(self, copa, tmp_path, capsys):
        both = tmp_path / "both"
        both.mkdir()
        lines = copa[0].read_text("utf-8").splitlines()
        (both / "train.jsonl").write_text("\n".join(lines[:4]), "utf-8")
        (both / "test.jsonl").write_text("\n".join(lines[4:]), "utf-8")
        _, said, _ = run(capsys, "data", "ratings", "write", both, "--out", tmp_path / "sheets")
        assert f"{both}, test: 5 items" in said
        _, said, _ = run(
            capsys,
            "data",
            "ratings",
            "write",
            both,
            "--out",
            tmp_path / "others",
            "--split",
            "train",
        )
        assert f"{both}, train: 4 items" in said
        # Cues are what a model could learn, so they are sought in what it learns from.
        _, said, _ = run(capsys, "cues", both, "--n-folds", 2, "--features", "length")
        assert f"{both}, train: 4 items" in said


class TestRecalibrate:
    @pytest.fixture
    def files(self, tmp_path):
        """Overconfident scores of three classes, the middle one rare; 60 items to fit on and 45 to report on."""
        rng = np.random.default_rng(4)
        tables = {}
        for name, n in (("fit", 60), ("test", 45)):
            labels = rng.choice(3, size=n, p=[0.5, 0.1, 0.4])
            logits = 4 * (np.eye(3)[labels] + rng.normal(size=(n, 3)))
            tables[name] = logits, labels
            lines = [
                ",".join([f"{name}{row}", *map(repr, logits[row].tolist()), "nmp"[labels[row]]])
                for row in range(n)
            ]
            text = "\n".join(["id,logit_n,logit_m,logit_p,label", *lines])
            (tmp_path / f"{name}.csv").write_text(text, "utf-8")
        return tmp_path, tables

    @pytest.mark.parametrize("method", ["temperature", "vector", "isotonic"])
    def test_methods(self, files, capsys, method):
        folder, tables = files
        code, said, _ = run(capsys, "recalibrate", folder / "fit.csv", folder / "test.csv", "--method", method, "--out",
                            folder / "new.csv")  # fmt: skip
        assert code == 0
        assert f"{method}, fitted on 60 items of fit.csv; on 45 of test.csv:" in said
        with (folder / "new.csv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert list(rows[0]) == ["id", "p_n", "p_m", "p_p", "label"]
        assert [row["id"] for row in rows] == [f"test{row}" for row in range(45)]
        written = np.array([[float(row[f"p_{name}"]) for name in "nmp"] for row in rows])
        expected = recalibrate(*tables["fit"], tables["test"][0], method=method, scores="logits")
        np.testing.assert_allclose(written, expected, atol=1e-12)
        # What is written is what the command about calibration reads.
        code, _, _ = run(
            capsys,
            "recalibrate",
            folder / "new.csv",
            folder / "new.csv",
            "--out",
            folder / "again.csv",
        )
        assert code == 0
        assert (folder / "again.csv").read_text("utf-8").splitlines()[1].endswith(rows[0]["label"])

    @pytest.mark.parametrize(
        ("change", "words", "message"),
        [
            (None, ("--method", "platt"), "to be one of"),
            (None, ("--out", "new.xlsx"), "Expected a .csv file in"),
            ("p_n,p_p,label\n0.5,0.5,n\n0.1,0.9,p\n", (), "Expected the classes of fit.csv"),
            ("confidence,correct\n0.5,1\n0.8,0\n", (), "only the confidence in each answer"),
        ],
    )
    def test_mistakes(self, files, capsys, monkeypatch, change, words, message):
        folder, _ = files
        monkeypatch.chdir(folder)
        if change is not None:
            (folder / "test.csv").write_text(change, "utf-8")
        code, _, told = run(capsys, "recalibrate", "fit.csv", "test.csv", *words)
        assert code == 2
        assert message in told


@pytest.mark.parametrize(
    "words",
    [
        ("data", "ratings", "write", "items"),
        ("data", "ratings", "read", "items", "a", "b"),
        ("cues", "items"),
        ("data", "export", "items"),
        ("data", "split", "items"),
    ],
)
def test_an_empty_folder_of_data_is_refused(capsys, words):
    for empty in (("--data-dir", ""), ("--data-dir=",)):
        code, _, told = run(capsys, *words, *empty)
        assert (code, told) == (2, "Error: Expected a value of --data-dir, but it is empty.\n")
    with pytest.raises(ValueError, match="value of `data_dir`"):
        SourceOptions(data_dir="")
