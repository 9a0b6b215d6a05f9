"""`rightreasons look` shows how the file would be read, and writes what every command takes."""

import json
import zipfile

import pytest

from command_line import run
from tiny_models import save_tiny_classifier, tiny_texts


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "0.9;0.1;1\n0.8;0.2;1\n0.1;0.9;0\n0.2;0.8;0\n" * 10
    (tmp_path / "x.csv").write_text(f"p_positive;p_negative;label\n{rows}")
    return tmp_path / "x.csv"


def test_a_refusal_is_shown_and_the_option_that_it_names_helps(table, capsys):
    shown = run(capsys, "look", "x.csv")
    assert shown.code == 2
    assert "Item 1: p_positive: 0.9" in shown.out
    assert "in the order of the numbers with --label-names" in shown.err
    assert not (table.parent / "data.yaml").exists()
    assert (
        run(capsys, "look", "x.csv", "--label-names", "negative").code == 2
    )  # which does not help
    looked = run(capsys, "look", "x.csv", "--label-names", "negative,positive")
    assert looked.code == 0, looked.err
    lines = [line.split() for line in looked.out.splitlines()]
    assert ["1", "20", "positive", "by", "number"] in lines
    assert ["Next:", "rightreasons", "calibration", "data.yaml"] in lines
    answered = run(capsys, "calibration", "data.yaml", "--out", "report")
    assert answered.code == 0, answered.err
    assert "accuracy is 100.0%" in answered.out


def test_an_order_that_is_surely_wrong_is_said_before_the_verdict(table, capsys):
    answered = run(
        capsys, "calibration", "x.csv", "--label-names", "positive,negative", "--out", "report"
    )
    assert "would match 100.0%" in answered.err
    assert "accuracy is 0.0%" in answered.out


def test_a_model_that_the_labels_do_not_fit_is_told(table, tmp_path, capsys):
    (tmp_path / "rows.csv").write_text("text,label\nFine.,c\nDull.,e\nSo.,n\n")
    names = '{"0": "entailment", "1": "neutral", "2": "contradiction"}'
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(
        f'{{"model_type": "bert", "id2label": {names}}}'
    )
    looked = run(capsys, "look", "rows.csv", "model")
    assert "c=contradiction,e=entailment,n=neutral" in looked.out
    fits = run(
        capsys,
        "look",
        "rows.csv",
        "model",
        "--label-names",
        "c=contradiction,e=entailment,n=neutral",
    )
    assert "name: contradiction" in " ".join(fits.out.split())


def test_a_class_that_no_label_is_is_doubtful(tmp_path, capsys):
    """RTE's 0 and 1 beside three classes: 1 is not_entailment there, and neutral here."""
    (tmp_path / "rows.csv").write_text("text,label\nFine.,0\nDull.,1\nSo.,1\n")
    names = '{"0": "entailment", "1": "neutral", "2": "contradiction"}'
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(
        f'{{"model_type": "bert", "id2label": {names}}}'
    )
    looked = run(
        capsys, "look", tmp_path / "rows.csv", tmp_path / "model", "--out", tmp_path / "data.yaml"
    )
    assert "contradiction: check" in looked.out


def test_the_audit_says_so_too_and_a_label_of_no_class_names_the_option_and_look(tmp_path, capsys):
    texts, labels = tiny_texts(12)
    names = ("entailment", "neutral", "contradiction")
    model = save_tiny_classifier(tmp_path / "model", label_names=names)
    how = ("--n-resamples", "5", "--out", tmp_path / "report")
    path = tmp_path / "rows.csv"

    def write(names):
        rows = (f"{text},{names[label]}\n" for text, label in zip(texts, labels, strict=True))
        path.write_text("text,label\n" + "".join(rows))

    write("01")
    audited = run(capsys, "calibration", model, path, *how)
    assert "contradiction: check" in audited.err
    assert "no label for contradiction" in (tmp_path / "report" / "index.html").read_text()
    path.write_text(
        "text,label\n"
        + "".join(f"{text},{'cn'[label]}\n" for text, label in zip(texts, labels, strict=True))
    )
    refused = run(capsys, "calibration", model, path, *how)
    assert "as in --label-names='c=contradiction,n=neutral'. `rightreasons look" in refused.err


def test_a_file_alone_is_one_of_predictions_whatever_its_suffix(tmp_path, capsys):
    with zipfile.ZipFile(tmp_path / "scores.zip", "w") as archive:
        archive.writestr("scores.csv", "p_a,p_b,label\n0.9,0.1,a\n0.2,0.8,b\n")
    done = run(
        capsys,
        "calibration",
        tmp_path / "scores.zip",
        "--n-resamples",
        "5",
        "--out",
        tmp_path / "report",
    )
    assert done.code == 0, done.err
    (tmp_path / "scores.docx").write_bytes(b"\0")
    refused = run(capsys, "calibration", tmp_path / "scores.docx", "--out", tmp_path / "report")
    assert refused.err.startswith("Error: Expected a file of type .csv, .tsv, .jsonl")


def test_a_refused_column_names_the_look_that_explains_it_and_a_warning_is_a_line(capsys, tmp_path):
    path = tmp_path / "meine daten.csv"
    path.write_bytes("Text;Ergebnis;Gut;Öde\nschön;Gut;0,9;0,1\nöde;Öde;0,2;0,8\n".encode("cp1252"))
    code, _, told = run(capsys, "calibration", path)
    assert (code, told.count("\n")) == (2, 2)
    assert told.startswith("meine daten.csv is not in UTF-8 and is read as cp1252")
    assert "with --label-column" in told
    assert "with --confidence-column and --correct-column" in told
    assert told.endswith(f" `rightreasons look '{path}'` shows how the file would be read.\n")


def test_empty_texts_are_left_out_where_that_is_asked(capsys, tmp_path):
    path = tmp_path / "reviews.csv"
    path.write_text("text,label\ngood,up\n ,down\nbad,down\n,\n")
    code, _, told = run(capsys, "look", path, "--out", tmp_path / "data.yaml")
    assert code == 2
    assert told.count("row 1 is empty. Exclude empty rows with --drop-empty.") == 1
    code, _, told = run(capsys, "look", path, "--out", tmp_path / "data.yaml", "--drop-empty")
    assert code == 0, told
    assert "drop_empty: true" in (tmp_path / "data.yaml").read_text()


def test_a_description_of_other_data_stays_and_what_would_be_read_is_shown(table, tmp_path, capsys):
    (tmp_path / "y.csv").write_text("text,label\n" + "Fine.,good\nDull.,bad\n" * 9)
    run(capsys, "look", "x.csv", "--label-names", "negative,positive")
    kept = (tmp_path / "data.yaml").read_bytes()
    looked = run(capsys, "look", "y.csv")
    assert looked.code == 0
    assert "Not written: data.yaml is about other data" in looked.out
    assert "Next: rightreasons audit MODEL y.csv" in looked.out
    refused = run(capsys, "look", "y.csv", "--label-column", "label")  # which only a file can hold
    assert refused.code == 2
    assert "--out to be new or about y.csv" in refused.err
    assert (tmp_path / "data.yaml").read_bytes() == kept


def test_look_takes_what_the_sentence_of_a_command_names(capsys, tmp_path):
    """Percentages without a sign, columns of scores that only the labels tell, and columns of several words."""
    path, out = tmp_path / "antworten.csv", tmp_path / "data.yaml"
    path.write_text("Satz;sicher;unklar;Urteil\nschön;80,5;19,5;sicher\nöde;30;70;unklar\n")
    refused = run(capsys, "calibration", path, "--label-column", "Urteil")
    assert "set --scores=percentages. `rightreasons look" in refused.err
    looked = run(
        capsys, "look", path, "--label-column", "Urteil", "--scores", "percentages", "--out", out
    )
    assert looked.code == 0, looked.err
    assert looked.out.splitlines()[0].endswith("antworten.csv: predictions (data 2)")
    answered = run(capsys, "calibration", out, "--n-resamples", "5", "--out", tmp_path / "report")
    assert "accuracy is 100.0%" in answered.out
    path.write_text("Antwort gegeben,Richtige Antwort,Grad\nA,A,90%\nB,A,60%\n")
    how = ("calibration", path, "--label-column", "Richtige Antwort", "--confidence-column", "Grad")
    refused = run(capsys, *how)
    assert 'row["Richtige Antwort"]' in refused.err
    right = '{{ row["Antwort gegeben"] == row["Richtige Antwort"] }}'
    answered = run(
        capsys, *how, "--correct-column", right, "--n-resamples", "5", "--out", tmp_path / "other"
    )
    assert "accuracy is 50.0%" in answered.out


def test_what_each_question_costs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        f"This is film {row}.,{('up', 'down')[row % 2]},{('train', 'test')[row < 5]}"
        for row in range(9)
    ]
    (tmp_path / "a.csv").write_text("\n".join(["text,label,split", *rows]))
    # Of the five items of test: one pass for the prediction, 11 times 3 for the attribution and 35 for swaps, 68 * 5;
    # and 5 * (1 + 1 + 2 * 2) and what is spent on flips.
    assert "(340 passes)" in run(capsys, "look", "a.csv").out
    (tmp_path / "b.jsonl").write_text(
        '{"question": "Why?", "choices": ["a", "b"], "answer": 1}\n' * 3
    )
    # A prediction of each, three probes, and four numbers of added choices.
    assert (
        "cues (without a model), probes (24 passes)"
        in run(capsys, "look", "b.jsonl", "--out", "b.yaml").out
    )


def test_a_settled_doubt_is_kept_for_every_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # 40 equal items of two labels, every second of which was rejected.
    rows = "".join(
        f"item {row} of the list,{'up' if row % 3 else 'down'},{'reject' if row % 2 else 'accept'}\n"
        for row in range(40)
    )
    (tmp_path / "x.csv").write_text(f"text,label,answer\n{rows}")

    asked = run(capsys, "look", "x.csv")
    settled = run(capsys, "look", "x.csv", "--settled-checks", "rejected_rows")
    again = run(capsys, "look", "data.yaml")

    assert "\nRows: The column 'answer'" in asked.out
    assert "\nNote: The column 'answer'" in settled.out
    assert "\nNote: The column 'answer'" in again.out
    assert "Rows:" not in again.out


def test_answers_without_a_confidence_are_promised_what_their_audit_reports(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    rows = "yes,yes\nno,yes\nno,no\nyes,yes\n" * 5
    (tmp_path / "answers.csv").write_text(f"label,prediction\n{rows}")

    looked = run(capsys, "look", "answers.csv")
    audited = run(capsys, "audit", "--predictions", "data.yaml", "--out", "report")

    lines = looked.out.splitlines()
    assert "An audit of this file reports the accuracy of the answers." in lines
    assert lines[-1] == "Next: rightreasons audit --predictions data.yaml"
    assert audited.code == 0, audited.err
    # 15 of 20 answers, on standard error as all messages.
    assert "75.0% of 20 answers are correct" in audited.out + audited.err
    assert "Not asked: Does its confidence match its accuracy?" in audited.out


def test_columns_of_the_row_checks_are_not_shown_as_cells_of_the_file(tmp_path, capsys):
    # The last 12 rows repeat the first ones.
    rows = [
        f"Bus {number} was {number * 7 % 11} minutes late.,{number % 2}" for number in range(40)
    ]
    path = tmp_path / "late.csv"
    path.write_text("\n".join(["text,label", *rows, *rows[:12]]))

    looked = run(capsys, "look", path, "--out", tmp_path / "data.yaml")

    assert looked.code == 0
    assert "12 of 52 rows are copies" in looked.out
    assert "Item 1: id: data-0, text: Bus 0" in looked.out
    assert "copied_row" not in looked.out


def test_an_unreadable_file_has_its_error_in_the_record(table, capsys):
    code, out, _ = run(capsys, "look", "x.csv", "--json")

    record = json.loads(out)
    assert (code, record["exit_code"]) == (2, 2)
    assert "--label-names" in record["error"]
    assert record["result"]["readable"] is False
