"""The figures and tables of the experiment, beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from figures import difficulty_overlap, paired_differences

from rightreasons.core.estimates import Estimate
from rightreasons.difficulty.ranking import Overlap
from rightreasons.page.plots import Curve, curves

# Datta et al. (2020), Table 4: mean and standard deviation of lambda(original) - lambda(perturbed).
PAPER = {
    "cnn": {
        "counterfactual dev": (-0.55, 1.17),
        "counterfactual test": (-0.57, 1.22),
        "contrast dev": (0.56, 0.89),
        "contrast test": (0.65, 1.15),
    },
    "encoder": {
        "counterfactual dev": (0.004, 0.10),
        "counterfactual test": (0.003, 0.11),
        "contrast dev": (0.02, 0.10),
        "contrast test": (-0.01, 0.11),
    },
}
PAPER_OVERLAP = {"contrast test": 0.6938, "counterfactual test": 0.7358}
MODELS = {"cnn": "CNN, 50-d GloVe", "encoder": "MiniLM encoder"}


def draw(
    name: str, eigenvalues: dict[str, Any], overlaps: Mapping[str, Overlap], folder: Path
) -> None:
    """Draw our Figures 1 and 2 of a model, from the eigenvalues of its pairs."""
    pairs = {
        key: (np.array(row["original"]), np.array(row["perturbed"]))
        for key, row in eigenvalues.items()
    }
    figure = paired_differences(
        f"differences_{name}",
        panels={key: a - b for key, (a, b) in pairs.items()},
        title=MODELS[name],
    )
    folder.joinpath(f"differences_{name}.png").write_bytes(figure.png)
    panels = {
        key: (*pairs[key], overlaps[key].histogram)
        for key in ("contrast test", "counterfactual test")
    }
    folder.joinpath(f"overlap_{name}.png").write_bytes(
        difficulty_overlap(f"overlap_{name}", panels=panels, title=MODELS[name]).png
    )


def draw_flips(name: str, found: dict[str, Any], folder: Path) -> None:
    """Draw the flip rates of a model by difficulty."""
    groups = found["rates"]["all"]["groups"]
    rates = Curve(
        "attempts that flip",
        [Estimate(group["rate"], group["low"], group["high"]) for group in groups],
    )
    xlabel = f"quarter of the reviews by rising eigenvalue ({MODELS[name]})"
    drawing = curves(
        f"flips_{name}",
        range(1, len(groups) + 1),
        [rates],
        xlabel=xlabel,
        ylabel="attempts that flip",
    )
    folder.joinpath(f"flips_{name}.png").write_bytes(drawing.png)


def tell(
    results: dict[str, Any],
    overlaps: Mapping[str, Mapping[str, Overlap]],
    *,
    top: int,
    n_substituted: int,
) -> str:
    """Write the tables in Markdown."""
    synthetic, settings = results["synthetic"], results["settings"]
    lines = [
        "# Fisher information as difficulty: our figures",
        "",
        (
            "Written by `run.py`. Both models are trained on the 1,707 original reviews of the counterfactual set, not on "
            f"IMDb's 25,000; the CNN reads {settings['max_length']['cnn']} words of a review and the encoder "
            f"{settings['max_length']['encoder']} tokens. What a pair differs in behind that place is not seen. One seed."
        ),
        "",
        "## Two Gaussians",
        "",
        (
            f"Spearman's correlation of eigenvalue and closeness to the boundary over {len(synthetic['spearman'])} seeds: "
            f"{', '.join(f'{value:.3f}' for value in synthetic['spearman'])}. Of the {top} largest eigenvalues, "
            f"{', '.join(f'{value:.0%}' for value in synthetic['near'])} are among the {2 * top} points of smallest margin."
        ),
        "",
        "![synthetic](synthetic.png)",
        "",
        "## Table 4: change of the largest eigenvalue, λ(original) − λ(perturbed)",
        "",
        (
            "| model | pairs | n | mean | 95 % interval | std | not harder | Wilcoxon p | paper: mean / std | accuracy original | "
            "perturbed |"
        ),
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, title in MODELS.items():
        for called, row in results[name]["sets"].items():
            paired, paper = row["paired"], PAPER[name][called]
            interval = paired["interval"]
            lines.append(
                f"| {title} | {called} | {paired['n_pairs']} | {paired['mean']:.4f} | [{interval['low']:.4f}, "
                f"{interval['high']:.4f}] | {paired['std']:.4f} | {paired['not_harder']:.0%} | {paired['p_value']:.2g} | "
                f"{paper[0]} / {paper[1]} ({'CNN' if name == 'cnn' else 'BERT-base'}) | {row['accuracy']['original']:.3f} | "
                f"{row['accuracy']['perturbed']:.3f} |"
            )
    lines += [
        "",
        *(f"![differences](differences_{name}.png)\n" for name in MODELS),
        "## Overlap of the eigenvalues",
        "",
    ]
    lines += [
        "The overlap of samples is lower than that of the distributions.",
        "",
    ]
    lines += [
        "| model | sets | histogram | kernel density | paper |",
        "|---|---|---|---|---|",
    ]
    for name, title in MODELS.items():
        for called, overlap in overlaps[name].items():
            paper_says = PAPER_OVERLAP.get(called)
            remark = (
                f"{paper_says:.1%} (against IMDb, measure not said)"
                if paper_says and name == "cnn"
                else ""
            )
            lines.append(
                f"| {title} | {called} | {overlap.histogram:.1%} | {overlap.kde:.1%} | {remark} |"
            )
    lines += [
        "",
        *(f"![overlap](overlap_{name}.png)\n" for name in MODELS),
        "## What the eigenvalue goes with",
        "",
    ]
    lines += [
        "Spearman's correlations on the counterfactual test split, originals and revisions.",
        "",
        "| model | −margin | entropy | gradient norm | being right | variability of the data map |",
        "|---|---|---|---|---|---|",
    ]
    for name, title in MODELS.items():
        row = results[name]["sets"]["counterfactual test"]
        said = [row["correlations"][key]["rho"] for key in ("margin", "entropy", "gradient norm")]
        said.append(row["deciles"]["correlation"]["rho"])
        mapped = results[name].get("data_map")
        end = f"{mapped['variability']['rho']:.3f} (training reviews)" if mapped else "not computed"
        lines.append(f"| {title} | {' | '.join(f'{value:.3f}' for value in said)} | {end} |")
    lines += ["", "## Substitutions", ""]
    lines += [
        (
            f"{n_substituted} random originals of the counterfactual test split. Words with |integrated gradient| of at least "
            "mean + 1 standard deviation; WordNet's synonyms and antonyms are not inflected and their sense is not "
            "disambiguated. Intervals resample reviews."
        ),
        "",
        "| model | kind | attempts | flip | 95 % interval | easiest quarter | hardest quarter | correlation with λ | p |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, title in MODELS.items():
        for kind, row in results[name]["rates"].items():
            rho, p = row["correlation"]["rho"], row["correlation"]["p_value"]
            lines.append(
                f"| {title} | {kind} | {row['n_attempts']} | {row['rate']:.1%} | [{row['interval']['low']:.1%}, "
                f"{row['interval']['high']:.1%}] | {row['groups'][0]['rate']:.1%} | {row['groups'][-1]['rate']:.1%} | "
                f"{'–' if rho is None else f'{rho:.3f}'} | {'–' if p is None else f'{p:.2g}'} |"
            )
    lines += [
        "",
        "The paper's claim is that difficult reviews flip under one substitution and easy ones withstand four and more.",
        "",
        (
            "| model | quarter | items flipped by one substitution | flip rate of one | flipped by four antonyms (of) | items "
            "flipped by up to eight antonyms | median needed |"
        ),
        "|---|---|---|---|---|---|---|",
    ]
    for name, title in MODELS.items():
        for group, row in results[name]["groups"].items():
            four = row["flipped_by_four_antonyms"]
            lines.append(
                f"| {title} | {group} | {row['items_flipped_by_one']:.0%} | {row['single_rate']:.1%} | "
                f"{'–' if four is None else f'{four:.0%}'} ({row['with_four_antonyms']}) | "
                f"{row['items_flipped_by_antonyms']:.0%} | {row['median_needed'] or '–'} |"
            )
    lines += ["", *(f"![flips](flips_{name}.png)\n" for name in MODELS)]
    for name, title in MODELS.items():
        for called, rows in results[name]["substituted"].items():
            lines += [
                f"### {title}: {called}",
                "",
                "| λ | kind | words | p before | p after | flips |",
                "|---|---|---|---|---|---|",
            ]
            for row in rows:
                words = "; ".join(f"… {change} …" for change in row["changes"]).replace("|", "/")
                words = words.replace("[", "**").replace("]", "**")
                lines.append(
                    f"| {row['eigenvalue']:.3g} | {row['kind']} | {words} | {row['before']:.3f} | {row['after']:.3f} | "
                    f"{'yes' if row['flipped'] else 'no'} |"
                )
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"
