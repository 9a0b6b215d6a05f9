"""Does training on behavioral tests teach more than the tests? Our Table 3 and Figure 1, with a small encoder.

    python experiments/beluga/run.py --data-dir DATA [--tasks SENT PARA] [--cases 100] [--jobs 2] [--work FOLDER]
    python experiments/beluga/run.py --report

Every run of a task is one training (configuration x method x held-out part) of the packaged encoder's first layers on
a sample of CheckList's suite and of independent data. A finished run stays finished: kill it and call it again.
`--report` trains nothing: it writes the tables and figures from `stored/`, where the finished runs of each task are
kept.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import gzip
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from small_encoder import small_encoder

from report import write_report
from rightreasons.behavior.learning.kinds import IidData
from rightreasons.behavior.learning.options import PARTITIONS
from rightreasons.behavior.learning.plan import LearningTask, Plan, PlannedRun, plan_runs
from rightreasons.behavior.learning.run import run_plan
from rightreasons.core.engines import EngineOptions
from rightreasons.datasets.builder import load_dataset
from rightreasons.datasets.suites.suite import Case, Suite, open_suite
from rightreasons.io.tables import chosen_rows, open_questions

HERE = Path(__file__).resolve().parent


@dataclasses.dataclass(frozen=True)
class Scale:
    """The sizes of a task: what makes it fit two cores.

    Attributes:
        suite: Name of the suite.
        data: Name of the independent data.
        splits: Its training and test split.
        labels: As in `LearningTask`.
        methods: Methods of cross-functional learning.
        n_layers: Layers of the encoder.
        max_cases: Cases of each functionality; half are trained on, a quarter is tested on.
        max_examples: Examples of a case (the original and changed texts).
        n_train: Independent training items of the configuration IID.
        iid_share: Share of them that is mixed with the suite.
        n_test: Independent test items.
        max_length: Tokens of an item.
        options: Training options of each configuration but IID.
        iid_options: Those of IID.
        coarse: Configurations that hold out nothing or a test type alone: their other runs would take too long.
    """

    suite: str
    data: str
    splits: tuple[str, str]
    labels: str
    methods: tuple[str, ...]
    n_layers: int
    max_cases: int
    max_examples: int
    n_train: int
    iid_share: float
    n_test: int
    max_length: int
    options: Mapping[str, Mapping[str, Any]]
    iid_options: Mapping[str, Any]
    coarse: tuple[str, ...] = ()


# As in the paper, each configuration has its own settings; ours were chosen by a few runs that held out nothing.
# Matrices are multiplied in bfloat16, which is three times faster here; weights and what is scored are float32.
SHARED = {"head_learning_rate": 1e-3, "batch_size": 16, "precision": "bfloat16"}
OPTIONS = {
    "IID->T": {**SHARED, "learning_rate": 1e-4, "epochs": 1.0},
    "IID+T": {**SHARED, "learning_rate": 3e-4, "epochs": 4.0},
    "IID->(IID+T)": {**SHARED, "learning_rate": 3e-4, "epochs": 1.0},
}
IID_OPTIONS = {"learning_rate": 1e-4, "epochs": 3.0, "batch_size": 16, "precision": "bfloat16"}
# Spans are learned slowly: two layers in three epochs find no answer at all.
READING_OPTIONS = {
    "IID->T": {**SHARED, "learning_rate": 1e-4, "epochs": 2.0},
    "IID+T": {**SHARED, "learning_rate": 3e-4, "epochs": 4.0},
    "IID->(IID+T)": {**SHARED, "learning_rate": 1e-4, "epochs": 1.5},
}
READING_IID_OPTIONS = {
    "learning_rate": 2e-4,
    "epochs": 8.0,
    "batch_size": 16,
    "precision": "bfloat16",
}
SEED = 42

SCALES = {
    "SENT": Scale(
        suite="checklist_sentiment",
        data="sst2",
        splits=("train", "test"),
        labels="sentiment",
        methods=("vanilla", "l2", "dropout", "lp", "lp-ft", "irm", "dro", "fish"),
        n_layers=2,
        max_cases=16,
        max_examples=3,
        n_train=2500,
        iid_share=0.1,
        n_test=250,
        max_length=40,
        options=OPTIONS | {"IID+T": {**SHARED, "learning_rate": 4e-4, "epochs": 3.0}},
        iid_options=IID_OPTIONS,
    ),
    "PARA": Scale(
        suite="checklist_paraphrase",
        data="qqp",
        splits=("train", "validation"),
        labels="classes",
        methods=("vanilla", "lp", "dro"),
        n_layers=2,
        max_cases=8,
        max_examples=3,
        n_train=8000,
        iid_share=0.03,
        n_test=200,
        max_length=48,
        options=OPTIONS,
        iid_options=IID_OPTIONS,
    ),
    "READ": Scale(
        suite="checklist_reading",
        data="squad",
        splits=("train", "test"),
        labels="answers",
        methods=("vanilla", "lp", "dro"),
        n_layers=6,
        max_cases=8,
        max_examples=3,
        n_train=797,
        iid_share=0.1,
        n_test=60,
        max_length=192,
        options=READING_OPTIONS,
        iid_options=READING_IID_OPTIONS,
        coarse=("IID+T",),
    ),
}


def sample(scale: Scale, split: str, size: int, data_dir: str | None) -> IidData:
    """Draw independent data by (seed, id)."""
    if scale.labels == "answers":
        questions = open_questions(
            scale.data, split=split, data_dir=data_dir, limit=size, seed=SEED
        )
        return IidData(questions["question"][:], questions["answers"][:], questions["context"][:])
    data: Any = load_dataset(scale.data, split=split, data_dir=data_dir, known_issues=False)
    rows = data.select(chosen_rows(data["id"][:], size, seed=SEED))
    pairs = rows["text_pair"][:] if "text_pair" in rows.column_names else None
    return IidData(rows["text"][:], rows["label"][:], pairs)


def shortened(suite: Suite, size: int) -> Suite:
    """Keep the first examples of each case: the original and some of its changed texts."""

    def cut(case: Case) -> Case:
        labels, meta = (
            None if values is None else values[:size] for values in (case.labels, case.meta)
        )
        return dataclasses.replace(case, examples=case.examples[:size], labels=labels, meta=meta)

    functionalities = tuple(
        dataclasses.replace(functionality, cases=tuple(map(cut, functionality.cases)))
        for functionality in suite.functionalities
    )
    return dataclasses.replace(suite, functionalities=functionalities)


def make_task(name: str, data_dir: str | None, work: Path, n_cases: int | None) -> LearningTask:
    """Prepare what all runs of a task share; the options are those of a configuration, and come with its plan."""
    scale = SCALES[name]
    cases = n_cases or scale.max_cases
    suite = open_suite(
        scale.suite,
        data_dir=data_dir,
        known_issues=False,
        paper_labels=name == "PARA",
        max_cases=cases,
    )
    suite = shortened(suite, scale.max_examples)
    train, test = (
        sample(scale, split, size, data_dir)
        for split, size in zip(scale.splits, (scale.n_train, scale.n_test), strict=True)
    )
    texts = [text for row in suite.texts() for text in row]
    for part in (train, test):
        texts += [*part.texts, *(part.text_pairs or ())]
    return LearningTask(
        str(small_encoder(work / name / "encoder", texts, scale.n_layers)),
        suite,
        train,
        test,
        labels=scale.labels,
        iid_options=scale.iid_options,
        max_length=scale.max_length,
        device="cpu",
        iid_share=scale.iid_share,
        # As many as without more cases to test on.
        train_cases=None if n_cases is None else scale.max_cases // 2,
    )


def open_plans(name: str, task: LearningTask, work: Path) -> list[tuple[Plan, LearningTask]]:
    """Lay out the runs of a task, a plan for each configuration, or find them again."""
    scale = SCALES[name]
    functionalities = [
        [f.name, f.functionality_class, f.test_type] for f in task.suite.functionalities
    ]
    about = {
        "scale": dataclasses.asdict(scale),
        "functionalities": functionalities,
        "n_cases": [len(f.cases) for f in task.suite.split("test").functionalities],
    }
    plans = []
    for place, (configuration, options) in enumerate(scale.options.items()):
        planned = dataclasses.replace(task, options=options)
        configurations = ("IID", configuration) if place == 0 else (configuration,)
        partitions = ("seen", "type") if configuration in scale.coarse else PARTITIONS
        runs = plan_runs(
            task.suite,
            configurations=configurations,
            methods=scale.methods,
            partitions=partitions,
            seeds=(SEED,),
        )
        plans.append(
            (
                Plan.create(work / name / f"plan-{place}", runs, {**planned.settings(), **about}),
                planned,
            )
        )
    return plans


def run_all(plans: Sequence[tuple[Plan, LearningTask]], engine: EngineOptions) -> int:
    """Make the runs; the model of independent data is trained once, for all plans."""
    made = 0
    first = plans[0][0].folder / "models"
    for plan, task in plans:
        models = plan.folder / "models"
        if first.is_dir() and not models.exists():
            models.symlink_to(first.resolve())
        made += run_plan(plan, task, engine=engine)
    return made


def store(name: str, plans: Sequence[tuple[Plan, LearningTask]], folder: Path) -> None:
    """Keep the finished runs of a task in one file."""
    folder.mkdir(exist_ok=True)
    settings = {
        **plans[0][0].settings,
        "model": "all-MiniLM-L6-v2, shortened",
        "options": SCALES[name].options,
    }
    rows = [{"settings": settings}, *(row for plan, _ in plans for row in plan.results())]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    # No time stamp in the file, so that the same runs give the same bytes.
    (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


def stored_plan(file: Path, folder: Path) -> Plan:
    """Make a plan again from its stored runs."""
    header, *rows = [
        json.loads(line) for line in gzip.decompress(file.read_bytes()).decode().splitlines()
    ]
    names = [field.name for field in dataclasses.fields(PlannedRun)]
    runs = [
        PlannedRun(**{n: tuple(row[n]) if n == "held_out" else row[n] for n in names})
        for row in rows
    ]
    plan = Plan.create(folder, runs, header["settings"])
    for run, row in zip(runs, rows, strict=True):
        plan.store(run, row)
    return plan


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", help="Folder of local copies of the data sets.")
    parser.add_argument(
        "--work",
        type=Path,
        default=HERE.parents[1] / "runs" / "beluga",
        help="Folder of what is kept.",
    )
    parser.add_argument("--tasks", nargs="*", default=list(SCALES), choices=list(SCALES))
    parser.add_argument(
        "--cases",
        type=int,
        help="Cases of each functionality, of which a quarter are tested on; no more are trained on than without it.",
    )
    parser.add_argument(
        "--engine", help="Where runs are made: serial, loky or dask, as in docs/scale.md."
    )
    parser.add_argument("--jobs", type=int, help="Runs at a time.")
    parser.add_argument(
        "--report", action="store_true", help="Train nothing; write the report of the stored runs."
    )
    options = parser.parse_args()
    if not options.report:
        for name in options.tasks:
            began = time.perf_counter()
            task = make_task(name, options.data_dir, options.work, options.cases)
            plans = open_plans(name, task, options.work)
            gc.freeze()  # each training collects garbage, and need not look at the data every time
            made = run_all(plans, EngineOptions(options.engine, options.jobs))
            left = sum(len(plan.pending()) for plan, _ in plans)
            print(f"{name}: {made} runs in {time.perf_counter() - began:.0f} s, {left} are left")
            if not left:
                store(name, plans, HERE / "stored")
    with tempfile.TemporaryDirectory() as folder:
        files = {name: HERE / "stored" / f"{name}.jsonl.gz" for name in SCALES}
        plans = {
            name: stored_plan(file, Path(folder) / name)
            for name, file in files.items()
            if file.is_file()
        }
        if plans:
            write_report(plans, HERE)


if __name__ == "__main__":
    main()
