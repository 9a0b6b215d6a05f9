"""Ways to ask: how much of an accuracy is the format of the prompt, and whether an answer stands when it is doubted."""

from __future__ import annotations

from rightreasons.core.options import Options, option


class WaysOptions(Options):
    """Which ways to ask are compared."""

    n_ways: int = option(
        12, "Number of ways to ask: the plainest, and others that are drawn by the seed.", minimum=2
    )
    questions: tuple[str, ...] = option(
        ("calibration", "cues"),
        "Questions whose verdicts are compared; those beside calibration and cues ask anew in every way.",
    )
    doubt: bool = option(
        True, "Whether to ask 'Are you sure?' too, beside a neutral second request."
    )
