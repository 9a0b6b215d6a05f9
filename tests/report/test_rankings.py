"""Several reports compared: the sentence concludes no more than the corrected tests, and names items that show it."""

import html
import json
import re
import shutil
from urllib.parse import unquote

import numpy as np
import pytest
from scipy import stats

from command_line import run
from rightreasons.core.significance import holm
from rightreasons.core.store import digest_files, write_json, write_text
from rightreasons.page.parts import ItemFigure
from rightreasons.report.comparison import Comparison, compare
from rightreasons.report.items.values import format_item_values, get_items_path
from rightreasons.report.runner import audit
from rightreasons.report.schema import add_digest, read_audit
from rightreasons.report.tasks import ModelsByTasks, find_reports, models_by_tasks

pytestmark = pytest.mark.usefixtures("unrendered")

FEW = {"n_resamples": 50}

N = 120


def write_report(root, name, is_correct, *, first=0, text="text {}", labels=("no", "yes")):
    """Audit stored predictions of which some are correct, and return the folder of the report."""
    rows = []
    for n, correct in enumerate(is_correct, start=first):
        label = n % 3 == 0
        confidence = 0.6 + 0.003 * (n % 100)
        p_yes = confidence if label == correct else 1 - confidence
        row = {"id": f"item {n}", "text": text.format(n), "label": labels[label]}
        rows.append({**row, labels[0]: round(1 - p_yes, 4), labels[1]: round(p_yes, 4)})
    file = root / f"{name}.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    options = {"questions": ["calibration"], "n_resamples": 20, "progress": False}
    return audit(predictions=str(file), out=root / name, **options).out


def add_question(report, tone, claim="", values=None, question="behavior", example=""):
    """Give a report a verdict on another question, with a value of its figure for each item."""
    record = json.loads((report / "audit.json").read_text("utf-8"))
    answer = record["questions"][0]
    result = {
        "verdict": {"tone": tone, "label": f"Is {tone}", "summary": ""},
        "headlines": [],
        "parts": [],
        "limits": [],
        "data": {},
        "finding": {"claim": claim, "evidence": "", "figure": "made_up", "size": 0.5, "plot": "",
                    "pair": [], "actions": [], "contrast": None},
        "by_item": [],
    }  # fmt: skip
    if example:
        result["finding"]["pair"] = [
            {"id": example, "text": "text", "label": "no", "prediction": "no", "confidence": 0.5,
             "text_pair": "", "marks": [{"start": 0, "end": 4, "kind": "cue", "weight": 1.0, "note": ""}],
             "note": "Its note."}
        ]  # fmt: skip
    if values is not None:
        ids = [f"item {n}" for n in range(len(values))]
        figure = ItemFigure.from_arrays("made_up", "Made-up rate", "lower", ids, values)
        result["by_item"] = [figure.to_dict()]
        estimate = {
            "value": float(np.mean(values)),
            "low": None,
            "high": None,
            "level": 0.95,
            "method": "",
        }
        headline = {"key": "made_up", "name": "Made-up rate", "estimate": estimate, "unit": "fraction", "better": "lower",
                    "definition": "By hand.", "source": "Counted", "split": "data", "n": len(values), "no_interval": "Few."}  # fmt: skip
        result["headlines"] = [headline]
        write_text(report / get_items_path(question), format_item_values([figure]))
    record["questions"].append(
        {**answer, "question": question, "title": f"Is it {question}?", "result": result}
    )
    (report / "audit.json").unlink()
    names = {
        name: digest for name, digest in digest_files(report).items() if not name.startswith(".")
    }
    write_json(report / "audit.json", add_digest({**record, "files": names}))
    return report


def copy(report, folder):
    shutil.copytree(report, folder)
    return folder


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Four models: the first is correct on 110 of 120 items, the others on subsets of these and some more."""
    root = tmp_path_factory.mktemp("reports")
    n = np.arange(N)
    correct = {
        "top": n < 110,
        # 5 of the 110 are missed, and 1 more is answered.
        "near": ((n >= 5) & (n < 110)) | (n == 115),
        "far": (n >= 40) & (n < 110),
        "low": n % 3 == 0,
    }
    return {name: write_report(root, name, mask) for name, mask in correct.items()}


def mcnemar(b, c):
    """The mid-p value of b and c discordant items, from the binomial distribution."""
    return (
        2 * stats.binom.cdf(min(b, c), b + c, 0.5) - stats.binom.pmf(min(b, c), b + c, 0.5)
        if b != c
        else 1.0
    )


def test_the_heading_names_the_models_that_the_corrected_tests_distinguish(reports):
    table = compare(reports["far"], reports["near"], reports["top"], **FEW)

    comparison = table.comparisons[0]
    assert [model.name for model in comparison.ranking.models] == ["top", "near", "far"]
    p_values = [mcnemar(5, 1), mcnemar(40, 0), mcnemar(36, 0)]
    tests = comparison.ranking.tests
    assert [test.models for test in tests] == [("top", "near"), ("top", "far"), ("near", "far")]
    assert [test.figure.p_value for test in tests] == pytest.approx(p_values)
    assert [test.figure.holm_p_value for test in tests] == pytest.approx(
        holm(np.array(p_values)).tolist()
    )
    # The mid-p value of 5 against 1 is 0.125, so that these two are not distinguished.
    assert comparison.accuracy.kind == "partly"
    assert table.heading.startswith(
        "top (91.7%) is not significantly more accurate than near (88.3%), but more accurate than far (58.3%)."
    )


def test_the_best_model_is_named_only_if_it_beats_all_others(reports):
    best = compare(reports["low"], reports["top"], reports["far"], **FEW)
    assert best.heading.startswith("top is the most accurate (91.7%).")
    tied = compare(reports["near"], reports["top"], copy_of(reports["near"]), **FEW)
    assert tied.comparisons[0].accuracy.kind == "tied"
    assert tied.heading.startswith("The accuracies of top (91.7%), near")
    assert "do not differ significantly" in tied.heading


def copy_of(report):
    folder = report.with_name(f"{report.name}-again")
    if not folder.exists():
        shutil.copytree(report, folder)
    return folder


def test_models_with_the_same_answers_are_said_to_have_them(reports):
    names = [reports["top"], copy_of(reports["top"]), reports["top"]]
    table = compare(*names, **FEW)
    assert "give the same answers on 120 of 120 items" in table.heading
    assert table.comparisons[0].disagreements.n_items == 0
    # Two copies have the folder in their name, and the same folder a number.
    assert table.models == ["top (top)", "top (top-again)", "top (top) (2)"]


def test_a_problem_of_the_best_model_is_compared_with_the_others(reports, tmp_path):
    flips = np.arange(N) < 60
    top = add_question(
        copy(reports["top"], tmp_path / "top"), "bad", "follows a cue", flips, example="item 7"
    )
    far = add_question(
        copy(reports["far"], tmp_path / "far"), "good", "follows none", flips & False
    )
    low = copy(reports["low"], tmp_path / "low")

    table = compare(top, far, low, out=tmp_path / "page", **FEW)

    assert table.heading == (
        "top is the most accurate (91.7%), but follows a cue, significantly more than far (0.0%). "
        "low was not tested for this."
    )
    comparison = table.comparisons[0]
    assert comparison.reasons.kind == "problem"
    # 60 items differ. Those from 40 on are answered correctly by both, and by "low" if divisible by 3.
    assert comparison.evidence.n_items == 60
    first = comparison.evidence.items[0]
    assert all(answer.is_correct for answer in first.answers)
    assert [answer.value for answer in first.answers] == [1.0, 0.0, None]
    page = (tmp_path / "page" / "index.html").read_text("utf-8")
    assert "One item that shows it" in page
    assert "60 items that show this" in page
    rows = re.findall(r'<section class="card" id="models".*?</section>', page, re.DOTALL)[0]
    assert [name in rows for name in ("50.0%", "0.0%")] == [True, True]


def test_a_claim_without_a_significant_difference_says_so(reports, tmp_path):
    top = add_question(
        copy(reports["top"], tmp_path / "top"), "bad", "follows a cue", np.arange(N) < 60
    )
    far = add_question(
        copy(reports["far"], tmp_path / "far"), "bad", "follows it too", np.arange(N) < 58
    )

    table = compare(top, far, reports["low"], **FEW)

    # 2 against 0 discordant items: mid-p = 0.25.
    assert "but follows a cue, not significantly more than far (48.3%)." in table.heading
    assert table.comparisons[0].evidence.n_items == 0


@pytest.mark.parametrize(
    ("tones", "kind", "sentence"),
    [
        ((None, None, None), "untested", "The reports do not test the reasons for the answers."),
        (("good", "good", "good"), "none", "No report finds a problem with the reasons."),
        (("good", "good", None), "open", "Whether the reasons are right remains open."),
        (("good", "neutral", "good"), "open", "Whether the reasons are right remains open."),
        (("warn", "good", "good"), "open", "Whether the reasons are right remains open."),
        (("good", "bad", None), "problem", "far has it. No problem is found in top. low was not tested for this."),
        (("bad", "bad", "good"), "problem", "The report of far also finds a problem. No problem is found in low."),
    ],
)  # fmt: skip
def test_verdicts_without_a_tested_figure_are_repeated_and_not_extended(
    tones, kind, sentence, reports, tmp_path
):
    folders = []
    for name, tone in zip(("top", "far", "low"), tones, strict=True):
        report = copy(reports[name], tmp_path / name)
        folders.append(report if tone is None else add_question(report, tone, "has it"))

    table = compare(*folders, **FEW)

    assert table.comparisons[0].reasons.kind == kind
    assert table.heading.endswith(sentence)


def test_an_amber_verdict_is_a_finding_if_another_model_is_significantly_better(reports, tmp_path):
    values = np.arange(N) % 4 > 0
    far = add_question(copy(reports["far"], tmp_path / "far"), "warn", "may follow it", values)
    low = add_question(copy(reports["low"], tmp_path / "low"), "neutral", "is open", values & False)

    table = compare(reports["top"], far, low, **FEW)

    assert table.comparisons[0].reasons.kind == "doubt"
    assert "far may follow it, significantly more than low (0.0%)." in table.heading


def test_of_equally_accurate_models_the_one_with_fewer_problems_comes_first(reports, tmp_path):
    poor = add_question(copy(reports["top"], tmp_path / "poor"), "bad", "has it")
    fine = add_question(copy(reports["top"], tmp_path / "fine"), "good", "has none")

    table = compare(poor, reports["far"], fine, **FEW)

    assert table.models == ["top (fine)", "top (poor)", "far"]


def test_accuracies_are_those_of_the_reports_to_the_digit(reports, tmp_path):
    folders = [reports["far"], reports["top"], reports["low"]]
    table = compare(*folders, out=tmp_path, **FEW)
    page = (tmp_path / "index.html").read_text("utf-8")
    for model in table.comparisons[0].ranking.models:
        record = read_audit(model.report)
        assert model.accuracy.to_dict() == record["answers"]["accuracy"]
        low, high = (f"{100 * model.accuracy.low:.1f}%", f"{100 * model.accuracy.high:.1f}%")
        assert f"{100 * model.accuracy.value:.1f}% <span" in page
        assert f"[{low}, {high}]" in page


def test_models_are_compared_on_the_items_of_all_and_ranked_by_these(tmp_path):
    n = np.arange(N)
    # On all of its items, "wide" is correct on 100 of 120; on the last 60, on 40. "late" is correct on 50.
    wide = write_report(tmp_path, "wide", n < 100)
    late = write_report(tmp_path, "late", n[:60] < 50, first=60)
    low = write_report(tmp_path, "low", n < 20)

    table = compare(wide, late, low, out=tmp_path / "page", **FEW)

    ranking = table.comparisons[0].ranking
    assert ranking.n_items == 60
    assert [(model.name, model.common_accuracy.value) for model in ranking.models] == [
        ("late", 50 / 60), ("wide", 40 / 60), ("low", 0.0),
    ]  # fmt: skip
    assert ranking.models[1].accuracy.value == 100 / 120
    page = html.unescape((tmp_path / "page" / "index.html").read_text("utf-8"))
    assert "The reports contain up to 120 items" in page
    assert "Accuracy on the 60 common items" in page
    # Files of predictions have different names, which are no names of tasks.
    assert table.tasks == ["60 common items"]


def test_models_on_other_items_are_said_not_to_be_compared(reports, tmp_path):
    other = write_report(tmp_path, "other", np.arange(N) < 90, text="another {}")
    swapped = write_report(tmp_path, "swapped", np.arange(N) < 90, labels=("yes", "no"))

    table = compare(reports["top"], other, reports["far"], swapped, **FEW)

    assert table.models[:2] == ["top", "far"]
    assert table.heading.endswith(
        "other and swapped were audited on other items and are not compared."
    )
    assert len(table.comparisons) == 3
    alone = compare(reports["top"], other, swapped, **FEW)
    assert "were audited on different items, so their accuracies are not compared." in alone.heading
    assert [comparison.ranking.tests for comparison in alone.comparisons] == [(), (), ()]


def test_a_report_without_its_answers_is_listed_and_not_compared(reports, tmp_path):
    bare = copy(reports["top"], tmp_path / "bare")
    record = json.loads((bare / "audit.json").read_text("utf-8"))
    record["dataset"]["splits"][0]["predictions"] = None
    (bare / "audit.json").unlink()
    write_json(bare / "audit.json", add_digest(record))

    table = compare(reports["top"], reports["low"], bare, out=tmp_path / "page", **FEW)

    assert table.models == ["top (top)", "low", "top (bare)"]
    assert table.heading.startswith("top (top) is more accurate than low")
    page = html.unescape((tmp_path / "page" / "index.html").read_text("utf-8"))
    assert "compared item by item, because the report does not store which answers" in page


def test_every_link_of_the_page_leads_somewhere(reports, tmp_path):
    flips = np.arange(N) < 60
    top = add_question(copy(reports["top"], tmp_path / "a report"), "bad", "follows it", flips)
    far = add_question(
        copy(reports["far"], tmp_path / "far"), "good", "follows none", flips & False
    )
    for folders, out in (((top, far, reports["low"]), "three"), ((top, far), "two")):
        compare(*folders, out=tmp_path / out, **FEW)
        page = (tmp_path / out / "index.html").read_text("utf-8")
        ids = re.findall(r' id="([^"]+)"', page)
        assert len(ids) == len(set(ids))
        addresses = [html.unescape(text) for text in re.findall(r'href="([^"]+)"', page)]
        inner = [unquote(address[1:]) for address in addresses if address.startswith("#")]
        assert set(inner) <= set(ids)
        assert any(name.startswith("evidence-item-") for name in inner)
        outer = [a for a in addresses if not a.startswith(("#", "http", "figures"))]
        assert outer
        for address in outer:
            path, _, _ = address.partition("#")
            assert (tmp_path / out / unquote(path)).is_file(), address


def test_the_python_function_the_file_and_a_notebook(reports, tmp_path):
    name = "<b>far"
    far = copy(reports["far"], tmp_path / "far")
    record = json.loads((far / "audit.json").read_text("utf-8"))
    record["model"]["name"] = name
    (far / "audit.json").unlink()
    write_json(far / "audit.json", add_digest(record))

    table = compare(reports["top"], far, reports["low"], out=tmp_path / "page", **FEW)

    assert isinstance(table, ModelsByTasks)
    assert str(table) == table.heading
    content = json.loads((tmp_path / "page" / "comparison.json").read_text("utf-8"))
    assert content == table.to_dict()
    assert content["comparisons"][0]["heading"] == table.heading
    shown = table._repr_html_()
    assert name not in shown
    assert html.escape(table.heading) in shown
    assert name not in (tmp_path / "page" / "index.html").read_text("utf-8")
    two = compare(reports["top"], far, **FEW)
    assert isinstance(two, Comparison)
    assert str(two) in html.unescape(two._repr_html_())
    with pytest.raises(ValueError, match="two reports"):
        compare(reports["top"])


def test_two_models_without_a_finding_about_reasons_are_told_apart_by_other_metrics(reports):
    comparison = compare(reports["top"], reports["low"], **FEW)
    assert comparison.heading.startswith("top is more accurate than low (91.7% and 33.3%).")
    # The section of all metrics concludes which model is better at how many.
    assert "top is better at" in comparison.heading
    # Of the 40 items of "low", 37 are among the 110 of "top".
    assert comparison.conclusion.disagreements.n_items == (110 - 37) + (40 - 37)


@pytest.mark.parametrize("epochs", [1, 3])
def test_unread_answers_and_epochs_count_as_in_the_reports(epochs, tmp_path):
    logs = tmp_path / "logs"
    for model, n_correct, unread in (
        ("org/a", 36, {1, 2, 3}),
        ("org/b", 24, {5}),
        ("org/c", 22, ()),
    ):
        write_inspect_log(logs / f"{model[-1]}.json", model, n_correct, unread, epochs)

    found = find_reports([logs], tmp_path / "reports", n_resamples=20)
    table = models_by_tasks(found, n_resamples=2000)

    ranking = table.comparisons[0].ranking
    assert ranking.n_items == 40 * epochs
    for model in ranking.models:
        assert model.accuracy == model.common_accuracy
    test = ranking.tests[0]
    assert test.models == ("org/a", "org/b")
    # Whatever the number of epochs, 40 samples are independent: 14 items of each epoch are
    # answered by the first model alone, and 2 by the second.
    assert test.figure.test == (
        "McNemar's mid-p test" if epochs == 1 else "sign flips of the differences"
    )
    two = compare(*found[:2], n_resamples=2000)
    accuracy = next(figure for figure in two.figures if figure.key == "accuracy")
    assert (accuracy.first.value, accuracy.second.value) == pytest.approx(
        [model.accuracy.value for model in ranking.models[:2]]
    )
    assert accuracy.p_value == pytest.approx(test.figure.p_value)


def write_inspect_log(path, model, n_correct, unread, epochs):
    """Write a log of inspect_ai in which every epoch has the same answers."""
    samples = []
    for epoch in range(1, epochs + 1):
        for n in range(40):
            target = "AB"[n % 2]
            is_correct = n * 7 % 40 < n_correct and n not in unread
            pick = target if is_correct else "BA"[n % 2]
            text = "I do not know." if n in unread else f"ANSWER: {pick}"
            message = {"message": {"role": "assistant", "content": text}, "stop_reason": "stop"}
            score = {"value": "C" if is_correct else "I", "answer": None if n in unread else pick}
            sample = {"id": n, "epoch": epoch, "input": f"Q {n}?", "choices": ["x", "y"]}
            output = {"choices": [message], "completion": text}
            samples.append(
                {**sample, "target": target, "output": output, "scores": {"choice": score}}
            )
    content = {"version": 2, "status": "success", "samples": samples}
    content["eval"] = {"task": "law", "model": model, "config": {"epochs": epochs}}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), "utf-8")


def test_a_folder_may_contain_reports_and_logs(reports, tmp_path, capsys):
    for name in ("top", "far"):
        copy(reports[name], tmp_path / "all" / name)
    hidden = tmp_path / "all" / "top" / ".set-aside" / "old"
    copy(reports["low"], hidden)
    write_inspect_log(tmp_path / "all" / "logs" / "a.json", "org/a", 30, (), 1)

    found = find_reports([tmp_path / "all"], tmp_path / "reports", n_resamples=20)
    table = models_by_tasks(found, **FEW)

    assert sorted(table.models) == ["far", "org/a", "top"]
    assert table.models[0] == "top"
    said = run(capsys, "compare", tmp_path / "all", "--n-resamples", "20")
    assert said.code == 0
    words = " ".join(said.out.split())
    assert words.startswith("top is more accurate than far (91.7% and 58.3%).")
    assert "org/a was audited on other items and is not compared." in words


def test_several_tasks_count_where_a_model_is_best(tmp_path):
    correct = {"a": (36, 12), "b": (12, 12), "c": (10, 36)}
    for name, counts in correct.items():
        for task, n_correct in zip(("law", "art"), counts, strict=True):
            path = tmp_path / "logs" / f"{task}-{name}.json"
            write_inspect_log(path, f"org/{name}", n_correct, (), 1)
            path.write_text(path.read_text("utf-8").replace('"law"', f'"{task}"'), "utf-8")

    found = find_reports([tmp_path / "logs"], tmp_path / "reports", n_resamples=20)
    table = models_by_tasks(found, **FEW)

    assert table.tasks == ["art", "law"]
    assert dict(table.count_best()) == {"org/c": 1, "org/a": 1}
    assert table.heading.startswith("org/c is the most accurate on 1 of 2 tasks and org/a on 1.")
    # The p-values are corrected for the three pairs of models on each of the two tasks.
    tests = [test.figure for comparison in table.comparisons for test in comparison.ranking.tests]
    smallest = min(tests, key=lambda figure: figure.p_value)
    assert smallest.holm_p_value == pytest.approx(6 * smallest.p_value)
    # The sum of both accuracies is 48, 46 and 24 of 80.
    assert table.models == ["org/a", "org/c", "org/b"]


@pytest.mark.browser
def test_the_item_is_found_from_the_first_screen(page, reports, tmp_path):
    flips = np.arange(N) < 60
    top = add_question(
        copy(reports["top"], tmp_path / "top"), "bad", "follows it", flips, example="item 45"
    )
    far = add_question(
        copy(reports["far"], tmp_path / "far"), "good", "follows none", flips & False
    )
    compare(top, far, reports["low"], out=tmp_path / "page", **FEW)
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto((tmp_path / "page" / "index.html").as_uri())
        assert not page.evaluate("document.documentElement.scrollWidth > innerWidth + 1")
        # "item 45" is an example of the report, and both models answer it correctly.
        assert page.locator(".shows .example").inner_text().startswith("text")
        page.get_by_role("link", name="60 items that show this").click()
        row = page.locator("tr:has(:target)")
        assert "item 45" in row.inner_text()
        assert row.is_visible()
    page.locator("tr:has(:target) a").first.click()
    page.wait_for_url("**/top/index.html**")


def test_reports_that_hold_only_audit_json_are_listed_and_not_compared(reports, tmp_path):
    bare = []
    for name in ("top", "low", "far"):
        folder = copy(reports[name], tmp_path / f"bare {name}")
        shutil.rmtree(folder / "predictions")
        bare.append(folder)

    table = compare(*bare, out=tmp_path / "page", **FEW)

    # The data have the names of the files of predictions, so that each report is another task.
    assert sorted(table.models) == ["far", "low", "top"]
    assert "cannot be compared item by item" in table.heading
    assert "do not store which answers are correct" in table.heading
    page = html.unescape((tmp_path / "page" / "index.html").read_text("utf-8"))
    assert page.count("<td") >= 3


def test_models_with_the_same_long_name_are_named_by_their_folders(reports, tmp_path):
    folders = []
    for name in ("words", "characters"):
        folder = copy(reports["top" if name == "words" else "low"], tmp_path / name)
        record = json.loads((folder / "audit.json").read_text("utf-8"))
        record["model"]["name"] = "TfidfVectorizer + LogisticRegression"
        record["model"]["logged"] = None
        (folder / "audit.json").unlink()
        write_json(folder / "audit.json", add_digest(record))
        folders.append(folder)

    comparison = compare(*folders, out=tmp_path / "page", **FEW)

    assert (comparison.first, comparison.second) == ("words", "characters")
    assert comparison.heading.startswith("words is more accurate than characters")
    page = html.unescape((tmp_path / "page" / "index.html").read_text("utf-8"))
    assert "name the reports on TfidfVectorizer + LogisticRegression by their folders." in page
    # The first of both is the more accurate one, whichever comes first in the call.
    difference = comparison.conclusion.ranking.list_accuracy_tests()[0].figure.difference.value
    swapped = compare(*folders[::-1], **FEW).make_view()
    assert swapped.accuracy_difference.value == pytest.approx(difference)
    assert swapped.accuracy_difference.low <= difference <= swapped.accuracy_difference.high


def test_the_item_comes_before_the_models(reports, tmp_path):
    compare(reports["top"], reports["low"], out=tmp_path / "page", **FEW)

    page = (tmp_path / "page" / "index.html").read_text("utf-8")

    assert page.index('id="pair-title"') < page.index('id="models"') < page.index('id="answers"')
