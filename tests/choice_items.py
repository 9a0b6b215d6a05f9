"""Multiple-choice items of two choices, over the words of the tiny models."""

import json

import numpy as np

from tiny_models import WORDS


def good_items(n, start=0):
    """Items whose right choice has "good", whatever the prompt says; every text differs from the others."""
    rows = []
    for i in range(start, start + n):
        words = [WORDS[(i * (7 + 2 * step) + 3 * step) % len(WORDS)] for step in range(5)]
        label = (i * 7 // 3) % 2
        choices = [f"{words[0]} {words[1]} bad {words[2]}", f"{words[3]} {words[1]} bad {words[4]}"]
        choices[label] = choices[label].replace("bad", "good")
        rows.append(
            {
                "id": f"i{i}",
                "prompt": f"the {words[2]} {words[4]}",
                "choices": choices,
                "label": label,
            }
        )
    return rows


def cued_items(n, *, share, start=0):
    """Items whose right choice has "good" in a share of them, and whose wrong choice has it in the others."""
    rows = []
    for i in range(start, start + n):
        label = (i * 7 // 3) % 2
        cued = label if (i * 31 % 100) < 100 * share else 1 - label
        film = ("the film was", "the story was", "the plot was")[i % 3]
        choices = [f"{film} {('wet', 'dry')[i % 2]}" for _ in (0, 1)]
        choices[cued] = f"{film} good"
        rows.append({"id": f"i{i}", "prompt": "the rain fell", "choices": choices, "label": label})
    return rows


def told_items(n, seed=0, *, told=lambda i: True):
    """Items whose right choice has "good" where `told` says so, and nothing to tell it by elsewhere."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        label = int(rng.integers(2))
        choices = ["the film was " + w for w in rng.choice(["dry", "wet"], 2, replace=False)]
        if told(i):
            choices[label], choices[1 - label] = "the film was good", "the film was bad"
        rows.append({"id": f"i{i}", "prompt": "the rain fell", "choices": choices, "label": label})
    return rows


def write_splits(folder, **splits):
    """Write a folder with one file of JSON lines per split."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in splits.items():
        folder.joinpath(f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return folder
