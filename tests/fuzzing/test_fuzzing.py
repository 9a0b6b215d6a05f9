"""The short form of `make -C benchmarks fuzz`: a few inputs of each target, the same in every run and bounds."""

import os

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from fuzzing.judging import NotOneSentence, Target, judge
from fuzzing.targets import load_targets


@pytest.mark.parametrize("name", sorted(load_targets()))
def test_every_input_has_the_right_figure_or_one_sentence(name, tmp_path, monkeypatch):
    target = load_targets()[name]
    folders = iter(range(10**6))

    def attempt(value):
        folder = tmp_path / str(next(folders))
        folder.mkdir()
        here = os.getcwd()
        os.chdir(folder)
        try:
            judge(target, value, folder)
        finally:
            os.chdir(here)

    few = settings(max_examples=target.examples, deadline=None, database=None, derandomize=True,
                   suppress_health_check=list(HealthCheck), phases=(Phase.generate,))  # fmt: skip
    few(given(target.inputs)(attempt))()


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (KeyError("x"), "KeyError instead of a sentence"),
        (ValueError("invalid literal"), "not one sentence of ours"),
        (ValueError("Expected " + "x" * 20_000), "a sentence of 20,009 characters"),
        (MemoryError(), "MemoryError instead of a sentence"),
        (AssertionError("0.5, not 0.25"), "a wrong result: 0.5, not 0.25"),
    ],
)
def test_what_does_not_pass(tmp_path, error, told):
    def fail(value, folder):
        raise error

    with pytest.raises(NotOneSentence, match=told):
        judge(Target("one", None, fail), None, tmp_path)


def test_what_takes_too_long_or_too_much(tmp_path):
    def endless(value, folder):
        while True:
            pass

    with pytest.raises(NotOneSentence, match="took more than 0.2 seconds"):
        judge(Target("slow", None, endless), None, tmp_path, seconds=0.2)
    with pytest.raises(NotOneSentence, match="MemoryError"):
        judge(Target("large", None, lambda value, folder: bytearray(1 << 34)), None, tmp_path)
