"""Which drawn models are accused of silence, by how well their judge reads.

`draw_models` draws models that acknowledge hints in the sentences of a bench, and keeps what their
texts show, which takes most of the time. `is_charged` lets a scripted judge of known errors read a
model's answers, and weighs all evidence as a report does.
"""

from __future__ import annotations

import dataclasses
import json
import zlib
from pathlib import Path

import numpy as np
from benchmarks.acknowledgments.bench import (
    ALPHA,
    SHARES,
    Bench,
    Run,
    compare_run,
    draw_run,
)

from rightreasons.core.resampling import Resampling
from rightreasons.reasons.judge import N_PLAIN, N_PLANTED, Judgments, read_planted
from rightreasons.reasons.silence import SilenceEvidence, add_judgments
from rightreasons.reasons.two_sample import TextComparison


@dataclasses.dataclass(frozen=True)
class ScriptedJudge:
    """A judge of known errors.

    Attributes:
        name: Its description in the table.
        sensitivity: Share of the acknowledgments that it finds.
        specificity: Share of the other answers in which it finds none.
        languages: Languages in which it finds any. () for all.
        knows_words: Whether it finds acknowledgments without the name of the source.
    """

    name: str
    sensitivity: float
    specificity: float
    languages: tuple[str, ...] = ()
    knows_words: bool = True

    def compute_sensitivity(self, language: str, text: str) -> float:
        """Return the chance that it finds an acknowledgment."""
        if self.languages and language not in self.languages:
            return 0.0
        if not self.knows_words and "{name}" not in text:
            return 0.0
        return self.sensitivity


JUDGES = (
    ScriptedJudge("finds all, invents none", 1.0, 1.0),
    ScriptedJudge("finds 98 %, invents 1 %", 0.98, 0.99),
    ScriptedJudge("finds 95 %, invents 5 %", 0.95, 0.95),
    ScriptedJudge("finds 80 %, invents 5 %", 0.8, 0.95),
    ScriptedJudge("finds 60 %, invents 5 %", 0.6, 0.95),
    ScriptedJudge("reads English alone", 1.0, 1.0, languages=("en",)),
    ScriptedJudge("knows the name of the source alone", 1.0, 1.0, knows_words=False),
    ScriptedJudge("guesses", 0.5, 0.5),
    ScriptedJudge("always finds a mention", 1.0, 0.0),
    ScriptedJudge("never finds a mention", 0.0, 1.0),
)


def draw_models(bench: Bench, kinds: list[str], folder: Path) -> list[tuple[Run, SilenceEvidence]]:
    """Draw models of all kinds, languages and shares, with what their texts show.

    Half of them reason in English, half in the languages of the bench.

    Args:
        bench: The sentences.
        kinds: Kinds of hints.
        folder: Folder that keeps what the texts show, from which an interrupted run goes on.
    """
    languages = list(dict.fromkeys(sentence.language for sentence in bench.acknowledgments))
    drawn_languages = [*languages, *["en"] * len(languages)]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "texts.jsonl"
    stored = _read_evidence(path)
    models = []
    with path.open("a", encoding="utf-8") as lines:
        for share in SHARES:
            for kind in kinds:
                for seed, language in enumerate(drawn_languages):
                    run = draw_run(bench, kind, language, share, seed)
                    if run.key not in stored:
                        evidence = compare_run(run)
                        stored[run.key] = evidence
                        row = {"model": run.key, **evidence.to_dict()}
                        lines.write(f"{json.dumps(row)}\n")
                        lines.flush()
                    models.append((run, stored[run.key]))
    return models


def _read_evidence(path: Path) -> dict[str, SilenceEvidence]:
    """Return the evidence of the models of an earlier run, by name."""
    stored = {}
    if path.exists():
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            texts = TextComparison(**{**row["texts"], "words": tuple(row["texts"]["words"])})
            stored[row["model"]] = SilenceEvidence(texts, row["noticed_share"])
    return stored


def is_missed(evidence: SilenceEvidence) -> bool:
    """Return whether the texts of a model show no difference."""
    return evidence.texts is not None and evidence.texts.p_value >= ALPHA


def is_charged(run: Run, evidence: SilenceEvidence, judge: ScriptedJudge) -> bool:
    """Return whether a model is accused of silence, with a judge."""
    if not run.is_accused:
        return False
    judgments = read_answers(run, judge)
    judged = add_judgments(evidence, run.hinted, judgments, Resampling(seed=run.seed))
    return judged.weigh(ALPHA) == "silent"


def read_answers(run: Run, judge: ScriptedJudge) -> Judgments:
    """Return what a scripted judge reads in the answers of a model, and in the planted ones."""
    rng = np.random.default_rng(zlib.crc32(f"{run.key} {judge.name}".encode()))
    levels = {}
    for trace in run.hinted.traces.values():
        chance = 1 - judge.specificity
        if trace.item in run.acknowledged:
            chance = judge.compute_sensitivity(run.language, trace.text)
        levels[trace.item, trace.kind] = "credits" if rng.random() < chance else "none"

    n_found = 0
    for row in read_planted()[run.kind]:
        n_found += rng.random() < judge.compute_sensitivity(row["language"], row["text"])
    return Judgments(
        levels=levels,
        n_planted=N_PLANTED,
        n_found=n_found,
        n_plain=N_PLAIN,
        n_spared=int(rng.binomial(N_PLAIN, judge.specificity)),
        is_own=False,
    )


def measure_judges(models: list[tuple[Run, SilenceEvidence]]) -> str:
    """Return a table of the models that are accused, by judge and share of acknowledging answers."""
    shares = " | ".join(f"{100 * share:.0f} %" for share in SHARES)
    lines = [
        f"| judge \\ answers that acknowledge the hint | {shares} |",
        f"| --- | {' | '.join(['---:'] * len(SHARES))} |",
    ]
    for judge in JUDGES:
        cells = [judge.name]
        for share in SHARES:
            charges = []
            for run, evidence in models:
                if run.share == share:
                    charges.append(is_charged(run, evidence, judge))
            cells.append(f"{sum(charges)} of {len(charges)}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
