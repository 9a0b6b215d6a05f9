"""A scenario draws data whose truth is known and asks one function about it; a tally says how often it was right."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np
from scipy import stats

LEVELS = (0.01, 0.05, 0.1)
NOMINAL = 0.95
COVERAGE = (0.93, 0.975)
"""The band in which the coverage of an interval at .95 holds."""

REJECTIONS = (0.5, 1.3)
"""The band in which the share of p-values up to a level holds, as multiples of the level."""

Interval = tuple[float, float, float]
"""Lower end, upper end, truth."""

Outcome = Mapping[str, float | Interval | None]
"""Figure of the result -> p-value under its null, or interval with its truth; None where the figure is undefined."""


@dataclasses.dataclass(frozen=True)
class Scenario:
    """One function on data of one kind.

    Attributes:
        function: Its name, in the folder of a question.
        truth: What is simulated, in words.
        draw: Maps a random generator and a seed to the outcome of one simulation.
        known: Figure -> why it falls short here, where that is known and said in its documentation.
        conservative: Whether the p-values are of an exact test on few values, which rejects less often than its level.
        slow: Whether a simulation takes so long that a tenth of them must do.
    """

    function: str
    truth: str
    draw: Callable[[np.random.Generator, int], Outcome]
    known: Mapping[str, str] = dataclasses.field(default_factory=dict)
    conservative: bool = False
    slow: bool = False


@dataclasses.dataclass(frozen=True)
class Tally:
    """What the simulations of one figure of a scenario say: whether it is inside the band, and on which side it is not.

    Attributes:
        scenario: The scenario.
        figure: The figure.
        n: Simulations in which it was defined.
        rejections: Level -> share of p-values at most the level; None for an interval.
        coverage: Share of intervals that hold the truth; None for a p-value.
        width: Mean width of the intervals; None for a p-value.
        n_empty: Intervals of width zero.
        problem: What is wrong beyond chance; "" where nothing is.
        outside: What is outside the band; "" where nothing is.
    """

    scenario: Scenario
    figure: str
    n: int
    rejections: Mapping[float, float] | None
    coverage: float | None
    width: float | None
    n_empty: int
    problem: str
    outside: str

    @property
    def verdict(self) -> str:
        """On which side it is outside the band, with the reason of falling short where one is known; or "holds"."""
        known = (
            ""
            if self.outside in ("wide", "rejects seldom")
            else self.scenario.known.get(self.figure, "")
        )
        return f"{self.outside}{f': {known}' if known else ''}" if self.outside else "holds"


def n_drawn(scenario: Scenario, n_simulations: int) -> int:
    """Return how often a scenario is drawn: of slow ones a tenth."""
    return max(2, n_simulations // 10) if scenario.slow else n_simulations


def simulate(
    scenario: Scenario, n_simulations: int, *, seed: int = 0, doubt: float = 1e-4
) -> list[Tally]:
    """Run a scenario and judge each of its figures.

    Args:
        scenario: The scenario.
        n_simulations: Number of simulations; of slow ones a tenth.
        seed: Their seed.
        doubt: Probability below which a deviation counts as a problem and not as chance.
    """
    outcomes: dict[str, list[float | Interval]] = {}
    for number in range(n_drawn(scenario, n_simulations)):
        drawn = scenario.draw(np.random.default_rng([seed, number]), number)
        for figure, value in drawn.items():
            if value is not None:
                outcomes.setdefault(figure, []).append(value)
    return [_tally(scenario, figure, values, doubt) for figure, values in outcomes.items()]


def _tally(scenario: Scenario, figure: str, values: list[float | Interval], doubt: float) -> Tally:
    if isinstance(values[0], tuple):
        rows = np.array(values, dtype=np.float64)
        tolerance = 1e-9
        hits = (rows[:, 0] <= rows[:, 2] + tolerance) & (rows[:, 2] <= rows[:, 1] + tolerance)
        coverage, n_empty = float(hits.mean()), int(np.count_nonzero(rows[:, 1] <= rows[:, 0]))
        # Few hits would be chance if intervals covered as little as the band lets them.
        short = stats.binom.cdf(int(hits.sum()), len(rows), COVERAGE[0]) < doubt
        problem = f"covers {coverage:.2f} of {NOMINAL}" if short else ""
        if n_empty:
            problem = (
                f"{problem or 'covers'}; {n_empty} of width zero"
                if short
                else f"{n_empty} of width zero"
            )
        side = "too narrow" if coverage < COVERAGE[0] else "wide" if coverage > COVERAGE[1] else ""
        width = float((rows[:, 1] - rows[:, 0]).mean())
        outside = f"{n_empty} of width zero" if n_empty else side
        return Tally(scenario, figure, len(rows), None, coverage, width, n_empty, problem, outside)
    p_values = np.array(values, dtype=np.float64)
    rejections = {level: float((p_values <= level + 1e-12).mean()) for level in LEVELS}
    problems = []
    for level, rate in rejections.items():
        count = round(rate * len(p_values))
        if stats.binom.sf(count - 1, len(p_values), level * REJECTIONS[1]) < doubt:
            problems.append(f"rejects {rate:.3f} at {level}")
        elif (
            not scenario.conservative
            and stats.binom.cdf(count, len(p_values), level * REJECTIONS[0]) < doubt
        ):
            problems.append(f"rejects only {rate:.3f} at {level}")
    rate = rejections[0.05] / 0.05
    outside = (
        "rejects too often"
        if rate > REJECTIONS[1]
        else "rejects seldom"
        if rate < REJECTIONS[0]
        else ""
    )
    return Tally(
        scenario, figure, len(p_values), rejections, None, None, 0, ", ".join(problems), outside
    )
