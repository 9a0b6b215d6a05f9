"""`rightreasons data ratings`, `rightreasons data gaps` and `rightreasons recalibrate`, as a user types them."""

import csv
import json

import numpy as np
import pytest

from command_line import run
from rightreasons.calibration.recalibration import recalibrate
from rightreasons.cues.easy_hard import compare_gaps
from rightreasons.io.options import SourceOptions


@pytest.fixture(scope="module")
def copa(tmp_path_factory):
    """Nine items, of which four mirror another; three are Easy."""
    rows = [
        {
            "id": f"i{n}{'-m' if n % 2 else ''}",
            "premise": f"The rain fell on day {n}.",
            "question": "effect",
            "choice1": f"The street was wet {n}.",
            "choice2": f"The sun rose {n}.",
            "label": n % 3 % 2,
            "mirrored": bool(n % 2),
            "easy": n % 3 == 0,
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
            {**row, "answer": answer(next(v for k, v in row.items() if k in ("prompt", "premise")))} for row in rows
        )


class TestRatings:
    def test_sheets_there_and_back(self, copa, tmp_path, capsys):
        file, rows = copa
        code, said, _ = run(capsys, "data", "ratings", "write", file, "--out", tmp_path, "--raters", 3)
        assert (code, "9 items" in said) == (0, True)
        sheets = sorted(tmp_path.glob("rater-*.csv"))
        right = {f"day {row['id'][1]}": row["label"] + 1 for row in rows}
        for number, sheet in enumerate(sheets):
            # The first two are always right; the third always takes the first choice.
            filled(sheet, lambda text, n=number: 1 if n == 2 else next(v for k, v in right.items() if k in text))
        code, said, _ = run(capsys, "data", "ratings", "read", file, *sheets, "--out", tmp_path / "figures.json")
        assert code == 0
        # Labels 0 1 0 0 1 0 0 1 0: the third is right on six of nine, on four of the five originals.
        assert "all (9): accuracy 0.889" in said
        figures = json.loads((tmp_path / "figures.json").read_text("utf-8"))
        assert set(figures) == {"all", "original", "mirrored"}
        assert figures["original"]["accuracy"] == pytest.approx(2.8 / 3)
        assert figures["mirrored"]["accuracy"] == pytest.approx(2.5 / 3)
        # Votes (3, 0) six times and (1, 2) three: P = (6 + 3 / 3) / 9, P_e = (21^2 + 6^2) / 27^2.
        assert figures["all"]["kappa"]["fleiss_kappa"] == pytest.approx((7 / 9 - 477 / 729) / (1 - 477 / 729))

    def test_a_sheet_without_answers(self, copa, tmp_path, capsys):
        run(capsys, "data", "ratings", "write", copa[0], "--out", tmp_path / "sheets", "--raters", 2)
        code, _, told = run(
            capsys, "data", "ratings", "read", copa[0], tmp_path / "sheets" / "rater-1.csv", tmp_path / "rater-2.csv"
        )
        assert (code, "Expected an answer from 1 to 2 in rater-1.csv, but row 2 holds" in told) == (2, True)


class TestGaps:
    @pytest.fixture
    def runs(self, copa, tmp_path):
        """Two runs that only get Easy items right, one as scores; one run that gets all right but one."""
        _, rows = copa
        labels, easy = np.array([row["label"] for row in rows]), np.array([row["easy"] for row in rows])
        picks = {"a": np.where(easy, labels, 1 - labels), "b": np.where(easy, labels, 0), "c": labels.copy()}
        picks["c"][4] = 1 - labels[4]
        order = np.random.default_rng(0).permutation(len(rows))
        for name in "ac":
            lines = [f"{rows[row]['id']},{picks[name][row]}" for row in order]
            (tmp_path / f"{name}.csv").write_text("\n".join(["id,prediction", *lines]), "utf-8")
        lines = [json.dumps({"id": rows[row]["id"], "logits": [-2.0 * picks["b"][row], -1.0]}) for row in order]
        (tmp_path / "b.jsonl").write_text("\n".join(lines), "utf-8")
        return tmp_path, picks, labels, easy

    def test_two_training_sets(self, copa, runs, capsys):
        folder, picks, labels, easy = runs
        first = f"{folder / 'a.csv'},{folder / 'b.jsonl'}"
        words = ("--first", first, "--second", folder / "c.csv", "--n-permutations", 200)
        code, said, _ = run(capsys, "data", "gaps", copa[0], *words, "--out", folder / "gaps.json")
        assert code == 0
        kernel = compare_gaps(np.stack([picks["a"], picks["b"]], axis=1), picks["c"], labels, easy, n_permutations=200)
        assert json.loads((folder / "gaps.json").read_text("utf-8")) == kernel.to_dict()
        assert "3 Easy and 6 Hard items" in said
        # All three Easy right and none or three of six Hard, against all Easy and five of six Hard.
        assert "Gap of the first: +0.750 (runs: +1.000, +0.500)" in said
        assert "Gap of the second: +0.167" in said
        assert "over items and runs: none with one run" in said

    def test_the_split_by_default_is_the_one_to_test_on(self, copa, runs, capsys):
        folder = runs[0]
        both = folder / "both"
        both.mkdir()
        lines = copa[0].read_text("utf-8").splitlines()
        (both / "train.jsonl").write_text("\n".join(lines[:4]), "utf-8")
        (both / "test.jsonl").write_text("\n".join(lines[4:]), "utf-8")
        words = ("data", "gaps", both, "--first", folder / "a.csv", "--second", folder / "c.csv")
        _, said, _ = run(capsys, *words)
        assert f"{both}, test: 1 Easy and 4 Hard items" in said
        _, said, _ = run(capsys, *words, "--split", "train")
        assert f"{both}, train: 2 Easy and 2 Hard items" in said
        _, said, _ = run(capsys, "data", "ratings", "write", both, "--out", folder / "sheets")
        assert f"{both}, test: 5 items" in said
        # Cues are what a model could learn, so they are sought in what it learns from.
        _, said, _ = run(capsys, "cues", both, "--n-folds", 2, "--features", "length")
        assert f"{both}, train: 4 items" in said

    def test_subsets_of_split(self, copa, runs, capsys):
        folder, _, _, easy = runs
        names = [row["id"] for row in copa[1]]
        subsets = {"easy": [n for n, e in zip(names, easy, strict=True) if e], "hard": names[1:3]}
        (folder / "subsets.json").write_text(json.dumps(subsets), "utf-8")
        words = ("data", "gaps", copa[0], "--first", folder / "a.csv", "--second", folder / "c.csv")
        code, said, _ = run(capsys, *words, "--subsets", folder / "subsets.json")
        assert (code, "3 Easy and 2 Hard items" in said) == (0, True)
        (folder / "subsets.json").write_text('{"easy": ["x"], "hard": ["y"]}', "utf-8")
        code, _, told = run(capsys, *words, "--subsets", folder / "subsets.json")
        assert (code, "but it has none of them" in told) == (2, True)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("id,prediction\ni0,1\n", "an answer to each item in d.csv, but item 'i1-m' holds nan"),
            ("prediction\n1\n0\n", "Expected `the rows of d.csv without ids` and `ids` of one length, but got 2 and 9"),
            (
                "id,prediction\ni0,wet\n",
                "Expected the number of a choice in each row of d.csv, but row 0 holds 'wet'",
            ),
            ("id,prediction\ni0,1\ni0,0\n", "but 'i0' comes again"),
        ],
    )
    def test_answers_that_do_not_fit(self, copa, runs, capsys, text, message):
        folder = runs[0]
        (folder / "d.csv").write_text(text, "utf-8")
        code, _, told = run(capsys, "data", "gaps", copa[0], "--first", folder / "a.csv", "--second", folder / "d.csv")
        assert (code, message in told) == (2, True)


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
                ",".join([f"{name}{row}", *map(repr, logits[row].tolist()), "nmp"[labels[row]]]) for row in range(n)
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
        code, _, _ = run(capsys, "recalibrate", folder / "new.csv", folder / "new.csv", "--out", folder / "again.csv")
        assert code == 0
        assert (folder / "again.csv").read_text("utf-8").splitlines()[1].endswith(rows[0]["label"])

    @pytest.mark.parametrize(
        ("change", "words", "message"),
        [
            (None, ("--method", "platt"), "to be one of"),
            (None, ("--out", "new.xlsx"), "Expected a .csv file in"),
            ("p_n,p_p,label\n0.5,0.5,n\n0.1,0.9,p\n", (), "Expected the classes of fit.csv"),
            ("confidence,correct\n0.5,1\n0.8,0\n", (), "confidence in given answers"),
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
        ("data", "gaps", "items", "--first", "a", "--second", "b"),
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
    with pytest.raises(ValueError, match="Expected a value of `data_dir`, but it is empty"):
        SourceOptions(data_dir="")
