"""A suite that is read part by part gives the pass rates of the whole, whatever its format and the parts."""

import dataclasses

import pytest

from rightreasons.analysis.behavior.pass_rates import PassCounts, pass_rates
from rightreasons.data.suites.streaming import stream_suite
from rightreasons.data.suites.suite import Case, Functionality, Suite
from rightreasons.measuring.behavior import measure_behavior
from rightreasons.measuring.streams.suites import behavior_stream
from rightreasons.models.loading import load_classifier
from tiny_models import save_tiny_classifier
from tiny_suites import behavior_suite

PARTS = [(0, [7]), (0, [3, 4]), (2, [7]), (2, [3, 4]), (3, [6, 1]), (4, [7]), (4, [2])]
"""The parts of seven cases of functionalities of 10, 4, 10, 10 and 10: the number of the first, and cases of each."""


@pytest.fixture(scope="module")
def classifiers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return {
        names: load_classifier(save_tiny_classifier(folder / str(len(names)), label_names=names), device="cpu")
        for names in (("negative", "positive"), ("negative", "neutral", "positive"))
    }


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".parquet"])
@pytest.mark.parametrize("names", [("negative", "positive"), ("negative", "neutral", "positive")])
def test_parts_have_the_pass_rates_of_the_whole(classifiers, tmp_path, suffix, names):
    # Only its first functionality tells that the suite has three sentiments, over which a model of two is spread.
    suite, classifier = behavior_suite(), classifiers[names]
    whole = measure_behavior(classifier, suite, progress=False)
    stream = stream_suite(suite.write(tmp_path / f"suite{suffix}"), batch_size=7)
    parts = [(first, [len(each.cases) for each in part.functionalities]) for first, part in stream]
    assert parts == PARTS
    assert (stream.n_cases, len(stream)) == (suite.n_cases, suite.n_examples)
    found = behavior_stream(classifier, stream, progress=False, out=tmp_path / "kept")
    assert found.result == dataclasses.replace(whole.result, passed=[])
    assert found.matched == whole.matched
    assert behavior_stream(classifier, stream, progress=False, out=tmp_path / "kept").result == found.result


def test_examples_that_fail_are_named_as_in_the_whole(tmp_path):
    # The second part begins within the second functionality, with the text that fails.
    groups = {"plain": ("a man", "the film"), "not": ("not a man", "not the film", "the plot")}
    suite = Suite(
        "two",
        ("text",),
        tuple(
            Functionality(name, "C", "MFT", {"name": "equal"}, tuple(Case(f"c{t}", ((t,),), (0,)) for t in texts))
            for name, texts in groups.items()
        ),
        ("negative", "positive"),
    )
    classifier = load_classifier(save_tiny_classifier(tmp_path / "model"), device="cpu")
    measure_behavior(classifier, suite, progress=False)  # the trial of the model
    broken = classifier.tokenizer("not the film")["input_ids"]
    forward = classifier.model.forward

    def fails(input_ids=None, **inputs):
        if any(row[: len(broken)].tolist() == broken for row in input_ids):
            raise RuntimeError("Expected another text.")
        return forward(input_ids=input_ids, **inputs)

    classifier.model.forward = fails
    whole = measure_behavior(classifier, suite, progress=False, fail_fast=False)
    stream = stream_suite(suite.write(tmp_path / "suite.jsonl"), batch_size=3)
    found = behavior_stream(classifier, stream, progress=False, fail_fast=False)
    assert list(found.failures) == list(whole.failures) == ["1-cnot the film-0"]
    assert found.result == dataclasses.replace(whole.result, passed=[])


def test_counts_of_shards_merge():
    table = behavior_suite().table()
    passed = pass_rates([[0.2, 0.3, 0.5]] * len(table), table).passed
    counts = PassCounts().add(table, passed)
    both = counts.merge(counts).result()
    assert [each.n_cases for each in both.functionalities] == [
        2 * each.n_cases for each in counts.result().functionalities
    ]
    with pytest.raises(TypeError, match="Expected PassCounts to merge with, but got int"):
        counts.merge(3)
    other = dataclasses.replace(table, test_types=("DIR", *table.test_types[1:]))
    with pytest.raises(ValueError, match="Expected one class and test type of the functionality 'words', but it has"):
        counts.merge(PassCounts().add(other, passed))
    with pytest.raises(ValueError, match="Expected at least one counted case"):
        PassCounts().result()


def test_bad_suites_are_told_as_by_reading_them_whole(tmp_path):
    with pytest.raises(FileNotFoundError, match="Expected a suite at"):
        stream_suite(tmp_path / "none.jsonl")
    file = behavior_suite().write(tmp_path / "suite.jsonl")
    lines = file.read_text("utf-8").splitlines()
    file.write_text("\n".join([*lines, lines[1]]), "utf-8")
    with pytest.raises(ValueError, match="Expected each `functionality` once, but 'words' comes again"):
        stream_suite(file)
    file.write_text(lines[0], "utf-8")
    with pytest.raises(ValueError, match="Expected at least one functionality in the suite 'tiny'"):
        stream_suite(file)
