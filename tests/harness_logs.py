"""The real lm-evaluation-harness and inspect_ai, asked with our tasks, and their logs compared with a direct run."""

import contextlib
import os


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


def ask_lm_eval(model, declared, folder, **options):
    """Ask a task, from its folder as its first lines say; return its results and the file of its samples."""
    import lm_eval
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    with inside(declared.parent):
        manager = TaskManager(include_path=".", include_defaults=False)
        found = lm_eval.simple_evaluate(
            model=model,
            tasks=[declared.stem],
            task_manager=manager,
            bootstrap_iters=0,
            log_samples=True,
            **options,
        )
    tracker = EvaluationTracker(output_path=str(folder / "logs"))
    tracker.general_config_tracker.model_name_sanitized = "model"
    tracker.date_id = "2026-01-01T00-00-00.0"
    tracker.save_results_samples(declared.stem, found["samples"][declared.stem])
    samples = next((folder / "logs").rglob("samples_*.jsonl"))
    return found["results"][declared.stem], str(samples)


def ask_inspect(model, declared, folder, **how):
    """Ask a task, from its folder as its first lines say, and return its log."""
    import inspect_ai

    with inside(declared.parent):
        (log,) = inspect_ai.eval(
            declared.name,
            model=model,
            log_dir=str(folder / "logs"),
            display="none",
            log_format="eval",
            **how,
        )
    assert log.status == "success", log.error
    return log.location.removeprefix("file://")
