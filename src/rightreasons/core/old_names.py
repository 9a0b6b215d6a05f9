"""Earlier names of public methods, which are kept for one release.

A class keeps an earlier name as a method that calls `warn_of_new_name` and then the method under
its new name.
"""

from __future__ import annotations

import warnings


def warn_of_new_name(old_name: str, new_name: str) -> None:
    """Warn that a method was called by its earlier name.

    Args:
        old_name: Earlier name, such as "Resampling.parts".
        new_name: Present name.
    """
    # Level 3 attributes the warning to the caller of the method.
    warnings.warn(
        f"`{old_name}` is now `{new_name}`; the old name will be removed in the next release.",
        FutureWarning,
        stacklevel=3,
    )
