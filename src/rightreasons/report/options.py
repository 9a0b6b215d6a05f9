"""Options of a report that is made after another one."""

from __future__ import annotations

from rightreasons.core.options import Options, option


class EarlierOptions(Options):
    """Earlier audit to repeat."""

    after: str | None = option(
        None,
        "Report of an earlier audit, whose tests are repeated on the same words even if the "
        "training texts no longer contain them.",
    )
