"""CheckList: its expectations on answers made at random, case by case."""

import itertools
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
from checklist.expect import Expect
from scenario import Case

from rightreasons.behavior.expectations import Answers, evaluate_cases

VACUOUS = "where no example but the first applies, CheckList says passed, ours not asked"

EXPECTATIONS: dict[str, tuple[dict[str, Any], Any]] = {
    "equal to the label": ({"name": "equal"}, Expect.eq()),
    "equal to a value": ({"name": "equal", "value": 1}, Expect.eq(1)),
    "invariant": ({"name": "invariant", "tolerance": 0}, Expect.inv()),
    "invariant within 0.1": ({"name": "invariant", "tolerance": 0.1}, Expect.inv(0.1)),
    **{
        f"monotonic, {'up' if up else 'down'}, tolerance {tolerance}, label {label}": (
            {
                "name": "monotonic",
                "increasing": up,
                "tolerance": tolerance,
                **({} if label is None else {"label": label}),
            },
            Expect.monotonic(label=label, increasing=up, tolerance=tolerance),
        )
        for up, tolerance, label in itertools.product((True, False), (0.0, 0.1), (None, 1))
    },
}


def cases() -> Iterator[Case]:
    for scenario, seed in itertools.product(EXPECTATIONS, range(100)):
        spec, expectation = EXPECTATIONS[scenario]
        rng = np.random.default_rng(seed)
        n_examples, n_classes = int(rng.integers(2, 5)), int(rng.integers(2, 4))
        probabilities = rng.dirichlet(np.ones(n_classes), size=n_examples)
        predictions, label = probabilities.argmax(axis=1), int(rng.integers(0, 2))
        test = SimpleNamespace(
            data=[[str(i) for i in range(n_examples)]],
            results=SimpleNamespace(preds=[list(predictions)], confs=[list(probabilities)]),
            labels=label,
            meta=None,
            run_idxs=None,
        )
        offsets = np.array([0, n_examples])
        _, ours = evaluate_cases(
            spec, Answers(predictions, offsets, probabilities, labels=np.full(n_examples, label))
        )
        agg_fn = "all" if spec["name"] == "equal" else "all_except_first"
        peer = Expect.aggregate(expectation(test), agg_fn)[0]
        reason = VACUOUS if np.isnan(ours[0]) else ""
        theirs = np.nan if peer is None else float(peer > 0)
        yield Case(
            scenario.partition(",")[0], f"{scenario}, {seed}", ours[0], theirs, reason=reason
        )
