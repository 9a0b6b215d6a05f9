"""The commands that list, write, export, divide and rate data sets and suites."""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rightreasons.cli import command_line, hand_over
from rightreasons.cli.declared import (
    DataDir,
    Dataset,
    Declared,
    FiguresFile,
    Split,
    SuiteName,
    declared_command,
    refuse,
)
from rightreasons.cli.show import print_rows
from rightreasons.core.choices import HARNESSES, TASKS
from rightreasons.core.engines import EngineOptions
from rightreasons.core.errors import OptionError, counted
from rightreasons.core.options import Options, option
from rightreasons.io.options import AuditOptions, ItemOptions, SourceOptions
from rightreasons.models.wording import Wording
from rightreasons.reasons.options import HINTS, ReasonsOptions
from rightreasons.training.options import SplitOptions

if TYPE_CHECKING:
    import datasets

    from rightreasons.cues.ratings import HumanPerformance
    from rightreasons.datasets.suites.suite import Suite
    from rightreasons.models.prompts import Examples, Rendering
    from rightreasons.report.requests import ChoiceRequest


DATA, RATINGS = command_line(), command_line()
DATA.add_typer(RATINGS, name="ratings")


def open_items(dataset: str, source: SourceOptions, split: str | None, **options: Any) -> tuple[datasets.Dataset, str]:
    """Open a multiple-choice data set and take the labeled items of one split.

    Args:
        dataset: What the user named.
        source: Where it is, and what its columns mean.
        split: A split; None for the first of test, validation and dev with labels, or else any.
        **options: Further options of `open_multiple_choice`.

    Returns:
        The items that have a label, and in words what was taken.
    """
    from rightreasons.io.tables import TEST_SPLITS, choose_split, labeled_items, open_splits

    splits = open_splits(dataset, **source.source("multiple_choice"), **options)
    name = choose_split(splits, split, where=dataset, preferred=TEST_SPLITS, others=True)
    items = labeled_items(splits[name])
    if len(items) == 0:
        raise OptionError(
            f"Expected items with a label in {dataset}, but none of split {name!r} has one.", option="label_column"
        )
    without = len(splits[name]) - len(items)
    left_out = counted(without, "item that has", "items that have")
    return items, name if without == 0 else f"{name} without {left_out} no label"


def easy_flags(items: datasets.Dataset, subsets: Path | None) -> list[bool | None]:
    """Return whether each item is Easy; None for one that is in neither subset.

    Args:
        items: The items; without subsets, their column `easy` says it.
        subsets: easy_hard_subsets.json, as `rightreasons data split` writes it.
    """
    from rightreasons.core.validation import read_json

    if subsets is None:
        if "easy" not in items.column_names:
            raise ValueError(
                "Expected a column `easy` that says whether an item is Easy, or --subsets, but the data has "
                f"{', '.join(items.column_names)}."
            )
        return [bool(flag) for flag in items["easy"][:]]
    known = read_json(subsets)
    if not isinstance(known, dict) or not all(isinstance(known.get(name), list) for name in ("easy", "hard")):
        raise ValueError(
            f"Expected the lists `easy` and `hard` in {subsets.name}, as `rightreasons data split` writes them."
        )
    easy, hard = ({str(name) for name in known[name]} for name in ("easy", "hard"))
    flags = [True if str(name) in easy else False if str(name) in hard else None for name in items["id"][:]]
    if all(flag is None for flag in flags):
        raise ValueError(f"Expected ids of the items in {subsets.name}, but it has none of them.")
    return flags


CHOSEN: Mapping[str, Declared] = {"source": SourceOptions, "drawn": (AuditOptions, ("limit", "seed"))}


@declared_command(DATA, "gaps", {"source": SourceOptions, "settings": (AuditOptions, ("seed", "confidence_level"))})
def gaps(
    dataset: Dataset,
    first: Annotated[
        str, typer.Option(help="Comma-separated files of answers or scores: the runs of the first training set.")
    ],
    second: Annotated[str, typer.Option(help="The same for the second training set.")],
    split: Split = None,
    n_permutations: Annotated[int, typer.Option(help="Permutations of the p-value over items.", min=1)] = 10_000,
    subsets: Annotated[
        Path | None,
        typer.Option(help="easy_hard_subsets.json of `rightreasons data split`; by default the column `easy` says it."),
    ] = None,
    out: FiguresFile = None,
    **declared: Any,
) -> None:
    """Test whether models of two training sets differ in their Easy/Hard gap, over items and over runs."""
    from rightreasons.cli.show import write_figures
    from rightreasons.core.options import listed
    from rightreasons.cues.easy_hard import compare_gaps
    from rightreasons.io.predictions import read_runs

    settings: AuditOptions = declared["settings"]
    items, taken = open_items(dataset, declared["source"], split)
    easy = easy_flags(items, subsets)
    rows = [row for row, flag in enumerate(easy) if flag is not None]
    items = items.select(rows)
    runs_first, runs_second = (read_runs(listed(files) or [], items["id"][:]) for files in (first, second))
    compared = compare_gaps(
        runs_first,
        runs_second,
        items["label"][:],
        [easy[row] for row in rows],
        n_permutations=n_permutations,
        confidence_level=settings.confidence_level,
        seed=settings.seed,
    )
    typer.secho(f"{dataset}, {taken}: {compared.n_easy:,} Easy and {compared.n_hard:,} Hard items", bold=True)
    for name, gap, runs in (
        ("first", compared.first, compared.first_runs),
        ("second", compared.second, compared.second_runs),
    ):
        typer.echo(f"Gap of the {name}: {gap:+.3f} (runs: {', '.join(f'{value:+.3f}' for value in runs)})")
    p_value = "none with one run" if compared.p_value is None else f"{compared.p_value:.3g}"
    typer.echo(
        f"Difference: {compared.difference:+.3f} [{compared.interval.low:+.3f}, {compared.interval.high:+.3f}]; "
        f"p = {compared.item_p_value:.3g} over items for these runs; over items and runs: {p_value}"
    )
    write_figures(out, compared)


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
    """Write a sheet for each rater: the items in an order of its own, without labels and ids."""
    from rightreasons.cues.ratings import write_rating_sheets

    items, taken = open_items(dataset, source, split, limit=drawn.limit, seed=drawn.seed)
    files = write_rating_sheets(items, out, n_raters=raters, seed=drawn.seed)
    typer.echo(f"{dataset}, {taken}: {counted(len(items), 'item')}\nSheets: {', '.join(map(str, files))}")


@declared_command(RATINGS, "read", {**CHOSEN, "settings": (AuditOptions, ("confidence_level",))})
def read(
    dataset: Dataset,
    sheets: Annotated[
        list[Path], typer.Argument(help="The sheet of each rater, at least two.", metavar="SHEETS", show_default=False)
    ],
    source: SourceOptions,
    drawn: AuditOptions,
    settings: AuditOptions,
    split: Split = None,
    out: FiguresFile = None,
) -> None:
    """Read the filled sheets: accuracy of the raters, and Fleiss' kappa; for mirrored data of each half too.

    The items are those that the sheets were written from: give the same options.
    """
    from rightreasons.cli.show import write_figures
    from rightreasons.cues.ratings import human_performance, read_rating_sheets

    items, taken = open_items(dataset, source, split, limit=drawn.limit, seed=drawn.seed)
    answers = read_rating_sheets(items, sheets)
    rows = {"all": list(range(len(items)))}
    if "mirrored" in items.column_names:
        for mirrored, name in ((False, "original"), (True, "mirrored")):
            half = [row for row, flag in enumerate(items["mirrored"][:]) if bool(flag) is mirrored]
            rows |= {name: half} if 2 <= len(half) < len(items) else {}
    figures = {
        name: human_performance(
            [answers.ratings[row] for row in half],
            [answers.references[row] for row in half],
            n_choices=answers.n_choices,
            confidence_level=settings.confidence_level,
        )
        for name, half in rows.items()
    }
    typer.secho(f"{dataset}, {taken}: {counted(len(items), 'item')}, {counted(len(sheets), 'rater')}", bold=True)
    for name, half in rows.items():
        _show_performance(name, len(half), figures[name])
    write_figures(out, figures)


def _show_performance(name: str, n_items: int, figures: HumanPerformance) -> None:
    kappa, interval = figures.kappa.fleiss_kappa, figures.kappa.interval
    agreement = (
        "no kappa, as all answers are the same choice"
        if kappa is None or interval is None
        else f"Fleiss' kappa {kappa:.3f} [{interval.low:.3f}, {interval.high:.3f}]"
    )
    typer.echo(
        f"{name} ({n_items:,}): accuracy {figures.accuracy:.3f} [{figures.interval.low:.3f}, "
        f"{figures.interval.high:.3f}]; {agreement}"
    )


class PartedOptions(Options):
    """Which items are divided, and which are trained on."""

    test_split: str | None = option(None, "Split to divide; by default test or validation.")
    train_split: str | None = option(None, "Split to train on; by default train or the other folds of the test split.")
    limit: int | None = option(None, "Maximum number of items per split.", minimum=1)


@declared_command(DATA, "split", {"source": SourceOptions, "drawn": PartedOptions, "options": SplitOptions})
def split(
    dataset: Dataset,
    source: SourceOptions,
    drawn: PartedOptions,
    options: SplitOptions,
    model: Annotated[
        str | None, typer.Option(help="Encoder to train; by default the packaged one of the extra [encoder].")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the result; a second call resumes from it.")] = Path("split"),
) -> None:
    """Train without the premises, and divide the items into Easy (solved anyway in every run) and Hard."""
    from rightreasons.core.store import check_folder, write_json
    from rightreasons.io.tables import choose_split, labeled_items, open_splits
    from rightreasons.models.scorers import demo_encoder
    from rightreasons.training.premise_oblivious import premise_oblivious_split

    check_folder(out, own=("split.json", "easy_hard_subsets.json", "runs"))
    opened = open_splits(dataset, **source.source(options.task), limit=drawn.limit, seed=options.seed)
    labeled = {name: items for name, part in opened.items() if len(items := labeled_items(part))}
    if not labeled:
        raise OptionError(f"Expected items with a label in {dataset}, but there are none.", option="label_column")
    where = f"{dataset} with labels"
    test_name = choose_split(labeled, drawn.test_split, where=where, others=True)
    train_name = drawn.train_split or ("train" if "train" in labeled and test_name != "train" else None)
    if train_name == test_name:
        raise ValueError(f"Expected another split to train on than the one to part, but both are {test_name!r}.")
    train = None if train_name is None else labeled[choose_split(labeled, train_name, where=where)]
    result = premise_oblivious_split(
        demo_encoder() if model is None else model,
        labeled[test_name],
        train,
        out=out / "runs",
        progress=True,
        **options.to_dict(),
    )
    parted = list(zip(result.ids, result.easy, strict=True))
    subsets = {"easy": [key for key, easy in parted if easy], "hard": [key for key, easy in parted if not easy]}
    write_json(out / "easy_hard_subsets.json", subsets)
    write_json(out / "split.json", result.to_dict())
    hand_over(result)
    each = ", ".join(f"{accuracy:.3f}" for accuracy in result.accuracy)
    trained = f"trained on {train_name!r}" if train_name else f"trained on the other of {options.n_folds} folds"
    share = result.n_easy / len(result.ids)
    typer.secho(f"{dataset}, {test_name}: {counted(len(result.ids), 'item')}, {trained}", bold=True)
    typer.echo(
        f"Without the premises: accuracy {result.mean_accuracy:.3f} (runs: {each}); guessing {result.chance:.3f}, the "
        f"most frequent label {result.majority:.3f}."
    )
    typer.echo(
        f"Easy: {counted(result.n_easy, 'item')} ({share:.1%}), right in every run ({result.n_runs}); "
        f"{result.easy_by_chance:.1%} would be by luck. Hard: {result.n_hard:,}."
    )
    typer.echo(f"Ids: {out / 'easy_hard_subsets.json'}")


COMMANDS = {"data": DATA, "suite": command_line()}

BENCHMARK = "benchmark"
"""A data set with the `eval.yaml` of the Hub's benchmarks, in the place of a harness's own task."""

WHICH = "Which label fits this text?"
"""What is asked of a text whose classes are its choices."""

PLANTED = ("config", "text_column", "text_pair_column", "label_column", "data_dir")
"""What says where the texts are that cues are planted into."""


@DATA.callback()
def data() -> None:
    """List the data sets, write, export, plant cues into, divide and have people rate them."""


@DATA.command("list")
def list_() -> None:
    """List the names that `rightreasons audit` and `rightreasons.load_dataset` accept."""
    from rightreasons.datasets.builder import available_datasets, builder_class

    about = {name: builder_class(name).DESCRIPTION for name in available_datasets()}
    hand_over(about)
    print_rows(about.items(), indent="", texts=(0, 1))


@declared_command(DATA, "build", {"options": EngineOptions})
def build(
    name: Annotated[str, typer.Argument(help="One of `rightreasons data list`.", metavar="NAME", show_default=False)],
    options: EngineOptions,
    out: Annotated[Path | None, typer.Option(help="The folder to write; the name of the data set by default.")] = None,
    config: Annotated[str | None, typer.Option(help="Comma-separated configurations; all of them by default.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="The folder of local copies of the source files.")] = None,
    other_versions: Annotated[bool, typer.Option(help="Read local files other than the published ones.")] = False,
) -> None:
    """Write a data set as parquet files with a card; `datasets.load_dataset(FOLDER)` opens them.

    With --jobs or --engine, configurations are built at the same time.
    """
    from rightreasons.datasets.publishing import publish

    configs = None if config is None else [part.strip() for part in config.split(",")]
    folder = publish(
        name, out or Path(name), configs=configs, data_dir=data_dir, engine=options, other_versions=other_versions
    )
    typer.echo(f"Data: {folder}")


class ExportOptions(Options):
    """What is asked, and by which harness."""

    to: str = option(
        "lm-eval",
        "The harness that is to ask: lm-eval or inspect; or benchmark, a data set for the Hub with eval.yaml.",
        choices=(*HARNESSES, BENCHMARK),
    )
    task: str | None = option(
        None,
        "multiple_choice, classification, or suite (of behavioral tests); by default one of the first two, as the data "
        "is.",
        choices=(*TASKS, "suite"),
    )
    parts: tuple[str, ...] | None = option(
        None,
        "Of multiple choice, comma-separated: items, probes (their changed versions), orders (of the choices); by "
        "default items and probes.",
    )
    reasons: bool = option(False, "Write the arms of the question about reasons: plain, neutral, and hints.")
    hints: tuple[str, ...] = option(
        ("colleague", "metadata"), "Comma-separated kinds of hints of --reasons.", choices=HINTS
    )
    subsets: str | None = option(
        None, "easy_hard_subsets.json of `rightreasons data split`: only these items, called Easy or Hard."
    )
    max_cases: int | None = option(None, "Maximum number of cases of a functionality of a suite.", minimum=1)
    split: str | None = option(None, "Split; by default the first of test, validation and dev.")


@declared_command(
    DATA,
    "export",
    {
        "options": ExportOptions,
        "settings": (AuditOptions, (*ItemOptions.names(), "limit", "seed")),
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
    """Write items, or a suite, as a task of another harness, whose log comes back into the same measures."""
    from rightreasons.report.requests import request_rows, write_task

    of_items = {name: getattr(options, name) for name in ("parts", "subsets", "split")}
    of_items["limit"] = settings.limit
    of_other = of_items if options.task == "suite" else {"max_cases": options.max_cases}
    refuse(of_other, f"with the task {options.task or 'of items'}")
    settings = settings.replaced(task=None if options.task == "suite" else options.task, split=options.split)
    if options.to == BENCHMARK:
        suite = "suite" if options.task == "suite" else None
        refuse({"reasons": options.reasons or None, "task": suite, **prompt.changed()}, "with a benchmark")
        export_benchmark(dataset, settings, prompt, options, out)
        return
    if options.reasons:
        export_reasons(dataset, settings, prompt, options, out)
        return
    if options.task == "suite":
        taken = exported_suite(dataset, settings, options.max_cases)
    else:
        taken = exported_items(dataset, settings, prompt, options)
    rendering = taken.rendering(prompt, chat=options.to == "inspect")
    rows = request_rows(taken.requests, rendering, examples=taken.examples, fields=taken.fields, seed=settings.seed)
    declared = write_task(out, Path(dataset).stem, rows, to=options.to, read_by=taken.read_by)
    typer.echo(f"Task: {declared} ({counted(len(rows), 'request')} about {taken.about})")
    typer.echo("Its first lines say how it is asked, and how its log is read.")


def export_benchmark(dataset: str, settings: AuditOptions, wording: Wording, options: ExportOptions, out: Path) -> None:
    """Write the items of a split, and of those that are made from it, as a data set with `eval.yaml`.

    Args:
        dataset: What the user named.
        settings: The columns, the split, the limit and the seed.
        wording: The prompt, with nothing set: the harness has its own.
        options: What is asked.
        out: The folder.
    """
    from rightreasons.audited.context import task_of_data
    from rightreasons.audited.stored import ITEMS
    from rightreasons.datasets.builder import available_datasets, builder_class
    from rightreasons.datasets.publishing import write_benchmark
    from rightreasons.io.tables import choose_split

    _, splits = task_of_data(dataset, settings, require_labels=True)
    first = choose_split(splits, settings.split, where=dataset)
    made = [name for name in splits if settings.split is None and name.startswith(f"{first}_")]
    tasks: dict[str, list[dict[str, Any]]] = {}
    unanswered = 0
    for split in (first, *made):
        taken = exported_items(dataset, settings.replaced(split=split), wording, options)
        for request in taken.requests:
            if request.label < 0:
                unanswered += 1
                continue
            kind = "" if request.asked == ITEMS and split != first else request.asked
            task = "_".join(filter(None, (split if split != first else "", re.sub(r"\W+", "_", kind))))
            parts = [request.prompt, request.text_pair, None if taken.label_names is None else WHICH]
            row = {"id": request.id, "prompt": "\n\n".join(filter(None, parts)), "choices": list(request.choices)}
            tasks.setdefault(task, []).append({**row, "label": request.label, **taken.fields.get(request.id, {})})
    builder = builder_class(dataset) if dataset in available_datasets() else None
    folder = write_benchmark(tasks, out, name=Path(dataset).stem, builder=builder)
    for task, rows in tasks.items():
        typer.echo(f"{task}: {counted(len(rows), 'item')}")
    if unanswered:
        typer.echo(f"Left out: {counted(unanswered, 'request')} that no choice is right for.")
    typer.echo(f"Benchmark: {folder}")
    typer.echo(f"To push it: hf upload {shlex.join([f'my-name/{folder.name}', str(folder)])} --repo-type dataset")
    typer.echo(f"Then it is asked by: inspect eval hf/{shlex.quote(f'my-name/{folder.name}')} --model MODEL")


def export_reasons(dataset: str, settings: AuditOptions, wording: Wording, options: ExportOptions, out: Path) -> None:
    """Write the arms of the question about reasons as a task."""
    from rightreasons.audited.context import asked_items
    from rightreasons.models.wording import Prompt
    from rightreasons.reasons.arms import Worded
    from rightreasons.report.requests import write_task

    prompt = Prompt(**{name: getattr(wording, name) for name in wording.names()})
    items, names = asked_items(dataset, settings, wording.label_words)
    worded = Worded(
        prompt, names, ReasonsOptions(hints=options.hints), chat=options.to == "inspect", seed=settings.seed
    )
    rows = worded.rows(items)
    declared = write_task(out, f"{Path(dataset).stem} reasons", rows, to=options.to, read_by="rightreasons reasons")
    typer.echo(f"Task: {declared} ({counted(len(rows), 'request')} about {counted(len(items), 'item')})")


@declared_command(DATA, "plant", {"settings": (AuditOptions, (*PLANTED, "seed"))})
def plant(
    dataset: Dataset,
    settings: AuditOptions,
    out: Annotated[Path, typer.Option(help="Folder to write.")] = Path("planted"),
    kind: Annotated[
        str,
        typer.Option(help="Kind of cue: lexical, function, bigram or punctuation."),
    ] = "lexical",
    cues: Annotated[
        str | None, typer.Option(help="Comma-separated cues of your own, one per label in the order of the labels.")
    ] = None,
    strength: Annotated[float, typer.Option(help="How often a cue agrees with the label, from 0 to 1.")] = 0.95,
    coverage: Annotated[float, typer.Option(help="How often a text has a cue, from 0 to 1.")] = 1.0,
) -> None:
    """Plant cues into your labeled texts, so that what a model should not rely on is known.

    Training data gets its cues; each other split is written with them, without them and with flipped ones, which an
    audit compares. Fine-tune on the result, then audit the model on it.
    """
    from rightreasons.core.options import listed
    from rightreasons.datasets.perturbing.planting import plant as plant_cues
    from rightreasons.datasets.publishing import write_splits
    from rightreasons.io.tables import open_splits

    splits, seed = open_splits(dataset, **{name: getattr(settings, name) for name in PLANTED}), settings.seed
    planted = plant_cues(splits, kind, cues=listed(cues), strength=strength, coverage=coverage, seed=seed)
    sentence = (
        f"Cues of the kind {kind}, planted into {dataset}: they agree with the label at a rate of "
        f"{strength:g} and are in a share of {coverage:g} of the texts (seed {seed})."
    )
    folder = write_splits(planted, out, text=sentence)
    for name, items in planted.items():
        with_cue = sum(cue >= 0 for cue in items["cue_label"][:])
        typer.echo(f"{name}: {counted(len(items), 'item')}, {with_cue:,} with a cue")
    typer.echo(f"Data: {folder}")


@dataclasses.dataclass(frozen=True)
class Exported:
    """Requests that are to be written as a task.

    Attributes:
        requests: The requests.
        label_names: The names of the classes; None for multiple choice.
        about: What they are about, in words.
        read_by: The command that reads their log.
        examples: What few-shot examples are drawn from.
        fields: Further fields of the rows, by the ids of the requests.
    """

    requests: Sequence[ChoiceRequest]
    label_names: tuple[str, ...] | None
    about: str
    read_by: str
    examples: Examples | None = None
    fields: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)

    def rendering(self, wording: Wording, *, chat: bool) -> Rendering:
        """Return the prompt: in a chat letters that are generated, else answers whose likelihood is asked."""
        from rightreasons.models.prompts import Rendering
        from rightreasons.models.wording import Prompt

        given = {name: getattr(wording, name) for name in wording.names()}
        if chat:
            if wording.style not in ("auto", "letters"):
                raise ValueError(f"Expected letters as the style of a task of inspect_ai, but got {wording.style!r}.")
            given |= {"style": "letters", "scoring": "generated", "form": "free"}  # the first token is the letter
        prompt = Prompt(**given, chat="on" if chat else "off")
        scoring = "generated" if chat else "sum"
        return Rendering.of(prompt, chat=chat, scorings=[scoring], label_names=self.label_names)


def exported_suite(name: str, settings: AuditOptions, max_cases: int | None) -> Exported:
    """Open a suite, every example of which is asked for one of its labels."""
    from rightreasons.datasets.suites.suite import open_suite
    from rightreasons.report.requests import suite_requests

    suite = open_suite(name, data_dir=settings.data_dir, max_cases=max_cases, seed=settings.seed)
    requests = suite_requests(suite)
    flags = [] if max_cases is None else ["--max-cases", str(max_cases), "--seed", str(settings.seed)]
    read_by = shlex.join(["rightreasons", "behavior", name, *flags])
    return Exported(requests, requests[0].choices, f"{counted(suite.n_cases, 'case')}", read_by)


def exported_items(dataset: str, settings: AuditOptions, wording: Wording, options: ExportOptions) -> Exported:
    """Open items of multiple choice or classification.

    Args:
        dataset: What the user named.
        settings: The columns, the split, the limit and the seed.
        wording: How items are put into words.
        options: What is asked.
    """
    from rightreasons.audited.context import examples_of, limited, task_of_data
    from rightreasons.audited.stored import ITEMS, PROBES
    from rightreasons.io.tables import choose_split
    from rightreasons.report.requests import choice_requests, kept_fields, text_requests

    task, splits = task_of_data(dataset, settings, wording.label_words, require_labels=False)
    name = choose_split(splits, settings.split, where=dataset)
    items = splits[name]
    if options.subsets is not None:
        easy = easy_flags(items, Path(options.subsets))
        rows = [row for row, flag in enumerate(easy) if flag is not None]
        items = items.select(rows)
        items = items.remove_columns([column for column in items.column_names if column == "easy"])
        items = items.add_column("easy", [bool(easy[row]) for row in rows])
    names = None
    if task == "classification":
        refuse({"parts": options.parts}, "with texts that have classes")
        if "label" not in items.column_names:
            raise OptionError(
                f"Expected labels in {dataset}, whose names a language model chooses from, but it has none.",
                option="label_column",
            )
        names = tuple(items.features["label"].names)
    items = limited(items, settings, dataset)
    if task == "classification":
        requests = text_requests(items)
    else:
        parts = (ITEMS, PROBES) if options.parts is None else options.parts
        requests = choice_requests(items, parts=parts, seed=settings.seed)
    return Exported(
        requests=requests,
        label_names=names,
        about=f"{counted(len(items), 'item')}",
        read_by="rightreasons audit",
        examples=examples_of(splits, task, wording.shots),
        fields=kept_fields(items),
    )


SuiteFile = Annotated[Path, typer.Argument(help=".jsonl or .jsonl.gz file.", metavar="OUT")]


@COMMANDS["suite"].callback()
def suite() -> None:
    """Show what a behavioral suite asks, write all its cases to a file, or convert one that CheckList has saved."""


@COMMANDS["suite"].command()
def show(
    suite: SuiteName,
    data_dir: DataDir = None,
    cases: Annotated[int, typer.Option(help="Cases shown per functionality.", min=0)] = 2,
) -> None:
    """Show the functionalities of a suite, with the first cases of each."""
    opened = _open(suite, data_dir)
    for functionality in opened.functionalities:
        typer.secho(
            f"{functionality.test_type} {functionality.functionality_class}: {functionality.name}, "
            f"{counted(len(functionality.cases), 'case')}",
            bold=True,
        )
        if functionality.expectation["name"] == "unknown":
            typer.echo(f"  nothing is asked: {functionality.expectation['why']}")
        for case in functionality.cases[:cases]:
            for index, texts in enumerate(case.examples):
                label = None if case.labels is None else case.labels[index]
                if opened.label_names is not None and isinstance(label, int) and label >= 0:
                    label = opened.label_names[label]
                typer.echo(
                    f"  {'-' if index == 0 else ' '} {' | '.join(texts)}{'' if label is None else f'  [{label}]'}"
                )
    _show_size(opened)


@COMMANDS["suite"].command("write")
def write_suite(suite: SuiteName, out: SuiteFile, data_dir: DataDir = None) -> None:
    """Write a suite with all its cases, including those that its templates and perturbations generate."""
    _check_out(out)
    _write(_open(suite, data_dir), out)


@COMMANDS["suite"].command()
def convert(
    file: Annotated[Path, typer.Argument(help="Pickle that CheckList has saved: .pkl, .pkl.gz or .tar.gz.")],
    out: SuiteFile,
    text_columns: Annotated[
        str | None, typer.Option(help="Comma-separated names of the texts of an example, such as context,question.")
    ] = None,
) -> None:
    """Convert a suite that CheckList has saved; nothing of the pickle is run.

    Where a test's expectation is code of its author, OUT says "unknown", and nothing is asked until you name one there.
    """
    from rightreasons.core.options import listed
    from rightreasons.datasets.suites.checklist import convert_checklist

    _check_out(out)
    if not file.is_file():
        raise FileNotFoundError(f"Expected a suite at {file}, but there is no such file.")
    converted = convert_checklist(file, text_columns=listed(text_columns))
    _write(converted, out)
    unknown = [each for each in converted.functionalities if each.expectation["name"] == "unknown"]
    for each in unknown:
        typer.echo(f"Unknown: {each.name}: {each.expectation['why']}")
    if unknown:
        typer.echo(
            f"Nothing is asked in {len(unknown)} of {counted(len(converted.functionalities), 'test')}: name their "
            f"expectations in {out}."
        )


def _check_out(out: Path) -> None:
    from rightreasons.core.store import check_file

    if not out.name.endswith((".jsonl", ".jsonl.gz")):
        raise ValueError(f"Expected OUT to end in .jsonl or .jsonl.gz, but got {out.name!r}.")
    check_file(out, "OUT")


def _open(suite: str, data_dir: Path | None) -> Suite:
    from rightreasons.datasets.suites.suite import open_suite

    return open_suite(suite, data_dir=data_dir)


def _write(suite: Suite, out: Path) -> None:
    suite.write(out)
    _show_size(suite)
    typer.echo(f"Suite: {out}")


def _show_size(suite: Suite) -> None:
    if suite.label_names is not None:
        typer.echo(f"Labels: {', '.join(f'{number} {name}' for number, name in enumerate(suite.label_names))}")
    typer.echo(
        f"{suite.name}: {counted(len(suite.functionalities), 'functionality', 'functionalities')}, "
        f"{counted(suite.n_cases, 'case')}, "
        f"{counted(suite.n_examples, 'example')}"
    )
