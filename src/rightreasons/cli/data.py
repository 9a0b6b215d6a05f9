"""The commands that list, export, divide and rate data sets, and the one that converts suites of CheckList."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import rightreasons
from rightreasons.cli import command_line, hand_over
from rightreasons.cli.declared import Dataset, Declared, Split, declared_command
from rightreasons.cli.label_review import LABELS
from rightreasons.cli.loops import PageFolder, check_page, show_loop
from rightreasons.cli.show import print_rows
from rightreasons.core.choices import HARNESS_QUESTIONS, HARNESSES, TASKS
from rightreasons.core.errors import OptionError
from rightreasons.core.options import Options, option
from rightreasons.core.sentences import pluralize
from rightreasons.io.options import AuditOptions, ItemOptions, SourceOptions
from rightreasons.models.wording import Wording
from rightreasons.reasons.options import HINTS, ReasonsOptions
from rightreasons.training.options import SplitOptions

if TYPE_CHECKING:
    import datasets

    from rightreasons.cues.gap_change import GapComparison


DATA = command_line()
MIRRORS = command_line()
RATINGS = command_line()
DATA.add_typer(LABELS, name="labels")
DATA.add_typer(MIRRORS, name="mirror")
DATA.add_typer(RATINGS, name="ratings")


def open_items(
    dataset: str,
    source: SourceOptions,
    split: str | None,
    *,
    train_first: bool = False,
    **options: Any,
) -> tuple[datasets.Dataset, str]:
    """Open a multiple-choice data set and take the labeled items of one split.

    Args:
        dataset: What the user named.
        source: Where it is, and what its columns mean.
        split: A split; None for the first of test, validation and dev with labels, or else any.
        train_first: Whether train comes before these.
        **options: Further options of `open_multiple_choice`.

    Returns:
        The items that have a label, and the name of the split.
    """
    from rightreasons.io.samples import TEST_SPLITS, choose_split, select_labeled_items
    from rightreasons.io.tables import open_splits

    splits = open_splits(dataset, **source.source("multiple_choice"), **options)
    preferred = ("train", *TEST_SPLITS) if train_first else TEST_SPLITS
    name = choose_split(splits, split, source_name=dataset, preferred=preferred, takes_any=True)
    items = select_labeled_items(splits[name])
    if len(items) == 0:
        raise OptionError(
            f"Expected items with a label in {dataset}, but none of split {name!r} has one.",
            option="label_column",
        )
    return items, name


CHOSEN: Mapping[str, Declared] = {
    "source": SourceOptions,
    "drawn": (AuditOptions, ("limit", "seed")),
}


@RATINGS.callback()
def ratings() -> None:
    """Write rating sheets of multiple-choice items for people, and read the answers."""


@declared_command(RATINGS, "write", CHOSEN)
def write(
    dataset: Dataset,
    source: SourceOptions,
    drawn: AuditOptions,
    split: Split = None,
    out: Annotated[Path, typer.Option(help="Folder of the sheets.")] = Path("sheets"),
    raters: Annotated[int, typer.Option(help="Number of raters.", min=1)] = 3,
) -> None:
    """Write a sheet for each rater: the items in a separate order, without labels and ids."""
    from rightreasons.cues.rating_sheets import write_rating_sheets

    items, taken = open_items(dataset, source, split, limit=drawn.limit, seed=drawn.seed)
    files = write_rating_sheets(items, out, n_raters=raters, seed=drawn.seed)
    typer.echo(
        f"{dataset}, {taken}: {pluralize(len(items), 'item')}\nSheets: {', '.join(map(str, files))}"
    )


@declared_command(RATINGS, "read", {**CHOSEN, "settings": (AuditOptions, ("confidence_level",))})
def read(
    dataset: Dataset,
    sheets: Annotated[
        list[Path],
        typer.Argument(
            help="The sheet of each rater, at least two.", metavar="SHEETS", show_default=False
        ),
    ],
    source: SourceOptions,
    drawn: AuditOptions,
    settings: AuditOptions,
    split: Split = None,
) -> None:
    """Read the filled sheets: accuracy of the raters, and Fleiss' kappa.

    The items are those that the sheets were written from: give the same options.
    """
    from rightreasons.cues.rating_sheets import read_rating_sheets
    from rightreasons.cues.ratings import human_performance

    items, taken = open_items(dataset, source, split, limit=drawn.limit, seed=drawn.seed)
    answers = read_rating_sheets(items, sheets)
    figures = human_performance(**answers, confidence_level=settings.confidence_level)
    kappa, ends, interval = figures.kappa.fleiss_kappa, figures.interval, figures.kappa.interval
    agreement = "no kappa, as all answers are the same choice"
    if interval is not None:
        agreement = f"Fleiss' kappa {kappa:.3f} [{interval.low:.3f}, {interval.high:.3f}]"
    typer.secho(
        f"{dataset}, {taken}: {pluralize(len(items), 'item')}, {pluralize(len(sheets), 'rater')}",
        bold=True,
    )
    typer.echo(f"accuracy {figures.accuracy:.3f} [{ends.low:.3f}, {ends.high:.3f}]; {agreement}")
    hand_over(figures)


SELECTED: Mapping[str, Declared] = {
    "source": SourceOptions,
    "settings": (AuditOptions, ("limit", "seed")),
}
"""Options that say which items are mirrored."""


@MIRRORS.callback()
def mirror() -> None:
    """Balance the choices: write a worksheet of items that cues give away, and read the new prompts."""


@declared_command(MIRRORS, "write", SELECTED)
def write_mirrors(
    dataset: Dataset,
    source: SourceOptions,
    settings: AuditOptions,
    split: Split = None,
    subsets: Annotated[
        Path | None,
        typer.Option(
            help="easy_hard_subsets.json; by default the column `easy`, or else a classifier of cues, says which."
        ),
    ] = None,
    all_items: Annotated[
        bool, typer.Option("--all", help="Write all items, not only those that cues give away.")
    ] = False,
    out: Annotated[Path, typer.Option(help="The .csv file to write.")] = Path("to-mirror.csv"),
) -> None:
    """Write the items that the choices give away, for a person who writes a new prompt for each.

    The new prompt makes the incorrect choice the correct one, so that no cue in the choices helps.
    """
    from rightreasons.core.resampling import Resampling
    from rightreasons.core.store import check_file
    from rightreasons.cues.mirror_sheets import select_solved_items, write_mirror_sheet

    check_file(out)
    items, split_name = open_items(dataset, source, split, limit=settings.limit, seed=settings.seed)
    if all_items:
        rows = list(range(len(items)))
    elif subsets is not None:
        flags = list_easy_flags(items, subsets)
        rows = [row for row, is_easy in enumerate(flags) if is_easy]
    else:
        rows = select_solved_items(items, resampling=Resampling(seed=settings.seed)).tolist()
    file = write_mirror_sheet(items, out, rows=rows)

    hand_over({"items": len(items), "written": len(rows), "file": str(file)})
    typer.echo(
        f"{dataset}, {split_name}: {len(rows):,} of {pluralize(len(items), 'item')} to mirror\nWorksheet: {file}"
    )
    # The sheet is read with the same items, so that the command needs all that was typed about them.
    command = ["rightreasons", "data", "mirror", "read", dataset, str(file)]
    command += [*source.to_flags(), *settings.to_flags()]
    if split is not None:
        command += ["--split", split]
    typer.echo(f"Fill in the column “new prompt”. Next: {shlex.join(command)}")


@declared_command(MIRRORS, "read", SELECTED)
def read_mirrors(
    dataset: Dataset,
    sheet: Annotated[
        Path, typer.Argument(help="The filled worksheet.", metavar="SHEET", show_default=False)
    ],
    source: SourceOptions,
    settings: AuditOptions,
    split: Split = None,
    out: Annotated[Path, typer.Option(help="The .jsonl file to write.")] = Path("balanced.jsonl"),
) -> None:
    """Read the new prompts, and write each item with its mirror.

    Items without a new prompt are left out, so that the result is balanced.
    """
    from rightreasons.core.store import check_file, format_json_lines, write_text
    from rightreasons.cues.mirror_sheets import read_mirror_sheet
    from rightreasons.datasets.perturbing.mirroring import mirror_dataset

    check_file(out)
    items, split_name = open_items(dataset, source, split, limit=settings.limit, seed=settings.seed)
    balanced = mirror_dataset(items, read_mirror_sheet(items, sheet))
    file = write_text(out, format_json_lines(balanced))

    n_mirrored = len(balanced) // 2
    hand_over({"items": len(items), "mirrored": n_mirrored, "file": str(file)})
    typer.echo(
        f"{dataset}, {split_name}: {pluralize(n_mirrored, 'item')} with a mirror, {len(items) - n_mirrored:,} left "
        f"out\nBalanced items: {file}"
    )
    # Cues in mirrored choices are useless by construction: only models can show whether that helps.
    typer.echo(
        "Next: train on them and on the original items, and compare both on test items that have no mirror: "
        "rightreasons data gaps … --page proof"
    )


def list_easy_flags(items: datasets.Dataset, subsets: Path | None) -> list[bool | None]:
    """Return whether each item is Easy, and None for an item of neither subset.

    Args:
        items: The items; without subsets, their column `easy` is read.
        subsets: easy_hard_subsets.json, as `rightreasons data split` writes it.
    """
    from rightreasons.core.json_files import read_json

    if subsets is None:
        if "easy" not in items.column_names:
            raise OptionError(
                "Expected a column `easy` that says whether an item is Easy, or --subsets, but the "
                f"data has {', '.join(items.column_names)}.",
                option="subsets",
            )
        return [bool(flag) for flag in items["easy"][:]]

    stored = read_json(subsets)
    parts = stored if isinstance(stored, dict) else {}
    if not (isinstance(parts.get("easy"), list) and isinstance(parts.get("hard"), list)):
        raise OptionError(
            f"Expected the lists `easy` and `hard` in {subsets.name}, as `rightreasons data split` "
            "writes them.",
            option="subsets",
        )
    # Ids are compared as texts: a file may have numbers where the data set has texts.
    flag_by_id = dict.fromkeys(map(str, parts["easy"]), True)
    flag_by_id.update(dict.fromkeys(map(str, parts["hard"]), False))
    flags = [flag_by_id.get(str(item_id)) for item_id in items["id"][:]]
    if all(flag is None for flag in flags):
        raise OptionError(
            f"Expected ids of the items in {subsets.name}, but it has none of them.",
            option="subsets",
        )
    return flags


class GapOptions(Options):
    """The runs that are compared, and their test."""

    original: tuple[str, ...] | None = option(
        None, "Comma-separated files of predictions, one per run trained on the original items."
    )
    balanced: tuple[str, ...] | None = option(
        None, "Comma-separated files of predictions, one per run trained on the balanced items."
    )
    subsets: str | None = option(
        None, "easy_hard_subsets.json; by default the column `easy` is read."
    )
    n_permutations: int = option(
        10_000, "Number of permutations of the test over items.", minimum=1
    )

    def _check(self) -> None:
        for name in ("original", "balanced"):
            if not getattr(self, name):
                raise OptionError(f"Expected files of predictions in `{name}`.", option=name)


@declared_command(
    DATA,
    "gaps",
    {
        "source": SourceOptions,
        "options": GapOptions,
        "settings": (AuditOptions, ("seed", "confidence_level")),
    },
)
def gaps(
    dataset: Dataset,
    source: SourceOptions,
    options: GapOptions,
    settings: AuditOptions,
    split: Split = None,
    page: PageFolder = None,
) -> None:
    """Test whether the Easy/Hard gap changes with the training set, on the same test items."""
    from rightreasons.core.resampling import Resampling
    from rightreasons.cues.gap_change import compare_gaps
    from rightreasons.io.runs import read_runs

    check_page(page)
    items, split_name = open_items(dataset, source, split)
    flags = list_easy_flags(items, None if options.subsets is None else Path(options.subsets))
    rows = [row for row, flag in enumerate(flags) if flag is not None]
    items = items.select(rows)
    ids = items["id"][:]
    original = read_runs(options.original or (), ids)
    balanced = read_runs(options.balanced or (), ids)
    labels = items["label"][:]
    easy = [flags[row] for row in rows]
    resampling = Resampling(level=settings.confidence_level, seed=settings.seed)
    comparison = compare_gaps(
        original,
        balanced,
        labels,
        easy,
        n_permutations=options.n_permutations,
        resampling=resampling,
    )

    hand_over(comparison)
    _show_gaps(comparison, f"{dataset}, {split_name}")
    if page is not None:
        from rightreasons.page.formats import short_name
        from rightreasons.repairs.loops import judge_balancing

        name = f"{short_name(dataset)}, {split_name}"
        loop = judge_balancing(
            comparison, original, balanced, labels, easy, data=name, resampling=resampling
        )
        files = {
            "original": list(options.original or ()),
            "balanced": list(options.balanced or ()),
        }
        show_loop(loop, page, settings=files, level=settings.confidence_level)


def _show_gaps(comparison: GapComparison, title: str) -> None:
    """Print the gaps after both training sets, and the tests of their difference."""
    typer.secho(
        f"{title}: {comparison.n_easy:,} Easy and {comparison.n_hard:,} Hard items", bold=True
    )
    for name in ("original", "balanced"):
        run_gaps = ", ".join(f"{gap:+.3f}" for gap in getattr(comparison, f"{name}_runs"))
        typer.echo(f"Gap, {name} training set: {getattr(comparison, name):+.3f} (runs: {run_gaps})")
    p_value = "none for a single run"
    if comparison.p_value is not None:
        p_value = f"{comparison.p_value:.3g}"
    interval = comparison.interval
    typer.echo(
        f"Difference: {comparison.difference:+.3f} [{interval.low:+.3f}, {interval.high:+.3f}]; p over "
        f"items for these runs: {comparison.item_p_value:.3g}; p over items and runs: {p_value}"
    )
    typer.echo(comparison.verdict)


class PartedOptions(Options):
    """Which items are divided, and which are trained on."""

    test_split: str | None = option(None, "Split to divide; by default test or validation.")
    train_split: str | None = option(None, "Split to train on; by default train.")
    limit: int | None = option(None, "Maximum number of items per split.", minimum=1)


@declared_command(
    DATA, "split", {"source": SourceOptions, "drawn": PartedOptions, "options": SplitOptions}
)
def split(
    dataset: Dataset,
    source: SourceOptions,
    drawn: PartedOptions,
    options: SplitOptions,
    model: Annotated[
        str | None,
        typer.Option(help="Encoder to train; by default the packaged one of the extra [encoder]."),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder of the result; a second call resumes from it.")
    ] = Path("split"),
) -> None:
    """Train without the premises, and divide the items into Easy (solved anyway in every run) and Hard."""
    from rightreasons.core.store import check_folder, write_json
    from rightreasons.io.samples import choose_split, select_labeled_items
    from rightreasons.io.tables import open_splits
    from rightreasons.models.scorers import demo_encoder
    from rightreasons.training.premise_oblivious import premise_oblivious_split

    check_folder(out, own=("split.json", "easy_hard_subsets.json", "runs"))
    opened = open_splits(
        dataset, **source.source("multiple_choice"), limit=drawn.limit, seed=options.seed
    )
    labeled = {
        name: items for name, part in opened.items() if len(items := select_labeled_items(part))
    }
    if not labeled:
        raise OptionError(
            f"Expected items with a label in {dataset}, but there are none.", option="label_column"
        )
    where = f"{dataset} with labels"
    test_name = choose_split(labeled, drawn.test_split, source_name=where, takes_any=True)
    train_name = drawn.train_split or "train"
    if train_name == test_name:
        raise ValueError(
            f"Expected another split to train on than the one to part, but both are {test_name!r}."
        )
    train = labeled[choose_split(labeled, train_name, source_name=where)]
    result = premise_oblivious_split(
        demo_encoder() if model is None else model,
        labeled[test_name],
        train,
        out=out / "runs",
        progress=True,
        **options.to_dict(),
    )
    parted = list(zip(result.ids, result.easy, strict=True))
    subsets = {
        "easy": [key for key, easy in parted if easy],
        "hard": [key for key, easy in parted if not easy],
    }
    write_json(out / "easy_hard_subsets.json", subsets)
    write_json(out / "split.json", result.to_dict())
    hand_over(result)
    each = ", ".join(f"{accuracy:.3f}" for accuracy in result.accuracy)
    trained = f"trained on {train_name!r}"
    share = result.n_easy / len(result.ids)
    typer.secho(
        f"{dataset}, {test_name}: {pluralize(len(result.ids), 'item')}, {trained}", bold=True
    )
    typer.echo(
        f"Without the premises: accuracy {result.mean_accuracy:.3f} (runs: {each}); guessing {result.chance:.3f}, the "
        f"most frequent label {result.majority:.3f}."
    )
    typer.echo(
        f"Easy: {pluralize(result.n_easy, 'item')} ({share:.1%}), correct in every run ({result.n_runs}); "
        f"{result.easy_by_chance:.1%} would be by luck. Hard: {result.n_hard:,}."
    )
    typer.echo(f"Ids: {out / 'easy_hard_subsets.json'}")


COMMANDS = {"data": DATA, "suite": command_line()}

LM_EVAL = "lm-eval"
LIGHTEVAL = "lighteval"

BENCHMARK = "benchmark"
"""A data set with the `eval.yaml` of the Hub's benchmarks, in the place of a harness's own task."""

ROWS = "items.jsonl"
"""The file of the requests of a task, one JSON object per line."""

WHICH = "Which label fits this text?"
"""What is asked of a text whose classes are its choices."""


@DATA.callback()
def data() -> None:
    """List the data sets, export, divide and have people rate them."""


@DATA.command("list")
def list_() -> None:
    """List the names that `rightreasons audit` and `rightreasons.load_dataset` accept."""
    from rightreasons.datasets.builder import available_datasets, get_builder_class

    about = {name: get_builder_class(name).DESCRIPTION for name in available_datasets()}
    hand_over(about)
    print_rows(about.items(), indent="", texts=(0, 1))


@DATA.command("issues")
def list_issues(
    dataset: Annotated[
        str, typer.Argument(help="A known data set.", metavar="DATASET", show_default=False)
    ],
) -> None:
    """List the known issues of a data set, and which of them are corrected."""
    from rightreasons.datasets.builder import get_builder_class
    from rightreasons.datasets.issues.table import get_table

    get_builder_class(dataset)
    issues = get_table(dataset)
    hand_over([issue.model_dump(mode="json", by_alias=True) for issue in issues])
    rows = []
    for issue in issues:
        size = "" if issue.count is None else f"{issue.count:,} of {issue.n_items:,}"
        effect = issue.action if issue.is_active else f"{issue.evidence}, off"
        place = issue.test or issue.split or "all"
        rows.append((place, issue.kind, size, effect, issue.reason))
    print_rows(rows, indent="", texts=(0, 1, 3, 4))
    if not rows:
        typer.echo(f"No known issues of {dataset}.")


class ExportOptions(Options):
    """What is written, and for whom."""

    to: str = option(
        "lm-eval",
        "benchmark, a data set for the Hub with eval.yaml; or the harness that asks: lm-eval (the "
        "probes, --questions or --reasons), lighteval (the probes) or inspect (--reasons).",
        choices=(*HARNESSES, BENCHMARK),
    )
    task: str | None = option(
        None, "multiple_choice or classification; by default as the data is.", choices=TASKS
    )
    reasons: bool = option(
        False, "Write the arms of the question about reasons: plain, neutral, and hints."
    )
    questions: tuple[str, ...] = option(
        (),
        "Comma-separated questions of a task of lm-eval, which are asked by the prompts of an audit; "
        "by default the probes, by the prompt of the task.",
        choices=HARNESS_QUESTIONS,
    )
    hints: tuple[str, ...] = option(
        ("colleague", "metadata"), "Comma-separated kinds of hints of --reasons.", choices=HINTS
    )
    split: str | None = option(None, "Split; by default the first of test, validation and dev.")


@declared_command(
    DATA,
    "export",
    {
        "options": ExportOptions,
        "settings": (AuditOptions, (*ItemOptions.list_names(), "limit", "seed")),
        "prompt": Wording,
    },
)
def export(
    dataset: Dataset,
    options: ExportOptions,
    settings: AuditOptions,
    prompt: Wording,
    out: Annotated[Path, typer.Option(help="Folder of the task.")] = Path("task"),
) -> None:
    """Write items as a benchmark of the Hub, or the question about reasons as a task of another harness."""
    settings = settings.replace(task=options.task, split=options.split)
    if options.to == BENCHMARK:
        if options.reasons:
            raise OptionError(
                "Expected no `reasons` with a benchmark, which asks nothing itself.",
                option="reasons",
            )
        for name in prompt.get_changes():
            raise OptionError(
                f"Expected no `{name}` with a benchmark, which asks nothing itself.", option=name
            )
        export_benchmark(dataset, settings, out)
    elif options.to == LIGHTEVAL:
        # A document of lighteval has one request per choice, and nothing follows its answer.
        if options.reasons or options.questions:
            raise OptionError(
                "Expected neither `reasons` nor `questions` in a task of lighteval, which asks the "
                "probes.",
                option=("reasons", "questions"),
            )
        export_probed(dataset, settings, out, to=LIGHTEVAL)
    elif options.reasons:
        export_reasons(dataset, settings, prompt, options, out)
    elif options.to == LM_EVAL:
        # Probes and questions are requests of the same documents, unlike the arms of `reasons`.
        export_probed(dataset, settings, out, options.questions)
    else:
        raise OptionError(
            "Expected `reasons` in a task of inspect, which needs no other export: "
            f"inspect eval rightreasons/audit -T data={dataset} asks the probes.",
            option=("reasons", "to"),
        )


def export_probed(
    dataset: str,
    settings: AuditOptions,
    out: Path,
    questions: Sequence[str] = (),
    *,
    to: str = LM_EVAL,
) -> None:
    """Write tasks of a harness that ask the probes or some questions, one per dataset.

    Args:
        dataset: Names or files, separated by commas.
        settings: The columns, the split, the limit and the seed.
        out: The folder.
        questions: The questions; () for the probes by the prompt of the task.
        to: The harness.
    """
    from rightreasons.cli.probed_tasks import (
        list_probed_items,
        write_lighteval_tasks,
        write_probed_tasks,
    )

    rows_by_name = {}
    names = list(filter(None, map(str.strip, dataset.split(","))))
    # The name of a file may have commas.
    if Path(dataset).exists():
        names = [dataset]
    for name in names:
        rows_by_name[name] = list_probed_items(name, settings)
    if to == LIGHTEVAL:
        files = write_lighteval_tasks(rows_by_name, out, seed=settings.seed)
    else:
        files = write_probed_tasks(rows_by_name, out, questions)
    for file, rows in zip(files, rows_by_name.values(), strict=True):
        typer.echo(f"Task: {file} ({pluralize(len(rows), 'item')})")
    typer.echo("Its first lines say how it is asked, and how its log is read.")


def export_benchmark(dataset: str, settings: AuditOptions, out: Path) -> None:
    """Write the items of a split, and of those that are made from it, as a data set with `eval.yaml`.

    Args:
        dataset: What the user named.
        settings: The columns, the split, the limit and the seed.
        out: The folder.
    """
    from rightreasons.audited.splits import limit_rows
    from rightreasons.audited.task_data import open_task_data
    from rightreasons.datasets.builder import available_datasets, get_builder_class
    from rightreasons.datasets.publishing import write_benchmark
    from rightreasons.io.logs import LINKS
    from rightreasons.io.samples import choose_split

    kind, splits = open_task_data(dataset, settings, require_labels=True)
    first = choose_split(splits, settings.split, source_name=dataset)
    made = [name for name in splits if settings.split is None and name.startswith(f"{first}_")]
    tasks: dict[str, list[dict[str, Any]]] = {}
    for split in (first, *made):
        items = limit_rows(splits[split], settings, dataset)
        for item in items:
            if item["label"] < 0:
                continue
            row = {
                name: item[name]
                for name in ("id", "label", *LINKS, "easy", "group")
                if name in item
            }
            if kind == "classification":
                parts = (item["text"], item.get("text_pair"), WHICH)
                row |= {
                    "prompt": "\n\n".join(filter(None, parts)),
                    "choices": items.features["label"].names,
                }
            else:
                row |= {"prompt": item["prompt"], "choices": item["choices"]}
            tasks.setdefault("items" if split == first else re.sub(r"\W+", "_", split), []).append(
                row
            )
    builder = get_builder_class(dataset) if dataset in available_datasets() else None
    folder = write_benchmark(tasks, out, name=Path(dataset).stem, builder=builder)
    for task, rows in tasks.items():
        typer.echo(f"{task}: {pluralize(len(rows), 'item')}")
    typer.echo(f"Benchmark: {folder}")
    typer.echo(
        f"To push it: hf upload {shlex.join([f'my-name/{folder.name}', str(folder)])} --repo-type dataset"
    )
    typer.echo(
        f"Then it is asked by: inspect eval hf/{shlex.quote(f'my-name/{folder.name}')} --model MODEL"
    )


def export_reasons(
    dataset: str, settings: AuditOptions, wording: Wording, options: ExportOptions, out: Path
) -> None:
    """Write the arms of the question about reasons as a task."""
    from rightreasons.audited.task_data import open_items
    from rightreasons.models.wording import Prompt
    from rightreasons.reasons.prompts import ArmPrompts

    prompt = Prompt(**{name: getattr(wording, name) for name in wording.list_names()})
    items, names = open_items(dataset, settings, wording.label_words)
    prompts = ArmPrompts(
        prompt,
        names,
        ReasonsOptions(hints=options.hints),
        chat=options.to == "inspect",
        seed=settings.seed,
    )
    rows = prompts.list_rows(items)
    declared = write_task(out, f"{Path(dataset).stem} reasons", rows, to=options.to)
    typer.echo(
        f"Task: {declared} ({pluralize(len(rows), 'request')} about {pluralize(len(items), 'item')})"
    )
    typer.echo("Its first lines say how it is asked, and how its log is read.")


def write_task(out: Path, name: str, rows: Sequence[Mapping[str, Any]], *, to: str) -> Path:
    """Write requests as a folder that a harness runs.

    Args:
        out: The folder; files of an earlier task in it are replaced.
        name: What the task is called: "rightreasons_" and this, in letters, digits and underscores.
        rows: Requests of the question about reasons: with `text` for lm-evaluation-harness and `turns` for inspect_ai.
            Further fields come back in the log.
        to: "lm-eval" or "inspect".

    Returns:
        The file that declares the task.

    Raises:
        ValueError: If the folder holds something else.
    """
    from jinja2 import StrictUndefined, Template

    from rightreasons.core.store import check_folder, format_json_lines, write_text

    task = f"rightreasons_{re.sub(r'[^0-9A-Za-z]+', '_', name).strip('_').lower() or 'items'}"
    declaration = f"{task}.yaml" if to == "lm-eval" else f"{task}.py"
    folder = check_folder(out, own=(ROWS, f"{task}.yaml", f"{task}.py", "logs"))
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / ROWS, format_json_lines(rows))
    file = "task_lm_eval.yaml.j2" if to == "lm-eval" else "task_inspect.py.j2"
    template = Path(rightreasons.__file__).parent / "report" / "templates" / file
    values = {"task": task, "rows": ROWS, "folder": folder.name}
    text = Template(
        template.read_text("utf-8"), keep_trailing_newline=True, undefined=StrictUndefined
    ).render(values)
    return write_text(folder / declaration, text)


@COMMANDS["suite"].callback()
def suite() -> None:
    """Convert a behavioral suite that CheckList has saved."""


@COMMANDS["suite"].command()
def convert(
    file: Annotated[
        Path, typer.Argument(help="Pickle that CheckList has saved: .pkl, .pkl.gz or .tar.gz.")
    ],
    out: Annotated[Path, typer.Argument(help=".jsonl or .jsonl.gz file.", metavar="OUT")],
    text_columns: Annotated[
        str | None,
        typer.Option(
            help="Comma-separated names of the texts of an example, such as context,question."
        ),
    ] = None,
) -> None:
    """Convert a suite that CheckList has saved; nothing of the pickle is run.

    Where a test's expectation is code of its author, OUT says "unknown", and nothing is asked until you name one there.
    """
    from rightreasons.core.options import parse_names
    from rightreasons.core.store import check_file
    from rightreasons.datasets.suites.pickled_suites import read_pickled_suite

    if not out.name.endswith((".jsonl", ".jsonl.gz")):
        raise ValueError(f"Expected OUT to end in .jsonl or .jsonl.gz, but got {out.name!r}.")
    check_file(out, "OUT")
    converted = read_pickled_suite(file, text_columns=parse_names(text_columns))
    converted.write(out)
    if converted.label_names is not None:
        typer.echo(
            f"Labels: {', '.join(f'{number} {name}' for number, name in enumerate(converted.label_names))}"
        )
    typer.echo(
        f"{converted.name}: {pluralize(len(converted.functionalities), 'functionality', 'functionalities')}, "
        f"{pluralize(converted.n_cases, 'case')}, {pluralize(converted.n_examples, 'example')}\nSuite: {out}"
    )
    unknown = [each for each in converted.functionalities if each.expectation["name"] == "unknown"]
    for each in unknown:
        typer.echo(f"Unknown: {each.name}: {each.expectation['why']}")
    if unknown:
        typer.echo(
            f"Nothing is asked in {len(unknown)} of {pluralize(len(converted.functionalities), 'test')}: name their "
            f"expectations in {out}."
        )
