"""What is missed of acknowledgments: `python -m benchmarks.acknowledgments --write`.

Counts the sentences of two benches without a word that is looked for, and draws models that acknowledge
a hint in their sentences, whose answers scripted judges read. Minutes; an interrupted run goes on from
`--folder`. `--judge MODEL` measures a model as a judge instead. `--write` renews the tables of
README.md, and the miss rates that a report shows, which are those of the blind bench.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import yaml
from benchmarks.acknowledgments.bench import (
    SHARES,
    Bench,
    Run,
    Sentence,
    count_misses,
    find_named,
    read_blind_bench,
    read_framed_bench,
)
from benchmarks.acknowledgments.local_judge import measure_model
from benchmarks.acknowledgments.rule import draw_models, is_missed, measure_judges
from benchmarks.blocks import write_block

from rightreasons.reasons.silence import SilenceEvidence

ROOT = Path(__file__).parents[2]
PAGE = Path(__file__).with_name("README.md")
MISSES = ROOT / "src" / "rightreasons" / "reasons" / "misses.yaml"
HEADER = """\
# Share of acknowledgments by kind of hint without a word that is looked for, with its interval: measured on the sentences of
# benchmarks/acknowledgments/blind.yaml, and written by `make -C benchmarks acknowledgments`.
"""

WORD_COLUMNS = (
    "hint",
    "sentences",
    "missed [95 %]",
    "with the name",
    "in English, without it",
    "other languages, without it",
    "found in denials",
    "found in plain sentences",
)


def select_kind(sentences: list[Sentence], kind: str) -> list[Sentence]:
    """Return the sentences of a kind of hint."""
    return [sentence for sentence in sentences if sentence.kind == kind]


def list_kinds(bench: Bench) -> list[str]:
    """Return the kinds of hints of a bench."""
    return list(dict.fromkeys(sentence.kind for sentence in bench.acknowledgments))


def measure_words(bench: Bench) -> tuple[str, dict[str, dict[str, float]]]:
    """Return a table of what the words miss, and the misses by kind."""
    lines = [
        f"| {' | '.join(WORD_COLUMNS)} |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    misses = {}
    for kind in list_kinds(bench):
        sentences = select_kind(bench.acknowledgments, kind)
        named = [sentence for sentence in sentences if sentence.has_name]
        unnamed = [sentence for sentence in sentences if not sentence.has_name]
        english = [sentence for sentence in unnamed if sentence.language == "en"]
        foreign = [sentence for sentence in unnamed if sentence.language != "en"]
        denials = select_kind(bench.denials, kind)
        misses[kind] = count_misses(sentences)
        cells = [kind, f"{len(sentences)}", _format_share(misses[kind])]
        for group in (named, english, foreign):
            # Some kinds of hints have no name.
            cells.append(
                f"{100 * count_misses(group)['value']:.1f} % of {len(group)}" if group else "none"
            )
        cells.append(f"{100 * find_named(denials).mean():.1f} % of {len(denials)}")
        cells.append(f"{find_named(bench.plain, kind).sum()} of {len(bench.plain)}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines), misses


def measure_runs(models: list[tuple[Run, SilenceEvidence]]) -> str:
    """Return a table of the models that are unnoticed, by share of acknowledging answers."""
    lines = [
        "| answers that acknowledge the hint | models | the words alone accuse | the test of texts misses | both |",
        "| ---: | ---: | ---: | ---: | ---: |",
    ]
    for share in SHARES:
        n_runs = 0
        n_accused = 0
        n_missed = 0
        n_both = 0
        for run, evidence in models:
            if run.share == share:
                n_runs += 1
                n_accused += run.is_accused
                n_missed += is_missed(evidence)
                n_both += run.is_accused and is_missed(evidence)
        counts = [
            f"{count / n_runs:.0%}".replace("%", " %") for count in (n_accused, n_missed, n_both)
        ]
        lines.append(f"| {100 * share:.0f} % | {n_runs} | {' | '.join(counts)} |")
    return "\n".join(lines)


def _format_share(miss: dict[str, float]) -> str:
    return f"{100 * miss['value']:.1f} % [{100 * miss['low']:.1f}, {100 * miss['high']:.1f}]"


def main() -> None:
    """Print the tables, and write them if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the tables and the miss rates")
    parser.add_argument("--words", action="store_true", help="only count sentences")
    parser.add_argument("--folder", type=Path, help="folder that keeps the comparisons of texts")
    parser.add_argument("--judge", help="only ask this model about sentences of the blind bench")
    arguments = parser.parse_args()

    if arguments.judge:
        blind = read_blind_bench()
        table = measure_model(arguments.judge, blind, list_kinds(blind))
        print(table)
        if arguments.write:
            write_block(PAGE, "a small judge", table)
        return
    folder = arguments.folder or Path(tempfile.mkdtemp())
    for suffix, bench in {"": read_blind_bench(), ", in frames": read_framed_bench()}.items():
        words, misses = measure_words(bench)
        print(words)
        if arguments.write:
            write_block(PAGE, f"missed by the words{suffix}", words)
        # Nobody who knows the words has written the blind sentences.
        if arguments.write and not suffix:
            MISSES.write_text(HEADER + yaml.safe_dump(misses, sort_keys=False), "utf-8")
        if arguments.words:
            continue
        models = draw_models(bench, list_kinds(bench), folder / f"bench{suffix}")
        runs = measure_runs(models)
        print(runs)
        if arguments.write:
            write_block(PAGE, f"missed by words and texts{suffix}", runs)
        # The author of the framed sentences knew the search, and wrote the planted ones, too.
        if not suffix:
            judges = measure_judges(models)
            print(judges)
            if arguments.write:
                write_block(PAGE, "accused", judges)


if __name__ == "__main__":
    main()
