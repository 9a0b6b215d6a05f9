"""The real lm-evaluation-harness and inspect_ai, asked with our tasks, and their logs compared with a direct run."""

import contextlib
import os


def differences(one, two, where="", *, tolerance=2e-4):
    """Compare what two reports say: numbers to the rounding of 32 bits, everything else exactly."""
    if isinstance(one, dict) and isinstance(two, dict) and one.keys() == two.keys():
        pairs = [(one[key], two[key], f"{where}/{key}") for key in one]
    elif isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        pairs = [(one[n], two[n], f"{where}/{n}") for n in range(len(one))]
    else:
        near = isinstance(one, float) and isinstance(two, float) and abs(one - two) <= tolerance
        return [] if near or one == two else [(where, one, two)]
    return [each for pair in pairs for each in differences(*pair, tolerance=tolerance)]


@contextlib.contextmanager
def inside(folder):
    """Work in a folder (contextlib.chdir, which Python 3.10 lacks)."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def task_in(folder):
    """The file that declares the task of a folder."""
    return next(path for path in sorted(folder.iterdir()) if path.name.startswith("rightreasons_"))


def lm_eval_model(scorer):
    """A model of ours in lm-evaluation-harness."""
    from lm_eval.models.huggingface import HFLM

    return HFLM(pretrained=scorer.model, tokenizer=scorer.tokenizer, batch_size=16)


def ask_lm_eval(model, declared, folder):
    """Ask a task, from its folder as its first lines say, and return its samples file."""
    import lm_eval
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    with inside(declared.parent):
        manager = TaskManager(include_path=".", include_defaults=False)
        found = lm_eval.simple_evaluate(
            model=model, tasks=[declared.stem], task_manager=manager, bootstrap_iters=0, log_samples=True
        )
    tracker = EvaluationTracker(output_path=str(folder / "logs"))
    tracker.general_config_tracker.model_name_sanitized = "model"
    tracker.date_id = "2026"
    tracker.save_results_samples(declared.stem, found["samples"][declared.stem])
    return str(next((folder / "logs").rglob("samples_*.jsonl")))


def inspect_model(folder):
    """A folder of weights in inspect_ai."""
    from inspect_ai.model import get_model

    return get_model(f"hf/{folder}", device="cpu", do_sample=False)


def ask_inspect(model, declared, folder, **how):
    """Ask a task, from its folder as its first lines say, and return its log."""
    import inspect_ai

    with inside(declared.parent):
        (log,) = inspect_ai.eval(
            declared.name, model=model, log_dir=str(folder / "logs"), display="none", log_format="eval", **how
        )
    assert log.status == "success", log.error
    return log.location.removeprefix("file://")
