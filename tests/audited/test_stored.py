"""Stored predictions in the place of a model: the figures of the metric, every question answered or told why not."""

import gc
import itertools
import json
import sys
import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rightreasons
from rightreasons.calibration.errors import calibration_error
from rightreasons.calibration.human import human_calibration
from rightreasons.calibration.recalibration import calibration_summary
from rightreasons.core.classification import label_errors
from rightreasons.report.runner import audit

pytestmark = pytest.mark.usefixtures("unrendered")

RNG = np.random.default_rng(5)
N = 60
LOGITS = RNG.normal(size=(N, 3)) * 2
TABLE = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
LABELS = np.where(RNG.random(N) < 0.7, TABLE.argmax(axis=1), RNG.integers(3, size=N))
NAMES = ("entailment", "neutral", "contradiction")
FAST = {"n_resamples": 30, "progress": False}


def rows(**extra):
    columns = {f"p_{name}": TABLE[:, k].tolist() for k, name in enumerate(NAMES)}
    columns |= {
        "label": [NAMES[label] for label in LABELS],
        "text": [f"text {i}" for i in range(N)],
        **extra,
    }
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


def write(path, items):
    path.write_text("\n".join(map(json.dumps, items)), "utf-8")
    return str(path)


def result_of(made, question="calibration"):
    assert made[question].status == "answered", made[question].reason
    return made[question].result


def values(made):
    return {
        key: figure["estimate"]["value"] for key, figure in result_of(made).data["figures"].items()
    }


def test_a_file_alone_gives_the_figures_of_the_metric(tmp_path):
    made = audit(predictions=write(tmp_path / "run.jsonl", rows()), out=tmp_path / "report", **FAST)
    expected = calibration_summary(TABLE, LABELS)
    figures = values(made)
    for key in (
        "accuracy",
        "mean_confidence",
        "ece",
        "adaptive_ece",
        "classwise_ece",
        "brier",
        "nll",
        "aurc",
        "auroc",
    ):
        assert figures[key] == pytest.approx(expected[key], abs=1e-12), key
    assert {one.question: one.status for one in made.outcomes} == {
        "calibration": "answered", "shortcuts": "skipped", "cues": "skipped", "probes": "skipped",
        "difficulty": "skipped", "behavior": "skipped",
    }  # fmt: skip
    for question in ("shortcuts", "difficulty", "behavior"):
        assert "stored" in made[question].reason
    assert "multiple-choice data" in made["probes"].reason  # stored perturbed items answer it there
    model = made.audit["model"]
    assert (model["task"], model["label_names"], model["n_parameters"]) == (
        "classification",
        list(NAMES),
        None,
    )
    page = made.page.read_text("utf-8")
    assert "scores: p_entailment" in page
    assert "text 1" in page


def test_the_work_in_python_does_not_grow_with_the_rows(tmp_path):
    """A row that is read, checked or written by itself takes at least 30 calls each time; columns take none."""

    def calls(n):
        path, made = tmp_path / f"{n}.csv", itertools.count()
        table = np.column_stack((TABLE[np.arange(n) % N], LABELS[np.arange(n) % N]))
        np.savetxt(
            path,
            table,
            delimiter=",",
            header="prob_0,prob_1,prob_2,label",
            comments="",
            fmt=["%.9f"] * 3 + ["%d"],
        )
        before = sys.getprofile()
        sys.setprofile(lambda frame, event, told: next(made) if event == "call" else None)
        try:
            audit(
                predictions=str(path), out=tmp_path / f"of-{n}", questions=["calibration"], **FAST
            )
        finally:
            sys.setprofile(before)
        return next(made)

    calls(100)  # what is made once; examples are of up to 4,000 rows
    assert calls(6_000) - calls(4_000) < 30 * 2_000


def test_labels_that_the_model_contradicts_are_listed(tmp_path, monkeypatch):
    path = write(tmp_path / "run.jsonl", rows(id=[f"row {i}" for i in range(N)]))
    found = [row for row in label_errors(TABLE, LABELS) if TABLE[row].argmax() != LABELS[row]]
    assert len(found) > 2
    for most in (300, 2):
        monkeypatch.setattr("rightreasons.calibration.question.MAX_LISTED_LABELS", most)
        made = audit(predictions=path, out=tmp_path / f"{most}", questions=["calibration"], **FAST)
        (part,) = [
            part for part in result_of(made).parts if part.title == "Labels that the model disputes"
        ]
        assert f"contradicts {len(found)} labels" in part.text
        (share,) = part.headlines
        assert (share.key, share.n) == ("disputed_incorrect", len(found))
        (table,) = part.tables
        assert [row[0] for row in table.rows] == [f"row {row}" for row in found[:most]]
        assert [row[3] for row in table.rows] == pytest.approx(TABLE[found, LABELS[found]][:most])


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".json", ".jsonl", ".npz", ".parquet"])
def test_every_format_and_every_kind_of_score_is_one(tmp_path, suffix):
    path, scores = (
        tmp_path / f"run{suffix}",
        {".npz": "log_probabilities", ".parquet": "logits"}.get(suffix),
    )
    if suffix == ".npz":
        np.savez(path, log_probs=np.log(TABLE), y_true=LABELS)
    elif suffix == ".parquet":
        pq.write_table(
            pa.table({"z": LOGITS.tolist(), "probs": (TABLE * 0 + 1 / 3).tolist(), "gold": LABELS}),
            path,
        )
    elif suffix in (".csv", ".tsv"):
        separator = "," if suffix == ".csv" else "\t"
        items = rows()
        lines = [
            separator.join(items[0]),
            *(separator.join(map(str, item.values())) for item in items),
        ]
        path.write_text("\n".join(lines), "utf-8")
    elif suffix == ".json":
        path.write_text(json.dumps({"probs": TABLE.tolist(), "true": LABELS.tolist()}), "utf-8")
    else:
        write(path, rows())
    named = {"score_columns": "z", "scores": scores} if suffix == ".parquet" else {}
    made = audit(
        predictions=path, questions=["calibration"], out=tmp_path / "report", **named, **FAST
    )
    assert values(made)["ece"] == pytest.approx(calibration_error(TABLE, LABELS).ece, abs=1e-9)


def test_confidence_in_given_answers(tmp_path):
    confidence = np.round(RNG.random(N), 2)  # values on edges of bins too
    right = (RNG.random(N) < confidence).astype(int)
    items = [
        {"question": f"q{i}", "answer": "x", "confidence": c, "correct": bool(r)}
        for i, (c, r) in enumerate(zip(confidence.tolist(), right, strict=True))
    ]
    made = audit(
        predictions=write(tmp_path / "run.jsonl", items),
        out=tmp_path / "report",
        n_resamples=30,
        progress=False,
    )
    expected = calibration_summary(confidence, right, kind="confidence")
    figures = values(made)
    for key in (
        "accuracy",
        "mean_confidence",
        "ece",
        "adaptive_ece",
        "macro_ce",
        "nll",
        "aurc",
        "auroc",
    ):
        assert figures[key] == pytest.approx(expected[key], abs=1e-12), key
    assert figures["brier_of_answers"] == pytest.approx(expected["brier"], abs=1e-12)
    assert not {"brier", "macro_f1", "classwise_ece"} & figures.keys()
    assert made.audit["model"]["task"] == "confidence"
    page = made.page.read_text("utf-8")
    assert "whose given answer is correct" in page
    assert "most probable class" not in page
    with pytest.raises(ValueError, match="only the confidence in each"):
        rightreasons.compare(tmp_path / "report", tmp_path / "report")


def test_votes_of_people(tmp_path):
    votes = RNG.multinomial(20, [0.5, 0.3, 0.2], size=N)
    by_name = {f"votes_{name}": votes[:, NAMES.index(name)].tolist() for name in sorted(NAMES)}
    path = write(tmp_path / "run.jsonl", rows(**by_name, counts=votes.tolist()))
    expected = human_calibration(TABLE, votes)
    for columns in (",".join(by_name), "counts"):
        options = {"calibration": {"votes_columns": columns}}
        made = audit(
            predictions=path,
            questions=["calibration"],
            options=options,
            out=tmp_path / "report",
            **FAST,
        )
        found = result_of(made).data["votes"]
        for key in ("dist_ce", "ent_ce", "rank_cs", "n_votes"):
            assert found[key] == pytest.approx(getattr(expected, key)), key
    for columns, kind, sentence in (
        ("votes_neutral,text", "counts", "votes in each item of the column 'text'"),
        ("votes_neutral,votes_entailment", "counts", "a column for each class"),
        ("vote", "counts", "column of data in `votes_columns`, but got 'vote'"),
        ("counts", "distributions", "`references`"),
    ):
        with pytest.raises(ValueError, match=sentence):
            audit(
                predictions=path, questions=["calibration"], out=tmp_path / "no", raise_errors=True,
                options={"calibration": {"votes_columns": columns, "votes": kind}}, **FAST,
            )  # fmt: skip


def choice_items():
    letters = "abcd"
    return [
        {
            "id": f"c{i}",
            "prompt": f"Why {i}?",
            "choices": [f"because {i % 5} {letters[i % 4]}", f"not {i}"],
            "label": i % 2,
        }
        for i in range(40)
    ]


def test_choices_bring_the_cues(tmp_path):
    items = choice_items()
    scores = [[0.7, 0.3] if i % 3 else [0.2, 0.8] for i in range(40)]
    # In one file, with a column for each choice.
    split = [
        {**item, **{f"choice_{n}": choice for n, choice in enumerate(item["choices"])}}
        for item in items
    ]
    split = [{name: value for name, value in item.items() if name != "choices"} for item in split]
    whole = write(
        tmp_path / "whole.jsonl",
        [{**item, "probs": p} for item, p in zip(split, scores, strict=True)],
    )
    made = audit(predictions=whole, questions=["calibration", "cues"], out=tmp_path / "one", **FAST)
    labels = [item["label"] for item in items]
    assert values(made)["ece"] == pytest.approx(calibration_error(scores, labels).ece)
    # The same scores beside the data set: by their ids in any order, and by their place.
    write(tmp_path / "items.jsonl", items)
    shuffled = [{"id": items[i]["id"], "probs": scores[i]} for i in RNG.permutation(40).tolist()]
    for file in (shuffled, [{"probs": p} for p in scores]):
        path = write(tmp_path / "scores.jsonl", file)
        beside = audit(
            None,
            tmp_path / "items.jsonl",
            predictions=path,
            questions=["calibration", "cues"],
            out=tmp_path / "two",
            **FAST,
        )
        for question in ("calibration", "cues"):
            one, two = (
                json.dumps(result_of(each, question).data, sort_keys=True)
                for each in (made, beside)
            )
            assert one == two
    for file, sentence in (
        (
            shuffled[:7],
            "a prediction for each item of data in .*, but 33 of 40 have none, such as the id",
        ),
        ([*shuffled, shuffled[0]], "Expected each id of .* once"),
        (
            [{"probs": p} for p in scores[:5]],
            r"one prediction per item of .*items.jsonl in .* \(40 predictions\), .* but got 5",
        ),
        (
            [{"confidence": 0.5, "correct": 1}],
            "to contain class scores for .*items.jsonl",
        ),
    ):
        with pytest.raises(ValueError, match=sentence):
            audit(
                None, tmp_path / "items.jsonl", predictions=write(tmp_path / "bad.jsonl", file), raise_errors=True,
                questions=["calibration"], out=tmp_path / "no", **FAST,
            )  # fmt: skip


def test_scores_meet_the_labels_of_a_data_set_by_name(tmp_path):
    texts = [{"text": f"t {i}", "label": ("good", "bad")[i % 2]} for i in range(30)]
    write(tmp_path / "texts.jsonl", texts)
    file = [
        {"p_good": 0.8, "p_bad": 0.2} if i % 2 == 0 else {"p_good": 0.4, "p_bad": 0.6}
        for i in range(30)
    ]
    made = audit(
        None,
        tmp_path / "texts.jsonl",
        predictions=write(tmp_path / "p.jsonl", file),
        out=tmp_path / "report",
        **FAST,
    )
    assert values(made)["accuracy"] == 1.0
    odd = write(tmp_path / "o.jsonl", [{"p_joy": 0.8, "p_fear": 0.2} for _ in texts])
    with pytest.raises(ValueError, match="to be among those of"):
        audit(None, tmp_path / "texts.jsonl", predictions=odd, out=tmp_path / "no", **FAST)


def test_a_file_may_stand_alone_and_a_table_in_its_place(tmp_path):
    import pandas as pd

    file = write(tmp_path / "run.jsonl", rows())
    held = {"file": audit(file, out=tmp_path / "file", **FAST)}
    for name, table in {
        "frame": pd.DataFrame(rows()),
        "rows": rows(),
        "more": rows(note=["x"] * N),
    }.items():
        held[name] = audit(predictions=table, out=tmp_path / name, **FAST)
    assert {tuple(values(made).items()) for made in held.values()} == {
        tuple(values(held["file"]).items())
    }
    marks = {name: made.audit["model"]["fingerprint"] for name, made in held.items()}
    assert marks["frame"] == marks["rows"] != marks["more"]
    assert not (
        tmp_path / "rows" / "audit.yaml"
    ).exists()  # no command makes a table in memory again


def test_predictions_about_other_texts_are_refused(tmp_path):
    texts = [
        {"id": f"n{i}", "text": f"text number {i}", "label": ("good", "bad")[i % 2]}
        for i in range(30)
    ]
    write(tmp_path / "texts.jsonl", texts)
    scores = [
        {"p_good": 0.8, "p_bad": 0.2} if i % 2 == 0 else {"p_good": 0.4, "p_bad": 0.6}
        for i in range(30)
    ]
    # Without ids they meet by their places; what was asked has words around the text.
    told = [
        {**row, "prompt": f"Is this good?\n text  number {i}\nAnswer:"}
        for i, row in enumerate(scores)
    ]
    made = audit(
        None,
        tmp_path / "texts.jsonl",
        predictions=write(tmp_path / "p.jsonl", told),
        out=tmp_path / "report",
        **FAST,
    )
    assert values(made)["accuracy"] == 1.0
    for name, other in (
        ("places", told[::-1]),
        ("ids", [{**row, "id": f"n{i}"} for i, row in enumerate(told[::-1])]),
    ):
        file = write(tmp_path / f"{name}.jsonl", other)
        with pytest.raises(ValueError, match="'text number"):
            audit(None, tmp_path / "texts.jsonl", predictions=file, out=tmp_path / "no", **FAST)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "a model and a data set, or `predictions`"),
        ({"model": "m"}, "a model and a data set, or `predictions`"),
        (
            {"model": "m", "dataset": "d", "score_columns": "p"},
            "Expected no `score_columns` without `predictions`",
        ),
        (
            {"model": "m", "dataset": "d", "predictions": "p.csv"},
            "'d' and 'p.csv'",
        ),
        ({"model": {"p_a": [0.5] * 99}}, "or a table., but got {'p_a'"),
        ({"predictions": "p.xlsx"}, "predictions at p.xlsx"),
        (
            {"predictions": "p.csv", "split": "test"},
            "`split` for p.csv alone",
        ),
        (
            {"predictions": "p.csv", "dataset": "d", "revision": "r"},
            "Expected no `revision` for p.csv, but got 'r'",
        ),
        ({"prediction": "p.csv"}, "Did you mean 'predictions'"),
    ],
)
def test_what_is_audited_is_said(tmp_path, arguments, sentence):
    with pytest.raises((ValueError, FileNotFoundError), match=sentence):
        audit(out=tmp_path / "no", **arguments)
    assert not (tmp_path / "no").exists()


def test_contrast_sets_need_no_model(tmp_path):
    items = rows(pair=[f"s{i // 3}" for i in range(N)])
    made = audit(predictions=write(tmp_path / "run.jsonl", items), groups_column="pair", questions=["difficulty"],
                 out=tmp_path / "report", **FAST)  # fmt: skip
    right = (TABLE.argmax(axis=1) == LABELS).reshape(-1, 3)
    assert {h.key: h.estimate.value for h in result_of(made, "difficulty").headlines}[
        "contrast_consistency"
    ] == (pytest.approx(right.all(axis=1).mean()))


def test_ragged_choices_without_texts(tmp_path):
    items = [{"logits": [1.0, 0.0, 2.0][: 2 + i % 2], "label": i % 2} for i in range(20)]
    made = audit(predictions=write(tmp_path / "r.jsonl", items), out=tmp_path / "report", **FAST)
    logits, labels = [item["logits"] for item in items], [item["label"] for item in items]
    assert values(made)["ece"] == pytest.approx(
        calibration_error(logits, labels, scores="logits").ece
    )
    assert made["cues"].status == "skipped"


def test_a_log_of_generated_answers_has_its_contrast_sets_and_says_why_not_the_rest(tmp_path):
    # Sets of two: of 12 originals the first 9 are right, of their revisions the first 6.
    samples = []
    for row in range(24):
        right = row // 2 < (6 if row % 2 else 9)
        document = {"pair_id": f"p{row // 2}", "role": ("original", "perturbed")[row % 2]}
        request = {"arg_0": f"Is {row} odd?", "arg_1": {"until": ["\n"]}}
        samples.append(
            {"doc_id": row, "doc": document, "target": "yes", "arguments": {"gen_args_0": request}, "resps": [["x"]],
             "filtered_resps": ["yes" if right else "no"], "filter": "none", "metrics": ["exact_match"],
             "exact_match": float(right)}
        )  # fmt: skip
    made = audit(
        predictions=write(tmp_path / "samples_odd.jsonl", samples), out=tmp_path / "report", **FAST
    )
    assert {one.question: one.status for one in made.outcomes} == {
        "calibration": "skipped", "shortcuts": "skipped", "cues": "skipped", "probes": "skipped",
        "difficulty": "answered", "behavior": "skipped",
    }  # fmt: skip
    assert "have no confidence" in made["calibration"].reason
    told = result_of(made, "difficulty")
    figures = {headline.key: headline.estimate.value for headline in told.headlines}
    assert figures["contrast_consistency"] == 6 / 12
    page = made.page.read_text("utf-8")
    assert "62.5% of 24 answers are correct" in page  # 15 of 24
    (broken,) = (each for part in told.parts for each in part.examples if each.key == "broken_sets")
    assert {(one.label, one.prediction, one.confidence) for one in broken.examples} == {
        ("yes", "no", None)
    }


def test_copies_of_a_text_count_once_where_groups_say_so(tmp_path):
    rows = [
        {"text": f"a text {row % 30}", "confidence": 0.8, "correct": int(row % 30 < 24)}
        for row in range(300)
    ]
    how = {"predictions": rows, "questions": ["calibration"], "n_resamples": 30, "progress": False}
    grouped = []
    rightreasons.audit(out=tmp_path / "grouped", tell=grouped.append, groups_column="text", **how)
    assert any(line.startswith("calibration: 30 items detect") for line in grouped)


def test_empty_texts_are_no_wrong_answers(tmp_path):
    model = rightreasons.models.as_scorer(
        lambda texts: [[0.9, 0.1]] * len(texts), label_names=("bad", "good")
    )
    rows = [{"text": "" if row % 5 == 0 else f"a text {row}", "label": "bad"} for row in range(50)]
    result = rightreasons.audit(
        model,
        rows,
        questions=["calibration"],
        out=tmp_path / "report",
        n_resamples=30,
        progress=False,
    )
    assert result["calibration.accuracy"].estimate.value == 1.0
    assert result.to_dict()["answers"]["n_items"] == 40


@pytest.mark.parametrize("kind", ["scores", "confidence"])
def test_no_object_of_python_is_made_for_a_row(tmp_path, kind):
    n_items = 100_000
    shares = np.random.default_rng(0).dirichlet((2, 1, 1), n_items)
    columns = {
        "id": [f"item {row}" for row in range(n_items)],
        **{f"p_{name}": shares[:, k] for k, name in enumerate("abc")},
        "label": np.array(["a", "b", "c"])[shares.cumsum(axis=1).argmax(axis=1) % 3],
    }
    if kind == "confidence":
        columns = {
            "id": columns["id"],
            "confidence": shares.max(axis=1),
            "correct": np.arange(n_items) % 2,
        }
    table = pd.DataFrame(columns)
    table[:300].to_csv(tmp_path / "few.csv", index=False)
    table.to_csv(tmp_path / "many.csv", index=False)
    del columns, table
    how = {"questions": ["calibration"], "n_resamples": 20, "progress": False}
    rightreasons.audit(
        tmp_path / "few.csv", out=tmp_path / "few", **how
    )  # imports, fonts, templates
    gc.collect()
    before, most, ended = (
        sys.getallocatedblocks(),
        0,
        threading.Event(),
    )  # numpy's and Arrow's columns are none

    def watch():
        nonlocal most
        while not ended.wait(0.0005):
            most = max(most, sys.getallocatedblocks() - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        rightreasons.audit(tmp_path / "many.csv", out=tmp_path / "many", **how)
    finally:
        ended.set()
        watcher.join()
    assert most < n_items / 2
