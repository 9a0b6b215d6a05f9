"""The scorer and the metrics for inspect_ai, inside inspect_ai where it is installed."""

import math

import pytest

from rightreasons.calibration.errors import calibration_error
from rightreasons.calibration.proper_scores import selective_scores
from rightreasons.io.harnesses.inspect_logs import letter_log_probabilities

# Log-probabilities of A and B, and the right letter: softmax gives 3/4, 3/5 and 1/2 to the answers A, B and A.
ITEMS = [
    ((math.log(0.6), math.log(0.2)), "A"),
    ((math.log(0.3), math.log(0.45)), "A"),
    ((-1.0, -1.0), "A"),
]


def token(letter, pair):
    top = [{"token": name, "logprob": value} for name, value in zip("AB", pair, strict=True)]
    return {"token": letter, "logprob": pair["AB".index(letter)], "top_logprobs": top}


def test_letters_of_an_output():
    output = {"choices": [{"logprobs": {"content": [token("A", ITEMS[0][0])]}}]}
    assert letter_log_probabilities(output, 2, "A") == dict(zip("AB", ITEMS[0][0], strict=True))
    assert letter_log_probabilities(output, 2, "") == {}


def test_inside_the_tool(tmp_path):
    inspect_ai = pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.model._model_output import Logprobs
    from inspect_ai.solver import multiple_choice

    from rightreasons.integrations.inspect_ai import choice_scorer, figure

    outputs, samples = [], []
    for number, (pair, right) in enumerate(ITEMS):
        letter = "AB"[int(pair[1] > pair[0])]
        output = ModelOutput.from_content("mockllm/model", f"ANSWER: {letter}")
        output.choices[0].logprobs = Logprobs.model_validate({"content": [token(letter, pair)]})
        output.usage = ModelUsage(
            input_tokens=1, output_tokens=1, total_tokens=2
        )  # not counted by a tokenizer
        outputs.append(output)
        samples.append(Sample(id=f"q{number}", input="Why?", choices=["x", "y"], target=right))
    task = inspect_ai.Task(
        dataset=MemoryDataset(samples),
        solver=multiple_choice(),
        scorer=choice_scorer(),
        metrics=[figure("ece"), figure("auroc")],
    )
    model = get_model("mockllm/model", custom_outputs=outputs)
    log = inspect_ai.eval(
        task,
        model=model,
        log_dir=str(tmp_path),
        display="none",
        max_samples=1,
        max_connections=1,
        log_format="json",
    )[0]
    assert log.status == "success", log.error
    figures = {name: one.value for name, one in log.results.scores[0].metrics.items()}
    rows, labels = [list(pair) for pair, _ in ITEMS], [0, 0, 0]
    assert figures["ece"] == pytest.approx(calibration_error(rows, labels, scores="logits").ece)
    assert figures["auroc"] == selective_scores(rows, labels, scores="logits").auroc
