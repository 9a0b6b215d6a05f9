"""The commands that measure confidences, judges and cues, and print the figures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rightreasons.audited.options import AuditOptions
from rightreasons.calibration.options import SOURCES
from rightreasons.cli import command_line
from rightreasons.cli.declared import (
    ConfidenceLevel,
    Dataset,
    FiguresFile,
    Limit,
    Resamples,
    Seed,
    Split,
    answers_beside,
    asked_file,
    check_unread,
    completes,
    declared_command,
)
from rightreasons.core.choices import TASKS
from rightreasons.core.errors import counted
from rightreasons.cues.options import CuesOptions
from rightreasons.io.options import ConfidenceOptions, JudgmentOptions, SourceOptions
from rightreasons.models.servers.options import ServerOptions
from rightreasons.models.wording import Prompt

if TYPE_CHECKING:
    from rightreasons.calibration.elicit import ConfidenceMeasurement, Elicited
    from rightreasons.calibration.options import ElicitOptions
    from rightreasons.cues.measure import CueFigures
    from rightreasons.io.judged import Judgments
    from rightreasons.models.prompted import Prompted
    from rightreasons.probes.judges import Preference


COMMANDS = {name: command_line() for name in ("confidence", "judges", "cues")}

EXAMPLES = {
    "confidence": (
        "rightreasons confidence answers.csv --source-column method --item-column question_id",
        "rightreasons confidence probability.jsonl verbalized.jsonl --out figures.json",
        "rightreasons confidence MODEL piqa --elicit probability,p_true,verbalized,samples --limit 200",
    ),
    "judges": (
        "rightreasons judges judgments.csv --out figures.json",
        "rightreasons judges judgments.jsonl --reference-column human --verdict-column winner",
        "rightreasons judges pairs.csv --ask MODEL --reference-column winner --out figures.json",
    ),
    "cues": (
        "rightreasons cues copa --top 10",
        "rightreasons cues items.jsonl --prompt-column stem --choices-column one,two",
    ),
}

COLUMNS = ("accuracy", "mean_confidence", "ece", "smooth_ece", "brier_of_answers", "auroc", "aurc")
PAIRED = ("accuracy", "confidence_gap", "ece", "brier", "auroc", "aurc")


@declared_command(
    COMMANDS["confidence"],
    "confidence",
    {"options": ConfidenceOptions, "source": SourceOptions, "prompt": Prompt, "server": ServerOptions},
)
def confidence(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Tables with a confidence and whether the answer was right; of several, each is a source. With "
            "--elicit: a causal language model (folder, hub id or URL of a server) and a dataset.",
            metavar="FILE",
            show_default=False,
        ),
    ],
    elicit: Annotated[
        str | None,
        typer.Option(help=f"Ask a model how sure it is, comma-separated: {', '.join(SOURCES)}."),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            help="With --elicit, what the dataset is: classification or multiple_choice; by default multiple_choice "
            "where it has choices.",
            autocompletion=completes(TASKS),
        ),
    ] = None,
    nli: Annotated[str | None, typer.Option(help="Classifier of inference, for --elicit meaning.")] = None,
    n_samples: Annotated[int, typer.Option(help="Drawn answers per item, for --elicit samples.", min=1)] = 10,
    temperature: Annotated[float, typer.Option(help="Temperature of drawn answers.")] = 1.0,
    split: Split = None,
    limit: Limit = None,
    n_bins: Annotated[int, typer.Option(help="Number of confidence bins.", min=1)] = 15,
    n_resamples: Resamples = 1000,
    confidence_level: ConfidenceLevel = 0.95,
    seed: Seed = 0,
    out: Annotated[Path | None, asked_file("elicit")] = None,
    *,
    options: ConfidenceOptions,
    source: SourceOptions,
    prompt: Prompt,
    server: ServerOptions,
) -> None:
    """Compare sources of confidence on the same items: calibration, ranking of right above wrong answers, tests."""
    from rightreasons.calibration.elicit import measure_confidence
    from rightreasons.calibration.options import CalibrationOptions, ElicitOptions
    from rightreasons.cli.show import write_figures
    from rightreasons.core.options import listed
    from rightreasons.core.resampling import Resampling
    from rightreasons.core.store import json_lines, write_text
    from rightreasons.io.judged import read_confidence

    resampling = Resampling(confidence_level, n_resamples, seed)
    figures: dict[str, Any] = {}
    sources = SOURCES[:1] if elicit is None else tuple(listed(elicit) or ())
    asked = ElicitOptions(
        sources=sources, n_samples=n_samples, temperature=temperature, max_new_tokens=prompt.max_new_tokens, seed=seed
    )
    if elicit is None:
        alone = {"nli": nli, "split": split, "limit": limit, "task": task, **prompt.changed(), **server.changed()}
        check_unread("elicit", "asks a model", alone)
        table = read_confidence(list(files), options=options)
    else:
        if len(files) != 2:
            raise ValueError(f"Expected a model and a dataset with --elicit, but got {len(files)} arguments.")
        given = {"task": task, "split": split, "limit": limit, "seed": seed}
        known = {name: value for name, value in given.items() if value is not None}
        settings = AuditOptions.read({**source.changed(), **known}, "an audit")
        kept = answers_beside(out)
        declared = {"settings": settings, "prompt": prompt, "server": server}
        elicited = _elicited(files[0], files[1], declared, nli, asked, kept)
        table, figures["prompts"] = elicited.table, dict(elicited.prompts)
        if kept is not None:
            typer.echo(f"Answers: {write_text(kept / 'answers.jsonl', json_lines(elicited.rows()))}")
        for what, failures in elicited.failures.items():
            item, reason = next(iter(failures.items()))
            typer.echo(f"{what}: {counted(len(failures), 'item')} without, such as {item}: {reason}")
    measured = measure_confidence(table, options=CalibrationOptions(n_bins=n_bins), resampling=resampling)
    typer.secho(f"{', '.join(files)}: {counted(measured.n_items, 'item')} ({table.used})", bold=True)
    _show_sources(measured)
    write_figures(out, {**measured.to_dict(), **figures})


def _elicited(
    model: str, dataset: str, declared: Mapping[str, Any], nli: str | None, options: ElicitOptions, out: Path | None
) -> Elicited:
    """Ask a language model how sure it is of its answers to the labeled items of a split, as an audit asks it.

    What it answers is kept in the folder `out`, so that the same command goes on from there.
    """
    from rightreasons.audited.opening import is_asked, open_asked
    from rightreasons.calibration.elicit import elicit_confidence
    from rightreasons.io.splits import TEST_SPLITS, choose_split, labeled_items, limited
    from rightreasons.models.loading import load_classifier

    if not is_asked(model):
        raise ValueError(f"Expected a causal language model or a server with --elicit, but got {model}.")
    settings: AuditOptions = declared["settings"]
    splits, scorer = open_asked(model, dataset, settings, declared["prompt"], declared["server"], require_labels=True)
    name = choose_split(splits, settings.split, where=dataset, preferred=TEST_SPLITS, others=True)
    items = limited(labeled_items(splits[name]), settings.limit, options.seed)
    rows = {column: items[column][:] for column in items.column_names}
    inference = None if nli is None else load_classifier(nli)
    return elicit_confidence(scorer, rows, options=options, nli=inference, out=out)


def _show_sources(measured: ConfidenceMeasurement) -> None:
    """Print the figures of each source, the tests between each two, and the figures by group."""
    from rightreasons.calibration.measure import FIGURES
    from rightreasons.cli.show import figure_cell
    from rightreasons.page.words import p_equals, p_value

    compared = [one for one in measured.sources if one.figures]
    if len(compared) > 1:
        typer.echo(f"Figures are about {counted(measured.n_shared, 'item')} with a confidence from each source.")
    for one in measured.sources:
        if one.n_answered < measured.n_items:
            typer.echo(f"{one.name}: {one.n_answered:,} of {counted(measured.n_items, 'item')} have an answer")
        if one.n_confident < one.n_answered:
            share = 0.0 if one.confident is None else one.confident.value or 0.0
            told = "" if one.figures else ": not compared"
            typer.echo(
                f"{one.name}: {one.n_confident:,} of {one.n_answered:,} answers have a confidence ({share:.1%}){told}"
            )
    width = max(len(one.name) for one in compared) + 2
    typer.echo(f"\n{'':<{width}}" + "".join(f"{_short(FIGURES[key].name):>24}" for key in COLUMNS))
    for one in compared:
        typer.echo(f"{one.name:<{width}}" + "".join(f"{figure_cell(one.figures[key]):>24}" for key in COLUMNS))
    for pair in measured.pairs:
        typer.echo(f"\n{pair.first} - {pair.second}:")
        for key in PAIRED:
            test = pair.differences.get(key)
            if test is None or test.interval is None:
                continue
            name = FIGURES["brier_of_answers" if key == "brier" else key].name
            typer.echo(
                f"  {_short(name):<18} {test.difference:+.3f} [{test.interval.low:+.3f}, {test.interval.high:+.3f}]  "
                f"p {p_equals(test.p_value)}, corrected for all pairs {p_value(pair.p_holm[key])}"
            )
    for group, (n_items, figures) in measured.groups.items():
        typer.echo(f"\n{group or '(no group)'} ({counted(n_items, 'item')})")
        for name, estimates in figures.items():
            said = ", ".join(f"{_short(FIGURES[key].name)} {figure_cell(each)}" for key, each in estimates.items())
            typer.echo(f"  {name}: {said}")


def _short(name: str) -> str:
    """Return the short form that a name has in brackets, or its beginning."""
    if name.endswith(")"):
        return name[name.index("(") + 1 : -1]
    return name.split(" of ")[0]


PREFERENCES = {
    "consistency": "Same winner in both orders",
    "position": "First place over second",
    "length": "Longer over shorter",
    "length_beyond": "Longer, beyond the reference",
    "own": "Its own over the other",
    "own_beyond": "Its own, beyond the reference",
}


@declared_command(COMMANDS["judges"], "judges", {"options": JudgmentOptions, "prompt": Prompt, "server": ServerOptions})
def judges(
    file: Annotated[
        Path,
        typer.Argument(
            help="Judgments: item, judge, candidate shown first and second, verdict; swapped orders as further rows. "
            "With --ask, pairs: prompt and two answers, perhaps item, authors and a reference.",
            metavar="FILE",
            show_default=False,
        ),
    ],
    ask: Annotated[
        str | None,
        typer.Option(
            help="Causal language model (folder, hub id, GGUF file or URL of a server) that judges each pair in both "
            "orders.",
        ),
    ] = None,
    judge_name: Annotated[
        str | None, typer.Option(help="With --ask, its name among the authors; by default the model's.")
    ] = None,
    limit: Limit = None,
    n_resamples: Resamples = 1000,
    confidence_level: ConfidenceLevel = 0.95,
    seed: Seed = 0,
    out: Annotated[Path | None, asked_file("ask")] = None,
    *,
    options: JudgmentOptions,
    prompt: Prompt,
    server: ServerOptions,
) -> None:
    """Measure what judges of pairs prefer beside quality: position, length, their own answers."""
    from rightreasons.audited.opening import prompted_model
    from rightreasons.cli.show import write_figures
    from rightreasons.core.resampling import Resampling
    from rightreasons.io.judged import read_judgments
    from rightreasons.probes.judges import measure_judges

    if ask is None:
        alone = {"judge_name": judge_name, "limit": limit, **prompt.changed(), **server.changed()}
        check_unread("ask", "names a model", alone)
        judgments = read_judgments(file, options=options)
    else:
        kept = answers_beside(out)
        # A judge sees both answers at once, as it does where they have letters.
        lettered = prompt if "style" in prompt.changed() else prompt.replaced(style="letters")
        judge = prompted_model(ask, lettered, server, None, seed=seed)
        judgments = _judged(file, options, judge, name=judge_name, limit=limit, seed=seed, out=kept)
    measured = measure_judges(judgments, resampling=Resampling(confidence_level, n_resamples, seed))
    without = f", {measured.n_without:,} without a verdict" if measured.n_without else ""
    typer.secho(f"{file}: {counted(measured.n_rows, 'judgment')}{without}", bold=True)
    nulls: dict[str, str] = {}
    for name, bias in measured.judges.items():
        typer.echo(f"\n{name} ({counted(bias.n_pairs, 'pair')})")
        for key, words in PREFERENCES.items():
            figure: Preference | None = getattr(bias, key)
            if figure is not None:
                typer.echo(f"  {words:<30} {_figure(figure)}")
                nulls |= {words: figure.null} if figure.null else {}
    typer.echo("\nTested:" if nulls else "")
    for words, null in nulls.items():
        typer.echo(f"  {words}: {null}")
    write_figures(out, measured)


def _judged(
    file: Path,
    options: JudgmentOptions,
    judge: Prompted,
    *,
    name: str | None,
    limit: int | None,
    seed: int,
    out: Path | None,
) -> Judgments:
    """Have a model judge the pairs of a file in both orders; what it answers is kept in the folder `out`."""
    from rightreasons.core.store import json_lines, write_text
    from rightreasons.core.validation import check_count
    from rightreasons.io.judged import read_judgments, read_pairs
    from rightreasons.io.splits import chosen_rows
    from rightreasons.probes.judges import judge_pairs

    pairs = read_pairs(file, options=options)
    n_pairs = len(pairs["item"])
    if limit is not None and check_count(limit, "limit") < n_pairs:
        # The pairs of an item stay together.
        chosen = chosen_rows([str(row) for row in range(n_pairs)], limit, seed=seed, groups=pairs["item"])
        pairs = {column: [values[row] for row in chosen] for column, values in pairs.items()}
    columns = judge_pairs(judge, pairs, judge=name, out=None if out is None else out / "answers")
    if out is not None:
        judged = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
        typer.echo(f"Judgments: {write_text(out / 'judgments.jsonl', json_lines(judged))}")
    return read_judgments(columns)


def _figure(figure: Preference) -> str:
    from rightreasons.page.words import p_equals

    tested = "" if figure.p_value is None else f"  p {p_equals(figure.p_value)}"
    ends = f"[{figure.interval.low:+.3f}, {figure.interval.high:+.3f}]"
    about = f"{counted(figure.n_pairs, 'pair')} of {counted(figure.n_items, 'item')}"
    return f"{figure.value:+.3f} {ends}{tested}  ({about})"


@declared_command(COMMANDS["cues"], "cues", {"source": SourceOptions, "options": CuesOptions})
def cues(
    dataset: Dataset,
    source: SourceOptions,
    options: Any,
    split: Annotated[str | None, typer.Option(help="The split; by default train or the first with labels.")] = None,
    top: Annotated[int, typer.Option(help="Number of cues to print.", min=0)] = 20,
    limit: Limit = None,
    n_permutations: Annotated[int, typer.Option(help="Permutations of the cue-only classifier's p-value.")] = 200,
    confidence_level: ConfidenceLevel = 0.95,
    seed: Seed = 0,
    out: FiguresFile = None,
) -> None:
    """Count superficial cues in the choices, and see how far a classifier gets by them alone."""
    from rightreasons.cli.items import open_items
    from rightreasons.cli.show import write_figures
    from rightreasons.core.resampling import Resampling
    from rightreasons.cues.measure import GROUPS, ChoiceItems, measure_cues

    data, taken = open_items(dataset, source, split, train_first=True, limit=limit, seed=seed)
    items = ChoiceItems.of(data, options.groups_column)
    figures = measure_cues(
        items, options=options, resampling=Resampling(confidence_level, seed=seed), n_permutations=n_permutations
    )
    typer.secho(
        f"{dataset}{f' ({source.config})' if source.config else ''}, {taken}: {counted(len(items), 'item')}", bold=True
    )
    _show_table(figures, top)
    column = options.groups_column or GROUPS
    _show_classifier(figures, None if items.groups is None else column)
    write_figures(out, {"cue_statistics": figures.statistics, "cue_classifier": figures.classifier})


def _show_table(figures: CueFigures, top: int) -> None:
    table = figures.statistics
    interval = f"[{100 * table.confidence_level:g}%]"
    width = max((len(row.cue) for row in table.cues[:top]), default=3)
    typer.echo(f"\n{'cue':<{width}}  applicable  productivity {interval:<15} chance  coverage  p (Holm)")
    for row in table.cues[:top]:
        ends = f"[{row.low:.3f}, {row.high:.3f}]"
        typer.echo(
            f"{row.cue:<{width}}  {row.applicability:>10,}  {row.productivity:>12.3f} {ends:<15} {row.chance:>6.3f}  "
            f"{row.coverage:>8.3f}  {row.p_holm:.3g}"
        )
    n_telling = len(figures.significant)
    names = ", ".join(f"{row.cue!r} ({row.productivity:.2f})" for row in figures.significant[:10])
    typer.echo(
        f"\n{n_telling:,} of {counted(table.n_cues, 'cue')} {'differs' if n_telling == 1 else 'differ'} from chance "
        f"after Holm's correction{f': {names}' if names else ''}."
    )


def _show_classifier(figures: CueFigures, column: str | None) -> None:
    tested = figures.classifier
    if tested is None:
        return
    no_sign = "shows no sign of giving answers away"
    verdict = {
        "gives answers away": "gives answers away",
        "misleads": "misleads the classifier, so this says nothing of cues",
        "cannot tell": f"{no_sign}, but {figures.too_few}",
        "no sign": no_sign,
    }[figures.conclusion]
    p_value = "" if tested.p_value is None else f", p = {tested.p_value:.3g}"
    grouped = f", groups of {column!r} kept together" if column else ""
    typer.echo(
        f"By cues alone a classifier is right on {tested.accuracy:.3f} [{tested.low:.3f}, {tested.high:.3f}] of the "
        f"items where guessing gets {tested.chance:.3f} ({tested.n_folds} folds{grouped}{p_value}): the data {verdict}."
    )
    if figures.conclusion == "misleads":
        typer.secho(
            "Warning: that is below guessing, as it is where items that belong together are in different folds; "
            f"{counted(figures.n_twins, 'item offers', 'items offer')} the same choices as another item. Name the "
            "column that says which items belong together with --groups-column.",
            err=True,
            fg="yellow",
        )
