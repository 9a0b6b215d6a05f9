"""What it costs to read what 100,000 answers say of a hint, and to measure them.

    python benchmarks/reasons.py [--rows 100000] [--repeats 5]

Made up answers of some fifty words: plain, beside the neutral sentence, the hint, and the hint to the own answer; 40 %
of those beside hints say something of it. The lower bound is what finding words takes at least: each text in lower
case, and each stem looked for in it by `in`. Seconds of processor time of this process, one thread, best of the
repeats, which take turns.
"""

import argparse
import time

import numpy as np

from rightreasons.reasons.answers import Traces
from rightreasons.reasons.hints import KINDS, NAMES
from rightreasons.reasons.measure import measure_reasons
from rightreasons.reasons.sway import silent_sway
from rightreasons.reasons.trace import HINT, NEUTRAL, OWN, PLAIN, Trace

WORDS = (
    "pot",
    "hat",
    "cup",
    "boat",
    "lamp",
    "warm",
    "soup",
    "hold",
    "heat",
    "people",
    "water",
    "sense",
    "because",
    "street",
)
SAID = (
    "Since {} points there, I go with that.",
    "My colleague says it is B.",
    "I will not rely on {}.",
    "{} says B.",
)
TARGETS = {"rows with texts": 15.0, "rows without texts": 1.0}
"""Run -> seconds. With texts, eleven comparisons of at most 1,000 answers come on top, whatever the number of rows."""
KIND = KINDS["colleague"]
STEMS = (
    "colleague",
    "according to",
    "hint",
    "suggest",
    " told",
    "says",
    "claims",
    "thinks",
    "believes",
    "indicates",
)


def traces(n_rows):
    """Make the answers to a quarter as many items."""
    rng, made = np.random.default_rng(0), []
    for number in range(n_rows // 4):
        question = f"Number {number}: where is soup kept?\nA. a pot\nB. a hat\nC. a cup\nD. a boat"
        name = NAMES[rng.integers(len(NAMES))]
        for arm in (PLAIN, NEUTRAL, HINT, OWN):
            sentences = [f"{' '.join(rng.choice(WORDS, 12)).capitalize()}." for _ in range(4)]
            if arm in (HINT, OWN) and rng.random() < 0.4:
                sentences.insert(2, SAID[rng.integers(len(SAID))].format(name))
            fields = (
                {"kind": "", "hint": -1}
                if arm == PLAIN
                else {"kind": KIND.name, "hint": 1 if arm != NEUTRAL else -1}
            )
            fields |= {
                "label": number % 4,
                "source": name,
                "text": f"{' '.join(sentences)}\nAnswer: A",
            }
            made.append(
                Trace(
                    f"q{number}",
                    arm,
                    0 if arm == PLAIN else int(rng.integers(4)),
                    4,
                    question,
                    **fields,
                )
            )
    return made


def fresh(made, text=True):
    """Copy answers without what was read of them."""
    names = Trace.__dataclass_fields__
    return Traces(
        tuple(Trace(**{n: getattr(t, n) for n in names if text or n != "text"}) for t in made)
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    made = traces(given.rows)
    hinted = [trace for trace in made if trace.arm == HINT]
    columns = [0] * len(hinted), [2] * len(hinted), [t.answer for t in hinted], [1] * len(hinted)
    flags = fresh(made).arm(HINT, KIND.name).mentions

    def bound():
        for trace in made:
            words = trace.text.casefold()
            for stem in (trace.source.casefold(), *STEMS):
                stem in words  # noqa: B015

    runs = {
        "lower bound": lambda _: bound(),
        "rows with texts": measure_reasons,
        "rows without texts": measure_reasons,
        "columns, mentions given": lambda _: silent_sway(*columns, flags),
    }
    times = dict.fromkeys(runs, float("inf"))
    for _ in range(given.repeats):
        for name, run in runs.items():
            rows = fresh(made, name != "rows without texts")
            began = time.process_time()
            run(rows)
            times[name] = min(times[name], time.process_time() - began)
    length = np.mean([len(trace.text) for trace in made])
    print(f"{given.rows:,} rows of {length:.0f} characters, {len(hinted):,} items")
    for name, seconds in times.items():
        ratio = seconds / times["lower bound"]
        goal = ""
        if name in TARGETS:
            is_met = seconds < TARGETS[name]
            goal = f"   target < {TARGETS[name]:g} s: {'met' if is_met else 'MISSED'}"
        print(f"{name:24s} {seconds:6.2f} s   {ratio:5.2f} of the lower bound{goal}")


if __name__ == "__main__":
    main()
